"""000: Abrol, Mandt, Ranganath, Blei, Deterministic annealing for SVI (DASVI), 2014."""

import numpy as np
from common import compare_topics, figure, plain
from gaussian_mixture_landscape import make_data, tempered_bound
from matplotlib.figure import Figure

from sktemper.learning_rates import RobbinsMonro, TemperedRate
from sktemper.schedules import ExponentialSchedule
from sktemper.tempering import Annealing

#: The paper's priors and batches; the passes are the 2 to 3 after which fits converge.
PAPER = {
    "n_components": 100,
    "doc_topic_prior": 0.01,
    "topic_word_prior": 1.0,
    "batch_size": 100,
}
PASSES = 4
#: Its offset for Science, the smallest corpus; 1000 is for millions of documents.
RATE = RobbinsMonro(64, 0.7)


def dasvi(length=0.1, start=2.0, rate=None):
    """Return DASVI: the posterior tempered, and the rate times T of equation 18."""
    schedule = ExponentialSchedule(start=start, length=length, unit="passes")
    return plain(
        tempering=Annealing(schedule, "posterior"),
        learning_rate=rate or TemperedRate(RATE),
    )


def compare(run, settings, **changes):
    settings = {"SVI": plain(learning_rate=RATE)} | settings
    return compare_topics(run, settings, max_iter=PASSES, **PAPER, **changes)


@figure("000.fig2", "001.fig1", "003.fig1")
def two_gaussians(run):
    """Bound of two Gaussians: one optimum at high T becomes two."""
    x, grid = make_data(500, 0), np.linspace(-8, 8, run.size(161, 81))
    means = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1)
    target = "posterior" if run.figure == "000.fig2" else "likelihood"
    temperatures = (100, 30, 1) if target == "posterior" else (20, 13, 8.5, 1)
    picture = Figure(figsize=(4 * len(temperatures), 4), layout="constrained")
    axes = picture.subplots(1, len(temperatures))
    for ax, T in zip(axes, temperatures, strict=True):
        bound = np.stack([tempered_bound(x, row, T, target) for row in means])
        optima = [means[i].round(1) for i in maxima(bound)]
        best = means[np.unravel_index(bound.argmax(), bound.shape)]
        print(f"  T={T:<5} optima: {len(optima)}, the best at {best.round(1)}")
        ax.contourf(
            grid, grid, bound.T, levels=np.quantile(bound, np.linspace(0, 1, 25))
        )
        ax.set(title=f"{target}, T={T}", xlabel="mean 0", ylabel="mean 1")
    run.save(picture)


def maxima(values):
    """Return the indices of points that exceed their eight neighbours."""
    inner, n, m = values[1:-1, 1:-1], *values.shape
    is_top = np.ones(inner.shape, dtype=bool)
    for i in range(3):
        for j in range(3):
            if (i, j) != (1, 1):
                is_top &= inner > values[i : n - 2 + i, j : m - 2 + j]
    return [(i + 1, j + 1) for i, j in np.argwhere(is_top)]


@figure("000.fig3")
def annealing(run):
    """LDA on three corpora: DASVI, cooled from T=2 in .1 pass, beats SVI."""
    settings = {
        "DASVI (rate times T)": dasvi(),
        "DASVI, rate without T": dasvi(rate=RATE),
        "default target and schedule": plain(tempering=Annealing(), learning_rate=RATE),
    }
    compare(run, settings)


@figure("000.fig4")
def lengths(run):
    """LDA: .1 pass is the best length; above .25 pass it is worse."""
    settings = {}
    for length in run.size((0.03, 0.1, 0.25, 0.5, 1, 2), (0.1, 0.5, 2)):
        settings[f"{length} passes, rate times T"] = dasvi(length)
        settings[f"{length} passes, rate without T"] = dasvi(length, rate=RATE)
    compare(run, settings, names=("debian",))


@figure("000.fig5")
def first_temperatures(run):
    """LDA: first temperatures of 1.5, 2, 3 and 5 beat SVI; 2 to 3 are best."""
    settings = {f"T={start}": dasvi(start=start) for start in (1.5, 2, 3, 5)}
    compare(run, settings, names=("nyt", "debian"))

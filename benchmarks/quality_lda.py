"""Benchmark of the optima of LDA: every policy compared with plain inference.

    python benchmarks/quality_lda.py                    # all stages, then the report
    python benchmarks/quality_lda.py --stages policies --corpora debian --seeds 1
    python benchmarks/quality_lda.py --quick            # a trial run of two minutes
    python benchmarks/quality_lda.py --stages           # only the report

The benchmark has stages. A stage appends the rows of each finished fit to its own table
in ``benchmarks/results/quality_lda``; after an interruption it continues with the
missing fits. The report is ``benchmarks/results/quality_lda.md``, with pictures in
``doc/images``.

policies   every tempering, learning rate and noise; curves over passes and seconds
growth     the gain of annealing for different numbers of topics

There are three scores, in nats per token. Two are of held-out words by document
completion, which splits a document by distinct words or by tokens. The third is the
lower bound at T=1 of the training data, estimated from 2,000 of its documents. The test
set is the last tenth of a corpus, at most 2,000 documents. Everything runs in one
thread. Times are CPU times without the time of scoring. Every fit has the default
priors of the package.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import argparse
import functools
import itertools
import time

import corpora
import matplotlib
import pandas as pd
from cycler import cycler
from matplotlib.figure import Figure
from stages import add_arguments, head_of, run, spread

from sktemper import TemperedLDA
from sktemper.learning_rates import AdaptiveRate
from sktemper.metrics import completion_log_likelihood
from sktemper.noise import SVIPlusNoise
from sktemper.schedules import ExponentialSchedule, LinearSchedule
from sktemper.tempering import Annealing, GlobalTempering, LocalTempering

TEXTS = ("nyt", "imdb-20000", "debian")
KEY = ["corpus", "n_components", "batch_size", "setting", "seed"]
METRICS = ["words", "tokens", "bound"]

# -- compared settings: parameters of TemperedLDA --------------------------------------


def plain(**changes):
    start = {"init_params": "random", "doc_update": "variational"}
    return {"tempering": None, **start, **changes}


def annealed(schedule=ExponentialSchedule, target="local_step", **changes):
    return plain(tempering=Annealing(schedule(**changes), target))


def sampled(doc_update, tempering):
    return {"tempering": tempering, "doc_update": doc_update}


POLICIES = {
    "plain": plain(),
    "annealed": annealed(),
    **{f"annealed from {start}": annealed(start=start) for start in (1.5, 2, 3, 5)},
    # the default length, "auto", is half of the steps of such short fits: 5 passes
    "annealed, 2.5 passes": annealed(length=2.5, unit="passes"),
    "annealed, 10 passes": annealed(length=10, unit="passes"),
    "annealed, linear": annealed(LinearSchedule),
    "annealed, likelihood": annealed(target="likelihood"),
    "annealed, posterior": annealed(target="posterior"),
    "global": plain(tempering=GlobalTempering()),
    "global, model's priors": plain(tempering=GlobalTempering(partition_priors=None)),
    "global, no cap": plain(tempering=GlobalTempering(cap=None)),
    "local": plain(tempering=LocalTempering()),
    "SVI+": plain(gradient_noise=SVIPlusNoise()),
    "Fisher rate": plain(learning_rate=AdaptiveRate()),
    "plain, sampled": sampled("sampled", None),
    "annealed, auto": sampled("auto", Annealing()),
    "annealed, sampled": sampled("sampled", Annealing()),
    "global, auto": sampled("auto", GlobalTempering()),
    "global, sampled": sampled("sampled", GlobalTempering()),
}
GROWTH = ("plain", "annealed", "annealed, auto")
# -- fits and their rows ---------------------------------------------------------------


class Curve:
    """Callback that makes a row of results after each pass, or after given passes.

    Its clock starts when it is constructed, so the fit has to start immediately.
    """

    def __init__(self, corpus, passes):
        self.corpus, self.passes, self.rows = corpus, passes, []
        self.begin = time.process_time()

    def setup(self, estimator, context):
        pass

    on_fit_task_begin = teardown = setup

    def on_fit_task_end(self, estimator, context):
        passes = self.passes or {estimator.n_iter_}
        if context.task_name == "pass" and estimator.n_iter_ in passes:
            now = time.process_time()
            row = {
                "passes": estimator.n_iter_,
                "steps": estimator.n_batch_iter_,
                "seconds": now - self.begin,
                "temperature": estimator.temperature_,
            }
            row |= scores(estimator, self.corpus.test)
            self.rows.append(row | {"bound": bound_per_token(estimator, self.corpus)})
            self.begin += time.process_time() - now


def scores(estimator, X):
    return {
        split: completion_log_likelihood(estimator, X, split=split, random_state=0)
        for split in ("words", "tokens")
    }


def bound_per_token(lda, corpus):
    """Return the bound of the training data; its document part is from a sample."""
    topics = lda.lower_bound(corpora.empty(lda.n_features_in_))
    documents = lda.lower_bound(corpus.sample) - topics
    return documents / corpus.sample.sum() + topics / corpus.train.sum()


def curve(corpus, parameters, passes=None):
    """Return the rows of one fit, after the given passes; None is after each pass."""
    recorder = Curve(corpus, passes)
    TemperedLDA(**parameters).set_callbacks(recorder).fit(corpus.train)
    return recorder.rows


# -- stages: keys of rows, and functions that return the rows --------------------------


def load(options, name):
    """Return a corpus, such as "nyt" or "imdb-20000", or None if it is missing.

    A number in the name is the number of training documents.
    """
    name, _, size = name.partition("-")
    if options.corpora and name not in options.corpora:
        return None
    n_train, n_test = int(size) if size else None, corpora.N_TEST
    if options.quick:
        n_train, n_test = min(n_train or 500, 500), 200
    return corpora.load(name, options.data.resolve(), n_train, n_test)


def grid(options, names, settings, topics=(100,), seeds=3, label="auto", passes=None):
    """Yield every combination; ``label`` is the batch size in the table."""
    for name in names:
        corpus = load(options, name)
        if corpus is None:
            continue
        for K, seed in itertools.product(topics, range(options.seeds or seeds)):
            K = max(options.tenth(K), 5)
            for setting, parameters in settings.items():
                key = dict(zip(KEY, (name, K, label, setting, seed), strict=True))
                parameters = {"n_components": K, "random_state": seed, **parameters}
                yield key, functools.partial(curve, corpus, parameters, passes)


def policies(options):
    """Every tempering, learning rate and noise, 10 passes.

    "Annealed" uses mean-field updates of documents, and "annealed, auto" the default
    updates.
    """
    return grid(options, TEXTS, POLICIES)


def growth(options):
    """Gains of annealing after 5 passes, for several numbers of topics."""
    settings = {name: POLICIES[name] | {"max_iter": 5} for name in GROWTH}
    return grid(options, ("imdb-20000",), settings, (100, 200, 500), passes={5})


# -- tables and pictures ---------------------------------------------------------------


def gain(rows, group):
    """Return the differences from rows of plain inference with equal seeds."""
    by = ["seed", "passes"]
    base = group[group.setting == "plain"].set_index(by)[METRICS]
    return rows[rows.setting != "plain"].set_index(by)[METRICS] - base


def table(frame):
    """Yield a table for each corpus, number of topics and batch size."""
    for (corpus, K, batch), group in frame.groupby(KEY[:3], sort=False):
        yield from ("", f"### {corpus}, K={K}, batch size {batch}", "")
        heads = ["setting", "passes", "steps", "CPU s", *METRICS]
        heads += [f"{m} over plain, same passes" for m in METRICS]
        yield from ("| " + " | ".join(heads) + " |", "|---" * len(heads) + "|")
        last = group[group.passes == group.groupby("setting").passes.transform("max")]
        for (setting, passes), rows in last.groupby(["setting", "passes"], sort=False):
            cells = [setting, f"{passes:g}", f"{rows.steps.mean():g}"]
            cells += [f"{rows.seconds.mean():.1f}", *(spread(rows[m]) for m in METRICS)]
            gained = gain(rows, group)
            cells += [spread(gained[m], sign="+") for m in METRICS]
            yield "| " + " | ".join(cells) + " |"


def table_of_policies(frame):
    yield "![Policies](../../doc/images/quality_policies.png)"
    yield from table(frame)


#: Colours that people with colour blindness can distinguish (Okabe and Ito).
COLOURS = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#000000", "#56B4E9"
#: Line widths that keep a line visible below another one.
WIDTHS = (4, 3.5, 3, 2, 1.5, 1)


def picture_of_policies(frame):
    """Draw the scores over passes, and in a second row over CPU seconds."""
    settings = ("plain", "annealed", "annealed, auto", "global", "local", "SVI+")
    figure = Figure((11, 7.2), layout="constrained")
    with matplotlib.rc_context({"axes.prop_cycle": cycler(color=COLOURS)}):
        axes = figure.subplots(2, 3, squeeze=False, sharey="col")
    groups = frame.groupby("corpus", sort=False)
    for (corpus, group), column in zip(groups, axes.T, strict=False):
        group = group[group.setting.isin(settings)]
        for setting, width in zip(settings, WIDTHS, strict=True):
            by_pass = group[group.setting == setting].groupby("passes")
            line = by_pass[["seconds", "words"]].mean()
            column[0].plot(line.index, line.words, lw=width, label=setting)
            column[1].plot(line.seconds, line.words, lw=width)
        ends = group[group.passes == group.passes.max()].words
        column[0].set_ylim(2 * ends.min() - ends.max(), None)
        column[0].set(title=corpus, xlabel="passes over the data")
        column[1].set_xlabel("CPU seconds")
    for ax in axes[:, 0]:
        ax.set_ylabel("held-out nats per token (words)")
    lines = axes[0, 0].get_legend_handles_labels()
    figure.legend(*lines, loc="outside lower center", ncols=4)
    return figure


#: For each stage: its function, its heading and its table.
STAGES = {
    "policies": (policies, "Policies", table_of_policies),
    "growth": (growth, "The number of topics", table),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_arguments(parser, STAGES)
    parser.add_argument("--corpora", nargs="+", choices=("nyt", "imdb", "debian"))
    head = head_of("Quality of latent Dirichlet allocation", "quality_lda")
    head[-1] += (
        " Nats per token, mean ± standard error over seeds; gains are paired by seed."
    )
    folder = run(parser, STAGES, "quality_lda", head)
    if (folder / "policies.csv").exists():
        images = folder.parents[2] / "doc/images"
        images.mkdir(parents=True, exist_ok=True)
        picture = picture_of_policies(pd.read_csv(folder / "policies.csv"))
        picture.savefig(images / "quality_policies.png", dpi=110)


if __name__ == "__main__":
    main()

"""
Stars for films: the bound of a matrix factorization, from many starts
======================================================================

This is the first experiment of Paisley et al.: ratings are modelled as products of
Gaussian factors, and fitted by batch variational inference and by SVI+. SVI+ gives the
ratings random weights, so that iteration t has the noise of a mini-batch of M = 50 t
ratings. The script also fits annealed models and models with an inferred temperature.
The settings are those of the paper: no biases, a prior variance of 1 of the factors, a
noise variance of 1/2, and all ratings in one batch. The script subtracts the mean from
the ratings. The paper does not; ``--global-mean=0`` does the same as the paper.

The script prints and draws the lower bound and the error of held-out ratings in each
iteration. For the package's defaults, which learn the variances and have biases, it
prints the error and the coverage of predictive intervals. Pictures need matplotlib
(``python -m pip install ".[plot]"`` in a checkout).

``--data`` names ratings: a download of MovieLens, or a file written by scipy's
``save_npz``. Without it, the script generates as many ratings as MovieLens 100K has.

With its defaults the script takes more than a minute.
"""

# sphinx_gallery_thumbnail_path = 'images/matrix_factorization.png'

import argparse
from pathlib import Path

import numpy as np
from scipy import sparse

from sktemper import (
    AnnealedMatrixFactorization,
    SVIPlusMatrixFactorization,
    TemperedMatrixFactorization,
)
from sktemper.datasets import load_movielens, make_ratings
from sktemper.metrics import heldout_rmse, interval_coverage
from sktemper.schedules import ExponentialSchedule, RampSchedule

#: Scale of the ratings in all data sets.
SCALE = (1, 5)
#: Share of the ratings that are held out.
HELD_OUT = 0.1
PAPER = {
    "biases": False,
    "noise_type": "common",
    "noise_variance": 0.5,
    "component_variance": 1.0,
}


def main():
    arguments = parse_arguments()
    X_train, X_test = divided(load_ratings(arguments.data), arguments.seed)
    n_users, n_items = X_train.shape  # pyright: ignore
    print(f"{X_train.nnz} ratings to fit to, {X_test.nnz} held out,", end=" ")
    print(f"of {n_items} items by {n_users} users")

    panels = {}
    for rank in arguments.ranks:
        panels[rank] = follow(X_train, X_test, rank, arguments)
        print_ends(panels[rank], rank, arguments)
    print_defaults(X_train, X_test, arguments)

    try:
        import matplotlib  # noqa: F401
    except ImportError:
        print("\nNo picture: matplotlib is not installed.")
        return
    draw(panels, arguments.output)
    print(f"\nPicture: {arguments.output}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--data", type=Path, help="default: generated ratings")
    parser.add_argument("--ranks", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--n-starts", type=int, default=5, help="the paper has 20")
    parser.add_argument(
        "--max-iter",
        type=int,
        default=500,
        help="a fiftieth of the number of ratings makes the noise of SVI+ vanish",
    )
    parser.add_argument("--global-mean", type=float, help="default: of the ratings")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", default="matrix_factorization.png")
    return parser.parse_args()


def load_ratings(path):
    if path is None:
        return make_ratings(
            943, 1682, n_ratings=100_000, n_stars=5, dtype=np.float32, random_state=0
        )
    if path.suffix == ".npz":
        return sparse.load_npz(path)
    return load_movielens(path).data


def divided(X, seed):
    """Return training ratings and held-out ratings, matrices of the same shape."""
    X = X.tocoo()
    held_out = np.random.default_rng(seed).permutation(X.nnz) < HELD_OUT * X.nnz
    return [
        sparse.csr_array((X.data[part], (X.row[part], X.col[part])), shape=X.shape)
        for part in (~held_out, held_out)
    ]


def make_models(rank, max_iter, global_mean):
    settings = {
        "n_components": rank,
        "global_mean": global_mean,
        "max_iter": max_iter,
        "tol": 0.0,
        **PAPER,
    }
    cooling = ExponentialSchedule(start=6.0, length=max_iter // 2)
    return {
        "batch": TemperedMatrixFactorization(tempering=None, **settings),
        "SVI+, M = 50 t": SVIPlusMatrixFactorization(
            effective_batch_size=RampSchedule(), learning_rate=0.85, **settings
        ),
        "annealed from T = 6": AnnealedMatrixFactorization(
            schedule=cooling, target="likelihood", **settings
        ),
        "temperature inferred": TemperedMatrixFactorization(**settings),
    }


class Follower:
    """Callback that stores the bound at T=1 and the held-out error of given passes."""

    def __init__(self, X_test, passes):
        self.test, self.passes = X_test.tocoo(), set(passes)
        self.n_passes, self.rows = 0, []

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X):
        if context.task_name != "pass":
            return
        self.n_passes += 1
        if self.n_passes in self.passes:
            predicted = estimator.predict(X)[self.test.row, self.test.col]
            error = predicted.clip(*SCALE) - self.test.data
            self.rows.append((estimator.lower_bound(X), np.sqrt(np.mean(error**2))))

    def teardown(self, estimator, context):
        pass


def follow(X_train, X_test, rank, arguments):
    """Return numbers of passes, and the bounds and errors after them.

    The latter are a dict from methods to arrays of shape (n_starts, n_passes, 2).
    """
    passes = np.unique(np.geomspace(3, arguments.max_iter, 60).round().astype(int))
    curves = {}
    models = make_models(rank, arguments.max_iter, arguments.global_mean)
    for name, model in models.items():
        runs = []
        for seed in range(arguments.n_starts):
            follower = Follower(X_test, passes)
            model.set_params(random_state=seed).set_callbacks(follower).fit(X_train)
            runs.append(follower.rows)
        curves[name] = np.array(runs)
    return passes, curves


def print_ends(panel, rank, arguments):
    passes, curves = panel
    middle = np.searchsorted(passes, arguments.max_iter / 10)
    print(f"\nRank {rank}, {arguments.n_starts} starts: lower bound (± standard error)")
    print(f"{'':22}{f'iteration {passes[middle]}':>19}", end="")
    print(f"{f'iteration {passes[-1]}':>19}{'over batch':>16}{'best':>11}   RMSE")
    for name, runs in curves.items():
        bounds = runs[:, :, 0]
        gain = bounds[:, -1] - curves["batch"][:, -1, 0]
        print(
            f"{name:22}{mean_and_error(bounds[:, middle])}"
            f"{mean_and_error(bounds[:, -1])}"
            f"{mean_and_error(gain, '+8.1f')}{bounds[:, -1].max():11.1f}"
            f"{runs[:, -1, 1].mean():8.4f}",
            flush=True,
        )


def mean_and_error(values, form="11.1f"):
    error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
    return f"{values.mean():{form}} ± {error:5.1f}"


def print_defaults(X_train, X_test, arguments):
    print("\nVariances learned, biases, plain inference, one start:")
    for rank in arguments.ranks:
        model = TemperedMatrixFactorization(
            rank, tempering=None, max_iter=arguments.max_iter, random_state=0
        ).fit(X_train)
        half, most = interval_coverage(model, X_test, levels=(0.5, 0.9))
        rmse = heldout_rmse(model, X_test, clip=SCALE)
        print(f"  rank {rank:2}: RMSE {rmse:.4f},", end=" ")
        print(f"{half:.1%} in intervals of 50 %, {most:.1%} in those of 90 %")


def draw(panels, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.8 * len(panels), 7), layout="constrained")
    axes = figure.subplots(2, len(panels), squeeze=False, sharex=True, sharey="row")
    for column, (rank, (passes, curves)) in zip(axes.T, panels.items(), strict=True):
        best = max(runs[:, :, 0].max() for runs in curves.values())
        for name, runs in curves.items():
            # half a nat is added because the axis is logarithmic and the best is 0
            draw_runs(column[0], passes, best - runs[:, :, 0] + 0.5, name)
            draw_runs(column[1], passes, runs[:, :, 1], name)
        column[0].set_title(f"rank {rank}: the best bound is {best:.1f}")
        column[1].set_xlabel("iteration")
        column[1].set_xscale("log")
    axes[0, 0].set_yscale("log")
    axes[0, 0].invert_yaxis()
    axes[0, 0].set_ylabel("nats below the best bound (+ 1/2)")
    axes[1, 0].set_ylabel("RMSE of held-out ratings")
    focus(axes[1, 0], panels)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    figure.suptitle("Bound and held-out error of each start, and means of all starts")
    figure.savefig(path, dpi=110)


def draw_runs(ax, passes, values, name):
    (line,) = ax.plot(passes, values.mean(axis=0), label=name)
    ax.plot(passes, values.T, color=line.get_color(), alpha=0.2, linewidth=0.6)
    ax.grid(alpha=0.3)


def focus(ax, panels):
    """Limit the axis to errors up to the largest of batch inference after its start."""
    errors = [
        runs[:, :, 1] for _, curves in panels.values() for runs in curves.values()
    ]
    batch = [curves["batch"][:, len(p) // 6 :, 1] for p, curves in panels.values()]
    low, high = min(map(np.min, errors)), max(map(np.max, batch))
    margin = 0.1 * max(high - low, 1e-6)
    ax.set_ylim(low - margin, high + margin)


if __name__ == "__main__":
    main()

"""
Features that overlap: the factorial mixture on toy images
==========================================================

This script fits the factorial mixture to sums of eight overlapping shapes of 4 x 4
pixels. Four fits have the same random start: plain variational inference, an inferred
temperature, and annealing without and with moves. The script prints the number of
shapes that each fit found and its held-out score, and saves a picture of these shapes.

The picture needs matplotlib (``python -m pip install ".[plot]"`` in a checkout).

With its defaults the script takes about 25 seconds.
"""

# sphinx_gallery_thumbnail_path = 'images/factorial_mixture_toy.png'

import argparse
import time

import numpy as np

from sktemper import AnnealedFactorialMixture, TemperedFactorialMixture
from sktemper.datasets import make_factorial_mixture
from sktemper.metrics import match_components

#: True variances and inclusion probability of the generated data. The papers fix these
#: values; by default the estimators learn them.
GIVEN = {
    "noise_variance": 0.01,
    "inclusion_probability": 0.3,
    "component_variance": 0.1225,
}
#: A shape counts as found if its cosine with a component is larger than this.
ALIKE = 0.98
N_TEST = 2000


def main():
    arguments = parse_arguments()
    X, _, shapes = make_factorial_mixture(
        arguments.n_samples + N_TEST,
        return_components=True,
        random_state=arguments.seed,
    )
    X, X_test = X[:-N_TEST], X[-N_TEST:]

    fits = fit_each(X, len(shapes), arguments)
    print_scores(fits, shapes, X_test)

    try:
        import matplotlib  # noqa: F401
    except ImportError:
        print("\nNo picture: matplotlib is not installed.")
        return
    draw_features(fits, shapes, arguments.output)
    print(f"\nPicture: {arguments.output}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--n-samples", type=int, default=10_000, help="to train on")
    parser.add_argument("--max-iter", type=int, default=100)
    parser.add_argument(
        "--given",
        action="store_true",
        help="give the fits the true variances and inclusion "
        "probability, as the papers did; by default they learn them",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", default="factorial_mixture_toy.png")
    return parser.parse_args()


def fit_each(X, n_components, arguments):
    """Return a dict from names to pairs: the fitted model and its fitting time."""
    settings = {
        "n_components": n_components,
        "max_iter": arguments.max_iter,
        "random_state": arguments.seed,
        **(GIVEN if arguments.given else {}),
    }
    models = {
        "plain": TemperedFactorialMixture(tempering=None, **settings),
        "global tempering": TemperedFactorialMixture(**settings),
        "annealed, no moves": AnnealedFactorialMixture(moves=None, **settings),
        "annealed, moves": AnnealedFactorialMixture(**settings),
    }
    fits = {}
    for name, model in models.items():
        begin = time.perf_counter()
        fits[name] = model.fit(X), time.perf_counter() - begin
    return fits


def print_scores(fits, shapes, X_test):
    print(f"{'':20} shapes found  held-out nats per sample  seconds")
    for name, (model, seconds) in fits.items():
        _, cosines = match_components(shapes, model.components_)
        found = f"{(cosines > ALIKE).sum()} of {len(shapes)}"
        print(f"{name:20} {found:>12} {model.score(X_test):25.2f} {seconds:8.1f}")


def draw_features(fits, shapes, path):
    """Draw the shapes and, below each, the most similar component of each fit."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5.6), layout="constrained")
    axes = figure.subplots(1 + len(fits), len(shapes))
    largest = np.abs(shapes).max()
    rows = [("truth", shapes, np.ones(len(shapes)))]
    for name, (model, _) in fits.items():
        order, cosines = match_components(shapes, model.components_)
        label = f"{name}\n{(cosines > ALIKE).sum()} of {len(shapes)}"
        rows.append((label, model.components_[order], cosines))
    for ax_row, (label, components, cosines) in zip(axes, rows, strict=True):
        ax_row[0].set_ylabel(label, rotation=0, ha="right", va="center")
        for ax, component, cosine in zip(ax_row, components, cosines, strict=True):
            ax.imshow(
                component.reshape(4, 4), cmap="RdBu_r", vmin=-largest, vmax=largest
            )
            ax.set_xticks([])
            ax.set_yticks([])
            missed = cosine <= ALIKE
            ax.spines[:].set_color("C1" if missed else "0.7")
            ax.spines[:].set_linewidth(3 if missed else 1)
    figure.colorbar(axes.flat[0].images[0], ax=axes, shrink=0.5)
    figure.suptitle("Eight shapes, and the features found; missed shapes are framed")
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()

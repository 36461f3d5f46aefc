"""
Symmetric clusters: where annealing collapses
=============================================

The data are 16 clusters on a grid of 4 x 4. All directions in the plane have the same
variance, so that all differences between components become unstable at the same
critical temperature, and components come to share several clusters. The script fits a
Gaussian mixture of up to 20 components by annealing without moves, by plain inference
from the same start, and by the default, which makes moves and compares the result with
that of plain inference. It prints the lower bounds and the numbers of components, and
draws the components as ellipses.

Pictures need matplotlib (``python -m pip install ".[plot]"`` in a checkout).
"""

# sphinx_gallery_thumbnail_path = 'images/symmetric_clusters.png'

import argparse

import numpy as np

from sktemper import AnnealedGaussianMixture, TemperedGaussianMixture

#: Distance of neighbouring clusters, in standard deviations.
SPACING = 6.0


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--n-samples", type=int, default=1000)
    parser.add_argument("--n-components", type=int, default=20)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--output", default="symmetric_clusters.png")
    arguments = parser.parse_args()

    X = make_grid(arguments.n_samples, arguments.seed)
    variances = np.linalg.eigvalsh(np.cov(X.T))
    print("Variances of the principal axes:", variances.round(1))
    given = {"n_components": arguments.n_components, "random_state": arguments.seed}
    fits = {
        "annealing alone": AnnealedGaussianMixture(moves=None, **given),
        "plain": TemperedGaussianMixture(tempering=None, moves=None, **given),
        "default": AnnealedGaussianMixture(**given),
    }
    for name, mixture in fits.items():
        mixture.fit(X)
        print(
            f"{name:16} {mixture.n_active_components_:2} components, "
            f"bound {mixture.lower_bound_:.0f}"
        )
    try:
        draw(fits, X, arguments.output)
    except ImportError:
        print("\nNo picture: matplotlib is not installed.")
    else:
        print(f"\nPicture: {arguments.output}")


def make_grid(n_samples, seed):
    """Return samples of 16 clusters of variance 1."""
    random = np.random.default_rng(seed)
    centres = SPACING * np.indices((4, 4)).reshape(2, -1).T
    labels = random.integers(len(centres), size=n_samples)
    return centres[labels] + random.normal(size=(n_samples, 2))


def draw(fits, X, output):
    """Draw the components of each fit."""
    import matplotlib.pyplot as plt

    from sktemper.plotting import MixtureEllipsesDisplay

    figure, axes = plt.subplots(1, 3, figsize=(9, 3.6), layout="constrained")
    for ax, (name, mixture) in zip(axes, fits.items(), strict=True):
        MixtureEllipsesDisplay.from_estimator(mixture, X, ax=ax)
        n_components = mixture.n_active_components_
        bound = mixture.lower_bound_
        ax.set_title(f"{name}\n{n_components} components, bound {bound:.0f}")
        ax.set(xlabel="", ylabel="", xticks=[], yticks=[], aspect="equal")
    figure.savefig(output, dpi=80)


if __name__ == "__main__":
    main()

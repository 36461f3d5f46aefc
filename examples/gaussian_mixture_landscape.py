"""
One optimum becomes two: the landscape of two Gaussians
=======================================================

This is the smallest example of the papers: 500 numbers from two Gaussians of variance 1
with means 4 and -4 and weights .3 and .7. The variance and the weights are known, and
the two means are unknown. The lower bound then has two optima: the true one, and one
with interchanged means. At a high temperature there is only one optimum, and it moves
to the true one as the temperature falls. The script draws the tempered bound as a
function of the two variational means, with all other parameters optimized, and the
paths of plain and annealed inference from the same starts.

The script also fits the package's estimators to the same data from random starts. They
learn weights and variances too, so that both orders of the components are equally good,
and a poor optimum divides the data in the wrong place. The script counts the fits that
reach the best bound.

Pictures need matplotlib (``python -m pip install ".[plot]"`` in a checkout).

With its defaults the script takes more than a minute.
"""

# sphinx_gallery_thumbnail_path = 'images/gaussian_mixture_landscape.png'

import argparse
import math

import numpy as np
from scipy.special import logsumexp

from sktemper import AnnealedGaussianMixture, TemperedGaussianMixture

MEANS = np.array([4.0, -4.0])
LOG_WEIGHTS = np.log([0.3, 0.7])
#: Variance of the prior of the two means; the mean of the prior is 0.
PRIOR_VARIANCE = 100.0
#: Tempered distributions in the pictures, and their temperatures: the posterior as in
#: Abrol et al. (2014), Fig. 2, and the likelihood as in Mandt et al. (2016), Fig. 1.
TARGETS = {"posterior": (100, 30, 1), "likelihood": (20, 13, 8.5, 1)}
#: Largest distance of the means from the true ones at the end of a successful path.
NEAR = 0.5
#: Largest difference from the best bound of a fit that counts as the best, in nats.
SAME_BOUND = 0.1


def main():
    arguments = parse_arguments()
    x = make_data(arguments.n_samples, arguments.seed)
    starts = np.random.default_rng(arguments.seed).normal(
        scale=5.0, size=(arguments.n_starts, 2)
    )

    print(f"Means found, of {len(starts)} random starts:")
    hot = np.geomspace(100, 1, arguments.n_cooling)
    for name, temperatures in {"plain": [], "annealed from T=100": hot}.items():
        ends = [follow(x, start, temperatures)[-1] for start in starts]
        found = (np.abs(np.array(ends) - MEANS).max(axis=1) < NEAR).sum()
        print(f"  {name:22} the true ones in {found}")

    print("\nThe estimators, weights and variances learned:")
    print_estimators(x, arguments)

    try:
        import matplotlib  # noqa: F401
    except ImportError:
        print("\nNo picture: matplotlib is not installed.")
        return
    draw(x, starts[: arguments.n_paths], hot, arguments.output)
    print(f"\nPicture: {arguments.output}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--n-samples", type=int, default=500)
    parser.add_argument("--n-starts", type=int, default=100)
    parser.add_argument("--n-paths", type=int, default=6, help="to draw")
    parser.add_argument("--n-cooling", type=int, default=30, help="steps above T=1")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", default="gaussian_mixture_landscape.png")
    return parser.parse_args()


def make_data(n_samples, seed):
    random = np.random.default_rng(seed)
    components = random.choice(2, size=n_samples, p=np.exp(LOG_WEIGHTS))
    return random.normal(MEANS[components])


# -- the papers' model: the means alone are unknown ------------------------------------
def scores(x, means, variances):
    """Return E log p(x, c) for each sample and component, (..., n_samples, 2)."""
    means, variances = means[..., None, :], variances[..., None, :]
    squares = (x[:, None] - means) ** 2 + variances
    return LOG_WEIGHTS - 0.5 * (math.log(2 * math.pi) + squares)


def responsibilities(x, means, variances, temperature):
    logs = scores(x, means, variances) / temperature
    return np.exp(logs - logsumexp(logs, axis=-1, keepdims=True))


def tempered_bound(x, means, temperature, target):
    """Return the bound, scaled as in the papers, at ``means`` of shape (..., 2).

    With a tempered posterior, the papers multiply the bound of the tempered model by T.
    The responsibilities are optimal. So are the variances of q, which a few fixed-point
    iterations compute.
    """
    whole = target == "posterior"
    variances = np.full_like(means, 0.01)
    for _ in range(3):
        counts = responsibilities(x, means, variances, temperature).sum(axis=-2)
        variances = best_variances(counts, temperature, whole)
    logs = np.logaddexp.reduce(scores(x, means, variances) / temperature, axis=-1)
    log_prior = -0.5 * (means**2 + variances) / PRIOR_VARIANCE
    entropy = 0.5 * np.log(variances)
    factor = temperature if whole else 1.0
    return factor * (logs.sum(axis=-1) + entropy.sum(axis=-1)) + log_prior.sum(axis=-1)


def best_variances(counts, temperature, whole):
    prior = 1 / PRIOR_VARIANCE
    if whole:
        return temperature / (prior + counts)
    return 1 / (prior + counts / temperature)


def follow(x, start, temperatures, n_last=30):
    """Return the means after each step of inference with a tempered posterior."""
    path, variances = [np.asarray(start)], np.full(2, 0.01)
    for temperature in [*temperatures, *np.ones(n_last)]:
        shares = responsibilities(x, path[-1], variances, temperature)
        precision = 1 / PRIOR_VARIANCE + shares.sum(axis=0)
        path.append(x @ shares / precision)
        variances = temperature / precision
    return np.array(path)


# -- the package -----------------------------------------------------------------------
def print_estimators(x, arguments):
    settings = {
        "n_components": 2,
        "covariance_type": "spherical",
        "init_params": "random_from_data",
        "weight_concentration_prior_type": "dirichlet_distribution",
        "priors": "scikit-learn",
        "max_iter": 300,
        "tol": 1e-6,
    }
    models = {
        "plain": TemperedGaussianMixture(tempering=None, **settings),
        "annealed, no moves": AnnealedGaussianMixture(moves=None, **settings),
        "annealed, moves": AnnealedGaussianMixture(**settings),
    }
    bounds = {
        name: [
            model.set_params(random_state=seed).fit(x[:, None]).lower_bound_
            for seed in range(arguments.n_starts)
        ]
        for name, model in models.items()
    }
    best = max(map(max, bounds.values()))
    for name, values in bounds.items():
        found = (np.array(values) > best - SAME_BOUND).sum()
        print(f"  {name:22} the best bound, {best:.1f}, in {found}")


# -- the picture -----------------------------------------------------------------------
def draw(x, starts, hot, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 8), layout="constrained")
    axes = iter(figure.subplots(3, 3, sharex=True, sharey=True).flat)
    for target, temperatures in TARGETS.items():
        for temperature in temperatures:
            ax = next(axes)
            draw_landscape(ax, x, temperature, target)
            ax.set_title(f"{target} at T = {temperature:g}", fontsize="medium")
    for name, temperatures in {"plain": [], f"from T = {hot[0]:g}": hot}.items():
        ax = next(axes)
        draw_landscape(ax, x, 1, "posterior")
        draw_paths(ax, x, starts, temperatures)
        ax.set_title(f"paths of inference, {name}", fontsize="medium")
    figure.supxlabel("mean of the Gaussian of weight .3")
    figure.supylabel("mean of the Gaussian of weight .7")
    figure.suptitle("The tempered bound of two Gaussians, and its optimum (red)")
    figure.savefig(path, dpi=90)


def draw_landscape(ax, x, temperature, target):
    """Draw contours of the bound, denser near its maximum, and mark the maximum."""
    grid = np.linspace(-8, 8, 49)
    rows = [np.stack([grid, np.full_like(grid, height)], axis=-1) for height in grid]
    bound = np.array([tempered_bound(x, row, temperature, target) for row in rows])
    levels = bound.max() - np.ptp(bound) * np.linspace(1, 0, 25) ** 2
    ax.contourf(grid, grid, bound, levels=levels, cmap="Blues_r")
    ax.contour(
        grid, grid, bound, levels=levels, colors="0.3", linewidths=0.3, linestyles="-"
    )
    row, column = np.unravel_index(bound.argmax(), bound.shape)
    ax.plot(grid[column], grid[row], "o", color="C3", markersize=7)
    ax.set_aspect("equal")


def draw_paths(ax, x, starts, temperatures):
    """Draw the means of each step; paths that end at the true means are orange."""
    for start in starts:
        path = follow(x, start, temperatures)
        right = np.abs(path[-1] - MEANS).max() < NEAR
        color = "C1" if right else "C4"
        ax.plot(*path.T, ".-", color=color, linewidth=1.4, markersize=3)
        ax.plot(*start, "o", color=color, markersize=6)


if __name__ == "__main__":
    main()

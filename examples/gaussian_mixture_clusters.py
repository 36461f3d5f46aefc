"""
How many clusters: a Dirichlet-process mixture of Gaussians
===========================================================

The data are 250 points in the plane, in four clusters. The script fits mixtures of up
to 50 Gaussians, with the priors of the paper, by six methods: scikit-learn's
``BayesianGaussianMixture``, plain inference with all samples in each step (batch),
plain inference with mini-batches (SVI), SVI with the noise of smaller batches (SVI+),
annealing, and annealing with moves. It repeats all fits with other random data and
starts, and prints the number of clusters that they found. One picture shows the sorted
sizes of the clusters, and another the clusters found in the first data set.
Pictures need matplotlib (``python -m pip install ".[plot]"`` in a checkout).

With its defaults the script takes more than a minute.
"""

# sphinx_gallery_thumbnail_path = 'images/gaussian_mixture_clustering.png'

import argparse
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture

from sktemper import (
    AnnealedGaussianMixture,
    SVIPlusGaussianMixture,
    TemperedGaussianMixture,
)

CENTRES = 3.5 * np.array([[1, 1], [-1, 1], [1, -1], [-1, -1]])
#: Triangular roots of the clusters' covariances, and the clusters' shares.
ROOTS = np.array(
    [[[1, 0], [0.8, 0.5]], [[1, 0], [-0.8, 0.5]], [[1, 0], [0.5, 1]], [[1, 0], [0, 1]]]
)
SHARES = [0.4, 0.3, 0.2, 0.1]
#: Priors of the paper, together with the identity as covariance_prior. The prior
#: variance of a mean is ten times that of a component. The weights have a Dirichlet
#: distribution with concentrations 1 / K, and the covariances have D degrees of
#: freedom; both numbers are defaults.
PRIORS = {
    "weight_concentration_prior_type": "dirichlet_distribution",
    "mean_precision_prior": 0.1,
}
#: Number of clusters whose sizes are drawn.
N_DRAWN = 9


def main():
    arguments = parse_arguments()
    warnings.simplefilter("ignore", ConvergenceWarning)
    labels = fit_all(arguments)
    sizes = sorted_sizes(labels)
    print_numbers(sizes)

    try:
        import matplotlib  # noqa: F401
    except ImportError:
        print("\nNo pictures: matplotlib is not installed.")
        return
    draw_sizes(sizes, arguments.output)
    draw_clusterings(labels, arguments.output_clustering)
    print(f"\nPictures: {arguments.output}, {arguments.output_clustering}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--n-runs", type=int, default=30, help="data sets, and starts")
    parser.add_argument("--n-components", type=int, default=50)
    parser.add_argument(
        "--init-params",
        default="kmeans",
        help="where the fits of the first picture start",
    )
    parser.add_argument(
        "--max-iter", type=int, default=100, help="passes of SVI in the first picture"
    )
    parser.add_argument("--output", default="gaussian_mixture_clusters.png")
    parser.add_argument(
        "--output-clustering", default="gaussian_mixture_clustering.png"
    )
    return parser.parse_args()


def make_data(seed):
    random = np.random.default_rng(seed)
    clusters = random.choice(len(SHARES), size=250, p=SHARES)
    noise = random.normal(size=(250, 2))
    return CENTRES[clusters] + np.einsum("nij,nj->ni", ROOTS[clusters], noise)


def fit_all(arguments):
    """Return a dict from names of methods to labels of shape (n_runs, n_samples)."""
    settings = {
        "n_components": arguments.n_components,
        "init_params": arguments.init_params,
        "covariance_prior": np.eye(2),
        **PRIORS,
    }
    theirs = {"max_iter": 1000, **settings}
    settings["priors"] = "scikit-learn"  # the same default priors for all methods
    batches = {"batch_size": 50, "max_iter": arguments.max_iter, **settings}
    long = {"max_iter": 1000, **settings}
    models = {
        "BayesianGaussianMixture": BayesianGaussianMixture(**theirs),
        "plain": TemperedGaussianMixture(tempering=None, **long),
        "SVI, batches of 50": TemperedGaussianMixture(tempering=None, **batches),
        "SVI+, M=20": SVIPlusGaussianMixture(effective_batch_size=20, **batches),
        "annealed, no moves": AnnealedGaussianMixture(moves=None, **settings),
        "annealed, moves": AnnealedGaussianMixture(**settings),
    }
    labels = {}
    for name, model in models.items():
        runs = []
        for seed in range(arguments.n_runs):
            X = make_data(seed)
            runs.append(model.set_params(random_state=seed).fit(X).predict(X))
        labels[name] = np.array(runs)
    return labels


def sorted_sizes(labels):
    """Return the shares of the points that each cluster has, in decreasing order."""
    sizes = {}
    for name, runs in labels.items():
        n_clusters = max(runs.max() + 1, N_DRAWN)
        counts = np.array([np.bincount(run, minlength=n_clusters) for run in runs])
        sizes[name] = np.sort(counts, axis=1)[:, ::-1] / runs.shape[1]
    return sizes


def print_numbers(sizes):
    n_runs = len(next(iter(sizes.values())))
    print(f"Clusters found (4 are true), and number of runs, of {n_runs}:")
    for name, shares in sizes.items():
        numbers, times = np.unique((shares > 0).sum(axis=1), return_counts=True)
        found = ", ".join(
            f"{number}: {n}" for number, n in zip(numbers, times, strict=True)
        )
        print(f"  {name:24} {found}")


def draw_sizes(sizes, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5), layout="constrained")
    axes = figure.subplots(2, 3, sharex=True, sharey=True).flat
    for ax, (name, shares) in zip(axes, sizes.items(), strict=True):
        ax.boxplot(shares[:, :N_DRAWN], medianprops={"color": "C1"})
        ax.axvline(len(SHARES) + 0.5, color="0.7", linewidth=1)
        right = ((shares > 0).sum(axis=1) == len(SHARES)).sum()
        ax.set_title(
            f"{name}\n4 clusters in {right} of {len(shares)}", fontsize="medium"
        )
    figure.supxlabel("cluster, the largest first")
    figure.supylabel("share of the points")
    figure.suptitle("Sizes of the clusters that six methods found in four clusters")
    figure.savefig(path, dpi=120)


def draw_clusterings(labels, path):
    """Draw the clusters that each method found in the data of the first run."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), layout="constrained")
    axes = figure.subplots(2, 3, sharex=True, sharey=True).flat
    X = make_data(0)
    for ax, (name, runs) in zip(axes, labels.items(), strict=True):
        clusters, of_point = np.unique(runs[0], return_inverse=True)
        ax.scatter(*X.T, c=of_point, cmap="tab20", vmin=0, vmax=19, s=9)
        ax.set_title(f"{name}: {len(clusters)}", fontsize="medium")
        ax.set_aspect("equal")
    figure.suptitle("250 points in four clusters, and the clusters of each fit")
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()

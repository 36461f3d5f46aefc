"""Gaussian mixtures: generated clusters of many shapes, and real labelled rows."""

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

from sktemper import AnnealedGaussianMixture
from sktemper.model_selection import temperature_path

from .. import real
from ..core import Data, DataSet, Family, Figure, Method
from ..measures import partition_figures
from ..samplers import zipf

#: Share of test rows, and their largest number.
TEST, MOST_TEST = 0.25, 2000
#: Number of columns from which on the separation is the mean distance of centres.
WIDE = 32
#: Least number of components that methods get for real data.
LIMIT = 10
#: Number of columns from which on the choice by BIC leaves out full covariances.
MOST_FULL = 100


# -- data ------------------------------------------------------------------------------


def clusters(
    n_rows,
    n_columns,
    n_classes,
    separation,
    kind="spherical",
    *,
    exponent=0.0,
    tail=None,
    noise=0.0,
    skew=0.0,
    discrete=0.0,
    limit=None,
):
    """Return a function that draws Gaussian clusters, or clusters with other shapes.

    Parameters
    ----------
    separation : float
        Distance of centres in standard deviations of a cluster: the least distance, or
        from 32 columns on the root mean square.
    kind : {"spherical", "widths", "diag", "tied", "full"}
        Kind of covariances; "widths" means spherical clusters of different widths.
    exponent : float
        Exponent of Zipf's law of the sizes of clusters.
    tail : float, default=None
        Degrees of freedom of t distributions, scaled to unit variance.
    noise : float
        Share of rows that are uniform in a box around all clusters.
    skew : float
        Skewness of the standardised variables: x becomes x + skew x².
    discrete : float
        The spacing to which columns are rounded; 0 does not round.
    limit : int, default=None
        The number of components that methods get; None is twice ``n_classes``.
    """

    def make(random):
        n = n_rows + min(int(TEST * n_rows), MOST_TEST)
        centres = centres_of(random, n_classes, n_columns, separation)
        y = random.choice(n_classes, n, p=zipf(n_classes, exponent))
        z = random.standard_normal((n, n_columns))
        if tail:
            z *= np.sqrt((tail - 2) / random.chisquare(tail, (n, 1)))
        if skew:
            z = (z + skew * (z**2 - 1)) / np.sqrt(1 + 2 * skew**2)
        X = centres[y] + shaped(random, z, y, n_classes, kind)
        if noise:
            lost = random.random(n) < noise
            low, high = X.min(axis=0) - 2, X.max(axis=0) + 2
            X[lost] = random.uniform(low, high, (lost.sum(), n_columns))
            y[lost] = -1
        if discrete:
            X = np.round(X / discrete) * discrete
        return generated(X, y, n_rows, n_classes, limit, kind)

    return make


def centres_of(random, n_classes, n_columns, separation):
    """Return centres with a given separation, of shape (n_classes, n_columns)."""
    shape = n_classes, n_columns
    if n_columns >= WIDE:
        return random.standard_normal(shape) * separation / np.sqrt(2 * n_columns)
    if n_classes == 1:
        return np.zeros(shape)
    radius = 0.7 * separation * n_classes ** (1 / n_columns)
    centres = np.empty((0, n_columns))
    while len(centres) < n_classes:
        radius *= 1.02  # a larger radius makes the next attempt easier
        new = np.vstack([centres, random.uniform(-radius, radius, n_columns)])
        if len(new) == 1 or pdist(new).min() >= separation:
            centres = new
    return centres


def shaped(random, z, y, n_classes, kind):
    """Return standardised deviations with the covariances of their clusters."""
    n_columns = z.shape[1]
    if kind == "widths":
        return z * np.exp(random.uniform(-0.7, 0.7, n_classes))[y, None]
    if kind == "diag":
        scales = np.exp(random.uniform(-0.8, 0.8, (n_classes, n_columns)))
        return z * (scales / np.sqrt((scales**2).mean(axis=1, keepdims=True)))[y]
    if kind == "tied":
        return z @ factor(random, n_columns).T
    if kind == "full":
        found = np.empty_like(z)
        for k in range(n_classes):
            found[y == k] = z[y == k] @ factor(random, n_columns).T
        return found
    return z


def factor(random, n_columns, condition=6.0):
    """Return a random matrix whose product with its transpose has unit mean variance.

    ``condition`` is the largest ratio of standard deviations of principal axes.
    """
    rotation = np.linalg.qr(random.standard_normal((n_columns, n_columns)))[0]
    scales = condition ** random.uniform(-0.5, 0.5, n_columns)
    return rotation * (scales / np.sqrt((scales**2).mean()))


def embeddings(n_rows, n_columns, n_classes, spread=1.0, exponent=1.0, limit=None):
    """Return a function that draws unit vectors around random directions."""

    def make(random):
        n = n_rows + min(int(TEST * n_rows), MOST_TEST)
        y = random.choice(n_classes, n, p=zipf(n_classes, exponent))
        centres = random.standard_normal((n_classes, n_columns))
        centres /= np.linalg.norm(centres, axis=1, keepdims=True)
        noise = random.standard_normal((n, n_columns)) / np.sqrt(n_columns)
        X = centres[y] + spread * noise
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        return generated(X, y, n_rows, n_classes, limit, "spherical")

    return make


def generated(X, y, n_rows, n_classes, limit, kind):
    """Return a `Data` of drawn rows; the first ``n_rows`` are for training."""
    n_components = limit or 2 * n_classes
    kind = "spherical" if kind == "widths" else kind
    truth = {"labels": y[:n_rows], "n_classes": n_classes, "kind": kind}
    facts = facts_of(X[:n_rows], n_components, n_classes)
    return Data(X[:n_rows], X[n_rows:], n_components, truth, facts)


def facts_of(X, n_components, n_classes):
    """Return the facts about rows that tables show."""
    rows, columns = X.shape
    return {"rows": rows, "columns": columns, "limit": n_components, "true": n_classes}


def labelled(load):
    """Return a function that splits real rows with labels at random.

    Columns are scaled to unit variance, and constant columns are dropped.
    """

    def make(random):
        X, y = load()
        y = np.unique(y, return_inverse=True)[1]
        order = random.permutation(len(X))
        n_rows = len(X) - min(int(TEST * len(X)), MOST_TEST)
        X = np.asarray(X, dtype=np.float64)[order]
        X = X[:, X[:n_rows].std(axis=0) > 0]
        X = (X - X[:n_rows].mean(axis=0)) / X[:n_rows].std(axis=0)
        n_classes = int(y.max()) + 1
        limit = max(LIMIT, 2 * n_classes)
        return generated(X, y[order], n_rows, n_classes, limit, "full")

    return make


# -- methods, which return labels, and the mean held-out density or None ---------------


def annealed(data, seed, **options):
    mixture = AnnealedGaussianMixture(data.n_components, random_state=seed, **options)
    mixture.fit(data.train)
    return mixture.labels_, mixture.score_samples(data.test).mean()


def annealed_of_type(data, seed, **options):
    return annealed(data, seed, covariance_type=data.truth["kind"], **options)


def persistent(data, seed, **options):
    mixture = AnnealedGaussianMixture(data.n_components, random_state=seed, **options)
    path = temperature_path(mixture, data.train)
    return path.labels_, path.fits_[path.level_].score_samples(data.test).mean()


def bayesian(data, seed):
    mixture = BayesianGaussianMixture(n_components=data.n_components, random_state=seed)
    labels = mixture.fit_predict(data.train)
    return labels, density(mixture, data.test)


def density(mixture, X):
    """Return the mean log density at the fitted parameters.

    The scores of `BayesianGaussianMixture` are not log densities.
    """
    plain = GaussianMixture(
        mixture.n_components, covariance_type=mixture.covariance_type
    )
    plain.weights_, plain.means_ = mixture.weights_, mixture.means_
    plain.covariances_ = mixture.covariances_
    plain.precisions_cholesky_ = mixture.precisions_cholesky_
    return plain.score_samples(X).mean()


def by_bic(data, seed):
    """Choose the type and the number of components by BIC.

    For each type, the first grid is 1, 2, 3, 4, 6, 8, 12, 16 … up to the limit. Then
    the intervals around the best number are halved until its neighbours have been
    tried.
    """
    best = None
    types = ["spherical", "diag", "tied"]
    if data.train.shape[1] <= MOST_FULL:
        types.append("full")
    for covariance_type in types:
        tried = {}

        def bic(k, tried=tried, covariance_type=covariance_type):
            if k not in tried:
                mixture = GaussianMixture(
                    k, covariance_type=covariance_type, random_state=seed
                ).fit(data.train)
                tried[k] = mixture.bic(data.train), k, mixture
            return tried[k][:2]

        grid = [k for i in range(8) for k in (2**i, 3 * 2**i) if k < data.n_components]
        found = search(bic, sorted({*grid, data.n_components}))
        if best is None or tried[found][0] < best[0]:
            best = tried[found]
    mixture = best[-1]
    return mixture.predict(data.train), mixture.score_samples(data.test).mean()


def search(value, grid):
    """Return the number with the least value, by refining a grid around its best."""
    for k in grid:
        value(k)
    known = set(grid)
    while True:
        ordered = sorted(known)
        place = ordered.index(min(known, key=value))
        near = ordered[max(place - 1, 0) : place + 2]
        new = {(a + b) // 2 for a, b in zip(near, near[1:], strict=False)} - known
        if not new:
            return ordered[place]
        known |= new


def kmeans(data, seed):
    means = KMeans(data.truth["n_classes"], n_init=10, random_state=seed)
    return means.fit_predict(data.train), None, True


def hdbscan(data, seed):
    return HDBSCAN(copy=True).fit_predict(data.train), None


# -- figures ---------------------------------------------------------------------------


def judge(data, fitted):
    """Return the figures of labels, and of a held-out density or None.

    A third item of ``fitted`` means that the method got the true number of classes.
    """
    labels, score, *extra = fitted
    found = partition_figures(labels, data.truth["labels"])
    if extra:
        del found["exact"]
    return found if score is None else found | {"score": score}


# -- the family ------------------------------------------------------------------------

SHAPES = {
    "spherical D=2 K=5": clusters(1000, 2, 5, 5),
    "spherical D=2 K=15": clusters(3000, 2, 15, 5),
    "full D=2 K=8": clusters(2000, 2, 8, 4, "full"),
    "widths D=2 K=6, Zipf": clusters(3000, 2, 6, 6, "widths", exponent=1),
    "diag D=8 K=8": clusters(3000, 8, 8, 4, "diag"),
    "full D=8 K=10": clusters(4000, 8, 10, 5, "full"),
    "tied D=8 K=6": clusters(2000, 8, 6, 4, "tied"),
    "spherical D=8 K=30, Zipf": clusters(20000, 8, 30, 5, exponent=1),
    "widths D=32 K=12": clusters(3000, 32, 12, 6, "widths"),
    "full D=32 K=8": clusters(800, 32, 8, 6, "full"),
    "spherical D=48 K=8": clusters(4000, 48, 8, 6),
    "diag D=64 K=20, Zipf": clusters(6000, 64, 20, 6, "diag", exponent=1),
    "tied D=64 K=10": clusters(5000, 64, 10, 6, "tied"),
    "spherical D=128 K=30, Zipf": clusters(10000, 128, 30, 6, exponent=1),
    "unit D=384 K=20, Zipf": embeddings(5000, 384, 20),
    "t4 D=8 K=6": clusters(3000, 8, 6, 8, tail=4),
    "noise D=8 K=6": clusters(3000, 8, 6, 6, noise=0.05),
    "skewed D=4 K=5": clusters(2000, 4, 5, 6, skew=0.15),
    "discrete D=9 K=3": clusters(700, 9, 3, 5, "diag", discrete=1.0),
    "one full D=8": clusters(2000, 8, 1, 0, "full", limit=10),
    "one spherical D=64": clusters(1000, 64, 1, 0, limit=10),
}
SHAPES_HELD_BACK = {
    "spherical D=3 K=7": clusters(1500, 3, 7, 4),
    "diag D=5 K=9, Zipf": clusters(2500, 5, 9, 5, "diag", exponent=1),
    "full D=16 K=6": clusters(3000, 16, 6, 5, "full"),
    "tied D=24 K=12": clusters(4000, 24, 12, 5, "tied"),
    "spherical D=32 K=5": clusters(300, 32, 5, 5),
    "full D=48 K=5": clusters(6000, 48, 5, 6, "full"),
    "widths D=100 K=25, Zipf": clusters(5000, 100, 25, 6, "widths", exponent=1),
    "diag D=128 K=8": clusters(300, 128, 8, 8, "diag"),
    "unit D=384 K=12, Zipf": embeddings(1500, 384, 12),
    "t4 D=32 K=5": clusters(2000, 32, 5, 8, tail=4),
    "noise D=2 K=6": clusters(2000, 2, 6, 6, noise=0.05),
    "skewed D=10 K=4": clusters(3000, 10, 4, 6, skew=0.15),
    "discrete D=6 K=4": clusters(1000, 6, 4, 5, discrete=1.0),
    "one full D=2": clusters(300, 2, 1, 0, "full", limit=8),
    "one diag D=32": clusters(600, 32, 1, 0, "diag", limit=8),
    "one unit D=384": embeddings(1000, 384, 1, limit=8),
}
#: Largest numbers of seeds of a split: for fast and for slow data sets.
SEEDS, SEEDS_OF_SLOW = (10, 10), (1, 1)
#: Slow data sets, with one seed in each split for all methods.
SLOW = {
    "spherical D=8 K=30, Zipf",
    "diag D=64 K=20, Zipf",
    "tied D=64 K=10",
    "spherical D=128 K=30, Zipf",
    "unit D=384 K=20, Zipf",
    "full D=48 K=5",
    "diag D=128 K=8",
    "widths D=100 K=25, Zipf",
    "unit D=384 K=12, Zipf",
    "one unit D=384",
    "digits",
    "leaves",
    "tissues",
    "cells",
}
LABELLED = ("iris", "wine", "breast cancer", "penguins", "crabs", "biopsy", "glass")
LABELLED_HELD_BACK = (
    *("digits", "olive oils", "leaves", "tissues", "skulls"),
    # these were chosen after the defaults were final
    *("diabetes", "oils", "athletes", "possums", "cells"),
)


def _data_sets(shapes, tables, held_back):
    for name, make in shapes.items():
        yield DataSet(name, make, held_back, seeds=_seeds(name))
    for name in tables:
        load, package = real.LABELLED[name]
        yield DataSet(name, labelled(load), held_back, package, _seeds(name))


def _seeds(name):
    return SEEDS_OF_SLOW if name in SLOW else SEEDS


FAMILY = Family(
    name="clusters",
    title="Gaussian mixtures",
    page="clusters",
    about="""The separation of clusters is the least distance of centres in standard
deviations of a cluster; from 32 columns on, it is the root mean square distance. The
adjusted Rand index compares labels of the training rows with the classes, without rows
of noise. Components are in use if they have a training row; a fit is exact if the
number of components in use is the number of classes. Large components have more than 2
% of the rows. The log density is that of held-out rows: the predictive density of this
package's fits, and the density at the fitted parameters of scikit-learn's mixtures. On
discrete columns densities have no bound, because a component may shrink to a single
value. The columns of real data have unit variance. All methods but KMeans and HDBSCAN
get the largest number of components. The first method of this package has only
defaults; the second also gets the covariance type ("full" for real data); the third has
defaults, and counts clusters of components. BIC chooses the type and the number of
components of `GaussianMixture`, without full covariances from 101 columns on. KMeans
gets the true number of classes, with ten starts. HDBSCAN has scikit-learn's defaults,
and its noise counts as one more label.""",
    data_sets=(
        *_data_sets(SHAPES, LABELLED, held_back=False),
        *_data_sets(SHAPES_HELD_BACK, LABELLED_HELD_BACK, held_back=True),
    ),
    methods=(
        Method("annealed", annealed, role="default"),
        Method("annealed, told the type", annealed_of_type, role="variant"),
        Method("annealed, persistent clusters", persistent, role="variant"),
        Method("Bayesian", bayesian, "scikit-learn"),
        Method("BIC", by_bic, "scikit-learn"),
        Method("KMeans told K", kmeans, "scikit-learn"),
        Method("HDBSCAN", hdbscan, "scikit-learn"),
    ),
    figures=(
        Figure("ari", "Adjusted Rand index", 2, 1, 0.02),
        Figure("exact", "Share of fits with the exact number", 2, 1, 0.1),
        Figure("used", "Components in use", 1, 0),
        Figure("large", "Components with more than 2 % of the rows", 1, 0),
        Figure("score", "Held-out log density per row", 2, 1, 0.1, summary="gap"),
        Figure("seconds", "CPU seconds", 2, 0, summary="sum"),
    ),
    judge=judge,
    facts=("rows", "columns", "limit", "true"),
    smallest=DataSet("smallest", clusters(90, 2, 2, 8), held_back=False),
    cap=60,
)

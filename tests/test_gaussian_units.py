"""Gaussian mixtures do not depend on the units of the columns."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from sktemper import (
    AnnealedGaussianMixture,
    SVIPlusGaussianMixture,
    TemperedGaussianMixture,
)
from sktemper.gaussian_mixture._starts import (
    floors,
    from_distinct,
    kmeans_labels,
    spreads,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*did not converge")

ONE_FACTOR = [1e-6, 2.0**-13, 1e6]
FACTORS = np.array([1e-6, 1e3, 1e6, 3e-2])


def clusters(n_samples=300):
    random = np.random.default_rng(3)
    centres, y = random.normal(0, 4, (4, 4)), random.integers(4, size=n_samples)
    widths = random.uniform(0.5, 1.5, (4, 4))
    return centres[y] + widths[y] * random.normal(size=(n_samples, 4)), y


def fit(X, cls=AnnealedGaussianMixture, sample_weight=None, **settings):
    mixture = cls(7, random_state=0, max_iter=20, **settings)
    return mixture.fit(X, sample_weight=sample_weight)


def assert_same(one, other, X, factors):
    np.testing.assert_array_equal(one.labels_, other.labels_)
    expected = one.lower_bound(X) - np.log(np.full(X.shape, factors)).sum()
    assert other.lower_bound(X * factors) == pytest.approx(expected, abs=1e-3)


@pytest.mark.every(11)
@pytest.mark.parametrize(
    "cls", [TemperedGaussianMixture, AnnealedGaussianMixture, SVIPlusGaussianMixture]
)
@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("init", ["kmeans", "k-means++", "random", "random_from_data"])
def test_units_change_no_labels(cls, covariance_type, init):
    X, _ = clusters()
    settings = {"covariance_type": covariance_type, "init_params": init, "cls": cls}
    one = fit(X, **settings)
    for factor in ONE_FACTOR:
        assert_same(one, fit(X * factor, **settings), X, factor)
    if covariance_type != "spherical":
        assert_same(one, fit(X * FACTORS, **settings), X, FACTORS)


def test_floors_ignore_outliers_and_have_the_units_of_the_columns():
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 4)) * FACTORS
    usual = floors(X, None, X.var(axis=0))
    np.testing.assert_allclose(usual, 1e-6 * FACTORS**2, rtol=0.2)
    X[:3] *= 1e4
    np.testing.assert_allclose(floors(X, None, X.var(axis=0)), usual, rtol=0.05)
    moved = np.ldexp(X, [-9, 3, 20, 1])
    np.testing.assert_array_equal(spreads(moved), np.ldexp(spreads(X), [-9, 3, 20, 1]))


def test_spreads_of_columns_of_few_values():
    X = np.array([[0, 7, 0, np.nan]] * 18 + [[1, 7, 3, 1], [3, 7, 3, 5]], dtype=float)
    expected = [np.sqrt(10 / 20), 0.0, 3 / 2.5631031310892007, 4 / 2.5631031310892007]
    X[:3, 2] = 3.0
    np.testing.assert_allclose(spreads(X), expected)
    variances = X[:, :3].var(axis=0)
    found = floors(X[:, :3], None, variances)
    assert found[1] == found[[0, 2]].mean()  # a constant column
    np.testing.assert_array_equal(floors(np.ones((5, 2)), None, np.zeros(2)), 1e-6)


def test_a_weight_of_two_has_the_spread_of_two_rows():
    X, _ = clusters(100)
    weight = np.random.default_rng(0).integers(0, 4, 100)
    repeated = np.repeat(X, weight, axis=0)
    np.testing.assert_array_equal(spreads(X, weight), spreads(repeated))

    def start(X, n_components, random, weight):
        return X  # instead of responsibilities

    np.testing.assert_array_equal(
        np.repeat(from_distinct(start, True, X, 3, None, weight), weight, axis=0),
        from_distinct(start, True, repeated, 3, None),
    )


def test_one_outlier_leaves_clusters_apart():
    X, y = clusters()
    X[0] = 1e4
    found = fit(X)
    assert adjusted_rand_score(y[1:], found.labels_[1:]) > 0.95


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("shape", [(40, 1), (301, 4), (900, 33)])
def test_kmeans_is_that_of_scikit_learn(shape, is_weighted, dtype):
    random = np.random.default_rng(shape[0])
    rows = (
        random.normal(size=shape) + random.integers(0, 9, shape[:1])[:, None]
    ).astype(dtype)
    weight = random.uniform(0.5, 2.0, len(rows)) if is_weighted else None
    theirs = KMeans(7, n_init=1, random_state=3).fit(rows, sample_weight=weight)
    found = kmeans_labels(rows, 7, np.random.RandomState(3), weight)
    assert adjusted_rand_score(found, theirs.labels_) == 1.0


def test_kmeans_of_some_rows_is_about_as_good_as_of_all():
    X, _ = clusters(9000)

    def inertia(most):
        labels = kmeans_labels(X, 6, np.random.RandomState(0), None, most)
        return sum(len(X[labels == k]) * X[labels == k].var(0).sum() for k in range(6))

    assert inertia(2000) == pytest.approx(inertia(len(X)), rel=0.02)

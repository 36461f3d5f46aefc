"""Clusters of components: components without a gap between them."""

import numpy as np
import pytest
from scipy.ndimage import label
from scipy.stats import multivariate_normal
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from sktemper import AnnealedGaussianMixture
from sktemper.gaussian_mixture._clusters import LEAST_RATIO, _Components, clusters_of
from sktemper.moves import SplitMergeMoves

MANY = 1e12  # number of samples of a component whose mean has no error


def components(seed, n=12, d=3, spread=3.0):
    """Return means, covariances and counts of overlapping components."""
    random = np.random.default_rng(seed)
    factors = random.normal(size=(n, d, d))
    covariances = factors @ factors.transpose(0, 2, 1) + 0.1 * np.eye(d)
    return spread * random.normal(size=(n, d)), covariances, random.uniform(9, 90, n)


def highest_pass(means, covariances, weights):
    """Return the ratio of the pass between two densities in the plane to their peaks.

    Points of a fine grid are connected from the highest to the lowest density, until
    the two means are connected.
    """
    low, high = means.min(axis=0) - 1.0, means.max(axis=0) + 1.0
    axes = [np.linspace(a, b, 121) for a, b in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    parts = zip(weights, means, covariances, strict=True)
    density = sum(w * multivariate_normal.pdf(points, m, S) for w, m, S in parts)
    nearest = [np.abs(points - m).sum(axis=-1).argmin() for m in means]
    ends = [np.unravel_index(place, density.shape) for place in nearest]
    low, high = 0.0, 1.0
    peak = min(density[end] for end in ends)
    for _ in range(20):
        middle = 0.5 * (low + high)
        areas, _ = label(density >= middle * peak, np.ones((3, 3)))
        is_open = areas[ends[0]] == areas[ends[1]] > 0
        low, high = (middle, high) if is_open else (low, middle)
    return low


@pytest.mark.parametrize("seed", range(12))
def test_a_gap_between_two_components_is_that_of_their_density(seed):
    random = np.random.default_rng(seed)
    means = random.uniform(0, 5, (2, 2))
    factors = np.eye(2) + random.uniform(-0.5, 0.5, (2, 2, 2))
    covariances, weights = factors @ factors.transpose(0, 2, 1), random.uniform(1, 3, 2)
    found = _Components(means, covariances, MANY * weights)
    ((height, _, _),) = found.passes()
    expected = highest_pass(means, covariances, weights)
    if height == np.inf:  # a single mode for any weights
        assert expected > 0.95
        return
    ratio = np.exp(min(height - found.log_densities(means).min(), 0.0))
    assert ratio == pytest.approx(expected, abs=0.02)
    (one, other) = clusters_of(means, covariances, MANY * weights)
    if abs(expected - LEAST_RATIO) > 0.03:
        assert (one == other) == (expected > LEAST_RATIO)


def test_a_wide_component_does_not_join_clusters_on_both_sides():
    means = np.array([[-6.0, 0.0], [0.0, 0.0], [6.0, 0.0]])
    covariances = np.array([1.0, 25.0, 1.0])[:, None, None] * np.eye(2)
    clusters = clusters_of(means, covariances, np.array([500.0, 50.0, 500.0]))
    assert clusters[0] != clusters[2]


@pytest.mark.parametrize("n_features", [1, 2, 8, 40])
def test_a_narrow_component_inside_a_wide_one_stays(n_features):
    means, counts = np.zeros((2, n_features)), np.array([100.0, 300.0])
    for ratio, n_clusters in (3.0, 1), (16.0, 2):
        covariances = np.array([1.0, ratio**2])[:, None] * np.ones(n_features)
        assert len(set(clusters_of(means, covariances, counts))) == n_clusters


SKEWED = {
    "exponential": lambda random: random.exponential(size=(600, 2)),
    "gamma": lambda random: random.gamma(2.0, size=(600, 2)),
    "log-normal": lambda random: np.exp(random.normal(size=(600, 2))),
    "uniform": lambda random: random.random((600, 2)),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("shape", SKEWED)
def test_a_skewed_cluster_is_one(shape):
    X = SKEWED[shape](np.random.default_rng(10))
    mixture = AnnealedGaussianMixture(10, random_state=0).fit(X)
    assert mixture.n_active_components_ > 2
    assert mixture.n_clusters_ == 1


def test_few_rows_of_many_columns_stay_apart():
    random = np.random.default_rng(0)
    y, centres = np.arange(48) % 3, random.normal(size=(3, 500)) * 20 / 1000**0.5
    X = centres[y] + random.normal(size=(48, 500))
    mixture = AnnealedGaussianMixture(6, random_state=0).fit(X)
    assert adjusted_rand_score(y, mixture.predict_clusters(X)) == 1


def test_clusters_need_a_fit():
    with pytest.raises(NotFittedError):
        AnnealedGaussianMixture(2).predict_clusters(np.zeros((3, 2)))


def test_clusters_do_not_depend_on_units_and_axes():
    means, covariances, counts = components(0)
    expected = clusters_of(means, covariances, counts)
    assert 1 < len(set(expected)) < len(expected)
    random = np.random.default_rng(1)
    for _ in range(5):
        mixing = random.normal(size=(3, 3))
        other = clusters_of(
            means @ mixing.T + 7, mixing @ covariances @ mixing.T, counts
        )
        np.testing.assert_array_equal(other, expected)
        order = random.permutation(len(counts))
        other = clusters_of(means[order], covariances[order], counts[order])
        assert adjusted_rand_score(expected[order], other) == 1


@pytest.mark.parametrize("seed", range(4))
def test_diagonals_have_the_clusters_of_their_matrices(seed):
    means, covariances, counts = components(seed, 8)
    diagonals = np.einsum("kdd->kd", covariances)
    np.testing.assert_array_equal(
        clusters_of(means, diagonals, counts),
        clusters_of(means, diagonals[:, :, None] * np.eye(3), counts),
    )


def test_errors_of_means_do_not_separate_clusters():
    """Two random parts of samples of one Gaussian have different means."""
    random = np.random.default_rng(0)
    X = random.normal(size=(2, 30, 200))
    means, variances = X.mean(axis=1), X.var(axis=1)
    assert len(set(clusters_of(means, variances, np.full(2, 30.0)))) == 1
    assert len(set(clusters_of(means, variances, np.full(2, MANY)))) == 2


@pytest.mark.every(3)
@pytest.mark.filterwarnings("ignore:Most rows are in components")
@pytest.mark.parametrize("covariance_type", ["full", "diag", "spherical"])
def test_clusters_that_are_not_gaussian(covariance_type):
    random = np.random.default_rng(0)
    labels = np.arange(900) % 3
    z = random.standard_normal((900, 2)) * np.sqrt(2 / random.chisquare(4, (900, 1)))
    X = z + 12 * np.array([[0, 0], [1, 0], [0, 1]])[labels]
    mixture = AnnealedGaussianMixture(
        8,
        covariance_type=covariance_type,
        weight_concentration_prior=1,
        moves=SplitMergeMoves(20),
        random_state=0,
    ).fit(X)
    clusters = mixture.component_clusters_
    assert clusters.shape == (8,)
    assert (clusters >= 0).sum() == mixture.n_active_components_ > 3
    assert mixture.n_clusters_ < mixture.n_active_components_
    found = mixture.predict_clusters(X)
    assert adjusted_rand_score(labels, found) > 0.95
    assert adjusted_rand_score(labels, mixture.labels_) < 0.95
    one_hot = np.eye(mixture.n_clusters_)[clusters] * (clusters >= 0)[:, None]
    expected = (mixture.predict_proba(X) @ one_hot).argmax(axis=1)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.every(2)
@pytest.mark.parametrize("covariance_type", ["auto", "tied"])
def test_clusters_that_are_gaussian_are_components(covariance_type):
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3)) + 7 * np.eye(3)[np.arange(300) % 3]
    mixture = AnnealedGaussianMixture(
        6, covariance_type=covariance_type, moves=SplitMergeMoves(4), random_state=0
    ).fit(X)
    assert mixture.n_clusters_ == mixture.n_active_components_ == 3
    numbers = mixture.component_clusters_[mixture.labels_]
    np.testing.assert_array_equal(mixture.predict_clusters(X), numbers)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_samples_of_small_weights_have_a_cluster():
    X = np.random.default_rng(0).normal(size=(30, 3))
    mixture = AnnealedGaussianMixture(3, random_state=0)
    with pytest.warns(UserWarning, match="Weights count rows"):
        mixture.fit(X, sample_weight=np.full(30, 0.01))
    assert mixture.n_active_components_ == 0
    assert mixture.n_clusters_ == 1
    assert (mixture.predict_clusters(X) == 0).all()
    X[0, 1] = np.nan
    assert mixture.predict_clusters(X).shape == (30,)

"""Clusters of components: components that together have a single mode."""

import itertools

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import adjusted_rand_score

from sktemper import AnnealedGaussianMixture
from sktemper.gaussian_mixture._estimators import clusters_of
from sktemper.moves import SplitMergeMoves

MANY = 1e12  # number of samples of a component whose mean has no error


def components(seed, n=12, d=3, spread=3.0):
    """Return means, covariances and counts of overlapping components."""
    random = np.random.default_rng(seed)
    factors = random.normal(size=(n, d, d))
    covariances = factors @ factors.transpose(0, 2, 1) + 0.1 * np.eye(d)
    return spread * random.normal(size=(n, d)), covariances, random.uniform(9, 90, n)


def n_modes(means, deviations, weight):
    """Return the number of modes of two normal densities on a line."""
    x = np.linspace(means.min() - 1, means.max() + 1, 20_001)
    shares = np.array([weight, 1 - weight])
    density = norm.pdf(x[:, None], means, deviations) @ shares
    inner = density[1:-1]
    return ((inner > density[:-2]) & (inner >= density[2:])).sum()


@pytest.mark.parametrize("seed", range(20))
def test_components_of_a_cluster_have_a_single_mode(seed):
    random = np.random.default_rng(seed)
    means, deviations = 4 * random.random(2), random.uniform(0.3, 2, 2)
    (one, other) = clusters_of(
        means[:, None], deviations[:, None, None] ** 2, np.full(2, MANY)
    )
    if one == other:
        for weight in (0.02, 0.3, 0.5, 0.9):
            assert n_modes(means, deviations, weight) == 1
    # components with equal covariances have two modes if they are farther apart
    assert (one == other) == (abs(np.ptp(means)) <= 2 * deviations.min())
    equal = clusters_of(means[:, None], np.ones((2, 1, 1)), np.full(2, MANY))
    assert len(set(equal)) == n_modes(means, np.ones(2), 0.5)


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
def test_links_are_those_of_all_pairs(seed):
    """The function skips distant pairs; none of these has a link."""
    means, covariances, counts = components(seed, 8)
    linked = np.zeros((8, 8), dtype=bool)
    for i, j in itertools.combinations(range(8), 2):
        shift, both = means[i] - means[j], covariances[i] + covariances[j]
        line = np.linalg.solve(both, shift)
        errors = covariances[i] / counts[i] + covariances[j] / counts[j]
        noise = np.trace(np.linalg.solve(both, errors))
        narrow = min(line @ covariances[k] @ line for k in (i, j))
        distance = max(1 - noise / (shift @ line), 0) ** 0.5 * (shift @ line)
        linked[i, j] = linked[j, i] = distance <= 2 * narrow**0.5
    for _ in range(8):
        linked = linked | (linked @ linked)
    np.fill_diagonal(linked, True)
    found = clusters_of(means, covariances, counts)
    np.testing.assert_array_equal(linked, found[:, None] == found)
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
    mixture.fit(X, sample_weight=np.full(30, 0.01))
    assert mixture.n_active_components_ == 0
    assert mixture.n_clusters_ == 1
    assert (mixture.predict_clusters(X) == 0).all()
    X[0, 1] = np.nan
    assert mixture.predict_clusters(X).shape == (30,)

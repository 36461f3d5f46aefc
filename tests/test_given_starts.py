"""Starts of Gaussian and Student-t mixtures at given means and weights."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from sktemper import (
    AnnealedGaussianMixture,
    AnnealedStudentMixture,
    SVIPlusGaussianMixture,
    TemperedGaussianMixture,
    TemperedStudentMixture,
)

CENTRES = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 600.0]])
MEANS = CENTRES[[2, 0, 1]] + 0.5
SHARES = np.array([0.2, 0.5, 0.3])
PLAIN = {"tempering": None, "moves": None, "random_state": 0}


def clusters(n_samples=300):
    random = np.random.default_rng(0)
    y = np.arange(n_samples) % 3
    return CENTRES[y] + random.normal(size=(n_samples, 2)) * [1.0, 100.0]


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("Mixture", [TemperedGaussianMixture, TemperedStudentMixture])
def test_a_fit_without_passes_has_the_given_means_and_weights(Mixture, covariance_type):
    X, options = clusters(), {"covariance_type": covariance_type, **PLAIN}
    kind = {"weight_concentration_prior_type": "dirichlet_distribution"}
    start = Mixture(
        3, means_init=MEANS, weights_init=SHARES, max_iter=0, **options, **kind
    ).fit(X)
    np.testing.assert_allclose(start.means_, MEANS)
    np.testing.assert_allclose(start.weights_, SHARES, atol=2e-3)
    if covariance_type == "diag":  # those of the rows nearest to each mean
        spread = np.sqrt(start.covariances_) / [1.0, 100.0]
        assert ((spread > 0.5) & (spread < 2)).all()


PRECISIONS = {
    "full": np.array([[[2.0, 0.01], [0.01, 3e-4]], [[1.0, 0.0], [0.0, 1e-4]]]),
    "tied": np.array([[2.0, 0.01], [0.01, 3e-4]]),
    "diag": np.array([[2.0, 3e-4], [1.0, 1e-4]]),
    "spherical": np.array([2.0, 1e-4]),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("covariance_type", PRECISIONS)
@pytest.mark.parametrize("Mixture", [TemperedGaussianMixture, TemperedStudentMixture])
def test_a_fit_without_passes_has_the_given_precisions(Mixture, covariance_type, dtype):
    X, given = clusters().astype(dtype), PRECISIONS[covariance_type]
    options = {"covariance_type": covariance_type, "precisions_init": given, **PLAIN}
    for means in (None, MEANS[:2]):
        start = Mixture(2, max_iter=0, means_init=means, **options).fit(X)
        np.testing.assert_allclose(start.precisions_, given, rtol=1e-4, atol=1e-9)


def test_the_first_responsibilities_are_those_of_the_given_parameters():
    X, precisions = clusters(), PRECISIONS["full"]
    mixture = TemperedGaussianMixture(
        2,
        weights_init=[0.4, 0.6],
        means_init=MEANS[:2],
        precisions_init=precisions,
        covariance_type="full",
        weight_concentration_prior_type="dirichlet_distribution",
        max_iter=0,
        **PLAIN,
    ).fit(X)
    logs = [
        stats.multivariate_normal(mean, np.linalg.inv(precision)).logpdf(X)
        for mean, precision in zip(MEANS, precisions, strict=False)
    ]
    expected = softmax(np.transpose(logs) + np.log([0.4, 0.6]), axis=1)
    assert np.abs(mixture.predict_proba(X) - expected).max() < 0.02


@pytest.mark.parametrize("Mixture", [SVIPlusGaussianMixture, TemperedStudentMixture])
@pytest.mark.parametrize(
    ("kind", "precisions", "message"),
    [
        ("full", PRECISIONS["diag"], r"'full precision' should have the shape of \(2"),
        ("tied", PRECISIONS["full"], r"should have the shape of \(2, 2\), but got"),
        ("full", -PRECISIONS["full"], "should be symmetric, positive-definite"),
        ("full", [[[1.0, 0.5], [0.0, 1.0]]] * 2, "should be symmetric"),
        ("diag", -PRECISIONS["diag"], "'diag precision' should be positive"),
        ("spherical", [1.0, np.nan], "precisions_init|NaN"),
        ("spherical", [1.0, 1e305], "precisions_init has values of 1e"),
        ("auto", PRECISIONS["full"], "needs a covariance_type that says their shape"),
    ],
)
def test_wrong_precisions_are_refused(Mixture, kind, precisions, message):
    mixture = Mixture(2, covariance_type=kind, precisions_init=precisions)
    with pytest.raises(ValueError, match=message):
        mixture.fit(clusters(60))


def test_a_plain_fit_ends_where_that_of_scikit_learn_does():
    X = clusters()
    options = {"means_init": MEANS, "covariance_type": "full"}
    theirs = GaussianMixture(3, tol=1e-8, max_iter=500, **options).fit(X)
    ours = TemperedGaussianMixture(3, max_iter=500, tol=1e-8, **options, **PLAIN)
    labels = ours.fit_predict(X)
    assert adjusted_rand_score(labels, theirs.predict(X)) > 0.97


def test_means_of_a_subspace_are_its_scores():
    random = np.random.default_rng(0)
    centres = 6 * np.eye(3, 12)
    X = centres[np.arange(300) % 3] + random.normal(size=(300, 12))
    options = {"covariance_type": "low_rank", "max_iter": 0, **PLAIN}
    mixture = TemperedGaussianMixture(3, means_init=centres[[2, 0, 1]], **options)
    assert np.abs(mixture.fit(X).means_ - centres[[2, 0, 1]]).max() < 1.5
    labels = np.where(np.arange(300) % 10 == 0, [2, 0, 1] * 100, -1)
    found = mixture.set_params(max_iter=50).fit_predict(X, labels=labels)
    assert (found == [2, 0, 1] * 100).mean() > 0.98


@pytest.mark.parametrize("Mixture", [AnnealedGaussianMixture, AnnealedStudentMixture])
def test_given_means_are_a_start_only(Mixture):
    """Births of streams and moves may have other numbers of components."""
    X = clusters(600)
    poor = X[:3]  # of different clusters, but any three rows are a start
    options = {"means_init": poor, "half_life": 200, "random_state": 0}
    mixture = Mixture(3, **options)
    for _ in range(4):
        mixture.partial_fit(X)
    assert len(mixture.renewals_["step"]) > 0
    mixture = Mixture(3, means_init=np.repeat(poor[:1], 3, axis=0) + [[0], [1], [2]])
    means = mixture.set_params(random_state=0, max_iter=300).fit(X).means_
    distances = np.abs((means[:, None] - CENTRES) / [1.0, 100.0]).max(axis=2)
    assert (distances.min(axis=0) < 0.5).all()


@pytest.mark.parametrize("Mixture", [SVIPlusGaussianMixture, TemperedStudentMixture])
@pytest.mark.parametrize(
    "options, message",
    [
        ({"means_init": MEANS[:2]}, r"means_init has shape \(2, 2\)"),
        ({"means_init": np.full((3, 2), np.nan)}, "means_init contains NaN"),
        ({"means_init": np.full((3, 2), 1e300)}, "means_init has values of 1e\\+300"),
        ({"weights_init": SHARES[:2]}, r"weights_init has shape \(2,\)"),
        ({"weights_init": [0.5, 0.7, -0.2]}, "weights_init must not be negative"),
        ({"weights_init": [0.5, 0.4, 0.3]}, "weights_init must not be negative"),
    ],
)
def test_wrong_starts_are_refused(Mixture, options, message):
    mixture = Mixture(3, random_state=0)
    with pytest.raises(ValueError, match=message):
        mixture.set_params(**options).fit(clusters(60))

"""The log evidence of mixtures, compared with sums over all assignments of rows."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln, gammaln, logsumexp
from sklearn.datasets import make_blobs

from sktemper import (
    AnnealedBernoulliMixture,
    AnnealedGaussianMixture,
    AnnealedMixedMixture,
    AnnealedMultinomialMixture,
    AnnealedStudentMixture,
)
from sktemper.model_selection import log_evidence

#: Options with which the standard error of seven or eight rows is below .15.
SHORT = {"n_temperatures": 100, "n_chains": 12, "random_state": 1}

DIRICHLET = {
    "weight_concentration_prior_type": "dirichlet_distribution",
    "random_state": 0,
}


#: Shapes of covariances of one column.
SHAPES = {"full": (1, 1), "diag": (1,), "spherical": ()}


def sum_over_assignments(X, K, concentration, log_marginal):
    """Return the log evidence, given that of the rows of one component."""
    logs, N = [], len(X)
    for labels in itertools.product(range(K), repeat=N):
        groups = [X[np.array(labels) == k] for k in range(K)]
        sizes = np.array([len(rows) for rows in groups])
        prior = gammaln(K * concentration) - gammaln(K * concentration + N)
        prior += (gammaln(concentration + sizes) - gammaln(concentration)).sum()
        logs.append(prior + sum(log_marginal(rows) for rows in groups if len(rows)))
    return logsumexp(logs)


def is_close(evidence, exact):
    return (
        abs(evidence.estimate - exact) < 3 * evidence.stderr and evidence.stderr < 0.15
    )


@pytest.mark.parametrize("K", [1, 2])
def test_the_evidence_of_binary_rows_is_the_sum_over_assignments(K):
    random = np.random.default_rng(0)
    yes = np.repeat([0.8, 0.2], 4)[:, None]
    X = (random.random((8, 4)) < yes).astype(float)
    X[0, 1] = np.nan
    mixture = AnnealedBernoulliMixture(K, random_state=0).fit(X)

    def log_marginal(rows):
        ones, zeros = (rows == 1).sum(axis=0), (rows == 0).sum(axis=0)
        return betaln(1 + ones, 1 + zeros).sum()

    exact = sum_over_assignments(X, K, 1 / K, log_marginal)
    found = log_evidence(mixture, X, **SHORT)
    if K == 1:  # the fit is the posterior
        assert found.lower == pytest.approx(exact) == found.upper
        assert found.estimate == pytest.approx(exact)
    else:
        assert is_close(found, exact)
    assert mixture.lower_bound(X) < exact + 1e-9


@pytest.mark.every(2)
@pytest.mark.parametrize("covariance_type", SHAPES)
def test_the_evidence_of_numbers_is_the_sum_over_assignments(covariance_type):
    X = np.array([-2.0, -1.5, -1.8, 0.3, 1.9, 2.2, 2.6])[:, None]
    kappa, nu, scale = 0.5, 3.0, 2.0
    mixture = AnnealedGaussianMixture(
        2,
        covariance_type=covariance_type,
        mean_prior=[0.3],
        mean_precision_prior=kappa,
        degrees_of_freedom_prior=nu,
        covariance_prior=np.full(SHAPES[covariance_type], scale),
        weight_concentration_prior=0.7,
        **DIRICHLET,
    ).fit(X)

    def log_marginal(rows):
        # a multivariate Student-t distribution, by the precisions' Gamma distribution
        n = len(rows)
        shape = scale / nu * (np.eye(n) + np.ones((n, n)) / kappa)
        return stats.multivariate_t.logpdf(rows[:, 0], np.full(n, 0.3), shape, nu)

    exact = sum_over_assignments(X, 2, 0.7, log_marginal)
    assert is_close(log_evidence(mixture, X, **SHORT), exact)
    assert mixture.lower_bound(X) < exact


def large_fits():
    random = np.random.default_rng(0)
    blobs, _ = make_blobs(1000, n_features=3, centers=4, cluster_std=2, random_state=1)
    labels, yes = random.integers(4, size=1000), random.random((4, 12))
    binary = (random.random((1000, 12)) < yes[labels]).astype(float)
    yield AnnealedMixedMixture(4, random_state=0), np.hstack([binary[:, :4], blobs])
    yield AnnealedGaussianMixture(4, **DIRICHLET), blobs
    words = random.dirichlet(np.full(50, 0.5), size=4)
    counts = np.array([random.multinomial(10, words[k]) for k in labels])
    yield AnnealedMultinomialMixture(4, random_state=0), counts
    yield AnnealedBernoulliMixture(4, random_state=0), binary


@pytest.mark.every(4)  # sums over assignments test the kinds of the other fits
@pytest.mark.parametrize("mixture, X", list(large_fits()))
def test_the_bounds_of_many_rows_are_near_each_other(mixture, X):
    found = log_evidence(
        mixture.fit(X), X, n_temperatures=100, n_chains=6, random_state=0
    )
    assert abs(found.upper - found.lower) < 1.0
    assert found.stderr < 0.25
    # the bound of one order of different components
    bound = mixture.lower_bound(X) + math.log(math.factorial(mixture.n_components))
    assert found.estimate > bound - 3 * found.stderr


def test_the_evidence_of_other_mixtures_is_refused():
    X = np.random.default_rng(0).normal(size=(40, 2))
    two = AnnealedGaussianMixture(2, random_state=0)
    cases = [
        (two, "dirichlet_distribution"),
        (AnnealedGaussianMixture(9, **DIRICHLET), "at most 8"),
        (AnnealedGaussianMixture(2, covariance_type="tied", **DIRICHLET), "components"),
        (AnnealedStudentMixture(2, **DIRICHLET), "components"),
    ]
    for mixture, message in cases:
        with pytest.raises(ValueError, match=message):
            log_evidence(mixture.fit(X), X)
    X[0, 0] = np.nan
    mixture = AnnealedGaussianMixture(2, **DIRICHLET).fit(X)
    with pytest.raises(ValueError, match="missing"):
        log_evidence(mixture, X)
    with pytest.raises(ValueError, match="n_chains"):
        log_evidence(mixture, X, n_chains=1)

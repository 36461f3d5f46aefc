"""The bootstrap test of the number of components."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.mixture import GaussianMixture
from test_mixture_results import answers

from sktemper import (
    AnnealedBernoulliMixture,
    AnnealedGaussianMixture,
    AnnealedMixedMixture,
    AnnealedMultinomialMixture,
)
from sktemper.datasets import make_lda_documents
from sktemper.model_selection import _sample_like, bootstrap_lrt, log_evidence

FEW = {"n_replicates": 19, "random_state": 0}
FEWER = FEW | {"n_replicates": 9}


@pytest.mark.every(4)
@pytest.mark.parametrize("covariance_type", ["tied", "full", "diag", "spherical"])
def test_the_statistic_is_that_of_maximum_likelihood(covariance_type):
    X, _ = make_blobs(300, centers=[[0, 0], [4, 1], [1, 5]], random_state=0)
    options = {"covariance_type": covariance_type, "random_state": 0}
    mixture = AnnealedGaussianMixture(4, **options).fit(X)
    test = bootstrap_lrt(mixture, X, n_components=2, n_exceedances=1, **FEWER)
    logs = [
        GaussianMixture(K, tol=1e-6, n_init=3, max_iter=1000, **options).fit(X).score(X)
        for K in (2, 3)
    ]
    assert test.statistic == pytest.approx(600 * (logs[1] - logs[0]), abs=0.5)
    assert test.p_value == 1 / 10


def likelihood_of_classes(X, K, random):
    """Return the largest log-likelihood of classes of binary answers."""
    best = -np.inf
    for _ in range(5 * K - 4):
        shares = random.dirichlet(np.ones(K), len(X))
        for _ in range(200):
            p = (shares.T @ X) / shares.sum(axis=0)[:, None]
            p = np.clip(p, 1e-12, 1 - 1e-12)
            joint = np.log(shares.mean(axis=0)) + X @ np.log(p).T
            joint += (1 - X) @ np.log1p(-p).T
            logs = np.logaddexp.reduce(joint, axis=1)
            shares = np.exp(joint - logs[:, None])
        best = max(best, logs.sum())
    return best


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", [AnnealedMixedMixture, AnnealedBernoulliMixture])
def test_the_statistic_of_classes_is_that_of_maximum_likelihood(kind):
    X, random = answers(), np.random.default_rng(0)
    mixture = kind(4, random_state=0).fit(X)
    one, two, three = (likelihood_of_classes(X, K, random) for K in (1, 2, 3))
    test = bootstrap_lrt(mixture, X, n_components=1, n_exceedances=1, **FEWER)
    assert test.statistic == pytest.approx(2 * (two - one), abs=0.1)
    assert test.p_value == 1 / 10
    test = bootstrap_lrt(mixture, X, n_init=20, n_exceedances=1, **FEW)
    assert test.n_components == 2
    assert test.statistic == pytest.approx(2 * (three - two), abs=0.5)
    assert test.p_value > 0.05


def test_a_test_ends_early_with_the_same_draws():
    X = answers(200)
    mixture = AnnealedBernoulliMixture(3, random_state=0).fit(X)
    every = bootstrap_lrt(mixture, X, n_exceedances=None, n_jobs=2, **FEW)
    m = int((every.statistics >= every.statistic).sum())
    assert every.p_value == (m + 1) / 20
    early = bootstrap_lrt(mixture, X, n_exceedances=2, **FEW)
    n_drawn = len(early.statistics)
    assert n_drawn < 19
    assert np.array_equal(early.statistics, every.statistics[:n_drawn])
    assert early.p_value == 2 / n_drawn


def test_draws_have_the_gaps_and_lengths_of_the_data():
    random = np.random.default_rng(0)
    X = answers(2000)
    X[random.random(X.shape) < 0.2] = np.nan
    frame = pd.DataFrame(X, columns=list("abcde"))
    for mixture, data in (
        (AnnealedBernoulliMixture(2, random_state=0), X),
        (AnnealedBernoulliMixture(2, binarize=1.5, random_state=0), X + 1),
        (AnnealedMixedMixture(2, random_state=0), frame),
    ):
        drawn = _sample_like(mixture.fit(data), np.asarray(data), 1)
        assert np.array_equal(np.isnan(drawn), np.isnan(X))
        middle = 0.5 * np.nanmax(data) + 0.5 * np.nanmin(data)
        middle = getattr(mixture, "binarize", middle)
        shares = [(values > middle).mean(axis=0) for values in (drawn, data)]
        np.testing.assert_allclose(*shares, atol=0.05)
        halves = [np.nanmean(half, axis=0) for half in np.split(drawn, 2)]
        np.testing.assert_allclose(*halves, atol=0.1)  # gaps are in rows of any class
    X = make_lda_documents(200, n_features=20, n_components=2, random_state=0)
    mixture = AnnealedMultinomialMixture(2, random_state=0).fit(X)
    lengths = _sample_like(mixture, X, 1).sum(axis=1)
    assert np.array_equal(np.sort(lengths), np.sort(np.asarray(X.sum(axis=1)).ravel()))


@pytest.mark.parametrize("kind", [AnnealedGaussianMixture, AnnealedMixedMixture])
def test_frames_and_arrays_have_the_same_tests(kind):
    X = answers(60)
    if kind is AnnealedGaussianMixture:
        X = X + np.random.default_rng(0).normal(0.0, 0.3, X.shape)
    frame, few = pd.DataFrame(X, columns=list("abcde")), FEW | {"n_replicates": 3}
    options = {"random_state": 0, "max_iter": 20}
    found = [bootstrap_lrt(kind(2, **options).fit(Z), Z, **few) for Z in (X, frame)]
    np.testing.assert_array_equal(found[0].statistics, found[1].statistics)
    if kind is AnnealedMixedMixture:  # codes of text are no values
        texts = frame.astype(int).astype(str).replace({"0": "no", "1": "yes"})
        few = {"n_temperatures": 5, "n_chains": 2, "random_state": 0}
        found = [log_evidence(kind(2, **options).fit(Z), Z, **few) for Z in (X, texts)]
        assert found[0].estimate == pytest.approx(found[1].estimate)


def test_bad_arguments_are_refused():
    X = answers(20)
    mixture = AnnealedBernoulliMixture(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="X has 3 samples, too few for 4 components"):
        bootstrap_lrt(mixture, X[:3], n_components=3)
    with pytest.raises(ValueError, match="n_exceedances"):
        bootstrap_lrt(mixture, X, n_exceedances=0)
    with pytest.raises(ValueError, match="must be a mixture"):
        bootstrap_lrt(GaussianMixture(), X)

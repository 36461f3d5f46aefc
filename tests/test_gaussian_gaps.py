"""Gaussian mixtures fitted to rows with missing values (gaps)."""

import pickle
import warnings

import numpy as np
import pytest
from fits import fitted_model, peak_of
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from sktemper import (
    AnnealedGaussianMixture,
    TemperedFactorialMixture,
    TemperedGaussianMixture,
)
from sktemper.gaussian_mixture._gaps import GappedRows

#: Covariance types, with learned priors (Gamma) and scikit-learn's priors (Wishart).
TYPES = [
    ("full", "learned"),
    ("tied", "learned"),
    ("diag", "learned"),
    ("diag", "scikit-learn"),
    ("spherical", "learned"),
    ("spherical", "scikit-learn"),
]


def clusters(n_samples=300, n_features=3, gaps=0.25, seed=0, correlation=0.4):
    """Return complete rows of three clusters, the same rows with gaps, and labels."""
    random = np.random.default_rng(seed)
    centres = 5.0 * np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    centres = np.hstack([centres] * 3)[:, :n_features] + 100.0
    y = random.integers(3, size=n_samples)
    noise = random.normal(size=(n_samples, n_features))
    X = centres[y] + noise @ (np.eye(n_features) + correlation)
    return X, np.where(random.random(X.shape) < gaps, np.nan, X), y


def fitted(covariance_type, priors, **others):
    """Return a mixture fitted to rows with gaps, its model and parameters."""
    _, X, _ = clusters()
    settings = {"tempering": None, "max_iter": 8, "tol": 0.0, "random_state": 0}
    mixture = TemperedGaussianMixture(
        3, covariance_type=covariance_type, priors=priors, **settings | others
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mixture.fit(X)
    model, state = fitted_model(mixture), mixture.state_
    return mixture, model, model.prepare(state.globals_, state.hyper)


def grid(rows, n_points, width=60.0):
    """Return copies of a row with a grid of values in its gaps, and quadrature weights.

    The trapezoidal rule converges geometrically for smooth functions that vanish at the
    ends.
    """
    (gaps,) = np.nonzero(np.isnan(rows))
    values = 100.0 + np.linspace(-width, width, n_points)
    mesh = np.meshgrid(*[values] * len(gaps))
    out = np.repeat(rows[None], mesh[0].size, axis=0)
    out[:, gaps] = np.stack([one.ravel() for one in mesh], axis=1)
    return out, (values[1] - values[0]) ** len(gaps)


ROW_1 = np.array([101.0, np.nan, 104.0])
ROW_2 = np.array([np.nan, 99.0, np.nan])


@pytest.mark.every(5)
@pytest.mark.parametrize("row", [ROW_1, ROW_2], ids=["one gap", "two gaps"])
@pytest.mark.parametrize(("covariance_type", "priors"), TYPES)
def test_expectations_are_integrals_over_the_gaps(covariance_type, priors, row):
    _, model, prepared = fitted(covariance_type, priors)
    family = model.family_of(prepared.hyper)
    rows, weight = grid(row, 401)
    logs = family.log_likelihoods(model.take(rows, slice(None)), prepared.tables)
    block = model.take(row[None], slice(None))
    assert isinstance(block, GappedRows)
    (found,) = family.log_likelihoods(block, prepared.tables)
    integrals = logsumexp(logs, axis=0) + np.log(weight)
    np.testing.assert_allclose(found, integrals, atol=1e-6, rtol=0)
    # the statistics of component k are the expected moments given k
    shares = np.exp(logs - logsumexp(logs, axis=0))
    complete = model.take(rows, slice(None))
    for k in range(3):
        one = np.zeros_like(shares)
        one[:, k] = shares[:, k]
        expected = family.statistics(complete, one)
        found = family.statistics(block, np.eye(3)[[k]], tables=prepared.tables)
        np.testing.assert_allclose(found[0], expected[0], atol=1e-6)
        np.testing.assert_allclose(found[1], expected[1], atol=1e-6, rtol=1e-7)


@pytest.mark.filterwarnings("ignore:reg_covar=1e-06 is added")
@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
def test_the_bound_rises_if_variances_are_as_small_as_reg_covar(covariance_type):
    _, X, _ = clusters(120)
    settings = {"tempering": None, "max_iter": 60, "tol": 1e-9, "random_state": 0}
    settings |= {"covariance_type": covariance_type, "reg_covar": 1e-6}
    mixture = TemperedGaussianMixture(1, **settings)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The fit did not converge")
        mixture.fit(1e-3 * X)
    assert (np.diff(mixture.lower_bounds_) > -1e-8).all()
    assert len(mixture.lower_bounds_) > 5


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("covariance_type", "K", "D"), [("diag", 3, 600), ("full", 20, 100)]
)
def test_gaps_need_little_memory_for_pairs_of_columns(covariance_type, K, D):
    X = np.random.default_rng(0).normal(size=(300, D))
    mixture = TemperedGaussianMixture(
        K, covariance_type=covariance_type, max_iter=2, tol=0.0, random_state=0
    )
    peak, _ = peak_of(mixture.fit, X)
    assert peak_of(mixture.fit, np.where(X > 0.5, np.nan, X))[0] < 2 * peak


@pytest.mark.every(5)
@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
def test_clusters_are_found_despite_gaps(covariance_type):
    correlation = 0.3 * (covariance_type in ("full", "tied"))
    X, gapped, y = clusters(200, 6, gaps=0.2, correlation=correlation)
    settings = {"tol": 0.2, "max_iter": 40, "random_state": 0}
    mixture = AnnealedGaussianMixture(
        4, covariance_type=covariance_type, moves="split_merge", **settings
    )
    mixture.fit(gapped)
    assert adjusted_rand_score(y, mixture.labels_) > 0.9
    assert mixture.n_active_components_ == 3
    missing = np.isnan(gapped)
    filled = mixture.impute(gapped)
    np.testing.assert_array_equal(filled[~missing], gapped[~missing])
    error = np.sqrt(np.mean((filled - X)[missing] ** 2))
    assert error < 0.6 * X[missing].std()


def blocks(seed):
    """Return rows, of which three have values in both blocks of columns; new rows."""
    random = np.random.default_rng(seed)
    loadings = random.normal(size=(1, 6))
    X = random.normal(size=(1000, 1)) @ loadings + random.normal(size=(1000, 6))
    X, new = X[:60], X[60:]
    X[3::2, :3] = X[4::2, 3:] = np.nan
    return X, new


@pytest.mark.parametrize("n_components", [1, 2])
def test_columns_that_are_rarely_seen_together(n_components):
    """Full covariances do not copy the correlations of a few rows.

    These rows may still mislead by part of a nat per row, but not by several nats.
    """
    gains = []
    for seed in 100, 101, 102:
        X, new = blocks(seed)
        full, diag = (
            TemperedGaussianMixture(
                n_components, covariance_type=kind, tempering=None, tol=0.1
            ).set_params(random_state=0)
            for kind in ("full", "diag")
        )
        gain = full.fit(X).score_samples(new) - diag.fit(X).score_samples(new)
        gains.append(gain.mean())
    assert min(gains) > -1


@pytest.mark.parametrize("given", [False, True])
def test_only_a_learned_prior_of_rare_pairs_is_diagonal(given):
    X, _ = blocks(100)
    prior = np.eye(6) + 0.5 if given else None
    mixture = TemperedGaussianMixture(
        2, covariance_type="full", covariance_prior=prior, tempering=None, tol=0.1
    )
    mixture.set_params(random_state=0).fit(X)
    found = pickle.loads(pickle.dumps(mixture)).partial_fit(X).covariance_prior_
    np.testing.assert_array_equal(found, prior if given else np.diag(np.diag(found)))


def test_imputed_values_are_conditional_means():
    mixture, _, _ = fitted("full", "learned")
    (shares,), means = mixture.predict_proba(ROW_2[None]), mixture.means_
    expected = np.zeros(3)
    for k in range(3):
        S = mixture.covariances_[k]
        slope = S[:, 1] / S[1, 1]
        expected += shares[k] * (means[k] + slope * (99.0 - means[k, 1]))
    (found,) = mixture.impute(ROW_2[None])
    np.testing.assert_allclose(found, np.where(np.isnan(ROW_2), expected, ROW_2))


@pytest.mark.every(4)
@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
@pytest.mark.filterwarnings("ignore:The fit did not converge")
def test_threads_give_the_same_bits(covariance_type):
    mixture, _, _ = fitted(covariance_type, "learned")
    _, X, _ = clusters(1200)
    one, other = (clone(mixture).set_params(n_jobs=n).fit(X) for n in (1, 2))
    np.testing.assert_array_equal(one.means_, other.means_)
    parts = [mixture.predict_proba(X[part]) for part in (slice(7), slice(7, None))]
    np.testing.assert_array_equal(np.concatenate(parts), mixture.predict_proba(X))
    complete = X[~np.isnan(X).any(axis=1)]
    np.testing.assert_array_equal(mixture.impute(complete), complete)


def test_rows_without_any_value_and_columns_without_any():
    _, X, _ = clusters()
    mixture, _, _ = fitted("full", "learned")
    empty = np.full((1, 3), np.nan)
    (shares,) = mixture.predict_proba(empty)
    assert shares.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(mixture.score_samples(empty), 0.0, atol=1e-12)
    mean = shares @ mixture.means_
    np.testing.assert_allclose(mixture.impute(empty)[0], mean)
    X[:, 1] = np.nan
    X[:100, 0] += 20.0
    with pytest.warns(UserWarning, match="Column 1 of X has no values"):
        found = clone(mixture).set_params(n_components=2).fit(X)
    others = clone(mixture).set_params(n_components=2).fit(X[:, [0, 2]])
    assert adjusted_rand_score(found.labels_, others.labels_) == 1.0
    np.testing.assert_allclose(found.means_[:, [0, 2]], others.means_, rtol=1e-2)
    with pytest.raises(ValueError, match="Column 1 of X has only missing values"):
        clone(mixture).partial_fit(X)  # its scale could not be learned later


@pytest.mark.parametrize(
    "estimator", [TemperedGaussianMixture, TemperedFactorialMixture]
)
def test_imputed_data_have_the_container_they_had(estimator):
    pd = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(40, 2)).round(1)
    X[::7, 1] = np.nan
    model = estimator(2, tempering=None, max_iter=3, tol=1e9, random_state=0)
    model.fit(X)
    expected = model.impute(X)
    frame = pd.DataFrame(X, columns=[1, 0], index=np.arange(40)[::-1])
    filled = model.impute(frame)
    pd.testing.assert_frame_equal(
        filled, pd.DataFrame(expected, frame.index, frame.columns)
    )
    assert model.impute(X.tolist()) == expected.tolist()
    parts = model.impute([X[:10], X[10:]])
    np.testing.assert_array_equal(parts[0], expected[:10])
    np.testing.assert_array_equal(parts[1], expected[10:])


@pytest.mark.parametrize("covariance_type", ["full", "diag"])
def test_statistics_of_gaps(covariance_type):
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 2)) @ [[1.0, 0.8], [0.0, 0.6]] + 5.0
    mixture = TemperedGaussianMixture(
        1, covariance_type=covariance_type, random_state=0, moves=None
    ).fit(X)
    gaps = X.copy()
    gaps[:, 1] = np.nan
    mean, median, mode, sample = (
        mixture.impute(gaps, name)[:, 1]
        for name in ("mean", "median", "mode", "sample")
    )
    np.testing.assert_allclose(median, mean, atol=1e-3)
    np.testing.assert_array_equal(mode, mean)
    left = np.cov(X.T)[1, 1]
    if covariance_type == "full":
        left = 1.0 / np.linalg.inv(np.cov(X.T))[1, 1]
        assert np.corrcoef(X[:, 0], sample)[0, 1] == pytest.approx(0.8, abs=0.03)
    assert np.var(sample - mean) == pytest.approx(left, rel=0.1)
    other = mixture.set_params(random_state=1).impute(gaps, "sample")
    assert (other[:, 1] != sample).all() and (other[:, 0] == X[:, 0]).all()
    parts = mixture.impute([gaps[:10], gaps[10:20]], "median")
    np.testing.assert_array_equal(np.concatenate(parts)[:, 1], median[:20])
    with pytest.raises(ValueError, match="'statistic' parameter must be one of"):
        mixture.impute(gaps, "max")

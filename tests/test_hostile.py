"""Limits of values, weights, priors and counts, and extreme values that once failed.

`laws/test_hostile.py` draws random input of this kind.
"""

import re
import warnings

import numpy as np
import pytest
from digests import attempt
from laws.test_hostile import look_over
from registry import ROWS
from scipy import sparse
from scipy.special import digamma, polygamma

from sktemper._families._gaussian import GaussianPrior, Moments, blended
from sktemper._families._normal_wishart import Covariance, log_chisquare
from sktemper._utils._validation import LARGEST_WEIGHT, largest_value
from sktemper.model import IllDefined

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    # from scikit-learn's check for infinity, which uses a sum
    pytest.mark.filterwarnings("ignore:invalid value encountered in reduce"),
]
each_row = pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
METHODS = "transform", "predict", "predict_proba", "score_samples", "lower_bound"


def data_of(name):
    return ROWS[name].data(120)[:14]


def short(name, kind="Annealed", **parameters):
    """Return an estimator for a short fit without moves."""
    few = {"max_iter": 2, **({"moves": None} if ROWS[name].moves else {})}
    return ROWS[name].estimator(kind, **few | parameters)


def assert_usable(estimator, X):
    """Assert that attributes are finite and that the model accepts valid data."""
    if hasattr(estimator, "state_"):
        look_over(estimator)
        for method in METHODS:
            if hasattr(estimator, method):
                assert np.isfinite(getattr(estimator, method)(X)).all()


@pytest.mark.every(3)
@each_row
@pytest.mark.parametrize("name", ["fit", "partial_fit"])
def test_weights_have_a_limit(row, name):
    X, weights = row.data(120)[:14], np.ones(14)
    for value in (1e-300, LARGEST_WEIGHT, 1e37, 1e200, np.inf, np.nan, -1.0):
        weights[3] = value
        estimator = short(row.name)
        _, error = attempt(estimator, name, X, sample_weight=weights)
        if 1 < value < np.inf:
            assert (error is not None) == (value > LARGEST_WEIGHT)
            assert error is None or "at most 1e" in str(error)
        assert_usable(estimator, X)


def test_counts_times_weights_have_a_limit():
    X, weights = data_of("LDA").toarray().astype(float), np.ones(14)
    X[2, 1], weights[3] = 1e20, 1e12
    with pytest.raises(ValueError, match=r"sample_weight .* counts of 1e\+20"):
        short("LDA").fit(X, sample_weight=weights)


# The factorial mixture has a different limit, see its tests.
@pytest.mark.parametrize("name", ["GaussianMixture", "MatrixFactorization"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_have_a_limit(name, dtype):
    """The error names the limit; fits just below it equal fits to scaled data."""
    limit = largest_value(dtype)
    X = data_of(name).astype(dtype)
    if name == "MatrixFactorization":
        X = np.where(X.toarray() == 0.0, np.nan, X.toarray())
    X *= 0.9 * limit / np.nanmax(np.abs(X))
    estimator = short(name, "Tempered", tempering=None).fit(X)
    assert_usable(estimator, X)
    message = re.escape(f"in {np.dtype(dtype)} they may be at most {limit:g}")
    beyond = X.astype(np.float64) * 2
    for method in METHODS:
        for far in beyond, -np.abs(beyond):
            if hasattr(estimator, method):
                with pytest.raises(ValueError, match=message):
                    getattr(estimator, method)(far)
    for method in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=message):
            getattr(short(name), method)(beyond.astype(dtype))
        with pytest.raises(ValueError, match="some must be at least"):
            getattr(short(name), method)(X / X.dtype.type(limit) ** 2)


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
def test_samples_too_far_for_float32(covariance_type):
    """Distances in standard deviations that overflow count as very large."""
    random = np.random.default_rng(0)
    X = (1e-7 * random.normal(size=(40, 3))).astype(np.float32)
    options = {"covariance_type": covariance_type, "reg_covar": 1e-16}
    mixture = short("GaussianMixture", **options).fit(X)
    far = X.copy()
    far[::2] *= np.float32(1e21)
    near = mixture.predict_proba(X)[1::2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        probabilities, scores = mixture.predict_proba(far), mixture.score_samples(far)
    np.testing.assert_array_equal(probabilities[1::2], near)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    assert (scores[::2] < scores[1::2].min()).all()
    assert np.isfinite(scores).all()


@pytest.mark.every(3)
@each_row
@pytest.mark.filterwarnings("ignore:X has values that are none of the categories")
def test_tiny_weights_count_as_zero(row):
    """Tiny weights count as zero, even if all weights of a batch are tiny."""
    X, weights = row.data(120)[:14], np.ones(14)
    weights[:5] = 0.0
    tiny = weights + 1e-310
    one, other = (
        short(row.name, batch_size=1, learning_rate=0.1).fit(X, sample_weight=w)
        for w in (weights, tiny)
    )
    assert_usable(other, X)
    assert np.isfinite(other.history_["batch_bound"]).all()
    np.testing.assert_array_equal(one.transform(X), other.transform(X))
    with pytest.raises(ValueError, match="one must be at least 1e-15"):
        short(row.name).fit(X, sample_weight=tiny * (tiny < 1))


def test_tiny_counts():
    X = data_of("LDA").toarray().astype(float)
    with pytest.raises(ValueError, match="one must be at least 1e-30"):
        short("LDA").fit(X * 5e-324)
    X[:5] *= 5e-324
    lda = short("LDA", batch_size=1).fit(X)
    assert np.isfinite(lda.history_["batch_bound"]).all()


@pytest.mark.parametrize("flag", ["has_canonical_format", "has_sorted_indices"])
def test_wrong_flags_hide_no_ratings(flag):
    """In laws/test_row.py, they have no effect on counts."""
    entries = np.array([1.0, 2, 3]), np.array([2, 0, 2]), np.array([0, 3])
    X = sparse.csr_array(entries, shape=(1, 4))
    setattr(X, flag, True)
    with pytest.raises(ValueError, match="several ratings .* row 0 and column 2"):
        short("MatrixFactorization").fit(X)


def test_noise_too_small_for_the_ratings():
    """Without an error, a fit to equal ratings would later refuse all other ratings."""
    X = np.full((9, 4), 3.0)
    with pytest.raises(ValueError, match="noise_variance=1e-60 is too small"):
        short("MatrixFactorization", noise_variance=1e-60).fit(X)


def test_factors_too_wide_for_the_noise():
    with pytest.raises(ValueError, match="too large for a noise variance"):
        short("MatrixFactorization", component_variance=1e31).fit(
            data_of("MatrixFactorization")
        )


def test_prior_variance_is_positive_for_equal_posteriors():
    """The learned variance has a lower limit, so that its inverse is finite."""
    for variance in (1.0, 1e-290, 1e-310):
        prior = GaussianPrior(np.zeros(1), np.full((1, 1), variance))
        same = Moments(1.0, np.zeros(1), np.zeros((1, 1)))
        for _ in range(3):
            prior = blended(prior, same, power=1.0, rate=1.0)
        assert np.isfinite(prior.natural()).all()
        assert np.isfinite(prior.log_normaliser())


def test_tiny_degrees_of_freedom():
    """Chi-square draws round to 0, but their logarithms are finite."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        estimator = short("GaussianMixture", "Tempered", degrees_of_freedom_prior=1e-3)
        estimator.fit(data_of("GaussianMixture")[:, :1])
    degrees = np.array([0.4, 0.9, 5.0])
    logs = log_chisquare(degrees, np.random.default_rng(0), (100_000, 3))
    expected = digamma(degrees / 2) + np.log(2)
    error = np.sqrt(polygamma(1, degrees / 2) / len(logs))
    assert (abs(logs.mean(axis=0) - expected) < 4 * error).all()


def test_a_nearly_singular_scale_matrix():
    """Its Cholesky factor exists although its inverse overflows."""
    full = Covariance(2)
    half = np.float64(1 - 2.0**-53)
    nearly = np.array([[[1.0, half], [half, half]]])
    singular = np.array([[[1.0, 1.0], [1.0, 1.0]]])
    for matrix in (nearly, singular):
        try:
            scale = full.scale(matrix)
        except IllDefined as error:
            assert "ill-defined" in str(error)
        else:
            assert np.isfinite(scale).all()

"""Limits of values, weights, priors and counts, and extreme values that once failed.

`laws/test_hostile.py` draws random input of this kind.
"""

import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.special import digamma, polygamma

import sktemper
from sktemper._families._gaussian import GaussianPrior, Moments, blended
from sktemper._families._normal_wishart import Covariance, log_chisquare
from sktemper._utils._validation import LARGEST_WEIGHT, largest_value
from sktemper.gaussian_mixture._clusters import clusters_of
from sktemper.model import IllDefined
from sktemper.noise import SVIPlusNoise
from sktemper.tempering import GlobalTempering

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
FAMILIES = {
    "LDA": ("transform", "score_samples", "lower_bound"),
    "GaussianMixture": ("predict_proba", "score_samples", "lower_bound"),
    "FactorialMixture": ("transform", "score_samples", "lower_bound"),
    "MatrixFactorization": ("transform", "predict", "score_samples", "lower_bound"),
    "ImplicitFactorization": ("transform", "predict", "score_samples", "lower_bound"),
    "MultinomialMixture": ("predict_proba", "score_samples", "lower_bound"),
    "BernoulliMixture": ("predict_proba", "score_samples", "lower_bound"),
}
#: Families with a single estimator.
SINGLE = {"ImplicitFactorization"}
#: Attributes that may be NaN because they were not computed, such as bounds above T=1.
MAY_BE_MISSING = {"lower_bounds_", "history_"}
#: Messages that a user cannot understand without the code.
OBSCURE = re.compile(
    r"positive definite|did not converge|infs or NaNs|broadcast|[Ss]ingular matrix"
)


def data_for(family, n_rows=14, seed=0):
    random = np.random.default_rng(seed)
    X = random.poisson(1.5, (n_rows, 4)).astype(float)
    if family in ("LDA", "MultinomialMixture", "ImplicitFactorization"):
        return X
    X += random.normal(0, 0.3, X.shape)
    if family == "MatrixFactorization":
        X[random.random(X.shape) < 0.3] = np.nan
    return X


def estimator_of(kind, family, **parameters):
    defaults = {"max_iter": 2, "random_state": 0}
    if family.endswith("Mixture"):
        defaults["moves"] = None
    if family in SINGLE:
        kind = ""
    if kind == "Tempered":
        defaults["tempering"] = GlobalTempering(5)
    if not hasattr(sktemper, kind + family):  # the model has no class of SVI+
        kind, defaults["tempering"] = "Tempered", None
        defaults["gradient_noise"] = SVIPlusNoise()
    return getattr(sktemper, kind + family)(2, **{**defaults, **parameters})


def attempt(function, *args, **options):
    """Return the result of a function, or None if it raises a clear error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        # from scikit-learn's check for infinity, which uses a sum
        warnings.filterwarnings("ignore", "invalid value encountered in reduce")
        try:
            return function(*args, **options)
        except (ValueError, TypeError) as error:
            assert not isinstance(error, np.linalg.LinAlgError)
            assert not OBSCURE.search(str(error))


def assert_finite(value):
    for part in value if isinstance(value, (tuple, list)) else [value]:
        part = np.asarray(part)
        assert part.dtype.kind != "f" or np.isfinite(part).all()


def assert_usable(estimator, family):
    """Assert that attributes are finite and that the model accepts valid data."""
    if not hasattr(estimator, "state_"):
        return
    for name in dir(type(estimator)):
        if name.endswith("_") and not name.startswith("_"):
            try:
                value = getattr(estimator, name)
            except ValueError as error:  # NotFittedError after an incomplete fit
                assert isinstance(error, AttributeError)
                continue
            if name not in MAY_BE_MISSING:
                assert_finite(value)
    for method in FAMILIES[family][:-1]:
        assert_finite(getattr(estimator, method)(data_for(family)))


@pytest.mark.every(5)
@pytest.mark.parametrize("family", FAMILIES)
def test_weights_have_a_limit(family):
    X = data_for(family)
    if family == "LDA":
        X = X.astype(np.int32)  # computed in float32
    weights = np.ones(len(X))
    for value in (1e-300, LARGEST_WEIGHT, 1e37, 1e200, np.inf, np.nan, -1.0):
        weights[3] = value
        for name in ("fit", "partial_fit"):
            estimator = estimator_of("Annealed", family)
            if 1 < value <= LARGEST_WEIGHT:
                getattr(estimator, name)(X, sample_weight=weights)
            elif LARGEST_WEIGHT < value < np.inf:
                with pytest.raises(ValueError, match="at most 1e"):
                    getattr(estimator, name)(X, sample_weight=weights)
                assert not hasattr(estimator, "state_")
            else:
                attempt(getattr(estimator, name), X, sample_weight=weights)
            assert_usable(estimator, family)


def test_counts_times_weights_have_a_limit():
    X, weights = data_for("LDA"), np.ones(14)
    X[2, 1], weights[3] = 1e20, 1e12
    with pytest.raises(ValueError, match=r"sample_weight .* counts of 1e\+20"):
        estimator_of("Annealed", "LDA").fit(X, sample_weight=weights)


# The factorial mixture has a different limit, see its tests.
@pytest.mark.parametrize("family", ["GaussianMixture", "MatrixFactorization"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_have_a_limit(family, dtype):
    """The error names the limit; fits just below it equal fits to scaled data."""
    limit = largest_value(dtype)
    X = data_for(family).astype(dtype)
    X *= 0.9 * limit / np.nanmax(X)
    estimator = estimator_of("Tempered", family, tempering=None).fit(X)
    assert_usable(estimator, family)
    for method in FAMILIES[family]:
        assert_finite(getattr(estimator, method)(X))
    beyond = X.astype(np.float64)
    beyond *= 2
    message = re.escape(f"in {np.dtype(dtype)} they may be at most {limit:g}")
    for method in FAMILIES[family]:
        for far in beyond, -np.abs(beyond):
            with pytest.raises(ValueError, match=message):
                getattr(estimator, method)(far)
    for name in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=message):
            getattr(estimator_of("Annealed", family), name)(beyond.astype(dtype))
        with pytest.raises(ValueError, match="some must be at least"):
            getattr(estimator_of("Annealed", family), name)(
                X / X.dtype.type(limit) ** 2
            )


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
def test_samples_too_far_for_float32(covariance_type):
    """Distances in standard deviations that overflow count as very large."""
    random = np.random.default_rng(0)
    X = (1e-7 * random.normal(size=(40, 3))).astype(np.float32)
    mixture = estimator_of(
        "Annealed", "GaussianMixture", covariance_type=covariance_type, reg_covar=1e-16
    ).fit(X)
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


@pytest.mark.every(5)
@pytest.mark.parametrize("family", FAMILIES)
def test_tiny_weights_count_as_zero(family):
    """Tiny weights count as zero, even if all weights of a batch are tiny."""
    X = data_for(family)
    weights = np.ones(len(X))
    weights[:5] = 0.0
    tiny = weights + 1e-310
    fits = [
        estimator_of("Annealed", family, batch_size=1, learning_rate=0.1).fit(
            X, sample_weight=w
        )
        for w in (weights, tiny)
    ]
    assert_usable(fits[1], family)
    assert np.isfinite(fits[1].history_["batch_bound"]).all()
    np.testing.assert_array_equal(*(fit.transform(X) for fit in fits))
    with pytest.raises(ValueError, match="one must be at least 1e-15"):
        estimator_of("Annealed", family).fit(X, sample_weight=tiny * (tiny < 1))


def test_tiny_counts():
    X = data_for("LDA")
    with pytest.raises(ValueError, match="one must be at least 1e-30"):
        estimator_of("Annealed", "LDA").fit(X * 5e-324)
    X[:5] *= 5e-324
    lda = estimator_of("Annealed", "LDA", batch_size=1).fit(X)
    assert np.isfinite(lda.history_["batch_bound"]).all()


@pytest.mark.every(5)
@pytest.mark.parametrize(
    "family",
    ["LDA", "MultinomialMixture", "MatrixFactorization", "ImplicitFactorization"],
)
@pytest.mark.parametrize("kind", ["Annealed", "local", "SVIPlus"])
@pytest.mark.parametrize("flag", ["has_canonical_format", "has_sorted_indices"])
@pytest.mark.filterwarnings("ignore:The stored numbers of X")
def test_wrong_flags_of_sparse_matrices_have_no_effect(family, kind, flag):
    """scipy neither sums nor sorts entries if the flags claim a canonical format."""

    def twice():
        entries = np.array([1.0, 2, 3, 4, 5, 1]), np.array([2, 0, 2, 2, 2, 1])
        X = sparse.csr_array((*entries, np.array([0, 3, 5, 6])), shape=(3, 4))
        return sparse.csr_array(sparse.vstack([X] * 10, format="csr"))

    options = {}
    if kind == "local":
        kind, options["tempering"] = "Tempered", "local"
    if family in SINGLE:
        options.pop("tempering", None)
    weight = np.linspace(0.5, 2, 30)
    X = twice()
    setattr(X, flag, True)
    before = [part.copy() for part in (X.data, X.indices, X.indptr)]
    one = estimator_of(kind, family, **options)
    if family == "MatrixFactorization":
        with pytest.raises(ValueError, match="several ratings .* row 0 and column 2"):
            one.fit(X)
        return
    one.fit(X, sample_weight=weight)
    other = estimator_of(kind, family, **options).fit(twice(), sample_weight=weight)
    np.testing.assert_array_equal(one.components_, other.components_)
    np.testing.assert_array_equal(one.transform(X), other.transform(twice()))
    for part, known in zip((X.data, X.indices, X.indptr), before, strict=True):
        np.testing.assert_array_equal(part, known)


def test_noise_too_small_for_the_ratings():
    """Without an error, a fit to equal ratings would later refuse all other ratings."""
    X = np.full((9, 4), 3.0)
    with pytest.raises(ValueError, match="noise_variance=1e-60 is too small"):
        estimator_of("Annealed", "MatrixFactorization", noise_variance=1e-60).fit(X)


def test_factors_too_wide_for_the_noise():
    with pytest.raises(ValueError, match="too large for a noise variance"):
        estimator_of("Annealed", "MatrixFactorization", component_variance=1e31).fit(
            data_for("MatrixFactorization")
        )


def test_prior_variance_is_positive_for_equal_posteriors():
    """The learned variance has a lower limit, so that its inverse is finite."""
    for variance in (1.0, 1e-290, 1e-310):
        prior = GaussianPrior(np.zeros(1), np.full((1, 1), variance))
        same = Moments(1.0, np.zeros(1), np.zeros((1, 1)))
        for _ in range(3):
            prior = blended(prior, same, power=1.0, rate=1.0)
        assert_finite([prior.natural(), prior.log_normaliser()])


def test_tiny_degrees_of_freedom():
    """Chi-square draws round to 0, but their logarithms are finite."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        estimator = estimator_of(
            "Tempered", "GaussianMixture", degrees_of_freedom_prior=1e-3
        )
        estimator.fit(data_for("GaussianMixture")[:, :1])
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


def test_clusters_of_components_whose_counts_are_rounded_to_0():
    means, variances = np.arange(6.0).reshape(2, 3), np.ones((2, 3))
    assert clusters_of(means, variances, np.zeros(2)).tolist() == [0, 0]

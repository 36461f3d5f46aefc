"""The estimators of the factorial mixture: starts, missing values, unusual data."""

import numpy as np
import pytest
from fits import mixture_of, overlapping_shapes, samples_of
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from sktemper import AnnealedFactorialMixture, TemperedFactorialMixture
from sktemper.datasets import make_factorial_mixture

CLASSES = [AnnealedFactorialMixture, TemperedFactorialMixture]
SHAPES = np.array([[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1.0]])


def planted(n_samples=300, noise=0.1, missing=0.0, seed=0):
    """Return random features, and samples that are their sums of shapes."""
    random = np.random.default_rng(seed)
    features = random.random((n_samples, 3)) < 0.4
    X = features @ SHAPES + noise * random.normal(size=(n_samples, 6))
    X[random.random(X.shape) < missing] = np.nan
    return features, X


def matched(mixture):
    """Return the component that matches each shape, and the cosines."""
    found = mixture.components_
    cosines = found @ SHAPES.T / np.linalg.norm(SHAPES, axis=1)
    cosines /= np.linalg.norm(found, axis=1)[:, None]
    components, shapes = linear_sum_assignment(-cosines)
    return components[np.argsort(shapes)], cosines[components, shapes]


def assert_finite(mixture, X):
    assert np.isfinite(mixture.components_).all()
    nu = mixture.transform(X)
    assert ((nu >= 0) & (nu <= 1)).all()
    assert np.isfinite(mixture.score_samples(X)).all()
    assert np.isfinite(mixture.lower_bound(X))
    assert np.isfinite(mixture.history_["batch_bound"]).all()
    assert np.isfinite(mixture.impute(X)).all()
    assert 0 < mixture.noise_variance_ < np.inf
    inclusion = mixture.inclusion_probability_
    assert ((inclusion > 0) & (inclusion < 1)).all()
    np.linalg.cholesky(mixture.components_covariance_)


# -- recovery of shapes ----------------------------------------------------------------


@pytest.mark.every(23)
@pytest.mark.parametrize("posterior", ["structured", "factorized"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("init", ["random", "data", "ica", "nmf", "array"])
def test_planted_features_are_found(init, missing, posterior):
    features, X = planted(missing=missing)
    if init == "nmf":
        X = np.maximum(X, 0)
    start = SHAPES + 0.3 if init == "array" else init
    mixture = AnnealedFactorialMixture(
        3, init=start, posterior=posterior, random_state=0
    ).fit(X)
    order, cosines = matched(mixture)
    assert (cosines > 0.98).all()
    np.testing.assert_allclose(mixture.components_[order], SHAPES, atol=0.1)
    assert mixture.noise_variance_ == pytest.approx(0.01, rel=0.5)
    np.testing.assert_allclose(
        mixture.inclusion_probability_[order], features.mean(axis=0), atol=0.05
    )
    found = mixture.transform(X)[:, order] > 0.5
    assert (found == features).mean() > (0.999 if missing == 0 else 0.97)


@pytest.mark.every(5)
@pytest.mark.parametrize("share", [0.2, 0.8])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_fits_reach_the_optimum_next_to_the_true_components(seed, share):
    random = np.random.default_rng(seed)
    means = 3 * random.normal(size=(10, 30))
    X = (random.random((300, 10)) < share) @ means + random.normal(size=(300, 30))
    mixture = AnnealedFactorialMixture(10, random_state=seed).fit(X)
    best = TemperedFactorialMixture(10, init=means, tempering=None, max_iter=300).fit(X)
    assert mixture.lower_bound(X) > best.lower_bound(X) - 0.5


def test_missing_values_are_imputed():
    features, X = planted(missing=0.2)
    mixture = AnnealedFactorialMixture(3, moves=None, random_state=0).fit(X)
    filled, truth = mixture.impute(X), features @ SHAPES
    missing = np.isnan(X)
    np.testing.assert_array_equal(filled[~missing], X[~missing])
    # if all values of a shape are missing, only its frequency predicts them
    assert np.sqrt(np.mean((filled - truth)[missing] ** 2)) < 0.25
    assert np.isnan(X).any()
    both = np.full((1, 6), np.nan)
    both[0, [0, 2, 4]] = 1, 0, 1
    np.testing.assert_allclose(mixture.impute(both)[0], [1, 1, 0, 0, 1, 1], atol=0.1)


def test_a_sample_without_values_has_the_prior():
    _, X = planted()
    mixture = mixture_of().fit(X)
    X[5] = np.nan
    mixture.fit(X)
    pi = mixture.inclusion_probability_
    np.testing.assert_allclose(mixture.transform(X)[5], pi, rtol=1e-10)
    assert mixture.score_samples(X)[5] == 0
    np.testing.assert_allclose(mixture.impute(X)[5], pi @ mixture.components_)
    known = np.delete(X, 5, axis=0)
    assert mixture.score(X) == pytest.approx(mixture.score(known), rel=1e-12)
    with pytest.raises(ValueError, match="[Nn]othing is held out"):
        mixture.score(X[5:6])


# -- parameters ------------------------------------------------------------------------


@pytest.mark.every(5)
@pytest.mark.parametrize("cls", CLASSES)
def test_given_parameters_are_not_learned(cls):
    _, X = planted()
    mixture = cls(3, noise_variance=0.05, inclusion_probability=0.25, random_state=0)
    mixture.set_params(max_iter=5, moves=None).fit(X)
    assert mixture.noise_variance_ == 0.05
    np.testing.assert_array_equal(mixture.inclusion_probability_, 0.25)
    prior = [0.2, 0.3, 0.6]
    mixture.set_params(inclusion_probability=prior).fit(X)
    np.testing.assert_array_equal(mixture.inclusion_probability_, prior)
    mixture.set_params(
        noise_variance=None, inclusion_probability=None, component_variance=0.7
    ).fit(X)
    assert mixture.noise_variance_ != 0.05
    assert (mixture.inclusion_probability_ != 0.2).all()
    assert mixture.component_variance_ == 0.7


def test_the_initial_variances_are_those_of_the_data():
    _, X = planted(missing=0.2)
    mixture = TemperedFactorialMixture(
        4, tempering=None, learning_rate=1e-9, max_iter=1, random_state=0
    )
    with pytest.warns(ConvergenceWarning, match="start is left"):
        mixture.fit(X)
    assert mixture.noise_variance_ == pytest.approx(
        np.nanmean((X - np.nanmean(X, axis=0)) ** 2)
    )
    expected = np.nanmean(X**2) / (4 * 0.2)
    assert mixture.component_variance_ == pytest.approx(expected)


def test_cooling_each_sample_frees_overlapping_features():
    """Given the true components, the inferred features are the true features."""
    X, shapes, features = overlapping_shapes(600)
    wrong = []
    for cooling in (None, 2.0):
        mixture = TemperedFactorialMixture(
            8,
            init=shapes,
            tempering=None,
            noise_variance=0.01,
            local_cooling=cooling,
            max_iter=1,
            learning_rate=1e-6,
        )
        with pytest.warns(ConvergenceWarning, match="start is left"):
            mixture.fit(X)
        wrong.append(((mixture.transform(X) > 0.5) != features).any(axis=1).mean())
    assert wrong[1] < 0.01
    assert wrong[0] > 5 * wrong[1]


# -- shapes, dtypes, forms -------------------------------------------------------------


@pytest.mark.every(17)
@pytest.mark.parametrize("init", ["random", "data", "ica", "nmf"])
@pytest.mark.parametrize(
    "X",
    [
        np.zeros((20, 5)),
        np.full((20, 5), 2.5),
        np.eye(20, 5),
        np.eye(6)[[1] * 20],
        np.arange(6.0)[:, None],
        np.where(np.eye(20, 5) == 1, np.nan, 1.0),
        np.hstack([np.full((20, 1), np.nan), np.eye(20, 4)]),
        np.full((3, 2), np.nan),
        np.abs(samples_of())[:1],
    ],
    ids=range(9),
)
@pytest.mark.parametrize("n_components", [1, 7])
@pytest.mark.filterwarnings("ignore:Column 0 of X has no values")
def test_odd_data(X, init, n_components):
    mixture = TemperedFactorialMixture(
        n_components, init=init, max_iter=20, random_state=0
    )
    assert_finite(mixture.fit(X), X)
    assert_finite(mixture.partial_fit(X), X)


@pytest.mark.every(17)
@pytest.mark.parametrize("init", ["random", "data", "ica", "nmf"])
@pytest.mark.parametrize("cls", [AnnealedFactorialMixture, TemperedFactorialMixture])
@pytest.mark.parametrize(
    ("dtype", "scale"),
    [(np.float64, 2.0**e) for e in (-100, 100)]
    + [(np.float32, 2.0**e) for e in (-60, 60)],
)
def test_units_do_not_matter(cls, init, dtype, scale):
    """Scaling by powers of 2 changes no digits."""
    X = np.abs(samples_of()).astype(dtype)
    mixture = cls(3, init=init, max_iter=20, random_state=0)
    if cls is AnnealedFactorialMixture:
        mixture.set_params(moves=None)  # ties between moves may break differently
    one = clone(mixture).fit(X)
    other = clone(mixture).fit(X * dtype(scale))
    np.testing.assert_allclose(
        other.components_ / dtype(scale), one.components_, rtol=1e-3, atol=1e-4
    )
    np.testing.assert_allclose(
        other.transform(X * dtype(scale)), one.transform(X), atol=1e-3
    )
    assert other.noise_variance_ / scale**2 == pytest.approx(
        one.noise_variance_, rel=1e-3
    )
    difference = 6 * np.log(scale)
    assert other.score(X * dtype(scale)) == pytest.approx(
        one.score(X) - difference, abs=1e-2
    )


# -- invalid input ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "data", "message"),
    [
        ({"noise_variance": 1e-300}, np.eye(2, 3), "variance of 1e-300 is 0.577"),
        ({"component_variance": 1e300}, np.eye(2, 3), r"component_variance of 1e\+300"),
        ({"init": [[1e300, 0, 0]]}, np.eye(2, 3), "init contains a value of size"),
        ({}, [[1e300, 0, 0]], r"largest size supported in float64 is 1e"),
    ],
)
def test_parameters_and_data_that_overflow_are_refused(parameters, data, message):
    mixture = TemperedFactorialMixture(1, **{"init": "data", **parameters})
    with pytest.raises(ValueError, match=message):
        mixture.partial_fit(data)


def test_inverse_transform(samples):
    with pytest.raises(NotFittedError):
        mixture_of().inverse_transform(np.ones((1, 3)))
    mixture = mixture_of().fit(samples)
    nu = mixture.transform(samples)
    np.testing.assert_allclose(
        mixture.inverse_transform(nu), nu @ mixture.components_, rtol=1e-12
    )
    np.testing.assert_allclose(
        mixture.inverse_transform(np.eye(3)), mixture.components_
    )
    for bad, message in (
        (np.ones((2, 4)), "4 features, but there are 3 components"),
        (np.full((1, 3), np.nan), "NaN"),
        (np.ones(3), "2D array"),
    ):
        with pytest.raises(ValueError, match=message):
            mixture.inverse_transform(bad)


# -- streams ---------------------------------------------------------------------------


def test_nmf_start_refuses_data_far_below_zero():
    X = make_factorial_mixture(200, random_state=0)
    mixture = TemperedFactorialMixture(8, init="nmf", max_iter=2, random_state=0)
    assert X.min() < 0
    mixture.fit(X)
    with pytest.raises(ValueError, match="nearly non-negative"):
        mixture.fit(X - X.mean(axis=0))

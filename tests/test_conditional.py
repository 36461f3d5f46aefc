"""Distributions of some columns given others, by integration of densities."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import cumulative_simpson, simpson
from scipy.stats import multivariate_t, norm
from sklearn.exceptions import NotFittedError

from sktemper import (
    AnnealedGaussianMixture,
    AnnealedMixedMixture,
    AnnealedStudentMixture,
)
from sktemper._estimator._conditional import Conditional

GRID = np.linspace(-60, 60, 24_001)


def correlated(n_samples=80, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(2, size=n_samples)
    X = random.normal(size=(n_samples, 3))
    X[:, 1] += np.where(y, 2 * X[:, 0], -X[:, 2]) + 4 * y
    X[:, 0] += 3 * y
    return X


def assert_integrals(found, rows, density, grid, density_error, error):
    """Assert that the middle column has the distribution of a density of rows."""
    quantiles = found.quantiles([0.1, 0.5, 0.9])
    for i, row in enumerate(rows):
        points = np.repeat(row[None], len(grid), axis=0)
        points[:, 1] = grid
        joint = density(points)
        total = simpson(joint, x=grid)
        value = np.max(density(row[None])) / total
        assert np.exp(found.log_density[i]) == pytest.approx(value, rel=density_error)
        mean = simpson(joint * grid, x=grid) / total
        assert found.mean()[i, 0] == pytest.approx(mean, abs=error)
        cumulative = cumulative_simpson(joint, x=grid, initial=0.0) / total
        ends = np.interp([0.1, 0.5, 0.9], cumulative, grid)
        np.testing.assert_allclose(quantiles[:, i, 0], ends, atol=error)


@pytest.mark.parametrize(
    ("covariance_type", "priors"),
    [
        ("full", "learned"),
        ("tied", "scikit-learn"),
        ("diag", "learned"),
        ("spherical", "scikit-learn"),
    ],
)
def test_gaussian_mixtures_agree_with_integrals(covariance_type, priors):
    X = correlated()
    mixture = AnnealedGaussianMixture(
        3, covariance_type=covariance_type, priors=priors, random_state=0
    ).fit(X)
    rows = X[:3].copy()
    rows[2, 2] = np.nan  # one of the given values is missing
    found = mixture.conditional(rows, given=[0, 2])
    assert found.columns == [1]
    assert found.options == {}

    def density(points):
        return np.exp(mixture.score_samples(points))

    assert_integrals(found, rows, density, GRID, 1e-2, 2e-2)


def test_mixtures_of_mixed_kinds_agree_with_sums_and_integrals():
    random = np.random.default_rng(0)
    y = random.integers(2, size=200)
    X = pd.DataFrame(
        {
            "visits": random.poisson(np.where(y, 8, 2)),
            "height": random.normal(np.where(y, 2.0, -2.0), 1.0),
            "drink": np.where(random.random(200) < 0.2 + 0.6 * y, "tea", "coffee"),
            "answer": np.where(random.random(200) < 0.1 + 0.8 * y, "yes", "no"),
        }
    )
    mixture = AnnealedMixedMixture(3, kinds={"visits": "poisson"}, random_state=0)
    mixture.fit(X)
    row = X.iloc[[0]]
    found = mixture.conditional(row, given=["answer"])
    assert found.columns == ["visits", "height"]
    assert found.options == {"drink": ["coffee", "tea"]}

    def density(column, values):
        points = row.loc[row.index.repeat(len(values))].reset_index(drop=True)
        points["visits"] = points["height"] = np.nan
        points["drink"] = None
        points[column] = values
        logs = mixture.score_samples(points)
        points[column] = None if column == "drink" else np.nan
        return np.exp(logs - mixture.score_samples(points))

    shares = density("drink", ["coffee", "tea"])
    np.testing.assert_allclose(found.probabilities("drink")[0], shares, rtol=1e-6)
    counts = np.arange(100.0)
    p = density("visits", counts)
    heights = density("height", GRID)
    means = p @ counts, simpson(heights * GRID, x=GRID)
    np.testing.assert_allclose(found.mean()[0], means, rtol=1e-4)
    median = np.searchsorted(p.cumsum(), 0.5)
    cumulative = np.cumsum(heights) * (GRID[1] - GRID[0])
    ends = [median, np.interp(0.5, cumulative, GRID)]
    np.testing.assert_allclose(found.quantiles(0.5)[0], ends, atol=1e-2)
    full = mixture.score_samples(row)
    gaps = row.assign(visits=np.nan, height=np.nan, drink=None)
    assert found.log_density[0] == pytest.approx(
        (full - mixture.score_samples(gaps))[0]
    )
    without = mixture.conditional(row, given=["visits", "height", "answer"])
    assert without.mean().shape == without.quantiles(0.5).shape == (1, 0)


def test_quantiles_of_lognormal_columns_are_those_of_logarithms():
    random = np.random.default_rng(0)
    logs = random.normal(size=(100, 2)) + 3 * random.integers(2, size=100)[:, None]
    own = AnnealedMixedMixture(2, kinds="lognormal", random_state=0).fit(np.exp(logs))
    found = own.conditional(np.exp(logs[:5]), given=[0])
    other = AnnealedMixedMixture(2, kinds="gaussian", random_state=0).fit(logs)
    expected = other.conditional(logs[:5], given=[0]).quantiles(0.3)
    np.testing.assert_allclose(np.log(found.quantiles(0.3)), expected, rtol=1e-3)


def test_a_mask_names_the_columns_that_are_true():
    X = correlated()
    mixture = AnnealedGaussianMixture(2, random_state=0).fit(X)
    for mask in ([False, True, True], np.array([False, True, True])):
        found = mixture.conditional(X, given=mask)
        assert found.columns == [0]
        np.testing.assert_array_equal(
            found.mean(), mixture.conditional(X, given=[1, 2]).mean()
        )


@pytest.mark.parametrize(
    "make", [AnnealedGaussianMixture, AnnealedStudentMixture, AnnealedMixedMixture]
)
def test_unfitted_mixtures_say_so(make):
    with pytest.raises(NotFittedError):
        make(2).conditional(correlated(), given=[0])


def test_components_without_weight_have_no_mean():
    weights, laws = np.array([[1.0, 0.0]]), norm([2.0, np.inf])
    conditional = Conditional(["x"], {}, weights, np.zeros(1), [laws], {})
    assert conditional.mean().tolist() == [[2.0]]


def test_wrong_columns_are_refused():
    X = correlated()
    mixture = AnnealedGaussianMixture(2, random_state=0).fit(X)
    for given in (["a"], "a", 0, [["a"]], [True, False], [0, True, 2], [0, 3]):
        with pytest.raises(ValueError, match="given.* must be a list of names or ind"):
            mixture.conditional(X, given=given)
    message = r"'a' is none of these. The columns are \[0, 1, 2\]"
    with pytest.raises(ValueError, match=message):
        mixture.conditional(X, given=[0, "a"])
    with pytest.raises(ValueError, match="given has all columns"):
        mixture.conditional(X, given=[0, 1, 2])
    with pytest.raises(ValueError, match="no column of options"):
        mixture.conditional(X, given=[0]).probabilities(1)
    with pytest.raises(ValueError, match="above 0 and below 1"):
        mixture.conditional(X, given=[0]).quantiles(1.0)


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
def test_student_mixtures_agree_with_integrals(covariance_type):
    X = correlated(200)
    mixture = AnnealedStudentMixture(
        3, covariance_type=covariance_type, degrees_of_freedom=4, random_state=0
    ).fit(X)
    rows = X[:3].copy()
    rows[2, 2] = np.nan
    found, without = mixture.conditional(rows, given=[0, 2]), rows.copy()
    without[:, 1] = np.nan
    same = mixture.conditional(without, given=[0, 2])
    np.testing.assert_array_equal(found.mean(), same.mean())
    covariances = mixture.covariances_
    if covariance_type == "tied":
        covariances = np.repeat(covariances[None], 3, axis=0)
    elif covariance_type != "full":
        covariances = np.reshape(covariances, (3, -1))[:, :, None] * np.eye(3)

    def density(points):
        known = ~np.isnan(points[0])
        laws = [
            multivariate_t(m[known], c[np.ix_(known, known)], 4)
            for m, c in zip(mixture.means_, covariances, strict=True)
        ]
        return mixture.weights_ @ [law.pdf(points[:, known]) for law in laws]

    grid = np.sinh(np.linspace(-9, 9, 24_001))  # tails are heavy
    assert_integrals(found, rows, density, grid, 1e-3, 1e-3)
    # the posterior predictive density is near that at the posterior means
    rows[2, 2] = X[2, 2]
    logs = np.log(density(rows))
    np.testing.assert_allclose(mixture.score_samples(rows), logs, atol=0.3)

"""Means and shares of outcomes in classes, and marginal effects of covariates."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from scipy.optimize import minimize
from scipy.special import softmax

from sktemper import class_outcomes, class_regression

METHODS = ("bch", "ml")


def classes_and_outcomes(n_samples=600, p=0.8, seed=0):
    """Return posteriors of two classes, and outcomes that depend on the class."""
    random = np.random.default_rng(seed)
    y = (random.random(n_samples) < 0.4).astype(int)
    answers = random.random((n_samples, 4)) < np.where(y[:, None], p, 1 - p)
    logs = (2 * answers - 1).sum(axis=1) * np.log(p / (1 - p)) + np.log(0.4 / 0.6)
    posteriors = np.stack([1 / (1 + np.exp(logs)), 1 / (1 + np.exp(-logs))], axis=1)
    random_part = random.normal(size=n_samples)
    outcomes = pd.DataFrame(
        {
            "income": 1.0 + 2.0 * y + random_part,
            "party": np.where(random.random(n_samples) < 0.3 + 0.4 * y, "a", "b"),
        }
    )
    return y, posteriors, outcomes


@pytest.mark.parametrize("method", METHODS)
def test_known_classes_have_the_means_and_shares_of_their_samples(method):
    y, _, outcomes = classes_and_outcomes()
    table = class_outcomes(np.eye(2)[y], outcomes, method=method).table()
    is_a = outcomes["party"] == "a"
    pooled = [
        sum(part[y == k].var(ddof=0) * (y == k).sum() for k in range(2)) / 598
        for part in (outcomes["income"], is_a)
    ]
    for k in range(2):
        own = outcomes[y == k]
        mean, share = table[table["class"] == k].iloc[[0, 1]].itertuples(index=False)
        assert (mean.option, share.option) == ("mean", "a")
        p, n = (own["party"] == "a").mean(), len(own)
        # each sample has given 1 / n of its variance to the mean of its class
        error = (own["income"].var(ddof=0) / n + pooled[0] / n**2) ** 0.5
        expected = own["income"].mean(), error
        assert (mean.estimate, mean.stderr) == pytest.approx(expected, rel=1e-4)
        expected = p, (p * (1 - p) / n + pooled[1] / n**2) ** 0.5
        assert (share.estimate, share.stderr) == pytest.approx(expected, rel=1e-4)
        width = share.high - share.low
        assert width >= 2 * 1.959964 * share.stderr * (1 - 1e-6)
        assert width == pytest.approx(2 * 1.959964 * share.stderr, rel=0.15)


@pytest.mark.parametrize("method", METHODS)
def test_outcomes_are_corrected_for_wrong_classifications(method):
    _, posteriors, outcomes = classes_and_outcomes(4000, p=0.7)
    result = class_outcomes(posteriors, outcomes, method=method)
    modal = posteriors.argmax(axis=1)
    naive = outcomes["income"].groupby(modal).mean()
    assert naive[1] - naive[0] < 1.5  # 2 is true
    means, shares = (one.estimates for one in result.outcomes)
    np.testing.assert_allclose(means[:, 0], [1, 3], atol=0.1)
    np.testing.assert_allclose(shares[:, 0], [0.3, 0.7], atol=0.03)


def test_maximum_likelihood_has_the_largest_likelihood():
    _, posteriors, outcomes = classes_and_outcomes(400)
    result = class_outcomes(posteriors, outcomes[["income"]], method="ml")
    means = result.outcomes[0].estimates[:, 0]
    modal = posteriors.argmax(axis=1)
    D = np.array([posteriors[modal == s].sum(axis=0) for s in range(2)]).T
    D /= D.sum(axis=1, keepdims=True)
    y = outcomes["income"].to_numpy()

    def best(m):
        """Return the largest likelihood with these means, over sizes and widths."""

        def loss(v):
            sizes, widths = softmax([0, v[0]]), np.exp(v[1:])
            densities = np.exp(-0.5 * ((y[:, None] - m) / widths) ** 2) / widths
            return -np.log(densities * D[:, modal].T @ sizes).sum()

        return -minimize(loss, np.zeros(3), tol=1e-8).fun

    value = best(means)
    for shift in np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]) * 0.05:
        assert best(means + shift) < value


@pytest.mark.parametrize("method", METHODS)
def test_sampling_weights_are_shares_of_the_population(method):
    """Estimates are those of repeated samples, with the errors of the samples."""
    y, posteriors, outcomes = classes_and_outcomes(600)
    counts = np.arange(600) % 3
    sampling = np.random.default_rng(1).gamma(0.5, size=600)
    options = {"sample_weight": counts, "sampling_weight": 7.0 * sampling}
    found = class_outcomes(posteriors, outcomes, method=method, **options).table()
    options = {"sample_weight": counts * sampling / sampling.mean()}
    expected = class_outcomes(posteriors, outcomes, method=method, **options).table()
    np.testing.assert_allclose(found["estimate"], expected["estimate"], rtol=1e-4)
    options = {"method": method, "sampling_weight": sampling}
    known = class_outcomes(np.eye(2)[y], outcomes[["income"]], **options).table()
    for k in range(2):
        own, weight = outcomes["income"][y == k], sampling[y == k]
        mean = np.average(own, weights=weight)
        error = np.sqrt((weight**2 * (own - mean) ** 2).sum()) / weight.sum()
        assert known["estimate"][k] == pytest.approx(mean, rel=1e-4)
        assert known["stderr"][k] == pytest.approx(error, rel=0.1)


def test_tests_compare_all_classes_and_pairs():
    y = np.arange(300) % 3
    x = y + np.random.default_rng(0).normal(size=300)
    tests = class_outcomes(np.eye(3)[y], x[:, None]).tests()
    assert tests["classes"].tolist() == ["all", "0, 1", "0, 2", "1, 2"]
    assert tests["df"].tolist() == [2, 1, 1, 1]
    groups = [x[y == k] for k in range(3)]
    pooled = sum(group.var() for group in groups) * 100 / 297
    variances = [group.var() / 100 + pooled / 100**2 for group in groups]
    z2 = (groups[1].mean() - groups[0].mean()) ** 2 / (variances[0] + variances[1])
    assert tests["chi2"][1] == pytest.approx(z2)


@pytest.mark.parametrize("method", METHODS)
def test_estimates_without_errors_are_equal_or_differ_with_certainty(method):
    random, y = np.random.default_rng(0), np.repeat([0, 1, 2], 60)
    certain = np.eye(3)[y]
    leak = 1e-9 * random.random(60)  # of rounding
    certain[60:120, 0] += leak
    certain[60:120, 1] -= leak
    is_ill = (y == 0) & (random.random(180) < 0.5)
    found = class_outcomes(certain, pd.DataFrame({"ill": is_ill}), method=method)
    tests = found.tests().set_index("classes")
    assert tests["df"].tolist() == [2, 1, 1, 1]
    assert tests.loc["1, 2", ["chi2", "p_value"]].tolist() == pytest.approx([0.0, 1.0])
    p = is_ill[:60].mean()
    variance = p * (1 - p) * (1 / 60 + 2 * 60 / 177 / 60**2)
    for pair in ("0, 1", "0, 2"):
        assert tests["chi2"][pair] == pytest.approx(p**2 / variance, rel=1e-4)
    is_own = pd.DataFrame({"own": y == 1, "one": "a", "same": 0.1})
    found = class_outcomes(certain, is_own, method=method).tests()
    assert found["chi2"].tolist() == [np.inf, np.inf, 0.0, np.inf] + [0.0] * 8
    expected = [0.0, 0.0, 1.0, 0.0] + [1.0] * 8
    assert found["p_value"].tolist() == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("unit", [1e-8, 1e6])
def test_numbers_that_are_constant_in_classes_differ_with_certainty(unit):
    y = np.repeat([0, 1], 50)
    found = class_outcomes(np.eye(2)[y], unit * y[:, None]).tests()
    (found,) = found[["chi2", "df", "p_value"]].values.tolist()
    assert found == pytest.approx([np.inf, 1, 0.0], abs=1e-4)


@pytest.mark.parametrize("rate", [0.03, 0.1, 0.5])
def test_two_values_are_shares(rate):
    """Whether they are numbers, booleans, or in another unit."""
    _, posteriors, _ = classes_and_outcomes(500)
    yes = np.random.default_rng(1).random(500) < rate
    columns = pd.DataFrame({"bool": yes, "number": yes * 1, "other": 3.0 - 20.0 * yes})
    found = class_outcomes(posteriors, columns, method="ml")
    table, tests = found.table(), found.tests()
    rows = {name: table[table["outcome"] == name] for name in columns}
    shares = rows["bool"][rows["bool"]["option"] == "True"]
    for column, atol in (("estimate", 1e-8), ("stderr", 1e-8), ("low", 5e-3)):
        expected = shares[column].to_numpy()
        np.testing.assert_allclose(rows["number"][column], expected, 1e-6, atol)
    np.testing.assert_allclose(
        rows["other"]["estimate"], 3.0 - 20.0 * shares["estimate"].to_numpy()
    )
    np.testing.assert_allclose(tests["p_value"], tests["p_value"][0], atol=0.03)


@pytest.mark.parametrize("kind", ["outlier", "lognormal"])
def test_numbers_far_from_normal_have_means_without_a_distribution(kind):
    _, posteriors, outcomes = classes_and_outcomes(500)
    random = np.random.default_rng(2)
    y = random.lognormal(sigma=1.5, size=500)
    if kind == "outlier":
        y = np.where(np.arange(500) == 7, 9999.0, random.normal(size=500))
    with pytest.warns(UserWarning, match="The outcome 'x0' is far from normal"):
        found = class_outcomes(posteriors, y, method="ml")
    pd.testing.assert_frame_equal(found.table(), class_outcomes(posteriors, y).table())
    assert found.tests()["p_value"].item() > 0.01
    class_outcomes(posteriors, outcomes[["income"]], method="ml")  # without a warning


def test_tables_of_polars_have_all_kinds_of_outcomes():
    pytest.importorskip("polars")
    outcomes = pd.DataFrame({"x": [0.0, 1.0, 2.0, 4.0], "flag": [True, False] * 2})
    result = class_outcomes(np.eye(2)[[0, 0, 1, 1]], outcomes)
    options = result.table(output="polars")["option"].to_list()
    assert options == result.table()["option"].tolist()
    assert options == ["mean", "mean"] + ["False", "True"] * 2


def test_missing_outcomes_and_unknown_methods_are_refused():
    _, posteriors, outcomes = classes_and_outcomes(50)
    outcomes.loc[3, "party"] = None
    with pytest.raises(ValueError, match="The outcome 'party' has missing values"):
        class_outcomes(posteriors, outcomes)
    with pytest.raises(ValueError, match="outcomes has no columns"):
        class_outcomes(posteriors, outcomes[[]])
    with pytest.raises(ValueError, match="outcomes have the name 'income'"):
        class_outcomes(posteriors, outcomes[["income", "income"]])
    with pytest.raises(ValueError, match="outcomes are a sparse matrix"):
        class_outcomes(posteriors, sparse.coo_array(posteriors))
    with pytest.raises(ValueError, match="'bch' or 'ml'|'ml' or 'bch'"):
        class_outcomes(posteriors, outcomes, method="modal")


def test_marginal_effects_are_averages_of_changes_of_probabilities():
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {"age": random.normal(50, 10, 800), "sex": random.choice(["f", "m"], 800)}
    )
    logits = np.stack(
        [np.zeros(800), 0.05 * (X["age"] - 50), -0.5 + 1.0 * (X["sex"] == "m")], axis=1
    )
    y = (softmax(logits, axis=1).cumsum(axis=1) < random.random((800, 1))).sum(axis=1)
    regression = class_regression(np.eye(3)[y], X, reference=0)
    table = regression.marginal_effects(X)

    ages, males = X["age"].to_numpy(), (X["sex"] == "m").to_numpy() * 1.0

    def probabilities(coef, age=0.0, sex=None):
        is_male = males if sex is None else np.full(800, sex)
        Z = np.stack([np.ones(800), ages + age, is_male], axis=1)
        return softmax(Z @ coef.T, axis=1)

    def effects(coef):
        h = 1e-4
        slopes = (probabilities(coef, h) - probabilities(coef, -h)) / (2 * h)
        sexes = probabilities(coef, sex=1.0) - probabilities(coef, sex=0.0)
        return np.stack([slopes, sexes], axis=1).mean(axis=0).T.ravel()

    np.testing.assert_allclose(table["effect"], effects(regression.coef_), rtol=1e-5)
    sums = table.groupby("covariate")["effect"].sum()
    np.testing.assert_allclose(sums, 0, atol=1e-10)
    draws = random.multivariate_normal(
        regression.coef_[1:].ravel(), regression.covariance_, 4000
    )
    coefs = np.concatenate([np.zeros((4000, 1, 3)), draws.reshape(4000, 2, 3)], axis=1)
    spread = np.std([effects(coef) for coef in coefs[:500]], axis=0)
    np.testing.assert_allclose(table["stderr"], spread, rtol=0.1)
    weight = np.where(X["sex"] == "m", 1, 1 + (X["age"] > 50))
    weighted = regression.marginal_effects(X, sample_weight=weight)
    repeated = regression.marginal_effects(X.loc[X.index.repeat(weight)])
    np.testing.assert_allclose(weighted["effect"], repeated["effect"], rtol=1e-9)
    assert not np.allclose(weighted["effect"], table["effect"], rtol=1e-3)


# -- permutations ----------------------------------------------------------------------
def known_classes(*sizes):
    """Return posteriors of known classes."""
    return np.eye(len(sizes))[np.repeat(np.arange(len(sizes)), sizes)]


@pytest.mark.parametrize(("n_few", "n_many"), [(1, 60), (2, 60), (3, 13)])
def test_p_values_are_not_below_those_of_all_permutations(n_few, n_many):
    posteriors = known_classes(n_few, n_many)
    exact = min(1.0 / math.comb(n_few + n_many, n_few), 1 / 2000)  # 1,999 are drawn
    y, noise = posteriors[:, 0], np.linspace(0, 1, n_few + n_many)
    for outcome in y, 9.0 * y + noise:
        (p_value,) = class_outcomes(posteriors, outcome[:, None]).tests()["p_value"]
        assert 0.9 * exact < p_value < 0.02


@pytest.mark.parametrize("offset", [0.0, 5.0])
def test_intercepts_have_the_p_values_of_their_errors(offset):
    """Permutations of rows do not change the mean of an outcome."""
    random = np.random.default_rng(0)
    posteriors = np.eye(2)[(random.random(300) < 0.1) * 1]
    x = random.normal(size=(300, 1)) + offset
    table = class_regression(posteriors, x).table().iloc[0]
    assert table["p_value"] == pytest.approx(2.0 * stats.norm.sf(abs(table["z"])))
    assert table["low"] < table["coef"] < table["high"] < 0.0


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_outcomes_whose_squares_are_no_numbers_are_refused(factor):
    y = factor * np.arange(1.0, 21.0)[:, None]
    with pytest.raises(ValueError, match="Outcome 'x0' has .*Scale the data"):
        class_outcomes(known_classes(8, 12), y)

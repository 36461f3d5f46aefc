"""`class_regression`: recovery of true effects, derivatives, invariances, bad input."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats
from sklearn.linear_model import LogisticRegression

from sktemper import class_regression
from sktemper.mixed_mixture._regression import _Logit

METHODS = pytest.mark.parametrize("method", ["ml", "bch"])
TRUTH = np.array([[0.0, 0.0], [0.5, 0.8], [-0.3, -0.6]])


def simulated(n=4000, separation=1.2, seed=0):
    """Return true posteriors of classes, a covariate, and the classes.

    The answers are twelve bits whose probabilities differ between three classes.
    """
    random = np.random.default_rng(seed)
    z = random.normal(40.0, 10.0, size=n)
    logits = np.column_stack([np.ones(n), (z - 40.0) / 10.0]) @ TRUTH.T
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) < random.random((n, 1))).sum(axis=1)
    signs = np.array([[1] * 12, [1, -1] * 6, [-1] * 12])
    chances = 1 / (1 + np.exp(-separation * signs))
    X = random.random((n, 12)) < chances[y]
    logs = X @ np.log(chances).T + ~X @ np.log1p(-chances).T + np.log(p.mean(axis=0))
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True), z, y


@METHODS
def test_slopes_are_not_attenuated(method):
    posteriors, z, _ = simulated(separation=0.55)
    frame = pd.DataFrame({"age": z})
    found = class_regression(posteriors, frame, method=method, reference=0)
    assert found.names == ["(intercept)", "age"]
    slopes, errors = 10 * found.coef_[:, 1], 10 * found.stderr_[:, 1]
    assert errors[0] == 0 and (errors[1:] < 0.2).all()
    assert (np.abs(slopes - TRUTH[:, 1]) <= 3 * errors).all()
    naive = LogisticRegression(C=np.inf, max_iter=1000)
    naive.fit((z[:, None] - 40) / 10, posteriors.argmax(axis=1))
    attenuated = naive.coef_[:, 0] - naive.coef_[0, 0]
    assert (np.abs(attenuated[1:]) < 0.85 * np.abs(TRUTH[1:, 1])).all()


@METHODS
def test_classes_that_are_certain_have_the_logit_of_labels(method):
    _, z, y = simulated(1500)
    found = class_regression(np.eye(3)[y], z[:, None], method=method, reference=0)
    x = (z[:, None] - 40) / 10
    logit = LogisticRegression(C=np.inf, tol=1e-10, max_iter=2000).fit(x, y)
    slopes = (logit.coef_ - logit.coef_[0])[:, 0] / 10
    np.testing.assert_allclose(found.coef_[:, 1], slopes, atol=1e-5)
    np.testing.assert_allclose(found.classification_, np.eye(3), atol=1e-12)


@METHODS
def test_scores_and_hessian_are_derivatives(method):
    random = np.random.default_rng(0)
    Z = np.column_stack([np.ones(20), random.normal(size=(20, 2))])
    D, modal = random.dirichlet(np.ones(3), size=3) + np.eye(3), np.arange(20) % 3
    D /= D.sum(axis=1, keepdims=True)
    weight, given, likelihoods = (
        random.random(20),
        np.linalg.inv(D)[modal],
        D[:, modal].T,
    )
    samples = SimpleNamespace(weight=weight, given=given, likelihoods=likelihoods)
    objective = _Logit(Z, samples, np.arange(3) != 1, method).derivatives
    at, step = random.normal(size=6), 1e-5
    _, scores, hessian = objective(at)
    for number, direction in enumerate(np.eye(6)):
        up, down = objective(at + step * direction), objective(at - step * direction)
        slope = (up[0] - down[0]) / (2 * step)
        assert weight @ scores[:, number] == pytest.approx(slope, abs=1e-7)
        change = weight @ (up[1] - down[1]) / (2 * step)
        np.testing.assert_allclose(hessian[number], change, atol=1e-6)


@METHODS
def test_the_reference_changes_only_the_form(method):
    posteriors, z, _ = simulated(500, 0.8)
    one = class_regression(posteriors, z[:, None], method=method, reference=0)
    other = class_regression(posteriors, 1e-6 * z, method=method, reference=2)
    slopes = (other.coef_ - other.coef_[0])[:, 1]
    np.testing.assert_allclose(1e-6 * slopes, one.coef_[:, 1], atol=1e-6)
    assert 1e-6 * other.stderr_[0, 1] == pytest.approx(one.stderr_[2, 1], rel=1e-4)
    slopes = other.table().query("covariate != '(intercept)'")
    assert set(slopes["odds_ratio"]) <= {0.0, np.inf}  # without a warning


def terms(coef, posteriors, z, weight, method):
    """Return the terms of samples in the objective of the docstring."""
    modal = posteriors.argmax(axis=1)
    D = np.array(
        [
            [(p * weight)[modal == s].sum() / (p @ weight) for s in range(3)]
            for p in posteriors.T
        ]
    )
    pi = special.softmax(np.column_stack([np.ones(len(z)), z]) @ coef.T, axis=1)
    if method == "ml":
        return np.log([p @ D[:, s] for p, s in zip(pi, modal, strict=True)])
    return (np.linalg.inv(D)[modal] * np.log(pi)).sum(axis=1)


@METHODS
def test_covariances_are_sandwiches_of_differences(method):
    """Sums weight samples by n v, and the middle of the sandwich by n v^2."""
    posteriors, z, _ = simulated(300, 1.0)
    z, random = (z - 40) / 10, np.random.default_rng(0)
    n, v = random.integers(1, 4, 300), random.uniform(0.2, 3.0, 300)
    found = class_regression(
        posteriors,
        z[:, None],
        method=method,
        reference=1,
        sample_weight=n,
        sampling_weight=7e20 * v,
    )
    v /= n @ v / n.sum()

    def at(free):
        coef = np.zeros((3, 2))
        coef[[0, 2]] = np.reshape(free, (2, 2))
        return terms(coef, posteriors, z, n * v, method)

    def slopes(free):
        return np.array([at(free + step) - at(free - step) for step in steps]) / 2e-3

    steps, free = 1e-3 * np.eye(4), found.coef_[[0, 2]].ravel()
    scores = slopes(free)
    np.testing.assert_allclose(scores @ (n * v), 0.0, atol=1e-3)
    changes = np.array([slopes(free + step) - slopes(free - step) for step in steps])
    hessian = changes @ (n * v) / 2e-3
    inverse = np.linalg.inv(hessian)
    expected = inverse @ (scores * n * v**2) @ scores.T @ inverse
    np.testing.assert_allclose(found.covariance_, expected, rtol=1e-3, atol=1e-6)


@METHODS
def test_samples_of_weight_0_are_left_out(method):
    """Also if they have missing values, a category, or an empty class of their own."""
    posteriors, z, _ = simulated(300, 1.0)
    frame = pd.DataFrame({"z": z, "c": np.array(["x", "y"] * 150)})
    posteriors = np.insert(posteriors, 1, 0.0, axis=1)
    weight = np.where(np.arange(300) < 20, 0.0, 1.5)
    posteriors[:10] = np.eye(4)[1]
    frame.loc[:10, "z"], frame.loc[:10, "c"] = np.nan, "a"
    names = "sample_weight", "sampling_weight"
    found = [
        class_regression(posteriors, frame, method=method, **{name: weight})
        for name in names
    ]
    removed = [
        class_regression(
            posteriors[20:], frame[20:], method=method, **{name: weight[20:]}
        )
        for name in names
    ]
    for one, other in zip(found, removed, strict=True):
        assert one.names == other.names == ["(intercept)", "z", "c=y"]
        assert one.classes.tolist() == [0, 2, 3]
        np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9)
        np.testing.assert_allclose(one.covariance_, other.covariance_, rtol=1e-9)


def test_categories_that_do_not_occur_have_no_coefficient():
    posteriors, *_ = simulated(300, 1.0)
    text = pd.DataFrame({"c": np.array(["b", "d"] * 150)})
    expected = class_regression(posteriors, text)
    for declared in ["a", "b", "c", "d", "e"], ["b", "d", "e"], ["b", "d"]:
        frame = text.astype(pd.CategoricalDtype(declared))
        found = class_regression(posteriors, frame)
        assert found.names == ["(intercept)", "c=d"]
        np.testing.assert_array_equal(found.coef_, expected.coef_)
    single = pd.DataFrame({"c": pd.Categorical(["b"] * 300, categories=["a", "b"])})
    with pytest.raises(ValueError, match="'c' has the same value everywhere"):
        class_regression(posteriors, single)


@METHODS
def test_too_few_samples_of_classes_are_refused(method):
    posteriors, z, _ = simulated(300, 1.0)
    Z = z[:, None]
    few, wide = np.full(300, 1e-12 / 300), np.insert(posteriors, 1, 0.0, axis=1)
    wide[4] = np.eye(4)[1]
    light = np.where(np.arange(300) == 4, 0.3, 1.0)
    for given, weight, message in (
        (np.ones((300, 1)), None, "1 of 1 classes have samples"),
        (np.eye(3)[np.ones(300, int)], None, "1 of 3 classes have samples"),
        (posteriors, few, "0 of 3 .* sum to 1e-12: pass .* as sampling_weight"),
        (wide, light, "Sample 4 belongs to class 1, which is left out"),
    ):
        with pytest.raises(ValueError, match=message):
            class_regression(given, Z, method=method, sample_weight=weight)
    with pytest.raises(ValueError, match="sampling_weight is 0 for each sample"):
        class_regression(posteriors, Z, sample_weight=z > 40, sampling_weight=z <= 40)


@METHODS
def test_separated_classes_are_refused(method):
    """Completely, by one category, and if class probabilities are not certain."""
    posteriors, z, y = simulated(300, 1.0)
    is_even = np.arange(300) % 2 == 0
    for given, covariate in (
        (np.eye(2)[(z > 40) * 1], z),
        (np.eye(3)[y], np.where(y == 2, False, is_even)),
        (posteriors, np.where(posteriors.argmax(axis=1) == 2, False, is_even)),
    ):
        with pytest.raises(ValueError, match="no optimum"):
            class_regression(given, covariate[:, None], method=method)


def test_the_reference_is_the_class_with_the_largest_weight():
    posteriors, z, _ = simulated(400, 0.8)
    is_small = posteriors.argmax(axis=1) == posteriors.sum(axis=0).argmin()
    weight = np.where(is_small, 20.0, 1.0)
    own, given = (
        class_regression(posteriors, z[:, None], sample_weight=weight, reference=k)
        for k in (None, int((weight @ posteriors).argmax()))
    )
    np.testing.assert_array_equal(own.coef_, given.coef_)
    plain = class_regression(posteriors, z[:, None])
    assert (own.coef_ == 0).all(axis=1).argmax() != (plain.coef_ == 0).all(
        axis=1
    ).argmax()


def test_the_table_has_the_usual_columns():
    posteriors, z, _ = simulated(800)
    region = np.array(["north", "south", "west"])[np.arange(800) % 3]
    frame = pd.DataFrame({"age": z, "region": region})
    found = class_regression(posteriors, frame, reference=2)
    table = found.table(interval=0.9)
    assert table["covariate"][:4].tolist() == [
        "(intercept)",
        "age",
        "region=south",
        "region=west",
    ]
    assert sorted(set(table["class"])) == [0, 1]
    z_value = table["coef"] / table["stderr"]
    normal = 2 * stats.norm.sf(np.abs(z_value))  # for many rows in all groups
    assert (table["p_value"] >= normal * (1 - 1e-9)).all()
    np.testing.assert_allclose(table["p_value"], normal, atol=0.04)
    half = stats.norm.ppf(0.95) * table["stderr"]
    assert (table["high"] - table["low"] >= 2 * half * (1 - 1e-9)).all()
    np.testing.assert_allclose(table["high"] - table["low"], 2 * half, rtol=0.1)
    assert found.stderr_[:2].min() > 0
    free = found.stderr_[:2].ravel() ** 2
    np.testing.assert_allclose(np.diag(found.covariance_), free)


@METHODS
def test_an_interval_contains_0_if_and_only_if_the_p_value_is_large(method):
    n_rows, intervals = 0, np.linspace(0.5, 0.99, 12)
    for seed in range(3):
        random = np.random.default_rng(seed)
        y = random.integers(3, size=60)
        far = random.exponential(size=60) ** 3 + y * random.random()
        Z = np.column_stack([far, random.normal(size=60) + 0.3 * y])
        posteriors = 0.8 * np.eye(3)[y] + 0.2 / 3
        found = class_regression(posteriors, Z, method=method)
        for interval in intervals:
            effects = found.marginal_effects(Z, interval=interval)
            for table in found.table(interval), effects:
                has_0 = (table["low"] <= 0) & (table["high"] >= 0)
                np.testing.assert_array_equal(has_0, table["p_value"] > 1 - interval)
                n_rows += len(table)
    assert n_rows == 12 * 3 * (6 + 6)


@METHODS
@pytest.mark.parametrize("far", [99_999.0, 1e9])
def test_a_value_far_from_all_others_does_not_separate_classes(method, far):
    """The far row is in the class that its covariate predicts, or in another."""
    random = np.random.default_rng(0)
    z = random.normal(size=200)
    y = (random.random(200) < special.expit(z)).astype(int)
    z[0] = far
    y[0] = 1
    found = class_regression(np.eye(2)[y], z, method=method, reference=0)
    expected = class_regression(np.eye(2)[y[1:]], z[1:], method=method, reference=0)
    np.testing.assert_allclose(found.coef_[1], expected.coef_[1], rtol=1e-4)
    y[0] = 0
    found = class_regression(np.eye(2)[y], z.tolist(), method=method, reference=0)
    assert abs(found.coef_[1, 1]) < 30 / far


def test_invalid_posteriors_and_covariates_are_refused():
    posteriors, z, _ = simulated(300)
    Z = z[:, None]
    never = np.column_stack([posteriors * 0.9, np.full(300, 0.1)])
    for wrong, message in (
        ((posteriors * 2, Z), "must be the class probabilities"),
        ((never, Z), "Class 3 is the most probable class of no sample"),
        ((posteriors, np.where(Z > 40, np.nan, Z)), "NaN"),
        (
            (posteriors, pd.DataFrame({"a": [None, *"bc" * 149, "b"]})),
            "'a' has missing",
        ),
        ((posteriors, np.column_stack([z, z])), "are sums of others"),
        ((posteriors, np.full((300, 1), 0.1)), "the same value everywhere"),
        ((posteriors, Z * 1e200), "Covariate 'x0' has values of"),
        ((posteriors, Z[:10]), "inconsistent numbers"),
        ((posteriors, pd.DataFrame({"a": [*"bc"] * 150, "a=c": z})), "the name 'a=c'"),
    ):
        with pytest.raises(ValueError, match=message):
            class_regression(*wrong)
    with pytest.raises(ValueError, match="'method' parameter"):
        class_regression(posteriors, Z, method="naive")
    for wrong in 7, True, "a", [0, 1]:
        with pytest.raises(ValueError, match="is no class that has samples"):
            class_regression(posteriors, Z, reference=wrong)

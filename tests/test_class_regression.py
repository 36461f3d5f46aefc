"""`class_regression`: recovery of true effects, derivatives, invariances, bad input."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

from sktemper import class_regression
from sktemper.mixed_mixture._regression import _bch, _Logit, _ml

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


@pytest.mark.parametrize("make", [_ml, _bch])
def test_scores_and_hessian_are_derivatives(make):
    random = np.random.default_rng(0)
    Z = np.column_stack([np.ones(20), random.normal(size=(20, 2))])
    D, modal = random.dirichlet(np.ones(3), size=3) + np.eye(3), np.arange(20) % 3
    D /= D.sum(axis=1, keepdims=True)
    logit = _Logit(Z, random.random(20), 1, 3)
    objective = make(logit, D[:, modal].T) if make is _ml else make(logit, D, modal)
    at, step = random.normal(size=logit.n_free), 1e-5
    _, scores, hessian = objective(at)
    for number, direction in enumerate(np.eye(logit.n_free)):
        up, down = objective(at + step * direction), objective(at - step * direction)
        slope = (up[0] - down[0]) / (2 * step)
        assert logit.weight @ scores[:, number] == pytest.approx(slope, abs=1e-7)
        change = logit.weight @ (up[1] - down[1]) / (2 * step)
        np.testing.assert_allclose(hessian[number], change, atol=1e-6)


@METHODS
def test_units_and_the_reference_change_only_the_form(method):
    posteriors, z, _ = simulated(1500, 0.8)
    one = class_regression(posteriors, z[:, None], method=method, reference=0)
    other = class_regression(posteriors, 7 * z[:, None] - 3, method=method, reference=2)
    np.testing.assert_allclose(
        7 * (other.coef_[:, 1] - other.coef_[0, 1]), one.coef_[:, 1], atol=1e-6
    )
    assert 7 * other.stderr_[0, 1] == pytest.approx(one.stderr_[2, 1], rel=1e-4)


@METHODS
def test_weights_are_repetitions_of_samples(method):
    posteriors, z, _ = simulated(400, 0.8)
    weight = np.random.default_rng(0).integers(0, 3, 400)
    weighted = class_regression(
        posteriors, z[:, None], method=method, sample_weight=weight, reference=0
    )
    repeated = class_regression(
        posteriors.repeat(weight, axis=0),
        z[:, None].repeat(weight, axis=0),
        method=method,
        reference=0,
    )
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6)


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
    np.testing.assert_allclose(table["p_value"], 2 * stats.norm.sf(np.abs(z_value)))
    half = stats.norm.ppf(0.95) * table["stderr"]
    np.testing.assert_allclose(table["high"] - table["low"], 2 * half)
    assert found.stderr_[:2].min() > 0
    free = found.stderr_[:2].ravel() ** 2
    np.testing.assert_allclose(np.diag(found.covariance_), free)


def test_empty_components_are_left_out():
    posteriors, z, _ = simulated(800)
    wide = np.insert(posteriors, 1, 0.0, axis=1)
    found = class_regression(wide, z[:, None], reference=0)
    assert found.classes.tolist() == [0, 2, 3]
    expected = class_regression(posteriors, z[:, None], reference=0)
    np.testing.assert_array_equal(found.coef_, expected.coef_)


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
        ((posteriors, np.ones((300, 1))), "the same value everywhere"),
        ((posteriors, Z[:10]), "inconsistent numbers"),
        ((np.eye(2)[(z > 40) * 1], Z), "no optimum"),
    ):
        with pytest.raises(ValueError, match=message):
            class_regression(*wrong)
    with pytest.raises(ValueError, match="'method' parameter"):
        class_regression(posteriors, Z, method="naive")
    with pytest.raises(ValueError, match="reference=7"):
        class_regression(posteriors, Z, reference=7)

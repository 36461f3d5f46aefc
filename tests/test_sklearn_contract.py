"""scikit-learn's contract: weights of rows, and parameters of policies."""

import dataclasses
import pickle
import re

import numpy as np
import pytest
from fits import data_of, factorization_of, lda_of, mixture_of
from registry import ESTIMATORS, TARGETS
from sklearn.base import clone

from sktemper import (
    AnnealedLDA,
    TemperedFactorialMixture,
    TemperedLDA,
    TemperedMatrixFactorization,
)
from sktemper.learning_rates import ConstantRate, RobbinsMonro
from sktemper.model import LocalStep
from sktemper.schedules import ExponentialSchedule, LinearSchedule, StepSchedule
from sktemper.tempering import Annealing, GlobalTempering, LocalTempering

WEIGHTED = {
    "lda": lda_of(TemperedLDA, batch_size=None, doc_update="variational"),
    "mixture": mixture_of(
        TemperedFactorialMixture,
        batch_size=None,
        init=np.random.default_rng(0).normal(size=(3, 6)),
    ),
    "factorization": factorization_of(TemperedMatrixFactorization, batch_size=None),
    "ratings": factorization_of(
        TemperedMatrixFactorization, batch_size=None, biases=False, noise_type="common"
    ),
}


@pytest.mark.every(5)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "tempering",
    [
        None,
        "global",
        GlobalTempering(target="likelihood", cap=None),
        "local",
        *(Annealing(LinearSchedule(3, length=8), target) for target in TARGETS),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", WEIGHTED)
def test_steps_on_weighted_rows_have_the_scores_of_repeated_rows(name, tempering):
    """Their scores and bounds are equal, so that temperatures and ends of fits are."""
    estimator = clone(WEIGHTED[name]).set_params(tempering=tempering)
    X = data_of(estimator).astype(np.float64)
    weight = np.random.default_rng(0).integers(0, 4, X.shape[0])
    weighted = clone(estimator).fit(X, sample_weight=weight)
    repeated = clone(estimator).fit(X[np.repeat(range(120), weight)])
    columns = ["batch_bound", "lower_bound"]
    if tempering != "local":  # its temperature is a mean over rows
        columns.append("temperature")
    for column in columns:
        one, two = (fitted.history_[column] for fitted in (weighted, repeated))
        np.testing.assert_allclose(one, two, rtol=1e-6, err_msg=column)
    np.testing.assert_allclose(weighted.components_, repeated.components_, rtol=1e-5)
    plain = clone(estimator).fit(X)
    one, two = (fitted.history_["batch_bound"] for fitted in (weighted, plain))
    assert not np.allclose(one, two, rtol=1e-4)
    ones = clone(estimator).fit(X, sample_weight=np.ones(120))
    np.testing.assert_allclose(ones.components_, plain.components_, rtol=1e-9)


def test_a_weighted_step_has_the_sums_of_weighted_rows():
    rows = np.random.default_rng(0).random((3, 4))
    step = LocalStep("statistics", 4, *rows.sum(axis=1), score=9.0)
    step.row_observed, step.row_bounds, step.row_scores = rows
    weights = np.array([0.0, 1.0, 2.5, 1.0])
    weighted = step.weighted(weights)
    assert weighted.n_observed == pytest.approx(rows[0] @ weights)
    assert weighted.bound == pytest.approx(rows[1] @ weights)
    assert weighted.score == pytest.approx(rows[2] @ weights)
    assert (weighted.n_rows, weighted.statistics) == (4, "statistics")
    assert weighted.row_bounds is step.row_bounds and step.score == 9.0
    whole = LocalStep.of_rows(row_observed=rows[0], row_bounds=rows[1], n_iterations=4)
    assert whole.weighted(weights).score == 0.0  # no score was requested
    assert (whole.n_rows, whole.bound) == (4, pytest.approx(rows[1].sum()))
    for name in ("row_scores", "row_bounds", "row_observed"):
        lacking = dataclasses.replace(step, **{name: None})
        with pytest.raises(ValueError, match=name):
            lacking.weighted(weights)


# -- parameters ------------------------------------------------------------------------


@pytest.mark.every(2)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_fit_writes_into_no_parameter(name):
    """Neither into arrays, nor into policies."""
    (row, kind), random = ESTIMATORS[name], np.random.RandomState(3)
    given = {name: value for name, value in row.fixed_by_fit.items() if np.ndim(value)}
    given |= {"learning_rate": RobbinsMonro(offset=2), "random_state": random}
    lda, X = row.estimator(kind, **given), row.data(120)[:40]
    before, shown = lda.get_params(), repr(lda)
    drawn_from = before.pop("random_state")
    content = pickle.dumps(before)
    lda.fit(X).partial_fit(X).transform(X)
    after = lda.get_params()
    assert after.pop("random_state") is drawn_from
    assert all(after[name] is value for name, value in before.items())
    assert pickle.dumps(after) == content
    fitted = vars(lda).keys() - lda.get_params(deep=False).keys()
    caches = {"_warned", "_cache", "_ready", "_loaded", "_result_names"}
    assert all(name.endswith("_") for name in fitted - caches), fitted
    assert repr(lda) == shown
    assert lda._repr_html_()


def test_policies_in_use_are_fitted_attributes(documents):
    rate = RobbinsMonro(offset=1)
    lda = AnnealedLDA(3, learning_rate=rate, max_iter=4, batch_size=40)
    lda.set_params(schedule__start=5).fit(documents)
    assert repr(lda.schedule_) == repr(ExponentialSchedule(start=5, length=6))
    assert repr(lda.tempering_) == repr(Annealing(lda.schedule_))
    assert repr(lda.learning_rate_) == repr(rate)
    assert lda.batch_size_ == 40
    plain = TemperedLDA(3, tempering=None, learning_rate=0.5).fit(documents)
    assert repr(plain.learning_rate_) == repr(ConstantRate(0.5))
    assert 0 < plain.batch_size_ <= 24  # "auto": at most a fifth of the rows
    whole = TemperedLDA(3, tempering=None, batch_size=None).fit(documents)
    assert repr(whole.learning_rate_) == repr(ConstantRate(1.0))
    assert whole.batch_size_ == 120
    whole = TemperedLDA(
        3, tempering=None, batch_size=None, max_iter=20, learning_rate=rate
    )
    assert repr(whole.fit(documents).learning_rate_) == repr(rate)


def test_nested_parameters_reach_the_defaults():
    lda = AnnealedLDA().set_params(
        schedule__start=5, schedule__unit="passes", learning_rate__offset=3
    )
    assert repr(lda.schedule) == repr(ExponentialSchedule(start=5, unit="passes"))
    assert repr(lda.learning_rate) == repr(RobbinsMonro(offset=3))
    assert lda.get_params()["schedule__start"] == 5
    assert AnnealedLDA().schedule is None  # instances share nothing
    lda = AnnealedLDA(schedule=StepSchedule())
    assert lda.set_params(schedule__schedule__start=7).schedule.schedule.start == 7
    lda = TemperedLDA(tempering=None, learning_rate=0.3).set_params(
        learning_rate__rate=0.2
    )
    assert repr(lda.learning_rate) == repr(ConstantRate(0.2))
    lda = TemperedLDA(tempering=Annealing())
    assert lda.set_params(tempering__schedule__start=9).tempering.schedule.start == 9
    lda = TemperedLDA(tempering=None)
    lda.set_params(tempering=Annealing(), tempering__target="posterior")
    assert lda.tempering.target == "posterior"


@pytest.mark.parametrize(
    ("slot", "nested", "example"),
    [
        ("tempering", "schedule__start", "sktemper.tempering.Annealing()"),
        ("gradient_noise", "distribution", "sktemper.noise.SVIPlusNoise()"),
    ],
)
def test_policies_that_are_none_have_no_parameters(slot, nested, example):
    lda = TemperedLDA(tempering=None)
    with pytest.raises(ValueError, match=re.escape(f"{slot}={example}")):
        lda.set_params(**{f"{slot}__{nested}": 3})
    assert getattr(lda, slot) is None


@pytest.mark.parametrize("shortcut", ["global", "local"])
def test_errors_of_nested_parameters_name_a_policy_that_has_them(shortcut):
    lda = TemperedLDA(tempering=shortcut)
    policy = {"global": GlobalTempering(), "local": LocalTempering()}[shortcut]
    message = rf"{re.escape(repr(policy))}, which has no parameter 'schedule'\."
    with pytest.raises(ValueError, match=message + r".*tempering=.*Annealing\(\)"):
        lda.set_params(tempering__schedule__start=2.0)
    assert lda.tempering == shortcut
    lda.set_params(tempering=Annealing(), tempering__schedule__start=2.0)
    assert lda.tempering.schedule.start == 2


def test_unknown_nested_parameters_are_refused():
    with pytest.raises(ValueError, match="Invalid parameter 'offsett'"):
        AnnealedLDA().set_params(learning_rate__offsett=3)

"""Fits have the same bits if interrupted, pickled, continued or run on more threads."""

import contextlib
import pickle
import threading
import time

import joblib
import numpy as np
import pytest
from fits import (
    SCHEDULE,
    Broken,
    PressingAt,
    Snapshots,
    StopAt,
    StopAtMove,
    assert_same_fit,
    ctrl_c_after,
    data_of,
    lda_of,
    mixture_of,
)
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sktemper import (
    TemperedFactorialMixture,
    TemperedGaussianMixture,
    TemperedLDA,
    TemperedMatrixFactorization,
)
from sktemper._engine import _fit
from sktemper.learning_rates import RobbinsMonro
from sktemper.moves import BirthMoves
from sktemper.noise import GradientNoise

RATE = RobbinsMonro()  # the default
#: Parameters of a fit that stops early.
STOPPING = {"tempering": None, "learning_rate": 0.3, "max_iter": 20}
STOPPING |= {"n_iter_no_change": 1, "tol": 10.0}


def assert_usable(lda, X):
    """Assert that all parts of the state belong to the last completed step."""
    history = lda.history_
    assert history["step"].tolist() == list(range(1, lda.n_batch_iter_ + 1))
    assert history["temperature"][-1] == lda.temperature_
    assert np.isfinite(lda.components_).all()
    transformed = lda.transform(X)
    assert np.isfinite(transformed).all()
    if not hasattr(lda, "predict_pairs"):  # the results are shares or probabilities
        assert ((transformed >= 0) & (transformed <= 1)).all()
    assert np.isfinite(lda.score(X))


# -- warm start ------------------------------------------------------------------------


def test_warm_start_continues_a_finished_plan_and_does_not_reheat(documents):
    lda = lda_of(warm_start=True).fit(documents)
    assert [lda.n_iter_, lda.fit(documents).n_iter_] == [5, 5]  # as in scikit-learn
    assert lda.state_.choices.lengths.n_rows == documents.shape[0]  # which count once
    assert lda.set_params(max_iter=2).fit(documents).n_iter_ == 2
    assert lda.n_batch_iter_ == 12 * 4
    temperatures = [SCHEDULE(t) for t in range(48)]
    np.testing.assert_array_equal(lda.history_["temperature"], temperatures)
    rates = [RATE(t) for t in range(1, 49)]
    np.testing.assert_array_equal(lda.history_["learning_rate"], rates)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("changed", "n_steps"),
    [
        ({}, 1),  # three of four batches of 30 were visited
        ({"batch_size": 120}, 1),
        ({"batch_size": 100}, 1),
        ({"batch_size": 50}, 1),  # the 120 rows make three batches of 40
        ({"batch_size": 20}, 2),
        ({"batch_size": 7}, 5),  # 12 batches of 7 and 6 of 6; 13 of them have 90 rows
        ({"batch_size": None, "learning_rate": 0.5}, 1),
        ({"n_iter_no_change": 9}, 4),  # the training rows changed: all batches
        ({"evaluate_every": 1, "validation_fraction": 0.6, "batch_size": 50}, 1),
    ],
)
def test_an_interrupted_pass_continues_whatever_batches_are_now(
    documents, changed, n_steps
):
    lda = lda_of(schedule=PressingAt(3), warm_start=True, max_iter=2)
    with pytest.raises(KeyboardInterrupt):
        lda.fit(documents)
    assert (lda.n_iter_, lda.state_.progress.batches_into_pass) == (0, 3)
    lda.set_params(schedule=SCHEDULE, **changed).set_callbacks(StopAt(1))
    lda.fit(documents)
    assert (lda.n_iter_, lda.n_batch_iter_) == (1, 3 + n_steps)
    lda.set_callbacks().fit(documents)
    assert lda.n_iter_ == 2


def test_warm_start_with_other_rows(documents):
    lda = lda_of(warm_start=True, learning_rate=0.5).fit(documents[:60])
    lda.fit(documents)
    assert lda.n_iter_ == 5
    assert lda.n_samples_seen_ == 5 * 60 + 5 * 120
    lda.partial_fit(documents[:30])
    assert lda.history_["passes"][-1] == lda.n_samples_seen_ / 150


# -- Ctrl-C ----------------------------------------------------------------------------


@pytest.mark.every(9)
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("method", ["fit", "partial_fit", "transform", "score"])
def test_ctrl_c_within_a_long_kernel(n_jobs, method):
    """A local step on one sample would take an hour without the interruption."""
    X = np.random.default_rng(0).poisson(3, (1, 20_000)).astype(float)
    fitted = lda_of(batch_size=1, warm_start=True, max_iter=20, mean_change_tol=0.0)
    fitted.set_params(n_jobs=n_jobs, max_doc_update_iter=1).fit(X)
    before, threads = fitted.components_, set(threading.enumerate())
    fitted.set_params(max_doc_update_iter=10**9)
    begin = time.perf_counter()
    with pytest.raises(KeyboardInterrupt), ctrl_c_after(0.15):
        getattr(fitted, method)(X)
    assert time.perf_counter() - begin < 2
    np.testing.assert_array_equal(fitted.components_, before)
    assert set(threading.enumerate()) <= threads
    assert_usable(fitted.set_params(max_doc_update_iter=1), X)


# -- errors ----------------------------------------------------------------------------


class BreakingRate(RobbinsMonro):
    """A rate that depends on the data, so that no plan can check it."""

    def next_rate(self, state, clock, gradient):
        gradient()
        if clock.steps == 6:
            raise Broken
        return super().next_rate(state, clock, gradient)


class NegativeRate(RobbinsMonro):
    def next_rate(self, state, clock, gradient):
        gradient()
        return (-1.0 if clock.steps == 6 else self(clock.steps + 1)), state


@pytest.mark.parametrize("where", ["rate", "callback", "negative rate"])
def test_an_error_in_a_first_fit_keeps_the_last_complete_step(documents, where):
    lda, steps, error = lda_of(warm_start=True), 6, Broken
    if where == "rate":
        lda.set_params(learning_rate=BreakingRate())
    elif where == "callback":
        lda.set_callbacks(StopAt(2, Broken))
        steps = 8
    else:
        lda.set_params(learning_rate=NegativeRate())
        error = ValueError
    with pytest.raises(error):
        lda.fit(documents)
    assert lda.n_batch_iter_ == steps
    assert_usable(lda, documents)
    lda.set_callbacks().set_params(learning_rate=None).fit(documents)
    assert_same_fit(lda, lda_of().fit(documents))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("rate", [BreakingRate(), NegativeRate()])
@pytest.mark.parametrize("loaded", [False, True])
def test_an_error_in_a_later_step_leaves_an_earlier_fit_as_it_was(
    documents, rate, loaded
):
    lda = lda_of(max_iter=1).fit(documents)
    if loaded:
        lda = pickle.loads(pickle.dumps(lda))
    before, again = vars(lda) | {}, pickle.loads(pickle.dumps(lda))
    with pytest.raises((Broken, ValueError)):
        lda.set_params(learning_rate=rate, max_iter=3).fit(documents[:, ::-1])
    of_fit = {name for name in vars(again) if name.endswith("_")}
    for name in before.keys() & {"state_", "_loaded", *of_fit}:
        assert vars(lda)[name] is before[name]
    lda.set_params(learning_rate=None, max_iter=1)
    assert_same_fit(lda, again)
    assert_same_fit(lda.partial_fit(documents), again.partial_fit(documents))
    # Ctrl-C keeps the new fit
    with pytest.raises(KeyboardInterrupt):
        lda.set_params(schedule=PressingAt(2)).fit(documents)
    assert lda.n_batch_iter_ == 2


def readable_attributes(estimator):
    """Read every public attribute of a fitted estimator."""
    for name in dir(estimator):
        if name.endswith("_") and not name.startswith("_"):
            with contextlib.suppress(NotFittedError):  # after an interrupted fit
                getattr(estimator, name)


class HugeWeights(GradientNoise):
    """Weights that overflow in the third step; with ``breaking``, an error instead."""

    def __init__(self, breaking=False):
        self.breaking = breaking

    def unit_noise(self, n_units, clock, random):
        if clock.steps != 2:
            return None
        if self.breaking:
            raise Broken
        return np.full(n_units, 1e308)

    def guarded(self, rate, largest_rate):
        return rate


@pytest.mark.every(3)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    "estimator",
    [
        TemperedLDA(3, tempering=None),
        TemperedFactorialMixture(3, tempering=None, moves=None),
        TemperedMatrixFactorization(3, tempering=None),
        TemperedGaussianMixture(3, tempering=None, moves=None),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_steps_with_infinite_results_are_never_committed(estimator, method):
    """A fit continues after such a step as after any other error."""
    X = data_of(estimator)
    fitted = clone(estimator).set_params(
        gradient_noise=HugeWeights(),
        learning_rate=0.3,
        batch_size=30,
        max_iter=2,
        total_samples=120,
        warm_start=True,
        random_state=0,
    )
    other = clone(fitted).set_params(gradient_noise__breaking=True)
    with pytest.raises(Broken):
        getattr(other, method)(X)
    with pytest.raises(ValueError, match="not be finite|ill-defined"):
        getattr(fitted, method)(X)
    assert fitted.n_batch_iter_ == 2
    readable_attributes(fitted)
    for method_of_use in ("transform", "score_samples"):
        assert np.isfinite(getattr(fitted, method_of_use)(X)).all()
    digests = {
        joblib.hash((estimator.state_.globals_, estimator.state_.hyper))
        for estimator in (fitted, other)
    }
    assert len(digests) == 1
    for estimator in (fitted, other):
        estimator.set_params(gradient_noise=None)
        getattr(estimator, method)(X[60:] if method == "partial_fit" else X)
        digests.add(joblib.hash((estimator.state_.globals_, estimator.state_.hyper)))
    assert len(digests) == 2
    assert fitted.n_batch_iter_ == (4 if method == "partial_fit" else 8)


# -- warnings --------------------------------------------------------------------------


class BrokenRate(RobbinsMonro):
    def next_rate(self, state, clock, gradient):
        raise Broken


def interrupted(*arguments):
    raise KeyboardInterrupt


def test_a_fit_that_fails_to_continue_adds_no_score(documents, monkeypatch):
    lda = lda_of(evaluate_every=1, warm_start=True)
    monkeypatch.setattr(_fit, "heldout_score", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lda.fit(documents)
    monkeypatch.undo()
    before = lda.history_
    with pytest.raises(Broken):  # after the pass is scored
        lda.set_params(learning_rate=BrokenRate()).fit(documents)
    np.testing.assert_equal(lda.history_, before)


def test_the_best_state_contains_only_the_model(documents):
    lda = lda_of(TemperedLDA, warm_start=True, **STOPPING).fit(documents)
    assert lda.n_iter_ < 20
    assert lda.state_.best is None
    lda.set_params(max_iter=2, n_iter_no_change=None).fit(documents)
    assert lda.n_iter_ == 2  # the planned passes were complete


def test_a_fit_that_was_cut_off_at_its_early_stop_ends_there(documents, monkeypatch):
    lda = lda_of(TemperedLDA, **STOPPING)
    stopped = clone(lda).fit(documents)
    after = Snapshots(stopped.n_iter_)  # after the check that ends the fit
    clone(lda).set_callbacks(after).fit(documents)
    before, scores = clone(lda).set_params(warm_start=True), []
    score = _fit.heldout_score

    def cut_off(*arguments):
        if len(scores) == stopped.n_iter_ - 1:
            raise KeyboardInterrupt
        scores.append(score(*arguments))
        return scores[-1]

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(_fit, "heldout_score", cut_off)
        before.fit(documents)
    for resumed in (before, *map(pickle.loads, after.dumps)):
        resumed.set_callbacks().set_params(warm_start=True).fit(documents)
        assert_same_fit(resumed, stopped)


def test_a_fit_that_continues_with_moves_compared_scores_before():
    """There is no warning that early stopping had no scores to compare."""
    new = mixture_of(n_iter_no_change=50, max_iter=6, moves=BirthMoves(n_moves=3))
    X = data_of(new)
    whole = clone(new).fit(X)
    new.set_params(warm_start=True).set_callbacks(StopAtMove(1, KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        new.fit(X)
    assert_same_fit(new.set_callbacks().fit(X), whole)

"""Moves: kept if the bound rises, recorded in the history, resumed, and useful."""

import copy
import dataclasses
import pickle
import threading

import numpy as np
import pytest
from fits import (
    Broken,
    Hooks,
    Recorder,
    StopAt,
    StopAtMove,
    assert_same_fit,
    documents_of,
    lda_of,
    mixture_of,
    overlapping_shapes,
)
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import InvalidParameterError

from sktemper import (
    AnnealedFactorialMixture,
    AnnealedGaussianMixture,
    AnnealedLDA,
    SVIPlusLDA,
    TemperedFactorialMixture,
    TemperedLDA,
)
from sktemper._engine import _workers
from sktemper._engine._fit import _Fit
from sktemper._engine._moves import _Trials
from sktemper.learning_rates import RobbinsMonro
from sktemper.moves import BirthMoves, MoveSequence, Proposal, ReheatMoves, as_moves
from sktemper.noise import SVIPlusNoise
from sktemper.schedules import Clock, ConstantSchedule

TOY, *_ = overlapping_shapes(300)


def moving(cls=AnnealedFactorialMixture, n_components=8, **parameters):
    defaults = dict(max_iter=15, tol=0.0, moves=BirthMoves(n_moves=8), random_state=0)
    return cls(n_components, **{**defaults, **parameters})


@pytest.fixture(scope="module")
def whole():
    return moving().fit(TOY)


class Snapshots(Hooks):
    """Callback that pickles the estimator and its copy after the third move."""

    def __init__(self):
        self.dumps, self.bounds = [], []

    def at_move(self, estimator, fitted_estimator):
        self.bounds.append(fitted_estimator.lower_bound(TOY))
        if len(self.bounds) == 3:
            self.dumps = [pickle.dumps(estimator), pickle.dumps(fitted_estimator)]


# -- the history -----------------------------------------------------------------------


@pytest.mark.every(11)
@pytest.mark.parametrize(
    "mixture",
    [
        moving(),
        moving(posterior="factorized"),
        moving(batch_size=50),
        moving(moves=BirthMoves(8, max_samples=100)),
        moving(moves=BirthMoves(8, n_iter=6, start=10.0)),
        moving(noise_variance=0.01, inclusion_probability=0.3),
        moving(TemperedFactorialMixture),
        moving(
            TemperedFactorialMixture,
            tempering=None,
            gradient_noise=SVIPlusNoise(),
            learning_rate=RobbinsMonro(2),
        ),
        moving(target="posterior", local_cooling=None),
    ],
    ids=repr,
)
def test_moves_never_lower_the_bound(mixture):
    fitted = clone(mixture).fit(TOY)
    history = fitted.history_
    assert len(history["move_step"]) == 8
    assert (history["move_step"] == fitted.n_batch_iter_).all()
    kept, bounds = history["move_kept"], history["move_bound"]
    assert kept.dtype == bool
    before = clone(mixture).set_params(moves=None).fit(TOY)
    rises = np.diff(bounds, prepend=before.lower_bound(TOY))
    assert (rises[kept] > 0).all()
    # the history has bounds of a kernel, which are those of Python to 1e-9
    np.testing.assert_allclose(rises[~kept], 0, atol=1e-9 * abs(bounds[-1]))
    assert bounds[-1] == pytest.approx(fitted.lower_bound(TOY), rel=1e-9)
    assert kept.any()
    for name in ("step", "temperature", "learning_rate"):
        np.testing.assert_array_equal(history[name], before.history_[name])


def test_without_moves_the_history_has_no_moves():
    for moves in (None, BirthMoves(n_moves=0)):
        fitted = moving(moves=moves).fit(TOY)
        assert not [name for name in fitted.history_ if name.startswith("move")]
    assert fitted.partial_fit(TOY).n_batch_iter_ == 16
    streamed = moving().partial_fit(TOY).partial_fit(TOY)
    assert "move_step" not in streamed.history_


def test_with_missing_values():
    X = TOY.copy()
    X[:40][np.random.default_rng(0).random((40, 16)) < 0.2] = np.nan
    fitted = moving(moves=BirthMoves(4)).fit(X)
    history = fitted.history_
    assert (np.diff(history["move_bound"]) >= 0).all()
    assert history["move_bound"][-1] == fitted.lower_bound(X)


def test_the_bound_is_weighted_as_the_samples_are(whole):
    weight = np.random.default_rng(0).integers(0, 4, len(TOY))
    fitted = moving().fit(TOY, sample_weight=weight)
    bound = fitted.lower_bound(np.repeat(TOY, weight, axis=0))
    assert fitted.history_["move_bound"][-1] == pytest.approx(bound, rel=1e-9)
    assert fitted.history_["move_kept"].any()
    ones = moving().fit(TOY, sample_weight=np.ones(len(TOY)))
    np.testing.assert_allclose(ones.components_, whole.components_, rtol=1e-6)


def test_total_samples_scale_the_bound():
    fitted = moving(total_samples=3 * len(TOY)).fit(TOY)
    bound = fitted.lower_bound(np.tile(TOY, (3, 1)))
    assert fitted.history_["move_bound"][-1] == pytest.approx(bound, rel=1e-9)


def test_without_a_kept_move_the_bound_is_that_of_the_parameters():
    """Proposals are better than a short fit, but not by ``tol``."""
    plain = dict(tempering=None, batch_size=None)
    fitted = moving(TemperedFactorialMixture, max_iter=3, tol=1e9, **plain).fit(TOY)
    assert not fitted.history_["move_kept"].any()
    bound = fitted.lower_bound(TOY)
    np.testing.assert_allclose(fitted.history_["move_bound"], bound, rtol=1e-9)


# -- number of moves -------------------------------------------------------------------


class Chosen(BirthMoves):
    """Proposals of which only those with the indices in ``good`` raise the bound."""

    def __init__(self, n_moves=100, patience=15, n_iter=1, good=(), calls=None):
        super().__init__(n_moves, patience, n_iter)
        self.good, self.calls = good, calls

    def propose(self, model, globals_, hyper, block, random, refused, weights):
        number = len(self.calls)
        self.calls.append(random.integers(2**31))
        if number not in self.good:
            far = 1e3 + 0 * globals_.weighted_means
            return Proposal(dataclasses.replace(globals_, weighted_means=far), hyper)
        return super().propose(model, globals_, hyper, block, random, refused, weights)


def test_patience():
    fitted = moving(moves=Chosen(patience=4, calls=(calls := []))).fit(TOY)
    before = moving(moves=None).fit(TOY)
    assert len(calls) == len(set(calls)) == 4
    assert not fitted.history_["move_kept"].any()
    np.testing.assert_array_equal(fitted.components_, before.components_)


def test_a_kept_move_restores_patience():
    fitted = moving(moves=BirthMoves(n_moves=60, patience=5)).fit(TOY)
    kept = fitted.history_["move_kept"]
    assert len(kept) < 60
    assert not kept[-5:].any() and kept[-6]
    runs = "".join("x" if one else "." for one in kept[:-5]).split("x")
    assert max(map(len, runs)) < 5


def test_moves_before_an_accepted_one_follow_again_up_to_their_number():
    first, good = Chosen(3, patience=2, calls=(calls := [])), Chosen(2, 1, 5, (0,), [])
    history = moving(moves=MoveSequence([first, good])).fit(TOY).history_
    assert history["move_kept"].tolist() == [False, False, True, False, False]
    assert len(calls) == 3


# -- proposals that are given up early -------------------------------------------------


class Asked(BirthMoves):
    """Births with a fixed answer of `is_hopeless`, which records its arguments."""

    def __init__(self, n_moves=6, n_iter=5, max_samples=2000, answer=None, asked=None):
        super().__init__(n_moves, n_iter=n_iter, max_samples=max_samples)
        self.answer, self.asked = answer, asked

    def is_hopeless(self, deficit, gain, n_left):
        self.asked.append((deficit, gain, n_left))
        if self.answer is None:
            return super().is_hopeless(deficit, gain, n_left)
        return self.answer


def test_a_proposal_takes_its_steps_unless_it_is_given_up():
    fits = {}
    for answer in (False, True, None):
        moves = Asked(8, answer=answer, asked=(asked := []))
        fits[answer] = moving(moves=moves).fit(TOY).history_["move_kept"], asked
    kept, asked = fits[False]
    assert [n_left for *_, n_left in asked] == [3, 2, 1] * 8
    assert kept.any()
    kept, asked = fits[True]
    assert [n_left for *_, n_left in asked] == [3] * 8
    assert not kept.any()
    kept, asked = fits[None]
    assert kept.any()
    assert 8 < len(asked) < 24


@pytest.mark.parametrize(
    "policy, deficit, gain, n_left, is_hopeless",
    [
        (BirthMoves(), 10.0, 1.0, 9, True),
        (BirthMoves(), 10.0, 1.0, 11, False),
        (BirthMoves(), 0.1, 0.01, 9, True),
        (BirthMoves(), -0.1, 0.01, 9, True),
        (BirthMoves(), -0.1, 0.5, 9, False),
        (BirthMoves(), -2.0, 0.01, 9, False),
        (BirthMoves(), 0.1, 0.01, 1, False),
        (BirthMoves(), 10.0, 2.0, 4, True),
        (BirthMoves(), 7.0, 2.0, 4, False),
        (BirthMoves(), -1.0, 0.0, 4, False),
        (BirthMoves(), 1.0, -5.0, 4, True),
        (BirthMoves(), 1e9, 0.0, 1, False),
    ],
)
def test_proposals_without_hope(policy, deficit, gain, n_left, is_hopeless):
    """Hopeless proposals cannot reach the present bound, or are at the old optimum."""
    assert policy.is_hopeless(deficit, gain, n_left) is is_hopeless


def test_deficits_and_gains_are_those_of_the_bound():
    X = TOY[:, :3]
    # the order of the components has no effect
    symmetric = {"weight_concentration_prior_type": "dirichlet_distribution"}
    mixture = AnnealedGaussianMixture(5, tol=1e-9, random_state=0, **symmetric)
    before = mixture.set_params(moves=None).fit(X).lower_bound(X)
    moves = Asked(n_moves=4, n_iter=60, answer=False, asked=(asked := []))
    fitted = mixture.set_params(moves=moves).fit(X)
    first = fitted.history_["move_kept"].argmax()
    deficits, gains, _ = np.array(asked).reshape(-1, 58, 3)[first].T
    np.testing.assert_allclose(np.diff(deficits), -gains[1:], atol=1e-7)
    assert (gains > -1e-7).all()
    reached = fitted.history_["move_bound"][first]
    assert reached > before
    assert before - deficits[-1] == pytest.approx(reached, abs=1e-3)


def test_on_some_samples_only_much_worse_proposals_are_given_up():
    moves = Asked(8, max_samples=100, answer=True, asked=(asked := []))
    fitted = moving(moves=moves).fit(TOY)
    assert fitted.history_["move_kept"].any()
    clearly = [deficit for deficit, _, n_left in asked if n_left == 3]
    assert len(clearly) == 8
    assert len(asked) < 3 * 8


class Unchanged(Asked):
    """Proposals of no change, for rows whose last value is their weight."""

    def propose(self, model, globals_, hyper, block, random, refused, weights):
        np.testing.assert_array_equal(weights, block[:, -1])
        return Proposal(globals_, hyper)


def test_no_change_has_no_deficit_on_some_weighted_samples():
    random = np.random.default_rng(0)
    weight = random.uniform(0.5, 3.0, size=300)
    X = np.column_stack([TOY[:, :2], weight])
    moves = Unchanged(2, n_iter=20, max_samples=100, answer=False, asked=(asked := []))
    mixture = AnnealedGaussianMixture(
        2, moves=moves, total_samples=900, batch_size=None, max_iter=60, random_state=0
    )
    mixture.fit(X, sample_weight=weight)
    deficits, gains, _ = np.array(asked).reshape(2, -1, 3)[:, -1].T
    assert len(deficits) == 2
    np.testing.assert_allclose(deficits, 0.0, atol=0.1)


@pytest.mark.parametrize("rise, is_worse", [(-20, True), (-5, False), (5, False)])
def test_a_gain_on_some_samples_has_a_standard_error(rise, is_worse):
    """The sum of 100 rises of standard deviation 1 has the standard error 10."""
    trials = object.__new__(_Trials)
    trials._bounds = lambda bounds, rows: bounds
    trial, present = (np.tile([-1.0, 1.0], 50), float(rise)), (np.zeros(100), 0.0)
    assert trials._is_worse(trial, present, np.arange(100)) == is_worse


# -- random numbers and threads --------------------------------------------------------


def test_the_seed_decides(whole):
    assert_same_fit(moving(n_jobs=2).fit(TOY), whole)
    other = moving(random_state=1).fit(TOY)
    assert not np.array_equal(whole.components_, other.components_)


class NamedBirths(BirthMoves):
    """Births whose keys depend on the refused ones: one is tried after another."""

    def propose(self, model, globals_, hyper, block, random, refused, row_weight=None):
        proposal = super().propose(
            model, globals_, hyper, block, random, refused, row_weight
        )
        return proposal._replace(key=sum(map(int, refused)) + len(refused))


@pytest.mark.parametrize("max_samples", [100, 2000])
@pytest.mark.parametrize("births", [BirthMoves, NamedBirths])
def test_threads_try_births_at_the_same_time(monkeypatch, births, max_samples):
    monkeypatch.setattr(_workers, "TERMS_ALONE", 0.0)
    moves, threads = births(12, patience=5, max_samples=max_samples), []
    tried = _Trials._tried

    def note(trials, policy, state, progress, best):
        threads.append(threading.get_ident())
        return tried(trials, policy, state, progress, best)

    whole = moving(moves=moves).fit(TOY)
    assert 0 < sum(whole.history_["move_kept"]) < 12
    monkeypatch.setattr(_Trials, "_tried", note)
    for n_jobs in (2, 3):
        assert_same_fit(moving(moves=moves, n_jobs=n_jobs).fit(TOY), whole)
    assert threading.get_ident() not in threads
    assert (len(set(threads)) > 1) == (births is BirthMoves)


def test_an_error_of_a_trial_ends_the_fit(monkeypatch):
    monkeypatch.setattr(_workers, "TERMS_ALONE", 0.0)

    def broken(*_):
        raise Broken

    monkeypatch.setattr(_Trials, "_screened", broken)
    mixture = moving(n_jobs=2)
    with pytest.raises(Broken):
        mixture.fit(TOY)
    assert mixture.state_.moves.n_proposed == 0 and np.isfinite(mixture.score(TOY))


# -- callbacks -------------------------------------------------------------------------


def test_callbacks_are_called_for_moves():
    recorder = Recorder()
    moving(
        max_iter=3, moves=BirthMoves(2), schedule=ConstantSchedule(1.0)
    ).set_callbacks(recorder).fit(TOY)
    tasks = [("pass", 0), ("pass", 1), ("pass", 2), ("move", 3), ("move", 4)]
    inner = [(hook, *task) for task in tasks for hook in ("begin", "end")]
    _, *events, _ = recorder.events
    assert events == [("begin", "fit", 0), *inner, ("end", "fit", 0)]
    assert recorder.max_subtasks == 5


def test_a_callback_that_stops_the_passes_stops_the_moves(whole):
    fitted = moving().set_callbacks(StopAt(15)).fit(TOY)
    assert "move_kept" not in fitted.history_
    fitted.set_callbacks().set_params(warm_start=True).fit(TOY)
    assert_same_fit(fitted, whole)


# -- continued fits --------------------------------------------------------------------


@pytest.mark.every(13)
@pytest.mark.parametrize("n_moves", [1, 7])
@pytest.mark.parametrize("error", [None, KeyboardInterrupt, Broken])
@pytest.mark.parametrize("pickled", [False, True])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupted_moves_continue_with_the_same_bits(
    whole, n_moves, error, pickled, n_jobs, monkeypatch
):
    monkeypatch.setattr(_workers, "TERMS_ALONE", 0.0)
    stop = StopAtMove(n_moves, error)
    mixture = moving(warm_start=True, n_jobs=n_jobs).set_callbacks(stop)
    if error is None:
        mixture.fit(TOY)
    else:
        with pytest.raises(error):
            mixture.fit(TOY)
    assert len(mixture.history_["move_kept"]) == n_moves
    bound = mixture.history_["move_bound"][-1]  # of a kernel
    assert mixture.lower_bound(TOY) == pytest.approx(bound, rel=1e-9)
    if pickled:
        mixture = pickle.loads(pickle.dumps(mixture))
    assert_same_fit(mixture.set_callbacks().fit(TOY), whole)


class Interrupted(BirthMoves):
    """Moves whose fourth proposal is interrupted."""

    def __init__(self, n_moves):
        super().__init__(n_moves)
        self.calls = []

    def propose(self, *arguments):
        self.calls.append(0)
        if len(self.calls) == 4:
            raise KeyboardInterrupt
        return super().propose(*arguments)


def test_an_interrupted_proposal_leaves_the_last_move(whole):
    moves = Interrupted(n_moves=8)
    mixture = moving(warm_start=True, moves=moves)
    with pytest.raises(KeyboardInterrupt):
        mixture.fit(TOY)
    assert len(mixture.history_["move_kept"]) == 3
    mixture.set_params(moves=BirthMoves(n_moves=8))
    assert_same_fit(mixture.fit(TOY), whole)


def test_moves_from_a_plain_fit_do_not_continue_those_of_an_earlier_policy(monkeypatch):
    phases = BirthMoves(1), Interrupted(8)
    mixture = moving(warm_start=True, moves=MoveSequence(phases))
    with pytest.raises(KeyboardInterrupt):
        mixture.fit(TOY)
    compared = _Fit._plain_fits
    monkeypatch.setattr(_Fit, "_plain_fits", lambda *a: (*compared(*a)[:2], np.inf, 0))
    n_before = mixture.state_.moves.n_proposed
    mixture.set_params(moves=MoveSequence([BirthMoves(1)] * 3)).fit(TOY)
    assert mixture.plain_is_better_
    assert mixture.state_.moves.n_proposed == n_before + 3


def test_a_pickle_from_within_the_moves_continues_with_the_same_bits(whole):
    snapshots = Snapshots()
    fitted = moving().set_callbacks(snapshots).fit(TOY)
    bounds = fitted.history_["move_bound"]  # of a kernel
    np.testing.assert_allclose(snapshots.bounds, bounds, rtol=1e-9)
    for dump in snapshots.dumps:
        resumed = pickle.loads(dump).set_callbacks().set_params(warm_start=True)
        assert len(resumed.history_["move_kept"]) == 3
        assert_same_fit(resumed.fit(TOY), whole)


def test_a_finished_plan_gets_more_passes_and_moves():
    mixture = moving(warm_start=True, moves=BirthMoves(3)).fit(TOY)
    mixture.fit(TOY)
    assert mixture.n_iter_ == 15
    assert mixture.history_["move_step"].tolist() == [15] * 3 + [30] * 3


def test_a_fit_that_ended_hot_moves_once_it_is_cold():
    mixture = moving(schedule=ConstantSchedule(1.5), warm_start=True)
    with pytest.warns(ConvergenceWarning, match="temperature 1.5"):
        mixture.fit(TOY)
    assert "move_kept" not in mixture.history_
    mixture.set_params(schedule=ConstantSchedule(1.0)).fit(TOY)
    assert mixture.n_iter_ == 15
    assert len(mixture.history_["move_kept"]) == 8


def test_moves_switched_off_are_off():
    mixture = moving(warm_start=True).set_callbacks(StopAtMove(2)).fit(TOY)
    mixture.set_callbacks().set_params(moves=None)
    before = copy.deepcopy(mixture)
    assert mixture.fit(TOY).n_iter_ == 15
    assert len(mixture.history_["move_kept"]) == 2
    before.set_params(moves=BirthMoves(4)).fit(TOY)  # adds four moves
    assert before.n_iter_ == 15
    assert len(before.history_["move_kept"]) == 2 + 4


def test_moves_follow_early_stopping():
    mixture = moving(n_iter_no_change=2, tol=1e3, max_iter=30, learning_rate=0.8)
    fitted = mixture.set_params(schedule=ConstantSchedule(1.0)).fit(TOY)
    assert fitted.n_iter_ == 3
    assert len(fitted.history_["move_kept"]) == 8
    assert np.isfinite(fitted.history_["move_bound"]).all()


def test_each_start_has_its_moves():
    recorder = Recorder()
    several = moving(n_init=2, moves=BirthMoves(3)).set_callbacks(recorder).fit(TOY)
    assert recorder.max_subtasks == 2 * (15 + 3)
    moves = [event for event in recorder.events if event[:2] == ("end", "move")]
    assert len(moves) == 6
    random = np.random.RandomState(0)
    fits = [moving(moves=BirthMoves(3), random_state=random).fit(TOY) for _ in range(2)]
    bounds = [fit.lower_bound(TOY) for fit in fits]
    assert several.lower_bound(TOY) == max(bounds)


# -- the policy ------------------------------------------------------------------------


def test_any_model_may_be_reheated():
    before = moving(moves=None).fit(TOY)
    fitted = moving(moves=ReheatMoves(n_moves=9, start=9.0)).fit(TOY)
    bounds, kept = fitted.history_["move_bound"], fitted.history_["move_kept"]
    assert (np.diff(bounds, prepend=before.lower_bound(TOY)) >= 0).all()
    assert kept[:-1].all()  # the first failure ends the moves
    assert len(kept) == 9 or not kept[-1]


def test_values_of_the_parameter_moves():
    assert repr(as_moves(None)) == "NoMoves()"
    assert repr(as_moves("birth")) == repr(BirthMoves())
    mine = BirthMoves(3)
    assert as_moves(mine) is mine
    with pytest.raises(InvalidParameterError, match="'moves' parameter must be"):
        as_moves(RobbinsMonro())


@pytest.mark.parametrize(
    "moves",
    [
        BirthMoves(n_iter=6),
        BirthMoves(n_iter=6, start=8.0),
        ReheatMoves(n_iter=6, start=8.0),
    ],
    ids=repr,
)
def test_a_proposal_is_annealed_and_ends_cold(moves):
    start = moves.start
    temperatures = [
        moves.tempering(6).temperature(None, Clock(steps=t))
        for t in range(moves.n_steps(None))
    ]
    expected = start ** np.maximum(1 - np.arange(6) / 4, 0)
    np.testing.assert_allclose(temperatures, expected)


@pytest.mark.parametrize("cls", [AnnealedLDA, TemperedLDA, SVIPlusLDA])
def test_a_model_that_makes_no_moves_has_no_parameter_for_them(cls):
    assert "moves" not in cls().get_params()
    assert "move_kept" not in lda_of(cls).fit(documents_of()).history_
    with pytest.raises(ValueError, match="Invalid parameter 'moves'"):
        cls().set_params(moves="birth")
    assert mixture_of().moves is None


def test_the_start_of_moves_acts():
    cold, hot = (
        moving(moves=BirthMoves(6, start=start)).fit(TOY).history_["move_bound"]
        for start in (1.0, 50.0)
    )
    assert not np.array_equal(cold, hot)


def test_rows_without_weight_do_not_affect_moves():
    odd = np.random.default_rng(0).normal(0, 3, (3 * len(TOY), 16))
    X, weight = np.vstack([TOY, odd]), np.repeat([1.0, 0.0], [len(TOY), len(odd)])
    known = dict(noise_variance=0.01, inclusion_probability=0.3)
    weighted = moving(**known).fit(X, sample_weight=weight)
    assert weighted.history_["move_kept"].any()
    alone = moving(**known).fit(TOY)
    assert weighted.score(TOY) > alone.score(TOY) - 3


def test_moves_that_a_model_does_not_make_are_refused_at_once():
    for moves in ("split_merge", "all"):
        mixture = moving(moves=moves)
        with pytest.raises(
            ValueError, match="SplitMergeMoves.* needs a model with splits"
        ):
            mixture.fit(TOY)
        assert not hasattr(mixture, "n_features_in_")

"""Runs of a fit, one from each start: passes, moves, early stopping and callbacks."""

import copy
import functools
import hashlib
import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .._engine import (
    Best,
    HeldOut,
    Hooks,
    Policies,
    Problem,
    Rows,
    State,
    check_scorable,
    clocks_of_passes,
    generator,
    heldout_score,
    planned_clocks,
    run_moves,
    run_passes,
)
from .._utils._notices import log
from ..learning_rates import ConstantRate, RobbinsMonro, as_learning_rate
from ..renewals import NoRenewals
from ..schedules import STREAM_LENGTH, Plan

# -- plan of a fit: batches, held-out rows, policies and number of passes --------------
#: Value that replaces the digest of a stream's first rows once the stream has repeated.
AGAIN = "again"
#: Number of first rows that are compared to detect that a stream repeats.
ROWS_NOTED = 8
#: In a stream of unknown length, a schedule with ``length="auto"`` lasts for the share
#: SHARE_COOLED of the `stream_rows` of the model, but for at least FEWEST_STEPS and at
#: most MOST_STEPS steps.
SHARE_COOLED, FEWEST_STEPS, MOST_STEPS = 0.4, 5, STREAM_LENGTH
#: Keys of random numbers: for policies, and for held-out rows.
POLICIES, HELD_OUT = 2, 3


@dataclass
class Run:
    """One of the ``n_init`` runs of a fit, each from a different start.

    Attributes
    ----------
    problem : Problem
    state : State
    policies : Policies
    train : Rows
    held_out : HeldOut or None
        Rows that are scored and not used for training.
    compared : bool
        Whether early stopping, if requested, had a score to compare.
    moves_were_skipped : bool
        Whether planned moves were skipped because the temperature was not 1.
    """

    problem: Problem
    state: State
    policies: Policies
    train: Rows
    held_out: HeldOut | None
    compared: bool = True
    moves_were_skipped: bool = False


def plan_fit(estimator, problem, state):
    """Return the `Run` that continues from ``state``."""
    model = problem.model
    train, held_out = _divided(estimator, problem, state.seed)
    batch_size = _batch_size(estimator, problem, len(train))
    state.policies.batch_size = min(batch_size, len(train))
    if state.progress.steps == 0:
        state.policies.plan = _new_plan(estimator, problem, state, len(train))
    everything = estimator.batch_size is None
    default_rate = ConstantRate(1.0) if everything else RobbinsMonro()
    policies = _resolved_policies(estimator, model, state, default_rate)
    _plan_passes(estimator, state, len(problem.data), policies.moves)
    policies.check_plan(state.policies, clocks_of_passes(problem.on(train), state))
    return Run(problem, state, policies, train, held_out)


def _new_plan(estimator, problem, state, n_rows):
    """Return the `Plan` of a fit to ``n_rows`` rows, before its first step."""
    n_batches = math.ceil(n_rows / state.policies.batch_size)
    total = estimator.total_samples or n_rows
    return Plan(
        n_batches * estimator.max_iter,
        n_batches * total / n_rows,
        problem.model.auto_temperature(state.hyper),
        _critical_temperatures(estimator, problem, state.hyper),
    )


def plan_stream(estimator, problem, state, fresh):
    """Return the policies for a chunk of a stream, and the batch size."""
    model, data = problem.model, problem.data
    if fresh or estimator.batch_size != "auto":
        state.policies.batch_size = _batch_size(
            estimator, problem, estimator.total_samples
        )
    if fresh:
        state.policies.plan = _plan_of_stream(estimator, problem, state)
    policies = _resolved_policies(
        estimator, model, state, estimator._forgetting_rate() or RobbinsMonro()
    )
    state.best = None
    if estimator.total_samples is not None:
        state.progress.first_row = _noted(state.progress.first_row, data)
    size = _rows_of_steps(estimator, state, len(data))
    # a single step checks the values itself, and with renewals T is 1
    if len(data) > size and not policies.renewals.is_on:
        clock, n_steps = state.clock(estimator.total_samples), -(-len(data) // size)
        policies.check_plan(state.policies, planned_clocks(clock, n_steps, size))
    return policies, size


def _rows_of_steps(estimator, state, n_rows):
    """Return the largest number of rows of a step on a chunk of ``n_rows`` rows.

    With ``batch_size="auto"``, all batches of a chunk have about this size.
    """
    size = state.policies.batch_size
    if estimator.batch_size != "auto":
        return min(size, n_rows)
    return math.ceil(n_rows / max(1, round(n_rows / size)))


def _noted(first_rows, data):
    """Return the digest of the first rows of a stream, or AGAIN if it repeats.

    The first rows of each chunk are compared, unless they are empty.
    """
    if first_rows == AGAIN:
        return AGAIN
    head = data.parts[0].rows(slice(0, ROWS_NOTED))
    arrays = (head.indices, head.data) if sparse.issparse(head) else (head,)
    if not np.nan_to_num(arrays[-1]).any():
        return first_rows
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).view(np.uint8))
    this = digest.hexdigest()
    return AGAIN if this == first_rows else first_rows or this


def is_finished(state):
    """Return whether no passes are left, and no moves that can be made."""
    progress = state.progress
    moves_wait = any(state.moves.left) and state.policies.temperature == 1.0
    is_checked = progress.checked_passes == progress.passes
    return progress.passes >= progress.planned_passes and is_checked and not moves_wait


def tasks_left(state):
    """Return the number of passes and moves left in the plan."""
    return state.progress.planned_passes - state.progress.passes + sum(state.moves.left)


def _batch_size(estimator, problem, total):
    if estimator.batch_size is None:
        return len(problem.data)
    if estimator.batch_size == "auto":
        X, _ = problem.data.sample(problem.model.max_start_rows)
        return problem.model.auto_batch_size(X, total)
    return estimator.batch_size


def _plan_of_stream(estimator, problem, state):
    temperatures = (
        problem.model.auto_temperature(state.hyper),
        _critical_temperatures(estimator, problem, state.hyper),
    )
    if estimator.total_samples is None:
        n_steps = None
        if problem.model.stream_rows is not None:
            size = _rows_of_steps(estimator, state, len(problem.data))
            length = math.ceil(SHARE_COOLED * problem.model.stream_rows / size)
            n_steps = 2 * min(max(length, FEWEST_STEPS), MOST_STEPS)
        return Plan(n_steps, None, *temperatures)
    per_pass = math.ceil(estimator.total_samples / state.policies.batch_size)
    return Plan(per_pass, per_pass, *temperatures)


def _critical_temperatures(estimator, problem, hyper):
    """Return the critical temperatures, or None if the tempering does not use them."""
    can = "critical_temperatures" in problem.model.capabilities()
    if not (can and estimator._tempering().has_critical_temperatures):
        return None
    return problem.critical_temperatures(hyper)


def _plan_passes(estimator, state, n_rows, moves):
    """Plan `max_iter` passes and all moves, unless an earlier plan is unfinished.

    If an earlier plan has no passes left but some moves, it counts as finished if the
    policy for moves has changed its number of phases, or if the temperature exceeds 1.
    """
    most = tuple(phase.n_moves for phase in moves.phases())
    left = state.moves.left
    left = tuple(map(min, left, most)) if len(left) == len(most) else (0,) * len(most)
    state.moves = state.moves._replace(left=left)
    progress = state.progress
    if is_finished(state):
        progress.planned_passes = progress.passes + estimator.max_iter
        state.moves = state.moves._replace(left=most)
    if n_rows != progress.total_rows:
        progress.total_rows, progress.batches_into_pass = n_rows, 0


def _resolved_policies(estimator, model, state, default_rate):
    """Resolve the policies, and set the states of policies without a valid state."""
    rate = as_learning_rate(estimator.learning_rate, default_rate)
    if rate.forgets:  # a rate for streams only
        rate = default_rate
    policies = Policies(
        estimator._tempering().validate().resolved(state.policies.plan),
        rate.validate(),
        estimator._noise().validate().resolved(state.policies.plan),
        estimator._moves().validate(),
        estimator._renewals().validate() if rate.forgets else NoRenewals(),
    )
    policies.check(model)
    tempering, learning_rate = policies.tempering, policies.learning_rate
    if not tempering.knows(state.policies.tempering):
        random = generator(state.seed, 0, POLICIES)
        state.policies.tempering = tempering.initial_state(model, state.hyper, random)
    if not learning_rate.knows(state.policies.learning_rate):
        state.policies.learning_rate = learning_rate.initial_state()
    return policies


def _divided(estimator, problem, seed):
    """Return the training `Rows`, and the `HeldOut` rows or None."""
    rows = problem.data.all_rows()
    if problem.validation is not None:
        return rows, HeldOut(problem.validation)
    train, chosen = held_out_rows(estimator, rows, seed, problem.sample_weight)
    return train, HeldOut(problem, chosen) if len(chosen) else None


def held_out_rows(estimator, rows, seed, sample_weight):
    """Return the training `Rows`, and an array of the held-out rows, possibly empty.

    Rows of weight 0 are never held out, so that results do not depend on them.
    """
    if estimator.evaluate_every == 0 and estimator.n_iter_no_change is None:
        return rows, np.arange(0)
    counted = rows.counted_runs(sample_weight)
    n_validation = max(1, round(estimator.validation_fraction * len(counted)))
    if n_validation >= len(counted):
        raise ValueError(
            f"validation_fraction={estimator.validation_fraction} leaves none of "
            f"{len(counted)} samples to train on."
        )
    order = generator(seed, 0, HELD_OUT).permutation(counted)
    held_out = np.sort(order[:n_validation])
    train = np.delete(np.arange(rows.n_runs), held_out)
    return rows.runs(train), rows.runs(held_out).at(slice(None))


# -- runs of a fit, one from each start: passes, moves, early stopping and callbacks ---
def run_fits(estimator, other, problem, starts, n_runs):
    """Fit from each start; install and return the best `Run`.

    The attributes of a fit are set in ``other``, a copy, and then published.
    """
    runs = (plan_fit(other, problem, state) for state in starts)
    run = next(runs)
    callback_kwargs = {
        "estimator": estimator,
        "X": problem.data.source,
        "y": lambda: np.zeros(len(problem.data)),
    }
    context = estimator._init_callback_context(
        max_subtasks=n_runs * tasks_left(run.state)
    )
    context.call_on_fit_task_begin(**callback_kwargs)
    with problem.workers, problem.workers_of_validation:
        if problem.validation is not None:
            check_scorable(run.held_out, run.state)
        fit = _Fit(estimator, other, problem, context, callback_kwargs)
        if n_runs == 1:
            fit.run(run)
        else:
            run = fit.best(itertools.chain([run], runs))
        other._finish(problem, run.state)
        estimator._publish(other)
    context.call_on_fit_task_end(**callback_kwargs, **_snapshot(estimator))
    return run


def _snapshot(estimator):
    """Return the attributes from which callbacks reconstruct the current estimator."""
    return {
        "reconstruction_attributes": lambda: {
            "state_": copy.deepcopy(estimator.state_),
            "_warned": {"hot": True},
        }
    }


class _Fit:
    """Runs of an estimator on a problem.

    Parameters
    ----------
    estimator, other : TemperedEstimator
        Estimator, and the copy in which attributes are set before they are published.
    problem : Problem
    context : object
        Context of scikit-learn's callbacks.
    callback_kwargs : dict
        Keyword arguments of every hook of a callback.
    """

    def __init__(self, estimator, other, problem, context, callback_kwargs):
        self.estimator, self.other, self.problem = estimator, other, problem
        self.context, self.callback_kwargs = context, callback_kwargs

    def best(self, runs):
        """Fit all runs and install the best; after an error, the best completed run."""
        best, best_bound, n_init = None, -math.inf, self.estimator.n_init
        for number, run in enumerate(runs, 1):
            try:
                self.run(run)
                bound = self.problem.bound(run.state.globals_, run.state.hyper)
                log(
                    self.estimator,
                    "fit %d of %d: lower bound %.10g",
                    number,
                    n_init,
                    bound,
                )
                if best is None or bound > best_bound:
                    best, best_bound = run, bound
            finally:
                if best is not None:
                    self.problem.workers.run_whole(self._installing(best))
        return best

    def run(self, run):
        """Finish the passes and moves in the plan of a run."""
        estimator, state, policies = self.estimator, run.state, run.policies
        problem, install = self.problem.on(run.train), self._installing(run)
        if state.progress.planned_passes == 0:  # max_iter=0: the result is the start
            problem.workers.run_whole(install)
            return
        n_passes = state.progress.planned_passes - state.progress.passes
        task = _Task(self)
        begin_pass = functools.partial(task.begin, "pass")
        begin_move = functools.partial(task.begin, "move")
        if not self._check_early_stopping(run):
            run_passes(
                problem,
                policies,
                state,
                Hooks(install, begin_pass, task.after_pass(run)),
                estimator.shuffle,
            )

        def keep():
            self._keep_the_best_state(run)
            run.compared |= n_passes == 0  # an earlier call compared scores
            install()  # a continued fit may have had no pass left, only this

        problem.workers.run_whole(keep)
        hot = state.policies.temperature != 1.0
        run.moves_were_skipped = any(state.moves.left) and hot and not task.stopped
        if not task.stopped and not hot:
            hooks = Hooks(install, begin_move, task.after_move)
            run_moves(problem, policies, state, hooks, estimator.tol)
        if not tasks_left(state):
            state.local = None  # only an unfinished plan uses local parameters

    def _installing(self, run):
        def install():
            self.other._install(run.state, run.policies)
            self.estimator._publish(self.other)

        return install

    def _check_early_stopping(self, run):
        """Score a pass unless it was scored before; return whether to stop early.

        All results of this check are stored at once.  If Ctrl-C prevents this, a
        continued fit repeats the check before its next pass.
        """
        state = run.state
        if state.progress.checked_passes == state.progress.passes:
            return self._has_failed(state)
        score, over = self._heldout_score(run), False

        def commit():
            nonlocal over
            if score is not None:
                over = self._note_score(run, score)
            if abs(state.convergence.bound_change) < self.estimator.tol:
                state.progress.planned_passes = state.progress.passes  # converged
            state.progress.checked_passes = state.progress.passes

        self.problem.workers.run_whole(commit)
        return over

    def _heldout_score(self, run):
        """Return the held-out score: NaN if it is undefined, None if it is not due."""
        due = run.state.progress.passes % max(self.estimator.evaluate_every, 1) == 0
        if run.held_out is None or not due:
            return None
        return heldout_score(run.held_out, run.state)

    def _note_score(self, run, score):
        """Add a held-out score to the history; return whether to stop early.

        Only scores of states with a settled temperature are compared.  If the tempering
        cools, this temperature must be 1.
        """
        state, tempering = run.state, run.policies.tempering
        patience = self.estimator.n_iter_no_change
        state.history.add_score(score)
        if patience is None or np.isnan(score):
            return False
        clock = state.clock(self.problem.on(run.train).total)
        is_cool = state.policies.temperature == 1.0 or not tempering.cools
        if not (tempering.is_settled(state.policies.tempering, clock) and is_cool):
            return False
        if state.best is None:
            state.best = Best.of(state, score)
        else:
            state.best = state.best.after(state, score, self.estimator.tol)
        return self._has_failed(state)

    def _has_failed(self, state):
        """Return whether later states failed to improve the best state."""
        patience = self.estimator.n_iter_no_change
        if patience is None or state.best is None:
            return False
        return state.best.failures >= patience

    def _keep_the_best_state(self, run):
        """Install the best state; end the plan if later states failed to improve it."""
        state, patience = run.state, self.estimator.n_iter_no_change
        if patience is None:
            return
        if state.best is None:
            run.compared = False
            return
        state.globals_, state.hyper = state.best.globals_, state.best.hyper
        if self._has_failed(state):
            state.progress.planned_passes = state.progress.passes
        state.best = None


class _Task:
    """Passes and moves of a run, as tasks of scikit-learn's callbacks.

    Attributes
    ----------
    stopped : bool
        Whether a callback ended the run.
    """

    def __init__(self, fit):
        self.fit, self.stopped, self._task = fit, False, None

    def begin(self, name):
        """Begin a pass or a move."""
        self._task = self.fit.context.subcontext(task_name=name)
        self._task.call_on_fit_task_begin(**self.fit.callback_kwargs)

    def _end(self):
        self.stopped = self._task.call_on_fit_task_end(
            **self.fit.callback_kwargs, **_snapshot(self.fit.estimator)
        )
        return self.stopped

    def after_pass(self, run):
        """Return the hook that is called after each pass of a run."""

        def after():
            over = self.fit._check_early_stopping(run)
            _log_pass(self.fit.estimator, run.state)
            return self._end() or over

        return after

    def after_move(self, bound, kept):
        """Log a move and end its task; return whether a callback ends the moves."""
        outcome = "kept" if kept else "no"
        log(self.fit.estimator, "move: %s, lower bound %.10g", outcome, bound)
        return self._end()


def _log_pass(estimator, state):
    if not estimator.verbose or not estimator._is_logged(state.progress.passes):
        return
    history = state.history.to_dict()
    score = history["heldout_score"][-1]
    log(
        estimator,
        "pass %d of %d: %d steps, %.1f s, temperature %.3g, rate %.3g, "
        "bound per observation %.4f%s",
        state.progress.passes,
        state.progress.planned_passes,
        state.progress.steps,
        state.progress.seconds,
        state.policies.temperature,
        history["learning_rate"][-1],
        history["batch_bound"][-1],
        "" if np.isnan(score) else f", held-out score {score:.4f}",
    )

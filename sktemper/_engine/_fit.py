"""Fits: a plan of passes and moves, and runs of it, one from each start."""

import contextlib
import copy
import functools
import hashlib
import itertools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from ..learning_rates import ConstantRate, RobbinsMonro
from ..model import IllDefined, all_finite
from ..renewals import NoRenewals
from ..schedules import AUTO_LENGTH, STREAM_LENGTH, Plan
from ._data import QUIETLY, Problem, Purpose, Rows, generator
from ._moves import plain_fit, run_moves
from ._passes import (
    Best,
    HeldOut,
    ascent_on,
    bound_of,
    check_scorable,
    clocks_of_passes,
    heldout_score,
    planned_clocks,
    run_passes,
    takes_whole_steps,
)
from ._state import State
from ._step import Policies, numbers_of_moves

# -- plan of a fit: batches, held-out rows, policies and number of passes --------------
#: Value that replaces the digest of a stream's first rows once the stream has repeated.
REPEATS = "again"
#: Number of first rows that are compared to detect that a stream repeats.
ROWS_NOTED = 8
#: In a stream of unknown length, a schedule with ``length="auto"`` lasts for the share
#: SHARE_COOLED of the `stream_rows` of the model, but for at least FEWEST_STEPS and at
#: most STREAM_LENGTH steps.
SHARE_COOLED, FEWEST_STEPS = 0.4, 5


class TrainingSettings(NamedTuple):
    """Settings of a fit, or of the training on a stream.

    Attributes
    ----------
    tempering : Tempering
    learning_rate : LearningRate or None
        None means a rate of 1 if each step takes all rows, and else a decreasing rate.
    gradient_noise : GradientNoise
    moves : Moves
    renewals : Renewals
    max_iter : int
        Number of passes of a run.
    batch_size : int, "auto" or None
        None means all rows.
    total_samples : int or None
        D; None means the number of rows.
    shuffle : bool
    evaluate_every : int
        Number of passes between two held-out scores, 0 for none.
    validation_fraction : float
    n_iter_no_change : int or None
        Number of held-out scores without an improvement by ``tol`` that end a run.
    tol : float
    """

    tempering: Any
    learning_rate: Any
    gradient_noise: Any
    moves: Any
    renewals: Any
    max_iter: int = 10
    batch_size: Any = "auto"
    total_samples: int | None = None
    shuffle: bool = True
    evaluate_every: int = 0
    validation_fraction: float = 0.1
    n_iter_no_change: int | None = None
    tol: float = 1e-3


class FitHooks:
    """Calls from a fit to its caller, which do nothing by default."""

    #: Whether a call before and after each task matters.
    watches_tasks = False

    def plan(self, n_tasks):
        """Called before the first step, with the number of passes and moves."""

    def commit(self, run):
        """Called inside each commit of a run, which no signal can interrupt."""

    def begin(self, name):
        """Called before a task, a "pass" or a "move"."""

    def end(self):
        """Called after a task; return whether to stop the run."""
        return False

    def finish(self, run):
        """Called with the best run, while its workers still exist."""

    def log(self, message, *values):
        """Called with lines of a log."""

    def log_pass(self, state):
        """Called after each pass."""

    def log_event(self, stream):
        """Called after an alarm, a renewal, and the decision about its challenger."""


#: Relative difference of lower bounds up to which a plain fit is not better.
SAME_OPTIMUM = 1e-7


class Start(NamedTuple):
    """Start of a fit.

    Attributes
    ----------
    globals_, hyper : object
    """

    globals_: Any
    hyper: Any


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
    advice : str or None
        Warning of the caller about the data.
    """

    problem: Problem
    state: State
    policies: Policies
    train: Rows
    held_out: HeldOut | None
    compared: bool = True
    moves_were_skipped: bool = False
    advice: str | None = None


def new_states(problem, n_starts, random_state, fixed=None):
    """Yield the states of starts, from the same stream of random numbers.

    Parameters
    ----------
    problem : Problem
    n_starts : int
    random_state : int, RandomState or None
    fixed : dict or None
        See `State`.
    """
    model, (X, sample_weight) = problem.model, problem.sample
    random = check_random_state(random_state)
    with QUIETLY():
        hyper = model.initial_hyper(X, sample_weight)
    if not all_finite(hyper):
        raise IllDefined()
    for _ in range(n_starts):
        with QUIETLY():
            globals_ = problem.initial_globals(random, hyper)
        yield State(
            globals_=globals_,
            hyper=hyper,
            seed=int(random.randint(2**31 - 1)),
            dtype=model.dtype,
            n_features=problem.data.shape[1],
            fixed=copy.deepcopy(fixed),
        )


def plan_fit(training, problem, state):
    train, held_out = _divided(training, problem, state.seed)
    batch_size = _batch_size(training, problem, len(train))
    state.policies.batch_size = min(batch_size, len(train))
    if state.progress.steps == 0:
        state.policies.plan = _new_plan(training, problem, state, len(train))
    default_rate = ConstantRate(1.0) if training.batch_size is None else RobbinsMonro()
    policies = _resolved_policies(training, problem.model, state, default_rate)
    _plan_passes(training, state, len(problem.data), policies.moves)
    policies.check_plan(state.policies, clocks_of_passes(problem.on(train), state))
    return Run(problem, state, policies, train, held_out)


def _new_plan(training, problem, state, n_rows):
    n_batches = math.ceil(n_rows / state.policies.batch_size)
    total = training.total_samples or n_rows
    return Plan(
        n_batches * training.max_iter,
        n_batches * total / n_rows,
        *problem.temperatures(training.tempering, state.hyper),
        problem.model.annealing_steps if n_batches == 1 else AUTO_LENGTH,
    )


def plan_stream(training, problem, state, fresh):
    """Return the `Run` on a chunk of a stream, and the batch size."""
    model, data, total = problem.model, problem.data, training.total_samples
    if fresh or training.batch_size != "auto":
        state.policies.batch_size = _batch_size(training, problem, total)
    if fresh:
        state.policies.plan = _plan_of_stream(training, problem, state)
    policies = _resolved_policies(training, model, state, RobbinsMonro())
    state.best = state.start = None
    if total is not None:
        progress = state.progress
        progress.first_rows_digest = _noted(progress.first_rows_digest, data)
    size = _rows_of_steps(training, state, len(data))
    # a single step checks the values itself, and with renewals T is 1
    if len(data) > size and not policies.renewals.is_on:
        clock, n_steps = state.clock(total), -(-len(data) // size)
        policies.check_plan(state.policies, planned_clocks(clock, n_steps, size))
    return Run(problem, state, policies, data.all_rows(), None), size


def _rows_of_steps(training, state, n_rows):
    """Return the largest number of rows of a step on a chunk of ``n_rows`` rows.

    With ``batch_size="auto"``, all batches of a chunk have about this size.
    """
    size = state.policies.batch_size
    if training.batch_size != "auto":
        return min(size, n_rows)
    return math.ceil(n_rows / max(1, round(n_rows / size)))


def _noted(first_rows, data):
    """Return the digest of the first rows of a stream, or REPEATS if it repeats.

    The first rows of each chunk are compared, unless they are empty.
    """
    if first_rows == REPEATS:
        return REPEATS
    head = data.parts[0].rows(slice(0, ROWS_NOTED))
    arrays = (head.indices, head.data) if sparse.issparse(head) else (head,)
    if not np.nan_to_num(arrays[-1]).any():
        return first_rows
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).view(np.uint8))
    this = digest.hexdigest()
    return REPEATS if this == first_rows else first_rows or this


def is_finished(state):
    progress = state.progress
    moves_wait = any(state.moves.left) and state.policies.temperature == 1.0
    is_checked = progress.checked_passes == progress.passes
    return progress.passes >= progress.planned_passes and is_checked and not moves_wait


def tasks_left(state):
    return state.progress.planned_passes - state.progress.passes + sum(state.moves.left)


def _batch_size(training, problem, total):
    if training.batch_size is None:
        return len(problem.data)
    if training.batch_size == "auto":
        return problem.model.auto_batch_size(problem.counted_sample[0], total)
    return training.batch_size


def _plan_of_stream(training, problem, state):
    temperatures = problem.temperatures(training.tempering, state.hyper)
    if training.total_samples is None:
        n_steps = None
        if problem.model.stream_rows is not None:
            size = _rows_of_steps(training, state, len(problem.data))
            length = math.ceil(SHARE_COOLED * problem.model.stream_rows / size)
            n_steps = 2 * min(max(length, FEWEST_STEPS), STREAM_LENGTH)
        return Plan(n_steps, None, *temperatures)
    per_pass = math.ceil(training.total_samples / state.policies.batch_size)
    return Plan(per_pass, per_pass, *temperatures)


def _plan_passes(training, state, n_rows, moves):
    """Plan `max_iter` passes and all moves, unless an earlier plan is unfinished.

    A plan whose fit was interrupted before its comparison with a plain fit is
    unfinished.  If an earlier plan has no passes left but some moves, it counts as
    finished if the policy for moves has changed its number of phases, or if the
    temperature exceeds 1.
    """
    most = numbers_of_moves(moves)
    left = state.moves.left
    left = tuple(map(min, left, most)) if len(left) == len(most) else (0,) * len(most)
    spare = tuple(map(min, state.moves.spare, most))
    state.moves = state.moves._replace(left=left, spare=spare)
    progress = state.progress
    compares = state.start is not None and state.policies.temperature == 1.0
    compares = compares and any(most) and n_rows == progress.total_rows
    if is_finished(state) and not compares:
        progress.earlier_passes = progress.passes
        progress.planned_passes = progress.passes + training.max_iter
        state.moves = state.moves._replace(left=most, spare=(), last_kept=0)
    if n_rows != progress.total_rows:
        progress.total_rows, progress.batches_into_pass = n_rows, 0


def _resolved_policies(training, model, state, default_rate):
    """Resolve the policies, and set the states of policies without a valid state."""
    rate, plan = training.learning_rate or default_rate, state.policies.plan
    renewals = training.renewals if rate.forgets else NoRenewals()
    given = training.tempering, rate, training.gradient_noise, training.moves, renewals
    policies = Policies(*[policy.validate().resolved(plan) for policy in given])
    policies.check(model)
    tempering, learning_rate = policies.tempering, policies.learning_rate
    if not tempering.knows(state.policies.tempering):
        random = generator(state.seed, 0, Purpose.POLICIES)
        state.policies.tempering = tempering.initial_state(model, state.hyper, random)
    if not learning_rate.knows(state.policies.learning_rate):
        state.policies.learning_rate = learning_rate.initial_state()
    return policies


def _divided(training, problem, seed):
    """Return the training `Rows`, and the `HeldOut` rows or None.

    Rows of weight 0 are never held out, so that results do not depend on them.
    """
    rows = problem.data.all_rows()
    if problem.validation is not None:
        return rows, HeldOut(problem.validation)
    if training.evaluate_every == 0 and training.n_iter_no_change is None:
        return rows, None
    counted = rows.counted_runs(problem.sample_weight)
    n_validation = max(1, round(training.validation_fraction * len(counted)))
    if n_validation >= len(counted):
        raise ValueError(
            f"validation_fraction={training.validation_fraction} leaves none of "
            f"{len(counted)} samples to train on."
        )
    order = generator(seed, 0, Purpose.HELD_OUT).permutation(counted)
    held_out = np.sort(order[:n_validation])
    train = np.delete(np.arange(rows.n_runs), held_out)
    return rows.runs(train), HeldOut(problem, rows.runs(held_out).at(slice(None)))


# -- runs of a fit, one from each start ------------------------------------------------
def _in_final_order(problem, state):
    """Return the parameters of a state after `final_order`."""
    fitted = state.parameters
    if state.is_ordered or problem.labels is not None:
        return fitted
    order = problem.model.final_order(*fitted)
    return fitted if order is None else problem.model.reordered(*fitted, order)


def fit(problem, training, starts, n_runs=1, hooks=FitHooks()):  # noqa: B008
    """Fit from each start, and return the best `Run`.

    Parameters
    ----------
    problem : Problem
    training : TrainingSettings
    starts : iterator of State
    n_runs : int
        Number of the starts.
    hooks : FitHooks
    """
    runs = (plan_fit(training, problem, state) for state in starts)
    run = next(runs)
    hooks.plan(n_runs * tasks_left(run.state))
    with contextlib.ExitStack() as stack:
        stack.enter_context(problem.workers)
        if problem.validation is not None:
            stack.enter_context(problem.validation.workers)
            check_scorable(run.held_out, run.state)
        work = _Fit(problem, training, hooks)
        if n_runs == 1:
            work.run(run)
        else:
            run = work.best(itertools.chain([run], runs), n_runs)
        hooks.finish(run)
    return run


class _Fit:
    """Runs on a problem; the parameters are those of `fit`."""

    def __init__(self, problem, training, hooks):
        self.problem, self.training, self.hooks = problem, training, hooks

    def best(self, runs, n_runs):
        """Fit all runs and commit the best; after an error, the best completed run."""
        best, bounds = None, []
        for number, run in enumerate(runs, 1):
            try:
                self.run(run)
                bound = self.problem.bound(*run.state.parameters)
                self.hooks.log("fit %d of %d: lower bound %.10g", number, n_runs, bound)
                if best is None or bound > max(bounds):
                    best = run
                bounds.append(bound)
            finally:
                if best is not None:
                    best.state.start_bounds = tuple(bounds)
                    self._commit(best)
        return best

    def _commit(self, run):
        self.problem.workers.run_whole(functools.partial(self.hooks.commit, run))

    def run(self, run):
        """Finish the passes and moves in the plan of a run."""
        state, policies, hooks = run.state, run.policies, self.hooks
        problem, training = self.problem.on(run.train), self.training
        if self._is_compared(problem, run):
            state.start = Start(*state.parameters)
        on_commit, stopped = functools.partial(hooks.commit, run), False
        given = problem, policies, state, on_commit
        n_passes = state.progress.planned_passes - state.progress.passes
        if state.progress.planned_passes == 0:  # max_iter=0: the result is the start
            self._commit(run)
            return
        if not self._check_early_stopping(run):
            tol = None if hooks.watches_tasks or run.held_out else training.tol
            for take in run_passes(*given, tol, training.shuffle):
                hooks.begin("pass")
                take()
                over = self._check_early_stopping(run)
                hooks.log_pass(state)
                stopped = hooks.end()
                if stopped or over:
                    break

        def keep():
            self._keep_the_best_state(run)
            run.compared |= n_passes == 0  # an earlier call compared scores
            on_commit()  # a continued fit may have had no pass left, only this

        problem.workers.run_whole(keep)
        is_at_one = state.policies.temperature == 1.0
        run.moves_were_skipped = any(state.moves.left) and not (is_at_one or stopped)
        if is_at_one and not stopped:
            for move in run_moves(*given, training.tol):
                hooks.begin("move")
                bound, kept = move()
                line = "move: %s, lower bound %.10g"
                hooks.log(line, "kept" if kept else "no", bound)
                if hooks.end():
                    break
            self._compare(problem, run, on_commit)
        if not tasks_left(state):
            self._finish_plan(problem, state, on_commit)

    def _finish_plan(self, problem, state, on_commit):
        """Bring the components into their final order, see `final_order`.

        Nothing else in the state of a finished plan depends on their order, except for
        the state of a learning rate, which starts anew.
        """
        state.local = None  # only an unfinished plan uses local parameters
        ordered = _in_final_order(problem, state)
        if ordered[0] is state.globals_:
            state.is_ordered = True
            return

        def commit():
            state.globals_, state.hyper = ordered
            state.policies.learning_rate, state.is_ordered = None, True
            on_commit()

        problem.workers.run_whole(commit)

    def _is_compared(self, problem, run):
        """Return whether a plain fit from the same start follows.

        If temperatures make equal what is symmetric, as clusters on a grid, an annealed
        fit may end in a worse optimum than a plain fit.
        """
        state, tempering = run.state, run.policies.tempering
        return (
            state.progress.steps == 0
            and any(state.moves.left)
            and state.progress.planned_passes > 0
            and run.held_out is None
            and tempering.schedule_of_temperatures() is not None
            and len(problem.rows) == problem.total == state.policies.batch_size
            and takes_whole_steps(run.policies, state.policies.learning_rate)
            and problem.model.watches_bound
            and not (problem.model.is_random or problem.model.steps_in_place)
        )

    def _compare(self, problem, run, on_commit):
        """Install the result of a plain fit if it is better; make moves from it."""
        state = run.state
        if state.start is None or not is_finished(state):
            return
        ours, plain, bound, allowance = self._plain_fits(problem, state)
        is_better = bound + allowance > ours + SAME_OPTIMUM * abs(ours)

        def commit():
            state.start = None
            if is_better:
                state.globals_, state.hyper = plain.parameters
                state.local, state.plain_is_better = None, True
                left = numbers_of_moves(run.policies.moves)
                state.moves = state.moves._replace(left=left, spare=(), last_kept=0)
            on_commit()

        problem.workers.run_whole(commit)
        message = "plain fit from the same start: lower bound %.10g, %s"
        self.hooks.log(message, bound, "taken" if is_better else "not taken")
        given = problem, run.policies, state, on_commit, self.training.tol
        for move in run_moves(*given):  # none is left unless the plain fit is better
            move()

    def _plain_fits(self, problem, state):
        """Return the bound of a fit, and the better of two plain fits beside it.

        The first is from the same start, the second from its components after merges,
        if the model has them.  The first is completed only if it would reach the bound
        of the fit, or has more components after merges.  The result is a state, None if
        there is none, its bound, and the allowance of `ConjugateModel.agglomerated`.
        """
        model, rows = problem.model, problem.rows.at(slice(None))
        ascent = ascent_on(problem, rows, state.hyper)

        def bound_at(state):
            ordered = _in_final_order(problem, state)
            if ascent is None:
                return problem.bound(*ordered)
            return bound_of(ascent, *ordered, 1.0)[1]

        def fitted(start, *best):
            given = start, self.training.max_iter, self.training.tol
            plain = plain_fit(problem, state, *given, *best)
            return plain, bound_at(plain)

        def after_merges(plain):
            if problem.labels is not None:
                return None
            return model.agglomerated(*plain.parameters, state.parameters)

        ours, found, start = bound_at(state), (None, -math.inf, 0.0), None
        try:
            plain, bound = fitted(state.start, ours)
            start = after_merges(plain)
            was_given_up = plain.convergence.bound_change >= self.training.tol
            if start is not None and was_given_up:
                plain, bound = fitted(plain.parameters)
                start = after_merges(plain)
            found = plain, bound, 0.0
            if start is not None:
                merged, new = fitted(start[:2], bound)
                found = (merged, new, start[2]) if new > bound else found
        except IllDefined:
            pass
        return ours, *found

    def _check_early_stopping(self, run):
        """Score a pass unless it was scored before; return whether to stop early.

        All results of this check are stored at once.  If Ctrl-C prevents this, a
        continued fit repeats the check before its next pass.
        """
        state = run.state
        if state.progress.checked_passes == state.progress.passes:
            return self._has_failed(state)
        score, over = None, False
        if state.progress.passes % max(self.training.evaluate_every, 1) == 0:
            # NaN if no observation can be scored
            score = run.held_out and heldout_score(run.held_out, state)

        def commit():
            nonlocal over
            if score is not None:
                over = self._note_score(run, score)
            if abs(state.convergence.bound_change) < self.training.tol:
                state.progress.planned_passes = state.progress.passes  # converged
            state.progress.checked_passes = state.progress.passes

        self.problem.workers.run_whole(commit)
        return over

    def _note_score(self, run, score):
        """Add a held-out score to the history; return whether to stop early.

        Only scores of states with a settled temperature are compared.  If the tempering
        cools, this temperature must be 1.
        """
        state, tempering = run.state, run.policies.tempering
        patience = self.training.n_iter_no_change
        state.history.add_score(score)
        if patience is None or np.isnan(score):
            return False
        clock = state.clock(self.problem.on(run.train).total)
        is_cool = state.policies.temperature == 1.0 or not tempering.cools
        if not (tempering.is_settled(state.policies.tempering, clock) and is_cool):
            return False
        best = state.best or Best(-math.inf, 0, *state.parameters)
        if score > best.score:
            kept = copy.deepcopy(state.parameters)
            best = Best(score, best.failures, *kept, best.reference)
        if score > best.reference + self.training.tol:
            state.best = best._replace(failures=0, reference=score)
        else:
            state.best = best._replace(failures=best.failures + 1)
        return self._has_failed(state)

    def _has_failed(self, state):
        """Return whether later states failed to improve the best state."""
        patience = self.training.n_iter_no_change
        return bool(patience and state.best and state.best.failures >= patience)

    def _keep_the_best_state(self, run):
        """Install the best state; end the plan if later states failed to improve it."""
        state, patience = run.state, self.training.n_iter_no_change
        if patience is None:
            return
        if state.best is None:
            run.compared = False
            return
        state.globals_, state.hyper = state.best.globals_, state.best.hyper
        if self._has_failed(state):
            state.progress.planned_passes = state.progress.passes
        state.best = None

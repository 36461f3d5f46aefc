"""Moves: proposals are fitted to a part of the rows, then tested on more rows."""

import functools
import math
import operator
import time
from collections import deque
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .._contract import Ascent, IllDefined, Stopped
from .._utils._budgets import ROWS_SAMPLED
from .._utils._cache import LastCall, twin
from .._utils._tasks import cancel
from ..learning_rates import ConstantRate
from ..moves import SAME_BOUND, Proposal
from ..noise import NoNoise
from ..schedules import Clock
from ..tempering import Untempered
from . import _step
from ._data import QUIETLY, Batch, Purpose, Rows, generator
from ._passes import are_planned, ascend, ascent_on, bound_of, planned, steps_of_call
from ._state import LAST_BOUNDS
from ._workers import InlineWorkers


# -- coordinate ascent on trial parameters, outside the history of the fit -------------
class TrialSteps(_step.Steps):
    """Consecutive steps of rate 1 on the same rows, without noise.

    The steps change only a trial state, which an interrupted fit discards.  Therefore
    they may be interrupted halfway, unlike the steps of a fit, whose results are
    installed all at once.

    Parameters
    ----------
    problem : Problem
    policies : Policies
    batch : Batch
    trial : State
        Trial state, which no other code may change meanwhile.  Its clock starts at 0.
    """

    def __init__(self, problem, policies, batch, trial):
        super().__init__(problem, policies, trial)
        self.batch, self._units_of_batch = batch, problem.units(batch.rows)
        is_random = problem.model.is_random
        self._random = generator(trial.seed, 0) if is_random else None
        self._first_half = None
        trial.progress.steps = trial.progress.samples = 0

    @QUIETLY()
    def local_step(self, watched=True):
        """Take the first half of a step: the local steps at the current parameters.

        Parameters
        ----------
        watched : bool
            Whether to compute the bound.

        Returns
        -------
        bound : float
            Lower bound of all data, scaled up from the rows; NaN if ``watched`` is
            False or the temperature is not 1.

        Raises
        ------
        IllDefined
            If the bound is not finite.
        """
        trial, (inputs, local) = self.state, self.local_half(self.batch)
        self._first_half = inputs, local
        if not watched or inputs.temperature != 1.0:
            return math.nan
        with _step.refusing_singular():
            rest = self.problem.model.global_bound(trial.globals_, trial.hyper)
        return self.batch.scale * local.bound + rest

    @QUIETLY()
    def global_step(self, last=False):
        """Take the second half of the step: update the global parameters.

        Parameters
        ----------
        last : bool
            Whether this is the last step.  If so, nothing is prepared for a next step.

        Raises
        ------
        IllDefined
            If the step would leave the domain of the parameters; it is not taken then.
        """
        inputs, local = self._first_half
        with _step.refusing_singular():
            outcome = self._outcome(self.batch, inputs, local)
            globals_, self._prepared = self._moved(outcome, not last)
        _step.install_step(self.state, globals_, self.batch, inputs, outcome)

    def _draws(self, batch):
        return (self._random, *self._units_of_batch)


# -- moves: proposals are fitted to a part of the rows, then tested on more rows -------
#: Number of steps on all test rows before the test of a proposal that was fitted to a
#: part of the rows.
SETTLING_STEPS = 3
#: Largest number of consecutive proposals that are fitted to the same part.
MOVES_OF_A_PART = 10
#: Largest number of steps on all rows after the last move of a phase.  A phase consists
#: of all moves of one kind.
FINISHING_STEPS = 100
#: Stands for a proposal without a key.
KEYLESS = Proposal(None, None)


def run_moves(problem, policies, state, on_commit=lambda: None, least_gain=0.0):
    """Yield functions that make the planned moves of a fit, one after the other.

    They return the lower bound after the move, and whether it was accepted.

    A proposal is first fitted to a part of the rows, and so is a copy of the current
    state.  The proposal is rejected if its lower bound of these rows is clearly worse.
    Otherwise it takes a few steps on the test rows, and is accepted if it raises the
    lower bound of these rows.  The steps on proposals do not count as steps of the fit.
    They end early if the policy gives up the proposal.

    The test rows are all rows, or at most `ROWS_SAMPLED` of them if the fit uses
    mini-batches.  In the latter case the model takes a few steps on all rows after the
    last move.

    Parameters
    ----------
    problem : Problem
    policies : Policies
    state : State
    on_commit : callable
        Called inside each commit, an update of the state that no signal can interrupt.
    least_gain : float
        Least rise of the lower bound for which a proposal is accepted.
    """
    if not any(state.moves.left):
        return
    trials = _Trials(problem, state, least_gain)
    with problem.data.held(trials.rows):
        trials.best = trials.bound(state)
        try:
            while any(state.moves.left):
                yield functools.partial(_move, trials, policies.moves, state, on_commit)
        except GeneratorExit:
            if trials.is_moving:  # a move was interrupted, and the pool stops trials
                trials.ahead.clear()
            trials.give_up_ahead()
            raise


def _move(trials, moves, state, on_commit):
    """Make a move; return the lower bound after it, and whether it was accepted.

    The last move of a phase includes steps until convergence.
    """
    begin, best, trials.is_moving = time.perf_counter(), trials.best, True
    number = next(i for i, left in enumerate(state.moves.left) if left)
    policy = moves.phases()[number]
    proposal, trial, reached = trials.of(policy, number, state, best)
    rounding = 8 * float(np.finfo(state.dtype).eps) * abs(best)
    kept = bool(reached > best + max(trials.least_gain, rounding))
    best = reached if kept else best
    done = state.moves.after(policy, number, proposal, kept)
    if kept or not done.left[number]:
        trials.give_up_ahead()
    chosen = trial if kept else None
    on_part = trials.on_part and (kept or done.on_part)
    if on_part and not any(done.left):
        chosen, rows = (chosen or state).trial(), trials.all_rows.at(slice(None))
        trials.improve(chosen, rows, SETTLING_STEPS)
        best, on_part = trials.bound(chosen, rows), False
    elif not trials.on_part and not done.left[number]:
        chosen, best = trials.finished(chosen, state, best)

    def commit():
        progress, share = state.progress, state.convergence.start_share
        if chosen is not None:
            state.globals_, state.hyper, state.local = *chosen.parameters, None
            state.convergence = replace(chosen.convergence, start_share=share)
        state.moves = done._replace(on_part=on_part)
        progress.seconds += time.perf_counter() - begin
        if proposal is not None:
            state.history.add_move(progress.steps, progress.seconds, kept, best)
        on_commit()

    trials.problem.workers.run_whole(commit)
    trials.best, trials.is_moving = best, False
    return best, kept


class _Ending(NamedTuple):
    """Rule by which steps end early.

    Attributes
    ----------
    best : float
        Lower bound that the steps would have to reach.
    least : float
        Rise of the bound by a step below which steps end.  They also end if the
        remaining steps would not reach ``best``, even if each gained as much as the
        last step.
    policy : Moves or None
        Policy that decides instead, see `Moves.is_hopeless`.
    confirm : callable
        Called without arguments if the policy gives up; if it returns False, steps
        continue.
    """

    best: float = -math.inf
    least: float = -math.inf
    policy: Any = None
    confirm: Any = lambda: True

    @property
    def limits(self):
        """Limits of `Ascent.run`; None if only the policy can decide."""
        if self.policy is None:
            return self.best, 0.0, 0.0, self.least, 0.0
        return self.policy._limits(self.best)

    def __call__(self, before, now, n_left):
        deficit, gain = self.best - now, now - before
        if self.policy is None:
            return gain < self.least or (n_left > 1 and deficit > n_left * gain)
        return self.policy.is_hopeless(deficit, gain, n_left) and self.confirm()


def plain_fit(problem, state, start, n_steps, least, best=-math.inf):
    """Return the state after steps at T=1 on all rows, from a start.

    The steps end if the lower bound rises by less than ``least``, or if it would
    probably not reach ``best``.
    """
    plain, trials = state.trial(*start), _Trials(problem, state)
    trials.improve(plain, trials.rows, n_steps, given_up=_Ending(best, least))
    return plain


class _Trials:
    """Trials of proposals on a part of the rows, and on the test rows.

    Attributes
    ----------
    all_rows : Rows
        Training rows of positive weight.
    rows : ndarray
        Test rows.
    on_part : bool
        Whether there are fewer test rows than training rows.
    least_gain : float
        Least rise of the lower bound for which a proposal is accepted.  Steps have
        converged if the lower bound rises by less.
    best : float
        Lower bound of the state, set by `run_moves`.
    """

    def __init__(self, problem, state, least_gain=0.0):
        self.least_gain = least_gain
        rows, weight = problem.rows, problem.row_weight
        self.problem, self.model = problem, problem.model
        self.scale = problem.total / len(rows)
        rows = rows.counted(weight)
        self.all_rows, most = rows, len(rows)
        if state.policies.batch_size < len(rows):
            most = ROWS_SAMPLED
        drawing = generator(state.seed, state.progress.passes, Purpose.TESTS)
        self.rows = rows.some(most, drawing)
        self.on_part = len(self.rows) < len(rows)
        self._present_bounds = LastCall(operator.eq)
        self._last_part = LastCall(operator.eq)
        self.is_moving = False
        self.ahead = deque()  # progress before a proposal, and the `Task` of its trial

    def of(self, policy, phase, state, best):
        """Propose a move of a state whose lower bound is ``best``.

        Returns
        -------
        proposal : Proposal or None
        trial : State
            State after the steps on the proposal.
        bound : float
            Lower bound of this state; -inf if the proposal was given up, or rejected
            after the steps on a part of the rows.
        """
        is_screened = policy._ignores_refused and self.problem.workers.n_threads > 1
        if is_screened:
            attempt, reached = self._tried_ahead(policy, phase, state, best)
        else:
            attempt, reached = self._attempt(policy, state, state.moves), None
        if attempt is None:
            return None, None, -math.inf
        if reached is None:
            reached = self._tested(state, attempt, policy, best, is_screened)
        return *attempt[:2], reached

    def _tested(self, state, *given):
        """Return the result of `_reached`, or -inf if a step is invalid.

        The workers are those that suit the test rows.
        """
        try:
            ascent = ascent_on(self.problem, self.rows, state.hyper)
            if ascent is not None and ascent.n_sections == 1:
                return self._reached(state, *given)
            return self.problem.call_with_workers(
                lambda problem: twin(self, problem=problem)._reached(state, *given),
                self.rows,
            )
        except IllDefined:
            return -math.inf

    def _tried_ahead(self, policy, phase, state, best):
        """Return the result of `_tried`; other threads try later proposals meanwhile.

        Proposals that ignore the refused ones are independent of each other until one
        is accepted.  There are as many trials at a time as threads.
        """
        ahead, workers, moves = self.ahead, self.problem.workers, state.moves
        if ahead:
            moves = ahead[-1][0].after(policy, phase, KEYLESS, False)
        present = state.trial()
        while len(ahead) < workers.n_threads and moves.left[phase]:
            arguments = policy, present, moves, best
            task = workers.begin(functools.partial(self._alone()._tried, *arguments))
            ahead.append((moves, task))
            moves = moves.after(policy, phase, KEYLESS, False)
        try:
            return ahead.popleft()[1].result()
        except Stopped:  # an error in blocks of the test rows stops all kernels
            return self._alone()._tried(policy, present, state.moves, best)

    def give_up_ahead(self):
        """Cancel the trials of later proposals."""
        cancel([task for _, task in self.ahead])
        self.ahead.clear()

    def _alone(self):
        """Return trials for another thread, which share no memory of steps."""
        workers = InlineWorkers(1, self.model.stop)
        return twin(self, problem=replace(self.problem, workers=workers, ascents=[]))

    def _tried(self, policy, state, moves, best):
        """Propose a move, and fit it to a part of the rows.

        Returns
        -------
        attempt : tuple or None
            Result of `_attempt`.
        reached : float or None
            See `_screened`.
        """
        attempt = self._attempt(policy, state, moves)
        if attempt is None:
            return None, None
        try:
            return attempt, self._screened(attempt, policy, state, best)
        except IllDefined:
            return attempt, -math.inf

    def _attempt(self, policy, state, moves):
        """Return a proposal after some moves, or None if nothing is proposed.

        The state of its trial, and number and rows of the part that it is fitted to,
        follow the proposal.
        """
        # Consecutive proposals share a part, so that the copy of the current state is
        # fitted to it only once.
        number = moves.n_proposed - moves.failed % MOVES_OF_A_PART
        part, block, row_weight = self._part(state.seed, number, policy.max_samples)
        random = generator(state.seed, moves.n_proposed, Purpose.PROPOSALS)
        model, labels = self.model, self.problem.labels
        proposal = policy.propose(
            model if labels is None else model.with_labels(labels[part]),
            state.globals_,
            state.hyper,
            block,
            random,
            moves.refused,
            row_weight,
        )
        if proposal is None:
            return None
        _step.check_class(proposal, Proposal, policy, "proposal", ", or None")
        seed = int(random.integers(2**31))
        trial = state.trial(proposal.globals_, proposal.hyper, seed)
        return proposal, trial, number, part

    def _part(self, seed, number, most):
        """Return the rows of a part, their block, and their weights or None."""

        def taken(key, most):
            part, weight = self.rows, self.problem.row_weight
            if most < len(part):
                random = generator(seed, number, Purpose.PARTS)
                part = Rows(part).some(most, random)
            block = self.problem.data.take(self.model, part)
            return part, block, None if weight is None else weight[part]

        key = (seed, number) if most < len(self.rows) else None
        return self._last_part.result(taken, key, most)

    def _reached(self, state, attempt, policy, best, is_screened):
        """Fit a trial and return its lower bound, see `of`."""
        if not is_screened:
            reached = self._screened(attempt, policy, state, best)
            if reached is not None:
                return reached
        _, trial, *_ = attempt
        self.improve(trial, self.rows, SETTLING_STEPS)
        return self.bound(trial)

    def _screened(self, attempt, policy, state, best):
        """Fit a trial to a part of the rows.

        Returns
        -------
        reached : float or None
            Lower bound; -inf if the trial was given up, None if the test rows decide.
        """
        _, trial, number, part = attempt
        n_steps, tempering = _step.steps_on_proposal(policy, self.model)
        if len(part) == len(self.rows):
            given_up = _Ending(best, policy=policy)
            if self.improve(trial, part, n_steps, tempering, given_up):
                return self.bound(trial)
            return -math.inf

        def bounds(*_):
            present = state.trial()
            self.improve(present, part, n_steps)
            return self._bounds(present, part)

        present = self._present_bounds.result(bounds, number, id(policy))
        least = present[0].sum() + present[1]
        worse = functools.partial(self._is_worse, trial, present, part)
        given_up = _Ending(least, policy=policy, confirm=worse)
        if not self.improve(trial, part, n_steps, tempering, given_up):
            return -math.inf
        return -math.inf if self._is_worse(trial, present, part) else None

    def _is_worse(self, trial, present, part):
        """Return whether a trial is not worth steps on all test rows.

        This is so if the rise of the bound of a part of the rows, plus one standard
        error, is at most `SAME_BOUND`.  The standard error is added because a
        proposal that helps few rows may show little gain on a part.
        """
        rises, rise = (
            a - b for a, b in zip(self._bounds(trial, part), present, strict=True)
        )
        rise += rises.sum()
        return rise <= SAME_BOUND - rises.std() * len(part) ** 0.5

    def _bounds(self, state, rows):
        """Return the rows' terms of the lower bound, and the parameters' term."""
        model, weight = self.model, self.problem.row_weight
        scale, ascent = self._scale_of(rows), ascent_on(self.problem, rows, state.hyper)
        row_scale = scale if weight is None else scale * weight[rows]
        if ascent is not None:
            local, bound = bound_of(ascent, state.globals_, state.hyper, scale)
            return row_scale * ascent.row_bounds, bound - scale * local
        prepared = model.prepare(state.globals_, state.hyper)
        bounds = row_scale * self.problem.row_bounds(prepared, rows)
        return bounds, model.global_bound(state.globals_, state.hyper)

    def finished(self, chosen, state, best):
        """Take steps until the lower bound has converged, if the model watches it.

        A move takes only a few steps.  Without convergence, the bound of the current
        state, with which later proposals are compared, would be too low.

        Parameters
        ----------
        chosen : State or None
            State after the move; None if the parameters of ``state`` stay.
        state : State
        best : float
            Lower bound after the move.

        Returns
        -------
        chosen : State or None
        best : float
        """
        present = chosen or state
        has_moved = abs(present.convergence.bound_change) > self.least_gain > 0
        if not (self.model.watches_bound and has_moved):
            return chosen, best

        finished = present.trial()
        at_rest = _Ending(least=self.least_gain)
        self.improve(finished, self.rows, FINISHING_STEPS, given_up=at_rest)
        reached = self.bound(finished)
        return (finished, reached) if reached >= best else (chosen, best)

    def bound(self, state, rows=None):
        """Return the bound of all data, estimated from some rows, by default `rows`."""
        rows = self.rows if rows is None else rows
        scale = self._scale_of(rows)
        if rows is self.rows:
            ascent = ascent_on(self.problem, rows, state.hyper)
            if ascent is not None:
                return bound_of(ascent, state.globals_, state.hyper, scale)[1]
        return self.problem.bound(state.globals_, state.hyper, rows, scale)

    def improve(self, trial, rows, n_steps, tempering=Untempered(), given_up=None):  # noqa: B008
        """Take steps of coordinate ascent on some rows; return whether all were taken.

        Steps end early if ``given_up(before, now, n_left)`` returns True.  Its
        arguments are the bounds of two consecutive steps at T=1, and the number of
        steps left.
        """
        batch = Batch(rows, self._scale_of(rows) * len(rows))
        policies = _step.Policies(tempering, ConstantRate(1.0), NoNoise())
        limits = Ascent.NO_LIMITS if given_up is None else given_up.limits
        if limits is not None and are_planned(policies, trial.policies.tempering):
            fast = ascent_on(self.problem, rows, trial.hyper)
            if fast is not None:
                plan = planned(policies, Clock(), n_steps, len(rows))
                return self._ascend(fast, batch, trial, plan, limits, given_up)
        steps, before = TrialSteps(self.problem, policies, batch, trial), math.nan
        watches = self.model.watches_bound and batch.is_whole
        for number in range(n_steps):
            ends = watches and number >= n_steps - LAST_BOUNDS
            now = steps.local_step(ends or (given_up is not None and number > 0))
            if watches:
                trial.convergence.follow([now])
            if given_up is not None and not math.isnan(now - before):
                if given_up(before, now, n_steps - number):
                    return False
            steps.global_step(last=number == n_steps - 1)
            before = now
        return True

    def _ascend(self, ascent, batch, trial, plan, limits, given_up):
        """Take the steps of a plan by an `Ascent`, see `improve`."""
        n_steps, before = len(plan.temperatures), math.nan
        watches = self.model.watches_bound and batch.is_whole
        watched = np.full(n_steps, given_up is not None)
        watched[0] = False
        watched[max(n_steps - LAST_BOUNDS, 0) :] |= watches
        watched &= plan.temperatures == 1.0
        plan.flags[watched], n_done = Ascent.WATCHED, 0
        ascent.keeps_local = self.model.keeps_local and batch.is_whole
        size = steps_of_call(self.problem, len(batch.rows))
        while True:
            ascent.start(trial.globals_, trial.hyper, trial.local)
            rest, scale = plan.after(n_done), batch.scale
            status, taken, bounds = ascend(ascent, rest, size, limits, before, scale)
            ascent.check(status)
            trial.globals_, trial.hyper = ascent.parameters()
            n_done, bounds = n_done + taken, np.append(before, bounds[1])
            if watches:
                trial.convergence.follow(bounds[1:])
            trial.local, trial.progress.steps = ascent.local, n_done
            trial.progress.samples = n_done * len(batch.rows)
            if status != Ascent.GIVEN_UP:
                return True
            if given_up.confirm():
                return False
            before = float(bounds[-2])
            plan.flags[n_done] |= Ascent.KEEPS_ON

    def _scale_of(self, rows):
        """Return the factor that scales sums over some rows to all rows."""
        weight = self.problem.row_weight
        if weight is None:
            return self.scale * (len(self.all_rows) / len(rows))
        counted = self.all_rows.at(slice(None))
        return self.scale * (weight[counted].sum() / weight[rows].sum())

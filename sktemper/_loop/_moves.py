"""Moves: proposals are tried on some of the rows, then on those that judge them."""

import copy
import functools
import math
import operator
import time
from typing import Any, NamedTuple

import numpy as np

from .._cache import LastCall
from .._data import Rows
from ..model import IllDefined
from ..tempering import Untempered
from ._ascent import Ascent
from ._passes import Hooks
from ._policies import proposed, steps_on_proposal
from ._problem import Batch, generator

__all__ = ["run_moves"]

#: Steps on all rows after those on a part of them, before a move is judged.
SETTLING_STEPS = 3
#: Rows that judge moves after minibatches, where steps on all would take too long.
JUDGING_ROWS = 100_000
#: Proposals in a row that are tried on the same rows, at most.
MOVES_OF_A_PART = 10
#: Keys of the random numbers of proposals, and of rows to try them on and to judge.
PROPOSING, TRYING, JUDGING = 4, 5, 6


class MoveOutcome(NamedTuple):
    """What came of a move.

    Attributes
    ----------
    proposal : Proposal or None
    kept : bool
    chosen : State or None
        The parameters after it, None if they stay.
    moves : MoveProgress
    bound : float
        The lower bound after it.
    """

    proposal: Any
    kept: bool
    chosen: Any
    moves: Any
    bound: float


def run_moves(problem, policies, state, hooks=Hooks(), least_gain=0.0):  # noqa: B008
    """Make the planned moves of a fit.

    A proposal is brought to its optimum on some of the rows; unless the lower bound is
    clearly below that of the present state there, fitted to the same rows, also on
    those that judge it, and if there it is above, the proposal is the model.  The steps
    on it are not those of the fit, and end once the policy gives it up.

    All rows judge, but after minibatches at most `JUDGING_ROWS`; then what moves have
    led to takes a few steps on all rows at last.

    Parameters
    ----------
    problem : Problem
    policies : Policies
    state : State
    hooks : Hooks
    least_gain : float
        By how much the lower bound has to rise.
    """
    trials = _Trials(problem, state)
    if any(state.moves.left):
        with problem.data.held(trials.rows):
            _make_moves(trials, policies, state, hooks, least_gain)


def _make_moves(trials, policies, state, hooks, least_gain):
    problem, best = trials.problem, trials.bound(state)
    while any(state.moves.left):
        hooks.before()
        begin = time.perf_counter()
        outcome = _move(trials, policies.moves, state, best, least_gain)
        best = outcome.bound
        problem.workers.run_whole(
            lambda outcome=outcome, begin=begin: _commit(state, outcome, hooks, begin)
        )
        if hooks.after(best, outcome.kept):
            return


def _move(trials, moves, state, best, least_gain):
    """Make the next proposal; return what came of it."""
    number = next(i for i, left in enumerate(state.moves.left) if left)
    policy = moves.phases()[number]
    proposal, trial, reached = trials.of(policy, state, best)
    rounding = 8 * float(np.finfo(state.dtype).eps) * abs(best)
    kept = bool(reached > best + max(least_gain, rounding))
    best = reached if kept else best
    done = state.moves.after(policy, number, proposal, kept)
    chosen = trial if kept else None
    on_part = trials.on_part and (kept or done.on_part)
    if on_part and not any(done.left):
        chosen = trials.settled(chosen or state)
        best, on_part = trials.bound(chosen, trials.all_rows.at(slice(None))), False
    return MoveOutcome(proposal, kept, chosen, done._replace(on_part=on_part), best)


def _commit(state, outcome, hooks, begin):
    """Make the outcome of a move part of the state."""
    if outcome.chosen is not None:
        state.globals_, state.hyper = outcome.chosen.globals_, outcome.chosen.hyper
        chosen = outcome.chosen.convergence
        state.convergence.lower_bound = chosen.lower_bound
        state.convergence.bound_change = chosen.bound_change
        state.local = None
    state.moves = outcome.moves
    state.progress.seconds += time.perf_counter() - begin
    if outcome.proposal is not None:
        state.history.add_move(
            step=state.progress.steps,
            seconds=state.progress.seconds,
            kept=outcome.kept,
            bound=outcome.bound,
        )
    hooks.on_commit()


def _is_given_up(policy, best, before, now, n_left):
    """Return whether a policy gives a trial up, see `Moves.is_hopeless`."""
    return bool(policy.is_hopeless(best - now, now - before, n_left))


class _Trials:
    """What proposals are tried on: some rows first, then those that judge them.

    Attributes
    ----------
    all_rows : Rows
        Those of the fit that count at all.
    rows : ndarray
        Those that judge.
    on_part : bool
        Whether the latter are fewer.
    """

    def __init__(self, problem, state):
        rows, weight = problem.rows, problem.sample_weight
        self.problem, self.model = problem, problem.model
        self.scale = problem.total / len(rows)
        rows = rows.counted(weight)
        self.all_rows, most = rows, len(rows)
        if state.policies.batch_size < len(rows):
            most = JUDGING_ROWS
        drawing = generator(state.seed, state.progress.passes, JUDGING)
        self.rows = rows.some(most, drawing)
        self.on_part = len(self.rows) < len(rows)
        self._present_bounds = LastCall(operator.eq)

    def of(self, policy, state, best):
        """Propose a move of a state whose lower bound is ``best``.

        Returns
        -------
        proposal : Proposal or None
        trial : State
            Where it leads,
        bound : float
            and the bound there; -inf if it was given up, or a part of the rows speaks
            against it.
        """
        done, weight = state.moves, self.problem.sample_weight
        # the same ones for a while, so that the present state is seldom fitted to them
        number, part = done.n_proposed - done.failed % MOVES_OF_A_PART, self.rows
        if policy.max_samples < len(part):
            drawing = generator(state.seed, number, TRYING)
            part = Rows(part).some(policy.max_samples, drawing)
        random = generator(state.seed, done.n_proposed, PROPOSING)
        proposal = proposed(
            policy,
            self.model,
            state.globals_,
            state.hyper,
            self.problem.data.take(self.model, part),
            random,
            done.refused,
            None if weight is None else weight[part],
        )
        if proposal is None:
            return None, None, -math.inf
        seed = int(random.integers(2**31))
        trial = state.beside(proposal.globals_, proposal.hyper, seed)
        try:
            reached = self.problem.call_with_workers(
                lambda problem: self._on(problem)._reached(
                    trial, policy, state, number, part, best
                ),
                self.rows,
            )
        except IllDefined:
            reached = -math.inf
        return proposal, trial, reached

    def _on(self, problem):
        """Return the same trials of the same problem, with other workers."""
        trials = copy.copy(self)
        trials.problem = problem
        return trials

    def _reached(self, trial, policy, state, number, part, best):
        """Take a trial to its optimum; return the bound there, see `of`."""
        n_steps, tempering = steps_on_proposal(policy, self.model)
        if len(part) == len(self.rows):
            given_up = functools.partial(_is_given_up, policy, best)
            if self.improve(trial, part, n_steps, tempering, given_up):
                return self.bound(trial)
            return -math.inf
        present = self._fitted(state, part, (number, id(policy)), n_steps)
        least = present[0].sum() + present[1]

        def given_up(*bounds):
            if not _is_given_up(policy, least, *bounds):
                return False
            return self._is_worse(trial, present, part)

        if not self.improve(trial, part, n_steps, tempering, given_up):
            return -math.inf
        if self._is_worse(trial, present, part):
            return -math.inf
        self.improve(trial, self.rows, SETTLING_STEPS)
        return self.bound(trial)

    def _fitted(self, state, part, key, n_steps):
        """Return the bounds of the present state once it is fitted to a part, too."""

        def bounds(_):
            present = state.beside(state.globals_, state.hyper)
            self.improve(present, part, n_steps)
            return self._bounds(present, part)

        return self._present_bounds.of(key, bounds)

    def _is_worse(self, trial, present, part):
        """Return whether a part says that a trial lowers the bound of all rows.

        By more than a standard error: what helps few rows may not show in a part.
        """
        rises, rise = (
            a - b for a, b in zip(self._bounds(trial, part), present, strict=True)
        )
        rise += rises.sum()
        return rise <= -rises.std() * len(part) ** 0.5

    def _bounds(self, state, rows):
        """Return the part of each row in the bound, and that of the parameters."""
        model, weight = self.model, self.problem.sample_weight
        prepared = model.prepare(state.globals_, state.hyper)
        scale = self._scale_of(rows)
        if weight is not None:
            scale = scale * weight[rows]
        bounds = scale * self.problem.row_bounds(prepared, rows)
        return bounds, model.global_bound(state.globals_, state.hyper)

    def settled(self, state):
        """Return a state after a few steps on all rows."""
        settled = state.beside(state.globals_, state.hyper)
        self.improve(settled, self.all_rows.at(slice(None)), SETTLING_STEPS)
        return settled

    def bound(self, state, rows=None):
        """Return the lower bound of some rows, in place of all; None is `rows`."""
        rows = self.rows if rows is None else rows
        return self.problem.bound(
            state.globals_, state.hyper, rows, self._scale_of(rows)
        )

    def improve(self, trial, rows, n_steps, tempering=Untempered(), given_up=None):  # noqa: B008
        """Take steps of coordinate ascent on some rows; return whether all were taken.

        They end where ``given_up(before, now, n_left)`` of two bounds at T=1, a step
        apart, and the steps after the later one.
        """
        batch = Batch(rows, self._scale_of(rows) * len(rows))
        ascent, before = Ascent(self.problem, tempering, batch, trial), math.nan
        watches = self.model.watches_bound and batch.is_whole
        for number in range(n_steps):
            ends = watches and number >= n_steps - 2
            now = ascent.local_step(ends or (given_up is not None and number > 0))
            if given_up is not None and not math.isnan(now - before):
                if given_up(before, now, n_steps - number):
                    return False
            ascent.global_step(last=number == n_steps - 1)
            if watches:
                trial.convergence.bound_change = now - before
                trial.convergence.lower_bound = now
            before = now
        return True

    def _scale_of(self, rows):
        """Return what the rows are multiplied by to stand for all."""
        weight = self.problem.sample_weight
        if weight is None:
            return self.scale * (len(self.all_rows) / len(rows))
        counted = self.all_rows.at(slice(None))
        return self.scale * (weight[counted].sum() / weight[rows].sum())

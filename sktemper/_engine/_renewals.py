"""Renewals: fits of new components to the memory of a stream, a sample of recent rows.

The result of a renewal is a challenger: parameters that replace the current parameters
if they predict the next rows of the stream better.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..learning_rates import ConstantRate, RobbinsMonro
from ..model import IllDefined
from ..noise import NoNoise
from ..schedules import Plan
from ..tempering import Untempered
from ._data import Data, InMemory
from ._moves import run_moves
from ._passes import run_passes
from ._policies import Policies, numbers_of_moves
from ._problem import generator
from ._reservoir import Challenger
from ._state import MoveProgress

#: Key of the random numbers of a renewal.
RENEWING = 7
#: Numbers of passes of three fits: a new fit to a memory that is not full, the fit of
#: new components, and the fit of all components before merges.  After merges, one step
#: on all rows removes the noise of the steps on mini-batches.
FRESH_PASSES, BIRTH_PASSES, JOINED_PASSES = 8, 3, 1
#: Number of steps on all rows that untempered fits take if the model watches its lower
#: bound.  The steps replace the passes on mini-batches, or the one step after merges.
STEPS_ON_ALL = 10
#: All rows.
ALL = slice(None)


class _Renewing:
    """A renewal in progress; the parameters are those of `challenger_of`."""

    def __init__(self, problem, policies, tempering, state, remembered):
        self.problem, self.policies, self.tempering = problem, policies, tempering
        self.state = state
        self.X = state.stream.memory.matrix()[remembered.rows]
        _, self.weight, self.recent = remembered

    def random(self, number):
        return generator(self.state.seed, self.state.stream.samples, RENEWING, number)

    def on(self, X, weight, model):
        """Return the problem of a model, a matrix and weights of its rows."""
        data = Data([InMemory(X)], [X], X)
        return replace(
            self.problem,
            model=model,
            data=data,
            rows=data.all_rows(),
            sample_weight=weight,
            total_samples=None,
            validation=None,
            labels=None,
            ascents=[],
        )

    def trial(self, globals_, hyper, number):
        return self.state.trial(
            globals_, hyper, int(self.random(number).integers(2**31))
        )

    def passes(self, model, trial, rows, n_passes, tempering=None):
        """Make passes over some rows; they change only the trial state.

        If ``n_passes`` is None, take one step on all rows.  A model that watches its
        bound takes `STEPS_ON_ALL` such steps instead, unless it is tempered.
        """
        on_all = n_passes is None
        if model.watches_bound and tempering is None:
            on_all, n_passes = True, STEPS_ON_ALL
        n_passes, tempering = n_passes or 1, tempering or Untempered()
        X, weight = self.X[rows], self.weight[rows]
        problem, policies = self.on(X, weight, model), trial.policies
        n_rows = X.shape[0]
        rate, size = RobbinsMonro(), model.auto_batch_size(X, n_rows)
        if on_all:
            rate, size = ConstantRate(1.0), n_rows
        policies.batch_size = min(size, n_rows)
        trial.progress.planned_passes = trial.progress.passes + n_passes
        per_pass = math.ceil(n_rows / policies.batch_size)
        temperatures = ()
        if tempering.has_critical_temperatures:
            temperatures = problem.temperatures(tempering, trial.hyper)
        plan = Plan(per_pass * n_passes, per_pass, *temperatures)
        tempering = tempering.resolved(plan)
        if not tempering.knows(policies.tempering) or trial.progress.steps == 0:
            policies.tempering = tempering.initial_state(
                model, trial.hyper, self.random(99)
            )
        run_passes(problem, Policies(tempering, rate, NoNoise()), trial)

    def fresh(self):
        """Return the parameters of a new fit to the memory, and its new components."""
        model, random = self.problem.model, self.random(0)
        hyper = self.state.hyper
        seed = np.random.RandomState(int(random.integers(2**31)))
        globals_ = model.initial_globals(self.X, seed, hyper, self.weight)
        trial = self.trial(globals_, hyper, 1)
        self.passes(model, trial, ALL, FRESH_PASSES, self.tempering)
        self._make_moves(model, trial)
        globals_, is_same = model.matched(
            *trial.parameters, *self.state.parameters, self.X, self.weight
        )
        return globals_, trial.hyper, np.flatnonzero(~is_same)

    def _make_moves(self, model, trial):
        moves = self.policies.moves
        left = numbers_of_moves(moves)
        if any(left):
            trial.moves = MoveProgress(left)
            policies = Policies(Untempered(), RobbinsMonro(), NoNoise(), moves)
            run_moves(self.on(self.X, self.weight, model), policies, trial)

    def renewed(self):
        model, state = self.problem.model, self.state
        memory = self.X, self.weight
        if state.stream.reason == "start":
            return self.fresh()
        recent = self.X[self.recent], self.weight[self.recent]
        n_births = self.policies.renewals.n_births(model.n_components)
        larger, globals_, hyper = model.with_births(
            *state.parameters, n_births, *recent, self.random(2)
        )
        born = self.trial(globals_, hyper, 3)
        self.passes(larger, born, self.recent, BIRTH_PASSES)
        both, globals_, hyper = model.joined(
            state.globals_, state.hyper, born.globals_, *memory
        )
        trial = self.trial(globals_, hyper, 4)
        self.passes(both, trial, ALL, JOINED_PASSES)
        globals_, hyper, is_new = model.merged(
            *trial.parameters, *state.parameters, *memory
        )
        steps = trial.progress
        trial = self.trial(globals_, hyper, 5)
        trial.progress = replace(steps, passes=0)
        self.passes(model, trial, ALL, None)
        n_rows = len(self.weight)
        # rows of the stream, in which older rows count less
        size = state.policies.learning_rate.size
        share = 1.0 - n_rows / max(n_rows, size)
        globals_ = model.blended(
            trial.globals_, trial.hyper, state.globals_, ~is_new, share
        )
        return globals_, trial.hyper, np.flatnonzero(is_new)


class Remembered(NamedTuple):
    """Rows of the memory that a renewal uses.

    Attributes
    ----------
    rows : ndarray of int of shape (n_rows,)
        Positions of the rows in the memory.
    weight : ndarray of shape (n_rows,)
        Weights of the rows, see `Reservoir.sample`.
    recent : ndarray of int
        Indices of those rows to which new components are fitted, see
        `Stream.first_recent`.
    """

    rows: np.ndarray
    weight: np.ndarray
    recent: np.ndarray

    @classmethod
    def of(cls, stream, capacity):
        """Return at most ``capacity`` rows of the memory of a `Stream`."""
        rows, weight = stream.memory.sample(capacity)
        recent = stream.memory.numbers[rows] >= stream.first_recent
        return cls(rows, weight, np.flatnonzero(recent))

    @property
    def n_recent(self):
        """Effective number of the recent rows, (sum of w)^2 / (sum of w^2)."""
        weight = self.weight[self.recent]
        weight = weight / weight.max(initial=1e-300)  # squares may underflow
        return weight.sum() ** 2 / max((weight**2).sum(), 1e-300)


def challenger_of(problem, policies, tempering, state, remembered):
    """Return the `Challenger` of a renewal, or None if its fit failed.

    Parameters
    ----------
    problem : Problem
    policies : Policies
    tempering : Tempering
        Tempering of new fits; each fit resolves "auto" parameters.
    state : State
        Current state, which is not changed.
    remembered : Remembered
    """
    renewing = _Renewing(problem, policies, tempering, state, remembered)
    try:
        globals_, hyper, born = renewing.renewed()
        problem.model.check(globals_, hyper)
    except (IllDefined, np.linalg.LinAlgError):
        return None
    trial = renewing.trial(globals_, hyper, 6)
    trial.policies = replace(state.policies)
    return Challenger(trial, born)

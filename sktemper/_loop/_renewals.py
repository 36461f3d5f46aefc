"""Renewals: challengers are fitted to the memory of a stream."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._data import Data, InMemory
from ..learning_rates import RobbinsMonro
from ..model import IllDefined
from ..noise import NoNoise
from ..schedules import Plan
from ..tempering import Untempered
from ._passes import run_passes
from ._policies import Policies
from ._problem import generator
from ._stream import Challenger

__all__ = ["challenger_of"]

#: Key of the random numbers of a renewal.
RENEWING = 7
#: Passes of a new fit to a memory that is not full, of the fit of new components, and
#: of the fits of all components before and after they are merged.
FRESH_PASSES, BIRTH_PASSES, JOINED_PASSES, MERGED_PASSES = 5, 5, 2, 2


@dataclass(frozen=True)
class _Renewing:
    """A renewal under way.

    Parameters
    ----------
    problem : Problem
        Problem of the present chunk, of which the workers and the model are used.
    tempering : Tempering
        Tempering of the fits from a new start, with "auto" unresolved.
    state : State
        Present state, which is not changed.
    size : float
        n, the number of rows that count.
    X : ndarray or CSR
        Rows of the memory.
    recent : ndarray of int
        Places in ``X`` of the rows since the last renewal.
    n_births : int
    """

    problem: Any
    tempering: Any
    state: Any
    size: float
    X: Any
    recent: Any
    n_births: int

    def random(self, number):
        """Return a generator of this renewal."""
        return generator(self.state.seed, self.state.stream.samples, RENEWING, number)

    def on(self, X, model):
        """Return the problem of a model and a matrix."""
        data = Data([InMemory(X)], [X], X)
        return replace(
            self.problem,
            model=model,
            data=data,
            rows=data.all_rows(),
            sample_weight=None,
            total_samples=None,
            validation=None,
        )

    def trial(self, globals_, hyper, number):
        """Return a state for passes from these parameters."""
        return self.state.beside(
            globals_, hyper, int(self.random(number).integers(2**31))
        )

    def passes(self, model, trial, X, n_passes, tempering=Untempered()):  # noqa: B008
        """Make passes over some rows; they change only the trial state."""
        problem, policies = self.on(X, model), trial.policies
        n_rows = X.shape[0]
        policies.batch_size = min(model.auto_batch_size(X, n_rows), n_rows)
        trial.progress.planned_passes = trial.progress.passes + n_passes
        per_pass = math.ceil(n_rows / policies.batch_size)
        temperatures = ()
        if tempering.has_critical_temperatures:
            temperatures = (
                model.auto_temperature(trial.hyper),
                _critical_temperatures(model, X, trial.hyper),
            )
        plan = Plan(per_pass * n_passes, per_pass, *temperatures)
        tempering = tempering.resolved(plan)
        if not tempering.knows(policies.tempering) or trial.progress.steps == 0:
            policies.tempering = tempering.initial_state(
                model, trial.hyper, self.random(99)
            )
        run_passes(problem, Policies(tempering, RobbinsMonro(), NoNoise()), trial)

    def fresh(self):
        """Return the parameters of a new fit to the memory, and no new components."""
        model, random = self.problem.model, self.random(0)
        hyper = self.state.hyper
        seed = np.random.RandomState(int(random.integers(2**31)))
        globals_ = model.initial_globals(self.X, seed, hyper, None)
        trial = self.trial(globals_, hyper, 1)
        self.passes(model, trial, self.X, FRESH_PASSES, self.tempering)
        globals_, matched = model.matched(self.state.globals_, trial.globals_)
        return globals_, trial.hyper, np.flatnonzero(~matched)

    def renewed(self):
        """Return the parameters of a renewal, and its new components."""
        model, state, X = self.problem.model, self.state, self.X
        if state.stream.reason == "start":
            return self.fresh()
        recent = X[self.recent]
        larger, globals_, hyper = model.with_births(
            state.globals_, state.hyper, self.n_births, recent, self.random(2)
        )
        born = self.trial(globals_, hyper, 3)
        self.passes(larger, born, recent, BIRTH_PASSES)
        both, globals_, hyper = model.joined(state.globals_, state.hyper, born.globals_)
        trial = self.trial(globals_, hyper, 4)
        self.passes(both, trial, X, JOINED_PASSES)
        globals_, hyper, is_new = model.merged(
            trial.globals_, trial.hyper, state.globals_, state.hyper
        )
        steps = trial.progress
        trial = self.trial(globals_, hyper, 5)
        trial.progress = replace(steps, passes=0)
        self.passes(model, trial, X, MERGED_PASSES)
        share = max(0.0, 1.0 - X.shape[0] / self.size)
        globals_ = model.blended(trial.globals_, state.globals_, ~is_new, share)
        return globals_, trial.hyper, np.flatnonzero(is_new)


def _critical_temperatures(model, X, hyper):
    if "critical_temperatures" not in model.capabilities():
        return None
    found = model.critical_temperatures(X, hyper, None)
    return None if found is None else tuple(map(float, found))


def challenger_of(problem, policies, tempering, state, capacity):
    """Return the `Challenger` of a renewal, or None if its fit failed.

    Parameters
    ----------
    problem : Problem
    policies : Policies
    tempering : Tempering
        With "auto" unresolved.
    state : State
        It is not changed.
    capacity : int
        Largest number of rows of the memory.
    """
    stream, model = state.stream, problem.model
    X, numbers = stream.memory.sample(capacity)
    recent = np.flatnonzero(numbers >= stream.last)
    renewing = _Renewing(
        problem,
        tempering,
        state,
        state.policies.learning_rate.size,
        X,
        recent,
        policies.renewals.n_births(model.n_components),
    )
    try:
        globals_, hyper, born = renewing.renewed()
        model.check(globals_, hyper)
    except IllDefined:
        return None
    trial = renewing.trial(globals_, hyper, 6)
    trial.policies = replace(state.policies)
    return Challenger(trial, born)

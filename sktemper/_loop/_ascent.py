"""Coordinate ascent on trial parameters, outside the history of the fit."""

import math
import operator

import numpy as np

from .._cache import LastCall
from ..learning_rates import ConstantRate
from ..model import IllDefined, all_finite
from ..noise import NoNoise
from ._policies import Policies
from ._problem import QUIETLY, generator
from ._step import StepInputs, prepared_of

__all__ = ["Ascent"]


class Ascent:
    """Consecutive steps of rate 1 on the same rows, without noise.

    The steps change only a trial state, which an interrupted fit discards.  Therefore
    they may be interrupted halfway, unlike the steps of a fit, whose results are
    installed all at once.

    Parameters
    ----------
    problem : Problem
    tempering : Tempering
    batch : Batch
    trial : State
        Trial state, which no other code may change meanwhile.  Its clock starts at 0.
    """

    def __init__(self, problem, tempering, batch, trial):
        self.problem, self.batch, self.trial = problem, batch, trial
        self.policies = Policies(tempering, ConstantRate(1.0), NoNoise())
        self._units, self._n_units = problem.units(batch.rows)
        is_random = problem.model.is_random
        self._random = generator(trial.seed, 0) if is_random else None
        self._prepared = prepared_of(problem.model, trial.globals_, trial.hyper)
        self._blocks = LastCall(operator.eq)
        self._step_inputs, self._local = None, None
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
        trial, inputs = self.trial, self._inputs()
        local = self.problem.local_steps(
            self.batch, inputs, self.policies.tempering, trial, self._cut(inputs)
        )
        if not all_finite(local.bound, local.score):
            raise IllDefined()
        self._step_inputs, self._local = inputs, local
        if not watched or inputs.temperature != 1.0:
            return math.nan
        try:
            rest = self.problem.model.global_bound(trial.globals_, trial.hyper)
        except np.linalg.LinAlgError as error:
            raise IllDefined() from error
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
        model, trial = self.problem.model, self.trial
        inputs, local, scale = self._step_inputs, self._local, self.batch.scale
        arguments = local.statistics, scale
        old, powers = trial.globals_, inputs.powers
        try:
            hyper = model.update_hyper(trial.hyper, old, *arguments, 1.0, powers)
            globals_ = model.step(old, *arguments, powers, 1.0, hyper)
        except np.linalg.LinAlgError as error:
            raise IllDefined() from error
        self._prepared = prepared_of(model, globals_, hyper, not last)
        trial.globals_, trial.hyper = globals_, hyper
        trial.local = np.concatenate(local.kept) if local.kept else None
        trial.policies.tempering = self.policies.tempering_after(
            trial.policies.tempering, local, scale, inputs.clock
        )
        trial.progress.steps += 1
        trial.progress.samples += len(self.batch.rows)

    def _inputs(self):
        """Return the inputs of the local steps."""
        clock = self.trial.clock(self.batch.total_of_clock)
        policies, tempering = self.policies, self.trial.policies.tempering
        return StepInputs(
            clock,
            policies.temperature(tempering, clock),
            policies.powers(tempering, clock, self._n_units),
            self._prepared,
            self._random,
            self._units,
            None,
        )

    def _cut(self, inputs):
        """Return the blocks of a step, cached if equal to the last step's blocks."""
        model, powers = self.problem.model, inputs.powers
        are_common = not any(isinstance(power, np.ndarray) for power in powers)
        if not are_common or model.is_random or model.keeps_local:
            return self.problem.blocks(self.batch, inputs, self.trial)

        def listed(_):
            blocks = self.problem.blocks(self.batch, inputs, self.trial)
            return [(part, list(own)) for part, own in blocks]

        return self._blocks.of(powers, listed)

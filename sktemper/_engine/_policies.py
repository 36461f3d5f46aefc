"""The policies of a fit, with checks of the values that they return."""

import contextlib
import functools
import math
from typing import NamedTuple

import numpy as np

from .._utils._policy import as_number, as_numbers
from ..learning_rates import LearningRate
from ..model import Powers
from ..moves import Moves, NoMoves, Proposal
from ..noise import GradientNoise
from ..renewals import NoRenewals
from ..schedules import HOTTEST
from ..tempering import Tempering

#: Smallest power, the reciprocal of the highest temperature.
LEAST_POWER = 1 / HOTTEST
#: Names of the fields of `Powers` in errors.
NAMES_OF_POWERS = "prior", "statistics", "local step"


class Policies(NamedTuple):
    """The policies of a fit, with values instead of all "auto" parameters.

    Users may write their own policies.  If a policy returns an invalid value, the
    methods raise TypeError or ValueError with the name of the policy.
    """

    tempering: Tempering
    learning_rate: LearningRate
    gradient_noise: GradientNoise
    moves: Moves = NoMoves()
    renewals: NoRenewals = NoRenewals()

    def check(self, model):
        for policy in (*self[:3], *self.moves.phases(), self.renewals):
            policy.check(model)

    def check_plan(self, states, clocks):
        """Raise if a value that depends on the time only is invalid at some clock.

        Parameters
        ----------
        states : PolicyStates
        clocks : list of Clock
            Clocks of planned steps.
        """
        temperatures = self.tempering.schedule_of_temperatures()
        if temperatures is not None:
            temperatures.check_values(clocks)
        elif states.tempering is None:
            for clock in clocks:
                self.temperature(None, clock)
        sizes = self.gradient_noise.schedule_of_sizes()
        if sizes is not None:
            sizes.check_values(clocks, "effective batch size", math.inf)
        if states.learning_rate is None:
            clocks = clocks[:1] if self.learning_rate._is_one else clocks
            with contextlib.suppress(_DataNeeded):
                powers_at = functools.partial(self.tempering.powers, states.tempering)
                for clock in clocks:
                    powers = functools.partial(powers_at, clock)
                    self.rate(None, clock, _no_gradient, powers)

    def temperature(self, state, clock):
        given = self.tempering.temperature(state, clock)
        what = f"temperature of step {clock.steps + 1}"
        return as_number(given, self.tempering, what, 1.0, HOTTEST)

    def powers(self, state, clock, n_units):
        powers = self.tempering.powers(state, clock)
        _check_class(powers, Powers, self.tempering, "powers")
        checked = []
        for power, name in zip(powers, NAMES_OF_POWERS, strict=True):
            given = power, self.tempering, f"power of the {name}"
            if np.ndim(power) and name != "prior":
                checked.append(as_numbers(*given, n_units, LEAST_POWER, 1.0))
            else:
                checked.append(as_number(*given, LEAST_POWER, 1.0))
        return Powers(*checked)

    def ladder(self, state):
        """Return the ladder's temperatures and their probabilities, or None twice."""
        ladder = self.tempering.ladder()
        probabilities = self.tempering.probabilities(state)
        if ladder is None and probabilities is None:
            return None, None
        n, of = np.size(ladder), "of the ladder"
        return (
            as_numbers(ladder, self.tempering, f"temperatures {of}", n, 0.0),
            as_numbers(probabilities, self.tempering, f"probabilities {of}", n, 0.0),
        )

    def tempering_after(self, state, local, scale, clock):
        state = self.tempering.next_state(state, local, scale, clock)
        self.ladder(state)
        return state

    def unit_noise(self, n_units, clock, random):
        """Return the noise factors of the units of a batch, or None without noise."""
        factors = self.gradient_noise.unit_noise(n_units, clock, random)
        if factors is None:
            return None
        return as_numbers(factors, self.gradient_noise, "factors", n_units)

    def rate(self, state, clock, gradient, powers):
        """Return the rate of the next step, and the new state of the learning rate."""
        answer = self.learning_rate.next_rate(state, clock, gradient)
        if not (isinstance(answer, tuple) and len(answer) == 2):
            raise TypeError(
                f"{type(self.learning_rate).__name__} gave {answer!r}, which must be a "
                "pair: the rate of a step and the state after it."
            )
        rate, state = answer
        what = f"learning rate of step {clock.steps + 1}"
        checks = self.learning_rate, what, 0.0, 1.0
        rate = self.learning_rate.scaled(as_number(rate, *checks), powers)
        return as_number(rate, *checks), state

    def guarded(self, rate, largest_rate):
        """Return the rate, reduced so that the step stays in the domain."""
        rate = self.gradient_noise.guarded(rate, largest_rate)
        return as_number(rate, self.gradient_noise, "guarded rate", 0.0, 1.0)


class _DataNeeded(Exception):
    """Error of a learning rate that needs the gradient, before there is one."""


def _no_gradient():
    raise _DataNeeded


def proposed(policy, *arguments):
    """Return the `Proposal` of a policy for moves, or None."""
    proposal = policy.propose(*arguments)
    if proposal is not None:
        _check_class(proposal, Proposal, policy, "proposal", ", or None")
    return proposal


def _check_class(value, cls, policy, what, others=""):
    """Raise if a value that a policy returned is not of a class."""
    if not isinstance(value, cls):
        raise TypeError(
            f"{type(policy).__name__} gave {value!r} as the {what}, which must be of "
            f"the class {cls.__name__}{others}."
        )


def numbers_of_moves(moves):
    """Return the largest number of proposals of each phase of moves."""
    return tuple(phase.n_moves for phase in moves.phases())


def steps_on_proposal(policy, model):
    n_steps = policy.n_steps(model)
    n_steps = int(as_number(n_steps, policy, "number of steps", 1.0))
    tempering = policy.tempering(n_steps)
    _check_class(tempering, Tempering, policy, "tempering of its steps")
    return n_steps, tempering

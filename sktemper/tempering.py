"""Tempering: at what temperature a model is seen during training.

A high temperature T flattens the likelihood, p(x, z | globals)^(1/T), and with it the
poor local optima.  Scores and transforms are always those of T=1.
"""

import math

from sklearn.utils._param_validation import StrOptions

from .model import Powers
from .policy import Policy, Slot, refuse
from .schedules import as_schedule

__all__ = ["Annealing", "Tempering", "Untempered"]


class Tempering(Policy):
    """Base of the tempering policies.

    A subclass defines `temperature` and `powers`, and `is_settled`; what it learns on
    the way is a state that goes in and comes out.
    """

    def resolved(self, plan):
        """Return a policy with ``"auto"`` replaced by what suits the `Plan`."""
        return self

    def initial_state(self, model, hyper, random):
        """Return what the policy remembers between steps (a picklable value)."""
        return None

    def temperature(self, state, clock):
        """Return the temperature of the next step: a number to report."""
        raise NotImplementedError

    def powers(self, state, clock):
        """Return the `Powers` at which the next step sees the model."""
        raise NotImplementedError

    def is_settled(self, state, clock):
        """Return whether the temperature stays what it is from now on."""
        raise NotImplementedError

    def local_step(self, model, block, prepared, powers, weights, seed):
        """Run a block's local step; may run it several times.  A pure function."""
        return model.local_step(block, prepared, powers, weights, seed)

    def next_state(self, state, local_step, scale, clock):
        """Return the state after a step."""
        return state


class Untempered(Tempering):
    """The temperature is 1: plain variational inference (``tempering=None``)."""

    def temperature(self, state, clock):
        """Return 1."""
        return 1.0

    def powers(self, state, clock):
        """Return the powers of the model itself."""
        return Powers()

    def is_settled(self, state, clock):
        """Return True."""
        return True


_TARGETS = {
    "local_step": lambda b: Powers(1.0, 1.0, b),
    "likelihood": lambda b: Powers(1.0, b, b),
    "posterior": lambda b: Powers(b, b, b),
}


class Annealing(Tempering):
    """Deterministic annealing: the temperature follows a schedule.

    Parameters
    ----------
    schedule : Schedule, callable or None, default=None
        The temperature at each step; None is `ExponentialSchedule()`.
    target : {"local_step", "likelihood", "posterior"}, default="local_step"
        What is raised to the power 1/T:

        - "local_step": the likelihood in the local step alone; the global step gets
          the full statistics.  The best of the three on every corpus tried.
        - "likelihood": the likelihood everywhere [2]_, section 3.
        - "posterior": likelihood and priors [1]_, equations 17 to 22, with the base
          measure's correction: a Dirichlet prior a becomes (a + T - 1) / T.

    References
    ----------
    .. [1] F. Abrol, S. Mandt, R. Ranganath, D. Blei, "Deterministic annealing for
       stochastic variational inference", 2014.
    .. [2] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016.

    Examples
    --------
    >>> from sktemper.schedules import LinearSchedule
    >>> from sktemper.tempering import Annealing
    >>> Annealing(LinearSchedule(start=5, length=100), target="likelihood")
    Annealing(schedule=LinearSchedule(length=100, start=5), target='likelihood')
    """

    _slots = {"schedule": Slot(as_schedule)}
    _parameter_constraints = {
        "schedule": "no_validation",
        "target": [StrOptions(set(_TARGETS))],
    }

    def __init__(self, schedule=None, target="local_step"):
        self.schedule = schedule
        self.target = target

    def resolved(self, plan):
        """Return a policy with ``"auto"`` replaced by what suits the `Plan`."""
        return Annealing(as_schedule(self.schedule).resolved(plan), self.target)

    def temperature(self, state, clock):
        """Return the schedule's value at the clock."""
        temperature = as_schedule(self.schedule).at(clock)
        if not (math.isfinite(temperature) and temperature > 0):
            raise ValueError(
                f"The schedule returned the temperature {temperature} at "
                f"{clock}; temperatures must be finite and positive."
            )
        return temperature

    def powers(self, state, clock):
        """Return the `Powers` at which the next step sees the model."""
        return _TARGETS[self.target](1.0 / self.temperature(state, clock))

    def is_settled(self, state, clock):
        """Return whether the schedule's value stays what it is from now on."""
        return as_schedule(self.schedule).is_settled(clock)


def as_tempering(value):
    """Return the tempering that ``value`` stands for: None is `Untempered`.

    Raises
    ------
    sklearn.utils._param_validation.InvalidParameterError
        If ``value`` is neither a policy nor None.
    """
    if value is None:
        return Untempered()
    if isinstance(value, Tempering):
        return value
    refuse("tempering", "a tempering (see sktemper.tempering) or None", value)

"""Deterministic annealing: the temperature follows a schedule."""

from collections.abc import Callable
from typing import Literal, Self

from sklearn.utils._param_validation import StrOptions

from .._utils._arguments import refuse
from .._utils._policy import Slot
from ..model import Powers
from ..schedules import Schedule, as_schedule
from ._base import Tempering

#: Powers of each target for an inverse temperature b.
TARGETS = {
    "local_step": lambda b: Powers(1.0, 1.0, b),
    "likelihood": lambda b: Powers(1.0, b, b),
    "posterior": lambda b: Powers(b, b, b),
}


class Annealing(Tempering):
    """Deterministic annealing: the temperature follows a schedule.

    The first tempering to try: it was better than plain inference on every corpus
    tried, and costs little.  Tempered priors keep their base measure: a Dirichlet prior
    a becomes (a + T - 1) / T.

    Parameters
    ----------
    schedule : Schedule, callable or None, default=None
        The temperature at each step; None means `ExponentialSchedule()`.
    target : {"local_step", "likelihood", "posterior"}, default="local_step"
        What is raised to the power 1/T: the likelihood in the local step only, which
        was best on every corpus tried; the likelihood in both steps, section 3 of [2]_;
        or also the priors, equations 17 to 22 of [1]_.

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
        "target": [StrOptions(set(TARGETS))],
    }

    def __init__(
        self,
        schedule: Schedule | Callable | None = None,
        target: Literal["local_step", "likelihood", "posterior"] = "local_step",
    ):
        self.schedule = schedule
        self.target = target

    @property
    def has_critical_temperatures(self) -> bool:
        """Whether critical temperatures apply.  They do not if priors are tempered."""
        return self.target != "posterior"

    def resolved(self, plan) -> Tempering:
        """Return the policy with each "auto" replaced by a value for the `Plan`."""
        return Annealing(as_schedule(self.schedule).resolved(plan), self.target)

    def schedule_of_temperatures(self) -> Schedule | None:
        """Return the schedule."""
        return as_schedule(self.schedule)

    def validate(self) -> Self:
        """Check the parameters and the parameters of the schedule; return self."""
        super().validate()
        refuse_cold(as_schedule(self.schedule), "schedule")
        return self

    def temperature(self, state, clock) -> float:
        """Return the value of the schedule at the clock."""
        return as_schedule(self.schedule).at(clock)

    def powers(self, state, clock) -> Powers:
        """Return the `Powers` of the next step."""
        return TARGETS[self.target](1.0 / self.temperature(state, clock))

    def is_settled(self, state, clock) -> bool:
        """Return whether the schedule is constant from now on."""
        return as_schedule(self.schedule).is_settled(clock)


def refuse_cold(schedule, parameter):
    """Raise if the lowest value of a schedule is known to be below 1."""
    if schedule.lowest() < 1:
        refuse(parameter, "a schedule of temperatures, which are at least 1", schedule)

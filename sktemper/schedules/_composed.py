"""Schedules that wrap other schedules or functions."""

import math
from numbers import Integral, Real

from .._utils._arguments import Interval, refuse
from .._utils._policy import Slot
from .._utils._typing import Float
from ._base import Schedule
from ._ramps import ExponentialSchedule


class StepSchedule(Schedule):
    r"""Schedule that takes the value of another schedule at regular intervals.

    .. math:: T(t) = schedule(every \lfloor t / every \rfloor)

    Parameters
    ----------
    schedule : Schedule or callable, default=None
        Schedule of the values.  None is ``ExponentialSchedule()``.
    every : float, default=1000
        Time between updates, in the unit of ``schedule``; 1000 steps in the papers.

    Examples
    --------
    >>> from sktemper.schedules import LinearSchedule, StepSchedule
    >>> schedule = StepSchedule(LinearSchedule(start=3, length=100), every=50)
    >>> [schedule(t) for t in (0, 49, 50, 99, 100)]
    [3.0, 3.0, 2.0, 2.0, 1.0]
    """

    _slots = {"schedule": Slot(lambda value: as_schedule(value, "schedule"))}
    _parameter_constraints = {
        "schedule": "no_validation",
        "every": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, schedule: Schedule | None = None, every: Float = 1000):
        self.schedule = schedule
        self.every = every

    @property
    def unit(self) -> str:
        """The unit of the inner schedule."""
        return as_schedule(self.schedule, "schedule").unit

    def __call__(self, t) -> float:
        """Return the value at time ``t >= 0``."""
        held = self.every * math.floor(t / self.every)
        return as_schedule(self.schedule, "schedule")(held)

    def lowest(self) -> float:
        """Return the lowest value of the inner schedule."""
        return as_schedule(self.schedule, "schedule").lowest()

    def settles_at(self) -> float:
        """Return the time of the update from which the value is constant."""
        settled = as_schedule(self.schedule, "schedule").settles_at()
        if math.isinf(settled):
            return settled
        return self.every * math.ceil(settled / self.every)

    def resolved(self, plan) -> Schedule:
        """Return a schedule with ``"auto"`` replaced by values for the `Plan`."""
        inner = as_schedule(self.schedule, "schedule").resolved(plan)
        return StepSchedule(inner, self.every)


class FunctionSchedule(Schedule):
    """Schedule that a user's function of t defines, where t counts steps.

    It is unknown whether the values of a function will change.  Therefore the
    temperature counts as settled only while it is 1.

    Parameters
    ----------
    function : callable
        ``function(t)`` returns a number, at least 1.
    """

    _parameter_constraints = {"function": [callable]}

    def __init__(self, function):
        self.function = function

    def __call__(self, t):
        """Return the value at time ``t >= 0``."""
        return self.function(t)

    def _called(self):
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"The schedule {name}"

    def settles_at(self):
        """Return infinity, because the time is unknown."""
        return math.inf

    def is_settled(self, clock):
        """Return whether the value is 1."""
        return self.at(clock) == 1.0


def as_schedule(value, parameter="schedule"):
    """Return the schedule that ``value`` stands for.

    Parameters
    ----------
    value : Schedule, callable or None
        None stands for ``ExponentialSchedule()``.
    parameter : str
        Name of the parameter, for errors.

    Raises
    ------
    sklearn.utils._param_validation.InvalidParameterError
        If ``value`` is a number, which could mean a constant or a start, or if it has
        another type.
    """
    if value is None:
        return ExponentialSchedule()
    if isinstance(value, Schedule):
        return value
    if isinstance(value, Real | Integral):
        refuse(
            parameter,
            f"a schedule: ExponentialSchedule(start={value}) cools from {value} to 1, "
            f"and ConstantSchedule({value}) is constant",
            value,
        )
    if callable(value) and not isinstance(value, type):
        return FunctionSchedule(value)
    refuse(parameter, "a schedule (see sktemper.schedules), a callable or None", value)

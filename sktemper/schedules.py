"""Schedules: a number as a function of training progress.

A schedule is called with a time *t*, 0 at the first step, and returns a number: a
temperature, or the effective batch size of SVI+.  Time is counted in minibatch steps,
or in passes over the data (``unit="passes"``).
"""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import NamedTuple

from sklearn.utils._param_validation import Interval, StrOptions

from ._policy import Policy, Slot, as_number, refuse

__all__ = [
    "Clock",
    "ConstantSchedule",
    "ExponentialSchedule",
    "LinearSchedule",
    "Plan",
    "RampSchedule",
    "Schedule",
    "StepSchedule",
]

#: What ``length="auto"`` aims at, in steps, when the fit is long enough; and what it is
#: in a stream, which may end at any step.
AUTO_LENGTH, STREAM_LENGTH = 150, 15
#: The most passes it takes, if a pass has several steps: small data gain nothing from
#: more, and lose from many.
AUTO_PASSES = 5
#: What ``start="auto"`` is when nothing is known, and at most in such a stream.
AUTO_START = 2.0
#: No temperature is above this: 1/T would be nothing.
HOTTEST = 1e30


class Plan(NamedTuple):
    """What is known of a fit before it begins.

    Attributes
    ----------
    n_steps : int or None
        The steps planned in all; None for a stream.
    steps_per_pass : float or None
        As the clock counts passes: in samples seen over the total.  None if the size
        of the data is unknown.
    temperature : float
        Where the model would have an annealing begin.
    """

    n_steps: int | None = None
    steps_per_pass: float | None = None
    temperature: float = AUTO_START

    def hot_start(self):
        """Return `temperature`, if there is such a one."""
        if not 1.0 <= self.temperature <= HOTTEST:
            raise ValueError(
                f"The model asks for a start at the temperature {self.temperature}: "
                "values or variances are too large or too small. Rescale the data, or "
                "give the schedule a start."
            )
        return self.temperature


@dataclass(frozen=True)
class Clock:
    """How far a fit has come.

    Attributes
    ----------
    steps : int
        Steps completed.
    samples : int
        Samples seen, repeats included.
    total : int or None
        Samples in the data, None if not known.
    """

    steps: int = 0
    samples: int = 0
    total: int | None = None

    def time(self, unit):
        """Return the time in "steps" or "passes"."""
        if unit == "steps":
            return self.steps
        if unit != "passes":
            raise ValueError(f"A unit of time is 'steps' or 'passes', not {unit!r}.")
        if self.total is None:
            raise ValueError(
                "A schedule with unit='passes' has to know how large the data are: "
                "set total_samples, or use unit='steps'."
            )
        return self.samples / self.total


class Schedule(Policy):
    """Base of the schedules.

    A subclass defines ``__call__(t)``, and where its value changes until some time
    and no longer, ``settles_at``.  No value may be below 1: neither a temperature nor
    a number of units is.
    """

    unit = "steps"

    def __call__(self, t):
        """Return the value at time ``t >= 0``."""
        raise NotImplementedError

    def settles_at(self):
        """Return the time from which the value stays the same (``inf``: never)."""
        return 0.0

    def resolved(self, plan):
        """Return a schedule with ``"auto"`` replaced by what suits the `Plan`."""
        return self

    def lowest(self):
        """Return the lowest value, as far as the parameters tell (``inf``: not)."""
        return math.inf

    def at(self, clock, what="temperature", most=HOTTEST):
        """Return the value at a `Clock`; raise if ``what`` it is cannot be that."""
        time = clock.time(self.unit)
        return as_number(self(time), self, f"{what} at t={time:g}", 1.0, most)

    def is_settled(self, clock):
        """Return whether the value stays what it is from this `Clock` on."""
        settled = as_number(
            self.settles_at(), self, "time at which it settles", -math.inf, math.inf
        )
        return clock.time(self.unit) >= settled


class ConstantSchedule(Schedule):
    """The same value for ever.

    Parameters
    ----------
    value : float, default=1.0

    Examples
    --------
    >>> from sktemper.schedules import ConstantSchedule
    >>> ConstantSchedule(1.5)(1000)
    1.5
    """

    _parameter_constraints = {"value": [Interval(Real, 0, None, closed="neither")]}

    def __init__(self, value=1.0):
        self.value = value

    def __call__(self, t):
        """Return the value at time ``t >= 0``."""
        return self.value

    def lowest(self):
        """Return the value."""
        return self.value


class _Ramp(Schedule):
    """From ``start`` to ``stop`` within ``length``."""

    _parameter_constraints = {
        "start": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "stop": [Interval(Real, 0, None, closed="neither")],
        "length": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "unit": [StrOptions({"steps", "passes"})],
    }

    def __init__(self, start="auto", stop=1.0, length="auto", unit="steps"):
        self.start = start
        self.stop = stop
        self.length = length
        self.unit = unit

    def __call__(self, t):
        """Return the value at time ``t >= 0``."""
        length = self.settles_at()
        if t >= length:
            return self.stop
        start = AUTO_START if self.start == "auto" else self.start
        return self._between(start, t / length)

    def lowest(self):
        """Return the lower end; that of "auto" is at least 1."""
        return self.stop if self.start == "auto" else min(self.start, self.stop)

    def settles_at(self):
        """Return the time from which the value stays the same."""
        if self.length == "auto":
            return STREAM_LENGTH if self.unit == "steps" else 1.0
        return self.length

    def resolved(self, plan):
        """Return a schedule whose parameters are numbers that suit the `Plan`."""
        start, length = self.start, self.length
        if start == "auto":
            start = plan.hot_start()
            if plan.n_steps is None:
                start = min(start, AUTO_START)
        if length == "auto":
            length = STREAM_LENGTH
            if plan.n_steps is not None:
                length = min(AUTO_LENGTH, plan.n_steps // 2)
            in_batches = plan.steps_per_pass and plan.steps_per_pass > 1
            if in_batches and plan.n_steps is not None:
                length = min(length, math.ceil(AUTO_PASSES * plan.steps_per_pass))
            if self.unit == "passes":
                length = length / plan.steps_per_pass if plan.steps_per_pass else 1.0
        return type(self)(start, self.stop, length, self.unit)


class LinearSchedule(_Ramp):
    r"""A straight line, then constant.

    .. math:: T(t) = start + (stop - start) \min(t / length, 1)

    Parameters
    ----------
    start : float or "auto", default="auto"
        First value.  "auto" is set when a fit begins: what suits the model, for LDA
        the fourth root of the number of topics (3.2 for 100); at most 2 in a stream
        of unknown length.
    stop : float, default=1.0
        Last value.
    length : float or "auto", default="auto"
        When ``stop`` is reached.  "auto" is set when a fit begins: 150 steps, at
        most half of those planned and five passes; 15 in a stream of unknown length,
        which may end at any step.
    unit : {"steps", "passes"}, default="steps"
        What ``t`` and ``length`` count.  Passes are samples seen, repeats included,
        over the size of the data: in a stream they need ``total_samples``.

    Examples
    --------
    >>> from sktemper.schedules import LinearSchedule
    >>> schedule = LinearSchedule(start=3, length=100)
    >>> [schedule(t) for t in (0, 50, 100, 1000)]
    [3.0, 2.0, 1.0, 1.0]
    """

    def _between(self, start, share):
        return start + (self.stop - start) * share


class ExponentialSchedule(_Ramp):
    r"""Geometric cooling, then constant: the default of the ``Annealed*`` estimators.

    .. math:: T(t) = start \, (stop / start)^{\min(t / length, 1)}

    Parameters
    ----------
    start : float or "auto", default="auto"
        First value.  "auto" is set when a fit begins: what suits the model, for LDA
        the fourth root of the number of topics (3.2 for 100); at most 2 in a stream
        of unknown length.
    stop : float, default=1.0
        Last value.
    length : float or "auto", default="auto"
        When ``stop`` is reached.  "auto" is set when a fit begins: 150 steps, at
        most half of those planned and five passes; 15 in a stream of unknown length,
        which may end at any step.
    unit : {"steps", "passes"}, default="steps"
        What ``t`` and ``length`` count.  Passes are samples seen, repeats included,
        over the size of the data: in a stream they need ``total_samples``.

    Examples
    --------
    >>> from sktemper.schedules import ExponentialSchedule
    >>> schedule = ExponentialSchedule(start=4, length=100)
    >>> [schedule(t) for t in (0, 50, 100, 1000)]
    [4.0, 2.0, 1.0, 1.0]
    """

    def _between(self, start, share):
        return start * (self.stop / start) ** share


class RampSchedule(Schedule):
    r"""A straight line that rises for ever: an effective batch that grows.

    .. math:: M(t) = start + slope \, t

    As the ``effective_batch_size`` of `sktemper.noise.SVIPlusNoise` it fades the noise
    out; the defaults are M = 50, 100, 150, ... [1]_, section IV.A, whose first
    iteration, 1, is t = 0 here.

    Parameters
    ----------
    start : float, default=50.0
        First value.
    slope : float, default=50.0
        What a unit of time adds.
    unit : {"steps", "passes"}, default="steps"
        What ``t`` counts.  Passes are samples seen, repeats included, over the size of
        the data: in a stream they need ``total_samples``.

    References
    ----------
    .. [1] J. Paisley, G. Fazelnia, B. Barr, "Stochastic variational inference with
       tuneable stochastic annealing".

    Examples
    --------
    >>> from sktemper.schedules import RampSchedule
    >>> schedule = RampSchedule()
    >>> [schedule(t) for t in (0, 1, 2, 1000)]
    [50.0, 100.0, 150.0, 50050.0]
    """

    _parameter_constraints = {
        "start": [Interval(Real, 0, None, closed="neither")],
        "slope": [Interval(Real, 0, None, closed="neither")],
        "unit": [StrOptions({"steps", "passes"})],
    }

    def __init__(self, start=50.0, slope=50.0, unit="steps"):
        self.start = start
        self.slope = slope
        self.unit = unit

    def __call__(self, t):
        """Return the value at time ``t >= 0``."""
        return self.start + self.slope * t

    def lowest(self):
        """Return the start."""
        return self.start

    def settles_at(self):
        """Return infinity: it never does."""
        return math.inf


class StepSchedule(Schedule):
    r"""Another schedule, its value held between updates.

    .. math:: T(t) = schedule(every \lfloor t / every \rfloor)

    Parameters
    ----------
    schedule : Schedule
        The schedule that is sampled.
    every : float, default=1000
        Time between updates, in the unit of ``schedule``.

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

    def __init__(self, schedule=None, every=1000):
        self.schedule = schedule
        self.every = every

    @property
    def unit(self):
        """The unit of the inner schedule."""
        return as_schedule(self.schedule, "schedule").unit

    def __call__(self, t):
        """Return the value at time ``t >= 0``."""
        held = self.every * math.floor(t / self.every)
        return as_schedule(self.schedule, "schedule")(held)

    def lowest(self):
        """Return the lowest value of the inner schedule."""
        return as_schedule(self.schedule, "schedule").lowest()

    def settles_at(self):
        """Return the time of the update from which the value stays the same."""
        settled = as_schedule(self.schedule, "schedule").settles_at()
        if math.isinf(settled):
            return settled
        return self.every * math.ceil(settled / self.every)

    def resolved(self, plan):
        """Return a schedule with ``"auto"`` replaced by what suits the `Plan`."""
        inner = as_schedule(self.schedule, "schedule").resolved(plan)
        return StepSchedule(inner, self.every)


class FunctionSchedule(Schedule):
    """Any function of t, in steps.

    Whether the function still changes nobody can know: its temperature counts as
    settled where it is 1.

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
        """Return infinity: nobody knows."""
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
        The name that an error gives it.

    Raises
    ------
    sklearn.utils._param_validation.InvalidParameterError
        For numbers, which could be meant as a constant or as a start, and for
        anything else.
    """
    if value is None:
        return ExponentialSchedule()
    if isinstance(value, Schedule):
        return value
    if isinstance(value, Real | Integral):
        refuse(
            parameter,
            f"a schedule: ExponentialSchedule(start={value}) begins there and cools "
            f"to 1, ConstantSchedule({value}) stays there for ever",
            value,
        )
    if callable(value) and not isinstance(value, type):
        return FunctionSchedule(value)
    refuse(parameter, "a schedule (see sktemper.schedules), a callable or None", value)

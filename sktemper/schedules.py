"""Schedules: a number as a function of training progress.

A schedule is called with a time *t*, 0 at the first step, and returns a number: a
temperature, or the effective batch size of SVI+.  Time is counted in steps, one for
each mini-batch, or in passes over the data (``unit="passes"``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Literal, NamedTuple

from ._utils._arguments import refuse
from ._utils._constraints import NOT_NEGATIVE, POSITIVE, StrOptions, WholeNumber
from ._utils._policy import Policy, Slot, as_number
from ._utils._typing import Float, Int

__all__ = [
    "Clock",
    "ConstantSchedule",
    "CyclicSchedule",
    "ExponentialSchedule",
    "LinearSchedule",
    "Plan",
    "RampSchedule",
    "Schedule",
    "StepSchedule",
]


#: Value of ``start="auto"`` without a plan, and its largest value in a stream without a
#: planned number of steps.
AUTO_START = 2.0
#: Number of steps of ``length="auto"`` in a fit that is long enough.
AUTO_LENGTH = 150
#: Ratio of the start to the first critical temperature of the data.  It is above
#: 1 because estimates have errors, and so that components separate slowly.
ABOVE_CRITICAL = 1.2
#: Largest temperature.
HOTTEST = 1e30


class Plan(NamedTuple):
    """Plan of a fit, from which schedules compute "auto".

    Attributes
    ----------
    n_steps : int or None
        Number of planned steps.  In a stream of unknown length, it is twice the length
        that ``length="auto"`` stands for if the model has `stream_rows`, and None
        otherwise.
    steps_per_pass : float or None
        Number of steps in which the clock advances by one pass.  None if the size of
        the data is unknown.
    temperature : float
        Start temperature of the model if the data have no critical temperatures.
    critical_temperatures : tuple of float or None
        Critical temperatures of the data, largest first, see
        `sktemper.model.ConjugateModel.critical_temperatures`; None if they are not
        known.
    most_steps : int
        Largest number of steps that ``length="auto"`` stands for.

    Examples
    --------
    >>> from sktemper.schedules import Plan
    >>> Plan(n_steps=300, critical_temperatures=(3.0, 1.5), temperature=8.0).start()
    3.6
    """

    n_steps: int | None = None
    steps_per_pass: float | None = None
    temperature: float = AUTO_START
    critical_temperatures: tuple | None = None
    most_steps: int = AUTO_LENGTH
    _new_fields = ("most_steps",)

    def start(self) -> float:
        """Return the temperature of ``start="auto"``.

        It is `ABOVE_CRITICAL` times the first of the `critical_temperatures`, at least
        1 and at most `temperature`.  If they are not known, it is `temperature`.  If
        `n_steps` is None, it is at most `AUTO_START`.
        """
        start = self.model_start()
        if self.n_steps is None:
            start = min(start, AUTO_START)
        if self.critical_temperatures:
            critical = ABOVE_CRITICAL * self.critical_temperatures[0]
            start = min(start, max(1.0, critical))
        return start

    def model_start(self) -> float:
        """Return `temperature`; raise if it is not valid."""
        if not 1.0 <= self.temperature <= HOTTEST:
            raise ValueError(
                f"The model asks for a start at the temperature {self.temperature}: "
                "values or variances are too large or too small. Rescale the data, or "
                "give the schedule a start."
            )
        return self.temperature


@dataclass(frozen=True)
class Clock:
    """Progress of a fit in steps, samples and passes.

    Attributes
    ----------
    steps : int
        Number of completed steps.
    samples : int
        Number of samples used by all steps; a sample counts once for each use.
    total : int or None
        Number of samples of the data; None if it is unknown.

    Examples
    --------
    >>> from sktemper.schedules import Clock
    >>> clock = Clock(steps=40, samples=4_000, total=2_000)
    >>> clock.time("steps"), clock.time("passes")
    (40, 2.0)
    """

    steps: int = 0
    samples: int = 0
    total: int | None = None

    def time(self, unit: str) -> float:
        """Return the time in "steps" or "passes"."""
        if unit == "steps":
            return self.steps
        if unit != "passes":
            raise ValueError(f"A unit of time is 'steps' or 'passes', not {unit!r}.")
        if self.total is None:
            raise ValueError(
                "A schedule with unit='passes' needs the size of the data: set "
                "total_samples, or use unit='steps'."
            )
        return self.samples / self.total


class Schedule(Policy):
    """Base of the schedules.

    A subclass defines ``__call__(t)`` and, unless its value is always constant,
    ``settles_at``.  Values must be at least 1, whether they are temperatures or batch
    sizes.

    Examples
    --------
    A schedule of your own, which can be pickled if its class is in a module:

    >>> from sktemper import AnnealedLDA
    >>> from sktemper.datasets import make_lda_documents
    >>> from sktemper.schedules import Schedule
    >>> class Halving(Schedule):
    ...     def __call__(self, t):
    ...         return max(1.0, 4.0 * 0.5**t)
    ...
    ...     def settles_at(self):
    ...         return 2.0
    >>> [Halving()(t) for t in range(4)]
    [4.0, 2.0, 1.0, 1.0]
    >>> X = make_lda_documents(200, 100, 5, random_state=0)
    >>> AnnealedLDA(5, schedule=Halving(), random_state=0).fit(X).temperature_
    1.0
    """

    unit = "steps"

    def __call__(self, t: float) -> float:
        """Return the value at time ``t >= 0``."""
        raise NotImplementedError

    def settles_at(self) -> float:
        """Return the time from which the value is constant, or infinity; here 0."""
        return 0.0

    def lowest(self) -> float:
        """Return the lowest value, or infinity if it is unknown."""
        return math.inf

    def at(
        self, clock: Clock, what: str = "temperature", most: float = HOTTEST
    ) -> float:
        """Return the value at a `Clock`; raise if it is not a valid ``what``."""
        time = clock.time(self.unit)
        value = self(time)
        if type(value) is float and 1.0 <= value <= most:
            return value
        return as_number(value, self, f"{what} at t={time:g}", 1.0, most)

    def check_values(
        self, clocks: Iterable[Clock], what: str = "temperature", most: float = HOTTEST
    ) -> None:
        """Raise if the value at one of several clocks is not a valid ``what``."""
        for clock in clocks:
            self.at(clock, what, most)

    def _planned(self, clocks):
        """Return the values at increasing clocks."""
        return [self.at(clock) for clock in clocks]

    def is_settled(self, clock: Clock) -> bool:
        """Return whether the value is constant from this `Clock` on."""
        settled = as_number(
            self.settles_at(), self, "time at which it settles", -math.inf, math.inf
        )
        return clock.time(self.unit) >= settled


# -- constant, falling and rising values -----------------------------------------------
#: Largest number of steps of ``length="auto"`` in a stream of unknown length, which may
#: end at any step.
STREAM_LENGTH = 15
#: Largest number of passes of ``length="auto"``, if a pass has several steps.  With
#: small data, more passes do not help.
AUTO_PASSES = 5


@dataclass(eq=False, repr=False)
class ConstantSchedule(Schedule):
    """A schedule with the same value at every step.

    Parameters
    ----------
    value : float, default=1.0
        The value, above 0; at least 1 for a temperature.

    Examples
    --------
    >>> from sktemper.schedules import ConstantSchedule
    >>> ConstantSchedule(1.5)(1000)
    1.5
    """

    _parameter_constraints = {"value": [POSITIVE]}

    value: Float = 1.0

    def __call__(self, t) -> float:
        return self.value

    def lowest(self) -> float:
        return self.value


@dataclass(eq=False, repr=False)
class _Ramp(Schedule):
    """Base of schedules that change from ``start`` to ``stop`` within ``length``."""

    _parameter_constraints = {
        "start": [POSITIVE, StrOptions({"auto"})],
        "stop": [POSITIVE],
        "length": [NOT_NEGATIVE, StrOptions({"auto"})],
        "unit": [StrOptions({"steps", "passes"})],
    }

    start: Float | Literal["auto"] = "auto"
    stop: Float = 1.0
    length: Float | Literal["auto"] = "auto"
    unit: Literal["steps", "passes"] = "steps"

    def __call__(self, t) -> float:
        length = self.settles_at()
        if t >= length:
            return self.stop
        start = AUTO_START if self.start == "auto" else self.start
        return self._between(start, t / length)

    def check_values(self, clocks, what="temperature", most=HOTTEST) -> None:
        clocks = list(clocks)
        try:  # all values lie between the first and the last
            for clock in (*clocks[:1], *clocks[-1:]):
                self.at(clock, what, most)
        except ValueError:
            super().check_values(clocks, what, most)

    def _planned(self, clocks):
        self.check_values(clocks)
        settled = self.settles_at()
        times = [clock.time(self.unit) for clock in clocks]
        values = [self(time) for time in times if time < settled]
        return values + [self.stop] * (len(times) - len(values))

    def lowest(self) -> float:
        """Return the lower of start and stop, or stop if the start is "auto"."""
        return self.stop if self.start == "auto" else min(self.start, self.stop)

    def settles_at(self) -> float:
        if self.length == "auto":
            return STREAM_LENGTH if self.unit == "steps" else 1.0
        return self.length

    def resolved(self, plan) -> Schedule:
        start, length = self.start, self.length
        if start == "auto":
            start = plan.start()
        if length == "auto":
            length = STREAM_LENGTH
            if plan.n_steps is not None:
                length = min(plan.most_steps, plan.n_steps // 2)
            in_batches = plan.steps_per_pass and plan.steps_per_pass > 1
            if in_batches and plan.n_steps is not None:
                length = min(length, math.ceil(AUTO_PASSES * plan.steps_per_pass))
            if self.unit == "passes":
                length = length / plan.steps_per_pass if plan.steps_per_pass else 1.0
        return self._with(start=start, length=length)


class LinearSchedule(_Ramp):
    r"""Schedule that changes linearly to ``stop``, and then is constant.

    .. math:: T(t) = start + (stop - start) \min(t / length, 1)

    Parameters
    ----------
    start : float or "auto", default="auto"
        First value, as in `ExponentialSchedule`.
    stop : float, default=1.0
        Last value; 1 for temperatures.
    length : float or "auto", default="auto"
        Time at which ``stop`` is reached, as in `ExponentialSchedule`.
    unit : {"steps", "passes"}, default="steps"
        Unit of ``t`` and ``length``, as in `ExponentialSchedule`.

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
    r"""Schedule that changes geometrically to ``stop``, and then is constant.

    This is the default schedule of the ``Annealed*`` estimators.

    .. math:: T(t) = start \, (stop / start)^{\min(t / length, 1)}

    Parameters
    ----------
    start : float or "auto", default="auto"
        First value, such as a temperature; higher to forget more of the start.  "auto"
        is 1.2 times the first critical temperature of the data
        (`sktemper.critical_temperatures`), at most the start temperature of the model.
    stop : float, default=1.0
        Last value; 1 for temperatures.
    length : float or "auto", default="auto"
        Time at which ``stop`` is reached; longer if results differ between starts.
        "auto" is 150 steps, 30 for Gaussian mixtures in one batch, but at most half of
        the planned steps; with mini-batches, at most five passes; 15 steps in a stream
        of unknown length.
    unit : {"steps", "passes"}, default="steps"
        Unit of ``t`` and ``length``.  "passes" are the samples used, divided by the
        size of the data, so that a stream needs ``total_samples``.

    Examples
    --------
    >>> from sktemper.schedules import ExponentialSchedule
    >>> schedule = ExponentialSchedule(start=4, length=100)
    >>> [schedule(t) for t in (0, 50, 100, 1000)]
    [4.0, 2.0, 1.0, 1.0]
    """

    def _between(self, start, share):
        return start * (self.stop / start) ** share


@dataclass(eq=False, repr=False)
class RampSchedule(Schedule):
    r"""Value that grows linearly without limit, for effective batch sizes.

    .. math:: M(t) = start + slope \, t

    As the ``effective_batch_size`` of `sktemper.noise.SVIPlusNoise`, the schedule makes
    the noise fade.  The defaults give M = 50, 100, 150, ..., as in section IV.A of
    [1]_, whose first iteration is t = 0 here.

    Parameters
    ----------
    start : float, default=50.0
        First value.
    slope : float, default=50.0
        Increase in a unit of time; smaller for noise that lasts longer.
    unit : {"steps", "passes"}, default="steps"
        Unit of ``t``.  "passes" are the samples used, divided by the size of the data,
        so that a stream needs ``total_samples``.

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
        "start": [POSITIVE],
        "slope": [POSITIVE],
        "unit": [StrOptions({"steps", "passes"})],
    }

    start: Float = 50.0
    slope: Float = 50.0
    unit: Literal["steps", "passes"] = "steps"

    def __call__(self, t) -> float:
        return self.start + self.slope * t

    def lowest(self) -> float:
        return self.start

    def settles_at(self) -> float:
        """Return infinity, because the value always changes."""
        return math.inf


# -- schedules of other schedules and of functions -------------------------------------
class _Nested(Schedule):
    """Base of schedules that change the times of another one."""

    _slots = {"schedule": Slot(lambda value: as_schedule(value, "schedule"))}

    @property
    def _inner(self):
        return as_schedule(self.schedule, "schedule")

    @property
    def unit(self) -> str:
        """Unit of the inner schedule."""
        return self._inner.unit

    def lowest(self) -> float:
        return self._inner.lowest()


@dataclass(eq=False, repr=False)
class StepSchedule(_Nested):
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

    _parameter_constraints = {"every": [POSITIVE]}

    schedule: Schedule | None = None
    every: Float = 1000

    def __call__(self, t) -> float:
        held = self.every * math.floor(t / self.every)
        return self._inner(held)

    def settles_at(self) -> float:
        """Return the time of the update from which the value is constant."""
        settled = self._inner.settles_at()
        if math.isinf(settled):
            return settled
        return self.every * math.ceil(settled / self.every)

    def resolved(self, plan) -> Schedule:
        return self._with(schedule=self._inner.resolved(plan))


@dataclass(eq=False, repr=False)
class CyclicSchedule(_Nested):
    r"""Schedule that begins another schedule again, for a number of cycles.

    The values of cycle c = 0, ..., n_cycles - 1 are

    .. math:: T(t) = schedule(t - c \, period), \quad
        c = \min(\lfloor t / period \rfloor, n\_cycles - 1)

    so that the last cycle ends as ``schedule`` does.  Cycles were proposed for the
    weight of the divergence in variational autoencoders [1]_.

    Parameters
    ----------
    schedule : Schedule or callable, default=None
        Schedule of a cycle.  None is ``ExponentialSchedule()``.
    n_cycles : int, default=2
        Number of cycles.
    period : float or "auto", default="auto"
        Time between the beginnings of cycles, in the unit of ``schedule``.  "auto" is
        twice the time after which ``schedule`` is constant.

    Raises
    ------
    ValueError
        In a call, if the period is "auto" and ``schedule`` does not become constant.

    References
    ----------
    .. [1] H. Fu, C. Li, X. Liu, J. Gao, A. Celikyilmaz, L. Carin, "Cyclical annealing
       schedule: a simple approach to mitigating KL vanishing", NAACL 2019.

    Examples
    --------
    >>> from sktemper.schedules import CyclicSchedule, LinearSchedule
    >>> schedule = CyclicSchedule(LinearSchedule(start=3, length=10))
    >>> [schedule(t) for t in (0, 5, 10, 19, 20, 25, 30, 100)]
    [3.0, 2.0, 1.0, 1.0, 3.0, 2.0, 1.0, 1.0]
    """

    _parameter_constraints = {
        "n_cycles": [WholeNumber(1)],
        "period": [NOT_NEGATIVE, StrOptions({"auto"})],
    }

    schedule: Schedule | None = None
    n_cycles: Int = 2
    period: Float | Literal["auto"] = "auto"

    def _length_of_cycle(self, schedule):
        if self.period != "auto":
            return self.period
        period = 2 * schedule.settles_at()
        if math.isinf(period):
            refuse("period", f"a number, because {schedule!r} has no end", self.period)
        return period

    def __call__(self, t) -> float:
        inner = self._inner
        period = self._length_of_cycle(inner)
        cycle = min(t // period, self.n_cycles - 1) if period > 0 else 0
        return inner(t - cycle * period)

    def settles_at(self) -> float:
        """Return the time at which the last cycle becomes constant."""
        inner = self._inner
        return (self.n_cycles - 1) * self._length_of_cycle(inner) + inner.settles_at()

    def resolved(self, plan) -> Schedule:
        if plan.n_steps is not None:  # each cycle has its share of the steps
            plan = plan._replace(n_steps=plan.n_steps // self.n_cycles)
        inner = self._inner.resolved(plan)
        return self._with(schedule=inner, period=self._length_of_cycle(inner))


@dataclass(eq=False, repr=False)
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

    function: Callable

    def __call__(self, t):
        return self.function(t)

    def _called(self):
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"The schedule {name}"

    def settles_at(self):
        """Return infinity, because the time is unknown."""
        return math.inf

    def is_settled(self, clock):
        return self.at(clock) == 1.0


def as_schedule(value, parameter="schedule"):
    """Return the schedule that ``value`` stands for.

    None stands for ``ExponentialSchedule()``.  A number is refused, because it could
    mean a constant or a start.
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

"""Schedules with constant, falling and rising values."""

import math
from numbers import Real
from typing import Literal

from sklearn.utils._param_validation import StrOptions

from .._utils._arguments import Interval
from .._utils._typing import Float
from ._base import AUTO_START, Schedule

#: Number of steps of ``length="auto"`` in a fit that is long enough, and largest number
#: in a stream of unknown length, which may end at any step.
AUTO_LENGTH, STREAM_LENGTH = 150, 15
#: Largest number of passes of ``length="auto"``, if a pass has several steps.  With
#: small data, more passes do not help.
AUTO_PASSES = 5


class ConstantSchedule(Schedule):
    """A schedule with the same value at every step.

    Parameters
    ----------
    value : float, default=1.0
        The value, above 0.  A temperature must be at least 1.

    Examples
    --------
    >>> from sktemper.schedules import ConstantSchedule
    >>> ConstantSchedule(1.5)(1000)
    1.5
    """

    _parameter_constraints = {"value": [Interval(Real, 0, None, closed="neither")]}

    def __init__(self, value: Float = 1.0):
        self.value = value

    def __call__(self, t) -> float:
        """Return the value at time ``t >= 0``."""
        return self.value

    def lowest(self) -> float:
        """Return the value."""
        return self.value


class _Ramp(Schedule):
    """Base of schedules that change from ``start`` to ``stop`` within ``length``."""

    _parameter_constraints = {
        "start": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "stop": [Interval(Real, 0, None, closed="neither")],
        "length": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "unit": [StrOptions({"steps", "passes"})],
    }

    def __init__(
        self,
        start: Float | Literal["auto"] = "auto",
        stop: Float = 1.0,
        length: Float | Literal["auto"] = "auto",
        unit: Literal["steps", "passes"] = "steps",
    ):
        self.start = start
        self.stop = stop
        self.length = length
        self.unit = unit

    def __call__(self, t) -> float:
        """Return the value at time ``t >= 0``."""
        length = self.settles_at()
        if t >= length:
            return self.stop
        start = AUTO_START if self.start == "auto" else self.start
        return self._between(start, t / length)

    def lowest(self) -> float:
        """Return the lower of start and stop, or stop if the start is "auto"."""
        return self.stop if self.start == "auto" else min(self.start, self.stop)

    def settles_at(self) -> float:
        """Return the time from which the value is constant."""
        if self.length == "auto":
            return STREAM_LENGTH if self.unit == "steps" else 1.0
        return self.length

    def resolved(self, plan) -> Schedule:
        """Return a schedule with ``"auto"`` replaced by values for the `Plan`."""
        start, length = self.start, self.length
        if start == "auto":
            start = plan.start()
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
    r"""Schedule that changes linearly to ``stop``, and then is constant.

    .. math:: T(t) = start + (stop - start) \min(t / length, 1)

    Parameters
    ----------
    start : float or "auto", default="auto"
        First value.  "auto" is computed at the start of a fit: 1.2 times the first
        critical temperature of the data, see `sktemper.critical_temperatures`, but at
        most the start temperature of the model, for LDA the fourth root of the number
        of topics (3.2 for 100).  Without critical temperatures it is the start
        temperature of the model.  In a stream of unknown length it is at most 2, except
        for topics.
    stop : float, default=1.0
        Last value.
    length : float or "auto", default="auto"
        Time at which ``stop`` is reached.  "auto" is computed at the start of a fit:
        150 steps, but at most half of the planned steps, and at most five passes.  In a
        stream of unknown length, which may end at any step, it is 15 steps; for topics,
        it is the number of steps in which 80 documents per topic are processed, but at
        least 5 and at most 15.
    unit : {"steps", "passes"}, default="steps"
        Unit of ``t`` and ``length``.  The number of passes is the number of samples
        used, with repetitions, divided by the size of the data.  A stream therefore
        needs ``total_samples``.

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
        First value.  "auto" is computed at the start of a fit: 1.2 times the first
        critical temperature of the data, see `sktemper.critical_temperatures`, but at
        most the start temperature of the model, for LDA the fourth root of the number
        of topics (3.2 for 100).  Without critical temperatures it is the start
        temperature of the model.  In a stream of unknown length it is at most 2, except
        for topics.
    stop : float, default=1.0
        Last value.
    length : float or "auto", default="auto"
        Time at which ``stop`` is reached.  "auto" is computed at the start of a fit:
        150 steps, but at most half of the planned steps, and at most five passes.  In a
        stream of unknown length, which may end at any step, it is 15 steps; for topics,
        it is the number of steps in which 80 documents per topic are processed, but at
        least 5 and at most 15.
    unit : {"steps", "passes"}, default="steps"
        Unit of ``t`` and ``length``.  The number of passes is the number of samples
        used, with repetitions, divided by the size of the data.  A stream therefore
        needs ``total_samples``.

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
        Increase of the value in a unit of time.
    unit : {"steps", "passes"}, default="steps"
        Unit of ``t``.  The number of passes is the number of samples used, with
        repetitions, divided by the size of the data.  A stream therefore needs
        ``total_samples``.

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

    def __init__(
        self,
        start: Float = 50.0,
        slope: Float = 50.0,
        unit: Literal["steps", "passes"] = "steps",
    ):
        self.start = start
        self.slope = slope
        self.unit = unit

    def __call__(self, t) -> float:
        """Return the value at time ``t >= 0``."""
        return self.start + self.slope * t

    def lowest(self) -> float:
        """Return the start."""
        return self.start

    def settles_at(self) -> float:
        """Return infinity, because the value always changes."""
        return math.inf

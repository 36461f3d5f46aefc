"""Schedules: a number as a function of training progress.

A schedule is called with a time *t*, 0 at the first step, and returns a number: a
temperature, or the effective batch size of SVI+.  Time is counted in steps, one for
each mini-batch, or in passes over the data (``unit="passes"``).
"""

from ._base import AUTO_START, HOTTEST, Clock, Plan, Schedule  # noqa: F401
from ._composed import FunctionSchedule, StepSchedule, as_schedule  # noqa: F401
from ._ramps import (  # noqa: F401
    AUTO_LENGTH,
    STREAM_LENGTH,
    ConstantSchedule,
    ExponentialSchedule,
    LinearSchedule,
    RampSchedule,
)

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

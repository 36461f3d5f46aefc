"""Base class of schedules, and their arguments: the clock and the plan of a fit."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from .._utils._policy import Policy, as_number

#: Value of ``start="auto"`` without a plan, and its largest value in a stream without a
#: planned number of steps.
AUTO_START = 2.0
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
        Number of planned steps.  In a stream of unknown length, it is twice the number
        of steps of ``length="auto"`` if the model has `stream_rows`, and None
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
    """

    n_steps: int | None = None
    steps_per_pass: float | None = None
    temperature: float = AUTO_START
    critical_temperatures: tuple | None = None

    def start(self) -> float:
        """Return the temperature of ``start="auto"``.

        It is `ABOVE_CRITICAL` times the first of the `critical_temperatures`, at least
        1 and at most `hot_start`.  If they are not known, it is `hot_start`.  If
        `n_steps` is None, it is at most `AUTO_START`.
        """
        start = self.hot_start()
        if self.n_steps is None:
            start = min(start, AUTO_START)
        if self.critical_temperatures:
            critical = ABOVE_CRITICAL * self.critical_temperatures[0]
            start = min(start, max(1.0, critical))
        return start

    def hot_start(self) -> float:
        """Return `temperature`; raise if it is not a valid temperature."""
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

    A subclass defines ``__call__(t)``, and ``settles_at`` if its value is constant from
    some positive time on.  Values must be at least 1, whether they are temperatures or
    batch sizes.
    """

    unit = "steps"

    def __call__(self, t: float) -> float:
        """Return the value at time ``t >= 0``."""
        raise NotImplementedError

    def settles_at(self) -> float:
        """Return the time from which the value is constant, or infinity."""
        return 0.0

    def resolved(self, plan: Plan) -> Schedule:
        """Return a schedule with ``"auto"`` replaced by values for the `Plan`."""
        return self

    def lowest(self) -> float:
        """Return the lowest value, or infinity if it is unknown."""
        return math.inf

    def at(
        self, clock: Clock, what: str = "temperature", most: float = HOTTEST
    ) -> float:
        """Return the value at a `Clock`; raise if it is not a valid ``what``."""
        time = clock.time(self.unit)
        return as_number(self(time), self, f"{what} at t={time:g}", 1.0, most)

    def check_values(
        self, clocks: Iterable[Clock], what: str = "temperature", most: float = HOTTEST
    ) -> None:
        """Raise if the value at one of several clocks is not a valid ``what``."""
        for clock in clocks:
            self.at(clock, what, most)

    def is_settled(self, clock: Clock) -> bool:
        """Return whether the value is constant from this `Clock` on."""
        settled = as_number(
            self.settles_at(), self, "time at which it settles", -math.inf, math.inf
        )
        return clock.time(self.unit) >= settled

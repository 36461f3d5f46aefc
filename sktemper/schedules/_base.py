"""What a schedule is, and what it is asked for: a clock, and a plan."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from .._policy import Policy, as_number

__all__ = ["AUTO_START", "HOTTEST", "Clock", "Plan", "Schedule"]

#: What ``start="auto"`` is when nothing is known, and at most in such a stream.
AUTO_START = 2.0
#: How far above the first critical temperature of the data an annealing begins: enough
#: for differences to grow slowly when it is passed, and for errors of its estimate.
ABOVE_CRITICAL = 1.2
#: No temperature is above this: 1/T would be nothing.
HOTTEST = 1e30


class Plan(NamedTuple):
    """What is known of a fit before it begins, for schedules with "auto".

    Attributes
    ----------
    n_steps : int or None
        The steps planned in all; None for a stream.
    steps_per_pass : float or None
        As the clock counts passes: in samples seen over the total.  None if the size
        of the data is unknown.
    temperature : float
        Where the model would have an annealing begin if nothing else is known.
    critical_temperatures : tuple of float or None
        Those of the data, from the hottest, see
        `sktemper.model.Capabilities.critical_temperatures`; None if they are not known.
    """

    n_steps: int | None = None
    steps_per_pass: float | None = None
    temperature: float = AUTO_START
    critical_temperatures: tuple | None = None

    def start(self):
        """Return what ``start="auto"`` stands for.

        That is `ABOVE_CRITICAL` times the first of the `critical_temperatures`, if they
        are known, but at least 1 and at most `hot_start`; in a stream of unknown length
        at most `AUTO_START`.
        """
        start = self.hot_start()
        if self.n_steps is None:
            start = min(start, AUTO_START)
        if self.critical_temperatures:
            critical = ABOVE_CRITICAL * self.critical_temperatures[0]
            start = min(start, max(1.0, critical))
        return start

    def hot_start(self):
        """Return `temperature`; raise if it is none."""
        if not 1.0 <= self.temperature <= HOTTEST:
            raise ValueError(
                f"The model asks for a start at the temperature {self.temperature}: "
                "values or variances are too large or too small. Rescale the data, or "
                "give the schedule a start."
            )
        return self.temperature


@dataclass(frozen=True)
class Clock:
    """How far a fit has come: steps, samples and passes.

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

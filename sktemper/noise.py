"""Gradient noise: random factors of the statistics of a batch (SVI+)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Literal

import numpy as np

from ._utils._constraints import Interval, StrOptions, WholeNumber
from ._utils._policy import Policy, Slot, as_policy
from ._utils._typing import Float, Int
from .schedules import Clock, RampSchedule, Schedule, as_schedule

__all__ = ["GradientNoise", "NoNoise", "SVIPlusNoise"]


class GradientNoise(Policy):
    """Base of the noise policies: factors of mean 1 for the units of a batch.

    Examples
    --------
    Noise of your own, with factors of mean 1:

    >>> from sktemper import TemperedLDA
    >>> from sktemper.datasets import make_lda_documents
    >>> from sktemper.noise import GradientNoise
    >>> class GammaNoise(GradientNoise):
    ...     def unit_noise(self, n_units, clock, random):
    ...         return random.gamma(4.0, 0.25, n_units)
    >>> X = make_lda_documents(200, 100, 5, random_state=0)
    >>> lda = TemperedLDA(5, gradient_noise=GammaNoise(), random_state=0).fit(X)
    >>> lda.components_.shape
    (5, 100)
    """

    #: Whether factors are random.  If not, `unit_noise` may get None for ``random``.
    is_random = True

    @property
    def _is_absent(self):
        """Whether there is no noise, and rates are not reduced."""
        return type(self) is NoNoise

    def schedule_of_sizes(self) -> Schedule | None:
        """Return the schedule of the effective batch size, or None."""
        return None

    def unit_noise(
        self, n_units: Int, clock: Clock, random: np.random.Generator
    ) -> np.ndarray | None:
        """Return the factors of a batch, of shape (n_units,), or None for all 1.

        Parameters
        ----------
        n_units : int
        clock : Clock
        random : numpy.random.Generator
            Generator of the step; None if neither the policy nor the model is random.
        """
        raise NotImplementedError

    def acts(self, n_units: Int, clocks: Iterable) -> bool:
        """Return whether some factors differ from 1 in batches of ``n_units`` units.

        Parameters
        ----------
        n_units : int
        clocks : iterable of Clock
            Clocks of the batches.
        """
        return True

    def guarded(self, rate: Float, largest_rate: Callable) -> Float | np.ndarray:
        """Return rates with which the step stays in the domain of the parameters.

        By default they are at most half of the rates at which it would leave the
        domain.  The method is called if a factor is negative.

        Parameters
        ----------
        rate : float
        largest_rate : callable
            ``largest_rate()`` returns the rate at which the step would leave the
            domain, infinity if no rate does, or an array of the rates of its parts,
            such as components.  The call takes time.
        """
        return np.minimum(rate, 0.5 * largest_rate())


class NoNoise(GradientNoise):
    """No noise: every factor is 1 (``gradient_noise=None``).

    Examples
    --------
    >>> from sktemper import TemperedLDA
    >>> from sktemper.datasets import make_lda_documents
    >>> X = make_lda_documents(200, 100, 5, random_state=0)
    >>> TemperedLDA(5, random_state=0).fit(X).gradient_noise_
    NoNoise()
    """

    is_random = False

    def unit_noise(self, n_units, clock, random) -> np.ndarray | None:
        return None


@dataclass(eq=False, repr=False)
class SVIPlusNoise(GradientNoise):
    r"""Noise that makes a mini-batch as noisy as a smaller one: SVI+ [1]_.

    The units of a batch of size S get random factors with

    .. math:: E[w_i] = 1, \quad Cov[w] = (S/M - 1) (I - 1 1^T / S)

    so that the gradient is as noisy as that of a batch of M units, for any S.  The
    Dirichlet(c, ..., c) has c = M / (S - M) - 1 / S.  On text, this noise was no better
    than plain batches (``python benchmarks/papers policies``), so try annealing first.

    Parameters
    ----------
    effective_batch_size : float, int, Schedule or callable, default=0.5
        The size M: a share of the batch in (0, 1], an integer number of units, or a
        schedule of numbers, such as `sktemper.schedules.RampSchedule`, M = 50 t of the
        paper, with which the noise fades.  If M >= S, there is none.
    distribution : {"dirichlet", "gaussian"}, default="dirichlet"
        Distribution of the factors: S times a Dirichlet, which has no negative factors,
        or 1 + e_i - mean(e) with e_i ~ N(0, S/M - 1), as in the paper, whose factors
        may be negative.  Numbers of tokens, rows and events that would be negative are
        0.  Components and items that would leave their domain take a shorter step or
        none, see ``history_["rate_share"]``; so do all features of a factorial mixture.

    Notes
    -----
    The aim of the paper is noise that is closer to a Gaussian than that of a batch of M
    units, and only "gaussian" has it.  No factors >= 0 with these moments have a third
    moment below (S/M)^2, which is that of a batch of M units; those of "dirichlet" have
    more.

    References
    ----------
    .. [1] J. Paisley, G. Fazelnia, B. Barr, "Stochastic variational inference with
       tuneable stochastic annealing", definition 1 and algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sktemper.noise import SVIPlusNoise
    >>> from sktemper.schedules import Clock
    >>> noise = SVIPlusNoise(effective_batch_size=0.25)
    >>> factors = noise.unit_noise(1000, Clock(), np.random.default_rng(0))
    >>> float(factors.mean())
    1.0
    >>> bool(2.5 < factors.var() < 3.5)
    True
    """

    _slots = {"effective_batch_size": Slot(lambda value: as_size(value))}
    _parameter_constraints = {
        "effective_batch_size": [
            Interval(Real, 0, 1, closed="right"),
            WholeNumber(1),
            Schedule,
            callable,
        ],
        "distribution": [StrOptions({"dirichlet", "gaussian"})],
    }

    effective_batch_size: Float | Schedule | Callable = 0.5
    distribution: Literal["dirichlet", "gaussian"] = "dirichlet"

    @property
    def requires(self) -> tuple[str, ...]:
        """Required capabilities: negative factors need the largest rate of a step."""
        return ("largest_rates",) if self.distribution == "gaussian" else ()

    def resolved(self, plan) -> GradientNoise:
        size = self.effective_batch_size
        if isinstance(size, Schedule):
            return self._with(effective_batch_size=size.resolved(plan))
        return self

    def schedule_of_sizes(self) -> Schedule | None:
        """Return the schedule of the effective batch size, None if it is a number."""
        size = self.effective_batch_size
        if isinstance(size, Real):
            return None
        return as_schedule(size, "effective_batch_size")

    def _size(self, n_units, clock):
        schedule, size = self.schedule_of_sizes(), self.effective_batch_size
        if schedule is not None:
            return schedule.at(clock, "effective batch size", math.inf)
        if isinstance(size, Integral):
            return float(size)
        return max(float(size) * n_units, 1.0)

    def acts(self, n_units, clocks) -> bool:
        """Return whether M < S in one of the batches."""
        return any(self._size(n_units, clock) < n_units for clock in clocks)

    def unit_noise(self, n_units, clock, random) -> np.ndarray | None:
        """Return the factors of a batch, or None if M >= S."""
        size = self._size(n_units, clock)
        if size >= n_units:
            return None
        if self.distribution == "gaussian":
            excess = random.normal(0.0, np.sqrt(n_units / size - 1.0), n_units)
            return 1.0 + excess - excess.mean()
        concentration = size / (n_units - size) - 1.0 / n_units
        return n_units * random.dirichlet(np.full(n_units, concentration))


def as_size(value):
    """Return the schedule that an effective batch size stands for.

    A number stands for a `RampSchedule`, which starts at the number if it is an int.
    """
    if isinstance(value, Integral):
        return RampSchedule(start=value)
    return RampSchedule() if isinstance(value, Real) else as_schedule(value)


def as_noise(value):
    """Return the noise that ``value`` stands for: None is `NoNoise`."""
    expected = "a gradient noise (see sktemper.noise) or None"
    return as_policy(value, GradientNoise, {None: NoNoise}, "gradient_noise", expected)

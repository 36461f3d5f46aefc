"""Values that models, policies and the loop exchange."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, is_dataclass, replace
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

#: Types of numbers that may be NaN or infinite.  This is a tuple because `isinstance`,
#: which each step calls often, is faster with a tuple than with a union.
FLOATS = float, np.floating


class Powers(NamedTuple):
    """Exponents of the factors of a tempered model.

    Attributes
    ----------
    prior : float
        Exponent of the priors of global parameters and of continuous local parameters.
    statistics : float or ndarray of shape (n_units,)
        Factor of the statistics in the global step, which includes the weight of the
        sample.
    local : float or ndarray of shape (n_units,)
        Exponent of the likelihood in the local step.
    """

    prior: float = 1.0
    statistics: Any = 1.0
    local: Any = 1.0


class Request(NamedTuple):
    """Arguments of a local step.

    Attributes
    ----------
    powers : Powers
    unit_noise : ndarray of shape (n_units,) or None
        Factors of mean 1, drawn by the noise policy.  The statistics of units are
        multiplied by these factors.  If a row may have several units, the factors are
        also powers of the units' likelihoods in the local step.  None means 1.
    seed : int
        Seed for models that sample, see `ConjugateModel.is_random`.  Each step and each
        block has a different seed.
    local_init : ndarray or None
        Initial local parameters.
    want : collection of {"statistics", "bound", "score", "local"}
        Names of the results to compute in addition to the local optimum.
    """

    powers: Powers = Powers()
    unit_noise: Any = None
    seed: int = 0
    local_init: Any = None
    want: tuple = ("statistics", "bound")

    def factors(self, n_units) -> np.ndarray:
        """Return the factor of the statistics of each unit.

        Returns
        -------
        factors : ndarray of shape (n_units,)
            ``powers.statistics * unit_noise``, in float64.
        """
        power = self.powers.statistics
        if self.unit_noise is None:
            return np.full(n_units, power, dtype=np.float64)
        return np.asarray(self.unit_noise * power, dtype=np.float64)


def all_finite(*values: Any) -> bool:
    """Return whether all numbers in values, their items and their fields are finite."""
    pending, seen = list(values), set()
    while pending:
        value = pending.pop()
        if isinstance(value, FLOATS):
            if not math.isfinite(value):
                return False
            continue
        if value is None or isinstance(value, (str, int)) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, np.ndarray):
            # a sum reads the array once and allocates nothing, but it may overflow
            if value.dtype.kind == "f" and not math.isfinite(value.sum()):
                if not np.isfinite(value).all():
                    return False
        elif isinstance(value, (tuple, list)):
            pending.extend(value)
        else:
            named = value if isinstance(value, dict) else vars(value)
            pending.extend(named.values())
    return True


class Stopped(Exception):
    """Error of a local step that stopped on request; its results are invalid."""


class IllDefined(ValueError):
    """Error of a start, a step or a move whose parameters would leave their domain.

    In a start or a step, the error ends the fit, and the step is not committed.
    In a move, the error rejects the proposal.

    Parameters
    ----------
    message : str, optional
        By default, the message says that the parameters would not be finite.
    """

    def __init__(
        self,
        message="The next parameters would not be finite: values, sample_weight or "
        "priors are too large, too small or too far apart. Rescale them.",
    ):
        super().__init__(message)


@dataclass
class LocalStep:
    """Result of the local step of one block, or the sum of several results.

    Attributes
    ----------
    statistics : object or None
        Sum over units of weight * power * E[t], a value of the model.  It supports
        ``a + b`` and ``a.scaled(c)``.  If ``+`` is expensive, it also has
        ``a.accumulator()``, which returns an object with ``add(b)`` and ``total()``
        that changes neither ``a`` nor ``b``.
    n_rows : int
        Number of samples.
    n_observed : float
        Number of observations: tokens, values or ratings.
    n_iterations : int
        Number of inner iterations, summed over samples.
    bound : float
        Sum of the local terms of the (tempered) bound.
    score : float
        Sum of the log-likelihoods of the samples, whose normaliser is
        `ConjugateModel.log_partition`.  Policies infer temperatures from it.
    row_observed, row_bounds, row_scores : ndarray of shape (n_rows,) or None
        Number of observations, bound and score of each sample.
    local_parameters : ndarray or None
        Variational parameters of the samples.
    temperatures : ndarray or float
        Sum of the samples' distributions over temperatures, set by a policy.
    log_partition : ndarray of shape (n_temperatures,) or float
        Sum over samples of log C, set by a policy if log C is not linear in the number
        of observations.
    row_log_partitions : ndarray of shape (n_rows, n_temperatures) or None
        Log C of each sample.
    kept : tuple of ndarray
        Local parameters of the blocks of a sum, if the loop keeps them.

    Notes
    -----
    A sum of several results has totals and `kept`, but no values of single rows.
    """

    statistics: Any = None
    n_rows: int = 0
    n_observed: float = 0.0
    n_iterations: int = 0
    bound: float = 0.0
    score: float = 0.0
    row_observed: np.ndarray | None = field(default=None, repr=False)
    row_bounds: np.ndarray | None = field(default=None, repr=False)
    row_scores: np.ndarray | None = field(default=None, repr=False)
    local_parameters: np.ndarray | None = field(default=None, repr=False)
    temperatures: np.ndarray | float = field(default=0.0, repr=False)
    kept: tuple = field(default=(), repr=False)
    log_partition: np.ndarray | float = field(default=0.0, repr=False)
    row_log_partitions: np.ndarray | None = field(default=None, repr=False)

    @classmethod
    def of_rows(
        cls,
        *,
        row_observed: np.ndarray,
        row_bounds: np.ndarray,
        n_iterations: int,
        row_scores: np.ndarray | None = None,
        **others: Any,
    ) -> LocalStep:
        """Return the result of a block, with totals that are sums over its rows.

        Parameters
        ----------
        row_observed, row_bounds : ndarray of shape (n_rows,)
            ``row_bounds`` is empty if no bound was wanted.
        n_iterations : int
            Number of inner iterations, at least one for each row.
        row_scores : ndarray of shape (n_rows,) or None
            None if no score was wanted.
        **others : dict
            ``statistics`` and ``local_parameters``, if wanted.
        """
        return cls(
            n_rows=len(row_observed),
            n_observed=float(row_observed.sum()),
            n_iterations=n_iterations,
            bound=float(row_bounds.sum()),
            score=0.0 if row_scores is None else float(row_scores.sum()),
            row_observed=row_observed,
            row_bounds=row_bounds,
            row_scores=row_scores,
            **others,
        )

    def __add__(self, other):
        return self._plus(other, self.statistics + other.statistics)

    def _plus(self, other, statistics):
        return LocalStep(
            statistics,
            self.n_rows + other.n_rows,
            self.n_observed + other.n_observed,
            self.n_iterations + other.n_iterations,
            self.bound + other.bound,
            self.score + other.score,
            temperatures=self.temperatures + other.temperatures,
            kept=self.kept + other.kept,
            log_partition=self.log_partition + other.log_partition,
        )

    def compacted(self) -> LocalStep:
        """Return the same step with compact statistics."""
        if not hasattr(self.statistics, "compacted"):
            return self
        return replace(self, statistics=self.statistics.compacted())

    def accumulator(self) -> Any:
        """Return an accumulator that adds steps to this one."""
        return _StepAccumulator(self)

    def with_log_partitions(self, rows: np.ndarray | None) -> LocalStep:
        """Return the step with log C of each row; unchanged if ``rows`` is None."""
        if rows is None:
            return self
        total = rows.sum(axis=0)
        return replace(self, log_partition=total, row_log_partitions=rows)

    def weighted(self, row_weight: np.ndarray) -> LocalStep:
        """Return the step of a block with weighted totals.

        The statistics are unchanged, because they are weighted already.

        Raises
        ------
        ValueError
            If values of single rows are missing.
        """
        needed = ["row_observed", "row_bounds"] + ["row_scores"] * bool(self.score)
        missing = [name for name in needed if getattr(self, name) is None]
        if missing:
            raise ValueError(
                f"A step whose rows have weights needs {', '.join(missing)}: make it "
                "with LocalStep.of_rows."
            )

        def total(rows):
            if rows is None or len(rows) == 0:  # not wanted
                return 0.0
            return float((row_weight * rows).sum())

        return replace(
            self,
            n_observed=total(self.row_observed),
            bound=total(self.row_bounds),
            score=total(self.row_scores),
            log_partition=self._weighted_log_partition(row_weight),
        )

    def _weighted_log_partition(self, row_weight):
        rows = self.row_log_partitions
        if rows is None:
            return self.log_partition
        return (row_weight[:, None] * rows).sum(axis=0)


class _StepAccumulator:
    """A sum of steps, see `LocalStep.accumulator`."""

    def __init__(self, step):
        self._step = step
        self._statistics = None
        if hasattr(step.statistics, "accumulator"):
            self._statistics = step.statistics.accumulator()

    def add(self, step):
        if self._statistics is None:
            self._step = self._step + step
        else:
            self._statistics.add(step.statistics)
            self._step = self._step._plus(step, None)

    def total(self):
        if self._statistics is None:
            return self._step
        return replace(self._step, statistics=self._statistics.total())


def check_numbers(name, value, shapes):
    numbers = list(numbers_in(value))
    if shapes is not None and [np.shape(part) for part in numbers] != shapes:
        raise ValueError(f"{name} have the wrong shapes")
    if not all(np.isfinite(part).all() for part in numbers):
        raise ValueError(f"{name} are not finite")


def numbers_in(value):
    """Yield the numbers and arrays in a value."""
    if isinstance(value, np.ndarray | Number):
        yield value
    elif isinstance(value, dict):
        yield from numbers_in(list(value.values()))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from numbers_in(part)
    elif is_dataclass(value):
        for one in fields(value):
            yield from numbers_in(getattr(value, one.name))

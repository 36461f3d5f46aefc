"""What passes between models, policies and the loop."""

import math
from dataclasses import dataclass, field, fields, is_dataclass, replace
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "NOT_FINITE",
    "IllDefined",
    "LocalStep",
    "Powers",
    "Request",
    "Stopped",
    "all_finite",
    "check_numbers",
    "numbers_in",
]

#: Said of a start, or of a step, that leads out of all bounds.
NOT_FINITE = (
    "The next parameters would not be finite: values, sample_weight or priors are too "
    "large, too small or too far apart. Rescale them. What earlier steps did is kept."
)
#: Numbers that may be NaN or infinite.  (Tuples of types are looked at sooner than
#: unions are, which matters in what is done at every step.)
FLOATS = float, np.floating


class Powers(NamedTuple):
    """The powers to which a tempered model raises its parts: all temperatures are here.

    Attributes
    ----------
    prior : float
        Exponent of the priors of global, and of continuous local, parameters.
    statistics : float or ndarray of shape (n_units,)
        Weight of the statistics in the global step; a sample's weight is a factor of
        it.
    local : float or ndarray of shape (n_units,)
        Exponent of the likelihood in the local step.
    """

    prior: float = 1.0
    statistics: Any = 1.0
    local: Any = 1.0


class Request(NamedTuple):
    """What a local step is asked for.

    Attributes
    ----------
    powers : Powers
    unit_noise : ndarray of shape (n_units,) or None
        Factors, of mean 1, of what the units tell of the global parameters, and of the
        local ones if these have several units: what the noise policy draws.  None is 1.
    seed : int
        For models that sample, see `ConjugateModel.is_random`: one number a step and
        block.
    local_init : ndarray or None
        Local parameters to start from.
    want : collection of {"statistics", "bound", "score", "local"}
        What to compute beside the local optimum.
    """

    powers: Powers = Powers()
    unit_noise: Any = None
    seed: int = 0
    local_init: Any = None
    want: tuple = ("statistics", "bound")

    def factors(self, n_units):
        """Return what the statistics of each unit are multiplied by.

        Returns
        -------
        factors : ndarray of shape (n_units,)
            ``powers.statistics * unit_noise``, in float64.
        """
        power = self.powers.statistics
        if self.unit_noise is None:
            return np.full(n_units, power, dtype=np.float64)
        return np.asarray(self.unit_noise * power, dtype=np.float64)


def all_finite(*values):
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
            # a sum reads once and writes nothing, but may overflow by itself
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
    """A local step was told to stop; what it computed is void."""


class IllDefined(ValueError):
    """Parameters have left their domain: a fit ends with this, a proposal is void."""


@dataclass
class LocalStep:
    """What one block, or the sum of several, tells the loop.

    Attributes
    ----------
    statistics : object or None
        Sum over units of weight * power * E[t].  A value of the model:
        ``a + b`` and ``a.scaled(c)``; where ``+`` costs much, also
        ``a.accumulator()``, which returns what adds ``b`` by ``add(b)``, changes
        neither, and says the sum by ``total()``.
    n_rows : int
        Samples.
    n_observed : float
        Tokens, values or ratings: what "per token" divides by.
    n_iterations : int
        Inner iterations, summed over samples.
    bound : float
        Local terms of the (tempered) bound, summed.
    score : float
        Log-likelihood of the samples, summed, whose normaliser is
        `ConjugateModel.log_partition`: tempering weighs temperatures by it.
    row_observed, row_bounds, row_scores : ndarray of shape (n_rows,) or None
        The same for each sample.
    unit_scores : ndarray of shape (n_units,) or None
        The score of each unit, where units, not samples, have temperatures of their
        own.
    local_parameters : ndarray or None
        Variational parameters of the samples.
    temperatures : ndarray or float
        A policy's sum over samples of its distribution over temperatures.
    log_partition : ndarray of shape (n_temperatures,) or float
        A policy's sum over samples of log C, where that is not linear in their
        observations.
    row_log_partitions : ndarray of shape (n_rows, n_temperatures) or None
        The same for each sample.
    kept : tuple of ndarray
        The local parameters of the blocks of a sum, where the loop keeps them.

    Notes
    -----
    A sum has totals, and `kept`: what else is per row belongs to one block.
    """

    statistics: Any = None
    n_rows: int = 0
    n_observed: float = 0.0
    n_iterations: int = 0
    bound: float = 0.0
    score: float = 0.0
    row_observed: Any = field(default=None, repr=False)
    row_bounds: Any = field(default=None, repr=False)
    row_scores: Any = field(default=None, repr=False)
    unit_scores: Any = field(default=None, repr=False)
    local_parameters: Any = field(default=None, repr=False)
    temperatures: Any = field(default=0.0, repr=False)
    kept: tuple = field(default=(), repr=False)
    log_partition: Any = field(default=0.0, repr=False)
    row_log_partitions: Any = field(default=None, repr=False)

    @classmethod
    def of_rows(
        cls, *, row_observed, row_bounds, n_iterations, row_scores=None, **others
    ):
        """Return the step of a block, whose totals are the sums of its rows.

        Parameters
        ----------
        row_observed, row_bounds : ndarray of shape (n_rows,)
            The latter empty where no bound was wanted.
        n_iterations : int
            At least one a row.
        row_scores : ndarray of shape (n_rows,) or None
            None where no score was wanted.
        **others : dict
            ``statistics``, ``unit_scores`` and ``local_parameters``, where wanted.
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

    def compacted(self):
        """Return the same, its statistics in as little memory as they need."""
        if not hasattr(self.statistics, "compacted"):
            return self
        return replace(self, statistics=self.statistics.compacted())

    def accumulator(self):
        """Return what adds steps to this one, see `accumulator` of the statistics."""
        return _StepAccumulator(self)

    def with_log_partitions(self, rows):
        """Return a block's step with log C of its rows, if a policy wants its sum."""
        if rows is None:
            return self
        total = rows.sum(axis=0)
        return replace(self, log_partition=total, row_log_partitions=rows)

    def weighted(self, row_weight):
        """Return a block's step with rows that count so many times in its totals.

        Not in the statistics: those are weighted already.

        Raises
        ------
        ValueError
            If it does not say what its rows have.
        """
        needed = ["row_observed", "row_bounds"] + ["row_scores"] * bool(self.score)
        missing = [name for name in needed if getattr(self, name) is None]
        if missing:
            raise ValueError(
                f"A step whose rows have weights needs {', '.join(missing)}: make it "
                "by LocalStep.of_rows."
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
    """Raise unless all numbers in a value are finite, and of these shapes."""
    numbers = list(numbers_in(value))
    if shapes is not None and [np.shape(part) for part in numbers] != shapes:
        raise ValueError(f"{name} have the wrong shapes")
    if not all(np.isfinite(part).all() for part in numbers):
        raise ValueError(f"{name} are not finite")


def numbers_in(value):
    """Yield the numbers and arrays that a value is made of."""
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

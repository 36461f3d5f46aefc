"""Natural parameters, and models whose global parameters are natural parameters."""

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..model._contract import ConjugateModel
from ..model._values import Powers

#: Number of bisections that find the largest rate of a step.
HALVINGS = 30


@dataclass(frozen=True)
class Natural:
    """Natural parameters, or priors and statistics that are added to them.

    A subclass is a frozen dataclass of float64 arrays, or of objects with ``+`` and
    ``*``.
    """

    def arrays(self) -> list[np.ndarray]:
        """Return the arrays, in the order of the fields."""
        return list(vars(self).values())

    def __add__(self, other):
        pairs = vars(self).values(), vars(other).values()
        return type(self)(*map(operator.add, *pairs))

    def scaled(self, factor: float) -> Self:
        """Return ``factor`` times the parameters; with factor 1, the same object.

        Arrays that are not C-contiguous are copied, because NumPy adds the elements of
        other layouts in another order, which changes the rounding.
        """
        arrays = vars(self).values()
        if factor == 1 and all(map(operator.is_, arrays, _in_order(arrays))):
            return self
        return type(self)(*[factor * array for array in arrays])

    def vector(self) -> np.ndarray:
        """Return the parameters as one contiguous vector."""
        return np.concatenate([np.ravel(array) for array in self.arrays()])

    @classmethod
    def of_vector(cls, vector: np.ndarray, shapes: Sequence[tuple[int, ...]]) -> Self:
        """Return the parameters of a vector, with arrays of the given shapes."""
        ends = np.cumsum([math.prod(shape) for shape in shapes])
        parts = np.split(np.asarray(vector), ends[:-1])
        return cls(*(p.reshape(shape) for p, shape in zip(parts, shapes, strict=True)))


def are_equal(one, other):
    """Return whether tuples have the same objects, or arrays of the same numbers."""
    return all(
        old is new or (isinstance(new, np.ndarray) and np.array_equal(old, new))
        for old, new in zip(one, other, strict=True)
    )


def _in_order(arrays):
    """Return arrays in C order, and other objects unchanged."""
    return [
        np.asarray(array, order="C") if isinstance(array, np.ndarray) else array
        for array in arrays
    ]


class NaturalModel(ConjugateModel):
    """Base of models whose global parameters and statistics are `Natural`.

    The parameters are natural parameters of densities with respect to Lebesgue measure:
    statistics are added to the parameters of the prior, and a step is a convex
    combination of the old parameters and this sum.  In addition to the required methods
    of `ConjugateModel`, a subclass defines `prior`, `shapes` and `is_valid`, and
    `fisher_product` for adaptive rates.
    """

    #: Class of the parameters.
    parameters = Natural

    def prior(self, hyper: Any) -> Natural:
        """Return the natural parameters of the prior."""
        raise NotImplementedError

    def shapes(self) -> tuple:
        """Return the shapes of the arrays of the parameters."""
        raise NotImplementedError

    def target(
        self, statistics: Any, scale: float, powers: Powers, hyper: Any
    ) -> Natural:
        """Return the target of a step."""
        return self.prior(hyper).scaled(powers.prior) + statistics.scaled(scale)

    def step(self, globals_, statistics, scale, powers, rate, hyper) -> Any:
        """Step the natural parameters toward the prior plus the statistics."""
        target = self.target(statistics, scale, powers, hyper)
        if rate == 1:  # C order is kept, so that sums have the same bits
            return type(target)(*_in_order(target.arrays()))
        return globals_.scaled(1 - rate) + target.scaled(rate)

    def largest_rate(self, globals_, statistics, scale, powers, hyper) -> float:
        """Return the rate at which a parameter would leave its domain."""
        target = self.target(statistics, scale, powers, hyper)
        low, high = 0.0, 1.0
        if self.is_valid(target):
            return math.inf
        for _ in range(HALVINGS):
            rate = 0.5 * (low + high)
            between = globals_.scaled(1 - rate) + target.scaled(rate)
            low, high = (rate, high) if self.is_valid(between) else (low, rate)
        return low

    def natural_parameters(self, globals_) -> np.ndarray:
        """Return the natural parameters as one vector."""
        return globals_.vector()

    def from_natural_parameters(self, vector) -> Any:
        """Return the global parameters of a vector."""
        return self.parameters.of_vector(vector, self.shapes())

    def target_parameters(self, statistics, scale, powers, hyper) -> np.ndarray:
        """Return the target of a step as a vector."""
        return self.target(statistics, scale, powers, hyper).vector()


def rate_to_zero(old, new):
    """Return the rate at which a step from ``old > 0`` to ``new`` reaches 0, or inf."""
    old, new = np.atleast_1d(old), np.atleast_1d(new)
    leaving = new < 0
    return float(np.min(old[leaving] / (old - new)[leaving], initial=math.inf))

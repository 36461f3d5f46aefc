"""Exponential families: natural parameters, and families with conjugate priors."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from .._contract import ConjugateModel, Powers
from .._utils._linalg import tiled_matmul
from ._kernels import sparse_sums, sparse_times

#: Approximate number of moments, or values, of a block of rows that are independent.
VALUES_OF_BLOCK = 2**17
#: Number of bisections that find the largest rate of a step.
HALVINGS = 30


@dataclass(frozen=True)
class Natural:
    """Natural parameters, or priors and statistics that are added to them.

    A subclass is a frozen dataclass of float64 arrays, or of objects with ``+`` and
    ``*``.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from sktemper.model import Natural
    >>> @dataclass(frozen=True)
    ... class Rates(Natural):
    ...     shape: np.ndarray
    ...     rate: np.ndarray
    >>> prior, counts = Rates(np.ones(2), np.ones(2)), Rates(np.arange(2.0), np.ones(2))
    >>> (prior + counts.scaled(10.0)).vector()
    array([ 1., 11., 11., 11.])
    """

    def arrays(self) -> list[np.ndarray]:
        """Return the arrays, in the order of the fields."""
        return list(vars(self).values())

    def __add__(self, other):
        pairs = vars(self).values(), vars(other).values()
        return type(self)(*map(operator.add, *pairs))

    def scaled(self, factor: float | np.ndarray) -> Self:
        """Return ``factor`` times the parameters; with factor 1, the same object.

        An array has a factor for each row of the arrays.
        Arrays that are not C-contiguous are copied, because NumPy adds the elements of
        other layouts in another order, which changes the rounding.
        """
        arrays = vars(self).values()
        if np.ndim(factor):
            parts = [np.expand_dims(factor, [*range(1, a.ndim)]) * a for a in arrays]
            return type(self)(*parts)
        if factor == 1 and all([np.asarray(a).flags.c_contiguous for a in arrays]):
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


def is_equal(old, new):
    return old is new or (isinstance(new, np.ndarray) and np.array_equal(old, new))


class NaturalModel(ConjugateModel):
    """Base of models whose global parameters and statistics are `Natural`.

    The parameters are natural parameters of densities with respect to Lebesgue measure:
    statistics are added to the parameters of the prior, and a step is a convex
    combination of the old parameters and this sum.  In addition to the required methods
    of `ConjugateModel`, a subclass defines `prior`, `shapes` and `is_valid`, and
    `fisher_product` for adaptive rates.  `MixtureModel` is such a model; the page
    :doc:`/own_model` has an example.
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
        if not isinstance(rate, np.ndarray) and rate == 1:
            # C order is kept, so that sums have the same bits
            arrays = (
                np.asarray(array, order="C") if isinstance(array, np.ndarray) else array
                for array in target.arrays()
            )
            return type(target)(*arrays)
        return globals_.scaled(1 - rate) + target.scaled(rate)

    def largest_rate(self, globals_, statistics, scale, powers, hyper) -> Any:
        """Return the rate at which the parameters, or each row, leave their domain.

        They must also be valid without half of the prior: statistics without negative
        factors leave all of it.
        """
        prior = self.target(statistics, 0.0, powers, hyper)
        target = self.target(statistics, scale, powers, hyper)

        def is_inside(rate):
            between = globals_.scaled(1 - rate) + target.scaled(rate)
            less = between + prior.scaled(-0.5)  # more where the prior is negative
            return np.asarray(self.is_valid(between) & self.is_valid(less))

        stays = is_inside(1.0)
        low, high = np.zeros(stays.shape), np.ones(stays.shape)
        for _ in range(0 if stays.all() else HALVINGS):
            rate = 0.5 * (low + high)
            valid = is_inside(rate)
            low, high = np.where(valid, rate, low), np.where(valid, high, rate)
        return np.where(stays, math.inf, low)

    def natural_parameters(self, globals_) -> np.ndarray:
        return globals_.vector()

    def from_natural_parameters(self, vector) -> Any:
        return self.parameters.of_vector(vector, self.shapes())

    def target_parameters(self, statistics, scale, powers, hyper) -> np.ndarray:
        return self.target(statistics, scale, powers, hyper).vector()


class FixedLogC:
    """Log C of a model in which it does not depend on global parameters.

    Any word for log C then means the same.
    """

    def map_partition(self, inverse_temperatures, hyper, priors=None):
        return self.log_partition(inverse_temperatures, hyper, None, priors)

    def current_partition(self, inverse_temperatures, block, prepared, local):
        """Return log C of each row with the current hyperparameters."""
        log_c = self.log_partition(inverse_temperatures, prepared.hyper, None)
        return np.outer(block.observed, log_c)


# -- products of dense or sparse moments, independent of the other rows ----------------
def dense(array):
    return array.toarray() if sparse.issparse(array) else np.asarray(array)


def times(moments, matrix):
    """Return ``moments @ matrix``; the bits of a row do not depend on other rows."""
    if not sparse.issparse(moments):
        return tiled_matmul(moments, matrix)
    return sparse_times(*entries_of(moments), _rows(matrix))


def sums_of(moments, shares):
    """Return ``shares.T @ moments``, the sums of the moments of components."""
    if not sparse.issparse(moments):
        return shares.T @ moments
    # one row of memory for each moment, because a row of data has few moments
    return sparse_sums(*entries_of(moments), _rows(shares), moments.shape[1]).T


def entries_of(moments):
    """Return the arrays of a CSR array, for kernels that hold no lock.

    The products of SciPy hold the lock of the interpreter, so that threads would wait
    for each other.
    """
    starts = np.ascontiguousarray(moments.indptr, np.intp)
    columns = np.ascontiguousarray(moments.indices, np.int32)
    return starts, columns, _rows(moments.data)


def _rows(array):
    return np.ascontiguousarray(array, dtype=np.float64)


# -- conjugate families: the likelihood of a component, and its prior and posterior ----
# Each family is an exponential family.  The log-likelihood of a row is linear in its
# moments,
#
#     log p(row | theta) = moments . u(theta) + log_base.
#
# The parameters theta of a component have the following density with respect to
# Lebesgue measure:
#
#     exp(eta . u(theta) - A(eta)).
#
# An array has the natural parameters eta of each component in a row.  If the moments of
# a component's rows have the sum s, its posterior has the parameters eta + s.  The log
# normaliser A and its gradient therefore determine everything else: the expected log-
# likelihood, the evidence of a cluster, the predictive density and the lower bound.

#: Factor of the shares of all rows, see `Family.statistics`.
ONCE = np.ones(1)


#: Numbers of the parts of families in kernels.
DIRICHLET, GAMMA_RATES, NORMAL_GAMMA = range(3)


def kernel_parts(kind, sizes):
    """Return arrays of the kind and of the size of each part.

    The size is the number of options, of rates, or of normal columns.
    """
    sizes = np.array(sizes, dtype=np.intp)
    return np.full(len(sizes), kind, dtype=np.intc), sizes


class Tables(NamedTuple):
    """Parameters of components, in the form that local steps use.

    Attributes
    ----------
    expected : ndarray of shape (n_natural, n_components)
        E u.
    parameters : ndarray of shape (n_components, n_natural)
    """

    expected: Any
    parameters: Any


class Family:
    """Base of the conjugate families.

    A subclass defines A (`log_normaliser`), the gradient of A (`expected`), its second
    derivative (`fisher_product`) and its domain (`is_valid`).  If its data need it, a
    subclass also defines `block` and `moments`.  It may replace `log_likelihoods` and
    `statistics` by faster kernels.

    In all methods, ``parameters`` have the shape (n_components, n_natural), ``prior``
    (n_natural,) unless it is that of each component, ``block`` is a result of `block`,
    and ``tables`` is a result of `prepare`.  The page :doc:`/own_model` has an example.

    Parameters
    ----------
    n_natural : int
        Number of natural parameters of a component.
    """

    def __init__(self, n_natural: int):
        self.n_natural = n_natural

    @property
    def alone(self) -> Family:
        """Return the family of a cluster that shares no parameter with others."""
        return self

    # -- data --------------------------------------------------------------------------
    def resized(self, n_components) -> Family:
        """Return the family for another number of components, by default itself."""
        return self

    def reordered(self, components: Any, order: np.ndarray) -> Any:
        """Return the natural parameters of components in another order."""
        return components[order]

    def block(self, rows: Any) -> Any:
        """Return rows of data as a block, for the other methods.

        A block has one row for each row of data, and supports selection of rows.  By
        default, it is the data in float64.
        """
        return np.ascontiguousarray(rows, dtype=np.float64)

    def moments(self, block: Any) -> Any:
        """Return the moments of rows, in which the log-likelihood is linear.

        Missing values have moments 0.

        By default they are the block.
        """
        return block

    def log_base(self, block: Any) -> np.ndarray | float:
        """Return the part of the log-likelihoods that is the same in all components.

        By default it is 0.
        """
        return 0.0

    def n_observed(self, block: Any) -> np.ndarray:
        """Return the number of observations of each row.

        By default it is 1.
        """
        return np.ones(block.shape[0])

    def coordinates(self, block: Any, row_weight: np.ndarray) -> Any:
        """Return coordinates of rows in which similar rows are near to each other.

        Births and splits use them to compute neighbours and principal axes.

        By default they are the moments.  ``row_weight`` is the number of times that
        each row counts.
        """
        return self.moments(block)

    def in_support(self, rows: np.ndarray) -> np.ndarray:
        """Return rows of data in which NaN replaces values of density 0.

        By default no value has this density.
        """
        return rows

    # -- the distribution of the parameters --------------------------------------------
    def shape(self, n_components) -> tuple[int, ...]:
        """Return the shape of the array of natural parameters of a mixture."""
        return n_components, self.n_natural

    def repeated(self, prior: np.ndarray, n_components: int) -> np.ndarray:
        """Return the parameters of components that have the same prior.

        ``prior`` has the shape (n_natural,), and the result that of `shape`.
        """
        return np.repeat(prior[None], n_components, axis=0)

    def counted(self, sums: np.ndarray) -> np.ndarray:
        """Return the change of the natural parameters for sums of moments.

        By default they are the sums, (n_clusters, n_natural), which the method may
        overwrite.
        """
        return sums

    def log_normaliser(self, parameters: np.ndarray) -> np.ndarray:
        """Return A, of shape (n_components,)."""
        raise NotImplementedError

    def expected(self, parameters: np.ndarray) -> np.ndarray:
        """Return E u, the gradient of A."""
        raise NotImplementedError

    def _weighed_expected(self, parameters: np.ndarray) -> np.ndarray:
        """Return E u, times the number of natural parameters that each represents.

        By default each represents itself.
        """
        return self.expected(parameters)

    def expected_log(self, parameters: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Return expected log-likelihoods of rows, given the sums of their moments.

        ``sums`` has the shape (n_clusters, n_natural), and the result, which is without
        `log_base`, (n_clusters, n_components).
        """
        return sums @ self._weighed_expected(parameters).T

    def fisher_product(self, parameters: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Return the derivative of E u in the direction ``change``.

        It is the Hessian of A, the Fisher information, times ``change``.
        """
        raise NotImplementedError

    def is_valid(self, parameters: np.ndarray) -> Any:
        """Return whether these are parameters of distributions, (n_components,).

        A single answer is that of all components together.
        """
        raise NotImplementedError

    def within_domain(self, statistics: Any) -> Any:
        """Return statistics whose entries are in their domain, one by one.

        See `ConjugateModel.within_domain`.  By default they are unchanged.
        """
        return statistics

    def bound(
        self, parameters: np.ndarray, prior: np.ndarray, power: float
    ) -> np.ndarray:
        """Return power * E log p - E log q of each component.

        The bounds, (n_components,), are in nats.  ``power`` is the exponent of the
        prior.
        """
        expected = self._weighed_expected(parameters)
        log_prior = (prior * expected).sum(axis=1) - self.log_normaliser(prior)
        log_q = (parameters * expected).sum(axis=1)
        return power * log_prior - log_q + self.log_normaliser(parameters)

    def evidence(self, prior: np.ndarray, statistics: np.ndarray) -> np.ndarray:
        """Return the log marginal likelihood of clusters, up to their base measure.

        ``statistics``, (n_clusters, n_natural), are results of `counted`, or parameters
        of posteriors minus those of the prior.
        """
        logs = self.log_normaliser(prior + statistics)
        return logs - self.log_normaliser(prior[None])

    def gains(
        self,
        prior: np.ndarray,
        statistics: np.ndarray,
        removed: np.ndarray,
        added: np.ndarray,
    ) -> np.ndarray:
        """Return the increases of the evidence if new clusters replace old clusters.

        Parameters
        ----------
        prior : ndarray of shape (n_natural,)
        statistics : ndarray of shape (n_components, n_natural)
            Statistics of all old clusters.
        removed : ndarray of shape (n_changes, n_changed), of int
            Indices of the old clusters that each change removes.
        added : ndarray of shape (n_changes, n_added, n_natural)
            Statistics of the new clusters that replace them.  If there are fewer, the
            others are empty.

        Returns
        -------
        gains : ndarray of shape (n_changes,)
        """
        new, nothing = added.reshape(-1, added.shape[-1]), np.zeros_like(statistics[:1])
        logs = self.log_normaliser(prior + np.concatenate([statistics, new, nothing]))
        before, after = np.split(logs[:-1], [len(statistics)])
        after = after.reshape(added.shape[:2]).sum(axis=1)
        after = after + (removed.shape[1] - added.shape[1]) * logs[-1]
        return after - before[removed].sum(axis=1)

    def parts_of_kernel(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the kinds and sizes of independent parts, for the kernel of ascents.

        They are two arrays, see `kernel_parts`; None if the kernel lacks the family.
        """
        return None

    def split_finder(self, block: Any) -> Any:
        """Return a function with the results of `best_split` for a block, or None.

        The function has the parameters of `best_split` after the first.
        """
        return None

    def draws(self, parameters: np.ndarray, random: np.random.RandomState) -> Any:
        """Draw theta of each component, and return u, (n_components, n_natural)."""
        raise NotImplementedError

    # -- local steps -------------------------------------------------------------------
    def prepare(self, parameters: np.ndarray) -> Any:
        """Return the tables of components for `log_likelihoods` and `log_predictive`.

        They are a picklable value, which is computed once for each step.
        """
        expected = self._weighed_expected(parameters)
        return Tables(np.ascontiguousarray(expected.T), parameters)

    def log_likelihoods(self, block: Any, tables: Any) -> np.ndarray:
        """Return the expected log-likelihood of each row under each component.

        The result has the shape (n_rows, n_components).  That of a row does not depend
        on other rows.
        """
        logs = times(self.moments(block), tables.expected)
        logs += np.reshape(self.log_base(block), (-1, 1))
        return logs

    def statistics(
        self,
        block: Any,
        shares: np.ndarray,
        factors: np.ndarray = ONCE,
        tables: Any = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the statistics of rows, which are added to the natural parameters.

        These are the sums of the shares, (n_components,), and an array with the result
        of `shape` as its shape.  Shares, (n_rows, n_components), are multiplied by
        ``factors``, (n_rows,) or (1,).  ``tables`` are those with which the shares were
        computed, for families whose moments depend on the component; None at the start
        of a fit.
        """
        shares = shares * factors[:, None]
        return shares.sum(axis=0), self.counted(sums_of(self.moments(block), shares))

    def log_predictive(
        self, block: Any, tables: Any, log_weights: np.ndarray | float = 0.0
    ) -> np.ndarray:
        """Return the log posterior predictive density of rows in each component.

        It is log E exp(moments . u) + log_base + log_weights, (n_rows, n_components).
        """
        moments, prior = self.moments(block), tables.parameters
        logs = np.stack([self.evidence(one, moments) for one in prior], axis=1)
        return logs + log_weights + np.reshape(self.log_base(block), (-1, 1))

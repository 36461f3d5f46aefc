"""The contract of models: its values, required and optional methods.

A model has shapes and settings, which are constant.  A fit changes two values:
`globals_`, the variational parameters that all samples share, and `hyper`, the priors
and variances, which may be learned.  The model creates both values, and the training
loop passes them to the methods of the model.
"""

from __future__ import annotations

import functools
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

    Examples
    --------
    The powers at the temperature 2 of each target of `sktemper.tempering.Annealing`:

    >>> from sktemper.model import Powers
    >>> Powers(local=0.5)  # target="local_step"
    Powers(prior=1.0, statistics=1.0, local=0.5)
    >>> Powers(1.0, 0.5, 0.5)  # target="likelihood"
    Powers(prior=1.0, statistics=0.5, local=0.5)
    >>> Powers(0.5, 0.5, 0.5)  # target="posterior"
    Powers(prior=0.5, statistics=0.5, local=0.5)
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
    want : collection of {"statistics", "bound", "score", "complete", "local"}
        Names of the results to compute in addition to the local optimum.  With
        "complete", scores are E log p(x, z), also if the model can integrate z out.
    labels : ndarray or None
        Labels of the rows, see `Options.labelled_globals`.

    Examples
    --------
    >>> import numpy as np
    >>> from sktemper.model import Powers, Request
    >>> Request(Powers(statistics=0.5), np.array([1.5, 0.5])).factors(2)
    array([0.75, 0.25])
    """

    powers: Powers = Powers()
    unit_noise: Any = None
    seed: int = 0
    local_init: Any = None
    want: tuple = ("statistics", "bound")
    labels: Any = None

    def factors(self, n_units) -> np.ndarray:
        """Return ``powers.statistics * unit_noise`` of each unit, in float64."""
        power = self.powers.statistics
        if self.unit_noise is None:
            return np.full(n_units, power, dtype=np.float64)
        return np.asarray(self.unit_noise * power, dtype=np.float64)


@np.errstate(over="ignore", invalid="ignore")  # of the sum below
def all_finite(*values: Any) -> bool:
    """Return whether all numbers in values, their items and their fields are finite.

    Examples
    --------
    >>> import numpy as np
    >>> from sktemper.model import Powers, all_finite
    >>> all_finite(1.0, np.ones(3), Powers()), all_finite({"a": [np.inf]})
    (True, False)
    """
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
            # it reads the array once and allocates nothing, but it may overflow
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
    """Error of a local step that stopped on request; its results are invalid.

    Examples
    --------
    A loop of Python checks the request once for each chunk of rows:

    >>> from sktemper.model import Stopped
    >>> def check(model):
    ...     if model.stop[0]:
    ...         raise Stopped
    """


class IllDefined(ValueError):
    """Error of a start, a step or a move whose parameters would leave their domain.

    In a start or a step, the error ends the fit, and the step is not committed.
    In a move, the error rejects the proposal.

    Parameters
    ----------
    message : str, optional
        By default, the message says that the parameters would not be finite.

    Examples
    --------
    >>> from sktemper.model import IllDefined
    >>> raise IllDefined("A variance would be 0.")
    Traceback (most recent call last):
    ...
    sktemper._contract.IllDefined: A variance would be 0.
    """

    def __init__(
        self,
        message="The next parameters would not be finite: values, sample_weight or "
        "priors are too large, too small or too far apart. Rescale them.",
    ):
        super().__init__(message)


class Fold:
    """Sum of values from left to right, added as they arrive.

    The sum of a single value is the value itself.  Values may have a method
    ``accumulator()`` that returns an object with ``add(value)`` and ``total()``, if
    this needs less memory or time than ``+``.  It must not change the added values.
    """

    def __init__(self):
        self.n_values, self._total, self._has_own = 0, None, False

    def add(self, value):
        self.n_values += 1
        if self.n_values == 1:
            self._total = value
        elif not hasattr(value, "accumulator"):
            self._total = self._total + value
        else:
            if self.n_values == 2:
                self._total, self._has_own = self._total.accumulator(), True
            self._total.add(value)

    def total(self):
        """Return the sum of the values, and start a new sum."""
        total = self._total.total() if self._has_own else self._total
        self.n_values, self._total, self._has_own = 0, None, False
        return total


def compacted(value):
    """Return the most compact form of a value; sums of compact forms are the same."""
    return value.compacted() if hasattr(value, "compacted") else value


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

    Examples
    --------
    >>> import numpy as np
    >>> from sktemper.model import LocalStep, Mixture
    >>> step = LocalStep.of_rows(
    ...     row_observed=np.array([3, 4]),
    ...     row_bounds=np.array([-7.5, -9.0]),
    ...     n_iterations=2,
    ...     statistics=Mixture(np.array([1.0, 1.0]), np.ones((2, 3))),
    ... )
    >>> both = step + step
    >>> both.n_rows, float(both.bound), both.statistics.weights
    (4, -33.0, array([2., 2.]))
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
        return replace(self, statistics=compacted(self.statistics))

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

        log_partition, rows = self.log_partition, self.row_log_partitions
        if rows is not None:
            log_partition = (row_weight[:, None] * rows).sum(axis=0)
        return replace(
            self,
            n_observed=total(self.row_observed),
            bound=total(self.row_bounds),
            score=total(self.row_scores),
            log_partition=log_partition,
        )


class _StepAccumulator:
    """A sum of steps, see `LocalStep.accumulator`."""

    def __init__(self, step):
        self._step, self._statistics = step, Fold()
        self._statistics.add(step.statistics)

    def add(self, step):
        self._statistics.add(step.statistics)
        self._step = self._step._plus(step, None)

    def total(self):
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


# -- the capability "renewals": in a stream, components appear and disappear -----------
# In a renewal, new components are fitted to remembered rows, which are recent rows of
# the stream, and similar components are merged.  The current components are the
# components before the renewal; parameters named ``present`` hold them.


class Renewing:
    """Methods of a model whose components are renewed in a stream, see `Renewals`.

    All methods get the parameters ``globals_`` and ``hyper``.  The rows ``X`` are the
    remembered rows, whose weights ``row_weight`` have the mean 1.
    """

    def with_births(
        self,
        globals_: Any,
        hyper: Any,
        n_births: int,
        X: Any,
        row_weight: np.ndarray,
        random: np.random.Generator,
    ) -> tuple[ConjugateModel, Any, Any]:
        """Return a larger model whose prior contains the current components.

        Parameters
        ----------
        globals_, hyper : object
            Current parameters.
        n_births : int
            Number of new components, which follow the current components.
        X : array-like
            The recent ones of the remembered rows, to which the larger model will be
            fitted.
        row_weight : ndarray of shape (n_rows,)
        random : numpy.random.Generator

        Returns
        -------
        model : ConjugateModel
            Larger model with the same `stop`.
        globals_, hyper : object
            Initial parameters of a fit of the larger model.
        """
        raise NotImplementedError

    def joined(
        self, globals_: Any, hyper: Any, born: Any, X: Any, row_weight: np.ndarray
    ) -> tuple[ConjugateModel, Any, Any]:
        """Return a model with the current and the new components.

        The new components are ``born``, the fitted parameters of the model that
        `with_births` returned.  The joined model has the prior of this model for all
        components.
        """
        raise NotImplementedError

    def merged(
        self,
        globals_: Any,
        hyper: Any,
        present: Any,
        present_hyper: Any,
        X: Any,
        row_weight: np.ndarray,
    ) -> tuple[Any, Any, np.ndarray]:
        """Merge components of the joined model until this model's number is left.

        ``globals_`` and ``hyper`` are fitted parameters of the model that `joined`
        returned.  A component that continues a current component keeps the index of the
        latter.

        Returns
        -------
        globals_, hyper : object
        is_new : ndarray of bool of shape (n_components,)
            Whether the component with each index is new.
        """
        raise NotImplementedError

    def matched(
        self,
        globals_: Any,
        hyper: Any,
        present: Any,
        present_hyper: Any,
        X: Any,
        row_weight: np.ndarray,
    ) -> tuple[Any, np.ndarray]:
        """Order the components of a new fit by their similarity to current components.

        In the result, similar components have the same index.

        Returns
        -------
        globals_ : object
        is_same : ndarray of bool of shape (n_components,)
            Whether the component with each index continues the current component.
        """
        raise NotImplementedError

    def blended(
        self,
        globals_: Any,
        hyper: Any,
        present: Any,
        may_be_same: np.ndarray,
        share: float,
    ) -> Any:
        """Return components that keep information of similar earlier components.

        Parameters
        ----------
        globals_, hyper : object
            Parameters after a renewal.
        present : object
            Global parameters before the renewal.
        may_be_same : ndarray of bool of shape (n_components,)
            Whether to compare the components with each index.
        share : float
            Weight of the components before the renewal: the weight of all rows that are
            no longer remembered, as a share of the weight of all rows.

        Returns
        -------
        globals_ : object
        """
        raise NotImplementedError

    def component_counts(self, globals_: Any, hyper: Any) -> np.ndarray:
        """Return how many observations, such as tokens, each component has.

        Returns
        -------
        counts : ndarray of shape (n_components,)
        """
        raise NotImplementedError


# -- the capability "ascents": several steps of coordinate ascent in one call ----------
def prepared_of(model, globals_, hyper, prepare=True):
    """Return the prepared parameters, and check that everything is finite.

    If ``prepare`` is False, check the parameters only and return None.

    Raises
    ------
    IllDefined
        If a value is not finite, or the parameters have left their domain.
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        try:
            prepared = model.prepare(globals_, hyper) if prepare else None
        except np.linalg.LinAlgError as error:
            raise IllDefined() from error
        except ValueError as error:
            if isinstance(error, IllDefined) or all_finite(globals_, hyper):
                raise
            raise IllDefined() from error
        if not model.is_finite(globals_, hyper, prepared):
            raise IllDefined()
    return prepared


class Ascent:
    """Steps of rate 1 on the same rows in memory, many in one call.

    The results are those of `ConjugateModel.local_step`, `update_hyper` and `step`,
    except for rounding.  A step is taken completely or not at all, and the rounding
    does not depend on the number of steps of a call.

    Parameters
    ----------
    model : ConjugateModel
    block : object
    row_weight : ndarray of shape (n_rows,) or None

    Attributes
    ----------
    row_bounds : ndarray of shape (n_rows,)
        Bounds of the rows in the last step, before its update of the parameters.
    n_observed : float
        Weighted number of observations of the rows.
    keeps_local : bool
        Whether steps start from the local parameters of the step before.
    local : ndarray or None
        Local parameters of the rows after the last step, if they are kept.
    n_sections : int
        Number of sections of the rows, which threads share; set before the first run.
    """

    #: Results of `run`: all steps were taken; the loop's `stop` was set; the ascent is
    #: given up; the bound has converged; a step would leave the domain of the
    #: parameters, or would not be finite.  The last three steps are not taken.
    DONE, STOPPED, GIVEN_UP, CONVERGED, ILL_DEFINED, NOT_FINITE = range(6)
    #: Flags of steps: compute the lower bound; compute only the bounds, and end; do not
    #: give up in this step.
    WATCHED, BOUND_ONLY, KEEPS_ON = (1 << bit for bit in range(3))
    #: Limits with which all steps are taken, see `run`.
    NO_LIMITS = -math.inf, 0.0, 0.0, -math.inf, 0.0

    keeps_local, local, n_sections = False, None, 1

    def __init__(self, model, block, row_weight=None):
        self.model, self.block, self.row_weight = model, block, None
        observed = self._observed()
        self.row_bounds = np.empty(len(observed))
        if row_weight is not None:
            self.row_weight = np.ascontiguousarray(row_weight, dtype=np.float64)
            observed = row_weight * observed
        self.n_observed = float(observed.sum())

    def _observed(self):
        """Return the number of observations of each row."""
        return self.model.n_observed(self.block)

    def start(self, globals_: Any, hyper: Any, local: Any = None) -> None:
        """Start from parameters.

        Parameters
        ----------
        globals_, hyper : object
        local : ndarray or None
            Local parameters of the rows.
        """
        raise NotImplementedError

    def run(
        self,
        powers: np.ndarray,
        flags: np.ndarray,
        n_left: int,
        limits: np.ndarray,
        before: float,
        scale: float,
    ) -> tuple[int, int, float, np.ndarray]:
        """Take steps, and change the parameters.

        Parameters
        ----------
        powers : ndarray of shape (n_steps, 3)
            The `Powers` of each step.
        flags : ndarray of int32 of shape (n_steps,)
        n_left : int
            Number of steps of the ascent that are left, for the decision to give up.
        limits : ndarray of shape (5,)
            The bound without the move, the differences of bounds and the gain at which
            a proposal has returned, and the least gain of a step: see
            `Moves.is_hopeless`.  The last number is the change of the bound below which
            the ascent has converged.
        before : float
            Lower bound of the last step, or NaN.
        scale : float
            D / S.

        Returns
        -------
        status, n_done : int
        before : float
            Lower bound of the last step that was taken.
        bounds : ndarray of shape (2, n_steps) or (3, n_steps)
            Sums of the rows' bounds, the lower bounds, and the mean numbers of
            iterations of the rows, which are 1 by default.

        Raises
        ------
        Stopped
            If `stop` was set.
        """
        raise NotImplementedError

    def parameters(self) -> tuple[Any, Any]:
        """Return the current ``globals_`` and ``hyper``."""
        raise NotImplementedError

    def ill_defined(self) -> IllDefined:
        """Return the error of a step that leaves the domain of the parameters."""
        return IllDefined()

    def check(self, status):
        """Raise `IllDefined` if the ascent ended with an invalid step."""
        if status == self.NOT_FINITE:
            raise IllDefined()
        if status == self.ILL_DEFINED:
            raise self.ill_defined()

    def take(self, n_steps, scale=1.0, with_bounds=True):
        """Take steps at T=1; return the rows' and the lower bound after them.

        NaN replaces the lower bound without ``with_bounds``.
        """
        flags = np.zeros(n_steps + with_bounds, dtype=np.intc)
        flags[n_steps:] = self.WATCHED | self.BOUND_ONLY
        powers, limits = np.ones((len(flags), 3)), np.array(self.NO_LIMITS)
        given = powers, flags, len(flags), limits, math.nan, scale
        status, *_, bounds = self.run(*given)
        self.check(status)
        return bounds[:2, -1]


# -- capabilities of models: optional methods that some policies need ------------------
#: Methods of each capability.
_CAPABILITIES = {
    "dense_vectors": (
        "natural_parameters",
        "from_natural_parameters",
        "target_parameters",
    ),
    "fisher_products": ("fisher_product",),
    "largest_rates": ("is_valid",),
    "log_partitions": ("log_partition",),
    "map_partitions": ("map_partition",),
    "current_partitions": ("current_partition",),
    "complete_partitions": ("complete_partition", "complete_current"),
    "critical_temperatures": ("critical_temperatures",),
    "ascents": ("ascent",),
    "births": ("propose_birth",),
    "splits": ("propose_split_merge",),
    "other_features": ("on_features",),
    "renewals": [name for name in vars(Renewing) if name[0] != "_"],
}


class Capabilities(Renewing):
    """Methods that a model may define so that policies can use them.

    A model has a capability if it defines all its methods, see `_CAPABILITIES`.  A
    policy lists the capabilities that it needs in `Policy.requires`.  If the model
    lacks one of them, `fit` raises before the first step.
    """

    @classmethod
    def capabilities(cls) -> set[str]:
        """Return the names of the capabilities whose methods are defined."""
        return {name for name in _CAPABILITIES if not cls._missing(name)}

    @classmethod
    @functools.cache
    def _missing(cls, capability):
        return [
            method
            for method in _CAPABILITIES[capability]
            if getattr(cls, method) is getattr(Capabilities, method)
        ]

    @classmethod
    def require(cls, capability: str, policy: Any) -> None:
        """Raise ValueError if the model lacks a capability that a policy needs."""
        missing = cls._missing(capability)
        if missing:
            raise ValueError(
                f"{policy!r} needs a model with {capability}, and {cls.__name__} has "
                f"none: it does not define {', '.join(missing)}."
            )

    # -- dense_vectors: for adaptive rates, and tests ----------------------------------
    def natural_parameters(self, globals_: Any) -> np.ndarray:
        """Return the natural parameters as one contiguous vector of float64.

        The parameters ``globals_`` must not be changed.
        """
        raise NotImplementedError

    def from_natural_parameters(self, vector: np.ndarray) -> Any:
        """Return the global parameters for a vector of `natural_parameters`."""
        raise NotImplementedError

    def target_parameters(
        self, statistics: Any, scale: float, powers: Powers, hyper: Any
    ) -> np.ndarray:
        """Return the target of a `ConjugateModel.step` as a vector."""
        raise NotImplementedError

    # -- fisher_products ---------------------------------------------------------------
    def fisher_product(self, globals_: Any, vector: np.ndarray) -> np.ndarray:
        """Return the Fisher information of q(globals) times a vector.

        The vector is a change of the natural parameters, and the product is the change
        of the expected sufficient statistics.
        """
        raise NotImplementedError

    # -- largest_rates: for Gaussian noise, whose factors may be negative --------------
    def largest_rate(
        self, globals_: Any, statistics: Any, scale: float, powers: Powers, hyper: Any
    ) -> Any:
        """Return the rate at which a step would leave the domain of the parameters.

        This can happen only if statistics have negative factors.  The rate is infinity
        if no rate leaves the domain.  An array has a rate for each part, such as a
        component; `step` then gets such an array, too.
        """
        return np.inf

    def within_domain(self, statistics: Any) -> Any:
        """Return statistics whose entries are in their domain, one by one.

        They replace statistics with negative factors.  By default they are unchanged,
        and `largest_rate` limits the rates.
        """
        return statistics

    def is_valid(self, globals_: Any) -> Any:
        """Return whether the parameters, or each of their parts, are in the domain."""
        raise NotImplementedError

    # -- log_partitions: for temperatures that are inferred ----------------------------
    def log_partition(
        self,
        inverse_temperatures: np.ndarray,
        hyper: Any,
        random: np.random.Generator,
        priors: Any,
        n_samples: int,
    ) -> Any:
        """Return the log normaliser of the tempered likelihood.

        It normalises the ``score`` of `LocalStep`: log C(b) is the logarithm of the sum
        of exp(b score) over all values that a sample could have.

        Parameters
        ----------
        inverse_temperatures : ndarray of shape (n_temperatures,)
        hyper : object
        random : numpy.random.Generator
        priors : object or None
            Priors to use instead of the model's priors; None uses the model's priors.
            "global" means priors that suit a common temperature of all samples, and
            "local" priors that suit a temperature for each sample.
        n_samples : int
            Number of draws, if the normaliser is estimated by sampling.

        Returns
        -------
        log_partition : ndarray of shape (n_temperatures,) or object
            If log C(b) of a sample is proportional to its number of observations, an
            array of log C(b) per observation.  Otherwise a picklable object with the
            method ``of_rows(n_observed)``, which returns log C(b) of samples with the
            given numbers of observations, of shape (n_rows, n_temperatures).
        """
        raise NotImplementedError

    def map_partition(
        self, inverse_temperatures: np.ndarray, hyper: Any, priors: Any
    ) -> Any:
        """Return log C(b) at the mode of the prior of the natural parameters.

        Parameters and results are those of `log_partition`.
        """
        raise NotImplementedError

    def current_partition(
        self,
        inverse_temperatures: np.ndarray,
        block: Any,
        prepared: Any,
        local_parameters: np.ndarray,
    ) -> np.ndarray:
        """Return log C(b) of each row of a block under the current posterior.

        Parameters
        ----------
        inverse_temperatures : ndarray of shape (n_temperatures,)
        block : object
        prepared : object
            Result of `prepare`.
        local_parameters : ndarray
            The rows' local parameters, see `LocalStep`.

        Returns
        -------
        log_partition : ndarray of shape (n_rows, n_temperatures)
        """
        raise NotImplementedError

    # -- complete_partitions: if the score "complete" differs from the other -----------
    def complete_partition(self, *arguments: Any) -> Any:
        """Return the log normaliser of the "complete" score of `LocalStep`.

        It is log C(b) over all values of a sample and of its discrete local variables.
        Parameters and results are those of `log_partition`.
        """
        raise NotImplementedError

    def complete_current(self, *arguments: Any) -> np.ndarray:
        """Return the same for each row of a block under the current posterior.

        Parameters and results are those of `current_partition`.
        """
        raise NotImplementedError

    # -- critical_temperatures: for schedules with start="auto" ------------------------
    def critical_temperatures(
        self, X: Any, hyper: Any, sample_weight: np.ndarray | None = None
    ) -> np.ndarray | None:
        """Return the temperatures below which components become distinct.

        In a fit at a constant temperature above the first critical temperature, all
        components become equal.  Between the first and the second critical temperature
        the components differ in one direction, and below the last critical temperature
        in all directions.  The temperature is the reciprocal of `Powers.local`.

        Parameters
        ----------
        X : array-like
            The data, or an even sample of at most `max_start_rows` rows of the data, or
            the first chunk of a stream.
        hyper : object
            Initial hyperparameters.
        sample_weight : ndarray of shape (n_samples,) or None
            Number of times that each row counts.

        Returns
        -------
        temperatures : ndarray of shape (n_components - 1,) or None
            Finite, positive and not increasing, corrected for the noise of a finite
            sample.  Components do not differ at T=1 in a direction whose temperature is
            below 1.  None if there are no critical temperatures: the priors of
            components differ, or X has too few rows.
        """
        raise NotImplementedError

    # -- ascents: for fits to few rows -------------------------------------------------
    def ascent(
        self, block: Any, hyper: Any, row_weight: np.ndarray | None = None
    ) -> Ascent | None:
        """Return an `Ascent` on a block, or None if these rows need single steps.

        Parameters
        ----------
        block : object
        hyper : object
        row_weight : ndarray of shape (n_rows,) or None
            Number of times that each row counts; None means once.
        """
        raise NotImplementedError

    def most_sections(self, n_rows: int) -> int:
        """Return the largest number of sections of an ascent that threads can share."""
        return 1

    # -- births, splits ----------------------------------------------------------------
    def propose_birth(
        self,
        globals_: Any,
        hyper: Any,
        block: Any,
        random: np.random.Generator,
        row_weight: np.ndarray | None = None,
    ) -> tuple[Any, Any]:
        """Propose global parameters with a new component for rows that fit badly.

        Parameters
        ----------
        globals_, hyper : object
        block : object
            Rows among which badly fitting rows are chosen.
        random : numpy.random.Generator
        row_weight : ndarray of shape (n_rows,) or None
            Number of times that each row counts; None means once.
        """
        raise ValueError(f"{type(self).__name__} makes no birth moves.")

    def fits_well(
        self,
        globals_: Any,
        hyper: Any,
        block: Any,
        row_weight: np.ndarray | None = None,
    ) -> bool:
        """Return whether all components fit their rows, so that births do not help.

        By default this is unknown, and the result is False.

        Parameters
        ----------
        globals_, hyper, block, row_weight : object
            As in `propose_birth`.
        """
        return False

    def agglomerated(
        self, globals_: Any, hyper: Any, best: tuple[Any, Any]
    ) -> tuple[Any, Any, float] | None:
        """Return parameters after merges of components, the start of another fit.

        Parameters
        ----------
        globals_, hyper : object
            Parameters of a fit, which may have superfluous components.
        best : tuple of object
            Global parameters and priors of the best fit so far.

        Returns
        -------
        start : tuple of object or None
            Global parameters, priors and an allowance.  The other fit is better if its
            lower bound plus the allowance is higher.  None, as by default, if a fit
            from there is not worth its time.
        """
        return None

    def propose_split_merge(
        self,
        globals_: Any,
        hyper: Any,
        block: Any,
        random: np.random.Generator,
        refused: frozenset[str],
        row_weight: np.ndarray | None = None,
    ) -> tuple[Any, Any, Any]:
        """Propose global parameters after splits and merges of components.

        Parameters
        ----------
        globals_, hyper : object
        block : object
            Rows from which the components are chosen.
        random : numpy.random.Generator
        refused : frozenset
            Keys of rejected proposals, which must not be repeated.
        row_weight : ndarray of shape (n_rows,) or None
            As in `propose_birth`.

        Returns
        -------
        globals_, hyper, key : object
            The proposal and its key.  If no proposal promises a better bound, a single
            None is returned instead.
        """
        raise ValueError(f"{type(self).__name__} makes no split and merge moves.")

    # -- other_features: for data with more columns, or fewer --------------------------
    def on_features(
        self, globals_: Any, hyper: Any, places: np.ndarray, start_share: float
    ) -> tuple[Any, Any]:
        """Convert the parameters of a model with other features to this model.

        Parameters
        ----------
        globals_, hyper : object
            Parameters of the other model.
        places : ndarray of int of shape (n_features,)
            Column in the other model for each feature of this model; -1 for a new
            feature, which no sample has contained so far.
        start_share : float
            Weight of the initial parameters in the current parameters.
        """
        raise NotImplementedError


# -- attributes and methods of models that have defaults -------------------------------
class Options:
    """Attributes and methods that a model may replace, see `ConjugateModel`."""

    block_size = 256
    parameter_dtype = np.dtype(np.float64)
    max_start_rows = 100_000
    stream_rows = None
    most_kept_rows = 0
    #: Whether ascents on many rows take them in blocks, by ``ascent_in_blocks``.
    _ascends_in_blocks = False
    watches_bound = False
    keeps_local = False
    n_local = None
    annealing_steps = 150
    birth_steps = 5
    products_per_value = np.inf
    is_random = False
    local_tol = 0.0
    scores_whole_rows = False
    scores_rankings = False
    weighs_observations = False
    has_continuous_local = None
    steps_in_place = False

    # -- the step ----------------------------------------------------------------------
    def step(
        self,
        globals_: Any,
        statistics: Any,
        scale: float,
        powers: Powers,
        rate: float,
        hyper: Any,
    ) -> Any:
        """Return the global parameters after a step.

        If `steps_in_place` is True, the step may overwrite the old parameters.  It must
        then check that its target is finite, and raise `IllDefined` otherwise, before
        it changes anything.

        Parameters
        ----------
        globals_, statistics : object
        scale : float
            D / S.
        powers : Powers
            Only ``powers.prior`` is used; ``statistics`` contain the other powers.
        rate : float or ndarray
            Weight of the target, in [0, 1]; an array if `largest_rate` returns one.
        hyper : object
        """
        old = self.natural_parameters(globals_)
        target = self.target_parameters(statistics, scale, powers, hyper)
        return self.from_natural_parameters((1 - rate) * old + rate * target)

    def update_hyper(
        self,
        hyper: Any,
        globals_: Any,
        statistics: Any,
        scale: float,
        rate: float,
        powers: Powers,
    ) -> Any:
        """Return priors and variances after a `step`; change only learned values.

        The statistics were computed under ``globals_``, the parameters before the step.
        """
        return hyper

    def is_finite(self, globals_: Any, hyper: Any, prepared: Any) -> bool:
        """Return whether all parameters after a step are finite.

        If some are not finite, the step is not taken.  A model with many parameters may
        check a few numbers instead, such as sums, if any parameter that is not finite
        makes one of them not finite.  ``prepared`` is the result of `prepare`, or None.
        """
        return all_finite(globals_, hyper, prepared)

    # -- units of a row ----------------------------------------------------------------
    def units_per_row(self, X: Any, rows: np.ndarray) -> np.ndarray:
        """Return the number of units of each row.

        A unit is a part of a row with a separate noise factor and a separate power.  By
        default, each row is one unit.
        """
        return np.ones(len(rows), dtype=np.intp)

    @classmethod
    def has_units(cls) -> bool:
        """Return whether the number of units of a row can differ from 1."""
        return cls.units_per_row is not Options.units_per_row

    def per_unit(self, block: Any, values: np.ndarray) -> np.ndarray:
        """Return the value of each unit, given those of the rows of a block."""
        return values

    # -- values of "auto" --------------------------------------------------------------
    def auto_batch_size(self, X: Any, total: int | None) -> int:
        """Return the batch size for ``batch_size="auto"``, at least 1.

        ``X`` are the data, or the first chunk of a stream, and ``total`` is the number
        of rows of a pass, or None for a stream of unknown size.
        """
        return 256

    def auto_temperature(self, hyper: Any, X: Any) -> float:
        """Return the start temperature of schedules with ``start="auto"``.

        It is the highest one for data with critical temperatures.  ``X`` are the rows
        from which the start of the fit is computed.
        """
        return 2.0

    # -- labels of rows: known components, or cells of covariates ----------------------
    def prepared_for(self, prepared: Any, labels: np.ndarray) -> Any:
        """Return prepared parameters for predictions of rows with these labels.

        The default ignores labels, which are known in a fit only.
        """
        return prepared

    def labelled_globals(
        self,
        X: Any,
        random: np.random.RandomState,
        hyper: Any,
        sample_weight: np.ndarray | None,
        labels: np.ndarray,
    ) -> Any:
        """Return `initial_globals` for rows of which some components are known.

        ``labels`` are components, -1 for unknown ones, (n_samples,), or probabilities,
        (n_samples, n_components).  `local_step` gets those of its rows in the request,
        and multiplies the responsibilities by the probabilities.  The default ignores
        labels.
        """
        return self.initial_globals(X, random, hyper, sample_weight)

    def with_labels(self, labels: np.ndarray) -> ConjugateModel:
        """Return a model whose moves are proposed from rows with these labels."""
        raise NotImplementedError

    # -- the order of components -------------------------------------------------------
    def final_order(self, globals_: Any, hyper: Any) -> np.ndarray | None:
        """Return the order of the components at the end of a `fit`.

        None, the default, keeps the order.  Streams always keep it.
        """
        return None

    def reordered(
        self, globals_: Any, hyper: Any, order: np.ndarray
    ) -> tuple[Any, Any]:
        """Return parameters and priors whose component k was ``order[k]``."""
        raise NotImplementedError

    # -- checks of pickles -------------------------------------------------------------
    def global_shapes(self, globals_: Any) -> list | None:
        """Return the shapes that numbers and arrays in `globals_` must have, in order.

        By default, the parameters are converted to a vector and back, and the shapes of
        the result are returned.  None disables the check, as for a model without the
        capability "dense_vectors".
        """
        if "dense_vectors" not in self.capabilities():
            return None
        same = self.from_natural_parameters(self.natural_parameters(globals_))
        return [np.shape(part) for part in numbers_in(same)]

    def hyper_shapes(self) -> list[tuple[int, ...]] | None:
        """Return the shapes in `hyper`; by default None, which disables the check."""
        return None

    def check(self, globals_: Any, hyper: Any) -> None:
        """Raise ValueError unless values are finite numbers of the right shapes.

        Kernels do not check their arguments.
        """
        check_numbers("global parameters", globals_, self.global_shapes(globals_))
        check_numbers("priors and variances", hyper, self.hyper_shapes())

    def check_local(self, local: Any) -> None:
        """Raise ValueError unless values are finite numbers, `n_local` for each row."""
        if not (isinstance(local, np.ndarray) and local.dtype.kind == "f"):
            raise ValueError("Local parameters must be an array of numbers.")
        width = local.shape[-1] if self.n_local is None else self.n_local
        check_numbers("local parameters", local, [(len(local), width)])


def tenth_of_rows(total, least, most):
    """Return a batch size: a tenth of the rows, within limits; at most half of them.

    For a stream of unknown size, ``total`` is None, and the size is at least 1,000.
    """
    if total is None:
        return max(1000, least)
    return max(1, min(max(round(total / 10), least), most, total // 2))


# -- the contract of models: the required methods --------------------------------------
class ConjugateModel(Options, Capabilities):
    r"""A conditionally conjugate model under mean-field inference.

    A global step is

    .. math:: \lambda \leftarrow (1 - \rho) \lambda + \rho \hat\lambda, \quad
        \hat\lambda = \lambda_0(p) + (D / S) \sum_i w_i b_i E[t_i]

    in natural parameters.  Here :math:`\rho` is the learning rate, :math:`\lambda_0(p)`
    the prior with power p, and D / S the scale from a batch to all data.  Sample i has
    the weight :math:`w_i`, the power :math:`b_i` and the sufficient statistics
    :math:`t_i`.  The domain of natural parameters is convex, so a step stays in it.

    To add a model, derive a class from this class, in a new folder.  No other part of
    the package needs a change.  The contract has three parts:

    Required
        The attribute ``dtype``, and the methods `take`, `initial_hyper`,
        `initial_globals`, `prepare`, `local_step`, `global_bound` and
        `predictive_scores`; also either the method `step`, or the capability
        "dense_vectors", which the default of `step` needs.

    Optional, with defaults
        All other attributes, and the methods `step`, `update_hyper`, `is_finite`,
        `units_per_row`, `per_unit`, `auto_batch_size`, `auto_temperature`,
        `labelled_globals`, `with_labels`, `prepared_for`, `final_order`, `reordered`,
        `global_shapes`, `hyper_shapes`, `check` and `check_local`.

    Capabilities, each needed by some policies
        "dense_vectors" (`natural_parameters`, `from_natural_parameters`,
        `target_parameters`), "fisher_products" (`fisher_product`), "largest_rates"
        (`is_valid`), "log_partitions" (`log_partition`),
        "map_partitions" (`map_partition`), "current_partitions" (`current_partition`),
        "complete_partitions" (`complete_partition`, `complete_current`),
        "critical_temperatures" (`critical_temperatures`), "ascents" (`ascent`),
        "births" (`propose_birth`), "splits" (`propose_split_merge`), "other_features"
        (`on_features`) and "renewals" (`with_births`, `joined`, `merged`, `matched`,
        `blended`, `component_counts`).  A model has a capability if it defines all its
        methods; `capabilities` returns the names.

    The page :doc:`/own_model` has an example and lists the methods.

    Attributes
    ----------
    dtype : dtype
        Dtype of kernels and of public arrays, float32 or float64.  Required.
    block_size : int
        Largest number of rows of a block.  The bits of results depend on it, because
        blocks are added in their order.
    most_kept_rows : int
        Largest number of rows of data for which a fit caches the blocks that `take`
        returns; set it if `take` is slow.  Methods must not change a block.  By default
        0.
    parameter_dtype : dtype
        Dtype in which global parameters are stored, by default float64.
    max_start_rows : int
        Largest number of rows that `initial_hyper`, `initial_globals` and
        `auto_batch_size` get if the data are in several parts.
    stream_rows : int or None
        Largest number of rows that a batch represents in a stream of unknown length.
        The temperature falls while the first 40 % of this number of rows are processed,
        but in at least 5 and at most 15 steps.  By default None: the batch represents
        the rows so far, and the temperature falls in 15 steps.
    watches_bound : bool
        Whether the lower bound is cheap enough to be computed in each step on all
        samples.  A fit then ends when it has converged.
    keeps_local : bool
        Whether a step on all samples starts from the local parameters of the previous
        step, because the local optimum depends on the start.
    n_local : int or None
        Number of local parameters of a row, if a step starts from local parameters;
        None if the number is unknown.
    annealing_steps : int
        Largest number of steps of a schedule with ``length="auto"``, if each step
        takes all samples.
    birth_steps : int
        Number of steps in which a new component reaches its optimum.
    products_per_value : float
        Approximate number of multiplications of a local step for each stored value of a
        row.  Several threads share the blocks only if each thread gets enough
        multiplications.  With the default, infinity, they always share the blocks.
    is_random : bool
        Whether local steps draw random numbers, from their ``seed``.
    local_tol : float
        Largest distance, in nats, of the bound of a row from its optimum at the end of
        a local step; 0 if the optimum is exact.
    scores_whole_rows : bool
        Whether `predictive_scores` is the predictive density of whole rows.
    scores_rankings : bool
        Whether the results of `predictive_scores` measure rankings.  Otherwise they are
        log-likelihoods.
    weighs_observations : bool
        Whether observations have weights.  `LocalStep.row_observed` is then a sum of
        weights instead of a number of observations.
    has_continuous_local : bool or None
        Whether rows have continuous local parameters, whose prior has the power
        ``powers.prior``.  If this is None, `sktemper.testing.check_model` assumes that
        rows have them if they have no discrete local parameters.
    steps_in_place : bool
        Whether `step` overwrites the old parameters.  If so, it must raise any
        exception before it changes them.
    stop : ndarray of shape (1,), int
        The loop sets it to 1 on Ctrl-C.  A local step reads it in each inner iteration,
        and raises `Stopped` if it is 1.
    """

    def __init__(self):
        self.stop = np.zeros(1, dtype=np.intc)

    def take(self, X: Any, rows: slice | np.ndarray) -> Any:
        """Return ``X[rows]`` as a block for `local_step`.

        ``X`` are validated data, which must not be changed.
        """
        raise NotImplementedError

    def initial_hyper(self, X: Any, sample_weight: np.ndarray | None = None) -> Any:
        """Return the starting values of priors and variances.

        Parameters
        ----------
        X : array-like
            The data, or the first chunk of a stream.
        sample_weight : ndarray of shape (n_samples,) or None
            Number of times that each row counts.

        Returns
        -------
        hyper : object
            A picklable value, which `update_hyper` may learn.
        """
        raise NotImplementedError

    def initial_globals(
        self,
        X: Any,
        random: np.random.RandomState,
        hyper: Any = None,
        sample_weight: np.ndarray | None = None,
    ) -> Any:
        """Return the initial global parameters.

        Parameters
        ----------
        X : array-like
            The data, or the first chunk of a stream, which may have fewer rows than
            components.
        random : numpy.random.RandomState
        hyper : object, default=None
            Initial hyperparameters; None means `initial_hyper` of ``X``.
        sample_weight : ndarray of shape (n_samples,) or None
            Number of times that each row counts.  If the start does not depend on the
            order of the rows, an integer weight has the effect of repeating the row.

        Returns
        -------
        globals_ : object
            A picklable value.
        """
        raise NotImplementedError

    def prepare(self, globals_: Any, hyper: Any) -> Any:
        """Return values for `local_step` that are computed once for each step.

        The value is shared by all blocks of a batch, which only read it.
        """
        raise NotImplementedError

    def local_step(self, block: Any, prepared: Any, request: Request) -> LocalStep:
        """Optimise the local parameters of a block; raise `Stopped` if `stop` is set.

        ``block`` is a result of `take`, and ``prepared`` one of `prepare`.
        """
        raise NotImplementedError

    def global_bound(
        self,
        globals_: Any,
        hyper: Any,
        powers: Powers = Powers(),  # noqa: B008
    ) -> float:
        """Return ``powers.prior`` E log p(globals) - E log q(globals), in nats.

        The value includes all constants.  The lower bound is the sum of this value and
        the bounds of all local steps.
        """
        raise NotImplementedError

    def predictive_scores(
        self, block: Any, prepared: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return each row's held-out log-likelihood at T=1, and number of observations.

        Returns
        -------
        scores : ndarray of shape (n_rows,)
            Log-likelihoods in nats; 0 for rows without held-out observations.
        n_held_out : ndarray of shape (n_rows,)
            Number of held-out observations (tokens, values or ratings) of each row.
        """
        raise NotImplementedError

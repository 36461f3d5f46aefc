"""What a model must say: the vocabulary between models, policies and the loop.

A model holds shapes and settings.  What a fit changes stands in its `globals_` (the
variational parameters shared by all samples) and `hyper` (priors and variances, which
may be learned); both are values that the model makes and that the loop hands back.
"""

import math
from dataclasses import dataclass, field, fields, is_dataclass, replace
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "CAPABILITIES",
    "NOT_FINITE",
    "ConjugateModel",
    "IllDefined",
    "LocalStep",
    "Powers",
    "Stopped",
    "all_finite",
]

#: What some models can do and others cannot: the methods that say how.
CAPABILITIES = {
    "dense_vectors": (
        "natural_parameters",
        "from_natural_parameters",
        "target_parameters",
    ),
    "fisher_products": ("fisher_product",),
    "largest_rates": ("largest_rate", "is_valid"),
    "log_partitions": ("log_partition",),
    "births": ("propose_birth",),
    "splits": ("propose_split_merge",),
}


#: Said of a start, or of a step, that leads out of all bounds.
NOT_FINITE = (
    "The next parameters would not be finite: values, sample_weight or priors are too "
    "large, too small or too far apart. Rescale them. What earlier steps did is kept."
)


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


def all_finite(*values):
    """Return whether all numbers in values, their items and their fields are finite."""
    pending, seen = list(values), set()
    while pending:
        value = pending.pop()
        if value is None or isinstance(value, str | int) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, float | np.floating):
            if not math.isfinite(value):
                return False
        elif isinstance(value, np.ndarray):
            # a sum reads once and writes nothing, but may overflow by itself
            if value.dtype.kind == "f" and not math.isfinite(value.sum()):
                if not np.isfinite(value).all():
                    return False
        elif isinstance(value, tuple | list):
            pending.extend(value)
        else:
            fields = value if isinstance(value, dict) else vars(value)
            pending.extend(fields.values())
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
        ``a + b`` and ``a.scaled(c)``.
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
        return LocalStep(
            self.statistics + other.statistics,
            self.n_rows + other.n_rows,
            self.n_observed + other.n_observed,
            self.n_iterations + other.n_iterations,
            self.bound + other.bound,
            self.score + other.score,
            temperatures=self.temperatures + other.temperatures,
            kept=self.kept + other.kept,
            log_partition=self.log_partition + other.log_partition,
        )

    def with_log_partitions(self, rows):
        """Return a block's step with log C of its rows, if a policy wants its sum."""
        if rows is None:
            return self
        total = rows.sum(axis=0)
        return replace(self, log_partition=total, row_log_partitions=rows)

    def weighted(self, weights):
        """Return a block's step with rows that count ``weights`` times in its totals.

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
            return float((weights * rows).sum())

        return replace(
            self,
            n_observed=total(self.row_observed),
            bound=total(self.row_bounds),
            score=total(self.row_scores),
            log_partition=self._weighted_log_partition(weights),
        )

    def _weighted_log_partition(self, weights):
        rows = self.row_log_partitions
        if rows is None:
            return self.log_partition
        return (weights[:, None] * rows).sum(axis=0)


class ConjugateModel:
    r"""A conditionally conjugate model under mean-field inference.

    To add a model, subclass this in a folder of its own and say what follows; nothing
    else in the package has to know it.  A global step is

    .. math:: \lambda \leftarrow (1 - \rho) \lambda + \rho \hat\lambda, \quad
        \hat\lambda = \lambda_0(p) + (D / S) \sum_i w_i b_i E[t_i]

    with everything in natural parameters, so that it stays in their domain.

    Attributes
    ----------
    block_size : int
        Rows of a block.  Part of the result's bits: blocks are summed in their order.
    watches_bound : bool
        Whether the lower bound is cheap enough for every step on all samples: a fit
        then ends when it has converged.
    keeps_local : bool
        Whether steps on all samples go on from the local parameters of the last one,
        because their optimum depends on where they start.
    n_local : int or None
        How many local parameters a row has, if a step goes on from them; None if that
        is not known.
    birth_steps : int
        Steps that bring a new component to its optimum.
    is_random : bool
        Whether local steps draw random numbers, from their ``seed``.
    local_tol : float
        How far the bound of a row may be from its optimum where a local step ends, in
        nats; 0 where the optimum is exact.
    scores_whole_rows : bool
        Whether `log_predictive` is the predictive density of whole rows.
    steps_in_place : bool
        Whether `step` changes the memory of the old parameters.  Then it raises before
        it does, see there.
    stop : ndarray of shape (1,), int
        Set to 1 by the loop on Ctrl-C.  A local step reads it at every inner iteration
        and then raises `Stopped`.
    """

    block_size = 256
    watches_bound = False
    keeps_local = False
    n_local = None
    birth_steps = 5
    is_random = False
    local_tol = 0.0
    scores_whole_rows = False
    steps_in_place = False

    def __init__(self):
        self.stop = np.zeros(1, dtype=np.intc)

    # -- what it can do --------------------------------------------------------------
    @classmethod
    def capabilities(cls):
        """Return the names of those of `CAPABILITIES` whose methods are defined."""
        return {name for name in CAPABILITIES if not cls._missing(name)}

    @classmethod
    def _missing(cls, capability):
        return [
            method
            for method in CAPABILITIES[capability]
            if getattr(cls, method) is getattr(ConjugateModel, method)
        ]

    @classmethod
    def require(cls, capability, policy):
        """Raise ValueError if a policy needs what the model cannot do."""
        missing = cls._missing(capability)
        if missing:
            raise ValueError(
                f"{policy!r} needs a model with {capability}, and {cls.__name__} has "
                f"none: it does not define {', '.join(missing)}."
            )

    # -- data ------------------------------------------------------------------------
    def take(self, X, rows):
        """Return ``X[rows]`` as a block that `local_step` takes.

        ``rows`` is a slice or an array of indices.  ``X`` is never changed.
        """
        raise NotImplementedError

    def units_per_row(self, X, rows):
        """Return how many units, each with a weight and a power, each row has."""
        return np.ones(len(rows), dtype=np.intp)

    def per_unit(self, block, values):
        """Return powers of what has temperatures of its own, as each unit has them.

        That is each row of a block, or, where there are `LocalStep.unit_scores`, each
        unit.
        """
        return values

    def auto_batch_size(self, X, total):
        """Return the size that ``batch_size="auto"`` stands for, from 1 up.

        ``X`` are the data, of which ``total`` rows are to be seen in a pass; or the
        first chunk of a stream, of ``total`` rows in all or None.
        """
        return 256

    def auto_temperature(self, hyper):
        """Return where an annealing with ``start="auto"`` begins.

        ``hyper`` is as at the start.
        """
        return 2.0

    # -- the state of a fit ----------------------------------------------------------
    def initial_hyper(self, X, sample_weight=None):
        """Return the starting values of priors and variances.

        ``X`` are the data, or the first chunk of a stream.
        """
        raise NotImplementedError

    def initial_globals(self, X, random, hyper=None, sample_weight=None):
        """Return the start of the global parameters.

        Parameters
        ----------
        X : array-like
            The data, or the first chunk of a stream: maybe fewer rows than components.
        random : numpy.random.RandomState
        hyper : object, default=None
            As at the start; None is `initial_hyper` of ``X``.
        sample_weight : ndarray of shape (n_samples,) or None
            How often each row counts.  Weights are repetitions where the start neither
            depends on the order of the rows.
        """
        raise NotImplementedError

    def prepare(self, globals_, hyper):
        """Return what `local_step` needs, computed once a step."""
        raise NotImplementedError

    def is_finite(self, globals_, hyper, prepared):
        """Return whether nothing in the state after a step is NaN or infinite.

        Such a step is not taken.  A model whose parameters are many may look only at
        what tells of all of them.

        Parameters
        ----------
        globals_, hyper : object
        prepared : object or None
            What `prepare` makes of them, if it was asked.
        """
        return all_finite(globals_, hyper, prepared)

    # -- the step --------------------------------------------------------------------
    def local_step(
        self,
        block,
        prepared,
        powers,
        weights=None,
        seed=0,
        local_init=None,
        want=("statistics", "bound"),
    ):
        """Optimise the local parameters of a block.

        Parameters
        ----------
        block : object
            From `take`.
        prepared : object
            From `prepare`.
        powers : Powers
        weights : ndarray of shape (n_units,) or None
            Noise: factors of what the units tell of the global parameters, and of the
            local ones if these have several units; None is 1.
        seed : int
            For models that sample: one number a step and block.
        local_init : ndarray or None
            Local parameters to start from.
        want : collection of {"statistics", "bound", "score", "local"}
            What to compute beside the local optimum.

        Returns
        -------
        LocalStep

        Raises
        ------
        Stopped
            If `stop` was set meanwhile.
        """
        raise NotImplementedError

    def step(self, globals_, statistics, scale, powers, rate, hyper):
        """Return the global parameters after a step.

        May reuse the memory of the old where `steps_in_place` says so.  Then it looks
        itself whether what it adds is finite, and raises `IllDefined` if it is not,
        before it changes anything.

        Parameters
        ----------
        globals_ : object
        statistics : object
        scale : float
            D / S.
        powers : Powers
            Only ``powers.prior`` matters here: the rest is in ``statistics``.
        rate : float
            The weight of the target, in [0, 1].
        hyper : object
        """
        old = self.natural_parameters(globals_)
        target = self.target_parameters(statistics, scale, powers, hyper)
        return self.from_natural_parameters((1 - rate) * old + rate * target)

    def largest_rate(self, globals_, statistics, scale, powers, hyper):
        """Return the rate at which a step would leave the parameters' domain.

        Only statistics with negative weights can lead there; infinite if none does.
        """
        return np.inf

    def is_valid(self, globals_):
        """Return whether these are parameters of distributions, for `largest_rate`."""
        raise NotImplementedError

    def update_hyper(self, hyper, globals_, statistics, scale, rate, powers):
        """Return learned priors and variances after a step; fixed ones unchanged.

        ``globals_`` are those before the step, under which the statistics are.
        """
        return hyper

    # -- the same in dense vectors: for adaptive rates and tests -----------------------
    def natural_parameters(self, globals_):
        """Return the natural parameters as one contiguous dense float64 vector."""
        raise NotImplementedError

    def from_natural_parameters(self, vector):
        """Return the global parameters of a vector."""
        raise NotImplementedError

    def target_parameters(self, statistics, scale, powers, hyper):
        """Return the target of a step as a dense vector."""
        raise NotImplementedError

    def fisher_product(self, globals_, vector):
        """Return the Fisher information of q(globals) times ``vector``."""
        raise NotImplementedError

    # -- what was loaded ---------------------------------------------------------------
    def global_shapes(self, globals_):
        """Return the shapes that numbers and arrays in `globals_` must have, in order.

        By default those that they have once their vector is taken apart again; None,
        which leaves them unchecked, of a model without dense vectors.
        """
        if "dense_vectors" not in self.capabilities():
            return None
        same = self.from_natural_parameters(self.natural_parameters(globals_))
        return [np.shape(part) for part in _numbers(same)]

    def hyper_shapes(self):
        """Return the same of `hyper`; by default None, which leaves them unchecked."""
        return None

    def check(self, globals_, hyper):
        """Raise if these cannot be parameters of this model: kernels trust them.

        Raises
        ------
        ValueError
            If they are not numbers, finite, and of the right shapes.
        """
        _check_numbers("global parameters", globals_, self.global_shapes(globals_))
        _check_numbers("priors and variances", hyper, self.hyper_shapes())

    def check_local(self, local):
        """Raise if these cannot be the local parameters that a step goes on from.

        Raises
        ------
        ValueError
            If they are not numbers, finite, `n_local` of each row.
        """
        if not (isinstance(local, np.ndarray) and local.dtype.kind == "f"):
            raise ValueError("local parameters are no array of numbers")
        width = local.shape[-1] if self.n_local is None else self.n_local
        _check_numbers("local parameters", local, [(len(local), width)])

    # -- objectives ------------------------------------------------------------------
    def global_bound(self, globals_, hyper, powers=Powers()):  # noqa: B008
        """Return p E log p(globals) - E log q(globals), p = ``powers.prior``."""
        raise NotImplementedError

    def log_partition(self, inverse_temperatures, hyper, random, priors, n_samples):
        """Return the log normaliser of the tempered likelihood.

        It belongs to the ``score`` of `LocalStep`: log C(b) is the logarithm of the sum
        of exp(b score) over all that could be observed in the place of a sample.

        Parameters
        ----------
        inverse_temperatures : ndarray of shape (n_temperatures,)
        hyper : object
        random : numpy.random.Generator
        priors : object or None
            What stands for the model's priors, None for those themselves; "global" and
            "local" are what suits a temperature for all samples, and one for each.
        n_samples : int
            Where the normaliser is estimated by sampling.

        Returns
        -------
        log_partition : ndarray of shape (n_temperatures,) or object
            Log C(b) per observation, if that of a sample is its number of observations
            times this.  Otherwise a picklable value with ``of_rows(n_observed)``, which
            returns log C(b) of samples, of shape (n_rows, n_temperatures), given the
            numbers of observations, `LocalStep.row_observed`.
        """
        raise NotImplementedError

    def log_predictive(self, block, prepared):
        """Return each row's held-out log-likelihood at T=1, and what it is a sum of.

        Returns
        -------
        scores : ndarray of shape (n_rows,)
            In nats, 0 where nothing is held out.
        n_held_out : ndarray of shape (n_rows,)
            Tokens, values or ratings.
        """
        raise NotImplementedError

    # -- leaving a poor optimum --------------------------------------------------------
    def propose_birth(self, globals_, hyper, block, random, weights=None):
        """Propose global parameters with a component put where the fit is bad.

        Parameters
        ----------
        globals_, hyper : object
        block : object
            Rows that tell where that is.
        random : numpy.random.Generator
        weights : ndarray of shape (n_rows,) or None
            How often each of them counts; None is once.

        Returns
        -------
        globals_, hyper : object
        """
        raise ValueError(f"{type(self).__name__} makes no birth moves.")

    def propose_split_merge(
        self, globals_, hyper, block, random, refused, weights=None
    ):
        """Propose global parameters with a component split and two others merged.

        Parameters
        ----------
        globals_, hyper : object
        block : object
            Rows that tell which.
        random : numpy.random.Generator
        refused : frozenset
            Keys of proposals not to be made again.
        weights : ndarray of shape (n_rows,) or None
            As of `propose_birth`.

        Returns
        -------
        globals_, hyper, key : object
            Or None, if none promises a better bound.
        """
        raise ValueError(f"{type(self).__name__} makes no split and merge moves.")


def _check_numbers(name, value, shapes):
    """Raise unless all numbers in a value are finite, and of these shapes."""
    numbers = list(_numbers(value))
    if shapes is not None and [np.shape(part) for part in numbers] != shapes:
        raise ValueError(f"{name} have the wrong shapes")
    if not all(np.isfinite(part).all() for part in numbers):
        raise ValueError(f"{name} are not finite")


def _numbers(value):
    """Yield the numbers and arrays that a value is made of."""
    if isinstance(value, np.ndarray | Number):
        yield value
    elif isinstance(value, dict):
        yield from _numbers(list(value.values()))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _numbers(part)
    elif is_dataclass(value):
        for one in fields(value):
            yield from _numbers(getattr(value, one.name))

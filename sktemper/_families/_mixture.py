"""Mixtures of components that have conjugate priors."""

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy import sparse, special
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp

from .._contract import Ascent, ConjugateModel, IllDefined, LocalStep, Powers, Request
from .._utils._budgets import ROWS_COMPARED
from .._utils._cache import LastCall, forget, twin
from .._utils._linalg import sparse_rows
from .._utils._typing import DataLike, DTypeLike
from ._annealed import AnnealedChains
from ._ascent import MOST_VALUES, BlocksAscent, ProductAscent, ascent_of
from ._births import ORDER, USED, BirthPlaces, Search
from ._dirichlet import WEIGHTS, by_size
from ._family import ONCE, Family, Natural, NaturalModel, dense, is_equal
from ._kernels import ROUNDING


# -- values of a mixture: parameters, priors, and tables for local steps ---------------
@dataclass(frozen=True)
class Mixture(Natural):
    """Natural parameters of a mixture, or statistics to add to them.

    Attributes
    ----------
    weights : ndarray
        Parameters of the distribution of the weights, see `WEIGHTS`.
    components : ndarray of shape (n_components, n_natural)
        Parameters of the distributions of the components, see `Family`.

    Examples
    --------
    >>> import numpy as np
    >>> from sktemper.model import Mixture
    >>> statistics = Mixture(weights=np.array([3.0, 5.0]), components=np.ones((2, 4)))
    >>> (statistics + statistics.scaled(0.5)).weights
    array([4.5, 7.5])
    """

    weights: np.ndarray
    components: np.ndarray


class MixtureHyper(NamedTuple):
    """Priors: the concentration of the weights, and parameters of a component.

    Attributes
    ----------
    weight_concentration : float
    component : ndarray of shape (n_natural,)

    Examples
    --------
    >>> import numpy as np
    >>> from sktemper.model import MixtureHyper
    >>> MixtureHyper(weight_concentration=0.1, component=np.zeros(2)).component
    array([0., 0.])
    """

    weight_concentration: float
    component: np.ndarray


class PreparedMixture(NamedTuple):
    """Values of a mixture for local steps."""

    log_weights: np.ndarray  # E log pi, (n_components,)
    tables: Any  # the result of `Family.prepare` for the components
    globals_: Mixture
    hyper: Any


# -- renewals of mixtures in streams: births from rows that fit badly, and merges ------
#: Cosine of responsibilities above which two components are the same.
SAME_COSINE = 0.5
#: New components start from the rows with the lowest scores: this share of all rows,
#: and at least this number of rows per new component.
WORST, ROWS_OF_BIRTH = 0.25, 10


def worst_rows(scores, counts, n_births):
    """Return the rows of the lowest scores per observation, for births."""
    scores = np.where(counts > 0, scores / np.maximum(counts, 1e-300), np.inf)
    n_worst = max(round(WORST * len(scores)), ROWS_OF_BIRTH * n_births)
    return np.sort(np.argsort(scores, kind="stable")[:n_worst])


def _placed(before, shares, row_weight):
    """Return weighted responsibilities in the places of the most similar components.

    The cosines of the columns of responsibilities that share a place follow, and 1 for
    places without a component.
    """
    units = (np.linalg.norm(part, axis=0) for part in (before, shares))
    one, other = (np.where(unit > 0.0, unit, 1.0) for unit in units)
    cosines = (before / one).T @ (shares / other)
    places, own = linear_sum_assignment(-cosines)
    placed, found = np.zeros_like(before), np.ones(before.shape[1])
    placed[:, places] = row_weight[:, None] * shares[:, own]
    found[places] = cosines[places, own]
    return placed, found


# -- mixtures of components that have conjugate priors ---------------------------------
#: Logarithm of the probability of a component that is excluded, finite in float32.
NEVER = -1e30
#: Number of times that each row counts in a fit of maximum likelihood; numbers of steps
#: from each start, and of the best fit; and gain of a step, in nats, that ends a fit.
COPIES, STEPS_OF_STARTS, MOST_STEPS, LEAST_STEP_GAIN = 1e4, 20, 1000, 1e-2


class MixtureModel(NaturalModel):
    """A mixture of components of one conjugate family.

    The family defines the data and the likelihood of a component.  A subclass defines
    the prior of a component, `prior_of_component`.

    Parameters
    ----------
    n_components, n_features : int
    family : Family
    weight_prior : {"dirichlet_process", "dirichlet_distribution"}
    weight_concentration : float or None
        None is 1 / n_components.
    dtype : {float32, float64}
        Type of public arrays.

    Examples
    --------
    The page :doc:`/own_model` fits such a model.

    >>> import numpy as np
    >>> from sktemper.model import MixtureModel, MultinomialFamily
    >>> class Dice(MixtureModel):
    ...     def prior_of_component(self, X, sample_weight=None):
    ...         return np.zeros(self.n_features)  # uniform
    >>> model = Dice(2, 6, MultinomialFamily(6))
    >>> "births" in model.capabilities()
    True
    """

    watches_bound = True
    scores_whole_rows = True
    parameters = Mixture
    birth_steps = 10
    #: Whether components keep their order at the end of a fit.
    keeps_order = False
    #: Whether a kernel may take several steps at once, for a family that has
    #: `Family.parts_of_kernel`; False if a subclass replaces methods of a step.
    steps_by_kernel = False
    #: Labels of the rows from which moves are proposed, see `with_labels`.
    known = None

    def __init__(
        self,
        n_components: int,
        n_features: int,
        family: Family,
        *,
        weight_prior: Literal[
            "dirichlet_process", "dirichlet_distribution"
        ] = "dirichlet_distribution",
        weight_concentration: float | None = None,
        dtype: DTypeLike = np.float64,
    ):
        super().__init__()
        self.n_components, self.n_features = n_components, n_features
        self.family = family
        self.weights = WEIGHTS[weight_prior](n_components)
        if weight_concentration is None:
            weight_concentration = 1.0 / n_components
        self.weight_concentration = weight_concentration
        self.dtype = dtype
        self.last_search, self._prior = LastCall(is_equal), LastCall()
        self._last_shares, self._places = LastCall(), LastCall()

    @property
    def products_per_value(self) -> float:
        """Approximate number of multiplications of a local step per value of a row."""
        return 2 * self.n_components * self.family.n_natural / self.n_features

    # -- what a subclass defines -------------------------------------------------------
    def prior_of_component(
        self, X: DataLike, sample_weight: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the natural parameters of a component's prior.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data, or the first chunk of a stream.
        sample_weight : ndarray of shape (n_samples,) or None
            Number of times that each row counts.

        Returns
        -------
        prior : ndarray of shape (n_natural,)
        """
        raise NotImplementedError

    def n_observed(self, block: Any) -> np.ndarray:
        """Return the number of observations of each row, by which scores are divided.

        By default it is `Family.n_observed`.
        """
        return self.family.n_observed(block)

    def n_scored(self, n_observed: np.ndarray) -> np.ndarray:
        """Return divisors of rows' scores, by default 1, given their `n_observed`."""
        return np.ones(len(n_observed))

    def family_of(self, hyper: Any) -> Family:
        """Return the family for data in the coordinates that the priors define.

        By default, the coordinates of the data do not change.
        """
        return self.family

    def component_prior(self, hyper: Any) -> np.ndarray:
        """Return the natural parameters of a component's prior, (n_natural,)."""
        return hyper.component

    # -- the state of a fit ------------------------------------------------------------
    def take(self, X, rows) -> Any:
        """Return ``X[rows]`` as a block of the family, see `Family.block`."""
        own = sparse_rows(X, rows) if sparse.issparse(X) else X[rows]
        return self.family.block(own)

    def initial_hyper(self, X, sample_weight=None) -> Any:
        prior = self.prior_of_component(X, sample_weight)
        return MixtureHyper(self.weight_concentration, np.asarray(prior, np.float64))

    def initial_globals(self, X, random, hyper=None, sample_weight=None) -> Any:
        """Return the optimum after each sample is assigned to its nearest random seed.

        The nearest seed of a sample is the one with the highest predictive density of
        the sample, given a posterior from this seed alone.
        """
        hyper = self.initial_hyper(X, sample_weight) if hyper is None else hyper
        weight = sample_weight if np.any(sample_weight) else np.ones(X.shape[0])
        known = np.flatnonzero(weight > 0)
        rows = known[:: -(-len(known) // ROWS_COMPARED)]
        few = len(rows) < self.n_components
        shares = weight[rows] / weight[rows].sum()
        seeds = random.choice(len(rows), self.n_components, few, shares)
        scale = weight.sum() / weight[rows].sum()
        return self.dealt(self.take(X, rows), seeds, weight[rows], scale, hyper)

    def dealt(
        self,
        block: Any,
        seeds: np.ndarray,
        row_weight: np.ndarray,
        scale: float,
        hyper: Any,
    ) -> Mixture:
        """Return the optimum after each row is assigned to its nearest seed.

        ``seeds`` are rows of the block, and ``scale`` is the factor of the statistics
        that the rows add to the prior.
        """
        family = self.family_of(hyper)
        alone = family.counted(dense(family.moments(block[seeds])))
        tables = family.prepare(alone + self.component_prior(hyper))
        labels = family.log_predictive(block, tables).argmax(axis=1)
        shares = row_weight[:, None] * (labels[:, None] == np.arange(self.n_components))
        return self.optimum(block, shares, hyper, scale)

    def optimum(
        self, block: Any, shares: np.ndarray, hyper: Any, scale: float = 1.0
    ) -> Mixture:
        """Return the best parameters for responsibilities of rows.

        ``shares``, (n_rows, n_components), are responsibilities times the number of
        times that each row counts.  ``scale`` is the factor of the statistics that the
        rows add to the prior.
        """
        statistics = self.statistics(block, shares, hyper)
        return self.target(statistics, scale, Powers(), hyper)

    def prior(self, hyper) -> Mixture:
        """Return the prior's natural parameters; the last result is cached."""
        return self._prior.result(self._prior_of, hyper)

    def _prior_of(self, hyper):
        component = self.component_prior(hyper)
        return Mixture(
            self.weights.prior(hyper.weight_concentration),
            self.family.repeated(component, self.n_components),
        )

    def shapes(self) -> tuple:
        return self.weights.prior(1.0).shape, self.family.shape(self.n_components)

    def hyper_shapes(self) -> list[tuple[int, ...]] | None:
        return [(), (self.family.n_natural,)]

    def global_shapes(self, globals_) -> list | None:
        return list(self.shapes())

    def is_valid(self, globals_) -> Any:
        return self.family.is_valid(globals_.components) & (globals_.weights > -1).all()

    def within_domain(self, statistics) -> Any:
        """Return statistics without negative numbers of rows, or of events."""
        counts = self.weights.counts(statistics.weights).clip(0.0)
        components = self.family.within_domain(statistics.components)
        weights = self.weights.counted(counts)
        return replace(statistics, weights=weights, components=components)

    def prepare(self, globals_, hyper) -> Any:
        return PreparedMixture(
            self.weights.expected_log(globals_.weights),
            self.family_of(hyper).prepare(globals_.components),
            globals_,
            hyper,
        )

    # -- the step ----------------------------------------------------------------------
    def local_step(self, block, prepared, request) -> LocalStep:
        local = np.asarray(request.powers.local, dtype=np.float64)
        if request.labels is None:
            found = self.responsibilities(block, prepared, local)
        else:
            logs = self.log_joint(block, prepared).astype(np.float64, copy=False)
            logs = logs + self.log_labels(request.labels)
            shares, *sums = softmax(logs, local)
            found = shares.astype(self.dtype, copy=False), *sums
        given, tables = (block, found[0], prepared.hyper), prepared.tables
        sums = partial(self.statistics, *given, tables=tables)
        return self.finished(block, request, found, sums)

    def finished(
        self, block: Any, request: Request, found: tuple, sums: Callable
    ) -> LocalStep:
        """Return a local step, given the results of `responsibilities`.

        ``sums`` returns the statistics, given ``factors`` of rows.
        """
        shares, bounds, scores = found
        statistics = None
        if "statistics" in request.want:
            statistics = sums(factors=_factors(request, len(bounds)))
        return LocalStep.of_rows(
            row_observed=self.n_observed(block),
            row_bounds=bounds,
            row_scores=scores,
            n_iterations=len(bounds),
            statistics=statistics,
            local_parameters=shares if "local" in request.want else None,
        )

    def responsibilities(
        self, block: Any, prepared: Any, power: np.ndarray = 1.0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the responsibilities of the components for rows.

        Parameters
        ----------
        block : object
        prepared : PreparedMixture
        power : ndarray of shape (n_rows,) or ()
            Exponent of the likelihood and of the weights.

        Returns
        -------
        responsibilities : ndarray of shape (n_rows, n_components)
        bounds : ndarray of shape (n_rows,)
            log sum_k exp(power * E log p(x, k)).
        scores : ndarray of shape (n_rows,)
            The mean of E log p(x, k) under the responsibilities.
        """
        return softmax(self.log_joint(block, prepared), power)

    def log_joint(self, block: Any, prepared: Any) -> np.ndarray:
        """Return E log p(x, component) of each row, (n_rows, n_components)."""
        family = self.family_of(prepared.hyper)
        logs = family.log_likelihoods(block, prepared.tables)
        logs += prepared.log_weights
        return logs

    def statistics(
        self,
        block: Any,
        shares: np.ndarray,
        hyper: Any,
        factors: np.ndarray = ONCE,
        tables: Any = None,
    ) -> Mixture:
        """Return the sums of the statistics that rows add to the parameters.

        For ``factors`` and ``tables`` see `Family.statistics`.
        """
        family = self.family_of(hyper)
        counts, statistics = family.statistics(block, shares, factors, tables)
        return Mixture(self.weights.counted(counts), statistics)

    def ascent(self, block, hyper, row_weight=None) -> Ascent | None:
        """Return an `Ascent` on a block, or None if it has too many rows."""
        n_values = block.nnz if sparse.issparse(block) else math.prod(block.shape)
        sizes = block.shape[0], n_values
        return ascent_of(self, block, row_weight, ProductAscent, *sizes)

    def ascent_in_blocks(self, blocks: Any, row_weight=None) -> Ascent | None:
        """Return an `Ascent` on rows that are taken in blocks, or None."""
        return ascent_of(self, blocks, row_weight, BlocksAscent, math.inf, 0)

    @property
    def _ascends_in_blocks(self):
        return self.steps_by_kernel

    def most_sections(self, n_rows):
        """Return a number of sections with at most `MOST_VALUES` sums of moments."""
        if not self._ascends_in_blocks:
            return 1
        return MOST_VALUES // (2 * self.n_components * self.family.n_natural)

    def fisher_product(self, globals_, vector) -> np.ndarray:
        """Return the Fisher information of q(weights, components) times ``vector``."""
        change = self.from_natural_parameters(vector)
        return Mixture(
            self.weights.fisher_product(globals_.weights, change.weights),
            self.family.fisher_product(globals_.components, change.components),
        ).vector()

    # -- objectives --------------------------------------------------------------------
    def global_bound(self, globals_, hyper, powers=Powers()) -> float:  # noqa: B008
        """Return ``powers.prior`` E log p - E log q of weights and components."""
        prior, power = self.prior(hyper), powers.prior
        bound = self.weights.bound(globals_.weights, prior.weights, power)
        components = self.family.bound(globals_.components, prior.components, power)
        return float(bound + components.sum())

    def predictive_scores(self, block, prepared) -> tuple[np.ndarray, np.ndarray]:
        """Return the log posterior predictive of each row, and `n_scored`.

        The scores are exact given q.  They are the logarithm of the mixture of the
        components' predictive densities.
        """
        log_weights = self.weights.log_mean(prepared.globals_.weights)
        family = self.family_of(prepared.hyper)
        logs = family.log_predictive(block, prepared.tables, log_weights)
        return logsumexp(logs, axis=1), self.n_scored(self.n_observed(block))

    # -- leaving a poor optimum --------------------------------------------------------
    def complete(self, block: Any, globals_: Any, hyper: Any) -> Any:
        """Return rows from which moves and merges compute statistics."""
        return block

    def wide_priors(self, globals_: Any, hyper: Any) -> Any:
        """Return the priors under which moves are proposed, by default the present."""
        return hyper

    def last_shares(self, block, globals_, hyper):
        """Return the results of `shares`; the last are cached."""
        return self._last_shares.result(self.shares, block, globals_, hyper)

    def _birth_places(self, globals_, hyper, block, row_weight):
        """Return what all births have in common; the last result is cached."""
        family, found = self.family_of(hyper), self.last_shares(block, globals_, hyper)
        return self._places.result(BirthPlaces, family, block, row_weight, *found)

    def propose_birth(
        self, globals_, hyper, block, random, row_weight=None
    ) -> tuple[Any, Any]:
        block = self.complete(block, globals_, hyper)
        hyper = self.wide_priors(globals_, hyper)
        places = self._birth_places(globals_, hyper, block, row_weight)
        given = places.propose(random), globals_, hyper, places.row_weight
        return self._moved(block, *given)

    def propose_split_merge(
        self, globals_, hyper, block, random, refused, row_weight=None
    ) -> tuple[Any, Any, Any]:
        """Return the optimum for the most promising responsibilities, and their key.

        The first proposal reorders components, if their order matters and can be
        improved.  Further ones are those of `Search.best`.
        """
        block = self.complete(block, globals_, hyper)
        hyper = self.wide_priors(globals_, hyper)
        if row_weight is None:
            row_weight = np.ones(block.shape[0])
        shares, _ = self.last_shares(block, globals_, hyper)
        counts, key = row_weight @ shares, ORDER
        gain = self.weights.gain_of_order(counts, hyper.weight_concentration)
        if key in refused or gain <= ROUNDING or self.known is not None:
            given = hyper, block, shares, row_weight
            try:
                search = self.last_search.result(partial(Search, self), *given)
                key = search.best(refused)
            except IllDefined:  # identical rows have no finite evidence without noise
                return None
            if key is None:
                return None
            shares = search.after(key)
        return *self._moved(block, shares, globals_, hyper, row_weight), key

    def _moved(self, block, responsibilities, globals_, hyper, row_weight):
        """Return the best parameters for responsibilities, and their priors."""
        order = self.weights.order(row_weight @ responsibilities)
        order = order if self.known is None else slice(None)
        shares = row_weight[:, None] * responsibilities[:, order]
        scale = self.component_counts(globals_, hyper).sum() / row_weight.sum()
        moved = self.optimum(block, shares, hyper, scale)
        return moved, self.moved_hyper(block, shares, hyper)

    def moved_hyper(self, block: Any, shares: np.ndarray, hyper: Any) -> Any:
        """Return the priors after a move, given new responsibilities of rows.

        They change only if components have priors of their own.
        """
        return hyper

    def resized(self, n_components: int) -> Self:
        """Return the model with another number of components, and the same `stop`."""
        weights, family = type(self.weights)(n_components), self.family
        parts = {"weights": weights, "family": family.resized(n_components)}
        return forget(twin(self, n_components=n_components, **parts))

    def with_births(
        self, globals_, hyper, n_births, X, row_weight, random
    ) -> tuple[ConjugateModel, Any, Any]:
        """Return a model with new components, which start from the rows that fit worst.

        See `ConjugateModel.with_births`.
        """
        block = self.take(X, slice(0, X.shape[0]))
        scores, counts = self.predictive_scores(block, self.prepare(globals_, hyper))
        worst = worst_rows(scores, counts, n_births)
        few, seed = self.resized(n_births), int(random.integers(2**31))
        new = few.initial_globals(
            X[worst], np.random.RandomState(seed), hyper, row_weight[worst]
        )
        logs = few.log_shares(block, new, hyper)
        return self._with_others(block, row_weight, globals_, hyper, logs)

    def joined(
        self, globals_, hyper, born, X, row_weight
    ) -> tuple[ConjugateModel, Any, Any]:
        block = self.take(X, slice(0, X.shape[0]))
        logs = self.resized(len(born.weights)).log_shares(block, born, hyper)
        logs = logs[:, self.n_components :]
        return self._with_others(block, row_weight, globals_, hyper, logs)

    def _with_others(self, block, row_weight, globals_, hyper, logs):
        """Return a model of the current components and of other components.

        ``logs`` is the result of `log_shares` for the other components.  The parameters
        are the optimum for the responsibilities of all components together.
        """
        logs = np.hstack([self.log_shares(block, globals_, hyper), logs])
        shares = special.softmax(logs, axis=1) * row_weight[:, None]
        larger = self.resized(shares.shape[1])
        return larger, larger.optimum(block, shares, hyper), hyper

    # -- known components of rows ------------------------------------------------------
    def log_labels(self, labels: np.ndarray) -> np.ndarray:
        """Return the logarithms of the probabilities of labels, `NEVER` for 0."""
        if labels.ndim == 1:
            own = labels[:, None] == np.arange(self.n_components)
            return np.where(own | (labels[:, None] < 0), 0.0, NEVER)
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(labels), NEVER)

    def labelled_globals(self, X, random, hyper, sample_weight, labels) -> Any:
        """Return the optimum for responsibilities under a fit to the known rows.

        Components without a known row start from a random row.
        """
        n_rows, rows = X.shape[0], _looked_at(labels)
        weight = np.ones(n_rows) if sample_weight is None else sample_weight
        scale = weight.sum() / max(weight[rows].sum(), 1e-300)
        labels, weight = labels[rows], weight[rows]
        X, known = X[rows], _are_known(labels)
        block = self.take(self.complete_rows(X, weight, hyper), slice(0, len(rows)))
        logs = self.log_labels(labels)
        shares = np.where(known[:, None], np.exp(logs), 0.0)
        empty = np.flatnonzero((weight @ shares) < USED)
        seeds = random.choice(len(rows), len(empty), len(empty) > len(rows))
        shares[seeds, empty] = 1.0
        weight = weight[:, None]
        start = self.optimum(block, weight * shares, hyper)
        log_weights = self.weights.expected_log(start.weights)
        logs = logs + self.log_shares(block, start, hyper) - log_weights
        return self.optimum(block, weight * special.softmax(logs, axis=1), hyper, scale)

    def with_labels(self, labels) -> Self:
        return twin(self, known=labels)

    def complete_rows(self, X: DataLike, weight: np.ndarray, hyper: Any) -> Any:
        """Return rows without missing values, from which a start is computed.

        By default, the rows are returned, as for families that leave values out.
        """
        return X

    # -- the order of components -------------------------------------------------------
    def final_order(self, globals_, hyper) -> np.ndarray | None:
        """Return the order by size, from the largest component down, or None."""
        order = by_size(self.component_counts(globals_, hyper))
        is_same = self.keeps_order or (np.diff(order) > 0).all()
        return None if is_same else order

    def reordered(self, globals_, hyper, order) -> tuple[Any, Any]:
        prior = self.weights.prior(hyper.weight_concentration)
        counts = self.component_counts(globals_, hyper)[order]
        components = self.family.reordered(globals_.components, order)
        weights = prior + self.weights.counted(counts)
        return Mixture(weights, components), hyper

    # -- maximum likelihood ------------------------------------------------------------
    def likeliest(
        self, X: Any, hyper: Any, random: Any, n_starts: int, starts: Sequence = ()
    ) -> tuple[Any, float]:
        """Return parameters of the largest likelihood found, and its logarithm.

        Fits begin at random and at given starts.  The fit that is best after a few
        steps is continued.
        """
        block, n_rows = self.take(X, slice(0, X.shape[0])), X.shape[0]
        weight, starts = np.full(n_rows, COPIES), list(starts)
        for _ in range(n_starts):
            starts.append(self.initial_globals(X, random, hyper, weight))
        best, _ = max(
            (self._climb(block, start, hyper, STEPS_OF_STARTS) for start in starts),
            key=operator.itemgetter(1),
        )
        return self._climb(block, best, hyper, MOST_STEPS)

    def _climb(self, block, globals_, hyper, max_iter):
        """Return parameters after at most ``max_iter`` steps, and the log-likelihood.

        The posterior of data of which each row is repeated `COPIES` times concentrates
        at the maximum of the likelihood, so that coordinate ascent becomes expectation
        maximisation.
        """
        total = -np.inf
        for _ in range(max_iter):
            prepared = self.prepare(globals_, hyper)
            shares, bounds, _ = self.responsibilities(block, prepared)
            last, total = total, float(bounds.sum())
            if total - last < LEAST_STEP_GAIN:
                break
            globals_ = self.optimum(block, shares, hyper, COPIES)
        return globals_, total

    def annealed_chains(
        self,
        X: Any,
        globals_: Any,
        hyper: Any,
        shares: np.ndarray,
        n_chains: int,
        random: Any,
    ) -> AnnealedChains:
        """Return chains that estimate the evidence, see `AnnealedChains`."""
        return AnnealedChains(self, X, globals_, hyper, shares, n_chains, random)

    def shares(
        self, block: Any, globals_: Any, hyper: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the responsibilities for rows, float64, and the rows' bounds.

        They take the labels of `with_labels` into account.
        """
        request = Request(want=("local",), labels=self.known)
        step = self.local_step(block, self.prepare(globals_, hyper), request)
        return np.asarray(step.local_parameters, np.float64), step.row_bounds

    def log_shares(self, block: Any, globals_: Any, hyper: Any) -> np.ndarray:
        """Return E log p(x, component) of each row, (n_rows, n_components)."""
        shares, bounds = self.shares(block, globals_, hyper)
        with np.errstate(divide="ignore"):
            return np.log(shares) + bounds[:, None]

    def search(
        self, block: Any, shares: np.ndarray, hyper: Any, row_weight: np.ndarray
    ) -> Any:
        """Return the `Search` for merges, given the responsibilities of rows."""
        return Search(self, hyper, block, shares, row_weight, splits=False)

    def merged(
        self, globals_, hyper, present, present_hyper, X, row_weight
    ) -> tuple[Any, Any, np.ndarray]:
        """Merge the components of `joined` to this model's number of components.

        First, all merges that raise the evidence are made.  Then the best of the other
        merges is made, until there are few enough components.  See
        `ConjugateModel.merged`.
        """
        block = self.take(X, slice(0, X.shape[0]))
        before, _ = self.shares(block, present, present_hyper)
        larger = self.resized(len(globals_.weights))
        shares, _ = larger.shares(block, globals_, hyper)
        rows = larger.complete(block, globals_, hyper)
        while True:
            search = larger.search(rows, shares, hyper, row_weight)
            changes = search.together
            if not changes:
                used = np.flatnonzero(search.counts >= USED)
                if len(used) <= self.n_components:
                    break
                changes = ((None, *max(search.merges, key=search.merges.get)),)
            shares = search.after(changes)
        shares = (
            shares[:, used] / np.maximum(shares[:, used].sum(axis=1), 1e-300)[:, None]
        )
        placed, cosines = _placed(before, shares, row_weight)
        start = self.optimum(block, placed, present_hyper)
        # the earlier priors are kept, because births distort learned priors
        return start, present_hyper, cosines <= SAME_COSINE

    def matched(
        self, globals_, hyper, present, present_hyper, X, row_weight
    ) -> tuple[Any, np.ndarray]:
        """Order components by the rows that they share with current components."""
        block = self.take(X, slice(0, X.shape[0]))
        before, _ = self.shares(block, present, present_hyper)
        shares, _ = self.shares(block, globals_, hyper)
        placed, cosines = _placed(before, shares, row_weight)
        is_same = (cosines > SAME_COSINE) | (placed.sum(axis=0) < USED)
        return self.optimum(block, placed, hyper), is_same

    def blended(self, globals_, hyper, present, may_be_same, share) -> Any:
        """Return components with their statistics scaled to all rows of the stream.

        The components were fitted to the remembered rows.  ``share`` is the weight of
        all other rows, as a share of the weight of all rows.
        """
        prior = self.prior(hyper)
        statistics = globals_ + prior.scaled(-1.0)
        return prior + statistics.scaled(1.0 / (1.0 - share))

    def component_counts(self, globals_, hyper) -> np.ndarray:
        prior = self.weights.prior(hyper.weight_concentration)
        return self.weights.counts(globals_.weights - prior)


def _are_known(labels):
    """Return which rows have labels: a component, or unequal probabilities."""
    return labels >= 0 if labels.ndim == 1 else np.ptp(labels, axis=1) > 0


def _looked_at(labels):
    """Return rows at even distances: of the rows with labels, and of the others."""
    known = _are_known(labels)
    parts = np.flatnonzero(known), np.flatnonzero(~known)
    few = [rows[:: -(-len(rows) // ROWS_COMPARED) or 1] for rows in parts]
    return np.sort(np.concatenate(few))


def softmax(logs, power):
    """Return the results of `MixtureModel.responsibilities`, given E log p(x, k)."""
    # one row for each component, because sums over an axis of few values are slow
    logs = np.ascontiguousarray(logs.T)
    shares = logs * power
    largest = shares.max(axis=0)
    shares -= largest
    np.exp(shares, out=shares)
    totals = _summed(shares)
    shares /= totals
    logs *= shares
    return np.ascontiguousarray(shares.T), largest + np.log(totals), _summed(logs)


def drawn_components(shares, random):
    """Return a component for each row, drawn by its shares of the components."""
    ends = shares.cumsum(axis=1)
    below = ends < random.uniform(size=(len(shares), 1)) * ends[:, -1:]
    return np.minimum(below.sum(axis=1), shares.shape[1] - 1)


def _summed(values):
    """Return the sums over components.

    The order of the terms does not depend on the number of rows, unlike in NumPy's sum.
    """
    total = values[0].copy()
    for row in values[1:]:
        total += row
    return total


def _factors(request, n_rows):
    """Return the factors of a block's rows, (n_rows,), or (1,) if all are equal."""
    power = request.powers.statistics
    if request.unit_noise is None and isinstance(power, float):
        return np.full(1, power)
    return request.factors(n_rows)

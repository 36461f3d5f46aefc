"""The Gaussian mixture with Normal-Wishart components as a `ConjugateModel`.

In the papers' letters: pi (weights), m, kappa, W, nu (the Normal-Wishart parameters of
a component), r (responsibilities).
"""

import functools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp, polygamma, psi

from .._expfam import WEIGHTS
from .._linalg import tiled_matmul
from ..model import (
    ConjugateModel,
    IllDefined,
    LocalStep,
    Powers,
    Stopped,
    all_finite,
)
from . import _kernels
from ._covariances import ILL_DEFINED, TYPES
from ._splits import SplitMergeSearch
from ._starts import order_of_rows

#: Numbers in a block's table of moments, about, and the fewest and most of its rows.
BLOCK_ELEMENTS, FEWEST_ROWS, MOST_ROWS = 2**18, 128, 1024
#: Names the proposal to reorder components.
ORDER = "order"
#: Nats that make it worth a try.
LEAST_GAIN = 1e-3
#: Rows that decide about batches and starts.
ROWS_LOOKED_AT = 100_000


class Hyper(NamedTuple):
    """Priors.

    Attributes
    ----------
    weight_concentration, mean_precision, degrees_of_freedom : float
    mean : ndarray of shape (n_features,)
    covariance : ndarray
        Inverse scale of the Wishart distribution, in the shape of the covariance type.
    origin : ndarray of shape (n_features,)
        Where coordinates begin inside of the model: so that no digits are lost.
    """

    weight_concentration: float
    mean_precision: float
    degrees_of_freedom: float
    mean: np.ndarray
    covariance: np.ndarray
    origin: np.ndarray


@dataclass(frozen=True)
class Natural:
    """Natural parameters of q, or what is added to them: priors and statistics.

    With respect to Lebesgue measure on weights, means and precisions; in coordinates
    about the origin.  Steps are convex in them, and so never leave their domain.

    Attributes
    ----------
    weights : ndarray
        Of the weights' distribution, see `WEIGHTS`.
    precision : ndarray of shape (n_components,)
        kappa.
    means : ndarray of shape (n_components, n_features)
        kappa m.
    second : ndarray
        W^-1 + kappa m m^T, in the shape of the covariance type.
    freedom : ndarray of shape (n_components,) or ()
        nu - n_features.
    """

    weights: np.ndarray
    precision: np.ndarray
    means: np.ndarray
    second: np.ndarray
    freedom: np.ndarray

    def __add__(self, other):
        return Natural(*map(np.add, self.parts(), other.parts()))

    def scaled(self, factor):
        """Return ``factor`` times the parameters."""
        return Natural(*(factor * part for part in self.parts()))

    def parts(self):
        """Return the arrays."""
        return self.weights, self.precision, self.means, self.second, self.freedom


class Expected(NamedTuple):
    """The Normal-Wishart parameters, as they are usually written.

    Attributes
    ----------
    precision : ndarray of shape (n_components,)
    means : ndarray of shape (n_components, n_features)
        About the origin.
    inverse_scale : ndarray
        In the shape of the covariance type.
    freedom : ndarray of shape (n_components,) or ()
    factors, log_determinants : ndarray
        See `Covariance.factors`.
    """

    precision: Any
    means: Any
    inverse_scale: Any
    freedom: Any
    factors: Any
    log_determinants: Any


class Prepared(NamedTuple):
    """What a local step needs of the components."""

    means: np.ndarray
    factors: np.ndarray
    #: What samples are multiplied by first, or None.
    whitening: Any
    constants: np.ndarray
    expected: Expected
    globals_: Natural
    hyper: Hyper


class GaussianMixtureModel(ConjugateModel):
    """A mixture of Gaussians, its size given or a truncated Dirichlet process.

    Parameters
    ----------
    n_components, n_features : int
    covariance_type : {"full", "tied", "diag", "spherical"}
    weight_prior : {"dirichlet_process", "dirichlet_distribution"}
    priors : callable
        ``priors(mean, covariance)`` returns the `Hyper` of data that have these.
    init : callable
        ``init(X, n_components, random, weight)`` returns responsibilities,
        (n_samples, n_components).
    reg_covar : float
        Variance added to the samples in the statistics.
    dtype : {float32, float64}
        What kernels compute in.
    """

    watches_bound = True
    scores_whole_rows = True
    birth_steps = 15

    def __init__(
        self,
        n_components,
        n_features,
        *,
        covariance_type="full",
        weight_prior="dirichlet_process",
        priors=None,
        init=None,
        reg_covar=1e-6,
        dtype=np.float64,
    ):
        super().__init__()
        self.n_components = n_components
        self.n_features = n_features
        self.covariance = TYPES[covariance_type](n_components, n_features)
        self.weights = WEIGHTS[weight_prior](n_components)
        self.priors = priors
        self.init = init
        self.reg_covar = reg_covar
        self.dtype = dtype
        self._splits = {}
        self._expected = None, None
        n_second = n_features
        if self.covariance.products:
            n_second = n_features * (n_features + 1) // 2
        self.n_moments = 1 + n_features + n_second
        rows = max(BLOCK_ELEMENTS // self.n_moments, 1)
        self.block_size = min(max(1 << rows.bit_length() - 1, FEWEST_ROWS), MOST_ROWS)

    # -- data ------------------------------------------------------------------------
    def take(self, X, rows):
        """Return ``X[rows]``, contiguous."""
        return np.ascontiguousarray(X[rows], dtype=self.dtype)

    def auto_batch_size(self, X, total):
        """Return a tenth of the data, from 20 samples a component to 10,000."""
        fewest = 20 * self.n_components
        if total is None:
            return max(1000, fewest)
        return max(1, min(max(round(total / 10), fewest), 10_000, total // 2))

    def auto_temperature(self, hyper):
        """Return 1.3: hotter, clusters that are apart may become one."""
        return 1.3

    # -- the state of a fit ----------------------------------------------------------
    def initial_hyper(self, X, sample_weight=None):
        """Return the priors, by default those of scikit-learn for ``X``."""
        mean, covariance = mean_and_covariance(X, sample_weight)
        return self.priors(mean, self.covariance.default_prior(covariance))

    def initial_globals(self, X, random, hyper=None, sample_weight=None):
        """Return the optimum for responsibilities from ``init``.

        Of all rows, up to `ROWS_LOOKED_AT`: then it does not depend on their order, and
        weights are repetitions.
        """
        hyper = self.initial_hyper(X, sample_weight) if hyper is None else hyper
        if sample_weight is not None and not sample_weight.any():
            sample_weight = None
        rows, weight, scale = looked_at(X, sample_weight)
        rows = np.asarray(rows, dtype=self.dtype)
        responsibilities = self.init(rows, self.n_components, random, weight)
        if weight is not None:
            responsibilities = weight[:, None] * responsibilities
        sums = None
        for start in range(0, len(rows), self.block_size):
            part = slice(start, start + self.block_size)
            block = np.ascontiguousarray(rows[part])
            one = self._statistics(block, hyper, responsibilities[part])
            sums = one if sums is None else sums + one
        start = self._target(sums, scale, Powers(), hyper)
        self._check(start)
        return start

    def hyper_shapes(self):
        """Return the shapes of the parts of `hyper`."""
        mean = (self.n_features,)
        covariance = self.covariance.default_prior(np.eye(self.n_features))
        return [(), (), (), mean, np.shape(covariance), mean]

    def prepare(self, globals_, hyper):
        """Return what `local_step` needs, computed once a step."""
        if globals_.means.shape != (self.n_components, self.n_features):
            raise ValueError(
                f"The fitted model has {len(globals_.means)} components, but "
                f"n_components is {self.n_components} now: fit it anew."
            )
        D = self.n_features
        expected = self.expected(globals_)
        root = np.sqrt(expected.freedom)
        constants = (
            self.weights.expected_log(globals_.weights)
            + 0.5 * self._log_precision(expected)
            - 0.5 * D * (math.log(2 * math.pi) + 1 / expected.precision)
        )
        whitening, means = None, expected.means
        factors = expected.factors * root.reshape(
            root.shape + (1,) * (expected.factors.ndim - root.ndim)
        )
        if factors.ndim == 2 and root.ndim == 0:  # the same for all components
            whitening = factors.T
            means = means @ whitening
            packed = np.ones((self.n_components, D))
        else:
            packed = self.covariance.packed(factors)
            means = means + hyper.origin
        return Prepared(
            np.ascontiguousarray(means, dtype=self.dtype),
            np.ascontiguousarray(packed, dtype=self.dtype),
            whitening,
            np.ascontiguousarray(constants),
            expected,
            globals_,
            hyper,
        )

    def is_finite(self, globals_, hyper, prepared):
        """Return whether the tables are, in which all parameters are; priors stay."""
        if prepared is None:
            return all_finite(globals_)
        return all_finite(prepared.constants, prepared.means, prepared.factors)

    def expected(self, globals_):
        """Return the Normal-Wishart parameters of natural ones.

        Those of the last ones are known: a step has looked whether there are any.
        """
        known, expected = self._expected
        if known is not globals_:
            expected = self._expected_of(globals_)
            self._expected = globals_, expected
        return expected

    def _expected_of(self, globals_):
        precision = globals_.precision
        means = globals_.means / precision[:, None]
        inverse_scale = globals_.second - self.covariance.outer(precision, means)
        freedom = globals_.freedom + self.n_features
        return Expected(
            precision,
            means,
            inverse_scale,
            freedom,
            *self.covariance.factors(inverse_scale),
        )

    def _log_precision(self, expected):
        """Return E log |precision| of each component."""
        halves = 0.5 * (
            np.asarray(expected.freedom)[..., None] - np.arange(self.n_features)
        )
        return (
            psi(halves).sum(axis=-1)
            + self.n_features * math.log(2)
            + expected.log_determinants
        )

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
        """Compute the responsibilities of a block; see `ConjugateModel.local_step`."""
        n_rows = len(block)
        local = np.asarray(powers.local, dtype=np.float64)
        responsibilities, bounds, scores = self._kernel(block, prepared, local)
        statistics = None
        if "statistics" in want:
            shares, factors = responsibilities, powers.statistics
            if weights is not None:
                factors = factors * weights
            if np.any(factors != 1):
                shares = shares * np.reshape(np.float64(factors), (-1, 1))
            statistics = self._statistics(block, prepared.hyper, shares)
        return LocalStep(
            statistics=statistics,
            n_rows=n_rows,
            n_observed=float(n_rows),
            n_iterations=n_rows,
            bound=float(bounds.sum()),
            score=float(scores.sum()),
            row_observed=np.ones(n_rows),
            row_bounds=bounds,
            row_scores=scores,
            local_parameters=responsibilities if "local" in want else None,
        )

    def _kernel(self, block, prepared, local, only_distances=False):
        if prepared.whitening is not None:
            centred = block.astype(np.float64) - prepared.hyper.origin
            white = tiled_matmul(centred, prepared.whitening)
            with np.errstate(over="ignore"):  # the kernel knows what is far
                block = white.astype(self.dtype)
        n_rows = len(block)
        out = np.empty((n_rows, self.n_components), dtype=self.dtype)
        bounds, scores = np.empty(n_rows), np.empty(n_rows)
        stopped = _kernels.local_step(
            block,
            prepared.means,
            prepared.factors,
            prepared.constants,
            np.atleast_1d(local),
            local.ndim > 0,
            self.stop,
            only_distances,
            out,
            bounds,
            scores,
        )
        if stopped:
            raise Stopped
        return out, bounds, scores

    def _statistics(self, block, hyper, responsibilities):
        """Return the sums over samples, each times its responsibilities."""
        moments = self.moments(block, hyper)
        shares = responsibilities.astype(np.float64, copy=False)
        first = 1 + self.n_features
        sums = shares.T @ moments[:, :first]
        counts = sums[:, 0]
        second = self.covariance.reduced(shares, moments[:, first:])
        return Natural(
            self.weights.counted(counts),
            counts,
            sums[:, 1:],
            second + self.covariance.blurred(counts, self.reg_covar),
            self.covariance.counted(counts),
        )

    def moments(self, block, hyper):
        """Return 1, x and its second moments, packed, of each sample."""
        moments = np.empty((len(block), self.n_moments))
        _kernels.moments(block, hyper.origin, self.covariance.products, moments)
        return moments

    def _prior(self, hyper):
        mean = np.tile(hyper.mean - hyper.origin, (self.n_components, 1))
        precision = np.full(self.n_components, hyper.mean_precision)
        inverse_scale = self.covariance.prior(hyper.covariance)
        freedom = np.full(self.n_components, hyper.degrees_of_freedom - self.n_features)
        return Natural(
            self.weights.prior(hyper.weight_concentration),
            precision,
            precision[:, None] * mean,
            inverse_scale + self.covariance.outer(precision, mean),
            self.covariance.counted(freedom),
        )

    def _target(self, statistics, scale, powers, hyper):
        return self._prior(hyper).scaled(powers.prior) + statistics.scaled(scale)

    def step(self, globals_, statistics, scale, powers, rate, hyper):
        """Step the natural parameters toward the prior's plus the statistics."""
        target = self._target(statistics, scale, powers, hyper)
        stepped = globals_.scaled(1 - rate) + target.scaled(rate)
        self._check(stepped)
        return stepped

    def largest_rate(self, globals_, statistics, scale, powers, hyper):
        """Return the rate at which a parameter would leave its domain."""
        target = self._target(statistics, scale, powers, hyper)
        low, high = 0.0, 1.0
        if self.is_valid(target):
            return math.inf
        for _ in range(30):
            rate = 0.5 * (low + high)
            between = globals_.scaled(1 - rate) + target.scaled(rate)
            low, high = (rate, high) if self.is_valid(between) else (low, rate)
        return low

    def is_valid(self, globals_):
        """Return whether these are parameters of distributions."""
        try:
            self._check(globals_)
        except IllDefined:
            return False
        return True

    def _check(self, globals_):
        """Raise `IllDefined` if these are no parameters of distributions."""
        positive = (
            (globals_.weights > -1).all()
            and (globals_.precision > 0).all()
            and (globals_.freedom > -1).all()
        )
        if not positive:
            raise IllDefined(ILL_DEFINED)
        self.expected(globals_)

    # -- dense vectors ---------------------------------------------------------------
    def natural_parameters(self, globals_):
        """Return the natural parameters as one vector."""
        return np.concatenate([np.ravel(part) for part in globals_.parts()])

    def from_natural_parameters(self, vector):
        """Return the parameters of a vector."""
        K, D = self.n_components, self.n_features
        weights = np.shape(self.weights.prior(1.0))
        second = self.covariance.outer(np.ones(K), np.ones((K, D))).shape
        freedom = np.shape(self.covariance.counted(np.ones(K)))
        parts, start = [], 0
        for shape in (weights, (K,), (K, D), second, freedom):
            size = math.prod(shape)
            parts.append(vector[start : start + size].reshape(shape))
            start += size
        return Natural(*parts)

    def target_parameters(self, statistics, scale, powers, hyper):
        """Return the target of a step as a vector."""
        return self.natural_parameters(self._target(statistics, scale, powers, hyper))

    def fisher_product(self, globals_, vector):
        """Return the change of the expected statistics along ``vector``."""
        change, D = self.from_natural_parameters(vector), self.n_features
        kappa, means, inverse_scale, freedom, _, _ = self.expected(globals_)
        scale = self.covariance.scale(inverse_scale)
        nu = self.covariance.each(freedom)
        nu_change = np.broadcast_to(change.freedom, nu.shape)
        means_change = (change.means - change.precision[:, None] * means) / kappa[
            :, None
        ]
        # W^-1 = second - kappa m m^T
        moved = self.covariance.outer(change.precision, means)
        moved = moved + _symmetric(self.covariance, kappa, means, means_change)
        scale_change, trace = self.covariance.derivative(
            inverse_scale, change.second - moved
        )
        weighted = self.covariance.times(scale, means)
        weighted_change = self.covariance.times(scale_change, means)
        weighted_change = weighted_change + self.covariance.times(scale, means_change)
        square = (means * weighted).sum(axis=1)
        square_change = (means_change * weighted + means * weighted_change).sum(axis=1)
        first = nu_change[:, None] * weighted + nu[:, None] * weighted_change
        halves = 0.5 * (nu[:, None] - np.arange(D))
        log_change = 0.5 * polygamma(1, halves).sum(axis=1) * nu_change - trace
        paired = self.covariance.paired(freedom, scale_change)
        paired = paired + self.covariance.paired(change.freedom, scale)
        return self.natural_parameters(
            Natural(
                self.weights.fisher_product(globals_.weights, change.weights),
                -0.5
                * (
                    -D * change.precision / kappa**2
                    + nu_change * square
                    + nu * square_change
                ),
                first,
                paired,
                0.5 * (log_change if np.ndim(freedom) else log_change.sum()),
            )
        )

    # -- objectives ------------------------------------------------------------------
    def global_bound(self, globals_, hyper, powers=Powers()):  # noqa: B008
        """Return p E log p(pi, mu, Lambda) - E log q(pi, mu, Lambda)."""
        prior = self._prior(hyper)
        q, p = self.expected(globals_), self._expected_of(prior)
        power = powers.prior
        bound = self.weights.bound(globals_.weights, prior.weights, power)
        log_precision = np.broadcast_to(self._log_precision(q), self.n_components)
        nu = np.broadcast_to(q.freedom, self.n_components)
        shifts = q.means - p.means
        trace = self.covariance.trace_with(q.factors, p.inverse_scale)
        outer = self._distances(q, shifts)
        log_prior = (
            self._log_normaliser(p)
            + 0.5 * (p.freedom - self.n_features) * log_precision
            - 0.5 * p.precision * (self.n_features / q.precision + nu * outer)
            - 0.5 * nu * trace
        )
        log_q = (
            self._log_normaliser(q)
            + 0.5 * (nu - self.n_features) * log_precision
            - 0.5 * self.n_features * (1 + nu)
        )
        return float(bound + (power * log_prior - log_q).sum())

    def _distances(self, expected, shifts):
        """Return v^T W v of each component."""
        scale = self.covariance.scale(expected.inverse_scale)
        return (shifts * self.covariance.times(scale, shifts)).sum(axis=1)

    def _log_normaliser(self, expected):
        """Return the log normaliser of a Normal-Wishart density, but for |Lambda|."""
        D, nu = self.n_features, np.asarray(expected.freedom)
        # the multivariate gamma function
        log_gamma = gammaln(0.5 * (nu[..., None] - np.arange(D))).sum(axis=-1)
        log_gamma = log_gamma + 0.25 * D * (D - 1) * math.log(math.pi)
        return (
            0.5 * D * np.log(expected.precision / (2 * math.pi))
            - 0.5 * nu * (D * math.log(2) + expected.log_determinants)
            - log_gamma
        )

    def log_partition(
        self, inverse_temperatures, hyper, random, priors=None, n_samples=8
    ):
        """Return log C(b) per sample, in the mean over ``n_samples`` mixtures.

        The mixtures are drawn from the prior, its covariance times ``priors``; "global"
        and "local" are clusters so small that together they fill the space of one,
        which keeps a fit hot until it has found such.
        """
        D, b = self.n_features, np.asarray(inverse_temperatures)
        factor = 1.0 if priors is None else priors
        if isinstance(priors, str):
            factor = self.n_components ** (-2.0 / D)
        factor = float(np.squeeze(np.asarray(factor, dtype=np.float64)))
        if not 0 < factor < math.inf:
            raise ValueError(
                "partition_priors must be a positive number, the factor of the prior "
                "covariance."
            )
        prior = self._expected_of(self._prior(hyper))
        log_scale = np.broadcast_to(prior.log_determinants, self.n_components)
        log_scale = log_scale - D * math.log(factor)
        degrees = hyper.degrees_of_freedom - np.arange(D)
        total = np.zeros(len(b))
        for _ in range(n_samples):
            log_weights = self.weights.log_draws(hyper.weight_concentration, random)
            squares = random.chisquare(degrees, size=(self.n_components, D))
            log_precision = log_scale + np.log(squares).sum(axis=1)
            terms = np.outer(b, log_weights) + 0.5 * np.outer(b - 1.0, log_precision)
            total += logsumexp(terms, axis=1)
        constant = 0.5 * D * ((1.0 - b) * math.log(2 * math.pi) - np.log(b))
        return total / n_samples + constant

    def log_predictive(self, block, prepared):
        """Return the log posterior predictive of each sample, and 1 a sample.

        Exact given q: a mixture of Student-t distributions.
        """
        D, expected = self.n_features, prepared.expected
        squares, _, _ = self._kernel(block, prepared, np.ones(()), True)
        nu = np.broadcast_to(expected.freedom, self.n_components)
        freedom = nu + 1.0 - D
        spread = (expected.precision + 1.0) / expected.precision
        distances = squares / (nu * spread)
        logs = (
            np.log(self.weights.mean(prepared.globals_.weights))
            + gammaln(0.5 * (freedom + D))
            - gammaln(0.5 * freedom)
            - 0.5 * D * np.log(math.pi * spread)
            + 0.5 * expected.log_determinants
            - 0.5 * (freedom + D) * np.log1p(distances)
        )
        return logsumexp(logs, axis=1), np.ones(len(block))

    # -- leaving a poor optimum --------------------------------------------------------
    def propose_birth(self, globals_, hyper, block, random, weights=None):
        """Return the components with one of them restarted around a sample.

        A component taken at random leaves its samples to the others, and takes those
        nearest to a random one: half of what a component has that is not empty.
        """
        weights = np.ones(len(block)) if weights is None else weights
        responsibilities = self._responsibilities(block, globals_, hyper)
        k, total = random.integers(self.n_components), weights.sum()
        n_used = max((weights @ responsibilities > 0.5).sum(), 1)
        responsibilities[:, k] = 0.0
        responsibilities += 1e-300
        responsibilities /= responsibilities.sum(axis=1, keepdims=True)
        near = _neighbours(block, weights, max(total / (2 * n_used), 2), random)
        responsibilities[near] = 0.0
        responsibilities[near, k] = 1.0
        return self._optimum(block, responsibilities, globals_, hyper, weights), hyper

    def propose_split_merge(
        self, globals_, hyper, block, random, refused, weights=None
    ):
        """Return the components after the split and the merge that promise most.

        They are valued by the marginal likelihoods of hard clusters, see `splits`.  If
        the order of the components matters, the best one is proposed first.
        """
        weights = np.ones(len(block)) if weights is None else weights
        responsibilities = self._responsibilities(block, globals_, hyper)
        optimum = functools.partial(
            self._optimum, block, responsibilities, globals_, hyper, weights
        )
        gain = self.weights.gain_of_order(
            weights @ responsibilities, hyper.weight_concentration
        )
        if ORDER not in refused and gain > LEAST_GAIN:
            return optimum(), hyper, ORDER
        search = SplitMergeSearch(
            self, hyper, block, weights, responsibilities, self._splits
        )
        try:
            best = search.best(refused)
            several = (best,) if best is not None else search.best_together(refused)
        except IllDefined:  # without reg_covar copies have no evidence
            return None
        if several is None:
            return None
        for split, first, second in several:
            if second != first:
                responsibilities[:, first] += responsibilities[:, second]
                responsibilities[:, second] = 0.0
            if split is not None:
                away = search.halves[split]
                responsibilities[away, second] += responsibilities[away, split]
                responsibilities[away, split] = 0.0
        return optimum(), hyper, best or several

    def _responsibilities(self, block, globals_, hyper):
        prepared = self.prepare(globals_, hyper)
        return self._kernel(block, prepared, np.ones(()))[0].astype(np.float64)

    def _optimum(self, block, responsibilities, globals_, hyper, weights):
        """Return the optimal parameters for responsibilities of some of the rows."""
        order = self.weights.order(weights @ responsibilities)
        shares = weights[:, None] * responsibilities[:, order]
        total = (globals_.precision - hyper.mean_precision).sum()
        statistics = self._statistics(block, hyper, shares)
        return self._target(statistics, total / weights.sum(), Powers(), hyper)

    def gains(self, hyper, sums, before, after):
        """Return by how much evidence rises where clusters take the place of others.

        The log marginal likelihood of hard clusters, of their sizes included.  Of tied
        ones, where all have a part in the covariance, it is the lower bound of that.

        Parameters
        ----------
        hyper : Hyper
        sums : ndarray of shape (n_components, n_moments)
            Of the moments of each component's samples, see `moments`.
        before, after : ndarray of shape (n_changes, n_changed, n_moments)
            Those that each change takes away, and that it puts in their place.

        Returns
        -------
        gains : ndarray of shape (n_changes,)
        """
        if not self.covariance.shared:
            old, new = self.log_evidence(hyper, before), self.log_evidence(hyper, after)
            return (new - old).sum(axis=1)
        old, new = (
            self._parts_of_bound(hyper, before),
            self._parts_of_bound(hyper, after),
        )
        values, changes = ((n - o).sum(axis=1) for n, o in zip(new, old, strict=True))
        _, inverse_scales = self._parts_of_bound(hyper, sums)
        total = inverse_scales.sum(axis=0)
        freedom = len(sums) * hyper.degrees_of_freedom + sums[:, 0].sum()
        rise = np.linalg.slogdet(total + changes)[1] - np.linalg.slogdet(total)[1]
        return values - 0.5 * freedom * rise

    def _parts_of_bound(self, hyper, sums):
        """Return, for each cluster, a term and a part in the common inverse scale."""
        posterior = self._posteriors(hyper, sums)
        sizes = gammaln(hyper.weight_concentration + sums[..., 0])
        shrunk = 0.5 * self.n_features * np.log(posterior.precision)
        return sizes - shrunk, posterior.inverse_scale

    def log_evidence(self, hyper, sums):
        """Return the log marginal likelihood of clusters, of their sizes included.

        Each with a covariance of its own.

        Parameters
        ----------
        hyper : Hyper
        sums : ndarray of shape (..., n_moments)
            Of the moments of each cluster's samples, see `moments`.
        """
        posterior, counts = self._posteriors(hyper, sums), sums[..., 0]
        return (
            gammaln(hyper.weight_concentration + counts)
            - self._log_normaliser(posterior)
            - 0.5 * self.n_features * counts * math.log(2 * math.pi)
        )

    def log_densities(self, hyper, sums, x):
        """Return log size * density of samples in clusters, at the posterior means.

        Parameters
        ----------
        hyper : Hyper
        sums : ndarray of shape (n_clusters, n_moments)
        x : ndarray of shape (n_samples, n_features)
            About the origin.
        """
        posterior = self._posteriors(hyper, sums)
        logs = np.empty((len(x), len(sums)))
        for j, factor in enumerate(posterior.factors):
            shifts = x - posterior.means[j]
            shifts = shifts @ factor.T if factor.ndim == 2 else shifts * factor
            logs[:, j] = -0.5 * posterior.freedom[j] * (shifts**2).sum(axis=1)
        logs += np.log(sums[:, 0])
        logs += 0.5 * posterior.log_determinants
        logs += 0.5 * self.n_features * np.log(posterior.freedom)
        return logs

    def _posteriors(self, hyper, sums):
        """Return the Normal-Wishart posteriors of clusters, each on its own."""
        shape, D = sums.shape[:-1], self.n_features
        counts, first, seconds = np.split(
            sums.reshape(-1, sums.shape[-1]), [1, 1 + D], 1
        )
        posterior = self._posteriors_of(hyper, counts[:, 0], first, seconds)
        return Expected(*(part.reshape(shape + part.shape[1:]) for part in posterior))

    def _posteriors_of(self, hyper, counts, sums, seconds):
        kind = self.covariance.separate(len(counts))
        mean = np.tile(hyper.mean - hyper.origin, (len(counts), 1))
        kappa = hyper.mean_precision + counts
        means = (hyper.mean_precision * mean + sums) / kappa[:, None]
        inverse_scale = (
            kind.prior(hyper.covariance)
            + kind.unpacked(seconds)
            + kind.blurred(counts, self.reg_covar)
            + kind.outer(np.full(len(counts), hyper.mean_precision), mean)
            - kind.outer(kappa, means)
        )
        freedom = hyper.degrees_of_freedom + counts
        return Expected(
            kappa, means, inverse_scale, freedom, *kind.factors(inverse_scale)
        )


def _symmetric(covariance, weights, left, right):
    """Return weights * (l r^T + r l^T), as the covariance type keeps it."""
    both = covariance.outer(weights, left + right)
    return both - covariance.outer(weights, left) - covariance.outer(weights, right)


def _neighbours(block, weights, n_near, random):
    """Return those nearest to a random row, of a weight of ``n_near`` together.

    Of the weights, not of the order of the rows: as if a weight were repetitions.
    """
    order = order_of_rows(block)
    ends = np.cumsum(weights[order])
    drawn = np.searchsorted(ends, random.random() * ends[-1], side="right")
    centre = block[order[min(drawn, len(block) - 1)]]
    mean = weights @ block / ends[-1]
    spread = np.sqrt(weights @ (block - mean) ** 2 / ends[-1])
    spread = np.maximum(spread, np.finfo(block.dtype).tiny)
    distances = (((block - centre) / spread) ** 2).sum(axis=1)
    nearest = np.argsort(distances)
    last = np.searchsorted(np.cumsum(weights[nearest]), n_near)
    return distances <= distances[nearest[min(last, len(block) - 1)]]


def looked_at(X, weight=None):
    """Return rows that count, at most `ROWS_LOOKED_AT`, and their weights.

    And the weight of all over that of these.
    """
    if weight is None:
        step = -(-len(X) // ROWS_LOOKED_AT)
        return X[::step], None, len(X) / len(X[::step])
    rows = np.flatnonzero(weight > 0)
    rows = rows[:: -(-len(rows) // ROWS_LOOKED_AT)]
    return X[rows], weight[rows], weight.sum() / weight[rows].sum()


def mean_and_covariance(X, weight=None):
    """Return the mean and the covariance of the rows, in float64, without a copy."""
    if weight is None or not weight.any():
        weight = np.ones(len(X))
    parts = [slice(start, start + 4096) for start in range(0, len(X), 4096)]
    total = weight.sum()
    mean = sum(weight[part] @ X[part].astype(np.float64) for part in parts) / total
    squares = np.zeros((X.shape[1], X.shape[1]))
    for part in parts:
        rows = X[part] - mean
        squares += (weight[part, None] * rows).T @ rows
    return mean, squares / (total - 1 if total > 1 else 1)

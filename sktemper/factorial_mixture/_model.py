"""The factorial mixture, binary latent features, as a `ConjugateModel`.

x_n = sum_k z_nk mu_k + noise, in the papers' letters: mu (components, Gaussian), z and
nu (a sample's features, binary, and their probabilities), pi (inclusion
probabilities), sigma^2 and s^2 (noise and component variance).
"""

import copy
import functools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, eigh
from scipy.linalg.blas import dtrsm
from scipy.special import logit

from .._linalg import tiled_matmul
from ..model import ConjugateModel, LocalStep, Powers, Stopped
from . import _kernels
from ._starts import from_ica

#: The elements of a block, about, and the fewest and most of its rows.
BLOCK_ELEMENTS, FEWEST_ROWS, MOST_ROWS = 2**17, 256, 2048
#: How many samples' worth of certainty the means start with.
START_SAMPLES = 100
#: Rows that tell what the data are like.
ROWS_LOOKED_AT = 10_000
#: How often all components are born anew, and how often one is a difference of samples.
SHARE_OF_REMIXES, SHARE_OF_DIFFERENCES = 0.3, 0.5
#: The steps in which all adapt to a new component; near samples to differ from.
BIRTH_STEPS, NEAREST = 10, 10
#: Directions that components span by less than this, of the most, are left out.
LEAST_SCALE = 1e-6
#: The least noise variance that is learned, in component variances.
LEAST_NOISE = 1e-9
#: The most entries of the grams of samples that miss values that are kept at once.
MOST_ENTRIES = 2**22
#: The largest values of data, whose squares are finite with room to spare; in float32
#: their inverses.  Variances below the square of that are those of nothing but zeros.
LARGEST_VALUES = {np.dtype(np.float32): 1e30, np.dtype(np.float64): 1e120}
#: The largest squared value over the noise variance, times the number of dimensions.
LARGEST_RATIOS = {np.dtype(np.float32): 1e35, np.dtype(np.float64): 1e300}
#: How far learned inclusion probabilities keep from 0 and 1.
LEAST_INCLUSION = 1e-6


class Samples(NamedTuple):
    """A block of samples.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_features)
        With 0 where a value is missing.
    missing : ndarray of shape (n_rows, n_features) or None
        Whether a value is; None if none is.
    squares : ndarray of shape (n_rows,)
        Sums of the squared values.
    observed : ndarray of shape (n_rows,)
        Numbers of values that are not missing.
    """

    values: Any
    missing: Any
    squares: Any
    observed: Any


class Hyper(NamedTuple):
    """Priors and variances.

    Attributes
    ----------
    noise_variance, component_variance : float
    inclusion_probability : ndarray of shape (n_components,)
    """

    noise_variance: float
    component_variance: float
    inclusion_probability: np.ndarray


class Components(NamedTuple):
    """The natural parameters of q(mu): Gaussian, one covariance for every dimension.

    Attributes
    ----------
    precision : ndarray of shape (n_components, n_components)
    weighted_means : ndarray of shape (n_components, n_features)
        ``precision @ means``.
    """

    precision: np.ndarray
    weighted_means: np.ndarray

    def means(self):
        """Return E[mu], of shape (n_components, n_features)."""
        root = cholesky(self.precision, lower=True)
        # from the right: of the transpose BLAS needs no copy
        half = dtrsm(1.0, root, self.weighted_means.T, side=1, lower=1, trans_a=1)
        return dtrsm(1.0, root, half, side=1, lower=1, overwrite_b=1).T

    def covariance(self):
        """Return the covariance of the components, (n_components, n_components)."""
        return cho_solve(cho_factor(self.precision), np.eye(len(self.precision)))


@dataclass(frozen=True)
class FeatureStatistics:
    """Sums over samples, each times its weight and power.

    Attributes
    ----------
    second : ndarray of shape (n_components, n_components)
        E[z z^T].
    cross : ndarray of shape (n_components, n_features)
        E[z] x^T, a missing x at its expectation.
    residual : float
        E|x - z mu|^2 over what is observed.
    samples, values : float
        Numbers of samples, and of observed values.
    """

    second: np.ndarray
    cross: np.ndarray
    residual: float
    samples: float
    values: float

    def __add__(self, other):
        return FeatureStatistics(
            *(a + b for a, b in zip(self._parts(), other._parts(), strict=True))
        )

    def scaled(self, factor):
        """Return ``factor`` times the statistics."""
        return FeatureStatistics(*(factor * part for part in self._parts()))

    def _parts(self):
        return self.second, self.cross, self.residual, self.samples, self.values


class Prepared(NamedTuple):
    """What a local step needs of the components and priors."""

    means: np.ndarray
    #: What E[mu mu^T] has beside the means' products, for each dimension.
    spread: np.ndarray
    #: The means over the noise variance, in the dtype of the kernel.
    filters: np.ndarray
    #: The means' products.
    products: np.ndarray
    hyper: Hyper


class Coupling(NamedTuple):
    """How features depend on one another in some samples of a block.

    Attributes
    ----------
    rows : slice or ndarray
        Which samples these are.
    gram : ndarray
        E[mu mu^T] over the noise variance: of shape (n_components, n_components) if it
        is one for all of them; otherwise (n_rows, n_entries), the upper triangle of
        each, row by row.
    diagonal : ndarray of shape (1, n_components) or (n_rows, n_components)
    of_each : bool
        Whether each sample has its own.
    """

    rows: Any
    gram: np.ndarray
    diagonal: np.ndarray
    of_each: bool

    def without(self, k):
        """Return the coupling of all features but one, of the same rows."""
        left = np.delete(np.arange(self.diagonal.shape[1]), k)
        if self.of_each:
            on, other = np.triu_indices(self.diagonal.shape[1])
            entries = np.flatnonzero((on != k) & (other != k))
            gram = np.take(self.gram, entries, axis=1)  # in C order, unlike an index
        else:
            gram = self.gram[np.ix_(left, left)]
        diagonal = np.take(self.diagonal, left, axis=1)
        return Coupling(slice(None), gram, diagonal, self.of_each)


class FactorialMixtureModel(ConjugateModel):
    """Binary latent features with Gaussian components and noise.

    Parameters
    ----------
    n_components, n_features : int
    noise_variance : float or None
        sigma^2; None is that of the data.
    component_variance : float or None
        s^2; None explains the data's mean square by the expected features.
    inclusion_probability : ndarray of shape (n_components,)
        pi.
    learn_noise_variance, learn_inclusion_probability : bool
    structured : bool
        Whether q(mu) has correlations between components.
    dtype : {float32, float64}
        What kernels compute in.
    tol, max_iter : float, int
        When a sample's sweeps end.
    init : callable
        ``init(X, hyper, random)`` returns where the means start, (n_components,
        n_features).
    local_cooling : float or None
        By what the temperature of a sample is divided in each sweep, if it cools.
    """

    watches_bound = True
    keeps_local = True

    def __init__(
        self,
        n_components,
        n_features,
        *,
        noise_variance,
        component_variance,
        inclusion_probability,
        learn_noise_variance=False,
        learn_inclusion_probability=False,
        structured=True,
        dtype=np.float64,
        tol=1e-3,
        max_iter=100,
        init=None,
        local_cooling=2.0,
    ):
        super().__init__()
        self.n_components = n_components
        self.n_features = n_features
        self.noise_variance = noise_variance
        self.component_variance = component_variance
        self.inclusion_probability = inclusion_probability
        self.learn_noise_variance = learn_noise_variance
        self.learn_inclusion_probability = learn_inclusion_probability
        self.structured = structured
        self.dtype = dtype
        self.tol = self.local_tol = tol
        self.max_iter = max_iter
        self.init = init
        self.local_cooling = local_cooling
        rows = max(BLOCK_ELEMENTS // n_features, 1)
        self.block_size = min(max(1 << rows.bit_length() - 1, FEWEST_ROWS), MOST_ROWS)

    # -- data ------------------------------------------------------------------------
    def take(self, X, rows):
        """Return ``X[rows]`` as `Samples`."""
        values = np.asarray(X[rows], dtype=self.dtype)
        if values.strides[1] != values.itemsize:
            values = np.ascontiguousarray(values)
        squares = np.empty(len(values))
        _kernels.row_squares(values, squares)
        missing, observed = None, np.full(len(values), float(self.n_features))
        if np.isnan(squares).any():
            missing = np.isnan(values)
            values = np.where(missing, self.dtype.type(0), values)
            _kernels.row_squares(values, squares)
            observed -= missing.sum(axis=1)
        return Samples(values, missing, squares, observed)

    def auto_batch_size(self, X, total):
        """Return a tenth of the data, from 100 to 1,000 rows; of a stream 1,000."""
        if total is None:
            return 1000
        return max(1, min(max(round(total / 10), 100), 1000, total // 2))

    def auto_temperature(self, hyper):
        """Return where the features of a random start are undecided, from 1 to 1,000.

        A component that has nothing to do with a sample would worsen its likelihood by
        half of the component's square over the noise variance.  Colder than that, all
        features of a start in many dimensions are switched off for good.
        """
        ratio = hyper.component_variance / hyper.noise_variance
        return min(max(0.5 * self.n_features * ratio, 1.0), 1000.0)

    # -- the state of a fit ----------------------------------------------------------
    def initial_hyper(self, X, sample_weight=None):
        """Return the variances and inclusion probabilities."""
        rows, weight = looked_at(X), None
        if sample_weight is not None:
            weight = sample_weight[:: step_of_looking(X)]
        component_variance = self.component_variance
        if component_variance is None:
            expected = self.inclusion_probability.sum()
            component_variance = self._not_zero(mean_square(rows, weight) / expected)
        noise_variance = self.noise_variance
        if noise_variance is None:
            noise_variance = mean_square(centred(rows, weight), weight)
            noise_variance = self._not_zero(noise_variance)
        return Hyper(noise_variance, component_variance, self.inclusion_probability)

    def _not_zero(self, variance):
        """Return a variance, or 1 in place of one that is 0 but for rounding."""
        return variance if variance > LARGEST_VALUES[self.dtype] ** -2 else 1.0

    def initial_globals(self, X, random, hyper=None, sample_weight=None):
        """Return means from ``init``, as sure of them as of `START_SAMPLES` each.

        They are directions that the rows have, whatever the rows weigh.
        """
        hyper = self.initial_hyper(X, sample_weight) if hyper is None else hyper
        means = self.init(X, hyper, random)
        precision = 1 / hyper.component_variance + START_SAMPLES / hyper.noise_variance
        precision = precision * np.eye(self.n_components)
        return Components(precision, precision @ means)

    def hyper_shapes(self):
        """Return the shapes of the parts of `hyper`."""
        return [(), (), (self.n_components,)]

    def prepare(self, globals_, hyper):
        """Return what `local_step` needs, computed once a step."""
        if globals_.weighted_means.shape != (self.n_components, self.n_features):
            raise ValueError(
                f"The fitted model has {len(globals_.precision)} components, but "
                f"n_components is {self.n_components} now: fit it anew."
            )
        means = globals_.means()
        return Prepared(
            means,
            self.covariance(globals_),
            (means / hyper.noise_variance).astype(self.dtype),
            means @ means.T,
            hyper,
        )

    def covariance(self, globals_):
        """Return the covariance of q(mu) in each dimension."""
        if self.structured:
            return globals_.covariance()
        return np.diag(1 / np.diag(globals_.precision))

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
        """Optimise nu of a block; see `ConjugateModel.local_step`.

        From the start cooled down, and from ``local_init`` too if there is one: each
        sample takes the better of the two, so that steps on all samples ascend.

        Missing values are latent too: those of a sample have the covariance of all
        dimensions then, which steps on all samples need to ascend.
        """
        return self._local_step(
            block, prepared, powers, weights, local_init, want, completing=True
        )

    def observed_step(self, block, prepared):
        """Return a `LocalStep` at T=1, with nu, of what is observed alone.

        Samples that miss values are those of the model of the other dimensions.
        """
        return self._local_step(
            block, prepared, Powers(), None, None, ("local",), completing=False
        )

    def _local_step(
        self, block, prepared, powers, weights, local_init, want, *, completing
    ):
        n_rows = len(block.values)
        nu = np.empty((n_rows, self.n_components), dtype=self.dtype)
        nu[...] = prepared.hyper.inclusion_probability
        infer = functools.partial(
            self._infer,
            block,
            prepared.hyper,
            powers,
            tiled_matmul(block.values, prepared.filters.T),
            Couplings(self, block, prepared, completing),
        )
        if local_init is None:
            likelihoods, scores, bounds, n_iterations = infer(nu, cooled=True)
        else:
            fresh, nu = nu, nu.copy()
            nu[...] = local_init
            likelihoods, scores, bounds, n_iterations = infer(nu, cooled=False)
            if self.local_cooling is not None:
                *others, more_iterations = infer(fresh, cooled=True)
                better = others[2] > bounds
                n_iterations += more_iterations
                for kept, other in zip(
                    (nu, likelihoods, scores, bounds), (fresh, *others), strict=True
                ):
                    kept[better] = other[better]
        statistics = None
        if "statistics" in want:
            factors = np.ones(n_rows) if weights is None else weights
            residuals = -2 * prepared.hyper.noise_variance * likelihoods
            statistics = self._statistics(
                block, prepared, nu, residuals, factors * powers.statistics
            )
        return LocalStep(
            statistics=statistics,
            n_rows=n_rows,
            n_observed=float(block.observed.sum()),
            n_iterations=n_iterations,
            bound=float(bounds.sum()),
            score=float(scores.sum()),
            row_observed=block.observed,
            row_bounds=bounds,
            row_scores=scores,
            local_parameters=nu if "local" in want else None,
        )

    def _infer(self, block, hyper, powers, products, couplings, nu, *, cooled):
        """Optimise nu in place; return what it means for each row, and the sweeps.

        Returns
        -------
        likelihoods, scores, bounds : ndarray of shape (n_rows,)
        n_iterations : int
        """
        noise, prior = hyper.noise_variance, hyper.inclusion_probability
        fits, entropies, n_iterations = self._optimise(
            prior,
            np.asarray(powers.local, dtype=float),
            products,
            couplings,
            nu,
            cooled and self.local_cooling is not None,
        )
        likelihoods = fits - block.squares / (2 * noise)
        # not by BLAS, whose bits depend on the number of rows
        scores = likelihoods + (nu * logit(prior)).sum(axis=1) + np.log1p(-prior).sum()
        bounds = entropies + powers.local * (
            scores - 0.5 * block.observed * math.log(2 * math.pi * noise)
        )
        return likelihoods, scores, bounds, n_iterations

    def _optimise(self, prior, powers, products, couplings, nu, cooled):
        """Optimise nu in place; return each row's fit and entropy, and the sweeps."""
        fits, entropies = np.empty(len(nu)), np.empty(len(nu))
        n_iterations = 0
        for rows, gram, diagonal, of_each in couplings:
            offsets = logit(prior) - 0.5 * diagonal
            heats = np.maximum(0.5 * diagonal.max(axis=1), 1.0)
            parts = nu[rows], fits[rows], entropies[rows]
            sweeps = _kernels.local_step(
                products[rows],
                np.ascontiguousarray(gram, dtype=self.dtype),
                np.ascontiguousarray(offsets, dtype=self.dtype),
                of_each,
                np.atleast_1d(powers[rows] if powers.ndim else powers),
                powers.ndim > 0,
                heats if cooled else np.ones_like(heats),
                self.local_cooling or 1.0,
                self.tol,
                self.max_iter,
                self.stop,
                *parts,
            )
            if sweeps < 0:
                raise Stopped
            n_iterations += sweeps
            if not isinstance(rows, slice):
                nu[rows], fits[rows], entropies[rows] = parts
        return fits, entropies, n_iterations

    def grams(self, block, rows, prepared, completing):
        """Return the `Coupling` of samples that miss values."""
        noise, K = prepared.hyper.noise_variance, self.n_components
        entries = np.triu_indices(K)
        out = np.empty((len(rows), len(entries[0])), dtype=self.dtype)
        diagonal = np.empty((len(rows), K))
        status = _kernels.grams(
            block.missing[rows],
            prepared.means / math.sqrt(noise),
            prepared.products[entries] / noise,
            prepared.spread[entries] / noise,
            completing,
            self.stop,
            out,
            diagonal,
        )
        if status < 0:
            raise Stopped
        return Coupling(rows, out, diagonal, True)

    def _statistics(self, block, prepared, nu, residuals, factors):
        on = nu.astype(np.float64)
        weighted = factors[:, None] * on
        second = weighted.T @ on
        second[np.diag_indices_from(second)] = weighted.sum(axis=0)
        values = block.values
        if block.missing is not None:
            # E[z x^T] of a missing x is E[z z^T] mu
            values = np.where(block.missing, on @ prepared.means, values)
        cross = weighted.astype(self.dtype).T @ values.astype(self.dtype, copy=False)
        cross = cross.astype(np.float64, copy=False)
        if block.missing is not None:
            cross += (weighted * (1 - on)).T @ block.missing * prepared.means
        return FeatureStatistics(
            second,
            cross,
            float(factors @ residuals),
            float(factors.sum()),
            float(factors @ block.observed),
        )

    def step(self, globals_, statistics, scale, powers, rate, hyper):
        """Step the natural parameters toward the prior's plus the statistics."""
        target = self._target(statistics, scale, powers, hyper)
        return Components(
            (1 - rate) * globals_.precision + rate * target.precision,
            (1 - rate) * globals_.weighted_means + rate * target.weighted_means,
        )

    def _target(self, statistics, scale, powers, hyper):
        prior = powers.prior / hyper.component_variance
        factor = scale / hyper.noise_variance
        return Components(
            prior * np.eye(self.n_components) + factor * statistics.second,
            factor * statistics.cross,
        )

    def largest_rate(self, globals_, statistics, scale, powers, hyper):
        """Return the rate at which the precision, or a probability, would become 0.

        Or half of the noise variance, if it would become 0: as the precision has what
        it divides in it, that must not come near 0 on the way.
        """
        learned = self._learned(hyper, statistics)
        old, new = hyper.noise_variance, learned.noise_variance
        inclusion = hyper.inclusion_probability, learned.inclusion_probability
        rate = min(
            rate_to_zero(old, new) / 2,
            rate_to_zero(*inclusion),
            rate_to_zero(*(1 - part for part in inclusion)),
        )
        # linear in 1 / noise: what holds at both ends holds between them
        for noise in {old, new if new > 0 else old / 2}:
            target = self._target(
                statistics, scale, powers, hyper._replace(noise_variance=noise)
            )
            least = eigh(target.precision, globals_.precision, eigvals_only=True)[0]
            if least < 0:
                rate = min(rate, 1 / (1 - least))
        return rate

    def is_valid(self, globals_):
        """Return whether the precision is positive definite."""
        return bool(eigh(globals_.precision, eigvals_only=True)[0] > 0)

    def update_hyper(self, hyper, globals_, statistics, scale, rate, powers):
        """Step the learned variance and probabilities toward those of the batch."""
        learned = self._learned(hyper, statistics)
        noise = (1 - rate) * hyper.noise_variance + rate * learned.noise_variance
        inclusion = (1 - rate) * hyper.inclusion_probability
        inclusion += rate * learned.inclusion_probability
        if self.learn_noise_variance:
            noise = max(noise, LEAST_NOISE * hyper.component_variance)
        if self.learn_inclusion_probability:
            inclusion = np.clip(inclusion, LEAST_INCLUSION, 1 - LEAST_INCLUSION)
        return hyper._replace(noise_variance=noise, inclusion_probability=inclusion)

    def _learned(self, hyper, statistics):
        """Return what is best for a batch; what is fixed stays as it is."""
        noise, inclusion = hyper.noise_variance, hyper.inclusion_probability
        if self.learn_noise_variance and statistics.values > 0:
            noise = statistics.residual / statistics.values
        if self.learn_inclusion_probability and statistics.samples > 0:
            inclusion = np.diag(statistics.second) / statistics.samples
        return hyper._replace(noise_variance=noise, inclusion_probability=inclusion)

    # -- dense vectors ---------------------------------------------------------------
    def natural_parameters(self, globals_):
        """Return the precision and the weighted means, as one vector.

        They pair with -mu mu^T / 2, summed over dimensions, and mu.
        """
        return np.concatenate([part.ravel() for part in globals_])

    def from_natural_parameters(self, vector):
        """Return the components of a vector."""
        K = self.n_components
        return Components(
            vector[: K * K].reshape(K, K), vector[K * K :].reshape(K, self.n_features)
        )

    def target_parameters(self, statistics, scale, powers, hyper):
        """Return the target of a step as a vector."""
        return self.natural_parameters(self._target(statistics, scale, powers, hyper))

    def fisher_product(self, globals_, vector):
        """Return the derivative along ``vector`` of the mean parameters of q(mu)."""
        change = self.from_natural_parameters(vector)
        means = globals_.means()
        # the means are at their joint optimum, whatever covariance q(mu) has
        means_change = globals_.covariance() @ (
            change.weighted_means - change.precision @ means
        )
        product = means_change @ means.T
        second_change = product + product.T
        second_change -= self.n_features * self._covariance_change(globals_, change)
        return self.natural_parameters(Components(-0.5 * second_change, means_change))

    def _covariance_change(self, globals_, change):
        """Return minus the derivative of the covariance of q(mu) along a change."""
        covariance, precision = self.covariance(globals_), change.precision
        if not self.structured:
            precision = np.diag(np.diag(precision))
        return covariance @ precision @ covariance

    # -- objectives ------------------------------------------------------------------
    def global_bound(self, globals_, hyper, powers=Powers()):  # noqa: B008
        """Return p E log p(mu) - E log q(mu), p = ``powers.prior``."""
        D, size = self.n_features, self.n_components * self.n_features
        means, covariance = globals_.means(), self.covariance(globals_)
        square = (means**2).sum() + D * np.trace(covariance)
        variance = hyper.component_variance
        log_prior = -0.5 * (size * math.log(2 * math.pi * variance) + square / variance)
        log_determinant = 2 * np.log(np.diag(cholesky(covariance))).sum()
        entropy = 0.5 * (size * (1 + math.log(2 * math.pi)) + D * log_determinant)
        return powers.prior * log_prior + entropy

    def log_partition(
        self, inverse_temperatures, hyper, random, priors=None, n_samples=8
    ):
        """Return log C(b) per observed value: exact, and the same for all components.

        Less the part of the normaliser that no temperature changes, which the score
        leaves out too: so it does not depend on the noise variance, and stays right
        while that is learned.  ``priors``, the inclusion probabilities, are by default
        the model's own.
        """
        b = inverse_temperatures
        inclusion = hyper.inclusion_probability
        if not (priors is None or isinstance(priors, str)):
            inclusion = np.broadcast_to(
                np.asarray(priors, dtype=float), self.n_components
            )
            if not ((inclusion > 0) & (inclusion < 1)).all():
                raise ValueError(
                    "partition_priors must be inclusion probabilities, in (0, 1)."
                )
        on = np.log(inclusion)[:, None] * b
        off = np.log1p(-inclusion)[:, None] * b
        binary = np.logaddexp(on, off).sum(axis=0)
        return binary / self.n_features - 0.5 * np.log(b)

    def log_predictive(self, block, prepared):
        """Return a lower bound on each sample's log p(x) at T=1, and 1 a sample.

        The local bound under q(mu), at most the log predictive density; of the values
        that are not missing.
        """
        step = self.observed_step(block, prepared)
        seen = block.observed > 0
        return np.where(seen, step.row_bounds, 0.0), seen.astype(float)

    # -- leaving a poor optimum --------------------------------------------------------
    def propose_birth(self, globals_, hyper, block, random, weights=None):
        """Return the components, and priors, after a birth and a death.

        A component is born, all adapt to it on ``block``, and the one that the bound
        misses least dies.  The new one is what its other features leave of a sample,
        taken in proportion to its squared residual, or the difference between it and
        one of its nearest.  Or all are born anew: as the independent components of what
        they span, for features that were taken for sums and differences of features.
        What is proposed does not depend on the weights, only what becomes of it.
        """
        if random.random() < SHARE_OF_REMIXES:
            return self._remixed(globals_, hyper, block, random)
        larger = copy.copy(self)
        larger.n_components += 1
        prior = hyper.inclusion_probability
        wider = hyper._replace(inclusion_probability=np.append(prior, prior.mean()))
        components = self._with_born(globals_, hyper, block, random)
        for _ in range(BIRTH_STEPS):
            prepared = larger.prepare(components, wider)
            step = larger.local_step(block, prepared, Powers())
            wider = larger.update_hyper(
                wider, components, step.statistics, 1.0, 1.0, Powers()
            )
            components = larger.step(
                components, step.statistics, 1.0, Powers(), 1.0, wider
            )
        dead = larger._least_missed(components, wider, block)
        left = np.arange(self.n_components)
        if dead < self.n_components:
            left[dead] = self.n_components  # the new one takes the place of the old
        precision = components.precision[np.ix_(left, left)]
        proposed = Components(precision, precision @ components.means()[left])
        if self.learn_inclusion_probability:
            prior = wider.inclusion_probability[left]
        return proposed, hyper._replace(inclusion_probability=prior)

    def _remixed(self, globals_, hyper, block, random):
        """Return independent components of the space that the present ones span."""
        _, scales, directions = np.linalg.svd(globals_.means(), full_matrices=False)
        # FastICA fails where the first of the coordinates is that of a dead component
        directions = directions[scales >= LEAST_SCALE * scales[0]]
        seed = np.random.RandomState(random.integers(2**31))
        mixed = from_ica(block.values @ directions.T, self.n_components, hyper, seed)
        precision = np.diag(np.diag(globals_.precision))
        return Components(precision, precision @ (mixed @ directions)), hyper

    def _with_born(self, globals_, hyper, block, random):
        """Return the components and a new one."""
        prepared = self.prepare(globals_, hyper)
        step = self.local_step(block, prepared, Powers(), want=("local",))
        nu = np.asarray(step.local_parameters, dtype=np.float64)
        residuals = block.values - nu @ prepared.means
        if block.missing is not None:
            residuals[block.missing] = 0.0
        squares = (residuals**2).sum(axis=1)
        total = squares.sum()  # 0 where nothing is left to explain
        n = random.choice(len(nu), p=squares / total if total > 0 else None)
        born = residuals[n]
        if len(nu) > 1 and random.random() < SHARE_OF_DIFFERENCES:
            differences = block.values - block.values[n]
            distances = np.square(differences, dtype=np.float64).sum(axis=1)
            other = random.choice(np.argsort(distances)[1 : NEAREST + 1])
            born = random.choice([-1, 1]) * (block.values[n] - block.values[other])
        means = np.vstack([prepared.means, born])
        precision = np.zeros((len(means), len(means)))
        precision[:-1, :-1] = globals_.precision
        precision[-1, -1] = np.diag(globals_.precision).mean()
        return Components(precision, precision @ means)

    def _least_missed(self, components, hyper, block):
        """Return the component without which the bound is highest."""
        prepared = self.prepare(components, hyper)
        products = tiled_matmul(block.values, prepared.filters.T)
        bounds = np.empty((self.n_components, len(products)))
        for coupling in Couplings(self, block, prepared, completing=True):
            rows = coupling.rows
            part = block._replace(
                squares=block.squares[rows], observed=block.observed[rows]
            )
            for k in range(self.n_components):
                prior = np.delete(hyper.inclusion_probability, k)
                left = np.delete(products[rows], k, 1)
                nu = np.empty(left.shape, dtype=self.dtype)
                nu[...] = prior
                without = hyper._replace(inclusion_probability=prior)
                couplings = [coupling.without(k)]
                _, _, bounds[k, rows], _ = self._infer(
                    part, without, Powers(), left, couplings, nu, cooled=True
                )
        return int(np.argmax([row_bounds.sum() for row_bounds in bounds]))


class Couplings:
    """The couplings of a block's samples: of all that miss nothing, and of the others.

    Those of the latter are kept from one iteration to the next if they are not too
    large; otherwise they are made anew, as many at a time as may be kept.

    Parameters
    ----------
    model : FactorialMixtureModel
    block : Samples
    prepared : Prepared
    completing : bool
        Whether missing values are latent, or left out.
    """

    def __init__(self, model, block, prepared, completing):
        self.model, self.block, self.prepared = model, block, prepared
        self.completing = completing
        self.whole, self.parts = slice(None), ()
        if block.missing is not None:
            lacking = block.observed < model.n_features
            rows = np.flatnonzero(lacking)
            self.whole = np.flatnonzero(~lacking)
            n_entries = model.n_components * (model.n_components + 1) // 2
            size = max(MOST_ENTRIES // n_entries, 1)
            self.parts = [
                rows[start : start + size] for start in range(0, len(rows), size)
            ]
        self.kept = None

    def __iter__(self):
        if isinstance(self.whole, slice) or len(self.whole):
            hyper, spread = self.prepared.hyper, self.prepared.spread
            gram = self.prepared.products + self.model.n_features * spread
            gram = gram / hyper.noise_variance
            yield Coupling(self.whole, gram, np.diag(gram)[None], False)
        for rows in self.parts:
            if self.kept is None:
                made = self.model.grams(
                    self.block, rows, self.prepared, self.completing
                )
                if len(self.parts) > 1:
                    yield made
                    continue
                self.kept = made
            yield self.kept


def check_range(X, dtype, noise_variance, name="X"):
    """Raise ValueError if a value is too large to compute with.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        May have missing values.
    dtype : {float32, float64}
        Of the computation.
    noise_variance : float or None
        If it is known yet.
    name : str
        That of ``X`` in the message.
    """
    limit, given = LARGEST_VALUES[dtype], ""
    if noise_variance is not None:
        ratio = math.sqrt(LARGEST_RATIOS[dtype] / X.shape[1])
        if ratio * math.sqrt(noise_variance) < limit:
            limit = ratio * math.sqrt(noise_variance)
            given = f" with a noise variance of {noise_variance:g}"
    largest = max(np.fmax.reduce(X, axis=None), -np.fmin.reduce(X, axis=None))
    if largest > limit:
        raise ValueError(
            f"Input {name} contains a value of size {largest:.3g}; the largest that is "
            f"supported in {dtype}{given} is {limit:.3g}. Scale the data."
        )


def rate_to_zero(old, new):
    """Return the rate at which a step from ``old > 0`` to ``new`` meets 0, or inf."""
    old, new = np.atleast_1d(old), np.atleast_1d(new)
    leaving = new < 0
    return float(np.min(old[leaving] / (old - new)[leaving], initial=math.inf))


def step_of_looking(X):
    """Return how many rows lie between those that tell what the data are like."""
    return -(-len(X) // ROWS_LOOKED_AT)


def looked_at(X):
    """Return rows that tell what the data are like, evenly from all of them."""
    # contiguous, as sums have an order
    return np.ascontiguousarray(X[:: step_of_looking(X)], dtype=np.float64)


def filled(X):
    """Return the rows looked at, their missing values at the means of the columns."""
    rows = looked_at(X)
    missing = np.isnan(rows)
    if not missing.any():
        return rows
    return np.where(missing, column_means(rows), rows)


def column_means(rows, weight=None):
    """Return the columns' means of the values that are not missing; 0 if none is."""
    weight = np.ones(len(rows)) if weight is None else weight
    present = ~np.isnan(rows)
    counts = weight @ present
    return (weight @ np.where(present, rows, 0.0)) / np.where(counts > 0, counts, 1.0)


def centred(rows, weight=None):
    """Return the rows less the means of their columns."""
    return rows - column_means(rows, weight)


def mean_square(rows, weight=None):
    """Return the mean square of the values that are not missing; 0 if none is."""
    weight = np.ones(len(rows)) if weight is None else weight
    present = ~np.isnan(rows)
    count = float(weight @ present.sum(axis=1))
    squares = np.where(present, rows, 0.0) ** 2
    return float(weight @ squares.sum(axis=1)) / count if count > 0 else 0.0

"""Probabilistic matrix factorization of ratings as a `ConjugateModel`.

y_ij = mean + a_i + c_j + u_i . v_j + noise: users are local, items global.  In the
code x_i = (u_i, a_i) and w_j = (v_j, c_j) are Gaussian each, with all correlations;
``n_own`` is their length, the rank and the bias.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.stats import norm, t

from .._linalg import sparse_rows
from .._simd.special import aligned
from ..model import ConjugateModel, LocalStep, Powers, Stopped, all_finite
from . import _kernels
from ._gaussians import Gaussians, Moments, Prior, blended, packed, unpacked
from ._noise import START_SHAPE, Noise, best_shape
from ._ratings import Ratings, RatingStatistics

#: Numbers in the table of a block's users, about, and the fewest and most of its rows.
BLOCK_ELEMENTS, FEWEST_ROWS, MOST_ROWS = 2**19, 256, 4096
#: Multiplications, about, and the fewest Gaussians, between two looks for Ctrl-C where
#: the calling thread finds them itself.
COST_AT_ONCE, FEWEST_AT_ONCE = 2**24, 256
#: Variances at the start, in those of the prior: of the items' means, and about them.
START_SPREAD, START_VARIANCE = 0.1, 0.01
#: The least noise variance that is learned, in the variance of the ratings: with less,
#: precisions are no longer positive for rounding errors of the tables.
LEAST_NOISE = {"float32": 1e-4, "float64": 1e-6}
#: The largest square of the prior variance of factors over the noise variance.
LARGEST_RATIO = 1e15
#: Weights so near to 1 are not what makes a precision negative.
CALM = 1e-3
#: A user's noise is at its optimum once it changes by less than this share, or is left
#: after so many rounds; one is enough where it goes on from the last step's.
NOISE_TOL, MOST_ROUNDS = 1e-3, 30


class Hyper(NamedTuple):
    """Priors and variances.

    Attributes
    ----------
    n_components : int
        Rank; what a vector has beside these is a bias.
    user_noise : bool
        Whether each user has a noise variance of his or her own.
    global_mean, noise_variance : float
    noise_shape : float
        Of the Gamma distribution, with mean 1, by which users' precisions differ.
    rating_variance : float
        Of the ratings at the start.
    users, items : Prior
    """

    n_components: int
    user_noise: bool
    global_mean: float
    noise_variance: float
    noise_shape: float
    rating_variance: float
    users: Prior
    items: Prior


class Prepared(NamedTuple):
    """What a local step needs of the items and priors."""

    items: Gaussians
    globals_: np.ndarray
    hyper: Hyper


class MatrixFactorizationModel(ConjugateModel):
    """Ratings as products of Gaussian factors of users and items, and biases.

    The global parameters are an array, a row an item: the packed lower triangle of the
    precision, and precision times mean.

    Parameters
    ----------
    n_components, n_features : int
        Rank, and number of items.
    biases : bool
    global_mean : float or None
        None is that of the ratings.
    noise_variance : float or None
        sigma^2; None is learned, from the ratings' variance on.
    component_variance : float or None
        c, the prior variance of factors and biases, whose prior mean is 0; None: mean
        and covariance are learned, of users and of items.
    user_noise : bool
        Whether each user has a noise variance of his or her own.
    rating_temperatures : bool
        Whether scores and powers are of ratings, in place of users.
    dtype : {float32, float64}
        What kernels compute in.
    init : ndarray of shape (n_components, n_features) or None
        Where the items' means start.
    """

    watches_bound = True

    def __init__(
        self,
        n_components,
        n_features,
        *,
        biases=True,
        global_mean=None,
        noise_variance=None,
        component_variance=None,
        user_noise=False,
        rating_temperatures=False,
        dtype=np.float64,
        init=None,
    ):
        super().__init__()
        self.n_components = n_components
        self.n_features = n_features
        self.biases = biases
        self.global_mean = global_mean
        self.noise_variance = noise_variance
        self.component_variance = component_variance
        self.user_noise = self.keeps_local = user_noise
        self.rating_temperatures = rating_temperatures
        self.dtype = np.dtype(dtype)
        self.init = init
        self._items = None, None
        self.n_own = n_components + biases
        self.n_packed = self.n_own * (self.n_own + 1) // 2
        self.n_natural = self.n_packed + self.n_own
        self.width = _kernels.table_width(n_components, biases, self.dtype)
        rows = max(BLOCK_ELEMENTS // self.width, 1)
        self.block_size = min(max(1 << rows.bit_length() - 1, FEWEST_ROWS), MOST_ROWS)

    # -- data ------------------------------------------------------------------------
    def take(self, X, rows):
        """Return ``X[rows]`` as `Ratings`."""
        if sparse.issparse(X):
            block = sparse_rows(X, rows)
            if not block.has_canonical_format:
                block = block.copy()
                block.sum_duplicates()
            starts, items, values = block.indptr, block.indices, block.data
            if len(items) and not 0 <= items.min() <= items.max() < self.n_features:
                raise ValueError(
                    f"X has column indices outside of its {self.n_features} columns: "
                    "it was built with a wrong shape."
                )
        else:
            dense = np.asarray(X[rows])
            known = ~np.isnan(dense)
            items, values = np.nonzero(known)[1], dense[known]
            starts = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
        return Ratings(
            starts.astype(np.intp, copy=False),
            np.ascontiguousarray(items, dtype=np.int32),
            np.ascontiguousarray(values, dtype=self.dtype),
        )

    def units_per_row(self, X, rows):
        """Return the number of ratings of each row."""
        if sparse.issparse(X):
            if X.has_canonical_format:
                return X.indptr[rows + 1] - X.indptr[rows]
            return self.take(X, rows).counts
        return (~np.isnan(X[rows])).sum(axis=1)

    def per_unit(self, block, values):
        """Return what each user has as each rating has it, if ratings have not."""
        return values if self.rating_temperatures else np.repeat(values, block.counts)

    def auto_batch_size(self, X, total):
        """Return a tenth of the data, from 100 to 10,000 rows; of a stream 1,000."""
        if total is None:
            return 1000
        return max(1, min(max(round(total / 10), 100), 10_000, total // 2))

    def auto_temperature(self, hyper):
        """Return twice the ratings' variance over the noise; 1.05 to learn priors.

        Those learn at a high temperature that a factor is of no use, and it does not
        come back.
        """
        if self.component_variance is None:
            return 1.05
        return max(2 * hyper.rating_variance / hyper.noise_variance, 1.0)

    # -- the state of a fit ----------------------------------------------------------
    def initial_hyper(self, X, sample_weight=None):
        """Return the variances, and where those to be learned begin."""
        n_ratings, mean, variance = self._mean_and_variance(X, sample_weight)
        if n_ratings == 0 and self.global_mean is None:
            raise ValueError(
                "The first data have no ratings: begin with some, or give global_mean."
            )
        if self.global_mean is not None:
            variance += (mean - self.global_mean) ** 2
            mean = self.global_mean
        variance = variance or 1.0
        variances = np.empty(self.n_own)
        if self.component_variance is not None:
            variances[:] = self.component_variance
        else:  # in whatever units ratings are; wide, lest factors are lost early
            variances[: self.n_components] = math.sqrt(variance)
            variances[self.n_components :] = variance
        prior = Prior(np.zeros(self.n_own), np.diag(variances))
        noise = variance if self.noise_variance is None else self.noise_variance
        self._check_variances(noise)
        return Hyper(
            self.n_components,
            self.user_noise,
            float(mean),
            float(noise),
            START_SHAPE,
            float(variance),
            users=prior,
            items=prior,
        )

    def _check_variances(self, noise):
        """Raise if products of factors are so wide that no rating tells them apart.

        Precisions have eigenvalues of 1 / c and of c / noise: beyond a ratio of
        1 / epsilon they are not positive for rounding errors.
        """
        ratio = (self.component_variance or 0.0) ** 2 / noise
        if ratio > LARGEST_RATIO:
            raise ValueError(
                f"component_variance={self.component_variance:g} is too large for a "
                f"noise variance of {noise:.3g}: its square over that may be at most "
                f"{LARGEST_RATIO:g}."
            )

    def _mean_and_variance(self, X, sample_weight):
        """Return how much ratings weigh, and theirs, taken a block at a time."""
        total = mean = squares = 0.0
        for start in range(0, X.shape[0], self.block_size):
            rows = slice(start, min(start + self.block_size, X.shape[0]))
            block = self.take(X, rows)
            values = block.values.astype(np.float64, copy=False)
            weight = np.ones(len(block.counts))
            if sample_weight is not None:
                weight = sample_weight[rows]
            weights = np.repeat(weight, block.counts)
            own = weights.sum()
            if own == 0:
                continue
            shift = (weights * values).sum() / own - mean
            total += own
            mean += shift * own / total
            squares += (weights * (values - mean) ** 2).sum()
            squares += (total - own) * (shift * own / total) ** 2
        return total, mean, squares / total if total else 0.0

    def initial_globals(self, X, random, hyper=None, sample_weight=None):
        """Return small draws from the prior, or what ``init`` says."""
        hyper = self.initial_hyper(X) if hyper is None else hyper
        variances = np.diag(hyper.items.covariance)
        means = np.zeros((self.n_features, self.n_own))
        if self.init is None:
            shape = self.n_features, self.n_components
            start = math.sqrt(START_SPREAD * variances[0]) * random.normal(size=shape)
        else:
            start = self.init.T
        means[:, : self.n_components] = start
        precision = np.diag(1 / (START_VARIANCE * variances))
        natural = np.empty((self.n_features, self.n_natural))
        natural[:, : self.n_packed] = packed(precision)
        natural[:, self.n_packed :] = means @ precision
        return natural

    def hyper_shapes(self):
        """Return the shapes of the parts of `hyper`."""
        mean = (self.n_own,)
        return [()] * 6 + 2 * [mean, 2 * mean]

    def check(self, globals_, hyper):
        """Raise if these cannot be parameters of this model."""
        super().check(globals_, hyper)
        settings = self.n_components, self.user_noise
        if (hyper.n_components, hyper.user_noise) != settings:
            raise ValueError("n_components or noise_type are not those of the fit")

    def prepare(self, globals_, hyper):
        """Return the items' moments, and their prior."""
        settings = self.n_components, self.user_noise, (self.n_features, self.n_natural)
        if (hyper.n_components, hyper.user_noise, globals_.shape) != settings:
            raise ValueError(
                "n_components, biases or noise_type changed since the model was "
                "fitted: fit it anew."
            )
        return Prepared(self.items(globals_), globals_, hyper)

    def items(self, globals_):
        """Return the items' posteriors; raise if there are none, or not in the dtype.

        Those of the last parameters are known: a step has looked whether there are any.
        """
        known, items = self._items
        if known is not globals_:
            items = self.gaussians(globals_)
            if not np.isfinite(items.table).all():
                self._refuse_precisions()
            self._items = globals_, items
        return items

    def is_finite(self, globals_, hyper, prepared):
        """Return whether the items' moments are, and the priors."""
        return all_finite(globals_ if prepared is None else prepared.items, hyper)

    def gaussians(self, natural, with_covariances=False):
        """Return the posteriors that have these natural parameters."""
        nothing = np.zeros(self.n_natural)
        posterior, n_indefinite = self._gaussians(
            natural, 1.0, nothing, with_covariances
        )
        if n_indefinite:
            self._refuse_precisions()
        return posterior

    def _gaussians(self, sums, scales, prior, with_covariances=False):
        """Return posteriors of prior + scales sums, and how many of them are none."""
        n_rows = len(sums)
        out = Gaussians(
            np.empty((n_rows, self.n_own)),
            np.empty((n_rows, self.n_packed)) if with_covariances else None,
            np.empty(n_rows),
            np.empty(n_rows),
            aligned(np.empty, (n_rows, self.width), self.dtype),
        )
        scales = np.ascontiguousarray(np.broadcast_to(scales, n_rows), dtype=np.float64)
        prior, n_indefinite = np.ascontiguousarray(prior), 0
        at_once = max(COST_AT_ONCE // self.n_own**3, FEWEST_AT_ONCE)
        for start in range(0, n_rows, at_once):
            part = slice(start, start + at_once)
            found = _kernels.gaussians(
                sums[part],
                scales[part],
                prior,
                self.n_components,
                self.biases,
                self.stop,
                out.table[part],
                out.means[part],
                None if out.covariances is None else out.covariances[part],
                out.log_determinants[part],
                out.prior_traces[part],
            )
            if found < 0:
                raise Stopped
            n_indefinite += found
        return out, n_indefinite

    def _refuse_precisions(self, weights=None):
        if weights is not None and (weights < 0).any():
            raise ValueError(
                "Negative weights leave no positive precision: take "
                "distribution='dirichlet', or a larger effective_batch_size."
            )
        raise ValueError(
            "No positive precision is left: the noise variance is too small for "
            f"ratings of {self.dtype}, or Gaussian weights were too noisy. Give a "
            "larger noise_variance, X as float64, or distribution='dirichlet'."
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
        """Find the posteriors of a block's users; see `ConjugateModel.local_step`.

        Weights act on what ratings tell of items and of users.  Those that would leave
        a user without a positive precision are halved toward 1 for him or her until
        they do not; ``n_iterations`` counts that.
        """
        counts = block.counts
        values = block.values - self.dtype.type(prepared.hyper.global_mean)
        noise = None
        if self.user_noise and local_init is not None:
            noise = Noise(*local_init[:, self.n_own :].T)
        users = self._users(block, values, prepared, powers, weights, noise)
        row_scores = unit_scores = None
        if "score" in want:
            row_scores, unit_scores = self._scores(block, values, prepared, users)
        statistics = None
        if "statistics" in want:
            statistics = self._statistics(block, values, prepared, powers, users)
        bounds = self._bounds(prepared, powers.prior, users)
        return LocalStep(
            statistics=statistics,
            n_rows=len(counts),
            n_observed=float(len(values)),
            n_iterations=users.n_iterations,
            bound=float(bounds.sum()),
            score=0.0 if row_scores is None else float(row_scores.sum()),
            row_observed=counts.astype(np.float64),
            row_bounds=bounds,
            row_scores=row_scores,
            unit_scores=unit_scores,
            local_parameters=self._local(users) if "local" in want else None,
        )

    def _local(self, users):
        """Return the means, and shapes and rates of the noise if users have theirs."""
        if not self.user_noise:
            return users.posterior.means
        return np.column_stack([users.posterior.means, *users.noise])

    def _users(self, block, values, prepared, powers, weights, noise=None):
        """Return the posteriors of a block's users, and what they come from."""
        local, factors = _scalar_and_factors(powers.local, weights)
        hyper = prepared.hyper
        prior = powers.prior * hyper.users.natural()
        n_iterations = len(block.starts) - 1
        sums = self._sums(block, values, prepared, factors)
        most_rounds = MOST_ROUNDS if noise is None else 1
        if noise is None:
            noise = Noise.fixed(len(sums))
        scales = local / hyper.noise_variance * noise.means
        posterior, n_indefinite = self._gaussians(sums, scales, prior)
        while n_indefinite:
            n_iterations += n_indefinite
            bad = np.repeat(np.isnan(posterior.log_determinants), block.counts)
            if weights is None or np.abs(weights[bad] - 1).max() < CALM:
                self._refuse_precisions(weights)
            weights = np.where(bad, 0.5 * (weights + 1), weights)
            _, factors = _scalar_and_factors(powers.local, weights)
            sums = self._sums(block, values, prepared, factors)
            posterior, n_indefinite = self._gaussians(sums, scales, prior)
        users = Users(
            posterior, noise, sums, scales, prior, local, factors, weights, n_iterations
        )
        if not self.user_noise:
            return users
        told = np.ones(len(sums))
        if weights is not None:  # of negative weights noise would seem to be none
            told = (block.per_user(weights < 0) == 0).astype(np.float64)
        return self._with_noise(users, hyper, powers.prior, told, most_rounds)

    def _with_noise(self, users, hyper, power, told, most_rounds):
        """Return users with the noise of each at its optimum, and factors with it.

        Who is done is left alone: nothing depends on who is in the same block.  Those
        whose ratings tell nothing, of which ``told`` is 0, have the noise of the prior.
        """
        halves = 0.5 * users.local * told * np.maximum(users.sums[:, -1], 0.0)
        shapes = power * (hyper.noise_shape - 1) + 1 + halves
        active = np.arange(len(shapes))
        for number in range(most_rounds):
            squares = told * np.maximum(users.residuals() / hyper.noise_variance, 0.0)
            rates = power * hyper.noise_shape + 0.5 * users.local * squares
            means = users.noise.means
            noise = Noise(users.noise.shapes.copy(), users.noise.rates.copy())
            noise.shapes[active], noise.rates[active] = shapes[active], rates[active]
            users = users._replace(noise=noise)
            change = np.abs(noise.means / means - 1)
            active = active[change[active] >= NOISE_TOL]
            if len(active) == 0 or number == most_rounds - 1:
                break
            scales = users.scales.copy()
            scales[active] = users.local / hyper.noise_variance * noise.means[active]
            moved, n_indefinite = self._gaussians(
                users.sums[active], scales[active], users.prior
            )
            if n_indefinite:  # for negative weights
                break
            users.posterior.put(active, moved)
            users = users._replace(
                scales=scales, n_iterations=users.n_iterations + len(active)
            )
        return users

    def _sums(self, block, values, prepared, factors):
        sums = _kernels.own_sums(
            block.starts,
            block.items,
            values,
            None if factors is None else factors.astype(self.dtype),
            prepared.items.table,
            self.n_components,
            self.biases,
            self.stop,
        )
        if sums is None:
            raise Stopped
        return sums

    def _bounds(self, prepared, power, users):
        """Return each user's part of the bound, its likelihood at the local power."""
        hyper, posterior, noise = prepared.hyper, users.posterior, users.noise
        log_variances = math.log(2 * math.pi * hyper.noise_variance) - noise.log_means()
        squares = noise.means * users.residuals() / hyper.noise_variance
        log_likelihood = -0.5 * (log_variances * users.sums[:, -1] + squares)
        log_prior = power * hyper.users.log_normaliser() + (
            (posterior.means * users.prior[self.n_packed :]).sum(axis=1)
            - 0.5 * posterior.prior_traces
        )
        bounds = users.local * log_likelihood + log_prior + posterior.entropies()
        if self.user_noise:
            bounds += noise.bounds(hyper.noise_shape, power)
        return bounds

    def _scores(self, block, values, prepared, users):
        """Return E log p(y) less its constant: of each user, and of each rating.

        The latter are None unless temperatures are of ratings.
        """
        factor = -0.5 / prepared.hyper.noise_variance
        if users.factors is None and not self.rating_temperatures:
            return factor * users.noise.means * users.residuals(), None
        residuals = self._residuals(block, values, prepared, users.posterior)
        scores = factor * np.repeat(users.noise.means, block.counts) * residuals
        return block.per_user(scores), scores if self.rating_temperatures else None

    def moments(self, block, prepared, posterior, own_rows=None):
        """Return E[f] and E[f^2] of each rating, f being all but mean and noise."""
        means, squares = _kernels.moments(
            block.starts,
            block.items,
            posterior.table,
            prepared.items.table,
            own_rows,
            self.n_components,
            self.biases,
            self.stop,
        )
        if means is None:
            raise Stopped
        return means, squares

    def _residuals(self, block, values, prepared, posterior):
        """Return E (y - f)^2 of each rating."""
        means, squares = self.moments(block, prepared, posterior)
        return values * (values - 2 * means) + squares

    def _statistics(self, block, values, prepared, powers, users):
        table, counts, noise = users.posterior.table, block.counts, users.noise
        share, factors = _scalar_and_factors(powers.statistics, users.weights)
        row_weights, n_ratings = (counts > 0).astype(np.float64), float(len(values))
        if factors is None and users.factors is None:
            errors = users.residuals()
        else:
            errors = self._residuals(block, values, prepared, users.posterior)
            if factors is not None:
                errors *= factors
                n_ratings = float(factors.sum())
                row_weights = block.per_user(factors) / np.maximum(counts, 1)
            # of negative weights, whose variances would be of no use
            errors = np.maximum(block.per_user(errors), 0.0)
        if self.user_noise:
            own = np.repeat(noise.means, counts)
            factors = own if factors is None else own * factors
        items, rows = _kernels.other_sums(
            block.starts,
            block.items,
            values,
            None if factors is None else factors.astype(self.dtype),
            table,
            self.n_features,
            self.n_components,
            self.biases,
            self.stop,
        )
        if items is None:
            raise Stopped
        statistics = RatingStatistics(
            ((items, rows[:, : self.n_natural]),),
            float(noise.means @ errors),
            n_ratings,
            self._moments_of(table, row_weights),
            float(row_weights @ (noise.log_means() - noise.means)),
        )
        return statistics if share == 1 else statistics.scaled(float(share))

    def _moments_of(self, table, weights):
        """Return the sums over posteriors of their moments, from a table of these."""
        sums = weights @ table.astype(np.float64, copy=False)
        d, n_own = self.n_components, self.n_own
        n_products = d * (d + 1) // 2
        first = sums[n_products : n_products + n_own].copy()
        second = np.empty((n_own, n_own))
        second[:d, :d] = unpacked(sums[:n_products], d)
        if self.biases:
            mixed = sums[n_products + n_own : n_products + 2 * n_own + 1]
            second[d, :d] = second[:d, d] = mixed[:d]
            second[d, d] = mixed[d + 1]
            first[d] = mixed[d]
        return Moments(float(weights.sum()), first, second)

    def target_parameters(self, statistics, scale, powers, hyper):
        """Return the prior's parameters plus the statistics over the noise."""
        target = np.tile(powers.prior * hyper.items.natural(), (self.n_features, 1))
        for items, rows in statistics.parts:
            target[items] += scale / hyper.noise_variance * rows
        return target.ravel()

    def natural_parameters(self, globals_):
        """Return the parameters as one vector.

        A packed precision pairs with -x x^T / 2, what is beside the diagonal twice;
        precision times mean with x.
        """
        return globals_.ravel()

    def from_natural_parameters(self, vector):
        """Return the parameters of a vector."""
        return np.reshape(vector, (self.n_features, self.n_natural))

    def step(self, globals_, statistics, scale, powers, rate, hyper):
        """Step the natural parameters; raise if the items would have no posteriors."""
        stepped = super().step(globals_, statistics, scale, powers, rate, hyper)
        self.items(stepped)
        return stepped

    def largest_rate(self, globals_, statistics, scale, powers, hyper):
        """Return the rate at which an item's precision would not be positive."""
        target = self.target_parameters(statistics, scale, powers, hyper)
        target = self.from_natural_parameters(target)[:, : self.n_packed]
        old = np.linalg.cholesky(unpacked(globals_[:, : self.n_packed], self.n_own))
        # in coordinates in which the old precision is 1
        half = np.linalg.solve(old, unpacked(target, self.n_own))
        whole = np.linalg.solve(old, half.transpose(0, 2, 1))
        least = np.linalg.eigvalsh(whole)[:, 0].min()
        return math.inf if least > 0 else 1 / (1 - least)

    def is_valid(self, globals_):
        """Return whether all precisions are positive definite."""
        precisions = unpacked(globals_[:, : self.n_packed], self.n_own)
        return bool((np.linalg.eigvalsh(precisions)[:, 0] > 0).all())

    def update_hyper(self, hyper, globals_, statistics, scale, rate, powers):
        """Step the learned noise variance and priors toward what is best."""
        if self.noise_variance is None and statistics.n_ratings > 0:
            best = statistics.residual / statistics.n_ratings
            noise = (1 - rate) * hyper.noise_variance + rate * best
            least = LEAST_NOISE[self.dtype.name] * hyper.rating_variance
            hyper = hyper._replace(noise_variance=max(noise, least))
            if self.user_noise and statistics.users.total > 0:
                best = best_shape(statistics.log_noise / statistics.users.total)
                shape = (1 - rate) * hyper.noise_shape + rate * best
                hyper = hyper._replace(noise_shape=shape)
        if self.component_variance is None:
            items = self._moments_of(
                self.items(globals_).table, np.ones(self.n_features)
            )
            hyper = hyper._replace(
                users=blended(hyper.users, statistics.users, powers.prior, rate),
                items=blended(hyper.items, items, powers.prior, rate),
            )
        return hyper

    def fisher_product(self, globals_, vector):
        """Return the Fisher information of q(items) times ``vector``."""
        direction = self.from_natural_parameters(vector)
        items = self.gaussians(globals_, with_covariances=True)
        mean = items.means
        covariance = unpacked(items.covariances, self.n_own)
        precision = unpacked(direction[:, : self.n_packed], self.n_own)
        linear = direction[:, self.n_packed :] - np.einsum(
            "nij,nj->ni", precision, mean
        )
        # the changes of E[x] and of E[x x^T]
        first = np.einsum("nij,nj->ni", covariance, linear)
        outer = first[:, :, None] * mean[:, None, :]
        second = outer + outer.transpose(0, 2, 1)
        second -= covariance @ precision @ covariance
        lower = np.tril_indices(self.n_own)
        factors = np.where(lower[0] == lower[1], -0.5, -1.0)
        product = np.concatenate([factors * second[:, *lower], first], axis=1)
        return product.ravel()

    # -- objectives ------------------------------------------------------------------
    def global_bound(self, globals_, hyper, powers=Powers()):  # noqa: B008
        """Return p E log p(items) - E log q(items), p = ``powers.prior``."""
        items = self.items(globals_)
        moments = self._moments_of(items.table, np.ones(self.n_features))
        natural = hyper.items.natural()
        precision = unpacked(natural[: self.n_packed], self.n_own)
        log_prior = (
            self.n_features * hyper.items.log_normaliser()
            + moments.first @ natural[self.n_packed :]
            - 0.5 * (precision * moments.second).sum()
        )
        return float(powers.prior * log_prior + items.entropies().sum())

    def log_partition(
        self, inverse_temperatures, hyper, random, priors=None, n_samples=8
    ):
        """Return log C(b) per rating, exactly.

        Less the part that no temperature changes, which the score leaves out too: so it
        does not depend on the noise variance, and stays right while that is learned.
        """
        if not (priors is None or isinstance(priors, str)):
            raise ValueError("A matrix factorization takes no partition_priors.")
        return -0.5 * np.log(inverse_temperatures)

    def log_predictive(self, block, prepared):
        """Return the log density of the held-out ratings, and how many these are.

        The ratings of a user are dealt in turn to an observed and a held-out half.
        """
        number = np.arange(len(block.values)) - block.starts[block.users()]
        held_out = number % 2 == 1
        observed, rest = block.part(~held_out), block.part(held_out)
        users = self.users(observed, prepared)
        mean, variance = self.expected(rest, prepared, users.posterior)
        noise = prepared.hyper.noise_variance / np.repeat(
            users.noise.means, rest.counts
        )
        residual = rest.values - mean
        if self.user_noise:
            freedom = 2 * np.repeat(users.noise.shapes, rest.counts)
            scores = t.logpdf(residual, freedom, scale=np.sqrt(variance + noise))
        else:
            scores = norm.logpdf(residual, scale=np.sqrt(variance + noise))
        return rest.per_user(scores), rest.counts

    def users(self, block, prepared):
        """Return `Users` at T=1."""
        values = block.values - self.dtype.type(prepared.hyper.global_mean)
        users = self._users(block, values, prepared, Powers(), None)
        # of the same bits as from the parameters, which an estimator keeps
        return users._replace(posterior=self.gaussians(users.parameters()))

    def expected(self, block, prepared, posterior, own_rows=None):
        """Return means and variances of ratings but for the noise.

        ``own_rows`` says where users of the block's rows stand in ``posterior``.
        """
        means, squares = self.moments(block, prepared, posterior, own_rows)
        variances = np.maximum(squares - means**2, 0.0)
        return prepared.hyper.global_mean + means, variances


class Users(NamedTuple):
    """Posteriors of a block's users, and what they come from.

    Attributes
    ----------
    posterior : Gaussians
    noise : Noise
    sums : ndarray
        What the ratings tell, `_kernels.own_sums`, their factors included.
    scales : ndarray of shape (n_rows,)
        Of the sums in the natural parameters, beside the factors.
    prior : ndarray
        Natural parameters of the prior, its power included.
    local : float
        The power of the likelihood, if it is the same for all ratings; or 1.
    factors, weights : ndarray of shape (n_ratings,) or None
        Of the ratings, and the noise in them.
    n_iterations : int
    """

    posterior: Gaussians
    noise: Noise
    sums: np.ndarray
    scales: np.ndarray
    prior: np.ndarray
    local: float
    factors: np.ndarray
    weights: np.ndarray
    n_iterations: int

    def residuals(self):
        """Return the sums over each user's ratings of factor E (y - f)^2.

        By precision times covariance being 1: E (y - f)^2 is quadratic in x.
        """
        means = self.posterior.means
        n_own = means.shape[1]
        n_packed = len(self.prior) - n_own
        linear = self.sums[:, n_packed : n_packed + n_own]
        own = (means * self.prior[n_packed:]).sum(axis=1)
        rest = n_own + own - self.posterior.prior_traces
        return self.sums[:, -2] - (means * linear).sum(axis=1) + rest / self.scales

    def parameters(self):
        """Return natural parameters, as the global ones are of items."""
        return self.prior + self.scales[:, None] * self.sums[:, : len(self.prior)]


def _scalar_and_factors(power, weights):
    """Return what all ratings share, and the factors of each, or None."""
    if np.ndim(power) == 0:
        return float(power), weights
    return 1.0, power if weights is None else power * weights

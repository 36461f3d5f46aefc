"""Probabilistic matrix factorization of ratings as a `ConjugateModel`.

A rating is y_ij = mean + a_i + c_j + u_i . v_j + noise.  In the code, x_i = (u_i, a_i)
and w_j = (v_j, c_j) are Gaussian vectors with full covariances.  The vectors x_i of
users are local parameters, and the vectors w_j of items are global parameters.  Their
length ``n_own`` is the rank, plus one if there are biases.
"""

import math

import numpy as np
from scipy import sparse
from scipy.stats import norm, t

from .._families import _gaussian
from .._families._factorization import FactorizationModel, Gaussians, PreparedItems
from .._families._family import FixedLogC
from .._ranking._best import UserEntries
from ..model import LocalStep, Powers
from . import _kernels, _ratings
from ._users import RatingInference

# -- starting values of priors and variances -------------------------------------------
#: Largest ratio of the squared prior variance of factors to the noise variance.
LARGEST_RATIO = 1e15
#: Largest ratio of the units of biases and of factors.  With `ROUNDING`, eigenvalues of
#: a learned covariance differ at most as much as float64 can represent.
UNITS = 1e6


def _check_variances(component_variance, noise, variance):
    """Raise if the prior variances are too large for the noise variance.

    With the prior variance c of factors, precisions have eigenvalues of 1 / c and of
    c / noise.  If their ratio exceeds 1 / epsilon, rounding errors make the precisions
    indefinite.  A learned c starts where products of factors have the variance of the
    ratings.
    """
    if component_variance is None:
        if variance / noise > LARGEST_RATIO:
            raise ValueError(
                f"noise_variance={noise:g} is too small for ratings with a variance of "
                f"{variance:.3g}.  The variance of the ratings divided by "
                f"noise_variance must be at most {LARGEST_RATIO:g}."
            )
        return
    ratio = component_variance**2 / noise
    if ratio > LARGEST_RATIO:
        raise ValueError(
            f"component_variance={component_variance:g} is too large for a "
            f"noise variance of {noise:.3g}.  The square of component_variance divided "
            f"by the noise variance must be at most {LARGEST_RATIO:g}."
        )


def _mean_and_variance(model, X, sample_weight):
    total = mean = squares = 0.0
    for block, weight in model._weighted_blocks(X, sample_weight):
        values = block.values.astype(np.float64, copy=False)
        by_rating = np.repeat(weight, block.counts)
        own = by_rating.sum()
        if own == 0:
            continue
        shift = (by_rating * values).sum() / own - mean
        total += own
        mean += shift * own / total
        squares += (by_rating * (values - mean) ** 2).sum()
        squares += (total - own) * (shift * own / total) ** 2
    return total, mean, squares / total if total else 0.0


# -- probabilistic matrix factorization of ratings as a `ConjugateModel` ---------------
#: Number of items for a user of a block, see `FactorizationModel`; and approximate
#: number of elements in the table of the users of a smaller block.
ITEMS_PER_ROW, BLOCK_ELEMENTS = 4, 2**19


class MatrixFactorizationModel(FixedLogC, FactorizationModel):
    """Ratings as products of Gaussian factors of users and items, and biases.

    The global parameters are an array with a row for each item, which has the packed
    lower triangle of the precision, and precision times mean.

    The parameters are those of the estimators, where None has the same meaning.  If
    ``user_noise``, each user has a separate noise variance.
    """

    entry_names = ("value",)

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
        dtype=np.float64,
        init=None,
    ):
        super().__init__(n_components, n_features, n_components + biases, dtype, init)
        self.biases = biases
        self.global_mean = global_mean
        self.noise_variance = noise_variance
        self.component_variance = component_variance
        self.user_noise = self.keeps_local = user_noise
        self.n_local = self.n_own + 2 * user_noise  # shape and rate of the noise
        self.width = _kernels.table_width(n_components, biases, self.dtype)
        at_mean = n_components * (n_components + 1) // 2
        self.places = n_components, self.n_packed, at_mean
        self.table_shape = n_features, self.width
        self.user_widths = self.n_natural, 2
        self.vector_width = n_components + 2
        self.block_size = self._rows_of_block(
            self.width * self.dtype.itemsize,
            ITEMS_PER_ROW,
            BLOCK_ELEMENTS // self.width,
        )

    @property
    def fixed(self):
        """The arguments that are the same in all calls of kernels."""
        return self.n_components, self.biases, self.stop

    # -- data ------------------------------------------------------------------------
    def take(self, X, rows):
        return _ratings.ratings_of(X, rows, self.n_features, self.dtype)

    def units_per_row(self, X, rows):
        if sparse.issparse(X):
            if X.has_canonical_format:
                return X.indptr[rows + 1] - X.indptr[rows]
            return self.take(X, rows).counts
        return (~np.isnan(X[rows])).sum(axis=1)

    def per_unit(self, block, values):
        """Return a value for each rating, the value of its user."""
        return np.repeat(values, block.counts)

    def auto_temperature(self, hyper, X):
        """Return twice the ratio of the ratings' variance to the noise variance.

        If the priors are learned, the result is 1.05, because learned priors would
        remove factors permanently at a high temperature.
        """
        if self.component_variance is None:
            return 1.05
        return max(2 * hyper.rating_variance / hyper.noise_variance, 1.0)

    # -- the state of a fit ----------------------------------------------------------
    def initial_hyper(self, X, sample_weight=None):
        """Return the given variances, and starting values of the learned ones."""
        n_ratings, mean, variance = _mean_and_variance(self, X, sample_weight)
        if n_ratings == 0 and self.global_mean is None:
            raise ValueError(
                "The first data have no ratings, so that their mean is unknown.  Start "
                "with data that have ratings, or set global_mean."
            )
        if self.global_mean is not None:
            variance += (mean - self.global_mean) ** 2
            mean = self.global_mean
        variance = variance or 1.0
        variances = np.empty(self.n_own)
        if self.component_variance is not None:
            variances[:] = self.component_variance
        else:  # in the units of the ratings; wide, so that no factor is lost early
            variances[: self.n_components] = math.sqrt(variance)
            variances[self.n_components :] = variance
        prior = _gaussian.GaussianPrior(np.zeros(self.n_own), np.diag(variances))
        noise = variance if self.noise_variance is None else self.noise_variance
        _check_variances(self.component_variance, noise, variance)
        return _ratings.Hyper(
            n_components=self.n_components,
            user_noise=self.user_noise,
            global_mean=float(mean),
            noise_variance=float(noise),
            noise_shape=_ratings.START_SHAPE,
            rating_variance=float(variance),
            item_counts=np.zeros(self.n_features),
            users=prior,
            items=prior,
        )

    def _units(self, rating_variance):
        """Return variances in the units of factors and of biases, up to a factor."""
        units = np.ones(self.n_own)
        units[self.n_components :] = np.clip(
            math.sqrt(rating_variance), 1 / UNITS, UNITS
        )
        return units

    def _first_items(self, means, precision):
        vectors = np.zeros((self.n_features, self.n_own))  # no biases
        vectors[:, : self.n_components] = means
        natural = np.empty((self.n_features, self.n_natural))
        natural[:, : self.n_packed] = _gaussian.packed(precision)
        natural[:, self.n_packed :] = vectors @ precision
        return natural

    def hyper_shapes(self):
        n = self.n_own
        return [()] * 6 + [(self.n_features,)] + [(n,), (n, n)] * 2

    def check(self, globals_, hyper):
        super().check(globals_, hyper)
        settings = self.n_components, self.user_noise
        if (hyper.n_components, hyper.user_noise) != settings:
            raise ValueError(
                "n_components and noise_type must have the same values as in the fit: "
                "set the former values, or call fit with warm_start=False to start a "
                "new model."
            )

    def prepare(self, globals_, hyper):
        return PreparedItems(self.items(globals_), hyper)

    def _solved_items(self, globals_):
        items = self.gaussians(globals_)
        if not np.isfinite(items.table).all():
            _ratings.refuse_precisions(self.dtype)
        return items

    def gaussians(self, natural, with_covariances=False):
        nothing = np.zeros(self.n_natural)
        posterior, n_indefinite = self.posteriors(
            natural, 1.0, nothing, with_covariances
        )
        if n_indefinite:
            _ratings.refuse_precisions(self.dtype)
        return posterior

    def posteriors(self, sums, scales, prior, with_covariances=False):
        """Return posteriors with the natural parameters prior + scales * sums.

        The rows of ``sums`` may have more numbers than ``prior``.  The second value is
        the number of precisions that are not positive definite.
        """
        n_rows = len(sums)
        table = self.room.empty((n_rows, self.width), self.dtype)
        covariances = np.empty((n_rows, self.n_packed)) if with_covariances else None
        means, scalars, n_indefinite = self._solved(
            sums[None],
            table[None],
            prior,
            traced=prior,
            scales=np.array(np.broadcast_to(scales, n_rows), dtype=np.float64),
            covariances=covariances,
        )
        return Gaussians(table, means, *scalars, covariances), n_indefinite

    # -- the step --------------------------------------------------------------------
    def local_step(self, block, prepared, request):
        """Compute the posteriors of a block's users, see `ConjugateModel.local_step`.

        Gradient noise multiplies the terms of ratings for items and for users.  If the
        noise makes a user's precision indefinite, the distance of the noise from 1 is
        halved for this user until the precision is positive.  ``n_iterations`` counts
        the halvings.
        """
        noise = None
        if self.user_noise and request.local_init is not None:
            noise = _ratings.UserNoise(*request.local_init[:, self.n_own :].T)
        inference = RatingInference(
            self, block, prepared, request.powers, request.unit_noise
        )
        users = inference.users(noise)
        return LocalStep.of_rows(
            statistics=(
                inference.statistics(users) if "statistics" in request.want else None
            ),
            row_observed=block.counts.astype(np.float64),
            row_bounds=inference.bounds(users),
            row_scores=inference.scores(users) if "score" in request.want else None,
            n_iterations=users.n_iterations,
            local_parameters=self._local(users) if "local" in request.want else None,
        )

    def _local(self, users):
        """Return the means, with shapes and rates of the noise if users have any."""
        if not self.user_noise:
            return users.posterior.means
        return np.column_stack([users.posterior.means, *users.noise])

    def moments(self, block, prepared, posterior, own_rows=None):
        """Return E[f] and E[f^2] of each rating, where f = u . v + biases."""
        tables = posterior.table, prepared.items.table
        return _kernels.moments(*block[:2], *tables, own_rows, *self.fixed)

    def weighted_moments(self, table, factors):
        """Return the `Moments` of weighted posteriors, from their table."""
        sums = _kernels.table_sums(
            table, np.ascontiguousarray(factors, dtype=np.float64)
        )
        d, n_own = self.n_components, self.n_own
        n_products = d * (d + 1) // 2
        first = sums[n_products : n_products + n_own].copy()
        second = np.empty((n_own, n_own))
        second[:d, :d] = _gaussian.unpacked(sums[:n_products], d)
        if self.biases:
            mixed = sums[n_products + n_own : n_products + 2 * n_own + 1]
            second[d, :d] = second[:d, d] = mixed[:d]
            second[d, d] = mixed[d + 1]
            first[d] = mixed[d]
        return _gaussian.Moments(float(factors.sum()), first, second)

    def _item_moments(self, items):
        return self.weighted_moments(items.table, np.ones(self.n_features))

    def target_parameters(self, statistics, scale, powers, hyper):
        """Return the prior's parameters plus statistics divided by noise variance."""
        target = self.room.empty((self.n_features, self.n_natural), np.float64)
        target[:] = powers.prior * hyper.items.natural()
        for items, rows in statistics.parts:
            _kernels.add_rows(target, items, rows, scale / hyper.noise_variance)
        return target.ravel()

    def natural_parameters(self, globals_):
        """Return the parameters as one vector.

        The elements of a packed precision are the coefficients of -x x^T / 2, where
        off-diagonal elements count twice.  Precision times mean is the
        coefficient of x.
        """
        return globals_.ravel()

    def from_natural_parameters(self, vector):
        return np.reshape(vector, (self.n_features, self.n_natural))

    def step(self, globals_, statistics, scale, powers, rate, hyper):
        """Step the natural parameters; raise if a precision would be indefinite."""
        target = self.target_parameters(statistics, scale, powers, hyper)
        stepped = self.from_natural_parameters(target)
        if np.any(rate != 1):  # in place, because the arrays may be large
            rate = np.reshape(rate, (-1, 1))
            stepped *= rate
            stepped += (1 - rate) * globals_
        self.items(stepped)
        return stepped

    def largest_rate(self, globals_, statistics, scale, powers, hyper):
        """Return infinity, and 0 for items without half of the prior's precision.

        On ratings of films, items that skip a step end in a better bound than items
        whose step is shortened.
        """
        target = self.target_parameters(statistics, scale, powers, hyper)
        half = 0.5 * powers.prior * hyper.items.natural()
        stays = self.is_valid(self.from_natural_parameters(target) - half)
        return np.where(stays, math.inf, 0.0)

    def is_valid(self, globals_):
        return np.linalg.eigvalsh(_gaussian.unpacked(globals_, self.n_own))[:, 0] > 0

    def update_hyper(self, hyper, globals_, statistics, scale, rate, powers):
        counts = hyper.item_counts + statistics.item_counts
        hyper = hyper._replace(item_counts=counts)
        if self.noise_variance is None and statistics.n_entries > 0:
            hyper = self._with_noise(hyper, statistics, rate, hyper.rating_variance)
            if self.user_noise and statistics.users.total > 0:
                best = _ratings.best_shape(
                    statistics.log_noise / statistics.users.total
                )
                shape = (1 - rate) * hyper.noise_shape + rate * best
                hyper = hyper._replace(noise_shape=shape)
        if self.component_variance is None:
            items = self._item_moments(self.items(globals_))
            how = powers.prior, rate, self._units(hyper.rating_variance)
            hyper = hyper._replace(
                users=_gaussian.blended(hyper.users, statistics.users, *how),
                items=_gaussian.blended(hyper.items, items, *how),
            )
        return hyper

    def covariances(self, natural):
        """Return the covariances of users or items from their natural parameters."""
        covariances = self.gaussians(natural, with_covariances=True).covariances
        return _gaussian.unpacked(covariances, self.n_own)

    # -- results of a fit ------------------------------------------------------------
    def users_of_block(self, block, prepared):
        users = self.users(block, prepared)
        starts, items, values = (np.array(part) for part in block)
        entries = UserEntries((starts - starts[0]).astype(np.int64), items, values)
        return (users.parameters(self.room), np.column_stack(users.noise)), entries

    def means(self, natural):
        """Return posterior means of users or items; the last column is the bias."""
        return self.gaussians(natural).means.astype(self.dtype)

    def factors_and_biases(self, means):
        """Return both parts of means; biases are zeros if the model has none."""
        d = self.n_components
        return means[:, :d], means[:, d:].sum(axis=1)

    def vectors_of_means(self, users):
        factors, biases = self.factors_and_biases(users)
        return np.column_stack([factors, biases, np.ones_like(biases)])

    def item_vectors(self, items, global_mean):
        """Return factors, 1 for the user's bias, and the mean plus the item's bias."""
        factors, biases = self.factors_and_biases(items)
        return np.column_stack([factors, np.ones_like(biases), global_mean + biases])

    def expected_of_pairs(self, users, items, posteriors, prepared, with_std=True):
        """Return means and standard deviations of ratings; the latter may be None."""
        natural, noise = posteriors
        distinct, own_rows = np.unique(users, return_inverse=True)
        mean, variance = self.expected(
            _ratings.Ratings(np.arange(len(users) + 1), items.astype(np.int32), None),
            prepared,
            self.gaussians(natural[distinct]),
            own_rows.astype(np.int32),
        )
        mean = mean.astype(self.dtype)
        if not with_std:
            return mean, None
        variance += prepared.hyper.noise_variances(noise[users])
        return mean, np.sqrt(variance).astype(self.dtype)

    # -- objectives ------------------------------------------------------------------
    def log_partition(
        self, inverse_temperatures, hyper, random, priors=None, n_samples=8
    ):
        """Return the exact log C(b) = -log(b) / 2 per rating.

        The score and log C omit the normaliser of the noise, which does not depend on
        b, so that learning the noise variance does not change log C.
        """
        if not (priors is None or isinstance(priors, str)):
            raise ValueError("A matrix factorization has no partition_priors.")
        return -0.5 * np.log(inverse_temperatures)

    def predictive_scores(self, block, prepared):
        """Return the log density of the held-out ratings, and their number.

        The first, third, fifth ... rating of a user is observed, and the others are
        held out.
        """
        observed, rest = block.halves()
        users = self.users(observed, prepared)
        mean, variance = self.expected(rest, prepared, users.posterior)
        # the noise of a user is a precision relative to the common one
        precisions = np.repeat(users.noise.means, rest.counts)
        scale = np.sqrt(variance + prepared.hyper.noise_variance / precisions)
        if self.user_noise:
            freedom = 2 * np.repeat(users.noise.shapes, rest.counts)
            scores = t.logpdf(rest.values - mean, freedom, scale=scale)
        else:
            scores = norm.logpdf(rest.values - mean, scale=scale)
        return rest.per_user(scores), rest.counts

    def users(self, block, prepared):
        users = RatingInference(self, block, prepared, Powers()).users()
        # the estimator stores the parameters, and computes exactly the same posteriors
        parameters = users.parameters(self.room)
        return users._replace(posterior=self.gaussians(parameters))

    def expected(self, block, prepared, posterior, own_rows=None):
        """Return means and variances of ratings, without the noise.

        ``own_rows`` are the rows of ``posterior`` for the rows of the block.
        """
        means, squares = self.moments(block, prepared, posterior, own_rows)
        variances = np.maximum(squares - means**2, 0.0)
        return prepared.hyper.global_mean + means, variances

    def shares(self, prepared, query, item):
        entries, (natural, _) = query.entries, query.posteriors
        values = entries.values.astype(self.dtype)
        ratings = _ratings.Ratings(np.arange(len(values) + 1), entries.items, values)
        sums = RatingInference(self, ratings, prepared, Powers()).own_sums(None)
        # factor of the ratings in the posterior precision of the user
        squares = sums[:, : self.n_packed].sum(axis=0)
        prior = prepared.hyper.users.natural()[: self.n_packed]
        scale = (natural[0, : self.n_packed] - prior) @ squares
        scale /= max(squares @ squares, np.finfo(float).tiny)
        linear = scale * sums[:, self.n_packed : self.n_natural]
        vector = prepared.items.means[item].copy()
        vector[self.n_components :] = 1.0  # multiplies the bias of the user
        covariance = self.covariances(natural)[0].astype(self.dtype).astype(np.float64)
        return linear @ (covariance @ vector)

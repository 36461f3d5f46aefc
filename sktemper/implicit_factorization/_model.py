"""Factorization of implicit feedback as a `ConjugateModel`.

Every pair of a user and an item has a weight w and a target y, and
y ~ N(u . v, sigma^2 / w).  Stored pairs have given weights and targets.  Pairs that are
not stored have the weight w0 and the target 0.  The factors u of users are local
parameters, and the factors v of items are global parameters.  Both have Gaussian
posteriors with full covariances.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._families._factorization import FactorizationModel, Gaussians, PreparedItems
from .._families._gaussian import GaussianPrior, Moments, blended, packed, unpacked
from .._ranking._best import UserEntries
from .._ranking._measures import ranking_measures
from .._simd.room import zeros
from .._utils._budgets import VALUES_AT_ONCE, slices
from .._utils._cache import LastCall
from .._utils._linalg import tiled_matmul
from ..model import LocalStep, Powers, Stopped
from . import _kernels
from ._pairs import Pairs, PairStatistics, read_pairs


# -- classes for the parameters of implicit feedback, and for moments of Gaussians -----
class Hyper(NamedTuple):
    """Priors, the noise variance, and the weight of pairs that are not stored.

    Attributes
    ----------
    n_components : int
        Rank.
    zero_weight : float
        Weight w0 of a pair that is not stored.
    noise_variance : float
    target_square : float
        Mean square of the targets of all pairs, stored or not, at the start.
    is_start : bool
        True before the first step.  The items' moments are then random, and the items'
        prior is not learned from them.
    users, items : GaussianPrior
    """

    n_components: int
    zero_weight: float
    noise_variance: float
    target_square: float
    is_start: bool
    users: GaussianPrior
    items: GaussianPrior


@dataclass(frozen=True)
class Items:
    """Natural parameters of the items' posteriors.

    The parameters of an item are the sum of a common part and its own part.  The common
    part is large compared with the sums over the few pairs of an item.  It is kept once
    in float64, so that the items' own parts lose no precision in float32.

    Attributes
    ----------
    common : ndarray of shape (n_natural,)
        The packed lower triangle of a precision, and the precision times the mean.
    own : ndarray of shape (n_panels, n_items, panel_width)
        The items' own parts, in the layout of ``_loops.h``.
    """

    common: np.ndarray
    own: np.ndarray


# -- held-out score of a model of clicks: nDCG of the held-out items -------------------
#: Number of items at the top of a ranking that the measure considers.
N_PLACES = 100


def held_out_ndcg(users, items, observed, held_out, stop):
    """Return the normalized discounted cumulative gain at 100 of each user.

    Observed items are not ranked.  A user without held-out pairs has 0.

    Parameters
    ----------
    users, items : ndarray of shape (n_rows or n_items, n_components)
        Factors of users and of items.
    observed, held_out : Pairs
        Pairs of the users.
    stop : ndarray of shape (1,)
        Another thread sets it to a nonzero number to stop the call.
    """
    columns = np.ascontiguousarray(items.T)
    gains = np.zeros(len(users))
    for rows in slices(len(users), len(items), VALUES_AT_ONCE):
        if stop[0]:
            raise Stopped
        scores = tiled_matmul(users[rows], columns)
        scores[_entries(observed, rows)] = -np.inf
        relevant = _entries(held_out, rows)
        (values,) = ranking_measures(scores, *relevant, [("ndcg", N_PLACES)])
        gains[rows] = np.nan_to_num(values)
    return gains


def _entries(pairs, rows):
    """Return the row, counted from 0 in a slice of rows, and the item of each pair."""
    starts = pairs.starts[rows.start : rows.stop + 1]
    row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return row, pairs.items[starts[0] : starts[-1]]


# -- starting values of priors and the noise variance ----------------------------------
#: Total weight of the unknown pairs, as a multiple of the number of stored pairs.
ZERO_RATIO = 8.0


def auto_zero_weight(n_stored, n_unknown):
    """Return min(1, 8 nnz / (n m - nnz)), the weight of an unknown pair."""
    if n_unknown <= 0:
        return 1.0
    return min(1.0, ZERO_RATIO * n_stored / n_unknown)


def _totals(model, X, sample_weight):
    """Return the numbers of unknown and of stored pairs, and sums of w and w y^2.

    All four sums use the weights of the users.  Unknown pairs are counted for each user
    and not as all pairs minus stored pairs, because the totals have rounding errors.
    Large weights would magnify these errors.
    """
    totals = np.zeros(4)
    for block, counts in model._weighted_blocks(X, sample_weight):
        by_pair = np.repeat(counts, block.counts)
        weights = by_pair * block.weights
        squares = weights * block.targets**2
        n_unknown = (counts * (model.n_features - block.counts)).sum()
        totals += [n_unknown, by_pair.sum(), weights.sum(), squares.sum()]
    return totals


# -- the local step: posteriors of users, and statistics of their pairs ----------------
class PairInference:
    """Posteriors of the users of a block, and their statistics.

    ``powers.local`` is one number, or one for each user.
    """

    def __init__(self, model, block, prepared, powers):
        self.model, self.block, self.prepared = model, block, prepared
        self.powers, self.hyper = powers, prepared.hyper
        self.local = np.empty(len(block.starts) - 1)
        self.local[:] = powers.local
        # inverse temperature over noise variance
        self.scales = self.local / self.hyper.noise_variance
        # sums of w over all pairs of each user
        n_others = model.n_features - block.counts
        known = block.per_user(block.weights)
        self.n_pairs = known + self.hyper.zero_weight * n_others
        # w - w0 and w y for each stored pair
        squares = block.weights - self.hyper.zero_weight
        linear = block.weights * block.targets
        self.pair_factors = squares.astype(model.dtype), linear.astype(model.dtype)

    def users(self, factors=None):
        """Return the posteriors as `Gaussians`.

        Their field ``moments`` is a sum over users, weighted by ``factors``.
        """
        natural = self.hyper.users.natural()
        sums = self.sums()
        return self.model.gaussians(
            sums,
            self.powers.prior * natural,
            traced=natural[: self.model.n_packed],
            out=sums,
            shared=self.prepared.shared,
            scales=self.scales,
            weights=factors,
        )

    def sums(self):
        """Return the sums over the pairs of each user."""
        pairs = self.block.starts, self.block.items, *self.pair_factors
        return self.model.sums(pairs, self.prepared.items.table)

    def residuals(self, users):
        """Return the sums of w E(y - u . v)^2 over all pairs of each user.

        The sum is quadratic in u, so its mean needs only the moments of u.  The sums
        over the squares of the items are not kept, but are not needed: they are part of
        the precision of u, and the precision times the covariance is the identity.
        """
        block, power = self.block, self.powers.prior
        linear = self.hyper.users.natural()[self.model.n_packed :]
        rest = users.means @ linear - users.prior_traces
        rest = (self.model.n_components + power * rest) / self.scales
        squares = block.per_user(block.weights * block.targets**2)
        return squares - users.products + rest

    def bounds(self, users, residuals):
        hyper = self.hyper
        log_variance = math.log(2 * math.pi * hyper.noise_variance)
        squares = residuals / hyper.noise_variance
        log_likelihood = -0.5 * (self.n_pairs * log_variance + squares)
        linear = hyper.users.natural()[self.model.n_packed :]
        log_prior = hyper.users.log_normaliser() + (
            users.means @ linear - 0.5 * users.prior_traces
        )
        bounds = self.local * log_likelihood + self.powers.prior * log_prior
        return bounds + users.entropies()

    def statistics(self, users, residuals, factors):
        n_items, weighted = self.model.n_features, self.pair_factors
        if (factors != 1.0).any():
            by_pair = np.repeat(factors, self.block.counts)
            weighted = [(by_pair * f).astype(f.dtype) for f in self.pair_factors]
        items, pairs = self.block.by_item(weighted, n_items)
        return PairStatistics(
            ((items, self.model.sums(pairs, users.table)),),
            float(factors @ residuals),
            float(factors @ self.n_pairs),
            users.moments,
            n_items,
            room=self.model.room,
        )


# -- factorization of implicit feedback as a `ConjugateModel` --------------------------
#: Number of items for a user of a block, see `FactorizationModel`.
ITEMS_PER_ROW = 2


class ImplicitFactorizationModel(FactorizationModel):
    """Model of all pairs of users and items by products of Gaussian factors.

    The parameters are those of the estimator, but a ``zero_weight`` of None is computed
    from the first data by `auto_zero_weight`, and ``weight_of`` and ``target_of`` are
    functions of an array of stored numbers.
    """

    scores_rankings = weighs_observations = True
    entry_names = "weight", "target"

    def __init__(
        self,
        n_components,
        n_features,
        *,
        zero_weight=None,
        weight_of=np.ones_like,
        target_of=np.ones_like,
        dtype=np.float64,
        init=None,
    ):
        super().__init__(n_components, n_features, n_components, dtype, init)
        self.zero_weight = zero_weight
        self.weight_of, self.target_of = weight_of, target_of
        self.parameter_dtype = self.dtype
        self._natural_cache = LastCall()
        self.n_local = n_components
        self.panel_width = _kernels.panel_width(self.dtype)
        self.n_square, self.n_panels = _kernels.panels(n_components, self.dtype)
        at = self.n_square * self.panel_width
        self.places = n_components, at, at
        self.table_shape = self.n_panels, n_features, self.panel_width
        self.shared_shape = (self.n_packed,)
        self.user_widths = (n_components,)
        self.vector_width = n_components
        row = self.n_panels * self.panel_width * self.dtype.itemsize
        self.block_size = self._rows_of_block(row, ITEMS_PER_ROW)

    # -- data ------------------------------------------------------------------------
    def take(self, X, rows):
        return read_pairs(X, rows, self.weight_of, self.target_of)

    # -- the state of a fit ----------------------------------------------------------
    def initial_hyper(self, X, sample_weight=None):
        """Return the initial `Hyper`."""
        n_unknown, n_stored, weight, squares = _totals(self, X, sample_weight)
        if n_stored == 0:
            raise ValueError(
                "X has no stored pairs: the first data of a fit need at least one "
                "entry that is not 0."
            )
        zero_weight = self.zero_weight
        if zero_weight is None:
            zero_weight = auto_zero_weight(n_stored, n_unknown)
        square = squares / (weight + zero_weight * n_unknown) or 1.0
        d = self.n_components
        prior = GaussianPrior(np.zeros(d), math.sqrt(square) * np.eye(d))
        return Hyper(
            n_components=d,
            zero_weight=float(zero_weight),
            noise_variance=float(square),
            target_square=float(square),
            is_start=True,
            users=prior,
            items=prior,
        )

    def _first_items(self, means, precision):
        natural = np.zeros((self.n_features, self.n_natural))
        natural[:, self.n_packed :] = means @ precision
        items = self.from_natural_parameters(natural)
        common = np.concatenate([packed(precision), np.zeros(self.n_components)])
        return Items(common, items.own.astype(self.dtype))

    def hyper_shapes(self):
        mean = (self.n_components,)
        return [()] * 5 + 2 * [mean, 2 * mean]

    def global_shapes(self, globals_):
        return [(self.n_natural,), self.table_shape]

    def prepare(self, globals_, hyper):
        """Return the items' moments, and the term of pairs that are not stored."""
        items = self.items(globals_)
        shared = hyper.zero_weight * packed(items.moments.second)
        return PreparedItems(items, hyper, shared)

    def _solved_items(self, globals_):
        own = np.require(globals_.own, self.dtype, "CA")
        table = self.room.empty(own.shape, self.dtype)
        no_traces = np.zeros(self.n_packed)  # the traces are not used
        return self.gaussians(own, globals_.common, traced=no_traces, out=table)

    def gaussians(self, sums, prior, *, out, weights=None, **options):
        """Return the posteriors with parameters prior + scales (shared + sums).

        Raise if a precision is not positive definite.  The table of the moments is
        written to ``out``, which may be ``sums``.  The options are those of the kernel.
        """
        total = np.zeros(self.n_natural)
        means, scalars, n_indefinite = self._solved(
            sums, out, prior, weights=weights, total=total, **options
        )
        self._check_solved(n_indefinite)
        weight = len(means) if weights is None else weights.sum()
        first, second = total[self.n_packed :], unpacked(total, self.n_own)
        moments = Moments(float(weight), first, second)
        return Gaussians(out, means, *scalars, moments=moments)

    # -- the step --------------------------------------------------------------------
    def local_step(self, block, prepared, request):
        inference = PairInference(self, block, prepared, request.powers)
        factors = request.factors(len(block.counts))
        users = inference.users(factors)
        residuals = inference.residuals(users)
        statistics = row_scores = None
        if "statistics" in request.want:
            statistics = inference.statistics(users, residuals, factors)
        if "score" in request.want:
            row_scores = -0.5 * residuals / prepared.hyper.noise_variance
        return LocalStep.of_rows(
            statistics=statistics,
            row_observed=inference.n_pairs,
            row_bounds=inference.bounds(users, residuals),
            row_scores=row_scores,
            n_iterations=len(block.counts),
            local_parameters=users.means if "local" in request.want else None,
        )

    def factors(self, block, prepared):
        """Return the means of the users of a block.

        They have the same bits as those of `local_step`.  A user without pairs gets the
        mean of the prior, because the missing pairs of such a user carry no
        information.
        """
        hyper = prepared.hyper
        means = np.empty((len(block.starts) - 1, self.n_components))
        n_indefinite = _kernels.user_means(
            *block,
            prepared.items.table,
            self.places,
            self._natural_cache.result(GaussianPrior.natural, hyper.users),
            prepared.shared,
            hyper.zero_weight,
            1.0 / hyper.noise_variance,
            self.stop,
            means,
            self.room,
        )
        self._check_solved(n_indefinite)
        is_empty = block.starts[1:] == block.starts[:-1]
        if is_empty.any():
            means[is_empty] = hyper.users.mean
        return means

    def users_of_block(self, block, prepared):
        starts = (block.starts - block.starts[0]).astype(np.int64, copy=False)
        values = np.empty((len(block.items), 2), self.dtype)
        values[:, 0], values[:, 1] = block.weights, block.targets
        means = self.factors(block, prepared).astype(self.dtype, copy=False)
        return (means,), UserEntries(starts, np.array(block.items), values)

    def _check_solved(self, n_indefinite):
        """Raise if a kernel stopped, or if a precision is not positive definite."""
        if n_indefinite < 0:
            raise Stopped
        if n_indefinite:
            raise ValueError(
                "No positive precision is left after rounding: the weights of the "
                f"pairs differ by too much for {self.dtype}. Pass X as float64, or "
                "pass weights with a mean of about 1."
            )

    def sums(self, pairs, table):
        """Return sums over pairs, which are the first arguments of the kernel."""
        return _kernels.pair_sums(*pairs, table, self.n_square, self.stop, self.room)

    def _common_target(self, statistics, scale, powers, hyper):
        """Return the part of the target that all items share."""
        common = powers.prior * hyper.items.natural()
        known = scale / hyper.noise_variance * hyper.zero_weight
        common[: self.n_packed] += known * packed(statistics.users.second)
        return common

    def target_parameters(self, statistics, scale, powers, hyper):
        own = zeros(self.room, self.table_shape, self.dtype)
        for items, sums in statistics.parts:
            _kernels.add_sums(own, sums, items, scale / hyper.noise_variance)
        common = self._common_target(statistics, scale, powers, hyper)
        return self.natural_parameters(Items(common, own))

    def natural_parameters(self, globals_):
        """Return the parameters as one vector, item after item.

        The elements of a packed precision are the coefficients of -x x^T / 2, where
        off-diagonal elements count twice.  Precision times mean is the coefficient of
        x.
        """
        rows = globals_.own.swapaxes(0, 1).reshape(self.n_features, -1)
        at = self.n_square * self.panel_width
        rows = np.hstack(
            [rows[:, : self.n_packed], rows[:, at : at + self.n_components]]
        )
        return (globals_.common + rows).ravel()

    def from_natural_parameters(self, vector):
        rows = np.reshape(vector, (self.n_features, self.n_natural))
        width, at = self.panel_width, self.n_square * self.panel_width
        own = np.zeros((self.n_features, self.n_panels * width))
        own[:, : self.n_packed] = rows[:, : self.n_packed]
        own[:, at : at + self.n_components] = rows[:, self.n_packed :]
        own = own.reshape(self.n_features, self.n_panels, width).swapaxes(0, 1)
        return Items(np.zeros(self.n_natural), np.ascontiguousarray(own))

    def step(self, globals_, statistics, scale, powers, rate, hyper):
        """Step the natural parameters; raise if the items would have no posteriors."""
        common = self._common_target(statistics, scale, powers, hyper)
        factor = rate * scale / hyper.noise_variance
        own = self.room.empty(globals_.own.shape, self.dtype)
        share = self.dtype.type(1 - rate)
        np.multiply(globals_.own, share, out=own, casting="same_kind")
        for items, sums in statistics.parts:
            _kernels.add_sums(own, sums, items, factor, self.stop)
        stepped = Items((1 - rate) * globals_.common + rate * common, own)
        self.items(stepped)
        return stepped

    def update_hyper(self, hyper, globals_, statistics, scale, rate, powers):
        """Step the noise variance and the priors toward their optimum."""
        hyper = self._with_noise(hyper, statistics, rate, hyper.target_square)
        users = blended(hyper.users, statistics.users, powers.prior, rate)
        hyper = hyper._replace(users=users)
        if not hyper.is_start:
            moments = self.items(globals_).moments
            items = blended(hyper.items, moments, powers.prior, rate)
            hyper = hyper._replace(items=items)
        return hyper._replace(is_start=False)

    def covariances(self, globals_):
        """Return the items' covariances in float64.

        E[x x^T] - E[x] E[x]^T would cancel digits of a table in float32.
        """
        natural = np.reshape(self.natural_parameters(globals_), (self.n_features, -1))
        found = np.linalg.inv(unpacked(natural, self.n_components))
        return unpacked(found[:, *np.tril_indices(self.n_components)], len(found[0]))

    def shares(self, prepared, query, item):
        hyper, (starts, items, values) = prepared.hyper, query.entries
        weights, targets = np.ascontiguousarray(values.T, dtype=np.float64)
        pairs = Pairs(starts.astype(np.intp), items, weights, targets)
        sums = PairInference(self, pairs, prepared, Powers()).sums()
        squares = sums.swapaxes(0, 1).reshape(1, -1)[0, : self.n_packed]
        squares = (squares + prepared.shared) / hyper.noise_variance
        natural = hyper.users.natural()[: self.n_packed] + squares
        precision = unpacked(natural, self.n_components)
        direction = np.linalg.solve(precision, prepared.items.means[item])
        products = prepared.items.means[items] @ direction
        return weights * targets / hyper.noise_variance * products

    # -- objectives ------------------------------------------------------------------
    def _item_moments(self, items):
        return items.moments

    def predictive_scores(self, block, prepared):
        """Return the nDCG at 100 of the held-out items of each user, and a weight.

        The first, third, fifth ... pair of a user is observed, and the others are held
        out.  The weight is 1 if a user has held-out pairs, and 0 otherwise.
        """
        observed, rest = block.halves()
        gains = held_out_ndcg(
            self.factors(observed, prepared).astype(self.dtype),
            prepared.items.means.astype(self.dtype),
            observed,
            rest,
            self.stop,
        )
        return gains, (rest.counts > 0).astype(np.float64)

"""Foundations of factorizations: entries of users, Gaussian vectors, and statistics."""

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from .._contract import ConjugateModel, Powers, Stopped, all_finite, tenth_of_rows
from .._simd.room import Room
from .._utils._budgets import slices
from .._utils._cache import LastCall
from ._gaussian import Moments, packed_fisher_product
from ._kernels import gaussians


# -- entries of a block of users, and their statistics ---------------------------------
class EntriesMixin:
    """Mixin for a named tuple of the entries of a block of users.

    Its first fields are ``starts``, where user r has the entries ``starts[r]`` to
    ``starts[r + 1]``, and ``items``.
    """

    __slots__ = ()

    @classmethod
    def of(cls, starts, items, *values):
        """Return entries whose starts and items have the types of the kernels."""
        starts = starts.astype(np.intp, copy=False)
        return cls(starts, np.ascontiguousarray(items, dtype=np.int32), *values)

    @property
    def counts(self):
        """Number of entries of each user, ndarray of shape (n_rows,)."""
        return np.diff(self.starts)

    def users(self):
        return np.repeat(np.arange(len(self.starts) - 1), self.counts)

    def per_user(self, values):
        sums = np.bincount(self.users(), values, minlength=len(self.starts) - 1)
        return sums.astype(np.float64, copy=False)  # int if there are no entries

    def select(self, mask):
        counts = np.bincount(self.users()[mask], minlength=len(self.counts))
        starts = np.concatenate([[0], np.cumsum(counts)])
        return type(self)(starts, *(part[mask] for part in self[1:]))

    def halves(self):
        """Return the first, third, fifth ... entries of the users, and the others."""
        number = np.arange(len(self.items)) - self.starts[self.users()]
        held_out = number % 2 == 1
        return self.select(~held_out), self.select(held_out)


@dataclass(frozen=True)
class EntryStatistics:
    """Sums over the entries of users, multiplied by weight and power.

    Attributes
    ----------
    parts : tuple
        Pairs of items and sums over the entries of these items.  An item may occur in
        several pairs.
    residual, n_entries : float
        Sum of squared residuals, weighted by the precisions of the entries, and number
        or total weight of the entries.
    users : Moments
        Weighted sums of the moments of the users' posteriors.
    room : Room or None
        Memory that is reused for sums of statistics.
    """

    parts: tuple
    residual: float
    n_entries: float
    users: Moments
    room: Room | None = field(default=None, kw_only=True)

    def __add__(self, other):
        return replace(
            self,
            parts=self.parts + other.parts,
            residual=self.residual + other.residual,
            n_entries=self.n_entries + other.n_entries,
            users=self.users.plus(other.users),
        )

    def scaled(self, factor):
        return replace(
            self,
            parts=tuple(
                (items, (factor * sums).astype(sums.dtype, copy=False))
                for items, sums in self.parts
            ),
            residual=factor * self.residual,
            n_entries=factor * self.n_entries,
            users=self.users.scaled(factor),
        )


# -- Gaussian posteriors ---------------------------------------------------------------
#: Approximate number of multiplications, and least number of Gaussians, between two
#: checks for Ctrl-C in computations of the calling thread.
COST_AT_ONCE, FEWEST_AT_ONCE = 2**24, 256


class Gaussians(NamedTuple):
    """Posteriors of users or items.

    Attributes
    ----------
    table : ndarray
        Moments of the posteriors in the layout of the kernels, see ``_loops.h``.
    means : ndarray of shape (n_rows, n_own)
    log_determinants : ndarray of shape (n_rows,)
        Log determinants of the precisions; NaN for indefinite precisions.
    prior_traces : ndarray of shape (n_rows,)
        trace(prior precision E[x x^T]).
    products, prior_products : ndarray of shape (n_rows,)
        Inner products of E[x] with the linear part of the sums from which the posterior
        is computed, and with the linear parameters of the prior.
    covariances : ndarray of shape (n_rows, n_own * (n_own + 1) / 2) or None
        Packed lower triangles.
    moments : Moments or None
        Weighted sums of the moments.
    """

    table: np.ndarray
    means: np.ndarray
    log_determinants: np.ndarray
    prior_traces: np.ndarray
    products: np.ndarray
    prior_products: np.ndarray | None = None
    covariances: np.ndarray | None = None
    moments: Moments | None = None

    def replaced(self, rows, others):
        """Return posteriors of which some are replaced; both have only arrays.

        Arrays may be changed in place.
        """
        if len(rows) == len(self.means):
            return others
        for array, other in zip(self, others, strict=True):
            if array is not None:
                array[rows] = other
        return self

    def entropies(self):
        """Return the entropy of each posterior, ndarray of shape (n_rows,)."""
        constant = self.means.shape[1] * (1 + math.log(2 * math.pi))
        return 0.5 * (constant - self.log_determinants)


class PreparedItems(NamedTuple):
    """Moments of the items and the priors, which local steps need.

    Attributes
    ----------
    items : Gaussians
    hyper : NamedTuple
        Priors and variances of the model.
    shared : ndarray of shape (n_packed,) or None
        A term of the precision of every user.
    """

    items: Gaussians
    hyper: NamedTuple
    shared: np.ndarray | None = None


# -- factorizations as a `ConjugateModel` ----------------------------------------------
#: Initial variance of the items' means, and initial posterior variance about the means,
#: relative to the variance of the prior.
START_SPREAD, START_VARIANCE = 0.1, 0.01
#: Limits of the number of users in a block: the maximum size of their table in bytes,
#: and the minimum and maximum number of users.
BLOCK_BYTES, FEWEST_ROWS, MOST_ROWS = 2**27, 256, 4096
#: The least learned noise variance, as a share of the scale of the data.  With less,
#: rounding errors of the tables can make precisions indefinite.
LEAST_NOISE = {"float32": 1e-4, "float64": 1e-6}


class FactorizationModel(ConjugateModel):
    """Entries of users and items as products of Gaussian vectors.

    The vectors of users are local parameters, and those of items, of length ``n_own``,
    are global parameters.  A model defines ``_solved_items``, which returns the items'
    `Gaussians` or raises, ``_item_moments``, ``_first_items``, and ``covariances`` in
    float64.  The kernels compute with numbers of the type ``dtype``, and the table of
    the items has the shape ``table_shape``.  For the users of a fit, whose parameters
    are arrays with the widths ``user_widths``, and whose entries consist of
    ``entry_names``, it defines ``users_of_block(block, prepared)``, which returns a
    tuple of these arrays and `UserEntries`; and ``shares(prepared, query, item)``: the
    contribution of each entry of one user to the score of an item, see `QueryUsers`.  A
    score is a product of two vectors of length ``vector_width``.
    """

    watches_bound = True
    #: Shape of the term of the precision of every user.
    shared_shape = ()

    def __init__(self, n_components, n_features, n_own, dtype, init):
        super().__init__()
        self.n_components = n_components
        self.n_features = n_features
        self.n_own = n_own
        self.dtype = np.dtype(dtype)
        self.init = init
        self._item_cache, self.room = LastCall(), Room()
        self.n_packed = n_own * (n_own + 1) // 2
        self.n_natural = self.n_packed + n_own

    def _rows_of_block(self, bytes_of_row, items_per_row, least=1):
        """Return the number of users in a block, a power of 2.

        A block has one user for every ``items_per_row`` items.  In smaller blocks, the
        sums over items would take most of the time.
        """
        wanted = min(self.n_features // items_per_row, BLOCK_BYTES // bytes_of_row)
        rows = min(max(wanted, least, FEWEST_ROWS), MOST_ROWS)
        return 1 << (rows.bit_length() - 1)

    def auto_batch_size(self, X, total):
        """Return a tenth of the rows, but 100 to 10,000 rows; for a stream, 1,000."""
        return tenth_of_rows(total, 100, 10_000)

    def _weighted_blocks(self, X, sample_weight):
        """Yield the blocks of data, and the weights of their users."""
        for rows in slices(X.shape[0], 1, self.block_size):
            block = self.take(X, rows)
            ones = np.ones(len(block.counts))
            yield block, ones if sample_weight is None else sample_weight[rows]

    def initial_globals(self, X, random, hyper=None, sample_weight=None):
        """Return small draws from the prior, or ``init``."""
        hyper = self.initial_hyper(X) if hyper is None else hyper
        variances = np.diag(hyper.items.covariance)
        if self.init is None:
            shape = self.n_features, self.n_components
            means = math.sqrt(START_SPREAD * variances[0]) * random.normal(size=shape)
        else:
            means = self.init.T
        return self._first_items(means, np.diag(1 / (START_VARIANCE * variances)))

    def _solved(self, sums, table, prior, **options):
        """Write the moments of Gaussians to a table in panels, see `gaussians`.

        Returns the means, the scalars, and the number of precisions that are not
        positive definite.
        """
        n_rows, n_indefinite = sums.shape[1], 0
        means, scalars = np.empty((n_rows, self.n_own)), np.empty((4, n_rows))
        chunk_size = max(COST_AT_ONCE // self.n_own**3 // 8 * 8, FEWEST_AT_ONCE)
        for start in range(0, n_rows, chunk_size):
            found = gaussians(
                sums,
                table,
                prior,
                self.places,
                self.stop,
                means,
                first=start,
                last=min(start + chunk_size, n_rows),
                scalars=scalars,
                **options,
            )
            if found < 0:
                raise Stopped
            n_indefinite += found
        return means, scalars, n_indefinite

    def items(self, globals_):
        """Return the items' posteriors; raise if a precision is not positive definite.

        The last result is cached, because each step computes it as a check.
        """
        return self._item_cache.result(self._solved_items, globals_)

    def is_finite(self, globals_, hyper, prepared):
        return all_finite(self.items(globals_), hyper)

    def fits(self, prepared):
        """Return whether prepared values are finite and have the right shapes."""
        items, shared = prepared.items, prepared.shared
        shapes = items.table.shape, items.means.shape, np.shape(shared)
        expected = self.table_shape, (self.n_features, self.n_own), self.shared_shape
        return (
            shapes == expected
            and items.table.dtype == self.dtype
            and all_finite(items.table, items.means, shared, prepared.hyper)
        )

    def fisher_product(self, globals_, vector):
        means, covariances = self.items(globals_).means, self.covariances(globals_)
        changes = np.reshape(vector, (self.n_features, -1))
        return packed_fisher_product(means, covariances, changes).ravel()

    def _with_noise(self, hyper, statistics, rate, scale):
        """Step the noise variance toward its optimum."""
        if not statistics.n_entries > 0:
            return hyper
        best = statistics.residual / statistics.n_entries
        noise = (1 - rate) * hyper.noise_variance + rate * best
        least = LEAST_NOISE[self.dtype.name] * scale
        return hyper._replace(noise_variance=max(noise, least))

    def global_bound(self, globals_, hyper, powers=Powers()):  # noqa: B008
        """Return ``powers.prior`` E log p(items) - E log q(items)."""
        items = self.items(globals_)
        moments = self._item_moments(items)
        log_prior = hyper.items.log_densities(moments, self.n_features)
        return float(powers.prior * log_prior + items.entropies().sum())

"""Ratings of a block of users, and their statistics."""

import math
from collections import namedtuple
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import brentq
from scipy.special import gammaln, psi

from .._families._factorization import EntriesMixin, EntryStatistics
from .._families._gaussian import GaussianPrior
from .._simd.room import zeros
from .._utils._linalg import canonical, sparse_rows
from . import _kernels

# -- gamma posteriors of the noise precisions of users ---------------------------------
#: Initial shape of the Gamma prior of users' precisions, and range of learned shapes.
START_SHAPE, SHAPES = 5.0, (1.5, 1e4)
#: Shape and rate of the posterior of a precision that is known to be 1.
CERTAIN = 1e100


class UserNoise(NamedTuple):
    """Gamma posteriors of the users' precisions t, relative to the common precision.

    Attributes
    ----------
    shapes, rates : ndarray of shape (n_rows,)
    """

    shapes: np.ndarray
    rates: np.ndarray

    @property
    def means(self):
        """E[t], ndarray of shape (n_rows,)."""
        return self.shapes / self.rates

    def inverse_means(self):
        """Return E[1 / t], which exists for shapes above 1."""
        return self.rates / (self.shapes - 1)

    def log_means(self):
        return psi(self.shapes) - np.log(self.rates)

    def bounds(self, shape, power):
        """Return power E log p(t) - E log q(t), where p is Gamma(shape, shape)."""
        known = shape * math.log(shape) - gammaln(shape)
        log_prior = known + (shape - 1) * self.log_means() - shape * self.means
        shapes, rates = self
        entropies = (
            shapes - np.log(rates) + gammaln(shapes) + (1 - shapes) * psi(shapes)
        )
        return power * log_prior + entropies


def best_shape(log_noise):
    """Return the shape of Gamma(shape, shape) that fits E[log t - t] best."""

    def slope(log_shape):
        return log_shape - psi(math.exp(log_shape)) + 1 + log_noise

    low, high = np.log(SHAPES)
    if slope(high) > 0:
        return SHAPES[1]
    return SHAPES[0] if slope(low) < 0 else math.exp(brentq(slope, low, high))


# -- errors ----------------------------------------------------------------------------
def refuse_precisions(dtype, items=None):
    """Raise an error about a precision that is not positive definite.

    It is the precision of a user if the moments of items are given.
    """
    found = f"A precision is not positive definite after rounding to {dtype}"
    if items is not None:
        tops = np.abs(items).max(axis=1)
        found = (
            f"{found}. It is of a user; item {tops.argmax()} has moments of "
            f"{tops.max():.3g}"
        )
    raise ValueError(
        f"{found}: noise_variance is too small, or negative gradient noise has moved "
        "precisions of items toward 0. Set noise_variance or effective_batch_size to a "
        "larger value, set the distribution of the noise to 'dirichlet', or pass X as "
        "float64."
    )


# -- priors and variances --------------------------------------------------------------
class Hyper(NamedTuple):
    """Priors and variances.

    Attributes
    ----------
    n_components : int
        Rank.  A vector has one more element if there are biases.
    user_noise : bool
        Whether each user has a separate noise variance.
    global_mean, noise_variance : float
    noise_shape : float
        Shape of the Gamma distribution, with mean 1, of the users' noise precisions.
    rating_variance : float
        Variance of the ratings at the start.
    item_counts : ndarray of shape (n_items,)
        Number of ratings of each item in all steps.  A rating counts once for each step
        that used it.
    users, items : GaussianPrior
    """

    n_components: int
    user_noise: bool
    global_mean: float
    noise_variance: float
    noise_shape: float
    rating_variance: float
    item_counts: np.ndarray
    users: GaussianPrior
    items: GaussianPrior

    def noise_variances(self, noise):
        """Return users' expected noise variances, for shapes and rates of the noise."""
        return self.noise_variance * UserNoise(*noise.T).inverse_means()


# -- ratings of a block of users, and their statistics ---------------------------------
#: Maximum number of blocks whose statistics are kept before they are summed, and their
#: maximum size in bytes.  At least `FEWEST_PARTS` are kept.
MOST_PARTS, FEWEST_PARTS, PART_BYTES = 8, 2, 2**30


class Ratings(EntriesMixin, namedtuple("Ratings", ("starts", "items", "values"))):
    """The ratings of a block of users.

    Attributes
    ----------
    starts : ndarray of shape (n_rows + 1,)
    items : ndarray of int32 of shape (n_ratings,)
    values : ndarray of shape (n_ratings,)
    """

    __slots__ = ()
    observed = EntriesMixin.counts


@dataclass(frozen=True)
class RatingStatistics(EntryStatistics):
    """Sums over ratings, multiplied by weight and power.

    Row i of ``parts`` has the sums over the ratings of item i, see
    `_kernels.other_sums`.  ``residual`` is the sum of t E(y - f)^2, where t is the
    precision of the user, and f is the rating without noise.  ``users`` are weighted by
    the mean weight of the user's ratings.  Users without ratings have weight 0: their
    posterior is the prior.

    Attributes
    ----------
    item_counts : ndarray of shape (n_items,)
        Number or total weight of the ratings of each item.  `scaled` does not change
        it.
    log_noise : float
        Sum over the users of E[log t - t].
    """

    item_counts: np.ndarray
    log_noise: float

    def __add__(self, other):
        total = replace(
            super().__add__(other),
            item_counts=self.item_counts + other.item_counts,
            log_noise=self.log_noise + other.log_noise,
        )
        n_bytes = max(rows.nbytes for _, rows in total.parts)
        most = max(min(MOST_PARTS, PART_BYTES // max(n_bytes, 1)), FEWEST_PARTS)
        return total._merged() if len(total.parts) > most else total

    def scaled(self, factor):
        return replace(super().scaled(factor), log_noise=factor * self.log_noise)

    def _merged(self):
        known = np.zeros(len(self.item_counts), dtype=bool)
        for items, _ in self.parts:
            known[items] = True
        items, places = np.flatnonzero(known), np.cumsum(known, dtype=np.int32) - 1
        shape = len(items), self.parts[0][1].shape[1]
        rows = zeros(self.room, shape, np.float64)
        for some, part in self.parts:
            _kernels.add_rows(rows, places[some], part, 1.0)
        return replace(self, parts=((items.astype(np.int32), rows),))


def ratings_of(X, rows, n_features, dtype):
    """Return ``X[rows]`` as `Ratings`, from a sparse matrix or an array with NaN."""
    if sparse.issparse(X):
        block = canonical(sparse_rows(X, rows), dtype)
        starts, items, values = block.indptr, block.indices, block.data
        if len(items) and not 0 <= items.min() <= items.max() < n_features:
            raise ValueError(
                f"X has column indices outside of its {n_features} columns: "
                "it was built with a wrong shape."
            )
    else:
        dense = np.asarray(X[rows])
        known = ~np.isnan(dense)
        items, values = np.nonzero(known)[1], dense[known]
        starts = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    return Ratings.of(starts, items, np.ascontiguousarray(values, dtype=dtype))

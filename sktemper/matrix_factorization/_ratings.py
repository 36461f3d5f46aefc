"""Ratings of a block of users, and their statistics."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from .._expfam import Moments
from .._linalg import sparse_rows
from .._simd.room import zeros
from . import _kernels

#: Maximum number of blocks whose statistics are kept before they are summed, and their
#: maximum size in bytes.  At least `FEWEST_PARTS` are kept.
MOST_PARTS, FEWEST_PARTS, PART_BYTES = 8, 2, 2**30


class Ratings(NamedTuple):
    """The ratings of a block of users.

    Attributes
    ----------
    starts : ndarray of shape (n_rows + 1,)
        User r has the ratings ``starts[r]`` to ``starts[r + 1]``.
    items : ndarray of int32 of shape (n_ratings,)
    values : ndarray of shape (n_ratings,)
    """

    starts: np.ndarray
    items: np.ndarray
    values: np.ndarray

    @property
    def counts(self):
        """Number of ratings of each user, ndarray of shape (n_rows,)."""
        return np.diff(self.starts)

    def per_user(self, values):
        """Return the sums over each user's ratings."""
        sums = np.bincount(self.users(), values, minlength=len(self.starts) - 1)
        return sums.astype(np.float64, copy=False)  # int if there are no ratings

    def users(self):
        """Return the row of each rating."""
        return np.repeat(np.arange(len(self.starts) - 1), self.counts)

    def rows(self, rows):
        """Return the user and the item of each rating in a slice of rows.

        The users are numbered from 0 within the slice.
        """
        starts = self.starts[rows.start : rows.stop + 1]
        users = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return users, self.items[starts[0] : starts[-1]]

    def part(self, chosen):
        """Return some of the ratings, with all users."""
        users = self.users()
        counts = np.bincount(users[chosen], minlength=len(self.counts))
        starts = np.concatenate([[0], np.cumsum(counts)])
        return Ratings(starts, self.items[chosen], self.values[chosen])


@dataclass(frozen=True)
class RatingStatistics:
    """Sums over ratings, multiplied by weight and power.

    Attributes
    ----------
    parts : tuple
        Pairs (items, rows).  Row i has the sums over the ratings of item i, see
        `_kernels.other_sums`.  An item may occur in several pairs.
    residual, n_ratings : float
        The sum of t E(y - f)^2, and the number of ratings.  Here t is the precision of
        the user, and f is the rating without noise.
    users : Moments
        Moments of the users' posteriors, weighted by the mean weight of the user's
        ratings.  Users without ratings have weight 0: their posterior is the prior.
    item_counts : ndarray of shape (n_items,)
        Number or total weight of the ratings of each item.  `scaled` does not change
        it.
    log_noise : float
        Sum over the users of E[log t - t].
    room : Room or None
        Memory that is reused for sums of statistics.
    """

    parts: tuple
    residual: float
    n_ratings: float
    users: Moments
    item_counts: np.ndarray
    log_noise: float = 0.0
    room: object = None

    def __add__(self, other):
        total = RatingStatistics(
            self.parts + other.parts,
            self.residual + other.residual,
            self.n_ratings + other.n_ratings,
            self.users.plus(other.users),
            self.item_counts + other.item_counts,
            self.log_noise + other.log_noise,
            self.room,
        )
        return total._merged() if total._has_many_parts() else total

    def _has_many_parts(self):
        n_bytes = max(rows.nbytes for _, rows in self.parts)
        most = max(min(MOST_PARTS, PART_BYTES // max(n_bytes, 1)), FEWEST_PARTS)
        return len(self.parts) > most

    def _merged(self):
        known = np.zeros(len(self.item_counts), dtype=bool)
        for items, _ in self.parts:
            known[items] = True
        items, places = np.flatnonzero(known).astype(np.int32), np.cumsum(known) - 1
        shape = len(items), self.parts[0][1].shape[1]
        rows = zeros(self.room, shape, np.float64)
        _kernels.add_rows(rows, self.parts, 1.0, places.astype(np.int32))
        return replace(self, parts=((items, rows),))

    def scaled(self, factor):
        """Return ``factor`` times the statistics."""
        return RatingStatistics(
            tuple((items, factor * rows) for items, rows in self.parts),
            factor * self.residual,
            factor * self.n_ratings,
            self.users.scaled(factor),
            self.item_counts,
            factor * self.log_noise,
            self.room,
        )


def ratings_of(X, rows, n_features, dtype):
    """Return ``X[rows]`` as `Ratings`, from a sparse matrix or an array with NaN."""
    if sparse.issparse(X):
        block = sparse_rows(X, rows)
        if not block.has_canonical_format:
            block = block.astype(dtype)  # a sum may not fit the dtype of X
            block.sum_duplicates()
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
    return Ratings(
        starts.astype(np.intp, copy=False),
        np.ascontiguousarray(items, dtype=np.int32),
        np.ascontiguousarray(values, dtype=dtype),
    )

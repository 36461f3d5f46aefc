"""The best items of many users, in pieces between which Ctrl-C is seen."""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from .._simd.special import multiply, packed_columns
from . import _kernels

__all__ = ["Rated", "best_items", "products"]

#: Users of a piece, and terms of their products: some dozen milliseconds.
MOST_USERS, MOST_TERMS = 384, 2**32
#: Scores that are held at a time, where they are more than products.
MOST_SCORES = 2**22


class Rated(NamedTuple):
    """What users have rated, or had otherwise.

    Attributes
    ----------
    starts : ndarray of int64 of shape (n_users + 1,)
        User r has the entries ``starts[r]`` to ``starts[r + 1]``.
    items : ndarray of int32 of shape (n_entries,)
        Increasing in each user.
    values : ndarray of shape (n_entries,)
    """

    starts: np.ndarray
    items: np.ndarray
    values: np.ndarray

    def of(self, users):
        """Return what some users have; ``users`` are a slice or places."""
        if isinstance(users, slice):
            first, end, _ = users.indices(len(self.starts) - 1)
            starts = self.starts[first : end + 1]
            entries = slice(starts[0], starts[-1])
            return Rated(starts - starts[0], self.items[entries], self.values[entries])
        first, counts = self.starts[users], np.diff(self.starts)[users]
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        entries = np.arange(starts[-1]) + np.repeat(first - starts[:-1], counts)
        return Rated(starts, self.items[entries], self.values[entries])

    def check(self, n_users, n_items):
        """Raise unless this is of so many users and items: kernels trust it."""
        starts, items, values = self
        if (starts.dtype, items.dtype) != (np.int64, np.int32):
            raise ValueError("what users have rated is of the wrong types")
        if len(starts) != n_users + 1 or len(items) != len(values):
            raise ValueError("what users have rated has the wrong length")
        if starts[0] != 0 or starts[-1] != len(items) or (np.diff(starts) < 0).any():
            raise ValueError("what users have rated has no order")
        if len(items) and not 0 <= items.min() <= items.max() < n_items:
            raise ValueError("what users have rated is outside of the items")

    @classmethod
    def joined(cls, parts):
        """Return that of all parts, one after another."""
        parts = list(parts)
        counts = np.concatenate([np.diff(part.starts) for part in parts])
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        items, values = (
            np.concatenate([part[number] for part in parts]) for number in (1, 2)
        )
        return cls(starts, items.astype(np.int32, copy=False), values)


def best_items(users, items, n_best, *, seen=None, barred=None, rescore=None, n_jobs=1):
    """Find the items of which the product with each user is largest.

    The same bits whoever else is asked of, in whatever pieces, by however many threads;
    among equals the first.

    Parameters
    ----------
    users : ndarray of shape (n_users, width)
    items : ndarray of shape (n_items, width)
        Of the same dtype; each row contiguous.
    n_best : int
        At most ``n_items``.
    seen : Rated or None
        What each user is not to have.
    barred : ndarray of bool of shape (n_items,) or None
        What nobody is to have.
    rescore : callable or None
        ``rescore(products, rows)`` returns what takes the place of the products of
        some users, rows being a slice.
    n_jobs : int

    Returns
    -------
    best : ndarray of int64 of shape (n_users, n_best)
        -1 where nothing is left.
    scores : ndarray of shape (n_users, n_best)
        NaN there.
    own : ndarray of shape (n_users, n_best)
        Their products.
    """
    best = np.empty((len(users), n_best), np.int64)
    scores = np.empty((len(users), n_best), items.dtype)
    own = scores if rescore is None else np.empty_like(scores)
    stop = np.zeros(1, np.intc)
    if barred is not None:
        barred = np.ascontiguousarray(barred).view(np.uint8)

    def find(rows):
        starts = entries = None
        if seen is not None:
            starts, entries, _ = seen.of(rows)
            starts = np.ascontiguousarray(starts)
        told = starts, entries, barred, stop, scores[rows], best[rows]
        if rescore is None:
            _kernels.best_products(users[rows], items, *told)
        else:
            found = products(users[rows], items)
            given = np.ascontiguousarray(rescore(found, rows), items.dtype)
            _kernels.best_of_scores(given, *told)
            own[rows] = np.take_along_axis(found, best[rows], axis=1)

    _each(find, _pieces(len(users), items, rescore is not None), n_jobs, stop)
    scores[best < 0] = own[best < 0] = np.nan
    return best, scores, own


def products(users, items):
    """Return the products of users with all items: the same bits as in `best_items`.

    Parameters
    ----------
    users : ndarray of shape (n_users, width)
    items : ndarray of shape (n_items, width)

    Returns
    -------
    products : ndarray of shape (n_users, n_items)
    """
    out = np.empty((len(items), len(users)), items.dtype)
    multiply(items, packed_columns(users.T), out)
    return out.T


def _pieces(n_users, items, holds_scores):
    """Return slices of the users."""
    size = min(MOST_USERS, MOST_TERMS // max(items.size, 1))
    if holds_scores:
        size = min(size, MOST_SCORES // max(len(items), 1))
    size = max(size, 1)
    return [slice(start, start + size) for start in range(0, n_users, size)]


def _each(function, pieces, n_jobs, stop):
    """Call a function of each piece, on threads if there are several of both."""
    if n_jobs == 1 or len(pieces) <= 1:
        for piece in pieces:
            function(piece)
        return
    pool = ThreadPoolExecutor(n_jobs)
    try:
        for _ in pool.map(function, pieces):
            pass
    except BaseException:
        stop[0] = 1
        raise
    finally:
        pool.shutdown(cancel_futures=True)

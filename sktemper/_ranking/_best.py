"""Exact search for the best items of many users, which Ctrl-C can interrupt."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs

from .._simd.special import multiply, packed_columns
from .._utils._budgets import VALUES_AT_ONCE, slices
from .._utils._linalg import tiled_matmul
from .._utils._tasks import submitted
from . import _kernels

#: Largest number of users in a task, and largest number of multiplications in a task.
MOST_USERS, MOST_TERMS = 384, 2**32
#: Least number of items that a `Rescoring` scores before bounds of the remaining items
#: are compared.
FEWEST_ITEMS = 512
#: Largest number of users for which packed items are faster, if they are given.
FEW_USERS = 12
#: Flag of kernels that are not stopped.
NO_STOP = np.zeros(1, np.intc)


class UserEntries(NamedTuple):
    """Entries of users: ratings, or pairs with weights and targets."""

    # int64; user r has the entries ``starts[r]`` to ``starts[r + 1]``
    starts: np.ndarray
    items: np.ndarray  # int32; in increasing order for each user
    values: np.ndarray

    def select(self, users):
        """Return the entries of some users, by a slice with ends or row numbers."""
        if isinstance(users, slice):  # without copies
            starts = self.starts[users.start : users.stop + 1]
            own = slice(starts[0], starts[-1])
            return UserEntries(starts - starts[0], self.items[own], self.values[own])
        first, counts = self.starts[users], np.diff(self.starts)[users]
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        entries = np.arange(starts[-1]) + np.repeat(first - starts[:-1], counts)
        return UserEntries(starts, self.items[entries], self.values[entries])

    def check(self, n_users, n_items, n_values):
        starts, items, values = self
        if (starts.dtype, items.dtype) != (np.int64, np.int32):
            raise ValueError("The arrays of users' entries have the wrong types.")
        shapes = len(starts), np.atleast_2d(values.T).shape
        if shapes != (n_users + 1, (n_values, len(items))):
            raise ValueError("The arrays of users' entries have the wrong length.")
        if starts[0] != 0 or starts[-1] != len(items) or (np.diff(starts) < 0).any():
            raise ValueError("The starts of users' entries do not ascend.")
        if len(items) and not 0 <= items.min() <= items.max() < n_items:
            raise ValueError("Users have entries for items that do not exist.")

    @classmethod
    def joined(cls, parts):
        """Return the entries of all parts, one part after another."""
        counts = np.concatenate([np.diff(part.starts) for part in parts])
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        items, values = (
            np.concatenate([part[number] for part in parts]) for number in (1, 2)
        )
        return cls(starts, items.astype(np.int32, copy=False), values)


class Rescoring(NamedTuple):
    """Scores that replace the products of vectors, with upper bounds."""

    # ``scores(products, users, items)`` returns the scores of some users and items,
    # which are given as slices or as arrays of positions.
    scores: Callable
    bounds: np.ndarray  # of the scores of each item, in the dtype of the items
    order: np.ndarray  # items in decreasing order of their bounds


def best_items(
    users,
    items,
    n_best,
    *,
    seen=None,
    barred=None,
    rescoring=None,
    n_jobs=1,
    panels=None,
):
    """Find the items whose vectors have the largest products with each user's vector.

    The bits of a user's result do not depend on the other users, the division of the
    work and the number of threads.  If items have equal scores, the first of them are
    returned.

    ``users`` and ``items`` have the same dtype, and rows that are contiguous.  ``seen``
    has the entries of the users, whose items are excluded for the user, and ``barred``
    a mask of items that are excluded for all.  With ``panels``, which is
    ``packed_columns(items.T)``, few users are found faster.  The results have n_best
    columns, best first: items (-1 if none is left), their scores (NaN then), and the
    products of the vectors, from which a `Rescoring` computes the scores.
    """
    if panels is not None and rescoring is None and len(users) <= FEW_USERS:
        return _best_of_few(users, panels, len(items), n_best, seen, barred)
    search = _Search(users, items, n_best, seen, barred, rescoring)
    find = search.by_products if rescoring is None else search.by_bounds
    size = max(min(MOST_USERS, MOST_TERMS // max(items.size, 1)), 1)
    pieces = [slice(start, start + size) for start in range(0, len(users), size)]
    _for_each(find, pieces, n_jobs, search.stop)
    missing = search.best < 0
    search.scores[missing] = search.products[missing] = np.nan
    return search.best, search.scores, search.products


def _best_of_few(users, panels, n_items, n_best, seen, barred):
    """Return the same as `best_items` for few users and packed items."""
    products = np.empty((len(users), n_items), users.dtype)
    multiply(users, panels, products)
    best, scores = _best_of_scores(products, n_best, seen, _flags(barred), NO_STOP)
    if best[:, -1].min(initial=0) < 0:
        scores[best < 0] = np.nan
    return best, scores, scores


def _best_of_scores(given, n_best, seen, barred, stop):
    shape = len(given), n_best
    best, scores = np.empty(shape, np.int64), np.empty(shape, given.dtype)
    starts, entries = _excluded(seen)
    _kernels.best_of_scores(given, starts, entries, barred, stop, scores, best)
    return best, scores


def _excluded(seen):
    return (None, None) if seen is None else seen[:2]


def _flags(barred):
    return barred if barred is None else np.ascontiguousarray(barred).view(np.uint8)


class _Search:
    def __init__(self, users, items, n_best, seen, barred, rescoring):
        self.users, self.items, self.seen = users, items, seen
        self.barred, self.rescoring = _flags(barred), rescoring
        self.best = np.empty((len(users), n_best), np.int64)
        self.scores = self.products = np.empty((len(users), n_best), items.dtype)
        if rescoring is not None:
            self.products = np.empty_like(self.scores)
        self.stop = np.zeros(1, np.intc)

    def by_products(self, rows):
        excluded = _excluded(self.seen and self.seen.select(rows))
        rest = self.barred, self.stop, self.scores[rows], self.best[rows]
        _kernels.best_products(self.users[rows], self.items, *excluded, *rest)

    def by_bounds(self, rows):
        """Find the best items of a slice of the users by bounded scores.

        Items are scored in decreasing order of their bounds, until no remaining item
        can be better.
        """
        pending, rescoring = np.arange(len(self.users))[rows], self.rescoring
        size, n_items = max(FEWEST_ITEMS, 4 * self.best.shape[1]), len(self.items)
        while len(pending):
            size = min(size, n_items)
            some = np.sort(rescoring.order[:size])
            for part in slices(len(pending), size, VALUES_AT_ONCE):
                self._among(some, pending[part])
            if size == n_items:
                return
            best_of_others = rescoring.bounds[rescoring.order[size]]
            pending = pending[~(self.scores[pending, -1] > best_of_others)]
            size *= 4

    def _among(self, some, users):
        """Find the best of ``some`` items for users; ``some`` must be sorted."""
        found = products(self.users[users], self.items[some])
        given = self.rescoring.scores(found, users, some)
        given = np.ascontiguousarray(given, self.items.dtype)
        seen = self.seen and _places_among(self.seen.select(users), some)
        barred = None if self.barred is None else self.barred[some]
        n_best = self.best.shape[1]
        best, scores = _best_of_scores(given, n_best, seen, barred, self.stop)
        self.scores[users] = scores
        self.products[users] = np.take_along_axis(found, best, axis=1)
        self.best[users] = np.where(best < 0, -1, some[best])


def _places_among(rated, some):
    """Return the entries of users among ``some`` items, as positions in ``some``."""
    places = np.searchsorted(some, rated.items)
    known = some[np.minimum(places, len(some) - 1)] == rated.items
    starts = np.concatenate([[0], np.cumsum(known)])[rated.starts]
    return starts.astype(np.int64), places[known].astype(np.int32)


def products(users, items):
    """Return products of users and all items, with the same bits as `best_items`."""
    out = np.empty((len(items), len(users)), items.dtype)
    multiply(items, packed_columns(users.T), out)
    return out.T


def scores_of_all(users, items):
    """Return products of users and all items, in the dtype of the users."""
    return tiled_matmul(users, np.ascontiguousarray(items.T, dtype=users.dtype))


def _for_each(function, pieces, n_jobs, stop):
    """Call a function for each piece; use threads for several pieces and jobs."""
    if len(pieces) <= 1 or (n_jobs := effective_n_jobs(n_jobs)) == 1:
        for piece in pieces:
            function(piece)
        return
    with submitted(function, pieces, n_jobs, stop) as tasks:
        for task in tasks:
            task.result()

"""Pairs of a block of users, and their statistics."""

from collections import namedtuple
from dataclasses import dataclass, replace

import numpy as np

from .._families._factorization import EntriesMixin, EntryStatistics
from .._simd.room import empty, zeros
from .._simd.special import sort_by_column
from .._utils._csr import is_plain
from .._utils._linalg import canonical, entries_of_rows, sparse_rows
from .._utils._validation import LARGEST_WEIGHT, check_values
from . import _kernels

#: Maximum number of blocks whose statistics are kept before they are summed.
MOST_PARTS = 2


class Pairs(
    EntriesMixin, namedtuple("Pairs", ("starts", "items", "weights", "targets"))
):
    """The stored pairs of a block of users.

    Attributes
    ----------
    starts : ndarray of shape (n_rows + 1,)
    items : ndarray of int32 of shape (n_pairs,)
    weights, targets : ndarray of float64 of shape (n_pairs,)
    """

    __slots__ = ()

    def per_user(self, values):
        return _kernels.row_sums(self.starts, np.asarray(values, dtype=np.float64))

    def by_item(self, factors, n_items):
        """Return the items that have pairs, and the pairs of each of these items.

        ``factors`` are two arrays with a number for each pair.  The pairs are arguments
        of `_kernels.pair_sums`: starts, users, and both factors.
        """
        places = np.zeros(n_items, dtype=np.int32)
        places[self.items] = 1
        known = np.flatnonzero(places).astype(np.int32)
        places[:] = 0
        starts = np.empty(len(known) + 1, dtype=np.intp)
        found = starts, np.empty_like(self.items), *map(np.empty_like, factors)
        rows = 0, len(self.starts) - 1
        sort_by_column(self.starts, self.items, *rows, known, *factors, *found, places)
        return known, found


@dataclass(frozen=True)
class PairStatistics(EntryStatistics):
    """Sums over users, multiplied by weight and power.

    The items of ``parts`` are None for all items in order.  Their sums have the shape
    (n_panels, n_items, panel_width).  They are over the stored pairs of each item; the
    terms that the same pairs would have if they were not stored are subtracted.
    ``residual`` and ``n_entries`` are sums of w E(y - f)^2 and of w over all pairs,
    stored or not.

    Attributes
    ----------
    n_items : int
        Number of all items.
    """

    n_items: int

    def __add__(self, other):
        total = super().__add__(other)
        return total.compacted() if len(total.parts) > MOST_PARTS else total

    def compacted(self):
        """Return the same statistics with one tuple in ``parts``, for all items."""
        if len(self.parts) == 1:
            return self
        n_panels, _, width = self.parts[0][1].shape
        shape = (n_panels, self.n_items, width)
        (known, first), *rest = self.parts
        if known is None or len(known) == self.n_items:
            total = empty(self.room, shape, first.dtype)
            total[:] = first
        else:
            total = zeros(self.room, shape, first.dtype)
            _kernels.add_sums(total, first, known, 1.0)
        for items, sums in rest:
            _kernels.add_sums(total, sums, items, 1.0)
        return replace(self, parts=((None, total),))


def read_pairs(X, rows, weight_of, target_of):
    """Return rows of a CSR matrix as `Pairs`, without stored zeros.

    ``weight_of`` and ``target_of`` are functions of an array of stored numbers.
    """
    starts, items, values = entries_of_rows(X, rows)
    if not is_plain(starts, np.ascontiguousarray(items), X.shape[1]):
        block = canonical(sparse_rows(X, rows), np.float64)
        starts, items, values = block.indptr, block.indices, block.data
    if not values.all():
        known = values != 0
        before = np.concatenate([[0], np.cumsum(known)])
        starts, items, values = before[starts], items[known], values[known]
    return Pairs.of(starts, items, weight_of(values), target_of(values))


def pair_values(name, given, dtype, non_negative=False):
    """Return the function of stored numbers that a parameter specifies.

    Parameters
    ----------
    name : str
        Name of the parameter, for messages.
    given : "value", float or callable
        "value" is the stored number itself.  A float is the value of all pairs.  A
        callable computes the values from an array of stored numbers.
    dtype : {float32, float64}
        Type of the computations.
    non_negative : bool, default=False
        Whether the values must not be negative, as for weights.
    """

    def checked(found):
        if non_negative and found.max(initial=0.0) > LARGEST_WEIGHT:
            raise ValueError(
                f"pair_weight has a value of {found.max():.3g}, but weights may be at "
                f"most {LARGEST_WEIGHT:g}. Divide the weights by their mean."
            )
        return found

    if isinstance(given, str):
        return lambda values: checked(np.asarray(values, dtype=np.float64))
    if not callable(given):
        check_values(given, dtype, name, training=True)
        return lambda values: checked(np.full(len(values), float(given)))

    def function(values):
        # a function of the user may write into its argument
        found = np.asarray(given(np.array(values, dtype=np.float64)), dtype=np.float64)
        if found.shape != values.shape:
            raise ValueError(
                f"{name} returned an array of shape {found.shape} for stored numbers "
                f"of shape {values.shape}; expected the same shape."
            )
        if not np.isfinite(found).all():
            raise ValueError(f"{name} returned values that are not finite.")
        if non_negative and (found < 0).any():
            raise ValueError(f"{name} returned a negative weight, {found.min():.3g}.")
        check_values(found, dtype, name)
        return checked(found)

    return function

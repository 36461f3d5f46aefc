"""Search for the best items of users, with loops in ``_loops.h``."""

import numpy as np

from cython cimport floating

from sktemper._simd.special import aligned, packed_columns, padded

include "_loops.pxi"


cdef _start(
    ranking_block *block,
    starts,
    seen,
    barred,
    const int[::1] stop,
    floating[:, ::1] scores,
    int64_t[:, ::1] best,
):
    """Set the arguments that `best_products` and `best_of_scores` share.

    Returns new arrays, which the caller keeps alive, as the given ones.
    """
    cdef const uint8_t[::1] flags
    cdef const int64_t[::1] first
    cdef const int32_t[::1] items
    cdef int64_t[::1] next_seen
    cdef floating[::1] least
    dtype = np.float32 if floating is float else np.float64
    block.n_users, block.n_best = scores.shape[0], scores.shape[1]
    block.seen, block.barred, block.stop = NULL, NULL, &stop[0]
    places = None
    if seen is not None and len(seen):
        first, items, places = starts, seen, np.array(starts)
        next_seen = places
        block.seen_starts, block.seen = &first[0], &items[0]
        block.next_seen = &next_seen[0]
    if barred is not None:
        flags = barred
        block.barred = &flags[0]
    # lanes without a user find no item, because no score exceeds infinity
    bars = aligned(np.empty, padded(scores.shape[0], dtype) + SIMD_BYTES // 4, dtype)
    bars[: scores.shape[0]] = -np.inf
    bars[scores.shape[0] :] = np.inf
    least = bars
    block.least = &least[0]
    scores[:, :] = -np.inf
    best[:, :] = -1
    block.scores, block.best = &scores[0, 0], &best[0, 0]
    return places, bars


def best_products(
    const floating[:, :] users,
    const floating[:, :] items,
    starts,
    seen,
    barred,
    const int[::1] stop,
    floating[:, ::1] scores,
    int64_t[:, ::1] best,
):
    """Find the items with the largest products for each user.

    Parameters
    ----------
    users : ndarray of shape (n_users, n_inner)
    items : ndarray of shape (n_items, n_inner)
        Each row is contiguous.
    starts : ndarray of int64 of shape (n_users + 1,)
    seen : ndarray of int32 or None
        The items ``seen[starts[r] : starts[r + 1]]``, in increasing order, are excluded
        for user r.
    barred : ndarray of uint8 of shape (n_items,) or None
        Nonzero for items that are excluded for all users.
    stop : ndarray of shape (1,)
        Flag; if another thread sets it, the call returns early.
    scores, best : ndarrays of shape (n_users, n_best)
        Receive the scores and indices of the best items, best first.  Items with equal
        scores are in the order of their indices.  -inf and -1 mean that no item is
        left.

    Returns
    -------
    done : bool
        False if stopped.
    """
    cdef ranking_block block
    cdef const floating[::1] panels
    cdef int result
    if users.shape[1] != items.shape[1]:
        raise ValueError(
            f"users have {users.shape[1]} factors, and items have {items.shape[1]}"
        )
    if not scores.size:
        return True
    kept = _start(&block, starts, seen, barred, stop, scores, best)
    packed = packed_columns(np.asarray(users).T)
    panels = packed
    block.n_items, block.n_inner = items.shape[0], items.shape[1]
    block.item_stride = items.strides[0] // <intptr_t>sizeof(floating)
    block.items, block.users = &items[0, 0], &panels[0]
    with nogil:
        result = call_best_products(floating is float, &block)
    return result == 0


def best_of_scores(
    const floating[:, ::1] given,
    starts,
    seen,
    barred,
    const int[::1] stop,
    floating[:, ::1] scores,
    int64_t[:, ::1] best,
):
    """Find the items with the largest scores for each user; see `best_products`."""
    cdef ranking_block block
    cdef int result
    if not scores.size:
        return True
    kept = _start(&block, starts, seen, barred, stop, scores, best)
    block.n_items = block.item_stride = given.shape[1]
    block.users = &given[0, 0]
    with nogil:
        result = call_best_of_scores(floating is float, &block)
    return result == 0

"""Kernels of implicit feedback: sums over pairs, and means of users.

The functions only compute arrays from arrays: they draw no random numbers and depend on
no policy.  The loops are C code in ``_loops.h``, which is compiled for each instruction
set.  That file also describes panels, the layout of sums and moments.

A call raises `Stopped` if another thread sets ``stop``, an array of shape (1,), to a nonzero
number.  The `Room` of ``room`` has memory that may be reused for the results.
"""

import numpy as np

from cython cimport floating

from sktemper._contract import Stopped
from sktemper._families._kernels import gaussians
from sktemper._simd.room import empty

include "_loops.pxi"


def panel_width(dtype):
    """Return the number of entries in a row of a panel."""
    return PANEL_BYTES // np.dtype(dtype).itemsize


def panels(intptr_t rank, dtype):
    """Return the number of panels for E[x x^T], and the number of all panels."""
    width = panel_width(dtype)
    n_square = -(-(rank * (rank + 1) // 2) // width)
    return n_square, n_square + -(-rank // width)


cpdef pair_sums(
    const intptr_t[::1] starts,
    const int32_t[::1] others,
    const floating[::1] square_factors,
    const floating[::1] linear_factors,
    const floating[:, :, ::1] table,
    intptr_t n_square_panels,
    const int[::1] stop,
    room=None,
):
    """Return the sums of factors times moments over the pairs of each row.

    The struct ``pairs_block`` in ``_blocks.h`` describes the arguments.

    Returns
    -------
    sums : ndarray of shape (n_panels, n_rows, panel_width)
    """
    cdef pairs_block block
    cdef intptr_t n_rows = starts.shape[0] - 1
    cdef int status
    dtype = np.float32 if floating is float else np.float64
    # empty arrays need an address, too
    out = empty(room, (table.shape[0], max(n_rows, 1), table.shape[2]), dtype)
    cdef floating[:, :, ::1] sums = out
    block.n_rows, block.n_others = n_rows, table.shape[1]
    block.n_panels, block.n_square_panels = table.shape[0], n_square_panels
    block.starts = &starts[0]
    block.others = &others[0] if others.shape[0] else NULL
    block.square_factors = &square_factors[0] if others.shape[0] else NULL
    block.linear_factors = &linear_factors[0] if others.shape[0] else NULL
    block.table = &table[0, 0, 0]
    block.stop = &stop[0]
    block.sums = &sums[0, 0, 0]
    with nogil:
        status = run_pair_sums(floating is float, &block)
    if status:
        raise Stopped
    return out[:, :n_rows]


def row_sums(const intptr_t[::1] starts, const double[::1] values):
    """Return the sums of the values ``starts[r]`` to ``starts[r + 1]`` of rows r."""
    cdef intptr_t row, k
    cdef double total
    cdef double[::1] sums = np.empty(starts.shape[0] - 1)
    with nogil:
        for row in range(starts.shape[0] - 1):
            total = 0
            for k in range(starts[row], starts[row + 1]):
                total += values[k]
            sums[row] = total
    return np.asarray(sums)


def add_sums(
    floating[:, :, ::1] total,
    const floating[:, :, ::1] part,
    const int32_t[::1] places,
    double factor,
    const int[::1] stop=np.zeros(1, dtype=np.intc),
):
    """Add ``factor`` times the rows of a part to rows of a total.

    Both have the layout of the sums of `pair_sums`.  ``places`` has the index in
    ``total`` of each row of the part, and is None for all rows in order.
    """
    cdef intptr_t n_panels = part.shape[0], n_part = part.shape[1]
    cdef intptr_t n_rows = total.shape[1]
    cdef const int32_t *where = NULL
    cdef int status
    if not n_part:
        return
    if places is not None:
        where = &places[0]
    with nogil:
        status = call_add_sums(
            n_panels, n_rows, n_part, where, factor, &part[0, 0, 0], &total[0, 0, 0],
            &stop[0],
        )
    if status:
        raise Stopped


def user_means(
    const intptr_t[::1] starts,
    const int32_t[::1] items,
    const double[::1] weights,
    const double[::1] targets,
    const floating[:, :, ::1] table,
    places,
    const double[::1] prior,
    const double[::1] shared,
    double zero_weight,
    double scale,
    const int[::1] stop,
    double[:, ::1] means,
    room=None,
):
    """Compute the posterior means of users, with the same bits as `gaussians`.

    ``zero_weight`` is the weight of a pair that is not stored, and ``scale`` the factor
    of all sums.  For the other arguments and the result see `pair_sums` and
    `gaussians`.
    """
    cdef intptr_t k, n_pairs = items.shape[0], n_users = means.shape[0]
    cdef floating[::1] square, linear
    cdef double[::1] scales
    dtype = np.float32 if floating is float else np.float64
    square, linear = np.empty(n_pairs, dtype), np.empty(n_pairs, dtype)
    scales = np.empty(n_users)
    with nogil:
        for k in range(n_pairs):
            square[k] = <floating>(weights[k] - zero_weight)
            linear[k] = <floating>(weights[k] * targets[k])
        for k in range(n_users):
            scales[k] = scale
    sums = pair_sums[floating](
        starts, items, square, linear, table, places[1] // table.shape[2], stop, room
    )
    return gaussians["float" if floating is float else "double"](
        sums, sums, prior, places, stop, means,
        first=0, last=n_users, scales=scales, shared=shared,
    )

"""Kernels of implicit feedback: sums over pairs, and Gaussians of users and items.

The functions only compute arrays from arrays: they draw no random numbers and depend on
no policy.  The loops are C code in ``_loops.h``, which is compiled for each instruction
set.  That file also describes panels, the layout of sums and moments.

A call returns early if another thread sets ``stop``, an array of shape (1,), to a nonzero
number.  The `Room` of ``room`` has memory that may be reused for the results.
"""

import numpy as np

from cython cimport floating

from sktemper._simd.room import empty
from sktemper._simd.special import aligned, lanes_scratch

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
    sums : ndarray of shape (n_panels, n_rows, panel_width) or None
        None if stopped.
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
    return None if status else out[:, :n_rows]


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
    const int[::1] stop,
):
    """Add ``factor`` times the rows of a part to rows of a total.

    Both have the layout of the sums of `pair_sums`.  ``places`` has the index in
    ``total`` of each row of the part, and is None for all rows in order.  The call
    returns whether it was stopped.
    """
    cdef intptr_t n_panels = part.shape[0], n_part = part.shape[1]
    cdef intptr_t n_rows = total.shape[1]
    cdef const int32_t *where = NULL
    cdef int status
    if not n_part:
        return False
    if places is not None:
        where = &places[0]
    with nogil:
        status = call_add_sums(
            n_panels, n_rows, n_part, where, factor, &part[0, 0, 0], &total[0, 0, 0],
            &stop[0],
        )
    return status != 0


cdef _fill(
    gaussians_block *block,
    const floating[:, :, ::1] sums,
    const double[::1] scales,
    const double[::1] prior,
    const double[::1] shared,
    intptr_t first,
    intptr_t last,
    const int[::1] stop,
    double[:, ::1] means,
):
    """Set the arguments that `gaussians` and `gaussian_means` share; return scratch."""
    cdef double[::1] scratch
    cdef intptr_t rank = means.shape[1]
    kept = aligned(
        np.empty, lanes_scratch(rank, 3, sums.shape[0] * sums.shape[2]), np.float64
    )
    scratch = kept
    block.n_rows, block.rank = sums.shape[1], rank
    block.n_square_panels = panels(rank, np.float32 if floating is float else np.float64)[0]
    block.first, block.last = first, last
    block.sums = &sums[0, 0, 0]
    block.scales = NULL
    if scales is not None:
        block.scales = &scales[0]
    block.prior = &prior[0]
    block.shared = NULL
    if shared is not None:
        block.shared = &shared[0]
    block.stop = &stop[0]
    block.means = &means[0, 0]
    block.scratch = &scratch[0]
    return kept


def gaussians(
    const floating[:, :, ::1] sums,
    const double[::1] scales,
    const double[::1] prior,
    const double[::1] shared,
    const double[::1] traced,
    const double[::1] weights,
    intptr_t first,
    intptr_t last,
    const int[::1] stop,
    floating[:, :, ::1] table,
    double[:, ::1] means,
    double[:, ::1] scalars,
    double[::1] total,
):
    """Compute the moments of some Gaussians from sums and a prior.

    The struct ``gaussians_block`` in ``_blocks.h`` describes the arguments, but None
    stands for its NULL.  Natural parameters are the packed lower triangle of a
    precision, and precision times mean.  ``table`` and all arrays after it are outputs;
    the rows of ``scalars`` are log determinants (NaN for precisions that are not
    positive definite), traces and products.

    Returns
    -------
    n_indefinite : int
        Number of rows whose precision is not positive definite, or -1 if stopped.  The
        other outputs for these rows are meaningless.
    """
    cdef gaussians_block block
    cdef intptr_t status
    if last <= first:
        return 0
    kept = _fill(&block, sums, scales, prior, shared, first, last, stop, means)
    block.traced = &traced[0]
    block.weights = NULL
    if weights is not None:
        block.weights = &weights[0]
    block.table = &table[0, 0, 0]
    block.log_determinants = &scalars[0, 0]
    block.traces = &scalars[1, 0]
    block.products = &scalars[2, 0]
    block.total = &total[0]
    with nogil:
        status = call_gaussians(floating is float, &block)
    return status


def user_means(
    const intptr_t[::1] starts,
    const int32_t[::1] items,
    const double[::1] weights,
    const double[::1] targets,
    const floating[:, :, ::1] table,
    intptr_t n_square_panels,
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
    cdef gaussians_block block
    cdef intptr_t status, k, n_pairs = items.shape[0], n_users = means.shape[0]
    cdef floating[::1] square, linear
    cdef const floating[:, :, ::1] sums
    cdef double[::1] scales
    if not n_users:
        return 0
    dtype = np.float32 if floating is float else np.float64
    square, linear = np.empty(n_pairs, dtype), np.empty(n_pairs, dtype)
    scales = np.empty(n_users)
    with nogil:
        for k in range(n_pairs):
            square[k] = <floating>(weights[k] - zero_weight)
            linear[k] = <floating>(weights[k] * targets[k])
        for k in range(n_users):
            scales[k] = scale
    found = pair_sums[floating](
        starts, items, square, linear, table, n_square_panels, stop, room
    )
    if found is None:
        return -1
    sums = found
    kept = _fill(&block, sums, scales, prior, shared, 0, n_users, stop, means)
    block.traced = block.weights = NULL
    block.table = NULL
    block.log_determinants = block.traces = block.products = block.total = NULL
    with nogil:
        status = call_gaussians(floating is float, &block)
    return status

"""Matrix factorization: the loops over ratings, and over the Gaussians of both sides.

Arrays go in and come out; nothing here draws random numbers or knows a policy.  The
loops themselves are C, in ``_loops.h``, compiled for each instruction set; what a
row of a table, and of sums, holds stands there.
"""

import numpy as np

from cython cimport floating

from sktemper._simd.special import aligned, padded

include "_loops.pxi"

#: Bytes of a part of a table that stays in a core's own cache.
cdef intptr_t CACHED_BYTES = 512 * 1024


def table_width(intptr_t rank, bint biases, dtype):
    """Return the entries of a table's row: a whole number of SIMD_BYTES."""
    cdef intptr_t needed = rank * (rank + 1) // 2 + rank
    if biases:
        needed += rank + 3
    return padded(needed, dtype)


def sums_width(intptr_t rank, bint biases):
    """Return the entries of a row of sums: natural parameters and two more."""
    cdef intptr_t n_own = rank + biases
    return n_own * (n_own + 1) // 2 + n_own + 2


cdef class _Ratings:
    """Ratings of a block, as the C loops take them; keeps the arrays alive."""

    cdef ratings_block block
    cdef object kept

    def __cinit__(self, intptr_t rank, bint biases, const int[::1] stop):
        self.block.rank = rank
        self.block.biases = biases
        self.block.stop = &stop[0]
        self.kept = [stop]


cdef _fill(
    _Ratings ratings,
    const intptr_t[::1] starts,
    const int32_t[::1] others,
    const floating[::1] values,
    factors,
    const floating[:, ::1] table,
):
    cdef const floating[::1] given
    cdef floating[::1] scratch
    ratings.block.n_rows = starts.shape[0] - 1
    ratings.block.width = table.shape[1]
    ratings.block.starts = &starts[0]
    ratings.block.others = &others[0] if others.shape[0] else NULL
    ratings.block.values = &values[0] if values.shape[0] else NULL
    ratings.block.factors = NULL
    if factors is not None and values.shape[0]:
        given = factors
        ratings.block.factors = &given[0]
    ratings.block.table = &table[0, 0]
    dtype = np.float32 if floating is float else np.float64
    kept = aligned(np.empty, 2 * table.shape[1], dtype)
    scratch = kept
    ratings.block.scratch = &scratch[0]
    ratings.kept += [starts, others, values, factors, table, kept]


def own_sums(
    const intptr_t[::1] starts,
    const int32_t[::1] others,
    const floating[::1] values,
    factors,
    const floating[:, ::1] table,
    intptr_t rank,
    bint biases,
    const int[::1] stop,
):
    """Add up what ratings tell of the rows that they stand in.

    Parameters
    ----------
    starts : ndarray of shape (n_rows + 1,)
        Row r has the ratings ``starts[r]`` to ``starts[r + 1]``.
    others : ndarray of shape (n_ratings,)
        The row of the table with which each one is.
    values : ndarray of shape (n_ratings,)
        Less the global mean.
    factors : ndarray of shape (n_ratings,) or None
        Of the ratings; None is 1.
    table : ndarray of shape (n_others, `table_width`)
    rank : int
    biases : bool
    stop : ndarray of shape (1,)
        Set it to make the call return.

    Returns
    -------
    sums : ndarray of shape (n_rows, `sums_width`) or None
        None if stopped.
    """
    cdef _Ratings ratings = _Ratings(rank, biases, stop)
    cdef intptr_t n_rows = starts.shape[0] - 1
    out = np.zeros((n_rows, sums_width(rank, biases)))
    if n_rows == 0:
        return out
    _fill(ratings, starts, others, values, factors, table)
    cdef double[:, ::1] sums = out
    ratings.block.sums = &sums[0, 0]
    return None if _run_sums(ratings, values) else out


cdef int _run_sums(_Ratings ratings, const floating[::1] values):
    cdef int status
    cdef unsigned int mode
    with nogil:
        mode = simd_flush_subnormals()
        if floating is float:
            status = SIMD.rating_sums_f32(&ratings.block)
        else:
            status = SIMD.rating_sums_f64(&ratings.block)
        simd_restore_subnormals(mode)
    return status


def other_sums(
    const intptr_t[::1] starts,
    const int32_t[::1] others,
    const floating[::1] values,
    factors,
    const floating[:, ::1] table,
    intptr_t n_others,
    intptr_t rank,
    bint biases,
    const int[::1] stop,
):
    """Add up what ratings tell of those with whom they are: `own_sums`, transposed.

    Parameters
    ----------
    starts, others, values, factors, rank, biases, stop
        As of `own_sums`.
    table : ndarray of shape (n_rows, `table_width`)
        Of the rows that the ratings stand in.
    n_others : int

    Returns
    -------
    rated : ndarray of shape (n_rated,) or None
        Those who have ratings, in order; None if stopped,
    sums : ndarray of shape (n_rated, `sums_width`) or None
        and what their ratings tell of them.
    """
    cdef _Ratings ratings = _Ratings(rank, biases, stop)
    cdef intptr_t n_rows = starts.shape[0] - 1, n_ratings = others.shape[0]
    cdef intptr_t tile, first, last, row, k, j, n_rated = 0, at, most = 0
    cdef int32_t[::1] place = np.full(n_others, -1, dtype=np.int32)
    with nogil:
        for k in range(n_ratings):
            place[others[k]] = 0
        for j in range(n_others):
            if place[j] == 0:
                place[j] = <int32_t>n_rated
                n_rated += 1
    rated = np.flatnonzero(np.asarray(place) >= 0).astype(np.int32)
    out = np.zeros((n_rated, sums_width(rank, biases)))
    if n_ratings == 0:
        return rated, out
    cdef double[:, ::1] sums = out
    cdef intptr_t[::1] ends = np.empty(n_rated + 1, dtype=np.intp)
    # a few rows at a time: their part of the table is read again and again
    tile = max(64, CACHED_BYTES // (table.shape[1] * <intptr_t>sizeof(floating)))
    for first in range(0, n_rows, tile):
        last = min(first + tile, n_rows)
        most = max(most, starts[last] - starts[first])
    dtype = np.float32 if floating is float else np.float64
    cdef int32_t[::1] rows = np.empty(most, dtype=np.int32)
    moved_values, moved_factors = np.empty(most, dtype), None
    cdef floating[::1] moved = moved_values, moved_factor
    cdef const floating[::1] factor
    cdef bint has_factors = factors is not None
    if has_factors:
        moved_factors = np.empty(most, dtype)
        moved_factor = moved_factors
        factor = factors
    _fill[floating](ratings, ends, rows, moved, moved_factors, table)
    ratings.block.sums = &sums[0, 0]
    for first in range(0, n_rows, tile):
        last = min(first + tile, n_rows)
        with nogil:
            ends[:] = 0
            for k in range(starts[first], starts[last]):
                ends[place[others[k]] + 1] += 1
            for j in range(n_rated):
                ends[j + 1] += ends[j]
            # each begin moves to its end, which is the next one's begin
            for row in range(first, last):
                for k in range(starts[row], starts[row + 1]):
                    j = place[others[k]]
                    at = ends[j]
                    ends[j] += 1
                    rows[at] = <int32_t>row
                    moved[at] = values[k]
                    if has_factors:
                        moved_factor[at] = factor[k]
            for j in range(n_rated, 0, -1):
                ends[j] = ends[j - 1]
            ends[0] = 0
        if _run_sums(ratings, values):
            return None, None
    return rated, out


def moments(
    const intptr_t[::1] starts,
    const int32_t[::1] others,
    const floating[:, ::1] own_table,
    const floating[:, ::1] table,
    const int32_t[::1] own_rows,
    intptr_t rank,
    bint biases,
    const int[::1] stop,
):
    """Return the moments of what ratings are expected to be.

    Parameters
    ----------
    starts, others, table, rank, biases, stop
        As of `own_sums`.
    own_table : ndarray
        Of those whom the rows of ratings are of,
    own_rows : ndarray of shape (n_rows,) or None
        where these stand in it; None is in order.

    Returns
    -------
    means, squares : ndarray of shape (n_ratings,) or None
        E[f] and E[f^2], f being the biases and the product of the factors; None if
        stopped.
    """
    cdef _Ratings ratings = _Ratings(rank, biases, stop)
    cdef intptr_t n_ratings = others.shape[0]
    cdef double[::1] means = np.empty(n_ratings), squares = np.empty(n_ratings)
    cdef int status = 0
    if n_ratings:
        _fill(ratings, starts, others, table[0], None, table)
        ratings.block.own_rows = NULL
        if own_rows is not None:
            ratings.block.own_rows = &own_rows[0]
        ratings.block.means = &means[0]
        ratings.block.squares = &squares[0]
        with nogil:
            if floating is float:
                status = SIMD.rating_moments_f32(&ratings.block, &own_table[0, 0])
            else:
                status = SIMD.rating_moments_f64(&ratings.block, &own_table[0, 0])
    if status:
        return None, None
    return np.asarray(means), np.asarray(squares)


def gaussians(
    const double[:, ::1] sums,
    const double[::1] scales,
    const double[::1] prior,
    intptr_t rank,
    bint biases,
    const int[::1] stop,
    floating[:, ::1] table,
    double[:, ::1] means,
    double[:, ::1] covariances,
    double[::1] log_determinants,
    double[::1] prior_traces,
):
    """Write the moments of Gaussians: natural parameters are prior + scales sums.

    Parameters
    ----------
    sums : ndarray of shape (n_rows, n_own * (n_own + 3) / 2 or more)
        Packed lower triangles of precisions, and products of these and means; n_own is
        ``rank + biases``.  What is behind them is not read.
    scales : ndarray of shape (n_rows,)
    prior : ndarray of shape (n_own * (n_own + 3) / 2,)
    rank, biases, stop
        As of `own_sums`.
    table : ndarray of shape (n_rows, `table_width`)
    means : ndarray of shape (n_rows, n_own)
    covariances : ndarray of shape (n_rows, n_own * (n_own + 1) / 2) or None
        Packed lower triangles.
    log_determinants : ndarray of shape (n_rows,)
        Of the precisions; NaN if these are not positive definite.
    prior_traces : ndarray of shape (n_rows,)
        trace(prior precision E[x x^T]).

    Returns
    -------
    n_indefinite : int
        Rows whose precision is not positive definite: what else is written for them is
        of no use.  -1 if stopped.
    """
    cdef gaussians_block block
    cdef intptr_t n_own = rank + biases, status
    cdef double[::1] scratch
    if sums.shape[0] == 0:
        return 0
    kept = aligned(np.empty, n_own * (n_own + 3) * (SIMD_BYTES // 8), np.float64)
    scratch = kept
    block.n_rows = sums.shape[0]
    block.rank = rank
    block.biases = biases
    block.width = table.shape[1]
    block.sums = &sums[0, 0]
    block.stride = sums.shape[1]
    block.scales = &scales[0]
    block.prior = &prior[0]
    block.stop = &stop[0]
    block.means = &means[0, 0]
    block.covariances = NULL if covariances is None else &covariances[0, 0]
    block.log_determinants = &log_determinants[0]
    block.prior_traces = &prior_traces[0]
    block.table = &table[0, 0]
    block.scratch = &scratch[0]
    with nogil:
        if floating is float:
            status = SIMD.gaussians_f32(&block)
        else:
            status = SIMD.gaussians_f64(&block)
    return status

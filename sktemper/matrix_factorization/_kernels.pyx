"""Loops over ratings.

A rating belongs to a user and an item.  In each call, either the rows are users and the
"others" are items, or the rows are items and the "others" are users.  Names with "own"
refer to the rows.  For each rating, the array ``others`` has the index of the item (or
user) to which the rating belongs.  A "table" has the posterior moments of items or of
users, one in each row.  "Sums" are sums over ratings, such as natural parameters.

All functions take and return arrays.  They draw no random numbers and do not depend on
policies.  The loops are C, in ``_loops.h``, and are compiled for each instruction set.
``factor_gaussians.h`` describes the columns of tables.

A call raises `Stopped` if another thread sets ``stop``, an array of shape (1,), to a nonzero
number.  The `Room` of ``room`` has memory that may be reused for the results.
"""

import numpy as np

from cython cimport floating

from sktemper._contract import Stopped
from sktemper._simd.room import zeros
from sktemper._simd.special import aligned, padded, sort_by_column

include "_loops.pxi"

#: Minimum and maximum number of ratings that are sorted at once.  If rows of the table
#: have at most FEW_BYTES, the minimum is used, so that the ratings stay in a core's
#: cache. For longer rows, more ratings are sorted at once, so that sums are read and
#: written less often.
cdef intptr_t FEWEST_SORTED = 1 << 17, MOST_SORTED = 1 << 19, FEW_BYTES = 1024
#: Panels (groups of columns of the table, see ``_sums.h``) are packed if the table has
#: more than FEW_PANELS panels, and its rows have more than FEW_RATINGS ratings on
#: average.
cdef intptr_t FEW_PANELS = 2, FEW_RATINGS = 4


def table_width(intptr_t rank, bint biases, dtype):
    """Return the length of a table's row, padded to a multiple of SIMD_BYTES."""
    cdef intptr_t needed = rank * (rank + 1) // 2 + rank
    if biases:
        needed += rank + 3
    return padded(needed, dtype)


def sums_width(intptr_t rank, bint biases):
    """Return the length of a row of sums: natural parameters and two more numbers."""
    cdef intptr_t n_own = rank + biases
    return n_own * (n_own + 1) // 2 + n_own + 2


cdef _fill(
    ratings_block *block,
    const intptr_t[::1] starts,
    const int32_t[::1] others,
    const floating[::1] values,
    factors,
    const floating[:, ::1] table,
    intptr_t rank,
    bint biases,
    const int[::1] stop,
):
    """Set the addresses of arrays, which the caller keeps alive."""
    cdef const floating[::1] given
    block.rank, block.biases, block.stop = rank, biases, &stop[0]
    block.n_rows = starts.shape[0] - 1
    block.n_others, block.width = table.shape[0], table.shape[1]
    block.starts = &starts[0]
    block.others = &others[0] if others.shape[0] else NULL
    block.values = block.weighted = NULL
    if values.shape[0]:
        block.values = block.weighted = &values[0]
    block.factors = block.row_factors = block.panel = NULL
    if factors is not None and values.shape[0]:
        given = factors
        block.factors = &given[0]
    block.table = &table[0, 0]


cdef _room_of_panel(
    ratings_block *block, intptr_t n_rows, const floating[:, ::1] table
):
    """Return memory for a packed panel of ``n_rows`` rows of the table."""
    cdef floating[::1] panel
    width = PANEL_BYTES // sizeof(floating)
    dtype = np.float32 if floating is float else np.float64
    kept = aligned(np.empty, n_rows * width, dtype)
    panel = kept
    block.panel = &panel[0]
    return kept


def own_sums(
    const intptr_t[::1] starts,
    const int32_t[::1] others,
    const floating[::1] values,
    factors,
    const floating[:, ::1] table,
    intptr_t rank,
    bint biases,
    const int[::1] stop,
    room=None,
):
    """Return sums over the ratings of each row, such as natural parameters.

    The struct ``ratings_block`` in ``_blocks.h`` describes the arguments, but None
    stands for its NULL.  ``values`` are ratings minus the global mean.

    Returns
    -------
    sums : ndarray of shape (n_rows, `sums_width`)
    """
    cdef ratings_block block
    cdef intptr_t n_rows = starts.shape[0] - 1
    out = zeros(room, (n_rows, sums_width(rank, biases)), np.float64)
    if n_rows == 0:
        return out
    _fill(&block, starts, others, values, factors, table, rank, biases, stop)
    cdef const floating[::1] weighted
    if factors is not None and others.shape[0]:
        products = np.multiply(factors, values)
        weighted = products
        block.weighted = &weighted[0]
    if (
        table.shape[1] * <intptr_t>sizeof(floating) > FEW_PANELS * PANEL_BYTES
        and others.shape[0] > FEW_RATINGS * table.shape[0]
    ):
        panel = _room_of_panel[floating](&block, table.shape[0], table)
    cdef double[:, ::1] sums = out
    block.sums, block.with_squares = &sums[0, 0], True
    cdef int status
    with nogil:
        status = run_rating_sums(floating is float, &block)
    if status:
        raise Stopped
    return out


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
    row_factors=None,
    room=None,
):
    """Return sums over the ratings of each of the "others", like `own_sums` for rows.

    ``table`` has the moments of the rows, and ``row_factors`` a further factor for all
    ratings of a row.

    Returns
    -------
    rated : ndarray of shape (n_rated,)
        Indices of the "others" with ratings, in increasing order.
    sums : ndarray of shape (n_rated, `sums_width` - 2)
        The sums, in the form of natural parameters.
    """
    cdef ratings_block block
    cdef intptr_t n_rows = starts.shape[0] - 1, first, last, most = 0, k
    cdef int status
    cdef int32_t[::1] places = np.zeros(n_others, dtype=np.int32)
    with nogil:
        for k in range(others.shape[0]):
            places[others[k]] = 1
    rated = np.flatnonzero(places).astype(np.int32)
    out = zeros(room, (len(rated), sums_width(rank, biases) - 2), np.float64)
    if others.shape[0] == 0:
        return rated, out
    places[:] = 0
    cdef intptr_t n_bytes = table.shape[1] * <intptr_t>sizeof(floating)
    at_once = min(max(n_bytes // FEW_BYTES, 1) * FEWEST_SORTED, MOST_SORTED)
    edges = _edges(starts, at_once)
    for first, last in zip(edges, edges[1:]):
        most = max(most, starts[last] - starts[first])
    dtype = np.float32 if floating is float else np.float64
    own, moved_values = np.empty(most, dtype=np.int32), np.empty(most, dtype)
    moved_factors, weighted = None, values
    if factors is not None:
        moved_factors = np.empty(most, dtype)
        weighted = np.multiply(factors, values)
    ends = np.empty(len(rated) + 1, dtype=np.intp)
    _fill[floating](
        &block, ends, own, moved_values, moved_factors, table, rank, biases, stop
    )
    cdef double[:, ::1] sums = out
    block.sums, block.with_squares = &sums[0, 0], False
    cdef const floating[::1] by_row
    if row_factors is not None:
        by_row = row_factors
        most = max([last - first for first, last in zip(edges, edges[1:])])
        panel = _room_of_panel[floating](&block, most, table)
    for first, last in zip(edges, edges[1:]):
        sort_by_column(
            starts, others, first, last, rated, weighted, factors,
            ends, own, moved_values, moved_factors, places,
        )
        block.table, block.n_others = &table[first, 0], last - first
        if row_factors is not None:
            block.row_factors = &by_row[first]
        with nogil:
            status = run_rating_sums(floating is float, &block)
        if status:
            raise Stopped
    return rated, out


def _edges(const intptr_t[::1] starts, intptr_t most):
    """Return the first rows of parts of ``most`` ratings or less, and n_rows.

    A part has at least one row.
    """
    cdef intptr_t row, first = 0
    edges = [0]
    for row in range(1, starts.shape[0] - 1):
        if starts[row + 1] - starts[first] > most:
            edges.append(row)
            first = row
    return [*edges, starts.shape[0] - 1]


def add_rows(
    double[:, ::1] total,
    const int32_t[::1] places,
    const double[:, ::1] rows,
    double factor,
):
    """Add ``factor`` times some rows to the rows ``places`` of a total."""
    cdef intptr_t k, i, width = total.shape[1]
    cdef const double *row
    cdef double *to
    with nogil:
        for k in range(places.shape[0]):
            row, to = &rows[k, 0], &total[places[k], 0]
            for i in range(width):
                to[i] += factor * row[i]


def table_sums(const floating[:, ::1] table, const double[::1] factors):
    """Return the sum of a table's rows, weighted by factors, in float64."""
    cdef double[::1] sums = np.zeros(table.shape[1])
    if table.shape[0]:
        with nogil:
            call_table_sums(
                table.shape[0], table.shape[1], &factors[0], &table[0, 0], &sums[0]
            )
    return np.asarray(sums)


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
    """Return the first two moments of the expected rating f of each pair.

    ``own_table`` has the moments of the rows; for the other arguments see `own_sums`.

    Returns
    -------
    means, squares : ndarray of shape (n_ratings,)
        E[f] and E[f^2], where f is the sum of the biases and the product of the
        factors.
    """
    cdef ratings_block block
    cdef intptr_t n_ratings = others.shape[0]
    cdef double[::1] means = np.empty(n_ratings), squares = np.empty(n_ratings)
    cdef int status = 0
    if n_ratings:
        _fill(&block, starts, others, table[0], None, table, rank, biases, stop)
        block.own_rows = NULL
        if own_rows is not None:
            block.own_rows = &own_rows[0]
        block.means, block.squares = &means[0], &squares[0]
        with nogil:
            status = call_rating_moments(&block, &own_table[0, 0])
    if status:
        raise Stopped
    return np.asarray(means), np.asarray(squares)

"""Copies and checks of rows, mostly of CSR matrices, without the GIL."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, intptr_t
from libc.string cimport memcpy

#: Dtypes of arrays of the matrices that `plain_entries` accepts.
INTEGERS = np.dtype(np.int32), np.dtype(np.int64)
FLOATS = np.dtype(np.float32), np.dtype(np.float64)

ctypedef fused index:
    int32_t
    int64_t

ctypedef fused column:
    int32_t
    int64_t


def copied_rows(X, rows):
    """Return the arrays of ``X[rows]``, see `sktemper._utils._linalg.entries_of_rows`.

    The arrays are contiguous.  Raises IndexError if a row index, or an entry of a row,
    is outside of the matrix.
    """
    starts = np.empty(len(rows) + 1, dtype=np.intp)
    rows = np.ascontiguousarray(rows, dtype=np.intp)
    lengths_of_rows(X.indptr, rows, starts, min(len(X.indices), len(X.data)))
    columns = np.empty(starts[len(rows)], dtype=X.indices.dtype)
    values = np.empty(starts[len(rows)], dtype=X.data.dtype)
    for whole, part in (X.indices, columns), (X.data, values):
        own = whole.view(np.uint8), part.view(np.uint8)
        copy_rows(X.indptr, rows, starts, *own, part.itemsize)
    return starts, columns, values


def lengths_of_rows(
    const index[::1] indptr,
    const intptr_t[::1] rows,
    intptr_t[::1] starts,
    intptr_t n_entries,
):
    """Fill ``starts`` with the position of each row's entries in the joined rows."""
    cdef intptr_t i, row, total = 0, n_rows = indptr.shape[0] - 1
    cdef bint inside = True
    with nogil:
        starts[0] = 0
        for i in range(rows.shape[0]):
            row = rows[i]
            if not (
                0 <= row < n_rows
                and 0 <= indptr[row] <= indptr[row + 1] <= n_entries
            ):
                inside = False
                break
            total += indptr[row + 1] - indptr[row]
            starts[i + 1] = total
    if not inside:
        raise IndexError(f"row {row} is outside of a matrix of {n_rows} rows")


def copy_rows(
    const index[::1] indptr,
    const intptr_t[::1] rows,
    const intptr_t[::1] starts,
    const unsigned char[::1] whole,
    unsigned char[::1] part,
    intptr_t size,
):
    """Copy the entries of rows, each of ``size`` bytes, to the positions ``starts``."""
    cdef intptr_t i
    with nogil:
        for i in range(rows.shape[0]):
            if starts[i] < starts[i + 1]:
                memcpy(
                    &part[starts[i] * size],
                    &whole[indptr[rows[i]] * size],
                    (starts[i + 1] - starts[i]) * size,
                )


cpdef bint is_plain(
    const index[::1] starts, const column[::1] columns, intptr_t n_columns
):
    """Return whether arrays are those of a canonical CSR matrix.

    The starts begin with 0, do not decrease and end at the number of entries, and the
    columns of each row are columns of the matrix, sorted and distinct.
    """
    cdef intptr_t i, n, last, n_rows = starts.shape[0] - 1
    if n_rows < 0 or starts[0] != 0 or starts[n_rows] != columns.shape[0]:
        return False
    cdef bint is_valid = True
    with nogil:
        for i in range(n_rows):
            # the first comparison makes sure that the entries of the row exist
            is_valid = starts[i] <= starts[i + 1] <= columns.shape[0]
            last = -1
            if is_valid:
                for n in range(starts[i], starts[i + 1]):
                    is_valid = is_valid and last < columns[n] < n_columns
                    last = columns[n]
            if not is_valid:
                break
    return is_valid


def plain_entries(
    X, intptr_t most_rows, intptr_t most_values, intptr_t n_columns, double largest
):
    """Return the entries of a small CSR matrix that needs no conversion, or None.

    Such a matrix is canonical, has column indices in int32, and its numbers, in float32
    or float64, are positive.

    It has at most ``most_rows`` rows and ``most_values`` entries, and no number above
    ``largest``; its arrays may contradict each other.  The entries are new arrays:
    starts of rows in intp, columns in int32 and values in float64.
    """
    arrays = starts, columns, values = X.indptr, X.indices, X.data
    for array in arrays:
        if type(array) is not np.ndarray or array.ndim != 1:
            return None
    shape = X.shape
    if len(shape) != 2 or shape[1] != n_columns or len(starts) != shape[0] + 1:
        return None
    if not 0 < shape[0] <= most_rows or not len(columns) == len(values) <= most_values:
        return None
    if columns.dtype != INTEGERS[0] or values.dtype not in FLOATS:
        return None
    if starts.dtype not in INTEGERS:
        return None
    cdef const int64_t[::1] starts_copy = starts.astype(np.int64)
    cdef const int32_t[::1] columns_copy = columns.copy()
    cdef const double[::1] values_copy = values.astype(np.float64)
    cdef intptr_t n
    if not is_plain(starts_copy, columns_copy, n_columns):
        return None
    for n in range(values_copy.shape[0]):
        if not 0 < values_copy[n] <= largest:
            return None
    starts = starts_copy.base.astype(np.intp, copy=False)
    return starts, columns_copy.base, values_copy.base

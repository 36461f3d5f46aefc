"""Special functions, products of matrices, and arrays with the alignment of kernels."""

from math import prod

import numpy as np

from cython cimport floating

include "_loops.pxi"


def padded(length, dtype):
    """Return the length of a row, rounded up to a multiple of the widest vector."""
    lanes = SIMD_BYTES // np.dtype(dtype).itemsize
    return -(-length // lanes) * lanes


def aligned(make, shape, dtype):
    """Return an array that is aligned to vectors, so that loads cross no cache line.

    Rows of a `padded` length are then aligned, too.  The function ``make`` is
    `numpy.zeros` or `numpy.empty`.
    """
    dtype = np.dtype(dtype)
    n_bytes = (prod(shape) if isinstance(shape, tuple) else shape) * dtype.itemsize
    raw = make(n_bytes + SIMD_BYTES, dtype=np.uint8)
    cdef const unsigned char[::1] view = raw
    cdef intptr_t past = <intptr_t>&view[0] % SIMD_BYTES
    start = SIMD_BYTES - past if past else 0
    return raw[start : start + n_bytes].view(dtype).reshape(shape)


def sort_by_column(
    const intptr_t[::1] starts,
    const int32_t[::1] columns,
    intptr_t first,
    intptr_t last,
    const int32_t[::1] known,
    const floating[::1] values,
    const floating[::1] more,
    intptr_t[::1] ends,
    int32_t[::1] rows,
    floating[::1] sorted_values,
    floating[::1] sorted_more,
    int32_t[::1] places,
):
    """Sort the entries of the rows from ``first`` to ``last`` by their columns.

    Row r has the entries ``starts[r]`` to ``starts[r + 1]``, each with a column, a
    value, and another value unless ``more`` is None.  ``known`` are all columns that
    may occur, in increasing order.  The arrays from ``ends`` on are outputs: the first
    entry of each known column and the number of entries; the rows of the sorted
    entries, counted from ``first``; and their values.  ``places`` has a zero for each
    column before and after the call.
    """
    cdef intptr_t row, k, j, total = 0
    cdef int32_t at
    cdef bint has_more = more is not None
    with nogil:
        for k in range(starts[first], starts[last]):
            places[columns[k]] += 1
        for j in range(known.shape[0]):
            ends[j] = total
            total += places[known[j]]
            places[known[j]] = <int32_t>ends[j]
        ends[known.shape[0]] = total
        for row in range(first, last):
            for k in range(starts[row], starts[row + 1]):
                at = places[columns[k]]
                places[columns[k]] = at + 1
                rows[at] = <int32_t>(row - first)
                sorted_values[at] = values[k]
                if has_more:
                    sorted_more[at] = more[k]
        for j in range(known.shape[0]):
            places[known[j]] = 0


def lanes_scratch(d, n_vectors, n_turned):
    """Return the size of the scratch memory of ``gaussian_lanes.h``, for 4 by 4 tiles.

    It is for Gaussians of d dimensions, and for ``n_vectors`` vectors of this length
    besides two triangles.  Rows of ``n_turned`` entries (0: none) are transposed in the
    memory of the second triangle.
    """
    tiles = -(-d // 4)
    triangle = 8 * tiles * (tiles + 1)
    lanes = SIMD_BYTES // 8
    return lanes * (triangle + max(triangle, n_turned) + 4 * tiles * n_vectors)


def packed_columns(const floating[:, :] matrix):
    """Return a matrix in the layout that `multiply` needs with this instruction set."""
    cdef intptr_t n_inner = matrix.shape[0], n_columns = matrix.shape[1]
    cdef intptr_t size = sizeof(floating)
    cdef intptr_t row_stride = matrix.strides[0] // size
    cdef intptr_t column_stride = matrix.strides[1] // size
    dtype = np.float32 if floating is float else np.float64
    lanes = PRODUCT_BYTES // size
    out = aligned(np.empty, max(n_inner, 1) * -(-n_columns // lanes) * lanes, dtype)
    if not matrix.size:
        return out
    cdef floating[::1] panels = out
    with nogil:
        call_pack_columns(
            n_inner, n_columns, &matrix[0, 0], row_stride, column_stride, &panels[0]
        )
    return out


def multiply(
    const floating[:, :] rows, const floating[::1] columns, floating[:, ::1] out
):
    """Write rows times columns into ``out``.

    The bits of a row of the result do not depend on other rows.

    Each row is contiguous, and ``columns`` is a result of `packed_columns`.
    """
    cdef intptr_t n_rows = rows.shape[0], n_inner = rows.shape[1]
    cdef intptr_t n_columns = out.shape[1], stride = rows.strides[0] // sizeof(floating)
    if not n_rows * n_columns:
        return
    if not n_inner:
        out[:, :] = 0
        return
    assert rows.strides[1] == sizeof(floating) or n_inner == 1
    with nogil:
        call_product(
            n_rows, n_inner, n_columns, &rows[0, 0], stride, &columns[0], &out[0, 0]
        )


def log_rising(const double[::1] x, const double[::1] more):
    """Return log Gamma(x + more) - log Gamma(x), or None beyond the kernel's range."""
    cdef double[::1] out = np.empty(x.shape[0])
    largest = max(np.max(x, initial=0), np.max(more, initial=0))
    if not (np.min(x, initial=1) > 1e-40 and largest < 1e40):
        return None
    if x.shape[0]:
        call_log_rising(x.shape[0], &x[0], &more[0], &out[0])
    return out.base


def evaluate(str name, const floating[::1] x, double b=1.0):
    """Evaluate one of the shared special functions on an array."""
    cdef double[::1] precise = np.empty(x.shape[0])  # the type of two results
    cdef floating[::1] out
    cdef double shift = 0
    if name == "log_gamma":
        call_log_gamma(x.shape[0], &x[0], &precise[0])
        return precise.base, shift
    if name == "trigamma":
        call_trigamma(x.shape[0], &x[0], &precise[0])
        return precise.base, shift
    out = np.empty_like(x)
    if name == "digamma":
        call_digamma(x.shape[0], &x[0], &out[0])
    elif name == "exp_digamma":
        shift = call_exp_digamma(x.shape[0], <floating>np.max(x), &x[0], b, &out[0])
    elif name == "exp_scaled":
        call_exp_scaled(x.shape[0], &x[0], b, &out[0])
    else:
        raise ValueError(name)
    return out.base, shift

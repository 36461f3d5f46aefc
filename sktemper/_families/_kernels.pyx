"""Kernels of families: Wishart distributions, factors, sparse moments, and ascents.

All functions take and return arrays.  The loops are C, in ``_loops.h``, and are
compiled for each instruction set.
"""

import numpy as np

from cython cimport floating
from libc.math cimport log

from sktemper._simd.special import aligned, lanes_scratch

include "_loops.pxi"
include "_steps.pxi"

#: Constants of searches for splits and merges, see ``_blocks.h``.
USED, NEIGHBOURS = USED_ROWS, MERGE_NEIGHBOURS
AXES, POWER_ITERATIONS = SPLITS - 1, SPLIT_POWER_ITERATIONS
ROUNDS, ROUNDS_OF_STARTS = SPLIT_ROUNDS, SPLIT_ROUNDS_OF_STARTS
LEAST_COUNT, ROUNDING = SPLIT_LEAST_COUNT, SPLIT_ROUNDING


def inverse_factors(const double[:, :, ::1] matrices):
    """Return F with F^T F = matrix^-1, and log |matrix^-1|, for symmetric matrices.

    Only the lower triangles of the matrices are read.  F are lower triangular matrices.
    For a matrix that is not positive definite, or not finite, the logarithm is NaN.
    """
    cdef intptr_t n = matrices.shape[0], d = matrices.shape[1]
    factors, log_determinants = np.empty((n, d, d)), np.empty(n)
    if n == 0:
        return factors, log_determinants
    cdef double[:, :, ::1] triangles = factors
    cdef double[::1] logs = log_determinants
    cdef double[::1] scratch = aligned(np.empty, lanes_scratch(d, 1, 0), np.float64)
    with nogil:
        SIMD.inverse_factors_f64(
            n, d, &matrices[0, 0, 0], &triangles[0, 0, 0], &logs[0], &scratch[0]
        )
    return factors, log_determinants


def traces_and_squares(
    const double[:, :, ::1] factors,
    const double[:, :, ::1] matrices,
    const double[:, ::1] vectors,
):
    """Return tr(F^T F matrix) and |F vector|^2 for each lower triangular factor F."""
    cdef intptr_t n = factors.shape[0], d = factors.shape[1]
    out = np.empty((2, n))
    cdef double[:, ::1] results = out
    cdef double[::1] scratch = np.empty(d)
    with nogil:
        SIMD.traces_and_squares_f64(
            n,
            d,
            &factors[0, 0, 0],
            &matrices[0, 0, 0],
            &vectors[0, 0],
            &results[0, 0],
            &results[1, 0],
            &scratch[0],
        )
    return out[0], out[1]


def centred(
    const double[::1] precisions,
    const double[:, ::1] sums,
    const double[:, :, ::1] second,
):
    """Return means and inverse scales of Normal-Wishart distributions.

    ``sums`` are precisions times means, and ``second`` inverse scales plus precision *
    mean mean^T.
    """
    cdef intptr_t n = sums.shape[0], d = sums.shape[1]
    means, inverse_scales = np.empty((n, d)), np.empty((n, d, d))
    cdef double[:, ::1] own = means
    cdef double[:, :, ::1] matrices = inverse_scales
    with nogil:
        SIMD.centred_f64(
            n,
            d,
            &precisions[0],
            &sums[0, 0],
            &second[0, 0, 0],
            &own[0, 0],
            &matrices[0, 0, 0],
        )
    return means, inverse_scales


def precision_terms(
    int law,
    intptr_t n_features,
    const double[::1] precision,
    const double[::1] freedom,
    const double[::1] log_determinants,
):
    """Return terms of lower bounds, for the distribution of precisions with a number.

    These are E log |Lambda|; the logarithm of the density's normaliser, without the factor
    |Lambda|; and the expected log density of samples at distance 0.
    """
    cdef intptr_t n = freedom.shape[0]
    out = np.empty((3, n))
    if n == 0:
        return tuple(out)
    cdef double[:, ::1] results = out
    cdef double[::1] scratch = np.empty(2 * n * n_features + n)
    with nogil:
        SIMD.precision_terms_f64(
            law,
            n_features,
            n,
            &precision[0],
            &freedom[0],
            &log_determinants[0],
            &scratch[0],
            &results[0, 0],
            &results[1, 0],
            &results[2, 0],
        )
    return tuple(out)


def precision_bounds(
    intptr_t n_features,
    double shift,
    double power,
    const double[:, ::1] q,
    const double[:, ::1] p,
    const double[::1] traces,
    const double[::1] squares,
):
    """Return power * E log p - E log q of each component.

    ``q`` and ``p`` have precisions of means, degrees of freedom, and the first two results
    of `precision_terms`; for the others see `Covariance.traces_and_squares`.
    """
    out = np.empty(traces.shape[0])
    cdef double[::1] bounds = out
    SIMD.precision_bounds_f64(
        traces.shape[0],
        n_features,
        shift,
        power,
        &q[0, 0],
        &p[0, 0],
        &traces[0],
        &squares[0],
        &bounds[0],
    )
    return out


def entropies_of_merges(
    const double[:, ::1] shares,
    const double[::1] row_weight,
    const intptr_t[:, ::1] pairs,
    double least,
):
    """Return the increases of the entropy of responsibilities by merges of two components.

    ``shares`` has a row for each component, and ``pairs`` one for each merge.  Rows count
    if both responsibilities are larger than ``least``.
    """
    cdef intptr_t p, i, first, second
    cdef double one, other, both
    out = np.zeros(pairs.shape[0])
    cdef double[::1] rises = out
    with nogil:
        for p in range(pairs.shape[0]):
            first, second = pairs[p, 0], pairs[p, 1]
            for i in range(shares.shape[1]):
                one, other = shares[first, i], shares[second, i]
                if one > least and other > least:
                    both = one + other
                    rises[p] += row_weight[i] * (
                        one * log(one / both) + other * log(other / both)
                    )
    return out


def sparse_times(
    const intptr_t[::1] starts,
    const int32_t[::1] columns,
    const double[::1] values,
    const double[:, ::1] matrix,
):
    """Return the product of a CSR matrix and a matrix, with the bits of SciPy."""
    cdef intptr_t n = starts.shape[0] - 1, width = matrix.shape[1]
    check_entries(starts, columns, values.shape[0], matrix.shape[0])
    out = np.zeros((n, width))
    if out.size == 0 or columns.shape[0] == 0:
        return out
    cdef double[:, ::1] product = out
    with nogil:
        SIMD.sparse_times_f64(
            n, width, &starts[0], &columns[0], &values[0], &matrix[0, 0], &product[0, 0]
        )
    return out


def sparse_sums(
    const intptr_t[::1] starts,
    const int32_t[::1] columns,
    const double[::1] values,
    const double[:, ::1] shares,
    intptr_t n_columns,
):
    """Return the transpose of a CSR matrix times shares, with the bits of SciPy."""
    cdef intptr_t n = starts.shape[0] - 1, width = shares.shape[1]
    if shares.shape[0] != n:
        raise ValueError(f"{shares.shape[0]} rows of shares for {n} rows")
    check_entries(starts, columns, values.shape[0], n_columns)
    out = np.zeros((n_columns, width))
    if out.size == 0 or columns.shape[0] == 0:
        return out
    cdef double[:, ::1] sums = out
    with nogil:
        SIMD.add_sparse_sums_f64(
            n, width, &starts[0], &columns[0], &values[0], &shares[0, 0], &sums[0, 0]
        )
    return out


cdef int check_entries(
    const intptr_t[::1] starts,
    const int32_t[::1] columns,
    intptr_t n_values,
    intptr_t n_columns,
) except -1:
    """Raise if rows, or columns, are outside of the arrays."""
    cdef intptr_t i, n = starts.shape[0] - 1, n_entries = columns.shape[0]
    cdef int32_t least = 0, largest = -1
    cdef bint inside = n >= 0 and starts[0] >= 0 and starts[n] <= n_entries <= n_values
    with nogil:
        for i in range(n):
            inside = inside and starts[i] <= starts[i + 1]
        for i in range(n_entries):
            least = min(least, columns[i])
            largest = max(largest, columns[i])
    if not inside or least < 0 or largest >= n_columns:
        raise IndexError(f"entries are outside of a matrix of {n_columns} columns")
    return 0


# -- ascents of mixtures of products of families ---------------------------------------
cdef int fill_block(
    product_block *block, tuple parts, object moments, const double[::1] prior
) except -1:
    """Fill in sizes, the family and the moments of samples."""
    cdef const int[::1] kinds
    cdef const intptr_t[::1] sizes
    kinds, sizes = parts
    block.n_parts, block.n_natural = kinds.shape[0], prior.shape[0]
    block.kinds, block.sizes, block.prior = &kinds[0], &sizes[0], &prior[0]
    return fill_moments(block, moments)


cdef int fill_moments(
    product_block *block, object moments, const double[::1] log_base=None
) except -1:
    """Fill in the moments of samples, and their base measure."""
    cdef const intptr_t[::1] starts
    cdef const double[::1] values
    cdef const double[:, ::1] rows
    cdef const int32_t[::1] columns
    block.starts, block.columns, block.moments = NULL, NULL, NULL
    block.log_base = _address(log_base)
    if not isinstance(moments, tuple):
        rows = moments
        if rows.shape[1] != block.n_natural:
            raise ValueError(f"{rows.shape[1]} moments for {block.n_natural} parameters")
        block.n_samples, block.moments = rows.shape[0], &rows[0, 0]
        return 0
    starts, columns, values = moments
    check_entries(starts, columns, values.shape[0], block.n_natural)
    block.n_samples, block.starts = starts.shape[0] - 1, &starts[0]
    if columns.shape[0]:
        block.columns, block.moments = &columns[0], &values[0]
    return 0


cdef class ProductSections(Sections):
    """See `product_block`.

    ``blocks(i)`` yields the blocks of section i: the number of the first sample, the
    moments, and what `Family.log_base` returns.
    """

    cdef product_block *block
    cdef object blocks

    def __init__(self, n_sections, blocks):
        super().__init__(n_sections)
        self.blocks = blocks

    def step(self, intptr_t i):
        cdef product_block own
        cdef int status = 0
        for first, moments, log_base in self.blocks(i):
            own = self.block[0]
            fill_moments(&own, moments, log_base)
            own.row_bounds += <intptr_t>first
            if own.row_weight != NULL:
                own.row_weight += <intptr_t>first
            with nogil:
                status = status or SIMD.product_section_f64(&own, i)
        return status


def product_ascent(
    tuple parts,
    object moments,
    const double[::1] log_base,
    const double[::1] row_weight,
    const double[::1] prior,
    tuple numbers,
    tuple steps,
    tuple state,
    double[::1] row_bounds,
    ProductSections sections,
):
    """Take several steps of coordinate ascent; return the status, ``n_done`` and ``before``.

    The struct ``product_block`` in ``_blocks.h`` describes the arguments.  ``parts`` are the
    kinds and sizes; sparse moments are a tuple of starts, columns and values; ``numbers``
    are whether weights are stick-breaking, and their concentration; for ``steps`` see
    `set_steps`.  The call changes ``state``, the weights and the components.  With
    ``sections``, or else None, the moments are those of any block.
    """
    cdef product_block block
    cdef int status
    cdef double[::1] weights = state[0], scratch
    cdef double[:, ::1] components = state[1]
    fill_block(&block, parts, moments, prior)
    block.n_components = components.shape[0]
    block.sticks, block.concentration = numbers
    block.log_base, block.row_weight = _address(log_base), _address(row_weight)
    block.weights, block.components = &weights[0], &components[0, 0]
    block.row_bounds = &row_bounds[0]
    set_steps(&block.steps, steps, sections)
    if sections is not None:
        sections.block = &block
    scratch = aligned(np.empty, SIMD.product_ascent_size_f64(&block), np.float64)
    block.scratch = &scratch[0]
    with nogil:
        status = run_product_ascent(False, &block)
    return results_of(status, &block.steps)


def product_split(
    tuple parts,
    object moments,
    object coordinates,
    const double[::1] weight,
    const double[::1] prior,
    object whole,
    double[:, ::1] axes,
):
    """Return the best split of a component, see `best_split` in ``_births.py``.

    The struct ``product_split_block`` in ``_blocks.h`` describes the arguments, of which
    ``whole`` is a `Whole`, and `product_ascent` the first two.
    """
    cdef product_split_block block
    cdef const double[::1] entries, statistics
    cdef const double[:, ::1] rows
    cdef int found
    fill_block(&block.product, parts, moments, prior)
    cdef intptr_t n = block.product.n_samples, C = axes.shape[1]
    cdef intptr_t M = block.product.n_natural
    best, moved = np.empty(n), np.empty(M)
    cdef double[::1] own_best = best, own_moved = moved, shares = np.empty(3 * n)
    cdef double[::1] scratch = np.empty(3 * C + 11 * M + 2 * block.product.n_parts + 48)
    block.n_coordinates = C
    if block.product.starts == NULL:
        rows = coordinates
        block.coordinates = &rows[0, 0]
    else:
        entries = coordinates
        block.coordinates = &entries[0] if entries.shape[0] else NULL
    block.count_of_whole, statistics, block.product.concentration = whole
    block.whole, block.product.row_weight = &statistics[0], &weight[0]
    block.axes, block.shares, block.scratch = &axes[0, 0], &shares[0], &scratch[0]
    block.best, block.moved = &own_best[0], &own_moved[0]
    with nogil:
        found = run_product_split(False, &block)
    return (best, moved, block.count, block.entropy) if found else None


cdef const double *_address(const double[::1] values):
    return NULL if values is None else &values[0]


def gaussians(
    sums,
    floating[:, :, ::1] table,
    const double[::1] prior,
    places,
    const int[::1] stop,
    double[:, ::1] means,
    *,
    intptr_t first,
    intptr_t last,
    const double[::1] scales=None,
    const double[::1] shared=None,
    const double[::1] traced=None,
    const double[::1] weights=None,
    double[:, ::1] scalars=None,
    double[:, ::1] covariances=None,
    double[::1] total=None,
):
    """Compute moments of some Gaussians of a factorization from sums and a prior.

    The struct ``gaussians_block`` in ``_blocks.h`` describes the arguments, but None
    stands for its NULL.  ``places`` are the rank, at_linear and at_mean.  The arrays
    ``table`` and ``means``, and all after ``weights``, are outputs, except that without
    ``scalars`` only means are written.  Log determinants are NaN for precisions that
    are not positive definite.

    Returns
    -------
    n_indefinite : int
        Number of rows whose precision is not positive definite, or -1 if stopped.  The
        other outputs for these rows are meaningless.
    """
    cdef gaussians_block block
    cdef intptr_t n_own = means.shape[1], status
    cdef const double[:, :, ::1] wide
    cdef const floating[:, :, ::1] own
    cdef double[::1] scratch
    if last <= first:
        return 0
    block.n_rows, block.first, block.last = means.shape[0], first, last
    block.rank, block.at_linear, block.at_mean = places
    block.biases = n_own - block.rank
    block.n_sums, _, block.sums_panel = sums.shape
    block.n_panels, block.panel = table.shape[0], table.shape[2]
    block.has_wide_sums = sums.dtype == np.float64
    if block.has_wide_sums:
        wide = sums
        block.sums = &wide[0, 0, 0]
    else:
        own = sums
        block.sums = &own[0, 0, 0]
    width = max(block.n_sums * block.sums_panel, block.n_panels * block.panel)
    scratch = aligned(np.empty, lanes_scratch(n_own, 3, width), np.float64)
    block.scales, block.prior, block.shared = _address(scales), &prior[0], _address(shared)
    block.traced, block.weights = _address(traced), _address(weights)
    block.stop, block.means, block.scratch = &stop[0], &means[0, 0], &scratch[0]
    block.table = NULL if scalars is None else &table[0, 0, 0]
    block.scalars = NULL if scalars is None else &scalars[0, 0]
    block.covariances = NULL if covariances is None else &covariances[0, 0]
    block.total = NULL if total is None else &total[0]
    with nogil:
        status = call_gaussians(floating is float, &block)
    return status

"""Kernels of the factorial mixture: loops over samples and their binary features.

All functions take arrays and write their results into arrays.  They draw no random
numbers and do not depend on policies.  The loops are C, in ``_loops.h``, and are
compiled for each instruction set.  A call returns early if another thread sets ``stop``,
an array of shape (1,), to a nonzero number.
"""

import numpy as np

from cython cimport floating

from sktemper._contract import Stopped
from sktemper._simd.special import aligned, padded

include "_loops.pxi"
include "../_families/_steps.pxi"


def local_step(
    const floating[:, ::1] products,
    const floating[:, ::1] gram,
    const floating[:, ::1] offsets,
    const floating[::1] prior_logits,
    bint gram_per_sample,
    const double[::1] powers,
    const double[::1] heats,
    double cooling,
    double tol,
    intptr_t max_iter,
    const int[::1] stop,
    floating[:, ::1] probabilities,
    double[::1] fits,
    double[::1] scores,
    double[::1] entropies,
):
    """Optimise the (tempered) bound of each sample over the features' probabilities.

    The struct ``binary_block`` in ``_blocks.h`` describes the arguments.  If
    ``gram_per_sample``, ``gram`` is a result of `grams`.  There is no cooling of a sample
    whose factor in ``heats`` is infinite or NaN.  The sweeps of a sample end when no
    probability changes by ``tol`` in a sweep, or after ``max_iter`` sweeps, without those of
    the cooling.  Returns the number of all sweeps.
    """
    cdef binary_block block
    cdef int status
    dtype = np.float32 if floating is float else np.float64
    block.n_samples = products.shape[0]
    block.n_features = products.shape[1]
    size = 4 * block.n_features * BINARY_BYTES
    if gram_per_sample:
        size += gram.shape[1] * OWN_BYTES
    kept = aligned(np.empty, size // <intptr_t>sizeof(floating), dtype)
    cdef floating[::1] scratch = kept
    block.products = &products[0, 0]
    block.gram = &gram[0, 0]
    block.offsets = &offsets[0, 0]
    block.prior_logits = &prior_logits[0]
    block.gram_per_sample = gram_per_sample
    block.powers = &powers[0]
    block.power_per_sample = powers.shape[0] != 1
    block.heats = &heats[0]
    block.cooling = cooling
    block.tol = tol
    block.max_iter = max_iter
    block.stop = &stop[0]
    block.nu = &probabilities[0, 0]
    block.fits = &fits[0]
    block.scores = &scores[0]
    block.entropies = &entropies[0]
    block.scratch = &scratch[0]
    with nogil:
        status = run_binary_local_step(floating is float, &block)
    if status:
        raise Stopped
    return block.n_iterations


def grams(
    missing,
    means,
    const double[::1] products,
    const double[::1] spread,
    bint completing,
    const int[::1] stop,
    floating[:, ::1] out,
    double[:, ::1] diagonals,
):
    """Write the gram of each sample, computed from observed dimensions, into ``out``.

    The struct ``grams_block`` in ``_blocks.h`` describes the arguments, but here ``means``
    has the shape (n_features, n_dimensions).
    """
    cdef grams_block block
    cdef int status
    K, D = means.shape
    width = padded(K, np.float64)
    columns = aligned(np.zeros, (D, width), np.float64)
    columns[:, :K] = means.T
    cdef const unsigned char[:, ::1] absent = missing.view(np.uint8)
    cdef const double[:, ::1] table = columns
    cdef double[:, ::1] sums = aligned(np.empty, (width, width), np.float64)
    cdef int32_t[::1] listed = np.empty(D + 1, dtype=np.int32)
    block.n_samples = absent.shape[0]
    block.n_dimensions = D
    block.n_features = K
    block.width = width
    block.missing = &absent[0, 0]
    block.means = &table[0, 0]
    block.products = &products[0]
    block.spread = &spread[0]
    block.completing = completing
    block.stop = &stop[0]
    block.listed = &listed[0]
    block.sums = &sums[0, 0]
    block.grams = &out[0, 0]
    block.diagonals = &diagonals[0, 0]
    with nogil:
        status = call_binary_grams(floating is float, &block)
    if status:
        raise Stopped


def ascent(
    const floating[:, ::1] samples,
    const double[::1] squares,
    const double[::1] row_weight,
    tuple options,
    tuple numbers,
    tuple steps,
    tuple state,
    floating[:, ::1] probabilities,
    double[::1] row_bounds,
    Sections sections,
):
    """Take several steps of coordinate ascent, with ``sections`` if threads share them.

    The struct ``factorial_block`` in ``_blocks.h`` describes the arguments, and `set_steps`
    the steps.  The call changes ``state``: the precision, weighted means, inclusion
    probabilities, and the noise variance of shape (1,).  It changes ``probabilities`` if
    they are kept.  Returns the status, ``n_done``, ``before`` and ``has_local``.
    """
    cdef factorial_block block
    cdef int status
    cdef double[:, ::1] precision = state[0], weighted_means = state[1], bounds = steps[7]
    cdef double[::1] inclusion = state[2], noise = state[3], scratch
    block.n_samples, block.n_dimensions = samples.shape[0], samples.shape[1]
    block.n_features = precision.shape[0]
    block.structured, block.learned, block.keeps_local = options[:3]
    block.has_local, block.max_iter = options[3:]
    block.component_variance, block.least_noise, block.least_inclusion = numbers[:3]
    block.cooling, block.tol = numbers[3:]
    block.samples = &samples[0, 0]
    block.squares = &squares[0]
    block.row_weight = NULL if row_weight is None else &row_weight[0]
    set_steps(&block.steps, steps, sections)
    if sections is not None:
        sections.block = &block
        sections.function = (
            SIMD.factorial_section_f32 if floating is float else SIMD.factorial_section_f64
        )
    block.precision, block.weighted_means = &precision[0, 0], &weighted_means[0, 0]
    block.inclusion, block.noise = &inclusion[0], noise[0]
    block.nu = &probabilities[0, 0]
    block.iterations, block.row_bounds = &bounds[2, 0], &row_bounds[0]
    size = SIMD.factorial_ascent_size_f64(&block)
    scratch = aligned(np.empty, size, np.float64)
    block.scratch = &scratch[0]
    with nogil:
        status = run_factorial_ascent(floating is float, &block)
    noise[0] = block.noise
    return *results_of(status, &block.steps), bool(block.has_local)


def row_squares(const floating[:, :] rows, double[::1] out):
    """Write the sums of squares of rows into ``out``; the sums are in float64."""
    if rows.shape[1] > 1 and rows.strides[1] != sizeof(floating):
        raise ValueError("The entries of a row must be contiguous.")
    cdef intptr_t stride = rows.strides[0] // <intptr_t>sizeof(floating)
    if rows.shape[0] == 0:
        return
    with nogil:
        call_row_squares(rows.shape[0], rows.shape[1], stride, &rows[0, 0], &out[0])

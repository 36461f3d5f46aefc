"""Kernels of the Gaussian mixture: loops over samples and components.

All functions take arrays and write their results into arrays.  They draw no random
numbers and do not depend on policies.  The loops are C, in ``_loops.h``, and are
compiled for each instruction set.
"""

import numpy as np

from sktemper._contract import Stopped
from sktemper._simd.special import aligned

from cython cimport floating

include "_loops.pxi"
include "../_families/_steps.pxi"


def local_step(
    const floating[:, ::1] samples,
    const floating[:, ::1] means,
    const floating[:, ::1] factors,
    const double[::1] constants,
    const double[::1] powers,
    const int[::1] stop,
    bint only_distances,
    floating[:, ::1] responsibilities,
    double[::1] bounds,
    double[::1] scores,
):
    """Compute responsibilities, or distances, of samples; see `mixture_block`.

    There is one power for all samples, or one for each.
    """
    cdef mixture_block block
    cdef int status
    kept = _fill(&block, samples, means, factors, constants, stop)
    block.powers = &powers[0]
    block.power_per_sample = powers.shape[0] != 1
    block.only_distances = only_distances
    block.responsibilities = &responsibilities[0, 0]
    block.bounds = &bounds[0]
    block.scores = &scores[0]
    with nogil:
        status = run_mixture_local_step(floating is float, &block)
    if status:
        raise Stopped


cdef _fill(
    mixture_block *block,
    const floating[:, ::1] samples,
    const floating[:, ::1] means,
    const floating[:, ::1] factors,
    const double[::1] constants,
    const int[::1] stop,
):
    """Set the arguments of all loops over components; return the scratch memory."""
    dtype = np.float32 if floating is float else np.float64
    block.n_samples = samples.shape[0]
    block.n_features = samples.shape[1]
    block.n_components = means.shape[0]
    block.triangular = factors.shape[1] != block.n_features
    lanes = MIXTURE_BYTES // <intptr_t>sizeof(floating)
    n_vectors = 2 * block.n_features + block.n_components
    n_shifts = block.n_components * block.n_features
    cdef floating[::1] scratch = aligned(np.empty, n_vectors * lanes + n_shifts, dtype)
    block.samples = &samples[0, 0]
    block.means = &means[0, 0]
    block.factors = &factors[0, 0]
    block.constants = &constants[0]
    block.stop = &stop[0]
    block.scratch = &scratch[0]
    return scratch


def predictive(
    const floating[:, ::1] samples,
    const floating[:, ::1] means,
    const floating[:, ::1] factors,
    const double[::1] constants,
    const double[::1] exponents,
    const double[::1] scales,
    const double[::1] origin,
    const double[:, ::1] centres,
    const double[:, ::1] product_factors,
    const int[::1] stop,
    double[::1] scores,
):
    """Compute log densities of a mixture of Student-t densities; see `predictive_block`.

    ``origin`` and the arguments of products over features may be None.
    """
    cdef predictive_block block
    cdef int status
    if not samples.shape[0]:
        return
    kept = _fill(&block.mixture, samples, means, factors, constants, stop)
    lanes = MIXTURE_BYTES // <intptr_t>sizeof(floating)
    n_logs = block.mixture.n_features + block.mixture.n_components
    cdef double[::1] logs = np.empty(n_logs * lanes)
    block.mixture.only_distances = True
    block.mixture.scores = &scores[0]
    block.exponents, block.scales = &exponents[0], &scales[0]
    block.origin = block.centres = block.factors = NULL
    if origin is not None:
        block.origin = &origin[0]
        block.centres, block.factors = &centres[0, 0], &product_factors[0, 0]
    block.logs = &logs[0]
    with nogil:
        status = run_mixture_predictive(floating is float, &block)
    if status:
        raise Stopped


def weighted_moments(
    const floating[:, ::1] samples,
    const double[::1] origin,
    bint squares,
    const floating[:, ::1] shares,
    const double[::1] factors,
    const int[::1] stop,
    double[:, ::1] out,
):
    """Compute weighted sums of moments; see `moments_block`.

    There is one factor for all samples, or one for each.
    """
    cdef moments_block block
    cdef int status
    if samples.shape[0] == 0:
        out[:] = 0
        return
    block.n_samples = samples.shape[0]
    block.n_features = samples.shape[1]
    block.n_components = shares.shape[1]
    block.n_moments = out.shape[1]
    cdef double[::1] scratch = np.empty(
        call_moments_size(
            False, block.n_components, block.n_features, block.n_moments
        )
    )
    block.squares = squares
    block.samples = &samples[0, 0]
    block.origin = &origin[0]
    block.shares = &shares[0, 0]
    block.factors = &factors[0]
    block.factor_per_sample = factors.shape[0] != 1
    block.stop = &stop[0]
    block.scratch = &scratch[0]
    block.out = &out[0, 0]
    with nogil:
        status = run_weighted_moments(floating is float, &block)
    if status:
        raise Stopped


#: Initial degrees of freedom of learned priors minus their lower limit, and their range.
FREE_DEGREES_AND_RANGE = FREE_DEGREES, LEAST_FREE, MOST_FREE
#: Range of degrees of freedom of scales, and largest factor of a step of Newton's method.
LIMITS_OF_SCALED = LEAST_SCALED, MOST_SCALED, SCALE_NEWTON_FACTOR
#: Largest squared distance of a row that has a scale.
FARTHEST = FARTHEST_ROW


cdef take_scratch(ascent_block *block, intptr_t n_sections=1, tuple gaps=None):
    """Set the gaps, and set and return new scratch memory, for samples of a mixture."""
    cdef const intptr_t[::1] order, starts, columns
    block.starts = NULL
    if gaps is not None:
        order, starts, columns, block.most_pairs = gaps
        block.order, block.starts, block.columns = &order[0], &starts[0], &columns[0]
        block.most_pairs *= block.kind & 1  # independent columns have no pairs
    block.steps.n_sections = n_sections
    size = SIMD.gaussian_ascent_size_f64(block)
    cdef double[::1] scratch = aligned(np.empty, size, np.float64)
    block.scratch = &scratch[0]
    return scratch


cdef set_priors(ascent_block *block, tuple priors):
    """Set options, and priors that a call may change, see `kernel_priors` in ``_priors.py``."""
    cdef const double[::1] mean
    cdef double[::1] hyper, freedom
    kinds, block.concentration, mean, hyper, freedom = priors
    block.kind, block.law, block.sticks, block.learned, *others = kinds
    block.is_diagonal, block.is_noisy = others
    block.prior_mean, block.hyper = &mean[0], &hyper[0]
    block.freedom_of_scales = NULL if freedom is None else &freedom[0]


def ascent(
    const floating[:, ::1] samples,
    const double[::1] origin,
    const double[::1] added,
    const double[::1] row_weight,
    tuple gaps,
    tuple priors,
    tuple steps,
    double[::1] weights,
    double[::1] components,
    double[::1] row_bounds,
    Sections sections,
):
    """Take several steps of coordinate ascent, and change the parameters and priors.

    For ``gaps`` see `GappedRows.gaps`, for ``priors`` `kernel_priors`, for ``steps``
    `set_steps`, and for the other arguments `ascent_block`; ``row_weight``, ``gaps`` and
    ``sections`` may be None.  Returns the status, the number of steps that were taken, and
    the lower bound of the last one.
    """
    cdef ascent_block block
    cdef int status
    set_priors(&block, priors)
    block.n_samples, block.n_features = samples.shape[0], samples.shape[1]
    block.n_components = weights.shape[0] // (2 if block.sticks else 1)
    block.samples, block.origin = &samples[0, 0], &origin[0]
    block.row_weight = NULL if row_weight is None else &row_weight[0]
    block.added = &added[0]
    set_steps(&block.steps, steps, sections)
    block.weights, block.components = &weights[0], &components[0]
    block.row_bounds = &row_bounds[0]
    if sections is not None:
        sections.block = &block
        sections.function = (
            SIMD.gaussian_ascent_section_f32 if floating is float else SIMD.gaussian_ascent_section_f64
        )
    kept = take_scratch(&block, block.steps.n_sections, gaps)
    with nogil:
        status = run_gaussian_ascent(floating is float, &block)
    return results_of(status, &block.steps)


def complete_rows(
    const double[:, ::1] rows,
    const double[::1] origin,
    tuple gaps,
    tuple usual,
    const double[:, ::1] shares,
    const double[:, ::1] noise,
    const int[::1] stop,
    double[:, :, ::1] distances,
    double[:, ::1] filled,
    double[::1] sums,
):
    """Complete rows with gaps given components; see the loop `gaussian_gaps`.

    ``usual`` are the number of the covariance type, means, degrees of freedom and
    factors.  ``shares`` and ``noise`` may be None.
    """
    cdef ascent_block block
    cdef double[::1] means, freedom, factors
    cdef int status
    block.kind, means, freedom, factors = usual
    block.n_samples, block.n_features = rows.shape[0], rows.shape[1]
    block.n_components, block.law = freedom.shape[0], 0
    block.samples, block.row_weight, block.steps.stop = &rows[0, 0], NULL, &stop[0]
    block.origin, block.freedom_of_scales = &origin[0], NULL
    kept = take_scratch(&block, 1, gaps)
    block.now.means, block.now.freedom = &means[0], &freedom[0]
    block.now.factors = &factors[0]
    cdef const double *given = NULL if shares is None else &shares[0, 0]
    cdef const double *draws = NULL if noise is None else &noise[0, 0]
    with nogil:
        status = SIMD.gaussian_gaps_f64(
            &block, given, draws, &distances[0, 0, 0], &filled[0, 0], &sums[0]
        )
    if status:
        raise Stopped


def learn_priors(
    double[::1] statistics,
    const double[::1] counts,
    double scale,
    bint whole,
    tuple priors,
):
    """Learn the priors of components from their statistics; return whether it was done.

    Statistics have the layout of natural parameters; they and ``counts``, the numbers of
    rows, are multiplied by ``scale``.  ``whole`` says whether a step goes all the way to
    the priors.  The call changes ``priors``, see `kernel_priors`.
    """
    cdef ascent_block block
    cdef bint is_learned
    set_priors(&block, priors)
    block.n_components, block.n_features = counts.shape[0], priors[2].shape[0]
    block.steps.scale, block.components = scale, &statistics[0]
    kept = take_scratch(&block)
    with nogil:
        is_learned = SIMD.gaussian_priors_f64(&block, &counts[0], whole)
    return is_learned


def nearest_centres(
    const double[:, ::1] samples,
    const double[::1] weight,
    const double[:, ::1] centres,
    intptr_t[::1] labels,
    double[:, ::1] sums,
):
    """Find the nearest centre of each sample, and add samples to ``sums`` unless None.

    See the loop of this name; ``sums`` has the shape (n_centres, 1 + n_features).
    """
    cdef intptr_t n = samples.shape[0], D = samples.shape[1], K = centres.shape[0]
    cdef double[::1] halves = 0.5 * np.square(centres).sum(axis=1)
    cdef double[::1] x = np.empty(D * MIXTURE_BYTES // sizeof(double))
    cdef double *out = NULL if sums is None else &sums[0, 0]
    with nogil:
        SIMD.nearest_centres_f64(
            n, D, K, &samples[0, 0], &weight[0], &centres[0, 0], &halves[0], &x[0],
            &labels[0], out,
        )


def distances_to_seeds(
    const double[:, ::1] samples,
    const double[::1] weight,
    const intptr_t[::1] drawn,
    const double[::1] nearest,
    double[:, ::1] distances,
):
    """Return weighted sums of squared distances for each of several new seeds.

    See the loop of this name; ``distances`` has the shape (at least n_drawn, n_samples).
    """
    cdef intptr_t n = samples.shape[0], D = samples.shape[1], n_drawn = drawn.shape[0]
    cdef double[::1] x = np.empty(D * MIXTURE_BYTES // sizeof(double))
    sums = np.zeros(n_drawn)
    cdef double[::1] out = sums
    with nogil:
        SIMD.distances_to_seeds_f64(
            n, D, n_drawn, &samples[0, 0], &weight[0], &drawn[0], &nearest[0], &x[0],
            &distances[0, 0], &out[0],
        )
    return sums


def best_split(
    const floating[:, ::1] samples,
    const floating[:, ::1] coordinates,
    const double[::1] weight,
    const double[::1] origin,
    const double[::1] added,
    const double[::1] prior,
    const double[::1] whole,
    tuple kinds,
    tuple numbers,
    const int[::1] stop,
    double[:, ::1] axes,
    double[::1] best,
    double[::1] moved,
):
    """Find the best split of a component in two; see `split_block`.

    ``kinds`` are numbers of the covariance type and of its law, and ``numbers`` the
    concentration of the weights and the number of samples of the component.
    Returns the status, see `Ascent`, and the increase of the entropy of the shares.
    """
    cdef split_block block
    cdef int status
    dtype = np.float32 if floating is float else np.float64
    cdef floating[::1] shares = np.empty(samples.shape[0] * SPLITS, dtype)
    cdef double[::1] statistics = np.empty(SPLITS * whole.shape[0])
    block.ascent.n_samples, block.ascent.n_features = samples.shape[0], samples.shape[1]
    block.ascent.n_components = 2 * SPLITS
    block.ascent.kind, block.ascent.law = kinds
    block.ascent.sticks = block.ascent.learned = block.ascent.is_noisy = 0
    block.ascent.samples, block.ascent.origin = &samples[0, 0], &origin[0]
    block.ascent.row_weight = &weight[0]
    block.ascent.added = &added[0]
    block.ascent.concentration, block.count_of_whole = numbers
    block.ascent.steps.scale, block.ascent.freedom_of_scales = 1.0, NULL
    block.ascent.steps.stop = &stop[0]
    kept = take_scratch(&block.ascent)
    block.coordinates, block.axes = &coordinates[0, 0], &axes[0, 0]
    block.prior, block.whole = &prior[0], &whole[0]
    block.shares, block.statistics = &shares[0], &statistics[0]
    block.best, block.moved = &best[0], &moved[0]
    block.entropy = 0.0
    with nogil:
        status = run_gaussian_split(floating is float, &block)
    return status, block.entropy


def agglomerate(
    double[:, ::1] statistics,
    tuple priors,
    intptr_t n_weights,
    intptr_t least,
):
    """Merge clusters, and find the partition with the highest evidence.

    See `agglomeration_block`; for ``priors``, which the call replaces, see
    `kernel_priors`.  Returns the number of clusters of the best partition, 0 if one is
    ill-defined, and its evidence.
    """
    cdef agglomeration_block block
    cdef int is_ill
    cdef intptr_t n = statistics.shape[0], size = statistics.shape[1]
    cdef double[::1] own = np.empty(2 * n * (size + n + 2) + size + 64)
    set_priors(&block.ascent, priors)
    block.ascent.freedom_of_scales = NULL  # statistics of clusters have no scales
    block.ascent.n_components, block.ascent.n_features = n, priors[2].shape[0]
    block.ascent.steps.scale = 1.0
    kept = take_scratch(&block.ascent)
    block.n_weights, block.least, block.statistics = n_weights, least, &statistics[0, 0]
    block.scratch, block.n_best, block.evidence = &own[0], 0, 0.0
    with nogil:
        is_ill = SIMD.gaussian_agglomeration_f64(&block)
    return 0 if is_ill else block.n_best, block.evidence

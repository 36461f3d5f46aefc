"""Kernels of the Gaussian mixture: loops over samples and components.

All functions take arrays and write their results into arrays.  They draw no random
numbers and do not depend on policies.  The loops are C, in ``_loops.h``, and are
compiled for each instruction set.
"""

from functools import partial

import numpy as np

from sktemper._simd.special import aligned, lanes_scratch
from sktemper._utils._tasks import run_shared

from cython cimport floating

include "_loops.pxi"
include "../_families/_steps.pxi"


def local_step(
    const floating[:, ::1] samples,
    const floating[:, ::1] means,
    const floating[:, ::1] factors,
    const double[::1] constants,
    const double[::1] powers,
    bint power_per_sample,
    const int[::1] stop,
    bint only_distances,
    floating[:, ::1] responsibilities,
    double[::1] bounds,
    double[::1] scores,
):
    """Compute responsibilities, the softmax of power * log density over components.

    The log density of a sample under a component, with the component's weight, is
    ``constants_k - |factors_k (sample - means_k)|^2 / 2``.

    Parameters
    ----------
    samples : ndarray of shape (n_samples, n_features)
    means : ndarray of shape (n_components, n_features)
    factors : ndarray of shape (n_components, n_features * (n_features + 1) / 2) or \
            (n_components, n_features)
        Lower triangles, packed by rows, or diagonals.
    constants : ndarray of shape (n_components,)
    powers : ndarray of shape (1,) or (n_samples,)
        Exponent of the likelihood, for all samples or for each sample.
    power_per_sample : bool
        Whether each sample has its own exponent.
    stop : ndarray of shape (1,)
        Flag; if another thread sets it, the call returns early.
    only_distances : bool
        Whether to compute only ``|factors_k (sample - means_k)|^2``.
    responsibilities : ndarray of shape (n_samples, n_components)
        Receives the responsibilities, or the squared distances.
    bounds : ndarray of shape (n_samples,)
        Receives log sum_k exp(power * log density).
    scores : ndarray of shape (n_samples,)
        Receives the mean of the log densities under the responsibilities.

    Returns
    -------
    status : int
        0, or -1 if stopped.
    """
    cdef mixture_block block
    cdef int status
    kept = _fill(&block, samples, means, factors, constants, stop)
    block.powers = &powers[0]
    block.power_per_sample = power_per_sample
    block.only_distances = only_distances
    block.responsibilities = &responsibilities[0, 0]
    block.bounds = &bounds[0]
    block.scores = &scores[0]
    with nogil:
        status = run_mixture_local_step(floating is float, &block)
    return status


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
    # additional memory, so that the scratch memory can start at a whole vector
    kept = np.empty((n_vectors + 1) * lanes + n_shifts, dtype)
    cdef floating[::1] scratch = kept
    start = (SIMD_BYTES - <intptr_t>&scratch[0] % SIMD_BYTES) // <intptr_t>sizeof(floating)
    block.samples = &samples[0, 0]
    block.means = &means[0, 0]
    block.factors = &factors[0, 0]
    block.constants = &constants[0]
    block.stop = &stop[0]
    block.scratch = &scratch[start]
    return kept


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
    """Compute logarithms of a mixture of Student-t densities.

    The log density of a sample under a component, with the component's weight, is
    ``constants_k - exponents_k log(1 + scales_k distance)``, where ``distance`` is
    ``|factors_k (sample - means_k)|^2``.  If ``origin`` is given, a density is a product
    over the features, and each logarithm becomes a sum over the features, with the
    distances ``(product_factors_kd (sample_d - origin_d - centres_kd))^2``.

    Parameters
    ----------
    samples, means, factors, stop
        See `local_step`.
    constants, exponents, scales : ndarray of shape (n_components,)
    origin : ndarray of shape (n_features,) or None
    centres, product_factors : ndarray of shape (n_components, n_features) or None
    scores : ndarray of shape (n_samples,)
        Receives the logarithms of the densities of the mixture.

    Returns
    -------
    status : int
        0, or -1 if stopped.
    """
    cdef predictive_block block
    cdef int status
    if not samples.shape[0]:
        return 0
    kept = _fill(&block.mixture, samples, means, factors, constants, stop)
    lanes = MIXTURE_BYTES // <intptr_t>sizeof(floating)
    n_logs = block.mixture.n_features + block.mixture.n_components
    cdef double[::1] logs = np.empty(n_logs * lanes)
    block.mixture.powers = NULL
    block.mixture.power_per_sample = False
    block.mixture.only_distances = True
    block.mixture.responsibilities = NULL
    block.mixture.bounds = NULL
    block.mixture.scores = &scores[0]
    block.exponents, block.scales = &exponents[0], &scales[0]
    block.origin = block.centres = block.factors = NULL
    if origin is not None:
        block.origin = &origin[0]
        block.centres, block.factors = &centres[0, 0], &product_factors[0, 0]
    block.logs = &logs[0]
    with nogil:
        status = run_mixture_predictive(floating is float, &block)
    return status


def moments(
    const floating[:, ::1] samples,
    const double[::1] origin,
    bint triangular,
    double[:, ::1] out,
):
    """Write 1, x and the second moments of x into the rows of ``out``.

    Parameters
    ----------
    samples : ndarray of shape (n_samples, n_features)
    origin : ndarray of shape (n_features,)
        Origin that is subtracted from the samples first.
    triangular : bool
        Whether the second moments are ``x_i x_j``, i <= j; otherwise they are
        ``x_i^2``.
    out : ndarray of shape (n_samples, 1 + n_features + n_second)
    """
    if samples.shape[0] == 0:
        return
    with nogil:
        call_moments(
            samples.shape[0], samples.shape[1], triangular, &samples[0, 0], &origin[0],
            &out[0, 0],
        )


def weighted_moments(
    const floating[:, ::1] samples,
    const double[::1] origin,
    bint squares,
    const floating[:, ::1] shares,
    const double[::1] factors,
    const int[::1] stop,
    double[:, ::1] out,
):
    """Write weighted sums of 1, x and second moments of x into ``out``.

    Parameters
    ----------
    samples : ndarray of shape (n_samples, n_features)
    origin : ndarray of shape (n_features,)
        Origin that is subtracted from the samples first.
    squares : bool
        Whether the second moments are ``x_i^2``; otherwise they are ``x_i x_j``,
        i <= j.
    shares : ndarray of shape (n_samples, n_components)
        Weights of the samples in each component.
    factors : ndarray of shape (1,) or (n_samples,)
        Factors of the weights, for all samples or for each sample.
    stop : ndarray of shape (1,)
        Flag; if another thread sets it, the call returns early.
    out : ndarray of shape (n_components, n_moments)
        Receives the sums for each component.

    Returns
    -------
    status : int
        0, or -1 if stopped.
    """
    cdef moments_block block
    cdef int status
    if samples.shape[0] == 0:
        out[:] = 0
        return 0
    block.n_samples = samples.shape[0]
    block.n_features = samples.shape[1]
    block.n_components = shares.shape[1]
    block.n_moments = out.shape[1]
    # the number of components is rounded up to whole tiles of even height
    width = block.n_components + block.n_components // 3 + 2
    row = width + block.n_features + min(block.n_moments, MOMENT_COLUMNS) + SIMD_BYTES
    n_sums = width * (block.n_moments + SIMD_BYTES)
    cdef double[::1] scratch = np.empty(MOMENT_ROWS * row + n_sums)
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
    return status


cdef intptr_t moments_size(intptr_t n_components, intptr_t n_features) noexcept:
    """Return the size of the scratch memory of `weighted_moments`."""
    cdef intptr_t n_moments = 1 + n_features + n_features * (n_features + 1) // 2
    cdef intptr_t width = n_components + n_components // 3 + 2
    cdef intptr_t row = width + n_features + min(n_moments, MOMENT_COLUMNS) + SIMD_BYTES
    return (MOMENT_ROWS * row + width * (n_moments + SIMD_BYTES) + 7) // 8 * 8


#: Initial degrees of freedom of learned priors minus their lower limit, and their range.
FREE_DEGREES_AND_RANGE = FREE_DEGREES, LEAST_FREE, MOST_FREE


def ascent_scratch(
    intptr_t n_components,
    intptr_t n_features,
    int kind,
    int law,
    bint has_scales=False,
    intptr_t n_sections=1,
):
    """Return the scratch memory of `ascent` for all samples of a mixture."""
    cdef ascent_block block
    cdef double scale
    block.freedom_of_scales = &scale if has_scales else NULL
    block.n_components, block.n_features = n_components, n_features
    block.kind, block.law, block.n_sections = kind, law, n_sections
    size = SIMD.gaussian_ascent_size_f64(
        &block,
        lanes_scratch(n_features, 1, 0),
        moments_size(n_components, n_features),
    )
    return aligned(np.empty, size, np.float64)


cdef set_priors(ascent_block *block, tuple priors):
    """Set options, and priors that a call may change, see `kernel_priors` in ``_priors.py``."""
    cdef const double[::1] mean
    cdef double[::1] hyper, covariance, freedom
    kinds, block.concentration, mean, hyper, covariance, freedom = priors
    block.kind, block.law, block.sticks, block.learned, block.is_diagonal = kinds
    block.prior_mean, block.hyper, block.covariance = &mean[0], &hyper[0], &covariance[0]
    block.freedom_of_scales = NULL if freedom is None else &freedom[0]


cdef class _Sections:
    """Sections of the samples of an ascent, see `ascent_block`."""

    cdef ascent_block *block
    cdef bint is_float
    cdef object error

    def step(self, intptr_t i):
        """Take the local step of a section; return whether it was stopped."""
        cdef int status
        with nogil:
            status = run_gaussian_ascent_section(self.is_float, self.block, i)
        return status


cdef int _share(void *sharing) noexcept with gil:
    """Take the local steps of all sections; return whether they were stopped."""
    cdef _Sections sections = <_Sections>sharing
    try:
        n = range(sections.block.n_sections)
        return any(run_shared([partial(sections.step, i) for i in n]))
    except BaseException as error:
        sections.error = error
        return 1


def ascent(
    const floating[:, ::1] samples,
    const double[::1] origin,
    const double[::1] added,
    const double[::1] row_weight,
    tuple priors,
    tuple steps,
    double[::1] weights,
    double[::1] components,
    double[::1] row_bounds,
    double[::1] scratch,
    intptr_t n_sections,
):
    """Take several steps of coordinate ascent, and change the parameters and priors.

    For ``priors`` see `kernel_priors`, for ``steps`` `set_steps`, and for the other
    arguments `ascent_block`; ``row_weight`` may be None.

    Returns
    -------
    status, n_done : int
    before : float
    """
    cdef ascent_block block
    cdef _Sections sections = _Sections()
    cdef int status
    cdef intptr_t n_lanes = lanes_scratch(samples.shape[1], 1, 0), n_moments
    set_priors(&block, priors)
    block.n_samples, block.n_features = samples.shape[0], samples.shape[1]
    block.n_components = weights.shape[0] // (2 if block.sticks else 1)
    n_moments = moments_size(block.n_components, block.n_features)
    block.samples, block.origin = &samples[0, 0], &origin[0]
    block.row_weight = NULL if row_weight is None else &row_weight[0]
    block.added = &added[0]
    set_steps(&block.steps, steps)
    block.weights, block.components = &weights[0], &components[0]
    block.row_bounds, block.scratch = &row_bounds[0], &scratch[0]
    block.n_sections, block.share = n_sections, _share
    sections.block, sections.is_float = &block, floating is float
    block.sharing = <void *>sections
    with nogil:
        status = run_gaussian_ascent(floating is float, &block, n_lanes, n_moments)
    if sections.error is not None:
        raise sections.error
    return status, block.steps.n_done, block.steps.before


def learn_priors(
    double[::1] statistics,
    const double[::1] counts,
    double scale,
    bint whole,
    tuple priors,
    double[::1] scratch,
):
    """Learn the priors of components from their statistics; return whether it was done.

    Parameters
    ----------
    statistics : ndarray
        Statistics of the components, in the layout of natural parameters.
    counts : ndarray of shape (n_components,)
        Numbers of rows of the components; both are multiplied by ``scale``.
    whole : bool
        Whether the step goes all the way to the learned priors.
    priors : tuple
        See `kernel_priors`; the call changes them.
    scratch : ndarray
        Result of `ascent_scratch`.
    """
    cdef ascent_block block
    cdef bint is_learned
    set_priors(&block, priors)
    block.n_components, block.n_features = counts.shape[0], priors[2].shape[0]
    block.n_sections, block.steps.scale = 1, scale
    block.components, block.scratch = &statistics[0], &scratch[0]
    cdef intptr_t n_lanes = lanes_scratch(block.n_features, 1, 0)
    with nogil:
        is_learned = SIMD.gaussian_priors_f64(&block, &counts[0], whole, n_lanes)
    return is_learned


def nearest_centres(
    const double[:, ::1] samples,
    const double[::1] weight,
    const double[:, ::1] centres,
    intptr_t[::1] labels,
    double[:, ::1] sums,
):
    """Find the nearest centre of each sample, and sum the samples of each centre.

    Parameters
    ----------
    samples : ndarray of shape (n_samples, n_features)
    weight : ndarray of shape (n_samples,)
    centres : ndarray of shape (n_centres, n_features)
    labels : ndarray of intp of shape (n_samples,)
        Receives the indices of the nearest centres.
    sums : ndarray of shape (n_centres, 1 + n_features) or None
        The weights of samples, and samples times their weights, are added to the rows
        of their centres.
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
    """Return the weighted sum of squared distances for each of several new seeds.

    Parameters
    ----------
    samples : ndarray of shape (n_samples, n_features)
    weight : ndarray of shape (n_samples,)
    drawn : ndarray of intp of shape (n_drawn,)
        Indices of the samples that may become seeds.
    nearest : ndarray of shape (n_samples,)
        Squared distances of samples to the nearest of the present seeds.
    distances : ndarray of shape (at least n_drawn, n_samples)
        Receives the squared distances to the nearest seed, including the new one.
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
    double[::1] scratch,
    double[::1] best,
    double[::1] moved,
):
    """Find the best split of a component in two.

    Parameters
    ----------
    samples : ndarray of shape (n_samples, n_features)
    coordinates : ndarray of shape (n_samples, n_features)
        Coordinates of the samples in which axes of splits are computed.
    weight : ndarray of shape (n_samples,)
        Weights of the samples in the component.
    origin : ndarray of shape (n_features,)
        Origin of the coordinates of the parameters.
    added : ndarray of shape (n_features,) or (1,)
        As in `ascent`.
    prior, whole : ndarray of shape (n_natural,)
        Natural parameters of the prior, and statistics of the component.
    kinds : tuple of two int
        Covariance type and law, see `ascent_block`.
    numbers : tuple of two float
        The concentration of the weights, and the number of samples of the component.
    stop : ndarray of shape (1,)
        Flag; if another thread sets it, the call returns early.
    axes : ndarray of shape (3, n_features)
        Starts of iterations, and a random axis.
    scratch : ndarray
        Result of `ascent_scratch` for 6 components.
    best : ndarray of shape (n_samples,)
        Receives the shares that the split moves.
    moved : ndarray of shape (n_natural,)
        Receives the statistics that it moves.

    Returns
    -------
    status : int
        -1 if stopped, 0 if there is no split, 1, or 2 if the parameters are
        ill-defined.
    entropy : float
        Increase of the entropy of the shares.
    """
    cdef split_block block
    cdef int status
    cdef intptr_t n_lanes = lanes_scratch(samples.shape[1], 1, 0)
    dtype = np.float32 if floating is float else np.float64
    cdef floating[::1] shares = np.empty(samples.shape[0] * SPLITS, dtype)
    cdef double[::1] statistics = np.empty(SPLITS * whole.shape[0])
    block.ascent.n_samples = samples.shape[0]
    block.ascent.n_features = samples.shape[1]
    block.ascent.kind, block.ascent.law = kinds
    block.ascent.sticks = block.ascent.learned = 0
    block.ascent.samples, block.ascent.origin = &samples[0, 0], &origin[0]
    block.ascent.row_weight = &weight[0]
    block.ascent.added = &added[0]
    block.ascent.concentration, block.count_of_whole = numbers
    block.ascent.steps.scale, block.ascent.freedom_of_scales = 1.0, NULL
    block.ascent.steps.stop, block.ascent.scratch = &stop[0], &scratch[0]
    block.coordinates, block.axes = &coordinates[0, 0], &axes[0, 0]
    block.prior, block.whole = &prior[0], &whole[0]
    block.shares, block.statistics = &shares[0], &statistics[0]
    block.best, block.moved = &best[0], &moved[0]
    block.entropy = 0.0
    with nogil:
        status = run_gaussian_split(floating is float, &block, n_lanes)
    return status, block.entropy


def agglomerate(
    double[:, ::1] statistics,
    tuple priors,
    intptr_t n_weights,
    intptr_t least,
    double[::1] scratch,
):
    """Merge clusters, and find the partition with the highest evidence.

    Parameters
    ----------
    statistics : ndarray of shape (n_clusters, n_natural)
        Statistics of clusters; replaced by those of the best partition.
    priors : tuple
        See `kernel_priors`; the call replaces them by those of the best partition.
    n_weights, least : int
        Number of components of the mixture, and number of clusters at which merges end.
    scratch : ndarray
        Result of `ascent_scratch` for the number of clusters.

    Returns
    -------
    n_best : int
        Number of clusters of the best partition; 0 if one is ill-defined.
    evidence : float
    """
    cdef agglomeration_block block
    cdef int is_ill
    cdef intptr_t n = statistics.shape[0], size = statistics.shape[1]
    cdef double[::1] own = np.empty(2 * n * (size + n + 2) + size + 64)
    set_priors(&block.ascent, priors)
    block.ascent.freedom_of_scales = NULL  # statistics of clusters have no scales
    block.ascent.n_components, block.ascent.n_features = n, priors[2].shape[0]
    block.ascent.steps.scale, block.ascent.scratch = 1.0, &scratch[0]
    block.n_weights, block.least, block.statistics = n_weights, least, &statistics[0, 0]
    block.scratch, block.n_best, block.evidence = &own[0], 0, 0.0
    cdef intptr_t n_lanes = lanes_scratch(block.ascent.n_features, 1, 0)
    with nogil:
        is_ill = SIMD.gaussian_agglomeration_f64(&block, n_lanes)
    return 0 if is_ill else block.n_best, block.evidence

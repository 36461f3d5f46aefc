"""Wishart distributions: factors of matrices, and sums of special functions.

Arrays go in and come out.  The loops themselves are C, in ``_loops.h``, compiled for
each instruction set.
"""

import numpy as np

include "_loops.pxi"


def inverse_factors(const double[:, :, ::1] matrices):
    """Return F with F^T F = matrix^-1 of symmetric matrices, and log |matrix^-1|.

    Parameters
    ----------
    matrices : ndarray of shape (n, d, d)
        Of which the lower triangles are read.

    Returns
    -------
    factors : ndarray of shape (n, d, d)
        Lower triangular.
    log_determinants : ndarray of shape (n,)
    n_bad : int
        How many are not positive definite, or not finite.
    """
    cdef intptr_t n = matrices.shape[0], d = matrices.shape[1], n_bad
    factors, log_determinants = np.empty((n, d, d)), np.empty(n)
    if n == 0:
        return factors, log_determinants, 0
    cdef double[:, :, ::1] triangles = factors
    cdef double[::1] logs = log_determinants
    cdef double[::1] scratch = np.empty((d * (d + 2) + 1) * FACTOR_LANES)
    # from whole vectors on
    cdef intptr_t start = (SIMD_BYTES - <intptr_t>&scratch[0] % SIMD_BYTES) // 8
    with nogil:
        n_bad = SIMD.inverse_factors_f64(
            n, d, &matrices[0, 0, 0], &triangles[0, 0, 0], &logs[0], &scratch[start]
        )
    return factors, log_determinants, n_bad


def packed_triangles(const double[:, :, ::1] factors, const double[::1] scales):
    """Return scales times lower triangles, each as its rows, (n, d * (d + 1) / 2)."""
    cdef intptr_t n = factors.shape[0], d = factors.shape[1]
    out = np.empty((n, d * (d + 1) // 2))
    cdef double[:, ::1] packed = out
    with nogil:
        SIMD.packed_triangles_f64(n, d, &factors[0, 0, 0], &scales[0], &packed[0, 0])
    return out


def traces_and_squares(
    const double[:, :, ::1] factors,
    const double[:, :, ::1] matrices,
    const double[:, ::1] vectors,
):
    """Return tr(F^T F matrix) and |F vector|^2 for each F, lower triangular.

    Parameters
    ----------
    factors, matrices : ndarray of shape (n, d, d)
    vectors : ndarray of shape (n, d)

    Returns
    -------
    traces, squares : ndarray of shape (n,)
    """
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


def wishart_terms(
    intptr_t n_features,
    const double[::1] precision,
    const double[::1] freedom,
    const double[::1] log_determinants,
):
    """Return what the bound has of Normal-Wishart distributions.

    Parameters
    ----------
    n_features : int
    precision, freedom, log_determinants : ndarray of shape (n,)
        See `Usual`.

    Returns
    -------
    log_precisions, log_normalisers : ndarray of shape (n,)
        E log |precision|, and the logarithm of the density's normaliser, but for
        |precision|.
    """
    cdef intptr_t n = freedom.shape[0]
    out = np.empty((2, n))
    if n == 0:
        return out[0], out[1]
    cdef double[:, ::1] results = out
    with nogil:
        SIMD.wishart_terms_f64(
            n,
            n_features,
            &precision[0],
            &freedom[0],
            &log_determinants[0],
            &results[0, 0],
            &results[1, 0],
        )
    return out[0], out[1]

"""Kernels of the Student-t mixture, with loops in ``_loops.h``."""

import numpy as np

include "_loops.pxi"


def log_integrals(
    const double[:, ::1] squares,
    double width,
    double half,
    double exponent,
    double kappa,
    const int[::1] stop,
    double[::1] out,
):
    """Write the logarithms of integrals over scales, see ``_loops.h``.

    Parameters
    ----------
    squares : ndarray of shape (n_rows, n_factors)
    width, half, exponent, kappa : float
    stop : ndarray of shape (1,)
        Flag; if another thread sets it, the call returns early.
    out : ndarray of shape (n_rows,)

    Returns
    -------
    status : int
        0, or -1 if stopped.
    """
    cdef scales_block block
    cdef int status
    if not squares.shape[0]:
        return 0
    block.n_rows, block.n_factors = squares.shape[0], squares.shape[1]
    block.width, block.half = width, half
    block.exponent, block.kappa = exponent, kappa
    block.squares, block.stop, block.logs = &squares[0, 0], &stop[0], &out[0]
    with nogil:
        status = SIMD.log_integrals_f64(&block)
    return status

"""Kernels of the Student-t mixture, with loops in ``_loops.h``."""

from sktemper._contract import Stopped

include "_loops.pxi"


# The arguments are squares of shape (n_factors, `padded` n_rows), four numbers of the law, see
# `_loops.h`, the flag that stops the call, and the results, (n_rows,).
def log_integrals(
    const double[:, ::1] squares, const double[::1] law, const int[::1] stop, double[::1] out
):
    """Write the logarithms of integrals over scales."""
    if not out.shape[0]:
        return
    with nogil:
        status = SIMD.log_integrals_f64(
            out.shape[0], squares.shape[0], squares.shape[1],
            &law[0], &squares[0, 0], &stop[0], &out[0],
        )
    if status:
        raise Stopped

"""Mixture of Poissons: the loop over samples and components."""

from cython cimport floating

include "_loops.pxi"


def poisson_logs(
    const floating[:, ::1] counts,
    const floating[:, ::1] log_rates,
    const double[::1] constants,
    const int[::1] stop,
    double[:, ::1] out,
):
    """Write ``constants + counts @ log_rates.T`` into ``out``; return -1 if stopped.

    Parameters
    ----------
    counts : ndarray of shape (n_rows, n_features)
    log_rates : ndarray of shape (n_components, n_features)
    constants : ndarray of shape (n_components,)
    stop : ndarray of shape (1,)
        Another thread sets it to nonzero to end the call early.
    out : ndarray of shape (n_rows, n_components)
    """
    cdef poisson_block block
    cdef int status
    if counts.shape[0] == 0:
        return 0
    block.n_rows = counts.shape[0]
    block.n_features = counts.shape[1]
    block.n_components = log_rates.shape[0]
    block.counts = &counts[0, 0]
    block.log_rates = &log_rates[0, 0]
    block.constants = &constants[0]
    block.stop = &stop[0]
    block.out = &out[0, 0]
    with nogil:
        status = call_poisson_logs(floating is float, &block)
    return status

"""Products of dense or sparse moments, in which the bits of a row are its own."""

import numpy as np
from scipy import sparse

from .._linalg import tiled_matmul
from ._kernels import sparse_sums, sparse_times

__all__ = ["dense", "sums_of", "times"]


def dense(array):
    """Return a dense or sparse array as a NumPy array."""
    return array.toarray() if sparse.issparse(array) else np.asarray(array)


def times(moments, matrix):
    """Return ``moments @ matrix``; the bits of a row do not depend on other rows.

    Parameters
    ----------
    moments : ndarray or CSR array of shape (n_rows, n_moments)
    matrix : ndarray of shape (n_moments, n_columns)

    Returns
    -------
    product : ndarray of shape (n_rows, n_columns)
    """
    if not sparse.issparse(moments):
        return tiled_matmul(moments, matrix)
    return sparse_times(*_entries(moments), _rows(matrix))


def sums_of(moments, shares):
    """Return ``shares.T @ moments``, the sums of the moments of components.

    Parameters
    ----------
    moments : ndarray or CSR array of shape (n_rows, n_moments)
    shares : ndarray of shape (n_rows, n_components)

    Returns
    -------
    sums : ndarray of shape (n_components, n_moments)
    """
    if not sparse.issparse(moments):
        return shares.T @ moments
    # one row of memory for each moment, because a row of data has few moments
    return sparse_sums(*_entries(moments), _rows(shares), moments.shape[1]).T


def _entries(moments):
    """Return the arrays of a CSR array, for kernels that hold no lock.

    The products of SciPy hold the lock of the interpreter, so that threads would wait
    for each other.
    """
    columns = np.ascontiguousarray(moments.indices)
    return np.ascontiguousarray(moments.indptr, np.intp), columns, _rows(moments.data)


def _rows(array):
    return np.ascontiguousarray(array, dtype=np.float64)

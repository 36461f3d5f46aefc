"""Matrix products whose bits depend on nothing but the numbers; rows of matrices."""

import contextlib
import functools
import threading

import numpy as np
from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread", "sparse_rows", "tiled_matmul"]

#: Rows of a product: BLAS gives other bits for other shapes, and to the rows that its
#: panels (of up to 24 rows) leave over.
TILE = 192


class _Nested:
    """How many are at work; the first limits BLAS, the last gives it back."""

    def __init__(self):
        self.lock, self.depth, self.limits = threading.Lock(), 0, None


_nested = _Nested()


@functools.cache
def _controller():
    return ThreadpoolController()


@contextlib.contextmanager
def one_blas_thread():
    """Limit BLAS to one thread, for the whole process, while any caller is inside.

    Parallelism is that of the loop over blocks; and a product on two threads has other
    bits than on one.
    """
    with _nested.lock:
        if _nested.depth == 0:
            _nested.limits = _controller().limit(limits=1, user_api="blas")
        _nested.depth += 1
    try:
        yield
    finally:
        with _nested.lock:
            _nested.depth -= 1
            if _nested.depth == 0:
                _nested.limits.restore_original_limits()


def tiled_matmul(rows, matrix):
    """Return ``rows @ matrix``, each row's bits whatever rows are around it.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_inner)
    matrix : ndarray of shape (n_inner, n_columns)

    Returns
    -------
    product : ndarray of shape (n_rows, n_columns)
    """
    n_rows = len(rows)
    product = np.empty((n_rows, matrix.shape[1]), np.result_type(rows, matrix))
    whole = n_rows - n_rows % TILE
    for start in range(0, whole, TILE):
        tile = slice(start, start + TILE)
        np.matmul(rows[tile], matrix, out=product[tile])
    if whole < n_rows:
        padded = np.zeros((TILE, rows.shape[1]), rows.dtype)
        padded[: n_rows - whole] = rows[whole:]
        product[whole:] = (padded @ matrix)[: n_rows - whole]
    return product


def sparse_rows(X, rows):
    """Return ``X[rows]``; of a slice a view.

    scipy's own slices drop column indices outside of the matrix without a word.
    """
    if not isinstance(rows, slice):
        return X[rows]
    start, stop, _ = rows.indices(X.shape[0])
    starts = X.indptr[start : stop + 1]
    part = slice(starts[0], starts[-1])
    shape = (stop - start, X.shape[1])
    return type(X)((X.data[part], X.indices[part], starts - starts[0]), shape=shape)

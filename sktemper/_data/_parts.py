"""Parts of data: each block of a batch lies in one."""

import numpy as np
from scipy import sparse

from .._linalg import are_consecutive, sparse_rows

__all__ = ["ByRows", "InMemory", "as_slice", "cuts"]

#: Blocks have a multiple of so many rows: loops over vectors of them leave none over.
ROWS_TOGETHER = 16


class InMemory:
    """A matrix in memory, or in mapped memory, as one part.

    Other parts have the same methods: one of a collection on disk is pickled by its
    path, and one in the memory of another machine is only named here.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
    """

    def __init__(self, X):
        self.X = X

    @property
    def n_rows(self):
        """Number of rows."""
        return self.X.shape[0]

    def take(self, model, rows):
        """Return some rows as a block of a model, see `ConjugateModel.take`."""
        return model.take(self.X, rows)

    def units_per_row(self, model, rows):
        """Return how many units some rows have, see `ConjugateModel.units_per_row`."""
        return model.units_per_row(self.X, rows)

    def rows(self, rows):
        """Return some rows as a matrix."""
        return sparse_rows(self.X, rows) if sparse.issparse(self.X) else self.X[rows]


class ByRows:
    """A part whose rows are first brought into memory, by its method ``rows``."""

    __slots__ = ()

    def take(self, model, rows):
        """Return some rows as a block of a model, see `ConjugateModel.take`."""
        X = self.rows(rows)
        return model.take(X, slice(0, X.shape[0]))

    def units_per_row(self, model, rows):
        """Return how many units some rows have, see `ConjugateModel.units_per_row`."""
        X = self.rows(rows)
        return model.units_per_row(X, np.arange(X.shape[0]))


def cuts(n_rows, size):
    """Yield slices of at most ``size`` rows, the last one shorter.

    If there are several, they have about equally many rows and their number is even,
    unless `ROWS_TOGETHER` prevents it: two threads have equally much to do.
    """
    n_blocks = -(-n_rows // size)
    if n_blocks > 1:
        rows = -(-n_rows // (n_blocks + n_blocks % 2))
        size = min(size, -(-rows // ROWS_TOGETHER) * ROWS_TOGETHER)
    return (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))


def as_slice(rows):
    """Return a slice if rows follow one another: it takes a view where they are."""
    first, last = int(rows[0]), int(rows[-1])
    if last - first == len(rows) - 1 and are_consecutive(rows):
        return slice(first, last + 1)
    return rows

"""Parts of data.  All rows of a block belong to the same part."""

import numpy as np
from scipy import sparse

from .._linalg import are_consecutive, sparse_rows

__all__ = ["ByRows", "InMemory", "as_slice", "cuts"]

#: Blocks have a multiple of this number of rows, so that SIMD vectors are full.
ROWS_TOGETHER = 16


class InMemory:
    """Part of data: a matrix in memory or in mapped memory.

    Classes for other kinds of parts have the same methods.  A part of a collection on
    disk is pickled as a path.  A part in the memory of another machine is represented
    by a name.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
    """

    #: Whether a part may cache blocks; False for parts that outlive a fit.
    _keeps_blocks = True

    def __init__(self, X):
        self.X, self._kept = X, (None, {})

    def __getstate__(self):
        return vars(self) | {"_kept": (None, {})}  # without cached blocks

    @property
    def n_rows(self):
        """Number of rows."""
        return self.X.shape[0]

    def take(self, model, rows):
        """Return some rows as a block of a model, see `ConjugateModel.take`.

        Blocks are cached if the part has few rows, see `ConjugateModel.most_kept_rows`.
        """
        is_kept = self._keeps_blocks and self.n_rows <= model.most_kept_rows
        if not (is_kept and isinstance(rows, slice)):
            return model.take(self.X, rows)
        owner, blocks = self._kept
        if owner is not model:
            owner, blocks = self._kept = model, {}
        key = rows.indices(self.n_rows)
        if key not in blocks:
            block = model.take(self.X, rows)
            if len(range(*key)) > model.block_size:  # too large for the cache
                return block
            blocks[key] = block
        return blocks[key]

    def units_per_row(self, model, rows):
        """Return the number of units of each row in ``rows``."""
        return model.units_per_row(self.X, rows)

    def rows(self, rows):
        """Return some rows as a matrix."""
        return sparse_rows(self.X, rows) if sparse.issparse(self.X) else self.X[rows]


class ByRows:
    """Base of parts that read rows into memory by their method ``rows``."""

    __slots__ = ()

    def take(self, model, rows):
        """Return some rows as a block of a model, see `ConjugateModel.take`."""
        X = self.rows(rows)
        return model.take(X, slice(0, X.shape[0]))

    def units_per_row(self, model, rows):
        """Return the number of units of each row in ``rows``."""
        X = self.rows(rows)
        return model.units_per_row(X, np.arange(X.shape[0]))


def cuts(n_rows, size):
    """Yield slices of at most ``size`` rows, the last one shorter.

    If there are several slices, they have about the same size, and their number is
    even, so that two threads get the same amount of work.  Sizes are multiples of
    `ROWS_TOGETHER`, which may prevent this.
    """
    n_blocks = -(-n_rows // size)
    if n_blocks > 1:
        rows = -(-n_rows // (n_blocks + n_blocks % 2))
        size = min(size, -(-rows // ROWS_TOGETHER) * ROWS_TOGETHER)
    return (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))


def as_slice(rows):
    """Return rows as a slice if they are consecutive, so that indexing makes a view."""
    first, last = int(rows[0]), int(rows[-1])
    if last - first == len(rows) - 1 and are_consecutive(rows):
        return slice(first, last + 1)
    return rows

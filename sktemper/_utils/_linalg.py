"""Matrix products with reproducible rounding, and rows of matrices and of blocks."""

import numpy as np

from .._simd.special import multiply, packed_columns
from ._budgets import TERMS_AT_ONCE, slices
from ._csr import copied_rows


def tiled_matmul(rows, matrix):
    """Return ``rows @ matrix``.  The rounding of a row is independent of other rows.

    A BLAS does not guarantee this, because its loops, and therefore the rounding,
    depend on the shapes, on the position of a row, and on the processor.
    """
    dtype = np.result_type(rows, matrix)
    n_inner, n_columns = matrix.shape
    product = np.empty((len(rows), n_columns), dtype)
    # the kernel requires aligned arrays
    columns = packed_columns(np.require(matrix, dtype, "A"))
    for part in slices(len(rows), n_inner * n_columns, TERMS_AT_ONCE):
        own = np.require(rows[part], dtype, "A")
        if own.strides[1] != own.itemsize:
            own = np.ascontiguousarray(own)
        multiply(own, columns, product[part])
    return product


def nearest_rotation(matrix):
    """Return the orthogonal matrix nearest to a square matrix."""
    left, _, right = np.linalg.svd(matrix)
    return left @ right


class RowArrays:
    """Base of a block of several arrays, each of which has a row for each row of data.

    A subclass is a dataclass of arrays, of which the first has the shape of the block.
    """

    @property
    def shape(self):
        return next(iter(vars(self).values())).shape

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, rows):
        return type(self)(*(values[rows] for values in vars(self).values()))


def sparse_rows(X, rows):
    """Return ``X[rows]``; a slice returns a view.

    Slices of scipy are not used, because they silently drop column indices that are
    outside of the matrix.
    """
    starts, columns, values = entries_of_rows(X, rows)
    shape = (len(starts) - 1, X.shape[1])
    starts = starts.astype(X.indptr.dtype, copy=False)
    return type(X)((values, columns, starts), shape=shape)


def canonical(X, dtype=None):
    """Return a matrix whose entries are sorted and distinct; ``X`` is not changed.

    ``dtype`` is the type in which entries are added, as a sum may exceed that of ``X``.
    """
    if not X.has_canonical_format:
        X = X.copy() if dtype is None else X.astype(dtype)
        X.sum_duplicates()
    return X


def entries_of_rows(X, rows):
    """Return the arrays of ``X[rows]``; a slice returns views of columns and values.

    A kernel copies the entries, because ``X[rows]`` of scipy takes longer for a few
    rows.  If ``X.indices`` and ``X.indptr`` have different dtypes, as in a large
    collection on disk, scipy would also convert all indices first.

    They are the starts of the rows, and columns and values.
    """
    indptr, columns, values = X.indptr, X.indices, X.data
    if isinstance(rows, slice):
        first, end, _ = rows.indices(X.shape[0])
        starts = indptr[first : end + 1]
        entries = slice(starts[0], starts[-1])
        return starts - starts[0], columns[entries], values[entries]
    if all(array.flags.c_contiguous for array in (indptr, columns, values)):
        return copied_rows(X, rows)
    found = X[rows]
    return found.indptr, found.indices, found.data

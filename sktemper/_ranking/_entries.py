"""Entries of matrices: ratings, clicks and counts, and parts of them."""

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from .._utils._linalg import canonical
from .._utils._validation import check_distinct, check_sparse, check_unmasked


def as_entries(X, name="X", dtype="numeric", distinct=False):
    """Return entries as CSR with sorted indices; ``X`` is not changed.

    The entries of a dense array are those that are not NaN.  If they must be
    ``distinct``, several for a row and a column raise an error.
    """
    if sparse.issparse(X):
        given = X
        X = check_array(check_sparse(X), accept_sparse="csr", input_name=name)
        if distinct:
            check_distinct(given, X, name)
        return canonical(X)
    check_unmasked(X, name)
    options = {"dtype": dtype, "ensure_all_finite": "allow-nan"}
    X = check_array(X, input_name=name, **options)
    rows, columns = np.nonzero(~np.isnan(X))
    starts = np.searchsorted(rows, np.arange(len(X) + 1))
    return sparse.csr_array((X[rows, columns], columns, starts), shape=X.shape)


def places_in_rows(X):
    """Return the place of each entry among those of its row, from 0."""
    return np.arange(X.nnz) - np.repeat(X.indptr[:-1], np.diff(X.indptr))


def is_odd(X):
    """Return whether each entry is the second, the fourth, ... of its row."""
    return places_in_rows(X) % 2 == 1


def kept(X, chosen):
    """Return ``X`` with only the chosen entries, including stored zeros."""
    starts = np.concatenate([[0], np.cumsum(chosen)])[X.indptr].astype(X.indptr.dtype)
    kind = sparse.csr_array if isinstance(X, sparse.sparray) else sparse.csr_matrix
    part = kind((X.data[chosen], X.indices[chosen], starts), shape=X.shape)
    part.has_canonical_format = X.has_canonical_format
    return part

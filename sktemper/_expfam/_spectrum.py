"""Leading axes of samples of rows: the directions in which rows differ most."""

import numpy as np
from scipy import sparse

from .._linalg import one_blas_thread, sparse_rows

__all__ = ["ROWS_ANALYSED", "effective_rows", "even_sample", "leading_axes"]

#: Rows that are analysed, at most; how many entries they may have together before fewer
#: rows are taken; and how many rows are taken even then.
ROWS_ANALYSED, MOST_ENTRIES, FEWEST_ROWS = 4000, 400_000, 1000
#: Directions of the range finder beyond those wanted, and its power iterations.
OVERSAMPLING, N_ITERATIONS = 8, 3


def even_sample(X, sample_weight):
    """Return rows of X, taken evenly, as canonical CSR of float64; and their weights.

    Of an even sample of `ROWS_ANALYSED` rows the same ones are taken as of all rows.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
    sample_weight : ndarray of shape (n_samples,) or None

    Returns
    -------
    X : csr_array of shape (n_rows, n_features)
        A copy.
    weight : ndarray of shape (n_rows,)
    """
    rows = np.arange(0, X.shape[0], -(-X.shape[0] // ROWS_ANALYSED))
    X = sparse_rows(X, rows) if sparse.issparse(X) else X[rows]
    X = sparse.csr_array(X, dtype=np.float64)
    X.sum_duplicates()
    X.eliminate_zeros()
    weight = np.ones(len(rows)) if sample_weight is None else sample_weight[rows]
    most = max(FEWEST_ROWS, MOST_ENTRIES * len(rows) // max(X.nnz, 1))
    fewer = np.arange(0, len(rows), -(-len(rows) // most))
    if len(fewer) < len(rows):
        X, weight = X[fewer], weight[fewer]
    return X, weight


def effective_rows(weight):
    """Return the number of rows that weighted rows are worth.

    That is the sum of the weights, but for weights below 1 at least the number of
    equally weighted rows whose mean has the same variance.

    Parameters
    ----------
    weight : ndarray of shape (n_rows,)

    Returns
    -------
    n_rows : float
    """
    total = weight.sum()
    return float(max(total, total / (weight @ weight) * total))


def leading_axes(matrix, rows, columns, n_axes):
    """Return the leading eigenvalues of ``Z Z'``, Z = matrix - outer(rows, columns).

    By a randomised range finder [1]_, whose random directions are of columns: rows may
    come in another order, and a row that counts twice is two rows.

    Parameters
    ----------
    matrix : csr_array of shape (n_rows, n_columns)
    rows : ndarray of shape (n_rows,)
    columns : ndarray of shape (n_columns,)
    n_axes : int

    Returns
    -------
    eigenvalues : ndarray of shape (n_axes,)
        Decreasing; fewer if the matrix has fewer rows or columns.
    vectors : ndarray of shape (n_rows, n_axes)
        Orthonormal columns.

    References
    ----------
    .. [1] N. Halko, P.-G. Martinsson, J. Tropp, "Finding structure with randomness",
       SIAM Review 53, 2011.
    """
    n_directions = min(n_axes + OVERSAMPLING, *matrix.shape)

    def to_rows(directions):
        return matrix @ directions - np.outer(rows, columns @ directions)

    def to_columns(directions):
        return matrix.T @ directions - np.outer(columns, rows @ directions)

    random = np.random.default_rng(0)
    start = random.standard_normal((matrix.shape[1], n_directions))
    with one_blas_thread():
        basis = _orthonormal(to_rows(start))
        for _ in range(N_ITERATIONS):
            basis = _orthonormal(to_rows(to_columns(basis)))
        found = to_columns(basis)
        eigenvalues, vectors = np.linalg.eigh(found.T @ found)
        first = np.argsort(-eigenvalues, kind="stable")[:n_axes]
        return eigenvalues[first], basis @ vectors[:, first]


def _orthonormal(columns):
    return np.linalg.qr(columns)[0]

"""Log partition function of samples with different numbers of observations."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from .._utils._budgets import ROWS_AT_ONCE, slices
from .._utils._linalg import sparse_rows
from .._utils._tasks import one_blas_thread

# -- leading axes of samples of rows: the directions in which rows differ most ---------
#: Largest number of rows of a sample.  A sample with more than MOST_ENTRIES stored
#: entries is reduced, but not below FEWEST_ROWS rows.
ROWS_ANALYSED, MOST_ENTRIES, FEWEST_ROWS = 4000, 400_000, 1000
#: Number of additional directions, and number of power iterations, of the range finder.
OVERSAMPLING, N_ITERATIONS = 8, 3
#: A row is empty if its number of tokens, divided by the largest count, is at most
#: this.
LEAST_TOKENS = 1e-30


def even_sample(X, sample_weight):
    """Return evenly spaced rows of X as canonical CSR in float64, and their weights.

    If X is itself an even sample with `ROWS_ANALYSED` rows of a larger matrix, the
    result is the same as for the larger matrix.

    Equal rows are merged if there are weights below 1, because two equal rows of weight
    1/2 are one row.
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
    return _merged(X, weight) if ((weight > 0) & (weight < 1)).any() else (X, weight)


def _merged(X, weight):
    """Return distinct rows in the order of their first places, and total weights."""
    first, places = {}, np.empty(len(weight), dtype=np.intp)
    for row, (start, end) in enumerate(zip(X.indptr, X.indptr[1:], strict=False)):
        key = X.indices[start:end].tobytes(), X.data[start:end].tobytes()
        places[row] = first.setdefault(key, row)
    rows = np.unique(places)
    return X[rows], np.bincount(places, weight, len(weight))[rows]


def sample_counts(X, sample_weight):
    """Return an even sample of rows of counts without empty rows, or None if all are.

    Returns
    -------
    X : csr_array
        Counts divided by ``largest``, so that sums and products stay finite.
    weight, tokens : ndarray of shape (n_rows,)
        Number of times that each row counts, and sums of the rows of ``X``.
    largest : float
        The largest count of the sample.
    """
    X, weight = even_sample(X, sample_weight)
    largest = float(X.data.max(initial=0.0))
    if not largest > 0.0:
        return None
    X.data /= largest
    tokens = np.asarray(X.sum(axis=1)).ravel()
    filled = (tokens > LEAST_TOKENS) & (weight > 0.0)
    if not filled.any():
        return None
    if not filled.all():
        X, weight, tokens = X[filled], weight[filled], tokens[filled]
    return X, weight, tokens, largest


def effective_rows(weight):
    """Return the number of rows of weight 1 that are equivalent to weighted rows.

    This is the larger of two numbers: the sum of the weights, and the number of equally
    weighted rows whose mean has the same variance.  The latter is larger only if
    weights are below 1.
    """
    total = weight.sum()
    return float(max(total, total / (weight @ weight) * total))


def leading_axes(matrix, rows, columns, n_axes):
    """Return the leading eigenvalues of ``Z Z'``, Z = matrix - outer(rows, columns).

    The eigenvalues are computed by a randomized range finder [1]_.  Its random
    directions are in the space of the columns.  Therefore the order of the rows does
    not matter, and a row of weight 2 is equivalent to two rows.

    Eigenvalues decrease.  There are fewer than ``n_axes`` if the matrix has fewer rows
    or columns.  The eigenvectors, (n_rows, n_axes), follow.

    References
    ----------
    .. [1] N. Halko, P.-G. Martinsson, J. Tropp, "Finding structure with randomness",
       SIAM Review 53, 2011.
    """
    n_directions = min(n_axes + OVERSAMPLING, *matrix.shape)

    def to_rows(directions):
        return _minus_outer(matrix @ directions, rows, columns @ directions)

    def to_columns(directions):
        return _minus_outer(matrix.T @ directions, columns, rows @ directions)

    random = np.random.default_rng(0)
    shape = matrix.shape[1], n_directions
    with one_blas_thread():
        basis, _ = np.linalg.qr(to_rows(random.standard_normal(shape)))
        for _ in range(N_ITERATIONS):
            basis, _ = np.linalg.qr(to_rows(to_columns(basis)))
        found = to_columns(basis)
        eigenvalues, vectors = np.linalg.eigh(found.T @ found)
        first = np.argsort(-eigenvalues, kind="stable")[:n_axes]
        return eigenvalues[first], basis @ vectors[:, first]


def _minus_outer(matrix, rows, columns):
    """Subtract an outer product from a matrix in place, with little memory."""
    for part in slices(len(rows), 1, ROWS_AT_ONCE):
        matrix[part] -= np.outer(rows[part], columns)
    return matrix


# -- log partition function of samples with different numbers of observations ----------
class MixturePartition(NamedTuple):
    r"""Log C(b) of a sample of N observations that come from the same component.

    .. math:: \log C(b) = E \log \sum_k \pi_k^b \exp(N a_k(b)), \quad
        a_k(b) = \log \sum_v \beta_{kv}^b

    The mean is over mixtures drawn from the prior (a quenched average).
    """

    log_weights: np.ndarray  # b log pi, (n_draws, n_components, n_temperatures)
    per_observation: np.ndarray  # a(b), (n_draws, n_components, n_temperatures)

    def of_rows(self, n_observed):
        """Return log C of rows, of shape (n_rows, n_temperatures)."""
        sizes, rows = np.unique(n_observed, return_inverse=True)
        each = (self.log_weights + size * self.per_observation for size in sizes)
        return np.stack([logsumexp(logs, axis=1).mean(axis=0) for logs in each])[rows]

"""Correspondence analysis of documents: how far apart their words are."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._linalg import one_blas_thread, sparse_rows

__all__ = ["ROWS_ANALYSED", "Correspondence", "Recent", "analyse"]

#: Rows that are analysed, at most; how many entries they may have together before fewer
#: rows are taken; and how many rows are taken even then.
ROWS_ANALYSED, MOST_ENTRIES, FEWEST_ROWS = 4000, 400_000, 1000
#: A row with fewer tokens than this times the largest count is empty.
LEAST_TOKENS = 1e-30
#: Directions of the range finder beyond those wanted, and its power iterations.
OVERSAMPLING, N_ITERATIONS = 8, 3
#: An axis has at least this eigenvalue; the largest possible one is 1.
LEAST_EIGENVALUE = 1e-10


class Correspondence(NamedTuple):
    """The leading axes of the correspondence analysis of a sample of documents.

    With the tokens n_d of documents, m_v of words and N of both, the matrix is
    ``(x_dv - n_d m_v / N) / sqrt(n_d m_v)``.

    Attributes
    ----------
    eigenvalues : ndarray of shape (n_axes,)
        The largest squared singular values of the matrix, decreasing, between 0 and 1.
    scores : ndarray of shape (n_rows, 1 + n_axes)
        Orthonormal columns: the trivial axis ``sqrt(n_d / N)``, and the left singular
        vectors.
    X : csr_array of shape (n_rows, n_features)
        The documents of the sample that have tokens, in units of the largest count.
    weight : ndarray of shape (n_rows,)
        How often each of them counts.
    tokens_per_row : float
        The mean number of tokens of these documents.
    n_words : int
        Words that occur in them.
    """

    eigenvalues: np.ndarray
    scores: np.ndarray
    X: Any
    weight: np.ndarray
    tokens_per_row: float
    n_words: int

    @property
    def n_rows(self):
        """How many rows tell of the topics: repetitions count, small weights do not.

        That is the sum of the weights, but for weights below 1 at least the number of
        equally weighted rows whose mean has the same variance.
        """
        total = self.weight.sum()
        return float(max(total, total / (self.weight @ self.weight) * total))

    @property
    def n_tokens(self):
        """Tokens of the sample."""
        return self.tokens_per_row * self.weight.sum()

    def eigenvalues_without_sampling_noise(self):
        """Return the eigenvalues that more and more such documents would lead to.

        Words that are drawn independently add noise of variance 1 / N to each entry of
        the matrix.  A signal with the eigenvalue s is then seen as
        ``(s + a) (s + b) / s``, with a = D / N and b = V / N for D rows and V words
        [1]_; with ever more rows it would be s + a.  What does not exceed the largest
        eigenvalue of noise alone, ``(sqrt(a) + sqrt(b))**2``, is no signal.

        References
        ----------
        .. [1] F. Benaych-Georges, R. Nadakuditi, "The singular values and vectors of
           low rank perturbations of large rectangular random matrices", 2012.
        """
        a = 1.0 / self.tokens_per_row
        b = a * self.n_words / self.n_rows
        excess = self.eigenvalues - a - b
        is_signal = excess > 2.0 * np.sqrt(a * b)
        root = np.sqrt(np.maximum(excess**2 - 4.0 * a * b, 0.0))
        return np.where(is_signal, (excess + root) / 2.0 + a, 0.0)


class Recent:
    """The last result of a function of the same objects; nothing in a pickle."""

    def __init__(self):
        self._key, self._value = (), None

    def __reduce__(self):
        return Recent, ()

    def result(self, function, *arguments):
        """Return ``function(*arguments)``, which is computed once in a row."""
        key = self._key
        same = len(key) == len(arguments)
        if not same or any(a is not b for a, b in zip(key, arguments, strict=True)):
            self._value = function(*arguments)
            self._key = arguments
        return self._value


def analyse(X, sample_weight, n_axes):
    """Return the `Correspondence` of at most `ROWS_ANALYSED` rows, taken evenly.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
        Counts.
    sample_weight : ndarray of shape (n_samples,) or None
    n_axes : int
        How many axes are wanted; fewer are found in data of a lower rank.

    Returns
    -------
    correspondence : Correspondence or None
        None if no document has tokens.
    """
    X, weight = _sampled(X, sample_weight)
    largest = X.data.max(initial=0.0)
    if not largest > 0.0:
        return None
    X.data /= largest  # sums and products stay finite; the matrix is the same
    tokens = np.asarray(X.sum(axis=1)).ravel()
    filled = np.flatnonzero((tokens > LEAST_TOKENS) & (weight > 0.0))
    if len(filled) == 0:
        return None
    if len(filled) < X.shape[0]:
        X, weight, tokens = X[filled], weight[filled], tokens[filled]
    words = X.T @ weight
    columns = np.flatnonzero(words > 0.0)
    with one_blas_thread():
        eigenvalues, scores = _axes(X, weight, tokens, words, columns, n_axes)
    mean = float(weight @ tokens / weight.sum()) * largest
    return Correspondence(eigenvalues, scores, X, weight, mean, len(columns))


def _sampled(X, sample_weight):
    """Return rows of X, taken evenly, as canonical CSR of float64; and their weights.

    Of an even sample of `ROWS_ANALYSED` rows the same ones are taken as of all rows.
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


def _axes(X, weight, tokens, words, columns, n_axes):
    """Return the leading eigenvalues, and the scores of rows on the axes.

    By a randomised range finder [1]_, whose random directions are of words: so rows may
    come in another order, and a row that counts twice is two rows.

    References
    ----------
    .. [1] N. Halko, P.-G. Martinsson, J. Tropp, "Finding structure with randomness",
       SIAM Review 53, 2011.
    """
    A = X if len(columns) == X.shape[1] else X[:, columns]
    words, total = words[columns], float(weight @ tokens)
    of_rows, of_words = np.sqrt(weight / tokens), 1.0 / np.sqrt(words)
    entries = np.repeat(of_rows, np.diff(A.indptr))
    entries *= A.data
    entries *= of_words[A.indices]
    A = sparse.csr_array((entries, A.indices, A.indptr), shape=A.shape)
    u, v = np.sqrt(weight * tokens / total), np.sqrt(words / total)
    n_directions = min(n_axes + OVERSAMPLING, *A.shape)

    def to_rows(directions):
        return A @ directions - np.outer(u, v @ directions)

    def to_words(directions):
        return A.T @ directions - np.outer(v, u @ directions)

    random = np.random.default_rng(0)
    basis = _orthonormal(to_rows(random.standard_normal((len(v), n_directions))))
    for _ in range(N_ITERATIONS):
        basis = _orthonormal(to_rows(to_words(basis)))
    found = to_words(basis)
    eigenvalues, vectors = np.linalg.eigh(found.T @ found)
    first = np.argsort(-eigenvalues, kind="stable")[:n_axes]
    first = first[eigenvalues[first] > LEAST_EIGENVALUE]
    scores = np.column_stack([u, basis @ vectors[:, first]])
    return np.minimum(eigenvalues[first], 1.0), scores


def _orthonormal(columns):
    return np.linalg.qr(columns)[0]

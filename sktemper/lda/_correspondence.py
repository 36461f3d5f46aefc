"""Correspondence analysis of documents: how far apart their words are."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._expfam import ROWS_ANALYSED, effective_rows, even_sample, leading_axes

__all__ = ["ROWS_ANALYSED", "Correspondence", "Recent", "analyse"]

#: A row with fewer tokens than this times the largest count is empty.
LEAST_TOKENS = 1e-30
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
        """The number of rows that the weighted rows are worth, see `effective_rows`."""
        return effective_rows(self.weight)

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
    X, weight = even_sample(X, sample_weight)
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
    eigenvalues, scores = _axes(X, weight, tokens, words, columns, n_axes)
    mean = float(weight @ tokens / weight.sum()) * largest
    return Correspondence(eigenvalues, scores, X, weight, mean, len(columns))


def _axes(X, weight, tokens, words, columns, n_axes):
    """Return the leading eigenvalues, and the scores of rows on the axes."""
    A = X if len(columns) == X.shape[1] else X[:, columns]
    words, total = words[columns], float(weight @ tokens)
    of_rows, of_words = np.sqrt(weight / tokens), 1.0 / np.sqrt(words)
    entries = np.repeat(of_rows, np.diff(A.indptr))
    entries *= A.data
    entries *= of_words[A.indices]
    A = sparse.csr_array((entries, A.indices, A.indptr), shape=A.shape)
    u, v = np.sqrt(weight * tokens / total), np.sqrt(words / total)
    eigenvalues, vectors = leading_axes(A, u, v, n_axes)
    found = eigenvalues > LEAST_EIGENVALUE
    scores = np.column_stack([u, vectors[:, found]])
    return np.minimum(eigenvalues[found], 1.0), scores

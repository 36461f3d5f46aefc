"""Correspondence analysis of documents, which shows topics before a fit."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._expfam import ROWS_ANALYSED, effective_rows, leading_axes, sample_counts

__all__ = ["ROWS_ANALYSED", "Correspondence", "analyse"]

#: Smallest eigenvalue of an axis; the largest possible eigenvalue is 1.
LEAST_EIGENVALUE = 1e-10


class Correspondence(NamedTuple):
    """The leading axes of the correspondence analysis of a sample of documents.

    Let n_d be the number of tokens of document d, m_v the number of tokens of word v,
    and N the number of all tokens.  The analysed matrix has the entries
    ``(x_dv - n_d m_v / N) / sqrt(n_d m_v)``.

    Attributes
    ----------
    eigenvalues : ndarray of shape (n_axes,)
        The largest squared singular values of the matrix, decreasing, between 0 and 1.
    scores : ndarray of shape (n_rows, 1 + n_axes)
        Orthonormal columns: the trivial axis ``sqrt(n_d / N)``, and the left singular
        vectors.
    X : csr_array of shape (n_rows, n_features)
        Counts of the sampled documents that have tokens, divided by the largest count.
    weight : ndarray of shape (n_rows,)
        Number of times that each of these documents counts.
    tokens_per_row : float
        Mean number of tokens of these documents.
    n_words : int
        Number of words that occur in these documents.
    """

    eigenvalues: np.ndarray
    scores: np.ndarray
    X: Any
    weight: np.ndarray
    tokens_per_row: float
    n_words: int

    @property
    def n_rows(self):
        """Number of equivalent rows of weight 1, see `effective_rows`."""
        return effective_rows(self.weight)

    @property
    def n_tokens(self):
        """Number of tokens of the sample."""
        return self.tokens_per_row * self.weight.sum()

    def eigenvalues_without_sampling_noise(self):
        """Return the eigenvalues in the limit of many documents of the same kind.

        Independent draws of words add noise of variance 1 / N to each entry of the
        matrix.  An eigenvalue that would be s without noise is then about
        ``(s + a) (s + b) / s``, with a = D / N and b = V / N for D rows and V words
        [1]_.  For many rows it tends to s + a.  The largest eigenvalue of noise alone
        is ``(sqrt(a) + sqrt(b))**2``.  Eigenvalues that do not exceed this value are
        replaced by 0.

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


def analyse(X, sample_weight, n_axes):
    """Return the `Correspondence` of at most `ROWS_ANALYSED` evenly spaced rows.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
        Counts.
    sample_weight : ndarray of shape (n_samples,) or None
    n_axes : int
        Largest number of axes; data of a lower rank have fewer.

    Returns
    -------
    correspondence : Correspondence or None
        None if no document has tokens.
    """
    counts = sample_counts(X, sample_weight)
    if counts is None:
        return None
    # dividing all counts by the largest count does not change the analysed matrix
    X, weight, tokens, largest = counts
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

"""Rows of word counts, in one matrix or in a sequence of matrices."""

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from .._engine import matrices_of


class Rows:
    """Rows of word counts, which are read part by part.

    Parameters
    ----------
    X : {array-like, sparse matrix} or sequence of such parts

    Attributes
    ----------
    tokens : ndarray of shape (n_samples,)
        Number of tokens of each document.
    counts : ndarray of shape (n_features,)
        Number of occurrences of each word.
    """

    def __init__(self, X):
        self._parts = matrices_of(X)
        tokens, counts = [], 0.0
        for part in self._read():
            tokens.append(np.asarray(part.sum(axis=1), dtype=np.float64).ravel())
            counts = counts + np.asarray(part.sum(axis=0), dtype=np.float64).ravel()
        self.tokens, self.counts = np.concatenate(tokens), counts

    def __len__(self):
        return len(self.tokens)

    def _read(self):
        for number in range(len(self._parts)):
            part = check_array(self._parts[number], accept_sparse="csr")
            yield sparse.csr_matrix(part)

    def columns(self, words):
        return sparse.vstack([part[:, words] for part in self._read()], format="csr")

    def sums(self, weights):
        """Return weighted sums of all rows; weights have shape (n_samples, n_sums)."""
        start, total = 0, 0.0
        for part in self._read():
            total = total + weights[start : start + part.shape[0]].T @ part
            start += part.shape[0]
        return np.asarray(total)

    def taken(self, numbers):
        """Return the rows with increasing indices as a CSR matrix or a data frame."""
        if hasattr(self._parts[0], "iloc"):
            return self._parts[0].iloc[numbers]  # keeps the names of the columns
        start, found = 0, []
        for part in self._read():
            here = numbers[(start <= numbers) & (numbers < start + part.shape[0])]
            found.append(part[here - start])
            start += part.shape[0]
        return sparse.vstack(found, format="csr")

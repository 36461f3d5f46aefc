"""Critical temperatures of discrete mixtures, from the deviations of rows.

The deviation z_d of row d from independence is measured in units in which each column
has the same variance.  The critical temperatures are the eigenvalues of the sum of
z_d z_d' over rows.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import brentq

from .._expfam import effective_rows, even_sample, leading_axes, sample_counts

__all__ = ["deviations_of_binary", "deviations_of_counts"]


class Deviations(NamedTuple):
    """Deviations ``Z = matrix - outer(rows, columns)``, and their noise per row.

    Attributes
    ----------
    matrix : csr_array of shape (n_rows, n_columns)
    rows : ndarray of shape (n_rows,)
    columns : ndarray of shape (n_columns,)
    weight : ndarray of shape (n_rows,)
        Number of times that each row counts.
    n_observed : ndarray of shape (n_rows,)
        Number of tokens, or of values that are not missing.  The variance of a row's
        noise is proportional to it.
    unit : float
        Factor by which eigenvalues are multiplied.
    """

    matrix: Any
    rows: np.ndarray
    columns: np.ndarray
    weight: np.ndarray
    n_observed: np.ndarray
    unit: float = 1.0

    @property
    def n_rows(self):
        """Number of equivalent rows of weight 1, see `effective_rows`."""
        return effective_rows(self.weight)

    def critical_temperatures(self, n_axes):
        """Return the eigenvalues, corrected for noise; 1 for axes that are only noise.

        Parameters
        ----------
        n_axes : int

        Returns
        -------
        temperatures : ndarray of shape (n_axes,)
            At least 1, decreasing.
        """
        temperatures = np.ones(n_axes)
        if min(self.matrix.shape) == 0:
            return temperatures
        found, _ = leading_axes(self.matrix, self.rows, self.columns, n_axes)
        found *= self.unit
        if not found[0] > 1.0:
            return temperatures
        noise = self._noise()
        edge = noise.edge()
        for axis, eigenvalue in enumerate(found):
            if eigenvalue <= noise.seen(edge):
                break
            temperatures[axis] = noise.without(eigenvalue, edge)
        return np.minimum.accumulate(np.maximum(temperatures, 1.0))

    def _noise(self):
        """Return the noise of rows whose columns are independent.

        The number of dimensions of the noise is the sum of all eigenvalues, or the
        number of columns if this is less.  For one-hot codes of answers, the sum is the
        number of columns minus the number of questions.  For other counts, it may
        exceed the number of columns.
        """
        squares = self.matrix.power(2).sum()
        products = self.rows @ (self.matrix @ self.columns)
        outer = (self.rows @ self.rows) * (self.columns @ self.columns)
        trace = self.unit * (squares - 2.0 * products + outer)
        sizes, place = np.unique(self.n_observed, return_inverse=True)
        shares = np.bincount(place, self.weight) / self.weight.sum()
        n_dimensions = min(trace, len(self.columns))
        ratio = n_dimensions / self.n_rows
        return Noise(ratio, sizes / (shares @ sizes), shares)


class Noise(NamedTuple):
    """The Marchenko-Pastur spectrum of noise of variance 1 in a sample.

    If rows have the variance ``t = 1 + x / of_rows(x)`` in a direction, the sample has
    the eigenvalue ``seen(x)`` in this direction.  This holds for x beyond the edge of
    the noise, which is the x with the smallest ``seen(x)`` [1]_.  For rows of equal
    length, a direction with the variance ``t = 1 + s`` has the eigenvalue
    ``(s + 1) (s + ratio) / s``.

    Attributes
    ----------
    ratio : float
        Number of dimensions of the noise, divided by the number of rows.
    sizes : ndarray of shape (n_sizes,)
        Distinct variances of the noise of rows, with mean 1.
    shares : ndarray of shape (n_sizes,)
        Share of the rows with each of these variances.

    References
    ----------
    .. [1] F. Benaych-Georges, R. Nadakuditi, "The singular values and vectors of low
       rank perturbations of large rectangular random matrices", 2012.
    """

    ratio: float
    sizes: np.ndarray
    shares: np.ndarray

    def seen(self, x):
        """Return the eigenvalue for x, which must exceed ``ratio * max(sizes)``."""
        return x + self.of_rows(x)

    def of_rows(self, x):
        """Return the term of `seen` that is 1 without noise."""
        return self.shares @ (self.sizes / (1.0 - self.ratio * self.sizes / x))

    def edge(self):
        """Return the x with the smallest `seen`."""
        spread = self.ratio * self.shares * self.sizes**2

        def slope(x):
            return 1.0 - (spread / (x - self.ratio * self.sizes) ** 2).sum()

        largest = self.ratio * self.sizes[-1]
        # the slope is at most -3 at the lower end, and at least 3/4 at the upper end
        lower = largest + np.sqrt(spread[-1]) / 2.0
        return brentq(slope, lower, largest + 2.0 * np.sqrt(spread.sum()))

    def without(self, eigenvalue, edge):
        """Return the variance of a direction, given an eigenvalue beyond the noise."""
        x = brentq(lambda x: self.seen(x) - eigenvalue, edge, eigenvalue)
        return 1.0 + x / self.of_rows(x)


def deviations_of_counts(X, sample_weight=None):
    r"""Return the `Deviations` of documents.

    With the tokens n_d of a document, the frequencies :math:`\theta_v` of words and the
    total N of all tokens, the deviations are
    :math:`(x_{dv} - n_d \theta_v) / \sqrt{N \theta_v}`.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
        Counts.
    sample_weight : ndarray of shape (n_samples,) or None

    Returns
    -------
    deviations : Deviations or None
        None if no document has tokens.
    """
    counts = sample_counts(X, sample_weight)
    if counts is None:
        return None
    X, weight, tokens, largest = counts
    words = X.T @ weight
    A, columns = _scaled(X, weight, words)
    total = words.sum()
    rows = np.sqrt(weight) * tokens / np.sqrt(total)
    return Deviations(A, rows, np.sqrt(words[columns] / total), weight, tokens, largest)


def deviations_of_binary(X, threshold, sample_weight=None):
    r"""Return the `Deviations` of rows of values that are 1 above a threshold.

    If the share of ones in a column is p_v and D rows observe it, a deviation is
    :math:`(x_{dv} - p_v) / \sqrt{D p_v (1 - p_v)}`.  It is 0 for a missing value.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
        NaN is a missing value.
    threshold : float
    sample_weight : ndarray of shape (n_samples,) or None

    Returns
    -------
    deviations : Deviations or None
        None if all rows have weight 0.
    """
    X, weight = even_sample(X, sample_weight)
    X, weight = X[weight > 0.0], weight[weight > 0.0]
    if len(weight) == 0:
        return None
    missing = np.isnan(X.data)
    # Values that are not stored are 0.  If 0 is above the threshold, the codes 0 and 1
    # are exchanged, so that the codes of these values are 0, too.
    ones = (X.data <= threshold) if threshold < 0.0 else (X.data > threshold)
    gaps = _with(X, missing.astype(np.float64))
    observed = weight.sum() - gaps.T @ weight
    counts = _with(X, ones.astype(np.float64)).T @ weight
    share = counts / np.maximum(observed, 1e-300)
    scale = observed * share * (1.0 - share)
    entries = np.where(missing, share[X.indices], ones)
    A, columns = _scaled(_with(X, entries), weight, scale)
    return Deviations(
        A,
        np.sqrt(weight),
        share[columns] / np.sqrt(scale[columns]),
        weight,
        X.shape[1] - gaps.sum(axis=1),
    )


def _with(X, entries):
    """Return a matrix with the sparsity structure of X and the given entries."""
    return sparse.csr_array((entries, X.indices, X.indptr), shape=X.shape)


def _scaled(X, weight, scale):
    """Return X with scaled rows and columns, and the indices of the kept columns.

    Parameters
    ----------
    X : csr_array of shape (n_rows, n_features)
    weight : ndarray of shape (n_rows,)
        Rows are multiplied by the square root of ``weight``.
    scale : ndarray of shape (n_features,)
        Columns are divided by the square root of ``scale``.  Columns with ``scale`` 0
        are left out.
    """
    columns = np.flatnonzero(scale > 0.0)
    scale = scale[columns]
    X = X[:, columns]
    X.data = X.data * np.repeat(np.sqrt(weight), np.diff(X.indptr))
    X.data /= np.sqrt(scale)[X.indices]
    return X, columns

"""Critical temperatures of discrete mixtures, from the deviations of rows.

With z_d, the deviation of row d from independence in units in which each column has the
same variance, they are the eigenvalues of the sum of z_d z_d' over rows.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import brentq

from .._expfam import effective_rows, even_sample, leading_axes

__all__ = ["deviations_of_binary", "deviations_of_counts"]


class Deviations(NamedTuple):
    """The rows ``Z = matrix - outer(rows, columns)``, and what is known of their noise.

    Attributes
    ----------
    matrix : csr_array of shape (n_rows, n_columns)
    rows : ndarray of shape (n_rows,)
    columns : ndarray of shape (n_columns,)
    weight : ndarray of shape (n_rows,)
        How often each row counts.
    n_observed : ndarray of shape (n_rows,)
        Tokens, or values that are not missing: the variance of a row's noise is
        proportional to it.
    unit : float
        What the eigenvalues are multiplied by.
    """

    matrix: Any
    rows: np.ndarray
    columns: np.ndarray
    weight: np.ndarray
    n_observed: np.ndarray
    unit: float = 1.0

    @property
    def n_rows(self):
        """The number of rows that the weighted rows are worth."""
        return effective_rows(self.weight)

    def critical_temperatures(self, n_axes):
        """Return the eigenvalues without the share of noise, and 1 where all is noise.

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

        Its dimensions are the sum of all eigenvalues, which for questions in one-hot
        code is the number of columns less that of the questions; but in counts with
        other structure they are at most the columns.
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
    """The spectrum of noise of variance 1 in a sample, after Marchenko and Pastur.

    A direction in which the rows have the variance t is seen in a sample as the
    eigenvalue ``seen(x)`` with ``t = 1 + x / of_rows(x)``, if that is beyond the
    edge of the noise, where ``seen(x)`` is least [1]_.  For rows of equal length,
    ``(s + 1) (s + ratio) / s`` is seen of ``t = 1 + s``.

    Attributes
    ----------
    ratio : float
        Dimensions of the noise over rows.
    sizes : ndarray of shape (n_sizes,)
        Of rows, with mean 1: the variances of their noise.
    shares : ndarray of shape (n_sizes,)
        Of the rows that have them.

    References
    ----------
    .. [1] F. Benaych-Georges, R. Nadakuditi, "The singular values and vectors of low
       rank perturbations of large rectangular random matrices", 2012.
    """

    ratio: float
    sizes: np.ndarray
    shares: np.ndarray

    def seen(self, x):
        """Return an eigenvalue beyond the noise; x exceeds ``ratio * max(sizes)``."""
        return x + self.of_rows(x)

    def of_rows(self, x):
        """Return the part of `seen` that is 1 without noise."""
        return self.shares @ (self.sizes / (1.0 - self.ratio * self.sizes / x))

    def edge(self):
        """Return the x at which `seen` is least."""
        spread = self.ratio * self.shares * self.sizes**2

        def slope(x):
            return 1.0 - (spread / (x - self.ratio * self.sizes) ** 2).sum()

        largest = self.ratio * self.sizes[-1]
        # the slope is at most -3 at the one end, and at least 3/4 at the other
        lower = largest + np.sqrt(spread[-1]) / 2.0
        return brentq(slope, lower, largest + 2.0 * np.sqrt(spread.sum()))

    def without(self, eigenvalue, edge):
        """Return the variance that is seen as an eigenvalue beyond the noise."""
        x = brentq(lambda x: self.seen(x) - eigenvalue, edge, eigenvalue)
        return 1.0 + x / self.of_rows(x)


def deviations_of_counts(X, sample_weight=None):
    r"""Return the `Deviations` of documents.

    With the tokens n_d of a document and the frequencies :math:`\theta_v` of words,
    they are :math:`(x_{dv} - n_d \theta_v) / \sqrt{N \theta_v}`, N tokens in all.

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
    X, weight = even_sample(X, sample_weight)
    largest = X.data.max(initial=0.0)
    if not largest > 0.0:
        return None
    X.data /= largest  # sums stay finite
    tokens = np.asarray(X.sum(axis=1)).ravel()
    filled = (tokens > 0.0) & (weight > 0.0)
    if not filled.any():
        return None
    if not filled.all():
        X, weight, tokens = X[filled], weight[filled], tokens[filled]
    words = X.T @ weight
    A, columns = _scaled(X, weight, words)
    total = words.sum()
    rows = np.sqrt(weight) * tokens / np.sqrt(total)
    return Deviations(
        A, rows, np.sqrt(words[columns] / total), weight, tokens, float(largest)
    )


def deviations_of_binary(X, threshold, sample_weight=None):
    r"""Return the `Deviations` of rows of values that are 1 above a threshold.

    With the share p_v of ones, they are :math:`(x_{dv} - p_v) / \sqrt{D p_v (1 - p_v)}`
    for D rows that observe the column, and 0 of a missing value.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
        NaN is a missing value.
    threshold : float
    sample_weight : ndarray of shape (n_samples,) or None

    Returns
    -------
    deviations : Deviations or None
        None if no row counts.
    """
    X, weight = even_sample(X, sample_weight)
    X, weight = X[weight > 0.0], weight[weight > 0.0]
    if len(weight) == 0:
        return None
    missing = np.isnan(X.data)
    # what is not stored is 0: where that is above the threshold, the code is reversed
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
    """Return X with other entries at the same places."""
    return sparse.csr_array((entries, X.indices, X.indptr), shape=X.shape)


def _scaled(X, weight, scale):
    """Return X with scaled rows and columns, and which columns it has.

    Parameters
    ----------
    X : csr_array of shape (n_rows, n_features)
    weight : ndarray of shape (n_rows,)
        Rows are multiplied by its root.
    scale : ndarray of shape (n_features,)
        Columns are divided by its root; those where it is 0 are left out.
    """
    columns = np.flatnonzero(scale > 0.0)
    scale = scale[columns]
    X = X[:, columns]
    X.data = X.data * np.repeat(np.sqrt(weight), np.diff(X.indptr))
    X.data /= np.sqrt(scale)[X.indices]
    return X, columns

"""Starts of Gaussian mixtures from rows with missing values."""

import numpy as np

from .._expfam import COVARIANCES
from ._gapped_rows import GappedRows, block_of, conditional, summed

__all__ = ["filled", "mean_and_covariance_of", "shows_correlations"]

#: Largest number of rows from which a mean and a covariance are computed.
ROWS_LOOKED_AT = 20_000
#: With more columns, missing values are filled with column means, not by regression.
MOST_CORRELATED = 50
#: Largest number of steps of expectation maximisation.  The steps end earlier if the
#: covariance of the standardized columns changes by less than TOL.
STEPS, TOL = 50, 1e-4
#: Variance that is added to the variances of standardized columns.
RIDGE = 1e-9
ROWS_OF_PART = 1024
#: Least number of rows, per column of X, in which any two columns both have values.
#: With few but some such rows, a learned prior copies their correlations, and held-out
#: densities fall by up to tens of nats per row.
ROWS_PER_COLUMN = 10


def shows_correlations(X, weight):
    """Return whether enough rows have values in both columns of each pair of columns.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    weight : ndarray of shape (n_samples,) or None
    """
    if weight is None or not weight.any():
        weight = np.ones(len(X))
    step = -(-len(X) // ROWS_LOOKED_AT)
    known = (~np.isnan(X[::step])).astype(np.float64)
    pairs = (step * weight[::step] * known.T) @ known
    return bool(pairs.min() >= ROWS_PER_COLUMN * X.shape[1])


def mean_and_covariance_of(X, weight, is_full, default=None):
    """Return the mean and the covariance of rows with missing values.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    weight : ndarray of shape (n_samples,) or None
    is_full : bool
        True fits a Gaussian by expectation maximisation.  False computes the mean and
        the variance of the observed values of each column, without covariances.
    default : ndarray of shape (n_features,) or None
        Means of columns without a value.

    Raises
    ------
    ValueError
        If a column has no value and no default.
    """
    if weight is None or not weight.any():
        weight = np.ones(len(X))
    step = -(-len(X) // ROWS_LOOKED_AT)
    if weight[::step].any():
        X, weight = X[::step], weight[::step]
    X = np.asarray(X, dtype=np.float64)
    known = ~np.isnan(X)
    totals = weight @ known
    if default is None and not totals.all():
        number = int(np.flatnonzero(totals == 0)[0])
        raise ValueError(
            f"Column {number} of X has only missing values (NaN): leave it out, or "
            "start with rows that have values."
        )
    mean = weight @ np.where(known, X, 0.0) / np.where(totals > 0, totals, 1.0)
    mean = mean if default is None else np.where(totals > 0, mean, default)
    squares = weight @ np.where(known, X - mean, 0.0) ** 2
    variances = squares / np.maximum(totals - 1.0, 1.0)
    if not is_full:
        return mean, np.diag(variances)
    return _fitted(X, weight, mean, variances)


def _fitted(X, weight, mean, variances):
    """Return the mean and the covariance of a Gaussian that is fitted to rows."""
    total, origin = weight.sum(), mean
    units = np.sqrt(np.where(variances > 0, variances, 1.0))
    parts = [slice(at, at + ROWS_OF_PART) for at in range(0, len(X), ROWS_OF_PART)]
    blocks = [GappedRows((X[part] - origin) / units) for part in parts]
    mean, covariance = np.zeros(len(units)), np.diag((variances > 0).astype(float))
    ridge = RIDGE * np.eye(len(units))
    for _ in range(STEPS):
        precision = _inverse(covariance + ridge)
        first, second = np.zeros_like(mean), np.zeros_like(covariance)
        for part, block in zip(parts, blocks, strict=True):
            found = conditional(block, block.rows, mean[None], precision)
            rows = found.shifts[0] + mean
            first += weight[part] @ rows
            second += (rows * weight[part, None]).T @ rows
            second += summed(block, found.covariances, weight[None, part])[0]
        mean = first / total
        before, covariance = covariance, second / total - np.outer(mean, mean)
        if np.abs(covariance - before).max() < TOL:
            break
    covariance *= total / (total - 1.0) if total > 1 else 1.0
    return origin + units * mean, covariance * np.outer(units, units)


def _inverse(covariance):
    """Return the inverse of a covariance, (1, n_features, n_features)."""
    roots, _ = COVARIANCES["full"](len(covariance)).factors(covariance[None])
    return np.swapaxes(roots, 1, 2) @ roots


def filled(X, weight, is_full, default=None):
    """Return rows with missing values replaced by means.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    weight : ndarray of shape (n_samples,) or None
    is_full : bool
        True uses means given the observed values of the row, and False column means.
    default : ndarray of shape (n_features,) or None
        Means of columns without a value; None raises an error.
    """
    is_full = is_full and X.shape[1] <= MOST_CORRELATED
    mean, covariance = mean_and_covariance_of(X, weight, is_full, default)
    out = np.where(np.isnan(X), mean.astype(X.dtype), X)
    if not is_full:
        return out
    units = np.sqrt(np.where(np.diag(covariance) > 0, np.diag(covariance), 1.0))
    scaled = covariance / np.outer(units, units) + RIDGE * np.eye(len(units))
    precision = _inverse(scaled)
    for start in range(0, len(X), ROWS_OF_PART):
        part = slice(start, start + ROWS_OF_PART)
        block = block_of(np.ascontiguousarray(X[part], dtype=np.float64))
        if isinstance(block, GappedRows):
            rows = (block.rows - mean) / units
            found = conditional(block, rows, np.zeros((1, len(mean))), precision)
            values = mean + units * found.shifts[0]
            out[part] = np.where(block.missing, values, block.rows)
    return out

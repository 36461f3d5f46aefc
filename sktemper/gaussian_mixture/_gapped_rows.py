"""Rows with missing values, and distributions of these values given a component."""

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from .._cache import LastCall
from .._expfam import COVARIANCES
from .._linalg import tiled_matmul

__all__ = ["GappedRows", "block_of", "conditional", "has_gaps", "summed"]

#: Largest number of elements of the conditional covariances that are computed at once.
MOST_ELEMENTS = 2**21


def block_of(rows):
    """Return `GappedRows` if values are missing; otherwise return rows unchanged."""
    values = rows.ravel()
    # the sum of squares is NaN if a value is NaN; an overflow gives infinity
    return GappedRows(rows) if math.isnan(values @ values) else rows


def has_gaps(X):
    """Return whether values are missing; no array of the size of ``X`` is made."""
    parts = (X[start : start + 4096] for start in range(0, len(X), 4096))
    return any(bool(np.isnan(part).any()) for part in parts)


class Pattern(NamedTuple):
    """Rows with the same number of missing values.

    Attributes
    ----------
    rows : ndarray of int of shape (n_rows,)
    missing : ndarray of int of shape (n_patterns, n_missing)
        Columns with missing values, for each distinct pattern.
    numbers : ndarray of int of shape (n_rows,)
        Index of the pattern of each row.
    """

    rows: np.ndarray
    missing: np.ndarray
    numbers: np.ndarray


class GappedRows:
    """Rows of data with missing values, which are NaN.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
    """

    def __init__(self, rows):
        self.rows, self.shape, self.dtype = rows, rows.shape, rows.dtype
        self.last = LastCall()

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, rows):
        return block_of(self.rows[rows])

    @functools.cached_property
    def missing(self):
        """Mask of missing values, ndarray of bool of shape (n_rows, n_features)."""
        return np.isnan(self.rows)

    @functools.cached_property
    def n_missing(self):
        """Number of missing values of each row."""
        return self.missing.sum(axis=1)

    @functools.cached_property
    def patterns(self):
        """The rows with missing values, a list of `Pattern`."""
        found = []
        for number in np.unique(self.n_missing[self.n_missing > 0]).tolist():
            rows = np.flatnonzero(self.n_missing == number)
            bits = np.packbits(self.missing[rows], axis=1)
            keys = np.ascontiguousarray(bits).view(f"V{bits.shape[1]}").ravel()
            _, first, numbers = np.unique(keys, return_index=True, return_inverse=True)
            columns = np.nonzero(self.missing[rows[first]])[1].reshape(-1, number)
            found.append(Pattern(rows, columns, numbers.ravel()))
        return found

    @functools.cached_property
    def divided(self):
        """Indices and block of rows without, and then of rows with missing values."""
        complete = np.flatnonzero(self.n_missing == 0)
        if not len(complete):
            return complete, self.rows[:0], np.arange(len(self)), self
        gapped = np.flatnonzero(self.n_missing)
        return complete, self.rows[complete], gapped, GappedRows(self.rows[gapped])

    def joined(self, of_complete, of_gapped):
        """Return the joined results of two functions, of the two `divided` blocks."""
        complete, rows, gapped, own = self.divided
        found = of_gapped(own)
        if not len(complete):
            return found
        out = np.empty((len(self), *found.shape[1:]), dtype=found.dtype)
        out[gapped], out[complete] = found, of_complete(rows)
        return out

    def about(self, origin):
        """Return rows minus an origin in float64, with 0 for missing values."""
        return np.where(self.missing, 0.0, self.rows - origin)

    def parts(self, n_components):
        """Return slices of rows with their blocks, such that each needs little memory.

        The conditional covariances of each slice have a limited size.
        """
        most = max(int(self.n_missing.max(initial=1)) ** 2, self.shape[1])
        step = max(MOST_ELEMENTS // (n_components * most), 1)
        if step >= len(self):
            return [(slice(None), self)]
        parts = [slice(start, start + step) for start in range(0, len(self), step)]
        return [(part, GappedRows(self.rows[part])) for part in parts]


class Conditional(NamedTuple):
    """Distributions of missing values given the observed values and each component.

    L_mm is the part of a component's precision for the missing values of a row.

    Attributes
    ----------
    shifts : ndarray of shape (n_components, n_rows, n_features)
        Completed rows minus the mean of the component.
    log_determinants : ndarray of shape (n_components, n_rows)
        log |L_mm|.
    covariances : list of ndarray of shape (n_components, n_patterns, n_missing, \
            n_missing)
        L_mm^-1 for each of `GappedRows.patterns`.
    """

    shifts: Any
    log_determinants: Any
    covariances: Any


def conditional(block, rows, means, precisions):
    """Return the `Conditional` of rows.

    Parameters
    ----------
    block : GappedRows
    rows : ndarray of shape (n_rows, n_features)
        Rows in the coordinates of the means, with any numbers for missing values.
    means : ndarray of shape (n_components, n_features)
    precisions : ndarray of shape (n_components, n_features, n_features)
        Expected precisions of the components.
    """
    shifts = np.where(block.missing, 0.0, rows - means[:, None])
    given = zip(shifts, precisions, strict=True)
    pulls = np.stack([tiled_matmul(one, precision) for one, precision in given])
    logs, covariances = np.zeros(shifts.shape[:2]), []
    for rows, missing, numbers in block.patterns:
        own = precisions[:, missing[:, :, None], missing[:, None, :]]
        roots, log_determinants = COVARIANCES["full"](missing.shape[1]).factors(own)
        logs[:, rows] = -log_determinants[:, numbers]
        found = np.swapaxes(roots, 2, 3) @ roots
        covariances.append(found)
        places = rows[:, None], missing[numbers]
        values = found[:, numbers] @ pulls[:, *places, None]
        shifts[:, *places] = -values[..., 0]
    return Conditional(shifts, logs, covariances)


def summed(block, covariances, weight):
    """Return the weighted sums of the conditional covariances.

    Parameters
    ----------
    block : GappedRows
    covariances : list of ndarray
        Attribute of `Conditional`.
    weight : ndarray of shape (n_components, n_rows)

    Returns
    -------
    sums : ndarray of shape (n_components, n_features, n_features)
    """
    (K, _), D = weight.shape, block.shape[1]
    total = np.zeros((K, D * D))
    for (rows, missing, numbers), found in zip(
        block.patterns, covariances, strict=True
    ):
        places = (missing[:, :, None] * D + missing[:, None, :]).ravel()
        for k in range(K):
            own = np.bincount(numbers, weight[k, rows], len(missing))
            values = found[k] * own[:, None, None]
            total[k] += np.bincount(places, values.ravel(), D * D)
    return total.reshape(K, D, D)

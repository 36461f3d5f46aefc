"""Statistics of data, possibly with missing values: ranges, means and squares."""

import math

import numpy as np

__all__ = [
    "LARGEST_VALUES",
    "centred",
    "check_range",
    "filled",
    "looked_at",
    "mean_square",
    "step_of_looking",
]

#: Largest number of rows from which statistics of the data are computed.
ROWS_LOOKED_AT = 10_000
#: Largest supported absolute value of data, by dtype; its square is finite.  A
#: variance below ``1 / limit**2`` counts as 0.
LARGEST_VALUES = {np.dtype(np.float32): 1e30, np.dtype(np.float64): 1e120}
#: Largest supported value of ``n_features * x**2 / noise_variance``, by dtype.
LARGEST_RATIOS = {np.dtype(np.float32): 1e35, np.dtype(np.float64): 1e300}


def check_range(X, dtype, noise_variance, name="X"):
    """Raise ValueError if a value is too large to compute with.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Data, possibly with missing values.
    dtype : {float32, float64}
        Dtype of the computation.
    noise_variance : float or None
        Noise variance; None if it is not known yet.
    name : str
        Name of ``X`` in the message.
    """
    limit, given = LARGEST_VALUES[dtype], ""
    if noise_variance is not None:
        ratio = math.sqrt(LARGEST_RATIOS[dtype] / X.shape[1])
        if ratio * math.sqrt(noise_variance) < limit:
            limit = ratio * math.sqrt(noise_variance)
            given = f" with a noise variance of {noise_variance:g}"
    largest = float(max(np.fmax.reduce(X, axis=None), -np.fmin.reduce(X, axis=None)))
    if largest > limit:
        raise ValueError(
            f"Input {name} contains a value of size {largest:.3g}; the largest size "
            f"supported in {dtype}{given} is {limit:.3g}. Scale the data."
        )


def step_of_looking(X):
    """Return the step between the indices of the rows that `looked_at` returns."""
    return -(-len(X) // ROWS_LOOKED_AT)


def looked_at(X):
    """Return at most `ROWS_LOOKED_AT` evenly spaced rows of the data."""
    # a contiguous copy, because rounding errors of sums depend on the memory layout
    return np.ascontiguousarray(X[:: step_of_looking(X)], dtype=np.float64)


def filled(X):
    """Return the rows of `looked_at`; column means replace missing values."""
    rows = looked_at(X)
    missing = np.isnan(rows)
    if not missing.any():
        return rows
    return np.where(missing, column_means(rows), rows)


def column_means(rows, weight=None):
    """Return the means of the known values of columns; 0 for columns without values."""
    weight = np.ones(len(rows)) if weight is None else weight
    present = ~np.isnan(rows)
    counts = weight @ present
    return (weight @ np.where(present, rows, 0.0)) / np.where(counts > 0, counts, 1.0)


def centred(rows, weight=None):
    """Return the rows minus the means of their columns."""
    return rows - column_means(rows, weight)


def mean_square(rows, weight=None):
    """Return the mean square of the known values, or 0 if no value is known."""
    weight = np.ones(len(rows)) if weight is None else weight
    present = ~np.isnan(rows)
    count = float(weight @ present.sum(axis=1))
    squares = np.where(present, rows, 0.0) ** 2
    return float(weight @ squares.sum(axis=1)) / count if count > 0 else 0.0

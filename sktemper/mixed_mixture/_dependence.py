"""Correlations of columns within classes, which mean values of gaps take into account.

The columns of a row are independent given its class, and a few classes cannot describe
a scale of many items.  The correlations that remain within classes are those of the
residuals of training rows, and the residuals in the gaps of a row follow by regression.
"""

import numpy as np

from .._utils._budgets import TERMS_ALONE, VALUES_AT_ONCE, slices
from .._utils._linalg import tiled_matmul
from ..model import Request


def shares_of_rows(model, block, prepared):
    """Return the probabilities of the classes of rows."""
    step = model.local_step(block, prepared, Request(want=("local",)))
    return step.local_parameters.astype(np.float64)


def _residuals(model, block, prepared, shares):
    """Return how far numbers exceed their expectations, and 1 if they are known.

    The residual of a missing value is 0.
    """
    values, known = model.family.numbers(block.moments)
    expected = model.family.mean_numbers(prepared.tables.parameters)
    return known * (values - tiled_matmul(shares, expected)), known


def sums_of_residuals(model, block, prepared, weight):
    """Return sums of products of residuals, and the weight of rows with both values."""
    shares = shares_of_rows(model, block, prepared)
    parts = _residuals(model, block, prepared, shares)
    return np.stack([(weight[:, None] * part).T @ part for part in parts])


def are_few(columns):
    """Return whether regressions on these columns are fast."""
    return len(columns) ** 3 <= TERMS_ALONE


def _correlations(sums):
    """Return standard deviations of residuals, and their shrunk correlations [1]_.

    They lose the share of their squares that chance explains.

    References
    ----------
    .. [1] J. Schaefer, K. Strimmer, "A shrinkage approach to large-scale covariance
       matrix estimation", Statistical Applications in Genetics and Molecular Biology 4,
       2005.
    """
    products, weights = sums[0], np.maximum(sums[1], 1.0)
    widths = np.sqrt(products.diagonal() / weights.diagonal())
    varies, widths = widths > 0, np.where(widths > 0, widths, 1.0)
    found = products / (weights * np.outer(widths, widths))
    np.fill_diagonal(found, 1.0)
    values, vectors = np.linalg.eigh(found)  # some are negative because of gaps
    found = vectors * np.maximum(values, 0.0) @ vectors.T
    spread = np.sqrt(found.diagonal())
    found /= np.outer(spread, spread)
    pairs = np.outer(varies, varies) & ~np.eye(len(found), dtype=bool)
    squares, by_chance = (found[pairs] ** 2).sum(), (1.0 / weights[pairs]).sum()
    found *= max(squares - by_chance, 0.0) / (squares or 1.0)
    np.fill_diagonal(found, 1.0)
    return widths, found


def shares_and_corrections(model, block, prepared, sums):
    """Return probabilities of classes, and what exceeds expectations given the row.

    These are the expected residuals of columns given those of the known values; they
    are 0 without sums.  The rounding of a row is independent of other rows.
    """
    shares = shares_of_rows(model, block, prepared)
    residuals, known = _residuals(model, block, prepared, shares)
    if sums is None:
        return shares, np.zeros_like(residuals)
    widths, found = _correlations(sums)
    one = np.eye(len(found))
    for some in slices(len(block), found.size, VALUES_AT_ONCE):
        both = known[some, :, None] * known[some, None]
        own = np.where(both, found, one)
        solved = np.linalg.solve(own, (residuals[some] / widths)[..., None])
        residuals[some] = tiled_matmul(solved[..., 0], found) * widths
    return shares, residuals

"""Correlations of columns within classes, which mean values of gaps take into account.

The columns of a row are independent given its class, and a few classes cannot describe
a scale of many items.  The correlations that remain within classes are those of the
residuals of training rows, and the residuals in the gaps of a row follow by regression.
"""

import numpy as np

from .._families._family import dense
from .._utils._budgets import VALUES_AT_ONCE, slices
from .._utils._linalg import tiled_matmul
from .._utils._validation import ROUNDING


def _residuals(model, block, prepared):
    """Return shares of classes, residuals (0 if missing), and 1 for known values."""
    shares, *_ = model.responsibilities(block, prepared)
    values, known = model.family.numbers(dense(model.family.moments(block)))
    sums, totals = model.family.numbers(prepared.tables.parameters, prior=1.0)
    return shares, known * (values - tiled_matmul(shares, sums / totals)), known


def sums_of_residuals(model, block, prepared, weight):
    """Return sums of products of residuals, and the weight of rows with both values."""
    _, *parts = _residuals(model, block, prepared)
    return np.stack([part.T @ (weight[:, None] * part) for part in parts])


def _correlations(sums):
    """Return standard deviations of residuals, and their shrunk correlations [1]_.

    They lose the share of their squares that chance explains.

    References
    ----------
    .. [1] J. Schaefer, K. Strimmer, "A shrinkage approach to large-scale covariance
       matrix estimation", Statistical Applications in Genetics and Molecular Biology 4,
       2005.
    """
    weights = np.maximum(sums[1], 1.0)
    covariances = sums[0] / weights
    widths = np.sqrt(covariances.diagonal())
    pairs = np.outer(widths, widths) > 0
    widths[widths == 0] = 1.0
    found = np.where(pairs, covariances / np.outer(widths, widths), np.eye(len(widths)))
    np.fill_diagonal(pairs, False)
    squares, by_chance = (found[pairs] ** 2).sum(), (1.0 / weights[pairs]).sum()
    # negative because of gaps, or of rounding
    least = min(np.linalg.eigvalsh(found)[0] - ROUNDING, 0.0)
    found *= max(squares - by_chance, 0.0) / (squares or 1.0) / (1.0 - 2.0 * least)
    np.fill_diagonal(found, 1.0)
    return widths, found


def shares_and_residuals(model, block, prepared, sums):
    """Return shares of classes, and the expected residuals of the gaps of rows.

    The rounding of a row is independent of other rows.
    """
    shares, found, known = _residuals(model, block, prepared)
    if sums is None:
        return shares, np.zeros_like(found)
    widths, matrix = _correlations(sums)
    for some in slices(len(found), matrix.size, VALUES_AT_ONCE):
        both = known[some, :, None] * known[some, None] > 0
        own = np.where(both, matrix, np.eye(len(matrix)))
        solved = np.linalg.solve(own, (found[some] / widths)[..., None])
        found[some] = tiled_matmul(solved[..., 0], matrix) * widths
    return shares, found

"""Predictive densities of Student-t components, whose parameters are uncertain."""

import math

import numpy as np

from .._families._counts import log_rising
from .._utils._linalg import tiled_matmul
from ..gaussian_mixture._kernels import FARTHEST
from ..model import Stopped
from . import _kernels


def log_predictive(family, block, tables, freedom):
    """Return the log predictive density of rows in each component.

    Given the scale u, it is the predictive density of the Gaussian family for a row of
    the precision u Lambda, which is integrated over log u.

    Parameters
    ----------
    family : GaussianFamily
    block : ndarray of shape (n_rows, n_features)
    tables : GaussianTables
    freedom : ndarray of shape (n_components,)
        Degrees of freedom of the scales.

    Returns
    -------
    logs : ndarray of shape (n_rows, n_components)
    """
    family, block, tables = family.in_float64(block, tables)
    usual, law, D = tables.usual, family.law, family.n_features
    nu = np.broadcast_to(usual.freedom, usual.precision.shape)
    logs = np.empty((len(block), len(nu)))
    logs[:] = law.log_student(nu, usual.log_determinants, np.ones(len(nu)))
    if not law.is_product:
        distances = family.squares(block, tables) / (law.width * nu)
    given = zip(0.5 * freedom, law.exponent(nu), usual.precision, strict=True)
    for k, (half, exponent, kappa) in enumerate(given):
        if law.is_product:  # a density for each column
            factors = family.covariance.each(usual.factors)
            rows = block - family.origin
            squares = ((rows - usual.means[k]) * factors[k]) ** 2
        else:
            squares = distances[:, k : k + 1]
        squares = np.minimum(squares, FARTHEST)
        logs[:, k] += _log_integrals(squares, (0.5 * D, half, exponent, kappa), family)
        logs[:, k] -= _log_integrals(np.zeros((1, 1)), (0.0, half, 0.0, kappa), family)
    return logs


def _log_integrals(squares, law, family):
    out = np.empty(len(squares))
    squares = np.ascontiguousarray(squares)
    if _kernels.log_integrals(squares, np.array(law), family.stop, out):
        raise Stopped
    return out


def log_student(moved, scale, freedom):
    """Return the log density of a multivariate Student-t distribution.

    Parameters
    ----------
    moved : ndarray of shape (n_rows, n_features)
        Rows minus the location.
    scale : ndarray of shape (n_features, n_features)
        Scale matrix, in columns of any units.
    freedom : float
        Degrees of freedom.
    """
    D, units = len(scale), np.sqrt(np.diag(scale))
    root = np.linalg.cholesky(scale / np.multiply.outer(units, units))
    white = tiled_matmul(moved / units, np.linalg.inv(root).T)
    height = log_rising(0.5 * freedom, 0.5 * D) - 0.5 * D * math.log(math.pi * freedom)
    height -= np.log(np.diag(root) * units).sum()
    falls = np.log1p((white**2).sum(axis=1) / freedom)
    return height - 0.5 * (freedom + D) * falls

"""Predictive densities of Student-t components, whose parameters are uncertain."""

import numpy as np
from scipy.special import gammaln

from .._families import softmax

#: Number of steps of Newton's method, and the largest step.
NEWTON_STEPS, LARGEST_STEP = 8, 3.0
#: Nodes of the trapezoidal rule, in standard deviations from the mode.  The logarithm
#: of the integrand falls only linearly on the left.
NODES = np.linspace(-18.0, 12.0, 41)
#: Largest number of densities that are computed together, if one component has fewer.
MOST_TOGETHER = 4096


def log_predictive(family, block, tables, freedom):
    """Return the log predictive density of rows in each component.

    Given the scale u, it is the predictive density of the Gaussian family for a row of
    the precision u Lambda, which is integrated over log u by the trapezoidal rule.

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
    usual, law = tables.usual, family.law
    nu = np.broadcast_to(usual.freedom, usual.precision.shape)
    heights = law.log_student(nu, usual.log_determinants, np.ones(len(nu)))
    halves, exponents = 0.5 * freedom, law.exponent(nu)
    heights = heights + halves * np.log(halves) - gammaln(halves)
    if law.is_product:  # a density for each column
        rows = block - family.origin
        squares = ((rows[:, None] - usual.means) * usual.factors) ** 2
    else:
        squares = (family.squares(block, tables) / (law.width * nu))[:, :, None]
    logs, n_components = np.empty(squares.shape[:2]), squares.shape[1]
    together = max(MOST_TOGETHER // max(len(block), 1), 1)
    for first in range(0, n_components, together):
        some = slice(first, first + together)
        given = (part[some] for part in (exponents, halves, usual.precision))
        logs[:, some] = _log_integral(squares[:, some], family.n_features, *given)
    return logs + heights


def _log_integral(squares, n_features, exponent, half, kappa):
    """Return the logarithm of the integral over s = log u, for each component.

    The integrand is u^half exp(-half u) v^(D / 2) prod_d (1 + v squares_d)^-exponent,
    where v = 1 / (1 / kappa + 1 / u) is the precision of a row whose mean is uncertain.

    Parameters
    ----------
    squares : ndarray of shape (n_rows, n_components, n_factors)
    n_features : int
    exponent : ndarray of shape (n_components,)
    half : ndarray of shape (n_components,)
        Half of the degrees of freedom of the scales.
    kappa : ndarray of shape (n_components,)
        Precision of the mean.

    Returns
    -------
    logs : ndarray of shape (n_rows, n_components)
    """
    squares = squares.astype(np.float64, copy=False)
    most = 0.5 * n_features
    centre = np.log(half + most) - np.log(half + exponent * squares.sum(axis=2))
    for _ in range(NEWTON_STEPS):
        u = np.exp(centre)
        share = 1.0 / (1.0 + u / kappa)  # the derivative of log v
        products = squares * (u * share)[:, :, None]
        parts = products / (1.0 + products)
        slope = half * (1.0 - u) + share * (most - exponent * parts.sum(axis=2))
        bend = half * u + share**2 * exponent * (parts / (1.0 + products)).sum(axis=2)
        step = slope / bend
        centre = centre + np.clip(step, -LARGEST_STEP, LARGEST_STEP)
    width = bend**-0.5
    logs = np.empty((len(NODES), *centre.shape))
    for node, out in zip(NODES, logs, strict=True):
        s = centre + node * width
        u = np.exp(s)
        v = u / (1.0 + u / kappa)
        falls = np.log1p(squares * v[:, :, None]).sum(axis=2)
        out[:] = half * (s - u) + most * np.log(v) - exponent * falls
    sums = softmax(logs.reshape(len(NODES), -1).T, 1.0)[1].reshape(centre.shape)
    return sums + np.log(width * (NODES[1] - NODES[0]))

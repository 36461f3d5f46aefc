"""Sums of powers of many Dirichlet variables, sum_v x_v^b, from few draws.

V exchangeable variables with the concentration a are replaced by N variables with the
concentration V a / N, which are drawn.  The total concentration is the same, so that
the total of the variables fluctuates by the same amount.  The sum over the N variables
is multiplied by the ratio of the means of both sums, so that it has the same mean as
the sum over V variables.  The ratio is exact up to terms of relative order 1 / (V a),
which are nearly the same in both sums.
"""

import numpy as np
from scipy.special import betaln, gammaln

__all__ = [
    "MOST_DRAWN",
    "TINY_COUNT",
    "log_mean_powers",
    "log_rising",
    "mean_log_power_sums",
]

#: Largest number of variables of a Dirichlet distribution that are drawn.
MOST_DRAWN = 4096
#: Smaller counts are treated as 0, because their Gamma function overflows.
TINY_COUNT = 1e-100
#: Step of trapezoidal rules, whose error is then similar to the rounding error.
STEP = 0.03
#: An integrand is negligible if its exponent is below minus this number.
VANISHED = 45.0
#: Beta distributions with a larger concentration are computed with this concentration,
#: because the results are equal to 8 digits.
POINT = 1e8


def log_rising(a, n):
    """Return log Gamma(a + n) - log Gamma(a), accurate even for a large ``a``."""
    counts = n > TINY_COUNT
    some = np.where(counts, n, 1.0)
    return np.where(counts, gammaln(some) - betaln(a, some), 0.0)


def log_mean_powers(exponents, log_weights, concentrations):
    r"""Return log E (sum_k w_k g_k)^b of independent variables g_k of Gamma(a_k).

    With the Laplace transform L(s) = prod_k (1 + s w_k)^(-a_k) of the sum, the
    expectation is

    .. math:: \frac{1}{\Gamma(3 - b)} \int_0^\infty s^{2 - b} (-L'''(s)) \, ds,

    which the trapezoidal rule integrates over asinh(log s).  The integrand is positive.

    Parameters
    ----------
    exponents : ndarray of shape (n_exponents,)
        b, above 0 and less than 3.
    log_weights : ndarray of shape (n_sums, n_variables)
        log w.
    concentrations : ndarray of shape (n_variables, n_groups)
        Concentrations a of each group of variables, for all sums.

    Returns
    -------
    logs : ndarray of shape (n_sums, n_exponents, n_groups)
    """
    low = VANISHED + np.log(max(1.0, concentrations.sum(axis=0).max()))
    high = VANISHED / exponents.min()
    x = np.arange(-np.arcsinh(low), np.arcsinh(high) + STEP, STEP)
    log_s = np.sinh(x)
    kernel = np.exp(-np.outer(exponents, log_s) - gammaln(3.0 - exponents)[:, None])
    kernel *= STEP * np.cosh(x)
    logs = np.empty((len(log_weights), len(exponents), concentrations.shape[1]))
    for log_weight, out in zip(log_weights, logs, strict=True):
        largest = log_weight.max()  # s is multiplied by the largest weight
        log_sw = log_s[:, None] + (log_weight - largest)
        softplus = np.logaddexp(0.0, log_sw)
        share = np.exp(log_sw - softplus)  # s w / (1 + s w)
        a1, a2, a3 = (share**n @ concentrations for n in (1, 2, 3))
        integrand = np.exp(-softplus @ concentrations)
        integrand *= a1**3 + 3.0 * a1 * a2 + 2.0 * a3
        out[...] = np.log(kernel @ integrand) + largest * exponents[:, None]
    return logs


def mean_log_power_sums(exponents, concentration):
    """Return E log(x^b + (1 - x)^b), where x has the distribution Beta(a, a).

    The density and the function are even in the logit of x.  The trapezoidal rule
    integrates over the logarithm of the logit.

    Parameters
    ----------
    exponents : ndarray of shape (n_exponents,)
        b, above 0 and at most 1.
    concentration : float
        a.

    Returns
    -------
    means : ndarray of shape (n_exponents,)
    """
    a = min(concentration, POINT)
    first = -0.5 * np.log1p(a) - VANISHED
    last = np.log(VANISHED / exponents.min())
    logit = np.exp(np.arange(first, last + STEP, STEP))
    below = np.log1p(np.exp(-logit))  # -log x
    log_density = -a * (logit + 2.0 * below) - betaln(a, a)
    weights = 2.0 * STEP * logit * np.exp(log_density)
    sums = np.log1p(np.exp(-np.outer(exponents, logit)))
    return (sums - np.outer(exponents, below)) @ weights

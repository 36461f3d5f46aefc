"""Distributions of precisions: Wishart distributions, and products of Gammas.

The precision Lambda of a component has the degrees of freedom nu and the inverse scale
S, in the form of the covariance type.  Each observation adds 1 to nu and its squares to
S, and the expected precision is nu S^-1.  The distributions differ in their
normalisers.
"""

import math

import numpy as np
from scipy.special import gammaln, polygamma, psi

from . import _kernels

__all__ = ["GammaPrecision", "GammasPrecision", "WishartPrecision", "log_chisquare"]

LOG_2, LOG_2_PI = math.log(2.0), math.log(2.0 * math.pi)


def log_chisquare(degrees, random, size):
    """Draw log x of chi-square variables x, finite even for tiny degrees of freedom.

    Draws of x might underflow to 0.  A draw from Gamma(a) is therefore replaced by a
    draw from Gamma(a + 1) times U^(1 / a), for a uniform U, which has the same
    distribution and whose logarithm is finite.
    """
    if np.min(degrees) >= 1:
        return np.log(random.chisquare(degrees, size))
    halves = 0.5 * np.broadcast_to(degrees, size)
    draws = np.log(2.0 * random.standard_gamma(halves + 1.0))
    return draws + np.log1p(-random.random(size)) / halves


class WishartPrecision:
    """Wishart distribution of a full matrix.

    scikit-learn uses it for diagonal and spherical precisions, too.

    Parameters
    ----------
    n_features : int

    Attributes
    ----------
    least : float
        Lower limit of the degrees of freedom.
    shift : float
        Degrees of freedom minus their natural parameter.
    is_product : bool
        Whether predictive densities are products over the features.
    width : float
        Factor of the degrees of freedom in a predictive density.
    """

    def __init__(self, n_features):
        self.n_features = n_features
        self.least, self.shift = n_features - 1.0, float(n_features)

    def expected_log(self, freedom):
        """Return E log |Lambda| if the inverse scale is the identity matrix."""
        halves = 0.5 * (np.asarray(freedom)[..., None] - np.arange(self.n_features))
        return psi(halves).sum(axis=-1) + self.n_features * LOG_2

    def derivative(self, freedom):
        """Return the derivative of `expected_log`."""
        halves = 0.5 * (np.asarray(freedom)[..., None] - np.arange(self.n_features))
        return 0.5 * polygamma(1, halves).sum(axis=-1)

    def log_gammas(self, freedom):
        """Return the logarithm of the normaliser's Gamma functions and factors of 2."""
        halves = 0.5 * (np.asarray(freedom)[..., None] - np.arange(self.n_features))
        return gammaln(halves).sum(axis=-1) + 0.5 * self.n_features * LOG_2 * freedom

    def terms(self, precision, freedom, log_determinants):
        """Return terms of lower bounds.

        Parameters
        ----------
        precision, freedom, log_determinants : ndarray of shape (n_components,)
            See `Usual`.

        Returns
        -------
        log_precisions, log_normalisers, log_densities : ndarray of shape \
                (n_components,)
            E log |Lambda|; the logarithm of the density's normaliser, without the
            factor |Lambda|; and the expected log density of samples at distance 0.
        """
        return _kernels.wishart_terms(
            self.n_features, precision, freedom, log_determinants
        )

    def bounds(self, power, q, p, traces, squares):
        """Return power * E log p - E log q of each component.

        Parameters
        ----------
        power : float
        q, p : tuple of four ndarray of shape (n_components,)
            Precisions of the means, degrees of freedom, and the first two of `terms`.
        traces, squares : ndarray of shape (n_components,)
            See `Covariance.traces_and_squares`.
        """
        return _kernels.wishart_bounds(self.n_features, power, q, p, traces, squares)

    is_product, width = False, 1.0

    def exponent(self, freedom):
        """Return the exponent of a predictive density, without its negative sign."""
        return 0.5 * (freedom + 1.0)

    def log_student(self, freedom, log_determinants, spread):
        """Return the logarithm of predictive densities at their modes.

        Parameters
        ----------
        freedom, log_determinants, spread : ndarray of shape (n_components,)
            ``spread`` is (kappa + 1) / kappa.
        """
        D = self.n_features
        halves, exponent = 0.5 * (freedom + 1.0 - D), self.exponent(freedom)
        logs = gammaln(exponent) - gammaln(halves)
        return logs - 0.5 * D * np.log(math.pi * spread) + 0.5 * log_determinants

    def draws(self, freedom, random, n_components):
        """Draw log |Lambda|, (n_components,), if the inverse scale is the identity."""
        degrees = freedom - np.arange(self.n_features)
        return log_chisquare(degrees, random, (n_components, len(degrees))).sum(axis=1)


class GammasPrecision(WishartPrecision):
    """Independent Gamma distributions of the precisions of features.

    The precision of feature d has the distribution Gamma(nu / 2, rate S_d / 2).
    """

    def __init__(self, n_features):
        self.n_features = n_features
        self.least, self.shift = 0.0, 1.0

    def expected_log(self, freedom):
        """Return E log |Lambda| if the inverse scale is the identity matrix."""
        return self.n_features * (psi(0.5 * freedom) + LOG_2)

    def derivative(self, freedom):
        """Return the derivative of `expected_log`."""
        return 0.5 * self.n_features * polygamma(1, 0.5 * freedom)

    def log_gammas(self, freedom):
        """Return the logarithm of the normaliser's Gamma functions and factors of 2."""
        halves = 0.5 * freedom
        return self.n_features * (gammaln(halves) + halves * LOG_2)

    def terms(self, precision, freedom, log_determinants):
        """Return terms of lower bounds."""
        D = self.n_features
        log_precisions = self.expected_log(freedom) + log_determinants
        log_normalisers = 0.5 * D * (np.log(precision) - LOG_2_PI)
        log_normalisers = log_normalisers - 0.5 * freedom * log_determinants
        log_normalisers = log_normalisers - self.log_gammas(freedom)
        log_densities = 0.5 * (log_precisions - D * (LOG_2_PI + 1.0 / precision))
        return log_precisions, log_normalisers, log_densities

    def bounds(self, power, q, p, traces, squares):
        """Return power * E log p - E log q of each component."""
        D = self.n_features
        precision, nu, log_precision, log_q = q
        log_q = log_q + 0.5 * ((nu - self.shift) * log_precision - D * (1.0 + nu))
        log_p = p[3] + 0.5 * (p[1] - self.shift) * log_precision
        log_p = log_p - 0.5 * p[0] * (D / precision + nu * squares) - 0.5 * nu * traces
        return power * log_p - log_q

    is_product = True

    def log_student(self, freedom, log_determinants, spread):
        """Return the logarithm of predictive densities at their modes."""
        halves, D = 0.5 * freedom, self.n_features
        logs = D * (gammaln(halves + 0.5) - gammaln(halves))
        return logs - 0.5 * D * np.log(math.pi * spread) + 0.5 * log_determinants

    def draws(self, freedom, random, n_components):
        """Draw log |Lambda|, (n_components,), if the inverse scale is the identity."""
        size = n_components, self.n_features
        return log_chisquare(freedom, random, size).sum(axis=1)


class GammaPrecision(GammasPrecision):
    """One Gamma distribution of the common precision of all features.

    The precision lambda has the distribution Gamma(D nu / 2, rate D S / 2), because S
    is a mean over the D features.  Densities are with respect to the base measure
    lambda^((D - 1) / 2), so that their powers in tempered posteriors can always be
    normalised.
    """

    def __init__(self, n_features):
        self.n_features = n_features
        self.least, self.shift = 0.0, 1.0 / n_features
        self.width = float(n_features)

    def expected_log(self, freedom):
        """Return E log |Lambda| if the inverse scale is the identity matrix."""
        D = self.n_features
        return D * (psi(0.5 * D * freedom) - math.log(0.5 * D))

    def derivative(self, freedom):
        """Return the derivative of `expected_log`."""
        D = self.n_features
        return 0.5 * D**2 * polygamma(1, 0.5 * D * freedom)

    def log_gammas(self, freedom):
        """Return the logarithm of the normaliser's Gamma function and factor."""
        halves = 0.5 * self.n_features * freedom
        return gammaln(halves) - halves * math.log(0.5 * self.n_features)

    is_product = False

    def exponent(self, freedom):
        """Return the exponent of a predictive density, without its negative sign."""
        return 0.5 * self.n_features * (freedom + 1.0)

    def log_student(self, freedom, log_determinants, spread):
        """Return the logarithm of predictive densities at their modes."""
        D, exponent = self.n_features, self.exponent(freedom)
        logs = gammaln(exponent) - gammaln(exponent - 0.5 * D)
        logs = logs - 0.5 * D * np.log(math.pi * D * spread)
        return logs + 0.5 * log_determinants

    def draws(self, freedom, random, n_components):
        """Draw log |Lambda|, (n_components,), if the inverse scale is the identity."""
        D = self.n_features
        logs = log_chisquare(D * freedom, random, n_components)
        return D * (logs - math.log(D))

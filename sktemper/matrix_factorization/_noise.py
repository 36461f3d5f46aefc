"""Gamma posteriors of the noise precisions of users."""

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, psi
from scipy.stats import norm, t

#: Initial shape of the Gamma prior of users' precisions, and range of learned shapes.
START_SHAPE, SHAPES = 5.0, (1.5, 1e4)
#: Shape and rate of the posterior of a precision that is known to be 1.
CERTAIN = 1e100


class Noise(NamedTuple):
    """Gamma posteriors of the users' precisions t, relative to the common precision.

    Attributes
    ----------
    shapes, rates : ndarray of shape (n_rows,)
    """

    shapes: np.ndarray
    rates: np.ndarray

    @classmethod
    def fixed(cls, n_rows):
        """Return precisions that are known to be 1."""
        return cls(np.full(n_rows, CERTAIN), np.full(n_rows, CERTAIN))

    @property
    def means(self):
        """E[t], ndarray of shape (n_rows,)."""
        return self.shapes / self.rates

    def inverse_means(self):
        """Return E[1 / t], which exists for shapes above 1."""
        return self.rates / (self.shapes - 1)

    def log_means(self):
        """Return E[log t]."""
        return psi(self.shapes) - np.log(self.rates)

    def bounds(self, shape, power):
        """Return power E log p(t) - E log q(t), where p is Gamma(shape, shape)."""
        log_means, means = self.log_means(), self.means
        log_prior = (
            shape * math.log(shape)
            - gammaln(shape)
            + (shape - 1) * log_means
            - shape * means
        )
        entropies = (
            self.shapes
            - np.log(self.rates)
            + gammaln(self.shapes)
            + (1 - self.shapes) * psi(self.shapes)
        )
        return power * log_prior + entropies


def best_shape(log_noise):
    """Return the shape of Gamma(shape, shape) that fits E[log t - t] best."""

    def slope(log_shape):
        return log_shape - psi(math.exp(log_shape)) + 1 + log_noise

    low, high = np.log(SHAPES)
    if slope(high) > 0:
        return SHAPES[1]
    return SHAPES[0] if slope(low) < 0 else math.exp(brentq(slope, low, high))


def log_densities(residuals, variances, freedom=None):
    """Return log densities of residuals: Gaussian, or Student's t with ``freedom``."""
    scale = np.sqrt(variances)
    if freedom is None:
        return norm.logpdf(residuals, scale=scale)
    return t.logpdf(residuals, freedom, scale=scale)

"""The Dirichlet distribution, along any axis of arrays of concentrations."""

import numpy as np
from scipy.special import gammaln, logsumexp, polygamma, psi


def log_normaliser(concentration, axis=-1):
    """Return the logarithm of the factor that makes the density integrate to 1."""
    total = gammaln(concentration.sum(axis=axis))
    return total - gammaln(concentration).sum(axis=axis)


def expected_log(concentration, axis=-1):
    """Return E log x."""
    return psi(concentration) - psi(concentration.sum(axis=axis, keepdims=True))


def bound(concentration, prior, power, axis=-1):
    """Return power * E log p - E log q, summed over all distributions."""
    normalisers = power * log_normaliser(prior, axis).sum()
    normalisers -= log_normaliser(concentration, axis).sum()
    exponent = power * (prior - 1.0) - (concentration - 1.0)
    return normalisers + (exponent * expected_log(concentration, axis)).sum()


def trigamma(x):
    return polygamma(1, x)


def fisher_product(concentration, change, axis=-1, trigamma=trigamma):
    """Return the change of E log x along a change of the natural parameters.

    ``trigamma`` may be a faster implementation of that function.
    """
    product = trigamma(concentration)
    product *= change
    total = trigamma(concentration.sum(axis=axis, keepdims=True))
    product -= total * change.sum(axis=axis, keepdims=True)
    return product


def log_draws(concentration, random, axis=-1):
    """Draw log x.

    A draw from Gamma(a) is a draw from Gamma(a + 1) times U^(1 / a) for a uniform U.
    This is exact, and its logarithm does not underflow for a small a.
    """
    draws = np.log(random.standard_gamma(concentration + 1.0))
    draws += np.log(random.uniform(size=np.shape(concentration))) / concentration
    return draws - logsumexp(draws, axis=axis, keepdims=True)

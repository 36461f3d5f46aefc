"""Gaussians: packed natural parameters, and learned priors."""

import functools
import math
from typing import NamedTuple

import numpy as np

from .._utils._validation import ROUNDING

#: Least eigenvalue of a learned covariance.  Without it, the variance of equal ratings
#: would fall until its inverse overflows.
LEAST_VARIANCE = 1e-120


@functools.lru_cache(maxsize=4)  # the same priors are used for many blocks or users
def _natural_parameters(mean, covariance):
    """Return the natural parameters, given the bytes of float64 arrays.

    The precision is symmetric, and equally accurate in directions of large and of small
    variances, unlike the result of `numpy.linalg.inv`.
    """
    mean = np.frombuffer(mean)
    variances, directions = np.linalg.eigh(
        np.frombuffer(covariance).reshape(-1, len(mean))
    )
    precision = (directions / variances) @ directions.T
    return np.concatenate([packed(precision), precision @ mean])


class GaussianPrior(NamedTuple):
    """The Gaussian prior of the users or of the items, of n_own numbers."""

    mean: np.ndarray  # (n_own,)
    covariance: np.ndarray  # (n_own, n_own)

    def natural(self):
        """Return the packed precision, and precision times mean, as one vector."""
        arrays = (np.asarray(array, np.float64).tobytes() for array in self)
        return _natural_parameters(*arrays).copy()

    def log_normaliser(self):
        """Return the part of E log p that does not depend on the posterior.

        It uses the precision of `natural`, like the other terms of E log p.  The
        inverse of the covariance differs from this precision in the last digits, and
        the difference would be added once for each user and item.
        """
        natural = self.natural()
        linear = natural[-len(self.mean) :]
        precision = unpacked(natural, len(self.mean))
        log_determinant = np.linalg.slogdet(precision / (2 * math.pi))[1]
        return 0.5 * (log_determinant - self.mean @ linear)

    def log_densities(self, moments, n_rows):
        """Return the sum of E log p over posteriors with these `Moments`."""
        natural, n_own = self.natural(), len(self.mean)
        return (
            n_rows * self.log_normaliser()
            + moments.first @ natural[-n_own:]
            - 0.5 * (unpacked(natural, n_own) * moments.second).sum()
        )


class Moments(NamedTuple):
    """Sum of weights of posteriors of x, and weighted sums of E[x] and E[x x^T]."""

    total: float  # sum of the weights
    first: np.ndarray  # sum of E[x], (n_own,)
    second: np.ndarray  # sum of E[x x^T], (n_own, n_own)

    def scaled(self, factor):
        return Moments(*(factor * part for part in self))

    def plus(self, other):
        return Moments(*(a + b for a, b in zip(self, other, strict=True)))

    def prior(self):
        """Return the prior that maximizes the lower bound for these posteriors."""
        mean = self.first / self.total
        return GaussianPrior(mean, self.second / self.total - np.outer(mean, mean))


def blended(prior, moments, power, rate, units=1.0):
    """Return a prior between ``prior`` and the best prior for ``moments``.

    A Gaussian prior to a power is a Gaussian whose covariance is divided by the power.
    Without ratings, this is the posterior.  The covariance of the best prior is
    therefore multiplied by the power, so that data without ratings do not change the
    prior.  The result is positive definite, also relative to ``units``, variances of
    the coordinates that may have different units.
    """
    if not moments.total > 0:
        return prior
    best = moments.prior()
    mean = (1 - rate) * prior.mean + rate * best.mean
    covariance = (1 - rate) * prior.covariance + rate * power * best.covariance
    scale = np.sqrt(np.multiply.outer(units, units))
    values, vectors = np.linalg.eigh(covariance / scale)
    least = max(ROUNDING * values[-1], LEAST_VARIANCE)
    if values[0] < least:
        covariance = (vectors * np.maximum(values, least)) @ vectors.T * scale
    return GaussianPrior(mean, covariance)


@functools.lru_cache(8)
def _lower(n):
    """Return the places of the lower triangle of a matrix, which callers only read."""
    return np.tril_indices(n)


def packed(matrix):
    """Return the lower triangle of a matrix, row by row."""
    return matrix[_lower(len(matrix))]


def unpacked(triangles, n_own):
    """Return the symmetric matrices of packed lower triangles, (..., n_own, n_own)."""
    lower = _lower(n_own)
    out = np.empty((*triangles.shape[:-1], n_own, n_own))
    out[..., lower[0], lower[1]] = triangles[..., : len(lower[0])]
    out[..., lower[1], lower[0]] = triangles[..., : len(lower[0])]
    return out


def packed_fisher_product(means, covariances, changes):
    """Return the changes of mean parameters along changes of natural parameters.

    Changes are those of packed precisions, the coefficients of -x x^T / 2 in which
    off-diagonal elements count twice, and then those of precisions times means, the
    coefficients of x.
    """
    n_own = means.shape[1]
    precision = unpacked(changes, n_own)
    linear = changes[:, -n_own:] - np.einsum("nij,nj->ni", precision, means)
    # the changes of E[x] and of E[x x^T]
    first = np.einsum("nij,nj->ni", covariances, linear)
    outer = first[:, :, None] * means[:, None, :]
    second = outer + outer.transpose(0, 2, 1)
    second -= covariances @ precision @ covariances
    lower = _lower(n_own)
    factors = np.where(lower[0] == lower[1], -0.5, -1.0)
    return np.concatenate([factors * second[:, *lower], first], axis=1)

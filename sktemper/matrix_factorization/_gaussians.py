"""Gaussian priors and posteriors, of users or of items."""

import math
from typing import NamedTuple

import numpy as np

#: The least eigenvalue of a learned covariance, in its largest.
LEAST_EIGENVALUE = 1e-9


class Prior(NamedTuple):
    """A Gaussian: of the users, or of the items.

    Attributes
    ----------
    mean : ndarray of shape (n_own,)
    covariance : ndarray of shape (n_own, n_own)
    """

    mean: np.ndarray
    covariance: np.ndarray

    def natural(self):
        """Return the packed precision, and precision times mean, as one vector."""
        # Symmetric, and as near to the inverse in directions of large variances as in
        # those of small ones, of which there is much: not so `np.linalg.inv`.
        variances, directions = np.linalg.eigh(self.covariance)
        precision = (directions / variances) @ directions.T
        return np.concatenate([packed(precision), precision @ self.mean])

    def log_normaliser(self):
        """Return the part of E log p that no posterior changes.

        Of the precision in `natural`, as the rest of E log p is: the covariance has
        another one, in the last digits, and each user and item counts the difference.
        """
        natural = self.natural()
        linear = natural[-len(self.mean) :]
        precision = unpacked(natural, len(self.mean))
        log_determinant = np.linalg.slogdet(precision / (2 * math.pi))[1]
        return 0.5 * (log_determinant - self.mean @ linear)


class Gaussians(NamedTuple):
    """Posteriors of users or items.

    Attributes
    ----------
    means : ndarray of shape (n_rows, n_own)
    covariances : ndarray of shape (n_rows, n_own * (n_own + 1) / 2) or None
        Packed lower triangles.
    log_determinants : ndarray of shape (n_rows,)
        Of the precisions; NaN if these are not positive definite.
    prior_traces : ndarray of shape (n_rows,)
        trace(prior precision E[x x^T]).
    table : ndarray of shape (n_rows, width)
        Their moments as kernels take them, see ``_loops.h``.
    """

    means: np.ndarray
    covariances: np.ndarray
    log_determinants: np.ndarray
    prior_traces: np.ndarray
    table: np.ndarray

    def put(self, rows, others):
        """Write other posteriors, which have no covariances, in place of some."""
        self.means[rows] = others.means
        self.log_determinants[rows] = others.log_determinants
        self.prior_traces[rows] = others.prior_traces
        self.table[rows] = others.table

    def entropies(self):
        """Return the entropy of each posterior, ndarray of shape (n_rows,)."""
        constant = self.means.shape[1] * (1 + math.log(2 * math.pi))
        return 0.5 * (constant - self.log_determinants)


class Moments(NamedTuple):
    """Sums over weighted posteriors x.

    Attributes
    ----------
    total : float
        Sum of the weights.
    first : ndarray of shape (n_own,)
        Of E[x].
    second : ndarray of shape (n_own, n_own)
        Of E[x x^T].
    """

    total: float
    first: np.ndarray
    second: np.ndarray

    def scaled(self, factor):
        """Return ``factor`` times the sums."""
        return Moments(*(factor * part for part in self))

    def plus(self, other):
        """Return the sums of both."""
        return Moments(*(a + b for a, b in zip(self, other, strict=True)))

    def prior(self):
        """Return the prior under which the posteriors are likeliest."""
        mean = self.first / self.total
        return Prior(mean, self.second / self.total - np.outer(mean, mean))


def blended(prior, moments, power, rate):
    """Return a prior nearer to the best one for ``moments``, positive definite.

    To a power it is a Gaussian of covariance over power: where no rating speaks the
    posterior is that, and tells of no other prior.
    """
    if not moments.total > 0:
        return prior
    best = moments.prior()
    mean = (1 - rate) * prior.mean + rate * best.mean
    covariance = (1 - rate) * prior.covariance + rate * power * best.covariance
    values, vectors = np.linalg.eigh(covariance)
    least = LEAST_EIGENVALUE * max(values[-1], np.finfo(float).tiny)
    if values[0] < least:
        covariance = (vectors * np.maximum(values, least)) @ vectors.T
    return Prior(mean, covariance)


def packed(matrix):
    """Return the lower triangle of a matrix, row by row."""
    return matrix[np.tril_indices(len(matrix))]


def unpacked(triangles, n_own):
    """Return the symmetric matrices of packed lower triangles, (..., n_own, n_own)."""
    lower = np.tril_indices(n_own)
    out = np.empty((*triangles.shape[:-1], n_own, n_own))
    out[..., lower[0], lower[1]] = triangles[..., : len(lower[0])]
    out[..., lower[1], lower[0]] = triangles[..., : len(lower[0])]
    return out

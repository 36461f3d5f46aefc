"""Conjugate families: the distributions of the parameters of a component.

A family is an exponential one, of density exp(eta u(theta) - A(eta)) with respect to
Lebesgue measure.  Its natural parameters eta are arrays of shape (n_components,
...); u is what a component's log-likelihood is linear in.  So A alone says the
expected log-likelihood, the evidence of a cluster, the predictive density and the
bound.
"""

import numpy as np
from scipy import sparse
from scipy.special import betaln, gammaln, polygamma, psi

from . import _dirichlet

__all__ = ["DirichletFamily", "Family", "GammaFamily"]

#: Counts that are none: their Gamma function overflows.
TINY_COUNT = 1e-100


class Family:
    """Base of the conjugate families.

    Parameters
    ----------
    shape : tuple of int
        Of the natural parameters of one component: the dots in the shapes below.
    """

    def __init__(self, shape):
        self.shape = shape

    def log_normaliser(self, parameters):
        """Return A.

        Parameters
        ----------
        parameters : ndarray of shape (n_components, ...)

        Returns
        -------
        logs : ndarray of shape (n_components,)
        """
        raise NotImplementedError

    def expected(self, parameters):
        """Return E u, the gradient of A.

        Parameters
        ----------
        parameters : ndarray of shape (n_components, ...)

        Returns
        -------
        expected : ndarray of shape (n_components, ...)
        """
        raise NotImplementedError

    def fisher_product(self, parameters, change):
        """Return the change of E u along a change of the parameters.

        Parameters
        ----------
        parameters, change : ndarray of shape (n_components, ...)

        Returns
        -------
        product : ndarray of shape (n_components, ...)
            The Hessian of A, the Fisher information, times ``change``.
        """
        raise NotImplementedError

    def is_valid(self, parameters):
        """Return whether these are parameters of distributions.

        Parameters
        ----------
        parameters : ndarray of shape (n_components, ...)

        Returns
        -------
        is_valid : bool
        """
        raise NotImplementedError

    def bound(self, parameters, prior, power):
        """Return power * E log p - E log q, of each component.

        Parameters
        ----------
        parameters, prior : ndarray of shape (n_components, ...)
        power : float
            Exponent of the prior.

        Returns
        -------
        bounds : ndarray of shape (n_components,)
            In nats.
        """
        axes = tuple(range(1, 1 + len(self.shape)))
        expected = self.expected(parameters)
        log_prior = (prior * expected).sum(axis=axes) - self.log_normaliser(prior)
        log_q = (parameters * expected).sum(axis=axes)
        return power * log_prior - log_q + self.log_normaliser(parameters)

    def log_predictive(self, parameters, moments):
        """Return log E exp(moments u): of each sample in each component.

        Parameters
        ----------
        parameters : ndarray of shape (n_components, ...)
        moments : ndarray or CSR array of shape (n_samples, prod(shape))

        Returns
        -------
        logs : ndarray of shape (n_samples, n_components)
        """
        rows = moments.reshape(len(moments), *self.shape)
        return np.stack(
            [
                self.log_normaliser(one + rows) - self.log_normaliser(one[None])
                for one in parameters
            ],
            axis=1,
        )


def log_rising(a, n):
    """Return log Gamma(a + n) - log Gamma(a), with all digits for a large ``a``."""
    counts = n > TINY_COUNT
    some = np.where(counts, n, 1.0)
    return np.where(counts, gammaln(some) - betaln(a, some), 0.0)


class DirichletFamily(Family):
    """Dirichlet distributions along the last axis; u is the logarithm."""

    def log_normaliser(self, parameters):
        """Return A, of shape (n_components,)."""
        logs = -_dirichlet.log_normaliser(parameters + 1.0)
        return logs.reshape(len(logs), -1).sum(axis=1)

    def expected(self, parameters):
        """Return E log theta."""
        return _dirichlet.expected_log(parameters + 1.0)

    def fisher_product(self, parameters, change):
        """Return the change of E log theta along a change of the parameters."""
        return _dirichlet.fisher_product(parameters + 1.0, change)

    def is_valid(self, parameters):
        """Return whether all concentrations are positive."""
        return bool((parameters > -1).all())

    def log_predictive(self, parameters, moments):
        """Return log E exp(moments log theta): of sparse counts, in their time."""
        if not sparse.issparse(moments):
            return super().log_predictive(parameters, moments)
        concentration = parameters + 1.0
        places, counts = moments.indices, moments.data[:, None]
        held = concentration[:, places].T
        terms = sparse.csr_array(
            (np.ones(len(places)), np.arange(len(places)), moments.indptr),
            shape=(moments.shape[0], len(places)),
        )
        totals = concentration.sum(axis=1)
        sizes = np.asarray(moments.sum(axis=1)).reshape(-1, 1)
        return terms @ log_rising(held, counts) - log_rising(totals, sizes)


class GammaFamily(Family):
    """Gamma distributions; the last axis of the parameters has (shape - 1, rate).

    u is (log theta, -theta).
    """

    def log_normaliser(self, parameters):
        """Return A, of shape (n_components,)."""
        shape, rate = parameters[..., 0] + 1.0, parameters[..., 1]
        logs = gammaln(shape) - shape * np.log(rate)
        return logs.reshape(len(logs), -1).sum(axis=1)

    def expected(self, parameters):
        """Return E log theta and -E theta."""
        shape, rate = parameters[..., 0] + 1.0, parameters[..., 1]
        return np.stack([psi(shape) - np.log(rate), -shape / rate], axis=-1)

    def fisher_product(self, parameters, change):
        """Return the change of E u along a change of the parameters."""
        shape, rate = parameters[..., 0] + 1.0, parameters[..., 1]
        of_shape, of_rate = change[..., 0], change[..., 1]
        return np.stack(
            [
                polygamma(1, shape) * of_shape - of_rate / rate,
                shape / rate**2 * of_rate - of_shape / rate,
            ],
            axis=-1,
        )

    def is_valid(self, parameters):
        """Return whether all shapes and rates are positive."""
        return bool((parameters[..., 0] > -1).all() and (parameters[..., 1] > 0).all())

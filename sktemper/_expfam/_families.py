"""Conjugate families: the distributions of the parameters of a component.

A family is an exponential one, of density exp(eta u(theta) - A(eta)) with respect to
Lebesgue measure.  Its natural parameters eta are arrays of shape (n_components,
...); u is what a component's log-likelihood is linear in.  So A alone says the
expected log-likelihood, the evidence of a cluster, the predictive density and the
bound.
"""

import numpy as np
from scipy import sparse
from scipy.special import gammaln, polygamma, psi

from . import _dirichlet
from ._power_sums import log_rising

__all__ = ["DirichletFamily", "Family", "GammaFamily", "log_predictive_of_counts"]


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
        expected = self.expected(parameters)
        log_prior = self._summed(prior * expected) - self.log_normaliser(prior)
        log_q = self._summed(parameters * expected)
        return power * log_prior - log_q + self.log_normaliser(parameters)

    def _summed(self, values):
        """Return the sums over all parameters of each component."""
        return values.sum(axis=tuple(range(1, 1 + len(self.shape))))

    def of_all(self, values):
        """Return values of the parameters, in rows, times how many each stands for.

        Parameters
        ----------
        values : ndarray of shape (prod(shape), n)

        Returns
        -------
        values : ndarray of shape (prod(shape), n)
            The same: each stands for itself.
        """
        return values

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


class DirichletFamily(Family):
    """Dirichlet distributions along the last axis; u is the logarithm.

    Parameters
    ----------
    shape : tuple of int
        Of the natural parameters of one component.
    repeats : ndarray of shape (shape[0],) or None
        For how many entries of the first axis, with the same parameters, each stands;
        None is one.
    """

    def __init__(self, shape, repeats=None):
        super().__init__(shape)
        self.repeats = repeats

    def repeated(self, repeats):
        """Return the family whose entries of the first axis stand for so many each."""
        return type(self)((len(repeats), *self.shape[1:]), repeats)

    def of_all(self, values):
        """Return values of the entries, in rows, times how many each stands for."""
        if self.repeats is None:
            return values
        return np.repeat(self.repeats, len(values) // self.shape[0])[:, None] * values

    def _summed(self, values):
        if self.repeats is not None:
            values = values * self.repeats.reshape(-1, *(1,) * (len(self.shape) - 1))
        return super()._summed(values)

    def totals(self, concentration):
        """Return the sums of the concentrations of each distribution."""
        if self.repeats is not None and len(self.shape) == 1:
            concentration = concentration * self.repeats
        return concentration.sum(axis=-1, keepdims=True)

    def log_normaliser(self, parameters):
        """Return A, of shape (n_components,)."""
        concentration = parameters + 1.0
        if self.repeats is None:
            logs = -_dirichlet.log_normaliser(concentration)
            return logs.reshape(len(logs), -1).sum(axis=1)
        of_totals = gammaln(self.totals(concentration))
        if len(self.shape) > 1:
            return self._summed(gammaln(concentration)) - self._summed(of_totals)
        return self._summed(gammaln(concentration)) - of_totals[:, 0]

    def expected(self, parameters):
        """Return E log theta."""
        concentration = parameters + 1.0
        return psi(concentration) - psi(self.totals(concentration))

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
        totals = self.totals(concentration)[:, 0]
        return log_predictive_of_counts(concentration, totals, moments)


def log_predictive_of_counts(concentration, totals, counts):
    """Return log E prod_v theta_v^n_v of sparse counts n.

    Parameters
    ----------
    concentration : ndarray of shape (n_components, n_features)
        Of theta.
    totals : ndarray of shape (n_components,)
        Of its sums, over all features.
    counts : CSR of shape (n_samples, n_features)

    Returns
    -------
    logs : ndarray of shape (n_samples, n_components)
    """
    places, some = counts.indices, counts.data[:, None]
    held = concentration[:, places].T
    terms = sparse.csr_array(
        (np.ones(len(places)), np.arange(len(places)), counts.indptr),
        shape=(counts.shape[0], len(places)),
    )
    sizes = np.asarray(counts.sum(axis=1)).reshape(-1, 1)
    return terms @ log_rising(held, some) - log_rising(totals, sizes)


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

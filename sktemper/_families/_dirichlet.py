"""Dirichlet distributions, and the two priors of the weights of a mixture.

Parameters of weights are natural parameters without the base measure: the exponents of
the weights, or of the two parts of each stick.
"""

from numbers import Real

import numpy as np
from scipy.special import betaln, gammaln, logsumexp, polygamma, psi

from .._utils._cache import LastCall
from .._utils._constraints import Interval


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


def log_gamma_draws(shape, random):
    """Draw log x of Gamma variables x with scale 1.

    A draw from Gamma(a) is a draw from Gamma(a + 1) times U^(1 / a) for a uniform U.
    This is exact, and its logarithm does not underflow for a small a.
    """
    draws = np.log(random.standard_gamma(shape + 1.0))
    return draws + np.log(random.uniform(size=np.shape(shape))) / shape


def log_draws(concentration, random, axis=-1):
    """Draw log x."""
    draws = log_gamma_draws(concentration, random)
    return draws - logsumexp(draws, axis=axis, keepdims=True)


# -- weights of a mixture, with scikit-learn's names of the priors ---------------------
#: The natural parameter is the concentration minus 1.  A smaller concentration would
#: be rounded to 0.
LEAST_CONCENTRATION = 1e-12
#: Valid values of a concentration, as a parameter of an estimator.
CONCENTRATION = Interval(Real, LEAST_CONCENTRATION, None, closed="left")
#: Components are ordered by their numbers of samples, rounded to this number of
#: decimals.  Further decimals are rounding errors.
ORDER_DECIMALS = 6


def by_size(counts):
    """Return the order of components from the largest number of samples down."""
    return np.argsort(-np.round(counts, ORDER_DECIMALS), kind="stable")


def _expected_log(parameters):
    return expected_log(parameters + 1.0)


def _log_normaliser(parameters):
    return log_normaliser(parameters + 1.0)


def _log_betas(parameters):
    return betaln(*(parameters + 1.0).T).sum()


def _log_sticks(counts, concentration):
    behind = np.cumsum(counts[..., ::-1], axis=-1)[..., ::-1] - counts
    return betaln(1.0 + counts, concentration + behind).sum(axis=-1)


class Weights:
    """Base of the priors of the weights of a mixture."""

    def __init__(self, n_components):
        self.n_components = n_components
        self._logs, self._prior = LastCall(), LastCall()

    def fisher_product(self, parameters, change):
        """Return the change of E log pi, or of the sticks, along ``change``."""
        return fisher_product(parameters + 1.0, change)

    def all_log_draws(self, concentration, random, n_draws):
        """Return several `log_draws`, of shape (n_draws, n_components)."""
        return np.stack([self.log_draws(concentration, random) for _ in range(n_draws)])


class DirichletWeights(Weights):
    """A symmetric Dirichlet distribution: parameters of shape (n_components,)."""

    def prior(self, concentration):
        return np.full(self.n_components, concentration - 1.0)

    def counted(self, counts):
        """Return the terms that numbers of samples add to the parameters."""
        return counts

    def counts(self, counted):
        """Return the components' numbers of samples, the inverse of `counted`."""
        return counted

    def order(self, counts):
        """Return an order of the components with the largest evidence.

        All orders have the same evidence.
        """
        return np.arange(self.n_components)

    def gain_of_order(self, counts, concentration):
        """Return 0, because the order does not change the evidence."""
        return 0.0

    def evidence(self, counts, concentration):
        """Return the log marginal likelihood of numbers of samples, up to a constant.

        It is that of the order of the components with the largest evidence.
        """
        return gammaln(concentration + counts).sum(axis=-1)

    def concentration(self, parameters):
        """Return the concentrations as scikit-learn has them."""
        return parameters + 1.0

    def expected_log(self, parameters):
        return self._logs.result(_expected_log, parameters)

    def mean(self, parameters):
        concentration = parameters + 1.0
        return concentration / concentration.sum()

    def log_mean(self, parameters):
        return np.log(self.mean(parameters))

    def bound(self, parameters, prior, power):
        """Return power * E log p(pi) - E log q(pi).

        The parameters are subtracted first, because the logarithms of empty components
        are as large as the reciprocal of the concentration.
        """
        normalisers = power * self._prior.result(_log_normaliser, prior)
        normalisers = normalisers - _log_normaliser(parameters)
        log_weights = self.expected_log(parameters)
        return normalisers + (power * prior - parameters) @ log_weights

    def log_draws(self, concentration, random):
        draws = log_gamma_draws(np.full(self.n_components, concentration), random)
        return draws - np.logaddexp.reduce(draws)


class StickBreaking(Weights):
    """A truncated Dirichlet process: parameters of shape (n_components, 2).

    Each component takes a share of the weight that earlier components have left.  The
    shares are Beta distributed; each row has the two parameters of one of these Beta
    distributions, minus 1.
    """

    def prior(self, concentration):
        prior = np.zeros((self.n_components, 2))
        prior[:, 1] = concentration - 1.0
        return prior

    def counted(self, counts):
        counted = np.zeros((self.n_components, 2))
        counted[:, 0] = counts
        np.cumsum(counts[:0:-1], out=counted[-2::-1, 1])
        return counted

    def counts(self, counted):
        return counted[:, 0]

    def order(self, counts):
        """Return the best order of components with these numbers of samples."""
        return by_size(counts)

    def gain_of_order(self, counts, concentration):
        """Return the rise of the evidence by the best order of the components."""
        best = counts[self.order(counts)]
        return _log_sticks(best, concentration) - _log_sticks(counts, concentration)

    def evidence(self, counts, concentration):
        """Return the log marginal likelihood of numbers of samples.

        See `DirichletWeights.evidence`.
        """
        return _log_sticks(-np.sort(-counts, axis=-1), concentration)

    def concentration(self, parameters):
        return tuple((parameters + 1.0).T)

    def expected_log(self, parameters):
        logs = self._logs.result(_expected_log, parameters)
        behind = np.zeros(self.n_components)
        np.cumsum(logs[:-1, 1], out=behind[1:])
        return logs[:, 0] + behind

    def mean(self, parameters):
        """Return E pi, of shape (n_components,), scaled to sum to 1."""
        a, b = (parameters + 1.0).T
        left = np.append(1.0, np.cumprod(b / (a + b))[:-1])
        weights = a / (a + b) * left
        return weights / weights.sum()

    def log_mean(self, parameters):
        """Return log E pi, finite even where E pi underflows to 0."""
        logs = np.log(parameters + 1.0)
        logs -= np.logaddexp(*logs.T)[:, None]
        means = logs[:, 0] + np.append(0.0, np.cumsum(logs[:-1, 1]))
        return means - np.logaddexp.reduce(means)

    def bound(self, parameters, prior, power):
        """Return power * E log p(sticks) - E log q(sticks).

        The parameters are subtracted first, because the logarithms of empty components
        are as large as the reciprocal of the concentration.
        """
        logs = self._logs.result(_expected_log, parameters)
        normalisers = power * self._prior.result(_log_betas, prior)
        exponents = power * prior - parameters
        return (exponents * logs).sum() + _log_betas(parameters) - normalisers

    def log_draws(self, concentration, random):
        # A share is Beta(1, c) distributed, so 1 minus it is U^(1 / c) for a uniform U.
        left = np.log(random.uniform(size=self.n_components)) / concentration
        taken = np.log(-np.expm1(left))
        logs = taken + np.append(0.0, np.cumsum(left)[:-1])
        return logs - np.logaddexp.reduce(logs)  # they sum to 1, as `mean` does


#: The priors by scikit-learn's names.
WEIGHTS = {
    "dirichlet_distribution": DirichletWeights,
    "dirichlet_process": StickBreaking,
}

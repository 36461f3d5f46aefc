"""Annealed importance sampling from a fitted mixture to its posterior."""

import itertools
import math

import numpy as np
from scipy import sparse
from scipy.special import gammaln, logsumexp

from .._utils._validation import SMALLEST_COUNT
from ._dirichlet import DirichletWeights, log_draws
from ._dirichlet import log_normaliser as log_dirichlet
from ._family import times

#: Largest number of components, whose permutations are summed.
MOST_COMPONENTS = 8


class AnnealedChains:
    r"""Gibbs samplers of the labels z of all rows, between a fit and the posterior.

    The fit q has the responsibilities r, and natural parameters of the weights and of
    the components, which are here denoted by theta.  At the power b, z has the
    unnormalised distribution

    .. math:: f_b(z) = \frac{1}{K!} \sum_\sigma \prod_i r_{i \sigma(z_i)}^{1 - b}
        \int q_\sigma(\theta)^{1 - b} p(x, z, \theta)^b d\theta.

    The sum is over all permutations of the components of the fit, because the posterior
    has all of them as modes.  f_0 sums to 1, and f_1 is p(x, z).  The integrals are
    differences of log normalisers, whose terms depend on pairs of components:
    component k of the chain, and component j = sigma(k) of the fit.

    Parameters
    ----------
    model : MixtureModel
        Weights have a Dirichlet prior.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    globals_, hyper : object
        Parameters and priors of the fit.
    shares : ndarray of shape (n_samples, n_components)
        Responsibilities of the fit.
    n_chains : int
    random : RandomState
    """

    def __init__(self, model, X, globals_, hyper, shares, n_chains, random):
        self.family, self.random = model.family_of(hyper), random
        self.prior = np.asarray(model.component_prior(hyper))
        self.fitted = np.asarray(globals_.components)
        K = model.n_components
        self.shape = n_chains, K
        self._check(model)
        block = self.family.block(X)
        self.moments = self.family.moments(block)
        self.log_base = float(np.sum(self.family.log_base(block)))
        if not np.isfinite(self.moments.sum()):
            raise ValueError("The evidence is not available if numbers are missing.")
        shares = np.maximum(np.asarray(shares, np.float64), SMALLEST_COUNT)
        self.log_shares = np.log(shares / shares.sum(axis=1, keepdims=True))
        self.fitted_weights = model.weights.concentration(globals_.weights)
        self.prior_weight = hyper.weight_concentration
        self.permutations = np.array(list(itertools.permutations(range(K))))
        normaliser = self.family.log_normaliser
        self.constants = (  # of the fit and of the prior
            normaliser(self.fitted).sum() - log_dirichlet(self.fitted_weights),
            K * normaliser(self.prior[None])[0]
            - log_dirichlet(np.full(K, self.prior_weight)),
        )

    def _check(self, model):
        """Raise `ValueError` if the chains do not serve a model."""
        K = model.n_components
        if K > MOST_COMPONENTS:
            raise ValueError(
                f"The mixture has {K} components, but the evidence is available for at "
                f"most {MOST_COMPONENTS}."
            )
        if not isinstance(model.weights, DirichletWeights):
            raise ValueError(
                "The evidence needs weight_concentration_prior_type="
                "'dirichlet_distribution', under which all orders of components are "
                "equal."
            )
        try:
            self.family.draws(self.prior[None], self.random)
        except NotImplementedError:
            raise ValueError(
                "The evidence is not available for these components: they have no "
                "`draws`; precisions must be those of each component and conjugate."
            ) from None

    def forward(self, powers):
        """Return log weights of chains from the fit, whose means estimate p(x)."""
        self._start()
        return self._log_weights(powers)

    def backward(self, powers, n_steps):
        """Return log weights of chains from the posterior, which estimate p(x).

        The chains begin ``n_steps`` steps after draws from the fit.
        """
        self._start()
        for _ in range(n_steps):
            self._step(1.0)
        return -self._log_weights(powers[::-1])

    def _log_weights(self, powers):
        """Return the sums of changes of log f, with a step at each inner power."""
        total = self.log_base * (powers[-1] - powers[0])
        for old, new in itertools.pairwise(powers):
            total = total + self._log_f(new) - self._log_f(old)
            if new != powers[-1]:
                self._step(new)
        return total

    def _mixed(self, power, fitted, posterior):
        return (1.0 - power) * fitted + power * posterior

    def _pairs(self, power):
        """Return the logarithms of the permutations' terms, (n_chains, n_permutations).

        The terms omit a factor that depends on the power only.
        """
        C, K = self.shape
        parameters = self._mixed(power, self.fitted, (self.prior + self.sums)[:, None])
        logs = self.family.log_normaliser(parameters.reshape(C * K * K, -1))
        logs = logs.reshape(C, K, K) + (1.0 - power) * self.sums_of_shares
        counts = self.prior_weight + self.counts
        logs += gammaln(self._mixed(power, self.fitted_weights, counts[..., None]))
        return logs[:, np.arange(K), self.permutations].sum(axis=2)

    def _log_f(self, power):
        n_rows, K = self.log_shares.shape
        total = K * self.prior_weight + n_rows
        total = self._mixed(power, self.fitted_weights.sum(), total)
        constant = self._mixed(power, *self.constants) + gammaln(total)
        constant += math.log(len(self.permutations))
        return logsumexp(self._pairs(power), axis=1) - constant

    def _step(self, power):
        """Draw permutations given z, then weights and theta, then z."""
        logs = self._pairs(power)
        noise = self.random.gumbel(size=logs.shape)
        order = self.permutations[(logs + noise).argmax(axis=1)]
        posterior = self.prior + self.sums
        parameters = self._mixed(power, self.fitted[order.ravel()], posterior)
        theta = self.family.draws(parameters, self.random)
        posterior = self.prior_weight + self.counts
        weights = self._mixed(power, self.fitted_weights[order], posterior)
        logs = times(self.moments, np.ascontiguousarray(theta.T))
        logs = logs.reshape(-1, *self.shape) + log_draws(weights, self.random)
        self._draw_labels(self._mixed(power, self.log_shares[:, order], logs))

    def _start(self):
        """Draw z from the fit."""
        n_rows = len(self.log_shares)
        logs = np.broadcast_to(self.log_shares[:, None], (n_rows, *self.shape))
        self._draw_labels(logs)

    def _draw_labels(self, logs):
        """Draw z, given log probabilities (n_rows, n_chains, n_components)."""
        n_rows, n_chains, K = logs.shape
        ends = np.exp(logs - logs.max(axis=2, keepdims=True)).cumsum(axis=2)
        drawn = self.random.uniform(size=(n_rows, n_chains, 1)) * ends[..., -1:]
        labels = (drawn >= ends[..., :-1]).sum(axis=2)
        places = (labels + K * np.arange(n_chains)).ravel()
        starts = np.arange(0, len(places) + 1, n_chains)
        size = n_chains * K
        chosen = (np.ones(len(places)), places, starts)
        chosen = sparse.csc_array(chosen, shape=(size, n_rows))
        sums = chosen @ self.moments
        self.sums = sums.toarray() if sparse.issparse(sums) else sums
        self.sums_of_shares = (chosen @ self.log_shares).reshape(n_chains, K, K)
        self.counts = np.bincount(places, minlength=size).reshape(self.shape)

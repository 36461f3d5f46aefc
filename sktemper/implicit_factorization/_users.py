"""The local step: posteriors of users, and statistics of their pairs."""

import math

import numpy as np

from . import _kernels
from ._pairs import PairStatistics

__all__ = ["UserInference"]


class UserInference:
    """Computes the posteriors of the users of a block, and their statistics.

    Parameters
    ----------
    model : ImplicitFactorizationModel
    block : Pairs
    prepared : Prepared
    powers : Powers
        ``powers.local`` is one number, or one for each user.
    """

    def __init__(self, model, block, prepared, powers):
        self.model, self.block, self.prepared = model, block, prepared
        self.powers, self.hyper = powers, prepared.hyper
        self.local = np.empty(len(block.starts) - 1)
        self.local[:] = powers.local
        # inverse temperature over noise variance
        self.scales = self.local / self.hyper.noise_variance
        # w - w0 and w y for each stored pair
        squares = block.weights - self.hyper.zero_weight
        linear = block.weights * block.targets
        self.pair_factors = squares.astype(model.dtype), linear.astype(model.dtype)

    def users(self, factors=None):
        """Return the posteriors as `Gaussians`.

        Their field ``moments`` is a sum over users, weighted by ``factors``.
        """
        natural = self.hyper.users.natural()
        sums = self.model.sums(
            self.block.starts,
            self.block.items,
            *self.pair_factors,
            self.prepared.items.table,
        )
        return self.model.gaussians(
            sums,
            self.powers.prior * natural,
            natural[: self.model.n_packed],
            out=sums,
            shared=self.prepared.shared,
            scales=self.scales,
            weights=factors,
        )

    def n_pairs(self):
        """Return the sums of w over all pairs of each user."""
        block = self.block
        n_others = self.model.n_features - block.counts
        return block.per_user(block.weights) + self.hyper.zero_weight * n_others

    def residuals(self, users):
        """Return the sums of w E(y - u . v)^2 over all pairs of each user.

        The sum is quadratic in u, so its mean needs only the moments of u.  The sums
        over the squares of the items are not kept, but are not needed: they are part of
        the precision of u, and the precision times the covariance is the identity.
        """
        block, power = self.block, self.powers.prior
        linear = self.hyper.users.natural()[self.model.n_packed :]
        rest = users.means @ linear - users.prior_traces
        rest = (self.model.n_components + power * rest) / self.scales
        squares = block.per_user(block.weights * block.targets**2)
        return squares - users.products + rest

    def bounds(self, users, residuals):
        """Return the part of the bound of each user, at the local power."""
        hyper = self.hyper
        log_variance = math.log(2 * math.pi * hyper.noise_variance)
        squares = residuals / hyper.noise_variance
        log_likelihood = -0.5 * (self.n_pairs() * log_variance + squares)
        linear = hyper.users.natural()[self.model.n_packed :]
        log_prior = hyper.users.log_normaliser() + (
            users.means @ linear - 0.5 * users.prior_traces
        )
        bounds = self.local * log_likelihood + self.powers.prior * log_prior
        return bounds + users.entropies()

    def statistics(self, users, residuals, factors):
        """Return the statistics of the pairs for items, noise and users."""
        items, *pairs = _kernels.transposed(
            self.block.starts,
            self.block.items,
            *self.pair_factors,
            factors,
            self.model.n_features,
        )
        return PairStatistics(
            ((items, self.model.sums(*pairs, users.table)),),
            self.model.n_features,
            float(factors @ residuals),
            float(factors @ self.n_pairs()),
            users.moments,
            self.model.room,
        )

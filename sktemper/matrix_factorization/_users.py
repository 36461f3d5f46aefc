"""The local step: posteriors of users, and statistics of their ratings."""

import math
from typing import NamedTuple

import numpy as np

from .._families._factorization import Gaussians
from .._simd.room import empty
from . import _kernels
from ._ratings import CERTAIN, RatingStatistics, UserNoise, refuse_precisions

#: The noise of a user has converged if it changes by less than this share.  There are
#: at most `MOST_ROUNDS` rounds, or one round if the noise of the last step is given.
NOISE_TOL, MOST_ROUNDS = 1e-3, 30
#: Least number of factors and biases of a user for which rounds are accelerated, as
#: they take most of the time; and the largest acceleration.
WIDE, FASTEST = 64, 10.0


class Users(NamedTuple):
    """Posteriors of the users of a block, and the sums from which they are computed.

    Attributes
    ----------
    posterior : Gaussians
    noise : UserNoise
    sums : ndarray
        Sums over the ratings times their factors, see `_kernels.own_sums`.
    scales : ndarray of shape (n_rows,)
        The natural parameters are ``prior + scales * sums``.
    prior : ndarray
        Natural parameters of the prior, times its power.
    unit_noise : ndarray of shape (n_ratings,) or None
        Gradient noise, which is a part of the factors of the ratings.
    n_iterations : int
    """

    posterior: Gaussians
    noise: UserNoise
    sums: np.ndarray
    scales: np.ndarray
    prior: np.ndarray
    unit_noise: np.ndarray
    n_iterations: int

    def residuals(self):
        """Return the sums over each user's ratings of factor E (y - f)^2.

        E (y - f)^2 is quadratic in x, so the sums need only ``sums`` and the moments of
        x.  The product of precision and covariance is the identity, so its trace is the
        length of x.
        """
        posterior = self.posterior
        n_own = posterior.means.shape[1]
        rest = n_own + posterior.prior_products - posterior.prior_traces
        return self.sums[:, -2] - posterior.products + rest / self.scales

    def parameters(self, room=None):
        found = empty(room, (len(self.sums), len(self.prior)), np.float64)
        np.multiply(self.scales[:, None], self.sums[:, : len(self.prior)], out=found)
        found += self.prior
        return found


class RatingInference:
    """Posteriors of the users of a block, and their statistics.

    ``local`` is the power of the likelihood if all ratings have the same power, and
    otherwise 1, and ``is_plain`` says whether no rating has a factor of its own.  The
    values of ``block`` are ratings minus the global mean.
    """

    def __init__(self, model, block, prepared, powers, unit_noise=None):
        self.model, self.prepared = model, prepared
        self.powers, self.unit_noise = powers, unit_noise
        self.local, factors = _scalar_and_factors(powers.local, unit_noise)
        self.is_plain = factors is None
        mean = model.dtype.type(prepared.hyper.global_mean)
        self.block = block._replace(values=block.values - mean)

    def users(self, noise=None):
        """Return the `Users` at their optimum.

        One round continues from the noise of the last step.  Without it, rounds start
        from equal noise and iterate until convergence.
        """
        model, block, unit_noise = self.model, self.block, self.unit_noise
        hyper = self.prepared.hyper
        prior = self.powers.prior * hyper.users.natural()
        n_iterations = len(block.starts) - 1
        sums = self.own_sums(unit_noise)
        most_rounds = MOST_ROUNDS if noise is None else 1
        if noise is None:
            noise = UserNoise(*np.full((2, len(sums)), CERTAIN))
        scales = self.local / hyper.noise_variance * noise.means
        posterior, n_indefinite = model.posteriors(sums, scales, prior)
        while n_indefinite:
            n_iterations += n_indefinite
            bad = np.repeat(np.isnan(posterior.log_determinants), block.counts)
            if unit_noise is None or (unit_noise[bad] == 1).all():  # another cause
                refuse_precisions(model.dtype, self.prepared.items.table)
            unit_noise = np.where(bad, 0.5 * (unit_noise + 1), unit_noise)
            sums = self.own_sums(unit_noise)
            posterior, n_indefinite = model.posteriors(sums, scales, prior)
        users = Users(posterior, noise, sums, scales, prior, unit_noise, n_iterations)
        if not model.user_noise:
            return users
        observed = np.ones(len(sums))
        if unit_noise is not None:  # negative weights would give a variance of 0
            observed = (block.per_user(unit_noise < 0) == 0).astype(np.float64)
        return self._with_noise(users, observed, most_rounds)

    def _with_noise(self, users, observed, most_rounds):
        """Return users whose noise and factors are at their joint optimum.

        Users that have converged do not change any more, so a result does not depend on
        the other users of the block.  Users whose ``observed`` is 0 have the noise of
        the prior.
        """
        hyper, power = self.prepared.hyper, self.powers.prior
        halves = 0.5 * self.local * observed * np.maximum(users.sums[:, -1], 0.0)
        shapes = power * (hyper.noise_shape - 1) + 1 + halves
        active, tried, last = np.arange(len(shapes)), users.noise.means, None
        for number in range(most_rounds):
            squares = observed * np.maximum(
                users.residuals() / hyper.noise_variance, 0.0
            )
            rates = power * hyper.noise_shape + 0.5 * self.local * squares
            noise = UserNoise(users.noise.shapes.copy(), users.noise.rates.copy())
            noise.shapes[active], noise.rates[active] = shapes[active], rates[active]
            users = users._replace(noise=noise)
            change = np.abs(noise.means / tried - 1)
            active = active[change[active] >= NOISE_TOL]
            if len(active) == 0 or number == most_rounds - 1:
                break
            target, now = noise.means, (tried, noise.means)
            if number and self.model.n_own >= WIDE:
                target = _accelerated(*last, *now)
            tried, last = tried.copy(), now
            tried[active] = target[active]
            scales = users.scales.copy()
            scales[active] = self.local / hyper.noise_variance * tried[active]
            moved, n_indefinite = self.model.posteriors(
                self._select_sums(users.sums, active), scales[active], users.prior
            )
            if n_indefinite:  # because of negative unit noise
                break
            users = users._replace(
                posterior=users.posterior.replaced(active, moved),
                scales=scales,
                n_iterations=users.n_iterations + len(active),
            )
        return users

    def _select_sums(self, sums, rows):
        """Return rows of sums, in memory that is reused."""
        if len(rows) == len(sums):
            return sums
        out = self.model.room.empty((len(rows), sums.shape[1]), np.float64)
        return np.take(sums, rows, axis=0, out=out, mode="clip")

    def own_sums(self, unit_noise):
        _, factors = _scalar_and_factors(self.powers.local, unit_noise)
        factors = None if factors is None else factors.astype(self.model.dtype)
        given = *self.block, factors, self.prepared.items.table
        return _kernels.own_sums(*given, *self.model.fixed, self.model.room)

    def bounds(self, users):
        hyper, power = self.prepared.hyper, self.powers.prior
        posterior, noise = users.posterior, users.noise
        log_variances = math.log(2 * math.pi * hyper.noise_variance) - noise.log_means()
        squares = noise.means * users.residuals() / hyper.noise_variance
        log_likelihood = -0.5 * (log_variances * users.sums[:, -1] + squares)
        log_prior = power * hyper.users.log_normaliser() + (
            posterior.prior_products - 0.5 * posterior.prior_traces
        )
        bounds = self.local * log_likelihood + log_prior + posterior.entropies()
        if self.model.user_noise:
            bounds += noise.bounds(hyper.noise_shape, power)
        return bounds

    def scores(self, users):
        """Return E log p(y) of the ratings of each user, without its constant."""
        factor = -0.5 / self.prepared.hyper.noise_variance
        if self.is_plain:
            return factor * users.noise.means * users.residuals()
        residuals = self._residuals(users)
        scores = factor * np.repeat(users.noise.means, self.block.counts) * residuals
        return self.block.per_user(scores)

    def _residuals(self, users):
        """Return E (y - f)^2 of each rating."""
        means, squares = self.model.moments(self.block, self.prepared, users.posterior)
        return self.block.values * (self.block.values - 2 * means) + squares

    def statistics(self, users):
        model, block = self.model, self.block
        table, counts, noise = users.posterior.table, block.counts, users.noise
        share, factors = _scalar_and_factors(self.powers.statistics, users.unit_noise)
        n_ratings, row_weights = float(len(block.items)), (counts > 0).astype(float)
        if factors is None and self.is_plain:
            errors = users.residuals()
        else:
            errors = self._residuals(users)
            if factors is not None:
                errors *= factors
                n_ratings = float(factors.sum())
                row_weights = block.per_user(factors) / np.maximum(counts, 1)
            # Negative unit noise could give negative sums.
            errors = np.maximum(block.per_user(errors), 0.0)
        by_rating = None if factors is None else factors.astype(model.dtype)
        by_user = noise.means.astype(model.dtype) if model.user_noise else None
        given = *block, by_rating, table, model.n_features, *model.fixed
        items, rows = _kernels.other_sums(*given, by_user, model.room)
        statistics = RatingStatistics(
            ((items, rows),),
            float(noise.means @ errors),
            n_ratings,
            model.weighted_moments(table, row_weights),
            self._item_counts(),
            float(row_weights @ (noise.log_means() - noise.means)),
            room=model.room,
        )
        return statistics if share == 1 else statistics.scaled(float(share))

    def _item_counts(self):
        power = self.powers.statistics if np.ndim(self.powers.statistics) else None
        counts = np.bincount(self.block.items, power, self.model.n_features)
        return counts.astype(np.float64, copy=False)


def _accelerated(x, g, y, h):
    """Return the next arguments in a search for fixed points of positive functions.

    Parameters
    ----------
    x, g, y, h : ndarray of shape (n_rows,)
        The last two arguments x and y of each function, and its values g and h there.

    Returns
    -------
    next : ndarray of shape (n_rows,)
        The step of the secant method for log h as a function of log y, or h if the
        slope is not between 0 and 1.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.log(h / g) / np.log(y / x)
    slope = np.where((slope > 0) & (slope < 1), slope, 0.0)
    return y * (h / y) ** np.minimum(1 / (1 - slope), FASTEST)


def _scalar_and_factors(power, unit_noise):
    """Return a power as a number for all ratings, and factors of single ratings.

    The factors are None if all of them are 1.
    """
    if np.ndim(power) == 0:
        return float(power), unit_noise
    return 1.0, power if unit_noise is None else power * unit_noise

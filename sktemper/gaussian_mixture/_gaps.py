"""Gaussian components of rows with missing values.

The missing values x_m of a row are latent variables.  Given component k, the best
distribution is the Gaussian

    q(x_m | k) = N(m_m - L_mm^-1 L_mo (x_o - m_o), L_mm^-1),

where L is the expected precision of the component, x_o are the observed values, and m
is the mean.  The expected log-likelihood of the row plus the entropy of q is the
logarithm of the integral over x_m of exp(E log p(x_o, x_m)).  It is computed from the
distance of the completed row, minus log |L_mm| / 2 - n_missing log(2 pi) / 2.
Statistics are expected moments under q.
"""

import functools
import math

import numpy as np
from scipy.special import logsumexp
from sklearn.utils import gen_batches

from .._contract import IllDefined
from .._families._counts import log_rising
from .._families._family import ONCE
from .._families._mixture import drawn_components, softmax
from .._families._normal_wishart import ILL_DEFINED, LOG_2_PI
from . import _kernels
from ._family import GaussianFamily, TiedFamily

# -- rows with missing values, and distributions of these values given a component -----


def block_of(rows):
    """Return `GappedRows` if values are missing; otherwise return rows unchanged."""
    values = rows.ravel()
    # the sum of squares is NaN if a value is NaN; an overflow gives infinity
    return GappedRows(rows) if math.isnan(values @ values) else rows


def has_gaps(X):
    """Return whether values are missing; no array of the size of ``X`` is made."""
    return any(bool(np.isnan(X[part]).any()) for part in gen_batches(len(X), 4096))


class GappedRows:
    """Rows of data with missing values, which are NaN.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
    """

    def __init__(self, rows):
        self.rows, self.shape, self.dtype = rows, rows.shape, rows.dtype

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, rows):
        return block_of(self.rows[rows])

    @functools.cached_property
    def missing(self):
        """Mask of missing values, ndarray of bool of shape (n_rows, n_features)."""
        return np.isnan(self.rows)

    @functools.cached_property
    def n_missing(self):
        return self.missing.sum(axis=1)

    @functools.cached_property
    def gaps(self):
        """Missing values, as kernels need them.

        They are the indices of the rows, sorted by the number of missing values; the
        starts of the sorted rows, (n_rows + 1,), in the columns of missing values, of
        which a row has the last one first; and the largest number of pairs of a row.
        """
        order = np.argsort(self.n_missing, kind="stable")
        columns = np.nonzero(self.missing[order, ::-1])[1]
        columns = np.append(self.shape[1] - 1 - columns, 0)  # never empty
        starts, most = np.cumsum(self.n_missing[order]), int(self.n_missing.max())
        return order, np.append(0, starts), columns, most * (most + 1) // 2

    @functools.cached_property
    def divided(self):
        """Indices and block of rows without, and then of rows with missing values."""
        complete = np.flatnonzero(self.n_missing == 0)
        if not len(complete):
            return complete, self.rows[:0], np.arange(len(self)), self
        gapped = np.flatnonzero(self.n_missing)
        return complete, self.rows[complete], gapped, GappedRows(self.rows[gapped])

    @functools.cached_property
    def in_float64(self):
        return np.ascontiguousarray(self.rows, dtype=np.float64)


def joined(block, of_complete, of_gapped):
    """Return the joined results of two functions, of rows without and with gaps."""
    if not isinstance(block, GappedRows):
        return of_complete(block)
    complete, rows, gapped, own = block.divided
    found = of_gapped(own)
    return merged(block, found, of_complete(rows)) if len(complete) else found


def merged(block, of_gapped, of_complete):
    """Return an array of all rows, given those of rows with and without gaps."""
    complete, _, gapped, _ = block.divided
    out = np.empty((len(block), *of_gapped.shape[1:]), dtype=of_complete.dtype)
    out[gapped], out[complete] = of_gapped, of_complete
    return out


def completed(block, origin, covariance, usual, shares=None, noise=None, stop=None):
    """Complete rows given each component.

    Parameters
    ----------
    block : GappedRows
    origin : ndarray of shape (n_features,)
        Origin of the means.
    covariance : Covariance
    usual : tuple of ndarray
        Means, degrees of freedom and factors of the components, see `Usual`.
    shares : ndarray of shape (n_rows, n_components) or None
        Weights of the rows, for the last three results.
    noise : ndarray of shape (n_rows, n_features) or None
        Standard normal draws, to draw missing values.
    stop : ndarray of shape (1,), int, or None

    Returns
    -------
    distances : ndarray of shape (2, n_rows, n_components)
        Squared distances, and log |L_mm|.
    filled : ndarray of shape (n_rows, n_features)
        Sum of the rows completed given each component, multiplied by their shares.
    sums : ndarray of shape (n_components, 1 + n_features)
        Expected sums of 1 and x, weighted by the shares.
    second : ndarray of shape (n_matrices, n_kept)
        Sums of second moments, as the covariance type keeps them.
    """
    means, freedom, factors = usual
    (K, D), n_matrices = means.shape, 1 if covariance.is_common else len(means)
    freedom = np.array(np.broadcast_to(freedom, K), dtype=np.float64)
    distances, filled = np.empty((2, len(block), K)), np.zeros(block.shape)
    sums = np.zeros(K * (1 + D) + n_matrices * covariance.n_kept)
    _kernels.complete_rows(
        block.in_float64,
        origin,
        block.gaps,
        (covariance.kinds[0], np.ravel(means), freedom, np.ravel(factors)),
        None if shares is None else np.array(shares, dtype=np.float64, order="C"),
        noise,
        np.zeros(1, dtype=np.intc) if stop is None else stop,
        distances,
        filled,
        sums,
    )
    if np.isnan(distances[1]).any():
        raise IllDefined(ILL_DEFINED)
    counts, first, second = np.split(sums, [K, K * (1 + D)])
    sums = np.column_stack([counts, first.reshape(K, D)])
    return distances, filled, sums, second.reshape(n_matrices, -1)


# -- gaussian components of rows with missing values -----------------------------------
class WithGaps:
    """Mixin of families of Gaussians whose blocks may be `GappedRows`."""

    # -- local steps -------------------------------------------------------------------
    def responsibilities(self, block, tables, log_weights, power):
        """Return responsibilities, bounds and scores, see `MixtureModel`."""
        if not isinstance(block, GappedRows):
            return super().responsibilities(block, tables, log_weights, power)
        complete, rows, gapped, own = block.divided
        powers = np.broadcast_to(power, (len(block),))
        logs = self._log_likelihoods(own, tables) + log_weights
        found = softmax(logs, powers[gapped])
        if not len(complete):
            return found[0].astype(self.dtype), *found[1:]
        power = power if np.ndim(power) == 0 else powers[complete]
        known = super().responsibilities(rows, tables, log_weights, power)
        return tuple(map(functools.partial(merged, block), found, known))

    def log_likelihoods(self, block, tables):
        known = functools.partial(super().log_likelihoods, tables=tables)
        return joined(block, known, lambda own: self._log_likelihoods(own, tables))

    def _log_likelihoods(self, block, tables):
        (squares, log_determinants), *_ = self._completed(block, tables.usual)
        constants = tables.constants + 0.5 * LOG_2_PI * block.n_missing[:, None]
        return constants - 0.5 * (squares + log_determinants)

    def _log_mixtures(self, block, tables, log_weights, mixtures):
        usual, known = tables.usual, super()._log_mixtures
        nu = np.broadcast_to(usual.freedom, usual.precision.shape)
        spread = (usual.precision + 1.0) / usual.precision
        function = self._product if self.law.is_product else self._student

        def of_gapped(own):
            logs = function(own, usual, nu, spread) + log_weights
            return np.stack([logsumexp(logs[:, part], 1) for part in mixtures], axis=1)

        def of_complete(rows):
            return known(rows, tables, log_weights, mixtures).T

        return joined(block, of_complete, of_gapped).T

    def _student(self, block, usual, nu, spread):
        """Return log densities of marginals of multivariate Student-t distributions."""
        n_missing, width = block.n_missing[:, None], self.law.width
        n_observed = self.n_features - n_missing
        (squares, log_determinants), *_ = self._completed(block, usual)
        # Log determinants are those of the scale matrix.  `_completed` uses nu
        # times this matrix.
        logs = usual.log_determinants - log_determinants + n_missing * np.log(nu)
        freedom = 2.0 * self.law.exponent(nu) - self.n_features
        exponent = 0.5 * (freedom + n_observed)
        logs = 0.5 * (logs - n_observed * np.log(math.pi * width * spread))
        logs += log_rising(0.5 * freedom, 0.5 * n_observed)
        return logs - exponent * np.log1p(squares / (width * nu * spread))

    def _product(self, block, usual, nu, spread):
        rows, known = (
            np.where(block.missing, 0.0, block.rows - self.origin),
            ~block.missing,
        )
        out = np.empty((len(block), len(nu)))
        factors = self.covariance.each(usual.factors)
        for k in range(len(nu)):
            squares = ((rows - usual.means[k]) * factors[k]) ** 2 / spread[k]
            heights = np.log(factors[k]) - 0.5 * math.log(math.pi * spread[k])
            heights = heights + log_rising(0.5 * nu[k], 0.5)
            logs = heights - self.law.exponent(nu[k]) * np.log1p(squares)
            out[:, k] = np.where(known, logs, 0.0).sum(axis=1)
        return out

    def statistics(self, block, shares, factors=ONCE, tables=None):
        if not isinstance(block, GappedRows):
            return super().statistics(block, shares, factors, tables)
        complete, rows, gapped, own = block.divided
        shares = shares * factors[:, None]
        *_, sums, second = self._completed(own, tables.usual, shares[gapped])
        found = self._of_sums(sums, second)
        if not len(complete):
            return found
        known = super().statistics(rows, shares[complete])
        return tuple(one + other for one, other in zip(known, found, strict=True))

    def _of_sums(self, sums, second):
        counts = sums[:, 0]
        return counts, self.counted(np.hstack([sums, second, counts[:, None]]))

    # -- completed rows ----------------------------------------------------------------
    def completed(self, block, shares, tables):
        """Return expected rows given the observed values.

        Parameters
        ----------
        block : GappedRows
        shares : ndarray of shape (n_rows, n_components)
            Responsibilities.
        tables : GaussianTables

        Returns
        -------
        rows : ndarray of shape (n_rows, n_features)
            In float64.
        """
        if self.covariance.products:
            _, rows, *_ = self._completed(block, tables.usual, shares)
        else:
            rows = sum(map(np.multiply.outer, shares.T, tables.usual.means))
        return np.where(block.missing, rows + self.origin, block.rows)

    def _completed(self, block, usual, shares=None, noise=None):
        """Return the results of `completed`."""
        given = self.covariance, (usual.means, usual.freedom, usual.factors)
        return completed(block, self.origin, *given, shares, noise, self.stop)

    def drawn(self, block, shares, tables, seed):
        """Return rows whose missing values are drawn given the observed values.

        The component of each row is drawn according to the responsibilities.
        """
        random = np.random.default_rng(seed)
        shares = np.eye(shares.shape[1])[drawn_components(shares, random)]
        noise = random.normal(size=block.shape)
        rows = self._completed(block, tables.usual, shares, noise)[1] + self.origin
        rows = np.where(block.missing, rows, block.rows)
        return np.ascontiguousarray(rows, dtype=self.dtype)


class GaussianWithGaps(WithGaps, GaussianFamily):
    """Gaussian components with Normal-Wishart posteriors; values may be missing."""


class TiedWithGaps(WithGaps, TiedFamily):
    """Gaussian components that share a covariance; values may be missing."""

    def _of_sums(self, sums, second):
        return self._shared(sums, second[0] / self.n_components)

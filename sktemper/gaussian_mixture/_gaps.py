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
from .._utils._linalg import tiled_matmul
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
    def order(self):
        """Indices of the rows, by the number of missing values."""
        return np.argsort(self.n_missing, kind="stable")

    @functools.cached_property
    def gaps(self):
        """Gaps of the sorted rows, as kernels need them.

        They are the starts of the rows, (n_rows + 1,), the columns of the missing
        values of each row, the last one first, and the largest number of a row.
        """
        columns = np.nonzero(self.missing[self.order, ::-1])[1]
        columns = np.append(self.shape[1] - 1 - columns, 0)  # never empty
        n_missing = self.n_missing[self.order]
        return np.append(0, np.cumsum(n_missing)), columns, int(n_missing[-1])

    @functools.cached_property
    def divided(self):
        """Indices and block of rows without, and then of rows with missing values."""
        complete = np.flatnonzero(self.n_missing == 0)
        if not len(complete):
            return complete, self.rows[:0], np.arange(len(self)), self
        gapped = np.flatnonzero(self.n_missing)
        return complete, self.rows[complete], gapped, GappedRows(self.rows[gapped])

    def shift(self, origin):
        """Return rows minus an origin in float64, with 0 for missing values."""
        return np.where(self.missing, 0.0, self.rows - origin)


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


def completed(
    rows, gaps, mean, precision, root=None, noise=None, weight=None, stop=None
):
    """Complete rows, which are sorted by `GappedRows.order`, given a component.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Rows in the coordinates of the mean, with any numbers for missing values.
    gaps : tuple
        See `GappedRows.gaps`.
    mean : ndarray of shape (n_features,)
    precision : ndarray of shape (n_features, n_features)
        Expected precision of the component, L.
    root : ndarray of shape (n_features, n_features) or None
        The lower triangle R with R^T R = L, for ``found``.
    noise : ndarray of shape (n_rows, n_features) or None
        Standard normal draws, to draw missing values.
    weight : ndarray of shape (n_rows,) or None
        Weights of the rows, for ``second``.
    stop : ndarray of shape (1,), int, or None

    Returns
    -------
    shifts : ndarray of shape (n_rows, n_features)
        Completed rows minus the mean.
    found : ndarray of shape (2, n_rows)
        Squared distances, and log |L_mm|.
    second : ndarray of shape (n_features * (n_features + 1) / 2,)
        Weighted sums of the conditional covariances of x_i and x_j, i <= j.
    """
    stop = np.zeros(1, dtype=np.intc) if stop is None else stop
    D = len(mean)
    out = np.empty(rows.shape), np.zeros((2, len(rows))), np.zeros(D * (D + 1) // 2)
    given = rows, gaps, mean, precision, root, noise, weight, stop
    if _kernels.complete_rows(*given, *out):
        raise IllDefined(ILL_DEFINED)
    return out


def moments_given(block, rows, means, precisions, shares, stop=None):
    """Return the sums of 1, x and x_i x_j, i <= j, (n_components, n_moments).

    They are expected sums given each component, weighted by ``shares``, an ndarray of
    shape (n_rows, n_components).  See `completed` for the other parameters; those of
    all components are given.
    """
    rows, gaps = rows[block.order], block.gaps
    shares = np.array(shares[block.order].T, dtype=np.float64, order="C")
    sums = []
    for mean, precision, own in zip(means, precisions, shares, strict=True):
        given = rows, gaps, mean, precision, None, None, own, stop
        shifts, _, second = completed(*given)
        values = shifts + mean
        weighted = own[:, None] * values
        second += (weighted.T @ values)[np.triu_indices(len(mean))]
        sums.append(np.concatenate([[own.sum()], weighted.sum(axis=0), second]))
    return np.stack(sums)


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
        squares, log_determinants = self._distances(block, tables.usual)
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
        squares, log_determinants = self._distances(block, usual)
        # Log determinants are those of the scale matrix.  `_distances` uses nu times
        # this matrix.
        logs = usual.log_determinants - log_determinants + n_missing * np.log(nu)
        freedom = 2.0 * self.law.exponent(nu) - self.n_features
        exponent = 0.5 * (freedom + n_observed)
        logs = 0.5 * (logs - n_observed * np.log(math.pi * width * spread))
        logs += log_rising(0.5 * freedom, 0.5 * n_observed)
        return logs - exponent * np.log1p(squares / (width * nu * spread))

    def _product(self, block, usual, nu, spread):
        rows, known = block.shift(self.origin), ~block.missing
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
        function = self._sums_of_squares
        if self.covariance.products:
            function = self._sums_of_products
        sums = self._of_sums(function(own, shares[gapped], tables.usual))
        if not len(complete):
            return sums
        known = super().statistics(rows, shares[complete])
        return tuple(one + other for one, other in zip(known, sums, strict=True))

    def _of_sums(self, sums):
        return sums[:, 0], self.counted(self._natural_order(sums))

    # -- distances and sums ------------------------------------------------------------
    def _distances(self, block, usual):
        """Return squared distances of completed rows, and log |L_mm|.

        Both are ndarrays of shape (n_rows, n_components).
        """
        shape = len(block), len(usual.means)
        squares, log_determinants = np.empty(shape), np.zeros(shape)
        if not self.covariance.products:
            rows, precisions = block.shift(self.origin), self._variances(usual) ** -1.0
            known = (~block.missing).astype(np.float64)
            for k, precision in enumerate(precisions):
                moved = (rows - usual.means[k]) * known
                squares[:, k] = tiled_matmul(moved * moved, precision[:, None])[:, 0]
            return squares, tiled_matmul(1.0 - known, np.log(precisions).T)
        rows, roots, precisions = self._given(block, usual)
        rows = rows[block.order]
        for k, given in enumerate(zip(usual.means, precisions, roots, strict=True)):
            _, found, _ = completed(rows, block.gaps, *given, stop=self.stop)
            squares[block.order, k], log_determinants[block.order, k] = found
        return squares, log_determinants

    def _sums_of_products(self, block, shares, usual):
        """Return the sums of 1, x and x_i x_j, i <= j, (n_components, n_moments)."""
        rows, _, precisions = self._given(block, usual)
        return moments_given(block, rows, usual.means, precisions, shares, self.stop)

    def _sums_of_squares(self, block, shares, usual):
        """Return the sums of 1, x and x^2, (n_components, n_moments)."""
        D = self.n_features
        filled = np.where(block.missing, self.origin, block.rows)
        sums = self._sums(filled, shares, ONCE, 1 + 2 * D)
        n_missing = shares.T.astype(np.float64) @ block.missing
        sums[:, 1 : 1 + D] += n_missing * usual.means
        squares = usual.means**2 + self._variances(usual)
        sums[:, 1 + D :] += n_missing * squares
        return sums

    def _given(self, block, usual):
        """Return rows about the origin, and roots and precisions of the components."""
        roots = self._roots(usual)
        precisions = np.swapaxes(roots, 1, 2) @ roots
        return block.rows.astype(np.float64) - self.origin, roots, precisions

    def _variances(self, usual):
        """Return the inverse of the diagonal expected precision of each component."""
        freedom = np.broadcast_to(usual.freedom, usual.precision.shape)
        return 1.0 / (usual.factors**2 * freedom[:, None])

    def _roots(self, usual):
        """Return the lower triangle R with R^T R = L for each component."""
        K = len(usual.means)
        freedom = np.broadcast_to(usual.freedom, (K,))
        factors = np.broadcast_to(usual.factors, (K, *usual.factors.shape[-2:]))
        return np.sqrt(freedom)[:, None, None] * factors

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
        usual, out = tables.usual, np.zeros(block.shape)
        for k, share in enumerate(shares.T):
            rows = self._filled(block, self._only(usual, k))
            out += share[:, None] * (self.origin + rows)
        return np.where(block.missing, out, block.rows)

    def _filled(self, block, usual, noise=None):
        """Return rows about the origin, completed given the only component.

        Missing values are expected ones, or drawn with ``noise`` of shape (n_rows,
        n_features), draws of a standard normal distribution.
        """
        if not self.covariance.products:
            spread = 0.0 if noise is None else noise * np.sqrt(self._variances(usual))
            return usual.means + spread
        rows, _, precisions = self._given(block, usual)
        noise = None if noise is None else noise[block.order]
        given = usual.means[0], precisions[0], None, noise, None, self.stop
        rows[block.order] = completed(rows[block.order], block.gaps, *given)[0]
        return usual.means + rows

    def drawn(self, block, shares, tables, seed):
        """Return rows whose missing values are drawn given the observed values.

        The component of each row is drawn according to the responsibilities.
        """
        random, usual = np.random.default_rng(seed), tables.usual
        labels = drawn_components(shares, random)
        noise, out = random.normal(size=block.shape), np.empty(block.shape)
        for k in np.unique(labels).tolist():
            rows, one = np.flatnonzero(labels == k), self._only(usual, k)
            own = GappedRows(block.rows[rows])
            values = self._filled(own, one, noise[rows]) + self.origin
            out[rows] = np.where(own.missing, values, own.rows)
        return np.ascontiguousarray(out, dtype=self.dtype)

    def _only(self, usual, k):
        """Return the parameters of component k alone."""
        own, parts = slice(k, k + 1), {}
        for name in ("precision", "means", "freedom", "factors"):
            value = getattr(usual, name)
            is_shared = self.covariance.is_common and name in ("freedom", "factors")
            parts[name] = value if is_shared else value[own]
        return usual._replace(**parts)


class GaussianWithGaps(WithGaps, GaussianFamily):
    """Gaussian components with Normal-Wishart posteriors; values may be missing."""


class TiedWithGaps(WithGaps, TiedFamily):
    """Gaussian components that share a covariance; values may be missing."""

    def _of_sums(self, sums):
        first = 1 + self.n_features
        return self._shared(sums[:, :first], sums[:, first:].mean(axis=0))

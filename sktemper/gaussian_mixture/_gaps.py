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
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp
from sklearn.utils import gen_batches

from .._families._counts import log_rising
from .._families._family import ONCE
from .._families._mixture import drawn_components, softmax
from .._families._normal_wishart import COVARIANCES, LOG_2_PI
from .._utils._budgets import VALUES_AT_ONCE, slices
from .._utils._cache import LastCall
from .._utils._linalg import tiled_matmul
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


class Pattern(NamedTuple):
    """Rows with the same number of missing values.

    Attributes
    ----------
    rows : ndarray of int of shape (n_rows,)
    missing : ndarray of int of shape (n_patterns, n_missing)
        Columns with missing values, for each distinct pattern.
    numbers : ndarray of int of shape (n_rows,)
        Index of the pattern of each row.
    """

    rows: np.ndarray
    missing: np.ndarray
    numbers: np.ndarray


class GappedRows:
    """Rows of data with missing values, which are NaN.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
    """

    def __init__(self, rows):
        self.rows, self.shape, self.dtype = rows, rows.shape, rows.dtype
        self.last = LastCall()

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
    def patterns(self):
        """The rows with missing values, a list of `Pattern`."""
        found = []
        for number in np.unique(self.n_missing[self.n_missing > 0]).tolist():
            rows = np.flatnonzero(self.n_missing == number)
            bits = np.packbits(self.missing[rows], axis=1)
            keys = np.ascontiguousarray(bits).view(f"V{bits.shape[1]}").ravel()
            _, first, numbers = np.unique(keys, return_index=True, return_inverse=True)
            columns = np.nonzero(self.missing[rows[first]])[1].reshape(-1, number)
            found.append(Pattern(rows, columns, numbers.ravel()))
        return found

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

    def parts(self, n_components):
        """Return slices of rows with their blocks, such that each needs little memory.

        The conditional covariances of each slice have a limited size.
        """
        most = max(int(self.n_missing.max(initial=1)) ** 2, self.shape[1])
        parts = list(slices(len(self), n_components * most, VALUES_AT_ONCE))
        if len(parts) <= 1:
            return [(slice(None), self)]
        return [(part, GappedRows(self.rows[part])) for part in parts]


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


class Conditional(NamedTuple):
    """Distributions of missing values given the observed values and each component.

    L_mm is the part of a component's precision for the missing values of a row.

    Attributes
    ----------
    shifts : ndarray of shape (n_components, n_rows, n_features)
        Completed rows minus the mean of the component.
    log_determinants : ndarray of shape (n_components, n_rows)
        log |L_mm|.
    covariances : list of ndarray of shape (n_components, n_patterns, n_missing, \
            n_missing)
        L_mm^-1 for each of `GappedRows.patterns`.
    """

    shifts: Any
    log_determinants: Any
    covariances: Any


def conditional(block, rows, means, precisions):
    """Return the `Conditional` of rows.

    Parameters
    ----------
    block : GappedRows
    rows : ndarray of shape (n_rows, n_features)
        Rows in the coordinates of the means, with any numbers for missing values.
    means : ndarray of shape (n_components, n_features)
    precisions : ndarray of shape (n_components, n_features, n_features)
        Expected precisions of the components.
    """
    shifts = np.where(block.missing, 0.0, rows - means[:, None])
    given = zip(shifts, precisions, strict=True)
    pulls = np.stack([tiled_matmul(one, precision) for one, precision in given])
    logs, covariances = np.zeros(shifts.shape[:2]), []
    for rows, missing, numbers in block.patterns:
        own = precisions[:, missing[:, :, None], missing[:, None, :]]
        roots, log_determinants = COVARIANCES["full"](missing.shape[1]).factors(own)
        logs[:, rows] = -log_determinants[:, numbers]
        found = np.swapaxes(roots, 2, 3) @ roots
        covariances.append(found)
        places = rows[:, None], missing[numbers]
        values = found[:, numbers] @ pulls[:, *places, None]
        shifts[:, *places] = -values[..., 0]
    return Conditional(shifts, logs, covariances)


def sum_covariances(block, covariances, weight):
    """Return the weighted sums of the conditional covariances.

    Parameters
    ----------
    block : GappedRows
    covariances : list of ndarray
        Attribute of `Conditional`.
    weight : ndarray of shape (n_components, n_rows)

    Returns
    -------
    sums : ndarray of shape (n_components, n_features, n_features)
    """
    (K, _), D = weight.shape, block.shape[1]
    total = np.zeros((K, D * D))
    for (rows, missing, numbers), found in zip(
        block.patterns, covariances, strict=True
    ):
        places = (missing[:, :, None] * D + missing[:, None, :]).ravel()
        for k in range(K):
            own = np.bincount(numbers, weight[k, rows], len(missing))
            values = found[k] * own[:, None, None]
            total[k] += np.bincount(places, values.ravel(), D * D)
    return total.reshape(K, D, D)


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
        for part, own in block.parts(shape[1]):
            found = self._given(own, usual)
            log_determinants[part] = found.log_determinants.T
            for k, root in enumerate(self._roots(usual)):
                white = tiled_matmul(found.shifts[k], root.T)
                squares[part, k] = (white * white).sum(axis=1)
        return squares, log_determinants

    def _sums_of_products(self, block, shares, usual):
        """Return the sums of 1, x and x_i x_j, i <= j, (n_components, n_moments)."""
        K, D = usual.means.shape
        upper = np.triu_indices(D)
        sums = np.zeros((K, 1 + D + len(upper[0])))
        for part, own in block.parts(K):
            found = self._given(own, usual)
            weight = np.ascontiguousarray(shares[part].T, dtype=np.float64)
            rows = found.shifts + usual.means[:, None]
            weighted = rows * weight[:, :, None]
            second = np.swapaxes(weighted, 1, 2) @ rows
            second += sum_covariances(own, found.covariances, weight)
            sums[:, 0] += weight.sum(axis=1)
            sums[:, 1 : 1 + D] += weighted.sum(axis=1)
            sums[:, 1 + D :] += second[:, *upper]
        return sums

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
        """Return the `Conditional` of rows; the last result is cached."""

        def function(usual):
            roots = self._roots(usual)
            precisions = np.einsum("kij,kil->kjl", roots, roots)
            rows = block.shift(self.origin)
            return conditional(block, rows, usual.means, precisions)

        return block.last.result(function, usual)

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
        for part, own in block.parts(len(usual.means)):
            means = (self.origin + usual.means)[:, None]
            if self.covariance.products:
                means = self._given(own, usual).shifts + means
            for share, mean in zip(shares[part].T, means, strict=True):
                out[part] += share[:, None] * mean
        return np.where(block.missing, out, block.rows)

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
            for part, few in own.parts(1):
                values = self._drawn(few, one, noise[rows[part]]) + self.origin
                out[rows[part]] = np.where(few.missing, values, few.rows)
        return np.ascontiguousarray(out, dtype=self.dtype)

    def _drawn(self, block, usual, noise):
        if not self.covariance.products:
            return usual.means + noise * np.sqrt(self._variances(usual))
        found = self._given(block, usual)
        values = found.shifts[0] + usual.means
        pairs = zip(block.patterns, found.covariances, strict=True)
        for (rows, missing, numbers), (covariances,) in pairs:
            roots, places = np.linalg.cholesky(covariances), missing[numbers]
            own = noise[rows[:, None], places]
            moved = np.einsum("pij,pj->pi", roots[numbers], own)
            values[rows[:, None], places] += moved
        return values

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

"""Gaussian components of rows with missing values.

The missing values x_m of a row are latent variables.  Given component k, the best
distribution is the Gaussian

    q(x_m | k) = N(m_m - L_mm^-1 L_mo (x_o - m_o), L_mm^-1),

where L is the expected precision of the component, x_o are the observed values, and m
is the mean.  The expected log-likelihood of the row, with the entropy of q, is the
logarithm of the integral over x_m of exp(E log p(x_o, x_m)): the distance becomes that
of the completed row, and log |L_mm| / 2 - n_missing log(2 pi) / 2 is subtracted.
Statistics are expected moments under q.
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from .._expfam import COVARIANCES, ONCE
from .._linalg import tiled_matmul
from ._family import GaussianFamily
from ._tied import TiedFamily

__all__ = ["GappedRows", "GaussianWithGaps", "TiedWithGaps", "block_of"]

LOG_2_PI = math.log(2 * math.pi)
#: Largest number of elements of the conditional covariances that are computed at once.
MOST_ELEMENTS = 2**21
#: Seed of the values that are drawn for moves.
SEED_OF_DRAWS = 0


def block_of(rows):
    """Return rows as they are if they have no missing values, else `GappedRows`."""
    values = rows.ravel()
    # a square that overflows is no NaN
    return GappedRows(rows) if math.isnan(values @ values) else rows


class Pattern(NamedTuple):
    """Rows with the same number of missing values.

    Attributes
    ----------
    rows : ndarray of int of shape (n_rows,)
    missing : ndarray of int of shape (n_patterns, n_missing)
        Columns whose values are missing.
    numbers : ndarray of int of shape (n_rows,)
        The pattern of each row.
    """

    rows: np.ndarray
    missing: np.ndarray
    numbers: np.ndarray


class GappedRows:
    """Rows of data, some of whose values are NaN.

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
        """Whether values are missing, ndarray (n_rows, n_features)."""
        return np.isnan(self.rows)

    @functools.cached_property
    def n_missing(self):
        """Number of missing values of each row."""
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

    def about(self, origin):
        """Return rows minus an origin in float64, with 0 for missing values."""
        return np.where(self.missing, 0.0, self.rows - origin)

    def parts(self):
        """Yield slices of rows whose conditional covariances fit into little memory."""
        most = int(self.n_missing.max(initial=1))
        step = max(MOST_ELEMENTS // most**2, 1)
        for start in range(0, len(self), step):
            yield slice(start, start + step)


class Conditional(NamedTuple):
    """Missing values given the observed ones and a component.

    Attributes
    ----------
    shifts : ndarray of shape (n_rows, n_features)
        Completed rows minus the mean of the component.
    log_determinants : ndarray of shape (n_rows,)
        log |L_mm|.
    roots : list of ndarray of shape (n_patterns, n_missing, n_missing)
        For each of `GappedRows.patterns` F with F^T F = L_mm^-1.
    """

    shifts: Any
    log_determinants: Any
    roots: Any


def conditional(block, differences, precision):
    """Return the `Conditional` of rows.

    Parameters
    ----------
    block : GappedRows
    differences : ndarray of shape (n_rows, n_features)
        Rows minus the mean of the component, 0 for missing values.  Receives the shifts.
    precision : ndarray of shape (n_features, n_features)
        Expected precision of the component.
    """
    pulls = tiled_matmul(differences, precision)
    logs, roots = np.zeros(len(block)), []
    for rows, missing, numbers in block.patterns:
        own = precision[missing[:, :, None], missing[:, None, :]]
        found, log_determinants = COVARIANCES["full"](missing.shape[1]).factors(own)
        logs[rows] = -log_determinants[numbers]
        roots.append(found)
        root, columns = found[numbers], missing[numbers]
        pull = pulls[rows[:, None], columns][:, :, None]
        values = np.swapaxes(root, 1, 2) @ (root @ pull)
        differences[rows[:, None], columns] = -values[:, :, 0]
    return Conditional(differences, logs, roots)


def covariances(block, roots, weight):
    """Return the weighted sum of the conditional covariances, a matrix.

    Parameters
    ----------
    block : GappedRows
    roots : list of ndarray
        Of `Conditional`.
    weight : ndarray of shape (n_rows,)
    """
    D = block.shape[1]
    total = np.zeros(D * D)
    for (rows, missing, numbers), root in zip(block.patterns, roots, strict=True):
        own = np.bincount(numbers, weight[rows], len(missing))
        sums = np.swapaxes(root, 1, 2) @ (root * own[:, None, None])
        places = missing[:, :, None] * D + missing[:, None, :]
        total += np.bincount(places.ravel(), sums.ravel(), D * D)
    return total.reshape(D, D)


class WithGaps:
    """Mixin of families of Gaussians: blocks may be `GappedRows`."""

    # -- local steps -------------------------------------------------------------------
    def responsibilities(self, block, tables, log_weights, power):
        """Return responsibilities, bounds and scores, see `MixtureModel`."""
        if not isinstance(block, GappedRows):
            return super().responsibilities(block, tables, log_weights, power)
        logs = self.log_likelihoods(block, tables) + log_weights
        tempered = logs * np.reshape(power, (-1, 1))
        bounds = logsumexp(tempered, axis=1)
        shares = np.exp(tempered - bounds[:, None])
        return shares.astype(self.dtype), bounds, (shares * logs).sum(axis=1)

    def log_likelihoods(self, block, tables):
        """Return expected log densities of the observed values of each row."""
        if not isinstance(block, GappedRows):
            return super().log_likelihoods(block, tables)
        squares, log_determinants = self._distances(block, tables.usual)
        constants = tables.constants + 0.5 * LOG_2_PI * block.n_missing[:, None]
        return constants - 0.5 * (squares + log_determinants)

    def log_predictive(self, block, tables, log_weights=0.0):
        """Return the logarithm of the components' Student-t densities."""
        if not isinstance(block, GappedRows):
            return super().log_predictive(block, tables, log_weights)
        usual = tables.usual
        nu = np.broadcast_to(usual.freedom, usual.precision.shape)
        spread = (usual.precision + 1.0) / usual.precision
        function = self._product if self.law.is_product else self._student
        return function(block, usual, nu, spread) + log_weights

    def _student(self, block, usual, nu, spread):
        """Return log densities of marginals of multivariate Student-t distributions."""
        n_missing, width = block.n_missing[:, None], self.law.width
        n_observed = self.n_features - n_missing
        squares, log_determinants = self._distances(block, usual)
        # of the scale matrix; those of the distances are of nu times that
        logs = usual.log_determinants - log_determinants + n_missing * np.log(nu)
        freedom = 2.0 * self.law.exponent(nu) - self.n_features
        exponent = 0.5 * (freedom + n_observed)
        logs = 0.5 * (logs - n_observed * np.log(math.pi * width * spread))
        logs += gammaln(exponent) - gammaln(0.5 * freedom)
        return logs - exponent * np.log1p(squares / (width * nu * spread))

    def _product(self, block, usual, nu, spread):
        """Return log densities of independent Student-t distributions."""
        rows, known = block.about(self.origin), ~block.missing
        out = np.empty((len(block), len(nu)))
        for k in range(len(nu)):
            squares = ((rows - usual.means[k]) * usual.factors[k]) ** 2 / spread[k]
            heights = np.log(usual.factors[k]) - 0.5 * math.log(math.pi * spread[k])
            heights = heights + gammaln(0.5 * nu[k] + 0.5) - gammaln(0.5 * nu[k])
            logs = heights - self.law.exponent(nu[k]) * np.log1p(squares)
            out[:, k] = np.where(known, logs, 0.0).sum(axis=1)
        return out

    def statistics(self, block, shares, factors=ONCE, tables=None):
        """Return the sums of the expected moments of rows."""
        if not isinstance(block, GappedRows):
            return super().statistics(block, shares, factors, tables)
        shares = shares * factors[:, None]
        if self.covariance.products:
            sums = self._sums_of_products(block, shares, tables.usual)
        else:
            sums = self._sums_of_squares(block, shares, tables.usual)
        return self._of_sums(sums)

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
            rows, known = block.about(self.origin), ~block.missing
            for k, precision in enumerate(self._variances(usual) ** -1.0):
                moved = np.where(known, rows - usual.means[k], 0.0)
                squares[:, k] = (moved * moved * precision).sum(axis=1)
                logs = np.where(known, 0.0, np.log(precision))
                log_determinants[:, k] = logs.sum(axis=1)
            return squares, log_determinants
        for part, own in self._parts_of(block):
            for k, root in enumerate(self._roots(usual)):
                found = self._given(own, usual.means[k], root)
                white = tiled_matmul(found.shifts, root.T)
                squares[part, k] = (white * white).sum(axis=1)
                log_determinants[part, k] = found.log_determinants
        return squares, log_determinants

    def _sums_of_products(self, block, shares, usual):
        """Return the sums of 1, x and x_i x_j, i <= j, (n_components, n_moments)."""
        K, D = usual.means.shape
        upper = np.triu_indices(D)
        sums = np.zeros((K, 1 + D + len(upper[0])))
        for part, own in self._parts_of(block):
            for k, root in enumerate(self._roots(usual)):
                found, mean = self._given(own, usual.means[k], root), usual.means[k]
                weight = np.ascontiguousarray(shares[part, k], dtype=np.float64)
                rows = found.shifts + mean
                weighted = rows * weight[:, None]
                second = weighted.T @ rows + covariances(own, found.roots, weight)
                sums[k, 0] += weight.sum()
                sums[k, 1 : 1 + D] += weighted.sum(axis=0)
                sums[k, 1 + D :] += second[upper]
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

    def _given(self, block, mean, root):
        differences = np.where(block.missing, 0.0, block.about(self.origin) - mean)
        return conditional(block, differences, root.T @ root)

    @staticmethod
    def _parts_of(block):
        """Yield slices of rows, and blocks of them."""
        parts = list(block.parts())
        for part in parts:
            yield part, block if len(parts) == 1 else GappedRows(block.rows[part])

    def _variances(self, usual):
        """Return the inverses of diagonal expected precisions, one a component."""
        freedom = np.broadcast_to(usual.freedom, usual.precision.shape)
        return 1.0 / (usual.factors**2 * freedom[:, None])

    def _roots(self, usual):
        """Return lower triangles R with R^T R = L, one a component."""
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
        for part, own in self._parts_of(block):
            for k in range(len(usual.means)):
                shifts, _ = self._shifts_and_noise(own, usual, k)
                out[part] += shares[part, k, None] * (shifts + usual.means[k])
        return np.where(block.missing, out + self.origin, block.rows)

    def drawn(self, block, shares, tables):
        """Return rows whose missing values are drawn given the observed ones.

        The component of each row is drawn with its responsibility.  Draws have a fixed
        seed, so that searches for moves can be repeated.
        """
        random = np.random.default_rng(SEED_OF_DRAWS)
        usual, out = tables.usual, np.array(block.rows, dtype=np.float64)
        below = shares.cumsum(axis=1) < random.random((len(block), 1)) * shares.sum(
            axis=1, keepdims=True
        )
        labels = np.minimum(below.sum(axis=1), shares.shape[1] - 1)
        noise = random.normal(size=block.shape)
        for k in np.unique(labels).tolist():
            rows = np.flatnonzero(labels == k)
            own = GappedRows(block.rows[rows])
            shifts, moved = self._shifts_and_noise(own, usual, k, noise[rows])
            values = shifts + moved + usual.means[k] + self.origin
            out[rows] = np.where(own.missing, values, own.rows)
        return np.ascontiguousarray(out, dtype=self.dtype)

    def _shifts_and_noise(self, block, usual, k, noise=None):
        """Return completed rows minus the mean of component k, and noise.

        The noise has the conditional covariance of the missing values.
        """
        moved = np.zeros(block.shape)
        if not self.covariance.products:
            known = block.about(self.origin) - usual.means[k]
            if noise is not None:
                moved = noise * np.sqrt(self._variances(usual)[k])
            return np.where(block.missing, 0.0, known), moved
        found = self._given(block, usual.means[k], self._roots(usual)[k])
        if noise is not None:
            pairs = zip(block.patterns, found.roots, strict=True)
            for (rows, missing, numbers), root in pairs:
                places = rows[:, None], missing[numbers]
                values = noise[places][:, :, None]
                moved[places] = (np.swapaxes(root[numbers], 1, 2) @ values)[:, :, 0]
        return found.shifts, moved


class GaussianWithGaps(WithGaps, GaussianFamily):
    """Gaussian components with Normal-Wishart posteriors; values may be missing."""


class TiedWithGaps(WithGaps, TiedFamily):
    """Gaussian components that share a covariance; values may be missing."""

    def _of_sums(self, sums):
        first = 1 + self.n_features
        return self._shared(sums[:, :first], sums[:, first:].mean(axis=0))

"""Tied covariance: one Wishart distribution that all components share."""

import copy

import numpy as np

from .._expfam import ONCE, Covariance, NormalWishartParts
from .._linalg import tiled_matmul
from ._family import GaussianFamily

__all__ = ["TiedCovariance", "TiedFamily"]


class TiedCovariance(Covariance):
    """One matrix for all components, the mean of their individual matrices.

    Parameters
    ----------
    n_components, n_features : int
    """

    def __init__(self, n_components, n_features):
        super().__init__(n_features)
        self.n_components = n_components

    def outer(self, factors, vectors):
        """Return the mean of ``factor * v v^T`` over the components."""
        return (factors * vectors.T) @ vectors / self.n_components

    def centred(self, precision, sums, second):
        """Return means and the inverse scale, given natural parameters."""
        means = sums / precision[:, None]
        return means, second - self.outer(precision, means)

    def traces_and_squares(self, scale_factors, matrices, vectors):
        """Return tr(scale @ matrix), and ``v^T @ scale @ v`` of each component."""
        trace = (scale_factors @ matrices * scale_factors).sum()
        return trace, ((scale_factors @ vectors[..., None]) ** 2).sum(axis=(-2, -1))

    def matrices(self, covariances):
        """Return a matrix for each component from the shared covariance."""
        return self.each(covariances)

    def widened(self, freedom):
        """Return the degrees of freedom."""
        return freedom

    def times(self, scale, vectors):
        """Return ``scale @ v`` of each component."""
        return vectors @ scale

    def paired(self, freedom, scale):
        """Return the coefficients of the second moments, summed over components."""
        return self.n_components * super().paired(freedom, scale)

    def each(self, value):
        """Return the value, repeated for each component."""
        return np.broadcast_to(value, (self.n_components, *np.shape(value)))

    def common(self, values):
        """Return the sum over the components."""
        return values.sum()


class TiedFamily(GaussianFamily):
    """Gaussian components that share a covariance.

    The natural parameters of a mixture are one vector.  It has kappa and kappa m of all
    components, followed by means over the components of the second moments and of the
    degrees of freedom.

    Parameters
    ----------
    n_components, n_features : int
    **others : dict
        See `GaussianFamily`.
    """

    def __init__(self, n_components, n_features, **others):
        super().__init__(TiedCovariance(n_components, n_features), **others)
        self.n_components = n_components

    @property
    def alone(self):
        """Return the family of Gaussians with individual covariances."""
        own = {"reg_covar": self.reg_covar, "dtype": self.dtype, "stop": self.stop}
        return GaussianFamily(Covariance(self.n_features), **own).about(self.origin)

    def resized(self, n_components):
        """Return the family of another number of components."""
        other = copy.copy(self)
        other.covariance = TiedCovariance(n_components, self.n_features)
        other.n_components = n_components
        return other

    # -- parameters --------------------------------------------------------------------
    def shape(self, n_components):
        """Return the shape of the parameters of a mixture."""
        n_own = n_components * (1 + self.n_features)
        return (n_own + self.covariance.n_kept + 1,)

    def repeated(self, prior, n_components):
        """Return the parameters of a mixture of components with the same prior."""
        first = 1 + self.n_features
        precision = np.full(n_components, prior[0])
        means = np.tile(prior[1:first], n_components)
        return np.concatenate([precision, means, prior[first:]])

    def split(self, parameters):
        """Return `NormalWishartParts` of a vector of natural parameters."""
        K, D = self.n_components, self.n_features
        precision, means, second = np.split(parameters[:-1], [K, K + K * D])
        return NormalWishartParts(
            precision,
            means.reshape(K, D),
            self.covariance.unpacked(second),
            parameters[-1],
        )

    def joined(self, precision, means, kept, freedom):
        """Return the vector of natural parameters."""
        return np.concatenate([precision, means.ravel(), kept, [freedom]])

    # -- local steps -------------------------------------------------------------------
    def _tables(self, usual, root):
        """Return whitened means, and diagonal factors of 1."""
        whitening = (usual.factors * root).T
        return usual.means @ whitening, np.ones_like(usual.means)

    def _rows_of(self, block, tables):
        usual = tables.usual
        whitening = (usual.factors * np.sqrt(usual.freedom)).T
        white = tiled_matmul(block.astype(np.float64) - self.origin, whitening)
        with np.errstate(over="ignore"):  # the kernel handles rows that are far away
            return white.astype(self.dtype)

    def statistics(self, block, shares, factors=ONCE, tables=None):
        """Return the sums of the moments; second moments are means over components."""
        first = 1 + self.n_features
        own = self._sums(block, shares, factors, first)
        totals = shares.sum(axis=1, dtype=np.float64, keepdims=True)
        n_moments = first + self.covariance.n_kept
        mean = self._sums(block, totals, factors, n_moments)[0, first:]
        return self._shared(own, mean / self.n_components)

    def _shared(self, own, mean):
        """Return counts and statistics.

        ``own`` has the sums of 1 and of x for each component, and ``mean`` the sums of
        products, averaged over the components.
        """
        counts = own[:, 0]
        n_mean = counts.mean()
        mean = mean + n_mean * self.reg_covar * self.covariance.is_variance
        return counts, self.joined(counts, own[:, 1:], mean, n_mean)

    # -- moves -------------------------------------------------------------------------
    def gains(self, prior, statistics, removed, added):
        """Return the increases of the lower bound if new clusters replace old clusters.

        The lower bounds are computed for the best parameters; see `Family.gains`.  All
        clusters share the covariance.  Therefore the gain of two replacements together
        is not the sum of their gains.
        """
        shape, added = removed.shape, added.reshape(-1, added.shape[-1])
        values, inverse_scales = self._parts(prior + statistics)
        after, scales_after = self._parts(prior + added)
        rises = after.reshape(shape).sum(axis=1) - values[removed].sum(axis=1)
        D = self.n_features
        changes = scales_after.reshape(*shape, D, D).sum(axis=1)
        changes = changes - inverse_scales[removed].sum(axis=1)
        total = inverse_scales.sum(axis=0)
        freedom = (prior[-1] + D) * len(statistics) + statistics[:, -1].sum()
        rise = np.linalg.slogdet(total + changes)[1] - np.linalg.slogdet(total)[1]
        return rises - 0.5 * freedom * rise

    def _parts(self, posteriors):
        """Return a term of the bound and an inverse scale for each cluster."""
        usual = self.alone.usual(posteriors)
        return -0.5 * self.n_features * np.log(usual.precision), usual.inverse_scale

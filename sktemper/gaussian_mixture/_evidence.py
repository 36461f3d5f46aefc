"""The marginal likelihood of hard clusters, of their sizes included."""

import math

import numpy as np
from scipy.special import gammaln

from .._expfam import Usual

__all__ = ["Evidence"]


class Evidence:
    """What clusters of samples are worth under the priors.

    Parameters
    ----------
    model : GaussianMixtureModel
    hyper : Hyper
    """

    def __init__(self, model, hyper):
        self.hyper = hyper
        self.family, self.covariance = model.family, model.covariance
        self.n_features, self.reg_covar = model.n_features, model.reg_covar

    def gains(self, sums, before, after):
        """Return by how much evidence rises where clusters take the place of others.

        The log marginal likelihood of hard clusters, of their sizes included.  Of tied
        ones, where all have a part in the covariance, it is the lower bound of that.

        Parameters
        ----------
        sums : ndarray of shape (n_components, n_moments)
            Of the moments of each component's samples, see `moments` of the model.
        before, after : ndarray of shape (n_changes, n_changed, n_moments)
            Those that each change takes away, and that it puts in their place.

        Returns
        -------
        gains : ndarray of shape (n_changes,)
        """
        if not self.covariance.shared:
            old, new = self.of_clusters(before), self.of_clusters(after)
            return (new - old).sum(axis=1)
        old, new = (
            self._parts_of_bound(before),
            self._parts_of_bound(after),
        )
        values, changes = ((n - o).sum(axis=1) for n, o in zip(new, old, strict=True))
        _, inverse_scales = self._parts_of_bound(sums)
        total = inverse_scales.sum(axis=0)
        freedom = len(sums) * self.hyper.degrees_of_freedom + sums[:, 0].sum()
        rise = np.linalg.slogdet(total + changes)[1] - np.linalg.slogdet(total)[1]
        return values - 0.5 * freedom * rise

    def _parts_of_bound(self, sums):
        """Return, for each cluster, a term and a part in the common inverse scale."""
        posterior = self._posteriors(sums)
        sizes = gammaln(self.hyper.weight_concentration + sums[..., 0])
        shrunk = 0.5 * self.n_features * np.log(posterior.precision)
        return sizes - shrunk, posterior.inverse_scale

    def of_clusters(self, sums):
        """Return the log marginal likelihood of clusters, of their sizes included.

        Each with a covariance of its own.

        Parameters
        ----------
        sums : ndarray of shape (..., n_moments)
            Of the moments of each cluster's samples, see `moments` of the model.
        """
        posterior, counts = self._posteriors(sums), sums[..., 0]
        return (
            gammaln(self.hyper.weight_concentration + counts)
            - self.family.log_normaliser(posterior)
            - 0.5 * self.n_features * counts * math.log(2 * math.pi)
        )

    def log_densities(self, sums, x):
        """Return log size * density of samples in clusters, at the posterior means.

        Parameters
        ----------
        sums : ndarray of shape (n_clusters, n_moments)
        x : ndarray of shape (n_samples, n_features)
            About the origin.
        """
        posterior = self._posteriors(sums)
        logs = np.empty((len(x), len(sums)))
        for j, factor in enumerate(posterior.factors):
            shifts = x - posterior.means[j]
            shifts = shifts @ factor.T if factor.ndim == 2 else shifts * factor
            logs[:, j] = -0.5 * posterior.freedom[j] * (shifts**2).sum(axis=1)
        logs += np.log(sums[:, 0])
        logs += 0.5 * posterior.log_determinants
        logs += 0.5 * self.n_features * np.log(posterior.freedom)
        return logs

    def _posteriors(self, sums):
        """Return the Normal-Wishart posteriors of clusters, each on its own."""
        shape, D = sums.shape[:-1], self.n_features
        counts, first, seconds = np.split(
            sums.reshape(-1, sums.shape[-1]), [1, 1 + D], 1
        )
        posterior = self._posteriors_of(counts[:, 0], first, seconds)
        return Usual(*(part.reshape(shape + part.shape[1:]) for part in posterior))

    def _posteriors_of(self, counts, sums, seconds):
        kind = self.covariance.separate(len(counts))
        mean = np.tile(self.hyper.mean - self.hyper.origin, (len(counts), 1))
        kappa = self.hyper.mean_precision + counts
        means = (self.hyper.mean_precision * mean + sums) / kappa[:, None]
        inverse_scale = (
            kind.prior(self.hyper.covariance)
            + kind.unpacked(seconds)
            + kind.blurred(counts, self.reg_covar)
            + kind.outer(np.full(len(counts), self.hyper.mean_precision), mean)
            - kind.outer(kappa, means)
        )
        freedom = self.hyper.degrees_of_freedom + counts
        return Usual(kappa, means, inverse_scale, freedom, *kind.factors(inverse_scale))

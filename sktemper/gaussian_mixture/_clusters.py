"""Clusters of components, for clusters that are not Gaussian.

Clusters are joined where the density of the mixture has no gap between them, as in
section 5 of Hennig, Methods for merging Gaussian mixture components, Advances in Data
Analysis and Classification 4, 2010.  The density is computed on the ridge line between
two components, the set of points at which the density of one component cannot rise
without a fall of the other (Ray and Lindsay, The topography of multivariate normal
mixtures, Annals of Statistics 33, 2005).  A cluster inside another has no gap around
it.  Therefore components of very different widths are not joined.
"""

import math

import numpy as np

from .._families._normal_wishart import COVARIANCES

#: Least ratio of the density in a gap to the lower one of the peaks on both sides, for
#: up to FEW_COLUMNS columns.  In more columns it is nearer to 1.
LEAST_RATIO, FEW_COLUMNS = 0.42, 4
#: Largest number of columns for which gaps are searched.  In more columns, the density
#: of a wide cluster is so low that narrow clusters at its edge show no gap.
MOST_COLUMNS = 10
#: Least similarity of the widths of two components.  The similarity of two standard
#: deviations with the ratio r is the root of 2 r / (1 + r^2), which is 0.5 for r = 7.9.
LEAST_SIMILARITY = 0.5
#: Number of points of a ridge line.
N_POINTS = 41


def clusters_of(means, covariances, counts):
    """Return the cluster of each component, an ndarray of int of shape (n_components,).

    Parameters
    ----------
    means : ndarray of shape (n_components, n_features)
    covariances : ndarray of shape (n_components, n_features, n_features) or \
            (n_components, n_features)
        Covariance matrices, or their diagonals.
    counts : ndarray of shape (n_components,)
        Numbers of samples of the components.
    """
    components = _Components(means, covariances, counts)
    least = 1.0 - (1.0 - LEAST_RATIO) * min(1.0, FEW_COLUMNS / means.shape[1])
    peaks, clusters = components.log_densities(means), np.arange(len(means))
    # from the highest to the lowest pass, so that a wide component of low density
    # cannot join the clusters on both sides of it
    for height, i, j in sorted(components.passes(), reverse=True):
        one, other = clusters[i], clusters[j]
        lower = min(peaks[one], peaks[other])
        if one != other and height >= lower + math.log(least):
            peaks[one] = max(peaks[one], peaks[other])
            clusters[clusters == other] = one
    return np.unique(clusters, return_inverse=True)[1]


class _Components:
    """Gaussian components; the parameters are those of `clusters_of`."""

    def __init__(self, means, covariances, counts):
        self.means, self.covariances = means, covariances
        # a huge precision of the prior rounds counts to 0
        self.counts = np.maximum(counts, np.finfo(float).eps ** 2)
        self.is_full = covariances.ndim == 3
        self.kind = COVARIANCES["full" if self.is_full else "diag"](means.shape[1])
        self.whitenings, logs = self.kind.factors(covariances)
        self.log_volumes = -0.5 * logs

    def log_densities(self, rows):
        """Return log densities of the mixture at rows, up to a constant."""
        heights = np.log(self.counts) - self.log_volumes
        logs = np.empty((len(heights), len(rows)))
        for k, mean in enumerate(self.means):
            white = self.kind.times(self.whitenings[[k]], rows - mean)
            logs[k] = heights[k] - 0.5 * (white**2).sum(axis=1)
        return np.logaddexp.reduce(logs, axis=0)

    def passes(self):
        """Yield the height of the pass between two components, and their indices.

        The height is the least log density on the ridge line; infinity if the distance
        of the means is explained by their errors.
        """
        for i in range(1, len(self.means)):
            for j in range(i):
                if self._are_similar(i, j):
                    if self._are_one(i, j):
                        yield math.inf, i, j
                    elif self.means.shape[1] <= MOST_COLUMNS:
                        yield self.log_densities(self._ridge(i, j)).min(), i, j

    def _are_similar(self, i, j):
        both = 0.5 * (self.covariances[i] + self.covariances[j])
        log_volume = -0.5 * self.kind.factors(both[None])[1][0]
        excess = log_volume - 0.5 * (self.log_volumes[i] + self.log_volumes[j])
        return excess <= -math.log(LEAST_SIMILARITY) * self.means.shape[1]

    def _are_one(self, i, j):
        """Return whether two components have a single mode but for errors of the means.

        On the line of Fisher's discriminant, two normal densities have a single mode
        for any weights if their means differ by at most twice the smaller standard
        deviation (Behboodian, On the modes of a mixture of two normal distributions,
        Technometrics 12, 1970).  Errors of the means increase the squared distance by
        ``noise`` on average, which is subtracted.
        """
        pair, shift = [i, j], self.means[i] - self.means[j]
        covariances = self.covariances[pair]
        errors = (covariances.T / self.counts[pair]).sum(axis=-1).T
        (inverse,) = self.kind.scale(covariances.sum(axis=0, keepdims=True))
        line = self.kind.times(inverse[None], shift[None])
        variances = self.kind.times(covariances, np.vstack([line, line])) @ line[0]
        distance, noise = shift @ line[0], (inverse * errors).sum()
        return distance * (distance - noise) <= 4.0 * variances.min()

    def _ridge(self, i, j):
        """Return points of the ridge line, (N_POINTS, n_features)."""
        share = np.linspace(0.0, 1.0, N_POINTS)[:, None]
        shift, first, second = self.means[j] - self.means[i], *self.covariances[[i, j]]
        if not self.is_full:
            pull = share * first / ((1.0 - share) * second + share * first)
            return self.means[i] + pull * shift
        both = (1.0 - share[..., None]) * second + share[..., None] * first
        pull = np.linalg.solve(both, np.tile(shift[:, None], (N_POINTS, 1, 1)))
        return self.means[i] + share * (pull[..., 0] @ first)

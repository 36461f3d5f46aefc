"""Clusters of components, for clusters that are not Gaussian.

Two normal densities on a line add up to a density with a single mode, for any weights,
if their means differ by at most twice the smaller standard deviation (Behboodian, On
the modes of a mixture of two normal distributions, Technometrics 12, 1970).  Two
components are linked if this condition holds on the line of Fisher's discriminant,
along which they are separated best.  Linked components form a cluster, as in section 5
of Hennig, Methods for merging Gaussian mixture components, 2010.
"""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

__all__ = ["clusters_of"]


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
    n_components, n_features = means.shape
    links = np.eye(n_components, dtype=bool)
    for i in range(1, n_components):
        shifts, both = means[:i] - means[i], covariances[:i] + covariances[i]
        lengths = (shifts**2).sum(axis=1)
        if both.ndim == 3:
            product = (shifts * (both @ shifts[:, :, None])[:, :, 0]).sum(axis=1)
        else:
            product = (shifts**2 * both).sum(axis=1)
        # if this lower bound of the distance exceeds the limit, `_are_one` is False
        limit = 2.0 + n_features * (1.0 / counts[:i] + 1.0 / counts[i])
        for j in np.flatnonzero(lengths**2 <= limit * product):
            pair = covariances[[i, j]], counts[[i, j]]
            links[i, j] = _are_one(shifts[j], *pair)
    return connected_components(csr_array(links), directed=False)[1]


def _are_one(shift, covariances, counts):
    """Return whether two components have a single mode on the line between them.

    Errors of the means increase the squared distance of the means by ``noise`` on
    average, which is subtracted.
    """
    errors = (covariances.T / counts).sum(axis=-1).T
    if covariances.ndim == 3:
        inverse = np.linalg.inv(covariances.sum(axis=0))
        line = inverse @ shift
        variances = covariances @ line @ line
    else:
        inverse = 1.0 / covariances.sum(axis=0)
        line = inverse * shift
        variances = covariances @ line**2
    distance, noise = shift @ line, (inverse * errors).sum()
    return distance * (distance - noise) <= 4.0 * variances.min()

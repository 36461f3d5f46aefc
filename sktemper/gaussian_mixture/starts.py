"""Where responsibilities start, as scikit-learn's mixtures have it."""

import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus

__all__ = ["STARTS"]


def from_kmeans(X, n_components, random):
    """Return 1 for the cluster of each sample."""
    kmeans = KMeans(min(n_components, len(X)), n_init=1, random_state=random)
    return _one_hot(kmeans.fit(X).labels_, n_components)


def from_kmeans_plusplus(X, n_components, random):
    """Return 1 for the samples that k-means++ starts from, 0 for all others."""
    _, chosen = kmeans_plusplus(X, min(n_components, len(X)), random_state=random)
    return _seeds(X, chosen, n_components)


def from_noise(X, n_components, random):
    """Return random numbers that sum to 1."""
    responsibilities = random.uniform(size=(len(X), n_components))
    return responsibilities / responsibilities.sum(axis=1, keepdims=True)


def from_data(X, n_components, random):
    """Return 1 for samples taken at random, 0 for all others."""
    n_chosen = min(n_components, len(X))
    return _seeds(X, random.choice(len(X), n_chosen, replace=False), n_components)


def _one_hot(labels, n_components):
    responsibilities = np.zeros((len(labels), n_components))
    responsibilities[np.arange(len(labels)), labels] = 1.0
    return responsibilities


def _seeds(X, chosen, n_components):
    responsibilities = np.zeros((len(X), n_components))
    responsibilities[chosen, np.arange(len(chosen))] = 1.0
    return responsibilities


#: What ``init_params`` may be.
STARTS = {
    "kmeans": from_kmeans,
    "k-means++": from_kmeans_plusplus,
    "random": from_noise,
    "random_from_data": from_data,
}

"""Initial responsibilities, as in scikit-learn's mixtures.

Unlike in scikit-learn, the draws do not depend on the order of the samples, and equal
samples count as one sample with the sum of their weights.  A sample of weight 2
therefore gives the same bits as two equal samples.  If all samples are different,
sorted and without weights, the starts are the same as in scikit-learn.
"""

import functools

import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus
from threadpoolctl import ThreadpoolController

__all__ = ["STARTS", "looked_at", "mean_and_covariance", "order_of_rows"]

#: k-means ends when the squared movement of its centres is below this multiple of the
#: variance of the data.
KMEANS_TOL = 1e-4
#: Largest number of rows from which starts are computed.
ROWS_LOOKED_AT = 100_000


def from_kmeans(X, n_components, random, weight=None):
    """Return responsibilities of 1 for the k-means cluster of each sample."""
    rows, weight, places = distinct(X, weight)
    kmeans = KMeans(
        min(n_components, len(rows)),
        n_init=1,
        tol=KMEANS_TOL * _ratio_of_variances(rows, weight),
        random_state=random,
    )
    with _one_openmp_thread():
        labels = kmeans.fit(rows, sample_weight=weight).labels_
    return _seeds(len(rows), np.arange(len(rows)), labels, n_components)[places]


def _one_openmp_thread():
    """Return a context in which OpenMP uses the calling thread alone.

    A forked process does not have the threads of its parent, and a parallel region of
    GNU's OpenMP would wait for them forever.  Moreover, one thread gives the same bits
    on all machines.
    """
    return _openmp().limit(limits=1)


@functools.cache
def _openmp():
    return ThreadpoolController().select(user_api="openmp")


def from_kmeans_plusplus(X, n_components, random, weight=None):
    """Return responsibilities of 1 for samples that k-means++ chooses, 0 for others."""
    rows, weight, places = distinct(X, weight)
    n_chosen = min(n_components, len(rows))
    _, chosen = kmeans_plusplus(
        rows, n_chosen, sample_weight=weight, random_state=random
    )
    return _seeds(len(rows), chosen, np.arange(n_chosen), n_components)[places]


def from_noise(X, n_components, random, weight=None):
    """Return random responsibilities."""
    rows, _, places = distinct(X, weight)
    responsibilities = random.uniform(size=(len(rows), n_components))
    return (responsibilities / responsibilities.sum(axis=1, keepdims=True))[places]


def from_data(X, n_components, random, weight=None):
    """Return responsibilities of 1 for samples drawn at random, 0 for others."""
    rows, weight, places = distinct(X, weight)
    n_chosen = min(n_components, len(rows))
    shares = None if weight is None else weight / weight.sum()
    chosen = random.choice(len(rows), n_chosen, replace=False, p=shares)
    return _seeds(len(rows), chosen, np.arange(n_chosen), n_components)[places]


def _seeds(n_rows, chosen, labels, n_components):
    responsibilities = np.zeros((n_rows, n_components))
    responsibilities[chosen, labels] = 1.0
    return responsibilities


def order_of_rows(X):
    """Return the order that sorts the rows by the first column, then by the second."""
    order = np.argsort(X[:, 0], kind="stable")
    if (np.diff(X[order, 0]) == 0).any():
        order = np.lexsort(X.T[::-1])
    return order


def distinct(X, weight=None):
    """Return the distinct rows in increasing order, and the weight of each.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    weight : ndarray of shape (n_samples,) or None

    Returns
    -------
    rows : ndarray of shape (n_rows, n_features)
    weight : ndarray of shape (n_rows,) or None
        Weights of the distinct rows; None if all weights are equal.
    places : ndarray of shape (n_samples,)
        Index of each sample among the distinct rows.
    """
    order = order_of_rows(X)
    rows = X[order]
    new = np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)])
    places = np.empty(len(X), dtype=np.intp)
    places[order] = np.cumsum(new) - 1
    weight = np.bincount(places, weights=weight).astype(np.float64)
    return rows[new], None if (weight == weight[0]).all() else weight, places


def _ratio_of_variances(rows, weight):
    """Return the weighted variance of rows, divided by the unweighted variance.

    `KMeans` multiplies its tolerance by the unweighted variance.
    """
    if weight is None:
        return 1.0
    rows = rows.astype(np.float64, copy=False)
    mean = np.average(rows, axis=0, weights=weight)
    variance = np.average((rows - mean) ** 2, axis=0, weights=weight).mean()
    return variance / (rows.var(axis=0).mean() or 1.0)


def looked_at(X, weight=None):
    """Return rows with positive weights, at most `ROWS_LOOKED_AT`, and their weights.

    The third value is the total weight of all rows, divided by the total weight of the
    returned rows.
    """
    if weight is None:
        step = -(-len(X) // ROWS_LOOKED_AT)
        return X[::step], None, len(X) / len(X[::step])
    rows = np.flatnonzero(weight > 0)
    rows = rows[:: -(-len(rows) // ROWS_LOOKED_AT)]
    return X[rows], weight[rows], weight.sum() / weight[rows].sum()


def mean_and_covariance(X, weight=None):
    """Return mean and covariance of the rows in float64, without copying all rows."""
    if weight is None or not weight.any():
        weight = np.ones(len(X))
    parts = [slice(start, start + 4096) for start in range(0, len(X), 4096)]
    total = weight.sum()
    mean = sum(weight[part] @ X[part].astype(np.float64) for part in parts) / total
    squares = np.zeros((X.shape[1], X.shape[1]))
    for part in parts:
        rows = X[part] - mean
        squares += (weight[part, None] * rows).T @ rows
    return mean, squares / (total - 1 if total > 1 else 1)


#: Functions for the values of ``init_params``.
STARTS = {
    "kmeans": from_kmeans,
    "k-means++": from_kmeans_plusplus,
    "random": from_noise,
    "random_from_data": from_data,
}

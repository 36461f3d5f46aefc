"""The choice of a covariance type by evidence."""

import numpy as np

from .._estimator import log
from .._expfam import Mixture
from ..model import IllDefined, Powers
from ._agglomeration import Partition, agglomerated
from ._gapped_rows import has_gaps
from ._gaps_starts import filled
from ._starts import from_kmeans

__all__ = ["chosen_type"]

#: Types in the order in which they are compared; if types are equal, the first is
#: chosen.  "tied" is left out, because its prior is not learned, which lowers the
#: evidence by hundreds of nats.  Moreover, "full" has equal covariances if its prior
#: has learned many degrees of freedom.
ORDER = ("full", "diag", "spherical")
#: Least advantage of another type over "full", in nats per row.  Densities that differ
#: by less are the same for most purposes, and full covariances need fewer components to
#: describe clusters that are not quite Gaussian.
MARGIN = 0.05
#: "full" is compared only if there are at least this number of rows per column, and at
#: most this number of columns.
ROWS_PER_COLUMN, MOST_COLUMNS = 2, 150
#: Least and largest number of rows of the comparison; and, between these limits, the
#: number of rows times the squared number of columns.
LEAST_ROWS, MOST_ROWS, ELEMENTS = 5_000, 20_000, 2e7
#: Steps of coordinate ascent after the agglomeration.
STEPS = 4


def chosen_type(estimator, X, sample_weight):
    """Return the covariance type of the highest evidence.

    For each type, the clusters of k-means are merged by evidence, and a few steps of
    coordinate ascent follow.  The evidence is the resulting lower bound, minus one nat
    for each learned entry of the covariance prior, and minus a margin for types other
    than "full".

    Parameters
    ----------
    estimator : TemperedGaussianMixture
    X : ndarray of shape (n_samples, n_features)
    sample_weight : ndarray of shape (n_samples,) or None

    Returns
    -------
    covariance_type : {"full", "diag", "spherical"}
        If no type can be fitted, "full" is returned, and the fit then raises an error.
    """
    X, weight = _some(X, sample_weight, estimator.n_components)
    rows = filled(X, weight, is_full=True) if has_gaps(X) else X
    random = np.random.RandomState(0)
    labels = from_kmeans(rows, estimator.n_components, random, weight).argmax(axis=1)
    weight = np.ones(len(X)) if weight is None else weight
    best, most = "full", -np.inf
    for covariance_type in candidates(*X.shape):
        model = _model(estimator, covariance_type, X.shape[1])
        try:
            evidence = _evidence(model, X, rows, labels, weight)
        except IllDefined:
            continue
        log(estimator, "%s: evidence %.10g", covariance_type, evidence)
        evidence -= n_learned(covariance_type, X.shape[1])
        if evidence > most:
            best, most = covariance_type, evidence
            most += MARGIN * weight.sum() if covariance_type == "full" else 0.0
    return best


def _some(X, sample_weight, least):
    """Return evenly spaced rows with positive weights, and their weights.

    The number of rows is limited by `LEAST_ROWS`, `MOST_ROWS` and `ELEMENTS`, but may
    always be ``least``.
    """
    most = max(LEAST_ROWS, min(MOST_ROWS, int(ELEMENTS / X.shape[1] ** 2)), least)
    rows = np.arange(len(X))
    if sample_weight is not None and sample_weight.any():
        rows = np.flatnonzero(sample_weight)
    else:
        sample_weight = None
    rows = rows[:: -(-len(rows) // most)]
    X = np.asarray(X[rows], dtype=np.float64)
    return X, None if sample_weight is None else sample_weight[rows]


def candidates(n_samples, n_features):
    """Return the covariance types that have enough rows to be fitted."""
    most = min(MOST_COLUMNS, n_samples / ROWS_PER_COLUMN)
    return ORDER if n_features <= most else ORDER[1:]


def n_learned(covariance_type, n_features):
    """Return the number of entries of the covariance prior that are learned."""
    return {
        "spherical": 1,
        "diag": n_features,
        "full": n_features * (n_features + 1) // 2,
    }[covariance_type]


def _model(estimator, covariance_type, n_features):
    """Return the model of the estimator with a given covariance type."""
    parameters = estimator.get_params(deep=False)
    parameters |= {"covariance_type": covariance_type}
    return type(estimator)(**parameters)._make_model(n_features, np.dtype(np.float64))


def _evidence(model, X, rows, labels, weight):
    """Return the lower bound of a mixture that starts from merged clusters.

    Parameters
    ----------
    model : GaussianMixtureModel
    X : ndarray of shape (n_samples, n_features)
    rows : ndarray of shape (n_samples, n_features)
        ``X`` in which missing values are replaced.
    labels : ndarray of int of shape (n_samples,)
        Cluster of each sample before merges.
    weight : ndarray of shape (n_samples,)
    """
    hyper = model.initial_hyper(X, weight)
    family, block = model.family_of(hyper), model.take(rows, slice(None))
    found = []
    for k in np.unique(labels):
        own = labels == k
        shares = np.ones((np.count_nonzero(own), 1))
        found.append(family.statistics(block[own], shares, weight[own]))
    counts, statistics = map(np.concatenate, zip(*found, strict=True))
    partition, _ = agglomerated(model, Partition(hyper, counts, statistics))
    return _bound(model, model.take(X, slice(None)), weight, partition)


def _bound(model, block, weight, partition):
    """Return the lower bound after `STEPS` steps of coordinate ascent."""
    hyper, counts, statistics = partition
    model = model.resized(len(counts))
    order = model.weights.order(counts)
    sums = Mixture(model.weights.counted(counts[order]), statistics[order])
    for _ in range(STEPS):
        globals_ = model.target(sums, 1.0, Powers(), hyper)
        prepared = model.prepare(globals_, hyper)
        shares, _, _ = model.responsibilities(block, prepared)
        sums = model.statistics(block, shares, hyper, weight, prepared.tables)
        hyper = model.update_hyper(hyper, globals_, sums, 1.0, 1.0, Powers())
    globals_ = model.target(sums, 1.0, Powers(), hyper)
    _, bounds, _ = model.responsibilities(block, model.prepare(globals_, hyper))
    return float(weight @ bounds + model.global_bound(globals_, hyper))

"""The choice of a covariance type by evidence."""

import numpy as np

from .._families._ascent import MixtureAscent
from .._families._mixture import Mixture
from ..model import IllDefined, Powers
from . import _starts
from ._gaps import has_gaps
from ._low_rank import Directions, OneGaussian, Subspace
from ._model import ROWS_PER_COLUMN
from ._priors import MARGIN, agglomerated
from ._starts import ENOUGH_ROWS

#: Types in the order in which they are compared; if types are equal, the first is
#: chosen.  "tied" is left out, because "full" has equal covariances, too, if its prior
#: has learned many degrees of freedom.
ORDER = ("full", "diag", "spherical")
#: "full" is compared for at most this number of columns.
MOST_COLUMNS = 150
#: Least and largest number of scores for "low_rank", and number of rows for each: fewer
#: scores hide clusters that differ in shape, and more take rows, and are noise.  Fewer
#: rows than for two scores are not compared, because their directions are mostly noise.
SCORES, ROWS_PER_SCORE = (4, 16), 20
#: "spherical" is not compared if "diag", of which it is a case, has more than this
#: number of nats per row less than "full".  In 240 comparisons on data of the zoo, it
#: was best only below 0.07.
MOST_BEHIND = 0.3
#: Largest number of columns of which correlations are computed.
COLUMNS_CHECKED = 200
#: Steps of coordinate ascent after the agglomeration.
STEPS = 4


def chosen_type(make_model, n_components, X, sample_weight, log, has_subspaces=True):
    """Return the covariance type of the highest evidence.

    For each type, the clusters of k-means are merged by evidence, and a few steps of
    coordinate ascent follow.  The evidence is the resulting lower bound, minus one nat
    for each learned entry of the covariance prior, and minus a margin for types other
    than "full".  Partitions without overlaps may have higher evidence with too few
    clusters; so "full" is compared once more with at least as many clusters as a better
    type.

    Parameters
    ----------
    make_model : callable
        ``make_model(covariance_type, n_features, subspace)`` returns the model of a
        type, with a `Subspace` if it is "low_rank".
    n_components : int
    X : ndarray of shape (n_samples, n_features)
    sample_weight : ndarray of shape (n_samples,) or None
    log : callable
        Called with the format and the values of a line of a log.
    has_subspaces : bool
        Whether "low_rank" is compared where "full" is not.

    Returns
    -------
    covariance_type : {"full", "low_rank", "diag", "spherical"}
        If no type can be fitted, "full" is returned, and the fit then raises an error.
    n_scores : int
        Number of scores of "low_rank"; 0 for other types.
    """
    rows, n_scores = _Comparison(make_model, n_components, X, sample_weight, log), 0
    has_subspaces &= rows.n_distinct >= 2 * ROWS_PER_SCORE and not has_gaps(X)
    per_component = rows.n_per_component if has_subspaces else np.inf
    kinds = candidates(rows.n_distinct, X.shape[1], per_component)
    found = {kind: rows.compared(kind, rows.standard) for kind in kinds[:-1]}
    least = found["diag"][0] + MOST_BEHIND * rows.weight.sum()
    if max(found.values())[0] <= least:
        # "spherical" needs columns of one unit
        found["spherical"] = rows.compared("spherical", rows.clusters(rows.distinct))
    if "full" not in kinds and has_subspaces:
        *compared, n_scores = rows.subspace()
        found["low_rank"] = tuple(compared)
    best = max(found, key=found.get)
    least = found[best][1]
    if found.get("full", found[best])[1] < least:
        found["full"] = max(found["full"], rows.compared("full", rows.standard, least))
    if not np.isfinite(found[best][0]):
        return "full", 0
    best = max(found, key=found.get)
    if n_scores and best == "spherical" and rows.are_correlated():
        best = "low_rank"  # as in embeddings of few rows
    return best, n_scores if best == "low_rank" else 0


def chosen_scores(make_model, n_components, X, sample_weight, log):
    """Return the number of scores of "low_rank" with the highest evidence."""
    rows = _Comparison(make_model, n_components, X, sample_weight, log)
    *_, n_scores = rows.subspace()
    if n_scores == 0:
        raise ValueError(
            'covariance_type="low_rank" needs two columns, of which one varies: use '
            '"full" or "diag".'
        )
    return n_scores


class _Comparison:
    """Rows on which covariance types are compared; see `chosen_type`."""

    def __init__(self, make_model, n_components, X, sample_weight, log):
        self.make_model, self.log = make_model, log
        most = max(ENOUGH_ROWS, n_components)
        rows, weight, step = _starts.sample_rows(X, sample_weight, most)
        self.X = np.asarray(rows, dtype=np.float64)
        #: Rows in which missing values are replaced.
        self.rows = _starts.impute(self.X, weight, True) if has_gaps(self.X) else self.X
        distinct, multiplicity, places = _starts.distinct_rows(self.rows, weight)
        self._given = n_components, np.random.RandomState(0), multiplicity
        self.distinct, self._places = distinct, places
        #: Number of different rows, which weights do not change.
        self.n_distinct = len(distinct)
        self.n_per_component = step * len(distinct) / n_components
        self._sample = self.X, weight
        self.weight = np.ones(len(self.X)) if weight is None else weight
        #: Clusters of k-means in columns of unit variance.
        self.standard = self.clusters(_starts.standardized(distinct, multiplicity))

    def clusters(self, distinct):
        """Return the rows of each cluster of k-means that has rows."""
        labels = _starts.kmeans_labels(distinct, *self._given)[self._places]
        order, sizes = np.argsort(labels, kind="stable"), np.bincount(labels)
        return np.split(order, np.cumsum(sizes[sizes > 0])[:-1])

    def compared(self, kind, clusters, least=1):
        """Return the evidence of a type, less its price, and the number of clusters."""
        model = self.make_model(kind, self.X.shape[1])
        evidence, n_clusters, is_diagonal = self._tried(model, clusters, least)
        price = self.X.shape[1] if is_diagonal else model.covariance.n_kept
        if kind == "full":
            price -= MARGIN * self.weight.sum()
        self.log("%s: evidence %.10g, %d clusters", kind, evidence, n_clusters)
        return evidence - price, n_clusters

    def are_correlated(self):
        """Return whether columns are clearly correlated within clusters of k-means."""
        if self.n_per_component < ROWS_PER_SCORE:
            return False
        labels = np.empty(len(self.X), dtype=np.intp)
        for k, own in enumerate(self.standard):
            labels[own] = k
        gain = gain_of_correlations(self.X, labels, self.weight)
        return gain > MARGIN * self.weight.sum()

    def subspace(self):
        """Return the evidence, the number of clusters and of scores of "low_rank".

        The evidence is that of one Gaussian of all columns, plus the gain of a mixture
        of the scores over one Gaussian with the maximum likelihood.  Both learn as many
        entries of a covariance, and the choice of the directions raises both alike.
        """
        total, n_features = self.weight.sum(), self.X.shape[1]
        directions = Directions.of(self.X, self.weight)
        one = OneGaussian.of(directions, total)
        alone = one.evidence(n_features) - total * np.log(directions.scales).sum()
        alone -= n_features
        most = min(directions.most_scores, self.n_distinct // ROWS_PER_COLUMN)
        n_scores = min(most, int(np.clip(self.n_distinct // ROWS_PER_SCORE, *SCORES)))
        if n_scores == 0:
            return -np.inf, 0, 0
        subspace = Subspace(directions, one, n_scores)
        model = self.make_model("low_rank", n_features, subspace)
        evidence, n_clusters, _ = self._tried(model, self.standard)
        if n_clusters != 1:
            alone += evidence - subspace.log_constant
            alone -= directions.log_likelihood(n_scores, total)
        line = "low_rank with %d scores: evidence %.10g, %d clusters"
        self.log(line, n_scores, alone, n_clusters)
        return alone, n_clusters, n_scores

    def _tried(self, model, clusters, least=1):
        """Return `_evidence`, or -inf of 0 clusters if the mixture is ill-defined.

        Whether a covariance that is computed from the data is diagonal follows.
        """
        try:
            hyper = model.initial_hyper(*self._sample)
            return *self._evidence(model, hyper, clusters, least), hyper.is_diagonal
        except IllDefined:
            return -np.inf, 0, True

    def _evidence(self, model, hyper, clusters, least=1):
        """Return the lower bound of a mixture, and its number of clusters.

        The bound is that after `STEPS` steps of coordinate ascent.  The mixture starts
        from ``clusters``, the rows of each, after merges to at least ``least``.
        """
        family, block = model.family_of(hyper), model.take(self.rows, slice(None))
        found = [
            family.statistics(block[own], np.ones((len(own), 1)), self.weight[own])[1]
            for own in clusters
        ]
        hyper, found, _ = agglomerated(model, hyper, np.concatenate(found), least)
        model, block = model.resized(len(found)), model.take(self.X, slice(None))
        found = found[model.weights.order(found[:, 0])]
        sums = Mixture(model.weights.counted(found[:, 0]), found)
        given = block, hyper, self.weight
        ascent = model.ascent(*given) or MixtureAscent(model, block, self.weight)
        ascent.start(model.target(sums, 1.0, Powers(), hyper), hyper)
        return float(ascent.take(STEPS)[1]), len(found)


def candidates(n_samples, n_features, per_component=np.inf):
    """Return the types that are compared, other than "low_rank".

    Full covariances need rows for each column, and in each component for each of more
    columns than twice the scores of "low_rank".
    """
    own = max(per_component / ROWS_PER_COLUMN, 2 * SCORES[-1])
    most = min(MOST_COLUMNS, n_samples / ROWS_PER_COLUMN, own)
    return ORDER if n_features <= most else ORDER[1:]


def gain_of_correlations(X, labels, weight):
    """Return the gain of a common correlation matrix of all components, in nats.

    The matrix is estimated from half of the rows, and the gain is that of the log
    density of the other half, scaled to all rows.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    labels : ndarray of int of shape (n_samples,)
    weight : ndarray of shape (n_samples,)
    """
    X = X[:, :: -(-X.shape[1] // COLUMNS_CHECKED)].astype(np.float64)
    for k in np.unique(labels):
        own = X[labels == k]
        width, largest = own.std(axis=0), np.abs(own).max(axis=0)
        varies = width > _starts.NO_WIDTH * largest
        own = np.where(varies, own - own.mean(axis=0), 0.0)
        X[labels == k] = own / np.where(varies, width, 1.0)
    X = X[:, X[::2].any(axis=0)]  # columns that vary within components
    if not X.size:
        return 0.0
    from sklearn.covariance import ledoit_wolf  # most fits do not need it

    matrix, _ = ledoit_wolf(X[::2], assume_centered=True)
    rest = X[1::2]
    excess = (rest * (rest - rest @ np.linalg.pinv(matrix))).sum()
    gain = 0.5 * (excess / len(rest) - np.linalg.slogdet(matrix)[1])
    return gain * weight.sum()

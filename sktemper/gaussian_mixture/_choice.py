"""The choice of a covariance type by evidence."""

from typing import Any, NamedTuple

import numpy as np

from .._families import ILL_DEFINED, Mixture
from ..model import IllDefined, Powers
from . import _kernels
from ._ascent import DONE_BY_KERNEL, kinds_of, with_learned
from ._gaps import has_gaps
from ._low_rank import Directions, OneGaussian, Subspace
from ._priors import evidence_of_priors, learned_priors, restarted, searched
from ._starts import (
    distinct_rows,
    impute,
    kmeans_labels,
    mean_and_covariance,
    shows_correlations,
    standardized,
)

# -- agglomeration by evidence: clusters are merged, two at a time ---------------------
# The evidence of a partition of rows is the sum of the log evidence of its clusters,
# plus the log evidence of the sizes of the clusters.  It depends only on the statistics
# of the clusters.  If clusters are merged, their statistics are added, so that no row
# is visited again.

#: Number of nearest clusters with which a cluster may be merged.
NEIGHBOURS = 4
#: The priors are learned again when this share of the clusters is left, and before each
#: of the last merges.
SHARE_LEFT, LAST_MERGES = 0.7, 3
#: Merges end when the evidence has fallen by this number of nats per row.
MOST_FALL = 1.0


class Partition(NamedTuple):
    """Clusters of rows, and the priors that are learned from them.

    Attributes
    ----------
    hyper : Hyper
    counts : ndarray of shape (n_clusters,)
    statistics : ndarray of shape (n_clusters, n_natural)
    """

    hyper: Any
    counts: Any
    statistics: Any


def agglomerated(model, partition, least=1):
    """Return the partition with the highest evidence among those of greedy merges.

    Parameters
    ----------
    model : GaussianMixtureModel
        Model without a tied covariance, whose number of components is at least the
        number of clusters of the partition.
    partition : Partition
    least : int, default=1
        Number of clusters at which merges end.

    Returns
    -------
    best : Partition
    evidence : float
        Log evidence of ``best``, without a constant of the model.
    """
    best, most, left = partition, -np.inf, np.inf
    while True:
        n_clusters = len(partition.counts)
        if n_clusters <= max(SHARE_LEFT * left, LAST_MERGES):
            partition, left = _with_learned_priors(model, partition), n_clusters
            merges = _Merges(model, partition)
        evidence = merges.evidence(partition)
        if evidence > most:
            best, most = partition, evidence
        fall = most - evidence
        if n_clusters <= least or fall > MOST_FALL * partition.counts.sum():
            return best, most
        partition = merges.merged(partition)


def merged(model, partition, least=1):
    """Return the results of `agglomerated`, by a kernel where it has all options."""
    is_diagonal = partition.hyper.is_diagonal
    has_kernel = not is_diagonal and DONE_BY_KERNEL.isdisjoint(vars(model))
    merge = agglomerated_in_one_call if has_kernel else agglomerated
    return merge(model, partition, least)


def agglomerated_in_one_call(model, partition, least=1):
    """Return the results of `agglomerated`, by a kernel."""
    hyper, _, statistics = partition
    statistics, kinds = np.ascontiguousarray(statistics).copy(), kinds_of(model)
    numbers = np.array([hyper.mean_precision, hyper.degrees_of_freedom])
    covariance = np.array(hyper.covariance, dtype=np.float64).ravel()
    n_best, evidence = _kernels.agglomerate(
        statistics,
        kinds,
        hyper.weight_concentration,
        model.n_features,
        model.n_components,
        least,
        hyper.mean - hyper.origin,
        numbers,
        covariance,
        _kernels.ascent_scratch(len(statistics), model.n_features, *kinds[:2]),
    )
    if n_best == 0:
        raise IllDefined(ILL_DEFINED)
    hyper = with_learned(hyper, *numbers, covariance)
    statistics = statistics[:n_best]
    return Partition(hyper, statistics[:, 0], statistics), evidence


def _with_learned_priors(model, partition):
    """Return the partition with the learned priors of its clusters."""
    hyper, counts, statistics = partition
    family, learned = model.family_of(hyper), model.learned
    usual = family.usual(model.component_prior(hyper) + statistics)
    if len(counts) == 1:  # a single cluster does not show how clusters differ
        kind = family.covariance
        covariances = kind.each(usual.inverse_scale / kind.widened(usual.freedom))
        new = restarted(hyper, covariances[0], family.law, learned)
        return partition._replace(hyper=new)
    used = np.ones(len(counts), dtype=bool)
    new = learned_priors(family, hyper, usual, used, learned)
    if learned & {"covariance", "degrees_of_freedom"}:
        evidence = evidence_of_priors(family, hyper, usual, used, new.mean_precision)
        least, size = family.law.least, counts.mean()
        new = searched(learned, hyper, new, least, size, evidence)
    return partition._replace(hyper=new)


class _Merges:
    """The evidence of clusters, and of merges of two clusters, under fixed priors.

    Parameters
    ----------
    model : GaussianMixtureModel
    partition : Partition

    Attributes
    ----------
    logs : ndarray of shape (n_clusters,)
        Log normalisers of the clusters' posteriors.
    constant : float
        Log normaliser of the prior.
    gains : ndarray of shape (n_clusters, n_clusters)
        Increase of the evidence by the merge of a pair, in the upper triangle; -inf for
        pairs that are not near to one another.
    """

    def __init__(self, model, partition):
        hyper, counts, statistics = partition
        self.family, self.prior = model.family_of(hyper), model.component_prior(hyper)
        self.weights, self.n_components = model.weights, model.n_components
        self.constant = self.family.log_normaliser(self.prior[None])[0]
        posterior = self.prior + statistics
        self.logs = self.family.log_normaliser(posterior)
        likelihoods = self.family.expected_log(posterior, statistics)
        self.gains = np.full(likelihoods.shape, -np.inf)
        np.fill_diagonal(likelihoods, -np.inf)
        n_near = min(NEIGHBOURS, len(counts) - 1)
        near = np.argsort(-likelihoods, axis=1, kind="stable")[:, :n_near]
        pairs = np.stack([np.repeat(np.arange(len(counts)), n_near), near.ravel()], 1)
        pairs = np.unique(np.sort(pairs, axis=1), axis=0)
        if len(pairs):
            self._update(statistics, *pairs.T)

    def evidence(self, partition):
        sizes = np.zeros(self.n_components)
        sizes[: len(partition.counts)] = partition.counts
        concentration = partition.hyper.weight_concentration
        evidence = self.weights.evidence(sizes, concentration)
        return float(evidence + (self.logs - self.constant).sum())

    def _update(self, statistics, first, second):
        merged = self.prior + statistics[first] + statistics[second]
        gains = self.family.log_normaliser(merged) + self.constant
        first, second = np.minimum(first, second), np.maximum(first, second)
        self.gains[first, second] = gains - self.logs[first] - self.logs[second]

    def merged(self, partition):
        hyper, counts, statistics = partition
        first, second = np.unravel_index(self.gains.argmax(), self.gains.shape)
        gains = np.maximum(self.gains, self.gains.T)
        near = np.isfinite(gains[first]) | np.isfinite(gains[second])
        near[[first, second]] = False
        counts, statistics = counts.copy(), statistics.copy()
        counts[first] += counts[second]
        statistics[first] += statistics[second]
        alone = self.prior + statistics[first]
        self.logs[first] = self.family.log_normaliser(alone[None])[0]
        counts, statistics = np.delete(counts, second), np.delete(statistics, second, 0)
        self.logs, near = np.delete(self.logs, second), np.delete(near, second)
        self.gains = np.delete(np.delete(self.gains, second, 0), second, 1)
        near = np.flatnonzero(near)
        if len(near):
            self._update(statistics, np.full(len(near), first), near)
        return Partition(hyper, counts, statistics)


# -- the choice of a covariance type by evidence ---------------------------------------
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
#: Numbers of scores that are compared for "low_rank".  The least one is chosen whose
#: evidence is at most `MARGIN` below the highest.
SCORES = (4, 8, 16, 32, 64)
#: Least and largest number of rows of the comparison; and, between these limits, the
#: number of rows times the squared number of columns.
LEAST_ROWS, MOST_ROWS, ELEMENTS = 5_000, 20_000, 2e7
#: Steps of coordinate ascent after the agglomeration.
STEPS = 4


def chosen_type(make_model, n_components, X, sample_weight, report, has_subspaces=True):
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
    report : callable
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
    rows, n_scores = _Comparison(make_model, n_components, X, sample_weight, report), 0
    kinds = candidates(*rows.X.shape)
    found = {kind: rows.compared(kind, rows.standard) for kind in kinds[:-1]}
    # "spherical" needs columns of one unit
    found[kinds[-1]] = rows.compared(kinds[-1], rows.clusters())
    if "full" not in kinds and has_subspaces and not has_gaps(X):
        *compared, n_scores = rows.best_subspace()
        found["low_rank"] = tuple(compared)
    best = max(found, key=found.get)
    least = found[best][1]
    if found.get("full", found[best])[1] < least:
        found["full"] = max(found["full"], rows.compared("full", rows.standard, least))
    if not np.isfinite(found[best][0]):
        return "full", 0
    best = max(found, key=found.get)
    return best, n_scores if best == "low_rank" else 0


def chosen_scores(make_model, n_components, X, sample_weight, report):
    """Return the number of scores of "low_rank" with the highest evidence."""
    rows = _Comparison(make_model, n_components, X, sample_weight, report)
    return rows.best_subspace()[-1]


class _Comparison:
    """Rows on which covariance types are compared; see `chosen_type`."""

    def __init__(self, make_model, n_components, X, sample_weight, report):
        self.make_model, self.report = make_model, report
        self.X, weight = _some(X, sample_weight, n_components)
        is_gapped, self.prior_of_full = has_gaps(self.X), "full"
        if is_gapped and not shows_correlations(self.X, weight):
            self.prior_of_full = "diag"  # see `Hyper`
        self.rows = impute(self.X, weight, is_full=True) if is_gapped else self.X
        distinct, multiplicity, places = distinct_rows(self.rows, weight)
        self._given = n_components, np.random.RandomState(0), multiplicity
        self._distinct, self._places = distinct, places
        full = make_model("full", X.shape[1])
        self._hyper_of = _priors_of(full, self.X, weight)
        self.weight = np.ones(len(self.X)) if weight is None else weight
        #: Clusters of k-means in columns of unit variance.
        self.standard = self._clusters(standardized(distinct, multiplicity))

    def clusters(self):
        """Return the clusters of k-means in the units of the columns."""
        return self._clusters(self._distinct)

    def _clusters(self, rows):
        return _clusters(kmeans_labels(rows, *self._given)[self._places])

    def compared(self, kind, clusters, least=1):
        """Return the evidence of a type, less its price, and the number of clusters."""
        model = self.make_model(kind, self.X.shape[1])
        price = n_learned(kind, self.X.shape[1])
        if kind == "full":
            price = n_learned(self.prior_of_full, self.X.shape[1])
            price -= MARGIN * self.weight.sum()
        try:
            hyper = self._hyper_of(model)
            evidence, n_clusters = self._evidence(model, hyper, clusters, least)
        except IllDefined:
            return -np.inf, 0
        self.report("%s: evidence %.10g, %d clusters", kind, evidence, n_clusters)
        return evidence - price, n_clusters

    def best_subspace(self):
        """Return the evidence, the number of clusters and of scores of "low_rank".

        The evidence is that of one Gaussian of all columns, plus the gain of a mixture
        of the scores over one Gaussian with the maximum likelihood.  Both learn as many
        entries of a covariance, and the choice of the directions raises both alike.
        """
        total, n_features = self.weight.sum(), self.X.shape[1]
        directions = Directions.of(self.X, self.weight)
        one = OneGaussian.of(directions, total)
        alone = one.evidence(n_features) - total * np.log(directions.scales).sum()
        alone -= n_learned("diag", n_features)
        most = min(directions.most_scores, len(self.X) // ROWS_PER_COLUMN)
        found = []
        for n_scores in sorted({max(1, min(most, number)) for number in SCORES}):
            subspace = Subspace(directions, one, n_scores)
            model = self.make_model("low_rank", n_features, subspace)
            try:
                hyper = model.initial_hyper(self.X, self.weight)
                evidence, n_clusters = self._evidence(model, hyper, self.standard)
            except IllDefined:
                continue
            rest = subspace.log_constant
            gain = evidence - rest - directions.log_likelihood(n_scores, total)
            gain = gain if n_clusters > 1 else 0.0
            line = "low_rank with %d scores: evidence %.10g, %d clusters"
            self.report(line, n_scores, alone + gain, n_clusters)
            found.append((alone + gain, n_clusters, n_scores))
        least = max(found, default=(0.0,))[0] - MARGIN * total
        return next((item for item in found if item[0] >= least), (-np.inf, 0, 1))

    def _evidence(self, model, hyper, clusters, least=1):
        data = self.X, self.rows, self.weight
        return _evidence(model, hyper, data, clusters, least)


def _priors_of(model, X, weight):
    """Return a function that returns the initial priors of models of any type."""
    if has_gaps(X):
        return lambda model: model.initial_hyper(X, weight)
    mean, covariance = mean_and_covariance(X, weight)
    added = model.added_variances(X, weight, covariance)
    return lambda model: model.hyper_of(mean, covariance, *added)


def _clusters(labels):
    """Return the rows of each cluster that has rows."""
    order, sizes = np.argsort(labels, kind="stable"), np.bincount(labels)
    return np.split(order, np.cumsum(sizes[sizes > 0])[:-1])


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
    """Return the types that are compared, other than "low_rank"."""
    most = min(MOST_COLUMNS, n_samples / ROWS_PER_COLUMN)
    return ORDER if n_features <= most else ORDER[1:]


def n_learned(covariance_type, n_features):
    """Return the number of entries of the covariance prior that are learned."""
    return {
        "spherical": 1,
        "diag": n_features,
        "full": n_features * (n_features + 1) // 2,
    }[covariance_type]


def _evidence(model, hyper, data, clusters, least):
    """Return the lower bound of a mixture that starts from merged clusters.

    Parameters
    ----------
    model : GaussianMixtureModel
    hyper : Hyper
    data : tuple of ndarray
        Samples, samples in which missing values are replaced, and weights.
    clusters : list of ndarray
        Rows of each cluster before merges.
    least : int
        Number of clusters at which merges end.

    Returns
    -------
    bound : float
    n_clusters : int
    """
    X, rows, weight = data
    family, block = model.family_of(hyper), model.take(rows, slice(None))
    found = [
        family.statistics(block[own], np.ones((len(own), 1)), weight[own])
        for own in clusters
    ]
    counts, statistics = map(np.concatenate, zip(*found, strict=True))
    partition, _ = merged(model, Partition(hyper, counts, statistics), least)
    block = model.take(X, slice(None))
    return _bound(model, block, weight, partition), len(partition.counts)


def _bound_of_ascent(model, ascent, sums, hyper):
    """Return the lower bound after `STEPS` steps of an `Ascent`."""
    ascent.start(model.target(sums, 1.0, Powers(), hyper), hyper)
    flags = np.zeros(STEPS + 1, dtype=np.intc)
    flags[-1] = ascent.WATCHED | ascent.BOUND_ONLY
    limits = np.array([-np.inf, 0.0, 0.0, -np.inf, 0.0])
    powers = np.ones((STEPS + 1, 3))
    status, *_, bounds = ascent.run(powers, flags, STEPS + 1, limits, np.nan, 1.0)
    if status != ascent.DONE:
        raise ascent.ill_defined()
    return float(bounds[1, -1])


def _bound(model, block, weight, partition):
    """Return the lower bound after `STEPS` steps of coordinate ascent."""
    hyper, counts, statistics = partition
    model = model.resized(len(counts))
    order = model.weights.order(counts)
    sums = Mixture(model.weights.counted(counts[order]), statistics[order])
    ascent = model.ascent(block, hyper, weight)
    if ascent is not None:
        return _bound_of_ascent(model, ascent, sums, hyper)
    for _ in range(STEPS):
        globals_ = model.target(sums, 1.0, Powers(), hyper)
        prepared = model.prepare(globals_, hyper)
        shares, _, _ = model.responsibilities(block, prepared)
        sums = model.statistics(block, shares, hyper, weight, prepared.tables)
        hyper = model.update_hyper(hyper, globals_, sums, 1.0, 1.0, Powers())
    globals_ = model.target(sums, 1.0, Powers(), hyper)
    _, bounds, _ = model.responsibilities(block, model.prepare(globals_, hyper))
    return float(weight @ bounds + model.global_bound(globals_, hyper))

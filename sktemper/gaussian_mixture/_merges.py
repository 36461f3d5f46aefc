"""Agglomeration by evidence: clusters are merged, two at a time.

The evidence of a partition of rows is the sum of the log evidence of its clusters, plus
the log evidence of the sizes of the clusters.  It depends only on the statistics of the
clusters.  If clusters are merged, their statistics are added, so that no row is visited
again.
"""

from typing import Any, NamedTuple

import numpy as np

from .._families import DONE_BY_KERNEL, ILL_DEFINED
from ..model import IllDefined
from . import _kernels
from ._ascent import kinds_of, with_learned
from ._priors import evidence_of_priors, learned_priors, restarted, searched

#: Number of nearest clusters with which a cluster may be merged.
NEIGHBOURS = 4
#: The priors are learned again when this share of the clusters is left, and before each
#: of the last merges.
SHARE_LEFT, LAST_MERGES = 0.7, 3
#: Merges end when the evidence has fallen by this number of nats per row.
MOST_FALL = 1.0
#: Least advantage, in nats per row, of a mixture that is less simple than another.
#: Densities that differ by less are the same for most purposes.
MARGIN = 0.05


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

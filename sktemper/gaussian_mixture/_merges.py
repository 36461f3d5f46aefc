"""Agglomeration by evidence: clusters are merged, two at a time, see ``_merges.h``."""

from typing import Any, NamedTuple

import numpy as np

from .._families._normal_wishart import ILL_DEFINED
from ..model import IllDefined
from . import _kernels
from ._priors import kernel_priors, with_learned

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
    hyper, _, statistics = partition
    statistics = np.ascontiguousarray(statistics).copy()
    priors = kernel_priors(model, hyper)
    n_best, evidence = _kernels.agglomerate(
        statistics,
        priors,
        model.n_components,
        least,
    )
    if n_best == 0:
        raise IllDefined(ILL_DEFINED)
    statistics = statistics[:n_best]
    found = Partition(with_learned(hyper, priors), statistics[:, 0], statistics)
    return found, evidence

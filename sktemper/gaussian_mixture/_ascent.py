"""Steps of Gaussian mixtures by kernels: ascents, and merges by evidence."""

from typing import Any, NamedTuple

import numpy as np

from .._contract import Ascent, IllDefined, Stopped
from .._families._mixture import Mixture
from .._families._normal_wishart import ILL_DEFINED
from . import _kernels
from ._priors import kernel_priors, with_learned


# -- several steps of coordinate ascent in one call ------------------------------------
class GaussianAscent(Ascent):
    """See `Ascent`; the parameters are those of `GaussianMixtureModel.ascent`."""

    _scratch = None

    def start(self, globals_, hyper, local=None):
        """Start from parameters, which stay unchanged."""
        self._hyper, self._priors = hyper, kernel_priors(self.model, hyper)
        self._globals = Mixture(
            *(np.array(a, np.float64, order="C") for a in globals_.arrays())
        )
        self._added = self.model.family_of(hyper).added_variances

    def run(self, powers, flags, n_left, limits, before, scale):
        """Take steps; see `Ascent.run`."""
        if self._scratch is None:
            family, K = self.model.family, self.model.n_components
            sizes = K, self.model.n_features, *family.covariance.kinds
            given = *sizes, family.has_scales, self.n_sections
            self._scratch = _kernels.ascent_scratch(*given)
            self.row_bounds = np.empty(len(self.block))
        bounds, constant = np.zeros((2, len(powers))), self.model.log_constant
        limits = np.array([limits[0] - constant, *limits[1:]])
        steps = powers, flags, n_left, limits, before - constant, scale
        status, n_done, before = _kernels.ascent(
            self.block,
            self._hyper.origin,
            self._added,
            self.row_weight,
            self._priors,
            (*steps, self.model.stop, bounds),
            *(array.reshape(-1) for array in self._globals.arrays()),
            self.row_bounds,
            self._scratch,
            self.n_sections,
        )
        if status == self.STOPPED:
            raise Stopped
        bounds[1] += constant
        return status, n_done, before + constant, bounds

    def ill_defined(self):
        """See `Ascent.ill_defined`."""
        return IllDefined(ILL_DEFINED)

    def parameters(self):
        """Return new objects with the current parameters."""
        globals_ = Mixture(*(array.copy() for array in self._globals.arrays()))
        hyper, scales = with_learned(self._hyper, self._priors), self._priors[-1]
        if scales is not None:
            hyper = hyper._replace(freedom_of_scales=scales.copy())
        return globals_, hyper


# -- agglomeration by evidence: clusters are merged, two at a time, see ``_merges.h`` --
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
    priors, n_weights = kernel_priors(model, hyper), model.n_components
    n_best, evidence = _kernels.agglomerate(statistics, priors, n_weights, least)
    if n_best == 0:
        raise IllDefined(ILL_DEFINED)
    statistics = statistics[:n_best]
    found = Partition(with_learned(hyper, priors), statistics[:, 0], statistics)
    return found, evidence

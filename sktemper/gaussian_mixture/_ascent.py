"""Ascents of Gaussian mixtures: several steps of coordinate ascent in one call."""

import numpy as np

from .._families import DONE_BY_KERNEL, ILL_DEFINED, Mixture
from ..model import IllDefined, Stopped
from ..model._contract import Ascent
from . import _kernels
from ._gaps import GappedRows
from ._priors import LEARNED
from ._splits import KINDS, LAWS

#: Bits of the learned priors in the kernel, and of degrees of freedom of scales.
BITS = {"mean_precision": 1, "degrees_of_freedom": 2, "covariance": 4}
LEARNS_SCALES = 8


class GaussianAscent(Ascent):
    """See `Ascent`; the parameters are those of `GaussianMixtureModel.ascent`."""

    def __init__(self, model, block, row_weight):
        super().__init__(model, block, row_weight)
        self._kinds = kinds_of(model)
        self._scratch = None
        self.row_bounds = np.empty(len(block))

    def start(self, globals_, hyper, local=None):
        """Start from parameters, which stay unchanged."""
        self._hyper, has_scales = hyper, self.model.family.has_scales
        self._shapes = [np.shape(array) for array in globals_.arrays()]
        self._state = (
            *(np.array(array, dtype=np.float64).ravel() for array in globals_.arrays()),
            np.array([hyper.mean_precision, hyper.degrees_of_freedom]),
            np.array(hyper.covariance, dtype=np.float64).ravel(),
            self.model.freedom_of(hyper).copy() if has_scales else None,
        )
        self._prior_mean = hyper.mean - hyper.origin
        self._added = self.model.family_of(hyper).added_variances

    def run(self, powers, flags, n_left, limits, before, scale):
        """Take steps; see `Ascent.run`."""
        if self._scratch is None:
            model = self.model
            sizes = model.n_components, model.n_features, *self._kinds[:2]
            has_scales = model.family.has_scales
            self._scratch = _kernels.ascent_scratch(*sizes, has_scales, self.n_sections)
        bounds, constant = np.zeros((2, len(powers))), self.model.log_constant
        limits = np.array([limits[0] - constant, *limits[1:]])
        steps = powers, flags, n_left, limits, before - constant, scale
        status, n_done, before = _kernels.ascent(
            self.block,
            self._hyper.origin,
            self._added,
            self.row_weight,
            self._kinds,
            self._hyper.weight_concentration,
            self._prior_mean,
            (*steps, self.model.stop, bounds),
            self._state,
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
        weights, components, (precision, freedom), covariance, scales = self._state
        shapes = self._shapes
        globals_ = Mixture(
            weights.reshape(shapes[0]).copy(), components.reshape(shapes[1]).copy()
        )
        hyper = self._hyper
        if self._kinds[3]:
            hyper = with_learned(hyper, precision, freedom, covariance)
        if scales is not None:
            hyper = hyper._replace(freedom_of_scales=scales.copy())
        return globals_, hyper


def kinds_of(model):
    """Return numbers of the covariance type, of its law, and of options, for kernels.

    The last two are whether weights are stick-breaking, and bits of learned priors.
    """
    family = model.family
    kind = KINDS[type(family.covariance).__name__]
    law = LAWS.get(type(family.law), 0)
    sticks = len(model.shapes()[0]) == 2
    learned = sum(BITS[name] for name in LEARNED if name in model.learned)
    if family.has_scales and model.degrees_of_freedom is None:
        learned += LEARNS_SCALES
    return kind, law, int(sticks), learned


def with_learned(hyper, precision, freedom, covariance):
    """Return priors with learned parts; ``covariance`` is a vector of its elements."""
    shape = np.shape(hyper.covariance)
    covariance = covariance.reshape(shape).copy() if shape else covariance[0]
    return hyper._replace(
        mean_precision=float(precision),
        degrees_of_freedom=float(freedom),
        covariance=covariance,
    )


def ascent(model, block, hyper, row_weight):
    """Return a `GaussianAscent`, or None if the rows or the model need single steps.

    Rows with gaps do, and models of which a method is replaced.
    """
    if isinstance(block, GappedRows) or hyper.is_diagonal or hyper.is_noisy:
        return None
    if not DONE_BY_KERNEL.isdisjoint(vars(model)):
        return None
    return GaussianAscent(model, block, row_weight)

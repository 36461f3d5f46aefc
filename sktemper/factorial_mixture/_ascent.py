"""Ascents of factorial mixtures: several steps of coordinate ascent in one call."""

import numpy as np

from .._contract import Ascent, Stopped
from . import _kernels
from ._inference import LEAST_INCLUSION, LEAST_NOISE, Components


class FactorialAscent(Ascent):
    """See `Ascent`; the parameters are those of `FactorialMixtureModel.ascent`.

    No values of the block are missing.
    """

    def __init__(self, model, block, row_weight):
        super().__init__(model, block, row_weight)
        self._values = np.require(block.values, model.dtype, "CA")
        self.row_bounds = np.empty(len(self._values))

    def start(self, globals_, hyper, local=None):
        """Start from parameters, which stay unchanged."""
        parts = *globals_.arrays(), hyper.inclusion_probability, [hyper.noise_variance]
        self._state = tuple(np.array(part, np.float64, order="C") for part in parts)
        self._hyper, self.local = hyper, None
        shape = len(self._values), self.model.n_components
        if self.keeps_local and np.shape(local) == shape:
            self.local = np.array(local, dtype=self.model.dtype, order="C")

    def run(self, powers, flags, n_left, limits, before, scale):
        """Take steps; see `Ascent.run`."""
        model, variance = self.model, self._hyper.component_variance
        learned = model.learn_noise_variance + 2 * model.learn_inclusion_probability
        has_local, nu = self.local is not None, self.local
        if not has_local:
            nu = np.empty((len(self._values), model.n_components), dtype=model.dtype)
        least = LEAST_NOISE * variance, LEAST_INCLUSION
        bounds = np.empty((3, len(powers)))
        status, n_done, before, has_local = _kernels.ascent(
            self._values,
            self.block.squares,
            self.row_weight,
            (model.structured, learned, self.keeps_local, has_local, model.max_iter),
            (variance, *least, model.local_cooling or 1.0, model.tol),
            (powers, flags, n_left, limits, before, scale, model.stop, bounds),
            self._state,
            nu,
            bounds[2],
            self.row_bounds,
        )
        self.local = nu if has_local else None
        if status == self.STOPPED:
            raise Stopped
        return status, n_done, before, bounds

    def parameters(self):
        """Return new objects with the current parameters."""
        precision, weighted_means, inclusion, noise = (
            part.copy() for part in self._state
        )
        hyper = self._hyper._replace(
            noise_variance=float(noise[0]), inclusion_probability=inclusion
        )
        return Components(precision, weighted_means), hyper

"""Ascents of mixtures: steps of coordinate ascent by the methods of the model."""

import math

import numpy as np

from ..model._contract import (
    Ascent,
    IllDefined,
    Powers,
    Request,
    Stopped,
    all_finite,
)


class MixtureAscent(Ascent):
    """Steps on one block, without what the loop does around single steps.

    The results have the same bits as those of single steps.

    Parameters
    ----------
    model : MixtureModel
    block : object
        At most `block_size` rows.
    row_weight : ndarray of shape (n_rows,) or None
    """

    def __init__(self, model, block, row_weight):
        self.model, self.block, self.row_weight = model, block, row_weight
        observed = model.n_observed(block)
        if row_weight is not None:
            observed = row_weight * observed
        self.n_observed = float(observed.sum())
        self.row_bounds, self._error = None, IllDefined()

    def start(self, globals_, hyper):
        self._state, self._prepared = (globals_, hyper), None

    def parameters(self):
        return self._state

    def ill_defined(self):
        return self._error

    def run(self, powers, flags, n_left, limits, before, scale):
        bounds, n_done = np.full((2, len(powers)), math.nan), 0
        for number, (power, flag) in enumerate(
            zip(powers.tolist(), flags.tolist(), strict=True)
        ):
            if self.model.stop[0]:
                raise Stopped
            try:
                step = self._local_step(Powers(*power))
                now = math.nan
                if flag & self.WATCHED:
                    now = scale * step.bound + self.model.global_bound(*self._state)
                bounds[:, number] = step.bound, now
                if flag & self.BOUND_ONLY:
                    return self.DONE, n_done, before, bounds
                is_judged = not (flag & self.KEEPS_ON or math.isnan(now - before))
                if is_judged and is_given_up(limits, before, now, n_left - number):
                    return self.GIVEN_UP, n_done, before, bounds
                self._step(step.statistics, scale, Powers(*power))
            except (IllDefined, np.linalg.LinAlgError) as error:
                self._error = error if isinstance(error, IllDefined) else IllDefined()
                return self.ILL_DEFINED, n_done, before, bounds
            n_done, change, before = n_done + 1, now - before, now
            if abs(change) < limits[4]:
                return self.CONVERGED, n_done, before, bounds
        return self.DONE, n_done, before, bounds

    def _local_step(self, powers):
        if self._prepared is None:
            self._prepared = self._checked(*self._state)
        if self.row_weight is not None:
            powers = powers._replace(statistics=powers.statistics * self.row_weight)
        with np.errstate(over="ignore", invalid="ignore"):
            step = self.model.local_step(self.block, self._prepared, Request(powers))
        self.row_bounds = step.row_bounds
        if self.row_weight is not None:
            step = step.weighted(self.row_weight)
        if not math.isfinite(step.bound):
            raise IllDefined()
        return step

    def _step(self, *given):
        """Take a step, completely or not at all."""
        statistics, scale, powers = given
        globals_, hyper = self._state
        with np.errstate(over="ignore", invalid="ignore"):
            hyper = self.model.update_hyper(
                hyper, globals_, statistics, scale, 1.0, powers
            )
            globals_ = self.model.step(globals_, statistics, scale, powers, 1.0, hyper)
            prepared = self._checked(globals_, hyper)
        self._state, self._prepared = (globals_, hyper), prepared

    def _checked(self, globals_, hyper):
        """Return prepared parameters; raise `IllDefined` if they are not finite."""
        with np.errstate(divide="ignore"):
            try:
                prepared = self.model.prepare(globals_, hyper)
            except IllDefined:
                raise
            except (ValueError, np.linalg.LinAlgError) as error:
                if all_finite(globals_, hyper):
                    raise
                raise IllDefined() from error
            if not self.model.is_finite(globals_, hyper, prepared):
                raise IllDefined()
        return prepared


def is_given_up(limits, before, now, n_left):
    """Return whether an ascent is given up, see `Ascent.run`."""
    best, same, at_rest, least, _ = limits
    gain, deficit = now - before, best - now
    if gain < least or n_left <= 1:
        return gain < least
    has_returned = abs(deficit) < same and abs(gain) < at_rest
    return has_returned or deficit > n_left * max(gain, 0.0)

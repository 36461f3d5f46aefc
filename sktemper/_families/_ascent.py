"""Ascents of mixtures: several steps by methods of the model, or by a kernel."""

import math

import numpy as np
from scipy import sparse

from .._contract import Ascent, IllDefined, Powers, Request, Stopped, prepared_of
from ._family import entries_of
from ._kernels import ProductSections, product_ascent

#: Results of local steps.
WANTED = Request().want


class MixtureAscent(Ascent):
    """Steps on one block, without what the loop does around single steps.

    The results have the same bits as those of single steps.  A block has at most
    `block_size` rows.
    """

    _error = None

    def start(self, globals_, hyper, local=None):
        self._state, self._prepared, self.local = (globals_, hyper), None, None
        if self.keeps_local and local is not None:
            n_rows = np.shape(self.model.n_observed(self.block))
            self.local = local if np.shape(local)[:1] == n_rows else None

    def parameters(self):
        return self._state

    def ill_defined(self):
        return self._error or IllDefined()

    def run(self, powers, flags, n_left, limits, before, scale):
        bounds, n_done = np.full((3, len(powers)), math.nan), 0
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
                iterations = step.n_iterations / len(self.row_bounds)
                bounds[:, number] = step.bound, now, iterations
                if flag & self.BOUND_ONLY:
                    return self.DONE, n_done, before, bounds
                is_judged = not (flag & self.KEEPS_ON or math.isnan(now - before))
                if is_judged and is_given_up(limits, before, now, n_left - number):
                    return self.GIVEN_UP, n_done, before, bounds
                self._step(step.statistics, scale, Powers(*power))
                self.local = step.local_parameters
            except (IllDefined, np.linalg.LinAlgError) as error:
                self._error = error if isinstance(error, IllDefined) else IllDefined()
                return self.ILL_DEFINED, n_done, before, bounds
            n_done, change, before = n_done + 1, now - before, now
            if abs(change) < limits[-1]:
                return self.CONVERGED, n_done, before, bounds
        return self.DONE, n_done, before, bounds

    def _local_step(self, powers):
        if self._prepared is None:
            self._prepared = prepared_of(self.model, *self._state)
        if self.row_weight is not None:
            powers = powers._replace(statistics=powers.statistics * self.row_weight)
        want = ("local",) if self.keeps_local else ()
        request = Request(powers, local_init=self.local, want=(*WANTED, *want))
        with np.errstate(over="ignore", invalid="ignore"):
            step = self.model.local_step(self.block, self._prepared, request)
        self.row_bounds = step.row_bounds
        if self.row_weight is not None:
            step = step.weighted(self.row_weight)
        if not math.isfinite(step.bound):
            raise IllDefined()
        return step

    def _step(self, statistics, scale, powers):
        """Take a step, completely or not at all."""
        model, (globals_, hyper) = self.model, self._state
        with np.errstate(over="ignore", invalid="ignore"):
            hyper = model.update_hyper(hyper, globals_, statistics, scale, 1.0, powers)
            globals_ = model.step(globals_, statistics, scale, powers, 1.0, hyper)
        self._prepared = prepared_of(model, globals_, hyper)
        self._state = globals_, hyper


#: Methods of a model whose work kernels do.  If one is replaced, no kernel is used.
DONE_BY_KERNEL = {
    "prepare",
    "local_step",
    "responsibilities",
    "statistics",
    "update_hyper",
    "step",
    "global_bound",
    "is_finite",
}
#: Largest number of moments of the rows of an ascent by a kernel.
MOST_VALUES = 2**21


class KernelAscent(Ascent):
    """Steps by a kernel, in one call.

    A subclass defines ``_take_steps(steps)``, which calls the kernel with the arguments
    of `set_steps`, and returns the status, ``n_done`` and ``before``, see `Ascent.run`.
    """

    #: Number of rows of the bounds that `run` returns.
    n_bounds = 2

    def start(self, globals_, hyper, local=None):
        """Start from parameters, which stay unchanged."""
        copies = [np.array(a, np.float64, order="C") for a in globals_.arrays()]
        self._globals, self._hyper = type(globals_)(*copies), hyper

    def parameters(self):
        """Return new objects with the current parameters."""
        copies = [array.copy() for array in self._globals.arrays()]
        return type(self._globals)(*copies), self._hyper

    def run(self, powers, flags, n_left, limits, before, scale):
        bounds = np.zeros((self.n_bounds, len(powers)))
        status, n_done, before = self._take_steps(
            (powers, flags, n_left, limits, before, scale, self.model.stop, bounds)
        )
        if status == self.STOPPED:
            raise Stopped
        return status, n_done, before, bounds


class ProductAscent(KernelAscent):
    """Steps by a kernel, for families that have `Family.parts_of_kernel`."""

    def __init__(self, model, block, row_weight):
        super().__init__(model, block, row_weight)
        self._parts = model.family.parts_of_kernel()
        self._moments, self._log_base = self._of(block)
        self._sticks = len(model.shapes()[0]) == 2

    def _of(self, block):
        """Return the moments of a block, and their base measure, or None."""
        moments, log_base = self.model.family.moments(block), None
        if sparse.issparse(moments):
            moments = entries_of(moments)
        if np.ndim(base := self.model.family.log_base(block)):
            log_base = np.ascontiguousarray(base, dtype=np.float64)
        return moments, log_base

    def _sections(self):
        """Return the sections of rows that are taken in blocks, or None."""

    def _take_steps(self, steps):
        hyper, globals_ = self._hyper, self._globals
        return product_ascent(
            self._parts,
            self._moments,
            self._log_base,
            self.row_weight,
            self.model.component_prior(hyper),
            (self._sticks, hyper.weight_concentration),
            steps,
            (globals_.weights.reshape(-1), globals_.components),
            self.row_bounds,
            self._sections(),
        )


class BlocksAscent(ProductAscent):
    """Steps by a kernel on rows that are taken in blocks.

    Moments are computed in each step, so that large data need no memory.

    Parameters
    ----------
    model : MixtureModel
    blocks : Blocks
    row_weight : ndarray of shape (n_rows,) or None
    """

    def __init__(self, model, blocks, row_weight):
        self.blocks = blocks
        super().__init__(model, blocks[0], row_weight)

    def _observed(self):
        return np.concatenate([self.model.n_observed(own) for own in self.blocks])

    def _sections(self):
        return ProductSections(self.n_sections, self._blocks_of)

    def _blocks_of(self, number):
        """Yield the blocks of a section, see `ProductSections`."""
        n_blocks = len(self.blocks)
        first, end = (n_blocks * i // self.n_sections for i in (number, number + 1))
        for i in range(first, end):
            yield self.blocks.places[i].start, *self._of(self.blocks[i])


def ascent_of(model, block, row_weight, kernel, n_rows, n_values):
    """Return an ascent on a block, or on blocks, or None if it would have no room.

    ``kernel`` is a class of ascents, or None.  It is used if the model has kernels and
    no method of the model is replaced.
    """
    if kernel and model.steps_by_kernel and DONE_BY_KERNEL.isdisjoint(vars(model)):
        return kernel(model, block, row_weight) if n_values <= MOST_VALUES else None
    has_room = n_rows <= model.block_size
    return MixtureAscent(model, block, row_weight) if has_room else None


def is_given_up(limits, before, now, n_left):
    """Return whether an ascent is given up, see `Ascent.run`."""
    best, same, at_rest, least, _ = limits
    gain, deficit = now - before, best - now
    if gain < least or n_left <= 1:
        return gain < least
    has_returned = abs(deficit) < same and abs(gain) < at_rest
    return has_returned or deficit > n_left * max(gain, 0.0)

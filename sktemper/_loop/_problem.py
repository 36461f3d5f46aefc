"""What a fit is about: a model, data, weights and workers; batches and their blocks."""

import functools
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..model import ConjugateModel, Powers, Request
from ._workers import Workers

__all__ = ["QUIETLY", "Batch", "Problem", "generator"]

#: What overflows is refused at the end of a step, and need not be warned of before.
QUIETLY = functools.partial(np.errstate, over="ignore", invalid="ignore")


class Batch(NamedTuple):
    """The rows of a step.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
    total : float
        D, the size of the data that the rows stand for.
    total_of_clock : int or None
        What a pass is for the schedules; None if it is not known.
    """

    rows: np.ndarray
    total: float
    total_of_clock: int | None = None

    @property
    def scale(self):
        """D / S."""
        return self.total / len(self.rows)

    @property
    def is_whole(self):
        """Whether these are all of the data."""
        return len(self.rows) == self.total


class Shared(NamedTuple):
    """What the local steps of all blocks of a batch share."""

    model: ConjugateModel
    X: Any
    prepared: Any
    tempering: Any
    tempering_state: Any
    keeps_local: bool


class BlockOfBatch(NamedTuple):
    """What the local step of one block has for itself.

    Attributes
    ----------
    rows : slice or ndarray
    row_weight : ndarray of shape (n_rows,) or None
    request : Request
    """

    rows: Any
    row_weight: Any
    request: Request


@dataclass(frozen=True)
class Problem:
    """A model, the data that it is fitted to, their weights, and workers.

    Parameters
    ----------
    model : ConjugateModel
    X : array-like
        As the model takes it.
    workers : Workers
    sample_weight : ndarray of shape (n_samples,) or None
    rows : ndarray or None
        Those to train on; None is all.
    total_samples : int or None
        D; None is the number of rows.
    """

    model: ConjugateModel
    X: Any
    workers: Workers
    sample_weight: Any = None
    rows: Any = None
    total_samples: int | None = None

    @property
    def total(self):
        """D, the size of the data that the rows stand for."""
        return self.total_samples or len(self.rows)

    def on(self, rows):
        """Return the problem with other rows to train on."""
        return replace(self, rows=rows)

    def map(self, function, rows=None):
        """Yield ``function(block)`` over all rows, or some, in their order."""
        n_rows = self.X.shape[0] if rows is None else len(rows)
        slices = cuts(n_rows, self.model.block_size)
        if rows is not None:
            slices = (as_slice(rows[part]) for part in slices)
        return self.workers.map(
            lambda part: function(self.model.take(self.X, part)), slices
        )

    def bound(self, globals_, hyper, rows=None, scale=1.0):
        """Return the evidence lower bound of some rows at T=1, weighted.

        The rows' part is multiplied by ``scale``, for rows that stand for more.
        """
        model, weight = self.model, self.sample_weight
        prepared = model.prepare(globals_, hyper)
        steps = self.map(
            lambda block: model.local_step(block, prepared, Request(want=("bound",))),
            rows,
        )
        if weight is None:
            local_bound = sum(step.bound for step in steps)
        else:
            row_bounds = np.concatenate([step.row_bounds for step in steps])
            weight = weight if rows is None else weight[rows]
            local_bound = (weight * row_bounds).sum()
        return float(scale * local_bound + model.global_bound(globals_, hyper))

    def local_steps(self, batch, seen, tempering, state):
        """Return the sum of the local steps of a batch, block by block."""
        model = self.model
        keeps_local = model.keeps_local and batch.is_whole
        shared = Shared(
            model, self.X, seen.prepared, tempering, state.tempering, keeps_local
        )
        goes_on = batch.is_whole and np.shape(state.local)[:1] == (batch.total,)
        blocks = self._blocks(batch.rows, seen, state.local if goes_on else None)
        return self.workers.sum(_local_step, shared, blocks)

    def _blocks(self, rows, seen, local):
        """Cut a batch into fixed blocks, counted from its first row."""
        units = seen.units_per_row
        ends = np.concatenate([[0], np.cumsum(units)])
        row_weight, powers = None, seen.powers
        if self.sample_weight is not None:
            row_weight = self.sample_weight[rows]
            by_unit = np.repeat(row_weight, units)
            powers = powers._replace(statistics=powers.statistics * by_unit)
        for part in cuts(len(rows), self.model.block_size):
            of_units = slice(ends[part.start], ends[part.stop])
            yield BlockOfBatch(
                as_slice(rows[part]),
                None if row_weight is None else row_weight[part],
                Request(
                    Powers(*(p[of_units] if np.ndim(p) else p for p in powers)),
                    None if seen.unit_noise is None else seen.unit_noise[of_units],
                    int(seen.random.integers(2**63)),
                    None if local is None else local[part],
                ),
            )


def _local_step(shared, block):
    """Take the local step of a block: the pure function that workers map."""
    rows = shared.model.take(shared.X, block.rows)
    with QUIETLY():
        step = shared.tempering.local_step(
            shared.model,
            rows,
            shared.prepared,
            block.request,
            shared.tempering_state,
        )
        if block.row_weight is not None:
            step = step.weighted(block.row_weight)
    if shared.keeps_local:
        step = replace(step, kept=(step.local_parameters,))
    return step


def cuts(n_rows, size):
    """Yield slices of ``size`` rows, and the rest."""
    return (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))


def as_slice(rows):
    """Return a slice if rows follow one another: it takes a view where they are."""
    first, last = int(rows[0]), int(rows[-1])
    if last - first == len(rows) - 1 and (np.diff(rows) == 1).all():
        return slice(first, last + 1)
    return rows


def generator(seed, *key):
    """Return the random numbers that a seed has for a key: nothing is stored."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))

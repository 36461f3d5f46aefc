"""The problem of a fit: model, data, weights and workers; batches and their blocks."""

import functools
import itertools
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from .._utils._cache import LastCall
from ..model import ConjugateModel, Powers, Request
from ._data import Data, Rows, as_slice, cuts
from ._workers import Workers

#: Context without numpy's warnings.  A step that overflows is rejected at its end.
QUIETLY = functools.partial(np.errstate, over="ignore", invalid="ignore")
#: What random numbers are for, by number in a key of `generator`: the order of a pass,
#: policies, held-out rows, proposals, the parts of rows that they are fitted to, their
#: test rows, renewals, the memories of a stream and of a fit, and rows of early passes.
Purpose = IntEnum(
    "Purpose",
    "ORDER POLICIES HELD_OUT PROPOSALS PARTS TESTS RENEWALS STREAM FIT EARLY",
)


class Batch(NamedTuple):
    """The rows of a step.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
        Indices of the rows, ordered by the parts of the data.
    total : float
        D, the number of rows of the data that the batch represents.
    total_of_clock : int or None
        Number of rows of a pass, for schedules; None if it is unknown.
    """

    rows: np.ndarray
    total: float
    total_of_clock: int | None = None

    @property
    def scale(self):
        """D / S, where S is the number of rows of the batch."""
        return self.total / len(self.rows)

    @property
    def is_whole(self):
        return len(self.rows) == self.total


@dataclass(frozen=True)
class Problem:
    """A model, the data that it is fitted to, their weights, and workers.

    Parameters
    ----------
    model : ConjugateModel
    data : Data
        Validated data.
    workers : Workers
    sample_weight : ndarray of shape (n_samples,) or None
    rows : Rows or None
        Training rows; None means all rows.
    total_samples : int or None
        D; None means the number of rows.
    validation : Problem or None
        Problem of the data that are scored during the fit, with its own workers.
    labels : ndarray or None
        Labels of rows: known components, or cells of covariates, see
        `Options.labelled_globals`.
    ascents : list
        Cache of `ascent_on` for this model, these data, weights and labels.
    """

    model: ConjugateModel
    data: Data
    workers: Workers
    sample_weight: Any = None
    rows: Rows | None = None
    total_samples: int | None = None
    validation: Any = None
    labels: Any = None
    ascents: list = field(default_factory=list)

    @property
    def total(self):
        """D, the number of rows of the data that the training rows represent."""
        return self.total_samples or len(self.rows)

    @functools.cached_property
    def sample(self):
        """Rows from which the start of a fit is computed, and their weights."""
        X, rows = self.data.sample(self.model.max_start_rows)
        weight = self.sample_weight
        return X, None if weight is None else weight[rows]

    def initial_globals(self, random, hyper):
        """Return the global parameters of a start."""
        model, (X, weight) = self.model, self.sample
        if self.labels is None:
            return model.initial_globals(X, random, hyper, weight)
        _, rows = self.data.sample(model.max_start_rows)
        return model.labelled_globals(X, random, hyper, weight, self.labels[rows])

    def critical_temperatures(self, hyper=None):
        """Return the critical temperatures of the data, or None if there are none.

        Parameters
        ----------
        hyper : object, default=None
            Initial hyperparameters; None means the initial hyperparameters of `sample`.

        Returns
        -------
        temperatures : tuple of float or None
            See `ConjugateModel.critical_temperatures`.  The result for the last
            ``hyper`` is cached.
        """
        return self._critical_cache.result(hyper, self._compute_critical_temperatures)

    @functools.cached_property
    def _critical_cache(self):
        return LastCall()

    def _compute_critical_temperatures(self, hyper):
        if self.model._missing("critical_temperatures"):
            return None
        X, sample_weight = self.sample
        with QUIETLY():
            if hyper is None:
                hyper = self.model.initial_hyper(X, sample_weight)
            found = self.model.critical_temperatures(X, hyper, sample_weight)
        return None if found is None else tuple(map(float, found))

    def temperatures(self, tempering, hyper):
        """Return the fields of a `Plan` from which the start of a schedule follows."""
        critical = None
        if tempering.has_critical_temperatures:
            critical = self.critical_temperatures(hyper)
        return self.model.auto_temperature(hyper, self.sample[0]), critical

    def on(self, rows):
        return replace(self, rows=rows)

    def call_with_workers(self, function, rows):
        """Return ``function(problem)`` for work that repeats on the same few rows.

        The problem has the workers that suit the number of blocks of these rows, see
        `Workers.call_with_workers`.
        """
        size, places = self.model.block_size, [p for *_, p in self.data.groups(rows)]
        n_blocks = sum(-(-(p.stop - p.start) // size) for p in places)
        return self.workers.call_with_workers(
            lambda workers: function(replace(self, workers=workers)), n_blocks
        )

    def map(self, function, shared, rows=None, values=None):
        """Yield the results of a function for the blocks of the rows, in their order.

        Parameters
        ----------
        function : callable
            Called as ``function(model, block, shared)``, or, if ``values`` are given,
            as ``function(model, block, shared, values_of_rows)``.  It may be pickled,
            so that it should not refer to large objects.
        shared : object
            Argument that is the same for all blocks.
        rows : ndarray of int or None
            None means all rows.
        values : ndarray of shape (n_rows, ...) or None
        """
        shared = self.model, function, shared
        return self.workers.map(_on_block, shared, self._pieces(rows, values))

    def sum(self, function, shared, rows=None, values=None):
        """Return the sum of the results of a function for blocks, see `map`."""
        shared = self.model, function, shared
        pieces = self._pieces(rows, values)
        return self.workers.sum(_on_block, shared, pieces, self.data.fan_in)

    def _pieces(self, rows, values=None):
        """Yield parts, each with its blocks of rows and the values of these rows."""

        def item(chosen, where):
            return chosen, () if values is None else (values[where],)

        for part, own, places in self.data.groups(rows):
            yield part, itertools.starmap(item, self._cut(own, places))

    def _cut(self, rows, places):
        """Yield blocks of the rows of a part, and their places among all rows.

        Blocks are counted from the first row of the part.
        """
        first, size = places.start, self.model.block_size
        for piece in cuts(places.stop - first, size):
            where = slice(first + piece.start, first + piece.stop)
            yield piece if isinstance(rows, slice) else as_slice(rows[piece]), where

    def predict(self, function, prepared, rows=None):
        """Yield ``function(model, block, prepared)`` of the blocks of the rows.

        The prepared parameters are those for the labels of the rows.
        """
        labels = self._labels_of(rows)
        if labels is None:
            return self.map(function, prepared, rows)
        return self.map(_with_labels, (function, prepared), rows, labels)

    def bound(self, globals_, hyper, rows=None, scale=1.0):
        """Return the evidence lower bound of some rows at T=1, weighted.

        The term of the rows is multiplied by ``scale``, if they represent more rows.
        """
        prepared = self.model.prepare(globals_, hyper)
        if self.sample_weight is None and self.labels is None:
            local_bound = self.sum(_bound, prepared, rows)
        else:
            local_bound = self.weighted_sum(self.row_bounds(prepared, rows), rows)
        return float(scale * local_bound + self.model.global_bound(globals_, hyper))

    def weighted_sum(self, values, rows=None):
        weight = self.sample_weight
        if weight is not None:
            values = values * (weight if rows is None else weight[rows])
        return values.sum()

    def row_bounds(self, prepared, rows=None):
        """Return the term of each row in the lower bound at T=1."""
        labels = self._labels_of(rows)
        return np.concatenate(list(self.map(_row_bounds, prepared, rows, labels)))

    def _labels_of(self, rows):
        return self.labels if self.labels is None or rows is None else self.labels[rows]

    def units(self, rows):
        """Return the number of units of each row, and the sum of these numbers.

        If each row is one unit, the first value is None.
        """
        if not self.model.has_units():
            return None, len(rows)
        groups = ((part, (own,)) for part, own, _ in self.data.groups(rows))
        per_row = np.concatenate(list(self.workers.map(_units, self.model, groups)))
        return per_row, int(per_row.sum())

    def local_steps(self, batch, inputs, tempering, state):
        """Return the sum of the local steps of the `blocks` of a batch."""
        model = self.model
        keeps_local = model.keeps_local and batch.is_whole
        policy = tempering, state.policies.tempering
        shared = model, inputs.prepared, *policy, keeps_local
        blocks = self.blocks(batch, inputs, state)
        return self.workers.sum(_local_step, shared, blocks, self.data.fan_in)

    def blocks(self, batch, inputs, state):
        """Yield the parts of a batch with their blocks, see `_cut`.

        A block consists of rows, as indices into their part, weights or None, and a
        `Request`.
        """
        rows, local = batch.rows, state.local
        if not batch.is_whole or np.shape(local)[:1] != (batch.total,):
            local = None
        units, row_weight, powers = inputs.units_per_row, None, inputs.powers
        if units is not None:
            ends = np.concatenate([[0], np.cumsum(units)])
        if self.sample_weight is not None:
            row_weight = self.sample_weight[rows]
            by_unit = row_weight if units is None else np.repeat(row_weight, units)
            powers = powers._replace(statistics=powers.statistics * by_unit)
        are_common = not any(map(np.ndim, powers))
        labels = self._labels_of(rows)

        def powers_of(units):
            return Powers(*(p[units] if np.ndim(p) else p for p in powers))

        def block(chosen, where):
            of_units = where
            if units is not None:
                of_units = slice(ends[where.start], ends[where.stop])
            request = Request(
                powers if are_common else powers_of(of_units),
                None if inputs.unit_noise is None else inputs.unit_noise[of_units],
                0 if inputs.random is None else int(inputs.random.integers(2**63)),
                None if local is None else local[where],
                labels=None if labels is None else labels[where],
            )
            return chosen, None if row_weight is None else row_weight[where], request

        for part, own, places in self.data.groups(rows):
            yield part, itertools.starmap(block, self._cut(own, places))


def _local_step(shared, part, block):
    """Return the local step of a block; a pure function that workers map."""
    model, prepared, tempering, state, keeps_local = shared
    rows, row_weight, request = block
    block = part.take(model, rows)
    with QUIETLY():
        step = tempering.local_step(model, block, prepared, request, state)
        if row_weight is not None:
            step = step.weighted(row_weight)
    if keeps_local:
        step = replace(step, kept=(step.local_parameters,))
    return step


def _on_block(shared, part, item):
    """Call a function of a block; workers map it for `Problem.map`."""
    (model, function, argument), (rows, values) = shared, item
    return function(model, part.take(model, rows), argument, *values)


def _with_labels(model, block, shared, labels):
    function, prepared = shared
    return function(model, block, model.prepared_for(prepared, labels))


def _units(model, part, rows):
    return part.units_per_row(model, rows)


def _bound(model, block, prepared):
    return model.local_step(block, prepared, Request(want=("bound",))).bound


def _row_bounds(model, block, prepared, labels=None):
    request = Request(want=("bound",), labels=labels)
    return model.local_step(block, prepared, request).row_bounds


def generator(seed, *key):
    """Return the random generator of a seed and a key.

    A fit makes a new generator for each purpose, so that it need not store the states
    of generators.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))

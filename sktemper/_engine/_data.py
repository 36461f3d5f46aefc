"""Data, consecutive parts with the same columns, and the problem of a fit to them."""

import contextlib
import functools
import itertools
import operator
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._contract import ConjugateModel, Powers, Request
from .._utils._cache import LastCall
from .._utils._linalg import sparse_rows
from .._utils._sklearn import csr_container
from ._workers import Workers

# -- parts of data.  All rows of a block belong to the same part -----------------------
#: Blocks have a multiple of this number of rows, so that SIMD vectors are full.
ROWS_TOGETHER = 16


class Blocks:
    """Rows of an ascent, which are taken in blocks, see `ConjugateModel.take`.

    Parameters
    ----------
    block : callable
        Returns the block with a number.
    shape : tuple of int
    places : list of slice
        The places of the rows of each block.
    """

    def __init__(self, block, shape, places):
        self._block, self.shape, self.places = block, shape, places

    def __len__(self):
        return len(self.places)

    def __getitem__(self, number):
        return self._block(number)


class InMemory:
    """Part of data: a matrix in memory or in mapped memory.

    Classes for other kinds of parts have the same methods.  A part of a collection on
    disk is pickled as a path.  A part in the memory of another machine is represented
    by a name.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
    """

    #: Whether a part may cache blocks; False for parts that outlive a fit.
    _keeps_blocks = True

    def __init__(self, X):
        self.X, self._kept = X, (None, {})

    def __getstate__(self):
        return vars(self) | {"_kept": (None, {})}  # without cached blocks

    @property
    def n_rows(self):
        return self.X.shape[0]

    def take(self, model, rows):
        """Return some rows as a block of a model, see `ConjugateModel.take`.

        Blocks are cached if the part has few rows, see `ConjugateModel.most_kept_rows`.
        """
        is_kept = self._keeps_blocks and self.n_rows <= model.most_kept_rows
        if not (is_kept and isinstance(rows, slice)):
            return model.take(self.X, rows)
        owner, blocks = self._kept
        if owner is not model:
            owner, blocks = self._kept = model, {}
        key = rows.indices(self.n_rows)
        if key not in blocks:
            block = model.take(self.X, rows)
            if len(range(*key)) > model.block_size:  # too large for the cache
                return block
            blocks[key] = block
        return blocks[key]

    def blocks(self, model, rows):
        """Return rows as `Blocks`, which are cached as by `take`."""
        places = list(cuts(len(rows), model.block_size))
        parts = [as_slice(rows[where]) for where in places]

        def block(number):
            return self.take(model, parts[number])

        if self._keeps_blocks and len(rows) <= model.most_kept_rows:
            block = functools.cache(block)
        return Blocks(block, (len(rows), self.X.shape[1]), places)

    def is_view(self, model, rows):
        """Return whether a block of rows needs no copy of a dense matrix."""
        X = self.X
        is_block = not sparse.issparse(X) and X.flags.c_contiguous
        return is_block and X.dtype == model.dtype and isinstance(as_slice(rows), slice)

    def units_per_row(self, model, rows):
        return model.units_per_row(self.X, rows)

    def rows(self, rows):
        return sparse_rows(self.X, rows) if sparse.issparse(self.X) else self.X[rows]


class ByRows:
    """Base of parts that read rows into memory by their method ``rows``."""

    __slots__ = ()

    def take(self, model, rows):
        """Return some rows as a block of a model, see `ConjugateModel.take`."""
        X = self.rows(rows)
        return model.take(X, slice(0, X.shape[0]))

    def units_per_row(self, model, rows):
        X = self.rows(rows)
        return model.units_per_row(X, np.arange(X.shape[0]))


def cuts(n_rows, size):
    """Yield slices of at most ``size`` rows, the last one shorter.

    If there are several slices, they have about the same size, and their number is
    even, so that two threads get the same amount of work.  Sizes are multiples of
    `ROWS_TOGETHER`, which may prevent this.
    """
    n_blocks = -(-n_rows // size)
    if n_blocks > 1:
        rows = -(-n_rows // (n_blocks + n_blocks % 2))
        size = min(size, -(-rows // ROWS_TOGETHER) * ROWS_TOGETHER)
    return (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))


def as_slice(rows):
    """Return rows as a slice if they are consecutive, so that indexing makes a view."""
    first, last = int(rows[0]), int(rows[-1])
    if last - first == len(rows) - 1 and (rows[1:] - rows[:-1] == 1).all():
        return slice(first, last + 1)
    return rows


# -- ordered sequences of rows, stored as runs of adjacent rows to save memory ---------
class Rows:
    """Sequence of rows that consists of runs of adjacent rows.

    Parameters
    ----------
    starts : ndarray of int of shape (n_runs,)
        First row of each run.
    sizes : ndarray of int of shape (n_runs,) or None
        Number of rows of each run; None means 1.
    """

    def __init__(self, starts, sizes=None):
        self.starts, self.sizes = starts, sizes
        self._ends = None if sizes is None else np.cumsum(sizes)

    @classmethod
    def of_parts(cls, ends, size):
        """Return all rows of parts that end at ``ends``, in runs of up to ``size``."""
        if size == 1:
            return cls(np.arange(ends[-1]))
        firsts = np.concatenate([[0], ends[:-1]])
        starts = np.concatenate(
            [np.arange(*part, size) for part in zip(firsts, ends, strict=True)]
        )
        return cls(starts, np.diff(starts, append=ends[-1]))

    def __len__(self):
        return len(self.starts) if self.sizes is None else int(self._ends[-1])

    @property
    def n_runs(self):
        return len(self.starts)

    def runs(self, numbers):
        """Return the runs with the indices ``numbers``, in this order."""
        sizes = None if self.sizes is None else self.sizes[numbers]
        return Rows(self.starts[numbers], sizes)

    def at(self, places):
        if self.sizes is None:
            return self.starts[places]
        if isinstance(places, slice):
            places = np.arange(*places.indices(len(self)))
        run = np.searchsorted(self._ends, places, "right")
        return self.starts[run] + places - (self._ends - self.sizes)[run]

    def counted_runs(self, weight):
        """Return the indices of the runs that have a row with a positive weight.

        The sequence must consist of all rows of the data, in their order.

        Parameters
        ----------
        weight : ndarray of shape (n_rows,) or None
            None means that all weights are 1.
        """
        if weight is None:
            return np.arange(self.n_runs)
        if self.sizes is not None:
            weight = np.add.reduceat(weight, self.starts)
        return np.flatnonzero(weight)

    def counted(self, weight):
        """Return the rows with positive weights, or all rows if ``weight`` is None."""
        if weight is None:
            return self
        rows = self.at(slice(None))
        return Rows(rows[weight[rows] > 0])

    def some(self, most, random):
        """Return at most ``most`` rows, drawn at random, as an increasing array."""
        if len(self) <= most:
            return self.at(slice(None))
        return np.sort(self.at(random.choice(len(self), most, replace=False)))


# -- data: consecutive parts with the same columns -------------------------------------
#: Message for Dask collections, which methods would have to load completely.
OF_DASK = (
    "X is a Dask collection. Use functions of sktemper.dask instead of methods: "
    "sktemper.dask.fit(estimator, X), and likewise sktemper.dask.partial_fit, "
    "transform, predict, predict_proba, score_samples, score and lower_bound."
)
#: Largest number of parts whose sums one node adds, and the fan-in for more parts.
FEW_PARTS, FAN_IN = 16, 4
#: Smallest number of runs into which data are divided.  A run is a group of adjacent
#: rows that a pass visits together, see `Data`.
FEWEST_RUNS = 256


class Source:
    """Base of objects other than arrays that can be converted to `Data`."""

    def as_data(self, validate: Callable):
        """Return valid `Data`.

        Parameters
        ----------
        validate : callable
            ``validate(X)`` returns a valid matrix, or raises as scikit-learn would.
        """
        raise NotImplementedError


def rows_with(values, shape, dtype, is_sparse):
    """Return a few rows that contain some values, to validate data by their extremes.

    The matrix is CSR and stores only the values, or is an array that repeats them.  It
    has one row only if data of this shape have one.
    """
    n_rows, n_columns = min(shape[0], 2), shape[1]
    if not is_sparse:
        n_rows = max(n_rows, -(-len(values) // n_columns))
        filled = np.array(values or [0], dtype=dtype)
        return np.resize(filled, (n_rows, n_columns))
    n_rows = max(n_rows, len(values))
    starts = np.minimum(np.arange(n_rows + 1, dtype=np.int32), len(values))
    columns = np.zeros(len(values), dtype=np.int32)
    entries = np.array(values, dtype=dtype), columns, starts
    rows = csr_container()(entries, shape=(n_rows, n_columns))
    rows.has_canonical_format = True
    return rows


def joined(found):
    """Return matrices of a list, one below the other."""
    if len(found) == 1:
        return found[0]
    if sparse.issparse(found[0]):
        return sparse.vstack(found, format="csr")
    return np.concatenate(found)


class Data(Source):
    """Rows of data in parts with the same columns, which methods take as they are.

    Parameters
    ----------
    parts : sequence of InMemory or the like
        Parts with at least one row.
    validated : sequence of ndarray or CSR
        Matrices that passed validation: the matrices of the parts, or small matrices
        with the same smallest and largest values.
    source : object
        Input of the user, or its validated form.
    run : int, default=1
        Number of adjacent rows that a pass visits together, because they are stored
        together.
    """

    #: Weights of rows, if these are training data.
    weight = None

    def __init__(self, parts, validated, source, run=1):
        self.parts, self.validated, self.source = tuple(parts), tuple(validated), source
        sizes = [part.n_rows for part in self.parts]
        self.ends = np.array(sizes).cumsum()
        self.starts = self.ends - sizes
        self.shape = int(self.ends[-1]), validated[0].shape[1]
        self.dtype = np.result_type(*(matrix.dtype for matrix in validated))
        self.feature_names = getattr(source, "feature_names", None)
        self.run = max(1, min(run, self.shape[0] // FEWEST_RUNS))
        self._sample_cache = LastCall(operator.eq)

    def __len__(self):
        return self.shape[0]

    def as_data(self, validate):
        return self

    def workers(self, threads, n_threads, stop):
        """Return the workers for the parts, by default threads of this process.

        Parameters
        ----------
        threads : callable
            ``threads(n_threads, stop)`` returns workers of this process.
        n_threads : int
        stop : ndarray of shape (1,), int
            `ConjugateModel.stop`.
        """
        return threads(n_threads, stop)

    @contextlib.contextmanager
    def held(self, rows):
        """Enter a context in which some rows are read many times.

        A subclass may keep these rows in memory meanwhile.
        """
        yield

    @property
    def fan_in(self):
        """Fan-in of the tree that adds the sums of parts.

        One node adds the sums of few parts, so that a single sum is in memory.  With
        many parts the fan-in is small, so that no machine of a cluster receives the
        sums of many others.
        """
        return FEW_PARTS if len(self.parts) <= FEW_PARTS else FAN_IN

    @property
    def values_per_row(self):
        """Mean number of stored values of a row; infinite if it is unknown."""
        matrices = self.validated
        n_rows = sum(X.shape[0] for X in matrices)
        if n_rows < len(self) and any(map(sparse.issparse, matrices)):
            return np.inf
        return sum(X.size for X in matrices) / n_rows

    def all_rows(self):
        return Rows.of_parts(self.ends, self.run)

    def by_part(self, rows):
        """Return rows sorted by their parts; rows of the same part keep their order."""
        if len(self.parts) == 1:
            return rows
        order = np.argsort(np.searchsorted(self.ends, rows, "right"), kind="stable")
        return rows[order]

    def groups(self, rows=None):
        """Yield the parts that contain some rows, with these rows.

        Parameters
        ----------
        rows : ndarray of int or None
            Row indices sorted by their parts; None means all rows.

        Yields
        ------
        part : InMemory or the like
        rows : slice or ndarray of int
            Row indices within the part.
        places : slice
            Positions of these rows in ``rows``.
        """
        if rows is None:
            for part, start in zip(self.parts, self.starts, strict=True):
                yield part, slice(0, part.n_rows), slice(start, start + part.n_rows)
        elif len(self.parts) == 1:
            if len(rows):
                yield self.parts[0], rows, slice(0, len(rows))
        else:
            numbers = np.searchsorted(self.ends, rows, "right")
            places = np.searchsorted(numbers, np.arange(len(self.parts) + 1))
            for part, start, first, end in zip(
                self.parts, self.starts, places, places[1:], strict=False
            ):
                if first < end:
                    yield part, rows[first:end] - start, slice(first, end)

    def rows(self, rows):
        """Return some rows, sorted by their parts, as one matrix in memory."""
        return joined([part.rows(chosen) for part, chosen, _ in self.groups(rows)])

    def take(self, model, rows):
        """Return some rows, sorted by their parts, as one block of a model."""
        if len(self.parts) == 1:
            return self.parts[0].take(model, as_slice(rows))
        return model.take(self.rows(rows), slice(0, len(rows)))

    def sample(self, most):
        """Return the rows from which the start of a fit is computed, and their indices.

        A matrix in memory is returned whole.  From other data, at most ``most`` evenly
        spaced rows are returned.

        Returns
        -------
        X : ndarray or CSR
        rows : slice or ndarray of int
        """
        return self._sample_cache.result(self._sample, most)

    def counted_sample(self, most):
        """Return a sample of the rows whose weight is not 0; of all if none has one."""
        rows = with_weight(np.arange(len(self)), self.weight)
        if len(rows) == len(self):
            return self.sample(most)[0]
        return self.rows(rows[:: -(-len(rows) // most)])

    def _sample(self, most):
        if len(self.parts) == 1 and isinstance(self.parts[0], InMemory):
            return self.parts[0].X, slice(None)
        rows = np.arange(0, len(self), -(-len(self) // most))
        return self.rows(rows), rows


def with_weight(rows, weight):
    """Return the rows whose weight is not 0; all rows if none has a weight."""
    is_whole = weight is None or weight.all() or not weight.any()
    return rows if is_whole else rows[weight > 0]


def data_of(X, validate):
    """Return the `Data` of the input of a user.

    Parameters
    ----------
    X : array-like, sparse matrix, Source, or list of ndarray or sparse matrix
        A list is taken as data in parts if each item is a matrix.
    validate : callable
        ``validate(X)`` returns a valid matrix, or raises as scikit-learn would.

    Raises
    ------
    TypeError
        If ``X`` is a Dask collection, or a list in which only some items are matrices
        of `numpy` or `scipy.sparse`.
    ValueError
        If the parts have different numbers of columns.
    """
    if isinstance(X, Source):
        return X.as_data(validate)
    first = X[0] if isinstance(X, list) and X else None
    if hasattr(X, "__dask_graph__") or hasattr(first, "__dask_graph__"):
        raise TypeError(OF_DASK)
    if not _is_list_of_parts(X):
        _refuse_what_is_nearly_one(X)
        X = validate(X)
        return Data([InMemory(X)], [X], X)
    # empty parts are left out, but their numbers of columns are checked
    parts = [part for part in X if part.shape[0]] or X[:1]
    check_widths(X)
    parts = [validate(part) for part in parts]
    return Data(map(InMemory, parts), parts, parts)


def check_widths(parts):
    """Raise a ValueError if parts, which have a ``shape``, differ in their columns."""
    widths = sorted({part.shape[1] for part in parts})
    if len(widths) > 1:
        raise ValueError(
            f"The parts of X have different numbers of columns: {widths[0]} and "
            f"{widths[-1]}."
        )


def matrices_of(X):
    """Return the parts of a user's input as a list.

    An input that is not in parts is the only item of the list.
    """
    return X if isinstance(X, Source) or _is_list_of_parts(X) else [X]


def _refuse_what_is_nearly_one(X):
    """Raise if X seems to be data in parts, but is not a list of matrices only."""
    if not isinstance(X, list | tuple):
        return
    for item in X:
        is_frame = hasattr(item, "iloc") and np.ndim(item) == 2
        if isinstance(item, Source) or sparse.issparse(item) or is_frame:
            raise TypeError(
                "Data in parts must be a list in which each item is an array of two "
                f"dimensions or a sparse matrix; X is a {type(X).__name__} with a "
                f"{type(item).__name__}."
            )


def _is_list_of_parts(X):
    return isinstance(X, list) and len(X) > 0 and all(map(_is_matrix, X))


def _is_matrix(part):
    return (isinstance(part, np.ndarray) or sparse.issparse(part)) and part.ndim == 2


# -- the problem of a fit: model, data, weights and workers; batches and their blocks --
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
    power : float
        Power of the likelihood of each row, which tempers the model, not the search.
    ascents : list
        Cache of `ascent_on` for this model, these data, weights and labels.

    Attributes
    ----------
    critical : LastCall
        Cache of `critical_temperatures`.
    """

    model: ConjugateModel
    data: Data
    workers: Workers
    sample_weight: Any = None
    rows: Rows | None = None
    total_samples: int | None = None
    validation: Any = None
    labels: Any = None
    power: float = 1.0
    ascents: list = field(default_factory=list)
    critical: LastCall = field(default_factory=LastCall, init=False)

    @property
    def total(self):
        """D, the number of rows of the data that the training rows represent."""
        return self.total_samples or len(self.rows)

    @functools.cached_property
    def row_weight(self):
        """Weights of the rows times the power of the likelihood; None if all are 1."""
        weight = self.sample_weight
        if self.power == 1.0:
            return weight
        return self.power * (np.ones(len(self.data)) if weight is None else weight)

    @functools.cached_property
    def sample(self):
        """Rows from which the start of a fit is computed, and their weights."""
        X, rows = self.data.sample(self.model.max_start_rows)
        weight = self.row_weight
        return X, None if weight is None else weight[rows]

    @property
    def counted_sample(self):
        """The rows of `sample` whose weight is not 0, and their weights."""
        X, weight = self.sample
        return with_weight(X, weight), with_weight(weight, weight)

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
        return self.critical.result(self._compute_critical_temperatures, hyper)

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
        return self.model.auto_temperature(hyper, self.counted_sample[0]), critical

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
        if self.row_weight is None and self.labels is None:
            local_bound = self.sum(_bound, prepared, rows)
        else:
            local_bound = self.weighted_sum(self.row_bounds(prepared, rows), rows)
        return float(scale * local_bound + self.model.global_bound(globals_, hyper))

    def weighted_sum(self, values, rows=None):
        weight = self.row_weight
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
        if self.row_weight is not None:
            row_weight = self.row_weight[rows]
            by_unit = row_weight if units is None else np.repeat(row_weight, units)
            powers = powers._replace(statistics=powers.statistics * by_unit)
        are_common = {float}.issuperset(map(type, powers))
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

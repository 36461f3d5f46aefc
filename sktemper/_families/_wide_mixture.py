"""Mixtures of sparse data with so many columns that most of them have no entry."""

import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from .._contract import Powers
from .._utils._cache import LastCall
from .._utils._linalg import sparse_rows
from ._family import ONCE, sums_of, times
from ._mixture import Mixture, MixtureModel

# -- arrays whose columns are mostly equal, and blocks of sparse rows ------------------
#: If more than 1 / ONE_IN of the columns have had entries, an array is used instead of
#: `Wide`.
ONE_IN = 4


@dataclass(frozen=True)
class Wide:
    """An array of shape (n_rows, n_columns * n_each) with few different columns.

    A column is a group of ``n_each`` consecutive numbers.  The sum of two `Wide` is
    `Wide`, or an array if many columns differ.  The sum of a `Wide` and an array is an
    array, and `numpy.asarray` converts a `Wide` to an array.
    """

    columns: np.ndarray  # those that may differ from the others, increasing, (n_kept,)
    values: np.ndarray  # of these columns, (n_rows, n_kept, n_each)
    rest: np.ndarray  # the value of all other columns, (n_rows, n_each)
    n_columns: int

    __array_ufunc__ = None  # so that NumPy calls __radd__ and __rmul__ of this class

    def select(self, columns):
        """Return a dense array of some columns, followed by one for all others.

        ``columns`` are in increasing order and include ``self.columns``.  The result
        has the shape (n_rows, (n_columns + 1) * n_each).
        """
        rest = self.rest[:, None]
        if columns is self.columns:
            narrow = np.concatenate([self.values, rest], axis=1)
        else:
            shape = len(rest), len(columns) + 1, rest.shape[2]
            narrow = np.empty(shape, self.values.dtype)
            narrow[...] = rest
            narrow[:, np.searchsorted(columns, self.columns)] = self.values
        return narrow.reshape(len(narrow), -1)

    @classmethod
    def from_narrow(cls, columns, narrow, n_columns):
        """Return the `Wide` whose `select` returns ``narrow`` for ``columns``."""
        groups = narrow.reshape(len(narrow), len(columns) + 1, -1)
        return cls(columns, groups[:, :-1], groups[:, -1], n_columns)

    def __getitem__(self, rows):
        return replace(self, values=self.values[rows], rest=self.rest[rows])

    def __array__(self, dtype=None, copy=None):
        shape = len(self.rest), self.n_columns, self.rest.shape[1]
        dense = np.empty(shape, self.values.dtype if dtype is None else dtype)
        dense[...] = self.rest[:, None]
        dense[:, self.columns] = self.values
        return dense.reshape(len(dense), -1)

    def __add__(self, other):
        if not isinstance(other, Wide):
            return np.asarray(self) + other
        columns = self.columns
        if columns is other.columns:  # true for most blocks of a step
            values, rest = self.values + other.values, self.rest + other.rest
            return replace(self, values=values, rest=rest)
        if not np.array_equal(columns, other.columns):
            columns = np.union1d(columns, other.columns)
        if len(columns) > self.n_columns // ONE_IN:
            return np.asarray(self) + np.asarray(other)
        narrow = self.select(columns) + other.select(columns)
        return Wide.from_narrow(columns, narrow, self.n_columns)

    def __radd__(self, other):
        return other + np.asarray(self)

    def __rmul__(self, factor):
        return replace(self, values=factor * self.values, rest=factor * self.rest)

    def clip(self, least):
        return replace(self, values=self.values.clip(least), rest=self.rest.clip(least))

    def placed(self, places):
        """Return a `Wide` with the columns in another order, and with new columns.

        ``places`` has the index in this object of each column of the result, or -1 for
        a new column without entries.
        """
        kept = np.full(self.n_columns + 1, -1)  # the last element is for places of -1
        kept[self.columns] = np.arange(len(self.columns))
        sources = kept[places]
        columns = np.flatnonzero(sources >= 0)
        values = self.values[:, sources[columns]]
        return Wide(columns, values, self.rest, len(places))

    def check(self, n_columns):
        """Raise ValueError if `columns` are not increasing indices of columns."""
        columns, n_kept = self.columns, len(self.columns)
        if self.n_columns != n_columns or columns.dtype.kind != "i":
            raise ValueError("global parameters have the wrong columns")
        if n_kept and not 0 <= columns[0] <= columns[-1] < n_columns:
            raise ValueError("global parameters have columns that do not exist")
        if (np.diff(columns) <= 0).any():
            raise ValueError("global parameters have columns out of order")


class Entries(NamedTuple):
    """A block of CSR rows with all columns, before it is `Aligned`."""

    X: Any

    def columns(self):
        """Return the columns that have entries, in increasing order."""
        return np.unique(self.X.indices)

    def select(self, columns):
        """Return the rows on some columns and an empty last column.

        The result is None if another column has entries.
        """
        places = np.searchsorted(columns, self.X.indices)
        # -1, which is no index, is for indices above all `columns`
        if (np.append(columns, -1).take(places) != self.X.indices).any():
            return None
        shape = self.X.shape[0], len(columns) + 1
        return sparse.csr_array((self.X.data, places, self.X.indptr), shape=shape)


class Aligned(NamedTuple):
    """A block of sparse rows in the form that `WideMixtureModel` computes with."""

    columns: np.ndarray  # indices in increasing order, (n,)
    # Moments of the entries minus the moments of an absent entry, CSR of shape (n_rows,
    # (n + 1) * n_each).  The last column represents all columns that are not in
    # ``columns``, and is empty.
    moments: Any


def rows_at(columns, others, rows):
    """Return the rows of a table for other columns.

    ``rows`` has a row for each of ``columns``, in increasing order, and a last row for
    all other columns.  The result has the same form for ``others``.
    """
    if others is columns:
        return rows
    places = np.searchsorted(columns, others)
    known = places < len(columns)
    known[known] = columns[places[known]] == others[known]
    return rows[np.append(np.where(known, places, -1), -1)]  # -1: the last row


# -- mixtures of sparse data with so many columns that most of them have no entry ------
#: Largest number of columns of data for which dense arrays are used.
MOST_DENSE_COLUMNS = 4096


class PreparedColumns(NamedTuple):
    """Values for local steps of a mixture in which few columns had entries.

    Kept columns are the columns that had entries.  Tables have ``n_each`` rows for each
    kept column, followed by ``n_each`` rows that represent all other columns.
    """

    columns: np.ndarray  # (n_kept,)
    log_weights: np.ndarray  # E log pi, (n_components,)
    tables: np.ndarray  # E u, ((n_kept + 1) * n_each, n_components)
    empty_row: np.ndarray  # E log p(x) of a row without entries, (n_components,)
    globals_: Mixture
    hyper: Any


class View(NamedTuple):
    """A model of some columns and of one that represents all others, and a block."""

    model: Any  # of these columns, or of all columns if ``columns`` is None
    columns: Any
    block: Any = None  # a block of the model

    def hyper(self, hyper):
        if self.columns is None:
            return hyper
        # the priors of all columns are equal
        return hyper._replace(component=hyper.component[: self.model.family.n_natural])

    def globals_(self, globals_):
        if self.columns is None:
            return _dense(globals_)
        return Mixture(globals_.weights, globals_.components.select(self.columns))

    def widened(self, mixture, n_features):
        if self.columns is None:
            return mixture
        components = Wide.from_narrow(self.columns, mixture.components, n_features)
        return Mixture(mixture.weights, components)


def _dense(globals_):
    return Mixture(globals_.weights, np.asarray(globals_.components))


class WideMixtureModel(MixtureModel):
    """Mixture with one prior for all columns, so that columns without data are alike.

    For sparse data with many columns and entries in few of them, the parameters are
    stored as `Wide`.  Computations use the columns that have had entries, and one
    column that represents all other columns, so that the time of a computation does not
    grow with the number of columns.

    The family of a subclass is a `DirichletFamily`.  A subclass defines
    `moments_of_entries`, ``absent`` and `predictive`.
    """

    #: Moments of an absent entry, of shape (n_each,).
    absent = np.zeros(1)
    #: Whether parameters may be `Wide`; False for the models that `select` returns.
    _may_be_wide = True

    def __init__(self, *args, **parameters):
        super().__init__(*args, **parameters)
        self._dense_cache = LastCall()

    # -- methods of subclasses ---------------------------------------------------------
    def moments_of_entries(self, X):
        """Return moments of CSR rows' entries, minus the moments of absent entries."""
        raise NotImplementedError

    def predictive(self, block, prepared):
        """Return the log predictive densities of the rows of an `Aligned` block."""
        raise NotImplementedError

    # -- columns of computations -------------------------------------------------------
    def take(self, X, rows):
        """Return ``X[rows]`` as a block of the family, or as `Entries` if wide."""
        if self._keeps_all() or not sparse.issparse(X):
            return super().take(X, rows)
        return Entries(sparse_rows(X, rows))

    def _keeps_all(self):
        return not self._may_be_wide or self.n_features <= MOST_DENSE_COLUMNS

    def select(self, columns):
        """Return the model of some columns and of one that represents all others.

        ``columns=None`` returns a model of all columns.
        """
        model = copy.copy(self)
        model._may_be_wide, model._prior = False, LastCall()
        if columns is not None:
            repeats = np.ones(len(columns) + 1)
            repeats[-1] = self.n_features - len(columns)
            model.family = self.family.grouped(repeats)
            model.n_features = len(repeats)
        return model

    def _view(self, block, globals_=None):
        """Return a `View` of columns that have or had entries, or of all columns."""
        kept = None if globals_ is None else globals_.components
        columns = None
        if isinstance(kept, Wide):
            columns = np.union1d(kept.columns, block.columns())
        elif kept is None:
            columns = block.columns()
            if len(columns) > self.n_features // ONE_IN:
                columns = None
        model, X = self.select(columns), block.X
        if columns is not None:
            X = block.select(columns)
        return View(model, columns, model.take(X, slice(None)))

    def _aligned(self, block, columns):
        """Return `Entries` as an `Aligned` block, whose columns include ``columns``."""
        X = block.select(columns)
        if X is None:
            columns = np.union1d(columns, block.columns())
            X = block.select(columns)
        return Aligned(columns, self.moments_of_entries(X))

    def linear(self, block, prepared, table, constant):
        """Return a linear function of the moments of each row of a block.

        ``table`` has the form of ``prepared.tables``, and ``constant`` is the value of
        a row without entries, (n_components,).
        """
        rows = table.reshape(len(prepared.columns) + 1, -1)
        rows = rows_at(prepared.columns, block.columns, rows)
        return times(block.moments, rows.reshape(-1, table.shape[1])) + constant

    def empty_value(self, columns, table):
        """Return a linear function of the moments of a row without entries."""
        # the last column counts for all that it represents
        values = self.select(columns).family.weigh_options(table.T)
        return (np.tile(self.absent, len(columns) + 1) * values).sum(axis=1)

    def ascent(self, block, hyper, row_weight=None):
        if isinstance(block, Entries):
            return None  # the columns that have had entries change with the steps
        return super().ascent(block, hyper, row_weight)

    @property
    def _ascends_in_blocks(self):
        return super()._ascends_in_blocks and self._keeps_all()

    # -- the state of a fit ------------------------------------------------------------
    def _prior_of(self, hyper):
        prior = super()._prior_of(hyper)
        if self._keeps_all():
            return prior
        one = prior.components[:, : len(self.absent)]
        wide = Wide.from_narrow(np.arange(0), one, self.n_features)
        return Mixture(prior.weights, wide)

    def dealt(self, block, seeds, row_weight, scale, hyper):
        if not isinstance(block, Entries):
            return super().dealt(block, seeds, row_weight, scale, hyper)
        view = self._view(block)
        given = seeds, row_weight, scale, view.hyper(hyper)
        start = view.model.dealt(view.block, *given)
        return view.widened(start, self.n_features)

    def prepare(self, globals_, hyper):
        if not isinstance(globals_.components, Wide):
            return super().prepare(globals_, hyper)
        columns = globals_.components.columns
        narrow = globals_.components.select(columns)
        expected = self.select(columns).family.expected(narrow).T.copy()
        empty_row = self.empty_value(columns, expected)
        log_weights = self.weights.expected_log(globals_.weights)
        own = columns, log_weights, expected, empty_row
        return PreparedColumns(*own, globals_, hyper)

    def on_features(self, globals_, hyper, places, start_share):
        """Return the parameters of other features; see `ConjugateModel.on_features`.

        New features had no entry in any row.
        """
        n_each, components = len(self.absent), globals_.components
        one = hyper.component[:n_each]
        hyper = hyper._replace(component=np.tile(one, len(places)))
        if isinstance(components, Wide):
            other = components.placed(places)
        else:
            counts = self.component_counts(globals_, hyper)
            values = components.reshape(len(components), -1, n_each)[:, places]
            values[:, places < 0] = one + np.outer(counts, self.absent)[:, None]
            other = values.reshape(len(values), -1)
        return Mixture(globals_.weights, other), hyper

    def is_valid(self, globals_):
        if isinstance(globals_.components, Wide):
            wide = globals_.components
            globals_ = Mixture(globals_.weights, wide.select(wide.columns))
        return super().is_valid(globals_)

    def global_shapes(self, globals_):
        shapes, components = super().global_shapes(globals_), globals_.components
        if not isinstance(components, Wide):
            return shapes
        (K, n_each), n_kept = components.rest.shape, len(components.columns)
        return [*shapes[:-1], (n_kept,), (K, n_kept, n_each), (K, n_each), ()]

    def check(self, globals_, hyper):
        super().check(globals_, hyper)
        if isinstance(globals_.components, Wide):
            globals_.components.check(self.n_features)

    # -- the step ----------------------------------------------------------------------
    def _alike(self, block, prepared):
        """Return a block and values, both of all columns or both of those with entries.

        They follow the model that computes with them.
        """
        if not isinstance(block, Entries):
            if isinstance(prepared, PreparedColumns):
                prepared = self._dense_cache.result(
                    lambda own: self.prepare(_dense(own.globals_), own.hyper), prepared
                )
            return self, block, prepared
        if isinstance(prepared, PreparedColumns):
            return self, self._aligned(block, prepared.columns), prepared
        whole = self.select(None)
        return whole, whole.take(block.X, slice(None)), prepared

    def local_step(self, block, prepared, request):
        model, *given = self._alike(block, prepared)
        return MixtureModel.local_step(model, *given, request)

    def n_observed(self, block):
        if isinstance(block, Aligned):
            n_absent = self.n_features * self.absent.sum()
            return n_absent + np.asarray(block.moments.sum(axis=1)).ravel()
        return self.family.n_observed(block)

    def log_joint(self, block, prepared):
        if not isinstance(block, Aligned):
            return super().log_joint(block, prepared)
        logs = self.linear(block, prepared, prepared.tables, prepared.empty_row)
        return logs + prepared.log_weights

    def statistics(self, block, shares, hyper, factors=ONCE, tables=None):
        if isinstance(block, Entries):
            view = self._view(block)
            statistics = view.model.statistics(view.block, shares, hyper, factors)
            return view.widened(statistics, self.n_features)
        if not isinstance(block, Aligned):
            return super().statistics(block, shares, hyper, factors, tables)
        shares = shares * factors[:, None]
        columns, counts = block.columns, shares.sum(axis=0)
        sums = sums_of(block.moments, shares)
        sums += np.outer(counts, np.tile(self.absent, len(columns) + 1))
        components = Wide.from_narrow(columns, sums, self.n_features)
        return Mixture(self.weights.counted(counts), components)

    def fisher_product(self, globals_, vector):
        return super().fisher_product(_dense(globals_), vector)

    # -- objectives --------------------------------------------------------------------
    def global_bound(self, globals_, hyper, powers=Powers()):  # noqa: B008
        if not self._may_be_wide:
            return super().global_bound(globals_, hyper, powers)
        columns = getattr(globals_.components, "columns", None)
        view = View(self.select(columns), columns)
        return view.model.global_bound(
            view.globals_(globals_), view.hyper(hyper), powers
        )

    def predictive_scores(self, block, prepared):
        model, block, prepared = self._alike(block, prepared)
        if not isinstance(block, Aligned):
            return MixtureModel.predictive_scores(model, block, prepared)
        logs = self.predictive(block, prepared)
        logs = logs + self.weights.log_mean(prepared.globals_.weights)
        return logsumexp(logs, axis=1), self.n_scored(self.n_observed(block))

    # -- renewals ----------------------------------------------------------------------
    def search(self, block, shares, hyper, row_weight):
        if not isinstance(block, Entries):
            return super().search(block, shares, hyper, row_weight)
        view = self._view(block)
        return view.model.search(view.block, shares, view.hyper(hyper), row_weight)

    # -- leaving a poor optimum --------------------------------------------------------
    def _proposed(self, propose, globals_, hyper, block, *given):
        """Return the proposal of a method of `MixtureModel`, or None."""
        if not isinstance(block, Entries):
            return propose(self, _dense(globals_), hyper, block, *given)
        view = self._view(block, globals_)
        priors = view.hyper(hyper)
        found = propose(view.model, view.globals_(globals_), priors, view.block, *given)
        return found and (view.widened(found[0], self.n_features), hyper, *found[2:])

    def propose_birth(self, *given):
        return self._proposed(MixtureModel.propose_birth, *given)

    def propose_split_merge(self, *given):
        return self._proposed(MixtureModel.propose_split_merge, *given)

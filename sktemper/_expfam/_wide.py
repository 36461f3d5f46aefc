"""Compact arrays with many equal columns, and blocks of sparse rows."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

__all__ = ["ONE_IN", "Aligned", "Entries", "Wide", "rows_at"]

#: All columns are stored as soon as one of ONE_IN columns has had an entry.
ONE_IN = 4


@dataclass(frozen=True)
class Wide:
    """Array of shape (n_rows, n_columns * n_each), most of whose columns are equal.

    A column is a group of ``n_each`` consecutive numbers.  The sum of two such arrays
    is one, or an ndarray if few columns are equal.  The sum with an ndarray is an
    ndarray, and `numpy.asarray` converts to one.

    Attributes
    ----------
    columns : ndarray of int of shape (n_kept,)
        The columns that may differ from the others, in increasing order.
    values : ndarray of shape (n_rows, n_kept, n_each)
        Values of these columns.
    rest : ndarray of shape (n_rows, n_each)
        Value of all other columns.
    n_columns : int
    """

    columns: np.ndarray
    values: np.ndarray
    rest: np.ndarray
    n_columns: int

    __array_ufunc__ = None  # arrays leave sums and products to this class

    @classmethod
    def of_narrow(cls, columns, narrow, n_columns):
        """Return the array whose `on` returns ``narrow`` for these columns."""
        groups = narrow.reshape(len(narrow), len(columns) + 1, -1)
        return cls(columns, groups[:, :-1], groups[:, -1], n_columns)

    def on(self, columns):
        """Return some columns, followed by one of the others.

        Parameters
        ----------
        columns : ndarray of int of shape (n,)
            All stored columns, and possibly more, in increasing order.

        Returns
        -------
        narrow : ndarray of shape (n_rows, (n + 1) * n_each)
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
        if columns is other.columns:  # the usual case: blocks of the same step
            values, rest = self.values + other.values, self.rest + other.rest
            return replace(self, values=values, rest=rest)
        if not np.array_equal(columns, other.columns):
            columns = np.union1d(columns, other.columns)
        if len(columns) > self.n_columns // ONE_IN:
            return np.asarray(self) + np.asarray(other)
        narrow = self.on(columns) + other.on(columns)
        return Wide.of_narrow(columns, narrow, self.n_columns)

    def __radd__(self, other):
        return other + np.asarray(self)

    def __rmul__(self, factor):
        return replace(self, values=factor * self.values, rest=factor * self.rest)

    def placed(self, places):
        """Return the array after columns have been moved and added.

        Parameters
        ----------
        places : ndarray of int
            Previous place of each column, -1 for a new column without entries.
        """
        kept = np.full(self.n_columns + 1, -1)  # the last is the place -1
        kept[self.columns] = np.arange(len(self.columns))
        sources = kept[places]
        columns = np.flatnonzero(sources >= 0)
        values = self.values[:, sources[columns]]
        return Wide(columns, values, self.rest, len(places))

    def check(self, n_columns):
        """Raise ValueError unless the columns are valid for ``n_columns`` columns."""
        columns, n_kept = self.columns, len(self.columns)
        if self.n_columns != n_columns or columns.dtype.kind != "i":
            raise ValueError("global parameters have the wrong columns")
        if n_kept and not 0 <= columns[0] <= columns[-1] < n_columns:
            raise ValueError("global parameters have columns that do not exist")
        if (np.diff(columns) <= 0).any():
            raise ValueError("global parameters have columns out of order")


class Entries(NamedTuple):
    """Block of sparse rows before their moments are computed.

    Attributes
    ----------
    X : CSR of shape (n_rows, n_features)
    """

    X: Any

    def columns(self):
        """Return the columns that have entries, in increasing order."""
        return np.unique(self.X.indices)

    def on(self, columns):
        """Return the rows restricted to some columns, followed by an empty column.

        Return None if other columns have entries.
        """
        places = np.searchsorted(columns, self.X.indices)
        known = len(columns) > 0 or len(places) == 0
        if not known or (columns.take(places, mode="clip") != self.X.indices).any():
            return None
        shape = self.X.shape[0], len(columns) + 1
        return sparse.csr_array((self.X.data, places, self.X.indptr), shape=shape)


class Aligned(NamedTuple):
    """Moments of a block of sparse rows, for local steps of `WideMixtureModel`.

    Attributes
    ----------
    columns : ndarray of int of shape (n,)
        In increasing order.
    moments : CSR of shape (n_rows, (n + 1) * n_each)
        Moments of the entries minus those of an absent entry, for these columns, and
        zeros for the column that represents the others.
    """

    columns: np.ndarray
    moments: Any


def rows_at(columns, others, rows):
    """Return the rows of a table for other columns.

    A table has a row for each column, followed by one for the remaining columns.

    Parameters
    ----------
    columns, others : ndarray of int
        In increasing order.
    rows : ndarray of shape (len(columns) + 1, ...)

    Returns
    -------
    rows : ndarray of shape (len(others) + 1, ...)
    """
    if others is columns:
        return rows
    places = np.searchsorted(columns, others)
    known = places < len(columns)
    known[known] = columns[places[known]] == others[known]
    return rows[np.append(np.where(known, places, -1), -1)]

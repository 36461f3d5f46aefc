"""Arrays with many columns, most of them equal, and sparse rows with no entry there."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

__all__ = ["ONE_IN", "Aligned", "Entries", "Wide", "rows_at"]

#: All columns are kept once one in so many has had an entry.
ONE_IN = 4


@dataclass(frozen=True)
class Wide:
    """An array of shape (n_rows, n_columns * n_each), most of whose columns are equal.

    A column is a group of ``n_each`` numbers that follow one another.  A sum of two is
    one, a sum with an array is an array, and `numpy.asarray` makes an array of it.

    Attributes
    ----------
    columns : ndarray of int of shape (n_kept,)
        The columns that may differ from the others, in increasing order.
    values : ndarray of shape (n_rows, n_kept, n_each)
        These columns.
    rest : ndarray of shape (n_rows, n_each)
        Each of the other columns.
    n_columns : int
    """

    columns: np.ndarray
    values: np.ndarray
    rest: np.ndarray
    n_columns: int

    __array_ufunc__ = None  # arrays leave sums and products to this class

    @classmethod
    def of_narrow(cls, columns, narrow, n_columns):
        """Return the array of what `on` returned for these columns."""
        groups = narrow.reshape(len(narrow), len(columns) + 1, -1)
        return cls(columns, groups[:, :-1], groups[:, -1], n_columns)

    def on(self, columns):
        """Return some columns, and one of the others behind them.

        Parameters
        ----------
        columns : ndarray of int of shape (n,)
            In increasing order; all that are kept, and maybe more.

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
        if columns is other.columns:  # as of most blocks of a step
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
        """Return the array of other columns: these, and new ones like the others.

        Parameters
        ----------
        places : ndarray of int
            Present column of each new column, -1 for one without entries.
        """
        kept = np.full(self.n_columns + 1, -1)  # the last is the place -1
        kept[self.columns] = np.arange(len(self.columns))
        sources = kept[places]
        columns = np.flatnonzero(sources >= 0)
        values = self.values[:, sources[columns]]
        return Wide(columns, values, self.rest, len(places))

    def check(self, n_columns):
        """Raise ValueError unless these are some of so many columns, in order."""
        columns, n_kept = self.columns, len(self.columns)
        if self.n_columns != n_columns or columns.dtype.kind != "i":
            raise ValueError("global parameters have the wrong columns")
        if n_kept and not 0 <= columns[0] <= columns[-1] < n_columns:
            raise ValueError("global parameters have columns that do not exist")
        if (np.diff(columns) <= 0).any():
            raise ValueError("global parameters have columns out of order")


class Entries(NamedTuple):
    """A block of sparse rows, not yet of the form that a model takes.

    Attributes
    ----------
    X : CSR of shape (n_rows, n_features)
    """

    X: Any

    def columns(self):
        """Return the columns that have entries, in increasing order."""
        return np.unique(self.X.indices)

    def on(self, columns):
        """Return some columns, all that have entries among them, and an empty one.

        None if others have entries, too.
        """
        places = np.searchsorted(columns, self.X.indices)
        known = len(columns) > 0 or len(places) == 0
        if not known or (columns.take(places, mode="clip") != self.X.indices).any():
            return None
        shape = self.X.shape[0], len(columns) + 1
        return sparse.csr_array((self.X.data, places, self.X.indptr), shape=shape)


class Aligned(NamedTuple):
    """A block of sparse rows, as `WideMixtureModel` computes with it.

    Attributes
    ----------
    columns : ndarray of int of shape (n,)
        In increasing order.
    moments : CSR of shape (n_rows, (n + 1) * n_each)
        Of the entries, less those of no entry: of these columns, and none of others.
    """

    columns: np.ndarray
    moments: Any


def rows_at(columns, others, rows):
    """Return rows of a table of columns, and of one of the rest, for other columns.

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

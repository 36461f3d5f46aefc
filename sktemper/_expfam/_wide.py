"""Arrays in which most columns are equal, and sparse rows without entries in these."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

__all__ = ["ONE_IN", "Aligned", "Entries", "Wide", "rows_at"]

#: A dense array is used instead of `Wide` if more than one in this number of columns
#: has had an entry.
ONE_IN = 4


@dataclass(frozen=True)
class Wide:
    """An array of shape (n_rows, n_columns * n_each) with few different columns.

    A column is a group of ``n_each`` consecutive numbers.  The sum of two `Wide` is
    `Wide`, or an array if many columns differ.  The sum of a `Wide` and an array is an
    array, and `numpy.asarray` converts a `Wide` to an array.

    Attributes
    ----------
    columns : ndarray of int of shape (n_kept,)
        The columns that may differ from the others, in increasing order.
    values : ndarray of shape (n_rows, n_kept, n_each)
        The values of these columns.
    rest : ndarray of shape (n_rows, n_each)
        The value that all other columns share.
    n_columns : int
    """

    columns: np.ndarray
    values: np.ndarray
    rest: np.ndarray
    n_columns: int

    __array_ufunc__ = None  # so that NumPy calls __radd__ and __rmul__ of this class

    @classmethod
    def of_narrow(cls, columns, narrow, n_columns):
        """Return the `Wide` whose method `on` returns ``narrow`` for these columns."""
        groups = narrow.reshape(len(narrow), len(columns) + 1, -1)
        return cls(columns, groups[:, :-1], groups[:, -1], n_columns)

    def on(self, columns):
        """Return a dense array of some columns, and of a last one equal to all others.

        Parameters
        ----------
        columns : ndarray of int of shape (n,)
            Indices in increasing order, which include all indices in `columns`.

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
        if columns is other.columns:  # true for most blocks of a step
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
        """Return a `Wide` with the columns in another order, and with new columns.

        Parameters
        ----------
        places : ndarray of int
            For each column of the result, the index of the column in this object, or -1
            for a new column without entries.
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
    """A block of sparse rows with all columns, before it is `Aligned`.

    Attributes
    ----------
    X : CSR of shape (n_rows, n_features)
    """

    X: Any

    def columns(self):
        """Return the columns that have entries, in increasing order."""
        return np.unique(self.X.indices)

    def on(self, columns):
        """Return the rows on some columns and an empty last column.

        The result is None if another column has entries.
        """
        places = np.searchsorted(columns, self.X.indices)
        known = len(columns) > 0 or len(places) == 0
        if not known or (columns.take(places, mode="clip") != self.X.indices).any():
            return None
        shape = self.X.shape[0], len(columns) + 1
        return sparse.csr_array((self.X.data, places, self.X.indptr), shape=shape)


class Aligned(NamedTuple):
    """A block of sparse rows in the form that `WideMixtureModel` computes with.

    Attributes
    ----------
    columns : ndarray of int of shape (n,)
        Indices in increasing order.
    moments : CSR of shape (n_rows, (n + 1) * n_each)
        Moments of the entries minus the moments of an absent entry.  The last column
        represents all columns that are not in ``columns``, and is empty.
    """

    columns: np.ndarray
    moments: Any


def rows_at(columns, others, rows):
    """Return the rows of a table for other columns.

    Parameters
    ----------
    columns, others : ndarray of int
        Indices of columns in increasing order.
    rows : ndarray of shape (len(columns) + 1, ...)
        Table with a row for each of ``columns``.  The last row is for each other
        column.

    Returns
    -------
    rows : ndarray of shape (len(others) + 1, ...)
        Table of the same form for ``others``.
    """
    if others is columns:
        return rows
    places = np.searchsorted(columns, others)
    known = places < len(columns)
    known[known] = columns[places[known]] == others[known]
    return rows[np.append(np.where(known, places, -1), -1)]

"""Values of columns of data frames and arrays."""

import sys
from numbers import Real

import numpy as np
from scipy import sparse

__all__ = ["Values", "columns_of", "is_frame"]

#: Message about columns that are neither numbers nor text, such as dates.
NO_VALUES = "{} has the dtype {}; expected numbers or text."


class Values:
    """Values of one column.

    Parameters
    ----------
    name : str
        Name in error messages.
    values : ndarray of shape (n_rows,)
        Floats, with NaN for missing values, or objects, with None for missing values.
    declared : tuple or None
        Categories of the dtype of the column.
    weight : ndarray of shape (n_rows,) or None
        Weights of the rows; None means that all weights are 1.

    Raises
    ------
    ValueError
        If a value is infinite.
    """

    def __init__(self, name, values, declared=None, weight=None):
        self.name, self.values, self.declared = name, values, declared
        self.weight = weight
        if self.is_numeric and np.isinf(values).any():
            raise ValueError(f"Input X contains infinity: {name}.")

    def weighted(self, weight):
        """Return the same values with weights, without rows of weight 0."""
        counts = weight > 0
        values = self.values[counts]
        return Values(self.name, values, self.declared, weight[counts])

    def missing(self):
        """Return whether each value is missing."""
        if self.is_numeric:
            return np.isnan(self.values)
        return np.array([value is None for value in self.values], dtype=bool)

    def known(self):
        """Return the numbers that are not missing, and their weights."""
        numbers = self.numbers()
        is_known = ~np.isnan(numbers)
        weight = np.ones(len(numbers)) if self.weight is None else self.weight
        return numbers[is_known], weight[is_known]

    @property
    def is_numeric(self):
        """Whether the values are numbers."""
        return self.values.dtype.kind == "f"

    def numbers(self):
        """Return the values as floats; raise ValueError if they are not numbers."""
        if self.is_numeric:
            return self.values
        try:
            return np.array([np.nan if v is None else v for v in self.values], float)
        except (TypeError, ValueError):
            raise ValueError(
                f"{self.name} has values that are not numbers, such as "
                f"{next(v for v in self.values if isinstance(v, str))!r}: its kind "
                "must be 'categorical'."
            ) from None

    def categories(self):
        """Return the declared categories, or all distinct values in sorted order."""
        if self.declared is not None:
            return self.declared
        if self.is_numeric:
            return np.unique(self.values[~np.isnan(self.values)]).tolist()
        known = {value for value in self.values if value is not None}
        # numbers precede text, because numbers and text cannot be compared
        return sorted(known, key=lambda v: (isinstance(v, str), v))

    def coded(self, categories, option_values):
        """Return the numbers that represent values, and values that are not categories.

        Parameters
        ----------
        categories : tuple
        option_values : ndarray of shape (n_categories,)
            Numbers that represent the categories.

        Returns
        -------
        numbers : ndarray of shape (n_rows,)
            NaN for missing values, and for text that is not a category.
        unknown : list
        """
        if self.is_numeric:
            known = np.isin(self.values, option_values) | np.isnan(self.values)
            if not known.all():
                return self.values, np.unique(self.values[~known]).tolist()
            return self.values, []
        numbers = dict(zip(categories, option_values.tolist(), strict=True))
        found = np.array([numbers.get(v, np.nan) for v in self.values], dtype=float)
        unknown = np.isnan(found) & (self.values != None)  # noqa: E711, item by item
        return found, sorted(set(self.values[unknown]), key=str)

    def compressed(self, most=None):
        """Return the distinct numbers in increasing order, with their weights.

        If there are more than ``most`` distinct numbers, quantiles are returned.
        """
        known, weight = self.known()
        numbers, places = np.unique(known, return_inverse=True)
        totals = np.bincount(places, weight, len(numbers))
        if most is not None and len(numbers) > most:
            below = np.cumsum(totals)
            kept = np.searchsorted(below, np.arange(1, most) * below[-1] / most)
            kept = np.unique(np.concatenate([[0], kept, [len(numbers) - 1]]))
            numbers, totals = numbers[kept], np.diff(below[kept], prepend=0.0)
        return Values(self.name, numbers, self.declared, totals)

    def joined(self, other, most):
        """Return the union of both objects' numbers, compressed."""
        values = np.concatenate([self.values, other.values])
        weight = np.concatenate([self.weight, other.weight])
        return Values(self.name, values, self.declared, weight).compressed(most)


def is_frame(X):
    """Return whether data are a data frame of pandas or polars."""
    return any(
        name in sys.modules
        and isinstance(X, getattr(sys.modules[name], "DataFrame", ()))
        for name in ("pandas", "polars")
    )


def columns_of(X):
    """Yield the `Values` of each column of a data frame or of an array.

    Parameters
    ----------
    X : DataFrame or ndarray of shape (n_samples, n_features)

    Raises
    ------
    TypeError
        If values are neither numbers nor text, such as dates.
    """
    if not is_frame(X):
        for number in range(X.shape[1]):
            yield _of_array(f"Column {number} of X", X[:, number])
    elif type(X).__module__.startswith("polars"):
        for name in X.columns:
            yield _of_polars(f"Column {name!r}", X[name])
    else:
        for number, name in enumerate(X.columns):
            yield _of_pandas(f"Column {name!r}", X.iloc[:, number])


def _of_array(name, values):
    kind = values.dtype.kind
    if kind in "iuf":
        return Values(name, values.astype(float, copy=False))
    if kind == "b":
        return Values(name, values.astype(float), (False, True))
    if kind in "UT":
        return Values(name, values.astype(object))
    if kind != "O":
        raise TypeError(
            f"{name} has the dtype {values.dtype}; expected numbers or text."
        )
    return _of_objects(name, values)


def _of_objects(name, values, declared=None):
    """Return the values of an array of objects."""
    values = np.array([None if _is_missing(v) else v for v in values], dtype=object)
    for value in values:
        if not (value is None or isinstance(value, str | Real)):
            raise TypeError(
                f"{name} has a value of the type {type(value).__name__}: each argument "
                "must be a string or a number."
            )
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, bool | np.bool_) for value in known):
        return Values(name, _floats(values), (False, True))
    if not any(isinstance(value, str) for value in known):
        return Values(name, _floats(values))
    return Values(name, values, declared)


def _floats(values):
    return np.array([np.nan if v is None else v for v in values], dtype=float)


def _is_missing(value):
    """Return whether a value of an array of objects is missing."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _of_pandas(name, series):
    dtype = series.dtype
    if hasattr(dtype, "categories") and hasattr(dtype, "ordered"):
        categories = np.asarray(dtype.categories, dtype=object)
        values = np.full(len(series), None, dtype=object)
        codes = series.cat.codes.to_numpy()
        values[codes >= 0] = categories[codes[codes >= 0]]
        return Values(name, values, tuple(categories))
    if dtype.kind == "b":
        return Values(name, series.to_numpy(float, na_value=np.nan), (False, True))
    if dtype.kind in "iuf":
        if sparse.issparse(getattr(series.array, "sp_values", None)):
            series = series.sparse.to_dense()
        return Values(name, series.to_numpy(float, na_value=np.nan))
    if dtype.kind in "mM":
        raise TypeError(NO_VALUES.format(name, dtype))
    return _of_objects(name, series.to_numpy(object))


def _of_polars(name, series):
    polars = sys.modules["polars"]
    dtype = series.dtype
    if dtype.is_numeric():
        values = series.cast(polars.Float64).fill_null(float("nan"))
        return Values(name, values.to_numpy())
    if dtype == polars.Boolean:
        values = series.cast(polars.Float64).fill_null(float("nan"))
        return Values(name, values.to_numpy(), (False, True))
    if dtype.is_temporal():
        raise TypeError(NO_VALUES.format(name, dtype))
    declared = None
    if isinstance(dtype, polars.Enum):
        declared = tuple(dtype.categories.to_list())
    return _of_objects(name, np.array(series.to_list(), dtype=object), declared)

"""Values of the columns of data frames and arrays: numbers, text and booleans."""

import sys
from decimal import Decimal
from numbers import Integral, Real

import numpy as np
from scipy import sparse

from ._frames import is_frame, is_polars
from ._validation import INEXACT, check_values

#: Message about columns that are neither numbers nor text.
NO_VALUES = (
    "{} has {}; expected numbers or text. Convert dates to numbers, such as years, or "
    "to text; give each item of a list a column of its own; or leave the column out."
)
#: Types that become floats without a look at each item.
FLOAT_TYPES = {float, int, type(None)}
#: Names of the types of missing values of pandas.
MISSING_TYPES = ("NAType", "NaTType")
#: The types and the values of columns of booleans.
BOOLS = {bool, np.bool_}
BOOLEANS = (False, True)


class Values:
    """Values of one column: numbers, or indices of the items of a table.

    Parameters
    ----------
    name : str
        Name in error messages.
    entries : ndarray of shape (n_rows,)
        Floats, with NaN for missing values.  With a table, indices of its items, with
        -1 for missing values.
    table : list or None
        Text, booleans and numbers, which may repeat and may be unused.
    declared : tuple or None
        Categories of the dtype of the column.
    weight : ndarray of shape (n_rows,) or None
        Weights of the rows; None means that all weights are 1.
    """

    def __init__(self, name, entries, table=None, declared=None, weight=None):
        self.name, self.entries, self.table = name, entries, table
        self.declared, self.weight = declared, weight
        numbers = entries
        if table is not None:
            numbers = [value for value in table if type(value) is float]
        if np.isinf(numbers).any():
            raise ValueError(f"Input X contains infinity: {name}.")

    @property
    def is_numeric(self):
        return self.table is None

    @property
    def array(self):
        """The values as floats, with NaN, or as objects, with None if missing."""
        if self.is_numeric:
            return self.entries
        table = np.empty(len(self.table) + 1, dtype=object)  # the last item is None
        table[:-1] = self.table
        return table[self.entries]

    def weighted(self, weight):
        """Return the same values with weights, without rows of weight 0."""
        kept = weight > 0
        entries = self.entries[kept]
        return Values(self.name, entries, self.table, self.declared, weight[kept])

    def missing(self):
        return np.isnan(self.entries) if self.is_numeric else self.entries < 0

    def known(self):
        """Return the numbers that are not missing, and their weights."""
        numbers = self.numbers()
        check_values(numbers, np.float64, self.name)
        is_known = ~np.isnan(numbers)
        weight = np.ones(len(numbers)) if self.weight is None else self.weight
        return numbers[is_known], weight[is_known]

    def has_text(self):
        table = self.table or ()
        return any(isinstance(table[place], str) for place in self._used())

    def numbers(self):
        """Return the values as floats; raise ValueError if they are not numbers."""
        if self.is_numeric:
            return self.entries
        numbers = np.full(len(self.table) + 1, np.nan)
        for place in self._used():
            value = self.table[place]
            try:
                numbers[place] = float(value)
            except (TypeError, ValueError):
                raise ValueError(
                    f"{self.name} has values that are not numbers, such as "
                    f"{value!r}: its kind must be 'categorical'."
                ) from None
        return numbers[self.entries]

    def _used(self):
        """Return the indices of the items of the table that occur."""
        if self.is_numeric:
            return []
        used = np.bincount(self.entries + 1, minlength=len(self.table) + 1)[1:]
        return np.flatnonzero(used).tolist()

    def options(self):
        """Return the same values with a table in which every item occurs."""
        if self.is_numeric:
            known = ~np.isnan(self.entries)
            table, places = np.unique(self.entries[known], return_inverse=True)
            entries = np.full(len(self.entries), -1)
            entries[known] = places
            return Values(self.name, entries, table.tolist(), None, self.weight)
        used = self._used()
        if len(used) == len(self.table):
            return self
        places = np.full(len(self.table) + 1, -1)
        places[used] = np.arange(len(used))
        table = [self.table[place] for place in used]
        entries = places[self.entries]
        return Values(self.name, entries, table, self.declared, self.weight)

    def categories(self):
        """Return the declared categories, or all distinct values in sorted order."""
        if self.declared is not None:
            return self.declared
        table = self.options().table
        if not all(isinstance(value, bool | str) for value in table):
            # beside other numbers, True is 1
            table = [int(v) if isinstance(v, bool) else v for v in table]
        # numbers precede text, because numbers and text cannot be compared
        return sorted(set(table), key=lambda v: (isinstance(v, str), v))

    def compressed(self, most=None):
        """Return the distinct values, in increasing order if numbers, with weights.

        If there are more than ``most`` distinct numbers, quantiles are returned.
        """
        if not self.is_numeric:
            values = self.options()
            places = np.arange(len(values.table))
            weight = np.ones(len(self.entries)) if self.weight is None else self.weight
            known = values.entries >= 0
            totals = np.bincount(values.entries[known], weight[known], len(places))
            return Values(self.name, places, values.table, self.declared, totals)
        known, weight = self.known()
        numbers, places = np.unique(known, return_inverse=True)
        totals = np.bincount(places, weight, len(numbers))
        if most is not None and len(numbers) > most:
            cumulative = np.cumsum(totals)
            levels = np.arange(1, most) * cumulative[-1] / most
            kept = np.searchsorted(cumulative, levels)
            kept = np.unique(np.concatenate([[0], kept, [len(numbers) - 1]]))
            numbers, totals = numbers[kept], np.diff(cumulative[kept], prepend=0.0)
        return Values(self.name, numbers, None, self.declared, totals)

    def joined(self, other, most):
        """Return the union with ``other``, compressed; both must be compressed."""
        declared = self.declared if self.declared == other.declared else None
        one, table = self, None
        if not (one.is_numeric and other.is_numeric):
            one, other = one.options(), other.options()
            table = one.table + other.table
        shift = 0 if table is None else len(one.table)
        entries = np.concatenate([one.entries, other.entries + shift])
        weight = np.concatenate([one.weight, other.weight])
        return Values(self.name, entries, table, declared, weight).compressed(most)


def column_values(X):
    """Yield the `Values` of each column of a data frame or of an array."""
    if not is_frame(X):
        for number in range(X.shape[1]):
            yield _array_values(f"Column {number} of X", X[:, number])
    elif is_polars(X):
        for name in X.columns:
            yield _polars_values(f"Column {name!r}", X[name])
    else:
        for name, series in X.items():
            yield _pandas_values(f"Column {name!r}", series)


def _array_values(name, values):
    kind = values.dtype.kind
    if kind == "f":
        return Values(name, values.astype(float, copy=False))
    if kind in "iu":
        return _integer_values(name, values.astype(float), values.tolist)
    if kind == "b":
        return _boolean_values(name, values.astype(float))
    if kind not in "OUT":
        raise TypeError(NO_VALUES.format(name, f"the dtype {values.dtype}"))
    return _item_values(name, values.tolist())


def _pandas_values(name, series):
    dtype = series.dtype
    if hasattr(dtype, "categories") and hasattr(dtype, "ordered"):
        codes, table = series.array.codes, dtype.categories.tolist()
        return Values(name, codes.astype(np.intp), table, tuple(table))
    if dtype.kind == "f" and isinstance(dtype, np.dtype):
        return Values(name, series.to_numpy(float))
    if dtype.kind in "biuf":
        if sparse.issparse(getattr(series.array, "sp_values", None)):
            series = series.sparse.to_dense()
        numbers = series.to_numpy(float, na_value=np.nan)
        if dtype.kind == "b":
            return _boolean_values(name, numbers)
        if dtype.kind == "f":
            return Values(name, numbers)
        return _integer_values(name, numbers, lambda: series.to_numpy(object).tolist())
    if dtype.kind != "O" and dtype.kind != "U":
        raise TypeError(NO_VALUES.format(name, f"the dtype {dtype}"))
    return _item_values(name, series.to_numpy(object).tolist())


def _polars_values(name, series):
    polars, dtype = sys.modules["polars"], series.dtype
    if dtype.is_numeric() or dtype == polars.Boolean or isinstance(dtype, polars.Enum):
        codes = series.to_physical() if isinstance(dtype, polars.Enum) else series
        numbers = codes.cast(polars.Float64).to_numpy()  # NaN for missing values
        if dtype.is_float():
            return Values(name, numbers)
        if dtype.is_numeric():
            return _integer_values(name, numbers, series.to_list)
        if dtype == polars.Boolean:
            return _boolean_values(name, numbers)
        table = dtype.categories.to_list()
        return Values(name, _codes(numbers), table, tuple(table))
    if dtype.is_temporal() or dtype.is_nested() or dtype == polars.Binary:
        raise TypeError(NO_VALUES.format(name, f"the dtype {dtype}"))
    return _item_values(name, series.to_list())


def _boolean_values(name, numbers):
    """Return the values of a column of 0, 1, and NaN for missing values."""
    return Values(name, _codes(numbers), [*BOOLEANS], BOOLEANS)


def _codes(numbers):
    """Return floats as indices, with -1 in place of NaN."""
    return np.where(np.isnan(numbers), -1.0, numbers).astype(np.intp)


def _integer_values(name, numbers, items):
    """Return floats, or the integers ``items()`` if floats would merge some."""
    if (np.abs(numbers) >= INEXACT).any():
        return _item_values(name, items(), tries_floats=False)
    return Values(name, numbers)


def _item_values(name, items, tries_floats=True):
    """Return the values of a list of text, booleans, numbers and missing values."""
    types = set(map(type, items))
    if tries_floats and types <= FLOAT_TYPES:
        try:
            return _integer_values(name, np.array(items, dtype=float), lambda: items)
        except OverflowError:
            pass  # `_python_value` raises an error about this integer
    _check_types(name, types, items)
    # True == 1, but they read differently
    others = [kind for kind in types - BOOLS if issubclass(kind, Real | Decimal)]
    are_pairs = bool(types & BOOLS and others)
    keys = list(zip(map(type, items), items, strict=True)) if are_pairs else items
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    entries = np.array([places[key] for key in keys], dtype=np.intp)
    table = [_python_value(name, key[1] if are_pairs else key) for key in places]
    return _without_missing(name, entries, table)


def _without_missing(name, entries, table):
    """Return `Values` for entries of a table in which some items are None."""
    known = [value for value in table if value is not None]
    is_text = any(isinstance(value, str) for value in known)
    if not is_text and max(map(abs, known), default=0) < INEXACT:
        numbers = np.array([np.nan if v is None else v for v in table], dtype=float)
        if known and all(isinstance(value, bool) for value in known):
            return _boolean_values(name, numbers[entries])
        if not any(isinstance(value, bool) for value in known):
            return Values(name, numbers[entries])
    if len(known) < len(table):
        is_known = np.array([value is not None for value in table])
        entries = np.where(is_known, np.cumsum(is_known) - 1, -1)[entries]
    return Values(name, entries, known)


def _check_types(name, types, items):
    """Raise if items are neither text nor numbers nor missing values."""
    wrong = {
        kind
        for kind in types - FLOAT_TYPES
        if not issubclass(kind, str | Real | Decimal | np.bool_)
        and kind.__name__ not in MISSING_TYPES
    }
    if wrong:
        value = next(value for value in items if type(value) in wrong)
        what = f"a value of the type {type(value).__name__}, {str(value)[:40]!r}"
        raise TypeError(NO_VALUES.format(name, what))


def _python_value(name, value):
    """Return a str, bool, int or float for a value of any type; None if missing."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if not isinstance(value, Real | Decimal) or value != value:
        return None
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(
            f"{name} has an integer that is too large for a float: divide such "
            "numbers by a constant, or convert them to text."
        ) from None
    is_exact = isinstance(value, Integral)
    if isinstance(value, Decimal) and abs(number) >= INEXACT:
        is_exact = value == value.to_integral_value()
    return int(value) if is_exact else number

"""Descriptions of columns of several kinds, and numeric codes of their values."""

import functools
import itertools
import sys
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._utils._cache import read_only
from .._utils._frames import is_frame, is_polars
from ._shapes import FEW_VALUES, shape_of

# -- values of columns of data frames and arrays ---------------------------------------
#: Message about columns that are neither numbers nor text.
NO_VALUES = (
    "{} has {}; expected numbers or text. Convert dates to numbers, such as years, or "
    "to text; give each item of a list a column of its own; or leave the column out."
)
#: From this integer on, floats do not represent every integer.
INEXACT = 2**53
#: Types that become floats without a look at each item.
FLOAT_TYPES = {float, int, type(None)}
#: Names of the types of missing values of pandas.
MISSING = ("NAType", "NaTType")
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
    if types == {str}:  # the most common type needs none of the checks below
        places = {text: place for place, text in enumerate(dict.fromkeys(items))}
        entries = np.array([places[text] for text in items], dtype=np.intp)
        return Values(name, entries, list(places))
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
        and kind.__name__ not in MISSING
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


# -- descriptions of columns of several kinds, and numeric codes of their values -------
#: Kinds of columns.
KINDS = (
    "categorical",
    "binary",
    "gaussian",
    "lognormal",
    "poisson",
    "binned",
    "histogram",
)
#: The kinds whose options are intervals.
WITH_INTERVALS = ("binned", "histogram")
#: The kinds whose values are options.
WITH_OPTIONS = ("categorical", "binary", *WITH_INTERVALS)
#: Least number of rows of an interval in the tails of a histogram.
LEAST_ROWS = 10
#: Remedy in error messages.
REMEDY = 'Name another kind, as in kinds={"column": "categorical"}, or leave it out.'


class Column(NamedTuple):
    """Description of one column.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    categories : tuple
        Values of the options of a categorical or binary column, in the order of their
        codes, or labels of the intervals of a binned column.  Empty for other kinds.
    edges : tuple of float
        Boundaries between the intervals of a column.  A boundary belongs to the
        interval below it.
    centres : tuple of float
        Mean training value in each interval of a column.
    location, scale : float
        Mean and standard deviation of the training values of a Gaussian column, or of
        their logarithms, which the model standardizes: (x - location) / scale.
    ends : tuple of (float, float)
        Lowest and highest value of each interval of a histogram.
    lengths : tuple of float
        Length of each interval of a histogram, by which its probability is divided: the
        number of values of whole numbers, and 1 for a single value of others.
    log_unit : float
        Mean over the training values of the logarithm of the derivative of a value, or
        of the length of its interval, if it varies.
    """

    kind: str
    categories: tuple = ()
    edges: tuple = ()
    centres: tuple = ()
    location: float = 0.0
    scale: float = 1.0
    ends: tuple = ()
    lengths: tuple = ()
    log_unit: float = 0.0

    @property
    def part(self):
        """Part of the model: "options", "counts" or "normals"."""
        if self.kind in WITH_OPTIONS:
            return "options"
        return "counts" if self.kind == "poisson" else "normals"

    @property
    def n_options(self):
        return max(1, len(self.categories)) if self.kind in WITH_OPTIONS else 0

    @property
    def option_values(self):
        """Numbers that represent the options of a categorical column.

        These are the categories themselves, or codes 0, 1, ... if some categories are
        text, or the same float.
        """
        return _option_values(self.categories)[0]

    def numbers(self, values):
        """Return the numbers that represent values, and the unknown values.

        Returns
        -------
        numbers : ndarray of float of shape (n_rows,)
            NaN for values that are missing, or not among the categories.  It is the
            array of the values itself if their numbers are the same.
        unknown : list
            Distinct values that are not categories.
        """
        if self.kind in ("categorical", "binary"):
            return self._encode(values)
        numbers = values.numbers()
        if self.kind == "poisson":
            _check_counts(numbers, values.name)
        if self.kind == "lognormal" and (numbers <= 0).any():
            unknown = np.unique(numbers[numbers <= 0]).tolist()
            return np.where(numbers > 0, numbers, np.nan), unknown
        return numbers, []

    def _encode(self, values):
        """Return the numbers of options, and the distinct unknown values."""
        option_values, ordered = _option_values(self.categories)
        if values.is_numeric and ordered is not None:
            entries = values.entries
            nearest = ordered.take(ordered.searchsorted(entries), mode="clip")
            if ((nearest == entries) | np.isnan(entries)).all():
                return entries, []
        values = values.options() if values.is_numeric else values
        places = _places(values.table, self.categories)
        # -1, in places and in entries, selects the NaN
        numbers = np.append(option_values, np.nan)[[*places, -1]][values.entries]
        if -1 not in places:
            return numbers, []
        unknown = values.weighted(np.isnan(numbers)).options().table
        return numbers, [_plain_category(value) for value in unknown]

    @property
    def has_own_values(self):
        """Whether the `option_values` are the categories themselves."""
        return _option_values(self.categories)[1] is not None

    @property
    def labels(self):
        """Texts of the categories, all different: the text "1" beside 1 is "'1'"."""
        texts = list(map(str, self.categories))
        are_different = len(set(texts)) == len(texts)
        return texts if are_different else list(map(repr, self.categories))

    @property
    def fits_float32(self):
        """Whether `option_values` are exact in float32."""
        numbers = self.option_values
        return bool((numbers == numbers.astype(np.float32)).all())

    def decode(self, codes):
        """Return the values of options, in an array of the type of the categories.

        The codes of a column without options are the values themselves.  An interval
        is represented by its mean training value.
        """
        if self.kind in WITH_INTERVALS:
            return np.asarray(self.centres)[codes.astype(int)]
        if not self.n_options:
            return codes
        if not self.categories:  # no value was seen
            return np.full(len(codes), None, dtype=object)
        categories = np.empty(len(self.categories), dtype=object)
        categories[:] = self.categories
        types = set(map(type, self.categories))
        if types == {bool}:
            categories = categories.astype(bool)
        elif types <= {int, float} and max(map(abs, self.categories)) < INEXACT:
            categories = categories.astype(float if float in types else int)
        return categories[codes.astype(int)]

    def draw(self, codes, random):
        """Return values of a histogram that are uniform in intervals."""
        (low, high), lengths = np.array(self.ends)[codes].T, np.array(self.lengths)
        below = lengths[codes] * random.random(len(codes))
        is_whole = lengths[codes] != high - low
        return high - np.where(is_whole, np.floor(below), below)


@functools.lru_cache
def _option_values(categories):
    """Return the `Column.option_values` of categories; the last results are cached.

    The second array has the same numbers in increasing order.  It is None if there are
    no categories, or if the numbers are not the categories themselves.
    """
    numbers = np.arange(len(categories), dtype=float)
    if all(isinstance(category, Real) for category in categories):
        values = np.array(categories, dtype=float)
        if len(set(values.tolist())) == len(values):
            numbers = values
    are_categories = len(numbers) and tuple(numbers.tolist()) == categories
    return read_only(numbers), read_only(np.sort(numbers)) if are_categories else None


def _places(values, categories):
    """Return the index of the category of each value, or -1.

    Equal numbers are the same value: 1, 1.0, True, Decimal(1).  Other values have the
    category that reads the same, so that the number 1 has the category "1", and the
    text "1.0" the category 1.  Types of containers and other rows have no influence.
    """
    places = {category: place for place, category in enumerate(categories)}
    found = [places.get(value, -1) for value in values]
    if -1 not in found:
        return found
    text_places = {}
    for category, place in places.items():
        for text in _readings(category):
            text_places.setdefault(text, place)
    for number, value in enumerate(values):
        if found[number] == -1:
            matches = (text_places[t] for t in _readings(value) if t in text_places)
            found[number] = next(matches, -1)
    return found


def _readings(value):
    """Return the texts that represent a value, the most common one first.

    A float that came from single precision also reads as the shorter number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return (str(value),)
    number = float(value)
    if isinstance(value, int) or number.is_integer():
        return str(int(value)), *([repr(number)] if number == value else [])
    with np.errstate(over="ignore"):
        single = np.float32(number)
    return repr(number), *([str(single)] if single == number else [])


#: Types of the values of a row that `row_numbers` converts.
PLAIN_TYPES = {str, int, float, np.int64, np.float64}


def row_numbers(X, columns):
    """Return the numbers of a data frame with one row, of shape (1, n_features).

    The conversion of whole columns would take longer than all other computations with
    one row.

    Parameters
    ----------
    X : DataFrame
    columns : tuple of Column

    Returns
    -------
    numbers : ndarray or None
        None if some value is no text or number that is exact as a float, or does not
        fit its column.
    """
    row = X.row(0) if is_polars(X) else X.iloc[0].tolist()
    numbers = []
    for column, value in zip(columns, row, strict=True):
        if type(value) not in PLAIN_TYPES:
            return None
        if value != value:
            numbers.append(np.nan)
            continue
        is_exact = isinstance(value, str) or abs(value) < INEXACT
        if is_exact and column.kind in ("categorical", "binary"):
            value = _numbers_by_category(column.categories).get(value)
        elif not is_exact or isinstance(value, str):
            return None
        elif column.kind == "poisson" and (value < 0 or value != int(value)):
            return None
        elif column.kind == "lognormal" and value <= 0:
            return None
        numbers.append(value)
    return None if None in numbers else np.array([numbers], dtype=float)


@functools.lru_cache
def _numbers_by_category(categories):
    return dict(zip(categories, _option_values(categories)[0].tolist(), strict=True))


def declared_kinds(kinds, names, n_features):
    """Return the kinds that the user set, and None for other columns.

    Parameters
    ----------
    kinds : str, dict or sequence of str
        "auto", "from_dtype" or a kind, for all columns; a dict of these by name or
        index of columns; or one for each column.
    names : sequence or None
        Names of the columns, if the data have any.
    n_features : int
    """
    if isinstance(kinds, str):
        given = dict.fromkeys(range(n_features), kinds)
    elif isinstance(kinds, dict):
        given = by_column_index(kinds, names, n_features, "kinds")
    else:
        if len(kinds) != n_features:
            raise ValueError(
                f"kinds has {len(kinds)} entries, but X has {n_features} columns."
            )
        given = dict(enumerate(kinds))
    for kind in given.values():
        if kind not in (None, "auto", "from_dtype", *KINDS):
            raise ValueError(
                f"kinds must be 'auto', 'from_dtype' or one of {list(KINDS)}, for all "
                f"columns or for each, got {kind!r}."
            )
    return [
        None if given.get(number) == "auto" else given.get(number)
        for number in range(n_features)
    ]


def by_column_index(given, names, n_features, parameter):
    """Return a dict in which column indices replace column names as keys."""
    names = range(n_features) if names is None else list(names)
    places = {name: place for place, name in enumerate(names)}
    # integers are indices unless the columns have labels of other types
    if all(isinstance(name, str) for name in names):
        places |= {place: place for place in range(n_features)}
    found = {}
    for key, value in given.items():
        place = None if isinstance(key, bool) else places.get(key)
        if place is None:
            raise ValueError(
                f"{parameter} has the key {key!r}, which is no column of X: "
                f"{list(places)[:20]}."
            )
        found[place] = value
    return found


def declared_options(given, name):
    """Return the categories that the user declared for a column as a list."""
    is_list = hasattr(given, "__iter__") and not isinstance(
        given, str | bytes | dict | set | frozenset
    )
    options = list(given) if is_list else [None]  # refused below
    if any(option is None or option != option for option in options):
        raise ValueError(
            f"categories must have a list of all options of {name}, such as "
            f"['no', 'yes'] or [1, 2, 3], without missing values; got {given!r}."
        )
    return options


def chosen_kinds(columns, kinds, categories):
    """Return a kind of `KINDS` for each column.

    Parameters
    ----------
    columns : sequence of Values
        Distinct values and their weights.
    kinds : sequence of str or None
        "from_dtype" chooses the kind by the type of the values; None also by the shape
        of the distribution of numbers.
    categories : dict of sequences by index
        Categories that the user declared.
    """
    found = list(kinds)
    for number, (values, kind) in enumerate(zip(columns, kinds, strict=True)):
        if kind in (None, "from_dtype"):
            is_declared = number in categories
            found[number] = "categorical" if is_declared else _kind_by_type(values)
    only_numbers = not {"categorical", "binary"} & set(found)
    return [
        shape_of(*values.known(), only_numbers)
        if given is None and kind == "gaussian"
        else kind
        for values, kind, given in zip(columns, found, kinds, strict=True)
    ]


def describe(values, kind, categories=None, n_bins=5):
    """Return the `Column` that describes training values.

    Parameters
    ----------
    values : Values
        Values and their weights, which means and quantiles take into account.
    kind : str
        One of `KINDS`.
    categories : sequence or None
        Categories that the user declared.
    n_bins : int
        Number of intervals of a binned column, and least number of a histogram.
    """
    if kind in ("categorical", "binary"):
        if categories is None:
            categories = values.categories()
        else:
            categories = declared_options(categories, values.name)
        categories = tuple(map(_plain_category, categories))
        _check_categories(kind, categories, values.name)
        return Column(kind, categories)
    known, weight = values.known()
    if kind == "binned":
        return _binned(known, weight, n_bins)
    if kind == "histogram":
        return _histogram(known, weight, n_bins)
    if kind == "poisson":
        _check_counts(known, values.name)
    if kind == "poisson" or not len(known):
        return Column(kind)
    if kind == "lognormal":
        known = _logarithms_of(known, values.name)
    location = float(weight @ known / weight.sum())
    scale = float(np.sqrt(weight @ (known - location) ** 2 / weight.sum()))
    return Column(
        kind,
        location=location,
        scale=scale if scale > 0 else 1.0,
        log_unit=location if kind == "lognormal" else 0.0,
    )


def _logarithms_of(numbers, name):
    if (numbers <= 0).any():
        raise ValueError(
            f"{name} is of the kind 'lognormal', but has values that are not positive. "
            f"{REMEDY}"
        )
    return np.log(numbers)


def _kind_by_type(values):
    """Return the default kind of a column for the type of its values."""
    if values.declared is not None or values.has_text():
        return "categorical"
    known, _ = values.known()
    is_whole = len(known) > 0 and bool((known == np.rint(known)).all())
    if is_whole and len(values.categories()) <= FEW_VALUES:
        return "categorical"
    return "gaussian"


def _check_counts(numbers, name):
    if (numbers < 0).any() or (numbers != np.rint(numbers))[~np.isnan(numbers)].any():
        raise ValueError(
            f"{name} is of the kind 'poisson', but has values that are not counts: "
            f"negative numbers, or fractions. {REMEDY}"
        )


def _check_categories(kind, categories, name):
    if len(set(categories)) < len(categories):
        raise ValueError(f"The categories of {name} are not all different.")
    if kind == "binary" and len(categories) > 2:
        raise ValueError(
            f"{name} is of the kind 'binary', but has {len(categories)} values, such "
            f"as {list(categories)[:4]}. {REMEDY}"
        )


def _binned(known, weight, n_bins):
    """Return the description of a column with intervals between quantiles."""
    edges = _quantiles(known, weight, np.arange(1, n_bins), n_bins)
    codes = np.searchsorted(edges, known, side="left")
    sums = np.bincount(codes, weight * known, len(edges) + 1)
    totals = np.bincount(codes, weight, len(edges) + 1)
    centres = sums / np.where(totals > 0, totals, 1.0)
    return Column("binned", _labels(edges), _floats(edges), _floats(centres))


def _quantiles(known, weight, levels, n_bins):
    """Return the different quantiles at ``levels / n_bins``, below the maximum."""
    if not len(known):
        return np.empty(0)
    order = np.argsort(known, kind="stable")
    cumulative = np.cumsum(weight[order])
    places = np.searchsorted(cumulative, levels * cumulative[-1] / n_bins)
    edges = np.unique(known[order][places])
    return edges[edges < known.max()]


def _labels(edges):
    """Return texts that describe the intervals between edges."""
    if not len(edges):
        return ("all",)
    labels = [f"({low:.6g}, {high:.6g}]" for low, high in itertools.pairwise(edges)]
    return f"<= {edges[0]:.6g}", *labels, f"> {edges[-1]:.6g}"


def _floats(numbers):
    return tuple(np.asarray(numbers).tolist())


def _histogram(known, weight, least_bins):
    """Return the description of a column with a density constant in each interval.

    The number of intervals of equal weights is the cube root of the number of rows, or
    larger; the first and the last of them are divided in halves of their weights, and
    the outer halves again, down to `LEAST_ROWS`.  A value whose weight is at least that
    of an interval has an interval of its own.
    """
    if not len(known):
        return _binned(known, weight, 1)._replace(
            kind="histogram", ends=((0.0, 0.0),), lengths=(1.0,)
        )
    n_bins = max(least_bins, int(np.ceil(np.cbrt(weight.sum()))))
    values, places = np.unique(known, return_inverse=True)
    totals = np.bincount(places, weight)
    least = totals.sum() / n_bins
    heavy = np.flatnonzero(totals >= least)
    before = values[heavy[heavy > 0] - 1]
    n_halves = int(np.log2(max(1.0, least / LEAST_ROWS)))
    tails = 0.5 ** np.arange(1, n_halves + 1)
    levels = np.concatenate([tails, np.arange(1, n_bins), n_bins - tails])
    quantiles = _quantiles(known, weight, levels, n_bins)
    edges = np.unique(np.concatenate([quantiles, before]))
    codes = np.searchsorted(edges, values, side="left")
    shares = np.bincount(codes, totals, len(edges) + 1)
    centres = np.bincount(codes, totals * values, len(edges) + 1) / shares
    lows, highs = np.append(values[0], edges), np.append(edges, values[-1])
    if (values == np.rint(values)).all():
        lows[1:] += 1.0
        lengths = highs - lows + 1.0
    else:
        is_atom = (np.bincount(codes) == 1) & (shares >= least)
        lows = np.where(is_atom, highs, lows)
        lengths = np.where(highs > lows, highs - lows, 1.0)
    return Column(
        "histogram",
        _labels(edges),
        _floats(edges),
        _floats(centres),
        ends=tuple(zip(_floats(lows), _floats(highs), strict=True)),
        lengths=_floats(lengths),
        log_unit=float(shares @ np.log(lengths) / shares.sum()),
    )


def _plain_category(value: Any):
    """Return a Python scalar for another one, and an int for an integral float."""
    value = value.item() if isinstance(value, np.generic) else value
    value = float(value) if isinstance(value, Decimal) else value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value

"""Descriptions of columns of several kinds, and numeric codes of their values."""

import functools
import itertools
from datetime import datetime, time
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from .._estimator._shapes import FEW_VALUES, LEAST_ROWS, shape_of
from .._utils._cache import read_only
from .._utils._dates import as_moment
from .._utils._frames import is_polars
from .._utils._values import INEXACT

#: The kinds whose options are values, and those whose options are intervals.
WITH_CATEGORIES, WITH_INTERVALS = ("categorical", "binary"), ("binned", "histogram")
#: The kinds that have options.
WITH_OPTIONS = (*WITH_CATEGORIES, *WITH_INTERVALS)
#: Kinds of columns.
KINDS = (*WITH_CATEGORIES, "gaussian", "lognormal", "poisson", *WITH_INTERVALS)
#: The density beyond the ends of a histogram falls by this power of the distance.
DECAY = 3.0
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
        Ends of each interval of a histogram, between which its density is constant.
        Those of whole numbers are halfway between these; those of a single frequent
        value (an atom) are equal.
    lengths : tuple of float
        Length of each interval of a histogram, or 1 for an atom, divided by the share
        of the interval's probability that is between its ends.
    beyond : tuple of float
        Share of the probability of each interval of a histogram that is in the gap
        below its lower end, or, for the first and the last interval, beyond the end.
    is_whole : bool
        Whether all values of a histogram are whole numbers.
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
    beyond: tuple = ()
    is_whole: bool = False
    _new_fields = ("beyond", "is_whole")  # earlier pickles lack them

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
    def histogram(self):
        """The `Histogram` of a column of this kind, or None."""
        return Histogram(self) if self.kind == "histogram" else None

    @property
    def option_values(self):
        """Numbers that represent the options of a categorical column.

        These are the categories themselves, or codes 0, 1, ... if some categories are
        text, or the same float.
        """
        return _option_values(self.categories)[0]

    @property
    def option_scores(self):
        """Numbers of options for correlations, 0 for more than two texts."""
        if self.kind in WITH_INTERVALS:
            return np.array(self.centres)
        has_scores = self.has_own_values or len(self.categories) == 2
        return self.option_values if has_scores else np.zeros(self.n_options)

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
        if self.kind in WITH_CATEGORIES:
            return self._encode(values)
        numbers = values.numbers()
        if self.kind == "poisson":
            _check_counts(numbers, values.name)
        if self.kind == "lognormal" and (numbers <= 0).any():
            return numbers, np.unique(numbers[numbers <= 0]).tolist()
        return numbers, []

    def _encode(self, values):
        """Return the numbers of options, and the distinct unknown values."""
        option_values, ordered, _ = _option_values(self.categories)
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


class Histogram:
    """The density of a column in each interval of its histogram.

    It is constant between the ends of the interval.  A small share of the probability
    is in the gap between the intervals of a frequent value and of the value below it,
    where the density is constant, or beyond the lowest or the highest value, where it
    falls by the power `DECAY` of the distance.

    Parameters
    ----------
    column : Column
    """

    def __init__(self, column):
        self.low, self.high = np.array(column.ends).T
        # descriptions of earlier versions have no shares
        share = column.beyond or 1.0 / (1.0 + DECAY)
        self.share = np.broadcast_to(share, self.low.shape)
        self.logs = -np.log(column.lengths)
        self.gaps = np.append(0.0, self.low[1:] - self.high[:-1])
        spread = self.high[-1] - self.low[0] or abs(self.high[-1]) or 1.0
        self.scale = np.where(self.high > self.low, self.high - self.low, spread)
        self.is_whole = column.is_whole

    def log_densities(self, values, codes):
        """Return the logarithms of densities, of probability 1 in each interval."""
        logs = self.logs[codes]
        distance = np.maximum(self.low[codes] - values, values - self.high[codes])
        outside = np.flatnonzero(distance > 0)
        if len(outside):
            codes, gaps = codes[outside], self.gaps[codes[outside]]
            is_gap = (gaps > 0) & (values[outside] < self.low[codes])
            ratio = distance[outside] / self.scale[codes]
            tails = np.log((DECAY - 1.0) / self.scale[codes]) - DECAY * np.log1p(ratio)
            tails = np.where(is_gap, -np.log(np.where(is_gap, gaps, 1.0)), tails)
            logs[outside] = np.log(self.share[codes]) + tails
        return np.where(np.isnan(values), 0.0, logs)

    def draw(self, codes, random):
        """Return values in intervals."""
        place, region = random.random((2, len(codes)))
        low, high, share = self.low[codes], self.high[codes], self.share[codes]
        values = high - (high - low) * place
        tails = self.scale[codes] * ((1.0 - place) ** (1.0 / (1.0 - DECAY)) - 1.0)
        gaps = self.gaps[codes]
        below = np.where(gaps > 0, low - gaps * place, low - tails)
        is_below = (region < share) & ((codes == 0) | (gaps > 0))
        is_above = (region > 1.0 - share) & (codes == len(self.low) - 1)
        values = np.where(is_below, below, np.where(is_above, high + tails, values))
        return np.rint(values) if self.is_whole else values


@functools.lru_cache
def _option_values(categories):
    """Return the `Column.option_values` of categories; the last results are cached.

    The second array has the same numbers in increasing order.  It is None if there are
    no categories, or if the numbers are not the categories themselves.  A dict has the
    numbers by category.
    """
    numbers = np.arange(len(categories), dtype=float)
    if all(isinstance(category, Real) for category in categories):
        values = np.array(categories, dtype=float)
        if len(set(values.tolist())) == len(values):
            numbers = values
    are_categories = len(numbers) and tuple(numbers.tolist()) == categories
    ordered = read_only(np.sort(numbers)) if are_categories else None
    return (
        read_only(numbers),
        ordered,
        dict(zip(categories, numbers.tolist(), strict=True)),
    )


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

    A float that came from single precision also reads as the shorter number, and a time
    at midnight as the date.
    """
    if isinstance(moment := as_moment(value), datetime):
        is_day = moment == datetime.combine(moment, time.min, moment.tzinfo)
        return str(value), str(moment), *([str(moment.date())] if is_day else [])
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
        if is_exact and column.kind in WITH_CATEGORIES:
            value = _option_values(column.categories)[2].get(value)
        elif not is_exact or isinstance(value, str):
            return None
        elif column.kind == "poisson" and (value < 0 or value != int(value)):
            return None
        elif column.kind == "lognormal" and value <= 0:
            return None
        numbers.append(value)
    return None if None in numbers else np.array([numbers], dtype=float)


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
    kinds = map(given.get, range(n_features))
    return [None if kind == "auto" else kind for kind in kinds]


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
    only_numbers = not any(
        kind in WITH_CATEGORIES and len(values.entries) > 1
        for values, kind in zip(columns, found, strict=True)
    )
    for number, (values, given) in enumerate(zip(columns, kinds, strict=True)):
        if given is None and found[number] == "gaussian":
            found[number] = shape_of(*values.known(), only_numbers)
    return found


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
    if kind in WITH_CATEGORIES:
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
        if (known <= 0).any():
            _refuse_kind(values.name, kind, "values that are not positive")
        known = np.log(known)
    location = float(weight @ known / weight.sum())
    scale = float(np.sqrt(weight @ (known - location) ** 2 / weight.sum()))
    return Column(
        kind,
        location=location,
        scale=scale if scale > 0 else 1.0,
        log_unit=location if kind == "lognormal" else 0.0,
    )


def _refuse_kind(name, kind, values):
    raise ValueError(f"{name} is of the kind {kind!r}, but has {values}. {REMEDY}")


def _kind_by_type(values):
    """Return the default kind of a column for the type of its values."""
    if values.declared is not None or values.has_text():
        return "categorical"
    known, weight = values.known()
    is_whole = len(known) > 0 and bool((known == np.rint(known)).all())
    if is_whole and len(values.categories()) <= FEW_VALUES:
        return "categorical"
    # a normal density of a constant would grow without limit
    return "histogram" if len(known) == 1 < weight.sum() else "gaussian"


def _check_counts(numbers, name):
    if (numbers < 0).any() or (numbers != np.rint(numbers))[~np.isnan(numbers)].any():
        fault = "values that are not counts: negative numbers, or fractions"
        _refuse_kind(name, "poisson", fault)


def _check_categories(kind, categories, name):
    if len(set(categories)) < len(categories):
        raise ValueError(f"The categories of {name} are not all different.")
    if kind == "binary" and len(categories) > 2:
        fault = f"{len(categories)} values, such as {list(categories)[:4]}"
        _refuse_kind(name, kind, fault)


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
    of an interval has an interval of its own.  The share of an interval of n rows that
    is beyond its ends is about 1 / n, the probability that the next value exceeds n
    equally probable ones, and about 1 / n^2 for a single value.
    """
    if not len(known):
        return _binned(known, weight, 1)._replace(
            kind="histogram", ends=((0.0, 0.0),), lengths=(2.0,)
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
    shares, n_values = np.bincount(codes, totals), np.bincount(codes)
    is_atom = (n_values == 1) & (shares >= least)
    whole = bool((values == np.rint(values)).all() and abs(values).max() < INEXACT / 2)
    lows, highs = _ends(values, edges, is_atom, 0.5 * whole)
    beyond = 1.0 / (1.0 + np.maximum(shares**2 / n_values, DECAY))
    n_beyond = np.append(1, lows[1:] > highs[:-1])  # below and above an interval
    n_beyond[-1] += 1
    lengths = np.where(highs > lows, highs - lows, 1.0) / (1.0 - n_beyond * beyond)
    return Column(
        "histogram",
        _labels(edges),
        _floats(highs[:-1]),
        _floats(np.bincount(codes, totals * values) / shares),
        ends=tuple(zip(_floats(lows), _floats(highs), strict=True)),
        lengths=_floats(lengths),
        log_unit=float(shares @ np.log(lengths) / shares.sum()),
        beyond=_floats(beyond),
        is_whole=whole,
    )


def _ends(values, edges, is_atom, half):
    """Return the lowest and highest points of intervals; below an atom is a gap.

    ``half`` is half of the distance between values that are whole numbers, or 0.
    """
    highs = np.append(edges, values[-1]) + half
    lows = np.append(values[0] - half, highs[:-1])
    return np.where(is_atom, highs - 2.0 * half, lows), highs


def _plain_category(value: Any):
    """Return a Python scalar for another one, and an int for an integral float."""
    value = value.item() if isinstance(value, np.generic) else value
    value = float(value) if isinstance(value, Decimal) else value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value

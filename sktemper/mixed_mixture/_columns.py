"""Descriptions of columns of several kinds, and numeric codes of their values."""

from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ._values import INEXACT

__all__ = ["KINDS", "Column", "by_number", "described", "kinds_of"]

#: Kinds of columns.
KINDS = ("categorical", "binary", "gaussian", "poisson", "binned")
#: The kinds whose values are options.
WITH_OPTIONS = ("categorical", "binary", "binned")
#: Columns of integers with at most this number of distinct values are categorical.
FEW_VALUES = 10
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
        Boundaries between the intervals of a binned column.  A boundary belongs to the
        interval below it.
    centres : tuple of float
        Mean training value in each interval of a binned column.
    location, scale : float
        Mean and standard deviation of the training values of a Gaussian column, which
        the model standardizes: (x - location) / scale.
    """

    kind: str
    categories: tuple = ()
    edges: tuple = ()
    centres: tuple = ()
    location: float = 0.0
    scale: float = 1.0

    @property
    def n_options(self):
        """Number of options, 0 for a Gaussian or Poisson column."""
        return max(1, len(self.categories)) if self.kind in WITH_OPTIONS else 0

    @property
    def option_values(self):
        """Numbers that represent the options of a categorical column.

        These are the categories themselves, or codes 0, 1, ... if some categories are
        text, or the same float.
        """
        if all(isinstance(category, Real) for category in self.categories):
            numbers = np.array(self.categories, dtype=float)
            if len(set(numbers.tolist())) == len(numbers):
                return numbers
        return np.arange(len(self.categories), dtype=float)

    def numbers(self, values):
        """Return the numbers that represent values, and the unknown values.

        Parameters
        ----------
        values : Values

        Returns
        -------
        numbers : ndarray of float of shape (n_rows,)
            NaN for values that are missing, or not among the categories.  It is the
            array of the values itself if their numbers are the same.
        unknown : list
            Distinct values that are not categories.

        Raises
        ------
        ValueError
            If values do not fit the kind of the column.
        """
        if self.kind in ("categorical", "binary"):
            return self._coded(values)
        numbers = values.numbers()
        if self.kind == "poisson":
            _check_counts(numbers, values.name)
        return numbers, []

    def _coded(self, values):
        """Return the numbers of options, and the distinct unknown values."""
        own = self.option_values
        if values.is_numeric and self.is_own(own):
            entries = values.entries
            if (np.isnan(entries) | np.isin(entries, own)).all():
                return entries, []
        values = values.options() if values.is_numeric else values
        places = _places(values.table, self.categories)
        numbers = np.append(own, np.nan)[[*places, -1]][values.entries]
        if -1 not in places:
            return numbers, []
        unknown = values.weighted(np.isnan(numbers)).options().table
        return numbers, [_plain(value) for value in unknown]

    def is_own(self, numbers):
        """Return whether these `option_values` are the categories themselves."""
        return tuple(numbers.tolist()) == self.categories

    @property
    def labels(self):
        """Texts of the categories, all different: the text "1" beside 1 is "'1'"."""
        texts = list(map(str, self.categories))
        return (
            texts if len(set(texts)) == len(texts) else list(map(repr, self.categories))
        )

    @property
    def is_single(self):
        """Whether `option_values` are exact in single precision."""
        own = self.option_values
        return bool((own == own.astype(np.float32)).all())

    def decoded(self, codes):
        """Return the values of options, in an array of the type of the categories.

        Parameters
        ----------
        codes : ndarray
            Codes of options, or values of a column without options.
        """
        if self.kind == "binned":
            return np.asarray(self.centres)[codes.astype(int)]
        if not self.n_options:
            return codes
        if not self.categories:  # no value was seen
            return np.full(len(codes), None, dtype=object)
        known = np.empty(len(self.categories), dtype=object)
        known[:] = self.categories
        kinds = {type(category) for category in self.categories}
        if kinds == {bool}:
            known = known.astype(bool)
        elif kinds <= {int, float} and max(map(abs, self.categories)) < INEXACT:
            known = known.astype(float if float in kinds else int)
        return known[codes.astype(int)]


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
    read = {}
    for category, place in places.items():
        for text in _readings(category):
            read.setdefault(text, place)
    return [
        next((read[text] for text in _readings(value) if text in read), -1)
        if place < 0
        else place
        for value, place in zip(values, found, strict=True)
    ]


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


def kinds_of(kinds, names, n_features):
    """Return the kinds that the user set, and None for other columns.

    Parameters
    ----------
    kinds : str, dict or sequence of str
        "from_dtype"; one kind for all columns; a dict of kinds by name or index of
        columns; or a kind for each column.
    names : sequence or None
        Names of the columns, if the data have any.
    n_features : int

    Returns
    -------
    kinds : list of n_features str or None

    Raises
    ------
    ValueError
        If a kind or a column does not exist.
    """
    if isinstance(kinds, str):
        given = dict.fromkeys(range(n_features), kinds)
        given = {} if kinds == "from_dtype" else given
    elif isinstance(kinds, dict):
        given = by_number(kinds, names, n_features, "kinds")
    else:
        if len(kinds) != n_features:
            raise ValueError(
                f"kinds has {len(kinds)} entries, but X has {n_features} columns."
            )
        given = dict(enumerate(kinds))
    for kind in given.values():
        if kind is not None and kind not in KINDS:
            raise ValueError(
                f"kinds must be 'from_dtype', or name one of {list(KINDS)} for a "
                f"column, got {kind!r}."
            )
    return [given.get(number) for number in range(n_features)]


def by_number(given, names, n_features, parameter):
    """Return a dict in which column indices replace column names as keys.

    Raises
    ------
    ValueError
        If a key is not a column.
    """
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


def options_of(given, name):
    """Return the list of categories that the user declared for a column.

    Raises
    ------
    ValueError
        If it is no ordered list, or has a missing value.
    """
    is_list = hasattr(given, "__iter__") and not isinstance(
        given, str | bytes | dict | set | frozenset
    )
    options = list(given) if is_list else [None]
    if any(option is None or option != option for option in options):
        raise ValueError(
            f"categories must have a list of all options of {name}, such as "
            f"['no', 'yes'] or [1, 2, 3], without missing values; got {given!r}."
        )
    return options


def described(values, kind, categories=None, n_bins=5):
    """Return the `Column` that describes training values.

    Parameters
    ----------
    values : Values
        Values and their weights, which means and quantiles take into account.
    kind : str or None
        Kind of the column.  None chooses it by the type of the values.
    categories : sequence or None
        Categories that the user declared.
    n_bins : int
        Number of intervals of a binned column.

    Returns
    -------
    column : Column

    Raises
    ------
    ValueError
        If the values do not fit the kind.
    """
    if kind is None:
        kind = "categorical" if categories is not None else _kind_by_type(values)
    if kind in ("categorical", "binary"):
        if categories is None:
            categories = values.categories()
        else:
            categories = options_of(categories, values.name)
        categories = tuple(map(_plain, categories))
        _check_categories(kind, categories, values.name)
        return Column(kind, categories)
    known, weight = values.known()
    if kind == "binned":
        return _binned(known, weight, n_bins)
    if kind == "poisson":
        _check_counts(known, values.name)
    if kind == "poisson" or not len(known):
        return Column(kind)
    location = float(weight @ known / weight.sum())
    scale = float(np.sqrt(weight @ (known - location) ** 2 / weight.sum()))
    return Column(kind, location=location, scale=scale if scale > 0 else 1.0)


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
    edges = np.empty(0)
    if len(known):
        order = np.argsort(known, kind="stable")
        below = np.cumsum(weight[order])
        inner = np.arange(1, n_bins) * below[-1] / n_bins
        edges = np.unique(known[order][np.searchsorted(below, inner)])
        edges = edges[edges < known.max()]
    codes = np.searchsorted(edges, known, side="left")
    sums = np.bincount(codes, weight * known, len(edges) + 1)
    totals = np.bincount(codes, weight, len(edges) + 1)
    centres = sums / np.where(totals > 0, totals, 1.0)
    ends = [-np.inf, *edges.tolist(), np.inf]
    labels = [
        f"> {low:.6g}" if high == np.inf else f"({low:.6g}, {high:.6g}]"
        for low, high in zip(ends, ends[1:], strict=False)
    ]
    if len(labels) == 1:
        labels = ["all"]
    else:
        labels[0] = f"<= {edges[0]:.6g}"
    return Column(
        "binned", tuple(labels), tuple(edges.tolist()), tuple(centres.tolist())
    )


def _plain(value: Any):
    """Return a Python scalar for another one, and an int for an integral float."""
    value = value.item() if isinstance(value, np.generic) else value
    value = float(value) if isinstance(value, Decimal) else value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value

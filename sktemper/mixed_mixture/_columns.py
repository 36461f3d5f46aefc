"""Descriptions of columns of several kinds, and numeric codes of their values."""

from numbers import Real
from typing import Any, NamedTuple

import numpy as np

__all__ = ["KINDS", "Column", "described", "kinds_of"]

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
        text.
        """
        if all(isinstance(category, Real) for category in self.categories):
            return np.array(self.categories, dtype=float)
        return np.arange(len(self.categories), dtype=float)

    def numbers(self, values):
        """Return the numbers that represent values, and the unknown values.

        Parameters
        ----------
        values : Values

        Returns
        -------
        numbers : ndarray of float of shape (n_rows,)
            NaN for missing values.
        unknown : list
            Distinct values that are not categories.

        Raises
        ------
        ValueError
            If values do not fit the kind of the column.
        """
        if self.kind in ("categorical", "binary"):
            return values.coded(self.categories, self.option_values)
        numbers = values.numbers()
        if self.kind == "poisson":
            _check_counts(numbers, values.name)
        return numbers, []

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
        kinds = {type(category) for category in self.categories}
        of_one = len(kinds) == 1 and kinds <= {bool, int, float}
        known = np.empty(len(self.categories), dtype=kinds.pop() if of_one else object)
        known[:] = self.categories
        return known[codes.astype(int)]


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
    places = {} if names is None else {name: j for j, name in enumerate(names)}
    found = {}
    for key, value in given.items():
        is_number = isinstance(key, int | np.integer) and not isinstance(key, bool)
        place = places.get(key, int(key) if is_number else None)
        if place is None or not 0 <= place < n_features:
            known = "" if names is None else f" {list(names)[:20]}"
            raise ValueError(
                f"{parameter} has the key {key!r}, which is no column of X:{known} "
                f"numbers from 0 to {n_features - 1}."
            )
        found[place] = value
    return found


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
        categories = tuple(_plain(category) for category in categories)
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
    if not values.is_numeric or values.declared is not None:
        return "categorical"
    known, _ = values.known()
    is_whole = len(known) > 0 and bool((known == np.rint(known)).all())
    if is_whole and len(np.unique(known)) <= FEW_VALUES:
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
    """Return a Python scalar for a NumPy scalar, and an int for an integral float."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value

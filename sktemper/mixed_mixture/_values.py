"""Values of columns of data frames and arrays."""

import sys
from numbers import Real

import numpy as np
from scipy import sparse

__all__ = ["Values", "columns_of", "is_frame"]

#: Message for columns of dates and the like.
NO_VALUES = "{} has the dtype {}; expected numbers or text."


class Values:
    """The values of one column.

    Parameters
    ----------
    name : str
        For messages.
    values : ndarray of shape (n_rows,)
        Of float, with NaN for missing values; or of object, with None for them.
    declared : tuple or None
        The categories that the type of the column names.
    """

    def __init__(self, name, values, declared=None):
        self.name, self.values, self.declared = name, values, declared

    @property
    def is_numeric(self):
        """Whether the values are numbers."""
        return self.values.dtype.kind == "f"

    def numbers(self):
        """Return the values as floats; raise ValueError if they are no numbers."""
        if self.is_numeric:
            return self.values
        try:
            return np.array([np.nan if v is None else v for v in self.values], float)
        except (TypeError, ValueError):
            raise ValueError(
                f"{self.name} has values that are no numbers, such as "
                f"{next(v for v in self.values if isinstance(v, str))!r}: its kind "
                "must be 'categorical'."
            ) from None

    def categories(self):
        """Return the categories: those declared, or all values in their order."""
        if self.declared is not None:
            return self.declared
        if self.is_numeric:
            return np.unique(self.values[~np.isnan(self.values)]).tolist()
        known = {value for value in self.values if value is not None}
        # bool, then numbers, then text: values of several types have an order
        return sorted(known, key=lambda v: (isinstance(v, str), v))

    def coded(self, categories):
        """Return the numbers of the values among categories, and those unknown.

        See `Column.coded`.
        """
        if self.is_numeric:
            return self._numbers_coded(categories)
        places = {category: float(code) for code, category in enumerate(categories)}
        places[None] = np.nan
        codes = np.array([places.get(v, -1.0) for v in self.values], dtype=float)
        unknown = codes == -1.0
        codes[unknown] = np.nan
        return codes, sorted(set(self.values[unknown]), key=str)

    def _numbers_coded(self, categories):
        values = self.values
        if categories == tuple(range(len(categories))):
            codes = values
            with np.errstate(invalid="ignore"):
                fits = (values >= 0) & (values < len(categories))
                fits &= values == np.rint(values)
        else:
            numbers = [_number(category) for category in categories]
            order = np.argsort(numbers, kind="stable")
            known = np.asarray(numbers)[order]
            places = np.searchsorted(known, values)
            places = np.minimum(places, max(len(known) - 1, 0))
            fits = known[places] == values if len(known) else np.zeros(len(values), "?")
            codes = order[places].astype(float) if len(known) else values
        unknown = ~fits & ~np.isnan(values)
        if not fits.all():
            codes = np.where(fits, codes, np.nan)
        return codes, np.unique(values[unknown]).tolist()


def _number(category):
    """Return a category as a float; NaN, the last in order, if it is none."""
    return float(category) if isinstance(category, Real) else np.nan


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
    if dtype in (polars.Enum, polars.Categorical):
        declared = tuple(series.cat.get_categories().to_list())
        declared = declared if dtype == polars.Enum else tuple(sorted(declared))
    return _of_objects(name, np.array(series.to_list(), dtype=object), declared)

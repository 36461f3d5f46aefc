"""Data frames of pandas or polars, and tables of Arrow, which are optional."""

import importlib.util
import sys
from typing import Literal

import numpy as np
from scipy import sparse

from ._docstrings import complete_methods
from ._typing import DataFrame, Float

LIBRARIES = ("pandas", "polars")


def data_frame(output, columns):
    """Return a data frame."""
    return frame_library(output).DataFrame(columns)


def frame_of_rows(output, names, rows):
    """Return a data frame of rows, which are tuples."""
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return data_frame(output, dict(zip(names, map(list, columns), strict=True)))


class Tabular:
    """Base of results that are tables, whose methods describe a parameter once."""

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        complete_methods(cls)

    def table(
        self, interval: Float = 0.95, output: Literal["pandas", "polars"] = "pandas"
    ) -> DataFrame:
        """Return a data frame.

        Parameters
        ----------
        interval : float, default=0.95
            Confidence level of the intervals, between 0 and 1.
        output : {"pandas", "polars"}, default="pandas"
            Library of the data frame.
        """
        raise NotImplementedError


def sampled_frame(output, columns):
    """Return a data frame of arrays, which may have values of several types."""
    if output == "polars":  # takes the type of a column from its first value
        polars = frame_library(output)
        columns = {
            name: polars.Series(name, values.tolist(), polars.Object)
            if values.dtype.kind == "O" and {str} < set(map(type, values))
            else values
            for name, values in columns.items()
        }
    return data_frame(output, columns)


def frame_library(output):
    """Return the module of a library of data frames; see `data_frame`."""
    if output not in LIBRARIES:
        raise ValueError(f"output must be one of {list(LIBRARIES)}, got {output!r}.")
    try:
        return importlib.import_module(output)
    except ImportError as error:
        raise ImportError(
            f'output="{output}" needs {output}, which is not installed: '
            f"python -m pip install {output}"
        ) from error


def frame_labels(X, axis):
    """Return the labels of the "index" or "columns" of a pandas data frame, or None.

    Row or column indices, and labels of several levels, are no labels.  Nor are columns
    whose names are all strings, which scikit-learn stores in ``feature_names_in_``.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(X, getattr(pandas, "DataFrame", ())):
        return None
    index = getattr(X, axis)
    if index.nlevels > 1 or index.equals(pandas.RangeIndex(len(index))):
        return None
    if axis == "columns" and all(isinstance(name, str) for name in index):
        return None
    return np.asarray(index)


def as_frame(X):
    """Return a table of Arrow as a data frame, and other data unchanged.

    If neither polars nor pandas is installed, a table is unchanged too.
    """
    arrow = sys.modules.get("pyarrow")
    if arrow is None or not isinstance(X, arrow.Table | arrow.RecordBatch):
        return X
    try:
        return importlib.import_module("polars").from_arrow(X)
    except ImportError:
        return X.to_pandas() if importlib.util.find_spec("pandas") else X


def check_same_rows(**data):
    """Raise if objects of pandas have the same row labels in different orders.

    Rows are paired by position.  The first of ``data`` with row labels is the one that
    others are compared with; None, and objects of other kinds, have none.
    """
    pandas = sys.modules.get("pandas")
    kinds = () if pandas is None else (pandas.DataFrame, pandas.Series)
    indexes = {name: X.index for name, X in data.items() if isinstance(X, kinds)}
    if len(indexes) < 2:
        return
    first, *others = indexes
    index = indexes[first]
    for name in others:
        own = indexes[name]
        if len(own) != len(index) or own.equals(index):
            continue
        if own.isin(index).all() and index.isin(own).all():
            raise ValueError(
                f"{name} has the row labels of {first} in another order, but rows are "
                f"paired by position: pass {name}.loc[{first}.index], or reset the "
                "indexes if the positions are right."
            )


def is_frame(X):
    return any(
        name in sys.modules
        and isinstance(X, getattr(sys.modules[name], "DataFrame", ()))
        for name in LIBRARIES
    )


def is_polars(X):
    return type(X).__module__.startswith("polars")


def completed(X, expected, validate):
    """Return data, or data in parts, whose gaps have the expected values.

    The result has the container of the data.  ``validate(X, reset=False)`` returns an
    array, or a CSR matrix, with NaN for missing values.
    """
    if isinstance(X, list) and np.ndim(X[0]) == 2:
        parts = np.split(expected, np.cumsum([part.shape[0] for part in X])[:-1])
        pairs = zip(X, parts, strict=True)
        return [completed(*pair, validate) for pair in pairs]
    values = validate(X, reset=False)
    if sparse.issparse(values):
        values = values.copy()
        gaps = np.flatnonzero(np.isnan(values.data))
        rows = np.searchsorted(values.indptr, gaps, side="right") - 1
        values.data[gaps] = expected[rows, values.indices[gaps]]
        return values
    gaps = np.isnan(values)
    values = np.where(gaps, expected, values)
    if not is_frame(as_frame(X)) and not isinstance(X, list | tuple):
        return values
    columns = np.flatnonzero(gaps.any(axis=0)).tolist()
    return with_values(X, {j: (gaps[:, j], values[gaps[:, j], j]) for j in columns})


def with_values(X, filled):
    """Return a copy of data with values in the gaps of some columns.

    The copy has the same container, index, labels and, if they admit the values, dtypes
    of columns.

    ``filled`` has by the index of a column a mask of its gaps, and the values for the
    gaps.
    """
    if is_frame(frame := as_frame(X)):
        filled = _frame_with_values(frame, filled)
        return filled if frame is X else sys.modules["pyarrow"].table(filled)
    if isinstance(X, list | tuple):
        rows = [list(row) for row in X]
        for number, (gaps, found) in filled.items():
            for row, value in zip(np.flatnonzero(gaps), found.tolist(), strict=True):
                rows[row][number] = value
        kinds = [tuple if isinstance(row, tuple) else list for row in X]
        return type(X)(kind(row) for kind, row in zip(kinds, rows, strict=True))
    X = np.array(X)
    for number, (gaps, found) in filled.items():
        try:
            X[gaps, number] = found
        except ValueError:  # text in an array of numbers
            X = X.astype(object)
            X[gaps, number] = found
    return X


def _frame_with_values(X, filled):
    if is_polars(X):
        columns = [
            _polars_column(X[X.columns[number]], *filled[number]) for number in filled
        ]
        return X.with_columns(columns)
    X = X.copy()
    for number in filled:
        X.isetitem(number, _pandas_column(X.iloc[:, number], *filled[number]))
    return X


def _pandas_column(series, gaps, found):
    """Return a column with values in its gaps, of its dtype if it admits them."""
    pandas, dtype = sys.modules["pandas"], series.dtype
    if isinstance(dtype, pandas.CategoricalDtype):
        new = [v for v in dict.fromkeys(found.tolist()) if v not in dtype.categories]
        dtype = pandas.CategoricalDtype([*dtype.categories, *new], dtype.ordered)
    values = series.to_numpy(object, copy=True)
    values[gaps] = found
    for one in (dtype, "Float64") if dtype.kind in "iu" else (dtype,):
        try:
            return pandas.Series(values, series.index, one, series.name)
        except (TypeError, ValueError):
            continue
    return pandas.Series(values, series.index, object, series.name)


def _polars_column(series, gaps, found):
    """Return a column with values in its gaps, of its dtype if it admits them."""
    polars, name, dtype = sys.modules["polars"], series.name, series.dtype
    found = found.tolist()
    if dtype == polars.Object:
        values = np.array(series.to_list(), dtype=object)
        values[gaps] = found
        return polars.Series(name, values.tolist(), dtype)
    if dtype == polars.String:
        found = list(map(str, found))
    new = polars.Series(name, found, strict=False)
    if dtype == polars.Null:
        dtype = new.dtype
    if dtype.is_integer() and new.dtype.is_float() and (new != new.round()).any():
        dtype = polars.Float64
    try:
        new = new.cast(dtype)
    except polars.exceptions.PolarsError:
        dtype, new = polars.String, polars.Series(name, list(map(str, found)))
    places = np.maximum(np.cumsum(gaps) - 1, 0)
    return series.cast(dtype).zip_with(polars.Series(~gaps), new.gather(places))

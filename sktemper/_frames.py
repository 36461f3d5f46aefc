"""Data frames of pandas or polars, which are optional."""

import importlib
import sys

import numpy as np

__all__ = [
    "data_frame",
    "frame_labels",
    "frame_library",
    "is_frame",
    "is_polars",
    "with_values",
]

LIBRARIES = ("pandas", "polars")


def data_frame(output, columns):
    """Return a data frame.

    Parameters
    ----------
    output : {"pandas", "polars"}
    columns : dict of str to ndarray

    Raises
    ------
    ValueError
        If there is no such library.
    ImportError
        If the library is not installed.
    """
    return frame_library(output).DataFrame(columns)


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
    """Return the labels of the rows or columns of a pandas data frame.

    Parameters
    ----------
    X : object
    axis : {"index", "columns"}

    Returns
    -------
    labels : ndarray or None
        None if ``X`` is not a pandas DataFrame, if labels are row or column indices, or
        if they have several levels.  Labels of columns are also None if all of them are
        strings, because scikit-learn stores such labels in ``feature_names_in_``.
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


def is_frame(X):
    """Return whether data are a data frame of pandas or polars."""
    return any(
        name in sys.modules
        and isinstance(X, getattr(sys.modules[name], "DataFrame", ()))
        for name in LIBRARIES
    )


def is_polars(X):
    """Return whether a data frame is of polars."""
    return type(X).__module__.startswith("polars")


def with_values(X, filled):
    """Return a copy of data with values in the gaps of some columns.

    The copy has the same container, index, labels and, if they admit the values, dtypes
    of columns.

    Parameters
    ----------
    X : DataFrame, list of rows, or array-like of shape (n_samples, n_features)
    filled : dict
        By the index of a column: a mask of its gaps, of shape (n_samples,), and an
        array of the values for the gaps.
    """
    if is_frame(X):
        return _frame_with_values(X, filled)
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
    values = series.to_numpy(object, copy=True)
    values[gaps] = found
    dtypes = [dtype]
    if dtype.kind in "iu":
        dtypes.append("Float64")
    if isinstance(dtype, pandas.CategoricalDtype):
        known = dtype.categories.tolist()
        new = [value for value in dict.fromkeys(found.tolist()) if value not in known]
        dtypes = [pandas.CategoricalDtype([*known, *new], dtype.ordered)]
    for one in dtypes:
        try:
            return pandas.Series(values, series.index, one, series.name)
        except (TypeError, ValueError):
            continue
    return pandas.Series(values, series.index, object, series.name)


def _polars_column(series, gaps, found):
    """Return a column with values in its gaps, of its dtype if it admits them."""
    polars, dtype = sys.modules["polars"], series.dtype
    found = found.tolist()
    if dtype == polars.String:
        found = list(map(str, found))
    elif dtype.is_integer() and not all(value == int(value) for value in found):
        dtype = polars.Float64
    places = np.maximum(np.cumsum(gaps) - 1, 0)
    try:
        new = polars.Series(series.name, found).cast(dtype)
    except polars.exceptions.PolarsError:
        dtype, new = polars.String, polars.Series(series.name, list(map(str, found)))
    known = polars.Series(~gaps)
    return series.cast(dtype).zip_with(known, new.gather(places))

"""Data frames of pandas or polars, which are optional."""

import importlib
import sys

import numpy as np

__all__ = ["data_frame", "frame_labels", "frame_library"]

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

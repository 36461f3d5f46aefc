"""Data frames of pandas or polars, neither of which the package needs."""

import importlib

__all__ = ["data_frame", "frame_library"]

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
    """Return the library of data frames of a name; see `data_frame`."""
    if output not in LIBRARIES:
        raise ValueError(f"output must be one of {list(LIBRARIES)}, got {output!r}.")
    try:
        return importlib.import_module(output)
    except ImportError as error:
        raise ImportError(
            f'output="{output}" needs {output}, which is not installed: '
            f"python -m pip install {output}"
        ) from error

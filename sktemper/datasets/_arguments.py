"""Checks of the arguments of readers: paths, and the number of rows or columns."""

import os
from numbers import Integral
from pathlib import Path

from sklearn.utils._param_validation import InvalidParameterError

#: Largest number of columns, because column indices are int32.
LARGEST_SIZE = 2**31 - 1


def refuse_argument(name, expected, value):
    """Raise the error that scikit-learn raises for a bad parameter."""
    raise InvalidParameterError(
        f"The {name!r} parameter must be {expected}. Got {value!r} instead."
    )


def checked_size(value, name, optional=False):
    """Return a number of columns or rows as an int; accept None if ``optional``.

    Raises
    ------
    ValueError
        If the value is not an integer from 1 to `LARGEST_SIZE`.
    """
    if value is None and optional:
        return None
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or not 1 <= value <= LARGEST_SIZE:
        expected = f"an int from 1 to {LARGEST_SIZE:,}" + " or None" * optional
        refuse_argument(name, expected, value)
    return int(value)


def checked_path(path, name):
    """Return a str or a path as a `Path`; raise for a value of another type."""
    if not isinstance(path, (str, os.PathLike)):
        refuse_argument(name, "a str or a path", path)
    return Path(path)


def checked_file(path, name="path"):
    """Return the path of a file that can be read several times.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the path is a folder, a pipe or a device, or the value is not a path.
    """
    path = checked_path(path, name)
    if not path.exists():
        raise FileNotFoundError(f"There is no {path}.")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the path of a file.")
    if not path.is_file():
        raise ValueError(
            f"{path} is a pipe or a device. Readers read a file several times: copy "
            "the data into a regular file."
        )
    return path

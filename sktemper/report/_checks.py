"""What a report is given, checked before anything is computed."""

from numbers import Integral
from pathlib import Path

import numpy as np

__all__ = [
    "check_bokeh",
    "check_count",
    "check_documents",
    "check_length",
    "check_path",
]


def check_bokeh(name):
    """Raise where there is no Bokeh, and say how to get it."""
    try:
        import bokeh  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{name} requires Bokeh, which the extra `report` brings: "
            'python -m pip install "sktemper[report]"'
        ) from error


def check_path(path):
    """Return a path to write to, absolute; its folder exists."""
    path = Path(path).absolute()
    if path.is_dir():
        raise IsADirectoryError(f"path is a folder, not a file: {path}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder to write to: {path.parent}")
    return path


def check_count(value, name):
    """Return a number of things to show."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be an int, got {value!r}.")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}.")
    return int(value)


def check_length(values, n_rows, name):
    """Return an array with a value a document, or None."""
    if values is None:
        return None
    values = np.asarray(values)
    if values.shape != (n_rows,):
        raise ValueError(
            f"{name} must have one value for each of the {n_rows} rows of X, got shape "
            f"{values.shape}."
        )
    return values


def check_documents(documents, n_rows):
    """Return a list of texts, or None."""
    if documents is None:
        return None
    if isinstance(documents, str):
        raise ValueError("documents must be a sequence of texts, got one str.")
    documents = list(documents)
    if len(documents) != n_rows:
        raise ValueError(
            f"documents must have one text for each of the {n_rows} rows of X, got "
            f"{len(documents)}."
        )
    for number, text in enumerate(documents):
        if not isinstance(text, str):
            raise TypeError(f"documents[{number}] must be a str, got {text!r}.")
    return documents

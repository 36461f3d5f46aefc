"""Checks of the arguments of a report."""

from numbers import Integral

import numpy as np

from .._utils._extras import missing_packages


def check_packages(user):
    """Raise if Bokeh or pandas is missing; the message has the install command."""
    try:
        import bokeh  # noqa: F401
        import pandas  # noqa: F401
    except ImportError as error:
        raise missing_packages(user, ("bokeh", "pandas"), "report") from error


def check_count(value, name):
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be an int, got {value!r}.")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}.")
    return int(value)


def check_length(values, n_rows, name):
    if values is None:
        return None
    try:
        values = np.asarray(values)
    except ValueError as error:  # rows have different lengths
        raise ValueError(
            f"{name} must have one value for each of the {n_rows} rows of X."
        ) from error
    if values.shape != (n_rows,):
        raise ValueError(
            f"{name} must have one value for each of the {n_rows} rows of X, got shape "
            f"{values.shape}."
        )
    return values


def check_documents(documents, n_rows):
    if documents is None:
        return None
    if isinstance(documents, str):
        raise ValueError("documents must be a sequence of str, got one str.")
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

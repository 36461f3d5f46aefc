"""Warnings that point at the user's own line."""

import sys
import warnings

__all__ = ["warn"]

#: Packages between a user's line and the one that warns.
INSIDE = {"sktemper", "sklearn", "contextlib", "joblib", "pickle"}


def warn(message, category=UserWarning):
    """Warn at the line, outside of these packages, that led here.

    In `fit`, `partial_fit` or `transform`, called by the user or by a pipeline or a
    search.  (``skip_file_prefixes`` of `warnings.warn` needs Python 3.12.)

    Parameters
    ----------
    message : str or Warning
    category : type, default=UserWarning
        Of a message that is a str.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back and _is_inside(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_inside(frame):
    return frame.f_globals.get("__name__", "").partition(".")[0] in INSIDE

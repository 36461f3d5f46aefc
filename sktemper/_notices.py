"""Warnings that point at a line of the user's code."""

import sys
import warnings

__all__ = ["warn"]

#: Packages whose frames may lie between the line of the user and the warning.
INSIDE = {"sktemper", "sklearn", "contextlib", "joblib", "pickle"}


def warn(message, category=UserWarning):
    """Issue a warning that points at the last line of the user's code.

    The line is that of the innermost frame outside of the packages `INSIDE`, even if a
    pipeline or a search called the estimator.  (``skip_file_prefixes`` of
    `warnings.warn` needs Python 3.12.)

    Parameters
    ----------
    message : str or Warning
    category : type, default=UserWarning
        Category of a message that is a str.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back and _is_inside(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_inside(frame):
    return frame.f_globals.get("__name__", "").partition(".")[0] in INSIDE

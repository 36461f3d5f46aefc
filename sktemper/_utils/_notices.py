"""Warnings that refer to a line of the user's code, and the logger of estimators."""

import logging
import sys
import warnings

from sklearn.exceptions import ConvergenceWarning

# -- warnings that point at a line of the user's code ----------------------------------
#: Packages whose frames may lie between the line of the user and the warning.
INSIDE = {"sktemper", "sklearn", "contextlib", "joblib", "pickle"}


def warn(message, category=UserWarning):
    """Issue a warning that points at the last line of the user's code.

    The line is that of the innermost frame outside of the packages `INSIDE`, even if a
    pipeline or a search called the estimator.  (``skip_file_prefixes`` of
    `warnings.warn` needs Python 3.12.)
    """
    frame, level = sys._getframe(1), 2
    while (
        frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in INSIDE
    ):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


#: Largest number of names in a message.
MOST_NAMED = 5


def listed(names):
    """Return a text with the first names, and "..." if there are more."""
    names = list(map(str, names))
    return ", ".join(names[:MOST_NAMED]) + ", ..." * (len(names) > MOST_NAMED)


# -- the logger and the warnings of estimators -----------------------------------------
logger = logging.getLogger("sktemper")


def is_first(estimator, topic):
    """Return whether this is the first warning on a topic, of only one thread."""
    warned, this = vars(estimator).setdefault("_warned", {}), object()
    # of threads that warn at the same time, only the first finds its own object
    return warned.setdefault(topic, this) is this


def warn_once(estimator, topic, message, category=ConvergenceWarning):
    if is_first(estimator, topic):
        warn(message, category)

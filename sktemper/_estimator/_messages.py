"""Log lines of estimators, and warnings that refer to a line of the user's code."""

import logging

from sklearn.exceptions import ConvergenceWarning

from .._notices import warn

__all__ = ["log", "warn_of_fit", "warn_once"]

logger = logging.getLogger("sktemper")


def log(estimator, message, *values):
    """Log a line if the estimator is verbose."""
    if not estimator.verbose:
        return
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler())
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
    logger.info(message, *values)


def warn_of_fit(message):
    """Issue a `ConvergenceWarning`."""
    warn(message, ConvergenceWarning)


def warn_once(estimator, topic, message, category=ConvergenceWarning):
    """Warn unless the estimator has warned of this topic already."""
    warned, token = vars(estimator).setdefault("_warned", {}), object()
    # setdefault is atomic, so that only one of several threads warns
    if warned.setdefault(topic, token) is token:
        warn(message, category)

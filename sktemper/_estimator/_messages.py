"""What estimators say: log lines, and warnings at the user's own line."""

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
    """Warn of what a fit leaves to be desired."""
    warn(message, ConvergenceWarning)


def warn_once(estimator, topic, message, category=ConvergenceWarning):
    """Warn unless the estimator has warned of this already; of several threads one."""
    said, token = vars(estimator).setdefault("_warned", {}), object()
    if said.setdefault(topic, token) is token:  # atomic
        warn(message, category)

"""What estimators say: log lines, and warnings at the user's own line."""

import logging
import sys
import warnings

from sklearn.exceptions import ConvergenceWarning

__all__ = ["log", "warn", "warn_once"]

logger = logging.getLogger("sktemper")

#: Packages between a user's line and the one that warns.
INSIDE = {"sktemper", "sklearn", "contextlib", "joblib"}


def log(estimator, message, *values):
    """Log a line if the estimator is verbose."""
    if not estimator.verbose:
        return
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler())
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
    logger.info(message, *values)


def warn(message, category=ConvergenceWarning):
    """Warn of what the user's line, outside of all libraries, leads to."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def warn_once(estimator, topic, message):
    """Warn unless the estimator has warned of this already; of several threads one."""
    said, token = vars(estimator).setdefault("_said", {}), object()
    if said.setdefault(topic, token) is token:  # atomic
        warn(message)

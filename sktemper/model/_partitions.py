"""Objects that give policies log C, the log normaliser of tempered likelihoods."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class LinearPartition:
    """Log C as a linear function of the number of observations of a sample.

    Parameters
    ----------
    per_observation : ndarray of shape (n_temperatures,)
    """

    per_observation: np.ndarray

    def of_rows(self, n_observed):
        """Return log C of rows, of shape (n_rows, n_temperatures)."""
        return np.outer(n_observed, self.per_observation)

    def to_sum(self, n_observed):
        """Return None, because the sum over rows follows from `per_observation`."""
        return None

    def after(self, local_step, smoothing):
        """Return this object, which does not change in a step."""
        return self


@dataclass(frozen=True)
class SizedPartition:
    """Log C as an arbitrary function of the number of observations of a sample.

    Parameters
    ----------
    given : object
        Result of the model's `log_partition`, with the method ``of_rows(n_observed)``.
    per_observation : ndarray of shape (n_temperatures,) or None
        Moving mean over batches, with the same weights as the moving mean of the
        scores; None before the first batch.
    """

    given: Any
    per_observation: Any = None

    def of_rows(self, n_observed):
        """Return log C of rows, of shape (n_rows, n_temperatures)."""
        return self.given.of_rows(n_observed)

    def to_sum(self, n_observed):
        """Return log C of each row; a step computes their sum."""
        return self.given.of_rows(n_observed)

    def after(self, local_step, smoothing):
        """Return a copy with the moving mean updated by a step."""
        mean = local_step.log_partition / local_step.n_observed
        if self.per_observation is not None:
            mean = smoothing * self.per_observation + (1 - smoothing) * mean
        return replace(self, per_observation=mean)


def as_partition(answer):
    if hasattr(answer, "of_rows"):
        return SizedPartition(answer)
    return LinearPartition(answer)

"""Log C, the log normaliser of tempered likelihoods, as policies use it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

__all__ = ["LinearPartition", "SizedPartition", "as_partition"]


@dataclass(frozen=True)
class LinearPartition:
    """Log C of samples that is linear in their numbers of observations.

    Parameters
    ----------
    per_observation : ndarray of shape (n_temperatures,)
    """

    per_observation: np.ndarray

    def of_rows(self, n_observed):
        """Return log C of rows, of shape (n_rows, n_temperatures)."""
        return np.outer(n_observed, self.per_observation)

    def to_sum(self, n_observed):
        """Return what a step has to sum over its rows: nothing."""
        return None

    def after(self, local_step, smoothing):
        """Return what is known of log C after a step: the same."""
        return self


@dataclass(frozen=True)
class SizedPartition:
    """Log C of samples, any function of their numbers of observations.

    Parameters
    ----------
    given : object
        Of the model: ``given.of_rows(n_observed)``.
    per_observation : ndarray of shape (n_temperatures,) or None
        A moving mean over batches, as that of the scores; None before the first.
    """

    given: Any
    per_observation: Any = None

    def of_rows(self, n_observed):
        """Return log C of rows, of shape (n_rows, n_temperatures)."""
        return self.given.of_rows(n_observed)

    def to_sum(self, n_observed):
        """Return what a step has to sum over its rows: log C of each."""
        return self.given.of_rows(n_observed)

    def after(self, local_step, smoothing):
        """Return what is known of log C after a step."""
        mean = local_step.log_partition / local_step.n_observed
        if self.per_observation is not None:
            mean = smoothing * self.per_observation + (1 - smoothing) * mean
        return replace(self, per_observation=mean)


def as_partition(answer):
    """Return log C as policies use it, of what `ConjugateModel.log_partition` gave."""
    if hasattr(answer, "of_rows"):
        return SizedPartition(answer)
    return LinearPartition(answer)

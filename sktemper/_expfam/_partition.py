"""Log partition function of samples with different numbers of observations."""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

__all__ = ["MixturePartition"]


class MixturePartition(NamedTuple):
    r"""Log C(b) of a sample of N observations that come from the same component.

    .. math:: \log C(b) = E \log \sum_k \pi_k^b \exp(N a_k(b)), \quad
        a_k(b) = \log \sum_v \beta_{kv}^b

    The mean is over mixtures drawn from the prior (a quenched average).

    Attributes
    ----------
    log_weights : ndarray of shape (n_draws, n_components, n_temperatures)
        b log pi.
    per_observation : ndarray of shape (n_draws, n_components, n_temperatures)
        a(b).
    """

    log_weights: np.ndarray
    per_observation: np.ndarray

    def of_rows(self, n_observed):
        """Return log C of rows, of shape (n_rows, n_temperatures)."""
        sizes, rows = np.unique(n_observed, return_inverse=True)
        return np.stack([self._of_size(size) for size in sizes])[rows]

    def _of_size(self, size):
        logs = self.log_weights + size * self.per_observation
        return logsumexp(logs, axis=1).mean(axis=0)

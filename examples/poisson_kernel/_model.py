"""A mixture of Poissons, whose expected log-likelihoods are a kernel's."""

import numpy as np
from scipy.special import gammaln

from ..model import GammaFamily, MixtureModel, Stopped
from . import _kernels


class PoissonMixtureModel(MixtureModel):
    """Counts that are independent Poisson variables given the component."""

    def __init__(self, n_components, n_features, **others):
        family = GammaFamily((n_features, 2))
        super().__init__(n_components, n_features, family, **others)

    def take(self, X, rows):
        """Return ``X[rows]``, contiguous, in the dtype of the kernel."""
        return np.ascontiguousarray(X[rows], dtype=self.dtype)

    def moments(self, block):
        """Return x and 1: log p(x | rate) = x log(rate) - rate - log(x!)."""
        pairs = np.stack([block, np.ones_like(block)], axis=-1, dtype=np.float64)
        return pairs.reshape(len(block), -1)

    def log_base(self, block):
        """Return -log(x!), which is the same in all components."""
        return -gammaln(block + 1.0).sum(axis=1)

    def prior_of_component(self, X, sample_weight=None):
        """Return (shape - 1, rate): a Gamma prior with the mean of the data."""
        mean = np.average(X, axis=0, weights=sample_weight)
        return np.stack([np.zeros_like(mean), 1.0 / np.maximum(mean, 1e-3)], axis=-1)

    def log_joint(self, block, prepared):
        """Return E log p(x, component) of each row."""
        of_u = prepared.expected.reshape(self.n_features, 2, self.n_components)
        log_rates = np.ascontiguousarray(of_u[:, 0].T, dtype=self.dtype)
        constants = prepared.log_weights + of_u[:, 1].sum(axis=0)
        out = np.empty((len(block), self.n_components))
        if _kernels.poisson_logs(block, log_rates, constants, self.stop, out):
            raise Stopped
        return out + self.log_base(block)[:, None]

"""A mixture of Poissons, whose expected log-likelihoods a compiled kernel computes."""

import numpy as np
from scipy.special import gammaln

from ..model import GammaFamily, MixtureModel, Stopped
from . import _kernels


class PoissonFamily(GammaFamily):
    """Independent Poisson variables, whose rates have Gamma distributions.

    Parameters
    ----------
    n_rates : int
    dtype : {float32, float64}
        Type of the numbers in the kernel's computation.
    stop : ndarray of shape (1,), int
        See `ConjugateModel.stop`.
    """

    def __init__(self, n_rates, dtype, stop):
        super().__init__(n_rates)
        self.dtype, self.stop = dtype, stop

    def block(self, rows):
        """Return the rows, contiguous, in the dtype of the kernel."""
        return np.ascontiguousarray(rows, dtype=self.dtype)

    def moments(self, block):
        """Return x and 1: log p(x | rate) = x log(rate) - rate - log(x!)."""
        return np.hstack([block, np.ones_like(block)], dtype=np.float64)

    def log_base(self, block):
        """Return -log(x!), which is the same in all components."""
        return -gammaln(block + 1.0).sum(axis=1)

    def log_likelihoods(self, block, tables):
        """Return E log p(x | component) of each row."""
        log_rates, minus_rates = self.split(tables.expected.T)
        log_rates = np.ascontiguousarray(log_rates, dtype=self.dtype)
        out = np.empty((len(block), len(log_rates)))
        constants = minus_rates.sum(axis=1)
        if _kernels.poisson_logs(block, log_rates, constants, self.stop, out):
            raise Stopped
        return out + self.log_base(block)[:, None]


class PoissonMixtureModel(MixtureModel):
    """Counts that are independent Poisson variables given the component."""

    def __init__(self, n_components, n_features, *, dtype=np.float64, **others):
        family = PoissonFamily(n_features, dtype, np.zeros(1, dtype=np.intc))
        super().__init__(n_components, n_features, family, dtype=dtype, **others)
        family.stop = self.stop

    def prior_of_component(self, X, sample_weight=None):
        """Return shapes - 1 and rates: a Gamma prior with the mean of the data."""
        mean = np.average(X, axis=0, weights=sample_weight)
        return np.hstack([np.zeros_like(mean), 1.0 / np.maximum(mean, 1e-3)])

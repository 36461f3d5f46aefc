"""Priors of a Gaussian mixture."""

from typing import NamedTuple

import numpy as np

__all__ = ["Hyper"]


class Hyper(NamedTuple):
    """Priors of a Gaussian mixture.

    Attributes
    ----------
    weight_concentration, mean_precision, degrees_of_freedom : float
    mean : ndarray of shape (n_features,)
    covariance : ndarray
        Inverse scale of the Wishart distribution, in the form of the covariance type.
    origin : ndarray of shape (n_features,)
        Origin of the coordinates inside the model, which preserves digits of data far
        from 0.
    noise_variance : float
        Variance of the noise of the samples in local steps.  It is `reg_covar` if
        values are missing, and otherwise 0, as in scikit-learn.
    is_diagonal : bool
        Whether a covariance that is computed from the data is diagonal, because too few
        rows show correlations, see `shows_correlations`.
    """

    weight_concentration: float
    mean_precision: float
    degrees_of_freedom: float
    mean: np.ndarray
    covariance: np.ndarray
    origin: np.ndarray
    noise_variance: float = 0.0
    is_diagonal: bool = False

    def allowed(self, matrix):
        """Return a matrix from data, without correlations if `is_diagonal`."""
        return np.diag(np.diag(matrix)) if self.is_diagonal else matrix

    def stepped(self, other, rate):
        """Return priors between this object (rate 0) and another (rate 1)."""
        if rate == 1 or other is self:
            return other
        learned = "mean_precision", "degrees_of_freedom", "covariance"
        between = {
            name: (1 - rate) * getattr(self, name) + rate * getattr(other, name)
            for name in learned
        }
        return other._replace(**between)

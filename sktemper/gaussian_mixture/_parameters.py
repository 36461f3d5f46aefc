"""The priors of a Gaussian mixture."""

from typing import NamedTuple

import numpy as np

__all__ = ["Hyper"]


class Hyper(NamedTuple):
    """Priors.

    Attributes
    ----------
    weight_concentration, mean_precision, degrees_of_freedom : float
    mean : ndarray of shape (n_features,)
    covariance : ndarray
        Inverse scale of the Wishart distribution, in the form of the covariance type.
    origin : ndarray of shape (n_features,)
        Where coordinates begin inside of the model: so that no digits are lost.
    """

    weight_concentration: float
    mean_precision: float
    degrees_of_freedom: float
    mean: np.ndarray
    covariance: np.ndarray
    origin: np.ndarray

    def stepped(self, other, rate):
        """Return priors between these and others, from the rate 0 to the rate 1."""
        if rate == 1 or other is self:
            return other
        learned = "mean_precision", "degrees_of_freedom", "covariance"
        between = {
            name: (1 - rate) * getattr(self, name) + rate * getattr(other, name)
            for name in learned
        }
        return other._replace(**between)

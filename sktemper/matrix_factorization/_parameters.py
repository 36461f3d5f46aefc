"""Classes for priors, variances, and the items' moments of a matrix factorization."""

from typing import NamedTuple

import numpy as np

from .._expfam import GaussianPrior
from ._gaussians import Gaussians

__all__ = ["Hyper", "Prepared"]


class Hyper(NamedTuple):
    """Priors and variances.

    Attributes
    ----------
    n_components : int
        Rank.  A vector has one more element if there are biases.
    user_noise : bool
        Whether each user has a separate noise variance.
    global_mean, noise_variance : float
    noise_shape : float
        Shape of the Gamma distribution, with mean 1, of the users' noise precisions.
    rating_variance : float
        Variance of the ratings at the start.
    item_counts : ndarray of shape (n_items,)
        Number of ratings of each item in all steps.  A rating counts once for each step
        that used it.
    users, items : GaussianPrior
    """

    n_components: int
    user_noise: bool
    global_mean: float
    noise_variance: float
    noise_shape: float
    rating_variance: float
    item_counts: np.ndarray
    users: GaussianPrior
    items: GaussianPrior


class Prepared(NamedTuple):
    """Moments of the items and the priors, which local steps need."""

    items: Gaussians
    globals_: np.ndarray
    hyper: Hyper

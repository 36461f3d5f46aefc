"""The values of a matrix factorization: priors, variances, and tables of items."""

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
        Rank; what a vector has beside these is a bias.
    user_noise : bool
        Whether each user has a noise variance of his or her own.
    global_mean, noise_variance : float
    noise_shape : float
        Of the Gamma distribution, with mean 1, by which users' precisions differ.
    rating_variance : float
        Of the ratings at the start.
    item_counts : ndarray of shape (n_items,)
        Ratings of each item that steps have seen, each as often as one saw it.
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
    """Moments of the items, and the priors, for local steps."""

    items: Gaussians
    globals_: np.ndarray
    hyper: Hyper

"""Values of a factorial mixture: samples, priors, components and statistics."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array

from .._expfam import Natural, SharedGaussian

__all__ = [
    "Components",
    "FeatureStatistics",
    "Hyper",
    "Prepared",
    "Samples",
    "inclusion_probabilities",
]


class Samples(NamedTuple):
    """A block of samples.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_features)
        Values, with 0 for missing values.
    missing : ndarray of shape (n_rows, n_features) or None
        Mask of missing values; None if there are none.
    squares : ndarray of shape (n_rows,)
        Sums of the squared values.
    observed : ndarray of shape (n_rows,)
        Number of values of each sample that are not missing.
    """

    values: Any
    missing: Any
    squares: Any
    observed: Any


class Hyper(NamedTuple):
    """Priors and variances.

    Attributes
    ----------
    noise_variance, component_variance : float
    inclusion_probability : ndarray of shape (n_components,)
    """

    noise_variance: float
    component_variance: float
    inclusion_probability: np.ndarray


class Components(SharedGaussian):
    """Natural parameters of q(mu), with the same covariance in every dimension."""


@dataclass(frozen=True)
class FeatureStatistics(Natural):
    """Sums over samples, weighted by their weights and powers.

    Attributes
    ----------
    second : ndarray of shape (n_components, n_components)
        E[z z^T].
    cross : ndarray of shape (n_components, n_features)
        E[z] x^T, with missing x at their expectation.
    residual : float
        E|x - z mu|^2 over observed values.
    samples, values : float
        Number of samples, and number of observed values.
    """

    second: np.ndarray
    cross: np.ndarray
    residual: float
    samples: float
    values: float


class Prepared(NamedTuple):
    """Values for local steps, prepared from the components and priors."""

    means: np.ndarray
    #: Covariance of mu in each dimension: E[mu mu^T] minus the products of the means.
    spread: np.ndarray
    #: Means divided by the noise variance, in the dtype of the kernel.
    filters: np.ndarray
    #: Products of the means.
    products: np.ndarray
    hyper: Hyper


def inclusion_probabilities(priors, n_components):
    """Return the ``partition_priors`` of a tempering, ndarray of (n_components,).

    Raises
    ------
    ValueError
        If they are not one probability, or one probability for each component.
    """
    inclusion = check_array(
        priors,
        dtype=np.float64,
        ensure_2d=False,
        ensure_min_samples=0,
        input_name="partition_priors",
    )
    if inclusion.shape not in ((), (1,), (n_components,)):
        raise ValueError(
            f"partition_priors has shape {inclusion.shape}; expected one inclusion "
            f"probability for each of the {n_components} components."
        )
    if not ((inclusion > 0) & (inclusion < 1)).all():
        raise ValueError("partition_priors must be inclusion probabilities, in (0, 1).")
    return np.broadcast_to(inclusion, n_components)

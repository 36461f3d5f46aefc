"""The values of a factorial mixture: samples, priors, components and statistics."""

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
        With 0 where a value is missing.
    missing : ndarray of shape (n_rows, n_features) or None
        Whether a value is; None if none is.
    squares : ndarray of shape (n_rows,)
        Sums of the squared values.
    observed : ndarray of shape (n_rows,)
        Numbers of values that are not missing.
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
    """The natural parameters of q(mu): one covariance for every dimension."""


@dataclass(frozen=True)
class FeatureStatistics(Natural):
    """Sums over samples, each times its weight and power.

    Attributes
    ----------
    second : ndarray of shape (n_components, n_components)
        E[z z^T].
    cross : ndarray of shape (n_components, n_features)
        E[z] x^T, a missing x at its expectation.
    residual : float
        E|x - z mu|^2 over what is observed.
    samples, values : float
        Numbers of samples, and of observed values.
    """

    second: np.ndarray
    cross: np.ndarray
    residual: float
    samples: float
    values: float


class Prepared(NamedTuple):
    """What a local step needs of the components and priors."""

    means: np.ndarray
    #: What E[mu mu^T] has beside the means' products, for each dimension.
    spread: np.ndarray
    #: The means over the noise variance, in the dtype of the kernel.
    filters: np.ndarray
    #: The means' products.
    products: np.ndarray
    hyper: Hyper


def inclusion_probabilities(priors, n_components):
    """Return the ``partition_priors`` of a tempering, ndarray of (n_components,).

    Raises
    ------
    ValueError
        If they are not a probability for each component, or one for all.
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

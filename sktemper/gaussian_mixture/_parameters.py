"""The values of a Gaussian mixture: its priors, its parameters, and tables of both."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._expfam import LastCall, Natural, Usual

__all__ = ["Hyper", "LastCall", "Parameters", "Prepared"]


class Hyper(NamedTuple):
    """Priors.

    Attributes
    ----------
    weight_concentration, mean_precision, degrees_of_freedom : float
    mean : ndarray of shape (n_features,)
    covariance : ndarray
        Inverse scale of the Wishart distribution, in the shape of the covariance type.
    origin : ndarray of shape (n_features,)
        Where coordinates begin inside of the model: so that no digits are lost.
    """

    weight_concentration: float
    mean_precision: float
    degrees_of_freedom: float
    mean: np.ndarray
    covariance: np.ndarray
    origin: np.ndarray


@dataclass(frozen=True)
class Parameters(Natural):
    """Natural parameters of q, or what is added to them: priors and statistics.

    Attributes
    ----------
    weights : ndarray
        Of the weights' distribution, see `WEIGHTS`.
    precision, means, second, freedom : ndarray
        Of the components, see `NormalWishart`; in coordinates about the origin.
    """

    weights: np.ndarray
    precision: np.ndarray
    means: np.ndarray
    second: np.ndarray
    freedom: np.ndarray

    @classmethod
    def of(cls, weights, components):
        """Return those of weights and of a `NormalWishart`."""
        return cls(weights, *components.arrays())


class Prepared(NamedTuple):
    """What a local step needs of the components."""

    means: np.ndarray
    factors: np.ndarray
    #: What samples are multiplied by first, or None.
    whitening: Any
    constants: np.ndarray
    usual: Usual
    globals_: Parameters
    hyper: Hyper

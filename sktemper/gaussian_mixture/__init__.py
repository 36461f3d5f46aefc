"""The Gaussian mixture, its size given or found."""

from ._estimators import (
    AnnealedGaussianMixture,
    SVIPlusGaussianMixture,
    TemperedGaussianMixture,
)

__all__ = [
    "AnnealedGaussianMixture",
    "SVIPlusGaussianMixture",
    "TemperedGaussianMixture",
]

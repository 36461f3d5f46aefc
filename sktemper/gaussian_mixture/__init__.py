"""Gaussian mixtures with a given or learned number of components."""

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

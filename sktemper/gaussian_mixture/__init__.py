"""Gaussian mixtures, whose number of components is given or found by the fit."""

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

"""Mixture of Poissons with a kernel of its own: an example of a model's folder."""

from ._estimators import (
    AnnealedPoissonMixture,
    SVIPlusPoissonMixture,
    TemperedPoissonMixture,
)

__all__ = [
    "AnnealedPoissonMixture",
    "SVIPlusPoissonMixture",
    "TemperedPoissonMixture",
]

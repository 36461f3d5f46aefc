"""Mixture of Poissons with a compiled kernel: an example of a model's folder."""

from ._estimators import (
    AnnealedPoissonMixture,
    SVIPlusPoissonMixture,
    TemperedPoissonMixture,
)

__all__ = ["AnnealedPoissonMixture", "SVIPlusPoissonMixture", "TemperedPoissonMixture"]

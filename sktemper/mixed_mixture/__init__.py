"""Mixtures of rows of several kinds of values: options, counts and numbers."""

from ._estimators import (
    AnnealedMixedMixture,
    SVIPlusMixedMixture,
    TemperedMixedMixture,
)

__all__ = ["AnnealedMixedMixture", "SVIPlusMixedMixture", "TemperedMixedMixture"]

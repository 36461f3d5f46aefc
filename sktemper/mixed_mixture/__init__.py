"""Mixtures of rows of several kinds of values: options, counts and numbers."""

from ._estimators import (
    AnnealedMixedMixture,
    SVIPlusMixedMixture,
    TemperedMixedMixture,
)
from ._regression import class_regression

__all__ = [
    "AnnealedMixedMixture",
    "SVIPlusMixedMixture",
    "TemperedMixedMixture",
    "class_regression",
]

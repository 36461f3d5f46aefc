"""Mixtures of tables whose columns have options, counts or numbers."""

from ._estimators import AnnealedMixedMixture, SVIPlusMixedMixture, TemperedMixedMixture
from ._regression import class_regression

__all__ = [
    "AnnealedMixedMixture",
    "SVIPlusMixedMixture",
    "TemperedMixedMixture",
    "class_regression",
]

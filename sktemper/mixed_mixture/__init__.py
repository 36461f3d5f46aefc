"""Mixtures of tables whose columns have options, counts or numbers."""

from ._estimators import AnnealedMixedMixture, TemperedMixedMixture
from ._outcomes import class_outcomes
from ._regression import class_regression

__all__ = [
    "AnnealedMixedMixture",
    "TemperedMixedMixture",
    "class_outcomes",
    "class_regression",
]

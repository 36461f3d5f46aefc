"""Probabilistic matrix factorization: ratings of items by users."""

from ._estimators import (
    AnnealedMatrixFactorization,
    SVIPlusMatrixFactorization,
    TemperedMatrixFactorization,
)

__all__ = [
    "AnnealedMatrixFactorization",
    "SVIPlusMatrixFactorization",
    "TemperedMatrixFactorization",
]

"""The factorial mixture: binary latent features."""

from ._estimators import (
    AnnealedFactorialMixture,
    SVIPlusFactorialMixture,
    TemperedFactorialMixture,
)

__all__ = [
    "AnnealedFactorialMixture",
    "SVIPlusFactorialMixture",
    "TemperedFactorialMixture",
]

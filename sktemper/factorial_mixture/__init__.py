"""The factorial mixture: binary latent features."""

from ._estimators import AnnealedFactorialMixture, TemperedFactorialMixture

__all__ = ["AnnealedFactorialMixture", "TemperedFactorialMixture"]

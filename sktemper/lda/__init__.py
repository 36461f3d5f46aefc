"""Latent Dirichlet allocation."""

from ._estimators import AnnealedLDA, SVIPlusLDA, TemperedLDA

__all__ = ["AnnealedLDA", "SVIPlusLDA", "TemperedLDA"]

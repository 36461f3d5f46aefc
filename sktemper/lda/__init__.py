"""Latent Dirichlet allocation."""

from .estimators import AnnealedLDA, SVIPlusLDA, TemperedLDA

__all__ = ["AnnealedLDA", "SVIPlusLDA", "TemperedLDA"]

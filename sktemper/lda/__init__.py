"""Latent Dirichlet allocation."""

from .estimators import AnnealedLDA, TemperedLDA

__all__ = ["AnnealedLDA", "TemperedLDA"]

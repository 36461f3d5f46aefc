"""Latent Dirichlet allocation."""

from ._estimators import AnnealedLDA, SVIPlusLDA, TemperedLDA
from ._priors import seeded_prior

__all__ = ["AnnealedLDA", "SVIPlusLDA", "TemperedLDA", "seeded_prior"]

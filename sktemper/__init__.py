"""Annealed, tempered and noise-tuned variational inference for scikit-learn."""

from .lda import AnnealedLDA, SVIPlusLDA, TemperedLDA

__version__ = "0.1.0.dev0"

__all__ = ["AnnealedLDA", "SVIPlusLDA", "TemperedLDA", "__version__"]

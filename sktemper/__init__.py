"""Annealed, tempered and noise-tuned variational inference for scikit-learn."""

from .factorial_mixture import (
    AnnealedFactorialMixture,
    SVIPlusFactorialMixture,
    TemperedFactorialMixture,
)
from .lda import AnnealedLDA, SVIPlusLDA, TemperedLDA

__version__ = "0.1.0.dev0"

__all__ = [
    "AnnealedFactorialMixture",
    "AnnealedLDA",
    "SVIPlusFactorialMixture",
    "SVIPlusLDA",
    "TemperedFactorialMixture",
    "TemperedLDA",
    "__version__",
]

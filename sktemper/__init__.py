"""Annealed, tempered and noise-tuned variational inference for scikit-learn."""

from .factorial_mixture import (
    AnnealedFactorialMixture,
    SVIPlusFactorialMixture,
    TemperedFactorialMixture,
)
from .gaussian_mixture import (
    AnnealedGaussianMixture,
    SVIPlusGaussianMixture,
    TemperedGaussianMixture,
)
from .lda import AnnealedLDA, SVIPlusLDA, TemperedLDA

__version__ = "0.1.0.dev0"

__all__ = [
    "AnnealedFactorialMixture",
    "AnnealedGaussianMixture",
    "AnnealedLDA",
    "SVIPlusFactorialMixture",
    "SVIPlusGaussianMixture",
    "SVIPlusLDA",
    "TemperedFactorialMixture",
    "TemperedGaussianMixture",
    "TemperedLDA",
    "__version__",
]

"""Annealed, tempered and noise-tuned variational inference for scikit-learn."""

from . import _check_build  # noqa: F401, before anything that needs a kernel
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
from .matrix_factorization import (
    AnnealedMatrixFactorization,
    SVIPlusMatrixFactorization,
    TemperedMatrixFactorization,
)

__version__ = "0.1.0.dev0"

__all__ = [
    "AnnealedFactorialMixture",
    "AnnealedGaussianMixture",
    "AnnealedLDA",
    "AnnealedMatrixFactorization",
    "SVIPlusFactorialMixture",
    "SVIPlusGaussianMixture",
    "SVIPlusLDA",
    "SVIPlusMatrixFactorization",
    "TemperedFactorialMixture",
    "TemperedGaussianMixture",
    "TemperedLDA",
    "TemperedMatrixFactorization",
    "__version__",
]

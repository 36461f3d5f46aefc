"""Topic models, mixtures and matrix factorizations, annealed, tempered or plain."""

import importlib
from typing import TYPE_CHECKING

from ._utils import _check_build  # noqa: F401, before anything that needs a kernel

if TYPE_CHECKING:  # `__getattr__` imports them
    from ._estimator._critical import critical_temperatures
    from .discrete_mixture import (
        AnnealedBernoulliMixture,
        AnnealedMultinomialMixture,
        TemperedBernoulliMixture,
        TemperedMultinomialMixture,
    )
    from .factorial_mixture import AnnealedFactorialMixture, TemperedFactorialMixture
    from .gaussian_mixture import (
        AnnealedGaussianMixture,
        SVIPlusGaussianMixture,
        TemperedGaussianMixture,
    )
    from .implicit_factorization import ImplicitFactorization
    from .lda import AnnealedLDA, SVIPlusLDA, TemperedLDA, seeded_prior
    from .matrix_factorization import (
        AnnealedMatrixFactorization,
        SVIPlusMatrixFactorization,
        TemperedMatrixFactorization,
    )
    from .mixed_mixture import (
        AnnealedMixedMixture,
        TemperedMixedMixture,
        class_outcomes,
        class_regression,
    )
    from .student_mixture import AnnealedStudentMixture, TemperedStudentMixture

__version__ = "0.1.0"

__all__ = [
    "AnnealedBernoulliMixture",
    "AnnealedFactorialMixture",
    "AnnealedGaussianMixture",
    "AnnealedLDA",
    "AnnealedMatrixFactorization",
    "AnnealedMixedMixture",
    "AnnealedMultinomialMixture",
    "AnnealedStudentMixture",
    "ImplicitFactorization",
    "SVIPlusGaussianMixture",
    "SVIPlusLDA",
    "SVIPlusMatrixFactorization",
    "TemperedBernoulliMixture",
    "TemperedFactorialMixture",
    "TemperedGaussianMixture",
    "TemperedLDA",
    "TemperedMatrixFactorization",
    "TemperedMixedMixture",
    "TemperedMultinomialMixture",
    "TemperedStudentMixture",
    "__version__",
    "class_outcomes",
    "class_regression",
    "critical_temperatures",
    "seeded_prior",
]

# Modules are imported at their first use: the import of all models takes several times
# as long as that of one.
#: Public modules.
LAZY = (
    "base",
    "dask",
    "datasets",
    "inspection",
    "learning_rates",
    "metrics",
    "model",
    "model_selection",
    "moves",
    "noise",
    "plotting",
    "renewals",
    "report",
    "schedules",
    "tempering",
    "testing",
    "text",
)
#: Names of the estimators and functions of other modules.
EXPORTS = {
    "_estimator._critical": ["critical_temperatures"],
    "discrete_mixture": [
        "AnnealedBernoulliMixture",
        "AnnealedMultinomialMixture",
        "TemperedBernoulliMixture",
        "TemperedMultinomialMixture",
    ],
    "factorial_mixture": ["AnnealedFactorialMixture", "TemperedFactorialMixture"],
    "gaussian_mixture": [
        "AnnealedGaussianMixture",
        "SVIPlusGaussianMixture",
        "TemperedGaussianMixture",
    ],
    "implicit_factorization": ["ImplicitFactorization"],
    "lda": ["AnnealedLDA", "SVIPlusLDA", "TemperedLDA", "seeded_prior"],
    "matrix_factorization": [
        "AnnealedMatrixFactorization",
        "SVIPlusMatrixFactorization",
        "TemperedMatrixFactorization",
    ],
    "mixed_mixture": [
        "AnnealedMixedMixture",
        "TemperedMixedMixture",
        "class_outcomes",
        "class_regression",
    ],
    "student_mixture": ["AnnealedStudentMixture", "TemperedStudentMixture"],
}
HOMES = {name: module for module, names in EXPORTS.items() for name in names}

if TYPE_CHECKING:
    from . import (  # noqa: F401
        base,
        dask,
        datasets,
        inspection,
        metrics,
        model,
        model_selection,
        plotting,
        report,
        testing,
        text,
    )


def __getattr__(name):
    if name in HOMES:
        return getattr(importlib.import_module(f"{__name__}.{HOMES[name]}"), name)
    if name in LAZY:
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ImportError as error:  # hasattr expects an AttributeError
            raise AttributeError(str(error)) from error
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *HOMES, *LAZY})

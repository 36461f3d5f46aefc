"""Topic models, mixtures and matrix factorizations, annealed, tempered or plain."""

import importlib
import pkgutil
import re
from typing import TYPE_CHECKING

from ._utils import _check_build  # noqa: F401, before anything that needs a kernel

if TYPE_CHECKING:  # `__getattr__` imports them
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
    from ._estimator._problems import critical_temperatures
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
#: Public modules and folders of models.
MODULES = {one.name for one in pkgutil.iter_modules(__path__) if one.name[0] != "_"}
#: Modules of functions, and folders of models with names of their own.
HOMES = {
    "BernoulliMixture": "discrete_mixture",
    "MultinomialMixture": "discrete_mixture",
    "class_outcomes": "mixed_mixture",
    "class_regression": "mixed_mixture",
    "critical_temperatures": "_estimator._problems",
    "seeded_prior": "lda",
}


def __getattr__(name):
    if name in __all__:
        model = re.sub("^(Annealed|SVIPlus|Tempered)", "", name)
        folder = re.sub("(?<=[a-z])(?=[A-Z])", "_", model).lower()
        home = HOMES.get(model, folder)
        return getattr(importlib.import_module(f"{__name__}.{home}"), name)
    if name in MODULES:
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ImportError as error:  # hasattr expects an AttributeError
            raise AttributeError(str(error)) from error
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__, *MODULES})

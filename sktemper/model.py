"""The contract of models, see "Write your own model" in the documentation.

`ConjugateModel` is the contract.  `NaturalModel` implements most of it for models that
store natural parameters, and `MixtureModel` nearly all of it for mixtures.
"""

from ._contract import (
    ConjugateModel,
    IllDefined,
    LocalStep,
    Powers,
    Request,
    Stopped,
    all_finite,
)
from ._families._counts import (
    CategoricalFamily,
    DirichletFamily,
    GammaFamily,
    MultinomialFamily,
)
from ._families._family import Family, Natural, NaturalModel
from ._families._mixture import Mixture, MixtureHyper, MixtureModel

__all__ = [
    "CategoricalFamily",
    "ConjugateModel",
    "DirichletFamily",
    "Family",
    "GammaFamily",
    "IllDefined",
    "LocalStep",
    "Mixture",
    "MixtureHyper",
    "MixtureModel",
    "MultinomialFamily",
    "Natural",
    "NaturalModel",
    "Powers",
    "Request",
    "Stopped",
    "all_finite",
]

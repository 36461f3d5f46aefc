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
from ._families import (
    CategoricalFamily,
    DirichletFamily,
    Family,
    GammaFamily,
    Mixture,
    MixtureHyper,
    MixtureModel,
    MultinomialFamily,
    Natural,
    NaturalModel,
)

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

"""The ground floor of the models: exponential families and their natural parameters."""

from ._families import DirichletFamily, Family, GammaFamily
from ._mixture import Mixture, MixtureHyper, MixtureModel
from ._natural import Natural, NaturalModel
from ._weights import WEIGHTS

__all__ = [
    "WEIGHTS",
    "DirichletFamily",
    "Family",
    "GammaFamily",
    "Mixture",
    "MixtureHyper",
    "MixtureModel",
    "Natural",
    "NaturalModel",
]

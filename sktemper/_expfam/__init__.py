"""The ground floor of the models: exponential families and their natural parameters."""

from ._covariances import COVARIANCE_TYPES, ILL_DEFINED
from ._families import DirichletFamily, Family, GammaFamily
from ._mixture import Mixture, MixtureHyper, MixtureModel
from ._natural import Natural, NaturalModel
from ._normal_wishart import NormalWishart, NormalWishartFamily, Usual
from ._weights import WEIGHTS

__all__ = [
    "COVARIANCE_TYPES",
    "ILL_DEFINED",
    "WEIGHTS",
    "DirichletFamily",
    "Family",
    "GammaFamily",
    "Mixture",
    "MixtureHyper",
    "MixtureModel",
    "Natural",
    "NaturalModel",
    "NormalWishart",
    "NormalWishartFamily",
    "Usual",
]

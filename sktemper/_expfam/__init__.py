"""The ground floor of the models: exponential families and their natural parameters."""

from ._counts import (
    CategoricalFamily,
    DirichletFamily,
    GammaFamily,
    MultinomialFamily,
)
from ._covariances import COVARIANCES, ILL_DEFINED, Covariance
from ._families import ONCE, Family, dense
from ._gaussian import (
    GaussianPrior,
    Moments,
    SharedGaussian,
    blended,
    least_eigenvalue,
    packed,
    packed_fisher_product,
    unpacked,
)
from ._mixture import Mixture, MixtureHyper, MixtureModel
from ._natural import Last, Natural, NaturalModel, rate_to_zero
from ._normal_wishart import (
    NormalWishartFamily,
    NormalWishartParts,
    Usual,
    log_chisquare,
)
from ._weights import WEIGHTS

__all__ = [
    "COVARIANCES",
    "ILL_DEFINED",
    "ONCE",
    "WEIGHTS",
    "CategoricalFamily",
    "Covariance",
    "DirichletFamily",
    "Family",
    "GammaFamily",
    "GaussianPrior",
    "Last",
    "Mixture",
    "MixtureHyper",
    "MixtureModel",
    "Moments",
    "MultinomialFamily",
    "Natural",
    "NaturalModel",
    "NormalWishartFamily",
    "NormalWishartParts",
    "SharedGaussian",
    "Usual",
    "blended",
    "dense",
    "least_eigenvalue",
    "log_chisquare",
    "packed",
    "packed_fisher_product",
    "rate_to_zero",
    "unpacked",
]

"""Foundations of the models: exponential families and their natural parameters."""

from ._births import USED
from ._counts import (
    CategoricalFamily,
    DirichletFamily,
    GammaFamily,
    MultinomialFamily,
    PoissonFamily,
    log_predictive_of_counts,
)
from ._covariances import COVARIANCES, ILL_DEFINED, Covariance
from ._families import ONCE, Family
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
from ._mixture import MixtureModel, softmax
from ._mixture_values import Mixture, MixtureHyper
from ._natural import LastCall, Natural, NaturalModel, rate_to_zero
from ._normal_gamma import NormalGammaFamily
from ._normal_wishart import (
    NormalWishartFamily,
    NormalWishartParts,
    Usual,
)
from ._partition import MixturePartition
from ._precisions import (
    GammaPrecision,
    GammasPrecision,
    WishartPrecision,
    log_chisquare,
)
from ._product import MomentRows, ProductFamily
from ._products import dense, times
from ._spectrum import (
    ROWS_ANALYSED,
    effective_rows,
    even_sample,
    leading_axes,
    sample_counts,
)
from ._splits import Search
from ._weights import LEAST_CONCENTRATION, WEIGHTS
from ._wide import Wide
from ._wide_mixture import WideMixtureModel

__all__ = [
    "COVARIANCES",
    "ILL_DEFINED",
    "LEAST_CONCENTRATION",
    "ONCE",
    "ROWS_ANALYSED",
    "USED",
    "WEIGHTS",
    "CategoricalFamily",
    "Covariance",
    "DirichletFamily",
    "Family",
    "GammaFamily",
    "GammaPrecision",
    "GammasPrecision",
    "GaussianPrior",
    "LastCall",
    "Mixture",
    "MixtureHyper",
    "MixtureModel",
    "MixturePartition",
    "MomentRows",
    "Moments",
    "MultinomialFamily",
    "Natural",
    "NaturalModel",
    "NormalGammaFamily",
    "NormalWishartFamily",
    "NormalWishartParts",
    "PoissonFamily",
    "ProductFamily",
    "Search",
    "SharedGaussian",
    "Usual",
    "Wide",
    "WideMixtureModel",
    "WishartPrecision",
    "blended",
    "dense",
    "effective_rows",
    "even_sample",
    "leading_axes",
    "least_eigenvalue",
    "log_chisquare",
    "log_predictive_of_counts",
    "packed",
    "packed_fisher_product",
    "rate_to_zero",
    "sample_counts",
    "softmax",
    "times",
    "unpacked",
]

"""The ground floor of the models: exponential families and their natural parameters."""

from ._axes import ROWS_ANALYSED, effective_rows, even_sample, leading_axes
from ._covariances import COVARIANCE_TYPES, ILL_DEFINED
from ._families import (
    DirichletFamily,
    Family,
    GammaFamily,
    log_predictive_of_counts,
)
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
from ._mixture import MixtureModel
from ._mixture_values import Mixture, MixtureHyper
from ._natural import Last, Natural, NaturalModel, rate_to_zero
from ._normal_wishart import (
    NormalWishart,
    NormalWishartFamily,
    Usual,
    log_chisquare,
)
from ._weights import LEAST_CONCENTRATION, WEIGHTS
from ._wide import Wide
from ._wide_mixture import WideMixtureModel

__all__ = [
    "COVARIANCE_TYPES",
    "ILL_DEFINED",
    "LEAST_CONCENTRATION",
    "ROWS_ANALYSED",
    "WEIGHTS",
    "DirichletFamily",
    "Family",
    "GammaFamily",
    "GaussianPrior",
    "Last",
    "Mixture",
    "MixtureHyper",
    "MixtureModel",
    "Moments",
    "Natural",
    "NaturalModel",
    "NormalWishart",
    "NormalWishartFamily",
    "SharedGaussian",
    "Usual",
    "Wide",
    "WideMixtureModel",
    "blended",
    "effective_rows",
    "even_sample",
    "leading_axes",
    "least_eigenvalue",
    "log_chisquare",
    "log_predictive_of_counts",
    "packed",
    "packed_fisher_product",
    "rate_to_zero",
    "unpacked",
]

"""Foundations of the models: exponential families and their natural parameters."""

from ._ascent import DONE_BY_KERNEL, MOST_VALUES, MixtureAscent
from ._births import USED, Search, starts_of_axes
from ._counts import (
    CategoricalFamily,
    DirichletFamily,
    GammaFamily,
    MultinomialFamily,
    PoissonFamily,
    log_predictive_of_counts,
)
from ._critical import (
    ROWS_ANALYSED,
    MixturePartition,
    effective_rows,
    even_sample,
    leading_axes,
    sample_counts,
)
from ._dirichlet import CONCENTRATION, LEAST_CONCENTRATION, WEIGHTS
from ._factorization import (
    COST_AT_ONCE,
    FEWEST_AT_ONCE,
    EntriesMixin,
    EntryStatistics,
    FactorizationModel,
    Gaussians,
    PreparedItems,
)
from ._family import (
    ONCE,
    Family,
    MomentRows,
    Natural,
    NaturalModel,
    ProductFamily,
    dense,
    rate_to_zero,
    times,
)
from ._gaussian import (
    GaussianPrior,
    Moments,
    blended,
    least_eigenvalue,
    packed,
    packed_fisher_product,
    unpacked,
)
from ._mixture import Mixture, MixtureHyper, MixtureModel, softmax
from ._normal_gamma import NormalGammaFamily
from ._normal_wishart import (
    COVARIANCES,
    ILL_DEFINED,
    Covariance,
    GammaPrecision,
    GammasPrecision,
    NormalWishartFamily,
    NormalWishartParts,
    Usual,
    WishartPrecision,
    log_chisquare,
)
from ._wide_mixture import Wide, WideMixtureModel

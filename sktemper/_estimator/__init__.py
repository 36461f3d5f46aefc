"""The scikit-learn interface that all estimators share.

`_base_estimator` has the class that all estimators extend, with `fit`, and `_streams`
has `partial_fit`.  `_plans` decides batches, policies and passes before the first step,
`_fit_runs` makes the runs of a fit, and `_end_of_fit` warns at the end of a fit.
`_fitted_methods` has the methods of fitted estimators, `_pickles` saves and loads
estimators, and `_ready` caches the model and the prepared parameters between calls.
`_variants` has the differences between tempered, annealed and SVI+ estimators,
`_mixtures` the common parts of mixtures, and `_counts` the validation of counts.
`_columns` adds and removes columns, and `_critical` finds the critical temperatures of
data.
"""

from .._utils._notices import log, warn_once
from ._columns import ColumnsMixin
from ._counts import CountsMixin
from ._critical import critical_temperatures
from ._end_of_fit import LARGEST_START_SHARE, is_above_one, warn_if_above_one
from ._estimator import ReadyModel, TemperedEstimator, Validation, without_callbacks
from ._mixtures import MixtureMixin, check_n_samples
from ._variants import AnnealedMixin, SVIPlusMixin

__all__ = [
    "LARGEST_START_SHARE",
    "AnnealedMixin",
    "ColumnsMixin",
    "CountsMixin",
    "MixtureMixin",
    "ReadyModel",
    "SVIPlusMixin",
    "TemperedEstimator",
    "Validation",
    "check_n_samples",
    "critical_temperatures",
    "is_above_one",
    "log",
    "warn_if_above_one",
    "warn_once",
    "without_callbacks",
]

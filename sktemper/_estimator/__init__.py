"""The scikit-learn face that all estimators share.

`_face` is what scikit-learn sees, `_plans` what is decided before the first step,
`_runs` the runs of a fit, `_end_of_fit_checks` how it ends, `_after` what is called after it, and
`_pickles` what is kept of it.  `_kinds` are the three estimators of each model.
"""

from ._base_estimator import TemperedEstimator
from ._counts import CountsMixin
from ._end_of_fit import LARGEST_START_SHARE, is_above_one, warn_if_above_one
from ._messages import warn_once
from ._mixtures import MixtureMixin, check_n_samples
from ._pickles import without_callbacks
from ._variants import (
    AnnealedMixin,
    SVIPlusMixin,
)

__all__ = [
    "LARGEST_START_SHARE",
    "AnnealedMixin",
    "CountsMixin",
    "MixtureMixin",
    "SVIPlusMixin",
    "TemperedEstimator",
    "check_n_samples",
    "is_above_one",
    "warn_if_above_one",
    "warn_once",
    "without_callbacks",
]

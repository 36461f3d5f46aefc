"""The scikit-learn face that all estimators share.

`_face` is what scikit-learn sees, `_plans` what is decided before the first step,
`_runs` the runs of a fit, `_endings` how it ends, `_after` what is called after it, and
`_pickles` what is kept of it.  `_kinds` are the three estimators of each model.
"""

from ._counts import CountsMixin
from ._endings import LARGEST_START_SHARE, is_hot, warn_of_heat
from ._face import TemperedEstimator
from ._kinds import (
    AnnealedMixin,
    SVIPlusMixin,
)
from ._messages import warn_once
from ._mixtures import MixtureMixin, check_n_samples
from ._pickles import without_callbacks

__all__ = [
    "LARGEST_START_SHARE",
    "AnnealedMixin",
    "CountsMixin",
    "MixtureMixin",
    "SVIPlusMixin",
    "TemperedEstimator",
    "check_n_samples",
    "is_hot",
    "warn_of_heat",
    "warn_once",
    "without_callbacks",
]

"""The scikit-learn face that all estimators share.

`_face` is what scikit-learn sees, `_plans` what is decided before the first step,
`_runs` the runs of a fit, `_endings` how it ends, `_after` what is called after it, and
`_pickles` what is kept of it.  `_kinds` are the three estimators of each model.
"""

from ._counts import validate_counts
from ._endings import LARGEST_START_SHARE, is_hot, warn_of_heat
from ._face import TemperedEstimator
from ._kinds import (
    TOL_OF_BOUND,
    AnnealedMixin,
    SVIPlusMixin,
    annealed,
    document,
    store,
    svi_plus,
)
from ._messages import warn
from ._mixtures import MixtureMixin
from ._pickles import without_callbacks

__all__ = [
    "LARGEST_START_SHARE",
    "TOL_OF_BOUND",
    "AnnealedMixin",
    "MixtureMixin",
    "SVIPlusMixin",
    "TemperedEstimator",
    "annealed",
    "document",
    "is_hot",
    "store",
    "svi_plus",
    "validate_counts",
    "warn",
    "warn_of_heat",
    "without_callbacks",
]

"""Base classes of the estimators, for authors of new models.

`TemperedEstimator` is the only class that an estimator needs in addition to its model,
see "Write your own model" in the documentation.  `AnnealedMixin` and `SVIPlusMixin` are
for the other kinds of estimators of a model, and `MixtureMixin` is for mixtures.
"""

from ._estimator._estimator import TemperedEstimator
from ._estimator._mixtures import MixtureMixin
from ._estimator._variants import AnnealedMixin, SVIPlusMixin

__all__ = ["AnnealedMixin", "MixtureMixin", "SVIPlusMixin", "TemperedEstimator"]

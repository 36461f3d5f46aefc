"""Base classes of the estimators, for authors of models of their own.

`TemperedEstimator` is all that an estimator needs beside its model, see "Write your own
model" in the documentation.  The others make the three kinds of estimators that each of
the package's models has.
"""

from ._estimator import (
    AnnealedMixin,
    MixtureMixin,
    SVIPlusMixin,
    TemperedEstimator,
)

__all__ = [
    "AnnealedMixin",
    "MixtureMixin",
    "SVIPlusMixin",
    "TemperedEstimator",
]

"""Estimators on a Dask cluster: functions that take ordinary estimators.

The modules, lowest first: `_remote` has the functions that workers call, `_workers`
runs the blocks of a step there, `_collections` has the data there, `_checkpoints`
saves fits during training, `_fit` and `_fitted_functions` have the public functions.

Everything but the blocks stays in the process that calls: policies, history, early
stopping, callbacks and each step's commit.  The parameters that `fit` leaves are, bit
for bit, those of threads on a list of the same parts, whatever the number of workers.
"""

from .._extras import missing_packages

try:
    import dask  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise missing_packages("sktemper.dask", ("dask", "distributed"), "dask") from error

from ._counts import counts
from ._fit import fit, partial_fit
from ._fitted_functions import (
    lower_bound,
    predict,
    predict_proba,
    score,
    score_samples,
    transform,
)

__all__ = [
    "counts",
    "fit",
    "lower_bound",
    "partial_fit",
    "predict",
    "predict_proba",
    "score",
    "score_samples",
    "transform",
]

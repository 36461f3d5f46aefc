"""Estimators on a Dask cluster: functions that take ordinary estimators.

Each module uses those before it in this list: `_remote` (functions that workers call),
`_workers` (the blocks of a step on workers), `_collections` (data on the cluster),
`_checkpoints` (files of a fit during training), `_fit` and `_fitted_functions` (public
functions).

The workers process the blocks.  Policies, history, early stopping, callbacks and the
commits of steps stay in the calling process.  The fitted parameters are, bit for bit,
those of a fit with threads to a list of the same parts, for any number of workers.
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

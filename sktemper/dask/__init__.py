"""Functions that fit and apply ordinary estimators on a Dask cluster.

The workers process the blocks.  Policies, history, early stopping and callbacks stay in
the calling process, which also stores the result of each step in the estimator.  For
any number of workers, the fitted parameters have the same bits as after a fit with
threads to a list of the same parts.
"""

from .._utils._extras import check_packages

check_packages("sktemper.dask", ("dask", "distributed"), "dask")

from ._functions import (  # noqa: E402
    counts,
    fit,
    lower_bound,
    partial_fit,
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

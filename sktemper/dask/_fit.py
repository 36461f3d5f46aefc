"""Fits on a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dask
import distributed
import numpy as np
from sklearn.utils.validation import has_fit_parameter

from .._engine._data import Source
from .._estimator._estimator import Estimator, TemperedEstimator
from .._utils._docstrings import completed_by
from .._utils._typing import DataLike, Int, StrPath
from ._checkpoints import Checkpoints
from ._cluster import client_of
from ._collections import OnCluster

if TYPE_CHECKING:
    from distributed import Client


def fit(
    estimator: Estimator,
    X: DataLike,
    *,
    client: Client | None = None,
    checkpoint: StrPath | None = None,
    every: Int | None = None,
    sample_weight: DataLike | None = None,
    X_val: DataLike | None = None,
    covariates: DataLike | None = None,
) -> Estimator:
    """Fit an estimator to data on a cluster.

    Parameters
    ----------
    estimator : TemperedEstimator
        Any estimator of this package, or of a model of your own; the call fits it.
    X : dask array, list of Delayed or Future, or collection on disk
        A dask array whose blocks are arrays or CSR matrices with all columns, a list of
        such blocks, or a collection of `sktemper.datasets`, which workers open.  Blocks
        are computed once and kept by the workers during the fit.
    client : distributed.Client, default=None
        Client of the cluster.  None takes the client that was created last.
    checkpoint : str or path, default=None
        Folder into which the estimator is pickled during the fit.  A call with the same
        parameters continues an unfinished fit in it, with the same bits as without the
        interruption, and returns the result of a finished one.
    every : int, default=None
        Number of steps and moves between two checkpoints; None means 20.
    sample_weight : array-like or dask array of shape (n_samples,), default=None
        Numbers of times that samples count, held in the memory of this process.
    X_val : dask array, list of Delayed or Future, collection on disk, or data in \
            memory, default=None
        Validation data, see `TemperedEstimator.fit`.  Data on the cluster are scored
        there, and data in memory in this process.  Checkpoints do not contain them:
        pass the same data again to continue a fit.
    covariates : DataFrame or array-like of shape (n_samples,) or \
            (n_samples, n_covariates), default=None
        For LDA, groups of the documents, held in the memory of this process.

    Returns
    -------
    estimator : TemperedEstimator
        The fitted estimator.  Its parameters have the same bits as after a fit with
        threads to the list of the same blocks.

    Raises
    ------
    TypeError
        If the data, the client or the estimator has another type, or if an estimator
        other than LDA gets covariates.
    ValueError
        If data or parameters are invalid, if the checkpoint is of another fit, or if
        there is a checkpoint and ``n_init`` is above 1.
    ConnectionError
        If the scheduler, all workers or the data are lost.  The estimator then has the
        last complete step, as after Ctrl-C.

    Notes
    -----
    Tasks that are lost with a worker run again on another worker.  An error in a policy
    or reader of your own is raised unchanged.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> import sktemper.dask
    >>> from sktemper import AnnealedGaussianMixture
    >>> samples = np.random.default_rng(0).normal(size=(300, 2))
    >>> X = da.from_array(samples, chunks=(100, 2))
    >>> mixture = AnnealedGaussianMixture(2, max_iter=50, random_state=0)
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     _ = sktemper.dask.fit(mixture, X, client=client)
    >>> mixture.means_.shape
    (2, 2)
    """
    estimator, client = estimator_of(estimator), client_of(client)
    weights, X_val = weights_of(sample_weight), _validation(client, X_val)
    more = given_arguments(estimator, covariates=covariates)
    if checkpoint is None:
        if every is not None:
            raise ValueError("every is for fits with a checkpoint=.")
        X = OnCluster(client, X)
        return estimator.fit(X, sample_weight=weights, X_val=X_val, **more)
    checkpoints = Checkpoints(estimator, checkpoint, 20 if every is None else every)
    X = OnCluster(client, X, checkpoints.after)
    return checkpoints.fit(X, weights, X_val, more)


def given_arguments(estimator, **arguments):
    """Return the arguments that are not None, which other models need not have."""
    given = {name: value for name, value in arguments.items() if value is not None}
    if "covariates" in given and not has_fit_parameter(estimator, "covariates"):
        raise TypeError(f"{type(estimator).__name__} has no covariates, only LDA has.")
    return given


def _validation(client, X_val):
    """Return validation data, wrapped in `OnCluster` if they are on the cluster."""
    first = X_val[0] if isinstance(X_val, list) and X_val else X_val
    is_future = isinstance(first, distributed.Future)
    if isinstance(X_val, Source) or dask.is_dask_collection(first) or is_future:
        return OnCluster(client, X_val)
    return X_val


@completed_by(fit, "Raises")
def partial_fit(
    estimator: Estimator,
    X: DataLike,
    *,
    client: Client | None = None,
    sample_weight: DataLike | None = None,
    times: Any = None,
    covariates: DataLike | None = None,
) -> Estimator:
    """Continue the training with a chunk of a stream that is on a cluster.

    Parameters
    ----------
    times : array-like of shape (n_samples,) or scalar, default=None
        Dates or times of the samples, as in ``partial_fit`` of the estimator.

    Returns
    -------
    estimator : TemperedEstimator
        The same estimator.

    Notes
    -----
    With a half-life, this process remembers a sample of the rows, and fits renewals to
    them itself.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> import sktemper.dask
    >>> from sktemper import AnnealedGaussianMixture
    >>> random = np.random.default_rng(0)
    >>> mixture = AnnealedGaussianMixture(2, random_state=0)
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     for _ in range(3):
    ...         X = da.from_array(random.normal(size=(100, 2)), chunks=(50, 2))
    ...         _ = sktemper.dask.partial_fit(mixture, X, client=client)
    >>> mixture.n_samples_seen_
    300
    """
    estimator, client = estimator_of(estimator), client_of(client)
    more = given_arguments(estimator, times=times, covariates=covariates)
    weights = weights_of(sample_weight)
    return estimator.partial_fit(OnCluster(client, X), sample_weight=weights, **more)


def estimator_of(estimator):
    if not isinstance(estimator, TemperedEstimator):
        raise TypeError(
            "estimator must be one of sktemper, or made with sktemper.base; got "
            f"{type(estimator).__name__}."
        )
    return estimator


def weights_of(sample_weight):
    if dask.is_dask_collection(sample_weight):
        return np.asarray(sample_weight.compute())
    return sample_weight

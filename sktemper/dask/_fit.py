"""Fits on a cluster."""

import dask
import distributed
import numpy as np

from .._data import Source
from .._estimator import TemperedEstimator
from ._checkpoints import Checkpoints
from ._cluster import client_of
from ._collections import OnCluster

__all__ = ["estimator_of", "fit", "partial_fit", "weights_of"]


def fit(
    estimator,
    X,
    *,
    client=None,
    checkpoint=None,
    every=None,
    sample_weight=None,
    X_val=None,
):
    """Fit an estimator to data on a cluster.

    Parameters
    ----------
    estimator : TemperedEstimator
        Any of this package, or of a model of one's own; it is fitted itself.
    X : dask array, list of Delayed or Future, or collection on disk
        A dask array of shape (n_samples, n_features) whose blocks are arrays or CSR
        matrices and have all columns; sizes may be unknown and blocks empty.  Each
        item of a list is a matrix.  Of a collection, see `sktemper.datasets`, workers
        open the shards themselves.  What is not persisted is computed once and kept in
        the memory of the workers during the fit.
    client : distributed.Client, default=None
        None is the one that was made last.
    checkpoint : str or path, default=None
        A folder into which the estimator is pickled during the fit.  If it holds an
        unfinished fit with the same parameters, that goes on and ends with the bits
        that it would have had; if a finished one, that is the result.
    every : int, default=None
        Steps, and moves, between two checkpoints; None is 20.
    sample_weight : array-like or dask array of shape (n_samples,), default=None
        Factors of the samples' statistics; held in the memory of this process.
    X_val : dask array, list of Delayed or Future, collection on disk, or data in \
            memory, default=None
        Data to be scored, see `TemperedEstimator.fit`: on the workers, or in this
        process if that is where they are.  Checkpoints do not hold them: a fit that
        goes on must be given the same again.

    Returns
    -------
    estimator : TemperedEstimator
        The same.  Its parameters have the bits of a fit on threads to the list of the
        same blocks.

    Raises
    ------
    TypeError
        If the data, the client or the estimator is none of these.
    ValueError
        For bad data or parameters; if the checkpoint is of another fit; or with one if
        ``n_init`` is above 1.
    ConnectionError
        If the scheduler, all workers or the data are lost for good.  The estimator has
        the last complete step then, as after Ctrl-C.

    Notes
    -----
    What fails with a worker is done again, on the others or the one that comes in its
    place; an error in a policy or a reader of one's own is raised as it is.

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
    if checkpoint is None:
        if every is not None:
            raise ValueError("every is for fits with a checkpoint=.")
        X = OnCluster(client, X)
        return estimator.fit(X, sample_weight=weights, X_val=X_val)
    checkpoints = Checkpoints(estimator, checkpoint, 20 if every is None else every)
    return checkpoints.fit(OnCluster(client, X, checkpoints.after), weights, X_val)


def _validation(client, X_val):
    """Return data to be scored: those of the cluster as such, others as they are."""
    first = X_val[0] if isinstance(X_val, list) and X_val else X_val
    is_future = isinstance(first, distributed.Future)
    if isinstance(X_val, Source) or dask.is_dask_collection(first) or is_future:
        return OnCluster(client, X_val)
    return X_val


def partial_fit(estimator, X, *, client=None, sample_weight=None):
    """Continue the training with a chunk of a stream that lies on a cluster.

    Parameters
    ----------
    estimator : TemperedEstimator
        As in `fit`; one that was fitted before goes on.
    X : dask array, list of Delayed or Future, or collection on disk
        As in `fit`.
    client : distributed.Client, default=None
        None is the one that was made last.
    sample_weight : array-like or dask array of shape (n_samples,), default=None
        Factors of the samples' statistics.

    Returns
    -------
    estimator : TemperedEstimator
        The same.

    Raises
    ------
    TypeError, ValueError, ConnectionError
        As `fit`.
    """
    estimator, client = estimator_of(estimator), client_of(client)
    weights = weights_of(sample_weight)
    return estimator.partial_fit(OnCluster(client, X), sample_weight=weights)


def estimator_of(estimator):
    """Return an estimator of this package, or raise."""
    if not isinstance(estimator, TemperedEstimator):
        raise TypeError(
            "estimator must be one of sktemper, or made with sktemper.base; got "
            f"{type(estimator).__name__}."
        )
    return estimator


def weights_of(sample_weight):
    """Return weights in the memory of this process."""
    if dask.is_dask_collection(sample_weight):
        return np.asarray(sample_weight.compute())
    return sample_weight

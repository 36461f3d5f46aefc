"""Functions that apply a fitted estimator to data on a cluster."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import dask
import dask.array as da
import distributed
import numpy as np
from dask.delayed import Delayed
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from .._engine._data import Source
from .._utils._docstrings import completed_by
from .._utils._results import portable_copy
from .._utils._typing import DataLike
from ._cluster import client_of
from ._collections import OnCluster, are_all, not_a_collection
from ._fit import estimator_of, fit, given_arguments, weights_of

if TYPE_CHECKING:
    from dask.array import Array
    from distributed import Client

    from ..base import TemperedEstimator


# -- lazy ------------------------------------------------------------------------------
def transform(
    estimator: TemperedEstimator,
    X: DataLike,
    *,
    client: Client | None = None,
    covariates: DataLike | None = None,
) -> Array:
    """Return the transformed blocks lazily, as a dask array.

    Parameters
    ----------
    estimator : TemperedEstimator
        Fitted estimator.  Later changes to the estimator do not change the result.
    X : dask array, list of Delayed or Future, or collection on disk
        Samples of shape (n_samples, n_features), as in `fit`.
    client : distributed.Client, default=None
        Client of the cluster that will compute the result; the call sends the fitted
        estimator there.  None puts the estimator into the graph, for any scheduler.
    covariates : DataFrame or array-like of shape (n_samples,) or \
            (n_samples, n_covariates), default=None
        For LDA, the covariates of the documents, as in ``transform`` of the estimator.
        Blocks must have known numbers of rows.

    Returns
    -------
    transformed : dask array of shape (n_samples, n_components)
        It has the chunks of ``X``, whose sizes may be unknown or 0.

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    AttributeError
        If the estimator has no such method.
    TypeError, ValueError, ConnectionError
        If ``X`` has another type or another number of columns, if the number of
        covariates differs from that of rows, or is unknown, or if the client cannot be
        used.  Errors in the data are raised when the result is computed.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import sktemper.dask
    >>> from sktemper import AnnealedGaussianMixture
    >>> samples = np.random.default_rng(0).normal(size=(300, 2))
    >>> mixture = AnnealedGaussianMixture(2, max_iter=50, random_state=0).fit(samples)
    >>> X = da.from_array(samples, chunks=(100, 2))
    >>> responsibilities = sktemper.dask.transform(mixture, X)
    >>> responsibilities.chunks
    ((100, 100, 100), (2,))
    >>> bool((responsibilities.sum(axis=1).round(6) == 1).all().compute())
    True
    """
    return _lazily(estimator, "transform", X, client, covariates)


@completed_by(transform, "Raises")
def predict(
    estimator: TemperedEstimator, X: DataLike, *, client: Client | None = None
) -> Array:
    """Return the predictions of each block lazily, as in `transform`.

    Returns
    -------
    predicted : dask array of shape (n_samples,) or (n_samples, n_items)
        Labels from mixtures; ratings of all items from matrix factorizations.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import sktemper.dask
    >>> from sktemper import AnnealedGaussianMixture
    >>> samples = np.random.default_rng(0).normal(size=(300, 2))
    >>> mixture = AnnealedGaussianMixture(2, max_iter=50, random_state=0).fit(samples)
    >>> X = da.from_array(samples, chunks=(100, 2))
    >>> labels = sktemper.dask.predict(mixture, X)
    >>> bool((labels.compute() == mixture.predict(samples)).all())
    True
    """
    return _lazily(estimator, "predict", X, client)


@completed_by(transform, "Raises")
def predict_proba(
    estimator: TemperedEstimator, X: DataLike, *, client: Client | None = None
) -> Array:
    """Return the responsibilities of each block lazily, as in `transform`.

    Returns
    -------
    responsibilities : dask array of shape (n_samples, n_components)
        Rows sum to 1.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import sktemper.dask
    >>> from sktemper import AnnealedGaussianMixture
    >>> samples = np.random.default_rng(0).normal(size=(300, 2))
    >>> mixture = AnnealedGaussianMixture(2, max_iter=50, random_state=0).fit(samples)
    >>> X = da.from_array(samples, chunks=(100, 2))
    >>> responsibilities = sktemper.dask.predict_proba(mixture, X)
    >>> responsibilities.sum(axis=1)[:3].compute().round(6)
    array([1., 1., 1.])
    """
    return _lazily(estimator, "predict_proba", X, client)


@completed_by(transform, "Raises")
def score_samples(
    estimator: TemperedEstimator,
    X: DataLike,
    *,
    client: Client | None = None,
    covariates: DataLike | None = None,
) -> Array:
    """Return the score of each sample lazily, as in `transform`.

    Returns
    -------
    scores : dask array of shape (n_samples,)
        Scores in nats, see `TemperedEstimator.score_samples`.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import sktemper.dask
    >>> from sktemper import AnnealedGaussianMixture
    >>> samples = np.random.default_rng(0).normal(size=(300, 2))
    >>> mixture = AnnealedGaussianMixture(2, max_iter=50, random_state=0).fit(samples)
    >>> X = da.from_array(samples, chunks=(100, 2))
    >>> scores = sktemper.dask.score_samples(mixture, X)
    >>> np.allclose(scores.mean().compute(), mixture.score(samples))
    True
    """
    return _lazily(estimator, "score_samples", X, client, covariates)


def _lazily(estimator, method, X, client, covariates=None):
    check_is_fitted(estimator_of(estimator), "state_")
    getattr(estimator, method)  # raises if the model has no such method
    X, n_features = _array_of(estimator, X), estimator.n_features_in_
    if X.shape[1:] != (n_features,) and not np.isnan(X.shape[1]):
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{n_features} features as input."
        )
    more = given_arguments(estimator, covariates=covariates)
    if more:  # raises if they are invalid, or if the number of rows is unknown
        estimator._labels_for_predictions(covariates, X)
    # n_jobs=1, because a worker has a thread for each task
    model = portable_copy(estimator, n_jobs=1)
    model._warned = {"temperature": True}
    meta = _result_of(np.zeros((1, n_features)), model, method, None, {})[:0]
    shape = {"drop_axis": 1}
    if meta.ndim == 2:
        shape = {"chunks": (X.chunks[0], (meta.shape[1],))}
    if client is not None:
        model = client_of(client).scatter(model, hash=False)
    one = dask.delayed(model, name=f"fitted-{uuid.uuid4().hex}", traverse=False)
    return X.map_blocks(
        _result_of,
        one,
        method,
        meta,
        dask.delayed(more, name=f"arguments-{uuid.uuid4().hex}", traverse=False),
        name=f"{method}-{uuid.uuid4().hex}",
        dtype=meta.dtype,
        meta=meta,
        **shape,
    )


def _result_of(block, estimator, method, empty, more, block_info=None):
    """Return the result of a block; ``more`` are arguments for all rows."""
    if block.shape[0] == 0:
        return empty
    if more:
        rows = slice(*block_info[0]["array-location"][0])
        more = {name: _safe_indexing(values, rows) for name, values in more.items()}
    return np.asarray(getattr(estimator, method)(block, **more))


def _array_of(estimator, X):
    if isinstance(X, da.Array):
        if X.ndim != 2:
            raise ValueError(f"Expected a dask array of two dimensions, got {X!r}.")
        return X if X.numblocks[1] == 1 else X.rechunk({1: -1})
    if isinstance(X, Source):
        parts = [dask.delayed(part, traverse=False) for part in X.parts]
        blocks = [part.rows(slice(None)) for part in parts]
        sizes = [part.n_rows for part in X.parts]
    elif are_all(X, Delayed | distributed.Future):
        blocks, sizes = X, [np.nan] * len(X)
    else:
        raise not_a_collection(X)
    width, meta = estimator.n_features_in_, np.zeros((0, 0))
    blocks = [
        da.from_delayed(block, (size, width), meta=meta)
        for block, size in zip(blocks, sizes, strict=True)
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


# -- numbers ---------------------------------------------------------------------------
@completed_by(fit)
def score(
    estimator: TemperedEstimator,
    X: DataLike,
    *,
    client: Client | None = None,
    sample_weight: DataLike | None = None,
    covariates: DataLike | None = None,
) -> float:
    """Return the held-out log-likelihood per token, sample or rating at T=1.

    Parameters
    ----------
    estimator : TemperedEstimator
        Fitted estimator.

    Returns
    -------
    score : float
        Score in nats per token, sample or rating, see `TemperedEstimator.score`.
        Scores and counts are summed on the workers.

    Raises
    ------
    ValueError
        If nothing is held out, or the data are invalid.
    NotFittedError, TypeError, ConnectionError
        As in `fit`, and if the estimator is not fitted.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> import sktemper.dask
    >>> from sktemper import AnnealedGaussianMixture
    >>> samples = np.random.default_rng(0).normal(size=(300, 2))
    >>> mixture = AnnealedGaussianMixture(2, max_iter=50, random_state=0).fit(samples)
    >>> X = da.from_array(samples, chunks=(100, 2))
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     found = sktemper.dask.score(mixture, X, client=client)
    >>> round(found - mixture.score(samples), 6) + 0.0
    0.0
    """
    return _over_all(estimator, "score", X, client, sample_weight, covariates)


@completed_by(score)
def lower_bound(
    estimator: TemperedEstimator,
    X: DataLike,
    *,
    client: Client | None = None,
    sample_weight: DataLike | None = None,
    covariates: DataLike | None = None,
) -> float:
    """Return the evidence lower bound of the data at T=1, with all constants.

    Parameters
    ----------
    X : dask array, list of Delayed or Future, or collection on disk
        All of the data, as in `fit`.

    Returns
    -------
    bound : float
        Lower bound in nats.

    Raises
    ------
    NotFittedError, TypeError, ValueError, ConnectionError
        As in `fit`, and if the estimator is not fitted.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> import sktemper.dask
    >>> from sktemper import AnnealedGaussianMixture
    >>> samples = np.random.default_rng(0).normal(size=(300, 2))
    >>> mixture = AnnealedGaussianMixture(2, max_iter=50, random_state=0).fit(samples)
    >>> X = da.from_array(samples, chunks=(100, 2))
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     found = sktemper.dask.lower_bound(mixture, X, client=client)
    >>> round(found - mixture.lower_bound(samples), 6) + 0.0
    0.0
    """
    return _over_all(estimator, "lower_bound", X, client, sample_weight, covariates)


def _over_all(estimator, method, X, client, sample_weight, covariates):
    check_is_fitted(estimator_of(estimator), "state_")
    more = given_arguments(estimator, covariates=covariates)
    source, weight = OnCluster(client_of(client), X), weights_of(sample_weight)
    return getattr(estimator, method)(source, sample_weight=weight, **more)

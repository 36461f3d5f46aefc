"""Functions that fit and apply an estimator on a cluster."""

import uuid
from typing import Any

import dask
import dask.array as da
import distributed
import numpy as np
from dask.array import Array
from dask.delayed import Delayed
from distributed import Client
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from .._engine._data import Source
from .._estimator._estimator import Estimator, TemperedEstimator
from .._utils._docstrings import completed_by
from .._utils._results import portable_copy
from .._utils._typing import DataLike, Int, StrPath
from ._checkpoints import Checkpoints
from ._cluster import client_of
from ._collections import OnCluster, are_all, not_a_collection


# -- counts of text --------------------------------------------------------------------
def counts(text: Any, vectorizer: Any) -> Array:
    """Return the word counts of texts as a dask array, which computes them lazily.

    Parameters
    ----------
    text : dask Series or Bag of str
        Documents.
    vectorizer : object
        Object with ``transform``, such as a `HashingVectorizer` with
        ``alternate_sign=False`` and ``norm=None``, or a `CountVectorizer` that was
        fitted to a sample or has a given vocabulary.  The graph contains it once.

    Returns
    -------
    counts : dask array of shape (n_documents, n_features)
        Word counts.  There is one block of unknown size for each partition, a CSR
        matrix.  Call ``persist`` on the array if you use it more than once.

    Raises
    ------
    TypeError
        If ``text`` is not a collection of texts in partitions.
    NotFittedError
        If the vectorizer has no vocabulary yet.

    Examples
    --------
    >>> import dask.bag
    >>> import sktemper.dask
    >>> from sklearn.feature_extraction.text import HashingVectorizer
    >>> text = dask.bag.from_sequence(["a cat", "a dog", "cat dog"], npartitions=2)
    >>> vectorizer = HashingVectorizer(
    ...     n_features=64, alternate_sign=False, norm=None
    ... )
    >>> X = sktemper.dask.counts(text, vectorizer)
    >>> [int(block.compute().sum()) for block in X.blocks]
    [2, 2]
    """
    has_partitions = dask.is_dask_collection(text) and hasattr(text, "npartitions")
    if not has_partitions or getattr(text, "ndim", 1) != 1:
        raise TypeError(
            "text must be a dask Series or Bag of strings, got "
            f"{type(text).__name__}. Pass one column of a data frame."
        )
    meta = vectorizer.transform([""])[:0]
    one = dask.delayed(
        vectorizer, name=f"vectorizer-{uuid.uuid4().hex}", traverse=False
    )
    counted, shape = dask.delayed(_counted), (np.nan, meta.shape[1])
    blocks = [
        da.from_delayed(counted(part, one, meta), shape, meta=meta)
        for part in text.to_delayed()
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _counted(part, vectorizer, empty):
    documents = list(part)
    return vectorizer.transform(documents) if documents else empty


# -- fits ------------------------------------------------------------------------------
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
    more, client = given_arguments(estimator, covariates=covariates), client_of(client)
    weights, X_val = weights_of(sample_weight), _validation(client, X_val)
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
    if not isinstance(estimator, TemperedEstimator):
        raise TypeError(
            "estimator must be one of sktemper, or made with sktemper.base; got "
            f"{type(estimator).__name__}."
        )
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
    arguments = X, client, sample_weight, covariates
    return _over_all(estimator, "partial_fit", *arguments, times=times)


def weights_of(sample_weight):
    if dask.is_dask_collection(sample_weight):
        return np.asarray(sample_weight.compute())
    return sample_weight


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
    more = given_arguments(estimator, covariates=covariates)
    check_is_fitted(estimator, "state_")
    getattr(estimator, method)  # raises if the model has no such method
    X, n_features = _array_of(estimator, X), estimator.n_features_in_
    if X.shape[1:] != (n_features,) and not np.isnan(X.shape[1]):
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{n_features} features as input."
        )
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


def _over_all(estimator, method, X, client, sample_weight, covariates, **arguments):
    more = given_arguments(estimator, covariates=covariates, **arguments)
    source, weight = OnCluster(client_of(client), X), weights_of(sample_weight)
    return getattr(estimator, method)(source, sample_weight=weight, **more)

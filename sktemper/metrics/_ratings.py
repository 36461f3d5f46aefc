"""Errors of predicted ratings, and coverage of predictive intervals."""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import ndtri
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._ranking._entries import as_entries, is_odd, kept
from .._ranking._labels import labels_of
from .._utils._arguments import check_scale
from .._utils._budgets import VALUES_AT_ONCE, slices
from .._utils._constraints import check_arguments
from .._utils._docstrings import completed_by
from .._utils._typing import ArrayLike, DataLike

_CLIP_CONSTRAINTS = {"X": ["array-like", "sparse matrix"], "clip": [tuple, list, None]}


@check_arguments(**_CLIP_CONSTRAINTS)
def completion_rmse(estimator: Any, X: DataLike, *, clip: tuple | None = None) -> float:
    """Return the root mean squared error of ratings that are held out of each row.

    The ratings of each row, in column order, are assigned alternately to an observed
    half, from which the factors of the user are computed, and to a held-out half, which
    is predicted.  `score` uses the same halves.  Users need not be in the training
    data.

    Parameters
    ----------
    estimator : object
        A fitted model, such as `sktemper.TemperedMatrixFactorization`, whose
        ``predict`` takes known ratings of users and returns their ratings of all items.
    X : {array-like, sparse matrix} of shape (n_samples, n_items)
        Ratings: the stored entries, or the entries that are not NaN.
    clip : tuple of (float, float), default=None
        The ends of the scale, such as ``(1, 5)``, to which predictions are clipped.

    Returns
    -------
    rmse : float
        Error in the unit of the ratings; lower is better.

    Raises
    ------
    ValueError
        If nothing is held out, because no row has two ratings.

    See Also
    --------
    heldout_rmse : Error of held-out ratings by users of the training data.

    Examples
    --------
    >>> from sktemper import TemperedMatrixFactorization, metrics
    >>> from sktemper.datasets import make_ratings
    >>> X = make_ratings(noise_variance=0.25, random_state=0)
    >>> model = TemperedMatrixFactorization(5, tol=1, random_state=0).fit(X[:800])
    >>> bool(0.5 < metrics.completion_rmse(model, X[800:]) < 0.7)
    True
    """
    check_scale(clip)
    _check_labels(estimator, X, "item_labels")
    X = as_ratings(X, distinct=True)
    squared = n_ratings = 0
    for rows in slices(*X.shape, VALUES_AT_ONCE):
        block = X[rows]
        held_out = is_odd(block)
        if not held_out.any():
            continue
        observed, hidden = kept(block, ~held_out), kept(block, held_out).tocoo()
        predicted = np.asarray(estimator.predict(observed))[hidden.row, hidden.col]
        squared += np.sum((_clipped(predicted, clip) - hidden.data) ** 2)
        n_ratings += hidden.nnz
    if n_ratings == 0:
        raise ValueError(
            "Nothing is held out to be predicted: X needs rows with at least two "
            "ratings."
        )
    return float(np.sqrt(squared / n_ratings))


@completed_by(completion_rmse, "Returns")
@check_arguments(**_CLIP_CONSTRAINTS)
def heldout_rmse(estimator: Any, X: DataLike, *, clip: tuple | None = None) -> float:
    """Return the root mean squared error of other ratings by the training users.

    Parameters
    ----------
    estimator : object
        A fitted model with ``predict_pairs``, such as
        `sktemper.TemperedMatrixFactorization`.
    X : {array-like, sparse matrix} of shape (n_samples, n_items)
        Held-out ratings: the stored entries, or the entries that are not NaN.  The rows
        are the same users, in the same order, as in the training data.

    Raises
    ------
    ValueError
        If X has no ratings, or if its users or items differ from those of the training
        data.

    See Also
    --------
    completion_rmse : Error of ratings by users who are new to the model.
    interval_coverage : Share of held-out ratings that lie in predictive intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from sktemper import TemperedMatrixFactorization, metrics
    >>> from sktemper.datasets import make_ratings
    >>> ratings = make_ratings(noise_variance=0.25, random_state=0).tocoo()
    >>> test = np.random.default_rng(0).random(ratings.nnz) < 0.1
    >>> X, X_test = (
    ...     type(ratings)(
    ...         (ratings.data[part], (ratings.row[part], ratings.col[part])),
    ...         shape=ratings.shape,
    ...     )
    ...     for part in (~test, test)
    ... )
    >>> model = TemperedMatrixFactorization(5, tol=1, random_state=0).fit(X)
    >>> bool(0.5 < metrics.heldout_rmse(model, X_test) < 0.6)
    True
    """
    check_scale(clip)
    X, pairs = _pairs(estimator, X)
    error = _clipped(_predicted(estimator, pairs), clip) - X.data
    return float(np.sqrt(np.mean(error.astype(np.float64) ** 2)))


@completed_by(heldout_rmse)
@check_arguments(X=["array-like", "sparse matrix"], levels=["array-like"])
def interval_coverage(
    estimator: Any, X: DataLike, *, levels: ArrayLike = (0.5, 0.9)
) -> np.ndarray:
    r"""Return the share of held-out ratings that lie in their predictive intervals.

    The interval of a rating at level p is :math:`\mu \pm \Phi^{-1}((1 + p) / 2) \, s`,
    where :math:`\mu` and s are the mean and the standard deviation that
    ``predict_pairs`` returns, and :math:`\Phi` is the standard normal distribution
    function.

    Parameters
    ----------
    estimator : object
        A fitted model whose ``predict_pairs`` has a parameter ``return_std``, such as
        `sktemper.TemperedMatrixFactorization`.
    levels : array-like of shape (n_levels,), default=(0.5, 0.9)
        Levels between 0 and 1.

    Returns
    -------
    coverage : ndarray of shape (n_levels,)
        The share of ratings in the interval of each level.  It is near ``levels`` if
        the predicted uncertainty is right, and lower if the intervals are too narrow.

    Raises
    ------
    ValueError
        If a level is not between 0 and 1, if X has no ratings, or if its shape differs
        from that of the training data.

    Notes
    -----
    The intervals assume Gaussian ratings, but whole numbers of stars are not Gaussian.
    This can make the coverage at one level too high or too low, so compare several
    levels.

    Examples
    --------
    >>> from sktemper import TemperedMatrixFactorization, metrics
    >>> from sktemper.datasets import make_ratings
    >>> X = make_ratings(random_state=0)
    >>> model = TemperedMatrixFactorization(5, tol=1, random_state=0).fit(X)
    >>> metrics.interval_coverage(model, X).shape  # better with held-out ratings
    (2,)
    """
    levels = np.asarray(levels, dtype=np.float64)
    if levels.ndim != 1 or not np.all((levels > 0) & (levels < 1)):
        raise ValueError(f"levels must be numbers between 0 and 1, got {levels!r}.")
    X, pairs = _pairs(estimator, X)
    mean, std = _predicted(estimator, pairs, return_std=True)
    standardised = np.abs(X.data - mean) / std
    return np.mean(standardised[:, None] <= ndtri((1 + levels) / 2), axis=0)


def as_ratings(X, name="X", distinct=False):
    """Return ratings, see `as_entries`, as a CSR array."""
    return sparse.csr_array(as_entries(X, name, [np.float64, np.float32], distinct))


def _clipped(ratings, clip):
    return ratings if clip is None else np.clip(ratings, *clip)


def _check_labels(estimator, X, name):
    """Raise if the labels of users or items differ from the labels of the fit."""
    found, known = labels_of(X, name), getattr(estimator, f"{name}_", None)
    if found is None or known is None or np.array_equal(found, known):
        return
    what = name.partition("_")[0]
    raise ValueError(
        f"The {what}s of X differ from the {what}s of the fit, or are in another "
        f'order: make X with {name}=model.{name}_ and unknown="ignore".'
    )


def _pairs(estimator, X):
    """Return ratings as a COO array, and an array of their rows and columns."""
    if isinstance(estimator, BaseEstimator):
        check_is_fitted(estimator)
    if not hasattr(estimator, "predict_pairs"):
        raise TypeError(
            f"{type(estimator).__name__} predicts no ratings: estimator must have a "
            "method predict_pairs."
        )
    for name in ("user_labels", "item_labels"):
        _check_labels(estimator, X, name)
    X = as_ratings(X, distinct=True)
    fitted = len(estimator.user_factors_), estimator.n_features_in_
    if X.shape != fitted:
        raise ValueError(
            f"X has the shape {X.shape}, but the model was fitted to {fitted}: X must "
            "have the same users as rows and the same items as columns."
        )
    if X.nnz == 0:
        raise ValueError("X has no ratings: no stored entries, or only NaN.")
    X = X.tocoo()
    return X, np.column_stack([X.row, X.col])


def _predicted(estimator, pairs, **options):
    names = ("user_labels_", "item_labels_")
    if any(getattr(estimator, name, None) is not None for name in names):
        options["by_position"] = True
    return estimator.predict_pairs(pairs, **options)

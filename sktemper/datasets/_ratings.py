"""Matrices of ratings and of interactions, made from long tables."""

from typing import Literal

import numpy as np
from sklearn.utils import check_array, check_consistent_length

from .._ranking._labels import label_array, label_keys, labelled, listed_labels
from .._utils._constraints import StrOptions, check_arguments
from .._utils._docstrings import completed_by
from .._utils._frames import check_same_rows
from .._utils._sklearn import csr_container
from .._utils._typing import ArrayLike, SparseMatrix
from .._utils._validation import check_unmasked

#: Treatments of several ratings of an item by a user.
DUPLICATES = StrOptions({"error", "first", "last", "mean"})


@check_arguments(duplicates=[DUPLICATES], unknown=[StrOptions({"error", "ignore"})])
def ratings_matrix(
    users: ArrayLike,
    items: ArrayLike,
    ratings: ArrayLike,
    *,
    user_labels: ArrayLike | None = None,
    item_labels: ArrayLike | None = None,
    duplicates: Literal["error", "first", "last", "mean"] = "error",
    unknown: Literal["error", "ignore"] = "error",
) -> tuple[SparseMatrix, np.ndarray, np.ndarray]:
    """Make a sparse matrix from a long table of users, items and ratings.

    Parameters
    ----------
    users, items : array-like of shape (n_ratings,)
        Labels of any kind that can be sorted, such as numbers or names.
    ratings : array-like of shape (n_ratings,)
        Ratings.  Zeros are ratings too, and are stored.
    user_labels, item_labels : array-like of shape (n_users,) or (n_items,), \
default=None
        Labels of the rows and of the columns, in order.  None takes the labels that
        occur, sorted.  For new users of a fitted model, pass its ``item_labels_``.
    duplicates : {"error", "first", "last", "mean"}, default="error"
        Treatment of an item that a user rated twice: raise an error, take the rating
        that comes first or last in the table, or take the mean.
    unknown : {"error", "ignore"}, default="error"
        Treatment of users and items that are not in the given labels: raise an error,
        or leave their ratings out.

    Returns
    -------
    X : CSR matrix of shape (n_users, n_items)
        The ratings, in float32 if the argument has this type, else in float64; a sparse
        array if scikit-learn's option ``sparse_interface`` is "sparray".  Slices keep
        its ``user_labels`` and ``item_labels``, a model that is fitted to it accepts
        labels, and ``X.users(labels)`` returns the rows of some users.
    user_labels, item_labels : ndarray of shape (n_users,) and (n_items,)
        Labels of the rows and of the columns.

    Raises
    ------
    ValueError
        If a label or a rating is missing, or a given label occurs twice; by default
        also for duplicates and for unknown labels.
    TypeError
        If labels cannot be sorted, values are masked, or ratings are dates.

    Examples
    --------
    >>> from sktemper.datasets import ratings_matrix
    >>> users = ["ann", "bob", "ann", "eve"]
    >>> items = ["tea", "tea", "rum", "gin"]
    >>> X, names, drinks = ratings_matrix(users, items, [5, 3, 0, 4])
    >>> names.tolist(), drinks.tolist()
    (['ann', 'bob', 'eve'], ['gin', 'rum', 'tea'])
    >>> X.toarray()  # of ann's two ratings one is 0, stored
    array([[0., 0., 5.],
           [0., 0., 3.],
           [4., 0., 0.]])

    New users, in the same columns:

    >>> X_new, names, _ = ratings_matrix(
    ...     ["joe", "joe"], ["rum", "ale"], [2, 5], item_labels=drinks, unknown="ignore"
    ... )
    >>> X_new.toarray()
    array([[0., 2., 0.]])
    """
    check_same_rows(users=users, items=items, ratings=ratings)
    ratings = numbers_of(ratings, "ratings")
    labels = user_labels, item_labels
    return _matrix(users, items, ratings, True, labels, unknown, duplicates)


@completed_by(ratings_matrix)
@check_arguments(
    duplicates=[StrOptions({"sum", "one", "error"})],
    unknown=[StrOptions({"error", "ignore"})],
)
def interactions_matrix(
    users: ArrayLike,
    items: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    user_labels: ArrayLike | None = None,
    item_labels: ArrayLike | None = None,
    duplicates: Literal["sum", "one", "error"] = "sum",
    unknown: Literal["error", "ignore"] = "error",
) -> SparseMatrix:
    """Make a sparse matrix from a long table of users and the items that they chose.

    Parameters
    ----------
    users, items : array-like of shape (n_interactions,)
        Labels, as in `ratings_matrix`.
    weights : array-like of shape (n_interactions,), default=None
        Weight of each interaction, such as a count or a duration; not negative.  None
        gives each interaction the weight 1.  Interactions of weight 0 are left out.
    duplicates : {"sum", "one", "error"}, default="sum"
        Treatment of several interactions of a user with an item: add their weights,
        take the largest weight (1 if no weights are given), or raise an error.

    Returns
    -------
    X : CSR matrix of shape (n_users, n_items)
        The weights, with labels of rows and columns, as in `ratings_matrix`.

    Raises
    ------
    ValueError, TypeError
        As in `ratings_matrix`; also if a weight is negative.

    See Also
    --------
    ratings_matrix : Make a matrix of ratings, where zeros are stored.

    Examples
    --------
    >>> from sktemper.datasets import interactions_matrix
    >>> X = interactions_matrix(["ann", "bob", "ann", "ann"], ["a", "a", "b", "b"])
    >>> X.user_labels.tolist(), X.item_labels.tolist()
    (['ann', 'bob'], ['a', 'b'])
    >>> X.toarray()
    array([[1., 2.],
           [1., 0.]])
    >>> X.users(["bob"]).toarray()
    array([[1., 0.]])
    """
    check_same_rows(users=users, items=items, weights=weights)
    weights = np.ones(len(users)) if weights is None else weights
    weights = numbers_of(weights, "weights")
    if len(weights) and weights.min() < 0:
        raise ValueError(f"weights must not be negative, got {weights.min():g}.")
    labels, words = (user_labels, item_labels), ("interaction", "'sum' or 'one'")
    arguments = users, items, weights, weights > 0, labels, unknown, duplicates
    return _matrix(*arguments, *words)[0]


def _matrix(users, items, values, is_kept, labels, unknown, duplicates, *words):
    """Return a labelled matrix of the values that are kept, and the labels."""
    users, items = labels_of(users, "users"), labels_of(items, "items")
    check_consistent_length(users, items, values)
    rows, user_labels = _encoded(users, labels[0], unknown, "user")
    columns, item_labels = _encoded(items, labels[1], unknown, "item")
    is_kept = is_kept & (rows >= 0) & (columns >= 0)
    keys, values = (rows * len(item_labels) + columns)[is_kept], values[is_kept]
    order, labels = np.argsort(keys, kind="stable"), (user_labels, item_labels)
    keys, values = merged(keys[order], values[order], duplicates, labels, *words)
    X = csr_of_keys(keys, values, tuple(map(len, labels)))
    return labelled(X, *labels), *labels


def csr_of_keys(keys, ratings, shape):
    """Return the CSR matrix of entries with increasing keys.

    The key of an entry is ``row * n_columns + column``.
    """
    places = np.divmod(keys, max(shape[1], 1))
    return csr_container()((ratings, places), shape=shape)


def numbers_of(values, name):
    """Return ratings or weights as an array of floats, none of them missing."""
    check_unmasked(values, name, may_be_nan=False)
    if getattr(getattr(values, "dtype", None), "kind", None) in ("m", "M"):
        raise TypeError(f"{name} must be numbers, got {values.dtype}.")
    values = check_array(
        values,
        dtype=[np.float64, np.float32],
        ensure_2d=False,
        ensure_min_samples=0,
        input_name=name,
    )
    if values.ndim != 1:
        raise ValueError(f"{name} must be of one dimension, got {values.ndim}.")
    return values


def labels_of(values, name):
    """Return labels as an array, none of them missing."""
    values = label_array(values)
    if values.ndim != 1:
        raise ValueError(f"{name} must be of one dimension, got {values.ndim}.")
    if values.dtype.kind == "O":
        is_missing = any(map(_is_missing, values))
    else:
        is_missing = values.dtype.kind in "fcmM" and (values != values).any()
    if is_missing:  # None, NaN or NaT
        raise ValueError(f"{name} has missing labels.")
    return values


def _is_missing(label):
    """Return whether a label is None, NaN, NaT or pandas.NA."""
    if label is None or isinstance(label, (str, int)):
        return label is None
    try:
        return bool(label != label)
    except (TypeError, ValueError):  # pandas.NA has no truth value
        return True


def _encoded(values, labels, unknown, kind):
    """Return each value's position in the labels, or -1, and the labels."""
    try:
        distinct, codes = np.unique(values, return_inverse=True)
    except TypeError as error:
        raise TypeError(
            f"{kind}s has labels that cannot be sorted: of several types, or missing."
        ) from error
    if labels is None:
        return codes, distinct
    labels = labels_of(labels, f"{kind}_labels")
    places = {label: place for place, label in enumerate(label_keys(labels))}
    if len(places) < len(labels):
        raise ValueError(f"{kind}_labels has labels that occur twice.")
    positions = [places.get(label, -1) for label in label_keys(distinct)]
    positions = np.array(positions, dtype=np.int64)
    missing = distinct[positions < 0].tolist()
    if unknown == "error" and missing:
        raise ValueError(
            f"{len(missing)} {kind}s are not in {kind}_labels: "
            f"{listed_labels(missing)}. unknown='ignore' leaves their lines out."
        )
    return positions[codes], labels


def merged(
    keys, values, duplicates, labels, noun="rating", choices="'first', 'last' or 'mean'"
):
    """Return the distinct keys of sorted keys, and one value for each."""
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    if len(starts) == len(keys):
        return keys, values
    ends = np.append(starts[1:], len(keys))
    if duplicates == "first":
        return keys[starts], values[starts]
    if duplicates == "last":
        return keys[starts], values[ends - 1]
    if duplicates != "error":
        merge = np.maximum if duplicates == "one" else np.add
        found = merge.reduceat(values, starts, dtype=np.float64)
        if duplicates == "mean":
            found /= ends - starts
        dtype = values.dtype if values.dtype.kind == "f" else np.float64
        return keys[starts], found.astype(dtype)
    row, column = divmod(keys[starts[np.argmax(ends - starts > 1)]], len(labels[1]))
    n_duplicates = len(keys) - len(starts)
    raise ValueError(
        f"{n_duplicates} duplicate {noun}{'s' * (n_duplicates != 1)}, for example of "
        f"user {labels[0].tolist()[row]!r} for item {labels[1].tolist()[column]!r}. "
        f"Choose duplicates={choices}."
    )

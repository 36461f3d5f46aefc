"""Shares of topics in documents: overall, over dates or numbers, or by group."""

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length

from .._utils._typing import ArrayLike, Int

#: Largest number of distinct dates or numbers that are not merged into intervals.
MOST_POINTS = 40
#: Tolerance of the difference from 1 of the sum of a document's topic weights.
SUM_TOL = 1e-3


def topic_shares(
    doc_topic: ArrayLike,
    tokens: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    n_bins: Int = 20,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the topics' shares of the tokens: overall, over time, or by group.

    Parameters
    ----------
    doc_topic : array-like of shape (n_samples, n_topics)
        Topic weights of documents, as ``transform`` returns them.
    tokens : array-like of shape (n_samples,)
        Number of tokens of each document.
    groups : array-like of shape (n_samples,), default=None
        Date, number or name of the group of each document; None returns overall
        shares.  Documents without a date (NaT) or number (NaN) are left out.
    n_bins : int, default=20
        Number of intervals of equal length for dates or numbers, if there are more than
        40 different ones.

    Returns
    -------
    shares : ndarray of shape (n_topics,) or (n_topics, n_places)
        Shares of the tokens, overall or at each place; they sum to 1 over the topics.
    places : ndarray of shape (n_places,)
        Sorted dates or numbers, which are the middles of intervals if there are more
        than 40 different ones; or sorted names.  Not returned if ``groups`` is None.

    Raises
    ------
    ValueError
        If ``doc_topic``, ``tokens`` and ``groups`` have different lengths, if a row of
        ``doc_topic`` does not sum to 1, or if a number of tokens is negative.

    See Also
    --------
    TopicPrevalenceDisplay : Draws such shares with matplotlib.

    Examples
    --------
    >>> from sktemper.plotting import topic_shares
    >>> doc_topic = [[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]
    >>> topic_shares(doc_topic, [10, 20, 20])
    array([0.5, 0.5])
    >>> shares, places = topic_shares(doc_topic, [10, 20, 20], ["a", "b", "b"])
    >>> shares.tolist(), places.tolist()
    ([[0.5, 0.5], [0.5, 0.5]], ['a', 'b'])
    """
    check_consistent_length(doc_topic, tokens)
    weights = check_array(
        doc_topic, dtype=np.float64, input_name="doc_topic", copy=True
    )
    if (np.abs(weights.sum(axis=1) - 1.0) > SUM_TOL).any():
        raise ValueError(
            "The rows of doc_topic must sum to 1: pass the result of transform(X), not "
            "of transform(X, normalize=False)."
        )
    tokens = check_array(
        tokens,
        dtype=np.float64,
        ensure_2d=False,
        ensure_non_negative=True,
        input_name="tokens",
    )
    weights *= tokens.reshape(-1, 1)
    if groups is None:
        return _normalized(weights.sum(axis=0))
    check_consistent_length(doc_topic, groups)
    groups = _as_values(groups)
    if groups.dtype.kind in "mMf":
        known = ~np.isnan(groups)
        groups, weights = groups[known], weights[known]
    places, numbers = _places(groups, n_bins)
    sums = np.zeros((len(places), weights.shape[1]))
    np.add.at(sums, numbers, weights)
    return _normalized(sums).T, places


def _normalized(sums):
    return sums / np.maximum(sums.sum(axis=-1, keepdims=True), 1e-300)


def _places(groups, n_bins):
    values, numbers = np.unique(groups, return_inverse=True)
    if groups.dtype.kind in "US" or len(values) <= MOST_POINTS:
        return values, numbers
    dates = groups.dtype.kind == "M"
    scale = groups.astype("datetime64[s]").astype(float) if dates else groups
    edges = np.linspace(scale.min(), scale.max(), n_bins + 1)
    numbers = np.clip(np.searchsorted(edges, scale, "right") - 1, 0, n_bins - 1)
    middle = (edges[:-1] + edges[1:]) / 2
    if dates:
        middle = middle.astype("int64").astype("datetime64[s]")
    filled, numbers = np.unique(numbers, return_inverse=True)
    return middle[filled], numbers


def _as_values(groups):
    """Return groups as dates, numbers or str; objects become dates or str."""
    groups = np.asarray(groups)
    if groups.dtype.kind == "O":
        first = next((group for group in groups if group is not None), None)
        if not hasattr(first, "year"):
            return groups.astype(str)
        return np.array([_without_zone(date) for date in groups], dtype="datetime64[s]")
    return groups


def _without_zone(date):
    """Return a date of Python or pandas without its time zone; None if missing."""
    if date is None or date != date:  # NaT is not equal to itself
        return None
    return date.replace(tzinfo=None) if getattr(date, "tzinfo", None) else date

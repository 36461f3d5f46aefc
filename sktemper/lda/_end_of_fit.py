"""How a fit of topics ends: what to warn of, or None."""

import numpy as np

from .._estimator import LARGEST_START_SHARE, is_above_one
from ._merging import LARGEST_EMPTY

__all__ = ["END_OF_FIT_CHECKS", "near_copies"]

#: Cosine of the words of two topics above which they are near copies.
LEAST_COSINE = 0.95
#: Most probable words of two topics: near copies have half of them in common.
N_WORDS = 20
#: Topics that a message names, at most.
MOST_NAMED = 5


def topics_are_empty(estimator, run):
    """Some topics have next to no words."""
    if not _is_final(estimator, run):
        return None
    tokens = run.state.globals_.tokens().sum(axis=0)
    empty = np.flatnonzero(tokens < LARGEST_EMPTY * tokens.mean())
    if len(empty) == 0:
        return None
    return (
        f"Empty topics: {_named(empty)}; {len(empty)} of {len(tokens)}. Next to no "
        "word came from them. Lower n_components, or take them out by merge_topics()."
    )


def topics_are_copies(estimator, run):
    """Some topics are near copies of others."""
    if not _is_final(estimator, run):
        return None
    pairs = near_copies(run.state.globals_.tokens().T)
    if not pairs:
        return None
    return (
        "Topics that are near copies: "
        f"{_named(f'{i} and {j}' for i, j in pairs)} (cosine above {LEAST_COSINE}). "
        "Merge them by merge_topics(), lower n_components, or start from more topics, "
        "n_start_components=2 * n_components, which merges them in the fit."
    )


#: The checks, in the order of their warnings.
END_OF_FIT_CHECKS = (topics_are_empty, topics_are_copies)


def near_copies(topic_word):
    """Return the pairs of topics that are near copies.

    Only pairs that have half of their most probable words in common are compared in
    full: of many topics and words all pairs would take long.

    Parameters
    ----------
    topic_word : ndarray of shape (n_topics, n_features)
        Not negative.

    Returns
    -------
    pairs : list of (int, int)
    """
    n_topics, n_features = topic_word.shape
    filled = topic_word.any(axis=1)
    n_words = min(N_WORDS, n_features)
    has = np.zeros(topic_word.shape, dtype=np.float32)
    top = np.argpartition(topic_word, n_features - n_words, axis=1)[:, -n_words:]
    np.put_along_axis(has, top, 1.0, axis=1)
    seen = np.flatnonzero(has.any(axis=0))
    common = has[:, seen] @ has[:, seen].T
    lower, upper = np.nonzero(np.triu(common >= n_words / 2, 1))
    return [
        (int(i), int(j))
        for i, j in zip(lower, upper, strict=True)
        if filled[i]
        and filled[j]
        and _cosine(topic_word[i], topic_word[j]) > LEAST_COSINE
    ]


def _cosine(a, b):
    a, b = a / a.max(), b / b.max()  # no square overflows
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def _is_final(estimator, run):
    """Return whether topics are what they will be: neither hot nor near their start."""
    return (
        not is_above_one(estimator)
        and run.state.convergence.start_share <= LARGEST_START_SHARE
    )


def _named(names):
    names = [str(name) for name in names]
    return ", ".join(names[:MOST_NAMED]) + ", ..." * (len(names) > MOST_NAMED)

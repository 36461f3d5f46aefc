"""Ranking measures of blocks of users: precision, recall and nDCG at k."""

import numpy as np

from .._utils._budgets import VALUES_AT_ONCE, slices


def ranking_measures(scores, rows, items, measures):
    """Return measures of the rankings of a few users.

    The measures are expectations over random orders of items with equal scores: each
    relevant item has the mean gain of the ranks that the tied items take.

    Scores are -inf for items that are not candidates.  ``rows`` and ``items`` of the
    relevant entries are in the order of the rows, and ``measures`` has pairs of a key
    of `MEASURES` and k.  The result has a row for each measure, with NaN for rows
    without relevant items.
    """
    n_relevant = np.bincount(rows, minlength=len(scores))
    has_some = n_relevant > 0
    firsts = (np.cumsum(n_relevant) - n_relevant)[has_some]
    scored = scores[rows, items]
    values = np.full((len(measures), len(scores)), np.nan)
    for value, (kind, k) in zip(values, measures, strict=True):
        most = min(k, scores.shape[1])  # length of the list of recommendations
        first, size = _ties(scores, rows, scored, most)
        gains, best_of = MEASURES[kind]
        sums = np.concatenate([[0.0], np.cumsum(gains(most))])
        ends = np.minimum(first + size, most)
        gained = np.where(
            first < most, (sums[ends] - sums[np.minimum(first, most)]) / size, 0
        )
        parts = np.split(gained, firsts[1:])
        best = best_of(sums, n_relevant[has_some], k)
        totals = np.array([part.sum() for part in parts[: len(firsts)]])
        value[has_some] = totals / best
    return values


def _ties(scores, rows, scored, k):
    """Return for each given item the number of better items, and the number of ties.

    The ties are the items with the same score, including the given item.  Both numbers
    are exact for items that may be among the first k.  For other items, the number of
    all items and 1 are returned.
    """
    n_items = scores.shape[1]
    top = -np.sort(-np.partition(scores, n_items - k, axis=1)[:, n_items - k :], axis=1)
    last = top[:, -1]
    at_last = (scores == last[:, None]).sum(axis=1)
    first, size = np.empty((2, len(scored)), np.intp)
    for part in slices(len(scored), k, VALUES_AT_ONCE):
        best = top[rows[part]]
        first[part] = (best > scored[part, None]).sum(axis=1)
        size[part] = (best == scored[part, None]).sum(axis=1)
    size = np.where(scored == last[rows], at_last[rows], size)
    behind = scored < last[rows]
    return np.where(behind, n_items, first), np.where(behind, 1, size)


def _most_gained(sums, n_relevant, k):
    """Return the largest possible gains, of lists that begin with relevant items."""
    return sums[np.minimum(n_relevant, len(sums) - 1)]


#: For each measure, a function that returns the gain of a relevant item at each rank,
#: and a function that returns the divisor of the sum of gains.
MEASURES = {
    "precision": (np.ones, lambda sums, n_relevant, k: float(k)),
    "recall": (np.ones, _most_gained),
    "ndcg": (lambda k: 1 / np.log2(np.arange(2, k + 2)), _most_gained),
}

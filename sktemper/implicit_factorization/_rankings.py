"""Held-out score of a model of clicks: nDCG of the held-out items."""

import numpy as np
from sklearn.utils import gen_batches

from .._linalg import tiled_matmul
from .._ranking._measures import MOST_SCORES, ranking_measures
from ..model import Stopped

__all__ = ["ndcg_of_held_out"]

#: Number of items at the top of a ranking that the measure considers.
N_PLACES = 100


def ndcg_of_held_out(users, items, observed, held_out, stop):
    """Return the normalized discounted cumulative gain at 100 of each user.

    Observed items are not ranked.

    Parameters
    ----------
    users : ndarray of shape (n_rows, n_components)
        Factors of users.
    items : ndarray of shape (n_items, n_components)
        Factors of items.
    observed, held_out : Pairs
        Pairs of the same rows.
    stop : ndarray of shape (1,)
        Another thread sets it to a nonzero number to stop the call.

    Returns
    -------
    gains : ndarray of shape (n_rows,)
        Values in [0, 1].  A user without held-out pairs has 0.

    Raises
    ------
    Stopped
        If ``stop`` is set.
    """
    columns = np.ascontiguousarray(items.T)
    gains = np.zeros(len(users))
    for rows in gen_batches(len(users), max(1, MOST_SCORES // len(items))):
        if stop[0]:
            raise Stopped
        scores = tiled_matmul(users[rows], columns)
        scores[_entries(observed, rows)] = -np.inf
        relevant = _entries(held_out, rows)
        (values,) = ranking_measures(scores, *relevant, [("ndcg", N_PLACES)])
        gains[rows] = np.nan_to_num(values)
    return gains


def _entries(pairs, rows):
    """Return the row, counted from 0 in a slice of rows, and the item of each pair."""
    starts = pairs.starts[rows.start : rows.stop + 1]
    row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return row, pairs.items[starts[0] : starts[-1]]

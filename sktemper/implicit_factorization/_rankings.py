"""How well scores rank what was held out."""

import numpy as np
from sklearn.utils import gen_batches

from .._linalg import tiled_matmul
from ..model import Stopped

__all__ = ["gains_of_held_out"]

#: Places of a ranking that count, and scores that are looked at in one go.
N_PLACES, MOST_SCORES = 100, 2**22


def gains_of_held_out(users, items, observed, held_out, stop):
    """Return the normalised discounted cumulative gain at 100 of each user.

    Items that are observed are no candidates.  Among equal scores those that are held
    out have the mean of the discounts of their places.

    Parameters
    ----------
    users : ndarray of shape (n_rows, n_components)
    items : ndarray of shape (n_items, n_components)
    observed, held_out : Pairs
        Of the same rows.
    stop : ndarray of shape (1,)

    Returns
    -------
    gains : ndarray of shape (n_rows,)
        In [0, 1]; 0 where nothing is held out.
    """
    columns = np.ascontiguousarray(items.T)
    gains = np.zeros(len(users))
    for rows in gen_batches(len(users), max(1, MOST_SCORES // len(items))):
        if stop[0]:
            raise Stopped
        scores = tiled_matmul(users[rows], columns)
        for row, score in zip(range(rows.start, rows.stop), scores, strict=True):
            seen, relevant = (
                pairs.items[pairs.starts[row] : pairs.starts[row + 1]]
                for pairs in (observed, held_out)
            )
            if len(relevant):
                gains[row] = _gain(score, seen, relevant)
    return gains


def _gain(scores, seen, relevant):
    """Return the gain of one ranking."""
    scores[seen] = -np.inf
    candidates = np.sort(scores)[::-1]
    most = len(candidates) - len(seen)
    own = -scores[relevant]
    ends = np.searchsorted(-candidates[:most], own, "right")
    firsts = np.searchsorted(-candidates[:most], own, "left")
    n_places = min(N_PLACES, most)
    discounts = 1 / np.log2(np.arange(n_places) + 2)
    sums = np.concatenate([[0.0], np.cumsum(discounts)])
    found = sums[np.minimum(ends, n_places)] - sums[np.minimum(firsts, n_places)]
    return (found / (ends - firsts)).sum() / sums[min(len(relevant), n_places)]

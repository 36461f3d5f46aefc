"""Positions of the largest values."""

import numpy as np


def largest(values, n):
    """Return the positions of the ``n`` largest values; ties keep their order.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
    n : int
        At least 1; if there are fewer values, all positions are returned.
    """
    if len(values) > n:
        places = np.flatnonzero(values >= np.partition(values, -n)[-n])
    else:
        places = np.arange(len(values))
    return places[np.argsort(-values[places], kind="stable")][:n]

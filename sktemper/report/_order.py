"""The largest of many values."""

import numpy as np

__all__ = ["largest"]


def largest(values, n):
    """Return the places of the ``n`` largest values, of equal ones the first first.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
    n : int
        At least 1; all places are returned if there are fewer.
    """
    if len(values) > n:
        places = np.flatnonzero(values >= np.partition(values, -n)[-n])
    else:
        places = np.arange(len(values))
    return places[np.argsort(-values[places], kind="stable")][:n]

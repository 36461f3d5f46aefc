"""Births: a component of a mixture begins anew around a row."""

import numpy as np

from ._families import dense

__all__ = ["USED", "birth"]

#: The least count of a component that is not empty.
USED = 0.5


def birth(model, globals_, hyper, block, random, row_weight):
    """Return responsibilities in which a component has begun anew.

    A component drawn at random leaves its rows to the others.  It takes the rows that
    are nearest to one that is drawn, mostly among those that the mixture explains
    badly: half as many as a component has that is not empty.

    Parameters
    ----------
    model : MixtureModel
    globals_, hyper : object
    block : object
    random : numpy.random.Generator
    row_weight : ndarray of shape (n_rows,)

    Returns
    -------
    responsibilities : ndarray of shape (n_rows, n_components)
    """
    prepared = model.prepare(globals_, hyper)
    shares, bounds, _ = model.responsibilities(block, prepared)
    shares, k = shares.astype(np.float64), random.integers(model.n_components)
    n_used = max((row_weight @ shares > USED).sum(), 1)
    shares[:, k] = 0.0
    shares += 1e-300
    shares /= shares.sum(axis=1, keepdims=True)
    coordinates = model.family_of(hyper).coordinates(block, row_weight)
    centre = _drawn(bounds, row_weight, random)
    n_near = max(row_weight.sum() / (2 * n_used), 2)
    near = _neighbours(coordinates, centre, row_weight, n_near)
    shares[near] = 0.0
    shares[near, k] = 1.0
    return shares


def _drawn(bounds, row_weight, random):
    """Return a row drawn in proportion to its weight, mostly one of a small bound.

    The draw depends neither on the order of the rows nor on whether a weight is a
    repetition.
    """
    order = np.argsort(bounds, kind="stable")
    ends = np.cumsum(row_weight[order])
    # a product: a third of the draws are from the tenth of the rows explained worst
    place = random.random(2).prod() * ends[-1]
    drawn = np.searchsorted(ends, place, side="right")
    return order[min(drawn, len(order) - 1)]


def _neighbours(coordinates, centre, row_weight, n_near):
    """Return whether each row is one of the nearest to the row ``centre``.

    The nearest have a total weight of ``n_near``; rows as near as the last of them are
    neighbours, too.
    """
    own = dense(coordinates[[centre]]).ravel()
    distances = (coordinates**2).sum(axis=1) - 2.0 * (coordinates @ own)
    nearest = np.argsort(distances, kind="stable")
    last = np.searchsorted(np.cumsum(row_weight[nearest]), n_near)
    return distances <= distances[nearest[min(last, len(nearest) - 1)]]

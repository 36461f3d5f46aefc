"""Births: restarts of a component of a mixture around a row."""

import numpy as np

from ._families import dense

__all__ = ["USED", "birth"]

#: Smallest number of rows of a component that is not empty.
USED = 0.5


def birth(model, globals_, hyper, block, random, row_weight):
    """Return responsibilities in which a random component has been restarted.

    The component leaves its rows to the others.  A row is drawn as its new centre, with
    higher probabilities for rows with small bounds.  The component takes the nearest
    rows, half of the average number of rows of nonempty components.

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
    """Draw a row in proportion to its weight, with a preference for small bounds.

    The draw does not depend on the order of the rows, and a row of weight 2 is
    equivalent to two rows.
    """
    order = np.argsort(bounds, kind="stable")
    ends = np.cumsum(row_weight[order])
    # a product of two uniform numbers is below 0.1 in a third of the draws
    place = random.random(2).prod() * ends[-1]
    drawn = np.searchsorted(ends, place, side="right")
    return order[min(drawn, len(order) - 1)]


def _neighbours(coordinates, centre, row_weight, n_near):
    """Return whether each row is one of the nearest to the row ``centre``.

    The nearest rows have a total weight of ``n_near``.  All rows at the distance of the
    last one are included.
    """
    own = dense(coordinates[[centre]]).ravel()
    distances = (coordinates**2).sum(axis=1) - 2.0 * (coordinates @ own)
    nearest = np.argsort(distances, kind="stable")
    last = np.searchsorted(np.cumsum(row_weight[nearest]), n_near)
    return distances <= distances[nearest[min(last, len(nearest) - 1)]]

"""Births: restarts of a component of a mixture around a row."""

import numpy as np

from ._products import dense

__all__ = ["USED", "birth"]

#: Components with a smaller weighted number of rows count as empty.
USED = 0.5


def birth(model, globals_, hyper, block, random, row_weight):
    """Return responsibilities in which one component starts again around a row.

    A component is drawn at random, and its rows are divided among the other components.
    Then a row is drawn, usually a row that the mixture explains badly.  The component
    gets the nearest neighbours of this row: half of the mean number of rows of a
    nonempty component.

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
    """Return the index of a random row, usually a row with a small bound.

    The draw does not depend on the order of the rows, and a row of weight 2 is
    equivalent to two equal rows.
    """
    order = np.argsort(bounds, kind="stable")
    ends = np.cumsum(row_weight[order])
    # The product of two uniform numbers is small: a third of the draws are among the
    # tenth of the rows with the smallest bounds.
    place = random.random(2).prod() * ends[-1]
    drawn = np.searchsorted(ends, place, side="right")
    return order[min(drawn, len(order) - 1)]


def _neighbours(coordinates, centre, row_weight, n_near):
    """Return a mask of the rows that are nearest to the row ``centre``.

    The total weight of these rows is at least ``n_near``, unless all rows weigh less.
    All rows at the largest distance are included.
    """
    own = dense(coordinates[[centre]]).ravel()
    distances = (coordinates**2).sum(axis=1) - 2.0 * (coordinates @ own)
    nearest = np.argsort(distances, kind="stable")
    last = np.searchsorted(np.cumsum(row_weight[nearest]), n_near)
    return distances <= distances[nearest[min(last, len(nearest) - 1)]]

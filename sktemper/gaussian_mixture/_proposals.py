"""Births, splits and merges: responsibilities that a fit may go on from."""

import numpy as np

from ..model import IllDefined
from ._splits import SplitMergeSearch

__all__ = ["birth", "split_merge"]

#: Names the proposal to reorder components.
ORDER = "order"
#: Nats that make it worth a try.
LEAST_GAIN = 1e-3


def birth(block, order, responsibilities, random, row_weight):
    """Restart a component around a sample, in responsibilities in place.

    A component taken at random leaves its samples to the others, and takes those
    nearest to a random one: half of what a component has that is not empty.  ``order``
    sorts the rows, see `order_of_rows`.
    """
    k, total = random.integers(responsibilities.shape[1]), row_weight.sum()
    n_used = max((row_weight @ responsibilities > 0.5).sum(), 1)
    responsibilities[:, k] = 0.0
    responsibilities += 1e-300
    responsibilities /= responsibilities.sum(axis=1, keepdims=True)
    n_near = max(total / (2 * n_used), 2)
    near = _neighbours(block, order, row_weight, n_near, random)
    responsibilities[near] = 0.0
    responsibilities[near, k] = 1.0


def split_merge(model, hyper, block, responsibilities, refused, row_weight):
    """Make the split and the merge that promise most, in responsibilities in place.

    They are valued by the marginal likelihoods of hard clusters, see
    `SplitMergeSearch`.  If the order of the components matters, the best one is
    proposed first.

    Returns
    -------
    key : object
        Names the proposal; None if there is none.
    """
    counts = row_weight @ responsibilities
    gain = model.weights.gain_of_order(counts, hyper.weight_concentration)
    if ORDER not in refused and gain > LEAST_GAIN:
        return ORDER
    search = SplitMergeSearch(
        model, hyper, block, row_weight, responsibilities, model.known_splits
    )
    try:
        best = search.best(refused)
        several = (best,) if best is not None else search.best_together(refused)
    except IllDefined:  # without reg_covar copies have no evidence
        return None
    if several is None:
        return None
    for split, first, second in several:
        if second != first:
            responsibilities[:, first] += responsibilities[:, second]
            responsibilities[:, second] = 0.0
        if split is not None:
            away = search.halves[split]
            responsibilities[away, second] += responsibilities[away, split]
            responsibilities[away, split] = 0.0
    return best or several


def _neighbours(block, order, row_weight, n_near, random):
    """Return those nearest to a random row, of a weight of ``n_near`` together.

    Of the weights, not of the order of the rows: as if a weight were repetitions.
    """
    ends = np.cumsum(row_weight[order])
    drawn = np.searchsorted(ends, random.random() * ends[-1], side="right")
    centre = block[order[min(drawn, len(block) - 1)]]
    mean = row_weight @ block / ends[-1]
    spread = np.sqrt(row_weight @ (block - mean) ** 2 / ends[-1])
    spread = np.maximum(spread, np.finfo(block.dtype).tiny)
    distances = (((block - centre) / spread) ** 2).sum(axis=1)
    nearest = np.argsort(distances)
    last = np.searchsorted(np.cumsum(row_weight[nearest]), n_near)
    return distances <= distances[nearest[min(last, len(block) - 1)]]

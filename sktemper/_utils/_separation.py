"""Gaps between clusters: the dip of the log odds of clusters."""

import numpy as np

from ._evidence import FALSE_ALARM_RATE, effective_rows
from ._hulls import lower_knots

#: Under a uniform distribution of n numbers, the square root of n times the dip exceeds
#: q with the probability exp(NULL_HEIGHT - NULL_RATE q^2), for the probabilities that
#: matter here.  Both come from 40,000 simulated data sets.
NULL_HEIGHT, NULL_RATE = 1.7, 17.0


def dip(values):
    """Return the dip of sorted numbers, of which equal ones count once [1]_.

    It is the largest distance between their distribution function and the nearest
    unimodal one.

    References
    ----------
    .. [1] J. Hartigan, P. Hartigan, "The dip test of unimodality", Annals of
       Statistics, 1985.
    """
    x = values[np.append(True, values[1:] > values[:-1])]
    below = np.arange(len(x), dtype=float)
    above = below + 1.0
    first, last, largest = 0, len(x) - 1, 1.0
    while first < last:
        here = slice(first, last + 1)
        own, under, over = x[here], below[here], above[here]
        low, high = lower_knots(own, under), lower_knots(own, -over)
        convex = np.interp(own, own[low], under[low])
        concave = np.interp(own, own[high], over[high])
        gaps = concave - convex
        place = max(low[gaps[low].argmax()], high[gaps[high].argmax()], key=gaps.item)
        if gaps[place] <= largest:
            break
        start = low[np.searchsorted(low, place, side="right") - 1]
        stop = high[np.searchsorted(high, place)]
        left, right = (over - convex)[: start + 1], (concave - under)[stop:]
        largest = max(largest, left.max(), right.max())
        if (start, stop) == (0, last - first):
            break
        first, last = first + start, first + stop
    return float(largest / (2.0 * len(x)))


def bipartitions(shares):
    """Yield arrays that tell which clusters are on one side, for pairs of sides.

    Each cluster is compared with the others, and so is each node of the tree that joins
    the two clusters that share the largest part of the smaller one.

    Parameters
    ----------
    shares : ndarray of shape (n_samples, n_components)
        Responsibilities.
    """
    used = np.unique(shares.argmax(axis=1))
    sides = np.eye(shares.shape[1], dtype=bool)[used]
    yield from sides[: len(used) - (len(used) <= 2)]
    sizes = shares[:, used].sum(axis=0)
    common = shares[:, used].T @ shares[:, used]
    while len(sides) > 2:
        overlap = common / np.minimum.outer(sizes, sizes)
        np.fill_diagonal(overlap, -1.0)
        one, other = sorted(np.unravel_index(overlap.argmax(), overlap.shape))
        for total in (sides, sizes, common, common.T):
            total[one] += total[other]
        sides, sizes = np.delete(sides, other, 0), np.delete(sizes, other)
        common = np.delete(np.delete(common, other, 0), other, 1)
        yield sides[one].copy()


def largest_dip(shares):
    """Return the largest dip between sides of clusters, and the number of looks.

    It is the dip of the log odds of a side, among equally many samples on both sides
    that are nearest to even odds, times the square root of the `effective_rows`.  A
    single cluster has no sides.  Noise of one nat makes the log odds of discrete data
    continuous.
    """
    tiny, dips = np.finfo(shares.dtype).tiny, []
    noise = np.random.default_rng(0).normal(size=len(shares))
    for side in bipartitions(shares):
        both = shares[:, side].sum(axis=1), shares[:, ~side].sum(axis=1)
        one, other = (np.log(np.maximum(part, tiny), dtype=float) for part in both)
        odds = np.sort(np.sort(one - other) + noise)
        place = int(np.searchsorted(odds, 0.0, side="right"))
        half = min(place, len(odds) - place)
        near = odds[place - half : place + half]
        dips.append(dip(near) * np.sqrt(effective_rows(len(near))) if half else 0.0)
    return max(dips, default=0.0), len(dips)


def dip_of_chance(n_looks):
    """Return the largest dip that chance reaches in a number of looks."""
    rate = FALSE_ALARM_RATE / n_looks
    return np.sqrt((NULL_HEIGHT - np.log(rate)) / NULL_RATE)

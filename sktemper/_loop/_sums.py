"""Sums whose bits depend on what is added and in which order, on nothing else."""

import functools
import operator

__all__ = ["FAN_IN", "combined", "compacted", "tree_sum"]

#: How many values a node of the tree adds, at most.
FAN_IN = 4


def combined(values):
    """Return the sum of a node's values, from left to right; of one that itself.

    Values may have ``compacted()``, which returns them in as little memory as they
    need: that changes no bits of a value that is compact.
    """
    if len(values) == 1:
        return values[0]
    return compacted(functools.reduce(operator.add, map(compacted, values)))


def compacted(value):
    """Return a value in as little memory as it needs, see `combined`."""
    return value.compacted() if hasattr(value, "compacted") else value


def tree_sum(values, combine=combined):
    """Return the sum of values by a tree over their order.

    The first `FAN_IN` make a node, so do the next, and so on, and in the same way nodes
    make nodes.  As soon as all values of a node are there it takes their place.

    Parameters
    ----------
    values : iterable
        At least one.
    combine : callable
        What adds the values of a node, where these are only names of values.
    """
    levels = []
    for value in values:
        _put(levels, 0, value, combine)
    left_over = []
    for level in levels:
        # those of a level come before what is left over of lower ones
        nodes = level + left_over
        left_over = [combine(nodes)] if nodes else []
    return left_over[0]


def _put(levels, number, value, combine):
    if number == len(levels):
        levels.append([])
    levels[number].append(value)
    if len(levels[number]) == FAN_IN:
        values, levels[number] = levels[number], []
        _put(levels, number + 1, combine(values), combine)

"""Sums whose bits depend on what is added and in which order, on nothing else."""

__all__ = ["combined", "compacted", "tree_sum"]


class Fold:
    """The sum of values from left to right, as they come; of one that itself.

    Values may have ``accumulator()``, which returns what has ``add(value)`` and
    ``total()`` and needs less memory or time than ``+``.  It changes no value that is
    added.
    """

    def __init__(self):
        self.n_values, self._total = 0, None

    def add(self, value):
        """Add the next value."""
        self.n_values += 1
        if self.n_values == 1:
            self._total = value
            return
        if self.n_values == 2:
            self._total = _accumulator(self._total)
        self._total.add(value)

    def total(self):
        """Return the sum of the values, and begin anew."""
        total = self._total if self.n_values == 1 else self._total.total()
        self.n_values, self._total = 0, None
        return total


class _Plus:
    """The accumulator of values that have none."""

    def __init__(self, value):
        self._value = value

    def add(self, value):
        self._value = self._value + value

    def total(self):
        return self._value


def _accumulator(value):
    return value.accumulator() if hasattr(value, "accumulator") else _Plus(value)


def combined(values):
    """Return the sum of a node's values, from left to right; of one that itself."""
    fold = Fold()
    for value in values:
        fold.add(value)
    return fold.total()


def compacted(value):
    """Return a value in as little memory as it needs: the bits of sums stay."""
    return value.compacted() if hasattr(value, "compacted") else value


def tree_sum(values, fan_in, fold=Fold):
    """Return the sum of values by a tree over their order.

    The first ``fan_in`` make a node, so do the next, and so on, and in the same way
    nodes make nodes.  A value is added when it comes: of each level there is one sum.

    Parameters
    ----------
    values : iterable
        At least one.
    fan_in : int
        How many values a node adds, at most.
    fold : callable
        Makes what adds the values of a node, as `Fold` does.
    """
    levels = []
    for value in values:
        _put(levels, 0, value, fan_in, fold)
        del value  # not to be held while the next is computed
    left_over = None
    for node in levels:
        # what is left over of the nodes below comes last
        if left_over is not None:
            node.add(left_over)
        left_over = node.total() if node.n_values else None
    return left_over


def _put(levels, number, value, fan_in, fold):
    if number == len(levels):
        levels.append(fold())
    levels[number].add(value)
    if levels[number].n_values == fan_in:
        _put(levels, number + 1, levels[number].total(), fan_in, fold)

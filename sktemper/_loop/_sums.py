"""Sums whose bits depend only on the values and their order."""

__all__ = ["combined", "compacted", "tree_sum"]


class Fold:
    """Sum of values from left to right, added as they arrive.

    The sum of a single value is the value itself.  Values may have a method
    ``accumulator()`` that returns an object with ``add(value)`` and ``total()``, if
    this needs less memory or time than ``+``.  It must not change the added values.
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
        """Return the sum of the values, and start a new sum."""
        total = self._total if self.n_values == 1 else self._total.total()
        self.n_values, self._total = 0, None
        return total


class _Plus:
    """Accumulator of values without a method ``accumulator``."""

    def __init__(self, value):
        self._value = value

    def add(self, value):
        self._value = self._value + value

    def total(self):
        return self._value


def _accumulator(value):
    return value.accumulator() if hasattr(value, "accumulator") else _Plus(value)


def combined(values):
    """Return the sum of values, added from left to right."""
    fold = Fold()
    for value in values:
        fold.add(value)
    return fold.total()


def compacted(value):
    """Return the most compact form of a value; sums of compact forms are the same."""
    return value.compacted() if hasattr(value, "compacted") else value


def tree_sum(values, fan_in, fold=Fold):
    """Return the sum of values, added by a tree over their order.

    A node of the lowest level adds ``fan_in`` consecutive values.  A node of a higher
    level adds ``fan_in`` consecutive nodes of the level below.  Values are added as
    they arrive, so that only one sum of each level is in memory.

    Parameters
    ----------
    values : iterable
        At least one value.
    fan_in : int
        Largest number of children of a node.
    fold : callable
        Returns an object that adds the values of a node, such as a `Fold`.
    """
    levels = []
    for value in values:
        _put(levels, 0, value, fan_in, fold)
        del value  # free its memory while the next one is computed
    left_over = None
    for node in levels:
        # values in incomplete nodes of lower levels arrived last
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

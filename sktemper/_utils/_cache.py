"""A cache of the last result of a function."""

import operator

import numpy as np


class LastCall:
    """Cache of a function's result for its last argument.

    Threads that call it at the same time may compute a result twice.  The cache then
    keeps the later result.

    Parameters
    ----------
    is_same : callable, default=operator.is_
        ``is_same(last, new)`` returns whether two arguments have the same result.  If
        arguments are compared by value, arrays are copied, because their owner may
        change them.
    """

    def __init__(self, is_same=operator.is_):
        self._is_same, self._last = is_same, None

    def __reduce__(self):
        return type(self), (self._is_same,)  # a pickle is empty

    def result(self, argument, function):
        last = self._last
        if last is not None and self._is_same(last[0], argument):
            return last[1]
        result = function(argument)
        by_value = self._is_same is not operator.is_
        if by_value and isinstance(argument, np.ndarray):
            argument = argument.copy()
        self._last = argument, result
        return result


def are_same_objects(one, other):
    """Return whether two tuples contain the same objects in the same order."""
    return len(one) == len(other) and all(map(operator.is_, one, other))


def read_only(array):
    """Return a view that cannot be written to, so that a cached array stays intact."""
    view = array.view()
    view.flags.writeable = False
    return view

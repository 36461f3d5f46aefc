"""A cache of the last result of a function, and copies of objects that may have one."""

import copy
import operator

from .._simd.room import Room


class LastCall:
    """Cache of the result of a function's last call.

    Threads that call it at the same time may compute a result twice.  The cache then
    keeps the later result.

    Parameters
    ----------
    is_same : callable, default=operator.is_
        ``is_same(last, new)`` returns whether two values of an argument have the same
        result.
    """

    def __init__(self, is_same=operator.is_):
        self._is_same, self._last = is_same, None

    def __reduce__(self):
        return type(self), (self._is_same,)  # a pickle is empty

    def result(self, function, *arguments):
        """Return ``function(*arguments)``; the number of arguments never changes."""
        last = self._last
        if last is not None and all(map(self._is_same, last[0], arguments)):
            return last[1]
        last = self._last = None  # frees its memory
        result = function(*arguments)
        self._last = arguments, result
        return result

    def has(self, result):
        return self._last is not None and self._last[1] is result


def twin(owner, **changes):
    """Return a shallow copy with changed attributes, which shares the others."""
    other = object.__new__(type(owner))
    vars(other).update(vars(owner) | changes)
    return other


def forget(owner):
    """Replace the caches of an object, and its unused memory; return the object."""
    kept = {k: v for k, v in vars(owner).items() if isinstance(v, LastCall | Room)}
    vars(owner).update({name: copy.copy(value) for name, value in kept.items()})
    return owner


def read_only(array):
    """Return a view that cannot be written to, so that a cached array stays intact."""
    view = array.view()
    view.flags.writeable = False
    return view

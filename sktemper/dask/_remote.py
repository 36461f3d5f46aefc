"""Functions that workers call, and values that the driver and workers exchange."""

import functools
import io
import operator
import pickle
import sys
import threading
import warnings
from collections import OrderedDict
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
from dask.sizeof import sizeof
from scipy import sparse

from .._contract import compacted
from .._engine._data import InMemory
from .._engine._workers import tree_sum
from .._utils._tasks import one_blas_thread
from ..model import Stopped

#: Result of a stopped task; an exception would fill the logs of workers.
STOPPED = "stopped"
#: Largest number of flags that a process keeps.
MOST_FLAGS = 256


# -- flags -----------------------------------------------------------------------------
_flags, _lock = OrderedDict(), threading.Lock()


def flag(token):
    """Return the array that stops this process's tasks that have the token.

    It is the `ConjugateModel.stop` of the models in these tasks.
    """
    with _lock:
        if token not in _flags:
            _flags[token] = np.zeros(1, dtype=np.intc)
            while len(_flags) > MOST_FLAGS:
                _flags.popitem(last=False)
        return _flags[token]


def stop(token):
    """Stop this process's current and future tasks that have the token."""
    flag(token)[0] = 1


# -- serialization ---------------------------------------------------------------------
class _Pickler(cloudpickle.Pickler):
    """Pickler that supports classes of ``__main__``, and replaces flags by tokens."""

    def __init__(self, file, stop, token, buffers):
        super().__init__(file, protocol=5, buffer_callback=buffers.append)
        self.stop, self.token = stop, token

    def reducer_override(self, value):
        if value is self.stop:
            return flag, (self.token,)
        return super().reducer_override(value)


class Shipped:
    """A value that is pickled once, and loaded once in each process.

    The arrays of the value are not copied, and follow its pickle in ``frames``.  In the
    receiving process, they are read-only.  ``token`` is that of the flag that stops the
    tasks that use the value.
    """

    def __init__(self, frames, token):
        self.frames, self.token = frames, token
        self._lock = threading.Lock()

    @classmethod
    def of(cls, value, stop, token):
        """Pickle a value; a process that loads it replaces ``stop`` by its own flag."""
        file, buffers = io.BytesIO(), []
        _Pickler(file, stop, token, buffers).dump(value)
        return cls([file.getvalue(), *(buffer.raw() for buffer in buffers)], token)

    def load(self):
        with self._lock:
            if not hasattr(self, "_value"):
                pickled, *buffers = self.frames
                self._value = pickle.loads(pickled, buffers=buffers)
            return self._value

    def __reduce_ex__(self, protocol):
        return Shipped, ([pickle.PickleBuffer(f) for f in self.frames], self.token)

    def __sizeof__(self):
        return sum(memoryview(frame).nbytes for frame in self.frames)


class Sum:
    """A sum of results, whose size Dask uses to place tasks."""

    def __init__(self, value):
        self.value = value

    def __sizeof__(self):
        return _size(self.value)


def _size(value):
    """Return the number of bytes of the arrays in a value."""
    if is_dataclass(value):
        return sum(_size(getattr(value, one.name)) for one in fields(value))
    if isinstance(value, list | tuple):
        return sum(map(_size, value))
    return sizeof(value)


def packed(items):
    """Return items of a part as bytes, which Dask does not inspect."""
    return cloudpickle.dumps(items)


# -- tasks -----------------------------------------------------------------------------
def gathered(gather, task, shipped, part, items):
    """Return ``gather`` of the results ``task(shared, part, item)`` of the items."""
    try:
        with one_blas_thread():
            return Sum(gather(_results(task, shipped, part, items)))
    except Stopped:
        return STOPPED


def folded(results):
    """Return the sum of results, from left to right."""
    return functools.reduce(operator.add, results)


def compact(results):
    """Return the sum of results in the form in which it is sent, see `compacted`."""
    return compacted(folded(results))


def _results(task, shipped, part, items):
    stopped = flag(shipped.token)
    for item in pickle.loads(items):
        if stopped[0]:
            raise Stopped
        yield task(shipped.load(), part, item)


def added(sums):
    """Return the sum of the sums that a node of the tree receives."""
    if STOPPED in sums:
        return STOPPED
    return Sum(tree_sum([one.value for one in sums], len(sums)))


def version():
    return sys.modules[__name__.partition(".")[0]].__version__


def unwrapped(value):
    """Return the argument.  As the result of a task, Dask can recompute the value."""
    return value


def rows_of(part, rows):
    return part.rows(rows)


# -- blocks ----------------------------------------------------------------------------
class ClusterBlock(InMemory):
    """A valid block, whose size Dask uses to place tasks.

    ``messages`` are the categories and messages of the warnings of validation.
    """

    _keeps_blocks = False

    def __init__(self, X, messages=()):
        super().__init__(X)
        self.messages = messages

    def __sizeof__(self):
        return _size(self.X)


class About(NamedTuple):
    """Summary of a block for the driver.

    ``ends`` are the smallest and the largest stored value other than NaN, and NaN if it
    occurs.
    """

    shape: tuple
    dtype: Any
    is_sparse: bool
    ends: tuple
    messages: tuple


def checked(shipped, X):
    """Return a matrix as a `ClusterBlock`, validated unless it is empty."""
    shape = getattr(X, "shape", ())
    if len(shape) == 2 and shape[0] == 0:
        return ClusterBlock(X)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        X = shipped.load()(X)
    return ClusterBlock(X, tuple((one.category, str(one.message)) for one in caught))


def about(block):
    X = block.X
    is_sparse = sparse.issparse(X)
    values, ends = X.data if is_sparse else X, ()
    if values.size:  # the minimum is NaN if NaN occurs
        ends = tuple(f.reduce(values, None) for f in (np.fmin, np.fmax, np.minimum))
    return About(X.shape, values.dtype, is_sparse, ends, block.messages)

"""Who works on the blocks of a batch: the only parallelism there is."""

import contextlib
import functools
import itertools
import operator
from collections import deque

from .._linalg import one_blas_thread
from ._sums import tree_sum
from ._tasks import Pool, Task

__all__ = ["Here", "Workers"]


class Workers:
    """A pool of threads.

    The calling thread only waits, so that Ctrl-C reaches it at any time; it then tells
    the kernels to stop, waits for them, and raises.

    Parameters
    ----------
    n_threads : int
    stop : ndarray of shape (1,), int
        `ConjugateModel.stop`.
    """

    def __init__(self, n_threads, stop):
        self.n_threads = n_threads
        self.stop = stop
        self._pool = Pool(n_threads)
        self._blas = one_blas_thread()

    def __enter__(self):
        self._blas.__enter__()
        return self

    def __exit__(self, error, *_):
        if error is not None:
            self.stop[0] = 1  # for what nobody waited for
        try:
            self._pool.shutdown()
            self.stop[0] = 0
        finally:
            self._blas.__exit__(None, None, None)

    def map(self, task, shared, groups):
        """Yield ``task(shared, part, item)`` in order, few of them ahead.

        Parameters
        ----------
        task : callable
            A pure function of a module.
        shared : object
            What is the same for all items.
        groups : iterable of (part, items)
            Parts of data, see `sktemper._data`, and what is to be done on each.
        """
        return self._results(
            functools.partial(task, shared, part, item)
            for part, items in groups
            for item in items
        )

    def _results(self, calls):
        calls, pending = iter(calls), deque()
        try:
            while True:
                for call in itertools.islice(calls, 2 * self.n_threads - len(pending)):
                    pending.append(Task(call))
                    self._pool.submit(pending[-1])
                if not pending:
                    return
                yield pending[0].result()
                pending.popleft()
        except BaseException as error:
            self.stop[0] = 1
            # what has not begun never does, and nobody is told of it
            for begun in [task for task in pending if not task.cancel()]:
                begun.wait()
            if not isinstance(error, KeyboardInterrupt):
                self.stop[0] = 0  # else a task may be on its way that is not pending
            raise

    def sum(self, task, shared, groups, fan_in):
        """Return the sum of ``task(shared, part, item)``, see `map`.

        The items of a part, at least one, are added in their order, and the parts by
        `tree_sum`, where a node has ``fan_in`` values.
        """
        numbers = deque()

        def calls():
            for number, (part, items) in enumerate(groups):
                for item in items:
                    numbers.append(number)
                    yield functools.partial(task, shared, part, item)

        results = ((numbers.popleft(), result) for result in self._results(calls()))
        parts = (
            functools.reduce(operator.add, (result for _, result in group))
            for _, group in itertools.groupby(results, operator.itemgetter(0))
        )
        return tree_sum(parts, fan_in)

    def run_whole(self, function):
        """Run ``function()`` to its end or not at all, whatever signals arrive."""
        task = Task(function)
        try:
            self._pool.submit(task)
            task.result()
        except KeyboardInterrupt:
            while not task.cancel() and not task.done():
                with contextlib.suppress(KeyboardInterrupt):  # one is enough
                    task.wait()
            raise


class Here(Workers):
    """The calling thread itself, for what takes less time than to start another.

    Ctrl-C is seen when a call has returned.
    """

    def __init__(self, n_threads, stop):
        self.stop = stop
        self._blas = one_blas_thread()

    def __exit__(self, error, *_):
        self._blas.__exit__(None, None, None)

    def _results(self, calls):
        return (call() for call in calls)

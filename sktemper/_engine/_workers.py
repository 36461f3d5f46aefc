"""Workers for the blocks of a batch, the only parallelism of the package."""

import _signal  # the functions of `signal` spend most of their time on enumerations
import contextlib
import functools
import itertools
import threading
from collections import deque

import numpy as np

from .._contract import Fold, Stopped
from .._utils._budgets import TERMS_ALONE
from .._utils._tasks import Pool, Task, cancel, one_blas_thread


# -- sums whose bits depend only on the values and their order -------------------------
def tree_sum(values, fan_in):
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
    """
    nodes = []  # the incomplete node of each level
    for value in values:
        _put(nodes, 0, value, fan_in)
        del value  # free its memory while the next one is computed
    total = None
    for node in nodes:
        # the values of lower levels arrived last
        if total is not None:
            node.add(total)
        total = node.total() if node.n_values else None
    return total


def _put(nodes, level, value, fan_in):
    if level == len(nodes):
        nodes.append(Fold())
    nodes[level].add(value)
    if nodes[level].n_values == fan_in:
        _put(nodes, level + 1, nodes[level].total(), fan_in)


# -- threads that run calls in parallel, and a replacement without threads -------------
#: Number of calls in each task of a single thread, because the start of a task takes
#: longer than many calls.  With several threads a task has one call, so that all
#: threads end at about the same time.
CALLS_AT_ONCE = 4


def threads_for(n_threads, model, data):
    """Return how many of ``n_threads`` threads share the blocks of data.

    This depends on sizes only, so that the speed of a fit is reproducible.

    Parameters
    ----------
    n_threads : int
    model : ConjugateModel
    data : Data

    Returns
    -------
    n_threads : int
        1 if a local step of a block has fewer than `TERMS_ALONE` multiplications.
    """
    n_values = min(model.block_size, len(data)) * data.values_per_row
    return 1 if n_values * model.products_per_value < TERMS_ALONE else n_threads


def _calls(task, shared, groups):
    """Yield a part, and a call of a task for it, for each item of its group."""
    for part, items in groups:
        for item in items:
            yield part, functools.partial(task, shared, part, item)


class _Maps:
    """Base with `map` and `sum`; a subclass defines ``_results(calls)``.

    ``calls`` yields parts of data and functions without arguments.  ``_results`` yields
    the parts and the results of the functions, in their order.
    """

    def map(self, task, shared, groups):
        """Yield the results ``task(shared, part, item)`` in the order of the items.

        Few calls run before their results are requested.

        Parameters
        ----------
        task : callable
            A pure function, defined at the top level of a module.
        shared : object
            Argument that is the same for all items.
        groups : iterable of (part, items)
            Parts of data, see `sktemper._engine`, each with an iterable of items.
        """
        found = self._results(_calls(task, shared, groups))
        return (result for _, result in found)

    def _run(self, calls):
        """Yield parts and results of calls; raise `Stopped` if `stop` is set."""
        for part, call in calls:
            if self.stop[0]:
                raise Stopped
            yield part, call()

    def sum(self, task, shared, groups, fan_in):
        """Return the sum of ``task(shared, part, item)``, see `map`.

        The results of each part are added in their order, and the sums of parts by
        `tree_sum` with ``fan_in``.  There must be at least one item.
        """

        def sums():
            last = total = None
            for part, result in self._results(_calls(task, shared, groups)):
                if part is last and total is not None:
                    total = total + result
                else:
                    if total is not None:
                        yield total
                    last, total = part, result
                del result  # free its memory while the next one is computed
            yield total

        return tree_sum(sums(), fan_in)


class Workers(_Maps):
    """Pool of threads.

    The calling thread only waits, so that Ctrl-C reaches it at any time.  It then stops
    the kernels, waits for them, and raises.

    Parameters
    ----------
    n_threads : int
    stop : ndarray of shape (1,), int
        `ConjugateModel.stop`.
    shares_blocks : bool
        Whether several threads share blocks; if False, they share larger tasks only.
    """

    def __init__(self, n_threads, stop, shares_blocks=True):
        self.n_threads, self.stop = n_threads, stop
        self._n_sharing = n_threads if shares_blocks else 1
        self._pool = Pool(n_threads)
        self._blas, self._helping = one_blas_thread(), self._pool.helping()

    def __enter__(self):
        self._blas.__enter__()
        self._helping.__enter__()
        return self

    def __exit__(self, error, *_):
        if error is not None:
            self.stop[0] = 1  # stops tasks for which no caller waits
        try:
            self._helping.__exit__(None, None, None)
            self._pool.shutdown()
            self.stop[0] = 0
        finally:
            self._blas.__exit__(None, None, None)

    def _results(self, calls):
        calls, pending = iter(calls), deque()
        size = CALLS_AT_ONCE if self._n_sharing == 1 else 1
        most = 1 if self._n_sharing < self.n_threads else 2 * self.n_threads
        try:
            while True:
                while len(pending) < most:
                    chunk = list(itertools.islice(calls, size))
                    if not chunk:
                        break
                    pending.append(Task(functools.partial(list, self._run(chunk))))
                    self._pool.submit(pending[-1])
                if not pending:
                    return
                results = pending[0].result()
                pending.popleft()
                yield from results
        except BaseException as error:
            self._stop(pending, error)
            raise

    def _stop(self, tasks, error):
        """Stop the kernels, and wait until none of the tasks runs."""
        self.stop[0] = 1
        cancel(tasks)
        if not isinstance(error, KeyboardInterrupt):
            self.stop[0] = 0  # after Ctrl-C, `__exit__` resets it

    def begin(self, function):
        """Return the `Task` of a call that a thread runs meanwhile."""
        task = Task(function)
        self._pool.submit(task)
        return task

    def call_with_workers(self, function, n_tasks):
        """Return ``function(workers)``, whose maps have at most ``n_tasks`` tasks.

        The workers are this pool if several threads can share the tasks.  Otherwise one
        thread runs the whole function with `InlineWorkers`, because handing over each
        task may take longer than the task.
        """
        if min(self._n_sharing, n_tasks) > 1:
            return function(self)
        here = InlineWorkers(1, self.stop)
        task = self.begin(functools.partial(function, here))
        try:
            return task.result()
        except BaseException as error:
            self._stop([task], error)
            raise

    def run_whole(self, function):
        """Run ``function()`` completely or not at all, even if signals arrive."""
        if run_undisturbed(function):
            return
        task = Task(function)
        try:
            self._pool.submit(task)
            task.result()
        except KeyboardInterrupt:
            while not task.cancel() and not task.done():
                # only the first Ctrl-C counts, which is raised below
                with contextlib.suppress(KeyboardInterrupt):
                    task.wait()
            raise


class InlineWorkers(_Maps):
    """Workers that run few or small tasks in the calling thread.

    Parameters
    ----------
    n_threads : int
        Ignored; present because `Workers` has it.
    stop : ndarray of shape (1,), int
        `ConjugateModel.stop`.
    """

    def __init__(self, n_threads, stop):
        self.n_threads, self.stop = 1, stop
        self._blas = one_blas_thread()

    def __enter__(self):
        self._blas.__enter__()
        return self

    def __exit__(self, *_):
        self._blas.__exit__(None, None, None)

    def call_with_workers(self, function, n_tasks):
        return function(self)

    def run_whole(self, function):
        if not run_undisturbed(function):
            with Workers(1, np.zeros(1, dtype=np.intc)) as workers:
                workers.run_whole(function)

    _results = _Maps._run


# -- function calls that signals such as Ctrl-C do not interrupt -----------------------
#: Numbers of all signals, and values instead of handlers that are written in Python.
SIGNALS = tuple(map(int, _signal.valid_signals()))
NO_HANDLER = None, _signal.SIG_DFL, _signal.SIG_IGN


# numpy's errors are treated as in a new thread, whatever the caller has set
@np.errstate(divide="warn", over="warn", under="ignore", invalid="warn")
def run_undisturbed(function):
    """Call ``function()`` in this thread; delay signals until its end if possible.

    Handlers of signals that are written in Python, such as the handler of Ctrl-C, run
    in the main thread between any two instructions, and may raise there.  If there is
    one such handler, it is replaced during the call, and called afterwards if its
    signal has arrived.  If there are several, signals cannot wait, because several
    handlers could not be restored in one uninterrupted operation.

    Parameters
    ----------
    function : callable

    Returns
    -------
    done : bool
        False if signals could not be delayed; ``function`` is then not called.
    """
    handlers = _handlers()
    if len(handlers) > 1:
        return False
    if not handlers:
        function()
        return True
    ((number, handler),) = handlers
    waiting = []
    # An earlier signal raises before the handler is replaced.
    _signal.signal(number, lambda *arguments: waiting.append(arguments))
    try:
        function()
    finally:
        _signal.signal(number, handler)
        if waiting:
            handler(*waiting[0])
    return True


def _handlers():
    """Return pairs of signals and handlers that may interrupt this thread."""
    if threading.current_thread() is not threading.main_thread():
        return []
    pairs = zip(SIGNALS, map(_signal.getsignal, SIGNALS), strict=True)
    return [pair for pair in pairs if pair[1] not in NO_HANDLER]

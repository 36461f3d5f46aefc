"""Threads that run tasks, without a deadlock after Ctrl-C, and one thread of BLAS.

Python code that takes a lock, as in `concurrent.futures`, can leave it locked: Ctrl-C
may come after the acquisition and before the block that releases it, and the next
thread that needs the lock waits for ever.  The calling thread therefore takes no lock
of Python code.  It uses only queues and dicts, whose methods are written in C and run
completely or not at all.
"""

import _thread
import functools
import os
import threading
from contextlib import contextmanager
from functools import partial
from itertools import count
from queue import Empty, SimpleQueue

import numpy as np

from ._sklearn import thread_pools

#: Seconds that the calling thread sleeps at most before it checks for Ctrl-C.
LONGEST_SLEEP = 0.05

#: ``pool`` is the `Pool` whose threads help this thread, if there is one, and
#: ``is_of_pool`` says whether this thread is one of them.
_of_thread = threading.local()


class Task:
    """A function call that another thread runs at most once."""

    def __init__(self, function):
        self._function = function
        self._claims, self._outcome, self._ended = {}, None, SimpleQueue()

    def run(self):
        """Run the call, unless it is cancelled or another thread runs it."""
        own = object()
        if self._claims.setdefault("by", own) is not own:
            return
        try:
            outcome = self._function(), None
        except BaseException as error:
            outcome = None, error
        self._function = None
        self._outcome = outcome
        self._ended.put(None)

    def cancel(self):
        """Cancel the call; return False if it has begun already."""
        return self._claims.setdefault("by", "cancel") == "cancel"

    def done(self):
        return self._outcome is not None

    def wait(self):
        """Wait until the call has ended.

        The handler of a signal runs after at most `LONGEST_SLEEP`.  A signal does not
        wake the thread at once if it arrives just before the thread sleeps, or on
        Windows.
        """
        while not self.done():
            _wait_for(self._ended)

    def result(self):
        """Wait, then return the result of the call or raise its exception."""
        self.wait()
        value, error = self._outcome
        if error is None:
            return value
        try:
            raise error
        finally:
            error = None  # breaks a cycle: the traceback refers to this frame


def cancel(tasks):
    """Cancel all tasks, and then wait until those that have begun have ended."""
    for begun in [task for task in tasks if not task.cancel()]:
        begun.wait()


class Pool:
    """Pool of threads, which are started when tasks are submitted."""

    def __init__(self, n_threads):
        self.n_threads = n_threads
        self._tasks, self._left, self._alive = SimpleQueue(), SimpleQueue(), {}
        self._started, self._numbers = [], count()

    def submit(self, task):
        # a thread of the pool may submit a task at the same time
        if len(self._started) < self.n_threads and next(self._numbers) < self.n_threads:
            arguments = self, self._tasks, self._left, self._alive
            self._started.append(_thread.start_new_thread(_work, arguments))
        self._tasks.put(task)

    def shutdown(self):
        """Cancel tasks that have not begun, and wait until all threads have ended."""
        try:
            while True:
                self._tasks.get_nowait().cancel()
        except Empty:
            pass
        finally:
            self._tasks.put(None)
        while self._alive:
            _wait_for(self._left)

    @contextmanager
    def helping(self):
        """Enter a context in which the threads help the caller, see `run_shared`."""
        before = vars(_of_thread).copy()
        _of_thread.pool, _of_thread.is_of_pool = self, False
        try:
            yield
        finally:
            vars(_of_thread).clear()
            vars(_of_thread).update(before)


@contextmanager
def submitted(function, values, n_threads, stop):
    """Enter a context in which threads call a function with values; give the tasks.

    After an error or Ctrl-C, ``stop[0]`` becomes 1 before the context waits for tasks.
    """
    pool, tasks = Pool(n_threads), [Task(partial(function, value)) for value in values]
    try:
        for task in tasks:
            pool.submit(task)
        yield tasks
    except BaseException:
        stop[0] = 1
        raise
    finally:
        pool.shutdown()


def run_shared(functions):
    """Run functions, which idle threads of the current pool share with the caller.

    The current pool is the one whose thread the caller is, or whose context
    `Pool.helping` the caller has entered.  In the latter case the caller only waits, so
    that Ctrl-C reaches it.  Without a pool, the caller runs all functions.  The
    functions must not depend on each other, so that results do not depend on the number
    of threads.

    The functions must not call `run_shared`.
    """
    pool = getattr(_of_thread, "pool", None)
    n_threads = 1 if pool is None else min(pool.n_threads, len(functions))
    if n_threads < 2:
        return [function() for function in functions]
    tasks, errors = [Task(function) for function in functions], np.geterr()

    def run():
        with np.errstate(**errors):  # each thread has its own settings
            for task in tasks:
                task.run()

    takes_part = _of_thread.is_of_pool
    try:
        for _ in range(n_threads - takes_part):
            pool.submit(Task(run))
        if takes_part:
            run()
        return [task.result() for task in tasks]
    except BaseException:
        cancel(tasks)
        raise


def _wait_for(queue):
    """Take an item from a queue, or sleep for `LONGEST_SLEEP` at most."""
    try:
        queue.get(timeout=LONGEST_SLEEP)
    except Empty:
        pass


def _work(pool, tasks, left, alive):
    """Run queued tasks until the item None, and put None back for other threads."""
    _of_thread.pool, _of_thread.is_of_pool = pool, True
    alive[_thread.get_ident()] = True
    try:
        while (task := tasks.get()) is not None:
            task.run()
            del task  # frees its outcome if nobody else refers to it
        tasks.put(None)
    finally:
        del alive[_thread.get_ident()]
        left.put(None)


# -- one thread of BLAS ----------------------------------------------------------------
class _Limit:
    """Limit of `one_blas_thread`, which the first caller sets and the last one ends.

    Because Ctrl-C may come anywhere, callers are stored as a set instead of a count,
    and pairs of a library and its number of threads before, until all are restored.
    """

    def __init__(self):
        self.lock, self.callers, self.before = threading.Lock(), set(), []


_limit = _Limit()
if hasattr(os, "register_at_fork"):  # another thread of the parent may hold the lock
    os.register_at_fork(after_in_child=_limit.__init__)


@functools.cache
def _libraries():
    return thread_pools().select(user_api="blas").lib_controllers


@contextmanager
def one_blas_thread():
    """Limit BLAS to one thread, for the whole process, while any caller is inside.

    Blocks are processed in parallel, so that BLAS need not use several threads.  The
    number of BLAS threads would also change the rounding of products.
    """
    caller = object()
    try:
        with _limit.lock:
            if not _limit.callers and not _limit.before:
                pairs = [(library, library.num_threads) for library in _libraries()]
                _limit.before = [pair for pair in pairs if pair[1] != 1]
            _limit.callers.add(caller)
            for library, _ in _limit.before:
                library.set_num_threads(1)
        yield
    finally:
        with _limit.lock:
            _limit.callers.discard(caller)
            if not _limit.callers:
                for library, n_threads in _limit.before:
                    library.set_num_threads(n_threads)
                _limit.before = []

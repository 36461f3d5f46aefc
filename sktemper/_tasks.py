"""Threads that run tasks, without a deadlock after Ctrl-C.

Python code that takes a lock, as in `concurrent.futures`, can leave it locked: Ctrl-C
may come after the acquisition and before the block that releases it, and the next
thread that needs the lock waits for ever.  The calling thread therefore takes no lock
of Python code.  It uses only queues and dicts, whose methods are written in C and run
completely or not at all.
"""

import _thread
from queue import Empty, SimpleQueue

__all__ = ["Pool", "Task"]

#: Seconds that the calling thread sleeps at most before it checks for Ctrl-C.
LONGEST_SLEEP = 0.05


class Task:
    """A function call that another thread runs at most once.

    Parameters
    ----------
    function : callable
    """

    def __init__(self, function):
        self._function = function
        self._claims, self._outcome, self._ended = {}, None, SimpleQueue()

    def run(self):
        """Run the call, unless it is cancelled."""
        if self._claims.setdefault("by", "run") != "run":
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
        """Return whether the call has ended."""
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


class Pool:
    """Pool of threads, which are started when tasks are submitted.

    Parameters
    ----------
    n_threads : int
    """

    def __init__(self, n_threads):
        self.n_threads = n_threads
        self._tasks, self._left, self._alive = SimpleQueue(), SimpleQueue(), {}
        self._started = []

    def submit(self, task):
        """Queue a task for the threads."""
        if len(self._started) < self.n_threads:
            arguments = self._tasks, self._left, self._alive
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

    def is_alive(self):
        """Return whether a thread is running."""
        return bool(self._alive)


def _wait_for(queue):
    """Take an item from a queue, or sleep for `LONGEST_SLEEP` at most."""
    try:
        queue.get(timeout=LONGEST_SLEEP)
    except Empty:
        pass


def _work(tasks, left, alive):
    """Run queued tasks until the item None, and put None back for other threads."""
    alive[_thread.get_ident()] = True
    try:
        while (task := tasks.get()) is not None:
            task.run()
            del task  # frees its outcome if nobody else refers to it
        tasks.put(None)
    finally:
        del alive[_thread.get_ident()]
        left.put(None)

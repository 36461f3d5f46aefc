"""Threads that run tasks and that Ctrl-C cannot lock up.

A lock that Python code takes, as that of `concurrent.futures` does, stays locked for
good if Ctrl-C comes between its acquisition and the block that releases it: whoever
needs it next waits for ever.  So the calling thread touches no such lock here, only
queues and dicts, whose methods are C and done or not done.
"""

import _thread
from queue import Empty, SimpleQueue

__all__ = ["Pool", "Task"]

#: Seconds that the calling thread may sleep without a look for Ctrl-C.
LONGEST_SLEEP = 0.05


class Task:
    """A call that another thread makes, once or never.

    Parameters
    ----------
    function : callable
    """

    def __init__(self, function):
        self._function = function
        self._claims, self._outcome, self._ended = {}, None, SimpleQueue()

    def run(self):
        """Make the call, unless it is cancelled."""
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
        """Return whether the call never begins."""
        return self._claims.setdefault("by", "cancel") == "cancel"

    def done(self):
        """Return whether the call has ended."""
        return self._outcome is not None

    def wait(self):
        """Wait until the call has ended; a signal raises soon.

        One that arrives in the moment before the thread sleeps does not wake it up, and
        on Windows none does.
        """
        while not self.done():
            _wait_for(self._ended)

    def result(self):
        """Return what the call returned, or raise what it raised; see `wait`."""
        self.wait()
        value, error = self._outcome
        if error is None:
            return value
        try:
            raise error
        finally:
            error = None  # the traceback has this frame


class Pool:
    """Some threads, started as tasks come.

    Parameters
    ----------
    n_threads : int
    """

    def __init__(self, n_threads):
        self.n_threads = n_threads
        self._tasks, self._left, self._alive = SimpleQueue(), SimpleQueue(), {}
        self._started = []

    def submit(self, task):
        """Let a thread run a task soon."""
        if len(self._started) < self.n_threads:
            arguments = self._tasks, self._left, self._alive
            self._started.append(_thread.start_new_thread(_work, arguments))
        self._tasks.put(task)

    def shutdown(self):
        """Cancel the tasks that nobody has begun, and wait for the others."""
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
        """Return whether a thread is at work, or may be."""
        return bool(self._alive)


def _wait_for(queue):
    """Take what is in a queue, or sleep a little until there is something."""
    try:
        queue.get(timeout=LONGEST_SLEEP)
    except Empty:
        pass


def _work(tasks, left, alive):
    """Run tasks until there is None, which is for the other threads, too."""
    alive[_thread.get_ident()] = True
    try:
        while (task := tasks.get()) is not None:
            task.run()
            del task  # its outcome belongs to who asked for it
        tasks.put(None)
    finally:
        del alive[_thread.get_ident()]
        left.put(None)

"""Fits in separate processes with one thread and a limit of CPU time."""

import datetime
import math
import multiprocessing
import os
import platform
import resource
import signal
import time
import traceback
import warnings

from compare import processor

from .core import commit

FORK = multiprocessing.get_context("fork")


def measured(family, method, data, seed, options, cap):
    """Make one fit in this process; return its CPU seconds and its figures.

    ``cap`` limits the CPU seconds of the fit, without the computation of figures.
    """
    unlimited = resource.getrlimit(resource.RLIMIT_CPU)
    spent = math.ceil(time.process_time())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        resource.setrlimit(resource.RLIMIT_CPU, (spent + cap, unlimited[1]))
        begin = time.process_time()
        fitted = method.fit(data, seed, **options)
        seconds = time.process_time() - begin
        resource.setrlimit(resource.RLIMIT_CPU, unlimited)
        figures = family.judge(data, fitted)
    figures = {name: float(value) for name, value in figures.items()}
    return {"status": "done", "seconds": seconds, "figures": figures}


def in_own_process(family, method, data, seed, options, cap):
    """Make one fit in a new process; return its results, or why there are none."""
    mine, theirs = FORK.Pipe(duplex=False)

    def answer():
        try:
            theirs.send(measured(family, method, data, seed, options, cap))
        except Exception:
            error = traceback.format_exc(limit=-1).strip().splitlines()[-1]
            theirs.send({"status": "failed", "error": error})

    process = FORK.Process(target=answer)
    process.start()
    theirs.close()
    try:
        found = mine.recv()
    except EOFError:  # the process was killed, most likely by its limit
        process.join()
        capped = process.exitcode == -signal.SIGXCPU
        found = {"status": "capped" if capped else "ended", "cap": cap}
    process.join()
    return found


class Work:
    """A piece of work: several methods to fit to one draw of a data set.

    Parameters
    ----------
    family : Family
    data_set : DataSet
    seed : int
    methods : list of Method
    options : dict
        Parameters of this package's estimators that are not the defaults.
    cap : int
    """

    def __init__(self, family, data_set, seed, methods, options, cap):
        self.family, self.data_set, self.seed = family, data_set, seed
        self.methods, self.options, self.cap = methods, options, cap

    def results(self):
        """Yield a record for each method; all methods get the same data."""
        data = self.data_set.draw(self.seed)
        for method in self.methods:
            if method.applies is None or method.applies(data):
                options = self.options if method.is_ours else {}
                found = in_own_process(
                    self.family, method, data, self.seed, options, self.cap
                )
            else:
                found = {"status": "not applicable"}
            yield self._about(data, method) | found

    def _about(self, data, method):
        return {
            "family": self.family.name,
            "set": self.data_set.name,
            "seed": self.seed,
            "method": labelled(method, self.options),
            "version": method.version,
            "commit": commit() if method.is_ours else "",
            "facts": data.facts,
            "fingerprint": data.fingerprint,
            "date": datetime.date.today().isoformat(),
            "processor": processor(),
            "python": platform.python_version(),
        }


def labelled(method, options):
    """Return the name of a method, followed by parameters that are not the defaults."""
    if not (options and method.is_ours):
        return method.name
    listed = ", ".join(f"{name}={value}" for name, value in sorted(options.items()))
    return f"{method.name} [{listed}]"


def run(work, n_jobs):
    """Yield the records of all pieces of work, in the order of completion.

    Each of ``n_jobs`` processes takes the next piece of work when it is idle.  A fit
    that fails or is stopped does not affect other fits.
    """
    # Value and SimpleQueue start no threads, so that processes can be forked safely
    following, records = FORK.Value("i", 0), FORK.SimpleQueue()

    parent = os.getpid()

    def worker():
        while os.getppid() == parent:  # until the command has ended
            with following:
                number, following.value = following.value, following.value + 1
            if number >= len(work):
                break
            try:
                for record in work[number].results():
                    records.put(record)
            except Exception:
                records.put({"error": traceback.format_exc()})
        records.put(None)

    processes = [FORK.Process(target=worker) for _ in range(n_jobs)]
    for process in processes:
        process.start()
    n_working = n_jobs
    while n_working:
        record = records.get()
        if record is None:
            n_working -= 1
        else:
            yield record
    for process in processes:
        process.join()


def be_nice():
    """Give this process a low priority."""
    os.nice(10)

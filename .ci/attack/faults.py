"""Faults from outside: Ctrl-C and dead workers.

interrupts  Ctrl-C at a random moment ends a call soon.  The call, repeated, ends with
            the bits of an uninterrupted one.
cluster     Fits on a Dask cluster have the bits of threads, also after workers were
            killed; a dead scheduler is reported; workers are idle soon after Ctrl-C;
            and no process grows in a long fit.

"cluster" needs `psutil`.  `tests/test_collection_safety.py` has damage of files, kills,
full disks and other writers.
"""

import contextlib
import functools
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from cases import ANNEALED, ROWS, digest_of
from digests import bits
from hypothesis import strategies as st
from sklearn.base import clone

from sktemper import AnnealedLDA, datasets
from sktemper.moves import BirthMoves

#: Largest seconds: of a fit on a cluster; from Ctrl-C to its exception;
#: until workers are idle; until the death of a scheduler is reported.
HANGS, INTERRUPT, IDLE, DEAD_SCHEDULER = 100.0, 0.5, 1.0, 30.0
#: Largest growth of a process in the second half of a long fit, in bytes.
GROWTH = 20e6


# -- Ctrl-C ----------------------------------------------------------------------------
@functools.cache
def call_of(name, method, n_jobs):
    """Return an estimator, data for a call of some tenths of a second, and its end."""
    row, n_samples, seconds = ROWS[name], 2000, 0.0
    estimator = row.estimator(ANNEALED[name], n_components=15, max_iter=8)
    estimator.set_params(n_jobs=n_jobs, warm_start=True)
    if row.moves:
        estimator.set_params(moves=BirthMoves(n_moves=2))
    while seconds < 0.3:
        n_samples *= 2
        X, begin = row.data(n_samples), time.perf_counter()
        whole = clone(estimator).fit(X)
        seconds = time.perf_counter() - begin
    if method == "partial_fit":
        estimator.set_params(total_samples=n_samples, batch_size=300)
        whole = clone(estimator).partial_fit(X)
    return (whole if method == "transform" else estimator), X, state_of(whole), seconds


def state_of(estimator):
    """Return a digest without properties, which describe the rows of the last call."""
    names = vars(estimator).items()
    return digest_of({name: v for name, v in names if name[-1] == "_" != name[0]})


def unfinished(estimator, method, X):
    """Return rows for the rest of a call, None after its last step."""
    if "state_" not in vars(estimator):
        return X
    state = estimator.state_
    if method == "partial_fit":
        rest = X[estimator.n_samples_seen_ :]
        return rest if rest.shape[0] else None
    passes = state.progress.passes < state.progress.planned_passes
    return X if passes or any(state.moves.left) else None


def interrupts(draw):
    name, n_jobs = draw.one_of(*ROWS), draw.between(1, 2)
    method = draw.one_of("fit", "partial_fit", "transform")
    estimator, X, last, seconds = call_of(name, method, n_jobs)
    used = estimator if method == "transform" else clone(estimator)
    delay, what = draw(st.floats(1e-4, seconds)), f"{name}.{method}"
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    due = time.perf_counter() + delay
    try:
        signal.setitimer(signal.ITIMER_REAL, delay)
        getattr(used, method)(X)
        signal.setitimer(signal.ITIMER_REAL, 0)
        return
    except KeyboardInterrupt:
        late = time.perf_counter() - due
    assert late < INTERRUPT, f"{what} ended {late:.2f} s after Ctrl-C"
    if method == "transform":
        assert state_of(used) == last, f"{what} changed the fit"
    elif (rest := unfinished(used, method, X)) is not None:
        getattr(used, method)(rest)
        assert state_of(used) == last, f"{what} goes on otherwise"


# -- clusters --------------------------------------------------------------------------
@functools.cache
def documents():
    X = datasets.make_lda_documents(4000, 2000, 10, doc_length=60, random_state=0)
    return [X[start : start + 500] for start in range(0, 4000, 500)]


def lda(**parameters):
    options = {"max_iter": 15, "batch_size": 2000, "random_state": 0, **parameters}
    return AnnealedLDA(20, **options)


@functools.cache
def by_threads(folder=None):
    X = documents() if folder is None else datasets.open_counts(folder)
    return bits(lda().fit(X))


@functools.cache
def on_disk():
    folder = tempfile.mkdtemp()
    datasets.write_counts(folder, documents(), shard_rows=600)
    return folder


def fit_on(client, X=None, estimator=None, **options):
    import dask

    import sktemper.dask

    X = [dask.delayed(part) for part in documents()] if X is None else X
    estimator = lda() if estimator is None else estimator
    return sktemper.dask.fit(estimator, X, client=client, **options)


@contextlib.contextmanager
def cluster_of(n_workers):
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": 60}
    with LocalCluster(n_workers, **options) as cluster, Client(cluster) as client:
        yield client


@contextlib.contextmanager
def processes():
    """Yield a client, and the processes of its scheduler and its worker."""
    from distributed import Client

    with tempfile.TemporaryDirectory() as folder:
        file, started = Path(folder) / "scheduler.json", []
        for what, more in (
            ("scheduler", ["--port", "0"]),
            ("worker", ["--nthreads", "1"]),
        ):
            command = [
                sys.executable,
                "-P",
                "-m",
                f"distributed.cli.dask_{what}",
                *more,
            ]
            command += ["--no-dashboard", "--scheduler-file", str(file)]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            started.append(subprocess.Popen(command, **quiet))
        while not file.exists() or not file.read_text():
            time.sleep(0.1)
        client = Client(scheduler_file=str(file))
        try:
            client.wait_for_workers(1, timeout=60)
            yield client, *started
        finally:
            client.close(timeout=1)
            for process in started:
                process.kill()
                process.wait()


def killed_worker(draw):
    """Kill no worker, a random one, one that adds results, or the only one."""
    how = draw.one_of("none", "random", "adding", "only")
    n_workers = 1 if how == "only" else draw.between(1 if how == "none" else 2, 3)
    folder, delay = draw.one_of(None, on_disk()), draw(st.floats(0.2, 3.0))
    with cluster_of(n_workers) as client:
        ended = threading.Event()

        def kill():
            time.sleep(delay)
            while how == "adding" and not ended.is_set():
                keys = [key for keys in client.processing().values() for key in keys]
                if any("added" in key for key in keys):
                    break
                time.sleep(0.002)
            for pid in list(client.run(os.getpid).values())[:1]:
                os.kill(pid, signal.SIGKILL)

        killer = threading.Thread(target=kill, daemon=True)
        if how != "none":
            killer.start()
        begin = time.monotonic()
        X = None if folder is None else datasets.open_counts(folder)
        found = bits(fit_on(client, X))
        assert time.monotonic() - begin < HANGS, "a fit took too long"
        ended.set()
        if how != "none":
            killer.join()
    assert found == by_threads(folder), f"{how}: other bits than threads"


def dead_scheduler(draw):
    with tempfile.TemporaryDirectory() as folder:
        options, killed = {"checkpoint": Path(folder) / "checkpoint", "every": 2}, []
        with processes() as (client, scheduler, _):

            def kill():
                while not (options["checkpoint"] / "unfinished.pkl").exists():
                    time.sleep(0.05)
                killed.append(time.monotonic())
                scheduler.kill()

            threading.Thread(target=kill, daemon=True).start()
            with contextlib.suppress(Exception):
                fit_on(client, **options)
            assert killed, "the fit ended before its first checkpoint"
            seconds = time.monotonic() - killed[0]
            assert seconds < DEAD_SCHEDULER, f"reported after {seconds:.0f} s"
        with cluster_of(2) as client:
            found = bits(fit_on(client, **options))
            assert found == by_threads(), "other bits after the checkpoint"


def ctrl_c(draw):
    delay, pressed = draw(st.floats(0.1, 1.0)), []
    estimator = lda(batch_size=None, max_iter=10_000)
    with cluster_of(2) as client:

        def press():
            while not hasattr(estimator, "state_"):
                time.sleep(0.01)
            time.sleep(delay)
            pressed.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=press, daemon=True).start()
        with contextlib.suppress(KeyboardInterrupt):
            fit_on(client, estimator=estimator)
        while any(client.processing().values()):
            time.sleep(0.01)
        seconds = time.monotonic() - pressed[0]
        assert seconds < IDLE, f"workers are idle after {seconds:.2f} s"
        assert bits(fit_on(client)) == by_threads(), "other bits after Ctrl-C"


def long_fit(draw, n_steps=1000):
    import psutil

    with processes() as (client, scheduler, worker):
        children = psutil.Process(worker.pid).children(recursive=True)
        watched = [psutil.Process(), psutil.Process(scheduler.pid), *children]
        parts = [client.submit(lambda part: part, part) for part in documents()[:2]]
        estimator = lda(batch_size=None, max_iter=n_steps // 2, warm_start=True)
        fit_on(client, parts, estimator)  # until the logs of Dask are full
        before = [process.memory_info().rss for process in watched]
        fit_on(client, parts, estimator)
        after = [process.memory_info().rss for process in watched]
    grown = np.subtract(after, before)
    assert (grown < GROWTH).all(), f"client, scheduler and workers grew by {grown}"


def cluster(draw):
    fault = draw.one_of(*[killed_worker] * 4, dead_scheduler, ctrl_c, long_fit)
    fault(draw)


SURFACES = {
    "interrupts": interrupts,
    "cluster": cluster,
}

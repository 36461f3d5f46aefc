"""Faults from outside: damage of files, Ctrl-C and dead workers.

damage      A file of a collection is damaged before or during a fit, which raises a
            ValueError that names a file, or gives the same bits.
interrupts  Ctrl-C at a random moment ends a call soon.  The call, repeated, ends with
            the bits of an uninterrupted one.
cluster     Fits on a Dask cluster have the bits of threads, also after workers were
            killed; a dead scheduler is reported; workers are idle soon after Ctrl-C;
            and no process grows in a long fit.

"cluster" needs `psutil`.  `tests/test_collection_safety.py` has kills, full disks and
other writers.
"""

import contextlib
import functools
import os
import shutil
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
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import HashingVectorizer

from sktemper import AnnealedGaussianMixture, AnnealedLDA, datasets
from sktemper.datasets import _parts, _write_ratings
from sktemper.moves import BirthMoves

KINDS = "counts", "text", "dense", "ratings"
HASHING = HashingVectorizer(n_features=256, alternate_sign=False, norm=None)
_write_ratings.BYTES_AT_ONCE, _write_ratings.LOOKED_AT = 20_000, 16
#: Largest seconds: of a fit on a cluster; from Ctrl-C to its exception;
#: until workers are idle; until the death of a scheduler is reported.
HANGS, INTERRUPT, IDLE, DEAD_SCHEDULER = 100.0, 0.5, 1.0, 30.0
#: Largest growth of a process in the second half of a long fit, in bytes.
GROWTH = 20e6


# -- collections -----------------------------------------------------------------------
def batches_of(kind, seed):
    """Return batches of one kind of data, drawn with a seed."""
    random = np.random.default_rng(seed)
    if kind == "counts":
        return [sparse.csr_array(random.poisson(0.3, (90, 40))) for _ in range(5)]
    if kind == "text":
        words = np.array([f"word{i}" for i in range(300)])
        return [[" ".join(random.choice(words, 20)) for _ in range(90)]] * 5
    if kind == "dense":
        return [random.normal(size=(90, 6)) for _ in range(5)]
    pairs = random.permutation(450 * 40)[:4500].reshape(5, 900)
    return [(*np.divmod(some, 40), random.integers(1, 6, 900)) for some in pairs]


def write(kind, folder, seed, overwrite=False):
    vectorizer = (HASHING,) if kind == "text" else ()
    name = "write_counts" if kind == "text" else f"write_{kind}"
    options = {"shard_rows": 64, "overwrite": overwrite}
    getattr(datasets, name)(folder, batches_of(kind, seed), *vectorizer, **options)


def harm(draw, paths, path):
    """Change, cut off, overwrite, remove or swap a file; in place, as disks do."""
    size = path.stat().st_size
    how = draw.one_of("bit", "cut off", "noise", "removed", "swapped")
    place, noise = draw.place(size), draw.generator().bytes(size)
    other = draw.one_of(*(other for other in paths if other != path))
    data = path.read_bytes()
    changed = bytes([data[place] ^ 1 << draw.between(0, 7)])
    if how == "cut off":
        return lambda: os.truncate(path, place)
    if how == "removed":
        return path.unlink

    def overwrite():
        with path.open("r+b") as file:
            file.seek(place if how == "bit" else 0)
            file.write(changed if how == "bit" else noise)

    def swap():
        spare = path.rename(path.with_name("spare"))
        other.rename(path)
        spare.rename(other)

    return swap if how == "swapped" else overwrite


@functools.cache
def whole(kind):
    """Return a finished collection, and what a user reads from it."""
    folder = Path(tempfile.mkdtemp())
    write(kind, folder / "X", 0)
    return folder / "X", outcome(datasets.Collection(folder / "X"))


def outcome(X, during=None):
    """Return names, labels and a fit; call ``during`` after rows were read 30 times."""
    rows, calls = _parts.Part.rows, iter(range(10**9))

    def counted(*arguments):
        if next(calls) == 30 and during is not None:
            during()
            time.sleep(0.1)  # until files are looked at again
        return rows(*arguments)

    cls = AnnealedGaussianMixture if X.kind == "dense" else AnnealedLDA
    _parts.Part.rows = counted
    try:
        fitted = cls(3, max_iter=6, batch_size=128, random_state=0).fit(X)
    finally:
        _parts.Part.rows = rows
    return repr((X.feature_names, X.user_labels, X.item_labels)), bits(fitted)


def damage(draw):
    folder, expected = whole(draw.one_of(*KINDS))
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(shutil.copytree(folder, Path(scratch) / "X"))
        files = filter(Path.is_file, sorted(copy.rglob("*")))
        paths = [file for file in files if file.name != "writer.lock"]
        path = draw.one_of(*paths)
        harms = harm(draw, paths, path)
        try:
            if draw.between(0, 1):
                found = outcome(datasets.Collection(copy), harms)
            else:
                harms()
                found = outcome(datasets.Collection(copy))
        except ValueError as error:
            assert str(copy) in str(error), f"{path.name}: no file is named: {error}"
        else:
            assert found == expected, f"{path.name}: nothing was noticed"


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
    "damage": damage,
    "interrupts": interrupts,
    "cluster": cluster,
}

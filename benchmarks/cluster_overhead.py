"""What a cluster costs beside the work itself, and what a step will take on many.

    python -P benchmarks/cluster_overhead.py [--documents 24000] [--steps 3]
        [--workers 2] [--topics 100] [--words 50000]

Fits LDA to ``workers * documents`` documents, all of them a step, on threads and on a
`LocalCluster`; prints the CPU time a step of both, in all processes, and the overhead's
share; then the constants of the cost formula of `cluster_overhead.md`, and what the
formula says of 100 million documents and 64 workers.
"""

import argparse
import math
import time
import warnings

import dask
import numpy as np
import psutil
from distributed import Client, LocalCluster, wait
from scipy import sparse

import sktemper.dask
from sktemper import AnnealedLDA

#: Parts of the data of each worker, and distinct words of a document.
PARTS, WORDS = 2, 80


def make_parts(n_parts, n_documents, n_words):
    """Return parts with Zipfian words, the same number in all documents."""
    random, parts = np.random.default_rng(0), []
    shares = 1 / np.arange(1, n_words + 1)
    shares /= shares.sum()
    for _ in range(n_parts):
        words = random.choice(n_words, n_documents * WORDS, p=shares).astype(np.int32)
        starts = np.arange(n_documents + 1, dtype=np.int32) * WORDS
        counts = np.ones(len(words), dtype=np.float32)
        X = sparse.csr_array((counts, words, starts), shape=(n_documents, n_words))
        X.sum_duplicates()
        parts.append(X)
    return parts


def cpu_seconds():
    """Return the CPU time of this process and of all that it started."""
    me, total = psutil.Process(), 0.0
    for process in [me, *me.children(recursive=True)]:
        times = process.cpu_times()
        total += times.user + times.system
    return total


def timed(function):
    """Return CPU and wall time of a call."""
    cpu, wall = cpu_seconds(), time.perf_counter()
    function()
    return cpu_seconds() - cpu, time.perf_counter() - wall


def estimator(arguments, n_steps, n_jobs=1):
    return AnnealedLDA(
        arguments.topics,
        batch_size=None,
        max_iter=n_steps,
        doc_update="variational",
        learning_rate=0.5,
        n_jobs=n_jobs,
        random_state=0,
    )


def per_step(fit, arguments):
    """Return CPU and wall time a step, without what a fit takes once."""
    few, many = (timed(lambda n=n: fit(n)) for n in (1, 1 + arguments.steps))
    return [(b - a) / arguments.steps for a, b in zip(few, many, strict=True)]


def constants(client, arguments, n=5, n_tasks=200):
    """Measure the constants of the formula in CPU time: bytes and tasks a second."""
    size = 8 * arguments.topics * arguments.words
    first, second = sorted(client.nthreads())[:2]

    def made():
        there = [
            client.submit(np.full, size // 8, i, workers=[first], pure=False)
            for i in range(n)
        ]
        wait(there)
        return there

    def move(there):
        wait([client.submit(len, x, workers=[second], pure=False) for x in there])

    def fetch(there):
        for x in there:
            x.result()

    def add(there):
        total, other = np.zeros(size // 8), np.ones(size // 8)
        for _ in there:
            total += other

    def submit(there):
        client.gather([client.submit(int, i, pure=False) for i in range(n_tasks)])

    def cpu(function):
        there = made()
        return timed(lambda: function(there))[0]

    moving, fetching, adding = (cpu(one) / n for one in (move, fetch, add))
    return {
        "S": size,
        "B": size / moving,
        "M": size / adding,
        "D": size / fetching,
        "tau": cpu(submit) / n_tasks,
    }


def seconds_of_step(rows, workers, rate, known, size=None, fan_in=4):
    """Return what the formula says of a step on so many rows."""
    S = known["S"] if size is None else size
    B, M, D, tau = (known[name] for name in ("B", "M", "D", "tau"))
    down = math.ceil(math.log2(workers + 1)) * S / B
    levels = math.ceil(math.log(workers, fan_in))
    up = levels * (fan_in - 1) * (S / B + S / M)
    n_tasks = workers + math.ceil(workers / (fan_in - 1)) + 1
    return rows / (workers * rate) + down + 2 * S / M + up + S / D + tau * n_tasks


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=24_000)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--words", type=int, default=50_000)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    n_parts = PARTS * arguments.workers
    parts = make_parts(n_parts, arguments.documents // PARTS, arguments.words)
    n_rows = sum(part.shape[0] for part in parts)
    alone = per_step(lambda n: estimator(arguments, n).fit(parts), arguments)
    rate = n_rows / alone[0]
    with (
        LocalCluster(
            arguments.workers, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        delayed = [dask.delayed(part).persist() for part in parts]
        there = per_step(
            lambda n: sktemper.dask.fit(estimator(arguments, n), delayed), arguments
        )
        known = constants(client, arguments)
    print(f"rows a step {n_rows}, documents a CPU second {rate:.0f}")
    print(f"CPU s a step: threads {alone[0]:.2f}, cluster {there[0]:.2f}")
    print(f"wall s a step: one thread {alone[1]:.2f}, cluster {there[1]:.2f}")
    print(f"overhead's share of CPU: {1 - alone[0] / there[0]:.1%}")
    print(
        f"S {known['S'] / 1e6:.0f} MB, B {known['B'] / 1e9:.2f} GB/s, "
        f"M {known['M'] / 1e9:.2f} GB/s, D {known['D'] / 1e9:.2f} GB/s, "
        f"tau {1e3 * known['tau']:.2f} ms"
    )
    for batch in (100_000, 1_000_000, 10_000_000):
        seconds = seconds_of_step(batch, 64, rate, known)
        minutes = seconds * 1e8 / batch / 60
        share = 1 - batch / (64 * rate) / seconds
        print(
            f"batch {batch:>10,}: {seconds:.2f} s a step, {minutes:.1f} min a pass "
            f"of 100 M documents on 64 workers, overhead {share:.0%}"
        )


if __name__ == "__main__":
    main()

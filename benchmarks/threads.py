"""What two threads attain of what two processes attain: default fits of all models.

    PYTHONPATH=. python benchmarks/threads.py
    PYTHONPATH=. python benchmarks/threads.py --pairs 9 --cases lda gaussian

A fit with ``n_jobs=2`` and two processes with ``n_jobs=1``, side by side, take turns.
Two processes share nothing but the memory and the machine: the time that they need for
two fits, divided by twice the time of a fit on two threads, is the share that threads
attain of what the machine gives.  Printed are the medians of wall time and of that
share, and how much faster two threads are than one, which the machine may limit.

Each measurement is the best of some fits in a process of its own; the two processes
begin each fit together.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

from checkouts import environment

ROOT = Path(__file__).resolve().parents[1]
#: Fits of a process, of which the fastest counts.
FITS = 5


def cases():
    """Return what is fitted, by name: what makes an estimator and its data."""
    import compare_cases as data

    import sktemper

    return {
        "lda": lambda: (sktemper.AnnealedLDA(20), data.documents(12000)),
        "lda, K=100": lambda: (
            sktemper.AnnealedLDA(100, max_iter=3),
            data.documents(12000),
        ),
        "lda, long texts": lambda: (
            sktemper.AnnealedLDA(20, max_iter=4),
            data.long_documents(3000),
        ),
        "gaussian": lambda: (
            sktemper.AnnealedGaussianMixture(8),
            data.clusters(6000, 4, 6),
        ),
        "gaussian, wide": lambda: (
            sktemper.AnnealedGaussianMixture(20, max_iter=20),
            data.clusters(20000, 16, 20),
        ),
        "factorial": lambda: (
            sktemper.AnnealedFactorialMixture(8),
            data.features(4000),
        ),
        "ratings": lambda: (
            sktemper.AnnealedMatrixFactorization(10),
            data.ratings(6000),
        ),
        "clicks": lambda: (sktemper.ImplicitFactorization(32), data.ratings(6000)),
        "multinomial": lambda: (
            sktemper.AnnealedMultinomialMixture(10),
            data.documents(6000),
        ),
        "lda, 300 short texts": lambda: (
            sktemper.AnnealedLDA(10),
            data.documents(300),
        ),
        "gaussian, 300 samples": lambda: (
            sktemper.AnnealedGaussianMixture(4),
            data.clusters(300, 2, 3),
        ),
    }


def measure(name, n_jobs):
    """Fit when told to by a line of input; print the wall seconds of each fit."""
    from sklearn.base import clone

    warnings.simplefilter("ignore")
    estimator, X = cases()[name]()
    estimator.set_params(n_jobs=n_jobs, random_state=0)
    clone(estimator).fit(X)
    print("ready", flush=True)
    for _ in sys.stdin:
        begin = time.perf_counter()
        clone(estimator).fit(X)
        print(time.perf_counter() - begin, flush=True)


class Fits:
    """A process that fits when it is told to."""

    def __init__(self, name, n_jobs):
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--measure", name, str(n_jobs)],
            env=environment(os.environ.get("PYTHONPATH", ROOT)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.process.stdout.readline()

    def begin(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self):
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def together(fits):
    """Let processes fit at the same time; return the longest time."""
    for one in fits:
        one.begin()
    return max(one.end() for one in fits)


def row(name, n_pairs):
    """Return a row of the table."""
    one, other, threaded = Fits(name, 1), Fits(name, 1), Fits(name, 2)
    found = []
    for _ in range(n_pairs):
        sides = ([one], [one, other], [threaded])
        best = [min(together(side) for _ in range(FITS)) for side in sides]
        found.append(best)
    for process in (one, other, threaded):
        process.close()
    alone, two, threads = map(statistics.median, zip(*found, strict=True))
    share = statistics.median(b / (2 * c) for _, b, c in found)
    gain = statistics.median(a / c for a, _, c in found)
    return (
        f"| {name} | {1e3 * alone:.1f} | {1e3 * two:.1f} | {1e3 * threads:.1f} "
        f"| {gain:.2f} | {share:.2f} |"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--cases", nargs="+", help="by default all")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        name, n_jobs = arguments.measure
        measure(name, int(n_jobs))
        return
    print("| fit | one, ms | two processes, ms | two threads, ms | gain | share |")
    print("|---|---:|---:|---:|---:|---:|")
    for name in arguments.cases or cases():
        print(row(name, arguments.pairs), flush=True)


if __name__ == "__main__":
    main()

"""Latency of calls with few rows, compared with scikit-learn and other packages.

    OPENBLAS_NUM_THREADS=1 python -P benchmarks/bench_latency.py
    OPENBLAS_NUM_THREADS=1 python -P benchmarks/bench_latency.py --write

Each call gets different rows.  The calls of the packages alternate.  Times are CPU
times of all threads of the process, which depend less on the load of a shared machine
than wall times.  A row of a table has the median and the 99th percentile of one package
for one number of rows, and the ratio of its median to that of the first package of the
table. Packages that are not installed are left out.
"""

import argparse
import importlib
import platform
import subprocess
import time
import warnings
from datetime import date
from pathlib import Path

import numpy as np
from scipy import sparse

RESULT = Path(__file__).parent / "results" / "latency.md"
#: For each number of rows of a call, the number of calls in a round.
CALLS = {1: 100, 32: 20, 1000: 2}
ROUNDS, TOKENS = 3, 60


def documents(n_rows, n_words, random):
    """Return documents of 60 tokens, whose words follow Zipf's law."""
    shares = 1.0 / np.arange(10, n_words + 10)
    words = random.choice(n_words, (n_rows, TOKENS), p=shares / shares.sum())
    starts = TOKENS * np.arange(n_rows + 1)
    parts = np.ones(words.size), words.ravel(), starts
    X = sparse.csr_matrix(parts, shape=(n_rows, n_words))
    X.sum_duplicates()
    return X


def installed(name):
    """Return a module, or None if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def origin():
    """Return the commit of this checkout, the date and the processor."""
    from sktemper._simd import special

    root = Path(__file__).resolve().parents[1]
    command = ["git", "-C", str(root), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    processor = names[0] if names else platform.machine()
    return (
        f"Made at commit {commit}, {date.today():%Y-%m-%d}. {processor}, kernels for "
        f"{special.instruction_set}"
    )


def times_of(calls, pieces):
    """Return a dict from packages to arrays of the CPU seconds of each call."""
    times = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            for piece in pieces[name] if isinstance(pieces, dict) else pieces:
                begin = time.process_time()
                call(piece)
                times[name].append(time.process_time() - begin)
    return {name: np.array(values) for name, values in times.items()}


def rows_of(title, times):
    """Yield a table row for each package."""
    first = np.median(next(iter(times.values())))
    for name, values in times.items():
        median, worst = np.median(values), np.percentile(values, 99)
        yield (
            f"| {title} | {name} | {1e3 * median:.3f} | {1e3 * worst:.3f} "
            f"| {median / first:.2f} |"
        )


def topics(n_topics, n_words):
    """Yield the table rows of topic models."""
    from sklearn.decomposition import LatentDirichletAllocation

    from sktemper import AnnealedLDA

    random = np.random.default_rng(0)
    X = documents(2000, n_words, random)
    theirs = LatentDirichletAllocation(
        n_topics, learning_method="online", max_iter=1, random_state=0
    ).fit(X)
    ours = AnnealedLDA(n_topics, max_iter=3, random_state=0).fit(X)
    calls = {
        "scikit-learn": theirs.transform,
        "sktemper": ours.transform,
        "sktemper, `for_serving`": ours.for_serving().transform,
    }
    peers = {**gensim_calls(X, n_topics), **tomotopy_calls(X, n_topics)}
    name = f"K={n_topics}, V={n_words:,}"
    for n_rows, n_calls in CALLS.items():
        starts = random.integers(0, 2000 - n_rows, n_calls)
        pieces = [X[start : start + n_rows] for start in starts]
        own = {package: make(pieces) for package, (_, make) in peers.items()}
        yield from rows_of(
            f"`transform` of {n_rows:,}, {name}",
            times_of(
                {**calls, **{package: call for package, (call, _) in peers.items()}},
                {**dict.fromkeys(calls, pieces), **own},
            ),
        )
    pieces = [X[i : i + 1] for i in range(CALLS[1])]
    calls = {"scikit-learn": theirs.partial_fit, "sktemper": ours.partial_fit}
    yield from rows_of(f"`partial_fit` of 1, {name}", times_of(calls, pieces))


def gensim_calls(X, n_topics):
    """Return a dict from a name to a pair of functions; empty without gensim.

    The first function infers the topics of documents, and the second converts them.
    """
    models = installed("gensim.models")
    if models is None:
        return {}

    def bags(X):
        ends = zip(X.indptr, X.indptr[1:], strict=False)
        return [
            list(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True))
            for a, b in ends
        ]

    names = {i: str(i) for i in range(X.shape[1])}
    lda = models.LdaModel(bags(X), n_topics, id2word=names, random_state=0)
    return {"gensim": (lda.inference, lambda pieces: [bags(X) for X in pieces])}


def tomotopy_calls(X, n_topics):
    """Return a dict from a name to a pair of functions; empty without tomotopy.

    The first function infers the topics of documents, and the second converts them.
    """
    tomotopy = installed("tomotopy")
    if tomotopy is None:
        return {}

    def texts(X):
        counts = X.astype(int)
        ends = zip(X.indptr, X.indptr[1:], strict=False)
        return [
            np.repeat(X.indices[a:b], counts.data[a:b]).astype(str).tolist()
            for a, b in ends
        ]

    lda = tomotopy.LDAModel(k=n_topics, seed=0)
    for text in texts(X):
        lda.add_doc(text)
    lda.train(20, workers=1)

    def made(pieces):
        return [[lda.make_doc(text) for text in texts(X)] for X in pieces]

    return {"tomotopy, `infer`": (lambda docs: lda.infer(docs, workers=1), made)}


def mixtures(n_components):
    """Yield the table rows of Gaussian mixtures."""
    from sklearn.mixture import BayesianGaussianMixture

    from sktemper import AnnealedGaussianMixture

    random = np.random.default_rng(0)
    centers = 6 * random.normal(size=(n_components, 10))
    X = centers[random.integers(0, n_components, 4000)] + random.normal(size=(4000, 10))
    theirs = BayesianGaussianMixture(
        n_components=n_components, max_iter=10, random_state=0
    ).fit(X)
    ours = AnnealedGaussianMixture(n_components, moves=None, random_state=0).fit(X)
    for method in "predict_proba", "predict", "score_samples":
        calls = {
            "scikit-learn": getattr(theirs, method),
            "sktemper": getattr(ours, method),
        }
        for n_rows, n_calls in CALLS.items():
            starts = random.integers(0, 4000 - n_rows, n_calls)
            pieces = [X[start : start + n_rows] for start in starts]
            title = f"`{method}` of {n_rows:,}, K={n_components}, D=10"
            yield from rows_of(title, times_of(calls, pieces))


def recommendations():
    """Yield the table rows of recommenders: ten items for each of several new users."""
    from sktemper import ImplicitFactorization

    random = np.random.default_rng(0)
    items = random.integers(0, 3000, (4000, 40))
    parts = np.ones(items.size, np.float32), items.ravel(), 40 * np.arange(4001)
    X = sparse.csr_matrix(parts, shape=(4000, 3000))
    X.sum_duplicates()
    X.data[:] = 1.0
    ours = ImplicitFactorization(32, max_iter=3, random_state=0).fit(X).for_serving()
    calls = {"sktemper": lambda rows: ours.recommend(rows, n_items=10)}
    implicit = installed("implicit.als")
    if implicit is not None:
        theirs = implicit.AlternatingLeastSquares(
            32, iterations=3, num_threads=1, random_state=0
        )
        theirs.fit(X, show_progress=False)
        calls = {
            "implicit": lambda rows: theirs.recommend(
                np.arange(rows.shape[0]), rows, N=10, recalculate_user=True
            ),
            **calls,
        }
    for n_rows, n_calls in CALLS.items():
        starts = random.integers(0, 4000 - n_rows, n_calls)
        pieces = [X[start : start + n_rows] for start in starts]
        title = f"ten items for {n_rows:,} new users, rank 32, 3,000 items"
        yield from rows_of(title, times_of(calls, pieces))


def tables():
    """Yield the lines of the page."""
    yield "| call | package | median, ms | 99 %, ms | ratio |"
    yield "|---|---|---:|---:|---:|"
    for n_topics, n_words in (20, 3000), (20, 10_000), (100, 3000), (100, 10_000):
        yield from topics(n_topics, n_words)
    for n_components in 20, 100:
        yield from mixtures(n_components)
    yield from recommendations()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.name}")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for line in tables():
        print(line, flush=True)
        lines.append(line)
    if arguments.write:
        head = (
            "# Latency of few rows\n\n"
            f"{origin()}, Python "
            f"{platform.python_version()}, NumPy {np.__version__}, one thread. CPU "
            "times of all threads of the process, in milliseconds, of "
            f"{ROUNDS} rounds; calls of the packages alternate. Other work ran on both "
            "cores. The ratio is the median divided by that of the first package.\n\n"
            "```\nOPENBLAS_NUM_THREADS=1 python -P benchmarks/bench_latency.py --write"
            "\n```\n\n"
        )
        RESULT.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

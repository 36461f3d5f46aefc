"""Latency of calls with few rows, compared with scikit-learn and other packages.

    python benchmarks/bench_latency.py                    # all, then the report
    python benchmarks/bench_latency.py --stages topics

The stages, see `stages.py`, are in ``benchmarks/results/latency``, and the report is
``benchmarks/results/latency.md``.  Each call gets different rows, and the calls of the
packages alternate.  Times are CPU times of all threads of the process, which depend
less on the load of a shared machine than wall times.  A row of a table has the median
and the 99th percentile of one package for one number of rows, and the ratio of its
median to that of the first package of the table. Packages that are not installed are
left out.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import argparse
import functools
import importlib.util
import time
import warnings

import corpora
import numpy as np
from scipy import sparse
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.mixture import BayesianGaussianMixture
from stages import add_arguments, head_of, run, table

from sktemper import AnnealedGaussianMixture, AnnealedLDA, ImplicitFactorization

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


def pieces_of(X, random):
    """Yield numbers of rows, and for each the random pieces of some rows."""
    for n_rows, n_calls in CALLS.items():
        starts = random.integers(0, X.shape[0] - n_rows, n_calls)
        yield n_rows, [X[start : start + n_rows] for start in starts]


def rows_of(title, calls, pieces):
    """Return the rows of one call: a dict for each package.

    A call is a function, or a pair of a function and one that converts its argument.
    """
    calls = {
        k: f if isinstance(f, tuple) else (f, lambda X: X) for k, f in calls.items()
    }
    given = {name: list(map(convert, pieces)) for name, (_, convert) in calls.items()}
    times = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, (call, _) in calls.items():
            for piece in given[name]:
                begin = time.process_time()
                call(piece)
                times[name].append(1e3 * (time.process_time() - begin))
    first = np.median(next(iter(times.values())))
    return [
        {
            "call": title,
            "package": name,
            "median, ms": np.median(values),
            "99 %, ms": np.percentile(values, 99),
            "ratio": np.median(values) / first,
        }
        for name, values in times.items()
    ]


# -- topics ----------------------------------------------------------------------------


def topics(options):
    """Topics of new documents of 60 tokens, and a step with one document."""
    for n_topics, n_words in (20, 3000), (20, 10_000), (100, 3000), (100, 10_000):
        key = {"model": f"K={n_topics}, V={n_words:,}"}
        yield key, functools.partial(of_topics, n_topics, n_words, key["model"])


def of_topics(n_topics, n_words, name):
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
    if importlib.util.find_spec("gensim"):
        calls["gensim"] = gensim(X, n_topics)
    if importlib.util.find_spec("tomotopy"):
        calls["tomotopy, `infer`"] = tomotopy(X, n_topics)
    rows = []
    for n_rows, pieces in pieces_of(X, random):
        rows += rows_of(f"`transform` of {n_rows:,}, {name}", calls, pieces)
    calls = {"scikit-learn": theirs.partial_fit, "sktemper": ours.partial_fit}
    pieces = [X[i : i + 1] for i in range(CALLS[1])]
    return rows + rows_of(f"`partial_fit` of 1, {name}", calls, pieces)


def gensim(X, n_topics):
    """Return functions that infer the topics of documents, and convert documents."""
    from gensim.models import LdaModel

    def bags(X):
        return [
            list(zip(words.tolist(), counts.tolist(), strict=True))
            for words, counts in corpora.documents(X)
        ]

    names = {i: str(i) for i in range(X.shape[1])}
    lda = LdaModel(bags(X), n_topics, id2word=names, random_state=0)
    return lda.inference, bags


def tomotopy(X, n_topics):
    """Return functions that infer the topics of documents, and convert documents."""
    lda = corpora.tomotopy_lda(X, n_topics, 0)
    lda.train(20, workers=1)

    def made(X):
        return [
            lda.make_doc(np.repeat(words, counts.astype(int)).astype(str).tolist())
            for words, counts in corpora.documents(X)
        ]

    return lambda docs: lda.infer(docs, workers=1), made


# -- mixtures and recommendations ------------------------------------------------------


def mixtures(options):
    """Gaussian mixtures of 10 columns."""
    for n_components in 20, 100:
        key = {"model": f"K={n_components}, D=10"}
        yield key, functools.partial(of_mixtures, n_components, key["model"])


def of_mixtures(n_components, name):
    random = np.random.default_rng(0)
    centers = 6 * random.normal(size=(n_components, 10))
    X = centers[random.integers(0, n_components, 4000)] + random.normal(size=(4000, 10))
    theirs = BayesianGaussianMixture(
        n_components=n_components, max_iter=10, random_state=0
    ).fit(X)
    ours = AnnealedGaussianMixture(n_components, moves=None, random_state=0).fit(X)
    rows = []
    for method in "predict_proba", "predict", "score_samples":
        packages = {"scikit-learn": theirs, "sktemper": ours}
        calls = {name: getattr(mixture, method) for name, mixture in packages.items()}
        for n_rows, pieces in pieces_of(X, random):
            rows += rows_of(f"`{method}` of {n_rows:,}, {name}", calls, pieces)
    return rows


def recommendations(options):
    """Ten of 3,000 items for new users, rank 32."""
    yield {"model": "rank 32"}, of_recommendations


def of_recommendations():
    random = np.random.default_rng(0)
    items = random.integers(0, 3000, (4000, 40))
    parts = np.ones(items.size, np.float32), items.ravel(), 40 * np.arange(4001)
    X = sparse.csr_matrix(parts, shape=(4000, 3000))
    X.sum_duplicates()
    X.data[:] = 1.0
    ours = ImplicitFactorization(32, max_iter=3, random_state=0).fit(X).for_serving()
    calls = {"sktemper": lambda rows: ours.recommend(rows, n_items=10)}
    if importlib.util.find_spec("implicit"):
        from implicit.als import AlternatingLeastSquares

        theirs = AlternatingLeastSquares(
            32, iterations=3, num_threads=1, random_state=0
        )
        theirs.fit(X, show_progress=False)
        calls = {
            "implicit": lambda rows: theirs.recommend(
                np.arange(rows.shape[0]), rows, N=10, recalculate_user=True
            ),
            **calls,
        }
    rows = []
    for n_rows, pieces in pieces_of(X, random):
        rows += rows_of(f"ten items for {n_rows:,} new users", calls, pieces)
    return rows


def table_of(frame):
    return table(frame.drop(columns="model").round(3))


STAGES = {
    "topics": (topics, "Topics", table_of),
    "mixtures": (mixtures, "Mixtures", table_of),
    "recommendations": (recommendations, "Recommendations", table_of),
}


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add_arguments(parser, STAGES)
    run(parser, STAGES, "latency", head_of("Latency of few rows", "bench_latency"))


if __name__ == "__main__":
    main()

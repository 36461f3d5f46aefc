"""Are the defaults of `AnnealedLDA` good?  Against plain SVI and settings around them.

    python benchmarks/defaults_lda.py --data DIR

The shipped corpus (short documents) comes from `sktemper.datasets`.  ``nyt.npz`` (8,447
x 3,012; shuffled here) and ``imdb.npz`` (99,772 x 8,000), CSR matrices of word counts
with long documents, are read from DIR and skipped if absent.  The last tenth of a
corpus, at most 2,000 documents, is the test set.  Scores are nats per held-out token.
"""

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from sktemper import AnnealedLDA, TemperedLDA
from sktemper.datasets import load_debian_descriptions
from sktemper.lda._model import LDAModel
from sktemper.learning_rates import RobbinsMonro
from sktemper.metrics import completion_log_likelihood
from sktemper.schedules import ExponentialSchedule

RESULTS = Path(__file__).parent / "results"
CHUNK = 1000

#: What is changed in the defaults, one thing at a time.  A number for batch_size is a
#: factor of the default one.
FIT = {
    "defaults": {},
    "priors 1/K": {"doc_topic_prior": None, "topic_word_prior": None},
    "topic_word_prior .03": {"topic_word_prior": 0.03},
    "topic_word_prior .2": {"topic_word_prior": 0.2},
    "doc_topic_prior .02": {"doc_topic_prior": 0.02},
    "doc_topic_prior .1": {"doc_topic_prior": 0.1},
    "start 2": {"schedule": ExponentialSchedule(start=2)},
    "start 3": {"schedule": ExponentialSchedule(start=3)},
    "start 5": {"schedule": ExponentialSchedule(start=5)},
    "offset 10": {"learning_rate": RobbinsMonro(offset=10)},
    "half batches": {"batch_size": 0.5},
    "twice the batch": {"batch_size": 2},
    "max_iter 5": {"max_iter": 5},
    "max_iter 20": {"max_iter": 20},
    "mean_change_tol 1e-4": {"mean_change_tol": 1e-4},
    "target likelihood": {"target": "likelihood"},
}
#: The settings tried on large corpora with --quick-from.
QUICK = {"defaults", "start 2", "start 5"}
#: Of a stream: first temperature, steps of cooling, rows a piece.
STREAM = {
    "start 2, 15 steps, 300 rows": (2, 15, 300),
    "start 3, 20 steps, 1000 rows": (3, 20, 1000),
    "start 3, 150 steps, 1000 rows": (3, 150, 1000),
}


def corpora(data):
    """Yield (kind, number of documents, training data, test data)."""
    for kind, name, sizes in (
        ("short", None, (500, 5000, 50_000)),
        ("long", "nyt", (500, 5000)),
        ("long", "imdb", (50_000,)),
    ):
        if name is None:
            X = sparse.csr_matrix(load_debian_descriptions().data)
        elif data is None or not (data / f"{name}.npz").exists():
            print(f"{name}.npz is not there: skipped (see --data)", flush=True)
            continue
        else:
            X = sparse.load_npz(data / f"{name}.npz").tocsr()
        if name == "nyt":
            X = X[np.random.default_rng(0).permutation(X.shape[0])]
        n_train = X.shape[0] - X.shape[0] // 10
        for size in sizes:
            n = min(size, n_train)
            yield kind, size, X[:n], X[n_train:][:2000]


def fit(estimator, X):
    """Fit and return nothing more than the estimator."""
    return estimator.fit(X)


def stream(estimator, X):
    """Stream the data once, in chunks."""
    for start in range(0, X.shape[0], CHUNK):
        estimator.partial_fit(X[start : start + CHUNK])
    return estimator


def settings(X, K, seed, quick):
    """Yield (way, name, estimator, how it learns)."""
    common = {"n_components": K, "random_state": seed}
    for way, learn in (("fit", fit), ("stream", stream)):
        yield way, "plain", TemperedLDA(tempering=None, **common), learn
    yield "stream", "defaults", AnnealedLDA(**common), stream
    batch_size = LDAModel(K, X.shape[1], None, None).auto_batch_size(X, X.shape[0])
    for name, changes in FIT.items():
        if quick and name not in QUICK:
            continue
        if "batch_size" in changes:
            rows = round(changes["batch_size"] * batch_size)
            changes = {"batch_size": min(rows, X.shape[0])}
        yield "fit", name, AnnealedLDA(**common, **changes), fit
    for name, (start, length, rows) in STREAM.items():
        schedule = ExponentialSchedule(start, length=length)
        lda = AnnealedLDA(schedule=schedule, batch_size=rows, **common)
        yield "stream", name, lda, stream


def measure(data, seeds, quick_from, sizes):
    """Yield a row of the table for each fit."""
    for kind, size, X, X_test in corpora(data):
        if size not in sizes:
            continue
        for K in (20, 100):
            for seed in range(seeds if size <= 5000 else 1):
                for way, name, lda, learn in settings(X, K, seed, size >= quick_from):
                    begin = time.perf_counter()
                    learn(lda, X)
                    seconds = time.perf_counter() - begin
                    row = {
                        "documents": kind,
                        "size": size,
                        "n_components": K,
                        "way": way,
                        "setting": name,
                        "seed": seed,
                        "score": round(lda.score(X_test), 4),
                        "score_tokens": round(
                            completion_log_likelihood(
                                lda, X_test, split="tokens", random_state=0
                            ),
                            4,
                        ),
                        "seconds": round(seconds, 2),
                        "batch_size": lda.batch_size_,
                        "steps": lda.state_.progress.steps,
                    }
                    print(*row.values(), flush=True)
                    yield row


def write_markdown(rows, path):
    """Write a table of mean scores, a column for each cell."""
    means = {}
    for row in rows:
        cell = (row["documents"], int(row["size"]), int(row["n_components"]))
        key = (row["way"], row["setting"], cell)
        means.setdefault(key, []).append(float(row["score"]))
    cells = list(dict.fromkeys(key[2] for key in means))
    lines = [
        "# Defaults of AnnealedLDA",
        "",
        "Held-out nats per token (`score`), the mean over seeds; `-` is not measured.",
        "Columns are short or long documents, their number, and K. Made by",
        "`benchmarks/defaults_lda.py`; every fit stands in `defaults_lda.csv`, with",
        "the score of the split by tokens, time, batch size and steps.",
    ]
    for way in ("fit", "stream"):
        names = list(dict.fromkeys(key[1] for key in means if key[0] == way))
        if not names:
            continue
        heads = [f"{kind} {size} K={K}" for kind, size, K in cells]
        lines += ["", f"## {way}", "", "| setting | " + " | ".join(heads) + " |"]
        lines.append("|---|" + "---:|" * len(heads))
        for name in names:
            scores = [means.get((way, name, cell)) for cell in cells]
            texts = ["-" if s is None else f"{np.mean(s):.3f}" for s in scores]
            lines.append(f"| {name} | " + " | ".join(texts) + " |")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    """Measure, and write the results after each fit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of nyt.npz and imdb.npz")
    parser.add_argument("--seeds", type=int, default=2, help="1 is used from 50,000 on")
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 5000, 50_000])
    parser.add_argument(
        "--quick-from",
        type=int,
        default=10**9,
        help="no alternatives in fits to this many documents or more",
    )
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    RESULTS.mkdir(exist_ok=True)
    rows = []
    with (RESULTS / "defaults_lda.csv").open("w", newline="") as file:
        for row in measure(args.data, args.seeds, args.quick_from, args.sizes):
            writer = csv.DictWriter(file, row, lineterminator="\n")
            if not rows:
                writer.writeheader()
            rows.append(row)
            writer.writerow(row)
            file.flush()
            write_markdown(rows, RESULTS / "defaults_lda.md")


if __name__ == "__main__":
    main()

"""How fast are short texts optimised, many at once?  Two checkouts, and peers.

    python benchmarks/short_documents.py updates --against BEFORE
    python benchmarks/short_documents.py transform

`updates` prints CPU microseconds a document of the local step of this checkout and of
another folder with compiled kernels, BEFORE: what training does, with statistics, and
gamma alone.  Blocks have 256 documents, as in fits; topics are those of a
pass over the Debian descriptions, or over a corpus of ``--data``.  The two take turns,
the median counts.

`transform` prints CPU seconds for a million Debian descriptions, from a sample of them,
of `transform`, of tomotopy's ``infer`` and of gensim's ``inference``, each by its own
defaults, from texts in the form that each one takes.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import bench_lda
import corpora
import numpy as np
from checkouts import environment

from sktemper import TemperedLDA

HERE = Path(__file__).resolve()
N_DOCUMENTS = 1536
KINDS = {"training": ("statistics", "local"), "gamma alone": ("local",)}


def trained(X, K):
    """Return an estimator after a pass."""
    lda = TemperedLDA(
        K,
        tempering=None,
        doc_update="variational",
        batch_size=128,
        random_state=0,
        **bench_lda.PRIORS,
    )
    return lda.partial_fit(X)


# -- updates ---------------------------------------------------------------------------


def work(folder):
    """Answer each line of the input, a case, with microseconds a document."""
    from sktemper.model import Request

    prepared = {}
    for line in sys.stdin:
        name, K, dtype, kind = json.loads(line)
        if (name, K, dtype) not in prepared:
            X = corpora.load(name, folder).train[:7680]
            topics = trained(X.astype(np.float32), K).components_.astype(float)
            update = bench_lda.LocalUpdate(topics, np.dtype(dtype))
            X = X[-N_DOCUMENTS:].astype(dtype)
            cuts = range(0, X.shape[0], 256)
            blocks = [update.model.take(X, slice(i, i + 256)) for i in cuts]
            prepared[name, K, dtype] = update, blocks, X.shape[0]
        update, blocks, n_documents = prepared[name, K, dtype]
        request, begin = Request(want=KINDS[kind]), time.process_time()
        for _ in range(3):
            for block in blocks:
                update.model.local_step(block, update.prepared, request)
        seconds = time.process_time() - begin
        print(1e6 * seconds / (3 * n_documents), flush=True)


def worker(checkout, folder):
    """Start a process that works with the package of a checkout."""
    return subprocess.Popen(
        [sys.executable, HERE, "work", "--data", folder],
        env=environment(checkout),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def ask(process, case):
    print(json.dumps(case), file=process.stdin, flush=True)
    return float(process.stdout.readline())


def updates(options):
    """Print a table of both checkouts."""
    workers = [
        worker(checkout, options.data)
        for checkout in (options.against, HERE.parents[1])
    ]
    print("| corpus | K | dtype | | before | after | ratio |")
    print("|---|---:|---|---|---:|---:|---:|")
    for name in options.corpora:
        for K in options.topics:
            for dtype in ("float32", "float64"):
                for kind in KINDS:
                    case = name, K, dtype, kind
                    times = [[], []]
                    for turn in range(options.repetitions):
                        for side in (0, 1) if turn % 2 else (1, 0):
                            times[side].append(ask(workers[side], case))
                    before, after = map(statistics.median, times)
                    ratios = [a / b for a, b in zip(*times, strict=True)]
                    ratio = statistics.median(ratios)
                    print(
                        f"| {name} | {K} | {dtype} | {kind} "
                        f"| {before:.2f} | {after:.2f} | {ratio:.2f} |",
                        flush=True,
                    )
    for process in workers:
        process.stdin.close()
        process.wait()


# -- transform -------------------------------------------------------------------------


def contestants(X, K):
    """Return a function and the number of its texts for each contestant."""
    lda = trained(X[:7680].astype(np.float32), K)
    few, texts = X[:2000], X.astype(np.float32)
    calls = {"sktemper": (lambda: lda.transform(texts), texts.shape[0])}
    if bench_lda.there("tomotopy"):
        model = bench_lda.tomotopy_model(X[:7680], K)
        model.train(50, workers=1)
        texts_of_it = [
            model.make_doc([str(word) for word in np.repeat(words, counts)])
            for words, counts in corpora.documents(few)
        ]
        calls["tomotopy"] = lambda: model.infer(texts_of_it, workers=1), few.shape[0]
    if bench_lda.there("gensim"):
        from gensim.models import LdaModel

        theirs = bench_lda.Gensim()
        online = theirs.new(lda.components_, 2000)
        online.iterations = 50  # its default
        online.random_state = np.random.RandomState(0)
        bags = theirs.documents(few)
        calls["gensim"] = lambda: LdaModel.inference(online, bags), few.shape[0]
    return calls


def transform(options):
    """Print a table of seconds a million texts."""
    X = corpora.load("debian", options.data).train
    X = X[: options.texts]
    print("| K | | CPU s a million | of ours |")
    print("|---:|---|---:|---:|")
    for K in options.topics:
        calls = contestants(X, K)
        times = {name: [] for name in calls}
        for _ in range(options.repetitions):
            for name, (call, n_texts) in calls.items():
                begin = time.process_time()
                call()
                times[name].append((time.process_time() - begin) / n_texts)
        medians = {
            name: 1e6 * statistics.median(found) for name, found in times.items()
        }
        for name, seconds in medians.items():
            ratio = seconds / medians["sktemper"]
            print(f"| {K} | {name} | {seconds:.1f} | {ratio:.1f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["updates", "transform", "work"])
    parser.add_argument("--against", help="folder with compiled kernels")
    parser.add_argument("--topics", nargs="+", type=int, default=[20, 50, 100])
    parser.add_argument("--corpora", nargs="+", default=["debian"])
    parser.add_argument("--texts", type=int, default=40_000)
    parser.add_argument("--repetitions", type=int, default=7)
    corpora.add_argument(parser)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    options.data = options.data.resolve()
    if options.what == "work":
        work(options.data)
    elif options.what == "updates":
        updates(options)
    else:
        transform(options)


if __name__ == "__main__":
    main()

"""Serving: the ten best of 100,000 items for 10,000 users, beside `implicit`.

    OPENBLAS_NUM_THREADS=1 python -P benchmarks/bench_ranking.py \
        >benchmarks/results/serving.md

`implicit` is given the factors of the fitted model, so that both look for the same
items; each run asks both, one after the other, on one thread.  Needs
``pip install implicit`` and about 6 GB of memory.
"""

import argparse
import os
import platform
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import joblib
import numpy as np
from scipy import sparse

import sktemper
from sktemper import ImplicitFactorization


def clicks(n_users, n_items, n_each, random):
    """Return clicks on items of which some are popular, ``n_each`` of each user."""
    shares = random.lognormal(size=n_items).cumsum()
    rows = []
    for _ in range(n_users):
        found = np.unique(
            np.searchsorted(shares, random.random(3 * n_each) * shares[-1])
        )
        rows.append(np.sort(random.permutation(found)[:n_each]))
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    items = np.concatenate(rows).astype(np.int32)
    ones = np.ones(len(items), np.float32)
    return sparse.csr_matrix((ones, items, starts), shape=(n_users, n_items))


def timed(functions, n_runs):
    """Return medians of wall and of CPU milliseconds of calls, run in turns."""
    taken = np.empty((n_runs, len(functions), 2))
    for run in range(n_runs):
        for number, function in enumerate(functions):
            wall, cpu = time.perf_counter(), time.process_time()
            function(run)
            taken[run, number] = (
                time.perf_counter() - wall,
                time.process_time() - cpu,
            )
    return 1e3 * np.median(taken, axis=0)


def exact(model, X, users, n_best=10):
    """Return whether the best are those of a stable sort of all scores."""
    scores = model.item_scores(users)
    for row, user in enumerate(users):
        scores[row, X.indices[X.indptr[user] : X.indptr[user + 1]]] = -np.inf
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :n_best]
    table = model.recommend(users, n_items=n_best)
    alone = [model.recommend([user], n_items=n_best) for user in users[:20]]
    found = table["item"].to_numpy().reshape(-1, n_best)
    own = np.concatenate([one["score"] for one in alone])
    same_bits = np.array_equal(own, table["score"][: len(own)])
    return bool(np.array_equal(found, expected)), same_bits


def processor():
    """Return the name of the processor."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor()


def fold_in(model, n_items, random):
    """Return milliseconds of the factors of new users with 50 items, and best items."""

    def new_user():
        items = np.sort(random.choice(n_items, 50, replace=False)).astype(np.int32)
        starts = np.array([0, 50])
        return sparse.csr_matrix(
            (np.ones(50, np.float32), items, starts), shape=(1, n_items)
        )

    rows = [new_user() for _ in range(200)]
    taken = np.empty((len(rows), 2))
    for number, row in enumerate(rows):
        start = time.process_time()
        model.transform(row)
        middle = time.process_time()
        model.recommend(row, n_items=10)
        taken[number] = middle - start, time.process_time() - middle
    return 1e3 * np.percentile(taken, [10, 50], axis=0)


def mapped(model, folder):
    """Return the seconds to load a model that serves, and its file's megabytes."""
    path = os.path.join(folder, "model.joblib")
    joblib.dump(model.for_serving(), path)
    start = time.perf_counter()
    served = joblib.load(path, mmap_mode="r")
    first = served.recommend([0], n_items=10)
    seconds = time.perf_counter() - start
    assert first.equals(model.recommend([0], n_items=10))
    return seconds, os.path.getsize(path) / 2**20


def main():
    """Print a page of figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=10_000)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--rank", type=int, default=64)
    arguments = parser.parse_args()
    import implicit
    from implicit.als import AlternatingLeastSquares

    random = np.random.default_rng(0)
    X = clicks(arguments.users, arguments.items, 50, random)
    model = ImplicitFactorization(arguments.rank, max_iter=1, random_state=0).fit(X)
    peer = AlternatingLeastSquares(factors=arguments.rank, num_threads=1)
    peer.user_factors = np.ascontiguousarray(model.user_factors_)
    peer.item_factors = np.ascontiguousarray(model.components_.T)
    order = random.permutation(arguments.users)
    right, same_bits = exact(model, X, order[:300])
    lines = []
    for n_users, n_runs in ((1, 300), (32, 60), (1000, 7), (arguments.users, 3)):

        def users_of(run, n_users=n_users):
            return np.sort(order[np.arange(run, run + n_users) % arguments.users])

        def ours(run, users_of=users_of):
            model.recommend(users_of(run), n_items=10)

        def arrays(run, users_of=users_of):
            chosen = model._choose(users_of(run))
            model._best(chosen, 10)

        def theirs(run, users_of=users_of):
            users = users_of(run)
            peer.recommend(users, X[users], N=10)

        (own, own_cpu), (bare, bare_cpu), (other, other_cpu) = timed(
            [ours, arrays, theirs], n_runs
        )
        lines.append(
            f"| {n_users:,} | {own:,.2f} | {own_cpu:,.2f} | {bare:,.2f} | "
            f"{bare_cpu:,.2f} | {other:,.2f} | {other_cpu:,.2f} |"
        )
    (fold, both), (fold_median, both_median) = fold_in(model, arguments.items, random)
    with tempfile.TemporaryDirectory() as folder:
        seconds, size = mapped(model, folder)
    print("# Serving\n")
    print("The ten best of all items that a user has not had, by one thread:\n")
    print("```\nOPENBLAS_NUM_THREADS=1 python -P benchmarks/bench_ranking.py\n```\n")
    print(
        f"{arguments.users:,} users with 50 items each, {arguments.items:,} items, "
        f"rank {arguments.rank}, float32; {processor()}, {os.cpu_count()} cores, "
        f"`SKTEMPER_SIMD` {sktemper._simd.dispatch.instruction_set}; implicit "
        f"{implicit.__version__} with the same factors. Medians of runs in turns, "
        "milliseconds: of the wall clock and of the CPU.\n"
    )
    print("| users | `recommend`, a data frame | CPU | arrays | CPU | implicit | CPU |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    print("\n".join(lines))
    print(
        f"\nThe best are those of a stable sort of all scores, ties by index: {right}. "
        f"The bits of one user are those of 300: {same_bits}.\n"
    )
    print(
        f"A new user with 50 items, CPU time, median of 200 and of the fastest fifth: "
        f"factors in {fold_median:.2f} and {fold:.2f} ms, with ten "
        f"recommendations {both_median:.2f} and {both:.2f} ms.\n"
    )
    print(
        f"A model that serves: a file of {size:,.0f} MB, mapped and asked for the "
        f"first time within {seconds:.2f} s."
    )


if __name__ == "__main__":
    main()

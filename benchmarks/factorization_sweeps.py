"""How long does a sweep of ratings or clicks take, before a change and after?

    python benchmarks/factorization_sweeps.py --before ../before     # writes the table
    python benchmarks/factorization_sweeps.py ratings-10-1-float32 --repetitions 1

``--before`` is a checkout of an earlier commit with its extensions built; without it
only this one is measured, beside cmfrec and implicit as far as these are installed.
A finished case is a row of ``benchmarks/results/factorization_sweeps.csv``; after an
interruption it goes on behind them.  The table is ``factorization_sweeps.md`` there.

A case is what is factorized, the rank, millions of ratings, and the dtype.  Contestants
take turns, each in a process of its own: one thread, CPU seconds.  Of a fit with 5
sweeps that with 1 is taken away, and the rest divided by 4; medians count.  Cases of
rank 32 and above are measured once; noise of each user's own up to rank 10, of a
million.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from checkouts import ONE_THREAD, environment
from scipy import sparse

HERE = Path(__file__).resolve().parent
SHAPES = {"1": (7_000, 5_000, 1_000_000), "10": (70_000, 10_000, 10_000_000)}
CASES = [
    *(
        f"ratings-{d}-1-{dtype}"
        for d in (5, 10, 32)
        for dtype in ("float32", "float64")
    ),
    "ratings-64-1-float32",
    "ratings-10-10-float32",
    "ratings-10-10-float64",
    *(f"clicks-{d}-1-float32" for d in (32, 64, 128)),
]
KINDS = {
    "ratings": ("cmfrec", "before", "after", "before, own noise", "after, own noise"),
    "clicks": ("implicit", "before", "after"),
}
ROWS = HERE / "results" / "factorization_sweeps.csv"
#: Sweeps of the two fits.
FEW, MANY = 1, 5


def fit(contestant, X, rank, n_sweeps):
    """Fit once, by a contestant."""
    if contestant == "cmfrec":
        from bench_matrix_factorization import cmfrec_sweeps

        cmfrec_sweeps(rank, n_sweeps, X.dtype, biases=True).fit(X.tocoo())
    elif contestant == "implicit":
        from implicit.als import AlternatingLeastSquares

        AlternatingLeastSquares(
            factors=rank,
            regularization=0.01,
            iterations=n_sweeps,
            use_cg=False,
            num_threads=1,
            random_state=0,
        ).fit(X, show_progress=False)
    elif contestant == "clicks":
        from sktemper import ImplicitFactorization

        ImplicitFactorization(rank, max_iter=n_sweeps, tol=0.0, random_state=0).fit(X)
    else:
        from sktemper import TemperedMatrixFactorization

        TemperedMatrixFactorization(
            rank, tempering=None, noise_type=contestant, max_iter=n_sweeps, tol=0.0
        ).fit(X)


def measure(contestant, path, rank, dtype):
    """Print the CPU seconds of a sweep."""
    warnings.simplefilter("ignore")
    X, rank = sparse.load_npz(path).astype(dtype), int(rank)
    if contestant in ("clicks", "implicit"):
        X.data[:] = 1

    def seconds(n_sweeps):
        start = time.process_time()
        fit(contestant, X, rank, n_sweeps)
        return time.process_time() - start

    seconds(FEW)  # what is loaded, and memory that is touched, for the first time
    print((seconds(MANY) - seconds(FEW)) / (MANY - FEW))


def timed(kind, name, before, arguments):
    """Return the seconds of a sweep of one of `KINDS`, or NaN if it is not here."""
    contestant = name
    if name.startswith(("before", "after")):
        contestant = "user" if "own noise" in name else "common"
        contestant = "clicks" if kind == "clicks" else contestant
    if name.startswith("before") and before is None:
        return np.nan
    tree = before if name.startswith("before") else HERE.parent
    done = subprocess.run(
        [sys.executable, __file__, "--measure", contestant, *arguments],
        env=environment(tree, **ONE_THREAD),
        capture_output=True,
        text=True,
    )
    if done.returncode and "ModuleNotFoundError" in done.stderr:
        return np.nan
    done.check_returncode()
    return float(done.stdout.split()[-1])


def row_of(case, before, folder, repetitions):
    """Return the row of a case."""
    from bench_matrix_factorization import generated

    kind, rank, millions, dtype = case.split("-")
    path = Path(folder, f"{millions}.npz")
    if not path.exists():
        sparse.save_npz(path, generated(*SHAPES[millions]), compressed=False)
    if int(rank) > 10:
        repetitions = 1
    has_own = int(rank) <= 10 and millions == "1"
    names = KINDS[kind] if has_own else KINDS[kind][:3]
    found = [
        {name: timed(kind, name, before, (str(path), rank, dtype)) for name in names}
        for _ in range(repetitions)
    ]
    medians = pd.DataFrame(found).median()
    row = {"of": kind, "d": int(rank), "millions": int(millions), "dtype": dtype}
    row["peer"] = medians.iloc[0]
    for name in ("before", "after", "before, own noise", "after, own noise"):
        row[name] = medians.get(name, np.nan)
    row["peer / after"] = row["peer"] / row["after"]
    row["before / after"] = row["before"] / row["after"]
    row["the same, own noise"] = row["before, own noise"] / row["after, own noise"]
    return row


def main():
    """Measure cases, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", default=CASES)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(*options.measure)
        return
    from bench_lda import processor, table

    before = options.before and options.before.resolve()
    done = pd.read_csv(ROWS) if ROWS.exists() else pd.DataFrame({"case": []})
    with tempfile.TemporaryDirectory() as folder:
        for case in options.cases:
            if case in set(done["case"]):
                continue
            row = {"case": case, **row_of(case, before, folder, options.repetitions)}
            print(row, flush=True)
            done = pd.concat([done, pd.DataFrame([row])], ignore_index=True)
            done.to_csv(ROWS, index=False, float_format="%.4g")
    text = [
        "# Sweeps of factorizations",
        "",
        f"CPU seconds of a sweep of both sides, one thread of {processor()}; OpenBLAS' "
        "own choice of kernels.  Peers: cmfrec's alternating least squares (ratings), "
        "implicit's by Cholesky (clicks).  `benchmarks/factorization_sweeps.py` made "
        "this, and says what is measured.",
        "",
        *table(done.drop(columns="case")),
    ]
    ROWS.with_suffix(".md").write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

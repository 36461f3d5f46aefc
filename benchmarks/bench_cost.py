"""Time and memory of default fits by the number of rows, beside other packages.

    python benchmarks/bench_cost.py                          # all, then the report
    python benchmarks/bench_cost.py --stages AnnealedLDA --rows 10000 40000

A stage, see `stages.py`, is a model and packages that users would choose instead. Each
fit is in a new process, after a fit of few rows that loads libraries.  The report has
CPU seconds of one thread, the largest resident memory during the fit minus that before
it, with the data, and the growth of both from the last but one number of rows to the
last.  Packages that are not installed are left out.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import argparse
import functools
import importlib.util
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from compare_cases import clusters, features, long_documents, ratings
from corpora import tomotopy_lda
from scipy import sparse
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.mixture import BayesianGaussianMixture
from stages import add_arguments, head_of, run, table, timed
from zoo.stepmix_peer import fit_stepmix, fit_stepmix_to_table

import sktemper

#: Components of the fits, rows by default, and rows of a first fit.
K, ROWS, FEW = 10, (10_000, 40_000, 160_000), 1200


def answers(n, n_columns=12):
    """Return items of 0 and 1 in six classes."""
    random = np.random.default_rng(0)
    chances = random.beta(0.5, 0.5, size=(6, n_columns))
    return (random.random((n, n_columns)) < chances[random.integers(6, size=n)]) * 1.0


# -- fits by other packages, which are imported when they are used ---------------------
def ratings_of_cmfrec(X):
    from cmfrec import CMF

    CMF(k=K, nthreads=1, verbose=False).fit(X.tocoo())


def clicks_of_implicit(X):
    from implicit.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(K, num_threads=1, random_state=0)
    model.fit(sparse.csr_matrix(X, dtype=np.float32), show_progress=False)


OF_TEXTS = {
    "sklearn": LatentDirichletAllocation(K, random_state=0).fit,
    "tomotopy": lambda X: tomotopy_lda(X, K, 0).train(100, workers=1),
}
OF_NUMBERS = {"sklearn": BayesianGaussianMixture(n_components=K, random_state=0).fit}
OF_BOTH = {"stepmix": lambda X: fit_stepmix_to_table(X, 4, K)}

#: Data of some rows, and what they are.
NUMBERS = lambda n: clusters(n, 4, 6), "six clusters of 4 numbers"
ANSWERS = answers, "six classes of 12 items of 0 and 1"
BOTH = lambda n: np.hstack([answers(n, 4), NUMBERS[0](n)]), "4 items and 4 numbers"
TEXTS = lambda n: long_documents(n // 4), "a quarter as many texts of 200 words"
SUMS = lambda n: features(n // 4), "a quarter as many sums of eight parts, 32 numbers"
RATINGS = lambda n: ratings(n // 4), "a quarter as many users, 24 of 800 items each"
#: The data of each estimator, and the fits of other packages.
SUBJECTS = {
    "AnnealedLDA": (TEXTS, OF_TEXTS),
    "AnnealedGaussianMixture": (NUMBERS, OF_NUMBERS),
    "AnnealedStudentMixture": (NUMBERS, {}),
    "AnnealedBernoulliMixture": (ANSWERS, {"stepmix": lambda X: fit_stepmix(X, K)}),
    "AnnealedMultinomialMixture": (TEXTS, {}),
    "AnnealedMixedMixture": (BOTH, OF_BOTH),
    "AnnealedFactorialMixture": (SUMS, {}),
    "AnnealedMatrixFactorization": (RATINGS, {"cmfrec": ratings_of_cmfrec}),
    "ImplicitFactorization": (RATINGS, {"implicit": clicks_of_implicit}),
}


# -- measurements, each in a process of its own ----------------------------------------
def resident(field):
    """Return a number of /proc/self/status in megabytes, NaN without this file."""
    path = Path("/proc/self/status")
    for line in path.read_text().splitlines() if path.exists() else ():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    return np.nan


def measure(name, package, n_rows):
    """Print the CPU seconds of a fit, and the memory on top of the data."""
    (data, _), fits = SUBJECTS[name]
    fit = fits.get(package) or getattr(sktemper, name)(K, random_state=0).fit
    fit(data(FEW))
    X = data(n_rows)
    before = resident("VmRSS")
    if before == before:
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    seconds, _ = timed(fit, X)
    print(json.dumps({"seconds": seconds, "MB": resident("VmHWM") - before}))


def in_process(*arguments):
    command = [sys.executable, "-W", "ignore", __file__, "--one", *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def fits_of(name, options):
    installed = filter(importlib.util.find_spec, SUBJECTS[name][1])
    for package in ("sktemper", *installed):
        for n_rows in map(options.tenth, options.rows):
            key = {"package": package, "rows": n_rows}
            yield key, functools.partial(in_process, name, package, n_rows)


def table_of(frame):
    """Yield a table with a line for each package."""
    found = {"package": frame["package"].unique()}
    for kind in "seconds", "MB":
        wide = frame.pivot(index="package", columns="rows", values=kind)
        wide = wide.loc[found["package"]]
        found |= {f"{n_rows:,}: {kind}": wide[n_rows].to_numpy() for n_rows in wide}
        found[f"growth of {kind}"] = (wide.iloc[:, -1] / wide.iloc[:, -2]).to_numpy()
    return table(pd.DataFrame(found))


def stage(name):
    fits = functools.partial(fits_of, name)
    fits.__doc__ = f"{K} components; {SUBJECTS[name][0][1]}."
    return fits, f"`{name}`", table_of


def main():
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["--one"]:
        return measure(*sys.argv[2:4], int(sys.argv[4]))
    stages = {name: stage(name) for name in SUBJECTS}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="+", type=int, default=ROWS)
    add_arguments(parser, stages)
    run(parser, stages, "cost", head_of("Cost of default fits", "bench_cost"))


if __name__ == "__main__":
    main()

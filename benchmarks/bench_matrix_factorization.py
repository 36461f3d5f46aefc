"""Benchmark of matrix factorization: errors of predicted ratings.

    python benchmarks/bench_matrix_factorization.py              # all, then the report
    python benchmarks/bench_matrix_factorization.py --stages error --seeds 2
    python benchmarks/bench_matrix_factorization.py --quick      # a short trial run
    python benchmarks/bench_matrix_factorization.py --stages     # only the report

The stages, see `stages.py`, are in ``benchmarks/results/bench_matrix_factorization``,
and the report is next to this folder.  ``python benchmarks/papers 002.fig1`` compares
lower bounds.

error   held-out error and calibration on MovieLens-100k, compared with cmfrec and myfm

cmfrec and myfm are left out if they are not installed, and MovieLens if
``movielens_100k.npz`` is not in the folder of ``--data``.  Everything runs in one
thread, and all times are CPU times.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import argparse
import functools
import importlib.metadata
import importlib.util
import itertools

import numpy as np
from scipy import sparse
from stages import add_arguments, head_of, run, table, timed

from sktemper import (
    AnnealedMatrixFactorization,
    SVIPlusMatrixFactorization,
    TemperedMatrixFactorization,
)

PEERS = [name for name in ("cmfrec", "myfm") if importlib.util.find_spec(name)]
#: Standard normal quantiles of the central 50 % and 90 % intervals.
INTERVALS = {50: 0.674490, 90: 1.644854}


# -- data ------------------------------------------------------------------------------


@functools.cache
def movielens(folder):
    """Return the ratings of MovieLens-100k, or None."""
    path = folder / "movielens_100k.npz"
    return sparse.load_npz(path).tocoo() if path.exists() else None


def split(ratings, seed):
    """Return nine tenths of the ratings as CSR, and the held-out tenth as COO."""
    order = np.random.default_rng(seed).permutation(ratings.nnz)
    n_test = ratings.nnz // 10

    def part(chosen):
        values, place = ratings.data[chosen], (ratings.row[chosen], ratings.col[chosen])
        return sparse.coo_matrix((values.astype(float), place), ratings.shape)

    return part(order[n_test:]).tocsr(), part(order[:n_test])


# -- compared methods ------------------------------------------------------------------


PLAIN = functools.partial(TemperedMatrixFactorization, tempering=None)
OURS = {
    "defaults": TemperedMatrixFactorization,
    "common noise": functools.partial(TemperedMatrixFactorization, noise_type="common"),
    "annealed": AnnealedMatrixFactorization,
    "local": functools.partial(TemperedMatrixFactorization, tempering="local"),
    "SVI+": SVIPlusMatrixFactorization,
    "minibatches": functools.partial(PLAIN, batch_size="auto", max_iter=30),
}


def ours(contestant, rank, train, test, seed):
    """Return the table row of a fit by this package."""
    model = contestant(rank, random_state=seed)
    seconds, _ = timed(lambda: model.fit(train))
    pairs = np.column_stack([test.row, test.col])
    mean, std = model.predict_pairs(pairs, return_std=True, by_position=True)
    away = np.abs(test.data - mean) / std
    row = {"RMSE": error(mean, test), "CPU s": seconds}
    row |= {f"{level} %": (away < q).mean() for level, q in INTERVALS.items()}
    row["bound"] = model.lower_bound(train)
    row["factors"] = int((model.relevance_ > 1e-3).sum())
    return row


def error(predicted, test):
    """Return the root mean squared error of predictions clipped to the scale."""
    return float(np.sqrt(np.mean((np.clip(predicted, 1, 5) - test.data) ** 2)))


def alternating_least_squares(rank, train, test, seed):
    """Return the table row of cmfrec's explicit model with the best penalties."""
    from cmfrec import CMF

    rows = []
    for bias, factor in itertools.product((2.0, 4.0), (7.0, 10.0, 13.0, 16.0)):
        penalties = [bias, bias, factor, factor, 1.0, 1.0]
        model = CMF(
            k=rank, lambda_=penalties, use_cg=False, niter=30, nthreads=1, verbose=False
        )
        model.random_state = seed
        seconds, _ = timed(lambda model=model: model.fit(train.tocoo()))
        predicted = model.predict(test.row, test.col)
        rows.append({"RMSE": error(predicted, test), "CPU s": seconds})
    return min(rows, key=lambda row: row["RMSE"])


def factorization_machine(kind, rank, train, test, seed):
    """Return the table row of myfm's model of users and items."""
    import myfm

    cls = {"variational": myfm.VariationalFMRegressor, "Gibbs": myfm.MyFMRegressor}
    train = train.tocoo()
    options = {"n_iter": 100} if kind == "variational" else {"n_iter": 300}
    model = cls[kind](rank=rank, random_seed=seed)
    seconds, _ = timed(
        lambda: model.fit(
            indicators(train), train.data, group_shapes=list(train.shape), **options
        )
    )
    return {"RMSE": error(model.predict(indicators(test)), test), "CPU s": seconds}


def indicators(ratings):
    """Return one-hot indicators of the users and items of ratings, for myfm."""
    n, n_users = ratings.nnz, ratings.shape[0]
    rows = np.tile(np.arange(n), 2)
    columns = np.concatenate([ratings.row, n_users + ratings.col])
    shape = n, sum(ratings.shape)
    return sparse.csr_matrix((np.ones(2 * n), (rows, columns)), shape)


def contestants():
    """Return a dict from names to functions of rank, train, test and seed."""
    found = {name: functools.partial(ours, own) for name, own in OURS.items()}
    if "cmfrec" in PEERS:
        found["cmfrec, best penalty"] = alternating_least_squares
    if "myfm" in PEERS:
        for kind in ("variational", "Gibbs"):
            found[f"myfm {kind}"] = functools.partial(factorization_machine, kind)
    return found


# -- the stage -------------------------------------------------------------------------


def error_stage(options):
    """Held-out ratings of MovieLens-100k: means over random splits, a tenth held out.

    Predictions are clipped to the scale, 1 to 5, to compute the error.  "50 %" and
    "90 %" are the shares of held-out ratings in the central intervals of the predictive
    distribution, without clipping.  cmfrec has the penalties that are best on the
    held-out ratings.  "Factors" is the number of factors that explain more than .001 of
    the variance of the ratings.  Rank 20 was measured only for this package.
    """
    ratings = movielens(options.data)
    if ratings is None:
        return
    for rank, seed in itertools.product((10, 5, 20), range(options.seeds or 5)):
        for name, function in contestants().items():
            if rank == 20 and name not in OURS:
                continue
            key = {"d": rank, "contestant": name, "split": seed}
            yield key, functools.partial(on_split, function, ratings, rank, seed)


def on_split(function, ratings, rank, seed):
    return function(rank, *split(ratings, 100 + seed), seed)


def table_of_error(frame):
    numbers = ["RMSE", "50 %", "90 %", "bound", "factors", "CPU s"]
    groups = frame.groupby(["d", "contestant"], sort=False)
    means = groups[numbers].mean()
    means.insert(0, "splits", groups.size())
    means.insert(2, "± SE", groups["RMSE"].std() / groups.size() ** 0.5)
    means = means.sort_values("RMSE").sort_index(level="d", sort_remaining=False)
    return table(means.reset_index())


STAGES = {"error": (error_stage, "Held-out ratings", table_of_error)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_arguments(parser, STAGES)
    versions = [f"{name} {importlib.metadata.version(name)}" for name in PEERS]
    head = head_of("Matrix factorization", "bench_matrix_factorization", *versions)
    run(parser, STAGES, "bench_matrix_factorization", head)


if __name__ == "__main__":
    main()

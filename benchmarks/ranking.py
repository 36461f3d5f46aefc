"""Rankings of held-out films of MovieLens by several models.

    OPENBLAS_NUM_THREADS=1 python -P benchmarks/ranking.py --data ml-100k.zip \
        >benchmarks/results/ranking.md

A tenth of all ratings is held out at random, three times.  Each model ranks the films
that a user has not rated in the other nine tenths.  A held-out film of the user counts
as relevant; a second set of metrics counts only films that the user liked.  ``--data``
is a download of MovieLens, or a file written by scipy's ``save_npz``.
"""

import argparse
import os
import sys
import time
import warnings
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from recommender import ease, item_knn, popularity

from sktemper import ImplicitFactorization, TemperedMatrixFactorization
from sktemper.datasets import load_movielens
from sktemper.metrics import ranking_report
from sktemper.model_selection import train_test_split_entries

MEASURES = ("precision@10", "recall@20", "ndcg@100")
LIKED = 4


def by_five(stars):
    """Return the gains of ratings for the ranking metric: stars divided by 5."""
    return stars / 5


def als(X, **options):
    """Return the scores of the package implicit, or None if it is not installed."""
    try:
        from implicit.als import AlternatingLeastSquares
    except ImportError:
        return None
    model = AlternatingLeastSquares(num_threads=1, random_state=0, **options)
    model.fit(sparse.csr_matrix(X, dtype=np.float32), show_progress=False)
    scores = model.user_factors @ model.item_factors.T
    return lambda rows: scores


def candidates(ratings):
    """Yield names of models, and functions from training rows of users to scores."""
    clicks = sparse.csr_array(ratings, copy=True)
    clicks.data[:] = 1
    wide = clicks.astype(np.float64)
    yield "popularity", lambda: popularity(wide)
    stars = TemperedMatrixFactorization(10, random_state=0)
    yield (
        'ratings, `rank_by="rating"`',
        lambda: fitted(stars, ratings, rank_by="rating"),
    )
    for threshold in (3, None, LIKED):
        name = "mean" if threshold is None else threshold
        yield (
            f'ratings, `"likely"`, threshold {name}',
            (lambda t=threshold: fitted(stars, ratings, threshold=t)),
        )
    yield "ItemKNN, 200 neighbours", lambda: item_knn(wide)
    yield "EASE, penalty 300", lambda: ease(wide)
    yield "`implicit` ALS, 64, its defaults", lambda: als(clicks, factors=64)
    yield (
        "`ImplicitFactorization(32)`",
        lambda: fitted(ImplicitFactorization(32, random_state=0), clicks),
    )
    to_five = ImplicitFactorization(
        32, pair_weight=1.0, pair_target=by_five, random_state=0
    )
    yield "the same, targets of stars / 5", lambda: fitted(to_five, ratings)


def fitted(model, X, **options):
    """Fit a model, and return a function to its scores of all training users."""
    scores = model.fit(X).item_scores(X, **options)
    return lambda rows: scores


def main():
    """Print a page with the table of results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    if arguments.data.endswith(".npz"):
        X = sparse.load_npz(arguments.data).tocsr()
    else:
        X = load_movielens(arguments.data).data
    X = sparse.csr_array(X.astype(np.float32))
    found, seconds = {}, {}
    for seed in range(arguments.seeds):
        ratings, held_out = train_test_split_entries(X, per="all", random_state=seed)
        for name, make in candidates(ratings):
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                scores = make()
            if scores is None:
                continue
            scores = scores(ratings != 0)
            seconds.setdefault(name, []).append(time.process_time() - start)
            reports = [
                ranking_report(
                    scores, held_out, X_seen=ratings, measures=MEASURES, relevant=level
                )
                for level in (None, LIKED)
            ]
            figures = [report[m] for report in reports for m in MEASURES]
            found.setdefault(name, []).append(figures)
    print("# What finds what people choose, and what they like\n")
    print(
        "```\nOPENBLAS_NUM_THREADS=1 python -P benchmarks/ranking.py --data ...\n```\n"
    )
    print(
        f"{X.nnz:,} ratings of {X.shape[1]:,} films by {X.shape[0]:,} users, a tenth "
        f"held out, means of {arguments.seeds} splits; recall is over min(20, "
        f"relevant). On the right only ratings of at least {LIKED} are relevant. CPU "
        "seconds to fit and to score everything.\n"
    )
    print(
        "| | p@10 | r@20 | ndcg@100 | liked: p@10 | r@20 | ndcg@100 | s |\n"
        "|---|---:|---:|---:|---:|---:|---:|---:|"
    )
    for name, rows in found.items():
        means = " | ".join(
            f"{value:.3f}".lstrip("0") for value in np.mean(rows, axis=0)
        )
        print(f"| {name} | {means} | {np.mean(seconds[name]):.1f} |")
    spread = np.mean([np.std(rows, axis=0, ddof=1) for rows in found.values()], axis=0)
    print(
        f"\nStandard deviation between splits: {spread[0]:.3f} of p@10, "
        f"{spread[2]:.3f} of ndcg@100."
    )


if __name__ == "__main__":
    main()

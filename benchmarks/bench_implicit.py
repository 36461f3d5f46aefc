"""How well are clicks ranked, and how fast is a sweep, beside what is in use?

    python benchmarks/bench_implicit.py                 # all, then the report
    python benchmarks/bench_implicit.py --stages ranking --seeds 1
    python benchmarks/bench_implicit.py --quick         # does it run?
    python benchmarks/bench_implicit.py --stages        # only the report

A stage appends the row of each finished fit to its own table in
``benchmarks/results/implicit``; after an interruption it goes on behind them.  The
report is ``benchmarks/results/implicit.md``.

tuning   settings of alternating least squares, chosen on a split of their own
ranking  held-out pairs of MovieLens-100k
users    users of MovieLens-100k who were not in the training data
time     ndcg@100 against CPU time
sweep    a sweep of a million and of ten million generated pairs

The package ``implicit`` is left out where it is not installed, and MovieLens where
``movielens_100k.npz`` is not in the folder of ``--data``.  Everything runs in one
thread; seconds are of CPU time.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import argparse
import functools
import importlib.metadata
import importlib.util
import itertools

import numpy as np
from bench_lda import processor, table
from scipy import sparse
from stages import add_arguments, run, timed

import sktemper
from sktemper import ImplicitFactorization
from sktemper._simd import special
from sktemper.metrics import ranking_report

HAS_IMPLICIT = importlib.util.find_spec("implicit") is not None
#: Of alternating least squares: what its package has, and what `tuning` found best.
ITS_DEFAULTS = {"factors": 64, "regularization": 0.01, "alpha": 1.0}
TUNED = {"factors": 64, "regularization": 20.0, "alpha": 2.0}
#: Penalties and alpha that are best at 64 factors.
BEST_OF_64 = [(20.0, 2.0), (30.0, 4.0), (50.0, 6.0)]
#: The seed of the split on which settings are chosen.
OWN_SPLIT = 100


# -- data ------------------------------------------------------------------------------


@functools.cache
def movielens(folder):
    """Return the ratings of MovieLens-100k, or None."""
    path = folder / "movielens_100k.npz"
    return sparse.csr_array(sparse.load_npz(path)) if path.exists() else None


def split(ratings, seed, share=0.1):
    """Return most of the ratings, and a random tenth or other share of them."""
    entries = ratings.tocoo()
    order = np.random.default_rng(seed).permutation(entries.nnz)
    n_test = round(share * entries.nnz)

    def part(chosen):
        place = tuple(axis[chosen] for axis in entries.coords)
        values = entries.data[chosen].astype(np.float32)
        return sparse.csr_array((values, place), shape=entries.shape)

    return part(order[n_test:]), part(order[:n_test])


def clicks(ratings):
    """Return a pair of weight 1 for each rating."""
    return sparse.csr_array(
        (np.ones(ratings.nnz, np.float32), ratings.indices, ratings.indptr),
        shape=ratings.shape,
    )


@functools.lru_cache(maxsize=1)
def generated(n_users, n_items, n_pairs):
    """Return clicks of unequally active users on unequally popular items."""
    random = np.random.default_rng(0)
    activity = random.lognormal(0, 1, n_users)
    popularity = random.permutation(1 / np.arange(1, n_items + 1) ** 0.8)
    pairs = np.empty(0, np.int64)
    while len(pairs) < n_pairs:
        n_more = round(1.2 * (n_pairs - len(pairs))) + 1000
        users = random.choice(n_users, n_more, p=activity / activity.sum())
        items = random.choice(n_items, n_more, p=popularity / popularity.sum())
        pairs = np.union1d(pairs, users * n_items + items)
    pairs = np.sort(random.choice(pairs, n_pairs, replace=False))
    ones, shape = np.ones(n_pairs, np.float32), (n_users, n_items)
    # CSR, since implicit takes matrices alone
    return sparse.csr_matrix((ones, np.divmod(pairs, n_items)), shape=shape)


# -- contestants: functions of pairs and a seed, which return what scores users --------


def popularity(train, seed):
    """All users want what is chosen most."""
    counts = train.sum(axis=0)
    return lambda shown: np.tile(counts, (shown.shape[0], 1))


def neighbours(train, seed, n_neighbours=200):
    """Items are recommended by their cosines with those chosen, the largest of each."""
    X = train.toarray()
    norms = np.sqrt((X**2).sum(axis=0))
    cosines = (X.T @ X) / np.maximum(np.outer(norms, norms), 1e-9)
    np.fill_diagonal(cosines, 0)
    least = np.sort(cosines, axis=0)[-n_neighbours]
    cosines[cosines < least] = 0
    return lambda shown: shown @ cosines


def ease(train, seed, penalty=300.0):
    """Steck, "Embarrassingly shallow autoencoders for sparse data", WWW 2019."""
    gram = (train.T @ train).toarray().astype(np.float64)
    inverse = np.linalg.inv(gram + penalty * np.eye(len(gram)))
    weights = -inverse / np.diag(inverse)
    np.fill_diagonal(weights, 0)
    return lambda shown: shown @ weights


def squares(train, seed, iterations=15, cg=False, **settings):
    """Alternating least squares of the package implicit."""
    from implicit.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(
        **settings,
        iterations=iterations,
        use_cg=cg,
        num_threads=1,
        random_state=seed,
    )
    model.fit(sparse.csr_matrix(train), show_progress=False)

    def scores(shown):
        users = np.arange(shown.shape[0])
        shown = sparse.csr_matrix(shown)
        return model.recalculate_user(users, shown) @ model.item_factors.T

    return scores


def fifths(ratings):
    """Return targets of ratings from 1 to 5."""
    return ratings / 5


def thirds(ratings):
    """Return weights of ratings, of about 1 in the mean."""
    return ratings / 3.5


def ours(train, seed, n_components=32, max_iter=12, **parameters):
    """Return scores of `ImplicitFactorization`."""
    model = ImplicitFactorization(
        n_components, max_iter=max_iter, random_state=seed, **parameters
    ).fit(train)
    return model.predict


def contestants():
    """Return functions by name, and whether they take ratings in place of clicks."""
    found = {
        "popularity": (popularity, False),
        "ItemKNN 200": (neighbours, False),
        "EASE 300": (ease, False),
    }
    if HAS_IMPLICIT:
        defaults = functools.partial(squares, cg=True, **ITS_DEFAULTS)
        found["implicit, its defaults"] = defaults, False
        found["implicit, tuned"] = functools.partial(squares, **TUNED), False
    for rank in (32, 64, 128):
        found[f"ours {rank}"] = functools.partial(ours, n_components=rank), False
    batches = functools.partial(ours, batch_size="auto", max_iter=5)
    found["ours 32, minibatches"] = batches, False
    targets = functools.partial(ours, pair_weight=1.0, pair_target=fifths)
    found["ours 32, targets rating/5"] = targets, True
    weights = functools.partial(ours, pair_weight=thirds)
    found["ours 32, weights rating/3.5"] = weights, True
    return found


def measured(scores, test, seen, seconds, relevant=None):
    """Return a row of the measures."""
    report = ranking_report(scores, test, X_seen=seen, relevant=relevant)
    names = {"precision@10": "p@10", "recall@20": "r@20", "ndcg@100": "ndcg@100"}
    return {names[name]: report[name] for name in names} | {"s": seconds}


# -- stages ----------------------------------------------------------------------------


def tuning_stage(options):
    """Alternating least squares on a split of MovieLens-100k that nothing else uses.

    The five best of a grid of penalties and of alpha, the weight of a click in those
    of other pairs, at 64 factors, and of the best three of these at 128; 15 sweeps by
    Cholesky.
    """
    ratings = movielens(options.data)
    if ratings is None or not HAS_IMPLICIT:
        return
    grid = itertools.product((10.0, 20.0, 30.0, 50.0), (2.0, 4.0, 6.0))
    for factors, settings in (64, grid), (128, BEST_OF_64):
        for penalty, alpha in settings:
            key = {"factors": factors, "regularization": penalty, "alpha": alpha}
            yield key, functools.partial(tuned, ratings, key)


def tuned(ratings, settings):
    train, test = split(ratings, OWN_SPLIT)
    train = clicks(train)
    seconds, scores = timed(lambda: squares(train, 0, **settings))
    return measured(scores(train), test, train, seconds)


def table_of_tuning(frame):
    return table(frame.sort_values("ndcg@100", ascending=False).head())


def ranking_stage(options):
    """Held-out pairs of MovieLens-100k: means over random splits, a tenth held out.

    On the left all pairs are relevant, on the right those rated 4 or 5.  What was in
    the training data is no candidate.  EASE has the penalty, and ItemKNN the number of
    neighbours, that are best on another split; ours has nothing tuned: 12 sweeps, or 5
    passes over minibatches of a tenth.
    """
    ratings = movielens(options.data)
    if ratings is None:
        return
    for seed in range(options.seeds or 3):
        for name, (fit, takes_ratings) in contestants().items():
            key = {"contestant": name, "seed": seed}
            yield key, functools.partial(ranked, ratings, seed, fit, takes_ratings)


def ranked(ratings, seed, fit, takes_ratings):
    train, test = split(ratings, seed)
    train = train if takes_ratings else clicks(train)
    seconds, scores = timed(lambda: fit(train, seed))
    scores = scores(train)
    row = measured(scores, test, train, seconds)
    best = measured(scores, test, train, seconds, relevant=4)
    return row | {f"{name}, from 4": best[name] for name in ("p@10", "ndcg@100")}


def table_of_ranking(frame):
    means = frame.groupby("contestant", sort=False).mean(numeric_only=True)
    means["p@10 ± SE"] = frame.groupby("contestant", sort=False)["p@10"].sem()
    return table(means.drop(columns="seed").reset_index())


def users_stage(options):
    """A tenth of the users of MovieLens-100k, who were not in the training data.

    A fifth of their pairs is held out; of the others all are shown, or one, or none.
    ndcg@100 of means over three sets of users; who cannot rank without a click is
    left out there.
    """
    ratings = movielens(options.data)
    if ratings is None:
        return
    for seed in range(options.seeds or 3):
        for name, (fit, takes_ratings) in contestants().items():
            if not takes_ratings:
                key = {"contestant": name, "seed": seed}
                yield key, functools.partial(of_new_users, ratings, seed, fit)


def of_new_users(ratings, seed, fit):
    random = np.random.default_rng(seed)
    order, n_new = random.permutation(ratings.shape[0]), ratings.shape[0] // 10
    scores = fit(clicks(ratings[order[n_new:]]), seed)
    shown, hidden = split(ratings[order[:n_new]], seed, share=0.2)
    shown = clicks(shown)
    one = sparse.lil_array(shown.shape, dtype=np.float32)
    for row in np.flatnonzero(np.diff(shown.indptr)):
        one[row, random.choice(shown[[row]].indices)] = 1
    one, none = one.tocsr(), sparse.csr_array(shown.shape, dtype=np.float32)
    found = {}
    for name, some in {"all": shown, "one": one, "none": none}.items():
        report = ranking_report(scores(some), hidden, X_seen=some)
        found[f"{name} shown"] = report["ndcg@100"]
    return found


def table_of_users(frame):
    means = frame.groupby("contestant", sort=False).mean(numeric_only=True)
    return table(means.drop(columns="seed").reset_index())


def time_stage(options):
    """ndcg@100 on MovieLens-100k after fits of a few sweeps, and their CPU time.

    Means over random splits.  Alternating least squares has its tuned settings; how
    long it took to find them is not counted.
    """
    ratings = movielens(options.data)
    if ratings is None:
        return
    for seed in range(options.seeds or 3):
        for n_sweeps in (2, 4, 6, 12):
            fits = {"ours 32": functools.partial(ours, max_iter=n_sweeps)}
            if HAS_IMPLICIT:
                for cg in (False, True):
                    name = "implicit, tuned, " + ("CG" if cg else "Cholesky")
                    fits[name] = functools.partial(
                        squares, iterations=n_sweeps, cg=cg, **TUNED
                    )
            for name, fit in fits.items():
                key = {"contestant": name, "sweeps": n_sweeps, "seed": seed}
                yield key, functools.partial(ranked, ratings, seed, fit, False)


def table_of_time(frame):
    groups = frame.groupby(["contestant", "sweeps"])[["s", "ndcg@100"]]
    wide = groups.mean().unstack("contestant")
    columns = [(measure, name) for name in wide["s"] for measure in ("ndcg@100", "s")]
    wide = wide[columns]
    wide.columns = [f"{name}, {measure}" for measure, name in columns]
    return table(wide.reset_index())


SIZES = {"1 M": (6_000, 3_700, 1_000_000), "10 M": (70_000, 10_000, 10_000_000)}


def sweep_stage(options):
    """A sweep of both sides of generated clicks, in float32.

    Of a fit with 3 sweeps that with 1 is taken away, and the rest divided by 2;
    contestants take turns, and the mean of the turns counts.  "ratio" is to
    alternating least squares by Cholesky, which has no covariances; CG stops after
    three steps.  "MB of items" is what ours needs for the items in a fitted model.
    """
    for size, shape in SIZES.items():
        shape = tuple(map(options.tenth, shape))
        for rank in (32, 64):
            for repetition in range(options.seeds or (2 if size == "1 M" else 1)):
                for name in ("Cholesky", "CG", "ours"):
                    if name == "ours" or HAS_IMPLICIT:
                        key = {"pairs": size, "rank": rank, "contestant": name}
                        key["repetition"] = repetition
                        yield key, functools.partial(sweep, shape, rank, name)


def sweep(shape, rank, name):
    X, megabytes = generated(*shape), np.nan

    def fit(n_sweeps):
        if name == "ours":
            return ImplicitFactorization(rank, max_iter=n_sweeps, random_state=0).fit(X)
        settings = ITS_DEFAULTS | {"factors": rank}
        return squares(X, 0, n_sweeps, name == "CG", **settings)

    one, (three, model) = timed(lambda: fit(1))[0], timed(lambda: fit(3))
    if name == "ours":
        megabytes = model.state_.globals_.own.nbytes / 1e6
    return {"s": (three - one) / 2, "MB of items": megabytes}


def table_of_sweep(frame):
    keys = ["pairs", "rank", "contestant"]
    means = frame.groupby(keys, sort=False)[["s", "MB of items"]].mean()
    means = means.reset_index()
    base = means[means.contestant == "Cholesky"].set_index(["pairs", "rank"]).s
    index = list(zip(means.pairs, means["rank"], strict=True))
    means.insert(4, "ratio", means.s / base.reindex(index).to_numpy())
    return table(means)


#: What is done, its heading, and its table; what is said of it is its docstring.
STAGES = {
    "tuning": (tuning_stage, "Settings of alternating least squares", table_of_tuning),
    "ranking": (ranking_stage, "Held-out pairs", table_of_ranking),
    "users": (users_stage, "New users", table_of_users),
    "time": (time_stage, "Time to a ranking", table_of_time),
    "sweep": (sweep_stage, "A sweep", table_of_sweep),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_arguments(parser, STAGES)
    peers = ["implicit"] if HAS_IMPLICIT else []
    versions = [f"{name} {importlib.metadata.version(name)}" for name in peers]
    head = [
        "# Implicit feedback",
        "",
        f"One thread of {processor()}, kernels for {special.instruction_set}; "
        + ", ".join([f"sktemper {sktemper.__version__}", *versions])
        + ". `benchmarks/bench_implicit.py` made this, and says what is measured; "
        "every number stands in `implicit/`.",
    ]
    run(parser, STAGES, "implicit", head)


if __name__ == "__main__":
    main()

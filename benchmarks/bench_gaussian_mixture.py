"""Does the Gaussian mixture find the clusters?  At what cost, and how fast is it?

    python benchmarks/bench_gaussian_mixture.py                  # all, then the report
    python benchmarks/bench_gaussian_mixture.py --stages fifty --seeds 5
    python benchmarks/bench_gaussian_mixture.py --quick          # does it run?
    python benchmarks/bench_gaussian_mixture.py --stages         # only the report

A stage appends the row of each finished fit to its own table in
``benchmarks/results/bench_gaussian_mixture``; after an interruption it goes on behind
them.  The report is ``benchmarks/results/bench_gaussian_mixture.md``.

speed      a batch iteration, against scikit-learn's `BayesianGaussianMixture`
minibatch  time to the held-out score at which scikit-learn ends
fifty      50 overlapping clusters: who reaches the optimum of the truth
dp         4 clusters, 50 components: how many are found
grid       the same by noisy steps: batches of many sizes, and noise of many sizes
pima       lower bounds of real data
cost       CPU time of default fits over that of scikit-learn's
large      lower bounds of three sets of 100,000 samples
defaults   annealing and moves against plain inference from the same start

Lower bounds are all by the same function, with every constant: scikit-learn's fits are
given the responsibilities that are best at their parameters.  Everything runs in one
thread; seconds are of CPU time, and count k-means but not scoring.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import argparse
import functools
import itertools

import numpy as np
import pandas as pd
import sklearn
from bench_lda import processor, table
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture
from sklearn.preprocessing import scale
from stages import add_arguments, run, timed

import sktemper
from sktemper import (
    AnnealedGaussianMixture,
    SVIPlusGaussianMixture,
    TemperedGaussianMixture,
)
from sktemper._data import data_of
from sktemper._loop import Problem, Workers
from sktemper._simd import special
from sktemper.model import Mixture
from sktemper.schedules import ExponentialSchedule

PRIORS = ("dirichlet_process", "dirichlet_distribution")
BASE = "scikit-learn"
#: Bound (nats) and adjusted Rand index of a fit at the optimum of the truth.
NATS, INDEX = 1.0, 0.99


# -- data ------------------------------------------------------------------------------


@functools.lru_cache(maxsize=2)
def overlapping(seed, n_samples=10_000, n_features=16, n_clusters=50):
    """Return samples of overlapping clusters of unequal sizes and shapes, and labels.

    Clusters are in the order of their sizes, the best one for stick-breaking.
    """
    random = np.random.default_rng(seed)
    weights = np.sort(random.dirichlet(np.full(n_clusters, 3.0)))[::-1]
    labels = random.choice(n_clusters, size=n_samples, p=weights)
    means = 1.6 * random.normal(size=(n_clusters, n_features))
    roots = random.normal(size=(n_clusters, n_features, n_features)) / n_features**0.5
    roots *= random.uniform(0.4, 1.4, size=(n_clusters, 1, 1))
    roots += 0.3 * np.eye(n_features)
    X = random.normal(size=(n_samples, n_features))
    for k in range(n_clusters):
        own = labels == k
        X[own] = X[own] @ roots[k].T + means[k]
    return X, labels


def four(seed, n_samples=250):
    """Return samples of four clusters in the plane, and their labels."""
    random = np.random.default_rng(seed)
    means = np.array([[0, 0], [4, 4], [-4, 4], [4, -4]])
    labels = random.choice(4, size=n_samples, p=[0.4, 0.3, 0.2, 0.1])
    noise = random.normal(size=(n_samples, 2)) @ [[1, 0.3], [0, 0.8]]
    return means[labels] + noise, labels


def pima_women(folder):
    with np.load(folder / "pima.npz") as archive:
        return scale(archive["X"].astype(float))


@functools.lru_cache(maxsize=3)
def large_set(name, folder, n_samples=None):
    """Return standardised samples of 16 columns in random order, or None."""
    if name == "generated":
        return scale(overlapping(0, n_samples or 100_000)[0])
    make = {"reviews": reviews, "patches": patches}[name]
    X = make(folder)
    return None if X is None else scale(X)[: n_samples or len(X)]


def reviews(folder, n_columns=16):
    """Return latent semantic coordinates of film reviews."""
    if not (folder / "imdb.npz").exists():
        return None
    words = TfidfTransformer(sublinear_tf=True).fit_transform(
        sparse.load_npz(folder / "imdb.npz")
    )
    return TruncatedSVD(n_columns, random_state=0).fit_transform(words)


def patches(folder, n_samples=100_000, size=8, n_columns=16):
    """Return principal components of pieces of faces, 8 by 8 pixels."""
    path = folder / "yale_faces_192x168.npz"
    if not path.exists():
        return None
    with np.load(path) as archive:
        images = archive["images"][:, ::2, ::2]
    random = np.random.default_rng(0)
    n_images, height, width = images.shape
    corners = random.integers(height - size, size=n_samples)
    lefts = random.integers(width - size, size=n_samples)
    numbers = random.integers(n_images, size=n_samples)
    pieces = np.array(
        [
            images[i, y : y + size, x : x + size].ravel()
            for i, y, x in zip(numbers, corners, lefts, strict=True)
        ],
        dtype=float,
    )
    pieces = np.log1p(pieces)  # light multiplies
    return PCA(n_columns, random_state=0).fit_transform(pieces)


def small_sets():
    """Return data of scikit-learn by name: samples, and numbers of components."""
    digits = scale(PCA(10, random_state=0).fit_transform(load_digits().data))
    return {
        "iris": (load_iris().data, (5, 10)),
        "wine": (scale(load_wine().data), (5, 10)),
        "breast cancer": (scale(load_breast_cancer().data[:, :10]), (5, 10)),
        "digits": (digits, (10, 20)),
    }


# -- the contestants -------------------------------------------------------------------


def annealed(start=None, **parameters):
    schedule = None if start is None else ExponentialSchedule(start)
    return functools.partial(DEFAULT, schedule=schedule, **parameters)


#: With the priors of scikit-learn, under which bounds can be compared.
DEFAULT = functools.partial(AnnealedGaussianMixture, priors="scikit-learn")
PLAIN = functools.partial(
    TemperedGaussianMixture, tempering=None, priors="scikit-learn"
)
CONTESTANTS = {
    BASE: BayesianGaussianMixture,
    "plain": PLAIN,
    "annealed, no moves": annealed(moves=None),
    "split and merge": functools.partial(PLAIN, moves="split_merge"),
    "default": DEFAULT,
}


def started(cls, responsibilities):
    """Return an estimator's class that starts at these responsibilities."""
    if issubclass(cls, BayesianGaussianMixture):
        start = {
            "_initialize_parameters": lambda self, X, random_state, xp=None: (
                self._initialize(X, responsibilities)
            )
        }
    else:

        def make_model(self, *args):
            model = super(own, self)._make_model(*args)
            model.init = lambda X, n_components, random, weight: responsibilities
            return model

        start = {"_make_model": make_model}
    own = type(cls.__name__, (cls,), start)
    return own


def one_hot(labels, n_components):
    return np.eye(n_components)[labels]


def state_of(mixture, X):
    """Return our model, and its parameters and priors, of either's fit to ``X``."""
    if not isinstance(mixture, BayesianGaussianMixture):
        state = mixture.state_
        model, _ = mixture._fitted()
        return model, state.globals_, state.hyper
    own = PLAIN()
    shared = mixture.get_params().keys() & own.get_params().keys()
    own.set_params(**{name: getattr(mixture, name) for name in shared})
    model = own._make_model(X.shape[1], np.float64)
    hyper = model.initial_hyper(X)
    kappa, freedom = mixture.mean_precision_, mixture.degrees_of_freedom_
    usual = model.family.natural(
        kappa,
        mixture.means_ - hyper.origin,
        mixture.covariances_ * model.covariance.widened(freedom),
        freedom,
    )
    concentration = np.array(mixture.weight_concentration_).T
    globals_ = Mixture(concentration - 1, usual)
    return model, globals_, hyper


def lower_bound(mixture, X):
    """Return the evidence lower bound, of scikit-learn's fits, too."""
    model, globals_, hyper = state_of(mixture, X)
    with Workers(1, model.stop) as workers:
        data = data_of(X, lambda X: X)
        return Problem(model, data, workers).bound(globals_, hyper)


def score(mixture, X, test):
    """Return the mean log predictive density, exact, of scikit-learn's fits, too."""
    if not isinstance(mixture, BayesianGaussianMixture):
        return mixture.score_samples(test).mean()
    own = PLAIN(
        n_components=mixture.n_components, max_iter=1, init_params="random_from_data"
    )
    own.fit(X[: 50 * mixture.n_components])
    _, own.state_.globals_, own.state_.hyper = state_of(mixture, X)
    return own.score_samples(test).mean()


def fit(contestant, X, labels=None, **parameters):
    """Return the row of a fit."""
    seconds, mixture = timed(lambda: contestant(**parameters).fit(X))
    found = mixture.predict(X)
    moves = getattr(mixture, "history_", {}).get("move_kept", np.zeros(0, bool))
    row = {
        "bound": lower_bound(mixture, X),
        "CPU s": seconds,
        "iterations": mixture.n_iter_,
        "clusters": len(np.unique(found)),
        "moves": len(moves),
        "moves kept": int(moves.sum()),
    }
    if labels is not None:
        row["ARI"] = adjusted_rand_score(labels, found)
    return row


# -- the stages ------------------------------------------------------------------------
#
# Each yields keys, and a function that returns the rest of the row.


def speed(options):
    """CPU milliseconds of an iteration of all samples, from the same responsibilities.

    100,000 samples, D=16, K=50: the difference of fits with 4 iterations and with one,
    divided by 3.  The ratio is scikit-learn's time, in float64 whatever it is given, to
    ours.  Medians of the repetitions; contestants take turns.
    """
    n = options.tenth(100_000)
    for repetition, kind in itertools.product(
        range(options.seeds or 3), ("full", "tied", "diag", "spherical")
    ):
        for name, dtype in (
            (BASE, "float64"),
            ("ours", "float64"),
            ("ours", "float32"),
        ):
            key = {"covariance": kind, "repetition": repetition}
            key |= {"contestant": name, "dtype": dtype}
            yield key, functools.partial(iteration, n, kind, name, dtype)


def iteration(n, kind, name, dtype, n_components=50):
    X, labels = overlapping(0, n)
    X = X.astype(dtype)
    # noise, lest components be at their optimum
    labels = np.where(np.arange(n) % 5, labels, (labels + 1) % n_components)
    cls = BayesianGaussianMixture if name == BASE else TemperedGaussianMixture
    cls = started(cls, one_hot(labels, n_components))
    own = {} if name == BASE else {"tempering": None}

    def seconds(max_iter):
        mixture = cls(
            n_components=n_components,
            covariance_type=kind,
            max_iter=max_iter,
            tol=0.0,
            **own,
        )
        return timed(lambda: mixture.fit(X))[0]

    return {"ms": 1000 * (seconds(4) - seconds(1)) / 3}


def table_of_speed(frame):
    index = ["covariance"]
    wide = frame.pivot_table(
        "ms", index, ["contestant", "dtype"], aggfunc="median", sort=False
    )
    columns = {f"{BASE}, ms": wide[BASE, "float64"]}
    for dtype in ("float64", "float32"):
        columns[f"{dtype}, ms"] = wide["ours", dtype]
        columns[f"{dtype}, ratio"] = wide[BASE, "float64"] / wide["ours", dtype]
    return table(pd.DataFrame(columns).reset_index())


def minibatch(options):
    """CPU seconds of minibatch fits, and of scikit-learn's fit to all samples.

    50 overlapping clusters, 16 dimensions; score: mean log predictive density of 20,000
    other samples.  Ours take batches of 10,000; scikit-learn at most 100 iterations,
    and of more than 200,000 samples 20, for it takes so long.
    """
    n = options.tenth(options.samples)
    base = functools.partial(
        BayesianGaussianMixture, max_iter=20 if n > 200_000 else 100
    )
    plain = functools.partial(PLAIN, batch_size="auto")
    several = functools.partial(AnnealedGaussianMixture, batch_size="auto")
    contestants = {
        "1 pass": functools.partial(plain, max_iter=1),
        "3 passes": functools.partial(plain, max_iter=3),
        "10 passes": functools.partial(plain, max_iter=10),
        BASE: base,
        "split and merge, 1 pass": functools.partial(
            plain, max_iter=1, moves="split_merge"
        ),
        "default, 1 pass": functools.partial(several, max_iter=1),
        "default, 3 passes": functools.partial(several, max_iter=3),
    }
    for name, contestant in contestants.items():
        for dtype in ("float64", "float32")[: 1 if name == BASE else 2]:
            key = {"samples": n, "contestant": name, "dtype": dtype}
            yield key, functools.partial(in_minibatches, n, contestant, dtype)


def in_minibatches(n, contestant, dtype):
    X, labels = overlapping(0, n + 20_000)
    train, test = X[:n].astype(dtype), X[n:]
    seconds, mixture = timed(
        lambda: contestant(n_components=50, random_state=0).fit(train)
    )
    return {
        "CPU s": seconds,
        "iterations": mixture.n_iter_,
        "score": score(mixture, train, test.astype(dtype)),
        "ARI": adjusted_rand_score(labels[n:], mixture.predict(test.astype(dtype))),
    }


def table_of_minibatch(frame):
    base = frame[frame.contestant == BASE].set_index("samples")
    frame = frame.assign(
        ratio=frame.samples.map(base["CPU s"]) / frame["CPU s"],
    )
    frame["score, less scikit-learn's"] = frame.score - frame.samples.map(base.score)
    return table(frame)


def fifty(options):
    """50 overlapping clusters of unequal sizes and shapes, 10,000 samples in 16
    dimensions, new ones for each seed; parameters as they come.

    A fit has reached the truth if its lower bound is at most 1 nat below that of a
    plain fit started at the true responsibilities, and its adjusted Rand index above
    .99.  Bounds are relative to that of the truth.
    """
    for seed, prior in itertools.product(range(options.seeds or 20), options.priors):
        for name in ("truth", *CONTESTANTS):
            key = {"prior": prior, "seed": seed, "contestant": name}
            yield key, functools.partial(find_fifty, name, prior, seed, options.quick)


def find_fifty(name, prior, seed, quick):
    X, labels = overlapping(seed, 1000 if quick else 10_000)
    contestant = CONTESTANTS.get(name)
    if name == "truth":
        cls = started(TemperedGaussianMixture, one_hot(labels, 50))
        contestant = functools.partial(cls, tempering=None)
    return fit(
        contestant,
        X,
        labels,
        n_components=50,
        weight_concentration_prior_type=prior,
        random_state=seed,
    )


def table_of_fifty(frame):
    keys = ["prior", "seed"]
    truth = frame[frame.contestant == "truth"].set_index(keys)
    base = frame[frame.contestant == BASE].set_index(keys)
    frame = frame.set_index(keys)
    frame["bound"] -= truth.bound.reindex(frame.index)
    frame["reached"] = (frame.bound > -NATS) & (frame.ARI > INDEX)
    frame["time"] = frame["CPU s"] / base["CPU s"].reindex(frame.index)
    rows = []
    for (prior, name), group in frame.groupby(["prior", "contestant"], sort=False):
        row = {"prior": prior, "contestant": name}
        row["reached"] = f"{group.reached.sum()} of {len(group)}"
        row |= {
            "bound, median": group.bound.median(),
            "bound, worst": group.bound.min(),
            "ARI, median": group.ARI.median(),
            "ARI, worst": group.ARI.min(),
            "moves": group.moves.median(),
            "moves kept": group["moves kept"].median(),
            "CPU s": group["CPU s"].median(),
            "over scikit-learn's": group.time.median(),
        }
        rows.append(row)
    return table(pd.DataFrame(rows))


def dp(options):
    """250 samples of 4 clusters in the plane, new ones for each seed; K=50.

    How often each number of clusters with a sample was found; bounds less those of the
    default from k-means.
    """
    for seed, start, prior, name in itertools.product(
        range(options.seeds or 20), ("kmeans", "random"), PRIORS, CONTESTANTS
    ):
        if name == "split and merge":
            continue
        key = {"start": start, "prior": prior, "contestant": name, "seed": seed}
        X, labels = four(seed)
        yield (
            key,
            functools.partial(
                fit,
                CONTESTANTS[name],
                X,
                labels,
                n_components=50,
                init_params=start,
                weight_concentration_prior_type=prior,
                random_state=seed,
            ),
        )


def table_of_dp(frame):
    best = frame[(frame.contestant == "default") & (frame.start == "kmeans")]
    best = best.set_index(["prior", "seed"]).bound
    index = pd.MultiIndex.from_frame(frame[["prior", "seed"]])
    frame = frame.assign(loss=frame.bound - best.reindex(index).to_numpy())
    rows = []
    keys = ["start", "prior", "contestant"]
    for key, group in frame.groupby(keys, sort=False):
        counts = group.clusters.value_counts().sort_index()
        found = ", ".join(f"{k}: {n}" for k, n in counts.items())
        row = dict(zip(keys, key, strict=True))
        row["found 4"] = f"{(group.clusters == 4).sum()} of {len(group)}"
        row |= {"clusters: fits": found, "bound, median": group.loss.median()}
        row |= {"CPU s": group["CPU s"].median()}
        rows.append(row)
    return table(pd.DataFrame(rows))


def grid(options):
    """250 samples of 4 clusters in the plane, new ones for each seed; K=50.

    The number of clusters with a sample that stochastic inference finds in batches of
    S, and SVI+ with the noise of M, from k-means in 30 passes: the mean, and how often
    it is 4.  A Dirichlet distribution of the weights, means of ten times the
    variance, and the identity as covariance_prior.
    """
    settings = {
        "n_components": 50,
        "weight_concentration_prior_type": PRIORS[1],
        "mean_precision_prior": 0.1,
        "covariance_prior": np.eye(2),
    }
    for seed, size in itertools.product(
        range(options.seeds or 50), (None, 10, 20, 30, 40, 50)
    ):
        batches = {"batch_size": size, "max_iter": 30}
        contestants = {
            "SVI": functools.partial(PLAIN, **batches),
            **{
                f"SVI+, M/S={share:g}": functools.partial(
                    SVIPlusGaussianMixture, effective_batch_size=share, **batches
                )
                for share in (0.2, 0.4, 0.6)
            },
        }
        if size is None:
            contestants = {
                name: CONTESTANTS[name] for name in (BASE, "plain", "default")
            }
        X, labels = four(seed)
        for name, contestant in contestants.items():
            key = {"batch": size or 250, "contestant": name, "seed": seed}
            own = settings | {"random_state": seed}
            yield key, functools.partial(fit, contestant, X, labels, **own)


def table_of_grid(frame):
    rows = []
    for (size, name), group in frame.groupby(["batch", "contestant"], sort=False):
        found = group.clusters
        row = {"S": size, "contestant": name, "runs": len(group)}
        row |= {"clusters, mean": found.mean(), "found 4": f"{(found == 4).mean():.0%}"}
        row |= {"fewest": found.min(), "most": found.max()}
        rows.append(row | {"bound, mean": group.bound.mean()})
    return table(pd.DataFrame(rows))


def cost(options):
    """CPU seconds of a default fit, over those of scikit-learn's before it.

    The fifty clusters above, Pima and the four clusters, with either prior of the
    weights but for the fifty; the two take turns.  Found is, of fifty, the truth as
    above, and of four, their number.
    """
    cases = [("fifty", 50, PRIORS[0])]
    cases += [("pima", K, prior) for K in (5, 10) for prior in PRIORS]
    cases += [("four", 50, prior) for prior in PRIORS]
    for data, K, prior in cases:
        for seed in range(options.seeds or 20):
            key = {"data": data, "K": K, "prior": prior, "seed": seed}
            yield key, functools.partial(in_turns, options, **key)


def in_turns(options, data, K, prior, seed):
    labels, truth = None, np.nan
    if data == "pima":
        X = pima_women(options.data)
    elif data == "four":
        X, labels = four(seed)
    else:
        X, labels = overlapping(seed, options.tenth(10_000))
        truth = find_fifty("truth", prior, seed, options.quick)["bound"]
    own = {"n_components": K, "random_state": seed}
    own["weight_concentration_prior_type"] = prior
    theirs, ours = (
        fit(CONTESTANTS[name], X, labels, **own) for name in (BASE, "default")
    )
    found = ours["clusters"] == 4 if data == "four" else None
    if data == "fifty":
        found = ours["bound"] > truth - NATS and ours["ARI"] > INDEX
    return {
        "scikit-learn, s": theirs["CPU s"],
        "default, s": ours["CPU s"],
        "bound": ours["bound"],
        "truth": truth,
        "moves": ours["moves"],
        "moves kept": ours["moves kept"],
        "found": found,
    }


def table_of_cost(frame):
    frame = frame.assign(ratio=frame["default, s"] / frame["scikit-learn, s"])
    rows = []
    keys = ["data", "K", "prior"]
    for key, group in frame.groupby(keys, sort=False):
        row = dict(zip(keys, key, strict=True)) | {"pairs": len(group)}
        medians = group[["scikit-learn, s", "default, s", "ratio", "moves"]].median()
        row |= medians.to_dict()
        row["ratio, from"], row["to"] = group.ratio.min(), group.ratio.max()
        row["bound, median"] = f"{group.bound.median():,.1f}"
        known = group.found.dropna()
        row["found"] = f"{int(known.sum())} of {len(known)}" if len(known) else ""
        rows.append(row)
    return table(pd.DataFrame(rows))


def large(options):
    """Lower bounds of three sets of 100,000 samples, standardised: 16 columns, K=50.

    Latent semantic coordinates of film reviews, principal components of pieces of
    faces, 8 x 8 pixels, and overlapping clusters; scikit-learn's default priors.
    Bounds are relative to the mean of scikit-learn's.
    """
    for seed, data in itertools.product(
        range(options.seeds or 3), ("generated", "reviews", "patches")
    ):
        X = large_set(data, options.data, 10_000 if options.quick else None)
        if X is None:
            print(f"{data}: not there, skipped (see --data)", flush=True)
            continue
        for name in ("default", "plain", BASE):
            key = {"data": data, "samples": len(X), "contestant": name, "seed": seed}
            own = {"n_components": 50, "random_state": seed}
            yield key, functools.partial(fit, CONTESTANTS[name], X, **own)


def table_of_large(frame):
    base = frame[frame.contestant == BASE].groupby("data").bound.mean()
    frame = frame.assign(gain=frame.bound - frame.data.map(base))
    rows = []
    for (data, name), group in frame.groupby(["data", "contestant"], sort=False):
        row = {"data": data, "samples": group.samples.iloc[0], "contestant": name}
        row |= {"starts": len(group), "worst": group.gain.min()}
        row |= {"median": group.gain.median(), "best": group.gain.max()}
        row |= {
            "iterations": group.iterations.median(),
            "CPU s": group["CPU s"].median(),
        }
        rows.append(row | {"moves kept": group["moves kept"].median()})
    return table(pd.DataFrame(rows))


def pima(options):
    """Diabetes data of Pima women, standardised; scikit-learn's default priors."""
    X = pima_women(options.data)
    for seed, K, prior, name in itertools.product(
        range(options.seeds or 20), (5, 10), PRIORS, CONTESTANTS
    ):
        key = {"K": K, "prior": prior, "contestant": name, "seed": seed}
        yield (
            key,
            functools.partial(
                fit,
                CONTESTANTS[name],
                X,
                n_components=K,
                weight_concentration_prior_type=prior,
                random_state=seed,
            ),
        )


def table_of_pima(frame):
    rows = []
    keys = ["K", "prior", "contestant"]
    for key, group in frame.groupby(keys, sort=False):
        quantiles = group.bound.quantile([0, 0.5, 1])
        row = dict(zip(keys, key, strict=True)) | {"starts": len(group)}
        names = ("bound, worst", "median", "best")
        row |= {n: f"{b:,.1f}" for n, b in zip(names, quantiles, strict=True)}
        row |= {"moves": group.moves.median(), "CPU s": group["CPU s"].median()}
        rows.append(row)
    return table(pd.DataFrame(rows))


def defaults(options):
    """Annealing from T, without and with moves, against plain inference at T=1.

    Lower bounds less those of plain inference with the same seed, hence the same start:
    mean and standard error, and how many are worse by more than a nat.
    """
    variants = {"plain": PLAIN}
    for moves, start in itertools.product((None, "all"), (1.0, 1.3, 2.0)):
        if moves or start > 1:
            variants[f"T={start:g}, moves={moves}"] = annealed(start, moves=moves)
    data = [(name, X, K) for name, (X, sizes) in small_sets().items() for K in sizes]
    for seed, (data_name, X, K), (name, variant) in itertools.product(
        range(options.seeds or 10), data, variants.items()
    ):
        key = {"data": data_name, "K": K, "contestant": name, "seed": seed}
        yield (
            key,
            functools.partial(fit, variant, X, n_components=K, random_state=seed),
        )


def table_of_defaults(frame):
    keys = ["data", "K", "seed"]
    plain = frame[frame.contestant == "plain"].set_index(keys).bound
    frame = frame.set_index(keys)
    frame["gain"] = frame.bound - plain.reindex(frame.index)
    rows = []
    for (data, K), group in frame.groupby(["data", "K"], sort=False):
        row = {"data": data, "K": K, "seeds": (group.contestant == "plain").sum()}
        for name, own in group.groupby("contestant", sort=False):
            if name != "plain":
                error = own.gain.std() / len(own) ** 0.5
                row[name] = (
                    f"{own.gain.mean():.1f} ± {error:.1f} ({(own.gain < -1).sum()})"
                )
        rows.append(row)
    return table(pd.DataFrame(rows))


#: What is done, its heading, and its table; what is said of it is its docstring.
STAGES = {
    "speed": (speed, "A batch iteration", table_of_speed),
    "minibatch": (minibatch, "Minibatches", table_of_minibatch),
    "fifty": (fifty, "Fifty overlapping clusters", table_of_fifty),
    "dp": (dp, "Four clusters, fifty components", table_of_dp),
    "grid": (grid, "Noisy steps to four clusters", table_of_grid),
    "pima": (pima, "Pima", table_of_pima),
    "cost": (cost, "What a default fit costs", table_of_cost),
    "large": (large, "Large sets", table_of_large),
    "defaults": (defaults, "Annealing and moves", table_of_defaults),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_arguments(parser, STAGES)
    parser.add_argument("--samples", type=int, default=1_000_000, help="of minibatch")
    parser.add_argument("--priors", nargs="+", choices=PRIORS, default=PRIORS[:1])
    head = [
        "# Gaussian mixture",
        "",
        f"One thread of {processor()}, kernels for {special.instruction_set}; "
        f"sktemper {sktemper.__version__}, scikit-learn {sklearn.__version__}, numpy "
        f"{np.__version__}. `benchmarks/bench_gaussian_mixture.py` made this, and says "
        "what is measured; every number stands in `bench_gaussian_mixture/`.",
    ]
    run(parser, STAGES, "bench_gaussian_mixture", head)


if __name__ == "__main__":
    main()

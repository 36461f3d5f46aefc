"""Benchmark of `AnnealedMixedMixture` on surveys: classes found, and CPU time.

    python benchmarks/bench_surveys.py                     # all, then the report
    python benchmarks/bench_surveys.py --stages covariates
    python benchmarks/bench_surveys.py --quick             # a short trial run
    python benchmarks/bench_surveys.py --stages            # only the report

The benchmark has stages.  A stage appends the row of each finished fit to its own table
in ``benchmarks/results/bench_surveys``; after an interruption it continues with the
missing rows.  The report is ``benchmarks/results/bench_surveys.md``.  The benchmark
needs StepMix (``pip install stepmix``).

surveys     surveys A to D, compared with StepMix
binned      survey E, with skewed columns
shapes      independent columns, of which one is skewed, counted or half zero
mixed       four classes, with skewed, counted, half-zero and normal columns
items       yes/no items, compared with the Bernoulli mixture
copies      classes that begin as copies of one another
speed       time of an iteration
covariates  coverage of the intervals of `class_regression`

Everything runs in one thread, and all times are CPU times.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import argparse
import itertools
import warnings

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score
from stages import add_arguments, head_of, run, timed
from surveys import SIZES, kinds, picked, survey

import sktemper
from sktemper import (
    AnnealedBernoulliMixture,
    AnnealedMixedMixture,
    TemperedMixedMixture,
    class_regression,
)
from sktemper.schedules import ExponentialSchedule

LIMIT = 10
N_CLASSES = {"A": 4} | {name: len(sizes) for name, sizes in SIZES.items()}
SEEDS_OF_PEERS = 3


# -- surveys ---------------------------------------------------------------------------


class Peer:
    """StepMix with the true number of classes and ten starts."""

    def __init__(self, n_classes, seed):
        self.n_classes, self.seed = n_classes, seed

    def fit(self, X):
        from stepmix.stepmix import StepMix
        from stepmix.utils import get_mixed_descriptor

        likert = [name for name in X if name.startswith("likert")]
        numbers = [name for name in X if name.startswith(("count", "number"))]
        options = [name for name in X if name.startswith(("yes", "option"))]
        self.codes = {
            name: pd.Categorical(X[name]).categories for name in options + likert
        }
        data, measurement = get_mixed_descriptor(
            self._coded(X),
            categorical_nan=options + likert,
            **({"continuous_nan": numbers} if numbers else {}),
        )
        self.columns = data.columns
        self.model = StepMix(
            self.n_classes,
            measurement=measurement,
            n_init=10,
            max_iter=300,
            random_state=self.seed,
            progress_bar=0,
            verbose=0,
        )
        self.model.fit(data)
        return self

    def _coded(self, X):
        coded = X.copy()
        for name, categories in self.codes.items():
            codes = pd.Categorical(X[name], categories).codes.astype(float)
            coded[name] = np.where(codes < 0, np.nan, codes)
        return coded

    def _data(self, X):
        return self._coded(X)[self.columns]

    def predict(self, X):
        return self.model.predict(self._data(X))

    def score(self, X):
        return self.model.score(self._data(X))


def contestants(name, X, seed):
    """Return a dict from names to estimators for a survey."""
    settings = {} if name == "A" else {"kinds": kinds(X, count="poisson")}
    found = {
        "default": AnnealedMixedMixture(LIMIT, random_state=seed, **settings),
        "counts not declared": AnnealedMixedMixture(LIMIT, random_state=seed),
    }
    for other in (100, 200):
        mixture = AnnealedMixedMixture(LIMIT, random_state=seed + other, **settings)
        found[f"default, seed + {other}"] = mixture
    plain = {"tempering": None, "n_init": 10, "random_state": seed}
    found["plain, n_init=10"] = TemperedMixedMixture(LIMIT, **plain, **settings)
    if name == "A":
        del found["counts not declared"]
    if seed < SEEDS_OF_PEERS:
        found["StepMix, told, n_init=10"] = Peer(N_CLASSES[name], seed)
    return found


def fitted_figures(estimator, X, y, test, y_test):
    """Return the measurements of a fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, fitted = timed(lambda: estimator.fit(X))
        return {
            "classes": getattr(fitted, "n_active_components_", np.nan),
            "ARI": adjusted_rand_score(y_test, fitted.predict(test)),
            "score": float(fitted.score(test)),
            "bound": getattr(fitted, "lower_bound_", np.nan),
            "CPU s": seconds,
        }


def surveys(options):
    """Surveys A (3,000 rows, 4 classes), B (2,000, 6), C (400, 3) and D (10,000, 8).

    The estimators of this package have at most ten components and do not know the
    number of classes.  Count columns are declared as counts, except for "counts not
    declared". StepMix gets the true number of classes, runs with three of the seeds,
    and models counts as normal.  Found: number of fits with the true number of
    classes.  Below best: difference in nats between the lower bound and the best one of
    all fits to the same data, mean and largest.  Score: log density of 1,000 other
    rows, nats per row.
    """
    stages = ["default", "counts", "default, seed", "StepMix", "plain"]
    for stage, seed in itertools.product(stages, range(options.seeds or 10)):
        for name in "CBAD":
            X, y, test, y_test = survey(name, seed)
            rows = options.tenth(len(X))
            for key, estimator in contestants(name, X, seed).items():
                if key == stage or (stage != "default" and key.startswith(stage)):
                    given = estimator, X[:rows], y[:rows], test, y_test
                    yield (
                        {"survey": name, "seed": seed, "contestant": key},
                        lambda given=given: fitted_figures(*given),
                    )


def table_of_surveys(frame):
    """Yield a line for each survey and estimator."""
    ours = frame[frame["bound"].notna()]
    ours = ours[ours["contestant"] != "counts not declared"]  # not comparable
    bounds = ours.groupby(["survey", "seed"])["bound"]
    best = bounds.max()[bounds.count() > 1].rename("best")
    frame = frame.join(best, on=["survey", "seed"])
    frame["below"] = frame["best"] - frame["bound"]
    yield "| survey | contestant | seeds | found | below best | ARI | score | CPU s |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    peers = frame["contestant"].str.startswith("StepMix")
    with_peers = set(
        frame[peers][["survey", "seed"]].itertuples(index=False, name=None)
    )
    pairs = frame[["survey", "seed"]].itertuples(index=False, name=None)
    frame["has_peer"] = [pair in with_peers for pair in pairs]
    for (name, key), rows in frame.sort_values("survey").groupby(
        ["survey", "contestant"]
    ):
        if "seed +" in key:
            continue
        yield line_of_survey(name, key, rows, N_CLASSES[name])
        if key == "default" and rows["has_peer"].any():
            own = rows[rows["has_peer"]]
            yield line_of_survey(
                name, "default, seeds of StepMix", own, N_CLASSES[name]
            )


def line_of_survey(name, key, rows, n_classes):
    is_told = rows["bound"].isna().all()
    found = f"{(rows['classes'] == n_classes).sum()}"
    below = f"{rows['below'].mean():.1f}, {rows['below'].max():.1f}"
    cells = [
        f"{name} ({n_classes})",
        key,
        str(len(rows)),
        "told" if is_told else found,
        "" if rows["below"].isna().all() or key == "counts not declared" else below,
        f"{rows['ARI'].mean():.3f}",
        f"{rows['score'].mean():.3f}",
        f"{rows['CPU s'].mean():.2f}",
    ]
    return "| " + " | ".join(cells) + " |"


# -- data that violate the model -------------------------------------------------------


def binned(options):
    """Survey E: 2,000 rows, three classes, overdispersed counts and skewed numbers.

    Columns of numbers have the kinds of their shapes ("auto"), are divided into
    intervals ("binned"), or are all normal ("from_dtype").
    """
    for seed in range(options.seeds or 10):
        X, y, test, y_test = survey("E", seed)
        for key, chosen in (
            ("binned", kinds(X, count="binned", number="binned")),
            ("binned, n_bins=4", kinds(X, count="binned", number="binned")),
            ("from_dtype", "from_dtype"),
            ("auto", "auto"),
        ):
            bins = {"n_bins": 4} if key.endswith("4") else {}
            estimator = AnnealedMixedMixture(
                LIMIT, kinds=chosen, random_state=seed, **bins
            )
            yield (
                {"seed": seed, "kinds": key},
                lambda given=(estimator, X, y, test, y_test): fitted_figures(*given),
            )


def table_of_numbers(key):
    """Return a function that yields a line for each value of ``key``."""

    def table(frame):
        yield f"| {key} | seeds | classes | ARI | score | CPU s |"
        yield "|---|---:|---|---:|---:|---:|"
        for name, rows in frame.groupby(key, sort=False):
            found = ", ".join(map(str, rows["classes"].astype(int)))
            yield (
                f"| {name} | {len(rows)} | {found} | {rows['ARI'].mean():.3f} | "
                f"{rows['score'].mean():.3f} | {rows['CPU s'].mean():.2f} |"
            )

    return table


#: Distributions of the numbers.  The first six and their kinds were looked at, with
#: seeds below 60, when the choice of kinds was written; the others were not.
SHAPES = {
    "normal": lambda random, n: random.normal(10, 2, n),
    "log-normal": lambda random, n: random.lognormal(1, 0.8, n),
    "exponential": lambda random, n: random.exponential(2, n),
    "geometric": lambda random, n: random.geometric(0.15, n),
    "half zeros": lambda random, n: (
        (random.random(n) < 0.5) * random.lognormal(0, 1, n)
    ),
    "Poisson(3)": lambda random, n: random.poisson(3, n),
    "Weibull": lambda random, n: random.weibull(0.7, n),
    "Lomax": lambda random, n: random.pareto(2.5, n),
    "money": lambda random, n: 50 * np.round(random.lognormal(7, 1, n) / 50),
    "Gumbel": lambda random, n: random.gumbel(3, 2, n),
    "a third zeros, counts": lambda random, n: (
        (random.random(n) < 0.67) * random.negative_binomial(3, 0.05, n)
    ),
}
HELD_BACK = [*SHAPES][6:]
#: The first seed that is measured.
FIRST_SEED = 100


def shapes(options):
    """Four categorical columns and one of numbers, all independent: one class.

    The first six shapes were known when the choice of kinds was written, with other
    seeds; the others were held back.  The columns of numbers count fits by the number
    of their classes.
    """
    for (shape, draw), n in itertools.product(SHAPES.items(), (500, 2000)):
        n_seeds = 20 if shape in HELD_BACK else 100
        for seed in range(FIRST_SEED, FIRST_SEED + (options.seeds or n_seeds)):
            random = np.random.default_rng(seed)
            X = pd.DataFrame()
            for number in range(4):
                p = random.dirichlet(np.full(random.integers(2, 6), 2.0))
                X[f"item{number}"] = random.choice(len(p), n, p=p).astype(str)
            X["number"] = draw(random, n)
            for chosen in ("auto", "from_dtype"):
                if chosen == "auto" or seed < FIRST_SEED + 10:
                    estimator = AnnealedMixedMixture(
                        LIMIT, kinds=chosen, random_state=seed
                    )
                    y = np.zeros(n)
                    yield (
                        {"seed": seed, "shape": shape, "rows": n, "kinds": chosen},
                        lambda given=(estimator, X, y, X, y): fitted_figures(*given),
                    )


def table_of_shapes(frame):
    yield "| shape | rows | kinds | seeds | 1 class | 2 | more | CPU s |"
    yield "|---|---:|---|---:|---:|---:|---:|---:|"
    for key, rows in frame.groupby(["shape", "rows", "kinds"], sort=False):
        classes = rows["classes"]
        counts = (classes == 1).sum(), (classes == 2).sum(), (classes > 2).sum()
        cells = *key, len(rows), *counts, f"{rows['CPU s'].mean():.2f}"
        yield f"| {' | '.join(map(str, cells))} |"


def mixed(options):
    """A survey of four classes, 2,000 rows: six items of three options, and numbers.

    The numbers are log-normal, exponential, geometric, half-zero and normal, and their
    means differ between the classes.
    """
    for seed in range(FIRST_SEED, FIRST_SEED + (options.seeds or 10)):
        X, y = survey_of_shapes(seed, 3000)
        X, test, y, y_test = X[:2000], X[2000:], y[:2000], y[2000:]
        numbers = {name: "binned" for name in X if not name.startswith("item")}
        for key, chosen in (
            ("auto", "auto"),
            ("binned", numbers),
            ("from_dtype", "from_dtype"),
        ):
            estimator = AnnealedMixedMixture(LIMIT, kinds=chosen, random_state=seed)
            yield (
                {"seed": seed, "kinds": key},
                lambda given=(estimator, X, y, test, y_test): fitted_figures(*given),
            )


def survey_of_shapes(seed, n):
    random = np.random.default_rng(seed)
    y = random.choice(4, n, p=[0.35, 0.3, 0.2, 0.15])

    def means():
        return (random.permutation(4) - 1.5)[y]

    X = pd.DataFrame()
    for number in range(6):
        p = random.dirichlet(np.full(3, 0.7), 4)
        X[f"item{number}"] = picked(random, p[y]).astype(str)
    X["money"] = random.lognormal(8 + 0.7 * means(), 0.6)
    X["time"] = random.exponential(np.exp(0.6 * means()))
    X["visits"] = random.geometric(1 / (1 + 3 * np.exp(0.6 * means())))
    zeros = np.array([0.2, 0.4, 0.6, 0.8])[random.permutation(4)][y]
    X["gifts"] = (random.random(n) > zeros) * random.lognormal(0.5 * means(), 0.8)
    X["score"] = random.normal(means(), 1)
    return X, y


# -- yes/no items ----------------------------------------------------------------------


def answers(probabilities, n_rows, seed):
    """Return yes/no answers of classes of equal size, and the classes."""
    random = np.random.default_rng(seed)
    y = random.integers(len(probabilities), size=n_rows)
    X = random.random((n_rows, probabilities.shape[1])) < probabilities[y]
    return X.astype(float), y


def items(options):
    """Yes/no items alone: 3,000 rows, 24 items, 6 classes; at most 10 components."""
    n_rows = options.tenth(3000)
    for seed in range(options.seeds or 10):
        p = np.random.default_rng(seed).beta(0.8, 0.8, size=(6, 24))
        X, y = answers(p, 2 * n_rows, seed)
        given = X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]
        for estimator in AnnealedMixedMixture, AnnealedBernoulliMixture:
            mixture = estimator(LIMIT, random_state=seed)
            yield (
                {"seed": seed, "estimator": estimator.__name__},
                lambda mixture=mixture, given=given: fitted_figures(mixture, *given),
            )


def copies(options):
    """Four classes, 18 items of probability .9 or .1, 3,000 rows; annealing from T=2.

    At this temperature all ten components are copies of one another.
    """
    n_rows, schedule = options.tenth(3000), ExponentialSchedule(2.0)
    for seed in range(options.seeds or 8):
        high = np.random.default_rng(seed).random((4, 18)) < 0.5
        X, y = answers(np.where(high, 0.9, 0.1), 2 * n_rows, seed)
        given = X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]
        mixture = AnnealedMixedMixture(LIMIT, schedule=schedule, random_state=seed)
        yield (
            {"seed": seed, "start": "T=2"},
            lambda mixture=mixture, given=given: fitted_figures(mixture, *given),
        )


# -- speed -----------------------------------------------------------------------------


def speed(options):
    """Milliseconds of an iteration, 10,000 rows, 24 columns, 10 components.

    The time of an iteration is the difference between fits of 60 and of 10 iterations,
    without tempering, divided by 50; the table has the least of five measurements.
    """

    def iteration(estimator, X):
        def seconds(n_iterations):
            estimator.set_params(max_iter=n_iterations, tol=0.0)
            return timed(lambda: estimator.fit(X))[0]

        times = [seconds(60) - seconds(10) for _ in range(5)]
        return {"ms": 1e3 * min(times) / 50}

    X, *_ = survey("D", 0)
    p = np.random.default_rng(0).beta(0.8, 0.8, size=(8, 24))
    yes, _ = answers(p, 10_000, 0)
    plain = {"tempering": None, "random_state": 0}
    cases = {
        ("survey D", "TemperedMixedMixture"): (
            TemperedMixedMixture(LIMIT, kinds=kinds(X, count="poisson"), **plain),
            X,
        ),
        ("yes/no", "TemperedMixedMixture"): (TemperedMixedMixture(LIMIT, **plain), yes),
        ("yes/no", "TemperedBernoulliMixture"): (
            sktemper.TemperedBernoulliMixture(LIMIT, **plain),
            yes,
        ),
    }
    for (data, name), given in cases.items():
        key = {"data": data, "estimator": name}
        yield key, lambda given=given: iteration(*given)


def table_of_speed(frame):
    """Yield a line for each estimator."""
    yield "| data | estimator | ms |"
    yield "|---|---|---:|"
    for row in frame.itertuples(index=False):
        yield f"| {row.data} | {row.estimator} | {row.ms:.1f} |"


# -- covariates ------------------------------------------------------------------------

#: Intercepts and effects of two covariates on the log odds of each class to class 0.
EFFECTS = np.array([[0.0, 0.0, 0.0], [0.0, 0.8, -0.5], [-0.3, -0.6, 0.7]])
N_ITEMS = 12


def replicate(separation, n_rows, seed):
    """Return yes/no items, two covariates and the classes."""
    random = np.random.default_rng(seed)
    Z = np.c_[random.normal(size=n_rows), random.random(n_rows) < 0.5].astype(float)
    logits = np.exp(np.c_[np.ones(n_rows), Z] @ EFFECTS.T)
    y = picked(random, logits / logits.sum(axis=1, keepdims=True))
    is_high = np.ones((3, N_ITEMS), dtype=bool)
    is_high[1, N_ITEMS // 2 :] = is_high[2] = False
    p = np.where(is_high, separation, 1 - separation)
    return (random.random((n_rows, N_ITEMS)) < p[y]).astype(float), Z, y


def effects_of(separation, n_rows, seed):
    """Return estimates, standard errors and coverage of the effects."""
    X, Z, y = replicate(separation, n_rows, seed)
    mixture = AnnealedMixedMixture(6, random_state=seed).fit(X)
    posteriors = mixture.predict_proba(X)
    row = {"classes": mixture.n_active_components_, "R2": mixture.entropy_r2(X)}
    if row["classes"] != 3:
        return row
    used = np.flatnonzero(posteriors.sum(axis=0) > 0.5)
    overlap = np.array([posteriors[y == k].sum(axis=0)[used] for k in range(3)])
    own = used[linear_sum_assignment(-overlap)[1]]
    for method in "ml", "bch":
        found = class_regression(posteriors, Z, method=method, reference=int(own[0]))
        places = np.searchsorted(found.classes, own[1:])
        for k, place in enumerate(places, 1):
            for j in (1, 2):
                row[f"{method} coef {k}{j}"] = found.coef_[place, j]
                row[f"{method} stderr {k}{j}"] = found.stderr_[place, j]
    return row


def covariates(options):
    """Coefficients of `class_regression` after a fit of at most six components.

    The data have three classes, 12 yes/no items, 2,000 rows, and a normal and a binary
    covariate with four effects of absolute values between .5 and .8.  In each class the
    probability of a yes is p or 1 - p.  Slope: slope of a regression of the estimates
    on the true effects, without an intercept.  Coverage: share of the 95 % intervals
    that contain the true effect.  Ratio: the standard deviation of the estimates
    divided by the mean standard error.
    """
    n_rows = options.tenth(2000)
    for seed in range(options.seeds or 200):
        for separation in (0.85, 0.8, 0.75):
            yield (
                {"p": separation, "seed": seed},
                lambda given=(separation, n_rows, seed): effects_of(*given),
            )


def table_of_covariates(frame):
    """Yield a line for each separation and method."""
    yield "| p | entropy R² | three classes | method | slope | coverage | ratio |"
    yield "|---:|---:|---:|---|---:|---:|---:|"
    names = [f"{k}{j}" for k in (1, 2) for j in (1, 2)]
    true = np.array([EFFECTS[int(k), int(j)] for k, j in names])
    for p, rows in frame.groupby("p", sort=False):
        kept = rows[rows["classes"] == 3]
        for method in "ml", "bch":
            coef = kept[[f"{method} coef {name}" for name in names]].to_numpy()
            error = kept[[f"{method} stderr {name}" for name in names]].to_numpy()
            slope = (coef @ true / (true @ true)).mean()
            covered = np.abs(coef - true) < 1.959964 * error
            ratio = (coef.std(axis=0) / error.mean(axis=0)).mean()
            yield (
                f"| {p} | {kept['R2'].mean():.2f} | {len(kept)} of {len(rows)} | "
                f"{method} | {slope:.3f} | {covered.mean():.3f} | {ratio:.2f} |"
            )


STAGES = {
    "surveys": (surveys, "Classes of surveys", table_of_surveys),
    "binned": (binned, "Skewed columns", table_of_numbers("kinds")),
    "shapes": (shapes, "Shapes", table_of_shapes),
    "mixed": (mixed, "Survey of shapes", table_of_numbers("kinds")),
    "items": (items, "Yes/no items", table_of_numbers("estimator")),
    "copies": (copies, "Copies", table_of_numbers("start")),
    "speed": (speed, "Speed", table_of_speed),
    "covariates": (covariates, "Covariates", table_of_covariates),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_arguments(parser, STAGES)
    head = head_of("Surveys", "bench_surveys")
    head[-1] += (
        " Values are means over seeds; each row has the number of its seeds, because a "
        "stage may have been interrupted."
    )
    run(parser, STAGES, "bench_surveys", head)


if __name__ == "__main__":
    main()

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
covariates  coverage of the intervals of `class_regression`

The zoo has columns of other shapes, and yes/no items; `compare.py` measures speed.

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

from sktemper import AnnealedMixedMixture, TemperedMixedMixture, class_regression

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

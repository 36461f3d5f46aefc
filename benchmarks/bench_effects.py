"""Bias and coverage of the effects of covariates on topics and on classes.

    python benchmarks/bench_effects.py                     # all, then the report
    python benchmarks/bench_effects.py --stages topics --seeds 2
    python benchmarks/bench_effects.py --quick             # a short trial run

The stages, see `stages.py`, are in ``benchmarks/results/bench_effects``, and the report
is ``benchmarks/results/bench_effects.md``.  Times are CPU times of one thread.

topics      `topic_regression` on texts of two groups
known       the same, with fits that know the groups
classes     `class_regression` on answers of three classes
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import argparse
import functools
import warnings

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from stages import add_arguments, head_of, run, timed

from sktemper import AnnealedLDA, AnnealedMixedMixture, class_regression
from sktemper.inspection import topic_regression
from sktemper.metrics import match_components

#: Standard normal quantile of 95 % intervals.
NORMAL = 1.959964

# -- topics ----------------------------------------------------------------------------

#: Numbers of topics, texts, words of a text, and data sets.
SETTINGS = [
    (5, 2_000, 5, 200),
    (5, 2_000, 10, 200),
    (5, 2_000, 20, 100),
    (5, 2_000, 100, 40),
    (50, 20_000, 5, 10),
    (50, 20_000, 10, 10),
    (50, 2_000, 20, 20),
    (50, 2_000, 100, 20),
]
N_WORDS, FIRST_SEED, FOUND = 500, 10_000, 0.9


def texts(n_topics, n_texts, length, seed):
    """Return counts, groups, topics, and differences of the groups' mean shares."""
    random = np.random.default_rng(seed)
    topic_word = random.dirichlet(np.full(N_WORDS, 0.1), n_topics)
    group = random.integers(0, 2, n_texts)
    one = random.dirichlet(np.full(n_topics, 5.0))
    other = one * np.exp(0.5 * random.normal(size=n_topics))
    means = np.array([one, other / other.sum()])
    concentration = 0.1 * n_topics if n_topics <= 10 else 0.025 * n_topics
    gammas = random.standard_gamma(concentration * means[group])
    doc_topic = gammas / gammas.sum(axis=1, keepdims=True)
    p = doc_topic @ topic_word
    counts = [random.multinomial(length, row / row.sum()) for row in p]
    return sparse.csr_array(np.array(counts)), group, topic_word, means[1] - means[0]


def compared(lda, X, group):
    """Return differences of the results of `transform`, and their standard errors."""
    one, other = (lda.transform(X[group == g]) for g in (1, 0))
    variance = one.var(axis=0) / len(one) + other.var(axis=0) / len(other)
    return one.mean(axis=0) - other.mean(axis=0), np.sqrt(variance)


def of_topics(n_topics, n_texts, length, seed, knows):
    """Return a row of each topic: the true difference of the groups, and estimates."""
    X, group, topic_word, truth = texts(n_topics, n_texts, length, seed)
    lda = AnnealedLDA(n_topics, random_state=0)
    fit_time, lda = timed(lambda: lda.fit(X, covariates=group if knows else None))
    time, regression = timed(
        lambda: topic_regression(lda, X, group[:, None], random_state=0)
    )
    order, cosine = match_components(topic_word, regression.topic_word_)
    plain_order, _ = match_components(topic_word, lda.topic_word_)
    plain, plain_error = (values[plain_order] for values in compared(lda, X, group))
    columns = {
        "truth": truth,
        "coef": regression.coef_[order, 1],
        "stderr": regression.stderr_[order, 1],
        "cosine": cosine,
        "transform": plain,
        "transform stderr": plain_error,
        "fit s": np.full(n_topics, fit_time),
        "regression s": np.full(n_topics, time),
    }
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, map(float, row), strict=True)) for row in rows]


def topics(options, knows=False):
    """Differences of the mean topic shares of two groups of texts.

    Each topic of each data set is one interval of the difference.  Ratio: the slope of
    the estimates on the true differences.  Coverage: the share of 95 % intervals that
    contain them.  "transform" is the difference of the mean results of `transform`.  A
    topic is found if its cosine with the true topic is above .9.
    """
    for n_topics, n_texts, length, n_sets in SETTINGS:
        n_texts = options.tenth(n_texts)
        for number in range(min(options.seeds or n_sets, n_sets)):
            key = {"topics": n_topics, "texts": n_texts, "words": length}
            given = n_topics, n_texts, length, FIRST_SEED + number, knows
            yield key | {"set": number}, functools.partial(of_topics, *given)


def known(options):
    """The same, with fits that know the groups."""
    return topics(options, knows=True)


def figures(truth, estimate, error):
    """Return the ratio of estimates to true effects, and the coverage."""
    ratio = (estimate @ truth) / (truth @ truth)
    return f"{ratio:.3f}, {(np.abs(estimate - truth) < NORMAL * error).mean():.3f}"


def table_of_topics(frame):
    """Yield a line for each setting."""
    yield (
        "| topics | texts | words | intervals | transform: ratio, coverage | "
        "regression: ratio, coverage | topics found: share, ratio, coverage | fit s | "
        "regression s |"
    )
    yield "|---:|---:|---:|---:|---|---|---|---:|---:|"
    for setting, rows in frame.groupby(["topics", "texts", "words"], sort=False):
        found = rows[rows["cosine"] > FOUND]
        cells = [
            *setting,
            len(rows),
            figures(rows["truth"], rows["transform"], rows["transform stderr"]),
            figures(rows["truth"], rows["coef"], rows["stderr"]),
            f"{len(found) / len(rows):.2f}, "
            + figures(found["truth"], found["coef"], found["stderr"]),
            *(f"{rows[name].mean():.2f}" for name in ("fit s", "regression s")),
        ]
        yield "| " + " | ".join(map(str, cells)) + " |"


# -- classes ---------------------------------------------------------------------------

#: Intercepts and effects of two covariates on the log odds of each class to class 0.
EFFECTS = np.array([[0.0, 0.0, 0.0], [0.0, 0.8, -0.5], [-0.3, -0.6, 0.7]])
N_ITEMS = 12


def answers(separation, n_rows, seed):
    """Return yes/no items, two covariates and the classes."""
    random = np.random.default_rng(seed)
    Z = np.c_[random.normal(size=n_rows), random.random(n_rows) < 0.5].astype(float)
    odds = np.exp(np.c_[np.ones(n_rows), Z] @ EFFECTS.T)
    shares = odds.cumsum(axis=1) / odds.sum(axis=1, keepdims=True)
    y = (shares > random.random((n_rows, 1))).argmax(axis=1)
    is_high = np.ones((3, N_ITEMS), dtype=bool)
    is_high[1, N_ITEMS // 2 :] = is_high[2] = False
    p = np.where(is_high, separation, 1 - separation)
    return (random.random((n_rows, N_ITEMS)) < p[y]).astype(float), Z, y


def of_classes(separation, n_rows, seed):
    """Return estimates, standard errors and coverage of the effects."""
    X, Z, y = answers(separation, n_rows, seed)
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


def classes(options):
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
                lambda given=(separation, n_rows, seed): of_classes(*given),
            )


def table_of_classes(frame):
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
            covered = np.abs(coef - true) < NORMAL * error
            ratio = (coef.std(axis=0) / error.mean(axis=0)).mean()
            yield (
                f"| {p} | {kept['R2'].mean():.2f} | {len(kept)} of {len(rows)} | "
                f"{method} | {slope:.3f} | {covered.mean():.3f} | {ratio:.2f} |"
            )


STAGES = {
    "topics": (topics, "Effects on topics", table_of_topics),
    "known": (known, "Effects on topics of fits that know the groups", table_of_topics),
    "classes": (classes, "Effects on classes", table_of_classes),
}


def main():
    warnings.simplefilter("ignore", UserWarning)
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add_arguments(parser, STAGES)
    run(parser, STAGES, "bench_effects", head_of("Effects", "bench_effects"))


if __name__ == "__main__":
    main()

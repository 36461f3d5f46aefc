"""Bias and coverage of `sktemper.inspection.topic_regression` on generated texts.

    python benchmarks/topic_effects.py                # all settings
    python benchmarks/topic_effects.py 5,2000,10,200  # topics, texts, words, data sets
    python benchmarks/topic_effects.py --covariates   # fits that know the groups

Each data set has two groups of texts, whose mean topic shares differ, and each topic is
one interval of the difference.  A row of the table is printed for each setting.  The
results are in ``benchmarks/results/topic_effects.md``.  Times are CPU times of one
thread.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import sys
import time
import warnings

import numpy as np
from scipy import sparse, stats

from sktemper import AnnealedLDA
from sktemper.inspection import topic_regression
from sktemper.metrics import match_components

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
HEAD = (
    "| topics | texts | words | intervals | transform: ratio, coverage | regression: "
    "ratio | coverage | topics found: share, ratio, coverage | fit s | regression s |"
)


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


def one_set(n_topics, n_texts, length, seed):
    """Return rows of a topic each, and the times of the fit and of the regression."""
    X, group, topic_word, truth = texts(n_topics, n_texts, length, seed)
    times = [time.process_time()]
    known = group if "--covariates" in sys.argv else None
    lda = AnnealedLDA(n_topics, random_state=0).fit(X, covariates=known)
    times.append(time.process_time())
    regression = topic_regression(lda, X, group[:, None], random_state=0)
    times.append(time.process_time())
    order, cosine = match_components(topic_word, regression.topic_word_)
    own = regression.coef_[order, 1], regression.stderr_[order, 1]
    order, _ = match_components(topic_word, lda.topic_word_)
    plain = [values[order] for values in compared(lda, X, group)]
    return np.array([truth, *own, cosine, *plain]).T, np.diff(times)


def figures(truth, estimate, error):
    """Return the ratio of estimates to true effects, and the coverage."""
    ratio = (estimate @ truth) / (truth @ truth)
    covered = np.abs(estimate - truth) < stats.norm.ppf(0.975) * error
    return f"{ratio:.3f}", f"{covered.mean():.3f}"


def row(n_topics, n_texts, length, n_sets):
    """Return a row of the table."""
    seeds = range(FIRST_SEED, FIRST_SEED + n_sets)
    sets = [one_set(n_topics, n_texts, length, seed) for seed in seeds]
    rows = np.concatenate([part for part, _ in sets])
    truth, estimate, error, cosine, plain, plain_error = rows.T
    found = cosine > FOUND
    cells = [n_topics, n_texts, length, len(rows)]
    cells.append(", ".join(figures(truth, plain, plain_error)))
    cells += figures(truth, estimate, error)
    of_found = figures(truth[found], estimate[found], error[found])
    cells.append(", ".join([f"{found.mean():.2f}", *of_found]))
    cells += [f"{seconds:.2f}" for seconds in np.mean([t for _, t in sets], axis=0)]
    return "| " + " | ".join(map(str, cells)) + " |"


if __name__ == "__main__":
    warnings.simplefilter("ignore", UserWarning)
    settings = [text for text in sys.argv[1:] if text != "--covariates"]
    chosen = [tuple(map(int, text.split(","))) for text in settings]
    print(HEAD, "|---" * (HEAD.count("|") - 1) + "|", sep="\n", flush=True)
    for setting in chosen or SETTINGS:
        print(row(*setting), flush=True)

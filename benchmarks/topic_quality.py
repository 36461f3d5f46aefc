"""Coherence, diversity and CPU time of topics, compared with other packages.

    python benchmarks/topic_quality.py          # everything: two hours
    python benchmarks/topic_quality.py --corpora nyt --topics 50 --seeds 1
    python benchmarks/topic_quality.py --report              # only the report

Coherence is the mean NPMI of ten words per topic on held-out documents. Diversity is
the share of distinct words among 25 words of each topic. The score is in nats per
held-out token by document completion. Words are ranked in two ways, for all packages:
by probability, and by relevance with a weight of .9, as in `topics(relevance=0.9)`.
Everything runs in one thread, and times are CPU times. The training sets have at most
20,000 documents.

tomotopy and scikit-learn are left out if they are not installed. Rows of finished fits
are stored in ``benchmarks/results/topic_quality.csv``, so that an interrupted benchmark
continues with the missing fits; the report is ``benchmarks/results/topic_quality.md``.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import argparse
import importlib.util
import itertools
import time
import warnings
from pathlib import Path

import corpora
import numpy as np
import pandas as pd
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import ConvergenceWarning
from topic_models import fixed, tomotopy_lda, tomotopy_topics

from sktemper import AnnealedLDA
from sktemper.metrics import npmi_coherence, topic_diversity

RESULTS = Path(__file__).resolve().parent / "results"
CORPORA = ("nyt", "debian", "imdb")
N_TRAIN = 20_000
#: Number of words of a topic for coherence.
N_WORDS = 10
#: Number of words of a topic for diversity.
N_DIVERSE = 25
KEY = ["corpus", "K", "setting", "seed"]
ORDERS = {"": 1.0, "_relevant": 0.9}
VALUES = [
    "npmi",
    "diversity",
    "npmi_relevant",
    "diversity_relevant",
    "score",
    "seconds",
]


def ours(X, K, seed, *, more=1, **parameters):
    """Fit `AnnealedLDA`, which starts with ``more`` times K topics."""
    n_start = None if more == 1 else int(more * K)
    lda = AnnealedLDA(K, n_start_components=n_start, random_state=seed, **parameters)
    return lda.fit(X).components_


def tomotopy(X, K, seed, *, n_sweeps):
    """Fit tomotopy by collapsed Gibbs sampling with its defaults, which learn alpha."""
    lda = tomotopy_lda(X, K, seed)
    lda.train(n_sweeps, workers=1)
    return tomotopy_topics(lda, X.shape[1])


def scikit_learn(X, K, seed):
    """Fit scikit-learn's online variational inference with this package's priors."""
    lda = LatentDirichletAllocation(
        K,
        doc_topic_prior=0.05,
        topic_word_prior=0.1,
        learning_method="online",
        batch_size=1000,
        max_iter=10,
        random_state=seed,
    )
    return lda.fit(X.astype(np.float64)).components_


SETTINGS = {
    "AnnealedLDA": (ours, {}),
    "AnnealedLDA, from 1.5 K": (ours, {"more": 1.5}),
    "AnnealedLDA, from 2 K": (ours, {"more": 2}),
    "AnnealedLDA, from 1.5 K, alpha .1": (ours, {"more": 1.5, "doc_topic_prior": 0.1}),
    "AnnealedLDA, from 2 K, mean field": (
        ours,
        {"more": 2, "doc_update": "variational"},
    ),
    "tomotopy, 200 sweeps": (tomotopy, {"n_sweeps": 200}),
    "tomotopy, 500 sweeps": (tomotopy, {"n_sweeps": 500}),
    "scikit-learn, 10 passes": (scikit_learn, {}),
}


def row(corpus, fit, options, K, seed):
    """Return the table row of a fit: its CPU time and its scores."""
    begin = time.process_time()
    topics = np.asarray(fit(corpus.train, K, seed, **options), dtype=np.float64)
    seconds = time.process_time() - begin
    found = {}
    for name, weight in ORDERS.items():
        words = np.argsort(-relevance(topics, corpus.train, weight), axis=1)
        words = words[:, :N_DIVERSE]
        coherence = npmi_coherence(list(words), corpus.test, n_words=N_WORDS)
        found[f"npmi{name}"] = coherence.mean()
        found[f"diversity{name}"] = topic_diversity(list(words), n_words=N_DIVERSE)
    return found | {"score": fixed(topics).score(corpus.test), "seconds": seconds}


def relevance(topics, X, weight):
    """Return the relevance of words: a weighted mean of log probability and log lift.

    The lift is the probability in the topic divided by the share in the corpus.
    """
    probabilities = topics / topics.sum(axis=1, keepdims=True)
    counts = np.asarray(X.sum(axis=0), dtype=np.float64).ravel()
    seen = counts > 0
    found = np.full(topics.shape, -np.inf)
    log_lift = np.log(probabilities[:, seen]) - np.log(counts[seen] / counts.sum())
    found[:, seen] = weight * np.log(probabilities[:, seen]) + (1 - weight) * log_lift
    return found


def run(arguments):
    """Make the fits that the table of results lacks."""
    path = RESULTS / "topic_quality.csv"
    done = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=KEY + VALUES)
    known = set(done[KEY].itertuples(index=False, name=None))
    for seed, name, K in itertools.product(
        range(arguments.seeds), arguments.corpora, arguments.topics
    ):
        corpus = corpora.load(name, arguments.data.resolve(), N_TRAIN)
        if corpus is None:
            continue
        for setting, (fit, options) in SETTINGS.items():
            key = dict(zip(KEY, (name, K, setting, seed), strict=True))
            if tuple(key.values()) in known:
                continue
            if fit is tomotopy and importlib.util.find_spec("tomotopy") is None:
                print(f"{setting}: not installed", flush=True)
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                new = key | row(corpus, fit, options, K, seed)
            print(new, flush=True)
            done = pd.concat([done, pd.DataFrame([new])], ignore_index=True)
            done.to_csv(path, index=False, float_format="%.4f")
    return done


def report(table):
    """Write a report of means and standard errors over seeds."""
    lines = [
        "# Topics as analysts judge them",
        "",
        *__doc__.split("\n\n")[2].split("\n"),
    ]
    for (name, K), part in table.groupby(["corpus", "K"], sort=False):
        lines += ["", f"## {name}, K={K}", ""]
        lines += [
            "| setting | NPMI | diversity | NPMI, relevant | "
            "diversity, relevant | score | CPU s | seeds |"
        ]
        lines += ["|---|---|---|---|---|---|---|---|"]
        for setting in SETTINGS:
            rows = part[part["setting"] == setting]
            if len(rows):
                cells = [cell(rows[value]) for value in VALUES[:-1]]
                cells += [f"{rows['seconds'].mean():.1f}", str(len(rows))]
                lines += [f"| {setting} | " + " | ".join(cells) + " |"]
    (RESULTS / "topic_quality.md").write_text("\n".join(lines) + "\n")


def cell(values):
    """Return a mean and its standard error."""
    if len(values) == 1:
        return f"{values.mean():.3f}"
    return f"{values.mean():.3f} ± {values.std() / len(values) ** 0.5:.3f}"


def main():
    """Make the missing fits, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    corpora.add_argument(parser)
    parser.add_argument("--corpora", nargs="+", default=CORPORA, choices=CORPORA)
    parser.add_argument("--topics", nargs="+", type=int, default=(50, 100))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--report", action="store_true", help="only the report")
    arguments = parser.parse_args()
    if arguments.report:
        table = pd.read_csv(RESULTS / "topic_quality.csv")
    else:
        table = run(arguments)
    report(table)


if __name__ == "__main__":
    main()

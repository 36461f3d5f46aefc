"""Topics of this package and of other packages: the table of README.md.

    python benchmarks/readme_peers.py --seeds 3
    python benchmarks/readme_peers.py --stages stability

The stages, see `stages.py`, are in ``benchmarks/results/readme_peers``, and the report
is ``benchmarks/results/readme_peers.md``.  All packages have the same priors and fit in
one thread.  Variational methods make ten passes, and Gibbs sampling 100 sweeps.  The
same code scores all topics on held-out texts: nats per token by document completion;
NPMI coherence of the first ten words of a topic; and diversity, the share of distinct
words among the first words.  Packages that are not installed are left out.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import argparse
import functools
import importlib.util
import itertools
from importlib import metadata

import numpy as np
from corpora import tomotopy_lda, tomotopy_topics
from scipy.optimize import linear_sum_assignment
from scipy.special import psi
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize
from stages import add_arguments, head_of, run, spread, timed

from sktemper import AnnealedLDA, TemperedLDA
from sktemper.datasets import load_debian_descriptions
from sktemper.metrics import completion_log_likelihood, npmi_coherence, topic_diversity

N_TOPICS, ALPHA, ETA, PASSES, SWEEPS = 50, 0.05, 0.1, 10, 100
PEERS = [name for name in ("gensim", "tomotopy") if importlib.util.find_spec(name)]
#: Numbers of words of a topic for coherence and for diversity.
N_WORDS, N_DIVERSE = 10, 25
#: The cosine above which two topics are alike.
SIMILAR = 0.8


# -- contestants: functions of the counts, the number of topics and the seed -----------


def annealed(X, K, seed, **parameters):
    return AnnealedLDA(K, random_state=seed, **parameters).fit(X).components_


def plain(X, K, seed, **parameters):
    lda = TemperedLDA(K, tempering=None, random_state=seed, **parameters)
    return lda.fit(X).components_


def of_sklearn(X, K, seed, learning_method="online", **parameters):
    lda = LatentDirichletAllocation(
        K,
        doc_topic_prior=ALPHA,
        topic_word_prior=ETA,
        learning_method=learning_method,
        max_iter=PASSES,
        random_state=seed,
        **parameters,
    )
    return lda.fit(X).components_


def gensim(X, K, seed):
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel

    lda = LdaModel(
        Sparse2Corpus(X, documents_columns=False),
        id2word={i: str(i) for i in range(X.shape[1])},
        num_topics=K,
        passes=PASSES,
        alpha=[ALPHA] * K,
        eta=ETA,
        eval_every=0,
        random_state=seed,
    )
    return lda.state.get_lambda().astype(np.float64)


def tomotopy(X, K, seed):
    lda = tomotopy_lda(X, K, seed, alpha=ALPHA, eta=ETA)
    lda.optim_interval = 0  # do not learn the prior
    lda.train(SWEEPS, workers=1)
    return tomotopy_topics(lda, X.shape[1])


MEAN_FIELD = {"doc_update": "variational", "init_params": "random"}
CONTESTANTS = {
    "`AnnealedLDA`": (annealed, {}),
    "plain, sampled, spectral start": (
        plain,
        {"doc_update": "sampled", "init_params": "spectral"},
    ),
    "plain, sampled, random start": (plain, MEAN_FIELD | {"doc_update": "sampled"}),
    "annealed, variational, random start": (annealed, MEAN_FIELD),
    "plain, variational, spectral start": (
        plain,
        MEAN_FIELD | {"init_params": "spectral"},
    ),
    "plain, variational, random start": (plain, MEAN_FIELD),
    "tomotopy, 100 sweeps": (tomotopy, {}),
    "scikit-learn, batch": (of_sklearn, {"learning_method": "batch"}),
    "scikit-learn, online, batches of 1,000": (of_sklearn, {"batch_size": 1000}),
    "scikit-learn, online": (of_sklearn, {}),
    "gensim": (gensim, {}),
}


@functools.cache
def debian():
    debian = load_debian_descriptions()
    X, X_test = train_test_split(debian.data, test_size=0.1, random_state=0)
    return X, X_test, np.array(debian.feature_names)


@functools.cache
def fitted(name, seed, half=None):
    """Return the CPU seconds and the topics of a fit to all texts or to a half."""
    X = debian()[0] if half is None else debian()[0][half::2]
    function, parameters = CONTESTANTS[name]
    return timed(lambda: function(X, N_TOPICS, seed, **parameters))


def planned(options, measured, names):
    """Yield the keys and the functions of the measurements."""
    for name in names:
        if name.partition(",")[0] not in {"gensim", "tomotopy"} - {*PEERS}:
            yield {"contestant": name}, functools.partial(measured, options, name)


# -- scores ----------------------------------------------------------------------------


def descriptions(options):
    """50 topics of 46,970 descriptions, scored on 5,219 others."""
    return planned(options, scored, CONTESTANTS)


def scored(options, name):
    return [_scores(name, seed) for seed in range(options.seeds or 3)]


def _scores(name, seed):
    seconds, topics = fitted(name, seed)
    X_test = debian()[1]
    # topics are pseudo-counts
    judge = LatentDirichletAllocation(
        N_TOPICS, doc_topic_prior=ALPHA, topic_word_prior=ETA
    )
    judge.partial_fit(X_test[:2])
    judge.components_ = topics.astype(np.float64)
    totals = judge.components_.sum(axis=1, keepdims=True)
    judge.exp_dirichlet_component_ = np.exp(psi(judge.components_) - psi(totals))
    first = np.argsort(-topics, axis=1, kind="stable")[:, :N_DIVERSE]
    return {
        "seed": seed,
        "score": completion_log_likelihood(judge, X_test),
        "coherence": npmi_coherence(first[:, :N_WORDS].tolist(), X_test).mean(),
        "diversity": topic_diversity(first, n_words=N_DIVERSE),
        "CPU s": seconds,
    }


def table_of_scores(frame):
    """Yield the lines of a table of means, with standard errors of the score."""
    yield "| | held-out nats per token | NPMI coherence | diversity | CPU seconds |"
    yield "|---|---:|---:|---:|---:|"
    for name, rows in frame.groupby("contestant", sort=False):
        mean = rows[["coherence", "diversity", "CPU s"]].mean()
        yield (
            f"| {name} | {spread(rows['score'], 2)} | {mean['coherence']:.3f} "
            f"| {mean['diversity']:.2f} | {mean['CPU s']:.1f} |"
        )


# -- stability -------------------------------------------------------------------------


def stability(options):
    """Share of the 50 topics that recur in another fit.

    Topics are matched one to one, and one recurs if the cosine of the two vectors of
    word probabilities is above 0.8.  Fits with other seeds have the same texts, and
    fits to other texts are those to two disjoint halves.
    """
    names = (
        "`AnnealedLDA`",
        "tomotopy, 100 sweeps",
        "scikit-learn, batch",
        "scikit-learn, online, batches of 1,000",
    )
    return planned(options, recurring, names)


def recurring(options, name):
    seeds = [fitted(name, seed)[1] for seed in range(options.seeds or 3)]
    pairs = [_recurrence(*pair) for pair in itertools.combinations(seeds, 2)]
    halves = [
        _recurrence(fitted(name, seed, 0)[1], fitted(name, seed, 1)[1])
        for seed in range(options.seeds or 3)
    ]
    return {"other seeds": np.mean(pairs), "other texts": np.mean(halves)}


def _recurrence(topics, others):
    cosines = normalize(topics) @ normalize(others).T
    return (cosines[linear_sum_assignment(-cosines)] > SIMILAR).mean()


def table_of_stability(frame):
    yield "| topics that recur with | another seed | other texts |"
    yield "|---|---:|---:|"
    for row in frame.itertuples(index=False):
        yield f"| {row[0]} | {row[1]:.0%} | {row[2]:.0%} |"


STAGES = {
    "descriptions": (descriptions, "Descriptions of packages", table_of_scores),
    "stability": (stability, "Stability", table_of_stability),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add_arguments(parser, STAGES)
    versions = [f"{name} {metadata.version(name)}" for name in PEERS]
    title = "Topics of this package and of its peers"
    run(parser, STAGES, "readme_peers", head_of(title, "readme_peers", *versions))


if __name__ == "__main__":
    main()

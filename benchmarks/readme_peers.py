"""Topics of this package and of other packages: the table of README.md.

    python benchmarks/readme_peers.py --seeds 3
    python benchmarks/readme_peers.py --stages changes

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
from importlib import metadata

import numpy as np
from corpora import tomotopy_lda, tomotopy_topics
from scipy.optimize import linear_sum_assignment
from scipy.special import psi
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split
from stages import add_arguments, head_of, run, spread, timed

from sktemper import AnnealedLDA, TemperedLDA
from sktemper.datasets import load_debian_descriptions, load_python_changes
from sktemper.metrics import completion_log_likelihood, npmi_coherence, topic_diversity

ALPHA, ETA, PASSES, SWEEPS = 0.05, 0.1, 10, 100
PEERS = [name for name in ("gensim", "tomotopy") if importlib.util.find_spec(name)]
#: Numbers of words of a topic for coherence and for the table of words, and number of
#: topics in this table.
N_WORDS, N_SHOWN, SHOWN_TOPICS = 10, 4, 10


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


def fitted(data, K, n_diverse, name, seed):
    """Return the figures of topics, and their first words, most frequent ones first."""
    X, X_test, words = data()
    function, parameters = CONTESTANTS[name]
    seconds, topics = timed(lambda: function(X, K, seed, **parameters))
    # topics are pseudo-counts
    judge = LatentDirichletAllocation(K, doc_topic_prior=ALPHA, topic_word_prior=ETA)
    judge.partial_fit(X_test[:2])
    judge.components_ = topics.astype(np.float64)
    totals = judge.components_.sum(axis=1, keepdims=True)
    judge.exp_dirichlet_component_ = np.exp(psi(judge.components_) - psi(totals))
    first = np.argsort(-topics, axis=1, kind="stable")[:, :n_diverse]
    frequency = np.asarray(X.sum(axis=0)).ravel()[first[:, :N_WORDS]].sum(axis=1)
    ranked = first[np.argsort(-frequency, kind="stable"), :N_WORDS]
    return {
        "score": completion_log_likelihood(judge, X_test),
        "coherence": npmi_coherence(first[:, :N_WORDS].tolist(), X_test).mean(),
        "diversity": topic_diversity(first, n_words=n_diverse),
        "CPU s": seconds,
        "words": "; ".join(" ".join(words[topic]) for topic in ranked),
    }


def planned(options, data, K, n_diverse, names):
    """Yield the keys and the functions of the fits to a corpus."""
    for seed in range(options.seeds or 3):
        for name in names:
            if name.partition(",")[0] in {"gensim", "tomotopy"} - {*PEERS}:
                continue
            given = data, K, n_diverse, name, seed
            yield {"contestant": name, "seed": seed}, functools.partial(fitted, *given)


def table_of(frame):
    """Yield the lines of a table of means, with standard errors of the score."""
    yield "| | held-out nats per token | NPMI coherence | diversity | CPU seconds |"
    yield "|---|---:|---:|---:|---:|"
    for name, rows in frame.groupby("contestant", sort=False):
        mean = rows[["coherence", "diversity", "CPU s"]].mean()
        yield (
            f"| {name} | {spread(rows['score'], 2)} | {mean['coherence']:.3f} "
            f"| {mean['diversity']:.2f} | {mean['CPU s']:.1f} |"
        )


# -- descriptions of packages ----------------------------------------------------------


@functools.cache
def debian():
    debian = load_debian_descriptions()
    X, X_test = train_test_split(debian.data, test_size=0.1, random_state=0)
    return X, X_test, np.array(debian.feature_names)


def descriptions(options):
    """50 topics of 46,970 descriptions, scored on 5,219 others."""
    return planned(options, debian, 50, 25, CONTESTANTS)


# -- changes of Python -----------------------------------------------------------------


@functools.cache
def python():
    texts = load_python_changes().data["text"].to_numpy()
    train, test = train_test_split(texts, test_size=0.3, random_state=0)
    vectorizer = CountVectorizer(stop_words="english", min_df=5, max_df=0.3)
    X = vectorizer.fit_transform(train)
    return X, vectorizer.transform(test), vectorizer.get_feature_names_out()


def changes(options):
    """30 topics of 70 % of the 11,246 changes of Python that ship with this package.

    The words are the first of the ten topics with the most frequent words, of seed 0,
    and of the most similar topic of each package.  BERTopic has no row: it needs a
    pretrained network and PyTorch.
    """
    names = "`AnnealedLDA`", "tomotopy, 100 sweeps", "scikit-learn, batch"
    return planned(options, python, 30, N_WORDS, names)


def table_with_words(frame):
    """Yield the lines of the table, and of a table of similar topics."""
    yield from table_of(frame)
    found = frame[frame["seed"] == 0].set_index("contestant")["words"]
    topics = [[topic.split() for topic in text.split("; ")] for text in found]
    columns = []
    for other in topics:
        shared = [[len({*a} & {*b}) for b in other] for a in topics[0]]
        matched = linear_sum_assignment(shared, maximize=True)[1][:SHOWN_TOPICS]
        columns.append([" ".join(other[k][:N_SHOWN]) for k in matched])
    yield from ("", f"| {' | '.join(found.index)} |", "|---" * len(found) + "|")
    for row in zip(*columns, strict=True):
        yield f"| {' | '.join(row)} |"


STAGES = {
    "descriptions": (descriptions, "Descriptions of Debian packages", table_of),
    "changes": (changes, "Changes of Python", table_with_words),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add_arguments(parser, STAGES)
    versions = [f"{name} {metadata.version(name)}" for name in PEERS]
    title = "Topics of this package and of its peers"
    run(parser, STAGES, "readme_peers", head_of(title, "readme_peers", *versions))


if __name__ == "__main__":
    main()

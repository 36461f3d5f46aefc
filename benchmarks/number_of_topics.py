"""How many topics: generated truths, found directly, by merging, and from evidence.

    python benchmarks/number_of_topics.py --truth 10 25 50 --seeds 3
    python benchmarks/number_of_topics.py --stability --seeds 3

Documents are drawn from K topics whose prevalences follow Zipf's law.  A true topic is
found where a fitted one, matched one to one, has a cosine above .9.

With ``--stability``: of the topics of two fits to real text, from two seeds, the share
that have a cosine above .8, matched one to one; the mean over all pairs of seeds.
"""

import argparse
import itertools
import time

import numpy as np
from corpora import add_argument, load
from scipy import sparse

from sktemper import AnnealedLDA
from sktemper.datasets import make_lda_documents
from sktemper.metrics import match_components, npmi_coherence, topic_diversity

#: Cosine above which a topic is found, and above which one of two fits is the same.
FOUND, SAME = 0.9, 0.8
#: Topics and training documents of the fits to real text.
N_TOPICS, N_TRAIN = 50, 20_000


def documents(n_topics, seed, n_documents=5000, n_features=2000, doc_length=60):
    """Return counts of documents, and the probabilities of words in the topics."""
    random = np.random.default_rng(seed)
    topics = random.dirichlet(np.full(n_features, 0.02), n_topics)
    prevalence = 1.0 / np.arange(1, n_topics + 1)
    prevalence /= prevalence.sum()  # few topics a document, as in real text
    weights = random.gamma(prevalence, size=(n_documents, n_topics)) + 1e-300
    weights /= weights.sum(axis=1, keepdims=True)
    lengths = random.poisson(doc_length, n_documents)
    rows = [
        random.multinomial(length, of_document @ topics)
        for length, of_document in zip(lengths, weights, strict=True)
    ]
    return sparse.csr_matrix(np.array(rows)), topics


def n_found(topics, lda):
    """Return how many true topics a fit has found."""
    fitted = lda.topic_word_
    few, many = sorted((topics, fitted), key=len)
    _, similarities = match_components(few, many)
    return int((similarities > FOUND).sum())


def ways(n_topics, seed):
    """Yield the names of ways to fit, and estimators."""
    yield "direct", AnnealedLDA(n_topics, random_state=seed)
    yield "direct, 30 passes", AnnealedLDA(n_topics, max_iter=30, random_state=seed)
    yield (
        "from 2 K",
        AnnealedLDA(n_topics, n_start_components=2 * n_topics, random_state=seed),
    )
    yield (
        "from 2 K, sampled",
        AnnealedLDA(
            n_topics,
            n_start_components=2 * n_topics,
            doc_update="sampled",
            random_state=seed,
        ),
    )
    yield (
        "from 3 K",
        AnnealedLDA(n_topics, n_start_components=3 * n_topics, random_state=seed),
    )
    n_start = max(4 * n_topics, 40)
    yield (
        f"number found from {n_start}",
        AnnealedLDA(None, n_start_components=n_start, random_state=seed),
    )


def stability(folder, n_seeds):
    """Fit to real text from several seeds, directly and from more topics; print."""
    for name in "debian", "nyt":
        corpus = load(name, folder, N_TRAIN)
        if corpus is None:
            continue
        for factor in (None, 2, 3):
            n_start = None if factor is None else factor * N_TOPICS
            start = time.process_time()
            fits = [
                AnnealedLDA(
                    N_TOPICS, n_start_components=n_start, random_state=seed
                ).fit(corpus.train)
                for seed in range(n_seeds)
            ]
            seconds = (time.process_time() - start) / n_seeds
            shares = [
                (match_components(a.topic_word_, b.topic_word_)[1] > SAME).mean()
                for a, b in itertools.combinations(fits, 2)
            ]
            scores = [lda.score(corpus.test) for lda in fits]
            coherence = [npmi_coherence(lda, corpus.test).mean() for lda in fits]
            print(
                f"{name:6s} K={N_TOPICS}"
                f" {'direct' if factor is None else f'from {factor} K'}"
                f" the same {np.mean(shares):.2f} {np.round(shares, 2)}"
                f" score {np.mean(scores):.3f} coherence {np.mean(coherence):.3f}"
                f" diversity {np.mean([topic_diversity(lda) for lda in fits]):.2f}"
                f" {seconds:.1f} s",
                flush=True,
            )


def few(n_seeds):
    """Print how many topics are found where there are only a few."""
    for n_topics in 1, 2, 3, 5:
        for n_start in 5, 10, 20, 40, 80:
            found = []
            for seed in range(n_seeds):
                X = make_lda_documents(
                    1500, 300, n_topics, doc_length=60, random_state=seed
                )
                lda = AnnealedLDA(None, n_start_components=n_start, random_state=seed)
                found.append(lda.fit(X).n_components_)
            print(f"K={n_topics} from {n_start:2d}: found {found}", flush=True)


def main():
    """Fit and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_argument(parser)
    parser.add_argument("--stability", action="store_true", help="of real text")
    parser.add_argument("--few", action="store_true", help="true topics")
    parser.add_argument("--truth", type=int, nargs="+", default=[1, 10, 25, 50])
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.stability:
        return stability(arguments.data, max(2, arguments.seeds))
    if arguments.few:
        return few(arguments.seeds)
    for n_topics in arguments.truth:
        for seed in range(arguments.seeds):
            X, topics = documents(n_topics, seed)
            train, test = X[:4000], X[4000:]
            for name, lda in ways(n_topics, seed):
                start = time.process_time()
                lda.fit(train)
                seconds = time.process_time() - start
                print(
                    f"K={n_topics:3d} seed {seed} {name:22s}"
                    f" topics {lda.n_components_:3d}"
                    f" found {n_found(topics, lda):3d} score {lda.score(test):.3f}"
                    f" {seconds:.1f} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()

"""The prior of documents by their length, and one for predictions alone.

    python benchmarks/document_priors.py --seeds 3

For each corpus and number of topics: the held-out score, coherence and diversity with
alpha .05 and "auto"; and what `fit_prior` adds to the score of half of the test
documents, by training documents and by the other half.
"""

import argparse

import numpy as np
from corpora import Corpus, add_argument, load

from sktemper import AnnealedLDA
from sktemper.datasets import make_lda_documents
from sktemper.metrics import npmi_coherence

#: Mean tokens of generated documents.
LENGTHS = (5, 10, 500)


def corpora(folder, n_train):
    """Yield names and corpora."""
    for name in "debian", "nyt", "imdb":
        corpus = load(name, folder, n_train)
        if corpus is not None:
            yield name, corpus
    for length in LENGTHS:
        X = make_lda_documents(
            5000, 2000, 50, doc_length=length, topic_word_prior=0.02, random_state=0
        )
        yield f"{length} words", Corpus(X[:4000], X[4000:])


def diversity(lda):
    """Return the share of distinct words among the 25 first of each topic."""
    words = np.argsort(-lda.components_, axis=1)[:, :25]
    return len(np.unique(words)) / words.size


def main():
    """Fit and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_argument(parser)
    parser.add_argument("--n-train", type=int, default=20_000)
    parser.add_argument("--topics", type=int, nargs="+", default=[20, 100, 400])
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    for name, corpus in corpora(arguments.data, arguments.n_train):
        for n_topics in arguments.topics:
            for seed in range(arguments.seeds):
                for prior in (0.05, "auto"):
                    lda = AnnealedLDA(
                        n_topics, doc_topic_prior=prior, random_state=seed
                    ).fit(corpus.train)
                    score = lda.score(corpus.test)
                    coherence = npmi_coherence(lda, corpus.test).mean()
                    alpha = lda.doc_topic_prior_[0]
                    own, other = corpus.test[::2], corpus.test[1::2]
                    before = lda.score(other)
                    by_training = lda.fit_prior(corpus.train).score(other) - before
                    by_others = lda.fit_prior(own).score(other) - before
                    print(
                        f"{name:9s} K={n_topics:3d} seed {seed} {prior!s:5s}"
                        f" alpha {alpha:.4f} score {score:.3f}"
                        f" coherence {coherence:.3f} diversity {diversity(lda):.2f}"
                        f" fit_prior {by_training:+.3f} by others {by_others:+.3f}"
                        f" (sum {lda.prediction_prior_.sum():.2f})",
                        flush=True,
                    )


if __name__ == "__main__":
    main()

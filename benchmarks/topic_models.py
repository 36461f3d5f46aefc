"""Topics of other packages: how tomotopy is fitted, and how any topics are scored."""

import corpora
import numpy as np

from sktemper import TemperedLDA
from sktemper.learning_rates import AdaptiveRate


def fixed(topics):
    """Return an estimator that has these topics, and our inference of documents.

    ``init`` sets them, and a document without words makes them a fitted estimator: the
    rate of a warm-up step is 0, so that they stay what they are.
    """
    lda = TemperedLDA(
        len(topics), tempering=None, init=topics, learning_rate=AdaptiveRate()
    )
    return lda.partial_fit(corpora.empty(topics.shape[1]))


def tomotopy_lda(X, n_topics, seed, **priors):
    """Return tomotopy's model with the documents, not yet trained."""
    import tomotopy

    lda = tomotopy.LDAModel(k=n_topics, seed=seed, **priors)
    for words, counts in corpora.documents(X):
        if len(words):
            lda.add_doc([str(word) for word in np.repeat(words, counts.astype(int))])
    return lda


def tomotopy_topics(lda, n_features):
    """Return tomotopy's pseudo-counts of words, (n_topics, n_features)."""
    topics = np.full((lda.k, n_features), lda.eta)
    topics[:, [int(word) for word in lda.used_vocabs]] = [
        lda.get_topic_word_dist(k, normalize=False) for k in range(lda.k)
    ]
    return topics

"""Fits of tomotopy, and scores of topics of any package."""

import corpora
import numpy as np

from sktemper import TemperedLDA
from sktemper.learning_rates import AdaptiveRate


def fixed(topics):
    """Return a fitted estimator of this package with given topics.

    ``init`` sets the topics. A step with an empty document makes the estimator fitted;
    its learning rate is 0, so that the topics do not change.
    """
    lda = TemperedLDA(
        len(topics), tempering=None, init=topics, learning_rate=AdaptiveRate()
    )
    return lda.partial_fit(corpora.empty(topics.shape[1]))


def tomotopy_lda(X, n_topics, seed, **priors):
    """Return tomotopy's untrained model with the documents."""
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

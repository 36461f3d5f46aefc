"""What a fitted LDA tells of a corpus: all that the parts of a report are made of."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Facts"]


@dataclass(frozen=True)
class Facts:
    """What a fitted LDA tells of a corpus.

    Attributes
    ----------
    names : list of str of length n_features
        The words.
    counts : ndarray of shape (n_features,)
        How often each occurs.
    tokens : ndarray of shape (n_samples,)
        The number of tokens of each document.
    topic_word : ndarray of shape (n_topics, n_features)
    doc_topic : ndarray of shape (n_samples, n_topics)
    prevalence, coherence : ndarray of shape (n_topics,)
    in_corpus : ndarray of shape (n_features,)
        The words' shares of the corpus by the model.
    """

    names: list
    counts: np.ndarray
    tokens: np.ndarray
    topic_word: np.ndarray
    doc_topic: np.ndarray
    prevalence: np.ndarray
    coherence: np.ndarray
    in_corpus: np.ndarray

    @classmethod
    def of(cls, lda, X, rows, feature_names):
        """Return the facts of a fitted LDA and a corpus."""
        table = lda.topics(feature_names, 10, X=X)
        first = table[table["rank"] == 1]
        topic_word = np.asarray(lda.topic_word_, dtype=np.float64)
        if feature_names is None:
            n_features = topic_word.shape[1]
            feature_names = getattr(lda, "feature_names_in_", np.arange(n_features))
        prevalence = first["prevalence"].to_numpy()
        return cls(
            names=[str(name) for name in feature_names],
            counts=rows.counts,
            tokens=rows.tokens,
            topic_word=topic_word,
            doc_topic=np.asarray(lda.transform(X)),
            prevalence=prevalence,
            coherence=first["coherence"].to_numpy(),
            in_corpus=np.maximum(prevalence @ topic_word, np.finfo(float).tiny),
        )

    def label(self, k, n_words=3):
        """Return the most relevant words of a topic, at a relevance of 0.6."""
        log_weight = np.log(self.topic_word[k])
        score = log_weight - 0.4 * np.log(self.in_corpus)
        order = np.argsort(-score, kind="stable")[:n_words]
        return " ".join(self.names[v] for v in order)

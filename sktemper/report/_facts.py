"""What a fitted model tells of a corpus: all that a report is made of."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Facts"]


@dataclass(frozen=True)
class Facts:
    """What a fitted model tells of a corpus.

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
    def of(cls, *, rows, prevalence, topic_word, **others):
        """Return the facts of a model and of a corpus, whose `Rows` are given."""
        in_corpus = np.maximum(prevalence @ topic_word, np.finfo(float).tiny)
        return cls(
            counts=rows.counts,
            tokens=rows.tokens,
            prevalence=prevalence,
            topic_word=topic_word,
            in_corpus=in_corpus,
            **others,
        )

    def label(self, k, n_words=3):
        """Return the most relevant words of a topic, at a relevance of 0.6."""
        log_weight = np.log(self.topic_word[k])
        score = log_weight - 0.4 * np.log(self.in_corpus)
        order = np.argsort(-score, kind="stable")[:n_words]
        return " ".join(self.names[v] for v in order)

"""Results of a fitted model for a corpus, the input of a report."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..text._clusters import class_idf
from ._order import largest

#: Largest number of words of a label.
MOST_IN_LABEL = 6


@dataclass(frozen=True)
class Facts:
    """Results of a fitted model for a corpus.

    Attributes
    ----------
    names : list of str of length n_features
        The words.
    counts : ndarray of shape (n_features,)
        Number of occurrences of each word.
    tokens : ndarray of shape (n_samples,)
        Number of tokens of each document.
    topic_word : ndarray of shape (n_topics, n_features)
        Probabilities of words in topics.
    doc_topic : ndarray of shape (n_samples, n_topics)
        Probabilities of topics in documents.
    prevalence, coherence : ndarray of shape (n_topics,)
        Share of the tokens and coherence of each topic.
    in_corpus : ndarray of shape (n_features,)
        Share of each word in the corpus according to the model.
    numbers : ndarray of shape (n_topics,)
        The indices of the topics in the model.
    """

    names: list
    counts: np.ndarray
    tokens: np.ndarray
    topic_word: np.ndarray
    doc_topic: np.ndarray
    prevalence: np.ndarray
    coherence: np.ndarray
    in_corpus: np.ndarray
    numbers: np.ndarray
    by_tfidf = False  # whether the page initially ranks words by class TF-IDF

    @classmethod
    def of(cls, *, rows, prevalence, topic_word, **others):
        in_corpus = np.maximum(prevalence @ topic_word, np.finfo(float).tiny)
        return cls(
            counts=rows.counts,
            tokens=rows.tokens,
            prevalence=prevalence,
            topic_word=topic_word,
            in_corpus=in_corpus,
            numbers=np.arange(len(prevalence)),
            **others,
        )

    def class_tfidf(self, k):
        mean_tokens = self.tokens.sum() / len(self.prevalence)
        return self.topic_word[k] * class_idf(self.counts, mean_tokens)

    def label(self, k, n_words=3):
        """Return the label of a topic, which consists of its most relevant words."""
        return " ".join(self.names[v] for v in self._best_words[k][:n_words])

    @cached_property
    def _best_words(self):
        """Words of the topics' labels, ranked by relevance with the weight 0.6."""
        log_in_corpus = np.log(self.in_corpus)
        return [
            largest(np.log(weight) - 0.4 * log_in_corpus, MOST_IN_LABEL)
            for weight in self.topic_word
        ]


@dataclass(frozen=True)
class ClusterFacts(Facts):
    """Facts about clusters, labelled by the words with the largest class TF-IDF."""

    by_tfidf = True

    @cached_property
    def _best_words(self):
        """Words of the clusters' labels, ranked by class TF-IDF."""
        return [
            largest(self.class_tfidf(k), MOST_IN_LABEL)
            for k in range(len(self.numbers))
        ]

"""Facts about fitted models: LDA, mixtures of multinomials, and clusters."""

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._utils._words import N_COMPARED, PRIOR_TOKENS, WordRanks, check_names, class_idf
from ..metrics import npmi_coherence
from ..plotting import topic_shares

#: Largest number of words of a label.
MOST_IN_LABEL = 6


@dataclass(frozen=True)
class Facts(WordRanks):
    """Results of a fitted model for a corpus, after those of `WordRanks`.

    Attributes
    ----------
    names : list of str of length n_features
        The words.
    rows : CountRows
        Numbers of occurrences of words in documents.
    doc_topic : ndarray of shape (n_samples, n_topics)
        Probabilities of topics in documents.
    numbers : ndarray of shape (n_topics,)
        The indices of the topics in the model.
    rank_by : {"term_score", "class_tfidf"}
        What chooses the words of labels, and initially ranks words on the page.
    labels : list of str or None
        Labels of the topics, if they are not made of words.
    recurrence : list of float or None
        Probabilities that topics return in fits to other documents.
    """

    names: list
    rows: Any
    doc_topic: np.ndarray
    numbers: np.ndarray
    rank_by: str = "term_score"
    labels: list | None = None
    recurrence: list | None = None

    def summary(self):
        """Return the part of the page's data that describes the topics."""
        return {
            "n_documents": len(self.rows),
            "n_tokens": round(float(self.rows.tokens.sum())),
            "n_features": len(self.names),
            "numbers": self.numbers.tolist(),
            "rank_by": self.rank_by,
            "labels": [self.label(k) for k in range(len(self.prevalence))],
            "prevalence": self.prevalence.round(6).tolist(),
            "recurrence": self.recurrence,
            "coherence": self.coherence().round(3).tolist(),
        }

    def coherence(self):
        """Return the coherence of the most probable words of each topic."""
        order = np.argsort(-self.topic_word, axis=1, kind="stable")
        words, places = np.unique(order[:, :N_COMPARED], return_inverse=True)
        topics = list(places.reshape(len(order), -1))
        return npmi_coherence(topics, self.rows.columns(words))

    def rank(self, k, rank_by):
        if rank_by != "class_tfidf":
            return super().rank(k, rank_by)
        mean_tokens = self.rows.tokens.sum() / len(self.prevalence)
        return self.topic_word[k] * class_idf(self.rows.counts, mean_tokens)

    def topics_given(self, words):
        """Return the probabilities of topics given words, (n_words, n_topics)."""
        joint = self.prevalence[:, None] * self.topic_word[:, words]
        return (joint / self.in_corpus[words]).T

    def label(self, k, n_words=3):
        """Return the label of a topic: the given one, or its first words."""
        if self.labels is not None:
            return self.labels[k]
        return " ".join(self.words(k, n_words))

    def words(self, k, n_words):
        return [self.names[v] for v in self._best_words[k][:n_words]]

    @cached_property
    def _best_words(self):
        """Words of labels."""
        return self.lists(self.rank_by, MOST_IN_LABEL)


# -- kinds of models -------------------------------------------------------------------
#: Topics of a word with a smaller probability are left out, except for the most
#: probable topic.
LEAST_PROBABILITY = 0.1


def find_interface(estimator, embeddings=None):
    """Return the interface to a fitted estimator, chosen by its methods.

    ``embeddings`` are the data of the estimator, if it was not fitted to word counts.
    """
    if embeddings is not None:
        if isinstance(estimator, type) or not hasattr(estimator, "predict"):
            raise TypeError(
                "With embeddings, lda must be a fitted estimator with predict_proba or "
                f"predict, got {type(estimator).__name__}."
            )
        return ClusterInterface(estimator, embeddings)
    for kind in LDAInterface, MixtureInterface:
        if not isinstance(estimator, type) and all(
            hasattr(estimator, name) for name in kind.needs
        ):
            return kind(estimator)
    hint = (
        "; for a pipeline, pass the last step, pipeline[-1], and as X the result of "
        "pipeline[:-1].transform"
    )
    raise TypeError(
        "lda must be a fitted LDA or mixture of multinomials of sktemper, or "
        f"embeddings must be given, got {type(estimator).__name__}"
        f"{hint if hasattr(estimator, 'steps') else ''}."
    )


class LDAInterface:
    """Interface to latent Dirichlet allocation, which assigns topics to each word."""

    needs = ("topics", "explain", "transform")

    def __init__(self, estimator):
        self._estimator = estimator

    def facts(self, X, rows, feature_names):
        """Return the `Facts` of the topics that are not empty."""
        if feature_names is None:
            feature_names = self._estimator._names()
        names = _as_texts(feature_names, rows)
        words = self._estimator._words_of_topics()
        numbers = np.flatnonzero(words.occurs.any(axis=1))
        if not len(numbers):
            raise ValueError("lda has only empty topics: there is nothing to show.")
        chosen = words.concentration[numbers], words.occurs[numbers]
        doc_topic = np.asarray(self._doc_topic(X))[:, numbers]
        prevalence = self._prevalence(X, rows, doc_topic, numbers)
        returns = getattr(self._estimator, "recurrence_", None)
        returns = None if returns is None else returns[numbers].round(2).tolist()
        facts = *chosen, prevalence, names, rows, doc_topic, numbers
        return Facts(*facts, recurrence=returns)

    def _doc_topic(self, X):
        return self._estimator.transform(X)

    def _prevalence(self, X, rows, doc_topic, numbers):
        """Return the shares of topics in the tokens of all documents."""
        return self._estimator._prevalence(X)[numbers]

    def word_topics(self, X, facts):
        """Return a dict for each document: for each word, its topics' probabilities."""
        numbers = list(map(str, range(len(facts.names))))
        table = self._estimator.explain(X, numbers, min_probability=LEAST_PROBABILITY)
        found = [{} for _ in range(X.shape[0])]
        fields = (table[name] for name in ("document", "word", "topic", "probability"))
        places = {topic: place for place, topic in enumerate(facts.numbers)}
        for document, word, topic, probability in zip(*fields, strict=True):
            of_word = found[document].setdefault(int(word), {})
            if topic in places:
                of_word[places[topic]] = probability
        return found


class MixtureInterface(LDAInterface):
    """Interface to a mixture of multinomials, which has one topic for each document."""

    needs = ("top_words", "predict_proba", "sample")

    def _doc_topic(self, X):
        return self._estimator.predict_proba(X)

    def _prevalence(self, X, rows, doc_topic, numbers):
        return topic_shares(doc_topic, rows.tokens)

    def word_topics(self, X, facts):
        documents = count_words(X)
        words = sorted(set().union(*documents))
        topics_of = {}
        for word, shares in zip(words, facts.topics_given(words), strict=True):
            kept = {*np.flatnonzero(shares >= LEAST_PROBABILITY), shares.argmax()}
            topics_of[word] = {int(k): float(shares[k]) for k in kept}
        return [{word: topics_of[word] for word in counts} for counts in documents]


class ClusterInterface(MixtureInterface):
    """Interface to clusters of data other than word counts, such as embeddings.

    The estimator has ``predict_proba`` or ``predict``.
    """

    def __init__(self, estimator, embeddings):
        self._estimator, self._embeddings = estimator, embeddings

    def facts(self, X, rows, feature_names):
        """Return the `Facts` of the clusters that have documents."""
        if feature_names is None:
            feature_names = getattr(X, "columns", range(len(rows.counts)))
        names = _as_texts(feature_names, rows)
        memberships = self._memberships()
        if len(memberships) != len(rows):
            raise ValueError(
                "embeddings must have one row for each of the "
                f"{len(rows)} rows of X, got {len(memberships)}."
            )
        filled = np.flatnonzero(memberships.T @ rows.tokens >= 0.5)
        counts = rows.sums(memberships[:, filled])
        occurs = counts > 0
        corpus = rows.counts + 0.5  # so that logarithms are finite for all words
        counts += PRIOR_TOKENS * corpus / corpus.sum()
        lacking = 1.0 - memberships[:, filled].sum(axis=1, keepdims=True)
        memberships = memberships[:, filled] + lacking / len(filled)
        prevalence = topic_shares(memberships, rows.tokens)
        words = counts, occurs, prevalence, names
        return Facts(*words, rows, memberships, filled, "class_tfidf")

    def _memberships(self):
        if hasattr(self._estimator, "predict_proba"):
            found = np.asarray(self._estimator.predict_proba(self._embeddings))
            return found.astype(np.float64)
        labels = np.asarray(self._estimator.predict(self._embeddings))
        return np.equal.outer(labels, np.arange(labels.max() + 1)).astype(np.float64)


def count_words(X):
    """Return a dict for each document: the numbers of occurrences of its words."""
    X = sparse.csr_matrix(X)
    X.sum_duplicates()
    X.eliminate_zeros()
    pairs = zip(X.indices.tolist(), X.data.tolist(), strict=True)
    return [dict(itertools.islice(pairs, n)) for n in np.diff(X.indptr).tolist()]


def _as_texts(feature_names, rows):
    return [str(name) for name in check_names(feature_names, len(rows.counts))]

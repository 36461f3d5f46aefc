"""Words of topics and clusters, their names and how much they say; named groups."""

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.special import ndtri

from ._arguments import check_share, positive_int, refuse
from ._evidence import FALSE_ALARM_RATE
from ._typing import ArrayLike, Float, Int

#: Pattern of the words of a text, by which scikit-learn's vectorizers find them.
WORD = r"\b\w\w+\b"
#: Number of tokens with the distribution of the corpus that are added to each cluster.
#: They make the lift of a word finite, and moderate in a cluster of few tokens.
PRIOR_TOKENS = 1.0
#: Largest share of the tokens of some texts without a column that is no reason to warn.
MOST_UNKNOWN = 0.05
#: Number of the most probable words of a topic for its coherence and recurrence.
N_COMPARED = 10


@dataclass(frozen=True)
class WordRanks:
    """Words of topics, and the numbers that rank them.

    Attributes
    ----------
    concentration : ndarray of shape (n_topics, n_words)
        Dirichlet parameters.
    occurs : ndarray of bool of shape (n_topics, n_words)
        Whether topics have tokens of words; other words have no rank.
    prevalence : ndarray of shape (n_topics,)
        Shares of the topics in the corpus.
    """

    concentration: np.ndarray
    occurs: np.ndarray
    prevalence: np.ndarray

    @classmethod
    def of_tokens(cls, concentration, tokens, prevalence=None):
        """Return the words of topics with expected tokens.

        Less than half a token, or half of the largest number, is none.  The shares of
        topics are by default those of the tokens.
        """
        occurs = (tokens >= 0.5 * min(1.0, tokens.max())) & (tokens > 0.0)
        shares = tokens.sum(axis=1) if prevalence is None else prevalence
        return cls(concentration, occurs, shares)

    @cached_property
    def topic_word(self):
        """Probabilities of words in topics, (n_topics, n_words)."""
        return self.concentration / self.concentration.sum(axis=1, keepdims=True)

    @cached_property
    def in_corpus(self):
        """Share of each word in the corpus according to the model, (n_words,)."""
        return np.maximum(self.prevalence @ self.topic_word, np.finfo(float).tiny)

    @cached_property
    def term_scores(self):
        """How much words tell each topic from the others, (n_topics, n_words).

        This is the term score of [1]_, with upper limits u of the rates, see `topics`
        of LDA: mean * (log u - mean over topics of log u).  A word that other topics
        lack by chance, because they have few tokens, thus counts little.

        References
        ----------
        .. [1] D. Blei, J. Lafferty, "Topic models", in "Text mining: classification,
           clustering, and applications", 2009.
        """
        mean = self.topic_word
        totals = self.concentration.sum(axis=1, keepdims=True)
        spread = np.sqrt(mean * (1.0 - mean) / (totals + 1.0))
        log_upper = np.log(mean + ndtri(1.0 - FALSE_ALARM_RATE) * spread)
        return mean * (log_upper - log_upper.mean(axis=0))

    def log_lift(self, k):
        return np.log(self.topic_word[k]) - np.log(self.in_corpus)

    def rank(self, k, rank_by):
        """Return the numbers that rank the words of a topic, the largest first.

        Where no contrast is known, words are ranked by their probability.

        Parameters
        ----------
        k : int
        rank_by : {"term_score", "probability"} or float
            A number is the weight of the probability in the relevance.
        """
        if not isinstance(rank_by, str):
            weight = check_share(rank_by, "rank_by")
            log_mean = np.log(self.topic_word[k])
            return weight * log_mean + (1.0 - weight) * self.log_lift(k)
        if rank_by == "term_score":
            return np.maximum(self.term_scores[k], 0.0)
        if rank_by == "probability":
            return self.topic_word[k]
        refuse("rank_by", "'term_score', 'probability' or a float", rank_by)

    def lists(self, rank_by, n_words):
        """Return for each topic the columns of its words, at most ``n_words``."""
        n_words, lists = positive_int(n_words, "n_words"), []
        for k, occurs in enumerate(self.occurs):
            columns, rank = np.flatnonzero(occurs), self.rank(k, rank_by)
            order = np.lexsort((-self.topic_word[k, columns], -rank[columns]))
            lists.append(columns[order[:n_words]])
        return lists


class TopWordsMixin:
    """Mixin of estimators whose `_words_of_topics` returns their `WordRanks`."""

    def top_words(
        self,
        feature_names: ArrayLike | None = None,
        n_words: Int = 10,
        *,
        rank_by: Literal["term_score", "probability"] | Float = "term_score",
    ) -> list[list[str]]:
        """Return the words that tell each topic from the others.

        The components of a mixture are its topics.

        Parameters
        ----------
        feature_names : array-like of shape (n_features,), default=None
            The words, such as the result of a vectorizer's ``get_feature_names_out``.
            None uses the column names of the training data, or else column numbers.
        n_words : int, default=10
            Largest number of words of each topic.
        rank_by : {"term_score", "probability"} or float, default="term_score"
            What ranks words, see `AnnealedLDA.topics`.

        Returns
        -------
        topics : list of n_components lists of str
            The best word first.  Words without tokens in the topic are left out, so
            that the list of an empty topic is empty.

        Raises
        ------
        ValueError
            If the number of names differs from the number of features, or a parameter
            is out of range.
        """
        self._check_fitted()
        names = self._names(feature_names)
        lists = self._words_of_topics().lists(rank_by, n_words)
        return [[str(word) for word in names[columns]] for columns in lists]


def class_idf(word_counts, mean_tokens):
    """Return the factors of class TF-IDF that do not depend on the group.

    The factors of words without counts are finite, and otherwise arbitrary.
    """
    return np.log1p(mean_tokens / np.where(word_counts > 0, word_counts, 1.0))


def check_names(feature_names, n_features):
    """Return names as an array of objects; raise unless each column has one."""
    names = np.asarray(feature_names, dtype=object)
    if names.shape != (n_features,):
        found = len(names) if names.ndim == 1 else type(feature_names).__name__
        raise ValueError(
            f"feature_names must have one name for each of the {n_features} columns of "
            f"X, got {found}."
        )
    return names


def check_documents(documents, n_rows):
    if documents is None:
        return None
    if isinstance(documents, str):
        raise ValueError("documents must be a sequence of str, got one str.")
    documents = list(documents)
    if len(documents) != n_rows:
        raise ValueError(
            f"documents must have one text for each of the {n_rows} rows of X, got "
            f"{len(documents)}."
        )
    for number, text in enumerate(documents):
        if not isinstance(text, str):
            raise TypeError(f"documents[{number}] must be a str, got {text!r}.")
    return documents


def name_topics(labeller, words, weights, documents, n_texts):
    """Return the label that a function gives each topic, from its words and texts.

    Texts are the ``n_texts`` documents with the largest positive weights of a topic,
    the largest first.

    Parameters
    ----------
    labeller : callable
        Called as ``labeller(words, texts)`` with two lists of str.
    words : sequence of sequences of str
        The words of each topic, whose label is empty if it has none.
    weights : {array-like, sparse matrix} of shape (n_documents, n_topics)
        None without documents.
    documents : list of str or None
    n_texts : int
    """
    if not callable(labeller):
        raise TypeError(f"labeller must be callable, got {labeller!r}.")
    texts = [[] for _ in words]
    if documents is not None:
        weights = sparse.csc_array(weights)
        places = itertools.pairwise(weights.indptr)
        for own, (start, end) in zip(texts, places, strict=True):
            order = np.argsort(-weights.data[start:end], kind="stable")[:n_texts]
            own += [documents[i] for i in weights.indices[start:end][order]]
    pairs = zip((list(map(str, own)) for own in words), texts, strict=True)
    return [str(labeller(own, some)) if own else "" for own, some in pairs]


#: Largest number of groups that are shown.
MOST_GROUPS = 30


def largest_groups(groups, tokens):
    """Return sorted names of groups, numbers of tokens, and places of the largest."""
    names, numbers = np.unique(np.asarray(groups).astype(str), return_inverse=True)
    sizes = np.bincount(numbers, weights=tokens)
    return names, sizes, np.argsort(-sizes, kind="stable")[:MOST_GROUPS]

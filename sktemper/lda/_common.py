"""The common part of topics: words that all topics have at about the same rate."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

#: Smallest number of topics, and largest share of the tokens of one topic, for which a
#: common part is computed.  The own words of a larger topic would seem common.
LEAST_TOPICS, LARGEST_TOPIC = 5, 0.5
#: Number of most frequent words of which shares are computed; all others are topical.
N_FREQUENT = 4000
#: Levels of the quantiles over topics that estimate the common rate of a word: a low
#: one for the words that are named and separated, and a higher one for the words that
#: tables do not show.
LOW, MIDDLE = 0.25, 0.5
#: A word is common if at least this share of its tokens is.
COMMON = 0.3
#: Topics have a common part if at least this share of all tokens is common, at most
#: this share of all words is, and the squared correlation of a common token and a
#: common word is at least this value.
LEAST_TOKENS, MOST_WORDS, LEAST_CORRELATION = 0.05, 0.1, 0.25


class CommonWords(NamedTuple):
    """Words that are common to all topics of a fitted model.

    Attributes
    ----------
    words : ndarray of str or int of shape (n_words,)
        The common words, those with the most common tokens first: column names of the
        training data, or column numbers.
    columns : ndarray of int of shape (n_words,)
        Their columns.
    shares : ndarray of shape (n_words,)
        The share of the tokens of each word that all topics have in common.
    token_share : float
        The share of all tokens that is common.
    """

    words: np.ndarray
    columns: np.ndarray
    shares: np.ndarray
    token_share: float


@dataclass(frozen=True)
class CommonPart:
    """Rates of the tokens that all topics have in common.

    Attributes
    ----------
    frequent : ndarray of int of shape (n_frequent,)
        The columns of the most frequent words; other words have no common tokens.
    in_corpus : ndarray of shape (n_frequent,)
        Probabilities of these words.
    shares, middle_shares : ndarray of shape (n_frequent,)
        Share of the tokens of each word that is common, for the levels `LOW` and
        `MIDDLE`.
    """

    frequent: np.ndarray
    in_corpus: np.ndarray
    shares: np.ndarray
    middle_shares: np.ndarray

    @classmethod
    def of_topics(cls, tokens):
        """Return the common part of topics, or None if they have none.

        Parameters
        ----------
        tokens : ndarray of shape (n_features, n_topics)
            Expected tokens.
        """
        totals, n_topics = tokens.sum(axis=0), tokens.shape[1]
        total = totals.sum()
        if n_topics < LEAST_TOPICS or not totals.max() <= LARGEST_TOPIC * total:
            return None
        in_corpus = tokens.sum(axis=1) / total
        frequent = np.argsort(-in_corpus, kind="stable")[:N_FREQUENT]
        frequent = frequent[in_corpus[frequent] > 0.0]
        in_corpus = in_corpus[frequent]
        ratio = tokens[frequent] / np.maximum(totals, 1e-300) / in_corpus[:, None]
        shares = [
            np.minimum(quantile, 1.0)
            for quantile in _quantiles(ratio, totals / total, (LOW, MIDDLE))
        ]
        part = cls(frequent, in_corpus, *shares)
        return part if part._is_present(len(tokens)) else None

    @property
    def _is_common(self):
        return self.shares >= COMMON

    def _is_present(self, n_features):
        """Return whether few words explain which tokens are common."""
        of_words = self.in_corpus[self._is_common]
        rho, of_common = float(self.in_corpus @ self.shares), float(of_words.sum())
        n_common = len(of_words)
        if rho < LEAST_TOKENS or not 0 < n_common <= MOST_WORDS * n_features:
            return False
        inside = float(of_words @ self.shares[self._is_common])
        covariance = inside - of_common * rho
        variances = of_common * (1.0 - of_common) * rho * (1.0 - rho)
        return covariance > 0 and covariance**2 >= LEAST_CORRELATION * variances

    def columns(self):
        """Return the columns of the common words, and the shares of their tokens."""
        order = np.argsort(-self.in_corpus * self.shares, kind="stable")
        order = order[self._is_common[order]]
        return self.frequent[order], self.shares[order]

    def taken(self, tokens):
        """Return the common tokens of the frequent words, (n_frequent, n_topics)."""
        return self._taken(tokens, self.shares)

    def own_tokens(self, tokens):
        """Return tokens without those of common words, and the common ones of others.

        The result is for tables: it takes more than `taken`.
        """
        own = tokens.copy()
        own[self.frequent] -= self._taken(tokens, self.middle_shares)
        own[self.frequent[self._is_common]] = 0.0
        return own

    def _taken(self, tokens, shares):
        rates = (self.in_corpus * shares)[:, None] * tokens.sum(axis=0)
        return np.minimum(tokens[self.frequent], rates)


def _quantiles(values, weights, levels):
    """Return weighted lower quantiles of rows, each one topic below its level.

    The quantiles of few topics would otherwise be too high.
    """
    order = np.argsort(values, axis=1, kind="stable")
    values = np.take_along_axis(values, order, axis=1)
    below = np.cumsum(weights[order], axis=1)
    for level in levels:
        least = max(level - 1.0 / values.shape[1], 0.0)
        place = (below >= least * (1.0 - 1e-12)).argmax(axis=1)
        yield values[np.arange(len(values)), place]

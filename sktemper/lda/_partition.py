"""Log normaliser of the tempered likelihood, estimated by sampling."""

import math
from typing import NamedTuple

import numpy as np

from .._expfam import _dirichlet
from .._expfam._power_sums import MOST_DRAWN, log_mean_powers

__all__ = ["log_partition"]

#: Largest number of groups of exchangeable words.  With more groups each word is drawn.
MOST_GROUPS = 256
#: Words are exchangeable if the logarithms of their priors round to the same multiple
#: of this value.
WIDTH = 0.2


def log_partition(inverse_temperatures, alpha, eta, n_features, random, n_samples):
    """Return log C(b) per token, see `LDAModel.log_partition`.

    Parameters
    ----------
    inverse_temperatures : ndarray of shape (n_temperatures,)
    alpha : ndarray of shape (n_topics,)
    eta : ndarray of shape (1 or n_topics, 1 or n_features)
    n_features : int
    random : numpy.random.Generator
    n_samples : int
    """
    n_topics = len(alpha)
    words = _words(np.broadcast_to(eta, (n_topics, eta.shape[1])), n_features)
    # one draw of many topics is as precise as many draws of few topics
    n_topic_draws = min(n_samples, math.ceil(n_samples**2 / n_topics))
    n_theta_draws = math.ceil(n_samples / n_topic_draws)
    total = np.zeros(len(inverse_temperatures))
    theta = np.broadcast_to(alpha, (n_samples, n_topics))
    for _ in range(n_topic_draws):
        beta = _dirichlet.log_draws(words.concentrations, random)
        for _ in range(n_theta_draws):
            log_theta = _dirichlet.log_draws(theta, random)
            log_p = _log_matmul(log_theta, beta)
            total += words.log_sums(inverse_temperatures, log_p, log_theta)
    return total / (n_topic_draws * n_theta_draws * n_samples)


class _EachWord(NamedTuple):
    """Vocabulary in which every word is drawn individually.

    Attributes
    ----------
    concentrations : ndarray of shape (n_topics, n_features)
        Concentrations of the words that are drawn.
    """

    concentrations: np.ndarray

    def log_sums(self, exponents, log_p, log_theta):
        """Return log sum_v p_v^b, summed over documents: (n_exponents,).

        Parameters
        ----------
        exponents : ndarray of shape (n_exponents,)
        log_p : ndarray of shape (n_documents, n_features)
            Log probabilities of words in documents.
        log_theta : ndarray of shape (n_documents, n_topics)
            Log weights of topics in documents.
        """
        return np.array([_log_sum_exp(b * log_p).sum() for b in exponents])


class _StandIns(NamedTuple):
    """Vocabulary of groups of exchangeable words; a few words of each group are drawn.

    Attributes
    ----------
    sizes : ndarray of shape (n_groups,)
        Number of words of each group.
    n_drawn : ndarray of int of shape (n_groups,)
        Number of words that represent a group, see `sktemper._expfam._power_sums`.
    of_words : ndarray of shape (n_topics, n_groups)
        Concentration of each word of a group.
    """

    sizes: np.ndarray
    n_drawn: np.ndarray
    of_words: np.ndarray

    @property
    def concentrations(self):
        """Concentrations of the words that are drawn, (n_topics, n_drawn.sum())."""
        return np.repeat(self._of_drawn(), self.n_drawn, axis=1)

    def _of_drawn(self):
        return self.of_words * (self.sizes / self.n_drawn)

    def log_sums(self, exponents, log_p, log_theta):
        """Return the same as `_EachWord.log_sums`, for all words of the groups."""
        log_weights = log_theta - np.log(self.of_words @ self.sizes)
        both = np.hstack([self.of_words, self._of_drawn()])
        of_words, of_drawn = np.split(
            log_mean_powers(exponents, log_weights, both), 2, axis=2
        )
        factors = np.exp(of_words - of_drawn) * (self.sizes / self.n_drawn)
        starts = np.cumsum(self.n_drawn) - self.n_drawn
        sums = [
            np.add.reduceat(np.exp(b * log_p), starts, axis=1) * factors[:, m]
            for m, b in enumerate(exponents)
        ]
        return np.log(np.sum(sums, axis=2)).sum(axis=1)


def _words(eta, n_features):
    """Return the vocabulary of a prior, with or without groups.

    Parameters
    ----------
    eta : ndarray of shape (n_topics, 1 or n_features)
    n_features : int
    """
    if n_features > MOST_DRAWN:
        sizes, of_words = _groups(eta, n_features)
        n_groups = len(sizes)
        if n_groups <= MOST_GROUPS:
            # half of the draws in proportion to group sizes, half equally over groups
            share = 0.5 * (sizes / n_features + 1 / n_groups)
            n_drawn = np.minimum(sizes, np.ceil(MOST_DRAWN * share)).astype(int)
            return _StandIns(sizes, n_drawn, of_words)
    return _EachWord(np.broadcast_to(eta, (len(eta), n_features)))


def _groups(eta, n_features):
    """Return the sizes of groups of words with similar priors, and their priors."""
    if eta.shape[1] == 1:
        return np.array([n_features]), eta
    rows = eta[:1] if (eta == eta[0]).all() else eta
    keys = np.round(np.log(rows) / WIDTH)
    _, group = np.unique(keys, axis=1, return_inverse=True)
    group = group.ravel()
    sizes = np.bincount(group)
    sums = np.stack([np.bincount(group, row) for row in rows])
    return sizes, np.broadcast_to(sums / sizes, (len(eta), len(sizes)))


def _log_sum_exp(logs):
    """Return log(sum(exp(logs), axis=1)), in half the time of SciPy, with equal bits.

    The largest terms are not added to the small terms, which keep their digits in the
    function log1p.
    """
    top = logs.max(axis=1, keepdims=True)
    is_top = logs == top
    others = np.exp(logs - top)
    others[is_top] = 0.0
    n_top = is_top.sum(axis=1, dtype=float)
    return np.log1p(others.sum(axis=1) / n_top) + np.log(n_top) + top[:, 0]


def _log_matmul(a, b):
    """Return log(exp(a) @ exp(b))."""
    top_a, top_b = a.max(axis=1, keepdims=True), b.max(axis=0)
    with np.errstate(divide="ignore"):
        product = np.log(np.exp(a - top_a) @ np.exp(b - top_b))
    return product + top_a + top_b

"""Draws of the topics of LDA from their posterior, by collapsed Gibbs sampling."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import psi

from .._utils._arguments import refuse
from ..model import Request
from ._kernels import sweep

#: Smallest and largest number of sweeps over the tokens, and number of draws of tokens
#: per document between them.  Topics of short documents change slowly.
LEAST_SWEEPS, MOST_SWEEPS, TOKENS_DRAWN = 130, 600, 6000
#: Share of the sweeps that are discarded, and number of sweeps that are kept.
BURN_IN, N_KEPT = 1 / 3, 25
#: Smallest Dirichlet parameter that is learned.
LEAST_PRIOR = 1e-6
#: A fit whose share of tokens outside of the documents is smaller has no others.
FEW_TOKENS = 0.05


class TopicDraw(NamedTuple):
    """A draw from the posterior of topics."""

    topic_word: np.ndarray  # (n_topics, n_features), rows sum to 1
    shares: np.ndarray  # of the topics among the tokens, (n_topics,)
    concentration: float  # sum of alpha


def topic_draws(lda, documents, n_sweeps, random):
    """Yield draws of the topics, with learned priors.

    Parameters
    ----------
    lda : object
        A fitted LDA, at which the chain starts.
    documents : tuple
        Whole counts of words, a csr_array of shape (n_documents, n_features), and gamma
        of the fit, (n_documents, n_topics).
    n_sweeps : int or None
    random : RandomState
    """
    counts, _ = documents
    if n_sweeps is None:
        n_sweeps = int(TOKENS_DRAWN * counts.shape[0] / counts.sum())
        n_sweeps = min(max(n_sweeps, LEAST_SWEEPS), MOST_SWEEPS)
    chain, n_kept = _Chain(lda, *documents, random), min(N_KEPT, n_sweeps)
    kept = np.linspace(BURN_IN * n_sweeps, n_sweeps - 1, n_kept).round().astype(int)
    for number in range(n_sweeps):
        chain.sweep()
        if number in kept:
            yield chain.draw()


class _Chain:
    """The topics of all tokens, and the priors, of which each sweep changes all.

    alpha, and eta if it is one number, are learned by Minka's fixed point: each step
    multiplies them by the ratio of expected counts of tables, given the topics.
    """

    def __init__(self, lda, counts, gamma, random):
        components = lda.components_.astype(np.float64).T
        self.random, self.n_topics = random, components.shape[1]
        lengths = np.asarray(counts.sum(axis=1)).ravel().astype(np.int64)
        self.starts = np.concatenate([[0], np.cumsum(lengths)])
        self.lengths = lengths[lengths > 0]
        repeats = counts.data.astype(np.int64)
        self.words = np.repeat(counts.indices, repeats).astype(np.int32)
        self.topics = np.full(len(self.words), -1, dtype=np.int32)
        self.alpha = lda.doc_topic_prior_.astype(np.float64)
        self._install(components)
        # each token gets a topic, given those of the tokens before it and the fit
        self._sweep(gamma)
        self.eta = np.array(np.broadcast_to(lda.topic_word_prior_.T, components.shape))
        fitted = (components - self.eta).sum()
        others = max(0.0, 1.0 - len(self.words) / fitted) if fitted > 0 else 0.0
        self.learns_eta = others < FEW_TOKENS and np.ptp(self.eta) == 0.0
        if others >= FEW_TOKENS:  # what the fit has learned from other documents
            self.eta += others * (components - self.eta)
        drawn = np.ones(len(self.words)), (self.words, self.topics)
        drawn = sparse.coo_array(drawn, shape=components.shape).toarray()
        self._install(self.eta + drawn)

    def _install(self, word_topic):
        """Store counts of words by topic in rows whose length is a multiple of 4."""
        width = -(-self.n_topics // 4) * 4
        self.word_topic = np.zeros((len(word_topic), width))
        self.word_topic[:, : self.n_topics] = word_topic
        self.totals = self.word_topic.sum(axis=0)
        self.totals[self.n_topics :] = 1.0

    def _sweep(self, alpha):
        """Draw all topics; return the tables of each topic, see `_kernels.sweep`."""
        prior = np.zeros((len(alpha), len(self.totals)))
        prior[:, : self.n_topics] = alpha
        tables = np.zeros(len(self.totals))
        tokens = self.words, self.starts, self.random.random_sample(len(self.words))
        counts = self.word_topic, self.totals
        sweep(*tokens, prior, self.topics, *counts, tables)
        return tables[: self.n_topics]

    def sweep(self):
        tables = self._sweep(self.alpha[None])
        total = self.alpha.sum()
        of_documents = (psi(self.lengths + total) - psi(total)).sum()
        self.alpha = np.maximum(tables / of_documents, LEAST_PRIOR)
        if self.learns_eta:
            self._learn_eta()

    def _learn_eta(self):
        eta = self.eta[0, 0]
        drawn = self.word_topic[:, : self.n_topics] - eta
        values, numbers = np.unique(drawn.round(), return_counts=True)
        tables = eta * (numbers @ (psi(values + eta) - psi(eta)))
        total, tokens = eta * len(drawn), drawn.sum(axis=0)
        eta = tables / (len(drawn) * (psi(tokens + total) - psi(total)).sum())
        self.eta[:] = max(eta, LEAST_PRIOR)
        self._install(drawn + self.eta)

    def draw(self):
        parameters = self.word_topic[:, : self.n_topics].T
        topic_word = self.random.standard_gamma(parameters)
        topic_word /= topic_word.sum(axis=1, keepdims=True)
        # half a token more, so that a word has a probability in an empty topic
        tokens = np.bincount(self.topics, minlength=self.n_topics) + 0.5
        return TopicDraw(topic_word, tokens / tokens.sum(), self.alpha.sum())


def checked_documents(lda, X):
    """Return validated counts, which must be whole, as a CSR array, and gamma."""
    with lda._fitted_problem(X) as problem:
        parts = list(problem.map(_entries, lda._prepared(problem.model)))
        n_features = problem.model.n_features
    lengths, words, values, gamma = map(np.concatenate, zip(*parts, strict=True))
    if (values != np.rint(values)).any():
        refuse("X", "whole counts, because the topic of each token is drawn", X)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    counts = sparse.csr_array((values, words, starts), (len(lengths), n_features))
    return counts, gamma


def _entries(model, block, prepared):
    gamma = model.optimal_gamma(block, prepared, Request(want=()))
    return np.diff(block.starts), block.words[block.slots], block.counts, gamma

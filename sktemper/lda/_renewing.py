"""Methods of LDA for renewals, see `sktemper.renewals`.

They add topics that are fitted to recent data, join them with the current topics, and
merge similar ones.
"""

import copy

import numpy as np
from scipy.optimize import linear_sum_assignment

from ._merging import groups_of_topics
from ._topics import Topics

__all__ = ["RenewingMixin"]

#: Cosine above which a topic of a renewal is the same as a present one.
SAME_COSINE = 0.9
#: New topics start from this share of the rows, which have the lowest scores, and from
#: at least this number of rows per new topic.
WORST, ROWS_OF_BIRTH = 0.25, 10


class RenewingMixin:
    """Mixin of `LDAModel` with the capability "renewals"."""

    @property
    def n_components(self):
        """Number of topics."""
        return self.n_topics

    def with_births(self, globals_, hyper, n_births, X, row_weight, random):
        """Return a model with ``n_births`` more topics.

        The current topics are the prior of its first topics.

        Parameters
        ----------
        globals_, hyper : object
        n_births : int
        X : ndarray or CSR
            Rows to which the returned model will be fitted.
        row_weight : ndarray of shape (n_rows,)
            Their weights.
        random : numpy.random.Generator

        Returns
        -------
        model : LDAModel
        globals_, hyper : object
        """
        model, hyper = self._larger(n_births, hyper, self._least_prior(n_births))
        model.topic_word_prior[: self.n_topics] += globals_.tokens().T
        start = model.topic_word_prior.copy()
        start[self.n_topics :] = self._births(globals_, hyper, n_births, X, random)
        return model, Topics.from_dense(start.T, model.topic_word_prior.T), hyper

    def _births(self, globals_, hyper, n_births, X, random):
        """Return the start of new topics, found from the rows that fit worst."""
        block = self.take(X, slice(0, X.shape[0]))
        scores, tokens = self.predictive_scores(block, self.prepare(globals_, hyper))
        per_token = np.where(tokens > 0, scores / np.maximum(tokens, 1e-300), np.inf)
        n_worst = min(
            max(round(WORST * len(scores)), ROWS_OF_BIRTH * n_births), len(scores)
        )
        worst = np.sort(np.argsort(per_token, kind="stable")[:n_worst])
        model = copy.copy(self)
        model.n_topics, model.init, model.init_params = n_births, None, "spectral"
        model.topic_word_prior = self.topic_word_prior[:1]
        seed = np.random.RandomState(int(random.integers(2**31)))
        return model.initial_globals(X[worst], seed, hyper[:n_births]).dense().T

    def joined(self, globals_, hyper, born, X, row_weight):
        """Return the model of the present topics and the new ones of `with_births`."""
        tokens = globals_.tokens()
        new = born.tokens()[:, self.n_topics :]
        model, hyper = self._larger(
            new.shape[1], hyper, self._least_prior(new.shape[1])
        )
        topic_word = np.hstack([tokens, new]) + model.topic_word_prior.T
        return model, Topics.from_dense(topic_word, model.topic_word_prior.T), hyper

    def _least_prior(self, n_births):
        """Return eta of topics without a prior of their own."""
        least = self.topic_word_prior.min(axis=0)
        return np.tile(np.broadcast_to(least, self.n_features), (n_births, 1))

    def _larger(self, n_births, hyper, prior):
        """Return a model with more topics, and its alpha."""
        model = copy.copy(self)  # the stop flag is shared
        model.n_topics = self.n_topics + n_births
        model.init, model.init_params = None, "random"
        shape = self.n_topics, self.n_features
        model.topic_word_prior = np.vstack(
            [np.broadcast_to(self.topic_word_prior, shape), prior]
        )
        hyper = np.concatenate([hyper, np.full(n_births, np.median(hyper))])
        if model.doc_topic_prior is not None:
            model.doc_topic_prior = hyper
        return model, hyper

    def merged(self, globals_, hyper, present, present_hyper, X, row_weight):
        """Merge the topics of `joined` to the number of this model.

        A group of merged topics has the column of its largest present topic.  A group
        of new topics has a column that has become free.  A topic is new, too, if most
        of its tokens are of new topics and it differs from the present one.

        Parameters
        ----------
        globals_, hyper : object
            Parameters of the model of `joined`, fitted.
        present, present_hyper : object
            Present parameters of this model.
        X : CSR
        row_weight : ndarray of shape (n_rows,)

        Returns
        -------
        globals_, hyper : object
        is_new : ndarray of bool of shape (n_topics,)
        """
        K, tokens = self.n_topics, globals_.tokens().T
        groups = groups_of_topics(tokens, globals_.prior.T, K)
        column_of = np.full(groups.max() + 1, -1)
        rank = np.lexsort((-tokens[:K].sum(axis=1), ~self._has_own_prior()))
        for topic in rank:
            if column_of[groups[topic]] < 0:
                column_of[groups[topic]] = topic
        free = np.setdiff1d(np.arange(K), column_of)
        new = np.flatnonzero(column_of < 0)
        column_of[new] = free[: len(new)]
        topic_word = np.zeros((K, self.n_features))
        np.add.at(topic_word, column_of[groups], tokens)
        of_new = np.bincount(column_of[groups[K:]], tokens[K:].sum(axis=1), K)
        cosine = (_unit(topic_word.T) * _unit(present.tokens())).sum(axis=0)
        is_new = (of_new > topic_word.sum(axis=1) / 2) & (cosine <= SAME_COSINE)
        is_new[column_of[new]] = True
        topic_word += self.topic_word_prior
        globals_ = Topics.from_dense(topic_word.T, self.topic_word_prior.T)
        return globals_, present_hyper, is_new

    def _has_own_prior(self):
        """Return a mask of topics whose prior exceeds the least one for some word."""
        prior = self.topic_word_prior
        own = (prior > prior.min(axis=0)).any(axis=1)
        return np.broadcast_to(own, self.n_topics)

    def matched(self, globals_, hyper, present, present_hyper, X, row_weight):
        """Reorder topics of a new fit such that similar topics keep their columns.

        Parameters
        ----------
        globals_, hyper : object
            Parameters of a new fit.
        present, present_hyper : object
            Present parameters.
        X : CSR
        row_weight : ndarray of shape (n_rows,)

        Returns
        -------
        globals_ : Topics
        is_same : ndarray of bool of shape (n_topics,)
            Whether the new topic of a column is similar to the current one: a cosine
            above `SAME_COSINE`.
        """
        cosines = _cosines(present.tokens(), globals_.tokens())
        if self._has_own_prior().any():  # columns are not exchangeable
            return globals_, cosines.diagonal() > SAME_COSINE
        _, columns = linear_sum_assignment(-cosines)
        topic_word = globals_.dense()[:, columns]
        is_same = cosines[np.arange(self.n_topics), columns] > SAME_COSINE
        return Topics.from_dense(topic_word, self.topic_word_prior.T), is_same

    def blended(self, globals_, hyper, present, may_be_same, share):
        """Add ``share`` of the tokens of each current topic to its column.

        New topics that differ from the current one of their column do not change.

        Parameters
        ----------
        globals_, hyper, present : object
        may_be_same : ndarray of bool of shape (n_topics,)
            Columns to be compared.
        share : float
        """
        tokens, old = globals_.tokens(), present.tokens()
        cosine = _unit(tokens) * _unit(old)
        same = may_be_same & (cosine.sum(axis=0) > SAME_COSINE)
        tokens[:, same] += share * old[:, same]
        return Topics.from_dense(
            tokens + self.topic_word_prior.T, self.topic_word_prior.T
        )

    def component_counts(self, globals_, hyper):
        """Return the number of expected tokens of each topic."""
        return globals_.token_totals()


def _unit(tokens):
    norm = np.sqrt((tokens**2).sum(axis=0))
    return tokens / np.where(norm > 0, norm, 1.0)


def _cosines(a, b):
    return _unit(a).T @ _unit(b)

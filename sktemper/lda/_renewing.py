"""Methods of LDA for renewals, see `sktemper.renewals`.

A renewal of a stream adds topics that are fitted to recent documents, joins them with
the current topics, and merges similar topics.
"""

import copy

import numpy as np
from scipy.optimize import linear_sum_assignment

from ._merging import groups_of_topics
from ._topics import Topics

__all__ = ["RenewingMixin"]

#: Cosine above which a topic of a renewal is the same as a current topic.
SAME_COSINE = 0.9
#: New topics start from the rows with the lowest scores: this share of all rows, and at
#: least this number of rows per new topic.
WORST, ROWS_OF_BIRTH = 0.25, 10
#: Least weight of the current topic in the mean of a current topic and a similar topic
#: of a renewal.  A renewal fits topics to few documents, with several passes; the
#: current topics have learned more documents, each of them once.
LEAST_KEPT = 0.75


class RenewingMixin:
    """Mixin of `LDAModel` with the capability "renewals"."""

    @property
    def n_components(self):
        """Number of topics."""
        return self.n_topics

    def with_births(self, globals_, hyper, n_births, X, row_weight, random):
        """Return a model with ``n_births`` additional topics.

        The current topics are the prior of the model's first topics.

        Parameters
        ----------
        globals_, hyper : object
        n_births : int
        X : ndarray or CSR
            Rows to which the returned model will be fitted.
        row_weight : ndarray of shape (n_rows,)
            Weights of these rows.
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
        """Return the start of new topics, computed from the rows that fit worst."""
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
        """Return a model of the current topics and the new topics of `with_births`."""
        tokens = globals_.tokens()
        new = born.tokens()[:, self.n_topics :]
        model, hyper = self._larger(
            new.shape[1], hyper, self._least_prior(new.shape[1])
        )
        topic_word = np.hstack([tokens, new]) + model.topic_word_prior.T
        return model, Topics.from_dense(topic_word, model.topic_word_prior.T), hyper

    def _least_prior(self, n_births):
        """Return eta of new topics: the smallest eta of each word in current topics."""
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
        """Merge the topics of `joined` to the number of topics of this model.

        A group of merged topics gets the index of its largest current topic.  A group
        of new topics gets an index that has become free, and is new.  A group with the
        index of a current topic is new, too, if most of its tokens come from new topics
        and it differs from the current topic.

        Parameters
        ----------
        globals_, hyper : object
            Fitted parameters of the model of `joined`.
        present, present_hyper : object
            Current parameters of this model.
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
        """Return a mask of topics whose prior exceeds the smallest prior of a word."""
        prior = self.topic_word_prior
        own = (prior > prior.min(axis=0)).any(axis=1)
        return np.broadcast_to(own, self.n_topics)

    def matched(self, globals_, hyper, present, present_hyper, X, row_weight):
        """Reorder topics of a new fit such that similar topics keep their indices.

        Parameters
        ----------
        globals_, hyper : object
            Parameters of a new fit.
        present, present_hyper : object
            Current parameters.
        X : CSR
        row_weight : ndarray of shape (n_rows,)

        Returns
        -------
        globals_ : Topics
        is_same : ndarray of bool of shape (n_topics,)
            Whether the new topic with each index is similar to the current topic: the
            cosine is above `SAME_COSINE`.
        """
        cosines = _cosines(present.tokens(), globals_.tokens())
        if self._has_own_prior().any():  # topics are not exchangeable
            return globals_, cosines.diagonal() > SAME_COSINE
        _, columns = linear_sum_assignment(-cosines)
        topic_word = globals_.dense()[:, columns]
        is_same = cosines[np.arange(self.n_topics), columns] > SAME_COSINE
        return Topics.from_dense(topic_word, self.topic_word_prior.T), is_same

    def blended(self, globals_, hyper, present, may_be_same, share):
        """Replace new topics by weighted means with similar current topics.

        The weight of the current topics is ``share``, but at least `LEAST_KEPT`.  If
        the memory lacks documents, new topics are first scaled to all documents.  A new
        topic does not change if it differs from the current topic with the same index.

        Parameters
        ----------
        globals_, hyper, present : object
        may_be_same : ndarray of bool of shape (n_topics,)
            Whether to compare the topics with each index.
        share : float
            Weight of the documents that are not remembered, as a share of the weight
            of all documents.
        """
        tokens, old = globals_.tokens(), present.tokens()
        cosine = _unit(tokens) * _unit(old)
        same = may_be_same & (cosine.sum(axis=0) > SAME_COSINE)
        kept = max(share, LEAST_KEPT)
        tokens[:, same] *= (1.0 - kept) / (1.0 - share)
        tokens[:, same] += kept * old[:, same]
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

"""What topics are, and which documents and words belong to them, as tables."""

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.special import psi
from sklearn.utils.validation import check_is_fitted

from .._arguments import is_number, positive_int, refuse
from .._estimator import warn_if_above_one
from .._frames import data_frame, frame_library
from ..model import Request

__all__ = ["TablesMixin"]

#: Entries of a table of similarities that is made at a time.
MOST_ENTRIES = 10_000_000


class TablesMixin:
    """Of a fitted LDA: topics and documents as tables."""

    def top_words(self, feature_names=None, n_words=10):
        """Return the most probable words of each topic.

        Parameters
        ----------
        feature_names : array-like of shape (n_features,), default=None
            The words, as a vectorizer's ``get_feature_names_out`` has them; None takes
            the column names of the training data, or column numbers.
        n_words : int, default=10
            Number of words of each topic.

        Returns
        -------
        topics : list of n_components lists of str
            The most probable word first.

        Raises
        ------
        ValueError
            If there are not as many names as features, or ``n_words`` is less than 1,
            or no integer.

        See Also
        --------
        topics : The same as a table, with figures.
        """
        return self._top_words(feature_names, n_words)

    def topics(
        self,
        feature_names=None,
        n_words=10,
        *,
        X=None,
        relevance=1.0,
        output="pandas",
    ):
        r"""Return the topics as a table with a row for each word of each topic.

        Parameters
        ----------
        feature_names : array-like of shape (n_features,), default=None
            The words; None takes the column names of the training data, or column
            numbers.
        n_words : int, default=10
            Words of each topic.
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Documents to take coherence and prevalence from.
        relevance : float, default=1.0
            :math:`\ell`, from 0 to 1, of the relevance [1]_ by which words are ranked,
            :math:`\ell \log \beta_{kv} + (1 - \ell) \log (\beta_{kv} / p_v)`, where
            :math:`\beta_{kv}` is the probability of a word in a topic and :math:`p_v`
            that in the whole corpus by the model.  1 ranks by probability, as
            `top_words` does; 0 by lift, which favours rare words; people find topics
            easiest to name at about 0.6.
        output : {"pandas", "polars"}, default="pandas"
            The library of the data frame.

        Returns
        -------
        table : DataFrame
            Columns: "topic", from 0; "rank", from 1; "word"; "weight", the probability
            of the word in the topic; "lift", that over its probability in the corpus;
            "relevance"; "prevalence", the topic's share of the tokens, of the training
            data as the fit has them or, if it is given, of ``X``; and with ``X`` also
            "coherence", `sktemper.metrics.npmi_coherence` of the topic's ``n_words``
            most probable words.

        Raises
        ------
        ValueError
            If there are not as many names as features, or a parameter is out of range.
        ImportError
            If the library of the data frame is not installed.

        See Also
        --------
        top_words : The words alone, as lists.
        explain : Which words of a document came from which topic.

        References
        ----------
        .. [1] C. Sievert, K. Shirley, "LDAvis: a method for visualizing and
           interpreting topics", Workshop on interactive language learning,
           visualization, and interfaces, 2014.

        Examples
        --------
        >>> from sktemper import AnnealedLDA
        >>> from sktemper.datasets import make_lda_documents
        >>> X = make_lda_documents(n_samples=300, n_components=5, random_state=0)
        >>> lda = AnnealedLDA(5, random_state=0).fit(X)
        >>> table = lda.topics(n_words=3)
        >>> table.shape
        (15, 7)
        >>> table["rank"].tolist()[:6]
        [1, 2, 3, 1, 2, 3]
        """
        check_is_fitted(self, "state_")
        frame_library(output)
        names = self._names(feature_names)
        n_words = min(positive_int(n_words, "n_words"), len(names))
        relevance = _share(relevance, "relevance")
        prevalence = self._prevalence(X)
        weight = self._topic_word()
        in_corpus = np.maximum(prevalence @ weight, np.finfo(float).tiny)
        lift = weight / in_corpus
        score = relevance * np.log(weight) + (1.0 - relevance) * np.log(lift)
        order = np.argsort(-score, axis=1, kind="stable")[:, :n_words]
        topic = np.repeat(np.arange(len(weight)), n_words)
        chosen = topic, order.ravel()
        columns = {
            "topic": topic,
            "rank": np.tile(np.arange(1, n_words + 1), len(weight)),
            "word": names[chosen[1]].astype(str),
            "weight": weight[chosen],
            "lift": lift[chosen],
            "relevance": score[chosen],
            "prevalence": prevalence[topic],
        }
        if X is not None:
            columns["coherence"] = self._coherence(X, n_words)[topic]
        return data_frame(output, columns)

    def top_documents(self, X, n_documents=5, *, output="pandas"):
        """Return the documents with the largest weight of each topic, as a table.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts.
        n_documents : int, default=5
            Documents of each topic.
        output : {"pandas", "polars"}, default="pandas"
            The library of the data frame.

        Returns
        -------
        table : DataFrame
            Columns: "topic", from 0; "rank", from 1; "document", the row of ``X``;
            "weight", that of the topic in the document.  Empty documents are left out;
            of equal weights the first comes first.

        Raises
        ------
        ValueError
            If ``n_documents`` is less than 1.
        ImportError
            If the library of the data frame is not installed.
        """
        frame_library(output)
        n_documents = positive_int(n_documents, "n_documents")
        gamma = self._doc_topic(X, 1.0)
        # gamma sums to that of the prior and the tokens
        filled = np.flatnonzero(
            gamma.sum(axis=1) > 1.000001 * self._hyper_of_predictions().sum()
        )
        weight = gamma[filled] / gamma[filled].sum(axis=1, keepdims=True)
        order = np.argsort(-weight, axis=0, kind="stable")[:n_documents].T
        n_topics, n_found = order.shape
        topic = np.repeat(np.arange(n_topics), n_found)
        columns = {
            "topic": topic,
            "rank": np.tile(np.arange(1, n_found + 1), n_topics),
            "document": filled[order.ravel()],
            "weight": weight[order.ravel(), topic],
        }
        return data_frame(output, columns)

    def explain(self, X, feature_names=None, *, min_probability=0.1, output="pandas"):
        r"""Return which words of documents came from which topics, as a table.

        The probability that a word of a document came from a topic is that of
        variational inference, :math:`\phi_{dvk} \propto \exp(E[\log \theta_{dk}] +
        E[\log \beta_{kv}])`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts of a few documents; one may be of shape (n_features,), such as
            a row of a sparse array or of a data frame of pandas.
        feature_names : array-like of shape (n_features,), default=None
            The words; None takes the column names of the training data, or column
            numbers.
        min_probability : float, default=0.1
            Topics less probable than this are left out, but never the most probable
            one of a word.
        output : {"pandas", "polars"}, default="pandas"
            The library of the data frame.

        Returns
        -------
        table : DataFrame
            Columns: "document", the row of ``X``; "word"; "count"; "topic" and its
            "probability" for this word in this document.  The words of a document come
            in the order of their columns, the topics of a word the most probable first.

        Raises
        ------
        ValueError
            If there are not as many names as features, or ``min_probability`` is not
            from 0 to 1.
        ImportError
            If the library of the data frame is not installed.

        Examples
        --------
        >>> from sktemper import AnnealedLDA
        >>> from sktemper.datasets import make_lda_documents
        >>> X = make_lda_documents(n_samples=300, n_components=5, random_state=0)
        >>> lda = AnnealedLDA(5, random_state=0).fit(X)
        >>> lda.explain(X[[7]]).columns.tolist()
        ['document', 'word', 'count', 'topic', 'probability']
        """
        check_is_fitted(self, "state_")
        frame_library(output)
        names = self._names(feature_names)
        least = _share(min_probability, "min_probability")
        lengths, words, counts, phi = (
            np.concatenate(part)
            for part in zip(*self._map(_as_rows(X), _word_topics), strict=True)
        )
        order = np.argsort(-phi, axis=1, kind="stable")
        phi = np.take_along_axis(phi, order, axis=1)
        shown = phi >= least
        shown[:, 0] = True
        entry, place = np.nonzero(shown)
        columns = {
            "document": np.repeat(np.arange(len(lengths)), lengths)[entry],
            "word": names[words[entry]].astype(str),
            "count": counts[entry],
            "topic": order[entry, place],
            "probability": phi[entry, place],
        }
        return data_frame(output, columns)

    def similar_documents(self, query, X, n_documents=10):
        r"""Return the documents whose topic weights are nearest to those of others.

        The distance is Hellinger's,
        :math:`\sqrt{1 - \sum_k \sqrt{\theta_{qk} \theta_{dk}}}`, from 0 to 1.

        Parameters
        ----------
        query : {array-like, sparse matrix} of shape (n_queries, n_features)
            Word counts of the documents to find others for; one may be of shape
            (n_features,).
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts of the documents to find them among.
        n_documents : int, default=10
            How many to find; all, if ``X`` has fewer.

        Returns
        -------
        indices : ndarray of shape (n_queries, n_documents)
            Rows of ``X``, the nearest first; a query that is in ``X`` finds itself.
        distances : ndarray of shape (n_queries, n_documents)
            Distances of these documents, from 0 to 1.

        Raises
        ------
        ValueError
            If ``n_documents`` is less than 1.
        """
        n_documents = positive_int(n_documents, "n_documents")
        of_query = np.sqrt(self.transform(_as_rows(query)), dtype=np.float64)
        of_others = np.sqrt(self.transform(X), dtype=np.float64)
        n_documents = min(n_documents, len(of_others))
        size = max(1, MOST_ENTRIES // len(of_others))
        found = [
            _nearest(of_query[start : start + size], of_others, n_documents)
            for start in range(0, len(of_query), size)
        ]
        indices, distances = (np.concatenate(part) for part in zip(*found, strict=True))
        return indices, distances

    # -- what tables are made of -------------------------------------------------------

    def _topic_word(self):
        """Return the mean probabilities of words in topics, in float64."""
        topic_word = self.state_.globals_.dense().T
        return topic_word / topic_word.sum(axis=1, keepdims=True)

    def _prevalence(self, X=None):
        """Return the topics' shares of the tokens, of the training data or of ``X``."""
        if X is None:
            warn_if_above_one(self)
            tokens = self.state_.globals_.tokens().sum(axis=0)
        else:
            gamma = self._doc_topic(X, 1.0)
            of_prior = len(gamma) * self._hyper_of_predictions()
            tokens = np.maximum(gamma.sum(axis=0, dtype=np.float64) - of_prior, 0.0)
        total = tokens.sum()
        return tokens / total if total > 0 else np.full(len(tokens), 1 / len(tokens))

    def _coherence(self, X, n_words):
        from ..metrics import npmi_coherence  # loaded when it is asked for

        return npmi_coherence(self, X, n_words=max(n_words, 2))


def _as_rows(X):
    """Return one document as a matrix of one row; anything else as it is.

    A row of a frame is a series of pandas, and becomes a frame with its column names.
    """
    if hasattr(X, "to_frame") and getattr(X, "ndim", 2) == 1:
        return X.to_frame().T
    if getattr(X, "ndim", 2) == 1 and (sparse.issparse(X) or isinstance(X, np.ndarray)):
        return X.reshape(1, -1)
    return X


def _word_topics(model, block, prepared):
    """Return the lengths of documents, their words, the counts, and phi of each."""
    step = model.local_step(block, prepared, Request(want=("local",)))
    lengths = np.diff(block.starts)
    log_theta = psi(step.local_parameters.astype(np.float64))
    log_beta = psi(prepared.topics.rows(block.words)) - prepared.digamma_totals
    log_phi = np.repeat(log_theta, lengths, axis=0) + log_beta[block.slots]
    log_phi -= log_phi.max(axis=1, keepdims=True, initial=-np.inf)
    phi = np.exp(log_phi)
    phi /= phi.sum(axis=1, keepdims=True)
    return lengths, block.words[block.slots], block.counts, phi


def _nearest(of_query, of_others, n_documents):
    """Return the nearest of others and their distances, of each query."""
    distance = cdist(of_query, of_others) / np.sqrt(2.0)  # 0 for the same weights
    order = np.argsort(distance, axis=1, kind="stable")[:, :n_documents]
    return order, np.take_along_axis(distance, order, axis=1)


def _share(value, name):
    if not is_number(value):
        refuse(name, "a number from 0 to 1", value)
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be from 0 to 1, got {value}.")
    return float(value)

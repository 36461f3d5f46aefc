"""Tables of topics, and of the documents and words that belong to them."""

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

#: Largest number of entries of a table of distances.
MOST_ENTRIES = 10_000_000


class TablesMixin:
    """Mixin of LDA with tables of topics and documents."""

    def top_words(self, feature_names=None, n_words=10):
        """Return the most probable words of each topic.

        Parameters
        ----------
        feature_names : array-like of shape (n_features,), default=None
            The words, such as the result of a vectorizer's ``get_feature_names_out``.
            None uses the column names of the training data, or else column numbers.
        n_words : int, default=10
            Number of words of each topic.

        Returns
        -------
        topics : list of n_components lists of str
            The most probable word first.

        Raises
        ------
        ValueError
            If the number of names differs from the number of features, or ``n_words``
            is not an integer of at least 1.

        See Also
        --------
        topics : Table of the words with their weights.
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
            Documents from which coherence and prevalence are computed.
        relevance : float, default=1.0
            Weight :math:`\ell` from 0 to 1.  Words are ranked by their relevance [1]_,
            :math:`\ell \log \beta_{kv} + (1 - \ell) \log (\beta_{kv} / p_v)`, where
            :math:`\beta_{kv}` is the probability of a word in a topic and :math:`p_v`
            its probability in the whole corpus.  1 ranks by probability, as `top_words`
            does, and 0 by lift, which prefers rare words.  Values near 0.6 made topics
            easiest to name for people [1]_.
        output : {"pandas", "polars"}, default="pandas"
            The library of the data frame.

        Returns
        -------
        table : DataFrame
            Columns: "topic", from 0; "rank", from 1; "word"; "weight", the probability
            of the word in the topic; "lift", its weight divided by its probability in
            the corpus; "relevance"; and "prevalence", the topic's share of the tokens
            of ``X`` or else of the training data.  With ``X`` also "coherence",
            `sktemper.metrics.npmi_coherence` of the ``n_words`` most probable words of
            the topic.

        Raises
        ------
        ValueError
            If the number of names differs from the number of features, or a parameter
            is out of range.
        ImportError
            If the library of the data frame is not installed.

        See Also
        --------
        top_words : Lists of the words of each topic.
        explain : Topics of the words of a document.

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
            and "weight", the weight of the topic in the document.  Empty documents are
            left out.  Documents of equal weight have the order of ``X``.

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
        # the sum of gamma is the sum of the prior plus the number of tokens
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
        r"""Return a table of the topics from which the words of documents came.

        The probability that a word came from a topic is computed by variational
        inference, :math:`\phi_{dvk} \propto \exp(E[\log \theta_{dk}] + E[\log
        \beta_{kv}])`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts of a few documents.  A single document may have the shape
            (n_features,), such as a row of a sparse array or of a pandas DataFrame.
        feature_names : array-like of shape (n_features,), default=None
            The words; None takes the column names of the training data, or column
            numbers.
        min_probability : float, default=0.1
            Topics that are less probable are left out, except for the most probable
            topic of a word.
        output : {"pandas", "polars"}, default="pandas"
            The library of the data frame.

        Returns
        -------
        table : DataFrame
            Columns: "document", the row of ``X``; "word"; "count"; "topic" and its
            "probability" for this word in this document.  Words are in the order of
            their columns.  The topics of a word are in the order of their
            probabilities, largest first.

        Raises
        ------
        ValueError
            If the number of names differs from the number of features, or
            ``min_probability`` is not between 0 and 1.
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
        r"""Return the documents with the most similar topic weights.

        The distance is the Hellinger distance :math:`\sqrt{1 - \sum_k \sqrt{\theta_{qk}
        \theta_{dk}}}`, from 0 to 1.

        Parameters
        ----------
        query : {array-like, sparse matrix} of shape (n_queries, n_features)
            Word counts of documents for which similar ones are searched.  A single
            document may have the shape (n_features,).
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts of the documents that are searched.
        n_documents : int, default=10
            Number of documents to find; if ``X`` has fewer, all are returned.

        Returns
        -------
        indices : ndarray of shape (n_queries, n_documents)
            Rows of ``X``, nearest first.  A query that is in ``X`` finds itself.
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

    # -- contents of tables ------------------------------------------------------------
    def _topic_word(self):
        """Return the mean probabilities of words in topics, in float64."""
        topic_word = self.state_.globals_.dense().T
        return topic_word / topic_word.sum(axis=1, keepdims=True)

    def _prevalence(self, X=None):
        """Return the topics' shares of the tokens of ``X``, or of the training data."""
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
        from ..metrics import npmi_coherence  # imported here to avoid a cycle

        return npmi_coherence(self, X, n_words=max(n_words, 2))


def _as_rows(X):
    """Return a single document as a matrix of one row, and other data unchanged.

    A pandas Series, such as a row of a data frame, becomes a frame of one row.
    """
    if hasattr(X, "to_frame") and getattr(X, "ndim", 2) == 1:
        return X.to_frame().T
    if getattr(X, "ndim", 2) == 1 and (sparse.issparse(X) or isinstance(X, np.ndarray)):
        return X.reshape(1, -1)
    return X


def _word_topics(model, block, prepared):
    """Return the lengths of documents, and words, counts and phi of their entries."""
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
    """Return the nearest other documents of each query, and their distances."""
    distance = cdist(of_query, of_others) / np.sqrt(2.0)  # 0 for the same weights
    order = np.argsort(distance, axis=1, kind="stable")[:, :n_documents]
    return order, np.take_along_axis(distance, order, axis=1)


def _share(value, name):
    if not is_number(value):
        refuse(name, "a number from 0 to 1", value)
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be from 0 to 1, got {value}.")
    return float(value)

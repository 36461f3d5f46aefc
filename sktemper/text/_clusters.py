"""Words that describe clusters of documents."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import _num_samples, check_consistent_length, column_or_1d

from .._utils._arguments import positive_int
from .._utils._frames import check_same_rows, data_frame, frame_library
from .._utils._typing import ArrayLike, DataFrame, DataLike, Int
from .._utils._words import (
    PRIOR_TOKENS,
    check_documents,
    check_names,
    class_idf,
    name_topics,
)

#: Columns of the table by which words may be ranked.
RANKED_BY = ("class_tfidf", "lift", "weight")


def class_tfidf(counts: ArrayLike) -> np.ndarray:
    r"""Return the class TF-IDF of words in groups of documents.

    The value of word :math:`v` in group :math:`k` [1]_ is

    .. math:: \frac{n_{kv}}{\sum_w n_{kw}} \log\left(1 + \frac{A}{n_v}\right),

    where :math:`n_{kv}` is the count of the word in the group, :math:`n_v` is its count
    in all groups, and :math:`A` is the mean number of tokens of a group.

    Parameters
    ----------
    counts : array-like of shape (n_groups, n_features)
        Non-negative counts of words in groups of documents.

    Returns
    -------
    values : ndarray of shape (n_groups, n_features)
        Class TF-IDF; zero for words and groups without counts.

    Raises
    ------
    ValueError
        If a count is negative or not finite.

    See Also
    --------
    cluster_words : Table of the words with the largest values.

    References
    ----------
    .. [1] M. Grootendorst, "BERTopic: Neural topic modeling with a class-based TF-IDF
       procedure", arXiv:2203.05794, 2022.

    Examples
    --------
    >>> from sktemper.text import class_tfidf
    >>> class_tfidf([[8, 0, 2], [0, 5, 5]]).round(3).tolist()
    [[0.649, 0.0, 0.177], [0.0, 0.549, 0.444]]
    """
    options = {"dtype": np.float64, "ensure_non_negative": True}
    counts = check_array(counts, input_name="counts", **options)
    in_group, in_all = counts.sum(axis=1, keepdims=True), counts.sum(axis=0)
    shares = counts / np.where(in_group > 0, in_group, 1.0)  # 0 in an empty group
    return shares * class_idf(in_all, in_group.mean())


def cluster_words(
    X: DataLike,
    memberships: ArrayLike,
    feature_names: ArrayLike | None = None,
    n_words: Int = 10,
    *,
    by: Literal["class_tfidf", "lift", "weight"] = "class_tfidf",
    documents: Sequence | None = None,
    labeller: Callable | None = None,
    output: Literal["pandas", "polars"] = "pandas",
) -> DataFrame:
    """Return a table of the words that describe clusters of documents.

    The clusters may come from any estimator and from data other than word counts, for
    example from a Gaussian mixture that was fitted to sentence embeddings.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Word counts of the documents.
    memberships : array-like of shape (n_samples,) or (n_samples, n_clusters)
        Cluster of each document, an integer from 0, or the probabilities of all
        clusters, as `predict_proba` returns them.  Documents with the label -1, which
        scikit-learn uses for noise, belong to no cluster.
    feature_names : array-like of shape (n_features,), default=None
        Words of the columns, as a vectorizer's ``get_feature_names_out`` returns them.
        None uses the column names of a data frame, or column indices.
    n_words : int, default=10
        Number of words of each cluster.
    by : {"class_tfidf", "lift", "weight"}, default="class_tfidf"
        Column of the table by which words are ranked.
    documents : sequence of str of shape (n_samples,), default=None
        Texts for the ``labeller``.
    labeller : callable, default=None
        Function that names a cluster, for instance by a language model.  It is called
        as ``labeller(words, texts)`` with two lists of str: the words of the cluster,
        and as many of ``documents``, of the largest membership.
    output : {"pandas", "polars"}, default="pandas"
        Library of the data frame.

    Returns
    -------
    table : DataFrame
        Clusters without tokens are left out.  Each row is a word of a cluster, with the
        columns

        - "cluster", the index of the cluster;
        - "rank", the rank of the word in the cluster, from 1;
        - "word";
        - "count", the occurrences of the word in the documents, weighted by their
          membership in the cluster;
        - "weight", the share of the word in the tokens of the cluster;
        - "lift", this share divided by the word's share of all tokens, where one token
          with the distribution of the corpus is added to the cluster;
        - "class_tfidf", see `class_tfidf`;
        - "prevalence", the share of the cluster in all tokens;
        - "label", the name of the cluster, if a ``labeller`` is given.

    Raises
    ------
    ValueError
        If the numbers of documents or words do not agree, if a count or membership is
        negative, or if a parameter is out of range.
    ImportError
        If the library of the data frame is not installed.

    See Also
    --------
    sktemper.report.topic_report : A page with the words and documents of clusters.

    Examples
    --------
    >>> from sktemper.text import cluster_words
    >>> X = [[3, 0, 1], [4, 0, 1], [0, 5, 1], [0, 4, 1]]
    >>> table = cluster_words(X, [0, 0, 1, 1], ["cat", "stone", "the"], n_words=2)
    >>> table[["cluster", "word", "count"]].values.tolist()
    [[0, 'cat', 7.0], [0, 'the', 2.0], [1, 'stone', 9.0], [1, 'the', 2.0]]
    """
    frame_library(output)
    if by not in RANKED_BY:
        raise ValueError(f"by must be one of {list(RANKED_BY)}, got {by!r}.")
    check_same_rows(X=X, documents=documents)
    documents = check_documents(documents, _num_samples(X))
    counts = _counts_of_clusters(X, memberships)
    if feature_names is None:
        feature_names = getattr(X, "columns", range(counts.shape[1]))
    names = check_names(feature_names, counts.shape[1])
    n_words = min(positive_int(n_words, "n_words"), len(names))
    tokens, corpus = counts.sum(axis=1), counts.sum(axis=0)
    filled = np.flatnonzero(tokens > 0)
    if not len(filled):
        raise ValueError(
            "X has no counts in any cluster: at least one document of a cluster needs "
            "a positive count."
        )
    corpus_share = corpus / corpus.sum()
    smooth = (counts + PRIOR_TOKENS * corpus_share) / (tokens + PRIOR_TOKENS)[:, None]
    columns = {
        "count": counts,
        "weight": counts / np.where(tokens > 0, tokens, 1.0)[:, None],
        "lift": smooth / np.where(corpus_share > 0, corpus_share, 1.0),
        "class_tfidf": class_tfidf(counts),
    }
    order = np.argsort(-columns[by][filled], axis=1, kind="stable")[:, :n_words]
    cluster = np.repeat(filled, n_words)
    places = cluster, order.ravel()
    table = {
        "cluster": cluster,
        "rank": np.tile(np.arange(1, n_words + 1), len(filled)),
        "word": names[places[1]].astype(str),
        **{name: values[places] for name, values in columns.items()},
        "prevalence": (tokens / tokens.sum())[cluster],
    }
    if labeller is not None:
        weights = sparse.csc_array(_memberships(memberships))[:, filled]
        labels = name_topics(labeller, names[order], weights, documents, n_words)
        table["label"] = np.repeat(labels, n_words)
    return data_frame(output, table)


def _counts_of_clusters(X, memberships):
    check_same_rows(X=X, memberships=memberships)
    X = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_non_negative=True)
    memberships = _memberships(memberships)
    check_consistent_length(X, memberships)
    counts = memberships.T @ X
    return counts.toarray() if sparse.issparse(counts) else np.asarray(counts)


def _memberships(memberships):
    if np.ndim(memberships) != 1:
        return check_array(
            memberships,
            accept_sparse="csr",
            dtype=np.float64,
            ensure_non_negative=True,
            input_name="memberships",
        )
    labels = column_or_1d(memberships)
    if labels.dtype.kind not in "iu" or (len(labels) and labels.min() < -1):
        raise ValueError(
            "memberships must be integer labels of clusters, from 0 (-1 is noise), or "
            "a matrix of probabilities with one column for each cluster."
        )
    rows = np.flatnonzero(labels >= 0)
    if not len(rows):
        raise ValueError(
            "All labels in memberships are -1, so there is no cluster: at least one "
            "document needs a label of 0 or more."
        )
    shape = len(labels), int(labels.max()) + 1
    return sparse.csr_matrix((np.ones(len(rows)), (rows, labels[rows])), shape)

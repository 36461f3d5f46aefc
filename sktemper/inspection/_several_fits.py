"""What several fits of topics have in common, and a tree of topics."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._utils._arguments import refuse
from .._utils._constraints import WholeNumber, check_arguments
from .._utils._typing import ArrayLike, DataLike, Int, Seed
from ..lda._consensus import common_tokens, fits_to_parts, recurrence
from ..lda._merging import Merging, with_topics
from ..lda._topics import Topics


def check_lda(lda, name="lda", *, is_fitted=True):
    """Raise unless an object is an LDA of this package, which is fitted by default."""
    if not hasattr(type(lda), "merge_topics"):
        refuse(name, f"{'a fitted' if is_fitted else 'an'} LDA of this package", lda)
    if is_fitted:
        check_is_fitted(lda, "state_")


def _check_features(fits):
    """Raise unless fits are two or more topic models of the same features."""
    if not isinstance(fits, list) or len(fits) < 2:
        refuse("fits", "a list of two or more fitted models", fits)
    for lda in fits:
        check_lda(lda, "fits")
    names = {tuple(getattr(lda, "feature_names_in_", ())) for lda in fits} - {()}
    if len(names) > 1 or len({lda.n_features_in_ for lda in fits}) > 1:
        raise ValueError(
            "The fits have different features. Fit all of them to counts of one "
            "vectorizer, or bring them to the same columns by expand_features."
        )


@check_arguments(n_splits=[WholeNumber(1)], random_state=["random_state"])
def topic_consensus(
    fits: Any,
    X: DataLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    n_splits: Int = 20,
    random_state: Seed = None,
) -> Any:
    r"""Return a fitted topic model of the topics that several fits have in common.

    The fits are copies of an LDA that are fitted to random halves of documents, or
    models of different documents, which need not be in one place.  Topics that fits
    have in common return in a fit to other documents more often than those of a single
    fit, and predict documents about as well.  The method ``topics`` and reports show
    how probably each of them returns, see `sktemper.AnnealedLDA.fit_recurrence`.

    Parameters
    ----------
    fits : object or list of fitted LDA
        An LDA whose copies are fitted to halves of ``X``; or, without ``X``, two or
        more fits of different documents with the same features.  None of them changes.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Word counts of four or more documents.
    sample_weight : array-like of shape (n_samples,), default=None
        Number of times that each document counts.
    n_splits : int, default=20
        Number of random splits of ``X`` into halves.  Each takes about the time of a
        fit; one more is into quarters, by which `recurrence_` is estimated.
    random_state : int, RandomState instance or None, default=None
        Seed of the splits.

    Returns
    -------
    consensus : object
        A fitted LDA, for predictions, tables and reports.  It has as many topics as the
        smallest fit, without the topics of others that match none of them.  Fits with
        covariates lose their cells.

    Raises
    ------
    ValueError
        If ``X`` has fewer than four documents, there are fewer than two fits, their
        features differ, or a parameter is out of range.

    See Also
    --------
    sktemper.AnnealedLDA.fit_recurrence : How probably topics of one fit return.

    Notes
    -----
    As in a k-means of directions, topics of each fit are matched one to one with
    centres, by the affinity :math:`\sum_v \sqrt{\beta_v c_v}`, and centres become the
    means of their topics, until neither raises the sum of affinities; [1]_ takes the
    most typical of several fits instead.  A topic of the result has the expected tokens
    of its topics, weighted by the squares of their affinities.

    References
    ----------
    .. [1] J. Rieger, J. Rahnenführer, C. Jentsch, "Improving latent Dirichlet
       allocation: on reliability of the novel method LDAPrototype", NLDB, 2020.

    Examples
    --------
    >>> from sktemper import AnnealedLDA
    >>> from sktemper.datasets import make_lda_documents
    >>> from sktemper.inspection import topic_consensus
    >>> X = make_lda_documents(300, n_components=5, random_state=0)
    >>> lda = topic_consensus(AnnealedLDA(5), X, n_splits=2, random_state=0)
    >>> lda.topics(n_words=1)["recurrence"].tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    if X is None:
        _check_features(fits)
        n_times, pairs, quarters = 1, zip(fits, fits[1:] + fits[:1], strict=True), ()
    else:
        check_lda(fits, "fits", is_fitted=False)
        parts = fits_to_parts(fits, X, sample_weight, n_splits, random_state)
        n_times, pairs, quarters = n_splits, *parts
        fits = [half for pair in pairs for half in pair]
    smallest = min(fits, key=lambda lda: lda.n_components_)
    prior, hyper = smallest.state_.globals_.prior, smallest.state_.hyper
    topics = Topics.from_dense(common_tokens(fits, n_times) + prior, prior)
    found = recurrence(topics.dense().T, pairs, quarters)
    lda = with_topics(smallest, topics, hyper, {}, recurrence=found)
    # the tokens are those of all documents
    states = [fit.state_ for fit in fits]
    n_rows = sum(state.progress.total_rows for state in states) // n_times
    policies = lda.state_.policies
    if policies.learning_rate is not None:  # the population of a stream
        size = sum(state.policies.learning_rate.size for state in states) / n_times
        population = policies.learning_rate._replace(size=size)
        policies = replace(policies, learning_rate=population)
    progress = replace(lda.state_.progress, total_rows=n_rows)
    lda.state_ = replace(lda.state_, progress=progress, policies=policies)
    return lda


def topic_tree(lda: Any) -> np.ndarray:
    r"""Return a tree of topics, in the form of `scipy.cluster.hierarchy.linkage`.

    Topics are merged as in `sktemper.AnnealedLDA.merge_topics`, until one is left: the
    next pair is the one whose merge lowers the evidence of its words least.

    Parameters
    ----------
    lda : object
        A fitted LDA.

    Returns
    -------
    linkage : ndarray of shape (n_components - 1, 4)
        For each merge the indices of both topics or earlier merges, its height, and its
        number of topics.  Merge i has the index ``n_components + i``.  The height is
        the loss of evidence in nats per token of the data, and at least the height of
        the merge before.

    Examples
    --------
    >>> from scipy.cluster.hierarchy import dendrogram
    >>> from sktemper import AnnealedLDA
    >>> from sktemper.datasets import make_lda_documents
    >>> from sktemper.inspection import topic_tree
    >>> X = make_lda_documents(300, n_components=5, random_state=0)
    >>> lda = AnnealedLDA(5, random_state=0).fit(X)
    >>> tree = topic_tree(lda)
    >>> tree.shape
    (4, 4)
    >>> labels = [" ".join(words) for words in lda.top_words(n_words=3)]
    >>> dendrogram(tree, labels=labels, orientation="left")  # doctest: +SKIP
    """
    check_lda(lda)
    tokens = lda.state_.globals_.tokens().T
    merging = Merging(tokens, lda.topic_word_prior_.min(axis=0, keepdims=True), None)
    n_topics, height, total = len(tokens), 0.0, max(tokens.sum(), 1.0)
    node, size, rows = list(range(n_topics)), [1] * n_topics, []
    while merging.n_left > 1:
        kept, gone = merging.best_pair(any_gain=True)
        loss = min(merging.change[kept, gone], merging.change[gone, kept])
        height = max(height, loss / total)
        size[kept] += size[gone]
        rows.append((*sorted((node[kept], node[gone])), height, size[kept]))
        node[kept] = n_topics + len(rows) - 1
        merging.merge(kept, gone)
    return np.array(rows, dtype=float).reshape(-1, 4)

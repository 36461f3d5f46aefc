"""Several fits of topic models: their sum, their agreement, and a tree of topics."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._utils._arguments import Interval, WholeNumber, check_arguments, refuse
from .._utils._frames import data_frame
from .._utils._typing import DataFrame, Float, Int
from ..lda._merging import Merging, groups_of_topics, merged_topics
from ..metrics import match_components


def check_lda(lda, name="lda"):
    """Raise unless an object is a fitted LDA of this package."""
    if not hasattr(type(lda), "merge_topics"):
        refuse(name, "a fitted LDA of this package", lda)
    check_is_fitted(lda, "state_")


def _checked(fits):
    """Return fitted topic models of the same features as a list; raise for others."""
    fits = list(fits) if isinstance(fits, Sequence) else [fits]
    for lda in fits:
        check_lda(lda, "fits")
    if len(fits) < 2:
        refuse("fits", "a list of two or more fitted models", fits)
    names = {tuple(getattr(lda, "feature_names_in_", ())) for lda in fits} - {()}
    if len(names) > 1 or len({lda.n_features_in_ for lda in fits}) > 1:
        raise ValueError(
            "The fits have different features. Fit all of them to counts of one "
            "vectorizer, or bring them to the same columns by expand_features."
        )
    return fits


@check_arguments(n_components=[WholeNumber(1), None])
def combine_fits(fits: Sequence, n_components: Int | None = None) -> Any:
    """Return a fitted topic model that joins separately fitted ones.

    Use it if the documents cannot be in one place, or if parts of them are fitted at
    different times.  The expected tokens of the topics of all fits are merged by
    `sktemper.AnnealedLDA.merge_topics`, so that corresponding topics of two fits become
    one topic, whose tokens are the sum.

    Parameters
    ----------
    fits : list of fitted LDA
        Models of different documents with the same features and the same priors, which
        are numbers.  They do not change.
    n_components : int, default=None
        Number of topics of the result.  None merges similar topics as long as a merge
        raises the evidence of their words.

    Returns
    -------
    combined : object
        A fitted copy of the first model with the joined topics, for predictions,
        tables and reports.  Fits with covariates lose their cells.

    Raises
    ------
    ValueError
        If there are fewer than two fits, if their features or priors differ, or if they
        have fewer topics than ``n_components``.

    See Also
    --------
    topic_consensus : Agreement of several fits of the same documents.

    Examples
    --------
    >>> from sktemper import AnnealedLDA
    >>> from sktemper.datasets import make_lda_documents
    >>> from sktemper.inspection import combine_fits
    >>> X = make_lda_documents(600, n_components=5, random_state=0)
    >>> parts = [AnnealedLDA(5, random_state=0).fit(X[s::2]) for s in (0, 1)]
    >>> combine_fits(parts, 5).transform(X[:2]).shape
    (2, 5)
    """
    fits = _checked(fits)
    priors = fits[0].topic_word_prior_
    if any(
        np.ndim(lda.doc_topic_prior) == 1
        or lda.topic_word_prior_.shape != (1, 1)
        or (lda.topic_word_prior_ != priors).any()
        for lda in fits
    ):
        raise ValueError(
            "The fits must have the same topic_word_prior, and their priors must be "
            "numbers, not arrays."
        )
    tokens = np.concatenate([lda.state_.globals_.tokens().T for lda in fits])
    if n_components is not None and n_components > len(tokens):
        raise ValueError(
            f"n_components={n_components} is more than the {len(tokens)} topics of all "
            "fits together."
        )
    groups = groups_of_topics(tokens, priors, n_components)
    return merged_topics(fits[0], tokens, groups)


@check_arguments(least=[Interval(Real, 0, 1, closed="both")])
def topic_consensus(
    fits: Sequence,
    *,
    least: Float = 0.8,
    output: Literal["pandas", "polars"] = "pandas",
) -> tuple[int, DataFrame]:
    """Return the most typical of several fits, and how often its topics came back.

    Topics of each pair of fits are matched one to one by
    `sktemper.metrics.match_components`.  The fit with the highest mean similarity to
    all others is the most typical one [1]_.

    Parameters
    ----------
    fits : list of fitted LDA
        Fits of random halves or bootstrap samples of the documents.  Fits of the same
        documents agree more, whatever their ``random_state``.
    least : float, default=0.8
        Cosine from which two matched topics are the same.
    output : {"pandas", "polars"}, default="pandas"
        Library of the data frame.

    Returns
    -------
    best : int
        Index of the most typical fit.
    table : DataFrame
        A row for each of its topics: "topic"; "found", the share of the other fits that
        have the topic; and "similarity", the mean cosine with the matched topics of the
        other fits, 0 for a fit without a matched topic.

    Raises
    ------
    ValueError
        If there are fewer than two fits, or their features differ.

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
    >>> fits = [AnnealedLDA(5, random_state=seed).fit(X) for seed in range(3)]
    >>> best, table = topic_consensus(fits)
    >>> table.columns.tolist()
    ['topic', 'found', 'similarity']
    """
    fits = _checked(fits)
    topics = [lda.topic_word_ for lda in fits]
    similarities = [
        np.array([_matched(one, other) for other in topics if other is not one])
        for one in topics
    ]
    best = int(np.argmax([found.mean() for found in similarities]))
    found = similarities[best]
    columns = {
        "topic": np.arange(len(topics[best])),
        "found": (found >= least).mean(axis=0),
        "similarity": found.mean(axis=0),
    }
    return best, data_frame(output, columns)


def _matched(one, other):
    """Return the cosine of each topic and its match, 0 if it has none."""
    if len(one) <= len(other):
        return match_components(one, other)[1]
    similarities = np.zeros(len(one))
    order, cosines = match_components(other, one)
    similarities[order] = cosines
    return similarities


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

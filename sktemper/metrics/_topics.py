"""Coherence, diversity and matching of topics."""

from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.utils import check_array
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from .._engine._data import matrices_of
from .._utils._constraints import POSITIVE, StrOptions, WholeNumber, check_arguments
from .._utils._docstrings import completed_by
from .._utils._typing import ArrayLike, DataLike, Float, Int
from .._utils._validation import check_sparse, check_unmasked


def components_of(estimator, n_features=None):
    if isinstance(estimator, BaseEstimator):
        check_is_fitted(estimator)
    components = check_array(
        estimator.components_, dtype=[np.float64, np.float32], input_name="components_"
    )
    if n_features is not None and components.shape[1] != n_features:
        raise ValueError(
            f"X has {n_features} features, but the model was fitted to "
            f"{components.shape[1]}."
        )
    return components


def check_columns(estimator, X):
    """Raise scikit-learn's error if columns of a data frame differ from the fit's."""
    if hasattr(estimator, "feature_names_in_") and hasattr(X, "columns"):
        _check_feature_names(estimator, X, reset=False)


def scaled(components):
    """Divide each row by a power of two, so that the sum of its squares is finite."""
    _, exponents = np.frexp(np.abs(components).max(axis=1, keepdims=True))
    return np.ldexp(components, -exponents)


def topics_of(topics_or_estimator, n_words, n_features=None):
    """Return for each topic the column indices of its words, most probable first.

    ``n_features`` is None if there are no data.
    """
    if hasattr(topics_or_estimator, "components_") or isinstance(
        topics_or_estimator, BaseEstimator
    ):
        components = components_of(topics_or_estimator, n_features)
        topics = np.argsort(-components, axis=1, kind="stable")
    else:
        topics = _as_arrays(topics_or_estimator)
    if len(topics) == 0:
        raise ValueError("There is no topic: pass a fitted model or at least one list.")
    for topic in topics:
        if topic.ndim != 1 or len(topic) < 2:
            raise ValueError("A topic must be a list of two words or more.")
        if topic.dtype.kind not in "iu":
            raise ValueError(
                "A topic must be a list of column numbers, integers from 0, not of "
                f"{topic.dtype}; or pass a fitted model to use its top words."
            )
        if topic.min() < 0 or (n_features is not None and topic.max() >= n_features):
            raise ValueError(
                f"A topic has words outside the {n_features} columns of X."
                if n_features is not None
                else "A topic has a negative column number."
            )
        if len(np.unique(topic)) < len(topic):
            raise ValueError(
                "A topic has a column number twice: list each word of a topic once."
            )
    return [topic[:n_words] for topic in topics]


def _as_arrays(topics):
    try:
        return [np.asarray(topic) for topic in topics]
    except (NotImplementedError, TypeError, ValueError) as error:
        raise ValueError(
            "Topics must be a fitted model with components_, or lists of column "
            f"numbers, got {topics!r}."
        ) from error


# -- coherence -------------------------------------------------------------------------
_COHERENCE_CONSTRAINTS = {
    "X": ["array-like", "sparse matrix"],
    "n_words": [WholeNumber(2)],
}


@check_arguments(
    **_COHERENCE_CONSTRAINTS,
    smoothing=[None, POSITIVE],
)
def umass_coherence(
    topics_or_estimator: Any,
    X: DataLike,
    *,
    n_words: Int = 10,
    smoothing: Float | None = None,
) -> np.ndarray:
    r"""Return the UMass coherence of each topic.

    The coherence [1]_ is high if the presence of one top word of the topic in a
    document predicts the presence of the others.  It is the mean of

    .. math:: \log \frac{D(w_i, w_j) + s}{D(w_j)}

    over all pairs of a topic's top words, where :math:`w_j` is more probable in the
    topic than :math:`w_i`.  :math:`D(w_j)` is the number of documents that contain
    :math:`w_j`, and :math:`D(w_i, w_j)` the number that contain both words.

    Parameters
    ----------
    topics_or_estimator : object or list of lists of int
        A fitted model with ``components_``; or for each topic the column indices of its
        words, the most probable first.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Word counts of reference documents, usually the training documents.
    n_words : int, default=10
        Largest number of words of each topic to use.
    smoothing : float, default=None
        The number s that is added to counts of documents.  None uses 1e-12 times the
        number of documents, as gensim does.  The paper uses 1, which lowers the
        coherence less for words that never occur together.

    Returns
    -------
    coherence : ndarray of shape (n_topics,)
        Coherence of each topic; higher is better.

    Raises
    ------
    ValueError
        If a topic has fewer than two words, or a word without a column in X.

    See Also
    --------
    npmi_coherence : Coherence that agrees better with human judgement [2]_.

    Notes
    -----
    By default, the values are equal to those of gensim's
    ``CoherenceModel(coherence="u_mass").get_coherence_per_topic()``.  The paper uses
    the sum over pairs; gensim and this function use the mean.  A pair whose
    :math:`w_j` is in no document counts as 0, as in gensim.

    References
    ----------
    .. [1] D. Mimno, H. M. Wallach, E. Talley, M. Leenders and A. McCallum (2011).
           "Optimizing semantic coherence in topic models". EMNLP, 262-272.
    .. [2] M. Röder, A. Both and A. Hinneburg (2015). "Exploring the space of topic
           coherence measures". WSDM, 399-408.

    Examples
    --------
    >>> from sktemper.metrics import umass_coherence
    >>> X = [[2, 1, 0], [1, 1, 0], [0, 0, 3], [1, 0, 1]]
    >>> umass_coherence([[0, 1], [0, 2]], X, smoothing=1)
    array([ 0.        , -0.40546511])
    """

    def coherence(alone, together, n_documents):
        added = _EPSILON * n_documents if smoothing is None else float(smoothing)
        later, earlier = np.tril_indices(len(alone), -1)
        n_earlier = alone[earlier]
        ratio = (together[later, earlier] + added) / np.maximum(n_earlier, 1)
        return np.where(n_earlier > 0, np.log(ratio), 0.0).mean()

    return _coherence(topics_or_estimator, X, n_words, coherence)


@completed_by(umass_coherence, "Raises")
@check_arguments(**_COHERENCE_CONSTRAINTS)
def npmi_coherence(
    topics_or_estimator: Any, X: DataLike, *, n_words: Int = 10
) -> np.ndarray:
    r"""Return the normalized pointwise mutual information (NPMI) of each topic's words.

    This coherence [1]_ [2]_ is the mean of

    .. math::
        \frac{\log \frac{P(w_i, w_j) + \epsilon}{P(w_i) P(w_j)}}
             {-\log (P(w_i, w_j) + \epsilon)}

    over all pairs of a topic's top words.  :math:`P(w_i)` is the share of documents
    that contain :math:`w_i`, :math:`P(w_i, w_j)` the share that contain both words, and
    :math:`\epsilon` is 1e-12.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Word counts of reference documents, or several parts of them: a list of such
        matrices, or a collection on disk.

    Returns
    -------
    coherence : ndarray of shape (n_topics,)
        Coherence of each topic, between -1 and 1; it is 0 if the words are independent,
        and higher is better.

    See Also
    --------
    umass_coherence : Coherence by conditional log-probabilities, which favour frequent
        words.

    Notes
    -----
    The values are equal to those of gensim's
    ``CoherenceModel(coherence="c_npmi").get_coherence_per_topic()`` with a
    ``window_size`` longer than any document.  Counts do not contain the order of words,
    so the window is the whole document.  A pair with a word that is in no document
    counts as 0; in gensim its value is infinite.  A pair of words that are both in
    every document has the value -1, as in gensim, because :math:`\epsilon` decides the
    value of 0 / 0.

    References
    ----------
    .. [1] G. Bouma (2009). "Normalized (pointwise) mutual information in collocation
           extraction". GSCL, 31-40.
    .. [2] J. H. Lau, D. Newman and T. Baldwin (2014). "Machine reading tea leaves:
           automatically evaluating topic coherence and topic model quality". EACL,
           530-539.

    Examples
    --------
    >>> from sktemper.metrics import npmi_coherence
    >>> X = [[2, 1, 0], [1, 1, 0], [0, 0, 3], [1, 0, 1]]
    >>> npmi_coherence([[0, 1], [0, 2]], X)
    array([ 0.4150375 , -0.29248125])
    """

    def coherence(alone, together, n_documents):
        i, j = np.tril_indices(len(alone), -1)
        joint = together[i, j] / n_documents + _EPSILON
        apart = (alone[i] / n_documents) * (alone[j] / n_documents)
        seen = apart > 0
        information = np.log(joint / np.where(seen, apart, 1.0))
        return np.where(seen, information / -np.log(joint), 0.0).mean()

    return _coherence(topics_or_estimator, X, n_words, coherence)


# The value of gensim, from Röder et al. (2015).
_EPSILON = 1e-12


def _coherence(topics_or_estimator, X, n_words, coherence):
    """Return ``coherence(alone, together, n_documents)`` of each topic."""
    check_columns(topics_or_estimator, X)
    read = []
    for part in map(counts_of, matrices_of(X)):
        if not read:
            topics = topics_of(topics_or_estimator, n_words, part.shape[1])
            words, positions = np.unique(np.concatenate(topics), return_inverse=True)
        read.append(sparse.csr_array(part[:, words]))
    present = sparse.vstack(read, format="csr")
    present.sum_duplicates()
    n_documents = present.shape[0]
    present = sparse.csc_array(present != 0, dtype=np.int64)
    if present.nnz == 0:
        raise ValueError(
            "None of the topics' words occurs in X. X may be empty, or its columns may "
            "belong to another vocabulary: count the words with the vocabulary of the "
            "topics."
        )
    # One topic at a time, because the memory for all topics at once would grow with
    # the square of the number of their words.
    ends = np.cumsum([len(topic) for topic in topics])[:-1]
    values = []
    for columns in np.split(positions.ravel(), ends):
        part = present[:, columns]
        together = (part.T @ part).toarray()
        values.append(coherence(together.diagonal(), together, n_documents))
    return np.array(values)


def counts_of(X):
    check_unmasked(X)
    return check_array(
        check_sparse(X), accept_sparse="csr", ensure_non_negative=True, input_name="X"
    )


# -- diversity -------------------------------------------------------------------------
@completed_by(umass_coherence)
@check_arguments(n_words=[WholeNumber(2)])
def topic_diversity(topics_or_estimator: Any, *, n_words: Int = 25) -> float:
    """Return the share of distinct words among the top words of all topics [1]_.

    Parameters
    ----------
    n_words : int, default=25
        Largest number of words of each topic to use.

    Returns
    -------
    diversity : float
        Between 1 / n_topics, if all topics have the same words, and 1, if no two topics
        have a common word.

    Raises
    ------
    ValueError
        If a topic has fewer than two words, or if there is no topic.

    See Also
    --------
    npmi_coherence : Coherence of topics.  Consider both, because topics of randomly
        drawn words are diverse too.

    References
    ----------
    .. [1] A. B. Dieng, F. J. R. Ruiz and D. M. Blei (2020). "Topic modeling in
           embedding spaces". TACL 8, 439-453.

    Examples
    --------
    >>> from sktemper.metrics import topic_diversity
    >>> topic_diversity([[0, 1, 2], [0, 3, 4]])
    0.8333333333333334
    """
    words = np.concatenate(topics_of(topics_or_estimator, n_words))
    return len(np.unique(words)) / len(words)


# -- matching of two fits --------------------------------------------------------------
@check_arguments(
    components_a=["array-like"],
    components_b=["array-like"],
    metric=[StrOptions({"cosine", "jensenshannon"})],
)
def match_components(
    components_a: ArrayLike,
    components_b: ArrayLike,
    *,
    metric: Literal["cosine", "jensenshannon"] = "cosine",
) -> tuple[np.ndarray, np.ndarray]:
    """Match the components of two fits one to one, to maximize the total similarity.

    Two fits may find the same components in different orders.  This function finds the
    assignment with the largest sum of similarities [1]_.

    Parameters
    ----------
    components_a : array-like of shape (n_components_a, n_features)
        Components of the first fit, such as ``components_`` or ``means_``.
    components_b : array-like of shape (n_components_b, n_features)
        Components of the second fit, at least as many as in ``components_a``.
    metric : {"cosine", "jensenshannon"}, default="cosine"
        Similarity of two components: their cosine, or 1 minus the Jensen-Shannon
        distance (base 2) of the components, normalized to distributions.

    Returns
    -------
    permutation : ndarray of shape (n_components_a,)
        Indices such that ``components_b[permutation]`` has the order of
        ``components_a``.
    similarities : ndarray of shape (n_components_a,)
        Similarity of each pair; the mean measures how alike the fits are.

    Raises
    ------
    ValueError
        If the numbers of features differ, or ``components_b`` has fewer components than
        ``components_a``.  With "jensenshannon", also if a component is zero or has
        negative entries.

    References
    ----------
    .. [1] H. W. Kuhn (1955). "The Hungarian method for the assignment problem".
           Naval Research Logistics Quarterly 2, 83-97.

    Examples
    --------
    >>> from sktemper.metrics import match_components
    >>> a = [[0.9, 0.1, 0.0], [0.0, 0.2, 0.8]]
    >>> b = [[0.0, 0.2, 0.8], [0.0, 1.0, 0.0], [0.9, 0.1, 0.0]]
    >>> permutation, similarities = match_components(a, b)
    >>> permutation
    array([2, 0])
    >>> similarities
    array([1., 1.])
    """
    non_negative = metric == "jensenshannon"
    a = _checked_components(components_a, "components_a", non_negative)
    b = _checked_components(components_b, "components_b", non_negative)
    if a.shape[1] != b.shape[1]:
        raise ValueError(
            f"components_a has {a.shape[1]} features, but components_b has "
            f"{b.shape[1]}: both fits must have the same features."
        )
    if len(a) > len(b):
        raise ValueError(
            f"components_a has {len(a)} components and components_b only {len(b)}: "
            "swap the arguments, so that each component of the first fit has a match."
        )
    similarities = _SIMILARITIES[metric](a, b)
    rows, permutation = linear_sum_assignment(similarities, maximize=True)
    return permutation, similarities[rows, permutation]


def _checked_components(values, name, non_negative):
    check_unmasked(values, name, may_be_nan=False)
    values = check_array(
        values, dtype=np.float64, ensure_non_negative=non_negative, input_name=name
    )
    return scaled(values)


def _jensen_shannon_similarity(a, b):
    if min(a.sum(axis=1).min(), b.sum(axis=1).min()) <= 0:
        raise ValueError(
            "metric='jensenshannon' needs components with a positive sum, but one is "
            "zero; leave it out, or use metric='cosine'."
        )
    # Rounding can make the divergence of equal rows negative, and its root NaN.
    distances = np.nan_to_num(cdist(a, b, "jensenshannon"))
    return 1.0 - distances / np.sqrt(np.log(2.0))


_SIMILARITIES = {
    "cosine": cosine_similarity,
    "jensenshannon": _jensen_shannon_similarity,
}

"""Coherence of topics."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils._param_validation import validate_params

from .._engine import matrices_of
from .._utils._arguments import Interval
from .._utils._typing import DataLike, Float, Int
from .._utils._validation import check_sparse, check_unmasked
from ._topics import check_columns, topics_of

_COHERENCE_CONSTRAINTS = {
    "X": ["array-like", "sparse matrix"],
    "n_words": [Interval(Integral, 2, None, closed="left")],
}


@validate_params(
    _COHERENCE_CONSTRAINTS
    | {"smoothing": [None, Interval(Real, 0, None, closed="neither")]},
    prefer_skip_nested_validation=True,
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
    npmi_coherence : Coherence that agrees better with human judgement.

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
        given = alone[earlier]
        ratio = (together[later, earlier] + added) / np.maximum(given, 1)
        return np.where(given > 0, np.log(ratio), 0.0).mean()

    return _coherence(topics_or_estimator, X, n_words, coherence)


@validate_params(_COHERENCE_CONSTRAINTS, prefer_skip_nested_validation=True)
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
    topics_or_estimator : object or list of lists of int
        A fitted model with ``components_``; or for each topic the column indices of its
        words, the most probable first.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Word counts of reference documents, or several parts of them: a list of such
        matrices, or a collection on disk.
    n_words : int, default=10
        Largest number of words of each topic to use.

    Returns
    -------
    coherence : ndarray of shape (n_topics,)
        Coherence of each topic, between -1 and 1; it is 0 if the words are independent,
        and higher is better.

    Raises
    ------
    ValueError
        If a topic has fewer than two words, or a word without a column in X.

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
    matrices, read = matrices_of(X), []
    for number in range(len(matrices)):
        part = _counts(matrices[number])
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


def _counts(X):
    check_unmasked(X)
    return check_array(
        check_sparse(X), accept_sparse="csr", ensure_non_negative=True, input_name="X"
    )

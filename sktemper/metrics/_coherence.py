"""Coherence of topics."""

from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils._param_validation import validate_params

from .._arguments import Interval
from .._data import matrices_of
from .._validation import check_sparse, check_unmasked
from ._topics import check_columns, topics_of

__all__ = ["npmi_coherence", "umass_coherence"]


_COHERENCE_CONSTRAINTS = {
    "X": ["array-like", "sparse matrix"],
    "n_words": [Interval(Integral, 2, None, closed="left")],
}


@validate_params(
    _COHERENCE_CONSTRAINTS
    | {"smoothing": [None, Interval(Real, 0, None, closed="neither")]},
    prefer_skip_nested_validation=True,
)
def umass_coherence(topics_or_estimator, X, *, n_words=10, smoothing=None):
    r"""UMass coherence of each topic, a measure of how words predict each other.

    It is the mean over pairs of a topic's top words, with :math:`w_j` more probable in
    the topic than :math:`w_i`, of

    .. math:: \log \frac{D(w_i, w_j) + s}{D(w_j)},

    where D counts the documents with a word, or with both.

    Parameters
    ----------
    topics_or_estimator : object or list of lists of int
        A fitted model with ``components_``; or the topics, each by the columns of its
        words, the most probable first.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Word counts of reference documents, usually the training documents.
    n_words : int, default=10
        Number of words of each topic to use; fewer if a topic has fewer.
    smoothing : float, default=None
        The number s that is added to counts of documents.  None takes 1e-12 times the
        number of documents, as gensim does; 1 is the paper's, kinder to words that are
        never together.

    Returns
    -------
    coherence : ndarray of shape (n_topics,)
        Higher is better.

    Raises
    ------
    ValueError
        If a topic has fewer than two words, or words that X has no column for.

    See Also
    --------
    npmi_coherence : Agrees better with people, and does not depend on the order.

    Notes
    -----
    By default these are the figures of gensim's
    ``CoherenceModel(coherence="u_mass").get_coherence_per_topic()``.  The paper adds
    the pairs up where gensim and this function take their mean.  A pair whose
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
def npmi_coherence(topics_or_estimator, X, *, n_words=10):
    r"""Coherence of each topic by normalized pointwise mutual information.

    The mean over pairs of a topic's top words of

    .. math::
        \frac{\log \frac{P(w_i, w_j) + \epsilon}{P(w_i) P(w_j)}}
             {-\log (P(w_i, w_j) + \epsilon)},

    where P is the share of documents with a word, or with both, and ε is 1e-12.

    Parameters
    ----------
    topics_or_estimator : object or list of lists of int
        A fitted model with ``components_``; or the topics, each by the columns of its
        words, the most probable first.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Word counts of the documents to judge by, also in parts: a list of such
        matrices, or a collection on disk.
    n_words : int, default=10
        Number of words of each topic to use; fewer if a topic has fewer.

    Returns
    -------
    coherence : ndarray of shape (n_topics,)
        Between -1 and 1; 0 is independence, higher is better.

    Raises
    ------
    ValueError
        If a topic has fewer than two words, or words that X has no column for.

    See Also
    --------
    umass_coherence : Conditional log-probabilities, which favour frequent words.

    Notes
    -----
    These are the figures of gensim's
    ``CoherenceModel(coherence="c_npmi").get_coherence_per_topic()`` with a
    ``window_size`` longer than any document: word order is not in X, so the window is
    the whole document.  A pair with a word that is in no document counts as 0, where
    gensim's is infinite.  Two words that are both in every document have -1, here as
    there: ε decides what would be 0 / 0.

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


# As gensim has it, which has it from Röder et al. (2015).
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
            "None of the topics' words occurs in X: it is empty, or its columns are "
            "those of another vocabulary."
        )
    # A topic at a time: together they would take the square of all their words.
    ends = np.cumsum([len(topic) for topic in topics])[:-1]
    values = []
    for columns in np.split(positions.ravel(), ends):
        part = present[:, columns]
        together = (part.T @ part).toarray()
        values.append(coherence(together.diagonal(), together, n_documents))
    return np.array(values)


def _counts(X):
    """Return valid counts."""
    check_unmasked(X)
    return check_array(
        check_sparse(X), accept_sparse="csr", ensure_non_negative=True, input_name="X"
    )

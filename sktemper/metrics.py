"""Measures of what a fitted model is worth."""

from numbers import Integral, Real

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.special import ndtri
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_params
from sklearn.utils.validation import check_is_fitted

from ._validation import check_sparse

__all__ = [
    "completion_log_likelihood",
    "completion_rmse",
    "heldout_rmse",
    "interval_coverage",
    "match_components",
    "npmi_coherence",
    "perplexity",
    "umass_coherence",
]

#: Documents scored at a time: the data are never copied whole.
BLOCK = 1000
#: As many predicted ratings are held at a time.
BLOCK_RATINGS = 2**22


_COMPLETION_CONSTRAINTS = {
    "X": ["array-like", "sparse matrix"],
    "split": [StrOptions({"words", "tokens"})],
    "temperatures": [StrOptions({"unit", "learned"})],
    "random_state": ["random_state"],
}


@validate_params(_COMPLETION_CONSTRAINTS, prefer_skip_nested_validation=True)
def completion_log_likelihood(
    estimator, X, *, split="words", temperatures="unit", random_state=None
):
    """Held-out log-likelihood per token by document completion.

    Part of each document shows its topic weights, the rest is scored:
    sum of n log(sum_k E[theta_k] E[beta_kv]) over the held-out part, by its tokens.

    Parameters
    ----------
    estimator : object
        A fitted topic model with ``transform`` and ``topic_word_`` or ``components_``.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Word counts.
    split : {"words", "tokens"}, default="words"
        "words" deals the distinct words of a document alternately to the two halves
        and is what ``score`` does.  "tokens" splits each count binomially in half, so
        that a repeated word can be seen and scored: figures are .03 to .35 higher and
        must not be compared with those of "words".
    temperatures : {"unit", "learned"}, default="unit"
        At what temperature the topic weights are inferred from the observed part.
        "unit" is 1, the model itself, and what ``score`` does.  "learned" is what the
        tempering found, as in [1]_, footnote 1: ``estimator.temperatures`` of the
        observed part where the tempering gives documents temperatures of their own,
        else ``estimator.temperature_``.  The words themselves are scored by the model
        at T=1 either way.  The paper has higher scores by it; where the temperatures
        stay far above 1 they are lower.
    random_state : int, RandomState instance or None, default=None
        Of the split of tokens.

    Returns
    -------
    score : float
        In nats per held-out token; higher is better.

    Raises
    ------
    ValueError
        If nothing is held out, or counts to be split binomially are not whole.
    AttributeError
        If learned temperatures are wanted of an estimator without any.

    See Also
    --------
    perplexity : The same as a number of equally probable words.

    References
    ----------
    .. [1] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
           tempering", AISTATS 2016.
    .. [2] M. Hoffman, D. Blei, C. Wang, J. Paisley, "Stochastic variational
           inference", JMLR 14, 2013, section 4.1.

    Examples
    --------
    >>> from sktemper import TemperedLDA
    >>> from sktemper.datasets import make_lda_documents
    >>> from sktemper.metrics import completion_log_likelihood
    >>> X = make_lda_documents(300, n_components=5, random_state=0)
    >>> lda = TemperedLDA(5, tempering="local", random_state=0).fit(X)
    >>> score = completion_log_likelihood(lda, X, temperatures="learned")
    """
    X = check_array(
        check_sparse(X), accept_sparse="csr", ensure_non_negative=True, input_name="X"
    )
    random = check_random_state(random_state)
    word_topic = np.ascontiguousarray(_distributions(estimator, X.shape[1]).T)
    score = total = 0.0
    for start in range(0, X.shape[0], BLOCK):
        block = sparse.csr_array(X[start : start + BLOCK], copy=True)
        block.sum_duplicates()
        block.eliminate_zeros()
        observed, held_out = _SPLITS[split](block, random)
        given = _TEMPERATURES[temperatures](estimator, observed)
        doc_topic = np.asarray(estimator.transform(observed, **given), dtype=np.float64)
        words = held_out.tocoo()
        totals = doc_topic.sum(axis=1)
        usable = (totals > 0) & np.isfinite(totals)
        if not usable[words.row].all():
            raise ValueError(
                "The topic weights that transform returned of a document do not sum to "
                "a positive number: its other half has no probability."
            )
        doc_topic = doc_topic / np.where(usable, totals, 1.0)[:, None]
        probability = np.einsum("nk,nk->n", doc_topic[words.row], word_topic[words.col])
        with np.errstate(divide="ignore"):  # impossible words: -inf
            score += words.data @ np.log(probability)
        total += held_out.sum()
    if total == 0:
        raise ValueError("Nothing is held out to be scored.")
    return float(score / total)


@validate_params(_COMPLETION_CONSTRAINTS, prefer_skip_nested_validation=True)
def perplexity(estimator, X, *, split="words", temperatures="unit", random_state=None):
    """Perplexity of held-out words by document completion.

    ``exp(-completion_log_likelihood(...))``: as many equally probable words would
    surprise as much.

    Parameters
    ----------
    estimator : object
        A fitted topic model with ``transform`` and ``topic_word_`` or ``components_``.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Word counts.
    split : {"words", "tokens"}, default="words"
        As of `completion_log_likelihood`.
    temperatures : {"unit", "learned"}, default="unit"
        As of `completion_log_likelihood`.
    random_state : int, RandomState instance or None, default=None
        Of the split of tokens.

    Returns
    -------
    perplexity : float
        Lower is better; a model that knows nothing has the size of the vocabulary.

    Raises
    ------
    ValueError
        If nothing is held out, or counts to be split binomially are not whole.
    AttributeError
        If learned temperatures are wanted of an estimator without any.

    See Also
    --------
    completion_log_likelihood : Its logarithm, with the sign changed.
    """
    score = completion_log_likelihood(
        estimator, X, split=split, temperatures=temperatures, random_state=random_state
    )
    with np.errstate(over="ignore"):
        return float(np.exp(-score))


def _components(estimator, n_features):
    """Return ``components_`` of a fitted model for data of so many features."""
    if isinstance(estimator, BaseEstimator):
        check_is_fitted(estimator)
    components = check_array(
        estimator.components_, dtype=[np.float64, np.float32], input_name="components_"
    )
    if components.shape[1] != n_features:
        raise ValueError(
            f"X has {n_features} features, but the model was fitted to "
            f"{components.shape[1]}."
        )
    return components


def _distributions(estimator, n_features):
    """Return the topics as distributions over words: new, the model's stay."""
    components = _scaled(_components(estimator, n_features).astype(np.float64))
    totals = components.sum(axis=1, keepdims=True)
    if components.min() < 0 or totals.min() == 0:
        raise ValueError(
            "components_ is not of topics: its rows must have no negative entry, and "
            "a positive sum."
        )
    return components / totals


def _unit_temperatures(estimator, observed):
    return {}  # any estimator's `transform` will do


def _learned_temperatures(estimator, observed):
    if hasattr(estimator, "temperatures"):
        return {"temperature": estimator.temperatures(observed)}
    return {"temperature": estimator.temperature_}


_TEMPERATURES = {"unit": _unit_temperatures, "learned": _learned_temperatures}


def _with_data(X, data):
    part = sparse.csr_array((data, X.indices, X.indptr), shape=X.shape, copy=True)
    part.eliminate_zeros()
    return part


def _split_words(X, random):
    lengths = np.diff(X.indptr)
    even = (np.arange(X.nnz) - np.repeat(X.indptr[:-1], lengths)) % 2 == 0
    return _with_data(X, X.data * even), _with_data(X, X.data * ~even)


def _split_tokens(X, random):
    with np.errstate(invalid="ignore"):  # too large for an integer
        counts = X.data.astype(np.int64)
    if not np.array_equal(counts, X.data):
        raise ValueError("split='tokens' needs whole counts; use split='words'.")
    half = random.binomial(counts, 0.5)
    return _with_data(X, half), _with_data(X, counts - half)


_SPLITS = {"words": _split_words, "tokens": _split_tokens}


_CLIP_CONSTRAINTS = {"X": ["array-like", "sparse matrix"], "clip": [tuple, list, None]}


@validate_params(_CLIP_CONSTRAINTS, prefer_skip_nested_validation=True)
def completion_rmse(estimator, X, *, clip=None):
    """Root mean squared error of ratings that are held out of each row.

    The protocol of ``score``, and of users who are new to the model: the ratings of
    each row, in column order, are dealt in turn to an observed half, from which the
    user's factors come, and a held-out half, which is predicted.

    Parameters
    ----------
    estimator : object
        A fitted model with ``predict`` from the ratings of users to those of all items,
        such as `sktemper.TemperedMatrixFactorization`.
    X : {array-like, sparse matrix} of shape (n_samples, n_items)
        Ratings: the stored entries, or what is not NaN.
    clip : tuple of (float, float), default=None
        The ends of the scale, such as ``(1, 5)``, to which predictions are clipped.

    Returns
    -------
    rmse : float
        In the unit of the ratings; lower is better.

    Raises
    ------
    ValueError
        If nothing is held out: no row has two ratings.

    See Also
    --------
    heldout_rmse : Of ratings by users of the training data.

    Examples
    --------
    >>> from sktemper import TemperedMatrixFactorization
    >>> from sktemper.datasets import make_ratings
    >>> from sktemper.metrics import completion_rmse
    >>> X = make_ratings(noise_variance=0.25, random_state=0)
    >>> model = TemperedMatrixFactorization(5, random_state=0).fit(X[:800])
    >>> bool(0.5 < completion_rmse(model, X[800:]) < 0.7)
    True
    """
    _check_clip(clip)
    X = _as_ratings(X)
    rows = max(1, min(BLOCK, BLOCK_RATINGS // max(X.shape[1], 1)))
    squared = n_ratings = 0
    for start in range(0, X.shape[0], rows):
        block = X[start : start + rows]
        held_out = _is_odd(block)
        if not held_out.any():
            continue
        observed, rest = _kept(block, ~held_out), _kept(block, held_out).tocoo()
        predicted = np.asarray(estimator.predict(observed))[rest.row, rest.col]
        squared += np.sum((_clipped(predicted, clip) - rest.data) ** 2)
        n_ratings += rest.nnz
    if n_ratings == 0:
        raise ValueError("Nothing is held out to be predicted.")
    return float(np.sqrt(squared / n_ratings))


@validate_params(_CLIP_CONSTRAINTS, prefer_skip_nested_validation=True)
def heldout_rmse(estimator, X, *, clip=None):
    """Root mean squared error of further ratings by the users of the training data.

    Parameters
    ----------
    estimator : object
        A fitted model with ``predict_pairs``, such as
        `sktemper.TemperedMatrixFactorization`.
    X : {array-like, sparse matrix} of shape (n_samples, n_items)
        The held-out ratings, stored or not NaN, in the rows of the data that the model
        was fitted to.
    clip : tuple of (float, float), default=None
        The ends of the scale, such as ``(1, 5)``, to which predictions are clipped.

    Returns
    -------
    rmse : float
        In the unit of the ratings; lower is better.

    Raises
    ------
    ValueError
        If X has no ratings, or other rows or columns than the model.

    See Also
    --------
    completion_rmse : Of users who are new to the model.
    interval_coverage : Whether the predictions know how uncertain they are.

    Examples
    --------
    >>> import numpy as np
    >>> from sktemper import TemperedMatrixFactorization
    >>> from sktemper.datasets import make_ratings
    >>> from sktemper.metrics import heldout_rmse
    >>> ratings = make_ratings(noise_variance=0.25, random_state=0).tocoo()
    >>> test = np.random.default_rng(0).random(ratings.nnz) < 0.1
    >>> X, X_test = (
    ...     type(ratings)(
    ...         (ratings.data[part], (ratings.row[part], ratings.col[part])),
    ...         shape=ratings.shape,
    ...     )
    ...     for part in (~test, test)
    ... )
    >>> model = TemperedMatrixFactorization(5, random_state=0).fit(X)
    >>> bool(0.5 < heldout_rmse(model, X_test) < 0.6)
    True
    """
    _check_clip(clip)
    X, pairs = _pairs(estimator, X)
    error = _clipped(estimator.predict_pairs(pairs), clip) - X.data
    return float(np.sqrt(np.mean(error.astype(np.float64) ** 2)))


@validate_params(
    {"X": ["array-like", "sparse matrix"], "levels": ["array-like"]},
    prefer_skip_nested_validation=True,
)
def interval_coverage(estimator, X, *, levels=(0.5, 0.9)):
    r"""Share of further ratings that lie in their predictive intervals.

    The interval of a rating at level p is its mean and standard deviation as
    ``predict_pairs`` has them, :math:`\mu \pm \Phi^{-1}((1 + p) / 2) \, s`.

    Parameters
    ----------
    estimator : object
        A fitted model with ``predict_pairs`` that has ``return_std``, such as
        `sktemper.TemperedMatrixFactorization`.
    X : {array-like, sparse matrix} of shape (n_samples, n_items)
        The held-out ratings, stored or not NaN, in the rows of the data that the model
        was fitted to.
    levels : array-like of shape (n_levels,), default=(0.5, 0.9)
        Between 0 and 1.

    Returns
    -------
    coverage : ndarray of shape (n_levels,)
        Near ``levels`` if the predictions know how uncertain they are; less where they
        are too sure.

    Raises
    ------
    ValueError
        If a level is none, or X has no ratings, or other rows or columns than the
        model.

    Notes
    -----
    The intervals are Gaussian.  Ratings of a few whole stars are not, and an interval
    may have more or less of them at one level by that alone: look at several.

    Examples
    --------
    >>> from sktemper import TemperedMatrixFactorization
    >>> from sktemper.datasets import make_ratings
    >>> from sktemper.metrics import interval_coverage
    >>> X = make_ratings(random_state=0)
    >>> model = TemperedMatrixFactorization(5, random_state=0).fit(X)
    >>> interval_coverage(model, X).shape  # of held-out ratings, if you have some
    (2,)
    """
    levels = np.asarray(levels, dtype=np.float64)
    if levels.ndim != 1 or not np.all((levels > 0) & (levels < 1)):
        raise ValueError(f"levels must be numbers between 0 and 1, got {levels!r}.")
    X, pairs = _pairs(estimator, X)
    mean, std = estimator.predict_pairs(pairs, return_std=True)
    standardised = np.abs(X.data - mean) / std
    return np.mean(standardised[:, None] <= ndtri((1 + levels) / 2), axis=0)


def _as_ratings(X):
    """Return ratings as a CSR array with sorted rows; X is not touched."""
    if sparse.issparse(X):
        X = check_array(check_sparse(X), accept_sparse="csr", input_name="X")
        X = sparse.csr_array(X, copy=not X.has_canonical_format)
        X.sum_duplicates()
        return X
    X = check_array(
        X,
        ensure_all_finite="allow-nan",
        dtype=[np.float64, np.float32],
        input_name="X",
    )
    rows, columns = np.nonzero(~np.isnan(X))
    starts = np.searchsorted(rows, np.arange(len(X) + 1))
    return sparse.csr_array((X[rows, columns], columns, starts), shape=X.shape)


def _is_odd(X):
    """Return whether each entry is the second, the fourth, ... of its row."""
    return (np.arange(X.nnz) - np.repeat(X.indptr[:-1], np.diff(X.indptr))) % 2 == 1


def _kept(X, chosen):
    """Return X with some of its entries, zeros too."""
    starts = np.concatenate([[0], np.cumsum(chosen)])[X.indptr]
    return sparse.csr_array((X.data[chosen], X.indices[chosen], starts), shape=X.shape)


def _clipped(ratings, clip):
    return ratings if clip is None else np.clip(ratings, *clip)


def _check_clip(clip):
    if clip is None:
        return
    numbers = len(clip) == 2 and all(isinstance(end, Real) for end in clip)
    if not numbers or not clip[0] < clip[1]:
        raise ValueError(f"clip must be the two ends of a scale, got {clip!r}.")


def _pairs(estimator, X):
    """Return ratings, and the rows and columns that these are of."""
    if isinstance(estimator, BaseEstimator):
        check_is_fitted(estimator)
    X = _as_ratings(X)
    fitted = len(estimator.user_factors_), estimator.n_features_in_
    if X.shape != fitted:
        raise ValueError(
            f"X has the shape {X.shape}, but the model was fitted to {fitted}: "
            "held-out ratings have to be in the rows of the same users."
        )
    if X.nnz == 0:
        raise ValueError("X has no ratings: no stored entry, or none but NaN.")
    X = X.tocoo()
    return X, np.column_stack([X.row, X.col])


_COHERENCE_CONSTRAINTS = {
    "X": ["array-like", "sparse matrix"],
    "n_words": [Interval(Integral, 2, None, closed="left")],
}


@validate_params(
    {
        **_COHERENCE_CONSTRAINTS,
        "smoothing": [None, Interval(Real, 0, None, closed="neither")],
    },
    prefer_skip_nested_validation=True,
)
def umass_coherence(topics_or_estimator, X, *, n_words=10, smoothing=None):
    r"""UMass coherence of each topic: how well a word foretells the next ones.

    The mean over pairs of a topic's top words, :math:`w_j` more probable in the topic
    than :math:`w_i`, of

    .. math:: \log \frac{D(w_i, w_j) + s}{D(w_j)},

    where D counts the documents with a word, or with both.

    Parameters
    ----------
    topics_or_estimator : object or list of lists of int
        A fitted model with ``components_``; or the topics, each by the columns of its
        words, the most probable first.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Word counts of the documents to judge by: those of training, by custom.
    n_words : int, default=10
        How many words of each topic to look at; fewer where it has fewer.
    smoothing : float, default=None
        s, in documents.  None takes 1e-12 times their number, as gensim does; 1 is
        the paper's, kinder to words that are never together.

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
        Word counts of the documents to judge by.
    n_words : int, default=10
        How many words of each topic to look at; fewer where it has fewer.

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
    X = check_array(
        check_sparse(X), accept_sparse="csr", ensure_non_negative=True, input_name="X"
    )
    topics = _topics(topics_or_estimator, n_words, X.shape[1])
    words, positions = np.unique(np.concatenate(topics), return_inverse=True)
    present = sparse.csr_array(X[:, words])
    present.sum_duplicates()
    present = sparse.csc_array(present != 0, dtype=np.int64)
    # A topic at a time: together they would take the square of all their words.
    ends = np.cumsum([len(topic) for topic in topics])[:-1]
    values = []
    for columns in np.split(positions.ravel(), ends):
        part = present[:, columns]
        together = (part.T @ part).toarray()
        values.append(coherence(together.diagonal(), together, X.shape[0]))
    return np.array(values)


def _topics(topics_or_estimator, n_words, n_features):
    """Return each topic's columns, the most probable word first."""
    if hasattr(topics_or_estimator, "components_") or isinstance(
        topics_or_estimator, BaseEstimator
    ):
        components = _components(topics_or_estimator, n_features)
        topics = np.argsort(-components, axis=1, kind="stable")
    else:
        topics = _listed(topics_or_estimator)
    if len(topics) == 0:
        raise ValueError("There is no topic.")
    for topic in topics:
        if topic.ndim != 1 or len(topic) < 2:
            raise ValueError("A topic must be a list of two words or more.")
        if topic.dtype.kind not in "iu":
            raise ValueError(
                "A topic must be a list of column numbers, not of "
                f"{topic.dtype}: pass a fitted model to have its top words taken."
            )
        if topic.min() < 0 or topic.max() >= n_features:
            raise ValueError(
                f"A topic has words outside the {n_features} columns of X."
            )
    return [topic[:n_words] for topic in topics]


def _listed(topics):
    """Return topics that are given as lists as arrays."""
    try:
        return [np.asarray(topic) for topic in topics]
    except (NotImplementedError, TypeError, ValueError) as error:
        raise ValueError(
            "Topics must be a fitted model with components_, or lists of column "
            f"numbers, got {topics!r}."
        ) from error


@validate_params(
    {
        "components_a": ["array-like"],
        "components_b": ["array-like"],
        "metric": [StrOptions({"cosine", "jensenshannon"})],
    },
    prefer_skip_nested_validation=True,
)
def match_components(components_a, components_b, *, metric="cosine"):
    """Match the components of two fits, one to one, as alike as can be.

    Two runs may find the same topics in another order.  This is the assignment with
    the largest sum of similarities.

    Parameters
    ----------
    components_a : array-like of shape (n_components_a, n_features)
        Such as ``components_`` or ``means_``.
    components_b : array-like of shape (n_components_b, n_features)
        No fewer components than in ``components_a``.
    metric : {"cosine", "jensenshannon"}, default="cosine"
        Similarity of two components: their cosine; or 1 less the Jensen-Shannon
        distance to base 2 of the two as distributions, between 0 and 1.

    Returns
    -------
    permutation : ndarray of shape (n_components_a,)
        ``components_b[permutation]`` stands in the order of ``components_a``.
    similarities : ndarray of shape (n_components_a,)
        Of each pair; their mean tells how stable the components are.

    Raises
    ------
    ValueError
        If ``components_b`` has other features or fewer components, or if components
        to be taken as distributions have negative entries or none above zero.

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
    a, b = (
        _scaled(
            check_array(
                part,
                dtype=np.float64,
                ensure_non_negative=non_negative,
                input_name=name,
            )
        )
        for part, name in (
            (components_a, "components_a"),
            (components_b, "components_b"),
        )
    )
    if a.shape[1] != b.shape[1]:
        raise ValueError(
            f"components_a has {a.shape[1]} features, but components_b {b.shape[1]}."
        )
    if len(a) > len(b):
        raise ValueError(
            f"components_a has {len(a)} components and components_b only {len(b)}: "
            "swap them, so that each of the first has a partner."
        )
    similarities = _SIMILARITIES[metric](a, b)
    rows, permutation = linear_sum_assignment(similarities, maximize=True)
    return permutation, similarities[rows, permutation]


def _scaled(components):
    """Return rows over powers of two, so that no sum of squares overflows."""
    _, exponents = np.frexp(np.abs(components).max(axis=1, keepdims=True))
    return np.ldexp(components, -exponents)


def _jensen_shannon_similarity(a, b):
    if min(a.sum(axis=1).min(), b.sum(axis=1).min()) <= 0:
        raise ValueError("A component is zero, and so is no distribution.")
    # Rounding can take the divergence of equal rows below zero, and its root to NaN.
    distances = np.nan_to_num(cdist(a, b, "jensenshannon"))
    return 1.0 - distances / np.sqrt(np.log(2.0))


_SIMILARITIES = {
    "cosine": cosine_similarity,
    "jensenshannon": _jensen_shannon_similarity,
}

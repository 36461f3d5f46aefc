"""Measures of what a fitted model is worth."""

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions, validate_params

__all__ = ["completion_log_likelihood"]


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "split": [StrOptions({"words", "tokens"})],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def completion_log_likelihood(estimator, X, *, split="words", random_state=None):
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
    """
    X = sparse.csr_array(X, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    observed, held_out = _SPLITS[split](X, random_state)
    total = held_out.sum()
    if total == 0:
        raise ValueError("Nothing is held out to be scored.")
    doc_topic = np.asarray(estimator.transform(observed), dtype=np.float64)
    doc_topic /= doc_topic.sum(axis=1, keepdims=True)
    topic_word = np.asarray(estimator.components_, dtype=np.float64)
    topic_word /= topic_word.sum(axis=1, keepdims=True)
    word_topic = np.ascontiguousarray(topic_word.T)
    score = 0.0
    for start in range(0, X.shape[0], 1000):
        part = held_out[start : start + 1000].tocoo()
        probability = np.einsum(
            "nk,nk->n", doc_topic[start + part.row], word_topic[part.col]
        )
        score += part.data @ np.log(probability)
    return float(score / total)


def _with_data(X, data):
    part = sparse.csr_array((data, X.indices, X.indptr), shape=X.shape, copy=True)
    part.eliminate_zeros()
    return part


def _split_words(X, random_state):
    lengths = np.diff(X.indptr)
    even = (np.arange(X.nnz) - np.repeat(X.indptr[:-1], lengths)) % 2 == 0
    return _with_data(X, X.data * even), _with_data(X, X.data * ~even)


def _split_tokens(X, random_state):
    counts = X.data.astype(np.int64)
    if not np.array_equal(counts, X.data):
        raise ValueError("split='tokens' needs whole counts; use split='words'.")
    half = check_random_state(random_state).binomial(counts, 0.5)
    return _with_data(X, half), _with_data(X, counts - half)


_SPLITS = {"words": _split_words, "tokens": _split_tokens}

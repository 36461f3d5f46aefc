"""Held-out likelihoods of topic models by document completion."""

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import StrOptions, validate_params

from .._validation import check_sparse, check_unmasked
from ._topics import BLOCK, check_columns, components_of, scaled

__all__ = ["completion_log_likelihood", "perplexity"]


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

    Topic weights are inferred from part of each document, and the rest is scored:
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
        Temperature at which topic weights are inferred from the observed part.
        "unit" is T=1, as in ``score``.  "learned" uses the temperatures that the
        tempering found, as in [1]_, footnote 1: ``estimator.temperatures`` of the
        observed part where the tempering gives documents temperatures of their own,
        else ``estimator.temperature_``.  The words themselves are scored by the model
        at T=1 either way.  The paper has higher scores by it; where the temperatures
        stay far above 1 they are lower.
    random_state : int, RandomState instance or None, default=None
        Seed of the split of tokens.

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
    >>> lda = TemperedLDA(4, tempering="local", random_state=0).fit(X)
    >>> score = completion_log_likelihood(lda, X, temperatures="learned")
    """
    check_unmasked(X)
    check_columns(estimator, X)
    X = check_array(
        check_sparse(X), accept_sparse="csr", ensure_non_negative=True, input_name="X"
    )
    random = check_random_state(random_state)
    word_topic = np.ascontiguousarray(_distributions(estimator, X.shape[1]).T)
    score = total = 0.0
    for start in range(0, X.shape[0], BLOCK):
        block = sparse.csr_array(X[start : start + BLOCK]).astype(np.float64)
        block.sum_duplicates()  # a sum may be too large for the dtype of X
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
        As in `completion_log_likelihood`.
    temperatures : {"unit", "learned"}, default="unit"
        As in `completion_log_likelihood`.
    random_state : int, RandomState instance or None, default=None
        Seed of the split of tokens.

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


def _distributions(estimator, n_features):
    """Return the topics as distributions over words: new, the model's stay."""
    components = scaled(components_of(estimator, n_features).astype(np.float64))
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

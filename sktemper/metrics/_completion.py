"""Held-out likelihoods of topic models by document completion."""

from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from .._ranking._entries import is_odd, kept
from .._utils._budgets import ROWS_AT_ONCE, slices
from .._utils._constraints import StrOptions, check_arguments
from .._utils._docstrings import completed_by
from .._utils._typing import DataLike, Seed
from ._topics import check_columns, components_of, counts_of, scaled

#: Constraints of the parameters that scorers share.
OPTIONS = {
    "split": [StrOptions({"words", "tokens"})],
    "temperatures": [StrOptions({"unit", "learned"})],
    "random_state": ["random_state"],
}
_CONSTRAINTS = {"X": ["array-like", "sparse matrix"], **OPTIONS}


@check_arguments(**_CONSTRAINTS)
def completion_log_likelihood(
    estimator: Any,
    X: DataLike,
    *,
    split: Literal["words", "tokens"] = "words",
    temperatures: Literal["unit", "learned"] = "unit",
    random_state: Seed = None,
) -> float:
    r"""Return the held-out log-likelihood per token by document completion.

    The topic weights of a document are inferred from its observed half, and the other
    half is scored [2]_ by :math:`\sum_v n_v \log \sum_k E[\theta_k] E[\beta_{kv}]`,
    divided by the number of its tokens.  :math:`n_v` is the count of word v in the
    held-out half, :math:`\theta_k` the weight of topic k in the document, and
    :math:`\beta_{kv}` the probability of word v in topic k.

    Parameters
    ----------
    estimator : object
        A fitted topic model with ``transform`` and ``topic_word_`` or ``components_``.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Word counts.
    split : {"words", "tokens"}, default="words"
        "words" assigns the distinct words of a document alternately to the halves, as
        ``score`` does.  "tokens" splits each count binomially, so that repeated words
        are observed and scored, which gives .03 to .35 more.
    temperatures : {"unit", "learned"}, default="unit"
        Temperature at which topic weights are inferred: T=1 as in ``score`` ("unit"),
        or the inferred temperatures as in [1]_, footnote 1 ("learned"), with which
        scores are lower if they stay far above 1.  Words are scored at T=1.
    random_state : int, RandomState instance or None, default=None
        Seed of the random split with ``split="tokens"``.

    Returns
    -------
    score : float
        Log-likelihood in nats per held-out token; higher is better.

    Raises
    ------
    ValueError
        If nothing is held out, or if ``split="tokens"`` and a count is not an integer.
    AttributeError
        If ``temperatures="learned"`` and the estimator has no temperatures.

    See Also
    --------
    perplexity : Exponential of the negative score.

    References
    ----------
    .. [1] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
           tempering", AISTATS 2016.
    .. [2] M. Hoffman, D. Blei, C. Wang, J. Paisley, "Stochastic variational
           inference", JMLR 14, 2013, section 4.1.

    Examples
    --------
    >>> from sktemper import TemperedLDA, metrics
    >>> from sktemper.datasets import make_lda_documents
    >>> X = make_lda_documents(300, n_components=5, random_state=0)
    >>> lda = TemperedLDA(4, tempering="local", random_state=0).fit(X)
    >>> score = metrics.completion_log_likelihood(lda, X, temperatures="learned")
    """
    check_columns(estimator, X)
    X = counts_of(X)
    random = check_random_state(random_state)
    word_topic = np.ascontiguousarray(_distributions(estimator, X.shape[1]).T)
    score = total = 0.0
    for rows in slices(X.shape[0], 1, ROWS_AT_ONCE):
        block = sparse.csr_array(X[rows]).astype(np.float64)
        block.sum_duplicates()  # in float64, as sums may overflow the dtype of X
        block.eliminate_zeros()
        observed, held_out = _SPLITS[split](block, random)
        options = {}  # no keyword, so that `transform` of any estimator works
        if temperatures == "learned":
            options = {"temperature": _learned_temperatures(estimator, observed)}
        doc_topic = np.asarray(estimator.transform(observed, **options), np.float64)
        words = held_out.tocoo()
        totals = doc_topic.sum(axis=1)
        usable = (totals > 0) & np.isfinite(totals)
        if not usable[words.row].all():
            raise ValueError(
                "The topic weights that transform returned for a document do not sum "
                "to a positive number, so the held-out half of the document has no "
                "probability: transform must return non-negative, finite weights."
            )
        doc_topic = doc_topic / np.where(usable, totals, 1.0)[:, None]
        probability = np.einsum("nk,nk->n", doc_topic[words.row], word_topic[words.col])
        with np.errstate(divide="ignore"):  # words of probability 0 have -inf
            score += words.data @ np.log(probability)
        total += held_out.sum()
    if total == 0:
        raise ValueError(
            "Nothing is held out to be scored: X needs documents with at least two "
            "distinct words."
        )
    return float(score / total)


@completed_by(completion_log_likelihood, "Raises")
@check_arguments(**_CONSTRAINTS)
def perplexity(
    estimator: Any,
    X: DataLike,
    *,
    split: Literal["words", "tokens"] = "words",
    temperatures: Literal["unit", "learned"] = "unit",
    random_state: Seed = None,
) -> float:
    """Return the perplexity of held-out words by document completion.

    The perplexity is ``exp(-completion_log_likelihood(...))``.  It is the number of
    words in a uniform distribution under which the held-out words would have the same
    log-likelihood.

    Returns
    -------
    perplexity : float
        Lower is better; uniform topics have the size of the vocabulary.

    See Also
    --------
    completion_log_likelihood : The negative logarithm of the perplexity.

    References
    ----------
    .. [1] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
           tempering", AISTATS 2016.

    Examples
    --------
    >>> from sktemper import AnnealedLDA, metrics
    >>> from sktemper.datasets import make_lda_documents
    >>> X = make_lda_documents(600, 100, 5, random_state=0)
    >>> lda = AnnealedLDA(5, random_state=0).fit(X[:500])
    >>> metrics.perplexity(lda, X[500:]) < 100  # the number of words
    True
    """
    score = completion_log_likelihood(
        estimator, X, split=split, temperatures=temperatures, random_state=random_state
    )
    with np.errstate(over="ignore"):
        return float(np.exp(-score))


def _distributions(estimator, n_features):
    """Return the topics as distributions over words, as a new array."""
    components = scaled(components_of(estimator, n_features).astype(np.float64))
    totals = components.sum(axis=1, keepdims=True)
    if components.min() < 0 or totals.min() == 0:
        raise ValueError(
            "components_ is not of topics: each row must have non-negative entries "
            "and a positive sum."
        )
    return components / totals


def _learned_temperatures(estimator, observed):
    if hasattr(estimator, "temperatures"):
        return estimator.temperatures(observed)
    return estimator.temperature_


def _split_words(X, random):
    held_out = is_odd(X)
    return kept(X, ~held_out), kept(X, held_out)


def _split_tokens(X, random):
    with np.errstate(invalid="ignore"):  # counts that are too large for an integer
        counts = X.data.astype(np.int64)
    if not np.array_equal(counts, X.data):
        raise ValueError("split='tokens' needs integer counts; use split='words'.")
    half = random.binomial(counts, 0.5)
    return _with_data(X, half), _with_data(X, counts - half)


def _with_data(X, data):
    part = sparse.csr_array((data, X.indices, X.indptr), shape=X.shape, copy=True)
    part.eliminate_zeros()
    return part


_SPLITS = {"words": _split_words, "tokens": _split_tokens}

"""Priors of documents: derived from their lengths, and fitted for predictions."""

import math
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from .._engine._data import matrices_of
from .._utils._arguments import is_number, positive_int, refuse
from .._utils._linalg import canonical
from .._utils._notices import warn
from .._utils._typing import ArrayLike, DataLike, Float, Int
from .._utils._validation import checked_floats

# -- checks of priors and counts -------------------------------------------------------
#: Largest number of tokens of a sampled document; each token takes four bytes.
MOST_TOKENS = 10_000_000


def positive(value, name, shapes):
    """Return a number, or an array of one of ``shapes``, as positive float64."""
    if isinstance(value, bool):
        refuse(name, "a positive number", value)
    if isinstance(value, Real):
        if not 0 < value < math.inf:
            raise ValueError(f"{name} must be positive and finite, got {value}.")
        return np.float64(value)
    array = checked_floats(value, name)
    if array.shape not in shapes:
        expected = " or ".join(map(str, shapes))
        raise ValueError(f"{name} has shape {array.shape}; expected {expected}.")
    if not (array > 0).all():
        raise ValueError(f"{name} must be positive everywhere.")
    return array


def check_samplable(X):
    """Raise if the topics of tokens cannot be drawn one by one."""
    X = canonical(X, np.float64) if sparse.issparse(X) else X
    counts = X.data if sparse.issparse(X) else X
    if counts.dtype.kind == "f" and (counts != np.rint(counts)).any():
        raise ValueError(
            'doc_update="sampled" draws the topic of each token, so counts must be '
            'whole numbers; doc_update="auto" takes fractional counts variationally.'
        )
    if X.sum(axis=1, dtype=np.float64).max() > MOST_TOKENS:
        raise ValueError(
            'doc_update="sampled" draws the topic of each token, and a document has '
            f'more than {MOST_TOKENS:,} tokens; doc_update="auto" takes long documents '
            "variationally."
        )


# -- priors that seed topics with words ------------------------------------------------
def seeded_prior(
    feature_names: ArrayLike,
    seeds: dict[str, Any],
    X: DataLike,
    n_components: Int,
    *,
    strength: Float = 1.0,
    context: Float = 0.1,
    topic_word_prior: Float = 0.1,
) -> np.ndarray:
    """Return a ``topic_word_prior`` that seeds topics with words.

    The first topics get a prior that expects their words, one topic for each entry of
    ``seeds``; the other topics are free.

    Parameters
    ----------
    feature_names : array-like of shape (n_features,)
        The words, such as the result of a vectorizer's ``get_feature_names_out``.
    seeds : dict of str to list of str
        Names and words of the seeded topics, in the order of the topics.  Words that
        are not in ``feature_names``, or do not occur in ``X``, are left out, with a
        warning.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Documents of the later fit; also a list of parts.
    n_components : int
        Number of topics of the model.
    strength : float, default=1.0
        Prior tokens of a seed, as a multiple of its number of occurrences in ``X``.
        From about 3 on, topics have few words except for their seeds.
    context : float, default=0.1
        Prior tokens of words that are more than twice as frequent in documents with
        seeds as in all documents, as a multiple of the excess.  With 0 only seeds have
        additional prior tokens.  The topic of a rare subject may then change its
        subject while the temperature is high, because the other words of its documents
        belong to other topics.
    topic_word_prior : float, default=0.1
        Smallest prior of a word.

    Returns
    -------
    prior : ndarray of shape (n_components, n_features)
        Value for the parameter ``topic_word_prior``.

    Raises
    ------
    ValueError
        If there are more seeded topics than ``n_components``, if none of the words of a
        topic occurs, or if shapes do not agree.

    Warns
    -----
    UserWarning
        If some words do not occur.

    Notes
    -----
    The defaults are measured by ``benchmarks/results/topics.md``, with 30,000 package
    descriptions and 50 topics.  Without ``context``, 1 percent of the tokens of
    "genome", "dna" and "protein" ended in their topic, for all strengths up to 2.  With
    it, all of them did.  Other topics and the held-out score changed little.

    Examples
    --------
    >>> from sktemper import AnnealedLDA, seeded_prior
    >>> from sktemper.datasets import load_debian_descriptions
    >>> debian = load_debian_descriptions()
    >>> X, words = debian.data[:4000], debian.feature_names
    >>> seeds = {"games": ["game", "player"], "mail": ["mail", "imap", "smtp"]}
    >>> prior = seeded_prior(words, seeds, X, n_components=20)
    >>> lda = AnnealedLDA(20, topic_word_prior=prior, random_state=0).fit(X)
    >>> sorted(lda.top_words(words, 3)[0])
    ['audio', 'game', 'player']
    """
    n_components = positive_int(n_components, "n_components")
    _check_seeds(seeds, n_components, {"strength": strength, "context": context})
    names = np.asarray(feature_names, dtype=object)
    X = _matrix(X, names)
    counts = _sums(X)
    base = positive(topic_word_prior, "topic_word_prior", [(len(names),)])
    prior = np.broadcast_to(base, (n_components, len(names))).copy()
    column = {str(names[number]): number for number in np.flatnonzero(counts)}
    unknown = []
    for topic, (name, words) in enumerate(seeds.items()):
        known = [column[word] for word in words if word in column]
        unknown += [word for word in words if word not in column]
        if not known:
            raise ValueError(f"None of the words of {name!r} occurs in X.")
        prior[topic, known] += strength * counts[known]
        prior[topic] += context * _excess(X, counts, known)
    if unknown:
        warn(f"These seeds do not occur in X: {', '.join(map(repr, unknown))}.")
    return prior


def _check_seeds(seeds, n_components, factors):
    """Raise if seeds are not lists of words, or a factor is not a valid number."""
    if not isinstance(seeds, Mapping) or not seeds:
        raise ValueError("seeds must be a dict of names of topics to lists of words.")
    if len(seeds) > n_components:
        raise ValueError(
            f"seeds has {len(seeds)} topics, more than n_components={n_components}."
        )
    for name, words in seeds.items():
        if isinstance(words, str) or not isinstance(words, Iterable):
            raise ValueError(f"The words of {name!r} must be a list, got {words!r}.")
    for name, value in factors.items():
        if not is_number(value) or not 0 <= value < np.inf:
            raise ValueError(f"{name} must be finite and at least 0, got {value!r}.")


def _matrix(X, names):
    X = sparse.vstack(list(map(_counts, matrices_of(X))), "csr")
    if names.shape != (X.shape[1],):
        raise ValueError(
            f"feature_names has shape {names.shape}, but X has {X.shape[1]} features."
        )
    return X


def _counts(X):
    X = check_array(X, accept_sparse="csr", ensure_non_negative=True, input_name="X")
    return sparse.csr_array(X)


def _sums(X):
    return np.asarray(X.sum(axis=0, dtype=np.float64)).ravel()


def _excess(X, counts, seeds):
    """Return the occurrences with seeds above twice the expected number, by word."""
    with_seeds = np.asarray(X[:, seeds].sum(axis=1)).ravel() > 0
    here = _sums(X[with_seeds])
    excess = np.maximum(here - 2.0 * counts * (here.sum() / counts.sum()), 0.0)
    excess[seeds] = 0.0
    return excess


# -- priors of documents: derived from their lengths, and fitted for predictions -------
#: Largest alpha of "auto", the factor of the tokens of a document divided by K, and the
#: smallest alpha that is computed.
MOST_ALPHA, ALPHA_PER_TOKEN, LEAST_ALPHA = 0.05, 0.07, 1e-3
#: Largest number of rows from which priors and the number of topics are found.
SAMPLED_ROWS = 2000
#: Each candidate has a sum and a shape.  Sums are these multiples of the sum of the
#: training prior.  Shapes are proportional to these powers of the topics' shares of the
#: tokens, where the power 0 stands for the shape of the training prior.
MULTIPLES = 2.0 ** np.arange(-4, 3)
ASYMMETRIES = (0.0, 0.5, 1.0)
#: Smallest share of a topic in an asymmetric prior, in units of 1 / K.
LEAST_SHARE = 0.05


def auto_prior(X, n_topics, sample_weight=None):
    """Return alpha for N tokens in a mean nonempty document: min(.05, .07 N / K).

    It is at least .001.
    """
    tokens = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()
    weight = np.ones(len(tokens)) if sample_weight is None else sample_weight
    weight = np.where(tokens > 0, weight, 0.0)
    total = weight.sum()
    if total == 0:
        return MOST_ALPHA
    mean = float(tokens @ (weight / total))
    return max(LEAST_ALPHA, min(MOST_ALPHA, ALPHA_PER_TOKEN * mean / n_topics))


def auto_prior_of_fewer(alpha, n_topics, n_left):
    """Return alpha for fewer topics and documents of the same length."""
    return max(LEAST_ALPHA, min(MOST_ALPHA, alpha * n_topics / n_left))


def even_rows(n_rows):
    """Return the numbers of at most `SAMPLED_ROWS` evenly spaced rows."""
    return np.arange(0, n_rows, -(-n_rows // SAMPLED_ROWS))


def best_prior(problem, state):
    """Return the prior of documents with the best score of an even sample of rows."""
    trained, rows = state.hyper, even_rows(len(problem.data))
    total = trained.sum()
    gammas = _maps(problem, state, type(problem.model).optimal_gamma, trained, rows)
    tokens = sum(gamma.sum(axis=0, dtype=np.float64) for gamma in gammas)
    tokens = tokens - len(rows) * trained
    share = np.maximum(tokens / tokens.sum(), LEAST_SHARE / len(trained))
    candidates, shape = [trained], trained / total
    for asymmetry in ASYMMETRIES:
        if asymmetry:
            shape = share**asymmetry / (share**asymmetry).sum()
        candidates += [total * multiple * shape for multiple in MULTIPLES]
    return np.array(max(candidates, key=lambda p: _completion(problem, state, p, rows)))


def _completion(problem, state, prior, rows):
    """Return the score per held-out token of rows, with a given prior."""
    parts = _maps(problem, state, type(problem.model).predictive_scores, prior, rows)
    scores, held_out = np.sum([np.sum(part, axis=1) for part in parts], axis=0)
    if held_out == 0:
        raise ValueError(
            "Nothing of X is held out to be predicted: X needs documents with at "
            "least two distinct words."
        )
    return scores / held_out


def _maps(problem, state, function, prior, rows):
    prepared = problem.model.prepare(state.globals_, prior)
    return list(problem.map(function, prepared, rows=rows))

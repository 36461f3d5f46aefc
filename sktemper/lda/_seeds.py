"""Priors that seed topics with words."""

from collections.abc import Iterable, Mapping

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from .._arguments import is_number, positive_int
from .._data import matrices_of
from .._notices import warn
from ._checks import positive

__all__ = ["seeded_prior"]


def seeded_prior(
    feature_names,
    seeds,
    X,
    n_components,
    *,
    strength=1.0,
    context=0.1,
    topic_word_prior=0.1,
):
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
    >>> sorted(lda.top_words(words, 2)[0])
    ['game', 'player']
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
    """Return valid counts as one CSR matrix."""
    matrices = matrices_of(X)
    X = sparse.vstack([_counts(matrices[i]) for i in range(len(matrices))], "csr")
    if names.shape != (X.shape[1],):
        raise ValueError(
            f"feature_names has shape {names.shape}, but X has {X.shape[1]} features."
        )
    return X


def _counts(X):
    X = check_array(X, accept_sparse="csr", ensure_non_negative=True, input_name="X")
    return sparse.csr_array(X)


def _sums(X):
    """Return the number of occurrences of each word."""
    return np.asarray(X.sum(axis=0, dtype=np.float64)).ravel()


def _excess(X, counts, seeds):
    """Return the occurrences with seeds above twice the expected number, by word."""
    with_seeds = np.asarray(X[:, seeds].sum(axis=1)).ravel() > 0
    here = _sums(X[with_seeds])
    excess = np.maximum(here - 2.0 * counts * (here.sum() / counts.sum()), 0.0)
    excess[seeds] = 0.0
    return excess

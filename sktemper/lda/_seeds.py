"""Priors that seed topics with words."""

import warnings
from collections.abc import Mapping
from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from ._checks import positive

__all__ = ["seeded_prior"]


def seeded_prior(
    feature_names,
    seeds,
    X,
    n_components,
    *,
    strength=1.5,
    topic_word_prior=0.1,
):
    """Return a ``topic_word_prior`` that seeds topics with words.

    The first topics get a prior that expects their words, one topic for each entry of
    ``seeds``; the other topics are free.

    Parameters
    ----------
    feature_names : array-like of shape (n_features,)
        The words, as a vectorizer's ``get_feature_names_out`` has them.
    seeds : dict of str to list of str
        For each topic to be seeded a name and its words, in the order of the topics.
        Words that are not among ``feature_names``, or do not occur in ``X``, are left
        out, with a warning.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The documents that the model will be fitted to.
    n_components : int
        Topics of the model.
    strength : float, default=1.5
        How many tokens of prior a word gets, as a multiple of how often it occurs in
        ``X``.  Less, and at high temperatures the topic drifts away from its words;
        more, and it gets few others beside them.
    topic_word_prior : float, default=0.1
        The prior of all other words.

    Returns
    -------
    prior : ndarray of shape (n_components, n_features)
        For the parameter ``topic_word_prior``.

    Raises
    ------
    ValueError
        If there are more seeded topics than ``n_components``, no word of a topic is
        known, or the shapes do not agree.

    Warns
    -----
    UserWarning
        Of words that are not known.

    Notes
    -----
    The default was measured, with "share" the part of the tokens of the seed words that
    the fit gives to their topic, see ``benchmarks/seeded_topics.py``.

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
    names = np.asarray(feature_names, dtype=object)
    counts = _counts(X, names)
    if not isinstance(seeds, Mapping) or not seeds:
        raise ValueError("seeds must be a dict of names of topics to lists of words.")
    if len(seeds) > n_components:
        raise ValueError(
            f"seeds has {len(seeds)} topics, more than n_components={n_components}."
        )
    if not isinstance(strength, Real) or not 0 < strength < np.inf:
        raise ValueError(f"strength must be positive and finite, got {strength!r}.")
    base = positive(topic_word_prior, "topic_word_prior", [(len(names),)])
    prior = np.broadcast_to(base, (n_components, len(names))).copy()
    column = {str(name): number for number, name in enumerate(names)}
    unknown = []
    for topic, (name, words) in enumerate(seeds.items()):
        if isinstance(words, str):
            raise ValueError(f"The words of {name!r} must be a list, got {words!r}.")
        known = [column[w] for w in words if w in column and counts[column[w]] > 0]
        unknown += [w for w in words if w not in column or counts[column[w]] == 0]
        if not known:
            raise ValueError(f"None of the words of {name!r} occurs in X.")
        prior[topic, known] += strength * counts[known]
    if unknown:
        warnings.warn(
            f"These seeds do not occur in X: {', '.join(map(repr, unknown))}.",
            stacklevel=2,
        )
    return prior


def _counts(X, names):
    """Return how often each word occurs."""
    X = check_array(X, accept_sparse="csr", ensure_non_negative=True, input_name="X")
    if names.shape != (X.shape[1],):
        raise ValueError(
            f"feature_names has shape {names.shape}, but X has {X.shape[1]} features."
        )
    total = sparse.csr_array(X).sum(axis=0, dtype=np.float64)
    return np.asarray(total).ravel()

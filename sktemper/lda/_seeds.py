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
        The words, as a vectorizer's ``get_feature_names_out`` has them.
    seeds : dict of str to list of str
        For each topic to be seeded a name and its words, in the order of the topics.
        Words that are not among ``feature_names``, or do not occur in ``X``, are left
        out, with a warning.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The documents that the model will be fitted to, also in parts.
    n_components : int
        Topics of the model.
    strength : float, default=1.0
        How many tokens of prior a word gets, as a multiple of how often it occurs in
        ``X``.  From about 3 on topics get few words beside their seeds.
    context : float, default=0.1
        How many tokens of prior the other words get that documents with seeds have at
        least twice as often as others: a multiple of what they have above that.  At 0
        only the seeds are in the prior, and the topic of a rare subject may drift away
        from it while the temperature is high, as all other words of its documents go
        elsewhere.
    topic_word_prior : float, default=0.1
        What the prior of all words is at least.

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
    The defaults are measured, see ``benchmarks/seeded_topics.py``: of 30,000 package
    descriptions and 50 topics "genome", "dna" and "protein" ended with 1 percent of
    their tokens in their topic, at any strength up to 2, without the context, and with
    all of them with it; other topics, and the held-out score, changed little.

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
    """Raise if seeds are no words of topics, or a factor is no number."""
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
    """Return valid counts as CSR, those of parts in one matrix."""
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
    """Return how often each word occurs."""
    return np.asarray(X.sum(axis=0, dtype=np.float64)).ravel()


def _excess(X, counts, seeds):
    """Return how much oftener than twice as often as elsewhere words are with seeds."""
    with_seeds = np.asarray(X[:, seeds].sum(axis=1)).ravel() > 0
    here = _sums(X[with_seeds])
    excess = np.maximum(here - 2.0 * counts * (here.sum() / counts.sum()), 0.0)
    excess[seeds] = 0.0
    return excess

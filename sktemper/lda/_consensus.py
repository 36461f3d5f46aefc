"""Fits to random halves of the documents: their common topics, and which return."""

from dataclasses import replace
from functools import partial

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.utils import check_array, check_random_state

from .._engine._data import Source, data_of
from .._estimator._choices import choices_of
from .._estimator._streams import names_of
from .._utils._results import copy_fit
from .._utils._words import N_COMPARED
from ._merging import most_probable, unit


def fits_to_halves(estimator, X, n_splits, random_state):
    """Return pairs of fits to both halves of random splits of the documents.

    Rows are in random order, because starts are computed from evenly spaced ones.
    """
    rng, most, fits = check_random_state(random_state), np.iinfo(np.int32).max, []
    data = data_of(X, partial(check_array, accept_sparse="csr", ensure_min_samples=2))
    for _ in range(n_splits):
        for half in np.array_split(rng.permutation(len(data)), 2):
            fit = clone(estimator).set_params(random_state=rng.randint(most))
            fit._end_of_fit_checks = ()  # few documents may leave topics empty
            fit.fit(data.rows(np.sort(half))[rng.permutation(len(half))])
            del fit._end_of_fit_checks
            names = names_of(X)
            fit.state_.choices = replace(choices_of(fit), names=names)
            if names is not None and not isinstance(X, Source):
                fit = copy_fit(fit, {"feature_names_in_": names})
            fits.append(fit)
    return list(zip(fits[::2], fits[1::2], strict=True))


def common_tokens(fits, n_times):
    """Return the expected tokens of the topics that fits have in common.

    Topics of each fit are matched one to one with centres, and a centre is the mean
    direction of the roots of its topics.  Both steps raise the sum of affinities, until
    it is largest.  The tokens of a topic count by the square of its affinity.

    Returns
    -------
    tokens : ndarray of shape (n_features, n_topics)
        As many topics as the smallest fit has.  Their sum is the number of tokens of
        all documents, each of which is in ``n_times`` of the fits.
    """
    tokens = [fit.state_.globals_.tokens() for fit in fits]
    roots = [unit(np.sqrt(own)) for own in tokens]
    centres, highest = min(roots, key=lambda root: root.shape[1]), -np.inf
    while True:
        matches = [
            linear_sum_assignment(centres.T @ root, maximize=True)[1] for root in roots
        ]
        matched = [root[:, match] for root, match in zip(roots, matches, strict=True)]
        weights = [np.einsum("vk,vk->k", centres, root) for root in matched]
        if np.sum(weights) <= highest:
            break
        highest, centres = np.sum(weights), unit(sum(matched))
    parts = zip(weights, tokens, matches, strict=True)
    total = sum(weight**2 * own[:, match] for weight, own, match in parts)
    return total * sum(own.sum() for own in tokens) / (total.sum() * n_times)


def recurrence(topic_word, pairs):
    """Return the probability that a fit to other documents has a topic.

    A topic returns in a fit if half of its ten most probable words are those of the
    matched topic.  The fits of a pair share no document.  They share documents with the
    topics, which thus return in them too often; but they are fitted to few documents,
    so that their own topics return in each other too rarely.  The result is the mean of
    both shares.
    """
    n_words = min(N_COMPARED, topic_word.shape[1])
    own, found = most_probable(topic_word, n_words), []
    for pair in pairs:
        one, other = (most_probable(fit.topic_word_, n_words) for fit in pair)
        for half, rest in (one, other), (other, one):
            match, returns = _returns(own, half, n_words)
            again = np.append(_returns(half, rest, n_words)[1], False)
            found += [returns, again[match]]
    return np.mean(found, axis=0)


def _returns(own, other, n_words):
    """Return the match of each topic, -1 without one, and whether it returns."""
    common = (own @ other.T).toarray()
    rows, columns = linear_sum_assignment(common, maximize=True)
    match = np.full(len(common), -1)
    match[rows] = columns
    return match, (match >= 0) & (common[np.arange(len(match)), match] >= n_words / 2)

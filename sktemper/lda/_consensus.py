"""Fits to random parts of the documents: their common topics, and which return."""

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.utils import check_array, check_random_state

from .._engine._data import Source, data_of, with_weight
from .._estimator._choices import choices_of
from .._estimator._problems import check_rows, validated_weight
from .._estimator._streams import names_of
from .._utils._results import copy_fit
from .._utils._words import N_COMPARED
from ._merging import most_probable, unit


def fits_to_parts(estimator, X, sample_weight, n_splits, random_state):
    """Return pairs of fits to halves of random splits, and fits to random quarters.

    Rows are in random order, because starts are computed from evenly spaced ones.  The
    first fit warns for all.
    """
    check_rows(estimator, X, sample_weight)
    rng, most = check_random_state(random_state), np.iinfo(np.int32).max
    data = data_of(X, partial(check_array, accept_sparse="csr"))
    names, weight = names_of(X), validated_weight(sample_weight, data)
    rows, splits = with_weight(np.arange(len(data)), weight), []
    if len(rows) < 2 * 2:
        raise ValueError(f"Found {len(rows)} sample(s); a minimum of 4 is required.")
    with warnings.catch_warnings():
        for n_parts in [2] * n_splits + [2 * 2]:
            splits.append(fits := [])
            for part in np.array_split(rng.permutation(rows), n_parts):
                fit = clone(estimator).set_params(random_state=rng.randint(most))
                fit._end_of_fit_checks = ()  # few documents may leave topics empty
                part, order = np.sort(part), rng.permutation(len(part))
                own = None if weight is None else weight[part[order]]
                fit.fit(data.rows(part)[order], sample_weight=own)
                warnings.simplefilter("ignore")
                del fit._end_of_fit_checks
                fit.state_.choices = replace(choices_of(fit), names=names)
                if names is not None and not isinstance(X, Source):
                    fit = copy_fit(fit, {"feature_names_in_": names})
                fits.append(fit)
    return splits[:-1], splits[-1]


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


def recurrence(topic_word, halves, quarters=()):
    """Return the probability that a fit to other documents has a topic.

    A topic returns in a fit if half of its ten most probable words are those of the
    matched topic.  The expected number of these words is between two levels: that of
    fits to halves, which is too high because they share documents with the topics, and
    that of the matched topics of halves in the other halves, which is too low because
    halves are small.  It is the mean of two estimates: the middle of both levels, and
    what exceeds the second as halves exceed quarters.  Quarters, raised to the levels
    of halves, also tell how topics differ.  The number is normal, with the variance
    between fits.

    Parameters
    ----------
    topic_word : ndarray of shape (n_topics, n_features)
    halves : iterable of pairs of fits
    quarters : list of fits
    """
    n_words, share = min(N_COMPARED, topic_word.shape[1]), 0.5
    own = most_probable(topic_word, n_words)
    found = np.concatenate([_common_words(own, pair, n_words) for pair in halves])
    levels = found.mean(axis=(0, 2))
    if quarters:
        of_quarters = _common_words(own, quarters, n_words)
        gains = levels - of_quarters.mean(axis=(0, 2))
        if (difference := levels[0] - levels[1]) > 0.0:
            share = (share + np.clip(gains[1] / difference, 0.0, 1.0)) / 2
        found = np.concatenate([found, of_quarters + gains[:, None]])
    expected = np.array([share, 1.0 - share]) @ found.mean(axis=0)
    deviation = np.sqrt(np.var(found, axis=0, ddof=1).mean())
    least = (n_words + n_words % 2 - 1) / 2  # half of the words, less half a word
    return ndtr((expected - least) / (deviation + np.finfo(float).eps))


def _common_words(own, fits, n_words):
    """Return numbers of the words that topics have in common, (n_fits, 2, n_topics).

    They are those of each topic and its match in a fit, and those of this match and its
    matches in the other fits, on average.
    """
    parts = [most_probable(fit.topic_word_, n_words) for fit in fits]
    found = []
    for number, part in enumerate(parts):
        match, common = _matched(own, part)
        others = parts[:number] + parts[number + 1 :]
        again = np.mean([_matched(part, other)[1] for other in others], axis=0)
        found.append((common, np.append(again, 0)[match]))
    return np.array(found)


def _matched(own, other):
    """Return the match of each topic, -1 without one, and their words in common."""
    common = (own @ other.T).toarray()
    rows, columns = linear_sum_assignment(common, maximize=True)
    match, n_common = np.full(len(common), -1), np.zeros(len(common))
    match[rows], n_common[rows] = columns, common[rows, columns]
    return match, n_common

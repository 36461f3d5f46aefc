"""Greedy merging of topics by the evidence of their words."""

import copy
import math
from dataclasses import replace

import numpy as np
from scipy import sparse

from .._engine._data import Problem, data_of
from .._estimator._choices import choices_of
from .._estimator._problems import stream_rate, workers_for
from .._estimator._streams import copy_with_state
from .._simd import special
from .._utils._arguments import refuse
from .._utils._results import fit_results, install_results, new_estimator
from ._cells import N_SQUARES, with_shares
from ._priors import auto_prior_of_fewer, even_rows
from ._topics import Topics

# -- greedy merging of topics by the evidence of their words ---------------------------
#: Number of nearest topics with which a topic is compared.
N_NEAREST = 8
#: Smallest cosine of topics that are merged if the number of topics is to be found.
#: Without this limit, small topics would be merged into large topics.
LEAST_MERGED_COSINE = 0.3
#: A topic is empty if its number of tokens is below this share of the mean over topics.
LARGEST_EMPTY = 1e-3


def groups_of_topics(tokens, prior, n_left=None):
    """Return for each topic the index of the group into which it is merged.

    The evidence of a topic with the expected tokens c is

    ``F(c) = sum_v log Gamma(c_v + eta_v) - log Gamma(sum_v c_v + eta_v)
    + log Gamma(sum_v eta_v) - sum_v log Gamma(eta_v)``.

    Repeatedly, the pair with the smallest ``F(c_i) + F(c_j) - F(c_i + c_j)`` is merged.
    Merges end at ``n_left`` topics, or, if that is None, when no merge raises the
    evidence.

    Parameters
    ----------
    tokens : ndarray of shape (n_topics, n_features)
        c, the nonnegative expected tokens of each topic.
    prior : ndarray of shape (1 or n_topics, 1 or n_features)
        eta.  A topic has seeds if its prior of a word exceeds the smallest prior of the
        word over topics.  Two topics that both have seeds are not merged.
    n_left : int or None
        Number of topics of the result.  None merges pairs with a cosine above .3 while
        the evidence rises, and empty topics.

    Returns
    -------
    groups : ndarray of int of shape (n_topics,)
        Indices of groups, which are ordered by their first topics.
    """
    merging = Merging(tokens, prior, None if n_left else LEAST_MERGED_COSINE)
    if n_left is None:
        merging.merge_empty()
    merging.merge_down_to(n_left or 1, any_gain=n_left is not None)
    return merging.groups()


def seeded_topics(prior, n_topics):
    """Return a mask of the topics that have seeds, see `groups_of_topics`."""
    has_seeds = (prior > prior.min(axis=0)).any(axis=1)
    return np.array(np.broadcast_to(has_seeds, n_topics))


def cosine(a, b):
    """Return the cosine of two nonnegative vectors, 0 if one is 0."""
    first, second = unit(np.column_stack([a, b])).T
    return float(first @ second)


def most_probable(topic_word, n_words):
    """Return a CSR array with a 1 for each of the most probable words of topics."""
    n_others = topic_word.shape[1] - n_words
    top = np.argpartition(topic_word, n_others, axis=1)[:, n_others:]
    parts = np.ones(top.size), top.ravel(), n_words * np.arange(len(top) + 1)
    return sparse.csr_array(parts, shape=topic_word.shape)


def sum_groups(rows, groups):
    total = np.zeros((groups.max() + 1, *rows.shape[1:]))
    np.add.at(total, groups, rows)
    return total


class Merging:
    """Groups of merged topics, each represented by its first topic.

    Parameters
    ----------
    tokens, prior : ndarray
        As in `groups_of_topics`.
    least_cosine : float or None
        Smallest cosine of topics that may be merged.

    Attributes
    ----------
    representative : ndarray of int
        The topic that represents the group of each topic.
    change : ndarray of shape (n_topics, n_topics)
        Decrease of the evidence by the merge of a pair; infinity if it is not known.
    """

    def __init__(self, tokens, prior, least_cosine):
        self.tokens = np.array(tokens, dtype=np.float64, order="C")
        n_topics = len(self.tokens)
        self.prior = np.array(np.broadcast_to(prior, self.tokens.shape), order="C")
        self.has_seeds = seeded_topics(np.atleast_2d(prior), n_topics)
        self.least_cosine = least_cosine
        self.representative, self.n_left = np.arange(n_topics), n_topics
        priors = self.prior[: len(np.atleast_2d(prior))]
        self.normaliser = np.resize([_log_normaliser(eta) for eta in priors], n_topics)
        self.evidence = np.array([self._evidence(topic) for topic in range(n_topics)])
        self.root = np.sqrt(self.tokens)
        totals = np.maximum(self.tokens.sum(axis=1, keepdims=True), 1e-300)
        self.root /= np.sqrt(totals)
        self.affinity = self.root @ self.root.T
        np.fill_diagonal(self.affinity, -1.0)
        self.change = np.full((n_topics, n_topics), np.inf)
        for topic in range(n_topics):
            self._update_changes(topic)

    def merge_empty(self):
        totals = self.tokens.sum(axis=1)
        for topic in np.flatnonzero(totals < LARGEST_EMPTY * totals.mean()):
            other = int(np.argmax(self.affinity[topic]))
            if not self.has_seeds[topic] and self.affinity[topic, other] >= 0:
                self.merge(*sorted((int(topic), other)))

    def merge_down_to(self, n_left, any_gain):
        while self.n_left > n_left and (pair := self.best_pair(any_gain)):
            self.merge(*pair)

    def best_pair(self, any_gain):
        if any_gain and not np.isfinite(self.change).any():
            for topic in np.unique(self.representative):
                self._update_changes(topic)
        best = np.unravel_index(np.argmin(self.change), self.change.shape)
        change = self.change[best]
        if not np.isfinite(change) or (change >= 0 and not any_gain):
            return None
        return tuple(sorted(int(topic) for topic in best))

    def cheapest_pairs(self, n_pairs):
        order = np.argsort(self.change, axis=None, kind="stable")
        order = order[np.isfinite(self.change.ravel()[order])][: 2 * n_pairs]
        pairs = zip(*np.unravel_index(order, self.change.shape), strict=True)
        pairs = (tuple(sorted(map(int, pair))) for pair in pairs)
        return list(dict.fromkeys(pairs))[:n_pairs]

    def groups(self, pair=None):
        """Return the index of each topic's group, after merging ``pair`` if given."""
        into = self.representative
        if pair is not None:
            into = np.where(into == pair[1], pair[0], into)
        return np.unique(into, return_inverse=True)[1]

    def merge(self, kept, gone):
        self.representative[self.representative == gone] = kept
        self.n_left -= 1
        self.tokens[kept] += self.tokens[gone]
        if self.has_seeds[gone]:
            self.prior[kept], self.has_seeds[kept] = self.prior[gone], True
            self.normaliser[kept] = self.normaliser[gone]
        self.evidence[kept] = self._evidence(kept)
        total = max(self.tokens[kept].sum(), 1e-300)
        self.root[kept] = np.sqrt(self.tokens[kept] / total)
        alive = self.representative == np.arange(len(self.representative))
        affinity = np.where(alive, self.root @ self.root[kept], -1.0)
        affinity[kept] = -1.0
        for table, rows in ((self.affinity, -1.0), (self.change, np.inf)):
            table[gone], table[:, gone] = rows, rows
        self.affinity[kept], self.affinity[:, kept] = affinity, affinity
        self.change[kept], self.change[:, kept] = np.inf, np.inf
        self._update_changes(kept)

    def _update_changes(self, topic):
        n_nearest = min(N_NEAREST, len(self.affinity) - 1)
        affinity = self.affinity[topic]
        for other in np.argsort(-affinity, kind="stable")[:n_nearest]:
            pair = topic, other
            if affinity[other] < 0 or np.isfinite(self.change[other, topic]):
                continue
            if self._may_merge(*pair):
                self.change[pair] = self._change(*pair)

    def _may_merge(self, i, j):
        if self.has_seeds[i] and self.has_seeds[j]:
            return False
        if self.least_cosine is None:
            return True
        return cosine(self.tokens[i], self.tokens[j]) > self.least_cosine

    def _change(self, i, j):
        prior = j if self.has_seeds[j] else i
        together = self._evidence(prior, self.tokens[i] + self.tokens[j])
        return self.evidence[i] + self.evidence[j] - together

    def _evidence(self, topic, tokens=None):
        """Return F, the log evidence of tokens, by default those of the topic."""
        tokens = self.tokens[topic] if tokens is None else tokens
        return self.normaliser[topic] - _log_normaliser(tokens + self.prior[topic])


def _log_normaliser(parameters):
    log_gammas, _ = special.evaluate("log_gamma", parameters)
    total, _ = special.evaluate("log_gamma", parameters.sum(keepdims=True))
    return total[0] - log_gammas.sum()


# -- methods of LDA for renewals, see `sktemper.renewals` ------------------------------
# A renewal of a stream adds topics that are fitted to recent documents, joins them with
# the current topics, and merges similar topics.

#: Cosine above which a topic of a renewal is the same as a current topic.
SAME_COSINE = 0.9
#: Least weight of the current topic in the mean of a current topic and a similar topic
#: of a renewal.  A renewal fits topics to few documents, with several passes; the
#: current topics have learned more documents, each of them once.
LEAST_KEPT = 0.75


def unit(tokens):
    """Return columns of length 1; zeros stay zeros."""
    norm = np.sqrt((tokens**2).sum(axis=0))
    return tokens / np.where(norm > 0, norm, 1.0)


# -- fitted models with merged topics --------------------------------------------------
#: Largest number of rounds of merges and passes, if the number of topics is to be
#: found.  The passes may make further topics equal.
N_MERGES = 3
#: Number of pairs of topics whose merges are tried in each step of the search for the
#: number of topics.  The search ends if none of them raises the lower bound.
N_TRIALS = 3


def merged_topics(estimator, tokens, groups):
    """Return a fitted estimator in which the topics of each group are merged.

    Parameters
    ----------
    tokens : ndarray of shape (n_topics, n_features)
        Expected tokens of the current topics.
    groups : ndarray of int of shape (n_topics,)
    """
    parameters, model = _merged_model(estimator, groups)
    globals_, hyper = _merged_globals(model, estimator.state_, tokens, groups)
    return with_topics(estimator, globals_, hyper, parameters)


def with_topics(estimator, globals_, hyper, parameters, **chosen):
    """Return a fitted estimator with other topics, and parameters that fit them.

    ``chosen`` are values of its `Choices` that differ.
    """
    state, policies = estimator.state_, estimator.state_.policies
    keeps_rate = stream_rate(estimator) is not None
    choices = replace(choices_of(estimator), prediction_prior=None, recurrence=None)
    cells = None if globals_.cells is None else choices.cells
    changed = replace(
        state,
        globals_=globals_,
        hyper=hyper,
        best=None,
        policies=policies if keeps_rate else replace(policies, learning_rate=None),
        stream=None,
        history=copy.deepcopy(state.history),
        choices=replace(choices, cells=cells, **chosen),
    )
    return copy_with_state(estimator, changed, parameters)


def _merged_model(estimator, groups):
    """Return the parameters and the model of merged topics."""
    state = estimator.state_
    settings = estimator._settings().replaced(**state.fixed or {})
    alpha, eta = settings.doc_topic_prior, settings.topic_word_prior
    if np.ndim(alpha) == 1:
        alpha = sum_groups(np.asarray(alpha, dtype=np.float64), groups)
    if np.ndim(eta) == 2:
        eta = np.asarray(eta, dtype=np.float64)
        best = np.lexsort((-eta.sum(axis=1), groups))
        eta = eta[best[np.unique(groups[best], return_index=True)[1]]]
    parameters = {
        "n_components": int(groups.max()) + 1,
        "doc_topic_prior": alpha,
        "topic_word_prior": eta,
        "init": None,
    }
    settings = settings.replaced(**parameters)
    return parameters, estimator._make_model(settings, state.n_features, state.dtype)


def _merged_globals(model, state, tokens, groups):
    """Return the global parameters and the alpha of merged topics."""
    topic_word = sum_groups(tokens, groups) + model.topic_word_prior
    topics = Topics.from_dense(topic_word.T, model.topic_word_prior.T)
    cells = state.globals_.cells
    if cells is not None and cells.shape[1] == len(groups) + N_SQUARES:  # of one fit
        shares = sum_groups(cells[:, :-N_SQUARES].T, groups).T
        topics = replace(topics, cells=with_shares(cells, shares))
    if model.doc_topic_prior is not None:
        return topics, model.doc_topic_prior
    fewer = auto_prior_of_fewer(float(state.hyper[0]), len(groups), model.n_topics)
    return topics, np.full(model.n_topics, fewer)


def starts_with_more(estimator):
    """Return whether a fit starts with more topics, which it then merges.

    Raises
    ------
    ValueError
        If the parameters for such a start contradict each other.
    """
    K, n_start = estimator.n_components, estimator.n_start_components
    if n_start is None:
        if K is None:
            refuse(
                "n_components",
                "an int of at least 1, or None with an int for n_start_components",
                None,
            )
        return False
    if K is not None and n_start < K:
        raise ValueError(
            f"n_start_components={n_start} is less than n_components={K}: topics "
            "are merged, never split."
        )
    if (
        np.ndim(estimator.doc_topic_prior) == 1
        or np.ndim(estimator.topic_word_prior) == 2
    ):
        raise ValueError(
            "Priors with a value for each topic cannot go with "
            "n_start_components, as it is not known which topics will be merged; "
            "fit n_components topics and use merge_topics."
        )
    return True


def fit_with_more(estimator, X, y, sample_weight, X_val, covariates):
    """Fit more topics, merge them, and continue the fit."""
    merged = new_estimator(
        estimator, n_components=estimator.n_start_components, n_start_components=None
    )
    merged._end_of_fit_checks = ()  # equal topics are merged later, without a warning
    given = {"y": y, "X_val": X_val, "covariates": covariates}
    merged.fit(X, sample_weight=sample_weight, **given)
    for _ in range(N_MERGES if estimator.n_components is None else 1):
        n_before = merged.n_components_
        merged = merged.merge_topics(estimator.n_components)
        is_continued = merged.state_.progress.earlier_passes > 0
        if merged.n_components_ == n_before and is_continued:
            break
        fit_on(merged, estimator.max_iter, X, sample_weight, **given)
    if estimator.n_components is None:
        n_before, merged = merged.n_components_, _distinct(merged, X, sample_weight)
        if merged.n_components_ < n_before:
            fit_on(merged, estimator.max_iter, X, sample_weight, **given)
    merged.state_.progress.earlier_passes = 0  # all passes are of one fit
    fitted = new_estimator(estimator, fit_results(merged))
    fitted.state_ = replace(merged.state_, fixed=copy.deepcopy(fitted._fixed()))
    install_results(estimator, fitted)


def fit_on(estimator, max_iter, X, sample_weight=None, **given):
    """Continue the fit for half of its usual number of passes."""
    vars(estimator).update(warm_start=True, max_iter=math.ceil(max_iter / 2))
    estimator.fit(X, sample_weight=sample_weight, **given)


def _distinct(estimator, X, sample_weight):
    """Merge pairs of topics while the lower bound rises; return the estimator.

    If two topics differ only by noise, their merge need not raise the evidence of
    the words, but it raises the lower bound of the documents.
    """
    with estimator._fitted_problem(X, sample_weight) as problem:
        n_rows, weight = len(problem.data), problem.sample_weight
        rows = even_rows(n_rows)
        data = data_of(problem.data.rows(rows), lambda X: X)
    weight = None if weight is None else weight[rows]
    state, tokens = estimator.state_, estimator.state_.globals_.tokens().T

    def lower_bound(model, globals_, hyper):
        """Return the lower bound of all data, estimated from a sample."""
        with workers_for(estimator.n_jobs, model, data) as workers:
            sample = Problem(model, data, workers, weight)
            return sample.bound(globals_, hyper, scale=n_rows / len(rows))

    def bound_after(pair):
        groups = merging.groups(pair)
        _, model = _merged_model(estimator, groups)
        return lower_bound(model, *_merged_globals(model, state, tokens, groups))

    merging = Merging(tokens, state.globals_.prior.T, None)
    bound = lower_bound(estimator._new_model(), state.globals_, state.hyper)
    while merging.n_left > 1:
        trials = [
            (bound_after(pair), pair) for pair in merging.cheapest_pairs(N_TRIALS)
        ]
        if not trials or (highest := max(trials, key=lambda t: t[0]))[0] <= bound:
            break
        bound, pair = highest
        merging.merge(*pair)
    if merging.n_left == len(tokens):
        return estimator
    return merged_topics(estimator, tokens, merging.groups())

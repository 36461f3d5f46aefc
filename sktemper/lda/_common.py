"""A topic of its own for the words that topics have in common."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln, psi

from .._estimator._choices import choices_of
from .._estimator._problems import check_rows
from .._families._births import USED
from ._merging import fit_on, with_topics
from ._priors import LEAST_ALPHA, even_rows
from ._topics import Topics

#: Level of the quantile over topics of the rate of a word, relative to that in the
#: corpus, that all topics have in common.
LEVEL = 0.7
#: Rounds of `learned_alphas` between passes, and largest alpha.
N_ROUNDS, LARGEST_ALPHA = 10, 100.0


def separated(estimator, X, sample_weight):
    """Return a fitted estimator whose topic 0 is the common part of the others."""
    check_rows(estimator, X, sample_weight)
    state = estimator.state_
    tokens, eta = state.globals_.tokens(), state.globals_.prior
    if choices_of(estimator).has_common_topic:
        raise ValueError("Topic 0 has the common words already.")
    taken = common_tokens(tokens)
    common = taken.sum(axis=1, keepdims=True)
    if tokens.shape[1] == 1 or not common.max() >= USED:
        raise ValueError("The topics have no words in common: nothing to separate.")
    tokens -= taken
    if eta.shape[1] > 1:
        eta = np.hstack([eta.min(axis=1, keepdims=True), eta])
    rho = float(common.sum() / (common.sum() + tokens.sum()))
    alphas = rho / (1.0 - rho) * state.hyper.sum(), state.hyper.mean()
    topics = Topics.from_dense(np.hstack([common, tokens]) + eta, eta)
    other = _with_alphas(estimator, topics, alphas, eta)
    for _ in range(2):
        alphas = learned_alphas(other, X, sample_weight)
        other = _with_alphas(other, other.state_.globals_, alphas, eta)
        other._end_of_fit_checks = ()  # those of the first fit have warned
        fit_on(other, estimator.max_iter / 2, X, sample_weight)
    vars(other).pop("_end_of_fit_checks", None)
    vars(other).update(max_iter=estimator.max_iter, warm_start=estimator.warm_start)
    return other


def common_tokens(tokens):
    """Return the tokens that topics have in common, (n_features, n_topics).

    A word has in common, in each topic, its rate in the corpus times the smallest
    relative rate of the topics with the highest rates that have 30 % of all tokens or
    more, without one topic; but not more than its rate in the corpus.
    """
    totals = tokens.sum(axis=0)
    in_corpus = tokens.sum(axis=1, keepdims=True) / totals.sum()
    rates = tokens / np.maximum(totals, 1e-300) / np.where(in_corpus > 0, in_corpus, 1)
    order = np.argsort(rates, axis=1)
    below = np.cumsum((totals / totals.sum())[order], axis=1)
    # the quantile of few topics would otherwise be too high
    least = max(LEVEL - 1.0 / len(totals), 0.0) * (1.0 - 1e-12)
    place = (below >= least).argmax(axis=1)[:, None]
    common = np.take_along_axis(rates, np.take_along_axis(order, place, 1), 1)
    return np.minimum(tokens, np.minimum(common, 1.0) * in_corpus * totals)


def _with_alphas(estimator, topics, alphas, eta):
    """Return a fitted estimator with topics, and priors of topic 0 and all others."""
    hyper = np.full(topics.u.shape[1], alphas[1])
    hyper[0] = alphas[0]
    parameters = {
        "n_components": len(hyper),
        "n_start_components": None,
        "doc_topic_prior": hyper,
        "init": None,
    }
    if eta.shape[1] > 1:
        parameters["topic_word_prior"] = eta.T
    return with_topics(estimator, topics, hyper, parameters, has_common_topic=True)


def learned_alphas(estimator, X, sample_weight):
    """Return the alpha of topic 0, and of all others, that maximize the bound.

    Rounds alternate between the documents' topic weights, of an even sample of the
    rows, and the best values of both alphas.
    """
    with estimator._fitted_problem(X, sample_weight) as problem:
        state, weight = estimator.state_, problem.sample_weight
        weight = np.ones(len(problem.data)) if weight is None else weight
        rows = np.flatnonzero(weight)
        rows = rows[even_rows(len(rows))]
        weight, hyper = weight[rows], state.hyper
        for _ in range(N_ROUNDS):
            prepared = problem.model.prepare(state.globals_, hyper)
            blocks = problem.map(_log_weights, prepared, rows=rows, values=weight)
            means = sum(blocks) / weight.sum()
            alphas = _best_alphas(hyper[:2], means[0], means[1:].mean(), len(hyper) - 1)
            hyper = np.repeat(alphas, [1, len(hyper) - 1])
    return alphas


def _log_weights(model, block, prepared, weight):
    """Return the weighted sum of E log theta over documents."""
    gamma = model.optimal_gamma(block, prepared).astype(np.float64)
    return weight @ (psi(gamma) - psi(gamma.sum(axis=1, keepdims=True)))


def _best_alphas(alphas, of_first, of_others, n_others):
    """Return the maximum of E log Dirichlet(theta) for two alphas.

    The arguments are means of E log theta.
    """
    counts, means = np.array([1.0, n_others]), np.array([of_first, of_others])

    def minus_bound(logs):
        a = np.exp(logs)
        value = gammaln(counts @ a) - counts @ (gammaln(a) - a * means)
        return -value, -counts * a * (psi(counts @ a) - psi(a) + means)

    bounds = [np.log([LEAST_ALPHA, LARGEST_ALPHA])] * 2
    found = minimize(minus_bound, np.log(alphas), jac=True, bounds=bounds, tol=1e-12)
    return np.exp(found.x)

"""The common part of topics: words that all topics have at about the same rate."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import polygamma, psi

from .._estimator._choices import choices_of
from .._estimator._problems import check_rows
from ._merging import fit_on, with_topics
from ._priors import LEAST_ALPHA, even_rows
from ._topics import Topics

#: Smallest number of topics, and largest share of the tokens of one topic, for which a
#: common part is computed.  The own words of a larger topic would seem common.
LEAST_TOPICS, LARGEST_TOPIC = 5, 0.5
#: Number of most frequent words of which shares are computed; all others are topical.
N_FREQUENT = 4000
#: Levels of the quantiles over topics that estimate the common rate of a word: a low
#: one to recognize common words, and a high one for the tokens that are taken out.
LOW, HIGH = 0.25, 0.7
#: A word is common if at least this share of its tokens is.
COMMON = 0.3
#: The same share for words of which a topic of their own has the common tokens.
SEPARATE = 0.5
#: A topic has the common words if most tokens of this number of the most frequent words
#: are tokens of words of which it has that share.
N_MOST_FREQUENT = 20
#: Topics have a common part if at least this share of all tokens is common, at most
#: this share of all words is, and the squared correlation of a common token and a
#: common word is at least this value.
LEAST_TOKENS, MOST_WORDS, LEAST_CORRELATION = 0.05, 0.2, 0.24
#: Rates of stop words differ between topics of style, such as dialogues, and in very
#: short texts, which lowers the correlation.  Topics also have a common part if ten
#: words of at least `MANY_WORDS` have many common tokens: the product of their share of
#: all tokens and of their share of all common tokens is at least `LEAST_OF_TEN`.
LEAST_OF_TEN, MANY_WORDS = 0.031, 1000


class CommonWords(NamedTuple):
    """Words that are common to all topics of a fitted model.

    Attributes
    ----------
    words : ndarray of str or int of shape (n_words,)
        The common words, those with the most common tokens first: column names of the
        training data, or column numbers.
    columns : ndarray of int of shape (n_words,)
        Their columns.
    shares : ndarray of shape (n_words,)
        The share of the tokens of each word that all topics have in common.
    token_share : float
        The share of all tokens that is common.
    """

    words: np.ndarray
    columns: np.ndarray
    shares: np.ndarray
    token_share: float


@dataclass(frozen=True)
class CommonPart:
    """Rates of the tokens that all topics have in common.

    Attributes
    ----------
    frequent : ndarray of int of shape (n_frequent,)
        The columns of the most frequent words; other words have no common tokens.
    in_corpus : ndarray of shape (n_frequent,)
        Probabilities of these words.
    shares, high_shares : ndarray of shape (n_frequent,)
        Share of the tokens of each word that is common, for the levels `LOW` and
        `HIGH`.
    is_separate : bool
        Whether topic 0 has the common tokens, and no other topic does.
    """

    frequent: np.ndarray
    in_corpus: np.ndarray
    shares: np.ndarray
    high_shares: np.ndarray
    is_separate: bool = False

    @classmethod
    def of_fit(cls, estimator, state):
        """Return the common part of fitted topics, or None if they have none.

        It is topic 0 in the result of `separated`, as long as topic 0 has the most
        frequent words.
        """
        tokens = state.globals_.tokens()
        may_be = choices_of(estimator).has_common_topic and tokens.shape[1] > 1
        if not may_be or not tokens.any():
            return cls.of_topics(tokens)
        in_corpus = tokens.sum(axis=1)
        frequent = np.argsort(-in_corpus, kind="stable")[:N_FREQUENT]
        frequent = frequent[in_corpus[frequent] > 0.0]
        shares = tokens[frequent, 0] / in_corpus[frequent]
        in_corpus = in_corpus[frequent] / in_corpus.sum()
        part = cls(frequent, in_corpus, shares, np.zeros_like(shares), True)
        first = in_corpus[:N_MOST_FREQUENT]
        of_common = first @ part._is_common[:N_MOST_FREQUENT]
        return part if 2.0 * of_common > first.sum() else cls.of_topics(tokens)

    @classmethod
    def of_topics(cls, tokens):
        """Return the common part of topics, or None if they have none.

        Parameters
        ----------
        tokens : ndarray of shape (n_features, n_topics)
            Expected tokens.
        """
        totals, n_topics = tokens.sum(axis=0), tokens.shape[1]
        total = totals.sum()
        if n_topics < LEAST_TOPICS or not totals.max() <= LARGEST_TOPIC * total:
            return None
        in_corpus = tokens.sum(axis=1) / total
        frequent = np.argsort(-in_corpus, kind="stable")[:N_FREQUENT]
        frequent = frequent[in_corpus[frequent] > 0.0]
        in_corpus = in_corpus[frequent]
        ratio = tokens[frequent] / np.maximum(totals, 1e-300) / in_corpus[:, None]
        shares = [
            np.minimum(quantile, 1.0)
            for quantile in _quantiles(ratio, totals / total, (LOW, HIGH))
        ]
        part = cls(frequent, in_corpus, *shares)
        return part if part._is_present(len(tokens)) else None

    @property
    def _is_common(self):
        return self.shares >= (SEPARATE if self.is_separate else COMMON)

    def _is_present(self, n_features):
        """Return whether few words explain which tokens are common."""
        of_words = self.in_corpus[self._is_common]
        rho, of_common = float(self.in_corpus @ self.shares), float(of_words.sum())
        n_common = len(of_words)
        if rho < LEAST_TOKENS or not 0 < n_common <= MOST_WORDS * n_features:
            return False
        of_ten = np.sort(self.in_corpus * self.shares)[-10:].sum()
        if n_features >= MANY_WORDS and of_ten * of_ten >= LEAST_OF_TEN * rho:
            return True
        inside = float(of_words @ self.shares[self._is_common])
        covariance = inside - of_common * rho
        variances = of_common * (1.0 - of_common) * rho * (1.0 - rho)
        return covariance > 0 and covariance**2 >= LEAST_CORRELATION * variances

    def columns(self):
        """Return the columns of the common words, and the shares of their tokens."""
        order = np.argsort(-self.in_corpus * self.shares, kind="stable")
        order = order[self._is_common[order]]
        return self.frequent[order], self.shares[order]

    def taken(self, tokens):
        """Return the common tokens of the frequent words, (n_frequent, n_topics)."""
        rates = (self.in_corpus * self.high_shares)[:, None] * tokens.sum(axis=0)
        return np.minimum(tokens[self.frequent], rates)

    def own_tokens(self, tokens):
        """Return the tokens that are not common, without any of the common words.

        A topic of the common words keeps them.
        """
        own = tokens.copy()
        own[self.frequent] -= self.taken(tokens)
        own[self.frequent[self._is_common], int(self.is_separate) :] = 0.0
        return own


#: The common part of topics that have none.
NOTHING_COMMON = CommonPart(np.zeros(0, dtype=int), *np.zeros((3, 0)))


def _quantiles(values, weights, levels):
    """Return weighted lower quantiles of rows, each one topic below its level.

    The quantiles of few topics would otherwise be too high.
    """
    order = np.argsort(values, axis=1, kind="stable")
    values = np.take_along_axis(values, order, axis=1)
    below = np.cumsum(weights[order], axis=1)
    for level in levels:
        least = max(level - 1.0 / values.shape[1], 0.0)
        place = (below >= least * (1.0 - 1e-12)).argmax(axis=1)
        yield values[np.arange(len(values)), place]


# -- a topic of its own for the common part --------------------------------------------
#: Rounds of `learned_alphas` between passes, and Newton steps of a round.
N_ROUNDS, N_NEWTON = 10, 50
#: Largest alpha, and largest change of log alpha in a Newton step.
LARGEST_ALPHA, LARGEST_STEP = 100.0, 1.0


def separated(estimator, X, sample_weight):
    """Return a fitted estimator whose topic 0 is the common part of the others."""
    check_rows(estimator, X, sample_weight)
    state = estimator.state_
    tokens, eta = state.globals_.tokens(), state.globals_.prior
    part = CommonPart.of_fit(estimator, state)
    if part is not None and part.is_separate:
        raise ValueError("Topic 0 has the common words already, see common_words_.")
    if part is None:
        raise ValueError(
            "The topics have no common words, see common_words_: there is nothing to "
            "separate."
        )
    taken = part.taken(tokens)
    common = np.zeros((len(tokens), 1))
    common[part.frequent, 0] = taken.sum(axis=1)
    tokens[part.frequent] -= taken
    if eta.shape[1] > 1:
        eta = np.hstack([eta.min(axis=1, keepdims=True), eta])
    rho = float(common.sum() / (common.sum() + tokens.sum()))
    alphas = rho / (1.0 - rho) * state.hyper.sum(), state.hyper.mean()
    topics = Topics.from_dense(np.hstack([common, tokens]) + eta, eta)
    other = _with_alphas(estimator, topics, alphas, eta)
    for _ in range(2):
        alphas = learned_alphas(other, X, sample_weight)
        other = _with_alphas(other, other.state_.globals_, alphas, eta)
        other._end_of_fit_checks = ()  # those of the first fit have named the words
        fit_on(other, estimator.max_iter / 2, X, sample_weight)
    vars(other).pop("_end_of_fit_checks", None)
    vars(other).update(max_iter=estimator.max_iter, warm_start=estimator.warm_start)
    return other


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
    rows, and Newton's method for both alphas.
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
            alphas = _newton(hyper[:2], means[0], means[1:].mean(), len(hyper) - 1)
            hyper = np.repeat(alphas, [1, len(hyper) - 1])
    return alphas


def _log_weights(model, block, prepared, weight):
    """Return the weighted sum of E log theta over documents."""
    gamma = model.optimal_gamma(block, prepared).astype(np.float64)
    return weight @ (psi(gamma) - psi(gamma.sum(axis=1, keepdims=True)))


def _newton(alphas, of_first, of_others, n_others):
    """Return the maximum of E log Dirichlet(theta) for two alphas.

    The arguments are means of E log theta.  Steps are in the logarithms of both alphas.
    """
    alphas, counts = np.array(alphas), np.array([1.0, n_others])
    means = np.array([of_first, of_others])
    for _ in range(N_NEWTON):
        total = counts @ alphas
        weighted = alphas * counts
        gradient = weighted * (psi(total) - psi(alphas) + means)
        curvature = polygamma(1, total) * np.outer(weighted, weighted)
        curvature -= np.diag(alphas * weighted * polygamma(1, alphas))
        curvature += np.diag(np.minimum(gradient, 0.0))
        step = np.linalg.solve(curvature, -gradient)
        alphas = alphas * np.exp(np.clip(step, -LARGEST_STEP, LARGEST_STEP))
        alphas = np.clip(alphas, LEAST_ALPHA, LARGEST_ALPHA)
        if np.abs(step).max() < 1e-8:
            break
    return alphas

"""Words that topics have in common, and a topic of their own for them."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment, minimize
from scipy.special import gammaln
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import cosine_similarity

from sktemper import AnnealedLDA
from sktemper.lda import _priors
from sktemper.lda._common import _best_alphas, common_tokens, learned_alphas
from sktemper.report._models import find_interface
from sktemper.report._topics import CountRows

N_COMMON, N_TOPICS, N_WORDS = 40, 12, 800


def documents(share, seed=0, n_common=N_COMMON):
    """Draw documents whose first words are common; return them and their topics."""
    random = np.random.default_rng(seed)
    topics = np.zeros((N_TOPICS, N_WORDS))
    topics[:, n_common:] = random.dirichlet(np.full(N_WORDS - n_common, 0.05), N_TOPICS)
    common = np.zeros(N_WORDS)
    common[:n_common] = 1 / np.arange(5, 5 + n_common)
    common /= common.sum()
    shares = random.beta(30 * share, 30 * (1 - share), (600, 1)) if share else 0.0
    weights = random.dirichlet(np.full(N_TOPICS, 0.1), 600)
    rates = (1 - shares) * (weights @ topics) + shares * common
    X = np.array([random.multinomial(100, rate / rate.sum()) for rate in rates])
    return X, topics


def n_found(topics, others):
    cosines = cosine_similarity(topics, others)
    pairs = linear_sum_assignment(-cosines)
    return int((cosines[pairs] > 0.8).sum())


@pytest.fixture(scope="module")
def common():
    X, topics = documents(0.6)
    with pytest.warns(ConvergenceWarning, match="common: 0, 1, .*max_df"):
        lda = AnnealedLDA(N_TOPICS, random_state=0).fit(X)
    return X, topics, lda


def test_common_tokens_are_weighted_quantiles():
    random = np.random.default_rng(0)
    tokens = np.vstack([random.gamma(20.0, 1.0, (4, 20)) * 50, np.zeros((96, 20))])
    tokens[4:, :] = 8000 * random.dirichlet(np.full(96, 0.02), 20).T
    totals, corpus = tokens.sum(axis=0), tokens.sum(axis=1) / tokens.sum()
    common = common_tokens(tokens)
    for column in range(100):
        # the largest rate that topics with at least 35 % of the tokens reach
        rates = tokens[column] / totals / corpus[column]
        reach = [totals[rates >= rate].sum() / totals.sum() for rate in rates]
        best = max(r for r, enough in zip(rates, reach, strict=True) if enough > 0.35)
        expected = np.minimum(tokens[column], min(best, 1.0) * corpus[column] * totals)
        np.testing.assert_allclose(common[column], expected, rtol=1e-9)
    assert common[:4].sum() > 0.8 * tokens[:4].sum()
    np.testing.assert_allclose(common_tokens(np.ones((100, 20))), 1.0)


def test_tables_do_not_put_common_words_first(common):
    X, _, lda = common
    names = [f"the{v}" if v < N_COMMON else f"word{v}" for v in range(N_WORDS)]
    own, frequent = (
        sum("the" in word for words in lists for word in words)
        for lists in (
            lda.top_words(names),
            lda.top_words(names, rank_by="probability"),
        )
    )
    assert own == 0 and frequent > 60
    page = find_interface(lda).facts(X, CountRows(X), names)
    assert not any("the" in page.label(k) for k in range(N_TOPICS))


def test_topics_that_share_frequent_words_are_no_copies():
    X, _ = documents(0.7)
    with pytest.warns(ConvergenceWarning) as caught:
        AnnealedLDA(N_TOPICS, random_state=0).fit(X)
    assert [str(one.message)[:3] for one in caught] == ["70%"]


# -- a topic of its own for common words -----------------------------------------------


def assert_other_topics_show_none(separated):
    """Topic 0 lists words with most tokens in it, and no other topic lists them."""
    tokens = separated.state_.globals_.tokens().T
    common = np.flatnonzero(tokens[0] >= 0.5 * tokens.sum(axis=0))
    first, *others = separated.top_words()
    assert set(map(int, first)) <= set(common) != set()
    assert np.isin(np.array(sum(others, []), dtype=int), common).mean() < 0.05


def test_a_separate_topic_may_have_most_tokens():
    X, _ = documents(0.6)
    with pytest.warns(ConvergenceWarning, match="in common"):
        lda = AnnealedLDA(N_TOPICS, random_state=0).fit(X)
    separated = lda.separate_common_words(X)
    tokens = separated.state_.globals_.tokens().sum(axis=0)
    assert tokens[0] > 0.5 * tokens.sum()
    assert_other_topics_show_none(separated)
    separated.set_params(warm_start=True, max_iter=1).fit(X)  # no warning


def test_separated_topics_are_the_true_ones(common):
    X, topics, lda = common
    before = lda.components_
    separated = lda.separate_common_words(X)
    np.testing.assert_array_equal(lda.components_, before)
    assert separated.n_components == N_TOPICS + 1
    true = np.vstack([X.sum(axis=0), topics])
    true[0, N_COMMON:] = 0.0
    found = cosine_similarity(separated.topic_word_, true)
    assert found[0, 0] > 0.98 and found[1:, 1:].max(axis=0).min() > 0.9
    first, *others = separated.doc_topic_prior_
    assert len(set(others)) == 1 and first > 5 * others[0]
    with pytest.warns(ConvergenceWarning, match="in common"):
        longer = deepcopy(lda).set_params(warm_start=True).fit(X)
    assert separated.score(X) > longer.score(X) - 0.03
    assert_other_topics_show_none(separated)
    assert separated.partial_fit(X[:100]).components_.shape == (13, N_WORDS)


def test_a_separate_topic_outlives_merges_and_pickles(common):
    X, _, lda = common
    separated = lda.separate_common_words(X)
    merged = separated.merge_topics(4)  # priors of three groups differ
    assert len(set(merged.doc_topic_prior_)) > 2
    merged = pickle.loads(pickle.dumps(merged))
    assert_other_topics_show_none(merged)
    with pytest.raises(ValueError, match="already"):
        merged.separate_common_words(X)
    again = merged.set_params(doc_topic_prior=None).fit(X)
    assert again.separate_common_words(X).n_components == 5  # a new fit has none


def test_separation_counts_weights_and_needs_common_words(common, monkeypatch):
    X, _, lda = common
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    weighted = lda.separate_common_words(X, sample_weight=weight)
    uneven = lda.separate_common_words(X)
    assert (weighted.doc_topic_prior_ != uneven.doc_topic_prior_).any()
    monkeypatch.setattr(_priors, "SAMPLED_ROWS", 1)  # a row that has a weight
    of_last = learned_alphas(lda, X, np.arange(len(X)) == len(X) - 1)
    np.testing.assert_array_equal(of_last, learned_alphas(lda, X[-1:], None))
    with pytest.raises(ValueError, match="already"):
        weighted.set_params(n_jobs=2).separate_common_words(X)
    with pytest.raises(ValueError, match="no words in common"):
        AnnealedLDA(1, random_state=0).fit(X).separate_common_words(X)


@pytest.mark.parametrize("alphas", [(0.05, 0.05), (30.0, 0.01)])
def test_alphas_maximize_the_dirichlet_likelihood(alphas):
    random = np.random.default_rng(0)
    theta = random.dirichlet(np.r_[2.0, np.full(7, 0.2)], 400)
    logs = np.log(np.maximum(theta, 1e-12)).mean(axis=0)
    first, others = logs[0], logs[1:].mean()

    def minus_likelihood(log_alphas):
        a, b = np.exp(log_alphas)
        normaliser = gammaln(a + 7 * b) - gammaln(a) - 7 * gammaln(b)
        return -normaliser - (a - 1) * first - 7 * (b - 1) * others

    best = np.exp(minimize(minus_likelihood, np.log([1.0, 0.1]), tol=1e-12).x)
    np.testing.assert_allclose(_best_alphas(alphas, first, others, 7), best, rtol=1e-4)

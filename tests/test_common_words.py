"""The common part of topics, and tables without it."""

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
from sktemper.lda._common import CommonPart, _newton, learned_alphas
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
    X, topics = documents(0.5)
    with pytest.warns(ConvergenceWarning, match="common: columns 0, 1, .*max_df"):
        lda = AnnealedLDA(N_TOPICS, random_state=0).fit(X)
    return X, topics, lda


@pytest.mark.every(4)
@pytest.mark.parametrize(("share", "n_common"), [(0.2, 40), (0.6, 40), (0.6, 130)])
@pytest.mark.parametrize("n_fitted", [N_TOPICS, 2 * N_TOPICS])
@pytest.mark.filterwarnings("ignore:.*in common")
def test_topics_are_shown_without_the_common_words(share, n_common, n_fitted):
    X, topics = documents(share, 1, n_common)
    lda = AnnealedLDA(n_fitted, random_state=0).fit(X)
    found = lda.common_words_
    assert set(found.columns) >= set(range(n_common // 2))
    assert (found.columns >= n_common).mean() <= 0.05  # at most one in twenty is wrong
    assert share - 0.2 < found.token_share < share + 0.05
    assert n_found(topics, lda.shown_topic_word_) == N_TOPICS
    assert n_found(topics, lda.topic_word_) < N_TOPICS or share == 0.2


@pytest.mark.parametrize(("n_words", "found"), [(800, 0), (1200, 20)])
@pytest.mark.filterwarnings("ignore:.*in common")
def test_rates_of_common_words_may_differ_if_the_vocabulary_is_large(n_words, found):
    random = np.random.default_rng(0)
    rates = np.exp(random.normal(size=(N_TOPICS, 60))) / np.arange(2, 62)
    topics = np.zeros((N_TOPICS, n_words))
    topics[:, :60] = 0.4 * rates / rates.sum(axis=1, keepdims=True)
    topics[:, 60:] = 0.6 * random.dirichlet(np.full(n_words - 60, 0.05), N_TOPICS)
    weights = random.dirichlet(np.full(N_TOPICS, 0.1), 600)
    X = np.array([random.multinomial(100, w @ topics) for w in weights])
    columns = AnnealedLDA(N_TOPICS, random_state=0).fit(X).common_words_.columns
    assert len(columns) >= found and (found or not len(columns))
    assert (columns < 60).all()


@pytest.mark.parametrize(("n_words", "n_least"), [(1100, 3), (900, 0)])
@pytest.mark.filterwarnings("ignore:.*in common")
def test_common_words_of_texts_of_six_words_are_recognized(n_words, n_least):
    random = np.random.default_rng(0)
    topics = random.dirichlet(np.full(n_words, 0.05), N_TOPICS)
    topics[:, :5] = 0.0
    shares = random.beta(0.8, 3.2, (N_TOPICS, 1))
    topics *= (1 - shares) / topics.sum(axis=1, keepdims=True)
    topics[:, :5] = shares * random.dirichlet(np.full(5, 5.0), N_TOPICS)
    weights = random.dirichlet(np.full(N_TOPICS, 0.1), 3000)
    X = np.array([random.multinomial(6, w @ topics) for w in weights])
    columns = AnnealedLDA(N_TOPICS, random_state=0).fit(X).common_words_.columns
    n_found = (columns < 5).sum()
    assert n_found >= n_least
    assert len(columns) - n_found <= bool(n_least)


def test_nothing_is_left_out_without_common_words():
    X, _ = documents(0.0)
    lda = AnnealedLDA(N_TOPICS, random_state=0).fit(X)  # no warning
    assert len(lda.common_words_.words) == lda.common_words_.token_share == 0
    np.testing.assert_array_equal(
        lda.shown_topic_word_.argmax(axis=1), lda.topic_word_.argmax(axis=1)
    )


def test_tables_and_pages_leave_common_words_out(common):
    X, _, lda = common
    names = [f"the{v}" if v < N_COMMON else f"word{v}" for v in range(N_WORDS)]
    table, explained = lda.topics(names), lda.explain(X[:20], names)
    page = find_interface(lda).facts(X, CountRows(X), names)
    assert not any("the" in word for words in lda.top_words(names) for word in words)
    assert not any("the" in word for word in (*table["word"], *explained["word"]))
    weight = lda.shown_topic_word_[table["topic"], table["word"].str[4:].astype(int)]
    np.testing.assert_allclose(table["weight"], weight, rtol=1e-5)
    shown = lda.set_params(hide_common_words=False)
    assert sum("the" in word for words in shown.top_words(names) for word in words) > 60
    assert shown.explain(X[:20], names)["word"].str.contains("the").any()
    np.testing.assert_allclose(shown.shown_topic_word_, shown.topic_word_, rtol=1e-6)
    shown.set_params(hide_common_words=True)
    np.testing.assert_array_equal(page.topic_word, shown.shown_topic_word_)


def test_common_shares_are_weighted_quantiles():
    random = np.random.default_rng(0)
    tokens = np.vstack([random.gamma(20.0, 1.0, (4, 20)) * 50, np.zeros((96, 20))])
    tokens[4:, :] = 8000 * random.dirichlet(np.full(96, 0.02), 20).T
    part = CommonPart.of_topics(tokens)
    totals, corpus = tokens.sum(axis=0), tokens.sum(axis=1) / tokens.sum()
    for column, share in zip(*part.columns(), strict=True):
        # the largest share that topics with at least 80 % of the tokens reach
        rates = tokens[column] / totals / corpus[column]
        reach = [totals[rates >= rate].sum() / totals.sum() for rate in rates]
        best = max(r for r, enough in zip(rates, reach, strict=True) if enough > 0.8)
        assert share == pytest.approx(min(best, 1.0), rel=1e-9)
    assert set(part.columns()[0]) == {0, 1, 2, 3}
    assert CommonPart.of_topics(tokens[:, :4]) is None  # few topics
    assert CommonPart.of_topics(np.ones((100, 20))) is None  # equal topics
    tokens[:, 0] *= 1000
    assert CommonPart.of_topics(tokens) is None  # one topic is nearly all


# -- a topic of its own for common words -----------------------------------------------


def assert_other_topics_show_none(separated):
    """Topic 0 shows words with most tokens in it, and no other topic shows them."""
    tokens = separated.state_.globals_.tokens().T
    found, shown = separated.common_words_, separated.shown_topic_word_
    share = tokens[0] / tokens.sum(axis=0)
    assert set(found.columns) == set(np.flatnonzero(share >= 0.5)) != set()
    np.testing.assert_allclose(found.shares, share[found.columns], rtol=1e-5)
    assert found.token_share == pytest.approx(tokens[0].sum() / tokens.sum(), rel=1e-5)
    np.testing.assert_allclose(shown[0], separated.topic_word_[0], rtol=1e-5)
    assert shown[1:, found.columns].max() < 1e-3
    kept = np.setdiff1d(np.arange(N_WORDS), found.columns)
    ratio = shown[1:, kept] / separated.topic_word_[1:, kept]
    assert ratio.min() >= 0.999 and np.ptp(ratio, axis=1).max() < 1e-3


def test_a_separate_topic_may_have_most_tokens():
    X, _ = documents(0.6)
    with pytest.warns(ConvergenceWarning, match="in common"):
        lda = AnnealedLDA(N_TOPICS, random_state=0).fit(X)
    separated = lda.separate_common_words(X)
    assert separated.common_words_.token_share > 0.5
    assert_other_topics_show_none(separated)
    separated.set_params(warm_start=True, max_iter=1).fit(X)  # no warning


def test_a_larger_prior_alone_makes_no_separate_topic():
    X, topics = documents(0.5)
    alpha = np.r_[0.1, np.full(N_TOPICS - 1, 0.05)]
    with pytest.warns(ConvergenceWarning, match="in common"):
        lda = AnnealedLDA(N_TOPICS, doc_topic_prior=alpha, random_state=0).fit(X)
    assert n_found(topics, lda.shown_topic_word_) == N_TOPICS


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
    assert not again._hidden_part()  # four topics of a new fit have no common part


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
    with pytest.raises(ValueError, match="no common words"):
        AnnealedLDA(3, random_state=0).fit(X).separate_common_words(X)


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
    np.testing.assert_allclose(_newton(alphas, first, others, 7), best, rtol=1e-4)

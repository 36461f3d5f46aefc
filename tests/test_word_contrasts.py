"""Words of topics by group: expected tokens, log ratios, and what they find."""

import numpy as np
import pytest
from scipy import sparse
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import xlog1py, xlogy
from scipy.stats import norm

from sktemper import AnnealedLDA
from sktemper.inspection import _word_contrasts, word_contrasts
from sktemper.inspection._word_contrasts import SCALES, _LogRatios, _Posterior, _Words
from sktemper.metrics import match_components
from sktemper.plotting import WordContrastsDisplay

N_TOPICS, N_CHANGED, N_FEATURES = 6, 3, 300


def documents(seed, n_documents=3000, length=40):
    """Return counts, groups, topic weights, and topics of both groups.

    A fifth of the words of the first topics differ.
    """
    random = np.random.default_rng(seed)
    topics = np.tile(random.dirichlet(np.full(N_FEATURES, 0.1), N_TOPICS), (2, 1, 1))
    differs = random.random((N_CHANGED, N_FEATURES)) < 0.2
    topics[1, :N_CHANGED] *= np.exp(differs * random.normal(size=differs.shape))
    topics /= topics.sum(axis=2, keepdims=True)
    group = random.integers(0, 2, n_documents)
    doc_topic = random.dirichlet(np.full(N_TOPICS, 0.2), n_documents)
    p = np.einsum("dk,dkv->dv", doc_topic, topics[group])
    counts = [random.multinomial(length, row) for row in p]
    return sparse.csr_array(np.array(counts)), group, doc_topic, topics


@pytest.fixture(scope="module")
def fitted():
    X, group, _, _ = documents(0, 300)
    return AnnealedLDA(N_TOPICS, random_state=0).fit(X), X, np.array(["a", "b"])[group]


# -- expected tokens -------------------------------------------------------------------
def test_tokens_information_and_variance(fitted):
    """They are sums over all words of documents, one at a time."""
    lda, X, group = fitted
    table = lda.explain(X, min_probability=0.0)
    names, *parts = _word_contrasts._expected_tokens(lda, X, group)
    by_word, by_topic, information, variance, enough = parts
    assert enough.all() and enough.shape == (2, N_TOPICS)
    phi = np.zeros((*X.shape, N_TOPICS))
    places = table["document"], table["word"].astype(int), table["topic"]
    phi[places] = table["probability"]
    n = X.toarray()[:, :, None] * phi
    spread = np.zeros_like(variance)
    for number, name in enumerate(names):
        own = n[group == name]
        np.testing.assert_allclose(by_word[number].toarray(), own.sum(0), atol=2e-3)
        np.testing.assert_allclose(by_topic[number], own.sum((0, 1)), rtol=1e-5)
        tokens = own.sum(1, keepdims=True)
        rest = own.sum(0) - own, tokens.sum(0) - tokens  # in the other documents
        spread += ((own - tokens * rest[0] / rest[1]) ** 2).sum(0)
    np.testing.assert_allclose(information, (n * phi).sum(0), atol=1e-4)
    np.testing.assert_allclose(variance, spread, rtol=0.02, atol=1e-3)


def test_shares_of_tokens_whose_topic_is_uncertain():
    """The step from equal words is that of Newton's method for the likelihood."""
    random = np.random.default_rng(0)
    phi, first = random.beta(0.3, 0.3, 400), np.arange(400) < 180
    phi = np.column_stack([phi, 1.0 - phi])

    def log_likelihood(shares):  # of the first group among the word's tokens in a topic
        return (
            np.log(phi @ shares)[first].sum() + np.log(phi @ (1 - shares))[~first].sum()
        )

    half, step = np.full(2, 0.5), 1e-4 * np.eye(2)
    slope = [log_likelihood(half + e) - log_likelihood(half - e) for e in step]
    curvature = [
        [
            log_likelihood(half + d + e)
            - log_likelihood(half + d - e)
            - log_likelihood(half - d + e)
            + log_likelihood(half - d - e)
            for d in step
        ]
        for e in step
    ]
    inverse = np.linalg.inv(np.array(curvature) / 4e-8)
    by_word = [sparse.csc_array(phi[own].sum(axis=0)[None]) for own in (first, ~first)]
    information = (phi**2).sum(axis=0)[None]
    enough = np.array([[True] * 2, [False] * 2])
    given = by_word, np.full((2, 2), 50.0), information, information, enough
    for topic, words in enumerate(_word_contrasts._words_of_topics(*given)):
        expected = 0.5 - (inverse @ slope)[topic] / 2e-4
        np.testing.assert_allclose(words.shares[0, 0], expected, rtol=1e-4)
        size = [-0.25 / inverse[topic, topic], 0.0]
        np.testing.assert_allclose(words.size[:, 0], size, rtol=1e-3)


# -- log ratios ------------------------------------------------------------------------
WORDS = _Words(
    np.arange(5),
    np.tile([3.0, 20.0, 20.0, 500.0, 500.0], (2, 1)),
    np.array([[0.9, 0.1, 1.0, 0.3, 0.5], [0.1, 0.9, 0.0, 0.7, 0.5]]),
    np.array([[-0.5], [0.5]]),
)


def test_evidence_of_log_ratios_is_an_integral():
    ratios = _LogRatios.of_words(WORDS)
    for group in range(2):
        for word in range(5):
            n, share = WORDS.size[group, word], WORDS.shares[group, word]

            def log_likelihood(r, n=n, share=share, offset=WORDS.log_odds[group, 0]):
                p = 1.0 / (1.0 + np.exp(-offset - r))
                return xlogy(n * share, p) + xlog1py(n * (1.0 - share), -p)

            at_zero = log_likelihood(0.0)
            for number, scale in list(enumerate(SCALES))[word % 4 :: 4]:

                def density(r, scale=scale, f=log_likelihood, zero=at_zero):
                    return np.exp(f(r) - zero) * norm.pdf(r, scale=scale)

                mode = ratios.mean[number, group, word]
                best = minimize_scalar(lambda r, f=density: -f(r), (mode - 1, mode + 1))
                assert mode == pytest.approx(best.x, abs=1e-3)
                expected, _ = quad(density, mode - 12, mode + 12, points=[0.0, mode])
                found = ratios.log_evidence[number, group, word]
                assert found == pytest.approx(np.log(expected), abs=0.05)


def test_the_prior_has_the_largest_evidence():
    random = np.random.default_rng(1)
    r = np.where(random.random(3000) < 0.7, 0.0, random.normal(size=3000))
    share = random.binomial(200, 1.0 / (1.0 + np.exp(-r))) / 200
    size = np.full((1, 3000), 200.0)
    words = _Words(np.arange(3000), size, share[None], np.zeros((1, 1)))
    ratios = _LogRatios.of_words(words)
    prior = ratios.best_prior(size > 0)
    # words without tokens tell nothing
    size, share = np.hstack([size, 0.0 * size]), np.tile(share, 2)
    more = _Words(np.arange(6000), size, share[None], np.zeros((1, 1)))
    of_more = _LogRatios.of_words(more).best_prior(size > 0)
    np.testing.assert_allclose(of_more, prior)
    assert prior[0] == pytest.approx(0.7, abs=0.06)
    assert SCALES**2 @ prior[1:] == pytest.approx(0.3, rel=0.15)
    evidence = np.exp(np.vstack([np.zeros(3000), ratios.log_evidence[:, 0]]))
    found = np.log(prior @ evidence).sum()
    for vertex in np.eye(6):  # the slope toward each corner, where it is concave
        assert ((vertex - prior) @ evidence / (prior @ evidence)).sum() < 30
    assert found > np.log(evidence[0]).sum() + 100


def test_mixtures_of_normal_distributions():
    random = np.random.default_rng(2)
    weights, mean = np.array([[0.3], [0.5], [0.2]]), np.array([[1.0], [-0.5]])
    posterior = _Posterior(weights, mean, np.array([[0.5], [2.0]]))
    part = random.choice(3, size=400_000, p=weights[:, 0])
    draws = np.array([0.0, 1.0, -0.5])[part]
    draws += np.array([0.0, 0.5, 2.0])[part] * random.normal(size=len(part))
    for level in (0.025, 0.3, 0.45, 0.9):
        found = posterior.quantile(level)[0]
        assert found == pytest.approx(np.quantile(draws, level), abs=0.02)
    wrong = 1.0 - max((draws > 0).mean(), (draws < 0).mean())
    assert posterior.wrong()[0] == pytest.approx(wrong, abs=0.003)
    assert posterior.expectation(lambda r: r)[0] == pytest.approx(0.4)
    q = _word_contrasts._q_values(np.array([0.3, 0.0, 0.1, 0.1]))
    np.testing.assert_allclose(q, [0.125, 0.0, 0.2 / 3, 0.2 / 3])


# -- the function ----------------------------------------------------------------------
def found_words(seeds, **sizes):
    """Return true log ratios, estimates, ends, and q-values; and gains of scores."""
    rows, gains = [], []
    for seed in seeds:
        X, group, doc_topic, topics = documents(seed, **sizes)
        half = X.shape[0] // 2
        lda = AnnealedLDA(N_TOPICS, random_state=0).fit(X[:half])
        contrasts = word_contrasts(lda, X[:half], group[:half])
        order, _ = match_components(topics.mean(axis=0), lda.topic_word_)
        table = contrasts.table(None)
        table = table[table["group"] == 1]
        truth = np.empty((N_TOPICS, N_FEATURES))
        truth[order] = np.log(topics[1] / topics[0])
        true = truth[table["topic"], table["word"].astype(int)]
        ends = np.log(table[["ratio", "low", "high"]].to_numpy())
        rows.append(np.column_stack([true, ends, table["q_value"]]))
        for name in (0, 1):
            rest = half + np.flatnonzero(group[half:] == name)
            own, common = contrasts.topic_word(name)[order], lda.topic_word_[order]
            p = doc_topic[rest] @ own / (doc_topic[rest] @ common)
            gains.append(X[rest].multiply(np.log(p)).sum() / X[rest].sum())
    return (*np.concatenate(rows).T, np.array(gains))


def test_words_that_differ_are_found():
    truth, ratio, low, high, q, gains = found_words(range(2))
    assert gains.min() > 0.003
    found, large = q <= 0.05, np.abs(truth) > 0.7
    assert found.sum() > 50
    assert (np.sign(ratio) == np.sign(truth))[found].mean() > 0.93
    shown = np.abs(ratio) > 0.3
    assert (truth @ (ratio * shown)) / (ratio @ (ratio * shown)) > 0.85
    inside = (low <= truth + 1e-9) & (truth <= high + 1e-9)
    assert inside.mean() > 0.93
    assert (ratio * truth)[large].sum() > 0.3 * (truth[large] ** 2).sum()


def test_few_documents_do_not_differ():
    """The words of a long text are no words of its group, nor of all other groups."""
    X, _, _, _ = documents(5, 400)
    random = np.random.default_rng(0)
    own = random.choice(N_FEATURES, 40, replace=False)
    long = np.bincount(random.choice(own, 900), minlength=N_FEATURES)
    X = sparse.vstack([X, sparse.csr_array(long[None])]).tocsr()
    lda = AnnealedLDA(N_TOPICS, random_state=0).fit(X)
    for size in (0, 2):
        group = np.array(["others"] * X.shape[0])
        group[-1 - size :] = "few"
        contrasts = word_contrasts(lda, X, group)
        assert (contrasts.table(None)["q_value"] > 0.05).all()
        np.testing.assert_allclose(contrasts.topic_word("few"), lda.topic_word_)


def test_repeated_words_of_a_document_count_less():
    """A word that one document repeats is no difference between groups."""
    X, group, _, _ = documents(4, 600)
    X = X.toarray()
    X[:, 0] = 0
    X[np.flatnonzero(group == 0)[:2], 0] = 40
    lda = AnnealedLDA(N_TOPICS, random_state=0).fit(X)
    table = word_contrasts(lda, X, group).table(None)
    assert (table[table["word"] == "0"]["q_value"] > 0.05).all()
    X[np.flatnonzero(group == 0)[:80], 0] = 1
    lda = AnnealedLDA(N_TOPICS, random_state=0).fit(X)
    table = word_contrasts(lda, X, group).table(None)
    rows = table[(table["word"] == "0") & (table["group"] == 0)]
    assert rows["q_value"].min() < 0.03 and rows["ratio"].max() > 3.0


def test_tables_of_any_containers(fitted):
    pandas, polars = map(pytest.importorskip, ("pandas", "polars"))
    lda, X, group = fitted
    before, words = lda.components_, np.array([f"w{v}" for v in range(N_FEATURES)])
    contrasts = word_contrasts(lda, X, group, words)
    table = contrasts.table(3, interval=0.9)
    assert table.shape == (N_TOPICS * 2 * 3, 8) and set(table["word"]) <= set(words)
    assert (table["low"] <= table["ratio"]).all()
    assert (table["high"] >= table["ratio"]).all()
    other = word_contrasts(lda, [X[:100], X[100:]], pandas.Series(group), words)
    pandas.testing.assert_frame_equal(other.table(3, interval=0.9), table, rtol=1e-4)
    frame = polars.DataFrame({"group": group, "one": 1})
    both = word_contrasts(lda.for_serving(), X, frame, words)
    assert both.groups == [(name, 1) for name in contrasts.groups]
    shown = both.table(3, interval=0.9, output="polars")
    assert shown["group"].to_list() == [f"{name}, 1" for name in table["group"]]
    np.testing.assert_allclose(shown["ratio"], table["ratio"], rtol=1e-2)
    whole = contrasts.table(None)
    whole = whole[(whole["q_value"] <= 0.05) & (whole["ratio"] > 1.0)]
    rows = whole.sort_values("ratio", ascending=False, kind="stable")
    for topic, lists in enumerate(contrasts.top_words(2)):
        for name, listed in lists.items():
            own = rows[(rows["topic"] == topic) & (rows["group"] == name)]
            assert listed == own["word"].tolist()[:2]
    topics = [contrasts.topic_word(name) for name in contrasts.groups]
    np.testing.assert_allclose(np.sum(topics, axis=2), 1.0)
    share = contrasts.tokens_ / contrasts.tokens_.sum(axis=0)
    mean = np.einsum("gk,gkv->kv", share, topics)
    np.testing.assert_allclose(mean, lda.topic_word_, rtol=0.05, atol=1e-4)
    np.testing.assert_array_equal(lda.components_, before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lda": "lda"}, "'lda' parameter must be a fitted LDA"),
        ({"lda": AnnealedLDA(5)}, "not fitted"),
        ({"covariates": ["a"] * 300}, "same values everywhere"),
        ({"covariates": [f"id{n}" for n in range(300)]}, "group has 1 documents"),
        ({"covariates": ["a", "b"]}, "covariates has 2 rows, but X has 300"),
        ({"covariates": [None, "b"] * 150}, "missing values"),
        ({"covariates": np.arange(300)}, "300 different numbers"),
        ({"feature_names": ["a", "b"]}, "feature_names"),
    ],
)
def test_bad_input(fitted, change, message):
    lda, X, group = fitted
    with pytest.raises((ValueError, TypeError), match=message):
        word_contrasts(**{"lda": lda, "X": X, "covariates": group, **change})


def test_words_are_drawn_with_their_intervals(plt, fitted):
    lda, X, group = fitted
    contrasts = word_contrasts(lda, X, group)
    topic = int(np.argmax([sum(map(len, t.values())) for t in contrasts.top_words()]))
    display = WordContrastsDisplay.from_contrasts(
        contrasts, topic, n_words=4, capsize=2
    )
    table = contrasts.table(None)
    rows = table[(table["topic"] == topic) & (table["ratio"] > 1.0)]
    rows = rows[rows["q_value"] <= 0.05].groupby("group", sort=False).head(4)
    assert len(rows)
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == rows["word"].tolist() and display.groups == rows["group"].tolist()
    segments = [s for artist in display.artists_ for s in artist[2][0].get_segments()]
    np.testing.assert_allclose(
        np.array(segments)[:, :, 0], rows[["low", "high"]].to_numpy()
    )
    nothing = word_contrasts(lda, X[:11], [*"a" * 10, "b"])  # too few tokens
    display = WordContrastsDisplay.from_contrasts(nothing, 0)
    display.figure_.canvas.draw()
    assert display.words == [] and display.ax_.get_legend() is None
    with pytest.raises(ValueError, match="'topic' parameter must be an int from 0"):
        WordContrastsDisplay.from_contrasts(contrasts, 6)
    with pytest.raises(ValueError, match="group must be one of"):
        contrasts.topic_word("c")

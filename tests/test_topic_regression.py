"""Regression of topic shares: its sampler, its estimates and their intervals."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import gammaln, psi
from sktemper.inspection._kernels import sweep

from sktemper import AnnealedLDA
from sktemper._utils._inference import Design
from sktemper.inspection import _topic_regression, topic_regression
from sktemper.inspection._gibbs import TopicDraw
from sktemper.metrics import match_components
from sktemper.plotting import TopicEffectsDisplay


def grouped(seed, n_documents=2000, length=5, n_topics=5, n_features=200, n_groups=2):
    """Return counts, groups, topics, and differences of mean shares from group 0."""
    random = np.random.default_rng(seed)
    topic_word = random.dirichlet(np.full(n_features, 0.1), n_topics)
    group = random.integers(0, n_groups, n_documents)
    means = random.dirichlet(np.full(n_topics, 5.0), n_groups)
    gammas = random.standard_gamma(0.1 * n_topics * means[group])
    doc_topic = gammas / gammas.sum(axis=1, keepdims=True)
    counts = np.array([random.multinomial(length, p) for p in doc_topic @ topic_word])
    return sparse.csr_array(counts), group, topic_word, means[1:] - means[0]


@pytest.fixture(scope="module")
def fitted():
    X, group, _, _ = grouped(0, 400, 12)
    return AnnealedLDA(5, random_state=0).fit(X), X, group


# -- the sampler -----------------------------------------------------------------------
def test_sweeps_have_the_posterior_of_enumeration():
    words = np.array([0, 1, 1, 2, 0], dtype=np.int32)
    starts = np.array([0, 3, 5])
    alpha, eta, K, V = np.array([0.3, 0.7]), 0.4, 2, 3

    def log_joint(z):
        z, logs = np.array(z), 0.0
        for first, end in itertools.pairwise(starts):
            n = np.bincount(z[first:end], minlength=K)
            logs += gammaln(n + alpha).sum()
        for k in range(K):
            n = np.bincount(words[z == k], minlength=V)
            logs += gammaln(n + eta).sum() - gammaln(n.sum() + V * eta)
        return logs

    states = list(itertools.product(range(K), repeat=len(words)))
    expected = np.exp([log_joint(z) for z in states])
    expected /= expected.sum()
    random = np.random.default_rng(0)
    prior, word_topic = np.zeros((1, 4)), np.zeros((V, 4))
    prior[0, :K], word_topic[:, :K] = alpha, eta
    totals, z = word_topic.sum(axis=0), np.full(len(words), -1, dtype=np.int32)
    totals[K:] = 1.0
    n_sweeps, found, tables = 40_000, np.zeros(len(states)), np.zeros(4)
    for _ in range(n_sweeps):
        tables[:] = 0.0
        sweep(words, starts, random.random(5), prior, z, word_topic, totals, tables)
        found[int("".join(map(str, z)), 2)] += 1
    assert np.abs(found / n_sweeps - expected).max() < 0.006
    counts = np.array(
        [np.bincount(z[:3], minlength=2), np.bincount(z[3:], minlength=2)]
    )
    np.testing.assert_allclose(
        tables[:K], (alpha * (psi(counts + alpha) - psi(alpha))).sum(axis=0)
    )
    drawn = [[np.sum((words == v) & (z == k)) for k in range(K)] for v in range(V)]
    np.testing.assert_allclose(word_topic[:, :K], np.array(drawn) + eta)
    assert (word_topic[:, K:] == 0).all()


# -- estimates for given topics --------------------------------------------------------
def test_estimates_of_shares_are_unbiased():
    random = np.random.default_rng(1)
    topic_word = random.dirichlet(np.full(30, 0.2), 4)
    estimator, moment = _topic_regression._estimator_of_shares(
        topic_word, np.array([0.1, 0.2, 0.3, 0.4])
    )
    theta = random.dirichlet(np.ones(4), 7)
    np.testing.assert_allclose(theta @ topic_word @ estimator.T, theta, atol=1e-12)
    p = np.array([0.1, 0.2, 0.3, 0.4]) @ topic_word
    np.testing.assert_allclose(moment, (estimator**2) @ p)  # over documents of a token


def estimate(counts, covariates, topic_word):
    draw = TopicDraw(topic_word, np.full(len(topic_word), 1 / len(topic_word)), 1.0)
    return combined(sparse.csr_array(counts), covariates, [draw, draw])


def combined(counts, covariates, draws):
    """Return coefficients and covariances in the units of the covariates."""
    design, random = Design(covariates), np.random.RandomState(0)
    given = counts, design.rows(covariates), design, iter(draws), random
    covariance, _, permuted = _topic_regression._estimate(*given)
    units = design.units
    return (units @ permuted.values).T, units @ covariance @ units.T


def test_a_group_effect_is_a_difference_of_means_with_its_variance():
    """If each topic is a word, frequencies are shares, and draws do not differ."""
    random = np.random.default_rng(2)
    group = random.integers(0, 2, 50)
    counts = random.multinomial(6, random.dirichlet(np.ones(3), 50))
    coef, covariance = estimate(counts, group[:, None], np.eye(3))
    one, other = counts[group == 1] / 6, counts[group == 0] / 6
    np.testing.assert_allclose(coef[:, 1], one.mean(axis=0) - other.mean(axis=0))
    np.testing.assert_allclose(coef[:, 0], other.mean(axis=0))
    sums = [part.var(axis=0) * len(part) for part in (one, other)]
    pooled = sum(sums) / 48  # each row has the part 1 / len of it that its mean took
    pairs = zip(sums, map(len, (one, other)), strict=True)
    variance = sum(own / n**2 + pooled / n**2 for own, n in pairs)
    np.testing.assert_allclose(covariance[:, 1, 1], variance)


def test_long_documents_have_the_weight_of_the_variance_of_shares():
    """For topics of one word each, the weight is N / (N + sum of alpha)."""
    counts = np.array([[1, 0], [8, 2], [30, 70], [0, 5]])
    group = np.array([[0.0], [1.0], [0.0], [1.0]])
    coef, _ = estimate(counts, group, np.eye(2))
    lengths = counts.sum(axis=1)
    weight = lengths / (lengths + 1.0)
    shares = counts / lengths[:, None]
    mean = np.average(shares[[0, 2]], axis=0, weights=weight[[0, 2]])
    np.testing.assert_allclose(coef[:, 0], mean)


def test_draws_are_combined():
    """By Rubin's rules, and half of an estimate is that of the mean topics."""
    random = np.random.default_rng(3)
    group = random.integers(0, 2, 80)
    counts = sparse.csr_array(random.multinomial(6, random.dirichlet(np.ones(3), 80)))
    topics = random.dirichlet(np.ones(3), (2, 3)) + 2.0 * np.eye(3)
    topics /= topics.sum(axis=2, keepdims=True)
    draws = [TopicDraw(t, np.full(3, 1 / 3), 1.0) for t in [*topics, topics.mean(0)]]

    def estimate(*numbers):
        chosen = [draws[number] for number in numbers]
        return combined(counts, group[:, None], chosen)

    # weights are equal because documents have one length, and do not depend on draws
    (one, _), (two, _), (mean, _) = (estimate(number, number) for number in range(3))
    (coef, few), (_, more) = estimate(0, 1), estimate(0, 1, 0, 1)
    np.testing.assert_allclose(coef, 0.25 * (one + two) + 0.5 * mean)
    square = (one - two)[:, 1] ** 2  # the variance of 2 draws is half of it
    expected = (1.5 / 2 - 1.25 / 3) * square
    np.testing.assert_allclose((few - more)[:, 1, 1], expected)


# -- the function ----------------------------------------------------------------------
def test_categories_are_indicators_and_the_fit_does_not_change(fitted):
    pandas = pytest.importorskip("pandas")
    lda, X, group = fitted
    before = lda.components_
    place = np.array(["a", "b", "c"])[np.arange(X.shape[0]) % 3]
    frame = pandas.DataFrame({"Intercept": 1.0, "group": group == 1, "place": place})
    regression = topic_regression(lda, X, frame, n_sweeps=20, random_state=0)
    assert regression.names == ["(intercept)", "group=True", "place=b", "place=c"]
    columns = np.column_stack([group, place == "b", place == "c"]).astype(float)
    other = topic_regression(lda, X, columns, n_sweeps=20, random_state=0)
    np.testing.assert_array_equal(regression.covariance_, other.covariance_)
    shares = regression.shares(frame.iloc[[2, 0]])
    reference = other.shares(columns[[2, 0]])
    pandas.testing.assert_frame_equal(shares, reference)
    table = regression.table()
    has_0 = (table["low"] <= 0) & (table["high"] >= 0)
    np.testing.assert_array_equal(has_0, table["p_value"] > 0.05)
    assert table.shape == (20, 8)
    assert (table["low"] < table["coef"]).all() and (
        table["high"] > table["coef"]
    ).all()
    np.testing.assert_array_equal(lda.components_, before)
    with pytest.raises(ValueError, match="not in the data of the regression.*'d'"):
        regression.shares(frame.iloc[:1].assign(place="d"))
    with pytest.raises(ValueError, match="'x0' has numbers in the regression"):
        other.shares(pandas.DataFrame({"x0": ["a"], "x1": [1.0], "x2": [0.0]}))
    with pytest.raises(ValueError, match="must be .'group', 'place'."):
        regression.shares(frame[["place", "group"]])


def test_documents_without_tokens_are_left_out(fitted):
    lda, X, group = fitted
    options = {"n_sweeps": 10, "random_state": 0}
    expected = topic_regression(lda, X, group[:, None], **options)
    rows = np.sort(np.random.default_rng(0).permutation(np.arange(430) % 400))
    is_new = np.concatenate([[False], rows[1:] == rows[:-1]])
    with_empty = X[rows].multiply(~is_new[:, None]).tocsr().astype(X.dtype)
    covariate = np.where(is_new, 9, group[rows])
    found = topic_regression(lda, with_empty, covariate[:, None], **options)
    assert found.n_samples == 400
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-6)


def test_any_container_of_documents(fitted):
    pandas = pytest.importorskip("pandas")
    lda, X, group = fitted
    expected = topic_regression(lda, X, group[:, None], n_sweeps=10, random_state=0)
    frame = pandas.DataFrame(X.toarray()).add_prefix("w")
    named = AnnealedLDA(5, random_state=0).fit(frame)
    for model, data in (
        (lda, [X[:100], X[100:]]),
        (lda.for_serving(), X),
        (named, frame),
    ):
        found = topic_regression(
            model, data, group[:, None], n_sweeps=10, random_state=0
        )
        np.testing.assert_allclose(found.coef_, expected.coef_, atol=0.02)


def test_adjusted_p_values():
    adjusted = _topic_regression._holm(np.array([[0.01], [0.04], [0.03], [0.9]]))
    np.testing.assert_allclose(adjusted.ravel(), [0.04, 0.09, 0.09, 0.9])


def test_pieces_of_a_spline_have_one_test(fitted):
    lda, X, group = fitted
    x = np.linspace(0, 1, X.shape[0])
    own = pd.DataFrame({"x": x, "x2": x**2, "group": group.astype(str)})
    regression = topic_regression(lda, X, own, n_sweeps=20, random_state=0)
    for covariates, df in ((["x", "x2"], 2), (["group"], 1), (None, 3)):
        tests = regression.tests(covariates)
        assert tests.columns.tolist() == [
            "topic",
            "chi2",
            "df",
            "p_value",
            "p_adjusted",
        ]
        assert tests["topic"].tolist() == [0, 1, 2, 3, 4]
        assert (tests["df"] == df).all()
    one = regression.table().query("covariate == 'group=1'")
    found = regression.tests(["group"])
    np.testing.assert_allclose(found["chi2"], (one["coef"] / one["stderr"]) ** 2)
    np.testing.assert_allclose(found["p_value"], one["p_value"])
    np.testing.assert_allclose(found["p_adjusted"], one["p_adjusted"])
    with pytest.raises(ValueError, match="'covariates' parameter must be some of"):
        regression.tests(["y"])


def test_topics_keep_what_other_documents_of_the_fit_told():
    X, group, topic_word, _ = grouped(3, 4000, 20)
    lda = AnnealedLDA(5, random_state=0).fit(X)
    few = topic_regression(lda, X[:60], group[:60, None], n_sweeps=50, random_state=0)
    assert few.similarity_.min() > 0.98
    permutation, similarity = match_components(topic_word, few.topic_word_)
    assert similarity.min() > 0.98


def test_topics_that_change_are_named():
    fitted = np.eye(3)
    drawn = np.array([[0.8, 0.1, 0.1], [0.1, 0.5, 0.4], [0.5, 0.1, 0.4]])
    with pytest.warns(UserWarning, match=r"Sampling has changed the topics \[2\]"):
        similarity = _topic_regression._similarity(fitted, drawn)
    np.testing.assert_allclose(similarity[0], 0.8 / np.sqrt(0.66))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lda": "lda"}, "'lda' parameter must be a fitted LDA"),
        ({"lda": AnnealedLDA(5)}, "not fitted"),
        ({"X": 0.5}, "'X' parameter must be whole counts"),
        ({"X": 0.0}, "no document with tokens"),
        ({"covariates": np.ones((400, 1))}, "same value everywhere"),
        ({"covariates": np.arange(400.0)[:, None] * [1, 2]}, "sums of others"),
        ({"covariates": np.full((400, 1), np.nan)}, "NaN"),
        ({"covariates": np.ones((3, 1))}, "inconsistent numbers of samples"),
        ({"covariates": sparse.coo_array(np.eye(400, 1))}, "a sparse matrix, but must"),
        ({"n_sweeps": 3}, "'n_sweeps' parameter"),
    ],
)
def test_bad_input(fitted, change, message):
    lda, X, group = fitted
    arguments = {"lda": lda, "X": X, "covariates": group[:, None], **change}
    if "X" in change:
        arguments["X"] = X * change["X"]
    with pytest.raises((ValueError, TypeError), match=message):
        topic_regression(**arguments)


# -- intervals -------------------------------------------------------------------------
def effects(seeds, **sizes):
    """Return true effects, and estimates with intervals in their order."""
    truth, found = [], []
    for seed in seeds:
        X, group, topic_word, effect = grouped(seed, **sizes)
        lda = AnnealedLDA(len(topic_word), random_state=0).fit(X)
        others = group[:, None] == np.arange(1, 1 + len(effect))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            regression = topic_regression(lda, X, others.astype(int), random_state=0)
        order, _ = match_components(topic_word, regression.topic_word_)
        table = regression.table()
        for j, own in enumerate(effect):
            rows = table[table["covariate"] == f"x{j}"].iloc[order]
            truth.append(own)
            found.append(rows[["coef", "low", "high", "p_adjusted"]].to_numpy())
    return np.concatenate(truth), *np.concatenate(found).T


def test_effects_of_short_texts_are_not_biased():
    """Regressions of the result of transform have less than .9 of the effects."""
    truth, coef, low, high, _ = effects(range(10, 12))
    assert truth @ coef == pytest.approx(truth @ truth, rel=0.06)
    assert ((low < truth) & (truth < high)).mean() > 0.8


# -- pictures --------------------------------------------------------------------------
@pytest.fixture(scope="module")
def regression(fitted):
    lda, X, group = fitted
    year = np.arange(X.shape[0]) // 40
    both = np.column_stack([group, year]).astype(float)
    return topic_regression(lda, X, both, n_sweeps=20, random_state=0)


def test_effects_are_drawn_with_their_intervals(plt, regression):
    labels = [["a", "b"], ["c"], ["d"], ["e"], ["f"]]
    display = TopicEffectsDisplay.from_regression(regression, "x0", labels=labels)
    np.testing.assert_array_equal(display.topics, np.argsort(-regression.coef_[:, 1]))
    table = regression.table()
    rows = table[table["covariate"] == "x0"].iloc[display.topics]
    for row, artist in enumerate(display.artists_):
        (start, end), *_ = artist[2][0].get_segments()
        np.testing.assert_allclose([start[0], end[0]], rows[["low", "high"]].iloc[row])
        assert start[1] == end[1] == row
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names == [f"{k}: {' '.join(labels[k])}" for k in display.topics]
    with pytest.raises(ValueError, match="'covariate' parameter must be one of"):
        TopicEffectsDisplay.from_regression(regression, "x9")
    with pytest.raises(ValueError, match="labels has 1 items for 5 topics"):
        TopicEffectsDisplay.from_regression(regression, "x0", labels=["a"])


def test_shares_are_drawn_over_the_places_in_their_order(plt, regression):
    years = np.array([4, 0, 9])
    covariates = np.column_stack([np.zeros(3), years])
    display = TopicEffectsDisplay.from_shares(
        regression, covariates, years, topics=[3], name="year", color="red"
    )
    (line,) = display.artists_
    shares = regression.shares(covariates).query("topic == 3")["share"].to_numpy()
    np.testing.assert_array_equal(line.get_xdata(), [0, 4, 9])
    np.testing.assert_allclose(line.get_ydata(), shares[[1, 0, 2]])
    assert display.ax_.get_xlabel() == "year" and line.get_color() == "red"
    with pytest.raises(ValueError, match="covariates has 3 rows"):
        TopicEffectsDisplay.from_shares(regression, covariates, years[:2])

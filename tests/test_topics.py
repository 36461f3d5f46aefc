"""Tables of topics, merged topics, seed words, and growing vocabularies."""

import pickle
import sys
import warnings
from dataclasses import replace

import numpy as np
import pandas
import pytest
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from sktemper import AnnealedLDA, AnnealedMultinomialMixture, TemperedLDA, seeded_prior
from sktemper._utils._words import WordRanks
from sktemper.datasets import (
    load_debian_descriptions,
    make_lda_documents,
    open_counts,
    write_counts,
)
from sktemper.lda import _merging
from sktemper.lda._priors import auto_prior
from sktemper.metrics import npmi_coherence

WORDS = [f"w{v}" for v in range(60)]


@pytest.fixture(scope="module")
def lda(counts):
    return AnnealedLDA(4, random_state=0, mean_change_tol=1e-7).fit(counts)


@pytest.fixture(scope="module")
def debian():
    bunch = load_debian_descriptions()
    return bunch.data[:3000], bunch.feature_names


# -- tables ----------------------------------------------------------------------------


def test_a_table_of_topics_has_the_top_words(lda, counts):
    table = lda.topics(WORDS, 5)
    assert table["topic"].tolist() == [k for k in range(4) for _ in range(5)]
    assert table["rank"].tolist() == [1, 2, 3, 4, 5] * 4
    assert table["word"].tolist() == sum(lda.top_words(WORDS, 5), [])
    column = table["word"].str[1:].astype(int)
    np.testing.assert_allclose(
        table["weight"], lda.topic_word_[table["topic"], column], rtol=1e-6
    )
    assert "coherence" not in table
    prevalence = table.groupby("topic")["prevalence"].first()
    np.testing.assert_allclose(prevalence.sum(), 1.0)
    in_corpus = prevalence.to_numpy() @ lda.topic_word_
    np.testing.assert_allclose(
        table["lift"], table["weight"] / in_corpus[column], rtol=1e-6
    )
    # prevalences in the training corpus are close to those in the model
    np.testing.assert_allclose(prevalence, lda._prevalence(counts), atol=0.02)


def test_topics_are_named_by_a_function_of_words_and_texts(lda, counts):
    texts = [f"text {row}" for row in range(counts.shape[0])]
    top = lda.top_documents(counts, 10)

    def labeller(words, texts):
        return f"{words[0]}: {texts[0]}" if texts else words[-1]

    table = lda.topics(n_words=3, X=counts, documents=texts, labeller=labeller)
    for k, part in table.groupby("topic"):
        first = top[top["topic"] == k]["document"].iloc[0]
        assert set(part["label"]) == {f"{part['word'].iloc[0]}: text {first}"}
    table = lda.topics(n_words=3, labeller=labeller)
    assert table["label"][:3].tolist() == [table["word"][2]] * 3
    with pytest.raises(ValueError, match="pass X, too"):
        lda.topics(documents=texts, labeller=labeller)


def test_topics_are_ranked_by_what_is_asked(lda):
    tokens = lda.state_.globals_.tokens().T
    for rank_by, column in ((0.0, "lift"), (1, "weight"), ("probability", "weight")):
        table = lda.topics(WORDS, 60, rank_by=rank_by)
        for k, topic in table.groupby("topic"):
            assert topic[column].is_monotonic_decreasing
            assert len(topic) == (tokens[k] >= 0.5).sum()
    for _, topic in lda.topics(WORDS, 60).groupby("topic"):
        above = topic[topic["term_score"] > 0]
        assert topic["term_score"][: len(above)].is_monotonic_decreasing
        assert topic["weight"][len(above) :].is_monotonic_decreasing


def test_the_term_score_has_limits_of_the_posterior(lda):
    """Its upper limits are those of Beta distributions, as normal ones."""
    table = lda.topics(WORDS, 60)
    concentration = lda.components_.astype(float)
    rest = concentration.sum(axis=1, keepdims=True) - concentration
    marginal = stats.beta(concentration, rest)
    upper = np.log(stats.norm(marginal.mean(), marginal.std()).ppf(0.95))
    expected = marginal.mean() * (upper - upper.mean(axis=0))
    places = table["topic"], table["word"].str[1:].astype(int)
    np.testing.assert_allclose(table["term_score"], expected[places], atol=1e-9)


def test_words_without_tokens_are_not_listed():
    concentration = np.array([[9.1, 3.1, 0.1, 0.1], [9.1, 0.1, 0.3, 0.1]])
    given = concentration, concentration - 0.1
    lists = WordRanks.of_tokens(*given).lists("term_score", 4)
    assert [own.tolist() for own in lists] == [[1, 0], [0]]
    tiny = WordRanks.of_tokens(given[0], 1e-3 * given[1]).lists("probability", 4)
    assert [own.tolist() for own in tiny] == [[0], [0]]  # half of the largest
    none = WordRanks.of_tokens(given[0], np.zeros((2, 4))).lists(0.5, 4)
    assert [len(own) for own in none] == [0, 0]


def test_empty_topics_are_not_in_tables():
    X = load_debian_descriptions().data[:40]
    with pytest.warns(ConvergenceWarning, match="Empty topics.*tables leave them out"):
        lda = AnnealedLDA(30, random_state=0).fit(X)
    lists, table = lda.top_words(), lda.topics(X=X)
    filled = [k for k, words in enumerate(lists) if words]
    assert 0 < len(filled) < 30
    assert table["topic"].unique().tolist() == filled
    seen = np.flatnonzero(X.sum(axis=0))
    assert set(map(int, sum(lists, []))) <= set(seen)
    mixture = AnnealedMultinomialMixture(30, random_state=0).fit(X)
    assert sum(map(bool, mixture.top_words())) == mixture.n_active_components_


def test_coherence_of_the_table(lda, counts, tmp_path):
    table = lda.topics(n_words=6, X=counts)
    np.testing.assert_array_equal(
        table["coherence"][::6], npmi_coherence(lda, counts, n_words=6)
    )
    weights = lda.transform(counts, normalize=False) - lda.doc_topic_prior_
    np.testing.assert_allclose(
        table["prevalence"][::6], weights.sum(axis=0) / counts.sum(), rtol=1e-3
    )
    parts = [counts[:50], counts[50:]]
    dense = [part.toarray() for part in parts]
    for X in parts, dense, write_counts(tmp_path, parts):
        again = lda.topics(n_words=6, X=X)
        np.testing.assert_allclose(again["coherence"], table["coherence"])
        np.testing.assert_allclose(again["prevalence"], table["prevalence"])
        np.testing.assert_array_equal(
            npmi_coherence(lda, X, n_words=6), table["coherence"][::6]
        )


def test_a_row_of_a_frame_is_a_document(counts):
    """A frame with a column "parts" is one matrix."""
    frame = pandas.DataFrame(counts.toarray(), columns=["parts", *WORDS[1:]])
    lda = AnnealedLDA(4, random_state=0).fit(frame)
    coherence = lda.topics(n_words=6, X=frame)["coherence"][::6]
    np.testing.assert_array_equal(coherence, npmi_coherence(lda, counts, n_words=6))
    assert lda.top_documents(frame, 3).shape == (12, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        explained = lda.explain(frame.iloc[3])
        found, _ = lda.similar_documents(frame.iloc[3], frame, 1)
    pandas.testing.assert_frame_equal(explained, lda.explain(frame.iloc[[3]]))
    assert found.tolist() == [[3]]


@pytest.mark.parametrize("make", [dict.fromkeys, set, iter, lambda names: names[0]])
def test_names_that_are_in_no_order(lda, make):
    with pytest.raises(ValueError, match="get_feature_names_out.. returns them, got a"):
        lda.topics(make(WORDS))


def test_words_explained_add_up_to_the_documents(lda, counts):
    rows = counts[:5]
    table = lda.explain(rows, WORDS, min_probability=0.0)
    assert len(table) == 4 * rows.nnz
    tokens = np.zeros((5, 4))
    np.add.at(
        tokens,
        (table["document"], table["topic"]),
        table["count"] * table["probability"],
    )
    gamma = lda.transform(rows, normalize=False)
    np.testing.assert_allclose(tokens + lda.doc_topic_prior_, gamma, atol=1e-4)


def test_only_probable_topics_are_explained(lda, counts):
    everything = lda.explain(counts[:5], WORDS, min_probability=0.0)
    table = lda.explain(counts[:5], WORDS, min_probability=0.6)
    best = everything.groupby(["document", "word"], sort=False)["probability"].max()
    assert table["probability"].tolist() == best.tolist()  # one row per word
    sizes = counts[:5].indptr
    assert table["document"].tolist() == np.repeat(range(5), np.diff(sizes)).tolist()
    one = lda.explain(counts[[3]].toarray().ravel(), WORDS)
    assert set(one["document"]) == {0}
    assert lda.explain(np.zeros((2, 60))).empty


def test_top_documents(lda, counts):
    with_an_empty_one = sparse.vstack([counts[:0].__class__((1, 60)), counts]).tocsr()
    table = lda.top_documents(with_an_empty_one, 120)
    weights = lda.transform(with_an_empty_one)
    assert 0 not in table["document"].to_numpy()
    for k, topic in table.groupby("topic"):
        assert sorted(topic["document"]) == list(range(1, 121))
        assert topic["weight"].is_monotonic_decreasing
        np.testing.assert_allclose(
            topic["weight"], weights[topic["document"], k], rtol=1e-6
        )


def test_similar_documents(lda, counts):
    indices, distances = lda.similar_documents(counts[:7], counts, 120)
    np.testing.assert_array_equal(indices[:, 0], range(7))
    np.testing.assert_array_equal(distances[:, 0], 0.0)
    weights = np.sqrt(lda.transform(counts))
    expected = np.sqrt(1 - np.clip(weights[:7] @ weights.T, 0, 1))
    np.testing.assert_allclose(
        distances, np.take_along_axis(expected, indices, 1), atol=1e-7
    )
    assert (np.diff(distances) >= 0).all()
    one, _ = lda.similar_documents(counts[3].toarray().ravel(), counts, 4)
    np.testing.assert_array_equal(one, indices[3:4, :4])


@pytest.mark.parametrize(
    "call, match",
    [
        (lambda m, X: m.topics(WORDS[1:]), "feature_names has shape"),
        (lambda m, X: m.topics(n_words=0), "n_words must be at least 1"),
        (lambda m, X: m.topics(rank_by=2), "rank_by must be from 0 to 1"),
        (lambda m, X: m.top_words(rank_by="lift"), "'rank_by' parameter must be"),
        (lambda m, X: m.topics(output="table"), "output must be one of"),
        (lambda m, X: m.explain(X, min_probability=-1), "min_probability"),
        (lambda m, X: m.top_documents(X, 0), "n_documents must be at least 1"),
        (lambda m, X: m.similar_documents(X, X, 0), "n_documents must be"),
        (lambda m, X: m.explain(X[:, :9]), "9 features"),
        (lambda m, X: m.merge_topics(5), "is more than the 4 topics"),
        (lambda m, X: m.merge_topics(0), "n_components must be at least 1"),
        (lambda m, X: AnnealedLDA(None).partial_fit(X), "in partial_fit, which"),
    ],
)
def test_tables_refuse_bad_arguments(lda, counts, call, match):
    with pytest.raises(ValueError, match=match):
        call(lda, counts)
    with pytest.raises(NotFittedError):
        AnnealedLDA().topics()


def test_frames_of_polars(lda, counts, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "polars", None)
        with pytest.raises(ImportError, match="pip install polars"):
            lda.topics(output="polars")
    polars = pytest.importorskip("polars")
    table = lda.topics(WORDS, output="polars")
    assert isinstance(table, polars.DataFrame)
    assert table["word"].to_list() == lda.topics(WORDS)["word"].tolist()
    nothing = lda.explain(counts[:1] * 0, WORDS, output="polars")
    assert nothing.shape == (0, 5) and nothing["word"].dtype == polars.String


# -- warnings of a fit -----------------------------------------------------------------


def test_copies_and_empty_topics_are_warned_of():
    """The start of plain inference has two equal topics and an empty one."""
    X = make_lda_documents(300, 80, 3, doc_length=80, random_state=0)
    start = np.random.default_rng(0).gamma(100, 0.01, (4, 80))
    start[1] = start[0]
    start[3] = 1e-3
    lda = TemperedLDA(
        4, tempering=None, init=start, random_state=0, doc_topic_prior=[1, 1, 1, 1e-3]
    )
    with pytest.warns(ConvergenceWarning) as caught:
        lda.set_params(doc_update="variational").fit(X)
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == 2
    assert "Empty topics: 3; 1 of 4." in messages[0]
    assert "near copies: 0 and 1 (cosine" in messages[1]
    assert "lower n_components, as to 3." in messages[0]
    assert "merge_topics(3)" in messages[1]


# -- merging ---------------------------------------------------------------------------


def evidence(tokens, prior):
    """Return the log probability of words that are drawn from a Polya urn."""
    prior = np.broadcast_to(prior, len(tokens))
    total, drawn, answer = prior.sum(), 0, 0.0
    for count, own in zip(tokens.astype(int), prior, strict=True):
        for i in range(count):
            answer += np.log((own + i) / (total + drawn))
            drawn += 1
    return answer


def test_the_pair_of_most_evidence_is_merged():
    tokens = np.random.default_rng(3).poisson(3.0, (5, 9)).astype(float)
    gain = {
        (i, j): evidence(tokens[i], 0.1)
        + evidence(tokens[j], 0.1)
        - evidence(tokens[i] + tokens[j], 0.1)
        for i in range(5)
        for j in range(i + 1, 5)
    }
    found = _merging.Merging(tokens, np.array([[0.1]]), None).evidence
    np.testing.assert_allclose(found, [evidence(row, 0.1) for row in tokens])
    i, j = min(gain, key=gain.get)
    groups = _merging.groups_of_topics(tokens, np.array([[0.1]]), 4)
    assert len(set(groups)) == 4 and groups[i] == groups[j]
    np.testing.assert_array_equal(
        _merging.sum_groups(tokens, groups)[groups[i]], tokens[i] + tokens[j]
    )


@pytest.mark.parametrize(("scale", "expected"), [(1, [0, 1, 2]), (0.003, [0, 0, 1])])
def test_topics_are_merged_only_while_the_evidence_rises(scale, expected):
    tokens = scale * np.array([[900.0, 700, 10], [700, 900, 10], [0, 0, 500]])
    groups = _merging.groups_of_topics(tokens, np.array([[0.1]]))
    assert groups.tolist() == expected


@pytest.mark.parametrize("n_left", [1, 2, 30])
def test_as_many_topics_are_left_as_are_wanted(n_left):
    """The number is exact even if merging needs pairs beyond nearest neighbours."""
    tokens = np.random.default_rng(0).dirichlet(np.full(50, 0.1), 30) * 1000
    groups = _merging.groups_of_topics(tokens, np.array([[0.1]]), n_left)
    assert sorted(set(groups)) == list(range(n_left))
    first = [np.flatnonzero(groups == group)[0] for group in range(n_left)]
    assert first == sorted(first)


def test_topics_with_seeds_are_not_merged_with_each_other():
    tokens = np.tile(np.random.default_rng(0).poisson(3.0, 9).astype(float), (4, 1))
    prior = np.full((4, 9), 0.1)
    prior[1, 0] = prior[2, 1] = 5.0
    groups = _merging.groups_of_topics(tokens, prior, 1)
    assert len(set(groups)) == 2 and groups[1] != groups[2]


def test_a_merged_topic_keeps_the_prior_with_seeds():
    tokens = np.random.default_rng(0).poisson(3.0, (3, 7)).astype(float)
    prior = np.full((3, 7), 0.1)
    prior[1, 0] = 5.0
    merging = _merging.Merging(tokens, prior, None)
    merging.merge(0, 1)
    expected = evidence(tokens[0] + tokens[1], prior[1])
    assert merging.evidence[0] == pytest.approx(expected)


def test_a_merged_model_is_a_fitted_model(lda, counts):
    state = pickle.dumps(lda.state_)
    merged = lda.merge_topics(2)
    assert lda.n_components == lda.n_components_ == 4
    assert merged.n_components == merged.n_components_ == len(merged.components_) == 2
    tokens = lda.components_ - lda.topic_word_prior_
    np.testing.assert_allclose(
        merged.components_.sum(), tokens.sum() + 2 * 60 * 0.1, rtol=1e-6
    )
    assert merged.transform(counts).shape == (120, 2)
    assert np.isfinite(merged.score(counts))
    again = pickle.loads(pickle.dumps(merged))
    np.testing.assert_array_equal(again.transform(counts), merged.transform(counts))
    streamed = again.partial_fit(counts)
    assert streamed.n_batch_iter_ > lda.n_batch_iter_
    before = merged.lower_bound(counts)
    merged.set_params(warm_start=True, max_iter=5).fit(counts)
    assert merged.lower_bound(counts) > before
    assert merged.n_iter_ == 5
    assert pickle.dumps(lda.state_) == state


def test_merged_priors_of_topics(counts):
    prior = np.full((4, 60), 0.1)
    prior[2, 7] = 3.0
    lda = AnnealedLDA(
        4,
        doc_topic_prior=[0.1, 0.2, 0.3, 0.4],
        topic_word_prior=prior,
        init=np.ones((4, 60)),
        random_state=0,
    ).fit(counts)
    merged = lda.merge_topics(1)
    np.testing.assert_allclose(merged.doc_topic_prior, [1.0])
    np.testing.assert_array_equal(merged.topic_word_prior, prior[[2]])
    np.testing.assert_array_equal(merged.topic_word_prior_, prior[[2]])
    assert merged.init is None
    merged.partial_fit(counts)


@pytest.mark.parametrize(
    "parameters, match",
    [
        ({"n_components": None}, "None with an int for n_start"),
        ({"n_start_components": 3}, "is less than n_components=4"),
        ({"n_start_components": 8, "doc_topic_prior": [0.1] * 8}, "for each topic"),
        ({"n_start_components": 0}, "n_start_components"),
    ],
)
def test_a_fit_from_more_topics_refuses_bad_parameters(counts, parameters, match):
    lda = AnnealedLDA(4).set_params(**parameters)
    with pytest.raises(ValueError, match=match):
        lda.fit(counts)
    assert not hasattr(lda, "state_")


@pytest.mark.every(11)
@pytest.mark.parametrize("n_start", [5, 20])
@pytest.mark.parametrize("n_topics", [1, 2, 3, 5])
def test_few_topics_are_found_to_be_few(n_topics, n_start):
    """Words alone cannot separate topics from noise, but documents can."""
    X = make_lda_documents(1500, 300, n_topics, doc_length=60, random_state=0)
    lda = AnnealedLDA(None, n_start_components=n_start, random_state=0).fit(X)
    assert n_topics <= lda.n_components_ <= n_topics + (n_topics > 1)


def test_a_fit_from_more_topics_continues_without_another_merge(counts):
    lda = AnnealedLDA(3, n_start_components=6, max_iter=4, random_state=0)
    before = lda.set_params(warm_start=True).fit(counts).n_iter_
    assert before > 4
    direct = pickle.loads(pickle.dumps(lda)).set_params(n_start_components=None)
    lda.set_params(max_iter=2).fit(counts)
    assert lda.n_iter_ == 2
    direct.set_params(max_iter=2).fit(counts)
    np.testing.assert_array_equal(lda.components_, direct.components_)


def test_the_number_of_topics_is_found_in_data_of_any_kind(tmp_path):
    X = make_lda_documents(2500, 200, 3, doc_length=40, random_state=0)
    weight = np.random.default_rng(0).integers(1, 3, size=2500)
    parameters = {"n_start_components": 8, "max_iter": 4, "random_state": 0}
    in_parts = AnnealedLDA(None, **parameters).fit([X[:900], X[900:]], None, weight)
    write_counts(tmp_path / "X", [X])
    on_disk = AnnealedLDA(None, **parameters).fit(open_counts(tmp_path / "X"))
    assert 3 <= in_parts.n_components_ <= 4
    assert 3 <= on_disk.n_components_ <= 4


# -- a growing vocabulary --------------------------------------------------------------


@pytest.mark.parametrize("prior", ["number", "words", "topics"])
@pytest.mark.machine
def test_new_words_leave_the_old_ones_their_bits(counts, prior):
    arrays = {"number": 0.1, "words": np.full(50, 0.2), "topics": np.full((4, 50), 0.3)}
    lda = AnnealedLDA(
        4, topic_word_prior=arrays[prior], total_samples=120, random_state=0
    )
    lda.partial_fit(counts[:60, :50])
    before, share = lda.components_, lda.state_.convergence.start_share
    assert lda.expand_features(10) is lda
    after = lda.components_
    assert lda.n_features_in_ == 60 and after.shape == (4, 60)
    np.testing.assert_array_equal(after[:, :50], before)
    eta = np.min(arrays[prior])
    np.testing.assert_allclose(after[:, 50:], share + (1 - share) * eta, rtol=1e-5)
    pickle.loads(pickle.dumps(lda))
    lda.partial_fit(counts[60:])
    assert (lda.components_[:, 50:].sum(axis=0) > after[:, 50:].sum(axis=0)).any()
    assert np.isfinite(lda.score(counts))


def test_later_words_equal_words_without_counts(counts):
    """Words added later have the same parameters as words that never occurred."""
    start = np.random.default_rng(0).gamma(100, 0.01, (4, 60))
    start[:, 50:] = 1.0
    shared = {"tempering": None, "batch_size": 20, "shuffle": False}
    wide = sparse.hstack([counts[:, :50], np.zeros((120, 10))], format="csr")
    early = TemperedLDA(4, init=start, **shared).partial_fit(wide[:20])
    late = TemperedLDA(4, init=start[:, :50], **shared).partial_fit(wide[:20, :50])
    late.expand_features(10)
    np.testing.assert_allclose(
        late.components_[:, 50:], early.components_[:, 50:], rtol=1e-6
    )


def test_new_words_have_names(counts):
    frame = pandas.DataFrame(counts.toarray(), columns=WORDS)
    lda = AnnealedLDA(4, random_state=0).partial_fit(frame[WORDS[:50]])
    with pytest.raises(ValueError, match="had column names"):
        lda.expand_features(10)
    with pytest.raises(ValueError, match="repeats a name, or has one that exists"):
        lda.expand_features(WORDS[45:])
    with pytest.raises(ValueError, match="names of type str, got .1, 2"):
        lda.expand_features([1, 2])
    lda.expand_features(WORDS[50:]).partial_fit(frame)
    assert lda.feature_names_in_.tolist() == WORDS
    other = AnnealedLDA(4, random_state=0).partial_fit(counts)
    with pytest.raises(ValueError, match="had no column names"):
        other.expand_features(["w60"])
    with pytest.raises(ValueError, match="at least 1"):
        other.expand_features(0)


# -- seeds -----------------------------------------------------------------------------

SEEDS = {"games": ["game", "player"], "mail": ["mail", "imap", "smtp"]}


def test_seeded_topics_keep_their_words_and_others_are_free(debian):
    X, words = debian
    prior = seeded_prior(words, SEEDS, X, 15)
    in_parts = seeded_prior(words, SEEDS, [X[:1000], X[1000:]], 15)
    np.testing.assert_array_equal(in_parts, prior)
    assert (prior[2:] == 0.1).all()
    seeded, free = (
        AnnealedLDA(15, topic_word_prior=eta, random_state=0, max_iter=5).fit(X)
        for eta in (prior, 0.1)
    )
    for topic, names in enumerate(SEEDS.values()):
        columns = np.isin(words, names)
        shares = []
        for lda in (seeded, free):
            tokens = lda.state_.globals_.tokens()[columns].sum(axis=0)
            shares.append(tokens[topic] / tokens.sum())
        assert shares[0] > 0.75 > 0.5 > shares[1]
    # a topic has more words than its seeds
    assert (seeded._prevalence()[:2] > 0.2 / 15).all()


def test_bad_seeds_are_refused(debian):
    X, words = debian
    with pytest.warns(UserWarning, match="'xyzzy'") as caught:
        prior = seeded_prior(
            words, {"a": ["game", "xyzzy"]}, X, 3, strength=2, context=0
        )
    assert caught[0].filename == __file__
    column = words.tolist().index("game")
    np.testing.assert_allclose(prior[0, column], 0.1 + 2 * X[:, [column]].sum())
    assert np.delete(prior[0], column).max() == 0.1
    for arguments, match in (
        ((words, {"a": ["xyzzy"]}, X, 3), "None of the words of 'a'"),
        ((words, {"a": "game"}, X, 3), "must be a list"),
        ((words, SEEDS, X, 1), "more than n_components=1"),
        ((words, {}, X, 1), "must be a dict"),
        ((words, {"a": 3}, X, 1), "must be a list, got 3"),
        ((words, SEEDS, X, 0), "n_components must be at least 1"),
        ((words, SEEDS, X, 3.0), "n_components.* an int of at least 1"),
        ((words, SEEDS, X, None), "n_components.* an int of at least 1"),
        ((words[1:], SEEDS, X, 3), "feature_names has shape"),
    ):
        with pytest.raises(ValueError, match=match):
            seeded_prior(*arguments)
    with pytest.raises(ValueError, match="strength must be finite"):
        seeded_prior(words, SEEDS, X, 3, strength=np.inf)


def test_the_context_of_seeds():
    """The context has words that are at least twice as frequent beside a seed."""
    X = np.array([[3, 4, 1, 0], [0, 1, 1, 9], [0, 0, 2, 20]])
    prior = seeded_prior(list("abcd"), {"a": ["a"]}, X, 2, context=0.5)
    excess = 4 - 2 * 5 * 8 / 41
    np.testing.assert_allclose(prior[0], 0.1 + np.array([3, 0.5 * excess, 0, 0]))
    assert (prior[1] == 0.1).all()


# -- the prior of documents ------------------------------------------------------------


@pytest.mark.parametrize("dense", [False, True])
def test_the_prior_by_the_length_of_documents(counts, dense):
    X = counts * 0.1  # 3 tokens per document
    empty = sparse.csr_matrix((30, 60))
    X = sparse.vstack([empty, X], format="csr")
    if dense:
        X = X.toarray()
    lda = AnnealedLDA(20, doc_topic_prior="auto", random_state=0, max_iter=4)
    lda.partial_fit(X)
    expected = 0.07 * X.sum() / 120 / 20
    assert 1e-3 < expected < 0.05
    np.testing.assert_allclose(lda.doc_topic_prior_, np.full(20, expected))
    lda.partial_fit(X[40:60])
    np.testing.assert_allclose(lda.doc_topic_prior_, np.full(20, expected))
    weights = np.ones(150)
    weights[100:] = 0
    lda = clone(lda).partial_fit(X, sample_weight=weights)
    expected = 0.07 * X[:100].sum() / 70 / 20
    np.testing.assert_allclose(lda.doc_topic_prior_, np.full(20, expected))
    merged = lda.merge_topics(4)
    np.testing.assert_allclose(
        merged.doc_topic_prior_, np.full(4, min(0.05, 5 * expected))
    )
    merged.partial_fit(X)
    assert auto_prior(counts * 1e-4, 5) == 1e-3 and auto_prior(counts * 100, 5) == 0.05


def test_a_prior_for_predictions():
    """Each document has few topics, but the training prior expects many."""
    X = make_lda_documents(
        1500, 200, 6, doc_length=15, doc_topic_prior=0.05, random_state=0
    )
    test = X[1200:]
    lda = AnnealedLDA(6, doc_topic_prior=2.0, random_state=0).fit(X[:1200])
    score, bound = lda.score(test), lda.lower_bound(X[:500])
    weights = lda.transform(test)
    assert lda.fit_prior(X[:1200]) is lda
    assert lda.score(test) > score + 0.02
    assert lda.prediction_prior_.sum() < 6.0
    assert lda.lower_bound(X[:500]) == bound
    np.testing.assert_array_equal(lda.doc_topic_prior_, np.full(6, 2.0))
    assert np.abs(lda.transform(test) - weights).max() > 0.01
    np.testing.assert_allclose(
        lda.transform(sparse.csr_matrix((1, X.shape[1])))[0],
        lda.prediction_prior_ / lda.prediction_prior_.sum(),
        rtol=1e-5,
    )
    again = pickle.loads(pickle.dumps(lda))
    assert again.score(test) == lda.score(test)
    prior = lda.prediction_prior_
    lda.partial_fit(test)
    assert lda.prediction_prior_ is prior
    assert not hasattr(lda.merge_topics(3), "prediction_prior_")
    with pytest.raises(ValueError, match="Negative"):
        lda.fit(-X)
    assert lda.prediction_prior_ is prior
    assert not hasattr(lda.set_params(n_components=3).fit(X[:300]), "prediction_prior_")


def test_candidates_of_a_prior_follow_the_shares_of_topics(counts, monkeypatch):
    lda = AnnealedLDA(4, doc_topic_prior=0.5, random_state=0).fit(counts)
    candidates = []

    def completion(problem, state, prior, rows):
        candidates.append(prior)
        return -1.0

    monkeypatch.setattr("sktemper.lda._priors._completion", completion)
    lda.fit_prior(counts)
    trained, *candidates = candidates
    np.testing.assert_array_equal(trained, np.full(4, 0.5))
    np.testing.assert_array_equal(lda.prediction_prior_, trained)
    tokens = lda.transform(counts, normalize=False).sum(axis=0) - 0.5 * counts.shape[0]
    shares = tokens / tokens.sum()
    sums = sorted({round(prior.sum(), 9) for prior in candidates})
    np.testing.assert_allclose(sums, [0.125, 0.25, 0.5, 1, 2, 4, 8])
    for prior in candidates[-len(sums) :]:
        np.testing.assert_allclose(prior / prior.sum(), shares, rtol=1e-3)


def test_a_prior_for_predictions_is_never_worse_where_it_was_found(counts):
    for prior in (0.01, 0.1, 3.0):
        lda = AnnealedLDA(4, doc_topic_prior=prior, random_state=0).fit(counts)
        before = lda.score(counts)
        assert lda.fit_prior(counts).score(counts) >= before
    with pytest.raises(ValueError, match="Nothing of X is held out"):
        lda.fit_prior(np.eye(60)[:3])
    for bad in (np.ones(3), -np.ones(4), np.full(4, np.nan), "none"):
        choices = replace(lda.state_.choices, prediction_prior=bad)
        lda.state_.choices = choices
        with pytest.raises(ValueError, match="cannot be loaded"):
            pickle.loads(pickle.dumps(lda))

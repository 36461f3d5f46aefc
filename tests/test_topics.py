"""Topics as tables, merged, seeded, and of a growing vocabulary."""

import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from sktemper import AnnealedLDA, TemperedLDA
from sktemper.datasets import load_debian_descriptions, make_lda_documents
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
    np.testing.assert_allclose(table["relevance"], np.log(table["weight"]))
    assert "coherence" not in table
    prevalence = table.groupby("topic")["prevalence"].first()
    np.testing.assert_allclose(prevalence.sum(), 1.0)
    in_corpus = prevalence.to_numpy() @ lda.topic_word_
    np.testing.assert_allclose(
        table["lift"], table["weight"] / in_corpus[column], rtol=1e-6
    )
    # all of a corpus that is nearly its model's
    np.testing.assert_allclose(prevalence, lda._prevalence(counts), atol=0.02)


def test_relevance_ranks_by_lift(lda):
    table = lda.topics(WORDS, 60, relevance=0.0)
    for _, topic in table.groupby("topic"):
        assert topic["lift"].is_monotonic_decreasing
        np.testing.assert_allclose(topic["relevance"], np.log(topic["lift"]))
        assert sorted(topic["word"]) == sorted(WORDS)


def test_coherence_of_the_table(lda, counts):
    table = lda.topics(n_words=6, X=counts)
    np.testing.assert_array_equal(
        table["coherence"][::6], npmi_coherence(lda, counts, n_words=6)
    )
    weights = lda.transform(counts, normalize=False) - lda.doc_topic_prior_
    np.testing.assert_allclose(
        table["prevalence"][::6], weights.sum(axis=0) / counts.sum(), rtol=1e-3
    )
    parts = [counts[:50], counts[50:]]
    again = lda.topics(n_words=6, X=parts)
    np.testing.assert_allclose(again["coherence"], table["coherence"])


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


def test_only_probable_topics_are_told(lda, counts):
    everything = lda.explain(counts[:5], WORDS, min_probability=0.0)
    table = lda.explain(counts[:5], WORDS, min_probability=0.6)
    best = everything.groupby(["document", "word"], sort=False)["probability"].max()
    assert table["probability"].tolist() == best.tolist()  # one a word is left
    sizes = counts[:5].indptr
    assert table["document"].tolist() == np.repeat(range(5), np.diff(sizes)).tolist()
    one = lda.explain(sparse.csr_array(counts)[3].toarray().ravel(), WORDS)
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
        (lambda m, X: m.topics(relevance=2), "relevance must be from 0 to 1"),
        (lambda m, X: m.topics(output="table"), "output must be one of"),
        (lambda m, X: m.explain(X, min_probability=-1), "min_probability"),
        (lambda m, X: m.top_documents(X, 0), "n_documents must be at least 1"),
        (lambda m, X: m.similar_documents(X, X, 0), "n_documents must be"),
        (lambda m, X: m.explain(X[:, :9]), "9 features"),
    ],
)
def test_what_tables_refuse(lda, counts, call, match):
    with pytest.raises(ValueError, match=match):
        call(lda, counts)
    with pytest.raises(NotFittedError):
        AnnealedLDA().topics()


def test_frames_of_a_library_that_is_missing(lda, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="pip install polars"):
        lda.topics(output="polars")


def test_frames_of_polars(lda, counts):
    polars = pytest.importorskip("polars")
    table = lda.topics(WORDS, output="polars")
    assert isinstance(table, polars.DataFrame)
    assert table["word"].to_list() == lda.topics(WORDS)["word"].tolist()


# -- what a fit warns of ---------------------------------------------------------------


def test_copies_and_empty_topics_are_warned_of():
    """Plain inference from a start with two equal topics, and one that nothing has."""
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
    assert "1 of 4 topics are empty (3)" in messages[0]
    assert "pairs of topics are near copies (0 and 1" in messages[1]
    assert "merge_topics()" in messages[0] and "merge_topics()" in messages[1]


def test_topics_that_differ_are_not_warned_of(debian):
    AnnealedLDA(8, random_state=0, max_iter=5).fit(debian[0])

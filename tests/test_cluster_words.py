"""`cluster_words`: class TF-IDF and lift compared with formulas, and bad input."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import KMeans

from sktemper import AnnealedGaussianMixture
from sktemper.moves import SplitMergeMoves
from sktemper.report import topic_report
from sktemper.text import class_tfidf, cluster_words


@pytest.fixture(scope="module")
def data():
    """Return counts whose words depend on clusters, and vectors near their centres."""
    random = np.random.default_rng(0)
    labels = random.integers(3, size=200)
    rates = random.gamma(0.3, size=(3, 40)) + 0.02
    counts = sparse.csr_matrix(random.poisson(4 * rates[labels]))
    vectors = 8.0 * np.eye(3, 6)[labels] + random.normal(size=(200, 6))
    return counts, labels, vectors


def test_class_tfidf_is_its_formula(data):
    counts = np.array([data[0][data[1] == k].sum(axis=0).A1 for k in range(3)])
    found = class_tfidf(counts)
    mean = counts.sum() / 3
    for k in range(3):
        for v in range(40):
            n = counts[:, v].sum()
            expected = counts[k, v] / counts[k].sum() * np.log(1 + mean / n) if n else 0
            assert found[k, v] == pytest.approx(expected, rel=1e-12)
    assert class_tfidf([[0, 0], [2, 0]]).tolist() == [[0, 0], [np.log1p(0.5), 0]]


def test_table_agrees_with_counts_of_each_cluster(data):
    counts, labels, _ = data
    words = np.array([f"w{v}" for v in range(40)])
    table = cluster_words(counts, labels, words, n_words=5)
    assert (
        table.groupby("cluster")["rank"].apply(list).tolist() == [[1, 2, 3, 4, 5]] * 3
    )
    tfidf = class_tfidf([counts[labels == k].sum(axis=0).A1 for k in range(3)])
    for _, row in table.iterrows():
        v, inside = int(row["word"][1:]), counts[labels == row["cluster"]]
        share = counts[:, v].sum() / counts.sum()
        assert row["count"] == inside[:, v].sum()
        assert row["weight"] == pytest.approx(row["count"] / inside.sum())
        assert row["lift"] == pytest.approx(
            (row["count"] + share) / (inside.sum() + 1) / share
        )
        assert row["class_tfidf"] == pytest.approx(tfidf[row["cluster"], v])
        assert row["prevalence"] == pytest.approx(inside.sum() / counts.sum())
    best = words[np.argsort(-tfidf, axis=1, kind="stable")[:, :5]]
    np.testing.assert_array_equal(table["word"].to_numpy().reshape(3, 5), best)


@pytest.mark.parametrize("by", ["class_tfidf", "lift", "weight"])
def test_words_are_in_the_order_of_a_column(data, by):
    table = cluster_words(data[0], data[1], n_words=40, by=by)
    for _, words in table.groupby("cluster"):
        assert (np.diff(words[by]) <= 0).all()
        assert sorted(words["word"].astype(int)) == list(range(40))


def test_clusters_are_named_by_a_function_of_words_and_texts():
    X, names = [[3, 0, 1], [4, 0, 1], [0, 5, 1], [0, 4, 1]], ["cat", "stone", "the"]
    calls, texts = [], ["a cat", "cats", "stones", "a stone"]

    def labeller(words, texts):
        calls.append((words, texts))
        return words[0].upper()

    given = X, [[0.2, 0.8], [0.9, 0.0], [0.0, 0.3], [0.1, 0.7]], names, 2
    table = cluster_words(*given, documents=texts, labeller=labeller)
    assert table["label"].tolist() == ["CAT", "CAT", "STONE", "STONE"]
    assert calls == [
        (["cat", "the"], ["cats", "a cat"]),
        (["stone", "the"], ["a cat", "a stone"]),
    ]
    cluster_words(*given, labeller=labeller)
    assert calls[-1] == (["stone", "the"], [])
    assert "label" not in cluster_words(*given, documents=texts)
    with pytest.raises(ValueError, match="documents must have one text for"):
        cluster_words(*given, documents=texts[:3], labeller=labeller)
    with pytest.raises(TypeError, match="labeller must be callable, got 'gpt'"):
        cluster_words(*given, labeller="gpt")


def test_probabilities_of_one_and_labels_give_the_same_table(data):
    counts, labels, _ = data
    frame = pd.DataFrame(counts.toarray(), columns=[f"w{v}" for v in range(40)])
    expected = cluster_words(counts, labels, frame.columns)
    for X, memberships in [
        (counts, np.eye(3)[labels]),
        (counts, sparse.csr_matrix(np.eye(3)[labels])),
        (counts.toarray(), labels),
    ]:
        found = cluster_words(X, memberships, frame.columns)
        pd.testing.assert_frame_equal(found, expected)
    pd.testing.assert_frame_equal(cluster_words(frame, labels), expected)


def test_noise_and_empty_clusters_have_no_words(data):
    counts, labels, _ = data
    labels = np.where(labels == 1, -1, labels)
    table = cluster_words(counts, labels)
    assert set(table["cluster"]) == {0, 2}
    inside = counts[labels >= 0].sum()
    first = table.groupby("cluster")["prevalence"].first()
    assert first[0] == pytest.approx(counts[labels == 0].sum() / inside)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"by": "tfidf"}, "by must be one of"),
        ({"n_words": 0}, "n_words"),
        ({"memberships": [0.5, 1.0]}, "integer labels"),
        ({"memberships": [-2, 0]}, "integer labels"),
        ({"memberships": [-1, -1]}, "no cluster"),
        ({"memberships": [0, 1, 1]}, "inconsistent numbers of samples"),
        ({"memberships": [[1.0, -0.5], [0.0, 1.0]]}, "Negative values"),
        ({"X": [[1, -1], [0, 1]]}, "Negative values"),
        ({"X": [[0, 0], [0, 0]]}, "no counts"),
        ({"feature_names": ["a"]}, "one name for each of the 2 columns"),
        ({"output": "arrow"}, "output must be one of"),
    ],
)
def test_bad_input_is_refused(change, error):
    arguments = {"X": [[1, 2], [3, 0]], "memberships": [0, 1]} | change
    with pytest.raises(ValueError, match=error):
        cluster_words(**arguments)
    with pytest.raises(ValueError, match="Negative"):
        class_tfidf([[1.0, -1.0]])


def page_data(page):
    pattern = r'<script type="application/json" id="report-data">(.*?)</script>'
    (found,) = re.findall(pattern, page, re.DOTALL)
    return json.loads(found)


def test_page_of_clusters_of_embeddings(data, monkeypatch):
    embed = pytest.importorskip("bokeh.embed", reason="sktemper.report needs bokeh")
    monkeypatch.setattr(embed, "json_item", lambda figure, name: None)  # not tested
    counts, labels, vectors = data
    names = [f"w{v}" for v in range(40)]
    moves = SplitMergeMoves(3)
    mixture = AnnealedGaussianMixture(6, moves=moves, random_state=0).fit(vectors)
    shown = page_data(topic_report(mixture, counts, names, embeddings=vectors))
    table = cluster_words(counts, mixture.predict_proba(vectors), names, n_words=3)
    filled = np.flatnonzero(np.bincount(mixture.labels_, minlength=6))
    assert shown["numbers"] == filled.tolist() and len(filled) == 3
    assert shown["rank_by"] == "class_tfidf"
    for number, label in zip(shown["numbers"], shown["labels"], strict=True):
        assert label.split() == table.loc[table["cluster"] == number, "word"].tolist()
    # the report accepts an estimator that only predicts labels
    means = KMeans(3, n_init=1, random_state=0).fit(vectors)
    shown = page_data(topic_report(means, counts, names, embeddings=vectors))
    shares = [counts[means.labels_ == k].sum() / counts.sum() for k in range(3)]
    np.testing.assert_allclose(shown["prevalence"], shares, atol=1e-6)


def test_page_refuses_other_estimators_and_embeddings(data):
    pytest.importorskip("bokeh", reason="sktemper.report needs bokeh")
    counts, _, vectors = data
    means = KMeans(3, n_init=1, random_state=0).fit(vectors)
    with pytest.raises(TypeError, match="embeddings must be given"):
        topic_report(means, counts)
    with pytest.raises(TypeError, match="predict_proba or predict"):
        topic_report(object(), counts, embeddings=vectors)
    with pytest.raises(ValueError, match="one row for each of the 200 rows"):
        topic_report(means, counts, embeddings=vectors[:50])

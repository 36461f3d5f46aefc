"""The page of `topic_report`: its data, its text and its figures."""

import datetime as dt
import json
import os
import re
import socket
import stat
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

from sktemper import AnnealedGaussianMixture, AnnealedLDA, AnnealedMultinomialMixture
from sktemper._utils._extras import install_command

bokeh = pytest.importorskip("bokeh", reason="sktemper.report needs bokeh")
pytest.importorskip("bokeh.embed")

from sktemper._utils._dates import as_dates  # noqa: E402
from sktemper._utils._labels import place_labels  # noqa: E402
from sktemper.datasets import load_debian_descriptions, make_lda_documents  # noqa: E402
from sktemper.metrics import npmi_coherence  # noqa: E402
from sktemper.plotting import topic_map_layout, topic_shares  # noqa: E402
from sktemper.report import _page, topic_report  # noqa: E402
from sktemper.report._documents import Reader, coloured_pieces  # noqa: E402
from sktemper.report._figures import places_around  # noqa: E402
from sktemper.report._page import check_path, write_page  # noqa: E402

N_TOPICS = 6


@pytest.fixture(scope="module")
def X():
    return make_lda_documents(300, 80, N_TOPICS, random_state=0)


@pytest.fixture(scope="module")
def lda(X):
    return AnnealedLDA(N_TOPICS, random_state=0).fit(X)


@pytest.fixture(scope="module")
def names():
    return np.array([f"w{v}" for v in range(80)], dtype=object)


@pytest.fixture(scope="module")
def texts(X, names):
    return [
        " ".join(np.repeat(names[row.indices], row.data)).capitalize() + "."
        for row in X
    ]


#: Tests that need figures.  Other tests leave them out, because Bokeh is slow.
WITH_FIGURES = {
    "test_topic_prevalence_over_dates_and_by_groups",
    "test_words_may_be_any_string",
    "test_one_topic_empty_documents_and_fewer_documents_than_are_shown",
    "test_a_mixture_of_multinomials_has_one_topic_per_document",
    "test_without_a_path_the_page_is_returned_and_nothing_written",
    "test_all_descriptions_take_seconds_and_little_space",
}


@pytest.fixture(autouse=True)
def figures(request, monkeypatch):
    """Leave figures out of pages in tests of other parts of the page."""
    if request.node.originalname not in WITH_FIGURES:
        monkeypatch.setattr(bokeh.embed, "json_item", lambda figure, name: None)


def data_of(path):
    """Return the data in a page."""
    pattern = r'<script type="application/json" id="report-data">(.*?)</script>'
    (found,) = re.findall(pattern, path.read_text(encoding="utf-8"), re.DOTALL)
    return json.loads(found)


def in_turns(values, n):
    return [values[i : i + n] for i in range(0, len(values), n)]


# -- contents of the page --------------------------------------------------------------


def test_topic_words_are_correct_at_each_slider_position(lda, X, names, tmp_path):
    data = data_of(topic_report(lda, X, names, path=tmp_path / "a.html", n_words=25))
    for relevance in 0.0, 0.35, 0.6, 1.0:
        table = lda.topics(names, 25, X=X, rank_by=relevance)
        for k, rows in table.groupby("topic"):
            words = in_turns(data["words_of_topics"][k], 4)
            words.sort(key=lambda w: -(relevance * w[1] + (1 - relevance) * w[2]))
            shown = [data["words"][v] for v, *_ in words[:25]]
            assert shown == rows["word"].tolist()
            np.testing.assert_allclose(
                [np.exp(w[1]) for w in words[:25]], rows["weight"], rtol=1e-4
            )
            np.testing.assert_allclose(
                [np.exp(w[2]) for w in words[:25]], rows["lift"], rtol=1e-4
            )
    assert data["rank_by"] == "term_score"
    for k, rows in lda.topics(names, 25, X=X).groupby("topic"):
        words = in_turns(data["words_of_topics"][k], 4)
        words.sort(key=lambda w: (-w[3], -w[1]))
        shown = [data["words"][v] for v, *_ in words[:25]]
        assert shown == rows["word"].tolist()
    first = table[table["rank"] == 1]
    np.testing.assert_allclose(data["prevalence"], first["prevalence"], atol=1e-6)


def test_topics_have_the_names_that_a_function_gives(lda, X, names, texts, tmp_path):
    calls = []

    def labeller(words, texts):
        calls.append((words, texts))
        return f"topic of {words[0]}"

    path = topic_report(
        lda, X, names, texts, tmp_path / "a.html", labeller=labeller, n_documents=2
    )
    data = data_of(path)
    assert data["labels"] == [f"topic of {words[0]}" for words, _ in calls]
    for k, (words, found) in enumerate(calls):
        assert len(words) == 6 and len(found) == 2
        first, _ = data["documents_of_topics"][k]
        assert found[0] == texts[data["documents"][first]["row"]]


def test_topics_of_words_follow_from_bayes_theorem(lda, X, names, tmp_path):
    data = data_of(topic_report(lda, X, names, path=tmp_path / "a.html"))
    assert data["words"] == names.tolist()
    np.testing.assert_allclose(data["counts"], np.asarray(X.sum(axis=0)).ravel())
    joint = np.array(data["prevalence"])[:, None] * lda.topic_word_
    shares = joint / joint.sum(axis=0)
    for word, entries in enumerate(data["topics_of_words"]):
        pairs = in_turns(entries, 2)
        assert [k for k, _ in pairs] == list(np.argsort(-shares[:, word])[: len(pairs)])
        for k, thousandths in pairs:
            assert abs(shares[k, word] - thousandths / 1000) < 0.001


def test_documents_shown_equal_top_documents(lda, X, names, tmp_path):
    data = data_of(topic_report(lda, X, names, path=tmp_path / "a.html", n_documents=4))
    table = lda.top_documents(X, 4)
    theta = lda.transform(X)
    for k, rows in table.groupby("topic"):
        shown = [data["documents"][place] for place in data["documents_of_topics"][k]]
        assert [one["row"] for one in shown] == rows["document"].tolist()
        for one in shown:
            topic, weight = one["topics"][0]
            assert topic == theta[one["row"]].argmax()
            assert weight == round(100 * theta[one["row"]].max())
    assert (
        data["n_largest"] == np.bincount(theta.argmax(1), minlength=N_TOPICS).tolist()
    )


def test_words_in_texts_have_the_topics_that_explain_returns(
    lda, X, names, texts, tmp_path
):
    data = data_of(topic_report(lda, X, names, texts, tmp_path / "a.html"))
    assert data["has_texts"]
    for one in data["documents"][:10]:
        text = "".join(p if isinstance(p, str) else p[0] for p in one["pieces"])
        assert text == texts[one["row"]]
        best = lda.explain(X[[one["row"]]], names).drop_duplicates("word")
        best = best.set_index("word")
        tinted = [p for p in one["pieces"] if not isinstance(p, str)]
        assert len(tinted) == X[[one["row"]]].sum()
        for word, topic, percent in tinted:
            assert topic == best["topic"][word.lower()]
            assert percent == round(100 * best["probability"][word.lower()])


def test_without_texts_the_most_informative_words_come_first(lda, X, names, tmp_path):
    data = data_of(topic_report(lda, X, names, path=tmp_path / "a.html"))
    share = np.array(data["prevalence"]) @ lda.topic_word_
    one = data["documents"][0]
    row = X[[one["row"]]]
    information = -np.log(share[row.indices]) * row.data
    expected = [
        names[v] if n == 1 else f"{names[v]} ×{n}"
        for v, n in zip(row.indices, row.data, strict=True)
    ]
    order = np.argsort(-information, kind="stable")
    assert [p[0] for p in one["pieces"][::2]] == [expected[i] for i in order][:40]
    assert not data["has_texts"]


def test_long_texts_are_cut_with_a_note(lda, X, names, texts, tmp_path):
    long = [text + " filler" * 1000 for text in texts]
    data = data_of(topic_report(lda, X, names, long, tmp_path / "a.html"))
    one = data["documents"][0]
    assert (one["shown"], one["of"]) == (2000, len(long[one["row"]]))
    assert sum(len(p if isinstance(p, str) else p[0]) for p in one["pieces"]) == 2000


def test_topic_prevalence_over_dates_and_by_groups(
    lda, X, names, tmp_path, monkeypatch
):
    days = np.arange(300) % 4
    dates = np.datetime64("2020-01-01") + 365 * days
    groups = np.array(["a", "b", "c"])[days % 3]
    page = topic_report(
        lda, X, names, path=tmp_path / "a.html", dates=dates, groups=groups
    )
    data = data_of(page)
    theta, tokens = lda.transform(X), np.asarray(X.sum(axis=1)).ravel()
    for day in range(4):
        here = days == day
        share = tokens[here] @ theta[here] / tokens[here].sum()
        np.testing.assert_allclose(
            np.array(data["dates"]["shares"])[:, day], share, atol=1e-5
        )
    assert data["dates"]["labels"][1] == "2020-12-31"
    assert data["dates"]["places"][0] == 1577836800000
    sizes = [tokens[groups == g].sum() for g in data["groups"]["names"]]
    assert data["groups"]["n_tokens"] == sizes == sorted(sizes, reverse=True)
    monkeypatch.setattr(bokeh.embed, "json_item", lambda figure, name: None)
    same = data_of(
        topic_report(lda, X, names, path=tmp_path / "a.html", dates=dates.astype(str))
    )
    assert same["dates"] == data["dates"] and same["groups"] is None
    numbers = topic_report(lda, X, names, path=tmp_path / "a.html", dates=days)
    assert data_of(numbers)["dates"]["labels"] == ["0", "1", "2", "3"]
    many = np.array([f"g{i}" for i in range(300)])
    shown = data_of(topic_report(lda, X, names, path=tmp_path / "a.html", groups=many))
    assert (len(shown["groups"]["names"]), shown["groups"]["n_groups"]) == (30, 300)


def test_documents_without_a_date_are_left_out():
    theta = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    for dates in (
        np.array(["2020", "NaT", "2020"], dtype="datetime64[s]"),
        pd.Series(pd.to_datetime(["2020", None, "2020"])),
        np.array([None, pd.NaT, pd.Timestamp("2020", tz="UTC")], dtype=object),
        [1.0, np.nan, 1.0],
    ):
        shares, places = topic_shares(theta, [10, 10, 30], dates)
        assert len(places) == 1
        expected = [0.625, 0.375] if dates[0] is not None else [0.5, 0.5]
        np.testing.assert_allclose(shares[:, 0], expected)


def test_a_date_on_a_bin_edge_belongs_to_the_later_bin():
    theta = np.repeat(np.eye(2), [10, 91], axis=0)  # topic 0 until place 9
    shares, places = topic_shares(theta, np.ones(101), np.arange(101.0), n_bins=10)
    np.testing.assert_allclose(places, np.arange(5.0, 100.0, 10.0))
    np.testing.assert_allclose(shares[0], np.eye(10)[0])


@pytest.mark.every(5)
@pytest.mark.parametrize(
    "make",
    [
        sparse.csr_array,
        sparse.csc_matrix,
        lambda X: X.toarray(),
        lambda X: pd.DataFrame(X.toarray()),
        lambda X: [X[:100], X[100:]],
    ],
    ids=["csr_array", "csc_matrix", "array", "frame", "parts"],
)
def test_all_input_types_give_the_same_page(lda, X, names, texts, tmp_path, make):
    one = topic_report(lda, X, names, texts, tmp_path / "one.html")
    other = topic_report(lda, make(X), names, texts, tmp_path / "other.html")
    assert data_of(one) == data_of(other)


def test_the_search_finds_frequent_words_and_displayed_words(
    lda, X, names, tmp_path, monkeypatch
):
    monkeypatch.setattr("sktemper.report._tables.MOST_WORDS", 12)
    page = topic_report(lda, X, names, path=tmp_path / "a.html", n_words=2)
    data = data_of(page)
    counts = np.asarray(X.sum(axis=0)).ravel()
    frequent = set(names[np.argsort(-counts, kind="stable")[:12]])
    shown = {data["words"][v] for list_ in data["words_of_topics"] for v in list_[::4]}
    assert set(data["words"]) == frequent | shown
    assert 12 < len(data["words"]) < data["n_features"] == 80


@pytest.mark.deep
def test_all_descriptions_take_seconds_and_little_space(tmp_path):
    debian = load_debian_descriptions()
    X, words = debian.data, debian.feature_names
    lda = AnnealedLDA(50, max_iter=2, random_state=0).fit(X)
    begin = time.process_time()
    bare = topic_report(lda, X, words, path=tmp_path / "bare.html")
    assert time.process_time() - begin < 20
    assert bare.stat().st_size < 10_000_000
    texts = [" ".join(words[X.indices[a:b]]) for a, b in pairwise(X.indptr)]
    page = topic_report(lda, X, words, texts, tmp_path / "texts.html")
    assert bare.stat().st_size < page.stat().st_size < 10_000_000
    assert len(data_of(page)["documents"]) <= 500


def test_words_default_to_column_numbers_or_names(lda, X, tmp_path):
    data = data_of(topic_report(lda, X, path=tmp_path / "a.html"))
    assert data["words"] == [str(v) for v in range(80)]
    frame = pd.DataFrame(X.toarray(), columns=[f"c{v}" for v in range(80)])
    fitted = AnnealedLDA(2, random_state=0).fit(frame)
    data = data_of(topic_report(fitted, frame, path=tmp_path / "a.html"))
    assert data["words"] == list(frame.columns)


def test_words_may_be_any_string(lda, X, names, tmp_path):
    names = names.copy()
    names[:3] = "half of a pair \ud800", "", "\0"
    data = data_of(topic_report(lda, X, names, path=tmp_path / "a.html"))
    assert data["words"] == names.tolist()


def test_one_topic_empty_documents_and_fewer_documents_than_are_shown(tmp_path):
    X = sparse.csr_matrix([[0, 0, 0], [1, 2, 0], [0, 0, 0], [0, 1, 1]])
    lda = AnnealedLDA(1, batch_size=None, random_state=0).fit(X)
    data = data_of(topic_report(lda, X, list("abc"), path=tmp_path / "a.html"))
    assert [one["row"] for one in data["documents"]] == [1, 3]
    assert data["n_largest"] == [2] and data["prevalence"] == [1.0]


def test_a_mixture_of_multinomials_has_one_topic_per_document(names, tmp_path):
    random = np.random.default_rng(0)
    topics = random.dirichlet(np.full(80, 0.05), 4)
    of_rows = random.integers(4, size=200)
    X = sparse.csr_matrix([random.multinomial(30, topics[k]) for k in of_rows])
    mixture = AnnealedMultinomialMixture(4, random_state=0).fit(X)
    texts = [" ".join(np.repeat(names[row.indices], row.data)) for row in X]
    path = tmp_path / "a.html"
    data = data_of(topic_report(mixture, X, names, texts, path, n_documents=60))
    for k, places in enumerate(data["documents_of_topics"]):
        rows = [data["documents"][place]["row"] for place in places]
        members = np.flatnonzero(mixture.predict(X) == k)
        assert set(rows[: len(members)]) == set(members) and len(members) > 20
    share = np.array(data["prevalence"])[:, None] * mixture.components_
    share /= share.sum(axis=0)
    np.testing.assert_allclose(sum(data["prevalence"]), 1.0, atol=1e-5)
    np.testing.assert_allclose(
        data["coherence"], npmi_coherence(mixture, X), atol=0.0006
    )
    for word, topic, percent in data["documents"][7]["pieces"][::2]:
        v = names.tolist().index(word)
        assert (
            topic == share[:, v].argmax()
            and abs(percent / 100 - share[topic, v]) < 0.01
        )
    with pytest.raises(ValueError, match="80"):
        topic_report(mixture, X, names[:5], path=path)


# -- positions of features in texts ----------------------------------------------------


def read(text, known, vectorizer=None):
    """Return the pieces of a text that are features."""
    spans = Reader(vectorizer).spans(text, known)
    return [(text[a:b], features) for a, b, features in spans]


def test_words_are_found_as_the_vectorizer_finds_them():
    known = ["self", "contained", "naïve", "running"]
    text = "Self-contained: a NAÏVE, (running) I self’s"
    assert read(text, known) == [
        ("Self", ["self"]),
        ("contained", ["contained"]),
        ("NAÏVE", ["naïve"]),
        ("running", ["running"]),
        ("self", ["self"]),
    ]
    accents = CountVectorizer(strip_accents="unicode")
    assert read("A NAÏVE, one", ["naive"], accents) == [("NAÏVE", ["naive"])]

    def stems(text):
        return [word.removesuffix("ning") for word in re.findall(r"\w+", text.lower())]

    assert read("(Running) fast", ["run"], stems) == [("Run", ["run"])]
    symbols = CountVectorizer(token_pattern=r"\S+")
    assert read("use C++ now", ["c++"], symbols) == [("C++", ["c++"])]
    pairs = CountVectorizer(ngram_range=(1, 2))
    assert read("New  York is new.", ["new", "new york"], pairs) == [
        ("New  York", ["new york"]),
        ("new", ["new"]),
    ]
    letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 2))
    assert read("ab!", ["ab", "b!"], letters) == [("ab", ["ab", "b!"])]
    assert read("", ["ab"]) == read("xy ?!", ["ab"]) == []


def test_a_word_of_several_features_has_their_topic_of_highest_mean():
    topics = {"ab": {0: 0.9, 1: 0.1}, "bc": {1: 0.9}, "cd": {1: 0.8}}
    pieces = coloured_pieces("x abcd.", [(2, 6, ["ab", "bc", "cd"])], topics)
    assert pieces == ["x ", ["abcd", 1, 60], "."]


def test_texts_of_other_rows_are_noticed(lda, X, names, tmp_path):
    with pytest.warns(UserWarning, match="in the order of the rows of X"):
        topic_report(lda, X, names, ["nothing"] * 300, tmp_path / "a.html")


def test_the_vectorizer_determines_the_words(X, lda, names, tmp_path):
    texts = [
        " ".join(f"#{word}" for word in np.repeat(names[row.indices], row.data))
        for row in X
    ]
    vectorizer = CountVectorizer(
        tokenizer=lambda text: text.split(), token_pattern=None
    )
    shouted = [f"#{name}" for name in names]
    page = topic_report(
        lda, X, shouted, texts, tmp_path / "a.html", vectorizer=vectorizer
    )
    for one in data_of(page)["documents"]:
        tinted = [p for p in one["pieces"] if not isinstance(p, str)]
        assert len(tinted) == X[[one["row"]]].sum() and tinted[0][0][0] == "#"


# -- pyLDAvis --------------------------------------------------------------------------


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array])
@pytest.mark.filterwarnings("ignore")  # warnings of pyLDAvis itself
def test_pyldavis_prepares_our_models(lda, X, names, container):
    pyldavis = pytest.importorskip("pyLDAvis")
    Y = container(X)
    lengths, counts = (np.asarray(Y.sum(axis=axis)).ravel() for axis in (1, 0))
    prepared = pyldavis.prepare(
        lda.topic_word_, lda.transform(Y), lengths, names, counts, n_jobs=1
    )
    shares = prepared.topic_coordinates["Freq"].to_numpy() / 100
    expected = topic_shares(lda.transform(Y), lengths)
    np.testing.assert_allclose(shares, -np.sort(-expected), rtol=1e-6)


# -- labels and the map ----------------------------------------------------------------


def test_labels_do_not_overlap():
    random = np.random.default_rng(0)
    centres, radii = topic_map_layout(
        random.dirichlet(np.ones(50), 30), np.ones(30), width=500, height=400
    )
    half = np.array([6.9 * 9, 15.0]) / 2
    halves, frame = np.tile(half, (30, 1)), np.outer([-0.5, 0.5], (500, 400))
    circles = centres, radii
    places = place_labels(places_around, halves, circles, np.ones(30), frame)
    shown = np.flatnonzero(np.isfinite(places[:, 0]))
    assert 5 < len(shown)
    for i in shown:
        nearest = np.clip(centres, places[i] - half, places[i] + half)
        assert (np.hypot(*(centres - nearest).T) >= radii)[np.arange(30) != i].all()
        for j in shown[shown != i]:
            assert (np.abs(places[i] - places[j]) >= 2 * half).any()


def test_circles_do_not_overlap_and_areas_are_proportional_to_shares():
    random = np.random.default_rng(0)
    shares = random.dirichlet(np.full(40, 5.0))
    centres, radii = topic_map_layout(random.dirichlet(np.ones(99), 40), shares)
    np.testing.assert_allclose(np.pi * radii**2, 0.12 * shares)
    apart = np.hypot(*(centres[:, None] - centres).T)[np.triu_indices(40, 1)]
    least = (radii[:, None] + radii)[np.triu_indices(40, 1)]
    assert (apart > 0.7 * least).all()
    with pytest.raises(ValueError, match="share for each of the 2 rows of topic_word"):
        topic_map_layout(np.ones((2, 3)), [1.0])


@pytest.mark.parametrize("seed", range(5))
def test_circles_of_very_different_sizes_stay_within_the_map(seed):
    random = np.random.default_rng(seed)
    topics = random.dirichlet(np.full(30, 0.05), 20)
    centres, radii = topic_map_layout(
        topics, random.dirichlet(np.full(20, 0.5)), width=500, height=480
    )
    least = np.array([250, 240]) - radii[:, None]
    assert (np.abs(centres) <= least + 1e-9).all()


# -- invalid input ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"lda": AnnealedLDA(2)}, NotFittedError, "not fitted"),
        ({"lda": AnnealedMultinomialMixture(2)}, NotFittedError, "not fitted"),
        ({"lda": AnnealedGaussianMixture(2)}, TypeError, "must be a fitted LDA"),
        ({"lda": AnnealedLDA}, TypeError, "must be a fitted LDA"),
        ({"lda": make_pipeline(AnnealedLDA(2))}, TypeError, r"last step, pipeline\[-1"),
        ({"feature_names": ["a"]}, ValueError, "80"),
        ({"feature_names": "a" * 80}, ValueError, "each of the 80 columns .* got str"),
        ({"feature_names": 3}, ValueError, "each of the 80 columns of X, got int"),
        ({"documents": ["a"] * 299}, ValueError, "each of the 300 rows of X, got 299"),
        ({"documents": "a text"}, ValueError, "got one str"),
        ({"documents": [None] * 300}, TypeError, r"documents\[0\] must be a str"),
        ({"document_names": ["a"]}, ValueError, "document_names must have one value"),
        ({"dates": [1, 2]}, ValueError, "dates must have one value"),
        ({"dates": ["soon"] * 300}, ValueError, "dates must be dates, strings such as"),
        ({"groups": [[1]] * 300}, ValueError, "groups must have one value"),
        ({"n_words": 0}, ValueError, "n_words must be at least 1"),
        ({"n_documents": 1.5}, TypeError, "n_documents. parameter must be an int"),
        ({"vectorizer": 3}, TypeError, "vectorizer must have `build_analyzer`"),
        ({"path": "no/such/folder/a.html"}, FileNotFoundError, "no folder to write to"),
        ({"path": "."}, IsADirectoryError, "is a folder"),
        ({"path": ""}, IsADirectoryError, "is a folder"),
        ({"path": 3}, TypeError, "path must be a str, a path or None"),
        ({"path": b"a.html"}, TypeError, "path must be a str, a path or None"),
        ({"path": "a\0b"}, ValueError, "path has a null character"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_bad_input_is_refused_and_nothing_is_written(
    lda, X, names, tmp_path, change, error, message, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    given = {"lda": lda, "X": X, "feature_names": names, **change}
    with pytest.raises(error, match=message):
        topic_report(**given)
    assert list(tmp_path.iterdir()) == []


def test_a_page_is_replaced_in_whole_or_not_at_all(
    lda, X, names, tmp_path, monkeypatch
):
    path = tmp_path / "topics.html"
    path.write_text("the page before", encoding="utf-8")

    def full(*arguments):
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(OSError, match="no space"):
            topic_report(lda, X, names, path=path)
    assert path.read_text(encoding="utf-8") == "the page before"
    assert list(tmp_path.iterdir()) == [path]
    monkeypatch.chdir(tmp_path)
    assert topic_report(lda, X, names, path="topics.html") == path
    assert path.stat().st_size > 1_000_000
    assert list(tmp_path.iterdir()) == [path]


def test_without_a_path_the_page_is_returned_and_nothing_written(
    lda, X, names, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    options = {"title": "half of a pair \ud800 é", "dates": np.arange(300) % 4}
    page = topic_report(lda, X, names, **options)
    assert isinstance(page, str) and list(tmp_path.iterdir()) == []
    path = topic_report(lda, X, names, path="a.html", **options)
    without_ids = re.compile(r'"(id|root_id|docid)":"[^"]*"')
    written = path.read_bytes().decode("utf-8")
    assert without_ids.sub("", page) == without_ids.sub("", written)


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_a_page_that_is_replaced_keeps_its_mode_and_attributes(mode, tmp_path):
    path = tmp_path / "a.html"
    path.write_text("before", encoding="utf-8")
    path.chmod(mode)
    os.utime(path, (1, 1))
    own = {"user.colour": b"red"} if hasattr(os, "setxattr") else {}
    for name, value in own.items():
        os.setxattr(path, name, value)
    assert write_page(path, "after") == path
    assert path.read_text(encoding="utf-8") == "after"
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.stat().st_mtime > 1e9  # the time of writing
    assert all(os.getxattr(path, name) == value for name, value in own.items())


@pytest.mark.skipif(os.name != "posix", reason="the umask of POSIX")
@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_a_new_page_has_the_mode_of_the_umask(umask, tmp_path):
    before = os.umask(umask)
    try:
        write_page(tmp_path / "a.html", "page")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.html").stat().st_mode) == 0o666 & ~umask


@pytest.mark.skipif(os.name != "posix", reason="the umask of POSIX")
def test_a_private_page_is_never_readable_by_others(tmp_path, monkeypatch):
    path, modes = tmp_path / "a.html", []
    path.write_text("before", encoding="utf-8")
    path.chmod(0o600)

    def looked(descriptor):
        modes.extend(stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir())

    monkeypatch.setattr(os, "fsync", looked)
    write_page(path, "after")
    assert modes == [0o600, 0o600]


def test_an_owner_that_cannot_be_kept_is_reported(tmp_path, monkeypatch):
    path = tmp_path / "a.html"
    path.write_text("before", encoding="utf-8")
    of_another = os.stat_result((*os.stat(path)[:4], 4242, 4242, *os.stat(path)[6:]))
    target = Path(os.path.realpath(path))
    monkeypatch.setattr(_page, "_resolve_target", lambda path: (target, of_another))

    def refused(*arguments):
        raise PermissionError("not permitted")

    monkeypatch.setattr(os, "chown", refused, raising=False)
    with pytest.raises(PermissionError, match="owner or group"):
        write_page(path, "after")
    assert path.read_text(encoding="utf-8") == "before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture
def link_to(tmp_path):
    def link(target, name="link.html"):
        try:
            (tmp_path / name).symlink_to(target)
        except OSError:  # on Windows, links need a permission
            pytest.skip("no symbolic links here")
        return tmp_path / name

    return link


def test_the_target_of_a_link_is_replaced(link_to, tmp_path):
    (tmp_path / "folder").mkdir()
    page = tmp_path / "folder" / "page.html"
    page.write_text("before", encoding="utf-8")
    path = link_to(link_to(Path("folder") / "page.html", "other.html"))
    assert check_path(path) == path
    assert write_page(path, "after") == path
    assert path.is_symlink() and (tmp_path / "other.html").is_symlink()
    assert page.read_text(encoding="utf-8") == "after"
    page.unlink()  # the links are broken
    write_page(check_path(path), "new")
    assert page.read_text(encoding="utf-8") == "new" and path.is_symlink()
    assert sorted(one.name for one in tmp_path.rglob("*")) == [
        "folder",
        "link.html",
        "other.html",
        "page.html",
    ]


def test_broken_links_are_refused(link_to, tmp_path):
    for target, error in (
        ("none/page.html", FileNotFoundError),
        ("link.html", OSError),  # a link to itself
        (".", IsADirectoryError),
    ):
        path = link_to(target)
        with pytest.raises(error):
            check_path(path)
        path.unlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_only_regular_files_are_replaced(lda, X, link_to, tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    deleted = (tmp_path / "deleted").open("wb")
    (tmp_path / "deleted").unlink()
    with socket.socket(socket.AF_UNIX) as listens, deleted:
        monkeypatch.chdir(tmp_path)  # paths of sockets must be short
        listens.bind("socket")
        paths = [tmp_path / "pipe", tmp_path / "socket", "/dev/null", "/dev/full"]
        paths += [link_to("pipe"), link_to("/dev/null", "null")]
        paths += [f"/dev/fd/{deleted.fileno()}"] if os.path.exists("/dev/fd") else []
        before = sorted(tmp_path.iterdir())
        for path in filter(os.path.exists, paths):
            with pytest.raises(ValueError, match="path is no regular file"):
                topic_report(lda, X, path=path)
            with pytest.raises(ValueError, match="path is no regular file"):
                write_page(Path(path), "page")
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
        assert sorted(tmp_path.iterdir()) == before


def test_files_and_folders_that_may_not_be_written_are_reported(tmp_path, monkeypatch):
    path = tmp_path / "a.html"
    path.write_text("before", encoding="utf-8")
    may = os.access
    for forbidden, message in (
        (path, "The file is read-only"),
        (tmp_path, "No file can be made in the folder"),
    ):
        forbidden = os.path.realpath(forbidden)

        def access(what, mode, forbidden=forbidden):
            return os.path.realpath(what) != forbidden and may(what, mode)

        monkeypatch.setattr(os, "access", access)
        with pytest.raises(PermissionError, match=message):
            check_path(path)


@pytest.mark.parametrize("length", [200, 245, 255])
def test_names_may_be_as_long_as_the_file_system_allows(length, tmp_path):
    path = tmp_path / ("x" * (length - 5) + ".html")
    try:
        path.touch()
        path.unlink()
    except OSError:
        pytest.skip("this file system has shorter names")
    write_page(check_path(path), "page")
    assert path.read_text(encoding="utf-8") == "page"


@pytest.mark.skipif(os.name != "posix", reason="names of POSIX")
def test_names_that_are_too_long_are_refused_at_once(lda, X, tmp_path):
    with pytest.raises(OSError, match="name too long"):
        topic_report(lda, X, path=tmp_path / ("x" * 300))


@pytest.mark.skipif(os.name == "nt", reason="Windows replaces no file that is read")
def test_threads_write_one_page(tmp_path):
    path = tmp_path / "a.html"

    def write(letter):
        for _ in range(5):
            write_page(path, letter * 100_000)
            assert len(set(path.read_text(encoding="utf-8"))) == 1

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(write, "abcdef"))
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "dates, what",
    [
        ([np.inf], "the number inf; expected numbers from -2"),
        ([1e19], "the number 1e.19"),
        ([10**400], "the number inf"),
        (np.array([2**64 - 1], dtype=np.uint64), "the number 18446744073709551615"),
        (np.array(["1e400"], dtype=np.longdouble), "the number inf"),
        (["9999999999999-01-01"], "got '9999999999999-01-01'"),
        (["999999-01-01"], "dates of the years -99999 to 99999"),
        (np.array([2**62], dtype="M8[Y]"), "dates of the years"),
        ([np.datetime64(2**62, "D"), None], "dates of the years"),
        (["2020-13-01"], "got '2020-13-01'"),
        (["20201231"], "got '20201231'"),
        ([True], "got np.True_|got True"),
        ([1j], "dates must be dates"),
        ([np.timedelta64(3, "s")], "dates must be dates"),
        ([dt.time(3), None], "dates must be dates"),
        ([dt.date(2020, 1, 1), "soon"], "got 'soon'"),
        ([[1], [1, 2]], "dates must have one value|got \\[1\\]"),
    ],
    ids=str,
)
def test_dates_that_no_page_can_show_are_refused(dates, what, lda, X, names, tmp_path):
    last = dates[-1:].tolist() if isinstance(dates, np.ndarray) else dates[-1:]
    if isinstance(dates, np.ndarray):
        dates = np.resize(dates, 300)
    else:
        dates = [*dates, *(last * (300 - len(dates)))]
    with pytest.raises(ValueError, match=what):
        topic_report(lda, X, names, path=tmp_path / "a.html", dates=dates)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "dates, expected",
    [
        (["2020-02-03", "", "NaT", np.nan], "2020-02-03T00:00:00"),
        (np.array(["2020-02-03", None], dtype=object), "2020-02-03T00:00:00"),
        (["2020-02-03T04:05:06Z", None], "2020-02-03T04:05:06"),
        ([" 2020-02-03 04:05:06+02:00"], "2020-02-03T04:05:06"),
        ([b"-4400-03-15"], "-4400-03-15T00:00:00"),
        ([dt.date(2020, 2, 3), None, np.nan], "2020-02-03T00:00:00"),
        ([dt.datetime(2020, 2, 3, 4, tzinfo=dt.UTC), pd.NaT], "2020-02-03T04:00:00"),
        (pd.to_datetime(["2020-02-03"]).tz_localize("CET"), "2020-02-03T00:00:00"),
        ([np.datetime64("2020-02"), pd.NA], "2020-02-01T00:00:00"),
        (np.array(["1970"], dtype="M8[as]"), "1970-01-01T00:00:00"),
        (np.array(["2020-02-03T04:05:06.7"], dtype="M8[ns]"), "2020-02-03T04:05:06"),
        (pd.array([3, None], dtype="Int64"), 3.0),
        ([3, None, np.nan, pd.NA], 3.0),
        ([2.0**63], 2.0**63),
        (np.array([3], dtype=np.float16), 3.0),
    ],
    ids=str,
)
def test_dates_of_all_kinds_are_read(dates, expected):
    found = as_dates(np.asarray(dates))
    assert str(found[0]) == str(expected)
    assert found.dtype in (np.dtype("M8[s]"), np.dtype(float))
    assert np.isnan(found[1:].astype(float)).all() or np.isnat(found[1:]).all()


def test_without_bokeh_the_extra_is_named(lda, X, monkeypatch):
    monkeypatch.setitem(sys.modules, "bokeh", None)
    command = install_command("report", ("bokeh", "pandas"))
    with pytest.raises(ImportError, match=re.escape(command)):
        topic_report(lda, X)

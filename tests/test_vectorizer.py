"""`StreamingCountVectorizer`, whose vocabulary grows, and models that grow with it."""

import io
import pickle
import sys
import warnings
from collections import Counter

import numpy as np
import pandas
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils._param_validation import InvalidParameterError

from sktemper import (
    AnnealedBernoulliMixture,
    AnnealedLDA,
    AnnealedMultinomialMixture,
    TemperedLDA,
)
from sktemper.datasets import write_counts
from sktemper.text import StreamingCountVectorizer
from sktemper.text import _frequencies as frequencies

quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
LETTERS = list("abcdeéßÄžI") + ["the", "and", "AND", "12", "x1", "-", "o'"]


def random_texts(random, n_texts=30):
    """Return texts of words of random letters; some texts are empty."""
    stock = ["".join(random.choice(LETTERS, random.integers(1, 4))) for _ in range(40)]
    shares = random.dirichlet(np.full(40, 0.3))
    return [
        " ".join(random.choice(stock, random.integers(0, 25), p=shares))
        for _ in range(n_texts)
    ]


def upper(text):
    return text.upper()


def random_parameters(random):
    """Return random parameters of CountVectorizer that are valid together."""

    def one_of(*values):
        return values[random.integers(len(values))]

    shortest = int(random.integers(1, 3))
    return {
        "strip_accents": one_of(None, "ascii", "unicode", upper),
        "lowercase": one_of(True, False),
        "preprocessor": one_of(None, None, None, upper),
        "tokenizer": one_of(None, None, str.split),
        "stop_words": one_of(None, "english", ["a", "the", "ab"]),
        "token_pattern": one_of(r"(?u)\b\w\w+\b", r"\S+", r"(\w)\w*"),
        "ngram_range": (shortest, shortest + int(random.integers(0, 3))),
        "analyzer": one_of("word", "word", "char", "char_wb", str.split),
        "binary": one_of(False, False, True),
        "dtype": one_of(np.int64, np.float64, np.float32, np.uint8, np.int16),
    }


def assert_same(one, other):
    assert type(one) is type(other) and one.dtype == other.dtype
    assert one.shape == other.shape
    np.testing.assert_array_equal(one.toarray(), other.toarray())


def outcome(call):
    """Return the result of a call, or the type and text of its error."""
    try:
        return call()
    except ValueError as error:
        return type(error), str(error)


def compare(seed, fixed):
    """Compare with CountVectorizer for random parameters; return whether fits ended."""
    random = np.random.default_rng(seed)
    texts, others = random_texts(random), random_texts(random)
    parameters = random_parameters(random)
    if fixed:
        words = sorted(set(" ".join(texts + others).lower().split()))
        words = random.permutation(words)[: random.integers(1, 30)].tolist()
        places = dict(zip(words, range(len(words)), strict=True))
        parameters["vocabulary"] = [words, places, set(words)][random.integers(3)]
    else:
        parameters["min_df"] = [1, 2, 0.1, 0.0][random.integers(4)]
        parameters["max_df"] = [1.0, 0.5, 10][random.integers(3)]
        parameters["max_features"] = [None, 5, 12][random.integers(3)]
    ours, theirs = StreamingCountVectorizer(**parameters), CountVectorizer(**parameters)
    expected = outcome(lambda: theirs.fit_transform(texts))
    if isinstance(expected, tuple):
        assert outcome(lambda: ours.fit_transform(texts)) == expected
        return False
    assert_same(ours.fit_transform(texts), expected)
    assert ours.vocabulary_ == theirs.vocabulary_
    assert ours.fixed_vocabulary_ == theirs.fixed_vocabulary_ == fixed
    assert_same(ours.transform(others), theirs.transform(others))
    assert_same(clone(ours).fit(texts).transform(others), theirs.transform(others))
    stream = clone(ours).partial_fit(texts)
    if fixed:
        assert_same(stream.partial_fit_transform(others), theirs.transform(others))
    elif parameters["max_features"] is None:  # max_features breaks ties differently
        assert stream.vocabulary_ == theirs.vocabulary_
    names = ours.get_feature_names_out(), theirs.get_feature_names_out()
    np.testing.assert_array_equal(*names)
    return True


@pytest.mark.every(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("n", [10, pytest.param(1000, marks=pytest.mark.deep)])
def test_it_equals_count_vectorizer(fixed, n):
    assert sum(compare(seed, fixed) for seed in range(n)) > n / 2


def test_files_and_bytes_are_read(tmp_path):
    texts = ["one two", "two three", "three"]
    expected = CountVectorizer().fit_transform(texts)
    paths = [tmp_path / f"{i}.txt" for i in range(3)]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    of_paths = StreamingCountVectorizer(input="filename")
    assert_same(of_paths.partial_fit_transform(paths), expected)
    of_files = StreamingCountVectorizer(input="file")
    assert_same(of_files.partial_fit_transform(map(io.StringIO, texts)), expected)
    of_bytes = StreamingCountVectorizer()
    encoded = (text.encode() for text in texts)
    assert_same(of_bytes.partial_fit_transform(encoded), expected)


# -- streams ---------------------------------------------------------------------------


def chunks_of(random, n_chunks, n_texts=20):
    """Yield chunks of texts whose words change gradually."""
    for i in range(n_chunks):
        words = random.integers(6 * i, 6 * i + 25, (n_texts, 12))
        yield [" ".join(f"w{word:03}" for word in row) for row in words]


@pytest.mark.parametrize("half_life", [None, 1e9, 35.0, 3.0])
def test_words_get_columns_once_enough_recent_documents_have_them(half_life):
    vectorizer = StreamingCountVectorizer(min_df=4, half_life=half_life)
    seen, columns, total, unknown = Counter(), [], 0, 0
    for texts in chunks_of(np.random.default_rng(0), 12):
        X = vectorizer.partial_fit_transform(texts)
        share = 1.0 if half_life is None else 0.5 ** (len(texts) / half_life)
        for word in seen:
            seen[word] *= share
        here = Counter(word for text in texts for word in set(text.split()))
        seen.update(here)
        columns += sorted(w for w in here if seen[w] >= 4 and w not in columns)
        names = vectorizer.get_feature_names_out()
        assert names.tolist() == columns
        of_columns = [seen[word] for word in names]
        found = vectorizer.document_frequencies_
        np.testing.assert_allclose(found, of_columns, rtol=1e-9, atol=1e-12)
        assert_same(X, CountVectorizer(vocabulary=columns).transform(texts))
        assert_same(vectorizer.transform(texts), X)
        total += sum(len(text.split()) for text in texts)
        unknown += sum(word not in columns for t in texts for word in t.split())
        assert vectorizer.n_tokens_ == total
        assert vectorizer.n_unknown_tokens_ == unknown


def test_a_fit_continues_as_a_stream():
    texts = list(chunks_of(np.random.default_rng(1), 4))
    fitted = StreamingCountVectorizer(min_df=3).fit(texts[0])
    stream = StreamingCountVectorizer(min_df=3).partial_fit(texts[0])
    for chunk in texts[1:]:
        fitted.partial_fit(chunk)
        stream.partial_fit(chunk)
    assert fitted.vocabulary_ == stream.vocabulary_
    again = fitted.fit(texts[0])  # a new fit
    assert again.vocabulary_ == CountVectorizer(min_df=3).fit(texts[0]).vocabulary_
    assert again.n_tokens_ == sum(len(text.split()) for text in texts[0])


def test_min_df_and_max_df_are_shares_of_documents_that_count():
    vectorizer = StreamingCountVectorizer(min_df=0.5, max_df=0.8, half_life=10)
    vectorizer.partial_fit(["aa bb", "aa cc", "aa bb", "aa"])
    assert vectorizer.get_feature_names_out().tolist() == ["bb"]
    # 4 * 2**-.6 + 6 = 8.64 documents in total; "cc" is in 6.66 of them, and "dd" in 3
    vectorizer.partial_fit(["cc dd"] * 3 + ["cc"] * 3)
    assert vectorizer.get_feature_names_out().tolist() == ["bb", "cc"]


def test_an_error_in_a_chunk_leaves_the_vectorizer_as_it_was():
    vectorizer = StreamingCountVectorizer(min_df=2).partial_fit(["aa bb", "aa bb cc"])
    before = vars(vectorizer).copy()

    def texts():
        yield "cc dd"
        yield "cc"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        vectorizer.partial_fit(texts())
    with pytest.raises(ValueError, match="document"):
        vectorizer.partial_fit(["cc", np.nan])
    assert vars(vectorizer) == before
    assert vectorizer.partial_fit(["cc"]).vocabulary_ == {"aa": 0, "bb": 1, "cc": 2}


def test_interruptions_anywhere_leave_a_chunk_whole_or_absent():
    chunks = list(chunks_of(np.random.default_rng(3), 2))
    lines = 0

    def trace(frame, event, arg):
        nonlocal lines
        if "sktemper/text" not in frame.f_code.co_filename.replace("\\", "/"):
            return None
        lines += event == "line"
        if lines == stop:
            raise KeyboardInterrupt
        return trace

    once = StreamingCountVectorizer(min_df=2, half_life=9).partial_fit(chunks[0])
    twice = pickle.loads(pickle.dumps(once)).partial_fit(chunks[1])
    whole = pickle.loads(pickle.dumps(twice)).partial_fit(chunks[1])
    stop = 0
    while lines == stop:
        lines, stop = 0, stop + 7
        one = pickle.loads(pickle.dumps(once))
        before, tracer = len(one.vocabulary_), sys.gettrace()
        sys.settrace(trace)
        try:
            one.partial_fit(chunks[1])
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(tracer)
        grown = len(one.vocabulary_) > before
        expected = whole if grown else twice
        one.partial_fit(chunks[1])
        assert one.vocabulary_ == expected.vocabulary_
        assert one.n_tokens_ == expected.n_tokens_
        np.testing.assert_array_equal(
            one.document_frequencies_, expected.document_frequencies_
        )
    assert stop > 70


def test_rare_words_without_a_column_are_forgotten(monkeypatch):
    monkeypatch.setattr(frequencies, "FEWEST_KEPT", 1)
    documents = np.array([0.05, 0.05, frequencies.LEAST_DOCUMENTS, 3.0])
    old = frequencies.WordFrequencies(
        dict(zip("abcd", range(4), strict=True)), documents, 2 * documents, 9.0, 2
    )
    vocabulary = {"a": 0}  # a word with a column is kept even if it is rare
    new = old.pruned(vocabulary)
    assert new.places == {"a": 0, "c": 1, "d": 2}
    np.testing.assert_array_equal(new.tokens, 2 * documents[[0, 2, 3]])
    assert new.most_others == 4  # twice the number of words without a column
    assert old.pruned({"a": 0, "b": 1}) is old


def test_memory_is_bounded_where_words_come_once(monkeypatch):
    monkeypatch.setattr(frequencies, "FEWEST_KEPT", 100)
    monkeypatch.setattr(frequencies, "MOST_KEPT", 400)
    for half_life, most in (20, 450), (None, 450):
        vectorizer = StreamingCountVectorizer(min_df=3, half_life=half_life)
        for i in range(200):
            vectorizer.partial_fit([f"news once{i} o{i}x o{i}y"] + ["news today"] * 4)
            assert len(vectorizer._frequencies.places) <= most
        assert vectorizer.get_feature_names_out().tolist() == ["news", "today"]
        found = vectorizer.document_frequencies_
        assert found[0] == pytest.approx(found[1] * 1.25)
        assert vectorizer.n_unknown_tokens_ == 600


def test_words_that_cannot_get_columns_are_reported_once():
    vectorizer = StreamingCountVectorizer(max_features=2, min_df=2)
    vectorizer.partial_fit(["aa bb", "aa bb cc"])  # "cc" is rare
    with pytest.warns(UserWarning, match="62% of the tokens .* max_features=2"):
        vectorizer.partial_fit(["aa cc dd", "aa cc dd", "bb dd"])
    vectorizer.partial_fit(["cc dd"] * 3)  # no second warning
    assert vectorizer.vocabulary_ == {"aa": 0, "bb": 1}
    assert (vectorizer.n_tokens_, vectorizer.n_unknown_tokens_) == (19, 12)
    fixed = StreamingCountVectorizer(vocabulary=["aa"])
    with pytest.warns(UserWarning, match="50% .* vocabulary is fixed"):
        fixed.partial_fit(["aa bb"])
    assert fixed.n_unknown_tokens_ == 1
    rare = StreamingCountVectorizer(min_df=2)
    rare.partial_fit(["aa bb", "aa cc"])  # min_df drops words without a warning
    assert rare.n_unknown_tokens_ == 2


def test_the_most_frequent_of_the_new_words_get_the_last_columns():
    vectorizer = StreamingCountVectorizer(max_features=3).partial_fit(["aa"])
    with pytest.warns(UserWarning, match="max_features"):
        vectorizer.partial_fit(["cc dd bb", "dd bb ee", "dd ff ee bb"])
    assert vectorizer.get_feature_names_out().tolist() == ["aa", "bb", "dd"]


def test_dropped_words_come_back_once_they_are_frequent_again():
    vectorizer = StreamingCountVectorizer(min_df=2, half_life=2)
    vectorizer.partial_fit(["aa bb", "aa bb", "aa cc", "bb cc"])
    for _ in range(4):
        vectorizer.partial_fit(["bb", "bb"])
    assert vectorizer.drop_features().tolist() == [0, 2]
    assert vectorizer.vocabulary_ == {"bb": 0}
    assert vectorizer.drop_features().tolist() == []
    vectorizer.partial_fit(["aa"])
    assert vectorizer.vocabulary_ == {"bb": 0}
    vectorizer.partial_fit(["aa", "aa"])
    assert vectorizer.vocabulary_ == {"bb": 0, "aa": 1}
    assert vectorizer.drop_features(["bb"]).tolist() == [0]
    for wrong, message in [
        (["zz"], "'zz' is none of these"),
        ([7], "7 is none of these"),
        ([0], "leave no column"),
        ([True, False], "a mask of all 1 columns; True is"),
    ]:
        with pytest.raises(ValueError, match=message):
            vectorizer.drop_features(wrong)
    with pytest.raises(InvalidParameterError, match="list of names"):
        vectorizer.drop_features("bb")
    with pytest.raises(ValueError, match="fixed"):
        StreamingCountVectorizer(vocabulary=["aa"]).fit(["aa"]).drop_features()


# -- scikit-learn's contract -----------------------------------------------------------


def test_bad_parameters_and_texts_are_refused():
    with pytest.raises(InvalidParameterError, match="half_life"):
        StreamingCountVectorizer(half_life=0).partial_fit(["aa"])
    with pytest.raises(InvalidParameterError, match="half_life"):
        StreamingCountVectorizer(half_life=True).fit(["aa"])
    with pytest.raises(InvalidParameterError, match="analyzer"):
        StreamingCountVectorizer(analyzer="letters").partial_fit(["aa"])
    with pytest.raises(ValueError, match="string object received"):
        StreamingCountVectorizer().partial_fit("aa")
    with pytest.raises(ValueError, match="lower boundary"):
        StreamingCountVectorizer(ngram_range=(2, 1)).partial_fit(["aa"])
    with pytest.raises(ValueError, match="max_df corresponds"):
        StreamingCountVectorizer(min_df=3, max_df=1).fit(["aa"])
    with pytest.raises(NotFittedError):
        StreamingCountVectorizer().transform(["aa"])
    with pytest.raises(NotFittedError):
        StreamingCountVectorizer().drop_features()


def test_a_stream_may_begin_without_words():
    vectorizer = StreamingCountVectorizer(min_df=2)
    assert vectorizer.partial_fit_transform(["", "aa"]).shape == (2, 0)
    with pytest.raises(ValueError, match="Vocabulary is empty"):
        vectorizer.transform(["aa"])
    assert vectorizer.partial_fit_transform(["aa"]).toarray().tolist() == [[1]]
    with pytest.raises(ValueError, match="empty vocabulary"):
        vectorizer.fit([""])
    assert vectorizer.vocabulary_ == {"aa": 0}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (pandas.DataFrame({"n": [1], "words": ["bb"]}), r"column.*X\['words'\]"),
        (pandas.DataFrame(), "data frame received"),
        ([], "Found 0 documents"),
    ],
)
def test_frames_and_nothing_are_no_texts(given, message):
    vectorizer = StreamingCountVectorizer().fit(["aa"])
    for make in (lambda: vectorizer, StreamingCountVectorizer):
        for method in ("partial_fit", "partial_fit_transform", "fit", "transform"):
            if len(given) == 0 and method in ("fit", "transform"):
                continue  # as in CountVectorizer
            with pytest.raises(ValueError, match=message):
                getattr(make(), method)(given)
    assert vectorizer.vocabulary_ == {"aa": 0} and vectorizer.n_tokens_ == 1


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_frames_have_the_words_as_columns(output):
    texts = pandas.Series(["aa bb", "bb bb"], index=[3, 5])
    vectorizer = StreamingCountVectorizer().set_output(transform=output)
    kind = pytest.importorskip(output).DataFrame
    for frame in (
        vectorizer.fit_transform(texts),
        vectorizer.transform(texts),
        clone(vectorizer).partial_fit_transform(texts),
    ):
        assert type(frame) is kind
        assert list(frame.columns) == ["aa", "bb"]
        np.testing.assert_array_equal(np.asarray(frame), [[1, 1], [0, 2]])
        if output == "pandas":
            assert frame.index.tolist() == [3, 5]
            assert all(isinstance(t, pandas.SparseDtype) for t in frame.dtypes)
    vectorizer.set_output(transform=None)
    assert type(vectorizer.transform(texts)) is kind
    assert sparse.issparse(vectorizer.set_output(transform="default").transform(texts))
    with sklearn.config_context(transform_output=output):
        frame = StreamingCountVectorizer().fit_transform(texts)
    assert type(frame) is kind


# -- models that grow ------------------------------------------------------------------

MODELS = [AnnealedLDA, AnnealedMultinomialMixture, AnnealedBernoulliMixture]


@pytest.mark.every(5)
@quiet
@pytest.mark.parametrize("cls", MODELS)
@pytest.mark.parametrize("kind", ["sparse", "dense", "frame", "list"])
def test_wider_data_widen_a_model(cls, kind, counts):
    dense = counts.toarray()
    if cls is AnnealedBernoulliMixture:
        dense = 1.0 * (dense > 0)

    def of(X):
        if kind == "frame":
            return pandas.DataFrame(X, columns=[f"w{i}" for i in range(X.shape[1])])
        X = sparse.csr_array(X) if kind == "sparse" else X
        return [X[:30], X[30:]] if kind == "list" else X

    one = cls(3, random_state=0).partial_fit(of(dense[:60, :50]))
    other = pickle.loads(pickle.dumps(one))
    one.partial_fit(of(dense[60:]))
    names = [f"w{i}" for i in range(50, 60)]
    other.expand_features(names if kind == "frame" else 10)
    other.partial_fit(of(dense[60:]))
    assert one.n_features_in_ == 60
    np.testing.assert_array_equal(one.components_, other.components_)
    if kind == "frame":
        assert one.feature_names_in_.tolist() == [f"w{i}" for i in range(60)]
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(
        again.score_samples(of(dense)), one.score_samples(of(dense))
    )


@pytest.mark.every(5)
@quiet
@pytest.mark.parametrize("cls", MODELS[1:])
@pytest.mark.parametrize("wide", [False, True])
def test_new_words_of_a_mixture_were_in_no_document(cls, wide, counts):
    n_columns = 20_000 if wide else 60
    X = sparse.csr_array(counts > 0, dtype=np.float64)
    X = sparse.csr_array((X.data, X.indices, X.indptr), shape=(120, n_columns))
    mixture = cls(3, feature_prior=0.3, random_state=0).fit(X)
    before, weights = mixture.concentration_, mixture.weights_
    n_rows = mixture.weight_concentration_ - mixture.weight_concentration_prior_
    mixture.expand_features(10)
    np.testing.assert_array_equal(mixture.weights_, weights)
    after = mixture.concentration_
    np.testing.assert_array_equal(after[:, :n_columns], before)
    expected = np.full((3, 10), 0.3)
    if cls is AnnealedBernoulliMixture:
        expected = np.stack([expected, expected + n_rows[:, None]], axis=-1)
    np.testing.assert_allclose(after[:, n_columns:], expected, rtol=1e-6)


@quiet
@pytest.mark.parametrize("cls", MODELS)
def test_dropped_columns_leave_the_others_their_bits(cls, counts):
    if cls is AnnealedBernoulliMixture:
        counts = sparse.csr_array(counts > 0, dtype=np.float64)
    model = cls(3, random_state=0).fit(counts)
    before = model.components_ if cls is not AnnealedLDA else model.state_.globals_.u
    kept = np.delete(np.arange(60), [2, 40, 59])
    assert model.drop_features([40, 2, 59, 2]) is model
    assert model.n_features_in_ == 57
    if cls is AnnealedLDA:
        np.testing.assert_array_equal(model.state_.globals_.u, before[kept])
    elif cls is AnnealedBernoulliMixture:
        np.testing.assert_array_equal(model.components_, before[:, kept])
    else:
        share = before[:, kept] / before[:, kept].sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.components_, share, rtol=1e-5)
    X = sparse.csr_array(counts)[:, kept]
    pickle.loads(pickle.dumps(model)).partial_fit(X).score(X)
    assert model.drop_features([]) is model
    with pytest.raises(ValueError, match="leave no column"):
        model.drop_features(np.ones(57, dtype=bool))
    with pytest.raises(ValueError, match="'w1' is none of these"):
        model.drop_features(["w1"])


@quiet
@pytest.mark.parametrize("cls", MODELS[1:])
def test_dropped_and_added_columns_have_no_data(cls):
    """The model has many columns, most of which are not stored separately."""
    random = np.random.default_rng(0)
    X = sparse.random(80, 30_000, density=0.001, random_state=random, format="csr")
    X.data[:] = 1.0
    model = cls(3, random_state=0).partial_fit(X)
    seen = np.unique(X.indices)
    unseen = np.setdiff1d(np.arange(30_000), seen)[:50]
    before = model.components_[:, np.delete(np.arange(30_000), unseen)]
    model.drop_features(unseen)
    model.expand_features(50)
    after = model.components_
    np.testing.assert_allclose(after[:, :-50], before, rtol=1e-5)
    np.testing.assert_allclose(after[:, -50:], after[:, [29_949 - 50]] * np.ones(50))


@quiet
def test_wider_frames_must_begin_with_the_known_columns(counts):
    dense, names = counts.toarray(), [f"w{i}" for i in range(60)]
    frame = pandas.DataFrame(dense, columns=names)
    lda = AnnealedLDA(3, random_state=0).partial_fit(frame[names[:50]])
    before = pickle.dumps(lda)
    with pytest.raises(ValueError, match="column 0 is 'w59' instead of 'w0'"):
        lda.partial_fit(frame[names[::-1]])
    with pytest.raises(ValueError, match="whose columns had names"):
        lda.partial_fit(dense)
    with pytest.raises(ValueError, match="Negative values"):
        lda.partial_fit(-frame)
    with pytest.raises(ValueError, match="feature names should match"):
        lda.partial_fit(frame[names[:40]])
    with pytest.raises(ValueError, match="feature names should match"):
        lda.transform(frame)
    assert pickle.dumps(lda) == before
    assert lda.drop_features(["w3"]).feature_names_in_.tolist() == (
        names[:3] + names[4:50]
    )


@quiet
def test_priors_of_words_need_expand_features(counts):
    lda = AnnealedLDA(3, topic_word_prior=np.full(50, 0.2), random_state=0)
    lda.partial_fit(counts[:, :50])
    with pytest.raises(ValueError, match="topic_word_prior .* expand_features"):
        lda.partial_fit(counts)
    assert lda.expand_features(10).partial_fit(counts).n_features_in_ == 60
    assert lda.drop_features([0]).topic_word_prior.shape == (59,)


@quiet
def test_collections_on_disk_widen_a_model(tmp_path, counts):
    names = [f"w{i}" for i in range(60)]
    small = write_counts(tmp_path / "a", [counts[:60, :50]], feature_names=names[:50])
    large = write_counts(tmp_path / "b", [counts[60:]], feature_names=names)
    other = write_counts(tmp_path / "c", [counts[60:]], feature_names=names[::-1])
    lda = AnnealedLDA(3, random_state=0).partial_fit(small)
    with pytest.raises(ValueError, match="instead of 'w0'"):
        lda.partial_fit(other)
    lda.partial_fit(large)
    listed = {word for words in lda.top_words(n_words=60) for word in words}
    occur = {names[v] for v in np.flatnonzero(counts.sum(axis=0) >= 20)}
    assert occur <= listed and occur & set(names[50:])
    lda.drop_features(["w7"])
    assert lda.n_features_in_ == 59


@quiet
def test_an_interrupted_step_does_not_widen(counts, monkeypatch):
    lda = TemperedLDA(3, tempering=None, random_state=0).partial_fit(counts[:, :50])
    before = pickle.dumps(lda)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("sktemper.lda._model.LDAModel.local_step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lda.partial_fit(counts)
    assert lda.n_features_in_ == 50 and pickle.dumps(lda) == before


def test_models_without_the_capability_refuse_wider_data():
    from sktemper import AnnealedGaussianMixture

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X = np.random.default_rng(0).normal(size=(50, 3))
        mixture = AnnealedGaussianMixture(2, random_state=0).partial_fit(X[:, :2])
    with pytest.raises(ValueError, match="3 features"):
        mixture.partial_fit(X)
    assert not hasattr(mixture, "expand_features")

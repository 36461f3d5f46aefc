"""Collections on disk: they contain the given data, also after interruptions."""

import gzip
import json
import os
import pickle
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from fits import peak_of
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.pipeline import make_pipeline
from test_readers import Corpus

from sktemper.datasets import (
    _collection,
    _lines,
    _words,
    _write,
    open_counts,
    open_dense,
    open_ratings,
    ratings_matrix,
    read_gensim,
    read_lda_c,
    read_matrix_market,
    read_svmlight,
    read_text,
    read_triples,
    read_uci,
    write_counts,
    write_dense,
    write_ratings,
)

FIRST = "generation-00001"
HASHING = HashingVectorizer(n_features=512, alternate_sign=False, norm=None)


class Bare:
    """A model whose blocks are the rows themselves."""

    def take(self, X, rows):
        return X[rows]

    def units_per_row(self, X, rows):
        return X.indptr[rows + 1] - X.indptr[rows]


def rows_of(n_rows=100, n_columns=40, top=5, seed=0):
    random = np.random.default_rng(seed)
    X = random.integers(0, top, (n_rows, n_columns))
    X[random.random(X.shape) < 0.7] = 0
    return sparse.csr_array(X)


def cut(X, size=13):
    return [X[start : start + size] for start in range(0, X.shape[0], size)]


def joined(collection):
    return sparse.csr_array(sparse.vstack(list(collection)))


def is_mapped(array):
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return False


def contents(folder):
    files = (path for path in sorted(Path(folder).rglob("*")) if path.is_file())
    return {path.name: path.read_bytes() for path in files}


@pytest.fixture
def X():
    return rows_of()


@pytest.fixture
def collection(X, tmp_path):
    return write_counts(tmp_path / "X", cut(X), shard_rows=30)


# -- counts ----------------------------------------------------------------------------


def test_counts_are_read_as_they_were_written(X, collection):
    assert len(collection) == 4 and len(list(collection)) == 4
    assert collection.shape == X.shape
    assert collection.nnz == X.nnz
    assert collection.sum == X.sum()
    assert (joined(collection) != X).nnz == 0
    assert [part.n_rows for part in collection.parts] == [30, 30, 30, 10]
    assert collection[-1].shape == (10, 40)
    assert len(collection[1:3]) == 2
    assert is_mapped(collection[0].data)
    assert "100 x 40" in repr(collection) and "4 shards" in repr(collection)
    with pytest.raises(IndexError):
        collection[4]


@pytest.mark.parametrize(
    "top, dtype",
    [(200, "uint8"), (256, "uint16"), (2**16, "uint32"), (2**40, "float64")],
)
@pytest.mark.parametrize("given", [np.int64, np.float64])
def test_counts_take_the_smallest_type(top, dtype, given, tmp_path):
    X = sparse.csr_array(np.array([[1, 0], [0, top]], dtype=given))
    collection = write_counts(tmp_path / "X", [X])
    assert collection.dtype == dtype == collection[0].dtype
    assert (collection[0] != X).nnz == 0
    assert collection.extremes().toarray().max() == top


def test_shards_may_have_different_types(tmp_path):
    batches = [np.array([[1, 2]]), np.array([[300, 0]]), np.array([[0.5, 7]])]
    collection = write_counts(tmp_path / "X", batches, shard_rows=1)
    assert [X.dtype.name for X in collection] == ["uint8", "uint16", "float64"]
    assert collection.dtype == np.float64
    assert np.array_equal(joined(collection).toarray(), np.concatenate(batches))
    assert collection.extremes().toarray()[:, 0].tolist() == [0.5, 300]


@pytest.mark.parametrize("n_features, dtype", [(2**16, "uint16"), (2**16 + 1, "int32")])
def test_indices_take_the_smallest_type(n_features, dtype, tmp_path):
    X = sparse.csr_array(([3], [n_features - 1], [0, 1]), shape=(1, n_features))
    collection = write_counts(tmp_path / "X", [X])
    stored = np.load(tmp_path / "X" / FIRST / "shard-00000.indices.npy")
    assert stored.dtype == dtype
    assert collection[0].indices.dtype == np.int32
    assert collection[0][0, n_features - 1] == 3


def test_stored_counts_are_canonical_and_inputs_are_unchanged(tmp_path):
    given = [[2, 1, 0, 0], [2, 0, 2, 1], [0, 4]]  # unsorted, duplicate, a zero
    X = sparse.csr_array(tuple(map(np.array, given)), shape=(1, 3))
    collection = write_counts(tmp_path / "X", [X])
    block = collection.parts[0].rows(slice(None))
    assert block.indices.tolist() == [0, 2] and block.data.tolist() == [1, 2]
    assert block.has_canonical_format
    assert [X.data.tolist(), X.indices.tolist()] == given[:2]
    with_zero = write_counts(tmp_path / "Y", [sparse.csr_array(([0], [1], [0, 1]))])
    assert with_zero.nnz == 0 and with_zero.extremes().shape == (1, 2)


@pytest.mark.parametrize(
    "bad, what",
    [
        (np.array([[1.0, -1.0]]), "negative"),
        (np.array([[1.0, np.nan]]), "not finite"),
        (np.array([[1.0, np.inf]]), "not finite"),
        (np.array([["a", "b"]]), "no numbers"),
        (np.array([1.0, 2.0]), "dimensions"),
        (np.ones((1, 3)), "3 columns"),
        (sparse.csr_array(([1], [99], [0, 1]), shape=(1, 2)), "must be < 2"),
    ],
)
def test_a_collection_with_bad_counts_cannot_be_opened(bad, what, tmp_path):
    good = np.ones((2, 2))
    with pytest.raises(ValueError, match=f"Batch 1[ :].*{what}"):
        write_counts(tmp_path / "X", [good, bad], shard_rows=1)
    with pytest.raises(ValueError, match="not finished"):
        open_counts(tmp_path / "X")
    collection = write_counts(tmp_path / "X", [good, 2 * good], shard_rows=1)
    assert joined(collection).toarray().tolist() == [[1, 1]] * 2 + [[2, 2]] * 2


def test_no_rows_and_no_batches(tmp_path):
    for batches in [], [np.ones((0, 3))]:
        with pytest.raises(ValueError, match="no rows"):
            write_counts(tmp_path / "X", batches, overwrite=True)
    for shard_rows in 0, 1.5, True:
        with pytest.raises(ValueError, match="shard_rows"):
            write_counts(tmp_path / "X", [np.ones((1, 3))], shard_rows=shard_rows)
    for matrix in np.ones((2, 2)), sparse.csr_matrix(np.ones((2, 2))):
        with pytest.raises(ValueError, match="make a list"):
            write_counts(tmp_path / "Y", matrix)
    with pytest.raises(TypeError, match="no method transform: str"):
        write_counts(tmp_path / "Z", [["a text"]], "count")
    assert not (tmp_path / "Z").exists()
    write_counts(tmp_path / "Z", [np.ones((3, 3))], shard_rows=np.int64(2))


def test_empty_batches_and_empty_rows(tmp_path):
    batches = [np.zeros((0, 3)), np.zeros((2, 3)), np.ones((1, 3)), np.zeros((0, 3))]
    collection = write_counts(tmp_path / "X", batches, shard_rows=2)
    assert collection.shape == (3, 3) and collection[0].nnz == 0
    assert collection.parts[0].rows(np.array([1, 0])).shape == (2, 3)


def test_the_size_of_shards_is_chosen_by_their_entries(tmp_path):
    dense = write_dense(tmp_path / "X", [np.zeros((3, 2**14), dtype=np.float32)])
    meta = json.loads((tmp_path / "X" / "meta.json").read_text())
    assert meta["shard_rows"] == 2048 and len(dense) == 1


# -- text ------------------------------------------------------------------------------


def test_a_pipeline_may_have_no_names(texts, tmp_path):
    pipeline = make_pipeline(HASHING, TfidfTransformer()).fit(texts)
    collection = write_counts(tmp_path / "X", [texts], pipeline)
    assert collection.dtype == np.float64 and collection.feature_names is None
    assert (joined(collection) != pipeline.transform(texts)).nnz == 0
    with pytest.raises(NotFittedError):
        write_counts(tmp_path / "Y", [texts], CountVectorizer())
    assert not (tmp_path / "Y").exists()


@pytest.mark.parametrize(
    "vectorizer", [CountVectorizer(), TfidfVectorizer(), HASHING], ids=lambda v: str(v)
)
def test_text_is_counted_as_the_vectorizer_does(vectorizer, texts, tmp_path):
    if vectorizer is not HASHING:
        vectorizer.fit(texts)
    batches = [texts[:50], np.array(texts[50:80], dtype=object), [], texts[80:]]
    collection = write_counts(tmp_path / "X", batches, vectorizer, shard_rows=32)
    expected = vectorizer.transform(texts)
    assert (joined(collection) != expected).nnz == 0
    names = open_counts(tmp_path / "X").feature_names
    if vectorizer is HASHING:
        counts = Counter(" ".join(texts).split())
        columns = vectorizer.transform(counts).indices.tolist()
        for column in set(columns):
            of_column = [w for w, c in zip(counts, columns, strict=True) if c == column]
            most = max(map(counts.get, of_column))
            assert counts[names[column].split("|")[0]] == most
        assert names[next(c for c in range(512) if c not in columns)].startswith("#")
    else:
        assert names.tolist() == vectorizer.get_feature_names_out().tolist()


def test_the_frequent_word_of_a_column_is_its_name():
    vectorizer = HashingVectorizer(n_features=1, alternate_sign=False, norm=None)
    words = _words.HashedWords(vectorizer)
    texts = ["tea"] * 10 + ["rum"] * 6 + ["ale"] * 1
    words.look_at(texts, vectorizer.transform(texts))
    assert words.names() == ["tea|rum"]


def test_words_take_bounded_memory(monkeypatch):
    monkeypatch.setattr(_words, "SPARE_WORDS", 100)
    words = _words.HashedWords(HASHING)
    for number in range(20):
        texts = [f"frequent w{number}x{i}" for i in range(200)]
        words.look_at(texts, HASHING.transform(texts))
        assert len(words.counts) == len(words.columns) <= 512 + 100
    column = HASHING.transform(["frequent"]).indices[0]
    assert words.names()[column] == "frequent"
    again = _words.HashedWords(HASHING)
    again.restore(json.loads(json.dumps(words.state())))
    assert again.names() == words.names()


def test_few_texts_of_later_batches_are_analyzed(monkeypatch):
    monkeypatch.setattr(_words, "FIRST_ENTRIES", 10)
    words = _words.HashedWords(HASHING)
    seen = []
    analyze = words.analyze
    words.analyze = lambda text: seen.append(text) or analyze(text)
    common = ["tea"] * 500
    words.look_at(common, HASHING.transform(common))
    assert len(seen) <= 10
    common[321] = "hapax"  # only this word's column has no name yet
    words.look_at(common, HASHING.transform(common))
    assert len(seen) <= 20 and "hapax" in seen


@pytest.mark.parametrize("batches", [["a text"], "a text", [iter(["a text"])]])
def test_batches_must_be_lists_of_texts(batches, tmp_path):
    with pytest.raises(ValueError, match="Batch 0 is no list of texts"):
        write_counts(tmp_path / "X", batches, HASHING)


# -- interruptions ---------------------------------------------------------------------


class Stop(Exception):
    pass


@pytest.mark.every(17)
@pytest.mark.parametrize("kind", ["texts", "ratings"])
@pytest.mark.parametrize("stop", range(2, 44, 2))
def test_a_conversion_stopped_at_any_write_continues(
    stop, kind, texts, small_runs, tmp_path, monkeypatch
):
    def write(folder):
        if kind == "texts":
            batches = [texts[:40], texts[40:70], texts[70:]]
            return write_counts(folder, batches, HASHING, shard_rows=30)
        batches, options = in_batches(triples()), {"duplicates": "last"}
        return write_ratings(folder, batches, shard_rows=20, **options)

    write(tmp_path / "done")
    n_writes, replace = [0], os.replace

    def stopping(*paths):
        n_writes[0] += 1
        if n_writes[0] == stop:
            raise Stop
        replace(*paths)

    monkeypatch.setattr(os, "replace", stopping)
    folder = tmp_path / "stopped"
    try:
        write(folder)
    except Stop:
        write(folder)
    else:
        assert stop > n_writes[0]
    assert contents(folder) == contents(tmp_path / "done")


def test_batches_that_are_done_are_not_counted_again(texts, tmp_path):
    def given(fails):
        for start in range(0, 120, 10):
            if fails and start == 100:
                raise Stop
            yield texts[start : start + 10]

    with pytest.raises(Stop):
        write_counts(tmp_path / "X", given(True), HASHING, shard_rows=40)
    vectorizer = HashingVectorizer(**HASHING.get_params())
    counted, transform = [], vectorizer.transform
    vectorizer.transform = lambda some: counted.extend(some) or transform(some)
    write_counts(tmp_path / "X", given(False), vectorizer, shard_rows=40)
    assert counted == texts[80:]


@pytest.mark.parametrize(
    "changed, what",
    [
        (lambda t: [t[1:41], t[40:]], "Batch 0 differs"),
        (lambda t: [t[:40]], "There are 1 batches"),
    ],
)
def test_other_batches_do_not_continue(changed, what, texts, tmp_path):
    def failing():
        yield texts[:40]
        yield texts[40:]
        raise Stop

    with pytest.raises(Stop):
        write_counts(tmp_path / "X", failing(), HASHING, shard_rows=16)
    with pytest.raises(ValueError, match=what):
        write_counts(tmp_path / "X", changed(texts), HASHING, shard_rows=16)
    other = HashingVectorizer(**HASHING.get_params() | {"lowercase": False})
    with pytest.raises(ValueError, match="vectorizer differ"):
        write_counts(tmp_path / "X", [texts], other, shard_rows=16)
    collection = write_counts(tmp_path / "X", [texts[1:]], other, overwrite=True)
    assert collection.shape[0] == len(texts) - 1


# -- folders ---------------------------------------------------------------------------


def test_folders_with_other_files_are_not_changed(X, tmp_path):
    (tmp_path / "thesis.txt").write_text("words")
    for overwrite in False, True:
        with pytest.raises(ValueError, match="holds something else .*thesis.txt"):
            write_counts(tmp_path, [X], overwrite=overwrite)
    with pytest.raises(FileExistsError, match="is a file"):
        write_counts(tmp_path / "thesis.txt", [X])
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]


def test_opening_a_folder_without_a_collection(collection, tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder"):
        open_counts(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="no collection"):
        open_counts(tmp_path / "empty")
    for opener in open_dense, open_ratings:
        with pytest.raises(ValueError, match="with open_counts"):
            opener(collection.folder)


# -- parts -----------------------------------------------------------------------------


@pytest.mark.parametrize("n_features", [40, 2**16 + 1])
def test_parts_give_rows_as_a_model_takes_them(n_features, tmp_path):
    X = rows_of()
    X = sparse.csr_array((X.data, X.indices, X.indptr), shape=(100, n_features))
    part = write_counts(tmp_path / "X", [X], shard_rows=64).parts[0]
    for rows in (
        slice(3, 9),
        slice(None),
        slice(5, 5),
        np.array([5, 2, 2, 63]),
        np.array([], dtype=int),
    ):
        block = part.rows(rows)
        assert (block != X[:64][rows]).nnz == 0 and block.dtype == np.uint8
        assert block.indices.dtype == np.int32 and block.has_canonical_format
        assert not is_mapped(block.data) and not is_mapped(block.indices)
        assert (part.take(Bare(), rows) != X[:64][rows]).nnz == 0
        units = part.units_per_row(Bare(), rows)
        assert units.tolist() == np.diff(X[:64][rows].indptr).tolist()
    with pytest.raises(IndexError):
        part.rows(np.array([64]))


def test_pickles_hold_no_data(X, collection):
    pickled = pickle.dumps(collection)
    assert len(pickled) < 200 + len(collection.folder)
    again = pickle.loads(pickled)
    assert (joined(again) != X).nnz == 0
    for part in collection.parts:
        pickled = pickle.dumps(part)
        assert len(pickled) < 200 + len(collection.folder)
        assert pickle.loads(pickled) == part
    assert len({*collection.parts, *again.parts}) == 4


@pytest.fixture
def few_open(monkeypatch):
    """At most two shards are open."""
    maps = lru_cache(maxsize=2)(_collection._maps.__wrapped__)
    monkeypatch.setattr(_collection, "_maps", maps)
    return maps


def test_few_shards_are_open(tmp_path, few_open):
    X = rows_of()
    collection = write_counts(tmp_path / "X", [X], shard_rows=10)
    for number in (*range(10), 4, 0, 9):
        assert (collection[number] != X[10 * number : 10 * number + 10]).nnz == 0
    assert few_open.cache_info().currsize == 2
    assert _collection.MOST_OPEN < 100


def test_threads_share_what_is_open(tmp_path, few_open):
    X = rows_of()
    collection = write_counts(tmp_path / "X", [X], shard_rows=10)

    def work(seed):
        for number in np.random.default_rng(seed).integers(10, size=50):
            block = collection.parts[number].rows(slice(None))
            assert (block != X[10 * number : 10 * number + 10]).nnz == 0

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


# -- dense data ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_data_are_read_as_they_were_written(dtype, tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 3)).astype(dtype)
    X[4, 1] = np.nan
    collection = write_dense(tmp_path / "X", cut(X), shard_rows=16)
    assert collection.dtype == dtype and collection.has_missing
    assert collection.nnz == 150
    assert np.isclose(collection.sum, np.nansum(X), rtol=1e-5)
    assert np.array_equal(np.concatenate(list(collection)), X, equal_nan=True)
    part = collection.parts[0]
    for rows in slice(2, 9), np.array([5, 2, 2, 15]):
        block = part.rows(rows)
        assert type(block) is np.ndarray and block.base is None
        assert np.array_equal(block, X[:16][rows], equal_nan=True)
    again = pickle.loads(pickle.dumps(collection))
    assert np.array_equal(again[1], X[16:32])


@pytest.mark.parametrize("n_features", [1, 2, 7])
@pytest.mark.parametrize("n_rows", [1, 5])
@pytest.mark.parametrize("missing", [False, True])
def test_extremes_of_dense_data(n_features, n_rows, missing, tmp_path):
    X = np.arange(n_rows * n_features).reshape(n_rows, n_features) - 2.5
    if missing:
        X[0, 0] = np.nan
    extremes = write_dense(tmp_path / "X", [X]).extremes()
    assert extremes.dtype == X.dtype and extremes.shape[1] == n_features
    assert np.isnan(extremes).any() == missing
    if not np.isnan(X).all():
        assert np.nanmin(extremes) == np.nanmin(X)
        assert np.nanmax(extremes) == np.nanmax(X)


def test_integers_become_float64_and_bad_dense_data_are_refused(tmp_path):
    assert write_dense(tmp_path / "X", [np.ones((2, 2), int)]).dtype == np.float64
    for number, (bad, what) in enumerate(
        [
            (np.array([[np.inf]]), "infinity"),
            (sparse.csr_array(np.eye(2)), "write_counts"),
            (np.array([["a"]]), "no numbers"),
        ]
    ):
        with pytest.raises(ValueError, match=what):
            write_dense(tmp_path / f"{number}", [bad])


# -- ratings ---------------------------------------------------------------------------


def triples(n=3000, seed=0):
    random = np.random.default_rng(seed)
    return [random.integers(-5, 70, n), random.integers(0, 30, n), random.random(n)]


def names_of(labels):
    return np.array([f"label {label}" for label in labels], dtype=object)


def in_batches(table, size=251):
    n = len(table[0])
    return [tuple(c[s : s + size] for c in table) for s in range(0, n, size)]


@pytest.fixture
def small_runs(monkeypatch):
    monkeypatch.setattr(_write, "BYTES_AT_ONCE", 8000)
    monkeypatch.setattr(_write, "LOOKED_AT", 8)


@pytest.mark.every(13)
@pytest.mark.parametrize("duplicates", ["first", "last", "mean"])
@pytest.mark.parametrize("kind", ["numbers", "strings"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_ratings_are_those_of_a_matrix(kind, duplicates, dtype, small_runs, tmp_path):
    users, items, ratings = triples()
    if kind == "strings":
        users, items = names_of(users), names_of(items)
    ratings = ratings.astype(dtype)
    X, user_labels, item_labels = ratings_matrix(
        users, items, ratings, duplicates=duplicates
    )
    collection = write_ratings(
        tmp_path / "X",
        in_batches([users, items, ratings]),
        duplicates=duplicates,
        shard_rows=20,
    )
    assert collection.shape == X.shape and collection.dtype == dtype
    assert len(collection) == 4
    Y = joined(collection)
    assert np.array_equal(Y.indptr, X.indptr) and np.array_equal(Y.indices, X.indices)
    assert np.array_equal(Y.data, X.data)
    assert collection.user_labels.tolist() == user_labels.tolist()
    assert collection.item_labels.tolist() == item_labels.tolist()
    assert collection.feature_names is None
    assert not list((tmp_path / "X").rglob("run-*"))


def test_ratings_of_zero_stay_and_integers_are_small(tmp_path):
    batches = [{"user": [1], "item": [7], "rating": [0]}, ([1], [5], [-3])]
    collection = write_ratings(tmp_path / "X", batches)
    assert collection.dtype == np.int8 and collection.nnz == 2
    assert collection[0].data.tolist() == [-3, 0]
    assert open_ratings(tmp_path / "X").extremes().data.tolist() == [-3, 0]


def test_duplicate_ratings_are_an_error(small_runs, tmp_path):
    users, items, ratings = triples()
    with pytest.raises(ValueError, match="duplicates='first'"):
        write_ratings(tmp_path / "X", in_batches([users, items, ratings]))
    with pytest.raises(ValueError, match="not finished"):
        open_ratings(tmp_path / "X")


def test_ratings_in_tables(tmp_path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"u": ["b", "a"], "i": [1, 2], "r": [0.5, 1]})
    X = write_ratings(tmp_path / "X", [table])
    assert X[0].toarray().tolist() == [[0, 1], [0.5, 0]]
    table.columns = ["rating", "item", "user"]
    table["extra"] = 0
    renamed = table[["extra", "user", "item", "rating"]]
    with pytest.raises(ValueError, match="Batch 0: users .* not whole"):
        write_ratings(tmp_path / "Y", [renamed])
    with pytest.raises(ValueError, match="columns extra"):
        write_ratings(tmp_path / "Z", [renamed.rename(columns={"item": "thing"})])


@pytest.mark.parametrize(
    "bad, error, what",
    [
        (([1, 2], [1], [1]), ValueError, "same length"),
        (([1], [1]), ValueError, "neither a triple"),
        (([None], [1], [1]), ValueError, "Batch 1: users has missing"),
        (([1.5], [1], [1]), ValueError, "not whole"),
        (([np.nan], [1], [1]), ValueError, "missing"),
        ((["a" * 257], [1], [1]), ValueError, "256 characters"),
        (([1, 2], np.array([1, "a"], dtype=object), [1, 1]), TypeError, "int, str"),
        ((["a"], [1], [1]), TypeError, "users that are strings"),
        (([1], [1], [np.inf]), ValueError, "Batch 1: ratings contains infinity"),
        (([1], [1], [np.nan]), ValueError, "Batch 1: ratings contains NaN"),
        (([1], [1], ["x"]), ValueError, "could not convert string to float"),
        (([2**63], [1], [1]), TypeError, "64 bits"),
    ],
)
def test_bad_ratings(bad, error, what, tmp_path):
    with pytest.raises(error, match=what):
        write_ratings(tmp_path / "X", [([1], [1], [1]), bad])
    with pytest.raises(ValueError, match="not finished"):
        open_ratings(tmp_path / "X")


def test_ratings_are_sorted_in_bounded_memory(monkeypatch, tmp_path):
    monkeypatch.setattr(_write, "BYTES_AT_ONCE", 2**18)
    monkeypatch.setattr(_write, "LOOKED_AT", 64)

    def batches(number, size=5_000):
        for seed in range(number):
            random = np.random.default_rng(seed)
            users = random.integers(0, 50_000, size)
            yield users, random.integers(0, 50, size), np.ones(size, np.uint8)

    peaks = []
    for number in 4, 12:
        folder, options = tmp_path / str(number), {"duplicates": "last"}
        options["shard_rows"] = 4096
        peaks.append(peak_of(write_ratings, folder, batches(number), **options)[0])
    assert peaks[1] < 1.3 * peaks[0]


# -- readers ---------------------------------------------------------------------------


@pytest.fixture(params=["text", "gz"])
def write(request, tmp_path):
    def write(name, text):
        data = text if isinstance(text, bytes) else text.encode()
        if request.param == "gz":
            name, data = f"{name}.gz", gzip.compress(data)
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return write


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(_lines, "BYTES_AT_ONCE", 100)


def uci_of(X):
    table = X.tocoo()
    lines = zip(table.row + 1, table.col + 1, table.data, strict=True)
    head = [f"{X.shape[0]}", f"{X.shape[1]}", f"{X.nnz}"]
    return "\n".join(head + [f"{r} {c} {v}" for r, c, v in lines]) + "\n"


def with_empty_rows(X):
    X = X.tolil()
    X[[0, 3, 4, X.shape[0] - 1]] = 0
    return X.tocsr()


def test_uci(X, write, small_pieces, tmp_path):
    X = with_empty_rows(X)
    vocab = write("vocab.txt", "".join(f"word{c}\n" for c in range(40)))
    batches = read_uci(write("docword.txt", uci_of(X)), vocab)
    assert len(list(batches)) > 5
    collection = write_counts(tmp_path / "X", batches, shard_rows=30)
    assert (joined(collection) != X).nnz == 0
    assert collection.feature_names[7] == "word7"
    vocab = write("few.txt", "one\ntwo\n")
    with pytest.raises(ValueError, match="has 2 words, but .* announces 40"):
        read_uci(write("docword.txt", uci_of(X)), vocab)


def test_files_that_are_cut_off(X, tmp_path):
    text = uci_of(X).encode()
    path = tmp_path / "docword.txt"
    path.write_bytes(text[:-30].rpartition(b"\n")[0])
    with pytest.raises(
        ValueError, match="docword.txt has .* entries, but its header announces"
    ):
        list(read_uci(path))
    path.write_bytes(gzip.compress(text)[:-30])
    with pytest.raises(ValueError, match="docword.txt is damaged or cut off"):
        list(read_uci(path))
    path.write_bytes(b"3\n4\n")
    with pytest.raises(ValueError, match="first three lines"):
        read_uci(path)
    with pytest.raises(FileNotFoundError):
        read_uci(tmp_path / "none.txt")


@pytest.mark.every(3)
@pytest.mark.parametrize("field", ["integer", "real", "pattern"])
@pytest.mark.parametrize("documents", ["rows", "columns"])
def test_matrix_market(field, documents, X, write, small_pieces, tmp_path):
    from scipy.io import mmwrite

    X = with_empty_rows(X)
    if field == "pattern":
        X.data[:] = 1
    Y = X.T.tocsc() if documents == "columns" else X
    Y = Y.astype(float) + (0.5 * (Y > 0) if field == "real" else 0)
    mmwrite(tmp_path / "plain.mtx", Y.tocoo(), field=field, comment="a comment")
    path = write("X.mtx", (tmp_path / "plain.mtx").read_bytes())
    batches = list(read_matrix_market(path, documents=documents))
    assert len(batches) > 5
    Y = Y.T if documents == "columns" else Y
    assert abs(sparse.vstack(batches) - Y).max() == 0


@pytest.mark.every(3)
@pytest.mark.parametrize("zero_based", [True, False, "auto"])
@pytest.mark.parametrize("n_features", [40, 50, None])
def test_svmlight(zero_based, n_features, X, write, small_pieces, tmp_path):
    from sklearn.datasets import dump_svmlight_file

    plain = tmp_path / "plain.svm"
    one_based = zero_based is False
    targets = np.arange(100)
    dump_svmlight_file(X, targets, str(plain), zero_based=not one_based, comment="of X")
    path = write("X.svm", plain.read_bytes())
    batches = list(read_svmlight(path, n_features=n_features, zero_based=zero_based))
    assert len(batches) > 5
    Y = sparse.vstack(batches, format="csr")
    assert Y.shape == (100, n_features or 40)
    assert abs(Y[:, :40] - X).max() == 0


def lda_c_of(X):
    rows = [X[[n]] for n in range(X.shape[0])]
    pairs = [zip(row.indices, row.data, strict=True) for row in rows]
    return "".join(
        " ".join([f"{row.nnz}", *(f"{w}:{c}" for w, c in pair)]) + "\n"
        for row, pair in zip(rows, pairs, strict=True)
    )


def test_lda_c(X, write, small_pieces):
    X = with_empty_rows(X)
    path = write("X.lda-c", lda_c_of(X))
    assert abs(sparse.vstack(list(read_lda_c(path))) - X).max() == 0
    vocab = write("vocab.txt", "".join(f"word{n}\n" for n in range(44)))
    batches = read_lda_c(path, vocab)
    assert sparse.vstack(list(batches)).shape == (100, 44)
    assert batches.feature_names[43] == "word43"


def test_gensim(X, tmp_path):
    X = with_empty_rows(X)
    rows = (X[[n]] for n in range(100))
    bags = [list(zip(r.indices.tolist(), r.data.tolist(), strict=True)) for r in rows]
    for corpus in bags, Corpus(bags, num_terms=40, id2word=None):
        assert abs(sparse.vstack(list(read_gensim(corpus))) - X).max() == 0
    words = {n: f"word{n}" for n in range(1, 42)}
    batches = read_gensim(Corpus(bags, id2word=words), batch_size=7)
    collection = write_counts(tmp_path / "X", batches)
    assert collection.feature_names[:2].tolist() == ["#0", "word1"]
    assert (joined(collection)[:, :40] != X).nnz == 0


def test_lines_of_text(texts, write, small_pieces, tmp_path):
    for name, some in (("a.txt", texts[:50]), ("b.txt", texts[50:])):
        write(name, "\n".join(some) + "\n")
    batches = read_text(tmp_path, batch_size=30)
    assert [len(batch) for batch in batches] == [30, 30, 30, 30]
    collection = write_counts(tmp_path / "X", batches, HASHING)
    assert (joined(collection) != HASHING.transform(texts)).nnz == 0
    path = write("c.txt", b"fine\n" * 60 + b"\xff\xfe\n")
    with pytest.raises(ValueError, match="c.txt.*, line 61: the text is not in UTF-8"):
        list(read_text(path))
    with pytest.raises(ValueError, match="must end in one of"):
        read_text(write("d.doc", "words"))
    with pytest.raises(FileNotFoundError):
        read_text(tmp_path / "none.txt")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="has no files"):
        read_text([tmp_path / "empty"])


def test_tables_without_pyarrow_are_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.csv").write_text("text\nwords\n")
    for read in read_text, read_triples:
        with pytest.raises(ImportError, match=r'pip install .*\[disk\]"'):
            read(tmp_path / "a.csv")


def test_texts_in_tables(pyarrow, texts, write, tmp_path):
    quoted = ['a "quoted"\nline', *texts, "NA", ""]
    table = pyarrow.table({"id": range(len(quoted)), "text": quoted})
    import pyarrow.csv
    import pyarrow.parquet

    pyarrow.csv.write_csv(table, tmp_path / "plain")
    path = write("a.csv", (tmp_path / "plain").read_bytes())
    pyarrow.parquet.write_table(table, tmp_path / "b.parquet")
    for file in path, tmp_path / "b.parquet":
        assert sum(read_text(file), []) == quoted
    both = sum(read_text([path, tmp_path / "b.parquet"], batch_size=100), [])
    assert both == quoted * 2
    with pytest.raises(ValueError, match="a.csv.* has no column body; it has id, text"):
        list(read_text(path, "body"))
    with pytest.raises(ValueError, match="b.parquet: the column id is no text"):
        list(read_text(tmp_path / "b.parquet", "id"))
    missing = pyarrow.table({"text": ["a", None]})
    pyarrow.parquet.write_table(missing, tmp_path / "c.parquet")
    with pytest.raises(ValueError, match="c.parquet, row 2: text is missing"):
        list(read_text(tmp_path / "c.parquet"))


def test_triples_in_tables(pyarrow, write, tmp_path):
    import pyarrow.parquet

    users, items, ratings = triples(500)
    ratings = np.rint(4 * ratings) / 2
    names = {"userId": users, "movieId": names_of(items), "stars": ratings}
    columns = tuple(names)
    lines = [",".join(names), *map(",".join, np.array([*names.values()]).T.astype(str))]
    table = pyarrow.table(names)
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    expected, *labels = ratings_matrix(*names.values(), duplicates="last")
    for number, path in enumerate(
        [write("a.csv", "\n".join(lines)), tmp_path / "a.parquet"]
    ):
        batches = read_triples(path, columns)
        X = write_ratings(tmp_path / f"{number}", batches, duplicates="last")
        assert X.dtype == (np.float32, np.float64)[number]
        assert (joined(X) != expected).nnz == 0
        assert X.user_labels.tolist() == labels[0].tolist()
    as_text = next(
        iter(
            read_triples(write("b.csv", "user,item,rating\n007,1,2\n"), label_type=str)
        )
    )
    assert as_text[0].tolist() == ["007"]


def test_masked_batches_are_refused(tmp_path):
    masked = np.ma.masked_array([[1.0, 2.0]], [[True, False]])
    for write in (write_counts, write_dense):
        with pytest.raises(TypeError, match="Batch 0 is a masked array"):
            write(tmp_path / write.__name__, [masked])
    labels, both = np.ma.masked_array([1, 2], [True, False]), [3, 4]
    for triple in ((labels, both, both), (both, labels, both), (both, both, labels)):
        with pytest.raises(TypeError, match="masked array"):
            write_ratings(tmp_path / "ratings", [triple])


def test_sums_of_small_counts_do_not_wrap_around(tmp_path):
    zeros = np.zeros(300, int)
    X = sparse.coo_array((np.full(300, 200, np.uint8), (zeros, zeros)), shape=(1, 2))
    assert write_counts(tmp_path, [X])[0].toarray().tolist() == [[60_000, 0]]

"""Data in parts: the same results as with one array; bits depend only on the parts."""

import functools
import operator
import pickle

import numpy as np
import pytest
from fits import SCHEDULE, PressingAt
from registry import ROWS
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer

from sktemper import (
    AnnealedBernoulliMixture,
    AnnealedGaussianMixture,
    AnnealedLDA,
    AnnealedMultinomialMixture,
    TemperedLDA,
    datasets,
)
from sktemper._engine._data import Data, InMemory, Rows, Source
from sktemper._engine._workers import tree_sum


def parts_of(X, *sizes):
    """Divide rows into parts of given sizes; the last part has all remaining rows."""
    ends = np.cumsum([0, *sizes])
    return [X[a:b] for a, b in zip(ends, [*ends[1:], X.shape[0]], strict=True)]


def state_of(estimator):
    state = estimator.state_
    history = {k: v for k, v in estimator.history_.items() if "seconds" not in k}
    return pickle.dumps((state.globals_, state.hyper, history))


# -- rows ------------------------------------------------------------------------------


def test_runs_are_rows_in_their_order():
    rows = Rows.of_parts(np.array([5, 6, 13]), 3)
    assert rows.starts.tolist() == [0, 3, 5, 6, 9, 12]
    assert rows.at(slice(None)).tolist() == list(range(13))
    some = rows.runs(np.array([3, 1, 5]))
    assert some.at(slice(None)).tolist() == [6, 7, 8, 3, 4, 12]
    assert some.at(slice(2, 5)).tolist() == [8, 3, 4]
    assert some.at(np.array([5, 0])).tolist() == [12, 6]
    assert len(some) == 6
    weight = np.zeros(13)
    weight[[4, 8]] = 1
    assert rows.counted_runs(weight).tolist() == [1, 3]
    assert rows.counted(weight).at(slice(None)).tolist() == [4, 8]
    assert some.counted(weight).at(slice(None)).tolist() == [8, 4]


def test_some_rows_are_drawn_at_random():
    rows = Rows.of_parts(np.array([5, 20]), 3)
    draws = [rows.some(5, np.random.default_rng(seed)) for seed in range(400)]
    assert all(len(drawn) == 5 and (np.diff(drawn) > 0).all() for drawn in draws)
    # each row is drawn with probability 1 / 4: 100 times, with standard deviation 8.7
    counts = np.bincount(np.concatenate(draws), minlength=20)
    np.testing.assert_allclose(counts, 100, atol=45)
    np.testing.assert_array_equal(rows.some(20, np.random.default_rng(0)), range(20))


def test_many_rows_in_runs_are_not_written_down():
    rows = Rows.of_parts(np.array([10**9, 3 * 10**9]), 2**20)
    some = rows.runs(np.random.default_rng(0).permutation(rows.n_runs))
    assert len(some) == 3 * 10**9
    assert len(some.at(slice(10**9, 10**9 + 1000))) == 1000
    assert some.some(10, np.random.default_rng(0)).max() < 3 * 10**9


@pytest.mark.parametrize("fan_in", [2, 4, 16])
def test_tree_sums_add_the_values_of_a_node_from_left_to_right(fan_in):
    for n_values in range(1, 70):
        nodes = [1.1**i for i in range(n_values)]
        found = tree_sum(iter(nodes), fan_in)
        while len(nodes) > 1:
            starts = range(0, len(nodes), fan_in)
            nodes = [
                functools.reduce(operator.add, nodes[i : i + fan_in]) for i in starts
            ]
        assert found == nodes[0]


# -- estimators ------------------------------------------------------------------------


def short(row, **parameters):
    """Return parameters of a fit of few passes and moves."""
    moves = {"moves": row.moves} if row.moves else {}
    return {"max_iter": 6, **moves, **parameters}


def test_weights_starts_and_early_stopping(documents_):
    X, parts = documents_, parts_of(documents_, 100, 10)
    weight = np.linspace(0.1, 2, X.shape[0])
    parameters = {
        "n_init": 2,
        "max_iter": 15,
        "n_iter_no_change": 2,
        "doc_update": "variational",
        "tempering": None,
        "random_state": 0,
    }
    whole = TemperedLDA(3, **parameters).fit(X, sample_weight=weight)
    lda = TemperedLDA(3, **parameters).fit(parts, sample_weight=weight)
    assert lda.n_iter_ == whole.n_iter_
    np.testing.assert_allclose(lda.components_, whole.components_, rtol=1e-4)
    bounds = [lda.lower_bound(parts, weight), whole.lower_bound(X, weight)]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-6)


def test_a_fit_of_parts_continues_where_it_was_interrupted(documents_):
    parts = parts_of(documents_, 100, 10)
    shared = {"max_iter": 4, "batch_size": 30, "random_state": 0}
    whole = AnnealedLDA(3, schedule=SCHEDULE, **shared).fit(parts)
    first = AnnealedLDA(3, schedule=PressingAt(9), warm_start=True, **shared)
    with pytest.raises(KeyboardInterrupt):
        first.fit(parts)
    assert first.n_batch_iter_ == 9
    assert state_of(first.set_params(schedule=SCHEDULE).fit(parts)) == state_of(whole)


# -- invalid input ---------------------------------------------------------------------


def test_parts_of_different_widths(documents_):
    with pytest.raises(ValueError, match="different numbers of columns: 9 and 40"):
        AnnealedLDA(3).fit([documents_, documents_[:, :9]])


def test_a_bad_part_leaves_the_estimator_as_it_was(documents_):
    lda = AnnealedLDA(3, random_state=0).fit(documents_)
    before = state_of(lda)
    bad = documents_.astype(float)
    bad.data[5] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        lda.fit([documents_, bad])
    assert state_of(lda) == before
    with pytest.raises(ValueError, match="40 features"):
        lda.score([documents_[:, :9]])
    with pytest.raises(ValueError, match="0 sample"):
        lda.fit([documents_[:0], documents_[:0]])


def test_a_list_of_rows_is_not_a_list_of_parts():
    X = [[0.0, 1.0], [2.0, 0.5], [1.0, 1.0]]
    rows = AnnealedGaussianMixture(1, max_iter=2, random_state=0).fit(X)
    same = AnnealedGaussianMixture(1, max_iter=2, random_state=0).fit(np.array(X))
    assert state_of(rows) == state_of(same)
    with pytest.raises(ValueError, match="dim 3|3 dim|2 dim"):
        AnnealedGaussianMixture(1).fit([X, X])


# -- sources ---------------------------------------------------------------------------


class Shards(Source):
    """A collection of parts, which are not accessible as whole arrays."""

    def __init__(self, parts, run):
        self.parts, self.run = parts, run

    def as_data(self, validate):
        validated = [
            sparse.csr_array([[0] * 39 + [int(part.max())]]).astype(part.dtype)
            for part in self.parts
        ]
        validated = [validate(matrix) for matrix in validated]
        return Data([Handle(part) for part in self.parts], validated, self, self.run)


class Handle(InMemory):
    """A part that raises an error when its whole array is read."""

    @property
    def X(self):
        raise AttributeError("the whole part was read")

    @X.setter
    def X(self, X):
        self._matrix = X

    n_rows = property(lambda self: self._matrix.shape[0])

    def take(self, model, rows):
        return model.take(self._matrix, rows)

    def rows(self, rows):
        return self._matrix[rows]


def test_a_source_is_never_read_at_once(documents_):
    parts = parts_of(sparse.vstack([documents_] * 9, format="csr"), 700, 40)
    lda = AnnealedLDA(3, max_iter=4, evaluate_every=1, random_state=0)
    lda.fit(Shards(parts, run=4))
    other = clone(lda).set_params(n_jobs=2)
    other.fit(Shards(parts, run=4))
    assert state_of(lda) == state_of(other)
    assert np.isfinite(lda.history_["heldout_score"]).any()
    whole = AnnealedLDA(3, max_iter=4, random_state=0).fit(parts)
    assert lda.score(parts) == pytest.approx(whole.score(parts), abs=0.1)
    np.testing.assert_array_equal(
        lda.transform(Shards(parts, run=4)), lda.transform(parts)
    )


@pytest.mark.every(11)
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_collection_on_disk_is_its_shards(row, tmp_path):
    X = row.data(120)
    write = datasets.write_dense
    if sparse.issparse(X):
        ratings = row.name == "MatrixFactorization"
        write = write_ratings_matrix if ratings else datasets.write_counts
    collection = write(tmp_path / "data", [X], shard_rows=50)
    assert len(collection) == 3
    shards = list(collection)
    for parameters in (
        short(row, batch_size=40),
        short(row, batch_size=None, n_jobs=2),
    ):
        one = row.estimator("Annealed", **parameters).fit(collection)
        two = row.estimator("Annealed", **parameters).fit(shards)
        assert state_of(one) == state_of(two)
        assert one.score(collection) == two.score(shards)
        assert one.lower_bound(collection) == two.lower_bound(shards)
    stream = row.estimator("Annealed").partial_fit(collection)
    assert state_of(stream) == state_of(row.estimator("Annealed").partial_fit(shards))


def test_words_of_a_collection_are_those_of_topics(tmp_path):
    texts = ["red apple red", "green pear", "apple pear", "red green green"] * 5
    vectorizer = CountVectorizer().fit(texts)
    counts = datasets.write_counts(tmp_path / "texts", [texts], vectorizer)
    lda = AnnealedLDA(2, random_state=0).fit(counts)
    listed = set(sum(lda.top_words(), []))
    assert listed == {"red", "green", "apple", "pear"}
    assert pickle.loads(pickle.dumps(lda)).top_words() == lda.top_words()
    # feature names are not required of later data
    lda.transform(vectorizer.transform(texts))
    assert lda.fit(vectorizer.transform(texts)).top_words()[0][0].isdigit()


def test_a_collection_is_neither_an_array_nor_indexed_by_rows(tmp_path):
    counts = datasets.write_counts(tmp_path / "counts", [np.eye(9, dtype=int)])
    for rows in (np.array([0, 1]), (0, 1), "a"):
        with pytest.raises(TypeError, match="not of a row"):
            counts[rows]
    with pytest.raises(IndexError, match="no shard 1: there are 1"):
        counts[1]
    with pytest.raises(TypeError, match="no array in memory"):
        np.asarray(counts)


def test_invalid_lists_of_parts_are_refused(documents_, tmp_path):
    frame = pytest.importorskip("pandas").DataFrame(documents_.toarray())
    counts = datasets.write_counts(tmp_path / "counts", [documents_])
    for X in ([counts], [frame, frame], (documents_,), [documents_, None]):
        with pytest.raises(TypeError, match="must be a list in which each item"):
            AnnealedLDA(2).fit(X)


def test_shards_in_groups_are_rows_in_their_order(tmp_path):
    random = np.random.default_rng(0)
    X = random.integers(0, 3, size=(50, 7))
    counts = datasets.write_counts(tmp_path / "counts", [X], shard_rows=6)
    dense = datasets.write_dense(tmp_path / "dense", [X * 1.0], shard_rows=6)
    rows = random.permutation(50)[:31]
    for collection in (counts, dense):
        for n_parts in (1, 2, 9, 20):
            opened = type(collection)(collection.folder, n_parts)
            data = opened.as_data(lambda X: X)
            assert len(data.parts) == min(n_parts, 9)
            assert pickle.loads(pickle.dumps(data.parts[0])).n_rows == (
                data.parts[0].n_rows
            )
            if n_parts == 1:
                found = data.parts[0].rows(rows)
                found = found if isinstance(found, np.ndarray) else found.toarray()
                np.testing.assert_array_equal(found, X[rows])
            ordered = data.by_part(rows)
            found = data.rows(ordered)
            found = found if isinstance(found, np.ndarray) else found.toarray()
            np.testing.assert_array_equal(found, X[ordered])
            assert data.parts[0].rows(np.arange(0)).shape == (0, 7)
    with pytest.raises(ValueError, match="n_parts must be at least 1"):
        datasets.open_counts(counts.folder, n_parts=0)


def write_ratings_matrix(folder, batches, **options):
    triples = [(X.tocoo().row, X.tocoo().col, X.tocoo().data) for X in batches]
    return datasets.write_ratings(folder, triples, **options)


def test_unsuitable_collections_are_refused_by_their_description(tmp_path):
    X = np.random.default_rng(0).random(size=(9, 3))
    X[4, 1] = np.nan
    dense = datasets.write_dense(tmp_path / "dense", [X])
    with pytest.raises(ValueError, match="NaN"):
        AnnealedMultinomialMixture(2).fit(dense)
    with pytest.raises(ValueError, match="not binary|binary|0 and 1"):
        AnnealedBernoulliMixture(2, binarize=None).fit(dense)
    counts = datasets.write_counts(tmp_path / "counts", [sparse.eye(9).tocsr() * 0.5])
    with pytest.raises(ValueError, match="whole"):
        AnnealedLDA(2, doc_update="sampled").fit(counts)
    with pytest.raises(TypeError, match="[Ss]parse"):
        AnnealedGaussianMixture(2).fit(counts)


@pytest.fixture(scope="module")
def documents_():
    random = np.random.default_rng(1)
    topics = random.dirichlet(np.full(40, 0.1), 3)
    weights = random.dirichlet(np.full(3, 0.3), 160)
    counts = [random.multinomial(30, p) for p in weights @ topics]
    return sparse.csr_array(np.array(counts))

"""Fits on a Dask cluster have the bits of fits by threads, even if workers die."""

import contextlib
import functools
import gc
import os
import pickle
import re
import shutil
import signal
import threading
import time

import numpy as np
import pytest
from breaking import BreakingBlock, BreakingSchedule, Broken
from fits import Hooks, StopAt, press_ctrl_c
from registry import ROWS
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from test_parts import parts_of

import sktemper
from sktemper import AnnealedGaussianMixture, AnnealedLDA, SVIPlusLDA
from sktemper._contract import numbers_in
from sktemper._engine._data import Data, InMemory, Source
from sktemper.datasets import open_dense, write_dense
from sktemper.moves import BirthMoves
from sktemper.renewals import Renewals
from sktemper.schedules import LinearSchedule

dask = pytest.importorskip("dask", reason="sktemper.dask needs dask")
distributed = pytest.importorskip("distributed", reason="sktemper.dask needs dask")
da = pytest.importorskip("dask.array")
skd = pytest.importorskip("sktemper.dask")
_cluster = pytest.importorskip("sktemper.dask._cluster")
_checkpoints = pytest.importorskip("sktemper.dask._checkpoints")

pytestmark = [
    # fits take a few steps
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    # connections of killed workers warn
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]


#: Deep, because worker processes import everything, which takes longer than most tests.
IN_PROCESSES = pytest.param("processes", marks=pytest.mark.deep)
in_processes = pytest.mark.parametrize("client", [IN_PROCESSES], indirect=True)


@pytest.fixture(scope="module", params=["threads", IN_PROCESSES])
def client(request):
    """A client of two workers: in threads of this process, or in slower processes."""
    options = {"processes": request.param == "processes", "threads_per_worker": 1}
    with (
        dask.config.set({"distributed.worker.daemon": True}),
        distributed.LocalCluster(2, dashboard_address=":0", **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client
    gc.collect()  # here, because buffers of connections may warn


def delayed_of(parts):
    return [dask.delayed(part) for part in parts]


def array_of(parts):
    """Return a dask array of parts with unknown numbers of rows."""
    shape = np.nan, parts[0].shape[1]
    blocks = [da.from_delayed(d, shape, meta=parts[0][:0]) for d in delayed_of(parts)]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def state_of(estimator):
    state = estimator.state_
    history = [v for k, v in sorted(estimator.history_.items()) if "seconds" not in k]
    numbers = *numbers_in((state.globals_, state.hyper)), *history
    values = map(np.asarray, numbers)
    return [(value.dtype, value.shape, value.tobytes()) for value in values]


def lda_of(**parameters):
    parameters = {"max_iter": 3, "batch_size": 60, "random_state": 0} | parameters
    return AnnealedLDA(3, **parameters)


# -- the bits of threads ---------------------------------------------------------------


@pytest.mark.every(17)
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
@pytest.mark.machine
def test_a_fit_has_the_bits_of_threads(client, row):
    X = row.data(120)
    parts = parts_of(X, 1, 50, 0, 7)
    weight = np.linspace(0.5, 2, 120)
    parameters = {"max_iter": 2, "batch_size": None, "evaluate_every": 1}
    if row.moves is not None:
        parameters["moves"] = row.moves
    threads = row.estimator("Annealed", **parameters).fit(parts, sample_weight=weight)
    cluster = row.estimator("Annealed", **parameters)
    options = {"client": client, "sample_weight": weight}
    assert skd.fit(cluster, array_of(parts), **options) is cluster
    assert state_of(cluster) == state_of(threads)
    X = client.scatter(parts)
    score = skd.score(cluster, X, client=client)
    assert score == pytest.approx(threads.score(parts), rel=1e-12)
    weighted = skd.score(cluster, X, **options)
    expected = threads.score(parts, sample_weight=weight)
    assert weighted == pytest.approx(expected, rel=1e-12) and weighted != score
    bound = skd.lower_bound(cluster, X, **options)
    assert bound == threads.lower_bound(parts, weight)


@pytest.mark.deep  # two workers have the bits of threads
def test_one_worker_and_two_do_the_same(client, documents):
    parts = delayed_of(parts_of(documents, 40, 30, 20))
    both = skd.fit(lda_of(), parts, client=client)
    address = next(iter(client.scheduler_info(n_workers=-1)["workers"]))
    pinned = [client.compute(part, workers=address) for part in parts]
    one = skd.fit(lda_of(), pinned, client=client)
    assert state_of(one) == state_of(both)


@pytest.mark.machine
def test_covariates_have_the_bits_of_threads(client, documents, tmp_path):
    parts, options = parts_of(documents, 50, 30), {"client": client}
    given = {"covariates": np.arange(documents.shape[0]) % 3}
    threads, cluster = lda_of().fit(parts, **given), lda_of()
    skd.fit(cluster, array_of(parts), **given, **options)
    assert state_of(cluster) == state_of(threads) and len(threads.cell_prior_) == 3
    skd.fit(cluster, array_of(parts), **given, **options, checkpoint=tmp_path)
    assert state_of(cluster) == state_of(threads)
    skd.partial_fit(cluster, array_of(parts), **given, **options)
    assert state_of(cluster) == state_of(threads.partial_fit(parts, **given))
    mixture = AnnealedGaussianMixture(2)
    for call in (skd.fit, skd.partial_fit):
        with pytest.raises(TypeError, match="GaussianMixture has no covariates"):
            call(mixture, array_of(parts), **given, **options)
    mixture.fit(np.random.default_rng(0).normal(size=documents.shape))
    for call in (skd.transform, skd.score, skd.lower_bound):
        with pytest.raises(TypeError, match="GaussianMixture has no covariates"):
            call(mixture, array_of(parts), **given, **options)


@pytest.mark.parametrize("kind", ["array", "pandas", "polars"])
def test_predictions_with_covariates(client, documents, kind):
    cells = lda_of().fit_transform(documents).argmax(axis=1) == 0
    if kind != "array":
        cells = pytest.importorskip(kind).DataFrame({"cell": cells})
    given, options = {"covariates": cells}, {"client": client}
    lda = lda_of(max_iter=6).fit(documents, **given)
    assert np.ptp(lda.cell_prior_, axis=0).max() > 0  # predictions depend on cells
    X, parts = da.from_array(documents.toarray(), (50, 60)), parts_of(documents, 0, 50)
    for name, more in ("transform", options), ("score_samples", {}):
        expected = getattr(lda, name)(documents, **given)
        lazy = getattr(skd, name)(lda, X, **given, **more)
        found = lazy.compute(scheduler=client)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    for name in ("score", "lower_bound"):
        expected = getattr(lda, name)(documents, **given)
        assert expected != getattr(lda, name)(documents)
        found = getattr(skd, name)(lda, array_of(parts), **given, **options)
        assert found == pytest.approx(expected, rel=1e-6)
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        skd.transform(lda, array_of(parts), **given)
    with pytest.raises(ValueError, match="covariates has 120 rows, but X has 60"):
        skd.transform(lda, X[:60], **given)


@pytest.mark.machine
def test_streams_with_a_half_life_have_the_bits_of_threads(client, documents):
    renewals = Renewals(memory=100, wait=30, trial=60)
    X = sparse.vstack([documents] * 4, "csr")
    times = np.datetime64("2024-01-01") + np.arange(X.shape[0]) // 100
    models = [
        lda_of(batch_size=180, half_life="2D", renewals=renewals) for _ in range(2)
    ]
    for start in range(0, X.shape[0], 240):
        rows = slice(start, start + 240)
        parts, own = parts_of(X[rows], 100, 0, 60), times[rows]
        models[0].partial_fit(parts, times=own)
        skd.partial_fit(models[1], array_of(parts), client=client, times=own)
    assert state_of(models[1]) == state_of(models[0])
    threads, cluster = (model.renewals_ for model in models)
    assert len(threads["sample"]) > 0
    for name, values in threads.items():
        np.testing.assert_array_equal(values, cluster[name])


@pytest.mark.machine
def test_starts_and_early_stopping_have_the_bits_of_threads(client, documents):
    parts = parts_of(documents, 70, 10)
    parameters = {
        "n_init": 2,
        "n_iter_no_change": 1,
        "schedule": LinearSchedule(1.0, 2),
        "doc_update": "variational",
    }
    threads = lda_of(**parameters).fit(parts)
    cluster = skd.fit(lda_of(**parameters), array_of(parts), client=client)
    assert state_of(cluster) == state_of(threads)


@pytest.mark.every(17)
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_validation_data_on_the_cluster_and_in_memory(client, row):
    X, X_val = row.data(120)[:90], parts_of(row.data(120)[90:], 10, 7)
    parameters = {"max_iter": 2, "batch_size": 45, "n_iter_no_change": 1}
    if row.has_policies:
        parameters["tempering"] = None
    threads = row.estimator(**parameters).fit(X, X_val=X_val)
    for other in (array_of(X_val), client.scatter(X_val), X_val):
        cluster = row.estimator(**parameters)
        skd.fit(cluster, delayed_of([X]), client=client, X_val=other)
        assert state_of(cluster) == state_of(threads)
    with pytest.raises(ValueError, match="X_val cannot be scored"):
        skd.fit(cluster, delayed_of([X]), client=client, X_val=array_of([X_val[0].T]))


def shards_of(X, folder, *sizes):
    """Return parts of dense data on disk; their classes are local, as in notebooks."""

    class Shard:
        def __init__(self, path, n_rows):
            self.path, self.n_rows = path, n_rows

        def rows(self, rows):
            return np.load(self.path)[rows]

        def take(self, model, rows):
            return model.take(self.rows(rows), slice(None))

    class Shards(Source):
        def as_data(self, validate):
            validated = [validate(part.rows(slice(None))) for part in self.parts]
            return Data(self.parts, validated, self, run=4)

    shards = Shards()
    shards.parts = []
    for number, part in enumerate(parts_of(X, *sizes)):
        np.save(folder / f"{number}.npy", part)
        shards.parts.append(Shard(folder / f"{number}.npy", len(part)))
    return shards


def test_workers_open_collections_on_disk(client, tmp_path):
    X = np.random.default_rng(0).normal(size=(120, 3)) + np.arange(120)[:, None] % 3
    shards = shards_of(X, tmp_path, 50, 30)
    mixture = AnnealedGaussianMixture(3, batch_size=30, max_iter=2, random_state=0)
    mixture.set_params(covariance_type="full", moves=BirthMoves(1, n_iter=2))
    threads = clone(mixture).fit(shards)
    skd.fit(mixture, shards, client=client)
    assert state_of(mixture) == state_of(threads)
    assert skd.score(mixture, shards, client=client) == pytest.approx(threads.score(X))
    np.testing.assert_array_equal(mixture.labels_, threads.labels_)
    lazy = skd.transform(mixture, shards)
    assert lazy.chunks[0] == (50, 30, 40)
    np.testing.assert_array_equal(lazy.compute(), threads.transform(X))
    with pytest.raises(TypeError, match="not on disk"):
        skd.fit(mixture, in_memory(X), client=client)
    # without moves, sorting the sticks of components changes the weights
    symmetric = {"weight_concentration_prior_type": "dirichlet_distribution"}
    scored = clone(mixture).set_params(moves=None, **symmetric)
    skd.fit(scored, delayed_of([X]), client=client, X_val=shards)
    last = scored.history_["heldout_score"][-1]
    assert last == pytest.approx(skd.score(scored, shards, client=client), rel=1e-9)


@in_processes  # each process has its own record of checked shards
def test_workers_check_the_shards_that_they_open(client, tmp_path):
    def numbers_of_checked(folder):  # local, because workers cannot import this module
        from sktemper.datasets import _collection

        parts = list(_collection._checked)
        return sorted(part.number for part in parts if part.folder == folder)

    X = np.random.default_rng(0).normal(size=(800, 3))
    collection = write_dense(tmp_path / "X", [X], shard_rows=100)
    folder = collection.folder
    mixture = AnnealedGaussianMixture(2, batch_size=300, max_iter=2, random_state=0)
    expected = state_of(clone(mixture).fit(collection))
    copy = shutil.copytree(folder, tmp_path / "copy")
    collection = open_dense(copy)
    skd.fit(mixture, collection, client=client)
    assert state_of(mixture) == expected
    assert numbers_of_checked(collection.folder) == []  # this process reads no shards
    found = client.run(numbers_of_checked, collection.folder).values()
    assert sorted({number for numbers in found for number in numbers}) == [*range(8)]
    path = copy / "generation-00001" / "shard-00005.data.npy"
    values = np.load(path)
    values[3, 1] += 1
    np.save(path, values)
    for use in (
        lambda: skd.fit(clone(mixture), collection, client=client),
        lambda: skd.score(mixture, collection, client=client),
    ):
        with pytest.raises(ValueError, match=re.escape(str(path))):
            use()


def in_memory(X):
    class Memory(Source):
        def as_data(self, validate):
            return Data([InMemory(X)], [validate(X)], self)

    return Memory()


# -- lazy ------------------------------------------------------------------------------


@pytest.mark.every(17)
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_lazy_answers_have_the_right_meta(client, row):
    X = row.data(120)
    fitted = row.estimator("Annealed", max_iter=1, n_jobs=2).fit(X)
    parts = parts_of(X, 0, 50)
    for name in ("transform", "predict", "predict_proba", "score_samples"):
        if not hasattr(fitted, name):
            with pytest.raises(AttributeError, match=name):
                getattr(skd, name)(fitted, array_of(parts))
            continue
        expected = getattr(fitted, name)(X)
        lazy = getattr(skd, name)(fitted, array_of(parts))
        assert lazy.ndim == expected.ndim
        assert (lazy.dtype, lazy._meta.dtype) == (expected.dtype, expected.dtype)
        assert lazy.shape[1:] == expected.shape[1:]
        np.testing.assert_array_equal(lazy.compute(), expected)


def test_the_estimator_is_in_the_graph_once(documents):
    lda = lda_of().fit(documents)
    X = array_of(parts_of(documents, *[10] * 11))
    graph = dict(skd.transform(lda, X).__dask_graph__())
    holding = [key for key in graph if str(key).startswith("fitted")]
    assert len(holding) == 1
    embedded = [task for task in graph.values() if isinstance(task, AnnealedLDA)]
    embedded += [
        task.value
        for task in graph.values()
        if isinstance(getattr(task, "value", None), AnnealedLDA)
    ]
    assert len(embedded) == 1


def test_a_client_gets_the_estimator_and_not_the_graph(client, documents):
    lda = lda_of().fit(documents)
    X = array_of(parts_of(documents, 60, 60))
    for name in ("transform", "score_samples"):
        expected = getattr(lda, name)(documents)
        lazy = getattr(skd, name)(lda, X, client=client)
        graph = dict(lazy.__dask_graph__())
        assert not any(isinstance(task, AnnealedLDA) for task in graph.values())
        found = client.gather(client.compute(lazy))
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(TypeError, match="client must be a distributed.Client"):
        skd.transform(lda, X, client="tcp://")


def test_sizes_of_chunks_are_kept(documents):
    lda = lda_of().fit(documents)
    X = da.from_array(documents.toarray(), chunks=(50, 60))
    assert skd.transform(lda, X).chunks == ((50, 50, 20), (3,))
    assert skd.score_samples(lda, X).chunks == ((50, 50, 20),)
    with pytest.raises(ValueError, match="59 features.*60 features"):
        skd.transform(lda, X[:, :59])


def test_counts_of_text(client, texts):
    hashing = HashingVectorizer(n_features=2**7, alternate_sign=False, norm=None)
    bag = pytest.importorskip("dask.bag").from_sequence(texts, npartitions=3)
    X = skd.counts(bag, hashing)
    assert sparse.issparse(X._meta) and X._meta.format == "csr"
    assert X._meta.dtype == X.dtype == np.float64
    block = X.blocks[1].compute()
    assert sparse.issparse(block) and block.format == "csr"
    skd.fit(lda_of(max_iter=1), X, client=client)
    with pytest.raises(Exception, match="not fitted|vocabulary"):
        skd.counts(bag, CountVectorizer())
    with pytest.raises(TypeError, match="Series or Bag"):
        skd.counts(texts, hashing)


def test_counts_of_a_series(client, texts):
    frames = pytest.importorskip("dask.dataframe", exc_type=ImportError)
    pandas = pytest.importorskip("pandas")
    series = frames.from_pandas(pandas.Series(texts), npartitions=2)
    counter = CountVectorizer().fit(texts)
    X = skd.counts(series, counter)
    whole = sparse.vstack([block.compute() for block in X.blocks])
    assert (whole != counter.transform(texts)).nnz == 0


# -- faults ----------------------------------------------------------------------------


class Killing(Hooks):
    """Callback that kills a worker at the end of each of the first passes."""

    def __init__(self, client, n_kills):
        self.client, self.n_kills, self.killed = client, n_kills, []

    def at_pass(self, estimator, fitted_estimator):
        if len(self.killed) < self.n_kills:
            pids = self.client.run(os.getpid)
            self.killed.append(next(iter(pids.values())))
            timer = threading.Timer(0.05, os.kill, (self.killed[-1], signal.SIGKILL))
            timer.start()


@in_processes
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9")
@pytest.mark.machine
def test_killed_workers_change_no_bits(client, documents):
    parts = parts_of(documents, 40, 30, 20)
    parameters = {"max_iter": 6, "batch_size": 20}
    threads = lda_of(**parameters).fit(parts)
    killing = Killing(client, 2)
    cluster = lda_of(**parameters).set_callbacks(killing)
    skd.fit(cluster, array_of(parts), client=client)
    assert len(set(killing.killed)) == 2
    assert state_of(cluster) == state_of(threads)
    client.wait_for_workers(1, timeout=60)  # the second worker may take longer


def test_a_users_error_comes_back_as_itself(client, documents):
    parts = parts_of(documents, 40, 30)
    lda = lda_of(schedule=BreakingSchedule(2.0, 8), batch_size=20)
    begin = time.monotonic()
    with pytest.raises(Broken, match="at 3"):
        skd.fit(lda, array_of(parts), client=client)
    assert lda.n_batch_iter_ == 3
    lda = lda_of()
    with pytest.raises(Broken, match="no such file"):
        broken = [*delayed_of(parts), dask.delayed(BreakingBlock())()]
        skd.fit(lda, broken, client=client)
    assert not hasattr(lda, "state_")
    assert time.monotonic() - begin < 60


def test_bad_blocks_are_refused_as_by_threads(client, documents):
    bad = documents.astype(float)
    bad.data[5] = np.nan
    lda = lda_of().fit(documents)
    before = state_of(lda)
    with pytest.raises(ValueError, match="NaN"):
        skd.fit(lda, array_of([documents, bad]), client=client)
    assert state_of(lda) == before
    with pytest.raises(ValueError, match="different numbers of columns: 9 and 60"):
        skd.fit(lda, delayed_of([documents, documents[:, :9]]), client=client)
    with pytest.raises(ValueError, match="60 features"):
        skd.score(lda, delayed_of([documents[:, :9]]), client=client)
    with pytest.raises(ValueError, match="0 sample"):
        skd.fit(lda, delayed_of([documents[:0], documents[:0]]), client=client)
    dense = da.from_array(documents.toarray(), chunks=(50, 30))
    with pytest.raises(ValueError, match="rechunk"):
        skd.fit(lda, dense, client=client)
    with pytest.raises(TypeError, match="estimator.fit"):
        skd.fit(lda, documents, client=client)
    with pytest.raises(TypeError, match="estimator must be"):
        skd.fit(CountVectorizer(), dense, client=client)
    with pytest.raises(ValueError, match="every"):
        skd.fit(lda, dense, client=client, every=3)
    with pytest.raises(ValueError, match="no Dask client"):
        skd.fit(lda, dense)
    with pytest.raises(TypeError, match="client must be"):
        skd.fit(lda, dense, client="tcp://scheduler:8786")


def test_the_last_checkpoint_continues_to_the_same_bits(client, monkeypatch, tmp_path):
    """A kill between the last step and the final file adds no passes to the plan."""
    data = ROWS["MultinomialMixture"].data(120)[:24]
    Checkpoints, FINISHED = _checkpoints.Checkpoints, _checkpoints.FINISHED
    parts, write = [data[:10], data[10:]], Checkpoints._write

    def write_unfinished(self, name):
        if name == FINISHED:
            raise KeyboardInterrupt
        write(self, name)

    new = functools.partial(sktemper.AnnealedMultinomialMixture, 3, max_iter=2)
    known = new(random_state=0).fit(parts)
    options = {"client": client, "checkpoint": tmp_path, "every": 1}
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Checkpoints, "_write", write_unfinished)
        skd.fit(new(random_state=0), delayed_of(parts), **options)
    found = skd.fit(new(random_state=0), delayed_of(parts), **options)
    assert found.n_iter_ == known.n_iter_ == 2
    np.testing.assert_array_equal(found.transform(data), known.transform(data))


def test_a_checkpoint_that_cannot_be(client, documents, tmp_path):
    parts = parts_of(documents, 40)
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError, match="is a file, not a folder"):
        skd.fit(lda_of(), array_of(parts), client=client, checkpoint=tmp_path / "file")
    folder = tmp_path / "folder"
    skd.fit(lda_of(), array_of(parts), client=client, checkpoint=folder)
    narrow = array_of(parts_of(documents[:, :9], 40))
    with pytest.raises(ValueError, match="X has 9 features"):
        skd.fit(lda_of(), narrow, client=client, checkpoint=folder)
    (folder / "estimator.pkl").write_bytes(b"garbage")
    with pytest.raises(ValueError, match="estimator.pkl is damaged"):
        skd.fit(lda_of(), array_of(parts), client=client, checkpoint=folder)
    with pytest.raises(TypeError, match="a list of delayed matrices"):
        skd.fit(lda_of(), dask.delayed(documents), client=client)


@pytest.mark.every(5)
@pytest.mark.parametrize("method", ["fit", "partial_fit", "transform", "score"])
def test_methods_name_the_functions(documents, method):
    lda = lda_of().fit(documents)
    for X in (array_of([documents]), delayed_of([documents])):
        with pytest.raises(TypeError, match=rf"sktemper\.dask.*\b{method}"):
            getattr(lda, method)(X)


def test_ctrl_c_leaves_cluster_and_estimator_usable(client):
    random = np.random.default_rng(0)
    X = random.normal(size=(2_000, 10))
    parameters = {"max_iter": 2000, "tol": 0.0, "batch_size": None, "moves": None}
    mixture = AnnealedGaussianMixture(8, random_state=0, **parameters)
    ended = threading.Event()

    def press():
        while not hasattr(mixture, "state_"):
            time.sleep(0.02)
        # again, because Python ignores Ctrl-C in destructors, such as Dask's
        while True:
            press_ctrl_c()
            if ended.wait(10.0):
                return

    thread = threading.Thread(target=press, daemon=True)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        try:
            skd.fit(mixture, delayed_of(parts_of(X, 1_000)), client=client)
        finally:
            ended.set()
    thread.join()
    end = time.monotonic() + 60.0
    while any(client.processing().values()):
        assert time.monotonic() < end
        time.sleep(0.02)
    again = clone(mixture).set_params(max_iter=2)
    skd.fit(again, delayed_of(parts_of(X, 1_000)), client=client)
    assert again.n_iter_ == 2


# -- checkpoints -----------------------------------------------------------------------


@pytest.mark.machine
def test_a_checkpoint_continues_with_the_same_bits(client, documents, tmp_path):
    parts = array_of(parts_of(documents, 40, 30))
    lda = SVIPlusLDA(3, max_iter=3, batch_size=70, random_state=0)
    whole = skd.fit(clone(lda), parts, client=client)
    folder = tmp_path / "checkpoint"
    options = {"client": client, "checkpoint": folder, "every": 2}
    with pytest.raises(Broken):
        skd.fit(clone(lda).set_callbacks(StopAt(2, Broken)), parts, **options)
    with open(folder / "unfinished.pkl", "rb") as file:
        assert 0 < pickle.load(file).n_batch_iter_ < whole.n_batch_iter_
    with pytest.raises(ValueError, match="another fit: batch_size"):
        skd.fit(clone(lda).set_params(batch_size=20), parts, **options)
    resumed = skd.fit(clone(lda).set_params(n_jobs=2), parts, **options)
    assert state_of(resumed) == state_of(whole)
    assert sorted(path.name for path in folder.iterdir()) == ["estimator.pkl"]
    assert state_of(skd.fit(clone(lda), parts, **options)) == state_of(whole)
    # with validation data, which the second call must pass again
    options |= {"checkpoint": tmp_path / "validated", "X_val": documents[:20]}
    with pytest.raises(Broken):
        skd.fit(clone(lda).set_callbacks(StopAt(2, Broken)), parts, **options)
    resumed = skd.fit(clone(lda), parts, **options)
    assert np.isfinite(resumed.history_["heldout_score"]).sum() == 3
    assert state_of(resumed)[:1] == state_of(whole)[:1]
    with pytest.raises(ValueError, match="n_init=2"):
        skd.fit(lda_of(n_init=2), parts, **options)
    with pytest.raises(ValueError, match="every must be"):
        skd.fit(lda, parts, client=client, checkpoint=folder, every=0)


@pytest.mark.parametrize("name", ["unfinished.pkl", "estimator.pkl"])
def test_a_damaged_checkpoint_is_refused(client, documents, tmp_path, name):
    parts = array_of(parts_of(documents, 40))
    options = {"client": client, "checkpoint": tmp_path, "every": 1}
    n_passes = 1 if name == "unfinished.pkl" else 99
    stopping = lda_of().set_callbacks(StopAt(n_passes, Broken))
    with contextlib.suppress(Broken):
        skd.fit(stopping, parts, **options)
    path = tmp_path / name
    intact = path.read_bytes()
    random = np.random.default_rng(0)
    damaged = [intact[:end] for end in (0, 64, len(intact) - 1)]
    for place in random.integers(8 * len(intact), size=2).tolist():
        changed = bytearray(intact)
        changed[place // 8] ^= 1 << place % 8
        damaged.append(bytes(changed))
    for content in damaged:
        path.write_bytes(content)
        lda = lda_of()
        with pytest.raises(ValueError, match=f"{name} is damaged.*Delete it"):
            skd.fit(lda, parts, **options)
        assert not hasattr(lda, "state_")
    path.write_bytes(intact)
    continued = state_of(skd.fit(lda_of(), parts, **options))
    shutil.rmtree(tmp_path)
    assert state_of(skd.fit(lda_of(), parts, **options)) == continued


# -- versions --------------------------------------------------------------------------


@in_processes  # each process imports the package itself
def test_workers_of_another_version_are_reported(client, documents):
    parts, here = array_of(parts_of(documents, 60)), sktemper.__version__
    first, *_ = sorted(client.nthreads())
    set_version = "import sktemper; sktemper.__version__ = {!r}"
    client.run(exec, set_version.format("0.0.9"), workers=[first])
    try:
        message = f"has sktemper {here}, but 1 of 2 workers have .*{first} has 0.0.9"
        with pytest.warns(UserWarning, match=message) as warned:
            skd.fit(lda_of(), parts, client=client)
        assert warned[0].filename == __file__
        with pytest.warns(UserWarning, match=message):
            skd.score(lda_of().fit(documents), parts, client=client)
    finally:
        client.run(exec, set_version.format(here))
    skd.fit(lda_of(), parts, client=client)


def test_workers_without_the_package_are_reported(client, monkeypatch):
    answers = {"tcp://a": ModuleNotFoundError("sktemper"), "tcp://b": OSError("lost")}
    monkeypatch.setattr(client, "run", lambda *arguments, **options: answers)
    with pytest.warns(UserWarning, match="1 of 2 .*tcp://a has none that can be"):
        _cluster.client_of(client)

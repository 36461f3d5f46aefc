"""Threads that share one block: `run_shared`, and the sections of a block of LDA."""

import threading

import numpy as np
import pytest
from scipy import sparse

from sktemper import AnnealedLDA
from sktemper._utils._tasks import Pool, Task, run_shared
from sktemper.lda._model import LDAModel
from sktemper.lda._topics import Topics
from sktemper.model import Powers, Request

N_DOCUMENTS, N_WORDS, N_TOPICS = 120, 400, 24


def documents(seed=0):
    """Return documents with enough entries for several sections of a block."""
    random = np.random.default_rng(seed)
    X = random.poisson(random.gamma(0.3, 1.0, size=(N_DOCUMENTS, N_WORDS)))
    X[::7, 3] = 40  # words with many tokens in a document are added differently
    X[5], X[-1] = 0, 0
    return sparse.csr_array(X.astype(float))


def local_step(X, dtype, doc_update, want=("statistics", "bound", "local")):
    prior = np.full((1, N_WORDS), 0.1)
    alpha = np.linspace(0.1, 0.4, N_TOPICS)
    model = LDAModel(
        N_TOPICS, N_WORDS, alpha, prior, dtype=dtype, doc_update=doc_update
    )
    topic_word = np.random.default_rng(1).gamma(0.2, size=(N_WORDS, N_TOPICS)) + 0.1
    prepared = model.prepare(Topics.from_dense(topic_word, prior.T), alpha)
    block = model.take(X, slice(0, X.shape[0]))
    return model.local_step(block, prepared, Request(Powers(), seed=3, want=want))


@pytest.mark.parametrize("doc_update", ["variational", "sampled"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sections_do_not_change_the_results_of_documents(dtype, doc_update):
    X, few = documents(), 20
    whole = local_step(X, dtype, doc_update)
    parts = [  # each has one section
        local_step(X[i : i + few], dtype, doc_update)
        for i in range(0, N_DOCUMENTS, few)
    ]
    part = parts[0]
    np.testing.assert_array_equal(whole.local_parameters[:few], part.local_parameters)
    np.testing.assert_array_equal(whole.row_bounds[:few], part.row_bounds)
    sums = whole.statistics.dense()
    np.testing.assert_allclose(sums.sum(axis=1), X.sum(axis=0), rtol=1e-5)
    if doc_update == "variational":
        sums_of_parts = sum(step.statistics.dense() for step in parts)
        tol = {"rtol": 1e-10, "atol": 1e-12} if dtype == np.float64 else {"rtol": 1e-4}
        np.testing.assert_allclose(sums, sums_of_parts, **tol)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("doc_update", ["variational", "sampled", "auto"])
def test_threads_that_share_sections_give_the_same_bits(doc_update):
    X = documents()
    fits = [
        AnnealedLDA(
            N_TOPICS,
            doc_update=doc_update,
            batch_size=N_DOCUMENTS,
            max_iter=4,
            n_jobs=n_jobs,
            random_state=0,
        ).fit(X)
        for n_jobs in (1, 2, 3)
    ]
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0].components_, other.components_)
        bounds = [fit.history_["batch_bound"] for fit in (fits[0], other)]
        np.testing.assert_array_equal(*bounds)


def shared_by(pool):
    """Return the threads that ran functions in turn with a second thread."""
    both = threading.Barrier(2, timeout=20)

    def function(number):
        both.wait()
        return number, threading.get_ident()

    return run_shared([lambda number=number: function(number) for number in range(2)])


def test_threads_of_a_pool_help_each_other():
    pool = Pool(2)
    try:
        task = Task(lambda: shared_by(pool))
        pool.submit(task)
        results = task.result()
        assert [number for number, _ in results] == [0, 1]
        assert len({thread for _, thread in results}) == 2
    finally:
        pool.shutdown()


def test_a_pool_helps_a_caller_which_only_waits():
    pool = Pool(2)
    try:
        with pool.helping():
            threads = {thread for _, thread in shared_by(pool)}
        assert len(threads) == 2
        assert threading.get_ident() not in threads
        # afterwards the caller is alone
        assert run_shared([threading.get_ident] * 3) == [threading.get_ident()] * 3
    finally:
        pool.shutdown()


def test_an_error_of_a_shared_function_is_raised():
    def fail():
        raise ZeroDivisionError

    pool = Pool(2)
    try:
        with pool.helping(), pytest.raises(ZeroDivisionError):
            run_shared([fail, int, fail, int])
        with pytest.raises(ZeroDivisionError):
            run_shared([int, fail])
    finally:
        pool.shutdown()

"""Short documents of LDA, of which the kernel optimizes several in parallel (lanes)."""

import numpy as np
import oracles
import pytest
from scipy import sparse

from sktemper.lda._model import LDAModel, Topics
from sktemper.model import Powers, Request

N, V = 150, 400
POWERS = {
    "plain": Powers(),
    "a temperature": Powers(1.0, 0.7, 0.6),
    "a temperature a document": Powers(1.0, 1.0, np.linspace(0.3, 1.0, N)),
}


def problem(k, dtype, tol=1e-3, max_iter=100, drop_tol=0.0, seed=0):
    """Return documents of 0 to 300 words, a model, and very different topics."""
    random = np.random.default_rng(seed)
    lengths = np.minimum(random.geometric(0.03, N) - 1, 300)
    lengths[:4] = 0, 1, 300, 299
    X = np.zeros((N, V))
    for row, length in zip(X, lengths, strict=True):
        row[random.choice(V, length, replace=False)] = random.geometric(0.6, length)
    alpha = random.uniform(0.05, 0.2, k)
    model = LDAModel(
        k,
        V,
        alpha,
        np.atleast_2d(0.1),
        dtype=dtype,
        tol=tol,
        max_iter=max_iter,
        drop_tol=drop_tol,
    )
    topics = random.gamma(0.1, 10, (V, k)) + 0.1
    return X, model, Topics.from_dense(topics, model.topic_word_prior.T)


def local(model, X, topics, powers, rows=slice(None)):
    """Return gamma, bounds and the numbers of iterations of some rows."""
    prepared = model.prepare(topics, model.initial_hyper(None))
    block = model.take(sparse.csr_array(X), rows)
    if np.ndim(powers.local):
        powers = powers._replace(local=powers.local[rows])
    step = model.local_step(
        block, prepared, Request(powers, want=("statistics", "bound", "local"))
    )
    return step.local_parameters, step.row_bounds, step.n_iterations


@pytest.mark.every(31)
@pytest.mark.parametrize("k", [1, 3, 4, 18, 50])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", POWERS)
def test_a_document_is_the_same_in_any_lane(name, dtype, k):
    """A document is optimized together with others (lanes), whatever these are."""
    X, model, topics = problem(k, dtype, drop_tol=1e-4)
    powers = POWERS[name]
    gamma, bounds, iterations = local(model, X, topics, powers)
    order = np.random.default_rng(1).permutation(N)
    for rows in (order, order[:7], order[7:], np.arange(N)[::-1]):
        some, of_some, _ = local(model, X, topics, powers, rows)
        np.testing.assert_array_equal(some, gamma[rows])
        np.testing.assert_array_equal(of_some, bounds[rows])
    alone = [local(model, X, topics, powers, np.array([i])) for i in range(N)]
    np.testing.assert_array_equal(np.concatenate([a for a, *_ in alone]), gamma)
    assert sum(n for *_, n in alone) == iterations


@pytest.mark.every(5)
@pytest.mark.parametrize("k", [1, 3, 18, 50])
@pytest.mark.parametrize("name", POWERS)
def test_documents_of_all_lengths_are_those_of_the_reference(name, k):
    """The numbers of iterations agree too; some documents reach the maximum."""
    X, model, topics = problem(k, np.float64, max_iter=20)
    powers = POWERS[name]
    prepared = model.prepare(topics, model.initial_hyper(None))
    block = model.take(sparse.csr_array(X), slice(None))
    want = ("statistics", "bound", "local")
    step = model.local_step(block, prepared, Request(powers, want=want))
    gamma, sums, bounds, iterations = oracles.lda_local_step(
        X,
        topics.dense(),
        model.doc_topic_prior,
        **powers._asdict(),
        tol=1e-3,
        max_iter=20,
    )
    np.testing.assert_allclose(step.local_parameters, gamma, rtol=1e-9)
    np.testing.assert_allclose(step.statistics.dense(), sums, rtol=1e-8, atol=1e-12)
    # terms of the bound of an empty document cancel
    np.testing.assert_allclose(step.row_bounds, bounds, rtol=1e-10, atol=1e-11)
    assert step.n_iterations == iterations


@pytest.mark.parametrize("name", POWERS)
def test_short_documents_in_float32_are_those_in_float64(name):
    found = [
        local(model, X, topics, POWERS[name])
        for X, model, topics in (problem(18, t, tol=1e-5) for t in (np.float32, float))
    ]
    (single, of_single, _), (double, of_double, _) = found
    np.testing.assert_allclose(single, double, rtol=2e-3, atol=2e-4)
    np.testing.assert_allclose(of_single, of_double, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.machine
def test_a_document_whose_mass_underflows_leaves_its_neighbours_alone(dtype):
    """In each fifth document, a word has only a topic that the document lacks."""
    n, alpha, eta = 60, np.full(3, 2e-3), np.full((1, 1), 1e-3)
    model = LDAModel(3, 4, alpha, eta, dtype=dtype, tol=0.0, max_iter=30)
    topic_word = np.full((4, 3), 1e-3)
    topic_word[0, 0] = topic_word[1, 1] = topic_word[2, 2] = topic_word[3, 1] = 50.0
    topics = Topics.from_dense(topic_word, eta.T)
    X = np.random.default_rng(0).integers(1, 5, (n, 4)).astype(float)
    X[:, 0] = 0
    X[::5, 0], X[::5, 2] = 1e-12, 0
    others = np.flatnonzero(X[:, 0] == 0)
    gamma, bounds, _ = local(model, X, topics, Powers())
    expected, _, of_expected, _ = oracles.lda_local_step(
        X, topic_word, alpha, prior=1, statistics=1, local=1, tol=0.0, max_iter=30
    )
    rtol = 1e-4 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(gamma, expected, rtol=rtol)
    np.testing.assert_allclose(bounds, of_expected, rtol=rtol, atol=1e-4 * rtol)
    without, of_without, _ = local(model, X, topics, Powers(), others)
    np.testing.assert_array_equal(gamma[others], without)
    np.testing.assert_array_equal(bounds[others], of_without)

"""The model of latent Dirichlet allocation: kernel, step, objective, gradient."""

import contextlib
import platform

import numpy as np
import oracles
import pytest
from scipy import sparse

from sktemper.lda._model import LDAModel, Topics, WordStatistics
from sktemper.model import Powers, Request, Stopped

POWERS = {
    "plain": Powers(),
    "local_step": Powers(1.0, 1.0, 0.4),
    "likelihood": Powers(1.0, 0.4, 0.4),
    "posterior": Powers(0.4, 0.4, 0.4),
}
K, V, N = 5, 23, 17


def problem(seed=0, dtype=np.float64, n=N, v=V, k=K, alpha=0.2, eta=0.1, **settings):
    random = np.random.default_rng(seed)
    X = random.poisson(0.8, (n, v))
    model = LDAModel(
        k,
        v,
        random.uniform(0.5, 1.5, k) * alpha,
        np.atleast_2d(random.uniform(0.5, 1.5, (k, v)) * eta),
        dtype=dtype,
        **{"tol": 1e-12, "max_iter": 2000, **settings},
    )
    topic_word = random.gamma(1.0, 1.0, (v, k)) + 0.05
    return X, model, Topics.from_dense(topic_word, model.topic_word_prior.T)


def local(model, X, topics, powers, **arguments):
    prepared = model.prepare(topics, model.initial_hyper(None))
    block = model.take(sparse.csr_array(X), slice(None))
    want = ("statistics", "bound", "local")
    return model.local_step(block, prepared, Request(powers, want=want, **arguments))


def assert_is_reference(step, model, X, topics, powers, rtol, atol=None, of_sums=None):
    """Assert that a local step is that of the reference; return its iterations."""
    gamma, sums, bounds, n_iterations = oracles.lda_local_step(
        X,
        topics.dense(),
        model.doc_topic_prior,
        **powers._asdict(),
        tol=model.local_tol,
        max_iter=model.max_iter,
    )
    atol, of_sums = (rtol, rtol) if atol is None else (atol, of_sums or rtol)
    np.testing.assert_allclose(step.local_parameters, gamma, rtol=rtol, atol=atol)
    np.testing.assert_allclose(step.statistics.dense(), sums, rtol=of_sums, atol=atol)
    np.testing.assert_allclose(step.row_bounds, bounds, rtol=rtol, atol=atol)
    return n_iterations


@pytest.mark.parametrize("name", POWERS)
def test_gamma_alone_has_the_bits_of_a_local_step(name):
    X, model, topics = problem(tol=1e-3)
    prepared = model.prepare(topics, model.initial_hyper(None))
    block = model.take(sparse.csr_array(X), slice(None))
    found = model.optimal_gamma(block, prepared, Request(POWERS[name], want=()))
    step = local(model, X, topics, POWERS[name])
    np.testing.assert_array_equal(found, step.local_parameters)


@pytest.mark.every(5)
@pytest.mark.parametrize("name", POWERS)
@pytest.mark.parametrize("dtype, rtol", [(np.float64, 1e-10), (np.float32, 3e-5)])
@pytest.mark.parametrize("k", [1, 2, 15, 16, 17, 40])
@pytest.mark.machine
def test_the_kernel_is_the_reference(name, dtype, rtol, k):
    tol = 1e-3 if dtype == np.float64 else 1e-6
    X, model, topics = problem(dtype=dtype, k=k, tol=tol, max_iter=300)
    powers = POWERS[name]
    step = local(model, X, topics, powers)
    iterations = assert_is_reference(step, model, X, topics, powers, rtol)
    if dtype == np.float64:
        assert step.n_iterations == iterations
    assert step.n_observed == X.sum()


@pytest.mark.every(13)
@pytest.mark.parametrize("dtype, rtol", [(np.float64, 1e-10), (np.float32, 3e-5)])
@pytest.mark.parametrize("k", [48, 49, 640, 641, 1999, 2000])
def test_many_topics(dtype, rtol, k):
    """Sizes around all boundaries of layouts, and documents of 0, 1 and many words."""
    X, model, topics = problem(n=6, v=83, k=k, dtype=dtype, tol=0.0, max_iter=30)
    X[1], X[2], X[2, 5], X[3] = 0, 0, 3, 1
    step = local(model, X, topics, Powers())
    assert_is_reference(step, model, X, topics, Powers(), rtol)


@pytest.mark.every(3)
@pytest.mark.parametrize("name", ["plain", "local_step"])
@pytest.mark.parametrize("dtype, rtol", [(np.float64, 2e-8), (np.float32, 1e-5)])
@pytest.mark.parametrize("k", [3, 17, 49, 130, 2000])
def test_topics_left_out_do_not_matter(name, dtype, rtol, k):
    """With few words and sharp topics, most topics have no share of a document."""
    random = np.random.default_rng(1)
    X = random.poisson(0.2, (60, 200))
    X[7] = 0
    steps = []
    for drop_tol in (0.0, 1e-4):
        settings = {"tol": 1e-5, "max_iter": 300, "drop_tol": drop_tol}
        model = LDAModel(
            k, 200, np.full(k, 0.05), np.atleast_2d(0.1), dtype=dtype, **settings
        )
        topics = Topics.from_dense(
            np.random.default_rng(2).gamma(0.05, 20, (200, k)) + 0.1,
            model.topic_word_prior.T,
        )
        steps.append(local(model, X, topics, POWERS[name]))
    all_in, some_out = (step.statistics.dense() for step in steps)
    assert np.abs(all_in - some_out).sum() < rtol * all_in.sum()
    a, b = (step.local_parameters for step in steps)
    np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4 * 0.05)
    assert steps[0].n_iterations == pytest.approx(steps[1].n_iterations, rel=1e-3)
    assert steps[0].bound == pytest.approx(steps[1].bound, rel=1e-6)


def test_a_topic_left_out_is_taken_in_again():
    """A huge tolerance drops topic 1 with 40 tokens, which later gets most tokens."""
    topic_word = np.array([[10.0, 4e5, 0.1, 0.1], [1e6, 6e5, 1e6, 1e6]])
    gammas = []
    for drop_tol in (0.0, 1e3):
        settings = {"tol": 1e-6, "max_iter": 1000, "drop_tol": drop_tol}
        model = LDAModel(4, 2, np.full(4, 0.05), np.atleast_2d(0.1), **settings)
        topics = Topics.from_dense(topic_word, model.topic_word_prior.T)
        X, start = np.array([[100_000, 0]]), np.array([[1e9, 10.0, 1.0, 1.0]])
        step = local(model, X, topics, Powers(), local_init=start)
        gammas.append(step.local_parameters)
    assert gammas[0][0, 1] > 9e4
    np.testing.assert_allclose(gammas[1], gammas[0], rtol=1e-6)


def test_a_temperature_and_a_weight_for_each_document():
    X, model, topics = problem(tol=1e-3)
    random = np.random.default_rng(1)
    b, s, w = random.uniform(0.2, 1, N), random.uniform(0, 1, N), random.gamma(1, 1, N)
    step = local(model, X, topics, Powers(1.0, s, b), unit_noise=w)
    assert_is_reference(step, model, X, topics, Powers(1.0, s * w, b), 1e-10, 1e-12)


@pytest.mark.machine
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_words_whose_mass_underflows(dtype):
    # Only topic 0 has word 0, and its share of the document underflows.
    alpha, eta = np.full(3, 2e-3), np.full((1, 1), 1e-3)
    model = LDAModel(3, 4, alpha, eta, dtype=dtype, tol=0.0, max_iter=50)
    topic_word = np.full((4, 3), 1e-3)
    topic_word[0, 0] = topic_word[1, 1] = topic_word[2, 2] = topic_word[3, 1] = 50.0
    topics = Topics.from_dense(topic_word, eta.T)
    X = np.array([[1e-12, 3.0, 0.0, 2.0], [0.0, 0.0, 1e-9, 0.0]])
    step = local(model, X, topics, Powers())
    rtol = 1e-4 if dtype == np.float32 else 1e-10
    # terms of up to 20 cancel in the bounds
    assert_is_reference(step, model, X, topics, Powers(), rtol, 1e-13)


@pytest.mark.parametrize("name", POWERS)
def test_the_lazy_step_is_the_dense_step(name):
    X, model, topics = problem()
    hyper = model.initial_hyper(None)
    random = np.random.default_rng(3)
    vector = model.natural_parameters(topics)
    for i, rate in enumerate([0.3, 0.0, 0.9, 0.999999, 1.0, 0.5, 0.99999, 0.2]):
        power = POWERS[name]._replace(prior=POWERS[name].prior ** (i % 3))
        chosen = np.sort(random.choice(V, 7, replace=False))
        rows = np.zeros((7, 16))
        rows[:, :K] = random.gamma(1, 1, (7, K))
        statistics = WordStatistics(((chosen, rows), (chosen[:3], rows[:3])), V, K)
        target = model.target_parameters(statistics, 3.0, power, hyper)
        vector = (1 - rate) * vector + rate * target
        topics = model.step(topics, statistics, 3.0, power, rate, hyper)
        np.testing.assert_allclose(
            model.natural_parameters(topics), vector, rtol=1e-9, atol=1e-9
        )
        np.testing.assert_allclose(topics.totals(), topics.dense().sum(axis=0))
        assert (topics.dense() > 0).all()


@pytest.mark.parametrize("name", ["plain", "likelihood", "posterior"])
@pytest.mark.machine
def test_the_bound_of_topics_is_the_reference(name):
    X, model, topics = problem()
    powers, hyper = POWERS[name], model.initial_hyper(None)
    expected = oracles.lda_global_bound(
        topics.dense(), model.topic_word_prior.T, powers.prior
    )
    assert model.global_bound(topics, hyper, powers) == pytest.approx(expected)


def test_target_local_step_ascends_in_the_document():
    # "local_step" has no global objective; its local step maximizes that of
    # "likelihood".
    X, model, topics = problem(tol=0.0)
    bounds = []
    for iterations in range(1, 20):
        model.max_iter = iterations
        bounds.append(local(model, X, topics, POWERS["local_step"]).row_bounds)
    assert np.diff(bounds, axis=0).min() > -1e-10


@pytest.mark.parametrize("dtype, rtol", [(np.float64, 1e-10), (np.float32, 1e-5)])
@pytest.mark.parametrize("k", [3, pytest.param(50, marks=pytest.mark.deep)])
def test_a_document_of_1e5_distinct_words(dtype, rtol, k):
    v, settings = 100_000, {"tol": 0.0, "max_iter": 3}
    random = np.random.default_rng(0)
    X = np.stack([1 + random.poisson(1.0, v), np.arange(v) % 7 == 0])
    alpha, eta = np.full(k, 0.3), np.array([[0.1]])
    topic_word = random.gamma(1.0, 1.0, (v, k)) + 0.05
    model = LDAModel(k, v, alpha, eta, dtype=dtype, **settings)
    topics = Topics.from_dense(topic_word, eta)
    step = local(model, X, topics, Powers())
    assert_is_reference(step, model, X, topics, Powers(), rtol, 0.0, 10 * rtol)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.machine
def test_subnormals_are_flushed_in_the_kernel_alone(dtype, stopped):
    X, model, topics = problem(dtype=dtype)
    model.stop[0] = stopped
    tiny = np.finfo(dtype).smallest_normal / 8
    with pytest.raises(Stopped) if stopped else contextlib.nullcontext():
        step = local(model, X, topics, Powers(), unit_noise=np.full(N, float(tiny)))
        flushed = step.statistics.dense().max() == 0
        assert flushed or platform.machine() not in ("x86_64", "AMD64")
    # the kernel has run in this thread
    assert np.multiply(tiny, dtype(1)) > 0


# -- short documents, of which the kernel optimizes several in parallel (lanes) --------


#: Numbers of documents of different lengths, and of their words.
N_DOCS, N_WORDS = 150, 400
OF_SHORT = {
    "plain": Powers(),
    "a temperature": Powers(1.0, 0.7, 0.6),
    "a temperature a document": Powers(1.0, 1.0, np.linspace(0.3, 1.0, N_DOCS)),
}


def short_documents(k, dtype, tol=1e-3, max_iter=100, drop_tol=0.0, seed=0):
    """Return documents of 0 to 300 words, a model, and very different topics."""
    random = np.random.default_rng(seed)
    lengths = np.minimum(random.geometric(0.03, N_DOCS) - 1, 300)
    lengths[:4] = 0, 1, 300, 299
    X = np.zeros((N_DOCS, N_WORDS))
    for row, length in zip(X, lengths, strict=True):
        row[random.choice(N_WORDS, length, replace=False)] = random.geometric(
            0.6, length
        )
    alpha = random.uniform(0.05, 0.2, k)
    settings = {"dtype": dtype, "tol": tol, "max_iter": max_iter, "drop_tol": drop_tol}
    model = LDAModel(k, N_WORDS, alpha, np.atleast_2d(0.1), **settings)
    topics = random.gamma(0.1, 10, (N_WORDS, k)) + 0.1
    return X, model, Topics.from_dense(topics, model.topic_word_prior.T)


def of_rows(model, X, topics, powers, rows=slice(None)):
    """Return gamma, bounds and the numbers of iterations of some rows."""
    if np.ndim(powers.local):
        powers = powers._replace(local=powers.local[rows])
    step = local(model, X[rows], topics, powers)
    return step.local_parameters, step.row_bounds, step.n_iterations


@pytest.mark.every(31)
@pytest.mark.parametrize("k", [1, 3, 4, 18, 50])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", OF_SHORT)
def test_a_document_is_the_same_in_any_lane(name, dtype, k):
    """A document is optimized together with others (lanes), whatever these are."""
    X, model, topics = short_documents(k, dtype, drop_tol=1e-4)
    powers = OF_SHORT[name]
    gamma, bounds, iterations = of_rows(model, X, topics, powers)
    order = np.random.default_rng(1).permutation(N_DOCS)
    for rows in (order, order[:7], order[7:], np.arange(N_DOCS)[::-1]):
        some, of_some, _ = of_rows(model, X, topics, powers, rows)
        np.testing.assert_array_equal(some, gamma[rows])
        np.testing.assert_array_equal(of_some, bounds[rows])
    alone = [of_rows(model, X, topics, powers, np.array([i])) for i in range(N_DOCS)]
    np.testing.assert_array_equal(np.concatenate([a for a, *_ in alone]), gamma)
    assert sum(n for *_, n in alone) == iterations


@pytest.mark.every(5)
@pytest.mark.parametrize("k", [1, 3, 18, 50])
@pytest.mark.parametrize("name", OF_SHORT)
def test_documents_of_all_lengths_are_those_of_the_reference(name, k):
    """The numbers of iterations agree too; some documents reach the maximum."""
    X, model, topics = short_documents(k, np.float64, max_iter=20)
    powers = OF_SHORT[name]
    step = local(model, X, topics, powers)
    # terms of the bound of an empty document cancel
    iterations = assert_is_reference(step, model, X, topics, powers, 1e-10, 1e-11, 1e-8)
    assert step.n_iterations == iterations


@pytest.mark.parametrize("name", OF_SHORT)
def test_short_documents_in_float32_are_those_in_float64(name):
    found = [
        of_rows(model, X, topics, OF_SHORT[name])
        for X, model, topics in (
            short_documents(18, t, tol=1e-5) for t in (np.float32, float)
        )
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
    gamma, bounds, _ = of_rows(model, X, topics, Powers())
    expected, _, of_expected, _ = oracles.lda_local_step(
        X, topic_word, alpha, prior=1, statistics=1, local=1, tol=0.0, max_iter=30
    )
    rtol = 1e-4 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(gamma, expected, rtol=rtol)
    np.testing.assert_allclose(bounds, of_expected, rtol=rtol, atol=1e-4 * rtol)
    without, of_without, _ = of_rows(model, X, topics, Powers(), others)
    np.testing.assert_array_equal(gamma[others], without)
    np.testing.assert_array_equal(bounds[others], of_without)

"""SVI+ weights, adaptive rates and inferred temperatures, against their definitions."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp, polygamma, softmax

from sktemper import TemperedLDA
from sktemper.lda.model import LDAModel, Topics
from sktemper.learning_rates import AdaptiveRate
from sktemper.model import LocalStep, Powers
from sktemper.noise import SVIPlusNoise
from sktemper.schedules import Clock
from sktemper.tempering import GlobalTempering, LocalTempering

S = 60


@pytest.mark.parametrize("distribution", ["dirichlet", "gaussian"])
@pytest.mark.parametrize("size", [20, 0.75, lambda t: 5.0 * (t + 1)])
def test_the_moments_of_the_weights(distribution, size):
    noise, random = SVIPlusNoise(size, distribution), np.random.default_rng(0)
    clock = Clock(steps=5)
    weights = np.array([noise.weights(S, clock, random) for _ in range(20_000)])
    M = size(5) if callable(size) else size * S if isinstance(size, float) else size
    expected = (S / M - 1) * (np.eye(S) - 1 / S)
    np.testing.assert_allclose(weights.sum(axis=1), S, rtol=1e-9)
    error = 5 * (S / M) / np.sqrt(len(weights))  # five standard errors
    np.testing.assert_allclose(weights.mean(axis=0), 1, atol=error)
    np.testing.assert_allclose(np.cov(weights.T), expected, atol=4 * error)
    assert (weights >= 0).all() == (distribution == "dirichlet")
    assert noise.weights(5, clock, random) is None or size != 20


def test_a_gaussian_step_stays_in_the_domain():
    model = LDAModel(2, 3, np.full(2, 0.5), np.array([[0.1]]))
    topics = Topics.from_dense(np.full((3, 2), 1.0), np.array([[0.1]]))
    block = model.take(sparse.csr_array(np.eye(3)), slice(None))
    prepared = model.prepare(topics, model.initial_hyper())
    weights = np.array([-1.0, 2.0, 2.0])
    step = model.local_step(block, prepared, Powers(), weights)
    rate = model.largest_rate(
        topics, step.statistics, 4.0, Powers(), model.initial_hyper()
    )
    # lambda = 1 falls toward .1 - 4 / 2: it is 0 at 1 / 2.9
    assert rate == pytest.approx(1 / 2.9)
    guard = SVIPlusNoise(0.5, "gaussian").guarded
    assert guard(0.9, lambda: rate) == pytest.approx(0.9 / 2.9)
    assert guard(0.1, lambda: rate) == 0.1
    moved = model.step(topics, step.statistics, 4.0, Powers(), 0.9 / 2.9, None)
    assert moved.dense().min() == pytest.approx(0.1)


def test_the_fisher_product_is_the_fisher_matrix_times_a_vector():
    model = LDAModel(2, 4, np.full(2, 0.5), np.array([[0.1]]))
    random = np.random.default_rng(0)
    topics = Topics.from_dense(random.gamma(1, 1, (4, 2)) + 0.1, np.array([[0.1]]))
    vector = random.normal(size=8)
    expected = np.empty((4, 2))
    for k in range(2):
        column = topics.dense()[:, k]
        fisher = np.diag(polygamma(1, column)) - polygamma(1, column.sum())
        expected[:, k] = fisher @ vector.reshape(4, 2)[:, k]
    np.testing.assert_allclose(
        model.fisher_product(topics, vector), expected.ravel(), rtol=1e-12
    )


def test_the_adaptive_rate_is_signal_over_signal_and_noise():
    policy = AdaptiveRate(max_rate=1.0, n_warmup_batches=2)
    g = [np.array([1.0, 0.0]), np.array([1.0, 2.0]), np.array([2.0, -1.0])]
    h = [2 * v for v in g]
    state, rates = policy.initial_state(), []
    for vectors in zip(g, h, strict=True):
        rate, state = policy.next_rate(state, Clock(), lambda v=vectors: v)
        rates.append(rate)
    mean = ((g[0] + g[1]) / 2 + g[2]) / 2
    square = ((2 * 1 + 2 * 5) / 2 + 2 * 5) / 2
    assert rates[:2] == [0.0, 0.0]
    assert rates[2] == pytest.approx(2 * mean @ mean / square)
    assert state.window == pytest.approx(2 * (1 - rates[2]) + 1)


def test_the_adaptive_rate_forgets_where_there_is_no_signal():
    policy = AdaptiveRate(max_rate=1.0, n_warmup_batches=4)
    state = policy.initial_state()
    for _ in range(4):
        _, state = policy.next_rate(state, Clock(), lambda: (np.ones(2), np.ones(2)))
    state = state._replace(gradient=np.ones(2), product=-np.ones(2))
    g = np.array([3.0, 1.0])
    rate, state = policy.next_rate(state, Clock(), lambda: (g, np.zeros(2)))
    assert rate == 1 / 4
    np.testing.assert_array_equal(state.gradient, g)
    assert state.square == 0.0


def test_the_partition_function_is_the_quenched_mean():
    alpha, eta, K, V = 0.3, 0.4, 3, 5
    model = LDAModel(K, V, np.full(K, alpha), np.array([[eta]]))
    b = np.array([1.0, 0.5, 0.1])
    estimate = model.log_partition(
        b, model.initial_hyper(), np.random.default_rng(0), None, 200
    )
    random = np.random.default_rng(1)
    direct = []
    for _ in range(20_000):
        p = random.dirichlet(np.full(K, alpha)) @ random.dirichlet(np.full(V, eta), K)
        direct.append([np.log((p**power).sum()) for power in b])
    error = 5 * np.std(direct, axis=0) / np.sqrt(200)
    assert (np.abs(estimate - np.mean(direct, axis=0)) <= error + 1e-12).all()
    assert estimate[0] == pytest.approx(0, abs=1e-12)  # probabilities sum to 1


def test_sparse_priors_do_not_underflow():
    model = LDAModel(20, 300, np.full(20, 1e-3), np.array([[1e-3]]))
    c = model.log_partition(
        np.array([1.0, 0.5]), model.initial_hyper(), np.random.default_rng(0), None, 4
    )
    assert np.isfinite(c).all() and 0 <= c[1] < np.log(300)


def test_the_global_temperature_is_the_posterior_of_the_ladder():
    policy = GlobalTempering(temperatures=[1, 2, 4], smoothing=0.5, cap=None)
    model = LDAModel(3, 6, np.full(3, 0.1), np.array([[0.1]]))
    state = policy.initial_state(model, model.initial_hyper(), np.random.default_rng(0))
    np.testing.assert_allclose(state.probabilities, 1 / 3)
    assert policy.temperature(state, Clock()) == pytest.approx(3 / 1.75)
    first = policy.next_state(state, LocalStep(score=-30, n_observed=20), 2.0, Clock())
    b, c = 1 / np.array([1, 2, 4]), state.log_partition
    np.testing.assert_allclose(
        first.probabilities, softmax(2 * 20 * (b * -1.5 - c)), rtol=1e-12
    )
    second = policy.next_state(first, LocalStep(score=-20, n_observed=40), 1, Clock())
    assert second.score == pytest.approx(-1.0)  # halfway from -1.5 to -.5
    assert policy.powers(second, Clock()).statistics == 1.0
    capped = GlobalTempering(temperatures=[1, 2, 4], cap=lambda t: 1.25)
    assert capped.temperature(state, Clock()) == 1.25


def test_local_temperatures_are_those_of_each_document():
    policy = LocalTempering(n_temperatures=4, min_inverse_temperature=0.25)
    model = LDAModel(3, 6, np.full(3, 0.1), np.array([[0.1]]), tol=1e-10)
    state = policy.initial_state(model, model.initial_hyper(), np.random.default_rng(0))
    step = LocalStep(
        row_scores=np.array([-2.0, -80.0]), row_observed=np.array([9, 9.0])
    )
    b = np.linspace(1, 0.25, 4)
    for d in range(2):
        logits = b * step.row_scores[d] - 9 * state.log_partition
        np.testing.assert_allclose(
            policy.responsibilities(state, step)[d],
            np.exp(logits - logsumexp(logits)),
            rtol=1e-12,
        )
    expected = policy.responsibilities(state, step) @ b
    assert expected[1] < expected[0]  # the badly fitted one is hotter


def test_the_score_is_the_plug_in_likelihood(counts):
    lda = TemperedLDA(4, random_state=0).fit(counts.astype(float))
    model = lda._make_model(counts.shape[1], np.dtype(float))
    prepared = model.prepare(lda.state_.globals_, lda.state_.hyper)
    block = model.take(counts, slice(0, 20))
    step = model.local_step(block, prepared, Powers(), want=("score", "local"))
    theta = lda.transform(counts[:20])
    log_p = np.log(theta @ lda.topic_word_)
    expected = np.sum(counts[:20].toarray() * log_p, axis=1)
    np.testing.assert_allclose(step.row_scores, expected, rtol=1e-6)
    tokens = np.ravel(counts[:20].sum(axis=1))
    np.testing.assert_allclose(step.row_observed, tokens)


@pytest.mark.parametrize("target", ["local_step", "likelihood"])
def test_global_tempering_cools(counts, target):
    policy = GlobalTempering(cap=None, partition_priors=(0.5, 0.5), target=target)
    lda = TemperedLDA(4, tempering=policy, batch_size=30, random_state=0, max_iter=20)
    temperature = lda.fit(counts).history_["temperature"]
    assert temperature[0] == pytest.approx(2.55, abs=0.01)  # uniform q
    assert temperature[-1] < 1.2

"""SVI+ weights, adaptive rates and inferred temperatures match their definitions."""

import itertools
import warnings

import numpy as np
import pytest
from fits import fitted_model, new_model
from oracles import lda_document
from scipy import sparse
from scipy.special import logsumexp, softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from sktemper import (
    AnnealedLDA,
    TemperedFactorialMixture,
    TemperedGaussianMixture,
    TemperedLDA,
    TemperedMixedMixture,
    TemperedMultinomialMixture,
    TemperedStudentMixture,
)
from sktemper.factorial_mixture._model import FactorialMixtureModel
from sktemper.lda._model import LDAModel, Topics
from sktemper.learning_rates import AdaptiveRate, ConstantRate
from sktemper.model import (
    LocalStep,
    Mixture,
    MixtureModel,
    MultinomialFamily,
    NaturalModel,
    Powers,
    Request,
)
from sktemper.noise import GradientNoise, SVIPlusNoise
from sktemper.schedules import Clock, LinearSchedule
from sktemper.tempering import GlobalTempering, LocalTempering

S = 60


@pytest.mark.every(5)
@pytest.mark.parametrize("distribution", ["dirichlet", "gaussian"])
@pytest.mark.parametrize("size", [20, 0.75, lambda t: 5.0 * (t + 1)])
def test_the_moments_of_the_weights(distribution, size):
    noise, random = SVIPlusNoise(size, distribution), np.random.default_rng(0)
    clock = Clock(steps=5)
    weights = np.array([noise.unit_noise(S, clock, random) for _ in range(8_000)])
    M = size(5) if callable(size) else size * S if isinstance(size, float) else size
    expected = (S / M - 1) * (np.eye(S) - 1 / S)
    np.testing.assert_allclose(weights.sum(axis=1), S, rtol=1e-9)
    error = 5 * (S / M) / np.sqrt(len(weights))  # five standard errors
    np.testing.assert_allclose(weights.mean(axis=0), 1, atol=error)
    np.testing.assert_allclose(np.cov(weights.T), expected, atol=4 * error)
    assert (weights >= 0).all() == (distribution == "dirichlet")
    assert noise.unit_noise(20, clock, random) is None or size != 20


def test_entries_of_a_gaussian_step_stay_in_the_domain():
    """Tokens of a word below 0 count as 0; other words and the rate are unchanged."""
    model = LDAModel(2, 3, np.full(2, 0.5), np.array([[0.1]]))
    topics = Topics.from_dense(np.full((3, 2), 1.0), np.array([[0.1]]))
    block = model.take(sparse.csr_array(np.eye(3)), slice(None))
    prepared = model.prepare(topics, model.initial_hyper(None))
    weights = np.array([-1.0, 2.0, 2.0])
    step = model.local_step(block, prepared, Request(Powers(), weights))
    statistics, hyper = model.within_domain(step.statistics), model.initial_hyper(None)
    assert model.largest_rate(topics, statistics, 4.0, Powers(), hyper) == np.inf
    moved = model.step(topics, statistics, 4.0, Powers(), 0.9, None).dense()
    tokens = np.array([0.0, 2.0, 2.0])[:, None] * [0.5, 0.5]
    np.testing.assert_allclose(moved, 0.1 + 0.9 * (0.1 + 4 * tokens))


def test_gaussian_noise_of_topics_shortens_no_step(documents):
    noise = SVIPlusNoise(0.25, "gaussian")
    lda = TemperedLDA(4, tempering=None, gradient_noise=noise, batch_size=30)
    lda.set_params(max_iter=2, learning_rate=1.0, random_state=0).fit(documents)
    assert (lda.history_["rate_share"] == 1).all() and (lda.components_ > 0).all()


@pytest.mark.parametrize(
    "kind",
    [
        *(TemperedGaussianMixture(4, covariance_type=c) for c in ("full", "tied")),
        TemperedStudentMixture(4, covariance_type="diag"),
        TemperedMixedMixture(4),
        TemperedMultinomialMixture(4),
    ],
    ids=lambda kind: f"{type(kind).__name__}-{getattr(kind, 'covariance_type', '')}",
)
def test_gaussian_noise_limits_the_components_that_leave_their_domain(kind):
    """The others take the whole step, whose mean is that of a step without noise."""
    random = np.random.default_rng(0)
    X = random.poisson(random.choice([1, 4, 9], (120, 1)), (120, 3)).astype(float)
    fitted = clone(kind).set_params(moves=None, random_state=0).fit(X)
    model, state = fitted_model(fitted), fitted.state_
    globals_, hyper, block = state.globals_, state.hyper, model.take(X, slice(None))
    prepared, guard = model.prepare(globals_, hyper), SVIPlusNoise(4, "gaussian")
    targets, n_limited = [], 0
    for _ in range(60):
        weights = guard.unit_noise(120, Clock(), random)
        given = model.local_step(block, prepared, Request(Powers(), weights)).statistics
        targets.append(given.components)
        given = model.within_domain(given), 1.0, Powers()
        rates = guard.guarded(
            0.7, lambda given=given: model.largest_rate(globals_, *given, hyper)
        )
        model.update_hyper(hyper, globals_, given[0], 1.0, 0.7, Powers())
        moved = model.step(globals_, *given, rates, hyper)
        assert np.all(model.is_valid(moved))
        whole = NaturalModel.step(model, globals_, *given, 0.7, hyper)
        is_whole = np.broadcast_to(rates == 0.7, 4)
        n_limited += np.sum(~is_whole)
        if np.ndim(rates):
            rest = moved.components[is_whole], whole.components[is_whole]
            np.testing.assert_allclose(*rest, rtol=1e-12)
    assert (n_limited > 0) == (kind.__class__ is not TemperedMultinomialMixture)
    plain = model.local_step(block, prepared, Request(Powers())).statistics.components
    error = np.std(targets, axis=0) / np.sqrt(len(targets)) + 1e-12
    assert np.abs((np.mean(targets, axis=0) - plain) / error).max() < 5


class Offset(MixtureModel):
    """A mixture whose natural parameters, and prior, are between -1 and 0."""

    def __init__(self):
        super().__init__(2, 3, MultinomialFamily(3))

    def prior_of_component(self, X, sample_weight=None):
        return np.full(3, 0.1 - 1.0)


def test_steps_with_negative_factors_stay_in_the_domain_with_any_prior():
    model, random = Offset(), np.random.default_rng(0)
    X = random.poisson(2.0, (60, 3)).astype(float)
    hyper = model.initial_hyper(X)
    globals_ = model.prior(hyper)
    for _ in range(20):
        change = random.normal(size=(2, 3))
        given = Mixture(np.zeros(len(globals_.weights)), change), 1.0, Powers()
        rates = np.minimum(model.largest_rate(globals_, *given, hyper), 1.0)
        assert np.all(model.is_valid(model.step(globals_, *given, rates, hyper)))


def test_the_adaptive_rate_is_signal_over_signal_and_noise():
    policy = AdaptiveRate(max_rate=1.0, n_warmup_batches=2)
    g = [np.array([2.0, 0.0]), np.array([2.0, 2.0]), np.array([2.0, -1.0])]
    h = [2 * v for v in g]
    state, rates = policy.initial_state(), []
    for vectors in zip(g, h, strict=True):
        rate, state = policy.next_rate(state, Clock(), lambda v=vectors: v)
        rates.append(rate)
    # computed by hand: the weights are 1/4, 1/4, 1/2, and their squares sum to 3/8; the
    # mean gradient is (2, 0), the mean of g h is (8 + 16 + 2 * 10) / 4 = 11, and g h of
    # the means is 8
    assert rates[:2] == [0.0, 0.0]
    assert rates[2] == pytest.approx((8 - 3 / 8 * 11) / (5 / 8 * 11))
    # warm-up: the weights are 1/2, 1/2, the mean gradient (2, 1), the mean of g h 12
    assert state.first_rate == pytest.approx((10 - 12 / 2) / (12 / 2))
    assert state.noise_share == pytest.approx(3 / 8)
    assert state.window == 2  # 2 * (1 - rate) + 1 would be shorter


def test_the_adaptive_rate_is_small_where_there_is_no_signal():
    policy = AdaptiveRate(max_rate=0.5, n_warmup_batches=4)
    state = policy.initial_state()
    for sign in (1, -1, 1, -1):
        g = sign * np.ones(2)
        _, state = policy.next_rate(state, Clock(), lambda g=g: (g, g))
    assert state.first_rate == 1 / 4  # 0 would limit all later rates
    rate, state = policy.next_rate(state, Clock(), lambda: (np.ones(2), np.ones(2)))
    assert rate == 0.0
    assert state.window == 5
    for _ in range(40):
        rate, state = policy.next_rate(state, Clock(), lambda: (np.ones(2),) * 2)
    assert rate == 0.5 / 4


def every_document(n_words, n_tokens):
    """Return all texts of ``n_tokens`` tokens, (n_words**n_tokens, n_tokens)."""
    return np.array(list(itertools.product(range(n_words), repeat=n_tokens)))


def test_the_partition_function_is_a_sum_over_all_documents():
    alpha, eta, V, N = np.array([0.3, 0.5]), 0.3, 3, 4
    b = np.array([1.0, 0.6, 0.25])
    random, n_draws, n_samples = np.random.default_rng(0), 2000, 600
    theta = random.dirichlet(alpha, n_draws)
    beta = random.dirichlet(np.full(V, eta), (n_draws, 2))
    p = np.einsum("nk,nkv->nv", theta, beta)
    likelihoods = p[:, every_document(V, N)].prod(axis=2)  # (n_draws, V**N)
    log_c = np.log([(likelihoods**power).sum(axis=1) for power in b])
    by_token = N * np.log([(p**power).sum(axis=1) for power in b])
    np.testing.assert_allclose(log_c, by_token, atol=1e-12)

    model = LDAModel(2, V, alpha, np.array([[eta]]))
    estimate = model.log_partition(
        b, model.initial_hyper(None), random, None, n_samples
    )
    spread = log_c.std(axis=1)
    # the estimate uses all pairs of draws, so its variance is at most that of n_samples
    error = 3 * spread * np.sqrt(1 / n_samples + 1 / n_draws)
    assert (np.abs(N * estimate - log_c.mean(axis=1)) <= error + 1e-12).all()
    # the test would find a confusion of the mean of log C with the log of the mean of C
    annealed = logsumexp(log_c, axis=1) - np.log(n_draws)
    assert (annealed - log_c.mean(axis=1))[2] > 1.2 * error[2]


@pytest.mark.machine
def test_sparse_priors_do_not_underflow():
    model = LDAModel(20, 300, np.full(20, 1e-3), np.array([[1e-3]]))
    c = model.log_partition(
        np.array([1.0, 0.5]),
        model.initial_hyper(None),
        np.random.default_rng(0),
        None,
        4,
    )
    assert np.isfinite(c).all() and 0 <= c[1] < np.log(300)


def test_the_global_temperature_is_the_posterior_of_the_ladder():
    policy = GlobalTempering(temperatures=[1, 2, 4], smoothing=0.5, cap=None)
    policy.set_params(temperature_prior=[1, 2, 1])
    model = LDAModel(3, 6, np.full(3, 0.1), np.array([[0.1]]))
    state = policy.initial_state(
        model, model.initial_hyper(None), np.random.default_rng(0)
    )
    prior = [0.25, 0.5, 0.25]
    np.testing.assert_allclose(state.probabilities, prior)
    assert policy.temperature(state, Clock()) == pytest.approx(4 / 2.25)
    first = policy.next_state(state, LocalStep(score=-30, n_observed=20), 2.0, Clock())
    b, c = 1 / np.array([1, 2, 4]), state.log_partition
    np.testing.assert_allclose(
        first.probabilities, softmax(np.log(prior) + 40 * (b * -1.5 - c)), rtol=1e-12
    )
    second = policy.next_state(first, LocalStep(score=-20, n_observed=40), 1, Clock())
    assert second.score == pytest.approx(-1.0)  # the mean of -1.5 and -.5
    assert policy.powers(second, Clock()).statistics == 1.0
    capped = GlobalTempering(temperatures=[1, 2, 4], cap=lambda t: 1.25)
    assert capped.temperature(state, Clock()) == 1.25


def test_a_step_infers_the_temperature_of_all_rows(counts):
    """The score is that of the topics before the step, scaled to the total."""
    X = counts[:40]
    policy = GlobalTempering(temperatures=[1, 1.001, 1.002], smoothing=0, cap=None)
    policy.set_params(target="likelihood", partition_priors=(0.2, 0.2))
    lda = TemperedLDA(3, tempering=policy, batch_size=None, total_samples=80)
    lda.set_params(doc_update="variational", random_state=0)
    lda.set_params(mean_change_tol=1e-12, max_doc_update_iter=5000).partial_fit(X)
    state = lda.state_.policies.tempering
    b = state.probabilities @ state.inverse_temperatures
    doc_topic = lda.transform(X, temperature=1 / b)
    score = (X.toarray() * np.log(doc_topic @ lda.topic_word_)).sum()
    lda.partial_fit(X)
    assert lda.temperature_ == pytest.approx(1 / b)
    logits = state.inverse_temperatures * score - X.sum() * state.log_partition
    found = lda.state_.policies.tempering.probabilities
    np.testing.assert_allclose(found, softmax(2.0 * logits), atol=1e-4)
    assert np.abs(found - softmax(logits)).max() > 0.1


def test_the_score_is_the_plug_in_likelihood(counts):
    lda = TemperedLDA(4, tempering=None, random_state=0).fit(counts.astype(float))
    model = new_model(lda, counts.shape[1])
    prepared = model.prepare(lda.state_.globals_, lda.state_.hyper)
    block = model.take(counts, slice(0, 20))
    step = model.local_step(block, prepared, Request(want=("score", "local")))
    theta = lda.transform(counts[:20])
    log_p = np.log(theta @ lda.topic_word_)
    expected = np.sum(counts[:20].toarray() * log_p, axis=1)
    np.testing.assert_allclose(step.row_scores, expected, rtol=1e-6)
    tokens = np.ravel(counts[:20].sum(axis=1))
    np.testing.assert_allclose(step.row_observed, tokens)


# -- distributions over temperatures in the history ------------------------------------


@pytest.mark.parametrize(
    "policy",
    [
        GlobalTempering(12, cap=None),
        GlobalTempering(temperatures=[1, 1.3, 2, 4], cap=None),
        LocalTempering(12),
    ],
    ids=str,
)
def test_the_history_has_the_distribution_over_the_ladder(counts, policy):
    lda = TemperedLDA(4, tempering=policy, batch_size=30, random_state=0, max_iter=3)
    history = lda.partial_fit(counts).history_
    ladder, probabilities = (
        lda.tempering_.ladder(),
        history["temperature_probabilities"],
    )
    assert probabilities.shape == (len(history["step"]), len(ladder))
    assert ladder[0] == 1 and (np.diff(ladder) > 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_allclose(probabilities[0], 1 / len(ladder))  # the prior
    np.testing.assert_allclose(
        history["temperature"], 1 / (probabilities @ (1 / ladder))
    )
    # the probabilities for the next step, not those of the last step
    present = lda.state_.policies.tempering.probabilities
    after = lda.partial_fit(counts[:30]).history_["temperature_probabilities"]
    np.testing.assert_array_equal(after, np.vstack([probabilities, present]))


def test_ladders_have_the_given_temperatures():
    np.testing.assert_allclose(GlobalTempering(3, 4.0).ladder(), [1, 2, 4])
    np.testing.assert_array_equal(
        GlobalTempering(temperatures=[1, 3, 49]).ladder(), [1, 3, 49]
    )
    np.testing.assert_allclose(LocalTempering(3, 0.5).ladder(), [1, 4 / 3, 2])


def test_a_batch_without_words_leaves_the_global_temperature(counts):
    lda = TemperedLDA(3, tempering="global", random_state=0).partial_fit(counts)
    before = lda.state_.policies.tempering.probabilities
    lda.partial_fit(0 * counts[:5])
    np.testing.assert_array_equal(lda.state_.policies.tempering.probabilities, before)


@pytest.mark.parametrize("lda", [AnnealedLDA(3), TemperedLDA(3, tempering=None)])
def test_no_ladder_no_distribution(counts, lda):
    lda.partial_fit(counts)
    assert lda.tempering_.ladder() is None
    assert "temperature_probabilities" not in lda.history_


def test_a_new_ladder_discards_the_probabilities_of_the_old_one(counts):
    lda = TemperedLDA(3, tempering=GlobalTempering(9), random_state=0, batch_size=30)
    lda.partial_fit(counts)
    for policy in (LocalTempering(5), LocalTempering(5, 0.3), GlobalTempering(9)):
        n_before = len(lda.history_["step"])
        lda.set_params(tempering=policy).partial_fit(counts)
        probabilities = lda.history_["temperature_probabilities"]
        assert probabilities.shape == (n_before + 4, policy.n_temperatures)
        assert np.isnan(probabilities[:n_before]).all()
        np.testing.assert_allclose(probabilities[n_before:].sum(axis=1), 1)
    # another policy with the same ladder continues the history
    lda.set_params(tempering__smoothing=0.5).partial_fit(counts)
    probabilities = lda.history_["temperature_probabilities"]
    assert np.isfinite(probabilities).all(axis=1).sum() == 8
    lda.set_params(tempering=None).partial_fit(counts)
    assert "temperature_probabilities" not in lda.history_
    assert len(lda.history_["temperature"]) == 24


# -- temperatures of samples -----------------------------------------------------------


@pytest.fixture(scope="module")
def local_lda(counts):
    return TemperedLDA(
        4,
        tempering=LocalTempering(30, 0.05, partition_priors=(0.1, 0.1)),
        mean_change_tol=1e-9,
        max_doc_update_iter=5000,
        random_state=0,
    ).fit(counts)


def test_documents_of_random_words_have_higher_temperatures(local_lda, counts):
    tokens = np.ravel(counts.sum(axis=1)).astype(int)
    noise = np.array([np.random.default_rng(0).multinomial(n, np.ones(60) / 60)
                      for n in tokens])  # fmt: skip
    ours, theirs = local_lda.temperatures(counts), local_lda.temperatures(noise)
    assert ours.shape == theirs.shape == (120,)
    hotter = np.mean(theirs[:, None] > ours)
    assert hotter > 0.95, hotter
    # among ordinary documents, the outlier has the highest temperature
    mixed = np.vstack([counts[:40].toarray(), noise[:1] * 3])
    assert local_lda.temperatures(mixed).argmax() == 40


def test_temperatures_of_samples_are_their_posterior_means(local_lda, counts):
    ladder, state = local_lda.tempering_.ladder(), local_lda.state_.policies.tempering
    tokens, temperature = counts.sum(axis=1), 1.0
    for _ in range(local_lda.tempering_.n_alternations):
        doc_topic = local_lda.transform(counts, temperature=temperature)
        log_p = np.log(doc_topic @ local_lda.topic_word_)
        scores = (counts.toarray() * log_p).sum(axis=1)
        r = softmax(np.outer(scores, 1 / ladder)
                    - np.outer(tokens, state.log_partition), axis=1)  # fmt: skip
        temperature = 1 / (r @ (1 / ladder))
    # the method starts each alternation from the last gamma, which gives other results
    # for documents with two optima
    same = np.isclose(local_lda.temperatures(counts), temperature, rtol=1e-4)
    assert same.mean() > 0.98


def test_a_document_without_words_has_the_temperature_of_the_prior(local_lda):
    prior = 1 / np.mean(1 / local_lda.tempering_.ladder())
    assert local_lda.temperatures(np.zeros((1, 60)))[0] == pytest.approx(prior)


@pytest.mark.every(5)
@pytest.mark.parametrize(
    ("lda", "has"),
    [
        (TemperedLDA(3, tempering="local"), True),
        (TemperedLDA(3, tempering=LocalTempering(5)), True),
        (TemperedLDA(3, tempering="global"), False),
        (TemperedLDA(3, tempering=None), False),
        (AnnealedLDA(3), False),
    ],
    ids=str,
)
def test_estimators_that_have_temperatures_of_samples(counts, lda, has):
    lda = clone(lda)
    assert hasattr(lda, "temperatures") is has
    if has:
        with pytest.raises(NotFittedError):
            lda.temperatures(counts)
    lda.partial_fit(counts)
    # the policy of the fit counts, not the present parameter
    if "tempering" in lda.get_params():
        lda.set_params(tempering=None if has else "local")
    assert hasattr(lda, "temperatures") is has
    if not has:
        with pytest.raises(AttributeError, match="'temperatures'") as caught:
            lda.temperatures(counts)
        assert "temperatures of single samples" in str(caught.value.__cause__)


def test_invalid_temperings_have_no_temperatures():
    assert not hasattr(TemperedLDA(3, tempering="warm"), "temperatures")


# -- transform at a temperature --------------------------------------------------------


def test_topic_weights_at_a_temperature_of_each_document(counts):
    lda = TemperedLDA(
        4,
        tempering=None,
        random_state=0,
        mean_change_tol=1e-10,
        max_doc_update_iter=5000,
    ).fit(counts)
    temperature = np.linspace(0.5, 4, 30)
    gamma = lda.transform(counts[:30], normalize=False, temperature=temperature)
    log_beta = np.log(lda.exp_dirichlet_component_.T)
    for d, row in enumerate(counts[:30].toarray()):
        words = row > 0
        expected, _, _ = lda_document(
            row[words], log_beta[words], lda.doc_topic_prior_, 1 / temperature[d],
            tol=1e-10, max_iter=5000,
        )  # fmt: skip
        np.testing.assert_allclose(gamma[d], expected, rtol=1e-5)
    weights = lda.transform(counts[:30], temperature=temperature)
    np.testing.assert_allclose(weights, gamma / gamma.sum(axis=1, keepdims=True))


def test_one_temperature_applies_to_all_documents(counts, many_documents):
    lda = TemperedLDA(4, tempering=None, random_state=0).fit(counts)
    plain = lda.transform(many_documents)
    np.testing.assert_array_equal(lda.transform(many_documents, temperature=1), plain)
    hot = lda.transform(many_documents, temperature=3.0)
    assert not np.allclose(hot, plain, atol=0.01)
    each = lda.transform(many_documents, temperature=[3.0] * 700)
    np.testing.assert_array_equal(each, hot)
    rising = np.linspace(0.5, 4, 700)
    each = lda.transform(many_documents, temperature=rising)
    for d in (0, 255, 256, 600):  # in several blocks
        alone = lda.transform(many_documents[[d]], temperature=rising[d])
        np.testing.assert_array_equal(each[[d]], alone)
    frozen = lda.transform(many_documents, temperature=1e9)
    np.testing.assert_allclose(frozen, 1 / 4, atol=1e-6)  # the prior mean


@pytest.mark.parametrize(
    ("temperature", "message"),
    [
        (0.0, "positive"),
        (-1.0, "positive"),
        (np.inf, "positive and finite, got inf"),
        (np.nan, "positive and finite, got nan"),
        ([1.0, 2.0], r"temperature has shape \(2,\); expected \(120,\)"),
        (np.ones((120, 1)), "temperature has shape"),
        (np.full(120, 1e-300), "at least"),
        ("hot", "could not convert"),
    ],
)
def test_impossible_temperatures_of_a_transform(counts, temperature, message):
    lda = TemperedLDA(3, tempering=None, random_state=0).partial_fit(counts)
    with pytest.raises(ValueError, match=message):
        lda.transform(counts, temperature=temperature)


@pytest.mark.parametrize(
    "change",
    [
        {"temperature_prior": np.r_[np.zeros(9), 1.0]},
        {"partition_priors": (1e-4, 1e-4)},
    ],
)
def test_a_changed_ladder_is_used_when_a_fit_continues(documents, change):
    lda = TemperedLDA(4, tempering=LocalTempering(10), random_state=0)
    lda.partial_fit(documents).partial_fit(documents)
    cold = lda.temperature_
    lda.set_params(**{f"tempering__{name}": value for name, value in change.items()})
    lda.partial_fit(documents).partial_fit(documents)
    assert lda.temperature_ > cold + 0.2


def test_a_changed_metric_restarts_the_adaptive_rate(documents):
    lda = AnnealedLDA(4, learning_rate=AdaptiveRate(), random_state=0)
    lda.partial_fit(documents).set_params(learning_rate__metric="identity")
    assert lda.partial_fit(documents).state_.policies.learning_rate.metric == "identity"


@pytest.mark.parametrize(
    "schedule",
    [lambda t: max(1.0, 3.0 - t / 2), LinearSchedule(3.0, length=1, unit="passes")],
)
def test_temperatures_wait_for_the_warm_up(documents, schedule):
    """Steps with rate 0 change no parameters, so the temperature must not fall."""
    lda = AnnealedLDA(
        4,
        learning_rate=AdaptiveRate(n_warmup_batches=6),
        schedule=schedule,
        batch_size=30,
        max_iter=6,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        history = lda.fit(documents).history_
    assert (history["learning_rate"][:6] == 0).all()
    assert (history["temperature"][:7] == 3.0).all()
    assert history["temperature"][7] == 2.5
    assert lda.temperature_ == 1.0


class Paused(ConstantRate):
    """A rate that is 0 in the third step."""

    def next_rate(self, state, clock, gradient):
        return (0.0 if clock.steps == 2 else self.rate), state


def test_a_later_step_of_rate_0_does_not_restart_the_schedules(documents):
    lda = AnnealedLDA(
        4,
        learning_rate=Paused(0.5),
        schedule=lambda t: max(1.0, 3.0 - t / 2),
        batch_size=30,
        max_iter=2,
        random_state=0,
    )
    history = lda.fit(documents).history_
    assert history["learning_rate"].tolist() == [0.5, 0.5, 0.0, *[0.5] * 5]
    assert history["temperature"].tolist() == [3.0, 2.5, 2.0, 1.5, *[1.0] * 4]


class AllOfTheLargestRate(GradientNoise):
    def unit_noise(self, n_units, clock, random):
        return np.linspace(-0.1, 1, n_units)

    def guarded(self, rate, largest_rate):
        return np.minimum(rate, largest_rate())


def test_rates_are_guarded_with_the_priors_after_the_step(samples, monkeypatch):
    """The share of the start that is left is that of the reduced rates."""
    mixture = TemperedFactorialMixture(
        3,
        tempering=None,
        learning_rate=0.9,
        gradient_noise=AllOfTheLargestRate(),
        moves=None,
        batch_size=None,
        max_iter=1,
        random_state=0,
    )
    model = new_model(mixture, 6)
    first = model.initial_hyper(samples)

    def largest_rate(self, globals_, statistics, scale, powers, hyper):
        return 0.8 if hyper.noise_variance == first.noise_variance else 0.3

    monkeypatch.setattr(FactorialMixtureModel, "largest_rate", largest_rate)
    with pytest.warns(ConvergenceWarning, match="70% of the start is left"):
        mixture.fit(samples)
    assert mixture.history_["learning_rate"] == [0.3]
    assert mixture.history_["rate_share"] == pytest.approx(1 / 3)


def test_the_warning_of_a_hot_ladder_names_its_own_remedy(documents):
    lda = TemperedLDA(4, tempering=GlobalTempering(cap=None), random_state=0)
    with pytest.warns(ConvergenceWarning, match="Set a cap"):
        lda.fit(documents)

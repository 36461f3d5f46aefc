"""Methods exactly as the papers print them, compared with transcriptions in NumPy."""

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.special import psi
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sktemper import TemperedGaussianMixture, TemperedLDA, TemperedMatrixFactorization
from sktemper.lda._model import LDAModel
from sktemper.learning_rates import ConstantRate, PrintedAdaptiveRate, TemperedRate
from sktemper.noise import SVIPlusNoise
from sktemper.schedules import Clock, ConstantSchedule, LinearSchedule, RampSchedule
from sktemper.tempering import Annealing, GlobalTempering, LocalTempering

ALPHA, ETA = 0.3, 0.2

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def counts():
    return np.random.default_rng(0).poisson(0.6, (12, 8)) + np.eye(12, 8)


def lda(**parameters):
    shared = {
        "doc_topic_prior": ALPHA,
        "topic_word_prior": ETA,
        "init_params": "random",
        "doc_update": "variational",
        "batch_size": None,
        "mean_change_tol": 1e-12,
        "max_doc_update_iter": 5000,
        "random_state": 0,
    }
    return TemperedLDA(3, **shared | parameters)


def first_topics(counts, **parameters):
    """Return lambda at the start: a step of a tiny rate leaves it unchanged."""
    plain = {"tempering": None, "learning_rate": 1e-300, "max_iter": 1} | parameters
    return lda(**plain).fit(counts).components_


def expected_log(concentration):
    return psi(concentration) - psi(concentration.sum(axis=-1, keepdims=True))


def local_step(counts, topics, b, prior):
    """Iterate equations 21 and 22 of paper 000; return phi and gamma.

    ``prior`` is the constant term of gamma.
    """
    gamma = np.ones((len(counts), len(topics)))
    b = np.broadcast_to(b, len(counts))[:, None]
    for _ in range(5000):
        logits = b[..., None] * (expected_log(gamma)[:, :, None] + expected_log(topics))
        phi = np.exp(logits - logits.max(axis=1, keepdims=True))
        phi /= phi.sum(axis=1, keepdims=True)
        gamma = prior + b * np.einsum("dv,dkv->dk", counts, phi)
    return phi, gamma


# -- paper 000: the step of DASVI ------------------------------------------------------


def test_the_step_of_dasvi_is_equation_18(counts):
    """Equation 18 for the natural parameters, which are lambda - 1 of a Dirichlet."""
    T, rho = 1.6, 0.3
    start = first_topics(counts)
    phi, _ = local_step(counts, start, 1 / T, (ALPHA + T - 1) / T)
    natural = start - 1
    target = ETA - 1 + np.einsum("dv,dkv->kv", counts, phi)
    printed = (1 - rho) * natural + rho * target - (T - 1) * rho * natural
    model = lda(
        tempering=Annealing(ConstantSchedule(T), "posterior"),
        learning_rate=TemperedRate(rho),
        max_iter=1,
    ).fit(counts)
    np.testing.assert_allclose(model.components_ - 1, printed, rtol=1e-8)
    assert model.history_["learning_rate"] == pytest.approx(rho * T)


@pytest.mark.parametrize("target", ["local_step", "likelihood"])
def test_other_targets_have_no_temperature_in_their_step(counts, target):
    fits = [
        lda(
            tempering=Annealing(ConstantSchedule(2.0), target),
            learning_rate=rate,
            max_iter=3,
        ).fit(counts)
        for rate in (ConstantRate(0.4), TemperedRate(0.4))
    ]
    np.testing.assert_array_equal(fits[0].components_, fits[1].components_)


def test_a_plan_with_a_rate_above_one_is_refused_before_its_first_step(counts):
    begun = []
    tempering = Annealing(lambda t: begun.append(t) or 2.0 + (t == 2), "posterior")
    model = lda(tempering=tempering, learning_rate=TemperedRate(0.4), max_iter=3)
    message = r"the rate 0\.4 of ConstantRate\(rate=0\.4\) by T=3\. .* raise the offset"
    with pytest.raises(ValueError, match=message):
        model.fit(counts)
    assert not hasattr(model, "components_")


# -- paper 004: the adaptive rate ------------------------------------------------------


@pytest.mark.parametrize("metric", ["fisher", "identity"])
def test_the_adaptive_rate_is_equations_17_to_22(metric):
    """With a restart of two of the three averages where their product is negative."""
    random, F = np.random.default_rng(3), np.diag([1.0, 2.0, 0.5, 3.0])
    gradients = random.standard_normal((40, 4)) + 0.5
    gradients[20:] -= 1.5
    metric_matrix = F if metric == "fisher" else np.eye(4)
    n = 5
    g_bar = gradients[:n].mean(axis=0)
    h_bar = metric_matrix @ g_bar
    q_bar = np.mean([g @ metric_matrix @ g for g in gradients[:n]])
    tau, expected, restarts = float(n), [0.0] * n, 0
    for g in gradients[n:]:
        h = metric_matrix @ g
        g_bar = (1 - 1 / tau) * g_bar + g / tau
        h_bar = (1 - 1 / tau) * h_bar + h / tau
        q_bar = (1 - 1 / tau) * q_bar + g @ h / tau
        if g_bar @ h_bar < 0:
            g_bar, h_bar, restarts = g, h, restarts + 1
        expected.append(min(g_bar @ h_bar / q_bar, 1.0))
        tau = tau * (1 - expected[-1]) + 1
    policy = PrintedAdaptiveRate(metric, n_warmup_batches=n)
    state, rates = policy.initial_state(), []
    for t, g in enumerate(gradients):
        rate, state = policy.next_rate(state, Clock(t), lambda g=g: (g, F @ g))
        rates.append(rate)
    np.testing.assert_allclose(rates, expected, rtol=1e-12)


def test_the_printed_rate_restarts_its_averages():
    """A quadratic form is never negative unless F changes between steps."""
    policy, clock = PrintedAdaptiveRate(n_warmup_batches=2), Clock()
    pairs = [([1.0, 0.0], [1.0, 0.0])] * 2 + [([-1.0, -3.0], [-3.0, 0.1])]
    state = policy.initial_state()
    for g, h in pairs:
        rate, state = policy.next_rate(
            state, clock, lambda g=g, h=h: (np.array(g), np.array(h))
        )
    # the averages (0, -1.5) and (-1, .05) restart; q, 1.85, does not
    assert rate == 1.0  # 2.7 / 1.85, limited
    assert state.square == pytest.approx(1.85)
    np.testing.assert_array_equal(state.gradient, [-1.0, -3.0])
    assert state.window == 1.0


# -- papers 001 and 003: scores and normalisers of tempering ---------------------------


def complete_score(counts, topics, phi, gamma):
    """Return the sum of equation 9 for each document."""
    logs = expected_log(gamma)[:, :, None] + expected_log(topics)
    return np.einsum("dv,dkv,dkv->d", counts, phi, logs)


def normalised(logits):
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def vt(**parameters):
    """Return variational tempering as the papers print it."""
    printed = {
        "max_temperature": 10,
        "n_temperatures": 6,
        "partition_priors": None,
        "score": "complete",
        "log_partition": "complete",
        "target": "likelihood",
        "smoothing": 0,
        "cap": None,
    }
    return GlobalTempering(**printed | parameters)


def test_the_temperatures_of_vt_are_equation_9(counts):
    """At the step from the uniform distribution, with a user's own log C."""
    b = 1 / np.geomspace(1, 10, 6)
    log_c = 5 * (1 - b)
    start = first_topics(counts)
    phi, gamma = local_step(counts, start, b.mean(), ALPHA)
    score = complete_score(counts, start, phi, gamma).sum()
    r = normalised(b * score - counts.sum() * log_c)
    for given in (log_c, lambda b: 5 * (1 - b)):
        model = lda(tempering=vt(log_partition=given), learning_rate=0.5, max_iter=2)
        history = model.fit(counts).history_
        np.testing.assert_allclose(history["temperature_probabilities"][1], r, 1e-7)
        expected = [1 / b.mean(), 1 / (r @ b)]
        np.testing.assert_allclose(history["temperature"], expected, 1e-7)


def test_log_c_at_the_mode_of_the_prior(counts):
    """A finite sum over words, with the sign of A.2: it rises with T, from 0."""
    alpha, eta = np.array([0.1, 0.2, 0.7]), np.random.default_rng(1).gamma(1, 1, 8)
    tempering = vt(
        score="predictive", log_partition="map", partition_priors=(alpha, eta)
    )
    model = lda(tempering=tempering, max_iter=1).fit(counts)
    b = 1 / np.geomspace(1, 10, 6)
    p = eta / eta.sum()
    expected = [np.log((p**power).sum()) for power in b]
    found = model.state_.policies.tempering.log_partition
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert found[0] == pytest.approx(0) and (np.diff(found) > 0).all()


@pytest.mark.parametrize("least", [0.0, 0.1])
def test_the_temperatures_of_lvt(counts, least):
    """Equation 10 without its outer 1/T: log C is a sum over words and their topics."""
    counts = counts[:40]
    b = np.linspace(1, least, 7)
    tempering = LocalTempering(
        n_temperatures=7,
        min_inverse_temperature=least,
        score="complete",
        log_partition="complete",
    )
    model = lda(tempering=tempering, max_iter=3, learning_rate=0.5).fit(counts)
    topics = model.components_
    means = np.ones(len(counts))
    for _ in range(2):
        phi, gamma = local_step(counts, topics, means, ALPHA)
        theta = gamma / gamma.sum(axis=1, keepdims=True)
        p = theta[:, :, None] * (topics / topics.sum(axis=1, keepdims=True))
        sums = (p[:, :, :, None] ** b).sum(axis=(1, 2))
        log_c = counts.sum(axis=1)[:, None] * np.log(sums)
        score = complete_score(counts, topics, phi, gamma)
        means = normalised(np.outer(score, b) - log_c) @ b
    np.testing.assert_allclose(model.temperatures(counts), 1 / means, rtol=1e-5)


def test_log_c_over_words_and_topics_is_that_of_monte_carlo():
    """Under the prior: NumPy's draws, and a sum over all words and topics."""
    alpha, random = np.array([0.3, 1.2]), np.random.default_rng(0)
    eta, b = random.uniform(0.2, 1.5, (2, 4)), np.array([1.0, 0.6, 0.2])
    model = LDAModel(2, 4, alpha, eta)
    found = model.complete_partition(b, alpha, random, None, 40)  # 800 draws
    theta = random.dirichlet(alpha, 5000)
    sums = 0.0
    for k in range(2):
        p = theta[:, k, None] * random.dirichlet(eta[k], 5000)
        sums += (p[:, :, None] ** b).sum(axis=1)
    logs = np.log(sums)
    error = 4 * logs.std(axis=0) * np.sqrt(1 / 800 + 1 / 5000)
    np.testing.assert_array_less(np.abs(found - logs.mean(axis=0)), error + 1e-12)


@pytest.mark.parametrize(
    ("score", "log_partition"), [("complete", "quenched"), ("predictive", "complete")]
)
def test_a_score_and_a_log_c_that_do_not_match_warn(counts, score, log_partition):
    for policy in (GlobalTempering, LocalTempering):
        tempering = policy(score=score, log_partition=log_partition)
        with pytest.warns(UserWarning, match="do not match"):
            lda(tempering=tempering, max_iter=1).fit(counts)


def test_vt_starts_at_its_initial_probabilities(counts):
    hottest = np.eye(6)[-1]
    tempering = vt(initial_probabilities=hottest)
    history = lda(tempering=tempering, max_iter=2).fit(counts).history_
    np.testing.assert_allclose(history["temperature_probabilities"][0], hottest)
    assert history["temperature"][0] == pytest.approx(10)
    with pytest.raises(ValueError, match="initial_probabilities must be 6 weights"):
        lda(tempering=vt(initial_probabilities=[1.0]), max_iter=1).fit(counts)


@pytest.mark.parametrize(
    "tempering",
    [GlobalTempering(log_partition="map"), LocalTempering(log_partition="current")],
)
def test_any_word_is_right_for_a_log_c_without_parameters(tempering):
    ratings = np.random.default_rng(0).integers(0, 6, (40, 20)).astype(float)
    model = TemperedMatrixFactorization(2, max_iter=4, random_state=0)
    quenched = clone(tempering).set_params(log_partition="quenched")
    one, other = (
        clone(model).set_params(tempering=policy).fit(sparse.csr_array(ratings))
        for policy in (tempering, quenched)
    )
    np.testing.assert_allclose(
        one.history_["temperature"], other.history_["temperature"], rtol=1e-10
    )


def test_a_ladder_to_zero_needs_a_normaliser():
    X = np.random.default_rng(0).normal(size=(60, 2))
    tempering = LocalTempering(min_inverse_temperature=0)
    model = TemperedGaussianMixture(2, tempering=tempering, random_state=0)
    with pytest.raises(ValueError, match="no normaliser at one of the inverse"):
        model.fit(X)


@pytest.mark.parametrize("given", [[0.0, 1.0], [np.nan] * 6, lambda b: b[:2]])
def test_a_log_c_of_another_shape_is_refused(counts, given):
    with pytest.raises(ValueError, match="log_partition must be 6 finite numbers"):
        lda(tempering=vt(log_partition=given), max_iter=1).fit(counts)


# -- paper 002: SVI+ -------------------------------------------------------------------


def test_svi_plus_is_algorithm_1(counts):
    """One step with the Gaussian factors of the noise, each of a token."""
    n_tokens = int(counts.sum())
    start = first_topics(counts)
    noise = KeptNoise(0.9 * n_tokens / n_tokens, "gaussian")
    model = lda(
        tempering=None, gradient_noise=noise, learning_rate=0.2, max_iter=1
    ).fit(counts)
    ((n, factors),) = KeptNoise.kept
    assert factors.mean() == pytest.approx(1)
    assert n in (len(counts), n_tokens)
    if n == len(counts):
        phi, _ = local_step(counts, start, 1.0, ALPHA)
        noisy = np.einsum("d,dv,dkv->kv", factors, counts, phi).clip(0)
        expected = start + 0.2 * (ETA + noisy - start)
        np.testing.assert_allclose(model.components_, expected, rtol=1e-8)


class KeptNoise(SVIPlusNoise):
    """Noise that keeps the numbers of units and the factors."""

    kept = []

    def unit_noise(self, n_units, clock, random):
        """Return the factors of SVI+."""
        factors = super().unit_noise(n_units, clock, random)
        self.kept.append((n_units, factors))
        return factors


def test_items_skip_gaussian_steps_that_lead_out_of_the_domain():
    """Figure 1 of the paper, M = 50 t with rate .85: negative factors, but no error."""
    random = np.random.default_rng(0)
    ratings = random.integers(1, 6, (80, 40)) * (random.random((80, 40)) < 0.5)
    X = sparse.csr_array(ratings.astype(float))
    model = TemperedMatrixFactorization(
        2,
        tempering=None,
        noise_type="common",
        noise_variance=0.5,
        component_variance=1.0,
        biases=False,
        gradient_noise=SVIPlusNoise(RampSchedule(), "gaussian"),
        learning_rate=0.85,
        max_iter=12,
        random_state=0,
    )
    share = model.fit(X).history_["rate_share"]
    np.testing.assert_allclose(share * 40, np.round(share * 40))
    assert (share > 0).all() and share.min() < 0.5
    np.testing.assert_allclose(model.history_["learning_rate"], 0.85 * share)
    model.set_params(gradient_noise=SVIPlusNoise(1, "gaussian"), max_iter=3)
    message = "Half of the steps were shortened to less than .* 'dirichlet'"
    with pytest.warns(ConvergenceWarning, match=message):
        model.set_params(learning_rate=0.3).fit(X)


# -- tempered posteriors ---------------------------------------------------------------


def test_a_final_temperature_is_kept_without_a_warning(counts):
    """The fixed point of a tempered likelihood, and no warning at the end."""
    T = 1.5
    model = lda(
        tempering=Annealing(
            LinearSchedule(start=2, length=5), "likelihood", final_temperature=T
        ),
        learning_rate=1.0,
        max_iter=250,
        tol=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message=".*temperature")
        model.fit(counts)
        model.transform(counts)
    assert model.temperature_ == T
    np.testing.assert_array_equal(model.history_["temperature"][5:], T)
    topics = model.components_
    phi, _ = local_step(counts, topics, 1 / T, ALPHA)
    fixed = ETA + np.einsum("dv,dkv->kv", counts, phi) / T
    np.testing.assert_allclose(topics, fixed, rtol=1e-4)


# -- benchmarks/papers -----------------------------------------------------------------
BENCHMARK = Path(__file__).resolve().parents[1] / "benchmarks" / "papers"
FIGURES = {"000": range(2, 6), "001": range(1, 5), "002": range(1, 7)} | {
    "003": range(1, 6),
    "004": range(2, 3),
}


@pytest.mark.deep
@pytest.mark.skipif(not BENCHMARK.exists(), reason="benchmarks/ is not beside tests/")
def test_the_benchmark_has_every_figure_and_draws_one(tmp_path):
    def run(*arguments):
        command = [sys.executable, "-P", str(BENCHMARK), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True)

    listed = run("--list").stdout
    for paper, numbers in FIGURES.items():
        assert all(f"{paper}.fig{number} " in listed for number in numbers)
    printed = run("003.fig2", "--quick", "--output", str(tmp_path)).stdout
    assert printed.count("log-likelihood per word") == 4
    assert (tmp_path / "003.fig2.png").stat().st_size > 10_000

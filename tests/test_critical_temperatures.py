"""Critical temperatures, first temperatures of annealing, spectral starts of topics."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.special import polygamma

from sktemper import (
    AnnealedBernoulliMixture,
    AnnealedFactorialMixture,
    AnnealedLDA,
    AnnealedMultinomialMixture,
    SVIPlusLDA,
    TemperedLDA,
    critical_temperatures,
)
from sktemper._families._critical import ROWS_ANALYSED
from sktemper.lda._model import LDAModel
from sktemper.lda._starts import analyse
from sktemper.lda._starts import critical_temperatures as roots
from sktemper.metrics import match_components
from sktemper.model import Powers, Request
from sktemper.plotting import CriticalTemperaturesDisplay
from sktemper.schedules import AUTO_START, ExponentialSchedule, LinearSchedule, Plan

ALPHA, ETA = 0.05, 0.1


def documents(random, n_rows, n_tokens, topics, alpha):
    """Return random documents of a given length with given topics."""
    theta = random.dirichlet(np.full(len(topics), alpha), n_rows)
    return random.multinomial(n_tokens, theta @ topics).astype(float)


def kmers():
    """Return counts with long rows and few columns, and the number of topics, 4."""
    random = np.random.default_rng(0)
    return documents(random, 500, 300, random.dirichlet(np.full(64, 2.0), 4), 0.2), 4


def overlapping():
    """Return documents in which most topics occur, and the number of topics, 5."""
    random = np.random.default_rng(1)
    return documents(random, 500, 400, random.dirichlet(np.full(100, 0.2), 5), 1.0), 5


def survey():
    """Return answers of two kinds of respondents to 18 questions with 3 options."""
    random = np.random.default_rng(2)
    answers = random.dirichlet(np.full(3, 0.6), (2, 18))
    kind = random.integers(2, size=600)
    chosen = (random.random((600, 18, 1)) > answers[kind].cumsum(axis=2)).sum(axis=2)
    return np.eye(3)[chosen].reshape(600, 54), 2


SETS = [kmers, overlapping, survey]


def temperatures_of(X, K, **parameters):
    return critical_temperatures(AnnealedLDA(K, **parameters), X)


def growth(X, K, temperature):
    """Return the factor by which a pass multiplies small differences between topics."""
    model = LDAModel(
        K, X.shape[1], np.full(K, ALPHA), np.full((1, 1), ETA), tol=1e-12, max_iter=9999
    )
    powers = Powers(local=1.0 / temperature)
    block = model.take(sparse.csr_array(X), slice(0, len(X)))
    random = np.random.default_rng(0)
    topics = ETA + X.sum(axis=0) / K * np.exp(
        1e-6 * random.normal(size=(K, X.shape[1]))
    )
    norms = []
    for _ in range(30):
        globals_ = model.from_natural_parameters(topics.T.ravel() - 1.0)
        prepared = model.prepare(globals_, model.doc_topic_prior)
        step = model.local_step(block, prepared, Request(powers, want=("statistics",)))
        topics = ETA + step.statistics.dense().T
        mean = topics.mean(axis=0)
        difference = np.log(topics / mean)
        norms.append(np.linalg.norm(difference))
        topics = mean * np.exp(difference * 1e-6 / norms[-1])
    return norms[-1] / 1e-6


@pytest.mark.every(4)
@pytest.mark.parametrize("made", SETS)
def test_differences_grow_below_and_die_above(made):
    """In steps of the model, the factor of a pass is 1 at the critical temperature."""
    X, K = made()
    first = temperatures_of(X, K)[0]
    assert first > 1.05
    assert growth(X, K, 0.97 * first) > 1.0 > growth(X, K, 1.03 * first)
    assert growth(X, K, first) == pytest.approx(1.0, abs=0.02)


def test_critical_temperatures_are_roots_of_their_equation():
    eigenvalues, K, n = np.array([0.9, 0.4, 0.1, 0.01, 0.0]), 12, 100.0
    T = roots(eigenvalues, n, K, ALPHA)
    assert (np.diff(T) <= 0).all()
    a = n / (K * T)
    u = a / T * polygamma(1, ALPHA + a)
    np.testing.assert_allclose(T[:4] - 1, (eigenvalues * u / (1 - u))[:4], rtol=1e-6)
    # Even with the eigenvalue 0, topics of a single document become unequal below a
    # temperature.
    assert T[4] > 1 and u[4] == pytest.approx(1)
    long_rows = roots(eigenvalues, 1e9, K, ALPHA)
    np.testing.assert_allclose(long_rows, 1 + np.sqrt(eigenvalues), rtol=1e-6)
    assert (roots(np.zeros(3), 300.0, 12, 1.0) == 1.0).all()


def test_temperatures_of_extreme_rows_are_finite():
    for n in (1e-200, 1e-3, 1.0, 5.0, 1e30):
        for alpha in (1e-30, 0.05, 1.0, 1e30):
            T = roots(np.array([1.0, 0.3, 0.0]), n, 50, alpha)
            assert np.isfinite(T).all() and (T >= 1).all() and (np.diff(T) <= 0).all()


def test_noise_alone_is_no_signal():
    """Eigenvalues of rows with equal distributions are within those of the noise."""
    for seed in range(8):
        X = np.random.default_rng(seed).multinomial(60, np.full(80, 1 / 80), 400)
        found = analyse(X, None, 4)
        floor = roots(np.zeros(1), 60.0, 5, ALPHA)[0]
        observed = roots(found.eigenvalues, 60.0, 5, ALPHA)
        T = temperatures_of(X, 5)
        assert observed[0] > floor + 0.05
        assert T[0] < floor + 0.03 and T[-1] == pytest.approx(floor)


def test_eigenvalues_do_not_depend_on_the_number_of_rows():
    """The noise is subtracted, so that few rows give the same values as many rows."""
    random = np.random.default_rng(4)
    X = documents(random, 4000, 40, random.dirichlet(np.full(300, 0.1), 4), 1.0)
    many = analyse(X, None, 3).eigenvalues_without_sampling_noise().sum()
    few = [analyse(X[start::10], None, 3) for start in range(10)]
    raw = np.mean([one.eigenvalues.sum() for one in few])
    corrected = np.mean([one.eigenvalues_without_sampling_noise().sum() for one in few])
    assert abs(corrected - many) < 0.5 * abs(raw - many)


# -- the data --------------------------------------------------------------------------


def variants(X):
    """Return documents in forms that leave other rounding errors, by name."""
    random = np.random.default_rng(0)
    order, columns = random.permutation(len(X)), random.permutation(X.shape[1])
    empty = np.zeros((50, X.shape[1]))
    return {
        "rows in another order": (X[order], None),
        "columns in another order": (X[:, columns], None),
        "empty rows": (np.concatenate([empty, X, empty]), None),
        "words that do not occur": (
            np.concatenate([X, np.zeros_like(X)], axis=1),
            None,
        ),
        "float32": (X.astype(np.float32), None),
        "parts": ([X[:100], X[100:]], None),
        "weights of 1": (X, np.ones(len(X))),
        "weights of 0": (
            np.concatenate([X, X[::-1] ** 2]),
            np.repeat([1.0, 0.0], len(X)),
        ),
    }


@pytest.mark.every(5)
@pytest.mark.parametrize("name", variants(kmers()[0]))
def test_forms_of_documents_have_the_same_temperatures(name):
    X, K = kmers()
    data, weight = variants(X)[name]
    found = critical_temperatures(AnnealedLDA(K), data, weight)
    np.testing.assert_allclose(found, temperatures_of(X, K), rtol=1e-5)


def test_weights_are_repetitions_in_starts():
    X, K = survey()
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    repeated = np.repeat(X, weight, axis=0)
    starts = [
        model_of(X, K).initial_globals(data, np.random.RandomState(0), None, w).dense()
        for data, w in ((X, weight.astype(float)), (repeated, None))
    ]
    np.testing.assert_allclose(*starts, rtol=1e-6)


def test_small_weights_are_no_noise():
    X, K = kmers()
    small = critical_temperatures(AnnealedLDA(K), X, np.full(len(X), 1e-3))
    np.testing.assert_allclose(small, temperatures_of(X, K), rtol=1e-6)


@pytest.mark.parametrize(
    ("estimator", "most"),
    [
        (AnnealedLDA, None),
        (AnnealedMultinomialMixture, None),
        (AnnealedBernoulliMixture, 1.0),
    ],
)
def test_equal_rows_that_share_a_weight_are_one_row(estimator, most):
    random = np.random.default_rng(0)
    topics = random.dirichlet(np.full(30, 0.3), size=4)
    X = random.poisson(12.0 * topics[random.integers(4, size=200)]).clip(0.0, most)
    expected = critical_temperatures(estimator(4), X)
    assert expected[0] > 1.05
    twice, weight = np.vstack([X, X]), np.repeat([0.25, 0.75], len(X))
    for both in twice, sparse.csr_array(twice):
        found = critical_temperatures(estimator(4), both, weight)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.every(2)
@pytest.mark.parametrize("long", [False, True], ids=["short rows", "long rows"])
def test_an_even_sample_is_analysed(long):
    """All rows in memory give the same result as an evenly spaced sample of them."""
    random = np.random.default_rng(0)
    n_rows = 3 * ROWS_ANALYSED - 5
    X = sparse.csr_array(random.poisson(3.0 if long else 0.05, (n_rows, 200)) * 1.0)
    step = -(-n_rows // ROWS_ANALYSED)
    weight = random.random(n_rows)
    whole = analyse(X, weight, 3)
    sample = analyse(X[::step], weight[::step], 3)
    assert whole.X.nnz < 4.5e5
    np.testing.assert_array_equal(whole.eigenvalues, sample.eigenvalues)
    np.testing.assert_array_equal(whole.scores, sample.scores)


# -- the start of annealings -----------------------------------------------------------


@pytest.mark.parametrize(
    ("plan", "start"),
    [
        (Plan(100, 10, 4.0, (2.0, 1.5)), 2.4),
        (Plan(100, 10, 2.0, (2.0, 1.5)), 2.0),
        (Plan(100, 10, 4.0, (0.5, 0.2)), 1.0),
        (Plan(100, 10, 4.0, ()), 4.0),
        (Plan(100, 10, 4.0, None), 4.0),
        (Plan(None, None, 4.0, (3.0,)), AUTO_START),
        (Plan(None, None, 4.0, (1.25,)), 1.5),
    ],
)
@pytest.mark.parametrize("cls", [ExponentialSchedule, LinearSchedule])
def test_the_start_of_a_schedule(cls, plan, start):
    assert cls().resolved(plan).start == pytest.approx(start)
    assert cls(start=7).resolved(plan).start == 7


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("lda", "known"),
    [
        (AnnealedLDA(4), True),
        (AnnealedLDA(4, target="likelihood"), True),
        (AnnealedLDA(4, target="posterior"), False),
        (AnnealedLDA(4, doc_topic_prior=[0.1, 0.1, 0.1, 0.2]), True),
        (AnnealedLDA(4, topic_word_prior=np.arange(1, 257).reshape(4, 64)), False),
        (AnnealedLDA(4, topic_word_prior=np.arange(1, 65)), True),
        (AnnealedLDA(1), False),
        (TemperedLDA(4), True),
        (TemperedLDA(4, tempering="local"), False),
        (TemperedLDA(4, tempering=None), False),
        (SVIPlusLDA(4), False),
    ],
    ids=repr,
)
def test_policies_that_start_at_critical_temperatures(lda, known):
    X, _ = kmers()
    lda.set_params(max_iter=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = lda.fit(X).state_.policies.plan
    assert (plan.critical_temperatures is not None) == known
    cooling = lda.tempering_.schedule_of_temperatures()
    if known:
        found, schedule = critical_temperatures(lda, X, return_schedule=True)
        assert plan.critical_temperatures == tuple(found)
        assert schedule.start == cooling.start == min(1.2 * found[0], 4**0.25)
        assert schedule.length == cooling.length
    elif cooling is not None:
        assert cooling.start == lda.n_components**0.25


def test_a_stream_begins_at_the_temperature_of_its_first_chunk():
    X, K = kmers()
    K = 40  # its fourth root is far above the critical temperature
    lda = AnnealedLDA(K, total_samples=500).partial_fit(X[:200])
    first = temperatures_of(X[:200], K)[0]
    assert lda.tempering_.schedule.start == 1.2 * first < K**0.25
    lda.partial_fit(X[200:])
    assert lda.tempering_.schedule.start == 1.2 * first


def test_temperatures_and_schedule_are_computed_at_once(monkeypatch):
    X, K = kmers()
    compute, hypers = LDAModel.critical_temperatures, []

    def counted(self, X, hyper, sample_weight=None):
        hypers.append(hyper)
        return compute(self, X, hyper, sample_weight)

    monkeypatch.setattr(LDAModel, "critical_temperatures", counted)
    critical_temperatures(AnnealedLDA(K), X, return_schedule=True)
    assert len(hypers) == 1


def test_too_few_rows_are_refused():
    X, K = kmers()
    with pytest.raises(ValueError, match="too few samples"):
        critical_temperatures(AnnealedLDA(K), X[: 2 * K - 1])
    assert len(critical_temperatures(AnnealedLDA(K), X[: 2 * K])) == K - 1
    with pytest.raises(ValueError, match="different priors"):
        prior = np.eye(2, X.shape[1]) + 1
        critical_temperatures(AnnealedLDA(2, topic_word_prior=prior), X)
    with pytest.raises(ValueError, match="AnnealedFactorialMixture has no critical"):
        critical_temperatures(AnnealedFactorialMixture(2), X)
    with pytest.raises(ValueError, match="no tokens"):
        critical_temperatures(AnnealedLDA(K), np.zeros((20, 3)))
    with pytest.raises(ValueError, match="Negative"):
        critical_temperatures(AnnealedLDA(K), -X)


def test_the_estimator_is_not_changed():
    X, K = kmers()
    lda = AnnealedLDA(K)
    before = dict(vars(lda))
    critical_temperatures(lda, X, return_schedule=True)
    assert vars(lda) == before
    none = critical_temperatures(
        TemperedLDA(K, tempering=None), X, return_schedule=True
    )
    assert none[1] is None


# -- the start of topics ---------------------------------------------------------------


def model_of(X, K, **parameters):
    return LDAModel(
        K, X.shape[1], np.full(K, ALPHA), np.full((1, 1), ETA), **parameters
    )


def start_of(X, K, seed=0, **parameters):
    random = np.random.RandomState(seed)
    return model_of(X, K, **parameters).initial_globals(X, random).dense().T


def test_the_start_has_the_topics():
    random = np.random.default_rng(0)
    topics = random.dirichlet(np.full(400, 0.05), 20)
    X = documents(random, 2000, 60, topics, 0.05)
    start = start_of(X, 20)
    assert (match_components(start, topics)[1] > 0.9).all()
    lda = AnnealedLDA(20, random_state=0).fit(X)
    assert (match_components(lda.topic_word_, topics)[1] > 0.95).all()
    total = start.sum()
    assert total == pytest.approx(X.sum() + 0.1 * start.size, rel=0.01)


def test_no_documents_lead_to_the_random_start():
    X = np.zeros((5, 4))
    draws = np.random.RandomState(0).gamma(100.0, 0.01, (3, 4))
    np.testing.assert_array_equal(start_of(X, 3), draws)
    assert model_of(X, 3).critical_temperatures(X, np.full(3, ALPHA)) is None


def test_starts_differ_with_the_seed_and_random_ones_are_draws():
    X, K = kmers()
    starts = [start_of(X, K, seed) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(starts[0], starts[1])
    assert np.abs(starts[0] / starts[2] - 1).mean() == pytest.approx(0.11, abs=0.02)
    draws = np.random.RandomState(0).gamma(100.0, 0.01, (K, X.shape[1]))
    np.testing.assert_array_equal(start_of(X, K, init_params="random"), draws)
    given = 1 + draws
    np.testing.assert_array_equal(start_of(X, K, init=given), given)


def test_topics_beyond_the_rank_start_at_random():
    X = np.eye(3).repeat(20, axis=0)
    start = start_of(X, 7)
    draws = np.random.RandomState(0).gamma(100.0, 0.01, (7, 3))
    np.testing.assert_array_equal(start[3:], draws[3:])
    assert (start[:3].max(axis=1) > 5).all()


def test_seeded_topics_start_at_random():
    """A spectral start could give the seed words to other topics."""
    X, K = kmers()
    prior = np.ones((K, X.shape[1]))
    prior[0, 0] = 9
    model = LDAModel(K, X.shape[1], np.full(K, ALPHA), prior)
    start = model.initial_globals(X, np.random.RandomState(0)).dense().T
    draws = np.random.RandomState(0).gamma(100.0, 0.01, (K, X.shape[1]))
    np.testing.assert_array_equal(start, draws)


# -- the picture -----------------------------------------------------------------------


def test_the_display():
    pytest.importorskip("matplotlib")
    import matplotlib.pyplot as plt

    X, K = kmers()
    try:
        display = CriticalTemperaturesDisplay.from_estimator(AnnealedLDA(K), X)
        found = temperatures_of(X, K)
        np.testing.assert_array_equal(display.points_.get_xdata(), np.arange(2, K + 1))
        np.testing.assert_array_equal(display.points_.get_ydata(), found)
        time, temperature = display.line_.get_data()
        assert temperature[0] == min(1.2 * found[0], K**0.25) and temperature[-1] == 1
        low, high = (
            display.band_.get_extents()
            .transformed(display.axes_[1].transData.inverted())
            .intervaly
        )
        np.testing.assert_allclose([low, high], found[[-1, 0]], rtol=1e-6)
        alone = CriticalTemperaturesDisplay.from_estimator(
            TemperedLDA(K, tempering=None), X
        )
        assert alone.line_ is None and len(alone.axes_) == 1
        function = AnnealedLDA(K, schedule=lambda t: max(1.0, 2.0 - t / 50))
        endless = CriticalTemperaturesDisplay.from_estimator(function, X, color="k")
        assert endless.line_.get_xdata()[-1] == 150 and endless.line_.get_color() == "k"
        with pytest.raises(ValueError, match="must be given together"):
            CriticalTemperaturesDisplay(critical_temperatures=found, time=time).plot()
    finally:
        plt.close("all")


# -- warnings --------------------------------------------------------------------------


@pytest.mark.every(5)
@pytest.mark.parametrize(
    ("parameters", "expected", "absent"),
    [
        ({"n_components": 12}, "do not distinguish this many topics", "The fit began"),
        (
            {"n_components": 12, "init_params": "random"},
            "init_params='spectral'",
            "The fit began",
        ),
        (
            {"n_components": 12, "schedule": ExponentialSchedule(4.0, length=10)},
            "The fit began at temperature 4; above 1",
            "nothing was annealed",
        ),
        (
            {"n_components": 12, "schedule": ExponentialSchedule(1.0)},
            "The fit began at temperature 1; below 1",
            "become equal",
        ),
    ],
    ids=["too many topics", "random", "too hot", "too cold"],
)
def test_warnings_of_copies_and_empty_topics_name_remedies(
    parameters, expected, absent
):
    X, _ = kmers()
    lda = AnnealedLDA(random_state=0, **parameters)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lda.fit(X)
    messages = [str(w.message) for w in caught if "opies" in str(w.message)]
    messages += [str(w.message) for w in caught if "Empty topics" in str(w.message)]
    assert messages
    for message in messages:
        assert expected in message and absent not in message
        assert "n_start_components" not in message

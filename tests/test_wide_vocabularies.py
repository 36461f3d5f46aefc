"""Wide vocabularies of which few words occur: exact results and computing time."""

import pickle
import time
import tracemalloc

import mpmath
import numpy as np
import pytest
from fits import new_model
from scipy import sparse
from scipy.special import gammaln

import sktemper
from sktemper._families import _counts, _dirichlet
from sktemper._families import _wide_mixture as wide_mixture
from sktemper._families._counts import MOST_DRAWN, log_mean_powers, mean_log_power_sums
from sktemper._families._wide_mixture import Wide
from sktemper.discrete_mixture import _model as discrete
from sktemper.discrete_mixture import _model as of_mixtures
from sktemper.lda import _model as of_topics
from sktemper.learning_rates import AdaptiveRate
from sktemper.noise import SVIPlusNoise
from sktemper.tempering import GlobalTempering, LocalTempering

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

LADDER = 1 / np.geomspace(1, 10, 6)


# -- moments in closed form ------------------------------------------------------------


@pytest.mark.parametrize("a", [1e-12, 0.01, 0.7, 30.0, 1e6])
def test_powers_of_one_gamma_variable_have_a_closed_form(a):
    b = np.array([1.0, 0.4, 0.1, 0.01])
    (found,) = log_mean_powers(b, np.log([[3.0]]), np.array([[a]]))
    expected = gammaln(a + b) - gammaln(a) + b * np.log(3.0)
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-8, atol=1e-9)


def test_first_powers_of_sums_of_gamma_variables_are_their_moments():
    weights, a = np.array([2.0, 0.5, 1e-40]), np.array([0.3, 0.05, 4.0])
    found = log_mean_powers(np.array([1.0, 2.0]), np.log([weights]), a[:, None])
    mean, variance = weights @ a, weights**2 @ a
    np.testing.assert_allclose(np.exp(found.ravel()), [mean, mean**2 + variance])


def test_equal_scales_make_one_gamma_variable():
    a = np.array([[0.2, 3.0], [0.5, 0.1]])
    (found,) = log_mean_powers(LADDER, np.zeros((1, 2)), a)
    for column, total in zip(found.T, a.sum(axis=0), strict=True):
        (expected,) = log_mean_powers(LADDER, np.zeros((1, 1)), np.array([[total]]))
        np.testing.assert_allclose(column, expected[:, 0], rtol=1e-9, atol=1e-12)


@pytest.mark.every(3)
@pytest.mark.parametrize("a", [0.2, 1.0, 40.0])
def test_means_of_log_power_sums_are_integrals(a):
    def integral(b):  # over the logit of x, which is symmetric about 0
        def integrand(y):
            value = mpmath.log1p(mpmath.exp(-b * y)) - b * mpmath.log1p(mpmath.exp(-y))
            return value * mpmath.exp(-a * (y + 2 * mpmath.log1p(mpmath.exp(-y))))

        ends = [0, 0.3, 1, 3, 10, 30, 100, 500]
        return float(2 * mpmath.quad(integrand, ends) / mpmath.beta(a, a))

    found = mean_log_power_sums(LADDER, a)[[0, 2, 5]]
    expected = [integral(b) for b in LADDER[[0, 2, 5]]]
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_limits_of_means_of_log_power_sums():
    halves = (1 - LADDER) * np.log(2)
    for a in (1e9, 1e30):
        np.testing.assert_allclose(mean_log_power_sums(LADDER, a), halves, atol=1e-7)
    np.testing.assert_allclose(mean_log_power_sums(LADDER, 1e-12), 0, atol=1e-10)


# -- log C of many words ---------------------------------------------------------------


def equal_on_average(a, b):
    """Return whether two samples of log S, in rows, have the same E S.

    The tolerance is five standard errors.  The means of log S may still differ, by half
    of the difference of the variances of log S.
    """
    shift = b.mean(axis=0)
    a, b = np.exp(a - shift), np.exp(b - shift)
    error = np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b))
    return (np.abs(a.mean(axis=0) - b.mean(axis=0)) <= 5 * error + 1e-9).all()


@pytest.mark.every(7)
@pytest.mark.parametrize("eta", [1e-4, 0.02, 1.0])
@pytest.mark.parametrize("n_topics", [1, 3])
def test_stand_ins_have_the_power_sums_of_all_words(monkeypatch, eta, n_topics):
    monkeypatch.setattr(of_topics, "MOST_DRAWN", 128)
    V, random = 2000, np.random.default_rng(0)
    few = of_topics._words(np.full((n_topics, 1), eta), V)
    each = of_topics._EachWord(np.full((n_topics, V), eta))
    assert few.concentrations.shape == (n_topics, 128)
    log_theta = _dirichlet.log_draws(np.full((1, n_topics), 0.5), random)

    def draws(words, n):
        found = []
        for _ in range(n):
            beta = _dirichlet.log_draws(words.concentrations, random)
            log_p = of_topics._log_matmul(log_theta, beta)
            found.append(words.log_sums(LADDER, log_p, log_theta))
        return np.array(found)

    of_few, of_all = draws(few, 200), draws(each, 60)
    assert equal_on_average(of_few[:, 1:], of_all[:, 1:])
    np.testing.assert_allclose(of_few[:, 0], 0, atol=1e-9)  # probabilities sum to 1
    if eta * V < 10:  # draws vary much, so their standard deviations are compared
        ratio = of_few[:, -1].std() / of_all[:, -1].std()
        assert 0.7 < ratio < 1.4


def test_groups_of_words_with_different_priors_have_stand_ins(monkeypatch):
    monkeypatch.setattr(of_topics, "MOST_DRAWN", 128)
    V, random = 1500, np.random.default_rng(1)
    eta = np.full((2, V), 0.05)
    eta[0, :5] = 8.0  # seed words of the first topic
    eta[:, 700:] *= 1.01  # nearly equal
    few = of_topics._words(eta, V)
    assert sorted(few.sizes) == [5, 1495]
    assert few.n_drawn[few.sizes == 5] == 5
    assert few.n_drawn.sum() < 300
    np.testing.assert_allclose(few.concentrations.sum(axis=1), eta.sum(axis=1))
    log_theta = np.log([[0.6, 0.4]])

    def draw(words):
        beta = _dirichlet.log_draws(words.concentrations, random)
        log_p = of_topics._log_matmul(log_theta, beta)
        return words.log_sums(LADDER, log_p, log_theta)

    each = of_topics._EachWord(eta)
    of_few = np.array([draw(few) for _ in range(300)])
    of_all = np.array([draw(each) for _ in range(100)])
    assert equal_on_average(of_few[:, 1:], of_all[:, 1:])


def test_words_that_all_differ_are_drawn_one_by_one(monkeypatch):
    monkeypatch.setattr(of_topics, "MOST_DRAWN", 128)
    eta = np.geomspace(1e-60, 1e60, 400)[None]
    words = of_topics._words(np.broadcast_to(eta, (2, 400)), 400)
    np.testing.assert_array_equal(words.concentrations, np.broadcast_to(eta, (2, 400)))


@pytest.mark.every(3)
@pytest.mark.parametrize("a", [1e-3, 0.1, 2.0])
def test_stand_ins_of_components(monkeypatch, a):
    monkeypatch.setattr(_counts, "MOST_DRAWN", 128)
    V, random = 2000, np.random.default_rng(0)
    few, features = of_mixtures._draws(np.full(V, a), LADDER), np.full((V, 2), a)
    few_features = of_mixtures._draws(features, LADDER)
    monkeypatch.setattr(_counts, "MOST_DRAWN", V)
    each = of_mixtures._draws(np.full(V, a), LADDER)
    each_feature = of_mixtures._draws(features, LADDER)
    for draw, draw_of_all in ((few, each), (few_features, each_feature)):
        some = np.array([draw(random) for _ in range(150)])
        of_all = np.array([draw_of_all(random) for _ in range(100)])
        assert equal_on_average(some[:, 1:], of_all[:, 1:])
        np.testing.assert_allclose(some[:, 0], 0, atol=1e-9)
        if a * V < 10:
            assert 0.7 < some[:, 3].std() / of_all[:, 3].std() < 1.4


# -- mixtures --------------------------------------------------------------------------

N_WORDS = 400


def texts(n, columns, seed=0):
    """Return short documents that alternate between the first and the last columns."""
    random, X = np.random.default_rng(seed), np.zeros((n, N_WORDS))
    halves = columns[: len(columns) // 2], columns[len(columns) // 3 :]
    for row in range(n):
        np.add.at(X[row], random.choice(halves[row % 2], 6), 1)
    return sparse.csr_array(X)


X, OTHERS = texts(80, np.arange(7, 67)), texts(40, np.arange(40, 100), 1)
FAMILIES = ("MultinomialMixture", "BernoulliMixture")


@pytest.fixture
def ties_are_ties(monkeypatch):
    """Round scores, because binary rows often have ties that rounding errors break."""
    exact = discrete.BernoulliFamily.log_predictive

    def rounded(family, block, tables, log_weights=0.0):
        return np.round(exact(family, block, tables), 9) + log_weights

    monkeypatch.setattr(discrete.BernoulliFamily, "log_predictive", rounded)


def with_missing(X):
    X = X.copy()
    X.data[::7] = np.nan
    return X


def with_zeros(X):
    X = X.copy()
    X.data[::5] = 0
    return X


def fitted(name, how="fit", data=X, **parameters):
    if name.startswith("Tempered"):
        parameters = {"tempering": GlobalTempering(8)} | parameters
    model = getattr(sktemper, name)(3, max_iter=5, random_state=0, **parameters)
    if how == "fit":
        return model.fit(data)
    if how == "weighted":
        return model.fit(data, sample_weight=np.arange(data.shape[0]) % 3)
    if how == "validated":
        model.set_params(evaluate_every=1, n_iter_no_change=2)
        return model.fit(data, X_val=OTHERS)
    for chunk in (data[:30], OTHERS, data[30:]):
        if how == "dense":
            chunk = chunk.toarray()
            if name.endswith("BernoulliMixture"):
                chunk = np.minimum(chunk, 1)
        model.partial_fit(chunk)
        if how == "pickled":
            model = pickle.loads(pickle.dumps(model))
    return model


def told_by(model):
    """Return the attributes and results of a fitted model."""
    return [
        model.components_,
        model.concentration_,
        model.weights_,
        model.history_["batch_bound"],
        model.lower_bound_,
        model.lower_bound(OTHERS),
        *(ask(rows) for ask in (model.transform, model.score_samples, model.score)
          for rows in (OTHERS, OTHERS.toarray())),
    ]  # fmt: skip


CASES = [
    ("Tempered", {}, "fit"),
    ("Tempered", {"tempering": LocalTempering(8)}, "fit"),
    ("Tempered", {"tempering": None}, "streamed"),
    ("Tempered", {}, "pickled"),
    ("Tempered", {"batch_size": 20, "learning_rate": AdaptiveRate(n_warmup_batches=2)},
     "fit"),
    ("Tempered", {"batch_size": 20, "gradient_noise": SVIPlusNoise(0.9, "gaussian")},
     "fit"),
    ("Annealed", {"moves": "all"}, "fit"),
    ("Annealed", {}, "weighted"),
    ("Tempered", {"tempering": None, "gradient_noise": SVIPlusNoise()}, "validated"),
]  # fmt: skip


@pytest.mark.every(23)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind, parameters, how", CASES)
def test_columns_that_are_alike_are_computed_once(
    monkeypatch, ties_are_ties, family, kind, parameters, how
):
    of_all = fitted(kind + family, how, **parameters)
    monkeypatch.setattr(wide_mixture, "MOST_DENSE_COLUMNS", 50)
    model = fitted(kind + family, how, **parameters)
    assert isinstance(model.state_.globals_.components, Wide)
    for ours, theirs in zip(told_by(model), told_by(of_all), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9)


@pytest.mark.every(5)
@pytest.mark.parametrize(
    "change, parameters",
    [
        (with_missing, {}),
        (with_zeros, {}),
        (with_missing, {"binarize": -1.0}),
        (with_zeros, {"binarize": 1.0}),
    ],
)
def test_binary_values_of_sparse_columns(
    monkeypatch, ties_are_ties, change, parameters
):
    of_all = fitted("TemperedBernoulliMixture", data=change(X), **parameters)
    monkeypatch.setattr(wide_mixture, "MOST_DENSE_COLUMNS", 50)
    model = fitted("TemperedBernoulliMixture", data=change(X), **parameters)
    assert isinstance(model.state_.globals_.components, Wide)
    for ours, theirs in zip(told_by(model), told_by(of_all), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9)


@pytest.mark.every(2)
@pytest.mark.parametrize("family", FAMILIES)
def test_many_columns_in_use_are_an_array(monkeypatch, ties_are_ties, family):
    wider = texts(60, np.arange(5, 300), 2)
    of_all = fitted("Tempered" + family).partial_fit(wider)
    monkeypatch.setattr(wide_mixture, "MOST_DENSE_COLUMNS", 50)
    model = fitted("Tempered" + family)
    assert isinstance(model.state_.globals_.components, Wide)
    model.partial_fit(wider)
    assert isinstance(model.state_.globals_.components, np.ndarray)
    for ours, theirs in zip(told_by(model), told_by(of_all), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9)
    dense = fitted("Tempered" + family, "dense")
    assert isinstance(dense.state_.globals_.components, np.ndarray)


@pytest.mark.every(2)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.machine
def test_bits_of_a_row_do_not_depend_on_others(monkeypatch, family):
    monkeypatch.setattr(wide_mixture, "MOST_DENSE_COLUMNS", 50)
    model = fitted("Annealed" + family)
    rows = texts(64, np.arange(0, 350, 5), 3)  # includes words without training counts
    for ask in (model.transform, model.score_samples):
        whole = ask(rows)
        parts = [ask(rows[start : start + 9]) for start in range(0, 64, 9)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)
    one, three = (fitted("Tempered" + family, n_jobs=n) for n in (1, 3))
    np.testing.assert_array_equal(one.components_, three.components_)


def test_damaged_columns_are_refused(monkeypatch):
    monkeypatch.setattr(wide_mixture, "MOST_DENSE_COLUMNS", 50)
    model = fitted("AnnealedMultinomialMixture")
    intact = model.state_.globals_
    columns = intact.components.columns
    too_large = columns.copy()
    too_large[-1] = N_WORDS
    for damaged in (columns[::-1].copy(), too_large, columns - 10.5, columns[1:]):
        components = Wide(damaged, *list(vars(intact.components).values())[1:])
        model.state_.globals_ = type(intact)(intact.weights, components)
        with pytest.raises(ValueError, match="cannot be loaded"):
            pickle.loads(pickle.dumps(model))
    model.state_.globals_ = intact
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))


# -- computing time --------------------------------------------------------------------

N_COLUMNS = 2_000_000
#: Limit of CPU seconds, about ten times the measured time. A computation with all
#: columns took longer than this limit.
MOST_SECONDS = 8.0


@pytest.mark.every(7)
@pytest.mark.parametrize(
    "name, parameters",
    [
        ("TemperedLDA", {}),
        ("TemperedLDA", {"tempering": "local"}),
        ("TemperedMultinomialMixture", {}),
        ("AnnealedMultinomialMixture", {}),
        ("TemperedBernoulliMixture", {}),
        ("AnnealedBernoulliMixture", {}),
    ],
)
def test_the_time_with_two_million_columns_depends_on_columns_in_use(name, parameters):
    random = np.random.default_rng(0)
    in_use = np.sort(random.choice(N_COLUMNS, 3000, replace=False))
    columns = in_use[random.integers(3000, size=200 * 20)]
    rows = np.repeat(np.arange(200), 20)
    X = sparse.csr_array((np.ones(4000), (rows, columns)), shape=(200, N_COLUMNS))
    model = getattr(sktemper, name)(2, max_iter=2, random_state=0, **parameters)
    begin = time.process_time()
    model.fit(X)
    assert time.process_time() - begin < MOST_SECONDS
    assert model.n_batch_iter_ >= 2


def test_few_of_many_words_are_drawn():
    words = of_topics._words(np.full((5, 1), 0.01), N_COLUMNS)
    assert words.concentrations.shape == (5, MOST_DRAWN)


def test_a_spectral_start_takes_less_memory_than_three_copies_of_the_topics():
    n_topics, n_words = 40, 20_000
    random = np.random.default_rng(0)
    words = random.integers(0, n_words, size=(500, 20))
    starts = np.arange(0, words.size + 1, 20)
    X = sparse.csr_array((np.ones(words.size), words.ravel(), starts))
    X.resize((500, n_words))
    lda = sktemper.AnnealedLDA(n_topics, random_state=0)
    model = new_model(lda, n_words)
    tracemalloc.start()
    try:
        model.initial_globals(X, np.random.RandomState(0))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * n_topics * n_words * 8

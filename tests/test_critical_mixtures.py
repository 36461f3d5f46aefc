"""Critical temperatures of discrete mixtures, and automatic priors of features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from sktemper import (
    AnnealedBernoulliMixture,
    AnnealedMultinomialMixture,
    critical_temperatures,
)
from sktemper.discrete_mixture._model import (
    BernoulliMixtureModel,
    MultinomialMixtureModel,
    NoiseSpectrum,
    auto_feature_prior,
    deviations_of_binary,
    deviations_of_counts,
)
from sktemper.model import Powers, Request
from sktemper.schedules import ExponentialSchedule


def answers(n_rows, n_items=18, n_levels=4, n_classes=4, eta=1.5, seed=0):
    """Return one-hot answers of a latent class model, and the classes."""
    random = np.random.default_rng(seed)
    y = random.integers(n_classes, size=n_rows)
    cuts = random.dirichlet(np.full(n_levels, eta), (n_classes, n_items)).cumsum(-1)
    code = (random.random((n_rows, n_items, 1)) > cuts[y]).sum(-1)
    return np.eye(n_levels)[np.minimum(code, n_levels - 1)].reshape(n_rows, -1), y


def yes_no(n_rows, n_items=24, n_classes=4, seed=0):
    """Return yes/no answers and classes; nine of ten answers are those of the class."""
    random = np.random.default_rng(seed)
    y = random.integers(n_classes, size=n_rows)
    chances = np.where(random.random((n_classes, n_items)) < 0.5, 0.9, 0.1)
    return (random.random((n_rows, n_items)) < chances[y]).astype(float), y


def documents(n_rows, length=20, n_words=150, n_classes=5, eta=0.1, seed=0):
    """Return word counts of documents with one topic each and different lengths."""
    random = np.random.default_rng(seed)
    y = random.integers(n_classes, size=n_rows)
    topics = random.dirichlet(np.full(n_words, eta), n_classes)
    return random.multinomial(random.poisson(length, n_rows) + 1, topics[y]), y


def with_gaps(X, seed=0):
    X = X.copy()
    X[np.random.default_rng(seed).random(X.shape) < 0.1] = np.nan
    return X


def dense(deviations):
    Z = deviations.matrix.toarray()
    Z = Z - np.outer(deviations.rows, deviations.columns)
    return np.sqrt(deviations.unit) * Z


def eigenvalues(Z):
    return np.linalg.svd(Z, compute_uv=False) ** 2


# -- the matrix whose eigenvalues are the critical temperatures ------------------------


def test_deviations_of_counts_are_those_of_the_definition():
    X, _ = documents(60)
    X[:5] = 0  # empty rows
    X[:, 7] = 0  # a word that does not occur
    tokens, words = X.sum(axis=1, keepdims=True), X.sum(axis=0)
    theta = words / words.sum()
    kept = words > 0
    Z = (X - tokens * theta)[:, kept] / np.sqrt(words[kept])
    assert_allclose(dense(deviations_of_counts(X)), Z[5:], atol=1e-12)
    found = dense(deviations_of_counts(sparse.csr_array(X * 2.0**900)))
    assert_allclose(found / 2.0**450, Z[5:], atol=1e-12)


def test_eigenvalues_of_binary_data_are_those_of_the_correlation_matrix():
    X, _ = yes_no(90)
    expected = np.linalg.eigvalsh(np.corrcoef(X.T))[::-1]
    assert_allclose(eigenvalues(dense(deviations_of_binary(X, 0.5))), expected)


@pytest.mark.parametrize("threshold", [0.5, 0.0, -0.5])
def test_gaps_and_thresholds_of_binary_data(threshold):
    X = with_gaps(yes_no(90)[0])
    X[:, 3] = 1.0  # a constant column
    if threshold < 0:
        X -= 1.0  # values become -1 and 0, and 0 is above the threshold
    is_there = ~np.isnan(X)
    ones, n = np.where(is_there, X > threshold, 0.0), is_there.sum(axis=0)
    p = ones.sum(axis=0) / n
    p[3] = 0.5
    Z = np.where(is_there, ones - p, 0.0) / np.sqrt(n * p * (1 - p))
    expected = np.delete(Z, 3, axis=1)
    expected = eigenvalues(expected)
    for given in X, sparse.csr_array(X):
        found = deviations_of_binary(given, threshold)
        assert_allclose(eigenvalues(dense(found)), expected, atol=1e-12)
        assert_allclose(found.n_observed, is_there.sum(axis=1))


@pytest.mark.parametrize(
    ("deviations", "X"),
    [
        (deviations_of_counts, documents(40)[0]),
        (lambda X, w=None: deviations_of_binary(X, 0.5, w), with_gaps(yes_no(40)[0])),
    ],
)
def test_weights_repeat_rows(deviations, X):
    weight = np.arange(len(X)) % 4.0
    repeated = deviations(np.repeat(X, weight.astype(int), axis=0))
    weighted = deviations(X, weight)
    expected = repeated.critical_temperatures(4)
    assert expected[0] > 1.5
    assert_allclose(weighted.critical_temperatures(4), expected, rtol=1e-6)
    # a common factor of the weights, even a small one, changes nothing
    fewer = deviations(X, np.full(len(X), 1e-3)).critical_temperatures(4)
    assert_allclose(fewer, deviations(X).critical_temperatures(4), rtol=1e-6)


# -- the phase transition --------------------------------------------------------------


def spreads(model, X, temperature, n_passes=80):
    """Return norms of the differences between nearly equal components, by passes."""
    random = np.random.default_rng(1)
    hyper = model.initial_hyper(X)
    block = model.take(X, slice(None))
    shares = np.full((len(X), model.n_components), 1.0 / model.n_components)
    shares *= 1.0 + 1e-5 * random.standard_normal(shares.shape)
    shares /= shares.sum(axis=1, keepdims=True)
    globals_ = model.target(
        model.statistics(block, shares, hyper), 1.0, Powers(), hyper
    )
    request = Request(Powers(1.0, 1.0, 1.0 / temperature), want=("statistics",))
    found = []
    for _ in range(n_passes):
        prepared = model.prepare(globals_, hyper)
        expected = model.family.expected(globals_.components)
        found.append(np.linalg.norm(expected.std(axis=0)))
        step = model.local_step(block, prepared, request)
        globals_ = model.target(step.statistics, 1.0, Powers(), hyper)
    return np.array(found)


@pytest.mark.every(3)
@pytest.mark.parametrize("kind", ["survey", "documents", "items", "gaps"])
def test_components_stay_equal_above_the_first_and_differ_below(kind):
    # with a concentration of 1/2, psi'(a + n) is 1/n up to O(1/n**3)
    if kind in ("survey", "documents"):
        X = answers(1500)[0] if kind == "survey" else documents(1500, n_words=60)[0]
        model = MultinomialMixtureModel(4, X.shape[1], feature_prior=0.5)
        found = deviations_of_counts(X)
    else:
        X = yes_no(1500)[0] if kind == "items" else with_gaps(yes_no(1500)[0])
        model = BernoulliMixtureModel(4, X.shape[1], feature_prior=0.5, threshold=0.5)
        found = deviations_of_binary(X, 0.5)
    critical = eigenvalues(dense(found))[0]
    assert critical > 2.0
    above, below = (spreads(model, X, r * critical) for r in (1.03, 0.97))
    assert above[-1] < 0.5 * above[-30]
    assert below[-1] > 2.0 * below[-30]
    assert_allclose(above[-1] / above[-2], 1.0 / 1.03, rtol=5e-3)
    assert_allclose(below[-1] / below[-2], 1.0 / 0.97, rtol=5e-3)


# -- noise -----------------------------------------------------------------------------


def test_noise_of_equal_rows_is_that_of_the_formula():
    signals = np.array([0.9, 2.0, 10.0])
    noise = NoiseSpectrum(0.3, np.ones(1), np.ones(1))
    edge = noise.edge()
    assert_allclose(noise.eigenvalue(edge), (1.0 + np.sqrt(0.3)) ** 2)
    for s in signals:
        assert_allclose(noise.variance((s + 1.0) * (s + 0.3) / s, edge), 1.0 + s)
    assert_allclose(noise.variance(1e25, edge), 1e25)  # huge counts


def test_noise_of_unequal_rows_is_that_of_a_simulation():
    random = np.random.default_rng(0)
    shares, sizes = np.array([0.5, 0.3, 0.2]), np.array([0.25, 1.0, 3.0])
    sizes /= shares @ sizes
    n_rows, n_columns, variance, largest, found = 400, 160, 6.0, [], []
    noise = NoiseSpectrum(n_columns / n_rows, sizes, shares)
    edge = noise.edge()
    scale = np.sqrt(np.repeat(sizes, (shares * n_rows).astype(int)) / n_rows)
    for _ in range(20):
        Z = scale[:, None] * random.standard_normal((n_rows, n_columns))
        largest.append(np.linalg.eigvalsh(Z.T @ Z)[-1])
        Z[:, 0] *= np.sqrt(variance)
        seen = np.linalg.eigvalsh(Z.T @ Z)[-1]
        found.append(noise.variance(seen, edge))
    # the edge is at 3.9, which finite samples approach from below; with equal row sizes
    # it would be 2.7
    assert 0.92 * noise.eigenvalue(edge) < np.mean(largest) < noise.eigenvalue(edge)
    # the standard deviation of a draw is 0.6; uncorrected values would be about 7.9
    assert_allclose(np.mean(found), variance, atol=0.45)


@pytest.mark.parametrize("seed", range(3))
def test_there_is_no_signal_in_noise(seed):
    random = np.random.default_rng(seed)
    coins = (random.random((400, 60)) < 0.5).astype(float)
    assert eigenvalues(dense(deviations_of_binary(coins, 0.5)))[0] > 1.6
    assert_allclose(critical_temperatures(AnnealedBernoulliMixture(8), coins), 1, 0.12)
    survey, _ = answers(400, n_classes=1, seed=seed)
    found = critical_temperatures(AnnealedMultinomialMixture(8), survey)
    assert_allclose(found, 1, atol=0.2)
    lengths = random.lognormal(3.0, 0.8, 500).astype(int) + 1
    text = random.multinomial(lengths, random.dirichlet(np.full(300, 0.5)))
    found = critical_temperatures(AnnealedMultinomialMixture(8), text)
    assert_allclose(found, 1, atol=0.4)


@pytest.mark.parametrize("draw", [yes_no, answers, documents])
def test_few_rows_give_the_temperatures_of_many(draw):
    estimator = AnnealedBernoulliMixture if draw is yes_no else None
    estimator = estimator or AnnealedMultinomialMixture
    X, _ = draw(8000)
    many = critical_temperatures(estimator(6), X)
    few = critical_temperatures(estimator(6), X[:200])
    assert_allclose(few[:2], many[:2], rtol=0.2)
    n_classes = 5 if draw is documents else 4
    assert many[n_classes - 2] > 1.2  # one fewer than the classes
    assert_allclose(many[n_classes - 1 :], 1.0, atol=0.1)


# -- input data ------------------------------------------------------------------------


def test_wide_sparse_data_are_those_of_their_filled_columns():
    X, _ = documents(300)
    columns = np.sort(np.random.default_rng(0).choice(50_000, X.shape[1], False))
    coo = sparse.coo_array(X)
    wide = sparse.csr_array(
        (coo.data, (coo.row, columns[coo.col])), shape=(len(X), 50_000)
    )
    estimator = AnnealedMultinomialMixture(5)
    assert_allclose(
        critical_temperatures(estimator, wide), critical_temperatures(estimator, X)
    )
    estimator = AnnealedBernoulliMixture(5)
    expected = critical_temperatures(estimator, (X > 0).astype(float))
    assert_allclose(critical_temperatures(estimator, wide), expected)


@pytest.mark.parametrize("seed", range(2))
def test_rows_of_large_data_are_sampled_evenly(seed):
    X, _ = yes_no(9001, seed=seed)
    estimator = AnnealedBernoulliMixture(4)
    expected = critical_temperatures(estimator, X[::3])
    assert_allclose(critical_temperatures(estimator, X), expected, rtol=1e-9)


def test_data_without_information():
    same = np.tile([1.0, 0.0, 1.0], (30, 1))
    for estimator in AnnealedBernoulliMixture(3), AnnealedMultinomialMixture(3):
        assert_allclose(critical_temperatures(estimator, same), 1.0)
        with pytest.raises(ValueError, match="no critical temperatures"):
            critical_temperatures(estimator, same[:5])
    everything_missing = np.full((30, 3), np.nan)
    found = critical_temperatures(AnnealedBernoulliMixture(3), everything_missing)
    assert_allclose(found, 1.0)


def test_annealing_begins_above_the_first_critical_temperature():
    X, _ = answers(600)
    estimator = AnnealedMultinomialMixture(4, moves=None, max_iter=20, random_state=0)
    first = critical_temperatures(estimator, X)[0]
    fitted = estimator.fit(X)
    assert_allclose(fitted.schedule_.start, 1.2 * first)
    as_given = estimator.set_params(schedule=ExponentialSchedule(start=18)).fit(X)
    assert as_given.schedule_.start == 18


# -- the prior of words ----------------------------------------------------------------


@pytest.mark.parametrize("concentration", [0.2, 0.7])
def test_prior_of_words_is_the_one_that_drew_them(concentration):
    X, _ = documents(3000, 40, 200, 20, concentration)
    assert_allclose(auto_feature_prior(X, 20), concentration, rtol=0.25)
    weight = np.arange(len(X)) % 3.0
    repeated = np.repeat(X, weight.astype(int), axis=0)
    assert_allclose(auto_feature_prior(X, 20, weight), auto_feature_prior(repeated, 20))
    assert_allclose(auto_feature_prior(sparse.csr_array(X), 20), concentration, 0.25)
    assert auto_feature_prior(documents(300, 40, 200, 20, 0.02)[0], 2) == 0.1


def test_prior_of_answers_is_uniform():
    X, _ = answers(60)
    assert auto_feature_prior(X, 1) == 1.0
    X[:, :4] = 0.0  # a question that nobody answered
    assert auto_feature_prior(X, 1) == 1.0
    # a tenth of the tokens, over 10 components and 72 columns
    assert_allclose(auto_feature_prior(X, 10), 0.1 * 60 * 17 / (10 * 72))
    assert auto_feature_prior(X, 30) == 0.1


def test_default_of_the_automatic_prior():
    assert auto_feature_prior(np.eye(4), 1) == 0.1  # one token per row
    assert auto_feature_prior(np.full((3, 4), 0.7), 1) == 0.1  # not counts
    assert auto_feature_prior(np.zeros((3, 4)), 1) == 0.1
    assert auto_feature_prior(np.diag([1e300, 1e300]), 1) == 0.1


def test_prior_in_use_is_reported():
    X, _ = answers(200)
    short = {"max_iter": 3, "moves": None}
    assert AnnealedMultinomialMixture(4, **short).fit(X).feature_prior_ == 1.0
    given = AnnealedMultinomialMixture(4, feature_prior=0.25, **short).fit(X)
    assert given.feature_prior_ == 0.25
    assert AnnealedBernoulliMixture(4, **short).fit(X).feature_prior_ == 1.0
    with pytest.raises(ValueError, match="feature_prior"):
        AnnealedBernoulliMixture(4, feature_prior="auto").fit(X)


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", range(2))
def test_classes_of_surveys_are_found(seed):
    X, y = answers(400, 60, 4, 8, 2.0, seed)
    labels = AnnealedMultinomialMixture(8, random_state=seed).fit(X).labels_
    assert adjusted_rand_score(y, labels) > 0.95


def test_the_dimensions_of_noise_are_the_sum_of_all_eigenvalues():
    X = np.random.default_rng(0).poisson(0.3, size=(400, 900))
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=400)
    found = deviations_of_counts(X, weight)
    dense = found.matrix.toarray() - np.outer(found.rows, found.columns)
    total = min(found.unit * (dense**2).sum(), X.shape[1])
    assert total < X.shape[1]
    assert found._noise().ratio == pytest.approx(total / found.n_rows)

"""Mixtures of multinomials and Bernoullis, compared with enumeration and scipy."""

import itertools
import pickle

import numpy as np
import pytest
from fits import documents_of, fitted_model
from scipy import sparse, stats
from scipy.special import logsumexp
from sklearn.base import clone

from sktemper import (
    AnnealedBernoulliMixture,
    AnnealedMultinomialMixture,
    TemperedBernoulliMixture,
    TemperedMultinomialMixture,
)
from sktemper._families import _mixture
from sktemper.discrete_mixture._model import (
    BernoulliMixtureModel,
    MultinomialMixtureModel,
)
from sktemper.model import LocalStep, Request
from sktemper.tempering import GlobalTempering, LocalTempering, SizedPartition
from sktemper.testing import check_model

WEIGHTS = ("dirichlet_distribution", "dirichlet_process")


def classes(n_samples=400, n_components=4, n_features=24, seed=0):
    """Return binary data, and the class of each sample."""
    random = np.random.default_rng(seed)
    probabilities = random.beta(0.3, 0.3, size=(n_components, n_features))
    y = random.integers(n_components, size=n_samples)
    return (random.random((n_samples, n_features)) < probabilities[y]).astype(float), y


def texts(n_samples=400, n_components=4, n_features=60, seed=0):
    """Return counts of short documents, and the topic of each."""
    random = np.random.default_rng(seed)
    topics = random.dirichlet(np.full(n_features, 0.1), n_components)
    y = random.integers(n_components, size=n_samples)
    lengths = random.integers(4, 20, size=n_samples)
    return np.array([random.multinomial(*a) for a in zip(lengths, topics[y])]), y  # noqa: B905


def with_missing(X, share=0.3):
    return np.where(np.random.default_rng(1).random(X.shape) < share, np.nan, X)


@pytest.mark.every(2)
@pytest.mark.parametrize("weight_prior", WEIGHTS)
def test_the_models_pass_all_checks(weight_prior):
    """The rows have different lengths, unlike those of the registry."""
    X = texts(20, n_features=6)[0].astype(float)
    check_model(MultinomialMixtureModel(3, 6, weight_prior=weight_prior), X)
    X = with_missing(classes(20, n_features=6)[0])
    check_model(BernoulliMixtureModel(3, 6, weight_prior=weight_prior), X)


# -- the log partition function, log C -------------------------------------------------

LADDER = np.array([1.0, 0.7, 0.3])


def drawn(model, n_samples=1):
    """Return log C, and the random weights and parameters of its estimate."""
    hyper = model.initial_hyper(np.ones((2, model.n_features)))
    partition = model.log_partition(
        LADDER, hyper, np.random.default_rng(3), None, n_samples
    )
    return partition, np.exp(partition.log_weights[:, :, 0])


@pytest.mark.parametrize("weight_prior", WEIGHTS)
def test_log_c_of_documents_is_that_of_enumeration(weight_prior, monkeypatch):
    words = []

    def kept(concentration, random):
        words.append(np.log(random.dirichlet(concentration)))
        return words[-1]

    monkeypatch.setattr("sktemper.discrete_mixture._model.log_draws", kept)
    model = MultinomialMixtureModel(3, 4, weight_prior=weight_prior, feature_prior=0.8)
    partition, pi = drawn(model)
    np.testing.assert_allclose(pi.sum(axis=1), 1.0)
    beta = np.exp(words)
    for n_tokens in range(4):
        joint = [
            weight * np.prod(beta[k, list(document)])
            for k, weight in enumerate(pi[0])
            for document in itertools.product(range(4), repeat=n_tokens)
        ]
        expected = [np.log(np.sum(np.power(joint, b))) for b in LADDER]
        found = partition.of_rows(np.array([n_tokens, 2, n_tokens]))
        np.testing.assert_allclose(found[[0, 2]], [expected] * 2, rtol=1e-9, atol=1e-12)


def test_log_c_of_binary_data_is_that_of_enumeration(monkeypatch):
    chances = []

    def kept(concentration, random):
        one = random.beta(*concentration.T)
        chances.append(np.stack([one, 1 - one], axis=-1))
        return np.log(chances[-1])

    monkeypatch.setattr("sktemper.discrete_mixture._model.log_draws", kept)
    partition, pi = drawn(BernoulliMixtureModel(2, 4))
    joint = [
        weight * np.prod(chances[k][range(4), list(values)])
        for k, weight in enumerate(pi[0])
        for values in itertools.product(range(2), repeat=4)
    ]
    expected = [np.log(np.sum(np.power(joint, b))) for b in LADDER]
    found = partition.of_rows(np.array([4]))[0]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_start_from_some_rows_counts_all(monkeypatch):
    monkeypatch.setattr(_mixture, "ROWS_COMPARED", 50)
    X, weight = documents_of(400), np.linspace(0.0, 2.0, 400)
    model = MultinomialMixtureModel(3, X.shape[1])
    hyper = model.initial_hyper(X, weight)
    globals_ = model.initial_globals(X, np.random.RandomState(0), hyper, weight)
    prior = model.weights.prior(hyper.weight_concentration)
    counts = model.weights.counts(globals_.weights - prior)
    assert counts.sum() == pytest.approx(weight.sum())


def test_log_c_is_a_mean_over_draws_and_takes_priors():
    model = MultinomialMixtureModel(5, 30)
    hyper = model.initial_hyper(np.ones((2, 30)))
    random = np.random.default_rng(0)
    for priors in (None, "global", (0.1, 0.5)):
        partition = model.log_partition(LADDER, hyper, random, priors, 6)
        values = partition.of_rows(np.array([0.0, 3.0, 7.5]))
        assert values.shape == (3, 3)
        assert (np.diff(values, axis=1) > 0).all()  # it grows with the temperature
    for bad in (0.3, (0.1, -1.0), (1.0, np.nan)):
        with pytest.raises(ValueError, match="partition_priors"):
            model.log_partition(LADDER, hyper, random, bad, 6)


def test_sums_of_log_c_add_up_and_are_weighted():
    rows = np.random.default_rng(0).random((4, 3))
    step = LocalStep.of_rows(
        row_observed=np.ones(4), row_bounds=np.ones(4), n_iterations=4, statistics=0.0
    ).with_log_partitions(rows)
    np.testing.assert_allclose((step + step).log_partition, 2 * rows.sum(axis=0))
    weights = np.array([0.0, 2.0, 1.0, 0.5])
    weighted = step.weighted(weights)
    np.testing.assert_allclose(weighted.log_partition, weights @ rows)
    assert (step + step.with_log_partitions(None)).log_partition.shape == (3,)


def test_global_temperatures_are_inferred_with_the_log_c_of_the_rows():
    X = texts(60)[0].astype(float)
    policy = GlobalTempering(n_temperatures=6, cap=None, smoothing=0.5)
    model = MultinomialMixtureModel(3, 60)
    random = np.random.RandomState(0)
    hyper = model.initial_hyper(X)
    prepared = model.prepare(model.initial_globals(X, random, hyper), hyper)
    state = policy.initial_state(model, hyper, np.random.default_rng(0))
    block = model.take(X, slice(None))
    sizes, means = X.sum(axis=1), []
    for scale in (1.0, 2.0):
        step = policy.local_step(model, block, prepared, Request(), state)
        log_c = state.partition.given.of_rows(sizes).sum(axis=0)
        np.testing.assert_allclose(step.log_partition, log_c)
        state = policy.next_state(state, step, scale, None)
        b, total = state.inverse_temperatures, scale * sizes.sum()
        logits = total * (b * step.score - log_c) / sizes.sum()
        expected = np.exp(logits - logsumexp(logits))
        np.testing.assert_allclose(state.probabilities, expected, atol=1e-9)
        means.append(state.log_partition)
    np.testing.assert_allclose(means[0], means[1])
    assert isinstance(pickle.loads(pickle.dumps(state)).partition, SizedPartition)


def test_local_temperatures_are_inferred_with_the_log_c_of_each_row():
    X = with_missing(classes(50)[0])
    estimator = TemperedBernoulliMixture(
        3, tempering=LocalTempering(n_temperatures=5), max_iter=30, random_state=0
    ).fit(X)
    model, state = fitted_model(estimator), estimator.state_
    policy, block = estimator.tempering_, model.take(X, slice(None))
    prepared = model.prepare(state.globals_, state.hyper)
    local = model.local_step(block, prepared, Request(want=("score", "local")))
    sizes = (~np.isnan(X)).sum(axis=1)
    log_c = np.array(
        [state.policies.tempering.partition.given.of_rows([n])[0] for n in sizes]
    )
    logits = (
        local.row_scores[:, None] * state.policies.tempering.inverse_temperatures
        - log_c
    )
    expected = np.exp(logits - logsumexp(logits, axis=1, keepdims=True))
    found = policy.responsibilities(state.policies.tempering, local)
    np.testing.assert_allclose(found, expected, atol=1e-10)
    assert (estimator.temperatures(X) >= 1).all()


# -- the mathematics -------------------------------------------------------------------


def test_scores_are_those_of_dirichlet_multinomials():
    X, _ = texts(40, n_features=8)
    fitted = TemperedMultinomialMixture(3, tempering=None, random_state=0).fit(X)
    logs = [
        stats.dirichlet_multinomial.logpmf(x, fitted.concentration_, x.sum())
        - stats.multinomial.logpmf(x, x.sum(), np.full(8, 1 / 8))
        - x.sum() * np.log(8)
        for x in X
    ]
    expected = logsumexp(logs + np.log(fitted.weights_), axis=1)
    np.testing.assert_allclose(fitted.score_samples(X), expected, rtol=1e-9)
    assert fitted.score(X) == pytest.approx(expected.sum() / X.sum())
    assert fitted.perplexity(X) == pytest.approx(np.exp(-fitted.score(X)))


def test_scores_of_binary_data_leave_out_what_is_missing():
    X = with_missing(classes(60)[0])
    fitted = TemperedBernoulliMixture(3, tempering=None, random_state=0).fit(X)
    logs = np.stack(
        [stats.bernoulli.logpmf(np.nan_to_num(X), p) for p in fitted.components_]
    )
    expected = np.where(np.isnan(X), 0.0, logs).sum(axis=2).T + np.log(fitted.weights_)
    expected = logsumexp(expected, axis=1)
    np.testing.assert_allclose(fitted.score_samples(X), expected, rtol=1e-9)
    nothing = np.full((1, X.shape[1]), np.nan)
    assert fitted.score_samples(nothing) == pytest.approx(0.0, abs=1e-12)
    log_weights = fitted_model(fitted).weights.expected_log(
        fitted.state_.globals_.weights
    )
    np.testing.assert_allclose(
        fitted.predict_proba(nothing)[0], np.exp(log_weights - logsumexp(log_weights))
    )


# -- fits ------------------------------------------------------------------------------


def test_binarize():
    X, _ = classes(100)
    one = AnnealedBernoulliMixture(3, random_state=0, moves=None)
    strict = clone(one).set_params(binarize=None)
    shifted = clone(one).set_params(binarize=5.0)
    expected = one.fit(X).components_
    np.testing.assert_array_equal(strict.fit(X).components_, expected)
    np.testing.assert_array_equal(shifted.fit(10 * X).components_, expected)
    with pytest.raises(ValueError, match="takes values of 0 and 1"):
        strict.fit(2 * X)


def test_hostile_input_is_refused():
    X, _ = texts(20)
    with pytest.raises(ValueError, match="sample_weight of"):
        AnnealedMultinomialMixture(2).fit(1e25 * X, sample_weight=np.full(20, 1e9))
    with pytest.raises(ValueError, match="feature_prior"):
        AnnealedMultinomialMixture(2, feature_prior=1e-40).fit(X)
    with pytest.raises(ValueError, match="n_samples >= n_components"):
        AnnealedMultinomialMixture(21).fit(X)


def test_components_of_long_indices_are_split():
    """scipy makes such indices from the pairs of numpy.nonzero."""
    X = texts()[0]
    long = sparse.csr_array((X[X > 0], np.nonzero(X)), X.shape)
    assert long.indices.dtype == np.int64
    mixture = AnnealedMultinomialMixture(6, max_iter=5, random_state=0)
    one, other = clone(mixture).fit(X), clone(mixture).fit(long)
    np.testing.assert_array_equal(one.components_, other.components_)


def test_many_more_counts_keep_the_digits_of_a_score():
    """The score stays accurate although Gamma functions of huge counts cancel."""
    X = texts(60)[0].astype(float)
    mixture = AnnealedMultinomialMixture(2, moves=None, max_iter=30, random_state=0)
    scores = [mixture.fit(X * k).score(X) for k in (1e6, 1e13, 1e20)]
    np.testing.assert_allclose(scores, scores[0], rtol=1e-6)
    assert scores[0] < 0

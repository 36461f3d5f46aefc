"""Fits to data of which some components are known."""

import itertools

import numpy as np
import pytest
import sklearn
from registry import ROWS
from scipy.special import betaln, gammaln, logsumexp, psi, softmax
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sktemper import AnnealedBernoulliMixture, AnnealedGaussianMixture
from sktemper._families import _mixture
from sktemper.model import Powers, Request
from sktemper.moves import BirthMoves, MoveSequence, SplitMergeMoves
from sktemper.tempering import LocalTempering

MIXTURES = [
    "GaussianMixture",
    "StudentMixture",
    "BernoulliMixture",
    "MultinomialMixture",
    "MixedMixture",
]
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def log_evidence(X, z, n_components, prior, concentration):
    """Return log p(X, z) of a Bernoulli mixture, all parameters integrated out."""
    counts = np.bincount(z, minlength=n_components)
    ones = np.stack([X[z == k].sum(axis=0) for k in range(n_components)])
    rest = counts[:, None] - ones
    parts = betaln(prior + ones, prior + rest) - betaln(prior, prior)
    total = gammaln(n_components * concentration) - gammaln(
        n_components * concentration + len(z)
    )
    shares = gammaln(concentration + counts) - gammaln(concentration)
    return parts.sum() + total + shares.sum()


def test_the_bound_is_the_evidence_if_all_components_are_known():
    random = np.random.default_rng(0)
    X, z = (random.random((12, 4)) < 0.5) * 1.0, random.integers(3, size=12)
    mixture = AnnealedBernoulliMixture(3, random_state=0).fit(X, labels=z)
    given = mixture.feature_prior_, mixture.weight_concentration_prior_
    exact = log_evidence(X, z, 3, *given)
    assert mixture.lower_bound_ == pytest.approx(exact, rel=1e-12)
    assert np.array_equal(mixture.labels_, z)
    both = mixture.fit(X, labels=np.eye(3)[z])  # the same as probabilities
    assert both.lower_bound_ == pytest.approx(exact, rel=1e-12)


def test_the_bound_is_below_the_evidence_and_near():
    """The evidence is the sum over all components that labels admit."""
    random = np.random.default_rng(1)
    X = (random.random((9, 6)) < np.repeat([[0.95], [0.05], [0.95]], 3, axis=0)) * 1.0
    labels = np.full((9, 2), 0.5)
    labels[0], labels[4], labels[8] = (1, 0), (0, 1), (0.7, 0.3)
    mixture = AnnealedBernoulliMixture(2, random_state=0).fit(X, labels=labels)
    given = 2, mixture.feature_prior_, mixture.weight_concentration_prior_
    with np.errstate(divide="ignore"):
        logs = np.log(labels)
    exact = logsumexp(
        [
            log_evidence(X, np.array(z), *given) + logs[np.arange(9), z].sum()
            for z in itertools.product(range(2), repeat=9)
        ]
    )
    # mean-field bounds leave out at most half a nat for each parameter here
    assert exact - 7.0 < mixture.lower_bound_ <= exact


def test_a_start_has_the_likelihood_and_not_the_shares_of_known_rows():
    random = np.random.default_rng(0)
    z = random.choice(3, size=80, p=[0.1, 0.3, 0.6])
    X = (random.random((80, 5)) < random.beta(2, 2, size=(3, 5))[z]) * 1.0
    labels = np.where(np.arange(80) < 40, z, -1)
    mixture = AnnealedBernoulliMixture(3, random_state=0).fit(X, labels=labels)
    model, hyper = mixture._fitted_model(), mixture.state_.hyper
    start = model.labelled_globals(X, random, hyper, None, labels)
    shares = (labels[:, None] == np.arange(3)) * 1.0
    ones, zeros = (mixture.feature_prior_ + shares.T @ one for one in (X, 1 - X))
    logs = X @ psi(ones).T + (1 - X) @ psi(zeros).T - psi(ones + zeros).sum(axis=1)
    shares[labels < 0] = softmax(logs[labels < 0], axis=1)
    counts = model.component_counts(start, hyper)
    np.testing.assert_allclose(counts, shares.sum(axis=0))


@pytest.mark.parametrize("name", MIXTURES)
def test_labels_have_the_power_of_the_likelihood(name):
    row = ROWS[name]
    X = row.data(120)
    mixture = row.estimator("Annealed", n_components=3).fit(X)
    state, model = mixture.state_, mixture._fitted_model()
    block = model.take(mixture._validate(X, reset=False), slice(0, 9))
    prepared = model.prepare(state.globals_, state.hyper)
    labels = np.random.default_rng(0).dirichlet(np.ones(3), size=9)
    request = Request(Powers(1.0, 1.0, 0.4), want=("local",))
    plain, known = (
        model.local_step(block, prepared, request._replace(labels=given))
        for given in (None, labels)
    )
    logs = np.log(plain.local_parameters) + 0.4 * np.log(labels)
    expected = softmax(logs, axis=1)
    np.testing.assert_allclose(known.local_parameters, expected, atol=1e-6)


@pytest.mark.every(3)
@pytest.mark.parametrize("batch_size", [None, 3])
@pytest.mark.parametrize("name", MIXTURES)
def test_bounds_and_posteriors_are_those_of_enumeration(name, batch_size):
    row = ROWS[name]
    X, options = row.data(120)[:7], {"n_components": 3, "batch_size": batch_size}
    labels = np.full((7, 3), 1 / 3)
    labels[0], labels[1], labels[2] = (1, 0, 0), (0, 1, 0), (0, 0.4, 0.6)
    mixture = row.estimator("Annealed", **options, max_iter=30).fit(X, labels=labels)
    state, model = mixture.state_, mixture._fitted_model()
    block = model.take(mixture._validate(X, reset=False), slice(0, 7))
    logs = model.log_shares(block, state.globals_, state.hyper)
    with np.errstate(divide="ignore"):
        logs = logs + np.log(labels)
    codes = np.array(list(itertools.product(range(3), repeat=7)))
    totals = logs[np.arange(7), codes].sum(axis=1)
    bound = logsumexp(totals) + model.global_bound(state.globals_, state.hyper)
    assert mixture.lower_bound_ == pytest.approx(bound, rel=1e-9)
    shares = np.exp(totals - logsumexp(totals))
    marginals = [[shares[codes[:, n] == k].sum() for k in range(3)] for n in range(7)]
    assert np.array_equal(mixture.labels_, np.argmax(marginals, axis=1))
    counts = model.component_counts(state.globals_, state.hyper)
    if batch_size is None:  # the posterior is the optimum for these marginals
        expected = np.sum(marginals, axis=0)
        np.testing.assert_allclose(counts, expected, atol=0.05)


@pytest.mark.every(2)
@pytest.mark.parametrize("name", MIXTURES)
def test_labels_name_components(name):
    row = ROWS[name]
    X = row.data(120)
    truth = row.estimator("Annealed", n_components=3).fit(X).labels_
    random = np.random.default_rng(0)
    names = random.permutation(4)
    labels = np.where(random.random(120) < 0.3, names[truth], -1)
    moves = MoveSequence([SplitMergeMoves(3), BirthMoves(2)])
    mixture = row.estimator("Annealed", n_components=4, max_iter=50, moves=moves)
    found = mixture.fit_predict(X, labels=labels)
    known = labels >= 0
    assert np.array_equal(found[known], labels[known])
    assert (found == names[truth]).mean() > 0.8
    assert len(mixture.history_["move_step"]) > 0
    other = clone(mixture).set_params(n_jobs=2, verbose=1).fit(X, labels=labels)
    assert np.array_equal(other.weights_, mixture.weights_)


def clusters(n_samples=400, seed=0):
    """Two classes of two clusters each, which no unlabelled fit can know."""
    random = np.random.default_rng(seed)
    cell = random.integers(4, size=n_samples)
    centres = np.array([[0, 0], [3, 3], [0, 3], [3, 0]])
    return centres[cell] + 0.8 * random.normal(size=(n_samples, 2)), cell // 2


@pytest.mark.parametrize("tempering", [None, LocalTempering(10)])
def test_weights_are_repetitions(tempering):
    X, y = clusters(60)
    labels = np.where(np.arange(60) % 2, y, -1)
    weight = np.random.default_rng(0).integers(3, size=60)
    mixture = ROWS["GaussianMixture"].estimator(
        "Tempered", n_components=2, tempering=tempering, covariance_type="full"
    )
    one = clone(mixture).fit(X, sample_weight=weight, labels=labels)
    repeated, again = (np.repeat(part, weight, axis=0) for part in (X, labels))
    other = mixture.fit(repeated, labels=again)
    np.testing.assert_allclose(one.means_, other.means_, rtol=1e-6)


def test_starts_stand_for_all_rows_and_equal_classes(monkeypatch):
    """Rows that tell nothing are divided equally, not as the labels of the others."""
    monkeypatch.setattr(_mixture, "ROWS_COMPARED", 50)
    labels = np.repeat([0, 1, -1], [30, 10, 360])
    X, weight = np.ones((400, 3)), np.where(labels < 0, 2.0, 1.0)
    mixture = AnnealedBernoulliMixture(2, moves=None, random_state=0)
    mixture.fit(X, sample_weight=weight, labels=labels)
    model, hyper = mixture._fitted_model(), mixture.state_.hyper
    given = X, np.random.RandomState(0), hyper, weight, labels
    counts = model.component_counts(model.labelled_globals(*given), hyper)
    assert counts.sum() == pytest.approx(weight.sum())
    looked_at = np.array([30 + 45, 10 + 45])
    np.testing.assert_allclose(counts / counts.sum(), looked_at / 130, atol=0.05)


def test_moves_know_the_labels_of_their_rows(monkeypatch):
    """Also of some of the rows, if there are many."""
    random, sizes = np.random.default_rng(0), []
    labels = random.integers(-1, 3, 300)
    X = labels[:, None] * 9.0 + random.normal(size=(300, 2))
    moved = _mixture.MixtureModel._moved

    def watched(model, block, *rest):
        own = np.rint(np.mean(block, axis=1) / 9)
        sizes.append(len(own))
        assert np.array_equal(model.known, own)
        return moved(model, block, *rest)

    monkeypatch.setattr(_mixture.MixtureModel, "_moved", watched)
    moves = MoveSequence([SplitMergeMoves(2, max_samples=70), BirthMoves(2)])
    AnnealedGaussianMixture(4, moves=moves, random_state=0).fit(X, labels=labels)
    assert {70, 300} <= set(sizes)


def test_a_search_routes_labels():
    X, y = clusters(120)
    labels = np.where(np.arange(120) % 4, -1, y)
    mixture = AnnealedGaussianMixture(2, moves=None, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            mixture.set_fit_request(labels=True),
            {"covariance_type": ["full", "diag"]},
            scoring="adjusted_rand_score",
            cv=2,
        ).fit(X, y, labels=labels)
    best = search.best_estimator_
    assert np.array_equal(best.labels_[::4], y[::4])


def test_unknown_components_change_nothing():
    X = (
        np.random.default_rng(0).normal(size=(90, 2))
        + 6.0 * np.eye(3, 2)[np.arange(90) % 3]
    )
    mixture = AnnealedGaussianMixture(4, random_state=0)
    expected = clone(mixture).fit(X)
    for labels in np.full(90, -1), np.full((90, 4), 0.25):
        mixture.fit(X, labels=labels)
        np.testing.assert_array_equal(mixture.means_, expected.means_)
        assert (np.diff(mixture.weights_) <= 0).all()


def test_large_data_and_parts():
    X, y = clusters(5000)
    labels = np.where(np.arange(5000) % 50, -1, y)
    options = {"n_components": 2, "covariance_type": "full", "random_state": 0}
    options |= {"moves": None, "max_iter": 8}
    whole = AnnealedGaussianMixture(**options).fit(X, labels=labels)
    parts = AnnealedGaussianMixture(**options).fit([X[:2000], X[2000:]], labels=labels)
    np.testing.assert_allclose(whole.means_, parts.means_, rtol=1e-6)
    assert np.array_equal(whole.labels_[::50], y[::50])
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    found = AnnealedGaussianMixture(**options).fit(gaps, labels=labels)
    assert np.array_equal(found.labels_[::50], y[::50])


@pytest.mark.parametrize(
    "labels, message",
    [
        (np.zeros(59), r"labels has shape \(59,\); expected \(60,\), or \(60, 3\)"),
        (np.full(60, 3), "from 0 to 2, or -1"),
        (np.full(60, -2), "from 0 to 2, or -1"),
        (np.full(60, 0.5), "from 0 to 2, or -1"),
        (np.full(60, np.nan), "labels contains NaN"),
        (np.full((60, 3), 0.5), "rows must sum to 1"),
        (np.tile([1.5, -0.5, 0.0], (60, 1)), "must not be negative"),
        (["a"] * 60, "labels must be numbers.* such as .*'a'"),
        (np.arange(60) < 9, "labels must be numbers.* such as .*True"),
        (np.array([0, None] * 30), "labels contains NaN: .* use the index -1"),
        (np.array([0, False] * 30, dtype=object), "labels must be numbers.* False"),
    ],
)
def test_wrong_labels_are_refused(labels, message):
    X, _ = clusters(60)
    mixture = AnnealedGaussianMixture(3, random_state=0).fit(X)
    before = mixture.means_
    with pytest.raises(ValueError, match=message):
        mixture.fit(X, labels=labels)
    assert np.array_equal(mixture.means_, before)


def test_labels_without_values_are_refused_if_masked():
    X, y = clusters(60)
    mixture = AnnealedGaussianMixture(2, random_state=0)
    with pytest.raises(TypeError, match="labels is a masked array"):
        mixture.fit(X, labels=np.ma.masked_less(y, 1))


def test_fits_continue_with_labels():
    X, y = clusters(60)
    labels = np.where(np.arange(60) % 2, y, -1)
    options = {"random_state": 0, "warm_start": True, "max_iter": 3}
    mixture = AnnealedGaussianMixture(2, moves=BirthMoves(2), **options)
    for _ in range(3):
        mixture.fit(X, labels=labels)
    assert np.array_equal(mixture.labels_[1::2], y[1::2])


def test_components_keep_their_labels_in_fits_that_continue_without():
    random, y = np.random.default_rng(0), np.repeat([0, 1], [20, 40])
    X = random.normal(size=(60, 2)) + 9 * y[:, None]  # by size, label 1 is the first
    options = {"warm_start": True, "max_iter": 3, "moves": None, "random_state": 0}
    mixture = AnnealedGaussianMixture(2, **options)
    assert np.array_equal(mixture.fit(X, labels=y).fit(X).labels_, y)
    assert np.array_equal(mixture.set_params(warm_start=False).fit(X).labels_, 1 - y)

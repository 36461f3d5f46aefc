"""Factorization of implicit feedback, compared with brute force over all pairs."""

import pickle

import numpy as np
import oracles
import pytest
from fits import StopAt, clicks_of, fitted_model, new_model
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.metrics import ndcg_score
from sktemper._simd.special import aligned

from sktemper import ImplicitFactorization
from sktemper.implicit_factorization import _kernels
from sktemper.implicit_factorization._pairs import Pairs
from sktemper.model import Request
from sktemper.model import Stopped as StoppedByCtrlC

pytestmark = [
    pytest.mark.filterwarnings("ignore:The lower bound still changed"),
    pytest.mark.filterwarnings("ignore:.*did not converge"),
    pytest.mark.filterwarnings("ignore:The stored numbers of X"),
]


def halves(values):
    return values / 2


def matrix_of(n_users=23, n_items=9, seed=0):
    """Return values of a third of the pairs; a user and an item have none.

    The values are from 0.5 to 2.
    """
    random = np.random.default_rng(seed)
    X = random.integers(1, 5, (n_users, n_items)) / 2
    X[random.random(X.shape) < 0.65] = 0
    X[4], X[:, 2] = 0, 0
    return sparse.csr_array(X)


def tastes(n_users=300, n_items=80, n_kinds=4, seed=0):
    """Return clicks of users who each prefer one kind of items, and these kinds."""
    random = np.random.default_rng(seed)
    users, items = random.integers(n_kinds, size=n_users), np.arange(n_items) % n_kinds
    popular = random.beta(1, 3, n_items)
    chances = np.where(users[:, None] == items, 0.9, 0.05) * popular
    clicks = random.random(chances.shape) < chances
    return sparse.csr_array(clicks.astype(np.float64)), users, items


# -- brute force -----------------------------------------------------------------------


class BruteForce:
    """The same inference with dense arrays of all pairs of users and items.

    Parameters
    ----------
    weights, targets : ndarray of shape (n_users, n_items)
        Weights and targets of all pairs, stored or not.
    init : ndarray of shape (n_items, d)
    """

    def __init__(self, weights, targets, init):
        self.w, self.y, self.d = weights, targets, init.shape[1]
        self.noise = (weights * targets**2).sum() / weights.sum()
        variance = np.sqrt(self.noise)
        self.user_prior = np.zeros(self.d), variance * np.eye(self.d)
        self.item_prior = self.user_prior
        covariance = 0.01 * variance * np.eye(self.d)
        self.items = init, np.tile(covariance, (len(init), 1, 1))
        self.is_start = True

    @staticmethod
    def second(posterior):
        means, covariances = posterior
        return covariances + means[:, :, None] * means[:, None, :]

    def natural(self, weights, targets, others, scale=1.0):
        """Sums over all pairs for one side: precisions, and precisions times means."""
        precision = np.einsum("ij,jab->iab", weights, self.second(others))
        linear = (weights * targets) @ others[0]
        return scale / self.noise * precision, scale / self.noise * linear

    @staticmethod
    def posterior(prior, precision, linear):
        mean, covariance = prior
        covariances = np.linalg.inv(np.linalg.inv(covariance) + precision)
        linear = linear + np.linalg.solve(covariance, mean)
        return np.einsum("iab,ib->ia", covariances, linear), covariances

    def users(self):
        return self.posterior(
            self.user_prior, *self.natural(self.w, self.y, self.items)
        )

    def residual(self, users):
        """The sum of w E(y - u . v)^2 over all pairs."""
        means = users[0] @ self.items[0].T
        squares = np.einsum("iab,jab->ij", self.second(users), self.second(self.items))
        return (self.w * (self.y**2 - 2 * self.y * means + squares)).sum()

    def best_prior(self, posterior):
        mean = posterior[0].mean(axis=0)
        return mean, self.second(posterior).mean(axis=0) - np.outer(mean, mean)

    def sweep(self):
        users = self.users()
        self.noise = self.residual(users) / self.w.sum()
        self.user_prior = self.best_prior(users)
        if not self.is_start:
            self.item_prior = self.best_prior(self.items)
        self.is_start = False
        natural = self.natural(self.w.T, self.y.T, users)
        self.items = self.posterior(self.item_prior, *natural)

    def bound(self):
        users = self.users()
        likelihood = self.w.sum() * np.log(2 * np.pi * self.noise)
        likelihood += self.residual(users) / self.noise
        pairs = (users, self.user_prior), (self.items, self.item_prior)
        return -0.5 * likelihood + sum(
            oracles.gaussian_bound(one, prior, 1.0)
            for posteriors, prior in pairs
            for one in zip(*posteriors, strict=True)
        )


CASES = {
    "clicks": {"pair_weight": 1.0},
    "weights": {},
    "weights and targets": {"pair_target": np.sqrt, "pair_weight": halves},
    "values as targets": {"pair_weight": 1.5, "pair_target": "value"},
    "w0": {"zero_weight": 0.7},
    "above all weights": {"zero_weight": 5.0},
}


def of_pairs(given, values):
    if given == "value":
        return values
    return given(values) if callable(given) else np.full(len(values), given)


def brute_force_of(X, init, parameters):
    """Return a `BruteForce` with the start of an estimator with these parameters."""
    rows, columns = X.nonzero()
    n_unknown = X.shape[0] * X.shape[1] - X.nnz
    zero_weight = parameters.get("zero_weight", min(1.0, 8 * X.nnz / n_unknown))
    weights, targets = np.full(X.shape, zero_weight), np.zeros(X.shape)
    weights[rows, columns] = of_pairs(parameters.get("pair_weight", "value"), X.data)
    targets[rows, columns] = of_pairs(parameters.get("pair_target", 1.0), X.data)
    return BruteForce(weights, targets, init.T)


def fitted_and_brute_force(case, n_sweeps, dtype=np.float64, n_components=3):
    X = matrix_of().astype(dtype)
    init = np.random.default_rng(1).normal(size=(n_components, X.shape[1]))
    estimator = ImplicitFactorization(
        n_components, init=init, max_iter=n_sweeps, tol=0, **CASES[case]
    )
    expected = brute_force_of(X, init, CASES[case])
    for _ in range(n_sweeps):
        expected.sweep()
    return estimator.fit(X), X, expected


@pytest.mark.every(5)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n_components", [1, 3, 6])
@pytest.mark.parametrize("n_sweeps", [1, 4])
def test_a_fit_is_that_of_brute_force(case, n_sweeps, n_components):
    model, X, expected = fitted_and_brute_force(
        case, n_sweeps, n_components=n_components
    )
    close = {"rtol": 1e-8, "atol": 1e-10}
    assert model.noise_variance_ == pytest.approx(expected.noise, rel=1e-10)
    means, covariances = expected.items
    np.testing.assert_allclose(model.components_.T, means, **close)
    np.testing.assert_allclose(model.item_covariances_, covariances, **close)
    users = expected.users()[0]
    unknown = X.sum(axis=1) == 0
    assert unknown[4]
    users[unknown] = expected.user_prior[0]
    np.testing.assert_allclose(model.transform(X), users, **close)
    np.testing.assert_array_equal(model.transform(X), model.user_factors_)
    for found, wanted in (
        (model.user_prior_, expected.user_prior),
        (model.item_prior_, expected.item_prior),
    ):
        for part, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(part, other, **close)
    assert model.lower_bound(X) == pytest.approx(expected.bound(), rel=1e-10)


@pytest.mark.parametrize("case", CASES)
def test_float32_is_near(case):
    model, X, expected = fitted_and_brute_force(case, 3, np.float32)
    assert model.components_.dtype == model.transform(X).dtype == np.float32
    assert model.state_.globals_.own.dtype == np.float32
    np.testing.assert_allclose(
        model.components_.T, expected.items[0], rtol=1e-3, atol=1e-4
    )
    assert model.lower_bound(X) == pytest.approx(expected.bound(), rel=1e-4)


def test_covariances_in_float32_lose_no_digits_to_the_means():
    X = sparse.csr_array(np.random.default_rng(3).random((4000, 12)) < 0.3) * 1.0
    init = np.random.default_rng(1).normal(size=(3, 12))
    model = ImplicitFactorization(3, init=init, max_iter=2, tol=0)
    expected = brute_force_of(X, init, {})
    for _ in range(2):
        expected.sweep()
    found = model.fit(X.astype(np.float32)).item_covariances_
    # sums in float32 remain; E[x x^T] is up to 4,000 times the covariance
    assert np.abs(found / expected.items[1] - 1).max() < 10 * np.finfo(np.float32).eps


def test_a_minibatch_steps_toward_the_items_of_all():
    X = matrix_of()
    model = ImplicitFactorization(3, max_iter=2, tol=0, random_state=0).fit(X)
    start = brute_force_of(X, np.zeros((3, X.shape[1])), {})
    start.noise, start.is_start = model.noise_variance_, False
    start.user_prior, start.item_prior = model.user_prior_, model.item_prior_
    start.items = model.components_.T, model.item_covariances_
    rows, rate = slice(3, 11), 0.3
    # a step updates users first, then the noise and the priors, and then the items
    batch = BruteForce(start.w[rows], start.y[rows], np.zeros((X.shape[1], 3)))
    batch.noise, batch.user_prior = start.noise, start.user_prior
    batch.items = start.items
    users = batch.users()

    def between(old, new):
        return (1 - rate) * old + rate * new

    noise = between(start.noise, batch.residual(users) / batch.w.sum())
    prior = [
        between(old, new)
        for old, new in zip(
            start.item_prior, start.best_prior(start.items), strict=True
        )
    ]
    batch.noise = noise
    precision, linear = batch.natural(
        batch.w.T, batch.y.T, users, X.shape[0] / len(users[0])
    )
    precision += np.linalg.inv(prior[1])
    linear += np.linalg.solve(prior[1], prior[0])
    old = np.linalg.inv(start.items[1])
    old_linear = np.einsum("iab,ib->ia", old, start.items[0])
    covariances = np.linalg.inv(between(old, precision))
    means = np.einsum("iab,ib->ia", covariances, between(old_linear, linear))

    model.set_params(total_samples=X.shape[0], learning_rate=rate, batch_size=8)
    model.partial_fit(X[rows])
    assert model.noise_variance_ == pytest.approx(noise, rel=1e-10)
    np.testing.assert_allclose(model.components_.T, means, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels_sum_over_any_pairs(dtype):
    """Rows have no pairs, a few pairs, or more pairs than one partial sum takes."""
    random, width = np.random.default_rng(0), _kernels.panel_width(dtype)
    counts = np.array([0, 1, 3, 4, 5, 511, 512, 513, 1300, 0])
    starts = np.concatenate([[0], np.cumsum(counts)])
    others = random.integers(30, size=starts[-1]).astype(np.int32)
    factors = [random.normal(size=starts[-1]).astype(dtype) for _ in range(2)]
    table = aligned(np.empty, (3, 30, width), dtype)
    table[:] = random.normal(size=table.shape)
    stop = np.zeros(1, np.intc)
    sums = _kernels.pair_sums(starts, others, *factors, table, 2, stop)
    rtol = 1e-12 if dtype == np.float64 else 2e-5
    for row, (start, end) in enumerate(zip(starts, starts[1:], strict=False)):
        for panel in range(3):
            own = factors[panel == 2][start:end].astype(np.float64)
            wanted = own @ table[panel, others[start:end]]
            atol = rtol * (1 + np.abs(own).sum())
            np.testing.assert_allclose(sums[panel, row], wanted, atol=atol)
    rows = np.repeat(np.arange(len(counts)), counts)
    values = random.normal(size=len(rows))
    np.testing.assert_array_equal(
        _kernels.row_sums(starts, values),
        np.bincount(rows, values, minlength=len(counts)),
    )
    known, turned = Pairs(starts, others, None, None).by_item(factors, 35)
    np.testing.assert_array_equal(known, np.unique(others))
    order = np.argsort(others, kind="stable")
    np.testing.assert_array_equal(turned[1], rows[order])
    for found, given in zip(turned[2:], factors, strict=True):
        np.testing.assert_array_equal(found, given[order])
    stop[0] = 1
    with pytest.raises(StoppedByCtrlC):
        _kernels.pair_sums(starts, others, *factors, table, 2, stop)
    with pytest.raises(StoppedByCtrlC):
        _kernels.add_sums(table, table, None, 1.0, stop)


def test_the_stop_flag_interrupts_preparation_steps_and_scores():
    X, _, _ = tastes()
    model = ImplicitFactorization(4, random_state=0).fit(X)
    inner, state = fitted_model(model), model.state_
    inner.stop[0] = 1
    with pytest.raises(StoppedByCtrlC):
        inner.prepare(state.globals_, state.hyper)
    inner.stop[0] = 0
    prepared = inner.prepare(state.globals_, state.hyper)
    inner.stop[0] = 1
    with pytest.raises(StoppedByCtrlC):
        inner.local_step(inner.take(X, slice(0, 10)), prepared, Request())
    with pytest.raises(StoppedByCtrlC):
        inner.predictive_scores(inner.take(X, slice(0, 10)), prepared)


# -- data ------------------------------------------------------------------------------


def test_the_weight_of_unknown_pairs_has_no_effect_without_any():
    """A large weight of unknown pairs magnified the rounding of sums of weights."""
    factorization = ImplicitFactorization(1, zero_weight=1e15, pair_weight=1e-15)
    for n_items in range(2, 12):
        X = sparse.csr_array(np.ones((1, n_items)))
        model = new_model(factorization, n_items)
        for weight in 10.0 ** np.random.default_rng(n_items).uniform(-3, 3, 5):
            hyper = model.initial_hyper(X, np.array([weight]))
            assert hyper.target_square == pytest.approx(1.0)
            assert hyper.users.covariance == pytest.approx(1.0)


def test_the_weight_of_unknown_pairs():
    X = matrix_of()
    n_unknown = X.shape[0] * X.shape[1] - X.nnz
    model = ImplicitFactorization(2, max_iter=1).fit(X)
    assert model.zero_weight_ == min(1, 8 * X.nnz / n_unknown)
    few = sparse.csr_array(X.toarray() * (np.arange(X.shape[0]) % 8 == 0)[:, None])
    model.fit(few)
    assert model.zero_weight_ == 8 * few.nnz / (X.shape[0] * X.shape[1] - few.nnz)
    assert model.zero_weight_ < 1
    assert model.fit(np.ones((5, 4))).zero_weight_ == 1
    assert model.set_params(zero_weight=0.3).fit(X).zero_weight_ == 0.3
    with pytest.raises(ValueError, match="no stored pairs"):
        model.fit(0 * X)


def test_functions_cannot_change_the_data():
    X = matrix_of()
    before = X.data.copy()

    def in_place(values):
        values *= 0.5
        return values

    ImplicitFactorization(2, max_iter=1, pair_weight=in_place).fit(X)
    np.testing.assert_array_equal(X.data, before)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"pair_weight": lambda x: -x}, "pair_weight returned a negative weight"),
        ({"pair_weight": lambda x: x[:-1]}, "pair_weight returned an array of shape"),
        ({"pair_target": lambda x: np.log(0 * x)}, "pair_target returned.*not finite"),
        ({"pair_target": 1e70}, "pair_target has values of 1e"),
        (
            {"pair_weight": 1e20},
            "pair_weight has a value of 1e\\+20, but weights may be at most",
        ),
        ({"zero_weight": 1e61}, "'zero_weight' parameter must be at most 1e.15"),
        ({"init": np.ones((2, 2))}, "init has shape"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_bad_parameters_are_refused(parameters, message):
    X = matrix_of()
    model = ImplicitFactorization(2, max_iter=1, random_state=0).fit(X)
    before = model.components_.copy()
    with pytest.raises(ValueError, match=message):
        model.set_params(**parameters).fit(X)
    np.testing.assert_array_equal(model.components_, before)


# -- users -----------------------------------------------------------------------------


def test_a_user_without_items_is_recommended_popular_items():
    X, _, _ = tastes(400)
    model = ImplicitFactorization(6, random_state=0).fit(X)
    scores = model.predict(sparse.csr_array((1, X.shape[1])))[0]
    popularity = X.sum(axis=0)
    assert np.corrcoef(scores, popularity)[0, 1] > 0.95
    np.testing.assert_allclose(
        model.transform(np.zeros((1, X.shape[1])))[0], model.user_prior_[0]
    )


def test_items_of_the_users_kind_come_first():
    X, users, kinds = tastes(500, seed=3)
    model = ImplicitFactorization(random_state=0).fit(X)
    scores = model.predict(X)
    np.testing.assert_allclose(
        scores, model.user_factors_ @ model.components_, atol=1e-12
    )
    np.testing.assert_array_equal(scores, model.inverse_transform(model.transform(X)))
    scores[X.nonzero()] = -np.inf
    best = np.argsort(-scores, axis=1)[:, :3]
    known = X.sum(axis=1) >= 2
    assert np.mean(kinds[best[known]] == users[known, None]) > 0.9
    # there are four kinds, so additional factors shrink to zero
    assert model.relevance_[8] < 0.02 * model.relevance_[0]
    with pytest.raises(ValueError, match="X has 3 features, but there are 32"):
        model.inverse_transform(np.ones((2, 3)))


def gain_of(scores, seen, relevant):
    """Return scikit-learn's gain at 100 of one user, averaged over orders of ties."""
    rest = np.delete(np.arange(len(scores)), seen)
    return ndcg_score([np.isin(rest, relevant)], [scores[rest]], k=100)


@pytest.mark.every(2)
@pytest.mark.parametrize("n_items", [12, 150])
def test_the_score_is_the_gain_of_the_held_out_half(n_items):
    random = np.random.default_rng(0)
    clicks = (random.random((60, n_items)) < 0.3) * 1.0
    clicks[7], clicks[8], clicks[8, 3] = 0, 0, 1  # these users have no held-out items
    X = sparse.csr_array(clicks)
    model = ImplicitFactorization(3, max_iter=4, random_state=0).fit(X)
    scores = model.score_samples(X)
    expected, has = np.zeros(60), np.zeros(60, bool)
    for row in range(60):
        items = X[[row]].nonzero()[1]
        observed, held_out = items[::2], items[1::2]
        own = sparse.csr_array(
            (np.ones(len(observed)), (0 * observed, observed)), shape=(1, n_items)
        )
        has[row] = len(held_out) > 0
        if has[row]:
            expected[row] = gain_of(model.predict(own)[0], observed, held_out)
    np.testing.assert_allclose(scores, expected, atol=1e-12)
    assert model.score(X) == pytest.approx(expected[has].mean())
    weight = random.random(60)
    assert model.score(X, sample_weight=weight) == pytest.approx(
        (weight * expected)[has].sum() / weight[has].sum()
    )
    with pytest.raises(ValueError, match="Nothing is held out"):
        model.score(X[7:9])


# -- use by other libraries ------------------------------------------------------------


def test_a_pickle_is_small_and_has_its_functions():
    X = clicks_of(120).astype(np.float32)
    model = ImplicitFactorization(16, pair_weight=np.sqrt, random_state=0).fit(X)
    own = model.state_.globals_.own
    packed = 16 * 17 // 2  # 136 numbers in 5 panels of 32; the means in one
    assert packed <= 160 and own.nbytes == 4 * X.shape[1] * (160 + 32)
    dump = pickle.dumps(model)
    assert len(dump) < 1.1 * own.nbytes + 4 * 120 * 16 + 25_000
    loaded = pickle.loads(dump)
    np.testing.assert_array_equal(loaded.components_, model.components_)
    np.testing.assert_array_equal(loaded.transform(X), model.user_factors_)
    np.testing.assert_array_equal(loaded.user_factors_, model.user_factors_)


def test_factors_are_cached():
    X, _, _ = tastes()
    model = ImplicitFactorization(3, random_state=0).fit(X)
    assert model.components_.base is model.components_.base
    assert model.user_factors_ is model.user_factors_
    stopped = ImplicitFactorization(3, random_state=0).fit(X)
    stopped.set_callbacks(StopAt(1, KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(X)
    assert stopped.components_.shape == (3, 80)
    with pytest.raises(NotFittedError, match="not completed"):
        stopped.user_factors_  # noqa: B018

"""Gaussian mixtures of wide rows, whose components differ in a subspace."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import multigammaln
from sklearn.metrics import adjusted_rand_score

from sktemper import AnnealedGaussianMixture, TemperedGaussianMixture
from sktemper.gaussian_mixture import _choice, _low_rank
from sktemper.gaussian_mixture._low_rank import Directions, OneGaussian, Subspace
from sktemper.testing import check_model


def wide_clusters(n_samples, n_features, n_clusters, seed, n_factors=20):
    """Return clusters in ten directions of columns with correlated noise."""
    random = np.random.default_rng(seed)
    y = random.integers(n_clusters, size=n_samples)
    centres = 3.0 * random.normal(size=(n_clusters, 10))
    into = random.normal(size=(10, n_features)) / np.sqrt(10)
    factors = random.normal(size=(n_factors, n_features)) / np.sqrt(n_factors)
    X = centres[y] @ into + random.normal(size=(n_samples, n_factors)) @ factors
    return X + 0.3 * random.normal(size=X.shape), y


@pytest.fixture(scope="module")
def fitted():
    X, y = wide_clusters(600, 160, 4, 0)
    X = 5.0 + X * 10.0 ** np.linspace(-2, 2, 160)
    return X, y, AnnealedGaussianMixture(8, random_state=0).fit(X)


@pytest.mark.parametrize(
    ("n_samples", "n_features", "n_clusters"),
    [
        (1500, 151, 7),
        (400, 500, 4),
        (800, 200, 1),
        pytest.param(2000, 1000, 8, marks=pytest.mark.deep),
    ],
)
def test_wide_correlated_clusters_are_found_by_defaults(
    n_samples, n_features, n_clusters
):
    X, y = wide_clusters(n_samples, n_features, n_clusters, 3)
    mixture = AnnealedGaussianMixture(max(8, 2 * n_clusters), random_state=0).fit(X)
    assert mixture.covariance_type_ == "low_rank"
    assert mixture.n_active_components_ == n_clusters
    assert adjusted_rand_score(y, mixture.labels_) == 1.0


@pytest.mark.parametrize(("mixing", "kind"), [(0, "spherical"), (1, "low_rank")])
def test_correlated_columns_are_not_spherical(mixing, kind, monkeypatch):
    monkeypatch.setattr(
        _choice._Comparison, "compared", lambda _, kind, *given: (kind[0] == "s", 2)
    )
    X = np.random.default_rng(0).normal(size=(300, 40))
    X[:, :9] += mixing * X[:, 9:10]
    assert AnnealedGaussianMixture(8, max_iter=1).fit(X).covariance_type_ == kind


def test_the_evidence_of_one_gaussian_is_that_of_its_definition():
    """p(X) = p(mu, Lambda) p(X | mu, Lambda) / p(mu, Lambda | X), for any rotation."""
    X = np.random.default_rng(0).normal(size=(30, 4)) @ np.diag([3.0, 2.0, 1.0, 0.5])
    directions = Directions.of(X)
    one = OneGaussian.of(directions, 30.0)
    nu, s, N = one.freedom, one.spread, 30
    Z = (X - directions.centre) / directions.scales @ directions.basis
    for q in 4, 2:
        free = nu - 4 + q
        scatter = Z[:, :q].T @ Z[:, :q] + N * 1e-6 * np.eye(q)
        expected = -0.5 * N * q * np.log(np.pi) - 0.5 * q * np.log(N + 1)
        expected += multigammaln(0.5 * (free + N), q) - multigammaln(0.5 * free, q)
        expected += 0.5 * free * q * np.log(s)
        expected -= 0.5 * (free + N) * np.linalg.slogdet(scatter + s * np.eye(q))[1]
        assert_allclose(one.evidence(q), expected, rtol=1e-10)
    # the prior is a maximum
    for change in {"freedom": nu * 1.02}, {"spread": s * 1.02}, {"spread": s / 1.02}:
        assert one._replace(**change).evidence(4) < one.evidence(4) + 1e-9


def test_a_subspace_is_that_of_weighted_rows_in_their_units():
    random = np.random.default_rng(2)
    X = random.normal(size=(40, 6)) @ random.normal(size=(6, 6))
    X, weight = X * 10.0 ** np.arange(-3, 3) + 7.0, random.gamma(0.5, size=40)
    directions = Directions.of(X, weight)
    covariance = np.cov(X.T, aweights=weight, ddof=0)
    assert_allclose(directions.centre, np.average(X, axis=0, weights=weight))
    assert_allclose(directions.scales, np.sqrt(np.diag(covariance)))
    matrix = directions.basis * directions.variances @ directions.basis.T
    units = np.outer(directions.scales, directions.scales)
    assert_allclose(matrix, covariance / units, atol=1e-12)
    subspace = Subspace(directions, OneGaussian.of(directions, weight.sum()), 2)
    slopes = subspace.scores(np.eye(6)) - subspace.scores(np.zeros((1, 6)))
    many = OneGaussian(1e9 * directions.variances, 1e9, 10.0, 2.0)
    rest = Subspace(directions, many, 2).variances_of_rest
    assert_allclose(rest, directions.variances[2:], rtol=1e-6)
    noise = subspace.variances_of_noise(0.3)
    assert_allclose(noise, 0.3 * (slopes**2).sum(axis=0))
    drawn = subspace.completed(slopes, random)  # with these scores
    assert_allclose(subspace.scores(drawn), slopes, atol=1e-9)
    # the entries of a matrix of all columns, but for those of the scores, are shrunken
    for total, share in (1e9, 1.0), (30.0, 0.75), (1e-9, 0.0):
        one = subspace.one._replace(total=total, freedom=10.0)
        found = Subspace(directions, one, 2).n_parameters
        assert found == pytest.approx(4 + share * (21 - 3), rel=1e-6)


def test_directions_of_many_rows_are_those_of_rows_at_even_distances(monkeypatch):
    monkeypatch.setattr(_low_rank, "ROWS_COMPARED", 20)
    X = np.arange(60.0)[:, None] * [1.0, 2.0]
    assert_allclose(Directions.of(X).centre, [29.5, 59.0], atol=4.0)


@pytest.mark.parametrize(("seed", "reg_covar"), [(0, 1e-6), (1, 0.0)])
def test_precisions_of_collapsed_components_are_positive_definite(seed, reg_covar):
    X = np.random.default_rng([seed, 200, 20]).normal(size=(200, 20))
    X = 1e6 * np.tile(X[:100], (2, 1))[1:]
    mixture = AnnealedGaussianMixture(
        10, covariance_type="low_rank", reg_covar=reg_covar, random_state=0
    ).fit(X)
    roots = mixture.precisions_cholesky_
    np.linalg.cholesky(mixture.precisions_)
    assert_array_equal(roots, np.triu(roots))
    squares = roots @ np.swapaxes(roots, 1, 2)
    units = np.sqrt(np.einsum("kii->ki", squares))
    units = units[:, :, None] * units[:, None]
    assert_allclose(mixture.precisions_ / units, squares / units, atol=1e-12)
    assert np.isfinite(mixture.to_sklearn().score_samples(X)).all()


@pytest.mark.parametrize("n_samples", [12, 40])  # fewer rows than columns, and more
def test_the_rest_has_the_student_density_given_the_scores(n_samples):
    random = np.random.default_rng(1)
    X = random.normal(size=(n_samples, 20)) * np.linspace(1, 9, 20)
    directions, q = Directions.of(X), 3
    one = OneGaussian.of(directions, float(n_samples))
    new = random.normal(size=(7, 20)) * np.linspace(1, 9, 20)
    Z = (new - directions.centre) / directions.scales
    nu, spread = one.freedom + n_samples, (n_samples + 2) / (n_samples + 1)
    basis = np.linalg.qr(directions.basis, mode="complete")[0]  # with all directions
    scatter = basis @ np.diag(one.inverse_scale) @ basis.T
    joint = stats.multivariate_t(shape=spread * scatter / (nu - 19), df=nu - 19).logpdf(
        Z
    )
    own = stats.multivariate_t(
        shape=spread * np.diag(one.inverse_scale[:q]) / (nu - 19), df=nu - 19
    ).logpdf(Z @ directions.basis[:, :q])
    expected = joint - own - np.log(directions.scales).sum()
    assert_allclose(Subspace(directions, one, q).log_rest(new), expected, rtol=1e-8)


def test_parameters_are_those_of_the_columns(fitted):
    X, y, mixture = fitted
    assert mixture.covariance_type_ == "low_rank"
    assert adjusted_rand_score(y, mixture.labels_) == 1.0
    covariances, means = mixture.covariances_, mixture.means_
    assert covariances.shape == (8, 160, 160)
    model = mixture._fitted_model()
    variances = model.variances_of(model.usual(mixture.state_.globals_))
    assert_allclose(variances, np.diagonal(covariances, axis1=1, axis2=2), rtol=1e-9)
    units = np.sqrt(np.outer(X.var(axis=0), X.var(axis=0)))
    identity = mixture.precisions_ @ covariances
    assert_allclose(
        identity / units * units.T,
        np.broadcast_to(np.eye(160), (8, 160, 160)),
        atol=1e-7,
    )
    used = np.flatnonzero(mixture.weights_ > 0.01)
    for k in used:
        own = X[mixture.labels_ == k]
        assert_allclose(
            means[k] / X.std(axis=0), own.mean(axis=0) / X.std(axis=0), atol=0.3
        )
        ratio = np.diag(covariances[k]) / own.var(axis=0)
        assert 0.6 < np.median(ratio) < 1.6
    other = mixture.to_sklearn()
    assert_allclose(other.predict_proba(X), mixture.predict_proba(X), atol=1e-6)
    assert_array_equal(other.predict(X), mixture.labels_)


def test_samples_have_the_parameters(fitted):
    _, _, mixture = fitted
    X, y = mixture.sample(8_000)
    k = np.bincount(y).argmax()
    own = X[y == k]
    scale = np.sqrt(np.diag(mixture.covariances_[k]))
    difference = (own.mean(axis=0) - mixture.means_[k]) / scale
    assert np.abs(difference).max() < 5.0 / np.sqrt(len(own))
    error = (np.cov(own.T) - mixture.covariances_[k]) / np.outer(scale, scale)
    assert np.abs(error).max() < 7.0 / np.sqrt(len(own))


def test_bounds_contain_the_rest(fitted):
    X, _, mixture = fitted
    assert_allclose(mixture.lower_bound(X), mixture.lower_bound_)
    plain = TemperedGaussianMixture(4, covariance_type="low_rank", random_state=0)
    plain.set_params(max_iter=500).fit(X)
    assert_allclose(plain.lower_bounds_[-1], plain.lower_bound_, rtol=0, atol=1.0)
    # the bound is below the sum of the predictive densities of the training data
    assert mixture.lower_bound_ < mixture.score_samples(X).sum()


def test_pickles_weights_and_float32(fitted):
    X, y, mixture = fitted
    loaded = pickle.loads(pickle.dumps(mixture))
    assert_array_equal(loaded.score_samples(X), mixture.score_samples(X))
    assert loaded.set_params(warm_start=True, max_iter=1).fit(X).n_iter_ == 1
    settings = dict(covariance_type="low_rank", random_state=0)
    small = TemperedGaussianMixture(4, **settings).fit(X.astype(np.float32))
    assert small.means_.dtype == small.covariances_.dtype == np.float32
    weight = np.append(np.tile([1, 2], 250), np.zeros(len(X) - 500, dtype=int))
    one = TemperedGaussianMixture(4, **settings).fit(X, sample_weight=weight)
    two = TemperedGaussianMixture(4, **settings).fit(np.repeat(X, weight, axis=0))
    assert adjusted_rand_score(one.predict(X), two.predict(X)) == 1.0
    assert_allclose(one.lower_bound_, two.lower_bound_, rtol=1e-6)
    assert mixture.n_parameters_ < 160 * 161 // 2 + 4 * (64 + 64 * 65 // 2) + 200


def test_what_needs_all_columns_is_refused(fitted):
    X, _, mixture = fitted
    gapped = X.copy()
    gapped[0, 3] = np.nan
    for call in (
        mixture.predict,
        mixture.impute,
        TemperedGaussianMixture(4, covariance_type="low_rank").fit,
    ):
        with pytest.raises(ValueError, match='use "diag" for missing values'):
            call(gapped)
    with pytest.raises(ValueError, match="conditional"):
        mixture.conditional(X, given=[0, 1])
    fresh = TemperedGaussianMixture(4, covariance_type="low_rank")
    with pytest.raises(ValueError, match="needs a `fit` before `partial_fit`"):
        fresh.partial_fit(X)
    with pytest.raises(ValueError, match="leave covariance_prior at None"):
        fresh.set_params(covariance_prior=np.eye(160)).fit(X)
    with pytest.raises(ValueError, match="mean_prior should have 160 columns"):
        fresh.set_params(covariance_prior=None, mean_prior=np.zeros(3)).fit(X)
    continued = pickle.loads(pickle.dumps(mixture)).partial_fit(X[:200])
    before, after = mixture.state_.choices.subspace, continued.state_.choices.subspace
    assert_array_equal(after.loadings, before.loadings)


def test_given_means_are_those_of_the_columns(fitted):
    X, y, _ = fitted
    centres = np.array([X[y == k].mean(axis=0) for k in range(4)])
    start = TemperedGaussianMixture(
        4,
        covariance_type="low_rank",
        means_init=centres,
        mean_prior=centres[1],
        max_iter=0,
    ).fit(X)
    scores = start.state_.choices.subspace.scores(centres[1:2])[0]
    assert_allclose(start.state_.hyper.mean, scores)
    assert adjusted_rand_score(y, start.labels_) == 1.0


@pytest.mark.parametrize("X", [np.ones((20, 200)), np.arange(20.0)[:, None]])
def test_rows_without_a_subspace_are_refused_by_name_only(X):
    named = TemperedGaussianMixture(2, covariance_type="low_rank")
    for weight in None, np.full(20, 1e-9):
        with pytest.raises(ValueError, match="two columns, of which one varies"):
            named.fit(X, sample_weight=weight)
    mixture = TemperedGaussianMixture(2, random_state=0, max_iter=500).fit(X)
    assert mixture.covariance_type_ != "low_rank"


def test_the_model_fulfils_the_contract_but_for_the_constant_of_the_rest():
    """The rest, which has no parameters, is a constant of the bound of all rows."""
    X, _ = wide_clusters(50, 14, 3, 0, n_factors=5)
    mixture = TemperedGaussianMixture(3, covariance_type="low_rank", random_state=0)
    mixture.set_params(max_iter=500).fit(X)
    results = check_model(mixture._fitted_model(), X, on_fail=None)
    failed = {one["check_name"] for one in results if one["status"] == "failed"}
    assert failed == {
        "check_row_bounds_have_their_constants",
        "check_the_bound_of_the_prior_is_zero",
    }

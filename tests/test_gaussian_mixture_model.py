"""The Gaussian mixture: kernel, bound, gradient, predictive density, evidence."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import logsumexp, multigammaln, psi, xlogy
from sklearn.mixture import BayesianGaussianMixture

from sktemper import TemperedGaussianMixture
from sktemper._contract import Stopped
from sktemper._families import _kernels as wishart_kernels
from sktemper._families._births import Search
from sktemper._families._dirichlet import WEIGHTS
from sktemper.gaussian_mixture import _family, _kernels
from sktemper.gaussian_mixture._model import GaussianMixtureModel
from sktemper.gaussian_mixture._priors import Hyper
from sktemper.gaussian_mixture._starts import STARTS, mean_and_covariance
from sktemper.model import Powers, Request

TYPES = ("full", "tied", "diag", "spherical")
PRIORS = tuple(WEIGHTS)
ALL = slice(None)

#: Parameters that give scikit-learn's algorithm and priors.
THEIRS = {"tempering": None, "priors": "scikit-learn"}

each_type = pytest.mark.parametrize("covariance_type", TYPES)
each_prior = pytest.mark.parametrize("weight_prior", PRIORS)


def clusters(n=60, d=3, n_clusters=3, seed=0, distance=3.0):
    """Return samples of Gaussians of many shapes, sorted by the first column.

    With sorted rows, starts are the same as in scikit-learn.
    """
    random = np.random.default_rng(seed)
    parts = [
        random.normal(size=(n // n_clusters, d)) @ random.normal(size=(d, d))
        + distance * random.normal(size=d)
        for _ in range(n_clusters)
    ]
    X = np.concatenate(parts)
    return X[np.argsort(X[:, 0])]


def model_of(covariance_type="full", weight_prior=PRIORS[0], k=4, d=3, **settings):
    """Return a model whose origin is neither the prior mean nor zero."""
    settings = {"reg_covar": 0.0, "init": start(k), "is_wishart": True, **settings}

    def priors(mean, covariance, n_samples):
        return Hyper(0.3, 0.7, d + 0.5, mean + 0.1, covariance, mean - 0.2)

    return GaussianMixtureModel(
        k,
        d,
        covariance_type=covariance_type,
        weight_prior=weight_prior,
        priors=priors,
        **settings,
    )


def start(k, seed=1):
    """Return a function that draws random responsibilities."""

    def init(X, n_components, random, weight=None):
        return np.random.default_rng(seed).dirichlet(np.full(k, 0.3), len(X))

    return init


def begun(model, X):
    """Return the priors, and parameters two steps after the start."""
    hyper = model.initial_hyper(X)
    globals_ = model.initial_globals(X, np.random.RandomState(0))
    for _ in range(2):
        globals_ = coordinate_step(model, X, globals_, hyper, Powers())
    return hyper, globals_


def local(model, X, globals_, hyper, powers, unit_noise=None, want=None):
    block = model.take(X, ALL)
    want = ("statistics", "bound", "local") if want is None else want
    prepared = model.prepare(globals_, hyper)
    return model.local_step(block, prepared, Request(powers, unit_noise, want=want))


def coordinate_step(model, X, globals_, hyper, powers):
    step = local(model, X, globals_, hyper, powers)
    return model.step(globals_, step.statistics, 1.0, powers, 1.0, hyper)


def tempered_bound(model, X, globals_, hyper, powers):
    step = local(model, X, globals_, hyper, powers, want=("bound",))
    return step.bound + model.global_bound(globals_, hyper, powers)


# -- the kernel ------------------------------------------------------------------------


def kernel_problem(d, k, dtype, diagonal=False, n=37, seed=0):
    random = np.random.default_rng(seed + 100 * d + k)
    X = random.normal(size=(n, d)).astype(dtype)
    means = random.normal(size=(k, d)).astype(dtype)
    size = d if diagonal else d * (d + 1) // 2
    factors = random.normal(size=(k, size)).astype(dtype) / np.sqrt(d).astype(dtype)
    return X, means, factors, random.normal(0, 2, k)


def unpacked(factors, d):
    """Return full matrices from packed lower triangles or from diagonals."""
    matrices = np.zeros((len(factors), d, d))
    if factors.shape[1] == d:
        matrices[:, np.arange(d), np.arange(d)] = factors
    else:
        matrices[(slice(None), *np.tril_indices(d))] = factors
    return matrices


def run_kernel(X, means, factors, constants, powers, only_distances=False):
    responsibilities = np.empty((len(X), len(means)), X.dtype)
    bounds, scores = np.empty(len(X)), np.empty(len(X))
    stop = np.zeros(1, np.intc)
    _kernels.local_step(
        X,
        means,
        factors,
        constants,
        np.atleast_1d(powers).astype(float),
        stop,
        only_distances,
        responsibilities,
        bounds,
        scores,
    )
    return responsibilities, bounds, scores


def distances_of(X, means, factors):
    shifts = X.astype(float)[:, None] - means.astype(float)
    matrices = unpacked(factors.astype(float), X.shape[1])
    return (np.einsum("kij,nkj->nki", matrices, shifts) ** 2).sum(axis=2)


@pytest.mark.every(11)
@pytest.mark.parametrize("dtype, tol", [(np.float64, 1e-12), (np.float32, 2e-5)])
@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("k", [1, 2, 3, 7, 16, 33, 60])
@pytest.mark.machine
def test_the_kernel_is_the_formula(dtype, tol, diagonal, k):
    for d in range(1, 21):
        X, means, factors, constants = kernel_problem(d, k, dtype, diagonal)
        powers = np.random.default_rng(d).uniform(0.01, 1.0, len(X))
        distances = distances_of(X, means, factors)
        logs = constants - 0.5 * distances
        for power in (1.0, 0.3, 1e-6, powers):
            columns = np.reshape(power, (-1, 1))
            totals = logsumexp(columns * logs, axis=1)
            expected = np.exp(columns * logs - totals[:, None])
            shares, bounds, scores = run_kernel(X, means, factors, constants, power)
            size = dict(rtol=tol, atol=tol * max(np.abs(logs).max(), 1))
            np.testing.assert_allclose(shares, expected, **size)
            np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=tol)
            np.testing.assert_allclose(bounds, totals, **size)
            np.testing.assert_allclose(scores, (expected * logs).sum(axis=1), **size)
        got, _, _ = run_kernel(X, means, factors, constants, 1.0, True)
        np.testing.assert_allclose(got, distances, rtol=tol, atol=tol)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.machine
def test_the_kernel_neither_overflows_nor_underflows(dtype):
    X, means, factors, constants = kernel_problem(3, 4, dtype)
    X[:2] = [[1e9] * 3, [-1e9, 0, 1e9]]
    constants[1:] -= 1e5
    for power in (1.0, 1e-6):
        shares, bounds, scores = run_kernel(X, means, factors, constants, power)
        np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-6)
        assert ((shares >= 0) & (shares <= 1)).all()
        assert np.isfinite(bounds).all() and np.isfinite(scores).all()


def moments_of(X, origin, products):
    """Return 1, x and the second moments of rows."""
    x = X.astype(float) - origin
    rows, columns = np.triu_indices(X.shape[1])
    second = x[:, rows] * x[:, columns] if products else x**2
    return np.hstack([np.ones((len(X), 1)), x, second])


@pytest.mark.every(5)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("products", [False, True])
@pytest.mark.parametrize("k", [1, 2, 5, 12, 13, 50])
@pytest.mark.machine
def test_the_kernel_of_weighted_moments(dtype, products, k):
    stop = np.zeros(1, dtype=np.intc)
    for d, n in (1, 1), (2, 7), (8, 128), (16, 129), (23, 300), (40, 20):
        random = np.random.default_rng(100 * d + k)
        X = random.normal(100, 1, (n, d)).astype(dtype)
        origin = random.normal(100, 1, d)
        shares = random.uniform(size=(n, k)).astype(dtype)
        moments = moments_of(X, origin, products)
        for factors in (np.ones(1), np.full(1, 0.5), random.uniform(size=n)):
            expected = (shares * factors[:, None].astype(float)).T @ moments
            for n_moments in (1 + d, moments.shape[1]):
                out = np.full((k, n_moments), np.nan)
                arguments = X, origin, not products, shares, factors, stop, out
                _kernels.weighted_moments(*arguments)
                tol = 1e-13 * n * np.abs(moments).max()
                np.testing.assert_allclose(
                    out, expected[:, :n_moments], rtol=1e-12, atol=tol
                )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.machine
def test_the_kernel_of_weighted_moments_stops(dtype):
    X, out = np.ones((5, 2), dtype=dtype), np.zeros((3, 6))
    shares, stop = np.ones((5, 3), dtype=dtype), np.ones(1, dtype=np.intc)
    arguments = X, np.zeros(2), False, shares, np.ones(1), stop, out
    with pytest.raises(Stopped):
        _kernels.weighted_moments(*arguments)
    stop[0] = 0
    _kernels.weighted_moments(X[:0], arguments[1], False, shares[:0], *arguments[4:])
    np.testing.assert_array_equal(out, 0)


@pytest.mark.parametrize("dtype, tol", [(np.float64, 1e-7), (np.float32, 1e-7)])
@pytest.mark.machine
def test_the_kernel_of_weighted_moments_keeps_the_digits_of_far_clusters(dtype, tol):
    """Covariances of clusters 10,000 standard deviations from the origin are exact."""
    random, n = np.random.default_rng(0), 400
    X = random.normal(size=(2 * n, 3))
    X[:n] += 1e4
    X[n:] -= 1e4
    X = np.round(X * 2**8).astype(dtype) / 2**8  # exact in either type
    shares = np.repeat(np.eye(2), n, axis=0).astype(dtype)
    out = np.empty((2, 10))
    arguments = shares, np.ones(1), np.zeros(1, dtype=np.intc), out
    _kernels.weighted_moments(X, np.zeros(3), False, *arguments)
    for k, own in enumerate((X[:n].astype(float), X[n:].astype(float))):
        mean, second = out[k, 1:4] / n, np.zeros((3, 3))
        second[np.triu_indices(3)] = out[k, 4:] / n
        covariance = (second - np.outer(mean, mean))[np.triu_indices(3)]
        expected = np.cov(own.T, bias=True)[np.triu_indices(3)]
        np.testing.assert_allclose(covariance, expected, atol=tol)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 50])
@pytest.mark.machine
def test_the_kernel_of_factors_inverts(n):
    for d in (1, 2, 3, 4, 5, 8, 13, 16, 33):
        random = np.random.default_rng(d)
        roots = random.normal(size=(n, d, d))
        matrices = roots @ roots.swapaxes(1, 2) + 0.1 * np.eye(d)
        factors, logs = wishart_kernels.inverse_factors(matrices)
        np.testing.assert_array_equal(factors, np.tril(factors))
        inverses = factors.swapaxes(1, 2) @ factors
        np.testing.assert_allclose(
            inverses @ matrices, np.tile(np.eye(d), (n, 1, 1)), atol=1e-8
        )
        np.testing.assert_allclose(logs, -np.linalg.slogdet(matrices)[1], atol=1e-9)
        others, vectors = matrices[::-1].copy(), random.normal(size=(n, d))
        traces, squares = wishart_kernels.traces_and_squares(factors, others, vectors)
        expected = np.trace(inverses @ others, axis1=1, axis2=2)
        np.testing.assert_allclose(traces, expected, rtol=1e-9)
        expected = np.einsum("ki,kij,kj->k", vectors, inverses, vectors)
        np.testing.assert_allclose(squares, expected, rtol=1e-9)


@pytest.mark.parametrize("value", [-1.0, 0.0, np.nan, np.inf])
@pytest.mark.machine
def test_the_kernel_tells_matrices_without_a_factor(value):
    matrices = np.tile(np.eye(3), (11, 1, 1))
    matrices[4, 1, 1] = value
    matrices[9, 2, 0] = 5.0
    is_bad = np.isnan(wishart_kernels.inverse_factors(matrices)[1])
    assert np.flatnonzero(is_bad).tolist() == [4, 9]


@pytest.mark.parametrize("d", [1, 2, 17])
@pytest.mark.machine
def test_the_kernel_of_wishart_terms(d):
    freedom = d - 1 + np.array([1e-3, 0.5, 1, 2, 10, 1e4, 1e9, 1e14, 1e16, 1e30, 1e100])
    precision = np.geomspace(1e-5, 1e9, len(freedom))
    log_determinants = np.linspace(-50, 50, len(freedom))
    logs, normalisers, densities = wishart_kernels.precision_terms(
        0, d, precision, freedom, log_determinants
    )
    expected = log_determinants + d * np.log(2)
    expected = expected + psi(0.5 * (freedom[:, None] - np.arange(d))).sum(axis=1)
    np.testing.assert_allclose(logs, expected, rtol=1e-12, atol=1e-12)
    expected = 0.5 * (expected - d * (np.log(2 * np.pi) + 1 / precision))
    np.testing.assert_allclose(densities, expected, rtol=1e-12, atol=1e-12)
    expected = 0.5 * d * np.log(precision / (2 * np.pi)) - multigammaln(
        0.5 * freedom, d
    )
    expected -= 0.5 * freedom * (d * np.log(2) + log_determinants)
    np.testing.assert_allclose(normalisers, expected, rtol=1e-11)


# -- blocks, weights, powers -----------------------------------------------------------


@each_type
@pytest.mark.parametrize("weight_prior", PRIORS)
@pytest.mark.parametrize("far", [0.0, 1e9])
def test_empty_components_need_no_kernel(
    covariance_type, weight_prior, far, monkeypatch
):
    """A component without rows has no share, unless a row is far from all others."""
    model, X = model_of(covariance_type, weight_prior, k=6), clusters(60)
    hyper = model.initial_hyper(X)._replace(weight_concentration=1e-12)
    hyper = hyper._replace(covariance=100 * hyper.covariance)  # of empty components
    shares = np.eye(6)[np.arange(60) % 4]
    globals_ = model.optimum(model.take(X, ALL), shares, hyper)
    X = np.concatenate([X, X[:1] + far])
    monkeypatch.setattr(_family, "MANY_COLUMNS", 1)
    skipped = local(model, X, globals_, hyper, Powers())
    monkeypatch.setattr(_family, "NO_WEIGHT", -np.inf)
    monkeypatch.setattr(_family, "MANY_COLUMNS", 100)
    whole = local(model, X, globals_, hyper, Powers())
    for name in ("row_bounds", "row_scores"):
        np.testing.assert_array_equal(getattr(skipped, name), getattr(whole, name))
    is_far = whole.local_parameters[:, 4:].sum(axis=1) > 0.5
    assert is_far[-1] == (far > 0 and covariance_type != "tied")
    # the kernel gives tiny shares instead of 0
    pairs = [(skipped.local_parameters, whole.local_parameters)]
    pairs += zip(*(step.statistics.arrays() for step in (skipped, whole)), strict=True)
    for one, other in pairs:
        np.testing.assert_allclose(one, other, rtol=1e-15, atol=1e-280)


# -- scikit-learn ----------------------------------------------------------------------

PARAMETERS = (
    "means_",
    "covariances_",
    "precisions_",
    "precisions_cholesky_",
    "weights_",
    "weight_concentration_",
    "degrees_of_freedom_",
    "mean_precision_",
    "weight_concentration_prior_",
    "mean_precision_prior_",
    "mean_prior_",
    "degrees_of_freedom_prior_",
    "covariance_prior_",
)


def assert_agree(ours, theirs, X, tol=1e-8):
    for name in PARAMETERS:
        one, other = np.asarray(getattr(ours, name)), np.asarray(getattr(theirs, name))
        assert one.shape == other.shape, name
        size = dict(rtol=tol, atol=tol, err_msg=name)
        np.testing.assert_allclose(one, other, **size)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=tol)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.every(11)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@each_type
@each_prior
@pytest.mark.parametrize("init_params", STARTS)
def test_fits_are_those_of_scikit_learn(covariance_type, weight_prior, init_params):
    if covariance_type == "tied" and init_params not in ("kmeans", "random"):
        pytest.skip("there the start of scikit-learn forgets the responsibilities")
    X, matrix = clusters(90), np.cov(clusters(90).T) + np.eye(3)
    covariance_prior = {"diag": np.diag(matrix), "spherical": 2.5}
    given = dict(
        weight_concentration_prior=7.0,
        mean_precision_prior=0.05,
        mean_prior=X[0],
        degrees_of_freedom_prior=2.5,
        covariance_prior=covariance_prior.get(covariance_type, matrix),
        reg_covar=0.02,
    )
    for max_iter, priors in (1, {}), (2, {}), (9, {}), (6, given):
        shared = dict(
            **priors,
            n_components=5,
            covariance_type=covariance_type,
            weight_concentration_prior_type=weight_prior,
            init_params=init_params,
            max_iter=max_iter,
            tol=0.0,
            random_state=max_iter,
        )
        theirs = BayesianGaussianMixture(**shared).fit(X)
        ours = TemperedGaussianMixture(**shared, **THEIRS).fit(X)
        assert ours.n_iter_ == theirs.n_iter_ == max_iter
        assert_agree(ours, theirs, X)


# -- normalisers and predictive densities ----------------------------------------------


@pytest.mark.every(5)
@each_prior
@pytest.mark.parametrize("d", [1, 2])
def test_the_partition_is_an_integral(weight_prior, d):
    """The integrand over samples is the joint density to the power b."""
    model = model_of("full", weight_prior, k=3, d=d)
    hyper = model.initial_hyper(clusters(d=d))
    b = np.array([0.1, 0.5, 1.0])
    got = model.log_partition(b, hyper, np.random.default_rng(3), None, 1)
    random = np.random.default_rng(3)
    weights = np.exp(model.weights.log_draws(hyper.weight_concentration, random))
    degrees = hyper.degrees_of_freedom - np.arange(d)
    determinants = random.chisquare(degrees, size=(3, d)).prod(axis=1)
    determinants /= np.linalg.det(hyper.covariance)
    for power, value in zip(b, got, strict=True):
        total = 0.0
        for weight, determinant in zip(weights, determinants, strict=True):
            # only the determinant matters, so all axes can have the same variance
            normal = stats.norm(0, determinant ** (-0.5 / d))
            one, _ = quad(lambda x, n=normal, p=power: n.pdf(x) ** p, -np.inf, np.inf)
            total += weight**power * one**d
        assert value == pytest.approx(np.log(total), abs=1e-6)
    assert abs(got[-1]) < 1e-12


@pytest.mark.every(2)
@each_prior
def test_mixtures_of_the_partition_are_drawn_from_the_prior(weight_prior):
    model = model_of("full", weight_prior, k=4)
    hyper = model.initial_hyper(clusters())
    random = np.random.default_rng(0)
    draws = np.array([model.weights.log_draws(0.4, random) for _ in range(2000)])
    expected = model.weights.expected_log(model.weights.prior(0.4))
    error = draws.std(axis=0) / np.sqrt(2000)
    if weight_prior == "dirichlet_distribution":
        np.testing.assert_allclose(np.exp(draws).sum(axis=1), 1)
        assert (np.abs(draws.mean(axis=0) - expected) < 4 * error).all()
    else:  # the last stick is drawn like all others
        sticks = np.random.default_rng(1).beta(1, 0.4, (2000, 4))
        left = np.cumprod(1 - sticks, axis=1)
        shares = sticks * np.hstack([np.ones((2000, 1)), left[:, :-1]])
        error = np.hypot(error, np.log(shares).std(axis=0) / np.sqrt(2000))
        difference = draws.mean(axis=0) - np.log(shares).mean(axis=0)
        assert (np.abs(difference) < 4 * error).all()
    one = model_of("full", "dirichlet_distribution", k=1)
    b, n = np.array([0.2, 0.7]), 3000
    got = one.log_partition(b, hyper, random, None, n)
    mean = psi(0.5 * (hyper.degrees_of_freedom - np.arange(3))).sum()
    mean += 3 * np.log(2) - np.linalg.slogdet(hyper.covariance)[1]
    expected = 0.5 * (b - 1) * mean + 1.5 * ((1 - b) * np.log(2 * np.pi) - np.log(b))
    np.testing.assert_allclose(got, expected, atol=0.1)


def test_priors_of_the_partition():
    """Priors scale the prior covariance; "global" fills the space with clusters."""
    model, b = model_of(k=8), np.array([0.3, 1.0])
    hyper = model.initial_hyper(clusters())

    def of(priors, hyper=hyper):
        return model.log_partition(b, hyper, np.random.default_rng(0), priors, 4)

    np.testing.assert_array_equal(of(None), of(1.0))
    np.testing.assert_allclose(
        of(0.2), of(None, hyper._replace(covariance=0.2 * hyper.covariance))
    )
    np.testing.assert_allclose(of("global"), of(8 ** (-2 / 3)))
    np.testing.assert_array_equal(of("local"), of("global"))
    for bad in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="partition_priors"):
            of(bad)


@pytest.mark.every(11)
@each_type
@each_prior
def test_no_digits_are_lost_far_from_the_origin(covariance_type, weight_prior):
    X = np.round(clusters(120) * 2**20) / 2**20  # the shift is exact
    fits = [
        TemperedGaussianMixture(
            4,
            covariance_type=covariance_type,
            weight_concentration_prior_type=weight_prior,
            init_params="random_from_data",
            max_iter=500,
            tempering=None,
            random_state=0,
        ).fit(X + shift)
        for shift in (0, 2**20)
    ]
    near, far = fits
    np.testing.assert_allclose(far.means_ - 2**20, near.means_, atol=1e-8)
    np.testing.assert_allclose(far.covariances_, near.covariances_, rtol=1e-7)
    np.testing.assert_allclose(far.weights_, near.weights_, rtol=1e-7)
    assert far.lower_bound_ == pytest.approx(near.lower_bound_, abs=1e-6)
    np.testing.assert_allclose(
        far.score_samples(X + 2**20), near.score_samples(X), atol=1e-7
    )


# -- evidence, splits and merges -------------------------------------------------------


BLOBS = np.concatenate(
    [
        np.random.default_rng(k).normal(size=(40, 2)) + centre
        for k, centre in enumerate([[0, 0], [14, 0], [0, 40]])
    ]
)
LEFT, RIGHT, TOP = np.arange(40), np.arange(40, 80), np.arange(80, 120)


def search(labels, k, covariance_type="full", X=BLOBS):
    model = model_of(covariance_type, PRIORS[1], k=k, d=2)
    hyper = model.initial_hyper(X)
    return Search(model, hyper, X, np.eye(k)[labels], np.ones(len(X)))


def moved_rows(part):
    """Return the rows of the smaller part of a split whose shares are nearly hard."""
    assert np.minimum(part.shares, 1 - part.shares).max() < 0.1
    return part.rows[part.shares > 0.5].tolist()


HALVES = np.tile([1, 2], 20)


@each_type
def test_the_best_change_of_labels(covariance_type):
    """Clusters in one component are split, and halves of a cluster are merged."""
    for k, right, top, changes in (
        (3, 0, HALVES, {((0, 1, 2),)}),
        (4, 0, 1, {((0, 2, 2),), ((0, 3, 3),)}),  # into an empty component
        (4, 1, 1 + HALVES, {((None, 2, 3),)}),
        (3, 1, 2, None),
        (5, 1, 2, None),
    ):
        labels = np.zeros(120, int)
        labels[RIGHT], labels[TOP] = right, top
        found = search(labels, k, covariance_type)
        if changes is None:
            assert found.together == () and found._best_single()[0] < 0
            continue
        best = found.best(())
        assert best in changes and found.best({best}) not in changes
        found.known = labels  # empty components are not alike
        assert len(changes) == 1 or found.best({best}) in changes - {best}
        if right == 0:
            assert moved_rows(found.parts[0]) in (LEFT.tolist(), RIGHT.tolist())


@each_type
@each_prior
def test_gains_of_changes_are_rises_of_the_bound(covariance_type, weight_prior):
    """Changes are splits and merges, alone and together, with soft responsibilities."""
    random = np.random.default_rng(0)
    shares = np.zeros((120, 5))
    shares[:, :4] = random.dirichlet(np.ones(4), 120)
    model = model_of(covariance_type, weight_prior, k=5, d=2)
    hyper, weight = model.initial_hyper(BLOBS), random.integers(1, 4, 120).astype(float)
    found = Search(model, hyper, BLOBS, shares, weight)

    def bound(shares):
        shares = shares[:, model.weights.order(weight @ shares)]
        globals_ = model.optimum(BLOBS, weight[:, None] * shares, hyper)
        logs = model.log_joint(BLOBS, model.prepare(globals_, hyper))
        rows = (shares * logs - xlogy(shares, shares)).sum(axis=1)
        return weight @ rows + model.global_bound(globals_, hyper)

    def rise(changes):
        return bound(found.after(changes)) - bound(shares)

    assert len(found.merges) >= 3
    for place, gain in found.merges.items():
        assert gain == pytest.approx(rise([(None, *place)]), abs=1e-6)
    assert found.splits.keys() == {0, 1, 2, 3}
    for split, gain in found.splits.items():
        assert gain == pytest.approx(rise([(split, 4, 4)]), abs=1e-6)
    changes = (2, *min(found.merges)), (3, 4, 4)
    assert found._gains(changes)[-1] == pytest.approx(rise(changes), abs=1e-6)


def test_tied_clusters_are_split_together():
    """If two pairs share a covariance that fits both, no single split is a gain."""
    centres = [[0, 0], [0, 6], [6, 0], [6, 6]]
    random = np.random.default_rng(0)
    blobs = np.concatenate([random.normal(size=(100, 2)) + c for c in centres])
    found = search(np.repeat([0, 1], 200), 4, "tied", blobs)
    assert all(gain < 0 for gain in found.splits.values())
    assert found._gains(found.together)[-1] > 0
    assert {split for split, *_ in found.together} == {0, 1}
    for k in (0, 1):
        sides = np.bincount(np.array(moved_rows(found.parts[k])) // 100, minlength=4)
        assert sorted(sides)[-1] > 95 and sorted(sides)[-2] < 5


def test_a_component_in_two_halves_is_no_place_for_itself():
    found = search(np.r_[np.tile([0, 1], 40), np.full(40, 2)], 3)
    assert found.splits[0] > 0 and found.splits[1] > 0
    for split, *place in found.best(()):
        assert split not in place


@each_type
def test_copies_of_a_component_are_merged_at_once(covariance_type):
    """Copies share their rows; with hard labels, only one copy would have rows."""
    shares = np.zeros((120, 4))
    shares[LEFT, :2], shares[RIGHT, 2], shares[TOP, 3] = 0.5, 1.0, 1.0
    model = model_of(covariance_type, PRIORS[1], k=4, d=2)
    found = Search(model, model.initial_hyper(BLOBS), BLOBS, shares, np.ones(120))
    after = found.after(found.together)
    assert sorted(np.round(after.sum(axis=0))) == [0, 40, 40, 40]


def test_the_covariance_of_many_weighted_rows_is_that_of_numpy():
    random = np.random.default_rng(0)
    X = random.normal(size=(9000, 2)) * np.linspace(1, 3, 9000)[:, None]
    weight = random.integers(0, 4, size=9000)
    mean, covariance = mean_and_covariance(X, weight)
    np.testing.assert_allclose(mean, np.average(X, axis=0, weights=weight))
    np.testing.assert_allclose(covariance, np.cov(X.T, fweights=weight))


def test_sticks_are_put_in_order_first():
    X = BLOBS[np.r_[0:10, 40:80, 80:110]]
    model = model_of("full", "dirichlet_process", k=3, d=2)
    labels = np.repeat([0, 1, 2], [10, 40, 30])
    model.init = lambda X, n_components, random, weight: np.eye(3)[labels]
    hyper, globals_ = begun(model, X)
    random = np.random.default_rng(0)
    moved, _, key = model.propose_split_merge(globals_, hyper, X, random, set())
    assert key == "order"
    counts = model.usual(moved).precision - hyper.mean_precision
    np.testing.assert_allclose(counts, [40, 30, 10], atol=0.01)
    bounds = [
        tempered_bound(model, X, one, hyper, Powers()) for one in (moved, globals_)
    ]
    assert bounds[0] > bounds[1] + 1
    refused = {"order"}
    moved = model.propose_split_merge(globals_, hyper, X, random, refused)
    assert moved is None or moved[2] != "order"
    np.testing.assert_array_equal(model.weights.order(np.array([2.0, 9, 2])), [1, 0, 2])
    other = WEIGHTS["dirichlet_distribution"](3)
    np.testing.assert_array_equal(other.order(np.array([2.0, 9, 2])), [0, 1, 2])


@pytest.mark.parametrize("seed", range(5))
def test_weighted_rows_are_born_and_split_as_repeated_ones_are(seed):
    model, X = model_of("full", "dirichlet_process"), clusters(90)
    hyper, globals_ = begun(model, X)
    weights = np.random.default_rng(9).integers(0, 5, 90)
    order = np.random.default_rng(8).permutation(90)
    counted = order[weights[order] > 0]
    repeated = np.repeat(X, weights, axis=0)
    for propose, refused in (
        (model.propose_birth, ()),
        (model.propose_split_merge, ({"order"},)),
    ):
        one, two = (
            propose(globals_, hyper, block, np.random.default_rng(seed), *refused, own)
            for block, own in (
                (X[counted], weights[counted].astype(float)),
                (repeated, None),
            )
        )
        for part, other in zip(one[0].arrays(), two[0].arrays(), strict=True):
            np.testing.assert_allclose(part, other, rtol=1e-8, atol=1e-8)


@each_type
@each_prior
@pytest.mark.machine
def test_a_birth_gives_a_component_neighbours(covariance_type, weight_prior):
    model, X = model_of(covariance_type, weight_prior), clusters(90)
    hyper, globals_ = begun(model, X)
    total = (model.usual(globals_).precision - hyper.mean_precision).sum()
    for seed in range(10):
        random = np.random.default_rng(seed)
        block = X[: 90 if seed else 30]
        moved, same_hyper = model.propose_birth(globals_, hyper, block, random)
        assert same_hyper is hyper
        assert np.all(model.is_valid(moved))
        counts = model.usual(moved).precision - hyper.mean_precision
        assert counts.sum() == pytest.approx(total)
        if seed:  # one component has a whole number of samples, those near it
            assert (np.abs(counts - np.round(counts)) < 1e-9).any()

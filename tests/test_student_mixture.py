"""Student-t mixtures, compared with SciPy, quadrature and Gaussian mixtures."""

import gc
import weakref

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import gamma, t
from sklearn.metrics import adjusted_rand_score
from test_mixture_ascent import bounds_of_run

from sktemper import (
    AnnealedGaussianMixture,
    AnnealedStudentMixture,
    TemperedStudentMixture,
)
from sktemper._families._ascent import MixtureAscent
from sktemper.model import Powers, Request
from sktemper.schedules import ExponentialSchedule

TYPES = ("full", "tied", "diag", "spherical")
each_type = pytest.mark.parametrize("covariance_type", TYPES)


def tailed(seed, n_rows, centres, freedom):
    """Draw rows of Student-t clusters, and their labels."""
    random, centres = np.random.default_rng(seed), np.asarray(centres, dtype=float)
    y = np.arange(n_rows) % len(centres)
    X = random.normal(size=(n_rows, centres.shape[1]))
    X /= np.sqrt(random.chisquare(freedom, (n_rows, 1)) / freedom)
    return X + centres[y], y


def fitted(covariance_type, X=None, **parameters):
    """Return a mixture after a few steps, its model and its prepared parameters."""
    if X is None:
        X, _ = tailed(0, 40, [[0, 0], [4, 1]], 3.0)
    parameters = {"max_iter": 3, "tol": 0.0, **parameters}
    mixture = TemperedStudentMixture(
        2, covariance_type=covariance_type, random_state=0, **parameters
    )
    with pytest.warns() if parameters["max_iter"] < 9 else np.errstate():
        mixture.fit(X)
    model, state = mixture._fitted_model(), mixture.state_
    return mixture, model, model.prepare(state.globals_, state.hyper)


def over_scales(log_density):
    """Return log of the integral of a density over the scales u, of all elements."""
    s = np.linspace(-30.0, 8.0, 2001)
    logs = np.stack([log_density(np.exp(one)) + one for one in s])
    return logsumexp(logs, axis=0) + np.log(s[1] - s[0])


@pytest.mark.every(5)
@each_type
@pytest.mark.parametrize(
    "powers", [Powers(), Powers(1.0, 0.5, 0.5), Powers(0.4, 0.4, 0.4)]
)
def test_bounds_of_rows_are_integrals_over_scales(covariance_type, powers):
    mixture, model, prepared = fitted(covariance_type)
    X, _ = tailed(1, 6, [[0, 0], [4, 1]], 2.0)
    wanted = "bound", "local", "statistics"
    step = model.local_step(X, prepared, Request(powers, want=wanted))
    D, usual, freedom = 2, prepared.tables.usual, mixture.degrees_of_freedom_
    precisions = model.covariance.matrices(mixture.precisions_)
    shifts = X[:, None] - mixture.means_
    squares = np.einsum("nki,kij,nkj->nk", shifts, precisions, shifts)
    squares = squares + D / usual.precision
    family = model.family_of(mixture.state_.hyper)
    gaussian = prepared.log_weights + family.log_likelihoods(X, prepared.tables)
    at_mean = gaussian + 0.5 * squares
    # the statistics contain `reg_covar` of each row
    noise = mixture.state_.hyper.reg_covar
    squares += np.einsum("kii,i->k", precisions, noise)

    def log_density(u):
        log = at_mean + 0.5 * D * np.log(u) - 0.5 * u * squares
        prior = gamma.logpdf(u, freedom / 2, scale=2 / freedom)
        return powers.local * log + powers.prior * prior

    logs = over_scales(log_density)
    np.testing.assert_allclose(step.row_bounds, logsumexp(logs, axis=1), rtol=1e-7)
    shares = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    np.testing.assert_allclose(step.local_parameters, shares, atol=1e-7)
    if powers == Powers():  # statistics of the same shares have the same scales
        found = model.statistics(
            X, shares, mixture.state_.hyper, tables=prepared.tables
        )
        expected = step.statistics.components
        np.testing.assert_allclose(found.components, expected, rtol=1e-6)


@pytest.mark.parametrize("model", [AnnealedGaussianMixture, AnnealedStudentMixture])
def test_empty_sticks_have_finite_logarithms(model):
    X, _ = tailed(0, 90, [[0, 0], [9, 1]], 5.0)
    mixture = model(60, random_state=0).fit(X)
    found = mixture.score(X), mixture.bic(X), mixture.conditional(X, [0]).log_density
    assert all(np.isfinite(values).all() for values in found)


@each_type
def test_many_degrees_of_freedom_give_the_gaussian_mixture(covariance_type):
    X, _ = tailed(0, 200, [[0, 0], [6, 2], [0, 8]], 5.0)
    settings = {"covariance_type": covariance_type, "random_state": 0}
    settings["schedule"] = ExponentialSchedule("auto", length=50)
    gaussian = AnnealedGaussianMixture(6, moves="split_merge", **settings).fit(X)
    student = AnnealedStudentMixture(
        6, moves="split_merge", degrees_of_freedom=1e8, **settings
    ).fit(X)
    assert student.lower_bound_ == pytest.approx(gaussian.lower_bound_, rel=1e-5)
    np.testing.assert_allclose(
        student.score_samples(X), gaussian.score_samples(X), rtol=1e-4
    )
    np.testing.assert_array_equal(student.labels_, gaussian.labels_)


def test_degrees_of_freedom_are_those_of_maximum_likelihood():
    parts = [
        t.rvs(3.5, size=2000, random_state=0),
        t.rvs(8, 1e3, size=2000, random_state=1),
    ]
    X = np.concatenate(parts)[:, None]
    settings = {"tol": 1e-6, "reg_covar": 1e-6, "random_state": 0}
    mixture = TemperedStudentMixture(2, **settings).fit(X)
    order = np.argsort(mixture.means_[:, 0])
    for k, part in zip(order, parts, strict=True):

        def loss(parameters, part=part):
            log_df, log_scale, mean = parameters
            return -t.logpdf(part, np.exp(log_df), mean, np.exp(log_scale)).sum()

        start = 1.0, 0.0, part.mean()
        best = minimize(loss, start, method="Nelder-Mead", tol=1e-6).x
        expected = np.exp(best[0])
        assert mixture.degrees_of_freedom_[k] == pytest.approx(expected, rel=0.04)


def test_degrees_of_freedom_keep_their_components_and_step_by_the_rate():
    X, _ = tailed(0, 60, [[0, 0], [4, 1]], 3.0)
    prior = {"weight_concentration_prior_type": "dirichlet_distribution"}
    mixture, model, _ = fitted("full", X, **prior)
    globals_, block = mixture.state_.globals_, model.take(X, slice(None))
    start = np.array([2.0, 50.0])
    hyper = mixture.state_.hyper._replace(freedom_of_scales=start)

    def scores(globals_, hyper):
        return model.predictive_scores(block, model.prepare(globals_, hyper))[0]

    turned = model.reordered(globals_, hyper, np.array([1, 0]))
    np.testing.assert_allclose(scores(*turned), scores(globals_, hyper))
    step = model.local_step(block, model.prepare(globals_, hyper), Request(Powers()))
    whole, part = (
        model.update_hyper(hyper, globals_, step.statistics, 1.0, rate, Powers())
        for rate in (1.0, 0.2)
    )
    moves = np.log(whole.freedom_of_scales / start)
    assert (np.abs(moves) > 0.1).all()
    found = np.log(part.freedom_of_scales / start)
    np.testing.assert_allclose(found, 0.2 * moves)
    # less than half a row is no reason to learn
    empty = model.update_hyper(hyper, globals_, step.statistics, 1e-3, 1.0, Powers())
    np.testing.assert_array_equal(empty.freedom_of_scales, start)
    # components after a move have the mean logarithm over their rows
    shares, *_ = model.responsibilities(block, model.prepare(globals_, hyper))
    scaled, parts = model.complete(block, globals_, hyper), np.eye(2)[[0, 0, 1] * 20]
    logs = np.log(model.moved_hyper(scaled, parts, hyper).freedom_of_scales)
    np.testing.assert_allclose(logs, parts.T @ shares @ np.log(start) / [40, 20])


@pytest.mark.every(5)
@each_type
@pytest.mark.parametrize("dtype, rtol", [(np.float64, 1e-9), (np.float32, 1e-4)])
@pytest.mark.parametrize("powers", [(1.0, 1.0, 1.0), (1.0, 1.0, 0.5), (0.5, 0.5, 0.5)])
def test_the_kernel_takes_the_steps_of_the_model(covariance_type, dtype, rtol, powers):
    X = np.concatenate([tailed(seed, 300, [[0, 0], [6, 1]], 3.0)[0] for seed in (0, 1)])
    X = (100.0 + X).astype(dtype)
    weight = np.random.default_rng(0).integers(0, 3, size=600) / 2.0
    mixture, model, _ = fitted(covariance_type, X)
    state, block = mixture.state_, model.take(X, slice(None))
    powers = np.concatenate([np.tile(powers, (6, 1)), np.ones((6, 3))])
    outcomes = []
    for ascent, n_sections in (
        (model.ascent(block, state.hyper, weight), 1),
        (model.ascent(block, state.hyper, weight), 3),  # one of which is empty
        (MixtureAscent(model, block, weight), 1),
    ):
        ascent.n_sections = n_sections
        ascent.start(state.globals_, state.hyper)
        bounds = bounds_of_run(ascent, powers)
        globals_, hyper = ascent.parameters()
        freedom = hyper.freedom_of_scales
        arrays = [*globals_.arrays(), freedom, ascent.row_bounds, hyper.covariance]
        outcomes.append([bounds, *arrays])
    assert np.ptp(freedom / state.hyper.freedom_of_scales) > 0
    for found, in_sections, known in zip(*outcomes, strict=True):
        np.testing.assert_allclose(found, known, rtol=rtol, atol=10 * rtol)
        np.testing.assert_allclose(in_sections, known, rtol=rtol, atol=10 * rtol)


@pytest.mark.filterwarnings("ignore:Most rows are in components")
@pytest.mark.parametrize("n_features", [2, 8])
def test_heavy_tails_need_no_components_of_their_own(n_features):
    centres = 14.0 * np.eye(5, n_features)
    X, y = tailed(3, 500, centres[: min(5, n_features + 1)], 3.0)
    mixture = AnnealedStudentMixture(10, random_state=0).fit(X)
    assert mixture.n_active_components_ == len(np.unique(y))
    assert adjusted_rand_score(y, mixture.labels_) > 0.98
    gaussian = AnnealedGaussianMixture(10, random_state=0).fit(X)
    assert gaussian.n_active_components_ > mixture.n_active_components_


def test_outliers_have_small_scales():
    gc.freeze()  # a collection looks only at later objects, and is fast
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3)) + 9.0 * (np.arange(300) % 2)[:, None]
    X[:6] = random.uniform(-40.0, 40.0, (6, 3))
    mixture = AnnealedStudentMixture(6, random_state=0).fit(X)
    scales = mixture.expected_scales(X)
    assert set(np.argsort(scales)[:6]) == set(range(6))
    np.testing.assert_array_equal(mixture.expected_scales(X[:1]), scales[:1])
    rows = weakref.ref(X)
    del X
    gc.collect()
    assert rows() is None  # the mixture does not keep rows


def test_draws_have_the_distribution_of_the_mixture():
    X, _ = tailed(0, 500, [[0, 0], [9, 3]], 4.0)
    mixture = AnnealedStudentMixture(2, covariance_type="full", random_state=0).fit(X)
    rows, labels = mixture.sample(20_000)
    for k in range(2):
        own = rows[labels == k] - mixture.means_[k]
        distances = np.einsum("ni,ij,nj->n", own, mixture.precisions_[k], own)
        # the squared distance over the dimension has an F distribution
        freedom = mixture.degrees_of_freedom_[k]
        expected = freedom * (0.5 ** (-2.0 / freedom) - 1.0)
        assert np.median(distances) == pytest.approx(expected, rel=0.05)

"""Gaussian mixtures: Gamma distributions of precisions, and learned priors."""

import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from sktemper import (
    AnnealedGaussianMixture,
    AnnealedStudentMixture,
    TemperedGaussianMixture,
)
from sktemper._families._normal_wishart import (
    GammaPrecision,
    GammasPrecision,
    WishartPrecision,
)
from sktemper.gaussian_mixture._model import GaussianMixtureModel
from sktemper.gaussian_mixture._priors import LEARNED, MOST_FREE, Hyper, learned_priors
from sktemper.model import Powers

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

PARTS = tuple(LEARNED)
LAWS = {"full": WishartPrecision, "diag": GammasPrecision, "spherical": GammaPrecision}
each_law = pytest.mark.parametrize("covariance_type", LAWS)
D = 3


def data(n=90, n_clusters=3, seed=0, d=D):
    random = np.random.default_rng(seed)
    centres = 4 * random.normal(size=(n_clusters, d))
    widths = random.uniform(0.5, 2, size=(n_clusters, 1))
    y = np.arange(n) % n_clusters
    return centres[y] + widths[y] * random.normal(size=(n, d))


def model_of(covariance_type, k=3, learned=(), d=D):
    def priors(mean, covariance, n_samples):
        return Hyper(0.4, 0.7, d + 1.5, mean + 0.1, 2.0 * covariance, mean - 0.2)

    return GaussianMixtureModel(
        k,
        d,
        covariance_type=covariance_type,
        priors=priors,
        init=lambda X, n, random, weight: np.eye(n)[np.arange(len(X)) % n],
        reg_covar=0.0,
        learned=learned,
    )


@pytest.mark.parametrize("used", range(3))
def test_wide_priors_are_those_of_the_only_component_with_rows(used):
    X, learned = data(), ("mean_precision", "degrees_of_freedom", "covariance")
    model = model_of("full", learned=learned)
    hyper, block = model.initial_hyper(X), model.take(X, slice(None))
    priors = []
    for k in (0, used):
        shares = (np.arange(3) == k) * np.ones((len(X), 1))
        priors.append(model.wide_priors(model.optimum(block, shares, hyper), hyper))
    for found, expected in zip(*priors, strict=True):
        np.testing.assert_allclose(found, expected)
    assert not np.allclose(priors[0].covariance, hyper.covariance)


# -- distributions of precisions -------------------------------------------------------


def test_the_gamma_distributions_are_those_of_scipy():
    nu, s = 2.7, np.array([0.4, 1.3, 6.0])
    laws = [stats.gamma(nu / 2, scale=2 / b) for b in s]
    logs = [quad(lambda x, one=one: np.log(x) * one.pdf(x), 0, 200)[0] for one in laws]
    law = GammasPrecision(D)
    assert law.expected_log(nu) - np.log(s).sum() == pytest.approx(sum(logs), rel=1e-6)
    one = stats.gamma(D * nu / 2, scale=2 / (D * s[0]))
    expected = D * quad(lambda x: np.log(x) * one.pdf(x), 0, 200)[0]
    found = GammaPrecision(D).expected_log(nu) - D * np.log(s[0])
    assert found == pytest.approx(expected, rel=1e-6)


@each_law
def test_derivatives_and_draws_are_those_of_the_expectation(covariance_type):
    law = LAWS[covariance_type](D)
    for nu in (law.least + 0.3, 11.0):
        rise = law.expected_log(nu + 1e-6) - law.expected_log(nu - 1e-6)
        assert law.derivative(nu) == pytest.approx(rise / 2e-6, rel=1e-6)
        draws = law.draws(nu, np.random.default_rng(0), 20_000)
        error = draws.std() / np.sqrt(len(draws))
        assert abs(draws.mean() - law.expected_log(nu)) < 5 * error


def test_covariance_types_are_equal_in_one_dimension():
    X = data(d=1)
    found = []
    for covariance_type in LAWS:
        model = model_of(covariance_type, d=1)
        hyper = model.initial_hyper(X)
        globals_ = model.initial_globals(X, None, hyper)
        prepared = model.prepare(globals_, hyper)
        scores, _ = model.predictive_scores(X, prepared)
        found.append((model.global_bound(globals_, hyper), scores))
    for bound, scores in found[1:]:
        assert bound == pytest.approx(found[0][0], rel=1e-10)
        np.testing.assert_allclose(scores, found[0][1], rtol=1e-10)


@each_law
def test_predictive_densities_are_ratios_of_evidence(covariance_type):
    model, X = model_of(covariance_type), data()
    hyper = model.initial_hyper(X)
    family, prior = model.family_of(hyper), model.component_prior(hyper)
    posterior = prior + family.statistics(X[:9], np.ones((9, 1)))[1]
    logs = family.log_predictive(X[9:12], family.prepare(posterior))[:, 0]
    more = posterior + family.counted(family.moments(X[9:12]))
    expected = family.log_normaliser(more) - family.log_normaliser(posterior)
    np.testing.assert_allclose(logs, expected, rtol=1e-10)


# -- empirical Bayes -------------------------------------------------------------------


def posteriors(model, X):
    hyper = model.initial_hyper(X)
    globals_ = model.initial_globals(X, None, hyper)
    used = np.ones(model.n_components, dtype=bool)
    return hyper, globals_, model.usual(globals_), used


@each_law
@pytest.mark.parametrize("learned", [PARTS, PARTS[:1], PARTS[1:2], PARTS[2:]])
def test_learned_priors_maximise_the_evidence(covariance_type, learned):
    model, X = model_of(covariance_type, learned=learned), data()
    hyper, globals_, _, _ = posteriors(model, X)
    statistics = globals_ + model.prior(hyper).scaled(-1.0)

    def evidence(hyper):
        family, prior = model.family_of(hyper), model.component_prior(hyper)
        return family.evidence(prior, statistics.components).sum()

    best, values = hyper, [evidence(hyper)]
    for _ in range(100):
        best = learned_priors(model, best, statistics)
        values.append(evidence(best))
    assert np.diff(values).min() > -1e-9
    assert values[-1] > values[0]
    for name in PARTS:
        if name not in learned:
            np.testing.assert_array_equal(getattr(best, name), getattr(hyper, name))

    def moved(factors):
        values = {
            name: getattr(best, name) * np.exp(factor)
            for name, factor in zip(learned, factors, strict=True)
        }
        return best._replace(**values)

    start = np.full(len(learned), 0.2)
    found = minimize(lambda factors: -evidence(moved(factors)), start, tol=1e-9)
    assert -found.fun <= values[-1] + 1e-3


@pytest.mark.parametrize("narrow", range(D))
def test_a_narrow_column_alone_is_searched(narrow):
    """The change of a variance is judged in units of its own column."""
    units = np.where(np.arange(D) == narrow, 1e-3, 1e3)
    model, X = model_of("diag", learned=PARTS[2:]), data() * units
    hyper, globals_, _, _ = posteriors(model, X)
    statistics = globals_ + model.prior(hyper).scaled(-1.0)
    hyper = hyper._replace(degrees_of_freedom=1000.0)
    for _ in range(100):
        hyper = learned_priors(model, hyper, statistics)
    factors = np.where(units < 1, 1.2, 1.0)
    moved = hyper._replace(covariance=factors * hyper.covariance)
    found = learned_priors(model, moved, statistics).covariance / hyper.covariance
    np.testing.assert_allclose(found, 1.0, atol=0.1)  # 1.19 without a search


@pytest.mark.parametrize("seed", [0, 47])
def test_learned_covariances_stay_symmetric(seed):
    """Extrapolations do not amplify rounding errors, which made bounds fall."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(6, 3)) * [0.4, 4.0, 0.15]
    settings = {"moves": None, "tempering": None, "tol": 0.0, "reg_covar": 0.0}
    mixture = TemperedGaussianMixture(4, covariance_type="full", **settings)
    mixture.set_params(max_iter=30, random_state=0)
    mixture.fit(X, sample_weight=random.uniform(0.5, 4.0, 6))
    covariance = mixture.state_.hyper.covariance
    np.testing.assert_allclose(covariance, covariance.T, rtol=1e-9)
    assert (np.diff(mixture.history_["lower_bound"]) > -1e-5).all()


@pytest.mark.parametrize("learned", [PARTS, PARTS[2:]])
def test_learned_priors_maximise_the_evidence_of_a_tied_covariance(learned):
    """All components have one covariance, and with more degrees of freedom, more."""
    model, X = model_of("tied", 4, frozenset(learned)), data()
    shares = np.random.default_rng(1).dirichlet([0.2, 0.3, 0.5, 1e-9], size=len(X))
    hyper = model.initial_hyper(X)
    sums = model.statistics(X, shares, hyper)

    def evidence(hyper):
        globals_ = model.target(sums, 1.0, Powers(), hyper)
        family = model.family_of(hyper)
        likelihood = (family.expected(globals_.components) * sums.components).sum()
        return likelihood + model.global_bound(globals_, hyper)

    def other(root):
        root = root.reshape(D, D)
        return best._replace(covariance=best.degrees_of_freedom * root @ root.T)

    globals_ = model.target(sums, 1.0, Powers(), hyper)
    best = model.update_hyper(hyper, globals_, sums, 1.0, 1.0, Powers())
    start = np.linalg.cholesky(best.covariance / best.degrees_of_freedom) + 0.1
    found = minimize(lambda root: -evidence(other(root)), start.ravel(), tol=1e-9)
    diagonal = hyper._replace(is_diagonal=True)
    diagonal = model.update_hyper(diagonal, globals_, sums, 1.0, 1.0, Powers())
    assert np.count_nonzero(diagonal.covariance) == D
    assert evidence(hyper) + 1 < evidence(best) == pytest.approx(-found.fun, rel=1e-9)
    if "degrees_of_freedom" in learned:
        factor = 1e3
        freer = best._replace(
            degrees_of_freedom=factor * best.degrees_of_freedom,
            covariance=factor * best.covariance,
        )
        rise = evidence(freer) - evidence(best)
        assert rise == pytest.approx(4 * D * (D + 1) / 400, rel=0.02)


@pytest.mark.parametrize("estimator", [AnnealedGaussianMixture, AnnealedStudentMixture])
def test_narrow_clusters_have_narrow_tied_covariances(estimator):
    random = np.random.default_rng(0)
    X = np.array([[0, 0], [4, 0], [0, 4]])[np.arange(300) % 3]
    X = X + 0.1 * random.normal(size=X.shape)
    mixture = estimator(covariance_type="tied", random_state=0).fit(X)
    assert mixture.n_active_components_ == 3
    deviations = np.sqrt(np.diag(mixture.covariances_))
    np.testing.assert_allclose(deviations, 0.1, rtol=0.1)
    truth = np.log(1 / 3 / (2 * np.pi * 0.01)) - 1
    assert mixture.score(X) == pytest.approx(truth, abs=0.08)


@pytest.mark.every(3)
@pytest.mark.parametrize("covariance_type", ["full", "diag", "tied"])
def test_a_fit_converges_after_its_moves(covariance_type):
    fit = AnnealedGaussianMixture(
        8, covariance_type=covariance_type, max_iter=20, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit.fit(data(400, 4, seed=1))
    assert fit.history_["move_kept"].any()
    assert fit.converged_


def test_components_cost_more_with_more_samples():
    def prior(n, **settings):
        mixture = TemperedGaussianMixture(4, max_iter=0, random_state=0, **settings)
        X = np.random.default_rng(0).normal(size=(n, 1))
        return mixture.fit(X).weight_concentration_prior_

    assert prior(100) == 0.25
    assert prior(1000) == pytest.approx(0.05 ** (1000 / 300))
    assert prior(4000) == 1e-12
    assert prior(4000, priors="scikit-learn") == 0.25
    assert prior(4000, weight_concentration_prior=0.1) == 0.1


def test_components_without_rows_do_not_change_the_prior():
    X = data()
    for k in (4, 9):
        model = model_of("diag", k, LEARNED)
        model.init = lambda X, n, random, weight: np.eye(n)[np.arange(len(X)) % 3]
        hyper, globals_, *_ = posteriors(model, X)
        told = model.statistics(X, np.eye(k)[np.arange(len(X)) % 3], hyper), 1.0
        learned = model.update_hyper(hyper, globals_, *told, 1.0, Powers())
        if k == 4:
            of_four = learned
    assert learned.degrees_of_freedom == pytest.approx(of_four.degrees_of_freedom)
    np.testing.assert_allclose(learned.covariance, of_four.covariance)
    part = model.update_hyper(hyper, globals_, *told, 0.25, Powers())
    expected = 0.75 * hyper.mean_precision + 0.25 * learned.mean_precision
    assert part.mean_precision == pytest.approx(expected)


def test_one_component_does_not_change_the_prior():
    model = model_of("full", 1, LEARNED)
    X = data()
    hyper, globals_, *_ = posteriors(model, X)
    told = model.statistics(X, np.ones((len(X), 1)), hyper), 1.0
    assert model.update_hyper(hyper, globals_, *told, 1.0, Powers()) is hyper


@pytest.mark.parametrize(
    "name, value",
    [
        ("mean_precision_prior", 0.3),
        ("degrees_of_freedom_prior", 4.5),
        ("covariance_prior", np.array([1.0, 2.0, 3.0])),
    ],
)
def test_given_priors_do_not_change_and_others_are_learned(name, value):
    settings = {"covariance_type": "diag", "tempering": None, "random_state": 0}
    start, fit = (
        TemperedGaussianMixture(3, **settings, max_iter=n, **{name: value}).fit(data())
        for n in (0, 5)
    )
    for part in LEARNED:
        before, after = (getattr(one, f"{part}_prior_") for one in (start, fit))
        assert np.array_equal(before, after) == (f"{part}_prior" == name)
    assert np.array_equal(getattr(fit, f"{name}_"), value)


def test_clusters_of_one_width_have_one_prior():
    """All clusters have the same covariances, and the prior learns them."""
    random = np.random.default_rng(0)
    y = np.arange(1200) % 6
    X = 12 * random.normal(size=(6, 8))[y] + random.normal(size=(1200, 8))
    fit = TemperedGaussianMixture(
        6, covariance_type="spherical", tempering=None, random_state=0, max_iter=60
    ).fit(X)
    assert fit.degrees_of_freedom_prior_ > 50
    width = fit.covariance_prior_ / fit.degrees_of_freedom_prior_
    assert width == pytest.approx(1.0, rel=0.1)
    assert fit.degrees_of_freedom_prior_ <= MOST_FREE


def test_equal_covariances_are_learned_in_few_steps():
    """A round of learning alone raises many degrees of freedom by .1 percent."""
    model, y = model_of("full", 20, frozenset(LEARNED), 8), np.arange(4000) % 20
    random = np.random.default_rng(0)
    X = 12 * random.normal(size=(20, 8))[y] + random.normal(size=(4000, 8))
    hyper, shares = model.initial_hyper(X), np.eye(20)[y]
    sums, bounds = model.statistics(model.take(X, slice(None)), shares, hyper), []
    for _ in range(40):
        globals_ = model.target(sums, 1.0, Powers(), hyper)
        bounds.append(model.global_bound(globals_, hyper))
        hyper = model.update_hyper(hyper, globals_, sums, 1.0, 1.0, Powers())
    assert bounds[-1] - bounds[25] < 0.02
    assert hyper.degrees_of_freedom > 0.9 * MOST_FREE


@pytest.mark.every(2)
@pytest.mark.parametrize("covariance_type", ["diag", "spherical"])
def test_clusters_in_many_columns_are_found(covariance_type):
    """With scikit-learn's priors, clusters six standard deviations apart are merged."""
    random = np.random.default_rng(0)
    y = random.choice(5, size=500)
    centres = random.normal(size=(5, 48)) * 6 / np.sqrt(2 * 48)
    X = centres[y] + random.normal(size=(500, 48))
    shared = {"covariance_type": covariance_type, "random_state": 0}
    theirs = AnnealedGaussianMixture(10, **shared, priors="scikit-learn")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = AnnealedGaussianMixture(10, **shared).fit(X)
        clone(theirs).fit(X[y == 0])
    assert fit.n_active_components_ == 5
    assert adjusted_rand_score(y, fit.labels_) > 0.9
    with pytest.warns(ConvergenceWarning, match='nats. Use priors="learned"'):
        theirs.fit(X)
    assert theirs.n_active_components_ < 5


def test_streams_learn_their_priors():
    X = data(400, 4)
    settings = {"covariance_type": "diag", "tempering": None, "random_state": 0}
    fit = TemperedGaussianMixture(4, **settings)
    for start in range(0, 400, 100):
        fit.partial_fit(X[start : start + 100])
        assert np.isfinite(fit.covariance_prior_).all()
    assert fit.mean_precision_prior_ != 1.0

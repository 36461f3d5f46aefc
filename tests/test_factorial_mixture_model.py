"""The factorial mixture: kernel, step, objective, gradient, missing data."""

import itertools

import numpy as np
import oracles
import pytest
from scipy.integrate import trapezoid
from scipy.special import expit, xlogy
from scipy.stats import norm

from sktemper.factorial_mixture import _births, _inference, _kernels
from sktemper.factorial_mixture._births import replace_components, rises_without
from sktemper.factorial_mixture._inference import Components, FeatureStatistics
from sktemper.factorial_mixture._model import FactorialMixtureModel
from sktemper.model import Powers, Request, Stopped

POWERS = {
    "plain": Powers(),
    "local_step": Powers(1.0, 1.0, 0.4),
    "likelihood": Powers(1.0, 0.4, 0.4),
    "posterior": Powers(0.4, 0.4, 0.4),
}
K, D, N = 4, 9, 21


def problem(seed=0, n=N, d=D, k=K, missing=0.0, **settings):
    """Return data, a model, and components whose posteriors are correlated."""
    random = np.random.default_rng(seed)
    prior = random.uniform(0.2, 0.6, k)
    means = random.normal(0, 1, (k, d))
    X = (random.random((n, k)) < prior) @ means + random.normal(0, 0.6, (n, d))
    X[random.random((n, d)) < missing] = np.nan
    settings = {"tol": 1e-6, "max_iter": 300, "local_cooling": None, **settings}
    sweeps = {name: settings.pop(name) for name in ("tol", "max_iter")}
    model = FactorialMixtureModel(
        k,
        d,
        noise_variance=0.5,
        component_variance=1.3,
        inclusion_probability=prior,
        **settings,
    )
    vars(model).update(sweeps, dtype=np.dtype(model.dtype))
    factor = random.normal(0, 1, (k, k))
    precision = factor @ factor.T + 12 * np.eye(k)
    means = means + random.normal(0, 0.3, (k, d))
    return X, model, Components(precision, precision @ means)


def local(model, X, components, powers, hyper=None, **arguments):
    hyper = model.initial_hyper(X) if hyper is None else hyper
    arguments = {"want": ("statistics", "bound", "local"), **arguments}
    block = model.take(X.astype(model.dtype), slice(None))
    prepared = model.prepare(components, hyper)
    return model.local_step(block, prepared, Request(powers, **arguments))


def observed(model, X, components):
    block = model.take(X.astype(model.dtype), slice(None))
    prepared = model.prepare(components, model.initial_hyper(X))
    return model.observed_step(block, prepared)


def reference(model, X, components, powers, completing=True, **rest):
    hyper = model.initial_hyper(X)
    return oracles.binary_local_step(
        X,
        components.means(),
        model.covariance(components),
        hyper.noise_variance,
        hyper.inclusion_probability,
        powers.local,
        tol=model.tol,
        max_iter=model.max_iter,
        cooling=model.local_cooling,
        completing=completing,
        **rest,
    )


# -- the kernel ------------------------------------------------------------------------


def assert_is_reference(model, X, components, powers, rtol, weights=None, **start):
    nu, bounds, scores, sweeps = reference(
        model, X, components, powers, nu=[None] * len(X)
    )
    if "local_init" in start:
        fresh = nu, bounds, scores
        others = reference(model, X, components, powers, nu=start["local_init"])
        nu, bounds, scores = others[:3]
        if model.local_cooling is not None:  # the better of two starts
            better = fresh[1] > bounds
            nu = np.where(better[:, None], fresh[0], nu)
            bounds = np.where(better, fresh[1], bounds)
            scores = np.where(better, fresh[2], scores)
            sweeps += others[3]
        else:
            sweeps = others[3]
    step = local(model, X, components, powers, unit_noise=weights, **start)
    size = dict(rtol=rtol, atol=rtol)
    np.testing.assert_allclose(step.local_parameters, nu, **size)
    # the error is relative to the terms that cancel
    scale = max(np.abs(scores).max(), 1)
    np.testing.assert_allclose(step.row_scores / scale, scores / scale, **size)
    np.testing.assert_allclose(step.row_bounds / scale, bounds / scale, **size)
    assert step.bound == pytest.approx(step.row_bounds.sum())
    assert step.score == pytest.approx(step.row_scores.sum())
    if rtol < 1e-8 and model.tol > 1e-10:
        assert step.n_iterations == sweeps
    factors = np.broadcast_to(powers.statistics, len(X))
    factors = factors * (1.0 if weights is None else weights)
    second, cross, residual = oracles.binary_statistics(
        X, components.means(), model.covariance(components), nu, factors
    )
    for name, value in {
        "second": second,
        "cross": cross,
        "residual": residual,
        "samples": factors.sum(),
        "values": factors @ (~np.isnan(X)).sum(axis=1),
    }.items():
        np.testing.assert_allclose(
            getattr(step.statistics, name) / len(X),
            value / len(X),
            rtol=rtol,
            atol=20 * rtol,
        )


dtypes = pytest.mark.parametrize(
    "dtype, rtol", [(np.float64, 1e-10), (np.float32, 3e-5)]
)


@pytest.mark.every(17)
@dtypes
@pytest.mark.parametrize("cooling", [None, 2.0, 1.3])
@pytest.mark.parametrize("k", [1, 2, 7, 8, 9, 16, 40])
@pytest.mark.machine
def test_the_kernel_is_the_reference(dtype, rtol, cooling, k):
    settings = dict(dtype=dtype, local_cooling=cooling, tol=1e-5)
    X, model, components = problem(k=k, d=3 * k, **settings)
    for name in ("plain", "local_step"):
        assert_is_reference(model, X, components, POWERS[name], rtol)


@pytest.mark.every(5)
@dtypes
@pytest.mark.parametrize("structured", [True, False])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("cooling", [None, 2.0])
def test_powers_weights_and_starts_of_samples(
    dtype, rtol, structured, missing, cooling
):
    X, model, components = problem(
        dtype=dtype, structured=structured, missing=missing, local_cooling=cooling
    )
    random = np.random.default_rng(1)
    powers = Powers(1.0, random.uniform(0.1, 1, N), random.uniform(0.1, 1, N))
    weights, start = random.normal(1, 1, N), random.random((N, K))
    assert_is_reference(model, X, components, powers, rtol, weights)
    # with convergence, the path to the optimum does not matter
    model.tol, model.max_iter = 1e-13, 1000
    assert_is_reference(model, X, components, powers, rtol, weights, local_init=start)
    assert_is_reference(
        model, X, components, POWERS["likelihood"], rtol, local_init=start
    )


@pytest.mark.parametrize("max_iter", [1, 2, 5])
def test_sweeps_end(max_iter):
    X, model, components = problem(tol=0.0, max_iter=max_iter, local_cooling=2.0)
    step = local(model, X, components, Powers())
    assert_is_reference(model, X, components, Powers(), 1e-10)
    heat = np.diag(components.means() @ components.means().T) / (2 * 0.5)
    n_cooling = np.ceil(np.log2(heat.max() + 4))  # more sweeps for the covariance
    assert N * (max_iter + 1) < step.n_iterations < N * (max_iter + n_cooling + 2)
    model.local_cooling = None
    assert local(model, X, components, Powers()).n_iterations == N * max_iter


@pytest.mark.every(5)
@dtypes
@pytest.mark.parametrize("k", [60, 170])
def test_many_features_of_samples_that_miss_values(dtype, rtol, k):
    """With many features fewer samples share a panel; its Grams must fit a cache."""
    X, model, components = problem(n=19, k=k, d=40, missing=0.2, dtype=dtype, tol=1e-5)
    model.noise_variance = 40.0
    assert_is_reference(model, X, components, Powers(), max(rtol, 1e-9))
    whole = local(model, X, components, Powers())
    for rows in ([3], [17, 5], np.arange(19)[::-1]):
        step = local(model, X[rows], components, Powers())
        for name in ("local_parameters", "row_bounds", "row_scores"):
            np.testing.assert_array_equal(
                getattr(step, name), getattr(whole, name)[rows]
            )


def test_starts_from_some_of_many_rows_use_their_weights():
    X, model, _ = problem(n=40_000, d=3)
    model.noise_variance = model.component_variance = None
    weight = np.random.default_rng(0).random(40_000) * (np.abs(X[:, 0]) > 1)
    found = model.initial_hyper(X, weight)
    expected = model.initial_hyper(X[::2], weight[::2])
    assert found[:2] == pytest.approx(expected[:2])


def swept(
    products,
    gram=None,
    offsets=None,
    prior_logits=None,
    powers=None,
    heats=None,
    cooling=2.0,
    tol=1e-3,
    max_iter=100,
):
    """Return the number of sweeps that start at one half, probabilities, and outcomes.

    With an offset for each sample, each has its own gram.
    """
    n, k = products.shape
    dtype = products.dtype
    offsets = np.zeros((1, k), dtype=dtype) if offsets is None else offsets
    nu, outcomes = np.full((n, k), 0.5, dtype=dtype), np.empty((3, n))
    n_sweeps = _kernels.local_step(
        products,
        np.zeros((k, k), dtype=dtype) if gram is None else gram,
        offsets,
        np.zeros(k, dtype=dtype) if prior_logits is None else prior_logits,
        len(offsets) > 1,
        np.ones(1) if powers is None else powers,
        np.ones(1) if heats is None else heats,
        cooling,
        tol,
        max_iter,
        np.zeros(1, dtype=np.intc),
        nu,
        *outcomes,
    )
    return n_sweeps, nu, outcomes


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("per_sample", [True, False])
@pytest.mark.parametrize("heat", [np.inf, np.nan, 1e30, 5.0])
@pytest.mark.parametrize("cooling", [1.0, 2.0, 0.5, np.nan, np.inf])
@pytest.mark.machine
def test_the_kernel_ends_whatever_it_is_given(dtype, per_sample, heat, cooling):
    random = np.random.default_rng(0)
    products = random.normal(0, 1, (5, 2)).astype(dtype)
    products[1:4] = [[np.inf, 0], [np.nan, 1], [-np.inf, np.inf]]
    gram = np.array([[1, 0.3], [0.3, np.inf]], dtype=dtype)
    if per_sample:
        gram = np.tile(gram[np.triu_indices(2)], (5, 1))
    n_sweeps, *_ = swept(
        products,
        gram,
        offsets=np.zeros((5 if per_sample else 1, 2), dtype=dtype),
        heats=np.full(5 if per_sample else 1, heat),
        cooling=cooling,
        max_iter=10,
    )
    assert 5 <= n_sweeps <= 5 * (10 + 101)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probabilities_of_logits_of_any_size(dtype):
    limits = np.finfo(dtype)
    sizes = np.exp2(np.arange(-10, limits.maxexp))[:, None] * np.linspace(1, 1.99, 8)
    logits = np.append(sizes.ravel(), np.inf)
    logits = np.concatenate([logits, -logits]).astype(dtype)
    found = swept(logits[:, None])[1][:, 0]
    np.testing.assert_allclose(found, expit(logits), atol=4 * limits.eps)
    assert np.isnan(swept(np.full((1, 1), np.nan, dtype=dtype))[1]).all()


@pytest.mark.parametrize("heat", [np.inf, np.nan, 0.5])
def test_infinite_temperatures_of_samples_are_ignored(heat):
    gram = np.array([[1, 0.3], [0.3, 2]])
    products = np.random.default_rng(0).normal(0, 1, (5, 2))
    _, plain, _ = swept(products, gram)
    _, heated, _ = swept(products, gram, heats=np.full(1, heat))
    np.testing.assert_array_equal(heated, plain)
    assert np.isfinite(plain).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("per_sample", [True, False])
@pytest.mark.parametrize("k", [1, 7, 64, 65, 72, 73, 130])
def test_terms_of_the_bound_are_those_of_the_probabilities(dtype, per_sample, k):
    # panels of all widths with an incomplete last one; logits of several hundred
    random, n = np.random.default_rng(k), 150
    factor = random.normal(0, 1, (k, k + 2))
    gram = (factor @ factor.T / k).astype(dtype)
    products = random.normal(0, 30, (n, k)).astype(dtype)
    prior_logits = random.normal(-1, 1, k).astype(dtype)
    offsets = (prior_logits - np.diag(gram) / 2)[None]
    powers = random.uniform(0.01, 1, n)
    n_sweeps, nu, outcomes = swept(
        products,
        np.tile(gram[np.triu_indices(k)], (n, 1)) if per_sample else gram,
        np.tile(offsets, (n, 1)) if per_sample else offsets,
        prior_logits,
        powers,
        heats=np.ones(n if per_sample else 1),
        cooling=1.0,
        tol=100 * np.finfo(dtype).eps,
        max_iter=300,
    )
    assert 2 * n <= n_sweeps < 300 * n
    p, gram, products = (x.astype(float) for x in (nu, gram, products))
    off = gram - np.diag(np.diag(gram))
    logits = powers[:, None] * (products + offsets - p @ off)
    size = {np.float32: 1e-4, np.float64: 1e-12}[dtype]
    np.testing.assert_allclose(p, expit(logits), rtol=size, atol=size)
    fits = (p * (products - np.diag(gram) / 2 - p @ off / 2)).sum(axis=1)
    entropies = -(xlogy(p, p) + xlogy(1 - p, 1 - p)).sum(axis=1)
    expected = fits, fits + p @ prior_logits, entropies
    scales = np.abs(fits).max(), np.abs(fits).max(), k
    for outcome, terms, scale in zip(outcomes, expected, scales, strict=True):
        np.testing.assert_allclose(outcome / scale, terms / scale, atol=size)


@pytest.mark.every(3)
@pytest.mark.parametrize("structured", [True, False])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_200_components(structured, missing):
    """From 182 components on, numpy reuses a Gram matrix's memory and its order."""
    X, model, components = problem(
        n=2, d=5, k=200, missing=missing, structured=structured, max_iter=2
    )
    assert_is_reference(model, X, components, Powers(), 1e-10)


# -- the normaliser --------------------------------------------------------------------


def test_the_normaliser_is_an_integral():
    X, model, components = problem(d=1, k=3)
    hyper, means = model.initial_hyper(X), components.means()[:, 0]
    noise, prior = hyper.noise_variance, hyper.inclusion_probability
    x = np.linspace(-60, 60, 40_001)
    log_joint = []
    for z in itertools.product([0, 1], repeat=3):
        z = np.array(z)
        log_joint.append(
            norm.logpdf(x, z @ means, np.sqrt(noise))
            + np.log(np.where(z == 1, prior, 1 - prior)).sum()
        )
    log_joint = np.array(log_joint)
    b = np.array([1.0, 0.6, 0.1])

    def log_c(b):
        return np.log(trapezoid(np.exp(b * log_joint), x, axis=1).sum())

    computed = model.log_partition(b, hyper, None)
    constant = (1 - b) / 2 * np.log(2 * np.pi * noise)
    np.testing.assert_allclose(
        computed + constant, [log_c(v) for v in b], rtol=1e-9, atol=1e-9
    )


def test_the_normaliser_has_priors_of_its_own():
    X, model, _ = problem()
    b, hyper = np.array([1.0, 0.3]), model.initial_hyper(X)
    for name in ("global", "local", None):
        np.testing.assert_array_equal(
            model.log_partition(b, hyper, None, name), model.log_partition(b, hyper, 0)
        )
    half = model.log_partition(b, hyper, None, 0.5)
    expected = (1 - b) * K * np.log(2) / D - np.log(b) / 2
    np.testing.assert_allclose(half, expected, rtol=1e-12, atol=1e-15)
    for bad in (0.0, 1.0, [0.5, 0.5, 0.5, 2.0]):
        with pytest.raises(ValueError, match="partition_priors must be in"):
            model.log_partition(b, hyper, None, bad)


# -- the step --------------------------------------------------------------------------


@pytest.mark.parametrize("inclusion", [True, False])
@pytest.mark.parametrize("noise", [True, False])
def test_learned_parameters_maximize_the_bound(noise, inclusion):
    X, model, components = problem(
        learn_noise_variance=noise, learn_inclusion_probability=inclusion, missing=0.2
    )
    hyper = model.initial_hyper(X)
    step = local(model, X, components, Powers())
    learned = model.update_hyper(hyper, components, step.statistics, 1.0, 1.0, Powers())
    nu = step.local_parameters
    *_, residual = oracles.binary_statistics(
        X, components.means(), components.covariance(), nu, np.ones(N)
    )
    expected = residual / (~np.isnan(X)).sum() if noise else 0.5
    assert learned.noise_variance == pytest.approx(expected, rel=1e-9)
    expected = nu.mean(axis=0) if inclusion else hyper.inclusion_probability
    np.testing.assert_allclose(learned.inclusion_probability, expected, rtol=1e-9)
    assert learned.component_variance == hyper.component_variance
    part = model.update_hyper(hyper, components, step.statistics, 7.0, 0.25, Powers())
    assert part.noise_variance == pytest.approx(
        0.75 * 0.5 + 0.25 * learned.noise_variance
    )


# -- staying in the domain -------------------------------------------------------------


def with_negative_weights(seed, mean=1.0, **settings):
    X, model, components = problem(seed, n=12, **settings)
    weights = np.random.default_rng(seed).normal(mean, 3, 12)
    step = local(model, X, components, Powers(), unit_noise=weights)
    return model, components, step.statistics, model.initial_hyper(X)


@pytest.mark.every(5)
@pytest.mark.parametrize("noise", [True, False])
@pytest.mark.parametrize("inclusion", [True, False])
def test_learned_parameters_stay_in_the_domain(noise, inclusion):
    """Learned values stay in it alone, and the precision, one matrix, by the rate."""
    limited = 0
    for seed in range(150):
        model, components, statistics, hyper = with_negative_weights(
            seed, 0.3, learn_noise_variance=noise, learn_inclusion_probability=inclusion
        )
        given = statistics, (20.0, 0.02)[seed % 2]
        for rate in (0.9, 0.5, 0.1):
            learned = model.update_hyper(hyper, components, *given, rate, Powers())
            assert learned.noise_variance >= 0.1 * hyper.noise_variance
            assert ((0 <= (p := learned.inclusion_probability)) & (p <= 1)).all()
            most = model.largest_rate(components, *given, Powers(), learned)
            limited += most < rate
            guarded = np.minimum(rate, 0.9 * most)
            stepped = model.step(components, *given, Powers(), guarded, learned)
            assert np.linalg.eigvalsh(stepped.precision)[0] > 0, seed
    assert limited > 20


def test_positive_weights_stay_in_the_domain():
    X, model, components = problem(
        learn_noise_variance=True, learn_inclusion_probability=True
    )
    weights = np.random.default_rng(0).gamma(0.2, 5, N)
    statistics = local(model, X, components, Powers(), unit_noise=weights).statistics
    hyper = model.initial_hyper(X)
    assert model.largest_rate(components, statistics, 20.0, Powers(), hyper) == np.inf
    nothing = FeatureStatistics(np.zeros((K, K)), np.zeros((K, D)), 0.0, 0.0, 0.0)
    learned = model.update_hyper(hyper, components, nothing, 1.0, 1.0, Powers())
    assert learned.noise_variance == 0.5


# -- missing values --------------------------------------------------------------------


@pytest.mark.every(5)
@dtypes
@pytest.mark.parametrize("k", [1, 2, 5, 8, 9, 17, 33])
def test_a_gram_for_each_sample_is_the_reference(dtype, rtol, k):
    """Rows miss few or many values; the kernel sums over the fewer columns."""
    X, model, components = problem(k=k, d=19, dtype=dtype, tol=1e-5, local_cooling=2.0)
    share = np.linspace(0, 1, N)[:, None]
    X[np.random.default_rng(3).random(X.shape) < share] = np.nan
    assert_is_reference(model, X, components, Powers(), rtol)
    nu, bounds, scores, _ = reference(model, X, components, Powers(), completing=False)
    step = observed(model, X, components)
    size = dict(rtol=rtol, atol=rtol * np.abs(scores).max())
    np.testing.assert_allclose(step.local_parameters, nu, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(step.row_bounds, bounds, **size)


def test_samples_with_missing_values_share_the_calls_of_kernels(monkeypatch):
    """Each sample misses other values, but a step or a birth needs only a few calls."""
    X, model, components = problem(n=60, d=40, missing=0.2)
    assert len({row.tobytes() for row in np.isnan(X)}) == 60
    calls, kernel = [], _kernels.local_step
    monkeypatch.setattr(
        _kernels, "local_step", lambda *args: calls.append(1) or kernel(*args)
    )
    start = local(model, X, components, Powers()).local_parameters
    assert len(calls) == 1
    model.local_cooling = 2.0
    local(model, X, components, Powers(), local_init=start)
    assert len(calls) == 3
    hyper, block = model.initial_hyper(X), model.take(X, slice(None))
    calls.clear()
    assert rises_without(model, components, hyper, block).shape == (K,)
    assert len(calls) == K + 1


@pytest.mark.parametrize("most", [1, 40, 200])
def test_grams_that_are_not_kept_are_made_again(monkeypatch, most):
    X, model, components = problem(n=40, missing=0.1, local_cooling=2.0)
    X[:11] = np.nan_to_num(X[:11])
    start = np.random.default_rng(0).random((40, K))
    whole = local(model, X, components, Powers(), local_init=start)
    block, hyper = model.take(X, slice(None)), model.initial_hyper(X)
    rises = rises_without(model, components, hyper, block)
    for name in ("VALUES_KEPT", "VALUES_AT_ONCE"):
        monkeypatch.setattr(_inference, name, most)
    parts = local(model, X, components, Powers(), local_init=start)
    np.testing.assert_array_equal(parts.local_parameters, whole.local_parameters)
    np.testing.assert_array_equal(parts.row_bounds, whole.row_bounds)
    assert parts.n_iterations == whole.n_iterations
    again = rises_without(model, components, hyper, block)
    np.testing.assert_array_equal(again, rises)


def test_a_birth_replaces_one_of_two_equal_components(monkeypatch):
    monkeypatch.setattr(_births, "P_REMIX", 0.0)
    monkeypatch.setattr(_births, "P_DEATH", 0.0)
    random = np.random.default_rng(0)
    means = 3.0 * np.repeat(np.eye(3), 3, axis=1)
    X = (random.random((200, 3)) < 0.4) @ means + random.normal(0, 0.3, (200, 9))
    model = problem(n=200, k=3, learn_inclusion_probability=True)[1]
    hyper = model.initial_hyper(X)._replace(inclusion_probability=np.full(3, 0.4))
    precision = 100.0 * np.eye(3)
    start = Components(precision, precision @ means[[0, 1, 1]])
    block = model.take(X, slice(None))
    found, prior = replace_components(
        model, start, hyper, block, np.random.default_rng(1)
    )
    distances = np.abs(found.means()[:, None] - means).max(axis=2)
    assert sorted(distances.argmin(axis=1)) == [0, 1, 2]
    assert distances.min(axis=0).max() < 0.5
    assert prior.inclusion_probability.shape == (3,)


@pytest.mark.parametrize("structured", [True, False])
def test_a_component_of_a_single_sample_dies(monkeypatch, structured):
    monkeypatch.setattr(_births, "P_REMIX", 0.0)
    monkeypatch.setattr(_births, "P_DEATH", 1.0)
    random = np.random.default_rng(0)
    means = random.normal(0, 3, (3, 30))
    X = (random.random((200, 3)) < 0.4) @ means + random.normal(size=(200, 30))
    noise = 1.2 * random.normal(size=30)
    X[0] += noise
    model = FactorialMixtureModel(
        4,
        30,
        noise_variance=1.0,
        component_variance=9.0,
        inclusion_probability=np.full(4, 0.2),
        learn_inclusion_probability=True,
        structured=structured,
    )
    hyper, block = model.initial_hyper(X), model.take(X, slice(None))
    ascent, bounds = model.ascent_on(block), []
    components = Components(99 * np.eye(4), 99 * np.vstack([means, noise]))
    for n_active in (4, 3):
        ascent.start(components, hyper)
        ascent.take(30, with_bounds=False)
        components, hyper = ascent.parameters()
        assert (hyper.inclusion_probability > 1e-3).sum() == n_active
        bounds.append(ascent.take(0)[1])
        components, hyper = replace_components(model, components, hyper, block, random)
    assert bounds[1] > bounds[0]


def test_a_birth_without_a_regular_precision_changes_nothing(monkeypatch):
    def adapted(*_):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(_births, "P_REMIX", 0.0)
    monkeypatch.setattr(_births, "P_DEATH", 0.0)
    monkeypatch.setattr(_births, "_adapt", adapted)
    X, model, components = problem()
    hyper, block = model.initial_hyper(X), model.take(X, slice(None))
    found = replace_components(
        model, components, hyper, block, np.random.default_rng(0)
    )
    assert found == (components, hyper)


def test_a_born_component_is_the_residual_of_a_sample(monkeypatch):
    monkeypatch.setattr(_births, "P_DIFFERENCE", 0.0)
    X, model, components = problem(missing=0.3)
    X[np.arange(N), np.arange(N) % D] = np.nan  # no row is complete
    hyper, block = model.initial_hyper(X), model.take(X, slice(None))
    for seed in range(3):
        random = np.random.default_rng(seed)
        wider = _births._add_component(model, components, hyper, block, random)
        born = (wider.precision @ wider.means())[-1]
        is_zero = np.isclose(born, 0.0, atol=1e-9)
        assert (is_zero == np.isnan(X)).all(axis=1).any()


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("structured", [True, False])
def test_the_component_that_is_missed_least(missing, structured):
    X, model, components = problem(missing=missing, structured=structured)
    hyper, bounds = model.initial_hyper(X), []
    for k in range(K):
        left = np.delete(np.arange(K), k)
        _, row_bounds, _, _ = oracles.binary_local_step(
            X,
            components.means()[left],
            model.covariance(components)[np.ix_(left, left)],
            hyper.noise_variance,
            hyper.inclusion_probability[left],
            1.0,
            tol=model.tol,
            max_iter=model.max_iter,
            completing=True,
        )
        bounds.append(row_bounds.sum())
    rises = rises_without(model, components, hyper, model.take(X, slice(None)))
    assert np.argmax(rises) == np.argmax(bounds)


def test_a_stopped_gram_is_void():
    X, model, components = problem(missing=0.3)
    block = model.take(X, slice(None))
    prepared = model.prepare(components, model.initial_hyper(X))
    model.stop[0] = 1
    with pytest.raises(Stopped):
        out = np.empty((N, K * (K + 1) // 2))
        couplings = _inference.Couplings(model, block, prepared, completing=True)
        couplings.grams(np.arange(N), out)


# -- the score -------------------------------------------------------------------------


@pytest.mark.every(5)
@pytest.mark.parametrize("structured", [True, False])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_score_is_at_most_the_log_predictive(structured, missing):
    X, model, components = problem(n=60, structured=structured, missing=missing)
    gaps = []
    for sureness in (1.0, 1e6):
        sure = Components(
            sureness * components.precision, sureness * components.weighted_means
        )
        hyper = model.initial_hyper(X)
        block = model.take(X, slice(None))
        scores, _ = model.predictive_scores(block, model.prepare(sure, hyper))
        exact = [
            oracles.binary_log_predictive(
                x,
                sure.means(),
                model.covariance(sure),
                hyper.noise_variance,
                hyper.inclusion_probability,
            )
            for x in X
        ]
        gaps.append(exact - scores)
        assert (gaps[-1] > -1e-6).all()
    assert gaps[1].mean() < gaps[0].mean()
    assert np.median(gaps[1]) < 0.1


def test_the_score_is_exact_where_features_are_plain():
    """With orthogonal components without variance, the mean field is exact."""
    X, model, _ = problem(k=3, d=3, n=30)
    means, sure = 2 * np.eye(3), 1e12 * np.eye(3)
    components, hyper = Components(sure, sure @ means), model.initial_hyper(X)
    prepared = model.prepare(components, hyper)
    scores, _ = model.predictive_scores(model.take(X, slice(None)), prepared)
    exact = [
        oracles.binary_log_predictive(
            x, means, np.zeros((3, 3)), 0.5, hyper.inclusion_probability
        )
        for x in X
    ]
    np.testing.assert_allclose(scores, exact, rtol=1e-8)
    nu = local(model, X, components, Powers()).local_parameters
    prior = hyper.inclusion_probability
    logits = np.log(prior / (1 - prior)) + (2 * X - 2) / 0.5
    np.testing.assert_allclose(nu, expit(logits), rtol=1e-6, atol=1e-9)


def test_steps_in_float32_have_the_precision_of_float64():
    """Sums over rows are in float64; otherwise the means would be wrong by .04."""
    random = np.random.default_rng(0)
    means = random.normal(0, 3, (8, 10))
    X = (random.random((30_000, 8)) < 0.5) @ means + random.normal(size=(30_000, 10))
    X = (X + 50.0).astype(np.float32)
    settings = {"noise_variance": 1.0, "component_variance": 9.0}
    settings |= {"inclusion_probability": np.full(8, 0.5)}
    components = Components(99.0 * np.eye(8), 99.0 * (means + 50.0 / 8))
    found = []
    for dtype in (np.float64, np.float32):
        model = FactorialMixtureModel(8, 10, dtype=np.dtype(dtype), **settings)
        block, start = model.take(X, slice(None)), model.initial_hyper(X)
        ascent = model.ascent_on(block)
        ascent.start(components, start)
        ascent.take(1, with_bounds=False)
        prepared = model.prepare(components, start)
        statistics = model.local_step(block, prepared, Request()).statistics
        hyper = model.update_hyper(start, components, statistics, 1.0, 1.0, Powers())
        target = model.target(statistics, 1.0, Powers(), hyper)
        found += [ascent.parameters()[0].means(), target.means()]
    for one in found[1:]:
        np.testing.assert_allclose(one, found[0], rtol=0, atol=1e-4)


def test_rises_do_not_depend_on_the_size_of_calls(monkeypatch):
    for missing in (0.0, 0.2):
        X, model, components = problem(1, n=400, missing=missing)
        block, hyper = model.take(X, slice(None)), model.initial_hyper(X)
        expected = rises_without(model, components, hyper, block)
        with monkeypatch.context() as patch:
            patch.setattr(_births, "MOST_IN_CALL", 0)
            found = rises_without(model, components, hyper, block)
        np.testing.assert_allclose(found, expected, rtol=1e-8)

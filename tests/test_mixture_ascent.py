"""Ascents of mixtures by a kernel and by methods of the model, beside single steps."""

import math

import numpy as np
import pytest
from fits import assert_same_fit

from sktemper import (
    AnnealedBernoulliMixture,
    AnnealedFactorialMixture,
    AnnealedMixedMixture,
    AnnealedMultinomialMixture,
)
from sktemper._contract import Ascent
from sktemper._engine import _fit, _passes
from sktemper._engine._data import InMemory
from sktemper._families import _kernels
from sktemper._families._ascent import MixtureAscent, ProductAscent
from sktemper._families._births import Search
from sktemper._families._dirichlet import WEIGHTS
from sktemper._families._mixture import Mixture, MixtureModel
from sktemper.discrete_mixture._model import _DiscreteMixtureModel
from sktemper.factorial_mixture._model import FactorialAscent, FactorialMixtureModel
from sktemper.mixed_mixture._model import MixedMixtureModel
from sktemper.model import IllDefined
from sktemper.moves import BirthMoves, MoveSequence, ReheatMoves, SplitMergeMoves

RANDOM = np.random.default_rng(0)
LABELS = RANDOM.integers(4, size=240)
ODDS = RANDOM.beta(0.5, 0.5, size=(4, 10))
BITS = (RANDOM.random((240, 10)) < ODDS[LABELS]).astype(float)
SHARES = ODDS / ODDS.sum(axis=1, keepdims=True)
CASES = {
    "Bernoulli": (AnnealedBernoulliMixture, BITS),
    "Bernoulli with gaps": (
        AnnealedBernoulliMixture,
        np.where(RANDOM.random(BITS.shape) < 0.1, np.nan, BITS),
    ),
    "multinomial": (
        AnnealedMultinomialMixture,
        np.array([RANDOM.multinomial(30, SHARES[k]) for k in LABELS]),
    ),
    "mixed": (
        AnnealedMixedMixture,
        np.column_stack(
            [
                BITS[:, :3],
                RANDOM.normal(LABELS[:, None], 0.4),
                RANDOM.poisson(30.0 * LABELS + 1.0),
                np.where(RANDOM.random(240) < 0.1, np.nan, RANDOM.normal(LABELS)),
            ]
        ),
    ),
}
WEIGHT = np.random.default_rng(1).integers(0, 3, size=240) / 2.0
MOVES = MoveSequence([SplitMergeMoves(), ReheatMoves()])


POWERS = {
    "T=1": np.ones((8, 3)),
    "local_step": 1 / np.column_stack([np.ones((8, 2)), np.linspace(2.0, 1.0, 8)]),
    "posterior": np.repeat(1 / np.linspace(2.0, 1.0, 8)[:, None], 3, axis=1),
}
# The starts have too few steps or components, and say so.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
NO_LIMITS = np.array([-math.inf, 0.0, 0.0, -math.inf, 0.0])


def model_of(name, weight_prior="dirichlet_distribution"):
    """Return a model, its block of all rows, and parameters."""
    estimator, X = CASES[name]
    mixture = estimator(6, max_iter=1, moves=None, random_state=0).fit(X)
    with mixture._fitted_problem(X) as problem:
        model = problem.model
    hyper, old = mixture._state().hyper, mixture._state().globals_
    model.weights = weights = WEIGHTS[weight_prior](6)
    counts = weights.counted(old.weights + 1.0 - hyper.weight_concentration)
    prior = weights.prior(hyper.weight_concentration)
    globals_ = Mixture(prior + counts, old.components)
    return model, model.take(X, slice(None)), globals_, hyper


def bounds_of_run(ascent, powers, size=None, scale=1.5):
    """Return the two rows of bounds of an ascent in calls of some steps."""
    bounds, before, n_steps = [], math.nan, len(powers)
    size = n_steps if size is None else size
    for first in range(0, n_steps, size):
        part = powers[first : first + size]
        flags = np.full(len(part), Ascent.WATCHED, dtype=np.intc)
        status, n_done, before, found = ascent.run(
            part, flags, n_steps - first, NO_LIMITS, before, scale
        )
        assert (status, n_done) == (Ascent.DONE, len(part))
        bounds.append(found[:2])
    return np.hstack(bounds)


@pytest.mark.every(3)
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("prior", WEIGHTS)
@pytest.mark.parametrize("name", CASES)
def test_the_kernel_takes_the_steps_of_the_model(name, prior, is_weighted):
    weight = WEIGHT if is_weighted else None
    model, block, globals_, hyper = model_of(name, prior)
    assert type(model.ascent(block, hyper, weight)) is ProductAscent
    for powers in POWERS.values():
        results = []
        for kind, size in (MixtureAscent, 8), (ProductAscent, 8), (ProductAscent, 3):
            ascent = kind(model, block, weight)
            ascent.start(globals_, hyper)
            bounds = bounds_of_run(ascent, powers, size)
            arrays = ascent.parameters()[0].arrays()
            results.append([bounds, ascent.row_bounds.copy(), *arrays])
        for known, found, in_parts in zip(*results, strict=True):
            np.testing.assert_allclose(found, known, rtol=1e-9, atol=1e-9)
            np.testing.assert_array_equal(in_parts, found)


@pytest.mark.parametrize("n_sections", [1, 3, 7])  # of 4 blocks
@pytest.mark.parametrize("name", CASES)
def test_sections_of_blocks_add_up(name, n_sections):
    model, block, globals_, hyper = model_of(name)
    model.block_size = 64
    blocks = InMemory(CASES[name][1]).blocks(model, np.arange(240))
    results = []
    for ascent in (
        ProductAscent(model, block, WEIGHT),
        model.ascent_in_blocks(blocks, WEIGHT),
    ):
        ascent.n_sections = n_sections
        ascent.start(globals_, hyper)
        bounds = bounds_of_run(ascent, POWERS["posterior"])
        arrays = ascent.parameters()[0].arrays()
        results.append([bounds, ascent.row_bounds, ascent.n_observed, *arrays])
    for known, found in zip(*results, strict=True):
        np.testing.assert_allclose(found, known, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_threads_share_sections_of_large_steps(name, monkeypatch):
    estimator, X = CASES[name]
    monkeypatch.setattr(_passes, "MOST_PRODUCTS", 1e4)
    monkeypatch.setattr(_DiscreteMixtureModel, "block_size", 32)
    sections, run, fits = [], _kernels.run_shared, []

    def note(functions):
        sections.append(len(functions))
        return run(functions)

    monkeypatch.setattr(_kernels, "run_shared", note)
    for n_jobs in (1, 3):
        fits.append(estimator(6, n_jobs=n_jobs, random_state=0).fit(X))
    assert_same_fit(*fits)
    assert max(sections) > 1


@pytest.mark.parametrize("name", CASES)
def test_fits_by_the_kernel_are_those_by_the_model(name, monkeypatch):
    estimator, X = CASES[name]
    fits = []
    for by_kernel in True, False:
        for model in _DiscreteMixtureModel, MixedMixtureModel:
            monkeypatch.setattr(model, "steps_by_kernel", by_kernel)
        fits.append(estimator(6, moves=MOVES, tol=1e-2, random_state=0).fit(X))
    one, other = fits
    np.testing.assert_array_equal(one.labels_, other.labels_)
    for column in other.history_.keys() - {"seconds", "move_seconds"}:
        known, found = other.history_[column], one.history_[column]
        np.testing.assert_allclose(found, known, rtol=1e-8, atol=1e-6)


FEATURES = RANDOM.random((240, 4)) < 0.4
PICTURES = FEATURES @ RANDOM.normal(size=(4, 8)) + 0.3 * RANDOM.normal(size=(240, 8))
FACTORIAL = {
    "factorial": (AnnealedFactorialMixture, PICTURES),
    "factorial with gaps": (
        AnnealedFactorialMixture,
        np.where(RANDOM.random(PICTURES.shape) < 0.1, np.nan, PICTURES),
    ),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("name", CASES | FACTORIAL)
def test_ascents_by_the_model_have_the_bits_of_single_steps(
    name, is_weighted, monkeypatch
):
    estimator, X = (CASES | FACTORIAL)[name]
    weight = WEIGHT if is_weighted else None
    # a plain fit with single steps may be given up
    monkeypatch.setattr(_fit._Fit, "_is_compared", lambda *given: False)
    for model in _DiscreteMixtureModel, MixedMixtureModel, FactorialMixtureModel:
        monkeypatch.setattr(model, "steps_by_kernel", False)
    calls, fits = [], []
    owner = FactorialMixtureModel if name in FACTORIAL else MixtureModel
    moves, take = BirthMoves(4) if name in FACTORIAL else MOVES, owner.ascent
    for ascent in (
        lambda *given: calls.append(given) or take(*given),
        lambda self, *given: None,
    ):
        monkeypatch.setattr(owner, "ascent", ascent)
        mixture = estimator(6, moves=moves, tol=1e-2, random_state=0)
        fits.append(mixture.fit(X, sample_weight=weight))
    assert calls
    one, other = fits
    assert_same_fit(one, other)
    np.testing.assert_array_equal(one.transform(X), other.transform(X))
    assert one.lower_bound(X) == other.lower_bound(X)


@pytest.mark.every(4)
@pytest.mark.parametrize("structured", [True, False])
@pytest.mark.parametrize("learned", [True, False])
@pytest.mark.parametrize("cooling", [None, 2.0])
@pytest.mark.parametrize("dtype, rtol", [(np.float64, 1e-9), (np.float32, 1e-4)])
@pytest.mark.parametrize("powers", POWERS.values(), ids=POWERS)
def test_the_kernel_takes_the_steps_of_a_factorial_mixture(
    powers, dtype, rtol, learned, structured, cooling
):
    model = FactorialMixtureModel(
        6,
        8,
        noise_variance=0.2,
        component_variance=1.0,
        inclusion_probability=np.full(6, 0.3),
        learn_noise_variance=learned,
        learn_inclusion_probability=learned,
        structured=structured,
        dtype=np.dtype(dtype),
        local_cooling=cooling,
        init=lambda X, hyper, random: X[:6],
    )
    model.tol = 0.0  # otherwise nearly equal starts of a row may end apart
    block, hyper = model.take(PICTURES, slice(None)), model.initial_hyper(PICTURES)
    globals_ = model.initial_globals(PICTURES, None, hyper)
    outcomes = []
    for kind in FactorialAscent, MixtureAscent:
        for weight, keeps_local in (None, True), (WEIGHT, False):
            ascent = kind(model, block, weight)
            ascent.keeps_local = keeps_local
            ascent.start(globals_, hyper)
            bounds = bounds_of_run(ascent, powers, 5)
            parameters, priors = ascent.parameters()
            local = [ascent.local] if keeps_local else []
            numbers = priors.noise_variance, priors.inclusion_probability
            arrays = [*parameters.arrays(), *numbers, *local, ascent.row_bounds]
            outcomes.append([bounds, *arrays])
    for found, known in zip(outcomes[:2], outcomes[2:], strict=True):
        for one, other in zip(found, known, strict=True):
            np.testing.assert_allclose(one, other, rtol=rtol, atol=10 * rtol)


@pytest.mark.parametrize("name", CASES)
def test_the_kernel_finds_the_splits_of_the_model(name):
    model, block, globals_, hyper = model_of(name)
    shares, _ = model.last_shares(block, globals_, hyper)
    found = Search(model, hyper, block, shares, WEIGHT).parts
    model.steps_by_kernel = False
    known = Search(model, hyper, block, shares, WEIGHT).parts
    assert known and found.keys() == known.keys()
    for part, expected in zip(found.values(), known.values(), strict=True):
        for one, other in zip(part, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", [MixtureAscent, ProductAscent])
def test_a_step_that_is_not_finite_is_not_taken(kind):
    model, block, globals_, hyper = model_of("Bernoulli")
    ascent = kind(model, block, None)
    ascent.start(globals_, hyper)
    powers, flags = np.ones((2, 3)), np.full(2, Ascent.WATCHED, dtype=np.intc)
    powers[1, 0] = 1e308  # the parameters overflow
    with np.errstate(all="ignore"):
        status, n_done, *_ = ascent.run(powers, flags, 2, NO_LIMITS, np.nan, 1e308)
    assert status in (Ascent.ILL_DEFINED, Ascent.NOT_FINITE) and n_done < 2
    assert isinstance(ascent.ill_defined(), IllDefined)
    globals_, hyper = ascent.parameters()
    model.prepare(globals_, hyper)
    assert all(np.isfinite(array).all() for array in globals_.arrays())

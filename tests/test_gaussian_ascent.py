"""Ascents of Gaussian mixtures in one call, beside single steps in Python."""

import itertools
import math

import numpy as np
import pytest
from fits import assert_same_fit
from test_mixture_ascent import NO_LIMITS, bounds_of_run

from sktemper import AnnealedGaussianMixture
from sktemper._contract import Ascent
from sktemper._engine import _passes
from sktemper._families._ascent import MixtureAscent
from sktemper._families._births import Search, Whole, best_split
from sktemper.gaussian_mixture import _family, _kernels
from sktemper.gaussian_mixture._model import GaussianMixtureModel
from sktemper.model import Powers, Stopped
from sktemper.moves import BirthMoves, MoveSequence, ReheatMoves, SplitMergeMoves
from sktemper.schedules import LinearSchedule

TYPES = "full", "diag", "spherical", "tied"
PRIORS = {
    "learned": {},
    "scikit-learn": {"priors": "scikit-learn"},
    "precision given": {"mean_precision_prior": 0.3},
    "degrees given": {"degrees_of_freedom_prior": 9.0},
    "covariance given": {"covariance_prior": {"diag": [8.0] * 3, "spherical": 8.0}},
    "all given": {"mean_precision_prior": 2.0, "degrees_of_freedom_prior": 7.0},
}
WEIGHTS = "dirichlet_process", "dirichlet_distribution"


def problem_of(seed, dtype=float, n_rows=700, n_columns=3, gaps=0, **parameters):
    """Return a model, rows, and a start."""
    random = np.random.default_rng(seed)
    centres = random.normal(scale=4, size=(4, n_columns))
    roots = random.normal(size=(4, n_columns, n_columns))
    labels = random.integers(4, size=n_rows)
    X = 50 + centres[labels]
    X += np.einsum("nij,nj->ni", roots[labels], random.normal(size=X.shape))
    X = np.where(random.random(X.shape) < gaps, np.nan, X).astype(dtype)
    mixture = AnnealedGaussianMixture(7, random_state=seed, **parameters)
    mixture.set_params(max_iter=0, moves=None).fit(X)
    with mixture._fitted_problem(X) as problem:
        model = problem.model
    state = mixture._state()
    return model, model.take(X, slice(None)), state.globals_, state.hyper


def assert_same_steps(start, powers, tol, weight=None, n_sections=1):
    """Compare steps in one call with those by the methods of the model."""
    (model, block, *parameters), found = start, []
    by_kernel = model.ascent(block, parameters[1], weight)
    by_kernel.n_sections = n_sections
    for ascent in by_kernel, MixtureAscent(model, block, weight):
        ascent.start(*parameters)
        bounds = bounds_of_run(ascent, np.array(powers, dtype=np.float64))
        found.append((*ascent.parameters(), bounds[1]))
    (globals_, hyper, bounds), (expected, expected_hyper, known) = found
    np.testing.assert_allclose(bounds, known, rtol=tol)
    for one, other in zip(globals_.arrays(), expected.arrays(), strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(
            one, other, rtol=30 * tol, atol=30 * tol * abs(other).max()
        )
    for name in "mean_precision", "degrees_of_freedom", "covariance":
        one, other = getattr(hyper, name), getattr(expected_hyper, name)
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=100 * tol, atol=1e-12)


def plans(n_steps=6):
    hot = 1 / np.linspace(2.0, 1.0, n_steps)
    return {
        "T=1": [Powers()] * n_steps,
        "local_step": [Powers(1.0, 1.0, b) for b in hot],
        "likelihood": [Powers(1.0, b, b) for b in hot],
        "posterior": [Powers(b, b, b) for b in hot],
    }


@pytest.mark.every(5)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weight_prior", WEIGHTS)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("covariance_type", TYPES)
def test_a_call_takes_the_steps_of_the_model(
    covariance_type, prior, weight_prior, dtype
):
    given = {
        "covariance_type": covariance_type,
        "weight_concentration_prior_type": weight_prior,
    }
    priors = dict(PRIORS[prior])
    if "covariance_prior" in priors:
        of_types = priors["covariance_prior"]
        priors["covariance_prior"] = of_types.get(covariance_type, 8 * np.eye(3))
    start = problem_of(3, dtype, **given, **priors)
    tol = 1e-9 if dtype == np.float64 else 1e-4
    random = np.random.default_rng(0)
    for powers, weighted in itertools.product(plans().values(), [False, True]):
        weight = random.integers(0, 4, size=700) / 2.0 if weighted else None
        assert_same_steps(start, powers, tol, weight)


@pytest.mark.parametrize("covariance_type", TYPES)
@pytest.mark.parametrize(
    "n_columns, gaps", [(1, 0), (2, 0), (9, 0), (2, 0.3), (9, 0.3)]
)
def test_the_number_of_columns(covariance_type, n_columns, gaps):
    start = problem_of(5, float, 700, n_columns, gaps, covariance_type=covariance_type)
    assert_same_steps(start, [Powers()] * 5, 1e-9)


@pytest.mark.parametrize("covariance_type", TYPES)
@pytest.mark.parametrize("n_sections", [2, 5])  # of 3 blocks, so that some are empty
def test_sections_of_the_rows_add_up(covariance_type, n_sections, monkeypatch):
    start = problem_of(7, n_rows=1300, gaps=0.1, covariance_type=covariance_type)
    weight = np.random.default_rng(0).integers(0, 4, size=1300) / 2.0
    arguments = start, plans()["local_step"], 1e-9, weight, n_sections
    assert_same_steps(*arguments)
    monkeypatch.setattr(_kernels, "run_shared", lambda functions: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        assert_same_steps(*arguments)


# -- splits of a component -------------------------------------------------------------


@pytest.mark.every(5)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_columns", [1, 2, 3, 9])
@pytest.mark.parametrize("prior", ["learned", "scikit-learn"])
@pytest.mark.parametrize("covariance_type", TYPES)
def test_a_call_finds_the_split_of_the_reference(
    covariance_type, prior, n_columns, dtype
):
    given = {"covariance_type": covariance_type, **PRIORS[prior]}
    start = problem_of(6, dtype, n_columns=n_columns, **given)
    model, block, globals_, hyper = start
    shares, *_ = model.responsibilities(block, model.prepare(globals_, hyper))
    shares = shares.astype(np.float64)
    weight = np.random.default_rng(0).integers(0, 4, size=700) / 2.0
    search = Search(model, hyper, block, shares, weight)
    rows = np.flatnonzero(weight)
    tol = 1e-9 if dtype == np.float64 else 2e-3
    n_found = 0
    for k in np.flatnonzero(search.counts >= 4):
        weight_of_k = weight[rows] * shares[rows, k]
        whole = Whole(search.counts[k], search.statistics[k], 0.3)
        arguments = block[rows], search.coordinates[rows], weight_of_k, search.prior
        found = search.family.split_finder(block)(*arguments, whole)
        expected = best_split(search.family, *arguments, whole)
        assert (found is None) == (expected is None)
        if found is not None:
            # in one column, a split and its mirror image differ by rounding errors
            first = 3 if n_columns == 1 else 0
            for one, other in zip(found[first:], expected[first:], strict=True):
                atol = tol * np.abs(other).max()
                np.testing.assert_allclose(one, other, rtol=tol, atol=atol)
            n_found += 1
    assert n_found > 2


def test_splits_of_few_rows_do_not_depend_on_old_memory(monkeypatch):
    """Splits are dropped during a search, and the others use less of the memory."""
    random = np.random.default_rng(1)
    X = random.normal(size=(100, 24))
    X += random.integers(6, size=100)[:, None] * random.normal(size=24) * 3
    aligned = _kernels.aligned

    def filled(*given):
        memory = aligned(*given)
        memory[:] = np.nan
        return memory

    def bound():
        mixture = AnnealedGaussianMixture(
            20, covariance_type="full", moves="split_merge", max_iter=2, random_state=0
        )
        return mixture.fit(X).lower_bound(X)

    monkeypatch.setattr(_kernels, "aligned", filled)
    found = bound()
    monkeypatch.setattr(_family.GaussianFamily, "split_finder", lambda *_: None)
    assert found == pytest.approx(bound(), rel=1e-9)


# -- fits ------------------------------------------------------------------------------


def data(seed=0, n_rows=600):
    random = np.random.default_rng(seed)
    centres = random.normal(scale=4, size=(5, 2))
    return centres[random.integers(5, size=n_rows)] + random.normal(size=(n_rows, 2))


def fitted(X, moves="all", weight=None, **parameters):
    mixture = AnnealedGaussianMixture(6, moves=moves, random_state=0, **parameters)
    return mixture.fit(X, sample_weight=weight)


def without_ascents(monkeypatch):
    monkeypatch.setattr(GaussianMixtureModel, "ascent", lambda *arguments: None)


@pytest.mark.every(5)
@pytest.mark.parametrize("covariance_type", TYPES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_samples", [100, 5000])
def test_fits_are_those_of_single_steps(
    covariance_type, weighted, max_samples, monkeypatch
):
    X = data(n_rows=300)
    weight = np.random.default_rng(1).integers(0, 3, 300) / 2.0 if weighted else None
    moves = MoveSequence(
        [
            SplitMergeMoves(max_samples=max_samples),
            ReheatMoves(max_samples=max_samples),
            BirthMoves(max_samples=max_samples, n_moves=8),
        ]
    )
    one = fitted(X, moves, weight, covariance_type=covariance_type)
    without_ascents(monkeypatch)
    other = fitted(X, moves, weight, covariance_type=covariance_type)
    assert one.history_.keys() == other.history_.keys()
    for name in one.history_.keys() - {"seconds", "move_seconds"}:
        np.testing.assert_allclose(
            one.history_[name], other.history_[name], rtol=1e-6, err_msg=name
        )
    np.testing.assert_allclose(one.means_, other.means_, rtol=1e-5, atol=1e-8)


def test_bits_do_not_depend_on_threads_or_on_the_length_of_calls(monkeypatch):
    X = data()
    one = fitted(X)
    assert_same_fit(one, fitted(X, n_jobs=2))
    assert_same_fit(one, fitted(X, verbose=1))  # a log watches each pass
    monkeypatch.setattr(_passes, "TERMS_AT_ONCE", 1.0)
    assert_same_fit(one, fitted(X))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_unweighted", [0, 1])
def test_large_steps_copy_few_rows(order, n_unweighted, monkeypatch):
    """Data may be larger than the memory."""
    monkeypatch.setattr(_passes, "MOST_PRODUCTS", 1e4)
    monkeypatch.setattr(_passes, "MOST_COPIED", 0)
    X, weight = np.array(data(n_rows=2000), order=order), np.ones(2000)
    weight[7 : 7 + n_unweighted] = 0.0
    ascent, views = GaussianMixtureModel.ascent, []

    def noted(model, block, *others):
        views.append(np.shares_memory(block, X))
        return ascent(model, block, *others)

    monkeypatch.setattr(GaussianMixtureModel, "ascent", noted)
    fitted(X, weight=weight, batch_size=None, max_iter=3, covariance_type="diag")
    assert all(views) and (order == "F" or any(views))


@pytest.mark.parametrize("batch", [None, 700])
def test_threads_share_sections_of_large_steps(batch, monkeypatch):
    monkeypatch.setattr(_passes, "MOST_PRODUCTS", 4e4)
    X, options = data(n_rows=2100), {"batch_size": batch, "max_iter": 8}
    whole = fitted(X, **options)
    sections, run = [], _kernels.run_shared

    def note(functions):
        sections.append(len(functions))
        return run(functions)

    monkeypatch.setattr(_kernels, "run_shared", note)
    assert_same_fit(whole, fitted(X, n_jobs=3, **options))
    assert max(sections) > 3


def test_a_continued_fit_has_the_same_bits():
    X, schedule = data(), LinearSchedule(2, length=3)
    options = {"priors": "scikit-learn", "schedule": schedule}  # which keep the order
    one = fitted(X, None, max_iter=8, tol=0.0, **options)
    other = AnnealedGaussianMixture(
        6, moves=None, max_iter=4, tol=0.0, warm_start=True, random_state=0, **options
    )
    assert_same_fit(one, other.fit(X).fit(X))


def test_a_policy_of_the_user_decides_in_python(monkeypatch):
    called = []

    class Patient(BirthMoves):
        def is_hopeless(self, deficit, gain, n_left):
            called.append(n_left)
            return False

    fitted(data(), Patient(n_moves=2))
    assert called


def test_a_mixture_of_a_subclass_takes_single_steps():
    model, block, globals_, hyper = problem_of(0, covariance_type="full")
    assert model.ascent(block, hyper) is not None
    model.update_hyper = model.update_hyper
    assert model.ascent(block, hyper) is None


def test_a_step_that_is_ill_defined_ends_the_fit_with_the_steps_before():
    model, block, globals_, hyper = problem_of(0, covariance_type="full")
    ascent = model.ascent(block, hyper)
    ascent.start(globals_, hyper)
    powers, flags = np.ones((5, 3)), np.zeros(5, dtype=np.intc)
    powers[3, 2] = math.nan
    status, n_done, *_ = ascent.run(powers, flags, 5, NO_LIMITS, math.nan, 1.0)
    assert status == Ascent.NOT_FINITE
    assert n_done == 3
    assert all(np.isfinite(array).all() for array in ascent.parameters()[0].arrays())


def test_a_stopped_ascent_raises():
    model, block, globals_, hyper = problem_of(0, covariance_type="full")
    ascent = model.ascent(block, hyper)
    ascent.start(globals_, hyper)
    model.stop[0] = 1
    with pytest.raises(Stopped):
        ascent.run(np.ones((5, 3)), np.zeros(5, np.intc), 5, NO_LIMITS, math.nan, 1.0)

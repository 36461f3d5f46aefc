"""Combinations of every model with every tempering, learning rate and noise."""

import itertools
import pickle
import warnings

import numpy as np
import pytest
from fits import NOISES, RATES, TEMPERINGS, fitted_model
from pairwise import pairwise
from registry import ROWS
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import InvalidParameterError

from sktemper.model import all_finite
from sktemper.noise import SVIPlusNoise
from sktemper.schedules import RampSchedule
from sktemper.tempering import Annealing

MODELS = {row.name: (row, {}) for row in ROWS.values()}
MODELS |= {
    f"{row.name}, {variant}": (row, parameters)
    for row in ROWS.values()
    for variant, parameters in row.others.items()
}


def table():
    """Return quick cases with every pair of policies, and of a model and a policy.

    The cases use the variants of a model in turn.  All other combinations are deep.
    """
    rows = list(ROWS.values())

    def permitted(m, t, r, n):
        return rows[m].can(TEMPERINGS[t], RATES[r], NOISES[n])

    sizes = len(rows), len(TEMPERINGS), len(RATES), len(NOISES)
    quick = {}
    for number, (m, *policies) in enumerate(pairwise(*sizes, permitted=permitted)):
        variants = [name for name, (row, _) in MODELS.items() if row is rows[m]]
        quick[variants[number % len(variants)], *policies] = True
    for name, (row, _) in MODELS.items():
        for t, r, n in itertools.product(*map(range, sizes[1:])):
            policies = TEMPERINGS[t], RATES[r], NOISES[n]
            if row.can(*policies):
                marks = [] if (name, t, r, n) in quick else pytest.mark.deep
                label = "-".join(map(str, (name, *policies)))
                yield pytest.param(name, *policies, id=label, marks=marks)


def assert_valid(fitted, X):
    """Assert that all parameters are in their domain and all results are finite."""
    model, state = fitted_model(fitted), fitted.state_
    if "largest_rates" in model.capabilities():
        assert np.all(model.is_valid(state.globals_))
    # of factorizations only if all precisions are positive definite
    assert model.is_finite(state.globals_, state.hyper, None)
    assert np.isfinite(fitted.lower_bound(X))
    assert np.isfinite(fitted.score(X))
    transformed = fitted.transform(X)
    assert np.isfinite(transformed).all()
    if not hasattr(fitted, "user_factors_"):  # the results are shares or probabilities
        assert ((transformed >= 0) & (transformed <= 1)).all()
    for name in dir(type(fitted)):
        is_view = name.endswith("_") and not name.startswith("_")
        if is_view and hasattr(fitted, name):
            assert_in_domain(name, getattr(fitted, name))


def assert_in_domain(name, value):
    """Assert that an attribute is in the domain that its name implies."""
    if "covariances_" in name or name == "components_covariance_":
        value = np.asarray(value)
        if value.ndim > 1 and value.shape[-1] == value.shape[-2]:
            np.linalg.cholesky(value)
    elif name in ("noise_variance_", "weights_", "mean_precision_"):
        assert (np.asarray(value) > 0).all()
    elif name == "components_":
        assert all_finite(value)


@pytest.mark.parametrize(("name", "tempering", "rate", "noise"), list(table()))
def test_every_combination_fits_and_resumes(name, tempering, rate, noise):
    row, parameters = MODELS[name]
    whole = row.estimator(moves=row.moves) if row.moves else row.estimator()
    policies = {"tempering": tempering, "gradient_noise": noise}
    if not row.has_policies:
        assert set(policies.values()) == {None}
        policies = {}
    whole.set_params(
        **parameters, **policies, learning_rate=rate, batch_size=20, max_iter=2
    )
    X, weight = row.data(120)[:40].astype(np.float64), np.linspace(0.5, 2.0, 40)
    parts = clone(whole).set_params(max_iter=1, warm_start=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        whole.fit(X, sample_weight=weight)
        streamed = clone(whole).partial_fit(X[:20], sample_weight=weight[:20])
        streamed.partial_fit([X[20:31], X[31:]], sample_weight=weight[20:])
        parts.fit([X[:13], X[13:]], sample_weight=weight)
        parts = pickle.loads(pickle.dumps(parts)).fit(X, sample_weight=weight)
    for fitted in (whole, streamed, parts):
        assert_valid(fitted, X)
    assert whole.n_batch_iter_ == parts.n_batch_iter_ == 4
    if noise is None or noise.distribution == "dirichlet":
        assert (whole.history_["rate_share"] == 1).all()


each_row = pytest.mark.parametrize(
    "row",
    [pytest.param(row, id=name) for name, row in ROWS.items() if row.has_policies],
)
each_noisy_row = pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=name)
        for name, row in ROWS.items()
        if "SVIPlus" in row.kinds
    ],
)


def same_parameters(one, other):
    """Return whether two fits have the same bits."""
    vectors = (
        fitted_model(fitted).natural_parameters(fitted.state_.globals_)
        for fitted in (one, other)
    )
    return np.array_equal(*vectors)


@pytest.mark.every(5)
@each_noisy_row
@pytest.mark.filterwarnings("ignore:.*did not converge.*")
@pytest.mark.filterwarnings("ignore:The lower bound still changed")
def test_svi_plus_is_tempered_with_noise(row):
    shared = {"batch_size": 40, "max_iter": 4}
    named = row.estimator("SVIPlus", effective_batch_size=10, **shared)
    X = row.data(120)
    named.fit(X)
    shared |= {"tempering": None}
    noise = SVIPlusNoise(10)
    assert same_parameters(named, row.estimator(gradient_noise=noise, **shared).fit(X))
    plain = row.estimator(**shared).fit(X)
    everything = clone(named).set_params(effective_batch_size=1000)
    with pytest.warns(ConvergenceWarning, match="effective batch size"):
        everything.fit(X)
    assert same_parameters(everything, plain)
    assert not same_parameters(named, plain)


@each_noisy_row
def test_nested_parameters_of_an_effective_batch_size(row):
    for size, start in ((0.5, 50), (0.1, 50), (20, 20), (RampSchedule(7), 7)):
        named = row.estimator("SVIPlus", effective_batch_size=size)
        named.set_params(effective_batch_size__slope=3)
        ramp = named.effective_batch_size
        assert (ramp.start, ramp.slope) == (start, 3)
        assert (ramp is size) == isinstance(size, RampSchedule)
    other = row.estimator(gradient_noise=SVIPlusNoise(20))
    other.set_params(gradient_noise__effective_batch_size__slope=3)
    assert repr(other.gradient_noise.effective_batch_size) == repr(RampSchedule(20, 3))
    with pytest.raises(ValueError, match="Invalid parameter 'slop'"):
        row.estimator("SVIPlus").set_params(effective_batch_size__slop=3)
    negative = row.estimator("SVIPlus").set_params(effective_batch_size__slope=-3)
    with pytest.raises(InvalidParameterError, match="slope"):
        negative.fit(row.data(120))


@pytest.mark.every(11)
@each_row
@pytest.mark.parametrize("target", ["local_step", "likelihood", "posterior"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_annealed_is_tempered_by_a_schedule(row, target):
    shared = {"batch_size": 40, "max_iter": 4}
    named = row.estimator("Annealed", target=target, **shared)
    if row.moves:
        named.set_params(moves=row.moves)
        shared["moves"] = row.moves
    X = row.data(120)
    same = row.estimator(tempering=Annealing(target=target), **shared).fit(X)
    assert same_parameters(named.fit(X), same)

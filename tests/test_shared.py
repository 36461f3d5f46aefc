"""Properties of fits that hold for every model."""

import functools
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from fits import SCHEDULE, Snapshots, assert_same_fit, fitted_model
from registry import ESTIMATORS, ROWS
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sktemper._engine import _workers
from sktemper.learning_rates import AdaptiveRate
from sktemper.noise import SVIPlusNoise
from sktemper.tempering import GlobalTempering, LocalTempering

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*did not converge.*"),
    pytest.mark.filterwarnings("ignore:The lower bound still changed"),
    pytest.mark.filterwarnings("ignore:The fit ended at temperature"),
]
each_row = pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
#: One estimator of each model, of alternating kinds.
QUICK = {
    f"{row.kinds[number % len(row.kinds)]}{row.name}"
    for number, row in enumerate(ROWS.values())
}
each_estimator = pytest.mark.parametrize(
    ("row", "kind"),
    [
        pytest.param(*case, id=name, marks=[] if name in QUICK else pytest.mark.deep)
        for name, case in ESTIMATORS.items()
    ],
)

#: Policies with different states between two steps of a fit.
POLICIES = {
    "default": {},
    "one batch": {"batch_size": None, "max_iter": 8},
    "validated": {"n_iter_no_change": 50, "max_iter": 6},
    "local temperatures": {"tempering": LocalTempering(n_temperatures=10)},
    "policies with a state": {
        "tempering": GlobalTempering(n_temperatures=10, cap=SCHEDULE),
        "learning_rate": AdaptiveRate(n_warmup_batches=2),
        "gradient_noise": SVIPlusNoise(0.5),
    },
    "moves": {"batch_size": None, "max_iter": 8, "moves": ...},
}
PLANS = [
    pytest.param(row, policies, id=f"{row.name}-{name}")
    for row in ROWS.values()
    for name, policies in POLICIES.items()
    if row.can(*policies.values()) and (name != "moves" or row.moves)
]


def estimator_of(row, policies, kind="Tempered"):
    """Return an estimator whose fit has few steps."""
    policies = {"batch_size": 30, "max_iter": 4, **policies}
    if "moves" in policies:
        policies["moves"] = row.moves
    return row.estimator(kind, **policies)


def quietly(function, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return function(*args)


# -- interruptions ---------------------------------------------------------------------


@pytest.mark.every(17)
@pytest.mark.parametrize(("row", "policies"), PLANS)
def test_a_fit_continues_from_a_pickle_with_the_same_bits(row, policies):
    callback, X = Snapshots(2), row.data(120)
    estimator = estimator_of(row, policies).set_callbacks(callback)
    whole = quietly(estimator.fit, X)
    assert whole.n_iter_ > 2
    for dump in callback.dumps:
        resumed = pickle.loads(dump)
        assert resumed.n_iter_ == 2
        resumed.set_callbacks().set_params(warm_start=True)
        assert_same_fit(quietly(resumed.fit, X), whole)


# -- streams ---------------------------------------------------------------------------


@pytest.mark.every(7)
@pytest.mark.parametrize(("row", "policies"), PLANS)
def test_a_stream_is_cut_into_batches_in_order(row, policies):
    X = row.data(120)
    plan = {**policies, "batch_size": 20, "total_samples": 200}
    estimator = estimator_of(row, plan)
    whole = clone(estimator).partial_fit(X[:60]).partial_fit(X[60:])
    assert whole.n_batch_iter_ == 6 and whole.n_samples_seen_ == 120
    parts = pickle.loads(pickle.dumps(estimator.partial_fit(X[:60])))
    assert_same_fit(parts.partial_fit(X[60:80]).partial_fit(X[80:]), whole)


# -- threads and chunks ----------------------------------------------------------------


@pytest.mark.every(11)
@each_row
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("batch_size", [None, 600])
@pytest.mark.machine
def test_any_number_of_threads_gives_the_same_bits(row, dtype, batch_size, monkeypatch):
    monkeypatch.setattr(_workers, "TERMS_ALONE", 0.0)  # share even small blocks
    X = row.data(row.n_many).astype(dtype)
    policies = {"batch_size": batch_size, "max_iter": 2, "learning_rate": 0.5}
    one = quietly(estimator_of(row, policies).fit, X)
    block_size = fitted_model(one).block_size
    assert X.shape[0] > 2 * block_size, "not three blocks"
    many = quietly(clone(one).set_params(n_jobs=3).fit, X)
    assert_same_fit(one, many)
    for method in ("transform", "score_samples", "lower_bound"):
        expected = getattr(one, method)(X)
        np.testing.assert_array_equal(getattr(many, method)(X), expected)


@pytest.mark.every(2)
@each_row
def test_a_fitted_model_may_be_used_from_many_threads(row):
    fitted, X = fitted_to(row.name), values_of(row)
    expected = fitted.transform(X), fitted.score_samples(X)
    with ThreadPoolExecutor(4) as pool:
        for method, known in zip(
            (fitted.transform, fitted.score_samples), expected, strict=True
        ):
            for found in pool.map(method, [X] * 4):
                np.testing.assert_array_equal(found, known)


@pytest.mark.every(4)
@each_row
def test_a_fit_keeps_no_weights(row):
    X, weight = row.data(120), np.linspace(0.5, 2.0, 120)
    parts = [X[:50], X[50:]]
    fitted = quietly(clone(estimator_of(row, {})).fit, parts, None, weight)
    assert not any(value is weight for value in vars(fitted).values())
    assert vars(fitted).keys() <= vars(fitted_to(row.name)).keys()


# -- maps of files --------------------------------------------------------------------


def parts_of(X):
    if sparse.issparse(X):
        return [X.data, X.indices, X.indptr]
    return [X]


def values_of(row):
    return row.data(120).astype(np.float64)


@functools.cache
def fitted_to(name):
    return quietly(estimator_of(ROWS[name], {}).fit, values_of(ROWS[name]))


@pytest.mark.every(2)
@each_row
def test_maps_of_files_give_the_fit_of_arrays(row, tmp_path):
    X, parts = values_of(row), []
    for number, part in enumerate(parts_of(X)):
        np.save(tmp_path / f"{number}.npy", part)
        parts.append(np.load(tmp_path / f"{number}.npy", mmap_mode="r"))
    mapped = parts[0]
    if sparse.issparse(X):
        mapped = sparse.csr_array(tuple(parts), shape=X.shape, copy=False)
        assert np.shares_memory(mapped.data, parts[0])
    fitted = quietly(clone(fitted_to(row.name)).fit, mapped)
    assert_same_fit(fitted, fitted_to(row.name))
    for method in ("transform", "score_samples", "score", "lower_bound"):
        found, expected = (getattr(fitted, method)(data) for data in (mapped, X))
        np.testing.assert_array_equal(found, expected)

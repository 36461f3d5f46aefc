"""Properties of fits that hold for every model."""

import functools
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from fits import SCHEDULE, Hooks, fitted_model
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


def assert_same_fit(one, other):
    """Assert that two fits have the same bits, except their times."""
    vectors = [
        fitted_model(fitted).natural_parameters(fitted.state_.globals_)
        for fitted in (one, other)
    ]
    np.testing.assert_array_equal(*vectors)
    assert one.history_.keys() == other.history_.keys()
    for name in one.history_.keys() - {"seconds", "move_seconds"}:
        np.testing.assert_array_equal(one.history_[name], other.history_[name])
    for name in ("n_iter_", "n_batch_iter_", "n_samples_seen_", "temperature_"):
        assert getattr(one, name) == getattr(other, name)


def quietly(function, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return function(*args)


# -- interruptions ---------------------------------------------------------------------


class Snapshots(Hooks):
    """Callback that pickles an estimator after its second pass."""

    def at_pass(self, estimator, fitted_estimator):
        if estimator.n_iter_ == 2:
            self.dumps = [pickle.dumps(estimator), pickle.dumps(fitted_estimator)]


@pytest.mark.every(17)
@pytest.mark.parametrize(("row", "policies"), PLANS)
def test_a_fit_continues_from_a_pickle_with_the_same_bits(row, policies):
    callback, X = Snapshots(), row.data(120)
    estimator = estimator_of(row, policies).set_callbacks(callback)
    whole = quietly(estimator.fit, X)
    assert whole.n_iter_ > 2
    for dump in callback.dumps:
        resumed = pickle.loads(dump)
        assert resumed.n_iter_ == 2
        resumed.set_callbacks().set_params(warm_start=True)
        assert_same_fit(quietly(resumed.fit, X), whole)


class StopAfter(Hooks):
    def __init__(self, n_passes):
        self.n_passes, self.seen = n_passes, []

    def at_pass(self, estimator, fitted_estimator):
        assert fitted_estimator is not estimator
        assert fitted_estimator.n_iter_ == estimator.n_iter_
        self.seen.append(estimator.n_batch_iter_)
        return estimator.n_iter_ == self.n_passes


@pytest.mark.every(11)
@each_estimator
def test_callbacks_see_each_pass_and_stop_a_fit(row, kind):
    callback, X = StopAfter(2), row.data(120)
    estimator = estimator_of(row, {"max_iter": 6}, kind)
    whole = quietly(clone(estimator).fit, X)
    stopped = clone(estimator).set_callbacks(callback)
    quietly(stopped.fit, X)
    assert callback.seen == [4, 8]
    assert stopped.n_iter_ == 2
    stopped.set_callbacks().set_params(warm_start=True)
    assert_same_fit(quietly(stopped.fit, X), whole)


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
    monkeypatch.setattr(_workers, "LEAST_SHARED", 0.0)  # share even small blocks
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


# -- the same data in another form -----------------------------------------------------


def with_duplicates(X):
    """Return entries divided into two, in random order within rows."""
    rows = np.tile(np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), 2)
    values = np.concatenate([0.75 * X.data, 0.25 * X.data])
    order = np.lexsort((np.random.default_rng(0).random(len(rows)), rows))
    parts = values[order], np.tile(X.indices, 2)[order], 2 * X.indptr
    return sparse.csr_matrix(parts, shape=X.shape, copy=False)


def only_unsorted(X):
    order = np.concatenate([np.arange(b, a, -1) - 1 for a, b in pairwise(X.indptr)])
    return sparse.csr_matrix((X.data[order], X.indices[order], X.indptr), X.shape)


def with_indices_of(*dtypes):
    def replaced(X):
        Y = sparse.csr_array(X.shape)
        Y.data = X.data
        Y.indices, Y.indptr = X.indices.astype(dtypes[0]), X.indptr.astype(dtypes[1])
        return Y

    return replaced


def read_only(X):
    X = X.copy()
    for part in parts_of(X):
        part.flags.writeable = False
    return X


def frame(X):
    return pytest.importorskip("pandas").DataFrame(X)


def with_stored_zeros(X):
    pattern = np.random.default_rng(0).random(X.shape) < 0.6
    pairs = np.nonzero(pattern | (X.toarray() != 0))
    return sparse.csr_array((X.toarray()[pairs], pairs), X.shape)


DENSE = {
    "Fortran order": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": lambda X: X[::-1].copy()[::-1],
    "big-endian": lambda X: X.astype(">f8"),
    "longdouble": lambda X: X.astype(np.longdouble),
    "objects": lambda X: X.astype(object),
    "lists": lambda X: X.tolist(),
    "DataFrame": frame,
    "read-only": read_only,
}
SPARSE = {
    "csr_matrix": sparse.csr_matrix,
    "csc_matrix": sparse.csc_matrix,
    "csc_array": sparse.csc_array,
    "coo_array": sparse.coo_array,
    "lil_matrix": sparse.lil_matrix,
    "int64 indices": with_indices_of(np.int64, np.int64),
    "unsigned indices": with_indices_of(np.uint32, np.uint64),
    "big-endian indices": with_indices_of(np.int32, ">i4"),
    "unsorted": only_unsorted,
    "duplicates": with_duplicates,
    "read-only": read_only,
    "stored zeros": with_stored_zeros,
}


def parts_of(X):
    if sparse.issparse(X):
        X = X.tocsr() if X.format == "lil" else X  # its arrays have lists
        return [getattr(X, n) for n in ("data", "indices", "indptr") if hasattr(X, n)]
    return [np.asarray(X)]


def contents(X):
    parts = [np.array(part) for part in parts_of(X)]
    return [part.astype(float) if part.dtype == object else part for part in parts]


def values_of(row):
    """Return data of a row in float64, of which quarters are exact."""
    X = row.data(120).astype(np.float64)
    if row.name == "MatrixFactorization":
        X.data = np.round(16 * X.data) / 16
        X.data[:5] = 0.0  # a rating of zero is a rating
    return X


@functools.cache
def fitted_to(name):
    return quietly(estimator_of(ROWS[name], {}).fit, values_of(ROWS[name]))


def assert_same_results(one, X, other, Y):
    assert_same_fit(one, other)
    for method in ("transform", "score_samples", "score", "lower_bound"):
        found, expected = getattr(one, method)(X), getattr(other, method)(Y)
        np.testing.assert_array_equal(found, expected)


#: Forms with other results: stored zeros are ratings, and ratings are not added.
OTHERS = {("MatrixFactorization", name) for name in ("stored zeros", "duplicates")}
FORMS = [
    pytest.param(row, convert, id=f"{row.name}-{name}")
    for row in ROWS.values()
    for name, convert in (SPARSE if sparse.issparse(row.data(120)) else DENSE).items()
    if (row.name, name) not in OTHERS
]


@pytest.mark.every(5)
@pytest.mark.parametrize(("row", "convert"), FORMS)
@pytest.mark.machine
def test_any_form_of_the_data_gives_the_same_bits(row, convert):
    X = values_of(row)
    form = convert(X)
    before = contents(form)
    fitted = quietly(clone(fitted_to(row.name)).fit, form)
    assert_same_results(fitted, form, fitted_to(row.name), X)
    one, other = (clone(fitted).partial_fit(data) for data in (form, X))
    assert_same_fit(one, other)
    for part, known in zip(contents(form), before, strict=True):
        np.testing.assert_array_equal(part, known)


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
    assert_same_results(fitted, mapped, fitted_to(row.name), X)

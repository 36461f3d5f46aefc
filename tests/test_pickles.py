"""Pickles: other versions, damage, memory maps, and skops."""

import contextlib
import copy
import dataclasses
import functools
import io
import pickle
import warnings

import joblib
import numpy as np
import pytest
from fits import Broken, StopAt, data_of
from registry import ESTIMATORS, ROWS
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, InconsistentVersionWarning

import sktemper
from sktemper.text import StreamingCountVectorizer

NAMES = list(ESTIMATORS)
#: One estimator of each model, the annealed one if there are several.
ONE_OF_EACH = [
    f"{'Annealed' if row.has_policies else ''}{row.name}" for row in ROWS.values()
]

each_model = pytest.mark.parametrize("name", ONE_OF_EACH)


def fitted(name):
    """Return a small fitted estimator and its data."""
    estimator, X = _fit(name)
    return copy.deepcopy(estimator), X


@functools.cache
def _fit(name):
    row, kind = ESTIMATORS[name]
    estimator = row.estimator(kind, n_components=3, max_iter=6)
    if row.moves:
        estimator.set_params(moves=None)
    X = row.data(120)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(X), X


# -- versions --------------------------------------------------------------------------


@each_model
def test_a_pickle_of_another_version_warns(name, monkeypatch):
    estimator, X = fitted(name)
    dump = pickle.dumps(estimator)
    pickle.loads(dump)  # no warning
    match = f"{name} of sktemper {sktemper.__version__} when using sktemper 99.0"
    monkeypatch.setattr(sktemper, "__version__", "99.0")
    with pytest.warns(InconsistentVersionWarning, match=match) as caught:
        loaded = pickle.loads(dump)
    assert len(caught) == 1
    assert not hasattr(loaded, "_sktemper_version")
    np.testing.assert_array_equal(loaded.transform(X), estimator.transform(X))
    monkeypatch.undo()
    with pytest.warns(InconsistentVersionWarning, match="of no known version"):
        clone(estimator).__setstate__(vars(estimator))


# -- damage ----------------------------------------------------------------------------


def changed(value, change):
    """Yield paths of leaves of a nested value, and copies with a changed leaf."""
    if isinstance(value, np.ndarray) or isinstance(value, float):
        for new in change(value):
            yield "", new
    elif isinstance(value, tuple):
        for name, part in zip(value._fields, value, strict=True):
            for place, new in changed(part, change):
                yield f".{name}{place}", value._replace(**{name: new})
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            for place, new in changed(getattr(value, field.name), change):
                new = dataclasses.replace(value, **{field.name: new})
                yield f".{field.name}{place}", new


def shorter(value):
    """Yield arrays with one row less or more along each axis, and other types."""
    for axis in range(np.ndim(value)):
        for rows in (slice(1, None), [0, *range(value.shape[axis])]):
            yield np.ascontiguousarray(value[(slice(None),) * axis + (rows,)])
    if np.ndim(value):
        yield value[None].copy()
        yield value.astype("O")


def not_finite(value):
    for bad in (np.nan, np.inf):
        new = np.array(value)
        new.flat[-1:] = bad
        yield new if np.ndim(value) else float(new)


def assert_refused(estimator, changes, intact):
    """Assert that pickles with changes of ``intact``, a part of the state, are refused.

    ``intact`` is a pair: the name of the part and its value.
    """
    part, value = intact
    state = estimator.state_
    state = state if hasattr(state, part) else state.policies
    n_changes = 0
    for place, new in changes:
        setattr(state, part, new)
        dump = pickle.dumps(estimator)
        with pytest.raises(ValueError, match="cannot be loaded"):
            pytest.fail(f"{part}{place} was loaded: {pickle.loads(dump)}")
        n_changes += 1
    assert n_changes > 1
    setattr(state, part, value)
    pickle.loads(pickle.dumps(estimator))


@each_model
@pytest.mark.parametrize("change", [shorter, not_finite])
@pytest.mark.parametrize("part", ["globals_", "hyper"])
def test_a_damaged_pickle_is_refused(name, part, change):
    estimator, _ = fitted(name)
    intact = getattr(estimator.state_, part)
    assert_refused(estimator, changed(intact, change), (part, intact))


@pytest.mark.parametrize(
    "name, parameters",
    [
        ("AnnealedFactorialMixture", {"moves": None}),
        ("AnnealedMatrixFactorization", {"noise_type": "user"}),
    ],
)
def test_damaged_local_parameters_are_refused(name, parameters):
    """An interrupted fit has local parameters, from which it continues."""

    estimator = getattr(sktemper, name)(
        3, batch_size=None, max_iter=6, random_state=0, **parameters
    )
    with pytest.raises(Broken):
        estimator.set_callbacks(StopAt(1, Broken)).fit(data_of(estimator))
    estimator.set_callbacks()
    local = estimator.state_.local
    assert len(local) == 120
    changes = [("columns", local[:, 1:].copy()), ("dtype", local.astype("O"))]
    changes += [("axes", local[None]), ("kind", local.tolist())]
    changes += [("numbers", new) for new in not_finite(local)]
    assert_refused(estimator, changes, ("local", local))


WITH_LADDERS = [
    name
    for name, (row, kind) in ESTIMATORS.items()
    if kind == "Tempered" and "log_partitions" in row.capabilities()
]


@pytest.mark.every(5)
@pytest.mark.parametrize("tempering", ["global", "local"])
@pytest.mark.parametrize("name", WITH_LADDERS)
def test_a_damaged_ladder_is_refused(name, tempering):
    estimator = getattr(sktemper, name)(
        3, tempering=tempering, max_iter=1, random_state=0
    )
    if "moves" in estimator.get_params():
        estimator.set_params(moves=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(data_of(estimator))
    intact = estimator.state_.policies.tempering
    changes = [
        (place, new)
        for change in (shorter, not_finite)
        for place, new in changed(intact, change)
        if not (place == ".score" and np.isnan(new.score))  # before the first step
    ]
    changes.append(("", None))
    assert_refused(estimator, changes, ("tempering", intact))


@each_model
def test_a_pickle_of_other_parameters_is_refused(name):
    estimator, _ = fitted(name)
    for target, key, value in (
        (estimator.state_.fixed, "n_components", 4),
        (vars(estimator), "n_features_in_", 2),
        (vars(estimator.state_), "dtype", np.dtype(np.int64)),
        (vars(estimator.state_), "best", {"globals_": 1, "hyper": None}),
    ):
        intact, target[key] = target[key], value
        with pytest.raises(ValueError, match="cannot be loaded"):
            pickle.loads(pickle.dumps(estimator))
        target[key] = intact
    # parameters that are set after the fit do not count as damage
    estimator.set_params(n_components=7)
    pickle.loads(pickle.dumps(estimator))


def outcome(estimator, X):
    """Return all that a user sees of a fit, as bytes and texts."""
    seen = {"parameters": repr(estimator.get_params())}
    for name in dir(estimator):
        if name.endswith("_") and not name.startswith("_"):
            with contextlib.suppress(AttributeError):
                seen[name] = as_bytes(getattr(estimator, name))
    return seen | {"transform": as_bytes(estimator.transform(X))}


def as_bytes(value):
    """Return arrays and numbers within a value in a form that can be compared."""
    if isinstance(value, dict | tuple | list):
        parts = value.values() if isinstance(value, dict) else value
        return [as_bytes(part) for part in parts]
    array = value.toarray() if sparse.issparse(value) else np.asarray(value)
    if array.dtype.hasobject:
        return repr(array.tolist()) if array.ndim else ""
    if array.dtype.kind == "f":  # the bits of a NaN have no meaning
        array = np.where(np.isnan(array), np.nan, array)
    return array.dtype.str, array.shape, array.tobytes()


def dumped(save, estimator):
    """Return the bytes of a saved estimator."""
    if save is pickle:
        return pickle.dumps(estimator)
    file = io.BytesIO()
    joblib.dump(estimator, file)
    return file.getvalue()


def flipped(data, n, seed):
    """Yield n copies of bytes in which a random bit has changed."""
    for place in np.random.default_rng(seed).integers(8 * len(data), size=n).tolist():
        damaged = bytearray(data)
        damaged[place // 8] ^= 1 << place % 8
        yield bytes(damaged)


def assert_no_bit_matters(save, estimator, X, n):
    """Assert that damaged pickles raise an error, or are the same estimator."""
    expected, data, n_refused = outcome(estimator, X), dumped(save, estimator), 0
    for number, damaged in enumerate(flipped(data, n, len(data))):
        try:
            loaded = save.load(io.BytesIO(damaged))
        except Exception:  # a damaged pickle may raise anything
            loaded = None
        if type(loaded) is type(estimator):
            assert outcome(loaded, X) == expected, number
        else:
            n_refused += 1
    # at most a fifth of the bits does not matter, within three standard deviations
    assert n_refused > 0.8 * n - 3 * (0.8 * 0.2 * n) ** 0.5


@pytest.mark.every(3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n", [40, pytest.param(600, marks=pytest.mark.deep)])
@pytest.mark.parametrize("save", [pickle, joblib], ids=["pickle", "joblib"])
@each_model
def test_a_changed_bit_is_found(name, save, n):
    estimator, X = fitted(name)
    assert_no_bit_matters(save, estimator, X, n)
    if hasattr(estimator, "for_serving"):
        assert_no_bit_matters(save, estimator.for_serving(), X, n)


@pytest.mark.filterwarnings("ignore")
def test_a_changed_bit_of_a_vectorizer_is_found():
    texts = ["old news of a day", "news and words", "more old words"]
    vectorizer = StreamingCountVectorizer(half_life=10).partial_fit(texts)
    assert_no_bit_matters(pickle, vectorizer, texts, 100)


@each_model
def test_a_changed_number_is_found(name):
    """Also where no check of shapes and finite numbers would find it."""
    estimator, _ = fitted(name)
    state = estimator.__getstate__()
    for place, new in changed(state["state_"].globals_, lambda value: [value + 1]):
        damaged = dataclasses.replace(state["state_"], globals_=new)
        with pytest.raises(ValueError, match=f"{name} cannot be loaded.*checksum"):
            clone(estimator).__setstate__(state | {"state_": damaged})
            pytest.fail(f"{place} was loaded")
    of_other_version = state | {"_checksum": 1, "_sktemper_version": "0.0"}
    with pytest.warns(InconsistentVersionWarning):
        clone(estimator).__setstate__(of_other_version)
    del state["_checksum"]
    with pytest.raises(ValueError, match="checksum"):
        clone(estimator).__setstate__(state)


def test_the_layout_of_arrays_is_no_damage():
    """Copies of a slice have another order in memory."""
    mixture, X = fitted("AnnealedGaussianMixture")
    for order in ("C", "F"):
        mixture.extra_ = np.zeros((3, 4, 5), order=order)[:, ::2].T
        mixture.table_ = sparse.csr_array(np.eye(3))
        for again in (copy.deepcopy(mixture), pickle.loads(pickle.dumps(mixture))):
            np.testing.assert_array_equal(again.transform(X), mixture.transform(X))


@pytest.mark.parametrize("order", ["<", ">"])
def test_arrays_of_any_byte_order_are_loaded(order):
    """NumPy loads arrays in the byte order of the machine."""
    X = np.random.default_rng(0).poisson(1.0, (40, 3)).astype(f"{order}f8")
    lda = sktemper.AnnealedLDA(2, half_life=100, random_state=0).partial_fit(X)
    prior = np.arange(3).astype(f"{order}f8")
    mixture = sktemper.AnnealedGaussianMixture(
        2, mean_prior=prior, moves=None, random_state=0
    ).fit(X)
    for estimator in lda, mixture:
        loaded = pickle.loads(pickle.dumps(estimator))
        again = pickle.loads(pickle.dumps(loaded))
        for one in loaded, again:
            np.testing.assert_array_equal(one.transform(X), estimator.transform(X))
    lda.scalar_ = np.array(1, f"{order}f8")
    loaded = pickle.loads(pickle.dumps(lda)).partial_fit(X)
    np.testing.assert_array_equal(loaded.components_, lda.partial_fit(X).components_)


def test_an_object_of_the_user_is_no_damage():
    """Its pickle need not have its attributes, and it may contain itself."""
    mixture, X = fitted("AnnealedGaussianMixture")
    mixture.mine_ = [Mine(), {1, "2"}, print, 10**400, np.float32(1), np.dtype("i4,f8")]
    again = pickle.loads(pickle.dumps(mixture))
    np.testing.assert_array_equal(again.transform(X), mixture.transform(X))


class Mine:
    def __init__(self):
        self.me, self.other = self, Forgetful()


class Forgetful:
    def __init__(self):
        self.number = np.random.default_rng().random()

    def __reduce__(self):
        return Forgetful, ()


def test_users_are_checked_too():
    model, _ = fitted("AnnealedMatrixFactorization")
    natural, noise = model._users_
    bad = natural.copy()
    bad[0, 0] = np.nan
    for users in ((natural[:, 1:], noise), (natural[1:], noise), (bad, noise)):
        model._users_ = users
        with pytest.raises(ValueError, match="users"):
            pickle.loads(pickle.dumps(model))


# -- maps ------------------------------------------------------------------------------


@pytest.mark.every(5)
@each_model
@pytest.mark.parametrize("method", ["partial_fit", "fit"])
def test_a_memory_mapped_pickle_can_be_fitted_further(name, method, tmp_path):
    """A fit continues from read-only arrays, and does not change the file."""
    estimator, X = fitted(name)
    estimator.set_params(warm_start=True)
    path = tmp_path / "estimator.joblib"
    joblib.dump(estimator, path)
    before = path.read_bytes()
    mapped = joblib.load(path, mmap_mode="r")
    np.testing.assert_array_equal(mapped.transform(X), estimator.transform(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        getattr(mapped, method)(X)
        getattr(estimator, method)(X)
    np.testing.assert_array_equal(mapped.transform(X), estimator.transform(X))
    del mapped
    assert path.read_bytes() == before


# -- skops -----------------------------------------------------------------------------


@pytest.mark.every(17)
@pytest.mark.parametrize("name", NAMES)
def test_skops(name):
    """skops loads estimators with the trusted types that doc/guide/fits.md names."""
    skops = pytest.importorskip("skops.io")
    estimator, X = fitted(name)
    dump = skops.dumps(estimator)
    types = skops.get_untrusted_types(data=dump)
    others = [one for one in types if not one.startswith("sktemper.")]
    assert set(others) <= {"builtins.frozenset", "numpy.dtype"}
    loaded = skops.loads(dump, trusted=types)
    np.testing.assert_array_equal(loaded.transform(X), estimator.transform(X))
    estimator.partial_fit(X)
    loaded.partial_fit(X)
    np.testing.assert_array_equal(loaded.transform(X), estimator.transform(X))

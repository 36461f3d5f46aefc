"""Fits have the same bits if interrupted, pickled, continued or run on more threads."""

import contextlib
import copy
import itertools
import pickle
import threading
import time

import joblib
import numpy as np
import pytest
from fits import (
    SCHEDULE,
    Broken,
    Hooks,
    PressingAt,
    assert_same_fit,
    ctrl_c_after,
    data_of,
    factorization_of,
    lda_of,
    mixture_of,
)
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from sktemper import (
    AnnealedGaussianMixture,
    TemperedFactorialMixture,
    TemperedGaussianMixture,
    TemperedLDA,
    TemperedMatrixFactorization,
)
from sktemper._engine import State, _workers
from sktemper._engine import _fit as _fit_runs
from sktemper._engine._passes import first_batch
from sktemper._engine._state import Progress
from sktemper._utils._tasks import Pool
from sktemper.learning_rates import AdaptiveRate, RobbinsMonro
from sktemper.moves import BirthMoves
from sktemper.noise import GradientNoise, SVIPlusNoise
from sktemper.schedules import ConstantSchedule, LinearSchedule
from sktemper.tempering import Annealing, GlobalTempering, LocalTempering

RATE = RobbinsMonro()  # the default


CONFIGURATIONS = {
    "default": lda_of(),
    "in order": lda_of(shuffle=False, target="likelihood", n_jobs=2),
    "passes": lda_of(
        TemperedLDA,
        tempering=Annealing(LinearSchedule(4, 1, 1.5, "passes"), "posterior"),
        topic_word_prior=np.linspace(0.1, 0.3, 60),
    ),
    "auto length": lda_of(schedule=None, learning_rate=0.2),
    "one batch": lda_of(batch_size=None, max_iter=12),
    "validated": lda_of(n_iter_no_change=50, max_iter=6),
    "local temperatures": lda_of(
        TemperedLDA, tempering=LocalTempering(n_temperatures=10)
    ),
    "policies with a state": lda_of(
        TemperedLDA,
        tempering=GlobalTempering(n_temperatures=10, cap=SCHEDULE),
        learning_rate=AdaptiveRate(n_warmup_batches=2),
        gradient_noise=SVIPlusNoise(0.5),
        init_params="random",  # near an optimum, the rate would be near 0
    ),
    "mixture": mixture_of(n_jobs=2),
    "mixture with moves": mixture_of(
        batch_size=None, max_iter=12, moves=BirthMoves(n_moves=3)
    ),
    "validated mixture with moves": mixture_of(
        n_iter_no_change=50, max_iter=6, moves=BirthMoves(n_moves=3)
    ),
    "mixture with local temperatures": mixture_of(
        TemperedFactorialMixture, tempering=LocalTempering(n_temperatures=10)
    ),
    "mixture with a state": mixture_of(
        TemperedFactorialMixture,
        tempering=GlobalTempering(n_temperatures=10, cap=SCHEDULE),
        learning_rate=AdaptiveRate(n_warmup_batches=2),
        gradient_noise=SVIPlusNoise(0.5, "gaussian"),
        posterior="factorized",
    ),
    "factorization": factorization_of(n_jobs=2),
    "factorization in one batch": factorization_of(batch_size=None, max_iter=12),
    "validated factorization": factorization_of(n_iter_no_change=50, max_iter=6),
    "factorization with local temperatures": factorization_of(
        TemperedMatrixFactorization,
        tempering=LocalTempering(n_temperatures=10),
    ),
    "factorization with a state": factorization_of(
        TemperedMatrixFactorization,
        tempering=GlobalTempering(n_temperatures=10, cap=SCHEDULE),
        learning_rate=AdaptiveRate(n_warmup_batches=2),
        gradient_noise=SVIPlusNoise(0.5),
        biases=False,
    ),
}
each_configuration = pytest.mark.parametrize(
    "lda", CONFIGURATIONS.values(), ids=CONFIGURATIONS.keys()
)


def assert_usable(lda, X):
    """Assert that all parts of the state belong to the last completed step."""
    history = lda.history_
    assert history["step"].tolist() == list(range(1, lda.n_batch_iter_ + 1))
    assert history["temperature"][-1] == lda.temperature_
    assert np.isfinite(lda.components_).all()
    transformed = lda.transform(X)
    assert np.isfinite(transformed).all()
    if not hasattr(lda, "predict_pairs"):  # the results are shares or probabilities
        assert ((transformed >= 0) & (transformed <= 1)).all()
    assert np.isfinite(lda.score(X))


class StopAt(Hooks):
    def __init__(self, n_passes):
        self.n_passes = n_passes

    def at_pass(self, estimator, fitted_estimator):
        return estimator.n_iter_ == self.n_passes


class Snapshots(StopAt):
    """Callback that pickles the estimator and the copy that callbacks get."""

    def at_pass(self, estimator, fitted_estimator):
        if estimator.n_iter_ == self.n_passes:
            self.dumps = [pickle.dumps(estimator), pickle.dumps(fitted_estimator)]


# -- pickle ----------------------------------------------------------------------------


@pytest.mark.every(19)
@each_configuration
def test_a_pickle_from_within_a_fit_continues_with_the_same_bits(lda):
    X = data_of(lda)
    callback = Snapshots(2)
    whole = clone(lda).set_callbacks(callback).fit(X)
    assert whole.n_iter_ == lda.max_iter
    for dump in callback.dumps:
        resumed = pickle.loads(dump)
        assert resumed.n_iter_ == 2
        assert_usable(resumed, X)
        resumed.set_callbacks().set_params(warm_start=True).fit(X)
        assert_same_fit(resumed, whole)


@pytest.mark.every(5)
@each_configuration
def test_a_pickle_between_two_calls_continues_with_the_same_bits(lda):
    X = data_of(lda)
    lda = clone(lda).set_params(total_samples=120)
    whole = clone(lda).partial_fit(X).partial_fit(X)
    resumed = pickle.loads(pickle.dumps(lda.partial_fit(X)))
    assert_same_fit(resumed.partial_fit(X), whole)
    np.testing.assert_array_equal(copy.deepcopy(whole).transform(X), whole.transform(X))


# -- warm start ------------------------------------------------------------------------


@pytest.mark.every(19)
@each_configuration
def test_warm_start_finishes_an_interrupted_plan(lda):
    X = data_of(lda)
    lda = clone(lda)
    whole = clone(lda).fit(X)
    with warnings_of_an_early_end():
        lda.set_callbacks(StopAt(1)).fit(X)
    assert lda.n_iter_ == 1
    lda.set_callbacks().set_params(warm_start=True).fit(X)
    assert_same_fit(lda, whole)


def test_warm_start_continues_a_finished_plan_and_does_not_reheat(documents):
    lda = lda_of(warm_start=True).fit(documents)
    assert lda.n_iter_ == 5
    assert lda.fit(documents).n_iter_ == 10
    assert lda.set_params(max_iter=2).fit(documents).n_iter_ == 12
    assert lda.n_batch_iter_ == 12 * 4
    temperatures = [SCHEDULE(t) for t in range(48)]
    np.testing.assert_array_equal(lda.history_["temperature"], temperatures)
    rates = [RATE(t) for t in range(1, 49)]
    np.testing.assert_array_equal(lda.history_["learning_rate"], rates)


@pytest.mark.every(3)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("changed", "n_steps"),
    [
        ({}, 1),  # three of four batches of 30 were visited
        ({"batch_size": 120}, 1),
        ({"batch_size": 100}, 1),
        ({"batch_size": 50}, 1),  # the 120 rows make three batches of 40
        ({"batch_size": 20}, 2),
        ({"batch_size": 7}, 5),  # 12 batches of 7 and 6 of 6; 13 of them have 90 rows
        ({"batch_size": None, "learning_rate": 0.5}, 1),
        ({"n_iter_no_change": 9}, 4),  # the training rows changed: all batches
        ({"evaluate_every": 1, "validation_fraction": 0.6, "batch_size": 50}, 1),
    ],
)
def test_an_interrupted_pass_continues_whatever_batches_are_now(
    documents, changed, n_steps
):
    lda = lda_of(schedule=PressingAt(3), warm_start=True, max_iter=2)
    with pytest.raises(KeyboardInterrupt):
        lda.fit(documents)
    assert (lda.n_iter_, lda.state_.progress.batches_into_pass) == (0, 3)
    lda.set_params(schedule=SCHEDULE, **changed).set_callbacks(StopAt(1))
    lda.fit(documents)
    assert (lda.n_iter_, lda.n_batch_iter_) == (1, 3 + n_steps)
    lda.set_callbacks().fit(documents)
    assert lda.n_iter_ == 2


def test_an_interrupted_pass_leaves_out_no_row():
    """It visits again only rows in the same batch as an unvisited row."""
    for n_rows, old, new in itertools.product((7, 30, 31), (3, 4, 30), (1, 5, 8, 31)):
        rows = np.arange(n_rows)
        n_old, n_new = -(-n_rows // old), -(-n_rows // new)
        for done in range(n_old):
            state = State(
                None,
                None,
                0,
                None,
                progress=Progress(
                    batches_into_pass=done,
                    rows_of_pass=n_rows,
                    batches_of_pass=n_old,
                ),
            )
            visited = sum(map(len, np.array_split(rows, n_old)[:done]))
            first = first_batch(state, n_rows, n_new)
            left = np.array_split(rows, n_new)[first:]
            assert left[0][0] <= visited <= left[0][-1]
            assert first_batch(state, n_rows, n_old) == done
            assert first_batch(state, n_rows + 1, n_new) == 0


def test_without_warm_start_fit_starts_again(documents):
    lda = lda_of().fit(documents)
    first = copy.deepcopy(lda)
    assert_same_fit(lda.fit(documents), first)
    assert_same_fit(lda_of(warm_start=True).fit(documents), first)


def test_warm_start_with_other_rows(documents):
    lda = lda_of(warm_start=True, learning_rate=0.5).fit(documents[:60])
    lda.fit(documents)
    assert lda.n_iter_ == 10
    assert lda.n_samples_seen_ == 5 * 60 + 5 * 120
    lda.partial_fit(documents[:30])
    assert lda.history_["passes"][-1] == lda.n_samples_seen_ / 150


# -- Ctrl-C ----------------------------------------------------------------------------


@pytest.mark.every(11)
@pytest.mark.parametrize("t", [0, 1, 6, 19])
@pytest.mark.parametrize("pickled", [False, True])
def test_ctrl_c_leaves_the_last_complete_step(documents, t, pickled):
    whole = lda_of().fit(documents)
    lda = lda_of(schedule=PressingAt(t), warm_start=True)
    with pytest.raises(KeyboardInterrupt):
        lda.fit(documents)
    lda.set_params(schedule=SCHEDULE)
    if t == 0:
        assert not hasattr(lda, "components_")
        assert not hasattr(lda, "n_features_in_")
    else:
        assert lda.n_batch_iter_ == t
        assert_usable(lda, documents)
    if pickled:
        lda = pickle.loads(pickle.dumps(lda))
    assert_same_fit(lda.fit(documents), whole)


@pytest.mark.deep
def test_ctrl_c_at_any_time(documents):
    # enough documents for a fit that is longer than the delay of signals
    documents = sparse.vstack([documents] * 8, format="csr")
    whole = lda_of().fit(documents)
    begin = time.perf_counter()
    lda_of().fit(documents)
    duration = time.perf_counter() - begin
    interrupted = 0
    for share in np.linspace(0.05, 0.95, 25):
        lda = lda_of(warm_start=True)
        begin = time.perf_counter()
        try:
            with ctrl_c_after(share * duration):
                lda.fit(documents)
            duration = min(duration, time.perf_counter() - begin)
        except KeyboardInterrupt:
            interrupted += 1
        if hasattr(lda, "components_"):
            assert_usable(lda, documents)
        if not hasattr(lda, "n_iter_") or lda.n_iter_ < 5:
            assert_same_fit(lda.fit(documents), whole)
    assert interrupted > 5


@pytest.mark.every(9)
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("method", ["fit", "partial_fit", "transform", "score"])
def test_ctrl_c_within_a_long_kernel(n_jobs, method, monkeypatch):
    """A local step on one sample would take an hour without the interruption."""
    X = np.random.default_rng(0).poisson(3, (1, 20_000)).astype(float)
    fitted = lda_of(batch_size=1, warm_start=True, max_iter=20, mean_change_tol=0.0)
    fitted.set_params(n_jobs=n_jobs, max_doc_update_iter=1).fit(X)
    before, pools = fitted.components_, []
    fitted.set_params(max_doc_update_iter=10**9)
    monkeypatch.setattr(_workers, "Pool", lambda n: pools.append(Pool(n)) or pools[-1])
    begin = time.perf_counter()
    with pytest.raises(KeyboardInterrupt), ctrl_c_after(0.15):
        getattr(fitted, method)(X)
    assert time.perf_counter() - begin < 2
    assert pools
    np.testing.assert_array_equal(fitted.components_, before)
    assert not any(pool.is_alive() for pool in pools)
    assert_usable(fitted.set_params(max_doc_update_iter=1), X)


# -- errors ----------------------------------------------------------------------------


class BreakingRate(RobbinsMonro):
    """A rate that depends on the data, so that no plan can check it."""

    def next_rate(self, state, clock, gradient):
        gradient()
        if clock.steps == 6:
            raise Broken
        return super().next_rate(state, clock, gradient)


class NegativeRate(RobbinsMonro):
    def next_rate(self, state, clock, gradient):
        gradient()
        return (-1.0 if clock.steps == 6 else self(clock.steps + 1)), state


class BreakingAt(StopAt):
    def at_pass(self, estimator, fitted_estimator):
        if estimator.n_iter_ == self.n_passes:
            raise Broken


@pytest.mark.parametrize("where", ["rate", "callback", "negative rate"])
def test_an_error_in_a_first_fit_keeps_the_last_complete_step(documents, where):
    lda, steps, error = lda_of(warm_start=True), 6, Broken
    if where == "rate":
        lda.set_params(learning_rate=BreakingRate())
    elif where == "callback":
        lda.set_callbacks(BreakingAt(2))
        steps = 8
    else:
        lda.set_params(learning_rate=NegativeRate())
        error = ValueError
    with pytest.raises(error):
        lda.fit(documents)
    assert lda.n_batch_iter_ == steps
    assert_usable(lda, documents)
    lda.set_callbacks().set_params(learning_rate=None).fit(documents)
    assert_same_fit(lda, lda_of().fit(documents))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("rate", [BreakingRate(), NegativeRate()])
@pytest.mark.parametrize("loaded", [False, True])
def test_an_error_in_a_later_step_leaves_an_earlier_fit_as_it_was(
    documents, rate, loaded
):
    lda = lda_of(max_iter=1).fit(documents)
    if loaded:
        lda = pickle.loads(pickle.dumps(lda))
    before, again = vars(lda) | {}, pickle.loads(pickle.dumps(lda))
    with pytest.raises((Broken, ValueError)):
        lda.set_params(learning_rate=rate, max_iter=3).fit(documents[:, ::-1])
    for name in before.keys() & {"state_", "_loaded", *fitted_attributes(again)}:
        assert vars(lda)[name] is before[name]
    lda.set_params(learning_rate=None, max_iter=1)
    assert_same_fit(lda, again)
    assert_same_fit(lda.partial_fit(documents), again.partial_fit(documents))
    # Ctrl-C keeps the new fit
    with pytest.raises(KeyboardInterrupt):
        lda.set_params(schedule=PressingAt(2)).fit(documents)
    assert lda.n_batch_iter_ == 2


@pytest.mark.parametrize("half_life", [None, 1000])
def test_a_stream_goes_on_after_a_chunk_that_raises(documents, half_life):
    shared = {"batch_size": 40, "half_life": half_life}
    broken, whole = lda_of(**shared), lda_of(**shared)
    for lda in (broken, whole):
        lda.partial_fit(documents[:40])
    bad = documents[40:].astype(float)
    bad.data[-1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        broken.partial_fit(bad)
    for lda in (broken, whole):
        lda.partial_fit(documents[40:])
    assert_same_fit(broken, whole)


def fitted_attributes(lda):
    return {
        name: pickle.dumps(value)
        for name, value in vars(lda).items()
        if name.endswith("_")
    }


@pytest.mark.every(17)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize(
    ("method", "parameters", "spoil"),
    [
        ("fit", {}, lambda X: X * np.nan),
        ("fit", {}, lambda X: -X),
        ("fit", {}, lambda X: X[:0]),
        ("fit", {}, lambda X: X[0]),
        ("fit", {"doc_topic_prior": [1.0]}, None),
        ("fit", {"init": np.ones((4, 1))}, lambda X: X[:, :30]),
        ("fit", {"schedule": 2.0, "max_iter": 7}, None),
        ("fit", {"schedule": LinearSchedule(start=-1), "max_iter": 7}, None),
        ("fit", {"schedule": lambda t: -1.0, "max_iter": 7}, lambda X: X[:50]),
        ("fit", {"learning_rate": "fast", "batch_size": 7}, lambda X: X[:, :30]),
        ("fit", {"n_iter_no_change": 1, "validation_fraction": 0.999}, None),
        ("partial_fit", {}, lambda X: X[:, :30]),
        ("partial_fit", {"schedule": 2.0}, None),
        ("partial_fit", {"schedule": lambda t: -1.0}, lambda X: X[:50]),
        ("partial_fit", {"schedule": LinearSchedule(unit="passes")}, None),
        ("partial_fit", {"doc_topic_prior": [1.0]}, None),
    ],
)
def test_a_failed_call_leaves_an_earlier_fit_as_it_was(
    documents, method, parameters, spoil, warm_start
):
    pandas = pytest.importorskip("pandas")
    names = [f"w{v}" for v in range(60)]
    lda = lda_of().fit(pandas.DataFrame(documents.toarray(), columns=names))
    lda.set_params(warm_start=warm_start, **parameters)
    before = fitted_attributes(lda)
    X = documents.toarray().astype(float)
    with pytest.raises(ValueError):
        getattr(lda, method)(X if spoil is None else spoil(X))
    assert fitted_attributes(lda) == before


def readable_attributes(estimator):
    """Read every public attribute of a fitted estimator."""
    for name in dir(estimator):
        if name.endswith("_") and not name.startswith("_"):
            with contextlib.suppress(NotFittedError):  # after an interrupted fit
                getattr(estimator, name)


class HugeWeights(GradientNoise):
    """Weights that overflow in the third step; with ``breaking``, an error instead."""

    def __init__(self, breaking=False):
        self.breaking = breaking

    def unit_noise(self, n_units, clock, random):
        if clock.steps != 2:
            return None
        if self.breaking:
            raise Broken
        return np.full(n_units, 1e308)

    def guarded(self, rate, largest_rate):
        return rate


@pytest.mark.every(3)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    "estimator",
    [
        TemperedLDA(3, tempering=None),
        TemperedFactorialMixture(3, tempering=None, moves=None),
        TemperedMatrixFactorization(3, tempering=None),
        TemperedGaussianMixture(3, tempering=None, moves=None),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_steps_with_infinite_results_are_never_committed(estimator, method):
    """A fit continues after such a step as after any other error."""
    X = data_of(estimator)
    fitted = clone(estimator).set_params(
        gradient_noise=HugeWeights(),
        learning_rate=0.3,
        batch_size=30,
        max_iter=2,
        total_samples=120,
        warm_start=True,
        random_state=0,
    )
    other = clone(fitted).set_params(gradient_noise__breaking=True)
    with pytest.raises(Broken):
        getattr(other, method)(X)
    with pytest.raises(ValueError, match="not be finite|ill-defined"):
        getattr(fitted, method)(X)
    assert fitted.n_batch_iter_ == 2
    readable_attributes(fitted)
    for method_of_use in ("transform", "score_samples"):
        assert np.isfinite(getattr(fitted, method_of_use)(X)).all()
    digests = {
        joblib.hash((estimator.state_.globals_, estimator.state_.hyper))
        for estimator in (fitted, other)
    }
    assert len(digests) == 1
    for estimator in (fitted, other):
        estimator.set_params(gradient_noise=None)
        getattr(estimator, method)(X[60:] if method == "partial_fit" else X)
        digests.add(joblib.hash((estimator.state_.globals_, estimator.state_.hyper)))
    assert len(digests) == 2
    assert fitted.n_batch_iter_ == (4 if method == "partial_fit" else 8)


def test_a_failed_weight_leaves_an_earlier_fit_as_it_was(documents):
    lda = lda_of(warm_start=True).fit(documents)
    before = fitted_attributes(lda)
    for weight in (np.ones(3), np.full(120, -1.0), np.full(120, np.nan)):
        for method in (lda.fit, lda.partial_fit):
            with pytest.raises(ValueError, match="[Ww]eight"):
                method(documents, sample_weight=weight)
    assert fitted_attributes(lda) == before


# -- threads and chunks ----------------------------------------------------------------


def many_of(estimator, dtype):
    """Return rows of three blocks; data of a mixture have missing values."""
    X = data_of(estimator, many=True).astype(dtype)
    if not hasattr(estimator, "impute"):
        return X
    X[100:900:7, 2] = np.nan
    X[2500:2600, 4:] = np.nan
    return X


KINDS = [
    pytest.param(estimator_of, dtype, id=f"{estimator_of.__name__}-{dtype.__name__}")
    for estimator_of, dtype in (
        (lda_of, np.int32),
        (lda_of, np.float64),
        (mixture_of, np.float32),
        (mixture_of, np.float64),
        (factorization_of, np.float32),
        (factorization_of, np.float64),
    )
]


@pytest.mark.every(17)
@pytest.mark.parametrize(("estimator_of", "dtype"), KINDS)
@pytest.mark.parametrize("batch_size", [None, 600])
@pytest.mark.machine
def test_any_number_of_threads_gives_the_same_bits(estimator_of, dtype, batch_size):
    estimator = estimator_of(batch_size=batch_size, max_iter=12, learning_rate=0.5)
    if estimator_of is mixture_of:
        estimator.set_params(moves=BirthMoves(n_moves=2, max_samples=3000))
    X = many_of(estimator, dtype)
    one = clone(estimator).fit(X)
    for n_jobs in (2, 4, -1):
        many = clone(estimator).set_params(n_jobs=n_jobs).fit(X)
        assert_same_fit(one, many)
        for method in ("transform", "score_samples", "score", "lower_bound"):
            expected = getattr(one, method)(X)
            np.testing.assert_array_equal(getattr(many, method)(X), expected)


@pytest.mark.every(13)
@pytest.mark.parametrize(("estimator_of", "dtype"), KINDS)
@pytest.mark.parametrize("method", ["transform", "score_samples"])
@pytest.mark.machine
def test_any_chunks_give_the_same_bits(estimator_of, method, dtype):
    estimator = estimator_of(learning_rate=0.5)
    X = many_of(estimator, dtype)
    function = getattr(estimator.fit(X[:700]), method)
    expected = function(X)
    for row in (300, 107):
        np.testing.assert_array_equal(function(X[[row]]), expected[[row]])
    n = X.shape[0]
    for size in (n // 17, 256, 500, 2 * n // 3):
        parts = [function(X[i : i + size]) for i in range(0, n, size)]
        np.testing.assert_array_equal(np.concatenate(parts), expected)
    order = np.random.default_rng(0).permutation(n)
    np.testing.assert_array_equal(function(X[order]), expected[order])


@pytest.mark.every(3)
@pytest.mark.parametrize("estimator_of", [lda_of, mixture_of, factorization_of])
def test_a_fitted_model_may_be_used_from_many_threads(estimator_of):
    fitted = estimator_of(learning_rate=0.5)
    X = data_of(fitted, many=True)
    fitted.fit(X)
    results = [None] * 4

    def work(i):
        results[i] = fitted.transform(X), fitted.score_samples(X)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for transformed, scores in results:
        np.testing.assert_array_equal(transformed, results[0][0])
        np.testing.assert_array_equal(scores, results[0][1])


def reloaded(folder, X, load):
    """Return the data from a file, as another process would get them."""
    if not sparse.issparse(X):
        return load(folder / "X", X)
    names = "data", "indices", "indptr"
    parts = tuple(load(folder / name, getattr(X, name)) for name in names)
    mapped = sparse.csr_array(parts, shape=X.shape, copy=False)
    assert isinstance(parts[0], np.memmap)
    assert np.shares_memory(mapped.data, parts[0])
    return mapped


def by_joblib(path, array):
    """Return a memory map, in which joblib passes large arrays to workers."""
    joblib.dump(array, path)
    return joblib.load(path, mmap_mode="r")


def by_numpy(path, array):
    mapped = np.memmap(path, array.dtype, "w+", shape=array.shape)
    mapped[...] = array
    mapped.flush()
    return np.memmap(path, array.dtype, "r", shape=array.shape)


@pytest.mark.every(11)
@pytest.mark.parametrize("load", [by_joblib, by_numpy])
@pytest.mark.parametrize(
    "estimator",
    [
        lda_of(),
        mixture_of(),
        factorization_of(),
        AnnealedGaussianMixture(
            3, schedule=SCHEDULE, batch_size=30, max_iter=3, random_state=0, moves=None
        ),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_maps_of_files_give_the_fit_of_arrays(tmp_path, estimator, load):
    X = data_of(estimator)
    mapped = reloaded(tmp_path, X, load)
    in_memory, from_file = clone(estimator).fit(X), clone(estimator).fit(mapped)
    for name in ("globals_", "hyper"):
        one, other = (getattr(fit.state_, name) for fit in (in_memory, from_file))
        assert joblib.hash(one) == joblib.hash(other)
    np.testing.assert_array_equal(in_memory.transform(X), from_file.transform(mapped))


# -- warnings --------------------------------------------------------------------------


def warnings_of_an_early_end():
    return pytest.warns(ConvergenceWarning)


@pytest.mark.parametrize(
    ("schedule", "remedies"),
    [
        (LinearSchedule(3, 1, 1000), ["max_iter", "shorten the schedule"]),
        (ConstantSchedule(2.5), ["let it stop at 1"]),
        (lambda t: 2.5, ["max_iter", "shorten the schedule"]),
    ],
)
def test_a_fit_that_ends_hot_warns(documents, schedule, remedies):
    lda = lda_of(schedule=schedule, learning_rate=0.5)
    with pytest.warns(ConvergenceWarning) as caught:
        lda.fit(documents)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert f"{lda.temperature_:.3g}" in message
    for remedy in remedies:
        assert remedy in message
    assert caught[0].filename == __file__  # the warning names the line of the call


def test_a_fit_that_keeps_its_start_warns(documents):
    lda = lda_of(TemperedLDA, tempering=None, learning_rate=RobbinsMonro(offset=1024))
    left = np.prod([1 - RobbinsMonro(offset=1024)(t) for t in range(1, 21)])
    with pytest.warns(ConvergenceWarning, match=f"{left:.0%} of the start") as caught:
        lda.fit(documents)
    assert "offset" in str(caught[0].message)
    assert caught[0].filename == __file__
    lda.set_params(learning_rate=RobbinsMonro(offset=2)).fit(documents)  # no warning


class BrokenRate(RobbinsMonro):
    def next_rate(self, state, clock, gradient):
        raise Broken


def interrupted(*arguments):
    raise KeyboardInterrupt


def test_a_fit_that_fails_to_continue_adds_no_score(documents, monkeypatch):
    lda = lda_of(evaluate_every=1, warm_start=True)
    monkeypatch.setattr(_fit_runs, "heldout_score", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lda.fit(documents)
    monkeypatch.undo()
    before = lda.history_
    with pytest.raises(Broken):  # after the pass is scored
        lda.set_params(learning_rate=BrokenRate()).fit(documents)
    np.testing.assert_equal(lda.history_, before)


def test_the_best_state_contains_only_the_model(documents):
    lda = lda_of(
        TemperedLDA,
        tempering=None,
        n_iter_no_change=1,
        tol=10.0,
        max_iter=20,
        warm_start=True,
        learning_rate=0.3,
    ).fit(documents)
    stopped = lda.n_iter_
    assert stopped < 20
    assert lda.state_.best is None
    lda.set_params(max_iter=2, n_iter_no_change=None).fit(documents)
    assert lda.n_iter_ == stopped + 2  # the planned passes were complete


def test_a_fit_that_was_cut_off_at_its_early_stop_ends_there(documents, monkeypatch):
    lda = lda_of(
        TemperedLDA,
        tempering=None,
        n_iter_no_change=1,
        tol=10.0,
        max_iter=20,
        learning_rate=0.3,
    )
    stopped = clone(lda).fit(documents)
    after = Snapshots(stopped.n_iter_)  # after the check that ends the fit
    clone(lda).set_callbacks(after).fit(documents)
    before, scores = clone(lda).set_params(warm_start=True), []
    score = _fit_runs.heldout_score

    def cut_off(*arguments):
        if len(scores) == stopped.n_iter_ - 1:
            raise KeyboardInterrupt
        scores.append(score(*arguments))
        return scores[-1]

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(_fit_runs, "heldout_score", cut_off)
        before.fit(documents)
    for resumed in (before, *map(pickle.loads, after.dumps)):
        resumed.set_callbacks().set_params(warm_start=True).fit(documents)
        assert_same_fit(resumed, stopped)


class InterruptedMove(Hooks):
    def at_move(self, estimator, fitted_estimator):
        raise KeyboardInterrupt


def test_a_fit_that_continues_with_moves_compared_scores_before():
    """There is no warning that early stopping had no scores to compare."""
    new = mixture_of(n_iter_no_change=50, max_iter=6, moves=BirthMoves(n_moves=3))
    X = data_of(new)
    whole = clone(new).fit(X)
    new.set_params(warm_start=True).set_callbacks(InterruptedMove())
    with pytest.raises(KeyboardInterrupt):
        new.fit(X)
    assert_same_fit(new.set_callbacks().fit(X), whole)


@pytest.mark.every(3)
@pytest.mark.parametrize("tempering", ["global", "local", None])
def test_policies_may_change_between_calls(documents, tempering):
    lda = lda_of(TemperedLDA, tempering="local").fit(documents)
    lda.set_params(tempering=tempering, learning_rate=AdaptiveRate())
    lda.partial_fit(documents)
    assert np.isfinite(lda.transform(documents)).all()
    assert lda.learning_rate_.metric == "fisher"


def test_early_stopping_warns_without_scores_to_compare(documents):
    lda = lda_of(schedule=ConstantSchedule(1.5), n_iter_no_change=1)
    with pytest.warns(ConvergenceWarning) as caught:
        lda.fit(documents)
    assert any("had no scores to compare" in str(warning.message) for warning in caught)


def test_noise_that_never_acts_is_reported(documents):
    lda = lda_of(TemperedLDA, tempering=None, gradient_noise=SVIPlusNoise(1000))
    with pytest.warns(ConvergenceWarning, match="effective batch size"):
        lda.fit(documents)

"""Interrupted, pickled, continued, or on more threads: the same bits."""

import contextlib
import copy
import pickle
import signal
import threading
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sktemper import AnnealedLDA, TemperedLDA
from sktemper.learning_rates import AdaptiveRate, RobbinsMonro
from sktemper.noise import SVIPlusNoise
from sktemper.schedules import ConstantSchedule, LinearSchedule, Schedule
from sktemper.tempering import Annealing, GlobalTempering, LocalTempering

SCHEDULE = LinearSchedule(start=3, length=8)
RATE = RobbinsMonro()  # the default


def lda_of(cls=AnnealedLDA, **parameters):
    if cls is AnnealedLDA:
        parameters = {"schedule": SCHEDULE, **parameters}
    defaults = {"batch_size": 30, "max_iter": 5, "random_state": 0}
    return cls(4, **{**defaults, **parameters})


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
    ),
}
each_configuration = pytest.mark.parametrize(
    "lda", CONFIGURATIONS.values(), ids=CONFIGURATIONS.keys()
)


def assert_same_state(one, other):
    np.testing.assert_array_equal(one.components_, other.components_)
    for name in one.history_:
        if name != "seconds":
            np.testing.assert_array_equal(one.history_[name], other.history_[name])
    for name in ("n_iter_", "n_batch_iter_", "n_samples_seen_", "temperature_"):
        assert getattr(one, name) == getattr(other, name)


def assert_usable(lda, X):
    """The state is of one step, the last that was completed."""
    history = lda.history_
    assert history["step"].tolist() == list(range(1, lda.n_batch_iter_ + 1))
    assert history["temperature"][-1] == lda.temperature_
    assert np.isfinite(lda.components_).all()
    np.testing.assert_allclose(lda.transform(X).sum(axis=1), 1, rtol=1e-6)
    assert np.isfinite(lda.score(X))


class Hooks:
    """A callback that runs a function at the end of each pass."""

    def __init__(self, at_pass):
        self.at_pass = at_pass

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        if context.task_name == "pass":
            return self.at_pass(estimator, fitted_estimator)


class StopAt(Hooks):
    def __init__(self, n_passes):
        self.n_passes = n_passes

    def at_pass(self, estimator, fitted_estimator):
        return estimator.n_iter_ == self.n_passes


class Snapshots(StopAt):
    """Pickle the estimator itself and the copy that a callback is given."""

    def at_pass(self, estimator, fitted_estimator):
        if estimator.n_iter_ == self.n_passes:
            self.dumps = [pickle.dumps(estimator), pickle.dumps(fitted_estimator)]


# -- pickle ----------------------------------------------------------------------------


@each_configuration
def test_a_pickle_from_within_a_fit_goes_on_with_the_same_bits(documents, lda):
    callback = Snapshots(2)
    whole = clone(lda).set_callbacks(callback).fit(documents)
    assert whole.n_iter_ == lda.max_iter
    for dump in callback.dumps:
        resumed = pickle.loads(dump)
        assert resumed.n_iter_ == 2
        assert_usable(resumed, documents)
        resumed.set_callbacks().set_params(warm_start=True).fit(documents)
        assert_same_state(resumed, whole)


@each_configuration
def test_a_pickle_between_two_calls_goes_on_with_the_same_bits(documents, lda):
    lda = clone(lda).set_params(total_samples=120)
    whole = clone(lda).partial_fit(documents).partial_fit(documents)
    resumed = pickle.loads(pickle.dumps(lda.partial_fit(documents)))
    assert_same_state(resumed.partial_fit(documents), whole)
    np.testing.assert_array_equal(
        copy.deepcopy(whole).transform(documents), whole.transform(documents)
    )


# -- warm start ------------------------------------------------------------------------


@each_configuration
def test_warm_start_finishes_an_interrupted_plan(documents, lda):
    lda = clone(lda)
    whole = clone(lda).fit(documents)
    with warnings_of_an_early_end():
        lda.set_callbacks(StopAt(1)).fit(documents)
    assert lda.n_iter_ == 1
    lda.set_callbacks().set_params(warm_start=True).fit(documents)
    assert_same_state(lda, whole)


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


def test_without_warm_start_fit_starts_anew(documents):
    lda = lda_of().fit(documents)
    first = copy.deepcopy(lda)
    assert_same_state(lda.fit(documents), first)
    assert_same_state(lda_of(warm_start=True).fit(documents), first)


def test_warm_start_with_other_rows(documents):
    lda = lda_of(warm_start=True, learning_rate=0.5).fit(documents[:60])
    lda.fit(documents)
    assert lda.n_iter_ == 10
    assert lda.n_samples_seen_ == 5 * 60 + 5 * 120
    lda.partial_fit(documents[:30])
    assert lda.history_["passes"][-1] == lda.n_samples_seen_ / 150


# -- Ctrl-C ----------------------------------------------------------------------------


def press_ctrl_c():
    """Send a signal to the main thread, from any thread."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def ctrl_c_after(seconds):
    timer = threading.Timer(seconds, press_ctrl_c)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


class PressingAt(Schedule):
    """Ctrl-C arrives while step ``t`` is under way."""

    def __init__(self, t):
        self.t = t

    def __call__(self, t):
        if t == self.t:
            press_ctrl_c()
        return SCHEDULE(t)

    def settles_at(self):
        return SCHEDULE.settles_at()


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
    assert_same_state(lda.fit(documents), whole)


def test_ctrl_c_at_any_time(documents):
    # long enough for signals to come in time
    documents = sparse.vstack([documents] * 8, format="csr")
    whole = lda_of().fit(documents)
    begin = time.perf_counter()
    lda_of().fit(documents)
    duration = time.perf_counter() - begin
    interrupted = 0
    for delay in np.linspace(0.05, 0.95, 25) * duration:
        lda = lda_of(warm_start=True)
        try:
            with ctrl_c_after(delay):
                lda.fit(documents)
        except KeyboardInterrupt:
            interrupted += 1
        if hasattr(lda, "components_"):
            assert_usable(lda, documents)
        if not hasattr(lda, "n_iter_") or lda.n_iter_ < 5:
            assert_same_state(lda.fit(documents), whole)
    assert interrupted > 5


@pytest.fixture(scope="module")
def endless():
    """An estimator whose local step on one long document takes an hour."""
    lda = lda_of(
        max_doc_update_iter=10**9, mean_change_tol=0.0, batch_size=1, warm_start=True
    )
    return lda, np.random.default_rng(0).poisson(3, (1, 20_000)).astype(float)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("method", ["fit", "partial_fit", "transform", "score"])
def test_ctrl_c_within_a_long_kernel(endless, n_jobs, method):
    lda, X = endless
    lda = clone(lda).set_params(n_jobs=n_jobs, max_doc_update_iter=1, max_iter=20)
    lda.fit(X)
    before = lda.components_
    lda.set_params(max_doc_update_iter=10**9)
    begin = time.perf_counter()
    with pytest.raises(KeyboardInterrupt), ctrl_c_after(0.15):
        getattr(lda, method)(X)
    assert time.perf_counter() - begin < 2
    np.testing.assert_array_equal(lda.components_, before)
    assert not [t for t in threading.enumerate() if t.name.startswith("sktemper")]
    assert_usable(lda.set_params(max_doc_update_iter=1), X)


# -- errors ----------------------------------------------------------------------------


class Broken(Exception):
    pass


def breaking_schedule(t):
    if t == 6:
        raise Broken
    return SCHEDULE(t)


class BreakingAt(StopAt):
    def at_pass(self, estimator, fitted_estimator):
        if estimator.n_iter_ == self.n_passes:
            raise Broken


@pytest.mark.parametrize("where", ["schedule", "callback", "negative temperature"])
def test_an_error_in_what_the_user_gave_leaves_the_last_complete_step(documents, where):
    lda, steps, error = lda_of(warm_start=True), 6, Broken
    if where == "schedule":
        lda.set_params(schedule=breaking_schedule)
    elif where == "callback":
        lda.set_callbacks(BreakingAt(2))
        steps = 8
    else:
        lda.set_params(schedule=lambda t: SCHEDULE(t) if t < 6 else -1.0)
        error = ValueError
    with pytest.raises(error):
        lda.fit(documents)
    assert lda.n_batch_iter_ == steps
    assert_usable(lda, documents)
    lda.set_callbacks().set_params(schedule=SCHEDULE).fit(documents)
    assert_same_state(lda, lda_of().fit(documents))


def fitted_attributes(lda):
    return {
        name: pickle.dumps(value)
        for name, value in vars(lda).items()
        if name.endswith("_")
    }


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


def test_a_failed_weight_leaves_an_earlier_fit_as_it_was(documents):
    lda = lda_of(warm_start=True).fit(documents)
    before = fitted_attributes(lda)
    for weight in (np.ones(3), np.full(120, -1.0), np.full(120, np.nan)):
        for method in (lda.fit, lda.partial_fit):
            with pytest.raises(ValueError, match="[Ww]eight"):
                method(documents, sample_weight=weight)
    assert fitted_attributes(lda) == before


# -- threads and chunks ----------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
@pytest.mark.parametrize("batch_size", [None, 600])
def test_any_number_of_threads_gives_the_same_bits(many_documents, dtype, batch_size):
    X = many_documents.astype(dtype)
    lda = lda_of(batch_size=batch_size, max_iter=12, learning_rate=0.5)
    one = clone(lda).fit(X)
    for n_jobs in (2, 4, -1):
        many = clone(lda).set_params(n_jobs=n_jobs).fit(X)
        assert_same_state(one, many)
        for method in ("transform", "score_samples", "score", "lower_bound"):
            expected = getattr(one, method)(X)
            np.testing.assert_array_equal(getattr(many, method)(X), expected)


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
@pytest.mark.parametrize("method", ["transform", "score_samples"])
def test_any_chunks_give_the_same_bits(many_documents, method, dtype):
    X = many_documents.astype(dtype)
    lda = lda_of(learning_rate=0.5).fit(X)
    function = getattr(lda, method)
    expected = function(X)
    np.testing.assert_array_equal(function(X[[300]]), expected[[300]])
    for size in (40, 256, 500):
        parts = [function(X[i : i + size]) for i in range(0, X.shape[0], size)]
        np.testing.assert_array_equal(np.concatenate(parts), expected)
    order = np.random.default_rng(0).permutation(X.shape[0])
    np.testing.assert_array_equal(function(X[order]), expected[order])


def test_a_fitted_model_may_be_used_from_many_threads(many_documents):
    lda = lda_of(learning_rate=0.5).fit(many_documents)
    results = [None] * 4

    def work(i):
        results[i] = lda.transform(many_documents), lda.score_samples(many_documents)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for doc_topic, scores in results:
        np.testing.assert_array_equal(doc_topic, results[0][0])
        np.testing.assert_array_equal(scores, results[0][1])


# -- warnings --------------------------------------------------------------------------


def warnings_of_an_early_end():
    return pytest.warns(ConvergenceWarning)


@pytest.mark.parametrize(
    ("schedule", "remedies"),
    [
        (LinearSchedule(3, 1, 1000), ["max_iter", "length"]),
        (ConstantSchedule(2.5), ["let it stop at 1"]),
        (lambda t: 2.5, ["max_iter", "length"]),
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
    assert caught[0].filename == __file__  # points at the call


def test_a_fit_that_keeps_its_start_warns(documents):
    lda = lda_of(TemperedLDA, tempering=None, learning_rate=RobbinsMonro(offset=1024))
    left = np.prod([1 - RobbinsMonro(offset=1024)(t) for t in range(1, 21)])
    with pytest.warns(ConvergenceWarning, match=f"{left:.0%} of the start") as caught:
        lda.fit(documents)
    assert "offset" in str(caught[0].message)
    assert caught[0].filename == __file__
    lda.set_params(learning_rate=RobbinsMonro(offset=2)).fit(documents)  # does not


def test_the_best_state_is_the_model_and_nothing_else(documents):
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
    assert lda.n_iter_ == stopped + 2  # the plan was over, not interrupted


@pytest.mark.parametrize("tempering", ["global", "local", None])
def test_policies_may_change_between_calls(documents, tempering):
    lda = lda_of(TemperedLDA, tempering="local").fit(documents)
    lda.set_params(tempering=tempering, learning_rate=AdaptiveRate())
    lda.partial_fit(documents)
    assert np.isfinite(lda.transform(documents)).all()
    assert lda.learning_rate_.metric == "fisher"


def test_early_stopping_says_if_it_had_nothing_to_compare(documents):
    lda = lda_of(schedule=ConstantSchedule(1.5), n_iter_no_change=1)
    with pytest.warns(ConvergenceWarning) as caught:
        lda.fit(documents)
    assert any("nothing to compare" in str(warning.message) for warning in caught)


def test_noise_that_never_acts_is_told(documents):
    lda = lda_of(TemperedLDA, tempering=None, gradient_noise=SVIPlusNoise(1000))
    with pytest.warns(ConvergenceWarning, match="effective batch size"):
        lda.fit(documents)

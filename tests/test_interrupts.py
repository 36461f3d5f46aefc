"""Ctrl-C at fixed moments: the state after it, and no work that continues.

``.ci/attack`` interrupts calls at random moments.
"""

import contextlib
import copy
import itertools
import signal
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from fits import (
    Broken,
    data_of,
    factorization_of,
    fitted_model,
    lda_of,
    mixture_of,
    press_ctrl_c,
    with_models,
)
from scipy import sparse
from sklearn.base import clone

from sktemper import AnnealedGaussianMixture, AnnealedLDA
from sktemper._engine import _workers
from sktemper._engine._data import cuts
from sktemper._engine._workers import InlineWorkers, Workers, run_undisturbed
from sktemper._utils import _tasks
from sktemper._utils._tasks import Task
from sktemper.moves import BirthMoves
from sktemper.schedules import LinearSchedule

WHILE = 5.0  # largest waiting time in seconds


def until(condition):
    """Wait until a condition holds; return whether it did in time."""
    end = time.monotonic() + WHILE
    while not condition() and time.monotonic() < end:
        time.sleep(1e-3)
    return condition()


# -- workers ---------------------------------------------------------------------------


@pytest.mark.parametrize("n_threads", [1, 2])
def test_calls_that_have_not_begun_are_cancelled(n_threads):
    stop, begun = np.zeros(1, dtype=np.intc), []

    def task(shared, part, number):
        begun.append(number)
        if number == n_threads - 1:
            press_ctrl_c()
        assert until(lambda: stop[0])

    with pytest.raises(KeyboardInterrupt), Workers(n_threads, stop) as workers:
        list(workers.map(task, None, [(None, range(8))]))
    assert sorted(begun) == list(range(n_threads))
    assert not stop[0]


@pytest.mark.parametrize("error", [KeyboardInterrupt, Broken])
def test_an_error_of_the_caller_stops_the_tasks(error):
    stop, stopped = np.zeros(1, dtype=np.intc), []

    def task(shared, part, number):
        if number > 0:
            stopped.append(until(lambda: stop[0]))

    with pytest.raises(error), Workers(2, stop) as workers:
        steps = workers.map(task, None, [(None, range(8))])
        next(steps)
        raise error
    assert all(stopped)
    assert len(stopped) <= 2
    assert not stop[0]


def test_a_task_submitted_during_an_interrupt_is_stopped():
    stop, stopped = np.zeros(1, dtype=np.intc), []

    def task(shared, part, number):
        stopped.append(until(lambda: stop[0]))

    with pytest.raises(KeyboardInterrupt), Workers(1, stop) as workers:
        submit = workers._pool.submit

        def interrupted(*arguments):
            submit(*arguments)
            raise KeyboardInterrupt  # before the task is registered

        workers._pool.submit = interrupted
        list(workers.map(task, None, [(None, range(3))]))
    assert stopped in ([], [True])


@pytest.mark.parametrize("n_threads", [1, 2])
def test_no_call_in_the_calling_thread_begins_after_ctrl_c(n_threads):
    stop, begun = np.zeros(1, dtype=np.intc), []

    def task(shared, part, number):
        begun.append(number)
        if number == 1:
            press_ctrl_c()
            assert until(lambda: stop[0])

    def everything(workers):
        return list(workers.map(task, None, [(None, range(8))]))

    with pytest.raises(KeyboardInterrupt), Workers(n_threads, stop) as workers:
        workers.call_with_workers(everything, 1)
    assert begun == [0, 1]
    assert not stop[0]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_function_that_failed_can_be_called_again(n_threads):
    """Threads share its tasks if there are several threads and several tasks."""
    stop = np.zeros(1, dtype=np.intc)

    def broken(workers):
        raise Broken

    def numbers(shared, part, number):
        return part * number, threading.get_ident()

    def everything(workers):
        groups = [(0.1, range(3)), (0.7, range(2))]
        return workers, list(workers.map(numbers, None, groups))

    with Workers(n_threads, stop) as workers:
        with pytest.raises(Broken):
            workers.call_with_workers(broken, 1)
        assert not stop[0]
        _, alone = workers.call_with_workers(everything, 1)
        who, shared = workers.call_with_workers(everything, 5)
    assert (who is workers) == (n_threads == 2)
    assert [value for value, _ in alone] == [value for value, _ in shared]
    assert len({ident for _, ident in alone} - {threading.get_ident()}) == 1


@pytest.mark.parametrize("n_threads", [1, 2])
def test_two_threads_compute_at_the_same_time(n_threads):
    at_work, most = [], []

    def task(shared, part, number):
        at_work.append(number)
        if n_threads == 2:  # without a second thread this waits, and the test fails
            assert number < 2 or until(lambda: most or len(at_work) > 1)
        most.extend([len(at_work)] * (len(at_work) > 1))
        time.sleep(1e-3)
        at_work.remove(number)
        return number

    with Workers(n_threads, np.zeros(1, dtype=np.intc)) as workers:
        assert list(workers.map(task, None, [(None, range(12))])) == [*range(12)]
    assert bool(most) == (n_threads == 2)


def test_sizes_decide_which_blocks_threads_share():
    """The time that an earlier call took does not matter."""
    random = np.random.default_rng(0)

    def n_threads(mixture, X):
        mixture.set_params(max_iter=1).fit(X)
        with mixture._fitted_problem(X) as problem:
            return getattr(problem.workers, "n_threads", 1)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small, large = (
            AnnealedGaussianMixture(n_components, moves=None, n_jobs=2)
            for n_components in (2, 50)
        )
        X = random.normal(size=(3000, 8))
        assert n_threads(small, X) == 1
        assert n_threads(large, X) == 2
        assert n_threads(large, X[:200]) == 1  # one short block
        texts = sparse.csr_array(random.poisson(1.0, (3000, 60)))
        assert [n_threads(AnnealedLDA(k, n_jobs=2), texts) for k in (2, 20)] == [1, 2]


def test_blocks_are_even():
    for n_rows, size in itertools.product(
        [0, 1, 31, 32, 33, 100, 127, 128, 150, 850, 1025, 6000], [1, 16, 100, 256, 1024]
    ):
        pieces = list(cuts(n_rows, size))
        rows = [n for piece in pieces for n in range(piece.start, piece.stop)]
        assert rows == list(range(n_rows))
        lengths = [piece.stop - piece.start for piece in pieces]
        assert max(lengths, default=0) <= size
        assert len(set(lengths[:-1])) <= 1
        if len(lengths) == 1:
            assert n_rows <= size
        elif n_rows > 16 * len(lengths) ** 2:  # large enough to ignore rounding
            assert len(lengths) % 2 == 0
            assert lengths[-1] > lengths[0] - 16 * len(lengths)


@pytest.mark.parametrize("in_thread", [False, True])
@pytest.mark.parametrize("workers", [Workers, InlineWorkers])
def test_a_commit_is_complete_after_repeated_ctrl_c(monkeypatch, workers, in_thread):
    done = []

    def commit():
        for number in range(3):
            press_ctrl_c()
            time.sleep(0.03)
            done.append(number)

    if in_thread:
        monkeypatch.setattr(_workers, "run_undisturbed", lambda function: False)
    with workers(1, np.zeros(1, dtype=np.intc)) as workers:
        with pytest.raises(KeyboardInterrupt):
            workers.run_whole(commit)
        assert done == [0, 1, 2]


def test_a_commit_during_an_interrupt_is_complete_or_absent(monkeypatch):
    monkeypatch.setattr(_workers, "run_undisturbed", lambda function: False)
    done = []

    def commit():
        done.append("begun")
        time.sleep(0.05)
        done.append("ended")

    with Workers(1, np.zeros(1, dtype=np.intc)) as workers:
        submit = workers._pool.submit

        def interrupted(*arguments):
            submit(*arguments)
            until(lambda: done)
            raise KeyboardInterrupt

        workers._pool.submit = interrupted
        with pytest.raises(KeyboardInterrupt):
            workers.run_whole(commit)
        assert done == ["begun", "ended"]


def test_ctrl_c_at_any_instruction_leaves_a_commit_complete_or_absent():
    before, handler = sys.gettrace(), signal.getsignal(signal.SIGINT)
    room = run_undisturbed.__code__.co_filename

    for moment in itertools.count(1):
        count, done = 0, []

        def trace(frame, event, _, moment=moment):
            nonlocal count
            if frame.f_code.co_filename not in (room, __file__):
                return None
            frame.f_trace_opcodes = True
            count += event in ("line", "opcode")
            if count == moment:
                count += 1
                press_ctrl_c()
            return trace

        def commit(done=done):
            done.append("begun")
            done.append("ended")

        pressed = False
        try:
            sys.settrace(trace)
            run_undisturbed(commit)
            sys.settrace(before)
        except KeyboardInterrupt:
            pressed = True
        finally:
            sys.settrace(before)
        assert done == ["begun", "ended"] or (pressed and not done)
        assert signal.getsignal(signal.SIGINT) is handler
        if not pressed and count < moment:
            break
    assert moment > 50


def test_signals_wait_for_a_call_only_if_they_can_be_restored_together():
    called = []
    with two_handlers():
        assert not run_undisturbed(lambda: called.append("two"))
    assert run_undisturbed(lambda: called.append("one"))
    thread = threading.Thread(
        target=lambda: run_undisturbed(lambda: called.append("another thread"))
    )
    with two_handlers():
        thread.start()
        thread.join()
    assert called == ["one", "another thread"]


@contextlib.contextmanager
def two_handlers():
    """Install a Python handler of another signal in addition to that of Ctrl-C."""
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def test_an_error_of_a_commit_is_raised():
    with Workers(1, np.zeros(1, dtype=np.intc)) as workers, pytest.raises(Broken):
        workers.run_whole(lambda: (_ for _ in ()).throw(Broken))


def test_the_calling_thread_looks_for_ctrl_c_many_times_a_second(monkeypatch):
    """Without polling, a signal just before the thread sleeps would not wake it up."""
    task, waits = Task(lambda: "done"), []

    def wait(queue):
        waits.append(queue)
        if len(waits) == 5:
            task.run()

    monkeypatch.setattr(_tasks, "_wait_for", wait)
    assert task.result() == "done"
    assert len(waits) == 5
    assert _tasks.LONGEST_SLEEP <= 0.05


def test_an_error_of_a_task_is_raised_by_each_request():
    task = Task(lambda: (_ for _ in ()).throw(TimeoutError("own")))
    task.run()
    for _ in range(2):
        with pytest.raises(TimeoutError, match="own"):
            task.result()


def test_a_task_is_made_or_cancelled():
    made, task = [], Task(lambda: made.append(1))
    assert task.cancel() and task.cancel()
    task.run()
    assert not made and not task.done()
    task = Task(lambda: made.append(1))
    task.run()
    task.run()
    assert made == [1] and not task.cancel()


def test_ctrl_c_at_any_moment_causes_no_deadlock():
    """Ctrl-C comes before each instruction of the calling thread's Python code in turn.

    With `concurrent.futures`, some instructions would leave a lock locked forever.
    """
    stop, rooms = np.zeros(1, dtype=np.intc), ("_engine", "threading", "concurrent")
    undisturbed = run_undisturbed.__name__, _workers._handlers.__name__
    before = sys.gettrace()

    def work(workers):
        workers.run_whole(lambda: None)
        return list(workers.map(lambda *call: call[-1], None, [(None, range(3))]))

    for moment in itertools.count(1):
        count = 0

        def trace(frame, event, _, moment=moment):
            nonlocal count
            file, name = frame.f_code.co_filename, frame.f_code.co_name
            # a signal waits while it has no handler, unlike the error below
            if name in undisturbed or not any(room in file for room in rooms):
                return None
            frame.f_trace_opcodes = True
            count += event in ("line", "opcode")  # Python 3.12.1 traces only lines
            if count == moment:
                count += 1
                raise KeyboardInterrupt
            return trace

        pool = None
        try:
            with Workers(2, stop) as workers:
                pool = workers._pool
                sys.settrace(trace)
                answer = work(workers)
                sys.settrace(before)
            break
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
            stop[0] = 0
        assert not pool._alive
    assert answer == [0, 1, 2]
    assert moment > 100


# -- estimators ------------------------------------------------------------------------


def gaussian_of(**parameters):
    schedule = LinearSchedule(start=3, length=8)
    defaults = {"schedule": schedule, "batch_size": 30, "max_iter": 5}
    defaults |= {"moves": None, "tol": 0.0}
    return AnnealedGaussianMixture(3, random_state=0, **defaults | parameters)


ESTIMATORS = {
    "lda": lda_of(),
    "validated lda": lda_of(n_iter_no_change=50, shuffle=False),
    "factorial mixture": mixture_of(),
    "moves": mixture_of(batch_size=None, max_iter=12, moves=BirthMoves(n_moves=3)),
    "gaussian mixture": gaussian_of(),
    "matrix factorization": factorization_of(),
    "validated factorization": factorization_of(evaluate_every=1),
}
each_estimator = pytest.mark.parametrize("name", ESTIMATORS)
each_model = pytest.mark.parametrize(
    "name", ["lda", "factorial mixture", "gaussian mixture", "matrix factorization"]
)


def watched(estimator, n_jobs, before_block):
    """Return an unfitted copy that calls ``before_block(n)`` before its n-th block."""
    estimator = clone(estimator).set_params(n_jobs=n_jobs, warm_start=True)
    lock, count = threading.Lock(), 0

    def change(model):
        take = model.take

        def taking(*arguments):
            nonlocal count
            with lock:
                count += 1
            before_block(count)
            return take(*arguments)

        model.take = taking

    return with_models(estimator, change)


def state_of(estimator):
    """Return a dict of everything that a step changes."""
    state = estimator.state_
    model = fitted_model(estimator)
    return {
        "counters": (
            state.progress.steps,
            state.progress.samples,
            state.progress.passes,
            state.moves.n_proposed,
            state.plain_is_better,
        ),
        "globals": model.natural_parameters(state.globals_),
        "hyper": copy.deepcopy(state.hyper),
    }


def assert_same_end(one, other):
    for name in ("globals", "counters"):
        np.testing.assert_equal(state_of(one)[name], state_of(other)[name])
    assert repr(one.state_.hyper) == repr(other.state_.hyper)
    for name in one.history_.keys() - {"seconds", "move_seconds"}:
        np.testing.assert_equal(one.history_[name], other.history_[name])


def whole_fit(estimator, X):
    """Return a fit, a dict from counters to its states, and its number of blocks."""
    states, blocks = {}, []
    whole = watched(estimator, 1, blocks.append)

    def noting(run_whole):
        """Return ``run_whole`` of workers, which also notes the state of a commit."""

        def run_and_note(*arguments):
            run_whole(*arguments)
            if hasattr(whole, "state_"):
                state = state_of(whole)
                states[state["counters"]] = state

        return run_and_note

    with pytest.MonkeyPatch.context() as patch:
        for kind in Workers, InlineWorkers:
            patch.setattr(kind, "run_whole", noting(kind.run_whole))
        whole.fit(X)
    return whole, states, len(blocks)


@pytest.mark.every(17)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_jobs", [1, 2])
@each_estimator
def test_ctrl_c_in_a_fit_leaves_a_state_of_the_whole_fit(name, n_jobs):
    X = data_of(ESTIMATORS[name])
    whole, states, n_blocks = whole_fit(ESTIMATORS[name], X)
    for moment in np.linspace(1, n_blocks, 6).astype(int):
        estimator = watched(
            ESTIMATORS[name], n_jobs, lambda n, at=moment: n == at and press_ctrl_c()
        )
        with pytest.raises(KeyboardInterrupt):
            estimator.fit(X)
            until(lambda: False)
        if hasattr(estimator, "state_"):
            left, state = state_of(estimator), estimator.state_
            np.testing.assert_equal(
                left["globals"], states[left["counters"]]["globals"]
            )
            assert repr(left["hyper"]) == repr(states[left["counters"]]["hyper"])
            assert np.isfinite(estimator.score(X))
            if not (
                state.progress.passes < state.progress.planned_passes
                or any(state.moves.left)
            ):
                continue  # after the last step, a continued fit would add passes
        assert_same_end(estimator.fit(X), whole)


@each_model
def test_a_chunk_of_few_rows_needs_no_thread(monkeypatch, name):
    X = data_of(ESTIMATORS[name])
    shared = clone(ESTIMATORS[name]).set_params(total_samples=240).partial_fit(X)
    here = copy.deepcopy(shared)
    monkeypatch.setattr(type(shared), "_inline_limits", lambda _: (0, 0))
    for start in range(0, 20, 4):
        shared.partial_fit(X[start : start + 4])
    monkeypatch.undo()
    monkeypatch.setattr(_workers.Pool, "submit", None)
    for start in range(0, 20, 4):
        here.partial_fit(X[start : start + 4])
    assert_same_end(here, shared)


def test_a_fit_by_short_ascents_needs_no_thread(monkeypatch):
    monkeypatch.setattr(_workers.Pool, "submit", None)
    monkeypatch.setattr(AnnealedGaussianMixture, "_new_model", None)  # it is kept
    X = np.random.RandomState(0).normal(size=(60, 2))
    assert len(AnnealedGaussianMixture(3, n_jobs=2).fit(X).means_) == 3

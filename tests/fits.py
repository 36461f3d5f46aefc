"""Small estimators of every model, their data, and comparisons of fits."""

import contextlib
import functools
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from sktemper import AnnealedFactorialMixture, AnnealedLDA, AnnealedMatrixFactorization
from sktemper._simd import special
from sktemper.datasets import make_lda_documents
from sktemper.learning_rates import AdaptiveRate, ConstantRate, RobbinsMonro
from sktemper.noise import SVIPlusNoise
from sktemper.schedules import LinearSchedule, Schedule
from sktemper.tempering import Annealing, GlobalTempering, LocalTempering

SCHEDULE = LinearSchedule(start=3, length=8)
N_PASSES, N_STEPS = 5, 4  # passes of a fit, and steps of a pass

#: Every policy, for tests of combinations.
TEMPERINGS = [
    None,
    Annealing(target="local_step"),
    Annealing(target="likelihood"),
    Annealing(target="posterior"),
    GlobalTempering(n_temperatures=20),
    GlobalTempering(n_temperatures=20, target="likelihood", cap=None),
    LocalTempering(n_temperatures=20),
]
RATES = [
    RobbinsMonro(),
    ConstantRate(0.2),
    AdaptiveRate("fisher", n_warmup_batches=3),
    AdaptiveRate("identity", n_warmup_batches=3),
]
NOISES = [None, SVIPlusNoise(0.3), SVIPlusNoise(0.3, "gaussian")]


def lda_of(cls=AnnealedLDA, **parameters):
    """An LDA whose fit to `documents_of` takes milliseconds."""
    return _estimator_of(cls, AnnealedLDA, 4, parameters)


def mixture_of(cls=AnnealedFactorialMixture, **parameters):
    """A factorial mixture, by default without moves, for short fits to `samples_of`."""
    return _estimator_of(cls, AnnealedFactorialMixture, 3, {"moves": None} | parameters)


def factorization_of(cls=AnnealedMatrixFactorization, **parameters):
    """A matrix factorization with a fast fit to `ratings_of`."""
    return _estimator_of(cls, AnnealedMatrixFactorization, 3, parameters)


def _estimator_of(cls, annealed, n_components, parameters):
    if issubclass(cls, annealed):
        parameters = {"schedule": SCHEDULE, **parameters}
    defaults = {"batch_size": 30, "max_iter": N_PASSES, "random_state": 0}
    return cls(n_components, **{**defaults, **parameters})


def _read_only(X):
    assert X.has_canonical_format
    for part in (X.data, X.indices, X.indptr):
        part.flags.writeable = False
    return X


@functools.cache
def documents_of(n_samples=120):
    """Word counts, a read-only CSR matrix of int32 in canonical format."""
    length, seed = (30, 0) if n_samples == 120 else (15, 1)
    X = make_lda_documents(n_samples, 60, 4, doc_length=length, random_state=seed)
    return _read_only(X)


@functools.cache
def samples_of(n_samples=120):
    """Sums of three overlapping features and noise; read-only."""
    random = np.random.default_rng(0)
    shapes = np.array([[1, 1, 0, 0, 0, 0], [0, 1, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1]])
    shapes = shapes * random.uniform(0.5, 1, (3, 1))
    features = random.random((n_samples, 3)) < 0.4
    X = features @ shapes + 0.1 * random.normal(size=(n_samples, 6))
    X.flags.writeable = False
    return X


@functools.cache
def ratings_of(n_samples=120, n_features=15):
    """Ratings of half of the pairs: two factors, biases and noise; read-only CSR."""
    random = np.random.default_rng(0)
    users = random.normal(size=(n_samples, 2))
    X = 3 + users @ random.normal(size=(2, n_features)) + random.normal(size=n_features)
    X += random.normal(0, 0.7, (n_samples, 1)) + random.normal(0, 0.3, X.shape)
    known = random.random(X.shape) < 0.5
    known[5] = False
    X = sparse.csr_array((X[known], np.nonzero(known)), shape=X.shape)
    return _read_only(X)


@functools.cache
def clicks_of(n_samples=120, n_features=15):
    """Counts of choices by users with three tastes; a read-only CSR matrix of int32."""
    random = np.random.default_rng(0)
    same = np.arange(n_samples)[:, None] % 3 == np.arange(n_features) % 3
    X = random.poisson(np.where(same, 0.9, 0.1))
    X[5] = 0
    X = sparse.csr_array(X.astype(np.int32))
    return _read_only(X)


LETTERS = """
#### #... .... ...# #..# .##. .... ....
.... #... ..## ...# #..# .##. ##.. .##.
.... #... ..## .### .... .... ##.. .##.
.... ##.. ..## ...# .... #### .... ....
"""


def overlapping_shapes(n_samples, seed=0):
    """Return sums of eight 4 x 4 shapes, the shapes, and a mask (samples, shapes)."""
    lines = [line.split() for line in LETTERS.split("\n") if line]
    shapes = np.array([[list(part) for part in line] for line in lines]) == "#"
    shapes = shapes.transpose(1, 0, 2).reshape(8, 16)
    random = np.random.default_rng(seed)
    shapes = shapes * random.uniform(0.5, 1, shapes.shape)
    features = random.random((n_samples, 8)) < 0.3
    X = features @ shapes + 0.1 * random.normal(size=(n_samples, 16))
    return X, shapes, features


def data_of(estimator, many=False):
    """Data for an estimator, from its row of the registry; ``many``: three blocks."""
    from registry import ROWS  # here, because the registry imports this module

    row = ROWS[model_of(estimator)]
    return row.data(row.n_many if many else 120)


def model_of(estimator):
    """The name of an estimator's row: the class name without Tempered or the like."""
    return re.sub("^(Tempered|Annealed|SVIPlus)", "", type(estimator).__name__)


# -- models of estimators, which a user does not see -----------------------------------


def fitted_model(estimator):
    """Return the model of a fitted estimator."""
    return estimator._fitted_model()


def new_model(estimator, n_features, dtype=np.float64):
    """Return a model with the parameters of an estimator, which need not be fitted."""
    return estimator._make_model(estimator._settings(), n_features, np.dtype(dtype))


def changed_models(cls, change):
    """Return the method of an estimator that makes models, with a change of each."""
    make = cls._make_model

    def made(*arguments):
        model = make(*arguments)
        change(model)
        return model

    return {"_make_model": staticmethod(made)}


def with_models(estimator, change):
    """Let an estimator, and its clones, call ``change`` with each model they make."""
    cls = type(estimator)
    estimator.__class__ = type(cls.__name__, (cls,), changed_models(cls, change))
    return estimator


# -- comparisons -----------------------------------------------------------------------


def assert_same_fit(one, other):
    """Assert that two fits have the same bits, except their times.

    A fit that continues another by ``warm_start`` counts only its own passes.
    """
    vectors = [
        fitted_model(fitted).natural_parameters(fitted.state_.globals_)
        for fitted in (one, other)
    ]
    np.testing.assert_array_equal(*vectors)
    assert one.history_.keys() == other.history_.keys()
    for name in one.history_.keys() - {"seconds", "move_seconds"}:
        np.testing.assert_array_equal(one.history_[name], other.history_[name])
    for name in ("n_batch_iter_", "n_samples_seen_", "temperature_"):
        assert getattr(one, name) == getattr(other, name)
    assert one.warm_start or other.warm_start or one.n_iter_ == other.n_iter_
    for name in ("tempering_", "learning_rate_", "gradient_noise_", "batch_size_"):
        assert repr(getattr(one, name)) == repr(getattr(other, name))


def peak_of(function, *arguments, **options):
    """Return the most bytes that a call has allocated at a time, and its result."""
    tracemalloc.start()
    try:
        result = function(*arguments, **options)
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


# -- objects of users ------------------------------------------------------------------


class Cdf:
    """A distribution with only the method cdf."""

    def __init__(self, cdf):
        self.cdf = cdf


# -- errors and interruptions ----------------------------------------------------------


class Broken(Exception):
    """An exception of a user's own code."""


class Hooks:
    """A callback that runs a function at the end of each pass, and of each move."""

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        if context.task_name == "pass":
            return self.at_pass(estimator, fitted_estimator)
        if context.task_name == "move":
            return self.at_move(estimator, fitted_estimator)

    def at_pass(self, estimator, fitted_estimator):
        pass

    def at_move(self, estimator, fitted_estimator):
        pass


class Recorder:
    """Callback that records its calls; ``at_pass(i)`` returns whether to stop."""

    def __init__(self, at_pass=lambda i: False):
        self.at_pass = at_pass
        self.events, self.n_passes, self.max_subtasks = [], [], None

    def setup(self, estimator, context):
        self.events.append(("setup", context.task_name, context.task_id))
        self.max_subtasks = context.max_subtasks

    def teardown(self, estimator, context):
        self.events.append(("teardown", context.task_name, context.task_id))

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        self.events.append(("end", context.task_name, context.task_id))
        np.testing.assert_array_equal(
            estimator.components_, fitted_estimator.components_
        )
        if context.task_name == "pass":
            self.n_passes.append(estimator.n_iter_)
            return self.at_pass(context.task_id)
        self.copy = fitted_estimator


class StopAt(Hooks):
    """A callback that ends a fit after some passes, or raises an error there."""

    def __init__(self, n_passes=1, error=None):
        self.n_passes, self.error = n_passes, error

    def at_pass(self, estimator, fitted_estimator):
        if estimator.n_iter_ == self.n_passes and self.error is not None:
            raise self.error
        return estimator.n_iter_ == self.n_passes


class StopAtMove(Hooks):
    """A callback that ends a fit after some moves of the call, or raises an error."""

    def __init__(self, n_moves=1, error=None):
        self.n_moves, self.error = n_moves, error

    def at_move(self, estimator, fitted_estimator):
        self.n_moves -= 1
        if self.n_moves == 0 and self.error is not None:
            raise self.error
        return self.n_moves == 0


class Snapshots(Hooks):
    """A callback that pickles an estimator, and the copy it gets, after some passes."""

    def __init__(self, n_passes):
        self.n_passes = n_passes

    def at_pass(self, estimator, fitted_estimator):
        if estimator.n_iter_ == self.n_passes:
            self.dumps = [pickle.dumps(estimator), pickle.dumps(fitted_estimator)]


def press_ctrl_c():
    """Send a signal to the main thread, from any thread."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


class PressingAt(Schedule):
    """A schedule that sends Ctrl-C during step ``t``."""

    def __init__(self, t, schedule=SCHEDULE):
        self.t = t
        self.schedule = schedule

    def __call__(self, t):
        if t == self.t:
            press_ctrl_c()
        return self.schedule(t)

    def check_values(self, *_):
        """Check nothing: the plan of a fit presses no keys."""

    def settles_at(self):
        return self.schedule.settles_at()


@contextlib.contextmanager
def ctrl_c_after(seconds):
    """Context manager that sends Ctrl-C once, unless its block ends earlier."""
    timer = threading.Timer(seconds, press_ctrl_c)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def python_on(instruction_set, *arguments):
    """Run Python in a process with an instruction set; skip the test if it is missing.

    Returns
    -------
    done : subprocess.CompletedProcess
    """
    done = subprocess.run(
        [sys.executable, "-P", *arguments],
        env={**os.environ, "SKTEMPER_SIMD": instruction_set},
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
    )
    if "no instruction set of this machine" in done.stdout + done.stderr:
        pytest.skip(f"this machine lacks {instruction_set}")
    return done


def assert_passes_on(instruction_set, *arguments):
    """Run pytest with another instruction set than this process, and assert success."""
    if instruction_set == special.instruction_set:
        pytest.skip("all other tests use this instruction set")
    options = "-m", "pytest", "-q", "-p", "no:cacheprovider"
    done = python_on(instruction_set, *options, *arguments)
    assert done.returncode == 0, done.stdout[-3000:]

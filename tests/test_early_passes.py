"""Passes above T=1 over large data use a random part of the rows."""

import numpy as np
import pytest
from fits import StopAt
from test_parts import parts_of

from sktemper import (
    AnnealedBernoulliMixture,
    AnnealedFactorialMixture,
    AnnealedGaussianMixture,
)
from sktemper._engine import _passes
from sktemper.schedules import ConstantSchedule, ExponentialSchedule

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
N_ROWS, N_EARLY, N_HOT = 600, 75, 30


@pytest.fixture(autouse=True)
def few_rows_are_many(monkeypatch):
    monkeypatch.setattr(_passes, "FEWEST_EARLY", 20)


@pytest.fixture(scope="module")
def X():
    random = np.random.default_rng(0)
    centres = 5.0 * random.normal(size=(3, 2))
    return centres[np.arange(N_ROWS) % 3] + random.normal(size=(N_ROWS, 2))


def mixture(**parameters):
    return AnnealedGaussianMixture(
        4, covariance_type="full", random_state=0, **parameters
    )


def test_passes_above_one_use_a_share_of_the_rows(X, monkeypatch):
    fitted = mixture().fit(X)
    history = fitted.history_
    hot = history["temperature"] > 1
    assert hot[:N_HOT].all() and not hot[N_HOT:].any()
    rows = np.diff(history["passes"], prepend=0.0) * N_ROWS
    np.testing.assert_allclose(rows, np.where(hot, N_EARLY, N_ROWS))
    assert fitted.n_iter_ == len(rows)
    exact = {"tol": 1e-7, "max_iter": 1000}
    fitted = mixture(**exact).fit(X)
    monkeypatch.setattr(_passes, "FEWEST_EARLY", N_ROWS)
    whole = mixture(**exact).fit(X)
    assert whole.n_samples_seen_ == N_ROWS * whole.n_iter_
    assert fitted.lower_bound(X) == pytest.approx(whole.lower_bound(X), abs=1e-3)


def test_a_share_has_a_row_for_each_multiplication_of_a_row(X):
    fitted = mixture().set_params(n_components=12).fit(X)
    # of 12 components with 7 natural parameters, for each of 2 columns
    assert fitted.history_["passes"][0] * N_ROWS == pytest.approx(12 * 7 * 2)


@pytest.mark.parametrize("change", [{"batch_size": 200}, {"learning_rate": 0.5}])
def test_a_fit_that_continues_by_other_steps_uses_all_rows(X, change):
    estimator = mixture(warm_start=True).set_callbacks(StopAt(7)).fit(X)
    before = estimator.n_samples_seen_
    estimator.set_params(**change).set_callbacks().fit(X)
    assert estimator.n_samples_seen_ - before == N_ROWS * (estimator.n_iter_ - 7)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_parts_and_threads_use_the_same_rows(X, n_jobs):
    expected, found = mixture().fit(X), mixture(n_jobs=n_jobs)
    found.fit(X if n_jobs > 1 else parts_of(X, 1, 249, 350))
    assert found.n_samples_seen_ == expected.n_samples_seen_
    rtol = 0 if n_jobs > 1 else 1e-6
    np.testing.assert_allclose(found.means_, expected.means_, rtol=rtol)


@pytest.mark.parametrize(
    "case",
    ["ends hot", "time in passes", "labels", "weights", "local parameters", "batches"],
)
def test_all_rows_are_used_where_a_part_would_not_do(X, case):
    parameters, given = {}, {}
    if case == "ends hot":
        parameters["schedule"] = ConstantSchedule(2.0)
    if case == "time in passes":
        parameters["schedule"] = ExponentialSchedule(4.0, length=5, unit="passes")
    if case == "labels":
        given["labels"] = np.where(np.arange(N_ROWS) < 9, np.arange(N_ROWS) % 3, -1)
    if case == "weights":
        given["sample_weight"] = np.where(np.arange(N_ROWS) % 20, 1e-6, 99.0)
    if case == "batches":
        parameters["batch_size"] = 300
    estimator = mixture(max_iter=8, **parameters)
    if case == "local parameters":
        estimator = AnnealedFactorialMixture(2, max_iter=8, random_state=0)
    estimator.fit(X, **given)
    assert estimator.n_samples_seen_ == N_ROWS * estimator.n_iter_


def test_sparse_counts_too():
    X = np.random.default_rng(0).integers(2, size=(N_ROWS, 6)).astype(float)
    fitted = AnnealedBernoulliMixture(2, random_state=0).fit(X)
    assert fitted.n_samples_seen_ < N_ROWS * fitted.n_iter_

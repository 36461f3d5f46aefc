"""Callbacks, evaluation while fitting, early stopping, logs."""

import logging
import pickle
import sys

import numpy as np
import pytest
from fits import SCHEDULE, StopAt, lda_of
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sktemper import TemperedLDA
from sktemper.schedules import ConstantSchedule, LinearSchedule


def test_callbacks_are_pickled_with_their_estimator(documents):
    lda = lda_of().set_callbacks(StopAt(4)).fit(documents)
    again = pickle.loads(pickle.dumps(lda))
    assert again.fit(documents).n_iter_ == 4
    assert clone(again).fit(documents).n_iter_ == 4


# -- scikit-learn's own ----------------------------------------------------------------


@pytest.fixture
def callback():
    reason = "callbacks need scikit-learn 1.9 or later"
    return pytest.importorskip("sklearn.callback", reason=reason)


@pytest.mark.every(5)
@pytest.mark.filterwarnings("ignore:The estimator CountVectorizer does not support")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("in_pipeline", [False, True])
def test_progress_bar_of_a_grid_search(
    documents, texts, n_jobs, in_pipeline, capsys, callback
):
    pytest.importorskip("rich")
    lda, X = lda_of(batch_size=10), documents
    grid = {"schedule__start": [1.5, 4]}
    if in_pipeline:
        lda, X = make_pipeline(CountVectorizer(), lda), texts
        grid = {f"annealedlda__{name}": values for name, values in grid.items()}
    search = GridSearchCV(lda, grid, cv=2, n_jobs=n_jobs, error_score="raise")
    bar = callback.ProgressBar(max_propagation_depth=None)
    search.set_callbacks(bar).fit(X)
    assert np.isfinite(search.best_score_)
    output = capsys.readouterr().out
    assert "GridSearchCV" in output
    assert "AnnealedLDA - fit" in output
    assert "100%" in output


# -- evaluation and early stopping -----------------------------------------------------


def scores_of(lda):
    scored = ~np.isnan(lda.history_["heldout_score"])
    return lda.history_["step"][scored], lda.history_["heldout_score"][scored]


@pytest.mark.parametrize("evaluate_every", [1, 2, 5, 7])
def test_evaluate_every(documents, evaluate_every):
    lda = lda_of(learning_rate=0.4, validation_fraction=0.25)
    quiet = clone(lda).set_params(evaluate_every=100).fit(documents)
    lda.set_params(evaluate_every=evaluate_every).fit(documents)
    assert lda.n_samples_seen_ == 5 * 90  # 30 rows are held out
    assert lda.n_batch_iter_ == 5 * 3
    steps, scores = scores_of(lda)
    assert steps.tolist() == list(range(3 * evaluate_every, 16, 3 * evaluate_every))
    assert len(set(scores)) == len(scores)
    # the evaluation does not change the fit
    np.testing.assert_array_equal(lda.components_, quiet.components_)
    assert len(scores_of(quiet)[0]) == 0


@pytest.mark.parametrize("tol", [0, 0.02])
def test_early_stopping_keeps_the_best_state(documents, tol):
    lda = lda_of(n_iter_no_change=2, tol=tol, max_iter=60, validation_fraction=0.2)
    lda.fit(documents)
    assert lda.n_iter_ < 60
    steps, scores = scores_of(lda)
    assert len(steps) == lda.n_iter_  # a score after each pass
    settled = scores[steps > SCHEDULE.length]
    best = settled.argmax()
    gains, least = [0], settled[0]
    for number, score in enumerate(settled):
        if score > least + tol:
            gains, least = [*gains, number], score
    assert len(settled) - 1 - gains[-1] == 2
    assert best == gains[-1] if tol == 0 else best > gains[-1]
    # The fit keeps the state after the best pass.
    n_passes = int(np.flatnonzero(scores == settled[best])[0]) + 1
    until = (
        clone(lda).set_params(max_iter=n_passes, n_iter_no_change=100).fit(documents)
    )
    np.testing.assert_array_equal(lda.components_, until.components_)


@pytest.mark.every(5)
@pytest.mark.parametrize(
    ("schedule", "n_iter"),
    [
        (LinearSchedule(start=3, length=8), 5),
        (LinearSchedule(start=3, length=20), 8),
        (lambda t: 1.0, 3),
        (None, None),
    ],
)
def test_early_stopping_counts_settled_passes_only(documents, schedule, n_iter):
    """A pass has 4 steps. With this tol, no score counts as an improvement."""
    parameters = dict(n_iter_no_change=2, tol=1e9, max_iter=30, learning_rate=0.5)
    if schedule is None:
        schedule = ConstantSchedule(2.0)
        with pytest.warns(ConvergenceWarning):
            lda = lda_of(schedule=schedule, **parameters).fit(documents)
        assert lda.n_iter_ == 30
        return
    assert lda_of(schedule=schedule, **parameters).fit(documents).n_iter_ == n_iter
    plain = lda_of(TemperedLDA, tempering=None, **parameters).fit(documents)
    assert plain.n_iter_ == 3
    # passes without an evaluation do not count
    assert plain.set_params(evaluate_every=3).fit(documents).n_iter_ == 9


# -- history and log -------------------------------------------------------------------


def test_history(documents):
    lda = lda_of().fit(documents)
    history = lda.history_
    assert {len(column) for column in history.values()} == {20}
    np.testing.assert_array_equal(history["step"], range(1, 21))
    np.testing.assert_allclose(history["passes"], np.arange(1, 21) / 4)
    np.testing.assert_array_equal(
        history["temperature"], [SCHEDULE(t) for t in range(20)]
    )
    assert (np.diff(history["seconds"]) > 0).all()
    assert np.isfinite(history["batch_bound"]).all()
    assert (history["mean_iterations"] >= 1).all()
    history["step"][:] = 0  # a copy
    assert lda.history_["step"][-1] == 20


def test_verbose_logs_each_pass(documents, caplog):
    caplog.set_level(logging.INFO, logger="sktemper")
    lda_of().fit(documents)
    assert caplog.records == []
    lda_of(verbose=1, evaluate_every=2, max_iter=6).fit(documents)
    assert {record.name for record in caplog.records} == {"sktemper"}
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 6
    assert messages[0].startswith("pass 1 of 6: 4 steps")
    assert "temperature" in messages[0]
    assert ["held-out" in message for message in messages] == [False, True] * 3


def test_verbose_without_logging_set_up_prints(documents, monkeypatch, capsys):
    logger = logging.getLogger("sktemper")
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.setattr(logger, "propagate", False)
    level = logger.level
    try:
        for _ in range(2):  # each line is logged once, also in later fits
            lda_of(verbose=True).fit(documents)
            assert capsys.readouterr().err.count("pass ") == 5
    finally:
        logger.setLevel(level)
    assert logging.getLogger().level == logging.WARNING
    assert sys.stderr

"""Commits, callbacks and log lines of a fit."""

import copy
import functools

import numpy as np

from .._engine._fit import FitHooks
from .._utils._notices import log
from .._utils._results import install_results


class EstimatorHooks(FitHooks):
    """Commits, callbacks and log lines of a fit.

    Parameters
    ----------
    estimator, work : TemperedEstimator
        The estimator, and the copy in which results are set before a commit.
    problem : Problem
    X, y : object, default=None
        Data of the call.  Without y, callbacks get zeros, because a `ScoringMonitor`
        would log nothing.
    sample_weight : array-like, default=None
    """

    def __init__(self, estimator, work, problem, X=None, y=None, sample_weight=None):
        self.estimator, self.work, self.problem = estimator, work, problem
        self._installed = self._task = None
        has_callbacks = bool(getattr(estimator, "_skl_callbacks", ()))
        self.watches_tasks = has_callbacks or bool(estimator.verbose)
        metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
        y = functools.partial(np.zeros, len(problem.data)) if y is None else y
        self._arguments = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}

    def plan(self, n_tasks):
        """Begin the task of the fit."""
        self.context = self.estimator._init_callback_context(max_subtasks=n_tasks)
        self.context.call_on_fit_task_begin(**self._arguments)

    def commit(self, run):
        """Install the state of a run, which later steps change."""
        if run is not self._installed:
            self._installed = run
            self.work._install(run.state, run.policies)
            install_results(self.estimator, self.work)

    def begin(self, name):
        """Begin the task of a pass or a move."""
        self._task = self.context.subcontext(task_name=name)
        self._task.call_on_fit_task_begin(**self._arguments)

    def end(self):
        """End the task; return whether a callback stops the run."""
        return self._end(self._task)

    def store(self, run):
        """Store results for the training rows."""
        self.work._finish(self.problem, run.state)
        install_results(self.estimator, self.work)

    def finish(self, run):
        """Store results for the training rows, and advice about them."""
        self.store(run)
        run.advice = self.work._advice(self.problem, run.state)

    def close(self):
        """End the task of the fit."""
        self._end(self.context)

    def _end(self, task):
        return task.call_on_fit_task_end(
            **self._arguments,
            reconstruction_attributes=lambda: {
                "state_": copy.deepcopy(self.estimator.state_),
                "_warned": {"temperature": True},
            },
        )

    def log(self, message, *values):
        """Log a line if the estimator is verbose."""
        log(self.estimator, message, *values)

    def log_pass(self, state):
        """Log a line about a pass."""
        if not self.estimator.verbose or not self.estimator._is_logged(
            state.progress.passes
        ):
            return
        history = state.history.to_dict()
        score = history["heldout_score"][-1]
        self.log(
            "pass %d of %d: %d steps, %.1f s, temperature %.3g, rate %.3g, "
            "bound per observation %.4f%s",
            state.progress.passes,
            state.progress.planned_passes,
            state.progress.steps,
            state.progress.seconds,
            state.policies.temperature,
            history["learning_rate"][-1],
            history["batch_bound"][-1],
            "" if np.isnan(score) else f", held-out score {score:.4f}",
        )

    def log_event(self, stream):
        """Log the last event of a stream."""
        if stream.alarms and stream.alarms[-1].sample == stream.samples:
            self.log("alarm after %d samples", stream.samples)
        if not stream.renewals:
            return
        last = stream.renewals[-1]
        if last.decided == stream.samples and last.kept is not None:
            self.log(
                "renewal after %d samples (%s): %s, gain %.4f",
                last.sample,
                last.reason,
                "won" if last.kept else "lost",
                last.gain,
            )

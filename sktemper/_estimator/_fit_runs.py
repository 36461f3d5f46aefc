"""Runs of a fit, one from each start: passes, moves, early stopping and callbacks."""

import copy
import functools
import itertools
import math

import numpy as np

from .._loop import (
    Best,
    Hooks,
    check_scorable,
    heldout_score,
    run_moves,
    run_passes,
)
from ._messages import log
from ._plans import plan_fit, tasks_left

__all__ = ["run_fits"]


def run_fits(estimator, other, problem, starts, n_runs):
    """Fit from each start; install and return the best `Run`.

    The attributes of a fit are set in ``other``, a copy, and then published.
    """
    runs = (plan_fit(other, problem, state) for state in starts)
    run = next(runs)
    callback_kwargs = {
        "estimator": estimator,
        "X": problem.data.source,
        "y": lambda: np.zeros(len(problem.data)),
    }
    context = estimator._init_callback_context(
        max_subtasks=n_runs * tasks_left(run.state)
    )
    context.call_on_fit_task_begin(**callback_kwargs)
    with problem.workers, problem.workers_of_validation:
        if problem.validation is not None:
            check_scorable(run.held_out, run.state)
        fit = _Fit(estimator, other, problem, context, callback_kwargs)
        if n_runs == 1:
            fit.run(run)
        else:
            run = fit.best(itertools.chain([run], runs))
        other._finish(problem, run.state)
        estimator._publish(other)
    context.call_on_fit_task_end(**callback_kwargs, **_snapshot(estimator))
    return run


def _snapshot(estimator):
    """Return the attributes from which callbacks reconstruct the current estimator."""
    return {
        "reconstruction_attributes": lambda: {
            "state_": copy.deepcopy(estimator.state_),
            "_warned": {"hot": True},
        }
    }


class _Fit:
    """Runs of an estimator on a problem.

    Parameters
    ----------
    estimator, other : TemperedEstimator
        Estimator, and the copy in which attributes are set before they are published.
    problem : Problem
    context : object
        Context of scikit-learn's callbacks.
    callback_kwargs : dict
        Keyword arguments of every hook of a callback.
    """

    def __init__(self, estimator, other, problem, context, callback_kwargs):
        self.estimator, self.other, self.problem = estimator, other, problem
        self.context, self.callback_kwargs = context, callback_kwargs

    def best(self, runs):
        """Fit all runs and install the best; after an error, the best completed run."""
        best, best_bound, n_init = None, -math.inf, self.estimator.n_init
        for number, run in enumerate(runs, 1):
            try:
                self.run(run)
                bound = self.problem.bound(run.state.globals_, run.state.hyper)
                log(
                    self.estimator,
                    "fit %d of %d: lower bound %.10g",
                    number,
                    n_init,
                    bound,
                )
                if best is None or bound > best_bound:
                    best, best_bound = run, bound
            finally:
                if best is not None:
                    self.problem.workers.run_whole(self._installing(best))
        return best

    def run(self, run):
        """Finish the passes and moves in the plan of a run."""
        estimator, state, policies = self.estimator, run.state, run.policies
        problem, install = self.problem.on(run.train), self._installing(run)
        if state.progress.planned_passes == 0:  # max_iter=0: the result is the start
            problem.workers.run_whole(install)
            return
        task = _Task(self)
        begin_pass = functools.partial(task.begin, "pass")
        begin_move = functools.partial(task.begin, "move")
        if not self._check_early_stopping(run):
            run_passes(
                problem,
                policies,
                state,
                Hooks(install, begin_pass, task.after_pass(run)),
                estimator.shuffle,
            )
        problem.workers.run_whole(functools.partial(self._keep_the_best_state, run))
        hot = state.policies.temperature != 1.0
        run.moves_were_skipped = any(state.moves.left) and hot and not task.stopped
        if not task.stopped and not hot:
            hooks = Hooks(install, begin_move, task.after_move)
            run_moves(problem, policies, state, hooks, estimator.tol)
        if not tasks_left(state):
            state.local = None  # only an unfinished plan uses local parameters

    def _installing(self, run):
        def install():
            self.other._install(run.state, run.policies)
            self.estimator._publish(self.other)

        return install

    def _check_early_stopping(self, run):
        """Score a pass unless it was scored before; return whether to stop early.

        All results of this check are stored at once.  If Ctrl-C prevents this, a
        continued fit repeats the check before its next pass.
        """
        state = run.state
        if state.progress.checked_passes == state.progress.passes:
            return False
        score, over = self._heldout_score(run), False

        def commit():
            nonlocal over
            if score is not None:
                over = self._note_score(run, score)
            if abs(state.convergence.bound_change) < self.estimator.tol:
                state.progress.planned_passes = state.progress.passes  # converged
            state.progress.checked_passes = state.progress.passes

        self.problem.workers.run_whole(commit)
        return over

    def _heldout_score(self, run):
        """Return the held-out score: NaN if it is undefined, None if it is not due."""
        due = run.state.progress.passes % max(self.estimator.evaluate_every, 1) == 0
        if run.held_out is None or not due:
            return None
        return heldout_score(run.held_out, run.state)

    def _note_score(self, run, score):
        """Add a held-out score to the history; return whether to stop early.

        Only scores of states with a settled temperature are compared.  If the tempering
        cools, this temperature must be 1.
        """
        state, tempering = run.state, run.policies.tempering
        patience = self.estimator.n_iter_no_change
        state.history.add_score(score)
        if patience is None or np.isnan(score):
            return False
        clock = state.clock(self.problem.on(run.train).total)
        is_cool = state.policies.temperature == 1.0 or not tempering.cools
        if not (tempering.is_settled(state.policies.tempering, clock) and is_cool):
            return False
        if state.best is None:
            state.best = Best.of(state, score)
        else:
            state.best = state.best.after(state, score, self.estimator.tol)
        return state.best.failures >= patience

    def _keep_the_best_state(self, run):
        """Install the best state; end the plan if later states failed to improve it."""
        state, patience = run.state, self.estimator.n_iter_no_change
        if patience is None:
            return
        if state.best is None:
            run.compared = False
            return
        state.globals_, state.hyper = state.best.globals_, state.best.hyper
        if state.best.failures >= patience:
            state.progress.planned_passes = state.progress.passes
        state.best = None


class _Task:
    """Passes and moves of a run, as tasks of scikit-learn's callbacks.

    Attributes
    ----------
    stopped : bool
        Whether a callback ended the run.
    """

    def __init__(self, fit):
        self.fit, self.stopped, self._task = fit, False, None

    def begin(self, name):
        """Begin a pass or a move."""
        self._task = self.fit.context.subcontext(task_name=name)
        self._task.call_on_fit_task_begin(**self.fit.callback_kwargs)

    def _end(self):
        self.stopped = self._task.call_on_fit_task_end(
            **self.fit.callback_kwargs, **_snapshot(self.fit.estimator)
        )
        return self.stopped

    def after_pass(self, run):
        """Return the hook that is called after each pass of a run."""

        def after():
            over = self.fit._check_early_stopping(run)
            _log_pass(self.fit.estimator, run.state)
            return self._end() or over

        return after

    def after_move(self, bound, kept):
        """Log a move and end its task; return whether a callback ends the moves."""
        outcome = "kept" if kept else "no"
        log(self.fit.estimator, "move: %s, lower bound %.10g", outcome, bound)
        return self._end()


def _log_pass(estimator, state):
    if not estimator.verbose or not estimator._is_logged(state.progress.passes):
        return
    history = state.history.to_dict()
    score = history["heldout_score"][-1]
    log(
        estimator,
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

"""Commits, callbacks, log lines and warnings of a fit."""

import copy
import functools
import logging
import math

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._engine._fit import REPEATS, FitHooks
from .._utils._cache import forget
from .._utils._notices import logger, warn, warn_once
from .._utils._results import install_results
from .._utils._validation import ROUNDING
from ..schedules import Clock


# -- commits, callbacks and log lines --------------------------------------------------
def log(estimator, message, *values):
    if not estimator.verbose:
        return
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler())
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
    logger.info(message, *values)


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

    def store(self, run):
        """Store the model, and results for the training rows."""
        known = functools.partial(forget, self.problem.model)
        self.work._ready.model(self.work, run.state, known)
        self.work._finish(self.problem, run.state)
        install_results(self.estimator, self.work)

    def finish(self, run):
        """Store results for the training rows, and advice about them."""
        self.store(run)
        self.work._conclude(self.problem, run.state)
        run.advice = self.work._advice(self.problem, run.state)
        forget(self.problem.model)  # what the advice was computed from

    def end(self, task=None):
        """End the last or another task; return whether a callback stops the run."""
        task = self._task if task is None else task
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
        estimator, progress = self.estimator, state.progress
        interval = getattr(estimator, "verbose_interval", 1)
        if not estimator.verbose or progress.passes % interval:
            return
        history = state.history.to_dict()
        score = history["heldout_score"][-1]
        self.log(
            "pass %d of %d: %d steps, %.1f s, temperature %.3g, rate %.3g, "
            "bound per observation %.4f%s",
            progress.passes,
            progress.planned_passes,
            progress.steps,
            progress.seconds,
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
            record = last.sample, last.reason, "won" if last.kept else "lost", last.gain
            self.log("renewal after %d samples (%s): %s, gain %.4f", *record)


# -- checks at the end of a fit, which return the message of a warning, or None --------
#: Largest share of the random start in a fitted model without a warning.
LARGEST_START_SHARE = 0.1
#: If the median step is shortened to less than this share of its rate, the noise is the
#: reason that the start remains.
LEAST_RATE_SHARE = 0.5
#: A stream causes a warning if it has at least this multiple of `total_samples`.
MOST_TOTALS = 3


def warn_of_the_end(estimator, run):
    if run.state.progress.steps == 0:  # max_iter=0: the result is the start
        return
    # advice on the components would be wrong where weights or kinds are the fault
    others = estimator._warned.keys() & {"weights", "kinds"}
    own = () if others else estimator._end_of_fit_checks
    if not is_above_one(estimator):
        estimator._warned.clear()
    for check in (*END_OF_FIT_CHECKS, *own):
        message = check(estimator, run)
        if message is not None:
            warn(message, ConvergenceWarning)


def nothing_compared(estimator, run):
    if run.compared:
        return None
    return (
        "n_iter_no_change had no scores to compare: no held-out score was computed "
        "after the temperature settled at 1. Raise max_iter or end the schedule at 1."
    )


def ended_above_one(estimator, run):
    if not is_above_one(estimator):
        return None
    temperature, n_steps = run.state.policies.temperature, run.state.progress.steps
    return (
        f"The fit ended at temperature {temperature:.3g}, above 1, after {n_steps} "
        f"steps. {_remedy_above_one(estimator)}"
    )


def moves_waited(estimator, run):
    if not run.moves_were_skipped or run.policies.tempering.cools:
        return None
    return (
        "No moves were made, because they need a temperature of 1, and the fit ended "
        f"at {run.state.policies.temperature:.3g}. Set moves=None, or choose a "
        "tempering whose temperature falls to 1."
    )


def noise_was_none(estimator, run):
    n_steps, batch_size = run.state.progress.steps, run.state.policies.batch_size
    n_rows = len(run.train)
    total = estimator.total_samples or n_rows
    per_pass = math.ceil(n_rows / batch_size)
    clocks = (Clock(t, t * n_rows // per_pass, total) for t in range(n_steps))
    if run.policies.gradient_noise.acts(math.ceil(n_rows / per_pass), clocks):
        return None
    return (
        f"The effective batch size is at least the batch size, {batch_size}, at every "
        "step, so that the fit had no noise. Set a smaller effective_batch_size."
    )


def start_is_left(estimator, run):
    start_share = run.state.convergence.start_share
    if start_share <= LARGEST_START_SHARE:
        return None
    left = (
        f"{start_share:.0%} of the start is left in the model after "
        f"{run.state.progress.steps} steps."
    )
    shares = run.state.history.to_dict()["rate_share"]
    rate_share = float(np.median(shares)) if len(shares) else 1.0
    if rate_share < LEAST_RATE_SHARE:
        return (
            f"{left} Half of the steps were shortened to less than {rate_share:.2g} of "
            "their length, because negative factors of the gradient noise would have "
            "led out of the domain, see history_['rate_share']. Choose the noise "
            "distribution 'dirichlet', or a larger effective_batch_size."
        )
    return (
        f"{left} Raise max_iter, make batch_size smaller, or lower the offset of the "
        "learning rate."
    )


def bound_still_moved(estimator, run):
    progress, convergence = run.state.progress, run.state.convergence
    stopped = progress.passes < progress.planned_passes or estimator.n_iter_no_change
    is_unknown = math.isnan(convergence.lower_bound)  # as with mini-batches
    if stopped or is_unknown or estimator._has_converged(run.state):
        return None
    change = convergence.bound_change
    if math.isnan(change):
        return "One pass at T=1 does not show convergence. Raise max_iter."
    moved = "fell" if change < 0 else "still changed"
    begin = f"The lower bound {moved} by {abs(change):.3g} in the last"
    after_moves = _moves_were_last(run.state)
    begin += " step, after moves" if after_moves else f" of {progress.passes} passes"
    if change < 0:
        return (
            f"{begin}, because steps are approximate or random: more passes may not "
            "raise it. Raise tol if this change does not matter."
        )
    needs_passes = progress.passes >= estimator.max_iter and not after_moves
    raised = "max_iter or tol" if needs_passes else "tol"
    return (
        f"{begin}: the fit did not converge. Raise {raised}, or continue with "
        "warm_start=True."
    )


def _moves_were_last(state):
    history = state.history.to_dict()
    if "move_kept" not in history:
        return False
    is_last = history["move_step"] == state.progress.steps
    return bool(history["move_kept"][is_last].any())


#: The checks, in the order of their warnings.
END_OF_FIT_CHECKS = (
    nothing_compared,
    ended_above_one,
    moves_waited,
    noise_was_none,
    start_is_left,
    bound_still_moved,
)


def has_converged(estimator, state, change):
    """Return whether a change of the lower bound is at most ``tol`` per row.

    A fit also ends if its last change is below ``tol``, and rounding errors, of the
    bound and of the sum over values, are no changes.
    """
    convergence, n_rows = state.convergence, state.progress.total_rows
    eps = float(np.finfo(state.dtype).eps)
    rounding = 8 * eps * (abs(convergence.lower_bound) + n_rows * state.n_features)
    largest = max(estimator.tol, estimator._least_tol) * n_rows
    is_small = not abs(change) > max(largest, rounding)  # or not known
    return bool(is_small or abs(convergence.bound_change) < estimator.tol)


def is_above_one(estimator):
    """Return whether the temperature is above the one at which a fit may end."""
    temperature, tempering = estimator.state_.policies.temperature, estimator.tempering_
    return tempering.cools and temperature > (tempering.final_temperature + ROUNDING)


def warn_if_above_one(estimator):
    """Warn once that results belong to a model above T=1; a new fit may warn again."""
    if not is_above_one(estimator):
        return
    state = estimator.state_
    warn_once(
        estimator,
        "temperature",
        f"The model is still at temperature {state.policies.temperature:.3g}, above 1, "
        f"after {state.progress.steps} steps: results are not final until it is 1. "
        f"{_remedy_above_one(estimator)}",
    )


def warn_of_a_long_stream(estimator):
    """Warn once if a stream is far longer than `total_samples`.

    No warning follows if samples seem to repeat, according to the first rows of chunks.
    """
    total, progress = estimator.total_samples, estimator.state_.progress
    seen, repeated = progress.samples, progress.first_rows_digest == REPEATS
    if total is None or seen < MOST_TOTALS * total or repeated:
        return
    warn_once(
        estimator,
        "long",
        f"{seen} samples were seen, but total_samples is {total}: a batch represents "
        "only that number of samples. If all samples are different, set total_samples "
        "to their number, or to None. If the same samples are repeated, ignore this.",
    )


def _remedy_above_one(estimator):
    state = estimator.state_
    clock = state.clock(estimator.total_samples or state.progress.total_rows)
    try:
        return estimator.tempering_.remedy(state.policies.tempering, clock)
    except Exception as error:  # an error in a user's schedule
        return str(error)

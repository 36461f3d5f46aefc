"""Steps on the batches of passes over data, and on the batches of a stream."""

import contextlib
import copy
import math
from typing import Any, NamedTuple

import numpy as np

from ._ascents import (
    WholePasses,
    are_planned,
    ascent_on,
    clocks_of_steps,
    takes_whole_steps,
)
from ._problem import Batch, generator
from ._step import Steps


# -- early stopping: the held-out score, and the best state so far ---------------------
class Best(NamedTuple):
    """Parameters of the state with the highest held-out score so far, and that score.

    Attributes
    ----------
    score : float
    failures : int
        Number of evaluations since the best state.
    globals_, hyper : object
    """

    score: float
    failures: int
    globals_: Any
    hyper: Any

    @classmethod
    def of(cls, state, score):
        globals_, hyper = copy.deepcopy((state.globals_, state.hyper))
        return cls(score, 0, globals_, hyper)

    def after(self, state, score, tol):
        if score > self.score + tol:
            return Best.of(state, score)
        return self._replace(failures=self.failures + 1)


class HeldOut(NamedTuple):
    """Rows that are scored and not used for training.

    Attributes
    ----------
    problem : Problem
    rows : ndarray of int or None
        None means all rows of the problem.
    """

    problem: Any
    rows: Any = None


def heldout_score(held_out, state):
    """Return the score of held-out rows, NaN if no observation can be scored."""
    problem, rows = held_out
    model = problem.model
    prepared = model.prepare(state.globals_, state.hyper)
    parts = zip(*problem.predict(predictive_scores, prepared, rows), strict=True)
    if problem.sample_weight is None:
        scores, n_held_out = (sum(map(np.sum, part)) for part in parts)
    else:
        weight = problem.sample_weight
        weight = weight if rows is None else weight[rows]
        scores, n_held_out = ((weight * np.concatenate(part)).sum() for part in parts)
    return float(scores / n_held_out) if n_held_out else math.nan


def check_scorable(held_out, state):
    """Raise ValueError if no observation of the held-out rows can be scored.

    The check ends at the first block with such an observation.
    """
    problem, rows = held_out
    prepared = problem.model.prepare(state.globals_, state.hyper)
    parts = problem.predict(predictive_scores, prepared, rows)
    with contextlib.closing(parts):
        if any(n_held_out.any() for _, n_held_out in parts):
            return
    raise ValueError(
        "X_val cannot be scored: nothing can be held out, because each row is empty or "
        "too short to split into an observed and a held-out half. Pass rows with more "
        "observations, or no X_val."
    )


def predictive_scores(model, block, prepared):
    """Return the scores of a block, see `ConjugateModel.predictive_scores`."""
    return model.predictive_scores(block, prepared)


# -- steps on the batches of passes over data, and on the batches of a stream ----------
#: Largest number of planned steps at which the values of policies are checked before
#: the first step.  Short fits would spend much of their time on more.
MOST_CHECKED = 256

#: Smallest number of batches that a batch of a stream represents.
BATCHES_OF_STREAM = 25


class TaskHooks(NamedTuple):
    """Callbacks during passes or moves.

    Attributes
    ----------
    on_commit : callable
        Called inside each commit, an update of the state that no signal can interrupt.
    before : callable
        Called before each pass, before the rest of an interrupted pass, and before each
        move.
    after : callable
        Called after each pass or move.  If it returns True, no further pass or move
        follows.  After a move it is called with the lower bound and whether the move
        was accepted.
    tol : float or None
        If it is not None, `before` and `after` may be called once for several passes,
        unless the lower bound changes by less than ``tol``.
    """

    on_commit: Any = lambda: None
    before: Any = lambda: None
    after: Any = lambda *outcome: False
    tol: float | None = None


def order_of_pass(rows, seed, number):
    """Return the rows in the random order of a pass; rows of a run stay adjacent."""
    return rows.runs(generator(seed, number, 1).permutation(rows.n_runs))


def first_batch(state, n_rows, n_batches):
    """Return the index of the batch at which an interrupted pass continues.

    If the batch size has changed, this is the batch with the first unvisited row, so
    that no row is omitted and few rows are visited again.  If the number of rows has
    changed, their order has changed too, and the pass starts again.
    """
    if state.progress.batches_into_pass == 0 or state.progress.rows_of_pass != n_rows:
        return 0
    if state.progress.batches_of_pass == n_batches:
        return state.progress.batches_into_pass
    before = _ends_of_batches(n_rows, state.progress.batches_of_pass)
    visited = before[state.progress.batches_into_pass - 1]
    return int(np.searchsorted(_ends_of_batches(n_rows, n_batches), visited, "right"))


def _ends_of_batches(n_rows, n_batches):
    """Return the end of each batch, if rows are cut as by `numpy.array_split`."""
    size, larger = divmod(n_rows, n_batches)
    number = np.arange(1, n_batches + 1)
    return size * number + np.minimum(number, larger)


def clocks_of_passes(problem, state):
    """Return clocks of the planned steps that are left, see `planned_clocks`."""
    n_rows = len(problem.rows)
    n_batches = -(-n_rows // state.policies.batch_size)
    n_passes = state.progress.planned_passes - state.progress.passes
    n_steps = n_passes * n_batches - first_batch(state, n_rows, n_batches)
    return planned_clocks(state.clock(problem.total), n_steps, n_rows / n_batches)


def planned_clocks(clock, n_steps, n_rows):
    """Return clocks of planned steps: of all steps, or of at most `MOST_CHECKED`.

    Of more steps, the distances grow, and the first and the last are among them.

    Parameters
    ----------
    clock : Clock
        Clock of the first step.
    n_steps : int
    n_rows : float
        Mean number of rows of a step.
    """
    numbers = range(n_steps)
    if n_steps > MOST_CHECKED:
        ends = np.geomspace(1, n_steps, MOST_CHECKED)
        numbers = np.unique(ends.astype(np.int64) - 1).tolist()
    return clocks_of_steps(clock, numbers, n_rows)


def run_passes(problem, policies, state, hooks=TaskHooks(), shuffle=True):  # noqa: B008
    """Finish the planned passes of a fit.

    A pass is cut into batches of at most ``state.policies.batch_size`` rows.  Their
    sizes are as equal as possible, because a row of a small last batch would have a
    large weight.  An interrupted pass continues, see `first_batch`.
    """
    steps = Steps(problem, policies, state)
    rows, total = problem.rows, problem.total
    n_batches = -(-len(rows) // state.policies.batch_size)
    if n_batches == 1 and _run_together(problem, policies, state, hooks):
        return
    while state.progress.passes < state.progress.planned_passes:
        hooks.before()
        order = rows
        if shuffle and n_batches > 1:
            order = order_of_pass(rows, state.seed, state.progress.passes)
        first = first_batch(state, len(rows), n_batches)
        ends = np.append(0, _ends_of_batches(len(rows), n_batches))
        for number in range(first + 1, n_batches + 1):
            batch = order.at(slice(ends[number - 1], ends[number]))
            batch = problem.data.by_part(batch)

            def count(number=number):
                progress = state.progress
                progress.rows_of_pass, progress.batches_of_pass = len(rows), n_batches
                progress.batches_into_pass = number % n_batches
                progress.passes += number == n_batches
                hooks.on_commit()

            steps.take(Batch(batch, total, total), count)
        if hooks.after():
            return


def _run_together(problem, policies, state, hooks):
    """Finish passes of one step by an `Ascent`; return whether this is possible."""
    progress, rows = state.progress, problem.rows.at(slice(None))
    begun = progress.batches_into_pass and progress.rows_of_pass == len(rows)
    if begun or not takes_whole_steps(policies, state.policies.learning_rate):
        return False
    if progress.passes >= progress.planned_passes:
        return True
    ascent = ascent_on(problem, rows, state.hyper)
    if ascent is None or not are_planned(policies, state.policies.tempering):
        return False
    passes = WholePasses(problem, policies, state, ascent, rows, hooks.tol or 0.0)

    def count(n_taken):
        progress.rows_of_pass, progress.batches_of_pass = len(rows), 1
        progress.batches_into_pass = 0
        progress.passes += n_taken
        hooks.on_commit()

    while progress.passes < progress.planned_passes:
        hooks.before()
        n_together = 1 if hooks.tol is None else passes.n_together
        n_steps = min(progress.planned_passes - progress.passes, n_together)
        passes.take(n_steps, count)
        if hooks.after():
            return True
    return True


def run_pieces(problem, policies, state, size, on_commit):
    """Take a step on each ``size`` consecutive rows of a chunk of a stream."""
    steps = Steps(problem, policies, state)
    n_rows, given = len(problem.data), problem.total_samples
    total = given or _rows_of_stream(problem.model, state, n_rows, size)
    for start in range(0, n_rows, size):
        rows = np.arange(start, min(start + size, n_rows))

        def count(rows=rows):
            state.progress.total_rows += len(rows)
            on_commit()

        steps.take(Batch(rows, total, given), count, start + size >= n_rows)


def _rows_of_stream(model, state, n_rows, size):
    """Return the number of rows that the batches of a chunk of a stream represent.

    It is the number of rows so far, unless the model has `stream_rows` and no fit came
    first.  The number of rows is then at least `BATCHES_OF_STREAM` batches, because the
    prior would otherwise dominate the first steps, and at most `stream_rows`.
    """
    n_so_far = state.progress.total_rows + n_rows
    follows_a_fit = state.policies.plan.steps_per_pass is not None
    if model.stream_rows is None or follows_a_fit:
        return n_so_far
    least = BATCHES_OF_STREAM * min(size, n_rows)
    return min(max(least, n_so_far), model.stream_rows)

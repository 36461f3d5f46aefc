"""Steps on the batches of passes over data, and on the batches of a stream."""

import contextlib
import math
from typing import Any, NamedTuple

import numpy as np

from ..schedules import Clock
from ._ascents import (
    WholePasses,
    are_planned,
    ascent_on,
    clocks_of_steps,
    n_products,
    planned,
    takes_whole_steps,
)
from ._data import Rows
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

#: Key of the random rows of early passes.
EARLY = 10
#: Early passes of large data use this share of the rows, but at least so many, and at
#: least one row for each multiplication that a row takes.
SHARE_OF_EARLY, FEWEST_EARLY = 1 / 8, 10_000


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
    large weight.  An interrupted pass continues, see `first_batch`.  Early passes may
    use a part of the rows, see `early_passes`.
    """
    progress, rows = state.progress, problem.rows
    n_batches = -(-len(rows) // state.policies.batch_size)
    early, n_early = early_passes(problem, policies, state)
    parts = [(early, n_early)] if progress.passes < n_early else []
    for order, last in [*parts, (rows, math.inf)]:
        take = None
        if n_batches == 1:
            take = _whole_passes(problem, policies, state, hooks, order)
        if take is None:
            take = _batches(problem, policies, state, hooks, order, shuffle)
        while progress.passes < min(last, progress.planned_passes):
            hooks.before()
            take(min(last, progress.planned_passes) - progress.passes)
            if hooks.after():
                return


def _batches(problem, policies, state, hooks, rows, shuffle):
    """Return a function that takes the steps of a pass, or of the rest of one."""
    steps = Steps(problem, policies, state)
    total, progress, n_rows = problem.total, state.progress, len(problem.rows)
    n_batches = -(-n_rows // state.policies.batch_size)

    def take(_):
        order = rows
        if shuffle and n_batches > 1:
            order = order_of_pass(rows, state.seed, progress.passes)
        first = first_batch(state, n_rows, n_batches)
        ends = np.append(0, _ends_of_batches(len(rows), n_batches))
        for number in range(first + 1, n_batches + 1):
            batch = order.at(slice(ends[number - 1], ends[number]))
            batch = problem.data.by_part(batch)

            def count(number=number):
                progress.rows_of_pass, progress.batches_of_pass = n_rows, n_batches
                progress.batches_into_pass = number % n_batches
                progress.passes += number == n_batches
                hooks.on_commit()

            steps.take(Batch(batch, total, total), count)

    return take


def _whole_passes(problem, policies, state, hooks, rows):
    """Return a function that takes passes of one step by an `Ascent`, or None.

    It takes at most the given number of passes; more than one if the hooks allow it.
    """
    progress, n_rows = state.progress, len(problem.rows)
    begun = progress.batches_into_pass and progress.rows_of_pass == n_rows
    is_whole = takes_whole_steps(policies, state.policies.learning_rate)
    if begun or not (is_whole and are_planned(policies, state.policies.tempering)):
        return None
    if progress.passes >= progress.planned_passes:
        return None
    rows = rows.at(slice(None))
    ascent = ascent_on(problem, rows, state.hyper)
    if ascent is None:
        return None
    return WholePasses(problem, policies, state, ascent, rows, hooks).take


def early_passes(problem, policies, state):
    """Return the rows of the passes above T=1 at the beginning, and their number.

    A pass over large data may take one step on a random part of its rows, if the fit
    will be compared with a plain fit.  The number is 0 if all passes use all rows.
    """
    rows, model, tempering = problem.rows, problem.model, policies.tempering
    is_whole = takes_whole_steps(policies, state.policies.learning_rate)
    is_whole &= state.policies.batch_size >= len(rows)  # both may have changed
    if state.start is None or not is_whole:
        return rows, 0
    is_planned = are_planned(policies, state.policies.tempering)
    if not is_planned or model.keeps_local or problem.labels is not None:
        return rows, 0
    n_early = max(SHARE_OF_EARLY * len(rows), FEWEST_EARLY)
    n_early = max(n_early, n_products(model, problem.data, 1))
    n_rows, weight = len(rows), problem.sample_weight
    if weight is not None:  # as many rows of equal weights tell as much
        n_rows = np.sum(weight) ** 2 / np.square(weight).sum()
    is_large = 2 * n_early <= n_rows
    if not is_large or tempering.schedule_of_temperatures().unit != "steps":
        return rows, 0
    n_passes = state.progress.planned_passes
    plan = planned(policies, Clock(total=problem.total), n_passes, len(rows))
    random = generator(state.seed, 0, EARLY)
    # at the first pass at T=1; there is none if no pass is
    return Rows(rows.some(int(n_early), random)), int(np.argmin(plan.temperatures != 1))


def run_pieces(problem, policies, state, size, on_commit, prepared=None):
    """Take a step on each ``size`` consecutive rows of a chunk of a stream."""
    steps = Steps(problem, policies, state, prepared)
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

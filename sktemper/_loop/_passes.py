"""Passes over data, and pieces of a stream: which rows are the batches."""

from typing import Any, NamedTuple

import numpy as np

from ._problem import Batch, generator
from ._step import Steps

__all__ = ["Hooks", "run_passes", "run_pieces"]


class Hooks(NamedTuple):
    """What is called while passes or moves are made.

    Attributes
    ----------
    on_commit : callable
        Inside of each commit, which nothing can interrupt.
    before : callable
        Before each pass, or what is left of it; and before each move.
    after : callable
        After it; ends the passes, or the moves, by returning True.  After a move it is
        called with the lower bound and whether the move was kept.
    """

    on_commit: Any = lambda: None
    before: Any = lambda: None
    after: Any = lambda *outcome: False


def order_of_pass(rows, seed, number):
    """Return the rows in the order in which a pass visits their runs."""
    return rows.runs(generator(seed, number, 1).permutation(rows.n_runs))


def first_batch(state, n_rows, n_batches):
    """Return with which of its batches the pass under way goes on.

    If batches have another size now, with the one that has the first row not visited
    yet: none is left out, and few are visited again.  If there are other rows, which
    the pass visits in another order, with its first.
    """
    if state.progress.batches_into_pass == 0 or state.progress.rows_of_pass != n_rows:
        return 0
    if state.progress.batches_of_pass == n_batches:
        return state.progress.batches_into_pass
    before = _ends_of_batches(n_rows, state.progress.batches_of_pass)
    visited = before[state.progress.batches_into_pass - 1]
    return int(np.searchsorted(_ends_of_batches(n_rows, n_batches), visited, "right"))


def _ends_of_batches(n_rows, n_batches):
    """Return where `numpy.array_split` ends each batch."""
    size, larger = divmod(n_rows, n_batches)
    number = np.arange(1, n_batches + 1)
    return size * number + np.minimum(number, larger)


def run_passes(problem, policies, state, hooks=Hooks(), shuffle=True):  # noqa: B008
    """Finish the planned passes of a fit.

    A pass is cut into batches of at most ``state.policies.batch_size`` rows, as even as
    possible: there is no small last batch with a great weight.  An interrupted pass
    goes on where it was, see `first_batch`.
    """
    steps = Steps(problem, policies, state)
    rows, total = problem.rows, problem.total
    n_batches = -(-len(rows) // state.policies.batch_size)
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


def run_pieces(problem, policies, state, size, on_commit):
    """Take the rows of a chunk of a stream in order, ``size`` a step."""
    steps = Steps(problem, policies, state)
    n_rows, given = len(problem.data), problem.total_samples
    total = given or state.progress.total_rows + n_rows
    for start in range(0, n_rows, size):
        rows = np.arange(start, min(start + size, n_rows))

        def count(rows=rows):
            state.progress.total_rows += len(rows)
            on_commit()

        steps.take(Batch(rows, total, given), count, start + size >= n_rows)

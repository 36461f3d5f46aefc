"""The history of a fit: a table of steps and moves with a bounded number of rows."""

import copy
from typing import Any, NamedTuple

import numpy as np

__all__ = ["History"]

#: Columns of the history that describe a move.
MOVE_COLUMNS = ("step", "seconds", "kept", "bound")


class _Thinned:
    """Table of at most ``limit`` rows.  If it is full, it drops every second row."""

    def __init__(self, limit):
        self.limit, self.stride, self.count, self.rows = limit, 1, 0, []

    def append(self, row):
        if self.count % self.stride == 0:
            self.rows.append(row)
        self.count += 1
        if len(self.rows) > self.limit:
            self.rows = self.rows[::2]
            self.stride *= 2


class _Row(NamedTuple):
    """A step in the history; ``probabilities`` is None if the tempering has no ladder.

    A ladder is the set of temperatures of a tempering that infers its temperature.
    """

    values: tuple
    probabilities: Any


class History:
    """History of a fit with one row for each step, thinned evenly above a limit.

    In a stream with a half-life, the column "prequential_score" has the score per
    observation of a step's rows, computed before the step learns these rows.

    Rows with a held-out score are thinned separately, because they are few among the
    rows of all steps.

    If the tempering infers temperatures on a ladder, the column
    "temperature_probabilities" of shape (n_rows, n_temperatures) has the distribution
    over the ladder at each step.  If the ladder changes during a fit, the rows of
    earlier ladders are NaN.  If the last tempering has no ladder, the column is absent.

    If moves were proposed, each has an entry in "move_step" (number of steps before
    it), "move_seconds" (time after it), "move_kept" (whether it was accepted) and
    "move_bound" (lower bound after it).
    """

    columns = (
        "step",
        "passes",
        "seconds",
        "temperature",
        "learning_rate",
        "rate_share",
        "batch_bound",
        "heldout_score",
        "mean_iterations",
        "lower_bound",
        "prequential_score",
    )

    def __init__(self, limit=1000):
        self._steps, self._scores = _Thinned(limit), _Thinned(limit)
        self._moves = _Thinned(limit)
        self._ladder = None

    def copied(self):
        """Return a copy that shares the rows, which never change."""
        other = copy.copy(self)
        for name in ("_steps", "_scores", "_moves"):
            table = copy.copy(getattr(self, name))
            table.rows = list(table.rows)
            setattr(other, name, table)
        return other

    def append(self, *, ladder=None, probabilities=None, **row):
        """Add a step; columns not given are NaN."""
        if ladder is not self._ladder and not np.array_equal(ladder, self._ladder):
            self._ladder = ladder
            for table in (self._steps, self._scores):
                table.rows = [row._replace(probabilities=None) for row in table.rows]
        values = tuple(row.get(column, np.nan) for column in self.columns)
        self._last = _Row(values, probabilities)
        self._steps.append(self._last)

    def add_score(self, score):
        """Add the held-out score after the last step."""
        row = dict(zip(self.columns, self._last.values, strict=True))
        row["heldout_score"] = score
        self._scores.append(self._last._replace(values=tuple(row.values())))

    def add_move(self, **move):
        """Add a move, with a value for each of `MOVE_COLUMNS`."""
        self._moves.append(tuple(move[column] for column in MOVE_COLUMNS))

    def to_dict(self):
        """Return the columns as arrays, in the order of the steps."""
        scored = {row.values[0] for row in self._scores.rows}
        rows = [row for row in self._steps.rows if row.values[0] not in scored]
        rows = sorted(rows + self._scores.rows, key=lambda row: row.values[0])
        table = np.array([row.values for row in rows], dtype=float)
        table = table.reshape(-1, len(self.columns))
        columns = dict(zip(self.columns, table.T.copy(), strict=True))
        columns["step"] = columns["step"].astype(np.int64)
        if self._ladder is not None:
            unknown = np.full(len(self._ladder), np.nan)
            columns["temperature_probabilities"] = np.array(
                [
                    unknown if row.probabilities is None else row.probabilities
                    for row in rows
                ]
            )
        if self._moves.rows:
            moves = zip(*self._moves.rows, strict=True)
            columns |= {
                f"move_{name}": np.array(values)
                for name, values in zip(MOVE_COLUMNS, moves, strict=True)
            }
        return columns

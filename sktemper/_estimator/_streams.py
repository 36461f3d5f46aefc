"""Memory and records of streams with a half-life: methods of several estimators."""

from dataclasses import replace

import numpy as np

from .._engine._reservoir import Alarm, Renewal, Stream
from ._estimator import Estimator


def _table(records, columns):
    table = {}
    for name in columns:
        values = [getattr(record, name) for record in records]
        if name in ("time", "kept", "columns"):
            column = np.empty(len(values), dtype=object)
            column[:] = values
        else:
            kind = {"reason": str, "gain": float}.get(name, np.int64)
            column = np.array(values, dtype=kind)
        table[name] = column
    return table


def clear_memory(self: Estimator) -> Estimator:
    """Delete the memory of a stream, which consists of rows of the training data.

    With a half-life, the estimator and its pickles contain up to
    ``renewals.memory`` rows of the training data.  The predictions of the estimator
    do not depend on these rows.  If `partial_fit` follows, the memory fills again,
    and renewals begin after 1,000 further rows.

    Returns
    -------
    self : object
        The estimator.
    """
    state = self._state().copied()
    if state.stream is not None:
        stream = state.stream
        state.stream = replace(
            stream,
            memory=Stream.memory,
            watch=Stream.watch,
            challenger=None,
            last=stream.samples,
            due=stream.samples + 1000,
            changed=Stream.changed,
        )
        self.state_ = state
    return self


@property
def alarms(self) -> dict[str, np.ndarray]:
    """Alarms of a stream: a dict of arrays with an entry for each alarm.

    "sample" and "step" are the numbers of rows and steps before the alarm, and
    "time" is the last known time before it, or None.
    """
    return _table((self._state().stream or Stream()).alarms, Alarm._fields)


@property
def prevalence(self) -> dict[str, np.ndarray]:
    """Scores and components along a stream: a dict of arrays, at most 513 points.

    A point summarises consecutive batches of a stream with renewals.  "sample" is
    the number of rows up to the end of the point, "time" is the last known
    time or None, "score" is the mean score that its rows had before they were
    learned, and "shares", of shape (n_points, n_components), are the shares of the
    components in its rows.
    """
    return (self._state().stream or Stream()).prevalence.to_dict()


@property
def renewals(self) -> dict[str, np.ndarray]:
    """Renewals of a stream: a dict of arrays with an entry for each renewal.

    "sample", "step" and "time" are those of `alarms_`; "reason" is "start",
    "schedule" or "alarm"; "kept" is whether the result replaced the parameters,
    None until "decided", a number of rows; "gain" is the mean gain of the rows that
    decided, in nats per observation; "columns" are the new components.
    """
    return _table((self._state().stream or Stream()).renewals, Renewal._fields)

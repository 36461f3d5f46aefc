"""Streams with a half-life: parameters, times of rows, memory and records."""

import math
from dataclasses import replace
from datetime import datetime, timedelta
from numbers import Number

import numpy as np
from sklearn.base import _fit_context

from .._arguments import half_life_of
from .._data import as_slice
from .._loop import (
    Chunk,
    Listener,
    Reservoir,
    Stream,
    generator,
    rows_of,
    run_pieces,
    run_stream,
)
from .._validation import check_unmasked
from ..learning_rates import HalfLife, LearningRate, Population
from ..renewals import as_renewals
from ._end_of_fit import is_above_one, warn_of_a_long_stream
from ._messages import log
from ._plans import plan_stream

__all__ = ["StreamsMixin"]

#: Key of the random numbers that choose the remembered rows of a fit.
REMEMBERING_FIT = 9
#: Longer gaps between rows count as this number of half-lives.  It leaves no weight to
#: earlier rows, and the age of a stream stays finite.
MOST_HALF_LIVES = 10_000
#: Range of times.  All differences of such times are finite in microseconds.
LATEST_YEAR = 100_000
#: Strings of missing times: of NumPy and pandas, and of a float NaN.
MISSING = ("NaT", "<NA>", "nan")
#: Columns of `renewals_`.
COLUMNS = ("sample", "step", "time", "reason", "kept", "decided", "gain", "columns")


class StreamsMixin:
    """Mixin of estimators whose streams may have a half-life."""

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None, *, times=None):
        """Continue the training with a chunk of a stream.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Chunk of a stream.  It is cut, in order, into batches of ``batch_size``
            rows; a smaller chunk is one batch.  With ``batch_size="auto"`` the batches
            of a chunk have equal sizes.  Unless ``total_samples`` is given, the number
            of rows so far includes all rows of the chunk, so that the fit depends on
            the sizes of the chunks.
        y : None
            Ignored, for compatibility with scikit-learn.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, by which their statistics are multiplied.
        times : array-like of shape (n_samples,) or scalar, default=None
            Dates or times of the samples, which must not decrease: anything that
            `numpy` converts to ``datetime64``, such as strings "2024-05-31" or a column
            of a data frame.  Times with a time zone are converted to UTC.  A scalar is
            the time of the whole chunk.  Times are required if ``half_life`` is a
            duration.  With any half-life, they are stored in `renewals_`.

        Returns
        -------
        self : object
            The estimator.  A fitted model continues at its temperature and learning
            rate.  A new model has a single start; ``n_init`` is ignored.  After Ctrl-C
            or an error in a step it has learned the complete batches.

        Notes
        -----
        With ``half_life``, each batch is scored before it is learned, see
        "prequential_score" in `history_`, and renewals replace components, see
        `sktemper.renewals.Renewals`.
        """
        fresh = not hasattr(self, "state_")
        other = self._apart() if fresh else self._widened_for(X)
        if fresh:
            other._warned = {}
        data = other._training_data(X, fresh, sample_weight)
        problem = other._problem(
            data, sample_weight, fresh, other._is_inline(data, fresh)
        )
        state = next(other._starts(problem)) if fresh else other._state_to_go_on_from()

        def install():
            other._install(state, policies)
            self._publish(other)

        policies, size = plan_stream(other, problem, state, fresh)
        chunk = self._chunk(problem, policies, state, times, size)
        with problem.workers:
            if chunk is None:
                run_pieces(problem, policies, state, size, install)
            else:
                listener = Listener(install, self._log_event)
                tempering = self._tempering()
                run_stream(problem, policies, tempering, state, chunk, listener)
            other._finish(problem, state)
            self._publish(other)
        if not is_above_one(self):
            self._warned.pop("hot", None)
        warn_of_a_long_stream(self)
        return self

    def _is_inline(self, data, fresh):
        """Return whether the calling thread takes the steps on a chunk.

        Other threads compute starts and renewals, because these may take long.
        """
        return not fresh and self._are_few(data) and self._forgetting_rate() is None

    def _renewals(self):
        """Return the policy for renewals."""
        return as_renewals(self.renewals)

    def _forgetting_rate(self):
        """Return the `HalfLife` of streams, or None.

        Raises
        ------
        ValueError
            If a half-life is given together with parameters that it replaces.
        """
        self._renewals()  # checks the parameter even if it is not used
        if self.half_life is None:
            rate = self.learning_rate
            rate = rate if isinstance(rate, LearningRate) and rate.forgets else None
        else:
            half_life_of(self.half_life)
            if self.learning_rate is not None:
                raise ValueError(
                    "half_life and learning_rate are both given, but half_life sets "
                    "the learning rate: leave one of them at None."
                )
            rate = HalfLife(self.half_life)
        if rate is not None and self.total_samples is not None:
            raise ValueError(
                "A half-life and total_samples are both given, but a half-life sets "
                "the effective number of samples: leave total_samples at None."
            )
        return rate

    def _chunk(self, problem, policies, state, times, size):
        """Return the `Chunk` of a stream with a half-life; None without one."""
        rate, n_rows = policies.learning_rate, len(problem.data)
        if not rate.forgets:
            if times is not None:
                raise ValueError(
                    "times is given, but half_life is None: the times of samples "
                    "matter for a half-life only."
                )
            return None
        stream, unit = state.stream or Stream(), rate.unit()
        weight = problem.sample_weight
        weight = np.ones(n_rows) if weight is None else np.asarray(weight, np.float64)
        times = None if times is None else _checked_times(times, n_rows, stream.time)
        if isinstance(unit, float):
            gaps = weight
        elif times is None:
            raise ValueError(
                f"half_life={rate.samples!r} is a duration, so that partial_fit needs "
                "times: the dates or times of the samples."
            )
        else:
            first = times[:1] if stream.time is None else [stream.time]
            gaps = np.diff(times, prepend=first) / np.timedelta64(1, "us")
            one = np.timedelta64(1, np.datetime_data(unit.dtype)[0])
            # in microseconds as an integer, a long half-life might overflow
            unit = float(unit / one) * float(one / np.timedelta64(1, "us"))
        half_lives = np.cumsum(np.minimum(gaps, MOST_HALF_LIVES * unit)) / unit
        return Chunk(size, stream.half_lives + half_lives, weight, times)

    def _log_event(self, stream):
        """Log the last event of a stream."""
        if stream.alarms and stream.alarms[-1].sample == stream.samples:
            log(self, "alarm after %d samples", stream.samples)
        if not stream.renewals:
            return
        last = stream.renewals[-1]
        if last.decided == stream.samples and last.kept is not None:
            outcome = "won" if last.kept else "lost"
            log(
                self,
                "renewal after %d samples (%s): %s, gain %.4f",
                last.sample,
                last.reason,
                outcome,
                last.gain,
            )

    def _remember_fit(self, problem, state):
        """Fill the memory of a stream with a sample of the rows of a fit."""
        rate = self._forgetting_rate()
        state.stream = None
        if rate is None:
            return
        renewals, n_rows, weight = self._renewals(), len(problem.data), None
        if problem.sample_weight is not None:
            weight = np.asarray(problem.sample_weight, dtype=np.float64)
        total = float(n_rows if weight is None else weight.sum())
        unit = rate.unit()
        if isinstance(unit, float):  # as if the rows had been a stream
            steady = unit / math.log(2.0)
            total = steady * -math.expm1(-total / steady)
        stream = Stream(samples=n_rows, last=n_rows)
        if renewals.is_on:
            memory = _sample_of_fit(problem, renewals, weight, state.seed)
            due = n_rows + rows_of(renewals, total)
            stream = replace(stream, memory=memory, due=due)
            if len(memory) >= rows_of(renewals, 0):  # large enough for usual renewals
                stream = replace(stream, reason="schedule")
        state.stream, state.policies.learning_rate = stream, Population(total)

    def clear_memory(self):
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
            state.stream = Stream(
                samples=stream.samples,
                time=stream.time,
                half_lives=stream.half_lives,
                last=stream.samples,
                due=stream.samples + 1000,
                reason=stream.reason,
                renewals=stream.renewals,
                alarms=stream.alarms,
                prevalence=stream.prevalence,
            )
            self.state_ = state
        return self

    @property
    def alarms_(self):
        """Alarms of a stream: a dict of arrays with an entry for each alarm.

        "sample" and "step" are the numbers of rows and steps before the alarm, and
        "time" is the time of the last row before it, or None.
        """
        stream = self._state().stream
        return _table(() if stream is None else stream.alarms, COLUMNS[:3])

    @property
    def prevalence_(self):
        """Scores and components along a stream: a dict of arrays, at most 513 points.

        A point summarises consecutive batches of a stream with renewals.  "sample" is
        the number of rows up to the end of the point, "time" is the time of its last
        row or None, "score" is the mean score that its rows had before they were
        learned, and "shares", of shape (n_points, n_components), are the shares of the
        components in its rows.
        """
        return (self._state().stream or Stream()).prevalence.to_dict()

    @property
    def renewals_(self):
        """Renewals of a stream: a dict of arrays with an entry for each renewal."""
        stream = self._state().stream
        return _table(() if stream is None else stream.renewals, COLUMNS)


def _sample_of_fit(problem, renewals, weight, seed):
    """Return a weighted sample of the rows of a fit, a `Reservoir`."""
    n_rows = len(problem.data)
    capacity, logs = min(renewals.memory, n_rows), np.zeros(n_rows)
    random = generator(seed, 0, REMEMBERING_FIT)
    if weight is not None:
        with np.errstate(divide="ignore"):
            logs = np.log(weight)
    keys = logs + random.gumbel(size=n_rows)
    order = np.argsort(-keys, kind="stable")
    rows = np.sort(order[:capacity])
    rows = rows[keys[rows] > -np.inf]
    cut = keys[order[capacity]] if capacity < n_rows else -np.inf
    X = problem.data.rows(as_slice(rows) if capacity < n_rows else rows)
    return Reservoir((X,), keys[rows], logs[rows], rows, float(cut))


def _table(records, columns):
    """Return records as a dict of arrays."""
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


def _checked_times(times, n_rows, last):
    """Return the times of rows as an array of datetime64, or raise an error."""
    check_unmasked(times, "times", may_be_nan=False)
    try:
        times = np.asarray(times)
        if times.dtype.kind in "biufcm":
            raise ValueError("numbers and durations are no times")
        is_typed = times.dtype.kind == "M"
        convert = _microseconds if is_typed else np.vectorize(_moment, ["M8[us]"])
        times = convert(times)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            "times must be dates or times, such as numpy.datetime64 or strings "
            f'"2024-05-31": {error}.'
        ) from error
    if times.ndim == 0:
        times = np.repeat(times, n_rows)
    if times.shape != (n_rows,):
        raise ValueError(f"times has shape {times.shape}, expected ({n_rows},).")
    if np.isnat(times).any():
        raise ValueError("times contains missing values (NaT).")
    before = times[:1] if last is None else np.array([last])
    if (np.diff(np.concatenate([before, times])) < np.timedelta64(0, "us")).any():
        raise ValueError(
            "times must not decrease, within a chunk or from chunk to chunk: sort the "
            "samples by time."
        )
    return times


def _moment(time):
    """Return one time as a datetime64 in UTC; a missing time is NaT."""
    if time is None or str(time) in MISSING:
        return np.datetime64("NaT")
    if isinstance(time, Number | timedelta | np.timedelta64):
        raise ValueError("numbers and durations are no times")
    if isinstance(time, str):
        try:
            time = datetime.fromisoformat(time)
        except ValueError:
            # NumPy reads more formats, but takes any number of digits for a year.
            if len(time) > 4 and time.isdigit():
                raise
    offset = None
    if getattr(time, "tzinfo", None) is not None:
        offset, time = time.utcoffset(), time.replace(tzinfo=None)
    if hasattr(time, "to_datetime64"):  # of pandas, which knows more years
        time = time.to_datetime64()
    time = _microseconds(np.datetime64(time))
    return time if offset is None else time - np.timedelta64(offset)


def _microseconds(times):
    """Return datetime64 values in microseconds; raise if they are out of range."""
    years = times.astype("datetime64[Y]").astype(np.int64) + 1970
    if (~np.isnat(times) & (np.abs(years) > LATEST_YEAR)).any():
        raise ValueError(f"years above {LATEST_YEAR:,} are not supported")
    return times.astype("datetime64[us]")

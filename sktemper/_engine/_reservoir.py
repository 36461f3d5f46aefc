"""The state of a stream with a half-life.

Its memory is a sample of rows, most of them recent.  A renewal fits new components to
the memory.  Its result is a challenger: parameters that replace the current parameters
if they predict the next rows better.  An alarm reports a sudden change of the scores.

All values except the challenger's state are immutable and can be shared.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import ndtri

from .._utils._evidence import FALSE_ALARM_RATE
from .._utils._validation import checked_weights
from ._data import joined

# -- prevalence of components, and scores, along a stream, in a table of bounded size
#: Largest number of points.  When a table is full, each two points become one point.
MOST_PREVALENCE_POINTS = 512


class Point(NamedTuple):
    """Sums over consecutive steps.

    Attributes
    ----------
    sample : int
        Number of rows after the last step.
    time : object
        Time of the last row, or None.
    n_scored : float
        Number of steps with a score.
    score : float
        Sum of the scores of these steps.
    counts : ndarray of shape (n_components,)
        Number of observations of each component in the rows of the steps.
    """

    sample: int
    time: Any
    n_scored: float
    score: float
    counts: np.ndarray

    def joined(self, later):
        """Return the sums over the steps of two points."""
        sums = (one + other for one, other in zip(self[2:], later[2:], strict=True))
        return Point(*later[:2], *sums)


class Prevalence(NamedTuple):
    """Table of `Point` objects.  Further steps may be added to the last point.

    Attributes
    ----------
    points : tuple of Point
    stride : int
        Number of steps of each point before the last.
    n_steps : int
        Number of steps of the last point.
    """

    points: tuple = ()
    stride: int = 1
    n_steps: int = 0

    def after(self, sample, time, score, counts):
        """Return the table after a step.  NaN means that the step has no score."""
        known = np.isfinite(score)
        counts = np.maximum(counts, 0.0).astype(np.float32)
        point = Point(sample, time, float(known), score if known else 0.0, counts)
        if self.points and self.n_steps < self.stride:
            point = self.points[-1].joined(point)
            return Prevalence((*self.points[:-1], point), self.stride, self.n_steps + 1)
        if len(self.points) < MOST_PREVALENCE_POINTS:
            return Prevalence((*self.points, point), self.stride, 1)
        pairs = zip(self.points[::2], self.points[1::2], strict=True)
        points = tuple(one.joined(other) for one, other in pairs)
        return Prevalence((*points, point), 2 * self.stride, 1)

    def to_dict(self):
        """Return the columns as arrays: "sample", "time", "score" and "shares"."""
        points = self.points
        times = np.empty(len(points), dtype=object)
        times[:] = [point.time for point in points]
        with np.errstate(invalid="ignore"):
            scores = [np.float64(p.score) / np.float64(p.n_scored) for p in points]
        counts = np.array([point.counts for point in points], dtype=np.float64)
        totals = counts.sum(axis=-1, keepdims=True)
        return {
            "sample": np.array([point.sample for point in points], dtype=np.int64),
            "time": times,
            "score": np.array(scores, dtype=np.float64),
            "shares": counts / np.where(totals > 0, totals, 1.0),
        }


# -- the state of a stream with a half-life --------------------------------------------
#: A memory is compacted when it has more rows than its capacity times this factor.
SLACK = 1.25
#: Number of scored rows that enter an alarm test together.
ROWS_OF_TEST = 250
#: Number of tests before an alarm.  Their rows may have arrived after the change.
TESTS_OF_ALARM = 2
#: Number of tests that the running mean of scores averages.
TESTS_OF_MEAN = 20
#: Least number of scored rows for the decision about a challenger.
FEWEST_DECIDING = 200
#: A challenger's early win or loss needs a mean gain of this number of standard errors.
CLEARLY = ndtri(1.0 - FALSE_ALARM_RATE / 2.0)
#: Largest number of rows before the first renewal; the fourth has a full memory.
FIRST_RENEWAL = 1250
#: Largest number of records of renewals, and of records of alarms.
MOST_RECORDS = 1000


class Reservoir(NamedTuple):
    """Weighted sample of rows without replacement, of bounded size [1]_.

    Each row has a random key, the sum of three terms: the age of the stream at the
    row's arrival (in half-lives, times log 2), the logarithm of the row's weight, and
    Gumbel noise.  The rows with the largest keys are the sample.

    Attributes
    ----------
    pieces : tuple of ndarray or CSR
        Rows in the order of their arrival.
    keys : ndarray of shape (n_rows,)
    logs : ndarray of shape (n_rows,)
        The keys without the noise: logarithms of weights that grow with arrival time.
    numbers : ndarray of int of shape (n_rows,)
        Index of each row in the stream, counted from its first row.
    cut : float
        Largest key of the rows that were left out.

    References
    ----------
    .. [1] P. Efraimidis, P. Spirakis, "Weighted random sampling with a reservoir",
       Information Processing Letters 97, 2006.
    """

    pieces: tuple = ()
    keys: Any = np.zeros(0)
    logs: Any = np.zeros(0)
    numbers: Any = np.zeros(0, dtype=np.int64)
    cut: float = -math.inf

    def __len__(self):
        return len(self.keys)

    def with_rows(self, X, logs, random, first_number, capacity):
        """Return the memory with more rows, see `Reservoir`.

        Parameters
        ----------
        X : ndarray or CSR
        logs : ndarray of shape (n_rows,)
            Keys without the noise; a row with -inf is left out.
        random : numpy.random.Generator
        first_number : int
            Index of the first row of ``X`` in the stream.
        capacity : int

        Returns
        -------
        memory : Reservoir
        """
        keys = logs + random.gumbel(size=len(logs))
        numbers = np.arange(first_number, first_number + len(keys))
        taken = np.flatnonzero(keys > -math.inf)
        if not len(taken):
            return self
        more = Reservoir(
            (*self.pieces, X[taken].copy()),
            np.concatenate([self.keys, keys[taken]]),
            np.concatenate([self.logs, logs[taken]]),
            np.concatenate([self.numbers, numbers[taken]]),
            self.cut,
        )
        if len(more.keys) <= SLACK * capacity and len(more.pieces) < 100:
            return more
        return more.of_largest(capacity)

    def of_largest(self, capacity):
        rows = self.largest(capacity)
        left_out = np.delete(self.keys, rows)
        return Reservoir(
            (self.matrix()[rows],),
            *(part[rows] for part in (self.keys, self.logs, self.numbers)),
            float(max(self.cut, left_out.max(initial=-math.inf))),
        )

    def largest(self, capacity):
        """Return the positions of the rows with the largest keys, by arrival."""
        n_left_out = len(self.keys) - capacity
        if n_left_out <= 0:
            return np.arange(len(self.keys))
        return np.sort(np.argpartition(self.keys, n_left_out)[n_left_out:])

    def sample(self, capacity):
        """Return the positions of the rows of the sample, and weights of mean 1.

        The probability that a row is in a sample without replacement grows less than
        its weight.  Therefore the returned weight of a row is its weight divided by
        this probability.  Rows of negligible weight are left out, see
        `checked_weights`.
        """
        rows = self.largest(capacity)
        top = self.logs[rows].max()
        logs = self.logs[rows] - top
        cut = max(self.cut, np.delete(self.keys, rows).max(initial=-math.inf)) - top
        weights = np.exp(logs)
        if cut > -math.inf:  # divide by P(log + Gumbel noise > cut)
            weights /= -np.expm1(-np.exp(np.minimum(logs - cut, 100.0)))
        weights = checked_weights(weights)
        rows, weights = rows[weights > 0], weights[weights > 0]
        return rows, weights / weights.mean()

    def matrix(self):
        return joined(self.pieces)


def _on_columns(X, places):
    """Return a matrix with other columns, see `Stream.on_columns`."""
    known = np.flatnonzero(places >= 0)
    shape = X.shape[0], len(places)
    if not sparse.issparse(X):
        other = np.zeros(shape, dtype=X.dtype)
        other[:, known] = X[:, places[known]]
        return other
    picked = sparse.csc_array(X)[:, places[known]].tocoo()
    entries = picked.data, (picked.row, known[picked.col])
    return sparse.csr_array(entries, shape=shape)


def _with_sums(self, values):
    """Return a tuple in which number, sum and sum of squares count further values."""
    return self._replace(
        count=self.count + len(values),
        total=self.total + values.sum(),
        squares=self.squares + (values**2).sum(),
    )


class Watch(NamedTuple):
    """A two-sided CUSUM test on the scores of rows, computed before rows are learned.

    Attributes
    ----------
    count, total, squares : float
        Number, sum and sum of squares of scores since the last test.
    tests : int
        Number of tests in the running mean, at most `TESTS_OF_MEAN`.
    mean : float
    above, below : float
        The cumulative sums of the test for a rise and for a fall of the scores.
    """

    count: float = 0.0
    total: float = 0.0
    squares: float = 0.0
    tests: int = 0
    mean: float = 0.0
    above: float = 0.0
    below: float = 0.0

    def after(self, scores, policy):
        watch = _with_sums(self, scores)
        if watch.count < ROWS_OF_TEST:
            return watch, False
        mean = watch.total / watch.count
        variance = max(watch.squares / watch.count - mean**2, 0.0)
        error = math.sqrt(variance / watch.count) or 1.0
        above = below = 0.0
        if self.tests:
            z = (mean - self.mean) / error
            above = max(0.0, self.above + z - policy.drift)
            below = max(0.0, self.below - z - policy.drift)
        if max(above, below) > policy.threshold:
            return Watch(), True
        tests = min(self.tests + 1, TESTS_OF_MEAN)
        running = self.mean + (mean - self.mean) / tests
        return Watch(0.0, 0.0, 0.0, tests, running, above, below), False


class Challenger(NamedTuple):
    """Parameters that a renewal has fitted, and their gain over the current parameters.

    Attributes
    ----------
    state : State
    born : ndarray of int
        Indices of the components that the renewal added.
    count, total, squares : float
        Number of rows that the challenger and the current parameters have scored, and
        sum and sum of squares of the differences of their scores.
    """

    state: Any
    born: np.ndarray
    count: float = 0.0
    total: float = 0.0
    squares: float = 0.0

    after = _with_sums

    @property
    def gain(self):
        """Mean gain of the rows, NaN without rows."""
        return self.total / self.count if self.count else math.nan

    def has_won(self, trial):
        """Return whether the challenger won; None if this is not decided yet."""
        if self.count < min(FEWEST_DECIDING, trial):
            return None
        variance = max(self.squares / self.count - self.gain**2, 0.0)
        error = math.sqrt(variance / self.count)
        if abs(self.gain) > CLEARLY * error or self.count >= trial:
            return bool(self.gain > 0)
        return None


class Renewal(NamedTuple):
    """Record of a renewal.

    Attributes
    ----------
    sample, step : int
        Number of rows and of steps before it.
    time : object
        Time of the last row, or None.
    reason : str
        "start" while the memory is not full, then "schedule" or "alarm".
    kept : bool or None
        Whether the challenger won; None if this is not decided yet.
    decided : int
        Number of rows before the decision; -1 before it.
    gain : float
        Mean gain of the rows that decided, in nats per observation.
    columns : tuple of int
        Indices of the new components.
    """

    sample: int
    step: int
    time: Any
    reason: str
    kept: Any = None
    decided: int = -1
    gain: float = math.nan
    columns: tuple = ()


class Alarm(NamedTuple):
    """Record of an alarm: numbers of rows and steps before it, and its time or None."""

    sample: int
    step: int
    time: Any


@dataclass(frozen=True)
class Stream:
    """State of a stream.

    Attributes
    ----------
    samples : int
        Number of rows so far.
    time : numpy.datetime64 or None
        Time of the last row.
    half_lives : float
        Age of the stream in half-lives.
    memory : Reservoir
    watch : Watch
    challenger : Challenger or None
    last, due : int
        Number of rows before the last renewal, and before the next one.
    changed : int
        Number of rows at the last alarm.
    reason : str
        Reason of the next renewal.
    renewals, alarms : tuple
        Records of the last `MOST_RECORDS` renewals and alarms.
    prevalence : Prevalence
    """

    samples: int = 0
    time: Any = None
    half_lives: float = 0.0
    memory: Reservoir = Reservoir()  # noqa: RUF009, a tuple
    watch: Watch = Watch()  # noqa: RUF009, a tuple
    challenger: Challenger | None = None
    last: int = 0
    due: int = FIRST_RENEWAL
    changed: int = -(10**15)
    reason: str = "start"
    renewals: tuple = ()
    alarms: tuple = ()
    prevalence: Prevalence = Prevalence()  # noqa: RUF009, a tuple

    @property
    def first_recent(self):
        """Index in the stream of the first row to which new components are fitted.

        It is the first row after the last renewal.  After an alarm, it is at least the
        first row of the last `TESTS_OF_ALARM` tests before the alarm.
        """
        return max(self.last, self.changed - TESTS_OF_ALARM * ROWS_OF_TEST)

    def renewed(self, challenger, interval, most, step):
        """Return the stream after a renewal; ``challenger`` is None if the fit failed.

        ``interval`` is the number of rows between renewals without an alarm, and
        ``most`` is the largest number of rows of the memory.
        """
        is_full = self.reason != "start" or self.half_lives >= 1
        is_full |= len(self.memory) >= most
        pause = max(self.samples, min(FIRST_RENEWAL, most))
        if is_full:
            pause = min(3 * (self.samples - self.changed), interval)
        due = self.samples + pause
        record = Renewal(self.samples, step, self.time, self.reason)
        if challenger is None:
            record = record._replace(kept=False, decided=self.samples)
        else:
            record = record._replace(columns=tuple(map(int, challenger.born)))
        return replace(
            self,
            challenger=challenger,
            last=self.samples,
            due=due,
            reason="schedule" if is_full else "start",
            renewals=(*self.renewals, record)[-MOST_RECORDS:],
        )

    def decided(self, kept):
        """Return the stream after the decision about its challenger."""
        record = self.renewals[-1]._replace(
            kept=bool(kept), decided=self.samples, gain=float(self.challenger.gain)
        )
        return replace(
            self,
            challenger=None,
            watch=Watch() if kept else self.watch,
            renewals=(*self.renewals[:-1], record),
        )

    def on_columns(self, places, converted):
        """Return the stream converted to another set of features.

        Parameters
        ----------
        places : ndarray of int of shape (n_features,)
            Previous index of each feature, -1 for a new feature.
        converted : callable
            Function that converts a `State` to these features.
        """
        stream, challenger = self, self.challenger
        if challenger is not None:
            challenger = challenger._replace(state=converted(challenger.state))
            stream = replace(self, challenger=challenger)
        if not len(self.memory):
            return stream
        pieces = tuple(_on_columns(piece, places) for piece in self.memory.pieces)
        return replace(stream, memory=Reservoir(pieces, *self.memory[1:]))

    def alarmed(self, wait, step):
        alarm, due = Alarm(self.samples, step, self.time), self.samples + wait
        return replace(
            self,
            alarms=(*self.alarms, alarm)[-MOST_RECORDS:],
            changed=self.samples,
            **({"due": due, "reason": "alarm"} if due < self.due else {}),
        )

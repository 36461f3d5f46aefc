"""The state of a fit: parameters, progress, convergence, and the state of policies."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .._utils._cache import twin
from ..schedules import Clock, Plan

# -- the history of a fit: a table of steps and moves with a bounded number of rows ----
#: Columns of the history that describe a move.
MOVE_COLUMNS = ("step", "seconds", "kept", "bound")
#: Number of bounds, at the end of a fit, from which the last two changes are computed.
LAST_BOUNDS = 3


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
        tables = {name: vars(self)[name] for name in ("_steps", "_scores", "_moves")}
        return twin(self, **{k: twin(v, rows=[*v.rows]) for k, v in tables.items()})

    def append(self, *, ladder=None, probabilities=None, **row):
        """Add a step; columns not given are NaN."""
        self._change_ladder(ladder)
        values = tuple([row.get(column, np.nan) for column in self.columns])
        self._last = _Row(values, probabilities)
        self._steps.append(self._last)

    def extend(self, n_steps, **columns):
        """Add steps, whose columns have one value for all steps or one for each."""
        self._change_ladder(None)
        table = np.full((n_steps, len(self.columns)), np.nan)
        for name, values in columns.items():
            table[:, self.columns.index(name)] = values
        for values in table.tolist():
            self._last = _Row(tuple(values), None)
            self._steps.append(self._last)

    def _change_ladder(self, ladder):
        if ladder is not self._ladder and not np.array_equal(ladder, self._ladder):
            self._ladder = ladder
            for table in (self._steps, self._scores):
                table.rows = [old._replace(probabilities=None) for old in table.rows]

    def add_score(self, score):
        row = dict(zip(self.columns, self._last.values, strict=True))
        row["heldout_score"] = score
        self._scores.append(self._last._replace(values=tuple(row.values())))

    def add_move(self, *move):
        """Add a move, with a value for each of `MOVE_COLUMNS`."""
        self._moves.append(move)

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
            given = (row.probabilities for row in rows)
            table = [unknown if p is None else p for p in given]
            columns["temperature_probabilities"] = np.array(table)
        if self._moves.rows:
            moves = zip(*self._moves.rows, strict=True)
            columns |= {
                f"move_{name}": np.array(values)
                for name, values in zip(MOVE_COLUMNS, moves, strict=True)
            }
        return columns


# -- the state of a fit: parameters, progress, convergence, and the state of policies
class MoveProgress(NamedTuple):
    """Progress of the moves of a fit.

    Attributes
    ----------
    left : tuple of int
        Number of planned proposals that are left, for each phase of moves.  A phase
        consists of all moves of one kind.
    n_proposed : int
        Number of proposals so far.
    failed : int
        Number of proposals rejected since the last accepted one.
    refused : frozenset
        Keys of these rejected proposals.
    on_part : bool
        Whether an accepted move was tested on a part of the rows, and no step on all
        rows followed yet.
    spare : tuple of int
        Numbers of proposals that were left when phases ended.
    last_kept : int
        The last phase in which a proposal was accepted.  Once all phases have ended,
        the spare proposals of those before it follow.
    """

    left: tuple = ()
    n_proposed: int = 0
    failed: int = 0
    refused: frozenset = frozenset()
    on_part: bool = False
    spare: tuple = ()
    last_kept: int = 0
    _new_fields = "spare", "last_kept"

    def after(self, policy, number, proposal, kept):
        left, spare = list(self.left), list(self.spare or (0,) * len(self.left))
        left[number] -= 1
        failed, refused = 0, frozenset()
        last_kept = max(self.last_kept, number * kept)
        if not (kept or proposal is None):
            failed, refused = self.failed + 1, self.refused | {proposal.key}
        if proposal is None or failed >= policy.patience or not left[number]:
            spare[number], left[number] = left[number], 0
            failed, refused = 0, frozenset()
        if not any(left):
            left[:last_kept], spare, last_kept = spare[:last_kept], (), 0
        done = tuple(left), self.n_proposed + 1, failed, refused
        return MoveProgress(*done, self.on_part, tuple(spare), last_kept)


@dataclass
class Progress:
    """Counters of steps, passes and rows.

    Attributes
    ----------
    steps, samples : int
        Number of completed steps, and total number of rows in their batches.
    idle_steps, idle_samples : int
        Number of steps with a rate of 0 at the beginning, and of their rows.  The clock
        of the policies starts after them.
    seconds : float
        Time of all steps and moves.
    passes, planned_passes : int
        Number of completed passes of `fit`, and of passes in its plan.
    earlier_passes : int
        Number of completed passes of plans that were finished before this plan.
    checked_passes : int
        Number of passes at the last check for early stopping.
    batches_into_pass : int
        Number of batches completed in the current pass.
    batches_of_pass, rows_of_pass : int
        Number of batches and of rows in the pass that `batches_into_pass` refers to.
    total_rows : int
        Number of known rows of the data: rows of `fit` plus rows of later `partial_fit`
        calls.
    first_rows_digest : str or None
        Digest of the first rows of a stream of known size.  It is replaced by "again"
        when the stream repeats these rows.
    """

    steps: int = 0
    samples: int = 0
    idle_steps: int = 0
    idle_samples: int = 0
    seconds: float = 0.0
    passes: int = 0
    planned_passes: int = 0
    earlier_passes: int = 0
    checked_passes: int = 0
    batches_into_pass: int = 0
    batches_of_pass: int = 0
    rows_of_pass: int = 0
    total_rows: int = 0
    first_rows_digest: str | None = None


@dataclass
class Convergence:
    """Quantities that tell whether a fit has converged.

    Attributes
    ----------
    lower_bound : float
        Lower bound of all data before the last step; NaN if the model does not compute
        it, see `ConjugateModel.watches_bound`.
    bound_change : float
        Change of `lower_bound` in the last step, or NaN.
    start_share : float
        Weight of the initial parameters in the current parameters.
    earlier_change : float
        Change of `lower_bound` in the step before the last, or NaN.
    """

    lower_bound: float = math.nan
    bound_change: float = math.nan
    start_share: float = 1.0
    earlier_change: float = math.nan

    def follow(self, bounds):
        """Note the lower bounds of consecutive steps; NaN is an unknown bound."""
        for bound in bounds[-LAST_BOUNDS:]:
            self.earlier_change = self.bound_change
            self.bound_change = float(bound - self.lower_bound)
            self.lower_bound = float(bound)

    @property
    def gain_left(self):
        """Rise of the bound by more steps, if changes shrink as in the last two.

        It is at least the last change, because changes shrink slower later.  It is
        infinite if they did not shrink, or are unknown.
        """
        change, earlier = self.bound_change, self.earlier_change
        if math.isnan(change):
            return math.inf
        if change <= 0 or earlier <= 0:
            return abs(change)
        left = change / (earlier - change) if change < earlier else math.inf
        return change * max(left, 1.0)


@dataclass
class PolicyStates:
    """States of the policies, and the plan from which "auto" parameters are resolved.

    Attributes
    ----------
    plan : Plan
    batch_size : int
        Largest number of rows of a step.
    temperature : float
        Temperature of the last step.
    tempering, learning_rate : object
        Values that these policies keep between steps.
    """

    plan: Plan = field(default_factory=Plan)
    batch_size: int = 0
    temperature: float = 1.0
    tempering: Any = None
    learning_rate: Any = None


@dataclass
class State:
    """State of a fit.  A fit that continues from a pickled state gives the same bits.

    Steps overwrite `globals_` and `history`.  To keep a state while its fit continues,
    make a `copy.deepcopy`.

    Attributes
    ----------
    globals_, hyper : object
        Global parameters and hyperparameters, values of the model.
    seed : int
        Step t draws from ``SeedSequence(seed, spawn_key=(t,))``, and pass p draws its
        order from ``SeedSequence(seed, spawn_key=(p, 1))``.  No other state of random
        numbers is stored.
    dtype : numpy.dtype
        Dtype of kernels and public arrays.
    n_features : int
        Number of columns of the data.
    fixed : dict or None
        Settings with which the model was built.
    local : ndarray or None
        Local parameters of all rows from which the next step starts, if the model needs
        them, see `ConjugateModel.keeps_local`.
    progress : Progress
    convergence : Convergence
    policies : PolicyStates
    moves : MoveProgress
    best : Best or None
        Best state so far by the held-out score, for early stopping.
    history : History
    stream : Stream or None
        State of a stream with a half-life.
    start : Start or None
        Start of the fit, until the fit is compared with a plain fit from there.
    plain_is_better : bool
        Whether the parameters come from that plain fit, or from its merged components.
    is_ordered : bool
        Whether a plan of passes was finished, so that components keep their order.
    choices : object
        What the caller decided before the fit, such as the names of columns.
    start_bounds : tuple of float
        Lower bounds of all completed runs, of which this is the best.
    """

    globals_: Any
    hyper: Any
    seed: int
    dtype: np.dtype
    n_features: int = 0
    fixed: Any = None
    local: Any = None
    progress: Progress = field(default_factory=Progress)
    convergence: Convergence = field(default_factory=Convergence)
    policies: PolicyStates = field(default_factory=PolicyStates)
    moves: MoveProgress = MoveProgress()
    best: Any = None
    history: History = field(default_factory=History)
    stream: Any = None
    start: Any = None
    plain_is_better: bool = False
    is_ordered: bool = False
    choices: Any = None
    start_bounds: tuple = ()

    @property
    def parameters(self):
        """The pair of global parameters and hyperparameters."""
        return self.globals_, self.hyper

    def clock(self, total_samples=None):
        """Return the clock of the next step; it starts after the idle steps."""
        progress = self.progress
        return Clock(
            progress.steps - progress.idle_steps,
            progress.samples - progress.idle_samples,
            total_samples,
        )

    def copied(self):
        """Return a copy with its own `progress`, `convergence` and `policies`."""
        names = "progress", "convergence", "policies"
        return twin(self, **{name: twin(vars(self)[name]) for name in names})

    def trial(self, globals_=None, hyper=None, seed=None):
        """Return a new state for a trial, with these parameters or the current ones."""
        if globals_ is None:
            globals_, hyper = self.parameters
        return State(globals_, hyper, self.seed if seed is None else seed, self.dtype)

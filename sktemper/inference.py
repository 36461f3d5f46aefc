"""The loop: one stochastic natural-gradient step, repeated; its state; its history."""

import contextlib
import copy
import functools
import itertools
import math
import operator
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError, wait
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .learning_rates import ConstantRate, LearningRate
from .linalg import one_blas_thread
from .model import NOT_FINITE, IllDefined, Powers, all_finite
from .moves import Moves, NoMoves, Proposal
from .noise import GradientNoise, NoNoise
from .policy import as_number, as_numbers
from .schedules import HOTTEST, Clock, Plan
from .tempering import Tempering, Untempered

__all__ = [
    "History",
    "Policies",
    "State",
    "Workers",
    "advance",
    "evidence_bound",
    "run_moves",
    "run_passes",
    "run_pieces",
]

#: What overflows is refused at the end of a step, and need not be warned of before.
QUIETLY = functools.partial(np.errstate, over="ignore", invalid="ignore")
#: What the history tells of a move.
MOVE_COLUMNS = ("step", "seconds", "kept", "bound")
#: Steps on all rows after those on a part of them, before a move is judged.
SETTLING_STEPS = 3
#: Rows that judge moves after minibatches, where steps on all would take too long.
JUDGING_ROWS = 100_000
#: Proposals in a row that are tried on the same rows, at most.
MOVES_OF_A_PART = 5
#: Seconds that the calling thread may sleep without a look for Ctrl-C.
LONGEST_SLEEP = 0.05


class Policies(NamedTuple):
    """The policies of a fit, resolved."""

    tempering: Tempering
    learning_rate: LearningRate
    gradient_noise: GradientNoise
    moves: Moves = NoMoves()


# -- threads -------------------------------------------------------------------------


class Workers:
    """A pool of threads as the loop's ``map``; the only parallelism there is.

    The calling thread only waits, so that Ctrl-C reaches it at any time; it then tells
    the kernels to stop, waits for them, and raises.

    Parameters
    ----------
    n_threads : int
    stop : ndarray of shape (1,), int
        `ConjugateModel.stop`.
    """

    def __init__(self, n_threads, stop):
        self.n_threads = n_threads
        self.stop = stop
        self._pool = ThreadPoolExecutor(n_threads, "sktemper")
        self._blas = one_blas_thread()

    def __enter__(self):
        self._blas.__enter__()
        return self

    def __exit__(self, error, *_):
        if error is not None:
            self.stop[0] = 1  # for what nobody waited for
        try:
            self._pool.shutdown(cancel_futures=True)
            self.stop[0] = 0
        finally:
            self._blas.__exit__(None, None, None)

    def map(self, function, items):
        """Yield ``function(item)`` in the order of ``items``, few of them ahead."""
        items, pending = iter(items), deque()
        try:
            while True:
                for item in itertools.islice(items, 2 * self.n_threads - len(pending)):
                    pending.append(self._pool.submit(function, item))
                if not pending:
                    return
                yield _result(pending[0])
                pending.popleft()
        except BaseException as error:
            self.stop[0] = 1
            # what has not begun never does, and nobody is told of it
            wait([future for future in pending if not future.cancel()])
            if not isinstance(error, KeyboardInterrupt):
                self.stop[0] = 0  # else a task may be on its way that is not pending
            raise

    def run_whole(self, function):
        """Run ``function()`` to its end or not at all, whatever signals arrive."""
        future = Future()

        def run():
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function())
                except BaseException as error:
                    future.set_exception(error)

        try:
            self._pool.submit(run)
            _result(future)
        except KeyboardInterrupt:
            while not future.cancel() and not future.done():
                with contextlib.suppress(KeyboardInterrupt):  # one is enough
                    wait([future])
            raise


def _result(future):
    """Return a future's result, or raise; a signal raises soon.

    One that arrives in the moment before the thread sleeps does not wake it up, and on
    Windows none does.
    """
    while True:
        try:
            return future.result(timeout=LONGEST_SLEEP)
        except TimeoutError:
            if future.done():  # meanwhile, or with this very error
                return future.result()


# -- state ---------------------------------------------------------------------------


class _Thinned:
    """Rows of a table, at most ``limit``: thinned by doubling the stride."""

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
    """A step in the history; ``probabilities`` is None where there are none."""

    values: tuple
    probabilities: Any


class History:
    """What happened: a row a step, thinned evenly once there are too many.

    Rows with a held-out score are thinned apart from those without, so that they are
    not lost among them.

    Where the tempering has a ladder, the column "temperature_probabilities" has the
    distribution over it at which each step was taken, (n_rows, n_temperatures).  Once
    the tempering changes, only the rows on the new ladder have one; those before are
    NaN, or the column is gone if there is no ladder any more.

    Where moves were proposed, "move_step" has the steps done before each,
    "move_seconds" the time after it, "move_kept" whether it was, and "move_bound" the
    lower bound after it.
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
    )

    def __init__(self, limit=1000):
        self._steps, self._scores = _Thinned(limit), _Thinned(limit)
        self._moves = _Thinned(limit)
        self._ladder = None

    def append(self, *, ladder=None, probabilities=None, **row):
        """Add a step; columns not given are NaN."""
        if not np.array_equal(ladder, self._ladder):
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
        """Add a move: what `MOVE_COLUMNS` name."""
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


@dataclass
class State:
    """All that changes during a fit: pickle it, and the fit goes on from there.

    Steps reuse the memory of `globals_` and `history`: to keep a state while its fit
    goes on, take a `copy.deepcopy`.

    Attributes
    ----------
    globals_, hyper : object
        Values of the model.
    seed : int
        Step t draws from ``SeedSequence(seed, spawn_key=(t,))``, pass p its order
        from ``SeedSequence(seed, spawn_key=(p, 1))``: nothing else random is stored.
    dtype : numpy.dtype
        Of kernels and public arrays.
    fixed : dict or None
        The estimator's parameters that made the model.
    total_rows : int
        Rows of the data so far as known: those of `fit` once, and those of later
        `partial_fit` calls.
    first_row : str or None
        A digest of the first row of a stream of known size; "again" once it came again.
    steps, samples : int
        Global steps done, and samples seen, repeats included.
    idle_steps, idle_samples : int
        Those before the first step that changed anything: no clock counts them.
    passes, batches_into_pass, planned_passes : int
        Where in the plan of `fit` the state is.
    rows_of_pass, batches_of_pass : int
        Into how many batches the last pass cut how many rows: what `batches_into_pass`
        counts, see `first_batch`.
    judged : int
        Passes after which it was decided whether to go on.
    moves_left : tuple of int
        Proposals that the plan still has, of each kind of moves.
    moves_made, moves_failed : int
        Proposals so far, and those in a row that were not kept,
    moves_refused : frozenset
        and what names them.
    on_part : bool
        Whether a move was kept for what it does to some of the rows, and no step on all
        of them was taken since.
    local : ndarray or None
        Local parameters of all rows after a step on all of them, where the next one
        goes on from them, see `ConjugateModel.keeps_local`.
    lower_bound, bound_change : float
        Lower bound of all data before the last step, and its change since the step
        before that; NaN where not watched, see `ConjugateModel.watches_bound`.
    start_share : float
        The weight that the start still has in the global parameters.
    """

    globals_: Any
    hyper: Any
    seed: int
    dtype: np.dtype
    fixed: Any = None
    total_rows: int = 0
    first_row: str | None = None
    steps: int = 0
    samples: int = 0
    idle_steps: int = 0
    idle_samples: int = 0
    passes: int = 0
    batches_into_pass: int = 0
    rows_of_pass: int = 0
    batches_of_pass: int = 0
    planned_passes: int = 0
    judged: int = 0
    moves_left: tuple = ()
    moves_made: int = 0
    moves_failed: int = 0
    moves_refused: frozenset = frozenset()
    on_part: bool = False
    local: Any = None
    lower_bound: float = math.nan
    bound_change: float = math.nan
    start_share: float = 1.0
    seconds: float = 0.0
    temperature: float = 1.0
    batch_size: int = 0
    plan: Plan = field(default_factory=Plan)
    tempering: Any = None
    learning_rate: Any = None
    best: Any = None
    history: History = field(default_factory=History)

    def clock(self, total_samples=None):
        """Return the time of the next step, since the first that changed anything."""
        return Clock(
            self.steps - self.idle_steps,
            self.samples - self.idle_samples,
            total_samples,
        )


# -- one step ------------------------------------------------------------------------


def _local_task(model, X, tempering, prepared, state, item):
    """Local step of one block: the pure function that the loop maps."""
    rows, row_weight, weights, powers, seed, local_init = item
    block = model.take(X, rows)
    with QUIETLY():
        step = tempering.local_step(
            model, block, prepared, powers, weights, seed, state, local_init
        )
        return step if row_weight is None else step.weighted(row_weight)


def _blocks(model, rows, row_weight, units, weights, powers, seeds, local):
    """Cut a batch into fixed blocks, counted from its first row."""
    ends = np.concatenate([[0], np.cumsum(units)])
    for start in range(0, len(rows), model.block_size):
        stop = min(start + model.block_size, len(rows))
        cut = slice(ends[start], ends[stop])
        yield (
            _as_slice(rows[start:stop]),
            None if row_weight is None else row_weight[start:stop],
            None if weights is None else weights[cut],
            type(powers)(*(part[cut] if np.ndim(part) else part for part in powers)),
            int(seeds.integers(2**63)),
            None if local is None else local[start:stop],
        )


def _as_slice(rows):
    """Return a slice if rows follow one another: it takes a view where they are."""
    first, last = int(rows[0]), int(rows[-1])
    if last - first == len(rows) - 1 and (np.diff(rows) == 1).all():
        return slice(first, last + 1)
    return rows


def _weighted(powers, units, row_weight):
    """Return powers at which each unit counts as often as its row's weight says."""
    if row_weight is None:
        return powers
    by_unit = np.repeat(row_weight, units)
    return powers._replace(statistics=powers.statistics * by_unit)


def _powers(tempering, state, clock, n_units):
    """Return the `Powers` of a step, checked as all values of policies are."""
    powers = tempering.powers(state, clock)
    if not isinstance(powers, Powers):
        raise TypeError(
            f"{type(tempering).__name__} gave {powers!r} as the powers, which must be "
            "of the class Powers."
        )

    def checked(power, name):
        what = f"power of the {name}"
        if np.ndim(power):
            return as_numbers(power, tempering, what, n_units, 1 / HOTTEST, 1.0)
        return as_number(power, tempering, what, 1 / HOTTEST, 1.0)

    return Powers(
        as_number(powers.prior, tempering, "power of the prior", 1 / HOTTEST, 1.0),
        checked(powers.statistics, "statistics"),
        checked(powers.local, "local step"),
    )


def _ladder(tempering, state):
    """Return the temperatures of a ladder and their probabilities, or None twice."""
    ladder, probabilities = tempering.ladder(), tempering.probabilities(state)
    if ladder is None and probabilities is None:
        return None, None
    n = np.size(ladder)
    return (
        as_numbers(ladder, tempering, "temperatures of the ladder", n, 0.0),
        as_numbers(probabilities, tempering, "probabilities of the ladder", n, 0.0),
    )


def _weights(noise, n_units, clock, random):
    """Return the weights of a batch's units, or None."""
    weights = noise.weights(n_units, clock, random)
    return None if weights is None else as_numbers(weights, noise, "weights", n_units)


def _rate(learning_rate, state, clock, gradient):
    """Return the rate of a step and the state after it."""
    answer = learning_rate.next_rate(state, clock, gradient)
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise TypeError(
            f"{type(learning_rate).__name__} gave {answer!r}, which must be a pair: "
            "the rate of a step and the state after it."
        )
    rate, state = answer
    what = f"learning rate of step {clock.steps + 1}"
    return as_number(rate, learning_rate, what, 0.0, 1.0), state


def prepared_of(model, globals_, hyper, prepare=True):
    """Return what a model prepares, all of it finite.

    Without ``prepare`` return None: only look at the parameters.

    Raises
    ------
    IllDefined
        If something is not, or the parameters have left their domain.
    """
    with QUIETLY(divide="ignore"):
        try:
            prepared = model.prepare(globals_, hyper) if prepare else None
        except IllDefined:
            raise
        except ValueError as error:
            overflow = isinstance(error, np.linalg.LinAlgError)
            if overflow or not all_finite(globals_, hyper):
                raise IllDefined(NOT_FINITE) from error
            raise
        if not model.is_finite(globals_, hyper, prepared):
            raise IllDefined(NOT_FINITE)
    return prepared


@QUIETLY()
def advance(
    model,
    policies,
    state,
    workers,
    X,
    rows,
    *,
    total,
    clock_total,
    sample_weight=None,
    on_commit=None,
    prepared=None,
    prepare=True,
):
    """Take one step on ``X[rows]`` and commit it to ``state``.

    Only what is finite is committed, and what the next step can be prepared from.

    Parameters
    ----------
    total : int
        D, the size of the data that the batch stands for.
    clock_total : int or None
        What a pass is for the schedules.
    sample_weight : ndarray of shape (n_samples,) or None
    on_commit : callable or None
        Runs inside of the commit, which nothing can interrupt.
    prepared : object or None
        What the last step returned, if it was the last to change the state.
    prepare : bool
        Whether to prepare the next step: at the end of a call it costs time.

    Returns
    -------
    prepared : object or None
        For the next step.
    """
    begin = time.perf_counter()
    clock = state.clock(clock_total)
    if prepared is None:
        prepared = prepared_of(model, state.globals_, state.hyper)
    seeds = np.random.default_rng(
        np.random.SeedSequence(state.seed, spawn_key=(state.steps,))
    )
    units = model.units_per_row(X, rows)
    n_units = int(units.sum())
    temperature = as_number(
        policies.tempering.temperature(state.tempering, clock),
        policies.tempering,
        f"temperature of step {clock.steps + 1}",
        1.0,
        HOTTEST,
    )
    powers = _powers(policies.tempering, state.tempering, clock, n_units)
    ladder, probabilities = _ladder(policies.tempering, state.tempering)
    weights = _weights(policies.gradient_noise, n_units, clock, seeds)
    row_weight = None if sample_weight is None else sample_weight[rows]
    weighted = _weighted(powers, units, row_weight)
    task = functools.partial(
        _local_task, model, X, policies.tempering, prepared, state.tempering
    )
    whole = len(rows) == total
    before = state.local if whole and np.shape(state.local)[:1] == (total,) else None
    kept = []

    def keeping(steps):
        for step in steps:
            if model.keeps_local and whole:
                kept.append(step.local_parameters)
            yield step

    blocks = _blocks(model, rows, row_weight, units, weights, weighted, seeds, before)
    local = functools.reduce(operator.add, keeping(workers.map(task, blocks)))
    if not all_finite(local.bound, local.score):
        raise IllDefined(NOT_FINITE)
    scale = total / len(rows)

    def gradient():
        target = model.target_parameters(local.statistics, scale, powers, state.hyper)
        vector = target - model.natural_parameters(state.globals_)
        return vector, model.fisher_product(state.globals_, vector)

    wanted_rate, rate_state = _rate(
        policies.learning_rate, state.learning_rate, clock, gradient
    )

    def guarded(rate, hyper):
        guarded = policies.gradient_noise.guarded(
            rate,
            lambda: model.largest_rate(
                state.globals_, local.statistics, scale, powers, hyper
            ),
        )
        return as_number(guarded, policies.gradient_noise, "guarded rate", 0.0, 1.0)

    rate = guarded(wanted_rate, state.hyper)
    lower_bound = math.nan
    if model.watches_bound and whole and weights is None and temperature == 1.0:
        lower_bound = local.bound + model.global_bound(state.globals_, state.hyper)
    tempering_state = policies.tempering.next_state(
        state.tempering, local, scale, clock
    )
    hyper = model.update_hyper(
        state.hyper, state.globals_, local.statistics, scale, rate, powers
    )
    rate = guarded(rate, hyper)  # with which the step is taken
    _ladder(policies.tempering, tempering_state)
    kept = np.concatenate(kept) if kept else None

    def stepped():
        with QUIETLY():
            globals_ = model.step(
                state.globals_, local.statistics, scale, powers, rate, hyper
            )
        return globals_, prepared_of(model, globals_, hyper, prepare)

    after = None if model.steps_in_place else stepped()

    def commit():
        nonlocal after
        if after is None:
            after = stepped()
        state.globals_, state.hyper, state.local = after[0], hyper, kept
        state.tempering, state.learning_rate = tempering_state, rate_state
        state.steps += 1
        state.samples += len(rows)
        if rate == 0 and state.start_share == 1:  # a policy only looks, at first
            state.idle_steps, state.idle_samples = state.steps, state.samples
        state.bound_change = lower_bound - state.lower_bound
        state.lower_bound = lower_bound
        state.start_share *= 1.0 - rate
        state.temperature = temperature
        state.seconds += time.perf_counter() - begin
        state.history.append(
            step=state.steps,
            passes=state.samples / total,
            seconds=state.seconds,
            temperature=temperature,
            learning_rate=rate,
            rate_share=rate / wanted_rate if wanted_rate else 1.0,
            batch_bound=_per_observation(local),
            mean_iterations=local.n_iterations / len(rows),
            lower_bound=lower_bound,
            ladder=ladder,
            probabilities=probabilities,
        )
        if on_commit is not None:
            on_commit()

    workers.run_whole(commit)
    return after[1]


def _per_observation(local):
    """Return the bound per observation, 0 of none; tiny counts are none."""
    return local.bound / local.n_observed if local.n_observed > 1e-100 else 0.0


# -- many steps ----------------------------------------------------------------------


def order_of_pass(rows, seed, number, shuffle):
    """Return the rows in the order in which a pass visits them."""
    if not shuffle:
        return rows
    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number, 1)))
    return random.permutation(rows)


def first_batch(state, n_rows, n_batches):
    """Return with which of its batches the pass under way goes on.

    If batches have another size now, with the one that has the first row not visited
    yet: none is left out, and few are visited again.  If there are other rows, which
    the pass visits in another order, with its first.
    """
    if state.batches_into_pass == 0 or state.rows_of_pass != n_rows:
        return 0
    if state.batches_of_pass == n_batches:
        return state.batches_into_pass
    before = _ends_of_batches(n_rows, state.batches_of_pass)
    visited = before[state.batches_into_pass - 1]
    return int(np.searchsorted(_ends_of_batches(n_rows, n_batches), visited, "right"))


def _ends_of_batches(n_rows, n_batches):
    """Return where `numpy.array_split` ends each batch."""
    size, larger = divmod(n_rows, n_batches)
    number = np.arange(1, n_batches + 1)
    return size * number + np.minimum(number, larger)


def run_passes(
    model,
    policies,
    state,
    workers,
    X,
    rows,
    *,
    shuffle=True,
    total=None,
    sample_weight=None,
    on_commit=None,
    before_pass=None,
    after_pass=None,
):
    """Finish the planned passes of a fit over ``X[rows]``.

    A pass is cut into batches of at most ``state.batch_size`` rows, as even as
    possible: there is no small last batch with a great weight.  An interrupted pass
    goes on where it was, see `first_batch`.

    Parameters
    ----------
    before_pass, after_pass : callable or None
        Called around each pass, or what is left of it; `after_pass` ends the fit by
        returning True.
    """
    n_batches = -(-len(rows) // state.batch_size)
    shuffle = shuffle and n_batches > 1
    total = total or len(rows)
    prepared = None
    while state.passes < state.planned_passes:
        if before_pass is not None:
            before_pass()
        order = order_of_pass(rows, state.seed, state.passes, shuffle)
        batches = np.array_split(order, n_batches)
        first = first_batch(state, len(rows), n_batches)
        for number, batch in enumerate(batches[first:], first + 1):

            def count(number=number):
                state.rows_of_pass, state.batches_of_pass = len(rows), n_batches
                state.batches_into_pass = number % n_batches
                state.passes += number == n_batches
                if on_commit is not None:
                    on_commit()

            prepared = advance(
                model,
                policies,
                state,
                workers,
                X,
                batch,
                total=total,
                clock_total=total,
                sample_weight=sample_weight,
                on_commit=count,
                prepared=prepared,
            )
        if after_pass is not None and after_pass():
            return


def run_moves(
    model,
    policies,
    state,
    workers,
    X,
    rows,
    *,
    total,
    sample_weight=None,
    on_commit=None,
    least_gain=0.0,
    before_move=None,
    after_move=None,
):
    """Make the planned moves of a fit to ``X[rows]``.

    A proposal is brought to its optimum on some of the rows; unless the lower bound is
    clearly below that of the present state there, fitted to the same rows, also on
    those that judge it, and if there it is above, the proposal is the model.  The steps
    on it are not those of the fit.

    All rows judge, but after minibatches at most `JUDGING_ROWS`; then what moves have
    led to takes a few steps on all rows at last.

    Parameters
    ----------
    least_gain : float
        By how much the lower bound has to rise.
    before_move, after_move : callable or None
        Called around each move; `after_move`, with the lower bound after it and
        whether it was kept, ends the moves by returning True.
    """
    trials = _Trials(model, workers, X, rows, state, total, sample_weight)
    best = trials.bound(state) if any(state.moves_left) else None
    while any(state.moves_left):
        if before_move is not None:
            before_move()
        begin = time.perf_counter()
        number = next(i for i, left in enumerate(state.moves_left) if left)
        moves = policies.moves.phases()[number]
        proposal, trial, reached = trials.of(moves, state)
        noise = 8 * np.finfo(state.dtype).eps * abs(best)
        kept = bool(reached > best + max(least_gain, noise))
        best = reached if kept else best
        counts = _after_move(state, moves, number, proposal, kept)
        on_part = trials.on_part and (kept or state.on_part)
        settled = None
        if on_part and not any(counts["moves_left"]):
            settled = trials.settled(trial if kept else state)
            best, on_part = trials.bound(settled, trials.all_rows), False
        chosen = settled or (trial if kept else None)

        def commit(
            chosen=chosen,
            counts=counts,
            on_part=on_part,
            proposal=proposal,
            kept=kept,
            best=best,
            begin=begin,
        ):
            if chosen is not None:
                state.globals_, state.hyper = chosen.globals_, chosen.hyper
                state.lower_bound = chosen.lower_bound
                state.bound_change = chosen.bound_change
                state.local = None
            vars(state).update(counts)
            state.on_part = on_part
            state.seconds += time.perf_counter() - begin
            if proposal is not None:
                state.history.add_move(
                    step=state.steps, seconds=state.seconds, kept=kept, bound=best
                )
            if on_commit is not None:
                on_commit()

        workers.run_whole(commit)
        if after_move is not None and after_move(best, kept):
            return


def _after_move(state, moves, number, proposal, kept):
    """Return the counters of a state after a move."""
    left = list(state.moves_left)
    left[number] -= 1
    failed, refused = state.moves_failed, state.moves_refused
    if kept:
        failed, refused = 0, frozenset()
    elif proposal is not None:
        failed, refused = failed + 1, refused | {proposal.key}
    if proposal is None or failed >= moves.patience:
        left[number] = 0
    if not left[number]:
        failed, refused = 0, frozenset()
    return {
        "moves_left": tuple(left),
        "moves_made": state.moves_made + 1,
        "moves_failed": failed,
        "moves_refused": refused,
    }


class _Trials:
    """What proposals are tried on: some rows first, then those that judge them.

    All rows judge after steps on all of them, after minibatches at most `JUDGING_ROWS`.

    Attributes
    ----------
    all_rows, rows : ndarray
        Those of the fit that count at all, and those that judge.
    on_part : bool
        Whether the latter are fewer.
    """

    def __init__(self, model, workers, X, rows, state, total, sample_weight):
        self.model, self.workers, self.X = model, workers, X
        self.sample_weight = sample_weight
        self.scale = total / len(rows)
        if sample_weight is not None:
            rows = rows[sample_weight[rows] > 0]
        self.all_rows = self.rows = rows
        if state.batch_size < len(rows):
            random = _random(state, state.passes, 6)
            self.rows = _some(rows, JUDGING_ROWS, random)
        self.on_part = len(self.rows) < len(rows)
        self._known = None, None

    def of(self, moves, state):
        """Propose a move of a state.

        Returns
        -------
        proposal : Proposal or None
        trial : State
            Where it leads,
        bound : float
            and the bound there; -inf if a part of the rows speaks against it.
        """
        # the same ones for a while, so that the present state is seldom fitted to them
        number = state.moves_made - state.moves_failed % MOVES_OF_A_PART
        part = _some(self.rows, moves.max_samples, _random(state, number, 5))
        random = _random(state, state.moves_made, 4)
        proposal = moves.propose(
            self.model,
            state.globals_,
            state.hyper,
            self.model.take(self.X, _as_slice(part)),
            random,
            state.moves_refused,
            None if self.sample_weight is None else self.sample_weight[part],
        )
        if proposal is None:
            return None, None, -math.inf
        if not isinstance(proposal, Proposal):
            raise TypeError(
                f"{type(moves).__name__} gave {proposal!r} as the proposal, which must "
                "be of the class Proposal, or None."
            )
        seed = int(random.integers(2**31))
        trial = State(proposal.globals_, proposal.hyper, seed, state.dtype)
        try:
            reached = self._reached(trial, moves, state, number, part)
        except IllDefined:
            reached = -math.inf
        return proposal, trial, reached

    def _reached(self, trial, moves, state, number, part):
        """Take a trial to its optimum; return the bound there, see `of`."""
        n_steps = moves.n_steps(self.model)
        n_steps = int(as_number(n_steps, moves, "number of steps", 1.0))
        tempering = moves.tempering(n_steps)
        if not isinstance(tempering, Tempering):
            raise TypeError(
                f"{type(moves).__name__} gave {tempering!r} as the tempering of its "
                "steps, which must be of the class Tempering."
            )
        self.improve(trial, part, n_steps, tempering)
        if len(part) < len(self.rows):
            present = self._fitted(state, part, (number, moves), n_steps)
            if self._is_worse(trial, present, part):
                return -math.inf
            self.improve(trial, self.rows, SETTLING_STEPS)
        return self.bound(trial)

    def _fitted(self, state, part, key, n_steps):
        """Return the bounds of the present state once it is fitted to a part, too."""
        if self._known[0] != key:
            present = State(state.globals_, state.hyper, state.seed, state.dtype)
            self.improve(present, part, n_steps)
            self._known = key, self._bounds(present, part)
        return self._known[1]

    def _is_worse(self, trial, present, part):
        """Return whether a part says that a trial lowers the bound of all rows.

        By more than a standard error: what helps few rows may not show in a part.
        """
        rises, rise = (
            a - b for a, b in zip(self._bounds(trial, part), present, strict=True)
        )
        rise += rises.sum()
        return rise <= -rises.std() * len(part) ** 0.5

    def _bounds(self, state, rows):
        """Return the part of each row in the bound, and that of the parameters."""
        prepared = self.model.prepare(state.globals_, state.hyper)
        steps = map_blocks(
            self.model,
            self.workers,
            self.X,
            lambda block: (
                self.model.local_step(
                    block, prepared, Powers(), want=("bound",)
                ).row_bounds
            ),
            rows,
        )
        scale = self._scale_of(rows)
        if self.sample_weight is not None:
            scale = scale * self.sample_weight[rows]
        bounds = scale * np.concatenate(list(steps))
        return bounds, self.model.global_bound(state.globals_, state.hyper)

    def settled(self, state):
        """Return a state after a few steps on all rows."""
        settled = State(state.globals_, state.hyper, state.seed, state.dtype)
        self.improve(settled, self.all_rows, SETTLING_STEPS)
        return settled

    def bound(self, state, rows=None):
        """Return the lower bound of some rows, in place of all; None is `rows`."""
        rows = self.rows if rows is None else rows
        data = self.workers, self.X, self.sample_weight, rows, self._scale_of(rows)
        return evidence_bound(self.model, state.globals_, state.hyper, *data)

    def improve(self, trial, rows, n_steps, tempering=Untempered()):  # noqa: B008
        """Take steps of coordinate ascent on some rows."""
        policies = Policies(tempering, ConstantRate(1.0), NoNoise())
        trial.steps = trial.samples = 0
        prepared = None
        for _ in range(n_steps):
            prepared = advance(
                self.model,
                policies,
                trial,
                self.workers,
                self.X,
                rows,
                total=self._scale_of(rows) * len(rows),
                clock_total=None,
                sample_weight=self.sample_weight,
                prepared=prepared,
            )

    def _scale_of(self, rows):
        """Return what the rows are multiplied by to stand for all."""
        weight = self.sample_weight
        if weight is None:
            return self.scale * (len(self.all_rows) / len(rows))
        return self.scale * (weight[self.all_rows].sum() / weight[rows].sum())


def _random(state, number, kind):
    """Return the random numbers of one kind that a state has for a number."""
    return np.random.default_rng(
        np.random.SeedSequence(state.seed, spawn_key=(number, kind))
    )


def _some(rows, most, random):
    """Return all of the rows, or as many as wanted."""
    if len(rows) <= most:
        return rows
    return np.sort(random.choice(rows, most, replace=False))


def evidence_bound(
    model, globals_, hyper, workers, X, sample_weight=None, rows=None, scale=1.0
):
    """Return the evidence lower bound of ``X[rows]`` at T=1, its rows weighted.

    The rows' part is multiplied by ``scale``, for rows that stand for more.
    """
    prepared = model.prepare(globals_, hyper)
    steps = map_blocks(
        model,
        workers,
        X,
        lambda block: model.local_step(block, prepared, Powers(), want=("bound",)),
        rows,
    )
    if sample_weight is None:
        local_bound = sum(step.bound for step in steps)
    else:
        row_bounds = np.concatenate([step.row_bounds for step in steps])
        weight = sample_weight if rows is None else sample_weight[rows]
        local_bound = (weight * row_bounds).sum()
    return float(scale * local_bound + model.global_bound(globals_, hyper))


def run_pieces(
    model,
    policies,
    state,
    workers,
    X,
    size,
    *,
    total_samples=None,
    sample_weight=None,
    on_commit=None,
):
    """Take the rows of a chunk of a stream in order, ``size`` a step."""
    total = total_samples or state.total_rows + X.shape[0]
    prepared = None
    for start in range(0, X.shape[0], size):
        rows = np.arange(start, min(start + size, X.shape[0]))

        def count(rows=rows):
            state.total_rows += len(rows)
            if on_commit is not None:
                on_commit()

        prepared = advance(
            model,
            policies,
            state,
            workers,
            X,
            rows,
            total=total,
            clock_total=total_samples,
            sample_weight=sample_weight,
            on_commit=count,
            prepared=prepared,
            prepare=start + size < X.shape[0],
        )


def map_blocks(model, workers, X, function, rows=None):
    """Yield ``function(block)`` over ``X``, or ``X[rows]``, in order."""

    def task(chosen):
        return function(model.take(X, chosen))

    n, size = X.shape[0] if rows is None else len(rows), model.block_size
    slices = (slice(start, min(start + size, n)) for start in range(0, n, size))
    if rows is not None:
        slices = (_as_slice(rows[part]) for part in slices)
    return workers.map(task, slices)


def is_over(state, score, settled, n_iter_no_change, tol):
    """Note a held-out score in ``state.best`` and return whether to stop early.

    Only states at settled temperatures compete.
    """
    if not settled or np.isnan(score):
        return False
    if state.best is None or score > state.best["score"] + tol:
        state.best = {
            "score": score,
            "failures": 0,
            "globals_": copy.deepcopy(state.globals_),
            "hyper": copy.deepcopy(state.hyper),
        }
        return False
    state.best["failures"] += 1
    return state.best["failures"] >= n_iter_no_change

"""Steps on the batches of passes and of streams, and ascents of the model."""

import contextlib
import math
import time
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._contract import Ascent
from .._utils._budgets import TERMS_AT_ONCE
from ..schedules import Clock
from ._data import Batch, InMemory, Purpose, Rows, generator
from ._step import Steps

# -- ascents: several steps of coordinate ascent in one call of the model --------------
#: Largest number of multiplications of a step that one thread takes.  Larger steps are
#: divided into at most `MOST_SECTIONS` sections, if the model can do so, which threads
#: share.  Steps with more than `PRODUCTS_OF_SECTION` in a section, which would delay
#: Ctrl-C, are divided into blocks.
MOST_PRODUCTS, MOST_SECTIONS, PRODUCTS_OF_SECTION = 4e7, 16, 2e8
#: Largest number of values that are copied for an ascent with sections.
MOST_COPIED = 1e7
#: Largest number of passes of a commit.
MOST_TOGETHER = 128


class Plan(NamedTuple):
    """Steps of an ascent.

    Attributes
    ----------
    powers : ndarray of shape (n_steps, 3)
    temperatures : ndarray of shape (n_steps,)
    flags : ndarray of int32 of shape (n_steps,)
        See `Ascent`.
    """

    powers: Any
    temperatures: Any
    flags: Any

    def after(self, n_steps):
        """Return the plan after its first steps."""
        return Plan(*(part[n_steps:] for part in self))


def ascent_on(problem, rows, hyper):
    """Return the `Ascent` of the model on some rows, or None; the last two are cached.

    Whether there is one depends on the sizes of the problem only, so that results do
    not depend on the number of threads.
    """
    for known, ascent in problem.ascents:
        if known is rows or np.array_equal(known, rows):
            return ascent
    ascent = _ascent_on(problem, rows, hyper)
    problem.ascents[:] = [*problem.ascents[-1:], (rows, ascent)]
    return ascent


def _ascent_on(problem, rows, hyper):
    model, data = problem.model, problem.data
    fits = len(data.parts) == 1 and isinstance(data.parts[0], InMemory)
    fits = fits and problem.labels is None
    if not fits or not (n_sections := sections_of(model, data, len(rows))):
        return None
    part, weight = data.parts[0], problem.row_weight
    weight = None if weight is None else weight[rows]
    if n_sections > 1 and not (model._ascends_in_blocks or part.is_view(model, rows)):
        if len(rows) * data.values_per_row > MOST_COPIED:
            return None
    ascent = None
    if n_sections == 1 or not model._ascends_in_blocks:
        ascent = model.ascent(data.take(model, rows), hyper, weight)
    if ascent is None and model._ascends_in_blocks:
        ascent = model.ascent_in_blocks(part.blocks(model, rows), weight)
    if ascent is not None:
        ascent.n_sections = n_sections
    return ascent


def sections_of(model, data, n_rows):
    """Return the number of sections of an ascent on some rows.

    It is 0 if the model has no ascents, or none of that size, see
    `ConjugateModel.most_sections`.
    """
    if model._missing("ascents"):
        return 0
    size = n_products(model, data, n_rows)
    if size <= MOST_PRODUCTS:
        return 1
    if size > MOST_SECTIONS * PRODUCTS_OF_SECTION:  # or unknown, infinite
        return 0
    n_sections = min(math.ceil(size / MOST_PRODUCTS), MOST_SECTIONS)
    return n_sections if n_sections <= model.most_sections(n_rows) else 0


def n_products(model, data, n_rows):
    """Return the number of multiplications of a step on some rows."""
    return n_rows * data.values_per_row * model.products_per_value


def clocks_of_steps(clock, numbers, n_rows):
    """Return the clocks of later steps on ``n_rows`` rows each."""
    return [
        Clock(clock.steps + number, clock.samples + int(number * n_rows), clock.total)
        for number in numbers
    ]


def are_planned(policies, state):
    """Return whether powers depend on the time only, and are equal for all rows."""
    return state is None and policies.tempering._depends_on_time_only


def planned(policies, clock, n_steps, n_rows):
    """Return the `Plan` of steps on ``n_rows`` rows each, the first at a clock.

    Their powers depend on the time only.
    """
    flags = np.zeros(n_steps, dtype=np.intc)
    if policies.tempering.schedule_of_temperatures() is None:  # T=1
        return Plan(np.ones((n_steps, 3)), np.ones(n_steps), flags)
    clocks = clocks_of_steps(clock, range(n_steps), n_rows)
    temperatures, powers = policies.tempering._planned_steps(clocks)
    return Plan(powers, temperatures, flags)


def takes_whole_steps(policies, state):
    """Return whether all steps have the rate 1 and no noise."""
    is_one = policies.learning_rate._is_one and state is None
    return is_one and policies.gradient_noise._is_absent


def steps_of_call(problem, n_rows):
    """Return the number of steps on some rows that a call takes."""
    size = n_products(problem.model, problem.data, n_rows)
    return max(1, int(TERMS_AT_ONCE / max(size, 1.0)))


def ascend(ascent, plan, size, limits, before, scale):
    """Take the steps of a plan, ``size`` in each call.

    See `Ascent.run` for the other parameters, for the status and the number of steps
    that are returned, and for the bounds: of the steps that were taken, and of the step
    that was given up.
    """
    n_steps, n_done, found = len(plan.flags), 0, []
    limits = np.array(limits, dtype=np.float64)
    status = Ascent.DONE
    while status == Ascent.DONE and n_done < n_steps:
        powers, _, flags = (part[n_done : n_done + size] for part in plan)
        status, taken, before, bounds = ascent.run(
            powers, flags, n_steps - n_done, limits, before, scale
        )
        n_done += taken
        found.append(bounds)
    n_known = n_done + (status == Ascent.GIVEN_UP)
    return status, n_done, np.concatenate(found, axis=1)[:, :n_known]


def bound_of(ascent, globals_, hyper, scale):
    """Return the sum of the rows' bounds at T=1, and the lower bound."""
    ascent.start(globals_, hyper)
    return ascent.take(0, scale)


# -- passes over all rows, each of which is one step -----------------------------------
class WholePasses:
    """Consecutive passes of a fit, each one step of rate 1, several in one commit.

    Parameters
    ----------
    problem : Problem
    policies : Policies
    state : State
    ascent : Ascent
        On all training rows, or on the part that early passes take.
    on_commit, tol
        See `run_passes`.
    """

    def __init__(self, problem, policies, state, ascent, on_commit, tol):
        self.problem, self.policies, self.state = problem, policies, state
        self.ascent, self.on_commit, self.tol = ascent, on_commit, tol
        self.n_rows = len(ascent.row_bounds)

    def take(self, n_passes):
        """Take at most ``n_passes`` passes, and commit them together."""
        begin, state = time.perf_counter(), self.state
        n_steps = 1
        if self.tol is not None:
            n_together = min(steps_of_call(self.problem, self.n_rows), MOST_TOGETHER)
            n_steps = min(n_passes, n_together)
        clock = state.clock(self.problem.total)
        plan = planned(self.policies, clock, n_steps, self.n_rows)
        is_whole = self.n_rows == self.problem.total
        watched = is_whole & (plan.temperatures == 1.0)
        plan.flags[watched] = Ascent.WATCHED
        self.ascent.keeps_local = self.problem.model.keeps_local and is_whole
        self.ascent.start(state.globals_, state.hyper, state.local)
        limits = (*Ascent.NO_LIMITS[:4], self.tol or 0.0)
        before = state.convergence.lower_bound
        scale = self.problem.total / self.n_rows

        def steps(_):
            return ascend(self.ascent, plan, n_steps, limits, before, scale)

        workers = self.problem.workers
        status, n_done, bounds = workers.call_with_workers(steps, 1)
        if n_done:
            seconds = time.perf_counter() - begin
            globals_, hyper = self.ascent.parameters()

            def commit():
                state.globals_, state.hyper = globals_, hyper
                state.local = self.ascent.local
                self._note(plan, bounds[:, :n_done], seconds)
                self.on_commit()

            workers.run_whole(commit)
        self.ascent.check(status)

    def _note(self, plan, bounds, seconds):
        """Change the progress and the history by the steps that were taken."""
        state, n_steps = self.state, bounds.shape[1]
        progress, convergence = state.progress, state.convergence
        local, bounds, *iterations = bounds
        number = np.arange(1, n_steps + 1)
        samples = progress.samples + self.n_rows * number
        n_observed = self.ascent.n_observed
        state.history.extend(
            n_steps,
            step=progress.steps + number,
            seconds=progress.seconds + seconds / n_steps * number,
            passes=samples / self.problem.total,
            temperature=plan.temperatures[:n_steps],
            learning_rate=1.0,
            rate_share=1.0,
            batch_bound=local / n_observed if n_observed else 0.0,
            mean_iterations=iterations[0] if iterations else 1.0,
            lower_bound=bounds,
        )
        state.policies.temperature = float(plan.temperatures[n_steps - 1])
        progress.steps += n_steps
        progress.samples += self.n_rows * n_steps
        progress.seconds += seconds
        progress.rows_of_pass, progress.batches_of_pass = len(self.problem.rows), 1
        progress.batches_into_pass = 0
        progress.passes += n_steps
        convergence.follow(bounds)
        convergence.start_share = 0.0


# -- early stopping: the held-out score, and the best state so far ---------------------
class Best(NamedTuple):
    """Parameters of the state with the highest held-out score so far, and that score.

    Attributes
    ----------
    score : float
    failures : int
        Number of evaluations since the last gain.
    globals_, hyper : object
    reference : float
        Score at the last gain.  A score that exceeds it by `tol` is the next gain.
    """

    score: float
    failures: int
    globals_: Any
    hyper: Any
    reference: float = -math.inf


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

#: Early passes of large data use this share of the rows, but at least so many, and at
#: least one row for each multiplication that a row takes.
SHARE_OF_EARLY, FEWEST_EARLY = 1 / 8, 10_000


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


def run_passes(
    problem, policies, state, on_commit=lambda: None, tol=None, shuffle=True
):
    """Yield functions that take the planned passes of a fit, one after the other.

    A pass is cut into batches of at most ``state.policies.batch_size`` rows.  Their
    sizes are as equal as possible, because a row of a small last batch would have a
    large weight.  An interrupted pass continues, see `first_batch`.  Early passes may
    use a part of the rows, see `early_passes`.

    Parameters
    ----------
    problem : Problem
    policies : Policies
    state : State
    on_commit : callable
        Called inside each commit, an update of the state that no signal can interrupt.
    tol : float or None
        If it is not None, a function may take several passes, unless the lower bound
        changes by less than ``tol``.
    shuffle : bool
        Whether batches of each pass consist of other rows.
    """
    progress, rows, given = state.progress, problem.rows, (problem, policies, state)
    n_batches = -(-len(rows) // state.policies.batch_size)
    early, n_early = early_passes(*given)
    parts = [(early, n_early)] if progress.passes < n_early else []
    for order, last in [*parts, (rows, math.inf)]:
        take = None
        if n_batches == 1:
            take = _whole_passes(*given, order, on_commit, tol)
        if take is None:
            take = _batches(*given, order, on_commit, shuffle)
        while progress.passes < min(last, progress.planned_passes):
            yield partial(take, min(last, progress.planned_passes) - progress.passes)


def _batches(problem, policies, state, rows, on_commit, shuffle):
    """Return a function that takes the steps of a pass, or of the rest of one."""
    steps = Steps(problem, policies, state)
    total, progress, n_rows = problem.total, state.progress, len(problem.rows)
    n_batches = -(-n_rows // state.policies.batch_size)

    def take(_):
        order = rows
        if shuffle and n_batches > 1:
            drawing = generator(state.seed, progress.passes, Purpose.ORDER)
            order = rows.runs(drawing.permutation(rows.n_runs))  # runs stay whole
        first = first_batch(state, n_rows, n_batches)
        ends = np.append(0, _ends_of_batches(len(rows), n_batches))
        for number in range(first + 1, n_batches + 1):
            batch = order.at(slice(ends[number - 1], ends[number]))
            batch = problem.data.by_part(batch)

            def count(number=number):
                progress.rows_of_pass, progress.batches_of_pass = n_rows, n_batches
                progress.batches_into_pass = number % n_batches
                progress.passes += number == n_batches
                on_commit()

            steps.take(Batch(batch, total, total), count)

    return take


def _whole_passes(problem, policies, state, rows, on_commit, tol):
    """Return a function that takes passes of one step by an `Ascent`, or None.

    It takes at most the given number of passes; more than one if ``tol`` is given.
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
    return WholePasses(problem, policies, state, ascent, on_commit, tol).take


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
    n_rows, weight = len(rows), problem.row_weight
    if weight is not None:  # as many rows of equal weights tell as much
        n_rows = np.sum(weight) ** 2 / np.square(weight).sum()
    is_large = 2 * n_early <= n_rows
    if not is_large or tempering.schedule_of_temperatures().unit != "steps":
        return rows, 0
    n_passes = state.progress.planned_passes
    plan = planned(policies, Clock(total=problem.total), n_passes, len(rows))
    random = generator(state.seed, 0, Purpose.EARLY)
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

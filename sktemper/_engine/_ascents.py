"""Ascents: several steps of coordinate ascent in one call of the model."""

import math
import time
from typing import Any, NamedTuple

import numpy as np

from .._contract import Ascent
from ..schedules import Clock
from ._data import InMemory

#: Largest number of multiplications of a step that one thread takes.  Larger steps are
#: divided into at most `MOST_SECTIONS` sections, if the model can do so, which threads
#: share.  Steps with more than `PRODUCTS_OF_SECTION` in a section, which would delay
#: Ctrl-C, are divided into blocks.
MOST_PRODUCTS, MOST_SECTIONS, PRODUCTS_OF_SECTION = 4e7, 16, 2e8
#: Largest number of values that are copied for an ascent with sections.
MOST_COPIED = 1e7
#: Number of multiplications of a call, which takes about 15 milliseconds.  Ctrl-C in
#: the calling thread acts between calls.
PRODUCTS_OF_CALL = 1e8
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
    if n_sections > 1 and not data.parts[0].is_view(model, rows):
        if len(rows) * data.values_per_row > MOST_COPIED:
            return None
    weight = problem.sample_weight
    weight = None if weight is None else weight[rows]
    ascent = model.ascent(data.take(model, rows), hyper, weight)
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


def steps_of_call(problem, rows):
    """Return the number of steps on some rows that a call takes."""
    size = n_products(problem.model, problem.data, len(rows))
    return max(1, int(PRODUCTS_OF_CALL / max(size, 1.0)))


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
    rows : ndarray
        All training rows.
    hooks : TaskHooks
    """

    def __init__(self, problem, policies, state, ascent, rows, hooks):
        self.problem, self.policies, self.state = problem, policies, state
        self.ascent, self.rows, self.hooks = ascent, rows, hooks

    def take(self, n_passes):
        """Take at most ``n_passes`` passes, and commit them together."""
        begin, state = time.perf_counter(), self.state
        n_steps = 1
        if self.hooks.tol is not None:
            n_together = min(steps_of_call(self.problem, self.rows), MOST_TOGETHER)
            n_steps = min(n_passes, n_together)
        clock = state.clock(self.problem.total)
        plan = planned(self.policies, clock, n_steps, len(self.rows))
        is_whole = len(self.rows) == self.problem.total
        watched = is_whole & (plan.temperatures == 1.0)
        plan.flags[watched] = Ascent.WATCHED
        self.ascent.keeps_local = self.problem.model.keeps_local and is_whole
        self.ascent.start(state.globals_, state.hyper, state.local)
        limits = (*Ascent.NO_LIMITS[:4], self.hooks.tol or 0.0)
        before = state.convergence.lower_bound
        scale = self.problem.total / len(self.rows)

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
                self.hooks.on_commit()

            workers.run_whole(commit)
        self.ascent.check(status)

    def _note(self, plan, bounds, seconds):
        """Change the progress and the history by the steps that were taken."""
        state, n_steps = self.state, bounds.shape[1]
        progress, convergence = state.progress, state.convergence
        local, bounds, *iterations = bounds
        number = np.arange(1, n_steps + 1)
        samples = progress.samples + len(self.rows) * number
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
        progress.samples += len(self.rows) * n_steps
        progress.seconds += seconds
        progress.rows_of_pass, progress.batches_of_pass = len(self.problem.rows), 1
        progress.batches_into_pass = 0
        progress.passes += n_steps
        convergence.follow(bounds)
        convergence.start_share = 0.0

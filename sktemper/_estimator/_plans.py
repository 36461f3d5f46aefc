"""Plan of a fit: batches, held-out rows, policies and number of passes."""

import hashlib
import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .._data import Rows
from .._loop import (
    HeldOut,
    Policies,
    Problem,
    State,
    clocks_of_passes,
    generator,
    planned_clocks,
)
from ..learning_rates import ConstantRate, RobbinsMonro, as_learning_rate
from ..renewals import NoRenewals
from ..schedules import STREAM_LENGTH, Plan

__all__ = ["AGAIN", "Run", "held_out_rows", "plan_fit", "plan_stream", "tasks_left"]

#: Value that replaces the digest of a stream's first rows once the stream has repeated.
AGAIN = "again"
#: Number of first rows that are compared to detect that a stream repeats.
ROWS_NOTED = 8
#: In a stream of unknown length, a schedule with ``length="auto"`` lasts for the share
#: SHARE_COOLED of the `stream_rows` of the model, but for at least FEWEST_STEPS and at
#: most MOST_STEPS steps.
SHARE_COOLED, FEWEST_STEPS, MOST_STEPS = 0.4, 5, STREAM_LENGTH
#: Keys of random numbers: for policies, and for held-out rows.
POLICIES, HELD_OUT = 2, 3


@dataclass
class Run:
    """One of the ``n_init`` runs of a fit, each from a different start.

    Attributes
    ----------
    problem : Problem
    state : State
    policies : Policies
    train : Rows
    held_out : HeldOut or None
        Rows that are scored and not used for training.
    compared : bool
        Whether early stopping, if requested, had a score to compare.
    moves_were_skipped : bool
        Whether planned moves were skipped because the temperature was not 1.
    """

    problem: Problem
    state: State
    policies: Policies
    train: Rows
    held_out: HeldOut | None
    compared: bool = True
    moves_were_skipped: bool = False


def plan_fit(estimator, problem, state):
    """Return the `Run` that continues from ``state``."""
    model = problem.model
    train, held_out = _divided(estimator, problem, state.seed)
    batch_size = _batch_size(estimator, problem, len(train))
    state.policies.batch_size = min(batch_size, len(train))
    if state.progress.steps == 0:
        state.policies.plan = _new_plan(estimator, problem, state, len(train))
    everything = estimator.batch_size is None
    default_rate = ConstantRate(1.0) if everything else RobbinsMonro()
    policies = _resolved_policies(estimator, model, state, default_rate)
    _plan_passes(estimator, state, len(problem.data), policies.moves)
    policies.check_plan(state.policies, clocks_of_passes(problem.on(train), state))
    return Run(problem, state, policies, train, held_out)


def _new_plan(estimator, problem, state, n_rows):
    """Return the `Plan` of a fit to ``n_rows`` rows, before its first step."""
    n_batches = math.ceil(n_rows / state.policies.batch_size)
    total = estimator.total_samples or n_rows
    return Plan(
        n_batches * estimator.max_iter,
        n_batches * total / n_rows,
        problem.model.auto_temperature(state.hyper),
        _critical_temperatures(estimator, problem, state.hyper),
    )


def plan_stream(estimator, problem, state, fresh):
    """Return the policies for a chunk of a stream, and the batch size."""
    model, data = problem.model, problem.data
    if fresh or estimator.batch_size != "auto":
        state.policies.batch_size = _batch_size(
            estimator, problem, estimator.total_samples
        )
    if fresh:
        state.policies.plan = _plan_of_stream(estimator, problem, state)
    policies = _resolved_policies(
        estimator, model, state, estimator._forgetting_rate() or RobbinsMonro()
    )
    state.best = None
    if estimator.total_samples is not None:
        state.progress.first_row = _noted(state.progress.first_row, data)
    size = _rows_of_steps(estimator, state, len(data))
    # a single step checks the values itself, and with renewals T is 1
    if len(data) > size and not policies.renewals.is_on:
        clock, n_steps = state.clock(estimator.total_samples), -(-len(data) // size)
        policies.check_plan(state.policies, planned_clocks(clock, n_steps, size))
    return policies, size


def _rows_of_steps(estimator, state, n_rows):
    """Return the largest number of rows of a step on a chunk of ``n_rows`` rows.

    With ``batch_size="auto"``, all batches of a chunk have about this size.
    """
    size = state.policies.batch_size
    if estimator.batch_size != "auto":
        return min(size, n_rows)
    return math.ceil(n_rows / max(1, round(n_rows / size)))


def _noted(first_rows, data):
    """Return the digest of the first rows of a stream, or AGAIN if it repeats.

    The first rows of each chunk are compared, unless they are empty.
    """
    if first_rows == AGAIN:
        return AGAIN
    head = data.parts[0].rows(slice(0, ROWS_NOTED))
    arrays = (head.indices, head.data) if sparse.issparse(head) else (head,)
    if not np.nan_to_num(arrays[-1]).any():
        return first_rows
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).view(np.uint8))
    this = digest.hexdigest()
    return AGAIN if this == first_rows else first_rows or this


def tasks_left(state):
    """Return the number of passes and moves left in the plan."""
    return state.progress.planned_passes - state.progress.passes + sum(state.moves.left)


def _batch_size(estimator, problem, total):
    if estimator.batch_size is None:
        return len(problem.data)
    if estimator.batch_size == "auto":
        X, _ = problem.data.sample(problem.model.max_start_rows)
        return problem.model.auto_batch_size(X, total)
    return estimator.batch_size


def _plan_of_stream(estimator, problem, state):
    temperatures = (
        problem.model.auto_temperature(state.hyper),
        _critical_temperatures(estimator, problem, state.hyper),
    )
    if estimator.total_samples is None:
        n_steps = None
        if problem.model.stream_rows is not None:
            size = _rows_of_steps(estimator, state, len(problem.data))
            length = math.ceil(SHARE_COOLED * problem.model.stream_rows / size)
            n_steps = 2 * min(max(length, FEWEST_STEPS), MOST_STEPS)
        return Plan(n_steps, None, *temperatures)
    per_pass = math.ceil(estimator.total_samples / state.policies.batch_size)
    return Plan(per_pass, per_pass, *temperatures)


def _critical_temperatures(estimator, problem, hyper):
    """Return the critical temperatures, or None if the tempering does not use them."""
    can = "critical_temperatures" in problem.model.capabilities()
    if not (can and estimator._tempering().has_critical_temperatures):
        return None
    return problem.critical_temperatures(hyper)


def _plan_passes(estimator, state, n_rows, moves):
    """Plan `max_iter` passes and all moves, unless an earlier plan is unfinished.

    If an earlier plan has no passes left but some moves, it counts as finished if the
    policy for moves has changed its number of phases, or if the temperature exceeds 1.
    """
    most = tuple(phase.n_moves for phase in moves.phases())
    left = state.moves.left
    left = tuple(map(min, left, most)) if len(left) == len(most) else (0,) * len(most)
    moves_wait = any(left) and state.policies.temperature == 1.0
    progress = state.progress
    checked = progress.checked_passes == progress.passes
    if progress.passes >= progress.planned_passes and checked and not moves_wait:
        progress.planned_passes = progress.passes + estimator.max_iter
        left = most
    state.moves = state.moves._replace(left=left)
    if n_rows != progress.total_rows:
        progress.total_rows, progress.batches_into_pass = n_rows, 0


def _resolved_policies(estimator, model, state, default_rate):
    """Resolve the policies, and set the states of policies without a valid state."""
    rate = as_learning_rate(estimator.learning_rate, default_rate)
    if rate.forgets:  # a rate for streams only
        rate = default_rate
    policies = Policies(
        estimator._tempering().validate().resolved(state.policies.plan),
        rate.validate(),
        estimator._noise().validate().resolved(state.policies.plan),
        estimator._moves().validate(),
        estimator._renewals().validate() if rate.forgets else NoRenewals(),
    )
    policies.check(model)
    tempering, learning_rate = policies.tempering, policies.learning_rate
    if not tempering.knows(state.policies.tempering):
        random = generator(state.seed, 0, POLICIES)
        state.policies.tempering = tempering.initial_state(model, state.hyper, random)
    if not learning_rate.knows(state.policies.learning_rate):
        state.policies.learning_rate = learning_rate.initial_state()
    return policies


def _divided(estimator, problem, seed):
    """Return the training `Rows`, and the `HeldOut` rows or None."""
    rows = problem.data.all_rows()
    if problem.validation is not None:
        return rows, HeldOut(problem.validation)
    train, chosen = held_out_rows(estimator, rows, seed, problem.sample_weight)
    return train, HeldOut(problem, chosen) if len(chosen) else None


def held_out_rows(estimator, rows, seed, sample_weight):
    """Return the training `Rows`, and an array of the held-out rows, possibly empty.

    Rows of weight 0 are never held out, so that results do not depend on them.
    """
    if estimator.evaluate_every == 0 and estimator.n_iter_no_change is None:
        return rows, np.arange(0)
    counted = rows.counted_runs(sample_weight)
    n_validation = max(1, round(estimator.validation_fraction * len(counted)))
    if n_validation >= len(counted):
        raise ValueError(
            f"validation_fraction={estimator.validation_fraction} leaves none of "
            f"{len(counted)} samples to train on."
        )
    order = generator(seed, 0, HELD_OUT).permutation(counted)
    held_out = np.sort(order[:n_validation])
    train = np.delete(np.arange(rows.n_runs), held_out)
    return rows.runs(train), rows.runs(held_out).at(slice(None))

"""Checks of statistics, targets and steps."""

import copy

import numpy as np

from ..model import Powers
from ..model._contract import numbers_in
from ._case import POWERS, close, close_statistics, precision, same


def check_statistics_scale(case):
    """Scales, powers and the method ``scaled`` multiply the statistics."""
    case.require("dense_vectors")
    rtol = precision(case.model)
    plain = case.local_step().statistics
    prior = case.target(plain, scale=0.0)
    gain = case.target(plain) - prior
    atol = rtol * np.abs(gain).max()
    n_units = case.n_units()
    tripled = {
        "scale": case.target(plain, scale=3.0),
        "scaled": case.target(plain.scaled(3.0)),
        "powers.statistics": case.target(
            case.local_step(powers=Powers(statistics=3.0)).statistics
        ),
        "powers.statistics of each unit": case.target(
            case.local_step(powers=Powers(statistics=np.full(n_units, 3.0))).statistics
        ),
    }
    for name, target in tripled.items():
        fault = f"with {name} = 3, the difference of target and prior is not tripled"
        close(target - prior, 3 * gain, fault, rtol, atol)


def check_powers_of_units_are_their_own(case):
    """A power for each unit acts on the unit's row as a common power does."""
    case.require_exact()
    units = case.model.units_per_row(case.X, np.arange(case.n_rows))
    odd = np.arange(case.n_rows) % 2
    steps = {p: case.local_step(powers=Powers(1.0, p, p)) for p in (0.5, 0.8)}
    rtol = precision(case.model)
    for what, of_rows in (
        ("1/2", np.full(case.n_rows, 0.5)),
        ("other", 0.5 + 0.3 * odd),
    ):
        power = np.repeat(of_rows, units)
        found = case.local_step(powers=Powers(1.0, power, power))
        bounds = (np.asarray(steps[p].row_bounds) for p in (0.5, 0.8))
        expected = np.where(of_rows == 0.5, *bounds)
        fault = f"row_bounds with powers of {what} for each unit differ from one common"
        atol = rtol * np.abs(expected).max()
        close(found.row_bounds, expected, f"{fault} power; row", rtol, atol)
        if what == "1/2":
            fault = "statistics with a power of 1/2 for each unit and for all differ"
            statistics = steps[0.5].statistics
            close_statistics(case, found.statistics, statistics, fault, rtol)


def check_the_step_is_the_convex_combination(case):
    """A step is the convex combination of old parameters and target."""
    for powers in POWERS:
        statistics = case.local_step(powers=powers).statistics
        old, target = case.vector(), case.target(statistics, powers, 2.0)
        found = case.vector(case.step(case.globals_, statistics, 2.0, powers, 0.3))
        expected = 0.7 * old + 0.3 * target
        eps = float(np.finfo(case.model.parameter_dtype).eps)
        atol = max(1e-10, 4 * eps) * np.abs(expected).max()
        fault = f"a step of rate 0.3 at {powers} is not 0.7 old + 0.3 target; parameter"
        close(found, expected, fault, max(1e-8, 4 * eps), atol)


def check_dense_vectors_round_trip(case):
    """A conversion to a vector and back preserves parameters."""
    vector = case.vector()
    if vector.ndim != 1:
        raise AssertionError(
            f"natural_parameters: expected one vector, got the shape {vector.shape}"
        )
    atol = 1e-12 * np.abs(vector).max()
    fault = "from_natural_parameters is not the inverse of natural_parameters"
    close(case.vector(case.at(vector)), vector, fault, 1e-10, atol)
    same(case.vector(), vector, "natural_parameters change when they are read")


def check_the_prior_is_the_target_of_no_data(case):
    """The target without data is the prior raised to the power ``powers.prior``."""
    statistics = case.local_step().statistics
    whole = case.target(statistics, Powers(), 0.0)
    half = case.target(statistics, Powers(prior=0.5), 0.0)
    fault = "the target without data at prior=0.5 is not half the one at 1; parameter"
    close(half, 0.5 * whole, fault, 1e-10)


def check_steps_keep_what_they_are_given(case):
    """Steps, sums and preparations do not change their arguments.

    A step may overwrite the old parameters if ``steps_in_place`` is True.
    """
    model, statistics = case.model, case.local_step().statistics
    old = case.target(statistics, scale=2.0)
    vector, hyper = case.vector(), copy.deepcopy(case.hyper)
    statistics + case.local_step(case.take(slice(0, 2))).statistics
    statistics.scaled(2.0)
    fault = "adding, scaling or taking a target of statistics changes them"
    same(case.target(statistics, scale=2.0), old, fault)
    prepared = model.prepare(case.globals_, case.hyper)
    model.predictive_scores(case.block, prepared)
    arguments = statistics, 1.0, Powers(), 0.5, case.hyper
    given = copy.deepcopy(case.globals_)
    model.step(given, *arguments)
    if not model.steps_in_place:
        fault = "step changes the old parameters, and steps_in_place is False"
        same(case.vector(given), vector, fault)
    model.update_hyper(case.hyper, case.globals_, statistics, 1.0, 0.5, Powers())
    same(case.vector(), vector, "local steps or update_hyper change the parameters")
    for one, other in zip(numbers_in(case.hyper), numbers_in(hyper), strict=True):
        same(one, other, "steps or update_hyper change hyper")
    fault = "step or update_hyper changes the statistics"
    same(case.target(statistics, scale=2.0), old, fault)

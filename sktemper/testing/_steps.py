"""Statistics, targets and steps."""

import numpy as np

from ..model import Powers
from ._case import POWERS, close, close_statistics, precision


def check_statistics_scale(case):
    """Weights and powers are factors of the statistics, and ``scaled`` multiplies."""
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
        close(target - prior, 3 * gain, f"three times by {name}", rtol, atol)


def check_powers_of_units_are_those_of_all(case):
    """A power that all units have is the power as one number."""
    case.require_exact()
    n_units = case.n_units()
    one = case.local_step(powers=Powers(1.0, 0.5, 0.5))
    each = case.local_step(
        powers=Powers(1.0, np.full(n_units, 0.5), np.full(n_units, 0.5))
    )
    rtol = precision(case.model)
    atol = rtol * np.abs(one.row_bounds).max()
    close(each.row_bounds, one.row_bounds, "row_bounds", rtol, atol)
    close_statistics(case, each.statistics, one.statistics, rtol)


def check_the_step_is_the_convex_combination(case):
    """A step goes the share ``rate`` of the way to the target."""
    for powers in POWERS:
        statistics = case.local_step(powers=powers).statistics
        old, target = case.vector(), case.target(statistics, powers, 2.0)
        found = case.vector(case.step(case.globals_, statistics, 2.0, powers, 0.3))
        expected = 0.7 * old + 0.3 * target
        eps = float(np.finfo(case.model.parameter_dtype).eps)
        atol = max(1e-10, 4 * eps) * np.abs(expected).max()
        close(found, expected, f"step at {powers}", max(1e-8, 4 * eps), atol)


def check_dense_vectors_round_trip(case):
    """Parameters to a vector and back are the same, and reading changes nothing."""
    vector = case.vector()
    assert vector.ndim == 1, "natural_parameters must return one vector"
    atol = 1e-12 * np.abs(vector).max()
    close(case.vector(case.at(vector)), vector, "there and back", 1e-10, atol)
    np.testing.assert_array_equal(case.vector(), vector)


def check_the_prior_is_the_target_of_no_data(case):
    """Without statistics the target is the prior to its power."""
    statistics = case.local_step().statistics
    whole = case.target(statistics, Powers(), 0.0)
    half = case.target(statistics, Powers(prior=0.5), 0.0)
    close(half, 0.5 * whole, "prior at power 1/2", 1e-10)

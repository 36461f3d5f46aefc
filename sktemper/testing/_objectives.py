"""Checks of rising bounds, log partition functions, rates, stopping and moves."""

import warnings

import numpy as np

from ..model import IllDefined, Powers, Stopped
from ._case import OBJECTIVES, Skip, close, precision

#: Steps of coordinate ascent.
N_STEPS = 8


def check_the_tempered_bound_rises(case):
    """Coordinate ascent never lowers the tempered bound."""
    case.require_exact()
    for powers in OBJECTIVES:
        globals_, local = case.stepped(case.globals_, powers), None
        best = -np.inf
        for number in range(N_STEPS):
            want = ("statistics", "bound", "local")
            step = case.local_step(
                powers=powers, globals_=globals_, local_init=local, want=want
            )
            bound = step.bound + case.model.global_bound(globals_, case.hyper, powers)
            if not np.isfinite(bound):
                raise AssertionError(
                    f"the bound at {powers}: expected a number, got {bound}"
                )
            slack = precision(case.model) * (1 + abs(bound))
            slack += case.model.local_tol * case.n_rows
            if bound < best - slack:
                raise AssertionError(
                    f"the bound at {powers} falls in coordinate ascent: expected at "
                    f"least {best:.10g} after step {number}, got {bound:.10g}"
                )
            best = max(best, bound)
            if case.model.keeps_local:
                local = step.local_parameters
            globals_ = case.step(globals_, step.statistics, 1.0, powers, 1.0)


def check_learned_priors_raise_the_bound(case):
    """Priors and variances learned from all data never lower the bound."""
    case.require_exact()
    bounds = [case.bound(case.globals_, Powers())]
    case.hyper, statistics = case.learned(), case.local_step().statistics
    globals_ = case.step(case.globals_, statistics, 1.0, Powers(), 1.0)
    bounds.append(case.bound(globals_, Powers()))
    slack = precision(case.model) * (1 + abs(bounds[0]))
    slack += case.model.local_tol * case.n_rows
    if not bounds[1] >= bounds[0] - slack:
        raise AssertionError(
            "update_hyper lowers the bound of the data that it learns from: expected "
            f"at least {bounds[0]:.10g}, got {bounds[1]:.10g}"
        )


def check_log_partition_is_zero_at_one(case):
    """Log C(1) = 0, and log C is finite at several inverse temperatures."""
    case.require("log_partitions")
    ladder = np.array([1.0, 0.9, 0.5, 0.2])
    values = case.model.log_partition(
        ladder, case.hyper, np.random.default_rng(0), None, 4
    )
    if hasattr(values, "of_rows"):
        values = values.of_rows(case.local_step().row_observed)
    values = np.asarray(values)
    if not np.isfinite(values).all():
        raise AssertionError(
            f"log_partition at the inverse temperatures {ladder}: expected numbers, "
            f"got {values}"
        )
    at_one = values[..., 0]
    close(at_one, np.zeros_like(at_one), "log_partition at 1 is not 0", atol=1e-8)


def check_largest_rate_is_the_largest(case):
    """A step leaves the domain if and only if its rate exceeds the largest rate."""
    case.require("largest_rates")
    model, powers = case.model, Powers()
    unit_noise = np.where(case.random.random(case.n_units()) < 0.5, -2.0, 1.0)
    good = case.local_step().statistics
    arguments = case.globals_, good, 1.0, powers, case.hyper
    rate = model.largest_rate(*arguments)
    if not rate > 1:
        raise AssertionError(
            "largest_rate without negative noise: expected more than 1, as no step "
            f"leaves the domain, got {rate:.6g}"
        )
    try:
        bad = case.local_step(unit_noise=unit_noise).statistics
    except (IllDefined, ValueError) as error:
        raise Skip(f"negative noise is refused: {error}") from None
    rate = model.largest_rate(case.globals_, bad, 50.0, powers, case.hyper)
    if rate > 1:
        if not _is_in_domain(case, bad, 1.0):
            raise AssertionError(
                "largest_rate is too large: a step of rate 1 leaves the domain; "
                f"expected less than 1, got {rate:.6g}"
            )
        raise Skip("no step leaves the domain")
    if not rate > 0:
        raise AssertionError(
            "largest_rate: expected a positive rate, as a step of rate 0 stays in the "
            f"domain, got {rate:.6g}"
        )
    if not _is_in_domain(case, bad, 0.98 * rate):
        raise AssertionError(
            "largest_rate is too large: a step of 0.98 times the rate leaves the "
            f"domain; expected less than {0.98 * rate:.6g}, got {rate:.6g}"
        )
    larger = min(1.0, 1.05 * rate)
    if _is_in_domain(case, bad, larger):
        raise AssertionError(
            f"largest_rate is too small: a step of rate {larger:.6g} stays in the "
            f"domain; expected more than that, got {rate:.6g}"
        )


def _is_in_domain(case, statistics, rate):
    """Return whether a step of this rate stays in the domain."""
    globals_ = case.globals_
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            moved = case.step(globals_, statistics, 50.0, Powers(), rate)
            if not case.model.is_valid(moved):
                return False
            case.model.prepare(moved, case.hyper)
            return bool(np.isfinite(case.model.global_bound(moved, case.hyper)))
        except (ValueError, np.linalg.LinAlgError):
            return False


def check_stop_stops(case):
    """A local step that iterates raises `Stopped` if ``stop`` is set."""
    iterates = case.local_step().n_iterations > case.n_rows
    case.model.stop[0] = 1
    try:
        case.local_step()
    except Stopped:
        return
    finally:
        case.model.stop[0] = 0
    if iterates:
        raise AssertionError(
            "local_step iterates and ignores stop: expected Stopped when stop is 1, "
            "got a result"
        )
    raise Skip("a local step does not iterate, so the loop stops between blocks")


def check_moves_are_proposed(case):
    """Births, splits and merges propose valid parameters of the model."""
    model, capabilities = case.model, case.model.capabilities()
    proposals = []
    if "births" in capabilities:
        proposals.append(
            model.propose_birth(case.globals_, case.hyper, case.block, case.random)
        )
    if "splits" in capabilities:
        proposals.append(
            model.propose_split_merge(
                case.globals_, case.hyper, case.block, case.random, frozenset()
            )
        )
    if not proposals:
        raise Skip(f"{type(model).__name__} proposes no moves")
    for globals_, hyper, *_ in filter(None, proposals):
        model.prepare(globals_, hyper)
        bound = model.global_bound(globals_, hyper)
        if not np.isfinite(bound):
            raise AssertionError(
                f"global_bound of proposed parameters: expected a number, got {bound}"
            )

"""Bounds, log C, largest rates, predictive scores; stopping, and moves."""

import warnings

import numpy as np

from ..model import IllDefined, Powers, Stopped
from ._case import OBJECTIVES, Skip, close, precision

#: Steps of coordinate ascent.
N_STEPS = 8
#: How often data count that leave no doubt about the global parameters.
CERTAIN = 1e7
#: A power at which the likelihood hardly counts, and how many states can be counted.
HARDLY, MOST_STATES = 1e-6, 100


def check_the_tempered_bound_rises(case):
    """Coordinate ascent never lowers the tempered bound."""
    case.require_exact()
    for powers in OBJECTIVES:
        globals_, local = case.stepped(case.globals_, powers), None
        best = -np.inf
        for _ in range(N_STEPS):
            want = ("statistics", "bound", "local")
            step = case.local_step(
                powers=powers, globals_=globals_, local_init=local, want=want
            )
            bound = step.bound + case.model.global_bound(globals_, case.hyper, powers)
            assert np.isfinite(bound), f"the bound at {powers} is not finite"
            slack = precision(case.model) * (1 + abs(bound))
            slack += case.model.local_tol * case.n_rows
            assert bound >= best - slack, (
                f"the bound at {powers} falls from {best} to {bound}"
            )
            best = max(best, bound)
            if case.model.keeps_local:
                local = step.local_parameters
            globals_ = case.step(globals_, step.statistics, 1.0, powers, 1.0)


def check_the_bound_of_the_prior_is_zero(case):
    """Where q is the prior, E log p - E log q of the global parameters is 0."""
    case.require("dense_vectors")
    prior = case.target(case.local_step().statistics, scale=0.0)
    bound = case.model.global_bound(case.at(prior), case.hyper)
    size = abs(case.model.global_bound(case.globals_, case.hyper))
    atol = max(1e-9, 64 * precision(case.model) ** 2) * (1 + size)
    close(bound, 0.0, "global_bound where q is the prior", atol=atol)


def check_row_bounds_have_their_constants(case):
    """Where q is certain, the bound of a row is its predictive log density."""
    case.require_exact()
    if not case.model.scores_whole_rows:
        raise Skip("log_predictive is not the density of whole rows")
    globals_ = case.globals_
    for _ in range(2):
        globals_ = case.stepped(globals_, Powers(), scale=CERTAIN)
    prepared = case.model.prepare(globals_, case.hyper)
    bounds = case.local_step(globals_=globals_, want=("bound",)).row_bounds
    scores, _ = case.model.log_predictive(case.block, prepared)
    what = "row_bounds forget a constant: they are not the predictive density"
    close(bounds, scores, what, 1e-3, 1e-3)


def check_row_bounds_count_states(case):
    """Without its likelihood a row's bound is the log of how many states it may have.

    Those of its discrete local parameters, for continuous ones return to their prior:
    a whole number, which is 1 where there are no discrete ones.
    """
    case.require_exact()
    one, two = (
        np.asarray(
            case.local_step(powers=Powers(1.0, h, h), want=("bound",)).row_bounds
        )
        for h in (HARDLY, 2 * HARDLY)
    )
    bounds = 2 * one - two  # the limit at power 0
    atol = 1e-4 + precision(case.model) * np.abs(case.local_step().row_bounds).max()
    with np.errstate(over="ignore"):
        states = np.exp(bounds)
    nearest = np.maximum(np.round(states), 1.0)
    few = states < MOST_STATES
    if not few.any():
        raise Skip("no row has so few states that they can be counted")
    close(
        bounds[few],
        np.log(nearest[few]),
        "row_bounds at power 0 forget a constant: they are no logs of whole numbers",
        0.0,
        atol,
    )


def check_log_partition_is_zero_at_one(case):
    """Log C(1) = 0, and log C is finite on a ladder."""
    case.require("log_partitions")
    ladder = np.array([1.0, 0.9, 0.5, 0.2])
    values = case.model.log_partition(
        ladder, case.hyper, np.random.default_rng(0), None, 4
    )
    if hasattr(values, "of_rows"):
        values = values.of_rows(case.local_step().row_observed)
    values = np.asarray(values)
    assert np.isfinite(values).all(), "log C is not finite"
    close(values[..., 0], 0.0, "log C(1)", atol=1e-8)


def check_largest_rate_is_the_largest(case):
    """Below the largest rate a step stays in the domain, above it leaves it."""
    case.require("largest_rates")
    model, powers = case.model, Powers()
    unit_noise = np.where(case.random.random(case.n_units()) < 0.5, -2.0, 1.0)
    good = case.local_step().statistics
    arguments = case.globals_, good, 1.0, powers, case.hyper
    assert model.largest_rate(*arguments) > 1, "positive noise never leave the domain"
    try:
        bad = case.local_step(unit_noise=unit_noise).statistics
    except (IllDefined, ValueError) as error:
        raise Skip(f"negative noise is refused: {error}") from None
    rate = model.largest_rate(case.globals_, bad, 50.0, powers, case.hyper)
    if rate > 1:
        raise Skip("no step leaves the domain")
    assert rate > 0, "a step of rate 0 stays in the domain"
    assert _is_in_domain(case, bad, 0.98 * rate), "a smaller rate leaves the domain"
    assert not _is_in_domain(case, bad, min(1.0, 1.05 * rate)), (
        "a larger rate stays in the domain"
    )


def _is_in_domain(case, statistics, rate):
    """Return whether a step of this rate leads to parameters of a distribution."""
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


def check_predictive_shapes(case):
    """Each row has a finite score, 0 where nothing is held out."""
    prepared = case.model.prepare(case.globals_, case.hyper)
    scores, n_held_out = case.model.log_predictive(case.block, prepared)
    for name, rows in (("scores", scores), ("n_held_out", n_held_out)):
        assert np.shape(rows) == (case.n_rows,), f"{name} has another shape"
        assert np.isfinite(rows).all(), f"{name} is not finite"
    assert (np.asarray(scores)[np.asarray(n_held_out) == 0] == 0).all()


def check_stop_stops(case):
    """A local step that iterates raises `Stopped` once it is told to stop."""
    iterates = case.local_step().n_iterations > case.n_rows
    case.model.stop[0] = 1
    try:
        case.local_step()
    except Stopped:
        return
    finally:
        case.model.stop[0] = 0
    if iterates:
        raise AssertionError("a local step that iterates went on though told to stop")
    raise Skip("a local step does not iterate, so the loop stops between blocks")


def check_moves_are_proposed(case):
    """What births, splits and merges propose are parameters of the model."""
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
        assert np.isfinite(model.global_bound(globals_, hyper)), "a bound is not finite"

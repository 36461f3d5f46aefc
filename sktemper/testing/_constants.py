"""Checks of the constants of bounds, and of the priors of local parameters."""

import numpy as np
from scipy.special import logsumexp

from ..model import Powers
from ._case import Skip, close, precision

#: Largest number of states of a row that can be recognised by its logarithm, because
#: logarithms of larger numbers are too close to one another.
MOST_STATES = 100
#: Number of draws of local parameters, largest number of repetitions of the draws,
#: least effective number of draws, and powers of the likelihood.  At low powers, the
#: effective number of draws is higher.
N_DRAWS, MOST_DRAWINGS, FEWEST_THAT_MATTER = 1000, 5, 50
LOCAL_POWERS = 1.0, 0.3, 0.1, 0.01
#: Number of standard errors by which the bound of a row may exceed the row's
#: log-likelihood, and numbers of nats by which the bound may be lower: per observation,
#: per local parameter, and per row.
N_ERRORS, MOST_GAPS = 6.0, (0.3, 0.5, 1.0)


def check_the_bound_of_the_prior_is_zero(case):
    """The global bound E log p - E log q is 0 if the posterior q is the prior p."""
    bound = case.model.global_bound(case.prior(), case.hyper)
    size = abs(case.model.global_bound(case.globals_, case.hyper))
    atol = max(1e-9, 64 * precision(case.model) ** 2) * (1 + size)
    fault = "global_bound has a wrong constant: its value where q is the prior"
    close(bound, 0.0, fault, atol=atol)


def check_row_bounds_have_their_constants(case):
    """The bound of a row is close to its log-likelihood, and not above it.

    This holds if global parameters are almost certain.  The log-likelihood is the
    predictive density, or an estimate from draws of local parameters.
    """
    case.require_exact()
    if case.model.scores_whole_rows:
        globals_ = case.certain()
        bounds = case.local_step(globals_=globals_, want=("bound",)).row_bounds
        scores, _ = case.predictive_scores(globals_=globals_)
        fault = (
            "row_bounds have a wrong constant: they are not the predictive density of "
            "rows under almost certain parameters; row"
        )
        close(bounds, scores, fault, 1e-3, 1e-3)
    elif case.log_likelihood is None:
        raise Skip("no log_likelihood was given to check_model")
    else:
        _compare_with_draws(case)


def _compare_with_draws(case):
    """Compare bounds with log-likelihoods estimated by importance sampling.

    At the power 1, draws from the prior estimate only the likelihood of rows with few
    observations.  At small powers, they estimate the powered likelihood of all rows.
    The bound must not exceed the estimate at any power.
    """
    globals_ = case.certain()
    logs = _log_likelihoods(case, globals_)
    # discrete parameters are tempered with the likelihood
    powers = LOCAL_POWERS[:1] if (_n_states(case) > 1).any() else LOCAL_POWERS
    is_compared = False
    for power in powers:
        step = case.local_step(
            powers=Powers(1.0, power, power),
            globals_=globals_,
            want=("bound", "local"),
        )
        estimates, errors = _estimates(power * logs)
        slack = N_ERRORS * errors + 100 * precision(case.model) * np.abs(estimates)
        excess = np.asarray(step.row_bounds) - estimates
        is_compared |= not np.isnan(slack).all()
        _refuse(excess > slack, step.row_bounds, estimates, power, "at most")
        if power == 1:
            units = step.row_observed, _width(step.local_parameters), 1.0
            most = sum(map(np.multiply, MOST_GAPS, units)) + slack
            _refuse(excess < -most, step.row_bounds, estimates, power, "about")
    if not is_compared:
        raise Skip("too few draws from the prior contribute to the likelihood of rows")


def _log_likelihoods(case, globals_):
    """Return log-likelihoods of draws, of shape (n_draws, n_rows).

    The draws are repeated, up to MOST_DRAWINGS times, until most rows have an estimate.
    """
    arguments = case.model, case.X[: case.n_rows], globals_, case.hyper, case.random
    logs = np.empty((0, case.n_rows))
    for _ in range(MOST_DRAWINGS):
        drawn = np.asarray(case.log_likelihood(*arguments, N_DRAWS))
        if drawn.shape != (N_DRAWS, case.n_rows):
            raise ValueError(
                "log_likelihood must return an array of shape "
                f"{(N_DRAWS, case.n_rows)}, got {drawn.shape}."
            )
        logs = np.concatenate([logs, drawn])
        if np.isfinite(_estimates(logs)[1]).mean() > 0.5:
            break
    return logs


def _estimates(logs):
    """Return logs of mean likelihoods and standard errors, NaN with too few draws."""
    estimates = logsumexp(logs, axis=0) - np.log(len(logs))
    weights = np.exp(logs - estimates) / len(logs)
    squares = (weights**2).sum(axis=0)  # 1 / the effective number of draws
    errors = np.sqrt(np.maximum(squares - 1 / len(logs), 0.0))
    return estimates, np.where(squares > 1 / FEWEST_THAT_MATTER, np.nan, errors)


def _width(local):
    return int(np.prod(np.shape(local)[1:]))


def _refuse(wrong, bounds, estimates, power, relation):
    """Raise an error about the first wrong row, if any row is wrong."""
    if wrong.any():
        row = np.flatnonzero(wrong)[0]
        raise AssertionError(
            f"row_bounds have a wrong constant: for row {row} and the power {power:g} "
            f"of the likelihood, expected {relation} {estimates[row]:.6g}, as computed "
            f"from log_likelihood, got {bounds[row]:.6g}"
        )


def _n_states(case):
    """Return the number of states of each row, inferred from empty bounds."""
    with np.errstate(over="ignore"):
        return np.maximum(np.round(np.exp(case.empty_bounds())), 1.0)


def check_row_bounds_count_states(case):
    """Without a likelihood, the bound of a row is the logarithm of a whole number.

    The whole number is the number of states of the row's discrete local parameters, or
    1 without such parameters.  Continuous local parameters return to their prior and
    contribute 0.
    """
    case.require_exact()
    bounds, nearest = case.empty_bounds(), _n_states(case)
    atol = 1e-4 + precision(case.model) * np.abs(case.local_step().row_bounds).max()
    few = np.exp(np.minimum(bounds, np.log(2 * MOST_STATES))) < MOST_STATES
    if not few.any():
        raise Skip("no row has so few states that they can be counted")
    fault = (
        "row_bounds have a wrong constant: without a likelihood they are no logarithms "
        "of whole numbers of states; row"
    )
    close(
        np.where(few, bounds, 0.0),
        np.where(few, np.log(nearest), 0.0),
        fault,
        0.0,
        atol,
    )


def check_row_bounds_move_with_the_prior(case):
    """Without a likelihood, bounds depend on the power of a continuous prior."""
    case.require_exact()
    if case.model.has_continuous_local is False:
        raise Skip(f"{type(case.model).__name__} has no continuous local parameters")
    if case.model.has_continuous_local is None and not _seems_continuous(case):
        raise Skip("has_continuous_local is None, and rows have discrete parameters")
    atol = 1e-4 + precision(case.model) * np.abs(case.local_step().row_bounds).max()
    whole = case.empty_bounds()
    moves = [np.abs(case.empty_bounds(p) - whole) for p in (0.5, 0.25)]
    still = np.flatnonzero(np.maximum(*moves) <= atol)
    if len(still):
        raise AssertionError(
            "local_step ignores powers.prior: without a likelihood the bound of row "
            f"{still[0]} is expected to change if the prior of its continuous local "
            f"parameters is raised to the power 1/2 or 1/4, got {whole[still[0]]:.6g}, "
            "the same as at the power 1. If rows have no such parameters, set "
            "has_continuous_local=False"
        )


def _seems_continuous(case):
    """Return whether rows have local parameters, none of which is discrete."""
    local = np.asarray(case.local_step(want=("bound", "local")).local_parameters)
    varies = local.size and (np.ptp(local, axis=0) > 0).any()
    return bool(varies) and (_n_states(case) == 1).all()

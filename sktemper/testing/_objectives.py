"""Checks of bounds, gradients and constants, of rates, stopping, moves and scores."""

import warnings

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from .._utils._validation import ROUNDING
from ..model import IllDefined, Powers, Stopped
from ._case import N_STEPS, OBJECTIVES, Skip, close, expect


def check_fisher_product_is_symmetric_and_positive(case):
    """The Fisher information F is symmetric and positive: u F v = v F u, u F u > 0."""
    case.require("fisher_products")
    globals_, u, v = case.globals_, case.tangent(), case.tangent()
    fu = np.asarray(case.model.fisher_product(globals_, u))
    fv = np.asarray(case.model.fisher_product(globals_, v))
    expected = "u F u > 0 for a change u of the parameters"
    for square in (u @ fu, v @ fv):
        fault = "fisher_product is not positive"
        expect(square > 0, fault, expected, f"{square:.6g}")
    size = np.sqrt((u @ fu) * (v @ fv))
    fault = "fisher_product is not symmetric: u F v differs from v F u"
    close(u @ fv, v @ fu, fault, 1e-6, 1e-7 * size)


def check_fisher_product_fits_finite_differences(case):
    """The gradient of the bound's global part is F (p prior - parameters)."""
    case.require("fisher_products")
    if case.model.parameter_dtype != np.float64:
        raise Skip("parameters of float32 have too few digits for finite differences")
    vector, direction = case.vector(), case.tangent()
    statistics = case.local_step().statistics
    for power in (0.0, 0.5, 1.0):
        powers = Powers(prior=power)

        def bound(v, powers=powers):
            return case.model.global_bound(case.from_vector(v), case.hyper, powers)

        change = case.target(statistics, powers, 0.0) - vector
        fault = (
            "fisher_product does not fit the differences of global_bound at "
            f"prior={power}: slope of the bound"
        )
        rtol = max(1e-4, 32 * case.precision)
        _compare_slopes(case, change, direction, bound, fault, rtol, 1e-6)


def check_natural_gradients_fit_finite_differences(case):
    """The gradient of the tempered bound is F (target - parameters)."""
    case.require_exact()
    case.require("fisher_products")
    if case.model.local_tol > ROUNDING:
        raise Skip("local steps end too far from their optimum: lower their tolerance")
    vector, direction = case.vector(), case.tangent()
    if np.dtype(case.model.dtype) == np.float32:
        raise Skip("float32 has too few digits for finite differences")
    for powers in OBJECTIVES:
        statistics = case.local_step(powers=powers).statistics

        def bound(v, powers=powers):
            return case.bound(case.from_vector(v), powers)

        change = case.target(statistics, powers) - vector
        fault = (
            "the natural gradient, target - parameters, does not fit the differences "
            f"of the bound at {powers}: slope of the bound"
        )
        # rounding of the bound, about 20 eps, is divided by steps of 1e-4 / 2
        rounding = 1e-10 * (1 + abs(case.bound(case.globals_, powers)))
        _compare_slopes(case, change, direction, bound, fault, 1e-3, 1e-4, rounding)


def _compare_slopes(case, change, direction, bound, fault, rtol, error, rounding=0.0):
    """Compare a Fisher product with the slope of a bound in a direction."""
    product = np.asarray(case.model.fisher_product(case.globals_, change))
    atol = error * np.linalg.norm(product) * np.linalg.norm(direction) + rounding
    found = _slope(bound, case.vector(), direction)
    close(direction @ product, found, fault, rtol, atol)


def _slope(function, vector, direction):
    """Return the derivative along a direction, by differences of fourth order."""
    step = 1e-4 * max(1.0, float(np.abs(vector).min()))

    def central(h):
        return (function(vector + h * direction) - function(vector - h * direction)) / h

    return (4 * central(step / 2) - central(step)) / 6


# -- constants of bounds ---------------------------------------------------------------
#: Largest number of states of a row that can be recognised by its logarithm, because
#: logarithms of larger numbers are too close to one another.
MOST_STATES = 100
#: Number of draws of local parameters, largest number of repetitions of the draws,
#: least effective number of draws, and powers of the likelihood.  At low powers, the
#: effective number of draws is higher.
N_DRAWS, MOST_DRAWINGS, FEWEST_THAT_MATTER = 1000, 5, 50
LOCAL_POWERS = np.geomspace(1.0, 0.01, 4)
#: Number of standard errors by which the bound of a row may exceed the row's
#: log-likelihood, and numbers of nats by which the bound may be lower: per observation,
#: per local parameter, and per row.
N_ERRORS, MOST_GAPS = 6.0, (0.3, 0.5, 1.0)


def check_the_bound_of_the_prior_is_zero(case):
    """The global bound E log p - E log q is 0 if the posterior q is the prior p."""
    bound = case.model.global_bound(case.prior(), case.hyper)
    size = abs(case.model.global_bound(case.globals_, case.hyper))
    atol = max(1e-9, 64 * case.precision**2) * (1 + size)
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
            powers=Powers(1.0, power, power), globals_=globals_, want=("bound", "local")
        )
        estimates, errors = _estimates(power * logs)
        slack = N_ERRORS * errors + 100 * case.precision * np.abs(estimates)
        excess = np.asarray(step.row_bounds) - estimates
        is_compared |= not np.isnan(slack).all()
        _refuse_bounds(excess > slack, step.row_bounds, estimates, power, "at most")
        if power == 1:
            width = int(np.prod(np.shape(step.local_parameters)[1:]))
            units = step.row_observed, width, 1.0
            most = sum(map(np.multiply, MOST_GAPS, units)) + slack
            _refuse_bounds(excess < -most, step.row_bounds, estimates, power, "about")
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


def _refuse_bounds(wrong, bounds, estimates, power, relation):
    """Raise an error about the first wrong row, if any row is wrong."""
    for row in np.flatnonzero(wrong)[:1]:
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
    atol = 1e-4 + case.precision * np.abs(case.local_step().row_bounds).max()
    few = np.exp(np.minimum(bounds, np.log(2 * MOST_STATES))) < MOST_STATES
    if not few.any():
        raise Skip("no row has so few states that they can be counted")
    fault = (
        "row_bounds have a wrong constant: without a likelihood they are no logarithms "
        "of whole numbers of states; row"
    )
    expected = np.where(few, np.log(nearest), 0.0)
    close(np.where(few, bounds, 0.0), expected, fault, 0.0, atol)


def check_row_bounds_move_with_the_prior(case):
    """Without a likelihood, bounds depend on the power of a continuous prior."""
    case.require_exact()
    if case.model.has_continuous_local is False:
        raise Skip(f"{type(case.model).__name__} has no continuous local parameters")
    if case.model.has_continuous_local is None and not _seems_continuous(case):
        raise Skip("has_continuous_local is None, and rows have discrete parameters")
    atol = 1e-4 + case.precision * np.abs(case.local_step().row_bounds).max()
    whole = case.empty_bounds()
    moves = [np.abs(case.empty_bounds(p) - whole) for p in (0.5, 0.25)]
    for row in np.flatnonzero(np.maximum(*moves) <= atol)[:1]:
        raise AssertionError(
            "local_step ignores powers.prior: without a likelihood the bound of row "
            f"{row} is expected to change if the prior of its continuous local "
            f"parameters is raised to the power 1/2 or 1/4, got {whole[row]:.6g}, "
            "the same as at the power 1. If rows have no such parameters, set "
            "has_continuous_local=False"
        )


def _seems_continuous(case):
    """Return whether rows have local parameters, none of which is discrete."""
    local = np.asarray(case.local_step(want=("bound", "local")).local_parameters)
    varies = local.size and (np.ptp(local, axis=0) > 0).any()
    return bool(varies) and (_n_states(case) == 1).all()


# -- rising bounds, log C, rates, stopping and moves -----------------------------------
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
            expect(np.isfinite(bound), f"the bound at {powers}", "a number", bound)
            fault = f"the bound at {powers} falls in coordinate ascent"
            _expect_no_fall(case, bound, best, fault, f" after step {number}")
            best = max(best, bound)
            local = step.local_parameters
            globals_ = case.step(globals_, step.statistics, 1.0, powers, 1.0)


def check_learned_priors_raise_the_bound(case):
    """Priors and variances learned from all data never lower the bound."""
    case.require_exact()
    before = case.bound(case.globals_, Powers())
    case.hyper, statistics = case.learned(), case.local_step().statistics
    globals_ = case.step(case.globals_, statistics, 1.0, Powers(), 1.0)
    bound = case.bound(globals_, Powers())
    fault = "update_hyper lowers the bound of the data that it learns from"
    _expect_no_fall(case, bound, before, fault)


def _expect_no_fall(case, bound, least, fault, when=""):
    """Raise an error unless a bound is at least another one, up to rounding."""
    slack = case.precision * (1 + abs(bound))
    slack += case.model.local_tol * case.n_rows
    expected = f"at least {least:.10g}{when}"
    expect(bound >= least - slack, fault, expected, f"{bound:.10g}")


#: Inverse temperatures of the checks of log C, at equal distances.
LADDER = np.array([1.0, 0.8, 0.6, 0.4, 0.2])


def check_log_partition_is_zero_at_one(case):
    """Log C(1) = 0, and log C is finite and convex."""
    case.require("log_partitions")
    values = case.model.log_partition(LADDER, case.hyper, case.random, None, 4)
    _check_log_partition(case, values, "log_partition")


def check_map_partition_is_zero_at_one(case):
    """Log C at the mode of the prior: log C(1) = 0, and log C is finite and convex."""
    case.require("map_partitions")
    values = case.model.map_partition(LADDER, case.hyper, None)
    _check_log_partition(case, values, "map_partition")


def check_current_partition_is_zero_at_one(case):
    """Log C of each row: log C(1) = 0, and log C is finite and convex."""
    case.require("current_partitions")
    _check_current(case, "current_partition")


def check_complete_partition_is_zero_at_one(case):
    """The same for both log C that have the local variables of a sample."""
    case.require("complete_partitions")
    values = case.model.complete_partition(LADDER, case.hyper, case.random, None, 4)
    _check_log_partition(case, values, "complete_partition")
    _check_current(case, "complete_current")


def _check_current(case, name):
    prepared = case.model.prepare(case.globals_, case.hyper)
    local = case.local_step(want=("local",)).local_parameters
    values = getattr(case.model, name)(LADDER, case.block, prepared, local)
    shape, found = (case.n_rows, len(LADDER)), np.shape(values)
    expect(found == shape, name, f"the shape {shape}", found)
    _check_log_partition(case, values, name, rtol=1e-5)


def _check_log_partition(case, values, name, rtol=1e-8):
    """Check log C(b) = log sum_x exp(b score(x)), which is convex in b.

    ``rtol`` is the error relative to the largest value.
    """
    if hasattr(values, "of_rows"):
        values = values.of_rows(case.local_step().row_observed)
    values = np.asarray(values)
    fault = f"{name} at the inverse temperatures {LADDER}"
    expect(np.isfinite(values).all(), fault, "numbers", values)
    at_one = values[..., 0]
    atol = max(rtol * np.abs(values).max(), 1e-8)
    close(at_one, np.zeros_like(at_one), f"{name} at 1 is not 0", atol=atol)
    bends = np.diff(values, 2, axis=-1)
    fault = f"second differences of {name}, which is convex"
    expect((bends >= -4 * atol).all(), fault, "no negative numbers", bends)


def check_largest_rates_are_in_the_domain(case):
    """Steps with the largest rates stay in the domain."""
    case.require("largest_rates")
    model, powers = case.model, Powers()
    unit_noise = np.where(case.random.random(case.n_units()) < 0.5, -2.0, 1.0)
    good = case.local_step().statistics
    rate = np.min(model.largest_rate(case.globals_, good, 1.0, powers, case.hyper))
    expected = "more than 1, as no step leaves the domain"
    expect(rate > 1, "largest_rate without negative noise", expected, f"{rate:.6g}")
    try:
        bad = case.local_step(unit_noise=unit_noise).statistics
    except (IllDefined, ValueError) as error:
        raise Skip(f"negative noise is refused: {error}") from None
    bad = model.within_domain(bad)
    rates = model.largest_rate(case.globals_, bad, 50.0, powers, case.hyper)
    smaller = np.minimum(1.0, 0.98 * rates)
    fault = f"largest_rate is too large: a step of rate {smaller} leaves the domain"
    is_inside = _is_in_domain(case, bad, smaller)
    expect(is_inside, fault, f"less than {smaller}", rates)


def _is_in_domain(case, statistics, rate):
    """Return whether a step of this rate stays in the domain."""
    globals_ = case.globals_
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            moved = case.step(globals_, statistics, 50.0, Powers(), rate)
            if not np.all(case.model.is_valid(moved)):
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
    arguments = case.globals_, case.hyper, case.block, case.random
    proposals = []
    if "births" in capabilities:
        proposals.append(model.propose_birth(*arguments))
    if "splits" in capabilities:
        proposals.append(model.propose_split_merge(*arguments, frozenset()))
    if not proposals:
        raise Skip(f"{type(model).__name__} proposes no moves")
    for globals_, hyper, *_ in filter(None, proposals):
        model.prepare(globals_, hyper)
        bound = model.global_bound(globals_, hyper)
        fault = "global_bound of proposed parameters"
        expect(np.isfinite(bound), fault, "a number", bound)


# -- predictive scores -----------------------------------------------------------------
#: Largest number of changed values of a row, and number of changed rows.
MOST_VALUES, N_ROWS = 20, 3
#: A score may exceed the bound by the sum of two terms: nats per observation, and a
#: share of the bound.
MOST_EXCESS, SHARE_OF_EXCESS = 1.0, 0.5


def check_scores_are_those_of_rows(case):
    """A row has the same score at each call and in any block."""
    whole = case.predictive_scores()
    rtol = case.precision
    half = case.n_rows // 2
    for what, rows in {
        "from call to call": slice(0, case.n_rows),
        "with the other rows of the block": slice(half, case.n_rows),
    }.items():
        part = case.predictive_scores(case.take(rows))
        for name, one, all_ in zip(("scores", "n_held_out"), part, whole, strict=True):
            fault = f"{name} of predictive_scores change {what}"
            close(one, all_[rows], fault, rtol, rtol * np.abs(all_).max())


def check_better_parameters_score_better(case):
    """Rows score better under fitted parameters than under the prior."""
    case.require("dense_vectors")
    fitted, prior = case.start, case.prior()
    for _ in range(N_STEPS):
        fitted = case.stepped(fitted, Powers())
    before, after = (
        case.predictive_scores(globals_=g)[0].sum() for g in (prior, fitted)
    )
    fault = "scores of predictive_scores do not follow the parameters"
    expected = f"a sum of more than {before:.10g}, the sum under the prior"
    rises = after > before + case.precision * abs(before)
    expect(rises, fault, expected, f"{after:.10g} after {N_STEPS} steps on these rows")


def check_scores_are_not_better_than_the_bound(case):
    """The mean score of held-out observations is not far above the bound."""
    if case.model.scores_rankings:
        raise Skip(f"{type(case.model).__name__} scores rankings")
    globals_ = case.certain()
    scores, n_held_out = case.predictive_scores(globals_=globals_)
    step = case.local_step(globals_=globals_, want=("bound",))
    # if scores are of whole rows, each row is one observation
    n_observed = step.row_observed.sum() if n_held_out.max() > 1 else case.n_rows
    bound, score = step.bound / n_observed, scores.sum() / max(n_held_out.sum(), 1)
    most = bound + MOST_EXCESS + SHARE_OF_EXCESS * abs(bound)
    fault = "scores of predictive_scores are no held-out log-likelihoods"
    expected = f"at most {most:.4g} per held-out observation, because the bound is "
    expected += f"{bound:.4g} per observation"
    expect(not score > most, fault, expected, f"{score:.4g}")


def check_scores_do_not_see_what_is_held_out(case):
    """The score of a row is a sum over its held-out observations.

    Two values of a row are changed, each alone and both together.  If both are held
    out, and local parameters depend only on the remaining values, the changes of the
    score add up.
    """
    if case.model.scores_whole_rows:
        raise Skip("predictive_scores is the density of whole rows")
    _, n_held_out = case.predictive_scores()
    seen = []
    longest = np.argsort(-n_held_out, kind="stable")[:N_ROWS]
    for row in longest[n_held_out[longest] > 1].tolist():
        X, columns = _change_values(case, row)
        if len(columns) < 4:
            continue
        block = case.model.take(X, slice(0, X.shape[0]))
        scores, _ = case.predictive_scores(block)
        one, both = scores[1 : 1 + len(columns)], scores[1 + len(columns) :]
        first, second = np.triu_indices(len(columns), 1)
        atol = 1000 * np.finfo(case.model.dtype).eps * np.abs(scores).max()
        moves = np.abs(one - scores[0]) > atol
        pairs = moves[first] & moves[second]
        mixed = (both - one[first] - one[second] + scores[0])[pairs]
        if not len(mixed):
            continue
        if (np.abs(mixed) <= atol).any():
            return
        least = np.abs(mixed).argmin()
        names = columns[first[pairs][least]], columns[second[pairs][least]]
        seen.append((row, names, mixed[least]))
    if not seen:
        raise Skip("no row has several held-out values that can be changed")
    row, names, mixed = seen[0]
    raise AssertionError(
        f"predictive_scores sees what is held out: row {row} has {n_held_out[row]:g} "
        "held-out observations, but changes of two values never add up in the score. "
        f"For the values of columns {names[0]} and {names[1]}, which come nearest, the "
        f"joint change of the score exceeds the sum of the changes by {mixed:.4g}"
    )


def _change_values(case, row):
    """Return copies of a row as data, with other values, and the changed columns.

    The copies are the row itself, the row with each of the columns changed, and the row
    with each pair of columns changed.  No value is added or removed, so that the same
    observations are held out.
    """
    is_sparse = sparse.issparse(case.X)
    X = case.X[[row]]
    values = X.toarray()[0] if is_sparse else np.array(X[0])
    columns = np.flatnonzero((values != 0) & (values == values))
    known = case.X.data if is_sparse else np.ravel(case.X)
    known = np.unique(known[(known != 0) & (known == known)])
    chosen = case.random.permutation(columns)[:MOST_VALUES]
    if len(known) < 2 or len(chosen) < 2:
        return X, []
    others = {c: case.random.choice(known[known != values[c]]) for c in chosen}
    first, second = np.triu_indices(len(chosen), 1)
    changes = [
        [],
        *([p] for p in chosen),
        *zip(chosen[first], chosen[second], strict=True),
    ]
    rows = np.tile(values, (len(changes), 1))
    for number, change in enumerate(changes):
        for column in change:
            rows[number, column] = others[column]
    return type(case.X)(rows) if is_sparse else rows, chosen.tolist()

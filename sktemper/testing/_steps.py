"""Checks of local steps, of steps of the parameters, and of parameters and settings."""

import copy
import pickle
from numbers import Integral

import numpy as np
from scipy import sparse

from .._contract import numbers_in
from ..model import LocalStep, Powers
from ._case import (
    CERTAIN_SCALE,
    POWERS,
    Skip,
    close,
    close_parts,
    expect,
    refuse_rows,
    same,
)


def check_local_step_has_its_fields(case):
    """A local step has totals and rows of the right shapes, all finite."""
    step = case.local_step(want=("statistics", "bound", "score", "local"))
    is_step = isinstance(step, LocalStep)
    expect(is_step, "the result of local_step", "a LocalStep", type(step).__name__)
    for name in ("statistics", "row_observed", "row_bounds", "local_parameters"):
        value = getattr(step, name)
        expect(value is not None, f"{name} was requested", "a value", None)
    close(step.n_rows, case.n_rows, "n_rows is not the number of rows of the block")
    n_iterations, least = step.n_iterations, f"at least one per row, {case.n_rows}"
    expect(n_iterations >= case.n_rows, "n_iterations", least, n_iterations)
    for name in ("row_observed", "row_bounds"):
        rows = np.asarray(getattr(step, name))
        case.expect_finite_rows(rows, name)
    case.expect_one_per_row((len(step.local_parameters),), "local_parameters")


def check_totals_are_sums_of_rows(case):
    """n_observed, bound and score are the sums of their rows."""
    step = case.local_step(want=("statistics", "bound", "score"))
    for total, rows in (
        ("n_observed", "row_observed"),
        ("bound", "row_bounds"),
        ("score", "row_scores"),
    ):
        if getattr(step, rows) is not None:
            fault = f"{total} is not the sum of {rows}"
            close(getattr(step, total), np.sum(getattr(step, rows)), fault, 1e-10)


def check_rows_do_not_depend_on_their_neighbours(case):
    """Results of a row have the same bits in any block.

    If local steps are random, this holds for blocks that differ in later rows only.
    """
    want = ("bound", "score", "local")
    whole = case.local_step(want=want)
    half = case.n_rows // 2
    for rows in (slice(0, half), slice(half, case.n_rows), slice(half, half + 1)):
        if rows.start and case.model.is_random:
            continue
        part = case.local_step(case.take(rows), want=want)
        for name in ("row_observed", "row_bounds", "row_scores", "local_parameters"):
            if getattr(whole, name) is not None:
                same(
                    getattr(part, name),
                    np.asarray(getattr(whole, name))[rows],
                    f"{name} depend on the other rows of a block: rows {rows.start} "
                    f"to {rows.stop - 1} alone differ from all {case.n_rows}",
                )


def check_order_of_rows_does_not_matter(case):
    """Rows have the same bounds in any order."""
    case.require_exact()
    order = case.random.permutation(case.n_rows)
    bounds = case.local_step(want=("bound",)).row_bounds
    other = case.local_step(case.take(order), want=("bound",)).row_bounds
    fault = "row_bounds change if the rows of a block are permuted"
    same(other, np.asarray(bounds)[order], fault)


def check_blocks_add_up(case):
    """The local steps of two blocks add up to the local step of the joined block."""
    case.require_exact()
    cut = case.n_rows // 3
    whole = case.local_step()
    first = case.local_step(case.take(slice(0, cut)))
    parts = first + case.local_step(case.take(slice(cut, case.n_rows)))
    rtol = case.precision
    for name in ("n_rows", "n_observed", "bound"):
        fault = f"{name} of two blocks does not add up to {name} of the joined block"
        close(getattr(parts, name), getattr(whole, name), fault, rtol)
    fault = "statistics of two blocks do not add up to those of the joined block"
    case.close_statistics(parts.statistics, whole.statistics, fault, rtol)


def check_want_changes_no_answer(case):
    """Results do not depend on which other results are wanted."""
    everything = case.local_step(want=("statistics", "bound", "score", "local"))
    for want in (("bound",), ("statistics", "bound"), ("bound", "score", "local")):
        if case.model.is_random and "statistics" not in want:
            continue
        step = case.local_step(want=want)
        names = ["row_observed", "row_bounds"]
        if "score" in want and step.row_scores is not None:
            names.append("row_scores")
        if "local" in want:
            names.append("local_parameters")
        for name in names:
            fault = f"{name} change if only {', '.join(want)} are requested"
            same(getattr(step, name), getattr(everything, name), fault)


def check_local_steps_repeat(case):
    """A repeated step has the same bits, and steps do not change their arguments."""
    before = case.local_step()
    again = case.local_step()
    same(again.row_bounds, before.row_bounds, "row_bounds change from call to call")
    fault = "statistics change from call to call"
    case.close_statistics(again.statistics, before.statistics, fault, 0.0)


def check_unit_noise_weighs_what_units_tell(case):
    """Unit noise is a factor of the statistics of units.

    If rows may have several units, unit noise is also a power of the units' likelihoods
    in the local step.
    """
    w = case.random.uniform(0.2, 2.0, case.n_units())
    if case.model.has_units():
        powers, same_as = Powers(1.0, w, w), "Powers(statistics=w, local=w)"
    else:
        powers, same_as = Powers(statistics=w), "Powers(statistics=w)"
    noisy, plain = case.local_step(unit_noise=w), case.local_step()
    expected, rtol = case.local_step(powers=powers).statistics, case.precision
    fault = f"statistics under unit_noise=w differ from those at {same_as}"
    case.close_statistics(noisy.statistics, expected, fault, rtol)
    if not case.model.has_units():
        same(noisy.row_bounds, plain.row_bounds, "row_bounds change with unit_noise")


def check_row_observed_counts_observations(case):
    """row_observed depends on the data alone, and has a known meaning."""
    found = np.asarray(case.local_step().row_observed, dtype=float)
    for what, other in {
        "other parameters": case.local_step(globals_=case.start),
        "other powers": case.local_step(powers=POWERS[-1]),
        "unit_noise": case.local_step(unit_noise=np.full(case.n_units(), 0.5)),
    }.items():
        same(other.row_observed, found, f"row_observed change with {what}")
    if case.model.weighs_observations:
        raise Skip(f"observations of {type(case.model).__name__} have weights")
    known = _possible_counts(case)
    if not any(np.allclose(found, counts, rtol=1e-6) for counts in known.values()):
        row = int(case.random.integers(case.n_rows))
        choices = ", ".join(f"{c[row]:g} ({name})" for name, c in known.items())
        raise AssertionError(
            "row_observed are not the numbers of observations of the rows: for row "
            f"{row}, expected one of {choices}, got {found[row]:.10g}. If observations "
            "have weights, set weighs_observations"
        )


def _possible_counts(case):
    """Return a dict from possible meanings of ``row_observed`` to its values."""
    n_rows = case.n_rows
    counts = {"one per row": np.ones(n_rows)}
    counts["its units"] = case.model.units_per_row(case.X, np.arange(n_rows))
    X = case.X[:n_rows]
    if sparse.issparse(X):
        X = X.toarray()
    try:
        X = np.asarray(X, dtype=float)
    except (TypeError, ValueError):
        raise Skip("the data are no matrix of numbers") from None
    present = ~np.isnan(X)
    X = np.where(present, X, 0.0)
    axes = tuple(range(1, X.ndim))
    counts["its values"] = present.sum(axis=axes)
    counts["its values that are not 0"] = (X != 0).sum(axis=axes)
    counts["their sum"] = X.sum(axis=axes)
    return counts


# -- steps of the parameters -----------------------------------------------------------
def check_statistics_scale(case):
    """Scales, powers and the method ``scaled`` multiply the statistics."""
    case.require("dense_vectors")
    rtol = case.precision
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
    rtol = case.precision
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
            case.close_statistics(found.statistics, statistics, fault, rtol)


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
    shape = f"the shape {vector.shape}"
    expect(vector.ndim == 1, "natural_parameters", "one vector", shape)
    atol = 1e-12 * np.abs(vector).max()
    fault = "from_natural_parameters is not the inverse of natural_parameters"
    close(case.vector(case.from_vector(vector)), vector, fault, 1e-10, atol)
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
    close_parts(case.hyper, hyper, "steps or update_hyper change hyper")
    fault = "step or update_hyper changes the statistics"
    same(case.target(statistics, scale=2.0), old, fault)


# -- parameters and settings -----------------------------------------------------------
def check_the_start_repeats(case):
    """A start depends only on its random state, and does not change the data."""
    model, X = case.model, copy.deepcopy(case.X)
    hyper = model.initial_hyper(case.X)
    for name, found, expected in (
        ("initial_hyper", hyper, case.hyper),
        ("initial_globals", case.initial_globals(hyper), case.start),
        ("the data", _data_numbers(case.X), _data_numbers(X)),
    ):
        fault = f"{name} change if the model is started again,"
        close_parts(found, expected, fault)


def _data_numbers(X):
    X = X.data if sparse.issparse(X) else np.asarray(X)
    return np.nan_to_num(X) if X.dtype.kind in "fiub" else np.zeros(0)


def check_automatic_settings(case):
    """Sizes of blocks and batches are whole numbers, and temperatures are positive."""
    model, hyper = case.model, case.hyper
    sizes = {
        "block_size": model.block_size,
        "auto_batch_size of the data": model.auto_batch_size(case.X, case.X.shape[0]),
        "auto_batch_size of a stream": model.auto_batch_size(case.X, None),
    }
    for name, size in sizes.items():
        is_whole = isinstance(size, Integral) and size >= 1
        expect(is_whole, name, "a whole number from 1", size)
    temperature = model.auto_temperature(hyper, case.X)
    is_positive = 0 < temperature < np.inf
    expect(is_positive, "auto_temperature", "a positive number", temperature)


def check_critical_temperatures_do_not_increase(case):
    """Temperatures are positive and do not increase; weights act as repetitions."""
    model, X = case.model, case.X
    case.require("critical_temperatures")
    temperatures = model.critical_temperatures(X, case.hyper)
    if temperatures is None:
        raise Skip("these data have no critical temperatures")
    temperatures = np.asarray(temperatures)
    is_finite = temperatures.ndim == 1 and np.isfinite(temperatures).all()
    expected = "finite numbers of shape (n_components - 1,)"
    expect(is_finite, "critical_temperatures", expected, temperatures)
    falls = (temperatures > 0).all() and (np.diff(temperatures) <= 0).all()
    expected = "positive numbers that do not increase"
    expect(falls, "critical_temperatures", expected, temperatures)
    n_rows = X.shape[0]
    twice, weight = X[np.repeat(np.arange(n_rows), 2)], np.full(n_rows, 2.0)
    found = model.critical_temperatures(X, case.hyper, weight)
    expected = model.critical_temperatures(twice, case.hyper)
    fault = "critical_temperatures with weights of 2 differ from those of repeated rows"
    close(found, expected, fault, 1e-6)


def check_hyper_has_its_shapes(case):
    """`hyper_shapes` are the shapes of the priors at the start and after a step."""
    expected = case.model.hyper_shapes()
    if expected is None:
        raise Skip(f"{type(case.model).__name__} has no hyper_shapes")
    for when, hyper in (("at the start", case.hyper), ("after a step", case.learned())):
        fault = f"hyper_shapes() differ from the shapes of hyper {when}"
        _same_shapes(expected, hyper, fault)


def check_globals_have_their_shapes(case):
    """`global_shapes` are the parameters' shapes, and the parameters pass `check`."""
    model = case.model
    expected = model.global_shapes(case.globals_)
    if expected is not None:
        fault = "global_shapes(globals_) differ from the shapes of globals_"
        _same_shapes(expected, case.globals_, fault)
        _same_shapes(expected, case.start, f"{fault} at the start")
    model.check(case.globals_, case.hyper)


def _same_shapes(found, value, fault):
    found = [tuple(shape) for shape in found]
    expected = [np.shape(part) for part in numbers_in(value)]
    expect(found == expected, fault, expected, found)


def check_local_parameters_have_their_width(case):
    """Each row has `n_local` local parameters, which are floats."""
    local = np.asarray(case.local_step(want=("bound", "local")).local_parameters)
    n_local, width = case.model.n_local, int(np.prod(local.shape[1:]))
    if n_local is None:
        raise Skip(f"{type(case.model).__name__} has no n_local")
    fault = "n_local differs from the number of local parameters of a row"
    expected = f"{width}, the width of local_parameters"
    expect(width == n_local, fault, expected, n_local)
    case.model.check_local(local)


def check_invalid_parameters_are_found(case):
    """`is_valid` is True for the parameters of a fit, and False outside the domain."""
    case.require("largest_rates")
    case.require("dense_vectors")
    for name, globals_ in (
        ("at the start", case.start),
        ("after two steps", case.globals_),
        ("where q is the prior", case.prior()),
    ):
        is_valid = np.all(case.model.is_valid(globals_))
        expect(is_valid, f"is_valid of the parameters {name}", True, False)
    far = case.target(case.local_step().statistics, scale=-CERTAIN_SCALE)
    fault = (
        f"is_valid of the prior minus {CERTAIN_SCALE:g} times the statistics (natural "
        f"parameters from {far.min():.4g} to {far.max():.4g})"
    )
    expect(not _is_valid(case, far), fault, False, True)


def _is_valid(case, vector):
    with np.errstate(all="ignore"):
        try:
            return np.all(case.model.is_valid(case.from_vector(vector)))
        except (ValueError, np.linalg.LinAlgError):
            return False


def check_what_is_not_finite_is_found(case):
    """`is_finite` is True for fitted parameters, and False for NaN."""
    model, hyper = case.model, case.hyper
    prepared = model.prepare(case.globals_, hyper)
    is_finite = model.is_finite(case.globals_, hyper, prepared)
    expect(is_finite, "is_finite of a fit", True, False)
    try:
        with np.errstate(all="ignore"):
            globals_ = case.from_vector(np.full_like(case.vector(), np.nan))
            found = model.is_finite(globals_, hyper, model.prepare(globals_, hyper))
    except (ValueError, np.linalg.LinAlgError):
        return
    fault = "is_finite of natural parameters that are all NaN"
    expect(not found, fault, False, True)


def check_weights_are_repetitions(case):
    """Rows of weight w give the same priors as w copies of each row."""
    n_rows = case.X.shape[0]
    weight = case.random.integers(0, 4, n_rows)
    weight[:4] = 3, 0, 1, 2
    for name, X, w in (
        ("ones", case.X, np.ones(n_rows)),
        ("whole numbers", case.X[np.repeat(np.arange(n_rows), weight)], weight),
    ):
        expected = case.model.initial_hyper(X)
        found = case.model.initial_hyper(case.X, w.astype(float))
        fault = (
            f"initial_hyper with weights that are {name} differs from initial_hyper of "
            "repeated rows"
        )
        close_parts(found, expected, fault, 8 * case.precision, 1e-12)


def check_parameters_are_picklable(case):
    """Parameters, priors and statistics can be pickled without changes."""
    for name, value in (
        ("globals_", case.globals_),
        ("hyper", case.hyper),
        ("statistics", case.local_step().statistics),
    ):
        again = pickle.loads(pickle.dumps(value))
        close_parts(again, value, f"{name} change when pickled,")


def check_predictive_shapes(case):
    """Each row has a finite score, which is 0 without held-out observations."""
    scores, n_held_out = case.predictive_scores()
    for name, rows in (("scores", scores), ("n_held_out", n_held_out)):
        case.expect_finite_rows(rows, f"{name} of predictive_scores")
    fault = "scores of predictive_scores where nothing is held out: expected 0"
    refuse_rows((n_held_out == 0) & (scores != 0), scores, fault)
    refuse_rows(n_held_out < 0, n_held_out, "n_held_out: expected no negative numbers")
    if case.model.weighs_observations:
        return
    observed = np.maximum(case.local_step().row_observed, 1)
    fault = "n_held_out: expected no more than row_observed"
    refuse_rows(n_held_out > observed * (1 + 1e-6), n_held_out, fault)

"""Checks of parameters and priors: shapes, domain, weights, pickles."""

import copy
import pickle
from numbers import Integral

import numpy as np
from scipy import sparse

from .._contract import numbers_in
from ._case import Skip, close, close_parts, expect, precision

#: Factor of the statistics.  The prior minus this multiple is outside the domain.
FAR = 1e6


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
    for holds, expected in (
        (
            temperatures.ndim == 1 and np.isfinite(temperatures).all(),
            "finite numbers of shape (n_components - 1,)",
        ),
        (
            (temperatures > 0).all() and (np.diff(temperatures) <= 0).all(),
            "positive numbers that do not increase",
        ),
    ):
        expect(holds, "critical_temperatures", expected, temperatures)
    n_rows = X.shape[0]
    twice, weight = X[np.repeat(np.arange(n_rows), 2)], np.full(n_rows, 2.0)
    close(
        model.critical_temperatures(X, case.hyper, weight),
        model.critical_temperatures(twice, case.hyper),
        "critical_temperatures with weights of 2 differ from those of repeated rows",
        1e-6,
    )


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
    expect(
        width == n_local,
        "n_local differs from the number of local parameters of a row",
        f"{width}, the width of local_parameters",
        n_local,
    )
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
        is_valid = case.model.is_valid(globals_)
        expect(is_valid, f"is_valid of the parameters {name}", True, False)
    far = case.target(case.local_step().statistics, scale=-FAR)
    fault = (
        f"is_valid of the prior minus {FAR:g} times the statistics (natural "
        f"parameters from {far.min():.4g} to {far.max():.4g})"
    )
    expect(not _is_valid(case, far), fault, False, True)


def _is_valid(case, vector):
    with np.errstate(all="ignore"):
        try:
            return case.model.is_valid(case.from_vector(vector))
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
        close_parts(found, expected, fault, 8 * precision(case.model), 1e-12)


def check_parameters_are_picklable(case):
    """Parameters, priors and statistics can be pickled without changes."""
    for name, value in (
        ("globals_", case.globals_),
        ("hyper", case.hyper),
        ("statistics", case.local_step().statistics),
    ):
        again = pickle.loads(pickle.dumps(value))
        close_parts(again, value, f"{name} change when pickled,")

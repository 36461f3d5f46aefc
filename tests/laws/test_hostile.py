"""Calls with extreme or invalid data and parameters, in any order, are harmless.

A call returns finite results, or raises a clear error and changes nothing.  Then all
public attributes can be read and are finite, data and parameters are unchanged, a copy
has the same bits, and there was no RuntimeWarning.
"""

import contextlib
import copy
import numbers
import warnings

import numpy as np
import pytest
from digests import attempt, bits, contents, copied
from registry import ESTIMATORS
from scipy import sparse
from sklearn.utils._param_validation import make_constraint

import sktemper
from sktemper import learning_rates, schedules, tempering
from sktemper.base import TemperedEstimator
from sktemper.noise import SVIPlusNoise

from .draws import LENGTH, Draws

QUERIES = "transform impute predict_proba predict score_samples score".split()
QUERIES += ["perplexity", "lower_bound"]
EXTREMES = 5e-324, 1e-310, 1e-300, 1e-160, 1e-60, 1e-39, 1e-20, 1e-3, 1.0, 1.0
EXTREMES += 1e9, 1e16, 1e31, 3e38, 1e61, 1e154, 1e300, 1.7e308
EXTREMES += np.nan, np.inf, -np.inf, -1.0, 0.0
#: A model may refuse clean data if the scales of data differ by more than this factor.
FAR = 1e10
#: Attributes and columns of the history that are NaN if they were not evaluated.
MAY_BE_MISSING = {
    "lower_bound",
    "lower_bounds_",
    "heldout_score",
    "prequential_score",
    "temperature_probabilities",
    "move_bound",
}
DTYPES = "f2", "f4", "f4", "g", "i4", "i8", "u1", "?", "O", "c16", ">f8", "U9"
N_CALLS = 6


class Planned(Exception):
    """Exception of a user's function, which must reach the caller unchanged."""


class BadFunction:
    """A user's function of time with an invalid result."""

    def __init__(self, value):
        self.value = value

    def __call__(self, t):
        if self.value is Planned:
            raise Planned
        return self.value


def bad_function(draw):
    values = np.nan, np.inf, 0.0, -1.0, None, "hot", 1e300, 1e-300, Planned
    return BadFunction(draw.one_of(*values))


# -- estimators ------------------------------------------------------------------------
def schedule(draw):
    start = draw.one_of(1.0, 1.5, 50.0, 1e9, "auto")
    length = draw.one_of(1, 4, 1e9, "auto")
    constant = draw.one_of(1.0, 3.0, 1e12, *EXTREMES)
    unit = draw.one_of("steps", "passes")
    return draw.one_of(
        None,
        schedules.ConstantSchedule(constant),
        schedules.LinearSchedule(start, 1.0, length, unit),
        schedules.ExponentialSchedule(start, 1.0, length),
        bad_function(draw),
    )


def learning_rate(draw):
    decaying = learning_rates.RobbinsMonro(draw.one_of(0, 1, 1e12), 0.7)
    adaptive = learning_rates.AdaptiveRate(draw.one_of("fisher", "identity"))
    number = draw.one_of(1.0, 0.3, 1e-12, *EXTREMES)
    return draw.one_of(None, number, decaying, adaptive)


def temperature(draw):
    target = draw.one_of("likelihood", "posterior")
    highest, least = draw.one_of(1.5, 1e6, "auto"), draw.one_of(0.1, 1e-9)
    return draw.one_of(
        None,
        "global",
        "local",
        tempering.Annealing(schedule(draw), target),
        tempering.GlobalTempering(5, max_temperature=highest),
        tempering.LocalTempering(5, min_inverse_temperature=least),
    )


def value_of(draw, constraint, n_components):
    """Return a value of a parameter, in most cases one that its constraint permits."""
    if constraint == "array-like":
        return [draw.one_of(*EXTREMES)] * n_components
    if constraint == "boolean":
        return draw.one_of(False, True)
    if constraint is callable:
        return draw.one_of(np.sqrt, np.log, np.log1p, np.negative)
    constraint = make_constraint(constraint)
    if hasattr(constraint, "options"):
        return draw.one_of(*sorted(constraint.options, key=str))
    if getattr(constraint, "type", None) is numbers.Integral:
        return draw.one_of(0, 1, 3, 20)
    usual = 1e-300, 1e-9, 0.1, 0.5, 1 - 1e-16, 1.0, 3.0, 1e6
    return draw.one_of(*usual, *usual, *usual, *EXTREMES)


def choices(draw, row, kind, n_components):
    """Return unusual or invalid values of the parameters of an estimator."""
    found = {
        "batch_size": draw.one_of(None, "auto", 1, 5, 10**7),
        "learning_rate": learning_rate(draw),
        "n_init": 2,
        "total_samples": draw.one_of(1, 100, 10**9, 10**18),
        "n_iter_no_change": 1,
        "tol": draw.one_of(0, 1e300),
        "warm_start": True,
        "shuffle": False,
        "n_jobs": 2,
    }
    size = draw.one_of(0.5, 1.0, 3, 1e-9, bad_function(draw), *EXTREMES)
    if kind == "Annealed":
        found["schedule"] = schedule(draw)
        found["target"] = draw.one_of("local_step", "likelihood", "posterior")
    elif kind:
        found["tempering"] = temperature(draw)
    if kind == "SVIPlus":
        found["effective_batch_size"] = size
    elif kind:
        noise = draw.one_of("dirichlet", "gaussian")
        found["gradient_noise"] = SVIPlusNoise(size, noise)
    if row.moves:
        found["moves"] = draw.one_of("all", "birth", "split_merge")
    cls = getattr(sktemper, kind + row.name)
    for name, constraints in sorted(cls._parameter_constraints.items()):
        known = name in TemperedEstimator._parameter_constraints
        if not known and not isinstance(constraints, str):
            constraint = draw.one_of(*[one for one in constraints if one is not None])
            found[name] = value_of(draw, constraint, n_components)
    return found


def estimator_of(draw, row, kind):
    n_components = draw.one_of(1, 2, 3, 8, 30)
    share = draw.one_of(0.0, 0.1, 0.4)
    parameters = {
        "n_components": n_components,
        "max_iter": draw.one_of(1, 2, 5),
        "random_state": 0,
    }
    if row.moves:
        parameters["moves"] = None
    for name, value in choices(draw, row, kind, n_components).items():
        if draw.happens(share):
            parameters[name] = value
    return getattr(sktemper, kind + row.name)(**row.parameters | parameters)


# -- data ------------------------------------------------------------------------------
def dense(row):
    """Return data of a model as a float64 array, with NaN for missing values."""
    X = row.data(120)
    if "NaN" in row.settings:
        X = row.settings["NaN"].data(X)
    return (X.toarray() if sparse.issparse(X) else X).astype(np.float64)


def clean_data(draw, row, n_rows, n_columns):
    """Return rows and columns of a model's data, drawn with repetitions."""
    X, random = dense(row), draw.generator()
    X = X[random.integers(X.shape[0], size=n_rows)]
    if n_columns != X.shape[1]:
        X = X[:, random.integers(X.shape[1], size=n_columns)]
    return X


def spoilt(draw, X):
    """Return a copy with extreme or invalid values."""
    X, (n, n_columns) = X.copy(), X.shape
    for _ in range(draw.one_of(0, 1, 1, 2)):
        how = draw.one_of("entry", "scale", "column", "shift", "equal", "row", "rank")
        value, place = draw.one_of(*EXTREMES), draw.between(0, X.size - 1)
        with np.errstate(all="ignore"):
            if how == "entry":
                X.flat[place] = value
            elif how == "scale":
                X *= value
            elif how == "column":
                X[:, place % n_columns] *= value
            elif how == "shift":
                X += value
            elif how == "equal":
                X[:] = value
            elif how == "row":
                X[place % n] = value
            else:
                X[:] = X[:1]
    return X


def in_container(draw, X, row):
    """Return data in another dtype or container, which an estimator may refuse."""
    if draw.happens(0.4):
        with np.errstate(all="ignore"), contextlib.suppress(ValueError, OverflowError):
            X = X.astype(draw.one_of(*DTYPES))
    forms = ["array"] * 4 + ["fortran", "strided", "list", "flat", "empty"]
    if X.dtype.str in ("<f8", "<f4", "<i4", "<i8"):
        forms += ["csr", "csc", "coo"]
    form = draw.one_of(*forms)
    if form in ("csr", "csc", "coo"):
        if "NaN" in row.settings and X.dtype.kind == "f":  # missing ratings
            X = np.where(np.isnan(X), X.dtype.type(0), X)
        return sparse.csr_matrix(X).asformat(form)
    return {
        "array": X,
        "fortran": np.asfortranarray(X),
        "strided": np.repeat(X, 3, axis=1)[::-1, ::3],
        "list": X.tolist(),
        "flat": X.ravel(),
        "empty": X[:0],
    }[form]


def weights_of(draw, n_rows):
    weights = draw.generator().random(n_rows)
    how = draw.one_of("scaled", "one", "only", "zero", "short", "words", *["none"] * 6)
    with np.errstate(all="ignore"):
        if how == "scaled":
            weights *= draw.one_of(*EXTREMES)
        elif how == "one":
            weights[0] = draw.one_of(*EXTREMES)
    weights[1 if how == "only" else 0 if how == "zero" else n_rows :] = 0
    others = {"none": None, "short": weights[:-1], "words": ["heavy"] * n_rows}
    return others.get(how, weights)


# -- calls -----------------------------------------------------------------------------
def floats(value, name):
    """Yield names and floating-point arrays inside of a nested value."""
    if isinstance(value, np.ndarray | np.floating | float):
        if np.asarray(value).dtype.kind == "f":
            yield name, np.asarray(value)
    elif isinstance(value, dict):
        for key, part in value.items():
            if key not in MAY_BE_MISSING:
                yield from floats(part, f"{name}.{key}")
    elif isinstance(value, tuple | list):
        for part in value:
            yield from floats(part, name)


def size_of(X):
    """Return the largest finite absolute value of data, or 1 if all are 0."""
    with np.errstate(all="ignore"):
        values = X.data if sparse.issparse(X) else np.asarray(X)
        sizes = np.abs(values.astype(np.float64))
    return sizes[np.isfinite(sizes)].max(initial=0.0) or 1.0


def look_over(estimator):
    """Read every public attribute of a fitted estimator."""
    for name in sorted(set(dir(type(estimator))) | set(vars(estimator))):
        if name[-1] != "_" or name[0] == "_" or name in MAY_BE_MISSING:
            continue
        try:
            value = getattr(estimator, name)
        except AttributeError as error:  # the last fit did not set the attribute
            assert isinstance(error, ValueError), f"{name}: {error}"
            continue
        for place, array in floats(value, name):
            assert np.isfinite(array).all(), f"{place} is not finite"


class Calls:
    """Calls of an estimator."""

    def __init__(self, draw, name):
        self.draw, (self.row, kind) = draw, ESTIMATORS[name]
        self.estimator = estimator_of(draw, self.row, kind)
        self.n_columns = draw.one_of(1, 2, 6, 25, self.row.data(120).shape[1])
        self.sizes = []  # of the data of fits

    def data(self, n_rows):
        X = clean_data(self.draw, self.row, n_rows, self.n_columns)
        return in_container(self.draw, spoilt(self.draw, X), self.row)

    def call(self, method, X, **options):
        """Call a method, which must change neither data nor parameters."""
        estimator = self.estimator
        before = contents(X), repr(estimator.get_params())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            # from scikit-learn's check for infinity, which uses a sum
            warnings.filterwarnings("ignore", "invalid value encountered in reduce")
            with contextlib.suppress(Planned):
                result, _ = attempt(estimator, method, X, **options)
                after = contents(X), repr(estimator.get_params())
                assert after == before, f"{method} changed its data or parameters"
                return result

    def fit(self):
        n_rows = self.draw.one_of(1, 2, 8, 40, 120)
        X, weights = self.data(n_rows), weights_of(self.draw, n_rows)
        before = bits(self.estimator)
        method = self.draw.one_of("fit", "fit", "partial_fit")
        self.call(method, X, sample_weight=weights)
        if bits(self.estimator) != before:
            self.sizes.append(size_of(X))
        if hasattr(self.estimator, "state_"):
            look_over(self.estimator)

    def query(self):
        method, before = self.draw.one_of(*QUERIES), bits(self.estimator)
        if before and hasattr(self.estimator, method):
            result = self.call(method, self.data(self.draw.one_of(1, 7, 70)))
            assert bits(self.estimator) == before, f"{method} changed the model"
            if result is not None and method != "impute":
                finite = np.isfinite(np.asarray(result, dtype=float)).all()
                assert finite, f"{method} returned NaN or infinity"

    def copy(self):
        before = bits(self.estimator)
        self.estimator = self.draw.one_of(copied, copy.deepcopy)(self.estimator)
        assert bits(self.estimator) == before, "a copy has other bits"

    def clear_memory(self):
        if getattr(self.estimator, "half_life", None) is not None:
            with contextlib.suppress(ValueError):
                self.estimator.clear_memory()

    def end(self):
        """A model of data of ordinary scale can transform clean data."""
        if not self.sizes or self.row.name == "MixedMixture":
            return
        X = dense(self.row)[:5]
        X = X[:, np.arange(self.n_columns) % X.shape[1]]
        sizes = [*self.sizes, size_of(X)]
        result = self.call("transform", X)
        if result is None:
            assert max(sizes) > FAR * min(sizes), "clean data are refused"
        else:
            assert np.isfinite(result).all(), "transform of clean data is not finite"


@pytest.mark.parametrize("name", ESTIMATORS)
def test_calls_are_harmless(name):
    for number in range(LENGTH):
        calls = Calls(Draws("hostile", name, number), name)
        calls.fit()
        for _ in range(N_CALLS):
            rules = [calls.fit] * 3 + [calls.query] * 4 + [calls.copy]
            calls.draw.one_of(*rules, calls.clear_memory)()
        calls.end()

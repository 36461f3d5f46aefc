"""Law: results of regressions do not depend on places and units, or the order of rows.

Places and units are those of covariates, outcomes and sampling weights.  Values are
multiples of a power of two, so that other places and units are exact.
"""

import itertools

import numpy as np
import pandas as pd
import pytest

from sktemper import class_outcomes, class_regression

from .draws import LENGTH, generator
from .test_null import N, regression

PLACES, UNITS = (0.0, 2.0**30, -(2.0**20)), (1.0, 2.0**-30, 2.0**20)
#: Columns with the unit of the outcome, or that of one divided by the covariate.
WITH_UNIT = ["coef", "effect", "estimate", "stderr", "low", "high"]


def drawn(random):
    """Return posteriors, covariates or outcomes of which x differs, and weights."""
    y, x = random.permutation(N) % 3, random.normal(size=N)
    x = np.rint(2.0**16 * (x + 0.3 * y)) / 2.0**16
    group = random.choice(["a", "b", "c"], p=[0.2, 0.3, 0.5], size=N)
    posteriors = 0.85 * np.eye(3)[y] + 0.05
    counts, ratios = random.integers(1, 4, N), random.gamma(4.0, size=N)
    weights = {"sample_weight": counts, "sampling_weight": ratios}
    return posteriors, pd.DataFrame({"x": x, "group": group}), weights


def class_tables(frame, own, method, **weights):
    found = class_regression(own, frame, method=method, **weights)
    effects = found.marginal_effects(frame, sample_weight=weights["sample_weight"])
    return found.table().drop(columns="odds_ratio"), effects


def outcome_tables(frame, own, method, **weights):
    found = class_outcomes(own, frame, method=method, **weights)
    return found.table(), found.tests()


def topic_tables(frame, *_, **__):
    found = regression(30, frame)
    return found.table(), found.shares(frame[:9]), found.tests(["x"]), found.tests()


OF_CLASSES = list(itertools.product((class_tables, outcome_tables), ("ml", "bch")))


@pytest.mark.every(7)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("tables", "method"), [*OF_CLASSES, (topic_tables, None)])
def test_places_and_units_do_not_matter(tables, method, place, unit):
    random = generator("covariates", tables.__name__, method, place, unit)
    for _ in range(LENGTH):
        own, frame, weights = drawn(random)
        other = frame.assign(x=unit * (frame["x"] + place))
        order = np.arange(N) if method is None else random.permutation(N)
        others = {name: part[order] for name, part in weights.items()}
        others["sampling_weight"] *= random.choice([1e-12, 1.0, 1e300])
        known = tables(frame, own, method, **weights)
        again = tables(other.iloc[order], own[order], method, **others)
        for expected, found in zip(known, again, strict=True):
            if "covariate" in expected:
                expected = expected[expected["covariate"] != "(intercept)"]
            check(expected, found.loc[expected.index], place, unit)


def check(expected, found, place, unit):
    """Raise if tables differ by more than the rounding errors of a far outcome."""
    assert np.isfinite(found.select_dtypes("number")).all(axis=None)
    of_outcomes = "outcome" in expected
    is_own = expected.get("outcome", expected.get("covariate", expected.index)) == "x"
    factor = np.where(is_own, 1.0 / unit if of_outcomes else unit, 1.0)
    for name in expected.select_dtypes("number"):
        values, atol = found[name], 3e-5
        if name in WITH_UNIT:
            values, atol = values * factor, 1e-6 * expected["stderr"].max()
            if of_outcomes:
                values = values - place * (is_own if name != "stderr" else 0)
                atol += 2.0 * np.spacing(abs(place))
        np.testing.assert_allclose(values, expected[name], 1e-6, atol, err_msg=name)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("tables", "method"), OF_CLASSES)
def test_weights_are_repeated_rows(tables, method):
    """Only permutations differ."""
    own, frame, weights = drawn(generator("repeated", tables.__name__, method))
    rows = np.repeat(np.arange(N), weights["sample_weight"])
    others = {name: part[rows] for name, part in weights.items()}
    others["sample_weight"] = None
    known = tables(frame, own, method, **weights)
    repeated = tables(frame.iloc[rows], own[rows], method, **others)
    for one, other in zip(known, repeated, strict=True):
        names = [name for name in one if name in (*WITH_UNIT[:4], "chi2")]
        np.testing.assert_allclose(one[names], other[names], 1e-4, 1e-6)

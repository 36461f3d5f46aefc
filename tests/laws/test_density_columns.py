"""The density of each kind of column sums and integrates to at most 1.

It is finite for every value that `fit` admits, except outside of a known support, and
falls beyond the outermost row.  Samples and imputed values follow it.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from sktemper import AnnealedMixedMixture, TemperedMixedMixture

from .draws import generator, too_many

LARGEST = 1e60


def two(random, n, one, other):
    """Return values of two classes."""
    return np.where(random.random(n) < 0.4, one, other)


#: Draws of columns of fractions, of whole numbers, and of options.
FRACTIONS = {
    "gamma": lambda r, n: r.gamma(2.0, 5.0, n),
    "zeros and gamma": lambda r, n: two(r, n, 0.0, r.gamma(2.0, 5.0, n)),
    "zeros on top": lambda r, n: two(r, n, 0.0, -r.gamma(2.0, 5.0, n)),
    "zeros and normal": lambda r, n: two(r, n, 0.0, r.normal(size=n)),
    "Pareto": lambda r, n: r.pareto(1.5, n) + 1.0,
    "t": lambda r, n: r.standard_t(3, n),
    "normal": lambda r, n: two(r, n, 0.0, 6.0) + r.normal(size=n),
    "log-normal": lambda r, n: r.lognormal(two(r, n, 0.0, 3.0), 0.5),
    "halves": lambda r, n: r.integers(1, 6, n) / 2.0,
    "constant": lambda r, n: np.full(n, 3.4),
    "tiny units": lambda r, n: r.gamma(2.0, 1e-20, n),
    "large units": lambda r, n: r.gamma(2.0, 1e30, n),
}
WHOLE = {
    "geometric": lambda r, n: r.geometric(0.05, n),
    "ages and a code": lambda r, n: two(r, n, 9999, r.integers(18, 80, n)),
    "zeros and counts": lambda r, n: two(r, n, 0, r.poisson(30, n)),
    "counts": lambda r, n: r.poisson(two(r, n, 3.0, 40.0)),
}
OPTIONS = {
    "Likert": lambda r, n: r.integers(1, 6, n),
    "text": lambda r, n: r.choice(["tea", "coffee", "water"], n),
    "yes or no": lambda r, n: r.random(n) < 0.3,
    "one text": lambda r, n: np.full(n, "tea"),
}
POSITIVE = ("gamma", "Pareto", "log-normal", "tiny units", "large units")
CELLS = [
    *((name, kind) for name in FRACTIONS for kind in ("auto", "histogram", "binned")),
    *((name, "gaussian") for name in FRACTIONS if name != "constant"),
    *((name, "lognormal") for name in POSITIVE),
    *((name, kind) for name in WHOLE for kind in ("auto", "histogram", "poisson")),
    *((name, kind) for name in OPTIONS for kind in ("auto", "categorical")),
]


def fitted(name, kind):
    """Return a mixture, its values, its density, and a generator."""
    random = generator("density of columns", name, kind)
    cls = random.choice([AnnealedMixedMixture, TemperedMixedMixture])
    n_rows = int(random.integers(30, 400))
    values = {**FRACTIONS, **WHOLE, **OPTIONS}[name](random, n_rows)
    mixture = cls(2, kinds=kind, max_iter=20, random_state=0)
    with warnings.catch_warnings():
        # five values may all occur an even number of times
        warnings.filterwarnings("ignore", "All 2 components|The lower bound|A row of X")
        mixture.fit(pd.DataFrame({"x": values}))

    def log_density(x):
        return mixture.score_samples(pd.DataFrame({"x": np.ravel(x)}))

    return mixture, values, log_density, random


def panels(points):
    """Return nodes and weights of Gauss and Legendre between points, 8 for each."""
    x, w = np.polynomial.legendre.leggauss(8)
    half = 0.5 * np.diff(points)[:, None]
    return (points[:-1, None] + half * (1.0 + x)).ravel(), (half * w).ravel()


def integral(log_density, rows):
    """Return the integrals below, between and above sorted rows.

    Beyond the rows, the distance from them is exp(u), and u has a grid.
    """
    units = max(rows[-1] - rows[0], 1e-3 * abs(rows[-1]), 1e-60)
    u, w = panels(np.linspace(np.log(units) - 30.0, np.log(LARGEST / 2), 300))
    beyond = [np.exp(log_density(end + np.exp(u)) + u) @ w for end in (rows[-1],)]
    below = np.exp(log_density(rows[0] - np.exp(u)) + u) @ w
    steps = np.arange(6) / 6
    inner = (rows[:-1, None] + np.diff(rows)[:, None] * steps).ravel()
    x, w = panels(np.append(inner, rows[-1]))
    between = np.exp(log_density(x)) * w if len(rows) > 1 else np.zeros(1)
    return below, between, beyond[0]


def total_of_fractions(log_density, values):
    """Return the atoms plus the integrals, and the integral below and above the rows.

    A row is an atom if its density differs from that on both sides.
    """
    rows = np.unique(values)
    own, *sides = (
        np.exp(log_density(x))
        for x in (rows, np.nextafter(rows, -np.inf), np.nextafter(rows, np.inf))
    )
    is_atom = np.all([~np.isclose(own, side, rtol=1e-6) for side in sides], axis=0)
    below, between, above = integral(log_density, rows)
    total = own[is_atom].sum() + below + between.sum() + above
    return total, below + above


def check_total(mixture, log_density, values):
    """Check the total, and return the probability beyond the rows, or None."""
    kind, beyond, low = mixture.kinds_["x"], None, 1.0 - 1e-4
    if kind in ("categorical", "binned"):
        options = np.unique(values)
        if kind == "binned":
            options = mixture.columns_[0].centres
        total = np.exp(log_density(options)).sum()
    elif kind == "lognormal":  # over logarithms
        u, w = panels(np.linspace(-200.0, np.log(LARGEST), 3000))
        total = np.exp(log_density(np.exp(u)) + u) @ w
        low = 1.0 - 1e-3
    elif values.dtype.kind == "i" and kind != "gaussian":
        x = np.arange(values.min() - 20000, values.max() + 20001)
        x = x[x >= 0] if kind == "poisson" else x
        shares = np.exp(log_density(x))
        beyond = shares[(x < values.min()) | (x > values.max())].sum()
        total, low = shares.sum(), 1.0 - 1e-3
    else:
        total, beyond = total_of_fractions(log_density, values)
        low = low if kind == "histogram" else 1.0 - 1e-3
    assert low < total <= 1.0 + 1e-6
    return beyond


@pytest.mark.every(7)
@pytest.mark.parametrize(("name", "kind"), CELLS)
def test_a_column_has_a_density(name, kind):
    mixture, values, log_density, random = fitted(name, kind)
    beyond = check_total(mixture, log_density, values)
    chosen = mixture.kinds_["x"]
    if chosen == "categorical":
        return
    # finite, and falling, to the largest value
    scale = max(np.ptp(values), 1e-3 * abs(values[0]), 1e-60)
    far = np.geomspace(scale, LARGEST / 2, 100)
    far = np.rint(far) if chosen == "poisson" else far
    above = log_density(values.max() + far)
    assert np.isfinite(above).all()
    low, high = values.min() - far, log_density([values.min(), values.max()])
    assert (np.diff(above) <= 0).all() and above[0] <= high[1]
    if chosen == "lognormal":
        with pytest.warns(UserWarning, match="not positive"):
            assert (log_density([-1.0, 0.0, -LARGEST]) == -np.inf).all()
    elif chosen != "poisson":
        below = log_density(low)
        assert np.isfinite(below).all()
        assert (np.diff(below) <= 0).all() and below[0] <= high[0]
    if chosen == "histogram":
        check_samples(mixture, values, log_density, beyond, random)


def check_samples(mixture, values, log_density, beyond, random):
    """Check shares of samples beyond the rows and at the most frequent value."""
    n = 4000
    drawn = mixture.set_params(random_state=int(random.integers(99))).sample(n)[0]["x"]
    outside = ((drawn < values.min()) | (drawn > values.max())).sum()
    assert not too_many(outside, n, beyond * 1.01 + 1e-9, len(CELLS))
    found, counts = np.unique(values, return_counts=True)
    top, share = found[counts.argmax()], counts.max() / len(values)
    if share > 0.2:
        expected = np.exp(log_density([top]))[0]
        place = (drawn == top).sum()
        assert stats.binomtest(int(place), n, min(expected, 1.0)).pvalue > 1e-6
    filled = mixture.impute(pd.DataFrame({"x": [np.nan]}))["x"][0]
    assert np.clip(filled, values.min(), values.max()) == pytest.approx(filled)


def test_conditional_densities_have_the_same_support():
    random = generator("density of columns", "conditional")
    y = random.integers(2, size=200)
    X = pd.DataFrame({"a": random.lognormal(3.0 * y, 0.3), "b": random.normal(5.0 * y)})
    kinds = {"a": "lognormal", "b": "gaussian"}
    mixture = AnnealedMixedMixture(2, kinds=kinds, random_state=0).fit(X)
    rows = pd.DataFrame({"a": [-1.0, 1.0], "b": [0.0, 0.0]})
    with pytest.warns(UserWarning, match="not positive"):
        found = mixture.conditional(rows, given=["b"])
    assert found.log_density[0] == -np.inf and np.isfinite(found.log_density[1])
    np.testing.assert_array_equal(found.weights[0], found.weights[1])
    found = mixture.conditional(rows, given=["a"])  # as missing
    gap = mixture.conditional(rows.assign(a=[np.nan, 1.0]), given=["a"])
    np.testing.assert_array_equal(found.log_density, gap.log_density)
    np.testing.assert_array_equal(found.weights, gap.weights)

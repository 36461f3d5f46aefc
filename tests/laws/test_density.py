"""Densities integrate to at most 1, are finite, and fall beyond the outermost rows.

That holds for `score_samples` and `conditional` at every value that `fit` admits.
Integrals are quadratures on grids about the components and rows; formulas of single
components are evaluated in extended precision, at points as far as the largest value.
Probabilities of answers and of words are summed over all cases.
"""

import itertools
import warnings

import numpy as np
import pytest
from scipy.special import logsumexp

from sktemper._utils._validation import LARGEST_VALUE

from .draws import LENGTH, cells, generator
from .registry import MODELS, STRANGE, numbers, variances_and_condition

CONTINUOUS = [
    subject
    for subject in MODELS
    if subject.row.name in ("GaussianMixture", "StudentMixture")
]
IN_COLUMNS = [subject for subject in CONTINUOUS if "low_rank" not in subject.name]
#: Components for which `log_densities` has a formula.
FULL = [s for s in IN_COLUMNS if "diag" not in s.name and "auto" not in s.name]
FAR = LARGEST_VALUE["float64"]
#: Ends of panels in widths of a distribution, whose last one is far from it, and nodes
#: and weights of Gauss's rule in a panel.
FIRST = np.append(0.0, 1.4 ** np.arange(-6, 12))
NODES, SHARES = np.polynomial.legendre.leggauss(12)


def fitted(subject, X, weight=None, **parameters):
    """Return a fit, whose warnings are others' concern."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = {} if weight is None else {"sample_weight": weight}
        return subject.make(random_state=0, **parameters).fit(X, **given)


def grid(places, widths, farthest=FAR, ends=()):
    """Return nodes and weights of a quadrature of a line from -farthest to farthest.

    Panels end at multiples of the widths about the places, and at ``ends``.
    """
    n_more = int(np.log(2 * farthest / min(widths)) / np.log(1.4))
    ladder = np.append(FIRST, FIRST[-1] * 1.4 ** np.arange(1, n_more))
    ladder = np.append(-ladder[:0:-1], ladder)
    own = np.reshape(places, (-1, 1)) + np.multiply.outer(widths, ladder)
    ends = np.unique(np.clip(np.append(own, ends), -farthest, farthest))
    middle, half = 0.5 * (ends[1:] + ends[:-1]), 0.5 * np.diff(ends)
    nodes = middle[:, None] + half[:, None] * NODES
    return nodes.ravel(), (half[:, None] * SHARES).ravel()


def mass(log_density, weights):
    return np.exp(logsumexp(log_density, b=weights))


# -- one component in extended precision -----------------------------------------------
def log_student(square, log_determinant, D, freedom, spread):
    """Return the log density of a predictive distribution in extended precision.

    The square is (x - m)^T W (x - m) of the Wishart scale W, whose log determinant is
    given, and 1 / spread is the precision of a row, in units of its own.
    """
    half = np.longdouble(0.5) * (freedom + 1 - D)
    log = _log_rising(half, 0.5 * D) + 0.5 * log_determinant
    log -= 0.5 * D * np.log(np.pi * spread)
    return log - 0.5 * (freedom + 1) * np.log1p(square / spread)


def _log_rising(x, n):
    """Return log Gamma(x + n) - log Gamma(x), by Stirling's series after a shift."""
    shifts = x + np.arange(64, dtype=np.longdouble)
    log = (np.log(shifts) - np.log(shifts + n)).sum()
    x = x + 64
    end = x + n
    series = (1 / end - 1 / x) / 12 - (end**-3 - x**-3) / 360
    return log + (x - 0.5) * np.log1p(n / x) + n * (np.log(end) - 1) + series


def over_scales(freedom, kappa, log_density):
    """Return the log density of a row whose scale u has a Gamma distribution."""
    half = np.longdouble(0.5) * freedom

    def logs(s, log_density=lambda _: 0.0):
        rise = s**2 * (0.5 + s / 6 + s**2 / 24 + s**3 / 120)
        rise = np.where(np.abs(s) < 1e-3, rise, np.expm1(s) - s)
        return log_density(np.exp(-s) + 1 / np.longdouble(kappa)) - half * rise

    def integral(*given):
        rough = np.linspace(-320, 8, 64_001), np.linspace(-9, 9, 901) / np.sqrt(half)
        s = np.sort(np.concatenate(rough)).astype(np.longdouble)
        s = s[logs(s, *given) > logs(s, *given).max() - 60]
        s = np.linspace(s[0] - 0.01, s[-1] + 0.01, 40_001, dtype=np.longdouble)
        return logsumexp(logs(s, *given)) + np.log(s[1] - s[0])

    return integral(log_density) - integral()


def log_densities(estimator, X):
    """Return log densities of rows under one full component, by formulas."""
    model, usual = estimator._fitted()
    state, D = estimator._state(), X.shape[1]
    inverse = np.squeeze(usual.inverse_scale)
    inverse = inverse * np.eye(D) if inverse.ndim == 0 else inverse
    units = np.sqrt(np.diag(inverse))
    inverse = inverse / np.multiply.outer(units, units)
    moved = (X - state.hyper.origin - usual.means[0]) / units
    squares = (moved * np.linalg.solve(inverse, moved.T).T).sum(axis=1)
    log_determinant = -np.linalg.slogdet(inverse)[1] - 2 * np.log(units).sum()
    kappa, freedom = (
        float(usual.precision[0]),
        np.longdouble(np.ravel(usual.freedom)[0]),
    )

    factor = 1
    if model.family.law.width > 1:  # one Gamma distribution of all columns
        freedom, factor = D * freedom + D - 1, D

    def one(square, spread):
        return log_student(square, log_determinant, D, freedom, factor * spread)

    if not hasattr(model, "freedom_of"):
        spread = 1 + 1 / np.longdouble(kappa)
        return np.array([one(square, spread) for square in squares], dtype=float)
    scales = model.freedom_of(state.hyper)[0]
    found = [
        over_scales(scales, kappa, lambda spread, square=square: one(square, spread))
        for square in squares
    ]
    return np.array(found, dtype=float)


# -- laws of continuous mixtures -------------------------------------------------------
def strange(random, X, draw):
    """Return the rows and weights of a draw, of which every seventh is not strange."""
    return ([lambda _, X: (X, None), *STRANGE])[draw % 7](random, X)


def mixtures(subject, n_columns, *key, n_components=None):
    """Yield fits to strange data, their data, and generators, unless fits refuse."""
    for draw in range(7 * LENGTH if LENGTH > 1 else 2):
        random = generator("density", subject.name, *key, draw)
        X = numbers(random, random.integers(5, 80), n_columns)
        X, weight = strange(random, X, random.integers(7) if LENGTH == 1 else draw)
        number = random.choice([1, 2, 3, 40], p=[0.3] * 3 + [0.1])
        number = n_components or min(int(number), len(X))
        try:
            estimator = fitted(subject, X, weight, n_components=number)
        except ValueError:
            continue
        yield estimator, X, random


@cells("subject", IN_COLUMNS, every=5)
def test_densities_of_a_column_integrate_to_one(subject):
    for estimator, _, _ in mixtures(subject, 1, "column"):
        used = estimator.weights_ > 1e-9
        places = np.ravel(estimator.means_)[used]
        model, usual = estimator._fitted()
        widths = np.sqrt(np.ravel(model.variances_of(usual)))[used]
        if (widths < 1e-9 * np.abs(places)).any():
            continue  # numbers near the means are too far from each other
        nodes, weights = grid(places, widths)
        found = mass(estimator.score_samples(nodes[:, None]), weights)
        assert found <= 1 + 1e-6
        assert found >= 1 - 1e-6 or widths.max() > 1e-20 * FAR


@cells("subject", CONTINUOUS, every=5)
def test_densities_of_two_columns_integrate_to_one(subject):
    """One component is in the middle of columns of the same width."""
    random = generator("density", subject.name, "plane")
    X = numbers(random, 60, 2)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    line, weights = grid([0.0], [0.5], farthest=1e3)
    plane = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    logs = fitted(subject, X, n_components=1).score_samples(plane)
    found = mass(logs, np.multiply.outer(weights, weights).ravel())
    assert found <= 1 + 1e-6
    assert found >= 1 - 1e-3  # few degrees of freedom leave mass beyond


@cells("subject", CONTINUOUS, every=5)
def test_densities_fall_beyond_the_outermost_rows(subject):
    """Components of several columns fall from their means on, of one column beyond."""
    low_rank = subject not in IN_COLUMNS
    for estimator, X, random in mixtures(subject, 3, "falls", n_components=1):
        first = np.maximum(np.ptp(X, axis=0), 1e-30) * random.normal(size=3)
        _check_falls(estimator, estimator.means_[0], first)
    for estimator, X, random in () if low_rank else mixtures(subject, 1, "beyond"):
        outermost = np.abs(np.append(X, estimator.means_)).max(keepdims=True)
        _check_falls(estimator, 0.0, outermost * random.choice([-1, 1]))


def _check_falls(estimator, centre, first):
    most = max(FAR / np.abs(first).max() / 2, 1)
    logs = estimator.score_samples(centre + np.outer(np.geomspace(1, most, 50), first))
    assert np.isfinite(logs).all()
    assert (np.diff(logs) <= 1e-9 * np.abs(logs[1:])).all()
    assert logs[-1] < logs[0] or most < 2


@cells("subject", FULL, every=4)
def test_densities_are_those_of_formulas_at_any_distance(subject):
    for draw in range(LENGTH):
        random = generator("density", subject.name, "formulas", draw)
        X = numbers(random, random.integers(5, 80), 3)
        X, weight = strange(random, X, draw)
        try:
            estimator = fitted(subject, X, weight, n_components=1)
        except ValueError:
            continue
        n = 20 if LENGTH > 1 else 3
        scale = 10 ** random.uniform(-3, 59, (n, 1)) * random.choice(
            [0, 1, 1, 1], (n, 1)
        )
        far = X[random.integers(len(X), size=n)] + scale * random.normal(size=(n, 3))
        far = np.clip(far, -FAR, FAR)
        found, expected = estimator.score_samples(far), log_densities(estimator, far)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


@cells("subject", IN_COLUMNS, every=5)
def test_conditional_densities_integrate_to_one(subject):
    for estimator, X, random in mixtures(subject, 3, "conditional"):
        if variances_and_condition(estimator._fitted()[1])[1] > 1e8:
            continue  # conditional distributions lose as many digits
        j, row = random.integers(3), X[random.integers(len(X))]
        given = [k for k in range(3) if k != j]
        levels = [0.02, 0.25, 0.5, 0.75, 0.98]
        found = estimator.conditional(row[None], given)
        low, middle, high = (found._numbers[0].ppf(p).ravel() for p in (0.3, 0.5, 0.7))
        used = found.weights[0] > 1e-9
        places, widths = middle[used], (high - low)[used]
        if (widths < 1e-9 * np.abs(places)).any():
            continue
        ends = found.quantiles(levels)[:, 0, 0]
        nodes, weights = grid(places, widths, ends=ends)
        rows = np.repeat(row[None], len(nodes), axis=0)
        rows[:, j] = nodes
        logs = estimator.conditional(rows, given).log_density
        assert np.isfinite(logs).all()
        assert mass(logs, weights) == pytest.approx(1, abs=1e-6)
        below = [mass(logs, weights * (nodes < end)) for end in ends]
        np.testing.assert_allclose(below, levels, atol=1e-6)


# -- laws of mixtures of answers and of words ------------------------------------------
DISCRETE = [
    subject
    for subject in MODELS
    if subject.row.name in ("BernoulliMixture", "MultinomialMixture")
]


@cells("subject", DISCRETE)
def test_probabilities_of_all_answers_and_of_all_pairs_of_words_sum_to_one(subject):
    for draw in range(4 * LENGTH):
        random = generator("density", subject.name, draw)
        X = subject.draw(random, random.integers(3, 80))
        weight = 10 ** random.uniform(-3, [0.0, 1.0, 6.0, 14.0][draw % 4], X.shape[0])
        number = min(int(random.choice([1, 3, 40])), X.shape[0])
        estimator = fitted(subject, X, weight, n_components=number)
        if subject.row.name == "BernoulliMixture":
            cases = np.array(list(itertools.product([0.0, 1.0], repeat=X.shape[1])))
            orders = np.ones(len(cases))
        else:
            first, second = np.triu_indices(X.shape[1])
            words = np.eye(X.shape[1])
            cases, orders = words[first] + words[second], 1.0 + (first < second)
        logs = estimator.score_samples(cases)
        assert np.isfinite(logs).all()
        assert mass(logs, orders) == pytest.approx(1, abs=1e-6)

"""Conjugate families, compared with finite differences, sums, integrals and scipy."""

import itertools

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.special import gammaln, psi

from sktemper._families._counts import (
    CategoricalFamily,
    DirichletFamily,
    GammaFamily,
    MultinomialFamily,
    digamma,
    log_gamma,
)
from sktemper._families._dirichlet import WEIGHTS, expected_log, log_draws
from sktemper._families._family import Family, sums_of, times
from sktemper._families._normal_gamma import NormalGammaFamily
from sktemper._families._normal_wishart import COVARIANCES
from sktemper.discrete_mixture._model import BernoulliFamily
from sktemper.gaussian_mixture._family import GaussianFamily, TiedFamily
from sktemper.mixed_mixture._columns import Column
from sktemper.mixed_mixture._model import MixedFamily
from sktemper.model import IllDefined

D = 3
#: Columns of all kinds of the mixed family.
COLUMNS = (
    Column("categorical", ("a", "b", "c")),
    Column("gaussian", location=1.0, scale=2.0),
    Column("poisson"),
    Column("binned", ("low", "high"), edges=(0.0,), centres=(-1.0, 1.0)),
    Column("gaussian"),
)


class PoissonFamily(GammaFamily):
    """Counts with a Poisson distribution; NaN is missing."""

    def moments(self, block):
        known = ~np.isnan(block)
        return np.hstack([np.where(known, block, 0.0), known])

    def log_base(self, block):
        return -gammaln(np.nan_to_num(block) + 1.0).sum(axis=1)


def gaussian(kind, **others):
    covariance = COVARIANCES[kind](D, n_components=4)
    family = TiedFamily if covariance.is_common else GaussianFamily
    return family(covariance, **others)


FAMILIES = {
    "Dirichlet": DirichletFamily([4]),
    "unequal Dirichlets": DirichletFamily([2, 3, 5]),
    "Multinomial": MultinomialFamily(5),
    "Categorical": CategoricalFamily([2, 3, 2]),
    "Bernoulli": BernoulliFamily(D),
    "Poisson": PoissonFamily(D),
    "normal-gamma": NormalGammaFamily(D),
    "mixed": MixedFamily(COLUMNS),
    **{kind: gaussian(kind) for kind in COVARIANCES},
    "about": gaussian("full").shift(np.array([1.0, -2.0, 3.0])),
}
each_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)


def data_of(family, n=30, seed=0):
    random = np.random.default_rng(seed)
    if isinstance(family, GaussianFamily):
        return random.normal(size=(n, D)) @ random.normal(size=(D, D)) + 1.0
    if isinstance(family, PoissonFamily):
        return random.poisson(3.0, size=(n, D)).astype(float)
    if isinstance(family, NormalGammaFamily):
        x, known = random.normal(size=(n, D)) + 1.0, random.random((n, D)) > 0.2
        return np.hstack([known, known * x, known * x**2, known])
    if isinstance(family, MixedFamily):
        columns = random.integers(3, size=n), random.normal(size=n)
        columns += random.poisson(3.0, size=n), random.integers(2, size=n)
        return np.column_stack([*columns, random.normal(size=n)])
    if isinstance(family, BernoulliFamily):
        return random.integers(2, size=(n, D)).astype(float)
    if isinstance(family, CategoricalFamily):
        answers = [random.integers(size, size=n) for size in family.sizes]
        parts = zip(answers, family.sizes, strict=True)
        return np.hstack([np.eye(size)[answer] for answer, size in parts])
    return random.poisson(1.0, size=(n, family.n_natural)).astype(float)


def prior_of(family):
    """Return the parameters of a typical proper prior."""
    if isinstance(family, GaussianFamily):
        alone, shape = family.alone, family.alone.covariance.default_prior(np.eye(D))
        return alone.natural(
            np.array([0.7]),
            np.full((1, D), 0.3),
            1.5 * shape[None],
            np.array([D + 1.5]),
        )[0]
    if isinstance(family, GammaFamily):
        return np.repeat([0.6, 1.2], D)
    if isinstance(family, NormalGammaFamily):
        usual = np.full(
            (4, 1, family.n_natural // 4), [[[0.7]], [[0.3]], [[1.6]], [[1.2]]]
        )
        return family.natural(usual)[0]
    if isinstance(family, MixedFamily):
        options, counts, normals = family.parts
        return np.concatenate([prior_of(options), [0.6, 1.2], prior_of(normals)])
    return np.linspace(-0.5, 1.0, family.n_natural)


def shares_of(n, k=4):
    return np.random.default_rng(5).dirichlet(np.full(k, 0.4), size=n)


def posterior_of(family):
    """Return the posterior parameters of four components, given some data."""
    block = family.block(data_of(family))
    _, statistics = family.statistics(block, shares_of(30))
    return family.repeated(prior_of(family), 4) + statistics


def directions(parameters, n=4):
    random = np.random.default_rng(7)
    return [random.normal(size=parameters.shape) for _ in range(n)]


def slope(function, parameters, direction, step=1e-4):
    """Return the derivative along a direction, by differences of fourth order."""

    def central(h):
        up, down = function(parameters + h * direction), parameters - h * direction
        return (up - function(down)) / (2 * h)

    return (4 * central(step / 2) - central(step)) / 3


@each_family
def test_expectations_are_the_gradient_of_the_log_normaliser(family):
    parameters = posterior_of(family)
    expected = family.expected(parameters)
    assert expected.shape == parameters.shape == family.shape(4)
    for direction in directions(parameters):
        found = slope(lambda p: family.log_normaliser(p).sum(), parameters, direction)
        assert found == pytest.approx((expected * direction).sum(), rel=1e-7)


@each_family
def test_draws_have_the_expectations_and_variances(family):
    parameters, n_draws = posterior_of(family), 1000
    if isinstance(family, TiedFamily):
        with pytest.raises(NotImplementedError):
            family.draws(parameters, None)
        return
    random = np.random.RandomState(3)
    rows = np.repeat(parameters, n_draws, axis=0)
    draws = family.draws(rows, random).reshape(len(parameters), n_draws, -1)
    errors = draws.std(axis=1) / np.sqrt(n_draws)
    found = (draws.mean(axis=1) - family.expected(parameters)) / errors
    np.testing.assert_allclose(found, 0.0, atol=4.5)
    for direction in directions(parameters[0], 2):
        along = np.broadcast_to(direction, parameters.shape)
        exact = family.fisher_product(parameters, along) @ direction
        variances = (draws @ direction).var(axis=1)
        np.testing.assert_allclose(variances, exact, rtol=0.3)


# -- the two methods that kernels replace ----------------------------------------------


@each_family
def test_parameters_of_no_distribution_are_invalid(family):
    parameters = posterior_of(family)
    assert family.is_valid(parameters).all()
    parameters[1] -= 50.0
    is_one = np.ndim(family.is_valid(parameters)) == 0  # a common covariance
    found = np.flatnonzero(~family.is_valid(parameters)).tolist()
    assert found == ([0] if is_one else [1])


@each_family
def test_kernels_agree_with_moments(family):
    block, shares = family.block(data_of(family)), shares_of(30)
    parameters, alone = posterior_of(family), family.alone
    logs = family.log_likelihoods(block, family.prepare(parameters))
    moments = alone.moments(block)
    moments = moments.toarray() if sparse.issparse(moments) else moments
    each = parameters
    if family is not alone:  # tied: each component gets the common covariance
        usual = family.usual(parameters)
        scales = family.covariance.each(usual.inverse_scale)
        each = alone.natural(
            usual.precision, usual.means, scales, np.full(4, usual.freedom)
        )
    expected = moments @ alone.expected(each).T
    expected += np.reshape(family.log_base(block), (-1, 1))
    np.testing.assert_allclose(logs, expected, rtol=1e-9, atol=1e-9)
    factors = np.linspace(0.1, 2.0, 30)
    counts, statistics = family.statistics(block, shares, factors)
    np.testing.assert_allclose(counts, factors @ shares)
    sums = (shares * factors[:, None]).T @ moments
    _, own = alone.statistics(block, shares, factors)
    np.testing.assert_allclose(own, sums, rtol=1e-9, atol=1e-9)
    if family is alone:
        np.testing.assert_array_equal(statistics, own)
    else:
        parts, own = family.split(statistics), alone.split(own)
        np.testing.assert_allclose(parts.means, own.means, atol=1e-12)
        np.testing.assert_allclose(parts.second, own.second.mean(axis=0), atol=1e-12)
        assert parts.freedom == pytest.approx(own.freedom.mean())


def test_natural_parameters_are_those_of_usual_ones():
    for family in map(gaussian, COVARIANCES):
        parameters = posterior_of(family)
        usual = family.usual(parameters)
        again = family.natural(*usual[:4])
        np.testing.assert_allclose(again, parameters, rtol=1e-12, atol=1e-12)


# -- evidence and predictive densities -------------------------------------------------


def evidence(family, prior, rows):
    """Return the log evidence of rows with their base measure."""
    block = family.block(np.asarray(rows, dtype=float))
    ones = np.ones((block.shape[0], 1))
    _, statistics = family.statistics(block, ones)
    base = np.broadcast_to(family.log_base(block), len(ones)).sum()
    return family.evidence(prior, statistics)[0] + base


PREDICTED = ["Multinomial", "Categorical", "Poisson", "normal-gamma", "mixed"]


@pytest.mark.parametrize("name", [*PREDICTED, "full"])
def test_the_evidence_is_a_product_of_predictive_densities(name):
    family = FAMILIES[name]
    prior, X = prior_of(family), data_of(family, 8)
    total, posterior = 0.0, prior
    for i in range(len(X)):
        block = family.block(X[[i]])
        total += family.log_predictive(block, family.prepare(posterior[None]))[0, 0]
        _, statistics = family.statistics(block, np.ones((1, 1)))
        posterior = posterior + statistics[0]
        assert evidence(family, prior, X[: i + 1]) == pytest.approx(total, rel=1e-10)


def test_the_evidence_of_all_rows_sums_to_one():
    answers = [np.concatenate(p) for p in itertools.product(np.eye(2), np.eye(3))]
    words = itertools.product(np.eye(3), repeat=4)
    for family, samples in (
        (CategoricalFamily([2, 3]), itertools.product(answers, repeat=3)),
        (MultinomialFamily(3), ([sum(text[:3]), text[3]] for text in words)),
    ):
        prior = prior_of(family)
        total = sum(np.exp(evidence(family, prior, rows)) for rows in samples)
        assert total == pytest.approx(1.0)


def test_the_evidence_of_a_value_is_that_of_scipy():
    found = evidence(PoissonFamily(1), np.array([0.6, 1.2]), [[4.0]])
    assert found == pytest.approx(stats.nbinom(1.6, 1.2 / 2.2).logpmf(4))
    family, kappa, m, a, b = NormalGammaFamily(1), 0.7, 0.3, 1.6, 1.2
    prior = family.natural(np.array([[[kappa]], [[m]], [[a]], [[b]]]))[0]
    student = stats.t(2 * a, m, np.sqrt(b * (kappa + 1) / (a * kappa)))
    moments = np.array([[1.0, -0.8, 0.64, 1.0]])
    assert evidence(family, prior, moments) == pytest.approx(student.logpdf(-0.8))


# -- gaps ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "columns", "values", "gap"),
    [
        (BernoulliFamily(D), 2, range(2), np.nan),
        (PoissonFamily(D), 2, range(200), np.nan),
        (CategoricalFamily([2, 3, 2]), slice(2, 5), np.eye(3), 0.0),
    ],
)
def test_gaps_are_sums_over_values(family, columns, values, gap):
    prior, X = prior_of(family), data_of(family, 4)
    tables, totals = family.prepare(posterior_of(family)), []
    for value in (*values, gap):
        X[1, columns] = value
        alone = family.log_predictive(family.block(X[[1]]), tables)
        totals.append(np.exp([evidence(family, prior, X), *alone[0]]))
    np.testing.assert_allclose(totals[-1], np.sum(totals[:-1], axis=0), rtol=1e-10)


# -- clusters that replace other clusters ----------------------------------------------


@each_family
def test_gains_are_differences_of_evidence(family):
    prior = prior_of(family)
    block, shares = family.block(data_of(family)), shares_of(30)
    _, before = family.alone.statistics(block, shares)
    merged = np.stack([before[0] + before[2], 0 * before[0]])
    changed = before.copy()
    changed[[0, 2]] = merged
    gain, none = family.gains(
        prior, before, np.array([[0, 2], [1, 3]]), np.stack([merged, before[[1, 3]]])
    )
    assert none == pytest.approx(0.0, abs=1e-9)
    if family is family.alone:
        rise = (
            family.evidence(prior, changed).sum() - family.evidence(prior, before).sum()
        )
    else:  # tied: the bound at the best parameters of all components together
        q = [
            family.joined(*_means_of(family, prior + statistics))
            for statistics in (before, changed)
        ]
        rise = np.diff([family.log_normaliser(one).sum() for one in q])[0]
    assert gain == pytest.approx(rise, rel=1e-9)


def _means_of(family, each):
    """Return the natural parameters of tied clusters, with mean second moments."""
    first = 1 + D
    return (
        each[:, 0],
        each[:, 1:first],
        each[:, first:-1].mean(axis=0),
        each[:, -1].mean(),
    )


def test_families_have_defaults_for_sharing_and_blocks():
    family = Family(3)
    assert family.alone is family
    block = family.block(np.arange(6).reshape(2, 3))
    assert block.dtype == np.float64
    assert family.moments(block) is block and family.log_base(block) == 0.0


def test_copies_without_a_variance_have_no_evidence():
    family = gaussian("full")
    block = np.tile([1e8, 1.0, 1.0], (5, 1))
    _, statistics = family.statistics(block, np.ones((5, 1)))
    nothing = family.natural(
        np.array([1e-9]), np.zeros((1, D)), 1e-30 * np.eye(D)[None], np.array([D])
    )
    with pytest.raises(IllDefined):
        family.evidence(nothing[0], statistics)


@pytest.mark.parametrize("width", [1, 2, 3, 7, 8, 15, 16, 31, 45])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_products_of_sparse_moments_are_those_of_scipy(width, index):
    random = np.random.default_rng(width)
    X = sparse.random_array((60, 40), density=0.2, rng=random, format="csr")
    X.data = random.normal(size=X.nnz)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    matrix, shares = random.normal(size=(40, width)), random.random((60, width))
    np.testing.assert_array_equal(times(X, matrix), X @ matrix)
    np.testing.assert_array_equal(times(X, matrix.T.copy().T), X @ matrix)
    np.testing.assert_array_equal(sums_of(X, shares), shares.T @ X)
    parts = [times(X[rows], matrix) for rows in (slice(0, 7), slice(7, 60))]
    np.testing.assert_array_equal(np.concatenate(parts), X @ matrix)


def test_products_of_sparse_moments_without_entries():
    for shape in (0, 4), (3, 4), (3, 0):
        X, none = sparse.csr_array(shape), np.ones((shape[0], 2))
        np.testing.assert_array_equal(times(X, np.ones((shape[1], 2))), 0 * none)
        np.testing.assert_array_equal(sums_of(X, none), np.zeros((2, shape[1])))


def test_products_refuse_entries_outside_of_the_matrix():
    for columns in [0, 4], [0, -1]:
        X = sparse.csr_array(np.eye(2, 4))
        X.indices = np.array(columns, dtype=np.int32)
        with pytest.raises(IndexError, match="outside of a matrix of 4 columns"):
            times(X, np.ones((4, 2)))
        with pytest.raises(IndexError, match="outside of a matrix of 4 columns"):
            sums_of(X, np.ones((2, 2)))
    with pytest.raises(ValueError, match="3 rows of shares for 2 rows"):
        sums_of(X, np.ones((3, 2)))


def test_draws_have_the_expected_logarithms():
    concentration = np.array([0.05, 0.5, 3.0])
    draws = log_draws(np.tile(concentration, (4000, 1)), np.random.default_rng(0))
    np.testing.assert_allclose(np.exp(draws).sum(axis=1), 1.0)
    errors = draws.std(axis=0) / np.sqrt(len(draws))
    found = (draws.mean(axis=0) - expected_log(concentration)) / errors
    np.testing.assert_allclose(found, 0.0, atol=4)


@pytest.mark.parametrize("order", ["C", "F"])
def test_gamma_functions_are_those_of_scipy(order):
    x = np.geomspace(1e-300, 1e300, 120).reshape(10, 12, order=order)
    near = np.random.default_rng(0).gamma(0.5, 5, (10, 12)) + 1e-3
    for values in x, near, x[:, ::2], x[:0]:
        for own, other in (digamma, psi), (log_gamma, gammaln):
            found, expected = own(values), other(values)
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
            if values.flags.forc:
                assert found.flags.f_contiguous == expected.flags.f_contiguous


def test_gamma_functions_of_other_numbers():
    for x in np.inf, 0.0, np.nan, 1e-320:
        values = np.array([[1.0, x]])
        np.testing.assert_array_equal(digamma(values), psi(values))
        np.testing.assert_array_equal(log_gamma(values), gammaln(values))


@pytest.mark.parametrize("prior", sorted(WEIGHTS))
@pytest.mark.parametrize("concentration", [1e-12, 0.1, 3.0])
def test_bounds_of_weights_keep_their_digits(prior, concentration):
    """Logarithms of empty components are as large as 1e12, and must not be summed."""
    mpmath = pytest.importorskip("mpmath")
    mpmath.mp.dps = 40
    weights, counts = WEIGHTS[prior](4), np.array([30.0, 12.5, 0.0, 0.0])
    before = weights.prior(concentration)
    after = before + weights.counted(counts)

    def log_beta(x):
        return sum(map(mpmath.loggamma, x)) - mpmath.loggamma(sum(x))

    def exact(p, q):
        p, q = ([mpmath.mpf(float(v)) + 1 for v in part] for part in (p, q))
        logs = [mpmath.digamma(v) - mpmath.digamma(sum(q)) for v in q]
        means = sum((a - b) * log for a, b, log in zip(p, q, logs, strict=True))
        return means - log_beta(p) + log_beta(q)

    pairs = zip(np.atleast_2d(before), np.atleast_2d(after), strict=True)
    expected = float(sum(exact(*pair) for pair in pairs))
    assert weights.bound(after, before, 1.0) == pytest.approx(expected, rel=1e-12)

"""Matrix factorization: kernels, bound, gradient, noise, learned priors."""

import itertools
import os

import numpy as np
import oracles
import pytest
from scipy import sparse, stats
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import psi, softmax

from sktemper._families._gaussian import GaussianPrior, packed, unpacked
from sktemper._simd import special
from sktemper._utils._validation import ROUNDING
from sktemper.matrix_factorization import _kernels
from sktemper.matrix_factorization import _users as module
from sktemper.matrix_factorization._model import MatrixFactorizationModel
from sktemper.model import Powers, Request, Stopped
from sktemper.tempering import LocalTempering

ALL = slice(None)
EPS = np.finfo(float).eps
RANKS = (1, 2, 3, 5, 16, 17, 40, 128)
if "SKTEMPER_SIMD" in os.environ:
    RANKS = (1, 3, 17, 128)
#: Numbers of ratings of rows: kernels take four at a time, and flush sums after 256.
LENGTHS = (0, 1, 2, 3, 4, 5, 0, 255, 256, 257, 515, 0)

DTYPES = ((np.float64, 1e-11), (np.float32, 1e-4))


def kernel_cases():
    """Yield each combination of dtype, biases and rank, with its marks.

    References at the highest rank are slow: one combination is quick, without the mark
    `machine`, and the others are deep.
    """
    for (dtype, tol), biases, rank in itertools.product(DTYPES, (False, True), RANKS):
        if rank < max(RANKS):
            marks = (pytest.mark.machine,)
        else:
            marks = () if biases and dtype is np.float32 else (pytest.mark.deep,)
        yield pytest.param(dtype, tol, biases, rank, marks=marks)


each_kernel_case = pytest.mark.parametrize(
    ("dtype", "tol", "biases", "rank"), list(kernel_cases())
)
each_biases = pytest.mark.parametrize("biases", [False, True])
each_dtype = pytest.mark.parametrize(("dtype", "tol"), DTYPES)


def ratings_of(n_users=14, n_items=9, share=0.6, seed=0):
    """Return a dense array of ratings with NaN; the third user and item have none."""
    random = np.random.default_rng(seed)
    X = random.normal(3, 1, (n_users, n_items))
    X[random.random(X.shape) > share] = np.nan
    X[2], X[:, 2] = np.nan, np.nan
    return X


def random_covariance(random, n):
    root = random.normal(size=(n, n)) / np.sqrt(n)
    return root @ root.T + 0.3 * np.eye(n)


def random_prior(random, n):
    return GaussianPrior(random.normal(size=n), random_covariance(random, n))


def model_of(rank=3, n_items=9, **settings):
    return MatrixFactorizationModel(rank, n_items, **settings)


def begun(model, X, seed=0):
    """Return random priors and posteriors of items."""
    random, n = np.random.default_rng(seed), model.n_own
    hyper = model.initial_hyper(X)._replace(
        noise_variance=0.7, users=random_prior(random, n), items=random_prior(random, n)
    )
    natural = np.empty((model.n_features, model.n_natural))
    for row in natural:
        precision = np.linalg.inv(0.3 * random_covariance(random, n))
        row[: model.n_packed] = packed(precision)
        row[model.n_packed :] = precision @ random.normal(size=n)
    return hyper, natural


def items_of(model, natural):
    """Return the posteriors of items in the form of the reference functions."""
    precisions = unpacked(natural[:, : model.n_packed], model.n_own)
    covariances = np.linalg.inv(precisions)
    means = np.einsum("nij,nj->ni", covariances, natural[:, model.n_packed :])
    return list(zip(means, covariances, strict=True))


def local(model, X, globals_, hyper, powers=Powers(), unit_noise=None, want=None):  # noqa: B008
    want = ("statistics", "bound", "score", "local") if want is None else want
    block = model.take(X, slice(0, X.shape[0]))
    prepared = model.prepare(globals_, hyper)
    return model.local_step(block, prepared, Request(powers, unit_noise, want=want))


def tempered_bound(model, X, globals_, hyper, powers=Powers()):  # noqa: B008
    step = local(model, X, globals_, hyper, powers, want=("bound",))
    return step.bound + model.global_bound(globals_, hyper, powers)


def known_of(X):
    """Return users, items and ratings of all known pairs, sorted by user."""
    users, items = np.nonzero(~np.isnan(X))
    return users, items, X[users, items]


# -- the kernels -----------------------------------------------------------------------


def gaussians_of(rank, biases, n, seed, dtype=np.float64, **settings):
    """Return random posteriors and their table for the kernels."""
    model = model_of(rank, n, biases=biases, dtype=dtype)
    _, natural = begun(model, np.ones((1, n)), seed)
    return model.gaussians(natural, with_covariances=True), items_of(model, natural)


def rating_problem(rank, biases, dtype, lengths=LENGTHS, n_others=23):
    random = np.random.default_rng(rank)
    table, others = gaussians_of(rank, biases, n_others, rank, dtype)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    indices = random.integers(1, n_others, starts[-1]).astype(np.int32)
    values, factors = random.normal(size=(2, starts[-1])).astype(dtype)
    return starts, indices, values, factors, table.table, others


def sums_of_oracle(values, factors, gaussians, biases):
    """Return a row of the kernel's sums, by the reference."""
    n = len(gaussians[0][0]) if len(gaussians) else 0
    precision, linear, square = oracles.rating_sums(values, factors, gaussians, biases)
    lower = np.tril_indices(n)
    return np.concatenate([precision[lower], linear, [square, factors.sum()]])


NEVER = np.zeros(1, np.intc)
STOPPED = np.ones(1, np.intc)


@pytest.mark.every(17)
@each_kernel_case
def test_the_kernel_of_own_sums(rank, biases, dtype, tol):
    lengths = LENGTHS if rank < 100 else (0, 1, 7, 258)
    problem = rating_problem(rank, biases, dtype, lengths)
    starts, indices, values, factors, table, others = problem
    for given in (None, factors):
        sums = _kernels.own_sums(
            starts, indices, values, given, table, rank, biases, NEVER
        )
        assert sums.shape == (len(lengths), _kernels.sums_width(rank, biases))
        given = np.ones_like(values) if given is None else given
        for row, (first, last) in enumerate(zip(starts, starts[1:], strict=False)):
            if first == last:
                assert (sums[row] == 0).all()
                continue
            part = slice(first, last)
            expected = sums_of_oracle(
                values[part].astype(float),
                given[part].astype(float),
                [others[j] for j in indices[part]],
                biases,
            )
            size = tol * np.abs(given[part]).sum() * np.abs(table).max()
            np.testing.assert_allclose(sums[row], expected, rtol=tol, atol=size)


@pytest.mark.every(5)
@each_kernel_case
def test_the_kernel_of_other_sums(rank, biases, dtype, tol):
    """The kernel sums over the transposed matrix; a row has ratings in many tiles."""
    width = _kernels.table_width(rank, biases, dtype)
    tile = max(64, 512 * 1024 // (width * np.dtype(dtype).itemsize))
    n_rows = min(2 * tile + 3, 1200 if rank > 2 else 9000)
    random = np.random.default_rng(rank)
    table, gaussians = gaussians_of(rank, biases, 23, rank, dtype)
    choice = random.integers(0, 23, n_rows)  # few rows differ: references are slow
    tall = special.aligned(np.empty, (n_rows, width), dtype)
    tall[:] = table.table[choice]
    starts = np.concatenate([[0], np.cumsum(random.integers(0, 3, n_rows))])
    rows = np.repeat(np.arange(n_rows), np.diff(starts))
    others = random.integers(2, 7, starts[-1]).astype(np.int32)
    others[others == 4] = 9
    values, factors = random.normal(size=(2, starts[-1])).astype(dtype)
    rated, sums = _kernels.other_sums(
        starts, others, values, factors, tall, 11, rank, biases, NEVER
    )
    assert rated.tolist() == [2, 3, 5, 6, 9]
    for j, got in zip(rated, sums, strict=True):
        chosen = np.flatnonzero(others == j)
        again = _kernels.own_sums(
            np.array([0, len(chosen)]),
            rows[chosen].astype(np.int32),
            values[chosen],
            factors[chosen],
            tall,
            rank,
            biases,
            NEVER,
        )[0]
        size = tol * np.abs(factors[chosen]).sum() * np.abs(tall).max()
        np.testing.assert_allclose(got, again[:-2], rtol=tol, atol=size)
    expected = sums_of_oracle(
        values[chosen].astype(float),
        factors[chosen].astype(float),
        [gaussians[choice[row]] for row in rows[chosen]],
        biases,
    )
    np.testing.assert_allclose(got, expected[:-2], rtol=tol, atol=size)
    plain = _kernels.other_sums(
        starts, others, values, None, tall, 11, rank, biases, NEVER
    )[1]
    ones = _kernels.other_sums(
        starts, others, values, np.ones_like(values), tall, 11, rank, biases, NEVER
    )[1]
    np.testing.assert_array_equal(plain, ones)


@each_dtype
@pytest.mark.machine
def test_the_kernel_of_other_sums_of_many_ratings(dtype, tol):
    """Many ratings are sorted in parts; a row's factor applies to all its ratings."""
    random, n_others = np.random.default_rng(0), 40
    n_rows, width = 3000, _kernels.table_width(3, True, dtype)
    table = special.aligned(np.empty, (n_rows, width), dtype)
    table[:] = random.normal(size=(n_rows, width))
    lengths = random.integers(0, 200, n_rows)
    lengths[[5, 1700]] = 10_000
    starts = np.concatenate([[0], np.cumsum(lengths)])
    assert starts[-1] > 2 * 2**17
    others = random.integers(0, n_others - 1, starts[-1]).astype(np.int32)
    values, factors = random.normal(size=(2, starts[-1])).astype(dtype)
    own = random.uniform(0.5, 2, n_rows).astype(dtype)
    rows = np.repeat(np.arange(n_rows, dtype=np.int32), lengths)
    order = np.argsort(others, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(others, minlength=n_others - 1))])
    fixed = table, n_others, 3, True, NEVER
    for given, by_row in ((None, None), (factors, None), (None, own), (factors, own)):
        rated, sums = _kernels.other_sums(starts, others, values, given, *fixed, by_row)
        assert rated.tolist() == list(range(n_others - 1))
        product = np.ones_like(values) if given is None else given
        product = product * (1 if by_row is None else by_row[rows])
        expected = _kernels.own_sums(
            ends, rows[order], values[order], product[order], table, 3, True, NEVER
        )
        np.testing.assert_allclose(sums, expected[:, :-2], rtol=tol, atol=3e4 * tol)


@each_dtype
@pytest.mark.machine
def test_the_kernel_of_table_sums(dtype, tol):
    random = np.random.default_rng(0)
    table, factors = (
        random.normal(size=(300, 16)).astype(dtype),
        random.normal(size=300),
    )
    expected = factors @ table.astype(float)
    got = _kernels.table_sums(table, factors)
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-10)
    assert not _kernels.table_sums(table[:0], factors[:0]).any()


@pytest.mark.machine
@pytest.mark.parametrize(("n_items", "width"), [(7, 5), (5000, 33)])
def test_the_kernel_of_added_rows(n_items, width):
    random = np.random.default_rng(0)
    total, expected = np.ones((2, n_items, width))
    for share in (0.3, 0.0, 0.9, 0.01):
        items = np.flatnonzero(random.random(n_items) < share).astype(np.int32)
        rows = random.normal(size=(len(items), width))
        expected[items] += 0.5 * rows
        _kernels.add_rows(total, items, rows, 0.5)
    np.testing.assert_array_equal(total, expected)


@pytest.mark.every(5)
@each_kernel_case
def test_the_kernel_of_moments(rank, biases, dtype, tol):
    items, item_gaussians = gaussians_of(rank, biases, 11, 1, dtype)
    users, user_gaussians = gaussians_of(rank, biases, 7, 2, dtype)
    random = np.random.default_rng(0)
    starts = np.array([0, 4, 4, 5, 11])
    others = random.integers(0, 11, 11).astype(np.int32)
    for own_rows in (None, np.array([6, 0, 0, 3], np.int32)):
        means, squares = _kernels.moments(
            starts, others, users.table, items.table, own_rows, rank, biases, NEVER
        )
        rows = np.arange(4) if own_rows is None else own_rows
        rows = np.repeat(rows, np.diff(starts))
        expected = np.array(
            [
                oracles.rating_expectations(
                    user_gaussians[i], item_gaussians[j], biases
                )
                for i, j in zip(rows, others, strict=True)
            ]
        )
        size = dict(rtol=tol, atol=tol * np.abs(expected).max())
        np.testing.assert_allclose(means, expected[:, 0], **size)
        np.testing.assert_allclose(squares, expected[:, 1], **size)


@pytest.mark.every(5)
@each_kernel_case
def test_the_kernel_of_gaussians(rank, biases, dtype, tol):
    model = model_of(rank, 17, biases=biases, dtype=dtype)
    hyper, natural = begun(model, np.ones((1, 17)))
    prior = hyper.users.natural()
    got, n_indefinite = model.posteriors(natural, 0.4, prior, with_covariances=True)
    assert n_indefinite == 0
    expected = items_of(model, prior + 0.4 * natural)
    prior_precision = np.linalg.inv(hyper.users.covariance)
    covariances = unpacked(got.covariances, model.n_own)
    for i, (mean, covariance) in enumerate(expected):
        size = dict(rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(got.means[i], mean, **size)
        np.testing.assert_allclose(covariances[i], covariance, **size)
        log_determinant = -np.linalg.slogdet(covariance)[1]
        assert got.log_determinants[i] == pytest.approx(log_determinant, rel=1e-11)
        second = covariance + np.outer(mean, mean)
        trace = (prior_precision * second).sum()
        assert got.prior_traces[i] == pytest.approx(trace, rel=1e-9)
        outer, z, with_bias, square = oracles.rating_moments((mean, covariance), biases)
        row = [packed(second[:rank, :rank]), z]
        row += [with_bias, [square]] if biases else []
        row = np.concatenate(row)
        np.testing.assert_allclose(got.table[i, : len(row)], row, rtol=tol, atol=tol)
        assert (got.table[i, len(row) :] == 0).all()
    for first, last in ((0, 1), (2, 9), (9, 17), (3, 16)):  # in any lanes of a vector
        part = model.posteriors(natural[first:last], 0.4, prior, True)[0]
        for one, other in zip(part[:-1], got[:-1], strict=True):
            np.testing.assert_array_equal(one, other[first:last])


@each_dtype
@pytest.mark.machine
def test_the_kernel_counts_indefinite_precisions(dtype, tol):
    model = model_of(5, 21, dtype=dtype)
    _, natural = begun(model, np.ones((1, 21)))
    good = model.gaussians(natural)
    for bad in ([0], [20], [3, 4, 5, 8, 16]):
        spoilt = natural.copy()
        spoilt[bad, : model.n_packed] -= 1e3 * packed(np.eye(6))
        got, n = model.posteriors(spoilt, 1.0, np.zeros(model.n_natural))
        assert n == len(bad)
        rest = np.setdiff1d(range(21), bad)
        np.testing.assert_array_equal(got.table[rest], good.table[rest])
        np.testing.assert_array_equal(got.means[rest], good.means[rest])


@pytest.mark.machine
def test_the_kernel_stops():
    model, X = model_of(), ratings_of()
    hyper, globals_ = begun(model, X)
    prepared, block = model.prepare(globals_, hyper), model.take(X, ALL)
    parts = block.starts, block.items, block.values, None, prepared.items.table
    model.stop[0] = 1
    for call in (
        # a copy, because results of the same object are cached
        lambda: model.prepare(globals_.copy(), hyper),
        lambda: model.local_step(block, prepared, Request()),
        lambda: model.moments(block, prepared, prepared.items),
        lambda: model.predictive_scores(block, prepared),
        lambda: _kernels.other_sums(*parts, 9, 3, True, STOPPED),
        lambda: _kernels.own_sums(*parts, 3, True, STOPPED),
    ):
        with pytest.raises(Stopped):
            call()


# -- data ------------------------------------------------------------------------------


def sparse_of(X):
    """Return the values that are not NaN, including zeros, as a sparse matrix."""
    users, items, values = known_of(X)
    return sparse.csr_array((values, (users, items)), shape=X.shape)


def test_the_start():
    X = ratings_of()
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    model = model_of()
    hyper = model.initial_hyper(X)
    assert hyper.noise_variance == hyper.rating_variance == pytest.approx(np.nanvar(X))
    # variances have the units of ratings for a factor, and squared units for a bias
    variances = np.nanvar(X) ** np.array([0.5, 0.5, 0.5, 1.0])
    for prior in (hyper.users, hyper.items):
        np.testing.assert_allclose(prior.covariance, np.diag(variances))
        assert not prior.mean.any()
    weighted = model.initial_hyper(X, weight)
    repeated = model.initial_hyper(np.repeat(X, weight, axis=0))
    assert weighted.global_mean == pytest.approx(repeated.global_mean)
    assert weighted.noise_variance == pytest.approx(repeated.noise_variance)
    given = model_of(global_mean=1.0, noise_variance=0.5, component_variance=2.0)
    hyper = given.initial_hyper(X)
    assert (hyper.global_mean, hyper.noise_variance) == (1.0, 0.5)
    assert hyper.rating_variance == pytest.approx(np.nanmean((X - 1) ** 2))
    np.testing.assert_array_equal(hyper.users.covariance, 2.0 * np.eye(4))
    for nothing in (np.full((2, 9), np.nan), sparse.csr_array((2, 9))):
        with pytest.raises(ValueError, match="have no ratings"):
            model.initial_hyper(nothing)
        begun_with = given.initial_hyper(nothing)
        assert (begun_with.global_mean, begun_with.noise_variance) == (1.0, 0.5)
    with pytest.raises(ValueError, match="have no ratings"):
        model.initial_hyper(X, np.zeros(len(X)))
    constant = model.initial_hyper(np.full((3, 9), 4.0))
    assert (constant.global_mean, constant.noise_variance) == (4.0, 1.0)


def test_columns_outside_of_the_matrix_are_refused():
    X = sparse_of(ratings_of())
    for bad in (-1, 9, 2**30):
        X.indices[7] = bad
        with pytest.raises(ValueError, match="column indices outside"):
            model_of().take(X, ALL)


# -- the local step --------------------------------------------------------------------

POWERS = {
    "plain": Powers(),
    "local_step": Powers(1.0, 1.0, 0.4),
    "likelihood": Powers(1.0, 0.4, 0.4),
    "posterior": Powers(0.4, 0.4, 0.4),
    "ratings": "ratings",
}
each_power = pytest.mark.parametrize("powers", POWERS.values(), ids=POWERS)


def powers_for(powers, n_ratings):
    """Return the powers; the case "ratings" has a random power for each rating."""
    if powers != "ratings":
        return powers
    one, other = np.random.default_rng(1).uniform(0.1, 1, (2, n_ratings))
    return Powers(0.7, one, other)


def oracle_users(model, X, items, hyper, powers, weights):
    """Return posteriors and bounds of users, and E (y - f)^2 of all ratings."""
    users, columns, values = known_of(X)
    values = values - hyper.global_mean
    factors = np.broadcast_to(powers.local, len(values)) * weights
    posteriors, bounds, errors = [], [], np.empty(len(values))
    for row in range(len(X)):
        own = np.flatnonzero(users == row)
        others = [items[j] for j in columns[own]]
        given = values[own], factors[own]
        shared = powers.prior, hyper.noise_variance, model.biases
        posterior = oracles.rating_posterior(*given, others, hyper.users, *shared)
        posteriors.append(posterior)
        bounds.append(
            oracles.rating_user_bound(*given, posterior, others, hyper.users, *shared)
        )
        errors[own] = [
            oracles.rating_error(y, posterior, other, model.biases)
            for y, other in zip(values[own], others, strict=True)
        ]
    return posteriors, np.array(bounds), errors


@pytest.mark.every(23)
@pytest.mark.parametrize("rank", [1, 2, 5, 17])
@each_biases
@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-10), (np.float32, 2e-4)])
@each_power
@pytest.mark.parametrize("noisy", [False, True])
def test_the_local_step_is_the_formula(rank, biases, dtype, tol, powers, noisy):
    X = ratings_of().astype(dtype)
    model = model_of(rank, biases=biases, dtype=dtype)
    hyper, globals_ = begun(model, X)
    items, (users, columns, values) = items_of(model, globals_), known_of(X)
    powers = powers_for(powers, len(values))
    weights = np.random.default_rng(2).uniform(0, 2, len(values)) if noisy else None
    factors = np.ones(len(values)) if weights is None else weights
    step = local(model, X, globals_, hyper, powers, weights)
    posteriors, bounds, errors = oracle_users(model, X, items, hyper, powers, factors)
    size = dict(rtol=tol, atol=tol)
    np.testing.assert_allclose(
        step.local_parameters, [mean for mean, _ in posteriors], **size
    )
    np.testing.assert_allclose(step.row_bounds, bounds, rtol=tol, atol=30 * tol)
    assert step.bound == pytest.approx(step.row_bounds.sum())
    assert (step.n_rows, step.n_observed) == (14, len(values))
    assert step.n_iterations == 14
    assert step.row_observed.tolist() == (~np.isnan(X)).sum(axis=1).tolist()
    scores = -0.5 * errors / hyper.noise_variance
    by_user = np.bincount(users, scores, 14)
    np.testing.assert_allclose(step.row_scores, by_user, rtol=tol, atol=30 * tol)
    assert step.score == pytest.approx(step.row_scores.sum())

    factors = np.broadcast_to(powers.statistics, len(values)) * factors
    got = step.statistics
    assert got.n_entries == pytest.approx(factors.sum())
    assert got.residual == pytest.approx(factors @ errors, rel=10 * tol)
    counts = np.bincount(users, minlength=14)
    shares = np.bincount(users, factors, 14)[counts > 0] / counts[counts > 0]
    rated = [posteriors[i] for i in np.flatnonzero(counts)]
    second = [c + np.outer(m, m) for m, c in rated]
    assert got.users.total == pytest.approx(shares.sum())
    np.testing.assert_allclose(
        got.users.first, shares @ np.array([m for m, _ in rated]), **size
    )
    np.testing.assert_allclose(
        got.users.second, np.einsum("n,nij->ij", shares, second), **size
    )

    target = model.target_parameters(got, 1.7, powers, hyper)
    target = model.from_natural_parameters(target)
    for j, (mean, covariance) in enumerate(items_of(model, target)):
        own = np.flatnonzero(columns == j)
        expected = oracles.rating_posterior(
            values[own].astype(float) - hyper.global_mean,
            1.7 * factors[own],
            [posteriors[i] for i in users[own]],
            hyper.items,
            powers.prior,
            hyper.noise_variance,
            biases,
        )
        np.testing.assert_allclose(mean, expected[0], **size)
        np.testing.assert_allclose(covariance, expected[1], **size)


# -- expectations, evidence ------------------------------------------------------------


@each_biases
@pytest.mark.parametrize("b", [1.0, 0.5, 0.05])
def test_with_known_items_the_bound_is_the_evidence(biases, b):
    """With a temperature, it is the evidence of the tempered likelihood."""
    model, X = model_of(biases=biases), ratings_of()
    hyper, globals_ = begun(model, X)
    globals_ = 1e13 * globals_
    step = local(model, X, globals_, hyper, Powers(1.0, b, b))
    noise = hyper.noise_variance
    constant = 0.5 * (1 - b) * np.log(2 * np.pi * noise) - 0.5 * np.log(b)
    means = np.array([mean for mean, _ in items_of(model, globals_)])
    for row, bound in zip(X, step.row_bounds, strict=True):
        known = np.flatnonzero(~np.isnan(row))
        if len(known) == 0:
            assert bound == pytest.approx(0, abs=1e-9)
            continue
        z, offset = means[known], np.full(len(known), hyper.global_mean)
        if biases:
            offset = offset + z[:, -1]
            z = np.column_stack([z[:, :-1], np.ones(len(known))])
        covariance = z @ hyper.users.covariance @ z.T + noise / b * np.eye(len(known))
        evidence = stats.multivariate_normal(
            offset + z @ hyper.users.mean, covariance
        ).logpdf(row[known])
        expected = evidence + len(known) * constant
        assert bound == pytest.approx(expected, rel=1e-7, abs=1e-7)


def test_the_partition_is_an_integral():
    """It lacks terms that do not depend on the temperature, as scores do."""
    model = model_of()
    hyper = model.initial_hyper(ratings_of())
    sigma = np.sqrt(hyper.noise_variance)
    b = np.array([1.0, 0.6, 0.2, 0.05])
    got = model.log_partition(b, hyper, None)
    for power, value in zip(b, got, strict=True):
        total, _ = quad(lambda y, p=power: np.exp(-0.5 * p * (y / sigma) ** 2), -99, 99)
        assert value == pytest.approx(np.log(total / (sigma * np.sqrt(2 * np.pi))))
    for priors in (None, "global", "local"):
        np.testing.assert_array_equal(model.log_partition(b, hyper, None, priors), got)
    with pytest.raises(ValueError, match="no partition_priors"):
        model.log_partition(b, hyper, None, 0.3)


# -- the bound and its gradient --------------------------------------------------------

FIXED = dict(noise_variance=0.5, component_variance=1.3)


def plain_start(model, X, seed=0):
    hyper = model.initial_hyper(X)
    return hyper, model.initial_globals(X, np.random.RandomState(seed), hyper)


def bounds_of(model, X, powers, n=25, seed=0, **rest):
    """Return the bounds before each of n steps of coordinate ascent."""
    hyper, globals_ = plain_start(model, X, seed)
    bounds = []
    for _ in range(n):
        bounds.append(tempered_bound(model, X, globals_, hyper, powers))
        step = local(model, X, globals_, hyper, powers, **rest)
        learned = model.update_hyper(hyper, globals_, step.statistics, 1, 1.0, powers)
        globals_ = model.step(globals_, step.statistics, 1.0, powers, 1.0, learned)
        hyper = learned
    return np.array(bounds)


def test_parameters_of_other_models_are_refused():
    model, X = model_of(), ratings_of()
    hyper, globals_ = begun(model, X)
    model.check(globals_, hyper)
    other = "wrong shapes|cannot reshape|same values as in the fit"
    for wrong in (model_of(4), model_of(2), model_of(biases=False), model_of(3, 8)):
        with pytest.raises(ValueError, match=other):
            wrong.check(globals_, hyper)
    # items also have four numbers in this model, with another meaning
    with pytest.raises(ValueError, match=other):
        model_of(4, biases=False).check(globals_, hyper)


# -- noise -----------------------------------------------------------------------------


@pytest.mark.every(5)
@each_biases
@each_dtype
@each_power
def test_noise_leaves_users_their_precision(biases, dtype, tol, powers):
    """If a user's precision is invalid, the user's weights are halved toward 1."""
    X = ratings_of(40).astype(dtype)
    model = model_of(biases=biases, dtype=dtype)
    hyper, globals_ = begun(model, X)
    hyper = hyper._replace(noise_variance=0.05)
    items, (users, columns, values) = items_of(model, globals_), known_of(X)
    powers = powers_for(powers, len(values))
    weights = np.random.default_rng(0).normal(1, 3, len(values))
    given = weights.copy()
    step = local(model, X, globals_, hyper, powers, given)
    np.testing.assert_array_equal(given, weights)
    halvings = 0
    local_powers = np.broadcast_to(powers.local, len(values))
    for row in range(40):
        own = np.flatnonzero(users == row)
        if len(own) == 0:
            continue
        while True:
            precision, *_ = oracles.rating_sums(
                np.zeros(len(own)),
                (local_powers * weights)[own],
                [items[j] for j in columns[own]],
                biases,
            )
            precision = precision / hyper.noise_variance
            precision += powers.prior * np.linalg.inv(hyper.users.covariance)
            if np.linalg.eigvalsh(precision)[0] > 0:
                break
            weights[own] = 1 + (weights[own] - 1) / 2
            halvings += 1
    assert 10 < halvings < 200
    assert step.n_iterations == 40 + halvings
    posteriors, bounds, errors = oracle_users(model, X, items, hyper, powers, weights)
    if dtype == np.float64:  # some precisions are nearly singular
        means = [mean for mean, _ in posteriors]
        np.testing.assert_allclose(step.local_parameters, means, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(step.row_bounds, bounds, rtol=1e-6, atol=1e-9)
        factors = np.broadcast_to(powers.statistics, len(values)) * weights
        # negative sums count as 0
        by_user = np.bincount(known_of(X)[0], factors * errors)
        residual = np.maximum(by_user, 0).sum()
        assert step.statistics.residual == pytest.approx(residual, rel=1e-6)
        assert step.statistics.n_entries == pytest.approx(factors.sum())
    assert np.isfinite(step.bound)


# -- learned priors and noise ----------------------------------------------------------


@pytest.mark.every(2)
@each_biases
def test_learned_parameters_maximize_the_bound(biases):
    """Learned priors and noise maximize the bound with fixed posteriors."""
    model, X = model_of(2, biases=biases), ratings_of(30)
    hyper, globals_ = begun(model, X)
    items, (users, columns, values) = items_of(model, globals_), known_of(X)
    step = local(model, X, globals_, hyper)
    learned = model.update_hyper(hyper, globals_, step.statistics, 1.0, 1.0, Powers())
    posteriors, *_ = oracle_users(model, X, items, hyper, Powers(), 1.0)
    rated = [posteriors[i] for i in np.unique(users)]
    errors = [
        oracles.rating_error(y, posteriors[i], items[j], biases)
        for i, j, y in zip(users, columns, values - hyper.global_mean, strict=True)
    ]

    # the bound is the sum of Gaussian cross-entropies, of noise and of each prior
    assert learned.noise_variance == pytest.approx(np.mean(errors))
    for prior, of in ((learned.users, rated), (learned.items, items)):
        means, covariances = map(np.array, zip(*of, strict=True))
        np.testing.assert_allclose(prior.mean, means.mean(axis=0))
        spread = covariances.mean(axis=0) + np.cov(means.T, bias=True)
        np.testing.assert_allclose(prior.covariance, spread, atol=1e-12)
    part = model.update_hyper(hyper, globals_, step.statistics, 7.0, 0.25, Powers())
    assert part.noise_variance == pytest.approx(
        0.75 * hyper.noise_variance + 0.25 * learned.noise_variance
    )
    np.testing.assert_allclose(
        part.users.covariance,
        0.75 * hyper.users.covariance + 0.25 * learned.users.covariance,
    )
    assert learned.global_mean == hyper.global_mean
    hot = model.update_hyper(hyper, globals_, step.statistics, 1.0, 1.0, Powers(0.3))
    for one, other in ((hot.users, learned.users), (hot.items, learned.items)):
        np.testing.assert_allclose(one.covariance, 0.3 * other.covariance)
        np.testing.assert_array_equal(one.mean, other.mean)
    fixed = model_of(2, biases=biases, **FIXED)
    same = fixed.update_hyper(hyper, globals_, step.statistics, 1.0, 1.0, Powers())
    for name in set(hyper._fields) - {"item_counts"}:
        assert getattr(same, name) is getattr(hyper, name)
    counts = np.bincount(known_of(X)[1], minlength=len(hyper.item_counts))
    np.testing.assert_array_equal(same.item_counts - hyper.item_counts, counts)


def test_learned_variances_stay_positive():
    """This holds even if noise makes the residual or second moments negative."""
    model, X = model_of(), ratings_of(30)
    hyper, globals_ = begun(model, X)
    n = known_of(X)[2].size
    for seed in range(20):
        weights = np.random.default_rng(seed).normal(1, 10, n)
        statistics = local(model, X, globals_, hyper, unit_noise=weights).statistics
        learned = model.update_hyper(hyper, globals_, statistics, 1.0, 1.0, Powers())
        assert learned.noise_variance > 0
        for prior in (learned.users, learned.items):
            np.linalg.cholesky(prior.covariance)
            np.linalg.cholesky(np.linalg.inv(prior.covariance))
    nothing = statistics.scaled(0.0)
    learned = model.update_hyper(hyper, globals_, nothing, 1.0, 1.0, Powers())
    assert learned.noise_variance == hyper.noise_variance
    assert learned.users is hyper.users


@pytest.mark.machine
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_ratings_without_noise(dtype):
    """The model has more factors than the data, and precisions of a wide range."""
    random = np.random.default_rng(0)
    ratings = np.outer(random.normal(size=300), random.normal(size=40))
    X = np.where(random.random(ratings.shape) < 0.7, ratings, np.nan).astype(dtype)
    model = model_of(8, 40, dtype=dtype)
    bounds = bounds_of(model, X, Powers(), 40)
    if dtype == np.float64:
        # The relative error of the priors' precisions is the rounding error times the
        # condition number, which is at most 1 / ROUNDING, for each user and
        # item. The smallest rise of the last steps is a thousand times as large.
        known = EPS / ROUNDING * sum(X.shape)
        assert np.diff(bounds).min() > -known
        assert np.diff(bounds)[-1] > 100 * known
    assert bounds[-1] > 15_000
    # noise too small for the precision of float32, and of any dtype
    noise, message = 1e-16, "too small for ratings with a"
    if dtype == np.float32:
        noise, message = 2e-15, "noise_variance is too small, or"
    hopeless = model_of(8, 40, dtype=dtype, noise_variance=noise)
    with pytest.raises(ValueError, match=message):
        bounds_of(hopeless, X, Powers(), 40)


@pytest.mark.machine
@pytest.mark.parametrize("least", [1e-2, 1e-6, 1e-9])
def test_the_density_of_an_ill_conditioned_prior(least):
    """E log p is accurate with any BLAS, although large and small variances meet."""
    random = np.random.default_rng(0)
    for n in (2, 5, 9):
        directions = np.linalg.qr(random.normal(size=(n, n)))[0]
        covariance = (directions * np.geomspace(least, 1, n)) @ directions.T
        prior = GaussianPrior(random.normal(size=n), 0.5 * (covariance + covariance.T))
        natural = prior.natural()
        precision, linear = unpacked(natural, n), natural[-n:]
        x = prior.mean + directions[:, -1]  # a standard deviation away
        density = prior.log_normaliser() + x @ linear - 0.5 * x @ precision @ x
        exact = -0.5 * (n * np.log(2 * np.pi) + np.log(np.geomspace(least, 1, n)).sum())
        assert density == pytest.approx(exact - 0.5, rel=0, abs=20 * EPS * n / least)


# -- temperatures of users -------------------------------------------------------------


def test_local_temperatures_are_the_formula():
    model, X = model_of(), ratings_of()
    hyper, globals_ = begun(model, X)
    hyper = hyper._replace(noise_variance=0.2)
    items, (users, _, values) = items_of(model, globals_), known_of(X)
    tempering = LocalTempering(15, n_alternations=3)
    state = tempering.initial_state(model, hyper, None)
    ladder, local_powers = np.linspace(1, 0.1, 15), np.ones(len(values))
    for _ in range(3):
        powers = Powers(1.0, 1.0, local_powers)
        *_, errors = oracle_users(model, X, items, hyper, powers, 1.0)
        scores, counts = np.bincount(users, -0.5 * errors / 0.2, 14), np.bincount(users)
        logits = np.outer(scores, ladder) + 0.5 * np.outer(counts, np.log(ladder))
        probabilities = softmax(logits, axis=1)
        b = probabilities @ ladder
        local_powers = b[users]
    block, prepared = model.take(X, ALL), model.prepare(globals_, hyper)
    got = tempering.sample_temperatures(model, block, prepared, state)
    np.testing.assert_allclose(got, 1 / b, rtol=1e-9)
    assert 1.1 < got.min() + 0.2 < got.max()
    np.testing.assert_array_equal(model.per_unit(block, got), got[users])
    step = tempering.local_step(model, block, prepared, Request(), state)
    np.testing.assert_allclose(step.temperatures, probabilities.sum(axis=0))
    powers = Powers(1.0, local_powers, local_powers)
    same = local(model, X, globals_, hyper, powers)
    assert step.bound == pytest.approx(same.bound)
    targets = [
        model.target_parameters(one.statistics, 1.0, Powers(), hyper)
        for one in (step, same)
    ]
    np.testing.assert_allclose(*targets, rtol=1e-9)


# -- predictions -----------------------------------------------------------------------


@each_biases
@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-10), (np.float32, 1e-4)])
def test_held_out_ratings_are_scored_by_those_before(biases, dtype, tol):
    """Every second rating of a user is held out."""
    X = ratings_of().astype(dtype)
    model = model_of(biases=biases, dtype=dtype)
    hyper, globals_ = begun(model, X)
    prepared = model.prepare(globals_, hyper)
    scores, n_held_out = model.predictive_scores(model.take(X, ALL), prepared)
    counts = (~np.isnan(X)).sum(axis=1)
    np.testing.assert_array_equal(n_held_out, counts // 2)
    assert (scores[counts < 2] == 0).all()
    items = items_of(model, globals_)
    for row, score in zip(X.astype(float), scores, strict=True):
        known = np.flatnonzero(~np.isnan(row))
        seen, held_out = known[::2], known[1::2]
        posterior = oracles.rating_posterior(
            row[seen] - hyper.global_mean,
            np.ones(len(seen)),
            [items[j] for j in seen],
            hyper.users,
            1.0,
            hyper.noise_variance,
            biases,
        )
        expected = 0.0
        for j in held_out:
            mean, square = oracles.rating_expectations(posterior, items[j], biases)
            variance = square - mean**2 + hyper.noise_variance
            expected += stats.norm(hyper.global_mean + mean, np.sqrt(variance)).logpdf(
                row[j]
            )
        assert score == pytest.approx(expected, rel=tol, abs=tol)


# -- noise of each user ----------------------------------------------------------------


#: Quick cases, because the reference is slow; other powers are deep, see
#: test_models.py.
SLOWLY = {("local_step", True), ("posterior", False)}


@pytest.fixture
def exactly(monkeypatch):
    """Make users' noise converge to its exact optimum."""
    monkeypatch.setattr(module, "NOISE_TOL", 1e-13)
    monkeypatch.setattr(module, "MOST_ROUNDS", 1000)


def noisy_users(model, X, items, hyper, powers):
    """Return posteriors, noise posteriors and bounds of users, by the equations."""
    users, columns, values = known_of(X)
    values = values - hyper.global_mean
    out = []
    for row in range(len(X)):
        own = np.flatnonzero(users == row)
        others = [items[j] for j in columns[own]]
        factors = np.full(len(own), powers.local)
        sigma, p, shape = hyper.noise_variance, powers.prior, hyper.noise_shape
        shared = others, hyper.users, p, sigma, model.biases
        posterior, noise = oracles.rating_noise(values[own], factors, *shared, shape)
        bound = oracles.gaussian_bound(posterior, hyper.users, p)
        bound += oracles.gamma_bound(noise, shape, p)
        mean, log_mean = noise[0] / noise[1], psi(noise[0]) - np.log(noise[1])
        for y, other in zip(values[own], others, strict=True):
            error = oracles.rating_error(y, posterior, other, model.biases)
            log_variance = np.log(2 * np.pi * sigma) - log_mean
            bound -= 0.5 * powers.local * (log_variance + mean * error / sigma)
        out.append((posterior, noise, bound))
    return out


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("name", "biases"),
    [
        pytest.param(
            name, biases, marks=[] if (name, biases) in SLOWLY else pytest.mark.deep
        )
        for name in ("plain", "local_step", "likelihood", "posterior")
        for biases in (False, True)
    ],
)
def test_each_user_has_a_noise_variance(exactly, biases, name):
    X, powers = ratings_of(), POWERS[name]
    model = model_of(biases=biases, user_noise=True)
    hyper, globals_ = begun(model, X)
    hyper = hyper._replace(noise_shape=2.5)
    step = local(model, X, globals_, hyper, powers)
    expected = noisy_users(model, X, items_of(model, globals_), hyper, powers)
    means = np.array([[*mean, *noise] for (mean, _), noise, _ in expected])
    np.testing.assert_allclose(step.local_parameters, means, rtol=1e-8)
    bounds = [bound for _, _, bound in expected]
    np.testing.assert_allclose(step.row_bounds, bounds, rtol=1e-9, atol=1e-9)
    again = model.local_step(
        model.take(X, ALL),
        model.prepare(globals_, hyper),
        Request(
            powers,
            local_init=step.local_parameters,
            want=("statistics", "bound", "local"),
        ),
    )  # the optimum is a fixed point
    np.testing.assert_allclose(again.local_parameters, means, rtol=1e-8)
    users, columns, values = known_of(X)
    target = model.target_parameters(step.statistics, 1.7, powers, hyper)
    target = model.from_natural_parameters(target)
    for j, (mean, covariance) in enumerate(items_of(model, target)):
        own = np.flatnonzero(columns == j)
        precisions = np.array([a / b for a, b in (expected[i][1] for i in users[own])])
        item = oracles.rating_posterior(
            values[own] - hyper.global_mean,
            1.7 * powers.statistics * precisions,
            [expected[i][0] for i in users[own]],
            hyper.items,
            powers.prior,
            hyper.noise_variance,
            biases,
        )
        np.testing.assert_allclose(mean, item[0], rtol=1e-7)
        np.testing.assert_allclose(covariance, item[1], rtol=1e-7, atol=1e-12)


def test_the_shape_of_the_noise_is_learned():
    model, X = model_of(user_noise=True), ratings_of(30)
    hyper, globals_ = begun(model, X)
    step = local(model, X, globals_, hyper)
    learned = model.update_hyper(hyper, globals_, step.statistics, 1.0, 1.0, Powers())
    rated = (~np.isnan(X)).any(axis=1)
    noise = step.local_parameters[rated, -2:]
    found = minimize_scalar(
        lambda x: -sum(oracles.gamma_bound(one, np.exp(x), 1.0) for one in noise),
        bounds=np.log([1.5, 1e4]),
        method="bounded",
        options={"xatol": 1e-9},
    )
    assert learned.noise_shape == pytest.approx(np.exp(found.x), rel=1e-4)
    assert 1.6 < learned.noise_shape < 1e3
    part = model.update_hyper(hyper, globals_, step.statistics, 1.0, 0.25, Powers())
    assert part.noise_shape == pytest.approx(
        0.75 * hyper.noise_shape + 0.25 * learned.noise_shape
    )
    given = model_of(user_noise=True, **FIXED)
    same = given.update_hyper(hyper, globals_, step.statistics, 1.0, 1.0, Powers())
    assert same.noise_shape == hyper.noise_shape


def test_held_out_ratings_have_heavy_tails(exactly):
    """Their density is a Student-t, whose width has the uncertainty of all parts."""
    X = ratings_of(4)
    model = model_of(user_noise=True)
    hyper, globals_ = begun(model, X)
    prepared = model.prepare(globals_, hyper)
    scores, _ = model.predictive_scores(model.take(X, ALL), prepared)
    items = items_of(model, globals_)
    for row, score in zip(X, scores, strict=True):
        known = np.flatnonzero(~np.isnan(row))
        seen, held_out = np.full((1, 9), np.nan), known[1::2]
        seen[0, known[::2]] = row[known[::2]]
        [(posterior, noise, _)] = noisy_users(model, seen, items, hyper, Powers())
        expected = 0.0
        for j in held_out:
            mean, square = oracles.rating_expectations(posterior, items[j], True)
            width = square - mean**2 + hyper.noise_variance * noise[1] / noise[0]
            expected += stats.t(
                2 * noise[0], hyper.global_mean + mean, np.sqrt(width)
            ).logpdf(row[j])
        assert score == pytest.approx(expected, rel=1e-8)

"""The matrix factorization's estimators: predictions, forms of data, interruptions."""

import functools
import itertools
import re

import numpy as np
import pytest
from fits import Hooks
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from sktemper import (
    AnnealedMatrixFactorization,
    SVIPlusMatrixFactorization,
    TemperedMatrixFactorization,
)
from sktemper.datasets import make_ratings, ratings_matrix
from sktemper.learning_rates import RobbinsMonro
from sktemper.metrics import heldout_rmse

ESTIMATORS = (
    TemperedMatrixFactorization,
    AnnealedMatrixFactorization,
    SVIPlusMatrixFactorization,
)
each_estimator = pytest.mark.parametrize("cls", ESTIMATORS)
each_biases = pytest.mark.parametrize("biases", [False, True])
unsettled = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def generated(n_users=150, n_items=25, rank=2, noise=0.25, share=0.5, seed=0):
    """Return all ratings, and the same with NaN for unknown ratings.

    ``noise`` is a variance.
    """
    random = np.random.default_rng(seed)
    users, items = (
        random.normal(size=(n_users, rank)),
        random.normal(size=(n_items, rank)),
    )
    ratings = 3 + users @ items.T
    ratings += 0.7 * random.normal(size=(n_users, 1)) + random.normal(size=n_items)
    ratings += np.sqrt(noise) * random.normal(size=ratings.shape)
    return ratings, np.where(random.random(ratings.shape) < share, ratings, np.nan)


RATINGS, X = generated()
X[:, 7] = X[11] = np.nan  # an item and a user without ratings
X.flags.writeable = False


def plain(n_components=3, **parameters):
    """Return a model of plain variational inference with few passes."""
    parameters = {"tempering": None, "max_iter": 12, "random_state": 0, **parameters}
    return TemperedMatrixFactorization(n_components, **parameters)


@functools.cache
def fitted():
    """Return the fit of `plain` to all ratings; do not change it."""
    return plain().fit(X)


def csr_of(X):
    """Return the values that are not NaN, including zeros, as a CSR matrix."""
    known = ~np.isnan(X)
    starts = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    items = np.nonzero(known)[1].astype(np.int32)
    return sparse.csr_array((X[known], items, starts.astype(np.int32)), shape=X.shape)


def assert_valid(model, data=X):
    """Assert that all numbers are finite and all covariances are positive definite."""
    assert model.noise_variance_ > 0
    for covariances in (model.item_covariances_, model.user_covariances_):
        assert (np.linalg.eigvalsh(covariances) > 0).all()
    for method in ("transform", "predict", "score_samples"):
        assert np.isfinite(getattr(model, method)(data)).all()
    assert np.isfinite(model.score(data))
    assert np.isfinite(model.lower_bound(data))


# -- users and predictions -------------------------------------------------------------


@pytest.mark.every(7)
@each_biases
@each_estimator
def test_users_of_the_fit_are_those_of_transform(cls, biases):
    model = cls(3, biases=biases, max_iter=20, random_state=0).fit(X)
    np.testing.assert_array_equal(model.user_factors_, model.transform(X))
    assert model.user_factors_.shape == (150, 3)
    assert model.components_.shape == (3, 25)
    assert model.relevance_.shape == (3,) and (np.diff(model.relevance_) <= 0).all()
    n_own = 3 + biases
    assert model.item_covariances_.shape == (25, n_own, n_own)
    assert model.user_covariances_.shape == (150, n_own, n_own)
    assert_valid(model)
    fitted = clone(model).fit_transform(X)
    np.testing.assert_array_equal(fitted, model.user_factors_)
    if not biases:
        assert not model.item_biases_.any() and not model.user_biases_.any()


@each_biases
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_predictions_are_products(biases, dtype):
    data = X.astype(dtype)
    model = plain(biases=biases).fit(data)
    ratings = model.predict(data)
    assert ratings.dtype == dtype and ratings.shape == X.shape
    np.testing.assert_array_equal(
        ratings, model.inverse_transform(model.transform(data), model.user_biases_)
    )
    expected = model.global_mean_ + model.user_biases_[:, None] + model.item_biases_
    expected = expected + model.user_factors_ @ model.components_
    np.testing.assert_allclose(ratings, expected, rtol=1e-5, atol=1e-5)
    typical = model.inverse_transform(model.transform(data))
    mean = model.user_prior_[0][3:].sum()
    np.testing.assert_allclose(
        typical, ratings - model.user_biases_[:, None] + mean, rtol=1e-3, atol=1e-5
    )
    unknown = np.isnan(X)
    error = np.sqrt(
        np.mean((ratings - RATINGS)[unknown & ~np.isnan(X).all(axis=0)] ** 2)
    )
    assert error < (0.85 if biases else 1.1)  # the standard deviation of ratings is 2
    with pytest.raises(ValueError, match="X has 4 features, but there are 3 comp"):
        model.inverse_transform(np.ones((2, 4)))
    with pytest.raises(ValueError, match=r"user_biases has shape \(3,\); expected"):
        model.inverse_transform(np.ones((2, 3)), np.ones(3))


@pytest.mark.every(2)
@each_biases
def test_pairs(biases):
    model = plain(biases=biases).fit(X)
    pairs = list(itertools.product(range(0, 150, 7), range(25)))
    random = np.random.default_rng(0)
    pairs = random.permutation(np.array(pairs))
    mean, std = model.predict_pairs(pairs, return_std=True)
    np.testing.assert_allclose(
        mean, model.predict(X)[tuple(pairs.T)], rtol=1e-12, atol=1e-12
    )
    np.testing.assert_array_equal(model.predict_pairs(pairs), mean)
    np.testing.assert_array_equal(model.predict_pairs(pairs.tolist()), mean)
    np.testing.assert_array_equal(
        model.predict_pairs(pairs[::2].astype(np.uint8)), mean[::2]
    )
    assert model.predict_pairs(np.empty((0, 2), int)).shape == (0,)
    noise = np.sqrt(model.user_noise_variances_)
    assert (std > noise[pairs[:, 0]]).all()
    n = 40_000
    users = np.column_stack([model.user_factors_, model.user_biases_])[:, : 3 + biases]
    items = np.column_stack([model.components_.T, model.item_biases_])[:, : 3 + biases]
    for (i, j), m, s in list(zip(pairs, mean, std, strict=True))[:12]:
        u = random.multivariate_normal(users[i], model.user_covariances_[i], n)
        v = random.multivariate_normal(items[j], model.item_covariances_[j], n)
        y = model.global_mean_ + (u[:, :3] * v[:, :3]).sum(axis=1)
        y += u[:, 3:].sum(axis=1) + v[:, 3:].sum(axis=1)
        y += noise[i] * random.normal(size=n)
        assert y.mean() == pytest.approx(m, abs=5 * s / np.sqrt(n))
        assert y.std() == pytest.approx(s, rel=0.03)
    # predictions for a user and an item without ratings are the most uncertain
    unknown, known = (
        model.predict_pairs([pair], return_std=True)[1] for pair in ((11, 7), (12, 8))
    )
    assert unknown > 2 * known


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("items", [np.arange(4, dtype=np.uint64), np.arange(4) + 0.5])
def test_pairs_in_a_table_are_not_converted_to_floats(library, items):
    module = pytest.importorskip(library)
    users, items = np.repeat(2**53 + np.arange(9), 4), np.tile(items, 9)
    X, *_ = ratings_matrix(users, items, np.random.default_rng(0).normal(size=36))
    model = TemperedMatrixFactorization(1, max_iter=5).fit(X)
    make = module.table if library == "pyarrow" else module.DataFrame
    pairs = list(zip(users.tolist(), items.tolist(), strict=True))
    found = model.predict_pairs(make({"user": users, "item": items}))
    np.testing.assert_array_equal(found, model.predict_pairs(pairs))
    assert len(np.unique(found)) == 36
    with pytest.raises(ValueError, match="not exact .* 9007199254740992: pass a data"):
        model.predict_pairs(np.array([[2.0**53, items[0]]]))


def test_bad_pairs_are_refused():
    model = plain()
    with pytest.raises(NotFittedError):
        model.predict_pairs([[0, 0]])
    model.fit(X)
    for bad in ([[0.0, 1.0]], [[True, False]], np.array([["a", "b"]])):
        with pytest.raises(ValueError, match="no labels of users, so users must be"):
            model.predict_pairs(bad)
    for bad in ([[0, 1, 2]], [0, 1], 0):
        with pytest.raises(ValueError, match=r"pairs must have the shape \(n_pairs, 2"):
            model.predict_pairs(bad)
    for row in (-1, 150, 2**40):
        with pytest.raises(ValueError, match=f"Unknown user: {row}"):
            model.predict_pairs([[0, 0], [row, 1]])
    for item in (-1, 25, 2**40):
        with pytest.raises(ValueError, match=f"Unknown item: {item}"):
            model.predict_pairs([[0, 0], [1, item]])


def test_several_ratings_of_an_item_by_a_user_are_refused():
    """Their sum would be a rating, such as 10 of 5 stars."""
    X = make_ratings(30, 12, n_ratings=200, random_state=0)
    rows, columns = (np.append(part, part[7]) for part in (X.tocoo().row, X.indices))
    coo = sparse.coo_array((np.append(X.data, 5.0), (rows, columns)), X.shape)
    where = f"row {rows[-1]} and column {columns[-1]}.*duplicates='last'"
    order = np.argsort(rows, kind="stable")
    starts = np.searchsorted(rows[order], np.arange(31))
    csr = sparse.csr_array((coo.data[order], columns[order], starts), X.shape)
    flagged = csr.copy()
    flagged.has_canonical_format = True
    bsr = csr.tobsr((1, 1))
    for cls in ESTIMATORS:
        model = cls(2, batch_size=None, max_iter=99, tol=9).fit(X)
        before = model.components_.copy()
        methods = model.fit, model.partial_fit, model.predict, model.recommend
        methods += model.score, functools.partial(heldout_rmse, model)
        # the methods share the check: each with some kinds, and two with all
        for number, bad in enumerate((coo, csr, flagged, csr.tocsc(), bsr)):
            for method in {methods[0], methods[2], methods[1 + number]}:
                with pytest.raises(ValueError, match=where):
                    method(bad)
        np.testing.assert_array_equal(model.components_, before)


def test_users_without_ratings_are_those_of_the_prior():
    model = fitted()
    mean, covariance = model.user_prior_
    np.testing.assert_allclose(model.user_factors_[11], mean[:3])
    np.testing.assert_allclose(model.user_covariances_[11], covariance, rtol=1e-9)
    nobody = np.full((2, 25), np.nan)
    np.testing.assert_allclose(model.transform(nobody), [mean[:3]] * 2)
    np.testing.assert_allclose(model.predict(nobody)[0], model.predict(X)[11])
    assert (model.score_samples(nobody) == 0).all()
    with pytest.raises(ValueError, match="Nothing is held out"):
        model.score(nobody)
    assert model.recommend(nobody)[0].shape == (2, 10)
    # users without ratings have no information: more of them change nothing
    more = np.vstack([X, np.full((500, 25), np.nan)])
    other = plain().fit(more)
    np.testing.assert_allclose(other.components_, model.components_, rtol=1e-9)
    assert other.noise_variance_ == pytest.approx(model.noise_variance_)


# -- scores ----------------------------------------------------------------------------


def test_the_score_is_per_held_out_rating():
    model = fitted()
    n_held_out = (~np.isnan(X)).sum(axis=1) // 2
    scores = model.score_samples(X)
    assert scores.shape == (150,)
    assert model.score(X) == pytest.approx(scores.sum() / n_held_out.sum())
    assert model.score(np.vstack([X, X])) == pytest.approx(model.score(X))
    one = plain(1).fit(X)
    assert model.score(X) > one.score(X) > -3
    single = np.full((1, 25), np.nan)
    single[0, 3] = 2.0
    assert model.score_samples(single) == 0


def test_predictive_intervals_are_calibrated():
    """The 50 % and 90 % intervals contain these shares of held-out ratings."""
    inside = []
    for seed in range(3):
        ratings, known = generated(400, 60, 3, 0.5, 0.4, seed)
        model = plain(6, max_iter=25, random_state=seed).fit(known)
        held_out = np.isnan(known)
        pairs = np.argwhere(held_out)
        mean, std = model.predict_pairs(pairs, return_std=True)
        z = np.abs(ratings[held_out] - mean) / std
        inside.append([np.mean(z < stats.norm.ppf(q)) for q in (0.75, 0.95)])
        assert model.noise_variance_ == pytest.approx(0.5, rel=0.06)
    half, most = np.mean(inside, axis=0)
    assert half == pytest.approx(0.5, abs=0.02)
    assert most == pytest.approx(0.9, abs=0.02)


# -- the same ratings in another form --------------------------------------------------


ROUND = np.round(16 * X) / 16  # 3/4 and 1/4 of these values are exact
ROUND[5, :5] = 0.0  # zeros are ratings


def test_zeros_are_ratings():
    model = plain(max_iter=5)
    zeros = csr_of(ROUND)
    assert (zeros.data == 0).sum() >= 5
    without = zeros.copy()
    without.eliminate_zeros()
    other = clone(model).fit(without)
    assert not np.array_equal(other.components_, model.fit(zeros).components_)
    assert model.global_mean_ == pytest.approx(np.nanmean(ROUND))
    assert other.global_mean_ == pytest.approx(np.nanmean(ROUND[ROUND != 0]))


# -- threads, chunks, interruptions ----------------------------------------------------


@each_estimator
def test_an_interrupted_fit_discards_the_users_of_the_previous_fit(cls):
    """The users of the earlier fit even have another rank."""

    class Stop(Hooks):
        def at_pass(self, estimator, fitted_estimator):
            with pytest.raises(NotFittedError):
                estimator.predict_pairs([[0, 0]])
            raise KeyboardInterrupt

    model = cls(2, max_iter=9, random_state=0).fit(X)
    assert model.user_factors_.shape == (150, 2)
    model.set_params(n_components=5).set_callbacks(Stop())
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:30])
    assert model.components_.shape == (5, 25)
    assert not hasattr(model, "user_factors_")
    assert model.transform(X).shape == (150, 5)
    model.set_callbacks().partial_fit(X[:40])
    assert model.user_factors_.shape == (40, 5)


# -- streams, batches, weights ---------------------------------------------------------


@pytest.mark.every(4)
@each_estimator
def test_a_stream_of_new_users(cls):
    ratings, known = generated(2000, 25, seed=2)
    model = cls(3, batch_size=100, total_samples=2000, random_state=0)
    for start in range(0, 2000, 500):
        part = slice(start, start + 500)
        model.partial_fit(csr_of(known[part]))
        assert model.user_factors_.shape == (500, 3)
        np.testing.assert_array_equal(model.user_factors_, model.transform(known[part]))
    assert model.n_batch_iter_ == 20 and model.n_iter_ == 0
    whole = plain(max_iter=15).fit(known)
    with pytest.warns(ConvergenceWarning, match="6000 samples were seen"):
        for _ in range(2):  # repeated users are not recognized in other chunks
            model.partial_fit(known)
    model.partial_fit(known)
    assert model.score(known) > whole.score(known) - 0.1
    assert_valid(model, known)


# -- policies --------------------------------------------------------------------------


@unsettled
@pytest.mark.every(5)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@each_biases
def test_gaussian_weights_never_leave_the_domain(biases, dtype):
    """Noise that would leave the domain shortens steps and weights, as recorded."""
    shares, counts = [], []
    for seed, batch_size in itertools.product(range(2), (None, 50)):
        model = SVIPlusMatrixFactorization(
            3,
            biases=biases,
            effective_batch_size=15,
            noise_distribution="gaussian",
            batch_size=batch_size,
            learning_rate=RobbinsMonro(1),
            max_iter=6,
            random_state=seed,
        ).fit(X.astype(dtype))
        assert_valid(model)
        shares.extend(model.history_["rate_share"])
        counts.extend(model.history_["mean_iterations"])
    assert np.min(shares) < 1
    assert np.max(counts) > 1


def test_the_error_after_negative_noise_names_the_item_and_the_remedies():
    model = TemperedMatrixFactorization(3, random_state=0)
    model.partial_fit(X[:30].astype(np.float32))
    globals_ = model.state_.globals_.copy()
    globals_[5:10, -4:] *= 1e9  # as of precisions near 0
    model.state_.globals_ = globals_
    message = (
        r"not positive definite after rounding to float32.* item (\d+) has moments of "
        "(.*): .* or effective_batch_size to a larger .* 'dirichlet', .* as float64"
    )
    with pytest.raises(ValueError, match=message) as caught:
        model.transform(X[:30].astype(np.float32))
    covariances = np.abs(model.item_covariances_).max(axis=(1, 2))
    squares = np.square(model.components_.T).max(axis=1)
    item, moment = re.search(message, str(caught.value)).groups()
    assert int(item) == (covariances + squares).argmax()
    assert float(moment) == pytest.approx((covariances + squares).max(), rel=0.01)


def test_outliers_have_high_temperatures():
    data, random = X.copy(), np.random.default_rng(0)
    odd = np.zeros(X.shape, bool)
    odd[::10] = True
    data[odd] += random.normal(0, 6, odd.sum())
    shared = dict(
        noise_variance=0.25, component_variance=1.0, noise_type="common", max_iter=40
    )
    model = plain(2, tempering="local", **shared).fit(data)
    temperatures = model.temperatures(data)
    hot, cold = temperatures[::10], np.delete(temperatures, np.s_[::10])
    assert np.median(hot) > 1.5 * np.median(cold)
    robust, fragile = (
        np.mean((one.fit(data).predict(data) - RATINGS)[np.isnan(X) & ~odd] ** 2)
        for one in (model, plain(2, **shared))
    )
    assert robust < 0.9 * fragile
    with pytest.raises(AttributeError, match="no attribute 'temperatures'"):
        fitted().temperatures(X)


def test_a_given_start():
    init = np.random.default_rng(0).normal(size=(3, 25))
    shared = dict(init=init, max_iter=3)
    one, two = (plain(**{**shared, "random_state": seed}).fit(X) for seed in (0, 5))
    np.testing.assert_array_equal(one.components_, two.components_)


# -- bad input -------------------------------------------------------------------------


@pytest.mark.every(5)
@unsettled
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [1e-12, 1e-5, 1e4])
def test_ratings_of_any_scale(scale, dtype):
    one = plain(max_iter=20).fit(X.astype(dtype))
    other = plain(max_iter=20).fit((X * scale).astype(dtype))
    tol = 1e-9 if dtype == np.float64 else 2e-3
    np.testing.assert_allclose(
        other.predict(X * scale) / scale, one.predict(X), atol=3 * tol
    )
    noise = other.noise_variance_ / scale**2
    assert noise == pytest.approx(one.noise_variance_, rel=tol)


# -- a noise variance for each user ----------------------------------------------------


def unequal(n_users=400, n_items=40, seed=0):
    """Return ratings whose noise differs between users, and the noise variances."""
    random = np.random.default_rng(seed)
    variances = 0.25 / random.gamma(3.0, 1 / 3.0, n_users)
    ratings, _ = generated(n_users, n_items, noise=0.0, seed=seed)
    ratings += np.sqrt(variances)[:, None] * random.normal(size=ratings.shape)
    known = random.random(ratings.shape) < 0.6
    return ratings, np.where(known, ratings, np.nan), variances


def test_the_noise_of_each_user_is_found():
    ratings, data, variances = unequal()
    users, common = (
        plain(2, noise_type=kind, max_iter=60).fit(data) for kind in ("user", "common")
    )
    found = np.log(users.user_noise_variances_)
    assert np.corrcoef(found, np.log(variances))[0, 1] > 0.85
    assert np.abs(found - np.log(variances)).mean() < 0.4
    assert 2 < users.noise_shape_ < 5
    assert users.lower_bound(data) > common.lower_bound(data) + 100
    assert users.score(data) > common.score(data) + 0.05
    hidden = np.isnan(data)
    errors = [
        np.mean((m.predict(data) - ratings)[hidden] ** 2) for m in (users, common)
    ]
    assert errors[0] < errors[1]
    noise = np.full(400, common.noise_variance_)
    np.testing.assert_allclose(common.user_noise_variances_, noise)


def test_equal_noise_is_no_loss():
    ratings, data = generated(400, 40, noise=0.25)
    users, common = (
        plain(2, noise_type=kind, max_iter=80).fit(data) for kind in ("user", "common")
    )
    assert users.noise_shape_ > 30
    assert users.score(data) == pytest.approx(common.score(data), abs=0.005)
    np.testing.assert_allclose(users.user_noise_variances_, 0.25, atol=0.1)

"""Short paths of factorizations have the results of the long ones."""

import pickle

import numpy as np
import pytest
from fits import fitted_model
from scipy import sparse

from sktemper import ImplicitFactorization, TemperedMatrixFactorization
from sktemper.datasets import make_ratings
from sktemper.matrix_factorization import _users


def rows_of_clicks(n_users=200, n_items=60):
    random = np.random.default_rng(3)
    clicks = random.random((n_users, n_items)) < 0.2
    return sparse.csr_matrix(clicks * random.uniform(0.5, 1.5, clicks.shape))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_clicks_of_few_users_have_the_bits_of_many(dtype, monkeypatch):
    X = rows_of_clicks().astype(dtype)
    X.data[X.indptr[5] : X.indptr[6]] = 0
    X.eliminate_zeros()
    served = (
        ImplicitFactorization(6, max_iter=2, tol=1e9, random_state=0)
        .fit(X)
        .for_serving()
    )
    many = served.recommend(X, n_items=7)
    ints = X.copy()
    ints.indptr, ints.indices = X.indptr.astype("i8"), X.indices.astype("i8")
    forms = [X, sparse.csr_array(X), ints, X.toarray()]
    monkeypatch.setattr("_thread.start_new_thread", None)
    for form in forms:
        for rows in (slice(5, 6), slice(0, 3), slice(3, 23)):
            for few, all_rows in zip(
                served.recommend(form[rows], n_items=7), many, strict=True
            ):
                np.testing.assert_array_equal(few, all_rows[rows])


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X[:, :59],
        lambda X: -X,
        lambda X: X * np.nan,
        lambda X: X * 1e300,
        lambda X: X[:0],
        lambda X: X[0, 0],
    ],
)
def test_bad_clicks_of_few_users_raise_the_errors_of_many(change, monkeypatch):
    X = rows_of_clicks()
    model = ImplicitFactorization(3, max_iter=2, tol=1e9, random_state=0).fit(X)
    bad = change(X[:2])
    with pytest.raises((TypeError, ValueError)) as error:
        model.recommend(bad)
    monkeypatch.setattr(type(model), "_query_of_few", lambda self, X: None)
    monkeypatch.setattr(type(model), "_is_few_rows", lambda self, X: False)
    with pytest.raises(type(error.value)) as expected:
        model.recommend(bad)
    assert str(error.value) == str(expected.value)


def test_broken_matrices_of_few_users_are_refused_or_mended():
    X = rows_of_clicks()
    model = ImplicitFactorization(3, max_iter=2, tol=1e9, random_state=0).fit(X)
    row = X[:1].copy()
    expected = model.recommend(row)
    turned = row.copy()
    turned.indices, turned.data = row.indices[::-1].copy(), row.data[::-1].copy()
    zeros = sparse.csr_matrix(
        (np.r_[row.data, 0.0], np.r_[row.indices, 59], [0, row.nnz + 1]), row.shape
    )
    for other in (turned, zeros):
        for one, two in zip(model.recommend(other), expected, strict=True):
            np.testing.assert_array_equal(one, two)
    for name, value in (("indices", 60), ("indices", -1), ("indptr", 10**6)):
        broken = row.copy()
        getattr(broken, name)[-1] = value
        with pytest.raises(ValueError):
            model.recommend(broken)


def test_few_users_follow_changed_parameters():
    X = rows_of_clicks()
    model = ImplicitFactorization(3, max_iter=2, tol=1e9, random_state=0).fit(X)
    first = model.recommend(X[:2])[1]
    again = model.set_params(pair_weight=3.0).recommend(X[:2])[1]
    assert not np.array_equal(first, again)
    np.testing.assert_array_equal(
        again, pickle.loads(pickle.dumps(model)).recommend(X[:2])[1]
    )


def test_the_secant_method_finds_fixed_points_in_fewer_rounds():
    exponents = np.array([0.1, 0.5, 0.9, -0.5])
    x, g = np.ones(4), np.full(4, 2.0)  # the functions are 2 x^exponent
    for _ in range(2):
        y = _users._accelerated(x, g, g, 2 * g**exponents)
        x, g = y, 2 * y**exponents
    fixed = 2 ** (1 / (1 - exponents))
    np.testing.assert_allclose(g[:3], fixed[:3], rtol=1e-6)
    # a falling function is iterated without acceleration
    assert _users._accelerated(*np.array([[1.0], [2.0], [2.0], [1.5]])) == 1.5


def test_accelerated_rounds_give_the_noise_of_plain_rounds(monkeypatch):
    X = make_ratings(120, 40, n_ratings=2500, random_state=0)
    model = TemperedMatrixFactorization(5, max_iter=3, tol=1e9, random_state=0).fit(X)
    plain = fitted_model(model).users
    block = fitted_model(model).take(X, slice(0, 120))
    prepared = model._prepared(fitted_model(model))
    expected = plain(block, prepared)
    monkeypatch.setattr(_users, "NOISE_TOL", 1e-9)
    exact = plain(block, prepared)
    monkeypatch.setattr(_users, "NOISE_TOL", 1e-3)
    monkeypatch.setattr(_users, "WIDE", 0)
    found = plain(block, prepared)
    assert found.n_iterations < expected.n_iterations
    np.testing.assert_allclose(found.noise.means, exact.noise.means, rtol=2e-3)
    alone = plain(fitted_model(model).take(X, slice(7, 8)), prepared)
    np.testing.assert_array_equal(alone.noise.means, found.noise.means[7:8])

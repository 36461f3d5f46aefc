"""Recommendations: the kernel, labels, tables, explanations, and serving copies."""

import pickle
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from fits import Broken, fitted_model, press_ctrl_c
from scipy import sparse, stats
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sktemper._simd.special import packed_columns

from sktemper import ImplicitFactorization, TemperedMatrixFactorization
from sktemper._ranking import _best
from sktemper._ranking._best import Rescoring, UserEntries, best_items, products
from sktemper._utils import _tasks
from sktemper._utils._linalg import tiled_matmul
from sktemper.datasets import (
    interactions_matrix,
    make_ratings,
    ratings_matrix,
    write_ratings,
)
from sktemper.metrics import ranking_report
from sktemper.model_selection import train_test_split_entries

pd = pytest.importorskip("pandas")

TABLE = make_ratings(150, 60, n_ratings=3000, n_stars=5, random_state=0).tocoo()
USERS = [f"u{row}" for row in TABLE.row]
ITEMS = [f"f{column}" for column in TABLE.col]
FRAME = pd.DataFrame({"user": USERS, "item": ITEMS, "stars": TABLE.data})


@pytest.fixture(scope="module", params=["ratings", "clicks"])
def fitted(request):
    """A fitted model of each kind, and its labelled data."""
    if request.param == "ratings":
        X, *_ = ratings_matrix(FRAME["user"], FRAME["item"], FRAME["stars"])
        model = TemperedMatrixFactorization(4, max_iter=30, random_state=0)
    else:
        X = interactions_matrix(FRAME["user"], FRAME["item"], FRAME["stars"])
        model = ImplicitFactorization(6, max_iter=30, random_state=0, tol=1)
        model.set_params(pair_weight=np.sqrt, pair_target=np.log1p)
    return SimpleNamespace(model=model.fit(X), X=X)


# -- the kernel ------------------------------------------------------------------------


def drawn(n_users, n_items, width, dtype, seed=0, digits=6):
    """Return random vectors, and masks of seen and excluded items.

    With few digits, scores have ties.
    """
    random = np.random.default_rng(seed)
    users, items = (
        np.round(random.normal(size=(n, width)), digits).astype(dtype)
        for n in (n_users, n_items)
    )
    seen = random.random((n_users, n_items)) < 0.15
    starts = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
    entries = np.nonzero(seen)[1].astype(np.int32)
    rated = UserEntries(starts.astype(np.int64), entries, np.ones(len(entries)))
    return users, items, seen, rated, random.random(n_items) < 0.1


def sorted_scores(scores, seen, barred, n_best):
    """Return the reference result: a stable sort of all scores."""
    scores = np.where(seen | barred, -np.inf, scores)
    best = np.argsort(-scores, axis=1, kind="stable")[:, :n_best]
    found = np.take_along_axis(scores, best, axis=1)
    missing = np.isinf(found)
    return np.where(missing, -1, best), np.where(missing, np.nan, found)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "n_users, n_items, width, n_best, digits",
    [
        (1, 30, 3, 4, 6),
        (1, 1000, 64, 10, 6),
        (17, 50, 2, 50, 0),
        (40, 501, 7, 13, 1),
        (70, 200, 1, 20, 0),
        (33, 777, 65, 777, 6),
    ],
)
def test_the_best_are_those_of_a_stable_sort(
    n_users, n_items, width, n_best, digits, dtype, monkeypatch
):
    users, items, seen, rated, barred = drawn(n_users, n_items, width, dtype, 0, digits)
    scores = tiled_matmul(users, np.ascontiguousarray(items.T))
    np.testing.assert_array_equal(products(users, items), scores)
    expected = sorted_scores(scores, seen, barred, n_best)
    found = best_items(users, items, n_best, seen=rated, barred=barred)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    assert found[1].dtype == dtype
    # with bounds of scores, which skip items, the result is the same
    bounds = 5 * np.random.default_rng(1).random(n_items).astype(dtype)
    limit = np.quantile(scores, 0.97).astype(dtype)  # few scores reach their bounds
    bounded = np.minimum(scores - limit, 0) + bounds
    rescoring = Rescoring(
        lambda given, users, items: np.minimum(given - limit, 0) + bounds[items],
        bounds,
        np.argsort(-bounds, kind="stable"),
    )
    for few in (1, 20, 10**6):
        monkeypatch.setattr(_best, "FEWEST_ITEMS", few)
        found = best_items(
            users, items, n_best, seen=rated, barred=barred, rescoring=rescoring
        )
        expected = sorted_scores(bounded, seen, barred, n_best)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
        own = np.take_along_axis(scores, np.maximum(found[0], 0), axis=1)
        np.testing.assert_array_equal(found[2], np.where(found[0] < 0, np.nan, own))


@pytest.mark.machine
def test_the_same_bits_for_one_user_as_for_many(monkeypatch):
    users, items, _, rated, _ = drawn(101, 3001, 33, np.float32)
    best, scores, _ = best_items(users, items, 10, seen=rated)
    for row in (0, 15, 16, 31, 32, 100):
        one = slice(row, row + 1)
        alone = best_items(users[one], items, 10, seen=rated.select(one))
        np.testing.assert_array_equal(alone[0][0], best[row])
        np.testing.assert_array_equal(alone[1][0], scores[row])
    for most_users, n_jobs in ((7, 1), (40, 1), (7, 3)):
        monkeypatch.setattr(_best, "MOST_USERS", most_users)
        again = best_items(users, items, 10, seen=rated, n_jobs=n_jobs)
        np.testing.assert_array_equal(again[0], best)
        np.testing.assert_array_equal(again[1], scores)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_users", [1, 2, 4, 5, 12, 13])
def test_packed_items_give_the_same_bits(n_users, dtype):
    users, items, _, rated, barred = drawn(n_users, 501, 33, dtype)
    panels = packed_columns(items.T)
    for seen, banned in ((rated, barred), (None, None), (rated, np.ones(501, bool))):
        plain = best_items(users, items, 9, seen=seen, barred=banned)
        packed = best_items(users, items, 9, seen=seen, barred=banned, panels=panels)
        for one, other in zip(plain, packed, strict=True):
            np.testing.assert_array_equal(one, other)


def test_best_items_of_no_users_and_of_users_without_candidates():
    users, items, *_ = drawn(3, 20, 4, np.float64)
    assert best_items(users[:0], items, 5)[0].shape == (0, 5)
    everything = UserEntries(
        np.array([0, 20, 20, 20]), np.arange(20, dtype=np.int32), np.ones(20)
    )
    best, scores, _ = best_items(users, items, 5, seen=everything)
    assert (best[0] == -1).all() and np.isnan(scores[0]).all() and (best[1:] >= 0).all()


# -- names -----------------------------------------------------------------------------


def test_recommendations_from_a_table_are_a_table(fitted):
    table = fitted.model.recommend(["u19", "u5", "u19"], n_items=4)
    assert list(table.columns[:4]) == ["user", "item", "rank", "score"]
    assert table["user"].tolist() == ["u19"] * 4 + ["u5"] * 4 + ["u19"] * 4
    assert table["rank"].tolist() == [1, 2, 3, 4] * 3
    seen = set(FRAME.loc[FRAME["user"] == "u19", "item"])
    assert not seen & set(table["item"][:4])
    # the results are the same for rows of data, as columns and as tables
    rows = fitted.X.users(["u19", "u5"])
    columns, *_ = fitted.model.recommend(rows, n_items=4)
    names = fitted.model.item_labels_[columns].ravel()
    assert names.tolist() == table["item"].tolist()[:8]
    scores = fitted.model.item_scores(["u19", "u5"])
    np.testing.assert_array_equal(
        np.take_along_axis(scores, columns, axis=1).ravel(), table["score"][:8]
    )
    again = fitted.model.recommend(rows, n_items=4, output="pandas")
    pd.testing.assert_frame_equal(again, table[:8])


def test_one_name_needs_no_list(fitted):
    model = fitted.model
    for one, several in (
        (model.recommend("u19"), model.recommend(["u19"])),
        (
            model.recommend(["u19"], exclude="f3", n_items=59),
            model.recommend(["u19"], exclude=["f3"], n_items=59),
        ),
        (model.similar_items("f3"), model.similar_items(["f3"])),
        (model.explain("u19", "f3"), model.explain(["u19"], "f3")),
    ):
        pd.testing.assert_frame_equal(one, several)
    nothing = model.recommend(["u19"], exclude=[])
    pd.testing.assert_frame_equal(nothing, model.recommend(["u19"]))


def test_tables_of_polars(fitted):
    pytest.importorskip("polars")
    frame = fitted.model.recommend(["u3"], n_items=2, output="polars")
    assert type(frame).__module__.startswith("polars") and frame.shape[0] == 2
    assert fitted.model.explain("u3", "f2", output="polars").shape[1] >= 5
    assert fitted.model.similar_items(["f2"], 3, output="polars").shape == (3, 4)
    with pytest.raises(ValueError, match="output must be one of"):
        fitted.model.recommend(["u3"], output="numpy")


def test_labels_of_polars_and_of_numbers():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"user": [7, 7, 9, 9], "item": ["a", "b", "b", "c"]})
    X = interactions_matrix(frame["user"], frame["item"])
    assert X.user_labels.tolist() == [7, 9] and X.item_labels.tolist() == [
        "a",
        "b",
        "c",
    ]
    model = ImplicitFactorization(1, max_iter=50, random_state=0, tol=1).fit(X)
    assert model.recommend([9, 7], n_items=3)["user"].tolist() == [9, 7]
    assert model.recommend(frame["user"][:1], n_items=1)["item"].tolist() == ["c"]
    with pytest.raises(ValueError, match="Unknown users: 0, 1"):
        model.recommend([0, 9, 1], n_items=2)


def test_labels_that_are_dates_are_equal_in_all_units():
    days = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")
    nanoseconds = days.astype("datetime64[ns]")
    kinds = [days, nanoseconds, pd.Series(nanoseconds), days.tolist(), list(days)]
    for users in kinds:
        X = interactions_matrix(users, ["a", "b"])
        model = ImplicitFactorization(1, max_iter=50, random_state=0, tol=1).fit(X)
        for others in kinds:
            new = interactions_matrix(others, ["a", "b"], user_labels=X.user_labels)
            np.testing.assert_array_equal(new.toarray(), X.toarray())
            assert model.recommend(others[1:], n_items=1)["item"].tolist() == ["a"]


def test_unknown_names_are_listed(fitted):
    model = fitted.model
    with pytest.raises(ValueError, match="Unknown users: 'ann', 'bob'"):
        model.recommend(["ann", "u1", "bob", "ann"])
    with pytest.raises(ValueError, match="Unknown item: 'rum'"):
        model.recommend(["u1"], exclude=["f1", "rum"])
    with pytest.raises(ValueError, match="Unknown item: 'rum'"):
        model.similar_items(["rum"])
    with pytest.raises(ValueError, match="Unknown item: 'rum'"):
        model.explain("u1", "rum")
    with pytest.raises(ValueError, match="and 5 more"):
        model.recommend([f"x{i}" for i in range(15)])
    with pytest.raises(ValueError, match="Unknown user: 'eve'"):
        fitted.X.users(["eve"])


def test_seen_items_and_excluded_ones(fitted):
    model, X = fitted.model, fitted.X
    best, *_ = model.recommend(X[:5], n_items=60, exclude_seen=False)
    assert (np.sort(best, axis=1) == np.arange(60)).all()
    first = model.item_labels_[best[:, 0]]
    others, *_ = model.recommend(X[:5], n_items=60, exclude=first, exclude_seen=False)
    barred = np.isin(model.item_labels_, first).sum()
    assert ((others == -1).sum(axis=1) == barred).all()
    some, *_ = model.recommend(X[:5], n_items=60, items=first, exclude_seen=False)
    ranks = np.isin(best, model._index("item").positions(first))
    assert (some[:, :barred] == best[ranks].reshape(5, -1)).all()
    assert (some[:, barred:] == -1).all()
    none, *_ = model.recommend(X[:5], items=first, exclude=first)
    assert (none == -1).all()
    assert not np.isin(first, model.item_labels_[others[others >= 0]]).any()
    seen = X[:5].toarray() != 0
    best, *_ = model.recommend(X[:5], n_items=60)
    for row, known in zip(best, seen, strict=True):
        assert set(row[row >= 0]) == set(np.flatnonzero(~known))


def test_recommend_takes_names_and_rows_of_new_users(fitted):
    make = interactions_matrix
    if isinstance(fitted.model, TemperedMatrixFactorization):
        make = ratings_matrix
    new = make(
        ["joe", "joe", "amy"],
        ["f3", "f9", "f9"],
        [5, 1, 4],
        item_labels=fitted.model.item_labels_,
    )
    new = new[0] if isinstance(new, tuple) else new
    table = fitted.model.recommend(new, n_items=2, output="pandas")
    assert table["user"].tolist() == ["amy", "amy", "joe", "joe"]
    assert (
        fitted.model.explain(new.users(["joe"]), "f1")["item"].isin(["f3", "f9"]).all()
    )
    wrong = make(["joe"] * 60, np.sort(fitted.model.item_labels_)[::-1], np.ones(60))
    wrong = wrong[0] if isinstance(wrong, tuple) else wrong
    fitted.model.recommend(wrong)  # in the order of the fit
    wrong.item_labels = wrong.item_labels[::-1]
    with pytest.raises(ValueError, match="differ from the items of the fit"):
        fitted.model.recommend(wrong)
    with pytest.raises(ValueError, match="differ from the items of the fit"):
        fitted.model.partial_fit(wrong)


def test_rows_are_numbers_where_data_have_no_labels(fitted):
    model = type(fitted.model)(**fitted.model.get_params())
    model.fit(sparse.csr_array(fitted.X))
    assert model.user_labels_ is None and model.item_labels_ is None
    table = model.recommend([19, 5], n_items=3)
    expected, *_ = model.recommend(fitted.X[[19, 5]], n_items=3)
    assert table["item"].tolist() == expected.ravel().tolist()
    assert table["user"].tolist() == [19] * 3 + [5] * 3
    with pytest.raises(ValueError, match="Unknown user: 150"):
        model.recommend([150])
    with pytest.raises(ValueError, match=r"numbers from 0 to 149; got 'u1'"):
        model.recommend(["u1"])


def test_names_of_parts_of_collections_and_of_columns(ratings, tmp_path):
    model, X = ratings.model, ratings.X
    options = {"n_components": 4, "max_iter": 30, "random_state": 0}
    expected = model.recommend(["u19", "u140"], n_items=3)
    parts = [X[:80], X[80:]]
    stored = write_ratings(tmp_path / "ratings", [(USERS, ITEMS, TABLE.data)])
    for data in (parts, stored):
        other = TemperedMatrixFactorization(**options).fit(data)
        np.testing.assert_array_equal(other.user_labels_, model.user_labels_)
        found = other.recommend(["u19", "u140"], n_items=3)
        assert found["item"].tolist() == expected["item"].tolist()
        everybody, *_ = other.recommend(data, n_items=3)
        assert everybody.shape == (150, 3)
    wide = FRAME.pivot(index="user", columns="item", values="stars")
    other = TemperedMatrixFactorization(**options).fit(wide)
    assert other.item_labels_.tolist() == wide.columns.tolist()
    found = other.recommend(["u19"], n_items=3)
    assert found["item"].tolist() == expected["item"].tolist()[:3]
    report = ranking_report(other, np.isnan(wide), X_seen=wide, measures=["ndcg@5"])
    assert report["ndcg@5"] == 1  # all unseen items are relevant
    stopped = TemperedMatrixFactorization(n_iter_no_change=2, **options).fit(X)
    assert stopped.recommend(["u140"])["user"].tolist() == ["u140"] * 10


def test_only_users_of_a_fit_that_was_completed_are_known():
    model = TemperedMatrixFactorization(2)
    for call in (
        lambda: model.recommend(["u1"]),
        lambda: model.similar_items(["f1"]),
        lambda: model.explain("u1", "f1"),
        lambda: model.item_scores(["u1"]),
        model.for_serving,
    ):
        with pytest.raises(NotFittedError):
            call()


def test_interactions():
    users, items = ["b", "a", "b", "b"], ["x", "y", "x", "y"]
    assert interactions_matrix(users, items).toarray().tolist() == [[0, 1], [2, 1]]
    weights = np.array([2, 0, 0.5, 3], np.float32)
    X = interactions_matrix(users, items, weights)
    assert X.dtype == np.float32 and X.toarray().tolist() == [[0, 0], [2.5, 3]]
    assert X.nnz == 2 and X.user_labels.tolist() == ["a", "b"]
    once = interactions_matrix(users, items, weights, duplicates="one")
    assert once.toarray().tolist() == [[0, 0], [2, 3]]
    for options, message in (
        ({"weights": [1, 1, -1, 1]}, "must not be negative"),
        ({"duplicates": "error"}, "1 duplicate interaction, for example of user"),
        ({"item_labels": ["x"]}, "1 items are not in item_labels"),
    ):
        with pytest.raises(ValueError, match=message):
            interactions_matrix(users, items, **options)
    known = interactions_matrix(users, items, item_labels=["y", "z"], unknown="ignore")
    assert known.toarray().tolist() == [[1, 0], [1, 0]]


# -- ratings ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ratings():
    X, *_ = ratings_matrix(FRAME["user"], FRAME["item"], FRAME["stars"])
    return SimpleNamespace(
        model=TemperedMatrixFactorization(4, max_iter=30, random_state=0).fit(X), X=X
    )


def test_likely_scores_are_popularity_times_probability(ratings):
    model, X = ratings.model, ratings.X
    counts = X.getnnz(axis=0)
    np.testing.assert_allclose(model.item_popularity_, counts / counts.sum())
    mean, noise = model.predict(X), model.user_noise_variances_
    shares = (counts + 0.5) / (counts + 0.5).sum()
    for threshold in (None, 4):
        level = model.global_mean_ if threshold is None else threshold
        liked = stats.norm.sf((level - mean) / np.sqrt(noise)[:, None])
        scores = model.item_scores(X, threshold=threshold)
        np.testing.assert_allclose(scores, np.log(shares * liked), rtol=1e-9)
    with pytest.raises(ValueError, match="'rank_by' parameter"):
        model.recommend(X, rank_by="popularity")
    with pytest.raises(ValueError, match="'threshold' parameter"):
        model.recommend(X, threshold="4")


def test_likely_items_are_those_that_are_chosen():
    X = make_ratings(600, 200, n_ratings=12_000, n_stars=5, random_state=0)
    X_train, X_test = train_test_split_entries(X, random_state=0)
    model = TemperedMatrixFactorization(4, tol=1, random_state=0).fit(X_train)
    likely, rated, popular = (
        ranking_report(scores, X_test, X_seen=X_train, relevant=4)["ndcg@100"]
        for scores in (
            model,
            model.item_scores(X_train, rank_by="rating"),
            np.tile(model.item_popularity_, (600, 1)),
        )
    )
    assert likely > rated + 0.02 and likely > popular + 0.01


def test_popularity_is_learned_from_a_stream(ratings):
    X = sparse.csr_array(ratings.X)
    stream = TemperedMatrixFactorization(4, total_samples=150, random_state=0)
    for _ in range(2):
        for start in range(0, 150, 50):
            stream.partial_fit(X[start : start + 50])
    np.testing.assert_allclose(stream.item_popularity_, ratings.model.item_popularity_)
    assert stream.recommend([0, 49])["user"].nunique() == 2  # users of the last chunk
    weight = np.arange(150) % 3
    weighted = TemperedMatrixFactorization(4, max_iter=3, random_state=0)
    weighted.fit(X, sample_weight=weight)
    counts = weight @ (X.toarray() != 0)
    np.testing.assert_allclose(weighted.item_popularity_, counts / counts.sum())


def test_pairs_are_labels_where_data_have_labels(ratings):
    model, X = ratings.model, ratings.X
    users, items = X.user_labels[[3, 0, 3]], X.item_labels[[1, 2, 9]]
    positions = [[3, 1], [0, 2], [3, 9]]
    expected = model.predict_pairs(positions, by_position=True)
    frame = pd.DataFrame({"user": users, "item": items})
    named = [list(zip(users, items, strict=True)), frame, frame.to_numpy()]
    for pairs in named:
        np.testing.assert_array_equal(model.predict_pairs(pairs), expected)
    with pytest.raises(ValueError, match="Unknown user: 3"):
        model.predict_pairs([(3, items[0])])
    with pytest.raises(ValueError, match="Unknown item: 'no such'"):
        model.predict_pairs([(users[0], "no such")])
    with pytest.raises(ValueError, match="'by_position' parameter"):
        model.predict_pairs(positions, by_position="yes")


def test_labels_of_different_types_are_different():
    """In one array of strings, the integer label 1 would not be found."""
    X, *_ = ratings_matrix([1, 1, 2, 3], ["x", "y", "x", "z"], [5.0, 1, 3, 2])
    model = TemperedMatrixFactorization(1, max_iter=5, tol=0.0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    np.testing.assert_array_equal(
        model.predict_pairs([(2, "z"), (1, "x")]),
        model.predict_pairs([[1, 2], [0, 0]], by_position=True),
    )


def test_ratings_and_deviations_are_those_of_pairs(ratings):
    model, X = ratings.model, ratings.X
    items, mean, std = model.recommend(X[:20], n_items=5, return_std=True)
    found = items >= 0
    assert not found.all()  # a user has rated nearly all items
    pairs = np.column_stack([np.nonzero(found)[0], items[found]])
    expected = model.predict_pairs(pairs, return_std=True, by_position=True)
    np.testing.assert_allclose(mean[found], expected[0], rtol=1e-12)
    np.testing.assert_allclose(std[found], expected[1], rtol=1e-12)
    assert np.isnan(mean[~found]).all() and np.isnan(std[~found]).all()
    by_name = model.recommend(X.user_labels[:20], n_items=5, return_std=True)
    np.testing.assert_array_equal(by_name["std"], std[found])
    clipped = model.recommend(X[:20], n_items=5, clip=(2, 3.9))
    np.testing.assert_array_equal(clipped[0], items)
    np.testing.assert_array_equal(clipped[1], np.clip(mean, 2, 3.9))
    with pytest.raises(ValueError, match="clip must be the two ends"):
        model.recommend(X, clip=(5, 1))


@pytest.mark.every(5)
@pytest.mark.parametrize("biases", [True, False])
@pytest.mark.parametrize("noise_type", ["user", "common"])
def test_shares_of_ratings_are_those_of_the_normal_equations(biases, noise_type):
    X = sparse.csr_array((TABLE.data, (TABLE.row, TABLE.col)), shape=TABLE.shape)
    model = TemperedMatrixFactorization(
        3, biases=biases, noise_type=noise_type, random_state=0
    ).fit(X)
    d, user, item = 3, 11, 5
    table = model.explain(user, item)
    items, values = X.indices[X.indptr[11] : X.indptr[12]], X[[11]].data
    prior_mean, prior = model.user_prior_
    means = np.column_stack([model.components_.T, model.item_biases_])[:, : d + biases]
    squares, shares = np.zeros_like(prior), []
    for j, value in zip(items, values, strict=True):
        second = model.item_covariances_[j] + np.outer(means[j], means[j])
        z, square = np.append(means[j][:d], 1.0)[: d + biases], second.copy()
        mixed = np.zeros(d + biases)
        if biases:
            square[d], square[:, d] = z, z
            mixed[:d], mixed[d] = second[:d, d], means[j][d]
        squares += square
        shares.append(z * (value - model.global_mean_) - mixed)
    added_precision = np.linalg.inv(model.user_covariances_[11]) - np.linalg.inv(prior)
    noise = np.trace(squares) / np.trace(added_precision)
    np.testing.assert_allclose(squares / noise, added_precision, rtol=1e-5, atol=1e-8)
    if noise_type == "common":
        assert noise == pytest.approx(model.noise_variance_)
    precision = np.linalg.inv(prior) + squares / noise
    shares = np.array(shares) / noise
    vector = np.append(means[item][:d], 1.0)[: d + biases]
    expected = shares @ np.linalg.solve(precision, vector)
    found = table.set_index("item")["share"].loc[items]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    score = model.predict(X[[11]])[0, item]
    np.testing.assert_allclose(table["share"].sum() + table["base"][0], score)
    base = vector @ np.linalg.solve(precision, np.linalg.solve(prior, prior_mean))
    base += model.global_mean_ + model.item_biases_[item]
    assert table["base"][0] == pytest.approx(base, rel=1e-6)
    assert (np.diff(table["share"]) <= 0).all()


def test_shares_of_clicks_are_those_of_the_normal_equations():
    X = interactions_matrix(TABLE.row, TABLE.col, TABLE.data)
    model = ImplicitFactorization(5, max_iter=40, random_state=0, tol=1)
    model.set_params(pair_weight=np.sqrt, pair_target=np.log1p).fit(X)
    table, w0 = model.explain(11, 5), model.zero_weight_
    (row,) = X.users([11]).toarray()
    means = model.components_.T
    second = model.item_covariances_ + means[:, :, None] * means[:, None, :]
    weight = np.where(row > 0, np.sqrt(row), w0)
    prior_mean, prior = model.user_prior_
    noise = model.noise_variance_
    precision = np.linalg.inv(prior) + np.tensordot(weight, second, 1) / noise
    direction = np.linalg.solve(precision, means[5])
    expected = np.sqrt(row) * np.log1p(row) * (means @ direction) / noise
    found = table.set_index("item")
    np.testing.assert_allclose(
        found["share"], expected[found.index], rtol=1e-6, atol=1e-9
    )
    np.testing.assert_allclose(found["weight"], np.sqrt(row[found.index]))
    np.testing.assert_allclose(found["target"], np.log1p(row[found.index]))
    base = direction @ np.linalg.solve(prior, prior_mean)
    assert table["base"][0] == pytest.approx(base, rel=1e-5, abs=1e-8)
    score = model.predict(X.users([11]))[0, 5]
    np.testing.assert_allclose(table["share"].sum() + table["base"][0], score)


def test_one_user_is_explained_at_a_time(fitted):
    with pytest.raises(ValueError, match="Expected one user, got 2"):
        fitted.model.explain(fitted.X[:2], "f1")


def test_similar_items_point_the_same_way(fitted):
    table = fitted.model.similar_items(["f8", "f2"], n_items=59)
    factors = fitted.model.components_.T
    factors = factors / np.linalg.norm(factors, axis=1, keepdims=True)
    labels = fitted.model.item_labels_.tolist()
    for name, part in table.groupby("item"):
        cosines = factors @ factors[labels.index(name)]
        assert name not in part["similar"].tolist() and len(part) == 59
        own = [cosines[labels.index(other)] for other in part["similar"]]
        np.testing.assert_allclose(part["similarity"], own, atol=1e-12)
        assert (np.diff(part["similarity"]) <= 0).all()
    second = table["similar"].iloc[0]
    fewer = fitted.model.similar_items(["f8", "f2"], n_items=59, exclude=[second])
    expected = table[table["similar"] != second]
    assert fewer[["item", "similar"]].values.tolist() == (
        expected[["item", "similar"]].values.tolist()
    )


def test_similar_users_point_the_same_way(fitted):
    model = fitted.model
    factors = model.user_factors_
    factors = factors / np.linalg.norm(factors, axis=1, keepdims=True)
    labels, own = model.user_labels_.tolist(), [3, 11]
    names = [labels[row] for row in own]
    table = model.similar_users(names, n_users=10**9)
    assert list(table.columns) == ["user", "similar", "rank", "similarity"]
    for name, row in zip(names, own, strict=True):
        part = table[table["user"] == name]
        places = list(map(labels.index, part["similar"]))
        assert set(places) == set(range(len(labels))) - {row}
        cosines = factors[places] @ factors[row]
        np.testing.assert_allclose(part["similarity"], cosines, atol=1e-12)
        assert (np.diff(part["similarity"]) <= 0).all()
    # rows of data are other users, even if the model has seen them
    rows = model.similar_users(fitted.X[own], n_users=1)
    assert rows["similar"].tolist() == names
    assert model.similar_users(names[0], 3, output="polars").shape == (3, 4)
    with pytest.raises(ValueError, match="Unknown user: 'joe'"):
        model.similar_users("joe")
    with pytest.raises(ValueError, match="n_users"):
        model.similar_users(names, n_users=0)


# -- copies for serving ----------------------------------------------------------------


def test_posteriors_are_cached(fitted, monkeypatch):
    model = pickle.loads(pickle.dumps(fitted.model))
    model.recommend(["u1"]), model.transform(fitted.X[:1]), model.similar_items(["f1"])
    components, users = model.components_, model.user_factors_
    made = fitted_model(model)
    for name in ("gaussians", "items"):
        inner = getattr(type(made), name)

        def counting(self, *args, inner=inner, **options):
            rows = args[0].shape if hasattr(args[0], "shape") else (10**6,)
            assert 60 not in rows and 150 not in rows
            return inner(self, *args, **options)

        monkeypatch.setattr(type(made), name, counting)
    np.testing.assert_array_equal(model.components_, components)
    assert np.shares_memory(model.components_, components)
    assert np.shares_memory(model.user_factors_, users)
    (
        model.transform(fitted.X[:1]),
        model.recommend(fitted.X[:1]),
        model.recommend(["u1"]),
    )
    model.similar_items(["f1"]), model.explain("u1", "f1")


def test_cached_values_are_those_of_the_last_fit(fitted):
    model = type(fitted.model)(**fitted.model.get_params()).fit(fitted.X)
    before, first = model.components_.copy(), model.recommend(["u1"])
    model.set_params(random_state=1, n_components=2).fit(fitted.X[:, :].copy()[::-1])
    assert model.components_.shape == (2, 60) and before.shape[0] > 2
    assert model.user_labels_[0] == fitted.X.user_labels[-1]
    again = pickle.loads(pickle.dumps(model)).recommend(["u1"])
    pd.testing.assert_frame_equal(again, model.recommend(["u1"]))
    assert not again["score"].equals(first["score"])
    stale = model.components_
    model.partial_fit(sparse.csr_array(fitted.X))
    assert model.item_labels_[0] == "f0" and model.user_labels_ is None
    assert not np.array_equal(stale, model.components_)
    model.fit(sparse.csr_array(fitted.X[:, :50]))  # another fit, without labels
    assert model.item_labels_ is None and model.user_labels_ is None
    assert model.recommend([3])["item"].max() < 50
    with pytest.raises(ValueError, match="no labels of users"):
        model.recommend(["u3"])


def test_a_model_that_serves_is_mapped(fitted, tmp_path):
    path = str(tmp_path / "model.joblib")
    joblib.dump(fitted.model.for_serving(), path)
    served = joblib.load(path, mmap_mode="r")
    values = served._cached_values()
    assert isinstance(values["item_vectors"], np.memmap)
    assert isinstance(values["prepared"].items.table, np.memmap)
    model = fitted.model
    pd.testing.assert_frame_equal(served.recommend(["u7"]), model.recommend(["u7"]))
    pd.testing.assert_frame_equal(served.explain("u7", "f3"), model.explain("u7", "f3"))
    np.testing.assert_array_equal(served.transform(fitted.X), model.transform(fitted.X))
    for ours, theirs in zip(
        served.recommend(fitted.X), model.recommend(fitted.X), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    # the pickle of an estimator is smaller than that of its copy for serving
    assert len(pickle.dumps(model)) < len(pickle.dumps(served))
    served.partial_fit(fitted.X)
    assert len(pickle.dumps(served)) > 0
    del served, values


def test_values_for_serving_are_checked(fitted):
    served = fitted.model.for_serving()
    pickle.loads(pickle.dumps(served))
    values = served._cached_values()
    intact = values["prepared"]
    for table in (intact.items.table[:, 1:], intact.items.table.astype(np.float16)):
        values["prepared"] = intact._replace(items=intact.items._replace(table=table))
        with pytest.raises(ValueError, match="cannot be loaded"):
            pickle.loads(pickle.dumps(served))
    hyper = intact.hyper._replace(noise_variance=np.nan)
    values["prepared"] = intact._replace(hyper=hyper)
    with pytest.raises(ValueError, match="cannot be loaded"):
        pickle.loads(pickle.dumps(served))
    values["prepared"] = intact
    model = pickle.loads(pickle.dumps(fitted.model))
    entries = model._entries_
    for damaged in (
        None,
        entries._replace(starts=entries.starts[1:]),
        entries._replace(items=entries.items + np.int32(1000)),
        entries._replace(starts=entries.starts[::-1]),
        entries._replace(items=entries.items.astype(np.int64)),
        entries._replace(values=entries.values[1:]),
    ):
        model._entries_ = damaged
        with pytest.raises(ValueError, match="cannot be loaded"):
            pickle.loads(pickle.dumps(model))


def with_one(array, value):
    array = array.copy()
    array.flat[-1] = value
    return array


@pytest.mark.parametrize(
    "damage",
    [
        lambda array: None,
        lambda array: array.tolist(),
        lambda array: with_one(array, np.nan),
        lambda array: array.astype(np.float16),
        lambda array: array[:, :-1],
        lambda array: array[1:],
        lambda array: array[None],
        np.asfortranarray,
    ],
    ids="none list nan half narrow short 3d fortran".split(),
)
@pytest.mark.parametrize("name", ["item_vectors", "user_vectors", "directions"])
def test_arrays_for_serving_are_complete_and_finite(fitted, name, damage):
    served = fitted.model.for_serving()
    values = served._cached_values()
    if name not in values:
        pytest.skip("this model keeps no such array")
    intact = values[name]
    try:
        values[name] = damage(intact)
        if name == "directions" and np.shape(values[name])[1:] == (
            intact.shape[1] - 1,
        ):
            return  # any number of columns is accepted
        with pytest.raises(ValueError, match="arrays for serving are damaged"):
            pickle.loads(pickle.dumps(served))
        for others in {}, {"item_vectors": intact}:
            state = served.__getstate__() | {"_served": others or [1]}
            with pytest.raises(ValueError, match="damaged"):
                object.__new__(type(served)).__setstate__(state)
    finally:
        values[name] = intact


def test_the_order_by_popularity_is_a_permutation(fitted):
    served = fitted.model.for_serving()
    if not hasattr(served, "item_popularity_"):
        pytest.skip("nothing is ranked by popularity")
    served.recommend(["u1"])
    values = served._cached_values()
    assert {"log_shares", "most_popular"} <= set(values)
    for name, damaged in (
        ("most_popular", values["most_popular"] * 0),
        ("most_popular", values["most_popular"] + 1),
        ("most_popular", values["most_popular"].astype(float)),
        ("log_shares", with_one(values["log_shares"], np.nan)),
        ("log_shares", values["log_shares"][1:]),
    ):
        intact, values[name] = values[name], damaged
        with pytest.raises(ValueError, match="arrays for serving are damaged"):
            pickle.loads(pickle.dumps(served))
        values[name] = intact
    pickle.loads(pickle.dumps(served)).recommend(["u1"])


@pytest.mark.every(2)
def test_threads_share_a_model(fitted):
    model = pickle.loads(pickle.dumps(fitted.model))  # its cache is empty
    X, labels = fitted.X, fitted.X.user_labels

    def ask(number):
        rows = slice(number, number + 3)
        return (
            model.recommend(labels[rows], n_items=3),
            model.recommend(X[rows], n_items=3)[0],
            model.transform(X[rows]),
            model.components_.sum(),
        )

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(24)))
    for number, (table, items, factors, total) in enumerate(found):
        expected = ask(number)
        pd.testing.assert_frame_equal(table, expected[0])
        np.testing.assert_array_equal(items, expected[1])
        np.testing.assert_array_equal(factors, expected[2])
        assert total == expected[3]


@pytest.mark.parametrize("error", [KeyboardInterrupt, Broken, None])
def test_an_interruption_of_a_search_ends_its_threads(monkeypatch, error):
    """None is Ctrl-C while tasks are submitted."""
    pools, begun, late, stop = [], [], [], np.zeros(1, dtype=np.intc)

    class Pool(_tasks.Pool):
        def submit(self, task):
            super().submit(task)
            pools.append(self)
            if error is None and len(pools) == 2:
                raise KeyboardInterrupt

    def find(piece):
        begun.append(piece)
        if piece == 1 and error is Broken:
            raise Broken
        if piece == 1 and error is KeyboardInterrupt:
            press_ctrl_c()
        end = time.monotonic() + 5.0
        while piece and not stop[0] and time.monotonic() < end:
            time.sleep(1e-3)  # releases the lock, as kernels do
        late.extend([piece] * (piece > 0 and not stop[0]))

    monkeypatch.setattr(_tasks, "Pool", Pool)
    with pytest.raises(error or KeyboardInterrupt):
        _best._for_each(find, range(8), 2, stop)
    assert stop[0] and not late
    assert len(begun) < 8 and not pools[0]._alive

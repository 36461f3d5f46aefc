"""Labels of users and items in matrices, data frames, fits and messages."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from sktemper import ImplicitFactorization, TemperedMatrixFactorization
from sktemper.datasets import interactions_matrix, make_ratings, ratings_matrix
from sktemper.metrics import make_ranking_scorer, precision_at_k, ranking_report
from sktemper.model_selection import train_test_split_entries

pd = pytest.importorskip("pandas")

TABLE = make_ratings(90, 40, n_ratings=1500, n_stars=5, random_state=0).tocoo()
# labels that differ from the indices of rows and columns
FRAME = pd.DataFrame(
    {"user": TABLE.row + 1, "item": TABLE.col + 101, "stars": TABLE.data}
)


@pytest.fixture(scope="module")
def X():
    return interactions_matrix(FRAME["user"], FRAME["item"])


@pytest.fixture(scope="module")
def model(X):
    return ImplicitFactorization(4, max_iter=30, tol=1, random_state=0).fit(X)


def test_labels_of_a_wide_data_frame_are_its_index_and_columns():
    wide = FRAME.pivot(index="user", columns="item", values="stars")
    X, *_ = ratings_matrix(FRAME["user"], FRAME["item"], FRAME["stars"])
    short = {"max_iter": 15, "random_state": 0}
    by_table = TemperedMatrixFactorization(3, **short).fit(X)
    model = TemperedMatrixFactorization(3, **short).fit(wide)
    np.testing.assert_array_equal(model.user_labels_, wide.index)
    np.testing.assert_array_equal(model.item_labels_, wide.columns)
    best = model.recommend([1, 7], n_items=3)
    assert (
        best["item"].tolist() == by_table.recommend([1, 7], n_items=3)["item"].tolist()
    )
    rows = model.recommend(wide[6:8], n_items=2, output="pandas")
    assert rows["user"].unique().tolist() == [7, 8]
    with pytest.raises(ValueError, match="reordered|different order"):
        model.predict(wide[wide.columns[::-1]])
    # indices of rows and columns do not count as labels
    plain = TemperedMatrixFactorization(3, **short).fit(pd.DataFrame(wide.values))
    assert plain.user_labels_ is None and plain.item_labels_ is None
    with pytest.raises(ValueError, match="users occur twice.*: 1, 2"):
        model.fit(pd.concat([wide, wide])).recommend([1])


@pytest.mark.parametrize(
    "method", ["transform", "predict", "score", "score_samples", "recommend"]
)
def test_items_in_another_order_are_refused_wherever_rows_are_read(model, X, method):
    other = interactions_matrix(
        FRAME["user"], FRAME["item"], item_labels=X.item_labels[::-1]
    )
    with pytest.raises(ValueError, match="reordered: make it with item_labels="):
        getattr(model, method)(other)
    few = X[:, :7]
    with pytest.raises(ValueError, match="7 features, .* expecting 40 .* item_labels="):
        getattr(model, method)(few)
    assert len(getattr(model, method)(X[:5]) if method != "score" else "s")


def test_labels_are_kept_by_arithmetic_and_selection(X):
    mean = X.data.mean()
    for other in (X / mean, X * 2, 2 * X, X.log1p(), X.power(0.5), X > 0, abs(X)):
        np.testing.assert_array_equal(other.user_labels, X.user_labels)
        np.testing.assert_array_equal(other.item_labels, X.item_labels)
    dense = X.toarray()
    popular = np.asarray(X.sum(axis=0)).ravel() > 40
    busy = np.asarray(X.sum(axis=1)).ravel() > 15
    for part, rows, columns in (
        (X[:, popular], slice(None), popular),
        (X[busy][:, popular], busy, popular),
        (X[busy, 3:9], busy, slice(3, 9)),
        (X[..., [5, 2]], slice(None), [5, 2]),
        (X[np.ix_([3, 1], [5, 2])], [3, 1], [5, 2]),
        (X[4, [5, 2]], [4], [5, 2]),
        (X.copy()[1:2].astype(np.float32), slice(1, 2), slice(None)),
        (pickle.loads(pickle.dumps(X))[:2], slice(2), slice(None)),
    ):
        np.testing.assert_array_equal(part.user_labels, X.user_labels[rows])
        np.testing.assert_array_equal(part.item_labels, X.item_labels[columns])
        np.testing.assert_array_equal(part.toarray(), dense[rows][:, columns])
    assert X[[1, 2], [3, 4]].shape[0] == 1  # pairs of indices: entries without labels
    assert getattr(X[[1, 2], [3, 4]], "user_labels", None) is None
    assert sparse.csr_array(X).shape == X.shape and X[0, 0] == dense[0, 0]


def test_a_single_name_needs_no_list(model):
    assert model.recommend(7, n_items=2).equals(model.recommend([7], n_items=2))
    assert model.recommend(np.int64(7), n_items=2)["user"].tolist() == [7, 7]
    with pytest.raises(
        ValueError, match="user: '7'. Labels of users .* int, such as 1"
    ):
        model.recommend(["7"])
    with pytest.raises(ValueError, match="item: 'a'. Labels of items .* such as 101"):
        model.similar_items("a")
    with pytest.raises(ValueError, match=r"Unknown user: 700\. The model knows"):
        model.recommend(700)
    with pytest.raises(ValueError, match="not in item_labels: 1, 2, .* 10 and 2 more"):
        interactions_matrix(
            np.zeros(12, int), np.arange(1, 13), item_labels=model.item_labels_
        )


def test_rankings_are_of_the_same_users_and_items(model, X):
    X_train, X_test = train_test_split_entries(X, test_size=0.3, random_state=0)
    assert 0 < ranking_report(model, X_test, X_seen=X_train)["ndcg@100"] < 1
    lines = X_test.tocoo()
    table = X.user_labels[lines.row], X.item_labels[lines.col]
    labels = {"user_labels": X.user_labels, "item_labels": X.item_labels}
    again = interactions_matrix(*table, **labels)
    assert precision_at_k(model, again, X_seen=X_train) == precision_at_k(
        model, X_test, X_seen=X_train
    )
    for name, what in (("user_labels", "users"), ("item_labels", "items")):
        other = interactions_matrix(*table, **labels | {name: labels[name][::-1]})
        message = f"other {what} than X_seen, or .* order: make X_test with user_labels"
        with pytest.raises(ValueError, match=message):
            ranking_report(model, other, X_seen=X_train)
    few = interactions_matrix(table[0][:50], table[1][:50])
    with pytest.raises(ValueError, match="other users than X_seen: make X_test with"):
        ranking_report(model, few, X_seen=X_train)


def test_errors_for_users_of_earlier_chunks_name_a_remedy(X):
    model = ImplicitFactorization(4, random_state=0)
    model.partial_fit(X[:50]).partial_fit(X[50:])
    assert model.recommend(60, n_items=1)["user"].tolist() == [60]
    with pytest.raises(
        ValueError, match="user: 7. The model .* last fit or partial_fit"
    ):
        model.recommend(7)
    assert model.recommend(X.users([7]), n_items=1, output="pandas")["user"][0] == 7


def test_sets_and_iterators_of_names(model):
    best = model.recommend([7], n_items=2)
    assert model.recommend({7}, n_items=2).equals(best)
    assert model.recommend({7: "x"}.keys(), n_items=2).equals(best)
    assert model.recommend(iter([7]), n_items=2).equals(best)
    first = best["item"].tolist()[0]
    for barred in ({first}, [first], first, iter([first])):
        assert first not in set(model.recommend(7, n_items=40, exclude=barred)["item"])
    assert model.similar_items({first}, n_items=1)["item"].tolist() == [first]


def test_zeros_of_a_dense_table_of_clicks_are_none(X):
    dense = X.toarray()
    X_train, X_test = train_test_split_entries(dense, test_size=0.3, random_state=0)
    expected = train_test_split_entries(X, test_size=0.3, random_state=0)
    for found, of_sparse in zip((X_train, X_test), expected, strict=True):
        np.testing.assert_array_equal(found.toarray(), of_sparse.toarray())
        assert found.nnz == of_sparse.nnz
    model = ImplicitFactorization(3, max_iter=30, tol=1, random_state=0).fit(dense)
    for data in (dense, sparse.csr_array(dense)):
        score = make_ranking_scorer("ndcg@5")(model, data)
        assert score == make_ranking_scorer("ndcg@5")(model, X)
        assert 0 < score < 1
    # a rating of 0 is a rating if missing ratings are NaN
    ratings = np.array([[0.0, np.nan, 1], [2, 0, 3]])
    parts = train_test_split_entries(ratings, test_size=1, random_state=0)
    assert sum(part.nnz for part in parts) == 5


@pytest.fixture(scope="module")
def rated():
    """Return a model of labelled ratings."""
    X, *_ = ratings_matrix(FRAME["user"], FRAME["item"], FRAME["stars"])
    return TemperedMatrixFactorization(2, max_iter=20, random_state=0).fit(X)


def test_the_parameter_clip_is_validated(rated):
    for clip in (5, (1,), (5, 1), "15", (1, None)):
        with pytest.raises(ValueError, match=r"clip must be the two ends .* \(1, 5\)"):
            rated.recommend([1], clip=clip)


@pytest.fixture(scope="module")
def from_zero():
    """Return a model of users and items whose labels are integers from 0 on."""
    X = interactions_matrix(TABLE.row, TABLE.col)
    return ImplicitFactorization(4, max_iter=30, tol=1, random_state=0).fit(X)


@pytest.mark.parametrize("labels", [np.arange(40) < 5, [True, False], True, [True, 2]])
def test_masks_are_no_labels(from_zero, labels):
    message = r"must be labels, not True and False.* labels\[mask\]"
    with pytest.raises(ValueError, match=f"items {message}"):
        from_zero.recommend([7], exclude=labels)
    with pytest.raises(ValueError, match=f"items {message}"):
        from_zero.similar_items(labels)
    with pytest.raises(ValueError, match=f"users {message}"):
        from_zero.recommend(labels)
    with pytest.raises(ValueError, match="users must be labels"):
        from_zero.explain(True, 3)


def test_boolean_labels_are_accepted():
    X = interactions_matrix(TABLE.row % 2 == 0, TABLE.col)
    assert X.users([True]).user_labels.tolist() == [True]
    assert X.users([True]).sum() == (TABLE.row % 2 == 0).sum()


def test_masked_labels_are_refused(from_zero):
    masked = np.ma.masked_array([1, 2], [True, False])
    model = from_zero
    ask = model.recommend, model.item_scores, model.similar_items, model.similar_users
    for method in (*ask, lambda items: from_zero.recommend([3], exclude=items)):
        with pytest.raises(TypeError, match="masked"):
            method(masked)
    unmasked = np.ma.masked_array([1, 2], [False, False])
    assert set(from_zero.recommend(unmasked)["user"]) == {1, 2}


def test_only_whole_rows_and_columns_keep_labels(X):
    rows, columns = np.array([3, 8, 5]), np.array([7, 2])
    grid = X[rows[:, None], columns]
    np.testing.assert_array_equal(grid.toarray(), X.toarray()[np.ix_(rows, columns)])
    assert grid.user_labels.tolist() == X.user_labels[rows].tolist()
    assert grid.item_labels.tolist() == X.item_labels[columns].tolist()
    # the same entries, but users are now columns
    turned = X[[3, 8], columns[:, None]]
    np.testing.assert_array_equal(turned.toarray(), grid[:2].toarray().T)
    assert turned.user_labels is None
    assert turned.item_labels is None


def test_labels_of_a_resized_matrix(X):
    X = X.copy()
    X.resize(X.shape[0] - 3, X.shape[1])
    assert X.user_labels is None
    assert len(X.item_labels) == X.shape[1]
    X.user_labels = np.arange(5)
    with pytest.raises(ValueError, match=r"user_labels of X has the shape \(5,\)"):
        TemperedMatrixFactorization(2).fit(X)


def test_columns_by_number_in_another_order_are_refused():
    frame = pd.DataFrame(TABLE.toarray()).replace(0, np.nan)
    model = TemperedMatrixFactorization(2, random_state=0).fit(frame)
    assert model.item_labels_ is None
    expected = model.predict(frame)
    np.testing.assert_array_equal(model.predict(frame.to_numpy()), expected)
    for ask in (model.predict, model.recommend, model.partial_fit):
        with pytest.raises(ValueError, match=r"a different order: pass X\.sort_index"):
            ask(frame[frame.columns[::-1]])
        ask(frame[frame.columns[::-1]].sort_index(axis=1))


def test_pairs_by_name_are_in_their_order(rated):
    frame = pd.DataFrame({"user": [3, 4], "item": [5, 6]})
    expected = rated.predict_pairs([[3, 5], [4, 6]], by_position=True)
    found = rated.predict_pairs(frame, by_position=True)
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="has the columns item, user; expected user"):
        rated.predict_pairs(frame[["item", "user"]])
    with pytest.raises(TypeError, match="pairs is a masked array"):
        rated.predict_pairs(np.ma.masked_array([[3, 5]], [[True, False]]))


def test_scores_of_users_without_held_out_ratings_are_floats(rated):
    one = sparse.csr_array(([3.0], ([0], [2])), shape=(1, 40))
    for rows in (one, one * 2):
        assert rated.score_samples(rows).dtype == np.float64

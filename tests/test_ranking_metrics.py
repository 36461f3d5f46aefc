"""Ranking metrics, compared with averages over all orders of ties; splits of data."""

import itertools
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import ndcg_score
from sklearn.model_selection import GridSearchCV

from sktemper import TemperedMatrixFactorization
from sktemper.datasets import interactions_matrix, make_ratings
from sktemper.metrics import (
    _ranking,
    make_ranking_scorer,
    ndcg_at_k,
    precision_at_k,
    ranking_report,
    ranking_scorer,
    recall_at_k,
)
from sktemper.model_selection import train_test_split_entries

MEASURES = {"precision": precision_at_k, "recall": recall_at_k, "ndcg": ndcg_at_k}


def of_one_order(order, relevant, k):
    """Return precision, recall and nDCG of one order, by their definitions."""
    hits = [item in relevant for item in order[:k]]
    gain = sum(hit / np.log2(2 + place) for place, hit in enumerate(hits))
    most = min(k, len(relevant))
    best = sum(1 / np.log2(2 + place) for place in range(most))
    return {"precision": sum(hits) / k, "recall": sum(hits) / most, "ndcg": gain / best}


def brute_force(scores, relevant, seen, k):
    """Return the means of the measures over all orders of tied scores."""
    candidates = [i for i in range(len(scores)) if i not in seen]
    groups = [
        [i for i in candidates if scores[i] == value]
        for value in sorted({scores[i] for i in candidates}, reverse=True)
    ]
    orders = itertools.product(*map(itertools.permutations, groups))
    found = [of_one_order(sum(order, ()), relevant, k) for order in orders]
    return {name: np.mean([one[name] for one in found]) for name in MEASURES}


def drawn(seed, n_users=12, n_items=7, levels=4):
    random = np.random.default_rng(seed)
    scores = random.integers(0, levels, (n_users, n_items)).astype(float)
    held_out = random.random((n_users, n_items)) < 0.35
    seen = (random.random((n_users, n_items)) < 0.25) & ~held_out
    return scores, held_out, seen


@pytest.mark.every(5)
@pytest.mark.filterwarnings("ignore:k=.* shows all of the 7 items")
@pytest.mark.parametrize("k", [1, 2, 3, 5, 7, 20])
@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("budget", [2**22, 15])
def test_measures_equal_brute_force(name, k, budget, monkeypatch):
    monkeypatch.setattr(_ranking, "VALUES_AT_ONCE", budget)
    for seed in range(3):
        scores, held_out, seen = drawn(seed)
        values = MEASURES[name](
            scores,
            sparse.csr_array(held_out.astype(float)),
            X_seen=sparse.csr_array(seen.astype(float)),
            k=k,
            per_user=True,
        )
        for row, value in enumerate(values):
            relevant = set(np.flatnonzero(held_out[row]))
            if not relevant:
                assert np.isnan(value)
                continue
            expected = brute_force(
                scores[row], relevant, set(np.flatnonzero(seen[row])), k
            )
            assert value == pytest.approx(expected[name], abs=1e-12)


def test_ndcg_equals_that_of_scikit_learn():
    random = np.random.default_rng(0)
    scores = random.integers(0, 5, (30, 40)).astype(np.float32)
    held_out = random.random((30, 40)) < 0.2
    held_out[:, 0] = True
    for k in (1, 5, 40):
        assert ndcg_at_k(scores, held_out, k=k) == pytest.approx(
            ndcg_score(held_out, scores, k=k), abs=1e-6
        )


def test_users_without_relevant_items_are_left_out_and_counted():
    X_test = sparse.csr_array([[0, 1, 0], [0, 0, 0], [1, 0, 0]])
    seen = sparse.csr_array([[0, 0, 0], [0, 0, 1], [1, 0, 0]])
    scores = np.array([[3.0, 2, 1]] * 3)
    report = ranking_report(scores, X_test, measures=["precision@1", "ndcg@3"])
    assert (report["n_users"], report["n_left_out"]) == (2, 1)
    assert report["precision@1"] == 0.5
    # items that a user has seen are neither candidates nor relevant
    report = ranking_report(scores, X_test, X_seen=seen, measures=["ndcg@3"])
    assert (report["n_users"], report["n_left_out"]) == (1, 2)
    with pytest.raises(ValueError, match="No user has a relevant item"):
        ndcg_at_k(scores, X_test, X_seen=X_test)
    with pytest.raises(ValueError, match="No user has a relevant item"):
        ndcg_at_k(scores, sparse.csr_array((3, 3)))


def test_highly_rated_items_are_relevant():
    ratings = sparse.csr_array([[5.0, 3.0, 4.0, 0.0]])
    scores = [[1.0, 4.0, 3.0, 2.0]]
    assert precision_at_k(scores, ratings, k=2) == 1.0
    assert precision_at_k(scores, ratings, k=2, relevant=4) == 0.5
    assert recall_at_k(scores, ratings.toarray(), k=2, relevant=4) == 0.5
    explicit = sparse.csr_array(([0.0], ([0], [1])), shape=(1, 4))
    assert precision_at_k(scores, explicit, k=1) == 1.0  # a rating of 0 is a rating


def test_estimators_and_callables_are_called_for_few_users_at_a_time(monkeypatch):
    X = make_ratings(60, 30, n_ratings=600, random_state=0)
    X_train, X_test = train_test_split_entries(X, random_state=0)
    model = TemperedMatrixFactorization(3, max_iter=5, random_state=0).fit(X_train)
    whole = model.item_scores(X_train)
    expected = ndcg_at_k(whole, X_test, X_seen=X_train)
    monkeypatch.setattr(_ranking, "VALUES_AT_ONCE", 100)
    sizes = []

    def scores(rows):
        sizes.append(rows.shape[0])
        return model.item_scores(rows)

    assert ndcg_at_k(scores, X_test, X_seen=X_train) == expected
    assert max(sizes) == 3 and sum(sizes) == 60
    assert ndcg_at_k(model, X_test, X_seen=X_train) == expected
    with pytest.raises(ValueError, match="needs X_seen"):
        ndcg_at_k(model, X_test)


@pytest.mark.filterwarnings("ignore:k=3 shows all of the 3 items")
def test_bad_input_is_refused():
    X_test = sparse.csr_array([[0, 1, 0]])
    with pytest.raises(ValueError, match="NaN"):
        ndcg_at_k([[1.0, np.nan, 0]], X_test)
    with pytest.raises(ValueError, match=r"scores has shape \(1, 2\)"):
        ndcg_at_k([[1.0, 2.0]], X_test)
    with pytest.raises(ValueError, match=r"X_seen has shape \(2, 3\)"):
        ndcg_at_k([[1.0, 2.0, 3.0]], X_test, X_seen=sparse.csr_array((2, 3)))
    with pytest.raises(ValueError, match="'k' parameter"):
        ndcg_at_k([[1.0, 2.0, 3.0]], X_test, k=0)
    for bad in ("ndcg", "ndcg@0", "auc@10", "ndcg@x"):
        with pytest.raises(ValueError, match="is no measure"):
            ranking_report([[1.0, 2.0, 3.0]], X_test, measures=[bad])
        with pytest.raises(ValueError, match="is no measure"):
            make_ranking_scorer(bad)
    with pytest.raises(ValueError, match="scores of 1 users have shape"):
        ndcg_at_k(
            lambda X: np.ones((1, 2)), X_test, X_seen=sparse.csr_array([[1, 0, 0]])
        )
    # an item with the score -inf is the last candidate; it does not count as seen
    assert (
        precision_at_k([[-np.inf, 2, 1]], sparse.csr_array([[1, 0, 0]]), k=3) == 1 / 3
    )


# -- splits ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{}, {"per": "all"}, {"test_size": 2}, {"test_size": "half"}]
)
def test_splits_share_out_the_entries(options):
    X = make_ratings(80, 40, n_ratings=1200, random_state=0)
    X.data[::7] = 0  # stored ratings of 0
    train, test = train_test_split_entries(X, random_state=3, **options)
    assert train.nnz + test.nnz == X.nnz
    np.testing.assert_array_equal((train + test).toarray(), X.toarray())
    assert not set(zip(*train.nonzero(), strict=True)) & set(
        zip(*test.nonzero(), strict=True)
    )
    again, _ = train_test_split_entries(X, random_state=3, **options)
    np.testing.assert_array_equal(again.indices, train.indices)
    counts, held_out = np.diff(X.indptr), np.diff(test.indptr)
    if options.get("test_size") == 2:
        np.testing.assert_array_equal(
            held_out, np.minimum(2, np.maximum(counts - 1, 0))
        )
    elif options.get("test_size") == "half":
        np.testing.assert_array_equal(held_out, counts // 2)
    else:
        assert test.nnz / X.nnz == pytest.approx(0.1, abs=0.02)
        if not options:
            assert (np.abs(held_out - 0.1 * counts) <= 1).all()


def test_each_entry_is_as_likely_to_be_held_out():
    X = sparse.csr_array(np.ones((4000, 5)))
    for options in ({"test_size": 1}, {"test_size": 0.3}):
        _, test = train_test_split_entries(X, random_state=0, **options)
        shares = test.sum(axis=0) / 4000
        expected = 0.2 if options["test_size"] == 1 else 0.3
        np.testing.assert_allclose(shares, expected, atol=0.03)


def test_splits_keep_labels_and_dense_ratings():
    X = interactions_matrix(list("aabbb"), list("xyxyz"))
    for part in train_test_split_entries(X, test_size=1, random_state=0):
        assert part.user_labels.tolist() == ["a", "b"]
        assert part.item_labels.tolist() == ["x", "y", "z"]
        assert part.users(["b"]).shape == (1, 3)
    train, test = train_test_split_entries([[1.0, np.nan, 0.0]], test_size=1)
    assert train.nnz == test.nnz == 1
    with pytest.raises(ValueError, match="Nothing is held out"):
        train_test_split_entries(sparse.csr_array(np.eye(3)))


def test_a_grid_search_ranks():
    X = make_ratings(150, 40, n_ratings=2000, noise_variance=0.1, random_state=0)
    scorer = make_ranking_scorer("precision@5", relevant=4)
    assert repr(pickle.loads(pickle.dumps(scorer))) == repr(scorer)
    assert repr(ranking_scorer) == repr(make_ranking_scorer())
    search = GridSearchCV(
        TemperedMatrixFactorization(max_iter=10, random_state=0),
        {"n_components": [1, 4]},
        scoring=scorer,
        cv=2,
    ).fit(X)
    seen, test = train_test_split_entries(X[:75], test_size="half")
    model = TemperedMatrixFactorization(4, max_iter=10, random_state=0).fit(X[75:])
    expected = precision_at_k(model, test, k=5, X_seen=seen, relevant=4)
    assert search.cv_results_["split0_test_score"][1] == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:k=.* shows all")
def test_lists_that_are_longer_than_there_are_items():
    random = np.random.default_rng(0)
    scores, X_test = random.normal(size=(30, 20)), random.random((30, 20)) < 0.2
    for k in (21, 10**9, 10**30):  # too large for arrays of k positions
        for measure in (ndcg_at_k, recall_at_k):
            assert measure(scores, X_test, k=k) == measure(scores, X_test, k=20)
        found = precision_at_k(scores, X_test, k=k)
        assert found == pytest.approx(X_test.sum(axis=1).mean() / k)


def test_masked_scores_are_refused():
    scores = np.ma.masked_less(np.arange(6.0).reshape(2, 3), 2)
    with pytest.raises(TypeError, match="scores is a masked array"):
        ndcg_at_k(scores, np.eye(2, 3), k=1)

"""Fits of LDA in which documents with the same covariates share a prior."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from fits import PressingAt
from scipy import sparse
from scipy.optimize import linear_sum_assignment, minimize_scalar
from scipy.special import gammaln, psi
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sktemper import AnnealedLDA, SVIPlusLDA, TemperedLDA
from sktemper.inspection import topic_consensus
from sktemper.lda._cells import (
    best_precision,
    priors_of_cells,
    shares_of_cells,
    stepped,
    sums_of_shares,
)
from sktemper.lda._model import LDAModel, Topics
from sktemper.learning_rates import ConstantRate
from sktemper.model import Powers, Request

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
N_CELLS = 4


def documents(n_samples=800, length=20, n_topics=6, seed=0, n_features=120):
    """Return counts, cells, shares of the cells, and topics."""
    random = np.random.default_rng(seed)
    topics = random.dirichlet(np.full(n_features, 0.05), n_topics)
    shares = random.dirichlet(np.ones(n_topics), N_CELLS)
    cells = random.integers(N_CELLS, size=n_samples)
    theta = np.stack([random.dirichlet(0.4 * shares[c] + 1e-3) for c in cells])
    X = np.stack([random.multinomial(length, t @ topics) for t in theta])
    return sparse.csr_array(X), cells, shares, topics


def digamma_mean(parameters):
    return psi(parameters) - psi(parameters.sum(axis=-1, keepdims=True))


def best_by_search(counts, mean, highest=9):
    """Return the result of a search for the log precision of most likelihood."""

    def loss(log_a):
        a, sizes = np.exp(log_a), counts.sum(axis=1)
        each = gammaln(a * mean + counts) - gammaln(a * mean)
        return -(each.sum() + (gammaln(a) - gammaln(a + sizes)).sum())

    return minimize_scalar(loss, bounds=(-4, highest), method="bounded")


def reference(X, cells, weights, start, alpha, eta, n_passes, rate):
    """Return lambda and priors after steps on all documents, one document at a time."""
    topics, K = start.copy(), len(start)
    sums, priors = np.zeros((N_CELLS, K)), np.full((N_CELLS, K), alpha)
    squares = np.zeros(2)
    for _ in range(n_passes):
        new, statistics = np.zeros((N_CELLS, K)), np.zeros_like(topics)
        new_squares = np.zeros(2)
        for x, c, w in zip(X, cells, weights, strict=True):
            gamma = np.ones(K)
            for _ in range(300):
                logs = digamma_mean(gamma)[:, None] + digamma_mean(topics)
                phi = np.exp(logs - logs.max(axis=0))
                phi /= phi.sum(axis=0)
                gamma = priors[c] + phi @ x
            statistics += w * phi * x
            share = phi @ x / (K * alpha + x.sum())
            new[c] += w * share
            new_squares += w * share.sum() ** 2, w * (share**2).sum()
        topics = (1 - rate) * topics + rate * (eta + statistics)
        sums = (1 - rate) * sums + rate * new
        squares = (1 - rate) * squares + rate * new_squares
        counts = (1 + K * alpha) * sums
        common = (counts.sum(axis=0) + 1) / (counts.sum() + K)
        rest = 1 - (common**2).sum()
        usual = sums.sum() * rest / (1 + K * alpha)
        counts /= max(1, (squares[1] - (1 - rest) * squares[0]) / usual)
        best = best_by_search(counts, common)
        a = np.exp(best.x)
        if -best.fun - (counts * np.log(common)).sum() <= 3:
            priors = np.full((N_CELLS, K), alpha)  # the cells do not differ
            continue
        sizes = counts.sum(axis=1, keepdims=True)
        shares = (a * common + counts) / (a + sizes)
        priors = alpha * shares / common
        priors *= K * alpha / priors.sum(axis=1, keepdims=True)
    return topics, priors


def test_a_fit_is_that_of_a_slow_reference():
    X, _, _, _ = documents(60, 15, 3, n_features=20)
    ranks = X[:, :10].sum(axis=1).argsort().argsort()
    cells = ranks * N_CELLS // 60  # which differ
    start = np.random.default_rng(1).gamma(5.0, 1.0, (3, 20))
    options = {"batch_size": None, "learning_rate": ConstantRate(0.7), "init": start}
    options["doc_update"] = "variational"
    lda = TemperedLDA(
        3,
        tempering=None,
        max_iter=3,
        doc_topic_prior=0.8,
        mean_change_tol=1e-13,
        max_doc_update_iter=3000,
        **options,
    )
    weights = np.random.default_rng(2).gamma(2.0, 0.5, 60)
    lda.fit(X.astype(float), covariates=cells, sample_weight=weights)
    order = [cell for (cell,) in lda.cells_]
    topics, priors = reference(X.toarray(), cells, weights, start, 0.8, 0.1, 3, 0.7)
    np.testing.assert_allclose(lda.components_, topics, rtol=1e-5)
    np.testing.assert_allclose(lda.cell_prior_, priors[order], rtol=1e-4)
    assert np.ptp(priors, axis=0).max() > 0.1


@pytest.mark.parametrize("scatter", [0.3, 5.0, 40.0])
def test_the_precision_has_the_largest_likelihood(scatter):
    random = np.random.default_rng(0)
    mean = random.dirichlet(np.ones(8))
    shares = random.dirichlet(scatter * mean, 30)
    counts = np.stack([random.multinomial(60, s) for s in shares]) * 0.7
    best = best_by_search(counts, mean, 11)
    assert best_precision(counts, mean) == pytest.approx(np.exp(best.x), rel=1e-3)
    # cells are equal unless their likelihood is three nats higher than without cells
    for size, is_finite in (120, False), (200, True):
        counts = size * np.array([[0.6, 0.4], [0.4, 0.6]])
        assert np.isfinite(best_precision(counts, np.full(2, 0.5))) == is_finite


def with_squares(sums):
    """Return sums of shares that scatter as little as possible, with their squares."""
    squares = np.sum(sums, axis=1)[:, None] * [1.0, 0.0, 0.0]
    return np.hstack([sums, squares])


def test_small_cells_have_the_common_prior():
    sums = np.array([[60.0, 20, 20], [20, 60, 20], [0.02, 0, 0], [0, 0, 0]])
    alpha = np.array([0.1, 0.2, 0.3])
    common, *priors = priors_of_cells(with_squares(sums), alpha)
    np.testing.assert_array_equal(common, alpha)
    np.testing.assert_allclose(np.sum(priors, axis=1), 0.6)
    ratios = alpha * [1.5, 0.5, 1.0]
    expected = 0.6 * ratios / ratios.sum()
    np.testing.assert_allclose(priors[0], expected, atol=0.02)
    np.testing.assert_allclose(priors[2], alpha, atol=0.01)
    np.testing.assert_allclose(priors[3], alpha)
    for equal in sums[:1], sums[:1] + [[0, 0, 0], [1, -1, 0], [3, -2, 1]]:
        known = priors_of_cells(with_squares(equal), alpha)
        np.testing.assert_array_equal(known, np.tile(alpha, (len(known), 1)))


@pytest.mark.every(3)
@pytest.mark.parametrize("concentration", [0.2, 2.0])
@pytest.mark.parametrize("batch_size", [100, 2000])
def test_permuted_cells_are_equal_whatever_the_scatter(concentration, batch_size):
    """Shares may be sparser than the prior expects, and batches few documents."""
    random, n, K = np.random.default_rng(0), 2000, 40
    mean, alpha, equal = random.dirichlet(np.ones(K)), np.full(K, 0.05), []
    for _ in range(20):
        shares, cells = random.dirichlet(concentration * mean, n), None
        labels = random.integers(50, size=n)
        for i in range(0, n, batch_size):
            rows = slice(i, i + batch_size)
            gamma = alpha + 30 * shares[rows]
            prior = np.tile(alpha, (len(gamma), 1))
            sums = sums_of_shares(gamma, prior, np.ones(len(gamma)), labels[rows])
            rate = 1.0 if batch_size == n else 0.7
            cells = stepped(cells, sums, rate, n / batch_size)
        common, found = shares_of_cells(cells, alpha)
        equal.append((found == common).all())
    assert np.mean(equal) >= 0.9


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("power", ["one", "half", "own"])
@pytest.mark.parametrize("routes", ["abreast,lanes", "alone,chains", ""])
@pytest.mark.parametrize("doc_update", ["variational", "sampled"])
def test_documents_of_a_block_have_their_own_priors(
    doc_update, routes, power, dtype, monkeypatch
):
    """Results are those of a block in which all documents have the same prior."""
    monkeypatch.setenv("SKTEMPER_LDA_ROUTES", routes)
    random = np.random.default_rng(0)
    X = sparse.csr_array(documents(60, 25, 5)[0], dtype=dtype)
    eta, cells = np.atleast_2d(0.1), random.integers(-1, 3, size=60)
    topics = Topics.from_dense(random.gamma(1.0, 1.0, (120, 5)) + 0.05, eta)
    topics = Topics(
        topics.u,
        topics.u_totals,
        eta,
        cells=with_squares(random.gamma(9.0, 9.0, (3, 5))),
    )
    model = LDAModel(5, 120, None, eta, dtype=dtype, doc_update=doc_update)
    own = {"one": 1.0, "half": 0.5, "own": random.uniform(0.3, 1.0, 60)}
    wanted = {"want": ("statistics", "bound", "local"), "seed": 7}
    request = Request(Powers(local=own[power]), **wanted)
    block, prepared = model.take(X, slice(None)), model.prepare(topics, np.full(5, 0.2))
    mixed = model.local_step(block, prepared, request._replace(labels=cells))
    priors, sums = prepared.doc_topic_prior, np.zeros((3, 5))
    for cell, prior in zip(range(-1, 3), priors, strict=True):
        alone = model.prepare(Topics(topics.u, topics.u_totals, eta), prior)
        step, rows = model.local_step(block, alone, request), cells == cell
        found = mixed.local_parameters[rows]
        np.testing.assert_allclose(found, step.local_parameters[rows], rtol=1e-6)
        np.testing.assert_allclose(mixed.row_bounds[rows], step.row_bounds[rows], 1e-6)
        if cell >= 0:
            tokens = step.local_parameters[rows] - prior
            sums[cell] = (tokens / (1.0 + tokens.sum(1, keepdims=True))).sum(axis=0)
    found = mixed.statistics.cells[:, :5]
    np.testing.assert_allclose(found, sums, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "doc_update, alpha, length",
    [("variational", 0.5 * 0.2 + 0.5, 0.5 * 25), ("sampled", 0.2, 25)],
)
def test_shares_of_tempered_documents_are_those_of_all_tokens(
    doc_update, alpha, length
):
    X, cells, _, _ = documents(60, 25, 5)
    eta, random = np.atleast_2d(0.1), np.random.default_rng(0)
    topics = Topics.from_dense(random.gamma(1.0, 1.0, (120, 5)) + 0.05, eta)
    model = LDAModel(5, 120, None, eta, doc_update=doc_update)
    request = Request(
        Powers(prior=0.5, local=0.5), want=("statistics",), seed=7, labels=cells
    )
    step = model.local_step(
        model.take(X, slice(None)), model.prepare(topics, np.full(5, 0.2)), request
    )
    sums = step.statistics.cells[:, :5].sum(axis=1)
    expected = np.bincount(cells) * length / (length + 5 * alpha)
    np.testing.assert_allclose(sums, expected, rtol=1e-6)


@pytest.mark.parametrize("kind", [AnnealedLDA, TemperedLDA, SVIPlusLDA])
def test_one_cell_changes_no_bits(kind):
    X, cells, _, _ = documents(200)
    lda = kind(4, max_iter=4, random_state=0)
    one, none = clone(lda).fit(X, covariates=["a"] * 200), clone(lda).fit(X)
    np.testing.assert_array_equal(one.components_, none.components_)
    known = one.transform(X, covariates=["a"] * 200)
    np.testing.assert_array_equal(known, none.transform(X))
    assert one.cells_ == [("a",)] and none.cells_ == []
    assert none.cell_prior_.shape == none.cell_shares_.shape == (0, 4)
    for chunk in X[:100], X[100:]:
        one.partial_fit(chunk, covariates=["a"] * 100)
        none.partial_fit(chunk)
    np.testing.assert_array_equal(one.components_, none.components_)


def test_shares_of_cells_are_found_and_predictions_improve():
    X, cells, shares, topics = documents(2000, 12)
    train, test = slice(0, 1200), slice(1200, 2000)
    lda = AnnealedLDA(6, doc_topic_prior=0.07, random_state=0)
    plain = clone(lda).fit(X[train])
    lda.fit(X[train], covariates=cells[train])
    assert lda.score(X[test], covariates=cells[test]) > plain.score(X[test]) + 0.005
    found = lda.cell_shares_[np.argsort([c for (c,) in lda.cells_])]
    _, columns = linear_sum_assignment(-topics @ lda.components_.T)
    error = np.abs(found[:, columns] - shares)
    assert error.mean() < 0.03 and error.max() < 0.1
    with pytest.warns(UserWarning, match=r"None of .* such as \('no',\)"):
        unknown = lda.transform(X[:9], covariates=["no"] * 9)
    np.testing.assert_array_equal(unknown, lda.transform(X[:9]))
    empty = sparse.csr_array((1, X.shape[1]), dtype=X.dtype)
    (cell,), mean = lda.cells_[0], lda.cell_prior_[0] / lda.cell_prior_[0].sum()
    weights = lda.transform(empty, covariates=[cell])
    np.testing.assert_allclose(weights[0], mean, rtol=1e-5)
    bound = lda.lower_bound(X[train], covariates=cells[train])
    assert bound > lda.lower_bound(X[train]) + 100


def test_threads_parts_weights_and_starts():
    X, cells, _, _ = documents(700)
    lda = AnnealedLDA(4, max_iter=4, random_state=0, batch_size=200)
    whole = clone(lda).fit(X, covariates=cells)
    threads = clone(lda).set_params(n_jobs=2).fit(X, covariates=cells)
    np.testing.assert_array_equal(whole.components_, threads.components_)
    np.testing.assert_array_equal(whole.cell_prior_, threads.cell_prior_)
    lda.set_params(doc_update="variational")  # others draw by the places in blocks
    whole = clone(lda).fit(X, covariates=cells)
    parts = clone(lda).fit([X[:300], X[300:]], covariates=cells)
    np.testing.assert_allclose(whole.cell_prior_, parts.cell_prior_, rtol=1e-3)
    lda.set_params(evaluate_every=1, n_init=2, n_start_components=6)
    lda.fit(X, covariates=cells, sample_weight=np.arange(700) % 3)
    assert lda.cell_prior_.shape == (N_CELLS, 4)
    merged = lda.merge_topics(3)
    np.testing.assert_allclose(merged.cell_prior_.sum(axis=1), 0.15)
    assert topic_consensus([lda, merged.merge_topics(3)]).cells_ == []
    served = merged.for_serving()
    expected = merged.transform(X[:9], covariates=cells[:9])
    found = served.transform(X[:9], covariates=cells[:9])
    np.testing.assert_allclose(found, expected, atol=1e-4)
    at_two = merged.transform(X[:9], temperature=[2.0] * 9, covariates=cells[:9])
    same = merged.transform(X[:9], temperature=2.0, covariates=cells[:9])
    np.testing.assert_allclose(at_two, same, rtol=1e-3)
    assert merged.perplexity(X, covariates=cells) == pytest.approx(
        np.exp(-merged.score(X, covariates=cells))
    )
    assert len(merged.score_samples(X, covariates=cells)) == 700


@pytest.mark.parametrize("half_life", [None, 300])
def test_streams_with_new_cells_and_pickles(half_life):
    X, cells, _, _ = documents(900)
    names = pd.DataFrame({"c": cells, "old": np.arange(900) < 450})
    lda = AnnealedLDA(4, random_state=0, half_life=half_life)
    other = clone(lda)
    for start in range(0, 900, 150):
        rows = slice(start, start + 150)
        lda.partial_fit(X[rows], covariates=names[rows])
        other.partial_fit(X[rows], covariates=names[rows])
        other = pickle.loads(pickle.dumps(other))
    lda.partial_fit(X[:50])  # documents without covariates
    assert len(lda.cells_) == len(lda.cell_prior_) == 2 * N_CELLS
    assert (2, False) in lda.cells_
    other.partial_fit(X[:50])
    np.testing.assert_array_equal(lda.cell_prior_, other.cell_prior_)
    np.testing.assert_array_equal(lda.components_, other.components_)


@pytest.mark.parametrize("seeds", [0.0, 3.0])
def test_renewals_keep_cells(seeds):
    """Cells outlive renewals of a stream whose later rows all have the same one."""
    X, cells, _, _ = documents(3000, 12)
    cells[1200:] = cells[0]
    eta = np.full((4, X.shape[1]), 0.1)
    eta[0, :5] += seeds
    lda = AnnealedLDA(4, half_life=200, topic_word_prior=eta, random_state=0)
    for start in range(0, 3000, 150):
        rows = slice(start, start + 150)
        lda.partial_fit(X[rows], covariates=cells[rows])
    assert [renewal.kept for renewal in lda.state_.stream.renewals][0]
    assert len(lda.state_.stream.renewals) > 1
    assert len(lda.state_.globals_.cells) == N_CELLS


def test_cells_without_training_rows_have_the_common_prior():
    X, _, _, _ = documents(400)
    cells = np.repeat(["a", "b", "z"], [200, 100, 100])
    lda = AnnealedLDA(
        4, batch_size=50, shuffle=False, schedule=PressingAt(3), random_state=0
    )
    with pytest.raises(KeyboardInterrupt):
        lda.fit(X, covariates=cells)
    assert len(lda.state_.globals_.cells) == 1 and len(lda.cells_) == 3
    np.testing.assert_allclose(lda.cell_prior_, [lda.doc_topic_prior_] * 3)
    np.testing.assert_array_equal(lda.cell_shares_[1], lda.cell_shares_[2])


def test_a_search_routes_covariates():
    X, cells, _, _ = documents(300)
    lda = AnnealedLDA(4, max_iter=3, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        lda.set_fit_request(covariates=True).set_score_request(covariates=True)
        search = GridSearchCV(lda, {"doc_topic_prior": [0.05, 0.2]}, cv=2)
        search.fit(X, covariates=cells)
    assert len(search.best_estimator_.cells_) == N_CELLS


def test_covariates_of_all_kinds():
    X, cells, _, _ = documents(60)
    lda = AnnealedLDA(3, max_iter=2, random_state=0)
    text = np.array(list("abcd"))[cells]
    ages = np.linspace(0, 80, 60)
    frame = pd.DataFrame({"text": text, "age": pd.cut(ages, 2)})
    polars = pytest.importorskip("polars").DataFrame({"text": text})
    expected = lda.fit(X, covariates=cells).cell_prior_
    kinds = [cells[:, None], text, list(text), frame[["text"]], frame["text"], polars]
    for covariates in [*kinds, frame["text"].astype("category")]:
        found = lda.fit(X, covariates=covariates).cell_prior_
        np.testing.assert_array_equal(found, expected)
    lda.fit(X, covariates=frame)
    assert 5 <= len(lda.cells_) <= 8 and lda.cells_[0][1].right == 40


@pytest.mark.every(2)
@pytest.mark.parametrize("unit", ["D", "us", "ns"])
def test_dates_are_the_same_in_all_containers(unit):
    X, cells, _, _ = documents(60)
    dates = (np.datetime64("2020-01-01") + cells).astype(f"datetime64[{unit}]")
    kinds = [dates, pd.Series(dates), dates[:, None], pd.DataFrame({"x0": dates})]
    polars = pytest.importorskip("polars")
    days = polars.Series("x0", dates.astype("datetime64[us]")).cast(polars.Date)
    kinds += [days, days.to_frame(), days.cast(polars.Datetime).to_frame()]
    kinds += [days.to_list(), list(dates)]
    lda = AnnealedLDA(3, max_iter=2, random_state=0)
    expected = clone(lda).fit(X, covariates=cells).transform(X, covariates=cells)
    for covariates in kinds:
        lda.fit(X, covariates=covariates)
        assert [date.day - 1 for (date,) in lda.cells_] == list(dict.fromkeys(cells))
        for others in kinds if covariates is dates else [dates]:
            found = lda.transform(X, covariates=others)
            np.testing.assert_array_equal(found, expected)
    found = lda.fit(X, covariates=dates - dates.min()).cells_
    assert {cell.days for (cell,) in found} == {0, 1, 2, 3}


@pytest.mark.parametrize(
    "covariates, message",
    [
        (
            np.linspace(0, 1, 60),
            "'x0' has 60 different numbers.*pandas.cut.*regression",
        ),
        ([f"id{number}" for number in range(60)] * 20, "covariates has 1200 rows"),
        ([None] * 60, "'x0' has missing values"),
        (np.where(np.arange(60) < 9, np.nan, 1.0), "'x0' has missing values"),
        (np.zeros((60, 2, 2)), r"covariates must be .* got the shape \(60, 2, 2\)"),
        (pd.DataFrame({"a": pd.array([1, None] * 30)}), "'a' has missing values"),
        (pd.DataFrame(index=range(60)), "covariates has no columns"),
        ([[["a"]]] * 60, "covariates must be|cannot be compared"),
        (pd.DataFrame([[1, 2]] * 60, columns=["a", "a"]), "have the name 'a'"),
        (np.ma.masked_array(np.ones(60), np.arange(60) < 9), "masked array"),
    ],
)
def test_wrong_covariates_are_refused(covariates, message):
    X, cells, _, _ = documents(60)
    lda = AnnealedLDA(3, max_iter=2, random_state=0).fit(X, covariates=cells)
    before = lda.transform(X)
    with pytest.raises((TypeError, ValueError), match=message):
        lda.fit(X, covariates=covariates)
    np.testing.assert_array_equal(lda.transform(X), before)


def test_too_many_cells_and_other_names():
    X, cells, _, _ = documents(60)
    lda = AnnealedLDA(3, max_iter=2, random_state=0)
    many = sparse.csr_array(np.tile(X.toarray(), (20, 1)))
    with pytest.raises(ValueError, match="1,200 different combinations"):
        lda.fit(many, covariates=[f"id{number}" for number in range(1200)])
    with pytest.raises(ValueError, match="the fit had none"):
        lda.fit(X).transform(X, covariates=cells)
    lda.fit(X, covariates=pd.DataFrame({"cell": cells}))
    with pytest.raises(ValueError, match=r"must be \['cell'\], .* got \['x0'\]"):
        lda.score(X, covariates=cells)

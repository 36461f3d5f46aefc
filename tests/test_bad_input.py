"""Invalid, unusual, extreme and read-only input."""

from datetime import date

import fits
import numpy as np
import pytest
from fits import peak_of, with_models
from scipy import sparse

import sktemper
from sktemper import (
    AnnealedFactorialMixture,
    AnnealedGaussianMixture,
    AnnealedLDA,
    AnnealedMatrixFactorization,
    TemperedLDA,
    metrics,
)
from sktemper._utils._checksums import with_checksum
from sktemper._utils._validation import (
    _check_compressed,
    _is_plain_csr,
    check_distinct,
    check_sparse,
)
from sktemper.datasets import make_ratings
from sktemper.schedules import LinearSchedule

TARGETS = ("local_step", "likelihood", "posterior")


def lda_of(n_components=4, **parameters):
    given = {"learning_rate": 0.5, "doc_topic_prior": 0.25, "topic_word_prior": 0.25}
    lda = fits.lda_of(**given | parameters)
    return lda.set_params(n_components=n_components)


def assert_finite(lda, X):
    for part in (lda.components_, lda.topic_word_, lda.exp_dirichlet_component_):
        assert np.isfinite(part).all()
    assert (lda.components_ > 0).all()
    np.testing.assert_allclose(lda.topic_word_.sum(axis=1), 1, rtol=1e-5)
    doc_topic = lda.transform(X)
    assert (doc_topic >= 0).all()
    np.testing.assert_allclose(doc_topic.sum(axis=1), 1, rtol=1e-5)
    assert np.isfinite(lda.score_samples(X)).all()
    assert np.isfinite(lda.lower_bound(X))
    assert np.isfinite(lda.history_["batch_bound"]).all()


# -- dtypes ----------------------------------------------------------------------------


@pytest.mark.every(3)
@pytest.mark.parametrize("first", [np.float32, np.float64, np.int64])
def test_the_first_data_fix_the_dtype(documents, first):
    lda = lda_of(warm_start=True).fit(documents.astype(first))
    kept = np.float64 if first == np.float64 else np.float32
    for other in (np.float32, np.float64, np.int64):
        X = documents.astype(other)
        assert lda.transform(X).dtype == kept
        assert lda.partial_fit(X).components_.dtype == kept
        assert lda.fit(X).components_.dtype == kept


# -- unusual shapes and extreme values -------------------------------------------------


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e12, 1e27])
def test_the_score_of_one_topic_does_not_depend_on_the_size_of_counts(counts, scale):
    lda = lda_of(1).fit(counts)
    assert lda.score(counts * scale) == pytest.approx(lda.score(counts), rel=1e-12)


@pytest.mark.parametrize("prior", [None, 0.3, [0.1, 0.2, 0.3, 1.4]])
@pytest.mark.parametrize("dtype", [np.float64, np.int32])
def test_empty_documents_get_the_prior_mean(counts, prior, dtype):
    X = sparse.vstack([counts[:50], counts[:10] * 0, counts[50:]], "csr").astype(dtype)
    lda = lda_of(doc_topic_prior=prior).fit(X)
    alpha = np.broadcast_to(0.25 if prior is None else prior, 4)
    np.testing.assert_allclose(
        lda.transform(X)[50:60], np.tile(alpha / alpha.sum(), (10, 1)), rtol=1e-6
    )
    np.testing.assert_allclose(
        lda.transform(X[50:51], normalize=False), alpha[None], rtol=1e-6
    )
    assert (lda.score_samples(X)[50:60] == 0).all()
    assert_finite(lda, X)
    assert lda.score(X) == pytest.approx(lda.score(counts.astype(dtype)), rel=1e-12)


@pytest.mark.every(7)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("batch_size", [None, 7])
def test_data_with_only_empty_documents(target, batch_size):
    X = sparse.csr_matrix((30, 8))
    lda = lda_of(target=target, batch_size=batch_size)
    with pytest.raises(ValueError, match="no tokens"):
        lda.fit(X)
    for _ in range(60):  # a stream may begin with empty documents
        lda.partial_fit(X)
    np.testing.assert_allclose(lda.components_, lda.components_[0, 0], rtol=1e-6)
    assert_finite(lda, X)
    for method in (lda.score, lda.perplexity):
        with pytest.raises(ValueError, match="[Nn]othing is held out"):
            method(X)


def test_documents_of_one_word_have_no_score(counts):
    lda = lda_of().fit(counts)
    X = 3 * np.eye(60)
    assert (lda.score_samples(X) == 0).all()
    with pytest.raises(ValueError, match="[Nn]othing is held out"):
        lda.score(X)
    X = sparse.vstack([X, counts], "csr")
    assert lda.score(X) == pytest.approx(lda.score(counts), rel=1e-12)


@pytest.mark.parametrize("target", TARGETS)
def test_words_that_never_occur(counts, target):
    gap = sparse.csr_matrix((counts.shape[0], 40))
    X = sparse.hstack([counts, gap], "csr")
    lda = lda_of(target=target, topic_word_prior=0.3, max_iter=20).fit(X)
    np.testing.assert_allclose(lda.components_[:, 60:], 0.3, rtol=1e-4)
    assert_finite(lda, X)
    unseen = np.zeros((3, 100))
    unseen[0, 70] = unseen[1, 60:] = 1
    unseen[2, [3, 99]] = 1, 1e6
    assert_finite(lda, unseen)


def test_one_topic_counts(counts):
    lda = TemperedLDA(1, tempering=None, batch_size=None, topic_word_prior=0.5).fit(
        counts
    )
    expected = 0.5 + counts.sum(axis=0)
    np.testing.assert_allclose(lda.components_, np.atleast_2d(expected), rtol=1e-12)
    assert (lda.transform(counts) == 1).all()
    for target in TARGETS:
        assert_finite(lda_of(1, target=target).fit(counts), counts)


# -- memory maps -----------------------------------------------------------------------


def mapped(folder, X, **dtypes):
    """Return the matrix with arrays in read-only memory maps of files."""
    parts = {}
    for name in ("data", "indices", "indptr"):
        np.save(folder / name, getattr(X, name).astype(dtypes.get(name, np.int32)))
        parts[name] = np.load(folder / f"{name}.npy", mmap_mode="r")
    X = sparse.csr_array(tuple(parts.values()), shape=X.shape, copy=False)
    assert np.shares_memory(X.data, parts["data"])
    assert not X.data.flags.writeable
    return X


def test_a_pass_over_a_map_visits_each_row_once(tmp_path):
    """The order is the same as with a matrix in memory."""
    in_memory = sparse.csr_array(np.eye(700))

    def watch(model):
        take = model.take

        def watched(X, rows):
            seen.append(np.arange(X.shape[0])[rows])
            return take(X, rows)

        model.take = watched

    orders = []
    for X in (mapped(tmp_path, in_memory), in_memory):
        seen = []
        lda = AnnealedLDA(2, batch_size=50, max_iter=2, random_state=0, n_jobs=1)
        with_models(lda, watch).fit(X)
        orders.append(np.concatenate(seen))
    order = orders[0]
    np.testing.assert_array_equal(order, orders[1])
    for number in (slice(700), slice(700, None)):
        assert not (order[number] == range(700)).all()
        assert sorted(order[number]) == list(range(700))
    assert (order[:700] != order[700:]).any()


@pytest.mark.every(5)
@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float64])
def test_data_are_never_copied_whole(tmp_path, dtype):
    rng = np.random.default_rng(0)
    n_rows, length = 40_000, 25  # a start uses 4,000 rows
    columns = np.sort(rng.integers(0, 400, (n_rows, length)), axis=1).ravel()
    counts = np.ones(n_rows * length)
    indptr = length * np.arange(n_rows + 1)
    X = mapped(
        tmp_path, sparse.csr_array((counts, columns, indptr), (n_rows, 400)), data=dtype
    )
    lda = lda_of(2, batch_size=2000, max_iter=1, max_doc_update_iter=2)

    def calls():
        lda.set_params(schedule=LinearSchedule(length=1)).fit(X)
        lda.score_samples(X)
        lda.partial_fit(X)

    assert peak_of(calls)[0] < 0.5 * (X.data.nbytes + X.indices.nbytes)


def test_a_checksum_copies_no_array_whole():
    array = np.ones((1000, 500), order="F")
    assert peak_of(with_checksum, {"array": array})[0] < 0.2 * array.nbytes


def test_repeated_entries_are_searched_in_pieces():
    n_rows, columns = 500_000, np.array([1, 0], dtype=np.int32)  # not sorted
    starts = np.arange(0, 2 * n_rows + 1, 2, dtype=np.int32)
    values = np.ones(2 * n_rows)
    X = sparse.csr_array((values, np.tile(columns, n_rows), starts), (n_rows, 2))
    assert peak_of(check_distinct, X, X)[0] < 2 * values.nbytes
    X.indices[-1] = 1
    with pytest.raises(ValueError, match="in row 499999 and column 1,"):
        check_distinct(X, X)


# -- sparse matrices whose arrays contradict each other --------------------------------


def test_damaged_sparse_matrices_are_refused_by_metrics(counts):
    """`test_bad_data.py` has the other damages, and the methods of all models."""
    ratings = make_ratings(30, 20, n_ratings=200, random_state=0)
    factorization = AnnealedMatrixFactorization(2).partial_fit(ratings)
    topics, entries = lda_of().partial_fit(counts), ratings.copy()
    for model, X, measures in (
        (topics, counts.copy(), ("completion_log_likelihood", "npmi_coherence")),
        (factorization, entries, ("completion_rmse", "heldout_rmse")),
    ):
        X.indptr[5] = 10**6
        for name in measures:
            with pytest.raises(ValueError, match="indptr decreases"):
                getattr(metrics, name)(model, X)


def test_sound_sparse_matrices_are_not_copied(documents, tmp_path):
    X = mapped(tmp_path, documents)
    before = X.data, X.indices, X.indptr
    assert check_sparse(X) is X
    for one, other in zip((X.data, X.indices, X.indptr), before, strict=True):
        assert one is other
    assert check_sparse("text") == "text"
    one_row = sparse.coo_array(np.arange(4.0))
    assert check_sparse(one_row) is one_row


def test_one_loop_accepts_only_what_the_single_checks_return_unchanged(counts):
    random = np.random.default_rng(0)
    n_plain = n_refused = 0
    for _ in range(300):
        X = counts[random.integers(0, 120, 3)]
        X.indices = X.indices.astype(random.choice([np.int32, np.int64]))
        parts = X.indptr, X.indices
        part = parts[random.integers(2)]
        if random.random() < 0.7:
            part[random.integers(len(part))] += random.choice([-60, -1, 1, 60])
        if random.random() < 0.2:
            X.data = X.data[:-1]
        if _is_plain_csr(X):
            n_plain += 1
            other = _check_compressed(X)
            for name in "indptr", "indices", "data":
                assert np.array_equal(getattr(other, name), getattr(X, name))
        else:
            try:
                _check_compressed(X)
            except ValueError:
                n_refused += 1
    assert n_plain > 50 and n_refused > 50


def test_array_elements_after_the_last_entry_are_ignored(counts):
    X = counts.copy()
    X.data = np.append(X.data, [np.nan, -1e300])
    X.indices = np.append(X.indices, np.array([-1, 10**6], X.indices.dtype))
    lda = lda_of().fit(X)
    np.testing.assert_array_equal(lda.components_, lda_of().fit(counts).components_)
    assert len(X.data) == X.nnz + 2
    assert metrics.npmi_coherence(lda, X).tolist() == (
        metrics.npmi_coherence(lda, counts).tolist()
    )


# -- mistakes of beginners -------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (list, "Expected 2D array, got 1D array"),
        (np.array, "Expected 2D array, got 1D array"),
        (lambda texts: " ".join(texts), "Expected 2D array, got scalar"),
        (lambda texts: [text.encode() for text in texts], "Expected 2D array"),
        (lambda texts: np.array(texts, dtype=object)[:, None], "convert string to flo"),
        (lambda texts: [text.split() for text in texts], "inhomogeneous"),
        (
            lambda texts: pytest.importorskip("pandas").Series(texts),
            "could not convert string",
        ),
    ],
)
def test_the_error_for_texts_names_a_vectorizer(texts, form, message):
    for method in ("fit", "partial_fit", "fit_transform"):
        with pytest.raises(ValueError, match=rf"(?s){message}.*CountVectorizer"):
            getattr(lda_of(), method)(form(texts))


def test_the_error_for_signed_hashes_names_the_option(texts):
    text = pytest.importorskip("sklearn.feature_extraction.text")
    X = text.HashingVectorizer(n_features=64, norm=None).transform(texts)
    message = r"(?s)Negative values in data passed to X.*alternate_sign=False"
    with pytest.raises(ValueError, match=message):
        lda_of().fit(X)
    options = {"n_features": 64, "alternate_sign": False}
    with pytest.warns(UserWarning, match=r"scaled to length 1.*norm=None"):
        lda_of().fit(text.HashingVectorizer(**options).transform(texts))
    lda_of().fit(text.HashingVectorizer(**options, norm=None).transform(texts))


def test_other_mistakes_have_the_message_of_scikit_learn_alone(counts):
    for bad in (counts.toarray()[0], np.full((3, 3), np.nan), 3.0, None):
        with pytest.raises(ValueError) as caught:
            lda_of().fit(bad)
        assert "Vectorizer" not in str(caught.value)


def test_no_more_items_are_recommended_than_there_are():
    X = make_ratings(30, 20, n_ratings=200, random_state=0)
    model = AnnealedMatrixFactorization(2).partial_fit(X)
    for n_items in (20, 21, 10**9, 10**30):
        assert model.recommend(X, n_items=n_items)[0].shape == (30, 20)
    with pytest.raises(ValueError, match="n_items"):
        model.recommend(X, n_items=0)


# -- after the fit ---------------------------------------------------------------------

ESTIMATORS = {
    "lda": lambda: lda_of(2),
    "gaussian mixture": lambda: AnnealedGaussianMixture(2, max_iter=1),
    "factorial mixture": lambda: AnnealedFactorialMixture(2, max_iter=1),
    "matrix factorization": lambda: AnnealedMatrixFactorization(2, max_iter=1),
}


@pytest.mark.parametrize("make", ESTIMATORS.values(), ids=ESTIMATORS.keys())
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_dates_and_lists_are_named_with_a_remedy(make, library):
    frames = pytest.importorskip(library)
    counts = np.random.default_rng(0).poisson(3.0, 20).astype(float)
    dates = [date(2020, 1, 1 + day) for day in range(20)]
    for values in (dates, [np.array([1.0, 2.0])] * 20, [[1, 2]] * 20):
        X = frames.DataFrame({"visits": counts, "wrong": values})
        with pytest.raises(TypeError, match="'wrong'.* Convert dates to numbers"):
            make().fit(X)
    if library == "pandas":
        X = frames.DataFrame(np.ones((20, 2)), columns=["a", "a"])
        with pytest.raises(ValueError, match="several columns with the name 'a'"):
            make().fit(X)
        times = frames.DataFrame({"a": counts, "b": frames.to_datetime(dates)})
        with pytest.raises(TypeError, match="'b' of X has the dtype datetime64"):
            make().fit(times)


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", [sparse.coo_array, sparse.coo_matrix])
def test_sums_of_small_integers_do_not_wrap_around(kind):
    rows, columns = np.repeat([0, 1], 300), np.tile([0, 0, 1], 200)
    for dtype in (np.uint8, np.int8, np.uint16):
        values = np.full(600, 100, dtype)
        X = kind((values, (rows, columns)), shape=(2, 2))
        found = check_sparse(X)
        np.testing.assert_array_equal(found.toarray(), [[20_000, 10_000]] * 2)
        few = check_sparse(kind((values[:2], ([0, 1], [0, 1])), shape=(2, 2)))
        assert few.dtype == dtype
    X = kind((np.full(600, 100, np.uint8), (rows, columns)), shape=(2, 2))
    lda = TemperedLDA(2, random_state=0).fit(X.astype(float))
    assert lda.score(X) == lda.score(X.astype(float))


@pytest.mark.every(5)
@pytest.mark.parametrize("method", ["fit", "partial_fit", "score", "lower_bound"])
def test_masked_weights_are_refused(counts, method):
    lda = TemperedLDA(2, random_state=0).fit(counts)
    weight = np.ma.masked_array(np.ones(counts.shape[0]))
    getattr(lda, method)(counts, sample_weight=weight)
    weight[3] = np.ma.masked
    with pytest.raises(TypeError, match="sample_weight is a masked array"):
        getattr(lda, method)(counts, sample_weight=weight)


def test_masked_components_are_refused():
    masked = np.ma.masked_less(np.arange(6.0).reshape(2, 3), 2)
    for pair in ((masked, masked.data), (masked.data, masked)):
        with pytest.raises(TypeError, match="components_[ab] is a masked array"):
            metrics.match_components(*pair)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["TemperedLDA", "TemperedMultinomialMixture"])
def test_repeated_small_integers_are_added_beside_stored_zeros(name):
    """200 + 200 is above the largest number of 8 bits."""
    rows, columns = [0, 0, 0, 1, 1, 2, 3], [0, 0, 1, 1, 2, 0, 2]
    counts = np.array([200, 200, 3, 5, 4, 7, 9], np.uint8)
    stored = np.append(counts, np.uint8(0))
    X, with_zero = (
        sparse.csr_array((values, columns_, np.searchsorted(rows_, range(5))), (4, 3))
        for values, columns_, rows_ in (
            (counts, columns, rows),
            (stored, [*columns, 0], [*rows, 3]),
        )
    )
    one, other = (
        getattr(sktemper, name)(2, max_iter=2, random_state=0, tempering=None).fit(form)
        for form in (X, with_zero)
    )
    np.testing.assert_array_equal(one.components_, other.components_)
    assert with_zero.nnz == 8

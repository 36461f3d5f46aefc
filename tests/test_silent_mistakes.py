"""Mistakes of users that once gave plausible results without an error or a warning."""

import functools
import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
from fits import documents_of, lda_of, ratings_of, samples_of
from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import sktemper
from sktemper import (
    AnnealedGaussianMixture,
    AnnealedLDA,
    AnnealedMultinomialMixture,
    ImplicitFactorization,
    TemperedGaussianMixture,
    TemperedLDA,
    TemperedMatrixFactorization,
    seeded_prior,
)
from sktemper._estimator._counts import are_normalised
from sktemper._ranking._recommender import is_long_table
from sktemper.datasets import (
    make_factorial_mixture,
    make_lda_documents,
    make_ratings,
    ratings_matrix,
    write_counts,
)
from sktemper.metrics import (
    completion_log_likelihood,
    completion_rmse,
    heldout_rmse,
    interval_coverage,
    make_ranking_scorer,
    npmi_coherence,
    precision_at_k,
    ranking_report,
    recall_at_k,
    topic_diversity,
)
from sktemper.model_selection import train_test_split_entries
from sktemper.plotting import topic_shares
from sktemper.schedules import LinearSchedule
from sktemper.tempering import Annealing

quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@functools.cache
def fitted(name):
    """Return a small model of each family."""
    data = {"LDA": documents_of, "MultinomialMixture": documents_of}
    data |= {"GaussianMixture": samples_of, "MatrixFactorization": ratings_of}
    data |= {"BernoulliMixture": lambda: (documents_of() > 0).astype(float)}
    family = name.removeprefix("Annealed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = getattr(sktemper, name)(3, max_iter=3, random_state=0)
        return model.fit(data[family]())


# -- booleans are not numbers ----------------------------------------------------------


def test_schedules_must_not_return_booleans():
    lda = TemperedLDA(3, tempering=Annealing(lambda t: True))
    with pytest.raises(TypeError, match="gave True as the temperature"):
        lda.fit(documents_of())


@quiet
def test_no_method_takes_a_bool_for_a_number():
    X, lda = documents_of(), fitted("AnnealedLDA")
    ratings, model = ratings_of(), fitted("AnnealedMatrixFactorization")
    calls = [
        lambda: lda.top_words(n_words=True),
        lambda: lda.topics(n_words=True),
        lambda: lda.topics(rank_by=True),
        lambda: lda.top_documents(X, True),
        lambda: lda.similar_documents(X[:1], X, True),
        lambda: lda.explain(X[:1], min_probability=True),
        lambda: lda.transform(X, temperature=True),
        lambda: lda.merge_topics(True),
        lambda: lda.expand_features(True),
        lambda: fitted("AnnealedMultinomialMixture").top_words(n_words=True),
        lambda: model.recommend(ratings[:2], n_items=True),
        lambda: model.recommend(ratings[:2], clip=(False, True)),
        lambda: model.recommend(ratings[:2], threshold=True),
        lambda: model.similar_items([0], True),
        lambda: model.similar_users([0], True),
        lambda: seeded_prior(list("abc"), {"a": ["a"]}, np.eye(3), True),
        lambda: seeded_prior(list("abc"), {"a": ["a"]}, np.eye(3), 1, strength=True),
        lambda: train_test_split_entries(ratings, test_size=True),
        lambda: make_ranking_scorer(test_size=True)(model, ratings),
        lambda: precision_at_k(np.eye(3), np.eye(3), k=True),
        lambda: precision_at_k(np.eye(3), np.eye(3), k=1, relevant=True),
        lambda: completion_rmse(model, ratings, clip=(False, True)),
        lambda: make_lda_documents(True),
        lambda: make_ratings(20, 20, n_ratings=30, n_stars=True),
    ]
    for call in calls:
        with pytest.raises((ValueError, TypeError), match="True"):
            call()


@quiet
def test_flags_must_be_booleans():
    X, ratings = documents_of(), ratings_of()
    model = fitted("AnnealedMatrixFactorization")
    calls = [
        (lambda: fitted("AnnealedLDA").transform(X, normalize="no"), "normalize"),
        (lambda: model.recommend(ratings, exclude_seen="no"), "exclude_seen"),
        (lambda: model.recommend(ratings, return_std="no"), "return_std"),
        (lambda: model.predict_pairs([[0, 1]], return_std="no"), "return_std"),
    ]
    for call, name in calls:
        with pytest.raises(ValueError, match=f"{name!r} parameter must be True or Fal"):
            call()
    lda = fitted("AnnealedLDA")
    for flag in (True, np.True_):
        np.testing.assert_array_equal(
            lda.transform(X, normalize=flag), lda.transform(X)
        )


@pytest.mark.parametrize("weight", [True, False])
def test_sample_weight_is_no_bool(weight):
    for method in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match="'sample_weight' parameter"):
            getattr(lda_of(), method)(documents_of(), sample_weight=weight)
    with pytest.raises(ValueError, match="'sample_weight' parameter"):
        fitted("AnnealedLDA").score(documents_of(), sample_weight=weight)


# -- samples and words of mixtures -----------------------------------------------------


@quiet
@pytest.mark.parametrize(
    "name",
    [
        "AnnealedGaussianMixture",
        "AnnealedMultinomialMixture",
        "AnnealedBernoulliMixture",
    ],
)
def test_all_mixtures_refuse_the_same_numbers_of_samples(name):
    model = fitted(name)
    for bad in (True, 2.5, "3", None, np.True_, 2**80):
        for error in (ValueError, TypeError):  # the error has both types
            with pytest.raises(error, match="'n_samples' parameter must be an int"):
                model.sample(bad)
    for few in (0, -1):
        with pytest.raises(ValueError, match="at least one sample"):
            model.sample(few)
    X, y = model.sample(np.int64(3))
    assert len(X) == len(y) == 3


@quiet
def test_words_of_multinomials_are_those_of_topics():
    model, lda = fitted("AnnealedMultinomialMixture"), fitted("AnnealedLDA")
    for words in (model.top_words(n_words=2), lda.top_words(n_words=2)):
        assert len(words) == 3
        assert all(isinstance(word, str) for row in words for word in row)
    for one in (model, lda):
        for bad in (0, -1, 2.5, "3"):
            with pytest.raises(ValueError, match="n_words"):
                one.top_words(n_words=bad)
    for bad in (0, -2, 2.5, "10", np.nan):
        with pytest.raises(ValueError, match="doc_length"):
            model.sample(3, doc_length=bad)


def test_words_of_a_hot_mixture_warn():
    hot = AnnealedMultinomialMixture(3, schedule=LinearSchedule(4, length=100))
    hot.partial_fit(documents_of())
    with pytest.warns(ConvergenceWarning, match="still at temperature"):
        hot.top_words()


# -- counts, codes and masks -----------------------------------------------------------


@quiet
def test_masks_are_not_overlooked():
    ratings = ratings_of()
    masked = np.ma.masked_less(np.nan_to_num(ratings.toarray()), 2.0)
    for call in (
        lambda X: heldout_rmse(fitted("AnnealedMatrixFactorization"), X),
        train_test_split_entries,
        lambda X: precision_at_k(X.filled(0), X, k=3),
    ):
        with pytest.raises(TypeError, match=r"masked array.*filled\(numpy.nan\)"):
            call(masked)
    TemperedGaussianMixture(2, max_iter=2).fit(np.ma.masked_array(samples_of()))


# -- words that are left out, and changed words ----------------------------------------


def stream(words, n=40, seed=0):
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(words, 9)) for _ in range(n)]


OLD, NEW = ([f"{kind}{i}" for i in range(30)] for kind in ("old", "new"))


@quiet
@pytest.mark.parametrize("cls", [AnnealedLDA, AnnealedMultinomialMixture])
def test_words_that_a_vectorizer_left_out_are_reported_once(cls):
    vectorizer = CountVectorizer().fit(stream(OLD))
    chunks = [vectorizer.transform(stream(OLD, seed=seed)) for seed in range(3)]
    mixed = vectorizer.transform(stream(OLD[:10] + NEW[:20], seed=4))
    assert mixed.sum() < 0.5 * chunks[0].sum()
    model = cls(3, total_samples=200, random_state=0)
    for chunk in chunks:
        model.partial_fit(chunk)
    share = 1 - mixed.count_nonzero() / np.mean([c.count_nonzero() for c in chunks])
    with pytest.warns(UserWarning, match=r"less than earlier documents") as caught:
        model.partial_fit(mixed)
    (said,) = (str(warning.message) for warning in caught)
    assert f"{share:.0%} less" in said
    assert "HashingVectorizer(alternate_sign=False, norm=None)" in said
    assert "StreamingCountVectorizer" in said
    # the counts of shorter documents look the same
    assert "If these documents are merely shorter, ignore this" in said
    model.partial_fit(mixed)  # no second warning


@quiet
def test_documents_that_became_empty_are_reported():
    vectorizer = CountVectorizer().fit(stream(OLD))
    lda = AnnealedLDA(3, total_samples=200, random_state=0)
    lda.fit(vectorizer.transform(stream(OLD)))
    texts = stream(OLD, seed=1)[:32] + stream(NEW, seed=2)[:8]
    with pytest.warns(UserWarning, match="20% of the documents .* no words"):
        lda.partial_fit(vectorizer.transform(texts))


@quiet
def test_short_chunks_and_texts_do_not_warn():
    X = CountVectorizer().fit_transform(stream(OLD, 200))
    lda = AnnealedLDA(3, total_samples=500, random_state=0).partial_fit(X[:100])
    for start in range(100, 200, 5):
        lda.partial_fit(X[start : start + 5])
    lda.partial_fit(X[:3] * 0)
    half = X[:60].copy()
    half.data[::3] = 0
    half.eliminate_zeros()
    lda.partial_fit(half)


def collection(folder, words, texts):
    vectorizer = CountVectorizer(vocabulary=words)
    return write_counts(folder, [texts], vectorizer)


@quiet
def test_collections_of_other_words_are_refused(tmp_path):
    words, turned = OLD[:20], OLD[19::-1]
    known = collection(tmp_path / "known", words, stream(words))
    again = collection(tmp_path / "again", words, stream(words, seed=1))
    other = collection(tmp_path / "other", turned, stream(words))
    unknown = collection(tmp_path / "unknown", NEW[:20], stream(NEW[:20]))
    lda = AnnealedLDA(3, max_iter=2, random_state=0).fit(known)
    lda.partial_fit(again).transform(again)
    lda.fit(known, X_val=again)
    frame = pd.DataFrame(np.eye(20, dtype=int), columns=words)
    of_frame = AnnealedLDA(3, max_iter=2, random_state=0).fit(frame)
    with pytest.warns(UserWarning, match="valid feature names"):  # shards
        of_frame.transform(known)
    warnings.simplefilter("ignore", UserWarning)
    for bad in (other, unknown):
        calls = lda.partial_fit, lda.transform, lda.score, of_frame.transform
        for call in (*calls, lambda bad: lda.fit(known, X_val=bad)):
            with pytest.raises(ValueError, match="feature names of X should match"):
                call(bad)


# -- metrics ---------------------------------------------------------------------------


@quiet
def test_frames_in_another_order_are_refused_by_metrics():
    names = [f"c{i}" for i in range(documents_of().shape[1])]
    frame = pd.DataFrame(documents_of().toarray(), columns=names)
    lda = lda_of().fit(frame)
    npmi_coherence(lda, frame)
    with pytest.warns(UserWarning, match="feature names"):  # in halves
        completion_log_likelihood(lda, frame)
    for measure in (npmi_coherence, completion_log_likelihood):
        with pytest.raises(ValueError, match="feature names should match"):
            measure(lda, frame[names[::-1]])


@quiet
def test_ratings_in_another_order_are_refused_by_metrics():
    table = make_ratings(30, 12, n_ratings=200, random_state=0).tocoo()
    users, items = [f"u{i}" for i in table.row], [f"i{j}" for j in table.col]
    X, *_ = ratings_matrix(users, items, table.data)
    model = TemperedMatrixFactorization(2, max_iter=2, random_state=0).fit(X)
    for measure in (heldout_rmse, completion_rmse, interval_coverage):
        measure(model, X)
        with pytest.raises(ValueError, match="items of X differ.*item_labels"):
            measure(model, X[:, ::-1])
    for measure in (heldout_rmse, interval_coverage):
        with pytest.raises(ValueError, match="users of X differ.*user_labels"):
            measure(model, X[::-1])


def test_topics_are_validated_by_metrics():
    X = documents_of()
    for measure in (lambda topics: npmi_coherence(topics, X), topic_diversity):
        with pytest.raises(ValueError, match="a column number twice"):
            measure([[0, 1, 2], [3, 4, 4]])
    with pytest.raises(ValueError, match="None of the topics' words occurs in X"):
        npmi_coherence([[0, 1], [2, 3]], np.pad(np.ones((4, 3)), ((0, 0), (4, 0))))


def test_lists_of_all_items_do_not_depend_on_scores():
    scores, X_test = np.random.default_rng(0).random((3, 5)), np.eye(3, 5)
    for measure in (precision_at_k, recall_at_k):
        with pytest.warns(UndefinedMetricWarning, match="k=5 shows all of the 5 items"):
            measure(scores, X_test, k=5)
    with pytest.warns(UndefinedMetricWarning, match="k=9"):
        ranking_report(scores, X_test, measures=["recall@9", "ndcg@3"])
    recall_at_k(scores, X_test, k=4)
    ranking_report(scores, X_test, measures=["ndcg@100"])


# -- generators and pictures -----------------------------------------------------------


def test_generators_cut_no_values_off():
    for make, bad in (
        (make_lda_documents, (bool, complex, np.float16)),
        (make_factorial_mixture, (int, bool, np.uint8)),
        (functools.partial(make_ratings, 20, 20, n_ratings=30), (int, bool)),
    ):
        for dtype in bad:
            with pytest.raises(ValueError, match="'dtype' parameter"):
                make(dtype=dtype)
    with pytest.raises(ValueError, match="too large for dtype=uint8"):
        make_lda_documents(5, 3, 2, doc_length=5000, dtype=np.uint8)
    with pytest.raises(ValueError, match="too large for dtype=uint8"):
        make_ratings(20, 20, n_ratings=30, n_stars=300, dtype=np.uint8)
    small = make_lda_documents(50, dtype=np.uint8, random_state=0)
    assert small.dtype == np.uint8
    wide = make_lda_documents(50, random_state=0)
    np.testing.assert_array_equal(small.toarray(), wide.toarray())
    stars = make_ratings(20, 20, n_ratings=30, n_stars=5, dtype=np.int8)
    assert set(stars.data) <= {1, 2, 3, 4, 5}


@quiet
def test_shares_are_of_weights_that_sum_to_one():
    X, lda = documents_of(), fitted("AnnealedLDA")
    tokens = np.asarray(X.sum(axis=1)).ravel()
    topic_shares(lda.transform(X), tokens)
    with pytest.raises(ValueError, match=r"must sum to 1.*normalize=False"):
        topic_shares(lda.transform(X, normalize=False), tokens)
    with pytest.raises(ValueError, match="Negative values"):
        topic_shares(lda.transform(X), -tokens)


# -- lines of code that warnings name --------------------------------------------------


def lines_of(call):
    """Return the file names and code lines that the warnings of a call name."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return {(one.filename, one.lineno) for one in caught}


def here():
    return __file__, inspect.currentframe().f_back.f_lineno


def identity():
    return FunctionTransformer(accept_sparse=True)


def test_warnings_point_at_the_users_line():
    """Also from within pipelines; a law asks for the file of every warning."""
    X, model = 9.0 * documents_of(), ImplicitFactorization(2, max_iter=1)
    assert lines_of(lambda: model.fit(X)) == {here()}
    assert lines_of(lambda: model.fit_transform(X)) == {here()}
    pipeline = make_pipeline(identity(), model)
    assert lines_of(lambda: pipeline.fit(X)) == {here()}
    fresh = type(model)(**model.get_params(deep=False))
    assert lines_of(lambda: fresh.partial_fit(X)) == {here()}
    hot = lda_of(schedule=LinearSchedule(3, length=1000)).partial_fit(X)
    pipeline = make_pipeline(identity().fit(X), hot)
    assert lines_of(lambda: pipeline.transform(X)) == {here()}
    hot = AnnealedGaussianMixture(2, schedule=LinearSchedule(3, length=1000))
    hot.partial_fit(samples_of())
    assert lines_of(lambda: hot.sample()) == {here()}
    words = np.eye(3, dtype=int)
    given = list("abc"), {"a": ["b", "no"]}, words, 2
    assert lines_of(lambda: seeded_prior(*given)) == {here()}
    assert lines_of(lambda: recall_at_k(np.eye(3), words, k=3)) == {here()}


def test_rows_after_many_normalised_ones_are_inspected():
    X = np.random.default_rng(0).uniform(1.0, 3.0, size=(3000, 4))
    X /= X.sum(axis=1, keepdims=True)
    assert are_normalised(X)
    X[2000:] *= 5.0
    assert not are_normalised(X)


# -- a long table in place of a matrix -------------------------------------------------
def long_table(random, is_sorted):
    """Return lines of a user, an item and up to five stars."""
    pairs = random.choice(30 * 20, size=250, replace=False)
    pairs = np.sort(pairs) if is_sorted else pairs
    users, items = np.divmod(pairs, 20)
    users = users**2 if is_sorted else users + 1
    return np.column_stack([users, items, random.integers(1, 6, 250)])


@pytest.mark.parametrize("is_sorted", [False, True])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:The stored numbers of X are taken as weights")
def test_a_long_table_is_no_matrix_of_three_items(is_sorted):
    X = long_table(np.random.default_rng(0), is_sorted)
    names = "user_id", "item_id", "stars"
    forms = X, pd.DataFrame(X), pd.DataFrame(X[::40], columns=names)
    for cls in (TemperedMatrixFactorization, ImplicitFactorization):
        for form in (*forms, np.column_stack([X, np.arange(250)])):
            for method in ("fit", "partial_fit"):
                with pytest.warns(UserWarning, match="long table.*ratings_matrix"):
                    getattr(cls(2, max_iter=1), method)(form)


@pytest.mark.every(3)
@pytest.mark.parametrize("scale", [1, 5, 10, 100])
def test_few_items_are_no_long_table(scale):
    """At most 1 in 200 matrices of three or four items, of stars or of counts."""
    random, n_found = np.random.default_rng(scale), 0
    for number in range(1000):
        shape = random.choice([10, 30, 100, 300]), 3 + number % 2
        popular = random.gamma(1, scale, size=shape[1])
        counts = random.poisson(random.gamma(1, popular, size=shape))
        n_found += is_long_table(counts if number % 4 else np.fmin(counts + 1, scale))
    assert n_found <= 5

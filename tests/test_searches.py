"""Scores for searches and early stopping: scorers, and the user's validation data.

`test_endings` tests that weights multiply scores and are routed to scorers.
"""

import pickle

import numpy as np
import pytest
import sklearn
from fits import documents_of, fitted_model, ratings_of
from registry import KINDS, ROWS
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

from sktemper import (
    AnnealedGaussianMixture,
    AnnealedLDA,
    AnnealedMatrixFactorization,
    AnnealedMultinomialMixture,
    ImplicitFactorization,
)
from sktemper.datasets import write_counts
from sktemper.metrics import (
    completion_log_likelihood,
    completion_scorer,
    diversity_scorer,
    make_completion_scorer,
    make_diversity_scorer,
    make_npmi_scorer,
    npmi_coherence,
    npmi_scorer,
    topic_diversity,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
]
SCORERS = {
    "completion": completion_scorer,
    "npmi": npmi_scorer,
    "diversity": diversity_scorer,
}


@pytest.fixture(scope="module")
def texts():
    """Return texts; each has words of two of four subjects."""
    subjects = [[f"{letter}{i}" for i in range(12)] for letter in "abcd"]
    random = np.random.default_rng(0)
    lines = []
    for _ in range(120):
        words = np.concatenate([subjects[i] for i in random.choice(4, 2, False)])
        lines.append(" ".join(random.choice(words, size=15)))
    return lines


def lda_of(**parameters):
    parameters = {"max_iter": 4, "batch_size": 30, "random_state": 0} | parameters
    return AnnealedLDA(4, **parameters)


def pipeline_of(**parameters):
    return make_pipeline(CountVectorizer(token_pattern=r"\w\d+"), lda_of(**parameters))


# -- diversity -------------------------------------------------------------------------


def test_diversity_counts_distinct_words(documents):
    assert topic_diversity([[0, 1], [1, 2], [0, 2]]) == 3 / 6
    assert topic_diversity([[0, 1], [2, 3]]) == 1
    assert topic_diversity([[3, 4, 0], [4, 3, 1]], n_words=2) == 2 / 4
    assert topic_diversity([[0, 1, 2], [0, 1]]) == 3 / 5
    lda = lda_of().fit(documents)
    top = [set(np.argsort(-row)[:7]) for row in lda.components_]
    assert topic_diversity(lda, n_words=7) == len(set.union(*top)) / 28


@pytest.mark.parametrize(
    ("topics", "message"),
    [
        ([], "There is no topic"),
        ([[1]], "two words or more"),
        ([[0.5, 1]], "column numbers"),
        ([[-1, 1]], "negative"),
        (3, "fitted model with components_"),
    ],
)
def test_diversity_of_no_topics(topics, message):
    with pytest.raises(ValueError, match=message):
        topic_diversity(topics)
    with pytest.raises(ValueError, match="n_words"):
        topic_diversity([[0, 1]], n_words=1)
    with pytest.raises(NotFittedError):
        topic_diversity(AnnealedLDA())


# -- scorers ---------------------------------------------------------------------------


def test_scorers_are_the_measures_of_the_last_step(texts):
    pipeline = pipeline_of().fit(texts[:80])
    X = pipeline[:-1].transform(texts[80:])
    lda = pipeline[-1]
    for estimator, data in ((pipeline, texts[80:]), (lda, X)):
        assert completion_scorer(estimator, data) == pytest.approx(lda.score(X))
        assert npmi_scorer(estimator, data) == npmi_coherence(lda, X).mean()
        assert diversity_scorer(estimator, data, None) == topic_diversity(lda)
    tokens = make_completion_scorer(split="tokens", random_state=3)
    expected = completion_log_likelihood(lda, X, split="tokens", random_state=3)
    assert tokens(pipeline, texts[80:]) == expected
    assert (
        make_npmi_scorer(n_words=4)(lda, X) == npmi_coherence(lda, X, n_words=4).mean()
    )
    assert make_diversity_scorer(n_words=4)(lda, X) == topic_diversity(lda, n_words=4)


def test_scorers_look_into_nested_pipelines_and_searches(texts):
    inner = pipeline_of().fit(texts)
    expected = completion_scorer(inner, texts)
    nested = make_pipeline(inner[:-1], make_pipeline(inner[-1])).fit(texts)
    assert completion_scorer(nested, texts) == expected
    search = GridSearchCV(inner, {"annealedlda__max_iter": [4]}, cv=2).fit(texts)
    assert completion_scorer(search, texts) == expected


@pytest.mark.every(2)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_search_by_several_scorers(texts, n_jobs):
    grid = {"annealedlda__n_components": [2, 4]}
    search = GridSearchCV(
        pipeline_of(),
        grid,
        scoring=SCORERS,
        refit="npmi",
        cv=KFold(2),
        n_jobs=n_jobs,
        error_score="raise",
    ).fit(texts)
    for row, n_topics in enumerate(grid["annealedlda__n_components"]):
        for fold, (train, test) in enumerate(KFold(2).split(texts)):
            pipeline = pipeline_of().set_params(annealedlda__n_components=n_topics)
            pipeline.fit([texts[i] for i in train])
            for name, scorer in SCORERS.items():
                found = search.cv_results_[f"split{fold}_test_{name}"][row]
                assert found == scorer(pipeline, [texts[i] for i in test])
    assert search.best_index_ == search.cv_results_["mean_test_npmi"].argmax()
    assert search.score(texts) == npmi_scorer(search.best_estimator_, texts)


@pytest.mark.parametrize("name", SCORERS)
def test_scorers_are_pickled_and_shown(texts, name):
    scorer, pipeline = SCORERS[name], pipeline_of().fit(texts)
    loaded = pickle.loads(pickle.dumps(scorer))
    assert loaded(pipeline, texts) == scorer(pipeline, texts)
    assert repr(loaded) == repr(scorer)
    assert repr(scorer).startswith(f"make_{name}_scorer(")


@pytest.mark.parametrize("name", SCORERS)
def test_scorers_need_a_fitted_topic_model(documents, name):
    with pytest.raises(NotFittedError):
        SCORERS[name](AnnealedLDA(), documents)
    with pytest.raises(NotFittedError):
        SCORERS[name](pipeline_of(), ["a1 b2"])
    with pytest.raises(TypeError, match="topic model with components_.*KMeans"):
        SCORERS[name](KMeans(2, n_init=1).fit(documents), documents)


def test_scorers_that_cannot_be():
    with pytest.raises(ValueError, match="split"):
        make_completion_scorer(split="letters")
    with pytest.raises(ValueError, match="n_words"):
        make_npmi_scorer(n_words=1)
    with pytest.raises(ValueError, match="n_words"):
        make_diversity_scorer(n_words=0)


def test_scorers_where_metadata_are_routed(documents):
    with sklearn.config_context(enable_metadata_routing=True):
        lda = lda_of().set_fit_request(sample_weight=True)
        search = GridSearchCV(
            lda, {"max_iter": [2]}, scoring=SCORERS, refit="completion", cv=2
        )
        search.fit(documents, sample_weight=np.ones(documents.shape[0]))
    assert np.isfinite(search.best_score_)


# -- validation data -------------------------------------------------------------------

each_row = pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
each_kind = pytest.mark.parametrize("kind", KINDS)


def divided(row):
    """Return training data and validation data."""
    X = row.data(120)
    return X[:90], X[90:]


def vector_of(estimator):
    model = fitted_model(estimator)
    return model.natural_parameters(estimator.state_.globals_)


def scores_of(estimator):
    scores = estimator.history_["heldout_score"]
    return scores[np.isfinite(scores)]


def short(row, kind="Annealed", **parameters):
    if not row.has_policies:
        parameters.pop("tempering", None)
    estimator = row.estimator(kind, batch_size=30, **{"max_iter": 3, **parameters})
    known = estimator.get_params(deep=False)
    if "moves" in known:
        estimator.set_params(moves=None)  # moves come after the last score
    if "weight_concentration_prior_type" in known:  # the final order has no effect
        estimator.set_params(weight_concentration_prior_type="dirichlet_distribution")
    return estimator


@pytest.mark.every(29)
@each_row
@each_kind
def test_all_rows_are_trained_on_and_others_scored(row, kind):
    X, X_val = divided(row)
    plain = short(row, kind).fit(X)
    validated = short(row, kind, validation_fraction=0.5).fit(X, X_val=X_val)
    np.testing.assert_array_equal(vector_of(validated), vector_of(plain))
    scores = scores_of(validated)
    assert len(scores) == 3
    assert scores[-1] == pytest.approx(plain.score(X_val), rel=1e-9)
    second = short(row, kind, evaluate_every=2).fit(X, X_val=X_val)
    np.testing.assert_array_equal(scores_of(second), scores[1:2])


@pytest.mark.every(3)
@each_row
def test_the_best_state_by_validation_data_is_kept(row):
    X, X_val = divided(row)
    patience = {"max_iter": 30, "n_iter_no_change": 2, "tol": 0.0}
    stopped = short(row, "Tempered", tempering=None, **patience).fit(X, X_val=X_val)
    scores = scores_of(stopped)
    assert len(scores) == stopped.n_iter_
    assert stopped.score(X_val) == pytest.approx(scores.max(), rel=1e-9)
    assert stopped.n_iter_ in (30, scores.argmax() + 3)


def test_validation_data_in_parts_on_disk_and_of_other_kinds(documents, tmp_path):
    X, X_val = documents[:90], documents[90:]
    expected = scores_of(lda_of().fit(X, X_val=X_val))
    parts = [X_val[:10], X_val[10:]]
    on_disk = write_counts(tmp_path / "X_val", [X_val])
    others = X_val.toarray(), X_val.astype(np.int64), sparse.csc_matrix(X_val)
    for other in (parts, on_disk, *others):
        found = scores_of(lda_of(n_jobs=2).fit(X, X_val=other))
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    stored = write_counts(tmp_path / "X", [X])
    fitted = lda_of().fit(stored, X_val=on_disk)
    assert scores_of(fitted)[-1] == pytest.approx(fitted.score(X_val))


def test_every_start_is_validated(documents):
    X, X_val = documents[:90], documents[90:]
    random = np.random.RandomState(0)
    fits = [
        lda_of(random_state=random, n_iter_no_change=1).fit(X, X_val=X_val)
        for _ in range(2)
    ]
    best = max(fits, key=lambda fitted: fitted.lower_bound(X))
    both = lda_of(n_init=2, n_iter_no_change=1).fit(X, X_val=X_val)
    np.testing.assert_array_equal(scores_of(both), scores_of(best))


def test_a_fit_from_more_topics_is_validated(documents):
    lda = lda_of(n_start_components=6).fit(documents[:90], X_val=documents[90:])
    scores = scores_of(lda)
    assert len(scores) == lda.n_iter_ > 4
    assert scores[-1] == pytest.approx(lda.score(documents[90:]))


def test_fit_predict_and_fit_transform_take_validation_data(samples):
    mixture = AnnealedGaussianMixture(3, max_iter=5, moves=None, random_state=0)
    labels = mixture.fit_predict(samples[:90], X_val=samples[90:])
    assert len(labels) == 90 and len(scores_of(mixture)) == mixture.n_iter_
    again = clone(mixture)
    again.fit_transform(samples[:90], X_val=samples[90:])
    np.testing.assert_array_equal(scores_of(again), scores_of(mixture))


@pytest.mark.every(3)
@each_row
def test_an_earlier_fit_of_another_dtype_has_no_effect(row):
    X, X_val = divided(row)
    new = short(row).fit(X, X_val=X_val)
    other = short(row).fit(X.astype(np.float32)).fit(X, X_val=X_val)
    np.testing.assert_array_equal(scores_of(other), scores_of(new))


@pytest.mark.parametrize("name", ["GaussianMixture", "MatrixFactorization"])
def test_values_are_of_the_range_of_the_training_data(name):
    X, X_val = divided(ROWS[name])
    with pytest.raises(ValueError, match="X_val cannot be scored"):
        short(ROWS[name]).fit(X.astype(np.float32), X_val=X_val * 1e30)


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (lambda X: X[:, :50], ValueError, "50 features.* expecting 60 features"),
        (lambda X: -X, ValueError, "Negative values"),
        (lambda X: X[:0], ValueError, "0 sample"),
        (lambda X: X.toarray()[0], ValueError, "Expected 2D array"),
        (lambda X: X * np.nan, ValueError, "NaN"),
        (lambda X: [X, "text"], TypeError, "Data in parts"),
    ],
)
def test_bad_validation_data_leave_the_fit_as_it_was(documents, bad, error, message):
    lda = lda_of().fit(documents)
    before = vector_of(lda).copy()
    with pytest.raises(error, match=f"(?s)X_val cannot be scored: .*{message}"):
        lda.fit(documents, X_val=bad(documents))
    np.testing.assert_array_equal(vector_of(lda), before)
    new = lda_of()
    with pytest.raises(error, match="X_val"):
        new.fit(documents, X_val=bad(documents))
    assert not hasattr(new, "n_features_in_")


def test_validation_data_without_anything_held_out(documents):
    lda = lda_of(n_iter_no_change=1, max_iter=10)
    for nothing in (np.eye(60)[:5], np.zeros((3, 60))):
        with pytest.raises(ValueError, match="X_val cannot be scored: nothing can"):
            lda.fit(documents, X_val=nothing)
    assert not hasattr(lda, "n_features_in_")
    with pytest.warns(UserWarning, match="had no scores to compare"):
        lda.fit(np.eye(60))
    assert len(scores_of(lda)) == 0 and lda.n_iter_ == 10


@pytest.mark.parametrize(
    "model, data",
    [
        (AnnealedMatrixFactorization(3, random_state=0), ratings_of),
        (ImplicitFactorization(3, pair_weight=1.0, random_state=0), documents_of),
        (AnnealedMultinomialMixture(3, random_state=0), documents_of),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_validation_data_of_rows_without_entries(model, data):
    X = data()
    model = clone(model).set_params(max_iter=2).fit(X)
    before = model.score(X)
    nothing = sparse.csr_array(X.shape, dtype=float)
    with pytest.raises(ValueError, match="X_val cannot be scored: nothing can"):
        model.fit(X, X_val=nothing)
    assert model.score(X) == before  # the earlier fit is unchanged
    # some rows with entries are enough
    model.fit(X, X_val=sparse.vstack([nothing, X[:20]], format="csr"))
    assert np.isfinite(scores_of(model)).all()


def test_validation_data_pass_the_steps_before(texts):
    with sklearn.config_context(enable_metadata_routing=True):
        steps = CountVectorizer(token_pattern=r"\w\d+"), lda_of()
        steps[1].set_fit_request(X_val=True)
        pipeline = make_pipeline(*steps, transform_input=["X_val"])
        pipeline.fit(texts[:80], X_val=texts[80:])
        search = GridSearchCV(
            clone(pipeline), {"annealedlda__max_iter": [2]}, cv=2, error_score="raise"
        ).fit(texts[:80], X_val=texts[80:])
    scores = scores_of(pipeline[-1])
    assert scores[-1] == pytest.approx(pipeline.score(texts[80:]))
    assert len(scores_of(search.best_estimator_[-1])) == 2

"""Metrics compared with brute force and scikit-learn."""

import math
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import NotFittedError

from sktemper import (
    AnnealedLDA,
    ImplicitFactorization,
    TemperedLDA,
    TemperedMatrixFactorization,
)
from sktemper.datasets import make_ratings
from sktemper.metrics import (
    completion_log_likelihood,
    completion_rmse,
    heldout_rmse,
    interval_coverage,
    match_components,
    npmi_coherence,
    perplexity,
    umass_coherence,
)
from sktemper.metrics._completion import _SPLITS
from sktemper.tempering import GlobalTempering, LocalTempering

EPSILON = 1e-12


@pytest.fixture(scope="module")
def corpus():
    """Return counts with an empty document, and topics of words that all occur."""
    random = np.random.default_rng(0)
    X = random.poisson(0.4, size=(50, 30))
    X[5] = 0
    return X, [random.permutation(30)[:8] for _ in range(4)]


def brute_force(topic, X):
    """Return UMass and NPMI of a topic, computed from sets of documents."""
    documents = {word: {d for d, row in enumerate(X) if row[word]} for word in topic}
    umass, npmi = [], []
    for first, second in combinations(topic, 2):
        one, two = len(documents[first]) / len(X), len(documents[second]) / len(X)
        both = len(documents[first] & documents[second]) / len(X) + EPSILON
        umass.append(math.log(both / one))
        npmi.append(math.log(both / (one * two)) / -math.log(both))
    return np.mean(umass), np.mean(npmi)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_coherence_equals_brute_force(corpus, kind):
    X, topics = corpus
    umass, npmi = zip(*(brute_force(topic, X) for topic in topics), strict=True)
    np.testing.assert_allclose(umass_coherence(topics, kind(X)), umass, rtol=1e-12)
    np.testing.assert_allclose(npmi_coherence(topics, kind(X)), npmi, rtol=1e-12)


def test_coherence_counts_documents_not_entries(corpus):
    X, topics = corpus
    single = sparse.csr_array(X)
    twice = sparse.csr_array(
        (
            np.concatenate([single.data, 0 * single.data]),
            np.concatenate([single.indices, single.indices]),
            np.array([0, single.nnz, 2 * single.nnz]),
        ),
        shape=(2, 30),
    )
    # One document has all words of the corpus, as repeated entries, and the other only
    # stored zeros.
    umass = umass_coherence(topics, twice, smoothing=1.0)
    np.testing.assert_allclose(umass, math.log(2.0))


@pytest.mark.parametrize("measure", [umass_coherence, npmi_coherence])
def test_coherence_of_an_estimator_takes_its_top_words(documents, measure):
    lda = AnnealedLDA(3, max_iter=6, batch_size=20, random_state=0).fit(documents)
    words = lda.top_words(n_words=6, rank_by="probability")
    top = [[int(word) for word in topic] for topic in words]
    ours = measure(lda, documents, n_words=6)
    assert ours.shape == (3,)
    np.testing.assert_array_equal(ours, measure(top, documents))
    np.testing.assert_array_equal(
        ours,
        measure(SimpleNamespace(components_=lda.components_), documents, n_words=6),
    )


def test_coherence_of_few_documents():
    """Smoothing by one is the paper's; words without documents count as unknown."""
    X = [[1, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]]
    np.testing.assert_allclose(
        umass_coherence([[0, 1]], X, smoothing=1), math.log((1 + 1) / 3)
    )
    for measure in (umass_coherence, npmi_coherence):
        assert measure([[2, 1]], [[1, 1, 0], [1, 0, 0]]) == [0.0]


@pytest.mark.parametrize("metric", ["cosine", "jensenshannon"])
def test_matching_undoes_a_permutation(metric):
    random = np.random.default_rng(0)
    a = random.dirichlet(np.full(20, 0.2), size=5)
    order = random.permutation(5)
    permutation, similarities = match_components(a, 3 * a[order], metric=metric)
    np.testing.assert_array_equal(order[permutation], np.arange(5))
    np.testing.assert_allclose(similarities, 1.0, atol=1e-7)


def test_matching_is_the_best_assignment_not_the_greedy_one():
    a = [[1.0, 0.0], [0.8, 0.6]]
    b = [[0.8, 0.6], [0.0, 1.0], [0.96, 0.28]]
    permutation, similarities = match_components(a, b)
    np.testing.assert_array_equal(permutation, [2, 0])
    np.testing.assert_allclose(similarities, [0.96, 1.0])


def test_matching_of_disjoint_and_of_zero_components():
    np.testing.assert_allclose(
        match_components([[1, 0]], [[0, 2]], metric="jensenshannon")[1], 0, atol=1e-12
    )
    assert match_components([[0.0, 0.0]], [[0.0, 2.0]])[1] == [0.0]


@pytest.mark.parametrize(
    ("a", "b", "metric", "message"),
    [
        (np.eye(2), np.eye(3), "cosine", "features"),
        (np.eye(3), np.eye(3)[:2], "cosine", "swap"),
        (-np.eye(2), np.eye(2), "jensenshannon", "Negative"),
        (np.zeros((2, 2)), np.eye(2), "jensenshannon", "needs components"),
        (np.eye(2), np.eye(2), "chebyshev", "metric"),
    ],
)
def test_matching_refuses(a, b, metric, message):
    with pytest.raises(ValueError, match=message):
        match_components(a, b, metric=metric)


# -- document completion ---------------------------------------------------------------


def completion(lda, X, temperature_of):
    """Return the score by "words", where every other word of a document is observed."""
    observed, held_out = np.zeros(X.shape), np.zeros(X.shape)
    for d, row in enumerate(X):
        words = np.flatnonzero(row)
        observed[d, words[::2]] = row[words[::2]]
        held_out[d, words[1::2]] = row[words[1::2]]
    weights = lda.transform(observed, temperature=temperature_of(observed))
    return (held_out * np.log(weights @ lda.topic_word_)).sum() / held_out.sum()


@pytest.mark.every(3)
@pytest.mark.parametrize("tempering", [None, "global", "local"])
def test_the_completion_at_temperature_1_is_the_score(counts, tempering):
    lda = TemperedLDA(4, tempering=tempering, random_state=0).fit(counts)
    ours = completion_log_likelihood(lda, counts)
    assert ours == pytest.approx(lda.score(counts), rel=1e-9)
    assert ours == pytest.approx(completion(lda, counts.toarray(), lambda X: 1.0))


def test_learned_temperatures_of_documents(counts):
    policy = LocalTempering(partition_priors=(0.1, 0.1))
    lda = TemperedLDA(4, tempering=policy, random_state=0).fit(counts)
    ours = completion_log_likelihood(lda, counts, temperatures="learned")
    expected = completion(lda, counts.toarray(), lda.temperatures)
    assert ours == pytest.approx(expected)
    assert abs(ours - completion_log_likelihood(lda, counts)) > 1e-3


def test_a_global_learned_temperature(counts):
    policy = GlobalTempering(cap=None, partition_priors=(0.02, 0.02))
    lda = TemperedLDA(4, tempering=policy, batch_size=40, random_state=0)
    lda.partial_fit(counts)
    assert lda.temperature_ > 1.5
    ours = completion_log_likelihood(lda, counts, temperatures="learned")
    expected = completion(lda, counts.toarray(), lambda X: lda.temperature_)
    assert ours == pytest.approx(expected)
    assert abs(ours - completion_log_likelihood(lda, counts)) > 1e-3
    cooled = AnnealedLDA(4, random_state=0).fit(counts)
    assert completion_log_likelihood(
        cooled, counts, temperatures="learned"
    ) == pytest.approx(cooled.score(counts))


@pytest.mark.every(5)
@pytest.mark.parametrize("split", ["words", "tokens"])
@pytest.mark.parametrize("temperatures", ["unit", "learned"])
def test_perplexity_is_that_of_the_completion(counts, split, temperatures):
    lda = TemperedLDA(4, tempering="local", random_state=0).fit(counts)
    given = dict(split=split, temperatures=temperatures, random_state=3)
    score = completion_log_likelihood(lda, counts, **given)
    assert perplexity(lda, counts, **given) == pytest.approx(math.exp(-score))
    assert 1 < perplexity(lda, counts, **given) < 60


@pytest.mark.parametrize("split", _SPLITS)
def test_halves_of_documents_add_up(counts, split):
    observed, held_out = _SPLITS[split](counts, np.random.RandomState(0))
    np.testing.assert_array_equal((observed + held_out).toarray(), counts.toarray())
    for half in observed, held_out:
        assert 0.4 * counts.sum() < half.sum() < 0.6 * counts.sum()
    together = (observed.toarray() > 0) & (held_out.toarray() > 0)
    assert together.any() == (split == "tokens")


def test_completion_of_any_topic_model(counts):
    theirs = LatentDirichletAllocation(4, random_state=0).fit(counts)
    assert 1 < perplexity(theirs, counts) < 60
    # the perplexity of uniform topics is the size of the vocabulary
    theirs.components_ = np.ones((4, 60))
    assert perplexity(theirs, counts) == pytest.approx(60)
    with pytest.raises(AttributeError, match="temperature_"):
        completion_log_likelihood(theirs, counts, temperatures="learned")
    with pytest.raises(ValueError, match="'temperatures' parameter"):
        perplexity(theirs, counts, temperatures="hot")
    with pytest.raises(ValueError, match="Nothing is held out"):
        perplexity(theirs, counts[:1] * 0)


class Remembering(LatentDirichletAllocation):
    """A model whose `transform` returns an array that it also keeps."""

    def transform(self, X):
        self.weights = 2.0 * super().transform(X)
        self.sum = self.weights.sum()
        return self.weights


def test_completion_changes_neither_the_model_nor_the_result_of_transform(counts):
    theirs = Remembering(4, random_state=0).fit(counts)
    before = theirs.components_.copy()
    for split in ("words", "tokens"):
        completion_log_likelihood(theirs, counts, split=split)
        assert theirs.weights.sum() == theirs.sum
    np.testing.assert_array_equal(theirs.components_, before)


class Fixed:
    """A topic model with given arrays."""

    def __init__(self, components, doc_topic):
        self.components_, self.doc_topic = components, doc_topic

    def transform(self, X):
        return np.broadcast_to(self.doc_topic, (X.shape[0], len(self.doc_topic)))


@pytest.mark.parametrize(
    ("components", "doc_topic", "message"),
    [
        (np.ones((2, 59)), [0.5, 0.5], "X has 60 features, but the model was fitted"),
        (-np.ones((2, 60)), [0.5, 0.5], "components_ is not of topics"),
        (np.zeros((2, 60)), [0.5, 0.5], "components_ is not of topics"),
        (np.full((2, 60), np.nan), [0.5, 0.5], "components_ contains NaN"),
        (np.ones(60), [0.5, 0.5], "Expected 2D array"),
        (np.ones((2, 60)), [0.0, 0.0], "do not sum to a positive number"),
        (np.ones((2, 60)), [np.nan, 0.0], "do not sum to a positive number"),
    ],
)
def test_completion_refuses_invalid_components_and_topic_weights(
    counts, components, doc_topic, message
):
    with pytest.raises(ValueError, match=message):
        completion_log_likelihood(Fixed(components, doc_topic), counts)


def test_completion_does_not_depend_on_the_scale_of_the_components(counts):
    components = np.random.default_rng(0).gamma(1.0, size=(2, 60))
    expected = completion_log_likelihood(Fixed(components, [0.5, 0.5]), counts)
    for scale in (1e-280, 1e307):
        model = Fixed(scale * components, [0.5, 0.5])
        assert completion_log_likelihood(model, counts) == pytest.approx(expected)


def test_impossible_words_have_no_likelihood(counts):
    model = Fixed(np.eye(2, 60), [0.5, 0.5])
    assert completion_log_likelihood(model, counts) == -np.inf
    assert perplexity(model, counts) == np.inf


@pytest.mark.parametrize(
    "measure", [completion_log_likelihood, perplexity, umass_coherence, npmi_coherence]
)
def test_measures_of_topics_want_a_fitted_model(counts, measure):
    for unfitted in (LatentDirichletAllocation(4), TemperedLDA(4)):
        with pytest.raises(NotFittedError):
            measure(unfitted, counts)


@pytest.mark.parametrize(
    ("topics", "message"),
    [
        ([[0]], "two words"),
        ([[0, 60]], "outside the 60 columns"),
        ([[0, -1]], "outside the 60 columns"),
        ([["a", "b"]], "column numbers"),
        (SimpleNamespace(components_=np.ones((2, 5))), "fitted to 5"),
        (3, "Topics must be a fitted model"),
        ([1, 2, 3], "A topic must be a list of two words or more"),
        ([[[1, 2], [3]]], "Topics must be a fitted model"),
        (np.zeros((0, 2), int), "There is no topic"),
        (sparse.bsr_array(np.eye(4)), "Topics must be a fitted model"),
        (iter([]), "There is no topic"),
        (Fixed(np.ones(60), [1.0]), "Expected 2D array"),
        (Fixed(np.full((2, 60), np.nan), [1.0]), "components_ contains NaN"),
    ],
)
def test_invalid_topics_are_refused(counts, topics, message):
    for measure in (umass_coherence, npmi_coherence):
        with pytest.raises(ValueError, match=message):
            measure(topics, counts)
        with pytest.raises(ValueError, match="n_words"):
            measure([[0, 1]], counts, n_words=1)


@pytest.mark.parametrize("scale", [5e-324, 1e-200, 1e200, 1e308])
@pytest.mark.parametrize("metric", ["cosine", "jensenshannon"])
def test_matches_do_not_depend_on_the_scale(scale, metric):
    a = np.eye(3, 5)
    a[1] = 1.0
    permutation, similarities = match_components(a * scale, a[::-1], metric=metric)
    assert permutation.tolist() == [2, 1, 0]
    np.testing.assert_allclose(similarities, 1.0)


# -- ratings ---------------------------------------------------------------------------


def divided(X, part):
    X = X.tocoo()
    return [
        sparse.csr_array((X.data[p], (X.row[p], X.col[p])), shape=X.shape)
        for p in (~part, part)
    ]


@pytest.fixture(scope="module")
def rated():
    """Return training ratings, and held-out ratings of the same users."""
    X = make_ratings(300, 80, 3, n_ratings=9_000, random_state=0)
    return divided(X, np.random.default_rng(0).random(X.nnz) < 0.2)


@pytest.fixture(scope="module")
def factorization(rated):
    return TemperedMatrixFactorization(3, tempering=None, random_state=0).fit(rated[0])


def as_dense(X):
    X = X.tocoo()
    dense = np.full(X.shape, np.nan)
    dense[X.row, X.col] = X.data
    return dense


@pytest.mark.every(2)
@pytest.mark.parametrize("clip", [None, (1, 5)])
def test_completion_rmse_equals_brute_force(rated, factorization, clip):
    X = rated[1][:100]
    dense = as_dense(X)
    squares = []
    for row in dense:
        known = np.flatnonzero(~np.isnan(row))
        if len(known) == 1:
            continue
        seen = np.full_like(row, np.nan)
        seen[known[::2]] = row[known[::2]]
        predicted = factorization.predict(seen[None])[0, known[1::2]]
        if clip:
            predicted = predicted.clip(*clip)
        squares.extend((predicted - row[known[1::2]]) ** 2)
    ours = completion_rmse(factorization, X, clip=clip)
    assert ours == pytest.approx(np.sqrt(np.mean(squares)), rel=1e-10)


def test_zeros_are_ratings(factorization, rated):
    X = rated[1].copy()
    X.data -= X.data[0]
    assert heldout_rmse(factorization, X) == pytest.approx(
        heldout_rmse(factorization, as_dense(X))
    )
    assert completion_rmse(factorization, X) == pytest.approx(
        completion_rmse(factorization, as_dense(X))
    )


def test_blocks_do_not_matter(rated, factorization, monkeypatch):
    whole = completion_rmse(factorization, rated[1])
    monkeypatch.setattr("sktemper.metrics._ratings.VALUES_AT_ONCE", 7 * 80)
    assert completion_rmse(factorization, rated[1]) == pytest.approx(whole, rel=1e-12)


def test_heldout_rmse_and_coverage_equal_brute_force(rated, factorization):
    X = rated[1].tocoo()
    mean, std = factorization.predict_pairs(
        np.column_stack([X.row, X.col]), return_std=True
    )
    error = X.data - mean
    assert heldout_rmse(factorization, rated[1]) == pytest.approx(
        np.sqrt(np.mean(error**2)), rel=1e-12
    )
    clipped = np.sqrt(np.mean((X.data - mean.clip(1, 5)) ** 2))
    ours = heldout_rmse(factorization, rated[1], clip=(1, 5))
    assert ours == pytest.approx(clipped, rel=1e-12)
    coverage = interval_coverage(factorization, rated[1], levels=[0.5, 0.6827, 0.9])
    assert coverage[1] == pytest.approx(np.mean(np.abs(error) <= std), abs=1e-3)
    # The tolerance is for about 1,800 ratings that the model generated.
    np.testing.assert_allclose(coverage, [0.5, 0.6827, 0.9], atol=0.04)


def test_measures_of_ratings_refuse(rated, factorization):
    fit, test = rated
    for measure in (heldout_rmse, interval_coverage):
        with pytest.raises(ValueError, match="same users as rows"):
            measure(factorization, test[:100])
        with pytest.raises(ValueError, match="same users as rows"):
            measure(factorization, test[:, :50])
        with pytest.raises(ValueError, match="X has no ratings"):
            measure(factorization, sparse.csr_array(test.shape))
    with pytest.raises(ValueError, match="Nothing is held out"):
        completion_rmse(factorization, sparse.csr_array(np.eye(80)))
    with pytest.raises(ValueError, match="two ends of a scale"):
        completion_rmse(factorization, test, clip=(5, 1))
    for clip in ((1,), (1, 2, 3), ("a", "b"), (np.nan, 1), (None, 3)):
        for measure in (completion_rmse, heldout_rmse):
            with pytest.raises(ValueError, match="clip must be the two ends"):
                measure(factorization, test, clip=clip)
    with pytest.raises(ValueError, match="'clip' parameter of heldout_rmse"):
        heldout_rmse(factorization, test, clip=5)
    for levels in ([0.5, 90], [0.5, 1.0], [0.0, 0.5]):
        with pytest.raises(ValueError, match="levels must be numbers between 0 and 1"):
            interval_coverage(factorization, test, levels=levels)
    with pytest.raises(NotFittedError):
        completion_rmse(TemperedMatrixFactorization(3), test)


@pytest.mark.parametrize("measure", [heldout_rmse, interval_coverage])
def test_models_without_ratings_have_no_errors(measure):
    X = make_ratings(30, 20, n_ratings=200, random_state=0)
    model = ImplicitFactorization(2, pair_weight=1.0, max_iter=30, tol=1).fit(X)
    with pytest.raises(TypeError, match="ImplicitFactorization predicts no ratings"):
        measure(model, X)

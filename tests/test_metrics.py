"""Measures against brute force, scikit-learn, and gensim where it is installed."""

import math
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import NotFittedError

from sktemper import AnnealedLDA, TemperedLDA
from sktemper.metrics import (
    completion_log_likelihood,
    match_components,
    npmi_coherence,
    perplexity,
    umass_coherence,
)
from sktemper.tempering import GlobalTempering, LocalTempering

EPSILON = 1e-12


@pytest.fixture(scope="module")
def corpus():
    """Counts with an empty document, and topics of words that all occur."""
    random = np.random.default_rng(0)
    X = random.poisson(0.4, size=(50, 30))
    X[5] = 0
    return X, [random.permutation(30)[:8] for _ in range(4)]


def brute_force(topic, X):
    """UMass and NPMI of a topic, from sets of documents."""
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


def test_coherence_equals_gensim(corpus):
    models = pytest.importorskip("gensim.models.coherencemodel")
    Dictionary = pytest.importorskip("gensim.corpora.dictionary").Dictionary
    X, topics = corpus
    texts = [[f"{v:02d}" for v in np.repeat(np.arange(30), row)] for row in X]
    given = {
        "topics": [[f"{v:02d}" for v in topic] for topic in topics],
        "dictionary": Dictionary([[f"{v:02d}"] for v in range(30)]),
        "texts": texts,
        "processes": 1,
        "window_size": 1000,
        "topn": 8,
    }
    measures = {"u_mass": umass_coherence, "c_npmi": npmi_coherence}
    for name, measure in measures.items():
        theirs = models.CoherenceModel(**given, coherence=name)
        np.testing.assert_allclose(
            measure(topics, X), theirs.get_coherence_per_topic(), rtol=1e-10
        )


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
    # All of the corpus as one document, with repeated entries; and one of zeros.
    umass = umass_coherence(topics, twice, smoothing=1.0)
    np.testing.assert_allclose(umass, math.log(2.0))


@pytest.mark.parametrize("measure", [umass_coherence, npmi_coherence])
def test_coherence_of_an_estimator_takes_its_top_words(documents, measure):
    lda = AnnealedLDA(3, max_iter=6, batch_size=20, random_state=0).fit(documents)
    top = [[int(word) for word in topic] for topic in lda.top_words(n_words=6)]
    ours = measure(lda, documents, n_words=6)
    assert ours.shape == (3,)
    np.testing.assert_array_equal(ours, measure(top, documents))
    np.testing.assert_array_equal(
        ours,
        measure(SimpleNamespace(components_=lda.components_), documents, n_words=6),
    )


def test_smoothing_by_one_is_the_papers():
    X = [[1, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]]
    np.testing.assert_allclose(
        umass_coherence([[0, 1]], X, smoothing=1), math.log((1 + 1) / 3)
    )


@pytest.mark.parametrize("measure", [umass_coherence, npmi_coherence])
def test_a_word_in_no_document_counts_as_nothing_known(measure):
    assert measure([[2, 1]], [[1, 1, 0], [1, 0, 0]]) == [0.0]


@pytest.mark.parametrize("measure", [umass_coherence, npmi_coherence])
@pytest.mark.parametrize(
    ("topics", "message"),
    [
        ([[0]], "two words"),
        ([], "no topic"),
        ([[0, 60]], "outside the 60 columns"),
        ([[0, -1]], "outside the 60 columns"),
        ([[0.5, 0.5]], "column numbers"),
        ([["a", "b"]], "column numbers"),
        (SimpleNamespace(components_=np.ones((2, 5))), "fitted to 5"),
    ],
)
def test_coherence_refuses(documents, measure, topics, message):
    with pytest.raises(ValueError, match=message):
        measure(topics, documents)


def test_coherence_wants_a_fitted_model(documents):
    with pytest.raises(NotFittedError):
        npmi_coherence(AnnealedLDA(3), documents)
    with pytest.raises(ValueError, match="n_words"):
        npmi_coherence([[0, 1]], documents, n_words=1)


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
        (np.zeros((2, 2)), np.eye(2), "jensenshannon", "no distribution"),
        (np.eye(2), np.eye(2), "chebyshev", "metric"),
    ],
)
def test_matching_refuses(a, b, metric, message):
    with pytest.raises(ValueError, match=message):
        match_components(a, b, metric=metric)


# -- document completion ---------------------------------------------------------------


def completion(lda, X, temperature_of):
    """The score by "words": every other word of a document is observed."""
    observed, held_out = np.zeros(X.shape), np.zeros(X.shape)
    for d, row in enumerate(X):
        words = np.flatnonzero(row)
        observed[d, words[::2]] = row[words[::2]]
        held_out[d, words[1::2]] = row[words[1::2]]
    weights = lda.transform(observed, temperature=temperature_of(observed))
    return (held_out * np.log(weights @ lda.topic_word_)).sum() / held_out.sum()


@pytest.mark.parametrize("tempering", [None, "global", "local"])
def test_at_unit_temperature_it_is_the_score(counts, tempering):
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


def test_a_learned_temperature_of_all(counts):
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


@pytest.mark.parametrize("split", ["words", "tokens"])
@pytest.mark.parametrize("temperatures", ["unit", "learned"])
def test_perplexity_is_that_of_the_completion(counts, split, temperatures):
    lda = TemperedLDA(4, tempering="local", random_state=0).fit(counts)
    given = dict(split=split, temperatures=temperatures, random_state=3)
    score = completion_log_likelihood(lda, counts, **given)
    assert perplexity(lda, counts, **given) == pytest.approx(math.exp(-score))
    assert 1 < perplexity(lda, counts, **given) < 60


def test_completion_of_any_topic_model(counts):
    theirs = LatentDirichletAllocation(4, random_state=0).fit(counts)
    assert 1 < perplexity(theirs, counts) < 60
    # one that knows nothing has the size of the vocabulary
    theirs.components_ = np.ones((4, 60))
    assert perplexity(theirs, counts) == pytest.approx(60)
    with pytest.raises(AttributeError, match="temperature_"):
        completion_log_likelihood(theirs, counts, temperatures="learned")
    with pytest.raises(ValueError, match="'temperatures' parameter"):
        perplexity(theirs, counts, temperatures="hot")
    with pytest.raises(ValueError, match="Nothing is held out"):
        perplexity(theirs, counts[:1] * 0)

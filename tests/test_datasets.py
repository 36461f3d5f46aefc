"""The corpus that ships and the generators."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context

from sktemper.datasets import (
    _generators,
    load_debian_descriptions,
    make_factorial_mixture,
    make_lda_documents,
)


@pytest.fixture(scope="module")
def debian():
    return load_debian_descriptions()


def test_debian_counts(debian):
    X = debian.data
    assert sparse.isspmatrix_csr(X)
    assert X.shape == (52_189, 6_000)
    assert X.dtype == X.indices.dtype == X.indptr.dtype == np.int32
    assert X.has_canonical_format
    assert X.nnz == 1_334_974
    assert X.sum(dtype=np.int64) == 1_786_203
    assert X.data.min() == 1
    assert X.data.max() == 703
    assert X.sum(axis=1).min() == 15
    assert sparse.load_npz(debian.filename).shape == X.shape


def test_debian_names(debian):
    words, packages = debian.feature_names, debian.document_names
    assert words.shape == (6_000,)
    assert packages.shape == (52_189,)
    assert all(isinstance(name, str) for name in [*words, *packages])
    assert words.tolist() == sorted(set(words))
    assert len(set(packages)) == 52_138


def test_debian_rows_and_columns_belong_to_their_names(debian):
    row = debian.document_names.tolist().index("python3-sklearn")
    words = debian.feature_names[debian.data[[row]].indices]
    assert {"gaussian", "learning", "machine", "mixture", "python", "svm"} <= {*words}


def test_debian_description_agrees_with_data(debian):
    X = debian.data
    lengths = X.sum(axis=1)
    for figure in (
        *(f"{n:,}" for n in (*X.shape, X.nnz, lengths.sum())),
        f"{lengths.min()} to {lengths.max():,}",
        f"median {np.median(np.asarray(lengths)):.0f}, mean {lengths.mean():.1f}",
    ):
        assert figure in debian.DESCR
    unused = debian.feature_names[X.getnnz(axis=0) == 0]
    assert unused.tolist() == ["localises"]


@pytest.mark.parametrize("load", [load_debian_descriptions, make_lda_documents])
def test_sparse_interface_of_scikit_learn_is_followed(load):
    with config_context(sparse_interface="sparray"):
        data = load()
    X = data.data if load is load_debian_descriptions else data
    assert isinstance(X, sparse.csr_array)


def test_documents_shapes_and_types():
    X, doc_topic, topic_word = make_lda_documents(
        50, 30, 4, return_distributions=True, random_state=0
    )
    assert sparse.isspmatrix_csr(X)
    assert X.shape == (50, 30)
    assert X.dtype == X.indices.dtype == X.indptr.dtype == np.int32
    assert X.has_canonical_format
    assert X.data.min() >= 1
    assert doc_topic.shape == (50, 4)
    assert topic_word.shape == (4, 30)
    np.testing.assert_allclose(doc_topic.sum(axis=1), 1)
    np.testing.assert_allclose(topic_word.sum(axis=1), 1)


def test_documents_dtype_changes_only_the_dtype():
    X = make_lda_documents(50, random_state=0)
    as_float = make_lda_documents(50, dtype=np.float32, random_state=0)
    assert as_float.dtype == np.float32
    assert (X != as_float).nnz == 0


def test_documents_are_determined_by_the_seed():
    X, *distributions = make_lda_documents(
        50, return_distributions=True, random_state=1
    )
    again, *same = make_lda_documents(
        50, return_distributions=True, random_state=np.random.RandomState(1)
    )
    assert (X != again).nnz == 0
    np.testing.assert_array_equal(distributions[0], same[0])
    np.testing.assert_array_equal(distributions[1], same[1])
    assert (X != make_lda_documents(50, random_state=1)).nnz == 0
    assert (X != make_lda_documents(50, random_state=2)).nnz > 0


def test_documents_have_the_rates_of_their_distributions(monkeypatch):
    monkeypatch.setattr(_generators, "_CHUNK_TOKENS", 20_000)  # several chunks
    X, doc_topic, topic_word = make_lda_documents(
        3_000, 40, 5, doc_length=50, return_distributions=True, random_state=0
    )
    lengths = np.asarray(X.sum(axis=1))
    # The variance of a Poisson mean over 3,000 documents is 50 / 3,000.
    assert lengths.mean() == pytest.approx(50, abs=4 * np.sqrt(50 / 3_000))
    assert lengths.var() == pytest.approx(50, rel=0.15)

    # Given N_d, the counts are multinomial with probabilities p_d = theta_d @ beta.
    probability = doc_topic @ topic_word
    excess = X.toarray() - lengths * probability
    of_words = (lengths * probability * (1 - probability)).sum(axis=0)
    assert np.mean(excess.sum(axis=0) ** 2 / of_words) == pytest.approx(1, abs=0.7)

    # A fixed linear statistic of the cells sees which document is which.
    def standardised(weights):
        spread = (weights**2 * probability).sum(axis=1, keepdims=True)
        spread -= (weights * probability).sum(axis=1, keepdims=True) ** 2
        return (excess * weights).sum() / np.sqrt((lengths * spread).sum())

    assert abs(standardised(probability)) < 4
    # It has the power to: the counts of the next document are far off.
    excess = np.roll(X.toarray(), 1, axis=0) - lengths * probability
    assert abs(standardised(probability)) > 40


def test_distributions_have_their_priors():
    _, doc_topic, topic_word = make_lda_documents(
        20_000,
        200,
        4,
        doc_length=1,
        doc_topic_prior=[0.1, 0.2, 0.3, 0.4],
        topic_word_prior=0.5,
        return_distributions=True,
        random_state=0,
    )
    mean = np.array([0.1, 0.2, 0.3, 0.4])
    variance = mean * (1 - mean) / 2  # the concentrations sum to 1
    np.testing.assert_allclose(doc_topic.mean(axis=0), mean, atol=0.02)
    np.testing.assert_allclose(doc_topic.var(axis=0), variance, rtol=0.05)
    assert topic_word.var() == pytest.approx(1 / 200 * (1 - 1 / 200) / 101, rel=0.3)


@pytest.mark.parametrize("prior", [1e-6, 1e3])
def test_documents_of_extreme_priors(prior):
    X, doc_topic, topic_word = make_lda_documents(
        100,
        doc_topic_prior=prior,
        topic_word_prior=prior,
        return_distributions=True,
        random_state=0,
    )
    assert X.sum() > 0
    assert np.isfinite(doc_topic).all()
    assert np.isfinite(topic_word).all()


def test_documents_of_one_topic_and_one_word():
    X = make_lda_documents(10, 1, 1, doc_length=1e6, random_state=0)
    np.testing.assert_allclose(X.toarray(), 1e6, rtol=0.01)


def test_documents_may_be_empty():
    X = make_lda_documents(20, doc_length=1e-9, random_state=0)
    assert X.shape == (20, 500)
    assert X.nnz == 0


def test_memory_does_not_grow_with_the_dense_shape(monkeypatch):
    monkeypatch.setattr(_generators, "_CHUNK_TOKENS", 20_000)
    tracemalloc.start()
    X = make_lda_documents(20_000, 10_000, 5, doc_length=20, random_state=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    result = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    # The chunks beside their concatenation; drawing all at once takes seven
    # times the result, and the dense counts 250 times.
    assert peak < 3.5 * result


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_samples": 0}, "'n_samples' parameter of make_lda_documents"),
        ({"n_features": 2.5}, "'n_features' parameter of make_lda_documents"),
        ({"doc_length": 0}, "'doc_length' parameter of make_lda_documents"),
        ({"doc_topic_prior": 0}, "'doc_topic_prior' parameter of make_lda_documents"),
        ({"doc_topic_prior": [0.1, 0.1]}, "doc_topic_prior must be"),
        ({"topic_word_prior": [1.0] * 499 + [0]}, "topic_word_prior must be"),
        ({"topic_word_prior": [np.nan] * 500}, "topic_word_prior must be"),
        ({"random_state": "seed"}, "'random_state' parameter of make_lda_documents"),
    ],
)
def test_documents_refuse_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        make_lda_documents(**parameters)


def test_shapes_are_the_toy_of_the_paper():
    X, features, components = make_factorial_mixture(
        50, return_components=True, random_state=0
    )
    assert X.shape == (50, 16)
    assert X.dtype == components.dtype == np.float64
    assert features.shape == (50, 8)
    assert features.dtype == bool
    assert components.shape == (8, 16)
    weights = components.max(axis=1, keepdims=True)
    assert ((weights >= 0.5) & (weights <= 1)).all()
    assert len(np.unique(weights)) == 8
    np.testing.assert_array_equal(components, weights * (components > 0))
    assert np.linalg.matrix_rank(components) == 8
    overlaps = components @ components.T > 0
    assert (overlaps.sum(axis=1) > 2).all()


def test_samples_are_sums_of_their_features_and_noise(monkeypatch):
    monkeypatch.setattr(_generators, "_CHUNK_VALUES", 1_000)  # several chunks
    probability = np.linspace(0.1, 0.8, 8)
    X, features, components = make_factorial_mixture(
        5_000,
        inclusion_probability=probability,
        noise_variance=0.04,
        return_components=True,
        random_state=0,
    )
    np.testing.assert_allclose(features.mean(axis=0), probability, atol=0.03)
    noise = X - features @ components
    assert abs(noise.mean()) < 4 * np.sqrt(0.04 / noise.size)
    np.testing.assert_allclose(np.cov(noise.T), 0.04 * np.eye(16), atol=0.004)


def test_samples_of_given_components():
    given = [[1, 0, 2], [0, -1, 1]]
    X, features, components = make_factorial_mixture(
        20,
        given,
        noise_variance=0,
        inclusion_probability=1,
        dtype=np.float32,
        return_components=True,
    )
    assert features.all()
    assert X.dtype == np.float32
    np.testing.assert_array_equal(components, given)
    np.testing.assert_array_equal(X, [[1, -1, 3]] * 20)


def test_samples_are_determined_by_the_seed():
    X, *truth = make_factorial_mixture(50, return_components=True, random_state=1)
    again, *same = make_factorial_mixture(
        50, return_components=True, random_state=np.random.RandomState(1)
    )
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(truth[0], same[0])
    np.testing.assert_array_equal(truth[1], same[1])
    np.testing.assert_array_equal(X, make_factorial_mixture(50, random_state=1))
    assert (X != make_factorial_mixture(50, random_state=2)).any()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_samples": 0}, "'n_samples' parameter of make_factorial_mixture"),
        ({"components": [1.0, 2.0]}, "Expected 2D array"),
        ({"components": [[np.nan]]}, "Input components contains NaN"),
        ({"inclusion_probability": 1.5}, "'inclusion_probability' parameter"),
        ({"inclusion_probability": [0.5, 0.5]}, "inclusion_probability must be"),
        ({"inclusion_probability": [0.5] * 7 + [2]}, "inclusion_probability must be"),
        ({"noise_variance": -1}, "'noise_variance' parameter"),
    ],
)
def test_samples_refuse_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        make_factorial_mixture(**parameters)

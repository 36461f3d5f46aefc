"""Sampled document updates: samples of the posterior of a document's topics."""

import hashlib
import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from fits import python_on
from scipy import sparse
from scipy.special import gammaln
from sklearn.base import clone
from test_lda_model import local

from sktemper import AnnealedLDA, TemperedLDA
from sktemper._simd import special
from sktemper.datasets import make_lda_documents
from sktemper.lda import _model as lda_model
from sktemper.lda._model import LDAModel, Topics
from sktemper.model import Powers
from sktemper.tempering import LocalTempering

K, V = 3, 4
ALPHA = np.array([0.3, 0.5, 1.2])


def tiny(doc_update="sampled", dtype=np.float64, alpha=ALPHA):
    topic_word = np.random.default_rng(3).gamma(1.0, 1.0, (V, K)) + 0.05
    model = LDAModel(
        K, V, alpha, np.atleast_2d(0.1), dtype=dtype, doc_update=doc_update
    )
    return model, Topics.from_dense(topic_word, model.topic_word_prior.T)


def with_idle_topics(model, topics, n):
    """Return the model with ``n`` more topics that are never drawn."""
    alpha = np.append(model.doc_topic_prior, np.full(n, 1e-30))
    wide = LDAModel(
        K + n, V, alpha, np.atleast_2d(0.1), dtype=model.dtype, doc_update="sampled"
    )
    dense = np.hstack([topics.dense(), np.full((V, n), 1.0)])
    return wide, Topics.from_dense(dense, wide.topic_word_prior.T)


def expected_counts(document, topics, b, alpha=ALPHA):
    """Return the mean counts, (V, K), under p(z | w)^b, by enumeration of all z.

    theta is integrated out.
    """
    beta = topics.dense() / topics.dense().sum(axis=0)
    words = np.repeat(np.arange(V), document)
    counts, total = np.zeros((V, K)), 0.0
    for z in itertools.product(range(K), repeat=len(words)):
        of_topic = np.bincount(z, minlength=K)
        log_p = gammaln(alpha + of_topic).sum() + np.log(beta[words, list(z)]).sum()
        weight = np.exp(b * log_p)
        np.add.at(counts, (words, list(z)), weight)
        total += weight
    return counts / total


@pytest.mark.every(17)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("temperature", [1.0, 2.0])
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("alpha", [ALPHA, np.full(K, 0.4)], ids=["ALPHA", "same"])
@pytest.mark.parametrize("way", ["lanes", "chains"])
def test_mean_counts_are_those_of_the_posterior(dtype, temperature, own, alpha, way):
    """With few topics documents are sampled in parallel lanes, with many in chains."""
    document, n = np.array([2, 1, 0, 3]), 4000
    model, topics = tiny(dtype=dtype, alpha=alpha)
    if way == "chains":
        model, topics = with_idle_topics(model, topics, 300)
    b = 1 / temperature
    powers = Powers(local=np.full(n, b) if own else b)
    step = local(model, np.tile(document, (n, 1)), topics, powers, seed=7)
    model, topics = tiny(dtype=dtype, alpha=alpha)
    expected = expected_counts(document, topics, b, alpha)
    # the largest standard error of an entry, of 4000 independent chains
    error = np.sqrt(expected * (document[:, None] ** 2) / n) + 1e-3
    found = step.statistics.dense()[:, :K] / n
    np.testing.assert_array_less(np.abs(found - expected), 4 * error)
    # the test would find a wrong temperature
    other = expected_counts(document, topics, 1.5 - b, alpha)
    assert (np.abs(found - other) > 4 * error).any()
    np.testing.assert_allclose(found.sum(axis=1), document, rtol=1e-5, atol=1e-7)
    gamma = step.local_parameters.mean(axis=0)[:K]
    np.testing.assert_allclose(gamma - alpha, found.sum(axis=0), rtol=1e-3)


def test_a_chain_starts_token_by_token(monkeypatch):
    """Each assignment of the first sweep is drawn given the assignments before it."""
    monkeypatch.setattr(lda_model, "N_BURN_IN", 0)
    monkeypatch.setattr(lda_model, "N_KEPT", 1)
    model, topics = tiny()
    n = 20_000
    step = local(model, np.tile([1, 1, 0, 0], (n, 1)), topics, Powers(), seed=1)
    beta = topics.dense() / topics.dense().sum(axis=0)
    first = ALPHA * beta[0] / (ALPHA @ beta[0])
    second = np.zeros(K)
    for k in range(K):
        p = (ALPHA + np.eye(K)[k]) * beta[1]
        second += first[k] * p / p.sum()
    found = step.statistics.dense() / n
    np.testing.assert_allclose(found[0], first, atol=0.015)
    np.testing.assert_allclose(found[1], second, atol=0.015)


def test_sampled_bounds_are_below_the_optimum():
    """Bounds at a sampled gamma are below the bounds at the optimal gamma."""
    X = np.random.default_rng(0).poisson(0.7, (30, V))
    sampled, topics = tiny()
    optimal, _ = tiny("variational")
    optimal.local_tol = 1e-10
    at_samples = local(sampled, X, topics, Powers()).row_bounds
    at_optimum = local(optimal, X, topics, Powers()).row_bounds
    assert (at_samples <= at_optimum + 1e-9).all()
    assert at_samples.sum() < at_optimum.sum()


def test_auto_samples_short_documents_of_whole_counts_at_low_temperatures():
    X = np.ones((4, V))
    X[1] = 0.5
    X[2] = lda_model.longest_sampled(K)
    auto, topics = tiny("auto")
    variational, _ = tiny("variational")

    def gammas(powers):
        return (
            local(auto, X, topics, powers).local_parameters,
            local(variational, X, topics, powers).local_parameters,
        )

    for temperature in (1.0, lda_model.SAMPLED_START):
        ours, theirs = gammas(Powers(local=1.0 / temperature))
        same = (ours == theirs).all(axis=1)
        assert same.tolist() == [False, True, True, False]
    ours, theirs = gammas(Powers(local=0.8))
    assert (ours == theirs).all()


def test_fractions_are_refused_before_anything_is_lost(counts):
    lda = TemperedLDA(3, tempering=None, doc_update="sampled", random_state=0).fit(
        counts
    )
    before = lda.components_
    fractions = counts.astype(float)
    fractions.data[-1] = 0.5
    for method in lda.fit, lda.partial_fit:
        with pytest.raises(ValueError, match="whole"):
            method(fractions)
        np.testing.assert_array_equal(lda.components_, before)
    fresh = clone(lda)
    with pytest.raises(ValueError, match="whole"):
        fresh.fit(fractions)
    assert not hasattr(fresh, "components_")
    assert np.isfinite(lda.score(fractions))
    assert np.isfinite(lda.set_params(doc_update="auto").fit(fractions).score(counts))


def test_transform_and_score_use_variational_inference(counts):
    lda = TemperedLDA(3, tempering=None, doc_update="sampled", random_state=0).fit(
        counts
    )
    there, score = lda.transform(counts), lda.score(counts)
    lda.set_params(doc_update="variational")
    np.testing.assert_array_equal(lda.transform(counts), there)
    assert lda.score(counts) == score


def test_a_comparison_without_annealing_keeps_the_update(counts):
    """Only temperatures of single documents turn sampling off."""

    def fit(doc_update, tempering):
        lda = TemperedLDA(
            30, tempering=tempering, doc_update=doc_update, random_state=0
        )
        return lda.fit(counts).components_

    for tempering, same in (
        (None, "sampled"),
        (LocalTempering(n_temperatures=10), "variational"),
    ):
        auto, given = fit("auto", tempering), fit(same, tempering)
        np.testing.assert_array_equal(auto, given)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_auto_begins_to_sample_where_the_temperature_is_low(counts):
    def fit(doc_update, max_iter):
        lda = AnnealedLDA(
            30,
            batch_size=40,
            max_iter=max_iter,
            doc_update=doc_update,
            random_state=0,
            schedule=lambda t: 2.0 if t < 6 else 1.0,
        )
        return lda.fit(counts)

    per_pass = fit("auto", 1).n_batch_iter_
    hot = 6 // per_pass
    a, b = (fit(update, hot) for update in ("auto", "variational"))
    np.testing.assert_array_equal(a.components_, b.components_)
    a, b = (fit(update, hot + 2) for update in ("auto", "variational"))
    assert (a.components_ != b.components_).any()


@pytest.mark.every(2)
@pytest.mark.parametrize("weight", [1.0, 0.3])
@pytest.mark.filterwarnings("ignore:sample_weight sums to 0.6")
def test_no_token_of_a_huge_count_is_lost(weight):
    X = np.array([[9_000_000, 0, 1], [0, 3, 1]])
    lda = TemperedLDA(
        1, tempering=None, doc_update="sampled", batch_size=None, max_iter=1
    ).fit(X, sample_weight=[weight, weight])
    total = lda.components_.sum(dtype=float) - 0.3
    assert total == pytest.approx(weight * X.sum(), rel=1e-6)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_too_many_tokens_to_draw_are_refused(dtype):
    """Also if their sum overflows."""
    with pytest.raises(ValueError, match="tokens"):
        TemperedLDA(2, tempering=None, doc_update="sampled").fit(np.full((3, 2), 1e9))
    X = np.full((20, 2), 2**62, dtype=dtype) * dtype(2 if dtype == np.uint64 else 1)
    with pytest.raises(ValueError, match="tokens"):
        AnnealedLDA(5, doc_update="sampled").fit(X)


def test_duplicate_entries_are_summed_before_counts_are_checked():
    X = sparse.csr_array((np.full(8, 0.5), np.repeat([0, 1, 0, 1], 2), range(0, 9, 2)))
    lda = TemperedLDA(2, tempering=None, doc_update="sampled", batch_size=2)
    assert np.isfinite(lda.fit(X).components_).all()


def test_sampling_all_the_way_begins_less_hot(documents):
    lda = AnnealedLDA(8, doc_update="sampled", random_state=0).fit(documents)
    assert lda.schedule_.start == lda_model.SAMPLED_START


@pytest.mark.parametrize(
    ("n_words", "unit", "is_sampled"), [(5, 1, True), (5, 0.9, False), (20, 1, False)]
)
def test_fits_of_very_short_documents_are_those_of_sampling_all_the_way(
    n_words, unit, is_sampled
):
    X = unit * make_lda_documents(300, 50, 8, doc_length=n_words, random_state=0)
    start = AnnealedLDA(8, random_state=0).fit(X).schedule_.start
    assert (start == lda_model.SAMPLED_START) == is_sampled


# -- lanes, chains --------------------------------------------------------------------


def case(n_topics, dtype, alpha=None, n_features=60):
    """Return a model, topics, and documents: long, short, empty, and repeated words."""
    random = np.random.default_rng(n_topics)
    alpha = np.full(n_topics, 0.1) if alpha is None else alpha
    model = LDAModel(
        n_topics, n_features, alpha, np.atleast_2d(0.1), dtype=dtype,
        doc_update="sampled",
    )  # fmt: skip
    topics = Topics.from_dense(
        random.gamma(0.3, 1.0, (n_features, n_topics)) + 0.01, model.topic_word_prior.T
    )
    X = random.poisson(random.gamma(0.5, 1.0, (90, 1)), (90, n_features))
    X[7], X[8] = 0, 0
    X[8, 3], X[9, 5] = 700, 40
    X[10], X[10, :2] = 0, 65536 // n_topics  # too long for lanes, so a chain
    return model, topics, X


def at_place(model, X, topics, powers=Powers(), seed=5):  # noqa: B008
    """Return the local parameters and statistics of a sampled local step."""
    step = local(model, X, topics, powers, seed=seed)
    return step.local_parameters, step.statistics.dense()


@pytest.mark.every(17)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_topics", [1, 2, 5, 20, 50, 130, 300])
@pytest.mark.parametrize("power", [1.0, 1 / 1.5, np.linspace(0.4, 1.0, 90)])
@pytest.mark.machine
def test_a_document_depends_on_no_neighbours(dtype, n_topics, power):
    """It depends only on its index: not on its lane or on documents in other lanes."""
    model, topics, X = case(n_topics, dtype)
    powers = Powers(local=power)
    gammas, _ = at_place(model, X, topics, powers)
    for keep in (range(0, 90, 2), [8], [0, 10, 20], range(60)):
        others = np.setdiff1d(np.arange(90), keep)
        alone = X.copy()
        alone[others] = 0
        alone[others[::3], 1] = 3
        found, _ = at_place(model, alone, topics, powers)
        np.testing.assert_array_equal(found[keep], gammas[keep])
    swapped, _ = at_place(model, X[::-1], topics, powers)
    if n_topics > 1:
        assert (swapped[::-1] != gammas).any()  # it depends on the index


@pytest.mark.parametrize("n_topics", [1, 3, 4, 20, 49, 256, 257])
def test_lanes_and_chains_count_each_token_once(n_topics):
    model, topics, X = case(n_topics, np.float64)
    random = np.random.default_rng(0)
    weight, share = random.uniform(0, 2, len(X)), random.uniform(0, 1, len(X))
    weight[3] = 0
    step = local(model, X, topics, Powers(statistics=share), unit_noise=weight, seed=2)
    sums = step.statistics.dense().sum(axis=1)
    np.testing.assert_allclose(sums, (weight * share) @ X, rtol=1e-12)
    gammas = step.local_parameters
    np.testing.assert_allclose(
        gammas.sum(axis=1), 0.1 * n_topics + X.sum(axis=1), rtol=1e-12
    )
    assert (gammas >= 0.1).all()


def digest_of_draws():
    """Return a digest of draws, which a test compares between instruction sets."""
    digest = hashlib.sha256()
    for dtype, n_topics in itertools.product(
        (np.float32, np.float64), (3, 20, 70, 300)
    ):
        model, topics, X = case(n_topics, dtype)
        powers = 1.0, 0.6, np.linspace(0.5, 1.0, len(X))
        uneven = LDAModel(
            n_topics, X.shape[1], np.geomspace(0.01, 1, n_topics), np.atleast_2d(0.1),
            dtype=dtype, doc_update="sampled",
        )  # fmt: skip
        for chosen, power in itertools.product((model, uneven), powers):
            for found in at_place(chosen, X, topics, Powers(local=power)):
                digest.update(np.ascontiguousarray(found).tobytes())
    return digest.hexdigest()


@pytest.mark.deep  # the import takes long
@pytest.mark.skipif("SKTEMPER_SIMD" in os.environ, reason="this is such a run")
@pytest.mark.parametrize("name", ["avx512", "avx2", "baseline"])
def test_every_instruction_set_draws_the_same(name):
    if name == special.instruction_set:
        pytest.skip("that is the one to compare with")
    here = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})"
    program = "import test_sampled_updates as t; print(t.digest_of_draws())"
    done = python_on(name, "-c", f"{here}; {program}")
    assert done.stdout.strip() == digest_of_draws(), done.stderr[-2000:]

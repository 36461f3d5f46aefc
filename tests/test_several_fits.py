"""Consensus of fits, topics that return, and trees of topics."""

import numpy as np
import pandas as pd
import pytest
from scipy.cluster.hierarchy import is_valid_linkage
from scipy.special import gammaln
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning

from sktemper import AnnealedLDA
from sktemper.datasets import make_lda_documents, open_counts, write_counts
from sktemper.inspection import topic_consensus, topic_tree
from sktemper.lda._consensus import recurrence
from sktemper.metrics import match_components


@pytest.fixture(scope="module")
def corpus():
    return make_lda_documents(
        800, 200, 5, doc_length=40, return_distributions=True, random_state=0
    )


@pytest.fixture(scope="module")
def halves(corpus):
    X = corpus[0]
    return [AnnealedLDA(5, random_state=s).fit(X[s::2]) for s in (0, 1)]


def tokens(lda):
    return lda.components_ - lda.topic_word_prior_


# -- topic_consensus -------------------------------------------------------------------
def test_corresponding_topics_are_added(corpus, halves):
    before = [lda.components_ for lda in halves]
    common = topic_consensus(halves)
    assert common.n_components == common.n_components_ == 5
    order, _ = match_components(*np.sqrt(before))
    one, two = tokens(halves[0]), tokens(halves[1])[order]
    np.testing.assert_allclose(tokens(common), one + two, rtol=0.05, atol=1.0)
    total = one.sum() + two.sum()
    np.testing.assert_allclose(tokens(common).sum(), total, rtol=1e-3)
    for lda, components in zip(halves, before, strict=True):
        np.testing.assert_array_equal(lda.components_, components)
    X, _, topic_word = corpus
    _, of_both = match_components(topic_word, common.components_)
    _, of_half = match_components(topic_word, halves[0].components_)
    assert of_both.mean() > of_half.mean()
    assert common.score(X) > max(lda.score(X) for lda in halves)
    np.testing.assert_allclose(common.doc_topic_prior_, halves[0].doc_topic_prior_)
    assert (common.topics(n_words=1)["recurrence"] == 1.0).all()
    assert topic_consensus([*halves, common.merge_topics(4)]).n_components == 4


@pytest.mark.parametrize("form", ["array", "frame", "parts", "disk"])
def test_a_consensus_is_that_of_fits_to_random_halves(corpus, form, tmp_path):
    X = corpus[0]
    frame = pd.DataFrame(X.toarray()).add_prefix("w")
    given = {"array": X.toarray(), "frame": frame, "parts": [X[:300], X[300:]]}
    write_counts(tmp_path / "X", [X])
    given["disk"] = open_counts(tmp_path / "X")
    lda = AnnealedLDA(5, random_state=0)
    found = topic_consensus(lda, given[form], n_splits=1, random_state=3)
    rng, parts = np.random.RandomState(3), []
    for half in np.array_split(rng.permutation(X.shape[0]), 2):
        fit = AnnealedLDA(5, random_state=rng.randint(2**31 - 1))
        parts.append(fit.fit(X[np.sort(half)][rng.permutation(400)]))
    expected = topic_consensus(parts)
    np.testing.assert_allclose(found.components_, expected.components_, rtol=1e-5)
    assert not hasattr(lda, "state_") and "_end_of_fit_checks" not in vars(found)
    if form == "frame":
        assert found.top_words(n_words=1)[0][0].startswith("w")


def test_fits_without_a_consensus(corpus, halves):
    X = corpus[0]
    narrow = AnnealedLDA(5, random_state=0).fit(X[:, :150])
    with pytest.raises(ValueError, match="different features.*expand_features"):
        topic_consensus([halves[0], narrow])
    for wrong in halves[:1], halves[0], [halves[0], "lda"]:
        with pytest.raises(ValueError, match="'fits' parameter must be"):
            topic_consensus(wrong)
    with pytest.raises(ValueError, match="'fits' parameter must be an LDA"):
        topic_consensus("lda", X)
    with pytest.raises(ValueError, match="minimum of 4 is required"):
        topic_consensus(halves[0], X[:3])
    with pytest.raises(ValueError, match="n_splits"):
        halves[0].fit_recurrence(X, n_splits=0)


def test_weights_count_documents_and_halves_warn_once(corpus):
    X, w, lda = corpus[0], 2.0 * (np.arange(800) % 3), AnnealedLDA(5, max_iter=1)
    with pytest.warns(ConvergenceWarning) as caught:
        found = topic_consensus(lda, X, sample_weight=w, n_splits=2, random_state=0)
    assert len(caught) == 1
    np.testing.assert_allclose(tokens(found).sum(), (w @ X).sum(), rtol=1e-2)
    lda = AnnealedLDA(5, random_state=0).fit(X, sample_weight=w)
    both = [
        lda.fit_recurrence(X[r], sample_weight=w[r], random_state=0).recurrence_
        for r in (slice(None), w > 0)
    ]
    np.testing.assert_array_equal(*both)
    with pytest.raises(ValueError, match="sample_weight"):
        lda.fit_recurrence(X, sample_weight=-w)


def test_recurrence_is_the_probability_of_half_of_the_words(corpus):
    class Known:
        def __init__(self, first):
            self.topic_word_ = np.eye(30)[first : first + 10].sum(axis=0)[None] / 10

    own, near, far = (Known(first) for first in (0, 5, 8))
    assert recurrence(own.topic_word_, [(near, near)]) == 1.0
    # near and far have 5 and 2 words of the topic, and 7 in common: 5.25, 1.5 apart
    assert recurrence(own.topic_word_, [(near, far)]) == pytest.approx(norm.cdf(0.5))
    # of own, far and quarters: words of the topic, and of the other half or quarter
    words, quarters = np.array([[10, 2], [2, 2], [10, 1], [1, 1]]), (own, Known(9))
    found = recurrence(own.topic_word_, [(own, far)], quarters)
    gain = words[:2].mean(axis=0) - words[2:].mean(axis=0)
    deviation = np.sqrt((words + [[0], [0], [1], [1]] * gain).var(0, ddof=1).mean())
    assert found == pytest.approx(norm.sf(4.5, 2 + 4 * (1 / 2 + 1 / 4) / 2, deviation))
    without = AnnealedLDA(5, random_state=0).fit(corpus[0])
    assert "recurrence" not in without.topics(n_words=1)
    found = without.fit_recurrence(corpus[0], n_splits=1, random_state=0)
    assert found is without and "recurrence" in found.topics(n_words=1)
    assert "recurrence" not in without.merge_topics(4).topics(n_words=1)
    assert "recurrence" not in without.fit(corpus[0]).topics(n_words=1)


# -- topic_tree ------------------------------------------------------------------------
def test_trees_have_the_merges_of_merge_topics(corpus, halves):
    lda = AnnealedLDA(10, random_state=0).fit(corpus[0])
    tree = topic_tree(lda)
    assert is_valid_linkage(tree)
    rows = dict(enumerate(tokens(lda)))
    for number, (one, other, _, _) in enumerate(tree):
        rows[10 + number] = rows.pop(int(one)) + rows.pop(int(other))
        merged = tokens(lda.merge_topics(9 - number)).sum(axis=1)
        expected = [row.sum() for row in rows.values()]
        np.testing.assert_allclose(np.sort(merged), np.sort(expected), rtol=1e-3)
    # the first loss, by the formula of `merge_topics`
    n_features = lda.components_.shape[1]

    def evidence(counts):
        eta = lda.topic_word_prior_[0, 0]
        value = gammaln(n_features * eta) - gammaln(counts.sum() + n_features * eta)
        return value + (gammaln(counts + eta) - gammaln(eta)).sum()

    lost = topic_tree(halves[0])[0]
    i, j = lost[:2].astype(int)
    one, other = tokens(halves[0])[[i, j]].astype(float)
    loss = evidence(one) + evidence(other) - evidence(one + other)
    assert lost[2] == pytest.approx(loss / tokens(halves[0]).sum(), rel=1e-3)


def test_a_tree_of_one_topic_is_empty(corpus):
    assert topic_tree(AnnealedLDA(1, random_state=0).fit(corpus[0])).shape == (0, 4)
    with pytest.raises(ValueError, match="'lda' parameter must be a fitted LDA"):
        topic_tree("lda")

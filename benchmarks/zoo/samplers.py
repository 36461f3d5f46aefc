"""Random data for several families; a seed gives the same data on every machine."""

import numpy as np
from scipy import sparse


def zipf(n, exponent):
    """Return the probabilities of ranks by Zipf's law."""
    weights = 1.0 / np.arange(1, n + 1) ** exponent
    return weights / weights.sum()


def documents_of_tokens(random, weights, topics, lengths):
    """Return counts of words: each token draws a topic, and a word from the topic.

    Parameters
    ----------
    random : numpy.random.Generator
    weights : ndarray of shape (n_rows, n_topics)
    topics : ndarray of shape (n_topics, n_features)
    lengths : ndarray of int, shape (n_rows,)
    """
    n_rows, n_features = len(weights), topics.shape[1]
    places = []
    for n_tokens, probabilities in zip(
        random.multinomial(lengths, weights).T, topics, strict=True
    ):
        cumulative = np.cumsum(probabilities)
        uniform = random.random(n_tokens.sum()) * cumulative[-1]
        words = np.minimum(cumulative.searchsorted(uniform, "right"), n_features - 1)
        places.append(np.arange(n_rows).repeat(n_tokens) * n_features + words)
    places, counts = np.unique(np.concatenate(places), return_counts=True)
    rows, columns = np.divmod(places, n_features)
    shape = n_rows, n_features
    return sparse.csr_matrix((counts.astype(np.int32), (rows, columns)), shape)


def doubly_sampled(random, weights, topics, lengths, overdispersion):
    """Return counts whose word probabilities are random for each row.

    The probabilities are Gamma variables divided by their sum.  The means of the
    variables are the expected probabilities, and their scale is ``overdispersion``.
    """
    rows = []
    for weight, length in zip(weights, lengths, strict=True):
        expected = (weight[:, None] * topics).sum(axis=0)
        drawn = random.standard_gamma(expected / overdispersion + 1e-12)
        total = drawn.sum()
        p = drawn / total if total > 0 else expected / expected.sum()
        rows.append(sparse.csr_matrix(random.multinomial(length, p).astype(np.int32)))
    return sparse.vstack(rows, format="csr")


def item_answers(random, weights, profiles):
    """Return one-hot answers: each answer draws a profile, and a level from it.

    Parameters
    ----------
    weights : ndarray of shape (n_rows, n_profiles)
    profiles : ndarray of shape (n_profiles, n_items, n_levels)
        Probabilities of the levels of each item.

    Returns
    -------
    X : csr_matrix of shape (n_rows, n_items * n_levels)
    """
    n_rows = len(weights)
    _, n_items, n_levels = profiles.shape
    below = weights.cumsum(axis=1)[:, None, :-1] < random.random((n_rows, n_items, 1))
    chosen = profiles[below.sum(axis=2), np.arange(n_items)]
    uniform = random.random((n_rows, n_items, 1))
    levels = (chosen.cumsum(axis=2)[..., :-1] < uniform).sum(axis=2)
    columns = levels + n_levels * np.arange(n_items)
    indptr = np.arange(0, n_rows * n_items + 1, n_items)
    shape = n_rows, n_items * n_levels
    ones = np.ones(columns.size, dtype=np.int32)
    return sparse.csr_matrix((ones, columns.ravel(), indptr), shape)


def kmer_topics(n_topics, k):
    """Return a function that draws topics over all DNA sequences of ``k`` letters.

    Each topic is a Markov chain in which a base depends on the two bases before it.
    """

    def draw(random):
        topics = []
        for _ in range(n_topics):
            following = random.dirichlet(np.full(4, 1.5), (4, 4))
            pairs = np.full((4, 4), 1 / 16)
            for _ in range(200):
                pairs = (pairs[:, :, None] * following).sum(axis=0)
            words = pairs
            for _ in range(k - 2):
                words = words[..., None] * following
            topics.append(words.ravel())
        return np.array(topics)

    return draw


def split_rows(random, X, share, most, n_rows=None):
    """Return training and test rows of real data, chosen at random.

    Parameters
    ----------
    share : float
        Share of test rows.
    most : int
        Largest number of test rows.
    n_rows : int, default=None
        Largest number of training rows.
    """
    order = random.permutation(X.shape[0])
    n_test = min(int(share * len(order)), most)
    train = order[n_test:][:n_rows]
    return X[train], X[order[:n_test]]

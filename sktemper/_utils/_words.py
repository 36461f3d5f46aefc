"""Words of topics and clusters, their names and how much they say; named groups."""

import itertools

import numpy as np
from scipy import sparse
from scipy.special import ndtri

from ._arguments import check_share, positive_int, refuse

#: Pattern of the words of a text, by which scikit-learn's vectorizers find them.
WORD = r"\b\w\w+\b"
#: Number of tokens with the distribution of the corpus that are added to each cluster.
#: They make the lift of a word finite, and moderate in a cluster of few tokens.
PRIOR_TOKENS = 1.0
#: Largest share of the tokens of some texts without a column that is no reason to warn.
MOST_UNKNOWN = 0.05
#: Probability that the rate of a word is above the one at which topics are compared.
ABOVE = 0.05


def term_scores(concentration):
    """Return how much words tell each topic from the others, (n_topics, n_words).

    This is the term score of [1]_, with upper limits u of the rates, see `topics` of
    LDA: mean * (log u - mean over topics of log u).  A word that other topics lack by
    chance, because they have few tokens, thus counts little.

    References
    ----------
    .. [1] D. Blei, J. Lafferty, "Topic models", in "Text mining: classification,
       clustering, and applications", 2009.
    """
    totals = concentration.sum(axis=1, keepdims=True)
    mean = concentration / totals
    spread = np.sqrt(mean * (1.0 - mean) / (totals + 1.0))
    log_upper = np.log(mean + ndtri(1.0 - ABOVE) * spread)
    return mean * (log_upper - log_upper.mean(axis=0))


def words_of_topics(concentration, tokens, rank_by, n_words, prevalence=None):
    """Return for each topic the columns of its words, best first.

    Words without tokens are left out; if a topic has no others, its list is empty.
    Where no contrast is known, words are ranked by their probability.

    Parameters
    ----------
    concentration : ndarray of shape (n_topics, n_words)
        Dirichlet parameters.
    tokens : ndarray of shape (n_topics, n_words)
        Expected tokens.  Less than half of one, or of the largest number, is none.
    rank_by : {"term_score", "probability"} or float
        A number is the weight of the probability in the relevance.
    n_words : int
        Largest number of words.
    prevalence : ndarray of shape (n_topics,), default=None
        Shares of the topics in the corpus of the relevance; None takes the tokens.
    """
    n_words = positive_int(n_words, "n_words")
    mean = concentration / concentration.sum(axis=1, keepdims=True)
    if not isinstance(rank_by, str):
        weight = check_share(rank_by, "rank_by")
        in_corpus = (tokens.sum(axis=1) if prevalence is None else prevalence) @ mean
        lift = mean / np.maximum(in_corpus, np.finfo(float).tiny)
        score = weight * np.log(mean) + (1.0 - weight) * np.log(lift)
    elif rank_by == "term_score":
        score = np.maximum(term_scores(concentration), 0.0)
    elif rank_by == "probability":
        score = mean
    else:
        refuse("rank_by", "'term_score', 'probability' or a float", rank_by)
    has = (tokens >= 0.5 * min(1.0, tokens.max())) & (tokens > 0.0)
    order = np.lexsort((-mean, -score, ~has), axis=1)[:, :n_words]
    has = np.take_along_axis(has, order, axis=1)
    return [columns[own] for columns, own in zip(order, has, strict=True)]


def class_idf(word_counts, mean_tokens):
    """Return the factors of class TF-IDF that do not depend on the group.

    The factors of words without counts are finite, and otherwise arbitrary.
    """
    return np.log1p(mean_tokens / np.where(word_counts > 0, word_counts, 1.0))


def check_names(feature_names, n_features):
    """Return names as an array of objects; raise unless each column has one."""
    names = np.asarray(feature_names, dtype=object)
    if names.shape != (n_features,):
        found = len(names) if names.ndim == 1 else type(feature_names).__name__
        raise ValueError(
            f"feature_names must have one name for each of the {n_features} columns of "
            f"X, got {found}."
        )
    return names


def check_documents(documents, n_rows):
    if documents is None:
        return None
    if isinstance(documents, str):
        raise ValueError("documents must be a sequence of str, got one str.")
    documents = list(documents)
    if len(documents) != n_rows:
        raise ValueError(
            f"documents must have one text for each of the {n_rows} rows of X, got "
            f"{len(documents)}."
        )
    for number, text in enumerate(documents):
        if not isinstance(text, str):
            raise TypeError(f"documents[{number}] must be a str, got {text!r}.")
    return documents


def made_labels(labeller, words, weights, documents, n_texts):
    """Return the labels that a function makes of words and texts of each topic.

    Texts are the ``n_texts`` documents with the largest positive weights of a topic,
    the largest first.

    Parameters
    ----------
    labeller : callable
        Called as ``labeller(words, texts)`` with two lists of str.
    words : sequence of sequences of str
        The words of each topic, whose label is empty if it has none.
    weights : {array-like, sparse matrix} of shape (n_documents, n_topics)
        None without documents.
    documents : list of str or None
    n_texts : int
    """
    if not callable(labeller):
        raise TypeError(f"labeller must be callable, got {labeller!r}.")
    texts = [[] for _ in words]
    if documents is not None:
        weights = sparse.csc_array(weights)
        places = itertools.pairwise(weights.indptr)
        for own, (start, end) in zip(texts, places, strict=True):
            order = np.argsort(-weights.data[start:end], kind="stable")[:n_texts]
            own += [documents[i] for i in weights.indices[start:end][order]]
    pairs = zip((list(map(str, own)) for own in words), texts, strict=True)
    return [str(labeller(own, some)) if own else "" for own, some in pairs]


#: Largest number of groups that are shown.
MOST_GROUPS = 30


def largest_groups(groups, tokens):
    """Return sorted names of groups, numbers of tokens, and places of the largest."""
    names, numbers = np.unique(np.asarray(groups).astype(str), return_inverse=True)
    sizes = np.bincount(numbers, weights=tokens)
    return names, sizes, np.argsort(-sizes, kind="stable")[:MOST_GROUPS]

"""Words of topics and clusters, their names and how much they say; named groups."""

import itertools

import numpy as np
from scipy import sparse

#: Pattern of the words of a text, by which scikit-learn's vectorizers find them.
WORD = r"\b\w\w+\b"
#: Number of tokens with the distribution of the corpus that are added to each cluster.
#: They make the lift of a word finite, and moderate in a cluster of few tokens.
PRIOR_TOKENS = 1.0
#: Largest share of the tokens of some texts without a column that is no reason to warn.
MOST_UNKNOWN = 0.05


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
        The words of each topic.
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
        for own, (start, end) in zip(
            texts, itertools.pairwise(weights.indptr), strict=True
        ):
            order = np.argsort(-weights.data[start:end], kind="stable")[:n_texts]
            own += [documents[i] for i in weights.indices[start:end][order]]
    pairs = zip(words, texts, strict=True)
    return [str(labeller(list(map(str, own)), some)) for own, some in pairs]


#: Largest number of groups that are shown.
MOST_GROUPS = 30


def largest_groups(groups, tokens):
    """Return sorted names of groups, numbers of tokens, and places of the largest."""
    names, numbers = np.unique(np.asarray(groups).astype(str), return_inverse=True)
    sizes = np.bincount(numbers, weights=tokens)
    return names, sizes, np.argsort(-sizes, kind="stable")[:MOST_GROUPS]

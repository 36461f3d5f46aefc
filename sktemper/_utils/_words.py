"""Words of topics and clusters, their names and how much they say; named groups."""

import numpy as np

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


#: Largest number of groups that are shown.
MOST_GROUPS = 30


def largest_groups(groups, tokens):
    """Return sorted names of groups, numbers of tokens, and places of the largest."""
    names, numbers = np.unique(np.asarray(groups).astype(str), return_inverse=True)
    sizes = np.bincount(numbers, weights=tokens)
    return names, sizes, np.argsort(-sizes, kind="stable")[:MOST_GROUPS]

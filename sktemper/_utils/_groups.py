"""Named groups of documents."""

import numpy as np

#: Largest number of groups that are shown.
MOST_GROUPS = 30


def largest_groups(groups, tokens):
    """Return sorted names of groups, numbers of tokens, and places of the largest."""
    names, numbers = np.unique(np.asarray(groups).astype(str), return_inverse=True)
    sizes = np.bincount(numbers, weights=tokens)
    return names, sizes, np.argsort(-sizes, kind="stable")[:MOST_GROUPS]

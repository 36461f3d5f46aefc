"""Checks of priors and counts."""

import math
from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from .._arguments import refuse

__all__ = ["check_samplable", "positive"]

#: Largest number of tokens of a sampled document; each token takes four bytes.
MOST_TOKENS = 10_000_000


def positive(value, name, shapes):
    """Return a number, or an array of one of ``shapes``, as positive float64."""
    if isinstance(value, bool):
        refuse(name, "a positive number", value)
    if isinstance(value, Real):
        if not 0 < value < math.inf:
            raise ValueError(f"{name} must be positive and finite, got {value}.")
        return np.float64(value)
    array = check_array(
        value, dtype=np.float64, ensure_2d=False, allow_nd=False, input_name=name
    )
    if array.shape not in shapes:
        expected = " or ".join(map(str, shapes))
        raise ValueError(f"{name} has shape {array.shape}; expected {expected}.")
    if not (array > 0).all():
        raise ValueError(f"{name} must be positive everywhere.")
    return array


def check_samplable(X):
    """Raise if the topics of tokens cannot be drawn one by one.

    Raises
    ------
    ValueError
        If counts are not whole, or a document has more than `MOST_TOKENS` tokens.
    """
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.astype(np.float64)  # a sum may exceed the dtype of X
        X.sum_duplicates()
    counts = X.data if sparse.issparse(X) else X
    if counts.dtype.kind == "f" and (counts != np.rint(counts)).any():
        raise ValueError(
            'doc_update="sampled" draws the topic of each token, so counts must be '
            'whole numbers; doc_update="auto" takes fractional counts variationally.'
        )
    if X.sum(axis=1, dtype=np.float64).max() > MOST_TOKENS:
        raise ValueError(
            'doc_update="sampled" draws the topic of each token, and a document has '
            f'more than {MOST_TOKENS:,} tokens; doc_update="auto" takes long documents '
            "variationally."
        )

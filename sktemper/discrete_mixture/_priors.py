"""Estimation of the prior of words from documents."""

import numpy as np
from scipy import sparse

__all__ = ["auto_feature_prior"]

#: Smallest and largest concentration of "auto".
LEAST, MOST = 0.1, 1.0
#: The prior of a component has at most this share of the mean number of tokens of a
#: component.
SHARE_OF_TOKENS = 0.1


def auto_feature_prior(X, n_components, sample_weight=None):
    r"""Return a concentration estimated from pairs of equal tokens in rows.

    Two tokens of a row have the same component.  Under a symmetric Dirichlet prior
    :math:`\eta` of the V probabilities of a component, they are the same word with the
    probability :math:`(\eta + 1) / (V \eta + 1)`.  If c is the share of pairs of equal
    tokens, the estimate is :math:`\eta = (1 - c) / (V c - 1)`.  One-hot answers have no
    pairs of equal tokens; the concentration is then 1, a uniform prior.  The
    concentration is reduced if the prior of all words would outweigh the tokens of a
    component.  It is at least 0.1, because words that are common in all components
    raise the share of pairs, too.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
        Counts.  The pairs of a row are weighted by its number of tokens.
    n_components : int
    sample_weight : ndarray of shape (n_samples,) or None

    Returns
    -------
    concentration : float
        Concentration between 0.1 and 1; it is 0.1 if no row has two tokens, or if some
        counts are fractions.
    """
    X = sparse.csr_array(X, dtype=np.float64)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight
    tokens = np.asarray(X.sum(axis=1)).ravel()
    has_pairs = (tokens >= 2.0) & (weight > 0.0)
    total = weight[has_pairs] @ tokens[has_pairs]
    if not total > 0.0 or (X.data != np.rint(X.data)).any():
        return LEAST
    others = np.maximum(tokens - 1.0, 1.0)
    same = X.data / np.repeat(others, np.diff(X.indptr)) * np.maximum(X.data - 1.0, 0.0)
    of_rows = sparse.csr_array((same, X.indices, X.indptr), shape=X.shape).sum(axis=1)
    share = weight[has_pairs] @ of_rows[has_pairs] / total
    excess = X.shape[1] * share - 1.0
    found = (1.0 - share) / excess if excess > 0.0 else MOST
    heaviest = SHARE_OF_TOKENS * total / (n_components * X.shape[1])
    return float(np.clip(min(found, heaviest), LEAST, MOST))

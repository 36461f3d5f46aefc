"""Topics from the rotated axes of a correspondence analysis."""

import numpy as np
from scipy.linalg import qr

from .._linalg import one_blas_thread

__all__ = ["spectral_tokens"]

#: Iterations of the rotation.
N_ROTATIONS = 8


def spectral_tokens(correspondence, n_topics):
    """Return the expected tokens of topics, one topic for each rotated axis.

    The scores of the documents are rotated such that each document is near few axes.
    The rotated coordinates of a document are proportional to its topic weights.

    Parameters
    ----------
    correspondence : Correspondence
    n_topics : int
        K.  Each topic has 1 / K of the tokens of the sample.

    Returns
    -------
    tokens : ndarray of shape (n_axes, n_features)
        At most K rows, sorted by the mean column index of a topic's words.
    """
    weight, scores = correspondence.weight, correspondence.scores
    with one_blas_thread():
        loadings = scores @ _rotation(scores / np.sqrt(weight)[:, None], weight)
    loadings /= np.sqrt(weight)[:, None]
    loadings *= np.where(weight @ loadings**3 < 0.0, -1.0, 1.0)
    shares = np.maximum(loadings, 0.0)
    sums = shares.sum(axis=1, keepdims=True)
    shares = weight[:, None] * np.divide(shares, sums, where=sums > 0.0, out=shares)
    tokens = (correspondence.X.T @ shares).T
    totals = tokens.sum(axis=1)
    filled = totals > 0.0
    if not filled.all():
        tokens, totals = tokens[filled], totals[filled]
    tokens /= totals[:, None]  # all changes are in place, because tokens are large
    # sorted, because rounding decides the order of equally extreme documents
    order = np.argsort(tokens @ np.arange(tokens.shape[1]), kind="stable")
    tokens = tokens[order]
    tokens *= correspondence.n_tokens / n_topics
    return tokens


def _rotation(scores, weight):
    """Return the rotation after which most documents are near few axes.

    The first axes point to the most extreme documents, which a pivoted QR decomposition
    finds.  Each iteration replaces the rotation by the polar factor of the gradient of
    the varimax criterion [1]_.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_axes)
        Scores of rows, for a weight of 1.  Weighted by ``weight``, the columns are
        orthonormal.
    weight : ndarray of shape (n_rows,)

    References
    ----------
    .. [1] H. Kaiser, "The varimax criterion for analytic rotation in factor analysis",
       Psychometrika 23, 1958.
    """
    n_axes = scores.shape[1]
    _, extreme = qr(scores.T, mode="r", pivoting=True)
    rotation = _polar(scores[extreme[:n_axes]].T)
    weighted, total = (weight[:, None] * scores).T, weight.sum()
    for _ in range(N_ROTATIONS):
        loadings = scores @ rotation
        squares = loadings**2
        mean = weight @ squares / total
        rotation = _polar(weighted @ (loadings * (squares - mean)))
    return rotation


def _polar(matrix):
    """Return the orthogonal matrix nearest to a square matrix."""
    left, _, right = np.linalg.svd(matrix)
    return left @ right

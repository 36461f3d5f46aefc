"""Topics and temperatures at the start of a fit, by correspondence analysis."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import qr
from scipy.special import polygamma

from .._families._critical import effective_rows, leading_axes, sample_counts
from .._utils._linalg import nearest_rotation
from .._utils._tasks import one_blas_thread
from .._utils._validation import ROUNDING

# -- critical temperatures of topics, from eigenvalues of correspondence analysis ------
#: Number of bisections of the interval of a critical temperature.
N_HALVINGS = 60


def critical_temperatures(eigenvalues, tokens_per_row, n_topics, alpha):
    r"""Return the temperatures below which topics differ along each axis.

    Equal topics are a fixed point of training.  With b = 1/T and a = b n / K, a small
    difference between topics along an axis with the eigenvalue :math:`\lambda_j` is
    multiplied in each pass by

    .. math:: b \left(1 + \lambda_j \frac{u}{1 - u}\right), \qquad
        u = a b \, \psi'(\alpha + a),

    and a difference in the weights of a single document by u.  The critical temperature
    is the highest temperature at which one of these two factors is 1.

    n are the tokens of a mean nonempty document, K the topics, and alpha the parameter
    of the documents' prior, or its median.  The temperatures, (n_axes,), are at least
    1.
    """

    def excess(temperature):
        """Return a value that is positive above the critical temperature."""
        a = tokens_per_row / (n_topics * temperature)
        u = a * polygamma(1, alpha + a) / temperature
        stable = (temperature - 1.0) * (1.0 - u) - eigenvalues * u
        return np.where(u < 1.0, stable, -1.0)

    lower, upper = np.ones(len(eigenvalues)), np.full(len(eigenvalues), 2.0)
    while (too_low := excess(upper) < 0.0).any():
        upper = np.where(too_low, 2.0 * upper, upper)
    for _ in range(N_HALVINGS):
        middle = (lower + upper) / 2.0
        too_low = excess(middle) < 0.0
        lower = np.where(too_low, middle, lower)
        upper = np.where(too_low, upper, middle)
    return lower


# -- correspondence analysis of documents, which shows topics before a fit -------------
#: Tokens that are added to each word for the scores, as a multiple of the mean.
#: Otherwise, axes of short texts would belong to few documents with rare words.
RARE = 2.0


class Correspondence(NamedTuple):
    """The leading axes of the correspondence analysis of a sample of documents.

    Let n_d be the number of tokens of document d, m_v the number of tokens of word v,
    and N the number of all tokens.  The analysed matrix has the entries
    ``(x_dv - n_d m_v / N) / sqrt(n_d m_v)``.

    References
    ----------
    .. [1] T. Qin, K. Rohe, "Regularized spectral clustering under the degree-corrected
       stochastic blockmodel", 2013.
    """

    # The largest squared singular values of the matrix, decreasing, from 0 to 1.
    eigenvalues: np.ndarray
    # Orthonormal columns, (n_rows, 1 + n_axes): the trivial axis ``sqrt(n_d / N)``, and
    # the left singular vectors of the matrix with m_v + `RARE` times their mean in the
    # denominator, which also are orthogonal to the trivial axis [1]_.
    scores: np.ndarray
    X: Any  # CSR; counts of documents with tokens, divided by the largest count
    weight: np.ndarray  # number of times that each of these documents counts
    tokens_per_row: float  # mean number of tokens of these documents
    n_words: int  # number of words that occur in these documents

    @property
    def n_rows(self):
        return effective_rows(self.weight)

    def eigenvalues_without_sampling_noise(self):
        """Return the eigenvalues in the limit of many documents of the same kind.

        Independent draws of words add noise of variance 1 / N to each entry of the
        matrix.  An eigenvalue that would be s without noise is then about
        ``(s + a) (s + b) / s``, with a = D / N and b = V / N for D rows and V words
        [1]_.  For many rows it tends to s + a.  The largest eigenvalue of noise alone
        is ``(sqrt(a) + sqrt(b))**2``.  Eigenvalues that do not exceed this value are
        replaced by 0.

        References
        ----------
        .. [1] F. Benaych-Georges, R. Nadakuditi, "The singular values and vectors of
           low rank perturbations of large rectangular random matrices", 2012.
        """
        a = 1.0 / self.tokens_per_row
        b = a * self.n_words / self.n_rows
        excess = self.eigenvalues - a - b
        is_signal = excess > 2.0 * np.sqrt(a * b)
        root = np.sqrt(np.maximum(excess**2 - 4.0 * a * b, 0.0))
        return np.where(is_signal, (excess + root) / 2.0 + a, 0.0)


def analyse(X, sample_weight, n_axes):
    """Return the `Correspondence` of at most `ROWS_ANALYSED` evenly spaced rows.

    The result is None if no document has tokens.  Data of a low rank have fewer than
    ``n_axes`` axes.
    """
    counts = sample_counts(X, sample_weight)
    if counts is None:
        return None
    # dividing all counts by the largest count does not change the analysed matrix
    X, weight, tokens, largest = counts
    words = X.T @ weight
    columns = np.flatnonzero(words > 0.0)
    A = X if len(columns) == X.shape[1] else X[:, columns]
    words = words[columns]
    eigenvalues, _ = _axes(A, weight, tokens, words, n_axes)
    _, scores = _axes(A, weight, tokens, words, n_axes, RARE * words.mean())
    mean = float(weight @ tokens / weight.sum()) * largest
    return Correspondence(eigenvalues, scores, X, weight, mean, len(columns))


def _axes(X, weight, tokens, words, n_axes, rare=0.0):
    """Return the leading eigenvalues, and the scores of rows on the axes.

    ``rare`` tokens are added to those of each word in the denominator.
    """
    total = float(weight @ tokens)
    of_rows, of_words = np.sqrt(weight / tokens), 1.0 / np.sqrt(words + rare)
    entries = np.repeat(of_rows, np.diff(X.indptr))
    entries *= X.data
    entries *= of_words[X.indices]
    A = sparse.csr_array((entries, X.indices, X.indptr), shape=X.shape)
    of_words *= words / np.sqrt(total)
    u = np.sqrt(weight * tokens / total)
    eigenvalues, vectors = leading_axes(A, u, of_words, n_axes)
    found = eigenvalues > ROUNDING  # the largest possible eigenvalue is 1
    scores = np.column_stack([u, vectors[:, found]])
    return np.minimum(eigenvalues[found], 1.0), scores


# -- topics from the rotated axes of a correspondence analysis -------------------------
#: Iterations of the rotation.
N_ROTATIONS = 8


def spectral_tokens(correspondence, n_topics, by_size=False):
    """Return the expected tokens of topics, one topic for each rotated axis.

    The scores of the documents are rotated such that each document is near few axes.
    The rotated coordinates of a document are proportional to its topic weights.

    The result has the shape (n_axes, n_features), with at most K rows, each with 1 / K
    of the tokens of the sample, sorted by the mean column index of their words, or by
    decreasing size.
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
    key = -totals if by_size else tokens @ np.arange(tokens.shape[1])
    order = np.argsort(key, kind="stable")
    tokens = tokens[order]
    tokens *= correspondence.tokens_per_row * weight.sum() / n_topics
    return tokens


def _rotation(scores, weight):
    """Return the rotation after which most documents are near few axes.

    The first axes point to the most extreme documents, which a pivoted QR decomposition
    finds.  Each iteration replaces the rotation by the polar factor of the gradient of
    the varimax criterion [1]_.

    ``scores`` are for rows of weight 1: weighted by ``weight``, their columns are
    orthonormal.

    References
    ----------
    .. [1] H. Kaiser, "The varimax criterion for analytic rotation in factor analysis",
       Psychometrika 23, 1958.
    """
    n_axes = scores.shape[1]
    _, extreme = qr(scores.T, mode="r", pivoting=True)
    rotation = nearest_rotation(scores[extreme[:n_axes]].T)
    weighted, total = (weight[:, None] * scores).T, weight.sum()
    for _ in range(N_ROTATIONS):
        loadings = scores @ rotation
        squares = loadings**2
        mean = weight @ squares / total
        rotation = nearest_rotation(weighted @ (loadings * (squares - mean)))
    return rotation

"""Generators of synthetic documents and factorial mixtures, with known parameters."""

from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils._param_validation import validate_params

from .._utils._arguments import Interval
from .._utils._typing import ArrayLike, DTypeLike, Float, Int, Seed, SparseMatrix
from ._random import dtype_of, seeded
from ._sparse import csr_container

# Number of tokens that are drawn at a time; each needs about 30 bytes of memory.
_CHUNK_TOKENS = 2**20
# Number of entries of X, or of the matrix of features, that are drawn at a time.
_CHUNK_VALUES = 2**20
# Eight shapes of 4 x 4 pixels, side by side.  Each shape overlaps with other shapes,
# and none is a sum or a difference of other shapes.
_SHAPES = """
####  #...  ....  #...  ....  .#..  ...#  ##..
....  #...  .##.  .#..  ...#  ####  ..##  ##..
....  #...  .##.  ..#.  ...#  .#..  .##.  ....
....  #...  ....  ...#  .###  .#..  ##..  ....
"""


@validate_params(
    {
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "doc_length": [Interval(Real, 0, None, closed="neither")],
        "doc_topic_prior": [Interval(Real, 0, None, closed="neither"), "array-like"],
        "topic_word_prior": [Interval(Real, 0, None, closed="neither"), "array-like"],
        "dtype": "no_validation",  # numpy checks the dtype
        "return_distributions": ["boolean"],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_lda_documents(
    n_samples: Int = 1000,
    n_features: Int = 500,
    n_components: Int = 10,
    *,
    doc_length: Float = 100,
    doc_topic_prior: Float | ArrayLike = 0.1,
    topic_word_prior: Float | ArrayLike = 0.05,
    dtype: DTypeLike = np.int32,
    return_distributions: bool = False,
    random_state: Seed = None,
) -> tuple[SparseMatrix, np.ndarray, np.ndarray]:
    r"""Generate word counts by the model of latent Dirichlet allocation.

    Each topic k has a distribution over words
    :math:`\beta_k \sim \mathrm{Dirichlet}(\eta)`. Document d has a distribution over
    topics :math:`\theta_d \sim \mathrm{Dirichlet}(\alpha)`. Its number of tokens is
    Poisson distributed with the mean ``doc_length``. Each token draws a topic from
    :math:`\theta_d`, then a word from that topic's :math:`\beta_k` [1]_.

    Time and memory grow with the number of tokens, not with ``n_samples *
    n_features``: millions of documents over a large vocabulary are fine.

    Parameters
    ----------
    n_samples : int, default=1000
        The number of documents.

    n_features : int, default=500
        The number of words in the vocabulary.

    n_components : int, default=10
        The number of topics.

    doc_length : float, default=100
        The mean number of tokens of a document. Lengths are Poisson distributed, so
        that some documents are empty if the mean is small.

    doc_topic_prior : float or array-like of shape (n_components,), default=0.1
        The concentration :math:`\alpha` of the documents' distributions over topics.

    topic_word_prior : float or array-like of shape (n_features,), default=0.05
        The concentration :math:`\eta` of the topics' distributions over words.

    dtype : dtype, default=numpy.int32
        The type of the counts.

    return_distributions : bool, default=False
        If True, the distributions that the words were drawn from are returned too.

    random_state : int, RandomState instance or None, default=None
        Determines the random numbers. Pass an int for the same documents at each
        call.

    Returns
    -------
    X : CSR matrix of shape (n_samples, n_features)
        The word counts; a sparse array if scikit-learn's option ``sparse_interface``
        is "sparray".

    doc_topic : ndarray of shape (n_samples, n_components)
        The distribution over topics of each document, :math:`\theta`. Only returned
        if ``return_distributions`` is True.

    topic_word : ndarray of shape (n_components, n_features)
        The distribution over words of each topic, :math:`\beta`. Only returned if
        ``return_distributions`` is True.

    References
    ----------
    .. [1] D. M. Blei, A. Y. Ng and M. I. Jordan (2003). Latent Dirichlet allocation.
       Journal of Machine Learning Research 3, 993-1022.

    Examples
    --------
    >>> from sktemper.datasets import make_lda_documents
    >>> X, doc_topic, topic_word = make_lda_documents(
    ...     n_samples=100, n_components=3, return_distributions=True, random_state=0
    ... )
    >>> X.shape, doc_topic.shape, topic_word.shape
    ((100, 500), (100, 3), (3, 500))
    >>> topic_word.sum(axis=1)
    array([1., 1., 1.])
    """
    dtype = dtype_of(dtype, "iuf")
    rng = seeded(random_state)
    alpha = _concentration("doc_topic_prior", doc_topic_prior, n_components)
    eta = _concentration("topic_word_prior", topic_word_prior, n_features)
    topic_word = rng.dirichlet(eta, size=n_components)
    word_cdf = np.cumsum(topic_word, axis=1)
    word_cdf /= word_cdf[:, -1:]

    counts, doc_topics = [], []
    chunk = max(1, int(_CHUNK_TOKENS / max(doc_length, n_components)))
    for start in range(0, n_samples, chunk):
        n_rows = min(chunk, n_samples - start)
        lengths = rng.poisson(doc_length, size=n_rows)
        doc_topic = rng.dirichlet(alpha, size=n_rows)
        counts.append(_draw_words(lengths, doc_topic, word_cdf, dtype, rng))
        if return_distributions:
            doc_topics.append(doc_topic)

    X = csr_container()(sparse.vstack(counts, format="csr"))
    if return_distributions:
        return X, np.concatenate(doc_topics), topic_word
    return X


@validate_params(
    {
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "components": ["array-like", None],
        "inclusion_probability": [Interval(Real, 0, 1, closed="both"), "array-like"],
        "noise_variance": [Interval(Real, 0, None, closed="left")],
        "dtype": "no_validation",  # numpy checks the dtype
        "return_components": ["boolean"],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_factorial_mixture(
    n_samples: Int = 1000,
    components: ArrayLike | None = None,
    *,
    inclusion_probability: Float | ArrayLike = 0.3,
    noise_variance: Float = 0.01,
    dtype: DTypeLike = np.float64,
    return_components: bool = False,
    random_state: Seed = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Generate samples by the factorial mixture model, sums of binary features.

    Sample n has feature k, :math:`z_{nk} = 1`, with probability :math:`\pi_k`.  Each
    feature k has a component :math:`\mu_k`.  A sample is the sum of the components of
    its features and of noise, :math:`x_n = \sum_k z_{nk} \mu_k + \varepsilon_n`,
    :math:`\varepsilon_n \sim \mathcal{N}(0, \sigma^2 I)`.

    By default, the data are similar to the toy data of [1]_: the components are eight
    overlapping shapes of 4 x 4 pixels, each weighted by a uniform draw from [0.5, 1].
    The shapes were designed for this package.

    Parameters
    ----------
    n_samples : int, default=1000
        The number of samples.

    components : array-like of shape (n_components, n_features), default=None
        The components :math:`\mu`. None takes the eight shapes, each of 16 pixels.

    inclusion_probability : float or array-like of shape (n_components,), default=0.3
        The probability :math:`\pi` of each feature.

    noise_variance : float, default=0.01
        The variance :math:`\sigma^2` of the noise.

    dtype : dtype, default=numpy.float64
        The type of the samples.

    return_components : bool, default=False
        If True, the features of the samples and the components are returned too.

    random_state : int, RandomState instance or None, default=None
        Determines the random numbers. Pass an int for the same samples at each call.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The samples.

    features : ndarray of shape (n_samples, n_components)
        Whether each sample has each feature, :math:`z`, as bool. Only returned if
        ``return_components`` is True.

    components : ndarray of shape (n_components, n_features)
        The components :math:`\mu`. Only returned if ``return_components`` is True.

    References
    ----------
    .. [1] S. Mandt, J. McInerney, F. Abrol, R. Ranganath and D. Blei (2016).
       Variational tempering. AISTATS, PMLR 51, 704-712.

    Examples
    --------
    >>> from sktemper.datasets import make_factorial_mixture
    >>> X, features, components = make_factorial_mixture(
    ...     100, return_components=True, random_state=0
    ... )
    >>> X.shape, features.shape, components.shape
    ((100, 16), (100, 8), (8, 16))
    >>> components[0].reshape(4, 4) > 0
    array([[ True,  True,  True,  True],
           [False, False, False, False],
           [False, False, False, False],
           [False, False, False, False]])
    """
    dtype = dtype_of(dtype, "f")
    rng = seeded(random_state)
    if components is None:
        components = _weighted_shapes(rng)
    components = check_array(components, dtype=np.float64, input_name="components")
    n_components, n_features = components.shape
    probability = _probability(inclusion_probability, n_components)

    X = np.empty((n_samples, n_features), dtype=dtype)
    features = np.empty((n_samples, n_components), dtype=bool)
    chunk = max(1, _CHUNK_VALUES // max(n_components, n_features))
    for start in range(0, n_samples, chunk):
        rows = slice(start, min(start + chunk, n_samples))
        features[rows] = rng.random(features[rows].shape) < probability
        noise = rng.normal(0.0, np.sqrt(float(noise_variance)), X[rows].shape)
        X[rows] = features[rows] @ components + noise
    return (X, features, components) if return_components else X


def _weighted_shapes(rng):
    """Return the shapes as rows, each multiplied by a random weight."""
    lines = [line.split() for line in _SHAPES.split("\n") if line]
    shapes = np.array(["".join(parts) for parts in zip(*lines, strict=True)])
    pixels = shapes[:, None].view("U1") == "#"
    return pixels * rng.uniform(0.5, 1.0, size=(len(shapes), 1))


def _probability(inclusion_probability, n_components):
    probability = np.asarray(inclusion_probability, dtype=np.float64)
    if probability.shape not in ((), (n_components,)) or not np.all(
        (probability >= 0) & (probability <= 1)
    ):
        raise ValueError(
            "inclusion_probability must be a number in [0, 1] or an array of "
            f"{n_components} such numbers, got {inclusion_probability!r}."
        )
    return probability


def _concentration(name, prior, size):
    prior = np.asarray(prior, dtype=np.float64)
    if prior.shape not in ((), (size,)) or not np.all((prior > 0) & (prior < np.inf)):
        raise ValueError(
            f"{name} must be a positive number or an array of {size} positive numbers, "
            f"got {prior!r}."
        )
    return np.broadcast_to(prior, size)


def _draw_words(lengths, doc_topic, word_cdf, dtype, rng):
    """Draw the words of all tokens, topic by topic."""
    topic_counts = rng.multinomial(lengths, doc_topic)
    documents, words = [], []
    for n_tokens, cdf in zip(topic_counts.T, word_cdf, strict=True):
        documents.append(np.repeat(np.arange(len(lengths)), n_tokens))
        words.append(cdf.searchsorted(rng.random(n_tokens.sum()), side="right"))
    # a sum may be too large for a small type
    wide = dtype if dtype.kind == "f" else np.promote_types(dtype, np.int32)
    ones = np.ones(lengths.sum(), dtype=wide)
    coordinates = np.concatenate(documents), np.concatenate(words)
    shape = len(lengths), word_cdf.shape[1]
    counts = sparse.csr_matrix((ones, coordinates), shape=shape)
    if dtype.kind != "f" and counts.data.max(initial=0) > np.iinfo(dtype).max:
        raise ValueError(
            f"A count of {counts.data.max()} is too large for dtype={dtype}. Use "
            "dtype=numpy.int32, or a smaller doc_length."
        )
    return counts.astype(dtype, copy=False)

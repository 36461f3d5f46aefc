"""Generators of synthetic data with known parameters."""

from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, check_random_state

from .._utils._arguments import refuse
from .._utils._budgets import VALUES_AT_ONCE, slices
from .._utils._constraints import (
    FINITE,
    NOT_NEGATIVE,
    POSITIVE,
    Interval,
    WholeNumber,
    check_arguments,
)
from .._utils._sklearn import csr_container
from .._utils._typing import ArrayLike, DTypeLike, Float, Int, Seed
from ._ratings import csr_of_keys

# If more than this share of all pairs is rated, the algorithm visits every pair;
# otherwise it draws pairs until there are enough different ones.
_DENSE_SHARE = 0.05
#: Constraints of the parameters of all functions.
_SIZES = "n_samples", "n_features", "n_users", "n_items"
_VARIANCES = "component_variance", "bias_variance", "noise_variance", "inequality"
_CONSTRAINTS = {
    **dict.fromkeys(_SIZES, [WholeNumber(1)]),
    **dict.fromkeys(_VARIANCES, [NOT_NEGATIVE]),
    **dict.fromkeys(["doc_topic_prior", "topic_word_prior"], [POSITIVE, "array-like"]),
    "doc_length": [POSITIVE],
    "components": ["array-like", None],
    "inclusion_probability": [Interval(Real, 0, 1, closed="both"), "array-like"],
    "n_ratings": [WholeNumber(0)],
    "global_mean": [FINITE],
    "n_stars": [WholeNumber(1), None],
    "random_state": ["random_state"],
}
#: Descriptions of kinds of types, for error messages.
KINDS = {"f": "a floating-point type", "iuf": "a type of integers or floats"}
# Eight shapes of 4 x 4 pixels, side by side.  Each shape overlaps with other shapes,
# and none is a sum or a difference of other shapes.
_SHAPES = """
####  #...  ....  #...  ....  .#..  ...#  ##..
....  #...  .##.  .#..  ...#  ####  ..##  ##..
....  #...  .##.  ..#.  ...#  .#..  .##.  ....
....  #...  ....  ...#  .###  .#..  ##..  ....
"""


@check_arguments(**_CONSTRAINTS, n_components=[WholeNumber(1)])
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
) -> Any:
    r"""Generate word counts by the model of latent Dirichlet allocation.

    Each topic k has a distribution over words
    :math:`\beta_k \sim \mathrm{Dirichlet}(\eta)`. Document d has a distribution over
    topics :math:`\theta_d \sim \mathrm{Dirichlet}(\alpha)`. Each token draws a topic
    from :math:`\theta_d`, then a word from that topic's :math:`\beta_k` [1]_. Time and
    memory grow with the number of tokens, not with ``n_samples * n_features``.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of documents.
    n_features : int, default=500
        Number of words in the vocabulary.
    n_components : int, default=10
        Number of topics.
    doc_length : float, default=100
        Mean number of tokens of a document. Lengths are Poisson distributed, so that
        some documents are empty if the mean is small.
    doc_topic_prior : float or array-like of shape (n_components,), default=0.1
        Concentration :math:`\alpha` of the documents' distributions over topics.
    topic_word_prior : float or array-like of shape (n_features,), default=0.05
        Concentration :math:`\eta` of the topics' distributions over words.
    dtype : dtype, default=numpy.int32
        Type of the counts.
    return_distributions : bool, default=False
        Whether to return ``doc_topic`` and ``topic_word``, too.
    random_state : int, RandomState instance or None, default=None
        Determines the random numbers; an int gives the same documents at each call.

    Returns
    -------
    X : CSR matrix of shape (n_samples, n_features)
        Word counts; a sparse array if scikit-learn's option ``sparse_interface`` is
        "sparray".
    doc_topic : ndarray of shape (n_samples, n_components)
        Distribution over topics of each document, :math:`\theta`.
    topic_word : ndarray of shape (n_components, n_features)
        Distribution over words of each topic, :math:`\beta`.

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
    dtype = _dtype_of(dtype, "iuf")
    rng = _seeded(random_state)
    alpha = _concentration("doc_topic_prior", doc_topic_prior, n_components)
    eta = _concentration("topic_word_prior", topic_word_prior, n_features)
    topic_word = rng.dirichlet(eta, size=n_components)
    word_cdf = np.cumsum(topic_word, axis=1)
    word_cdf /= word_cdf[:, -1:]

    counts, doc_topics = [], []
    for part in slices(n_samples, max(doc_length, n_components), VALUES_AT_ONCE):
        n_rows = part.stop - part.start
        lengths = rng.poisson(doc_length, size=n_rows)
        doc_topic = rng.dirichlet(alpha, size=n_rows)
        counts.append(_draw_words(lengths, doc_topic, word_cdf, dtype, rng))
        if return_distributions:
            doc_topics.append(doc_topic)

    X = csr_container()(sparse.vstack(counts, format="csr"))
    if return_distributions:
        return X, np.concatenate(doc_topics), topic_word
    return X


@check_arguments(**_CONSTRAINTS)
def make_factorial_mixture(
    n_samples: Int = 1000,
    components: ArrayLike | None = None,
    *,
    inclusion_probability: Float | ArrayLike = 0.3,
    noise_variance: Float = 0.01,
    dtype: DTypeLike = np.float64,
    return_components: bool = False,
    random_state: Seed = None,
) -> Any:
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
        Number of samples.
    components : array-like of shape (n_components, n_features), default=None
        The components :math:`\mu`. None takes the eight shapes, each of 16 pixels.
    inclusion_probability : float or array-like of shape (n_components,), default=0.3
        Probability :math:`\pi` of each feature.
    noise_variance : float, default=0.01
        Variance :math:`\sigma^2` of the noise.
    dtype : dtype, default=numpy.float64
        Type of the samples.
    return_components : bool, default=False
        Whether to return ``features`` and ``components``, too.
    random_state : int, RandomState instance or None, default=None
        Determines the random numbers; an int gives the same samples at each call.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The samples.
    features : ndarray of bool of shape (n_samples, n_components)
        Whether each sample has each feature, :math:`z`.
    components : ndarray of shape (n_components, n_features)
        The components :math:`\mu`.

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
    dtype = _dtype_of(dtype, "f")
    rng = _seeded(random_state)
    if components is None:
        components = _weighted_shapes(rng)
    components = check_array(components, dtype=np.float64, input_name="components")
    n_components, n_features = components.shape
    probability = _broadcast(
        "inclusion_probability",
        inclusion_probability,
        n_components,
        lambda p: (p >= 0) & (p <= 1),
        "in [0, 1]",
    )

    X = np.empty((n_samples, n_features), dtype=dtype)
    features = np.empty((n_samples, n_components), dtype=bool)
    for rows in slices(n_samples, max(n_components, n_features), VALUES_AT_ONCE):
        features[rows] = rng.random(features[rows].shape) < probability
        noise = rng.normal(0.0, np.sqrt(float(noise_variance)), X[rows].shape)
        X[rows] = features[rows] @ components + noise
    return (X, features, components) if return_components else X


@check_arguments(**_CONSTRAINTS, n_components=[WholeNumber(0)])
def make_ratings(
    n_users: Int = 1000,
    n_items: Int = 500,
    n_components: Int = 5,
    *,
    n_ratings: Int = 50_000,
    inequality: Float = 1.0,
    global_mean: Float = 3.5,
    component_variance: Float = 0.3,
    bias_variance: Float = 0.2,
    noise_variance: Float = 0.5,
    n_stars: Int | None = None,
    dtype: DTypeLike = np.float64,
    return_factors: bool = False,
    random_state: Seed = None,
) -> Any:
    r"""Generate ratings by the model of probabilistic matrix factorization.

    User i rates item j as :math:`y_{ij} = \mu + a_i + c_j + u_i^T v_j +
    \varepsilon_{ij}`, where the factors u and v, the biases a and c, and the noise
    :math:`\varepsilon` are Gaussian [1]_.

    Whether a pair is rated does not depend on the rating.  Pairs are drawn with
    probabilities proportional to the product of a log-normal activity of the user and a
    log-normal popularity of the item.  Time and memory are proportional to the number
    of ratings, unless a large share of all pairs is rated.

    Parameters
    ----------
    n_users, n_items : int, default=1000 and 500
        Numbers of rows and of columns.
    n_components : int, default=5
        Number of factors.
    n_ratings : int, default=50,000
        Number of ratings.
    inequality : float, default=1.0
        Standard deviation of the logarithms of activity and of popularity.  0 makes all
        users and all items alike.
    global_mean : float, default=3.5
        Mean of the ratings, :math:`\mu`.
    component_variance, bias_variance, noise_variance : float, default=.3, .2 and .5
        Variances of factors, of biases and of the noise.
    n_stars : int, default=None
        Largest rating, if ratings are rounded to integers from 1 on.
    dtype : dtype, default=numpy.float64
        Type of the ratings.
    return_factors : bool, default=False
        Whether to return the factors and biases, too.
    random_state : int, RandomState instance or None, default=None
        Determines the random numbers; an int gives the same ratings at each call.

    Returns
    -------
    X : CSR matrix of shape (n_users, n_items)
        Ratings; a sparse array if scikit-learn's option ``sparse_interface`` is
        "sparray".
    user_factors : ndarray of shape (n_users, n_components)
        Factors of the users, u.
    components : ndarray of shape (n_components, n_items)
        Factors of the items, v.
    user_biases, item_biases : ndarray of shape (n_users,) and (n_items,)
        Biases of the users, a, and of the items, c.

    References
    ----------
    .. [1] R. Salakhutdinov and A. Mnih (2008). Bayesian probabilistic matrix
       factorization using Markov chain Monte Carlo. ICML, 880-887.

    Examples
    --------
    >>> from sktemper.datasets import make_ratings
    >>> X, user_factors, components, *biases = make_ratings(
    ...     100, 50, n_ratings=1000, return_factors=True, random_state=0
    ... )
    >>> X.shape, X.nnz, user_factors.shape, components.shape
    ((100, 50), 1000, (100, 5), (5, 50))
    """
    if n_ratings > n_users * n_items:
        raise ValueError(
            f"n_ratings is {n_ratings}, but there are only {n_users * n_items} pairs "
            "of a user and an item."
        )
    dtype = _dtype_of(dtype, "f" if n_stars is None else "iuf")
    if dtype.kind != "f" and n_stars > np.iinfo(dtype).max:
        raise ValueError(f"n_stars={n_stars} is too large for dtype={dtype}.")
    rng = _seeded(random_state)
    scale = np.sqrt([float(component_variance), float(bias_variance)])
    user_factors = rng.normal(0.0, scale[0], (n_users, n_components))
    item_factors = rng.normal(0.0, scale[0], (n_items, n_components))
    user_biases = rng.normal(0.0, scale[1], n_users)
    item_biases = rng.normal(0.0, scale[1], n_items)

    keys = _draw_pairs(n_users, n_items, n_ratings, inequality, rng)
    ratings = np.empty(n_ratings, dtype=dtype)
    for part in slices(n_ratings, 1, VALUES_AT_ONCE):
        i, j = np.divmod(keys[part], n_items)
        values = np.einsum("nk,nk->n", user_factors[i], item_factors[j])
        values += global_mean + user_biases[i] + item_biases[j]
        values += rng.normal(0.0, np.sqrt(float(noise_variance)), len(values))
        ratings[part] = values if n_stars is None else values.round().clip(1, n_stars)
    X = csr_of_keys(keys, ratings, (n_users, n_items))
    if return_factors:
        return X, user_factors, item_factors.T.copy(), user_biases, item_biases
    return X


def _weighted_shapes(rng):
    """Return the shapes as rows, each multiplied by a random weight."""
    lines = [line.split() for line in _SHAPES.split("\n") if line]
    shapes = np.array(["".join(parts) for parts in zip(*lines, strict=True)])
    pixels = shapes[:, None].view("U1") == "#"
    return pixels * rng.uniform(0.5, 1.0, size=(len(shapes), 1))


def _broadcast(name, value, size, is_valid, expected):
    """Return a parameter that is a number or an array as an array."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (size,)) or not is_valid(array).all():
        raise ValueError(
            f"{name} must be a number {expected} or an array of {size} such numbers, "
            f"got {value!r}."
        )
    return np.broadcast_to(array, size)


def _concentration(name, prior, size):
    return _broadcast(name, prior, size, lambda a: (a > 0) & (a < np.inf), "above 0")


def _draw_words(lengths, doc_topic, word_cdf, dtype, rng):
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


def _draw_pairs(n_users, n_items, n_ratings, inequality, rng):
    """Draw different pairs; return ``user * n_items + item`` of each, sorted."""
    activity, popularity = (
        rng.lognormal(sigma=inequality, size=size) for size in (n_users, n_items)
    )
    largest = activity.max() * popularity.max()
    if not np.isfinite(largest * n_users * n_items) or largest == 0:
        raise ValueError(f"inequality={inequality} makes factors that overflow.")
    if n_ratings > _DENSE_SHARE * n_users * n_items:
        # Exponential waiting times until each pair is first drawn.  The pairs with the
        # shortest times are a weighted sample without replacement.
        waiting = rng.exponential(size=(n_users, n_items))
        waiting /= activity[:, None]
        waiting /= popularity
        earliest = np.argpartition(waiting, n_ratings - 1, axis=None)[:n_ratings]
        return np.sort(earliest)
    activity /= activity.sum()
    item_cdf = np.cumsum(popularity)
    item_cdf /= item_cdf[-1]
    keys = np.empty(0, dtype=np.int64)
    while len(keys) < n_ratings:
        n_draws = n_ratings - len(keys)
        n_draws += n_draws // 8 + 10  # some pairs are drawn twice
        users = np.repeat(np.arange(n_users), rng.multinomial(n_draws, activity))
        items = item_cdf.searchsorted(rng.random(n_draws), side="right")
        keys = np.concatenate([keys, users * n_items + items])
        keys.sort()  # numpy.unique hashes, which takes ten times as long
        keys = keys[np.diff(keys, prepend=-1) > 0]
    surplus = rng.choice(len(keys), len(keys) - n_ratings, replace=False, shuffle=False)
    return np.delete(keys, surplus)


def _seeded(random_state):
    """Return a `numpy.random.Generator` with a seed drawn from ``random_state``."""
    seed = check_random_state(random_state).randint(2**32, size=4, dtype=np.uint32)
    return np.random.default_rng(seed)


def _dtype_of(dtype, kinds):
    """Return a dtype; raise for float16, or for a kind that is not in ``kinds``."""
    found = np.dtype(dtype)
    if found.kind not in kinds or found == np.float16:
        refuse("dtype", f"{KINDS[kinds]} other than float16", dtype)
    return found

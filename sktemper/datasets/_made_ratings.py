"""Generator of synthetic ratings with known factors and biases."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import validate_params

from .._utils._arguments import Interval
from .._utils._typing import DTypeLike, Float, Int, Seed, SparseMatrix
from ._random import dtype_of, seeded
from ._ratings import csr_of_keys

# Number of ratings that are drawn at a time.
_CHUNK_RATINGS = 2**20
# If more than this share of all pairs is rated, the algorithm visits every pair;
# otherwise it draws pairs until there are enough different ones.
_DENSE_SHARE = 0.05


@validate_params(
    {
        "n_users": [Interval(Integral, 1, None, closed="left")],
        "n_items": [Interval(Integral, 1, None, closed="left")],
        "n_components": [Interval(Integral, 0, None, closed="left")],
        "n_ratings": [Interval(Integral, 0, None, closed="left")],
        "inequality": [Interval(Real, 0, None, closed="left")],
        "global_mean": [Interval(Real, None, None, closed="neither")],
        "component_variance": [Interval(Real, 0, None, closed="left")],
        "bias_variance": [Interval(Real, 0, None, closed="left")],
        "noise_variance": [Interval(Real, 0, None, closed="left")],
        "n_stars": [Interval(Integral, 1, None, closed="left"), None],
        "dtype": "no_validation",  # NumPy checks the dtype
        "return_factors": ["boolean"],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
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
) -> tuple[SparseMatrix, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    r"""Generate ratings by the model of probabilistic matrix factorization.

    User i rates item j as :math:`y_{ij} = \mu + a_i + c_j + u_i^T v_j +
    \varepsilon_{ij}`, where the factors u and v, the biases a and c, and the noise
    :math:`\varepsilon` are Gaussian [1]_.

    Whether a pair is rated does not depend on the rating.  Users have log-normal
    activities and items log-normal popularities.  A pair is drawn with a
    probability proportional to the product of activity and popularity, until there are
    ``n_ratings`` different pairs.

    Time and memory are proportional to the number of ratings, unless a large share of
    all pairs is rated: ten million ratings of 70,000 users and 10,000 items take
    a few seconds.

    Parameters
    ----------
    n_users : int, default=1000
        The number of users, rows.

    n_items : int, default=500
        The number of items, columns.

    n_components : int, default=5
        The number of factors.

    n_ratings : int, default=50,000
        The number of ratings.

    inequality : float, default=1.0
        The standard deviation of the logarithms of activity and of popularity.  0
        makes all users and all items alike.

    global_mean : float, default=3.5
        The global mean of the ratings, :math:`\mu`.

    component_variance : float, default=0.3
        The variance of each factor of users and of items.

    bias_variance : float, default=0.2
        The variance of the biases :math:`a_i` and :math:`c_j`.

    noise_variance : float, default=0.5
        The variance of the noise.

    n_stars : int, default=None
        If given, ratings are rounded to integers from 1 to ``n_stars``.  With None,
        ratings are not rounded.

    dtype : dtype, default=numpy.float64
        The type of the ratings.

    return_factors : bool, default=False
        If True, the factors and biases are returned too.

    random_state : int, RandomState instance or None, default=None
        Determines the random numbers. Pass an int for the same ratings at each call.

    Returns
    -------
    X : CSR matrix of shape (n_users, n_items)
        The ratings; a sparse array if scikit-learn's option ``sparse_interface`` is
        "sparray".

    user_factors : ndarray of shape (n_users, n_components)
        The factors of the users, u. This array and the following arrays are only
        returned if ``return_factors`` is True.

    components : ndarray of shape (n_components, n_items)
        The factors of the items, v.

    user_biases : ndarray of shape (n_users,)
        The biases of the users, a.

    item_biases : ndarray of shape (n_items,)
        The biases of the items, c.

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
    dtype = dtype_of(dtype, "f" if n_stars is None else "iuf")
    if dtype.kind != "f" and n_stars > np.iinfo(dtype).max:
        raise ValueError(f"n_stars={n_stars} is too large for dtype={dtype}.")
    rng = seeded(random_state)
    scale = np.sqrt([float(component_variance), float(bias_variance)])
    user_factors = rng.normal(0.0, scale[0], (n_users, n_components))
    item_factors = rng.normal(0.0, scale[0], (n_items, n_components))
    user_biases = rng.normal(0.0, scale[1], n_users)
    item_biases = rng.normal(0.0, scale[1], n_items)

    keys = _draw_pairs(n_users, n_items, n_ratings, inequality, rng)
    ratings = np.empty(n_ratings, dtype=dtype)
    for start in range(0, n_ratings, _CHUNK_RATINGS):
        part = slice(start, start + _CHUNK_RATINGS)
        i, j = np.divmod(keys[part], n_items)
        values = np.einsum("nk,nk->n", user_factors[i], item_factors[j])
        values += global_mean + user_biases[i] + item_biases[j]
        values += rng.normal(0.0, np.sqrt(float(noise_variance)), len(values))
        ratings[part] = values if n_stars is None else values.round().clip(1, n_stars)
    X = csr_of_keys(keys, ratings, (n_users, n_items))
    if return_factors:
        return X, user_factors, item_factors.T.copy(), user_biases, item_biases
    return X


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

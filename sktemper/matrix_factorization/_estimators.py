"""The estimators of probabilistic matrix factorization."""

from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils._param_validation import StrOptions

from .._arguments import Interval, check_flag
from .._estimator import (
    TOL_OF_BOUND,
    AnnealedMixin,
    SVIPlusMixin,
    TemperedEstimator,
    annealed,
    document,
    store,
    svi_plus,
)
from .._expfam import unpacked
from .._limits import check_values, check_variances
from .._linalg import tiled_matmul
from .._notices import warn
from .._ranking._memory import read_only
from .._validation import check_data, check_init
from ._model import MatrixFactorizationModel
from ._noise import Noise
from ._recommend import RatingRecommenderMixin

#: From this share of zeros on, ratings without NaN look as if filled with zeros.
MANY_ZEROS = 0.25


class _MatrixFactorization(
    RatingRecommenderMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    TemperedEstimator,
):
    """What the estimators of probabilistic matrix factorization share."""

    _parameter_constraints = {
        **TemperedEstimator._parameter_constraints,
        "biases": ["boolean"],
        "global_mean": [Interval(Real, None, None, closed="neither"), None],
        "noise_variance": [Interval(Real, 0, None, closed="neither"), None],
        "component_variance": [Interval(Real, 0, None, closed="neither"), None],
        "noise_type": [StrOptions({"common", "user"})],
        "temperature_of": [StrOptions({"user", "rating"})],
        "init": ["array-like", None],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _validate(self, X, reset):
        X = check_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype="numeric",
            ensure_all_finite=True if sparse.issparse(X) else "allow-nan",
        )
        check_values(X, self._dtype_for(X, reset), training=reset)
        return X

    def _validate_training(self, X, reset):
        X = super()._validate_training(X, reset)
        _warn_of_zeros(X)
        return X

    def _check_enough(self, data):
        if not any(map(_has_ratings, data.looks)):
            raise ValueError("X has no ratings: no stored entry, or none but NaN.")

    _fixed_by_fit = (
        "n_components",
        "biases",
        "global_mean",
        "noise_variance",
        "component_variance",
        "noise_type",
        "init",  # of the shape that n_components says
    )

    def _make_model(self, n_features, dtype):
        if self.global_mean is not None:
            check_values(self.global_mean, dtype, "global_mean")
        check_variances(self.noise_variance, dtype, "noise_variance")
        check_variances(self.component_variance, dtype, "component_variance")
        return MatrixFactorizationModel(
            self.n_components,
            n_features,
            biases=self.biases,
            global_mean=self.global_mean,
            noise_variance=self.noise_variance,
            component_variance=self.component_variance,
            user_noise=self.noise_type == "user",
            rating_temperatures=self.temperature_of == "rating",
            dtype=dtype,
            init=self._init(n_features, dtype),
        )

    def _init(self, n_features, dtype):
        if self.init is None:
            return None
        init = check_init(self.init, self.n_components, n_features)
        check_values(init, dtype, "init")
        return init

    # -- what users call ---------------------------------------------------------------
    def _local_parameters(self, X):
        """Return posterior means of users, of the same bits as those of the fit."""
        return np.concatenate(
            self._map(
                X,
                lambda model, block, prepared: (
                    model.users(block, prepared).posterior.means
                ),
            )
        )

    def transform(self, X):
        """Return the factors of users, whether they were in the training data or not.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_items)
            Ratings: the stored entries, or what is not NaN.

        Returns
        -------
        factors : ndarray of shape (n_samples, n_components)
            Posterior means at T=1, given the items.  Without ratings those of the
            prior.
        """
        factors = self._local_parameters(X)[:, : self._rank()]
        return factors.astype(self.state_.dtype)

    def inverse_transform(self, X, user_biases=None):
        """Return the ratings that factors of users stand for.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Factors, as `transform` returns.
        user_biases : array-like of shape (n_samples,), default=None
            None takes the mean of all users.

        Returns
        -------
        ratings : ndarray of shape (n_samples, n_items)
            Expected ratings of all items.
        """
        self._ready()
        X = check_array(X, dtype=[np.float64, np.float32])
        if X.shape[1] != self._rank():
            raise ValueError(
                f"X has {X.shape[1]} features, but there are {self._rank()} components."
            )
        if user_biases is None:
            user_biases = np.full(len(X), self._mean_user_bias())
        user_biases = check_array(
            user_biases, dtype=X.dtype, ensure_2d=False, input_name="user_biases"
        )
        if user_biases.shape != (len(X),):
            raise ValueError(
                f"user_biases has shape {user_biases.shape}; expected ({len(X)},)."
            )
        check_values(X, self.state_.dtype)
        check_values(user_biases, self.state_.dtype, "user_biases")
        return self._ratings(X, user_biases, self._items())

    def predict(self, X):
        """Return the expected ratings of all items by users.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_items)
            Ratings of these users.

        Returns
        -------
        ratings : ndarray of shape (n_samples, n_items)
            Also of what was rated.
        """
        return self._predicted(self._local_parameters(X), self._items())

    def _predicted(self, users, items):
        """Return the ratings that posterior means, biases last, stand for."""
        users = users.astype(self.state_.dtype)
        factors, biases = users[:, : self._rank()], self._biases(users)
        return self._ratings(factors, biases, items.astype(users.dtype))

    def _ratings(self, factors, user_biases, items):
        """Return the mean, the biases and the products with means of items."""
        rows = np.column_stack([factors, user_biases, np.ones_like(user_biases)])
        biases = self._biases(items) + self.global_mean_
        columns = [*items[:, : self._rank()].T, np.ones_like(biases), biases]
        return tiled_matmul(rows, np.array(columns, dtype=rows.dtype))

    def predict_pairs(self, pairs, return_std=False, *, by_position=False):
        """Return the expected ratings of items by users of the training data.

        Parameters
        ----------
        pairs : array-like or data frame of shape (n_pairs, 2)
            Users of the last `fit` or `partial_fit`, and items: labels if the data had
            labels, such as ``[("u195", "m12")]``, else row and column numbers.
        return_std : bool, default=False
            Whether to also return the predictive standard deviations.
        by_position : bool, default=False
            Whether pairs are row and column numbers although the data had labels.

        Returns
        -------
        ratings : ndarray of shape (n_pairs,)
            Expected ratings.
        std : ndarray of shape (n_pairs,)
            Standard deviations of the ratings, noise included.  Only if
            ``return_std``.

        Raises
        ------
        ValueError
            If a user or an item is unknown, or ``pairs`` has another shape.

        Examples
        --------
        >>> from sktemper import TemperedMatrixFactorization
        >>> from sktemper.datasets import ratings_matrix
        >>> X, users, items = ratings_matrix(
        ...     ["ann", "ann", "bob", "bob"], ["x", "y", "x", "z"], [5.0, 1.0, 4.0, 2.0]
        ... )
        >>> model = TemperedMatrixFactorization(1, max_iter=300, random_state=0).fit(X)
        >>> model.predict_pairs([("ann", "z"), ("bob", "y")]).shape
        (2,)
        """
        self._ready()
        check_flag(return_std, "return_std")
        check_flag(by_position, "by_position")
        posteriors = self._fitted_users()
        users, items = self._positions_of_pairs(pairs, by_position)
        mean, std = self._expected(users, items, posteriors, return_std)
        return (mean, std) if return_std else mean

    # -- views of the state ------------------------------------------------------------
    def _rank(self):
        return self._state().hyper.n_components

    def _posterior(self, natural, with_covariances=False):
        """Return `Gaussians` of users or items."""
        state = self._state()
        model = MatrixFactorizationModel(
            self._rank(),
            len(state.globals_),
            biases=len(state.hyper.users.mean) > self._rank(),
            dtype=state.dtype,
        )
        return model.gaussians(natural, with_covariances)

    def _means(self, natural):
        """Return posterior means of users or items, biases last."""
        return self._posterior(natural).means.astype(self._state().dtype)

    def _covariances(self, natural):
        """Return posterior covariances of users or items."""
        posterior = self._posterior(natural, with_covariances=True)
        covariances = unpacked(posterior.covariances, posterior.means.shape[1])
        return covariances.astype(self._state().dtype)

    def _items(self):
        return self._remembered("items", lambda: self._means(self._state().globals_))

    def _users(self):
        fitted = self._fitted_users()[0]
        return self._remembered("users", lambda: self._means(fitted))

    def _biases(self, means):
        """Return what follows the factors in rows, or zeros."""
        return means[:, self._rank() :].sum(axis=1)

    def _mean_user_bias(self):
        return self._state().hyper.users.mean[self._rank() :].sum()

    @property
    def components_(self):
        """Posterior means of the items' factors, ndarray (n_components, n_items)."""
        factors = self._items()[:, : self._rank()]
        return self._remembered(
            "components", lambda: read_only(np.ascontiguousarray(factors.T))
        )

    @property
    def item_biases_(self):
        """Posterior means of the items' biases, ndarray (n_items,)."""
        return self._biases(self._items())

    @property
    def item_covariances_(self):
        """Posterior covariances of the items, (n_items, n_own, n_own)."""
        return self._covariances(self._state().globals_)

    @property
    def user_factors_(self):
        """Posterior means of the fitted users, ndarray (n_users, n_components)."""
        return read_only(self._users()[:, : self._rank()])

    @property
    def user_biases_(self):
        """Posterior means of the biases of these users, ndarray (n_users,)."""
        return self._biases(self._users())

    @property
    def user_covariances_(self):
        """Posterior covariances of these users, (n_users, n_own, n_own)."""
        return self._covariances(self._fitted_users()[0])

    @property
    def global_mean_(self):
        """Mean of the ratings."""
        return self._state().hyper.global_mean

    @property
    def noise_variance_(self):
        """Variance of the noise, given or learned."""
        return self._state().hyper.noise_variance

    @property
    def noise_shape_(self):
        """Shape of the distribution of the users' precisions, given or learned."""
        return self._state().hyper.noise_shape

    @property
    def user_noise_variances_(self):
        """Noise variance of each of these users, ndarray (n_users,)."""
        noise = self._state().hyper.noise_variance
        return noise * Noise(*self._fitted_users()[1].T).inverse_means()

    @property
    def user_prior_(self):
        """Mean and covariance of the users' prior, given or learned."""
        return tuple(self._state().hyper.users)

    @property
    def item_prior_(self):
        """Mean and covariance of the items' prior, given or learned."""
        return tuple(self._state().hyper.items)

    @property
    def relevance_(self):
        """Variance of the ratings that each factor explains, decreasing."""
        d = self._rank()
        users, items = self.user_prior_[1][:d, :d], self.item_prior_[1][:d, :d]
        return np.sort(np.abs(np.linalg.eigvals(users @ items)))[::-1]

    @property
    def _n_features_out(self):
        return self._rank()


def _has_ratings(X):
    return bool(X.nnz if sparse.issparse(X) else (~np.isnan(X)).any())


def _warn_of_zeros(X):
    """Warn of a full matrix in which zeros seem to stand for what was not rated."""
    size = X.shape[0] * X.shape[1]
    values = X.data if sparse.issparse(X) else X
    if values.size < size or np.isnan(values).any():
        return
    n_zeros = size - np.count_nonzero(values)
    if n_zeros < MANY_ZEROS * size:
        return
    warn(
        f"{n_zeros / size:.0%} of X are zeros and none is missing: zeros are taken as "
        "ratings of 0. Let NaN stand for what was not rated (do not fill it with 0), "
        "or pass a sparse matrix of the ratings, such as "
        "sktemper.datasets.ratings_matrix makes; its stored zeros are ratings."
    )


#: What the docstrings of the estimators share.
_WORDS = {
    "samples": "users",
    "units": "ratings",
    "unit": "rating",
    "observed": "rating",
    "tol_of_bound": TOL_OF_BOUND.split(", and a move")[0] + ".",
}

_PARAMETERS = """
    biases : bool, default=True
        Whether users and items have biases beside their factors.
    global_mean : float, default=None
        What all ratings have in common.  None is the mean of those of the first data.
    noise_variance : float, default=None
        Variance sigma^2 of the noise of each rating.  None begins with the variance of
        the ratings and is learned.
    component_variance : float, default=None
        Prior variance c of each factor and bias, whose prior mean is 0.  None learns
        the prior: mean and covariance of the users, and those of the items; what no
        rating speaks for dies out (automatic relevance determination).
    noise_type : {"user", "common"}, default="user"
        Whether each user has a noise variance of his or her own, ``noise_variance``
        over a Gamma distributed factor of mean 1 that is inferred with the factors (its
        shape is learned if the noise variance is); or all have the same.  Users are not
        equally predictable: on MovieLens it is worth .005 of the error.
    temperature_of : {"user", "rating"}, default="user"
        Whose temperatures a local tempering infers, see `temperatures`; no other
        tempering asks.
    init : array-like of shape (n_components, n_items), default=None
        Where the factors of the items start.  None is small draws from the prior.
    $n_init
    max_iter : int, default=100
        Passes of `fit` over the data.
    batch_size : int, "auto" or None, default=None
        Users of a step.  None: all at once, which with rate 1 is coordinate ascent.
        "auto": a tenth of the data, from 100 to 10,000; in `partial_fit` 1,000.
    $shuffle
    $total_samples
    $evaluate_every
"""

_ATTRIBUTES = """
    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_items)
        Posterior means of the items' factors.
    item_biases_ : ndarray of shape (n_items,)
        Posterior means of the items' biases; 0 without.
    item_covariances_ : ndarray of shape (n_items, n_own, n_own)
        Posterior covariances of an item's factors and, last, its bias, if any.
    user_factors_, user_biases_, user_covariances_ : ndarray
        The same of the users in the data of the last `fit` or `partial_fit`; factors
        are of shape (n_users, n_components).
    global_mean_, noise_variance_ : float
        Given or learned.
    user_noise_variances_ : ndarray of shape (n_users,)
        Expected noise variance of each of these users; all the same if ``noise_type``
        is "common".
    noise_shape_ : float
        Shape of the Gamma distribution of the users' precisions.
    user_prior_, item_prior_ : tuple of ndarrays
        Mean, of shape (n_own,), and covariance, (n_own, n_own), of the priors, given or
        learned.
    item_popularity_ : ndarray of shape (n_items,)
        Share of all ratings seen that each item has.
    user_labels_, item_labels_ : ndarray or None
        Of the rows in the last `fit` or `partial_fit`, and of the columns, if the data
        have labels; index and columns of a pandas data frame are some too.
    relevance_ : ndarray of shape (n_components,)
        Variance of the ratings that each factor explains under the priors, in
        coordinates in which factors are independent; decreasing, and near 0 for those
        that are of no use.
    $policies

    Notes
    -----
    Rows are users, columns items, and entries ratings: of a sparse matrix those that
    are stored, zeros too; of a dense one those that are not NaN.  Other entries are
    not known.  A long table of users, items and ratings becomes one by
    `sktemper.datasets.ratings_matrix`.

    `score_samples` deals the ratings of each user in turn to an observed half, from
    which the factors come, and a held-out half, of which it returns the log predictive
    density: of Student's t, with the mean and the variance of the model, or Gaussian if
    ``noise_type`` is "common".  `score` is the
    mean per held-out rating.

    References
    ----------
    .. [1] J. Paisley, G. Fazelnia, B. Barr, "Stochastic variational inference with
       tuneable stochastic annealing", section 4.1.
    .. [2] R. Salakhutdinov, A. Mnih, "Bayesian probabilistic matrix factorization
       using Markov chain Monte Carlo", ICML 2008.
    .. [3] Y. J. Lim, Y. W. Teh, "Variational Bayesian approach to movie rating
       prediction", KDD Cup 2007.
    .. [4] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016.
"""


class TemperedMatrixFactorization(_MatrixFactorization):  # noqa: D101 (composed __doc__)
    __doc__ = document(
        """Matrix factorization of ratings with any tempering, or with none.

    A rating is the product of the factors of a user and of an item, and biases, and
    noise [1]_, [2]_, [3]_; users and items have Gaussian posteriors with all
    correlations.

    Parameters
    ----------
    n_components : int, default=10
        Number of factors d, the rank.
    tempering : Tempering, "global", "local" or None, default="global"
        The temperature during training, see `sktemper.tempering`.

        - "global", `GlobalTempering` as it comes: one temperature, inferred from how
          well the model fits, and never above a cap that falls to 1.  Of a Gaussian
          likelihood it is the mean squared residual over the noise variance: as if
          that were learned, and no less than what is given [4]_.
        - "local", `LocalTempering` as it comes: a temperature for each user, or rating,
          that is, a noise variance of its own: a robust factorization.  Those that
          are hard to predict weigh less, and `temperatures` tells them.
        - An `Annealing`, for schedules and targets of your own;
          `AnnealedMatrixFactorization` says it in fewer words.
        - None, T=1: plain variational inference.
    $learning_rate
    $gradient_noise"""
        + _PARAMETERS
        + _ATTRIBUTES
        + """
    Examples
    --------
    >>> import numpy as np
    >>> from sktemper import TemperedMatrixFactorization
    >>> random = np.random.default_rng(0)
    >>> ratings = random.normal(size=(200, 2)) @ random.normal(size=(2, 30))
    >>> known = random.random(ratings.shape) < 0.5
    >>> X = np.where(known, ratings, np.nan)
    >>> model = TemperedMatrixFactorization(3, random_state=0).fit(X)
    >>> error = (model.predict(X) - ratings)[~known]
    >>> bool(np.sqrt(np.mean(error**2)) < 0.1)
    True
    >>> mean, std = model.predict_pairs([[0, 3], [7, 12]], return_std=True)
    >>> mean.shape, std.shape
    ((2,), (2,))
    """,
        **_WORDS,
    )

    _parameter_constraints = _MatrixFactorization._parameter_constraints

    def __init__(
        self,
        n_components=10,
        *,
        tempering="global",
        learning_rate=None,
        gradient_noise=None,
        biases=True,
        global_mean=None,
        noise_variance=None,
        component_variance=None,
        noise_type="user",
        temperature_of="user",
        init=None,
        n_init=1,
        max_iter=100,
        batch_size=None,
        shuffle=True,
        total_samples=None,
        evaluate_every=0,
        validation_fraction=0.1,
        n_iter_no_change=None,
        tol=1e-3,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        store(self, locals())


class AnnealedMatrixFactorization(AnnealedMixin, _MatrixFactorization):  # noqa: D101
    __doc__ = document(
        """Matrix factorization of ratings fitted by deterministic annealing.

    A rating is the product of the factors of a user and of an item, and biases, and
    noise [1]_, [2]_, [3]_; users and items have Gaussian posteriors with all
    correlations.  They are fitted from a high temperature down.

    Parameters
    ----------
    n_components : int, default=10
        Number of factors d, the rank.
    $schedule
        It starts at 1.05 if ``component_variance`` is learned: hotter, factors for
        which ratings speak are lost for good.
    target : {"local_step", "likelihood", "posterior"}, default="local_step"
        What the temperature flattens, see `sktemper.tempering.Annealing`.
    $learning_rate
    $gradient_noise"""
        + _PARAMETERS
        + _ATTRIBUTES.replace("$policies", "$fitted_schedule\n    $policies")
        + """
    Examples
    --------
    >>> import numpy as np
    >>> from sktemper import AnnealedMatrixFactorization
    >>> random = np.random.default_rng(0)
    >>> ratings = random.normal(size=(200, 2)) @ random.normal(size=(2, 30))
    >>> known = random.random(ratings.shape) < 0.5
    >>> X = np.where(known, ratings, np.nan)
    >>> model = AnnealedMatrixFactorization(3, random_state=0).fit(X)
    >>> error = (model.predict(X) - ratings)[~known]
    >>> bool(np.sqrt(np.mean(error**2)) < 0.1)
    True
    >>> items, expected = model.recommend(X, n_items=2)
    >>> items.shape
    (200, 2)
    """,
        **_WORDS,
    )

    _slots, _parameter_constraints = annealed(_MatrixFactorization)

    def __init__(
        self,
        n_components=10,
        *,
        schedule=None,
        target="local_step",
        learning_rate=None,
        gradient_noise=None,
        biases=True,
        global_mean=None,
        noise_variance=None,
        component_variance=None,
        noise_type="user",
        temperature_of="user",
        init=None,
        n_init=1,
        max_iter=100,
        batch_size=None,
        shuffle=True,
        total_samples=None,
        evaluate_every=0,
        validation_fraction=0.1,
        n_iter_no_change=None,
        tol=1e-3,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        store(self, locals())


class SVIPlusMatrixFactorization(SVIPlusMixin, _MatrixFactorization):  # noqa: D101
    __doc__ = document(
        """Matrix factorization of ratings with tunable gradient noise (SVI+).

    A rating is the product of the factors of a user and of an item, and biases, and
    noise [1]_, [2]_, [3]_; users and items have Gaussian posteriors with all
    correlations.  Ratings have random weights, in what they tell of users and of items,
    so that steps are as noisy as those of a smaller batch.  Let the noise fade,
    ``effective_batch_size=RampSchedule()``: under noise that stays to the end the
    variances that are learned are too small, and so are intervals.  Gaussian weights,
    of which some are negative, bear little noise here.

    Parameters
    ----------
    n_components : int, default=10
        Number of factors d, the rank.
    $effective_batch_size
    $learning_rate"""
        + _PARAMETERS
        + _ATTRIBUTES
        + """
    Examples
    --------
    >>> import numpy as np
    >>> from sktemper import SVIPlusMatrixFactorization
    >>> random = np.random.default_rng(0)
    >>> ratings = random.normal(size=(200, 2)) @ random.normal(size=(2, 30))
    >>> known = random.random(ratings.shape) < 0.5
    >>> X = np.where(known, ratings, np.nan)
    >>> model = SVIPlusMatrixFactorization(3, batch_size=50, random_state=0).fit(X)
    >>> error = (model.predict(X) - ratings)[~known]
    >>> bool(np.sqrt(np.mean(error**2)) < 0.1)
    True
    """,
        **_WORDS,
    )

    _slots, _parameter_constraints = svi_plus(_MatrixFactorization)

    def __init__(
        self,
        n_components=10,
        *,
        effective_batch_size=0.5,
        distribution="dirichlet",
        tempering=None,
        learning_rate=None,
        biases=True,
        global_mean=None,
        noise_variance=None,
        component_variance=None,
        noise_type="user",
        temperature_of="user",
        init=None,
        n_init=1,
        max_iter=100,
        batch_size=None,
        shuffle=True,
        total_samples=None,
        evaluate_every=0,
        validation_fraction=0.1,
        n_iter_no_change=None,
        tol=1e-3,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        store(self, locals())

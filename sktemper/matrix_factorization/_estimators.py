"""The estimators of probabilistic matrix factorization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Unpack

import numpy as np
from scipy import sparse
from scipy.special import log_ndtr
from sklearn.utils import check_array

from .._estimator._constructors import Annealed, Training
from .._estimator._counts import ROWS_INSPECTED
from .._estimator._estimator import TemperedEstimator
from .._estimator._variants import AnnealedMixin, SVIPlusMixin, training_constructor
from .._ranking._best import Rescoring, products, scores_of_all
from .._ranking._recommender import (
    RecommenderMixin,
    checked_factors,
    columns_of_pairs,
    initial_vectors,
    shown,
)
from .._utils._arguments import check_flag, check_scale, is_number, refuse
from .._utils._cache import read_only
from .._utils._constraints import FINITE, POSITIVE, StrOptions
from .._utils._notices import warn
from .._utils._typing import ArrayLike, DataLike, Float, Int
from .._utils._validation import (
    check_data,
    check_distinct,
    check_values,
    check_variances,
)
from ..noise import GradientNoise
from ..schedules import Schedule
from ..tempering import Tempering
from ._model import MatrixFactorizationModel

# -- recommendations of a model of ratings ---------------------------------------------
#: Values of the parameter ``rank_by`` of `recommend`.
RANKINGS = ("likely", "rating")
#: Ratings added to the count of each item, so that new items may be chosen.
UNSEEN = 0.5


# -- the estimators of probabilistic matrix factorization ------------------------------
#: If this share of the ratings or more is 0 and none is NaN, missing ratings were
#: probably filled with zeros.
MANY_ZEROS = 0.25


class TemperedMatrixFactorization(RecommenderMixin, TemperedEstimator):
    """Matrix factorization of ratings with any tempering, or with none.

    A rating is the product of the factors of a user and an item, plus biases and noise
    [1]_, [2]_, [3]_.  Users and items have Gaussian posteriors with full covariances.
    The fit can use any tempering [4]_.

    Parameters
    ----------
    n_components : int, default=10
        Number of factors d, the rank; unneeded factors shrink to zero.
    tempering : Tempering, "global", "local" or None, default="global"
        Temperature of a fit, see `sktemper.tempering`: inferred ("global"), inferred
        for each user, for data with outliers ("local"), of a policy, or 1 (None).
    biases : bool, default=True
        Whether users and items have biases; False for the model of the papers.
    noise_type : {"user", "common"}, default="user"
        Whether each user has a noise variance, ``noise_variance`` divided by a Gamma
        variable of mean 1 ("user"), or all have the same ("common"), as in the papers.
    global_mean : float, default=None
        Constant added to all ratings, 0 in [1]_; None is the mean of the first data.
    noise_variance : float, default=None
        Variance sigma^2 of the noise of each rating; set it to infer a temperature.
        None starts at the variance of the ratings and learns it.
    component_variance : float, default=None
        Prior variance of each factor and bias, with mean 0, as in [1]_.  None learns
        the means and covariances of the priors, so that the rank needs no tuning.
    batch_size : int, "auto" or None, default=None
        Number of users of a step; None takes all (coordinate ascent).  "auto" is faster
        for many users: a tenth, at least 100 and at most 10,000.
    tol : float, default=1e-3
        Least gain that counts: of the held-out score, in nats per rating, and with
        ``batch_size=None`` of the lower bound by a pass.

    Notes
    -----
    Rows are users and columns are items.  The ratings are the stored entries of a
    sparse matrix, including zeros, or the entries of a dense array that are not NaN;
    see `sktemper.datasets.ratings_matrix`.

    `score_samples` is the log predictive density of every second rating of each user,
    given the other ratings: Student's t, or Gaussian if ``noise_type`` is "common".
    `score` is the mean per held-out rating.

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

    Examples
    --------
    >>> from sktemper import TemperedMatrixFactorization
    >>> from sktemper.datasets import make_ratings
    >>> X = make_ratings(200, 50, n_ratings=3000, random_state=0)
    >>> model = TemperedMatrixFactorization(3, random_state=0).fit(X)
    >>> mean, std = model.predict_pairs([[0, 3], [7, 12]], return_std=True)
    >>> mean.shape, std.shape
    ((2,), (2,))
    """

    biases: bool
    noise_type: Literal["user", "common"]
    global_mean: Float | None
    noise_variance: Float | None
    component_variance: Float | None

    @training_constructor(Training)
    def __init__(
        self,
        n_components: Int = 10,
        *,
        tempering: Tempering | Literal["global", "local"] | None = "global",
        max_iter: Int = 100,
        biases: bool = True,
        noise_type: Literal["user", "common"] = "user",
        global_mean: Float | None = None,
        noise_variance: Float | None = None,
        component_variance: Float | None = None,
        init: ArrayLike | None = None,
        batch_size: Int | Literal["auto"] | None = None,
        gradient_noise: GradientNoise | None = None,
        **parameters: Unpack[Training],
    ): ...

    _parameter_constraints = {
        **TemperedEstimator._parameter_constraints,
        "biases": ["boolean"],
        "global_mean": [FINITE, None],
        "noise_variance": [POSITIVE, None],
        "component_variance": [POSITIVE, None],
        "noise_type": [StrOptions({"common", "user"})],
        "init": ["array-like", None],
    }

    _input_tags = {"allow_nan": True}

    def _validate(self, X, reset):
        found = check_data(
            self,
            X,
            {"text": "sktemper.datasets.ratings_matrix makes X of users and items."},
            reset=reset,
            accept_sparse="csr",
            dtype="numeric",
            ensure_all_finite=True if sparse.issparse(X) else "allow-nan",
        )
        check_distinct(X, found)
        return found

    def _inspect_training_data(self, data, fresh):
        super()._inspect_training_data(data, fresh)
        X = data.counted_sample(ROWS_INSPECTED)
        size, values = X.shape[0] * X.shape[1], X.data if sparse.issparse(X) else X
        if values.size < size or np.isnan(values).any():
            return
        n_zeros = size - np.count_nonzero(values)
        if n_zeros >= MANY_ZEROS * size:
            warn(
                f"{n_zeros / size:.0%} of X are zeros and none is missing: zeros are "
                "taken as ratings of 0. Let NaN stand for what was not rated (do not "
                "fill it with 0), or pass a sparse matrix of the ratings, such as "
                "sktemper.datasets.ratings_matrix makes; its stored zeros are ratings."
            )

    def _check_enough(self, data):
        if not any(map(_has_ratings, data.validated)):
            raise ValueError("X has no ratings: no stored entries, or only NaN.")

    _fixed_by_fit = (
        "n_components",
        "biases",
        "global_mean",
        "noise_variance",
        "component_variance",
        "noise_type",
        "init",  # its shape depends on n_components
    )

    @staticmethod
    def _make_model(settings, n_features, dtype):
        if settings.global_mean is not None:
            check_values(settings.global_mean, dtype, "global_mean")
        check_variances(settings.noise_variance, dtype, "noise_variance")
        check_variances(settings.component_variance, dtype, "component_variance")
        return MatrixFactorizationModel(
            settings.n_components,
            n_features,
            biases=settings.biases,
            global_mean=settings.global_mean,
            noise_variance=settings.noise_variance,
            component_variance=settings.component_variance,
            user_noise=settings.noise_type == "user",
            dtype=dtype,
            init=initial_vectors(settings, n_features, dtype),
        )

    # -- what users call ---------------------------------------------------------------
    def _local_parameters(self, X):
        """Return posterior means of users, exactly as the fit computed them."""

        def means(model, block, prepared):
            return model.users(block, prepared).posterior.means

        return np.concatenate(self._map(X, means))

    def transform(self, X: DataLike) -> np.ndarray:
        """Return the factors of users, who need not be in the training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_items)
            Ratings: the stored entries of a sparse matrix, or the entries of an array
            that are not NaN.

        Returns
        -------
        factors : ndarray of shape (n_samples, n_components)
            Posterior means at T=1, given the items; prior means for users without
            ratings.
        """
        factors = self._local_parameters(X)[:, : self._n_features_out]
        return factors.astype(self.state_.dtype)

    def inverse_transform(
        self, X: ArrayLike, user_biases: ArrayLike | None = None
    ) -> np.ndarray:
        """Return the expected ratings for given factors of users.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Factors of users, as `transform` returns them.
        user_biases : array-like of shape (n_samples,), default=None
            Biases of the users.  None uses the mean bias of the prior for all users.

        Returns
        -------
        ratings : ndarray of shape (n_samples, n_items)
            Expected ratings of all items.
        """
        X = checked_factors(self, X)
        if user_biases is None:
            prior_mean = self._state().hyper.users.mean
            user_biases = np.full(len(X), prior_mean[self._n_features_out :].sum())
        user_biases = check_array(
            user_biases, dtype=X.dtype, ensure_2d=False, input_name="user_biases"
        )
        if user_biases.shape != (len(X),):
            raise ValueError(
                f"user_biases has shape {user_biases.shape}; expected ({len(X)},)."
            )
        check_values(user_biases, self.state_.dtype, "user_biases")
        users = np.column_stack([X, user_biases, np.ones_like(user_biases)])
        return scores_of_all(users, self._item_vectors())

    def predict(self, X: DataLike) -> np.ndarray:
        """Return the expected ratings of all items by users.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_items)
            Ratings of these users.

        Returns
        -------
        ratings : ndarray of shape (n_samples, n_items)
            Expected ratings of all items, including rated ones.
        """
        users = self._local_parameters(X).astype(self.state_.dtype)
        vectors = self._fitted_model().vectors_of_means(users)
        return scores_of_all(vectors, self._item_vectors())

    def predict_pairs(
        self, pairs: DataLike, return_std: bool = False, *, by_position: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the expected ratings of items by users of the training data.

        Parameters
        ----------
        pairs : array-like or data frame of shape (n_pairs, 2)
            Users of the last `fit` or `partial_fit`, and items: labels if the data had
            labels, such as ``[("u195", "m12")]``, and otherwise row and column numbers.
        return_std : bool, default=False
            Whether to also return the predictive standard deviations.
        by_position : bool, default=False
            Whether pairs are row and column numbers although the data had labels.

        Returns
        -------
        ratings : ndarray of shape (n_pairs,)
            Expected ratings.
        std : ndarray of shape (n_pairs,)
            Standard deviations of the ratings, which include the noise.  Returned only
            if ``return_std`` is True.

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
        self._check_fitted()
        check_flag(return_std, "return_std")
        check_flag(by_position, "by_position")
        posteriors = self._fitted_users()
        users, items = columns_of_pairs(pairs)
        users = self._index("user", not by_position).positions(users)
        items = self._index("item", not by_position).positions(items)
        model = self._fitted_model()
        mean, std = model.expected_of_pairs(
            users, items, posteriors, self._prepared(model), return_std
        )
        return (mean, std) if return_std else mean

    # -- views of the state ------------------------------------------------------------
    def _items(self):
        globals_ = self._state().globals_
        # the fitted model would keep the memory of the moments
        return self._cached("items", lambda: self._new_model().means(globals_))

    @property
    def components_(self) -> np.ndarray:
        """Mean factors of the items, ndarray of shape (n_components, n_items)."""
        factors = self._items()[:, : self._n_features_out]
        return self._cached(
            "components", lambda: read_only(np.ascontiguousarray(factors.T))
        )

    @property
    def item_biases_(self) -> np.ndarray:
        """Mean biases of the items, ndarray of shape (n_items,); 0 without biases."""
        return self._items()[:, self._n_features_out :].sum(axis=1)

    @property
    def item_covariances_(self) -> np.ndarray:
        """Posterior covariances of the items, ndarray of shape (n_items, n, n).

        n is ``n_components``, plus 1 for the bias if ``biases`` is True.
        """
        state = self._state()
        return self._new_model().covariances(state.globals_).astype(state.dtype)

    @property
    def user_factors_(self) -> np.ndarray:
        """Mean factors of fitted users, ndarray of shape (n_users, n_components)."""
        return read_only(self._user_vectors()[:, : self._n_features_out])

    @property
    def user_biases_(self) -> np.ndarray:
        """Mean biases of the fitted users, ndarray of shape (n_users,)."""
        return self._user_vectors()[:, self._n_features_out].copy()

    @property
    def user_covariances_(self) -> np.ndarray:
        """Posterior covariances of the fitted users, as those of items."""
        natural, _ = self._fitted_users()
        return self._new_model().covariances(natural).astype(self.state_.dtype)

    @property
    def global_mean_(self) -> float:
        """Constant that is added to all ratings, float; given or their mean."""
        return self._state().hyper.global_mean

    @property
    def noise_shape_(self) -> float:
        """Shape of the Gamma distribution of the users' precisions, float."""
        return self._state().hyper.noise_shape

    @property
    def user_noise_variances_(self) -> np.ndarray:
        """Expected noise variances of the fitted users, ndarray of shape (n_users,)."""
        return self._state().hyper.noise_variances(self._fitted_users()[1])

    def recommend(
        self,
        X: Any,
        n_items: Int = 10,
        *,
        rank_by: Literal["likely", "rating"] = "likely",
        threshold: Float | None = None,
        exclude_seen: bool = True,
        exclude: ArrayLike | None = None,
        items: ArrayLike | None = None,
        clip: tuple | None = None,
        return_std: bool = False,
        output: Literal["pandas", "polars"] | None = None,
    ) -> Any:
        r"""Return the items that users will most likely choose and like.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_items), or labels
            Rows of ratings of any users; or users of the last `fit` or `partial_fit`,
            of shape (n_samples,): labels such as ``["u195"]`` if the data had labels,
            and otherwise row numbers.
        rank_by : {"likely", "rating"}, default="likely"
            "likely" ranks by the share of the item in all ratings, `item_popularity_`,
            times the probability that its rating reaches the threshold; "rating" by the
            expected rating, which predicts choices worse than popularity does.
        threshold : float, default=None
            Smallest rating t that means that a user likes an item.  None is
            ``global_mean_``.  ``rank_by="rating"`` ignores this parameter.
        exclude_seen : bool, default=True
            Whether to leave out the items that a user has rated.
        clip : tuple of (float, float), default=None
            Ends of the scale, such as ``(1, 5)``, to which expected ratings are clipped
            after ranking.
        return_std : bool, default=False
            Whether to also return the standard deviations of ratings, which include the
            noise.

        Returns
        -------
        items : ndarray of int of shape (n_samples, n_items)
            Column numbers of the items, best first.  Items with equal scores are in the
            order of their columns.  -1 means that no item is left.
        ratings : ndarray of shape (n_samples, n_items)
            Expected ratings; NaN if no item is left.
        std : ndarray of shape (n_samples, n_items)
            Standard deviations of the ratings, returned only if ``return_std`` is True.
        table : DataFrame
            Returned instead of the arrays, with the columns "user", "item", "rank"
            (from 1), "score" (the number that ranks the items) and "rating", and "std"
            if ``return_std`` is True.  Users for whom no item is left have no row.

        See Also
        --------
        item_scores : The scores of all items.
        explain : Contributions of the user's items to the expected rating of another.
        similar_items : Items whose factors have a similar direction.
        """
        self._check_fitted()
        check_scale(clip)
        check_flag(return_std, "return_std")
        rescored = _rescoring(self, rank_by, threshold)
        barred = self._barred(exclude, items)
        query, items, scores, ratings = self._recommended(
            X, n_items, exclude_seen, barred, output, rescored
        )
        columns = {"rating": ratings if clip is None else np.clip(ratings, *clip)}
        if return_std:
            user, rank = np.nonzero(items >= 0)
            columns["std"] = np.full(items.shape, np.nan, self.state_.dtype)
            model, pairs = self._fitted_model(), (user, items[user, rank])
            expected = model.expected_of_pairs(
                *pairs, query.posteriors, self._prepared(model)
            )
            columns["std"][user, rank] = expected[1]
        if output is not None or query.by_name:
            columns = {"score": scores} | columns
        return shown(self, query, items, columns, output)

    def item_scores(
        self,
        X: Any,
        *,
        rank_by: Literal["likely", "rating"] = "likely",
        threshold: Float | None = None,
    ) -> np.ndarray:
        """Return the scores of all items, by which `recommend` ranks them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_items), or labels
            Users, as in `recommend`.
        rank_by : {"likely", "rating"}, default="likely"
            Score to return, as in `recommend`.
        threshold : float, default=None
            Smallest rating that means that a user likes an item, as in `recommend`.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_items)
            Scores of all items, also of items that the user has rated.
        """
        self._check_fitted()
        rescored = _rescoring(self, rank_by, threshold)
        query = self._choose(X)
        scores = products(query.vectors, self._item_vectors())
        if rescored:
            scores = rescored(query).scores(scores, slice(None), slice(None))
        return np.ascontiguousarray(scores)

    @property
    def item_popularity_(self) -> np.ndarray:
        """Share of each item in all ratings seen, ndarray of shape (n_items,)."""
        counts = self._state().hyper.item_counts
        return counts / (counts.sum() or 1.0)

    # -- hooks of `RecommenderMixin` ---------------------------------------------------
    def _item_vectors(self):
        model, mean = self._fitted_model(), self.global_mean_
        return self._cached(
            "item_vectors", lambda: model.item_vectors(self._items(), mean)
        )

    def _user_vectors(self, posteriors=None):
        if posteriors is not None:
            model = self._new_model()
            return model.vectors_of_means(model.means(posteriors[0]))
        fitted = self._fitted_users()
        return self._cached("user_vectors", lambda: self._user_vectors(fitted))


def _rescoring(estimator, rank_by, threshold):
    """Return a function from `QueryUsers` to a `Rescoring`, or None."""
    if rank_by not in RANKINGS:
        refuse("rank_by", f"one of {list(RANKINGS)}", rank_by)
    if rank_by == "rating":
        return None
    state = estimator.state_
    if threshold is None:
        threshold = state.hyper.global_mean
    elif not is_number(threshold) or not np.isfinite(threshold):
        refuse("threshold", "a finite number or None", threshold)
    check_values(threshold, state.dtype, "threshold")
    log_shares = estimator._cached("log_shares", lambda: _log_shares(state))
    # log probabilities are not positive, so the log share bounds the score
    order = estimator._cached(
        "most_popular", lambda: np.argsort(-log_shares, kind="stable")
    )

    def make_rescoring(query):
        noise = np.sqrt(state.hyper.noise_variances(query.posteriors[1]))[:, None]

        def scores(ratings, users, items):
            standardised = (ratings - threshold) / noise[users]
            found = log_shares[items] + log_ndtr(standardised)
            return found.astype(ratings.dtype)

        return Rescoring(scores, log_shares.astype(state.dtype), order)

    return make_rescoring


def _log_shares(state):
    """Return the log of each item's share of the ratings, smoothed by `UNSEEN`."""
    passes = max(state.progress.samples / max(state.progress.total_rows, 1), 1.0)
    counts = state.hyper.item_counts / passes + UNSEEN
    return np.log(counts / counts.sum())


def _has_ratings(X):
    return bool(X.nnz if sparse.issparse(X) else (~np.isnan(X)).any())


class MatrixFactorizationParameters(Training, total=False):
    """Parameters that the estimators of the model have in common."""

    biases: bool
    noise_type: Literal["user", "common"]
    global_mean: Float | None
    noise_variance: Float | None
    component_variance: Float | None
    init: ArrayLike | None


class AnnealedMatrixFactorizationParameters(
    Annealed, MatrixFactorizationParameters, total=False
):
    """Parameters of the annealed estimator of the model."""


class AnnealedMatrixFactorization(AnnealedMixin, TemperedMatrixFactorization):
    """Matrix factorization of ratings fitted by deterministic annealing.

    A rating is the product of the factors of a user and an item, plus biases and noise
    [1]_, [2]_, [3]_.  Users and items have Gaussian posteriors with full covariances.
    The fit starts at a high temperature, which falls to 1 [4]_.

    References
    ----------
    .. [2] R. Salakhutdinov, A. Mnih, "Bayesian probabilistic matrix factorization
       using Markov chain Monte Carlo", ICML 2008.
    .. [4] F. Abrol, S. Mandt, R. Ranganath, D. Blei, "Deterministic annealing for
       stochastic variational inference", 2014.

    Examples
    --------
    >>> from sktemper import AnnealedMatrixFactorization
    >>> from sktemper.datasets import make_ratings
    >>> X = make_ratings(200, 50, n_ratings=3000, random_state=0)
    >>> model = AnnealedMatrixFactorization(3, random_state=0).fit(X)
    >>> items, expected = model.recommend(X, n_items=2)
    >>> items.shape
    (200, 2)
    """

    def __init__(
        self,
        n_components: Int = 10,
        **parameters: Unpack[AnnealedMatrixFactorizationParameters],
    ): ...


class SVIPlusMatrixFactorization(SVIPlusMixin, TemperedMatrixFactorization):
    """Matrix factorization of ratings with tunable gradient noise (SVI+).

    A rating is the product of the factors of a user and an item, plus biases and noise
    [1]_, [2]_, [3]_.  Ratings have random weights, so that steps are as noisy as those
    of a smaller batch.  Let the noise fade with
    ``effective_batch_size=RampSchedule()``: otherwise learned variances, and intervals,
    are too small.

    Parameters
    ----------
    effective_batch_size : float, int, Schedule or callable, default=0.5
        Size of a batch without added noise that would have the same gradient noise: a
        share of the batch, a number of ratings, or a schedule of these.  Smaller values
        add more noise, see `sktemper.noise.SVIPlusNoise`.
    tempering : Tempering, "global", "local" or None, default=None
        Temperature during training, see `sktemper.tempering`; None is T=1.
    noise_distribution : {"dirichlet", "gaussian"}, default="dirichlet"
        Distribution of the random weights of ratings: "gaussian" weights, those of the
        paper, can be negative, see `sktemper.noise.SVIPlusNoise`.

    Examples
    --------
    >>> from sktemper import SVIPlusMatrixFactorization
    >>> from sktemper.datasets import make_ratings
    >>> X = make_ratings(200, 50, n_ratings=3000, random_state=0)
    >>> model = SVIPlusMatrixFactorization(3, batch_size=100, random_state=0).fit(X)
    >>> model.predict(X).shape
    (200, 50)
    """

    def __init__(
        self,
        n_components: Int = 10,
        *,
        effective_batch_size: Float | Schedule | Callable = 0.5,
        tempering: Tempering | Literal["global", "local"] | None = None,
        noise_distribution: Literal["dirichlet", "gaussian"] = "dirichlet",
        **parameters: Unpack[MatrixFactorizationParameters],
    ): ...

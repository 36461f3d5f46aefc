"""The estimator of factorizations of implicit feedback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Unpack

import numpy as np
from scipy import sparse

from .._estimator._constructors import Training
from .._estimator._estimator import TemperedEstimator
from .._estimator._variants import training_constructor
from .._ranking._best import scores_of_all
from .._ranking._recommender import (
    QueryUsers,
    RecommenderMixin,
    checked_factors,
    initial_vectors,
)
from .._utils._arguments import refuse
from .._utils._constraints import FINITE, POSITIVE, StrOptions
from .._utils._csr import plain_entries
from .._utils._notices import warn
from .._utils._typing import ArrayLike, DataLike, Float, Int
from .._utils._validation import LARGEST_WEIGHT, NON_NEGATIVE, check_data, largest_value
from ._model import ImplicitFactorizationModel
from ._pairs import Pairs, pair_values

#: If the mean of the stored numbers is above this or below its inverse, they are
#: probably not meant as weights.
FARTHEST_MEAN = 2.0

#: Advice for data that are no pairs, see `check_data`.
ON_PAIRS = {
    "contains NaN": "Pairs that are not observed are 0, or not stored.",
    "Negative values": (
        "Leave dislikes of -1 out, by X.maximum(0) of a sparse matrix; or store likes "
        "as 2 and dislikes as 1, with pair_weight=1.0 and pair_target=lambda x: x - 1."
    ),
    "text": "sktemper.datasets.interactions_matrix makes X of users and items.",
}


class ImplicitFactorization(RecommenderMixin, TemperedEstimator):
    r"""Factorization of implicit feedback: clicks, plays, purchases.

    Every pair of a user and an item has a weight w and a target y, with :math:`y \sim
    N(u^T v, \sigma^2 / w)` [1]_.  Stored pairs use given w and y, and all other pairs
    have the weight w0 and the target 0.  Priors and noise are learned [2]_, so there is
    no penalty to tune.

    Parameters
    ----------
    n_components : int, default=32
        Number of factors d, the rank.  A higher one than needed costs time only.
    max_iter : int, default=15
        Largest number of passes of `fit`; rankings hardly change after 10.
    zero_weight : "auto" or float, default="auto"
        Weight w0 of a pair that is not stored, at most 1e15; tune it by `score`.
        "auto" is ``min(1, 8 * n_stored / (n_all - n_stored))``, with which these pairs
        together weigh 8 times as much as stored pairs of weight 1.
    pair_weight : "value", float or callable, default="value"
        Weights w of stored pairs, with a mean of about 1: the stored numbers, a number,
        or a function of the array of stored numbers, such as ``np.log1p`` for plays.
    pair_target : "value", float or callable, default=1.0
        Targets y of stored pairs, in the same way.  A function that divides stars by 5,
        with ``pair_weight=1.0``, ranks items by how much users like them.
    batch_size : int, "auto" or None, default=None
        Number of users of a step; None takes all (coordinate ascent).  "auto" is faster
        for many users: a tenth, at least 100 and at most 10,000.
    tol : float, default=1e-3
        Least gain that counts: of the held-out score, and with ``batch_size=None`` of
        the lower bound by a pass.

    Notes
    -----
    Rows are users and columns are items.  Stored numbers must not be negative, and
    stored zeros count as not stored.  float32 data are computed in float32, which is
    twice as fast and gives the same rankings.  There are no annealed, tempered or SVI+
    variants, because temperatures do not help here.

    `score_samples` is the normalized discounted cumulative gain [3]_ at 100 of every
    second pair of each user among all items, given the other pairs.  `score` is the
    mean over users.  A likelihood could not compare models with different w0.

    References
    ----------
    .. [1] Y. Hu, Y. Koren, C. Volinsky, "Collaborative filtering for implicit feedback
       datasets", ICDM 2008.
    .. [2] Y. J. Lim, Y. W. Teh, "Variational Bayesian approach to movie rating
       prediction", KDD Cup 2007.
    .. [3] K. Järvelin, J. Kekäläinen, "Cumulated gain-based evaluation of IR
       techniques", ACM Transactions on Information Systems 20, 2002.

    Examples
    --------
    >>> from sktemper import ImplicitFactorization
    >>> from sktemper.datasets import make_ratings
    >>> X = make_ratings(200, 50, n_ratings=3000, random_state=0) > 3
    >>> model = ImplicitFactorization(8, random_state=0).fit(X)
    >>> items, scores = model.recommend(X, n_items=2)
    >>> items.shape
    (200, 2)
    """

    _parameter_constraints = {
        **{
            name: constraint
            for name, constraint in TemperedEstimator._parameter_constraints.items()
            if name not in ("tempering", "gradient_noise", "moves")
        },
        "zero_weight": [StrOptions({"auto"}), POSITIVE],
        "pair_weight": [StrOptions({"value"}), POSITIVE, callable],
        "pair_target": [StrOptions({"value"}), FINITE, callable],
        "init": ["array-like", None],
    }
    _fixed_by_fit = (
        "n_components",
        "zero_weight",
        "init",  # because n_components determines its shape
    )

    zero_weight: Literal["auto"] | Float
    pair_weight: Literal["value"] | Float | Callable
    pair_target: Literal["value"] | Float | Callable

    @training_constructor(Training)
    def __init__(
        self,
        n_components: Int = 32,
        *,
        max_iter: Int = 15,
        zero_weight: Literal["auto"] | Float = "auto",
        pair_weight: Literal["value"] | Float | Callable = "value",
        pair_target: Literal["value"] | Float | Callable = 1.0,
        init: ArrayLike | None = None,
        batch_size: Int | Literal["auto"] | None = None,
        **parameters: Unpack[Training],
    ): ...

    _input_tags = {"positive_only": True}

    # -- methods that the base class calls ---------------------------------------------
    def _validate(self, X, reset):
        X = check_data(self, X, ON_PAIRS, reset=reset, **NON_NEGATIVE)
        if not sparse.issparse(X):  # scipy.sparse does not support all dtypes of numpy
            X = sparse.csr_array(X.astype(self._compute_dtype(X), copy=False))
        return X

    #: Rankings converge long before the bound.
    _least_tol = 1.0

    def _check_enough(self, data):
        if not any(matrix.data.any() for matrix in data.validated):
            raise ValueError("X has no stored pairs: no entries, or only zeros.")

    def _inspect_training_data(self, data, fresh):
        super()._inspect_training_data(data, fresh)
        if not fresh or self.pair_weight != "value":
            return
        values = data.counted_sample(ImplicitFactorizationModel.max_start_rows).data
        values = values[values != 0]
        mean = float(values.mean(dtype=np.float64)) if len(values) else 1.0
        if not 1 / FARTHEST_MEAN <= mean <= FARTHEST_MEAN:
            warn(
                "The stored numbers of X are taken as weights, with a mean of "
                f"{mean:.3g}, but zero_weight suits weights with a mean of about 1. "
                "Divide X by the mean, set pair_weight=1.0 if all pairs should have "
                "the same weight, or set pair_weight to a function such as numpy.log1p."
            )

    @staticmethod
    def _make_model(settings, n_features, dtype):
        zero_weight = settings.zero_weight
        if zero_weight != "auto" and zero_weight > LARGEST_WEIGHT:
            refuse("zero_weight", f"at most {LARGEST_WEIGHT:g}", zero_weight)
        weight, target = settings.pair_weight, settings.pair_target
        return ImplicitFactorizationModel(
            settings.n_components,
            n_features,
            zero_weight=None if zero_weight == "auto" else zero_weight,
            weight_of=pair_values("pair_weight", weight, dtype, non_negative=True),
            target_of=pair_values("pair_target", target, dtype),
            dtype=dtype,
            init=initial_vectors(settings, n_features, dtype),
        )

    # -- what users call ---------------------------------------------------------------
    def transform(self, X: DataLike) -> np.ndarray:
        """Return the factors of users, who need not be in the training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_items)
            Pairs of these users.

        Returns
        -------
        factors : ndarray of shape (n_samples, n_components)
            Posterior means, given the items.  A user without pairs gets the prior mean,
            which ranks items about as popularity does.
        """
        factors = np.concatenate(self._map(X, ImplicitFactorizationModel.factors))
        return factors.astype(self.state_.dtype)

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """Return the scores of all items for users who have the given factors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Factors of users, as `transform` returns them.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_items)
            Expected targets, which rank the items.
        """
        return scores_of_all(checked_factors(self, X), self._item_vectors())

    def predict(self, X: DataLike) -> np.ndarray:
        """Return the scores of all items for users: expected targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_items)
            Pairs of these users.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_items)
            Scores of all items, also of items that a user has a pair with.  Higher is
            better.
        """
        return self.inverse_transform(self.transform(X))

    def score_samples(self, X: DataLike) -> np.ndarray:
        """Return a measure of how well the held-out items of each user are ranked.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_items)

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Normalized discounted cumulative gain at 100.  A user without held-out items
            has 0.0.
        """
        return super().score_samples(X)

    def score(
        self, X: DataLike, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the mean of `score_samples` over users who have a held-out item.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_items)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the users in the mean.

        Returns
        -------
        score : float
            From 0 to 1; higher is better.
        """
        return super().score(X, sample_weight=sample_weight)

    # -- views of the state ------------------------------------------------------------
    @property
    def components_(self) -> np.ndarray:
        """Mean factors of the items, ndarray of shape (n_components, n_items)."""
        return self._item_vectors().T

    @property
    def item_covariances_(self) -> np.ndarray:
        """Posterior covariances of the items, ndarray of shape (n_items, n, n).

        n is ``n_components``.
        """
        return self._fitted_model().covariances(self._state().globals_)

    @property
    def user_factors_(self) -> np.ndarray:
        """Mean factors of fitted users, ndarray of shape (n_users, n_components)."""
        return self._fitted_users()[0]

    @property
    def zero_weight_(self) -> float:
        """Weight of a pair that is not stored, float."""
        return self._state().hyper.zero_weight

    def _item_vectors(self):
        def means():
            items = self._prepared(self._fitted_model()).items
            return items.means.astype(self._state().dtype)

        return self._cached("item_vectors", means)

    def _query_of_few(self, X):
        fitted = vars(self)
        if type(X) is np.ndarray or "feature_names_in_" in fitted:
            return None
        plain = plain_entries(
            X,
            *self._cached("inline_limits", self._inline_limits),
            fitted["n_features_in_"],
            largest_value(fitted["state_"].dtype),
        )
        if plain is None:  # validation converts the matrix, or raises an error
            return None
        starts, items, values = plain
        model = self._fitted_model()
        block = Pairs(starts, items, model.weight_of(values), model.target_of(values))
        posteriors, entries = model.users_of_block(block, self._prepared(model))
        labels = np.arange(len(starts) - 1)
        return QueryUsers(posteriors[0], entries, labels, False, posteriors)

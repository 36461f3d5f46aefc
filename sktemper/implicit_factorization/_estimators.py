"""The estimator of factorizations of implicit feedback."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from .._estimator import TemperedEstimator
from .._families import unpacked
from .._ranking._best import Rated
from .._ranking._recommender import Chosen, RecommenderMixin, initial_vectors
from .._utils._arguments import Interval, refuse
from .._utils._csr import plain_entries
from .._utils._limits import (
    LARGEST_WEIGHT,
    check_values,
    largest_value,
)
from .._utils._linalg import tiled_matmul
from .._utils._notices import warn
from .._utils._typing import ArrayLike, DataLike, Float, Int, Seed
from .._utils._validation import check_data
from ..learning_rates import LearningRate
from ..model import Powers, all_finite
from ._model import ImplicitFactorizationModel, UserInference
from ._pairs import Pairs, values_of_pairs

# -- recommendations of a factorization of implicit feedback, such as clicks -----------


# -- the estimator of factorizations of implicit feedback ------------------------------
#: If the mean of the stored numbers is above this or below its inverse, they are
#: probably not meant as weights.
FARTHEST_MEAN = 2.0
#: A fit has converged if the lower bound changes by less than this, in nats per user.
#: Rankings converge long before the bound.
LARGEST_CHANGE = 1.0


class ImplicitFactorization(
    RecommenderMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    TemperedEstimator,
):
    r"""Factorization of implicit feedback: clicks, plays, purchases.

    Every pair of a user and an item has a weight w and a target y, with
    :math:`y \sim N(u^T v, \sigma^2 / w)` [1]_.  Stored pairs use the given w and y, by
    default the stored number and 1.  All other pairs have the weight w0 and the target
    0.  Users and items have Gaussian posteriors with full covariances.  The means and
    covariances of their priors and the noise variance are learned [2]_, so there is no
    penalty to tune, and a rank that is too high does no harm.

    Parameters are in groups, each with its most important ones first: the model
    (``n_components`` to ``init``); temperature and step (``batch_size`` to
    ``learning_rate``); length of the fit (``max_iter`` to ``warm_start``); data and
    machine (``random_state`` to ``total_samples``).

    Parameters
    ----------
    n_components : int, default=32
        Number of factors d, the rank.  Factors that are not needed do no harm.
    zero_weight : "auto" or float, default="auto"
        Weight w0 of a pair that is not stored, positive and at most 1e15.  "auto" is
        ``min(1, 8 * n_stored / (n_all - n_stored))`` for the first data.  If stored
        pairs have weights of about 1, the other pairs together then weigh 8 times as
        much as the stored pairs.
    pair_weight : "value", float or callable, default="value"
        Weights w of the stored pairs, not negative: the stored numbers, one number for
        all pairs, or a function of the array of stored numbers, such as ``np.log1p``
        for plays.  The default ``zero_weight`` suits weights with a mean of about 1.
    pair_target : "value", float or callable, default=1.0
        Targets y of the stored pairs, given in the same way.  For ratings from 1 to
        5, ``pair_weight=1.0`` and a ``pair_target`` function that divides by 5 rank
        items by how much users like them.
    init : array-like of shape (n_components, n_items), default=None
        Initial factors of the items.  None is small draws from the prior.
    batch_size : int, "auto" or None, default=None
        Number of users of a step.  None takes all users, which is coordinate ascent
        with a learning rate of 1.  "auto" takes a tenth of the data, at least 100 and
        at most 10,000, and 1,000 in `partial_fit`.
    learning_rate : LearningRate or float, default=None
        Step size: the share of the distance to its target by which a step moves the
        parameters.  None is ``RobbinsMonro()``, or ``ConstantRate(1.0)`` in a `fit`
        with ``batch_size=None``.  A number is a `ConstantRate`.
    max_iter : int, default=15
        Number of passes of `fit` over the data.
    n_init : int, default=1
        Number of fits from different starts, one after another.  The fit with the
        highest `lower_bound` of the training data, with their ``sample_weight``, is
        kept; ``verbose`` logs the bounds.  If ``init`` is an array, fits differ only in
        the order of the users and in noise.  A `fit` that continues with
        ``warm_start``, and `partial_fit`, ignore this parameter.
    tol : float, default=1e-3
        Least rise of the held-out score that counts as an improvement, in nats per
        user.  A fit with ``batch_size=None`` ends when the lower bound changes by less
        than this in a step.
    n_iter_no_change : int, default=None
        Number of consecutive evaluations without an improvement by ``tol`` after which
        `fit` ends and keeps the best state.  Only states after the temperature has
        settled at 1 are considered.  None disables early stopping.
    evaluate_every : int, default=0
        Number of passes of `fit` between two scores of held-out data, which are in
        ``history_["heldout_score"]``.  0 computes scores after each pass if
        ``n_iter_no_change`` or the ``X_val`` of `fit` is given, and otherwise none.
    validation_fraction : float, default=0.1
        Share of the rows that `fit` holds out to compute scores, if it has no
        ``X_val``.
    warm_start : bool, default=False
        Whether `fit` continues the last fit.  It finishes the planned passes if the
        last fit was interrupted, and otherwise adds ``max_iter`` passes.  Temperature
        and learning rate continue from their last values.  An interrupted pass
        continues with the first unvisited row, or starts again if the training rows
        changed.
    random_state : int, RandomState instance or None, default=None
        Seed of the start and of the order of the users.
    n_jobs : int, default=None
        Largest number of threads.  Small amounts of work use one thread, which is
        faster.  None is 1 unless in a `joblib.parallel_config`.  The result has the
        same bits for every value.
    verbose : int, default=0
        Whether to log a line for each pass to the logger "sktemper".
    shuffle : bool, default=True
        Whether each pass of `fit` visits the users in a new random order.
    total_samples : int, default=None
        Number of rows of the data that a batch represents.  None is the number of rows
        of `fit`, plus rows of later `partial_fit` calls.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_items)
        Posterior means of the items' factors.
    item_covariances_ : ndarray of shape (n_items, n_components, n_components)
        Posterior covariances of the items' factors.
    user_factors_ : ndarray of shape (n_users, n_components)
        Posterior means of the factors of the users in the data of the last `fit` or
        `partial_fit`.
    user_labels_, item_labels_ : ndarray or None
        Labels of the rows of the last `fit` or `partial_fit`, and of the columns, if
        the data have labels.  The index and columns of a pandas data frame are labels.
    zero_weight_ : float
        Weight w0 of the fit.
    noise_variance_ : float
        Noise variance, given or learned.
    user_prior_, item_prior_ : tuple of ndarrays
        Mean and covariance of the priors, given or learned, of the shapes
        (n_components,) and (n_components, n_components).
    relevance_ : ndarray of shape (n_components,)
        Variance of the scores that each factor explains under the priors, in
        coordinates in which factors are independent; decreasing, and near 0 for
        factors that are not needed.
    tempering_, learning_rate_, gradient_noise_ : object
        Policies of the fit, with "auto" replaced by numbers.
    batch_size_ : int
        Number of rows of a step.
    temperature_ : float
        Temperature of the last step.
    n_iter_ : int
        Number of completed passes of `fit`.
    n_batch_iter_ : int
        Number of completed steps.
    n_samples_seen_ : int
        Total number of rows in the batches of all steps.
    history_ : dict of ndarrays
        Arrays with a value for each step, thinned if there are many: "step", "passes",
        "seconds", "temperature", "learning_rate", "batch_bound" (the part of the users
        in the tempered bound of the batch, in nats per unit of weight), "heldout_score"
        (NaN without an evaluation) and "mean_iterations" (mean number of local
        iterations of a row).  If temperatures are inferred, also
        "temperature_probabilities", of shape (n_rows, n_temperatures).  If the fit
        computed it, also "lower_bound" (before a step at T=1).  Arrays with a value for
        each move, if there were moves: "move_step", "move_seconds", "move_kept" and
        "move_bound" (the lower bound after the move).
    state_ : State
        Everything that changes during a fit: parameters, progress and policies.  Its
        fields may change between versions.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the data had column names.

    Notes
    -----
    Rows are users and columns are items.  Zeros are pairs that are not stored, even if
    a sparse matrix has them as entries.  Stored numbers must not be negative.  To give
    a stored pair less influence than a pair that is not stored, set its weight below
    w0.

    Weights and targets are functions of one stored number.  A second matrix would have
    to be sliced and passed along with ``X`` in parts, pipelines and grid searches.  If
    a pair needs more than one number, store the index of a row, counted from 1, of a
    table of your own, and pass functions that look up weights and targets in this
    table.  Functions are part of the pickle: a lambda cannot be
    pickled, but a function of a module can.

    A fit to float32 data computes in float32, which is twice as fast and gives the same
    rankings.  With d components, an item then needs 2 d (d + 3) bytes in a fitted
    model, and about four times as many during a fit.

    There are no annealed, tempered or SVI+ variants, because temperatures do not help
    here: only the product of temperature and noise matters, the noise is learned, and
    w0 acts as an inverse temperature of pairs that are not stored.

    `score_samples` splits the pairs of each user alternately into an observed half,
    from which it computes the factors, and a held-out half.  It returns the normalized
    discounted cumulative gain [3]_ at 100 of the held-out items among all items that
    are not observed, from 0 to 1.  `score` is the mean over users who have a held-out
    item.  A likelihood could not compare models with different w0.

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
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from sktemper import ImplicitFactorization
    >>> random = np.random.default_rng(0)
    >>> taste, kind = random.integers(3, size=200), np.arange(60) % 3
    >>> clicks = random.random((200, 60)) < np.where(taste[:, None] == kind, 0.4, 0.02)
    >>> X = sparse.csr_array(clicks.astype(np.float32))
    >>> model = ImplicitFactorization(8, random_state=0).fit(X)
    >>> scores = model.predict(X)
    >>> scores[X.nonzero()] = -np.inf
    >>> best = scores.argmax(axis=1)
    >>> bool(np.mean(kind[best] == taste) > 0.95)
    True
    >>> model.transform(X[:3]).shape
    (3, 8)
    """

    _parameter_constraints = {
        **{
            name: constraint
            for name, constraint in TemperedEstimator._parameter_constraints.items()
            if name not in ("tempering", "gradient_noise", "moves")
        },
        "zero_weight": [
            StrOptions({"auto"}),
            Interval(Real, 0, None, closed="neither"),
        ],
        "pair_weight": [
            StrOptions({"value"}),
            Interval(Real, 0, None, closed="neither"),
            callable,
        ],
        "pair_target": [
            StrOptions({"value"}),
            Interval(Real, None, None, closed="neither"),
            callable,
        ],
        "init": ["array-like", None],
    }
    _validated = (*TemperedEstimator._validated, "item_labels_")
    _fixed_by_fit = (
        "n_components",
        "zero_weight",
        "init",  # because n_components determines its shape
    )

    def __init__(
        self,
        n_components: Int = 32,
        *,
        zero_weight: Literal["auto"] | Float = "auto",
        pair_weight: Literal["value"] | Float | Callable = "value",
        pair_target: Literal["value"] | Float | Callable = 1.0,
        init: ArrayLike | None = None,
        batch_size: Int | Literal["auto"] | None = None,
        learning_rate: LearningRate | Float | None = None,
        max_iter: Int = 15,
        n_init: Int = 1,
        tol: Float = 1e-3,
        n_iter_no_change: Int | None = None,
        evaluate_every: Int = 0,
        validation_fraction: Float = 0.1,
        warm_start: bool = False,
        random_state: Seed = None,
        n_jobs: Int | None = None,
        verbose: Int = 0,
        shuffle: bool = True,
        total_samples: Int | None = None,
    ):
        self.n_components = n_components
        self.zero_weight = zero_weight
        self.pair_weight = pair_weight
        self.pair_target = pair_target
        self.init = init
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.n_init = n_init
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.evaluate_every = evaluate_every
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.shuffle = shuffle
        self.total_samples = total_samples

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # -- methods that the base class calls ---------------------------------------------
    def _validate(self, X, reset):
        X = check_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype="numeric",
            ensure_non_negative=True,
        )
        if not sparse.issparse(X):  # scipy.sparse does not support all dtypes of numpy
            X = sparse.csr_array(X.astype(self._compute_dtype(X), copy=False))
        check_values(X, self._dtype_for(X, reset), training=reset)
        return X

    def _largest_final_change(self, run):
        return max(super()._largest_final_change(run), LARGEST_CHANGE * len(run.train))

    def _check_enough(self, data):
        if not any(matrix.data.any() for matrix in data.validated):
            raise ValueError("X has no stored pairs: no entries, or only zeros.")

    def _inspect_training_data(self, data, fresh):
        super()._inspect_training_data(data, fresh)
        if fresh and self.pair_weight == "value":
            X, _ = data.sample(ImplicitFactorizationModel.max_start_rows)
            _warn_of_weights(X.data)

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
            weight_of=values_of_pairs("pair_weight", weight, dtype, True),
            target_of=values_of_pairs("pair_target", target, dtype),
            dtype=dtype,
            init=initial_vectors(settings, n_features, dtype),
        )

    def _install(self, state, policies):
        super()._install(state, policies)
        self._item_means_ = None  # they belong to an earlier state

    def _finish(self, problem, state):
        """Store the users of the training data, and the posterior means of items."""
        super()._finish(problem, state)
        prepared = problem.model.prepare(state.globals_, state.hyper)
        self._item_means_ = prepared.items.means.astype(state.dtype)

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
        factors = np.concatenate(self._map(X, _factors_of_users))
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
        check_is_fitted(self, "state_")
        X = check_array(X, dtype=[np.float64, np.float32])
        rank = self._state().hyper.n_components
        if X.shape[1] != rank:
            raise ValueError(
                f"X has {X.shape[1]} features, but there are {rank} components."
            )
        check_values(X, self.state_.dtype)
        return tiled_matmul(X, self.components_.astype(X.dtype, copy=False))

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
        y : None
            Ignored, for compatibility with scikit-learn.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the users in the mean.

        Returns
        -------
        score : float
            From 0 to 1; higher is better.

        Raises
        ------
        ValueError
            If no user has two pairs.
        """
        return super().score(X, sample_weight=sample_weight)

    # -- views of the state ------------------------------------------------------------
    def _item_means(self):
        state = self._state()
        if self._item_means_ is None:
            means = self._fitted_model().items(state.globals_).means
            self._item_means_ = means.astype(state.dtype)
        return self._item_means_

    @property
    def components_(self) -> np.ndarray:
        """Posterior means of the items' factors, ndarray (n_components, n_items)."""
        return self._item_means().T

    @property
    def item_covariances_(self) -> np.ndarray:
        """Posterior covariances of the items, (n_items, n_components, n_components)."""
        state = self._state()
        items, d = self._fitted_model().items(state.globals_), state.hyper.n_components
        squares = items.table.swapaxes(0, 1).reshape(len(items.means), -1)
        squares = unpacked(squares[:, : d * (d + 1) // 2], d)
        means = items.means.astype(state.dtype)
        return squares - means[:, :, None] * means[:, None, :]

    @property
    def user_factors_(self) -> np.ndarray:
        """Posterior means of the users' factors, ndarray (n_users, n_components)."""
        return self._fitted_users()[0]

    @property
    def zero_weight_(self) -> float:
        """Weight of a pair that is not stored."""
        return self._state().hyper.zero_weight

    @property
    def noise_variance_(self) -> float:
        """Variance of the noise of a pair of weight 1, given or learned."""
        return self._state().hyper.noise_variance

    @property
    def user_prior_(self) -> tuple:
        """Mean and covariance of the users' prior, given or learned."""
        return tuple(self._state().hyper.users)

    @property
    def item_prior_(self) -> tuple:
        """Mean and covariance of the items' prior, given or learned."""
        return tuple(self._state().hyper.items)

    @property
    def relevance_(self) -> np.ndarray:
        """Variance of the scores that each factor explains, decreasing."""
        users, items = self.user_prior_[1], self.item_prior_[1]
        return np.sort(np.abs(np.linalg.eigvals(users @ items)))[::-1]

    @property
    def _n_features_out(self):
        return self._state().hyper.n_components

    @staticmethod
    def _users_of_block(model, block, prepared):
        starts = (block.starts - block.starts[0]).astype(np.int64, copy=False)
        values = np.empty((len(block.items), 2), model.dtype)
        values[:, 0], values[:, 1] = block.weights, block.targets
        means = model.factors(block, prepared).astype(model.dtype, copy=False)
        return (means,), Rated(starts, np.array(block.items), values)

    def _chosen_of_few(self, X):
        known = vars(self)
        if type(X) is np.ndarray or "feature_names_in_" in known:
            return None
        entries = plain_entries(
            X,
            *self._cached("inline_limits", self._inline_limits),
            known["n_features_in_"],
            largest_value(known["state_"].dtype),
        )
        if entries is None:  # validation converts the matrix, or raises an error
            return None
        starts, items, values = entries
        model = self._ready.model(self)
        block = Pairs(starts, items, model.weight_of(values), model.target_of(values))
        posteriors, rated = self._users_of_block(model, block, self._prepared(model))
        labels = np.arange(len(starts) - 1)
        return Chosen(posteriors[0], rated, labels, False, posteriors)

    def _check_kept(self, model):
        super()._check_kept(model)
        if vars(self).get("_users_") is None:
            return
        if self._users_[0].dtype != model.dtype:
            raise ValueError("posteriors of users have the wrong type")
        if self._rated_.values.shape[1:] != (2,):
            raise ValueError("pairs of users have no weights and targets")

    def _fits(self, prepared, model):
        items, n_items = prepared.items, model.n_features
        shapes = items.table.shape, items.table.dtype, items.means.shape
        expected = (
            (model.n_panels, n_items, model.panel_width),
            model.dtype,
            (n_items, model.n_components),
        )
        fits = shapes == expected and prepared.shared.shape == (model.n_packed,)
        numbers = items.table, items.means, prepared.shared, prepared.hyper
        return fits and all_finite(*numbers)

    def _vector_width(self):
        return self._state().hyper.n_components

    def _entry_columns(self, rated):
        return dict(zip(("weight", "target"), rated.values.T, strict=True))

    def _shares(self, chosen, item):
        model = self._fitted_model()
        prepared, (starts, items, values) = self._prepared(model), chosen.rated
        hyper, n_packed = prepared.hyper, model.n_packed
        weights, targets = values.astype(np.float64).T
        pairs = Pairs(starts.astype(np.intp), items, weights, targets)
        factors = UserInference(model, pairs, prepared, Powers()).pair_factors
        sums = model.sums(pairs.starts, items, *factors, prepared.items.table)
        squares = sums.swapaxes(0, 1).reshape(1, -1)[0, :n_packed] + prepared.shared
        natural = hyper.users.natural()[:n_packed] + squares / hyper.noise_variance
        precision = unpacked(natural[None], model.n_components)[0]
        direction = np.linalg.solve(precision, prepared.items.means[item])
        products_with = prepared.items.means[items] @ direction
        return weights * targets / hyper.noise_variance * products_with


def _warn_of_weights(values):
    """Warn if the stored numbers seem to be ratings or counts instead of weights."""
    values = values[values != 0]
    mean = float(values.mean(dtype=np.float64)) if len(values) else 1.0
    if 1 / FARTHEST_MEAN <= mean <= FARTHEST_MEAN:
        return
    warn(
        f"The stored numbers of X are taken as weights, with a mean of {mean:.3g}, but "
        "zero_weight suits weights with a mean of about 1. Divide X by the mean, set "
        "pair_weight=1.0 if all pairs should have the same weight, or set pair_weight "
        "to a function such as numpy.log1p."
    )


def _factors_of_users(model, block, prepared):
    """Return the factors of the users of a block."""
    return model.factors(block, prepared)

"""The estimators of the factorial mixture."""

from __future__ import annotations

import functools
from collections.abc import Callable
from numbers import Real
from typing import Any, Literal

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils._param_validation import StrOptions

from .._estimator import AnnealedMixin, TemperedEstimator
from .._utils._arguments import Interval
from .._utils._frames import completed
from .._utils._limits import check_variances
from .._utils._linalg import tiled_matmul
from .._utils._typing import ArrayLike, Float, Int, Seed
from .._utils._validation import check_data, check_init
from ..learning_rates import LearningRate
from ..moves import Moves
from ..noise import GradientNoise
from ..schedules import Schedule
from ..tempering import Tempering
from ._births import STARTS
from ._inference import check_range, filled
from ._model import FactorialMixtureModel

#: Initial value of learned inclusion probabilities.  It is well below 1/2, where a
#: feature and its absence are exchangeable.
INITIAL_INCLUSION = 0.2


class _FactorialMixture(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, TemperedEstimator
):
    """Common parts of the estimators of the factorial mixture."""

    _parameter_constraints = {
        **TemperedEstimator._parameter_constraints,
        "inclusion_probability": [
            Interval(Real, 0, 1, closed="neither"),
            "array-like",
            None,
        ],
        "noise_variance": [Interval(Real, 0, None, closed="neither"), None],
        "component_variance": [Interval(Real, 0, None, closed="neither"), None],
        "posterior": [StrOptions({"structured", "factorized"})],
        "init": [StrOptions(set(STARTS)), "array-like"],
        "local_cooling": [Interval(Real, 1, None, closed="neither"), None],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _validate(self, X, reset):
        X = check_data(
            self,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
        )
        fresh = reset or not hasattr(self, "state_")
        noise = self.noise_variance if fresh else self.state_.hyper.noise_variance
        check_range(X, self._dtype_for(X, reset), noise)
        return X

    _fixed_by_fit = (
        "n_components",
        "inclusion_probability",
        "noise_variance",
        "component_variance",
        "posterior",
    )

    @staticmethod
    def _make_model(settings, n_features, dtype):
        K, inclusion = settings.n_components, settings.inclusion_probability
        check_variances(settings.noise_variance, dtype, "noise_variance")
        check_variances(settings.component_variance, dtype, "component_variance")
        return FactorialMixtureModel(
            K,
            n_features,
            noise_variance=settings.noise_variance,
            component_variance=settings.component_variance,
            inclusion_probability=_inclusion(inclusion, K),
            learn_noise_variance=settings.noise_variance is None,
            learn_inclusion_probability=inclusion is None,
            structured=settings.posterior == "structured",
            dtype=dtype,
            init=functools.partial(_start, settings.init, K),
            local_cooling=settings.local_cooling,
        )

    # -- what users call ---------------------------------------------------------------
    def transform(self, X: ArrayLike) -> np.ndarray:
        """Return the probabilities that samples have the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN is a missing value, which is left out.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_components)
            The posterior inclusion probabilities nu, at T=1.
        """
        return np.concatenate(
            self._map(
                X,
                lambda model, block, prepared: (
                    model.observed_step(block, prepared).local_parameters
                ),
            )
        )

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """Return the expected values of samples with given features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Features, or their probabilities, such as the result of `transform`.

        Returns
        -------
        values : ndarray of shape (n_samples, n_features)
            ``X @ components_``.
        """
        self._check_fitted()
        X = check_array(X, dtype=[np.float64, np.float32])
        components = self.components_
        if X.shape[1] != len(components):
            raise ValueError(
                f"X has {X.shape[1]} features, but there are {len(components)} "
                "components."
            )
        return tiled_matmul(X, components)

    def impute(self, X: ArrayLike) -> np.ndarray | Any:
        """Return ``X`` in which expected values replace missing values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN is a missing value.

        Returns
        -------
        X : ndarray, DataFrame or list
            A copy of ``X`` in the same container, in which values that were not missing
            are unchanged.
        """
        if isinstance(X, list) and np.ndim(X[0]) == 2:  # data in parts
            return [self.impute(part) for part in X]
        expected = self.inverse_transform(self.transform(X))
        values = self._validate(X, reset=False)
        values = np.where(np.isnan(values), expected, values)
        return completed(X, values, self._validate)

    # -- views of the state ------------------------------------------------------------
    @property
    def components_(self) -> np.ndarray:
        """Posterior means of the components, ndarray (n_components, n_features)."""
        state = self._state()
        return state.globals_.means().astype(state.dtype)

    @property
    def components_covariance_(self) -> np.ndarray:
        """Posterior covariance of the components, the same in each dimension."""
        state = self._state()
        return self._fitted_model().covariance(state.globals_)

    @property
    def noise_variance_(self) -> float:
        """Variance of the noise, given or learned."""
        return self._state().hyper.noise_variance

    @property
    def component_variance_(self) -> float:
        """Prior variance of the components, given or computed from the data."""
        return self._state().hyper.component_variance

    @property
    def inclusion_probability_(self) -> np.ndarray:
        """Probabilities of the features, ndarray (n_components,), given or learned."""
        return self._state().hyper.inclusion_probability

    @property
    def _n_features_out(self):
        return len(self._state().globals_.precision)


def _inclusion(value, n_components):
    """Return inclusion probabilities as a valid array of shape (n_components,)."""
    if value is None:
        value = INITIAL_INCLUSION
    if not isinstance(value, Real):
        value = check_array(
            value,
            dtype=np.float64,
            ensure_2d=False,
            input_name="inclusion_probability",
        )
        if value.shape != (n_components,):
            raise ValueError(
                f"inclusion_probability has shape {value.shape}; expected "
                f"({n_components},)."
            )
    value = np.broadcast_to(np.asarray(value, dtype=np.float64), n_components).copy()
    if not ((value > 0) & (value < 1)).all():
        raise ValueError("inclusion_probability must be in (0, 1) everywhere.")
    return value


def _start(init, n_components, X, hyper, random):
    """Return the initial means, of shape (n_components, n_features)."""
    if isinstance(init, str):
        return STARTS[init](filled(X), n_components, hyper, random)
    means = check_init(init, n_components, X.shape[1])
    check_range(means, np.dtype(X.dtype), hyper.noise_variance, name="init")
    return means


class TemperedFactorialMixture(_FactorialMixture):
    """Binary latent features (factorial mixture) with any tempering, or with none.

    Each sample is the sum of the components whose features the sample has, plus noise.
    This is a factorial mixture, the finite form of the Indian buffet process [1]_,
    [2]_.

    Parameters are in groups, each with its most important ones first: the model
    (``n_components`` to ``init``); temperature and step (``tempering`` to
    ``local_cooling``); length of the fit (``max_iter`` to ``warm_start``); data and
    machine (``random_state`` to ``total_samples``).

    Parameters
    ----------
    n_components : int, default=10
        Number of features K.
    inclusion_probability : float, array-like or None, default=None
        Prior probability pi that a sample has a feature, in (0, 1): one number, or one
        number for each feature.  None starts at 0.2 and learns it.
    noise_variance : float, default=None
        Variance sigma^2 of the noise of each value (the papers give its square root).
        None starts at the variance of the data and learns it.
    component_variance : float, default=None
        Prior variance of each entry of a component.  None is the variance with which
        the expected number of features explains the mean square of the data.
    posterior : {"structured", "factorized"}, default="structured"
        Posterior of the components.  "structured" has the correlations between
        components, and is exact given the features.  "factorized" neglects these
        correlations, as in [1]_; the means are at their joint optimum.
    init : {"random", "data", "ica", "nmf"} or array-like, default="random"
        Initial components: small draws from their prior, samples, or the components of
        scikit-learn's FastICA or NMF, scaled to binary features (NMF for data that are
        not far below 0); or an array of shape (n_components, n_features).
    tempering : Tempering, "global", "local" or None, default="global"
        Temperature during training, see `sktemper.tempering`.

        - "global", `GlobalTempering()`: one temperature, below a cap that falls to 1.
          It is inferred from the ratio of the mean squared residual to the noise
          variance.
        - "local", `LocalTempering()`: a temperature for each sample, which is like a
          noise variance for each sample.  Outliers get a high temperature and have less
          influence; `temperatures` returns the temperatures.
        - An `Annealing`, with a schedule and a target of your choice;
          `AnnealedFactorialMixture` is a shorter way to set these, and the first
          estimator to try.
        - None: plain variational inference at T=1, a baseline.
    moves : Moves, "birth" or None, default=None
        Moves that `fit` makes after its passes, at T=1, to leave a poor optimum, see
        `sktemper.moves`.  "birth" is `BirthMoves()`.  A move never lowers the lower
        bound of the training data, which is computed from at most 100,000 samples if
        the fit used mini-batches.  `partial_fit` makes no moves.
    batch_size : int, "auto" or None, default=None
        Number of samples of a step.  None takes all samples, which is coordinate ascent
        with a learning rate of 1.  "auto" takes a tenth of the data, at least 100 and
        at most 1,000, and 1,000 in `partial_fit`.
    learning_rate : LearningRate or float, default=None
        Step size: the share of the distance to its target by which a step moves the
        parameters.  None is ``RobbinsMonro()``, or ``ConstantRate(1.0)`` in a `fit`
        with ``batch_size=None``.  A number is a `ConstantRate`.
    gradient_noise : GradientNoise, default=None
        Noise of the statistics of a batch, see `sktemper.noise`; None adds no noise.
    local_cooling : float > 1 or None, default=2.0
        Factor by which the temperature of a sample falls in each sweep of its local
        step.  The sweeps start at a temperature at which all features are undecided,
        and end at the temperature of the model.  None disables this; similar features
        are then confused more often.
    max_iter : int, default=100
        Number of passes of `fit` over the data.
    n_init : int, default=1
        Number of fits from different starts, one after another.  The fit with the
        highest `lower_bound` of the training data, with their ``sample_weight``, is
        kept; ``verbose`` logs the bounds.  If ``init`` is an array, fits differ only in
        the order of the samples and in noise.  A `fit` that continues with
        ``warm_start``, and `partial_fit`, ignore this parameter.
    tol : float, default=1e-3
        Least rise of the held-out score that counts as an improvement, in nats per
        sample.  A fit with ``batch_size=None`` ends when the lower bound changes by
        less than this in a step at T=1.  A move is kept if it raises the bound by more
        than this.
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
        Seed of the start and of the order of the samples.
    n_jobs : int, default=None
        Largest number of threads.  Small amounts of work use one thread, which is
        faster.  None is 1 unless in a `joblib.parallel_config`.  The result has the
        same bits for every value.
    verbose : int, default=0
        Whether to log a line for each pass to the logger "sktemper".
    shuffle : bool, default=True
        Whether each pass of `fit` visits the samples in a new random order.
    total_samples : int, default=None
        Number of rows of the data that a batch represents.  None is the number of rows
        of `fit`, plus rows of later `partial_fit` calls.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Posterior means of the components.
    components_covariance_ : ndarray of shape (n_components, n_components)
        Posterior covariance of the components, the same for all features.
    noise_variance_, component_variance_ : float
        Variances of the fit, given or learned.
    inclusion_probability_ : ndarray of shape (n_components,)
        Inclusion probabilities, given or learned.
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
        "seconds", "temperature", "learning_rate", "batch_bound" (the part of the
        samples in the tempered bound of the batch, in nats per value), "heldout_score"
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
    NaN is a missing value.  `transform` and scores leave it out.  `fit` treats it as a
    latent variable, and so does `lower_bound`, which `fit` maximises.

    `score_samples` is a lower bound of log p(x) under the posterior of the components.
    It can be compared between fits, and with any other density of x.  `score` is the
    mean over the samples.

    Values above 1e120 (1e30 in float32) raise an error, and so do values whose square
    overflows when it is divided by the noise variance.

    Noise and components have prior mean zero.  Therefore data whose zero has no meaning
    should be centred.

    References
    ----------
    .. [1] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016, equation 12 and appendix C.
    .. [2] F. Doshi-Velez, K. Miller, J. Van Gael, Y. W. Teh, "Variational inference for
       the Indian buffet process", AISTATS 2009.
    .. [3] F. Abrol, S. Mandt, R. Ranganath, D. Blei, "Deterministic annealing for
       stochastic variational inference", 2014.
    .. [4] J. Paisley, G. Fazelnia, B. Barr, "Stochastic variational inference with
       tuneable stochastic annealing".

    Examples
    --------
    >>> import numpy as np
    >>> from sktemper import TemperedFactorialMixture
    >>> random = np.random.default_rng(0)
    >>> features = random.random((500, 3)) < 0.3
    >>> X = features @ np.eye(3, 6) + 0.1 * random.normal(size=(500, 6))
    >>> mixture = TemperedFactorialMixture(3, random_state=0).fit(X)
    >>> mixture.transform(X).shape
    (500, 3)
    """

    _parameter_constraints = _FactorialMixture._parameter_constraints

    def __init__(
        self,
        n_components: Int = 10,
        *,
        inclusion_probability: Float | ArrayLike | None = None,
        noise_variance: Float | None = None,
        component_variance: Float | None = None,
        posterior: Literal["structured", "factorized"] = "structured",
        init: Literal["random", "data", "ica", "nmf"] | ArrayLike = "random",
        tempering: Tempering | Literal["global", "local"] | None = "global",
        moves: Moves | Literal["birth"] | None = None,
        batch_size: Int | Literal["auto"] | None = None,
        learning_rate: LearningRate | Float | None = None,
        gradient_noise: GradientNoise | None = None,
        local_cooling: Float | None = 2.0,
        max_iter: Int = 100,
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
        self.inclusion_probability = inclusion_probability
        self.noise_variance = noise_variance
        self.component_variance = component_variance
        self.posterior = posterior
        self.init = init
        self.tempering = tempering
        self.moves = moves
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.gradient_noise = gradient_noise
        self.local_cooling = local_cooling
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


class AnnealedFactorialMixture(AnnealedMixin, _FactorialMixture):
    """Binary latent features (factorial mixture) fitted by annealing and moves.

    Each sample is the sum of the components whose features the sample has, plus noise.
    This is a factorial mixture, the finite form of the Indian buffet process [1]_,
    [2]_.  The fit
    starts at a high temperature, which falls to 1 [3]_, and then moves superfluous
    components to samples that fit badly.

    Parameters are in groups, each with its most important ones first: the model
    (``n_components`` to ``init``); temperature and step (``schedule`` to
    ``local_cooling``); length of the fit (``max_iter`` to ``warm_start``); data and
    machine (``random_state`` to ``total_samples``).

    Parameters
    ----------
    n_components : int, default=10
        Number of features K.
    inclusion_probability : float, array-like or None, default=None
        Prior probability pi that a sample has a feature, in (0, 1): one number, or one
        number for each feature.  None starts at 0.2 and learns it.
    noise_variance : float, default=None
        Variance sigma^2 of the noise of each value (the papers give its square root).
        None starts at the variance of the data and learns it.
    component_variance : float, default=None
        Prior variance of each entry of a component.  None is the variance with which
        the expected number of features explains the mean square of the data.
    posterior : {"structured", "factorized"}, default="structured"
        Posterior of the components.  "structured" has the correlations between
        components, and is exact given the features.  "factorized" neglects these
        correlations, as in [1]_; the means are at their joint optimum.
    init : {"random", "data", "ica", "nmf"} or array-like, default="random"
        Initial components: small draws from their prior, samples, or the components of
        scikit-learn's FastICA or NMF, scaled to binary features (NMF for data that are
        not far below 0); or an array of shape (n_components, n_features).
    schedule : Schedule or callable, default=None
        Temperature of each step, see `sktemper.schedules`.  None is
        ``ExponentialSchedule()``.
    target : {"local_step", "likelihood", "posterior"}, default="local_step"
        The part of the model that the temperature flattens, see
        `sktemper.tempering.Annealing`.
    moves : Moves, "birth" or None, default="birth"
        Moves that `fit` makes after its passes, at T=1, to leave a poor optimum, see
        `sktemper.moves`.  "birth" is `BirthMoves()`.  A move never lowers the lower
        bound of the training data, which is computed from at most 100,000 samples if
        the fit used mini-batches.  `partial_fit` makes no moves.
    batch_size : int, "auto" or None, default=None
        Number of samples of a step.  None takes all samples, which is coordinate ascent
        with a learning rate of 1.  "auto" takes a tenth of the data, at least 100 and
        at most 1,000, and 1,000 in `partial_fit`.
    learning_rate : LearningRate or float, default=None
        Step size: the share of the distance to its target by which a step moves the
        parameters.  None is ``RobbinsMonro()``, or ``ConstantRate(1.0)`` in a `fit`
        with ``batch_size=None``.  A number is a `ConstantRate`.
    gradient_noise : GradientNoise, default=None
        Noise of the statistics of a batch, see `sktemper.noise`; None adds no noise.
    local_cooling : float > 1 or None, default=2.0
        Factor by which the temperature of a sample falls in each sweep of its local
        step.  The sweeps start at a temperature at which all features are undecided,
        and end at the temperature of the model.  None disables this; similar features
        are then confused more often.
    max_iter : int, default=100
        Number of passes of `fit` over the data.
    n_init : int, default=1
        Number of fits from different starts, one after another.  The fit with the
        highest `lower_bound` of the training data, with their ``sample_weight``, is
        kept; ``verbose`` logs the bounds.  If ``init`` is an array, fits differ only in
        the order of the samples and in noise.  A `fit` that continues with
        ``warm_start``, and `partial_fit`, ignore this parameter.
    tol : float, default=1e-3
        Least rise of the held-out score that counts as an improvement, in nats per
        sample.  A fit with ``batch_size=None`` ends when the lower bound changes by
        less than this in a step at T=1.  A move is kept if it raises the bound by more
        than this.
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
        Seed of the start and of the order of the samples.
    n_jobs : int, default=None
        Largest number of threads.  Small amounts of work use one thread, which is
        faster.  None is 1 unless in a `joblib.parallel_config`.  The result has the
        same bits for every value.
    verbose : int, default=0
        Whether to log a line for each pass to the logger "sktemper".
    shuffle : bool, default=True
        Whether each pass of `fit` visits the samples in a new random order.
    total_samples : int, default=None
        Number of rows of the data that a batch represents.  None is the number of rows
        of `fit`, plus rows of later `partial_fit` calls.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Posterior means of the components.
    components_covariance_ : ndarray of shape (n_components, n_components)
        Posterior covariance of the components, the same for all features.
    noise_variance_, component_variance_ : float
        Variances of the fit, given or learned.
    inclusion_probability_ : ndarray of shape (n_components,)
        Inclusion probabilities, given or learned.
    schedule_ : Schedule
        Schedule of the fit, with "auto" replaced by numbers.
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
        "seconds", "temperature", "learning_rate", "batch_bound" (the part of the
        samples in the tempered bound of the batch, in nats per value), "heldout_score"
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
    NaN is a missing value.  `transform` and scores leave it out.  `fit` treats it as a
    latent variable, and so does `lower_bound`, which `fit` maximises.

    `score_samples` is a lower bound of log p(x) under the posterior of the components.
    It can be compared between fits, and with any other density of x.  `score` is the
    mean over the samples.

    Values above 1e120 (1e30 in float32) raise an error, and so do values whose square
    overflows when it is divided by the noise variance.

    Noise and components have prior mean zero.  Therefore data whose zero has no meaning
    should be centred.

    References
    ----------
    .. [1] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016, equation 12 and appendix C.
    .. [2] F. Doshi-Velez, K. Miller, J. Van Gael, Y. W. Teh, "Variational inference for
       the Indian buffet process", AISTATS 2009.
    .. [3] F. Abrol, S. Mandt, R. Ranganath, D. Blei, "Deterministic annealing for
       stochastic variational inference", 2014.
    .. [4] J. Paisley, G. Fazelnia, B. Barr, "Stochastic variational inference with
       tuneable stochastic annealing".

    Examples
    --------
    >>> import numpy as np
    >>> from sktemper import AnnealedFactorialMixture
    >>> random = np.random.default_rng(0)
    >>> features = random.random((500, 3)) < 0.3
    >>> X = features @ np.eye(3, 6) + 0.1 * random.normal(size=(500, 6))
    >>> mixture = AnnealedFactorialMixture(3, random_state=0).fit(X)
    >>> np.abs(mixture.components_).round(1).max(axis=1)
    array([1., 1., 1.])
    >>> mixture.inverse_transform(mixture.transform(X)).shape
    (500, 6)
    """

    def __init__(
        self,
        n_components: Int = 10,
        *,
        inclusion_probability: Float | ArrayLike | None = None,
        noise_variance: Float | None = None,
        component_variance: Float | None = None,
        posterior: Literal["structured", "factorized"] = "structured",
        init: Literal["random", "data", "ica", "nmf"] | ArrayLike = "random",
        schedule: Schedule | Callable | None = None,
        target: Literal["local_step", "likelihood", "posterior"] = "local_step",
        moves: Moves | Literal["birth"] | None = "birth",
        batch_size: Int | Literal["auto"] | None = None,
        learning_rate: LearningRate | Float | None = None,
        gradient_noise: GradientNoise | None = None,
        local_cooling: Float | None = 2.0,
        max_iter: Int = 100,
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
        self.inclusion_probability = inclusion_probability
        self.noise_variance = noise_variance
        self.component_variance = component_variance
        self.posterior = posterior
        self.init = init
        self.schedule = schedule
        self.target = target
        self.moves = moves
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.gradient_noise = gradient_noise
        self.local_cooling = local_cooling
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

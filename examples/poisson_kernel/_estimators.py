"""The three estimators of the mixture of Poissons."""

import numpy as np
from sklearn.utils.validation import validate_data

from .._estimator import AnnealedMixin, MixtureMixin, SVIPlusMixin, TemperedEstimator
from ._model import PoissonMixtureModel


class _PoissonMixture(MixtureMixin, TemperedEstimator):
    """Common part of the three estimators: validation, model and components."""

    _fixed_by_fit = ("n_components",)  # cannot change in a fitted model

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _validate(self, X, reset):
        dtypes = [np.float64, np.float32]
        return validate_data(
            self, X, reset=reset, dtype=dtypes, ensure_non_negative=True
        )

    @staticmethod
    def _make_model(settings, n_features, dtype):
        return PoissonMixtureModel(settings.n_components, n_features, dtype=dtype)

    @property
    def components_(self):
        """Posterior means of the rates, of shape (n_components, n_features)."""
        gammas = self._state().globals_.components
        return ((gammas[..., 0] + 1.0) / gammas[..., 1]).astype(self.state_.dtype)


class TemperedPoissonMixture(_PoissonMixture):
    """Mixture of Poissons, for counts of events: under any tempering.

    Parameters are in groups, each with its most important ones first: the model
    (``n_components``); temperature and step (``tempering`` to ``gradient_noise``);
    length of the fit (``max_iter`` to ``warm_start``); data and machine
    (``random_state`` to ``total_samples``).

    Parameters
    ----------
    n_components : int, default=8
        Largest number of components.  Components that are not needed stay empty.
    tempering : Tempering, "global", "local" or None, default=None
        Temperature during training, see `sktemper.tempering`; None is T=1.
    moves : Moves, "split_merge" or None, default=None
        Moves that `fit` makes after its passes, at T=1, to leave a poor optimum, see
        `sktemper.moves`.  "split_merge" is `SplitMergeMoves()`.  A move never lowers
        the lower bound of the training data, which is computed from at most 100,000
        samples if the fit used mini-batches.  `partial_fit` makes no moves.
    batch_size : int, "auto" or None, default=None
        Number of samples of a step.  None takes all samples.
    learning_rate : LearningRate or float, default=None
        Step size: the share of the distance to its target by which a step moves the
        parameters, see `sktemper.learning_rates`.
    gradient_noise : GradientNoise, default=None
        Noise of the statistics of a batch, see `sktemper.noise`; None adds no noise.
    max_iter : int, default=100
        Largest number of passes of `fit` over the data.
    n_init : int, default=1
        Number of fits from different starts, one after another.  The fit with the
        highest `lower_bound` of the training data, with their ``sample_weight``, is
        kept; ``verbose`` logs the bounds.  A `fit` that continues with ``warm_start``,
        and `partial_fit`, ignore this parameter.
    tol : float, default=1e-3
        Least rise of the held-out score that counts as an improvement, in nats per
        sample.
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
    total_samples : int, default=None
        Number of rows of the data that a batch represents.  None is the number of rows
        of `fit`, plus rows of later `partial_fit` calls.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Posterior means of the rates.
    weights_ : ndarray of shape (n_components,)
        Posterior means of the weights.
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
        samples in the tempered bound of the batch, in nats per sample), "heldout_score"
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
    """

    def __init__(
        self,
        n_components=8,
        *,
        tempering=None,
        moves=None,
        batch_size=None,
        learning_rate=None,
        gradient_noise=None,
        max_iter=100,
        n_init=1,
        tol=1e-3,
        n_iter_no_change=None,
        evaluate_every=0,
        validation_fraction=0.1,
        warm_start=False,
        random_state=None,
        n_jobs=None,
        verbose=0,
        total_samples=None,
    ):
        self.n_components = n_components
        self.tempering = tempering
        self.moves = moves
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.gradient_noise = gradient_noise
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
        self.total_samples = total_samples


class AnnealedPoissonMixture(AnnealedMixin, _PoissonMixture):
    """Mixture of Poissons, for counts of events: annealed.

    Parameters are in groups, each with its most important ones first: the model
    (``n_components``); temperature and step (``schedule`` to ``gradient_noise``);
    length of the fit (``max_iter`` to ``warm_start``); data and machine
    (``random_state`` to ``total_samples``).

    Parameters
    ----------
    n_components : int, default=8
        Largest number of components.  Components that are not needed stay empty.
    schedule : Schedule or callable, default=None
        Temperature of each step, see `sktemper.schedules`.  None is
        ``ExponentialSchedule()``.
    target : {"local_step", "likelihood", "posterior"}, default="local_step"
        The part of the model that the temperature flattens, see
        `sktemper.tempering.Annealing`.
    moves : Moves, "split_merge" or None, default=None
        Moves that `fit` makes after its passes, at T=1, to leave a poor optimum, see
        `sktemper.moves`.  "split_merge" is `SplitMergeMoves()`.  A move never lowers
        the lower bound of the training data, which is computed from at most 100,000
        samples if the fit used mini-batches.  `partial_fit` makes no moves.
    batch_size : int, "auto" or None, default=None
        Number of samples of a step.  None takes all samples.
    learning_rate : LearningRate or float, default=None
        Step size: the share of the distance to its target by which a step moves the
        parameters, see `sktemper.learning_rates`.
    gradient_noise : GradientNoise, default=None
        Noise of the statistics of a batch, see `sktemper.noise`; None adds no noise.
    max_iter : int, default=100
        Largest number of passes of `fit` over the data.
    n_init : int, default=1
        Number of fits from different starts, one after another.  The fit with the
        highest `lower_bound` of the training data, with their ``sample_weight``, is
        kept; ``verbose`` logs the bounds.  A `fit` that continues with ``warm_start``,
        and `partial_fit`, ignore this parameter.
    tol : float, default=1e-3
        Least rise of the held-out score that counts as an improvement, in nats per
        sample.
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
    total_samples : int, default=None
        Number of rows of the data that a batch represents.  None is the number of rows
        of `fit`, plus rows of later `partial_fit` calls.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Posterior means of the rates.
    weights_ : ndarray of shape (n_components,)
        Posterior means of the weights.
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
        samples in the tempered bound of the batch, in nats per sample), "heldout_score"
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
    """

    def __init__(
        self,
        n_components=8,
        *,
        schedule=None,
        target="local_step",
        moves=None,
        batch_size=None,
        learning_rate=None,
        gradient_noise=None,
        max_iter=100,
        n_init=1,
        tol=1e-3,
        n_iter_no_change=None,
        evaluate_every=0,
        validation_fraction=0.1,
        warm_start=False,
        random_state=None,
        n_jobs=None,
        verbose=0,
        total_samples=None,
    ):
        self.n_components = n_components
        self.schedule = schedule
        self.target = target
        self.moves = moves
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.gradient_noise = gradient_noise
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
        self.total_samples = total_samples


class SVIPlusPoissonMixture(SVIPlusMixin, _PoissonMixture):
    """Mixture of Poissons, for counts of events: with tuneable gradient noise.

    Parameters are in groups, each with its most important ones first: the model
    (``n_components``); temperature and step (``effective_batch_size`` to
    ``learning_rate``); length of the fit (``max_iter`` to ``warm_start``); data and
    machine (``random_state`` to ``total_samples``).

    Parameters
    ----------
    n_components : int, default=8
        Largest number of components.  Components that are not needed stay empty.
    effective_batch_size : float, int, Schedule or callable, default=0.5
        Size M of a batch without added noise that would have the same gradient noise: a
        share of the batch, a number of samples, or a schedule of such values, see
        `sktemper.noise.SVIPlusNoise`.
    noise_distribution : {"dirichlet", "gaussian"}, default="dirichlet"
        Distribution of the random weights of samples, see
        `sktemper.noise.SVIPlusNoise`.
    tempering : Tempering, "global", "local" or None, default=None
        Temperature during training, see `sktemper.tempering`; None is T=1.
    moves : Moves, "split_merge" or None, default=None
        Moves that `fit` makes after its passes, at T=1, to leave a poor optimum, see
        `sktemper.moves`.  "split_merge" is `SplitMergeMoves()`.  A move never lowers
        the lower bound of the training data, which is computed from at most 100,000
        samples if the fit used mini-batches.  `partial_fit` makes no moves.
    batch_size : int, "auto" or None, default=None
        Number of samples of a step.  None takes all samples.
    learning_rate : LearningRate or float, default=None
        Step size: the share of the distance to its target by which a step moves the
        parameters, see `sktemper.learning_rates`.
    max_iter : int, default=100
        Largest number of passes of `fit` over the data.
    n_init : int, default=1
        Number of fits from different starts, one after another.  The fit with the
        highest `lower_bound` of the training data, with their ``sample_weight``, is
        kept; ``verbose`` logs the bounds.  A `fit` that continues with ``warm_start``,
        and `partial_fit`, ignore this parameter.
    tol : float, default=1e-3
        Least rise of the held-out score that counts as an improvement, in nats per
        sample.
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
    total_samples : int, default=None
        Number of rows of the data that a batch represents.  None is the number of rows
        of `fit`, plus rows of later `partial_fit` calls.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Posterior means of the rates.
    weights_ : ndarray of shape (n_components,)
        Posterior means of the weights.
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
        samples in the tempered bound of the batch, in nats per sample), "heldout_score"
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
    """

    def __init__(
        self,
        n_components=8,
        *,
        effective_batch_size=0.5,
        noise_distribution="dirichlet",
        tempering=None,
        moves=None,
        batch_size=None,
        learning_rate=None,
        max_iter=100,
        n_init=1,
        tol=1e-3,
        n_iter_no_change=None,
        evaluate_every=0,
        validation_fraction=0.1,
        warm_start=False,
        random_state=None,
        n_jobs=None,
        verbose=0,
        total_samples=None,
    ):
        self.n_components = n_components
        self.effective_batch_size = effective_batch_size
        self.noise_distribution = noise_distribution
        self.tempering = tempering
        self.moves = moves
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
        self.total_samples = total_samples

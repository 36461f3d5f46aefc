"""The three estimators of the mixture of Poissons."""

import numpy as np
from sklearn.utils.validation import validate_data

from .._estimator import (
    AnnealedMixin,
    MixtureMixin,
    SVIPlusMixin,
    TemperedEstimator,
)
from ._model import PoissonMixtureModel


class _PoissonMixture(MixtureMixin, TemperedEstimator):
    """What the three share."""

    _fixed_by_fit = ("n_components",)  # a fitted model keeps these

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _validate(self, X, reset):
        dtypes = [np.float64, np.float32]
        return validate_data(
            self, X, reset=reset, dtype=dtypes, ensure_non_negative=True
        )

    def _make_model(self, n_features, dtype):
        return PoissonMixtureModel(self.n_components, n_features, dtype=dtype)

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
        Number of components; more than are needed stay empty.
    tempering : Tempering, "global", "local" or None, default=None
        The temperature during training, see `sktemper.tempering`; None is T=1.
    moves : Moves, "split_merge" or None, default=None
        What `fit` does once it has settled at T=1, to leave a poor optimum, see
        `sktemper.moves`: births, splits and merges of components.  The lower
        bound of the training data never falls by it; after minibatches it is judged by
        100,000 samples at most.  `partial_fit` makes none.
    batch_size : int, "auto" or None, default=None
        Rows of a step; None is all of them.
    learning_rate : LearningRate or float, default=None
        How far each step goes toward its target, see `sktemper.learning_rates`.
    gradient_noise : GradientNoise, default=None
        Noise on the statistics of a batch, see `sktemper.noise`; None is off.
    max_iter : int, default=100
        Passes over the data.
    n_init : int, default=1
        How many times `fit` fits, one after another and each time from another start.
        The fit with the best `lower_bound` of the training data, their
        ``sample_weight`` included, is kept; with ``verbose`` the bounds are logged.
        If ``init`` is an array, only the order of the samples and the noise differ.
        A `fit` that goes on by ``warm_start``, and `partial_fit`, ignore it.
    tol : float, default=1e-3
        Least improvement of the held-out score, in nats per sample.
    n_iter_no_change : int, default=None
        Stop a `fit` after so many evaluations without improvement by ``tol``, and keep
        the best state.  Only states at a settled temperature of 1 count.
    evaluate_every : int, default=0
        Score a held-out part of the data after each so many passes of `fit`, into
        ``history_["heldout_score"]``; 0 is never, but for the ``X_val`` of a `fit`,
        which are scored after each pass.
    validation_fraction : float, default=0.1
        Share of the rows held out, if they are scored and `fit` has no ``X_val``.
    warm_start : bool, default=False
        Whether `fit` goes on: it finishes an interrupted plan, or else adds
        ``max_iter`` passes; temperature and rate go on from where they were.  An
        interrupted pass goes on at the batch where it was, with another ``batch_size``
        at the one of the first row not visited yet, and from its beginning where the
        rows that it is trained on are others.
    random_state : int, RandomState instance or None, default=None
        Seed of the start and of the order of the samples.
    n_jobs : int, default=None
        Threads at most: small pieces of work are done by one, which takes less time.
        None is 1 unless in a `joblib.parallel_config`.  The result is the same, bit for
        bit, for every value.
    verbose : int, default=0
        Whether to log a line a pass to the logger "sktemper".
    total_samples : int, default=None
        Size of the data for which a batch stands.  None is the rows of `fit`, plus
        those of later `partial_fit` calls.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Posterior means of the rates.
    weights_ : ndarray of shape (n_components,)
        Posterior means of the weights.
    tempering_, learning_rate_, gradient_noise_ : object
        The policies in use, with "auto" resolved.
    batch_size_ : int
        Rows of a step.
    temperature_ : float
        Temperature of the last step.
    n_iter_ : int
        Passes of `fit` completed.
    n_batch_iter_ : int
        Steps completed.
    n_samples_seen_ : int
        Rows seen, repeats included.
    history_ : dict of ndarrays
        A row a step (thinned when there are too many): "step", "passes", "seconds",
        "temperature", "learning_rate", "batch_bound" (the part of the samples in the
        tempered bound of the batch, in nats per sample), "heldout_score" (NaN where
        not evaluated) and "mean_iterations" (on a row); where the tempering has a
        ladder also "temperature_probabilities", of shape (n_rows, n_temperatures);
        in a fit of all samples at once perhaps "lower_bound" (before a step at T=1);
        where moves were made also, a row a move, "move_step", "move_seconds",
        "move_kept" and "move_bound" (the lower bound after it).
    state_ : State
        Everything that changes during a fit: parameters, progress and policies.  Its
        fields may change between versions.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if the data had any.
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
        Number of components; more than are needed stay empty.
    schedule : Schedule or callable, default=None
        The temperature at each step, see `sktemper.schedules`.  None is
        ``ExponentialSchedule()``.
    target : {"local_step", "likelihood", "posterior"}, default="local_step"
        What the temperature flattens, see `sktemper.tempering.Annealing`.
    moves : Moves, "split_merge" or None, default=None
        What `fit` does once it has settled at T=1, to leave a poor optimum, see
        `sktemper.moves`: births, splits and merges of components.  The lower
        bound of the training data never falls by it; after minibatches it is judged by
        100,000 samples at most.  `partial_fit` makes none.
    batch_size : int, "auto" or None, default=None
        Rows of a step; None is all of them.
    learning_rate : LearningRate or float, default=None
        How far each step goes toward its target, see `sktemper.learning_rates`.
    gradient_noise : GradientNoise, default=None
        Noise on the statistics of a batch, see `sktemper.noise`; None is off.
    max_iter : int, default=100
        Passes over the data.
    n_init : int, default=1
        How many times `fit` fits, one after another and each time from another start.
        The fit with the best `lower_bound` of the training data, their
        ``sample_weight`` included, is kept; with ``verbose`` the bounds are logged.
        If ``init`` is an array, only the order of the samples and the noise differ.
        A `fit` that goes on by ``warm_start``, and `partial_fit`, ignore it.
    tol : float, default=1e-3
        Least improvement of the held-out score, in nats per sample.
    n_iter_no_change : int, default=None
        Stop a `fit` after so many evaluations without improvement by ``tol``, and keep
        the best state.  Only states at a settled temperature of 1 count.
    evaluate_every : int, default=0
        Score a held-out part of the data after each so many passes of `fit`, into
        ``history_["heldout_score"]``; 0 is never, but for the ``X_val`` of a `fit`,
        which are scored after each pass.
    validation_fraction : float, default=0.1
        Share of the rows held out, if they are scored and `fit` has no ``X_val``.
    warm_start : bool, default=False
        Whether `fit` goes on: it finishes an interrupted plan, or else adds
        ``max_iter`` passes; temperature and rate go on from where they were.  An
        interrupted pass goes on at the batch where it was, with another ``batch_size``
        at the one of the first row not visited yet, and from its beginning where the
        rows that it is trained on are others.
    random_state : int, RandomState instance or None, default=None
        Seed of the start and of the order of the samples.
    n_jobs : int, default=None
        Threads at most: small pieces of work are done by one, which takes less time.
        None is 1 unless in a `joblib.parallel_config`.  The result is the same, bit for
        bit, for every value.
    verbose : int, default=0
        Whether to log a line a pass to the logger "sktemper".
    total_samples : int, default=None
        Size of the data for which a batch stands.  None is the rows of `fit`, plus
        those of later `partial_fit` calls.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Posterior means of the rates.
    weights_ : ndarray of shape (n_components,)
        Posterior means of the weights.
    tempering_, learning_rate_, gradient_noise_ : object
        The policies in use, with "auto" resolved.
    batch_size_ : int
        Rows of a step.
    temperature_ : float
        Temperature of the last step.
    n_iter_ : int
        Passes of `fit` completed.
    n_batch_iter_ : int
        Steps completed.
    n_samples_seen_ : int
        Rows seen, repeats included.
    history_ : dict of ndarrays
        A row a step (thinned when there are too many): "step", "passes", "seconds",
        "temperature", "learning_rate", "batch_bound" (the part of the samples in the
        tempered bound of the batch, in nats per sample), "heldout_score" (NaN where
        not evaluated) and "mean_iterations" (on a row); where the tempering has a
        ladder also "temperature_probabilities", of shape (n_rows, n_temperatures);
        in a fit of all samples at once perhaps "lower_bound" (before a step at T=1);
        where moves were made also, a row a move, "move_step", "move_seconds",
        "move_kept" and "move_bound" (the lower bound after it).
    state_ : State
        Everything that changes during a fit: parameters, progress and policies.  Its
        fields may change between versions.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if the data had any.
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
        Number of components; more than are needed stay empty.
    effective_batch_size : float, int, Schedule or callable, default=0.5
        M: a share of the batch, a number of samples, or a number at each step; see
        `sktemper.noise.SVIPlusNoise`.
    noise_distribution : {"dirichlet", "gaussian"}, default="dirichlet"
        Of the weights of samples, see `sktemper.noise.SVIPlusNoise`.
    tempering : Tempering, "global", "local" or None, default=None
        The temperature during training, see `sktemper.tempering`; None is T=1.
    moves : Moves, "split_merge" or None, default=None
        What `fit` does once it has settled at T=1, to leave a poor optimum, see
        `sktemper.moves`: births, splits and merges of components.  The lower
        bound of the training data never falls by it; after minibatches it is judged by
        100,000 samples at most.  `partial_fit` makes none.
    batch_size : int, "auto" or None, default=None
        Rows of a step; None is all of them.
    learning_rate : LearningRate or float, default=None
        How far each step goes toward its target, see `sktemper.learning_rates`.
    max_iter : int, default=100
        Passes over the data.
    n_init : int, default=1
        How many times `fit` fits, one after another and each time from another start.
        The fit with the best `lower_bound` of the training data, their
        ``sample_weight`` included, is kept; with ``verbose`` the bounds are logged.
        If ``init`` is an array, only the order of the samples and the noise differ.
        A `fit` that goes on by ``warm_start``, and `partial_fit`, ignore it.
    tol : float, default=1e-3
        Least improvement of the held-out score, in nats per sample.
    n_iter_no_change : int, default=None
        Stop a `fit` after so many evaluations without improvement by ``tol``, and keep
        the best state.  Only states at a settled temperature of 1 count.
    evaluate_every : int, default=0
        Score a held-out part of the data after each so many passes of `fit`, into
        ``history_["heldout_score"]``; 0 is never, but for the ``X_val`` of a `fit`,
        which are scored after each pass.
    validation_fraction : float, default=0.1
        Share of the rows held out, if they are scored and `fit` has no ``X_val``.
    warm_start : bool, default=False
        Whether `fit` goes on: it finishes an interrupted plan, or else adds
        ``max_iter`` passes; temperature and rate go on from where they were.  An
        interrupted pass goes on at the batch where it was, with another ``batch_size``
        at the one of the first row not visited yet, and from its beginning where the
        rows that it is trained on are others.
    random_state : int, RandomState instance or None, default=None
        Seed of the start and of the order of the samples.
    n_jobs : int, default=None
        Threads at most: small pieces of work are done by one, which takes less time.
        None is 1 unless in a `joblib.parallel_config`.  The result is the same, bit for
        bit, for every value.
    verbose : int, default=0
        Whether to log a line a pass to the logger "sktemper".
    total_samples : int, default=None
        Size of the data for which a batch stands.  None is the rows of `fit`, plus
        those of later `partial_fit` calls.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Posterior means of the rates.
    weights_ : ndarray of shape (n_components,)
        Posterior means of the weights.
    tempering_, learning_rate_, gradient_noise_ : object
        The policies in use, with "auto" resolved.
    batch_size_ : int
        Rows of a step.
    temperature_ : float
        Temperature of the last step.
    n_iter_ : int
        Passes of `fit` completed.
    n_batch_iter_ : int
        Steps completed.
    n_samples_seen_ : int
        Rows seen, repeats included.
    history_ : dict of ndarrays
        A row a step (thinned when there are too many): "step", "passes", "seconds",
        "temperature", "learning_rate", "batch_bound" (the part of the samples in the
        tempered bound of the batch, in nats per sample), "heldout_score" (NaN where
        not evaluated) and "mean_iterations" (on a row); where the tempering has a
        ladder also "temperature_probabilities", of shape (n_rows, n_temperatures);
        in a fit of all samples at once perhaps "lower_bound" (before a step at T=1);
        where moves were made also, a row a move, "move_step", "move_seconds",
        "move_kept" and "move_bound" (the lower bound after it).
    state_ : State
        Everything that changes during a fit: parameters, progress and policies.  Its
        fields may change between versions.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if the data had any.
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

"""The base class of all estimators: parameters, `fit` and `partial_fit`."""

import contextlib
import functools
from dataclasses import replace
from numbers import Integral
from typing import Any, Literal, TypeVar

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._engine._data import Problem
from .._engine._fit import fit, new_states, plan_stream
from .._engine._passes import predictive_scores, run_pieces
from .._engine._state import State
from .._engine._stream import remember, run_stream
from .._utils._cache import twin
from .._utils._constraints import NOT_NEGATIVE, SHARE, Interval, StrOptions, WholeNumber
from .._utils._docstrings import complete_docstrings
from .._utils._policy import Slot, link_to_documentation, parameter_names, set_params
from .._utils._results import copy_fit, install_results, new_estimator
from .._utils._sklearn import CallbackSupportMixin, with_callbacks
from .._utils._tasks import one_blas_thread
from .._utils._typing import ArrayLike, DataLike, Duration, Float, Int, Seed
from .._utils._validation import FEW_VALUES, INEXACT, is_small_matrix
from ..learning_rates import LearningRate, RobbinsMonro, as_learning_rate
from ..model import Request
from ..moves import as_moves
from ..noise import GradientNoise, as_noise
from ..renewals import Renewals, as_renewals
from ..tempering import Tempering, as_tempering
from . import _end_of_fit, _problems
from ._choices import (
    attributes,
    choices_of,
    get_state,
    hyper_of_predictions,
    set_state,
    writable,
)


# -- methods of fitted estimators: scores, bounds, and views of the state --------------
def _has_sample_temperatures(estimator):
    """Return True, or raise if samples have no individual temperatures."""
    fitted = hasattr(estimator, "state_")
    tempering = estimator.tempering_ if fitted else estimator._tempering()
    if not tempering.per_sample:
        raise AttributeError(
            f"{type(tempering).__name__} infers no temperatures of single samples; "
            "use a tempering such as sktemper.tempering.LocalTempering."
        )
    return True


# -- the base class of all estimators: parameters, `fit` and `partial_fit` -------------
#: Largest number of rows for which the calling thread computes.
MOST_INLINE_ROWS = 32
#: The class of an estimator that a method returns. `typing.Self` would be shorter, but
#: editors that use jedi take it for the class in which the method is defined.
Estimator = TypeVar("Estimator", bound="TemperedEstimator")


def _continued_state(estimator):
    """Return a copy of the state in which no array is read-only."""
    state = estimator.state_.copied()
    return writable(state) if estimator._loaded else state


@link_to_documentation
class TemperedEstimator(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Base of estimators that fit a `ConjugateModel` under any policies.

    A subclass defines `_make_model`, which builds the model, and `_validate`, which
    validates data.  It may define `transform`, whose result has a column for each
    component.  A subclass with a fixed policy also defines the method of this policy,
    such as `_tempering`.  A constructor may omit parameters if it does not need values
    other than the defaults below.  The page :doc:`/own_model` has an example.

    Parameters
    ----------
    max_iter : int, default=100
        Largest number of passes of `fit`; more if it warns of no convergence.
    n_init : int, default=1
        Number of starts, of which the fit with the highest `lower_bound` is kept.
    random_state : int, RandomState instance or None, default=None
        Seed of all random numbers; an int gives the same result each time.
    batch_size : int, "auto" or None, default=None
        Number of rows of a step; None takes all (coordinate ascent).  "auto" is the
        choice of the model, by default 256.
    learning_rate : LearningRate or float, default=None
        Size of a step, see `sktemper.learning_rates`.  None is 1 if all samples are one
        batch, and otherwise ``RobbinsMonro()``; `AdaptiveRate` suits small batches.
    gradient_noise : GradientNoise, default=None
        Noise of each step, which helps to leave poor optima, see `sktemper.noise`.
    tol : float, default=1e-3
        Least gain that counts: of the held-out score, in nats per sample, and with
        ``batch_size=None`` of the lower bound by a pass or a move.
    n_iter_no_change : int, default=None
        Number of evaluations without a gain of ``tol`` after which `fit` ends and keeps
        the best state, for a generous ``max_iter``; None never stops early.
    evaluate_every : int, default=0
        Number of passes between scores of held-out data, which ``history_`` has, to see
        if a fit is long enough; 0 scores only for early stopping or an ``X_val``.
    validation_fraction : float, default=0.1
        Share of rows held out for scores without an ``X_val``; larger if rows are few.
    warm_start : bool, default=False
        Whether `fit` finishes an interrupted fit, or else adds ``max_iter`` passes.
    n_jobs : int, default=None
        Largest number of threads, as in scikit-learn; results do not depend on it.
    verbose : int, default=0
        Whether the logger "sktemper" gets a line for each pass, to watch a long fit.
    shuffle : bool, default=True
        Whether each pass has a new random order of the rows, or that of the data.
    total_samples : int, default=None
        Number of rows of a whole stream, if known; None counts those of all calls.
    half_life : float, duration or None, default=None
        Number of samples after which a sample counts half in `partial_fit`, for streams
        that change; or a duration such as "30D", which needs ``times``.
    renewals : Renewals, "auto" or None, default="auto"
        Fits of new components in a stream with a half-life, see `sktemper.renewals`.
    """

    state_: State
    """Everything that changes during a fit; its fields may change between versions."""
    tempering_: Tempering
    """Tempering of the fit, with "auto" replaced by numbers."""
    learning_rate_: LearningRate
    """Learning rate of the fit, with "auto" replaced by numbers."""
    gradient_noise_: GradientNoise
    """Noise of the fit, with "auto" replaced by numbers."""
    batch_size_: int
    """Number of rows of a step."""
    n_features_in_: int
    """Number of features."""
    feature_names_in_: np.ndarray
    """Names of the features, if the data had column names."""

    set_params = set_params
    _get_param_names = parameter_names

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        complete_docstrings(cls)

    n_components: Int
    # defaults of parameters that a constructor may omit
    tempering = gradient_noise = moves = None
    max_iter: Int = 10
    n_init: Int = 1
    random_state: Seed = None
    batch_size: Int | Literal["auto"] | None = "auto"
    learning_rate: LearningRate | Float | None = None
    tol: Float = 1e-3
    n_iter_no_change: Int | None = None
    evaluate_every: Int = 0
    validation_fraction: Float = 0.1
    warm_start: bool = False
    n_jobs: Int | None = None
    verbose: Int = 0
    shuffle: bool = True
    total_samples: Int | None = None
    half_life: Float | Duration | None = None
    renewals: Renewals | Literal["auto"] | None = "auto"

    _slots = {
        "tempering": Slot(as_tempering, True, "sktemper.tempering.Annealing()"),
        "learning_rate": Slot(lambda value: as_learning_rate(value, RobbinsMonro())),
        "gradient_noise": Slot(as_noise, True, "sktemper.noise.SVIPlusNoise()"),
        "moves": Slot(as_moves, True, "sktemper.moves.BirthMoves()"),
        "renewals": Slot(as_renewals, True, "sktemper.renewals.Renewals()"),
    }
    _parameter_constraints: dict = {
        **dict.fromkeys(("n_components", "n_init", "max_iter"), [WholeNumber(1)]),
        **dict.fromkeys((*_slots, "half_life"), "no_validation"),
        **dict.fromkeys(("shuffle", "warm_start"), ["boolean"]),
        "batch_size": [WholeNumber(1), StrOptions({"auto"}), None],
        "total_samples": [Interval(Integral, 1, INEXACT, closed="both"), None],
        "evaluate_every": [WholeNumber(0)],
        "validation_fraction": [SHARE],
        "n_iter_no_change": [WholeNumber(1), None],
        "tol": [NOT_NEGATIVE],
        "n_jobs": [Interval(Integral, None, None, closed="neither"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    # -- for subclasses ----------------------------------------------------------------
    #: Tags of the data that an estimator takes, in addition to those of its bases.
    _input_tags = {}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        for cls in reversed(type(self).__mro__):
            changes = vars(cls).get("_input_tags", {})
            tags.input_tags = replace(tags.input_tags, **changes)
        return tags

    #: Names of the parameters that define the model.  A fit cannot continue after one
    #: of these parameters changed, and a fitted model keeps the values of its fit.
    _fixed_by_fit = ()

    @staticmethod
    def _make_model(settings, n_features, dtype):
        """Return the `ConjugateModel` of some settings, see `_settings`."""
        raise NotImplementedError

    def _settings(self):
        """Return the `Settings` of a model: the parameters, as a fit resolves them."""
        # a subclass may pass constants for parameters that its constructor lacks
        return _problems.Settings(**vars(self) | self._fixed())

    #: Attributes of a fit that validation reads.
    _validated = ("n_features_in_", "feature_names_in_")

    def _validate(self, X, reset):
        """Return ``X`` in the form that the model needs, or raise an error."""
        raise NotImplementedError

    def _validate_training(self, X, reset):
        """Return training data in the form that the model needs, or raise an error."""
        return self._validate(X, reset)

    #: Further checks at the end of a fit, see `_end_of_fit`.
    _end_of_fit_checks = ()

    #: Least number of samples of a fit, or of the first chunk of a stream.
    _min_samples = 1

    def _check_enough(self, data):
        """Raise if the `Data` of a `fit` are too few; not called for a stream."""

    def _check_first(self, data):
        """Raise if the `Data` of the first chunk of a stream are too few."""

    def _prepare_fit(self, data, sample_weight):
        """Choose parameters from the `Data` of a `fit`; not called for a stream."""

    def _check_range(self, X, dtype, training=False):
        """Raise if a model of this dtype cannot compute with the values of valid data.

        ``training`` is whether a new fit learns variances from the data.
        """

    def _check_weighted(self, X, sample_weight):
        """Raise if valid data cannot have these weights."""

    def _finish(self, problem, state):
        """Store results for the training rows, at the end of a fit or of a chunk."""

    def _conclude(self, problem, state):
        """Learn more from the training rows of a `fit`; not called for a stream."""

    def _advice(self, problem, state) -> str | None:
        """Return a warning about the training data after a fit, or None."""

    def _inspect_training_data(self, data, fresh):
        """Warn if training data look wrong, alone or in comparison to earlier data."""

    def _has_converged(self, state):
        """Return whether the lower bound has converged, as far as it is known."""
        return _end_of_fit.has_converged(self, state, state.convergence.bound_change)

    #: Change of the lower bound per row that does not matter, whatever ``tol`` is.
    _least_tol = 0.0

    def _compute_dtype(self, X):
        """Return the dtype of kernels and public arrays for these data."""
        return np.dtype(np.float32 if X.dtype == np.float32 else np.float64)

    def _tempering(self):
        """Return the tempering policy, in which "auto" is not yet resolved."""
        return as_tempering(self.tempering)

    def _noise(self):
        """Return the noise policy, in which "auto" is not yet resolved."""
        return as_noise(self.gradient_noise)

    def _moves(self):
        return as_moves(self.moves)

    # -- fitting -----------------------------------------------------------------------
    def fit(
        self: Estimator,
        X: DataLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: DataLike | None = None,
    ) -> Estimator:
        """Fit the model to ``X``, from the start.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data, which are never changed and never copied as a whole.  All
            methods also accept data in parts: a list of arrays or sparse matrices with
            the same columns, or a collection on disk, see
            `sktemper.datasets.open_counts`.
        y : None
            Ignored, except that callbacks get it.
        sample_weight : array-like of shape (n_samples,), default=None
            Number of times that each sample counts, which may be a fraction.
        X_val : {array-like, sparse matrix} of shape (n_validation, n_features), \
                default=None
            Validation data, of any kind that ``X`` may have.  They are scored after
            each ``evaluate_every`` passes, or after each pass if that is 0.  All of
            ``X`` is then used for training, and ``validation_fraction`` is ignored.  A
            fit that continues by ``warm_start`` needs the same ``X_val`` again.

        Returns
        -------
        self : object
            The estimator with the best of ``n_init`` fits.  With ``warm_start=True``,
            an earlier fit continues instead: an interrupted plan of ``max_iter`` passes
            is finished, or a finished plan is extended by ``max_iter`` passes.  The
            temperature and the learning rate continue too.

        Raises
        ------
        ValueError
            If data or parameters are invalid, or if a planned step would have an
            invalid temperature, learning rate or effective batch size.

        Warns
        -----
        UserWarning
            If weights leave at most one row for each component, or are all equal and
            not 1.
        ConvergenceWarning
            If the fit ended above T=1, if much of its random start is left, or for
            another reason that the message states, such as empty or equal topics.

        Notes
        -----
        Sums over the samples are computed part by part, so that results for the same
        data in other parts differ by rounding.  The start of a fit to data in parts is
        computed from at most 100,000 rows, taken at even distances.

        With ``n_init > 1`` the fits run one after another.  If a callback or
        ``n_iter_no_change`` stops a fit, the next fit starts.

        An error leaves an earlier fit as it was.  After Ctrl-C, the estimator has the
        state after the last complete step or, with ``n_init > 1``, the best of the
        completed fits if there is one.  The same holds after an error if there was no
        earlier fit, or if an earlier fit continued by ``warm_start``.  Values that
        depend on time only, such as those of a schedule, are checked before the first
        step: at all planned steps, or at 256 of more steps.
        """
        continued = self.warm_start and hasattr(self, "state_")
        return self._fit(X, y, sample_weight, continued, X_val)

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def _fit(self, X, y, sample_weight, continued, X_val=None, labels=None):
        _problems.check_rows(self, X, sample_weight, labels)
        earlier = copy_fit(self)
        work = copy_fit(self) if continued else new_estimator(self)
        # callbacks may use a model above T=1, of which no warning tells before the end
        work._warned = {"temperature": True}
        try:
            data = work._training_data(X, not continued, sample_weight)
            if not continued:
                work._check_enough(data)
                work._prepare_fit(data, sample_weight)
            problem = _problems.make_problem(
                work, data, sample_weight, fresh=not continued, is_fit=True
            )
            problem = _problems.add_labels(
                work, _problems.add_validation(work, problem, X_val), labels
            )
            if continued:
                state = _continued_state(work)
                # a score may be added before the first step is committed
                state.history = state.history.copied()
                starts, n_runs = iter([state]), 1
            else:
                _problems.warn_of_weights(work, problem.sample_weight, is_fit=True)
                n_runs = self.n_init
                starts = new_states(problem, n_runs, self.random_state, work._fixed())
            rate = _problems.stream_rate(self)
            hooks = _end_of_fit.EstimatorHooks(self, work, problem, X, y, sample_weight)
            run = fit(problem, _problems.training_settings(self), starts, n_runs, hooks)
            hooks.end(hooks.context)
            run.state.stream = None
            if rate is not None:  # a stream with a half-life may follow
                remember(problem, rate, as_renewals(self.renewals), run.state)
        except BaseException as error:
            work._warned.clear()
            # Ctrl-C, and the loss of a cluster, keep the last complete step
            is_lost = isinstance(error, ConnectionError)
            is_error = isinstance(error, Exception) and not is_lost
            if is_error and "state_" in vars(earlier) and not continued:
                install_results(self, earlier)
            raise
        _end_of_fit.warn_of_the_end(work, run)
        return self

    #: `Choices` of a fit that begins; the first commit stores them in the state.
    _begun = None
    #: Name of the parameter that labels rows.
    _labels_name = "labels"

    def _training_data(self, X, fresh, sample_weight):
        data = _problems.valid_data(self, X, "_validate_training", fresh)
        data.weight = _problems.validated_weight(sample_weight, data)
        if fresh and len(data) < self._min_samples:
            raise ValueError(
                f"Found array with {len(data)} sample(s) (shape={data.shape}) while a "
                f"minimum of {self._min_samples} is required by "
                f"{type(self).__name__}."
            )
        self._inspect_training_data(data, fresh)
        return data

    def _fixed(self):
        return {name: getattr(self, name) for name in self._fixed_by_fit}

    @property
    def _n_features_out(self):
        return self._fitted_model().n_components

    def _install(self, state, policies):
        """Set the attributes of a fit; `install_results` follows."""
        state.choices = twin(choices_of(self), labels_and_bound=None)
        vars(self).pop("_begun", None)
        self.state_ = state
        self._loaded = False
        if "_ready" not in vars(self):
            self._ready = _problems.ReadyModel()
        self.tempering_, self.learning_rate_, self.gradient_noise_ = policies[:3]
        self.batch_size_ = state.policies.batch_size

    def _inline_limits(self):
        """Return the numbers of rows and of values up to which the caller computes.

        The start of another thread would take longer.
        """
        return MOST_INLINE_ROWS, FEW_VALUES

    def _check_fitted(self):
        """Raise if there is no fit; warn once if its temperature is above 1."""
        if "state_" not in vars(self):  # the function reads the estimator's tags
            check_is_fitted(self, "state_")
        _end_of_fit.warn_if_above_one(self)

    def _widened_for(self, X):
        """Return a copy that continues with ``X``, which may be wider."""
        return copy_fit(self)

    def _parameters_on(self, places):
        """Return new values for parameters that have a value for each column.

        Parameters
        ----------
        places : ndarray of int
            Previous index of each column, -1 for a new column.
        """
        return {}

    #: Cache of the model; None in a copy that callbacks make.
    _ready = None

    def _fitted_model(self):
        """Return the model of the fit, which is cached until the next fit."""
        if self._ready is None:
            self._ready = _problems.ReadyModel()
        return self._ready.model(self, self._state())

    def _new_model(self):
        """Return a model of the fit for a pool of threads, or for long computations."""
        state = self._state()
        settings = self._settings().replaced(**state.fixed or {})
        return self._make_model(settings, state.n_features, state.dtype)

    def _validation(self, X, method, reset):
        return _problems.Validation(self, method, reset)

    @contextlib.contextmanager
    def _fitted_problem(self, X, sample_weight=None, labels=None):
        self._check_fitted()
        _problems.check_rows(self, X, sample_weight, labels)
        data = _problems.valid_data(self, X)
        sample_weight = _problems.valid_weights(self, data, sample_weight)
        few = _problems.are_few(data, self._inline_limits())
        model = self._fitted_model() if few else self._new_model()
        workers = _problems.workers_for(self.n_jobs, model, data, few)
        with workers:
            if labels is not None:
                labels = self._labels_for_predictions(labels, data)
            yield Problem(model, data, workers, sample_weight, labels=labels)

    def _is_few_rows(self, X):
        """Return whether data that are not validated yet are one small matrix."""
        return "state_" in vars(self) and is_small_matrix(X, *self._inline_limits())

    def _names(self, feature_names=None):
        """Return ``feature_names`` as an array, or names from the training data.

        Raises
        ------
        ValueError
            If the number of names differs from the number of features.
        """
        if feature_names is None:
            known = choices_of(self).names
            numbers = np.arange(self.n_features_in_) if known is None else known
            feature_names = getattr(self, "feature_names_in_", numbers)
        names = np.asarray(feature_names, dtype=object)
        if names.ndim == 0:
            raise ValueError(
                "feature_names must be a list or an array of names in the order of the "
                "columns, as a vectorizer's get_feature_names_out() returns them, got "
                f"a {type(feature_names).__name__}."
            )
        if names.shape != (self.n_features_in_,):
            raise ValueError(
                f"feature_names has shape {names.shape}, but the model was fitted to "
                f"{self.n_features_in_} features."
            )
        return names

    def _map(self, X, function, labels=None):
        """Return a list of ``function(model, block, prepared)``, one for each block.

        With ``labels``, the prepared parameters are those of rows with these labels.
        """
        self._check_fitted()
        if labels is None and self._is_few_rows(X):
            X = self._validate(X, reset=False)
            self._check_range(X, self.state_.dtype)
            model = self._fitted_model()
            with one_blas_thread():
                block = model.take(X, slice(0, X.shape[0]))
                return [function(model, block, self._prepared(model))]
        with self._fitted_problem(X, labels=labels) as problem:
            return list(problem.predict(function, self._prepared(problem.model)))

    def _prepared(self, model):
        """Return the prepared parameters of the fit, cached for the ready model."""
        parameters = self.state_.globals_, hyper_of_predictions(self)
        return (self._ready or _problems.ReadyModel()).prepared(model, *parameters)

    def _local_parameters(self, X):
        """Return each row's local parameters at T=1."""

        def local(model, block, prepared):
            step = model.local_step(block, prepared, Request(want=("local",)))
            return step.local_parameters

        return np.concatenate(self._map(X, local))

    def _predictive_scores(self, X, labels=None):
        parts = self._map(X, predictive_scores, labels)
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))

    def score_samples(self, X: DataLike) -> np.ndarray:
        """Return each row's held-out predictive log-likelihood at T=1.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Log-likelihoods in nats, 0.0 for rows without held-out observations.
        """
        return self._predictive_scores(X)[0]

    def score(
        self, X: DataLike, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the held-out log-likelihood per token, sample or rating at T=1.

        Parameters
        ----------
        y : None
            Ignored, for compatibility with scikit-learn.
        sample_weight : array-like of shape (n_samples,), default=None
            Number of times that each sample counts.

        Returns
        -------
        score : float
            Mean log-likelihood in nats per token, sample or rating, comparable between
            data sets of different sizes.  Higher is better.

        Raises
        ------
        ValueError
            If no observation is held out.
        """
        return self._mean_score(X, sample_weight)

    def _mean_score(self, X, sample_weight, labels=None):
        _problems.check_rows(self, X, sample_weight)
        scores, n_held_out = self._predictive_scores(X, labels)
        weight = _problems.weights_of_rows(sample_weight, scores)
        total = (weight * n_held_out).sum()
        # a sum over components, whose logarithm a score is, has a rounding error
        is_sum = self._fitted_model().scores_whole_rows
        error = is_sum * np.finfo(self.state_.dtype).eps
        if total <= error * weight[n_held_out > 0].sum():
            raise ValueError(
                "Nothing is held out to be scored: each row of X is empty, has counts "
                "of almost 0, or is too short for an observed and a held-out half."
            )
        return float((weight * scores).sum() / total)

    @available_if(_has_sample_temperatures)
    def temperatures(self, X: DataLike) -> np.ndarray:
        """Return each sample's temperature, inferred under the fitted model.

        A sample that the model explains badly, such as an outlier, has a high
        temperature.  This method is only available with a tempering that infers a
        temperature for each sample, such as `sktemper.tempering.LocalTempering`.

        Returns
        -------
        temperatures : ndarray of shape (n_samples,)
            1 / b_d, from 1 to the highest temperature of ``tempering_.ladder()``.  A
            sample without observations has the temperature of the prior over
            temperatures.

        Raises
        ------
        AttributeError
            If the tempering does not infer a temperature for each sample.
        """
        self._check_fitted()
        tempering, state = self.tempering_, self.state_.policies.tempering

        def temperatures(model, block, prepared):
            return tempering.sample_temperatures(model, block, prepared, state)

        return np.concatenate(self._map(X, temperatures))

    def lower_bound(self, X: DataLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the evidence lower bound of ``X`` at T=1, with every constant.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The data of the fit, which count as the whole data set.
        sample_weight : array-like of shape (n_samples,), default=None
            The sample weights of the fit.

        Returns
        -------
        bound : float
            Lower bound of log p(X) in nats.  A better optimum has a higher bound.
        """
        with self._fitted_problem(X, sample_weight) as problem:
            return problem.bound(self.state_.globals_, self.state_.hyper)

    # -- views of the state ------------------------------------------------------------
    @property
    def n_iter_(self) -> int:
        """Passes of the last `fit`, and of the interrupted fit that it completed."""
        progress = self._state().progress
        return progress.passes - progress.earlier_passes

    @property
    def n_batch_iter_(self) -> int:
        """Number of completed steps."""
        return self._state().progress.steps

    @property
    def start_bounds_(self) -> list[float]:
        """Lower bounds at T=1 of the ``n_init`` fits, if these were several."""
        return list(self._state().start_bounds)

    @property
    def n_samples_seen_(self) -> int:
        """Total number of rows in the batches of all steps."""
        return self._state().progress.samples

    @property
    def temperature_(self) -> float:
        """Temperature of the last step."""
        return self._state().policies.temperature

    @property
    def history_(self) -> dict[str, np.ndarray]:
        """History of the training: a dict of arrays with an entry for each step.

        "step", "passes", "seconds", "temperature", "learning_rate", "rate_share" (the
        learning rate, a mean over components or items, divided by the rate before
        negative factors of the gradient noise shortened steps; 1 if they did not),
        "batch_bound" (the tempered bound of the batch's own part), "heldout_score" (NaN
        without one) and "mean_iterations" (of the local step of a row); if computed,
        "temperature_probabilities" and "lower_bound" (before a step at T=1); and for
        each move "move_step", "move_seconds", "move_kept" and "move_bound".
        """
        return self._state().history.to_dict()

    def _state(self):
        try:
            return vars(self)["state_"]
        except KeyError:
            raise AttributeError(
                f"This {type(self).__name__} is not fitted yet."
            ) from None

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self: Estimator,
        X: DataLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        times: Any = None,
    ) -> Estimator:
        """Continue the training with a chunk of a stream.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Chunk of a stream.  It is cut, in order, into batches of ``batch_size``
            rows; a smaller chunk is one batch.  With ``batch_size="auto"`` the batches
            of a chunk have equal sizes.  Unless ``total_samples`` is given, the number
            of rows so far includes all rows of the chunk, so that the fit depends on
            the sizes of the chunks.
        y : None
            Ignored, for compatibility with scikit-learn.
        sample_weight : array-like of shape (n_samples,), default=None
            Number of times that each sample counts, which may be a fraction.
        times : array-like of shape (n_samples,) or scalar, default=None
            Dates or times of the samples, which must not decrease: anything that
            `numpy` converts to ``datetime64``, such as strings "2024-05-31" or a column
            of a data frame.  Times with a time zone are converted to UTC.  A scalar is
            the time of the whole chunk.  Times are required if ``half_life`` is a
            duration.  With any half-life, they are stored in `renewals_`.

        Returns
        -------
        self : object
            The estimator.  A fitted model continues at its temperature and learning
            rate.  A new model has a single start; ``n_init`` is ignored.  After Ctrl-C
            or an error in a step it has learned the complete batches.

        Notes
        -----
        With ``half_life``, each batch is scored before it is learned, see
        "prequential_score" in `history_`, and renewals replace components, see
        `sktemper.renewals.Renewals`.
        """
        return self._partial_fit(X, sample_weight, times)

    def _partial_fit(self, X, sample_weight, times, labels=None):
        _problems.check_rows(self, X, sample_weight, labels, times)
        fresh = not hasattr(self, "state_")
        work = new_estimator(self) if fresh else self._widened_for(X)
        if fresh:
            work._warned = {}
        data = work._training_data(X, fresh, sample_weight)
        if fresh:
            work._check_first(data)
        rate = _problems.stream_rate(self)
        # starts and renewals may take long: other threads compute them
        continues = not fresh and rate is None
        inline = continues and _problems.are_few(data, work._inline_limits())
        problem = _problems.make_problem(work, data, sample_weight, fresh, inline)
        problem = _problems.add_labels(work, problem, labels)
        if fresh:
            _problems.warn_of_weights(work, problem.sample_weight, is_fit=False)
            (state,) = new_states(problem, 1, self.random_state, work._fixed())
        else:
            state = _continued_state(work)
        training = _problems.training_settings(self, rate)
        hooks = _end_of_fit.EstimatorHooks(self, work, problem)
        run, size = plan_stream(training, problem, state, fresh)
        times = _problems.times_of_chunk(times, rate, state, len(data))
        with problem.workers:
            if rate is None:
                commit, prepared = functools.partial(hooks.commit, run), None
                if inline:  # the model of the fit may have them already
                    prepared = work._ready.prepared(problem.model, *state.parameters)
                run_pieces(problem, run.policies, state, size, commit, prepared)
            else:
                run_stream(run, training.tempering, times, size, hooks)
            hooks.store(run)
        if not _end_of_fit.is_above_one(self):
            self._warned.pop("temperature", None)
        _end_of_fit.warn_of_a_long_stream(self)
        return self

    #: Whether the state comes from a pickle, so that its arrays may be read-only.
    _loaded = False

    __getstate__, _pickled_attributes, __setstate__ = get_state, attributes, set_state

    def _check_kept(self, model):
        """Raise if attributes other than the state do not match the model."""

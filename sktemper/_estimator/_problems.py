"""Validated data, weights, models and workers of a call: its problem."""

import functools
import types
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils.validation import _check_sample_weight

from .._engine._data import Problem, data_of
from .._engine._fit import TrainingSettings, fit, new_states, plan_fit
from .._engine._passes import MOST_PRODUCTS, n_products, sections_of
from .._engine._workers import InlineWorkers, Workers, threads_for
from .._utils._arguments import check_flag, half_life_of, refuse
from .._utils._cache import LastCall
from .._utils._dates import checked_times
from .._utils._frames import check_same_rows
from .._utils._notices import warn_once
from .._utils._results import copy_fit, new_estimator, results_of_validation
from .._utils._typing import ArrayLike, DataLike
from .._utils._validation import check_unmasked, checked_weights
from ..learning_rates import HalfLife, LearningRate, as_learning_rate
from ..moves import SplitMergeMoves
from ..renewals import as_renewals
from ..schedules import Schedule
from ..tempering import Untempered
from ._choices import choices_of, choose

#: Moves of fits to a power of the likelihood.
FEW_MOVES = SplitMergeMoves(patience=3)


class ReadyModel:
    """Cache of the model of a fit, and of the parameters prepared from it.

    Views of the fit and calls with few rows use the cache, because they would spend
    most of their time on making the model and preparing the parameters.  Calls that use
    a pool of threads need separate models, because Ctrl-C stops all threads that share
    a model; the model of a fit is kept when the fit has ended.
    """

    def __init__(self):
        self._model, self._prepared = LastCall(), LastCall()

    def __reduce__(self):
        return ReadyModel, ()  # a pickle is empty

    def model(self, estimator, state, make=None):
        """Return the model of a fit; if there is none, the result of ``make()``."""
        parameters = map(vars(estimator).get, estimator._get_param_names())
        given = state.fixed, state.n_features, state.dtype, *parameters
        make = make or estimator._new_model
        model = self._model.result(lambda *_: make(), *given)
        model.stop[0] = 0  # a second Ctrl-C may have come before the end of a pool
        return model

    def prepared(self, model, globals_, hyper):
        """Return the prepared parameters, cached if it is the last model."""
        if not self._model.has(model):
            return model.prepare(globals_, hyper)
        return self._prepared.result(type(model).prepare, model, globals_, hyper)


class Validation:
    """The function ``validate(X)`` of an estimator, with a small pickle.

    The pickle contains parameters and what validation reads, because it is sent to
    workers.

    Parameters
    ----------
    estimator : TemperedEstimator
    method : str
        Name of the method that validates.
    reset : bool
        Argument of the method.
    """

    def __init__(self, estimator, method, reset):
        self.estimator, self.method, self.reset = estimator, method, reset

    def __call__(self, X):
        return getattr(self.estimator, self.method)(X, reset=self.reset)

    def __reduce__(self):
        estimator = self.estimator
        results = results_of_validation(estimator)
        kinds, parameters = (type(self), type(estimator)), estimator.get_params(False)
        return _validation, (*kinds, parameters, results, self.method, self.reset)


def _validation(make, kind, parameters, results, method, reset):
    return make(new_estimator(kind(**parameters), results), method, reset)


@config_context(array_api_dispatch=False)
def validated_weight(sample_weight, X):
    """Return the weights of samples, or None; raise if they are invalid."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, bool):
        refuse("sample_weight", "an array of weights, or None", sample_weight)
    check_unmasked(sample_weight, "sample_weight", may_be_nan=False)
    return checked_weights(
        _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
    )


def weights_of_rows(sample_weight, rows):
    """Return the valid weights of rows, which are 1 by default."""
    weight = validated_weight(sample_weight, rows)
    return np.ones(len(rows)) if weight is None else weight


def warn_of_weights(estimator, weight, is_fit):
    """Warn if weights leave at most one row for each component, or are equal.

    Weights that sum to 1 leave so few.  Weights of decays and probabilities seldom do,
    because their largest weight is about 1.  A chunk of a stream may have one weight.
    """
    if weight is None or not weight.any():
        return
    n_rows, total = np.count_nonzero(weight), weight.sum()
    most, mean = estimator._fixed().get("n_components", 1), total / n_rows
    is_light = total < most or np.isclose(total, most)
    if weight.max() < 1 and n_rows > most and is_light:
        fault = f"so that the fit has at most one row for each of n_components={most}"
    elif is_fit and n_rows > 1 and weight[weight > 0].min() == weight.max() != 1:
        fault = f"so that each row counts {mean:.4g} times"
    else:
        return
    message = (
        f"sample_weight sums to {total:.4g} for {n_rows} rows. Weights count rows, "
        f"{fault}. If the weights only compare rows with each other, multiply them by "
        f"{1.0 / mean:.6g}, so that their mean is 1."
    )
    warn_once(estimator, "weights", message, UserWarning)


def check_rows(estimator, X, sample_weight, labels=None, times=None):
    """Raise if objects of pandas have the same rows in different orders."""
    rows = {"X": X, "sample_weight": sample_weight, estimator._labels_name: labels}
    check_same_rows(**rows, times=times)


def known_names(estimator):
    """Return the names of the columns of the training data, or None."""
    names = choices_of(estimator).names
    return vars(estimator).get("feature_names_in_") if names is None else names


def check_names(data, known):
    """Raise if the columns of a collection differ from the columns of the fit.

    A column of hashed words may represent several words, and its name contains only
    some of them.  Therefore columns are accepted if at least one name occurs in
    both, and all names that occur in both have the same positions.
    """
    found = data.feature_names
    if found is None or known is None or found is known:
        return
    if np.array_equal(found, known):
        return
    places = {name: place for place, name in enumerate(known)}
    both = [(places[n], p) for p, n in enumerate(found) if n in places]
    if not both or any(there != here for there, here in both):
        raise ValueError(
            "The feature names of X should match those that were passed during "
            "fit, in the same order: the columns of this collection stand for "
            "other words. Write the collection with the vectorizer of the training "
            "data."
        )


def check_fixed(now, then):
    """Raise if a parameter that defines the model changed since the fit began."""
    changed = [
        name
        for name in then
        if now[name] is not then[name] and not np.array_equal(now[name], then[name])
    ]
    if changed:
        raise ValueError(
            f"{', '.join(changed)} changed since the model was fitted, and cannot "
            "change in a fit that continues: restore the earlier value, or start a "
            "new fit with warm_start=False."
        )


def workers_for(n_jobs, model, data, inline=False, is_fit=False):
    """Return the workers of a model and `Data`, the calling thread if ``inline``.

    In a fit by short ascents or small blocks, the calling thread replaces a single one.
    """
    if inline:
        return data.workers(InlineWorkers, 1, model.stop)
    n_jobs, threads = effective_n_jobs(n_jobs), Workers
    n_threads = threads_for(n_jobs, model, data)
    n_sections = sections_of(model, data, len(data))
    size = n_products(model, data, model.block_size)
    is_short = n_sections == 1 or (size <= MOST_PRODUCTS and model._missing("ascents"))
    if n_threads < n_jobs and n_sections > 1:
        n_threads, threads = n_jobs, functools.partial(threads, shares_blocks=False)
    elif is_fit and n_threads == 1 and is_short:
        threads = InlineWorkers
    return data.workers(threads, n_threads, model.stop)


class Settings(types.SimpleNamespace):
    """Parameters of a model as attributes."""

    def replaced(self, **others):
        """Return other settings, in which some values are replaced."""
        return Settings(**vars(self) | others)


def are_few(data, limits):
    """Return whether numbers of rows and of values are within limits."""
    most_rows, most_values = limits
    if len(data) > most_rows:
        return False
    return sum(X.size for X in data.validated) <= most_values


def training_settings(estimator, rate=None):
    """Return the `TrainingSettings` of an estimator.

    Parameters
    ----------
    rate : LearningRate, default=None
        Rate that replaces ``learning_rate``.
    """
    if rate is None:
        rate = as_learning_rate(estimator.learning_rate, None)
        if rate is not None and rate.forgets:  # a rate for streams only
            rate = None
    return TrainingSettings(
        estimator._tempering(),
        rate,
        estimator._noise(),
        estimator._moves(),
        as_renewals(estimator.renewals),
        **{name: getattr(estimator, name) for name in TrainingSettings._field_defaults},
    )


def make_problem(estimator, data, sample_weight, fresh, inline=False, is_fit=False):
    """Return the `Problem` of validated data.

    If ``inline`` is True, the calling thread computes, with the cached model for
    calls with few rows.  See `workers_for` for ``is_fit``.
    """
    sample_weight = valid_weights(estimator, data, sample_weight)
    if not fresh:
        check_fixed(estimator._fixed(), estimator.state_.fixed or {})
    dtype = estimator._compute_dtype(data) if fresh else estimator.state_.dtype
    if inline:
        model = estimator._fitted_model()
    else:
        model = estimator._make_model(estimator._settings(), data.shape[1], dtype)
    workers = workers_for(estimator.n_jobs, model, data, inline, is_fit)
    total = estimator.total_samples
    return Problem(model, data, workers, sample_weight, total_samples=total)


def valid_data(estimator, X, method="_validate", fresh=False, dtype=None):
    """Return the valid `Data` of a user's input, with the columns of the fit.

    ``dtype`` is that of the model, by default that of the fit.
    """
    data = data_of(X, estimator._validation(X, method, reset=fresh))
    if fresh:
        choose(estimator, names=data.feature_names)
        dtype = estimator._compute_dtype(data)
    else:
        check_names(data, known_names(estimator))
    for matrix in data.validated:
        estimator._check_range(matrix, dtype or estimator.state_.dtype, training=fresh)
    return data


def valid_weights(estimator, data, sample_weight):
    """Return the valid weights of the rows of `Data`, or None."""
    if sample_weight is None:
        return None
    sample_weight = validated_weight(sample_weight, data)
    for matrix in data.validated:
        estimator._check_weighted(matrix, sample_weight)
    return sample_weight


def add_validation(estimator, problem, X_val):
    """Return the problem with the validation data of the user, if given."""
    if X_val is None:
        return problem
    try:
        data = valid_data(estimator, X_val, dtype=problem.model.dtype)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"X_val cannot be scored: {error}") from error
    workers = workers_for(estimator.n_jobs, problem.model, data)
    return replace(problem, validation=Problem(problem.model, data, workers))


def add_labels(estimator, problem, labels):
    """Return the problem with the labels of the rows, if given."""
    if labels is None:
        return problem
    return replace(problem, labels=estimator._checked_labels(labels, problem.data))


def stream_rate(estimator):
    """Return the `HalfLife` of streams, or None.

    Raises
    ------
    ValueError
        If a half-life is given together with parameters that it replaces.
    """
    if estimator.half_life is None:
        rate = estimator.learning_rate
        rate = rate if isinstance(rate, LearningRate) and rate.forgets else None
    else:
        half_life_of(estimator.half_life)
        if estimator.learning_rate is not None:
            raise ValueError(
                "half_life and learning_rate are both given, but half_life sets "
                "the learning rate: leave one of them at None."
            )
        rate = HalfLife(estimator.half_life)
    if rate is not None and estimator.total_samples is not None:
        raise ValueError(
            "A half-life and total_samples are both given, but a half-life sets "
            "the effective number of samples: leave total_samples at None."
        )
    return rate


def times_of_chunk(times, rate, state, n_rows):
    """Return the times of the rows of a chunk, or raise if they are invalid."""
    if times is not None and rate is None:
        raise ValueError(
            "times is given, but half_life is None: the times of samples matter "
            "for a half-life only."
        )
    if times is not None:
        last = None if state.stream is None else state.stream.time
        return checked_times(times, n_rows, last)
    if rate is not None and not isinstance(rate.unit(), float):
        raise ValueError(
            f"half_life={rate.samples!r} is a duration, so that partial_fit needs "
            "times: the dates or times of the samples."
        )
    return None


def tempered_fits(estimator, X, sample_weight):
    """Return a function that fits a mixture again to a power of the likelihood.

    What its fit has chosen from all rows, such as the covariance type and the kinds of
    columns, stays.  There is no annealing, and moves end soon.

    Returns
    -------
    data : Data
        The valid data, for other methods.
    fitted : callable
        ``fitted(rows, power, seed)`` returns a mixture fitted to some rows, given by
        sorted indices, from a new start.
    """
    data = valid_data(estimator, X)
    weight = valid_weights(estimator, data, sample_weight)
    training = training_settings(estimator)._replace(
        tempering=Untempered(), moves=FEW_MOVES
    )

    def fitted(rows, power, seed):
        model, part = estimator._new_model(), data
        if len(rows) < len(data):
            part = data_of(data.rows(rows), lambda X: X)
        workers = workers_for(estimator.n_jobs, model, part, is_fit=True)
        of_rows = None if weight is None else weight[rows]
        problem = Problem(model, part, workers, of_rows, power=power)
        starts = new_states(problem, 1, seed, estimator.state_.fixed)
        run = fit(problem, training, starts)
        other = copy_fit(estimator, {"_ready": ReadyModel()}, random_state=seed)
        other._install(run.state, run.policies)
        return other

    return data, fitted


def critical_temperatures(
    estimator: Any,
    X: DataLike,
    sample_weight: ArrayLike | None = None,
    *,
    return_schedule: bool = False,
) -> tuple[np.ndarray, Schedule | None]:
    r"""Return the temperatures below which the components of a model become distinct.

    In a fit at a constant temperature above the first critical temperature, T_2, all
    components become equal.  A start far above T_2 only takes time, and loses the
    differences between the initial components.  Below the last critical temperature,
    T_K, all components differ.  Annealing with ``start="auto"`` begins at 1.2 T_2.

    Parameters
    ----------
    estimator : estimator
        Estimator of topics, such as `AnnealedLDA`, or of a mixture of multinomials or
        of Bernoullis.  It may be unfitted, and is not changed.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Data for a fit, which may be a list of parts.
    sample_weight : array-like of shape (n_samples,), default=None
        Number of times that each sample counts.
    return_schedule : bool, default=False
        Whether to return also the schedule of a fit to these data.

    Returns
    -------
    temperatures : ndarray of shape (n_components - 1,)
        T_2, ..., T_K, which do not increase.  If a value is below 1, components do not
        differ in the corresponding direction even at T=1.
    schedule : Schedule or None
        The schedule of the estimator's tempering, or of the tempering's cap, with
        "auto" replaced by numbers; None if the tempering has no schedule.  It is
        returned only if ``return_schedule`` is True.

    Raises
    ------
    ValueError
        If there are no critical temperatures: the model does not have the capability,
        its components have different priors, or there are too few samples.

    See Also
    --------
    sktemper.plotting.CriticalTemperaturesDisplay : Picture of the temperatures.

    Notes
    -----
    The temperatures apply to the local step.  They are estimated from at most 4,000
    rows, and corrected for the noise of a finite sample.  A fit with
    ``target="posterior"`` does not use them, because tempered priors change them.  The
    mathematics page of the documentation derives them.

    Examples
    --------
    >>> from sktemper import AnnealedLDA, critical_temperatures
    >>> from sktemper.datasets import make_lda_documents
    >>> X = make_lda_documents(n_samples=300, n_components=5, random_state=0)
    >>> critical_temperatures(AnnealedLDA(5), X).round(2)
    array([1.8 , 1.77, 1.76, 1.75])
    """
    check_flag(return_schedule, "return_schedule")
    estimator = clone(estimator)
    estimator._validate_params()
    check_rows(estimator, X, sample_weight)
    data = estimator._training_data(X, True, sample_weight)
    estimator._check_enough(data)
    problem = make_problem(estimator, data, sample_weight, fresh=True)
    name = type(estimator).__name__
    if "critical_temperatures" not in problem.model.capabilities():
        raise ValueError(f"The model of {name} has no critical temperatures.")
    state = None
    if return_schedule:
        (state,) = new_states(problem, 1, estimator.random_state)
    temperatures = problem.critical_temperatures(state.hyper if state else None)
    if temperatures is None:
        raise ValueError(
            f"There are no critical temperatures for this {name} and these data: its "
            "components have different priors, or there are too few samples."
        )
    if not return_schedule:
        return np.asarray(temperatures)
    run = plan_fit(training_settings(estimator), problem, state)
    return np.asarray(temperatures), run.policies.tempering.schedule_of_temperatures()

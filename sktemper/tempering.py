"""Tempering policies: the temperature of each step of the training.

A high temperature T flattens the likelihood to p(x, z | globals)^(1/T), which makes
poor local optima shallower.  Scores and transforms are always computed at T=1.
"""

from __future__ import annotations

import functools
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal, NamedTuple, Self

import joblib
import numpy as np

from ._utils._arguments import refuse
from ._utils._constraints import HasMethods, Interval, StrOptions, WholeNumber
from ._utils._notices import warn
from ._utils._policy import Policy, Slot, as_policy
from ._utils._typing import ArrayLike, Float, Int
from ._utils._validation import checked_floats
from .model import ConjugateModel, LocalStep, Powers, Request
from .schedules import HOTTEST, Clock, Schedule, as_schedule

__all__ = ["Annealing", "GlobalTempering", "LocalTempering", "Tempering", "Untempered"]


#: Inverse temperature that replaces 0, whose temperature would be infinite.
COLDEST = 1.0 / HOTTEST


class Tempering(Policy):
    """Base of the tempering policies.

    A subclass defines `temperature`, `powers` and `is_settled`.  Values that a policy
    learns are kept in a state.  The state is passed to the methods, and `next_state`
    returns the state after a step.

    Examples
    --------
    A temperature of your own, which depends on the parity of the step:

    >>> from sktemper import TemperedLDA
    >>> from sktemper.datasets import make_lda_documents
    >>> from sktemper.model import Powers
    >>> from sktemper.tempering import Tempering
    >>> class Alternating(Tempering):
    ...     final_temperature = 2.0
    ...
    ...     def temperature(self, state, clock):
    ...         return 1.0 + clock.steps % 2
    ...
    ...     def powers(self, state, clock):
    ...         return Powers(local=1.0 / self.temperature(state, clock))
    ...
    ...     def is_settled(self, state, clock):
    ...         return False
    >>> X = make_lda_documents(200, 100, 5, random_state=0)
    >>> lda = TemperedLDA(5, tempering=Alternating(), random_state=0).fit(X)
    >>> lda.history_["temperature"][:4].tolist()
    [1.0, 2.0, 1.0, 2.0]
    """

    #: Whether the temperature is meant to fall to 1.  If so, a `fit` that ends with a
    #: higher temperature warns.
    cools = True
    #: The temperature at which a fit may end without a warning.
    final_temperature = 1.0
    #: Whether each sample has a temperature of its own, see `sample_temperatures`.
    per_sample = False
    _want = ("statistics", "bound")

    @property
    def has_critical_temperatures(self) -> bool:
        """Whether the critical temperatures of a model matter to this policy."""
        return self.cools

    @property
    def _depends_on_time_only(self):
        """Whether powers are equal for all rows, and follow a schedule or are 1."""
        return type(self) in (Untempered, Annealing)

    def validate(self) -> Self:
        super().validate()
        schedule = self.schedule_of_temperatures()
        if schedule is not None and schedule.lowest() < 1:
            parameter = next(iter(self._slots), "schedule")
            expected = "a schedule of temperatures, which are at least 1"
            refuse(parameter, expected, schedule)
        return self

    def schedule_of_temperatures(self) -> Schedule | None:
        """Return the schedule that the temperature does not exceed, or None."""
        return None

    def initial_state(
        self, model: ConjugateModel, hyper: Any, random: np.random.Generator
    ) -> Any:
        """Return the initial state, a picklable value that is kept between steps."""
        return None

    def check_state(self, state: Any) -> None:
        """Raise ValueError if a state, from a pickle, is invalid."""

    def temperature(self, state: Any, clock: Clock) -> float:
        """Return the temperature of the next step, as a number to report."""
        raise NotImplementedError

    def powers(self, state: Any, clock: Clock) -> Powers:
        """Return the `Powers` of the next step."""
        raise NotImplementedError

    def is_settled(self, state: Any, clock: Clock) -> bool:
        """Return whether the temperature is constant from now on."""
        raise NotImplementedError

    def ladder(self) -> np.ndarray | None:
        """Return the temperatures over which the policy has a distribution.

        Returns
        -------
        temperatures : ndarray of shape (n_temperatures,) or None
            Increasing temperatures from 1; None if there is no distribution.
        """
        return None

    def probabilities(self, state: Any) -> np.ndarray | None:
        """Return the distribution over `ladder` in the next step.

        Returns
        -------
        probabilities : ndarray of shape (n_temperatures,) or None
        """
        return None

    def sample_temperatures(
        self, model: ConjugateModel, block: Any, prepared: Any, state: Any
    ) -> np.ndarray:
        """Return the temperature of each row of a block, shape (n_rows,).

        Only defined if `per_sample` is True.  The method must be a pure function.
        """
        raise NotImplementedError

    def remedy(self, state: Any, clock: Clock) -> str:
        """Return advice for a fit that ended above T=1."""
        if self.is_settled(state, clock):
            return "The schedule ends at this temperature: let it stop at 1."
        return (
            "Raise max_iter, shorten the schedule, or continue the fit "
            "with partial_fit or warm_start=True."
        )

    def local_step(
        self,
        model: ConjugateModel,
        block: Any,
        prepared: Any,
        request: Request,
        state: Any,
    ) -> LocalStep:
        """Return the local step of a block, with the results that the policy needs.

        These results replace ``request.want``.  The method must be a pure function,
        because it may be called several times for the same block.
        """
        request = request._replace(want=self._wanted(model))
        return model.local_step(block, prepared, request)

    def _wanted(self, model):
        return (*self._want, "local") if model.keeps_local else self._want

    def next_state(
        self, state: Any, local_step: LocalStep, scale: float, clock: Clock
    ) -> Any:
        """Return the state after a step."""
        return state


class _WithoutSchedule(Tempering):
    """Base of the policies whose steps all have powers of 1."""

    cools = False

    def powers(self, state, clock) -> Powers:
        """Return powers of 1."""
        return Powers()

    def is_settled(self, state, clock) -> bool:
        """Return True, because there is no schedule."""
        return True


class Untempered(_WithoutSchedule):
    """Plain variational inference at the temperature 1 (``tempering=None``).

    Examples
    --------
    >>> from sktemper.schedules import Clock
    >>> from sktemper.tempering import Untempered
    >>> Untempered().temperature(None, Clock())
    1.0
    """

    def temperature(self, state, clock) -> float:
        return 1.0


# -- annealing -------------------------------------------------------------------------
#: Powers of each target for an inverse temperature b.
TARGETS = {
    "local_step": lambda b: Powers(1.0, 1.0, b),
    "likelihood": lambda b: Powers(1.0, b, b),
    "posterior": lambda b: Powers(b, b, b),
}


@dataclass(eq=False, repr=False)
class Annealing(Tempering):
    """Deterministic annealing: the temperature follows a schedule.

    The first tempering to try: it was better than plain inference on every corpus
    tried, and costs little.  Tempered priors keep their base measure: a Dirichlet prior
    a becomes (a + T - 1) / T.

    Parameters
    ----------
    schedule : Schedule, callable or None, default=None
        The temperature at each step; None means `ExponentialSchedule()`.
    target : {"local_step", "likelihood", "posterior"}, default="local_step"
        What is raised to the power 1/T: the likelihood in the local step only, which
        was best on every corpus tried; the likelihood in both steps, as AVI, section 3
        of [2]_; or also the priors, as DASVI, equations 17 to 22 of [1]_, whose rate
        is a `sktemper.learning_rates.TemperedRate`.
    final_temperature : float, default=1.0
        Lowest temperature; higher for a tempered posterior, of the likelihood to the
        power 1/T, which is wider if the model is wrong.  Such a fit does not warn, but
        early stopping waits for T=1.

    References
    ----------
    .. [1] F. Abrol, S. Mandt, R. Ranganath, D. Blei, "Deterministic annealing for
       stochastic variational inference", 2014.
    .. [2] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016.

    Examples
    --------
    >>> from sktemper.schedules import LinearSchedule
    >>> from sktemper.tempering import Annealing
    >>> Annealing(LinearSchedule(start=5, length=100), target="likelihood")
    Annealing(schedule=LinearSchedule(length=100, start=5), target='likelihood')
    """

    _slots = {"schedule": Slot(as_schedule)}
    _parameter_constraints = {
        "target": [StrOptions(set(TARGETS))],
        "final_temperature": [Interval(Real, 1, None, closed="left")],
    }

    schedule: Schedule | Callable | None = None
    target: Literal["local_step", "likelihood", "posterior"] = "local_step"
    final_temperature: Float = 1.0

    @property
    def has_critical_temperatures(self) -> bool:
        """Whether critical temperatures apply.  They do not if priors are tempered."""
        return self.target != "posterior"

    def resolved(self, plan) -> Tempering:
        return self._with(schedule=as_schedule(self.schedule).resolved(plan))

    def schedule_of_temperatures(self) -> Schedule | None:
        return as_schedule(self.schedule)

    def temperature(self, state, clock) -> float:
        return max(as_schedule(self.schedule).at(clock), float(self.final_temperature))

    def powers(self, state, clock) -> Powers:
        return TARGETS[self.target](1.0 / self.temperature(state, clock))

    def _planned_steps(self, clocks):
        """Return temperatures and powers at increasing clocks, an array of each."""
        temperatures = np.array(as_schedule(self.schedule)._planned(clocks))
        temperatures = np.maximum(temperatures, float(self.final_temperature))
        powers = TARGETS[self.target](1.0 / temperatures)
        return temperatures, np.stack(np.broadcast_arrays(*powers), axis=1)

    def is_settled(self, state, clock) -> bool:
        return as_schedule(self.schedule).is_settled(clock)


# -- distributions over a ladder of temperatures ---------------------------------------
@dataclass(frozen=True)
class LinearPartition:
    """Log C as a linear function of the number of observations of a sample."""

    per_observation: np.ndarray

    def of_rows(self, n_observed):
        """Return log C of rows, of shape (n_rows, n_temperatures)."""
        return np.outer(n_observed, self.per_observation)

    def to_sum(self, n_observed):
        """Return None, because the sum over rows follows from `per_observation`."""
        return None

    def after(self, local_step, smoothing):
        """Return this object, which does not change in a step."""
        return self


@dataclass(frozen=True)
class SizedPartition:
    """Log C as an arbitrary function of the number of observations of a sample.

    ``given`` is the result of the model's `log_partition`.  ``per_observation`` is a
    moving mean over batches, with the same weights as the moving mean of the scores;
    None before the first batch.
    """

    given: Any
    per_observation: Any = None

    def of_rows(self, n_observed):
        """Return log C of rows, of shape (n_rows, n_temperatures)."""
        return self.given.of_rows(n_observed)

    #: Log C of each row; a step computes their sum.
    to_sum = of_rows

    def after(self, local_step, smoothing):
        """Return a copy with the moving mean updated by a step."""
        mean = local_step.log_partition / local_step.n_observed
        if self.per_observation is not None:
            mean = smoothing * self.per_observation + (1 - smoothing) * mean
        return replace(self, per_observation=mean)


class LadderState(NamedTuple):
    """State of `GlobalTempering` and `LocalTempering`."""

    # (n_temperatures,), as log_prior and probabilities
    inverse_temperatures: np.ndarray
    log_prior: np.ndarray
    partition: Any  # log C, the log normalisers of the tempered likelihood
    probabilities: np.ndarray  # for `LocalTempering`, means over a batch
    score: float = math.nan  # moving average per observation; NaN before the first step
    settings: str = ""  # digest of the parameters of the policy

    @property
    def log_partition(self):
        """Log C per observation, of shape (n_temperatures,)."""
        return self.partition.per_observation


@functools.lru_cache(maxsize=16)
def _digest(pickled):
    return joblib.hash(pickle.loads(pickled))


#: Cached, because each step compares its ladder with that of the state.
_geometric = functools.lru_cache(maxsize=16)(np.geomspace)


#: Values of ``log_partition`` that are not words.
_GIVEN = ["array-like", callable]


class _Ladder(Tempering):
    _parameter_constraints = {
        "n_temperatures": [WholeNumber(2)],
        "temperature_prior": ["array-like", HasMethods("cdf"), None],
        "partition_priors": ["array-like", StrOptions({"auto"}), None],
        "n_samples": [WholeNumber(1)],
        "score": [StrOptions({"predictive", "complete"})],
    }
    #: Words for log C of each sample at the current model, and methods of the model.
    _current = {}
    initial_probabilities = None

    @property
    def requires(self) -> tuple[str, ...]:
        if not isinstance(self.log_partition, str):
            return ()
        word = "log" if self.log_partition == "quenched" else self.log_partition
        return (f"{word}_partitions",)

    def check(self, model) -> None:
        """Raise if the model lacks what the policy requires; warn of a wrong log C."""
        super().check(model)
        given, is_missing = self.log_partition, model._missing("complete_partitions")
        differ = isinstance(given, str) and not is_missing
        if differ and (self.score == "complete") != (given == "complete"):
            warn(
                f"score={self.score!r} and log_partition={given!r} do not match, so "
                "that temperatures are wrong: set both to 'complete', or neither."
            )

    def _wanted(self, model):
        wanted = super()._wanted(model)
        return (*wanted, "complete") if self.score == "complete" else wanted

    def _inverse_temperatures(self):
        raise NotImplementedError

    def ladder(self) -> np.ndarray | None:
        return 1.0 / np.maximum(self._inverse_temperatures(), COLDEST)

    def probabilities(self, state) -> np.ndarray | None:
        return state.probabilities

    def knows(self, state) -> bool:
        return isinstance(state, LadderState) and state.settings == self._settings()

    def check_state(self, state) -> None:
        ladder = self._inverse_temperatures()
        parts = [state.inverse_temperatures, state.log_prior, state.probabilities]
        # log C of one observation
        parts.append(np.ravel(state.partition.of_rows(np.ones(1))))
        means = state.partition.per_observation
        parts += [] if means is None else [means]
        known = all(p.dtype.kind == "f" and p.shape == ladder.shape for p in parts)
        known = known and not np.isnan(parts).any() and np.max(parts) < np.inf
        if not known or math.isinf(state.score):
            raise ValueError("the state of the tempering has no ladder of temperatures")

    def _settings(self):
        """Return a digest of the parameters on which a state depends."""
        b = self._inverse_temperatures()
        settings = b, self._log_prior(b), self.partition_priors, self.n_samples
        given = self._given_partition(b)
        if not np.array_equal(given, "quenched"):
            settings += (given,)
        return _digest(pickle.dumps(settings))

    def _given_partition(self, b):
        """Return ``log_partition``: a word, or an array for the ladder."""
        given = self.log_partition
        if isinstance(given, str):
            return given
        values = np.asarray(given(b) if callable(given) else given, dtype=np.float64)
        if values.shape != b.shape or not np.isfinite(values).all():
            raise ValueError(
                f"log_partition must be {len(b)} finite numbers, log C(1/T) of one "
                "observation for each temperature of the ladder, or a function that "
                f"returns them; it has shape {values.shape}."
            )
        return values

    def _log_partition(self, model, b, hyper, random):
        """Return log C as the model gives it, or as the user does."""
        given, priors = self._given_partition(b), self.partition_priors
        if isinstance(priors, str):  # "auto"
            priors = self._auto_priors
        if not isinstance(given, str):
            return given
        if given in self._current:  # each local step computes it
            return 0.0 * b
        with np.errstate(divide="ignore"):
            if given == "map":
                return model.map_partition(b, hyper, priors)
            name = "complete_partition" if given == "complete" else "log_partition"
            return getattr(model, name)(b, hyper, random, priors, self.n_samples)

    def initial_state(self, model, hyper, random) -> Any:
        """Return a state with the ladder, its normalisers and prior probabilities."""
        b = self._inverse_temperatures()
        log_prior = self._log_prior(b)
        answer = self._log_partition(model, b, hyper, random)
        is_sized = hasattr(answer, "of_rows")
        partition = SizedPartition(answer) if is_sized else LinearPartition(answer)
        if not np.isfinite(partition.of_rows(np.ones(1))).all():
            raise ValueError(
                f"The likelihood of {type(model).__name__} has no normaliser at one of "
                f"the inverse temperatures, {b.min():g} to {b.max():g}: choose a lower "
                "highest temperature."
            )
        probabilities = np.exp(log_prior)
        if self.initial_probabilities is not None:
            probabilities = self._weights("initial_probabilities", b)
        return LadderState(
            b, log_prior, partition, probabilities, settings=self._settings()
        )

    def _log_prior(self, b):
        if self.temperature_prior is None:
            return np.full(len(b), -np.log(len(b)))
        with np.errstate(divide="ignore"):
            return np.log(self._weights("temperature_prior", b))

    def _weights(self, name, inverse_temperatures):
        """Return the probabilities of temperatures that a parameter stands for."""
        given, n_temperatures = getattr(self, name), len(inverse_temperatures)
        if hasattr(given, "cdf"):
            return _discretised(given, inverse_temperatures, name)
        weights = checked_floats(given, name, ensure_non_negative=True)
        if weights.shape != (n_temperatures,) or not weights.sum() > 0:
            raise ValueError(
                f"{name} must be {n_temperatures} weights, one for each temperature, "
                f"not all 0; it has shape {weights.shape}."
            )
        return weights / weights.sum()


def _discretised(distribution, inverse_temperatures, name):
    """Return the share of a distribution on (0, 1] near each point of a ladder.

    The inverse temperatures decrease from 1.
    """
    between = (inverse_temperatures[1:] + inverse_temperatures[:-1]) / 2
    edges = np.concatenate([[1.0], between, [0.0]])
    try:
        below = np.asarray(distribution.cdf(edges), dtype=np.float64)
    except TypeError as error:
        raise ValueError(
            f"{name} must be a frozen distribution, for instance "
            "scipy.stats.beta(2, 1), whose cdf takes nothing but an array of points."
        ) from error
    # a flat cdf may fall by rounding errors
    if below.shape != edges.shape or not (np.diff(below) < 1e-9).all():
        raise ValueError(
            f"{name} has no valid cdf: at an array of points it must return "
            "as many numbers, rising from 0 to 1."
        )
    mass = np.maximum(-np.diff(below), 0.0)
    if mass.sum() == 0:
        raise ValueError(
            f"{name}, a distribution of the inverse temperature 1/T, has no "
            "mass on (0, 1]."
        )
    return mass / mass.sum()


# -- one temperature for all samples ---------------------------------------------------
#: Least value of ``max_temperature="auto"``.
AUTO_MAX_TEMPERATURE = 10.0


@dataclass(eq=False, repr=False)
class GlobalTempering(_Ladder):
    r"""Variational tempering: one temperature for all samples, inferred from the data.

    The temperature is a latent variable on a ladder 1 = T_1 < ... < T_M.  Its posterior

    .. math:: r_m \propto \pi_m \exp(S / T_m - \log C(1 / T_m))

    moves to T=1 as the score S of the model, scaled to the whole data, rises [1]_,
    [2]_.  Here r_m is the probability of T_m, pi_m its prior weight, and C(1 / T) the
    normaliser of the tempered likelihood.  Steps use the inverse temperature E[1/T].

    The data determine the schedule.  In most steps of a fit with the default cap, the
    temperature is the cap, so that scores are about the same as with `Annealing`, but a
    start that is too hot for the data falls at once.

    Parameters
    ----------
    n_temperatures : int, default=100
        Number of temperatures of the ladder, geometric from 1 to ``max_temperature``.
    max_temperature : float or "auto", default="auto"
        Highest temperature.  "auto" is 10, or the start temperature of the model if
        that is higher.
    temperatures : array-like, default=None
        Explicit ladder of increasing temperatures from 1, instead of ``n_temperatures``
        and ``max_temperature``.
    temperature_prior : array-like, distribution or None, default=None
        Weights of the temperatures, of shape (n_temperatures,), or a frozen
        distribution of 1/T with a method ``cdf``, such as ``scipy.stats.beta(2, 1)``.
        None means uniform weights.
    partition_priors : object or "auto", default="auto"
        Priors under which log C is computed; for LDA a pair (alpha, eta).  Sparse ones
        keep the temperature high: "auto" is (0.01, 0.01) for LDA.  None means the
        priors of the model.
    n_samples : int, default=8
        Number of draws from which log C is estimated, as a quenched mean; more if T
        without a cap varies between seeds.
    log_partition : str, array-like or callable, default="quenched"
        Log C per observation: the mean over draws ("quenched"), or its value at the
        prior's mode ("map", section A.2 of [1]_), or for LDA the mean over draws of the
        sum over words and their topics, which ``score="complete"`` needs ("complete",
        equation 3 of [1]_), or your own numbers of shape (n_temperatures,), or a
        function that returns them for an array of inverse temperatures.
    score : {"predictive", "complete"}, default="predictive"
        The score S: with local variables integrated out, if the model can, or E log
        p(x, z), equation 9 of [1]_, with which T of topics stays high.  A fit warns if
        the score and log C do not match.
    target : {"local_step", "likelihood"}, default="local_step"
        Whether the global step uses the full ("local_step") or the tempered statistics
        ("likelihood"), as in the papers.
    smoothing : float in [0, 1), default=0.9
        Weight of earlier batches in the moving average of the score; higher for small
        batches, whose temperatures jump with 0.
    cap : Schedule, callable, "auto" or None, default="auto"
        Upper limit of the temperature.  "auto" is ``ExponentialSchedule()``, because T
        alone may never fall to 1, which early stopping and sampled documents need.
        None is the method of the papers.
    initial_probabilities : array-like, distribution or None, default=None
        Probabilities of the temperatures in the first step, given as
        ``temperature_prior``, which None takes.

    Notes
    -----
    ``history_["temperature"]`` is 1 / E[1/T] or the cap, whichever is lower.
    ``history_["temperature_probabilities"]`` is r, which does not depend on the cap.

    VT as printed, also called multicanonical inference (MVI) in [2]_, is
    ``GlobalTempering(max_temperature=10, partition_priors=None, score="complete",
    log_partition="complete", target="likelihood", smoothing=0, cap=None)`` for LDA.

    References
    ----------
    .. [1] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016, algorithm 1.
    .. [2] S. Mandt and others, "Multicanonical stochastic variational inference".

    Examples
    --------
    >>> from sktemper.tempering import GlobalTempering
    >>> GlobalTempering(n_temperatures=50)
    GlobalTempering(n_temperatures=50)
    """

    _slots = {"cap": Slot(lambda value: _as_cap(value), True, "ExponentialSchedule()")}
    _parameter_constraints = {
        **_Ladder._parameter_constraints,
        "max_temperature": [
            Interval(Real, 1, None, closed="neither"),
            StrOptions({"auto"}),
        ],
        "temperatures": ["array-like", None],
        "initial_probabilities": _Ladder._parameter_constraints["temperature_prior"],
        "log_partition": [*_GIVEN, StrOptions({"quenched", "map", "complete"})],
        "target": [StrOptions({"local_step", "likelihood"})],
        "smoothing": [Interval(Real, 0, 1, closed="left")],
    }
    _want = ("statistics", "bound", "score")
    _auto_priors = "global"

    n_temperatures: Int = 100
    max_temperature: Float | Literal["auto"] = "auto"
    temperatures: ArrayLike | None = None
    temperature_prior: Any = None
    partition_priors: Any = "auto"
    n_samples: Int = 8
    log_partition: ArrayLike | Callable | Literal["quenched", "map", "complete"] = (
        "quenched"
    )
    score: Literal["predictive", "complete"] = "predictive"
    target: Literal["local_step", "likelihood"] = "local_step"
    smoothing: Float = 0.9
    cap: Schedule | Callable | Literal["auto"] | None = "auto"
    initial_probabilities: Any = None

    def resolved(self, plan) -> Tempering:
        cap = _as_cap(self.cap)
        hottest = self.max_temperature
        if hottest == "auto":
            hottest = max(AUTO_MAX_TEMPERATURE, plan.model_start())
        cap = None if cap is None else cap.resolved(plan)
        return self._with(cap=cap, max_temperature=hottest)

    def schedule_of_temperatures(self) -> Schedule | None:
        return _as_cap(self.cap)

    def ladder(self) -> np.ndarray | None:
        if self.temperatures is None:
            auto = self.max_temperature == "auto"
            hottest = AUTO_MAX_TEMPERATURE if auto else self.max_temperature
            return _geometric(1.0, hottest, self.n_temperatures).copy()
        ladder = checked_floats(self.temperatures, "temperatures")
        if ladder.ndim != 1 or ladder[0] != 1 or (np.diff(ladder) <= 0).any():
            raise ValueError("temperatures must increase strictly, from 1.")
        return ladder

    def _inverse_temperatures(self):
        return 1.0 / self.ladder()

    def temperature(self, state, clock) -> float:
        """Return 1 / E[1/T], at most the cap."""
        mean = float(state.probabilities @ state.inverse_temperatures)
        temperature = max(1.0, 1.0 / mean)
        cap = _as_cap(self.cap)
        return temperature if cap is None else min(temperature, cap.at(clock))

    def powers(self, state, clock) -> Powers:
        return TARGETS[self.target](1.0 / self.temperature(state, clock))

    def is_settled(self, state, clock) -> bool:
        """Return whether the cap is constant; without a cap, whether T is 1."""
        cap = _as_cap(self.cap)
        if cap is None:
            return self.temperature(state, clock) == 1.0
        return cap.is_settled(clock)

    def remedy(self, state, clock) -> str:
        if self.cap is None:
            return "Set a cap that falls to 1, or less sparse partition_priors."
        return super().remedy(state, clock)

    def local_step(self, model, block, prepared, request, state) -> LocalStep:
        """Return the local step of a block, with log C of its rows if needed."""
        step = super().local_step(model, block, prepared, request, state)
        return step.with_log_partitions(state.partition.to_sum(step.row_observed))

    def next_state(self, state, local_step, scale, clock) -> Any:
        """Return the state with the probabilities given the score of the batch."""
        if local_step.n_observed == 0:
            return state
        state = state._replace(
            partition=state.partition.after(local_step, self.smoothing)
        )
        score = local_step.score / local_step.n_observed
        if not math.isnan(state.score):
            score = self.smoothing * state.score + (1 - self.smoothing) * score
        n_observed = scale * local_step.n_observed
        per_observation = state.inverse_temperatures * score - state.log_partition
        probabilities = _softmax(state.log_prior + n_observed * per_observation)
        return state._replace(probabilities=probabilities, score=score)


def _softmax(logs):
    """Return exponentials that are scaled to sum to 1 along the last axis."""
    values = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return values / values.sum(axis=-1, keepdims=True)


def _as_cap(value):
    """Return the schedule of a cap, or None without a cap."""
    if value is None:
        return None
    return as_schedule(None if value == "auto" else value, "cap")


# -- one temperature for each sample ---------------------------------------------------
@dataclass(eq=False, repr=False)
class LocalTempering(_WithoutSchedule, _Ladder):
    r"""Local variational tempering: a temperature for each sample, inferred.

    Samples that the model fits badly get high temperatures, and so small weights.  The
    statistics are computed from the tempered likelihood with its normaliser [1]_.

    It suits data with outliers.  The temperatures do not fall during a fit, so that it
    leaves poor optima less often than `Annealing`, and takes about twice as long.

    .. math:: r_{dm} \propto \pi_m \exp(b_m S_d - N_d a(b_m)), \quad
        b_d = \sum_m r_{dm} b_m

    Here r_dm is the probability of the inverse temperature b_m for sample d, pi_m its
    prior weight, S_d the score of the sample, N_d its number of observations, and a(b)
    the log normaliser, log C, per observation.

    Parameters
    ----------
    n_temperatures : int, default=100
        Number of inverse temperatures of the ladder, evenly spaced from 1 down to
        ``min_inverse_temperature``.
    min_inverse_temperature : float, default=0.1
        Smallest inverse temperature; a sample near 0 has almost no effect on the model.
        0 is possible for discrete data, whose log C is finite there.
    temperature_prior : array-like, distribution or None, default=None
        Weights, or a distribution of 1/T, as in `GlobalTempering`.
    partition_priors : object or "auto", default="auto"
        Priors under which log C is computed, as in `GlobalTempering`; "auto" is (0.02,
        0.05) for LDA.
    n_samples : int, default=8
        Number of draws for log C, as in `GlobalTempering`.
    log_partition : str, array-like or callable, default="quenched"
        Log C, as in `GlobalTempering` ("quenched"), or of each sample at the current
        model: over values ("current"), which takes as long as to score all values, or
        for LDA over words and their topics ("complete", equation 10 of [1]_).
    score : {"predictive", "complete"}, default="predictive"
        The score, as in `GlobalTempering`.
    n_alternations : int, default=2
        Number of local steps, each followed by an update of the temperatures; more for
        temperatures closer to their optimum.

    Notes
    -----
    ``temperatures(X)`` of the fitted estimator returns 1 / b_d.  In ``history_``,
    "temperature_probabilities" is the mean of r over the batch of the previous step.

    LVT as printed is ``LocalTempering(min_inverse_temperature=0, score="complete",
    log_partition="complete")``, except that equation 10 of [1]_ multiplies the whole
    exponent by 1/T, with which all temperatures are infinite.

    References
    ----------
    .. [1] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016, sections 2.4 and 3.4.

    Examples
    --------
    >>> from sktemper.tempering import LocalTempering
    >>> LocalTempering(min_inverse_temperature=0.2)
    LocalTempering(min_inverse_temperature=0.2)
    """

    _parameter_constraints = {
        **_Ladder._parameter_constraints,
        "min_inverse_temperature": [Interval(Real, 0, 1, closed="left")],
        "log_partition": [*_GIVEN, StrOptions({"quenched", "current", "complete"})],
        "n_alternations": [WholeNumber(1)],
    }
    _auto_priors = "local"
    _current = {"current": "current_partition", "complete": "complete_current"}
    per_sample = True

    n_temperatures: Int = 100
    min_inverse_temperature: Float = 0.1
    temperature_prior: Any = None
    partition_priors: Any = "auto"
    n_samples: Int = 8
    log_partition: ArrayLike | Callable | Literal["quenched", "current", "complete"] = (
        "quenched"
    )
    score: Literal["predictive", "complete"] = "predictive"
    n_alternations: Int = 2

    def _inverse_temperatures(self):
        return np.linspace(1.0, self.min_inverse_temperature, self.n_temperatures)

    def temperature(self, state, clock) -> float:
        """Return 1 / E[1/T] over the samples of the last batch."""
        return 1.0 / float(state.probabilities @ state.inverse_temperatures)

    def local_step(self, model, block, prepared, request, state) -> LocalStep:
        """Alternate between local parameters and temperatures; return the last step."""
        probabilities, b, parameters = self._alternate(
            model, block, prepared, request, state
        )
        b, powers = model.per_unit(block, b), request.powers
        request = request._replace(
            powers=powers._replace(statistics=powers.statistics * b, local=b),
            local_init=parameters,
            want=self._wanted(model),
        )
        step = model.local_step(block, prepared, request)
        step.temperatures = probabilities.sum(axis=0)
        return step

    def sample_temperatures(self, model, block, prepared, state) -> np.ndarray:
        _, b, _ = self._alternate(model, block, prepared, Request(), state)
        return 1.0 / b

    def _alternate(self, model, block, prepared, request, state):
        """Return temperatures' probabilities, means b of 1/T, and local parameters."""
        local, parameters = 1.0, request.local_init
        wanted, given = ("score", "local", self.score), self.log_partition
        name = self._current.get(given) if isinstance(given, str) else None
        for _ in range(self.n_alternations):
            powers = request.powers._replace(local=local)
            step = model.local_step(
                block, prepared, Request(powers, None, request.seed, parameters, wanted)
            )
            if name is not None:
                step.row_log_partitions = getattr(model, name)(
                    state.inverse_temperatures, block, prepared, step.local_parameters
                )
            probabilities = self.responsibilities(state, step)
            # no BLAS here, because its rounding depends on the number of rows
            b = (probabilities * state.inverse_temperatures).sum(axis=1)
            b = np.maximum(b, COLDEST)
            local, parameters = model.per_unit(block, b), step.local_parameters
        return probabilities, b, parameters

    def responsibilities(self, state, step) -> np.ndarray:
        """Return the probabilities of temperatures for each row of a block."""
        partitions = step.row_log_partitions
        if partitions is None:
            partitions = state.partition.of_rows(step.row_observed)
        scores = np.outer(step.row_scores, state.inverse_temperatures)
        return _softmax(state.log_prior + scores - partitions)

    def next_state(self, state, local_step, scale, clock) -> Any:
        """Return the state with the probabilities averaged over the batch."""
        sums = local_step.temperatures
        if not np.any(sums):
            return state
        return state._replace(probabilities=sums / sums.sum())


_SHORTCUTS = {None: Untempered, "global": GlobalTempering, "local": LocalTempering}


def as_tempering(value):
    """Return the tempering that ``value`` stands for: None is `Untempered`."""
    expected = "a tempering (see sktemper.tempering), 'global', 'local' or None"
    return as_policy(value, Tempering, _SHORTCUTS, "tempering", expected)

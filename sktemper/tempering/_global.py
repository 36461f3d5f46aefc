"""Tempering policy that infers one temperature for all samples from the data."""

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from scipy.special import softmax
from sklearn.utils import check_array
from sklearn.utils._param_validation import HasMethods, StrOptions

from .._utils._arguments import Interval
from .._utils._policy import Slot
from .._utils._typing import ArrayLike, Float, Int
from ..model import LocalStep, Powers
from ..schedules import Schedule, as_schedule
from ._annealing import TARGETS, refuse_cold
from ._base import Tempering
from ._ladder import _Ladder

#: Least value of ``max_temperature="auto"``.
AUTO_MAX_TEMPERATURE = 10.0


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

    Notes
    -----
    ``history_["temperature"]`` is 1 / E[1/T] or the cap, whichever is lower.
    ``history_["temperature_probabilities"]`` is r, which does not depend on the cap.

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
        "n_temperatures": [Interval(Integral, 2, None, closed="left")],
        "max_temperature": [
            Interval(Real, 1, None, closed="neither"),
            StrOptions({"auto"}),
        ],
        "temperatures": ["array-like", None],
        "temperature_prior": ["array-like", HasMethods("cdf"), None],
        "partition_priors": ["array-like", StrOptions({"auto"}), None],
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "target": [StrOptions({"local_step", "likelihood"})],
        "smoothing": [Interval(Real, 0, 1, closed="left")],
        "cap": "no_validation",
    }
    _want = ("statistics", "bound", "score")
    _auto_priors = "global"

    def __init__(
        self,
        n_temperatures: Int = 100,
        max_temperature: Float | Literal["auto"] = "auto",
        temperatures: ArrayLike | None = None,
        temperature_prior: Any = None,
        partition_priors: Any = "auto",
        n_samples: Int = 8,
        target: Literal["local_step", "likelihood"] = "local_step",
        smoothing: Float = 0.9,
        cap: Schedule | Callable | Literal["auto"] | None = "auto",
    ):
        self.n_temperatures = n_temperatures
        self.max_temperature = max_temperature
        self.temperatures = temperatures
        self.temperature_prior = temperature_prior
        self.partition_priors = partition_priors
        self.n_samples = n_samples
        self.target = target
        self.smoothing = smoothing
        self.cap = cap

    def validate(self) -> Self:
        """Check the parameters and the parameters of the cap; return self."""
        super().validate()
        if self.cap is not None:
            refuse_cold(_as_cap(self.cap), "cap")
        return self

    def resolved(self, plan) -> Tempering:
        """Return the policy with each "auto" replaced by a value for the `Plan`."""
        cap = _as_cap(self.cap)
        params = self.get_params(deep=False)
        params["cap"] = None if cap is None else cap.resolved(plan)
        if self.max_temperature == "auto":
            params["max_temperature"] = max(AUTO_MAX_TEMPERATURE, plan.hot_start())
        return type(self)(**params)

    def schedule_of_temperatures(self) -> Schedule | None:
        """Return the schedule of the cap, or None without a cap."""
        return _as_cap(self.cap)

    def ladder(self) -> np.ndarray | None:
        """Return the temperatures of the ladder, shape (n_temperatures,)."""
        if self.temperatures is None:
            auto = self.max_temperature == "auto"
            hottest = AUTO_MAX_TEMPERATURE if auto else self.max_temperature
            return np.geomspace(1.0, hottest, self.n_temperatures)
        ladder = check_array(
            self.temperatures,
            ensure_2d=False,
            dtype=np.float64,
            input_name="temperatures",
        )
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
        """Return the `Powers` of the next step."""
        return TARGETS[self.target](1.0 / self.temperature(state, clock))

    def is_settled(self, state, clock) -> bool:
        """Return whether the cap is constant; without a cap, whether T is 1."""
        cap = _as_cap(self.cap)
        if cap is None:
            return self.temperature(state, clock) == 1.0
        return cap.is_settled(clock)

    def remedy(self, state, clock) -> str:
        """Return advice for a fit that ended above T=1."""
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
        probabilities = softmax(
            state.log_prior
            + n_observed * (state.inverse_temperatures * score - state.log_partition)
        )
        return state._replace(probabilities=probabilities, score=score)


def _as_cap(value):
    """Return the schedule of a cap, or None without a cap."""
    if value is None:
        return None
    return as_schedule(None if value == "auto" else value, "cap")

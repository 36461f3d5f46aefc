"""Tempering: at what temperature a model is seen during training.

A high temperature T flattens the likelihood, p(x, z | globals)^(1/T), and with it the
poor local optima.  Scores and transforms are always those of T=1.
"""

import math
from numbers import Integral, Real
from typing import Any, NamedTuple

import joblib
import numpy as np
from scipy.special import softmax
from sklearn.utils import check_array
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from ._policy import Policy, Slot, refuse
from .model import Powers
from .model._partitions import as_partition
from .schedules import as_schedule

__all__ = [
    "Annealing",
    "GlobalTempering",
    "LocalTempering",
    "Tempering",
    "Untempered",
]


class Tempering(Policy):
    """Base of the tempering policies.

    A subclass defines `temperature` and `powers`, and `is_settled`; what it learns on
    the way is a state that goes in and comes out.
    """

    #: Whether a fit begins hot and should end at T=1; `fit` warns where it did not.
    cools = True
    #: Whether each sample has a temperature of its own, see `sample_temperatures`.
    per_sample = False
    _want = ("statistics", "bound")

    def resolved(self, plan):
        """Return a policy with ``"auto"`` replaced by what suits the `Plan`."""
        return self

    def initial_state(self, model, hyper, random):
        """Return what the policy remembers between steps (a picklable value)."""
        return None

    def check_state(self, state):
        """Raise ValueError if this, from a pickle, cannot be what it remembers."""

    def temperature(self, state, clock):
        """Return the temperature of the next step: a number to report."""
        raise NotImplementedError

    def powers(self, state, clock):
        """Return the `Powers` at which the next step sees the model."""
        raise NotImplementedError

    def is_settled(self, state, clock):
        """Return whether the temperature stays what it is from now on."""
        raise NotImplementedError

    def ladder(self):
        """Return the temperatures over which the policy has a distribution.

        Returns
        -------
        temperatures : ndarray of shape (n_temperatures,) or None
            From 1 up; None if there is no distribution.
        """
        return None

    def probabilities(self, state):
        """Return the distribution over `ladder` at which the next step is taken.

        Returns
        -------
        probabilities : ndarray of shape (n_temperatures,) or None
        """
        return None

    def sample_temperatures(self, model, block, prepared, state):
        """Return the temperature of each row of a block, shape (n_rows,).

        Only where `per_sample` is True.  A pure function.
        """
        raise NotImplementedError

    def remedy(self, state, clock):
        """Return what to do about a fit that ended hot."""
        if self.is_settled(state, clock):
            return "The schedule stays there: let it stop at 1."
        return (
            "Raise max_iter, shorten the schedule (its length), or go on with "
            "partial_fit or warm_start=True."
        )

    def local_step(
        self, model, block, prepared, powers, weights, seed, state, local_init=None
    ):
        """Run a block's local step; may run it several times.  A pure function."""
        want = (*self._want, "local") if model.keeps_local else self._want
        return model.local_step(
            block, prepared, powers, weights, seed, local_init, want
        )

    def next_state(self, state, local_step, scale, clock):
        """Return the state after a step."""
        return state


class Untempered(Tempering):
    """The temperature is 1: plain variational inference (``tempering=None``)."""

    cools = False

    def temperature(self, state, clock):
        """Return 1."""
        return 1.0

    def powers(self, state, clock):
        """Return the powers of the model itself."""
        return Powers()

    def is_settled(self, state, clock):
        """Return True."""
        return True


_TARGETS = {
    "local_step": lambda b: Powers(1.0, 1.0, b),
    "likelihood": lambda b: Powers(1.0, b, b),
    "posterior": lambda b: Powers(b, b, b),
}


class Annealing(Tempering):
    """Deterministic annealing: the temperature follows a schedule.

    The first tempering to try: better than plain inference on every corpus tried, and
    at little cost.

    Parameters
    ----------
    schedule : Schedule, callable or None, default=None
        The temperature at each step; None is `ExponentialSchedule()`.
    target : {"local_step", "likelihood", "posterior"}, default="local_step"
        What is raised to the power 1/T:

        - "local_step": the likelihood in the local step alone; the global step gets
          the full statistics.  The best of the three on every corpus tried.
        - "likelihood": the likelihood everywhere [2]_, section 3.
        - "posterior": likelihood and priors [1]_, equations 17 to 22, with the base
          measure's correction: a Dirichlet prior a becomes (a + T - 1) / T.

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
        "schedule": "no_validation",
        "target": [StrOptions(set(_TARGETS))],
    }

    def __init__(self, schedule=None, target="local_step"):
        self.schedule = schedule
        self.target = target

    def resolved(self, plan):
        """Return a policy with ``"auto"`` replaced by what suits the `Plan`."""
        return Annealing(as_schedule(self.schedule).resolved(plan), self.target)

    def validate(self):
        """Check the parameters, those of the schedule included; return self."""
        super().validate()
        refuse_cold(as_schedule(self.schedule), "schedule")
        return self

    def temperature(self, state, clock):
        """Return the schedule's value at the clock."""
        return as_schedule(self.schedule).at(clock)

    def powers(self, state, clock):
        """Return the `Powers` at which the next step sees the model."""
        return _TARGETS[self.target](1.0 / self.temperature(state, clock))

    def is_settled(self, state, clock):
        """Return whether the schedule's value stays what it is from now on."""
        return as_schedule(self.schedule).is_settled(clock)


class _Ladder(Tempering):
    """What the policies with a distribution over temperatures share."""

    requires = ("log_partitions",)

    def _inverse_temperatures(self):
        raise NotImplementedError

    def ladder(self):
        """Return the temperatures of the ladder, shape (n_temperatures,)."""
        return 1.0 / self._inverse_temperatures()

    def probabilities(self, state):
        """Return q over `ladder`, shape (n_temperatures,)."""
        return state.probabilities

    def knows(self, state):
        """Return whether ``state`` is one of this policy's, as it is now."""
        return isinstance(state, LadderState) and state.settings == self._settings()

    def check_state(self, state):
        """Raise ValueError if this cannot be a state over the ladder."""
        ladder = self._inverse_temperatures()
        parts = [state.inverse_temperatures, state.log_prior, state.probabilities]
        # of one observation, whatever computes it
        parts.append(np.ravel(state.partition.of_rows(np.ones(1))))
        means = state.partition.per_observation
        parts += [] if means is None else [means]
        known = not math.isinf(state.score)
        for part in parts:
            known &= part.dtype.kind == "f" and part.shape == ladder.shape
            known = known and not (np.isnan(part) | (part == np.inf)).any()
        if not known:
            raise ValueError("what the tempering knows is no ladder of temperatures")

    def _settings(self):
        """Return a digest of what a state depends on."""
        b = self._inverse_temperatures()
        return joblib.hash(
            (b, self._log_prior(b), self.partition_priors, self.n_samples)
        )

    def initial_state(self, model, hyper, random):
        """Return the ladder, its normalisers, and q as its prior."""
        b = self._inverse_temperatures()
        log_prior = self._log_prior(b)
        auto = self.partition_priors == "auto"
        priors = self._auto_priors if auto else self.partition_priors
        partition = as_partition(
            model.log_partition(b, hyper, random, priors, self.n_samples)
        )
        return LadderState(
            b, log_prior, partition, np.exp(log_prior), settings=self._settings()
        )

    def _log_prior(self, inverse_temperatures):
        n_temperatures = len(inverse_temperatures)
        if self.temperature_prior is None:
            return np.full(n_temperatures, -np.log(n_temperatures))
        if hasattr(self.temperature_prior, "cdf"):
            prior = discretised(self.temperature_prior, inverse_temperatures)
        else:
            prior = prior_weights(self.temperature_prior, n_temperatures)
        with np.errstate(divide="ignore"):
            return np.log(prior / prior.sum())


def prior_weights(weights, n_temperatures):
    """Return the weights of the temperatures as a valid array."""
    weights = check_array(
        weights,
        ensure_2d=False,
        dtype=np.float64,
        ensure_non_negative=True,
        input_name="temperature_prior",
    )
    if weights.shape != (n_temperatures,) or not weights.sum() > 0:
        raise ValueError(
            f"temperature_prior must be {n_temperatures} weights, one for each "
            f"temperature, not all 0; it has shape {weights.shape}."
        )
    return weights


def discretised(distribution, inverse_temperatures):
    """Return the mass that a distribution on (0, 1] has near each point of a ladder.

    Parameters
    ----------
    distribution : object
        Has a method ``cdf``.
    inverse_temperatures : ndarray of shape (n_temperatures,)
        Decreasing, from 1.
    """
    between = (inverse_temperatures[1:] + inverse_temperatures[:-1]) / 2
    edges = np.concatenate([[1.0], between, [0.0]])
    try:
        below = np.asarray(distribution.cdf(edges), dtype=np.float64)
    except TypeError as error:
        raise ValueError(
            "temperature_prior must be a frozen distribution, for instance "
            "scipy.stats.beta(2, 1), whose cdf takes nothing but an array of points."
        ) from error
    # a flat cdf may fall by rounding errors
    if below.shape != edges.shape or not (np.diff(below) < 1e-9).all():
        raise ValueError(
            "temperature_prior has no valid cdf: at an array of points it must return "
            "as many numbers, rising from 0 to 1."
        )
    mass = np.maximum(-np.diff(below), 0.0)
    if mass.sum() == 0:
        raise ValueError(
            "temperature_prior, a distribution of the inverse temperature 1/T, has no "
            "mass on (0, 1]."
        )
    return mass


class LadderState(NamedTuple):
    """What `GlobalTempering` and `LocalTempering` know.

    Attributes
    ----------
    inverse_temperatures : ndarray of shape (n_temperatures,)
    log_prior : ndarray of shape (n_temperatures,)
    partition : object
        Log C, see `sktemper.model._partitions`.
    probabilities : ndarray of shape (n_temperatures,)
        q over the temperatures; for `LocalTempering` its mean over a batch.
    score : float
        Moving average of the score per observation; NaN before the first step.
    settings : str
        A digest of the policy's parameters.
    """

    inverse_temperatures: np.ndarray
    log_prior: np.ndarray
    partition: Any
    probabilities: np.ndarray
    score: float = math.nan
    settings: str = ""

    @property
    def log_partition(self):
        """Log C per observation, of shape (n_temperatures,)."""
        return self.partition.per_observation


#: What ``max_temperature="auto"`` is at least.
AUTO_MAX_TEMPERATURE = 10.0


class GlobalTempering(_Ladder):
    r"""Variational tempering: one temperature for all, inferred from the data.

    The temperature is a latent variable on a ladder 1 = T_1 < ... < T_M.  Its posterior

    .. math:: r_m \propto \pi_m \exp(S / T_m - \log C(1 / T_m))

    falls to T=1 as the model's score S, scaled to the corpus, rises [1]_, [2]_; the
    model is seen at E[1/T].

    Choose it to leave the schedule to the data.  By default a cap falls to 1 as the
    schedule of `Annealing` does and rules in most steps, so that scores are about those
    of `Annealing`; what the data add is that a start too hot for them is cut off.

    Parameters
    ----------
    n_temperatures : int, default=100
        Rungs of the ladder, geometric from 1 to ``max_temperature``.
    max_temperature : float or "auto", default="auto"
        "auto" is 10, or where the model would have an annealing begin if that is
        hotter.
    temperatures : array-like, default=None
        An explicit ladder instead: increasing, from 1.
    temperature_prior : array-like, distribution or None, default=None
        Weights of the rungs, of shape (n_temperatures,); or a frozen distribution of
        the inverse temperature 1/T, as ``scipy.stats.beta(2, 1)`` or anything with a
        ``cdf``, whose mass each rung gets as far as the midpoints to its neighbours,
        the last rung down to 0; mass outside of (0, 1] is dropped.  None is uniform.
    partition_priors : object or "auto", default="auto"
        The priors under which log C is computed; for LDA a pair (alpha, eta).  They
        need not be the model's, and they set the temperature: sparse ones keep it
        high.  None takes the model's own; "auto" is (0.01, 0.01) for LDA.
    n_samples : int, default=8
        Draws of each global and local parameter for log C: a quenched mean, computed
        once.  With sparse priors 8 leave about a tenth of T to chance, which a cap
        hides; without one take more.  (The nested estimate of the papers is a maximum
        over the draws, see ``benchmarks/log_partition.py``.)
    target : {"local_step", "likelihood"}, default="local_step"
        Whether the global step gets the full statistics or the tempered ones.
    smoothing : float in [0, 1), default=0.9
        Weight of the past in the moving average of the score over batches: without
        it the temperature flickers between rungs.
    cap : Schedule, callable, "auto" or None, default="auto"
        The temperature is at most this.  "auto" is ``ExponentialSchedule()``, which
        falls to 1: with sparse priors the ladder alone may stay hot for ever.  None is
        no cap; T then comes close to 1 but seldom to 1, which early stopping and
        sampled documents wait for.

    Notes
    -----
    ``history_["temperature"]`` is 1 / E[1/T], at most the cap, and
    ``history_["temperature_probabilities"]`` r, which no cap cuts.

    References
    ----------
    .. [1] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016, algorithm 1.
    .. [2] The same with S. Mandt, "Multicanonical stochastic variational inference".

    Examples
    --------
    >>> from sktemper.tempering import GlobalTempering
    >>> GlobalTempering(n_temperatures=50)
    GlobalTempering(n_temperatures=50)
    """

    _slots = {"cap": Slot(lambda value: as_cap(value), True, "ExponentialSchedule()")}
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
        n_temperatures=100,
        max_temperature="auto",
        temperatures=None,
        temperature_prior=None,
        partition_priors="auto",
        n_samples=8,
        target="local_step",
        smoothing=0.9,
        cap="auto",
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

    def validate(self):
        """Check the parameters, those of the cap included; return self."""
        super().validate()
        if self.cap is not None:
            refuse_cold(as_cap(self.cap), "cap")
        return self

    def resolved(self, plan):
        """Return a policy whose cap is resolved."""
        cap = as_cap(self.cap)
        params = self.get_params(deep=False)
        params["cap"] = None if cap is None else cap.resolved(plan)
        if self.max_temperature == "auto":
            params["max_temperature"] = max(AUTO_MAX_TEMPERATURE, plan.hot_start())
        return type(self)(**params)

    def ladder(self):
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

    def temperature(self, state, clock):
        """Return 1 / E[1/T], at most the cap."""
        mean = float(state.probabilities @ state.inverse_temperatures)
        temperature = max(1.0, 1.0 / mean)
        cap = as_cap(self.cap)
        return temperature if cap is None else min(temperature, cap.at(clock))

    def powers(self, state, clock):
        """Return the `Powers` at which the next step sees the model."""
        return _TARGETS[self.target](1.0 / self.temperature(state, clock))

    def is_settled(self, state, clock):
        """Return whether the cap holds the temperature at 1, or there is none."""
        cap = as_cap(self.cap)
        if cap is None:
            return self.temperature(state, clock) == 1.0
        return cap.is_settled(clock)

    def remedy(self, state, clock):
        """Return what to do about a fit that ended hot."""
        if self.cap is None:
            return "Set a cap that falls to 1, or partition_priors less sparse."
        return super().remedy(state, clock)

    def local_step(
        self, model, block, prepared, powers, weights, seed, state, local_init=None
    ):
        """Run a block's local step, and note log C of its rows if need be."""
        step = super().local_step(
            model, block, prepared, powers, weights, seed, state, local_init
        )
        return step.with_log_partitions(state.partition.to_sum(step.row_observed))

    def next_state(self, state, local_step, scale, clock):
        """Return the state with q given the batch's score."""
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


class LocalTempering(_Ladder):
    r"""Local variational tempering: a temperature for each sample, inferred.

    Samples that the model fits badly are seen hot and so weigh less; the statistics
    are those of the tempered likelihood [1]_, its normaliser included.

    Choose it for data with outliers, or to find them.  It does not cool, so that it
    frees the model of poor optima less than `Annealing` does, and takes about twice as
    long.

    .. math:: r_{dm} \propto \pi_m \exp(b_m S_d - N_d a(b_m)), \quad
        b_d = \sum_m r_{dm} b_m

    Parameters
    ----------
    n_temperatures : int, default=100
        Rungs of the ladder of inverse temperatures, even from 1 down.
    min_inverse_temperature : float, default=0.1
        Its last rung; near 0 nothing would be learned.
    temperature_prior : array-like, distribution or None, default=None
        As of `GlobalTempering`: weights, or a distribution of 1/T.
    partition_priors : object or "auto", default="auto"
        The priors under which log C is computed; for LDA a pair (alpha, eta).  They
        need not be the model's, and they set the temperatures, which no cap takes back
        to 1: sparse ones keep them high.  None takes the model's own; "auto" is
        (0.02, 0.05) for LDA.
    n_samples : int, default=8
        As of `GlobalTempering`.
    n_alternations : int, default=2
        Local steps, each followed by an update of the temperatures.

    Notes
    -----
    The fitted estimator's ``temperatures(X)`` are 1 / b_d; in ``history_`` the
    "temperature_probabilities" are the mean of r over the batch of the step before.

    References
    ----------
    .. [1] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016, section 4.

    Examples
    --------
    >>> from sktemper.tempering import LocalTempering
    >>> LocalTempering(min_inverse_temperature=0.2)
    LocalTempering(min_inverse_temperature=0.2)
    """

    _parameter_constraints = {
        "n_temperatures": [Interval(Integral, 2, None, closed="left")],
        "min_inverse_temperature": [Interval(Real, 0, 1, closed="neither")],
        "temperature_prior": ["array-like", HasMethods("cdf"), None],
        "partition_priors": ["array-like", StrOptions({"auto"}), None],
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "n_alternations": [Interval(Integral, 1, None, closed="left")],
    }
    cools = False
    _auto_priors = "local"
    per_sample = True

    def __init__(
        self,
        n_temperatures=100,
        min_inverse_temperature=0.1,
        temperature_prior=None,
        partition_priors="auto",
        n_samples=8,
        n_alternations=2,
    ):
        self.n_temperatures = n_temperatures
        self.min_inverse_temperature = min_inverse_temperature
        self.temperature_prior = temperature_prior
        self.partition_priors = partition_priors
        self.n_samples = n_samples
        self.n_alternations = n_alternations

    def _inverse_temperatures(self):
        return np.linspace(1.0, self.min_inverse_temperature, self.n_temperatures)

    def temperature(self, state, clock):
        """Return 1 / E[1/T] over the samples of the last batch."""
        return 1.0 / float(state.probabilities @ state.inverse_temperatures)

    def powers(self, state, clock):
        """Return untempered powers: each block finds its own."""
        return Powers()

    def is_settled(self, state, clock):
        """Return True: there is no schedule."""
        return True

    def local_step(
        self, model, block, prepared, powers, weights, seed, state, local_init=None
    ):
        """Alternate between local parameters and temperatures, then take statistics."""
        probabilities, b, parameters = self._alternate(
            model, block, prepared, powers, seed, state, local_init
        )
        b = model.per_unit(block, b)
        powers = powers._replace(statistics=powers.statistics * b, local=b)
        want = (*self._want, "local") if model.keeps_local else self._want
        step = model.local_step(
            block, prepared, powers, weights, seed, parameters, want
        )
        step.temperatures = probabilities.sum(axis=0)
        return step

    def sample_temperatures(self, model, block, prepared, state):
        """Return 1 / b_d of each row of a block, shape (n_rows,)."""
        _, b, _ = self._alternate(model, block, prepared, Powers(), 0, state)
        return 1.0 / b

    def _alternate(self, model, block, prepared, powers, seed, state, local_init=None):
        """Return q over the temperatures, its mean b, and the local parameters."""
        local, parameters = 1.0, local_init
        for _ in range(self.n_alternations):
            step = model.local_step(
                block,
                prepared,
                powers._replace(local=local),
                None,
                seed,
                parameters,
                want=("score", "local"),
            )
            probabilities = self.responsibilities(state, step)
            # not by BLAS, whose bits depend on the number of rows
            b = (probabilities * state.inverse_temperatures).sum(axis=1)
            local, parameters = model.per_unit(block, b), step.local_parameters
        return probabilities, b, parameters

    def responsibilities(self, state, step):
        """Return q over the temperatures of each row, or of each unit, of a block."""
        scores, n_observed = step.row_scores, step.row_observed
        if step.unit_scores is not None:
            scores, n_observed = step.unit_scores, np.ones(len(step.unit_scores))
        return softmax(
            state.log_prior
            + np.outer(scores, state.inverse_temperatures)
            - state.partition.of_rows(n_observed),
            axis=1,
        )

    def next_state(self, state, local_step, scale, clock):
        """Return the state with the batch's mean q."""
        sums = local_step.temperatures
        if not np.any(sums):
            return state
        return state._replace(probabilities=sums / sums.sum())


_SHORTCUTS = {"global": GlobalTempering, "local": LocalTempering}


def refuse_cold(schedule, parameter):
    """Raise if a schedule says itself that it leads below the temperature 1."""
    if schedule.lowest() < 1:
        refuse(parameter, "a schedule of temperatures, which are at least 1", schedule)


def as_cap(value):
    """Return the schedule that a cap stands for; None is none."""
    if value is None:
        return None
    return as_schedule(None if value == "auto" else value, "cap")


def as_tempering(value):
    """Return the tempering that ``value`` stands for: None is `Untempered`.

    Raises
    ------
    sklearn.utils._param_validation.InvalidParameterError
        If ``value`` is neither a policy, nor "global", "local" or None.
    """
    if value is None:
        return Untempered()
    if isinstance(value, Tempering):
        return value
    if isinstance(value, str) and value in _SHORTCUTS:
        return _SHORTCUTS[value]()
    refuse(
        "tempering",
        "a tempering (see sktemper.tempering), 'global', 'local' or None",
        value,
    )

"""Base of policies with a distribution over a ladder of temperatures."""

import math
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.utils import check_array

from ..model._partitions import as_partition
from ._base import Tempering


class LadderState(NamedTuple):
    """State of `GlobalTempering` and `LocalTempering`.

    Attributes
    ----------
    inverse_temperatures : ndarray of shape (n_temperatures,)
    log_prior : ndarray of shape (n_temperatures,)
    partition : object
        Log C, the log normalisers of the tempered likelihood, see
        `sktemper.model._partitions`.
    probabilities : ndarray of shape (n_temperatures,)
        Probabilities of the temperatures; for `LocalTempering`, means over a batch.
    score : float
        Moving average of the score per observation; NaN before the first step.
    settings : str
        Digest of the parameters of the policy.
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


class _Ladder(Tempering):
    requires = ("log_partitions",)

    def _inverse_temperatures(self):
        raise NotImplementedError

    def ladder(self) -> np.ndarray | None:
        """Return the temperatures of the ladder, shape (n_temperatures,)."""
        return 1.0 / self._inverse_temperatures()

    def probabilities(self, state) -> np.ndarray | None:
        """Return the probabilities of the `ladder`, shape (n_temperatures,)."""
        return state.probabilities

    def knows(self, state) -> bool:
        """Return whether ``state`` belongs to a policy with the same parameters."""
        return isinstance(state, LadderState) and state.settings == self._settings()

    def check_state(self, state) -> None:
        """Raise ValueError if ``state`` does not fit the ladder of the policy."""
        ladder = self._inverse_temperatures()
        parts = [state.inverse_temperatures, state.log_prior, state.probabilities]
        # log C of one observation
        parts.append(np.ravel(state.partition.of_rows(np.ones(1))))
        means = state.partition.per_observation
        parts += [] if means is None else [means]
        known = not math.isinf(state.score)
        for part in parts:
            known &= part.dtype.kind == "f" and part.shape == ladder.shape
            known = known and not (np.isnan(part) | (part == np.inf)).any()
        if not known:
            raise ValueError("the state of the tempering has no ladder of temperatures")

    def _settings(self):
        """Return a digest of the parameters on which a state depends."""
        b = self._inverse_temperatures()
        return joblib.hash(
            (b, self._log_prior(b), self.partition_priors, self.n_samples)
        )

    def initial_state(self, model, hyper, random) -> Any:
        """Return a state with the ladder, its normalisers and prior probabilities."""
        b = self._inverse_temperatures()
        log_prior = self._log_prior(b)
        priors = self.partition_priors
        if isinstance(priors, str):  # "auto"
            priors = self._auto_priors
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
            prior = _discretised(self.temperature_prior, inverse_temperatures)
        else:
            prior = _checked_prior(self.temperature_prior, n_temperatures)
        with np.errstate(divide="ignore"):
            return np.log(prior / prior.sum())


def _checked_prior(prior, n_temperatures):
    prior = check_array(
        prior,
        ensure_2d=False,
        dtype=np.float64,
        ensure_non_negative=True,
        input_name="temperature_prior",
    )
    if prior.shape != (n_temperatures,) or not prior.sum() > 0:
        raise ValueError(
            f"temperature_prior must be {n_temperatures} weights, one for each "
            f"temperature, not all 0; it has shape {prior.shape}."
        )
    return prior


def _discretised(distribution, inverse_temperatures):
    """Return the mass of a distribution on (0, 1] near each point of a ladder.

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

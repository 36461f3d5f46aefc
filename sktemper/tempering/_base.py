"""Base of the tempering policies, and training without tempering."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._utils._policy import Policy
from ..model import ConjugateModel, LocalStep, Powers, Request
from ..schedules import Clock, Plan, Schedule


class Tempering(Policy):
    """Base of the tempering policies.

    A subclass defines `temperature`, `powers` and `is_settled`.  Values that a policy
    learns are kept in a state.  The state is passed to the methods, and `next_state`
    returns the state after a step.
    """

    #: Whether the temperature is meant to fall to 1.  If so, a `fit` that ends with a
    #: higher temperature warns.
    cools = True
    #: Whether each sample has a temperature of its own, see `sample_temperatures`.
    per_sample = False
    _want = ("statistics", "bound")

    @property
    def has_critical_temperatures(self) -> bool:
        """Whether the critical temperatures of a model matter to this policy."""
        return self.cools

    def resolved(self, plan: Plan) -> Tempering:
        """Return the policy with each "auto" replaced by a value for the `Plan`."""
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


class Untempered(Tempering):
    """Plain variational inference at the temperature 1 (``tempering=None``)."""

    cools = False

    def temperature(self, state, clock) -> float:
        """Return 1."""
        return 1.0

    def powers(self, state, clock) -> Powers:
        """Return powers of 1."""
        return Powers()

    def is_settled(self, state, clock) -> bool:
        """Return True."""
        return True

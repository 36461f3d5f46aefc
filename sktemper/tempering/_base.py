"""What a tempering policy is; and none."""

from .._policy import Policy
from ..model import Powers

__all__ = ["Tempering", "Untempered"]


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

    @property
    def has_critical_temperatures(self):
        """Whether the critical temperatures of a model matter to this policy."""
        return self.cools

    def resolved(self, plan):
        """Return a policy with ``"auto"`` replaced by what suits the `Plan`."""
        return self

    def schedule_of_temperatures(self):
        """Return the schedule that the temperature follows at most; None if none."""
        return None

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

    def local_step(self, model, block, prepared, request, state):
        """Run a block's local step; may run it several times.  A pure function.

        What is wanted is the policy's to say: ``request.want`` does not matter.
        """
        request = request._replace(want=self._wanted(model))
        return model.local_step(block, prepared, request)

    def _wanted(self, model):
        return (*self._want, "local") if model.keeps_local else self._want

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

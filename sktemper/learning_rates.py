"""Learning rates: how far a step goes toward its target."""

from numbers import Integral, Real
from typing import Any, NamedTuple

from sklearn.utils._param_validation import Interval, StrOptions

from .policy import Policy, refuse

__all__ = ["AdaptiveRate", "ConstantRate", "LearningRate", "RobbinsMonro"]


class LearningRate(Policy):
    """Base of the learning rates.

    A rate in [0, 1] is the weight of a step's target: 1 forgets all that was learned
    before, 0 only looks.
    """

    def initial_state(self):
        """Return what the policy remembers between steps (a picklable value)."""
        return None

    def next_rate(self, state, clock, gradient):
        """Return the rate of the next step, and the state after it.

        Parameters
        ----------
        state : object
            As returned by `initial_state` and by the last call.
        clock : Clock
            Steps completed.
        gradient : callable
            Returns the natural gradient and its Fisher product, two dense vectors.
            Costs time: call it only if needed.
        """
        raise NotImplementedError


class RobbinsMonro(LearningRate):
    r"""A rate that falls by a power law.

    .. math:: \rho_t = (offset + t)^{-decay}, \quad t = 1, 2, \dots

    Parameters
    ----------
    offset : float, default=5.0
        Slows the first steps down.  It trades against the batch size: 5 to 10 suit
        batches of tens of thousands of tokens, as ``batch_size="auto"`` makes them;
        64 suits many small batches.  The 1024 of the papers is for millions of
        documents: on thousands it leaves much of the random start in the model, and
        `fit` warns of that.
    decay : float in [0.5, 1], default=0.7
        Stochastic steps converge for these values (Robbins and Monro 1951).

    Examples
    --------
    >>> from sktemper.learning_rates import RobbinsMonro
    >>> rate = RobbinsMonro(offset=10, decay=0.7)
    >>> [round(rate(t), 4) for t in (1, 10, 100)]
    [0.1866, 0.1228, 0.0372]
    """

    _parameter_constraints = {
        "offset": [Interval(Real, 0, None, closed="left")],
        "decay": [Interval(Real, 0.5, 1, closed="both")],
    }

    def __init__(self, offset=5.0, decay=0.7):
        self.offset = offset
        self.decay = decay

    def __call__(self, t):
        """Return the rate of step ``t >= 1``."""
        return (self.offset + t) ** -self.decay

    def next_rate(self, state, clock, gradient):
        """Return the rate of the next step, and the state after it."""
        return self(clock.steps + 1), state


class ConstantRate(LearningRate):
    """The same rate at every step: follows data that drift.

    Parameters
    ----------
    rate : float in (0, 1], default=0.05
        The model is an average over about the last ``1 / rate`` steps.  With all data
        in one batch, 1 is coordinate ascent.

    Examples
    --------
    >>> from sktemper.learning_rates import ConstantRate
    >>> ConstantRate(0.1)
    ConstantRate(rate=0.1)
    """

    _parameter_constraints = {"rate": [Interval(Real, 0, 1, closed="right")]}

    def __init__(self, rate=0.05):
        self.rate = rate

    def next_rate(self, state, clock, gradient):
        """Return the rate of the next step, and the state after it."""
        return float(self.rate), state


class GradientMoments(NamedTuple):
    """Moving averages of the gradient g, of h = F g, and of g h.

    Attributes
    ----------
    window : float
        Over how many steps; 0 before the first.
    gradient, product : ndarray or float
    square : float
    """

    window: float = 0.0
    gradient: Any = 0.0
    product: Any = 0.0
    square: float = 0.0

    def updated(self, gradient, product, weight):
        """Return the averages with a new gradient of this weight."""
        keep = 1.0 - weight
        return GradientMoments(
            self.window,
            keep * self.gradient + weight * gradient,
            keep * self.product + weight * product,
            keep * self.square + weight * float(gradient @ product),
        )


class AdaptiveRate(LearningRate):
    r"""The rate that minimises the expected distance to the batch's optimum [1]_.

    .. math:: \rho = \bar g \cdot \bar h / \bar q, \quad h = F g, \quad
        q = g \cdot h

    with moving averages of the natural gradient g = target - parameters over a window
    that shrinks after large steps: signal over signal and noise.

    Parameters
    ----------
    metric : {"fisher", "identity"}, default="fisher"
        F: the Fisher information of the variational distribution, or 1 (equation 6 of
        [1]_).
    max_rate : float in (0, 1], default=0.5
        Rates near 1 in the first steps throw away what annealing gains.
    n_warmup_batches : int, default=10
        Steps of rate 0 that gather the averages at the start.

    References
    ----------
    .. [1] R. Ranganath, C. Wang, D. Blei, E. Xing, "An adaptive learning rate for
       stochastic variational inference", ICML 2013.

    Examples
    --------
    >>> from sktemper.learning_rates import AdaptiveRate
    >>> AdaptiveRate(metric="identity")
    AdaptiveRate(metric='identity')
    """

    _parameter_constraints = {
        "metric": [StrOptions({"fisher", "identity"})],
        "max_rate": [Interval(Real, 0, 1, closed="right")],
        "n_warmup_batches": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, metric="fisher", max_rate=0.5, n_warmup_batches=10):
        self.metric = metric
        self.max_rate = max_rate
        self.n_warmup_batches = n_warmup_batches

    def knows(self, state):
        """Return whether ``state`` is one of this policy's."""
        return isinstance(state, GradientMoments)

    def initial_state(self):
        """Return averages of nothing."""
        return GradientMoments()

    def next_rate(self, state, clock, gradient):
        """Return the rate of the next step, and the state after it."""
        g, h = gradient()
        if self.metric == "identity":
            h = g
        if state.window < self.n_warmup_batches:
            window = state.window + 1.0
            moments = state.updated(g, h, 1.0 / window)
            return 0.0, moments._replace(window=window)
        moments = state.updated(g, h, 1.0 / state.window)
        signal = float(moments.gradient @ moments.product)
        if signal <= 0:  # nothing but noise: forget it
            moments = GradientMoments(state.window).updated(g, h, 1.0)
            rate = min(1.0 / state.window, self.max_rate)
        else:
            rate = min(signal / moments.square, self.max_rate)
        return rate, moments._replace(window=state.window * (1.0 - rate) + 1.0)


def as_learning_rate(value, default):
    """Return the learning rate that ``value`` stands for.

    Parameters
    ----------
    value : LearningRate, float or None
        A number is a `ConstantRate`, None the ``default``.
    default : LearningRate

    Raises
    ------
    sklearn.utils._param_validation.InvalidParameterError
        For anything else.
    """
    if value is None:
        return default
    if isinstance(value, LearningRate):
        return value
    if isinstance(value, Real) and not isinstance(value, bool):
        return ConstantRate(value)
    refuse(
        "learning_rate",
        "a learning rate (see sktemper.learning_rates), a float in (0, 1] or None",
        value,
    )

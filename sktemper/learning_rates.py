"""Learning rates: how far a step goes toward its target."""

from numbers import Integral, Real
from typing import Any, NamedTuple

from sklearn.utils._param_validation import StrOptions

from ._arguments import Interval, is_number, refuse
from ._policy import Policy

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
    r"""A learning rate that falls as a power of the number of steps.

    .. math:: \rho_t = (offset + t)^{-decay}, \quad t = 1, 2, \dots

    Parameters
    ----------
    offset : float, default=10.0
        Slows the first steps down.  It trades against the batch size: 5 to 10 suit
        batches of tens of thousands of tokens, as ``batch_size="auto"`` makes them;
        64 suits many small batches.  The 1024 of the papers is for millions of
        documents: on thousands it leaves much of the random start in the model, and
        `fit` warns of that.
    decay : float in [0.5, 1], default=0.6
        Stochastic steps converge for these values (Robbins and Monro 1951).

    Examples
    --------
    >>> from sktemper.learning_rates import RobbinsMonro
    >>> rate = RobbinsMonro(offset=10, decay=0.6)
    >>> [round(rate(t), 4) for t in (1, 10, 100)]
    [0.2372, 0.1657, 0.0596]
    """

    _parameter_constraints = {
        "offset": [Interval(Real, 0, None, closed="left")],
        "decay": [Interval(Real, 0.5, 1, closed="both")],
    }

    def __init__(self, offset=10.0, decay=0.6):
        self.offset = offset
        self.decay = decay

    def __call__(self, t):
        """Return the rate of step ``t >= 1``."""
        return (self.offset + t) ** -self.decay

    def next_rate(self, state, clock, gradient):
        """Return the rate of the next step, and the state after it."""
        return self(clock.steps + 1), state


class ConstantRate(LearningRate):
    """The same learning rate at every step, for data that drift.

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
    metric : str
        Of h.
    steps : int
        Gradients seen.
    window : float
        Over how many steps; 0 before the first.
    gradient, product : ndarray or float
    square : float
    noise_share : float
        The sum of the squared weights of the gradients: how much of one gradient's
        noise their average still has.
    first_rate : float
        The rate that the warm-up asked for.
    """

    metric: str = "fisher"
    steps: int = 0
    window: float = 0.0
    gradient: Any = 0.0
    product: Any = 0.0
    square: float = 0.0
    noise_share: float = 0.0
    first_rate: float = 0.0

    def updated(self, gradient, product, weight):
        """Return the averages with a new gradient of this weight."""
        keep = 1.0 - weight
        return self._replace(
            steps=self.steps + 1,
            gradient=keep * self.gradient + weight * gradient,
            product=keep * self.product + weight * product,
            square=keep * self.square + weight * float(gradient @ product),
            noise_share=keep**2 * self.noise_share + weight**2,
        )

    def rate(self):
        """Return signal over signal and noise, 0 where there is no signal."""
        signal = float(self.gradient @ self.product) - self.noise_share * self.square
        if signal <= 0:
            return 0.0
        return min(signal / ((1.0 - self.noise_share) * self.square), 1.0)


class AdaptiveRate(LearningRate):
    r"""A learning rate that is estimated from the noise of the gradients [1]_.

    .. math:: \rho = \frac{\bar g \cdot \bar h - c \bar q}{(1 - c) \bar q}, \quad
        h = F g, \quad q = g \cdot h

    with moving averages of the natural gradient g = target - parameters over a window
    that shrinks after large steps: signal over signal and noise.

    Parameters
    ----------
    metric : {"fisher", "identity"}, default="fisher"
        F: the Fisher information of the variational distribution, or 1 (equation 14 of
        [1]_).
    max_rate : float in (0, 1], default=0.25
        No rate is larger than this share of the one that the warm-up asked for.
    n_warmup_batches : int >= 2, default=10
        Steps of rate 0 that gather the averages at the start; the window does not
        become shorter than this.

    Notes
    -----
    What differs from [1]_:

    - Equation 21 has c = 0.  But the average of n gradients keeps 1 / n of their noise,
      which equation 21 takes for signal.  Here c, the sum of the squared weights of the
      average, takes that share out.  At fixed parameters, as in the warm-up, this has
      no bias.  Later it is too low, as the noise of earlier gradients is in the
      parameters too: on a quadratic about 0.6 times the optimal rate, where equation 21
      has about 1.2 times.
    - Equation 22 lets the window shrink to one step, where all noise is signal and the
      rate stays 1.
    - [1]_ starts its averages anew where the signal is negative.  With the noise taken
      out that is common near an optimum, and means a rate of 0 until there is a signal.
    - Equation 17 drops what it cannot know: that the batch's optimum moves as the
      parameters do.  At the start, where it moves most, the rate is far too large and
      what the first batches hold decides on the optimum reached.  So rates are bounded
      by ``max_rate`` times that of the warm-up, which is small where batches are noisy.
      A warm-up without any signal counts as a rate of ``1 / n_warmup_batches``.

    Held-out scores are not always those of a rate tuned by hand: on two corpora from
    .03 nats per token better to .07 worse than the best of 23 rates, worst when short
    documents are annealed (``benchmarks/adaptive_rates.py``).

    Each step computes a dense gradient and its Fisher product: many small steps take
    many times as long as with `RobbinsMonro`.

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

    requires = ("dense_vectors", "fisher_products")
    _parameter_constraints = {
        "metric": [StrOptions({"fisher", "identity"})],
        "max_rate": [Interval(Real, 0, 1, closed="right")],
        "n_warmup_batches": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(self, metric="fisher", max_rate=0.25, n_warmup_batches=10):
        self.metric = metric
        self.max_rate = max_rate
        self.n_warmup_batches = n_warmup_batches

    def knows(self, state):
        """Return whether ``state`` is one of this policy's, of the same metric."""
        return isinstance(state, GradientMoments) and state.metric == self.metric

    def initial_state(self):
        """Return averages of nothing."""
        return GradientMoments(self.metric)

    def next_rate(self, state, clock, gradient):
        """Return the rate of the next step, and the state after it."""
        g, h = gradient()
        if self.metric == "identity":
            h = g
        if state.steps < self.n_warmup_batches:
            return 0.0, self._warmed_up(state, g, h)
        moments = state.updated(g, h, 1.0 / state.window)
        rate = min(moments.rate(), self.max_rate * state.first_rate)
        window = max(state.window * (1.0 - rate) + 1.0, float(self.n_warmup_batches))
        return rate, moments._replace(window=window)

    def _warmed_up(self, state, g, h):
        """Return plain averages, and at the end of the warm-up its rate."""
        window = state.steps + 1.0
        moments = state.updated(g, h, 1.0 / window)._replace(window=window)
        if moments.steps < self.n_warmup_batches:
            return moments
        return moments._replace(first_rate=moments.rate() or 1.0 / window)


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
    if is_number(value):
        return ConstantRate(value)
    refuse(
        "learning_rate",
        "a learning rate (see sktemper.learning_rates), a float in (0, 1] or None",
        value,
    )

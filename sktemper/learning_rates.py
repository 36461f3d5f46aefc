"""Learning rates: the weight of the target in each step of the parameters."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from ._utils._arguments import half_life_of, is_number, refuse
from ._utils._constraints import NOT_NEGATIVE, Interval, StrOptions, WholeNumber
from ._utils._policy import Policy, Slot, as_policy
from ._utils._typing import Duration, Float, Int
from .schedules import Clock

__all__ = [
    "AdaptiveRate",
    "ConstantRate",
    "HalfLife",
    "LearningRate",
    "PrintedAdaptiveRate",
    "RobbinsMonro",
    "TemperedRate",
]


class LearningRate(Policy):
    """Base of the learning rates.

    A rate in [0, 1] is the weight of the target of a step.  A step of rate 1 replaces
    the parameters by the target, and a step of rate 0 leaves them unchanged.

    Examples
    --------
    A rate of your own:

    >>> from sktemper import TemperedLDA
    >>> from sktemper.datasets import make_lda_documents
    >>> from sktemper.learning_rates import LearningRate
    >>> class Harmonic(LearningRate):
    ...     def next_rate(self, state, clock, gradient):
    ...         return 1.0 / (1.0 + clock.steps), state
    >>> X = make_lda_documents(200, 100, 5, random_state=0)
    >>> lda = TemperedLDA(5, learning_rate=Harmonic(), random_state=0).fit(X)
    >>> lda.history_["learning_rate"][:2].tolist()
    [1.0, 0.5]
    """

    #: Whether the weight of old data decays, see `HalfLife`.
    forgets = False

    @property
    def _is_one(self):
        """Whether the rate of all steps is 1."""
        return type(self) is ConstantRate and self.rate == 1

    def initial_state(self) -> Any:
        """Return the initial state, a picklable value that is kept between steps."""
        return None

    def next_rate(
        self, state: Any, clock: Clock, gradient: Callable
    ) -> tuple[float, Any]:
        """Return the rate of the next step, and the state after it.

        Parameters
        ----------
        state : object
            As returned by `initial_state` and by the last call.
        clock : Clock
            Number of completed steps.
        gradient : callable
            ``gradient()`` returns the natural gradient and its Fisher product, two
            dense vectors.  The call takes time, so it should be made only if needed.
        """
        raise NotImplementedError

    def scaled(self, rate: float, powers: Callable) -> float:
        """Return the rate of a step with tempered powers; by default ``rate``.

        Parameters
        ----------
        rate : float
            Result of `next_rate`.
        powers : callable
            ``powers()`` returns the `sktemper.model.Powers` of the step.
        """
        return rate


@dataclass(eq=False, repr=False)
class RobbinsMonro(LearningRate):
    r"""A learning rate that falls as a power of the number of steps.

    .. math:: \rho_t = (offset + t)^{-decay}, \quad t = 1, 2, \dots

    Parameters
    ----------
    offset : float, default=10.0
        Reduces the rates of the first steps: 5 to 10 for large batches, such as those
        of ``batch_size="auto"``, 64 for many small ones.  The 1024 of the papers is for
        millions of documents; with few, the start remains, and `fit` warns.
    decay : float in [0.5, 1], default=0.6
        Exponent; smaller for larger late steps.  Steps converge for these values.

    Examples
    --------
    >>> from sktemper.learning_rates import RobbinsMonro
    >>> rate = RobbinsMonro(offset=10, decay=0.6)
    >>> [round(rate(t), 4) for t in (1, 10, 100)]
    [0.2372, 0.1657, 0.0596]
    """

    _parameter_constraints = {
        "offset": [NOT_NEGATIVE],
        "decay": [Interval(Real, 0.5, 1, closed="both")],
    }

    offset: Float = 10.0
    decay: Float = 0.6

    def __call__(self, t) -> float:
        """Return the rate of step ``t >= 1``."""
        return (self.offset + t) ** -self.decay

    def next_rate(self, state, clock, gradient) -> tuple[float, Any]:
        return self(clock.steps + 1), state


class Population(NamedTuple):
    """Decayed number of rows, the state of `HalfLife` between steps."""

    # n, the sum of the weights of all rows, halved with each half-life
    size: float = 0.0
    # sum of the weights of the rows of the next step, in `size` too
    weight: float = 0.0
    # weight of each row of a fit before the stream, until its statistics have it
    share: float = 1.0

    def with_rows(self, weight, half_lives):
        """Return the population after more rows, and time in half-lives."""
        return Population(self.size * 2.0**-half_lives + weight, weight)

    @classmethod
    def after_fit(cls, total, rate):
        """Return the population as if the rows had been a stream, in random order."""
        if not isinstance(unit := rate.unit(), float):  # the rows have no times
            return cls(total)
        exponent = math.log(2.0) * total / unit
        share = -math.expm1(-exponent) / exponent
        return cls(share * total, share=share)


@dataclass(eq=False, repr=False)
class HalfLife(LearningRate):
    r"""Learning rate under which the weight of old rows decays exponentially.

    .. math:: n \leftarrow 2^{-S / H} n + S, \quad \rho = S / n, \quad
        \hat\lambda = \lambda_0 + (n / S) \sum_i E[t_i]

    S is the number of rows of a step, n the sum of the decayed weights of all rows so
    far, rho the learning rate, and lambda-hat the target, computed from the prior
    lambda_0 and the expected statistics E[t_i] (compare the population posterior of
    [1]_).  Only `partial_fit` uses it.  An estimator with ``half_life=H`` has it.

    A row that was learned a rows ago, when the sum was m, has the weight
    :math:`2^{-a / H} m / n`.  Once n is constant, after two or three half-lives, H rows
    halve a weight, and the result is the posterior given n rows.  Before, earlier rows
    count less, because they were learned with worse parameters: in a stream much
    shorter than H, weights rise linearly, and their sum is half of the number of rows.

    The rows of a fit before the stream have equal weights, with the sum that they would
    have as a stream, at most H / log(2).  If H is a duration, their weights are 1.

    Parameters
    ----------
    samples : float or duration, default=10000
        H: number of rows after which the weight of an earlier row is one half; smaller
        for data that change faster.  A duration, such as "30D" or a
        `datetime.timedelta`, counts time instead, and `partial_fit` needs ``times``.

    References
    ----------
    .. [1] J. McInerney, R. Ranganath, D. Blei, "The population posterior and Bayesian
       modeling on streams", NIPS 2015.

    Examples
    --------
    >>> from sktemper.learning_rates import HalfLife
    >>> HalfLife(20_000)
    HalfLife(samples=20000)
    """

    forgets = True

    samples: Float | Duration = 10_000

    def validate(self) -> Self:
        self.unit()
        return self

    def unit(self) -> float | np.timedelta64:
        """Return the half-life, a float number of rows or a `numpy.timedelta64`.

        Raises
        ------
        sklearn.utils._param_validation.InvalidParameterError
            If it is neither a positive number nor a positive duration.
        """
        return half_life_of(self.samples)

    def knows(self, state) -> bool:
        return isinstance(state, Population)

    def initial_state(self) -> Any:
        return Population()

    def next_rate(self, state, clock, gradient) -> tuple[float, Any]:
        """Return the share of the step's rows in the population, and the state."""
        return (state.weight / state.size if state.size > 0 else 0.0), state


@dataclass(eq=False, repr=False)
class ConstantRate(LearningRate):
    """The same learning rate at every step.

    Parameters
    ----------
    rate : float in (0, 1], default=0.05
        The model is an average over about the last ``1 / rate`` steps; larger to follow
        data that change.  With all data in one batch, 1 is coordinate ascent.

    Examples
    --------
    >>> from sktemper.learning_rates import ConstantRate
    >>> ConstantRate(0.1)
    ConstantRate(rate=0.1)
    """

    _parameter_constraints = {"rate": [Interval(Real, 0, 1, closed="right")]}

    rate: Float = 0.05

    def next_rate(self, state, clock, gradient) -> tuple[float, Any]:
        return float(self.rate), state


class GradientMoments(NamedTuple):
    """Moving averages of the gradient g, of h = F g, and of the product g h."""

    metric: str = "fisher"  # F
    steps: int = 0  # number of gradients so far
    window: float = 0.0  # number of steps in the averages; 0 before the first
    gradient: Any = 0.0
    product: Any = 0.0
    square: float = 0.0
    # Sum of the squared weights of the gradients: the share of the noise of one
    # gradient that their average still has.
    noise_share: float = 0.0
    first_rate: float = 0.0  # at the end of the warm-up

    def updated(self, gradient, product, weight):
        keep = 1.0 - weight
        return self._replace(
            steps=self.steps + 1,
            gradient=keep * self.gradient + weight * gradient,
            product=keep * self.product + weight * product,
            square=keep * self.square + weight * float(gradient @ product),
            noise_share=keep**2 * self.noise_share + weight**2,
        )

    def rate(self):
        """Return the share of the signal in signal plus noise, 0 without signal."""
        signal = float(self.gradient @ self.product) - self.noise_share * self.square
        if signal <= 0:
            return 0.0
        return min(signal / ((1.0 - self.noise_share) * self.square), 1.0)


class _AdaptiveRate(LearningRate):
    """Base of the rates that depend on moving averages of the gradients."""

    requires = ("dense_vectors", "fisher_products")
    _parameter_constraints = {
        "metric": [StrOptions({"fisher", "identity"})],
        "n_warmup_batches": [WholeNumber(2)],
    }

    def knows(self, state) -> bool:
        """Return whether ``state`` belongs to a policy with the same metric."""
        return isinstance(state, GradientMoments) and state.metric == self.metric

    def initial_state(self) -> Any:
        return GradientMoments(self.metric)

    def next_rate(self, state, clock, gradient) -> tuple[float, Any]:
        """Return 0 and plain averages in the warm-up, and else those of `_after`."""
        g, h = gradient()
        h = g if self.metric == "identity" else h
        if state.steps >= self.n_warmup_batches:
            return self._after(state, state.updated(g, h, 1.0 / state.window), g, h)
        window = state.steps + 1.0
        moments = state.updated(g, h, 1.0 / window)
        first_rate = moments.rate() or 1.0 / window
        return 0.0, moments._replace(window=window, first_rate=first_rate)


@dataclass(eq=False, repr=False)
class AdaptiveRate(_AdaptiveRate):
    r"""A learning rate that is estimated from the noise of the gradients [1]_.

    .. math:: \rho = \frac{\bar g \cdot \bar h - c \bar q}{(1 - c) \bar q}, \quad
        h = F g, \quad q = g \cdot h

    This is the share of the signal in signal plus noise.  The bars are moving averages
    of the natural gradient g = target - parameters and of its products, over a window
    that shrinks after large steps.  The constant c removes the noise of the averages.

    Parameters
    ----------
    metric : {"fisher", "identity"}, default="fisher"
        F: the Fisher information of the variational distribution, or 1 ("identity"),
        which takes less time; see "Choosing F" in [1]_.
    max_rate : float in (0, 1], default=0.25
        Upper limit of the rates, relative to the rate at the end of the warm-up;
        smaller if the first batches determine the optimum.
    n_warmup_batches : int >= 2, default=10
        Number of steps of rate 0 at the start, which initialise the averages, and least
        length of their window; more for small batches.

    Notes
    -----
    It differs from [1]_ by c, by the least length of the window, by a rate of 0 without
    a signal, and by ``max_rate``; the page "Temperatures" has the reasons.

    On two corpora, held-out scores were between .03 nats per token better and .07 worse
    than with the best of 23 fixed schedules (``benchmarks/results/adaptive_rates.md``).
    Each step computes a dense gradient and its Fisher product, so that many small steps
    take many times as long as with `RobbinsMonro`.

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
        **_AdaptiveRate._parameter_constraints,
        "max_rate": [Interval(Real, 0, 1, closed="right")],
    }

    metric: Literal["fisher", "identity"] = "fisher"
    max_rate: Float = 0.25
    n_warmup_batches: Int = 10

    def _after(self, state, moments, g, h):
        rate = min(moments.rate(), self.max_rate * state.first_rate)
        window = max(state.window * (1.0 - rate) + 1.0, float(self.n_warmup_batches))
        return rate, moments._replace(window=window)


@dataclass(eq=False, repr=False)
class PrintedAdaptiveRate(_AdaptiveRate):
    r"""The adaptive rate exactly as its paper prints it [1]_, equations 17 to 22.

    .. math:: \rho = \bar g \cdot \bar h / \bar q, \quad
        \tau \leftarrow \tau (1 - \rho) + 1

    Use it to reproduce the paper, and `AdaptiveRate` otherwise.  The averages keep the
    noise of single gradients, which counts as signal.  If the window reaches 1, the
    rate stays 1.  The paper does not print the number of batches of the warm-up.  On
    8,000 texts in batches of 64, held-out scores were .10 nats per token below the best
    fixed rate with the best number, 50 to 150, and .13 to .26 with 10.

    Parameters
    ----------
    metric : {"fisher", "identity"}, default="fisher"
        F in h = F g: the Fisher information, or 1, which takes less time.
    n_warmup_batches : int >= 2, default=10
        Number of gradients at the start that initialise the averages and the window.

    Notes
    -----
    If g . h of the averages is negative, the averages of g and h restart from the last
    gradient, but that of q does not, as printed.  The rate could then exceed 1, where
    steps leave the domain; it is limited to 1.

    References
    ----------
    .. [1] R. Ranganath, C. Wang, D. Blei, E. Xing, "An adaptive learning rate for
       stochastic variational inference", ICML 2013.

    Examples
    --------
    >>> from sktemper.learning_rates import PrintedAdaptiveRate
    >>> PrintedAdaptiveRate(metric="identity")
    PrintedAdaptiveRate(metric='identity')
    """

    metric: Literal["fisher", "identity"] = "fisher"
    n_warmup_batches: Int = 10

    def _after(self, state, moments, g, h):
        if moments.gradient @ moments.product < 0:
            moments = moments._replace(gradient=g, product=h)
        signal = float(moments.gradient @ moments.product)
        rate = min(signal / moments.square, 1.0) if moments.square > 0 else 0.0
        return rate, moments._replace(window=moments.window * (1.0 - rate) + 1.0)


@dataclass(eq=False, repr=False)
class TemperedRate(LearningRate):
    r"""Another learning rate times the temperature: the step of DASVI [1]_.

    .. math:: \lambda \leftarrow (1 - \rho T) \lambda + \rho T \hat\lambda

    This is equation 18 of [1]_, because the natural gradient of the tempered bound is T
    times (target - parameters).  Only ``Annealing(target="posterior")`` has this
    factor.  With other targets, the natural gradient has no T, and rates are unchanged.

    Parameters
    ----------
    learning_rate : LearningRate, float or None, default=None
        The rate rho; None is ``RobbinsMonro()``.  A fit whose rate times T would exceed
        1, where steps leave the domain, is refused before its first step.

    Notes
    -----
    The factor makes early steps larger, so that annealing within a tenth of a pass
    suffices, and longer annealing gains less: with 20,000 package descriptions, +.086
    nats per token after .1 pass and -.059 after 2 passes, where ``rho`` alone gains
    most (+.089) after half a pass (``python benchmarks/papers 000.fig4``).

    References
    ----------
    .. [1] F. Abrol, S. Mandt, R. Ranganath, D. Blei, "Deterministic annealing for
       stochastic variational inference", 2014.

    Examples
    --------
    >>> from sktemper.learning_rates import RobbinsMonro, TemperedRate
    >>> from sktemper.model import Powers
    >>> rate = TemperedRate(RobbinsMonro(offset=64, decay=0.7))
    >>> rate.scaled(0.05, lambda: Powers(0.5, 0.5, 0.5))  # T = 2
    0.1
    """

    _slots = {"learning_rate": Slot(lambda value: _inner_rate(value))}

    learning_rate: LearningRate | Float | None = None

    @property
    def requires(self) -> tuple[str, ...]:
        return _inner_rate(self.learning_rate).requires

    def knows(self, state) -> bool:
        return _inner_rate(self.learning_rate).knows(state)

    def initial_state(self) -> Any:
        return _inner_rate(self.learning_rate).initial_state()

    def next_rate(self, state, clock, gradient) -> tuple[float, Any]:
        return _inner_rate(self.learning_rate).next_rate(state, clock, gradient)

    def scaled(self, rate, powers) -> float:
        """Return ``rate`` times the temperature of the prior.

        Raises
        ------
        ValueError
            If the product exceeds 1.
        """
        prior = powers().prior
        if rate > prior:
            inner = _inner_rate(self.learning_rate)
            given = ", ".join(f"{k}={v}" for k, v in inner.get_params().items())
            raise ValueError(
                f"TemperedRate multiplies the rate {rate:.3g} of "
                f"{type(inner).__name__}({given}) by T={1 / prior:.3g}. The "
                "product exceeds 1, so that the step would leave the domain of the "
                "parameters: raise the offset of the learning rate, or start the "
                "schedule at a lower temperature."
            )
        return rate / prior


def _inner_rate(value):
    rate = as_learning_rate(value, RobbinsMonro())
    if rate.forgets:
        expected = "a learning rate for a fit, which does not forget"
        refuse("learning_rate", expected, value)
    return rate


def as_learning_rate(value, default):
    """Return the learning rate that ``value`` stands for.

    A number stands for a `ConstantRate`, and None for ``default``.
    """
    if value is None:
        return default
    if is_number(value):
        return ConstantRate(value)
    expected = (
        "a learning rate (see sktemper.learning_rates), a float in (0, 1] or None"
    )
    return as_policy(value, LearningRate, {}, "learning_rate", expected)

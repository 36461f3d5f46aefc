"""Log partition function of rows of several kinds of values."""

import numpy as np
from scipy.special import digamma, gammaln, logsumexp, xlogy

from .._arguments import concentrations_of
from .._expfam import MixturePartition
from .._expfam._dirichlet import log_draws

__all__ = ["draw_partition"]

LOG_2_PI = np.log(2.0 * np.pi)
#: Rate above which a Poisson distribution is treated as a normal distribution.
LARGE_RATE = 100.0
#: Logarithm below which terms are negligible.
VANISHED = -40.0
#: Numbers of Poisson probabilities that are summed, at least and at most.  The
#: probabilities of larger counts are integrated.
LEAST_SUMMED, MOST_SUMMED = 64, 1024
#: Step of the trapezoidal rule.
STEP = 0.1


def draw_partition(model, inverse_temperatures, hyper, random, priors, n_samples):
    r"""Return a `MixturePartition`, see `ConjugateModel.log_partition`.

    The log C of a value depends on its column.  The log C of a row is estimated by the
    number of its values times the mean log C over all columns.

    Parameters
    ----------
    model : MixedMixtureModel
    inverse_temperatures : ndarray of shape (n_temperatures,)
    hyper : MixtureHyper
    random : numpy.random.Generator
    priors : pair of float, str or None
        Concentrations of weights and of options.  None, "global" and "local" use the
        priors of the model.
    n_samples : int
        Number of mixtures that are drawn.

    Returns
    -------
    partition : MixturePartition
    """
    family, concentration = model.family, hyper.weight_concentration
    options, counts, normals = family.of_kinds(hyper.component[None])
    if priors is not None and not isinstance(priors, str):
        concentration, of_options = concentrations_of(priors, "options")
        options = np.full_like(options, of_options - 1.0)
    b, n_draws = np.asarray(inverse_temperatures), n_samples * model.n_components
    log_weights = np.stack(
        [model.weights.log_draws(concentration, random) for _ in range(n_samples)]
    )
    total = np.zeros((n_draws, len(b)))
    ends = np.cumsum(family.sizes)
    for end, size in zip(ends, family.sizes, strict=True):
        own = options[0, end - size : end] + 1.0
        logs = log_draws(np.broadcast_to(own, (n_draws, size)), random)
        total += logsumexp(b[:, None] * logs[:, None], axis=-1)
    if len(family.counts):
        shapes, rates = np.split(counts[0], 2)
        for shape, rate in zip(shapes + 1.0, rates, strict=True):
            total += _of_counts(random.gamma(shape, 1.0 / rate, n_draws), b)
    if len(family.normals):
        _, _, shapes, rates = family.parts[-1].usual(normals)
        for shape, rate, scale in zip(shapes[0], rates[0], family.scale, strict=True):
            tau = random.gamma(shape, 1.0 / rate, n_draws)
            total += _of_normals(np.log(tau) - 2.0 * np.log(scale), b)
    means = total.reshape(n_samples, model.n_components, len(b)) / len(family.columns)
    return MixturePartition(log_weights[..., None] * b, means)


def _of_normals(log_precision, b):
    """Return the logarithms of integrals of normal densities to the power b."""
    spread = np.multiply.outer(log_precision - LOG_2_PI, 0.5 * (b - 1.0))
    return spread - 0.5 * np.log(b)


def _of_counts(rates, b):
    """Return the logarithms of sums of Poisson probabilities to the power b.

    Parameters
    ----------
    rates : ndarray of shape (n_draws,)
    b : ndarray of shape (n_temperatures,)

    Returns
    -------
    logs : ndarray of shape (n_draws, n_temperatures)
    """
    rates = np.maximum(rates, np.finfo(float).tiny)
    # for b = 1, these values and the sums below are 0
    logs = _of_normals(-np.log(rates), b)
    small = rates <= LARGE_RATE
    if small.any():
        logs[small] = _sums(rates[small], b, MOST_SUMMED)
    for m, one in enumerate(b):
        # these distributions to the power b reach down to 0, unlike normal ones
        wide = ~small & (one * rates < -VANISHED)
        if wide.any():
            logs[wide, m] = _sums(rates[wide], b[[m]], LEAST_SUMMED)[:, 0]
    return logs


def _sums(rates, b, most):
    """Return the logarithms of sums of powers: up to ``most`` terms, and the tail."""
    largest, least = float(LEAST_SUMMED), b.min()
    while largest < most and least * _log_poisson(largest, rates.max()) > VANISHED:
        largest *= 2.0
    terms = _log_poisson(np.arange(largest + 1.0), rates[:, None])
    logs = np.stack([logsumexp(one * terms, axis=1) for one in b], axis=1)
    last = terms[:, -1].max()
    for m in np.flatnonzero((b * last > VANISHED) | (largest < rates.max())):
        logs[:, m] = np.logaddexp(logs[:, m], _log_tail(largest, rates, b[m]))
    return logs


def _log_tail(start, rates, b):
    """Return the logarithms of sums of powers, over the counts above ``start``.

    The formula of Euler and Maclaurin replaces the sum by an integral and corrections
    at its lower end.  Its further terms are negligible, because powers that need a tail
    change slowly from count to count.  The integral is computed by the trapezoidal rule
    over t, with x = start + exp(t - exp(-t)).
    """
    high = np.log(max(8.0 * rates.max(), -2.0 * VANISHED / max(b, 1e-300)))
    t = np.arange(-4.0, high + STEP, STEP)
    log_steps = t - np.exp(-t) + np.log1p(np.exp(-t)) + np.log(STEP)
    logs = b * _log_poisson(start + np.exp(t - np.exp(-t)), rates[:, None])
    integral = logsumexp(logs + log_steps, axis=1)
    first = b * _log_poisson(start, rates)
    slope = b * (np.log(rates) - digamma(start + 1.0))
    return integral + np.log1p(-(0.5 + slope / 12.0) * np.exp(first - integral))


def _log_poisson(x, rate):
    """Return the log probability of a count."""
    return xlogy(x, rate) - rate - gammaln(x + 1.0)

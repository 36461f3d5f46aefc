"""Log C of samples with different numbers of observations, by Monte Carlo."""

import math

import numpy as np
from scipy.special import logsumexp

from .._arguments import concentrations_of
from .._expfam import MixturePartition
from .._expfam._dirichlet import log_draws
from .._expfam._power_sums import MOST_DRAWN, log_rising, mean_log_power_sums

__all__ = ["MixturePartition", "draw_partition"]

#: Maximum number of logarithms that one call exponentiates.
LOGS_AT_ONCE = 2**22


def draw_partition(model, inverse_temperatures, hyper, random, priors, n_samples):
    """Return a `MixturePartition`, see `ConjugateModel.log_partition`.

    If there are more components, there are fewer draws, because one draw of many
    components is as informative as many draws of few components.
    """
    concentration = hyper.weight_concentration
    prior = model.family.by_question(hyper.component[None])[0] + 1.0
    prior = prior[0] if len(prior) == 1 else prior
    if priors is not None and not isinstance(priors, str):
        concentration, feature_prior = concentrations_of(priors, "features")
        prior = np.full_like(prior, feature_prior)
    b, K = np.asarray(inverse_temperatures), model.n_components
    n_draws = min(n_samples, math.ceil(n_samples**2 / K))
    log_weights = np.stack(
        [model.weights.log_draws(concentration, random) for _ in range(n_samples)]
    )
    draw = _draws(prior, b)
    means = np.stack([[draw(random) for _ in range(K)] for _ in range(n_draws)])
    means = means[np.arange(n_samples) % n_draws]
    return MixturePartition(log_weights[..., None] * b, means)


def _draws(prior, b):
    """Return a function that draws a(b) of a component, of shape (n_temperatures,).

    If there are more than `MOST_DRAWN` words or features, the function draws only
    `MOST_DRAWN` of them and corrects for the rest, because they are exchangeable.

    Parameters
    ----------
    prior : ndarray of shape (n_words,) or (n_features, n_options)
        Concentrations of a Dirichlet distribution, or of Beta distributions.
    b : ndarray of shape (n_temperatures,)
    """
    if len(prior) <= MOST_DRAWN:
        return lambda random: _log_power_sums(log_draws(prior, random), b)

    def of_each(random, prior):
        logs = log_draws(prior, random)  # probabilities are not tiny here
        return np.array([np.log(np.exp(p * logs).sum(axis=-1)).mean() for p in b])

    n_drawn, concentration = MOST_DRAWN, prior.flat[0]
    ratio = len(prior) / n_drawn
    if prior.ndim == 1:
        drawn = np.full(n_drawn, ratio * concentration)
        factors = log_rising(concentration, b) - log_rising(drawn[0], b)
        return lambda random: of_each(random, drawn) + factors + np.log(ratio)
    exact = mean_log_power_sums(b, concentration)

    def of_features(random):
        # The deviation from the exact mean is scaled to that of a mean over all
        # features.
        deviation = of_each(random, prior[:n_drawn]) - exact
        return exact + deviation / np.sqrt(ratio)

    return of_features


def _log_power_sums(log_probabilities, b):
    """Return the mean over features of log sum_v theta_v^b, (n_temperatures,)."""
    logs = log_probabilities[..., None, :]
    n = max(1, LOGS_AT_ONCE // log_probabilities.size)
    parts = [logsumexp(b[i : i + n, None] * logs, axis=-1) for i in range(0, len(b), n)]
    sums = np.concatenate(parts, axis=-1)
    return sums.reshape(-1, len(b)).mean(axis=0)

"""The log normaliser of the tempered likelihood, by sampling."""

import math

import numpy as np
from scipy.special import logsumexp

from .._expfam import _dirichlet

__all__ = ["log_partition"]


def log_partition(inverse_temperatures, alpha, eta, random, n_samples):
    """Return log C(b) per token, see `LDAModel.log_partition`.

    Parameters
    ----------
    inverse_temperatures : ndarray of shape (n_temperatures,)
    alpha : ndarray of shape (n_topics,)
    eta : ndarray of shape (n_topics, n_features)
    random : numpy.random.Generator
    n_samples : int
    """
    n_topics = len(alpha)
    # many topics in one draw are as good as few in many
    n_topic_draws = min(n_samples, math.ceil(n_samples**2 / n_topics))
    n_theta_draws = math.ceil(n_samples / n_topic_draws)
    total = np.zeros(len(inverse_temperatures))
    theta = np.broadcast_to(alpha, (n_samples, n_topics))
    for _ in range(n_topic_draws):
        beta = _dirichlet.log_draws(eta, random)
        for _ in range(n_theta_draws):
            log_p = _log_matmul(_dirichlet.log_draws(theta, random), beta)
            for m, b in enumerate(inverse_temperatures):
                total[m] += logsumexp(b * log_p, axis=1).sum()
    return total / (n_topic_draws * n_theta_draws * n_samples)


def _log_matmul(a, b):
    """Return log(exp(a) @ exp(b))."""
    top_a, top_b = a.max(axis=1, keepdims=True), b.max(axis=0)
    with np.errstate(divide="ignore"):
        product = np.log(np.exp(a - top_a) @ np.exp(b - top_b))
    return product + top_a + top_b

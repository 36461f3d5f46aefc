"""Slow and simple reference implementations of the equations, to test the kernels.

``b`` is the inverse temperature of the likelihood, and ``p`` the power of a prior.
"""

import itertools

import numpy as np
from scipy.special import expit, gammaln, logsumexp, psi, xlogy


def lda_document(counts, log_beta, alpha, b, *, tol, max_iter, gamma=None):
    """Return gamma, phi and the iterations of one document; ``alpha`` is tempered.

    ``log_beta`` is E log beta of the document's words, of shape (n_words, n_topics).
    """
    gamma = np.ones(len(alpha)) if gamma is None else gamma
    for iteration in range(1, max_iter + 1):  # noqa: B007 (returned)
        old = gamma
        gamma = alpha + b * counts @ _phi(gamma, log_beta, b)
        if np.abs(gamma - old).mean() < tol:
            break
    return gamma, _phi(gamma, log_beta, b), iteration


def _phi(gamma, log_beta, b):
    log_theta = psi(gamma) - psi(gamma.sum())
    logits = b * (log_theta + log_beta)
    phi = np.exp(logits - logits.max(axis=1, keepdims=True))
    return phi / phi.sum(axis=1, keepdims=True)


def lda_local_step(X, topic_word, alpha, *, prior, statistics, local, **stop):
    """Return gamma, statistics of shape (V, K), bounds and iterations of all rows.

    ``topic_word`` has the shape (V, K).
    """
    n, (V, K) = X.shape[0], topic_word.shape
    log_beta = psi(topic_word) - psi(topic_word.sum(axis=0))
    tempered = 1 + prior * (alpha - 1)
    local, statistics = np.broadcast_to(local, n), np.broadcast_to(statistics, n)
    gammas, sums, bounds = np.empty((n, K)), np.zeros((V, K)), np.empty(n)
    iterations = 0
    for d in range(n):
        words = np.flatnonzero(X[d])
        counts = X[d, words].astype(float)
        gamma, phi, used = lda_document(
            counts, log_beta[words], tempered, local[d], **stop
        )
        gammas[d] = gamma
        iterations += used
        sums[words] += statistics[d] * counts[:, None] * phi
        bounds[d] = lda_document_bound(
            counts, log_beta[words], alpha, gamma, phi, prior, local[d]
        )
    return gammas, sums, bounds, iterations


def lda_document_bound(counts, log_beta, alpha, gamma, phi, p, b):
    """b E log p(x, z | theta, beta) + H(z) + p E log p(theta) - E log q(theta)."""
    log_theta = psi(gamma) - psi(gamma.sum())
    entropy = -(phi * np.log(np.maximum(phi, 1e-300))).sum(axis=1)
    likelihood = counts @ (b * (phi * (log_theta + log_beta)).sum(axis=1) + entropy)
    prior = gammaln(alpha.sum()) - gammaln(alpha).sum()
    posterior = gammaln(gamma.sum()) - gammaln(gamma).sum()
    # With a small gamma, log_theta is several hundred and its two factors nearly
    # cancel.
    exponents = p * (alpha - 1) - (gamma - 1)
    return likelihood + p * prior - posterior + exponents @ log_theta


def lda_global_bound(topic_word, eta, p):
    """p E log p(beta) - E log q(beta), with arrays of shape (V, K)."""
    log_beta = psi(topic_word) - psi(topic_word.sum(axis=0))
    eta = np.broadcast_to(eta, topic_word.shape)

    def expected(parameter):
        return (
            gammaln(parameter.sum(axis=0)) - gammaln(parameter).sum(axis=0)
        ).sum() + ((parameter - 1) * log_beta).sum()

    return p * expected(eta) - expected(topic_word)


# -- factorial mixture; ``covariance`` of the components is the same in all dimensions
# --


def binary_sample(x, means, covariance, noise, prior, b, *, tol, max_iter, **rest):
    """Return nu, the inclusion probabilities, of one sample, and the number of sweeps.

    ``completing`` replaces missing values by expectations.  With ``cooling`` and
    without a start ``nu``, the sweeps begin at a high temperature.
    """
    cooling, nu = rest.get("cooling"), rest.get("nu")
    gram, c, _ = _observed(x, means, covariance, rest.get("completing", False))
    heat = 1.0
    if cooling is not None and nu is None:
        heat = max(np.diag(gram).max() / (2 * noise), 1.0)
    nu = np.array(prior if nu is None else nu, dtype=float)
    counted, sweeps, change = 0, 0, np.inf
    while counted < max_iter and not change < tol:
        old = nu.copy()
        for k in range(len(nu)):
            others = gram[k] @ nu - gram[k, k] * nu[k]
            logit = np.log(prior[k] / (1 - prior[k]))
            logit += (c[k] - gram[k, k] / 2 - others) / noise
            nu[k] = expit(b / heat * logit)
        sweeps += 1
        if heat == 1:
            counted += 1
            change = np.abs(nu - old).max()
        heat = max(heat / cooling, 1.0) if heat > 1 else 1.0
    return nu, sweeps


def _observed(x, means, covariance, completing):
    seen = ~np.isnan(x)
    n_columns = len(x) if completing else seen.sum()
    gram = means[:, seen] @ means[:, seen].T + n_columns * covariance
    return gram, means[:, seen] @ x[seen], x[seen] @ x[seen]


def binary_log_likelihood(x, means, covariance, noise, prior, nu, completing=False):
    """E log p(x, z | mu) under q of one sample, without the normaliser of the noise."""
    gram, c, square = _observed(x, means, covariance, completing)
    second = second_moments(nu)
    log_prior = nu @ np.log(prior) + (1 - nu) @ np.log(1 - prior)
    return -(square - 2 * nu @ c + (gram * second).sum()) / (2 * noise) + log_prior


def second_moments(nu):
    """E z z^T under q."""
    second = np.outer(nu, nu)
    second[np.diag_indices(len(nu))] = nu
    return second


def binary_local_step(X, means, covariance, noise, prior, b, **rest):
    """Return nu, bounds, scores and sweeps of all rows; ``b`` may differ by row."""
    K, n = len(means), len(X)
    nus, bounds, scores, sweeps = np.empty((n, K)), np.empty(n), np.empty(n), 0
    starts = rest.pop("nu", [None] * n)
    for i, power in enumerate(np.broadcast_to(b, n)):
        nu, used = binary_sample(
            X[i], means, covariance, noise, prior, power, nu=starts[i], **rest
        )
        score = binary_log_likelihood(
            X[i], means, covariance, noise, prior, nu, rest.get("completing", False)
        )
        n_seen = (~np.isnan(X[i])).sum()
        normaliser = -n_seen / 2 * np.log(2 * np.pi * noise)
        entropy = -(xlogy(nu, nu) + xlogy(1 - nu, 1 - nu)).sum()
        nus[i], scores[i], bounds[i] = nu, score, power * (score + normaliser) + entropy
        sweeps += used
    return nus, bounds, scores, sweeps


def binary_statistics(X, means, covariance, nus, factors):
    """Sums of E z z^T, E z x^T and E |x - z mu|^2; a missing x has its expectation."""
    K, D = means.shape
    second, cross, residual = np.zeros((K, K)), np.zeros((K, D)), 0.0
    for x, nu, factor in zip(X, nus, factors, strict=True):
        moments, seen = second_moments(nu), ~np.isnan(x)
        second += factor * moments
        cross += factor * np.where(seen, np.outer(nu, x), moments @ means)
        gram = means[:, seen] @ means[:, seen].T + D * covariance
        square = (x[seen] ** 2).sum() - 2 * nu @ means[:, seen] @ x[seen]
        residual += factor * (square + (gram * moments).sum())
    return second, cross, residual


def binary_log_predictive(x, means, covariance, noise, prior):
    """The exact log p(x) under q(mu), by enumeration over z."""
    terms = []
    for z in itertools.product([0.0, 1.0], repeat=len(means)):
        z, seen = np.array(z), ~np.isnan(x)
        variance = noise + z @ covariance @ z
        log_normal = -0.5 * np.log(2 * np.pi * variance) * seen.sum()
        log_normal -= ((x - z @ means)[seen] ** 2).sum() / (2 * variance)
        terms.append(log_normal + np.log(np.where(z == 1, prior, 1 - prior)).sum())
    return logsumexp(terms)


# -- matrix factorization --------------------------------------------------------------
#
# A rating has the mean f = u . v + the biases of its user and its item. x = (u, bias)
# is the vector of a user or item, and (v, other bias) that of its counterpart. A
# Gaussian is a pair of mean and covariance. y is a rating, and c the part of f without
# x.


def rating_moments(gaussian, biases):
    """E[z z^T], E[z], E[z c] and E[c^2] of a counterpart, where f = x . z + c."""
    mean, covariance = gaussian
    second = covariance + np.outer(mean, mean)
    if not biases:
        return second, mean, np.zeros(len(mean)), 0.0
    outer, with_bias = second.copy(), second[-1].copy()
    outer[-1, :-1] = outer[:-1, -1] = mean[:-1]
    outer[-1, -1], with_bias[-1] = 1.0, mean[-1]
    return outer, np.append(mean[:-1], 1.0), with_bias, second[-1, -1]


def rating_sums(values, factors, others, biases):
    """Sums over the ratings of one user or item: precision, linear term, (y - c)^2."""
    precision, linear, square = 0.0, 0.0, 0.0
    for y, factor, other in zip(values, factors, others, strict=True):
        outer, mean, with_bias, bias_square = rating_moments(other, biases)
        precision = precision + factor * outer
        linear = linear + factor * (y * mean - with_bias)
        bias = with_bias[-1] if biases else 0.0
        square += factor * (y**2 - 2 * y * bias + bias_square)
    return precision, linear, square


def rating_posterior(values, factors, others, prior, power, noise, biases):
    """Posterior mean and covariance of one user or item; its prior has a power."""
    mean, covariance = prior
    inverse = np.linalg.inv(covariance)
    precision, linear, _ = rating_sums(values, factors, others, biases)
    posterior = np.linalg.inv(power * inverse + precision / noise)
    return posterior @ (power * inverse @ mean + linear / noise), posterior


def rating_expectations(own, other, biases):
    """E f and E f^2 of one rating under the posteriors of its user and item."""
    outer, z, with_bias, bias_square = rating_moments(other, biases)
    mean, covariance = own
    f = mean @ z + (with_bias[-1] if biases else 0.0)
    second = covariance + np.outer(mean, mean)
    return f, (second * outer).sum() + 2 * mean @ with_bias + bias_square


def rating_error(y, own, other, biases):
    """E (y - f)^2 of one rating."""
    f, square = rating_expectations(own, other, biases)
    return y**2 - 2 * y * f + square


def gaussian_bound(posterior, prior, power):
    """power E log p(x) - E log q(x) of two Gaussians."""
    mean, covariance = posterior
    prior_mean, prior_covariance = prior
    shift, n = mean - prior_mean, len(mean)
    log_p = -0.5 * (
        n * np.log(2 * np.pi)
        + np.linalg.slogdet(prior_covariance)[1]
        + np.trace(np.linalg.solve(prior_covariance, covariance))
        + shift @ np.linalg.solve(prior_covariance, shift)
    )
    entropy = 0.5 * (n * (1 + np.log(2 * np.pi)) + np.linalg.slogdet(covariance)[1])
    return power * log_p + entropy


def rating_user_bound(values, factors, posterior, others, prior, power, noise, biases):
    """Sum of factor E log p(y), plus power E log p(x) - E log q(x), of one user."""
    bound = gaussian_bound(posterior, prior, power)
    for y, factor, other in zip(values, factors, others, strict=True):
        error = rating_error(y, posterior, other, biases)
        bound -= 0.5 * factor * (np.log(2 * np.pi * noise) + error / noise)
    return bound


def rating_noise(values, factors, others, prior, power, noise, biases, shape):
    """Posterior of one user, and Gamma shape and rate of the user's noise precision.

    The user's precision is a factor of the common one, ``1 / noise``.
    """
    own, mean = None, 1.0
    for _ in range(2000):
        own = rating_posterior(
            values, factors * mean, others, prior, power, noise, biases
        )
        error = sum(
            factor * rating_error(y, own, other, biases)
            for y, factor, other in zip(values, factors, others, strict=True)
        )
        new = (
            power * (shape - 1) + 1 + 0.5 * factors.sum(),
            power * shape + 0.5 * error / noise,
        )
        if mean == (mean := new[0] / new[1]):
            break  # converged
    return own, new


def gamma_bound(posterior, shape, power):
    """power E log p(t) - E log q(t), where p is Gamma(shape, shape)."""
    a, b = posterior
    mean, log_mean = a / b, psi(a) - np.log(b)
    log_p = shape * np.log(shape) - gammaln(shape) + (shape - 1) * log_mean
    log_p -= shape * mean
    log_q = a * np.log(b) - gammaln(a) + (a - 1) * log_mean - b * mean
    return power * log_p - log_q

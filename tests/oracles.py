"""Slow, transparent transcriptions of the equations: the judges of the kernels."""

import numpy as np
from scipy.special import gammaln, psi


def lda_document(counts, log_beta, alpha, b, *, tol, max_iter, gamma=None):
    """gamma and phi of one document; ``alpha`` is tempered already.

    ``log_beta`` is E log beta of the document's words, (n_words, n_topics).
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
    """gamma, statistics (V, K), bounds, iterations; ``topic_word`` is (V, K)."""
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
    prior = gammaln(alpha.sum()) - gammaln(alpha).sum() + (alpha - 1) @ log_theta
    posterior = gammaln(gamma.sum()) - gammaln(gamma).sum() + (gamma - 1) @ log_theta
    return likelihood + p * prior - posterior


def lda_global_bound(topic_word, eta, p):
    """p E log p(beta) - E log q(beta), both (V, K)."""
    log_beta = psi(topic_word) - psi(topic_word.sum(axis=0))
    eta = np.broadcast_to(eta, topic_word.shape)

    def expected(parameter):
        return (
            gammaln(parameter.sum(axis=0)) - gammaln(parameter).sum(axis=0)
        ).sum() + ((parameter - 1) * log_beta).sum()

    return p * expected(eta) - expected(topic_word)

"""Independent implementations of likelihoods, to which `check_model` compares bounds.

Each function draws the local parameters of the rows from their prior, ``n_draws``
times, and returns the log-likelihoods of the rows, of shape (n_draws, n_rows).
"""

import numpy as np
from scipy import sparse, stats

__all__ = ["of_clicks", "of_documents", "of_ratings", "of_sums_of_features"]


def of_documents(model, X, globals_, hyper, random, n_draws):
    """Likelihood of LDA: words are drawn from the topics of a document."""
    counts = X.toarray() if sparse.issparse(X) else X
    topics = globals_.dense() / globals_.dense().sum(axis=0)
    theta = random.dirichlet(hyper, (n_draws, len(counts)))
    return (counts * np.log(theta @ topics.T)).sum(axis=-1)


def of_sums_of_features(model, X, globals_, hyper, random, n_draws):
    """Likelihood of the factorial mixture: samples are sums of components and noise."""
    size = n_draws, len(X), model.n_components
    means = (random.random(size) < hyper.inclusion_probability) @ globals_.means()
    logs = stats.norm.logpdf(X, means, np.sqrt(hyper.noise_variance))
    return np.nansum(logs, axis=-1)


def draws_of(prior, random, size):
    """Return draws from the prior of users."""
    return random.multivariate_normal(prior.mean, prior.covariance, size)


def of_ratings(model, X, globals_, hyper, random, n_draws):
    """Likelihood of ratings: products of factors, biases, and noise of each user."""
    if sparse.issparse(X):
        filled = np.full(X.shape, np.nan)
        filled[X.nonzero()] = X.data
        X = filled
    items, K = model.items(globals_).means, model.n_components
    size = n_draws, X.shape[0]
    users = draws_of(hyper.users, random, size)
    means = users[..., :K] @ items[:, :K].T + hyper.global_mean
    if model.biases:
        means += users[..., K:] + items[:, K]
    variance = np.full((*size, 1), hyper.noise_variance)
    if model.user_noise:
        shape = hyper.noise_shape
        variance /= random.gamma(shape, 1 / shape, variance.shape)
    return np.nansum(stats.norm.logpdf(X, means, np.sqrt(variance)), axis=-1)


def of_clicks(model, X, globals_, hyper, random, n_draws):
    """Likelihood of implicit feedback: all pairs have targets, and weights."""
    X = sparse.csr_array(X)
    stored = X.copy()
    stored.data = np.ones(len(X.data))
    weights, targets = X.copy(), X.copy()
    weights.data, targets.data = model.weight_of(X.data), model.target_of(X.data)
    weights = weights.toarray() + hyper.zero_weight * (1 - stored.toarray())
    users = draws_of(hyper.users, random, (n_draws, X.shape[0]))
    means = users @ model.items(globals_).means.T
    logs = stats.norm.logpdf(targets.toarray(), means, np.sqrt(hyper.noise_variance))
    return (weights * logs).sum(axis=-1)

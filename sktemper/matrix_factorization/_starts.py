"""Starting values of priors, variances and items."""

import math

import numpy as np

from .._expfam import GaussianPrior, packed
from ._noise import START_SHAPE
from ._parameters import Hyper

__all__ = ["first_hyper", "first_items"]

#: Initial variances of the items' means and posteriors, relative to the prior.
START_SPREAD, START_VARIANCE = 0.1, 0.01
#: The largest square of the prior variance of factors over the noise variance.
LARGEST_RATIO = 1e15


def first_hyper(model, X, sample_weight=None):
    """Return the given variances, and starting values of the learned ones."""
    n_ratings, mean, variance = _mean_and_variance(model, X, sample_weight)
    if n_ratings == 0 and model.global_mean is None:
        raise ValueError(
            "The first data have no ratings, so that their mean is unknown.  Start "
            "with data that have ratings, or set global_mean."
        )
    if model.global_mean is not None:
        variance += (mean - model.global_mean) ** 2
        mean = model.global_mean
    variance = variance or 1.0
    variances = np.empty(model.n_own)
    if model.component_variance is not None:
        variances[:] = model.component_variance
    else:  # in the units of the ratings; wide, so that no factor is lost early
        variances[: model.n_components] = math.sqrt(variance)
        variances[model.n_components :] = variance
    prior = GaussianPrior(np.zeros(model.n_own), np.diag(variances))
    noise = variance if model.noise_variance is None else model.noise_variance
    _check_variances(model.component_variance, noise, variance)
    return Hyper(
        model.n_components,
        model.user_noise,
        float(mean),
        float(noise),
        START_SHAPE,
        float(variance),
        np.zeros(model.n_features),
        users=prior,
        items=prior,
    )


def _check_variances(component_variance, noise, variance):
    """Raise if the prior variances are too large for the noise variance.

    With the prior variance c of factors, precisions have eigenvalues of 1 / c and of
    c / noise.  If their ratio exceeds 1 / epsilon, rounding errors make the precisions
    indefinite.  A learned c starts where products of factors have the variance of the
    ratings.
    """
    if component_variance is None:
        if variance / noise > LARGEST_RATIO:
            raise ValueError(
                f"noise_variance={noise:g} is too small for ratings with a variance of "
                f"{variance:.3g}.  The variance of the ratings divided by "
                f"noise_variance must be at most {LARGEST_RATIO:g}."
            )
        return
    ratio = component_variance**2 / noise
    if ratio > LARGEST_RATIO:
        raise ValueError(
            f"component_variance={component_variance:g} is too large for a "
            f"noise variance of {noise:.3g}.  The square of component_variance divided "
            f"by the noise variance must be at most {LARGEST_RATIO:g}."
        )


def _mean_and_variance(model, X, sample_weight):
    """Return total weight, mean and variance of ratings, from one block at a time."""
    total = mean = squares = 0.0
    for start in range(0, X.shape[0], model.block_size):
        rows = slice(start, min(start + model.block_size, X.shape[0]))
        block = model.take(X, rows)
        values = block.values.astype(np.float64, copy=False)
        weight = np.ones(len(block.counts))
        if sample_weight is not None:
            weight = sample_weight[rows]
        by_rating = np.repeat(weight, block.counts)
        own = by_rating.sum()
        if own == 0:
            continue
        shift = (by_rating * values).sum() / own - mean
        total += own
        mean += shift * own / total
        squares += (by_rating * (values - mean) ** 2).sum()
        squares += (total - own) * (shift * own / total) ** 2
    return total, mean, squares / total if total else 0.0


def first_items(model, random, hyper):
    """Return small draws from the prior, or ``init``."""
    variances = np.diag(hyper.items.covariance)
    means = np.zeros((model.n_features, model.n_own))
    if model.init is None:
        shape = model.n_features, model.n_components
        start = math.sqrt(START_SPREAD * variances[0]) * random.normal(size=shape)
    else:
        start = model.init.T
    means[:, : model.n_components] = start
    precision = np.diag(1 / (START_VARIANCE * variances))
    natural = np.empty((model.n_features, model.n_natural))
    natural[:, : model.n_packed] = packed(precision)
    natural[:, model.n_packed :] = means @ precision
    return natural

"""Starting values of priors, the noise variance and items."""

import math

import numpy as np

from .._expfam import GaussianPrior, packed
from .._simd.special import aligned
from ._parameters import Hyper, Items

__all__ = ["auto_zero_weight", "first_hyper", "first_items"]

#: Total weight of the unknown pairs, as a multiple of the number of stored pairs, and
#: largest weight of an unknown pair.
ZERO_RATIO, MOST_ZERO_WEIGHT = 8.0, 1.0
#: Initial variance of the items' means, and initial posterior variance about the means,
#: relative to the variance of the prior.
START_SPREAD, START_VARIANCE = 0.1, 0.01
#: Maximum of c^2 / noise variance, where c is the prior variance of factors.
LARGEST_RATIO = 1e15


def auto_zero_weight(n_stored, n_unknown):
    """Return min(1, 8 nnz / (n m - nnz)), the weight of an unknown pair."""
    if n_unknown <= 0:
        return MOST_ZERO_WEIGHT
    return min(MOST_ZERO_WEIGHT, ZERO_RATIO * n_stored / n_unknown)


def first_hyper(model, X, sample_weight=None):
    """Return the `Hyper` at the start: given values, or initial values to learn."""
    n_unknown, n_stored, weight, squares = _totals(model, X, sample_weight)
    if n_stored == 0:
        raise ValueError(
            "X has no stored pairs: the first data of a fit need at least one entry "
            "that is not 0."
        )
    zero_weight = model.zero_weight
    if zero_weight is None:
        zero_weight = auto_zero_weight(n_stored, n_unknown)
    square = squares / (weight + zero_weight * n_unknown) or 1.0
    variance = model.component_variance
    if variance is None:
        variance = math.sqrt(square)
    noise = square if model.noise_variance is None else model.noise_variance
    if variance**2 / noise > LARGEST_RATIO:
        raise ValueError(
            f"The prior variance of the factors, {variance:.3g}, is too large for a "
            f"noise variance of {noise:.3g}: the square of the prior variance divided "
            f"by the noise variance may be at most {LARGEST_RATIO:g}. Set a larger "
            "noise_variance, or a smaller component_variance."
        )
    d = model.n_components
    prior = GaussianPrior(np.zeros(d), variance * np.eye(d))
    return Hyper(
        d,
        float(zero_weight),
        float(noise),
        float(square),
        is_start=True,
        users=prior,
        items=prior,
    )


def _totals(model, X, sample_weight):
    """Return the numbers of unknown and of stored pairs, and sums of w and w y^2.

    All four sums use the weights of the users.  Unknown pairs are counted for each user
    and not as all pairs minus stored pairs, because the totals have rounding errors.
    Large weights would magnify these errors.
    """
    totals = np.zeros(4)
    for start in range(0, X.shape[0], model.block_size):
        rows = slice(start, min(start + model.block_size, X.shape[0]))
        block = model.take(X, rows)
        counts = np.ones(len(block.counts))
        if sample_weight is not None:
            counts = sample_weight[rows]
        by_pair = np.repeat(counts, block.counts)
        weights = by_pair * block.weights
        squares = weights * block.targets**2
        n_unknown = (counts * (model.n_features - block.counts)).sum()
        totals += [n_unknown, by_pair.sum(), weights.sum(), squares.sum()]
    return totals


def first_items(model, random, hyper):
    """Return small draws from the prior, or ``init``."""
    d, variance = model.n_components, np.diag(hyper.items.covariance)
    if model.init is None:
        shape = model.n_features, d
        means = math.sqrt(START_SPREAD * variance[0]) * random.normal(size=shape)
    else:
        means = model.init.T
    precision = np.diag(1 / (START_VARIANCE * variance))
    shape = model.n_panels, model.n_features, model.panel_width
    own = aligned(np.zeros, shape, model.dtype)
    linear = np.zeros((model.n_features, (shape[0] - model.n_square) * shape[2]))
    linear[:, :d] = means @ precision
    own[model.n_square :] = linear.reshape(
        model.n_features, -1, model.panel_width
    ).swapaxes(0, 1)
    return Items(np.concatenate([packed(precision), np.zeros(d)]), own)

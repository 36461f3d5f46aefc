"""Initial means of the components: noise, samples, or results of other methods."""

import warnings

import numpy as np
from sklearn.decomposition import NMF, FastICA
from sklearn.exceptions import ConvergenceWarning

__all__ = ["STARTS"]

#: NMF accepts negative values up to this ratio of the sums of squares.
MOST_NEGATIVE = 0.1


def from_noise(X, n_components, hyper, random):
    """Return draws from the prior of the components."""
    shape = (n_components, X.shape[1])
    return random.normal(0.0, np.sqrt(hyper.component_variance), shape)


def from_small_noise(X, n_components, hyper, random):
    """Return draws from the prior, scaled down to squares of about the noise variance.

    In data of many dimensions, no sample would ever use the feature of a larger random
    component.
    """
    scale = hyper.noise_variance / X.shape[1] / hyper.component_variance
    return min(scale, 1.0) ** 0.5 * from_noise(X, n_components, hyper, random)


def from_data(X, n_components, hyper, random):
    """Return rows of ``X`` plus small noise, so that repeated rows differ."""
    rows = X[random.randint(len(X), size=n_components)]
    return rows + 0.1 * from_noise(X, n_components, hyper, random)


def from_ica(X, n_components, hyper, random):
    """Return the independent components of ``X``, scaled to binary features.

    FastICA finds features up to scale and sign.  The scale is the difference of the
    means of the values above and below the middle of their range.  The sign is chosen
    so that the share of samples with the feature is near the inclusion probability.
    """
    means = from_noise(X, n_components, hyper, random)
    left, scales, right = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    rounding = np.linalg.norm(X) * max(X.shape) * np.finfo(X.dtype).eps
    n_found = min(n_components, np.count_nonzero(scales > rounding))
    if n_found == 0:
        return means
    # FastICA's own whitening loses directions in which the first column is 0
    white = np.sqrt(len(X)) * left[:, :n_found]
    ica = FastICA(whiten=False, random_state=random, max_iter=500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        sources = ica.fit_transform(white)
    back = scales[:n_found, None] * right[:n_found] / np.sqrt(len(X))
    directions = ica.mixing_.T @ back
    for k, (source, direction) in enumerate(zip(sources.T, directions, strict=True)):
        scale, share = two_means(source)
        on = hyper.inclusion_probability[k]
        sign = 1 if abs(share - on) <= abs(1 - share - on) else -1
        means[k] = sign * scale * direction
    return means


def from_nmf(X, n_components, hyper, random):
    """Return the non-negative components, scaled to features that are 0 or 1.

    Negative values are taken as noise and set to 0.
    """
    X, negative = np.maximum(X, 0.0), np.minimum(X, 0.0)
    if (negative**2).sum() > MOST_NEGATIVE * (X**2).sum():
        raise ValueError(
            'init="nmf" requires nearly non-negative data, but the squares of the '
            f"negative values of X exceed {MOST_NEGATIVE:.0%} of the squares of the "
            'positive values.  Use init="ica" for these data.'
        )
    unit = X.max() or 1.0  # tolerances of NMF are absolute
    n_found = min(n_components, *X.shape)
    nmf = NMF(n_found, init="nndsvda", random_state=random)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        activations = nmf.fit_transform(X / unit)
    means = from_noise(X, n_components, hyper, random)
    for k, (weight, component) in enumerate(
        zip(activations.T, nmf.components_, strict=True)
    ):
        scale, _ = two_means(weight)
        means[k] = unit * scale * component
    return means


def two_means(values):
    """Return the distance between the means on both sides of the middle.

    Returns
    -------
    distance : float
    share : float
        Share of the values above the middle.
    """
    low, high = np.quantile(values, [0.02, 0.98])
    above = values > (low + high) / 2
    if above.all() or not above.any():
        return 1.0, 0.5
    return values[above].mean() - values[~above].mean(), above.mean()


#: Functions for the values of ``init``.
STARTS = {
    "random": from_small_noise,
    "data": from_data,
    "ica": from_ica,
    "nmf": from_nmf,
}

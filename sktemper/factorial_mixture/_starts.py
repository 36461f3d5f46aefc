"""Where the means of the components start: from noise, data, or another method."""

import warnings

import numpy as np
from sklearn.decomposition import NMF, FastICA
from sklearn.exceptions import ConvergenceWarning

__all__ = ["STARTS"]

#: The squares of negative values, in those of positive ones, that NMF may overlook.
MOST_NEGATIVE = 0.1


def from_noise(X, n_components, hyper, random):
    """Return draws from the components' prior."""
    shape = (n_components, X.shape[1])
    return random.normal(0.0, np.sqrt(hyper.component_variance), shape)


def from_small_noise(X, n_components, hyper, random):
    """Return draws whose squares are about the noise variance, or the prior's.

    A larger component that has nothing to do with the data, of many dimensions, would
    switch its feature off for good.
    """
    scale = hyper.noise_variance / X.shape[1] / hyper.component_variance
    return min(scale, 1.0) ** 0.5 * from_noise(X, n_components, hyper, random)


def from_data(X, n_components, hyper, random):
    """Return rows of ``X``, differing even if there are fewer rows than components."""
    rows = X[random.randint(len(X), size=n_components)]
    return rows + 0.1 * from_noise(X, n_components, hyper, random)


def from_ica(X, n_components, hyper, random):
    """Return the mixing of independent components, each as a binary feature.

    FastICA finds a feature up to its scale and sign: its values, cut in the middle,
    have two means, whose difference is the scale; it is on where the share of samples
    is nearer to the inclusion probability.
    """
    means = from_noise(X, n_components, hyper, random)
    left, scales, right = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    rounding = np.linalg.norm(X) * max(X.shape) * np.finfo(X.dtype).eps
    n_found = min(n_components, np.count_nonzero(scales > rounding))
    if n_found == 0:
        return means
    # FastICA's own whitening loses directions that the first column has no part in
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

    Negative values are taken for the noise about 0.
    """
    X, negative = np.maximum(X, 0.0), np.minimum(X, 0.0)
    if (negative**2).sum() > MOST_NEGATIVE * (X**2).sum():
        raise ValueError(
            'init="nmf" takes no data with so much below 0; init="ica" does.'
        )
    unit = X.max() or 1.0  # NMF's tolerances are absolute
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
        Of the values above the middle.
    """
    low, high = np.quantile(values, [0.02, 0.98])
    above = values > (low + high) / 2
    if above.all() or not above.any():
        return 1.0, 0.5
    return values[above].mean() - values[~above].mean(), above.mean()


#: What ``init`` may be.
STARTS = {
    "random": from_small_noise,
    "data": from_data,
    "ica": from_ica,
    "nmf": from_nmf,
}

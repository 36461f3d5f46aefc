"""Births of components, as proposals of moves."""

import warnings
from functools import partial

import numpy as np
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import randomized_svd

from .._families._mixture import NEVER
from .._utils._budgets import slices
from .._utils._cache import twin
from .._utils._linalg import nearest_rotation, tiled_matmul
from ..model import IllDefined, Powers, Request
from ._inference import Components, Couplings, Inference

# -- initial means of the components: noise, samples, or results of other methods ------
#: Samples are optimised without a feature in calls of this number, divided by the
#: square of the number of features; longer calls would delay Ctrl-C.
MOST_IN_CALL = 130_000
#: NMF accepts negative values up to this ratio of the sums of squares.
MOST_NEGATIVE = 0.1
#: Largest number of steps of FastICA, and change of directions at which it stops.
MOST_ROTATIONS, LEAST_ROTATION = 15, 1e-3
#: Number of rows and of columns for each component above which random projections are
#: faster than a complete singular value decomposition.
LARGE = 10


def from_noise(X, n_components, hyper, random):
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
    so that a sample of zeros has no feature.
    """
    return from_white(*whitened(X, n_components), n_components, hyper, random)


def whitened(X, n_components):
    """Return white data, the white values of zeros, and the matrix that restores ``X``.

    Their shapes are (n_rows, n_found), (n_found,) and (n_found, n_features).
    """
    mean = X.mean(axis=0)
    if LARGE * n_components < min(X.shape):
        left, scales, right = randomized_svd(X - mean, n_components, random_state=0)
    else:
        left, scales, right = np.linalg.svd(X - mean, full_matrices=False)
    rounding = np.linalg.norm(X) * max(X.shape) * np.finfo(X.dtype).eps
    n_found = min(n_components, np.count_nonzero(scales > rounding))
    size, scales, right = np.sqrt(len(X)), scales[:n_found], right[:n_found]
    zero = -size * (right @ mean) / scales
    return size * left[:, :n_found], zero, scales[:, None] * right / size


def from_white(white, zero, back, n_components, hyper, random, skewed=False):
    """Return the components of `from_ica`, given the results of `whitened`."""
    means, n_found = from_noise(back, n_components, hyper, random), len(back)
    if n_found == 0:
        return means
    unmixing = fast_ica(white, random, skewed)
    sources = np.dot(unmixing, white.T).T
    directions = unmixing @ back
    scales, middles = two_means(sources)
    signs = np.where(unmixing @ zero <= middles, 1.0, -1.0)
    means[:n_found] = (signs * scales)[:, None] * directions
    return means


def fast_ica(white, random, skewed=False):
    """Return the rotation of white data to independent components.

    These are the steps of scikit-learn's parallel FastICA.  It warns if they have not
    converged, and threads that ignore warnings change the filters of each other.  The
    contrast is log cosh, which is blind to features of a fifth of the samples, or the
    skewness, which is blind to features of one half.
    """
    n_rows, n = white.shape
    rotation = nearest_rotation(random.normal(size=(n, n)).astype(white.dtype))
    for _ in range(MOST_ROTATIONS):
        last, sources = rotation, np.dot(rotation, white.T)
        if skewed:
            rotation = np.dot(sources**2, white)
        else:
            slopes = np.tanh(sources)
            curvatures = (1.0 - slopes**2).mean(axis=-1)
            rotation = np.dot(slopes, white) / n_rows - curvatures[:, None] * last
        rotation = nearest_rotation(rotation)
        cosines = np.abs(np.einsum("ij,ij->i", rotation, last))
        if np.abs(cosines - 1).max() < LEAST_ROTATION:
            break
    return rotation


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
    scales, _ = two_means(activations)
    means[:n_found] = unit * scales[:, None] * nmf.components_
    return means


def two_means(values):
    """Return distances of the means on both sides of the middle, and the middles."""
    places = [round(share * (len(values) - 1)) for share in (0.02, 0.98)]
    low, high = np.partition(values, places, axis=0)[places]
    middle = (low + high) / 2
    above = values > middle
    n_above, n_below = above.sum(axis=0), (~above).sum(axis=0)
    known = (n_above > 0) & (n_below > 0)
    above_mean = (values * above).sum(axis=0) / np.maximum(n_above, 1)
    below_mean = (values * ~above).sum(axis=0) / np.maximum(n_below, 1)
    return np.where(known, above_mean - below_mean, 1.0), middle


#: Functions for the values of ``init``.
STARTS = {
    "random": from_small_noise,
    "data": from_data,
    "ica": from_ica,
    "nmf": from_nmf,
}


# -- births of components, as proposals of moves ---------------------------------------
#: Probability that all components are replaced; else that one is switched off, if one
#: is superfluous; and that a new component is the difference of rows.  Other choices,
#: such as that of the contrast, have equal chances.
P_REMIX, P_DEATH, P_DIFFERENCE = 0.65, 0.3, 0.5
#: Least rise of the bound by the removal of a superfluous component, in nats.
LEAST_RISE_BY_REMOVAL = 0.5
#: Number of steps after a birth, and number of nearest samples for differences.
BIRTH_STEPS, NEAREST = 5, 10
#: Probability above which a sample has a feature.
PRESENT = 1e-3
#: Smallest scale of a direction that components span, relative to the largest scale.
LEAST_SCALE = 1e-6


def replace_components(model, globals_, hyper, block, random, row_weight=None):
    """Return components and priors after a birth, a death or both, or after a remix.

    Alternatively, all components are replaced by the independent components of their
    span, or of the rows, which separates features that were merged into sums and
    differences; or a component is switched off that costs more than it explains.
    Proposals do not depend on the weights.
    """
    if random.random() < P_REMIX:
        return _remix(model, globals_, hyper, block, random)
    given = globals_, hyper, block
    try:
        if random.random() < P_DEATH:
            fewer = model.last_fewer.result(partial(_fewer, model), *given)
            if fewer is not None:
                return fewer, hyper
        return _reborn(model, *given, random)
    except (IllDefined, np.linalg.LinAlgError):  # of tiny noise: a singular precision
        return globals_, hyper


def _reborn(model, globals_, hyper, block, random):
    """Return components and priors after a birth and a death.

    A component is added, a few steps on ``block`` follow, and the component whose
    removal lowers the rows' bounds least is removed.  The new component is the residual
    of a sample, drawn in proportion to its square, or the difference between this
    sample and one of its nearest neighbours.
    """
    larger = twin(model, n_components=model.n_components + 1)
    prior = hyper.inclusion_probability
    wider = hyper._replace(inclusion_probability=np.append(prior, prior.mean()))
    components = _add_component(model, globals_, hyper, block, random)
    components, wider = _adapt(larger, components, wider, block)
    dead = int(np.argmax(rises_without(larger, components, wider, block)))
    left = np.arange(model.n_components)
    if dead < model.n_components:
        left[dead] = model.n_components  # the new component replaces the old one
    precision = components.precision[np.ix_(left, left)]
    proposed = Components(precision, precision @ components.means()[left])
    if model.learn_inclusion_probability:
        prior = wider.inclusion_probability[left]
    return proposed, hyper._replace(inclusion_probability=prior)


def _fewer(model, globals_, hyper, block):
    """Return components of which one has its prior, or None if all are worth it.

    The removal of a component changes the bounds of the rows, and saves the divergence
    of its posterior, given the other components, from the prior.
    """
    variance, D = hyper.component_variance, model.n_features
    means, precision = globals_.means(), globals_.precision.copy()
    spread = np.diag(model.covariance(globals_)) / variance
    costs = D * (np.log(variance * np.diag(precision)) + spread - 1)
    costs += (means**2).sum(axis=1) / variance
    rises = rises_without(model, globals_, hyper, block) + 0.5 * costs
    dead = int(np.argmax(rises))
    if rises[dead] < LEAST_RISE_BY_REMOVAL:
        return None
    means[dead] = precision[dead] = precision[:, dead] = 0.0
    precision[dead, dead] = 1 / variance
    return Components(precision, precision @ means)


def _adapt(model, components, hyper, block):
    """Return components and priors after a few steps on a block."""
    ascent = model.ascent_on(block)
    ascent.start(components, hyper)
    ascent.take(BIRTH_STEPS, with_bounds=False)
    return ascent.parameters()


def _span(model, globals_, hyper, block):
    """Return the directions of components, and the results of `whitened` in them."""
    _, scales, directions = np.linalg.svd(globals_.means(), full_matrices=False)
    # unused components add no direction
    directions = directions[scales >= LEAST_SCALE * scales[0]]
    return directions, *whitened(block.values @ directions.T, model.n_components)


def _remix(model, globals_, hyper, block, random):
    skewed, from_rows = random.random(2) < 0.5
    K = model.n_components
    if from_rows:
        white = model.last_rows.result(
            lambda block: whitened(block.values.astype(np.float64), K), block
        )
        mixed = from_white(*white, K, hyper, random, skewed)
    else:
        directions, *white = model.last_span.result(
            partial(_span, model), globals_, hyper, block
        )
        mixed = from_white(*white, K, hyper, random, skewed) @ directions
    precision = np.diag(np.diag(globals_.precision))
    return Components(precision, precision @ mixed), hyper


def _residuals(model, globals_, hyper, block):
    """Return means, residuals, and probabilities in proportion to their squares."""
    prepared = model.prepare(globals_, hyper)
    step = model.local_step(block, prepared, Request(want=("local",)))
    nu = np.asarray(step.local_parameters, dtype=np.float64)
    residuals = block.values - nu @ prepared.means
    if block.missing is not None:
        residuals[block.missing] = 0.0
    squares = (residuals**2).sum(axis=1)
    total = squares.sum()  # 0 if the components explain the data exactly
    return prepared.means, residuals, squares / total if total > 0 else None


def _add_component(model, globals_, hyper, block, random):
    known, residuals, shares = model.last_residuals.result(
        partial(_residuals, model), globals_, hyper, block
    )
    n = random.choice(len(residuals), p=shares)
    mean = residuals[n]
    if len(residuals) > 1 and random.random() < P_DIFFERENCE:
        differences = block.values - block.values[n]
        distances = np.square(differences, dtype=np.float64).sum(axis=1)
        other = random.choice(np.argsort(distances)[1 : NEAREST + 1])
        mean = random.choice([-1, 1]) * (block.values[n] - block.values[other])
    means = np.vstack([known, mean])
    precision = np.zeros((len(means), len(means)))
    precision[:-1, :-1] = globals_.precision
    precision[-1, -1] = np.diag(globals_.precision).mean()
    return Components(precision, precision @ means)


def rises_without(model, components, hyper, block):
    """Return the rises of the sum of the rows' bounds without each component.

    From their optimum with all features, rows are optimised without each feature that
    they have.
    """
    prepared, K = model.prepare(components, hyper), model.n_components
    products = tiled_matmul(block.values, prepared.filters.T)
    couplings = Couplings(model, block, prepared, completing=True)
    inference = Inference(model, block, hyper, Powers(), products, couplings)
    nu, _, _, bounds, _ = inference.best()
    rises = -len(nu) * np.log1p(-hyper.inclusion_probability)
    rows, features = np.nonzero(nu > PRESENT)
    # grams of samples that have many features would need much memory at once
    groups = [np.arange(len(rows))]
    if block.missing is not None:
        groups = [np.flatnonzero(features == k) for k in range(K)]
    for group in groups:
        for some in slices(len(group), K * K, MOST_IN_CALL):
            chosen = group[some]
            own, k = rows[chosen], features[chosen]
            part, without = inference.of(own), nu[own]
            part.products[np.arange(len(k)), k] = NEVER
            without[np.arange(len(k)), k] = 0.0
            *_, others, _ = part.run(without, cooled=False)
            rises += np.bincount(k, others - bounds[own], K)
    return rises

"""Warnings at the end of a fit about the data, components and priors."""

import numpy as np

from .._estimator._shapes import is_density
from .._families._births import USED, Search
from .._utils._evidence import least_gain
from .._utils._notices import listed
from ..model import IllDefined
from ._choice import candidates, gain_of_correlations
from ._gaps import has_gaps
from ._priors import MARGIN, learned_priors
from ._starts import ENOUGH_ROWS, NO_WIDTH

#: Least gain by the logarithm of a column, in nats, that causes a warning.
LEAST_GAIN_OF_LOGARITHMS = 20.0
#: Correlations are not checked for fewer rows, which tell too little about them.
LEAST_ROWS = 100
#: Columns are correlated if correlations raise the log density by at least this
#: multiple of what all splits raise the bound by.  Two clusters in one component cause
#: correlations too, but their split raises the bound by more.
LEAST_RATIO = 2.0

#: Two components describe one cluster with heavy tails if their means differ by at most
#: NEAR standard deviations in each column, and the ratio of their widths is between
#: these limits.  Half of the rows are in such components if tails are heavy.  One pair
#: or triple may be clusters with a common centre.
NEAR, LEAST_WIDER, MOST_WIDER, LEAST_PAIRED = 0.5, 1.5, 8.0, 4

#: A component is narrow in a column if its variance is below this multiple of
#: `reg_covar`, which is part of this variance.
NARROW = 10.0
#: Components are blurred by `reg_covar` only in a column whose variance is below this
#: multiple of it.  If it is larger, a narrow component contains copies of a few rows.
BLURRED = 1e4

ATOMS = (
    "Single values of columns have components of their own: {columns}. No Gaussian "
    "describes such values, and their density depends on reg_covar alone. {mixed}"
)
FREQUENT_VALUES = (
    "All {n_components} components are in use, and no Gaussian describes the frequent "
    "values of columns: {columns}. More components would only imitate them. {mixed}"
)
DISCRETE = (
    "Columns of X have few or frequent values, as options and counts do, which no "
    "Gaussian describes: {columns}. Use AnnealedMixedMixture, with 0/1 columns of one "
    "variable as one categorical column, or AnnealedBernoulliMixture if all are 0/1."
)
MIXED = (
    "Leave these columns out, or use AnnealedMixedMixture, with 0/1 columns of one "
    "variable as one categorical column."
)
UNITS = (
    "reg_covar={reg_covar:.3g} is added to variances of columns that are small beside "
    "it, and blurs clusters: {columns}. Scale the columns, as with StandardScaler, or "
    "lower reg_covar."
)
CORRELATED = (
    "Columns are correlated within components, which their covariances do not "
    "describe, so that components may be parts of clusters: use {remedy} instead."
)
HEAVY_TAILS = (
    "Most rows are in components that have a centre in common and differ in width: "
    "clusters with heavy tails have several components. Use AnnealedStudentMixture."
)
SKEWED = (
    "Columns are skewed within components, so that clusters may have several of them: "
    "{columns}. Take their logarithms{mixed}."
)
MORE_COMPONENTS = (
    "All {n_components} components are in use, and one more would raise the lower "
    "bound by about {gain:.0f} nats. Raise n_components."
)
OTHER_PRIORS = (
    "The priors keep clusters together that are separate in the data: with learned "
    "priors, a split of a component would raise the lower bound by about {gain:.0f} "
    'nats. Use priors="learned", and leave priors that you do not know at None.'
)


def advice(model, other, state, X, sample_weight, names, remedy):
    """Return the message of a warning about the number of components, or None.

    Parameters
    ----------
    model : GaussianMixtureModel
    other : GaussianMixtureModel or None
        The same model with learned priors; None disables the check of the priors.
    state : State
    X : ndarray of shape (n_samples, n_features)
    sample_weight : ndarray of shape (n_samples,) or None
    names : ndarray of shape (n_features,)
        Names or indices of the columns.
    remedy : str or None
        What describes many correlated columns; None if the fit compared it.

    Returns
    -------
    message : str or None
    """
    step = -(-len(X) // ENOUGH_ROWS)
    X = X[::step]
    block = model.take(X, slice(None))
    block = model.complete(block, state.globals_, state.hyper)
    weight = np.full(len(block), float(step))
    if sample_weight is not None:
        weight = step * sample_weight[::step]
    hyper = state.hyper
    shares, _ = model.shares(block, state.globals_, hyper)
    used, labels = weight @ shares >= USED, shares.argmax(axis=1)
    is_wide = remedy and "full" not in candidates(*X.shape)
    if is_wide and are_correlated(model, X, labels, weight):
        return CORRELATED.format(remedy=remedy)
    if have_heavy_tails(X, labels, weight):
        return HEAVY_TAILS
    gains = gains_of_logarithms(X, labels, weight)
    if (gains > LEAST_GAIN_OF_LOGARITHMS).any():
        return _about_skewed_columns(gains, X, labels, weight, names)
    try:
        if used.all():
            gains = gains_of_splits(model, hyper, block, shares, weight)
            return _about_splits(model, gains, X, labels, weight, names)
        if other is not None:
            statistics = state.globals_ + model.prior(hyper).scaled(-1.0)
            new = learned_priors(other, hyper, statistics)
            hyper = other.wide_priors(state.globals_, hyper) if new is hyper else new
            gains = gains_of_splits(other, hyper, block, shares, weight)
            gain = gains.max(initial=0.0)
            if gain > least_gain(weight.sum()):
                return OTHER_PRIORS.format(gain=gain)
    except IllDefined:
        pass
    return None


def _about_splits(model, gains, X, labels, weight, names):
    """Return the message about splits that would raise the lower bound, or None."""
    gain, message, values = gains.max(initial=0.0), MORE_COMPONENTS, {}
    if gain <= least_gain(weight.sum()):
        return None
    columns = discrete_columns(zip(names, X.T, strict=True))
    if columns:
        message, values = FREQUENT_VALUES, {"columns": listed(columns), "mixed": MIXED}
    elif not (model.covariance.products or has_gaps(X)):
        correlations = gain_of_correlations(X, labels, weight)
        if correlations > LEAST_RATIO * np.maximum(gains, 0.0).sum():
            message, values = CORRELATED, {"remedy": 'covariance_type="full"'}
    return message.format(n_components=model.n_components, gain=gain, **values)


def _about_skewed_columns(gains, X, labels, weight, names):
    """Return the message about columns whose logarithms would raise the density.

    A mixed mixture has log-normal columns, but no correlations within components.
    """
    lost = 0.0 if has_gaps(X) else gain_of_correlations(X, labels, weight)
    is_mixed = np.maximum(gains, 0.0).sum() > lost
    columns = listed(names[gains > LEAST_GAIN_OF_LOGARITHMS])
    mixed = ", or use AnnealedMixedMixture" if is_mixed else ""
    return SKEWED.format(columns=columns, mixed=mixed)


def gains_of_splits(model, hyper, block, shares, weight):
    """Return the gains of splits whose second part is a new component."""
    search = Search(model, hyper, block, shares, weight)
    return np.array(list(search.splits.values()))


def are_correlated(model, X, labels, weight):
    """Return whether columns are correlated within components without correlations.

    Parameters
    ----------
    model : GaussianMixtureModel
    X : ndarray of shape (n_samples, n_features)
    labels : ndarray of int of shape (n_samples,)
    weight : ndarray of shape (n_samples,)
    """
    if model.covariance.products or has_gaps(X) or len(X) < LEAST_ROWS:
        return False
    return bool(gain_of_correlations(X, labels, weight) > MARGIN * weight.sum())


def have_heavy_tails(X, labels, weight):
    """Return whether most rows are in components around a common centre.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows with missing values have no Student-t mixture, and False is returned.
    labels : ndarray of int of shape (n_samples,)
    weight : ndarray of shape (n_samples,)
    """
    if has_gaps(X):
        return False
    rows = [labels == k for k in np.flatnonzero(np.bincount(labels) > 1)]
    if len(rows) < LEAST_PAIRED:
        return False
    means = np.array([X[own].mean(axis=0) for own in rows])
    widths = np.array([X[own].std(axis=0) for own in rows])
    widths = np.maximum(widths, np.finfo(float).tiny)
    largest = np.maximum(widths[:, None], widths)
    is_near = (np.abs(means[:, None] - means) <= NEAR * largest).all(axis=-1)
    logs = np.log(widths).mean(axis=-1)
    wider = np.exp(np.abs(logs[:, None] - logs))
    is_pair = is_near & (wider >= LEAST_WIDER) & (wider <= MOST_WIDER)
    paired = np.flatnonzero(is_pair.any(axis=1))
    heavy = sum(weight[rows[k]].sum() for k in paired)
    return len(paired) >= LEAST_PAIRED and heavy >= 0.5 * weight.sum()


def gains_of_logarithms(X, labels, weight):
    """Return what log-normal components would add to the log density of columns.

    It is 0 for columns with gaps, or with values that are not positive.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    labels : ndarray of int of shape (n_samples,)
    weight : ndarray of shape (n_samples,)
    """
    gains, is_positive = np.zeros(X.shape[1]), (X > 0).all(axis=0)
    for k in np.unique(labels):
        own = np.where(is_positive, X[labels == k], 1.0).astype(np.float64)
        width, logs = own.std(axis=0), np.log(own)
        varies = width > NO_WIDTH * own.max(axis=0)
        ratio = np.where(varies, width, 1.0) / np.where(varies, logs.std(axis=0), 1.0)
        gain = np.log(ratio) - np.where(varies, logs.mean(axis=0), 0.0)
        gains += weight[labels == k].sum() * gain
    return gains


def narrow_columns(X, variances, reg_covar, names):
    """Return the message of a warning about narrow components, or None.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    variances : ndarray of shape (n_features,)
        The smallest variance of a component in each column.
    reg_covar : ndarray of shape (n_features,)
    names : ndarray of shape (n_features,)
        Names or indices of the columns.

    Returns
    -------
    message : str or None
    """
    X = X[:: -(-len(X) // ENOUGH_ROWS)]
    narrow, blurred = np.flatnonzero(variances < NARROW * reg_covar), []
    for j in narrow:
        if len(_counted(X[:, j])[0]) < 2:
            continue
        variance = np.nanvar(X[:, j].astype(np.float64))
        if variance < BLURRED * reg_covar[j]:
            blurred.append(f"{names[j]} (variance {variance:.3g})")
    if blurred:  # whose components are narrow in any case
        return UNITS.format(columns=listed(blurred), reg_covar=reg_covar.max())
    atoms = discrete_columns((names[j], X[:, j]) for j in narrow)
    if atoms:
        return ATOMS.format(columns=listed(atoms), mixed=MIXED)
    return None


def about_discrete_columns(columns, n_columns):
    """Return the message of a warning before a fit, or None.

    The values of at least half of the columns, pairs of a label and numbers, are few or
    frequent.
    """
    found = discrete_columns(columns)
    if 2 * len(found) < n_columns:
        return None
    return DISCRETE.format(columns=listed(found))


def discrete_columns(columns):
    """Return texts about labelled columns whose values are no density."""
    found = []
    for label, numbers in columns:
        values, counts = _counted(numbers[:: -(-len(numbers) // ENOUGH_ROWS)])
        if len(values) > 1 and not is_density(values, counts):
            share, value = counts.max() / counts.sum(), values[counts.argmax()]
            found.append(f"{label} ({value:.6g} in {share:.0%} of the rows)")
    return found


def _counted(column):
    column = column.astype(np.float64)
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    return values, counts.astype(np.float64)

"""Initial responsibilities, as in scikit-learn's mixtures.

Unlike in scikit-learn, the draws do not depend on the order of the samples, and equal
samples count as one sample with the sum of their weights.  A sample of weight 2
therefore gives the same bits as two equal samples.  If all samples are different,
sorted and without weights, `STARTS_OF_SKLEARN` are the same as in scikit-learn, which
moves centres of k-means without samples, however.
"""

import functools

import numpy as np
from scipy.special import ndtri
from sklearn.utils import gen_batches

from .._families._normal_wishart import COVARIANCES
from .._utils import _budgets
from .._utils._validation import ROUNDING, check_variances, checked_floats
from . import _kernels
from ._gaps import GappedRows, block_of, completed, has_gaps

# -- the units of columns --------------------------------------------------------------
#: Number of rows that are enough for the spreads of columns, for the comparison of
#: covariance types, and for checks after a fit.
ENOUGH_ROWS = 5_000
#: The range of a normal distribution from its first to its last decile, in standard
#: deviations.
DECILES = 2.0 * ndtri(0.9)
#: A column is constant if its standard deviation is at most this share of its mean.
NO_WIDTH = 1e-7
#: Variance that ``reg_covar="auto"`` adds, as a share of the squared spread of columns.
#: The default of scikit-learn is the same number, in columns of any unit.
FLOOR = 1e-6
#: Smaller shares of a variance are rounding errors.
NO_VARIANCE = 1e-12


def weights_of(X, weight):
    """Return the weights of rows, which are 1 if they are not given, or all 0."""
    return np.ones(len(X)) if weight is None or not weight.any() else weight


def spreads(X, weight=None):
    """Return the spread of each column, a standard deviation that outliers do not move.

    It is the standard deviation of a normal distribution with the first and the last
    decile of the column.  If these are equal, it is the root mean squared distance from
    them.  It is 0 if all values are equal.  NaN is ignored.
    """
    step = -(-len(X) // ENOUGH_ROWS)
    is_weighted = weight is not None and weight[::step].any()
    weight = weight[::step] if is_weighted else np.ones(len(X[::step]))
    rows = np.asarray(X[::step], dtype=np.float64)
    found = np.zeros(rows.shape[1])
    if not (is_weighted or np.isnan(rows).any()):  # faster, with the same bits
        ends = [-(-len(rows) // 10) - 1, -(-9 * len(rows) // 10) - 1]
        low, high = np.partition(rows, ends, axis=0)[ends]
        found = (high - low) / DECILES
    for j in np.flatnonzero(found == 0):
        found[j] = _spread(rows[:, j], weight)
    return found


def _spread(column, weight):
    order = np.argsort(column)
    values = column[order]  # NaN is last
    weight = np.where(np.isnan(values), 0.0, weight[order])
    shares = np.cumsum(weight)
    ends = np.searchsorted(10.0 * shares, [shares[-1], 9.0 * shares[-1]])
    low, high = values[ends]
    if high > low:
        return (high - low) / DECILES
    squares = np.where(weight > 0, values - low, 0.0) ** 2
    return np.sqrt(weight @ squares / (shares[-1] or 1.0))


def floors(X, weight, variances):
    """Return the variance that ``reg_covar="auto"`` adds to each column.

    A constant column gets the mean of the other columns.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    weight : ndarray of shape (n_samples,) or None
    variances : ndarray of shape (n_features,)
        Variances of the columns.
    """
    squares = spreads(X, weight) ** 2
    found = np.maximum(FLOOR * squares, NO_VARIANCE * variances)
    varies = squares > 0
    rest = found[varies].mean() if varies.any() else FLOOR
    return np.where(varies, found, rest)


# -- initial responsibilities, as in scikit-learn's mixtures ---------------------------
#: k-means ends when the squared movement of its centres is below this multiple of the
#: variance of the data, and expectation maximisation when the covariance changes by
#: less than this multiple.
TOL = 1e-4
#: Largest number of steps of k-means.
KMEANS_STEPS = 300
#: k-means uses this number of rows, or this number per component if that is larger.
KMEANS_ROWS, KMEANS_ROWS_PER_COMPONENT = 4_000, 200
#: Least total weight of a cluster.
TINY = np.finfo(np.float64).tiny


def from_distinct(start, is_scaled, X, n_components, random, weight=None):
    """Return the responsibilities of a start, a function of `STARTS`.

    They do not depend on the units of columns if ``is_scaled``.
    """
    rows, weight, places = distinct_rows(X, weight)
    rows = standardized(rows, weight) if is_scaled else rows
    return start(rows, n_components, random, weight)[places]


def standardized(rows, weight):
    means = np.average(rows, axis=0, weights=weight)
    moved = rows - means
    units = np.sqrt(np.average(moved**2, axis=0, weights=weight))
    varies = units > NO_WIDTH * np.abs(means)
    moved = np.where(varies, moved / np.where(varies, units, 1.0), 0.0)
    return moved.astype(rows.dtype)


def from_kmeans(rows, n_components, random, weight=None, most=None):
    """Return responsibilities of 1 for the cluster of each row, see `kmeans_labels`."""
    labels = kmeans_labels(rows, n_components, random, weight, most)
    return np.eye(n_components)[labels]


def kmeans_labels(rows, n_components, random, weight=None, most=None):
    """Return the nearest centre of each row, by k-means of some rows.

    Algorithm and draws are those of scikit-learn's `KMeans`, whose calls take longer
    than the computation if rows are few.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Distinct rows.
    n_components : int
    random : numpy.random.RandomState
    weight : ndarray of shape (n_rows,) or None
    most : int or None
        Largest number of rows of k-means, which are drawn at random; by default
        KMEANS_ROWS, or KMEANS_ROWS_PER_COMPONENT per component if that is more.
    """
    most = most or max(KMEANS_ROWS, KMEANS_ROWS_PER_COMPONENT * n_components)
    rows, weight = _centred(rows, weight)
    part, own = rows, weight
    if len(rows) > most:
        some = np.sort(random.permutation(len(rows))[:most])
        part, own = rows[some], weight[some]
    centres = part[_kmeans_seeds(part, own, min(n_components, len(part)), random)]
    least = TOL * (own @ part**2).mean() / own.sum()
    for _ in range(KMEANS_STEPS):
        sums = np.zeros((len(centres), 1 + part.shape[1]))
        _nearest(part, own, centres, sums)
        counts = sums[:, :1]
        moved = np.where(counts > 0, sums[:, 1:] / np.maximum(counts, TINY), centres)
        change, centres = ((moved - centres) ** 2).sum(), moved
        if change <= least:
            break
    return _nearest(rows, weight, centres)


def _centred(rows, weight):
    """Return rows less their mean, in float64, and their weights."""
    weight = np.ones(len(rows)) if weight is None else weight
    rows = rows.astype(np.float64)
    rows -= weight @ rows / weight.sum()
    return rows, weight


def _nearest(rows, weight, centres, sums=None):
    """Return the nearest centre of each row, see `_kernels.nearest_centres`."""
    labels = np.empty(len(rows), dtype=np.intp)
    for part in _budgets.slices(len(rows), centres.size, _budgets.TERMS_AT_ONCE):
        _kernels.nearest_centres(rows[part], weight[part], centres, labels[part], sums)
    return labels


def _kmeans_seeds(rows, weight, n_seeds, random):
    """Return the indices of seeds by k-means++, each the best of several draws."""
    n_draws, nearest = 2 + int(np.log(n_seeds)), np.full(len(rows), np.inf)
    seeds, distances, ends = [], np.empty((n_draws, len(rows))), weight.cumsum()
    for number in range(n_seeds):
        places = random.random_sample(n_draws if number else 1) * ends[-1]
        drawn = np.minimum(ends.searchsorted(places, side="right"), len(rows) - 1)
        given = rows, weight, drawn, nearest, distances
        best = _kernels.distances_to_seeds(*given).argmin()
        nearest[:] = distances[best]
        ends = (weight * nearest).cumsum()
        seeds.append(drawn[best])
    return seeds


def from_kmeans_plusplus(rows, n_components, random, weight=None):
    """Return responsibilities of 1 for rows that k-means++ chooses, 0 for others."""
    given = *_centred(rows, weight), min(n_components, len(rows))
    seeds = _kmeans_seeds(*given, random)
    return _seeded(len(rows), seeds, n_components)


def from_noise(rows, n_components, random, weight=None):
    responsibilities = random.uniform(size=(len(rows), n_components))
    return responsibilities / responsibilities.sum(axis=1, keepdims=True)


def from_data(rows, n_components, random, weight=None):
    """Return responsibilities of 1 for rows drawn at random, 0 for others."""
    n_seeds = min(n_components, len(rows))
    shares = None if weight is None else weight / weight.sum()
    seeds = random.choice(len(rows), n_seeds, replace=False, p=shares)
    return _seeded(len(rows), seeds, n_components)


def from_means(means, X, n_components, random, weight=None):
    """Return responsibilities of 1 for the nearest mean of each sample.

    Distances are in standard deviations of the columns.
    """
    rows, weight = _centred(X, weight)
    units = np.sqrt(weight @ rows**2 / weight.sum())
    units = np.where(units > 0, units, 1.0)
    centre = X[0] - rows[0]
    labels = _nearest(rows / units, weight, (means - centre) / units)
    return np.eye(n_components)[labels]


def check_weights_init(weights, n_components):
    """Return initial weights as a valid array, (n_components,)."""
    weights = checked_floats(weights, "weights_init")
    if weights.shape != (n_components,):
        raise ValueError(
            f"weights_init has shape {weights.shape}; expected ({n_components},)."
        )
    if not ((weights >= 0).all() and np.isclose(weights.sum(), 1.0)):
        raise ValueError("weights_init must not be negative, and must sum to 1.")
    return weights


def _seeded(n_rows, seeds, n_components):
    responsibilities = np.zeros((n_rows, n_components))
    responsibilities[seeds, np.arange(len(seeds))] = 1.0
    return responsibilities


def order_of_rows(X):
    """Return the order that sorts the rows by the first column, then by the second."""
    order = np.argsort(X[:, 0], kind="stable")
    if (np.diff(X[order, 0]) == 0).any():
        order = np.lexsort(X.T[::-1])
    return order


def distinct_rows(X, weight=None):
    """Return the distinct rows in increasing order, and the weight of each.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    weight : ndarray of shape (n_samples,) or None

    Returns
    -------
    rows : ndarray of shape (n_rows, n_features)
    weight : ndarray of shape (n_rows,) or None
        Weights of the distinct rows; None if all weights are equal.
    places : ndarray of shape (n_samples,)
        Index of each sample among the distinct rows.
    """
    order = order_of_rows(X)
    rows, new = X[order], np.ones(len(X), dtype=bool)
    if (rows[1:, 0] == rows[:-1, 0]).any():
        new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    places = np.empty(len(X), dtype=np.intp)
    places[order] = np.cumsum(new) - 1
    weight = np.bincount(places, weights=weight).astype(np.float64)
    return rows[new], None if (weight == weight[0]).all() else weight, places


def sample_rows(X, weight=None, most=_budgets.ROWS_SAMPLED):
    """Return evenly spaced rows with positive weights, at most ``most``, and these.

    The third value is the total weight of all rows, divided by the total weight of the
    returned rows.
    """
    if weight is None or not weight.any():
        step = -(-len(X) // most)
        return X[::step], None, len(X) / len(X[::step])
    rows = np.flatnonzero(weight > 0)
    rows = rows[:: -(-len(rows) // most)]
    return X[rows], weight[rows], weight.sum() / weight[rows].sum()


def mean_and_covariance(X, weight=None):
    """Return mean and covariance of the rows in float64, without copying all rows."""
    weight, parts = weights_of(X, weight), list(gen_batches(len(X), 4096))
    total = weight.sum()
    blocks = (X[part].astype(np.float64, order="C") for part in parts)
    mean = sum(weight[part] @ block for part, block in zip(parts, blocks, strict=True))
    mean /= total
    squares = np.zeros((X.shape[1], X.shape[1]))
    for part in parts:
        rows = np.subtract(X[part], mean, order="C")
        squares += (weight[part, None] * rows).T @ rows
    is_constant = constant_columns(X)
    squares[is_constant] = squares[:, is_constant] = 0.0
    return mean, squares / (total - 1 if total > 1 else 1)


def constant_columns(X):
    """Return whether columns have one value, whose variance is not that of rounding."""
    return np.fmin.reduce(X, axis=0) == np.fmax.reduce(X, axis=0)


#: Functions of distinct rows for the values of ``init_params``.
STARTS = {
    "kmeans": from_kmeans,
    "k-means++": from_kmeans_plusplus,
    "random": from_noise,
    "random_from_data": from_data,
}
#: The same, with k-means of all rows as in scikit-learn.
STARTS_OF_SKLEARN = STARTS | {
    "kmeans": functools.partial(from_kmeans, most=_budgets.ROWS_SAMPLED)
}


def start_and_floor(settings, dtype):
    """Return the arguments of the model that set its start and `reg_covar`.

    Results depend on the units of columns only with the priors of scikit-learn, or if
    covariances are spherical, which needs columns of one unit.  The scores of
    "low_rank" have one unit, and their widths tell where clusters are.
    """
    is_learned, reg_covar = settings.priors == "learned", settings.reg_covar
    start = (STARTS if is_learned else STARTS_OF_SKLEARN)[settings.init_params]
    is_scaled = is_learned and settings.covariance_type not in ("spherical", "low_rank")
    if not is_learned and reg_covar == "auto":
        reg_covar = FLOOR  # the default of scikit-learn
    if reg_covar != "auto":
        check_variances(max(reg_covar, 1.0), dtype, "reg_covar")
    return {
        "init": functools.partial(from_distinct, start, is_scaled),
        "weights_init": settings.weights_init,
        "means_init": settings.means_init,
        "precisions_init": settings.precisions_init,
        "reg_covar": reg_covar,
    }


# -- starts of Gaussian mixtures from rows with missing values -------------------------
#: With more columns, missing values are filled with column means, not by regression.
MOST_CORRELATED = 50
#: Largest number of steps of expectation maximisation.
STEPS = 50
#: Least number of rows, per column of X, in which any two columns both have values.
#: With few but some such rows, a learned prior copies their correlations, and held-out
#: densities fall by up to tens of nats per row.
ROWS_PER_COLUMN = 10


def shows_correlations(X, weight):
    """Return whether enough rows have values in both columns of each pair of columns.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    weight : ndarray of shape (n_samples,) or None
    """
    weight = weights_of(X, weight)
    step = -(-len(X) // _budgets.ROWS_COMPARED)
    known = (~np.isnan(X[::step])).astype(np.float64)
    pairs = (step * weight[::step] * known.T) @ known
    return bool(pairs.min() >= ROWS_PER_COLUMN * X.shape[1])


def moments_of(X, weight, is_full):
    """Return the mean and the covariance of rows, and two flags.

    These are whether values are missing, and whether the covariance of rows with gaps
    is diagonal although ``is_full``, because too few rows show correlations.
    """
    if not has_gaps(X):
        return *mean_and_covariance(X, weight), False, False
    shown = is_full and shows_correlations(X, weight)
    moments = mean_and_covariance_with_gaps(X, weight, shown)
    return *moments, True, is_full and not shown


def mean_and_covariance_with_gaps(X, weight, is_full, default=None):
    """Return the mean and the covariance of rows with missing values.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    weight : ndarray of shape (n_samples,) or None
    is_full : bool
        True fits a Gaussian by expectation maximisation.  False computes the mean and
        the variance of the observed values of each column, without covariances.
    default : ndarray of shape (n_features,) or None
        Means of columns without a value, which are 0 without a default; their variances
        are the mean of those of other columns.

    Raises
    ------
    ValueError
        If no column has a value.
    """
    weight = weights_of(X, weight)
    step = -(-len(X) // _budgets.ROWS_COMPARED)
    if weight[::step].any():
        X, weight = X[::step], weight[::step]
    X = np.asarray(X, dtype=np.float64, order="C")
    known = ~np.isnan(X)
    totals = weight @ known
    if not totals.any():
        raise ValueError("X has only missing values (NaN).")
    mean = weight @ np.where(known, X, 0.0) / np.where(totals > 0, totals, 1.0)
    mean = np.where(totals > 0, mean, 0.0 if default is None else default)
    squares = weight @ np.where(known, X - mean, 0.0) ** 2
    variances = squares / np.maximum(totals - 1.0, 1.0)
    variances[constant_columns(X)] = 0.0
    variances[totals == 0] = variances[totals > 0].mean()
    if not is_full:
        return mean, np.diag(variances)
    return _fit_gaussian(X, weight, mean, variances)


def _fit_gaussian(X, weight, mean, variances):
    """Return the mean and the covariance of a Gaussian that is fitted to rows."""
    total, origin = weight.sum(), mean
    units = np.sqrt(np.where(variances > 0, variances, 1.0))
    parts = list(gen_batches(len(X), _budgets.ROWS_AT_ONCE))
    blocks = [GappedRows((X[part] - origin) / units) for part in parts]
    mean, covariance = np.zeros(len(units)), np.diag((variances > 0).astype(float))
    kind, centre = COVARIANCES["full"](len(units)), np.zeros(len(units))
    ridge = ROUNDING * np.eye(len(units))
    for _ in range(STEPS):
        given = kind, (mean[None], 1.0, kind.factors((covariance + ridge)[None])[0])
        own = [
            completed(block, centre, *given, weight[part, None])[2:]
            for part, block in zip(parts, blocks, strict=True)
        ]
        (sums,), (second,) = map(sum, zip(*own, strict=True))
        mean, second = sums[1:] / total, kind.unpacked(second)
        before, covariance = covariance, second / total - np.outer(mean, mean)
        if np.abs(covariance - before).max() < TOL:
            break
    covariance *= total / (total - 1.0) if total > 1 else 1.0
    return origin + units * mean, covariance * np.outer(units, units)


def impute(X, weight, is_full, default=None):
    """Return rows with missing values replaced by means.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    weight : ndarray of shape (n_samples,) or None
    is_full : bool
        True uses means given the observed values of the row, and False column means.
    default : ndarray of shape (n_features,) or None
        Means of columns without a value.
    """
    is_full = is_full and X.shape[1] <= MOST_CORRELATED
    mean, covariance = mean_and_covariance_with_gaps(X, weight, is_full, default)
    out = np.where(np.isnan(X), mean.astype(X.dtype), X)
    if not is_full:
        return out
    units = np.sqrt(np.where(np.diag(covariance) > 0, np.diag(covariance), 1.0))
    scaled = covariance / np.outer(units, units) + ROUNDING * np.eye(len(units))
    kind, centre = COVARIANCES["full"](len(units)), np.zeros(len(units))
    given = centre, kind, (centre[None], 1.0, kind.factors(scaled[None])[0])
    for part in gen_batches(len(X), _budgets.ROWS_AT_ONCE):
        block = block_of((X[part].astype(np.float64) - mean) / units)
        if isinstance(block, GappedRows):
            _, rows, *_ = completed(block, *given, np.ones((len(block), 1)))
            out[part] = np.where(block.missing, mean + units * rows, X[part])
    return out

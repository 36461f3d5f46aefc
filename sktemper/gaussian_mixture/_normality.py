"""A test whether the rows of each component are normally distributed."""

import numpy as np

from ..model import IllDefined

#: Limits of the standardised kurtosis and skewness of one component.  The limits of the
#: largest of several grow as those of normal numbers, see `_limit`.
MOST_KURTOSIS, MOST_SKEWNESS = 2.5, 4.0
#: A component is tested if it has more rows than ROWS, plus ROWS_PER_COLUMN times the
#: number of columns if its covariance is full.
ROWS, ROWS_PER_COLUMN = 10, 2
#: Least share of the rows in components that are tested.
LEAST_TESTED = 0.7
#: Largest responsibility that is negligible.
NO_SHARE = 1e-6


def are_normal(family, block, shares, row_weight):
    """Return whether components pass a test of normality.

    The test compares Mardia's kurtosis [1]_, and the skewness of whitened columns, with
    those of samples of a normal distribution.  Moments are weighted by
    responsibilities.  Components with few rows pass, unless they have most rows
    together.

    Parameters
    ----------
    family : GaussianFamily
        Family of a single cluster, in the coordinates of the parameters.
    block : ndarray of shape (n_rows, n_features)
    shares : ndarray of shape (n_rows, n_components)
        Responsibilities.
    row_weight : ndarray of shape (n_rows,)

    Returns
    -------
    passed : bool

    References
    ----------
    .. [1] K. V. Mardia, "Measures of multivariate skewness and kurtosis with
       applications", Biometrika 57, 1970.
    """
    D, kind = family.n_features, family.covariance
    counts, statistics = family.statistics(block, shares, row_weight)
    large = counts > ROWS + (ROWS_PER_COLUMN * D if kind.products else 0)
    if counts[large].sum() < LEAST_TESTED * counts.sum():
        return False
    counts, shares, parts = counts[large], shares[:, large], statistics[large]
    parts = family.split(parts)
    means, scatter = kind.centred(counts, parts.means, parts.second)
    try:
        factors, _ = kind.factors(scatter / kind.widened(counts))
    except IllDefined:
        return False
    rows, n_tested = block - family.origin, len(counts)
    for k, count in enumerate(counts):
        own = np.flatnonzero(shares[:, k] > NO_SHARE)
        share, white = shares[own, k], rows[own] - means[k]
        weight = row_weight[own] * share
        white = white @ factors[k].T if kind.products else white * factors[k]
        n = count**2 / (weight @ share)
        squares = white**2
        mean, variance = _kurtosis_of_samples(n, D, kind.products)
        kurtosis = weight @ squares.sum(axis=1) ** 2 / count - mean
        if abs(kurtosis) > _limit(MOST_KURTOSIS, n_tested) * np.sqrt(variance):
            return False
        skewness = weight @ (white * squares) / count
        square = n * (skewness**2).sum() / 6
        if square > D + _limit(MOST_SKEWNESS, n_tested) * np.sqrt(2 * D):
            return False
    return True


def _kurtosis_of_samples(n, D, is_full):
    """Return the mean and the variance of the kurtosis of n normal samples [1]_.

    They are exact if samples are whitened by a full covariance, and else those for
    variances of columns, up to terms of higher order in 1 / n.
    """
    usual, variance = D * (D + 2), 8 * D * (D + 2) / n
    if not is_full:
        return usual - 6 * D / (n + 1), variance
    variance *= n * (n - 3) * (n - D - 1) * (n - D + 1)
    return usual * (n - 1) / (n + 1), variance / ((n + 1) ** 2 * (n + 3) * (n + 5))


def _limit(limit, n_tested):
    """Return the limit of the largest of several numbers, given that of one."""
    return np.sqrt(limit**2 + 2 * np.log(n_tested))

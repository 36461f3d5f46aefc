"""A test whether the rows of each component are normally distributed."""

import numpy as np

from ..model import IllDefined

#: Limits of the standardised kurtosis and skewness of a component.
MOST_KURTOSIS, MOST_SKEWNESS = 2.5, 4.0
#: A component is tested if it has more rows than ROWS plus ROWS_PER_PARAMETER times the
#: number of parameters of its covariance, divided by the number of columns.
ROWS, ROWS_PER_PARAMETER = 40, 10
#: Least share of the rows in components that are tested.
LEAST_TESTED = 0.7
#: Largest responsibility that is negligible.
NO_SHARE = 1e-6


def are_normal(family, block, shares, row_weight):
    """Return whether components pass a test of normality.

    The test compares Mardia's kurtosis [1]_, and the skewness of whitened columns, with
    those of a normal distribution.  Moments are weighted by responsibilities.
    Components with few rows pass, unless they have most rows together.

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
    large = counts > ROWS + ROWS_PER_PARAMETER * kind.n_kept / D
    if counts[large].sum() < LEAST_TESTED * counts.sum():
        return False
    counts, shares, parts = counts[large], shares[:, large], statistics[large]
    parts = family.split(parts)
    means, scatter = kind.centred(counts, parts.means, parts.second)
    try:
        factors, _ = kind.factors(scatter / kind.widened(counts))
    except IllDefined:
        return False
    rows = block - family.origin
    for k, count in enumerate(counts):
        own = np.flatnonzero(shares[:, k] > NO_SHARE)
        share, white = shares[own, k], rows[own] - means[k]
        weight = row_weight[own] * share
        white = white @ factors[k].T if kind.products else white * factors[k]
        n = count**2 / (weight @ share)
        squares = white**2
        kurtosis = weight @ squares.sum(axis=1) ** 2 / count - D * (D + 2)
        if abs(kurtosis) > MOST_KURTOSIS * np.sqrt(8 * D * (D + 2) / n):
            return False
        skewness = weight @ (white * squares) / count
        square = n * (skewness**2).sum() / 6
        if square > D + MOST_SKEWNESS * np.sqrt(2 * D):
            return False
    return True

"""Regressions: covariates as columns of numbers, intervals, and p-values.

Intervals and p-values of linear estimates hold also if few rows determine them.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.sparse import issparse
from scipy.special import gammaln
from sklearn.utils import check_array

from ._arguments import check_interval
from ._frames import as_frame, is_frame
from ._validation import ROUNDING, check_values
from ._values import column_values

# -- covariates as columns of numbers --------------------------------------------------
#: Largest condition number of a matrix that is inverted.
MOST_CONDITION = 1e8


def check_dense(data, role):
    if issparse(data):
        raise ValueError(
            f"The {role}s are a sparse matrix, but must be dense: pass its toarray()."
        )


def named_columns(data, role="covariate", known=()):
    """Yield the names and values of columns; raise if values are missing.

    A series, or an array or list of one value for each row, is one column.  The column
    of ones that formulaic and patsy put into a model matrix is left out.
    """
    check_dense(data, role)
    if hasattr(data, "to_frame"):
        name = str("x0" if data.name is None else data.name or "x0")
        data = data.to_frame(name)
    if is_frame(data := as_frame(data)):
        given = list(map(str, data.columns))
    else:
        is_text = np.asarray(data).dtype.kind in "OUST"
        data = np.asarray(data, dtype=object) if is_text else np.asarray(data)
        data = data[:, None] if data.ndim == 1 else data
        kind = object if is_text else np.float64
        data = check_array(
            data, dtype=kind, input_name=f"{role}s", ensure_all_finite=not is_text
        )
        given = [f"x{number}" for number in range(data.shape[1])]
    check_distinct(given, role)
    for name, values in zip(given, column_values(data), strict=True):
        may_drop = name == "Intercept" and role == "covariate" and name not in known
        if may_drop and np.all(values.array == 1):
            continue  # of a model matrix
        if values.missing().any():
            raise ValueError(
                f"The {role} {name!r} has missing values: leave out these samples, "
                "from the other data too, or fill them in."
            )
        yield name, values


def check_distinct(names, role):
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(
            f"Several columns of the {role}s have the name {repeated[0]!r}, so that "
            "their results could not be told apart: rename them."
        )


class Design:
    """The coefficients of a regression, and the columns that they multiply.

    Numeric covariates are one column.  Text, categories and booleans of a data frame
    are an indicator for each value that occurs, except the first.  Coefficients and
    their covariance are computed, and combined, in the units of `scaled`: in those of
    the covariates, the digits of a slope are lost in the intercept of a covariate that
    is far from 0.

    Parameters
    ----------
    covariates : DataFrame or array-like of shape (n_samples, n_covariates)

    Attributes
    ----------
    names : list of n_coefficients str
        "(intercept)", and the other columns.
    given : list of str
        Names of the covariates.
    levels : list
        The values of each covariate with indicators, None for a number.
    centre, spread : ndarray of shape (n_coefficients,)
        Places and units of the columns, 0 and 1 for the intercept.
    units : ndarray of shape (n_coefficients, n_coefficients)
        Matrix from coefficients of scaled columns to those of the covariates.
    """

    def __init__(self, covariates):
        self.names, self.given, self.levels = ["(intercept)"], [], []
        for name, values in named_columns(covariates):
            if (values.array == values.array[0]).all():
                raise ValueError(
                    f"The covariate {name!r} has the same value everywhere: leave it "
                    "out."
                )
            levels = None
            if not values.is_numeric or values.declared is not None:
                occurs = (c for c in values.categories() if (values.array == c).any())
                levels = list(occurs)
            self.given.append(name)
            self.levels.append(levels)
            self.names += (
                [name] if levels is None else [f"{name}={c}" for c in levels[1:]]
            )
        check_distinct(self.names, "covariate")

    @property
    def owners(self):
        """The covariate of each column that is an indicator, None for others."""
        owners = [None]
        for name, levels in zip(self.given, self.levels, strict=True):
            owners += [None] if levels is None else [name] * len(levels[1:])
        return owners

    def rows(self, covariates):
        """Return the columns for covariates, (n_samples, n_coefficients)."""
        found = list(named_columns(covariates, known=self.given))
        if [name for name, _ in found] != self.given:
            raise ValueError(
                f"The covariates must be {self.given}, in this order, got "
                f"{[name for name, _ in found]}."
            )
        columns = [np.ones(len(covariates))]
        for (name, values), levels in zip(found, self.levels, strict=True):
            if levels is None:
                if not values.is_numeric:
                    raise ValueError(
                        f"The covariate {name!r} has numbers in the regression: give "
                        "numbers here, too."
                    )
                check_values(values.array, np.float64, f"Covariate {name!r}", True)
                columns.append(values.array)
                continue
            unknown = set(values.array) - set(levels)
            if unknown:
                raise ValueError(
                    f"The covariate {name!r} has values that are not in the data of "
                    f"the regression: {sorted(map(str, unknown))}."
                )
            columns += [(values.array == level).astype(float) for level in levels[1:]]
        return np.column_stack(columns)

    def set_units(self, centre, spread):
        self.centre, self.spread = centre, np.where(spread > 0, spread, 1.0)
        self.centre[0], self.spread[0] = 0.0, 1.0
        self.units = np.diag(1.0 / self.spread)
        self.units[0, 1:] = -self.centre[1:] / self.spread[1:]

    def scaled(self, Z):
        return (Z - self.centre) / self.spread

    def standardized(self, Z, weight):
        """Return scaled columns of variance 1; raise if they are dependent."""
        centre = weight @ Z / weight.sum()
        self.set_units(centre, np.sqrt(weight @ (Z - centre) ** 2 / weight.sum()))
        scaled = self.scaled(Z)
        if np.linalg.cond((scaled * weight[:, None]).T @ scaled) > MOST_CONDITION:
            raise ValueError(
                f"Some of the covariates {self.names[1:]} are sums of others: leave "
                "one out."
            )
        return scaled


# -- intervals and p-values of linear estimates ----------------------------------------
#: Number of permutations of the residuals of rows.
N_PERMUTATIONS = 1999
#: Seed of permutations where a function has no ``random_state``.
SEED = 0
#: Number of the largest statistics that describe the tail beyond all permutations, and
#: number of larger statistics below which a p-value is that of the tail.
N_TAIL, FEW_LARGER = 100, 4
TINY = np.finfo(float).tiny


class Permuted(NamedTuple):
    """Linear estimates, and their deviations if the residuals of rows are permuted.

    Rows are exchangeable if covariates have no effects, so that these p-values hold for
    groups of one row and for any distribution, where a sandwich does not.

    Attributes
    ----------
    values : ndarray of shape (n_estimates, n_outcomes)
    deviations : ndarray of shape (n_permutations, n_estimates, n_outcomes)
        Those of residuals from all effects.
    products : ndarray of shape (n_estimates, n_estimates)
        Sums of products of loadings over rows.
    permuted_products : ndarray of shape (n_permutations, n_estimates, n_estimates)
        The same with the loadings of permuted rows, for residuals from a model without
        the tested effects [1]_.
    least : ndarray of shape (n_estimates,)
        About the smallest p-value that permutations can have: one divided by the number
        of choices of as many rows as determine the estimate.
    is_tested : ndarray of bool of shape (n_estimates,)
        Whether permutations test the estimate: they do not change the mean of the
        outcome, on which an intercept depends.

    References
    ----------
    .. [1] D. Freedman, D. Lane, "A nonstochastic interpretation of reported
       significance levels", Journal of Business & Economic Statistics 1, 1983.
    """

    values: np.ndarray
    deviations: np.ndarray
    products: np.ndarray
    permuted_products: np.ndarray
    least: np.ndarray
    is_tested: np.ndarray

    @classmethod
    def of_rows(cls, values, loadings, residuals, random, *, n_means=1, noise=None):
        """Permute the rows of residuals, (n_rows, n_outcomes).

        Estimates are sums of ``loadings``, (n_rows, n_estimates), times residuals; the
        first ``n_means`` depend on the mean of the outcome.  ``noise`` has covariances
        that do not come from rows, by outcome.
        """
        (n, n_estimates), mean = loadings.shape, loadings.mean(axis=0)
        deviations, products = _permuted_sums(loadings, residuals, random)
        # permutations do not change a mean of residuals
        of_means = n * np.multiply.outer(residuals.var(axis=0), np.outer(mean, mean))
        noise = of_means if noise is None else of_means + noise
        variances, directions = np.linalg.eigh(noise)
        variances[variances < ROUNDING * variances[:, -1:]] = 0.0
        root = directions * np.sqrt(variances)[:, None]
        root = root @ directions.transpose(0, 2, 1)  # stable, unlike the directions
        normal = random.standard_normal((N_PERMUTATIONS, len(root), n_estimates))
        deviations = deviations + np.einsum("kij,bkj->bik", root, normal)
        squares = loadings**2
        n_rows = squares.sum(axis=0) ** 2 / (squares**2).sum(axis=0)  # that determine
        n_rows = np.minimum(n_rows, 0.5 * n)
        choices = gammaln(n + 1) - gammaln(n_rows + 1) - gammaln(n - n_rows + 1)
        is_tested = np.arange(n_estimates) >= n_means
        products = loadings.T @ loadings, products
        return cls(values, deviations, *products, np.exp(-choices), is_tested)

    def of(self, matrix):
        """Return linear combinations of the estimates."""
        sums = (matrix @ part for part in self[:2])
        products = (matrix @ part @ matrix.T for part in self[2:4])
        has = matrix != 0
        is_tested = ~(has & ~self.is_tested).any(axis=1)
        return Permuted(*sums, *products, (has * self.least).max(axis=1), is_tested)

    def of_outcomes(self, matrix):
        """Return linear combinations of the outcomes."""
        return Permuted(*(part @ matrix for part in self[:2]), *self[2:])

    def uncertainty(self, values, errors, interval, freedom=np.inf, stretches=False):
        """Return columns of a table of values and errors, (n_outcomes, n_estimates).

        Deviations have at least the standard deviations ``errors`` if it ``stretches``.
        They test the values whose intervals they are, and `p_values` the estimates, so
        that an interval has 0 inside if and only if the p-value is large.
        """
        check_interval(interval)
        deviations = self.deviations.transpose(0, 2, 1)
        if stretches:
            spread = np.sqrt((deviations**2).mean(axis=0))
            ratio = np.maximum(errors / np.maximum(spread, TINY), 1.0)
            deviations = deviations * ratio
        half = np.quantile(np.abs(deviations), interval, axis=0, method="higher")
        own = exceedance(values**2, deviations**2, self.least)
        p_value = np.maximum(self.p_values().T, own)
        return uncertainty(values, errors, half, interval, freedom, p_value)

    def p_values(self):
        """Return the p-value of each estimate, 0 if permutations do not test it."""
        one, permuted = (np.diagonal(part, axis1=-2, axis2=-1) for part in self[2:4])
        ratio = permuted / np.maximum(one, TINY)
        permuted = self.deviations + ratio[:, :, None] * self.values
        p_values = exceedance(self.values**2, permuted**2, self.least[:, None])
        return np.where(self.is_tested[:, None], p_values, 0.0)

    def p_value(self):
        """Return the p-value of all estimates together."""
        unit = np.sqrt(np.diag(self.products))
        inverse = np.linalg.pinv(self.products / np.outer(unit, unit), hermitian=True)
        own = inverse @ (self.values / unit[:, None]) / unit[:, None]
        permuted = self.deviations + self.permuted_products @ own
        permuted = permuted.reshape(len(permuted), -1)
        scale = np.sqrt((permuted**2).mean(axis=0))
        scale[scale == 0.0] = 1.0
        permuted, values = permuted / scale, self.values.ravel() / scale
        inverse = np.linalg.pinv(np.atleast_2d(np.cov(permuted.T)), hermitian=True)
        squares = ((permuted @ inverse) * permuted).sum(axis=1)
        least = self.least.min()
        return float(exceedance(values @ inverse @ values, squares, least))

    def quantile(self, level, matrix=None):
        """Return quantiles of the absolute deviations of linear combinations."""
        matrix = np.eye(len(self.values)) if matrix is None else matrix
        deviations = (np.abs(row @ self.deviations) for row in matrix)
        found = [np.quantile(d, level, axis=0, method="higher") for d in deviations]
        return np.array(found)


def _permuted_sums(loadings, residuals, random):
    """Return sums of loadings of permuted rows times residuals, and times loadings."""
    both = np.hstack([residuals - residuals.mean(axis=0), loadings])
    scale = np.maximum(np.abs(both).max(axis=0), TINY) * ROUNDING
    order = np.lexsort(np.rint(both / scale).T)  # that of the data does not matter
    both, loadings = both[order], loadings[order]
    orders = (random.permutation(len(both)) for _ in range(N_PERMUTATIONS))
    drawn = np.stack([loadings[order].T @ both for order in orders])
    parts = np.split(drawn, [residuals.shape[1]], axis=2)
    return [np.ascontiguousarray(part) for part in parts]


def exceedance(statistics, permuted, least):
    """Return the shares of permuted statistics that are not smaller.

    Beyond the largest of them a generalised Pareto distribution takes their place,
    whose L-moments are those of the largest statistics, down to ``least``.
    """
    larger = (permuted >= statistics * (1.0 - ROUNDING)).sum(axis=0)
    shares = (1.0 + larger) / (1.0 + len(permuted))
    top = np.sort(permuted, axis=0)[-N_TAIL:]
    excess = top[1:] - top[0]
    ranks = np.linspace(0.0, 1.0, len(excess)).reshape(-1, *[1] * (excess.ndim - 1))
    mean = np.maximum(excess.mean(axis=0), ROUNDING * top[-1] + TINY)
    ratio = mean / (2.0 * (ranks * excess).mean(axis=0) - mean).clip(
        min=ROUNDING * mean
    )
    shape = np.clip(2.0 - ratio, ROUNDING, 1.0 - ROUNDING)
    beyond = np.maximum(statistics - top[0], 0.0) / (mean * (1.0 - shape))
    tail = N_TAIL / len(permuted) * stats.genpareto.sf(beyond, shape)
    tail = np.minimum(np.maximum(tail, least), shares)
    return np.where(larger < FEW_LARGER, tail, shares)


def uncertainty(values, errors, half, interval, freedom=np.inf, p_value=0.0):
    """Return flat columns of a table, with p-values of the t distribution.

    Intervals are at least as wide as ``half`` on each side, and p-values at least as
    large as ``p_value``.  An interval contains 0 if the p-value is above its level.
    """
    half = np.maximum(half, stats.t.ppf(0.5 * (1.0 + interval), freedom) * errors)
    z = values / np.maximum(errors, TINY)
    p_value = np.maximum(2.0 * stats.t.sf(np.abs(z), freedom), p_value)
    half = np.where(p_value > 1.0 - interval, np.maximum(half, np.abs(values)), half)
    columns = {
        "stderr": errors,
        "z": z,
        "p_value": p_value,
        "low": values - half,
        "high": values + half,
    }
    return {name: part.ravel() for name, part in columns.items()}


def sandwich(loadings, residuals, rows):
    """Return the covariance of estimates for any variances of rows, by outcome.

    A squared residual has the mean (1 - h) times the variance of its row, with the
    leverage h; that part of the variance of all rows is added.
    """
    leverage, squares = (loadings * rows).sum(axis=1), residuals**2
    freedom = max(len(rows) - rows.shape[1], 1)
    squares += np.outer(leverage, squares.sum(axis=0) / freedom)
    n_estimates = loadings.shape[1]
    products = (loadings[:, :, None] * loadings[:, None]).reshape(len(rows), -1)
    return (squares.T @ products).reshape(-1, n_estimates, n_estimates)

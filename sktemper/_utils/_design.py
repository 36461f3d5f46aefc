"""Covariates of a regression as columns of numbers."""

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array

from ._frames import as_frame, is_frame
from ._validation import check_values
from ._values import column_values

#: Largest condition number of a matrix that is inverted.
MOST_CONDITION = 1e8


def check_dense(data, role):
    if issparse(data):
        raise ValueError(
            f"The {role}s are a sparse matrix, but must be dense: pass its toarray()."
        )


def named_columns(data, role="covariate"):
    """Yield the names and values of columns; raise if values are missing.

    A series, or an array or list of one value for each row, is one column.
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
    _check_distinct(given, role)
    for name, values in zip(given, column_values(data), strict=True):
        if values.missing().any():
            raise ValueError(
                f"The {role} {name!r} has missing values: leave out these samples, "
                "from the other data too, or fill them in."
            )
        yield name, values


def _check_distinct(names, role):
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
        _check_distinct(self.names, "covariate")

    @property
    def owners(self):
        """The covariate of each column that is an indicator, None for others."""
        owners = [None]
        for name, levels in zip(self.given, self.levels, strict=True):
            owners += [None] if levels is None else [name] * len(levels[1:])
        return owners

    def rows(self, covariates):
        """Return the columns for covariates, (n_samples, n_coefficients)."""
        found = list(named_columns(covariates))
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

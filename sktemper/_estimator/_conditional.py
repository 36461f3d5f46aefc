"""Distributions of some columns given others, in mixtures."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import logsumexp

from .._utils._arguments import columns_of
from .._utils._linalg import tiled_matmul
from .._utils._typing import ArrayLike, DataLike, Float
from .._utils._validation import checked_floats

#: Bisections of a quantile, which halve the number of floating-point numbers.
BISECTIONS = np.finfo(np.float64).bits


@dataclass(frozen=True)
class Conditional:
    """Distribution of some columns given others, from `conditional` of a mixture.

    Attributes
    ----------
    columns : list
        Names or indices of the columns of numbers that are not given, without those of
        the kind "histogram".
    options : dict of lists
        Options of the columns of options that are not given, by name or index; those of
        "histogram" columns are intervals.
    weights : ndarray of shape (n_samples, n_components)
        Probabilities of the components given the values.
    log_density : ndarray of shape (n_samples,)
        Logarithm of the density of the samples' other values given the given values;
        missing values are left out.
    """

    columns: list
    options: dict[Any, list]
    weights: np.ndarray = field(repr=False)
    log_density: np.ndarray = field(repr=False)
    _numbers: list = field(repr=False)
    _shares: dict[Any, np.ndarray] = field(repr=False)

    def mean(self) -> np.ndarray:
        """Return conditional means of numbers.

        Returns
        -------
        means : ndarray of shape (n_samples, n_columns)
            Infinite for lognormal columns.
        """
        means = [self._sum(own.mean()) for own in self._numbers]
        return np.reshape(means, (len(self.columns), len(self.weights))).T

    def quantiles(self, probabilities: Float | ArrayLike) -> np.ndarray:
        """Return conditional quantiles of numbers.

        Parameters
        ----------
        probabilities : float or array-like of shape (n_quantiles,)
            Between 0 and 1.

        Returns
        -------
        quantiles : ndarray of shape (n_samples, n_columns) or \
                (n_quantiles, n_samples, n_columns)
        """
        given = checked_floats(np.atleast_1d(probabilities), "probabilities")
        if not ((given > 0) & (given < 1)).all():
            raise ValueError("probabilities must be above 0 and below 1.")
        found = [[self._quantile(own, p) for own in self._numbers] for p in given]
        shape = len(given), len(self.columns), len(self.weights)
        found = np.reshape(found, shape).transpose(0, 2, 1)
        return found[0] if np.ndim(probabilities) == 0 else found

    def probabilities(self, column: Any) -> np.ndarray:
        """Return conditional probabilities of the options of a column.

        Parameters
        ----------
        column : str or int
            A column of `options`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_options)
        """
        if column not in self._shares:
            raise ValueError(
                f"{column!r} is no column of options that is not given, which are "
                f"{list(self._shares)}."
            )
        return tiled_matmul(self.weights, self._shares[column])

    def _sum(self, values):
        used = np.where(self.weights > 0, values, 0.0)
        return (self.weights * used).sum(axis=1)

    def _quantile(self, own, p):
        """Return the quantile p of each sample, which lies between the components'."""
        ends = np.broadcast_to(own.ppf(p), self.weights.shape)
        low = np.where(self.weights > 0, ends, np.inf).min(axis=1)
        high = np.where(self.weights > 0, ends, -np.inf).max(axis=1)
        low, high = _places(np.nextafter(low, -np.inf)), _places(high)
        for _ in range(BISECTIONS):
            middle = low // 2 + high // 2
            is_below = self._sum(own.cdf(_floats(middle)[:, None])) < p
            low = np.where(is_below, middle, low)
            high = np.where(is_below, high, middle)
        return _floats(high)


def _places(x):
    """Return the places of numbers in the order of all floating-point numbers."""
    bits = np.asarray(x, dtype=np.float64).view(np.int64)
    return np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)


def _floats(places):
    """Return the inverse of `_places`."""
    return _places(places.view(np.float64)).view(np.float64)


class Exponential:
    """Distribution of exp(x), for the distribution of x."""

    def __init__(self, inner):
        self.inner = inner

    def mean(self):
        return np.inf

    def ppf(self, p):
        return np.exp(self.inner.ppf(p))

    def cdf(self, x):
        return self.inner.cdf(np.log(np.maximum(x, np.finfo(float).tiny)))


# -- methods of mixtures with densities of some columns given others -------------------
# Such a mixture also has the methods `_validate_gapped`, which accepts missing values,
# and `_conditional_columns`, which returns distributions of numbers, and the labels and
# shares of options: dicts by name.  Distributions are those of each component, and have
# the shape (n_samples or 1, n_components).
def conditional(self, X: DataLike, given: Sequence) -> Conditional:
    """Return the distribution of some columns given others.

    Parameters
    ----------
    X : DataFrame or array-like of shape (n_samples, n_features)
        Data with all columns of the fit.  Missing values of given columns are left
        out.
    given : sequence of str or int, or of bool of shape (n_features,)
        Names or indices of the columns that are given, or a mask of them.

    Returns
    -------
    conditional : Conditional
        With the attribute ``log_density`` and the methods ``mean``, ``quantiles``
        and ``probabilities`` (of options) of the other columns.

    Raises
    ------
    ValueError
        If ``given`` has an unknown column, or all columns.

    Notes
    -----
    The distribution is that of the posterior predictive density of `score_samples`:
    a mixture with the weights of the components given the values.  That of
    Student-t mixtures has the parameters at their posterior means.
    """
    self._check_fitted()
    rows = np.array(self._validate_gapped(X, reset=False), dtype=np.float64)
    others = _others(self, given)
    known = np.delete(np.arange(rows.shape[1]), others)
    rows[:, known] = self._fitted_model().family.in_support(rows)[:, known]
    evidence = self._component_scores(rows)
    rows[:, others] = np.nan
    logs = self._component_scores(rows)
    totals = logsumexp(logs, axis=1)
    numbers, options = self._conditional_columns(rows, others)
    return Conditional(
        list(numbers),
        {name: labels for name, (labels, _) in options.items()},
        np.exp(logs - totals[:, None]),
        logsumexp(evidence, axis=1) - totals,
        list(numbers.values()),
        {name: shares for name, (_, shares) in options.items()},
    )


def _others(estimator, given):
    """Return the indices of the columns that are not given."""
    names = estimator._names()
    others = np.delete(np.arange(len(names)), columns_of(given, names, "given"))
    if not len(others):
        raise ValueError("given has all columns: leave out those to predict.")
    return others.tolist()


def component_scores(self, rows):
    """Return log weights plus predictive densities, (n_samples, n_components)."""
    state, model = self._state(), self._fitted_model()
    prepared = model.prepare(state.globals_, state.hyper)
    log_weights = model.weights.log_mean(state.globals_.weights)
    family, block = model.family_of(state.hyper), model.take(rows, slice(None))
    return family.log_predictive(block, prepared.tables, log_weights)

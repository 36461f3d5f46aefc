"""Priors of documents by cells: documents with the same covariates share a prior.

The equations are in doc/mathematics/lda.md.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, psi, xlogy

from .._utils._dates import MISSING, as_moment
from .._utils._evidence import least_gain
from .._utils._frames import as_frame, is_frame
from .._utils._inference import check_distinct
from .._utils._notices import warn
from .._utils._validation import check_unmasked

# -- sums of topic shares by cell, and the priors that follow --------------------------
#: Range of the precision with which the shares of cells scatter around the common ones.
LEAST_PRECISION, MOST_PRECISION = 1e-2, 1e5
#: Number of columns after those of topics, with sums of squares: of weights, of
#: weighted shares, and of these again, as a variance of the sums after steps.
N_SQUARES = 3


def added(a, b):
    """Return the sum of two arrays of cells, of which one may have more; None is 0."""
    if a is None or b is None:
        return b if a is None else a
    fewer, more = sorted((a, b), key=len)
    total = more.copy()
    total[: len(fewer)] += fewer
    return total


def stepped(cells, sums, rate, scale):
    """Return the sums of cells after a step, or None if no document had a cell so far.

    Documents without cells, for which ``sums`` is None, age the cells like others.
    """
    return added(_scaled(cells, 1.0 - rate), _scaled(sums, rate * scale))


def _scaled(cells, factor):
    if cells is None:
        return None
    factors = np.full(cells.shape[1], factor)
    factors[-1] **= 2
    return cells * factors


def with_shares(cells, shares):
    """Return sums of cells with other sums of topic shares, and the same squares."""
    return np.hstack([shares, cells[:, -N_SQUARES:]])


def sums_of_shares(gamma, alpha, factors, labels):
    """Return sums over the documents of each cell, (n_cells, n_topics + N_SQUARES).

    They are those of w_d (gamma_d - alpha_d) / sum_k gamma_dk, and of squares.  The
    cells ``labels`` are -1 if they are unknown.
    """
    shares = np.maximum(gamma - alpha, 0.0)
    shares /= (alpha.sum(axis=1) + shares.sum(axis=1))[:, None]
    squares = [shares.sum(axis=1) ** 2, *[np.square(shares).sum(axis=1)] * 2]
    terms = np.column_stack([shares, *squares]) * np.reshape(factors, (-1, 1))
    known = labels >= 0
    sums = np.zeros((labels.max(initial=-1) + 1, terms.shape[1]))
    np.add.at(sums, labels[known], terms[known])
    return sums


def shares_of_cells(cells, alpha):
    """Return the common mean topic shares, and those of each cell."""
    total, sums = alpha.sum(), cells[:, :-N_SQUARES]
    counts = (1.0 + total) * sums
    # as if each topic had one more document
    common = counts.sum(axis=0) + len(alpha) * (alpha / total)
    common /= common.sum()
    counts /= dispersion(cells, common, total)
    sizes = counts.sum(axis=1, keepdims=True)
    precision = best_precision(counts[sizes[:, 0] > 0], common)
    if precision == math.inf:
        return common, np.tile(common, (len(cells), 1))
    return common, (precision * common + counts) / (precision + sizes)


def dispersion(cells, common, total):
    """Return the ratio of the variance of sums to that of Dirichlet shares, at least 1.

    ``total`` is the sum of the parameters of the Dirichlet distribution.
    """
    weights, shares, variance = cells[:, -N_SQUARES:].sum(axis=0)
    square = common @ common
    expected = cells[:, :-N_SQUARES].sum() * (1.0 - square) / (1.0 + total)
    if not (expected > 0 and shares > 0):
        return 1.0
    scatter = (shares - square * weights) / expected
    return max(1.0, scatter) * max(1.0, variance / shares)


def priors_of_cells(cells, alpha):
    """Return ``alpha`` and the prior of each cell, (1 + n_cells, n_topics)."""
    common, shares = shares_of_cells(cells, alpha)
    priors = alpha * (shares / common)
    priors *= alpha.sum() / priors.sum(axis=1, keepdims=True)
    return np.vstack([alpha, priors])


def best_precision(counts, mean):
    """Return the precision a with the largest likelihood of the counts of cells.

    The counts of a cell are Dirichlet-multinomial, with the parameters ``a * mean``.
    The result is infinite unless the likelihood is much higher than for equal cells.
    """
    sizes = counts.sum(axis=1)

    def slope(log_a):
        a = math.exp(log_a)
        gain = (mean * (psi(a * mean + counts) - psi(a * mean))).sum()
        return gain - (psi(a + sizes) - psi(a)).sum()

    low, high = math.log(LEAST_PRECISION), math.log(MOST_PRECISION)
    if len(counts) < 2 or slope(high) >= 0:
        return math.inf
    a = math.exp(low if slope(low) <= 0 else brentq(slope, low, high))
    gain = (gammaln(a * mean + counts) - gammaln(a * mean) - xlogy(counts, mean)).sum()
    gain -= (gammaln(a + sizes) - gammaln(a)).sum()
    return a if gain > least_gain(0) else math.inf


# -- cells of the covariates that users have -------------------------------------------
#: Largest number of cells, and of different values of a covariate that is not text.
MOST_CELLS, MOST_VALUES = 1000, 50


class Cells(NamedTuple):
    """Combinations of covariates, in the order in which they occurred.

    Attributes
    ----------
    names : tuple of str
        Names of the covariates.
    index : dict
        Index of each combination, a tuple of values.
    """

    names: tuple = ()
    index: dict = {}

    def with_rows(self, covariates, n_rows):
        """Return the cells with those of rows, and the cell of each row; or raise."""
        names, rows = self._rows(covariates, n_rows)
        index = dict(self.index)
        labels = [index.setdefault(row, len(index)) for row in rows]
        for name, values in zip(names, zip(*index, strict=True), strict=True):
            _check_number_of_values(name, set(values))
        if len(index) > MOST_CELLS:
            raise ValueError(
                f"covariates have {len(index):,} different combinations, more than "
                f"{MOST_CELLS:,}: leave some out, or join rare values."
            )
        return Cells(names, index), np.array(labels, dtype=np.intp)

    def of_rows(self, covariates, n_rows):
        """Return the cell of each row, -1 for combinations that did not occur.

        A warning follows if none occurred.
        """
        _, rows = self._rows(covariates, n_rows)
        labels = np.array([self.index.get(row, -1) for row in rows], dtype=np.intp)
        if len(rows) and (labels < 0).all():
            warn(
                f"None of the rows of covariates, such as {rows[0]}, occurred in the "
                f"fit, which had rows such as {next(iter(self.index))}: all documents "
                "have the prior doc_topic_prior_. Values must have the types of those "
                "in the fit, and intervals the same edges, for instance by "
                "pandas.cut(ages, [0, 30, 50, 100])."
            )
        return labels

    def _rows(self, covariates, n_rows):
        """Return names, and the tuples of values of all rows; raise if invalid."""
        names, columns = columns_of_covariates(covariates)
        if self.names and names != self.names:
            raise ValueError(
                f"The covariates must be {list(self.names)}, in this order, got "
                f"{list(names)}."
            )
        for name, values in zip(names, columns, strict=True):
            if len(values) != n_rows:
                raise ValueError(
                    f"covariates has {len(values)} rows, but X has {n_rows}."
                )
            _check_known(name, values)
        return names, list(zip(*columns, strict=True))


def columns_of_covariates(covariates):
    """Return the names of covariates, and lists of their values.

    Dates are times at midnight, as in pandas and NumPy.
    """
    if is_frame(covariates := as_frame(covariates)):
        names = tuple(map(str, covariates.columns))
        check_distinct(names, "covariate")
        columns = [list(covariates[name]) for name in covariates.columns]
    elif hasattr(covariates, "to_frame"):  # a series
        names, columns = ("x0",), [list(covariates)]
    else:
        check_unmasked(covariates, "covariates", may_be_nan=False)
        if not hasattr(covariates, "dtype"):  # an array of lists may turn all to text
            covariates = np.array(covariates, dtype=object)
        values = np.asarray(covariates)
        values = values[:, None] if values.ndim == 1 else values
        if values.dtype.kind in "Mm":  # lists of times in nanoseconds are numbers
            values = values.astype(f"{values.dtype.kind}8[us]")
        if values.ndim != 2:
            raise ValueError(
                "covariates must be a data frame, or an array of shape (n_samples,) or "
                f"(n_samples, n_covariates), got the shape {values.shape}."
            )
        names = tuple(f"x{number}" for number in range(values.shape[1]))
        columns = values.T.tolist()
    if not names:
        raise ValueError("covariates has no columns.")
    return names, [list(map(as_moment, column)) for column in columns]


def _check_known(name, values):
    try:
        distinct = set(values)
    except TypeError:
        raise ValueError(
            f"The covariate {name!r} has values that cannot be compared, such as lists."
        ) from None
    if any(
        value is None or (not isinstance(value, str) and str(value) in MISSING)
        for value in distinct
    ):
        raise ValueError(
            f"The covariate {name!r} has missing values: leave out these samples, from "
            'X too, or fill them in, for instance with "unknown".'
        )


def _check_number_of_values(name, distinct):
    n_others = sum(not isinstance(value, str) for value in distinct)
    if n_others > MOST_VALUES:
        raise ValueError(
            f"The covariate {name!r} has {n_others} different numbers, but each value "
            "gets a prior of its own: cut it into intervals, for instance by "
            "pandas.cut(ages, [0, 30, 50, 100]), with the same edges in predictions; "
            "or use sktemper.inspection.topic_regression after the fit."
        )

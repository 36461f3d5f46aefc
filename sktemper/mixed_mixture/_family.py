"""The family of rows whose columns are of several kinds."""

import numpy as np
from scipy.special import gammaln

from .._expfam import (
    CategoricalFamily,
    MomentRows,
    NormalGammaFamily,
    PoissonFamily,
    ProductFamily,
)

__all__ = ["MixedFamily"]

#: Size of the table of log x!.
N_LOG_FACTORIALS = 256
LOG_FACTORIALS = gammaln(np.arange(N_LOG_FACTORIALS) + 1.0)


class MixedFamily(ProductFamily):
    """Family of rows of options, counts and normal values.

    The values of a row are independent given the component.

    Parameters
    ----------
    columns : sequence of Column

    Attributes
    ----------
    options, counts, normals : ndarray of int
        Indices of the columns of each kind.
    """

    def __init__(self, columns):
        self.columns = tuple(columns)
        sizes = np.array([column.n_options for column in self.columns])
        is_count = np.array([column.kind == "poisson" for column in self.columns])
        self.options = np.flatnonzero(sizes)
        self.counts = np.flatnonzero(is_count)
        self.normals = np.flatnonzero((sizes == 0) & ~is_count)
        self.sizes = sizes[self.options]
        self.option_columns = np.repeat(self.options, self.sizes)
        self.option_values = np.concatenate(
            [self._values_of(self.columns[number]) for number in self.options] or [[]]
        )
        used = [self.columns[number] for number in self.normals]
        self.location = np.array([column.location for column in used])
        self.scale = np.array([column.scale for column in used])
        ends = np.cumsum(self.sizes)
        self.binned = [
            (slice(end - size, end), number)
            for end, size, number in zip(ends, self.sizes, self.options, strict=True)
            if self.columns[number].kind == "binned"
        ]
        parts = []
        if len(self.options):
            parts.append(CategoricalFamily(self.sizes))
        if len(self.counts):
            parts.append(PoissonFamily(len(self.counts)))
        if len(self.normals):
            parts.append(NormalGammaFamily(len(self.normals)))
        super().__init__(parts)

    @staticmethod
    def _values_of(column):
        """Return the numbers that represent options, or NaN for intervals.

        NaN differs from all values; `block` computes indicators of intervals later.
        """
        if column.kind == "binned" or not column.categories:
            return np.full(column.n_options, np.nan)
        return column.option_values

    def of_kinds(self, values):
        """Split natural parameters into parts for options, counts and normal values.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_natural)
        """
        ends = np.cumsum([len(self.option_values), 2 * len(self.counts)])
        return np.split(values, ends, axis=1)

    # -- data --------------------------------------------------------------------------
    def block(self, rows):
        """Return `MomentRows` of coded values."""
        rows = np.asarray(rows, dtype=np.float64)
        moments = np.empty((len(rows), self.n_natural))
        log_base = np.zeros(len(rows))
        options, counts, normals = self.of_kinds(moments)
        np.equal(
            rows[:, self.option_columns],
            self.option_values,
            out=options,
            casting="unsafe",
        )
        for own, number in self.binned:
            options[:, own] = _intervals(rows[:, number], self.columns[number].edges)
        known = options.sum(axis=1)
        if len(self.counts):
            log_base -= _counts(rows[:, self.counts], counts)
            known += counts[:, len(self.counts) :].sum(axis=1)
        if len(self.normals):
            values = (rows[:, self.normals] - self.location) / self.scale
            present = _normals(values, normals)
            log_base -= present @ np.log(self.scale)
            known += present.sum(axis=1)
        return MomentRows(moments, log_base, known)

    def coordinates(self, block, row_weight):
        """Return rows as vectors, for distances between them.

        A vector has the indicators of options, the square roots of counts, and normal
        values, all divided by their standard deviations (indicators by 1/2).  Missing
        values are replaced by the mean.
        """
        options, counts, normals = self.of_kinds(block.moments)
        n_counts, n_normals = len(self.counts), len(self.normals)
        known = np.hstack(
            [
                np.ones_like(options),
                counts[:, n_counts:],
                normals[:, :n_normals],
            ]
        )
        values = np.hstack(
            [
                options,
                np.sqrt(counts[:, :n_counts]),
                normals[:, n_normals : 2 * n_normals],
            ]
        )
        weight = row_weight[:, None] * known
        totals = np.maximum(weight.sum(axis=0), np.finfo(float).tiny)
        values -= (weight * values).sum(axis=0) / totals
        values *= known
        spread = np.sqrt((weight * values**2).sum(axis=0) / totals)
        spread[: options.shape[1]] = 0.5
        return values / np.where(spread > 0, spread, 1.0)


def _intervals(values, edges):
    """Return indicators of the intervals of values, (n_rows, n_intervals)."""
    above = values[:, None] > np.array([-np.inf, *edges])
    above[:, :-1] &= ~above[:, 1:]
    return above


def _counts(values, out):
    """Write the moments of counts; return the sums of log x!, (n_rows,)."""
    x, known = np.hsplit(out, 2)
    known[...] = ~np.isnan(values)
    x[...] = np.where(known, values, 0.0)
    if x.max(initial=0.0) < N_LOG_FACTORIALS:
        return LOG_FACTORIALS[x.astype(np.intp)].sum(axis=1)
    return gammaln(x + 1.0).sum(axis=1)


def _normals(values, out):
    """Write the moments of normal values; return 1 for known values, 0 for others."""
    known, x, squares, again = np.hsplit(out, 4)
    known[...] = ~np.isnan(values)
    again[...] = known
    x[...] = np.where(known, values, 0.0)
    np.multiply(x, x, out=squares)
    return known

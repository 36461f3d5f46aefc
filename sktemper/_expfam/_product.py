"""Products of conjugate families, for rows with columns of several kinds."""

from dataclasses import dataclass

import numpy as np

from ._families import Family, Tables

__all__ = ["MomentRows", "ProductFamily"]


@dataclass(frozen=True)
class MomentRows:
    """Block of a `ProductFamily`: moments of rows, and values for each row.

    Attributes
    ----------
    moments : ndarray of shape (n_rows, n_natural)
    log_base : ndarray of shape (n_rows,)
        Part of the log-likelihood that all components share.
    known : ndarray of shape (n_rows,)
        Numbers of values that are not missing.
    """

    moments: np.ndarray
    log_base: np.ndarray
    known: np.ndarray

    @property
    def shape(self):
        """The shape of the moments."""
        return self.moments.shape

    def __len__(self):
        return len(self.moments)

    def __getitem__(self, rows):
        return MomentRows(self.moments[rows], self.log_base[rows], self.known[rows])


class ProductFamily(Family):
    """Product of families, one for each of several independent parts of a row.

    The natural parameters of the parts follow one another, and A is the sum of the log
    normalisers of the parts.  A block is `MomentRows`.

    Parameters
    ----------
    parts : sequence of Family
        Families whose blocks are their moments.
    """

    def __init__(self, parts):
        self.parts = tuple(parts)
        ends = np.cumsum([part.n_natural for part in self.parts])
        super().__init__(int(ends[-1]))
        self.slices = [
            slice(int(end) - part.n_natural, int(end))
            for part, end in zip(self.parts, ends, strict=True)
        ]

    def each(self, *arrays):
        """Yield each part with its columns of each array."""
        for part, own in zip(self.parts, self.slices, strict=True):
            yield part, *(array[:, own] for array in arrays)

    # -- data --------------------------------------------------------------------------
    def block(self, rows):
        """Return `MomentRows`; a subclass defines it."""
        raise NotImplementedError

    def moments(self, block):
        """Return the moments, of shape (n_rows, n_natural)."""
        return block.moments

    def log_base(self, block):
        """Return the part of the log-likelihoods that all components share."""
        return block.log_base

    def n_observed(self, block):
        """Return the number of values of each row that are not missing."""
        return block.known

    # -- the distribution of the parameters --------------------------------------------
    def log_normaliser(self, parameters):
        """Return A, of shape (n_components,)."""
        return sum(part.log_normaliser(own) for part, own in self.each(parameters))

    def expected(self, parameters):
        """Return E u."""
        return np.hstack([part.expected(own) for part, own in self.each(parameters)])

    def fisher_product(self, parameters, change):
        """Return the change of E u along a change of the parameters."""
        both = self.each(parameters, change)
        return np.hstack([part.fisher_product(own, along) for part, own, along in both])

    def is_valid(self, parameters):
        """Return whether the parameters of all parts are valid."""
        return all(part.is_valid(own) for part, own in self.each(parameters))

    # -- local steps -------------------------------------------------------------------
    def log_predictive(self, block, tables, log_weights=0.0):
        """Return the log posterior predictive density of rows in each component."""
        logs = np.zeros((len(block), len(tables.parameters)))
        logs += log_weights + np.reshape(block.log_base, (-1, 1))
        for part, moments, own in self._parts_of(block, tables):
            logs += part.log_predictive(moments, Tables(None, own))
        return logs

    def _parts_of(self, block, tables):
        """Yield each part with its columns of the moments and of the parameters."""
        for part, own in zip(self.parts, self.slices, strict=True):
            yield part, block.moments[:, own], tables.parameters[:, own]

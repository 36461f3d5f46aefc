"""Conjugate families of answers and counts: words, categories, events."""

import numpy as np
from scipy import sparse
from scipy.special import betaln, gammaln, polygamma, psi

from ._families import Family, times

__all__ = ["CategoricalFamily", "DirichletFamily", "GammaFamily", "MultinomialFamily"]

#: Counts below are zero: their Gamma function overflows.
TINY_COUNT = 1e-100


class DirichletFamily(Family):
    """Probabilities of the options of questions, a Dirichlet distribution for each.

    The moments are how often each option was the answer.  u is the logarithm of the
    probabilities, and the natural parameters are the concentrations less 1.

    Parameters
    ----------
    sizes : sequence of int
        Number of options of each question.  The options of a question follow one
        another.
    """

    def __init__(self, sizes):
        self.sizes = np.asarray(sizes)
        super().__init__(int(self.sizes.sum()))

    def totals(self, values):
        """Return the sums over the options of each question.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_natural)

        Returns
        -------
        totals : ndarray of shape (n_rows, n_questions)
        """
        first = self.sizes[0]
        if (self.sizes == first).all():
            return values.reshape(len(values), -1, first).sum(axis=2)
        starts = np.cumsum(self.sizes) - self.sizes
        return np.add.reduceat(values, starts, axis=1)

    def of_options(self, values):
        """Return values of questions, repeated for each of their options."""
        return np.repeat(values, self.sizes, axis=1)

    def log_normaliser(self, parameters):
        """Return A, of shape (n_components,)."""
        concentration = parameters + 1.0
        logs = self.totals(gammaln(concentration))
        return (logs - gammaln(self.totals(concentration))).sum(axis=1)

    def expected(self, parameters):
        """Return E log theta."""
        concentration = parameters + 1.0
        return psi(concentration) - self.of_options(psi(self.totals(concentration)))

    def fisher_product(self, parameters, change):
        """Return the change of E log theta along a change of the parameters."""
        concentration = parameters + 1.0
        product = polygamma(1, concentration) * change
        totals = polygamma(1, self.totals(concentration)) * self.totals(change)
        return product - self.of_options(totals)

    def is_valid(self, parameters):
        """Return whether all concentrations are positive."""
        return bool((parameters > -1).all())


class MultinomialFamily(DirichletFamily):
    """Counts of words: any number of answers to one question.

    Parameters
    ----------
    n_features : int
    """

    def __init__(self, n_features):
        super().__init__([n_features])

    def block(self, rows):
        """Return counts as a canonical CSR array of float64."""
        block = rows
        if not sparse.issparse(rows):
            block = sparse.csr_array(np.asarray(rows, dtype=np.float64))
        if not block.has_canonical_format:
            block = block.astype(np.float64)  # a sum may be too large for that of X
            block.sum_duplicates()
        parts = block.data.astype(np.float64), block.indices, block.indptr
        return sparse.csr_array(parts, shape=block.shape)

    def coordinates(self, block, row_weight):
        """Return the roots of the words' shares in each document."""
        sizes = np.maximum(np.asarray(block.sum(axis=1)).ravel(), TINY_COUNT)
        roots = np.sqrt(block.data / np.repeat(sizes, np.diff(block.indptr)))
        return sparse.csr_array((roots, block.indices, block.indptr), block.shape)

    def log_predictive(self, block, tables, log_weights=0.0):
        """Return the log posterior predictive probability of sequences of words."""
        concentration = tables.parameters + 1.0
        places, counts = block.indices, block.data[:, None]
        terms = sparse.csr_array(
            (np.ones(len(places)), np.arange(len(places)), block.indptr),
            shape=(block.shape[0], len(places)),
        )
        sizes = np.asarray(block.sum(axis=1)).reshape(-1, 1)
        logs = terms @ log_rising(concentration[:, places].T, counts)
        return logs - log_rising(concentration.sum(axis=1), sizes) + log_weights


class CategoricalFamily(DirichletFamily):
    """Questions of which each has one answer, or none."""

    def log_predictive(self, block, tables, log_weights=0.0):
        """Return the log posterior predictive probability of answers."""
        concentration = tables.parameters + 1.0
        logs = np.log(concentration / self.of_options(self.totals(concentration)))
        return times(self.moments(block), logs.T) + log_weights


class GammaFamily(Family):
    """Independent rates, a Gamma distribution for each.

    u is (log theta, -theta) and the natural parameters are (shape - 1, rate): first the
    shapes of all rates, then their rates.  A value x that is Poisson has the moments
    (x, 1), one that is exponential (1, x).

    Parameters
    ----------
    n_rates : int
    """

    def __init__(self, n_rates):
        super().__init__(2 * n_rates)

    def split(self, values):
        """Return the first and the second half of the columns."""
        return np.hsplit(values, 2)

    def log_normaliser(self, parameters):
        """Return A, of shape (n_components,)."""
        shape, rate = self.split(parameters)
        shape = shape + 1.0
        return (gammaln(shape) - shape * np.log(rate)).sum(axis=1)

    def expected(self, parameters):
        """Return E log theta and -E theta."""
        shape, rate = self.split(parameters)
        shape = shape + 1.0
        return np.hstack([psi(shape) - np.log(rate), -shape / rate])

    def fisher_product(self, parameters, change):
        """Return the change of E u along a change of the parameters."""
        shape, rate = self.split(parameters)
        shape = shape + 1.0
        shape_change, rate_change = self.split(change)
        return np.hstack(
            [
                polygamma(1, shape) * shape_change - rate_change / rate,
                shape / rate**2 * rate_change - shape_change / rate,
            ]
        )

    def is_valid(self, parameters):
        """Return whether all shapes and rates are positive."""
        shape, rate = self.split(parameters)
        return bool((shape > -1).all() and (rate > 0).all())


def log_rising(a, n):
    """Return log Gamma(a + n) - log Gamma(a), with all digits for a large ``a``."""
    counts = n > TINY_COUNT
    some = np.where(counts, n, 1.0)
    return np.where(counts, gammaln(some) - betaln(a, some), 0.0)

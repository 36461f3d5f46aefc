"""Conjugate families of counts: numbers of words, answers, and numbers of events."""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.special import betaln, gammaln, polygamma, psi

from .._simd import special
from .._utils._budgets import ROWS_AT_ONCE, slices
from .._utils._linalg import canonical
from .._utils._tasks import run_shared
from .._utils._typing import SparseMatrix
from .._utils._validation import SMALLEST_COUNT
from ._dirichlet import log_gamma_draws
from ._family import DIRICHLET, GAMMA_RATES, Family, kernel_parts, times

# -- log Gamma and digamma of arrays of positive numbers -------------------------------
#: The kernels are as precise as SciPy between these bounds, and some ten times as fast.
LEAST, LARGEST = 1e-300, 1e300


def digamma(x):
    """Return psi(x), in the memory layout of ``x``."""
    return _evaluated("digamma", psi, x)


def log_gamma(x):
    """Return log Gamma(x), in the memory layout of ``x``."""
    return _evaluated("log_gamma", gammaln, x)


def _evaluated(name, reference, x):
    # a comparison with NaN is false
    if x.size == 0 or not (x.min() >= LEAST and x.max() <= LARGEST):
        return reference(x)
    if x.flags.f_contiguous and not x.flags.c_contiguous:
        return _evaluated(name, reference, x.T).T
    flat = np.ascontiguousarray(x, dtype=np.float64).ravel()
    values, _ = special.evaluate(name, flat)
    return values.reshape(x.shape)


# -- sums of powers of many Dirichlet variables, sum_v x_v^b, from few draws -----------
# V exchangeable variables with the concentration a are replaced by N variables with the
# concentration V a / N, which are drawn.  The total concentration is the same, so that
# the total of the variables fluctuates by the same amount.  The sum over the N
# variables is multiplied by the ratio of the means of both sums, so that it has the
# same mean as the sum over V variables.  The ratio is exact up to terms of relative
# order 1 / (V a), which are nearly the same in both sums.

#: Largest number of variables of a Dirichlet distribution that are drawn.
MOST_DRAWN = 4096
#: Step of trapezoidal rules, whose error is then similar to the rounding error.
STEP = 0.03
#: An integrand is negligible if its exponent is below minus this number.
VANISHED = 45.0
#: Beta distributions with a larger concentration are computed with this concentration,
#: because the results are equal to 8 digits.
POINT = 1e8


def log_rising(a, n):
    """Return log Gamma(a + n) - log Gamma(a), accurate even for a large ``a``."""
    counts = n > SMALLEST_COUNT
    some = np.where(counts, n, 1.0)
    return np.where(counts, gammaln(some) - betaln(a, some), 0.0)


def log_rising_each(a, n):
    """Return `log_rising` of an array, by a kernel if its range admits that."""
    found = special.log_rising(a.ravel(), np.broadcast_to(n, a.shape).ravel())
    return log_rising(a, n) if found is None else found.reshape(a.shape)


def log_mean_powers(exponents, log_weights, concentrations):
    r"""Return log E (sum_k w_k g_k)^b of independent variables g_k of Gamma(a_k).

    With the Laplace transform L(s) = prod_k (1 + s w_k)^(-a_k) of the sum, the
    expectation is

    .. math:: \frac{1}{\Gamma(3 - b)} \int_0^\infty s^{2 - b} (-L'''(s)) \, ds,

    which the trapezoidal rule integrates over asinh(log s).  The integrand is positive.

    ``log_weights`` has a row for each sum, and ``concentrations`` a column for each
    group of variables.  The result has the shape (n_sums, n_exponents, n_groups);
    exponents b are above 0 and below 3.
    """
    low = VANISHED + np.log(max(1.0, concentrations.sum(axis=0).max()))
    high = VANISHED / exponents.min()
    x = np.arange(-np.arcsinh(low), np.arcsinh(high) + STEP, STEP)
    log_s = np.sinh(x)
    kernel = np.exp(-np.outer(exponents, log_s) - gammaln(3.0 - exponents)[:, None])
    kernel *= STEP * np.cosh(x)
    logs = np.empty((len(log_weights), len(exponents), concentrations.shape[1]))
    for log_weight, out in zip(log_weights, logs, strict=True):
        largest = log_weight.max()  # s is multiplied by the largest weight
        log_sw = log_s[:, None] + (log_weight - largest)
        softplus = np.logaddexp(0.0, log_sw)
        share = np.exp(log_sw - softplus)  # s w / (1 + s w)
        a1, a2, a3 = (share**n @ concentrations for n in (1, 2, 3))
        integrand = np.exp(-softplus @ concentrations)
        integrand *= a1**3 + 3.0 * a1 * a2 + 2.0 * a3
        out[...] = np.log(kernel @ integrand) + largest * exponents[:, None]
    return logs


def mean_log_power_sums(exponents, concentration):
    """Return E log(x^b + (1 - x)^b), where x has the distribution Beta(a, a).

    The density and the function are even in the logit of x.  The trapezoidal rule
    integrates over the logarithm of the logit.

    Exponents b are above 0 and at most 1.
    """
    a = min(concentration, POINT)
    first = -0.5 * np.log1p(a) - VANISHED
    last = np.log(VANISHED / exponents.min())
    logit = np.exp(np.arange(first, last + STEP, STEP))
    below = np.log1p(np.exp(-logit))  # -log x
    log_density = -a * (logit + 2.0 * below) - betaln(a, a)
    weights = 2.0 * STEP * logit * np.exp(log_density)
    sums = np.log1p(np.exp(-np.outer(exponents, logit)))
    return (sums - np.outer(exponents, below)) @ weights


# -- the families ----------------------------------------------------------------------


class DirichletFamily(Family):
    """Probabilities of options, with a Dirichlet prior for each question.

    The moments are the counts of the options.  u is the logarithm of the probabilities,
    and the natural parameters are the concentrations minus 1.

    Parameters
    ----------
    sizes : sequence of int
        Number of options of each question.  The options of a question are contiguous.

    Attributes
    ----------
    repeats : ndarray of shape (n_natural,) or None
        Number of options that each option represents, see `grouped`.

    Examples
    --------
    One question whose two options have the concentrations 2 and 3:

    >>> import numpy as np
    >>> from sktemper.model import DirichletFamily
    >>> family = DirichletFamily([2])
    >>> np.exp(family.log_normaliser(np.array([[1.0, 2.0]])))  # B(2, 3)
    array([0.08333333])
    """

    repeats = None

    def __init__(self, sizes: Sequence):
        self.sizes = np.asarray(sizes)
        super().__init__(int(self.sizes.sum()))
        self._same_size = bool((self.sizes == self.sizes[0]).all())

    # -- options that represent many ---------------------------------------------------
    def grouped(self, repeats: np.ndarray) -> DirichletFamily:
        """Return the family of fewer columns, each of which represents several."""
        raise NotImplementedError

    def weigh_options(self, values: np.ndarray) -> np.ndarray:
        """Return values of options, times the number that each represents."""
        return values if self.repeats is None else values * self.repeats

    def weigh_questions(self, values) -> np.ndarray:
        """Return values of questions, times the number that each represents."""
        return values

    def by_question(self, values: np.ndarray) -> np.ndarray:
        """Return values of options by question, if all questions have the same size."""
        return values.reshape(len(values), -1, self.sizes[0])

    def totals(self, values: np.ndarray) -> np.ndarray:
        """Return the sums over the options of each question.

        Values have the shape (n_rows, n_natural), and totals (n_rows, n_questions).
        """
        if self._same_size:
            return self.by_question(values).sum(axis=2)
        starts = np.cumsum(self.sizes) - self.sizes
        return np.add.reduceat(values, starts, axis=1)

    def repeat_for_options(self, values) -> np.ndarray:
        """Return values of questions, repeated for each of their options."""
        return np.repeat(values, self.sizes, axis=1)

    # -- data --------------------------------------------------------------------------
    def n_observed(self, block) -> np.ndarray:
        """Return the number of answers in each row."""
        if self.repeats is None:
            return np.asarray(block.sum(axis=1)).ravel()
        return block @ self.repeats

    # -- the distribution of the parameters --------------------------------------------
    def parts_of_kernel(self) -> tuple[np.ndarray, np.ndarray] | None:
        return kernel_parts(DIRICHLET, self.sizes) if self.repeats is None else None

    def log_normaliser(self, parameters) -> np.ndarray:
        concentration = parameters + 1.0
        logs = self.totals(log_gamma(concentration))
        logs = logs - log_gamma(self.totals(concentration))
        return self.weigh_questions(logs).sum(axis=1)

    def expected(self, parameters) -> np.ndarray:
        """Return E log theta."""
        concentration = parameters + 1.0
        totals = digamma(self.totals(concentration))
        return digamma(concentration) - self.repeat_for_options(totals)

    def _weighed_expected(self, parameters) -> np.ndarray:
        return self.weigh_options(self.expected(parameters))

    def fisher_product(self, parameters, change) -> np.ndarray:
        concentration = parameters + 1.0
        product = polygamma(1, concentration) * change
        totals = polygamma(1, self.totals(concentration)) * self.totals(change)
        return product - self.repeat_for_options(totals)

    def is_valid(self, parameters) -> np.ndarray:
        """Return whether all concentrations of each component are positive."""
        return (parameters > -1).all(axis=1)

    def within_domain(self, statistics) -> np.ndarray:
        """Return statistics in which no option has been observed less than 0 times."""
        return statistics.clip(0.0)

    def draws(self, parameters, random) -> np.ndarray:
        logs = log_gamma_draws(parameters + 1.0, random)
        starts = np.cumsum(self.sizes) - self.sizes
        totals = np.logaddexp.reduceat(logs, starts, axis=1)
        return logs - self.repeat_for_options(totals)


class MultinomialFamily(DirichletFamily):
    """Counts of words.

    Parameters
    ----------
    n_features : int

    Examples
    --------
    >>> import numpy as np
    >>> from sktemper.model import MultinomialFamily
    >>> family = MultinomialFamily(2)
    >>> family.expected(np.array([[0.0, 0.0]]))  # uniform prior
    array([[-1., -1.]])
    """

    def __init__(self, n_features: int):
        super().__init__([n_features])

    def grouped(self, repeats) -> DirichletFamily:
        """Return the family of fewer words, each of which represents several words."""
        family = type(self)(len(repeats))
        family.repeats = repeats
        return family

    def totals(self, values) -> np.ndarray:
        """Return the sums over all words."""
        return self.weigh_options(values).sum(axis=1, keepdims=True)

    def block(self, rows) -> np.ndarray | SparseMatrix:
        """Return counts as a canonical CSR array of float64."""
        block = rows
        if not sparse.issparse(rows):
            block = sparse.csr_array(np.asarray(rows, dtype=np.float64))
        block = canonical(block, np.float64)
        parts = block.data.astype(np.float64), block.indices, block.indptr
        return sparse.csr_array(parts, shape=block.shape)

    def coordinates(self, block, row_weight) -> np.ndarray | SparseMatrix:
        """Return the square roots of the words' shares in each document."""
        sizes = np.maximum(np.asarray(block.sum(axis=1)).ravel(), SMALLEST_COUNT)
        roots = np.sqrt(block.data / np.repeat(sizes, np.diff(block.indptr)))
        return sparse.csr_array((roots, block.indices, block.indptr), block.shape)

    def log_predictive(self, block, tables, log_weights=0.0) -> np.ndarray:
        """Return the log posterior predictive probability of sequences of words."""
        concentration = tables.parameters + 1.0
        totals = self.totals(concentration)[:, 0]
        return log_predictive_of_counts(concentration, totals, block) + log_weights


def log_predictive_of_counts(concentration, totals, counts):
    """Return log E prod_v theta_v^n_v of sparse counts n.

    The result has a row for each row of counts and a column for each row of
    concentrations, whose sums over all features are ``totals``.
    """
    sizes = np.asarray(counts.sum(axis=1)).reshape(-1, 1)
    by_word = np.ascontiguousarray(concentration.T)

    def sums(part):
        starts = counts.indptr[part.start : part.stop + 1]
        entries = slice(starts[0], starts[-1])
        places, some = counts.indices[entries], counts.data[entries, None]
        terms = sparse.csr_array(
            (np.ones(len(places)), np.arange(len(places)), starts - starts[0]),
            shape=(len(starts) - 1, len(places)),
        )
        return terms @ log_rising_each(by_word[places], some)

    parts = slices(counts.shape[0], 1, ROWS_AT_ONCE)
    logs = run_shared([functools.partial(sums, part) for part in parts])
    logs = np.concatenate(logs) if logs else np.zeros((0, len(totals)))
    return logs - log_rising(totals, sizes)


class CategoricalFamily(DirichletFamily):
    """Answers to questions; a row has one answer to a question or none.

    Examples
    --------
    Two questions, with two and three options:

    >>> import numpy as np
    >>> from sktemper.model import CategoricalFamily
    >>> family = CategoricalFamily([2, 3])
    >>> np.exp(family.log_means(np.array([[0.0, 2.0, 0.0, 0.0, 2.0]])))
    array([[0.25, 0.75, 0.2 , 0.2 , 0.6 ]])
    """

    def grouped(self, repeats) -> DirichletFamily:
        """Return the family of fewer questions, each of which represents several."""
        family = copy.copy(self)
        CategoricalFamily.__init__(family, np.full(len(repeats), self.sizes[0]))
        family.repeats = np.repeat(repeats, self.sizes[0])
        return family

    def weigh_questions(self, values) -> np.ndarray:
        """Return values of questions, times the number that each represents."""
        if self.repeats is None:
            return values
        return values * self.repeats[np.cumsum(self.sizes) - 1]

    def log_means(self, parameters) -> np.ndarray:
        """Return the logarithms of the mean probabilities."""
        concentration = parameters + 1.0
        return np.log(
            concentration / self.repeat_for_options(self.totals(concentration))
        )

    def log_predictive(self, block, tables, log_weights=0.0) -> np.ndarray:
        """Return the log posterior predictive probability of answers."""
        logs = self.weigh_options(self.log_means(tables.parameters))
        return times(self.moments(block), logs.T) + log_weights


class GammaFamily(Family):
    """Independent rates with Gamma priors.

    For a rate theta, u is (log theta, -theta), and the natural parameters are
    (shape - 1, rate).  Arrays have the first of these numbers for all rates, followed
    by the second numbers.  A Poisson variable x has the moments (x, 1), and an
    exponential variable x has (1, x).

    Parameters
    ----------
    n_rates : int

    Examples
    --------
    A rate with a Gamma distribution of shape 3 and rate 2, whose mean is 1.5:

    >>> import numpy as np
    >>> from sktemper.model import GammaFamily
    >>> log_theta, minus_theta = GammaFamily(1).expected(np.array([[2.0, 2.0]]))[0]
    >>> minus_theta
    np.float64(-1.5)
    """

    def __init__(self, n_rates: int):
        super().__init__(2 * n_rates)

    def split(self, values) -> list[np.ndarray]:
        """Return the first and the second half of the columns."""
        return np.hsplit(values, 2)

    def parts_of_kernel(self) -> tuple[np.ndarray, np.ndarray] | None:
        return kernel_parts(GAMMA_RATES, [self.n_natural // 2])

    def log_normaliser(self, parameters) -> np.ndarray:
        shape, rate = self.split(parameters)
        shape = shape + 1.0
        return (gammaln(shape) - shape * np.log(rate)).sum(axis=1)

    def expected(self, parameters) -> np.ndarray:
        """Return E log theta and -E theta."""
        shape, rate = self.split(parameters)
        shape = shape + 1.0
        return np.hstack([psi(shape) - np.log(rate), -shape / rate])

    def fisher_product(self, parameters, change) -> np.ndarray:
        shape, rate = self.split(parameters)
        shape = shape + 1.0
        shape_change, rate_change = self.split(change)
        return np.hstack(
            [
                polygamma(1, shape) * shape_change - rate_change / rate,
                shape / rate**2 * rate_change - shape_change / rate,
            ]
        )

    def is_valid(self, parameters) -> np.ndarray:
        """Return whether all shapes and rates of each component are positive."""
        shape, rate = self.split(parameters)
        return ((shape > -1) & (rate > 0)).all(axis=1)

    within_domain = DirichletFamily.within_domain

    def draws(self, parameters, random) -> np.ndarray:
        shape, rate = self.split(parameters)
        logs = log_gamma_draws(shape + 1.0, random) - np.log(rate)
        return np.hstack([logs, -np.exp(logs)])


class PoissonFamily(GammaFamily):
    """Independent Poisson counts, with a Gamma distribution for the rate of each.

    A count x has the moments (x, 1), and a missing count has the moments (0, 0).
    """

    def log_predictive(self, block, tables, log_weights=0.0):
        """Return the log probabilities of the counts, which are negative binomial.

        The results omit the term -log x!, which is the same in all components.
        """
        x, known = self.split(self.moments(block))
        out = np.empty((len(block), len(tables.parameters)))
        shapes, rates = self.split(tables.parameters)
        for k, (shape, rate) in enumerate(zip(shapes + 1.0, rates, strict=True)):
            logs = log_rising(shape, x) - x * np.log1p(rate)
            logs -= known * (shape * np.log1p(1.0 / rate))
            out[:, k] = logs.sum(axis=1)
        return out + log_weights

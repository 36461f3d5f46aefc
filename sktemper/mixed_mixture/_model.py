"""Mixture of tables with columns of several kinds, as a `ConjugateModel`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import digamma, gammaln, logsumexp, xlogy

from .._contract import tenth_of_rows
from .._families._counts import CategoricalFamily, PoissonFamily
from .._families._critical import MixturePartition
from .._families._dirichlet import log_draws
from .._families._family import VALUES_OF_BLOCK, Family, Tables, dense
from .._families._mixture import MixtureModel
from .._families._normal_gamma import NormalGammaFamily
from .._families._normal_wishart import LOG_2_PI
from .._utils._arguments import concentrations_of
from .._utils._budgets import ROWS_AT_ONCE, VALUES_AT_ONCE, VALUES_KEPT, slices
from .._utils._linalg import RowArrays
from .._utils._validation import ROUNDING
from ._columns import WITH_INTERVALS

# -- the family of rows whose columns are of several kinds -----------------------------
#: Table of log x!.
LOG_FACTORIALS = gammaln(np.arange(256) + 1.0)


@dataclass(frozen=True)
class MomentRows(RowArrays):
    """Block of a `MixedFamily`: moments of rows, and values for each row.

    Attributes
    ----------
    moments : {ndarray, sparse array} of shape (n_rows, n_natural)
    log_base : ndarray of shape (n_rows,)
        Part of the log-likelihood that all components share.
    known : ndarray of shape (n_rows,)
        Numbers of values that are not missing.
    log_support : ndarray of shape (n_rows,)
        0, or -inf for a row of density 0, which counts as missing in fits.
    """

    moments: Any
    log_base: np.ndarray
    known: np.ndarray
    log_support: np.ndarray


@dataclass(frozen=True)
class CodedRows(RowArrays):
    """Block of a `MixedFamily` that takes less memory than `MomentRows`.

    Attributes
    ----------
    codes : ndarray of int of shape (n_rows, n_columns_of_options)
        Index of the moment that an option adds, -1 for a missing value.
    numbers : ndarray of shape (n_rows, n_columns_of_numbers)
        Counts, and normal values in the units of their columns.
    log_base, log_support
        As in `MomentRows`.
    """

    codes: np.ndarray
    numbers: np.ndarray
    log_base: np.ndarray
    log_support: np.ndarray

    @property
    def known(self):
        known = (self.codes >= 0).sum(axis=1) + (~np.isnan(self.numbers)).sum(axis=1)
        return known.astype(np.float64)


class MixedFamily(Family):
    """Family of rows of options, counts and normal values.

    The values of a row are independent given the component.  The natural parameters of
    the families of options, counts and normal values follow one another, and A is the
    sum of their log normalisers.

    Parameters
    ----------
    columns : sequence of Column

    Attributes
    ----------
    options, counts, normals : ndarray of int
        Indices of the columns of each kind.
    n_stored : int
        Number of values that store the moments of a row.
    """

    def __init__(self, columns):
        self.columns = tuple(columns)
        sizes = np.array([column.n_options for column in self.columns])
        parts = np.array([column.part for column in self.columns])
        self.options, self.counts, self.normals = (
            np.flatnonzero(parts == part) for part in ("options", "counts", "normals")
        )
        self.sizes = sizes[self.options]
        self._prepare_options()
        used = [self.columns[number] for number in self.normals]
        self.location = np.array([column.location for column in used])
        self.scale = np.array([column.scale for column in used])
        self.is_log = np.array([column.kind == "lognormal" for column in used], bool)
        self.log_scale = np.log(self.scale)
        parts = []
        if len(self.options):
            parts.append(CategoricalFamily(self.sizes))
        if len(self.counts):
            parts.append(PoissonFamily(len(self.counts)))
        if len(self.normals):
            parts.append(NormalGammaFamily(len(self.normals)))
        self.parts = tuple(parts)
        ends = np.cumsum([part.n_natural for part in self.parts])
        super().__init__(int(ends[-1]))
        # values that are not 0; a sparse one takes about as long as three dense ones
        n_stored = self.n_natural - len(self.places) + len(self.options)
        self.is_sparse = self.has_intervals and 3 * n_stored < self.n_natural
        self.n_stored = n_stored if self.is_sparse else self.n_natural
        self.type_of_codes = np.min_scalar_type(-self.n_natural)
        self.slices = [
            slice(int(end) - part.n_natural, int(end))
            for part, end in zip(self.parts, ends, strict=True)
        ]

    def _prepare_options(self):
        """Compute what maps values of columns of options to their codes."""
        self.places = np.repeat(np.arange(len(self.options)), self.sizes)
        firsts, of_options = np.cumsum(self.sizes) - self.sizes, []
        self.codings = []
        for number, first in zip(self.options, firsts, strict=True):
            column = self.columns[number]
            order = np.arange(column.n_options)
            edges, histogram = np.array(column.edges), column.histogram
            if column.kind not in WITH_INTERVALS:  # NaN differs from all values
                values = column.option_values if column.categories else [np.nan]
                of_options.append(values)
                order = np.argsort(values)
                edges = np.asarray(values)[order]
            self.codings.append((number, edges, first + order, histogram))
        self.has_intervals = len(of_options) < len(self.options)
        self.option_columns = self.options[self.places]
        self.option_values = np.concatenate([[], *of_options])

    def split_kinds(self, values):
        """Split the columns of parameters into options, counts and normal values."""
        sizes = len(self.places), 2 * len(self.counts)
        return np.split(values, np.cumsum(sizes), axis=1)

    def by_column(self, components):
        """Return the parameters of each column, a tuple of arrays by component.

        These are the concentrations of options, of shape (n_components, n_options); the
        shape and the rate of counts; or the four parameters of a normal-gamma.
        """
        options, counts, normals = self.split_kinds(components)
        shapes, rates = np.split(counts.T, 2)
        usual = self.parts[-1].usual(normals) if len(self.normals) else ()
        found = {
            "options": zip(
                np.split(options + 1.0, np.cumsum(self.sizes), axis=1), strict=True
            ),
            "counts": zip(shapes + 1.0, rates, strict=True),
            "normals": zip(*(part.T for part in usual), strict=True),
        }
        return [next(found[column.part]) for column in self.columns]

    def numbers(self, moments, prior=0.0):
        """Return a number for each column, and 1 if it is known, otherwise 0.

        From the parameters of a class follow sums over its rows, with ``prior`` rows of
        each option.
        """
        options, counts, normals = self.split_kinds(moments)
        found = np.zeros((2, len(moments), len(self.columns)))
        if len(self.options):
            scores = [self.columns[number].option_scores for number in self.options]
            own = options + prior
            own = own * np.concatenate(scores), own
            found[..., self.options] = [self.parts[0].totals(part) for part in own]
        found[..., self.counts] = np.hsplit(counts, 2)
        n = len(self.normals)
        found[:, :, self.normals] = normals[:, n : 2 * n], normals[:, :n]
        return found

    def each(self, *arrays):
        """Yield each part with its columns of each array."""
        for part, own in zip(self.parts, self.slices, strict=True):
            yield part, *(array[:, own] for array in arrays)

    # -- data --------------------------------------------------------------------------
    def moments(self, block):
        if isinstance(block, MomentRows):
            return block.moments
        n_rows, n_dense, n_codes = len(block), len(self.places), len(self.options)
        if self.is_sparse:  # missing values have entries of 0
            values = np.empty((n_rows, self.n_stored))
            columns = np.empty(values.shape, np.int32)
            np.maximum(block.codes, 0, out=columns[:, :n_codes])
            columns[:, n_codes:] = np.arange(n_dense, self.n_natural)
            values[:, :n_codes] = block.codes >= 0
            self._add_numbers(block.numbers, values[:, n_codes:])
            starts = np.arange(n_rows + 1) * self.n_stored
            entries = values.ravel(), columns.ravel(), starts
            return sparse.csr_array(entries, (n_rows, self.n_natural))
        moments = np.empty((n_rows, self.n_natural))
        chosen = block.codes.take(self.places, axis=1) == np.arange(n_dense)
        moments[:, :n_dense] = chosen.astype(np.float64)  # faster than a cast
        self._add_numbers(block.numbers, moments[:, n_dense:])
        return moments

    def _add_numbers(self, numbers, out):
        """Write the moments of counts and of normal values; return known numbers."""
        known, n_counts = ~np.isnan(numbers), len(self.counts)
        values, of_normals = np.where(known, numbers, 0.0), known[:, n_counts:]
        counts, x = values[:, :n_counts], values[:, n_counts:]
        parts = counts, known[:, :n_counts], of_normals, x, x * x, of_normals
        np.concatenate(parts, axis=1, out=out)
        return known.sum(axis=1)

    def log_base(self, block):
        return block.log_base

    def n_observed(self, block):
        return block.known

    def block(self, rows):
        if self.has_intervals:
            coded = self.coded(rows)
            own = self.moments(coded), coded.log_base, coded.known, coded.log_support
            return MomentRows(*own)
        rows, n_options = np.asarray(rows, dtype=np.float64), len(self.places)
        moments, log_base = np.empty((len(rows), self.n_natural)), np.zeros(len(rows))
        chosen = rows[:, self.option_columns] == self.option_values
        options = chosen.astype(np.float64)  # fast, other than casts of views
        moments[:, :n_options] = options
        numbers, log_support = self._numbers(rows, log_base)
        known = self._add_numbers(numbers, moments[:, n_options:])
        return MomentRows(moments, log_base, options.sum(axis=1) + known, log_support)

    def coded(self, rows):
        """Return rows of data as `CodedRows`."""
        rows = np.asarray(rows, dtype=np.float64)
        shape, log_base = (len(rows), len(self.options)), np.zeros(len(rows))
        codes = np.empty(shape, self.type_of_codes)
        for place, (number, edges, own, histogram) in enumerate(self.codings):
            values = rows[:, number]
            found = np.searchsorted(edges, values)
            if histogram:
                log_base += histogram.log_densities(values, found)
            is_known = ~np.isnan(values)
            if len(edges) == len(own):  # categories
                is_known = edges.take(found, mode="clip") == values
            codes[:, place] = np.where(is_known, own.take(found, mode="clip"), -1)
        numbers, log_support = self._numbers(rows, log_base)
        return CodedRows(codes, numbers, log_base, log_support)

    def _numbers(self, rows, log_base):
        """Return counts and standardized values, and which rows have density 0.

        Their part of the log-likelihood that components share is added to a base.
        """
        counts, log_support = rows.take(self.counts, axis=1), np.zeros(len(rows))
        values = rows.take(self.normals, axis=1)
        if len(self.counts):
            log_base -= _log_factorials(counts)
        if len(self.normals):
            if self.is_log.any():
                own = values[:, self.is_log]
                log_support[(own <= 0).any(axis=1)] = -np.inf
                values[:, self.is_log] = own = logarithms(own)
                log_base -= np.nansum(np.ascontiguousarray(own), axis=1)
            values = (values - self.location) / self.scale
            log_base -= (~np.isnan(values) * self.log_scale).sum(axis=1)
        return np.concatenate([counts, values], axis=1), log_support

    def in_support(self, rows):
        is_positive = [column.kind == "lognormal" for column in self.columns]
        return np.where(is_positive & (rows <= 0), np.nan, rows)

    def standardized(self, values):
        """Return the values, or the logarithms, of normal columns in their units."""
        values = np.where(self.is_log, logarithms(values), values)
        return (values - self.location) / self.scale

    def coordinates(self, block, row_weight):
        """Return rows as vectors, for distances between them.

        A vector has the indicators of options, the square roots of counts, and normal
        values, all divided by their standard deviations (indicators by 1/2).  Missing
        values are replaced by the mean.
        """
        moments = self.moments(block)
        if self.is_sparse:  # options stay as they are, because zeros are not stored
            rows, first = moments.data.reshape(len(block), -1), len(self.options)
            options = rows[:, :first]
        else:
            rows, first = moments, len(self.places)
            options = rows[:, :first]
            total = (row_weight[:, None] * options).sum(axis=0)
            options = options - total / max(row_weight.sum(), np.finfo(float).tiny)
        n_counts, n_normals = len(self.counts), len(self.normals)
        ends = np.cumsum([n_counts, n_counts, n_normals, n_normals])
        counts, has_count, has_x, x, _ = np.split(rows[:, first:], ends, axis=1)
        known, values = np.hstack([has_count, has_x]), np.hstack([np.sqrt(counts), x])
        weight = row_weight[:, None] * known
        totals = np.maximum(weight.sum(axis=0), np.finfo(float).tiny)
        values -= (weight * values).sum(axis=0) / totals
        values *= known
        spread = np.sqrt((weight * values**2).sum(axis=0) / totals)
        values /= np.where(spread > 0, spread, 1.0)
        if not self.is_sparse:
            return np.hstack([options / 0.5, values])
        numbers = values[:, :n_counts], 0 * known, values[:, n_counts:], 0 * x, 0 * x
        values = np.hstack([options / 0.5, *numbers]).ravel()
        entries = values, moments.indices, moments.indptr
        return sparse.csr_array(entries, moments.shape)

    # -- the distribution of the parameters --------------------------------------------
    def parts_of_kernel(self):
        found = [part.parts_of_kernel() for part in self.parts]
        if None in found:
            return None
        kinds, sizes = zip(*found, strict=True)
        return np.concatenate(kinds), np.concatenate(sizes)

    def log_normaliser(self, parameters):
        return sum(part.log_normaliser(own) for part, own in self.each(parameters))

    def expected(self, parameters):
        return np.hstack([part.expected(own) for part, own in self.each(parameters)])

    def fisher_product(self, parameters, change):
        both = self.each(parameters, change)
        return np.hstack([part.fisher_product(own, along) for part, own, along in both])

    def is_valid(self, parameters):
        return np.all([p.is_valid(own) for p, own in self.each(parameters)], axis=0)

    def within_domain(self, statistics):
        return np.hstack([p.within_domain(own) for p, own in self.each(statistics)])

    def draws(self, parameters, random):
        return np.hstack([p.draws(own, random) for p, own in self.each(parameters)])

    # -- local steps -------------------------------------------------------------------
    def log_predictive(self, block, tables, log_weights=0.0):
        logs = np.zeros((len(block), len(tables.parameters)))
        logs += log_weights + np.reshape(block.log_base + block.log_support, (-1, 1))
        moments = self.moments(block)
        for some in slices(len(block), self.n_natural, VALUES_AT_ONCE):
            both = self.each(dense(moments[some]), tables.parameters)
            for part, own, parameters in both:
                logs[some] += part.log_predictive(own, Tables(None, parameters))
        return logs


def logarithms(values):
    """Return the logarithms of positive values, and NaN for others."""
    return np.log(np.where(values > 0, values, np.nan))


def _log_factorials(counts):
    """Return the sums of log x! of rows of counts."""
    x = np.where(np.isnan(counts), 0.0, counts)
    if x.max(initial=0.0) < len(LOG_FACTORIALS):
        return LOG_FACTORIALS[x.astype(np.intp)].sum(axis=1)
    return gammaln(x + 1.0).sum(axis=1)


# -- log partition function of rows of several kinds of values -------------------------
#: Rate above which a Poisson distribution is treated as a normal distribution.
LARGE_RATE = 100.0
#: Logarithm below which terms are negligible.
LEAST_LOG = -40.0
#: Numbers of Poisson probabilities that are summed, at least and at most.  The
#: probabilities of larger counts are integrated.
LEAST_SUMMED, MOST_SUMMED = 64, 1024
#: Step of the trapezoidal rule.
TAIL_STEP = 0.1


def draw_partition(
    model, inverse_temperatures, hyper, random, priors=None, n_samples=8
):
    """Return log C(b) as a `MixturePartition`, see `ConjugateModel.log_partition`.

    The log C of a value depends on its column.  The log C of a row is estimated by the
    number of its values times the mean log C over all columns.  Of ``n_samples`` drawn
    mixtures, ``priors`` are the concentrations of weights and of options.  Densities
    are tempered relative to the units of `Column.log_unit`, as if each value had the
    mean unit.
    """
    family, concentration = model.family, hyper.weight_concentration
    options, counts, normals = family.split_kinds(hyper.component[None])
    if priors is not None and not isinstance(priors, str):
        concentration, option_prior = concentrations_of(priors, "options")
        options = np.full_like(options, option_prior - 1.0)
    b, n_draws = np.asarray(inverse_temperatures), n_samples * model.n_components
    log_weights = model.weights.all_log_draws(concentration, random, n_samples)
    total = np.zeros((n_draws, len(b)))
    ends = np.cumsum(family.sizes)
    for end, size in zip(ends, family.sizes, strict=True):
        own = options[0, end - size : end] + 1.0
        logs = log_draws(np.broadcast_to(own, (n_draws, size)), random)
        total += logsumexp(b[:, None] * logs[:, None], axis=-1)
    if len(family.counts):
        shapes, rates = np.split(counts[0], 2)
        for shape, rate in zip(shapes + 1.0, rates, strict=True):
            total += _count_power_sums(random.gamma(shape, 1.0 / rate, n_draws), b)
    if len(family.normals):
        _, _, shapes, rates = family.parts[-1].usual(normals)
        for shape, rate, scale in zip(shapes[0], rates[0], family.scale, strict=True):
            tau = random.gamma(shape, 1.0 / rate, n_draws)
            total += _normal_power_sums(np.log(tau) - 2.0 * np.log(scale), b)
    total += (1.0 - b) * sum(column.log_unit for column in family.columns)
    means = total.reshape(n_samples, model.n_components, len(b)) / len(family.columns)
    return MixturePartition(log_weights[..., None] * b, means)


def _normal_power_sums(log_precision, b):
    """Return the logarithms of integrals of normal densities to the power b."""
    spread = np.multiply.outer(log_precision - LOG_2_PI, 0.5 * (b - 1.0))
    return spread - 0.5 * np.log(b)


def _count_power_sums(rates, b):
    """Return logarithms of sums of Poisson probabilities to the power b.

    The shape is (n_rates, n_temperatures).
    """
    rates = np.maximum(rates, np.finfo(float).tiny)
    # for b = 1, these values and the sums below are 0
    logs = _normal_power_sums(-np.log(rates), b)
    small = rates <= LARGE_RATE
    if small.any():
        logs[small] = _summed_powers(rates[small], b, MOST_SUMMED)
    for m, one in enumerate(b):
        # these distributions to the power b reach down to 0, unlike normal ones
        wide = ~small & (one * rates < -LEAST_LOG)
        if wide.any():
            logs[wide, m] = _summed_powers(rates[wide], b[[m]], LEAST_SUMMED)[:, 0]
    return logs


def _summed_powers(rates, b, most):
    """Return the logarithms of sums of powers: up to ``most`` terms, and the tail."""
    largest, least = float(LEAST_SUMMED), b.min()
    while largest < most and least * _log_poisson(largest, rates.max()) > LEAST_LOG:
        largest *= 2.0
    terms = _log_poisson(np.arange(largest + 1.0), rates[:, None])
    logs = np.stack([logsumexp(one * terms, axis=1) for one in b], axis=1)
    last = terms[:, -1].max()
    for m in np.flatnonzero((b * last > LEAST_LOG) | (largest < rates.max())):
        logs[:, m] = np.logaddexp(logs[:, m], _log_tail(largest, rates, b[m]))
    return logs


def _log_tail(start, rates, b):
    """Return the logarithms of sums of powers, over the counts above ``start``.

    The formula of Euler and Maclaurin replaces the sum by an integral and corrections
    at its lower end.  Its further terms are negligible, because powers that need a tail
    change slowly from count to count.  The integral is computed by the trapezoidal rule
    over t, with x = start + exp(t - exp(-t)).
    """
    high = np.log(max(8.0 * rates.max(), -2.0 * LEAST_LOG / max(b, 1e-300)))
    t = np.arange(-4.0, high + TAIL_STEP, TAIL_STEP)
    log_steps = t - np.exp(-t) + np.log1p(np.exp(-t)) + np.log(TAIL_STEP)
    logs = b * _log_poisson(start + np.exp(t - np.exp(-t)), rates[:, None])
    integral = logsumexp(logs + log_steps, axis=1)
    first = b * _log_poisson(start, rates)
    slope = b * (np.log(rates) - digamma(start + 1.0))
    return integral + np.log1p(-(0.5 + slope / 12.0) * np.exp(first - integral))


def _log_poisson(x, rate):
    return xlogy(x, rate) - rate - gammaln(x + 1.0)


# -- mixture of tables with columns of several kinds, as a `ConjugateModel` ------------
#: Prior of a normal column, in units of the standard deviation of all rows: the number
#: of rows to which the prior mean is equivalent, and the rate of the Gamma distribution
#: of the precision, whose shape is 1.
MEAN_PRECISION, VARIANCE = 0.1, 0.25
#: Smallest prior mean of counts.
LEAST_MEAN = 1e-3


class MixedMixtureModel(MixtureModel):
    """Mixture of rows of options, counts and normal values, see `MixedFamily`.

    The options of a column have a Dirichlet prior of the concentration
    ``feature_prior``.
    """

    def __init__(
        self, n_components, n_features, *, columns, feature_prior=1.0, **others
    ):
        family = MixedFamily(columns)
        super().__init__(n_components, n_features, family, **others)
        self.feature_prior = feature_prior
        self.block_size = int(
            np.clip(VALUES_OF_BLOCK // family.n_stored // 16 * 16, 16, ROWS_AT_ONCE)
        )
        n_codes = len(family.options)
        size = n_codes * family.type_of_codes.itemsize / np.float64().itemsize
        self.most_kept_rows = VALUES_KEPT // (n_features - n_codes + 2 + size)

    steps_by_kernel = True

    @property
    def products_per_value(self):
        return 2 * self.n_components * self.family.n_stored / self.n_features

    def take(self, X, rows):
        """Return ``X[rows]`` with moments, or with codes if X has many rows."""
        has_room = X.shape[0] * self.family.n_stored <= VALUES_KEPT
        return (self.family.block if has_room else self.family.coded)(X[rows])

    log_partition = draw_partition

    def auto_batch_size(self, X, total):
        """Return a tenth of the samples, at least 20 per component, at most 5,000."""
        return tenth_of_rows(total, 20 * self.n_components, 5000)

    def prior_of_component(self, X, sample_weight=None):
        """Return the prior of a component.

        Options have a symmetric prior.  The priors of counts and of normal values have
        the means of all rows, and the priors of normal values have variances in
        proportion to the variances of all rows.
        """
        family = self.family
        weight = sample_weight if np.any(sample_weight) else np.ones(X.shape[0])
        options = np.full(family.n_natural, self.feature_prior - 1.0)
        (options,), (counts,), (normals,) = family.split_kinds(options[None])
        means = [weighted_mean(X[:, number], weight) for number in family.counts]
        rates = 1.0 / np.maximum(means, LEAST_MEAN)
        counts[:] = np.concatenate([np.zeros(len(rates)), rates])
        if len(normals):
            values = family.standardized(X[:, family.normals]).T
            means = np.array([[weighted_mean(column, weight) for column in values]])
            squares = (values - means.T) ** 2
            found = np.array([[weighted_mean(column, weight) for column in squares]])
            variances = np.where(found > ROUNDING, found, 1.0)
            shape = np.ones_like(means)
            usual = MEAN_PRECISION * shape, means, shape, VARIANCE * variances
            normals[:] = family.parts[-1].natural(usual)[0]
        return np.concatenate([options, counts, normals])


def weighted_mean(values, weight):
    """Return the weighted mean of the values that are not missing, or 0."""
    known = ~np.isnan(values)
    total = weight[known].sum()
    return float(weight[known] @ values[known] / total) if total > 0 else 0.0

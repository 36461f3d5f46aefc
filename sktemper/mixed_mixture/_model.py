"""Mixture of tables with columns of several kinds, as a `ConjugateModel`."""

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln, logsumexp, xlogy

from .._contract import tenth_of_rows
from .._families._counts import CategoricalFamily, PoissonFamily
from .._families._critical import MixturePartition
from .._families._dirichlet import log_draws
from .._families._family import VALUES_OF_BLOCK, Family, Tables
from .._families._mixture import MixtureModel
from .._families._normal_gamma import NormalGammaFamily
from .._families._normal_wishart import LOG_2_PI
from .._utils._arguments import concentrations_of
from .._utils._budgets import VALUES_KEPT
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
    moments : ndarray of shape (n_rows, n_natural)
    log_base : ndarray of shape (n_rows,)
        Part of the log-likelihood that all components share.
    known : ndarray of shape (n_rows,)
        Numbers of values that are not missing.
    log_support : ndarray of shape (n_rows,)
        0, or -inf for a row of density 0, which counts as missing in fits.
    """

    moments: np.ndarray
    log_base: np.ndarray
    known: np.ndarray
    log_support: np.ndarray


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
    """

    def __init__(self, columns):
        self.columns = tuple(columns)
        sizes = np.array([column.n_options for column in self.columns])
        parts = np.array([column.part for column in self.columns])
        self.options, self.counts, self.normals = (
            np.flatnonzero(parts == part) for part in ("options", "counts", "normals")
        )
        self.sizes = sizes[self.options]
        self.option_columns = np.repeat(self.options, self.sizes)
        options = [self._option_numbers(self.columns[place]) for place in self.options]
        self.option_values = np.concatenate([[], *options])
        scores = [self.columns[place].option_scores for place in self.options]
        self.option_scores = np.concatenate([[], *scores])
        used = [self.columns[number] for number in self.normals]
        self.location = np.array([column.location for column in used])
        self.scale = np.array([column.scale for column in used])
        self.is_log = np.array([column.kind == "lognormal" for column in used], bool)
        ends = np.cumsum(self.sizes)
        self.binned = [
            (slice(end - size, end), number, self.columns[number].histogram)
            for end, size, number in zip(ends, self.sizes, self.options, strict=True)
            if self.columns[number].kind in WITH_INTERVALS
        ]
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
        self.slices = [
            slice(int(end) - part.n_natural, int(end))
            for part, end in zip(self.parts, ends, strict=True)
        ]

    @staticmethod
    def _option_numbers(column):
        """Return the numbers that represent options, or NaN for intervals.

        NaN differs from all values; `block` computes indicators of intervals later.
        """
        if column.kind in WITH_INTERVALS or not column.categories:
            return np.full(column.n_options, np.nan)
        return column.option_values

    def split_kinds(self, values):
        """Split the columns of parameters into options, counts and normal values."""
        first = len(self.option_values)
        last = first + 2 * len(self.counts)
        return values[:, :first], values[:, first:last], values[:, last:]

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
            own = options + prior
            own = own * self.option_scores, own
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
        return block.moments

    def log_base(self, block):
        return block.log_base

    def n_observed(self, block):
        return block.known

    def block(self, rows):
        rows = np.asarray(rows, dtype=np.float64)
        moments = np.empty((len(rows), self.n_natural))
        log_base = np.zeros(len(rows))
        options, counts, normals = self.split_kinds(moments)
        chosen = np.equal(rows[:, self.option_columns], self.option_values)
        for own, number, histogram in self.binned:
            values = rows[:, number]
            chosen[:, own] = _intervals(values, self.columns[number].edges)
            if histogram:
                log_base += histogram.log_densities(values)
        options[...] = chosen.astype(np.float64)  # fast, other than casts of views
        known = options.sum(axis=1)
        if len(self.counts):
            log_base -= _count_moments(rows[:, self.counts], counts)
            known += counts[:, len(self.counts) :].sum(axis=1)
        log_support = np.zeros(len(rows))
        if len(self.normals):
            values = rows.take(self.normals, axis=1)
            if self.is_log.any():
                own = values[:, self.is_log]
                log_support[(own <= 0).any(axis=1)] = -np.inf
                values[:, self.is_log] = own = logarithms(own)
                log_base -= np.nansum(np.ascontiguousarray(own), axis=1)
            values = (values - self.location) / self.scale
            present = _normal_moments(values, normals)
            log_base -= (present * self.log_scale).sum(axis=1)
            known += present.sum(axis=1)
        return MomentRows(moments, log_base, known, log_support)

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
        options, _, _ = self.split_kinds(block.moments)
        values, known = self.numbers(block.moments)
        values[:, self.counts] = np.sqrt(values[:, self.counts])
        others = np.concatenate([self.counts, self.normals])
        values = np.hstack([options, values[:, others]])
        known = np.hstack([np.ones_like(options), known[:, others]])
        weight = row_weight[:, None] * known
        totals = np.maximum(weight.sum(axis=0), np.finfo(float).tiny)
        values -= (weight * values).sum(axis=0) / totals
        values *= known
        spread = np.sqrt((weight * values**2).sum(axis=0) / totals)
        spread[: options.shape[1]] = 0.5
        return values / np.where(spread > 0, spread, 1.0)

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
        return all(part.is_valid(own) for part, own in self.each(parameters))

    def draws(self, parameters, random):
        return np.hstack([p.draws(own, random) for p, own in self.each(parameters)])

    # -- local steps -------------------------------------------------------------------
    def log_predictive(self, block, tables, log_weights=0.0):
        logs = np.zeros((len(block), len(tables.parameters)))
        logs += log_weights + np.reshape(block.log_base + block.log_support, (-1, 1))
        for part, moments, own in self.each(block.moments, tables.parameters):
            logs += part.log_predictive(moments, Tables(None, own))
        return logs


def logarithms(values):
    """Return the logarithms of positive values, and NaN for others."""
    return np.log(np.where(values > 0, values, np.nan))


def _intervals(values, edges):
    """Return indicators of the intervals of values, (n_rows, n_intervals)."""
    above = values[:, None] > np.array([-np.inf, *edges])
    above[:, :-1] &= ~above[:, 1:]
    return above


def _count_moments(values, out):
    """Write the moments of counts; return the sums of log x!, (n_rows,)."""
    n_counts = values.shape[1]
    x, known = out[:, :n_counts], out[:, n_counts:]
    known[...] = ~np.isnan(values)
    x[...] = np.where(known, values, 0.0)
    if x.max(initial=0.0) < len(LOG_FACTORIALS):
        return LOG_FACTORIALS[x.astype(np.intp)].sum(axis=1)
    return gammaln(x + 1.0).sum(axis=1)


def _normal_moments(values, out):
    """Write the moments of normal values; return 1 for known values, 0 for others."""
    n_normals = values.shape[1]
    known = ~np.isnan(values)
    x = np.where(known, values, 0.0)
    out[...] = np.concatenate([known, x, x * x, known], axis=1)
    return out[:, :n_normals]


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
            np.clip(VALUES_OF_BLOCK // family.n_natural // 16 * 16, 16, 1024)
        )
        self.most_kept_rows = VALUES_KEPT // family.n_natural

    steps_by_kernel = True

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

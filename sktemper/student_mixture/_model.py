"""The mixture of Student-t distributions: a Gaussian mixture whose rows have scales.

Given component k, a row x has a scale u with the distribution Gamma(nu_k / 2, nu_k / 2)
and is Gaussian with the precision u Lambda_k, so that its density is Student's t with
nu_k degrees of freedom.  The local posterior is q(z = k) q(u | k), where

    q(u | k) = Gamma((nu + D) / 2, (nu + delta) / 2)

is optimal, and delta is the expectation of (x - mu)^T Lambda (x - mu).  The scale is
integrated out of the local bound, and statistics are those of the Gaussian mixture with
rows weighted by E[u | k].
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, polygamma, psi

from .._contract import Capabilities
from .._families._births import USED
from .._families._counts import log_rising
from .._families._family import ONCE
from .._families._mixture import NEVER, Mixture, softmax
from .._simd import special
from .._utils._cache import LastCall
from .._utils._linalg import RowArrays, tiled_matmul
from ..gaussian_mixture._family import GaussianFamily, TiedFamily
from ..gaussian_mixture._kernels import FARTHEST, LIMITS_OF_SCALED
from ..gaussian_mixture._model import GaussianMixtureModel, is_plain
from ..gaussian_mixture._priors import Hyper
from . import _kernels

#: Range of learned degrees of freedom, and largest factor of a step of Newton's method.
LEAST, MOST, NEWTON_FACTOR = LIMITS_OF_SCALED
#: Starting value of learned degrees of freedom.
START = 10.0
#: Share of the mean number of rows of a component below which a component is small.
SMALL = 0.1


# -- rows with scales, from which moves compute statistics -----------------------------
@dataclass(frozen=True)
class ScaledRows(RowArrays):
    """Rows whose precision in each component is multiplied by a known scale.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_features)
    scales : ndarray of shape (n_rows,)
    log_freedom : ndarray of shape (n_rows,)
        Mean logarithm of the degrees of freedom of the components of each row.
    """

    rows: np.ndarray
    scales: np.ndarray
    log_freedom: np.ndarray


def rows_of(block):
    return block.rows if isinstance(block, ScaledRows) else block


class WithScales:
    """Mixin of families of Gaussians whose blocks may be `ScaledRows`."""

    has_scales = True

    def coordinates(self, block, row_weight):
        return super().coordinates(rows_of(block), row_weight)

    def log_likelihoods(self, block, tables):
        if not isinstance(block, ScaledRows):
            return super().log_likelihoods(block, tables)
        D, scales = self.n_features, block.scales[:, None]
        known = D / tables.usual.precision
        logs = tables.constants + 0.5 * (known + D * np.log(scales))
        squares = self.squares(block.rows, tables) + self.uncertainty(tables)
        return logs - 0.5 * scales * squares

    def uncertainty(self, tables):
        """Return what uncertain means and `reg_covar` add to squared distances.

        Statistics contain `reg_covar` times the scales, so that local steps need it for
        the bound to rise.
        """
        usual = tables.usual
        return self.n_features / usual.precision + self.squares_of_noise(usual)

    def draws(self, parameters, random):
        raise NotImplementedError  # rows have scales

    def statistics(self, block, shares, factors=ONCE, tables=None):
        if not isinstance(block, ScaledRows):
            return super().statistics(block, shares, factors, tables)
        scales = block.scales[:, None]
        return self.scaled_statistics(block.rows, shares, scales, factors)

    def scaled_statistics(self, rows, shares, scales, factors=ONCE):
        """Return the counts and statistics of rows with scales.

        ``scales`` has the shape of ``shares``, or (n_rows, 1).
        """
        counts = (shares * factors[:, None]).sum(axis=0, dtype=np.float64)
        scaled = (shares * scales).astype(shares.dtype, copy=False)
        _, natural = super().statistics(rows, scaled, factors)
        # degrees of freedom count rows, while the other statistics sum scales
        natural[..., -1] = counts if natural.ndim == 2 else counts.mean()
        return counts, natural


class StudentFamily(WithScales, GaussianFamily):
    """Gaussian components of rows with scales."""


class TiedStudentFamily(WithScales, TiedFamily):
    """Gaussian components that share a covariance, of rows with scales."""

    alone_class = StudentFamily


# -- priors with degrees of freedom, and statistics of scales --------------------------
#: Priors of the Gaussian mixture, and the degrees of freedom of the components, an
#: ndarray of shape (n_components,).
StudentHyper = NamedTuple(
    "StudentHyper", [(name, Any) for name in (*Hyper._fields, "freedom_of_scales")]
)


@dataclass(frozen=True)
class StudentStatistics(Mixture):
    """Statistics of a mixture, and sums from which degrees of freedom are learned.

    Attributes
    ----------
    of_scales : ndarray of shape (5, n_components)
        Counts of rows; the first and second derivatives of the local bounds for half of
        the degrees of freedom; and the rises of these bounds for `neighbours`.
    """

    of_scales: np.ndarray


class Local(NamedTuple):
    """Local posteriors of rows, given each component.

    Attributes
    ----------
    logs : ndarray of shape (n_rows, n_components)
        Tempered E log p(x, k, u) plus the entropy of q(u | k).
    scales : ndarray of shape (n_rows, n_components)
        E[u | k].
    squares : ndarray of shape (n_rows, n_components)
        The expected squared distances delta.
    """

    logs: np.ndarray
    scales: np.ndarray
    squares: np.ndarray


def log_gamma_constant(freedom):
    """Return the logarithm of the normaliser of Gamma(nu / 2, nu / 2)."""
    return 0.5 * freedom * np.log(0.5 * freedom) - gammaln(0.5 * freedom)


class StudentMixtureModel(GaussianMixtureModel):
    """Mixture of Student-t distributions.

    Parameters
    ----------
    n_components, n_features : int
    degrees_of_freedom : float or None
        Degrees of freedom of all components.  None learns them for each component.
    **others : dict
        See `GaussianMixtureModel`.  Missing values are not supported.
    """

    annealing_steps, has_continuous_local = 150, True
    families = StudentFamily, TiedStudentFamily
    # The normaliser of powers of Student-t densities may be infinite.
    log_partition = Capabilities.log_partition

    def __init__(self, n_components, n_features, *, degrees_of_freedom=None, **others):
        super().__init__(n_components, n_features, **others)
        self.degrees_of_freedom, self._scaled = degrees_of_freedom, LastCall()

    # -- the state of a fit ------------------------------------------------------------
    def initial_hyper(self, X, sample_weight=None):
        hyper = super().initial_hyper(X, sample_weight)
        freedom = self.degrees_of_freedom or START
        return StudentHyper(*hyper, np.full(self.n_components, float(freedom)))

    def hyper_shapes(self):
        return [*super().hyper_shapes(), (self.n_components,)]

    def freedom_of(self, hyper):
        """Return the degrees of freedom, for any number of components.

        In renewals, the model is larger than that of ``hyper``; the new components have
        the degrees of freedom of a start.
        """
        freedom = hyper.freedom_of_scales[: self.n_components]
        start = self.degrees_of_freedom or START
        missing = self.n_components - len(freedom)
        return np.append(freedom, np.full(missing, start)) if missing else freedom

    def students(self, usual, hyper):
        """Return means, scales and degrees of freedom at the posterior means."""
        means, scales = usual.means + hyper.origin, self.covariances_of(usual)
        shown = means, self.covariance.matrices(scales)
        means, scales = (part.astype(self.dtype).astype(np.float64) for part in shown)
        return means, scales, self.freedom_of(hyper), False

    def n_parameters(self, n_classes, n_covariances):
        n_learned = n_classes if self.degrees_of_freedom is None else 0
        return super().n_parameters(n_classes, n_covariances) + n_learned

    def moved_hyper(self, block, shares, hyper):
        """Return degrees of freedom that are means over the rows of each component."""
        counts, logs = shares.sum(axis=0), block.log_freedom @ shares
        freedom = self.freedom_of(hyper)
        used = counts > 0
        freedom = np.where(used, np.exp(logs / np.where(used, counts, 1.0)), freedom)
        return hyper._replace(freedom_of_scales=freedom)

    def reordered(self, globals_, hyper, order):
        globals_, hyper = super().reordered(globals_, hyper, order)
        freedom = self.freedom_of(hyper)[order]
        return globals_, hyper._replace(freedom_of_scales=freedom)

    def complete(self, block, globals_, hyper):
        """Return `ScaledRows`; the last result is cached."""
        return self._scaled.result(self.scaled_rows, rows_of(block), globals_, hyper)

    def scaled_rows(self, rows, globals_, hyper):
        """Return `ScaledRows`, whose scales are expectations over the components.

        Small components are left out, because their rows may be outliers of others, and
        would else never be merged into them.
        """
        prepared = self.prepare(globals_, hyper)
        local = self._local(rows, prepared)
        counts = self.component_counts(globals_, hyper)
        least = SMALL * counts.sum() / max((counts > USED).sum(), 1)
        logs = np.where(counts >= least, local.logs, NEVER)
        shares, *_ = softmax(logs, 1.0)
        scales = (shares * local.scales).sum(axis=1)
        return ScaledRows(rows, scales, shares @ np.log(self.freedom_of(hyper)))

    def fits_well(self, globals_, hyper, block, row_weight=None):
        return False  # heavy tails are no misfit

    # -- the step ----------------------------------------------------------------------
    def squares(self, block, tables, hyper):
        """Return the expected squared distances delta, (n_rows, n_components)."""
        family, rows = self.family_of(hyper), rows_of(block)
        squares = family.squares(rows, tables).astype(np.float64, copy=False)
        return np.minimum(squares, FARTHEST) + family.uncertainty(tables)

    def _local(self, block, prepared, power=1.0, prior_power=1.0):
        """Return `Local` of rows.

        The likelihood has the exponent ``power``, () or (n_rows,), and the density of
        the scales ``prior_power``.
        """
        tables, hyper, D = prepared.tables, prepared.hyper, self.n_features
        squares, freedom = self.squares(block, tables, hyper), self.freedom_of(hyper)
        power = np.asarray(power)[..., None]
        shape = 0.5 * (prior_power * (freedom - 2.0) + 2.0 + power * D)
        rate = 0.5 * (prior_power * freedom + power * squares)
        constants = tables.constants + 0.5 * D / tables.usual.precision
        logs = power * (prepared.log_weights + constants)
        logs = logs + prior_power * log_gamma_constant(freedom)
        logs = logs + gammaln(shape) - shape * np.log(rate)
        return Local(logs, shape / rate, squares)

    def responsibilities(self, block, prepared, power=1.0):
        local = self._local(block, prepared, power)
        shares, bounds, _ = softmax(local.logs, 1.0)
        return shares.astype(self.dtype, copy=False), bounds, bounds

    def local_step(self, block, prepared, request):
        powers = request.powers
        local = self._local(block, prepared, powers.local, powers.prior)
        if request.labels is not None:
            power, logs = np.asarray(powers.local), self.log_labels(request.labels)
            local = local._replace(logs=local.logs + power[..., None] * logs)
        shares, bounds, _ = softmax(local.logs, 1.0)
        given, (_, scales, squares) = (block, shares, prepared.hyper), local
        sums = partial(self._sums, *given, squares=squares, scales=scales)
        found = shares.astype(self.dtype, copy=False), bounds, bounds
        return self.finished(block, request, found, sums)

    def statistics(self, block, shares, hyper, factors=ONCE, tables=None):
        """Return `StudentStatistics`; without tables, scales are known, or 1."""
        if tables is not None:
            squares = self.squares(block, tables, hyper)
            freedom = self.freedom_of(hyper)
            scales = (freedom + self.n_features) / (freedom + squares)
            return self._sums(block, shares, hyper, factors, squares, scales)
        sums = super().statistics(block, shares, hyper, factors)
        of_scales = np.zeros((5, self.n_components))
        return StudentStatistics(sums.weights, sums.components, of_scales)

    def _sums(self, block, shares, hyper, factors, squares, scales):
        rows, family = rows_of(block), self.family_of(hyper)
        counts, sums = family.scaled_statistics(rows, shares, scales, factors)
        of_scales = np.zeros((5, len(counts)))
        if self.degrees_of_freedom is None:
            shares = shares * factors[:, None]
            of_scales = sums_of_scales(
                shares, squares, self.freedom_of(hyper), self.n_features
            )
        return StudentStatistics(self.weights.counted(counts), sums, of_scales)

    def target(self, statistics, scale, powers, hyper):
        sums = Mixture(statistics.weights, statistics.components)
        return super().target(sums, scale, powers, hyper)

    def update_hyper(self, hyper, globals_, statistics, scale, rate, powers):
        """Learn the priors, and the degrees of freedom of the components at T=1.

        See `learned_freedom`.
        """
        learned = super().update_hyper(hyper, globals_, statistics, scale, rate, powers)
        if self.degrees_of_freedom is not None or not is_plain(powers):
            return learned
        freedom = self.freedom_of(hyper)
        best = learned_freedom(freedom, scale * statistics.of_scales)
        if rate != 1:
            best = np.exp((1.0 - rate) * np.log(freedom) + rate * np.log(best))
        return learned._replace(freedom_of_scales=best)

    # -- objectives --------------------------------------------------------------------
    def predictive_scores(self, block, prepared):
        """Return the log posterior predictive density of each row, and `n_scored`."""
        family, hyper = self.family_of(prepared.hyper), prepared.hyper
        logs = log_predictive(family, block, prepared.tables, self.freedom_of(hyper))
        logs += self.weights.log_mean(prepared.globals_.weights)
        return softmax(logs, 1.0)[1], self.n_scored(self.n_observed(block))


# -- degrees of freedom, which are learned from the sums over the rows -----------------
def neighbours(freedom):
    """Return half and twice the degrees of freedom, in their range."""
    return np.maximum(freedom / 2.0, LEAST), np.minimum(freedom * 2.0, MOST)


def sums_of_scales(shares, squares, freedom, n_features):
    """Return the field `of_scales` of `StudentStatistics`.

    ``shares`` and ``squares`` have the shape (n_rows, n_components).
    """

    def log_marginals(freedom):
        """Return the terms of the local bounds that depend on degrees of freedom."""
        shape = 0.5 * (freedom + n_features)
        constant = log_gamma_constant(freedom) + gammaln(shape)
        return constant - shape * np.log(0.5 * (freedom + squares))

    half, known = 0.5 * freedom, log_marginals(freedom)
    shape, rate = half + 0.5 * n_features, half + 0.5 * squares
    slope = np.log(half) + 1.0 - psi(half) + psi(shape) - np.log(rate) - shape / rate
    bend = 1.0 / half - polygamma(1, half) + polygamma(1, shape)
    bend = bend - (2.0 * rate - shape) / rate**2
    rises = [log_marginals(other) - known for other in neighbours(freedom)]
    terms = [np.ones(1), slope, bend, *rises]
    return np.stack([(shares * term).sum(axis=0) for term in terms])


def learned_freedom(freedom, of_scales):
    """Return degrees of freedom for which the bound is higher, or the same.

    The scales are integrated out, because a step of EM, which keeps q(u | k), moves
    many degrees of freedom by a tiny share of the distance to their optimum.  Near the
    optimum, a step of Newton's method for their logarithm is taken; far from it, one of
    `neighbours`, for which the rise of the bound is known.  The other parameters change
    in the same step, so that the bound might fall if a step went beyond the optimum: a
    neighbour is beyond it if its rise is less than half of the slope promises.

    Parameters
    ----------
    freedom : ndarray of shape (n_components,)
    of_scales : ndarray of shape (5, n_components)
        Field of `StudentStatistics`.

    Returns
    -------
    freedom : ndarray of shape (n_components,)
        In the range from `LEAST` to `MOST`; unchanged for empty components.
    """
    counts, slope, bend, *rises = of_scales
    half = 0.5 * freedom
    slope, bend = half * slope, half**2 * bend + half * slope
    is_concave, most = bend < 0, math.log(NEWTON_FACTOR)
    step = -slope / np.where(is_concave, bend, -1.0)
    step = np.where(is_concave, step, most * np.sign(slope))
    low, high = np.log(LEAST / freedom), np.log(MOST / freedom)
    step = np.clip(step, np.maximum(-most, low), np.minimum(most, high))
    rise = step * (slope + 0.5 * bend * step)
    candidates = np.stack([freedom, freedom * np.exp(step), *neighbours(freedom)])
    promised = slope * np.log(candidates[2:] / freedom)
    rises = np.where(rises < 0.5 * promised, 0.0, rises)
    rises = np.stack([np.zeros_like(freedom), rise, *rises])
    best = candidates[rises.argmax(axis=0), np.arange(len(freedom))]
    return np.where(counts > USED, best, freedom)


# -- predictive densities of components, whose parameters are uncertain ----------------
def log_predictive(family, block, tables, freedom):
    """Return the log predictive density of rows in each component.

    Given the scale u, it is the predictive density of the Gaussian family for a row of
    the precision u Lambda, which is integrated over log u.

    Parameters
    ----------
    family : GaussianFamily
    block : ndarray of shape (n_rows, n_features)
    tables : GaussianTables
    freedom : ndarray of shape (n_components,)
        Degrees of freedom of the scales.

    Returns
    -------
    logs : ndarray of shape (n_rows, n_components)
    """
    family, block, tables = family.in_float64(block, tables)
    usual, law, D = tables.usual, family.law, family.n_features
    nu = np.broadcast_to(usual.freedom, usual.precision.shape)
    logs = np.empty((len(block), len(nu)))
    logs[:] = law.log_student(nu, usual.log_determinants, np.ones(len(nu)))
    values = block - family.origin
    if not law.is_product:
        values = family.squares(block, tables) / (law.width * nu)
    columns = np.zeros((values.shape[1], special.padded(len(block), np.float16)))
    columns[:, : len(block)] = values.T
    out = np.empty(len(block))
    given = zip(0.5 * freedom, law.exponent(nu), usual.precision, strict=True)
    for k, given_k in enumerate(given):
        squares = columns[k : k + 1]
        if law.is_product:  # a density for each column
            factors = family.covariance.each(usual.factors)[k]
            moved = columns - usual.means[k][:, None]
            squares = (moved * factors.reshape(-1, 1)) ** 2
        squares = np.minimum(squares, FARTHEST)
        _kernels.log_integrals(squares, np.array([0.5 * D, *given_k]), family.stop, out)
        logs[:, k] += out
    return logs


def log_student(moved, scale, freedom):
    """Return the log density of a multivariate Student-t distribution.

    Parameters
    ----------
    moved : ndarray of shape (n_rows, n_features)
        Rows minus the location.
    scale : ndarray of shape (n_features, n_features)
        Scale matrix, in columns of any units.
    freedom : float
        Degrees of freedom.
    """
    D, units = len(scale), np.sqrt(np.diag(scale))
    root = np.linalg.cholesky(scale / np.multiply.outer(units, units))
    white = tiled_matmul(moved / units, np.linalg.inv(root).T)
    height = log_rising(0.5 * freedom, 0.5 * D) - 0.5 * D * math.log(math.pi * freedom)
    height -= np.log(np.diag(root) * units).sum()
    falls = np.log1p((white**2).sum(axis=1) / freedom)
    return height - 0.5 * (freedom + D) * falls

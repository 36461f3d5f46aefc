"""The Gaussian mixture with Normal-Wishart components as a `ConjugateModel`.

The symbols are the usual ones: pi are the weights, m, kappa, W and nu the
Normal-Wishart parameters of a component, and r the responsibilities.
"""

import functools
import math
from dataclasses import replace

import numpy as np
from scipy.special import chdtrc, logsumexp, ndtri

from .._contract import IllDefined, Powers, all_finite, tenth_of_rows
from .._families._ascent import DONE_BY_KERNEL, KernelAscent
from .._families._births import USED
from .._families._mixture import Mixture, MixtureModel
from .._families._normal_wishart import COVARIANCES, ILL_DEFINED, WishartPrecision
from .._utils._budgets import ROWS_AT_ONCE, slices
from .._utils._cache import LastCall
from .._utils._evidence import FALSE_ALARM_RATE
from .._utils._validation import check_init, check_values, check_variances
from . import _kernels, _priors, _starts
from ._gaps import GappedRows, GaussianWithGaps, TiedWithGaps, block_of, has_gaps


def is_plain(powers):
    """Return whether T=1, except for temperatures of individual rows."""
    local = np.asarray(powers.local)
    is_plain = powers.prior == 1 and (np.asarray(powers.statistics) == 1).all()
    return bool(is_plain and (local.ndim > 0 or local == 1))


class GaussianAscent(KernelAscent):
    """See `Ascent`; the parameters are those of `GaussianMixtureModel.ascent`."""

    def start(self, globals_, hyper, local=None):
        super().start(globals_, hyper)
        self._priors = _priors.kernel_priors(self.model, hyper)
        self._added = self.model.family_of(hyper).added_variances

    def _take_steps(self, steps):
        powers, flags, n_left, limits, before, *others, bounds = steps
        constant, n_sections = self.model.log_constant, self.n_sections
        sections = _kernels.Sections(n_sections) if n_sections > 1 else None
        limits = np.array([limits[0] - constant, *limits[1:]])
        rows, gaps = self.block, None
        if isinstance(rows, GappedRows):
            rows, gaps = rows.in_float64, rows.gaps
        status, n_done, before = _kernels.ascent(
            rows,
            self._hyper.origin,
            self._added,
            self.row_weight,
            gaps,
            self._priors,
            (powers, flags, n_left, limits, before - constant, *others, bounds),
            *(array.reshape(-1) for array in self._globals.arrays()),
            self.row_bounds,
            sections,
        )
        bounds[1] += constant
        return status, n_done, before + constant

    def ill_defined(self):
        return IllDefined(ILL_DEFINED)

    def parameters(self):
        globals_, hyper = super().parameters()
        hyper, scales = _priors.with_learned(hyper, self._priors), self._priors[-1]
        if scales is not None:
            hyper = hyper._replace(freedom_of_scales=scales.copy())
        return globals_, hyper


class GaussianMixtureModel(MixtureModel):
    """Mixture of Gaussians of a given size, or a truncated Dirichlet process.

    Parameters
    ----------
    n_components, n_features : int
    covariance_type : {"full", "tied", "diag", "spherical"}
    weight_prior : {"dirichlet_process", "dirichlet_distribution"}
    priors : callable
        ``priors(mean, covariance, n_samples)`` returns the `Hyper` for data with this
        mean, covariance and number of samples.
    init : callable
        ``init(X, n_components, random, weight)`` returns responsibilities,
        (n_samples, n_components).
    weights_init, means_init, precisions_init : array-like or None
        Weights, means and precisions of a start, if given; see the estimators.
    reg_covar : float or "auto"
        Variance added to the samples in the statistics; see `floors` for "auto".
    is_wishart : bool
        Whether diagonal and spherical precisions have a Wishart distribution.  Full and
        tied precisions always have one.
    learned : collection of {"mean_precision", "degrees_of_freedom", "covariance"}
        Parts of the priors that are learned from the components.
    dtype : {float32, float64}
        Dtype of the computations of kernels.
    """

    annealing_steps, birth_steps = 30, 15
    block_size = ROWS_AT_ONCE
    #: Part of the lower bound that is the same for all parameters.
    log_constant = 0.0
    #: Families of components with their own covariances, and with a common one.
    families = GaussianWithGaps, TiedWithGaps

    def __init__(
        self,
        n_components,
        n_features,
        *,
        covariance_type="full",
        weight_prior="dirichlet_process",
        priors=None,
        init=None,
        weights_init=None,
        means_init=None,
        precisions_init=None,
        reg_covar=1e-6,
        is_wishart=False,
        learned=(),
        dtype=np.float64,
    ):
        law = WishartPrecision(n_features) if is_wishart else None
        covariance = COVARIANCES[covariance_type](n_features, law, n_components)
        family = self.families[covariance.is_common](covariance, dtype=dtype)
        super().__init__(
            n_components, n_features, family, weight_prior=weight_prior, dtype=dtype
        )
        family.stop = self.stop
        self.covariance, self.reg_covar = family.covariance, reg_covar
        self.priors, self.init, self.learned = priors, init, frozenset(learned)
        self.weights_init, self.means_init = weights_init, means_init
        self.precisions_init = precisions_init
        self._shifted, self._fits_well, self._wide = LastCall(), LastCall(), LastCall()

    def resized(self, n_components):
        model = super().resized(n_components)
        model.covariance = model.family.covariance
        model.weights_init = model.means_init = model.precisions_init = None
        return model

    # -- data ------------------------------------------------------------------------
    def auto_batch_size(self, X, total):
        """Return a tenth of the rows, at least 20 per component, at most 10,000."""
        return tenth_of_rows(total, 20 * self.n_components, 10_000)

    def auto_temperature(self, hyper, X):
        """Return 1.3; at higher temperatures separate clusters may merge."""
        return 1.3

    def take(self, X, rows):
        """Return ``X[rows]``; `GappedRows` if values are missing."""
        return block_of(super().take(X, rows))

    def complete(self, block, globals_, hyper, seed=0):
        """Return rows whose missing values are drawn from the mixture.

        The fixed seed makes searches for moves repeatable.
        """
        if not isinstance(block, GappedRows):
            return block
        prepared = self.prepare(globals_, hyper)
        shares, _, _ = self.responsibilities(block, prepared)
        return self.family_of(hyper).drawn(block, shares, prepared.tables, seed)

    # -- the state of a fit ----------------------------------------------------------
    def initial_hyper(self, X, sample_weight=None):
        moments = _starts.moments_of(X, sample_weight, self.covariance.products)
        mean, covariance, is_gapped, is_diagonal = moments
        added = self.reg_covar
        if isinstance(added, str):  # "auto"
            added = _starts.floors(X, sample_weight, np.diag(covariance))
        added = np.full(self.n_features, added, dtype=np.float64)
        if not _priors.is_regular(self.covariance.default_prior(covariance)):
            covariance = covariance + np.diag(added)
        covariance = self.covariance.default_prior(covariance)
        n_samples = X.shape[0] if sample_weight is None else sample_weight.sum()
        return self.priors(mean, covariance, n_samples)._replace(
            reg_covar=added, is_noisy=is_gapped, is_diagonal=is_diagonal
        )

    def initial_globals(self, X, random, hyper=None, sample_weight=None):
        """Return the optimum for responsibilities from ``init`` or ``means_init``.

        At most `ROWS_SAMPLED` rows are used.  If all rows are used, the start does
        not depend on their order, and a weight has the effect of repeating a row.
        """
        init, means, weights = self.init, self.means_init, self.weights_init
        if means is not None:
            shape = self.n_components, self.n_features
            means = check_init(means, *shape, "means_init")
            check_values(means, self.dtype, "means_init")
            init = functools.partial(_starts.from_means, means)
        if weights is not None:
            weights = _starts.check_weights_init(weights, self.n_components)
        hyper = self.initial_hyper(X, sample_weight) if hyper is None else hyper
        rows, weight, scale = _starts.sample_rows(X, sample_weight)
        gapped = np.asarray(rows, dtype=self.dtype, order="C")
        rows = self.complete_rows(gapped, weight, hyper)
        responsibilities = init(rows, self.n_components, random, weight)
        if weight is not None:
            responsibilities = weight[:, None] * responsibilities
        start = self._best(rows, responsibilities, hyper, scale)
        if rows is not gapped:
            tables = self.prepare(start, hyper).tables
            start = self._best(gapped, responsibilities, hyper, scale, tables)
        self._check(start)
        precisions = self._given_precisions()
        return self._with_given(start, hyper, weights, means, precisions)

    def complete_rows(self, X, weight, hyper):
        rows = np.asarray(X, dtype=self.dtype, order="C")
        if not has_gaps(rows):
            return rows
        return _starts.impute(rows, weight, self.covariance.products, hyper.mean)

    def _given_precisions(self):
        """Return ``precisions_init`` in the form of the covariance type, or None."""
        given, kind = self.precisions_init, self.covariance
        if given is None:
            return None
        name = next(k for k, v in COVARIANCES.items() if type(kind) is v)
        name = f"{name} precision"  # as scikit-learn names it
        shape = np.shape(kind.default_prior(np.eye(self.n_features)))
        shape = shape if kind.is_common else (self.n_components, *shape)
        precisions = _priors.checked_form(given, shape, name)
        _priors.check_definite(precisions, kind.products, name)
        every = np.linalg.eigvalsh(precisions) if kind.products else precisions
        check_variances(every, self.dtype, "precisions_init has values")
        return precisions

    def _with_given(self, start, hyper, weights, means, precisions):
        """Return a start with given parameters, each of which may be None."""
        if weights is not None:
            prior = self.weights.prior(hyper.weight_concentration)
            total = self.weights.counts(start.weights - prior).sum()
            weights = prior + self.weights.counted(total * weights)
            start = replace(start, weights=weights)
        if means is not None or precisions is not None:
            usual = self.usual(start)
            if means is not None:
                usual = usual._replace(means=means - hyper.origin)
            if precisions is not None:
                covariances = self.covariance.scale(precisions)
                scale = covariances * self.covariance.widened(usual.freedom)
                usual = usual._replace(inverse_scale=scale)
            start = replace(start, components=self.family.natural(*usual[:4]))
        return start

    def _best(self, rows, responsibilities, hyper, scale, tables=None):
        """Return the optimum for responsibilities; see `Family.statistics`."""
        sums = None
        for part in slices(len(rows), 1, self.block_size):
            block = self.take(rows, part)
            shares = responsibilities[part]
            one = self.statistics(block, shares, hyper, tables=tables)
            sums = one if sums is None else sums + one
        return self.target(sums, scale, Powers(), hyper)

    def optimum(self, block, shares, hyper, scale=1.0):
        """Return the best parameters for responsibilities of rows.

        Missing values have their expectations under the best parameters for rows whose
        missing values are filled.  See `MixtureModel.optimum`.
        """
        if not isinstance(block, GappedRows):
            return super().optimum(block, shares, hyper, scale)
        weight, is_full = shares.sum(axis=1), self.covariance.products
        rows = _starts.impute(block.rows, weight, is_full, hyper.mean)
        tables = self.prepare(super().optimum(rows, shares, hyper), hyper).tables
        statistics = self.statistics(block, shares, hyper, tables=tables)
        return self.target(statistics, scale, Powers(), hyper)

    def hyper_shapes(self):
        mean = (self.n_features,)
        covariance = self.covariance.default_prior(np.eye(self.n_features))
        return [(), (), (), mean, np.shape(covariance), mean, mean, (), ()]

    def family_of(self, hyper):
        """Return the family in coordinates about the origin."""
        given = hyper.origin, hyper.reg_covar, hyper.is_noisy
        return self._shifted.result(self.family.shift, *given)

    def component_prior(self, hyper):
        (prior,) = self.family.alone.natural(
            np.array([hyper.mean_precision]),
            hyper.mean[None] - hyper.origin,
            hyper.covariance[None],
            np.array([hyper.degrees_of_freedom]),
        )
        return prior

    def is_finite(self, globals_, hyper, prepared):
        if prepared is None:
            return all_finite(globals_)
        tables = prepared.log_weights, *prepared.tables[:3]
        # a sum of finite numbers may overflow
        return math.isfinite(sum([t.sum() for t in tables])) or all_finite(*tables)

    def usual(self, globals_):
        """Return the parameters of the components in their usual form, see `Usual`."""
        return self.family.usual(globals_.components)

    # -- parameters of the columns of the data ---------------------------------------
    def in_columns(self, vectors):
        """Return vectors of the columns of the data."""
        return vectors

    def own_covariances(self, usual):
        """Return inverses of the expected precisions of the columns of the model."""
        return usual.inverse_scale / self.covariance.widened(usual.freedom)

    def covariances_of(self, usual):
        """Return inverses of the expected precisions."""
        return self.own_covariances(usual)

    def precisions_of(self, usual):
        """Return expected precisions; matrices are products of their roots."""
        kind, roots = self.covariance, self.roots_of(usual)
        if kind.products:
            return roots @ np.swapaxes(roots, -1, -2)
        return kind.widened(usual.freedom) * kind.scale(usual.inverse_scale)

    def roots_of(self, usual):
        """Return upper triangular R with R R^T = `precisions_of`."""
        freedom = self.covariance.widened(usual.freedom)
        return np.sqrt(freedom) * self.covariance.roots(usual.inverse_scale)

    def variances_of(self, usual):
        """Return the variances of columns, (n_components, n_features)."""
        kind = self.covariance
        stored = kind.packed(self.own_covariances(usual))
        return np.broadcast_to(stored[..., kind.is_variance > 0], usual.means.shape)

    def students(self, usual, hyper):
        """Return means, scales and degrees of freedom of predictive distributions.

        The last value is whether columns are independent given the component.
        """
        law, kappa = self.covariance.law, usual.precision
        nu = np.broadcast_to(usual.freedom, kappa.shape)
        freedom = (nu - law.least) * law.width
        spread = (kappa + 1.0) / (kappa * (nu - law.least))
        scales = spread[:, None, None] * self.covariance.matrices(usual.inverse_scale)
        return usual.means + hyper.origin, scales, freedom, law.is_product

    def n_parameters(self, n_classes, n_covariances):
        """Return the number of free parameters of means and covariances."""
        return n_classes * self.n_features + n_covariances * self.covariance.n_kept

    def completed_draws(self, draws, random):
        """Return draws of all columns, given draws of the columns of the model."""
        return draws

    # -- the step --------------------------------------------------------------------
    def responsibilities(self, block, prepared, power=1.0):
        family = self.family_of(prepared.hyper)
        return family.responsibilities(
            block, prepared.tables, prepared.log_weights, power
        )

    def update_hyper(self, hyper, globals_, statistics, scale, rate, powers):
        """Step the learned priors toward the optimum for the components after the step.

        Nothing is learned at a temperature above 1, because it makes components alike.
        """
        if not self.learned or not is_plain(powers):
            return hyper
        return _priors.learned_priors(self, hyper, statistics, scale, rate)

    def wide_priors(self, globals_, hyper):
        """Return the priors under which moves are proposed.

        If one component has all samples, the learned priors fit only this component,
        and moves would find no other component.  In this case, the priors are reset to
        starting values for the covariance of the component.  The last result is cached.
        """
        return self._wide.result(self._wide_priors, globals_, hyper)

    def _wide_priors(self, globals_, hyper):
        used = np.flatnonzero(self.component_counts(globals_, hyper) > USED)
        if not self.learned or len(used) != 1 or self.n_components == 1:
            return hyper
        usual, kind = self.usual(globals_), self.family.covariance
        covariances = kind.each(usual.inverse_scale / kind.widened(usual.freedom))
        return _priors.restarted(
            hyper, covariances[used[0]], self.family.law, self.learned
        )

    def fits_well(self, globals_, hyper, block, row_weight=None):
        """Return whether all components are normally distributed.

        Where they are not, many mixtures fit about as well, and births find the better
        ones.  The last result is cached.
        """
        block = self.complete(block, globals_, hyper)
        places = self._birth_places(globals_, hyper, block, row_weight)

        def function(places):
            alone = self.family_of(hyper).alone
            return are_normal(alone, block, places.shares, places.row_weight)

        return self._fits_well.result(function, places)

    def ascent(self, block, hyper, row_weight=None):
        """Return an `Ascent` on a block, or None if a method is replaced."""
        if not DONE_BY_KERNEL.isdisjoint(vars(self)):
            return None
        return GaussianAscent(self, block, row_weight)

    def most_sections(self, n_rows):
        """Return a number of sections whose memory is at most that of the rows."""
        values_of_section = 3 * self.n_components * self.family.n_natural
        return int(n_rows * self.n_features / values_of_section)

    def agglomerated(self, globals_, hyper, best):
        """Return parameters after merges by evidence and an allowance, or None.

        If the best fit has as many components, merges from there were tried by moves.
        Then, and if the covariance is tied or the rows have gaps, None is returned.
        The default prior charges each component as if it had the same share of all
        rows.  The allowance is what it charges for more components beyond a prior of
        concentration 1 / n_components, minus `MARGIN`.
        """
        is_noisy, is_common = hyper.is_noisy, self.covariance.is_common
        if type(self) is not GaussianMixtureModel or is_noisy or is_common:
            return None
        prior, counts = self.prior(hyper), self.component_counts(globals_, hyper)
        used = counts > USED
        statistics = (globals_.components - prior.components)[used]
        hyper, statistics, _ = _priors.agglomerated(self, hyper, statistics)
        counts, n_left = statistics[:, 0], len(statistics)
        order = np.argsort(-counts, kind="stable")
        n_more = n_left - (self.component_counts(*best) > USED).sum()
        if n_more <= 0:
            return None
        charge = -math.log(self.n_components * hyper.weight_concentration)
        allowance = max(0.0, n_more * charge - _priors.MARGIN * counts.sum())
        counts = np.pad(counts[order], (0, self.n_components - n_left))
        components = np.zeros_like(globals_.components)
        components[:n_left] = statistics[order]
        sums = Mixture(self.weights.counted(counts), components)
        return self.target(sums, 1.0, Powers(), hyper), hyper, allowance

    def step(self, globals_, statistics, scale, powers, rate, hyper):
        """Step the natural parameters; raise if they would leave their domain."""
        stepped = super().step(globals_, statistics, scale, powers, rate, hyper)
        self._check(stepped)
        return stepped

    def _check(self, globals_):
        """Raise `IllDefined` if these are not parameters of distributions."""
        if not (globals_.weights > -1).all():
            raise IllDefined(ILL_DEFINED)
        self.family.usual(globals_.components)

    # -- objectives ------------------------------------------------------------------
    def predictive_scores(self, block, prepared):
        """Return the log posterior predictive of each row, and `n_scored`."""
        family = self.family_of(prepared.hyper)
        log_weights = self.weights.log_mean(prepared.globals_.weights)
        scores = family.log_mixture(block, prepared.tables, log_weights)
        return scores, self.n_scored(self.n_observed(block))

    def log_partition(
        self, inverse_temperatures, hyper, random, priors=None, n_samples=8
    ):
        """Return log C(b) per sample, a mean over ``n_samples`` mixtures.

        The mixtures are drawn from the prior, whose covariance is multiplied by
        ``priors``.  For "global" and "local", the factor is such that all clusters
        together fill the volume of one cluster of the prior.  The temperature of a fit
        then stays high until such clusters are found.
        """
        D, b = self.n_features, np.asarray(inverse_temperatures)
        factor = 1.0 if priors is None else priors
        if isinstance(priors, str):
            factor = self.n_components ** (-2.0 / D)
        factor = float(np.squeeze(np.asarray(factor, dtype=np.float64)))
        if not 0 < factor < math.inf:
            raise ValueError(
                "partition_priors must be a positive number, the factor of the prior "
                "covariance."
            )
        prior = self.family.alone.usual(self.component_prior(hyper)[None])
        log_scale = prior.log_determinants - D * math.log(factor)
        law, K = self.family.law, self.n_components
        total = np.zeros(len(b))
        for _ in range(n_samples):
            log_weights = self.weights.log_draws(hyper.weight_concentration, random)
            draws = law.draws(hyper.degrees_of_freedom, random, K)
            log_precision = log_scale + draws
            terms = np.outer(b, log_weights) + 0.5 * np.outer(b - 1.0, log_precision)
            total += logsumexp(terms, axis=1)
        constant = 0.5 * D * ((1.0 - b) * math.log(2 * math.pi) - np.log(b))
        return total / n_samples + constant


# -- a test whether the rows of each component are normally distributed ---------------
#: Least number of rows per column that a full covariance needs.
ROWS_PER_COLUMN = 2
#: A component is tested if it has more rows than ROWS_TESTED, plus ROWS_PER_COLUMN
#: times the number of columns if its covariance is full.
ROWS_TESTED = 10
#: Least share of the rows in components that are tested.
LEAST_TESTED = 0.7
#: Largest responsibility that is negligible.
NO_SHARE = 1e-6


def are_normal(family, block, shares, row_weight):
    """Return whether components pass a test of normality.

    The test compares Mardia's kurtosis [1]_, and the skewness of whitened columns, with
    those of samples of a normal distribution.  Moments are weighted by
    responsibilities.  Components with few rows pass, unless they have most rows
    together.

    Parameters
    ----------
    family : GaussianFamily
        Family of a single cluster, in the coordinates of the parameters.
    block : ndarray of shape (n_rows, n_features)
    shares : ndarray of shape (n_rows, n_components)
        Responsibilities.
    row_weight : ndarray of shape (n_rows,)

    Returns
    -------
    passed : bool

    References
    ----------
    .. [1] K. V. Mardia, "Measures of multivariate skewness and kurtosis with
       applications", Biometrika 57, 1970.
    """
    D, kind = family.n_features, family.covariance
    counts, statistics = family.statistics(block, shares, row_weight)
    large = counts > ROWS_TESTED + (ROWS_PER_COLUMN * D if kind.products else 0)
    if counts[large].sum() < LEAST_TESTED * counts.sum():
        return False
    counts, shares, parts = counts[large], shares[:, large], statistics[large]
    parts = family.split(parts)
    means, scatter = kind.centred(counts, parts.means, parts.second)
    try:
        factors, _ = kind.factors(scatter / kind.widened(counts))
    except IllDefined:
        return False
    rows, rate = block - family.origin, FALSE_ALARM_RATE / (2 * len(counts))
    for k, count in enumerate(counts):
        own = np.flatnonzero(shares[:, k] > NO_SHARE)
        share, white = shares[own, k], rows[own] - means[k]
        weight = row_weight[own] * share
        white = white @ factors[k].T if kind.products else white * factors[k]
        n = count**2 / (weight @ share)
        squares = white**2
        mean, variance = _kurtosis_of_samples(n, D, kind.products)
        kurtosis = weight @ squares.sum(axis=1) ** 2 / count - mean
        if abs(kurtosis) > ndtri(1 - rate / 2) * np.sqrt(variance):
            return False
        skewness = weight @ (white * squares) / count
        if chdtrc(D, n * (skewness**2).sum() / 6) < rate:
            return False
    return True


def _kurtosis_of_samples(n, D, is_full):
    """Return the mean and the variance of the kurtosis of n normal samples [1]_.

    They are exact if samples are whitened by a full covariance, and else those for
    variances of columns, up to terms of higher order in 1 / n.
    """
    usual, variance = D * (D + 2), 8 * D * (D + 2) / n
    if not is_full:
        return usual - 6 * D / (n + 1), variance
    variance *= n * (n - 3) * (n - D - 1) * (n - D + 1)
    return usual * (n - 1) / (n + 1), variance / ((n + 1) ** 2 * (n + 3) * (n + 5))

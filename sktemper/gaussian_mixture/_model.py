"""The Gaussian mixture with Normal-Wishart components as a `ConjugateModel`.

In the papers' letters: pi (weights), m, kappa, W, nu (the Normal-Wishart parameters of
a component), r (responsibilities).
"""

import math

import numpy as np
from scipy.special import gammaln, logsumexp

from .._expfam import (
    ILL_DEFINED,
    WEIGHTS,
    NaturalModel,
    NormalWishartFamily,
    log_chisquare,
)
from .._linalg import tiled_matmul
from ..model import IllDefined, LocalStep, Powers, Stopped, all_finite
from . import _kernels
from ._moments import ONCE, factors_of, moments, weighted_moments
from ._parameters import LastCall, Parameters, Prepared
from ._proposals import birth, split_merge
from ._starts import looked_at, mean_and_covariance, order_of_rows

#: Samples of a block: many, for what is done once a block takes as long as hundreds.
BLOCK_ROWS = 1024


class GaussianMixtureModel(NaturalModel):
    """A mixture of Gaussians, its size given or a truncated Dirichlet process.

    Parameters
    ----------
    n_components, n_features : int
    covariance_type : {"full", "tied", "diag", "spherical"}
    weight_prior : {"dirichlet_process", "dirichlet_distribution"}
    priors : callable
        ``priors(mean, covariance)`` returns the `Hyper` of data that have these.
    init : callable
        ``init(X, n_components, random, weight)`` returns responsibilities,
        (n_samples, n_components).
    reg_covar : float
        Variance added to the samples in the statistics.
    dtype : {float32, float64}
        What kernels compute in.
    """

    watches_bound = True
    scores_whole_rows = True
    birth_steps = 15
    block_size = BLOCK_ROWS
    parameters = Parameters

    def __init__(
        self,
        n_components,
        n_features,
        *,
        covariance_type="full",
        weight_prior="dirichlet_process",
        priors=None,
        init=None,
        reg_covar=1e-6,
        dtype=np.float64,
    ):
        super().__init__()
        self.n_components = n_components
        self.n_features = n_features
        self.family = NormalWishartFamily(n_components, n_features, covariance_type)
        self.covariance = self.family.covariance
        self.weights = WEIGHTS[weight_prior](n_components)
        self.priors = priors
        self.init = init
        self.reg_covar = reg_covar
        self.dtype = dtype
        self.known_splits = {}
        self._usual, self._prior, self._usual_prior = LastCall(), LastCall(), LastCall()
        self._order = LastCall(np.array_equal)
        n_second = n_features
        if self.covariance.products:
            n_second = n_features * (n_features + 1) // 2
        self.n_moments = 1 + n_features + n_second

    # -- data ------------------------------------------------------------------------
    def take(self, X, rows):
        """Return ``X[rows]``, contiguous."""
        return np.ascontiguousarray(X[rows], dtype=self.dtype)

    def auto_batch_size(self, X, total):
        """Return a tenth of the data, from 20 samples a component to 10,000."""
        fewest = 20 * self.n_components
        if total is None:
            return max(1000, fewest)
        return max(1, min(max(round(total / 10), fewest), 10_000, total // 2))

    def auto_temperature(self, hyper):
        """Return 1.3: hotter, clusters that are apart may become one."""
        return 1.3

    # -- the state of a fit ----------------------------------------------------------
    def initial_hyper(self, X, sample_weight=None):
        """Return the priors, by default those of scikit-learn for ``X``."""
        mean, covariance = mean_and_covariance(X, sample_weight)
        return self.priors(mean, self.covariance.default_prior(covariance))

    def initial_globals(self, X, random, hyper=None, sample_weight=None):
        """Return the optimum for responsibilities from ``init``.

        Of all rows, up to `ROWS_LOOKED_AT`: then it does not depend on their order, and
        weights are repetitions.
        """
        hyper = self.initial_hyper(X, sample_weight) if hyper is None else hyper
        if sample_weight is not None and not sample_weight.any():
            sample_weight = None
        rows, weight, scale = looked_at(X, sample_weight)
        rows = np.asarray(rows, dtype=self.dtype)
        responsibilities = self.init(rows, self.n_components, random, weight)
        if weight is not None:
            responsibilities = weight[:, None] * responsibilities
        sums = None
        for start in range(0, len(rows), self.block_size):
            part = slice(start, start + self.block_size)
            block = np.ascontiguousarray(rows[part])
            one = self.statistics(block, hyper, responsibilities[part])
            sums = one if sums is None else sums + one
        start = self.target(sums, scale, Powers(), hyper)
        self._check(start)
        return start

    def hyper_shapes(self):
        """Return the shapes of the parts of `hyper`."""
        mean = (self.n_features,)
        covariance = self.covariance.default_prior(np.eye(self.n_features))
        return [(), (), (), mean, np.shape(covariance), mean]

    def prepare(self, globals_, hyper):
        """Return what `local_step` needs, computed once a step."""
        usual = self.usual(globals_)
        root = np.sqrt(usual.freedom)
        constants = self.weights.expected_log(globals_.weights)
        constants = constants + self.family.log_density(usual)
        whitening = None
        if self.covariance.shared:
            whitening = (usual.factors * root).T
            means = usual.means @ whitening
            packed = np.ones((self.n_components, self.n_features))
        else:
            packed = self.covariance.packed(usual.factors, root)
            means = usual.means + hyper.origin
        return Prepared(
            np.ascontiguousarray(means, dtype=self.dtype),
            np.ascontiguousarray(packed, dtype=self.dtype),
            whitening,
            np.ascontiguousarray(constants),
            usual,
            globals_,
            hyper,
        )

    def is_finite(self, globals_, hyper, prepared):
        """Return whether the tables are, in which all parameters are; priors stay."""
        if prepared is None:
            return all_finite(globals_)
        tables = prepared.constants, prepared.means, prepared.factors
        # a sum may overflow by itself
        return math.isfinite(sum(t.sum() for t in tables)) or all_finite(*tables)

    def usual(self, globals_):
        """Return the components' parameters as they are usually written, `Usual`.

        Those of the last ones are known: a step has looked whether there are any.
        """
        return self._usual.of(globals_, self.family.usual)

    # -- the step --------------------------------------------------------------------
    def local_step(self, block, prepared, request):
        """Compute the responsibilities of a block; see `ConjugateModel.local_step`."""
        local = np.asarray(request.powers.local, dtype=np.float64)
        responsibilities, bounds, scores = self.run_kernel(block, prepared, local)
        statistics = None
        if "statistics" in request.want:
            statistics = self.statistics(
                block, prepared.hyper, responsibilities, factors_of(request, len(block))
            )
        return LocalStep.of_rows(
            statistics=statistics,
            row_observed=np.ones(len(block)),
            row_bounds=bounds,
            row_scores=scores,
            n_iterations=len(block),
            local_parameters=responsibilities if "local" in request.want else None,
        )

    def run_kernel(self, block, prepared, local, only_distances=False):
        """Return responsibilities, or only squared distances, bounds and scores."""
        if prepared.whitening is not None:
            centred = block.astype(np.float64) - prepared.hyper.origin
            white = tiled_matmul(centred, prepared.whitening)
            with np.errstate(over="ignore"):  # the kernel knows what is far
                block = white.astype(self.dtype)
        n_rows = len(block)
        out = np.empty((n_rows, self.n_components), dtype=self.dtype)
        bounds, scores = np.empty(n_rows), np.empty(n_rows)
        stopped = _kernels.local_step(
            block,
            prepared.means,
            prepared.factors,
            prepared.constants,
            np.atleast_1d(local),
            local.ndim > 0,
            self.stop,
            only_distances,
            out,
            bounds,
            scores,
        )
        if stopped:
            raise Stopped
        return out, bounds, scores

    def statistics(self, block, hyper, responsibilities, factors=ONCE):
        """Return the sums over samples, times their responsibilities and factors.

        Factors are of shape (n_samples,), or (1,) if they are the same for all.
        """

        def sums(shares, n_moments):
            return weighted_moments(self, block, hyper, shares, factors, n_moments)

        first = 1 + self.n_features
        sums, second = self.covariance.moments(
            sums, responsibilities, first, self.n_moments
        )
        counts = sums[:, 0]
        return Parameters.of(
            self.weights.counted(counts),
            self.family.counted(counts, sums[:, 1:first], second, self.reg_covar),
        )

    def moments(self, block, hyper):
        """Return 1, x and its second moments, packed, of each sample."""
        return moments(self, block, hyper)

    def prior(self, hyper):
        """Return the prior's natural parameters; those of the last one are known."""
        return self._prior.of(hyper, self._prior_of)

    def _prior_of(self, hyper):
        return Parameters.of(
            self.weights.prior(hyper.weight_concentration),
            self.family.prior(
                hyper.mean_precision,
                hyper.mean - hyper.origin,
                hyper.covariance,
                hyper.degrees_of_freedom,
            ),
        )

    def _usual_of_prior(self, hyper):
        return self._usual_prior.of(self.prior(hyper), self.family.usual)

    def shapes(self):
        """Return the shapes of the arrays of the parameters."""
        return np.shape(self.weights.prior(1.0)), *self.family.shapes()

    def step(self, globals_, statistics, scale, powers, rate, hyper):
        """Step the natural parameters; raise if they would leave their domain."""
        stepped = super().step(globals_, statistics, scale, powers, rate, hyper)
        self._check(stepped)
        return stepped

    def is_valid(self, globals_):
        """Return whether these are parameters of distributions."""
        try:
            self._check(globals_)
        except IllDefined:
            return False
        return True

    def _check(self, globals_):
        """Raise `IllDefined` if these are no parameters of distributions."""
        if not (globals_.weights > -1).all():
            raise IllDefined(ILL_DEFINED)
        self.usual(globals_)

    def fisher_product(self, globals_, vector):
        """Return the change of the expected statistics along ``vector``."""
        change = self.from_natural_parameters(vector)
        return Parameters.of(
            self.weights.fisher_product(globals_.weights, change.weights),
            self.family.fisher_product(self.usual(globals_), change),
        ).vector()

    # -- objectives ------------------------------------------------------------------
    def global_bound(self, globals_, hyper, powers=Powers()):  # noqa: B008
        """Return p E log p(pi, mu, Lambda) - E log q(pi, mu, Lambda)."""
        prior, power = self.prior(hyper), powers.prior
        q, p = self.usual(globals_), self._usual_of_prior(hyper)
        bound = self.weights.bound(globals_.weights, prior.weights, power)
        return float(bound + self.family.bound(q, p, power).sum())

    def log_partition(
        self, inverse_temperatures, hyper, random, priors=None, n_samples=8
    ):
        """Return log C(b) per sample, in the mean over ``n_samples`` mixtures.

        The mixtures are drawn from the prior, its covariance times ``priors``; "global"
        and "local" are clusters so small that together they fill the space of one,
        which keeps a fit hot until it has found such.
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
        prior = self._usual_of_prior(hyper)
        log_scale = np.broadcast_to(prior.log_determinants, self.n_components)
        log_scale = log_scale - D * math.log(factor)
        degrees = hyper.degrees_of_freedom - np.arange(D)
        total = np.zeros(len(b))
        for _ in range(n_samples):
            log_weights = self.weights.log_draws(hyper.weight_concentration, random)
            logs = log_chisquare(degrees, random, (self.n_components, D))
            log_precision = log_scale + logs.sum(axis=1)
            terms = np.outer(b, log_weights) + 0.5 * np.outer(b - 1.0, log_precision)
            total += logsumexp(terms, axis=1)
        constant = 0.5 * D * ((1.0 - b) * math.log(2 * math.pi) - np.log(b))
        return total / n_samples + constant

    def predictive_scores(self, block, prepared):
        """Return the log posterior predictive of each sample, and 1 a sample.

        Exact given q: a mixture of Student-t distributions.
        """
        D, usual = self.n_features, prepared.usual
        squares, _, _ = self.run_kernel(block, prepared, np.ones(()), True)
        nu = np.broadcast_to(usual.freedom, self.n_components)
        freedom = nu + 1.0 - D
        spread = (usual.precision + 1.0) / usual.precision
        distances = squares / (nu * spread)
        logs = (
            np.log(self.weights.mean(prepared.globals_.weights))
            + gammaln(0.5 * (freedom + D))
            - gammaln(0.5 * freedom)
            - 0.5 * D * np.log(math.pi * spread)
            + 0.5 * usual.log_determinants
            - 0.5 * (freedom + D) * np.log1p(distances)
        )
        return logsumexp(logs, axis=1), np.ones(len(block))

    # -- leaving a poor optimum --------------------------------------------------------
    def propose_birth(self, globals_, hyper, block, random, row_weight=None):
        """Return the components with one of them restarted around a sample."""
        row_weight = np.ones(len(block)) if row_weight is None else row_weight
        responsibilities = self._responsibilities(block, globals_, hyper)
        order = self._order.of(block, order_of_rows)
        birth(block, order, responsibilities, random, row_weight)
        return self._optimum(
            block, responsibilities, globals_, hyper, row_weight
        ), hyper

    def propose_split_merge(
        self, globals_, hyper, block, random, refused, row_weight=None
    ):
        """Return the components after the split and the merge that promise most."""
        row_weight = np.ones(len(block)) if row_weight is None else row_weight
        responsibilities = self._responsibilities(block, globals_, hyper)
        key = split_merge(self, hyper, block, responsibilities, refused, row_weight)
        if key is None:
            return None
        optimum = self._optimum(block, responsibilities, globals_, hyper, row_weight)
        return optimum, hyper, key

    def _responsibilities(self, block, globals_, hyper):
        prepared = self.prepare(globals_, hyper)
        return self.run_kernel(block, prepared, np.ones(()))[0].astype(np.float64)

    def _optimum(self, block, responsibilities, globals_, hyper, row_weight):
        """Return the optimal parameters for responsibilities of some of the rows."""
        order = self.weights.order(row_weight @ responsibilities)
        shares = row_weight[:, None] * responsibilities[:, order]
        total = (globals_.precision - hyper.mean_precision).sum()
        statistics = self.statistics(block, hyper, shares)
        return self.target(statistics, total / row_weight.sum(), Powers(), hyper)

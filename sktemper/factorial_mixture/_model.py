"""The factorial mixture (binary latent features) as a `ConjugateModel`.

A sample is x_n = sum_k z_nk mu_k + noise, with Gaussian components mu, binary features
z and their probabilities nu, inclusion probabilities pi, noise variance sigma^2 and
component variance s^2.
"""

import math

import numpy as np
from scipy.linalg import eigh

from .._contract import LocalStep, Powers, Request, tenth_of_rows
from .._families._ascent import KernelAscent, ascent_of
from .._families._family import VALUES_OF_BLOCK, FixedLogC, NaturalModel
from .._utils._cache import LastCall
from .._utils._linalg import tiled_matmul
from .._utils._validation import ROUNDING
from . import _kernels
from ._births import replace_components
from ._inference import (
    LARGEST_VALUES,
    LEAST_INCLUSION,
    Components,
    Couplings,
    FeatureStatistics,
    Hyper,
    Inference,
    PreparedComponents,
    Samples,
    column_means,
    inclusion_probabilities,
    mean_square,
    sample_rows,
    sample_step,
)

#: Limits of the number of rows of a block.
FEWEST_ROWS, MOST_ROWS = 256, 2048
#: The sweeps over a sample end when no probability changes by more than this, or after
#: this number of sweeps; those of the cooling do not count.
LOCAL_TOL, MAX_LOCAL_ITER = 1e-3, 100
#: Typical number of sweeps over a sample, with those of the cooling.
SWEEPS = 30
#: Time of a sample besides these, as a number of multiplications.
PER_ROW = 500
#: Initial precision of the means, as a number of samples.
START_SAMPLES = 100


class FactorialAscent(KernelAscent):
    """Steps by a kernel on a block without missing values, see `Ascent`.

    The parameters are those of `FactorialMixtureModel.ascent`.
    """

    n_bounds = 3

    def __init__(self, model, block, row_weight):
        super().__init__(model, block, row_weight)
        self._values = np.require(block.values, model.dtype, "CA")

    def start(self, globals_, hyper, local=None):
        """Start from parameters, which stay unchanged."""
        parts = *globals_.arrays(), hyper.inclusion_probability, [hyper.noise_variance]
        self._state = tuple(np.array(part, np.float64, order="C") for part in parts)
        self._hyper, self.local = hyper, None
        shape = len(self._values), self.model.n_components
        if self.keeps_local and np.shape(local) == shape:
            self.local = np.array(local, dtype=self.model.dtype, order="C")

    def _take_steps(self, steps):
        model, variance = self.model, self._hyper.component_variance
        learned = model.learn_noise_variance + 2 * model.learn_inclusion_probability
        has_local, nu = self.local is not None, self.local
        if not has_local:
            nu = np.empty((len(self._values), model.n_components), dtype=model.dtype)
        least, n_sections = (ROUNDING * variance, LEAST_INCLUSION), self.n_sections
        *results, has_local = _kernels.ascent(
            self._values,
            self.block.squares,
            self.row_weight,
            (model.structured, learned, self.keeps_local, has_local, model.max_iter),
            (variance, *least, model.local_cooling or 1.0, model.tol),
            steps,
            self._state,
            nu,
            self.row_bounds,
            None if n_sections == 1 else _kernels.Sections(n_sections),
        )
        self.local = nu if has_local else None
        return results

    def parameters(self):
        """Return new objects with the current parameters."""
        *components, inclusion, noise = (part.copy() for part in self._state)
        hyper = self._hyper._replace(
            noise_variance=float(noise[0]), inclusion_probability=inclusion
        )
        return Components(*components), hyper


class FactorialMixtureModel(FixedLogC, NaturalModel):
    """Binary latent features with Gaussian components and noise.

    Parameters
    ----------
    n_components, n_features : int
    noise_variance, component_variance, inclusion_probability, local_cooling
        As in the estimators; ``inclusion_probability`` is an array.  The first and the
        third are initial values if they are learned.
    learn_noise_variance, learn_inclusion_probability : bool
    structured : bool
        Whether q(mu) has correlations between components.
    dtype : {float32, float64}
        Dtype of the kernels.
    init : callable
        ``init(X, hyper, random)`` returns the initial means, of shape (n_components,
        n_features).
    """

    watches_bound = True
    keeps_local = True
    steps_by_kernel = True
    parameters = Components
    tol = local_tol = LOCAL_TOL
    max_iter = MAX_LOCAL_ITER

    def __init__(
        self,
        n_components,
        n_features,
        *,
        noise_variance,
        component_variance,
        inclusion_probability,
        learn_noise_variance=False,
        learn_inclusion_probability=False,
        structured=True,
        dtype=np.float64,
        init=None,
        local_cooling=2.0,
    ):
        super().__init__()
        self.n_components = self.n_local = n_components
        self.n_features = n_features
        self.noise_variance = noise_variance
        self.component_variance = component_variance
        self.inclusion_probability = inclusion_probability
        self.learn_noise_variance = learn_noise_variance
        self.learn_inclusion_probability = learn_inclusion_probability
        self.structured = structured
        self.dtype = dtype
        self.init = init
        self.local_cooling = local_cooling
        # what births from the same parameters have in common
        self.last_span, self.last_rows, self.last_residuals, self.last_fewer = (
            LastCall() for _ in range(4)
        )
        rows = max(VALUES_OF_BLOCK // n_features, 1)
        self.block_size = min(max(1 << rows.bit_length() - 1, FEWEST_ROWS), MOST_ROWS)

    @property
    def products_per_value(self):
        """Approximate number of multiplications of a local step per value of a row."""
        K = self.n_components
        return 2 * K + (SWEEPS * K * K + PER_ROW) / self.n_features

    # -- data ------------------------------------------------------------------------
    def n_observed(self, block):
        return block.observed

    def take(self, X, rows):
        values = np.asarray(X[rows], dtype=self.dtype)
        if values.strides[1] != values.itemsize:
            values = np.ascontiguousarray(values)
        squares = np.empty(len(values))
        _kernels.row_squares(values, squares)
        missing, observed = None, np.full(len(values), float(self.n_features))
        if np.isnan(squares).any():
            missing = np.isnan(values)
            values = np.where(missing, self.dtype.type(0), values)
            _kernels.row_squares(values, squares)
            observed -= missing.sum(axis=1)
        return Samples(values, missing, squares, observed)

    def auto_batch_size(self, X, total):
        """Return a tenth of the rows, from 100 to 1,000, or 1,000 for a stream."""
        return tenth_of_rows(total, 100, 1000)

    def auto_temperature(self, hyper, X):
        """Return the temperature at which features of a random start are undecided.

        A component that is unrelated to a sample lowers the log-likelihood of the
        sample by half of the component's square divided by the noise variance.  In data
        of many dimensions, all features would permanently be switched off at a lower
        temperature.  The result is between 1 and 1,000.
        """
        # the ratio may overflow to infinity
        ratio = float(hyper.component_variance) / float(hyper.noise_variance)
        return min(max(0.5 * self.n_features * ratio, 1.0), 1000.0)

    # -- the state of a fit ----------------------------------------------------------
    def initial_hyper(self, X, sample_weight=None):
        rows, step = sample_rows(X), sample_step(X)
        weight = np.ones(len(rows)) if sample_weight is None else sample_weight[::step]
        component_variance = self.component_variance
        if component_variance is None:
            expected = self.inclusion_probability.sum()
            component_variance = self._not_zero(mean_square(rows, weight) / expected)
        noise_variance = self.noise_variance
        if noise_variance is None:
            noise_variance = mean_square(rows - column_means(rows, weight), weight)
            noise_variance = self._not_zero(noise_variance)
        return Hyper(noise_variance, component_variance, self.inclusion_probability)

    def _not_zero(self, variance):
        """Return a variance, or 1 if the variance is 0 up to rounding."""
        return variance if variance > LARGEST_VALUES[self.dtype] ** -2 else 1.0

    def initial_globals(self, X, random, hyper=None, sample_weight=None):
        """Return means from ``init``, with the precision of `START_SAMPLES` samples.

        The means do not depend on the weights.
        """
        hyper = self.initial_hyper(X, sample_weight) if hyper is None else hyper
        means = self.init(X, hyper, random)
        precision = 1 / hyper.component_variance + START_SAMPLES / hyper.noise_variance
        precision = precision * np.eye(self.n_components)
        return Components(precision, precision @ means)

    def hyper_shapes(self):
        return [(), (), (self.n_components,)]

    def prepare(self, globals_, hyper):
        means = globals_.means()
        return PreparedComponents(
            means,
            self.covariance(globals_),
            (means / hyper.noise_variance).astype(self.dtype),
            means @ means.T,
            hyper,
        )

    def is_finite(self, globals_, hyper, prepared):
        try:
            means = globals_.means() if prepared is None else prepared
        except np.linalg.LinAlgError:  # the precision is singular up to rounding
            return False
        return super().is_finite(globals_, hyper, means)

    def covariance(self, globals_):
        """Return the covariance of q(mu) in each dimension."""
        return globals_.covariance(self.structured)

    # -- the step --------------------------------------------------------------------
    def observed_step(self, block, prepared):
        """Return a `LocalStep` at T=1, with nu, from observed values only.

        Dimensions in which a sample has no value are left out of its model.
        """
        request = Request(want=("local",))
        return self.local_step(block, prepared, request, completing=False)

    def local_step(self, block, prepared, request, *, completing=True):
        """Optimise nu of a block; see `ConjugateModel.local_step`.

        Each sample starts from the priors, with cooling, and also from ``local_init``
        if it is given.  The better result is returned, so that steps on all samples
        never lower the bound.

        Missing values are treated as latent variables.  If they were left out, steps on
        all samples could lower the bound, because the optimal covariance of the
        components would differ between dimensions.
        """
        inference = Inference(
            self,
            block,
            prepared.hyper,
            request.powers,
            tiled_matmul(block.values, prepared.filters.T),
            Couplings(self, block, prepared, completing),
        )
        nu, likelihoods, scores, bounds, n_iterations = inference.best(
            request.local_init
        )
        statistics = None
        if "statistics" in request.want:
            residuals = -2 * prepared.hyper.noise_variance * likelihoods
            statistics = self._statistics(
                block, prepared, nu, residuals, request.factors(len(nu))
            )
        return LocalStep.of_rows(
            statistics=statistics,
            row_observed=block.observed,
            row_bounds=bounds,
            row_scores=scores,
            n_iterations=n_iterations,
            local_parameters=nu if "local" in request.want else None,
        )

    def _statistics(self, block, prepared, nu, residuals, factors):
        on = nu.astype(np.float64, copy=False)
        weighted = on if (factors == 1).all() else factors[:, None] * on
        second = weighted.T @ on
        np.fill_diagonal(second, factors @ on)
        # In float64 for float data, too: the solution for the means multiplies errors
        # by the condition number of `second`.
        values = block.values.astype(np.float64, copy=False)
        if block.missing is not None:
            # for a missing x, E[z x^T] = E[z z^T] mu
            values = np.where(block.missing, on @ prepared.means, values)
        cross = weighted.T @ values
        if block.missing is not None:
            cross += (weighted * (1 - on)).T @ block.missing * prepared.means
        return FeatureStatistics(
            second,
            cross,
            float(factors @ residuals),
            float(factors.sum()),
            float(factors @ block.observed),
        )

    def target(self, statistics, scale, powers, hyper):
        prior = powers.prior / hyper.component_variance
        factor = scale / hyper.noise_variance
        return Components(
            prior * np.eye(self.n_components) + factor * statistics.second,
            factor * statistics.cross,
        )

    def is_valid(self, globals_):
        return bool(eigh(globals_.precision, eigvals_only=True)[0] > 0)

    def update_hyper(self, hyper, globals_, statistics, scale, rate, powers):
        learned = self._learned(hyper, statistics)
        noise = (1 - rate) * hyper.noise_variance + rate * learned.noise_variance
        inclusion = (1 - rate) * hyper.inclusion_probability
        inclusion += rate * learned.inclusion_probability
        if self.learn_noise_variance:
            noise = max(noise, ROUNDING * hyper.component_variance)
        if self.learn_inclusion_probability:
            inclusion = np.clip(inclusion, LEAST_INCLUSION, 1 - LEAST_INCLUSION)
        return hyper._replace(noise_variance=noise, inclusion_probability=inclusion)

    def _learned(self, hyper, statistics):
        noise, inclusion = hyper.noise_variance, hyper.inclusion_probability
        if self.learn_noise_variance and statistics.residual >= 0 < statistics.values:
            noise = statistics.residual / statistics.values
        if self.learn_inclusion_probability and statistics.samples > 0:
            on = np.diag(statistics.second).clip(0.0, statistics.samples)
            inclusion = on / statistics.samples
        return hyper._replace(noise_variance=noise, inclusion_probability=inclusion)

    def shapes(self):
        """Return the shapes of the arrays of the parameters.

        The arrays multiply the sufficient statistics -mu mu^T / 2, summed over
        dimensions, and mu.
        """
        K = self.n_components
        return (K, K), (K, self.n_features)

    def fisher_product(self, globals_, vector):
        """Return the derivative along ``vector`` of the mean parameters of q(mu)."""
        change = self.from_natural_parameters(vector)
        return globals_.fisher_product(change, self.structured).vector()

    # -- objectives ------------------------------------------------------------------
    def global_bound(self, globals_, hyper, powers=Powers()):  # noqa: B008
        """Return ``powers.prior`` E log p(mu) - E log q(mu)."""
        D, size = self.n_features, self.n_components * self.n_features
        means, covariance = globals_.means(), self.covariance(globals_)
        square = (means**2).sum() + D * np.trace(covariance)
        variance = hyper.component_variance
        log_prior = -0.5 * (size * math.log(2 * math.pi * variance) + square / variance)
        log_determinant = globals_.log_determinant(self.structured)
        entropy = 0.5 * (size * (1 + math.log(2 * math.pi)) + D * log_determinant)
        return powers.prior * log_prior + entropy

    def log_partition(
        self, inverse_temperatures, hyper, random, priors=None, n_samples=8
    ):
        """Return log C(b) per observed value, without an approximation.

        The score and log C omit the same normaliser, which does not depend on the
        temperature.  Therefore log C does not depend on the noise variance, and remains
        valid while the noise variance is learned.  ``priors`` are inclusion
        probabilities; by default, the model's inclusion probabilities are used.
        """
        b = inverse_temperatures
        inclusion = hyper.inclusion_probability
        if not (priors is None or isinstance(priors, str)):
            inclusion = inclusion_probabilities(
                priors, self.n_components, "partition_priors"
            )
        on = np.log(inclusion)[:, None] * b
        off = np.log1p(-inclusion)[:, None] * b
        binary = np.logaddexp(on, off).sum(axis=0)
        return binary / self.n_features - 0.5 * np.log(b)

    def predictive_scores(self, block, prepared):
        """Return a lower bound on log p(x) of each sample at T=1, and a count.

        The count is 1, or 0 for a sample without values.  The bound is the local bound
        of the observed values under q(mu), which is at most the log predictive density.
        """
        step = self.observed_step(block, prepared)
        seen = block.observed > 0
        return np.where(seen, step.row_bounds, 0.0), seen.astype(float)

    # -- leaving a poor optimum --------------------------------------------------------
    def ascent(self, block, hyper, row_weight=None):
        n_rows, n_columns = block.values.shape
        return self.ascent_on(block, row_weight, n_rows, n_rows * n_columns)

    def most_sections(self, n_rows):
        return -(-n_rows // MOST_ROWS)

    def ascent_on(self, block, row_weight=None, n_rows=0, n_values=0):
        """Return an ascent, by default on any number of rows."""
        kernel = FactorialAscent if block.missing is None else None
        return ascent_of(self, block, row_weight, kernel, n_rows, n_values)

    propose_birth = replace_components

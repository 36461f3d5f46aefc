"""A Gamma-Poisson factorization, as an author would write it: no mixture.

y_dv ~ Poisson(sum_k theta_dk beta_kv), theta_dk ~ Gamma(a, a / (K b)) with the mean
count b of the data, beta_kv ~ Gamma(c, c).  Each count is a sum of Poisson variables, a
component each, whose expectations are found with those of theta.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.special import gammaln, psi
from sklearn.utils.validation import validate_data

from sktemper.base import TemperedEstimator
from sktemper.model import (
    GammaFamily,
    LocalStep,
    Natural,
    NaturalModel,
    Powers,
    Stopped,
)

__all__ = ["GammaPoissonModel", "TemperedGammaPoisson", "counts_of", "log_likelihood"]

A, C = 0.7, 0.8
#: Sweeps of a local step, at most, and the change at which it ends.
MOST_SWEEPS, TOL = 1000, 1e-11


def counts_of(n_samples=120, n_features=8, n_components=2):
    """Return counts drawn from the model, up to about 30."""
    random = np.random.default_rng(0)
    beta = random.gamma(C, 1 / C, (n_components, n_features))
    theta = random.gamma(A, 2 / A, (n_samples, n_components))
    return random.poisson(theta @ beta)


@dataclass(frozen=True)
class Loadings(Natural):
    """Natural parameters (shape - 1, rate) of beta, or what is added to them."""

    beta: np.ndarray


class Hyper(NamedTuple):
    """The mean count, and the rate of theta."""

    mean_count: float
    rate: float


class Prepared(NamedTuple):
    """Means of beta, of shape (n_components, n_features): exp E log beta, E beta."""

    geometric: np.ndarray
    mean: np.ndarray
    hyper: Hyper


class GammaPoissonModel(NaturalModel):
    """Counts as products of positive factors of rows and columns."""

    parameters = Loadings
    watches_bound = True
    block_size = 64

    def __init__(self, n_components, n_features, dtype=np.float64):
        super().__init__()
        self.n_components, self.n_features = n_components, n_features
        self.dtype = np.dtype(dtype)
        self.family = GammaFamily((n_features, 2))
        self.n_local = 2 * n_components

    def take(self, X, rows):
        return np.asarray(X[rows], dtype=np.float64)

    def initial_hyper(self, X, sample_weight=None):
        mean = float(np.average(np.mean(X, axis=1), weights=sample_weight))
        return Hyper(mean, A * self.n_components / mean)

    def hyper_shapes(self):
        return [(), ()]

    def initial_globals(self, X, random, hyper=None, sample_weight=None):
        shape = self.n_components, self.n_features
        parts = random.gamma(100.0, 0.01, shape) - 0.5, np.ones(shape)
        return Loadings(np.stack(parts, axis=-1))

    def shapes(self):
        return ((self.n_components, self.n_features, 2),)

    def prior(self, hyper):
        prior = np.empty(self.shapes()[0])
        prior[...] = C - 1, C
        return Loadings(prior)

    def is_valid(self, globals_):
        return self.family.is_valid(globals_.beta)

    def prepare(self, globals_, hyper):
        logs, minus_means = np.moveaxis(self.family.expected(globals_.beta), -1, 0)
        return Prepared(np.exp(logs), -minus_means, hyper)

    def factors(self, counts, seen, prepared, powers):
        """Return shapes and rates of theta, from the counts where ``seen``; sweeps."""
        local = np.reshape(powers.local, (-1, 1))
        shape_prior = powers.prior * (A - 1) + 1
        means = self.times(seen, prepared.mean.T)
        rates = powers.prior * prepared.hyper.rate + local * means
        shapes = np.ones((len(counts), self.n_components))
        active, n_sweeps = np.arange(len(counts)), 0
        while len(active) and n_sweeps < MOST_SWEEPS * len(counts):
            if self.stop[0]:
                raise Stopped
            n_sweeps += len(active)
            theta = np.exp(psi(shapes[active])) / rates[active]
            totals = self.times(theta, prepared.geometric)
            ratios = counts[active] * seen[active] / totals
            expected_counts = theta * self.times(ratios, prepared.geometric.T)
            new = shape_prior + local[active if len(local) > 1 else 0] * expected_counts
            change = np.abs(new - shapes[active]).max(axis=1)
            shapes[active] = new
            active = active[change > TOL * new.max(axis=1)]
        return shapes, rates, n_sweeps

    @staticmethod
    def times(a, b):
        """Return ``a @ b``, whose bits in a row do not depend on the other rows."""
        return np.einsum("nk,kv->nv", a, b)

    def local_step(self, block, prepared, request):
        powers, n_rows = request.powers, len(block)
        seen = np.ones_like(block)
        shapes, rates, n_sweeps = self.factors(block, seen, prepared, powers)
        means, logs = shapes / rates, psi(shapes) - np.log(rates)
        theta = np.exp(logs)
        totals = self.times(theta, prepared.geometric)
        likelihood = (block * np.log(totals) - gammaln(block + 1)).sum(axis=1)
        likelihood -= self.times(means, prepared.mean).sum(axis=1)
        rate = prepared.hyper.rate
        log_prior = (A - 1) * logs - rate * means + A * np.log(rate) - gammaln(A)
        entropy = shapes - np.log(rates) + gammaln(shapes) + (1 - shapes) * psi(shapes)
        bounds = powers.local * likelihood + powers.prior * log_prior.sum(axis=1)
        statistics = None
        if "statistics" in request.want:
            factors = request.factors(n_rows)[:, None]
            counts = theta.T @ (factors * block / totals) * prepared.geometric
            rows = np.repeat((factors * means).sum(axis=0)[:, None], len(counts.T), 1)
            statistics = Loadings(np.stack([counts, rows], axis=-1))
        return LocalStep.of_rows(
            row_observed=np.full(n_rows, float(self.n_features)),
            row_bounds=bounds + entropy.sum(axis=1),
            row_scores=likelihood if "score" in request.want else None,
            n_iterations=n_sweeps,
            statistics=statistics,
            local_parameters=(
                np.hstack([shapes, rates]) if "local" in request.want else None
            ),
        )

    def fisher_product(self, globals_, vector):
        change = self.from_natural_parameters(vector)
        return self.family.fisher_product(globals_.beta, change.beta).ravel()

    def global_bound(self, globals_, hyper, powers=Powers()):  # noqa: B008
        prior = self.prior(hyper).beta
        return float(self.family.bound(globals_.beta, prior, powers.prior).sum())

    def predictive_scores(self, block, prepared):
        """Return scores of every other count, its factors from the rest."""
        seen = np.zeros_like(block)
        seen[:, ::2] = 1
        shapes, rates, _ = self.factors(block, seen, prepared, Powers())
        means = self.times(shapes / rates, prepared.mean)
        scores = block * np.log(means) - means - gammaln(block + 1)
        held_out = 1 - seen
        return (held_out * scores).sum(axis=1), held_out.sum(axis=1)


class TemperedGammaPoisson(TemperedEstimator):
    """Gamma-Poisson factorization."""

    _fixed_by_fit = ("n_components",)

    def __init__(self, n_components=2, *, tempering=None, random_state=None):
        self.n_components = n_components
        self.tempering = tempering
        self.random_state = random_state

    def _validate(self, X, reset):
        return validate_data(self, X, reset=reset, ensure_non_negative=True)

    def _make_model(self, n_features, dtype):
        return GammaPoissonModel(self.n_components, n_features, dtype)


def log_likelihood(model, X, globals_, hyper, random, n_draws):
    """Return log-likelihoods of draws, as `check_model` takes them."""
    shape, rate = np.moveaxis(globals_.beta, -1, 0)
    size = n_draws, len(X), model.n_components
    theta = random.gamma(A, 1 / hyper.rate, size)
    return stats.poisson.logpmf(X, theta @ ((shape + 1) / rate)).sum(axis=-1)

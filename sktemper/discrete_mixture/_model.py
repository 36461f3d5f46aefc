"""Mixtures of multinomials and of Bernoullis as `ConjugateModel`s.

Each sample has one component: the topic of a document, the latent class of a
respondent.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from .._expfam import (
    CategoricalFamily,
    LastCall,
    MultinomialFamily,
    WideMixtureModel,
    dense,
    log_predictive_of_counts,
)
from ._critical import deviations_of_binary, deviations_of_counts
from ._partition import draw_partition
from ._priors import auto_feature_prior

__all__ = ["BernoulliMixtureModel", "MultinomialMixtureModel"]

#: Largest number of values of a block; each value takes two floats.
VALUES_OF_BLOCK = 2**21
#: Smallest number of rows for critical temperatures, per component.
ROWS_PER_COMPONENT = 2
#: Highest start temperature of an annealing of documents.
HOTTEST_START = 100.0


class DocumentHyper(NamedTuple):
    """Priors as in `MixtureHyper`, and the mean number of tokens of a document."""

    weight_concentration: float
    component: np.ndarray
    n_tokens: float


class _DiscreteMixtureModel(WideMixtureModel):
    """Mixture whose components have Dirichlet posteriors or products of Dirichlets."""

    block_size = 1024

    def log_partition(
        self, inverse_temperatures, hyper, random, priors=None, n_samples=8
    ):
        """Return log C(b) as a `MixturePartition`.

        A `MixturePartition` is needed because log C(b) is not linear in the number of
        tokens.  ``priors`` are the concentrations of weights and of features.
        """
        return draw_partition(
            self, inverse_temperatures, hyper, random, priors, n_samples
        )

    def critical_temperatures(self, X, hyper, sample_weight=None):
        """Return the temperatures below which components differ in each direction."""
        deviations = self.deviations(X, sample_weight)
        if self.n_components == 1 or deviations is None:
            return None
        if deviations.n_rows < ROWS_PER_COMPONENT * self.n_components:
            return None
        return deviations.critical_temperatures(self.n_components - 1)

    def auto_batch_size(self, X, total):
        """Return a tenth of the samples, at least 20 per component, at most 5,000."""
        fewest = 20 * self.n_components
        if total is None:
            return max(1000, fewest)
        return max(1, min(max(round(total / 10), fewest), 5000, total // 2))


class BernoulliFamily(CategoricalFamily):
    """Binary features; NaN is a missing value.

    Parameters
    ----------
    n_features : int
    threshold : float
        Values above the threshold are 1, and other values are 0.
    """

    def __init__(self, n_features, threshold=0.0):
        super().__init__([2] * n_features)
        self.threshold = threshold

    def block(self, rows):
        """Return two floats for each value: whether it is 1, and whether it is 0."""
        rows = dense(rows)
        pairs = np.empty((*rows.shape, 2))
        np.greater(rows, self.threshold, out=pairs[..., 0], casting="unsafe")
        np.less_equal(rows, self.threshold, out=pairs[..., 1], casting="unsafe")
        return pairs.reshape(len(rows), -1)  # NaN is neither


class MultinomialMixtureModel(_DiscreteMixtureModel):
    """Mixture of multinomials, in which each document belongs to one component.

    Parameters
    ----------
    n_components, n_features : int
    feature_prior : float or "auto"
        Concentration of the symmetric Dirichlet prior of a component; "auto" estimates
        it by `auto_feature_prior`.
    **others : dict
        See `MixtureModel`.
    """

    #: A block computes sums for each word and component, which would dominate the cost
    #: of smaller blocks of short documents.
    block_size = 4096

    def __init__(self, n_components, n_features, *, feature_prior="auto", **others):
        family = MultinomialFamily(n_features)
        super().__init__(n_components, n_features, family, **others)
        self.feature_prior = feature_prior

    def deviations(self, X, sample_weight):
        """Return the `Deviations` of documents."""
        return deviations_of_counts(X, sample_weight)

    def initial_hyper(self, X, sample_weight=None):
        """Return the priors and the mean number of tokens."""
        sizes = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
        weight = np.ones(len(sizes)) if sample_weight is None else sample_weight
        n_tokens = float(weight @ sizes / max(weight.sum(), 1e-300))
        return DocumentHyper(*super().initial_hyper(X, sample_weight), n_tokens)

    def hyper_shapes(self):
        """Return the shapes of the parts of `hyper`."""
        return [*super().hyper_shapes(), ()]

    def auto_temperature(self, hyper):
        """Return the mean number of tokens, limited to 2 and `HOTTEST_START`.

        Log-likelihoods are proportional to the number of tokens.  After a higher start
        temperature, fewer components become distinct again.
        """
        return min(max(2.0, hyper.n_tokens), HOTTEST_START)

    def prior_of_component(self, X, sample_weight=None):
        """Return the exponents of the Dirichlet prior."""
        concentration = self.feature_prior
        if concentration == "auto":
            concentration = auto_feature_prior(X, self.n_components, sample_weight)
        return np.full(self.family.n_natural, concentration - 1.0)

    def n_scored(self, n_observed):
        """Return the number of tokens of each document."""
        return n_observed

    def moments_of_entries(self, X):
        """Return the counts."""
        return self.family.block(X)

    def predictive(self, block, prepared):
        """Return the log predictive densities of sparse counts with many features."""
        wide = prepared.globals_.components
        totals = self.on(wide.columns).family.totals(wide.on(wide.columns) + 1.0)
        concentration = wide.on(block.columns) + 1.0
        return log_predictive_of_counts(concentration, totals[:, 0], block.moments)


class BernoulliMixtureModel(_DiscreteMixtureModel):
    """Mixture of binary values that are independent given the component.

    NaN is a missing value.

    Parameters
    ----------
    n_components, n_features : int
    feature_prior : float
        Both concentrations of the Beta priors.
    threshold : float
        Values above the threshold are 1, and other values are 0.
    **others : dict
        See `MixtureModel`.
    """

    def __init__(
        self, n_components, n_features, *, feature_prior=1.0, threshold=0.0, **others
    ):
        family = BernoulliFamily(n_features, threshold)
        super().__init__(n_components, n_features, family, **others)
        self.feature_prior = feature_prior
        self.block_size = max(16, min(self.block_size, VALUES_OF_BLOCK // n_features))
        self.none = np.array([0.0, 1.0] if threshold >= 0 else [1.0, 0.0])
        self._predictive = LastCall()

    def deviations(self, X, sample_weight):
        """Return the `Deviations` of binary values."""
        return deviations_of_binary(X, self.family.threshold, sample_weight)

    def moments_of_entries(self, X):
        """Return indicators of stored values, minus the indicators of the value 0."""
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        threshold = self.family.threshold
        pairs = np.stack([X.data > threshold, X.data <= threshold], axis=-1)
        places = 2 * np.repeat(X.indices, 2)
        places[1::2] += 1
        parts = (pairs - self.none).ravel(), places, 2 * X.indptr
        return sparse.csr_array(parts, shape=(X.shape[0], 2 * X.shape[1]))

    def predictive(self, block, prepared):
        """Return the log predictive densities of sparse samples with many features."""

        def tables(prepared):
            wide, columns = prepared.globals_.components, prepared.columns
            logs = self.on(columns).family.log_means(wide.on(columns))
            logs = np.ascontiguousarray(logs.T)
            return logs, self.of_none(columns, logs)

        return self.linear(block, prepared, *self._predictive.of(prepared, tables))

    def prior_of_component(self, X, sample_weight=None):
        """Return the exponents of the Beta priors."""
        return np.full(self.family.n_natural, self.feature_prior - 1.0)

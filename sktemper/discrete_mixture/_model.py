"""Mixtures of multinomials and of Bernoullis as `ConjugateModel`s.

One component a sample: a document has one topic, a respondent one latent class.
"""

import numpy as np
from scipy import sparse

from .._expfam import DirichletFamily, MixtureModel
from .._linalg import sparse_rows


class MultinomialMixtureModel(MixtureModel):
    """Documents, each all from one component's distribution over words.

    Parameters
    ----------
    n_components, n_features : int
    feature_prior : float
        Concentration of the symmetric Dirichlet prior of a component.
    **others : dict
        See `MixtureModel`.
    """

    block_size = 1024

    def __init__(self, n_components, n_features, *, feature_prior=0.1, **others):
        family = DirichletFamily((n_features,))
        super().__init__(n_components, n_features, family, **others)
        self.feature_prior = feature_prior

    def take(self, X, rows):
        """Return ``X[rows]`` as a canonical CSR array of float64."""
        if sparse.issparse(X):
            block = sparse_rows(X, rows)
        else:
            block = sparse.csr_array(np.asarray(X[rows]))
        if not block.has_canonical_format:
            block = block.copy()
            block.sum_duplicates()
        parts = block.data.astype(np.float64), block.indices, block.indptr
        return sparse.csr_array(parts, shape=block.shape)

    def moments(self, block):
        """Return the counts."""
        return block

    def n_observed(self, block):
        """Return the number of tokens of each document."""
        return np.asarray(block.sum(axis=1)).ravel()

    def prior_of_component(self, X, sample_weight=None):
        """Return the exponents of the Dirichlet prior."""
        return np.full(self.n_features, self.feature_prior - 1.0)

    def log_predictive(self, block, prepared):
        """Return the log posterior predictive of each document, and its tokens."""
        scores, _ = super().log_predictive(block, prepared)
        return scores, self.n_observed(block)


class BernoulliMixtureModel(MixtureModel):
    """Binary values that are independent given the component; NaN is not observed.

    Parameters
    ----------
    n_components, n_features : int
    feature_prior : float
        Both concentrations of the Beta priors.
    threshold : float
        Values above it are 1, others 0.
    **others : dict
        See `MixtureModel`.
    """

    block_size = 1024

    def __init__(
        self, n_components, n_features, *, feature_prior=1.0, threshold=0.0, **others
    ):
        family = DirichletFamily((n_features, 2))
        super().__init__(n_components, n_features, family, **others)
        self.feature_prior = feature_prior
        self.threshold = threshold

    def take(self, X, rows):
        """Return ``X[rows]``, dense."""
        block = sparse_rows(X, rows).toarray() if sparse.issparse(X) else X[rows]
        return np.asarray(block, dtype=np.float64)

    def moments(self, block):
        """Return which values are 1, and which are 0, feature by feature."""
        on, off = block > self.threshold, block <= self.threshold  # neither of NaN
        pairs = np.stack([on, off], axis=-1)
        return pairs.reshape(len(block), -1).astype(np.float64)

    def prior_of_component(self, X, sample_weight=None):
        """Return the exponents of the Beta priors."""
        return np.full((self.n_features, 2), self.feature_prior - 1.0)

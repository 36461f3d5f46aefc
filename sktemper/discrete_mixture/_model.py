"""Mixtures of multinomials and of Bernoullis as `ConjugateModel`s.

Each sample has one component: the topic of a document, the latent class of a
respondent.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import brentq
from scipy.special import logsumexp

from .._contract import tenth_of_rows
from .._families import _counts, _critical
from .._families._dirichlet import log_draws
from .._families._family import dense
from .._families._wide_mixture import WideMixtureModel
from .._utils._arguments import concentrations_of
from .._utils._budgets import VALUES_AT_ONCE, slices
from .._utils._cache import LastCall
from .._utils._linalg import canonical

# -- estimation of the prior of words from documents -----------------------------------
#: Smallest concentration of "auto"; the largest is 1, that of a uniform prior.
LEAST = 0.1
#: The prior of a component has at most this share of the mean number of tokens of a
#: component.
SHARE_OF_TOKENS = 0.1


def auto_feature_prior(X, n_components, sample_weight=None):
    r"""Return a concentration estimated from pairs of equal tokens in rows.

    Two tokens of a row have the same component.  Under a symmetric Dirichlet prior
    :math:`\eta` of the V probabilities of a component, they are the same word with the
    probability :math:`(\eta + 1) / (V \eta + 1)`.  If c is the share of pairs of equal
    tokens, the estimate is :math:`\eta = (1 - c) / (V c - 1)`.  One-hot answers have no
    pairs of equal tokens; the concentration is then 1, a uniform prior.  The
    concentration is reduced if the prior of all words would outweigh the tokens of a
    component.  It is at least 0.1, because words that are common in all components
    raise the share of pairs, too.

    The pairs of a row are weighted by its number of tokens.  The concentration is 0.1
    if no row has two tokens, or if some counts are fractions.
    """
    X = _counts.MultinomialFamily(X.shape[1]).block(X)
    weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight
    tokens = np.asarray(X.sum(axis=1)).ravel()
    has_pairs = (tokens >= 2.0) & (weight > 0.0)
    total = weight[has_pairs] @ tokens[has_pairs]
    if not total > 0.0 or (X.data != np.rint(X.data)).any():
        return LEAST
    others = np.maximum(tokens - 1.0, 1.0)
    same = X.data / np.repeat(others, np.diff(X.indptr)) * np.maximum(X.data - 1.0, 0.0)
    pairs = sparse.csr_array((same, X.indices, X.indptr), shape=X.shape).sum(axis=1)
    share = weight[has_pairs] @ pairs[has_pairs] / total
    excess = X.shape[1] * share - 1.0
    found = (1.0 - share) / excess if excess > 0.0 else 1.0
    heaviest = SHARE_OF_TOKENS * total / (n_components * X.shape[1])
    return float(np.clip(min(found, heaviest), LEAST, 1.0))


# -- log C of samples with different numbers of observations, by Monte Carlo -----------


def draw_partition(
    model, inverse_temperatures, hyper, random, priors=None, n_samples=8
):
    """Return log C(b) as a `MixturePartition`, see `ConjugateModel.log_partition`.

    It is needed because log C(b) is not linear in the number of tokens.  If there are
    more components, there are fewer draws, because one draw of many components is as
    informative as many draws of few components.  ``priors`` are the concentrations of
    weights and of features.
    """
    concentration = hyper.weight_concentration
    prior = model.family.by_question(hyper.component[None])[0] + 1.0
    prior = prior[0] if len(prior) == 1 else prior
    if priors is not None and not isinstance(priors, str):
        concentration, feature_prior = concentrations_of(priors, "features")
        prior = np.full_like(prior, feature_prior)
    b, K = np.asarray(inverse_temperatures), model.n_components
    n_draws = min(n_samples, math.ceil(n_samples**2 / K))
    log_weights = model.weights.all_log_draws(concentration, random, n_samples)
    draw = _draws(prior, b)
    means = np.stack([[draw(random) for _ in range(K)] for _ in range(n_draws)])
    means = means[np.arange(n_samples) % n_draws]
    return _critical.MixturePartition(log_weights[..., None] * b, means)


def _draws(prior, b):
    """Return a function that draws a(b) of a component, of shape (n_temperatures,).

    If there are more than `MOST_DRAWN` words or features, the function draws only
    `MOST_DRAWN` of them and corrects for the rest, because they are exchangeable.

    Parameters
    ----------
    prior : ndarray of shape (n_words,) or (n_features, n_options)
        Concentrations of a Dirichlet distribution, or of Beta distributions.
    b : ndarray of shape (n_temperatures,)
    """
    if len(prior) <= _counts.MOST_DRAWN:
        return lambda random: _log_power_sums(log_draws(prior, random), b)

    def draw_each(random, prior):
        logs = log_draws(prior, random)  # probabilities are not tiny here
        return np.array([np.log(np.exp(p * logs).sum(axis=-1)).mean() for p in b])

    n_drawn, concentration = _counts.MOST_DRAWN, prior.flat[0]
    ratio = len(prior) / n_drawn
    if prior.ndim == 1:
        drawn = np.full(n_drawn, ratio * concentration)
        factors = _counts.log_rising(concentration, b) - _counts.log_rising(drawn[0], b)
        return lambda random: draw_each(random, drawn) + factors + np.log(ratio)
    exact = _counts.mean_log_power_sums(b, concentration)

    def draw_features(random):
        # The deviation from the exact mean is scaled to that of a mean over all
        # features.
        deviation = draw_each(random, prior[:n_drawn]) - exact
        return exact + deviation / np.sqrt(ratio)

    return draw_features


def _log_power_sums(log_probabilities, b):
    """Return the mean over features of log sum_v theta_v^b, (n_temperatures,)."""
    logs = log_probabilities[..., None, :]
    parts = slices(len(b), log_probabilities.size, VALUES_AT_ONCE)
    parts = [logsumexp(b[part, None] * logs, axis=-1) for part in parts]
    sums = np.concatenate(parts, axis=-1)
    return sums.reshape(-1, len(b)).mean(axis=0)


# -- critical temperatures of discrete mixtures, from the deviations of rows -----------
# The deviation z_d of row d from independence is measured in units in which each column
# has the same variance.  The critical temperatures are the eigenvalues of the sum of
# z_d z_d' over rows.


class Deviations(NamedTuple):
    """Deviations ``Z = matrix - outer(rows, columns)``, and their noise per row.

    Attributes
    ----------
    matrix : csr_array of shape (n_rows, n_columns)
    rows : ndarray of shape (n_rows,)
    columns : ndarray of shape (n_columns,)
    weight : ndarray of shape (n_rows,)
        Number of times that each row counts.
    n_observed : ndarray of shape (n_rows,)
        Number of tokens, or of values that are not missing.  The variance of a row's
        noise is proportional to it.
    unit : float
        Factor by which eigenvalues are multiplied.
    """

    matrix: Any
    rows: np.ndarray
    columns: np.ndarray
    weight: np.ndarray
    n_observed: np.ndarray
    unit: float = 1.0

    @property
    def n_rows(self):
        return _critical.effective_rows(self.weight)

    def critical_temperatures(self, n_axes):
        """Return the eigenvalues, corrected for noise; 1 for axes that are only noise.

        The result is decreasing, of shape (n_axes,).
        """
        temperatures = np.ones(n_axes)
        if min(self.matrix.shape) == 0:
            return temperatures
        found, _ = _critical.leading_axes(self.matrix, self.rows, self.columns, n_axes)
        found *= self.unit
        if not found[0] > 1.0:
            return temperatures
        noise = self._noise()
        edge = noise.edge()
        for axis, eigenvalue in enumerate(found):
            if eigenvalue <= noise.eigenvalue(edge):
                break
            temperatures[axis] = noise.variance(eigenvalue, edge)
        return np.minimum.accumulate(np.maximum(temperatures, 1.0))

    def _noise(self):
        """Return the noise of rows whose columns are independent.

        The number of dimensions of the noise is the sum of all eigenvalues, or the
        number of columns if this is less.  For one-hot codes of answers, the sum is the
        number of columns minus the number of questions.  For other counts, it may
        exceed the number of columns.
        """
        squares = self.matrix.power(2).sum()
        products = self.rows @ (self.matrix @ self.columns)
        outer = (self.rows @ self.rows) * (self.columns @ self.columns)
        trace = self.unit * (squares - 2.0 * products + outer)
        sizes, place = np.unique(self.n_observed, return_inverse=True)
        shares = np.bincount(place, self.weight) / self.weight.sum()
        n_dimensions = min(trace, len(self.columns))
        ratio = n_dimensions / self.n_rows
        return NoiseSpectrum(ratio, sizes / (shares @ sizes), shares)


class NoiseSpectrum(NamedTuple):
    """The Marchenko-Pastur spectrum of noise of variance 1 in a sample.

    If rows have the variance ``1 + x / row_term(x)`` in a direction, the sample has the
    ``eigenvalue(x)`` in this direction.  This holds for x beyond the edge of the noise,
    which is the x with the smallest eigenvalue [1]_.  For rows of equal length, a
    direction with the variance ``1 + s`` has the eigenvalue
    ``(s + 1) (s + ratio) / s``.

    Attributes
    ----------
    ratio : float
        Number of dimensions of the noise, divided by the number of rows.
    sizes : ndarray of shape (n_sizes,)
        Distinct variances of the noise of rows, with mean 1.
    shares : ndarray of shape (n_sizes,)
        Share of the rows with each of these variances.

    References
    ----------
    .. [1] F. Benaych-Georges, R. Nadakuditi, "The singular values and vectors of low
       rank perturbations of large rectangular random matrices", 2012.
    """

    ratio: float
    sizes: np.ndarray
    shares: np.ndarray

    def eigenvalue(self, x):
        """Return the eigenvalue for x, which must exceed ``ratio * max(sizes)``."""
        return x + self.row_term(x)

    def row_term(self, x):
        """Return the term of `eigenvalue` that is 1 without noise."""
        return self.shares @ (self.sizes / (1.0 - self.ratio * self.sizes / x))

    def edge(self):
        """Return the x with the smallest `eigenvalue`."""
        spread = self.ratio * self.shares * self.sizes**2

        def slope(x):
            return 1.0 - (spread / (x - self.ratio * self.sizes) ** 2).sum()

        largest = self.ratio * self.sizes[-1]
        # the slope is at most -3 at the lower end, and at least 3/4 at the upper end
        lower = largest + np.sqrt(spread[-1]) / 2.0
        return brentq(slope, lower, largest + 2.0 * np.sqrt(spread.sum()))

    def variance(self, eigenvalue, edge):
        """Return the variance of a direction, given an eigenvalue beyond the noise."""
        x = brentq(lambda x: self.eigenvalue(x) - eigenvalue, edge, eigenvalue)
        return 1.0 + x / self.row_term(x)


def deviations_of_counts(X, sample_weight=None):
    r"""Return the `Deviations` of documents.

    With the tokens n_d of a document, the frequencies :math:`\theta_v` of words and the
    total N of all tokens, the deviations are
    :math:`(x_{dv} - n_d \theta_v) / \sqrt{N \theta_v}`.  The result is None if no
    document has tokens.
    """
    counts = _critical.sample_counts(X, sample_weight)
    if counts is None:
        return None
    X, weight, tokens, largest = counts
    words = X.T @ weight
    A, columns = _scale(X, weight, words)
    total = words.sum()
    rows = np.sqrt(weight) * tokens / np.sqrt(total)
    return Deviations(A, rows, np.sqrt(words[columns] / total), weight, tokens, largest)


def deviations_of_binary(X, threshold, sample_weight=None):
    r"""Return the `Deviations` of rows of values that are 1 above a threshold.

    If the share of ones in a column is p_v and D rows observe it, a deviation is
    :math:`(x_{dv} - p_v) / \sqrt{D p_v (1 - p_v)}`.  It is 0 for a missing value, which
    is NaN.  The result is None if all rows have weight 0.
    """
    X, weight = _critical.even_sample(X, sample_weight)
    X, weight = X[weight > 0.0], weight[weight > 0.0]
    if len(weight) == 0:
        return None
    missing = np.isnan(X.data)
    # Values that are not stored are 0.  If 0 is above the threshold, the codes 0 and 1
    # are exchanged, so that the codes of these values are 0, too.
    ones = (X.data <= threshold) if threshold < 0.0 else (X.data > threshold)
    gaps = _with_entries(X, missing.astype(np.float64))
    observed = weight.sum() - gaps.T @ weight
    counts = _with_entries(X, ones.astype(np.float64)).T @ weight
    share = counts / np.maximum(observed, 1e-300)
    scale = observed * share * (1.0 - share)
    entries = np.where(missing, share[X.indices], ones)
    A, columns = _scale(_with_entries(X, entries), weight, scale)
    return Deviations(
        A,
        np.sqrt(weight),
        share[columns] / np.sqrt(scale[columns]),
        weight,
        X.shape[1] - gaps.sum(axis=1),
    )


def _with_entries(X, entries):
    """Return a matrix with the sparsity structure of X and the given entries."""
    return sparse.csr_array((entries, X.indices, X.indptr), shape=X.shape)


def _scale(X, weight, scale):
    """Return X with scaled rows and columns, and the indices of the kept columns.

    Rows are multiplied by the square root of ``weight``.  Columns are divided by the
    square root of ``scale``, and left out if it is 0.
    """
    columns = np.flatnonzero(scale > 0.0)
    scale = scale[columns]
    X = X[:, columns]
    X.data = X.data * np.repeat(np.sqrt(weight), np.diff(X.indptr))
    X.data /= np.sqrt(scale)[X.indices]
    return X, columns


# -- mixtures of multinomials and of Bernoullis as `ConjugateModel`s -------------------
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
    steps_by_kernel = True

    log_partition = draw_partition

    def prior_of_component(self, X, sample_weight=None):
        concentration = self.feature_prior
        if concentration == "auto":
            concentration = auto_feature_prior(X, self.n_components, sample_weight)
        return np.full(self.family.n_natural, concentration - 1.0)

    def critical_temperatures(self, X, hyper, sample_weight=None):
        deviations = self.deviations(X, sample_weight)
        if self.n_components == 1 or deviations is None:
            return None
        if deviations.n_rows < 2 * self.n_components:  # too few to tell
            return None
        return deviations.critical_temperatures(self.n_components - 1)

    def auto_batch_size(self, X, total):
        """Return a tenth of the samples, at least 20 per component, at most 5,000."""
        return tenth_of_rows(total, 20 * self.n_components, 5000)


class BernoulliFamily(_counts.CategoricalFamily):
    """Binary features: 1 for values above a threshold, else 0; NaN is missing."""

    def __init__(self, n_features, threshold=0.0):
        super().__init__([2] * n_features)
        self.threshold = threshold

    def block(self, rows):
        """Return two floats for each value: whether it is 1, and whether it is 0."""
        rows = dense(rows)
        pairs = np.empty((*rows.shape, 2), dtype=bool)  # fast, other than casts
        np.greater(rows, self.threshold, out=pairs[..., 0])
        np.less_equal(rows, self.threshold, out=pairs[..., 1])
        return pairs.reshape(len(rows), -1).astype(np.float64)  # NaN is neither


class MultinomialMixtureModel(_DiscreteMixtureModel):
    """Mixture of multinomials, in which each document belongs to one component.

    The symmetric Dirichlet prior of a component has the concentration
    ``feature_prior``; "auto" estimates it by `auto_feature_prior`.
    """

    #: A block computes sums for each word and component, which would dominate the cost
    #: of smaller blocks of short documents.
    block_size = 4096

    def __init__(self, n_components, n_features, *, feature_prior="auto", **others):
        family = _counts.MultinomialFamily(n_features)
        super().__init__(n_components, n_features, family, **others)
        self.feature_prior = feature_prior

    deviations = staticmethod(deviations_of_counts)

    def initial_hyper(self, X, sample_weight=None):
        sizes = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
        weight = np.ones(len(sizes)) if sample_weight is None else sample_weight
        n_tokens = float(weight @ sizes / max(weight.sum(), 1e-300))
        return DocumentHyper(*super().initial_hyper(X, sample_weight), n_tokens)

    def hyper_shapes(self):
        return [*super().hyper_shapes(), ()]

    def auto_temperature(self, hyper, X):
        """Return the mean number of tokens, limited to 2 and `HOTTEST_START`.

        Log-likelihoods are proportional to the number of tokens.  After a higher start
        temperature, fewer components become distinct again.
        """
        return min(max(2.0, hyper.n_tokens), HOTTEST_START)

    def n_scored(self, n_observed):
        return n_observed  # tokens

    def moments_of_entries(self, X):
        return self.family.block(X)

    def predictive(self, block, prepared):
        """Return the log predictive densities of sparse counts with many features."""
        wide = prepared.globals_.components
        totals = self.select(wide.columns).family.totals(
            wide.select(wide.columns) + 1.0
        )
        concentration = wide.select(block.columns) + 1.0
        return _counts.log_predictive_of_counts(
            concentration, totals[:, 0], block.moments
        )


class BernoulliMixtureModel(_DiscreteMixtureModel):
    """Mixture of binary values that are independent given the component.

    Values are coded by `BernoulliFamily`.  Both concentrations of their Beta priors are
    ``feature_prior``.
    """

    def __init__(
        self, n_components, n_features, *, feature_prior=1.0, threshold=0.0, **others
    ):
        family = BernoulliFamily(n_features, threshold)
        super().__init__(n_components, n_features, family, **others)
        self.feature_prior = feature_prior
        self.block_size = max(16, min(self.block_size, VALUES_AT_ONCE // n_features))
        self.absent = np.array([0.0, 1.0] if threshold >= 0 else [1.0, 0.0])
        self._predictive = LastCall()

    def deviations(self, X, sample_weight):
        return deviations_of_binary(X, self.family.threshold, sample_weight)

    def moments_of_entries(self, X):
        """Return indicators of stored values, minus the indicators of the value 0."""
        X = canonical(X)
        threshold = self.family.threshold
        pairs = np.stack([X.data > threshold, X.data <= threshold], axis=-1)
        places = 2 * np.repeat(X.indices, 2)
        places[1::2] += 1
        parts = (pairs - self.absent).ravel(), places, 2 * X.indptr
        return sparse.csr_array(parts, shape=(X.shape[0], 2 * X.shape[1]))

    def predictive(self, block, prepared):
        """Return the log predictive densities of sparse samples with many features."""

        def tables(prepared):
            wide, columns = prepared.globals_.components, prepared.columns
            logs = self.select(columns).family.log_means(wide.select(columns))
            logs = np.ascontiguousarray(logs.T)
            return logs, self.empty_value(columns, logs)

        return self.linear(block, prepared, *self._predictive.result(tables, prepared))

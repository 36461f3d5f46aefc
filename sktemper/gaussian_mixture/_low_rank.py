"""Mixtures of wide rows, whose components differ in a subspace only.

The columns are standardised and rotated to their principal directions.  A mixture of
Gaussians with full covariances describes the scores in the first directions, and one
Gaussian, which all components share, the remaining directions.  The symbols are those
of "Low-rank differences" in doc/mathematics/gaussian_mixture.md.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import gammaln
from sklearn.utils import check_array, gen_batches

from .._families._counts import log_rising
from .._utils._budgets import ROWS_AT_ONCE, ROWS_COMPARED
from .._utils._linalg import tiled_matmul
from ._model import GaussianMixtureModel
from ._priors import LEAST_FREE, MOST_FREE
from ._starts import FLOOR, NO_VARIANCE, NO_WIDTH, weights_of

#: Largest number of rows times squared columns from which directions are computed, a
#: second of work; but always this number of rows.
MOST_PRODUCTS, LEAST_ROWS = 2e10, 2_000
NEEDS_ALL_COLUMNS = (
    'covariance_type="low_rank" needs the values of all columns, and X has missing '
    'values (NaN): use "diag" for missing values, or a fit to fewer columns for '
    "conditional distributions and for `impute`."
)


# -- directions of rows ----------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Directions:
    """The principal directions of standardised columns.

    Attributes
    ----------
    centre, scales : ndarray of shape (n_features,)
        Means and standard deviations of the columns.
    basis : ndarray of shape (n_features, n_directions)
        Orthonormal directions, by decreasing variance.  Rows have no variance in
        directions that are orthogonal to all of them.
    variances : ndarray of shape (n_features,)
        Variances in these directions, and then zeros.
    """

    centre: Any
    scales: Any
    basis: Any
    variances: Any

    @classmethod
    def of(cls, X, weight=None):
        """Return the directions of rows with weights.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        weight : ndarray of shape (n_samples,) or None
        """
        weight = weights_of(X, weight)
        rows = np.flatnonzero(weight)
        n_features = X.shape[1]
        most = max(LEAST_ROWS, int(MOST_PRODUCTS / n_features**2))
        rows = rows[:: -(-len(rows) // min(ROWS_COMPARED, most))]
        # sums depend on the memory order
        X, weight = X[rows].astype(np.float64, "C"), weight[rows] / weight[rows].sum()
        if np.isnan(X).any():
            raise ValueError(NEEDS_ALL_COLUMNS)
        centre = weight @ X
        X -= centre
        scales = np.sqrt(weight @ X**2)
        varies = scales > NO_WIDTH * np.abs(centre)
        scales = np.where(varies, scales, 1.0)
        X *= np.sqrt(weight)[:, None] * (varies / scales)
        basis, variances = _principal(X)
        rest = np.zeros(n_features - len(variances))
        return cls(centre, scales, basis, np.append(variances, rest))

    @property
    def most_scores(self):
        """Largest number of scores, which leaves a direction for the rest."""
        return min(self.basis.shape[1], len(self.centre) - 1)

    def log_likelihood(self, n_scores, total):
        """Return the log-likelihood of one Gaussian of the first scores of rows."""
        logs = np.log(2.0 * np.pi * (self.variances[:n_scores] + FLOOR))
        return -0.5 * total * float(logs.sum() + n_scores)

    def standardised(self, X):
        """Yield parts of rows in standardised columns, and their places."""
        for part in gen_batches(len(X), ROWS_AT_ONCE):
            # sums over columns depend on the memory order
            yield part, np.subtract(X[part], self.centre, order="C") / self.scales


def _principal(X):
    """Return the eigenvectors and the positive eigenvalues of X^T X, the largest first.

    They are computed from X X^T if this is smaller.
    """
    is_wide = X.shape[1] > len(X)
    values, vectors = np.linalg.eigh(X @ X.T if is_wide else X.T @ X)
    kept = values > NO_VARIANCE * max(values[-1], np.finfo(float).tiny)
    values, vectors = values[kept][::-1], vectors[:, kept][:, ::-1]
    if is_wide:
        vectors = X.T @ (vectors / np.sqrt(values))
    return np.ascontiguousarray(vectors), values


# -- one Gaussian of all directions ----------------------------------------------------
class OneGaussian(NamedTuple):
    """One Gaussian of the rows in their principal directions.

    The mean has one row as its prior, and the precision a Wishart distribution with the
    inverse scale s I, so that the evidence depends on the eigenvalues of the scatter
    only.  In the first q directions, the prior has p = n_features - q fewer degrees of
    freedom.

    Attributes
    ----------
    scatter : ndarray of shape (n_features,)
        Eigenvalues of the sum of squares.
    total : float
        Number of rows, N.
    freedom, spread : float
        nu_0 and s.
    """

    scatter: Any
    total: float
    freedom: float = 0.0
    spread: float = 0.0

    @classmethod
    def of(cls, directions, total):
        """Return the Gaussian of a number of rows with these directions."""
        return cls(total * (directions.variances + FLOOR), total).learned()

    @property
    def inverse_scale(self):
        """Inverse scale of the posterior of the precision, a diagonal."""
        return self.spread + self.scatter

    def evidence(self, n_directions):
        """Return the log evidence of the rows in the first directions."""
        q, halves = n_directions, 0.5 * np.arange(n_directions)
        nu = self.freedom - len(self.scatter) + q
        logs = gammaln(0.5 * (nu + self.total) - halves)
        logs -= gammaln(0.5 * nu - halves)
        logs -= 0.5 * (nu + self.total) * np.log(self.inverse_scale[:q])
        logs += 0.5 * nu * math.log(self.spread)
        constant = self.total * math.log(math.pi) + math.log1p(self.total)
        return float(logs.sum()) - 0.5 * q * constant

    def learned(self):
        """Return the Gaussian whose prior has the highest evidence."""
        D, N = len(self.scatter), self.total

        def with_freedom(log_free):
            nu = D - 1 + math.exp(log_free)

            def slope(log_spread):
                """Return a sum whose terms have the same sign at either end."""
                each = self.scatter * math.exp(-log_spread)
                return ((N - nu * each) / (1.0 + each)).sum()

            ends = np.log([self.scatter.min(), self.scatter.max()])
            ends += math.log(nu / N) + 1e-6 * np.array([-1, 1])
            spread = math.exp(brentq(slope, *ends))
            return self._replace(freedom=nu, spread=spread)

        found = minimize_scalar(
            lambda log_free: -with_freedom(log_free).evidence(D),
            bounds=(math.log(LEAST_FREE), math.log(MOST_FREE + N)),
            method="bounded",
        )
        return with_freedom(found.x)


# -- a subspace ------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Subspace:
    """The first principal directions, and one Gaussian of the others given these.

    Attributes
    ----------
    directions : Directions
    one : OneGaussian
    n_scores : int
        Number of the first directions, q.
    """

    directions: Directions
    one: OneGaussian
    n_scores: int

    @classmethod
    def of(cls, X, weight, total, n_scores):
        """Return the subspace of a sample of rows whose total weight is ``total``."""
        directions = Directions.of(X, weight)
        return cls(directions, OneGaussian.of(directions, float(total)), n_scores)

    @property
    def log_constant(self):
        """Log evidence of the rest of the rows given their scores."""
        one = self.one
        units = one.total * np.log(self.directions.scales).sum()
        return one.evidence(self.n_features) - one.evidence(self.n_scores) - units

    @property
    def variances_of_rest(self):
        """Variances of the rest, (n_features - n_scores,)."""
        nu = self.one.freedom + self.one.total
        return self.one.inverse_scale[self.n_scores :] / nu

    def __eq__(self, other):
        mine, others = self.directions, getattr(other, "directions", None)
        is_same = mine is others or (
            others is not None and np.array_equal(mine.basis, others.basis)
        )
        return is_same and self.n_scores == other.n_scores

    __hash__ = None

    @property
    def n_features(self):
        return len(self.directions.centre)

    @property
    def n_parameters(self):
        """Number of free parameters of the rest given the scores."""
        q, D, N = self.n_scores, self.n_features, self.one.total
        n_entries = D * (D + 1) // 2 - q * (q + 1) // 2
        return D - q + n_entries * N / (self.one.freedom + N)

    @property
    def loadings(self):
        """The directions of the scores, (n_features, n_scores)."""
        return self.directions.basis[:, : self.n_scores]

    @property
    def other_directions(self):
        """The directions of the rest in which rows vary."""
        return self.directions.basis[:, self.n_scores :]

    def variances_of_noise(self, variance):
        """Return the variances of scores of noise with a variance in each column."""
        return variance * (self.loadings.T**2 @ self.directions.scales**-2)

    # -- rows --------------------------------------------------------------------------
    def scores(self, X):
        """Return the scores of rows, (n_samples, n_scores), in float64."""
        out, loadings = np.empty((len(X), self.n_scores)), self.loadings
        for part, rows in self.directions.standardised(X):
            out[part] = tiled_matmul(rows, loadings)
        if np.isnan(out).any():
            raise ValueError(NEEDS_ALL_COLUMNS)
        return out

    def log_rest(self, X):
        """Return the log predictive density of the rest of rows given their scores."""
        directions, one, q = self.directions, self.one, self.n_scores
        inverse_scale = one.inverse_scale
        known, p = directions.basis.shape[1], self.n_features - self.n_scores
        own, rest = np.empty((2, len(X)))
        for part, rows in directions.standardised(X):
            each = tiled_matmul(rows, directions.basis) ** 2
            outside = np.maximum((rows**2).sum(axis=1) - each.sum(axis=1), 0.0)
            own[part] = (each[:, :q] / inverse_scale[:q]).sum(axis=1)
            rest[part] = (each[:, q:] / inverse_scale[q:known]).sum(axis=1)
            rest[part] += outside / inverse_scale[-1]
        nu, spread = one.freedom + one.total + 1.0, 1.0 + 1.0 / (one.total + 1.0)
        constant = log_rising(0.5 * (nu - p), 0.5 * p)
        constant -= 0.5 * p * math.log(math.pi * spread)
        constant -= 0.5 * np.log(inverse_scale[q:]).sum()
        constant -= np.log(directions.scales).sum()
        own /= spread
        logs = 0.5 * (nu - p) * np.log1p(own) - 0.5 * nu * np.log1p(own + rest / spread)
        return constant + logs

    # -- parameters of the columns -----------------------------------------------------
    def means(self, scores):
        """Return vectors of columns, given vectors of scores."""
        directions = self.directions
        return directions.centre + scores @ self.loadings.T * directions.scales

    def roots(self, of_scores, of_rest, units):
        """Return R for matrices R R^T, without differences that might be negative.

        Parameters
        ----------
        of_scores : ndarray of shape (n_components, n_scores, n_scores)
            Such roots for the scores.
        of_rest : ndarray of shape (n_features - n_scores,)
            Roots of variances, or of precisions, in the other directions.
        units : ndarray of shape (n_features,)
            Factors of standardised columns.

        Returns
        -------
        roots : ndarray of shape (n_components, n_features, n_scores + n_features)
        """
        others, outside = self.other_directions, of_rest[-1]
        shared = outside * (np.eye(self.n_features) - self.loadings @ self.loadings.T)
        shared += (others * (of_rest[: others.shape[1]] - outside)) @ others.T
        own = self.loadings @ of_scores
        shared = np.broadcast_to(shared, (len(own), *shared.shape))
        return np.concatenate([own, shared], axis=2) * units[:, None]

    def variances(self, of_scores):
        """Return the variances of columns, (n_components, n_features)."""
        loadings, others = self.loadings, self.other_directions
        of_rest, outside = self.variances_of_rest, self.variances_of_rest[-1]
        shared = outside + others**2 @ (of_rest[: others.shape[1]] - outside)
        own = of_scores - outside * np.eye(self.n_scores)
        own = np.einsum("di,kij,dj->kd", loadings, own, loadings, optimize=True)
        return (own + shared) * self.directions.scales**2

    def completed(self, scores, random):
        """Return rows with given scores, whose rest is drawn from its Gaussian."""
        directions, q = self.directions, self.n_scores
        widths = np.sqrt(self.variances_of_rest)
        known, outside = directions.basis.shape[1] - q, widths[-1]
        rows = random.standard_normal((len(scores), self.n_features))
        each = rows @ directions.basis
        factors = np.append(np.full(q, -outside), widths[:known] - outside)
        rows = outside * rows + (each * factors) @ directions.basis.T
        return self.means(scores) + rows * directions.scales


# -- settings of the model of scores ---------------------------------------------------
def settings_of_scores(settings, start):
    """Return the settings of the model of scores, and its start and floor.

    A number ``reg_covar`` is the variance that it adds to the scores.
    """
    subspace = vars(settings).get("subspace")
    if subspace is None:
        raise ValueError(
            'covariance_type="low_rank" needs a `fit` before `partial_fit`, which '
            'chooses the subspace: fit to the first chunk, or use "diag".'
        )
    if settings.covariance_prior is not None:
        raise ValueError(
            'covariance_type="low_rank" learns the prior of the covariances: leave '
            "covariance_prior at None."
        )
    mean_prior = _scores_of_means(subspace, "mean_prior", settings.mean_prior)
    init = _scores_of_means(subspace, "means_init", start["means_init"])
    start = start | {"means_init": init}
    if start["reg_covar"] != "auto":
        start["reg_covar"] = subspace.variances_of_noise(start["reg_covar"])
    settings = settings.replaced(covariance_type="full", mean_prior=mean_prior)
    return settings, start


def _scores_of_means(subspace, name, given):
    """Return the scores of means that a parameter gives, or None."""
    if given is None:
        return None
    rows = check_array(np.atleast_2d(given), dtype=np.float64, input_name=name)
    if rows.shape[1] != subspace.n_features:
        raise ValueError(
            f"{name} should have {subspace.n_features} columns, but has "
            f"{rows.shape[1]}."
        )
    return subspace.scores(rows).reshape(*np.shape(given)[:-1], -1)


# -- the model -------------------------------------------------------------------------
class Scores(np.ndarray):
    """Scores of rows, with the rows themselves, whose other directions are scored."""

    rows = None


class LowRankMixtureModel(GaussianMixtureModel):
    """Mixture of Gaussians with full covariances in a subspace.

    Its columns are scores; the data may be rows, or scores already.

    Parameters
    ----------
    n_components : int
    subspace : Subspace
    **others : dict
        See `GaussianMixtureModel`.
    """

    most_kept_rows = 10**9  # blocks of scores are small

    def __init__(self, n_components, subspace, **others):
        self.subspace = subspace
        super().__init__(n_components, subspace.n_scores, **others)
        self.log_constant = subspace.log_constant

    @property
    def products_per_value(self):
        width = self.subspace.n_features
        return super().products_per_value * self.n_features / width

    def most_sections(self, n_rows):
        return 1  # blocks of scores are no views of the rows

    def _scores(self, X):
        return X if X.shape[1] == self.n_features else self.subspace.scores(X)

    def take(self, X, rows):
        if X.shape[1] == self.n_features:
            return super().take(X, rows)
        given = X[rows]
        block = super().take(self.subspace.scores(given), slice(None)).view(Scores)
        block.rows = given
        return block

    def initial_hyper(self, X, sample_weight=None):
        return super().initial_hyper(self._scores(X), sample_weight)

    def initial_globals(self, X, random, hyper=None, sample_weight=None):
        return super().initial_globals(self._scores(X), random, hyper, sample_weight)

    def global_bound(self, globals_, hyper, *powers):
        return super().global_bound(globals_, hyper, *powers) + self.log_constant

    def predictive_scores(self, block, prepared):
        scores, n_scored = super().predictive_scores(block, prepared)
        return scores + self.subspace.log_rest(block.rows), n_scored

    # -- parameters of the columns -----------------------------------------------------
    def in_columns(self, vectors):
        return self.subspace.means(vectors)

    def covariances_of(self, usual):
        values, vectors = np.linalg.eigh(self.own_covariances(usual))
        own = vectors * np.sqrt(np.maximum(values, 0.0))[:, None]
        units = self.subspace.directions.scales
        of_rest = np.sqrt(self.subspace.variances_of_rest)
        roots = self.subspace.roots(own, of_rest, units)
        return roots @ np.swapaxes(roots, 1, 2)

    def roots_of(self, usual):
        own, units = super().roots_of(usual), 1.0 / self.subspace.directions.scales
        of_rest = self.subspace.variances_of_rest**-0.5
        roots = self.subspace.roots(own, of_rest, units)
        upper = np.linalg.qr(np.swapaxes(roots[:, ::-1], 1, 2), mode="r")
        upper *= np.copysign(1.0, np.diagonal(upper, axis1=1, axis2=2))[..., None]
        return np.swapaxes(upper, 1, 2)[:, ::-1, ::-1]

    def variances_of(self, usual):
        return self.subspace.variances(self.own_covariances(usual))

    def n_parameters(self, n_classes, n_covariances):
        own = super().n_parameters(n_classes, n_covariances)
        return own + self.subspace.n_parameters

    def completed_draws(self, draws, random):
        return self.subspace.completed(draws, random)

"""The local step: optimal probabilities of the features of samples."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.special import logit
from sklearn import config_context

from .._families._family import Natural
from .._utils._budgets import ROWS_COMPARED, VALUES_AT_ONCE, VALUES_KEPT, slices
from .._utils._validation import checked_floats
from . import _kernels

#: Least distance of learned inclusion probabilities from 0 and 1.
LEAST_INCLUSION = 1e-6


# -- values of a factorial mixture: samples, priors, components and statistics ---------
class Samples(NamedTuple):
    """A block of samples.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_features)
        Values, with 0 for missing values.
    missing : ndarray of shape (n_rows, n_features) or None
        Mask of missing values; None if there are none.
    squares : ndarray of shape (n_rows,)
        Sums of the squared values.
    observed : ndarray of shape (n_rows,)
        Number of values of each sample that are not missing.
    """

    values: Any
    missing: Any
    squares: Any
    observed: Any


class Hyper(NamedTuple):
    """Priors and variances.

    Attributes
    ----------
    noise_variance, component_variance : float
    inclusion_probability : ndarray of shape (n_components,)
    """

    noise_variance: float
    component_variance: float
    inclusion_probability: np.ndarray


@dataclass(frozen=True)
class Components(Natural):
    """Natural parameters of q(mu), with the same covariance in every dimension.

    Methods with ``structured=False`` use a diagonal covariance.  The means are computed
    from the whole precision in both cases.
    """

    precision: np.ndarray  # (n_components, n_components)
    weighted_means: np.ndarray  # ``precision @ means``, (n_components, n_features)

    def means(self):
        root = _root(self.precision, lower=1)
        # Solving from the right saves a copy, because the transpose is contiguous.
        half = dtrsm(1.0, root, self.weighted_means.T, side=1, lower=1, trans_a=1)
        return dtrsm(1.0, root, half, side=1, lower=1, overwrite_b=1).T

    def covariance(self, structured=True):
        """Return the covariance in each dimension, (n_components, n_components)."""
        if structured:
            root = _root(self.precision, lower=0)
            return dpotrs(root, np.eye(len(root)), lower=0)[0]
        return np.diag(1 / np.diag(self.precision))

    def log_determinant(self, structured=True):
        try:
            return _log_determinant(self.covariance(structured))
        except np.linalg.LinAlgError:  # the inverse may be indefinite by rounding
            return -_log_determinant(self.precision)

    def fisher_product(self, change, structured=True):
        """Return the change of mean parameters along a change of natural parameters.

        The mean parameters are the expectations of -mu mu^T / 2, summed over
        dimensions, and of mu.
        """
        means = self.means()
        # The means are at their joint optimum for both types of covariance.
        means_change = self.covariance() @ (
            change.weighted_means - change.precision @ means
        )
        product = means_change @ means.T
        second_change = product + product.T
        covariance, precision = self.covariance(structured), change.precision
        if not structured:
            precision = np.diag(np.diag(precision))
        n_features = means.shape[1]
        second_change -= n_features * (covariance @ precision @ covariance)
        return type(self)(-0.5 * second_change, means_change)


def _root(matrix, lower):
    """Return the triangular root of a matrix, with zeros in the other triangle.

    This calls LAPACK directly: for few components, the checks of
    `scipy.linalg.cholesky` would take most of the time.
    """
    root, info = dpotrf(matrix, lower=lower)
    if info:
        raise np.linalg.LinAlgError("The matrix is not positive definite.")
    return root


def _log_determinant(matrix):
    return 2 * np.log(np.diag(_root(matrix, lower=0))).sum()


@dataclass(frozen=True)
class FeatureStatistics(Natural):
    """Sums over samples, weighted by their weights and powers.

    Attributes
    ----------
    second : ndarray of shape (n_components, n_components)
        E[z z^T].
    cross : ndarray of shape (n_components, n_features)
        E[z] x^T, with missing x at their expectation.
    residual : float
        E|x - z mu|^2 over observed values.
    samples, values : float
        Number of samples, and number of observed values.
    """

    second: np.ndarray
    cross: np.ndarray
    residual: float
    samples: float
    values: float


class PreparedComponents(NamedTuple):
    """Values for local steps, prepared from the components and priors."""

    means: np.ndarray
    #: Covariance of mu in each dimension: E[mu mu^T] minus the products of the means.
    spread: np.ndarray
    #: Means divided by the noise variance, in the dtype of the kernel.
    filters: np.ndarray
    #: Products of the means.
    products: np.ndarray
    hyper: Hyper


def inclusion_probabilities(values, n_components, name):
    """Return one or several inclusion probabilities as an array, (n_components,).

    ``name`` is that of the parameter, for error messages.
    """
    with config_context(array_api_dispatch=False):  # which refuses a number
        values = checked_floats(values, name, ensure_min_samples=0)
    if values.shape not in ((), (1,), (n_components,)):
        raise ValueError(
            f"{name} has shape {values.shape}; expected one inclusion probability for "
            f"each of the {n_components} components."
        )
    if not ((values > 0) & (values < 1)).all():
        raise ValueError(f"{name} must be in (0, 1).")
    return np.broadcast_to(values, n_components).copy()


# -- statistics of data, possibly with missing values: ranges, means and squares -------
#: Largest supported absolute value of data, by dtype; its square is finite.  A
#: variance below ``1 / limit**2`` counts as 0.
LARGEST_VALUES = {np.dtype(np.float32): 1e30, np.dtype(np.float64): 1e120}
#: Largest supported value of ``n_features * x**2 / noise_variance``, by dtype.
LARGEST_RATIOS = {np.dtype(np.float32): 1e35, np.dtype(np.float64): 1e300}


def check_range(X, dtype, noise_variance, name="X"):
    """Raise ValueError if a value is too large to compute with in ``dtype``.

    Values may be missing, and ``noise_variance`` is None if it is not known yet.
    """
    limit, given = LARGEST_VALUES[dtype], ""
    if noise_variance is not None:
        ratio = math.sqrt(LARGEST_RATIOS[dtype] / X.shape[1])
        if ratio * math.sqrt(noise_variance) < limit:
            limit = ratio * math.sqrt(noise_variance)
            given = f" with a noise variance of {noise_variance:g}"
    largest = float(max(np.fmax.reduce(X, axis=None), -np.fmin.reduce(X, axis=None)))
    if largest > limit:
        raise ValueError(
            f"Input {name} contains a value of size {largest:.3g}; the largest size "
            f"supported in {dtype}{given} is {limit:.3g}. Scale the data."
        )


def sample_step(X):
    """Return the distance between rows that `sample_rows` returns."""
    return -(-len(X) // ROWS_COMPARED)


def sample_rows(X):
    """Return at most `ROWS_COMPARED` evenly spaced rows of the data."""
    # a contiguous copy, because rounding errors of sums depend on the memory layout
    return np.ascontiguousarray(X[:: sample_step(X)], dtype=np.float64)


def filled(X):
    """Return the rows of `sample_rows`; column means replace missing values."""
    rows = sample_rows(X)
    missing = np.isnan(rows)
    if not missing.any():
        return rows
    return np.where(missing, column_means(rows, np.ones(len(rows))), rows)


def column_means(rows, weight):
    """Return the means of the known values of columns; 0 for columns without values."""
    present = ~np.isnan(rows)
    counts = weight @ present
    return (weight @ np.where(present, rows, 0.0)) / np.where(counts > 0, counts, 1.0)


def mean_square(rows, weight):
    """Return the mean square of the known values, or 0 if no value is known."""
    present = ~np.isnan(rows)
    count = float(weight @ present.sum(axis=1))
    squares = np.where(present, rows, 0.0) ** 2
    return float(weight @ squares.sum(axis=1)) / count if count > 0 else 0.0


# -- couplings between the features of samples, with or without missing values ---------


class Coupling(NamedTuple):
    """Coupling between the features in some samples of a block.

    Attributes
    ----------
    rows : slice or ndarray
        Indices of these samples in the block.
    gram : ndarray
        E[mu mu^T] divided by the noise variance, where mu are the components.  If all
        samples share the gram, its shape is (n_components, n_components).  Otherwise
        its shape is (n_rows, n_entries), with an upper triangle for each sample, row by
        row.
    diagonal : ndarray of shape (1, n_components) or (n_rows, n_components)
        Diagonal of the gram.
    per_sample : bool
        Whether each sample has its own gram.
    """

    rows: Any
    gram: np.ndarray
    diagonal: np.ndarray
    per_sample: bool


class Couplings:
    """Couplings of the samples of a block.

    Samples without missing values share one coupling.  The couplings of other samples
    are kept for later iterations over this object if they are small enough.  Otherwise
    they are computed in each iteration, for some samples at a time, in the same memory.

    If ``completing``, missing values are latent variables; otherwise the model leaves
    them out.
    """

    def __init__(self, model, block, prepared, completing):
        self.model, self.block, self.prepared = model, block, prepared
        self.completing = completing
        self.whole, self.parts = slice(None), ()
        if block.missing is not None:
            lacking = block.observed < model.n_features
            rows = np.flatnonzero(lacking)
            self.whole = np.flatnonzero(~lacking)
            n_entries = model.n_components * (model.n_components + 1) // 2
            is_large = len(rows) * n_entries > VALUES_KEPT
            budget = VALUES_AT_ONCE if is_large else VALUES_KEPT
            self.parts = [rows[p] for p in slices(len(rows), n_entries, budget)]
            size = max(map(len, self.parts), default=0)
            self.room = np.empty((size, n_entries), dtype=model.dtype)
        self.kept = None

    def __iter__(self):
        if isinstance(self.whole, slice) or len(self.whole):
            hyper, spread = self.prepared.hyper, self.prepared.spread
            gram = self.prepared.products + self.model.n_features * spread
            gram = gram / hyper.noise_variance
            yield Coupling(self.whole, gram, np.diag(gram)[None], False)
        for rows in self.parts:
            if self.kept is None:
                built = self.grams(rows, self.room[: len(rows)])
                if len(self.parts) > 1:
                    yield built
                    continue
                self.kept = built
            yield self.kept

    def grams(self, rows, out):
        """Return the `Coupling` of samples with missing values.

        The grams are written to ``out``.
        """
        prepared, K = self.prepared, self.model.n_components
        noise, entries = prepared.hyper.noise_variance, np.triu_indices(K)
        diagonal = np.empty((len(rows), K))
        _kernels.grams(
            self.block.missing[rows],
            prepared.means / math.sqrt(noise),
            prepared.products[entries] / noise,
            prepared.spread[entries] / noise,
            self.completing,
            self.model.stop,
            out,
            diagonal,
        )
        return Coupling(rows, out, diagonal, True)


def couplings_of(couplings, rows, n_rows):
    """Yield the couplings of some of ``n_rows`` rows, of which some may be the same."""
    for coupling in couplings:
        places = np.full(n_rows, -1)
        places[coupling.rows] = np.arange(len(places[coupling.rows]))
        own = places[rows]
        mine = np.flatnonzero(own >= 0)
        gram, diagonal = coupling.gram, coupling.diagonal
        if coupling.per_sample:
            gram, diagonal = gram[own[mine]], diagonal[own[mine]]
        if len(mine):
            yield Coupling(mine, gram, diagonal, coupling.per_sample)


# -- the local step: optimal probabilities of the features of samples ------------------
class Inference:
    """Optimisation of nu, the probabilities of the features of some samples.

    ``products``, of shape (n_rows, n_components), are those of samples and means,
    divided by the noise variance.  ``couplings`` are those of all rows.
    """

    def __init__(self, model, block, hyper, powers, products, couplings):
        self.model, self.block, self.hyper, self.powers = model, block, hyper, powers
        self.products, self.couplings = products, couplings

    def of(self, rows):
        """Return the optimisation of some rows, of which some may be the same."""
        block, local = self.block, self.powers.local
        local = np.asarray(local)[rows] if np.ndim(local) else local
        return Inference(
            self.model,
            block._replace(squares=block.squares[rows], observed=block.observed[rows]),
            self.hyper,
            self.powers._replace(local=local),
            self.products[rows],
            couplings_of(self.couplings, rows, len(self.products)),
        )

    def best(self, local_init=None):
        """Return nu and the results of `run`, from the best start of each sample.

        The starts are the priors, with cooling, and ``local_init`` if it is given.
        """
        prior = self.hyper.inclusion_probability.astype(self.model.dtype)
        fresh = prior[None].repeat(len(self.products), axis=0)
        if local_init is None:
            return fresh, *self.run(fresh, cooled=True)
        nu = np.array(local_init, dtype=self.model.dtype, order="C")
        likelihoods, scores, bounds, n_iterations = self.run(nu, cooled=False)
        if self.model.local_cooling is not None:
            *others, more_iterations = self.run(fresh, cooled=True)
            n_iterations += more_iterations
            better = np.flatnonzero(others[2] > bounds)
            if len(better):
                for kept, other in zip(
                    (nu, likelihoods, scores, bounds), (fresh, *others), strict=True
                ):
                    kept[better] = other[better]
        return nu, likelihoods, scores, bounds, n_iterations

    def run(self, nu, *, cooled):
        """Optimise nu in place.

        Return likelihoods, scores and bounds of the rows, and the number of all sweeps.
        """
        noise, prior = self.hyper.noise_variance, self.hyper.inclusion_probability
        model, powers = self.model, np.asarray(self.powers.local, dtype=float)
        outcomes = likelihoods, scores, bounds = np.empty((3, len(nu)))
        prior_logits, n_iterations = logit(prior), 0
        for rows, gram, diagonal, per_sample in self.couplings:
            offsets = prior_logits - 0.5 * diagonal
            heats = np.maximum(0.5 * diagonal.max(axis=1), 1.0)
            parts = [part[rows] for part in (nu, *outcomes)]
            n_iterations += _kernels.local_step(
                self.products[rows],
                np.ascontiguousarray(gram, dtype=model.dtype),
                np.ascontiguousarray(offsets, dtype=model.dtype),
                prior_logits.astype(model.dtype),
                per_sample,
                np.atleast_1d(powers[rows] if powers.ndim else powers),
                heats if cooled and model.local_cooling else np.ones_like(heats),
                model.local_cooling or 1.0,
                model.tol,
                model.max_iter,
                model.stop,
                *parts,
            )
            if not isinstance(rows, slice):
                for whole, part in zip((nu, *outcomes), parts, strict=True):
                    whole[rows] = part
        squares = self.block.squares / (2 * noise)
        likelihoods -= squares
        scores -= squares
        scores += np.log1p(-prior).sum()
        normalisers = self.block.observed * (0.5 * math.log(2 * math.pi * noise))
        bounds += self.powers.local * (scores - normalisers)
        return likelihoods, scores, bounds, n_iterations

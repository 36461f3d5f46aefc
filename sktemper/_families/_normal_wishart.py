"""The Normal-Wishart family, the conjugate prior of means and precisions of Gaussians.

The parameters have the usual symbols m, kappa, W and nu.
"""

import functools
import math
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import polygamma, psi

from .._contract import IllDefined
from .._utils._cache import LastCall
from . import _kernels
from ._counts import log_rising
from ._family import Family

# -- distributions of precisions: Wishart distributions, and products of Gammas --------
# The precision Lambda of a component has the degrees of freedom nu and the inverse
# scale S, in the form of the covariance type.  Each observation adds 1 to nu and its
# squares to S, and the expected precision is nu S^-1.  The distributions differ in
# their normalisers.

LOG_2, LOG_2_PI = math.log(2.0), math.log(2.0 * math.pi)


def log_chisquare(degrees, random, size):
    """Draw log x of chi-square variables x, finite even for tiny degrees of freedom.

    Draws of x might underflow to 0.  A draw from Gamma(a) is therefore replaced by a
    draw from Gamma(a + 1) times U^(1 / a), for a uniform U, which has the same
    distribution and whose logarithm is finite.
    """
    if np.min(degrees) >= 1:
        return np.log(random.chisquare(degrees, size))
    halves = 0.5 * np.broadcast_to(degrees, size)
    draws = np.log(2.0 * random.standard_gamma(halves + 1.0))
    return draws + np.log1p(-random.random(size)) / halves


class WishartPrecision:
    """Wishart distribution of a full matrix.

    scikit-learn uses it for diagonal and spherical precisions, too.

    Parameters
    ----------
    n_features : int

    Attributes
    ----------
    least : float
        Lower limit of the degrees of freedom.
    shift : float
        Degrees of freedom minus their natural parameter.
    is_product : bool
        Whether predictive densities are products over the features.
    width : float
        Factor of the degrees of freedom in a predictive density.
    number : int
        Number of the law in kernels.
    copies : int
        Number of equal factors |Lambda|^(1 / copies).
    log_scale : float
        E log x of a Gamma-distributed factor, minus the digamma function of its shape.
    """

    number, copies, log_scale = 0, 1, LOG_2
    is_product, width = False, 1.0

    def __init__(self, n_features):
        self.n_features = n_features
        self.least, self.shift = n_features - 1.0, float(n_features)

    def degrees(self, freedom):
        """Return the degrees of freedom of the chi-square variables of a factor.

        The shape is (..., n_variables).
        """
        return np.asarray(freedom)[..., None] - np.arange(self.n_features)

    def halves(self, freedom):
        """Return the arguments of Gamma functions of a factor, (..., n_variables)."""
        return 0.5 * self.degrees(freedom)

    def expected_log(self, freedom):
        """Return E log |Lambda| if the inverse scale is the identity matrix."""
        halves = self.halves(freedom)
        logs = psi(halves).sum(axis=-1) + halves.shape[-1] * self.log_scale
        return self.copies * logs

    def derivative(self, freedom):
        slopes = 0.5 * self.width * self.copies * polygamma(1, self.halves(freedom))
        return slopes.sum(axis=-1)

    def exponent(self, freedom):
        """Return the exponent of a predictive density, without its negative sign."""
        return 0.5 * self.width * (freedom + 1.0)

    def log_student(self, freedom, log_determinants, spread):
        """Return the logarithm of predictive densities at their modes.

        ``spread`` is (kappa + 1) / kappa.
        """
        D = self.n_features
        logs = self._log_ratios(freedom)
        logs = logs - 0.5 * D * np.log(math.pi * self.width * spread)
        return logs + 0.5 * log_determinants

    def _log_ratios(self, freedom):
        """Return the logarithms of the ratios of Gamma functions of `log_student`."""
        D = self.n_features
        return log_rising(0.5 * (freedom + 1.0 - D), 0.5 * D)

    def draws(self, freedom, random, n_components):
        """Draw log |Lambda|, (n_components,), if the inverse scale is the identity."""
        size = n_components, round(self.n_features / self.width)
        logs = log_chisquare(self.degrees(freedom), random, size)
        return self.width * (logs - math.log(self.width)).sum(axis=1)


class GammasPrecision(WishartPrecision):
    """Independent Gamma distributions of the precisions of features.

    The precision of feature d has the distribution Gamma(nu / 2, rate S_d / 2).
    """

    number = 1

    def __init__(self, n_features):
        self.n_features = n_features
        self.least, self.shift, self.copies = 0.0, 1.0, n_features

    def degrees(self, freedom):
        return np.asarray(freedom)[..., None]

    is_product = True

    def _log_ratios(self, freedom):
        return self.n_features * log_rising(0.5 * freedom, 0.5)


class GammaPrecision(GammasPrecision):
    """One Gamma distribution of the common precision of all features.

    The precision lambda has the distribution Gamma(D nu / 2, rate D S / 2), because S
    is a mean over the D features.  Densities are with respect to the base measure
    lambda^((D - 1) / 2), so that their powers in tempered posteriors can always be
    normalised.
    """

    number = 2

    def __init__(self, n_features):
        self.n_features = n_features
        self.least, self.shift, self.copies = 0.0, 1.0 / n_features, n_features
        self.width, self.log_scale = float(n_features), -math.log(0.5 * n_features)

    def degrees(self, freedom):
        return self.n_features * np.asarray(freedom)[..., None]

    is_product = False

    def _log_ratios(self, freedom):
        D = self.n_features
        return log_rising(0.5 * D * freedom, 0.5 * D)


# -- covariance types: the elements of a symmetric matrix that a component stores ------
# The precision of a component is a full matrix, a diagonal matrix or a multiple of the
# identity.  The elements that a covariance type stores are linear functions of the
# second moments.  Therefore sums, targets and steps have the same form for all types.

#: The message of scikit-learn's mixtures.
ILL_DEFINED = (
    "Fitting the mixture model failed because some components have ill-defined "
    "empirical covariance (for instance caused by singleton or collapsed samples). Try "
    "to decrease the number of components, increase reg_covar, or scale the input data."
)


@functools.lru_cache(maxsize=8)
def _triangle(n_features):
    """Return indices that convert a symmetric matrix to its packed upper triangle.

    These are the rows and columns of the triangle's elements, and the places in the
    triangle of the matrix's elements; and the indices of a lower triangle by rows.
    """
    rows, columns = np.triu_indices(n_features)
    places = np.empty((n_features, n_features), dtype=np.intp)
    places[rows, columns] = places[columns, rows] = np.arange(len(rows))
    return rows, columns, places, np.tril_indices(n_features)


class Covariance:
    """A full matrix for each component.

    Parameters
    ----------
    n_features : int
    law : WishartPrecision or None
        Distribution of the precisions.  None is the default of the type: a Wishart
        distribution for full matrices, a Gamma distribution for each element of
        diagonal matrices, and one Gamma distribution for spherical matrices.
    n_components : int
        Number of components, which only types with a common matrix need.

    Attributes
    ----------
    default_law : type
        Class of the default of ``law``.
    products : bool
        Whether the second moments of samples are all products x_i x_j; otherwise they
        are the squares x_i^2.
    n_kept : int
        Number of elements of a matrix that the type stores.
    is_variance : ndarray of shape (n_kept,)
        1 for each element of the diagonal, 0 for others.
    is_common : bool
        Whether all components have one matrix.
    """

    default_law, products, is_common = WishartPrecision, True, False

    def __init__(self, n_features, law=None, n_components=1):
        self.n_features, self.n_components = n_features, n_components
        self.law = self.default_law(n_features) if law is None else law
        self.is_variance = self.packed(self.default_prior(np.eye(n_features)))
        self.n_kept = len(self.is_variance)

    @property
    def kinds(self):
        """Numbers of the type and of its law in kernels, see `ascent_block`."""
        form = self.products + 2 * (self.n_kept > 1) + 4 * self.is_common
        return form, self.law.number

    def default_prior(self, covariance):
        return covariance

    def kept(self, second):
        """Return the elements of packed second moments that the type stores.

        They are the upper triangles row by row if ``products``, otherwise the squares.
        """
        return second

    def unpacked(self, kept):
        """Return the matrices, in the type's form, with these stored elements."""
        _, _, places, _ = _triangle(self.n_features)
        return np.take(kept, places, axis=-1)

    def packed(self, matrices):
        """Return the stored elements of matrices in the type's form."""
        rows, columns, _, _ = _triangle(self.n_features)
        return matrices[..., rows, columns]

    def outer(self, factors, vectors):
        """Return ``factor * v v^T`` of each component, in the type's form."""
        return factors[:, None, None] * vectors[:, :, None] * vectors[:, None, :]

    def centred(self, precision, sums, second):
        """Return means and inverse scales, given natural parameters."""
        given = precision, sums, second
        return _kernels.centred(*map(np.ascontiguousarray, given))

    def factors(self, inverse_scale):
        """Return F with F^T F = scale, and log |scale|, of each component.

        Factors are lower triangular.  Raises `IllDefined` if a matrix is not positive
        definite.
        """
        factors, log_determinants = self.candidates(inverse_scale)
        if math.isnan(log_determinants.sum()):
            raise IllDefined(ILL_DEFINED)
        return factors, log_determinants

    def candidates(self, inverse_scale):
        """Return `factors`; NaN is log |scale| if a matrix is not positive definite."""
        factors, log_determinants = _kernels.inverse_factors(
            np.ascontiguousarray(inverse_scale).reshape(-1, *inverse_scale.shape[-2:])
        )
        shape = inverse_scale.shape
        return factors.reshape(shape), log_determinants.reshape(shape[:-2])

    def traces_and_squares(self, scale_factors, matrices, vectors):
        """Return tr(scale @ matrix) and ``v^T @ scale @ v`` of each component.

        Factors and matrices are in the type's form.
        """
        return _kernels.traces_and_squares(scale_factors, matrices, vectors)

    def triangles(self, factors, scales):
        """Return scales times factors of each component in the kernel's layout."""
        *_, lower = _triangle(self.n_features)
        return scales[:, None] * factors[:, *lower]

    def derivative(self, inverse_scale, change):
        """Return the change of the scale W, -W dW^-1 W, and tr(W dW^-1)."""
        scale = self.scale(inverse_scale)
        product = scale @ change
        return -product @ scale, np.trace(product, axis1=-2, axis2=-1)

    def scale(self, inverse_scale):
        try:
            return np.linalg.inv(inverse_scale)
        except np.linalg.LinAlgError:  # the root is better conditioned
            factors, _ = self.factors(inverse_scale)
            return np.swapaxes(factors, -1, -2) @ factors

    def roots(self, inverse_scale):
        """Return the upper triangular R with R R^T = scale."""
        factors, _ = self.factors(inverse_scale)
        return np.swapaxes(factors, -1, -2)

    def matrices(self, covariances):
        """Return a matrix for each component from covariances in the type's form."""
        return covariances

    def widened(self, freedom):
        return freedom[:, None, None]

    def times(self, scale, vectors):
        """Return ``scale @ v`` of each component."""
        return np.einsum("kij,kj->ki", scale, vectors)

    def paired(self, freedom, scale):
        """Return the coefficients of the stored elements in the expected log density.

        The coefficients are the expected precision times -1/2.  A stored
        off-diagonal element represents two elements of the matrix, so that its
        coefficient is twice as large.
        """
        precision = self.packed(self.widened(freedom) * scale)
        return (0.5 * self.is_variance - 1.0) * precision

    def each(self, value):
        """Return the value of a parameter for each component.

        If components share the parameter, a subclass repeats the common value.
        """
        return value

    def common(self, values):
        """Return the sum over the components that share a parameter."""
        return values

    def draws(self, usual, random):
        """Draw precisions, in the type's form, and vectors of their covariances.

        The result is the precisions, their log determinants, and the vectors, which
        have the mean 0.  Bartlett's decomposition gives the draws of full matrices.
        """
        K, D = usual.means.shape
        logs = log_chisquare(usual.freedom[:, None] - np.arange(D), random, (K, D))
        lower = np.tril(random.standard_normal((K, D, D)), -1)
        lower[:, np.arange(D), np.arange(D)] = np.exp(0.5 * logs)
        roots = np.swapaxes(usual.factors, 1, 2) @ lower
        noise = random.standard_normal((K, D, 1))
        vectors = np.linalg.solve(np.swapaxes(roots, 1, 2), noise)[..., 0]
        log_determinants = usual.log_determinants + logs.sum(axis=1)
        return roots @ np.swapaxes(roots, 1, 2), log_determinants, vectors


class Diagonal(Covariance):
    """The diagonal of a matrix, for each component."""

    default_law, products = GammasPrecision, False

    def default_prior(self, covariance):
        return np.diag(covariance).copy()

    def unpacked(self, kept):
        return kept

    def packed(self, matrices):
        return matrices

    def outer(self, factors, vectors):
        return factors[:, None] * vectors**2

    def centred(self, precision, sums, second):
        means = sums / precision[:, None]
        return means, second - self.outer(precision, means)

    def candidates(self, inverse_scale):
        is_valid = (inverse_scale > 0) & (inverse_scale < np.inf)
        inverse_scale = np.where(is_valid, inverse_scale, np.nan)
        return inverse_scale**-0.5, -np.log(inverse_scale).sum(axis=-1)

    def traces_and_squares(self, scale_factors, matrices, vectors):
        scale = scale_factors**2
        return (scale * matrices).sum(axis=-1), (scale * vectors**2).sum(axis=-1)

    def triangles(self, factors, scales):
        return scales[:, None] * factors

    def derivative(self, inverse_scale, change):
        product = change / inverse_scale
        return -product / inverse_scale, product.sum(axis=-1)

    def scale(self, inverse_scale):
        return 1.0 / inverse_scale

    def roots(self, inverse_scale):
        return inverse_scale**-0.5

    def matrices(self, covariances):
        return covariances[:, :, None] * np.eye(self.n_features)

    def widened(self, freedom):
        return freedom[:, None]

    def times(self, scale, vectors):
        return scale * vectors

    def draws(self, usual, random):
        if not isinstance(self.law, GammasPrecision):
            raise NotImplementedError  # a Wishart distribution has full matrices
        inverse_scale, freedom = usual.inverse_scale, self.widened(usual.freedom)
        width = self.law.width
        logs = log_chisquare(width * freedom, random, inverse_scale.shape)
        logs -= np.log(width * inverse_scale)
        precision = np.exp(logs)
        each = precision.reshape(len(logs), -1)
        vectors = random.standard_normal(usual.means.shape) / np.sqrt(each)
        return precision, width * logs.reshape(len(logs), -1).sum(axis=1), vectors


class Spherical(Diagonal):
    """The mean of a matrix's diagonal, for each component."""

    default_law = GammaPrecision

    def default_prior(self, covariance):
        return np.float64(np.diag(covariance).mean())

    def kept(self, second):
        """Return the mean squares."""
        return second.mean(axis=-1, keepdims=True)

    def unpacked(self, kept):
        return kept[..., 0]

    def packed(self, matrices):
        return matrices[..., None]

    def outer(self, factors, vectors):
        return factors * (vectors**2).mean(axis=1)

    def candidates(self, inverse_scale):
        """Return the roots of the scales for each dimension, and log |scale|."""
        return super().candidates(self._each_dimension(inverse_scale))

    def traces_and_squares(self, scale_factors, matrices, vectors):
        matrices = self._each_dimension(matrices)
        return super().traces_and_squares(scale_factors, matrices, vectors)

    def derivative(self, inverse_scale, change):
        product = change / inverse_scale
        return -product / inverse_scale, self.n_features * product

    def matrices(self, covariances):
        return covariances[:, None, None] * np.eye(self.n_features)

    def widened(self, freedom):
        return freedom

    def times(self, scale, vectors):
        return scale[:, None] * vectors

    def paired(self, freedom, scale):
        """Return the trace of the expected precision times -1/2."""
        return self.n_features * super().paired(freedom, scale)

    def _each_dimension(self, value):
        return np.repeat(np.asarray(value)[..., None], self.n_features, axis=-1)


class TiedFull(Covariance):
    """A full matrix for all components, the mean of their matrices.

    Attributes
    ----------
    single : type
        Covariance type of one component.
    """

    is_common, single = True, Covariance
    centred = Diagonal.centred

    def matrices(self, covariances):
        return super().matrices(self.each(covariances))

    def widened(self, freedom):
        return freedom

    def paired(self, freedom, scale):
        """Return the coefficients of the second moments, summed over components."""
        return self.n_components * super().paired(freedom, scale)

    def each(self, value):
        return np.broadcast_to(value, (self.n_components, *np.shape(value)))

    def common(self, values):
        return values.sum()

    def outer(self, factors, vectors):
        """Return the mean of ``factor * v v^T`` over the components."""
        return (factors * vectors.T) @ vectors / self.n_components

    def traces_and_squares(self, scale_factors, matrices, vectors):
        trace = (scale_factors @ matrices * scale_factors).sum()
        return trace, ((scale_factors @ vectors[..., None]) ** 2).sum(axis=(-2, -1))

    def times(self, scale, vectors):
        return vectors @ scale


#: Covariance types by their names in scikit-learn.
COVARIANCES = {
    "full": Covariance,
    "tied": TiedFull,
    "diag": Diagonal,
    "spherical": Spherical,
}
CovarianceName = Literal["full", "tied", "diag", "spherical"]


# -- the Normal-Wishart family ---------------------------------------------------------
class NormalWishartParts(NamedTuple):
    """Natural parameters of components, split into their parts."""

    precision: Any  # kappa, (n_components,)
    means: Any  # kappa m, (n_components, n_features)
    second: Any  # W^-1 + kappa m m^T, in the form of the covariance type
    freedom: Any  # nu - n_features, (n_components,) or ()


class Usual(NamedTuple):
    """Parameters of components in their usual form."""

    precision: Any  # (n_components,)
    means: Any  # (n_components, n_features)
    inverse_scale: Any  # W^-1, in the form of the covariance type
    freedom: Any  # (n_components,) or ()
    factors: Any  # see `Covariance.factors`
    log_determinants: Any  # see `Covariance.factors`
    terms: Any  # see `precision_terms` of the kernels


class NormalWishartFamily(Family):
    """Means and precisions of Gaussians.

    The natural parameters of a component are kappa, kappa m, the stored elements of
    W^-1 + kappa m m^T, and nu - shift.  The corresponding u are -mu^T Lambda mu / 2,
    Lambda mu, -Lambda / 2, and (log |Lambda| - n_features log 2 pi) / 2.  The moments
    of a row are 1, x, the stored elements of x x^T, and 1.

    Parameters
    ----------
    covariance : Covariance
        Covariance type.  Its ``law`` is the distribution of the precision, with the
        shift.
    """

    def __init__(self, covariance):
        super().__init__(2 + covariance.n_features + covariance.n_kept)
        self.covariance, self.n_features = covariance, covariance.n_features
        self.law = covariance.law
        self._usual, self._usual_prior = LastCall(), LastCall()

    # -- natural and usual parameters --------------------------------------------------
    def split(self, parameters):
        first = 1 + self.n_features
        return NormalWishartParts(
            parameters[:, 0],
            parameters[:, 1:first],
            self.covariance.unpacked(parameters[:, first:-1]),
            parameters[:, -1],
        )

    def joined(self, precision, means, kept, freedom):
        """Return one array of the parts, in the order of `NormalWishartParts`.

        ``kept`` are the stored elements of second moments.
        """
        columns = precision[:, None], means, kept, freedom[:, None]
        return np.concatenate(columns, axis=1)

    def natural(self, precision, means, inverse_scale, freedom):
        return self.joined(
            precision,
            precision[:, None] * means,
            self.covariance.packed(
                inverse_scale + self.covariance.outer(precision, means)
            ),
            freedom - self.law.shift,
        )

    def usual(self, parameters, cache=None):
        """Return `Usual` parameters, given natural ones; the last result is cached.

        Raises `IllDefined` if they are not parameters of distributions.
        """
        return (cache or self._usual).result(self._usual_of, parameters)

    def _usual_of(self, parameters):
        parts = self.split(parameters)
        kappa = np.ascontiguousarray(parts.precision)
        freedom = parts.freedom + self.law.shift
        if not ((kappa > 0).all() and (freedom > self.law.least).all()):
            raise IllDefined(ILL_DEFINED)
        means, inverse_scale = self.covariance.centred(kappa, parts.means, parts.second)
        factors, logs = self.covariance.factors(inverse_scale)
        given = kappa, _like(freedom, kappa.shape), _like(logs, kappa.shape)
        terms = _kernels.precision_terms(self.law.number, self.n_features, *given)
        return Usual(kappa, means, inverse_scale, freedom, factors, logs, terms)

    # -- the distribution of the parameters --------------------------------------------
    def is_valid(self, parameters):
        parts = self.split(parameters)
        is_positive = parts.precision > 0
        kappa = np.where(is_positive, parts.precision, 1.0)
        _, inverse_scale = self.covariance.centred(kappa, parts.means, parts.second)
        _, logs = self.covariance.candidates(inverse_scale)
        is_free = parts.freedom + self.law.shift > self.law.least
        if self.covariance.is_common:
            is_positive = is_positive.all()
        return is_positive & is_free & ~np.isnan(logs)

    def log_normaliser(self, parameters):
        usual = self.usual(parameters)
        constant = 0.5 * self.n_features * LOG_2_PI
        return -usual.terms[1] - constant * (usual.freedom - self.law.shift)

    def expected(self, parameters):
        D, kind = self.n_features, self.covariance
        kappa, means, inverse_scale, freedom, *_, terms = self.usual(parameters)
        scale, nu = kind.scale(inverse_scale), kind.each(freedom)
        weighted = kind.times(scale, means)
        logs = terms[0] - D * LOG_2_PI
        return self.joined(
            -0.5 * (D / kappa + nu * (means * weighted).sum(axis=1)),
            nu[:, None] * weighted,
            kind.paired(freedom, scale),
            0.5 * kind.common(logs),
        )

    def draws(self, parameters, random):
        usual, kind = self.usual(parameters), self.covariance
        precision, logs, vectors = kind.draws(usual, random)
        means = usual.means + vectors / np.sqrt(usual.precision)[:, None]
        weighted = kind.times(precision, means)
        return self.joined(
            -0.5 * (means * weighted).sum(axis=1),
            weighted,
            kind.paired(np.ones(len(means)), precision),
            0.5 * (logs - self.n_features * LOG_2_PI),
        )

    def bound(self, parameters, prior, power):
        q, p = self.usual(parameters), self.usual(prior, self._usual_prior)
        shape = q.precision.shape
        traces, squares = self.covariance.traces_and_squares(
            q.factors, p.inverse_scale, q.means - p.means
        )
        pair = [
            np.array([own.precision, _like(own.freedom, shape), *own.terms[:2]])
            for own in (q, p)
        ]
        given = *pair, _like(traces, shape), squares
        return _kernels.precision_bounds(self.n_features, self.law.shift, power, *given)

    def fisher_product(self, parameters, change):
        D, kind, change = self.n_features, self.covariance, self.split(change)
        kappa, means, inverse_scale, freedom, *_ = self.usual(parameters)
        scale, nu = kind.scale(inverse_scale), kind.each(freedom)
        nu_change = np.broadcast_to(change.freedom, nu.shape)
        means_change = change.means - change.precision[:, None] * means
        means_change = means_change / kappa[:, None]
        # W^-1 = second - kappa m m^T
        moved = kind.outer(change.precision, means)
        moved = moved + _symmetric(kind, kappa, means, means_change)
        scale_change, trace = kind.derivative(inverse_scale, change.second - moved)
        weighted = kind.times(scale, means)
        weighted_change = kind.times(scale_change, means)
        weighted_change = weighted_change + kind.times(scale, means_change)
        square = (means * weighted).sum(axis=1)
        square_change = (means_change * weighted + means * weighted_change).sum(axis=1)
        precision = -D * change.precision / kappa**2
        precision = precision + nu_change * square + nu * square_change
        log_change = self.law.derivative(nu) * nu_change - trace
        paired = kind.paired(freedom, scale_change)
        return self.joined(
            -0.5 * precision,
            nu_change[:, None] * weighted + nu[:, None] * weighted_change,
            paired + kind.paired(change.freedom, scale),
            0.5 * kind.common(log_change),
        )


def _like(value, shape):
    value = np.ascontiguousarray(value)
    return value if value.shape == shape else np.full(shape, value)


def _symmetric(covariance, factors, left, right):
    """Return factors * (l r^T + r l^T), in the form of the covariance type."""
    both = covariance.outer(factors, left + right)
    return both - covariance.outer(factors, left) - covariance.outer(factors, right)

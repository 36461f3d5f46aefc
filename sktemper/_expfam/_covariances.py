"""The four covariance types: what each keeps of a symmetric matrix.

Every type is the full Normal-Wishart model with a restricted posterior, whose scale
matrix is diagonal, a multiple of the identity, or the same in all components.  What a
type keeps of a second moment is linear in it, so that sums, targets and steps are those
of the full model.
"""

import functools

import numpy as np

from ..model._values import IllDefined
from . import _kernels

__all__ = ["ILL_DEFINED", "COVARIANCE_TYPES"]

#: As scikit-learn says it.
ILL_DEFINED = (
    "Fitting the mixture model failed because some components have ill-defined "
    "empirical covariance (for instance caused by singleton or collapsed samples). Try "
    "to decrease the number of components, increase reg_covar, or scale the input data."
)


@functools.lru_cache(maxsize=8)
def _places(n_features):
    """Return where a symmetric matrix's elements are in its packed upper triangle."""
    rows, columns = np.triu_indices(n_features)
    places = np.empty((n_features, n_features), dtype=np.intp)
    places[rows, columns] = places[columns, rows] = np.arange(len(rows))
    return places


class Covariance:
    """Full: a matrix for each component.

    Attributes
    ----------
    products : bool
        Whether the second moments of samples are x_i x_j, or only x_i^2.
    shared : bool
        Whether all components have one covariance.
    """

    products = True
    shared = False

    def __init__(self, n_components, n_features):
        self.n_components, self.n_features = n_components, n_features
        self._eye = np.eye(n_features)

    def separate(self, n_components):
        """Return the type of as many components that have nothing in common."""
        return type(self)(n_components, self.n_features)

    def prior_shape(self):
        """Return the shape of the prior's inverse scale."""
        return (self.n_features, self.n_features)

    def prior(self, inverse_scale):
        """Return the prior's inverse scale for all components, in this type's shape."""
        return np.broadcast_to(inverse_scale, (self.n_components, *self.prior_shape()))

    def default_prior(self, covariance):
        """Return what the type keeps of the data's covariance."""
        return covariance

    def moments(self, sums, responsibilities, n_first, n_moments):
        """Return the weighted sums of the samples' moments.

        Parameters
        ----------
        sums : callable
            ``sums(shares, n)`` returns those of the first ``n`` moments, packed, of
            shape (n_shares, n).
        responsibilities : ndarray of shape (n_samples, n_components)
        n_first, n_moments : int
            Those before the second ones, and all.

        Returns
        -------
        sums : ndarray of shape (n_components, n_first) or more
        second : ndarray
            In this type's shape.
        """
        packed = sums(responsibilities, n_moments)
        return packed, self.unpacked(packed[:, n_first:])

    def unpacked(self, packed):
        """Return symmetric matrices from upper triangles by rows."""
        return np.take(packed, _places(self.n_features), axis=-1)

    def blurred(self, counts, variance):
        """Return what a variance added to the samples adds to the second moments."""
        return np.multiply.outer(counts * variance, self._eye)

    def counted(self, counts):
        """Return the samples' share in the degrees of freedom."""
        return counts

    def outer(self, factors, vectors):
        """Return the sums' part ``weights * v v^T``, one for each component."""
        return factors[:, None, None] * vectors[:, :, None] * vectors[:, None, :]

    def centred(self, precision, sums, second):
        """Return means, and inverse scales, of natural parameters."""
        given = precision, sums, second
        return _kernels.centred(*map(np.ascontiguousarray, given))

    def factors(self, inverse_scale):
        """Return, for each component, F with F^T F = scale, and log |scale|.

        Returns
        -------
        factors : ndarray of shape (n_components, n_features, n_features)
            Lower triangular.
        log_determinants : ndarray of shape (n_components,)

        Raises
        ------
        IllDefined
            If an inverse scale is not positive definite.
        """
        factors, log_determinants, n_bad = _kernels.inverse_factors(
            np.ascontiguousarray(inverse_scale).reshape(-1, *inverse_scale.shape[-2:])
        )
        if n_bad:
            raise IllDefined(ILL_DEFINED)
        shape = inverse_scale.shape
        return factors.reshape(shape), log_determinants.reshape(shape[:-2])

    def traces_and_squares(self, scale_factors, matrices, vectors):
        """Return tr(scale @ matrix) and ``v^T @ scale @ v`` of each component.

        Factors and matrices are in this type's shape.
        """
        return _kernels.traces_and_squares(scale_factors, matrices, vectors)

    def packed(self, factors, scales):
        """Return scales times factors, one a component, as the kernel takes them."""
        return _kernels.packed_triangles(factors, scales)

    def derivative(self, inverse_scale, change):
        """Return the change of the scale, -W dW^-1 W, and tr(W dW^-1)."""
        scale = self.scale(inverse_scale)
        product = scale @ change
        return -product @ scale, np.trace(product, axis1=-2, axis2=-1)

    def scale(self, inverse_scale):
        """Return the inverse of the inverse scale."""
        try:
            return np.linalg.inv(inverse_scale)
        except np.linalg.LinAlgError:  # the root is farther from singular
            factors, _ = self.factors(inverse_scale)
            return np.swapaxes(factors, -1, -2) @ factors

    def roots(self, inverse_scale):
        """Return R with R R^T = scale, upper triangular."""
        factors, _ = self.factors(inverse_scale)
        return np.swapaxes(factors, -1, -2)

    def matrices(self, covariances):
        """Return covariances in this type's shape as matrices, one a component."""
        return covariances

    def widened(self, freedom):
        """Return degrees of freedom so that they broadcast with the scales."""
        return freedom[:, None, None]

    def times(self, scale, vectors):
        """Return ``scale @ v`` of each component."""
        return np.einsum("kij,kj->ki", scale, vectors)

    def paired(self, freedom, scale):
        """Return minus half of the expected precision, as statistics pair with it."""
        return -0.5 * self.widened(freedom) * scale

    def each(self, value):
        """Return a parameter of all components together for each of them."""
        return value


class Tied(Covariance):
    """One matrix for all components, the mean of what each would have."""

    shared = True

    def separate(self, n_components):
        """Return a matrix for each of so many components."""
        return Covariance(n_components, self.n_features)

    def prior(self, inverse_scale):
        """Return the prior's inverse scale."""
        return np.asarray(inverse_scale)

    def moments(self, sums, responsibilities, n_first, n_moments):
        """Return the weighted sums, of the second moments the components' mean."""
        totals = responsibilities.sum(axis=1, dtype=np.float64, keepdims=True)
        second = sums(totals, n_moments)[0, n_first:] / self.n_components
        return sums(responsibilities, n_first), self.unpacked(second)

    def blurred(self, counts, variance):
        """Return what a variance added to the samples adds to the second moments."""
        return counts.mean() * variance * self._eye

    def counted(self, counts):
        """Return the mean number of samples."""
        return counts.mean()

    def outer(self, factors, vectors):
        """Return the mean over the components."""
        return (factors * vectors.T) @ vectors / self.n_components

    def centred(self, precision, sums, second):
        """Return means, and inverse scales, of natural parameters."""
        means = sums / precision[:, None]
        return means, second - self.outer(precision, means)

    def traces_and_squares(self, scale_factors, matrices, vectors):
        """Return tr(scale @ matrix), and ``v^T @ scale @ v`` of each component."""
        trace = (scale_factors @ matrices * scale_factors).sum()
        return trace, ((scale_factors @ vectors[..., None]) ** 2).sum(axis=(-2, -1))

    def matrices(self, covariances):
        """Return covariances in this type's shape as matrices, one a component."""
        return self.each(covariances)

    def widened(self, freedom):
        """Return the degrees of freedom."""
        return freedom

    def times(self, scale, vectors):
        """Return ``scale @ v`` of each component."""
        return vectors @ scale

    def paired(self, freedom, scale):
        """Return minus half of the expected precisions' sum."""
        return -0.5 * self.n_components * freedom * scale

    def each(self, value):
        """Return the same for each component."""
        return np.broadcast_to(value, (self.n_components, *np.shape(value)))


class Diagonal(Covariance):
    """The diagonal of a matrix, for each component."""

    products = False

    def prior_shape(self):
        """Return the shape of the prior's inverse scale."""
        return (self.n_features,)

    def default_prior(self, covariance):
        """Return the variances of the data."""
        return np.diag(covariance).copy()

    def unpacked(self, packed):
        """Return the squares."""
        return packed

    def blurred(self, counts, variance):
        """Return what a variance added to the samples adds to the second moments."""
        return np.repeat(counts[:, None] * variance, self.n_features, axis=1)

    def outer(self, factors, vectors):
        """Return the diagonals."""
        return factors[:, None] * vectors**2

    def centred(self, precision, sums, second):
        """Return means, and inverse scales, of natural parameters."""
        means = sums / precision[:, None]
        return means, second - self.outer(precision, means)

    def factors(self, inverse_scale):
        """Return the roots of the scales, and log |scale|."""
        if not ((inverse_scale > 0) & (inverse_scale < np.inf)).all():
            raise IllDefined(ILL_DEFINED)
        return inverse_scale**-0.5, -np.log(inverse_scale).sum(axis=-1)

    def traces_and_squares(self, scale_factors, matrices, vectors):
        """Return tr(scale @ matrix) and ``v^T @ scale @ v`` of each component."""
        scale = scale_factors**2
        return (scale * matrices).sum(axis=-1), (scale * vectors**2).sum(axis=-1)

    def packed(self, factors, scales):
        """Return scales times factors, one a component, as the kernel takes them."""
        return scales[:, None] * factors

    def derivative(self, inverse_scale, change):
        """Return the change of the scale, and tr(W dW^-1)."""
        product = change / inverse_scale
        return -product / inverse_scale, product.sum(axis=-1)

    def scale(self, inverse_scale):
        """Return the inverse of the inverse scale."""
        return 1.0 / inverse_scale

    def roots(self, inverse_scale):
        """Return the roots of the scales."""
        return inverse_scale**-0.5

    def matrices(self, covariances):
        """Return covariances in this type's shape as matrices, one a component."""
        return covariances[:, :, None] * np.eye(self.n_features)

    def widened(self, freedom):
        """Return degrees of freedom so that they broadcast with the scales."""
        return freedom[:, None]

    def times(self, scale, vectors):
        """Return ``scale @ v`` of each component."""
        return scale * vectors


class Spherical(Diagonal):
    """The mean of a matrix's diagonal, for each component."""

    def prior_shape(self):
        """Return the shape of the prior's inverse scale: a number."""
        return ()

    def default_prior(self, covariance):
        """Return the mean variance of the data."""
        return np.float64(np.diag(covariance).mean())

    def unpacked(self, packed):
        """Return the mean squares."""
        return packed.mean(axis=-1)

    def blurred(self, counts, variance):
        """Return what a variance added to the samples adds to the second moments."""
        return counts * variance

    def outer(self, factors, vectors):
        """Return the means of the diagonals."""
        return factors * (vectors**2).mean(axis=1)

    def factors(self, inverse_scale):
        """Return the roots of the scales for each dimension, and log |scale|."""
        return super().factors(self._each_dimension(inverse_scale))

    def traces_and_squares(self, scale_factors, matrices, vectors):
        """Return tr(scale @ matrix) and ``v^T @ scale @ v`` of each component."""
        matrices = self._each_dimension(matrices)
        return super().traces_and_squares(scale_factors, matrices, vectors)

    def derivative(self, inverse_scale, change):
        """Return the change of the scale, and tr(W dW^-1)."""
        product = change / inverse_scale
        return -product / inverse_scale, self.n_features * product

    def matrices(self, covariances):
        """Return covariances in this type's shape as matrices, one a component."""
        return covariances[:, None, None] * np.eye(self.n_features)

    def widened(self, freedom):
        """Return the degrees of freedom."""
        return freedom

    def times(self, scale, vectors):
        """Return ``scale @ v`` of each component."""
        return scale[:, None] * vectors

    def paired(self, freedom, scale):
        """Return minus half of the expected precisions' trace."""
        return -0.5 * self.n_features * freedom * scale

    def _each_dimension(self, value):
        return np.repeat(np.asarray(value)[..., None], self.n_features, axis=-1)


#: The names of the types, as scikit-learn has them.
COVARIANCE_TYPES = {
    "full": Covariance,
    "tied": Tied,
    "diag": Diagonal,
    "spherical": Spherical,
}

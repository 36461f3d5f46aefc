"""Covariance types: the elements of a symmetric matrix that a component stores.

The precision of a component is a full matrix, a diagonal matrix or a multiple of the
identity.  The elements that a covariance type stores are linear functions of the second
moments.  Therefore sums, targets and steps have the same form for all types.
"""

import functools

import numpy as np

from ..model._values import IllDefined
from . import _kernels
from ._precisions import GammaPrecision, GammasPrecision, WishartPrecision

__all__ = ["COVARIANCES", "ILL_DEFINED", "Covariance"]

#: The message of scikit-learn's mixtures.
ILL_DEFINED = (
    "Fitting the mixture model failed because some components have ill-defined "
    "empirical covariance (for instance caused by singleton or collapsed samples). Try "
    "to decrease the number of components, increase reg_covar, or scale the input data."
)


@functools.lru_cache(maxsize=8)
def _triangle(n_features):
    """Return indices that convert a symmetric matrix to its packed upper triangle.

    Returns
    -------
    rows, columns : ndarray of int of shape (n_packed,)
        Indices of each element of the triangle.
    places : ndarray of int of shape (n_features, n_features)
        Position in the triangle of each element of the matrix.
    """
    rows, columns = np.triu_indices(n_features)
    places = np.empty((n_features, n_features), dtype=np.intp)
    places[rows, columns] = places[columns, rows] = np.arange(len(rows))
    return rows, columns, places


class Covariance:
    """A full matrix for each component.

    Parameters
    ----------
    n_features : int
    law : WishartPrecision or None
        Distribution of the precisions.  None is the default of the type: a Wishart
        distribution for full matrices, a Gamma distribution for each element of
        diagonal matrices, and one Gamma distribution for spherical matrices.

    Attributes
    ----------
    products : bool
        Whether the second moments of samples are all products x_i x_j; otherwise they
        are the squares x_i^2.
    n_kept : int
        Number of elements of a matrix that the type stores.
    is_variance : ndarray of shape (n_kept,)
        1 for each element of the diagonal, 0 for others.
    """

    products = True

    def __init__(self, n_features, law=None):
        self.n_features = n_features
        self.law = WishartPrecision(n_features) if law is None else law
        self._rows, self._columns, self._places = _triangle(n_features)
        self.is_variance = (self._rows == self._columns).astype(np.float64)
        self.n_kept = len(self.is_variance)

    def default_prior(self, covariance):
        """Return the covariance of the data in the form of this type."""
        return covariance

    def kept(self, second):
        """Return the elements of packed second moments that the type stores.

        Parameters
        ----------
        second : ndarray of shape (..., n_second)
            The upper triangles row by row if ``products``, otherwise the squares.

        Returns
        -------
        kept : ndarray of shape (..., n_kept)
        """
        return second

    def unpacked(self, kept):
        """Return the matrices, in the type's form, with these stored elements."""
        return np.take(kept, self._places, axis=-1)

    def packed(self, matrices):
        """Return the stored elements of matrices in the type's form."""
        return matrices[..., self._rows, self._columns]

    def outer(self, factors, vectors):
        """Return ``factor * v v^T`` of each component, in the type's form."""
        return factors[:, None, None] * vectors[:, :, None] * vectors[:, None, :]

    def centred(self, precision, sums, second):
        """Return means and inverse scales, given natural parameters."""
        given = precision, sums, second
        return _kernels.centred(*map(np.ascontiguousarray, given))

    def factors(self, inverse_scale):
        """Return F with F^T F = scale, and log |scale|, of each component.

        Parameters
        ----------
        inverse_scale : ndarray of shape (..., n_features, n_features)

        Returns
        -------
        factors : ndarray of shape (..., n_features, n_features)
            Lower triangular.
        log_determinants : ndarray of shape (...)

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

        Factors and matrices are in the type's form.
        """
        return _kernels.traces_and_squares(scale_factors, matrices, vectors)

    def triangles(self, factors, scales):
        """Return scales times factors of each component in the kernel's layout."""
        return _kernels.packed_triangles(factors, scales)

    def derivative(self, inverse_scale, change):
        """Return the change of the scale W, -W dW^-1 W, and tr(W dW^-1)."""
        scale = self.scale(inverse_scale)
        product = scale @ change
        return -product @ scale, np.trace(product, axis1=-2, axis2=-1)

    def scale(self, inverse_scale):
        """Return the inverse of the inverse scale."""
        try:
            return np.linalg.inv(inverse_scale)
        except np.linalg.LinAlgError:  # the root is better conditioned
            factors, _ = self.factors(inverse_scale)
            return np.swapaxes(factors, -1, -2) @ factors

    def symmetric(self, matrices):
        """Return the symmetric parts of matrices in the type's form."""
        return 0.5 * (matrices + np.swapaxes(matrices, -1, -2))

    def roots(self, inverse_scale):
        """Return the upper triangular R with R R^T = scale."""
        factors, _ = self.factors(inverse_scale)
        return np.swapaxes(factors, -1, -2)

    def matrices(self, covariances):
        """Return a matrix for each component from covariances in the type's form."""
        return covariances

    def widened(self, freedom):
        """Return degrees of freedom in a shape that broadcasts with the scales."""
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


class Diagonal(Covariance):
    """The diagonal of a matrix, for each component."""

    products = False

    def __init__(self, n_features, law=None):
        self.n_features = self.n_kept = n_features
        self.law = GammasPrecision(n_features) if law is None else law
        self.is_variance = np.ones(n_features)

    def default_prior(self, covariance):
        """Return the variances of the data."""
        return np.diag(covariance).copy()

    def unpacked(self, kept):
        """Return the diagonals."""
        return kept

    def packed(self, matrices):
        """Return the diagonals."""
        return matrices

    def outer(self, factors, vectors):
        """Return the diagonals."""
        return factors[:, None] * vectors**2

    def centred(self, precision, sums, second):
        """Return means and inverse scales, given natural parameters."""
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

    def triangles(self, factors, scales):
        """Return scales times factors of each component in the kernel's layout."""
        return scales[:, None] * factors

    def derivative(self, inverse_scale, change):
        """Return the change of the scale, and tr(W dW^-1)."""
        product = change / inverse_scale
        return -product / inverse_scale, product.sum(axis=-1)

    def scale(self, inverse_scale):
        """Return the inverse of the inverse scale."""
        return 1.0 / inverse_scale

    def symmetric(self, matrices):
        """Return the diagonals."""
        return matrices

    def roots(self, inverse_scale):
        """Return the roots of the scales."""
        return inverse_scale**-0.5

    def matrices(self, covariances):
        """Return a matrix for each component from covariances in the type's form."""
        return covariances[:, :, None] * np.eye(self.n_features)

    def widened(self, freedom):
        """Return degrees of freedom in a shape that broadcasts with the scales."""
        return freedom[:, None]

    def times(self, scale, vectors):
        """Return ``scale @ v`` of each component."""
        return scale * vectors


class Spherical(Diagonal):
    """The mean of a matrix's diagonal, for each component."""

    def __init__(self, n_features, law=None):
        self.n_features, self.n_kept = n_features, 1
        self.law = GammaPrecision(n_features) if law is None else law
        self.is_variance = np.ones(1)

    def default_prior(self, covariance):
        """Return the mean variance of the data."""
        return np.float64(np.diag(covariance).mean())

    def kept(self, second):
        """Return the mean squares."""
        return second.mean(axis=-1, keepdims=True)

    def unpacked(self, kept):
        """Return the mean squares."""
        return kept[..., 0]

    def packed(self, matrices):
        """Return the mean squares."""
        return matrices[..., None]

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
        """Return a matrix for each component from covariances in the type's form."""
        return covariances[:, None, None] * np.eye(self.n_features)

    def widened(self, freedom):
        """Return the degrees of freedom."""
        return freedom

    def times(self, scale, vectors):
        """Return ``scale @ v`` of each component."""
        return scale[:, None] * vectors

    def paired(self, freedom, scale):
        """Return the trace of the expected precision times -1/2."""
        return self.n_features * super().paired(freedom, scale)

    def _each_dimension(self, value):
        return np.repeat(np.asarray(value)[..., None], self.n_features, axis=-1)


#: Covariance types by their names in scikit-learn.
COVARIANCES = {"full": Covariance, "diag": Diagonal, "spherical": Spherical}

"""The Normal-Wishart family, the conjugate prior of means and precisions of Gaussians.

The parameters have the usual symbols m, kappa, W and nu.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..model._values import IllDefined
from ._covariances import ILL_DEFINED
from ._families import Family
from ._natural import LastCall

__all__ = ["NormalWishartFamily", "NormalWishartParts", "Usual"]


class NormalWishartParts(NamedTuple):
    """Natural parameters of components, split into their parts.

    Attributes
    ----------
    precision : ndarray of shape (n_components,)
        kappa.
    means : ndarray of shape (n_components, n_features)
        kappa m.
    second : ndarray
        W^-1 + kappa m m^T, in the form of the covariance type.
    freedom : ndarray of shape (n_components,) or ()
        nu - n_features.
    """

    precision: Any
    means: Any
    second: Any
    freedom: Any


class Usual(NamedTuple):
    """Parameters of components in their usual form.

    Attributes
    ----------
    precision : ndarray of shape (n_components,)
    means : ndarray of shape (n_components, n_features)
    inverse_scale : ndarray
        Inverse scale W^-1 in the form of the covariance type.
    freedom : ndarray of shape (n_components,) or ()
    factors, log_determinants : ndarray
        See `Covariance.factors`.
    """

    precision: Any
    means: Any
    inverse_scale: Any
    freedom: Any
    factors: Any
    log_determinants: Any


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
        self._usual, self._terms = LastCall(), LastCall()
        self._usual_prior, self._prior_terms = LastCall(), LastCall()

    # -- natural and usual parameters --------------------------------------------------
    def split(self, parameters):
        """Return `NormalWishartParts` of an array of natural parameters."""
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
        """Return the natural parameters, given the usual parameters."""
        return self.joined(
            precision,
            precision[:, None] * means,
            self.covariance.packed(
                inverse_scale + self.covariance.outer(precision, means)
            ),
            freedom - self.law.shift,
        )

    def usual(self, parameters):
        """Return `Usual` parameters, given natural ones; the last result is cached.

        Raises
        ------
        IllDefined
            If ``parameters`` are not parameters of distributions.
        """
        return self._usual.of(parameters, self._usual_of)

    def _usual_of(self, parameters):
        parts = self.split(parameters)
        kappa = np.ascontiguousarray(parts.precision)
        freedom = parts.freedom + self.law.shift
        if not ((kappa > 0).all() and (freedom > self.law.least).all()):
            raise IllDefined(ILL_DEFINED)
        means, inverse_scale = self.covariance.centred(kappa, parts.means, parts.second)
        factors = self.covariance.factors(inverse_scale)
        return Usual(kappa, means, inverse_scale, freedom, *factors)

    # -- the distribution of the parameters --------------------------------------------
    def is_valid(self, parameters):
        """Return whether these are parameters of distributions."""
        try:
            self.usual(parameters)
        except IllDefined:
            return False
        return True

    def log_normaliser(self, parameters):
        """Return A, of shape (n_components,)."""
        usual = self.usual(parameters)
        constant = 0.5 * self.n_features * math.log(2 * math.pi)
        return -self.terms(usual)[1] - constant * (usual.freedom - self.law.shift)

    def terms(self, usual):
        """Return ``law.terms`` of the parameters; the last result is cached."""
        return self._terms.of(usual, self._terms_of)

    def _terms_of(self, usual):
        precision, shape = usual.precision, usual.precision.shape
        given = precision, usual.freedom, usual.log_determinants
        given = (np.ravel(_like(value, shape)) for value in given)
        return self.law.terms(*given)

    def expected(self, parameters):
        """Return E u."""
        D, kind = self.n_features, self.covariance
        kappa, means, inverse_scale, freedom, _, _ = usual = self.usual(parameters)
        scale, nu = kind.scale(inverse_scale), kind.each(freedom)
        weighted = kind.times(scale, means)
        logs = self.terms(usual)[0] - D * math.log(2 * math.pi)
        return self.joined(
            -0.5 * (D / kappa + nu * (means * weighted).sum(axis=1)),
            nu[:, None] * weighted,
            kind.paired(freedom, scale),
            0.5 * kind.common(logs),
        )

    def bound(self, parameters, prior, power):
        """Return power * E log p - E log q of each component."""
        q, p = self.usual(parameters), self._usual_prior.of(prior, self._usual_of)
        shape = q.precision.shape
        prior_terms = self._prior_terms.of(p, self._terms_of)
        traces, squares = self.covariance.traces_and_squares(
            q.factors, p.inverse_scale, q.means - p.means
        )
        return self.law.bounds(
            power,
            (q.precision, _like(q.freedom, shape), *self.terms(q)[:2]),
            (p.precision, _like(p.freedom, shape), *prior_terms[:2]),
            _like(traces, shape),
            squares,
        )

    def fisher_product(self, parameters, change):
        """Return the derivative of E u in the direction ``change``."""
        D, kind, change = self.n_features, self.covariance, self.split(change)
        kappa, means, inverse_scale, freedom, _, _ = self.usual(parameters)
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
    """Return an array with a value for each component."""
    value = np.ascontiguousarray(value)
    return value if value.shape == shape else np.full(shape, value)


def _symmetric(covariance, factors, left, right):
    """Return factors * (l r^T + r l^T), in the form of the covariance type."""
    both = covariance.outer(factors, left + right)
    return both - covariance.outer(factors, left) - covariance.outer(factors, right)

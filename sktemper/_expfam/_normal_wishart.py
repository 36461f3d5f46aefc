"""The Normal-Wishart family: conjugate to the means and precisions of Gaussians.

In the usual letters: m, kappa, W, nu.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import polygamma

from ..model._values import IllDefined
from . import _kernels
from ._covariances import COVARIANCE_TYPES, ILL_DEFINED
from ._natural import LastCall, Natural

__all__ = ["NormalWishart", "NormalWishartFamily", "Usual"]


@dataclass(frozen=True)
class NormalWishart(Natural):
    """Natural parameters of several components, or what is added to them.

    With respect to Lebesgue measure on means and precisions.  Steps are convex in them,
    and so never leave their domain.

    Attributes
    ----------
    precision : ndarray of shape (n_components,)
        kappa.
    means : ndarray of shape (n_components, n_features)
        kappa m.
    second : ndarray
        W^-1 + kappa m m^T, in the shape of the covariance type.
    freedom : ndarray of shape (n_components,) or ()
        nu - n_features.
    """

    precision: np.ndarray
    means: np.ndarray
    second: np.ndarray
    freedom: np.ndarray


class Usual(NamedTuple):
    """The parameters of several components, as they are usually written.

    Attributes
    ----------
    precision : ndarray of shape (n_components,)
    means : ndarray of shape (n_components, n_features)
    inverse_scale : ndarray
        In the shape of the covariance type.
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


def log_chisquare(degrees, random, size):
    """Draw log x of chi-square distributions: finite for tiny degrees of freedom, too.

    Their draws are 0 for rounding; Gamma(a) = Gamma(a + 1) U^(1 / a) is exact.
    """
    if np.min(degrees) >= 1:
        return np.log(random.chisquare(degrees, size))
    halves = 0.5 * np.broadcast_to(degrees, size)
    draws = np.log(2.0 * random.standard_gamma(halves + 1.0))
    return draws + np.log1p(-random.random(size)) / halves


class NormalWishartFamily:
    """Normal-Wishart distributions of components, by what covariances are kept.

    Parameters
    ----------
    n_components, n_features : int
    covariance_type : {"full", "tied", "diag", "spherical"}
    """

    def __init__(self, n_components, n_features, covariance_type="full"):
        self.n_components, self.n_features = n_components, n_features
        self.covariance = COVARIANCE_TYPES[covariance_type](n_components, n_features)
        self._terms, self._prior_terms = LastCall(), LastCall()

    def shapes(self):
        """Return the shapes of the arrays of `NormalWishart`."""
        K, D = self.n_components, self.n_features
        second = self.covariance.outer(np.ones(K), np.ones((K, D))).shape
        return (K,), (K, D), second, np.shape(self.covariance.counted(np.ones(K)))

    def prior(self, precision, mean, covariance, degrees_of_freedom):
        """Return the parameters of components that have all the same."""
        K = self.n_components
        means, kappa = np.tile(mean, (K, 1)), np.full(K, precision)
        inverse_scale = self.covariance.prior(covariance)
        freedom = np.full(K, degrees_of_freedom - self.n_features)
        return NormalWishart(
            kappa,
            kappa[:, None] * means,
            inverse_scale + self.covariance.outer(kappa, means),
            self.covariance.counted(freedom),
        )

    def counted(self, counts, sums, second, variance):
        """Return what samples add to the parameters.

        Parameters
        ----------
        counts : ndarray of shape (n_components,)
        sums : ndarray of shape (n_components, n_features)
        second : ndarray
            Sums of their second moments, in the shape of the covariance type.
        variance : float
            Added to each sample.
        """
        return NormalWishart(
            counts,
            sums,
            second + self.covariance.blurred(counts, variance),
            self.covariance.counted(counts),
        )

    def usual(self, parameters):
        """Return `Usual` of natural parameters.

        Raises
        ------
        IllDefined
            If they are not those of distributions.
        """
        kappa = parameters.precision
        if not ((kappa > 0).all() and (parameters.freedom > -1).all()):
            raise IllDefined(ILL_DEFINED)
        means, inverse_scale = self.covariance.centred(
            kappa, parameters.means, parameters.second
        )
        freedom = parameters.freedom + self.n_features
        factors = self.covariance.factors(inverse_scale)
        return Usual(kappa, means, inverse_scale, freedom, *factors)

    def log_normaliser(self, usual):
        """Return the log normaliser of a Normal-Wishart density, but for |Lambda|."""
        return self._terms.of(usual, self._terms_of)[1]

    def log_density(self, usual):
        """Return the expected log density of samples, but for their distance."""
        return self._terms.of(usual, self._terms_of)[2]

    def _terms_of(self, usual):
        """Return all three, of the shape of the components."""
        shape = usual.precision.shape
        given = usual.precision, usual.freedom, usual.log_determinants
        given = (np.ravel(_like(value, shape)) for value in given)
        terms = _kernels.wishart_terms(self.n_features, *given)
        return terms if len(shape) == 1 else tuple(t.reshape(shape) for t in terms)

    def bound(self, q, p, power):
        """Return power * E log p - E log q of each component; both are `Usual`."""
        shape = q.precision.shape
        terms = self._terms.of(q, self._terms_of)
        prior_terms = self._prior_terms.of(p, self._terms_of)
        traces, squares = self.covariance.traces_and_squares(
            q.factors, p.inverse_scale, q.means - p.means
        )
        return _kernels.wishart_bounds(
            self.n_features,
            power,
            (q.precision, _like(q.freedom, shape), *terms[:2]),
            (p.precision, _like(p.freedom, shape), *prior_terms[:2]),
            _like(traces, shape),
            squares,
        )

    def fisher_product(self, usual, change):
        """Return the change of the expected statistics along ``change``."""
        D, kind = self.n_features, self.covariance
        kappa, means, inverse_scale, freedom, _, _ = usual
        scale, nu = kind.scale(inverse_scale), kind.each(freedom)
        nu_change = np.broadcast_to(change.freedom, nu.shape)
        means_change = (change.means - change.precision[:, None] * means) / kappa[
            :, None
        ]
        # W^-1 = second - kappa m m^T
        moved = kind.outer(change.precision, means)
        moved = moved + _symmetric(kind, kappa, means, means_change)
        scale_change, trace = kind.derivative(inverse_scale, change.second - moved)
        weighted = kind.times(scale, means)
        weighted_change = kind.times(scale_change, means)
        weighted_change = weighted_change + kind.times(scale, means_change)
        square = (means * weighted).sum(axis=1)
        square_change = (means_change * weighted + means * weighted_change).sum(axis=1)
        first = nu_change[:, None] * weighted + nu[:, None] * weighted_change
        precision = -D * change.precision / kappa**2
        precision = precision + nu_change * square + nu * square_change
        halves = 0.5 * (nu[:, None] - np.arange(D))
        log_change = 0.5 * polygamma(1, halves).sum(axis=1) * nu_change - trace
        paired = kind.paired(freedom, scale_change)
        paired = paired + kind.paired(change.freedom, scale)
        log_change = log_change if np.ndim(freedom) else log_change.sum()
        return NormalWishart(-0.5 * precision, first, paired, 0.5 * log_change)


def _like(value, shape):
    """Return a value of all components together for each of them."""
    return value if np.shape(value) == shape else np.full(shape, value)


def _symmetric(covariance, factors, left, right):
    """Return factors * (l r^T + r l^T), as the covariance type keeps it."""
    both = covariance.outer(factors, left + right)
    return both - covariance.outer(factors, left) - covariance.outer(factors, right)

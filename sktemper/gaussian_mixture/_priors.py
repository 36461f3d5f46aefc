"""Priors of the Gaussian mixture: values that the user sets, and defaults."""

import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array

from .._families import LEAST_CONCENTRATION
from .._utils._validation import check_prior, check_values, check_variances
from ._empirical import FREE_DEGREES, LEARNED

#: Smallest increase of the log-likelihood by another component, in nats per sample.  It
#: determines the default concentration of the weights if ``priors`` is "learned".
#: Without it, clusters that are not quite Gaussian would be divided into more and more
#: parts as samples are added.
COMPONENT_COST = 0.01


class Hyper(NamedTuple):
    """Priors of a Gaussian mixture.

    Attributes
    ----------
    weight_concentration, mean_precision, degrees_of_freedom : float
    mean : ndarray of shape (n_features,)
    covariance : ndarray
        Inverse scale of the Wishart distribution, in the form of the covariance type.
    origin : ndarray of shape (n_features,)
        Origin of the coordinates inside the model, which preserves digits of data far
        from 0.
    noise_variance : float
        Variance of the noise of the samples in local steps.  It is `reg_covar` if
        values are missing, and otherwise 0, as in scikit-learn.
    is_diagonal : bool
        Whether a covariance that is computed from the data is diagonal, because too few
        rows show correlations, see `shows_correlations`.
    """

    weight_concentration: float
    mean_precision: float
    degrees_of_freedom: float
    mean: np.ndarray
    covariance: np.ndarray
    origin: np.ndarray
    noise_variance: float = 0.0
    is_diagonal: bool = False

    def allowed(self, matrix):
        """Return a matrix from data, without correlations if `is_diagonal`."""
        return np.diag(np.diag(matrix)) if self.is_diagonal else matrix

    def stepped(self, other, rate):
        """Return priors between this object (rate 0) and another (rate 1)."""
        if rate == 1 or other is self:
            return other
        learned = "mean_precision", "degrees_of_freedom", "covariance"
        between = {
            name: (1 - rate) * getattr(self, name) + rate * getattr(other, name)
            for name in learned
        }
        return other._replace(**between)


class Priors(NamedTuple):
    """Function that returns the priors for data, see `GaussianMixtureModel`.

    Parameters
    ----------
    settings : Settings
        Parameters of the estimator.
    dtype : {float32, float64}
        Dtype of the computations of kernels.
    """

    settings: Any
    dtype: Any

    def learned(self):
        """Return the names of the priors that are learned, because they are None.

        The prior of a tied covariance is not learned, because a single covariance does
        not show how covariances differ.
        """
        settings = self.settings
        if settings.priors == "scikit-learn":
            return []
        given = {part: getattr(settings, f"{part}_prior") for part in LEARNED}
        if settings.covariance_type == "tied":
            given = {"mean_precision": settings.mean_precision_prior}
        return [part for part, value in given.items() if value is None]

    def is_wishart(self):
        """Return whether the precisions have a Wishart distribution."""
        settings = self.settings
        return (
            settings.covariance_type in ("full", "tied") or settings.priors != "learned"
        )

    def _starts_free(self):
        """Return whether the covariance prior starts with few degrees of freedom."""
        settings = self.settings
        return settings.covariance_type != "tied" and settings.priors == "learned"

    def _concentration(self, n_samples):
        """Return the concentration of the weights."""
        settings = self.settings
        if settings.weight_concentration_prior is not None:
            return settings.weight_concentration_prior
        concentration = 1.0 / settings.n_components
        if settings.priors == "learned":
            concentration = min(concentration, math.exp(-COMPONENT_COST * n_samples))
        return max(concentration, LEAST_CONCENTRATION)

    def __call__(self, mean, covariance, n_samples):
        """Return the priors, with defaults or starting values for priors of None."""
        settings = self.settings
        n_features = len(mean)
        concentration = self._concentration(n_samples)
        precision = settings.mean_precision_prior
        freedom = settings.degrees_of_freedom_prior
        least = n_features - 1 if self.is_wishart() else 0
        if freedom is None:
            freedom = least + FREE_DEGREES if self._starts_free() else n_features
        if freedom <= least:
            raise ValueError(
                "The parameter 'degrees_of_freedom_prior' should be greater than "
                f"{least:g}, but got {freedom:.3f}."
            )
        check_prior(concentration, "weight_concentration_prior")
        check_prior(precision, "mean_precision_prior")
        check_prior(freedom, "degrees_of_freedom_prior")
        prior_mean = mean
        if settings.mean_prior is not None:
            prior_mean = check_array(
                settings.mean_prior, dtype=np.float64, ensure_2d=False
            )
            if prior_mean.shape != (n_features,):
                raise ValueError(
                    f"The parameter 'means' should have the shape of ({n_features},), "
                    f"but got {prior_mean.shape}"
                )
            check_values(prior_mean, self.dtype, "mean_prior")
        return Hyper(
            weight_concentration=float(concentration),
            mean_precision=1.0 if precision is None else float(precision),
            degrees_of_freedom=float(freedom),
            mean=prior_mean,
            covariance=self._covariance_prior(covariance, freedom),
            origin=mean,
        )

    def _covariance_prior(self, default, freedom):
        """Return the inverse scale of the prior, with the shape of ``default``."""
        settings = self.settings
        if settings.covariance_prior is None:
            prior = self._regular(default)
            check_variances(
                _variances(prior), self.dtype, "X has features with a variance"
            )
            return freedom * prior if self._starts_free() else prior
        prior = check_array(
            np.atleast_1d(settings.covariance_prior),
            dtype=np.float64,
            ensure_2d=False,
        ).reshape(np.shape(settings.covariance_prior))
        if prior.shape != np.shape(default):
            raise ValueError(
                f"The parameter '{settings.covariance_type} covariance_prior' should "
                f"have the shape of {np.shape(default)}, but got {prior.shape}"
            )
        if (_variances(prior) > 0).all():
            check_variances(
                _variances(prior), self.dtype, "covariance_prior has variances"
            )
        matrix = prior if prior.ndim == 2 else np.diag(np.atleast_1d(prior))
        symmetric = np.allclose(matrix, matrix.T)
        if not symmetric or not (np.linalg.eigvalsh(matrix) > 0).all():
            what = "symmetric, positive-definite" if prior.ndim == 2 else "positive"
            raise ValueError(
                f"'{settings.covariance_type} covariance_prior' should be {what}"
            )
        return prior

    def _regular(self, covariance):
        """Return a covariance, with `reg_covar` on its diagonal if it is singular."""
        settings = self.settings
        matrix = np.atleast_1d(covariance)
        if _is_regular(matrix if matrix.ndim == 2 else np.diag(matrix)):
            return covariance
        if settings.reg_covar == 0:
            raise ValueError(
                "The covariance of the data is singular and cannot be a prior. "
                "Increase reg_covar, set covariance_prior, or remove constant features."
            )
        return covariance + settings.reg_covar * (
            np.eye(len(matrix)) if matrix.ndim == 2 else 1.0
        )


def _variances(covariance):
    """Return the diagonal of a covariance of any type."""
    return np.diag(covariance) if np.ndim(covariance) == 2 else covariance


def _is_regular(covariance):
    """Return whether each feature varies, even given all earlier features."""
    variances = np.diag(covariance)
    try:
        left = np.diag(np.linalg.cholesky(covariance)) ** 2
    except np.linalg.LinAlgError:
        return False
    return bool((left > 1e-14 * len(variances) * variances).all())

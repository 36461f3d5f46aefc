"""Priors of the Gaussian mixture: set by the user, by default, or learned.

Kernels take steps of coordinate ascent and merges, in which they learn the priors.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array

from .._contract import IllDefined, Powers, all_finite
from .._families._dirichlet import LEAST_CONCENTRATION
from .._families._normal_wishart import COVARIANCES, ILL_DEFINED
from .._utils._evidence import COST_OF_ROW
from .._utils._validation import check_prior, check_values, check_variances
from . import _kernels

# -- priors that the user sets, and defaults -------------------------------------------
FREE_DEGREES, LEAST_FREE, MOST_FREE = _kernels.FREE_DEGREES_AND_RANGE


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
    reg_covar : ndarray of shape (n_features,)
        Variance of the noise that is added to the samples in the statistics.
    is_noisy : bool
        Whether local steps contain this noise, too.  They do if values are missing, and
        otherwise not, as in scikit-learn.
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
    reg_covar: Any = 0.0
    is_noisy: bool = False
    is_diagonal: bool = False


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
        """Return the names of the priors that are learned, because they are None."""
        settings = self.settings
        if settings.priors == "scikit-learn":
            return []
        return [x for x in LEARNED if getattr(settings, f"{x}_prior") is None]

    def is_wishart(self):
        """Return whether the precisions have a Wishart distribution."""
        settings = self.settings
        kind = COVARIANCES[settings.covariance_type]
        return kind.products or settings.priors != "learned"

    def _concentration(self, n_samples):
        """Return the concentration of the weights."""
        settings = self.settings
        if settings.weight_concentration_prior is not None:
            return settings.weight_concentration_prior
        concentration = 1.0 / settings.n_components
        if settings.priors == "learned":
            # else clusters that are not quite Gaussian would have more and more parts
            concentration = min(concentration, math.exp(-COST_OF_ROW * n_samples))
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
            is_learned = settings.priors == "learned"
            freedom = least + FREE_DEGREES if is_learned else n_features
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
            if settings.reg_covar == 0 and not is_regular(default):
                raise ValueError(
                    "The covariance of the data is singular and cannot be a prior. "
                    "Increase reg_covar, set covariance_prior, or remove constant "
                    "features."
                )
            prior = default
            check_variances(
                _variances(prior), self.dtype, "X has features with a variance"
            )
            return freedom * prior if settings.priors == "learned" else prior
        name = f"{settings.covariance_type} covariance_prior"
        prior = checked_form(settings.covariance_prior, np.shape(default), name)
        if (_variances(prior) > 0).all():
            check_variances(
                _variances(prior), self.dtype, "covariance_prior has variances"
            )
        check_definite(prior, prior.ndim == 2, name)
        return prior


def checked_form(given, shape, name):
    """Return covariances or precisions as a valid array of a shape."""
    found = check_array(
        np.atleast_1d(given), dtype=np.float64, ensure_2d=False, allow_nd=True
    ).reshape(np.shape(given))
    if found.shape != shape:
        raise ValueError(
            f"The parameter '{name}' should have the shape of {shape}, but got "
            f"{found.shape}"
        )
    return found


def check_definite(found, are_matrices, name):
    """Raise unless covariances or precisions are symmetric and positive-definite."""
    values = np.linalg.eigvalsh(found) if are_matrices else found
    symmetric = not are_matrices or np.allclose(found, np.swapaxes(found, -1, -2))
    if not (symmetric and (values > 0).all()):
        what = "symmetric, positive-definite" if are_matrices else "positive"
        raise ValueError(f"'{name}' should be {what}")


def _variances(covariance):
    """Return the diagonal of a covariance of any type."""
    return np.diag(covariance) if np.ndim(covariance) == 2 else covariance


def is_regular(covariance):
    """Return whether each feature varies, even given all earlier features."""
    variances = _variances(covariance)
    if np.ndim(covariance) < 2:
        return bool(np.all(variances > 0))
    try:
        left = np.diag(np.linalg.cholesky(covariance)) ** 2
    except np.linalg.LinAlgError:
        return False
    return bool((left > 1e-14 * len(variances) * variances).all())


# -- empirical Bayes: priors that are learned from the components ----------------------
# The priors maximise the lower bound for given posteriors of the components.  See
# Bishop, Pattern Recognition and Machine Learning (2006), section 3.5, on empirical
# Bayes, and Minka, Estimating a Gamma distribution (2002), on degrees of freedom.  If
# the prior is equivalent to more samples than a component has, a round of learning
# moves the priors toward the optimum only by a small and known share of the distance.
# Therefore a search for priors of higher evidence follows.  Kernels learn the priors.

#: Priors that can be learned, in the order of their bits in kernels, see ``_ascent.h``.
LEARNED = "mean_precision", "degrees_of_freedom", "covariance"


def kernel_priors(model, hyper):
    """Return the options and priors of a mixture for kernels, which change the priors.

    These are numbers of the covariance type, of its law and of options, see
    `ascent_block`; the concentration of the weights; the prior mean about the origin;
    the mean precision, the degrees of freedom and the covariance; and the degrees of
    freedom of scales or None.
    """
    family = model.family
    sticks = len(model.shapes()[0]) == 2
    learns_scales = family.has_scales and model.degrees_of_freedom is None
    is_learned = [*(name in model.learned for name in LEARNED), learns_scales]
    learned = sum(value << bit for bit, value in enumerate(is_learned))
    return (
        (*family.covariance.kinds, sticks, learned, hyper.is_diagonal, hyper.is_noisy),
        hyper.weight_concentration,
        hyper.mean - hyper.origin,
        np.concatenate(
            [
                [hyper.mean_precision, hyper.degrees_of_freedom],
                np.ravel(hyper.covariance),
            ]
        ),
        model.freedom_of(hyper).copy() if family.has_scales else None,
    )


def with_learned(hyper, priors):
    """Return priors with the learned parts of `kernel_priors`."""
    *_, learned, _ = priors
    covariance = learned[2:].reshape(np.shape(hyper.covariance))
    return hyper._replace(
        mean_precision=float(learned[0]),
        degrees_of_freedom=float(learned[1]),
        covariance=covariance.copy() if covariance.ndim else covariance[()],
    )


def learned_priors(model, hyper, statistics, scale=1.0, rate=1.0):
    """Return the priors that components learn from their statistics in a step.

    Priors stay the same if fewer than two components have rows, because a single
    component does not show how components differ.  Components are left out if negative
    factors of the rows make them ill-defined.

    Parameters
    ----------
    model : GaussianMixtureModel
    hyper : Hyper
    statistics : Mixture
    scale : float
        Factor of the statistics.
    rate : float
        Priors are between ``hyper`` (rate 0) and what components learn (rate 1).
    """
    priors = kernel_priors(model, hyper)
    counts = np.ascontiguousarray(model.weights.counts(statistics.weights))
    is_learned = _kernels.learn_priors(
        np.array(statistics.components, dtype=np.float64).ravel(),
        counts,
        scale,
        rate == 1.0,
        priors,
    )
    if not is_learned:
        target = model.target(statistics, scale, Powers(), hyper)
        is_inside = model.is_valid(target)
        if np.ndim(is_inside) == 0 or is_inside.all() or not all_finite(statistics):
            return hyper
        inside = type(target)(statistics.weights, statistics.components)
        return learned_priors(model, hyper, inside.scaled(is_inside), scale, rate)
    learned = with_learned(hyper, priors)
    if rate == 1:
        return learned
    between = {
        name: (1 - rate) * getattr(hyper, name) + rate * getattr(learned, name)
        for name in LEARNED
    }
    return learned._replace(**between)


def restarted(hyper, covariance, law, learned):
    """Return the starting values of learned priors; given priors do not change.

    Parameters
    ----------
    hyper : Hyper
    covariance : ndarray
        Covariance of the samples, in the form of the covariance type.
    law : WishartPrecision
    learned : frozenset
    """
    if "mean_precision" in learned:
        hyper = hyper._replace(mean_precision=1.0)
    freedom = hyper.degrees_of_freedom
    if "degrees_of_freedom" in learned:
        freedom = law.least + FREE_DEGREES
    if "covariance" in learned:
        kept = np.diag(np.diag(covariance)) if hyper.is_diagonal else covariance
        hyper = hyper._replace(covariance=freedom * kept)
    return hyper._replace(degrees_of_freedom=freedom)


# -- agglomeration by evidence: clusters are merged, two at a time, see ``_merges.h`` --
#: Least advantage, in nats per row, of a mixture that is less simple than another.
#: Densities that differ by less are the same for most purposes.
MARGIN = 0.05


def agglomerated(model, hyper, statistics, least=1):
    """Return the partition with the highest evidence among those of greedy merges.

    Parameters
    ----------
    model : GaussianMixtureModel
        Model without a tied covariance, whose number of components is at least the
        number of clusters of the partition.
    hyper : Hyper
    statistics : ndarray of shape (n_clusters, n_natural)
        Sums over the rows of each cluster; the first is the number of rows.
    least : int, default=1
        Number of clusters at which merges end.

    Returns
    -------
    hyper : Hyper
        Priors that are learned from the best partition.
    statistics : ndarray of shape (n_best, n_natural)
    evidence : float
        Log evidence of the best partition, without a constant of the model.
    """
    statistics = np.ascontiguousarray(statistics).copy()
    priors, n_weights = kernel_priors(model, hyper), model.n_components
    n_best, evidence = _kernels.agglomerate(statistics, priors, n_weights, least)
    if n_best == 0:
        raise IllDefined(ILL_DEFINED)
    return with_learned(hyper, priors), statistics[:n_best], evidence

"""Priors of the Gaussian mixture: set by the user, by default, or learned."""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from sklearn.utils import check_array

from .._families import LEAST_CONCENTRATION
from .._utils._validation import check_prior, check_values, check_variances
from ..model import IllDefined
from . import _kernels

# -- priors that the user sets, and defaults -------------------------------------------
#: Smallest increase of the log-likelihood by another component, in nats per sample.  It
#: determines the default concentration of the weights if ``priors`` is "learned".
#: Without it, clusters that are not quite Gaussian would be divided into more and more
#: parts as samples are added.
COMPONENT_COST = 0.01
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
        """Return the names of the priors that are learned, because they are None."""
        settings = self.settings
        if settings.priors == "scikit-learn":
            return []
        return [x for x in LEARNED if getattr(settings, f"{x}_prior") is None]

    def is_wishart(self):
        """Return whether the precisions have a Wishart distribution."""
        settings = self.settings
        return (
            settings.covariance_type in ("full", "tied") or settings.priors != "learned"
        )

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
        prior = check_array(
            np.atleast_1d(settings.covariance_prior), dtype=np.float64, ensure_2d=False
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
# Bayes, and Minka, Estimating a Gamma distribution (2002), on degrees of freedom.

#: Bits of the priors that can be learned in kernels, and of degrees of freedom of
#: scales.
LEARNED = {"mean_precision": 1, "degrees_of_freedom": 2, "covariance": 4}
LEARNS_SCALES = 8
#: The same of a common covariance, per sample of a component.  The evidence rises with
#: them; here it is D (D + 1) / 400 nats per component below its limit.
COMMON_FREE = 100.0
#: Changes by which a search raises the logarithm of the degrees of freedom minus their
#: lower limit, if this logarithm has risen, and the number of times that it repeats a
#: change that raises the evidence.
CHANGES, MOST_REPEATS = (math.log(4.0), math.log(1.25), math.log(0.8)), 3
#: There is no line search if the degrees of freedom change by less than this share in a
#: round of learning, and no search at all if the optimum is nearer than this share.
AT_REST, AT_OPTIMUM = 0.01, 0.001
#: Smallest increase of the evidence by a step of a search, in nats; it exceeds rounding
#: errors.
LEAST_RISE = 0.01
#: Tolerance of the logarithm of degrees of freedom.
FREE_TOL = 1e-10


def kernel_priors(model, hyper):
    """Return the options and priors of a mixture for kernels, which change the priors.

    These are numbers of the covariance type, of its law and of options, see
    `ascent_block`; the concentration of the weights; the prior mean about the origin;
    the mean precision with the degrees of freedom; the covariance; and the degrees of
    freedom of scales or None.
    """
    family = model.family
    sticks = len(model.shapes()[0]) == 2
    learned = sum(bit for name, bit in LEARNED.items() if name in model.learned)
    if family.has_scales and model.degrees_of_freedom is None:
        learned += LEARNS_SCALES
    return (
        (*family.covariance.kinds, sticks, learned, hyper.is_diagonal),
        hyper.weight_concentration,
        hyper.mean - hyper.origin,
        np.array([hyper.mean_precision, hyper.degrees_of_freedom]),
        np.array(hyper.covariance, dtype=np.float64).ravel(),
        model.freedom_of(hyper).copy() if family.has_scales else None,
    )


def with_learned(hyper, priors):
    """Return priors with the learned parts of `kernel_priors`."""
    *_, (precision, freedom), covariance, _ = priors
    shape = np.shape(hyper.covariance)
    return hyper._replace(
        mean_precision=float(precision),
        degrees_of_freedom=float(freedom),
        covariance=covariance.reshape(shape).copy() if shape else covariance[0],
    )


def learned_priors(family, hyper, usual, used, learned):
    """Return the priors that maximise the bound for posteriors of components.

    Parameters
    ----------
    family : GaussianFamily
        Family in the coordinates about the origin of ``hyper``.
    hyper : Hyper
    usual : Usual
        Posteriors of the components.
    used : ndarray of bool of shape (n_components,)
        Whether each component is not empty.
    learned : frozenset
        Elements of `LEARNED`.

    Returns
    -------
    hyper : Hyper
    """
    old = hyper
    if "mean_precision" in learned:
        hyper = hyper._replace(mean_precision=_precision(family, hyper, usual, used))
    if not learned & {"degrees_of_freedom", "covariance"}:
        return hyper
    kind, law = family.covariance, family.law
    is_learned = "covariance" in learned
    if kind.is_common and is_learned:
        return _common_prior(family, old, hyper, usual, learned)
    precisions = kind.widened(usual.freedom) * kind.scale(usual.inverse_scale)
    precision = hyper.allowed(kind.each(precisions)[used].mean(axis=0))
    covariance = kind.symmetric(kind.scale(precision[None]))[0]
    mean_log = law.expected_log(usual.freedom) + usual.log_determinants
    mean_log = kind.each(mean_log)[used]
    freedom = hyper.degrees_of_freedom
    if "degrees_of_freedom" in learned:
        scale = covariance if is_learned else hyper.covariance
        log_determinant = kind.factors(np.asarray(scale)[None])[1][0]
        freedom = _freedom(law, mean_log.mean() - log_determinant, is_learned)
    if is_learned:
        hyper = hyper._replace(covariance=freedom * covariance)
    return hyper._replace(degrees_of_freedom=freedom)


def _common_prior(family, old, hyper, usual, learned):
    """Return the prior of a common covariance with the highest evidence.

    The expectation of the precision is then the best estimate from the samples.
    """
    kind, freedom = family.covariance, hyper.degrees_of_freedom
    n_rows = usual.freedom - old.degrees_of_freedom
    if "degrees_of_freedom" in learned:
        freedom = family.law.least + COMMON_FREE * n_rows
    shift = _shift(family, old, hyper.mean_precision, usual)
    scatter = usual.inverse_scale - old.covariance + shift
    covariance = kind.symmetric(hyper.allowed(scatter * (freedom / n_rows)))
    kind.factors(covariance)  # raises if the samples do not determine it
    return hyper._replace(degrees_of_freedom=freedom, covariance=covariance)


def _shift(family, old, precision, usual):
    """Return the change of inverse scales by another precision of the means."""
    n_rows = usual.precision - old.mean_precision
    factors = (precision - old.mean_precision) * usual.precision / (precision + n_rows)
    return family.covariance.outer(factors, usual.means - (old.mean - old.origin))


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
        hyper = hyper._replace(covariance=freedom * hyper.allowed(covariance))
    return hyper._replace(degrees_of_freedom=freedom)


def _precision(family, hyper, usual, used):
    """Return the best precision of the means, kappa."""
    shifts = usual.means - (hyper.mean - hyper.origin)
    given = usual.factors, usual.inverse_scale, shifts
    _, squares = family.covariance.traces_and_squares(*given)
    spread = family.n_features / usual.precision + usual.freedom * squares
    return float(used.sum() * family.n_features / spread[used].sum())


def _freedom(law, mean_log, is_learned):
    """Return the best degrees of freedom.

    Parameters
    ----------
    law : WishartPrecision
    mean_log : float
        Mean of E log |Lambda S|, where S is the inverse scale of the prior.  If the
        covariance prior is learned, S is its optimum divided by the degrees of freedom.
    is_learned : bool
        Whether the covariance prior is learned.
    """

    def slope(log_free):
        freedom = law.least + math.exp(log_free)
        scale = law.n_features * math.log(freedom) if is_learned else 0.0
        return float(mean_log + scale - law.expected_log(freedom))

    low, high = math.log(LEAST_FREE), math.log(MOST_FREE)
    if not slope(low) > 0:
        return law.least + LEAST_FREE
    if not slope(high) < 0:
        return law.least + MOST_FREE
    return law.least + math.exp(brentq(slope, low, high, xtol=FREE_TOL))


def evidence_of_priors(family, hyper, usual, used, precision):
    """Return a function that computes the evidence of components, given their priors.

    The function needs no natural parameters, and is several times as fast as
    `Family.evidence`, from which it differs by a constant.

    Parameters
    ----------
    family : GaussianFamily
        Family in the coordinates about the origin of ``hyper``.
    hyper : Hyper
    usual : Usual
        Posteriors of the components under ``hyper``.
    used : ndarray of bool of shape (n_components,)
        Whether each component is not empty.
    precision : float
        ``mean_precision`` of all priors with which the function is called.

    Returns
    -------
    evidence : callable
        ``evidence(hyper)`` returns a float, -inf if the priors are invalid.
    """
    kind, law = family.covariance, family.law
    n_rows = usual.precision[used] - hyper.mean_precision
    shift = _shift(family, hyper, precision, usual)
    scatter = (usual.inverse_scale - hyper.covariance + shift)[used]

    # the first element is for the prior
    if family.has_scales:  # the precision of a mean counts scales
        n_rows = usual.freedom[used] - hyper.degrees_of_freedom
    n_rows = np.append(0.0, n_rows)
    scatter = np.concatenate([np.zeros_like(scatter[:1]), scatter])

    def evidence(hyper):
        freedom = n_rows + hyper.degrees_of_freedom
        try:
            log_determinants = kind.factors(scatter + hyper.covariance)[1]
        except IllDefined:
            return -math.inf
        logs = 0.5 * freedom * log_determinants + law.log_gammas(freedom)
        return float((logs[1:] - logs[0]).sum())

    return evidence


def searched(learned, old, new, least, n_rows, evidence):
    """Return priors with a higher evidence than the priors after a round of learning.

    If the prior is equivalent to more samples than a component has, a round moves the
    priors toward the optimum only by a small and known share of the distance.
    Therefore the changes are divided by this share.  A line search follows if
    the degrees of freedom change fast.

    Parameters
    ----------
    learned : frozenset
    old, new : Hyper
        Priors before and after a round.
    least : float
        Lower limit of the degrees of freedom.
    n_rows : float
        Mean number of rows of a component.
    evidence : callable
        ``evidence(hyper)`` returns the log evidence of the components.

    Returns
    -------
    hyper : Hyper
    """
    before = old.covariance / old.degrees_of_freedom
    after = new.covariance / new.degrees_of_freedom
    share = n_rows / (n_rows + new.degrees_of_freedom)
    change = (after - before) / share
    moves = _moves(change, after)
    rise = 0.0
    if "degrees_of_freedom" in learned:
        free = [hyper.degrees_of_freedom - least for hyper in (old, new)]
        rise = math.log(free[1] / free[0])
    is_freed = abs(rise) > AT_OPTIMUM * share
    if not (moves or is_freed):
        return new
    best, most = new, evidence(new)
    if moves:
        trial = new._replace(covariance=new.degrees_of_freedom * (before + change))
        best, most = _better(evidence, best, most, trial)
    if is_freed:
        for change in _changes(rise, share):
            for _ in range(MOST_REPEATS):
                known, factor = best, math.exp(change)
                best, most = _better(evidence, best, most, _freer(best, factor, least))
                if best is known:
                    break
    return best


def _moves(change, covariance):
    """Return whether a covariance changes by more than `AT_OPTIMUM` in any units."""
    units = np.sqrt(_variances(covariance))
    units = np.outer(units, units) if change.ndim == 2 else units**2
    return (np.abs(change) > AT_OPTIMUM * units).any()


def _changes(rise, share):
    """Return changes of the logarithm of the degrees of freedom that a search tries.

    Parameters
    ----------
    rise : float
        Change in a round of learning.
    share : float
        The share of the distance to the optimum that a slow round moves.
    """
    if abs(rise) > AT_REST:
        return [math.copysign(change, rise * change) for change in CHANGES]
    return [rise / share - rise]


def _freer(hyper, factor, least):
    """Return priors with other degrees of freedom and the same covariance."""
    free = (hyper.degrees_of_freedom - least) * factor
    freedom = least + min(max(free, LEAST_FREE), MOST_FREE)
    covariance = hyper.covariance * (freedom / hyper.degrees_of_freedom)
    return hyper._replace(degrees_of_freedom=freedom, covariance=covariance)


def _better(evidence, best, most, trial):
    """Return the priors with the higher evidence, and the evidence."""
    value = evidence(trial)
    return (trial, value) if value > most + LEAST_RISE else (best, most)

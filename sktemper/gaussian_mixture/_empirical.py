"""Empirical Bayes: the priors of Gaussian components, learned from the components.

The priors maximise the lower bound for given posteriors of the components.  See Bishop,
Pattern Recognition and Machine Learning (2006), section 3.5, on empirical Bayes, and
Minka, Estimating a Gamma distribution (2002), on degrees of freedom.
"""

import math

import numpy as np
from scipy.optimize import brentq

from ..model import IllDefined

#: Names of the parts of the priors that can be learned.
LEARNED = ("mean_precision", "degrees_of_freedom", "covariance")
#: Initial degrees of freedom minus their lower limit.
FREE_DEGREES = 3.0
#: Range of the degrees of freedom minus their lower limit.  At the upper end, all
#: covariances are equal.
LEAST_FREE, MOST_FREE = 0.5, 2e4
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
    if "mean_precision" in learned:
        hyper = hyper._replace(mean_precision=_precision(family, hyper, usual, used))
    if not learned & {"degrees_of_freedom", "covariance"}:
        return hyper
    kind, law = family.covariance, family.law
    precisions = kind.widened(usual.freedom) * kind.scale(usual.inverse_scale)
    precision = hyper.allowed(precisions[used].mean(axis=0))
    covariance = kind.symmetric(kind.scale(precision[None]))[0]
    mean_log = law.expected_log(usual.freedom[used]) + usual.log_determinants[used]
    freedom = hyper.degrees_of_freedom
    if "degrees_of_freedom" in learned:
        is_learned = "covariance" in learned
        scale = covariance if is_learned else hyper.covariance
        log_determinant = kind.factors(np.asarray(scale)[None])[1][0]
        freedom = _freedom(law, mean_log.mean() - log_determinant, is_learned)
    if "covariance" in learned:
        hyper = hyper._replace(covariance=freedom * covariance)
    return hyper._replace(degrees_of_freedom=freedom)


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
    kappa, old = usual.precision[used], hyper.mean_precision
    n_rows = kappa - old
    shifts = usual.means[used] - (hyper.mean - hyper.origin)
    shrinkage = precision * n_rows / (precision + n_rows) - old * n_rows / kappa
    scatter = usual.inverse_scale[used] - hyper.covariance
    scatter = scatter + kind.outer(shrinkage * (kappa / n_rows) ** 2, shifts)

    # the first element is for the prior
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
    moves = "covariance" in learned and np.abs(change).max() > AT_OPTIMUM * after.max()
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
    if is_freed and "covariance" in learned:
        for change in _changes(rise, share):
            for _ in range(MOST_REPEATS):
                known, factor = best, math.exp(change)
                best, most = _better(evidence, best, most, _freer(best, factor, least))
                if best is known:
                    break
    return best


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

"""Empirical Bayes: the priors of Gaussian components, learned from the components.

For given posteriors of the components, the parameters of the priors that maximise the
lower bound; see Bishop, Pattern Recognition and Machine Learning (2006), section 3.5,
for the idea, and Minka, Estimating a Gamma distribution (2002), for degrees of freedom.
"""

import math

import numpy as np
from scipy.optimize import brentq

from ..model import IllDefined

__all__ = [
    "FREE_DEGREES",
    "LEARNED",
    "evidence_of_priors",
    "learned_priors",
    "restarted",
    "searched",
]

#: The parts of the priors that can be learned.
LEARNED = ("mean_precision", "degrees_of_freedom", "covariance")
#: Degrees of freedom above the least with which learning starts.
FREE_DEGREES = 3.0
#: Range of the degrees of freedom above their least: at the end all covariances are the
#: same.
LEAST_FREE, MOST_FREE = 0.5, 2e4
#: Factors by which a search changes the degrees of freedom above their least, and how
#: often it repeats one that raises the evidence.
FACTORS, MOST_REPEATS = (4.0, 0.25, 1.25, 0.8), 3
#: Relative change in a round of priors that a search would not change.
AT_REST = 0.01
#: Nats by which a step of a search has to raise the evidence: rounding errors are less.
LEAST_RISE = 0.01
#: Tolerance of the logarithm of degrees of freedom.
FREE_TOL = 1e-10


def learned_priors(family, hyper, usual, used, learned):
    """Return the priors that maximise the bound for posteriors of components.

    Parameters
    ----------
    family : GaussianFamily
        In the coordinates about the origin of ``hyper``.
    hyper : Hyper
    usual : Usual
        The posteriors.
    used : ndarray of bool of shape (n_components,)
        The components that are not empty.
    learned : frozenset
        Those of `LEARNED` that are.

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
    covariance = kind.symmetric(kind.scale(precisions[used].mean(axis=0)[None]))[0]
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
    """Return priors with which learning starts again; those that are given stay.

    Parameters
    ----------
    hyper : Hyper
    covariance : ndarray
        That the samples have, in the form of the covariance type.
    law : WishartPrecision
    learned : frozenset
    """
    if "mean_precision" in learned:
        hyper = hyper._replace(mean_precision=1.0)
    freedom = hyper.degrees_of_freedom
    if "degrees_of_freedom" in learned:
        freedom = law.least + FREE_DEGREES
    if "covariance" in learned:
        hyper = hyper._replace(covariance=freedom * covariance)
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
        Mean of E log |Lambda S|, S the inverse scale of the prior; if the latter is
        learned, S is its best one divided by the degrees of freedom.
    is_learned : bool
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
    """Return a function of priors: the evidence of components for all but their means.

    The function needs no natural parameters, and is several times as fast as
    `Family.evidence`.  The two differ by a constant.

    Parameters
    ----------
    family : GaussianFamily
        In the coordinates about the origin of ``hyper``.
    hyper : Hyper
    usual : Usual
        The posteriors of the components under ``hyper``.
    used : ndarray of bool of shape (n_components,)
        The components that are not empty.
    precision : float
        ``mean_precision`` of all priors that the function is called with.

    Returns
    -------
    evidence : callable
        ``evidence(hyper)`` returns a float.
    """
    kind, law = family.covariance, family.law
    kappa, old = usual.precision[used], hyper.mean_precision
    n_rows = kappa - old
    shifts = usual.means[used] - (hyper.mean - hyper.origin)
    shrinkage = precision * n_rows / (precision + n_rows) - old * n_rows / kappa
    scatter = usual.inverse_scale[used] - hyper.covariance
    scatter = scatter + kind.outer(shrinkage * (kappa / n_rows) ** 2, shifts)

    def normalisers(freedom, inverse_scales):
        log_determinants = kind.factors(inverse_scales)[1]
        return 0.5 * freedom * log_determinants + law.log_gammas(freedom)

    def evidence(hyper):
        freedom = np.array([hyper.degrees_of_freedom])
        prior = normalisers(freedom, np.asarray(hyper.covariance)[None])
        posteriors = normalisers(freedom + n_rows, scatter + hyper.covariance)
        return float((posteriors - prior).sum())

    return evidence


def searched(learned, old, new, least, n_rows, evidence):
    """Return priors of a higher evidence than those of one round of learning.

    Where the prior counts for more samples than a component has, rounds change its
    covariance by a small share of what it lacks, which is known: the round's change is
    multiplied by its inverse.  The degrees of freedom are searched along a line.

    Parameters
    ----------
    learned : frozenset
    old, new : Hyper
        Before and after a round.
    least : float
        The degrees of freedom are larger.
    n_rows : float
        The mean number of rows of a component.
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
    moves = "covariance" in learned and np.abs(change).max() > AT_REST * after.max()
    free = np.array([old.degrees_of_freedom, new.degrees_of_freedom]) - least
    is_freed = "degrees_of_freedom" in learned and np.ptp(np.log(free)) > AT_REST
    if not (moves or is_freed):
        return new
    best, most = new, _value(evidence, new)
    if moves:
        trial = new._replace(covariance=new.degrees_of_freedom * (before + change))
        best, most = _better(evidence, best, most, trial)
    if is_freed and "covariance" in learned:
        for factor in FACTORS:
            for _ in range(MOST_REPEATS):
                known = best
                best, most = _better(evidence, best, most, _freer(best, factor, least))
                if best is known:
                    break
    return best


def _freer(hyper, factor, least):
    """Return priors with more or fewer degrees of freedom, of the same covariance."""
    free = (hyper.degrees_of_freedom - least) * factor
    freedom = least + min(max(free, LEAST_FREE), MOST_FREE)
    covariance = hyper.covariance * (freedom / hyper.degrees_of_freedom)
    return hyper._replace(degrees_of_freedom=freedom, covariance=covariance)


def _better(evidence, best, most, trial):
    """Return the priors of the higher evidence, and this."""
    value = _value(evidence, trial)
    return (trial, value) if value > most + LEAST_RISE else (best, most)


def _value(evidence, hyper):
    """Return the evidence under priors; -inf if they are none."""
    try:
        return evidence(hyper)
    except IllDefined:
        return -math.inf

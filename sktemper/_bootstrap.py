"""Bootstrap of mixed mixtures: profiles of classes, and the number of classes."""

import logging
import warnings

import numpy as np
from joblib import effective_n_jobs
from scipy.optimize import linear_sum_assignment
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    _check_sample_weight,
    _num_samples,
    check_is_fitted,
)

from ._arguments import is_number, positive_int, refuse
from ._tasks import Pool, Task

__all__ = ["bootstrap_n_components", "bootstrap_profiles"]

logger = logging.getLogger("sktemper")


def bootstrap_profiles(
    estimator,
    X,
    *,
    n_replicates=100,
    interval=0.95,
    sample_weight=None,
    n_jobs=None,
    random_state=None,
    verbose=0,
):
    """Return profiles of classes with bootstrap intervals.

    The mixture is fitted again to random halves of the samples.  The classes of each
    fit are matched to the classes of the estimator so that matched classes share as
    many samples as possible.

    Parameters
    ----------
    estimator : object
        A fitted mixture of mixed kinds, such as `sktemper.AnnealedMixedMixture`.
    X : DataFrame or array-like of shape (n_samples, n_features)
        The data of its fit.
    n_replicates : int, default=100
        Number of fits.  With 1,000 fits, the ends of 95 % intervals are stable.
    interval : float, default=0.95
        Probability of the intervals, between 0 and 1.
    sample_weight : array-like of shape (n_samples,), default=None
        The weights of the fit.  A sample is drawn with all of its weight.
    n_jobs : int, default=None
        Number of threads; None is 1 unless in a `joblib.parallel_config`.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.
    verbose : int, default=0
        Whether to log a line for each fit to the logger "sktemper".

    Returns
    -------
    profiles : DataFrame
        The table of the method ``profiles``, as a pandas data frame, in which "low" and
        "high" are quantiles over the fits.  The additional column "found" contains the
        share of the fits that have a matching class.

    Raises
    ------
    ValueError
        If ``interval`` is not between 0 and 1, or ``estimator`` is no such mixture.

    See Also
    --------
    sktemper.AnnealedMixedMixture.profiles : Narrower intervals from the posterior.

    Notes
    -----
    For a mean over n samples, a random half has the variance, given the samples, that
    draws with replacement have [1]_.  Draws with replacement repeat samples, and a
    mixture finds additional classes for the repeated ones.

    References
    ----------
    .. [1] J. Praestgaard, J. Wellner, "Exchangeably weighted bootstraps of the general
       empirical process", Annals of Probability, 1993.
    """
    _check_mixture(estimator)
    if not (is_number(interval) and 0 < interval < 1):
        refuse("interval", "a float between 0 and 1", interval)
    table = estimator.profiles()
    shares = estimator.predict_proba(X)
    draws = _draws(X, n_replicates, sample_weight, random_state)
    means = np.stack(
        _each(
            lambda draw: _profile_means(estimator, X, *draw, table, shares),
            draws,
            n_jobs,
            verbose,
        )
    )
    tails = 0.5 * (1.0 - interval), 0.5 * (1.0 + interval)
    with warnings.catch_warnings():  # numpy warns if no fit has a class
        warnings.simplefilter("ignore", RuntimeWarning)
        table["low"], table["high"] = np.nanquantile(means, tails, axis=0)
    table["found"] = np.isfinite(means).mean(axis=0)
    return table


def bootstrap_n_components(
    estimator,
    X,
    *,
    n_replicates=100,
    sample_weight=None,
    n_jobs=None,
    random_state=None,
    verbose=0,
):
    """Return how often fits to random halves of the data have each number of classes.

    A class that is too small for half of the samples is not found.

    Parameters
    ----------
    estimator : object
        A fitted mixture of mixed kinds, such as `sktemper.AnnealedMixedMixture`.
    X : DataFrame or array-like of shape (n_samples, n_features)
        The data of its fit.
    n_replicates : int, default=100
        Number of fits.
    sample_weight : array-like of shape (n_samples,), default=None
        The weights of the fit.  A sample is drawn with all of its weight.
    n_jobs : int, default=None
        Number of threads; None is 1 unless in a `joblib.parallel_config`.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.
    verbose : int, default=0
        Whether to log a line for each fit to the logger "sktemper".

    Returns
    -------
    shares : dict of int to float
        Maps a number of non-empty components to the share of the fits with this number.
        The numbers are in increasing order.

    Raises
    ------
    ValueError
        If ``estimator`` is no such mixture.
    """
    _check_mixture(estimator)
    draws = _draws(X, n_replicates, sample_weight, random_state)
    numbers = _each(
        lambda draw: estimator._refitted(X, *draw).n_active_components_,
        draws,
        n_jobs,
        verbose,
    )
    found, counts = np.unique(numbers, return_counts=True)
    return dict(zip(found.tolist(), (counts / len(numbers)).tolist(), strict=True))


def _check_mixture(estimator):
    """Raise unless an estimator is a fitted mixture of mixed kinds."""
    if not hasattr(estimator, "profiles"):
        expected = "a mixture of mixed kinds, such as AnnealedMixedMixture"
        refuse("estimator", expected, estimator)
    check_is_fitted(estimator)


def _draws(X, n_replicates, sample_weight, random_state):
    """Return pairs of weights and a seed, one pair for each fit.

    The weights are 0 for a random half of the samples.
    """
    n_replicates = positive_int(n_replicates, "n_replicates")
    n_samples, random = _num_samples(X), check_random_state(random_state)
    weight = _check_sample_weight(sample_weight, np.empty((n_samples, 1)))
    is_drawn = np.arange(n_samples) < (n_samples + 1) // 2
    return [
        (weight * random.permutation(is_drawn), int(random.randint(2**31 - 1)))
        for _ in range(n_replicates)
    ]


def _each(function, draws, n_jobs, verbose):
    """Return the results of a function for each draw, in the order of the draws.

    Warnings of fits that did not converge are ignored.
    """
    results, pool = [], Pool(effective_n_jobs(n_jobs))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            tasks = [Task(lambda draw=draw: function(draw)) for draw in draws]
            for task in tasks:
                pool.submit(task)
            for number, task in enumerate(tasks):
                results.append(task.result())
                if verbose:
                    logger.info("Fit %d of %d", number + 1, len(tasks))
    finally:
        for task in tasks:
            task.cancel()
        pool.shutdown()
    return results


def _profile_means(estimator, X, weight, seed, table, shares):
    """Return the means of one fit in the order of a table; NaN for missing classes."""
    fitted = estimator._refitted(X, weight, seed)
    own, others = np.unique(table["class"]), fitted.profiles()
    numbers = np.unique(others["class"])
    overlap = shares[:, own].T @ fitted.predict_proba(X)[:, numbers]
    rows, columns = linear_sum_assignment(-overlap)
    match = dict(zip(numbers[columns].tolist(), own[rows].tolist(), strict=True))
    keys = zip(others["class"], others["item"], others["option"], strict=True)
    means = {
        (match[k], item, option): mean
        for (k, item, option), mean in zip(keys, others["mean"], strict=True)
        if k in match
    }
    wanted = zip(table["class"], table["item"], table["option"], strict=True)
    return np.array([means.get(key, np.nan) for key in wanted])

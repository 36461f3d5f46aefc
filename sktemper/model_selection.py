"""Splits of users' items, and the bootstrap, evidence and temperatures of mixtures."""

import warnings
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from scipy.optimize import brentq, linear_sum_assignment
from scipy.special import expit, logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, _num_samples, check_is_fitted

from ._ranking._entries import as_entries, is_odd, kept, places_in_rows
from ._ranking._labels import labelled, labels_of
from ._utils._arguments import check_interval, positive_int, refuse
from ._utils._constraints import SHARE, StrOptions, WholeNumber, check_arguments
from ._utils._docstrings import completed_by
from ._utils._evidence import MOST_EVIDENCE
from ._utils._frames import check_same_rows
from ._utils._notices import logger
from ._utils._results import copy_fit
from ._utils._separation import dip_of_chance, largest_dip
from ._utils._tasks import submitted
from ._utils._typing import (
    ArrayLike,
    DataFrame,
    DataLike,
    Float,
    Int,
    Seed,
    SparseMatrix,
)

__all__ = [
    "TemperaturePath",
    "bootstrap_lrt",
    "bootstrap_n_components",
    "bootstrap_profiles",
    "log_evidence",
    "temperature_path",
    "train_test_split_entries",
]

# -- bootstrap of mixtures: profiles of classes, and the number of classes -------
#: Number of starts of the fit that defines the null hypothesis.
STARTS_OF_NULL = 20
#: Largest seed of `RandomState`.
MOST_SEED = np.iinfo(np.int32).max


def bootstrap_profiles(
    estimator: Any,
    X: DataLike,
    *,
    n_replicates: Int = 100,
    interval: Float = 0.95,
    sample_weight: ArrayLike | None = None,
    n_jobs: Int | None = None,
    random_state: Seed = None,
    verbose: Int = 0,
) -> DataFrame:
    """Return profiles of classes with bootstrap intervals.

    The mixture is fitted again to random halves of the samples.  The classes of each
    fit are matched to the classes of the estimator so that matched classes share as
    many samples as possible.

    Parameters
    ----------
    estimator : object
        A fitted mixture, such as `sktemper.AnnealedMixedMixture`.
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

    Examples
    --------
    >>> import numpy as np
    >>> from sktemper import AnnealedMixedMixture
    >>> from sktemper.model_selection import bootstrap_profiles
    >>> random = np.random.default_rng(0)
    >>> yes = np.array([[0.9] * 5 + [0.1] * 5, [0.1] * 10])
    >>> X = random.random((300, 10)) < yes[random.integers(2, size=300)]
    >>> X = X.astype(float)
    >>> classes = AnnealedMixedMixture(4, random_state=0).fit(X)
    >>> profiles = bootstrap_profiles(classes, X, n_replicates=5, random_state=0)
    >>> sorted(set(profiles["found"]))  # both classes, in all fits
    [1.0]
    """
    _check_mixture(estimator)
    check_interval(interval)
    table = estimator.profiles()
    shares = estimator.predict_proba(X)
    draws = _draws(X, n_replicates, sample_weight, random_state)

    def means_of(draw):
        return _profile_means(estimator, X, *draw, table, shares)

    means = np.stack(_each(means_of, draws, n_jobs, verbose))
    tails = 0.5 * (1.0 - interval), 0.5 * (1.0 + interval)
    with warnings.catch_warnings():  # numpy warns if no fit has a class
        warnings.simplefilter("ignore", RuntimeWarning)
        table["low"], table["high"] = np.nanquantile(means, tails, axis=0)
    table["found"] = np.isfinite(means).mean(axis=0)
    return table


@completed_by(bootstrap_profiles)
def bootstrap_n_components(
    estimator: Any,
    X: DataLike,
    *,
    n_replicates: Int = 100,
    sample_weight: ArrayLike | None = None,
    n_jobs: Int | None = None,
    random_state: Seed = None,
    verbose: Int = 0,
) -> dict[str, Any]:
    """Return how often fits to random halves of the data have each number of classes.

    A class that is too small for half of the samples is not found.

    Parameters
    ----------
    n_replicates : int, default=100
        Number of fits.

    Returns
    -------
    shares : dict of int to float
        Maps a number of non-empty components to the share of the fits with this number.
        The numbers are in increasing order.

    Examples
    --------
    >>> import numpy as np
    >>> from sktemper import AnnealedMixedMixture
    >>> from sktemper.model_selection import bootstrap_n_components
    >>> random = np.random.default_rng(0)
    >>> yes = np.array([[0.9] * 5 + [0.1] * 5, [0.1] * 10])
    >>> X = random.random((300, 10)) < yes[random.integers(2, size=300)]
    >>> X = X.astype(float)
    >>> classes = AnnealedMixedMixture(4, random_state=0).fit(X)
    >>> bootstrap_n_components(classes, X, n_replicates=5, random_state=0)
    {2: 1.0}
    """
    _check_mixture(estimator)
    draws = _draws(X, n_replicates, sample_weight, random_state)

    def number_of(draw):
        return estimator._refitted(X, *draw).n_active_components_

    numbers = _each(number_of, draws, n_jobs, verbose)
    found, counts = np.unique(numbers, return_counts=True)
    return dict(zip(found.tolist(), (counts / len(numbers)).tolist(), strict=True))


@dataclass(frozen=True)
class LikelihoodRatioTest:
    """Result of `bootstrap_lrt`.

    Attributes
    ----------
    n_components : int
        Number of components of the null hypothesis.
    statistic : float
        Twice the gain of the log-likelihood by one more component.
    p_value : float
        Probability of such a gain under the null hypothesis.
    statistics : ndarray of shape (n_replicates,)
        Statistics of data drawn under the null hypothesis.
    """

    n_components: int
    statistic: float
    p_value: float
    statistics: np.ndarray = field(repr=False)


@completed_by(bootstrap_profiles)
def bootstrap_lrt(
    estimator: Any,
    X: DataLike,
    *,
    n_components: Int | None = None,
    n_replicates: Int = 500,
    n_exceedances: Int | None = 25,
    n_init: Int = 10,
    n_jobs: Int | None = None,
    random_state: Seed = None,
    verbose: Int = 0,
) -> LikelihoodRatioTest:
    r"""Test K components against K + 1, by a parametric bootstrap.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The data of its fit.
    n_components : int, default=None
        K, the number of components of the null hypothesis.  None is the number of
        non-empty components of the estimator.
    n_replicates : int, default=500
        Largest number of data sets that are drawn under the null hypothesis.
    n_exceedances : int, default=25
        The test ends if this number of data sets have at least the statistic of the
        data [2]_.  With 25 of 500, it ends once the p-value is at least .05.  None
        draws all data sets.
    n_init : int, default=10
        Number of random starts of each fit of K + 1 components, more for power.
    verbose : int, default=0
        Whether to log a line for each data set to the logger "sktemper".

    Returns
    -------
    test : LikelihoodRatioTest
        The statistic, its p-value, and the statistics under the null hypothesis.

    See Also
    --------
    bootstrap_n_components : How often fits find each number of components.
    log_evidence : Marginal likelihood of a number of components.

    Notes
    -----
    The statistic [1]_ is :math:`2 (\ell_{K+1} - \ell_K)`, where :math:`\ell` is the
    largest log-likelihood that expectation maximisation finds.  Fits of K components to
    drawn data start from the parameters under which they were drawn.  Data and drawn
    data have the same missing values and the same number of starts.  With m exceedances
    in B draws, the p-value is (m + 1) / (B + 1), or m / B if the test ended early [2]_.

    References
    ----------
    .. [1] G. McLachlan, "On bootstrapping the likelihood ratio test statistic for the
       number of components in a normal mixture", Applied Statistics, 1987.
    .. [2] J. Besag, P. Clifford, "Sequential Monte Carlo p-values", Biometrika, 1991.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sktemper import AnnealedGaussianMixture
    >>> from sktemper.model_selection import bootstrap_lrt
    >>> X, _ = make_blobs(200, centers=[[0, 0], [6, 0]], random_state=0)
    >>> mixture = AnnealedGaussianMixture(5, random_state=0).fit(X)
    >>> test = bootstrap_lrt(mixture, X, n_components=1, n_replicates=19)
    >>> test.p_value
    0.05
    """
    _check_mixture(estimator)
    X = estimator._validate(X, reset=False)
    K = estimator.n_active_components_ if n_components is None else n_components
    K, n_init = positive_int(K, "n_components"), positive_int(n_init, "n_init")
    n_replicates = positive_int(n_replicates, "n_replicates")
    most = n_replicates if n_exceedances is None else n_exceedances
    most = positive_int(most, "n_exceedances")
    if X.shape[0] <= K:
        raise ValueError(f"X has {X.shape[0]} samples, too few for {K + 1} components.")
    random = check_random_state(random_state)
    null, _ = _maximum(estimator, X, K, random, STARTS_OF_NULL)
    statistic = _statistic(estimator, X, K, null, n_init, random)
    source = _with_components(estimator, null)

    def drawn(seed):
        rows = _sample_like(source, X, seed)
        return _statistic(estimator, rows, K, null, n_init, check_random_state(seed))

    def exceeded(values):
        return sum(value >= statistic for value in values)

    seeds = random.randint(MOST_SEED, size=n_replicates).tolist()
    statistics = _each(drawn, seeds, n_jobs, verbose, lambda v: exceeded(v) >= most)
    m, n_drawn = exceeded(statistics), len(statistics)
    is_early = n_drawn < n_replicates
    p_value = m / n_drawn if is_early else (m + 1) / (n_drawn + 1)
    return LikelihoodRatioTest(K, statistic, p_value, np.array(statistics))


def _with_components(mixture, globals_):
    """Return a copy whose components have the parameters ``globals_``."""
    n_components = len(mixture._fitted_model().weights.mean(globals_.weights))
    fixed = (mixture._state().fixed or {}) | {"n_components": n_components}
    state = replace(mixture.state_.copied(), globals_=globals_, fixed=fixed)
    return copy_fit(mixture, {"state_": state}, n_components=n_components)


def _sample_like(mixture, X, seed):
    """Draw as many samples as validated data have, with the same missing values."""
    random = check_random_state(seed)
    drawn = mixture._drawn_rows(X, random.randint(MOST_SEED))
    drawn = drawn[random.permutation(len(drawn))]
    drawn[np.isnan(X.toarray() if sparse.issparse(X) else X)] = np.nan
    return drawn


def _maximum(estimator, X, n_components, random, n_starts, starts=()):
    """Return the result of `MixtureModel.likeliest` for validated data."""
    model = estimator._new_model().resized(n_components)
    return model.likeliest(X, estimator._state().hyper, random, n_starts, starts)


def _statistic(estimator, X, K, null, n_init, random):
    """Return twice the gain of the log-likelihood by one more component than K."""
    _, lower = _maximum(estimator, X, K, random, 0, [null])
    _, upper = _maximum(estimator, X, K + 1, random, n_init)
    return max(0.0, 2.0 * (upper - lower))


@dataclass(frozen=True)
class LogEvidence:
    """Result of `log_evidence`, in nats.

    Attributes
    ----------
    estimate : float
        Log evidence of the model.
    lower, upper : float
        Stochastic bounds, from chains to the posterior and back.
    stderr : float
        Standard error of the estimate.
    """

    estimate: float
    lower: float
    upper: float
    stderr: float


def log_evidence(
    estimator: Any,
    X: DataLike,
    *,
    n_temperatures: Int = 200,
    n_chains: Int = 16,
    random_state: Seed = None,
) -> LogEvidence:
    r"""Estimate the log evidence of a mixture by annealed importance sampling.

    The evidence is the marginal likelihood :math:`p(x)` of the data under the priors of
    the fit.  It compares mixtures with different numbers of components or other priors.

    Parameters
    ----------
    estimator : object
        A fitted mixture of at most 8 components, with a Dirichlet prior of the weights:
        discrete, mixed, or Gaussian with ``covariance_type`` "full", "diag" or
        "spherical".
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The data of its fit.  Values may be missing, except in Gaussian mixtures.
    n_temperatures : int, default=200
        Number of temperatures.  More of them bring the bounds nearer to each other.
    n_chains : int, default=16
        Number of independent chains in each direction, at least 2.
    random_state : int, RandomState instance or None, default=None
        Seed of the chains.

    Returns
    -------
    evidence : LogEvidence
        ``estimate``, its standard error ``stderr``, and stochastic bounds ``lower`` and
        ``upper``, all in nats.

    Raises
    ------
    ValueError
        If the mixture has more components, another prior or other components.

    See Also
    --------
    bootstrap_lrt : Test of the number of components.

    Notes
    -----
    Chains go from draws of the fit to the posterior by Gibbs steps at increasing powers
    [1]_.  Others begin after ``2 * n_temperatures`` Gibbs steps at the posterior, and
    go back [2]_.  With the weights :math:`w` of the first and :math:`1 / v` of the
    others, ``lower`` is the logarithm of the mean of :math:`w`, and ``upper`` is minus
    the logarithm of the mean of :math:`1 / v`.  They are bounds on average; where they
    are near to each other, noise may exchange them.  The estimate solves Bennett's
    equation [3]_, and its standard error is that of the jackknife.  If
    ``upper - lower`` is much larger than ``stderr``, increase ``n_temperatures``.

    The evidence includes all K! orders of the components, and ``lower_bound`` one of
    them: compare the evidence with ``lower_bound(X)`` plus log K!.  Chains do not reach
    other modes of the posterior that are far from the fit; ``upper`` is a bound only if
    these are negligible.  Learned priors are taken as given, and ``reg_covar`` is not
    a part of the model.

    References
    ----------
    .. [1] R. Neal, "Annealed importance sampling", Statistics and Computing, 2001.
    .. [2] R. Grosse, Z. Ghahramani, R. Adams, "Sandwiching the marginal likelihood
       using bidirectional Monte Carlo", 2015.
    .. [3] C. Bennett, "Efficient estimation of free energy differences from Monte
       Carlo data", Journal of Computational Physics, 1976.

    Examples
    --------
    >>> import numpy as np
    >>> from sktemper import AnnealedBernoulliMixture
    >>> from sktemper.model_selection import log_evidence
    >>> random = np.random.default_rng(0)
    >>> yes = np.array([[0.9] * 5 + [0.1] * 5, [0.1] * 10])
    >>> X = random.random((300, 10)) < yes[random.integers(2, size=300)]
    >>> X = X.astype(float)
    >>> fits = [AnnealedBernoulliMixture(K, random_state=0).fit(X) for K in (1, 2, 3)]
    >>> few = {"n_temperatures": 50, "random_state": 0}
    >>> logs = [log_evidence(fit, X, **few).estimate for fit in fits]
    >>> int(np.argmax(logs)) + 1
    2
    """
    _check_mixture(estimator)
    n_temperatures = positive_int(n_temperatures, "n_temperatures")
    n_chains = positive_int(n_chains, "n_chains")
    if n_chains < 2:
        raise ValueError("n_chains must be at least 2, for a standard error.")
    X = estimator._validate(X, reset=False)
    random = check_random_state(random_state)
    model, state = estimator._new_model(), estimator._state()
    prepared = model.prepare(*state.parameters)
    shares, _, _ = model.responsibilities(model.take(X, slice(None)), prepared)
    chains = model.annealed_chains(X, *state.parameters, shares, n_chains, random)
    powers = np.linspace(0.0, 1.0, n_temperatures + 1)
    forward = chains.forward(powers)
    backward = chains.backward(powers, 2 * n_temperatures)
    others = ~np.eye(n_chains, dtype=bool)
    left = np.array([_bennett(forward[one], backward[one]) for one in others])
    return LogEvidence(
        _bennett(forward, backward),
        float(logsumexp(forward) - np.log(n_chains)),
        float(np.log(n_chains) - logsumexp(-backward)),
        float(np.sqrt(n_chains - 1) * left.std()),
    )


def _bennett(forward, backward):
    """Return the log evidence that equates sums over the log weights of both ways."""

    def excess(log):
        return expit(forward - log).sum() - expit(log - backward).sum()

    both = np.concatenate([forward, backward])
    return float(brentq(excess, both.min() - 1.0, both.max() + 1.0))


def _check_mixture(estimator, is_fitted=True):
    """Raise unless an estimator is a mixture, by default a fitted one."""
    if not hasattr(estimator, "profiles"):
        refuse("estimator", "a mixture, such as AnnealedMixedMixture", estimator)
    if is_fitted:
        check_is_fitted(estimator)


def _draws(X, n_replicates, sample_weight, random_state):
    """Return pairs of weights and a seed, one pair for each fit.

    The weights are 0 for a random half of the samples.
    """
    n_replicates = positive_int(n_replicates, "n_replicates")
    check_same_rows(X=X, sample_weight=sample_weight)
    n_samples, random = _num_samples(X), check_random_state(random_state)
    weight = _check_sample_weight(sample_weight, np.empty((n_samples, 1)))
    is_drawn = np.arange(n_samples) < (n_samples + 1) // 2
    return [
        (weight * random.permutation(is_drawn), int(random.randint(MOST_SEED)))
        for _ in range(n_replicates)
    ]


def _each(function, draws, n_jobs, verbose, is_enough=lambda results: False):
    """Return the results of a function for each draw, in the order of the draws.

    They end if ``is_enough(results)``.  Warnings of fits that did not converge are
    ignored.
    """
    results, n_threads = [], effective_n_jobs(n_jobs)
    quietly = warnings.catch_warnings(action="ignore", category=ConvergenceWarning)
    with quietly, submitted(function, draws, n_threads, [0]) as tasks:
        for number, task in enumerate(tasks):
            results.append(task.result())
            if verbose:
                logger.info("Fit %d of %d", number + 1, len(tasks))
            if is_enough(results):
                break
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


# -- path of temperatures of a mixture -------------------------------------------------


@dataclass(frozen=True)
class TemperaturePath:
    """Partitions of data at several temperatures, see `temperature_path`.

    Attributes
    ----------
    labels_ : ndarray of int of shape (n_samples,)
        Clusters of the samples, components of the mixture of the persistent level.
    n_clusters_ : int
        Number of clusters.
    agreement_ : float
        Mean adjusted Rand index of ``labels_`` and all partitions with more than one
        cluster, itself included; 0 if no cluster is separated.  One cluster at all
        temperatures has the agreement 1.
    separation_ : float
        Largest dip between clusters of any level, divided by the dip that chance
        reaches in 5 % of data sets without clusters.  Up to 1, no gap is shown.
    level_ : int
        Index of the persistent level.
    temperatures_ : ndarray of shape (n_levels,)
        Temperatures of the model, from 1.
    partitions_ : ndarray of int of shape (n_levels, n_samples)
        Clusters of the samples at each level.
    numbers_of_clusters_ : ndarray of int of shape (n_levels,)
        Number of clusters of each level.
    agreements_ : ndarray of shape (n_levels,)
        Mean adjusted Rand index of each partition, NaN for one cluster.
    fits_ : list of object
        The fitted mixture of each level.  Only the first has results of the training
        rows, such as its own ``labels_``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sktemper import AnnealedGaussianMixture
    >>> from sktemper.model_selection import temperature_path
    >>> mixture = AnnealedGaussianMixture(6, random_state=0)
    >>> path = temperature_path(mixture, load_iris().data, random_state=0)
    >>> path.labels_.shape == path.partitions_[path.level_].shape == (150,)
    True
    """

    labels_: np.ndarray = field(repr=False)
    n_clusters_: int
    agreement_: float
    separation_: float
    level_: int
    temperatures_: np.ndarray = field(repr=False)
    partitions_: np.ndarray = field(repr=False)
    numbers_of_clusters_: np.ndarray
    agreements_: np.ndarray = field(repr=False)
    fits_: list = field(repr=False)

    def predict(self, X: DataLike) -> np.ndarray:
        """Return the cluster of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data with the columns of the fit.

        Returns
        -------
        labels : ndarray of int of shape (n_samples,)
            Clusters, as in ``labels_``.
        """
        return self.fits_[self.level_].predict(X)


def temperature_path(
    estimator: Any,
    X: DataLike,
    *,
    sample_weight: ArrayLike | None = None,
    n_jobs: Int | None = None,
    random_state: Seed = None,
    verbose: Int = 0,
) -> TemperaturePath:
    r"""Return the clusters of data over temperatures of the model.

    A mixture needs several components for a cluster whose shape is not that of a
    component.  If the likelihood has a power below 1, data count as fewer rows, which
    do not show such details.  The mixture is fitted at the powers 1, 1/2, 1/4, ...
    until one cluster is left, and the persistent partition is the one with which the
    partitions of all other levels agree most.

    Parameters
    ----------
    estimator : object
        A mixture, such as `sktemper.AnnealedGaussianMixture`, fitted or not.  It is
        cloned, and not changed.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Data for a fit.
    sample_weight : array-like of shape (n_samples,), default=None
        Number of times that each sample counts.
    n_jobs : int, default=None
        Number of threads, which fit levels at the same time; None is 1 unless in a
        `joblib.parallel_config`.  Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the levels after the first, which has that of the estimator.
    verbose : int, default=0
        Whether to log a line for each level to the logger "sktemper".

    Returns
    -------
    path : TemperaturePath
        The persistent partition, its agreement with the others, the separation of
        clusters, and the partition and the fit of each level.

    Raises
    ------
    ValueError
        If data, weights or parameters of the estimator are invalid.

    See Also
    --------
    sktemper.plotting.TemperaturePathDisplay : Picture of the path.
    bootstrap_n_components : How often fits find each number of components.

    Notes
    -----
    The posterior of a likelihood with the power :math:`\zeta = a / (a + n)` is nearly
    that of a model which is true only up to a small distance, the coarsened posterior
    [1]_; a is the number of rows from which on details of the model are not trusted.
    No a suits all data, therefore all are tried.  The first level is the fit of the
    estimator; the others keep its covariance type and kinds of columns.  They start
    independently of each other, with k-means if that is the start of the mixture, and
    are not annealed, because chance should not make levels agree.  From more than 600
    samples, a level draws four times as many as its power leaves, but at least 600.

    The separation is tested by the dip [2]_ of the log odds of clusters: each against
    the others, and each node of the tree that joins clusters which overlap.  Among as
    many samples on both sides, those nearest to even odds, the log odds have a gap if
    clusters are separated, and one mode if a single cluster was divided.  A number n
    of samples counts as 300 n / (300 + n), and the separation is relative to what 5 %
    of data sets from one uniform distribution exceed, for the number of comparisons.
    If it is at most 1, ``agreement_`` is 0: the labels divide a continuum.  Clusters
    that overlap have no gap either.

    Many small Gaussian clusters are joined: prefer the estimator's own fit if you know
    that clusters have the distribution of its components.

    References
    ----------
    .. [1] J. Miller, D. Dunson, "Robust Bayesian inference via coarsening", Journal of
       the American Statistical Association, 2019.
    .. [2] J. Hartigan, P. Hartigan, "The dip test of unimodality", Annals of
       Statistics, 1985.

    Examples
    --------
    >>> import numpy as np
    >>> from sktemper import AnnealedGaussianMixture
    >>> from sktemper.model_selection import temperature_path
    >>> random = np.random.default_rng(0)
    >>> X = random.gamma(2.0, size=(600, 2))  # no Gaussians
    >>> X[300:] += 9.0
    >>> mixture = AnnealedGaussianMixture(10, random_state=0)
    >>> path = temperature_path(mixture, X, random_state=0)
    >>> path.n_clusters_, path.separation_ > 1.0
    (2, True)
    """
    _check_mixture(estimator, is_fitted=False)
    base, ended = clone(estimator).fit(X, sample_weight=sample_weight), []
    weight = _check_sample_weight(sample_weight, np.empty((len(base.labels_), 1)))
    rows, (data, fitted) = np.flatnonzero(weight), base._tempered_fits(X, sample_weight)

    def level_of(mixture):
        shares = mixture.predict_proba(data)
        return mixture, shares.argmax(axis=1), *largest_dip(shares[rows])

    def level(draw):
        if ended:  # at an earlier level, as threads begin levels in their order
            return None
        found = level_of(fitted(*_rows_of_level(rows, weight[rows], *draw)))
        if not found[-1]:  # nothing was compared: a single cluster
            ended.append(draw)
        return found

    levels, random = [level_of(base)], check_random_state(random_state)
    if levels[0][-1]:
        seeds = random.randint(MOST_SEED, size=int(np.log2(len(rows)))).tolist()
        draws, is_last = enumerate(seeds, 1), lambda found: not found[-1][-1]
        levels += _each(level, draws, n_jobs, verbose, is_last)
    return _path_of(levels, rows, weight[rows])


def _rows_of_level(rows, weight, number, seed):
    """Return the rows of a level of a path, the power of their likelihood, and a seed.

    The power is larger if there are fewer rows than in the data.
    """
    share, n_rows = 0.5**number, len(rows)
    # two levels later, the likelihood of the same number of rows has the power 1
    n_drawn = min(n_rows, max(int(4 * share * n_rows), 2 * MOST_EVIDENCE))
    drawn = np.random.default_rng(seed).permutation(n_rows)[:n_drawn]
    drawn.sort()
    return rows[drawn], share * weight.sum() / weight[drawn].sum(), seed


def _path_of(levels, rows, weight):
    """Return the `TemperaturePath` of fits, labels, dips and numbers of comparisons."""
    fits, partitions, dips, looks = zip(*levels, strict=True)
    partitions = np.array(partitions)
    numbers = np.array([len(np.unique(labels[rows])) for labels in partitions])
    many, agreements = np.flatnonzero(numbers > 1), np.full(len(numbers), np.nan)
    level, agreement, separation = 0, 1.0, 0.0
    if len(many):
        counted, weight = partitions[np.ix_(many, rows)], weight / weight.mean()
        for place, one in zip(many, counted, strict=True):
            others = [_agreement(one, other, weight) for other in counted]
            agreements[place] = np.mean(others)
        level = int(np.nanargmax(agreements))
        separation = float(max(dips) / dip_of_chance(sum(looks)))
        agreement = float(agreements[level]) if separation > 1.0 else 0.0
    found = partitions[level], int(numbers[level]), agreement, separation, level
    of_levels = 2.0 ** np.arange(len(levels)), partitions, numbers, agreements
    return TemperaturePath(*found, *of_levels, list(fits))


def _agreement(one, other, weight):
    """Return the adjusted Rand index of two partitions of weighted rows."""
    table = sparse.coo_array((weight, (one, other))).toarray()
    total = weight.sum()
    parts = table, table.sum(axis=0), table.sum(axis=1)
    both, a, b = (np.square(part).sum() - total for part in parts)
    chance, most = a * b / (total**2 - total), 0.5 * (a + b)
    return min((both - chance) / (most - chance), 1.0) if most > chance else 1.0


# -- splits of users' items ------------------------------------------------------------
@check_arguments(
    X=["array-like", "sparse matrix"],
    test_size=[SHARE, WholeNumber(1), StrOptions({"half"})],
    per=[StrOptions({"user", "all"})],
    random_state=["random_state"],
)
def train_test_split_entries(
    X: DataLike,
    *,
    test_size: Float | Literal["half"] = 0.1,
    per: Literal["user", "all"] = "user",
    random_state: Seed = None,
) -> tuple[SparseMatrix, SparseMatrix]:
    """Split the entries of a matrix into two matrices of the same shape.

    scikit-learn's splitters hold out whole rows, that is, whole users.  This function
    holds out some entries of each user, to test predictions for users of the training
    data.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_users, n_items)
        Ratings or clicks: the stored entries of a sparse matrix, including zeros; or
        the entries of a dense array that are not NaN, or not 0 if none is NaN.
    test_size : float, int or "half", default=0.1
        Share of the entries to hold out, or number of each user, who keeps at least one
        ("leave k out").  "half" assigns the entries of a row, in the order of columns,
        alternately to both matrices, as ``score`` does.
    per : {"user", "all"}, default="user"
        "user" holds out a share of each user's entries, which is rounded up or down at
        random so that it is right on average; each user keeps at least one entry.
        "all" draws each entry independently.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of entries.

    Returns
    -------
    X_train, X_test : CSR matrices of shape (n_users, n_items)
        Together they have all entries of ``X``.  Both have its labels, if any.

    See Also
    --------
    sktemper.metrics.make_ranking_scorer : Scorer with the same split, for grid search.
    sktemper.metrics.ranking_report : Ranking metrics of a model for the split.

    Examples
    --------
    >>> from sktemper.datasets import make_ratings
    >>> from sktemper.model_selection import train_test_split_entries
    >>> X = make_ratings(random_state=0)
    >>> X_train, X_test = train_test_split_entries(X, random_state=0)
    >>> X_train.shape == X_test.shape == X.shape, X_train.nnz + X_test.nnz == X.nnz
    (True, True)
    >>> _, last = train_test_split_entries(X, test_size=1, random_state=0)
    >>> bool((last.getnnz(axis=1) <= 1).all())
    True
    """
    labels = labels_of(X, "user_labels"), labels_of(X, "item_labels")
    X = _as_entries(X)
    held_out = _held_out(X, test_size, per, check_random_state(random_state))
    if not held_out.any():
        raise ValueError(
            "Nothing is held out: no user has more than one entry, or test_size is too "
            "small."
        )
    return tuple(_kept(X, chosen, labels) for chosen in (~held_out, held_out))


def _as_entries(X):
    """Return entries as CSR; those of a dense array without NaN are not 0."""
    found = as_entries(X)
    if not sparse.issparse(X) and found.nnz == np.prod(found.shape):
        return kept(found, found.data != 0)
    return found


def _held_out(X, test_size, per, random):
    if test_size == "half":
        return is_odd(X)
    drawn = random.random_sample(X.nnz)
    if per == "all" and not isinstance(test_size, Integral):
        return drawn < test_size
    counts = np.diff(X.indptr)
    if isinstance(test_size, Integral):
        n_test = np.where(counts > 0, test_size, 0)
    else:
        n_test = np.floor(test_size * counts + random.random_sample(len(counts)))
    n_test = np.minimum(n_test, np.maximum(counts - 1, 0))
    # hold out the entries of each row that have the smallest random numbers
    rows = np.repeat(np.arange(X.shape[0]), counts)
    held_out = np.empty(X.nnz, bool)
    held_out[np.lexsort((drawn, rows))] = places_in_rows(X) < n_test[rows]
    return held_out


def _kept(X, chosen, labels):
    part = kept(X, chosen)
    return part if labels[1] is None else labelled(part, *labels)

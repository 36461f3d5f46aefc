"""Regression of latent classes on covariates, given a fitted mixture."""

import contextlib
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy import optimize
from scipy.special import log_softmax, softmax
from sklearn.utils import (
    _safe_indexing,
    check_array,
    check_consistent_length,
    column_or_1d,
)
from sklearn.utils.validation import _check_sample_weight

from .._utils._arguments import check_interval, is_integer, refuse
from .._utils._design import MOST_CONDITION, Design, units_of
from .._utils._frames import check_same_rows, data_frame
from .._utils._inference import SEED, TINY, Permuted, uncertainty
from .._utils._typing import ArrayLike, DataFrame, DataLike, Float, Int
from .._utils._validation import checked_weights

#: A component with a smaller sum of posteriors counts as empty.
EMPTY = 0.5
#: Largest deviation from 1 of the sum of the posteriors of a sample.
SUM_TOL = 1e-3
#: Least curvature, per sample, at an optimum.
LEAST_CURVATURE = 1e-6
#: Largest gradient, per sample, at the optimum.
GRADIENT_TOL = 1e-8
QUARTILES = 0.25, 0.5, 0.75


@dataclass(frozen=True)
class ClassRegression:
    """Result of `class_regression`: a multinomial logit of classes.

    Attributes
    ----------
    classes : ndarray of int of shape (n_classes,)
        Indices of the components that have samples.
    reference : int
        Class with which other classes are compared; its coefficients are 0.
    names : list of n_coefficients str
        "(intercept)", and the covariates.
    coef_ : ndarray of shape (n_classes, n_coefficients)
        Changes of the log odds of a class, against the reference class, for one unit of
        a covariate.
    stderr_ : ndarray of shape (n_classes, n_coefficients)
        Standard errors, 0 for the reference class.
    covariance_ : ndarray of shape (n_free, n_free)
        Covariance of the coefficients of all classes except the reference; the
        coefficients of a class are adjacent.
    classification_ : ndarray of shape (n_classes, n_classes)
        D.  Entry D_ts is the probability that s is the most probable class of a sample
        of class t.
    """

    classes: np.ndarray
    reference: int
    names: list
    coef_: np.ndarray = field(repr=False)
    stderr_: np.ndarray = field(repr=False)
    covariance_: np.ndarray = field(repr=False)
    classification_: np.ndarray = field(repr=False)
    _design: Design = field(repr=False)
    _sizes: np.ndarray = field(repr=False)  # shares of classes
    _permuted: Permuted = field(repr=False)  # linear effects on these shares

    def table(self, interval=0.95, output="pandas"):
        """Return a data frame with a row for each class and covariate.

        Parameters
        ----------
        interval : float, default=0.95
            Confidence level of the intervals, between 0 and 1.
        output : {"pandas", "polars"}, default="pandas"
            Library of the data frame.

        Returns
        -------
        table : DataFrame
            Columns: "class", "covariate", "coef", "stderr", "z", "p_value", "low",
            "high" and "odds_ratio".  The reference class has no rows.
        """
        others = np.flatnonzero(self.classes != self.reference)
        coef, error = self.coef_[others], self.stderr_[others]
        # a step of Newton's method from equal classes gives their log odds
        sizes = np.diag(1.0 / self._sizes)
        contrasts = sizes[others] - sizes[self.classes == self.reference]
        permuted = self._permuted.of(np.eye(len(self.names)), contrasts.T)
        with np.errstate(over="ignore"):  # infinite if a unit of a covariate is huge
            odds_ratio = np.exp(coef.ravel())
        columns = {
            "class": np.repeat(self.classes[others], len(self.names)).tolist(),
            "covariate": self.names * len(others),
            "coef": coef.ravel(),
            **_uncertainty(coef, error, permuted, interval),
            "odds_ratio": odds_ratio,
        }
        return data_frame(output, columns)

    def marginal_effects(
        self,
        covariates: DataLike,
        *,
        sample_weight: ArrayLike | None = None,
        interval: Float = 0.95,
        output: Literal["pandas", "polars"] = "pandas",
    ) -> DataFrame:
        """Return average changes of the probabilities of classes.

        Parameters
        ----------
        covariates : DataFrame or array-like of shape (n_samples, n_covariates)
            The samples over which effects are averaged, such as those of the fit.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in the average.
        interval : float, default=0.95
            Confidence level of the intervals, between 0 and 1.
        output : {"pandas", "polars"}, default="pandas"
            Library of the data frame.

        Returns
        -------
        table : DataFrame
            Columns: "class", "covariate", "effect", "stderr", "z", "p_value", "low" and
            "high".  The effect of a number is the derivative of the probability, and
            that of a value of a categorical covariate is the difference to the first
            value, both averaged over the samples.  The effects of a covariate sum to 0
            over the classes.

        Notes
        -----
        Standard errors are those of the delta method, for these covariates.
        """
        check_interval(interval)
        check_same_rows(covariates=covariates, sample_weight=sample_weight)
        names, Z = self.names, self._design.rows(covariates)
        owners = self._design.owners
        weight = _check_sample_weight(sample_weight, Z, ensure_non_negative=True)
        weight = weight / weight.sum()
        effects = _effects(self.coef_, Z, owners, weight)
        free = np.flatnonzero(self.classes != self.reference)
        slopes = np.zeros((effects.size, len(free) * len(names)))
        for place, (k, j) in enumerate(np.ndindex(len(free), len(names))):
            step = np.zeros_like(self.coef_)
            step[free[k], j] = 1e-5 / (np.abs(Z[:, j]).max() or 1.0)
            both = [
                _effects(self.coef_ + sign * step, Z, owners, weight)
                for sign in (1.0, -1.0)
            ]
            slopes[:, place] = (both[0] - both[1]).ravel() / (2.0 * step.max())
        errors = np.sqrt(np.diag(slopes @ self.covariance_ @ slopes.T))
        permuted = self._permuted.of(np.eye(len(names))[1:])
        columns = {
            "class": np.repeat(self.classes, len(names) - 1).tolist(),
            "covariate": names[1:] * len(self.classes),
            "effect": effects.ravel(),
            **_uncertainty(effects, errors.reshape(effects.shape), permuted, interval),
        }
        return data_frame(output, columns)


def _uncertainty(values, errors, permuted, interval):
    """Return columns of a table, for values of shape (n_classes, n_covariates)."""
    check_interval(interval)
    half = permuted.stretch(interval).T * errors
    half = np.maximum(half, permuted.quantile(interval).T)  # errors of rare classes
    p_value = permuted.p_values().T
    is_unclear = p_value > 1.0 - interval  # an interval then contains 0
    half = np.where(is_unclear, np.maximum(half, np.abs(values)), half)
    found = uncertainty(values, errors, half, interval)
    found["p_value"] = np.maximum(found["p_value"], p_value)
    z = values / np.maximum(errors, TINY)
    columns = {"stderr": found.pop("stderr"), "z": z, "p_value": found.pop("p_value")}
    return {name: part.ravel() for name, part in (columns | found).items()}


def _effects(coef, Z, owners, weight):
    """Return the average effects of all covariates, (n_classes, n_covariates)."""
    effects, shares = [], softmax(Z @ coef.T, axis=1)
    for j, owner in enumerate(owners[1:], start=1):
        if owner is None:
            slopes = shares * (coef[:, j] - shares @ coef[:, j][:, None])
            effects.append(weight @ slopes)
            continue
        first = Z * [other != owner for other in owners]
        own = first.copy()
        own[:, j] = 1.0
        pair = [softmax(rows @ coef.T, axis=1) for rows in (own, first)]
        effects.append(weight @ (pair[0] - pair[1]))
    return np.stack(effects, axis=1)


def class_regression(
    posteriors: ArrayLike,
    covariates: DataLike,
    *,
    method: Literal["ml", "bch"] = "ml",
    reference: Int | None = None,
    sample_weight: ArrayLike | None = None,
    sampling_weight: ArrayLike | None = None,
) -> ClassRegression:
    r"""Regress latent classes on covariates, corrected for classification errors.

    A regression of the most probable classes underestimates effects, because some
    samples are classified wrongly.  Both methods correct for this by means of the
    probabilities of wrong classifications [1]_.

    Parameters
    ----------
    posteriors : array-like of shape (n_samples, n_components)
        Class probabilities of the samples, from ``predict_proba`` of a mixture that was
        fitted without the covariates.
    covariates : DataFrame or array-like of shape (n_samples, n_covariates)
        Numeric covariates.  Columns of text, categories or booleans of a data frame are
        replaced by an indicator for each value that occurs, except the first.  Missing
        values raise an error.
    method : {"ml", "bch"}, default="ml"
        "ml" maximizes the likelihood of the most probable classes.  "bch" weights the
        samples by the inverse of the matrix of classification errors; some weights may
        be negative.
    reference : int, default=None
        Index of the class with which other classes are compared; None is the largest
        class.
    sample_weight : array-like of shape (n_samples,), default=None
        Number of times that each sample counts, also in standard errors.  Samples of
        weight 0 are left out.
    sampling_weight : array-like of shape (n_samples,), default=None
        Number of members of the population that each sample represents, such as the
        weights of a survey, in any unit.  Standard errors count the samples, not the
        members.

    Returns
    -------
    regression : ClassRegression
        Coefficients and their covariance; its method ``table`` tabulates them.

    Raises
    ------
    ValueError
        If fewer than two classes have samples, a class is the most probable class of
        no sample, covariates have missing values or are linearly dependent, or no
        optimum is found.

    Notes
    -----
    Let w_is be 1 if s is the most probable class of sample i, and 0 otherwise, and let
    :math:`\pi_t(z_i)` be the class probabilities of a multinomial logit.  "ml"
    maximizes

    .. math:: \sum_i \sum_s w_{is} \log \sum_t \pi_t(z_i) D_{ts}, \quad
        D_{ts} = \sum_i p_{it} w_{is} / \sum_i p_{it},

    where :math:`p_{it}` are the posteriors.  "bch" maximizes :math:`\sum_i \sum_t (W
    D^{-1})_{it} \log \pi_t(z_i)`, where W is the matrix of w_is.  Standard errors are
    computed by the sandwich estimator

    .. math:: H^{-1} (\sum_i n_i v_i^2 s_i s_i^T) H^{-1}

    with the Hessian H, the scores :math:`s_i` of the samples, ``sample_weight``
    :math:`n_i`, and ``sampling_weight`` :math:`v_i` divided by its mean; all other sums
    weight a sample by :math:`n_i v_i`.  Standard errors ignore the uncertainty of the
    parameters of the mixture, and are too small if there are few samples and classes
    overlap.  Intervals and p-values are no more certain than those of linear effects on
    the classes, whose residuals are permuted: a covariate with few large values, or a
    class of few samples, tells little.

    References
    ----------
    .. [1] J. Vermunt, "Latent class modeling with covariates: two improved three-step
       approaches", Political Analysis, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from sktemper import class_regression
    >>> age = np.linspace(-1, 1, 200)
    >>> p = 1 / (1 + np.exp(-2 * age))
    >>> old = np.random.default_rng(0).random(200) < p
    >>> posteriors = np.where(old, 0.9, 0.1)[:, None] * [1, -1] + [0, 1]
    >>> regression = class_regression(posteriors, age[:, None], reference=1)
    >>> regression.coef_.shape, bool(regression.coef_[0, 1] > 1)
    ((2, 2), True)
    """
    if method not in ("ml", "bch"):
        refuse("method", "'ml' or 'bch'", method)
    weights = {"sample_weight": sample_weight, "sampling_weight": sampling_weight}
    check_same_rows(posteriors=posteriors, covariates=covariates, **weights)
    posteriors = checked_posteriors(posteriors)
    check_consistent_length(posteriors, covariates)
    counts, ratios = weights_of_samples(posteriors, sample_weight, sampling_weight)
    used = np.flatnonzero(counts * ratios)
    posteriors, counts, ratios = posteriors[used], counts[used], ratios[used]
    covariates = _safe_indexing(covariates, used)
    design = Design(covariates)
    Z = design.rows(covariates)
    weight = counts * ratios
    kept, shares = checked_classes(posteriors, weight, used)
    if reference is None:
        reference = int(kept[(weight @ shares).argmax()])
    if not (is_integer(reference) and reference in kept):
        raise ValueError(
            f"reference={reference!r} is no class that has samples, which are "
            f"{kept.tolist()}."
        )
    modal = shares.argmax(axis=1)
    D = classification(shares, modal, weight, kept)
    place = int(np.flatnonzero(kept == reference)[0])
    units, scaled = design.scaled(Z, weight)
    given = np.linalg.inv(D)[modal]
    sizes = weight @ given / weight.sum()
    permuted = _linear(scaled, given, (counts, ratios)).of(units)
    # units in which one value far from all others does not hide their differences
    low, middle, high = np.quantile(scaled, QUARTILES, axis=0)
    middle[0], spread = 0.0, np.where(high > low, high - low, 1.0)
    units = units @ units_of(middle, spread)
    logit = _Logit((scaled - middle) / spread, weight, place, len(kept))
    objective = _ml(logit, D[:, modal].T) if method == "ml" else _bch(logit, given)
    found = _optimum(logit, objective)
    covariance = _sandwich(found, objective, counts * ratios**2)
    units = np.kron(np.eye(len(logit.free)), units)
    covariance = units @ covariance @ units.T
    coef, stderr = map(
        logit.coefficients, (units @ found, np.sqrt(np.diag(covariance)))
    )
    results = coef, stderr, covariance, D, design, sizes, permuted
    return ClassRegression(kept, int(reference), design.names, *results)


def _linear(Z, shares, weights):
    """Return linear effects on the shares of classes, with permutations."""
    counts, ratios = weights
    weight = counts * ratios
    bread = np.linalg.inv((Z * weight[:, None]).T @ Z)
    values = bread @ (Z * weight[:, None]).T @ shares
    loadings = (np.sqrt(counts) * ratios)[:, None] * Z @ bread
    random = np.random.RandomState(SEED)
    return Permuted.of_rows(values, loadings, shares - Z @ values, random)


def checked_posteriors(posteriors):
    posteriors = check_array(posteriors, dtype=np.float64, input_name="posteriors")
    sums = posteriors.sum(axis=1)
    if (posteriors < 0).any() or (np.abs(sums - 1.0) > SUM_TOL).any():
        raise ValueError(
            "posteriors must be the class probabilities of samples, and rows must sum "
            "to 1: pass the result of predict_proba."
        )
    return posteriors


def weights_of_samples(posteriors, sample_weight, sampling_weight):
    """Return weights that count samples, and sampling weights of mean 1."""
    counts = checked_weights(
        _check_sample_weight(
            sample_weight, posteriors, dtype=np.float64, ensure_non_negative=True
        )
    )
    if sampling_weight is None:
        return counts, np.ones_like(counts)
    ratios = column_or_1d(
        check_array(
            sampling_weight,
            dtype=np.float64,
            ensure_2d=False,
            ensure_non_negative=True,
            input_name="sampling_weight",
        )
    )
    check_consistent_length(posteriors, ratios)
    ratios = ratios / (ratios.max() or 1.0)
    if not counts @ ratios > 0:
        raise ValueError("sampling_weight is 0 for each sample that counts.")
    return counts, ratios / np.average(ratios, weights=counts)


def checked_classes(posteriors, weight, rows):
    kept = np.flatnonzero(weight @ posteriors > EMPTY)
    if len(kept) < 2:
        raise ValueError(
            f"{len(kept)} of {posteriors.shape[1]} classes have samples, that is, "
            f"posteriors whose sum is above {EMPTY}, but a regression compares two or "
            f"more. The weights of the samples sum to {weight.sum():.3g}: pass weights "
            "that do not count samples as sampling_weight."
        )
    shares = posteriors[:, kept]
    sums = shares.sum(axis=1, keepdims=True)
    if (sums <= SUM_TOL).any():
        row = int(sums.argmin())
        raise ValueError(
            f"Sample {rows[row]} belongs to class {posteriors[row].argmax()}, which is "
            f"left out because the sum of its posteriors is at most {EMPTY}: leave out "
            "the sample, by a sample_weight of 0."
        )
    return kept, shares / sums


def classification(shares, modal, weight, kept):
    """Return D, of shape (n_classes, n_classes)."""
    assigned = np.eye(len(kept))[modal]
    totals = weight @ assigned
    if (totals == 0).any():
        (number, *_) = kept[totals == 0].tolist()
        raise ValueError(
            f"Class {number} is the most probable class of no sample: the classes "
            "overlap so much that effects of covariates cannot be estimated. Fit fewer "
            "components, or remove this column of posteriors and rescale other columns."
        )
    D = (shares * weight[:, None]).T @ assigned
    D /= D.sum(axis=1, keepdims=True)
    if np.linalg.cond(D) > MOST_CONDITION:
        raise ValueError(
            "The classification errors cannot be inverted: some classes are the same. "
            "Fit fewer components."
        )
    return D


class _Logit:
    """A multinomial logit of classes; coefficients of the reference class are 0."""

    def __init__(self, Z, weight, reference, n_classes):
        self.Z, self.weight, self.n_classes = Z, weight, n_classes
        self.free = np.flatnonzero(np.arange(n_classes) != reference)
        self.n_free = len(self.free) * Z.shape[1]

    def coefficients(self, vector):
        """Return the coefficients of all classes, (n_classes, n_coefficients)."""
        coef = np.zeros((self.n_classes, self.Z.shape[1]))
        coef[self.free] = vector.reshape(len(self.free), -1)
        return coef

    def log_probabilities(self, vector):
        return log_softmax(self.Z @ self.coefficients(vector).T, axis=1)

    def scores(self, residuals):
        """Return the gradients of samples, (n_samples, n_free)."""
        own = residuals[:, self.free]
        return (own[:, :, None] * self.Z[:, None]).reshape(len(own), -1)

    def curvature(self, shares, totals):
        """Return the sum of totals * (diag(p) - p p') x z z' over samples."""
        own, n = shares[:, self.free], len(self.free)
        out = np.empty((n, self.Z.shape[1], n, self.Z.shape[1]))
        for s in range(n):
            for t in range(n):
                factor = totals * own[:, s] * ((s == t) - own[:, t])
                out[s, :, t] = (self.Z * factor[:, None]).T @ self.Z
        return out.reshape(self.n_free, self.n_free)


def _ml(logit, likelihoods):
    """Return a function of coefficients that returns value, scores and Hessian."""

    def objective(vector):
        logs = logit.log_probabilities(vector)
        joint = np.exp(logs) * likelihoods
        rows = joint.sum(axis=1)
        q, pi, weight = joint / rows[:, None], np.exp(logs), logit.weight
        hessian = logit.curvature(q, weight) - logit.curvature(pi, weight)
        return weight @ np.log(rows), logit.scores(q - pi), hessian

    return objective


def _bch(logit, given):
    """Return a function of coefficients that returns value, scores and Hessian."""

    def objective(vector):
        logs, weight = logit.log_probabilities(vector), logit.weight
        pi = np.exp(logs)
        value = weight @ (given * logs).sum(axis=1)
        return value, logit.scores(given - pi), -logit.curvature(pi, weight)

    return objective


def _optimum(logit, objective):
    total = logit.weight.sum()

    def value_and_slope(vector):
        value, scores, _ = objective(vector)
        return -value / total, -(logit.weight @ scores) / total

    is_found, options = False, {"gtol": GRADIENT_TOL, "maxiter": 500}
    # without a maximum, coefficients grow until numbers overflow, or end where the
    # likelihood is flat
    with contextlib.suppress(ValueError, np.linalg.LinAlgError):
        result = optimize.minimize(
            value_and_slope,
            np.zeros(logit.n_free),
            jac=True,
            hess=lambda vector: -objective(vector)[2] / total,
            method="trust-exact",
            options=options,
        )
        is_found = np.abs(result.jac).max(initial=0.0) < 1e3 * GRADIENT_TOL
        is_found &= np.linalg.eigvalsh(result.hess)[0] > LEAST_CURVATURE
    if not is_found:
        raise ValueError(
            "The regression has no optimum: a covariate, or several together, separate "
            "the classes completely, or there are too few samples."
        )
    return result.x


def _sandwich(vector, objective, weight):
    """Return the covariance of the coefficients; scores have these weights."""
    _, scores, hessian = objective(vector)
    inverse, scores = np.linalg.inv(hessian), scores * np.sqrt(weight)[:, None]
    return inverse @ (scores.T @ scores) @ inverse

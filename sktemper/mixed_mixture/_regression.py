"""Regression of latent classes on covariates, given a fitted mixture."""

import contextlib
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

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

from .._estimator import validated_weight
from .._utils._arguments import check_interval, is_integer, refuse
from .._utils._design import MOST_CONDITION, Design, units_of
from .._utils._frames import check_same_rows, data_frame
from .._utils._inference import SEED, TINY, Permuted, uncertainty
from .._utils._typing import ArrayLike, DataFrame, DataLike, Float, Int

#: A component with a smaller sum of posteriors counts as empty.
EMPTY = 0.5
#: Largest deviation from 1 of the sum of the posteriors of a sample.
SUM_TOL = 1e-3
#: Least curvature, per sample, at an optimum.
LEAST_CURVATURE = 1e-6
#: Largest gradient, per sample, at the optimum.
GRADIENT_TOL = 1e-8
QUARTILES = 0.25, 0.5, 0.75
#: Step of numeric derivatives.
STEP = 1e-5


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
        permuted = self._permuted.of_outcomes(contrasts.T)
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
        free = self.classes != self.reference
        steps = STEP / np.where(Z.any(axis=0), np.abs(Z).max(axis=0), 1.0)
        steps = np.diag(np.tile(steps, len(free)))[np.repeat(free, len(names))]
        slopes = differences(
            lambda coef: _effects(coef, Z, owners, weight),
            self.coef_,
            steps.reshape(-1, *self.coef_.shape),
        )
        errors = np.sqrt(np.diag(slopes.T @ self.covariance_ @ slopes))
        errors = errors.reshape(effects.shape)
        columns = {
            "class": np.repeat(self.classes, len(names) - 1).tolist(),
            "covariate": names[1:] * len(self.classes),
            "effect": effects.ravel(),
            **_uncertainty(effects, errors, self._permuted, interval),
        }
        return data_frame(output, columns)


def differences(function, place, steps):
    """Return central differences of a function, a row for each step."""
    both = ((function(place + step), function(place - step)) for step in steps)
    pairs = zip(both, steps, strict=True)
    return np.array([(a - b).ravel() / (2.0 * step.max()) for (a, b), step in pairs])


def _uncertainty(values, errors, permuted, interval):
    """Return columns of a table, for the last of the estimates by class."""
    check_interval(interval)
    chosen = slice(-values.shape[1], None)
    half = permuted.stretch(interval).T[:, chosen] * errors
    of_rare = permuted.quantile(interval).T[:, chosen]
    half = np.maximum(half, of_rare)
    p_value = permuted.p_values().T[:, chosen]
    is_unclear = p_value > 1.0 - interval  # an interval then contains 0
    half = np.where(is_unclear, np.maximum(half, np.abs(values)), half)
    found = uncertainty(values, errors, half, interval)
    found["p_value"] = np.maximum(found["p_value"], p_value)
    z = values / np.maximum(errors, TINY)
    columns = dict.fromkeys(["stderr", "z", "p_value"]) | found | {"z": z}
    return {name: part.ravel() for name, part in columns.items()}


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
    weights = {"sample_weight": sample_weight, "sampling_weight": sampling_weight}
    samples, covariates = classified(posteriors, method, weights, covariates=covariates)
    design = Design(covariates)
    Z, weight, kept = design.rows(covariates), samples.weight, samples.kept
    if reference is None:
        reference = int(kept[(weight @ samples.shares).argmax()])
    if not (is_integer(reference) and reference in kept):
        raise ValueError(
            f"reference={reference!r} is no class that has samples, which are "
            f"{kept.tolist()}."
        )
    place = int(np.flatnonzero(kept == reference)[0])
    units, scaled = design.scaled(Z, weight)
    sizes = weight @ samples.given / weight.sum()
    permuted = _linear(scaled, samples).of(units).alone()
    # units in which one value far from all others does not hide their differences
    low, middle, high = np.quantile(scaled, QUARTILES, axis=0)
    middle[0], spread = 0.0, np.where(high > low, high - low, 1.0)
    units = units @ units_of(middle, spread)
    logit = _Logit((scaled - middle) / spread, weight, place, len(kept))
    objective = _objective(logit, samples, method)
    found = _optimum(logit, objective)
    covariance = _sandwich(found, objective, samples.scale)
    units = np.kron(np.eye(len(logit.free)), units)
    covariance = units @ covariance @ units.T
    coef, stderr = map(
        logit.coefficients, (units @ found, np.sqrt(np.diag(covariance)))
    )
    results = coef, stderr, covariance, samples.errors, design, sizes, permuted
    return ClassRegression(kept, int(reference), design.names, *results)


def _linear(Z, samples):
    """Return linear effects on the shares of classes, with permutations."""
    weighted = Z * samples.weight[:, None]
    bread = np.linalg.inv(weighted.T @ Z)
    values = bread @ weighted.T @ samples.given
    loadings, random = samples.scale * Z @ bread, np.random.RandomState(SEED)
    return Permuted.of_rows(values, loadings, samples.given - Z @ values, random)


class Classified(NamedTuple):
    """Samples of weights above 0, and the classes that have samples.

    Attributes
    ----------
    counts, ratios, weight : ndarray of shape (n_samples,)
        Weights that count samples, sampling weights of mean 1, and their products.
    scale : ndarray of shape (n_samples, 1)
        Factors of standard deviations.
    kept : ndarray of shape (n_classes,)
    shares : ndarray of shape (n_samples, n_classes)
        Posteriors of these classes.
    modal : ndarray of shape (n_samples,)
        The most probable classes.
    errors : ndarray of shape (n_classes, n_classes)
        D.
    given, likelihoods : ndarray of shape (n_samples, n_classes)
        W D^-1, and D_ts of the most probable classes s.
    """

    counts: np.ndarray
    ratios: np.ndarray
    weight: np.ndarray
    scale: np.ndarray
    kept: np.ndarray
    shares: np.ndarray
    modal: np.ndarray
    errors: np.ndarray
    given: np.ndarray
    likelihoods: np.ndarray


def classified(posteriors, method, weights, **rows):
    """Return validated samples as `Classified`, and the rows of other data."""
    if method not in ("ml", "bch"):
        refuse("method", "'ml' or 'bch'", method)
    check_same_rows(posteriors=posteriors, **rows, **weights)
    posteriors, (data,) = _checked_posteriors(posteriors), rows.values()
    check_consistent_length(posteriors, data)
    counts, ratios = _weights_of_samples(posteriors, **weights)
    used = np.flatnonzero(counts * ratios)
    counts, ratios = counts[used], ratios[used]
    weight, scale = counts * ratios, (np.sqrt(counts) * ratios)[:, None]
    kept, shares = _checked_classes(posteriors[used], weight, used)
    modal = shares.argmax(axis=1)
    errors = _classification(shares, modal, weight, kept)
    own = kept, shares, modal, errors, np.linalg.inv(errors)[modal], errors[:, modal].T
    samples = Classified(counts, ratios, weight, scale, *own)
    return samples, _safe_indexing(data, used)


def _checked_posteriors(posteriors):
    posteriors = check_array(posteriors, dtype=np.float64, input_name="posteriors")
    sums = posteriors.sum(axis=1)
    if (posteriors < 0).any() or (np.abs(sums - 1.0) > SUM_TOL).any():
        raise ValueError(
            "posteriors must be the class probabilities of samples, and rows must sum "
            "to 1: pass the result of predict_proba."
        )
    return posteriors


def _weights_of_samples(posteriors, sample_weight, sampling_weight):
    """Return weights that count samples, and sampling weights of mean 1."""
    counts = validated_weight(sample_weight, posteriors)
    counts = np.ones(len(posteriors)) if counts is None else counts
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


def _checked_classes(posteriors, weight, rows):
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


def _classification(shares, modal, weight, kept):
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


def _objective(logit, samples, method):
    """Return a function of coefficients that returns value, scores and Hessian."""
    given, likelihoods, weight = samples.given, samples.likelihoods, logit.weight

    def objective(vector):
        logs = logit.log_probabilities(vector)
        pi = np.exp(logs)
        hessian = -logit.curvature(pi, weight)
        if method == "bch":
            value = weight @ (given * logs).sum(axis=1)
            return value, logit.scores(given - pi), hessian
        joint = pi * likelihoods
        rows = joint.sum(axis=1)
        q = joint / rows[:, None]
        hessian += logit.curvature(q, weight)
        return weight @ np.log(rows), logit.scores(q - pi), hessian

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


def _sandwich(vector, objective, scale):
    """Return the covariance of the coefficients; scores have these factors."""
    _, scores, hessian = objective(vector)
    inverse, scores = np.linalg.inv(hessian), scores * scale
    return inverse @ (scores.T @ scores) @ inverse

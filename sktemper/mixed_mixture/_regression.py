"""Regression of latent classes on covariates, given a fitted mixture."""

import contextlib
import functools
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

from .._estimator._mixtures import ACTIVE
from .._estimator._problems import validated_weight
from .._utils._arguments import is_integer, refuse
from .._utils._frames import Tabular, check_same_rows, data_frame
from .._utils._inference import MOST_CONDITION, SEED, Design, Permuted, check_dense
from .._utils._typing import ArrayLike, DataFrame, DataLike, Float, Int
from .._utils._validation import SUM_TOL, checked_floats

#: Least curvature, per sample, at an optimum.
LEAST_CURVATURE = 1e-6
#: Largest gradient, per sample, at the optimum.
GRADIENT_TOL = 1e-8
#: Step of numeric derivatives, in scaled units.
STEP = 1e-5


@dataclass(frozen=True)
class ClassRegression(Tabular):
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
    _scaled: tuple = field(repr=False)  # coefficients and covariance, in its units
    _sizes: np.ndarray = field(repr=False)  # shares of classes
    _permuted: Permuted = field(repr=False)  # linear effects on these shares

    def table(self, interval=0.95, output="pandas"):
        """Return a data frame with a row for each class and covariate.

        Returns
        -------
        table : DataFrame
            Columns: "class", "covariate", "coef", "stderr", "z", "p_value", "low",
            "high" and "odds_ratio", the exponential of "coef", which overflows for the
            intercept of a covariate that is far from 0.  The reference class has no
            rows.
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
            **permuted.uncertainty(coef, error, interval, stretches=True),
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
        check_same_rows(covariates=covariates, sample_weight=sample_weight)
        design, (coef, covariance) = self._design, self._scaled
        Z, free = design.rows(covariates), self.classes != self.reference
        weight = _check_sample_weight(sample_weight, Z, ensure_non_negative=True)
        average = functools.partial(_effects, design, Z, weight / weight.sum())
        steps = STEP / np.maximum(np.abs(design.scaled(Z)).max(axis=0), 1.0)
        steps = np.diag(np.tile(steps, len(free)))[np.repeat(free, len(steps))]
        steps = steps.reshape(-1, *coef.shape)
        changes = [average(coef + step) - average(coef - step) for step in steps]
        slopes = np.reshape(changes, (len(steps), -1))
        slopes /= 2.0 * steps.max(axis=(1, 2))[:, None]
        effects, variances = average(coef), np.diag(slopes.T @ covariance @ slopes)
        errors = np.sqrt(variances).reshape(effects.shape)
        permuted = self._permuted.of(np.eye(coef.shape[1])[1:])
        columns = {
            "class": np.repeat(self.classes, effects.shape[1]).tolist(),
            "covariate": self.names[1:] * len(free),
            "effect": effects.ravel(),
            **permuted.uncertainty(effects, errors, interval, stretches=True),
        }
        return data_frame(output, columns)


def _effects(design, Z, weight, coef):
    """Return the average effects of all covariates, (n_classes, n_covariates)."""

    def shares(rows):
        return softmax(design.scaled(rows) @ coef.T, axis=1)

    effects, usual = [], shares(Z)
    for j, owner in enumerate(design.owners[1:], start=1):
        if owner is None:
            slopes = coef[:, j] / design.spread[j]
            changes = usual * (slopes - usual @ slopes[:, None])
        else:
            first = Z * [other != owner for other in design.owners]
            changes = shares(first + np.eye(Z.shape[1])[j]) - shares(first)
        effects.append(weight @ changes)
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
    sizes = weight @ samples.given / weight.sum()
    permuted = _linear(design.standardized(Z, weight), samples).of(design.units)
    # units in which one value far from all others does not hide their differences
    low, middle, high = np.quantile(Z, np.linspace(0, 1, 5)[1:-1], axis=0)
    design.set_units(middle, np.where(high > low, high - low, design.spread))
    logit = _Logit(design.scaled(Z), samples, kept != reference, method)
    found = logit.optimum()
    scaled = logit.coefficients(found), logit.covariance(found)
    units = np.kron(np.eye(len(kept) - 1), design.units)
    covariance = units @ scaled[1] @ units.T
    pair = units @ found, np.sqrt(np.diag(covariance))
    results = *map(logit.coefficients, pair), covariance, samples.errors
    private = design, scaled, sizes, permuted
    return ClassRegression(kept, int(reference), design.names, *results, *private)


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
    posteriors, ((role, data),) = _checked_posteriors(posteriors), rows.items()
    check_dense(data, role[:-1])
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
        checked_floats(sampling_weight, "sampling_weight", ensure_non_negative=True)
    )
    check_consistent_length(posteriors, ratios)
    ratios = ratios / (ratios.max() or 1.0)
    if not counts @ ratios > 0:
        raise ValueError("sampling_weight is 0 for each sample that counts.")
    return counts, ratios / np.average(ratios, weights=counts)


def _checked_classes(posteriors, weight, rows):
    kept = np.flatnonzero(weight @ posteriors > ACTIVE)
    if len(kept) < 2:
        raise ValueError(
            f"{len(kept)} of {posteriors.shape[1]} classes have samples, that is, "
            f"posteriors whose sum is above {ACTIVE}, but a regression compares two or "
            f"more. The weights of the samples sum to {weight.sum():.3g}: pass weights "
            "that do not count samples as sampling_weight."
        )
    shares = posteriors[:, kept]
    sums = shares.sum(axis=1, keepdims=True)
    if (sums <= SUM_TOL).any():
        row = int(sums.argmin())
        raise ValueError(
            f"Sample {rows[row]} belongs to class {posteriors[row].argmax()}, which is "
            f"left out because the sum of its posteriors is at most {ACTIVE}: leave "
            "out the sample, by a sample_weight of 0."
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
    """A multinomial logit of classes; coefficients of the reference class are 0.

    ``is_free`` is where coefficients are not 0.
    """

    def __init__(self, Z, samples, is_free, method):
        self.Z, self.samples, self.is_free = Z, samples, is_free
        self.has_likelihood = method == "ml"

    def coefficients(self, vector):
        """Return the coefficients of all classes, (n_classes, n_coefficients)."""
        coef = np.zeros((len(self.is_free), self.Z.shape[1]))
        coef[self.is_free] = vector.reshape(-1, self.Z.shape[1])
        return coef

    def scores(self, residuals):
        """Return the gradients of samples, (n_samples, n_free)."""
        free = residuals[:, self.is_free, None]
        return (free * self.Z[:, None]).reshape(len(residuals), -1)

    def curvature(self, shares):
        """Return the weighted sum of (diag(p) - p p') x z z' over samples."""
        p, D = shares[:, self.is_free], self.Z.shape[1]
        out = np.empty((p.shape[1], D, p.shape[1], D))
        for s, t in np.ndindex(p.shape[1], p.shape[1]):
            factor = self.samples.weight * p[:, s] * ((s == t) - p[:, t])
            out[s, :, t] = (self.Z.T * factor) @ self.Z
        return out.reshape(len(p.T) * D, -1)

    def derivatives(self, vector):
        """Return the value, the scores of samples, and the Hessian."""
        logs = log_softmax(self.Z @ self.coefficients(vector).T, axis=1)
        pi, given, weight = np.exp(logs), self.samples.given, self.samples.weight
        hessian = -self.curvature(pi)
        if not self.has_likelihood:
            value = weight @ (given * logs).sum(axis=1)
            return value, self.scores(given - pi), hessian
        joint = pi * self.samples.likelihoods
        rows = joint.sum(axis=1)
        q = joint / rows[:, None]
        hessian += self.curvature(q)
        return weight @ np.log(rows), self.scores(q - pi), hessian

    def optimum(self):
        weight, is_found = self.samples.weight, False
        total, n_free = weight.sum(), self.is_free.sum() * self.Z.shape[1]

        def value_and_slope(vector):
            value, scores, _ = self.derivatives(vector)
            return -value / total, -(weight @ scores) / total

        # without a maximum, coefficients grow until numbers overflow, or end where the
        # likelihood is flat
        with contextlib.suppress(ValueError, np.linalg.LinAlgError):
            result = optimize.minimize(
                value_and_slope,
                np.zeros(n_free),
                jac=True,
                hess=lambda vector: -self.derivatives(vector)[2] / total,
                method="trust-exact",
                options={"gtol": GRADIENT_TOL, "maxiter": 500},
            )
            is_found = np.abs(result.jac).max(initial=0.0) < 1e3 * GRADIENT_TOL
            is_found &= np.linalg.eigvalsh(result.hess)[0] > LEAST_CURVATURE
        if not is_found:
            raise ValueError(
                "The regression has no optimum: a covariate, or several together, "
                "separate the classes completely, or there are too few samples."
            )
        return result.x

    def covariance(self, vector):
        """Return the sandwich of the coefficients."""
        _, scores, hessian = self.derivatives(vector)
        inverse, scores = np.linalg.inv(hessian), scores * self.samples.scale
        return inverse @ (scores.T @ scores) @ inverse

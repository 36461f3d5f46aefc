"""Means and shares of outcomes in latent classes, given a fitted mixture."""

import copy
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import stats
from scipy.special import log_softmax, softmax

from .._utils._arguments import check_interval
from .._utils._design import named_columns
from .._utils._frames import frame_of_rows
from .._utils._inference import SEED, TINY, Permuted, permuted_sums, uncertainty
from .._utils._notices import warn
from .._utils._typing import ArrayLike, DataFrame, DataLike, Float
from .._utils._validation import check_values
from ._regression import STEP, classified, differences

#: Largest number of EM steps, and the change of parameters that ends them.
MOST_STEPS, CHANGE = 5000, 1e-9
#: Singular values below this, relative to the largest, are those of parameters that the
#: likelihood does not depend on.
RANK_TOL = 1e-9
#: Standard errors below the first, and differences below the second, relative to the
#: unit of the outcome, are rounding errors.
LEAST_ERROR, LEAST_DIFFERENCE = 1e-8, 1e-6
#: Smaller p-values of equal means of both methods show that numbers are not normal.
LEAST_P = 0.001
#: So do standard errors that are larger by this factor.
MOST_LOSS = 1.2


class _Outcome(NamedTuple):
    """Estimates of an outcome: (n_classes, n_options), and their uncertainty."""

    name: Any
    options: list
    estimates: np.ndarray
    covariance: np.ndarray  # of the flattened estimates
    unit: float
    permuted: Permuted  # estimates of "bch"
    ratio: np.ndarray  # of standard errors to those of "bch", (n_classes, n_options)


@dataclass(frozen=True)
class ClassOutcomes:
    """Result of `class_outcomes`: means and shares of outcomes in classes.

    Attributes
    ----------
    classes : ndarray of int of shape (n_classes,)
        Indices of the components that have samples.
    method : {"bch", "ml"}
    outcomes : list of tuple
        Name, options, estimates of shape (n_classes, n_options), the covariance of the
        flattened estimates, the unit (the standard deviation of a number, 1 for
        shares), and permutations of the samples, of each outcome.
    """

    classes: np.ndarray
    method: str
    outcomes: list = field(repr=False)

    def table(
        self, interval: Float = 0.95, output: Literal["pandas", "polars"] = "pandas"
    ) -> DataFrame:
        """Return a data frame with a row for each class, outcome and option.

        Parameters
        ----------
        interval : float, default=0.95
            Confidence level of the intervals, between 0 and 1.
        output : {"pandas", "polars"}, default="pandas"
            Library of the data frame.

        Returns
        -------
        table : DataFrame
            Columns: "class", "outcome", "option" ("mean" for a number), "estimate",
            "stderr", "low" and "high".
        """
        check_interval(interval)
        names = "class", "outcome", "option", "estimate", "stderr", "low", "high"
        rows = []
        for one in self.outcomes:
            errors = _errors(one.covariance, one.estimates)
            half = one.ratio * one.permuted.quantile(interval)
            found = uncertainty(one.estimates, errors, half, interval)
            parts = one.estimates, errors, found["low"], found["high"]
            for place in np.ndindex(errors.shape):
                label, option = self.classes[place[0]], one.options[place[1]]
                own = (part[place] for part in parts)
                rows.append((int(label), one.name, str(option), *own))
        return frame_of_rows(output, names, rows)

    def tests(self, output: Literal["pandas", "polars"] = "pandas") -> DataFrame:
        """Return tests of equality, of all classes and of each pair.

        A p-value is the larger one of a Wald test, which holds for many samples in each
        class, and of permutations of the samples, which hold for any number.

        Parameters
        ----------
        output : {"pandas", "polars"}, default="pandas"
            Library of the data frame.

        Returns
        -------
        tests : DataFrame
            Columns: "outcome", "classes" ("all" or a pair such as "0, 2"), "chi2", "df"
            and "p_value"; "chi2" is that of Wald.  Where estimates have no error, as
            shares of 0 and 1, classes that differ have an infinite chi2, and others are
            not counted by "df".
        """
        names = "outcome", "classes", "chi2", "df", "p_value"
        places, rows = range(len(self.classes)), []
        for one in self.outcomes:
            groups = [("all", list(places))] if len(self.classes) > 2 else []
            groups += [
                (f"{self.classes[i]}, {self.classes[j]}", [i, j])
                for i, j in combinations(places, 2)
            ]
            rows += [(one.name, label, *_wald(one, group)) for label, group in groups]
        return frame_of_rows(output, names, rows)


def _errors(covariance, estimates):
    return np.sqrt(np.diag(covariance)).reshape(estimates.shape)


def _wald(outcome, group):
    """Return chi2, df and p of the equality of the classes of a group."""
    n_classes, n_options = outcome.estimates.shape
    n_free = n_options if n_options == 1 else n_options - 1  # shares sum to 1
    contrasts = np.zeros((len(group) - 1, n_classes))
    contrasts[:, group[0]], contrasts[np.arange(len(group) - 1), group[1:]] = -1.0, 1.0
    matrix = np.kron(contrasts, np.eye(n_free, n_options))
    difference = matrix @ outcome.estimates.ravel()
    covariance = matrix @ outcome.covariance @ matrix.T
    chi2, df = _chi2(difference, covariance, outcome.unit)
    permuted = outcome.permuted.of_outcomes(np.eye(n_options, n_free)).of(contrasts)
    p_value = max(float(stats.chi2.sf(chi2, df)), permuted.p_value()) if df else 1.0
    return chi2, df, p_value


def _chi2(difference, covariance, unit):
    """Return chi2 and its degrees of freedom, infinite for certain differences."""
    variances, directions = np.linalg.eigh(covariance)
    parts = difference @ directions
    has_error = variances > (LEAST_ERROR * unit) ** 2
    if (np.abs(parts[~has_error]) > LEAST_DIFFERENCE * unit).any():
        return np.inf, len(difference)
    return float((parts[has_error] ** 2 / variances[has_error]).sum()), has_error.sum()


def class_outcomes(
    posteriors: ArrayLike,
    outcomes: DataLike,
    *,
    method: Literal["bch", "ml"] = "bch",
    sample_weight: ArrayLike | None = None,
    sampling_weight: ArrayLike | None = None,
) -> ClassOutcomes:
    r"""Estimate means and shares of outcomes in latent classes.

    Means of the samples whose most probable class is the same are too similar between
    classes, because some samples are classified wrongly.  Both methods correct for this
    by means of the probabilities of wrong classifications [1]_.

    Parameters
    ----------
    posteriors : array-like of shape (n_samples, n_components)
        Class probabilities of the samples, from ``predict_proba`` of a mixture that was
        fitted without the outcomes.
    outcomes : DataFrame or array-like of shape (n_samples, n_outcomes)
        Numbers have a mean in each class.  Columns of text, categories or booleans of a
        data frame have a share of each value.  Missing values raise an error.
    method : {"bch", "ml"}, default="bch"
        "bch" weights the samples by the inverse of the matrix of classification errors
        and assumes no distribution; shares near 0 or 1 may be outside this range.  "ml"
        maximizes the likelihood, in which numbers have a normal distribution in each
        class, or are one of two values; it is more precise if they do.
    sample_weight : array-like of shape (n_samples,), default=None
        Number of times that each sample counts, also in standard errors.
    sampling_weight : array-like of shape (n_samples,), default=None
        Number of members of the population that each sample represents, as in
        `class_regression`.

    Returns
    -------
    result : ClassOutcomes
        Its method ``table`` has estimates and intervals, and ``tests`` compares
        classes.

    Raises
    ------
    ValueError
        If fewer than two classes have samples, a class is the most probable class of
        no sample, or outcomes have missing values or no columns.

    Warns
    -----
    UserWarning
        If numbers are so far from normal that "ml" would be wrong: the result has the
        means of "bch".

    See Also
    --------
    class_regression : Effects of covariates on the classes.

    Notes
    -----
    With W and D of `class_regression`, "bch" estimates the mean of the outcome y in
    class t by :math:`\sum_i c_{it} y_i / \sum_i c_{it}`, where :math:`c = W D^{-1}`.
    "ml" maximizes :math:`\sum_i \log \sum_t \pi_t D_{t s_i} f_t(y_i)`, where
    :math:`s_i` is the most probable class of sample i.  Standard errors are those of
    the sandwich estimator; intervals and p-values are no more certain than those of
    permuted residuals.  They ignore the uncertainty of the parameters of the
    mixture, so that 95 % intervals of means are too narrow if classes overlap: in
    generated surveys with an `entropy_r2` of .97, .89 and .72, 97, 93 and 90 % of them
    contained the true mean ("bch"), or 97, 95 and 93 % ("ml").

    References
    ----------
    .. [1] Z. Bakk, F. Tekle, J. Vermunt, "Estimating the association between latent
       class membership and external variables using bias-adjusted three-step
       approaches", Sociological Methodology, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from sktemper import class_outcomes
    >>> old = np.arange(200) % 2
    >>> posteriors = np.where(old, 0.9, 0.1)[:, None] * [1, -1] + [0, 1]
    >>> income = old + np.random.default_rng(0).normal(size=200)
    >>> result = class_outcomes(posteriors, income[:, None])
    >>> result.tests()["p_value"].item() < 0.001
    True
    """
    weights = {"sample_weight": sample_weight, "sampling_weight": sampling_weight}
    samples, outcomes = classified(posteriors, method, weights, outcomes=outcomes)
    columns = [
        (name, *_indicators(values, name))
        for name, values in named_columns(outcomes, "outcome")
    ]
    if not columns:
        raise ValueError("outcomes has no columns: pass at least one.")
    found, classes = [], _Classes(samples, [Y for *_, Y in columns])
    for number, (name, options, Y) in enumerate(columns):
        unit = (float((Y - Y[0]).std()) or 1.0) if len(options) == 1 else 1.0
        own = _OneOutcome(classes, number)
        estimates, covariance, permuted = own.bch()
        errors = _errors(covariance, estimates)
        if method == "ml":
            given = own.ml(unit, len(options) == 1)
            if given is None:
                warn(
                    f"The outcome {name!r} is far from normal in the classes, so that "
                    "means of maximum likelihood differ from those of 'bch' or are "
                    "less precise: those of 'bch' take their place."
                )
            else:
                estimates, covariance = given
        ratio = _errors(covariance, estimates) / np.maximum(errors, TINY)
        results = estimates, covariance, unit, permuted, np.minimum(ratio, 1.0)
        found.append(_Outcome(name, options, *results))
    return ClassOutcomes(samples.kept, method, found)


def _indicators(values, name):
    """Return the options of an outcome, and its numbers or indicators as a matrix."""
    if values.is_numeric and values.declared is None:
        check_values(values.array, np.float64, f"Outcome {name!r}", True)
        return ["mean"], np.asarray(values.array, dtype=np.float64)[:, None]
    options = [c for c in values.categories() if (values.array == c).any()]
    return options, np.column_stack([values.array == c for c in options]).astype(float)


class _Classes:
    """The samples of classes, and permutations of the residuals of all outcomes."""

    def __init__(self, samples, outcomes):
        weight, rows = samples.weight, np.eye(len(samples.kept))[samples.modal]
        totals, Y = weight @ rows, np.hstack(outcomes)
        residuals = Y - rows @ ((rows / totals).T * weight @ Y)
        self.samples = samples
        self.loadings = samples.scale * samples.given / (weight @ samples.given)
        # a mean takes this part of the variance of a sample from the residual
        part = self.loadings.T * (samples.ratios / totals[samples.modal])
        self.part = part @ self.loadings
        self.freedom = max(samples.counts.sum() - len(totals), 1.0)
        self.random = np.random.RandomState(SEED)
        deviations, self.products = permuted_sums(self.loadings, residuals, self.random)
        ends = np.cumsum([Y.shape[1] for Y in outcomes])[:-1]
        split = (np.split(part, ends, axis=-1) for part in (residuals, deviations))
        self.outcomes = list(zip(outcomes, *split, strict=True))


class _OneOutcome:
    """An outcome of the samples."""

    def __init__(self, classes, number):
        self.classes, self.samples = classes, classes.samples
        self.Y, self.residuals, self.deviations = classes.outcomes[number]
        pooled = (self.residuals.T * self.samples.counts) @ self.residuals
        self.added = np.kron(classes.part, pooled / classes.freedom)

    def covariance(self, influence):
        scaled = influence * self.samples.scale
        return scaled.T @ scaled + self.added

    def bch(self):
        """Return means or shares, their covariance, and permutations."""
        weight, shares, own = self.samples.weight, self.samples.given, self.classes
        totals = weight @ shares
        means = (shares * weight[:, None]).T @ self.Y / totals[:, None]
        errors = (self.Y[:, None] - means) * (shares / totals)[:, :, None]
        self.means, self.influence = means, errors.reshape(len(errors), -1)
        permuted = Permuted.of_rows(
            means,
            own.loadings,
            self.residuals,
            copy.deepcopy(own.random),
            n_means=0,
            sums=(self.deviations, own.products),
        )
        return means, self.covariance(self.influence), permuted

    def ml(self, unit, is_number):
        """Return estimates of maximum likelihood and their covariance.

        None means that they differ from those of `bch`, which assume no distribution,
        or have larger errors, which the best estimates of a distribution do not have.
        """
        low, high = self.Y.min(), self.Y.max()
        errors, weight = self.samples.likelihoods, self.samples.weight
        scale = self.samples.scale
        if not is_number:
            estimates, influence = _ml(_Options, self.Y, errors, weight)
        elif low < high and ((self.Y == low) | (self.Y == high)).all():
            pair = np.hstack([self.Y == low, self.Y == high]).astype(float)
            shares, influence = _ml(_Options, pair, errors, weight)
            estimates = low + (high - low) * shares[:, 1:]
            influence = (high - low) * influence[:, 1::2]
        else:
            estimates, influence = _ml(_Numbers, self.Y, errors, weight)
            change = (influence - self.influence) * scale
            both = influence, MOST_LOSS * self.influence
            difference = (estimates - self.means).ravel()
            chi2, df = _chi2(difference, change.T @ change, unit)
            squares = (((part * scale) ** 2).sum(axis=0) for part in both)
            is_larger = np.greater(*squares).any()
            if df and (is_larger or stats.chi2.sf(chi2, df) < LEAST_P):
                return None
        return estimates, self.covariance(influence)


def _ml(likelihood, Y, errors, weight):
    """Return the estimates of maximum likelihood, and the influence of each sample."""
    likelihood = likelihood(Y, np.log(errors + 1e-300))
    parameters = likelihood.fitted(weight)

    def slope(parameters):
        return weight @ likelihood.scores(parameters)

    hessian = differences(slope, parameters, STEP * np.eye(len(parameters)))
    inverse = np.linalg.pinv(0.5 * (hessian + hessian.T), RANK_TOL, hermitian=True)
    estimates, jacobian = likelihood.estimates(parameters)
    return estimates, -likelihood.scores(parameters) @ inverse @ jacobian.T


class _Likelihood:
    """Likelihood of outcomes and of most probable classes.

    Parameters are logarithms of the sizes of classes, up to a constant, followed by
    those of the outcome.
    """

    def __init__(self, Y, log_errors):
        self.Y, self.log_errors, self.n_classes = Y, log_errors, log_errors.shape[1]

    def fitted(self, weight):
        """Return the parameters at the maximum, by expectation maximisation."""
        shares, last = np.exp(self.log_errors), np.inf
        shares = shares / shares.sum(axis=1, keepdims=True)
        for _ in range(MOST_STEPS):
            own = shares * weight[:, None]
            sizes = np.log(own.sum(axis=0) / own.sum())
            parameters = np.concatenate([sizes, self.best(own)])
            if np.abs(parameters - last).max() < CHANGE:
                break
            last, shares = parameters, self.shares(parameters)
        return parameters

    def shares(self, parameters):
        sizes = log_softmax(parameters[: self.n_classes])
        logs = self.log_densities(parameters[self.n_classes :])
        return softmax(sizes + self.log_errors + logs, axis=1)

    def scores(self, parameters):
        """Return the gradients of samples, (n_samples, n_parameters)."""
        shares = self.shares(parameters)
        sizes = shares - softmax(parameters[: self.n_classes])
        own = self.slopes(parameters[self.n_classes :]) * shares[:, :, None]
        return np.hstack([sizes, own.reshape(len(own), -1)])


class _Numbers(_Likelihood):
    """Normal outcomes; parameters of a class are the mean and the log of the sd.

    These are parameters of standardised outcomes, so that results do not depend on the
    units.
    """

    def __init__(self, Y, log_errors):
        self.centre, self.unit = Y.mean(), Y.std() or 1.0
        super().__init__((Y - self.centre) / self.unit, log_errors)

    def best(self, own):
        totals, y = own.sum(axis=0), self.Y
        means = (own * y).sum(axis=0) / totals
        squares = (own * (y - means) ** 2).sum(axis=0)
        # one sample more, with the variance of all, so that no class can shrink to one
        squares = (squares + squares.sum() / totals.sum()) / (totals + 1.0)
        return np.stack([means, 0.5 * np.log(squares + 1e-6)], axis=1).ravel()

    def log_densities(self, parameters):
        means, logs = parameters.reshape(-1, 2).T
        return -logs - 0.5 * ((self.Y - means) * np.exp(-logs)) ** 2

    def slopes(self, parameters):
        means, logs = parameters.reshape(-1, 2).T
        z = (self.Y - means) * np.exp(-logs)
        return np.stack([z * np.exp(-logs), z**2 - 1.0], axis=2)

    def estimates(self, parameters):
        own = parameters[self.n_classes :].reshape(-1, 2)
        places = self.n_classes + 2 * np.arange(self.n_classes)
        jacobian = self.unit * np.eye(len(parameters))[places]
        return self.centre + self.unit * own[:, :1], jacobian


class _Options(_Likelihood):
    """Outcomes with options; parameters are logarithms of shares, up to a constant."""

    def best(self, own):
        counts = own.T @ self.Y
        return np.log(counts / counts.sum(axis=1, keepdims=True) + 1e-12).ravel()

    def _logs(self, parameters):
        return log_softmax(parameters.reshape(self.n_classes, -1), axis=1)

    def log_densities(self, parameters):
        return self.Y @ self._logs(parameters).T

    def slopes(self, parameters):
        return self.Y[:, None] - np.exp(self._logs(parameters))

    def estimates(self, parameters):
        shares = np.exp(self._logs(parameters[self.n_classes :]))
        n_options, T = shares.shape[1], self.n_classes
        jacobian = np.zeros((T, n_options, T + shares.size))
        for k, p in enumerate(shares):
            own = slice(T + k * n_options, T + (k + 1) * n_options)
            jacobian[k, :, own] = np.diag(p) - np.outer(p, p)
        return shares, jacobian.reshape(shares.size, -1)

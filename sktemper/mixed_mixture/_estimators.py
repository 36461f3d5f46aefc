"""The estimators of mixtures of rows of several kinds of values."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Unpack

import numpy as np
from scipy import sparse, stats
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import validate_data

from .._engine._data import Problem, Source, check_widths, matrices_of
from .._estimator._choices import choices_of, choose
from .._estimator._conditional import (
    Conditional,
    Exponential,
    component_scores,
    conditional,
)
from .._estimator._constructors import Annealed, Training
from .._estimator._data_checks import (
    EMPTY,
    IDENTIFIER,
    MANY_OPTIONS,
    fault_of,
    warn_of_columns,
)
from .._estimator._estimator import TemperedEstimator
from .._estimator._mixtures import MixtureMixin, check_enough_samples, model_of
from .._estimator._problems import Validation, validated_weight, workers_for
from .._estimator._variants import AnnealedMixin, training_constructor
from .._families._dirichlet import CONCENTRATION
from .._families._mixture import drawn_components
from .._utils._arguments import check_statistic
from .._utils._budgets import TERMS_ALONE
from .._utils._constraints import WholeNumber
from .._utils._docstrings import completed_by
from .._utils._frames import as_frame, is_frame, is_polars, sampled_frame, with_values
from .._utils._linalg import tiled_matmul
from .._utils._notices import MOST_NAMED, is_first, listed, warn
from .._utils._typing import DataFrame, DataLike, Float, Int, Statistic
from .._utils._validation import (
    check_labels_differ,
    check_no_container,
    check_numbers,
    check_unmasked,
    check_values,
)
from .._utils._values import INEXACT, column_values
from ..model import ConjugateModel
from ..moves import Moves
from ..noise import GradientNoise
from ..tempering import Tempering
from . import _columns
from ._dependence import shares_and_residuals, sums_of_residuals
from ._model import MixedMixtureModel

# -- mixin for estimators whose data are coded as numbers ------------------------------
#: Fault of a column for which the user chose a normal density.
CONSTANT = "has one value only, which gives its kind an unlimited density"
#: Largest number of distinct values that describe a column of data in parts.
MOST_KEPT = 4096
#: The logarithm of imputed values is at most this, so that they are finite.
LARGEST_LOG = np.log(np.finfo(float).max)


class CollectionValidation(Validation):
    """Validation of rows of a collection, whose values are their own codes.

    Workers of a cluster validate whole blocks, whose values have codes after the fit.
    """

    def __call__(self, X):
        X = check_numbers(self.estimator, X, self.reset)
        if not self.reset:
            _check_own(self.estimator.columns_)
        return X

    def __reduce__(self):
        if self.reset:
            return super().__reduce__()
        return Validation(self.estimator, self.method, self.reset).__reduce__()


class RowReader(ConjugateModel):
    """Model whose blocks are rows of data, so that workers can read the data."""

    block_size = 4096

    def take(self, X, rows):
        return np.asarray(X[rows])


def column_labels(X):
    """Return the labels of the columns of a data frame; None if it has no labels."""
    labels = list(X.columns) if is_frame(X) else [()]
    return None if any(isinstance(label, tuple) for label in labels) else labels


def _join(blocks):
    return functools.reduce(
        lambda total, block: [
            one.joined(other, MOST_KEPT)
            for one, other in zip(total, block, strict=True)
        ],
        blocks,
    )


def _summary(model, block, prepared, weight):
    return [one.weighted(weight).compressed(MOST_KEPT) for one in column_values(block)]


# -- the estimators of mixtures of rows of several kinds of values ---------------------
class TemperedMixedMixture(MixtureMixin, TemperedEstimator):
    """Mixture of answers, counts and measurements, with any tempering, or none.

    A latent class analysis of a table whose columns are of several kinds [1]_: options,
    counts and numbers, which are independent given the class of a row.  The fit can use
    any tempering [2]_.

    Parameters
    ----------
    kinds : "auto", "from_dtype", str, dict or sequence of str, default="auto"
        Kind of each column, see "Notes".  "auto" chooses it by the data, "from_dtype"
        by the type alone; other kinds are given for all, by name, or by index.
    tempering : Tempering, "global", "local" or None, default="global"
        Temperature of a fit, see `sktemper.tempering`: inferred ("global"), inferred
        for each sample, for data with outliers ("local"), of a policy, or 1 (None).
    categories : dict, default=None
        Ordered lists of options by name or index of a column, if the data of `fit`, or
        of the first `partial_fit`, may lack some.  None takes those of the data.
    n_bins : int, default=5
        Number of intervals of a "binned" column, with about equal numbers of rows; a
        "histogram" has at least as many, and more for many rows.
    feature_prior : float, default=1.0
        Concentration of the Dirichlet prior of the options of a column; larger values
        keep their probabilities away from 0.
    batch_size : int, "auto" or None, default=None
        Number of samples of a step; None takes all (coordinate ascent).  "auto" is
        faster for millions: a tenth, at least 20 per component and at most 5,000.

    Notes
    -----
    Kinds of columns are "categorical" and "binary" (options), "gaussian", "lognormal"
    (normal logarithms of positive numbers), "poisson" (counts), "histogram" (a density
    that is constant in each of ``n_bins`` or more intervals, and falls beyond them) and
    "binned" (intervals as options).  With "auto", text, and whole numbers of at most 10
    values, are categorical.  Other numbers are normal or log-normal if their skewness
    and kurtosis permit it, normal if the column has several modes, and otherwise a
    histogram, as are numbers with many zeros.  With "from_dtype", other numbers are
    Gaussian, unless all are equal.  The first chunk of a stream determines the kinds,
    intervals and categories.

    NaN and None are missing values, and are assumed to be missing at random.
    Probabilities of options have Dirichlet priors, rates of counts have Gamma priors,
    and means and precisions of numbers have normal-gamma priors, whose scales are
    computed from the column.  `score_samples` returns the logarithm of the posterior
    predictive density of the values that are not missing, and `score` is the mean of
    these logarithms.  It is -inf for a number in a "lognormal" column that is not
    positive.

    References
    ----------
    .. [1] P. Lazarsfeld, N. Henry, "Latent structure analysis", 1968.
    .. [2] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016.

    Examples
    --------
    >>> import pandas as pd
    >>> from sktemper import TemperedMixedMixture
    >>> X = pd.DataFrame({"likes": ["tea", "coffee"] * 20, "cups": [1, 4] * 20})
    >>> TemperedMixedMixture(2, random_state=0).fit(X).predict_proba(X).shape
    (40, 2)
    """

    kinds: Literal["auto"] | str | dict[str, Any] | Sequence
    categories: dict[str, Any] | None
    n_bins: Int
    feature_prior: Float

    @training_constructor(Training)
    def __init__(
        self,
        n_components: Int = 10,
        *,
        kinds: Literal["auto"] | str | dict[str, Any] | Sequence = "auto",
        tempering: Tempering | Literal["global", "local"] | None = "global",
        max_iter: Int = 100,
        categories: dict[str, Any] | None = None,
        n_bins: Int = 5,
        feature_prior: Float = 1.0,
        weight_concentration_prior: Float | None = None,
        moves: Moves | Literal["birth", "split_merge", "all"] | None = None,
        batch_size: Int | Literal["auto"] | None = None,
        gradient_noise: GradientNoise | None = None,
        **parameters: Unpack[Training],
    ): ...

    columns_: tuple
    """Descriptions of the columns, which determine the codes of values."""

    _parameter_constraints = {
        **TemperedEstimator._parameter_constraints,
        "kinds": [str, dict, Sequence, "array-like"],
        "categories": [dict, None],
        "n_bins": [WholeNumber(2)],
        "feature_prior": [CONCENTRATION],
        "weight_concentration_prior": [CONCENTRATION, None],
    }
    _fixed_by_fit = (
        "n_components",
        "kinds",
        "categories",
        "n_bins",
        "feature_prior",
        "weight_concentration_prior",
    )

    _other_distributions = (
        "columns do not fit their kinds: use 'histogram' for numbers, and leave out "
        "columns that nearly repeat other columns"
    )

    _input_tags = {"allow_nan": True, "categorical": True, "string": True}

    @staticmethod
    def _make_model(settings, n_features, dtype):
        given = MixedMixtureModel, settings, n_features, dtype
        return model_of(*given, columns=settings.columns)

    def _settings(self):
        return super()._settings().replaced(columns=self.columns_)

    _validated = (*TemperedEstimator._validated, "columns_")

    _check_enough = check_enough_samples

    # -- views of the state ------------------------------------------------------------
    @property
    def kinds_(self) -> dict[str, Any]:
        """Kind of each column, a dict by name or index."""
        return {name: column.kind for name, column in _named_columns(self)}

    @property
    def categories_(self) -> dict[str, Any]:
        """Options of columns that have options, a dict of lists by name or index."""
        return {
            name: list(column.categories)
            for name, column in _named_columns(self)
            if column.n_options
        }

    def _validate(self, X, reset):
        """Return ``X`` as an array of numeric codes of its values."""
        X = _checked_table(self, X, reset)
        coded = None
        if not reset and is_frame(X) and X.shape[0] == 1:
            coded = _columns.row_numbers(X, self.columns_)
        if coded is None:
            values = list(column_values(X))
            if reset:
                self.columns_ = _described(self, values, column_labels(X), X.shape[0])
            coded = _encoded(self, X, values)
        check_values(coded, coded.dtype, training=reset)
        return coded

    _validate_gapped = _validate
    conditional, _component_scores = conditional, component_scores

    def _validation(self, X, method, reset):
        """Return the `Validation` of data; the numbers of collections have no codes."""
        if isinstance(X, Source):
            return CollectionValidation(self, method, reset)
        return super()._validation(X, method, reset)

    def _refitted(self, X, sample_weight, seed):
        """Return a mixture of the same type fitted to weighted rows.

        The descriptions of the columns do not change.
        """
        return super()._refitted(X, sample_weight, seed, _same_columns=self.columns_)

    def _training_data(self, X, fresh, sample_weight):
        """Return validated training data; columns are described by all parts."""
        X = as_frame(X)
        self._column_weight = None
        # a wrong shape is refused later
        if sample_weight is not None and np.asarray(sample_weight).ndim == 1:
            sample_weight = validated_weight(sample_weight, sample_weight)
            self._column_weight = sample_weight
        is_collection, names = isinstance(X, Source), column_labels(X)
        if fresh and not is_collection and matrices_of(X) is X:
            self._same_columns = _described_parts(self, X)
        data = super()._training_data(X, fresh, sample_weight)
        if fresh and is_collection:
            names, model = data.feature_names, RowReader()
            weight = _weights_of_rows(sample_weight, len(data))
            with workers_for(self.n_jobs, model, data) as workers:
                problem = Problem(model, data, workers)
                values = _join(problem.map(_summary, None, values=weight))
            self.columns_ = _described(self, values, names, len(data))
            _check_own(self.columns_)
        if fresh:
            choose(self, names=names, library="polars" if is_polars(X) else "pandas")
        for name in ("_column_weight", "_same_columns"):  # no results of the fit
            vars(self).pop(name, None)
        return data

    def _profiles(self, k, tails):
        for name, column, own in _posteriors(self):
            for one in _profile(column, [part[k] for part in own], tails):
                yield name, column.kind, *one

    def _n_parameters(self, n_classes):
        free = {"counts": 1, "normals": 2}
        return n_classes * sum(
            free.get(column.part, column.n_options - 1) for column in self.columns_
        )

    def _conditional_columns(self, rows, others):
        numbers, options, columns = {}, {}, _posteriors(self)
        for name, column, own in (columns[j] for j in others):
            if column.n_options:
                options[name] = list(column.labels), _means(column, own)
            else:
                numbers[name] = _predictive(column, [part[None] for part in own])
        return numbers, options

    # -- data --------------------------------------------------------------------------
    @completed_by(MixtureMixin._draw_components)
    def sample(self, n_samples: Int = 1) -> tuple[np.ndarray | DataFrame, np.ndarray]:
        """Draw samples from the classes at the posterior means.

        Returns
        -------
        X : ndarray or DataFrame of shape (n_samples, n_features)
            A data frame if the model was fitted to data with names, of polars if the
            data were.  A value of a binned column is the mean of the training values in
            its interval; values of a histogram follow its density.
        y : ndarray of shape (n_samples,)
            Components of the samples.
        """
        y, random = self._draw_components(n_samples)
        columns = {
            name: _drawn(column, own, y, random)
            for name, column, own in _posteriors(self)
        }
        if choices_of(self).names is not None:
            return sampled_frame(choices_of(self).library, columns), y
        return np.column_stack(list(columns.values())), y

    def impute(self, X: DataLike, statistic: Statistic | None = None) -> Any:
        """Return data in which missing values are filled, given the rest of the row.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Answers, with the columns of the training data; gaps are NaN or None.
        statistic : {"mode", "mean", "median", "sample"} or None, default=None
            What fills a gap.  None takes the mean of numbers, also of more than two
            options that are numbers, such as answers from 1 to 5; the median of
            lognormal columns, which the tail does not move; and otherwise the mode.

        Returns
        -------
        X : DataFrame, ndarray or list
            A copy of ``X`` in the same container.  Means make a column of floats of a
            column of integers.  A column without categories keeps its gaps.

        Raises
        ------
        ValueError
            If ``statistic`` is unknown.
        TypeError
            If ``X`` is a collection on disk.

        Notes
        -----
        Options that are text, booleans or of a categorical dtype have no mean or
        median: "mean" and "median" take the mode.  For numbers, "mode" is the default
        given the most probable class.  "sample" draws the class of a row, and then the
        gaps, with ``random_state``; several samples are pooled as multiple imputations.

        None and "mean" add what the rest of the row tells about a gap beyond its class:
        the regression on the residuals of other columns, whose correlations within
        classes `fit` learns for at most 128 columns, less what chance explains [1]_.
        After `partial_fit` alone, means are those of the classes.

        References
        ----------
        .. [1] J. Schaefer, K. Strimmer, "A shrinkage approach to large-scale covariance
           matrix estimation", Statistical Applications in Genetics and Molecular
           Biology 4, 2005.
        """
        if isinstance(X, Source):
            raise TypeError(
                "impute needs rows in memory: pass parts of the collection."
            )
        check_statistic(statistic, None)
        return self._filled(X, statistic, check_random_state(self.random_state))

    def _conclude(self, problem, state):
        width = self.n_features_in_
        if width * width**2 > TERMS_ALONE:  # multiplications for a row with gaps
            return
        weight = _weights_of_rows(problem.row_weight, len(problem.data))
        prepared = self._prepared(problem.model)
        sums = problem.sum(sums_of_residuals, prepared, values=weight)
        state.choices = replace(state.choices, residuals=sums)

    def _filled(self, X, statistic, random):
        if matrices_of(X) is X:
            return [self._filled(part, statistic, random) for part in X]
        sums = choices_of(self).residuals if statistic in ("mean", None) else None
        found = self._map(X, functools.partial(shares_and_residuals, sums=sums))
        shares, more = map(np.concatenate, zip(*found, strict=True))
        rows = np.array(X, dtype=object) if isinstance(X, list | tuple) else as_frame(X)
        values = column_values(rows if is_frame(rows) else np.asarray(rows))
        y = drawn_components(shares, random) if statistic == "sample" else None
        filled = {}
        for number, ((_, column, own), one) in enumerate(
            zip(_posteriors(self), values, strict=True)
        ):
            gaps = one.missing()
            if not gaps.any() or (column.n_options and not column.categories):
                continue
            known = column, own, shares[gaps], statistic, more[gaps, number]
            if y is not None:
                found = _drawn(column, own, y[gaps], random)
            elif not column.n_options:
                found = _number(*known)
            else:
                is_number = column.has_own_values and one.declared is None
                found = _option(*known, is_number)
            filled[number] = gaps, found
        return with_values(X, filled)


# -- descriptions and codes of columns -------------------------------------------------
def _checked_table(mixture, X, reset):
    """Return a data frame or an array of two dimensions; store column names."""
    check_no_container(X)
    if is_frame(X := as_frame(X)):
        labels = _checked_labels(X, None if reset else choices_of(mixture).names)
        if not labels:
            raise ValueError(f"X has no columns (shape={X.shape}): pass at least one.")
        names = vars(mixture).get("feature_names_in_")
        if reset or names is None or labels != names.tolist():
            validate_data(mixture, X, reset=reset, skip_check_array=True)
        return X
    check_unmasked(X)
    kind = getattr(getattr(X, "dtype", None), "kind", None)
    if isinstance(X, list | tuple):  # an array of objects keeps types
        X, kind = np.array(X, dtype=object), "O"
    # floats would merge large integers; a maximum would sort sparse data
    if kind in ("i", "u") and X.size and not sparse.issparse(X):
        kind = "O" if max(int(X.max()), -int(X.min())) > INEXACT else kind
    if kind in tuple("OUTSb"):
        options = {"dtype": None, "ensure_all_finite": "allow-nan"}
        return validate_data(mixture, X, reset=reset, **options)
    return check_numbers(mixture, X, reset)


def _described(mixture, values, names, n_rows):
    """Return descriptions of columns: those of another fit, or of weighted values."""
    same, weight = map(vars(mixture).get, ("_same_columns", "_column_weight"))
    if same is not None:
        return same
    seen, are_rows = set(), values[0].weight is None
    if weight is not None:
        weight = _weights_of_rows(weight, n_rows)
        n_rows = np.count_nonzero(weight)
        values = [one.weighted(weight) for one in values] if are_rows else values
    faults = [
        fault_of(one.entries, seen) if one.is_numeric and are_rows else None
        for one in values
    ]
    values = [one.compressed() for one in values]
    kinds = _columns.declared_kinds(mixture.kinds, names, len(values))
    given = mixture.categories or {}
    categories = _columns.by_column_index(given, names, len(values), "categories")
    kinds = _columns.chosen_kinds(values, kinds, categories)
    columns = tuple(
        _columns.describe(one, kind, categories.get(number), mixture.n_bins)
        for number, (one, kind) in enumerate(zip(values, kinds, strict=True))
    )
    faults = _faults(columns, values, faults, n_rows)
    warn_of_columns(mixture, len(columns), faults)
    return columns


def _described_parts(mixture, parts):
    """Return the `Column` of each column of data in parts in memory."""
    sizes = [part.shape[0] for part in parts]
    weights = _weights_of_rows(mixture._column_weight, sum(sizes))
    weights = np.split(weights, np.cumsum(sizes)[:-1])
    blocks = (
        _summary(None, _checked_table(mixture, part, reset=True), None, weight)
        for part, weight in zip(parts, weights, strict=True)
        if len(weight)
    )
    check_widths(parts)
    return _described(mixture, _join(blocks), None, sum(sizes))


def _encoded(mixture, X, values):
    """Return an array of the numeric codes of values, or ``X`` itself if equal."""
    parts, unknown = [], {}
    weight, n_rows = vars(mixture).get("_column_weight"), X.shape[0]
    if weight is not None:  # of these rows, and of later parts
        weight, mixture._column_weight = np.split(weight, [n_rows])
    for column, one in zip(mixture.columns_, values, strict=True):
        numbers, others = column.numbers(one)
        parts.append(numbers)
        if others and np.shape(weight) == (n_rows,):
            _, others = column.numbers(one.weighted(weight))
        if others:
            unknown[one.name] = others
    _warn_of_unknown(mixture, unknown)
    given = None if is_frame(X) else X.dtype
    dtype = np.float32 if given == np.float32 else np.float64
    if given == dtype and all(
        numbers is one.entries for numbers, one in zip(parts, values, strict=True)
    ):
        return X
    if dtype == np.float32 and not all(one.fits_float32 for one in mixture.columns_):
        dtype = np.float64
    coded = np.empty((X.shape[0], len(parts)), dtype)
    for number, numbers in enumerate(parts):
        coded[:, number] = numbers
    if not len(coded) or np.isinf(coded).any():
        check_array(coded, dtype=dtype, ensure_all_finite="allow-nan")  # raises
    return coded


# -- columns and the parameters of their classes, see `MixedFamily.by_column` ----------
def _named_columns(mixture):
    mixture._state()
    return list(zip(mixture._names().tolist(), mixture.columns_, strict=True))


def _posteriors(mixture):
    """Return the name of each column, its `Column`, and its parameters by class."""
    components = mixture._state().globals_.components
    own = mixture._fitted_model().family.by_column(components)
    return [
        (*pair, one) for pair, one in zip(_named_columns(mixture), own, strict=True)
    ]


def _normals(column, own):
    """Return means and standard deviations of values, or of their logarithms."""
    _, m, a, b = own
    return column.location + column.scale * m, column.scale * np.sqrt(b / a)


def _means(column, own):
    """Return the mean value in each class, or the shares of options."""
    if column.n_options:
        return own[0] / own[0].sum(axis=1, keepdims=True)
    if column.part == "counts":
        return own[0] / own[1]
    means, spreads = _normals(column, own)
    if column.kind == "lognormal":
        return np.exp(np.minimum(means + spreads**2 / 2, LARGEST_LOG))
    return means


def _number(column, own, shares, statistic, more):
    """Return a statistic of a column of numbers for rows with shares of classes.

    ``more`` is what the rest of the row adds to expected values, or to logarithms.
    """
    if statistic == "mode":  # the default of the most probable class
        shares, statistic = np.eye(shares.shape[1])[shares.argmax(axis=1)], None
    if statistic == "median" or (statistic is None and column.kind == "lognormal"):
        numbers = [_predictive(column, [part[None] for part in own])]
        found = Conditional([0], {}, shares, None, numbers, {}).quantiles(0.5)[:, 0]
    else:
        found = tiled_matmul(shares, _means(column, own)[:, None])[:, 0]
    more = column.scale * more
    if column.kind == "lognormal":
        return np.exp(np.minimum(np.log(found) + more, LARGEST_LOG))
    return found + more if column.part == "normals" else np.maximum(found + more, 0.0)


def _option(column, own, shares, statistic, more, is_number):
    """Return a statistic of options for rows with shares of classes.

    Intervals, and options that are numbers, have means and medians.
    """
    shares = tiled_matmul(shares, _means(column, own))
    is_interval = column.kind in _columns.WITH_INTERVALS
    values = column.option_scores
    has_mean = is_interval or (is_number and (statistic or len(values) > 2))
    if has_mean and statistic in ("mean", None):
        means = (shares * values).sum(axis=1) + more
        return np.clip(means, values.min(), values.max())
    codes = (shares / (column.lengths or 1.0)).argmax(axis=1)
    if has_mean and statistic == "median":
        order = np.argsort(values)
        codes = order[(shares[:, order].cumsum(axis=1) < 0.5).sum(axis=1)]
    return column.decode(codes)


def _drawn(column, own, y, random):
    """Return values that are drawn from the classes y."""
    if column.part == "normals":
        numbers = random.normal(*(part[y] for part in _normals(column, own)))
        return np.exp(numbers) if column.kind == "lognormal" else numbers
    means = _means(column, own)[y]
    if column.part == "counts":
        return random.poisson(means).astype(float)
    uniform = random.uniform(size=(len(y), 1))
    codes = (means.cumsum(axis=1) < uniform).sum(axis=1)
    histogram = column.histogram
    return histogram.draw(codes, random) if histogram else column.decode(codes)


def _predictive(column, own):
    """Return the posterior predictive distributions of numbers."""
    if column.part == "counts":
        shape, rate = own
        return stats.nbinom(shape, rate / (rate + 1.0))
    kappa, m, a, b = own
    location = column.location + column.scale * m
    width = column.scale * np.sqrt(b * (kappa + 1.0) / (a * kappa))
    own = stats.t(2.0 * a, location, width)
    return Exponential(own) if column.kind == "lognormal" else own


def _profile(column, own, tails):
    """Return tuples of an option, its mean, and the ends of its interval."""
    if column.n_options:
        (own,) = own
        rest = np.maximum(own.sum() - own, 1e-9)
        ends = stats.beta.ppf(np.reshape(tails, (2, 1)), own, rest)
        parts = map(np.ndarray.tolist, (own / own.sum(), *ends))
        return zip(column.labels, *parts, strict=False)
    if column.part == "counts":
        shape, rate = own
        low, high = stats.gamma.ppf(tails, shape, scale=1.0 / rate).tolist()
        return [("rate", float(shape / rate), low, high)]
    kappa, m, a, b = own
    low, high = stats.t.ppf(tails, 2.0 * a, m, np.sqrt(b / (a * kappa)))
    spreads = np.sqrt(b / stats.gamma.ppf(tails[::-1], a))
    numbers = column.location + column.scale * np.array([m, low, high])
    sds = column.scale * np.array([np.sqrt(b / a), *spreads])
    if column.kind == "lognormal":
        numbers = np.exp(numbers)
        return [("median", *numbers.tolist()), ("log sd", *sds.tolist())]
    return [("mean", *numbers.tolist()), ("sd", *sds.tolist())]


# -- checks of columns -----------------------------------------------------------------
def _weights_of_rows(weight, n_rows):
    """Return the weights of rows; a wrong shape is refused later."""
    if weight is None or np.shape(weight) != (n_rows,):
        return np.ones(n_rows)
    return np.asarray(weight, dtype=float)


def _checked_labels(X, known):
    """Return the labels of a data frame; raise if they repeat or are not those known.

    Labels that are text are compared by `validate_data`.
    """
    labels = np.asarray(X.columns, dtype=object).tolist()
    check_labels_differ(labels)
    if known is None or all(isinstance(label, str) for label in labels):
        return labels
    are_numbered = list(range(len(known))) in (labels, known)
    if labels != known and (not are_numbered or set(labels) == set(known)):
        raise ValueError(
            "The column labels of X should match those that were passed during "
            f"fit, in the same order: {listed(known)}; got {listed(labels)}"
        )
    return labels


def _warn_of_unknown(mixture, unknown):
    """Warn of unknown values of some columns, of each column once."""
    new = (
        f"{name}: {values[:MOST_NAMED]}"
        for name, values in unknown.items()
        if is_first(mixture, f"unknown {name}")
    )
    if named := list(itertools.islice(new, MOST_NAMED)):
        warn(
            "X has values that are none of the categories of the fit, or not positive "
            "in a column of the kind 'lognormal'. These values count as missing. "
            f"{'; '.join(named)}"
        )


def _faults(columns, values, faults, n_rows):
    """Yield columns that no class explains, or that every class explains, and why.

    ``values`` are compressed, and ``faults`` are those of columns of numbers.
    """
    # a column with more distinct texts looks like an identifier
    most = max(MANY_OPTIONS, n_rows / 2)
    for column, one, fault in zip(columns, values, faults, strict=True):
        n_values = len(one.entries)
        is_option = not one.is_numeric or column.kind in _columns.WITH_CATEGORIES
        if n_values == 0:
            fault = EMPTY
        elif is_option and n_values > most:
            fault = IDENTIFIER
        elif column.part == "normals" and n_values == 1:
            fault = CONSTANT
        yield one.name, fault


def _check_own(columns):
    for number, column in enumerate(columns):
        is_coded = column.kind in _columns.WITH_CATEGORIES
        if is_coded and column.categories and not column.has_own_values:
            raise ValueError(
                f"Column {number} of X has the categories {column.categories[:3]}, "
                "but a collection has numbers only: pass X as an array or a data "
                "frame, or use numbers as categories."
            )


class MixedMixtureParameters(Annealed, Training, total=False):
    """Parameters that the estimators of the model have in common."""

    kinds: Literal["auto"] | str | dict[str, Any] | Sequence
    categories: dict[str, Any] | None
    n_bins: Int
    feature_prior: Float
    weight_concentration_prior: Float | None


class AnnealedMixedMixture(AnnealedMixin, TemperedMixedMixture):
    """Mixture of answers, counts and measurements, by annealing and moves.

    A latent class analysis of a table whose columns are of several kinds [1]_: options,
    counts and numbers, which are independent given the class of a row.  The fit starts
    at a high temperature, which falls to 1 [2]_, and then splits and merges components.

    Parameters
    ----------
    moves : Moves, "birth", "split_merge", "all" or None, default="split_merge"
        Moves after the passes of `fit`, to leave poor optima, see `sktemper.moves`.

    Examples
    --------
    >>> import pandas as pd
    >>> from sktemper import AnnealedMixedMixture
    >>> X = pd.DataFrame({"likes": ["tea", "coffee"] * 20, "cups": [1, 4] * 20})
    >>> AnnealedMixedMixture(2, random_state=0).fit(X).predict_proba(X).shape
    (40, 2)
    """

    def __init__(
        self,
        n_components: Int = 10,
        *,
        moves: Moves | Literal["birth", "split_merge", "all"] | None = "split_merge",
        **parameters: Unpack[MixedMixtureParameters],
    ): ...

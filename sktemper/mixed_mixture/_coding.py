"""Mixin for estimators whose data are coded as numbers."""

import contextlib

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from .._arguments import refuse
from .._data import InMemory, Source
from .._estimator import warn_once
from .._limits import check_values
from .._loop import Problem
from .._validation import (
    check_data,
    check_no_container,
    check_unmasked,
    looks_like_text,
)
from ..model import ConjugateModel
from ._columns import by_number, described, kinds_of
from ._values import columns_of, is_frame

__all__ = ["CodedColumnsMixin"]

#: A column looks like an identifier if the number of its distinct texts exceeds both
#: SHARE_OF_ROWS times the number of rows, and MANY_OPTIONS.
SHARE_OF_ROWS, MANY_OPTIONS = 0.5, 50
#: Largest number of distinct values that describe a column of data in parts.
MOST_KEPT = 4096
#: Types of arrays that are not converted.
FLOATS = [np.float64, np.float32]
#: Largest number of columns in a message.
NAMED = 3


class CodedColumnsMixin:
    """Mixin for estimators of data whose columns are of several kinds.

    The attribute ``columns_`` describes the columns, see `Column`.  Validation returns
    an array of numeric codes of values, with NaN for missing values.  It is ``X``
    itself if ``X`` is an array of floats.
    """

    #: Descriptions of columns from another fit, which are used if they are not None.
    _same_columns = None
    #: Whether the data are a collection on disk or of Dask.  Only the extreme values of
    #: collections are validated.
    _is_collection = False
    #: Weights of the rows, from which columns are described.
    _weight_of_columns = None

    def _validate(self, X, reset):
        """Return ``X`` as an array of numeric codes of its values."""
        X = self._checked(X, reset)
        if self._is_collection:  # X has only the extreme values of all columns
            return check_array(X, dtype=FLOATS, ensure_all_finite="allow-nan")
        columns = list(columns_of(X))
        if reset:
            self.columns_ = self._described(columns)
            self._warn_of_identifiers(columns)
        coded = self._coded(X, columns)
        check_values(coded, coded.dtype, training=reset)
        return coded

    def _checked(self, X, reset):
        """Return a data frame or an array of two dimensions; store column names."""
        check_no_container(X)
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        check_unmasked(X)
        kind = getattr(getattr(X, "dtype", None), "kind", None)
        if kind in tuple("OUTb") or (kind is None and looks_like_text(X)):
            options = {"dtype": None, "ensure_all_finite": "allow-nan"}
            return validate_data(self, X, reset=reset, **options)
        return check_data(
            self, X, reset=reset, dtype=FLOATS, ensure_all_finite="allow-nan"
        )

    def _described(self, values):
        """Return the `Column` of each column, given its values and the parameters."""
        if self._same_columns is not None:
            return self._same_columns
        n_features, weight = len(values), self._weight_of_columns
        if weight is not None and values[0].weight is None:
            weight = np.asarray(weight, dtype=float)
            if weight.shape == values[0].values.shape:  # other shapes are refused later
                values = [one.weighted(weight) for one in values]
        values = [one.compressed() if one.is_numeric else one for one in values]
        kinds = kinds_of(self.kinds, self._column_names(), n_features)
        categories = self._declared(n_features)
        return tuple(
            described(one, kind, categories.get(number), self.n_bins)
            for number, (one, kind) in enumerate(zip(values, kinds, strict=True))
        )

    def _refitted(self, X, sample_weight, seed):
        """Return a mixture of the same type fitted to weighted rows.

        The descriptions of the columns do not change.
        """
        other = clone(self).set_params(random_state=seed)
        other._same_columns = self.columns_
        return other.fit(X, sample_weight=sample_weight)

    def _column_names(self):
        """Return the names of the columns of the training data, or None."""
        return vars(self).get("feature_names_in_")

    def _declared(self, n_features):
        """Return the categories that the user declared, by indices of columns."""
        if self.categories is None:
            return {}
        if not isinstance(self.categories, dict):
            refuse("categories", "a dict of lists by column, or None", self.categories)
        names = self._column_names()
        return by_number(self.categories, names, n_features, "categories")

    def _coded(self, X, values):
        """Return an array of the numeric codes of values, or ``X`` itself if equal."""
        pairs = zip(self.columns_, values, strict=True)
        parts, unknown = [], {}
        for column, one in pairs:
            numbers, others = column.numbers(one)
            parts.append(numbers)
            if others:
                unknown[one.name] = others
        if unknown:
            self._warn_of_unknown(unknown)
        dtype = getattr(X, "dtype", None)
        if dtype in (np.float32, np.float64) and all(
            numbers is one.values for numbers, one in zip(parts, values, strict=True)
        ):
            return X
        dtype = np.float32 if dtype == np.float32 else np.float64
        coded = np.empty((X.shape[0], len(parts)), dtype)
        for number, numbers in enumerate(parts):
            coded[:, number] = numbers
        return check_array(coded, dtype=dtype, ensure_all_finite="allow-nan")

    def _warn_of_unknown(self, unknown):
        named = [f"{name}: {values[:NAMED]}" for name, values in unknown.items()]
        warn_once(
            self,
            "unknown",
            "X has values that are none of the categories of the fit. These values "
            f"count as missing. {'; '.join(named[:NAMED])}",
            UserWarning,
        )

    def _warn_of_identifiers(self, values):
        for column, one in zip(self.columns_, values, strict=True):
            most = max(MANY_OPTIONS, SHARE_OF_ROWS * len(one.values))
            if column.n_options > most and one.declared is None:
                warn_once(
                    self,
                    "identifiers",
                    f"{one.name} has {column.n_options} different values in "
                    f"{len(one.values)} rows, such as {column.categories[:NAMED]}: it "
                    "looks like an identifier. Leave it out of X.",
                    UserWarning,
                )

    def _fit(self, X, sample_weight, continued, X_val=None):
        """Start a fit, or continue an earlier fit."""
        with self._weighing_columns(sample_weight):
            return super()._fit(X, sample_weight, continued, X_val)

    def partial_fit(self, X, y=None, sample_weight=None):
        """Continue the training with a chunk of a stream.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Chunk of a stream.  It is cut, in order, into batches of ``batch_size``
            rows; a smaller chunk is one batch.  With ``batch_size="auto"`` the batches
            of a chunk have equal sizes.  The first chunk determines the kinds,
            intervals and categories of the columns.  Use the parameter ``categories``
            for categories that the first chunk may lack.
        y : None
            Ignored, for compatibility with scikit-learn.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, by which their statistics are multiplied.

        Returns
        -------
        self : object
            The estimator.  A fitted model continues at its temperature and learning
            rate.  A new model has a single start; ``n_init`` is ignored.
        """
        with self._weighing_columns(sample_weight):
            return super().partial_fit(X, y, sample_weight)

    @contextlib.contextmanager
    def _weighing_columns(self, sample_weight):
        """Return a context in which descriptions of columns use the weights of rows."""
        self._weight_of_columns = sample_weight
        try:
            yield
        finally:
            vars(self).pop("_weight_of_columns", None)

    def _training_data(self, X, fresh):
        """Return validated training data; columns are described by all parts."""
        with self._noting_collections(X):
            data = super()._training_data(X, fresh)
        is_whole = len(data.parts) == 1 and isinstance(data.parts[0], InMemory)
        if fresh and not is_whole:
            self.columns_ = self._described(self._summaries(data))
        return data

    def _with_validation(self, problem, X_val, fresh):
        """Return the problem with the validation data of the user, if given."""
        with self._noting_collections(X_val):
            return super()._with_validation(problem, X_val, fresh)

    @contextlib.contextmanager
    def _fitted_problem(self, X, sample_weight=None):
        """Yield the `Problem` of the fitted model and ``X``."""
        fitted = super()._fitted_problem(X, sample_weight)
        with self._noting_collections(X), fitted as problem:
            yield problem

    @contextlib.contextmanager
    def _noting_collections(self, X):
        """Return a context in which `_is_collection` is True for a collection ``X``."""
        if not isinstance(X, Source):
            yield
            return
        self._is_collection = True
        try:
            yield
        finally:
            vars(self).pop("_is_collection", None)

    def _summaries(self, data):
        """Return compressed `Values` of the columns of data in parts."""
        model, weight = Rows(), self._weight_of_columns
        if weight is not None:
            weight = np.asarray(weight, dtype=float)
            weight = weight if weight.shape == (len(data),) else None
        with self._workers(model, data) as workers:
            problem = Problem(model, data, workers)
            blocks = problem.map(_summary, None, values=weight)
            total = next(iter(blocks))
            for block in blocks:
                total = [
                    one.joined(other, MOST_KEPT)
                    for one, other in zip(total, block, strict=True)
                ]
        return total


class Rows(ConjugateModel):
    """Model whose blocks are rows of data, so that workers can read the data."""

    block_size = 4096

    def take(self, X, rows):
        """Return ``X[rows]``."""
        return np.asarray(X[rows])


def _summary(model, block, prepared, weight=None):
    """Return the compressed `Values` of the columns of some rows."""
    weight = np.ones(len(block)) if weight is None else weight
    return [one.weighted(weight).compressed(MOST_KEPT) for one in columns_of(block)]

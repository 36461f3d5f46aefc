"""Mixin for estimators whose data are coded as numbers."""

import functools

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from .._arguments import refuse
from .._data import Source, check_widths, matrices_of
from .._estimator import Validation, warn_once
from .._limits import check_values
from .._loop import Problem
from .._validation import check_data, check_no_container, check_unmasked
from ..model import ConjugateModel
from ._columns import by_number, described, kinds_of
from ._values import INEXACT, columns_of, is_frame

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
    itself if ``X`` is an array of floats that are their own codes.
    """

    #: Descriptions of columns from another fit, which are used if they are not None.
    _same_columns = None
    #: Weights of the rows, from which columns are described.
    _weight_of_columns = None

    def _validate(self, X, reset):
        """Return ``X`` as an array of numeric codes of its values."""
        X = self._checked(X, reset)
        values = list(columns_of(X))
        if reset:
            self.columns_ = self._described(values, labels_of(X), X.shape[0])
        coded = self._coded(X, values)
        check_values(coded, coded.dtype, training=reset)
        return coded

    def _validation(self, X, method, reset):
        """Return the `Validation` of data; the numbers of collections have no codes."""
        if isinstance(X, Source):
            return OfCollection(self, "_validate_numbers", reset)
        return super()._validation(X, method, reset)

    def _validate_numbers(self, X, reset):
        """Return rows of a collection, whose values are their own codes."""
        X = check_data(
            self, X, reset=reset, dtype=FLOATS, ensure_all_finite="allow-nan"
        )
        if not reset:
            self._check_own(self.columns_)
        return X

    def _validate_block(self, X, reset):
        """Return a block of a collection, and warn of unknown values."""
        return self._validate_numbers(X, reset) if reset else self._validate(X, reset)

    def _check_own(self, columns):
        """Raise if the categories of columns are not numbers that a collection has."""
        for number, column in enumerate(columns):
            own = column.option_values
            if column.kind in ("categorical", "binary") and not column.is_own(own):
                raise ValueError(
                    f"Column {number} of X has the categories {column.categories[:3]}, "
                    "but a collection has numbers only: pass X as an array or a data "
                    "frame, or use numbers as categories."
                )

    def _checked(self, X, reset):
        """Return a data frame or an array of two dimensions; store column names."""
        check_no_container(X)
        if is_frame(X):
            self._check_labels(X, reset)
            if not X.shape[1]:
                raise ValueError(
                    f"X has no columns (shape={X.shape}): pass at least one."
                )
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        check_unmasked(X)
        kind = getattr(getattr(X, "dtype", None), "kind", None)
        if isinstance(X, list | tuple):  # an array of objects keeps types
            X, kind = np.array(X, dtype=object), "O"
        if kind in ("i", "u") and X.size:  # floats would merge large integers
            kind = "O" if max(int(X.max()), -int(X.min())) > INEXACT else kind
        if kind in tuple("OUTSb"):
            options = {"dtype": None, "ensure_all_finite": "allow-nan"}
            return validate_data(self, X, reset=reset, **options)
        return check_data(
            self, X, reset=reset, dtype=FLOATS, ensure_all_finite="allow-nan"
        )

    def _check_labels(self, X, reset):
        """Raise if the labels of a data frame repeat, or differ from those of the fit.

        Labels that are text are compared by `validate_data`.
        """
        labels = list(X.columns)
        if len(set(labels)) < len(labels):
            twice = next(label for label in labels if labels.count(label) > 1)
            raise ValueError(
                f"X has several columns with the name {twice!r}: rename them."
            )
        known = vars(self).get("_names_")
        if reset or known is None or all(isinstance(label, str) for label in labels):
            return
        are_numbered = list(range(len(known))) in (labels, known)
        if labels != known and (not are_numbered or set(labels) == set(known)):
            raise ValueError(
                "The column labels of X should match those that were passed during "
                f"fit, in the same order: {known[:NAMED]} ..., got {labels[:NAMED]} ..."
            )

    def _described(self, values, names, n_rows):
        """Return the `Column` of each column, given its values and the parameters."""
        if self._same_columns is not None:
            return self._same_columns
        if values[0].weight is None and self._weight_of_columns is not None:
            weight = self._weights_of_columns(n_rows)
            values = [one.weighted(weight) for one in values]
        values = [one.compressed() for one in values]
        kinds = kinds_of(self.kinds, names, len(values))
        categories = self._declared(names, len(values))
        columns = tuple(
            described(one, kind, categories.get(number), self.n_bins)
            for number, (one, kind) in enumerate(zip(values, kinds, strict=True))
        )
        self._warn_of_identifiers(columns, values, n_rows)
        return columns

    def _refitted(self, X, sample_weight, seed):
        """Return a mixture of the same type fitted to weighted rows.

        The descriptions of the columns do not change.
        """
        other = clone(self).set_params(random_state=seed)
        other._same_columns = self.columns_
        return other.fit(X, sample_weight=sample_weight)

    def _declared(self, names, n_features):
        """Return the categories that the user declared, by indices of columns."""
        if self.categories is None:
            return {}
        if not isinstance(self.categories, dict):
            refuse("categories", "a dict of lists by column, or None", self.categories)
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
        dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
        if getattr(X, "dtype", None) == dtype and all(
            numbers is one.entries for numbers, one in zip(parts, values, strict=True)
        ):
            return X
        if dtype == np.float32 and not all(one.is_single for one in self.columns_):
            dtype = np.float64
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

    def _warn_of_identifiers(self, columns, values, n_rows):
        for column, one in zip(columns, values, strict=True):
            most = max(MANY_OPTIONS, SHARE_OF_ROWS * n_rows)
            if column.n_options > most and one.declared is None:
                warn_once(
                    self,
                    "identifiers",
                    f"{one.name} has {column.n_options} different values in {n_rows} "
                    f"rows, such as {column.categories[:NAMED]}: it looks like an "
                    "identifier. Leave it out of X.",
                    UserWarning,
                )

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
        return super().partial_fit(X, y, sample_weight)

    def _training_data(self, X, fresh, sample_weight):
        """Return validated training data; columns are described by all parts."""
        self._weight_of_columns = sample_weight
        is_collection, names = isinstance(X, Source), labels_of(X)
        if fresh and not is_collection and matrices_of(X) is X:
            self._same_columns = self._described_by_parts(X)
        data = super()._training_data(X, fresh, sample_weight)
        if fresh and is_collection:
            blocks = self._summaries(data)
            names = data.feature_names
            self.columns_ = self._described(blocks, names, len(data))
            self._check_own(self.columns_)
        if fresh:
            self._names_ = names
        return data

    def _described_by_parts(self, parts):
        """Return the `Column` of each column of data in parts in memory."""
        sizes = [part.shape[0] for part in parts]
        weights = self._weights_of_columns(sum(sizes))
        weights = np.split(weights, np.cumsum(sizes)[:-1])
        blocks = (
            _summary(None, self._checked(part, reset=True), None, weight)
            for part, weight in zip(parts, weights, strict=True)
            if len(weight)
        )
        check_widths(parts)
        return self._described(_joined(blocks), None, sum(sizes))

    def _summaries(self, data):
        """Return compressed `Values` of the columns of a collection."""
        model, weight = Rows(), self._weights_of_columns(len(data))
        with self._workers(model, data) as workers:
            problem = Problem(model, data, workers)
            return _joined(problem.map(_summary, None, values=weight))

    def _weights_of_columns(self, n_rows):
        """Return the weights of rows; a wrong shape is refused later."""
        weight = self._weight_of_columns
        weight = np.ones(n_rows) if weight is None else np.asarray(weight, dtype=float)
        return weight if weight.shape == (n_rows,) else np.ones(n_rows)


class OfCollection(Validation):
    """Validation of a collection; workers of a cluster validate whole blocks."""

    def __reduce__(self):
        return Validation(self.estimator, "_validate_block", self.reset).__reduce__()


class Rows(ConjugateModel):
    """Model whose blocks are rows of data, so that workers can read the data."""

    block_size = 4096

    def take(self, X, rows):
        """Return ``X[rows]``."""
        return np.asarray(X[rows])


def labels_of(X):
    """Return the labels of the columns of a data frame; None if it has no labels."""
    labels = list(X.columns) if is_frame(X) else [()]
    return None if any(isinstance(label, tuple) for label in labels) else labels


def _joined(blocks):
    """Return the union of the `Values` of columns of some blocks."""
    return functools.reduce(
        lambda total, block: [
            one.joined(other, MOST_KEPT)
            for one, other in zip(total, block, strict=True)
        ],
        blocks,
    )


def _summary(model, block, prepared, weight):
    """Return the compressed `Values` of the columns of some rows."""
    return [one.weighted(weight).compressed(MOST_KEPT) for one in columns_of(block)]

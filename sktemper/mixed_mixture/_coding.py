"""Mixin of estimators whose data are coded before a model takes them."""

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from .._arguments import refuse
from .._data import Source, matrices_of
from .._estimator import warn_once
from .._limits import check_values
from .._validation import check_data, check_unmasked
from ._columns import by_number, described, kinds_of
from ._values import Values, columns_of, is_frame

__all__ = ["CodedColumnsMixin"]

#: Columns with more different texts than this share of the rows, and than this number,
#: are identifiers rather than answers.
SHARE_OF_ROWS, MANY_OPTIONS = 0.5, 50
#: Columns that a message names at most.
NAMED = 3


class CodedColumnsMixin:
    """Mixin of estimators of data whose columns are of several kinds.

    The attribute ``columns_`` describes the columns, see `Column`.  Validation returns
    an array of codes, counts and numbers, with NaN for missing values.
    """

    #: Whether `columns_` is of the present data already, although they are new.
    _is_described = False

    def _validate(self, X, reset):
        """Return ``X`` as an array of codes and numbers."""
        X = self._checked(X, reset)
        columns = list(columns_of(X))
        if reset and not self._is_described:
            self.columns_ = self._described(columns)
            self._warn_of_identifiers(columns)
        coded = self._coded(X, columns)
        check_values(coded, coded.dtype, training=reset)
        return coded

    def _checked(self, X, reset):
        """Return a data frame, or an array of two dimensions; record its columns."""
        if type(X).__name__ == "AnnData":
            raise TypeError("X is an AnnData object: pass adata.X.")
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        check_unmasked(X)
        if getattr(getattr(X, "dtype", None), "kind", "f") in "OU":
            return validate_data(self, X, reset=reset, dtype=None)
        return check_data(
            self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan"
        )

    def _described(self, values):
        """Return the `Column` of each column, by its values and the parameters."""
        n_features = len(values)
        kinds = kinds_of(self.kinds, self._column_names(), n_features)
        categories = self._declared(n_features)
        return tuple(
            described(one, kind, categories.get(number), self.n_bins)
            for number, (one, kind) in enumerate(zip(values, kinds, strict=True))
        )

    def _column_names(self):
        """Return the names of the columns of the training data, or None."""
        return vars(self).get("feature_names_in_")

    def _declared(self, n_features):
        """Return the categories that the user declared, by numbers of columns."""
        if self.categories is None:
            return {}
        if not isinstance(self.categories, dict):
            refuse("categories", "a dict of lists by column, or None", self.categories)
        names = self._column_names()
        return by_number(self.categories, names, n_features, "categories")

    def _coded(self, X, values):
        """Return an array of codes and numbers; ``X`` itself if it has them already."""
        pairs = zip(self.columns_, values, strict=True)
        parts, unknown = [], {}
        for column, one in pairs:
            codes, others = column.coded(one)
            parts.append(codes)
            if others:
                unknown[one.name] = others
        if unknown:
            self._warn_of_unknown(unknown)
        dtype = getattr(X, "dtype", None)
        if dtype in (np.float32, np.float64) and all(
            codes is one.values for codes, one in zip(parts, values, strict=True)
        ):
            return X
        dtype = np.float32 if dtype == np.float32 else np.float64
        coded = np.empty((X.shape[0], len(parts)), dtype)
        for number, codes in enumerate(parts):
            coded[:, number] = codes
        return check_array(coded, dtype=dtype, ensure_all_finite="allow-nan")

    def _warn_of_unknown(self, unknown):
        named = [f"{name}: {values[:NAMED]}" for name, values in unknown.items()]
        warn_once(
            self,
            "unknown",
            "X has values that are none of the categories of the fit; they count as "
            f"missing. {'; '.join(named[:NAMED])}",
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

    def _training_data(self, X, fresh):
        """Return validated training data; columns are described by all of the parts."""
        parts = matrices_of(X)
        several = isinstance(parts, Source) or len(parts) > 1
        if not (fresh and several):
            return super()._training_data(X, fresh)
        if isinstance(parts, Source):
            self.columns_ = self._declared_columns(X)
        else:
            self.columns_ = self._described(_joined(parts))
        self._is_described = True
        try:
            return super()._training_data(X, fresh)
        finally:
            del self._is_described

    def _declared_columns(self, X):
        """Return the columns of a collection, as far as the parameters describe them.

        Raises
        ------
        ValueError
            If the kind of a column, or its categories, are not declared.
        """
        n_features = X.shape[1]
        kinds = kinds_of(self.kinds, None, n_features)
        declared = self._declared(n_features)
        for number, kind in enumerate(kinds):
            lacks = kind in ("categorical", "binary") and number not in declared
            if kind is None or kind == "binned" or lacks:
                raise ValueError(
                    "A collection on disk or of Dask is not read before the fit: name "
                    "the kind of each column in kinds, other than 'binned', and the "
                    f"categories of each categorical one in categories. Column {number}"
                    f" has {'no categories' if lacks else f'the kind {kind!r}'}."
                )
        nothing = np.empty(0)
        return tuple(
            described(Values(f"Column {j} of X", nothing), kind, declared.get(j))
            for j, kind in enumerate(kinds)
        )


def _joined(parts):
    """Return the `Values` of the columns of several arrays together."""
    columns = zip(*map(columns_of, parts), strict=True)
    return [
        Values(
            of_parts[0].name,
            np.concatenate([one.values for one in of_parts]),
            of_parts[0].declared,
        )
        for of_parts in columns
    ]

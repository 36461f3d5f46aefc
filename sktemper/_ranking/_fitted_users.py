"""Users of the last fit (posteriors, entries and labels), and selection of users."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError

from .._cache import LastCall, are_same_objects
from .._validation import check_unmasked
from ._best import Rated
from ._labels import LabelIndex, as_labels, label_array, labels_of
from ._serving import ServingMixin

__all__ = ["Chosen", "FittedUsersMixin"]

#: Advice to add to the message about an unknown user.
NEW_USERS = (
    " The model knows the users of the last fit or partial_fit; for other users, pass "
    "rows of their data instead of labels."
)
#: Types of matrices without labels of users and items.
PLAIN_TYPES = np.ndarray, sparse.csr_matrix, sparse.csr_array


class Chosen(NamedTuple):
    """Users to recommend to.

    Attributes
    ----------
    vectors : ndarray of shape (n_users, width)
        Vectors of the users.  Scores are the products with the vectors of items.
    rated : Rated
        Entries of these users.
    labels : ndarray of shape (n_users,)
        Labels of the users, or row numbers if there are no labels.
    by_name : bool
        Whether the caller passed labels instead of rows.
    posteriors : tuple of ndarrays
        Posterior parameters with one row per user, in the form of the estimator.
    """

    vectors: np.ndarray
    rated: Rated
    labels: np.ndarray
    by_name: bool
    posteriors: tuple


class FittedUsersMixin(ServingMixin):
    """Part of `RecommenderMixin` that keeps the users of the last fit.

    The attribute ``_users_`` has the posterior parameters of these users, a tuple of
    arrays with one row per user, and ``_rated_`` has their entries.
    """

    # -- hooks of an estimator ---------------------------------------------------------
    @staticmethod
    def _users_of_block(model, block, prepared):
        """Return the posterior parameters and the `Rated` of the users of a block.

        The posterior parameters are a tuple of arrays.  The first array must have the
        vectors of the users, unless `_vectors_of` is overridden.
        """
        raise NotImplementedError

    def _posterior_widths(self, model):
        """Return the number of columns of each array of posterior parameters."""
        return (model.n_components,)

    def _vectors_of(self, posteriors):
        """Return the vectors of users, in the dtype of the fit."""
        return posteriors[0].astype(self.state_.dtype, copy=False)

    def _user_vectors(self):
        """Return the vectors of the users of the last fit."""
        return self._vectors_of(self._fitted_users())

    # -- a fit -------------------------------------------------------------------------
    def _validate_training(self, X, reset):
        self._check_labels(X, reset)
        return super()._validate_training(X, reset)

    def _is_few_rows(self, X):
        # the limits hang on the rank of the fit, and other types may have labels of
        # users and items, which must be checked
        is_plain = "state_" in vars(self) and type(X) in PLAIN_TYPES
        return is_plain and super()._is_few_rows(X)

    def _fitted_problem(self, X, sample_weight=None):
        self._check_labels(X, reset=False)
        return super()._fitted_problem(X, sample_weight)

    def _install(self, state, policies):
        super()._install(state, policies)
        self._cache = LastCall(are_same_objects)
        self._users_ = self._rated_ = None  # discard users of an earlier fit

    def _training_data(self, X, fresh, sample_weight):
        data = super()._training_data(X, fresh, sample_weight)
        users, items = (
            _first(labels_of(source, name) for source in (X, data.source))
            for name in ("user_labels", "item_labels")
        )
        data.user_labels = users
        if items is None and fresh:
            items = vars(self).get("feature_names_in_")
        if items is not None or fresh:
            self.item_labels_ = items
        return data

    def _finish(self, problem, state):
        """Store posteriors, entries and labels of the users of the training data."""
        prepared = problem.model.prepare(state.globals_, state.hyper)
        parts = problem.map(self._users_of_block, prepared)
        self._users_, self._rated_ = _joined(parts, len(problem.data))
        self.user_labels_ = getattr(problem.data, "user_labels", None)

    # -- checks ------------------------------------------------------------------------
    def _check_labels(self, X, reset):
        """Raise if the labels of the columns differ from the labels of the fit."""
        found, known = labels_of(X, "item_labels"), vars(self).get("item_labels_")
        if reset or found is None or found is known:
            return
        if known is None:
            _check_numbers_of_columns(X, found)
            return
        advice = "make it with item_labels=model.item_labels_."
        if len(found) != len(known):
            raise ValueError(
                f"X has {len(found)} features, but {type(self).__name__} is expecting "
                f"{len(known)} features as input: {advice}"
            )
        if not np.array_equal(found, known):
            raise ValueError(
                "The items of X differ from the items of the fit, or are reordered: "
                + advice
            )

    def _check_kept(self, model):
        """Raise if the stored users of a pickle do not match its parameters."""
        posteriors = vars(self).get("_users_")
        if posteriors is None:
            return
        n_users = len(posteriors[0])
        expected = [(n_users, width) for width in self._posterior_widths(model)]
        if [array.shape for array in posteriors] != expected:
            raise ValueError("posteriors of users have the wrong shapes")
        if not all(np.isfinite(array).all() for array in posteriors):
            raise ValueError("posteriors of users are not finite")
        if vars(self).get("_rated_") is None:
            raise ValueError("entries of users are missing")
        self._rated_.check(n_users, model.n_features)
        sizes = {"user_labels_": n_users, "item_labels_": model.n_features}
        for name, size in sizes.items():
            labels = vars(self).get(name)
            if labels is not None and np.shape(labels) != (size,):
                raise ValueError(f"{name} has the wrong shape")

    # -- the choice of users and items -------------------------------------------------
    def _fitted_users(self):
        """Return the posterior parameters of the users of the last fit."""
        self._state()
        if vars(self).get("_users_") is None:
            raise NotFittedError(
                "The last fit was not completed: there are no posteriors of its users. "
                "Continue the fit, or pass rows of users to transform and predict."
            )
        return self._users_

    def _choose(self, users):
        """Return the `Chosen` for labels of fitted users, or for rows of data."""
        is_plain = type(users) in PLAIN_TYPES and users.ndim == 2
        if not is_plain:
            users = as_labels(users)
            check_unmasked(users)
        if not is_plain and _are_names(users, vars(self).get("user_labels_")):
            users = label_array(users)
            posteriors = self._fitted_users()
            rows = self._user_index().positions(users)
            posteriors = tuple(array[rows] for array in posteriors)
            rated = self._rated_.of(rows)
            return Chosen(self._user_vectors()[rows], rated, users, True, posteriors)
        if is_plain and (chosen := self._chosen_of_few(users)) is not None:
            return chosen
        parts = self._map(users, self._users_of_block)
        n_users = sum(len(posteriors[0]) for posteriors, _ in parts)
        posteriors, rated = _joined(parts, n_users)
        vectors = self._vectors_of(posteriors)
        labels = None if is_plain else labels_of(users, "user_labels")
        if labels is None:
            labels = np.arange(len(vectors))
        return Chosen(vectors, rated, labels, False, posteriors)

    def _chosen_of_few(self, X):
        """Return the `Chosen` of few rows that need no validation, or None.

        ``X`` has one of the `PLAIN_TYPES`.
        """
        return None

    def _item_index(self, with_labels=True):
        labels = vars(self).get("item_labels_") if with_labels else None
        return self._cached(
            f"item_index_{with_labels}",
            lambda: LabelIndex(labels, "item", self.n_features_in_),
        )

    def _user_index(self, with_labels=True):
        labels = vars(self).get("user_labels_") if with_labels else None
        size = len(self._fitted_users()[0])
        return self._cached(
            f"user_index_{with_labels}",
            lambda: LabelIndex(labels, "user", size, advice=NEW_USERS),
        )

    def _positions_of_pairs(self, pairs, by_position):
        """Return the rows of users and the columns of items of some pairs."""
        users, items = _columns(pairs)
        indices = self._user_index(not by_position), self._item_index(not by_position)
        return indices[0].positions(users), indices[1].positions(items)


def _joined(parts, n_users):
    """Join the posterior parameters and `Rated` of the users of all blocks.

    Parameters
    ----------
    parts : iterable
        Pairs of a tuple of arrays and a `Rated`.  The memory of the arrays may be used
        again when they are deleted.
    n_users : int
    """
    joined, rated, first = None, [], 0
    for posteriors, entries in parts:
        rated.append(entries)
        if len(posteriors[0]) == n_users:
            return posteriors, entries
        if joined is None:
            shapes = [(n_users, *array.shape[1:]) for array in posteriors]
            dtypes = [array.dtype for array in posteriors]
            joined = tuple(map(np.empty, shapes, dtypes))
        rows = slice(first, first + len(posteriors[0]))
        for whole, array in zip(joined, posteriors, strict=True):
            whole[rows] = array
        first = rows.stop
    return joined, Rated.joined(rated)


def _first(values):
    """Return the first value that is not None, or None."""
    return next((value for value in values if value is not None), None)


def _check_numbers_of_columns(X, found):
    """Raise if the column names of a data frame are a permutation of 0, 1, 2, ...

    A fit to a data frame with the column names 0, 1, 2, ... has no labels with which
    the columns of other data could be compared.
    """
    if hasattr(type(X), "item_labels") or found.dtype.kind not in "iu":
        return
    numbers = np.arange(len(found))
    if np.array_equal(np.sort(found), numbers) and not np.array_equal(found, numbers):
        raise ValueError(
            "The names of the columns of X are the column numbers of the fit in a "
            "different order: pass X.sort_index(axis=1)."
        )


def _are_names(users, labels):
    """Return whether ``users`` are labels rather than rows of data.

    An array of floats has labels only if the labels of the fit are floats.
    """
    if isinstance(users, list | tuple):
        first = users[0] if users else ""
        if sparse.issparse(first) or np.ndim(first):
            return False
        users = np.asarray(users)
    if sparse.issparse(users) or len(getattr(users, "shape", ())) != 1:
        return False
    users = np.asarray(users)
    floats = users.dtype.kind == "f" and len(users)
    return not floats or (labels is not None and labels.dtype.kind == "f")


def _columns(pairs):
    """Return users and items of pairs as two arrays of labels or positions."""
    check_unmasked(pairs, "pairs", may_be_nan=False)
    if list(getattr(pairs, "columns", ())) == ["item", "user"]:
        raise ValueError("pairs has the columns item, user; expected user, item.")
    if isinstance(pairs, list | tuple) and pairs:
        if all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
            columns = zip(*pairs, strict=True)
            return tuple(label_array(list(column)) for column in columns)
    table = np.asarray(pairs)
    if table.ndim != 2 or table.shape[1] != 2:
        raise ValueError(
            "pairs must have the shape (n_pairs, 2), users and items; got "
            f"{table.shape}."
        )
    if table.dtype == object:
        return tuple(label_array(column.tolist()) for column in table.T)
    return table[:, 0], table[:, 1]

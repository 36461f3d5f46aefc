"""Recommendations, similar items and explanations of a fitted factorization."""

from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array

from .._contract import all_finite
from .._simd.special import packed_columns
from .._utils._arguments import check_flag, positive_int
from .._utils._budgets import ROWS_SAMPLED, TERMS_ALONE
from .._utils._cache import LastCall
from .._utils._frames import data_frame, frame_library
from .._utils._notices import warn
from .._utils._results import portable_copy
from .._utils._typing import ArrayLike, DataFrame, Int
from .._utils._validation import check_init, check_unmasked, check_values
from ._best import UserEntries, best_items, products
from ._labels import LabelIndex, as_labels, label_array, labels_of


def initial_vectors(settings, n_features, dtype):
    """Return the initial vectors of items that the user has set, or None."""
    if settings.init is None:
        return None
    init = check_init(settings.init, settings.n_components, n_features)
    check_values(init, dtype, "init")
    return init


# -- cache of values that are computed from a fit, and copies of models for serving ----
#: Names of the cached values that `for_serving` saves.
SERVED = (
    "prepared",
    "item_vectors",
    "user_vectors",
    "directions",
    "log_shares",
    "most_popular",
)


# -- users of the last fit (posteriors, entries and labels), and selection of users ----
#: Advice to add to the message about an unknown user.
NEW_USERS = (
    " The model knows the users of the last fit or partial_fit; for other users, pass "
    "rows of their data instead of labels."
)
#: Types of matrices without labels of users and items.
PLAIN_TYPES = np.ndarray, sparse.csr_matrix, sparse.csr_array


class QueryUsers(NamedTuple):
    """Users to recommend to."""

    vectors: np.ndarray  # (n_users, width); scores are products with vectors of items
    entries: UserEntries
    labels: np.ndarray  # row numbers if there are no labels
    by_name: bool  # whether the caller passed labels instead of rows
    # parameters with a row for each user, in the form of the estimator
    posteriors: tuple


def _joined(parts, n_users):
    """Join the posterior parameters and `UserEntries` of the users of all blocks.

    ``parts`` are pairs of a tuple of arrays and a `UserEntries`.  The memory of the
    arrays may be used again when they are deleted.
    """
    joined, all_entries, first = None, [], 0
    for posteriors, entries in parts:
        all_entries.append(entries)
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
    return joined, UserEntries.joined(all_entries)


def _first(values):
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


def columns_of_pairs(pairs):
    """Return users and items of pairs as two arrays of labels or positions."""
    check_unmasked(pairs, "pairs", may_be_nan=False)
    if list(getattr(pairs, "columns", ())) == ["item", "user"]:
        raise ValueError("pairs has the columns item, user; expected user, item.")
    if isinstance(pairs, list | tuple) and pairs:
        if all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
            columns = zip(*pairs, strict=True)
            return tuple(label_array(list(column)) for column in columns)
    # each column of a table of pandas, polars or pyarrow has its own dtype
    names = getattr(pairs, "column_names", getattr(pairs, "columns", ()))
    if len(names) == 2:
        columns = [np.asarray(pairs[name]) for name in names]
    else:
        table = np.asarray(pairs)
        if table.ndim != 2 or table.shape[1] != 2:
            raise ValueError(
                "pairs must have the shape (n_pairs, 2), users and items; got "
                f"{table.shape}."
            )
        columns = table.T
    return tuple(
        label_array(column.tolist()) if column.dtype == object else column
        for column in columns
    )


# -- long tables that are given in place of a matrix -----------------------------------
#: Least number of users, and of items.
FEWEST_LABELS = 8
#: Least share of the lines that are different pairs, and of the numbers from the first
#: to the last label that are labels, if labels are codes.  With more users or items for
#: each line, labels would hardly repeat.
NEARLY_ALL = 0.9


def is_long_table(X, names=None):
    """Return whether rows seem to be (user, item, rating), perhaps with a time.

    Labels of users and items are whole numbers, repeat, and have twice as many values
    as the ratings, whereas the columns of a matrix have the same scale.  In addition,
    lines are grouped by user or item, or the labels are codes and the pairs differ.
    """
    if names is not None and str(names[0]).lower().startswith("user"):
        return True
    lines = X[:ROWS_SAMPLED].toarray() if sparse.issparse(X) else X[:ROWS_SAMPLED]
    labels = lines[:, :2].T
    if not (labels == np.rint(labels)).all():  # also if a label is NaN
        return False
    codes = [np.unique(part, return_inverse=True)[1] for part in (*labels, lines[:, 2])]
    n_users, n_items, n_ratings = (part.max() + 1 for part in codes)
    if min(n_users, n_items) < max(FEWEST_LABELS, 2 * n_ratings):
        return False
    if max(n_users, n_items) > NEARLY_ALL * len(lines):
        return False
    if any(np.count_nonzero(np.diff(part)) == part.max() for part in codes[:2]):
        return True
    ranges = np.ptp(labels, axis=1) + 1.0
    n_pairs = len(np.unique(codes[0] * n_items + codes[1]))
    are_codes = ([n_users, n_items] >= NEARLY_ALL * ranges).all()
    return bool(are_codes and n_pairs >= NEARLY_ALL * len(lines))


# -- recommendations, similar items and explanations of a fitted factorization ---------
#: Vectors of items are kept in a second layout, for calls with few users, if they have
#: at most this size.  Larger vectors do not stay in a cache of the processor.
MOST_PANEL_BYTES = 2**24


class RecommenderMixin:
    """Mixin for estimators whose scores are products of user and item vectors.

    An estimator must define `_item_vectors`, which returns an ndarray of shape
    (n_items, width) with contiguous rows.  By default, the vectors of users are the
    first of their arrays.  The model is a `FactorizationModel`, which computes and
    describes these arrays, and what `explain` shows.

    Parameters
    ----------
    init : array-like of shape (n_components, n_items), default=None
        Initial factors of the items; None is small draws from the prior.
    learning_rate : LearningRate or float, default=None
        Size of a step, see `sktemper.learning_rates`.  None is 1 if all users are one
        batch, and otherwise ``RobbinsMonro()``; `AdaptiveRate` suits small batches.
    """

    init: ArrayLike | None
    user_labels_: np.ndarray | None
    """Labels of the rows of the last `fit` or `partial_fit`; None without labels."""
    item_labels_: np.ndarray | None
    """Labels of the columns; None if the data have none."""

    @property
    def noise_variance_(self) -> float:
        """Variance of the noise of an entry of weight 1, float; given or learned."""
        return self._state().hyper.noise_variance

    @property
    def user_prior_(self) -> tuple:
        """Mean and covariance of the users' prior, ndarrays; given or learned."""
        return tuple(self._state().hyper.users)

    @property
    def item_prior_(self) -> tuple:
        """Mean and covariance of the items' prior, ndarrays; given or learned."""
        return tuple(self._state().hyper.items)

    @property
    def relevance_(self) -> np.ndarray:
        """Variance of the scores that each factor explains, decreasing.

        An ndarray of shape (n_components,), near 0 for factors that are not needed.
        """
        d = self._n_features_out
        users, items = self.user_prior_[1][:d, :d], self.item_prior_[1][:d, :d]
        return np.sort(np.abs(np.linalg.eigvals(users @ items)))[::-1]

    @property
    def _n_features_out(self):
        return self._state().hyper.n_components

    # -- recommendations ---------------------------------------------------------------
    def recommend(
        self,
        X: Any,
        n_items: Int = 10,
        *,
        exclude_seen: bool = True,
        exclude: ArrayLike | None = None,
        items: ArrayLike | None = None,
        output: Literal["pandas", "polars"] | None = None,
    ) -> Any:
        """Return the items that users will most likely choose.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_items), or labels
            Rows of data of any users; or users of the last `fit` or `partial_fit`, of
            shape (n_samples,): labels such as ``["u195"]`` if the data had labels, and
            otherwise row numbers.
        n_items : int, default=10
            Number of items to recommend to each user; all items if there are fewer.
        exclude_seen : bool, default=True
            Whether to leave out items for which a user has an entry.
        exclude : array-like of labels, default=None
            Items that are recommended to no user; column numbers if the data had no
            labels.
        items : array-like of labels, default=None
            Items among which to choose, such as those in stock; None is all items.
        output : {"pandas", "polars"}, default=None
            Library of the data frame to return.  None returns a pandas data frame if
            ``X`` are labels, and arrays otherwise.

        Returns
        -------
        items : ndarray of int of shape (n_samples, n_items)
            Column numbers of the items, best first.  Items with equal scores are in the
            order of their columns.  -1 means that no item is left.
        scores : ndarray of shape (n_samples, n_items)
            Scores of these items, as returned by `predict`; NaN if no item is left.
        table : DataFrame
            Returned instead of the arrays, with the columns "user", "item", "rank"
            (from 1) and "score".  Users for whom no item is left have no row.

        Raises
        ------
        ValueError
            If labels are unknown (the message lists them), if ``n_items`` is less than
            1, or if the labels of the items of ``X`` differ from the labels of the fit.
        ImportError
            If the library of the data frame is not installed.

        See Also
        --------
        explain : Contributions of the user's items to the score of another item.
        similar_items : Items whose factors have a similar direction.
        """
        query, found, scores, _ = self._recommended(
            X, n_items, exclude_seen, self._barred(exclude, items), output
        )
        return shown(self, query, found, {"score": scores}, output)

    def item_scores(self, X: Any) -> np.ndarray:
        """Return the scores of all items, by which `recommend` ranks them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_items), or labels
            Users, as in `recommend`.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_items)
            Scores of all items, including items for which a user has an entry.
        """
        self._check_fitted()
        query = self._choose(X)
        return np.ascontiguousarray(products(query.vectors, self._item_vectors()))

    def _barred(self, exclude, items=None):
        """Return a mask of the items that are not to be found; None for no items."""
        if exclude is None and items is None:
            return None
        self._check_fitted()
        barred = np.full(self.n_features_in_, items is not None)
        for labels, is_barred in ((items, False), (exclude, True)):
            if labels is not None:
                labels = _vector_of_labels(labels)
                barred[self._index("item").positions(labels)] = is_barred
        return barred

    def _recommended(self, X, n_items, exclude_seen, barred, output, rescored=None):
        """Return the `QueryUsers`, and their best items with scores and products.

        ``rescored(query)`` returns a `Rescoring`; None ranks by the products.
        """
        self._check_fitted()
        n_items = min(positive_int(n_items, "n_items"), self.n_features_in_)
        if output is not None:
            frame_library(output)
        query = self._choose(X)
        check_flag(exclude_seen, "exclude_seen")
        vectors, panels = self._cached(
            "ranked_items", lambda: _with_panels(self._item_vectors())
        )
        found = best_items(
            query.vectors,
            vectors,
            n_items,
            seen=query.entries if exclude_seen else None,
            barred=barred,
            rescoring=rescored and rescored(query),
            n_jobs=self.n_jobs,
            panels=panels,
        )
        return query, *found

    def similar_items(
        self,
        items: Any,
        n_items: Int = 10,
        *,
        exclude: ArrayLike | None = None,
        output: Literal["pandas", "polars"] = "pandas",
    ) -> DataFrame:
        """Return the items that are most similar to given items, as a table.

        Parameters
        ----------
        items : label, or array-like of shape (n_queries,)
            Labels of items, or column numbers if the data had no labels.
        n_items : int, default=10
            Number of similar items to find for each given item.
        exclude : array-like of labels, default=None
            Items that are not to be found.
        output : {"pandas", "polars"}, default="pandas"
            Library of the data frame.

        Returns
        -------
        table : DataFrame
            Columns: "item"; "similar", another item; "rank", from 1; "similarity", the
            cosine of the angle between their factors, from -1 to 1.

        Raises
        ------
        ValueError
            If an item is unknown, or ``n_items`` is less than 1.
        ImportError
            If the library of the data frame is not installed.
        """
        self._check_fitted()
        frame_library(output)
        labels = _vector_of_labels(items)
        rows = self._index("item").positions(labels)
        vectors = _directions(self)
        given = vectors[rows], vectors, n_items, rows, self._barred(exclude)
        return _similar(self, "item", labels, *given, output)

    def similar_users(
        self,
        X: Any,
        n_users: Int = 10,
        *,
        output: Literal["pandas", "polars"] = "pandas",
    ) -> DataFrame:
        """Return the users of the last fit that are most similar to given users.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_items), or labels
            Users, as in `recommend`.
        n_users : int, default=10
            Number of similar users to find for each given user.
        output : {"pandas", "polars"}, default="pandas"
            Library of the data frame.

        Returns
        -------
        table : DataFrame
            Columns: "user"; "similar", another user of the last `fit` or `partial_fit`;
            "rank", from 1; "similarity", the cosine of the angle between their factors,
            from -1 to 1.

        Raises
        ------
        ValueError
            If a user is unknown, or ``n_users`` is less than 1.
        ImportError
            If the library of the data frame is not installed.
        """
        self._check_fitted()
        frame_library(output)
        query, d = self._choose(X), self._n_features_out
        rows = self._index("user").positions(query.labels) if query.by_name else None
        vectors = _of_length_one(self._user_vectors()[:, :d])
        given = _of_length_one(query.vectors[:, :d]), vectors, n_users, rows
        return _similar(self, "user", query.labels, *given, None, output)

    def explain(
        self, user: Any, item: Any, *, output: Literal["pandas", "polars"] = "pandas"
    ) -> DataFrame:
        """Return the contributions of a user's items to the score of another item.

        Given the items and the posterior covariance of the user, the posterior mean of
        the user is a linear function of the user's data.  The score is therefore
        exactly the sum of the contributions ("share") and of "base", the score if all
        ratings of the user were the mean ratings of the items, or all targets were 0.

        Parameters
        ----------
        user : label, or {array-like, sparse matrix} of shape (1, n_items)
            Label of a user of the last fit, or row number if the data had no labels.
            Alternatively, the row of data of any user.
        item : label
            Label of the item, or column number if the data had no labels.

        Returns
        -------
        table : DataFrame
            One row for each of the user's items, the largest share first.  Columns:
            "item"; the user's data of the item, which are "value" for models of ratings
            and "weight" and "target" for models of clicks; "share", the contribution of
            the item to the score; "base" and "score", which are the same in all rows.
            For models of ratings the score is the expected rating.

        Raises
        ------
        ValueError
            If the user or the item is unknown, or several users are given.
        ImportError
            If the library of the data frame is not installed.
        """
        self._check_fitted()
        frame_library(output)
        is_label = np.ndim(user) == 0 and not sparse.issparse(user)
        (column,) = self._index("item").positions([item])
        query = self._choose([user] if is_label else user)
        if len(query.vectors) != 1:
            raise ValueError(f"Expected one user, got {len(query.vectors)}.")
        model = self._fitted_model()
        shares = model.shares(self._prepared(model), query, column)
        vector = np.ascontiguousarray(self._item_vectors()[[column]])
        score = float(products(query.vectors, vector)[0, 0])
        order = np.argsort(-shares, kind="stable")
        size, values = len(order), np.atleast_2d(query.entries.values.T)[:, order]
        columns = {
            "item": self._index("item").names(query.entries.items[order]),
            **dict(zip(model.entry_names, values, strict=True)),
            "share": shares[order],
            "base": np.full(size, score - shares.sum()),
            "score": np.full(size, score),
        }
        return data_frame(output, columns)

    def _user_vectors(self, posteriors=None):
        """Return the vectors of users, by default of those of the fit."""
        posteriors = self._fitted_users() if posteriors is None else posteriors
        return posteriors[0].astype(self.state_.dtype, copy=False)

    # -- a fit -------------------------------------------------------------------------
    _input_tags = {"sparse": True}
    _validated = "n_features_in_", "feature_names_in_", "item_labels_"

    def _check_range(self, X, dtype, training=False):
        check_values(X, dtype, training=training)

    def _validate_training(self, X, reset):
        self._check_labels(X, reset)
        return super()._validate_training(X, reset)

    def _inspect_training_data(self, data, fresh):
        super()._inspect_training_data(data, fresh)
        if not fresh or data.shape[1] - 2 not in (1, 2):
            return
        X = data.counted_sample(ROWS_SAMPLED)
        if is_long_table(X, vars(self).get("feature_names_in_")):
            warn(
                "X seems to be a long table of users, items and ratings, but is taken "
                f"as a matrix of {data.shape[1]} items. Make a matrix of users and "
                "items by sktemper.datasets.ratings_matrix(users, items, ratings) or "
                "interactions_matrix(users, items)."
            )

    def _is_few_rows(self, X):
        # the limits depend on the rank of the fit, and other types may have labels of
        # users and items, which must be checked
        is_plain = "state_" in vars(self) and type(X) in PLAIN_TYPES
        return is_plain and super()._is_few_rows(X)

    def _fitted_problem(self, X, sample_weight=None, labels=None):
        self._check_labels(X, reset=False)
        return super()._fitted_problem(X, sample_weight, labels)

    def _install(self, state, policies):
        super()._install(state, policies)
        self._cache = LastCall()
        self._users_ = self._entries_ = None  # discard users of an earlier fit

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
        parts = problem.map(_users_of_block, prepared)
        self._users_, self._entries_ = _joined(parts, len(problem.data))
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
        posteriors = vars(self).get("_users_")
        if posteriors is None:
            return
        n_users = len(posteriors[0])
        expected = [(n_users, width) for width in model.user_widths]
        if [array.shape for array in posteriors] != expected:
            raise ValueError("posteriors of users have the wrong shapes")
        if not all(np.isfinite(array).all() for array in posteriors):
            raise ValueError("posteriors of users are not finite")
        if vars(self).get("_entries_") is None:
            raise ValueError("entries of users are missing")
        self._entries_.check(n_users, model.n_features, len(model.entry_names))
        sizes = {"user_labels_": n_users, "item_labels_": model.n_features}
        for name, size in sizes.items():
            labels = vars(self).get(name)
            if labels is not None and np.shape(labels) != (size,):
                raise ValueError(f"{name} has the wrong shape")

    # -- the choice of users and items -------------------------------------------------
    def _fitted_users(self):
        self._state()
        if vars(self).get("_users_") is None:
            raise NotFittedError(
                "The last fit was not completed: there are no posteriors of its users. "
                "Continue the fit, or pass rows of users to transform and predict."
            )
        return self._users_

    def _choose(self, users):
        is_plain = type(users) in PLAIN_TYPES and users.ndim == 2
        if not is_plain:
            users = as_labels(users)
            check_unmasked(users)
        if not is_plain and _are_names(users, vars(self).get("user_labels_")):
            users = label_array(users)
            posteriors = self._fitted_users()
            rows = self._index("user").positions(users)
            posteriors = tuple(array[rows] for array in posteriors)
            entries = self._entries_.select(rows)
            return QueryUsers(
                self._user_vectors()[rows], entries, users, True, posteriors
            )
        if is_plain and (query := self._query_of_few(users)) is not None:
            return query
        parts = self._map(users, _users_of_block)
        n_users = sum(len(posteriors[0]) for posteriors, _ in parts)
        posteriors, entries = _joined(parts, n_users)
        vectors = self._user_vectors(posteriors)
        labels = None if is_plain else labels_of(users, "user_labels")
        if labels is None:
            labels = np.arange(len(vectors))
        return QueryUsers(vectors, entries, labels, False, posteriors)

    def _query_of_few(self, X):
        """Return the `QueryUsers` of few rows that need no validation, or None.

        ``X`` has one of the `PLAIN_TYPES`.
        """
        return None

    def _index(self, kind, with_labels=True):
        """Return the `LabelIndex` of items, or of the users of the last fit."""
        labels = vars(self).get(f"{kind}_labels_") if with_labels else None
        size, advice = self.n_features_in_, ""
        if kind == "user":
            size, advice = len(self._fitted_users()[0]), NEW_USERS
        return self._cached(
            f"{kind}_index_{with_labels}",
            lambda: LabelIndex(labels, kind, size, advice),
        )

    def _inline_limits(self):
        # the cost of a row is the cube of the rank
        most_rows, most_values = super()._inline_limits()
        by_cost = TERMS_ALONE // self._n_features_out**3
        return max(min(by_cost, most_rows), 4), most_values

    def _cached(self, name, make):
        values = self._cached_values()
        if name not in values:
            values[name] = make()
        return values[name]

    def _cached_values(self):
        state = self._state()  # raises an error before a fit, when no cache exists
        key = state.globals_, state.hyper, vars(self).get("_users_")
        return self._cache.result(lambda *_: {}, *key)

    def _prepared(self, model):
        """Return prepared values, cached because their computation takes long."""
        prepare = super()._prepared
        return self._cached("prepared", lambda: prepare(model))

    def for_serving(self) -> Self:
        """Return a copy to be saved for processes that recommend.

        A fitted model computes some arrays at its first recommendation and does not
        save them.  The copy contains these arrays.  Save the copy by
        ``joblib.dump(copy, path)`` and load it by ``joblib.load(path, mmap_mode="r")``:
        the arrays are then not computed again, stay on disk until they are needed, and
        are shared in memory by all processes of a machine.

        Returns
        -------
        copy : object
            Estimator of the same class, without callbacks.  Several threads may use it
            at once, like any fitted model.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted, or the fit was not completed.

        Notes
        -----
        The file is a pickle: load only files that you trust.

        Examples
        --------
        >>> import os, tempfile
        >>> import joblib
        >>> from sktemper import TemperedMatrixFactorization
        >>> from sktemper.datasets import make_ratings
        >>> X = make_ratings(300, 50, n_ratings=5000, random_state=0)
        >>> model = TemperedMatrixFactorization(5, tol=1, random_state=0).fit(X)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "model.joblib")
        ...     _ = joblib.dump(model.for_serving(), path)
        ...     served = joblib.load(path, mmap_mode="r")
        ...     items, ratings = served.recommend(X[:2], n_items=3)
        ...     del served
        >>> items.shape
        (2, 3)
        """
        self._check_fitted()
        self._item_vectors(), self._user_vectors(), self._prepared(self._fitted_model())
        _directions(self)
        return portable_copy(self, {"_serves": True})

    def _pickled_attributes(self):
        """Return the attributes, and for a serving copy also the cached values."""
        state = super()._pickled_attributes()
        if vars(self).get("_serves"):
            values = self._cached_values()
            state["_served"] = {k: values[k] for k in SERVED if k in values}
        return state

    def __setstate__(self, state):
        """Restore the attributes; see `TemperedEstimator`."""
        super().__setstate__(state)
        served = vars(self).pop("_served", None)
        if "state_" in state:
            self._cache = LastCall()
        if served:
            try:
                fits = _fits(served, self._fitted_model(), len(self._users_[0]))
            except Exception:  # damaged values may raise anything
                fits = False
            if not fits:
                raise ValueError(
                    f"This {type(self).__name__} cannot be loaded: its arrays for "
                    "serving are damaged."
                )
            self._cached_values().update(served)


def _fits(served, model, n_users):
    """Return whether all values are finite and have the right shapes and types.

    Damaged values may raise any exception.
    """
    prepared, n_items = served["prepared"], model.n_features
    expected = {
        "item_vectors": ((n_items, model.vector_width), model.dtype),
        "user_vectors": ((n_users, model.vector_width), model.dtype),
        "directions": ((n_items, served["directions"].shape[1]), model.dtype),
        "log_shares": ((n_items,), np.float64),
        "most_popular": ((n_items,), np.intp),
    }
    arrays = {name: array for name, array in served.items() if name != "prepared"}
    order = arrays.get("most_popular", np.arange(n_items))
    return (
        {"item_vectors", "directions"} <= arrays.keys()
        and all(
            (array.shape, array.dtype) == expected[name]
            and isinstance(array, np.ndarray)
            and array.flags.c_contiguous  # required by kernels
            and all_finite(array)
            for name, array in arrays.items()
        )
        and np.array_equal(np.sort(order), np.arange(n_items))
        and model.fits(prepared)
    )


def _with_panels(vectors):
    """Return vectors of items, and the same packed, or None if large."""
    is_large = vectors.nbytes > MOST_PANEL_BYTES
    return vectors, None if is_large else packed_columns(vectors.T)


def checked_factors(estimator, X):
    """Return factors of users as a valid array; raise if their number differs."""
    estimator._check_fitted()
    X = check_array(X, dtype=[np.float64, np.float32])
    if X.shape[1] != estimator._n_features_out:
        raise ValueError(
            f"X has {X.shape[1]} features, but there are {estimator._n_features_out} "
            "components."
        )
    check_values(X, estimator.state_.dtype)
    return X


def shown(estimator, query, items, columns, output):
    """Return the items of users with columns of numbers, as arrays or as a table."""
    if output is None and not query.by_name:
        return (items, *columns.values())
    heads = {"user": query.labels, "item": items}
    return _table_of_items(estimator, output or "pandas", heads, columns)


def _table_of_items(estimator, output, heads, columns, kind="item"):
    """Return a table with a row for each item, or user, that was found.

    ``heads`` has the labels of rows, and the positions of items, -1 if none is left.
    """
    (row_name, labels), (found_name, found) = heads.items()
    row, rank = np.nonzero(found >= 0)
    table = {
        row_name: labels[row],
        found_name: estimator._index(kind).names(found[row, rank]),
        "rank": rank + 1,
    }
    table |= {name: column[row, rank] for name, column in columns.items()}
    return data_frame(output, table)


def _similar(estimator, kind, labels, given, vectors, n, rows, barred, output):
    """Return a table of the vectors in similar directions as the given ones.

    ``rows`` are the positions of the given vectors among all, which are left out, or
    None.
    """
    most, itself = min(positive_int(n, f"n_{kind}s"), len(vectors)), None
    if rows is not None:
        starts = np.arange(len(rows) + 1, dtype=np.int64)
        itself = UserEntries(starts, rows.astype(np.int32), np.ones(len(rows)))
    found, cosines, _ = best_items(given, vectors, most, seen=itself, barred=barred)
    heads = {kind: labels, "similar": found}
    return _table_of_items(estimator, output, heads, {"similarity": cosines}, kind)


def _users_of_block(model, block, prepared):
    return model.users_of_block(block, prepared)


def _directions(estimator):
    components = estimator.components_
    return estimator._cached("directions", lambda: _of_length_one(components.T))


def _of_length_one(vectors):
    """Return vectors, scaled to length 1, as contiguous rows; zeros stay zero."""
    vectors = np.ascontiguousarray(vectors)
    lengths = np.sqrt((vectors.astype(np.float64) ** 2).sum(axis=1))
    tiny = np.finfo(vectors.dtype).tiny
    scaled = vectors / np.maximum(lengths, tiny)[:, None]
    return np.ascontiguousarray(scaled, dtype=vectors.dtype)


def _vector_of_labels(wanted):
    wanted = as_labels(wanted)
    return label_array(wanted if np.ndim(wanted) else np.atleast_1d(wanted))

"""What estimators of users and items show: recommendations, likeness, explanations."""

from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse

from .._arguments import check_flag, is_integer, refuse
from .._cache import LastCall, is_same_fit
from .._frames import data_frame, frame_library
from .._validation import check_unmasked
from ._best import Rated, best_items, products
from ._labels import Places, as_labels, label_array, labels_of
from ._serving import ServingMixin

__all__ = ["Chosen", "RecommenderMixin"]

#: Said of users whom a model does not know.
NEW_USERS = (
    " The model knows the users of the last fit or partial_fit; others come with rows "
    "of their own in place of names."
)


class Chosen(NamedTuple):
    """Users to recommend to.

    Attributes
    ----------
    vectors : ndarray of shape (n_users, width)
    rated : Rated
    labels : ndarray of shape (n_users,)
        Names, or numbers for want of them.
    by_name : bool
        Whether they were asked for by these.
    posteriors : object
        What else the model knows of them.
    """

    vectors: np.ndarray
    rated: Rated
    labels: np.ndarray
    by_name: bool
    posteriors: Any = None


class RecommenderMixin(ServingMixin):
    """Of an estimator in whose model a score is a product of two vectors.

    It says what the vectors are: `_item_vectors`, `_user_vectors` and `_rows`; keeps
    the `Rated` of the users of the last fit as ``_rated_``; and calls `_keep_labels`
    when a fit ends.
    """

    # -- what an estimator says --------------------------------------------------------
    def _item_vectors(self):
        """Return the items, ndarray of shape (n_items, width); rows are contiguous."""
        raise NotImplementedError

    def _user_vectors(self):
        """Return the users of the last fit, ndarray of shape (n_users, width)."""
        raise NotImplementedError

    def _posteriors_of(self, places):
        """Return what else is known of some of these users."""
        return None

    def _rows(self, X):
        """Return the vectors, the `Rated`, and what else is known, of rows of data."""
        raise NotImplementedError

    def _item_directions(self):
        """Return vectors of items whose angles say how much these are alike."""
        raise NotImplementedError

    def _values_of(self, rated):
        """Return columns that say what users have of items."""
        return {"value": rated.values}

    def _shares(self, chosen, item):
        """Return what each of a user's entries adds to a product, and the product."""
        raise NotImplementedError

    # -- what is kept ------------------------------------------------------------------
    def _validate_training(self, X, reset):
        self._check_labels(X, reset)
        return super()._validate_training(X, reset)

    def _fitted_problem(self, X, sample_weight=None):
        self._check_labels(X, reset=False)
        return super()._fitted_problem(X, sample_weight)

    def _install(self, state, policies):
        super()._install(state, policies)
        self._cache = LastCall(is_same_fit)
        self._users_ = self._rated_ = None  # those of an earlier state

    def _training_data(self, X, fresh):
        data = super()._training_data(X, fresh)
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

    def _keep_labels(self, data):
        """Keep the labels of the users whom a fit ended with, if they have any."""
        self.user_labels_ = getattr(data, "user_labels", None)

    def _check_labels(self, X, reset):
        """Raise if the columns of data have other labels than those of the fit."""
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
                "The items of X are others than those of the fit, or in another order: "
                + advice
            )

    def _check_ranked(self, n_users, n_items):
        """Raise if what is kept beside the parameters does not belong to them."""
        rated = vars(self).get("_rated_")
        if rated is None:
            raise ValueError("what users have rated is missing")
        rated.check(n_users, n_items)
        for name, size in (("user_labels_", n_users), ("item_labels_", n_items)):
            labels = vars(self).get(name)
            if labels is not None and np.shape(labels) != (size,):
                raise ValueError(f"{name} has the wrong shape")

    def _item_places(self):
        return self._cached(
            "item_places",
            lambda: Places(
                vars(self).get("item_labels_"), "item", len(self._item_vectors())
            ),
        )

    def _user_places(self):
        return self._cached(
            "user_places",
            lambda: Places(
                vars(self).get("user_labels_"),
                "user",
                len(self._user_vectors()),
                advice=NEW_USERS,
            ),
        )

    # -- recommendations ---------------------------------------------------------------
    def _choose(self, users):
        """Return the `Chosen` that labels of known users or rows of data stand for."""
        users = as_labels(users)
        check_unmasked(users)
        if _are_names(users, vars(self).get("user_labels_")):
            users = label_array(users)
            vectors = self._user_vectors()
            places = self._user_places().of(users)
            rated = self._rated_.of(places)
            return Chosen(
                vectors[places], rated, users, True, self._posteriors_of(places)
            )
        vectors, rated, posteriors = self._rows(users)
        labels = labels_of(users, "user_labels")
        if labels is None:
            return Chosen(vectors, rated, np.arange(len(vectors)), False, posteriors)
        return Chosen(vectors, rated, labels, False, posteriors)

    def _best(self, chosen, n_items, exclude_seen=True, exclude=None, rescoring=None):
        """Return the best items of users, scores and products; see `best_items`."""
        check_flag(exclude_seen, "exclude_seen")
        vectors = self._item_vectors()
        barred = None
        if exclude is not None:
            barred = np.zeros(len(vectors), bool)
            barred[self._item_places().of(_vector_of_labels(exclude))] = True
        return best_items(
            chosen.vectors,
            vectors,
            n_items,
            seen=chosen.rated if exclude_seen else None,
            barred=barred,
            rescoring=rescoring,
            n_jobs=effective_n_jobs(self.n_jobs),
        )

    def _check_n_items(self, n_items):
        if not is_integer(n_items) or n_items < 1:
            refuse("n_items", "an int of at least 1", n_items)
        if n_items > self.n_features_in_:
            raise ValueError(
                f"Expected n_items <= n_features_in_, but n_items = {n_items}, "
                f"n_features_in_ = {self.n_features_in_}."
            )

    def _shown(self, chosen, items, columns, output):
        """Return arrays, or a data frame: a row an item that is recommended.

        Users who were asked for by name get pandas unless ``output`` says otherwise.
        """
        if output is None and not chosen.by_name:
            return (items, *columns.values())
        output = "pandas" if output is None else output
        user, place = np.nonzero(items >= 0)
        found = items[user, place]
        table = {
            "user": chosen.labels[user],
            "item": self._item_places().names(found),
            "rank": place + 1,
        }
        table |= {name: column[user, place] for name, column in columns.items()}
        return data_frame(output, table)

    def similar_items(self, items, n_items=10, *, output="pandas"):
        """Return the items that are most like others, as a table.

        Parameters
        ----------
        items : label, or array-like of shape (n_queries,)
            Labels of items, or their columns if the data had none.
        n_items : int, default=10
            How many to find for each, itself excepted.
        output : {"pandas", "polars"}, default="pandas"
            The library of the data frame.

        Returns
        -------
        table : DataFrame
            Columns: "item"; "similar", another one; "rank", from 1; "similarity", the
            cosine of the angle between their factors, from -1 to 1.

        Raises
        ------
        ValueError
            If an item is unknown, or ``n_items`` out of range.
        ImportError
            If the library of the data frame is not installed.
        """
        self._check_fitted()
        frame_library(output)
        self._check_n_items(n_items)
        names = _vector_of_labels(items)
        places = self._item_places().of(names)
        vectors = self._cached("directions", self._directions)
        starts = np.arange(len(places) + 1, dtype=np.int64)
        itself = Rated(starts, places.astype(np.int32), np.ones(len(places)))
        found, scores, _ = best_items(vectors[places], vectors, n_items, seen=itself)
        query, place = np.nonzero(found >= 0)
        columns = {
            "item": names[query],
            "similar": self._item_places().names(found[query, place]),
            "rank": place + 1,
            "similarity": scores[query, place],
        }
        return data_frame(output, columns)

    def _directions(self):
        """Return vectors of length 1, or 0."""
        vectors = self._item_directions()
        lengths = np.sqrt((vectors.astype(np.float64) ** 2).sum(axis=1))
        tiny = np.finfo(vectors.dtype).tiny
        scaled = vectors / np.maximum(lengths, tiny)[:, None]
        return np.ascontiguousarray(scaled, dtype=vectors.dtype)

    def explain(self, user, item, *, output="pandas"):
        """Explain the score of an item by what each of the user's items adds to it.

        Given the items and the posterior covariance of the user, the posterior mean of
        the user is a linear function of the user's data.  The score is therefore
        exactly the sum of "base", the score if all data were as expected, and of the
        shares.

        Parameters
        ----------
        user : label, or {array-like, sparse matrix} of shape (1, n_items)
            A user of the last fit, by label, or number if the data had none; or the row
            of any user.
        item : label
            Or its column, if the data had no labels.
        output : {"pandas", "polars"}, default="pandas"
            The library of the data frame.

        Returns
        -------
        table : DataFrame
            One row for each of the user's items, the largest share first.  Columns:
            "item"; "value" (for models of ratings) or "weight" and "target", the data
            of the item; "share", what the item adds to the score; "base" and "score",
            which are the same in all rows.  For models of ratings the score is the
            expected rating.

        Raises
        ------
        ValueError
            If the user or the item is unknown, or there are several users.
        ImportError
            If the library of the data frame is not installed.
        """
        self._check_fitted()
        frame_library(output)
        is_label = np.ndim(user) == 0 and not sparse.issparse(user)
        (place,) = self._item_places().of([item])
        chosen = self._choose([user] if is_label else user)
        if len(chosen.vectors) != 1:
            raise ValueError(f"Expected one user, got {len(chosen.vectors)}.")
        shares = self._shares(chosen, place)
        vector = np.ascontiguousarray(self._item_vectors()[[place]])
        score = float(products(chosen.vectors, vector)[0, 0])
        order = np.argsort(-shares, kind="stable")
        size = len(order)
        columns = {
            "item": self._item_places().names(chosen.rated.items[order]),
            **{name: of[order] for name, of in self._values_of(chosen.rated).items()},
            "share": shares[order],
            "base": np.full(size, score - shares.sum()),
            "score": np.full(size, score),
        }
        return data_frame(output, columns)


def _first(values):
    """Return the first that is not None, or None."""
    return next((value for value in values if value is not None), None)


def _check_numbers_of_columns(X, found):
    """Raise if the columns of a data frame are all the numbers, in another order.

    Numbers in order are no labels, so that a fit to such a frame has none to compare.
    """
    if hasattr(type(X), "item_labels") or found.dtype.kind not in "iu":
        return
    numbers = np.arange(len(found))
    if np.array_equal(np.sort(found), numbers) and not np.array_equal(found, numbers):
        raise ValueError(
            "The columns of X are the numbers of those of the fit in another order: "
            "pass X.sort_index(axis=1)."
        )


def _vector_of_labels(wanted):
    """Return labels, or a single one, as an array; see `label_array`."""
    wanted = as_labels(wanted)
    return label_array(wanted if np.ndim(wanted) else np.atleast_1d(wanted))


def _are_names(users, labels):
    """Return whether these are labels of users, and not data.

    Floats are taken for labels only where these are some.
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

"""Recommendations, similar items and explanations of a fitted factorization."""

import numpy as np
from scipy import sparse

from .._arguments import check_flag, is_integer, refuse
from .._frames import data_frame, frame_library
from .._simd.special import packed_columns
from ._best import Rated, best_items, products
from ._fitted_users import FittedUsersMixin
from ._labels import as_labels, label_array

__all__ = ["RecommenderMixin"]

#: Vectors of items are kept in a second layout, for calls with few users, if they have
#: at most this size.  Larger vectors do not stay in a cache of the processor.
MOST_PANEL_BYTES = 2**24


class RecommenderMixin(FittedUsersMixin):
    """Mixin for estimators whose scores are products of user and item vectors.

    An estimator must define `_users_of_block`.  By default, the vectors of users are
    the first array that `_users_of_block` returns, and the vectors of items are the
    columns of ``components_``.
    `explain` needs `_shares`, and `for_serving` needs `_fits`.
    """

    # -- hooks of an estimator ---------------------------------------------------------
    def _item_vectors(self):
        """Return the items, ndarray of shape (n_items, width); rows are contiguous."""
        return self._cached(
            "item_vectors", lambda: np.ascontiguousarray(self.components_.T)
        )

    def _item_directions(self):
        """Return vectors of items whose angles measure similarity."""
        return self._item_vectors()

    def _entry_columns(self, rated):
        """Return the columns of `explain` that show the data of a user."""
        return {"value": rated.values}

    def _shares(self, chosen, item):
        """Return the contribution of each entry of one user to the score of an item."""
        raise NotImplementedError

    # -- recommendations ---------------------------------------------------------------
    def recommend(self, X, n_items=10, *, exclude_seen=True, exclude=None, output=None):
        """Return the items that users will most likely choose.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_items), or labels
            Rows of data of any users.  Alternatively, users of the last `fit` or
            `partial_fit`, as an array-like of shape (n_samples,): labels such as
            ``["u195"]`` if the data had labels, like the matrices of
            `sktemper.datasets.interactions_matrix`, and otherwise row numbers.
        n_items : int, default=10
            Number of items to recommend to each user, at most the number of items.
        exclude_seen : bool, default=True
            Whether to leave out items for which a user has an entry.
        exclude : array-like of labels, default=None
            Items that are recommended to no user; column numbers if the data had no
            labels.
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
            1 or more than the number of items, or if the labels of the items of ``X``
            differ from the labels of the fit.
        ImportError
            If the library of the data frame is not installed.

        See Also
        --------
        explain : Contributions of the user's items to the score of another item.
        similar_items : Items whose factors have a similar direction.
        """
        chosen, items, scores, _ = self._recommended(
            X, n_items, exclude_seen, exclude, output
        )
        return self._shown(chosen, items, {"score": scores}, output)

    def item_scores(self, X):
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
        chosen = self._choose(X)
        return np.ascontiguousarray(products(chosen.vectors, self._item_vectors()))

    def _recommended(self, X, n_items, exclude_seen, exclude, output, rescored=None):
        """Return the `Chosen` users, and their best items with scores and products.

        ``rescored(chosen)`` returns a `Rescoring`; None ranks by the products.
        """
        self._check_fitted()
        self._check_n_items(n_items)
        if output is not None:
            frame_library(output)
        chosen = self._choose(X)
        check_flag(exclude_seen, "exclude_seen")
        vectors, panels = self._cached("ranked_items", self._ranked_items)
        barred = None
        if exclude is not None:
            excluded = _vector_of_labels(exclude)
            barred = np.zeros(len(vectors), bool)
            barred[self._item_index().positions(excluded)] = True
        found = best_items(
            chosen.vectors,
            vectors,
            n_items,
            seen=chosen.rated if exclude_seen else None,
            barred=barred,
            rescoring=rescored and rescored(chosen),
            n_jobs=self.n_jobs,
            panels=panels,
        )
        return chosen, *found

    def _ranked_items(self):
        """Return the vectors of items, and the same packed, or None if large."""
        vectors = self._item_vectors()
        is_large = vectors.nbytes > MOST_PANEL_BYTES
        return vectors, None if is_large else packed_columns(vectors.T)

    def _check_n_items(self, n_items):
        if not is_integer(n_items) or n_items < 1:
            refuse("n_items", "an int of at least 1", n_items)
        if n_items > self.n_features_in_:
            raise ValueError(
                f"Expected n_items <= n_features_in_, but n_items = {n_items}, "
                f"n_features_in_ = {self.n_features_in_}."
            )

    def _shown(self, chosen, items, columns, output):
        """Return arrays, or a data frame with one row for each recommended item."""
        if output is None and not chosen.by_name:
            return (items, *columns.values())
        output = "pandas" if output is None else output
        user, rank = np.nonzero(items >= 0)
        found = items[user, rank]
        table = {
            "user": chosen.labels[user],
            "item": self._item_index().names(found),
            "rank": rank + 1,
        }
        table |= {name: column[user, rank] for name, column in columns.items()}
        return data_frame(output, table)

    def similar_items(self, items, n_items=10, *, output="pandas"):
        """Return the items that are most similar to given items, as a table.

        Parameters
        ----------
        items : label, or array-like of shape (n_queries,)
            Labels of items, or column numbers if the data had no labels.
        n_items : int, default=10
            Number of similar items to find for each given item.
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
            If an item is unknown, or ``n_items`` is out of range.
        ImportError
            If the library of the data frame is not installed.
        """
        self._check_fitted()
        frame_library(output)
        self._check_n_items(n_items)
        names = _vector_of_labels(items)
        rows = self._item_index().positions(names)
        vectors = self._cached("directions", self._directions)
        starts = np.arange(len(rows) + 1, dtype=np.int64)
        itself = Rated(starts, rows.astype(np.int32), np.ones(len(rows)))
        found, scores, _ = best_items(vectors[rows], vectors, n_items, seen=itself)
        query, rank = np.nonzero(found >= 0)
        columns = {
            "item": names[query],
            "similar": self._item_index().names(found[query, rank]),
            "rank": rank + 1,
            "similarity": scores[query, rank],
        }
        return data_frame(output, columns)

    def _directions(self):
        """Return vectors of items, scaled to length 1; zero vectors stay zero."""
        vectors = self._item_directions()
        lengths = np.sqrt((vectors.astype(np.float64) ** 2).sum(axis=1))
        tiny = np.finfo(vectors.dtype).tiny
        scaled = vectors / np.maximum(lengths, tiny)[:, None]
        return np.ascontiguousarray(scaled, dtype=vectors.dtype)

    def explain(self, user, item, *, output="pandas"):
        """Return the contributions of a user's items to the score of another item.

        Given the items and the posterior covariance of the user, the posterior mean of
        the user is a linear function of the user's data.  The score is therefore
        exactly the sum of the contributions ("share") and of "base", the score if all
        data of the user were equal to their expectations.

        Parameters
        ----------
        user : label, or {array-like, sparse matrix} of shape (1, n_items)
            Label of a user of the last fit, or row number if the data had no labels.
            Alternatively, the row of data of any user.
        item : label
            Label of the item, or column number if the data had no labels.
        output : {"pandas", "polars"}, default="pandas"
            Library of the data frame.

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
        (column,) = self._item_index().positions([item])
        chosen = self._choose([user] if is_label else user)
        if len(chosen.vectors) != 1:
            raise ValueError(f"Expected one user, got {len(chosen.vectors)}.")
        shares = self._shares(chosen, column)
        vector = np.ascontiguousarray(self._item_vectors()[[column]])
        score = float(products(chosen.vectors, vector)[0, 0])
        order = np.argsort(-shares, kind="stable")
        size = len(order)
        columns = {
            "item": self._item_index().names(chosen.rated.items[order]),
            **{
                name: values[order]
                for name, values in self._entry_columns(chosen.rated).items()
            },
            "share": shares[order],
            "base": np.full(size, score - shares.sum()),
            "score": np.full(size, score),
        }
        return data_frame(output, columns)


def _vector_of_labels(wanted):
    """Return one or several labels as an array; see `label_array`."""
    wanted = as_labels(wanted)
    return label_array(wanted if np.ndim(wanted) else np.atleast_1d(wanted))

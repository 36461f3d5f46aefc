"""Recommendations of a model of clicks: the items that users will choose."""

import numpy as np

from .._expfam import unpacked
from .._frames import frame_library
from .._ranking._best import Rated, products
from .._ranking._mixin import RecommenderMixin
from ..model import Powers, all_finite
from ._pairs import Pairs
from ._users import UserInference

__all__ = ["ImplicitRecommenderMixin"]


class ImplicitRecommenderMixin(RecommenderMixin):
    """Of an estimator whose scores are products of factors."""

    def recommend(self, X, n_items=10, *, exclude_seen=True, exclude=None, output=None):
        """Return the items that users will most likely choose.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_items), or of labels
            Pairs of users, whether they were in the training data or not; or labels of
            users of the last `fit` or `partial_fit`, of shape (n_samples,), such as
            ``["u195"]``, if the data had labels, as those of
            `sktemper.datasets.interactions_matrix` have; if not, numbers of its rows.
        n_items : int, default=10
            How many for each user, at most all of the items.
        exclude_seen : bool, default=True
            Whether to leave out the items with which a user has pairs.
        exclude : array-like of labels, default=None
            Items that nobody is to have; their columns, if the data had no labels.
        output : {"pandas", "polars"}, default=None
            Return a data frame of this library.  None: of labels pandas, and else
            arrays.

        Returns
        -------
        items : ndarray of int of shape (n_samples, n_items)
            Columns, best first; among equals the first; -1 where nothing is left.
        scores : ndarray of shape (n_samples, n_items)
            As of `predict`; NaN where there is no item.
        table : DataFrame
            In place of these: "user", "item", "rank" from 1, "score".  Users for whom
            nothing is left have no row.

        Raises
        ------
        ValueError
            If a label is unknown, which lists all that are; if ``n_items`` is less than
            1, or more than the items that there are; if the items of ``X`` are labelled
            otherwise than those of the fit.
        ImportError
            If the library of the data frame is not installed.

        See Also
        --------
        explain : Which of a user's items make the score of another.
        similar_items : Items with factors of the same direction.
        """
        self._check_fitted()
        self._check_n_items(n_items)
        if output is not None:
            frame_library(output)
        chosen = self._choose(X)
        items, scores, _ = self._best(chosen, n_items, exclude_seen, exclude)
        return self._shown(chosen, items, {"score": scores}, output)

    def item_scores(self, X):
        """Return the scores of all items, by which `recommend` ranks them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_items), or of labels
            As of `recommend`.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_items)
            Also of items with which users have pairs.
        """
        self._check_fitted()
        chosen = self._choose(X)
        return np.ascontiguousarray(products(chosen.vectors, self._item_vectors()))

    # -- what `RecommenderMixin` asks for ----------------------------------------------
    def _finish(self, problem, state):
        """Keep the pairs of the users of the training data, and the labels."""
        parts = problem.map(_rated, state.dtype)
        self._rated_ = Rated.joined(map(Rated._make, parts))
        self._keep_labels(problem.data)

    def _check_kept(self, model):
        """Raise if what is kept of the users does not belong to the model."""
        users = vars(self).get("_users_")
        if users is None:
            return
        if users.shape[1:] != (model.n_components,) or users.dtype != model.dtype:
            raise ValueError("factors of users have the wrong shape")
        if not np.isfinite(users).all():
            raise ValueError("factors of users are not finite")
        self._check_ranked(len(users), model.n_features)
        if self._rated_.values.shape[1:] != (2,):
            raise ValueError("pairs of users have no weights and targets")

    def _item_vectors(self):
        return self._cached(
            "item_vectors", lambda: np.ascontiguousarray(self.components_.T)
        )

    def _user_vectors(self):
        return self.user_factors_

    def _rows(self, X):
        dtype = self.state_.dtype

        def found(model, block, prepared):
            means = model.factors(block, prepared).astype(dtype)
            return means, *_rated(model, block, dtype)

        means, *rated = zip(*self._map(X, found), strict=True)
        rated = Rated.joined(map(Rated._make, zip(*rated, strict=True)))
        return np.concatenate(means), rated, None

    def _fits(self, prepared, model):
        items, n_items = prepared.items, model.n_features
        shapes = items.table.shape, items.table.dtype, items.means.shape
        expected = (
            (model.n_panels, n_items, model.panel_width),
            model.dtype,
            (n_items, model.n_components),
        )
        fits = shapes == expected and prepared.shared.shape == (model.n_packed,)
        numbers = items.table, items.means, prepared.shared, prepared.hyper
        return fits and all_finite(*numbers)

    def _vector_width(self):
        return self._fitted_model().n_components

    def _item_directions(self):
        return self._item_vectors()

    def _values_of(self, rated):
        return dict(zip(("weight", "target"), rated.values.T, strict=True))

    def _shares(self, chosen, item):
        """Return what each pair adds to the score of an item."""
        model = self._fitted_model()
        prepared, (starts, items, values) = self._prepared(model), chosen.rated
        hyper, n_packed = prepared.hyper, model.n_packed
        weights, targets = values.astype(np.float64).T
        pairs = Pairs(starts.astype(np.intp), items, weights, targets)
        factors = UserInference(model, pairs, prepared, Powers()).pair_factors
        sums = model.sums(pairs.starts, items, *factors, prepared.items.table)
        squares = sums.swapaxes(0, 1).reshape(1, -1)[0, :n_packed] + prepared.shared
        natural = hyper.users.natural()[:n_packed] + squares / hyper.noise_variance
        precision = unpacked(natural[None], model.n_components)[0]
        direction = np.linalg.solve(precision, prepared.items.means[item])
        products_with = prepared.items.means[items] @ direction
        return weights * targets / hyper.noise_variance * products_with


def _rated(model, block, dtype):
    """Return the pairs of a block as the fields of `Rated`; values are of `dtype`."""
    starts = (block.starts - block.starts[0]).astype(np.int64)
    values = np.column_stack([block.weights, block.targets]).astype(dtype)
    return starts, np.array(block.items), values

"""Recommendations of a factorization of implicit feedback, such as clicks."""

import numpy as np

from .._expfam import unpacked
from .._limits import largest_value
from .._linalg import plain_entries
from .._ranking._best import Rated
from .._ranking._fitted_users import Chosen
from .._ranking._recommender import RecommenderMixin
from ..model import Powers, all_finite
from ._pairs import Pairs
from ._users import UserInference

__all__ = ["ImplicitRecommenderMixin"]


class ImplicitRecommenderMixin(RecommenderMixin):
    """Mixin for `ImplicitFactorization`, whose scores are products of factors."""

    @staticmethod
    def _users_of_block(model, block, prepared):
        starts = (block.starts - block.starts[0]).astype(np.int64, copy=False)
        values = np.empty((len(block.items), 2), model.dtype)
        values[:, 0], values[:, 1] = block.weights, block.targets
        means = model.factors(block, prepared).astype(model.dtype, copy=False)
        return (means,), Rated(starts, np.array(block.items), values)

    def _chosen_of_few(self, X):
        known = vars(self)
        if type(X) is np.ndarray or "feature_names_in_" in known:
            return None
        entries = plain_entries(
            X,
            self._cached("most_rows", lambda: self._max_inline_rows),
            self._max_inline_values,
            known["n_features_in_"],
            largest_value(known["state_"].dtype),
        )
        if entries is None:  # validation converts the matrix, or raises an error
            return None
        starts, items, values = entries
        model = self._ready.model(self)
        block = Pairs(starts, items, model.weight_of(values), model.target_of(values))
        posteriors, rated = self._users_of_block(model, block, self._prepared(model))
        labels = np.arange(len(starts) - 1)
        return Chosen(posteriors[0], rated, labels, False, posteriors)

    def _check_kept(self, model):
        super()._check_kept(model)
        if vars(self).get("_users_") is None:
            return
        if self._users_[0].dtype != model.dtype:
            raise ValueError("posteriors of users have the wrong type")
        if self._rated_.values.shape[1:] != (2,):
            raise ValueError("pairs of users have no weights and targets")

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
        return self._state().hyper.n_components

    def _entry_columns(self, rated):
        return dict(zip(("weight", "target"), rated.values.T, strict=True))

    def _shares(self, chosen, item):
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

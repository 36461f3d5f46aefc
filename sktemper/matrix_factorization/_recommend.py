"""Recommendations of a model of ratings."""

import numpy as np
from scipy.special import log_ndtr

from .._arguments import check_flag, check_scale, is_number, refuse
from .._limits import check_values
from .._ranking._best import Rated, Rescoring, products
from .._ranking._recommender import RecommenderMixin
from ..model import all_finite
from . import _kernels
from ._noise import Noise
from ._ratings import Ratings

__all__ = ["RatingRecommenderMixin"]

#: Values of the parameter ``rank_by`` of `recommend`.
RANKINGS = ("likely", "rating")
#: Ratings added to the count of each item, so that new items may be chosen.
UNSEEN = 0.5


class RatingRecommenderMixin(RecommenderMixin):
    """Mixin for estimators of ratings."""

    def recommend(
        self,
        X,
        n_items=10,
        *,
        rank_by="likely",
        threshold=None,
        exclude_seen=True,
        exclude=None,
        clip=None,
        return_std=False,
        output=None,
    ):
        r"""Return the items that users will most likely choose and like.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_items), or labels
            Rows of ratings of any users.  Alternatively, users of the last `fit` or
            `partial_fit`, as an array-like of shape (n_samples,): labels such as
            ``["u195"]`` if the data had labels, like the matrices of
            `sktemper.datasets.ratings_matrix`, and otherwise row numbers.
        n_items : int, default=10
            Number of items to recommend to each user, at most the number of items.
        rank_by : {"likely", "rating"}, default="likely"
            "likely" ranks by the log of :math:`s_j \Pr(y_{ij} \geq t)`:
            the item's share of all ratings, `item_popularity_`, times the probability
            that the rating reaches the threshold, given the expected rating and the
            noise variance of the user.  "rating" ranks by the expected rating, which
            favours items that few users rated, but rated highly.  It predicts the items
            that users choose worse than popularity does.
        threshold : float, default=None
            Smallest rating t that means that a user likes an item.  None is
            ``global_mean_``.  ``rank_by="rating"`` ignores this parameter.
        exclude_seen : bool, default=True
            Whether to leave out the items that a user has rated.
        exclude : array-like of labels, default=None
            Items that are recommended to no user; column numbers if the data had no
            labels.
        clip : tuple of (float, float), default=None
            Ends of the scale, such as ``(1, 5)``, to which expected ratings are clipped
            after ranking.
        return_std : bool, default=False
            Whether to also return the standard deviations of ratings, which include the
            noise.
        output : {"pandas", "polars"}, default=None
            Library of the data frame to return.  None returns a pandas data frame if
            ``X`` are labels, and arrays otherwise.

        Returns
        -------
        items : ndarray of int of shape (n_samples, n_items)
            Column numbers of the items, best first.  Items with equal scores are in the
            order of their columns.  -1 means that no item is left.
        ratings : ndarray of shape (n_samples, n_items)
            Expected ratings; NaN if no item is left.
        std : ndarray of shape (n_samples, n_items)
            Standard deviations of the ratings, returned only if ``return_std`` is True.
        table : DataFrame
            Returned instead of the arrays, with the columns "user", "item", "rank"
            (from 1), "score" (the number that ranks the items) and "rating", and "std"
            if ``return_std`` is True.  Users for whom no item is left have no row.

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
        item_scores : The scores of all items.
        explain : Contributions of the user's items to the expected rating of another.
        similar_items : Items whose factors have a similar direction.
        """
        self._check_fitted()
        check_scale(clip)
        check_flag(return_std, "return_std")
        rescored = self._rescoring(rank_by, threshold)
        chosen, items, scores, ratings = self._recommended(
            X, n_items, exclude_seen, exclude, output, rescored
        )
        columns = {"rating": ratings if clip is None else np.clip(ratings, *clip)}
        if return_std:
            columns["std"] = self._deviations(items, chosen.posteriors)
        if output is not None or chosen.by_name:
            columns = {"score": scores} | columns
        return self._shown(chosen, items, columns, output)

    def item_scores(self, X, *, rank_by="likely", threshold=None):
        """Return the scores of all items, by which `recommend` ranks them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_items), or labels
            Users, as in `recommend`.
        rank_by : {"likely", "rating"}, default="likely"
            Score to return, as in `recommend`.
        threshold : float, default=None
            Smallest rating that means that a user likes an item, as in `recommend`.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_items)
            Scores of all items, also of items that the user has rated.
        """
        self._check_fitted()
        rescored = self._rescoring(rank_by, threshold)
        chosen = self._choose(X)
        scores = products(chosen.vectors, self._item_vectors())
        if rescored:
            scores = rescored(chosen).scores(scores, slice(None), slice(None))
        return np.ascontiguousarray(scores)

    @property
    def item_popularity_(self):
        """Share of each item in all ratings seen, ndarray (n_items,)."""
        counts = self._state().hyper.item_counts
        return counts / (counts.sum() or 1.0)

    # -- scores ------------------------------------------------------------------------
    def _rescoring(self, rank_by, threshold):
        """Return a function from `Chosen` to a `Rescoring`; None to rank by ratings."""
        if rank_by not in RANKINGS:
            refuse("rank_by", f"one of {list(RANKINGS)}", rank_by)
        if rank_by == "rating":
            return None
        if threshold is None:
            threshold = self.global_mean_
        elif not is_number(threshold) or not np.isfinite(threshold):
            refuse("threshold", "a finite number or None", threshold)
        check_values(threshold, self.state_.dtype, "threshold")
        log_shares = self._cached("log_shares", self._log_shares)
        # log probabilities are not positive, so the log share bounds the score
        order = self._cached(
            "most_popular", lambda: np.argsort(-log_shares, kind="stable")
        )

        def of_users(chosen):
            noise = np.sqrt(self._noise_variances(chosen.posteriors[1]))[:, None]

            def scores(ratings, users, items):
                standardised = (ratings - threshold) / noise[users]
                found = log_shares[items] + log_ndtr(standardised)
                return found.astype(ratings.dtype)

            bounds = log_shares.astype(self.state_.dtype)
            return Rescoring(scores, bounds, order)

        return of_users

    def _log_shares(self):
        """Return the log of each item's share of the ratings, smoothed by `UNSEEN`."""
        state = self._state()
        passes = max(state.progress.samples / max(state.progress.total_rows, 1), 1.0)
        counts = state.hyper.item_counts / passes + UNSEEN
        return np.log(counts / counts.sum())

    def _noise_variances(self, noise):
        """Return expected noise variances for shapes and rates of the users' noise."""
        return self._state().hyper.noise_variance * Noise(*noise.T).inverse_means()

    def _deviations(self, items, posteriors):
        """Return standard deviations of ratings, or NaN for items that are -1."""
        user, rank = np.nonzero(items >= 0)
        deviations = np.full(items.shape, np.nan, self.state_.dtype)
        if len(user):
            pairs = user, items[user, rank]
            deviations[user, rank] = self._expected(*pairs, posteriors, True)[1]
        return deviations

    def _expected(self, users, items, posteriors, with_std):
        """Return expected ratings of pairs, and their standard deviations or None."""
        natural, noise = posteriors
        dtype, model = self.state_.dtype, self._fitted_model()
        distinct, own_rows = np.unique(users, return_inverse=True)
        mean, variance = model.expected(
            Ratings(np.arange(len(users) + 1), items.astype(np.int32), None),
            self._prepared(model),
            model.gaussians(natural[distinct]),
            own_rows.astype(np.int32),
        )
        mean = mean.astype(dtype)
        if not with_std:
            return mean, None
        variance += self._noise_variances(noise[users])
        return mean, np.sqrt(variance).astype(dtype)

    # -- hooks of `RecommenderMixin` ---------------------------------------------------
    @staticmethod
    def _users_of_block(model, block, prepared):
        users = model.users(block, prepared)
        starts, items, values = (np.array(part) for part in block)
        rated = Rated((starts - starts[0]).astype(np.int64), items, values)
        parameters = users.parameters(model.room)
        return (parameters, np.column_stack(users.noise)), rated

    def _posterior_widths(self, model):
        return model.n_natural, 2

    def _item_vectors(self):
        return self._cached("item_vectors", self._make_item_vectors)

    def _make_item_vectors(self):
        """Return factors, 1 for the user's bias, and the mean plus the item's bias."""
        items = self._items()
        biases = self._biases(items) + self.global_mean_
        columns = items[:, : self._rank()], np.ones_like(biases), biases
        return np.column_stack(columns).astype(self.state_.dtype, copy=False)

    def _user_vectors(self):
        return self._cached(
            "user_vectors", lambda: self._vectors_of_means(self._users())
        )

    def _vectors_of(self, posteriors):
        return self._vectors_of_means(self._means(posteriors[0]))

    def _vectors_of_means(self, users):
        biases = self._biases(users)
        columns = users[:, : self._rank()], biases, np.ones_like(biases)
        return np.column_stack(columns).astype(self.state_.dtype, copy=False)

    def _fits(self, prepared, model):
        items, n_items = prepared.items, model.n_features
        shapes = items.table.shape, items.table.dtype, items.means.shape
        expected = (n_items, model.width), model.dtype, (n_items, model.n_own)
        return shapes == expected and all_finite(
            items.table, items.means, prepared.hyper
        )

    def _vector_width(self):
        return self._rank() + 2

    def _item_directions(self):
        return np.ascontiguousarray(self.components_.T)

    def _shares(self, chosen, item):
        model = self._fitted_model()
        prepared, rated = self._prepared(model), chosen.rated
        natural = chosen.posteriors[0]
        values = rated.values.astype(model.dtype)
        sums = _kernels.own_sums(
            np.arange(len(values) + 1),
            rated.items,
            values - model.dtype.type(prepared.hyper.global_mean),
            None,
            prepared.items.table,
            model.n_components,
            model.biases,
            model.stop,
        )
        n_packed, n_own = model.n_packed, model.n_own
        # factor of the ratings in the posterior precision of the user
        squares = sums[:, :n_packed].sum(axis=0)
        prior = prepared.hyper.users.natural()[:n_packed]
        scale = (natural[0, :n_packed] - prior) @ squares
        scale /= max(squares @ squares, np.finfo(float).tiny)
        linear = scale * sums[:, n_packed : n_packed + n_own]
        vector = prepared.items.means[item].copy()
        vector[model.n_components :] = 1.0  # multiplies the bias of the user
        (covariance,) = self._covariances(natural).astype(np.float64)
        return linear @ (covariance @ vector)

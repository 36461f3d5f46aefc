"""Recommendations of a model of ratings: what users will choose, and like."""

from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from .._arguments import check_flag, check_scale, is_number, refuse
from .._frames import frame_library
from .._limits import check_values
from .._ranking._best import Rated, Rescoring, products
from .._ranking._mixin import RecommenderMixin
from ..model import all_finite
from . import _kernels
from ._noise import Noise
from ._ratings import Ratings

__all__ = ["RatingRecommenderMixin", "rows_of_users"]

#: What `recommend` ranks by.
RANKINGS = ("likely", "rating")
#: Ratings that an item has beside those that it has: also new ones may be chosen.
UNSEEN = 0.5


class Posteriors(NamedTuple):
    """Of some users, as a fit keeps them.

    Attributes
    ----------
    natural : ndarray of shape (n_users, n_natural)
    noise : ndarray of shape (n_users, 2)
        Shape and rate.
    """

    natural: np.ndarray
    noise: np.ndarray


class RatingRecommenderMixin(RecommenderMixin):
    """Of an estimator of ratings with biases and a noise variance of each user."""

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
        X : {array-like, sparse matrix} of shape (n_samples, n_items), or of labels
            Ratings of users, whether they were in the training data or not; or labels
            of users of the last `fit` or `partial_fit`, of shape (n_samples,), such as
            ``["u195"]``, if the data had labels, as those of
            `sktemper.datasets.ratings_matrix` have; if not, numbers of its rows.
        n_items : int, default=10
            How many for each user, at most all of the items.
        rank_by : {"likely", "rating"}, default="likely"
            "likely" ranks by the log of :math:`s_j \Pr(y_{ij} \geq t)`:
            the item's share of all ratings, `item_popularity_`, times the probability,
            by the expected rating and the noise variance of the user, that the rating
            reaches the threshold.  "rating" ranks by the expected rating, which finds
            what few have seen and liked: among items that people choose from, it ranks
            worse than popularity.
        threshold : float, default=None
            The rating t from which on somebody likes an item.  None is
            ``global_mean_``.  Not for "rating".
        exclude_seen : bool, default=True
            Whether to leave out what a user has rated.
        exclude : array-like of labels, default=None
            Items that nobody is to have; their columns, if the data had no labels.
        clip : tuple of (float, float), default=None
            The ends of the scale, such as ``(1, 5)``, to which expected ratings are
            clipped, after they have been ranked.
        return_std : bool, default=False
            Whether to return the standard deviations of ratings too, noise included.
        output : {"pandas", "polars"}, default=None
            Return a data frame of this library.  None: of labels pandas, and else
            arrays.

        Returns
        -------
        items : ndarray of int of shape (n_samples, n_items)
            Columns, best first; among equals the first; -1 where nothing is left.
        ratings : ndarray of shape (n_samples, n_items)
            Expected ratings; NaN where there is no item.
        std : ndarray of shape (n_samples, n_items)
            Only if ``return_std``.
        table : DataFrame
            In place of these: "user", "item", "rank" from 1, "score", "rating", and, if
            ``return_std``, "std".  The score is what it is ranked by.  Users for whom
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
        item_scores : The scores of all items.
        explain : Which of a user's items make the expected rating of another.
        similar_items : Items with factors of the same direction.
        """
        self._check_fitted()
        self._check_n_items(n_items)
        check_scale(clip)
        check_flag(return_std, "return_std")
        if output is not None:
            frame_library(output)
        rescored = self._rescoring(rank_by, threshold)
        chosen = self._choose(X)
        items, scores, ratings = self._best(
            chosen, n_items, exclude_seen, exclude, rescored and rescored(chosen)
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
        X : {array-like, sparse matrix} of shape (n_samples, n_items), or of labels
            As of `recommend`.
        rank_by, threshold : str, float
            As of `recommend`.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_items)
            Also of what was rated.
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
        """Share of all ratings seen that each item has, ndarray (n_items,)."""
        counts = self._state().hyper.item_counts
        return counts / (counts.sum() or 1.0)

    # -- what scores are made of -------------------------------------------------------
    def _rescoring(self, rank_by, threshold):
        """Return what makes the `Rescoring` of `Chosen`; None for none."""
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
        # the log of a probability is not positive: nothing scores more than its share
        order = self._cached(
            "most_popular", lambda: np.argsort(-log_shares, kind="stable")
        )

        def of_users(chosen):
            noise = np.sqrt(self._noise_variances(chosen.posteriors.noise))[:, None]

            def scores(ratings, users, items):
                standardised = (ratings - threshold) / noise[users]
                found = log_shares[items] + log_ndtr(standardised)
                return found.astype(ratings.dtype)

            bounds = log_shares.astype(self.state_.dtype)
            return Rescoring(scores, bounds, order)

        return of_users

    def _log_shares(self):
        """Return logs of the items' shares of the ratings, of new ones too."""
        state = self._state()
        passes = max(state.progress.samples / max(state.progress.total_rows, 1), 1.0)
        counts = state.hyper.item_counts / passes + UNSEEN
        return np.log(counts / counts.sum())

    def _noise_variances(self, noise):
        """Return the expected noise variances of users with such shapes and rates."""
        return self._state().hyper.noise_variance * Noise(*noise.T).inverse_means()

    def _deviations(self, items, posteriors):
        """Return the deviations of what users say of items; NaN where items are -1."""
        user, place = np.nonzero(items >= 0)
        deviations = np.full(items.shape, np.nan, self.state_.dtype)
        if len(user):
            pairs = user, items[user, place]
            deviations[user, place] = self._expected(*pairs, posteriors, True)[1]
        return deviations

    def _expected(self, users, items, posteriors, with_std):
        """Return what users say of items, and if asked its standard deviations."""
        dtype, model = self.state_.dtype, self._fitted_model()
        distinct, own_rows = np.unique(users, return_inverse=True)
        mean, variance = model.expected(
            Ratings(np.arange(len(users) + 1), items.astype(np.int32), None),
            self._prepared(model),
            model.gaussians(posteriors.natural[distinct]),
            own_rows.astype(np.int32),
        )
        mean = mean.astype(dtype)
        if not with_std:
            return mean, None
        variance += self._noise_variances(posteriors.noise[users])
        return mean, np.sqrt(variance).astype(dtype)

    # -- what `RecommenderMixin` asks for ----------------------------------------------
    def _item_vectors(self):
        return self._cached("item_vectors", self._make_item_vectors)

    def _make_item_vectors(self):
        """Return factors, 1 for the bias of a user, and mean and bias of the item."""
        items = self._items()
        biases = self._biases(items) + self.global_mean_
        columns = items[:, : self._rank()], np.ones_like(biases), biases
        return np.column_stack(columns).astype(self.state_.dtype, copy=False)

    def _user_vectors(self):
        return self._cached(
            "user_vectors", lambda: self._vectors_of_means(self._users())
        )

    def _vectors_of(self, natural):
        return self._vectors_of_means(self._means(natural))

    def _vectors_of_means(self, users):
        biases = self._biases(users)
        columns = users[:, : self._rank()], biases, np.ones_like(biases)
        return np.column_stack(columns).astype(self.state_.dtype, copy=False)

    def _posteriors_of(self, places):
        natural, noise = self._fitted_users()
        return Posteriors(natural[places], noise[places])

    def _rows(self, X):
        natural, noise, *rated = zip(*self._map(X, rows_of_users), strict=True)
        posteriors = Posteriors(np.concatenate(natural), np.concatenate(noise))
        rated = Rated.joined(map(Rated._make, zip(*rated, strict=True)))
        return self._vectors_of(posteriors.natural), rated, posteriors

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
        """Return what each rating adds to the expected rating of an item."""
        model = self._fitted_model()
        prepared, rated = self._prepared(model), chosen.rated
        posteriors = chosen.posteriors
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
        # the precision by which ratings count, as it is in that of the user
        squares = sums[:, :n_packed].sum(axis=0)
        prior = prepared.hyper.users.natural()[:n_packed]
        scale = (posteriors.natural[0, :n_packed] - prior) @ squares
        scale /= max(squares @ squares, np.finfo(float).tiny)
        linear = scale * sums[:, n_packed : n_packed + n_own]
        vector = prepared.items.means[item].copy()
        vector[model.n_components :] = 1.0  # of the bias of the user
        (covariance,) = self._covariances(posteriors.natural).astype(np.float64)
        return linear @ (covariance @ vector)


def rows_of_users(model, block, prepared):
    """Return what a fit keeps of the users of a block, as arrays."""
    users = model.users(block, prepared)
    starts, items, values = (np.array(part) for part in block)
    return (
        users.parameters(),
        np.column_stack(users.noise),
        (starts - starts[0]).astype(np.int64),
        items,
        values,
    )

"""Renewals of mixtures in streams: births from rows that fit badly, and merges."""

import copy

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax

from ..model._values import Request
from ._births import USED
from ._natural import LastCall, are_equal
from ._splits import Search

__all__ = ["RenewingMixin"]

#: Cosine of responsibilities above which two components are the same.
SAME_COSINE = 0.5
#: New components start from the rows with the lowest scores: this share of all rows,
#: and at least this number of rows per new component.
WORST, ROWS_OF_BIRTH = 0.25, 10


class RenewingMixin:
    """Mixin of `MixtureModel` with the capability "renewals"."""

    def resized(self, n_components):
        """Return the model with another number of components, and the same `stop`."""
        model = copy.copy(self)
        model.n_components = n_components
        model.weights = type(self.weights)(n_components)
        model.family = self.family.resized(n_components)
        model.last_search, model._prior = LastCall(are_equal), LastCall()
        return model

    def with_births(self, globals_, hyper, n_births, X, row_weight, random):
        """Return a model with new components, which start from the rows that fit worst.

        See `ConjugateModel.with_births`.
        """
        block = self.take(X, slice(0, X.shape[0]))
        scores, counts = self.predictive_scores(block, self.prepare(globals_, hyper))
        scores = np.where(counts > 0, scores / np.maximum(counts, 1e-300), np.inf)
        n_worst = max(round(WORST * len(scores)), ROWS_OF_BIRTH * n_births)
        worst = np.sort(np.argsort(scores, kind="stable")[:n_worst])
        few, seed = self.resized(n_births), int(random.integers(2**31))
        new = few.initial_globals(
            X[worst], np.random.RandomState(seed), hyper, row_weight[worst]
        )
        logs = few.log_shares(block, new, hyper)
        return self._with_others(block, row_weight, globals_, hyper, logs)

    def joined(self, globals_, hyper, born, X, row_weight):
        """Return a model of the current components and the new components."""
        block = self.take(X, slice(0, X.shape[0]))
        logs = self.resized(len(born.weights)).log_shares(block, born, hyper)
        logs = logs[:, self.n_components :]
        return self._with_others(block, row_weight, globals_, hyper, logs)

    def _with_others(self, block, row_weight, globals_, hyper, logs):
        """Return a model of the current components and of other components.

        Parameters
        ----------
        block, row_weight, globals_, hyper : object
        logs : ndarray of shape (n_rows, n_others)
            Result of `log_shares` for the other components.

        Returns
        -------
        model : MixtureModel
        globals_ : Mixture
            Optimum for the responsibilities of all components together.
        hyper : object
        """
        logs = np.hstack([self.log_shares(block, globals_, hyper), logs])
        shares = softmax(logs, axis=1) * row_weight[:, None]
        larger = self.resized(shares.shape[1])
        return larger, larger.optimum(block, shares, hyper), hyper

    def shares(self, block, globals_, hyper):
        """Return the responsibilities for rows, float64, and the rows' bounds."""
        prepared = self.prepare(globals_, hyper)
        step = self.local_step(block, prepared, Request(want=("local",)))
        return np.asarray(step.local_parameters, np.float64), step.row_bounds

    def log_shares(self, block, globals_, hyper):
        """Return E log p(x, component) of each row, (n_rows, n_components)."""
        shares, bounds = self.shares(block, globals_, hyper)
        with np.errstate(divide="ignore"):
            return np.log(shares) + bounds[:, None]

    def search(self, block, shares, hyper, row_weight):
        """Return the `Search` for merges, given the responsibilities of rows."""
        return Search(self, hyper, block, shares, row_weight, splits=False)

    def merged(self, globals_, hyper, present, present_hyper, X, row_weight):
        """Merge the components of `joined` to this model's number of components.

        First, all merges that raise the evidence are made.  Then the best of the other
        merges is made, until there are few enough components.  See
        `ConjugateModel.merged`.
        """
        block = self.take(X, slice(0, X.shape[0]))
        before, _ = self.shares(block, present, present_hyper)
        larger = self.resized(len(globals_.weights))
        shares, _ = larger.shares(block, globals_, hyper)
        rows = larger.complete(block, globals_, hyper)
        while True:
            search = larger.search(rows, shares, hyper, row_weight)
            changes = search.together
            if not changes:
                used = np.flatnonzero(search.counts >= USED)
                if len(used) <= self.n_components:
                    break
                changes = search.best_merge()
            shares = search.after(changes)
        shares = (
            shares[:, used] / np.maximum(shares[:, used].sum(axis=1), 1e-300)[:, None]
        )
        cosines = _cosines(before, shares)
        columns, groups = linear_sum_assignment(-cosines)
        placed = np.zeros_like(before)
        placed[:, columns] = shares[:, groups]
        is_new = np.zeros(self.n_components, dtype=bool)
        is_new[columns] = cosines[columns, groups] <= SAME_COSINE
        placed *= row_weight[:, None]
        start = self.optimum(block, placed, present_hyper)
        # the earlier priors are kept, because births distort learned priors
        return start, present_hyper, is_new

    def matched(self, globals_, hyper, present, present_hyper, X, row_weight):
        """Order components by the rows that they share with current components."""
        block = self.take(X, slice(0, X.shape[0]))
        before, _ = self.shares(block, present, present_hyper)
        shares, _ = self.shares(block, globals_, hyper)
        cosines = _cosines(before, shares)
        rows, columns = linear_sum_assignment(-cosines)
        shares = shares[:, columns]
        is_same = cosines[rows, columns] > SAME_COSINE
        shares *= row_weight[:, None]
        is_same |= shares.sum(axis=0) < USED
        return self.optimum(block, shares, hyper), is_same

    def blended(self, globals_, hyper, present, may_be_same, share):
        """Return components with their statistics scaled to all rows of the stream.

        The components were fitted to the remembered rows.  ``share`` is the weight of
        all other rows, as a share of the weight of all rows.
        """
        prior = self.prior(hyper)
        statistics = globals_ + prior.scaled(-1.0)
        return prior + statistics.scaled(1.0 / (1.0 - share))

    def component_counts(self, globals_, hyper):
        """Return the number of rows of each component."""
        prior = self.weights.prior(hyper.weight_concentration)
        return self.weights.counts(globals_.weights - prior)


def _cosines(a, b):
    """Return the cosines of the columns of responsibilities, (n_a, n_b)."""
    norms = [np.sqrt((shares**2).sum(axis=0)) for shares in (a, b)]
    a, b = (s / np.where(n > 0, n, 1.0) for s, n in zip((a, b), norms, strict=True))
    return a.T @ b

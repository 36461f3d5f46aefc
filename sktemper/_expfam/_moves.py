"""Births, splits and merges of a mixture, by the evidence of hard clusters.

With F the log marginal likelihood of a cluster and of its size, a split of S into a and
b gains F(a) + F(b) - F(S) - F(empty), and a merge gains what the split of it would
lose (Ueda et al. 2000; Hughes and Sudderth 2013).
"""

import itertools

import numpy as np
from scipy.special import gammaln, logsumexp

__all__ = ["birth", "split_merge"]

#: Components that each is merged with, at most: those whose samples are most alike.
NEIGHBOURS = 4
#: Rounds in which samples change sides after a split, and splits tried of a component.
ROUNDS, SPLITS = 6, 2
#: Rows of a component, in all, that make a split of it worth a try.
FEWEST = 4
#: The least count of a component that is not empty.
USED = 0.5
#: Names the proposal to reorder components; nats that make it worth a try.
ORDER, LEAST_GAIN = "order", 1e-3


def birth(model, globals_, hyper, block, random, row_weight):
    """Return responsibilities in which one component has begun anew.

    A component taken at random leaves its samples to the others.  It takes those that
    one random sample, alone, predicts best beside the present components: half as many
    as a component has that is not empty.
    """
    prepared = model.prepare(globals_, hyper)
    logs = model.log_joint(block, prepared)
    responsibilities = _softmax(logs)
    k = random.integers(model.n_components)
    n_used = max((row_weight @ responsibilities > USED).sum(), 1)
    others = np.delete(np.arange(model.n_components), k)
    responsibilities[:, k] = 0.0
    if len(others):
        responsibilities[:, others] = _softmax(logs[:, others])
    seed = random.choice(len(row_weight), p=row_weight / row_weight.sum())
    moments = model.moments(block)
    alone = _parameters(model, hyper, _dense(moments[[seed]]))
    gains = model.family.log_predictive(alone, moments)[:, 0]
    gains -= logsumexp(logs, axis=1) - model.log_base(block)
    gains[seed] = np.inf
    best = np.argsort(-gains, kind="stable")
    wanted = max(row_weight.sum() / (2 * n_used), 2)
    near = best[: 1 + np.searchsorted(np.cumsum(row_weight[best]), wanted)]
    responsibilities[near] = 0.0
    responsibilities[near, k] = 1.0
    return responsibilities


def split_merge(model, globals_, hyper, block, random, refused, row_weight):
    """Return responsibilities after the best split and merge, and what names them.

    Returns
    -------
    responsibilities : ndarray or None
        None if nothing promises a better bound.
    key : object
    """
    prepared = model.prepare(globals_, hyper)
    responsibilities = _softmax(model.log_joint(block, prepared))
    counts = row_weight @ responsibilities
    gain = model.weights.gain_of_order(counts, hyper.weight_concentration)
    if ORDER not in refused and gain > LEAST_GAIN:
        return responsibilities, ORDER
    search = _Search(model, hyper, block, row_weight, responsibilities.argmax(axis=1))
    best = search.best(refused, random)
    if best is None:
        return None, None
    split, first, second = best
    if second != first:
        responsibilities[:, first] += responsibilities[:, second]
        responsibilities[:, second] = 0.0
    if split is not None:
        away = search.halves[split]
        responsibilities[away, second] += responsibilities[away, split]
        responsibilities[away, split] = 0.0
    return responsibilities, best


class _Search:
    """The gains of splits and merges of hard clusters.

    Attributes
    ----------
    halves : dict
        For each component that can be split the rows that it gives away.
    """

    def __init__(self, model, hyper, block, row_weight, labels):
        self.model, self.hyper, self.row_weight = model, hyper, row_weight
        self.moments, self.labels = model.moments(block), labels
        members = np.zeros((len(labels), model.n_components))
        members[np.arange(len(labels)), labels] = row_weight
        self.sums = _dense(members.T @ self.moments)
        self.counts = members.sum(axis=0)
        self.evidence = self._evidence(self.sums, self.counts)
        self.empty = float(self._evidence(0 * self.sums[:1], np.zeros(1))[0])
        self.halves = {}

    def best(self, refused, random):
        """Return what promises most: (split, first, second), or None.

        ``second`` is merged into ``first`` and then takes its part of ``split``; where
        ``split`` is None it stays empty, and where they are equal it was.
        """
        places = self._merges()
        candidates = [(gain, (None, *place)) for place, gain in places.items()]
        empty = np.flatnonzero(self.counts < USED)
        if len(empty):
            places[int(empty[0]), int(empty[0])] = 0.0
        splits = self._splits(random) if places else {}
        candidates += [
            (gain + places[place], (split, *place))
            for (split, gain), place in itertools.product(splits.items(), places)
            if split not in place
        ]
        candidates = [
            c for c in candidates if c[0] > LEAST_GAIN and c[1] not in refused
        ]
        return max(candidates, key=lambda c: c[0])[1] if candidates else None

    def _evidence(self, sums, counts):
        """Return F of clusters of these sums of moments and sizes."""
        parameters = _parameters(self.model, self.hyper, sums)
        logs = self.model.family.log_normaliser(parameters)
        prior = self.model.family.log_normaliser(self.hyper.component[None])
        return logs - prior + gammaln(self.hyper.weight_concentration + counts)

    def _merges(self):
        """Return the gain of merging components that are alike, by pair."""
        used = np.flatnonzero(self.counts >= USED)
        sums = self.model.family.of_all(self.sums[used].T).T
        sizes = np.abs(sums).sum(axis=1, keepdims=True)
        means = sums / np.where(sizes > 0, sizes, 1.0)  # of nothing but 0
        roots = np.sqrt(np.maximum(means, 0.0))
        alike = roots @ roots.T
        np.fill_diagonal(alike, -np.inf)
        nearest = np.argsort(-alike, axis=1)[:, : min(NEIGHBOURS, len(used) - 1)]
        pairs = sorted(
            {
                tuple(sorted((int(i), int(used[j]))))
                for i, near in zip(used, nearest, strict=True)
                for j in near
            }
        )
        gains = {}
        for i, j in pairs:
            both = self.sums[[i]] + self.sums[[j]], self.counts[[i]] + self.counts[[j]]
            separate = self.evidence[i] + self.evidence[j]
            gains[i, j] = float(self._evidence(*both)[0]) + self.empty - separate
        return gains

    def _splits(self, random):
        """Return the gain of splitting each component; keep what it gives away."""
        gains = {}
        for k in np.flatnonzero(self.counts >= FEWEST).tolist():
            rows = np.flatnonzero((self.labels == k) & (self.row_weight > 0))
            value, side = max(
                (self._refined(rows, random) for _ in range(SPLITS)),
                key=lambda division: division[0],
            )
            if side is not None:
                gains[k] = value - float(self.evidence[k]) - self.empty
                self.halves[k] = rows[side]
        return gains

    def _refined(self, rows, random):
        """Return the evidence of a division of rows, and that; None if there is none.

        It begins with two rows at random.
        """
        best = -np.inf, None
        if len(rows) < 2:
            return best
        moments, row_weight = self.moments[rows], self.row_weight[rows]
        sums = _dense(moments[random.choice(len(rows), 2, replace=False)])
        for _ in range(ROUNDS):
            logs = self.model.family.log_predictive(
                _parameters(self.model, self.hyper, sums), moments
            )
            side = logs[:, 1] > logs[:, 0]
            members = np.stack([row_weight * ~side, row_weight * side])
            sums, counts = _dense(members @ moments), members.sum(axis=1)
            value = float(self._evidence(sums, counts).sum())
            if counts.min() <= 0 or value <= best[0]:
                break
            best = value, side
        return best


def _parameters(model, hyper, sums):
    """Return the natural parameters of components of these sums of moments."""
    return hyper.component + sums.reshape(-1, *model.family.shape)


def _dense(moments):
    return moments.toarray() if hasattr(moments, "toarray") else np.asarray(moments)


def _softmax(logs):
    return np.exp(logs - logsumexp(logs, axis=1, keepdims=True))

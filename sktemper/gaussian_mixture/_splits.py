"""Which component to split and which to merge: by the evidence of hard clusters.

With F the log marginal likelihood of a cluster, and of its size, under the priors, a
split of S into a and b gains F(a) + F(b) - F(S) - F(empty), and a merge of two clusters
F(both) + F(empty) - F(one) - F(other).  A split takes place in a component that the
merge has left empty, or that was empty before.

What tied clusters gain depends on all of them, for their covariance has to suit all: it
may be that no split pays unless others are made with it.
"""

import itertools

import numpy as np

from ._evidence import Evidence

__all__ = ["SplitMergeSearch"]

#: Nearest components that each is merged with, at most.
NEIGHBOURS = 4
#: Rounds in which samples change sides after a split.
ROUNDS = 6
#: The axes of a cluster that it is split along, beside a random one.
AXES = 2


class SplitMergeSearch:
    """The gains of all splits and merges of a clustering.

    Parameters
    ----------
    model : GaussianMixtureModel
    hyper : Hyper
    block : ndarray of shape (n_samples, n_features)
    row_weight : ndarray of shape (n_samples,)
    responsibilities : ndarray of shape (n_samples, n_components)
    known : dict
        Splits found before, by the samples of a cluster; those of this clustering
        replace them.

    Attributes
    ----------
    halves : dict
        For each component that can be split the rows that it gives away.
    """

    def __init__(self, model, hyper, block, row_weight, responsibilities, known):
        self.model, self.known = model, known
        self.evidence = Evidence(model, hyper)
        self.row_weight = row_weight
        self.moments = model.moments(block, hyper)
        self.x = self.moments[:, 1 : 1 + model.n_features]
        self.labels = responsibilities.argmax(axis=1)
        K = model.n_components
        members = np.zeros((len(block), K))
        members[np.arange(len(block)), self.labels] = row_weight
        self.sums = members.T @ self.moments
        self.counts = self.sums[:, 0]
        self.halves = {}

    def best(self, refused):
        """Return what promises most: (split, first, second), or None.

        ``second`` is merged into ``first`` and then takes its part of ``split``; where
        ``split`` is None it stays empty, and where they are equal it was.
        """
        places = self._merges()
        empty = np.flatnonzero(self.counts < 0.5)
        if len(empty):
            places[int(empty[0]), int(empty[0])] = 0.0
        splits = self._splits() if places else {}
        candidates = [
            (gain, (None, first, second))
            for (first, second), gain in places.items()
            if first != second
        ]
        ranked = sorted(places, key=places.get, reverse=True)
        for split, gain in splits.items():  # each with the best place there is for it
            free = (
                place
                for place in ranked
                if split not in place and (split, *place) not in refused
            )
            candidates += [
                (gain + places[place], (split, *place))
                for place in itertools.islice(free, 1)
            ]
        candidates = [
            (gain, key) for gain, key in candidates if gain > 0 and key not in refused
        ]
        return max(candidates, key=lambda item: item[0])[1] if candidates else None

    def best_together(self, refused):
        """Return what several promise that promise nothing alone, or None.

        Only of tied clusters, for what others gain adds up.

        Returns
        -------
        changes : tuple of tuples as from `best`
        """
        if not self.model.covariance.shared:
            return None
        places = {(int(k), int(k)): 0.0 for k in np.flatnonzero(self.counts < 0.5)}
        places |= self._merges()
        splits = self._splits()
        sums, used, pairs_so_far = self.sums.copy(), set(), ()
        best, most = None, 0.0
        for split in sorted(splits, key=splits.get, reverse=True):
            free = [
                place
                for place in places
                if split not in place and used.isdisjoint({split, *place})
            ]
            if not free:
                continue
            first, second = max(free, key=places.get)
            used |= {split, first, second}
            if first != second:
                sums[first] += sums[second]
            sums[second] = self._sums_of(self.halves[split])
            sums[split] -= sums[second]
            pairs_so_far += ((split, first, second),)
            (gain,) = self._gains(self.sums[None], sums[None])
            if gain > most and pairs_so_far not in refused:
                best, most = pairs_so_far, gain
        return best

    def _gains(self, before, after):
        return self.evidence.gains(self.sums, before, after)

    def _sums_of(self, rows):
        return self.row_weight[rows] @ self.moments[rows]

    def _merges(self):
        """Return the gain of merging near components, by pair."""
        used = np.flatnonzero(self.counts >= 0.5)
        means = self.sums[used, 1 : 1 + self.model.n_features]
        means = means / self.counts[used, None]
        distances = ((means[:, None] - means[None]) ** 2).sum(axis=-1)
        nearest = np.argsort(distances, axis=1)[:, 1 : NEIGHBOURS + 1]
        pairs = {
            tuple(sorted((int(i), int(used[j]))))
            for i, near in zip(used, nearest, strict=True)
            for j in near
        }
        if not pairs:
            return {}
        before = self.sums[np.array(sorted(pairs))]
        after = np.zeros_like(before)
        after[:, 0] = before.sum(axis=1)
        gains = self._gains(before, after).tolist()
        return dict(zip(sorted(pairs), gains, strict=True))

    def _splits(self):
        """Return the gain of splitting each component; keep what it gives away."""
        found = {}
        for k in np.flatnonzero(self.counts >= 4).tolist():
            rows = np.flatnonzero(self.labels == k)
            samples = self.x[rows].tobytes() + self.row_weight[rows].tobytes()
            _, side = found[samples] = self.known.get(samples) or self._split(rows)
            if side is not None:
                self.halves[k] = rows[side]
        self.known.clear()
        self.known.update(found)
        if not self.halves:
            return {}
        wholes = self.sums[list(self.halves)]
        halves = np.stack([self._sums_of(rows) for rows in self.halves.values()])
        before = np.stack([wholes, np.zeros_like(wholes)], axis=1)
        gains = self._gains(before, np.stack([wholes - halves, halves], axis=1))
        return dict(zip(self.halves, gains.tolist(), strict=True))

    def _split(self, rows):
        """Return the evidence of the best division of a cluster, and that.

        As if its covariance was its own.
        """
        divisions = [self._refined(rows, side) for side in self._starts(rows)]
        return max(divisions, key=lambda division: division[0])

    def _starts(self, rows):
        """Yield first divisions of rows, along axes of the cluster."""
        row_weight = self.row_weight[rows]
        centred = self.x[rows] - row_weight @ self.x[rows] / row_weight.sum()
        _, axes = np.linalg.eigh((row_weight[:, None] * centred).T @ centred)
        # of the cluster's own, so that what is known of it does not depend on others
        random = np.random.default_rng(round(row_weight.sum()))
        for direction in [*axes.T[::-1][:AXES], random.normal(size=len(axes))]:
            largest = direction[np.abs(direction).argmax()]
            yield centred @ direction * np.sign(largest) > 0

    def _refined(self, rows, side):
        """Return a division's evidence after reassignments, and the division."""
        moments, best = self.moments[rows], (-np.inf, None)
        row_weight = self.row_weight[rows]
        for _ in range(ROUNDS):
            sums = np.stack([row_weight * ~side, row_weight * side]) @ moments
            if sums[:, 0].min() < 2:
                break
            value = float(self.evidence.of_clusters(sums).sum())
            if value <= best[0]:
                break
            best = value, side
            logs = self.evidence.log_densities(sums, self.x[rows])
            side = logs[:, 1] > logs[:, 0]
        return best

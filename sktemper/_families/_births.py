"""Births, splits and merges of a mixture's components.

The best lower bound for given responsibilities is, up to a constant,

    sum_k F(s_k) + W(n) + H,

where F(s_k) is the log evidence of component k with statistics s_k, W(n) is the log
evidence of the components' row counts n, and H is the entropy of the responsibilities.
The gain of a split or a merge is the increase of this sum.  The lower bound increases
by at least the gain, because the responsibilities of the other components are
optimised afterwards.  Therefore changes of slightly negative gain are also proposed.
"""

import operator
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit, gammaln, psi, xlogy

from .._utils._budgets import VALUES_AT_ONCE
from .._utils._cache import read_only
from .._utils._linalg import entries_of_rows
from .._utils._tasks import run_shared
from . import _kernels
from ._family import dense

# -- births: restarts of a component of a mixture around a row -------------------------
#: Components with a smaller weighted number of rows count as empty.
USED = _kernels.USED


class BirthPlaces:
    """What all births from the same parameters have in common.

    Attributes
    ----------
    row_weight : ndarray of shape (n_rows,)
    shares : ndarray of shape (n_rows, n_components)
        Responsibilities.
    n_near : float
        Half of the mean number of rows of a nonempty component, and at least 2.
    order, ends : ndarray of shape (n_rows,)
        Rows in the order of their bounds, and the sums of their weights in this order.
    coordinates : {ndarray, sparse array} of shape (n_rows, n_coordinates)
    squares : ndarray of shape (n_rows,)
        Squared lengths of the coordinates.
    """

    def __init__(self, family, block, row_weight, shares, bounds):
        if row_weight is None:
            row_weight = np.ones(block.shape[0])
        self.row_weight, self.shares = row_weight, shares
        n_used = max((row_weight @ self.shares > USED).sum(), 1)
        self.n_near = max(row_weight.sum() / (2 * n_used), 2)
        self.order = np.argsort(bounds, kind="stable")
        self.ends = np.cumsum(row_weight[self.order])
        self.coordinates = family.coordinates(block, row_weight)
        self.squares = (self.coordinates**2).sum(axis=1)

    def propose(self, random):
        """Return responsibilities in which one component starts again around a row.

        A component is drawn at random, and its rows are divided among the other
        components.  Then a row is drawn, usually a row that the mixture explains badly.
        The component gets the nearest neighbours of this row: half of the mean number
        of rows of a nonempty component.
        """
        shares, k = self.shares.copy(), random.integers(self.shares.shape[1])
        shares[:, k] = 0.0
        shares += 1e-300
        shares /= shares.sum(axis=1, keepdims=True)
        near = self._neighbours(self._drawn(random))
        shares[near] = 0.0
        shares[near, k] = 1.0
        return shares

    def _drawn(self, random):
        """Return the index of a random row, usually a row with a small bound.

        The draw does not depend on the order of the rows, and a row of weight 2 is
        equivalent to two equal rows.
        """
        # The product of two uniform numbers is small: a third of the draws are among
        # the tenth of the rows with the smallest bounds.
        place = random.random(2).prod() * self.ends[-1]
        drawn = np.searchsorted(self.ends, place, side="right")
        return self.order[min(drawn, len(self.order) - 1)]

    def _neighbours(self, centre):
        """Return a mask of the rows that are nearest to the row ``centre``.

        The total weight of these rows is at least ``n_near``, unless all rows weigh
        less.  All rows at the largest distance are included.
        """
        own = dense(self.coordinates[[centre]]).ravel()
        distances = self.squares - 2.0 * (self.coordinates @ own)
        nearest = np.argsort(distances, kind="stable")
        last = np.searchsorted(np.cumsum(self.row_weight[nearest]), self.n_near)
        return distances <= distances[nearest[min(last, len(nearest) - 1)]]


# -- principal axes of weighted rows, dense or sparse, by power iterations -------------
@lru_cache(maxsize=8)
def starts_of_axes(n_coordinates):
    """Return the starts of the power iterations, then a random axis, as columns."""
    starts = np.random.default_rng(0).normal(size=(n_coordinates, _kernels.AXES + 1))
    return read_only(starts)


def axes(coordinates, weight):
    """Return the principal axes of weighted rows, then a random axis, as columns."""
    start = starts_of_axes(coordinates.shape[1])
    mean, leading = weight @ coordinates / weight.sum(), start[:, : _kernels.AXES]
    for _ in range(_kernels.POWER_ITERATIONS):
        values = weight[:, None] * (coordinates @ leading - mean @ leading)
        leading = coordinates.T @ values - np.outer(mean, values.sum(axis=0))
        leading, _ = np.linalg.qr(leading)
    # positive if there are fewer coordinates
    missing = _kernels.AXES - leading.shape[1]
    return np.concatenate([leading, start[:, _kernels.AXES - missing :]], axis=1)


# -- splits and merges, see the beginning of this file ---------------------------------
#: Smallest gain of a proposal, in nats.  -10 would save 7 % of the time of fits, and
#: lower the bounds of 2 of 162 by 8 and 10 nats.
LEAST_GAIN = -20.0
#: Typical further gain of a split, in nats, from rows that later move between
#: components.
AFTER_SPLITS = 2.0
#: Merges of a component are tried with this many nearest components, and with this many
#: components that share the most rows with it.
NEIGHBOURS, OVERLAPPING = _kernels.NEIGHBOURS, 2
#: Smallest responsibility of a row that takes part in a split.
SPLIT_SHARE = 0.01
#: Smaller responsibilities change the entropy of a merge less than rounding errors do.
LEAST_OVERLAP = 1e-18
#: Largest number of changes in a proposal.
MOST_AT_ONCE = 10
#: Key of the proposal to reorder components.
ORDER = "order"


class SplitPart(NamedTuple):
    """The part of a component that a split moves to another component.

    A split of ``rows`` moves ``shares`` of their responsibilities to the part, which
    then has a weighted number of rows, ``count``.  The entropy of the responsibilities
    increases by ``entropy``.
    """

    rows: np.ndarray
    shares: np.ndarray
    statistics: np.ndarray
    count: float
    entropy: float


class Search:
    """The gains of all splits and merges of a mixture.

    A change is a triple (split, first, second) of components: ``second`` is merged into
    ``first``, and then receives a part of ``split``.  If ``split`` is None, ``second``
    stays empty.  If ``second`` equals ``first``, this component was empty before, and
    no merge is made.

    With ``splits=False``, it searches for merges only.  ``parts`` has the best split of
    each component that can be split.  ``merges`` and ``splits`` have the gains by
    (first, second) and by component, and ``together`` is the combination of changes
    that raises the bound most.  ``places`` has the pairs (first, second) with their
    gains, the largest first; the gain of an empty component is 0.
    """

    def __init__(self, model, hyper, block, shares, row_weight, splits=True):
        self.weights, self.concentration = model.weights, hyper.weight_concentration
        self.known = model.known
        self.mixture, self.prior = model.family_of(hyper), model.component_prior(hyper)
        self.family, self.block = self.mixture.alone, block
        self.parts_of_kernel = None
        if model.steps_by_kernel:
            self.parts_of_kernel = self.family.parts_of_kernel()
        self.shares = np.ascontiguousarray(shares.T, dtype=np.float64)
        self.row_weight = np.ascontiguousarray(row_weight, dtype=np.float64)
        self.counts, self.statistics = self.family.statistics(block, shares, row_weight)
        self.empty = np.flatnonzero(self.counts < USED).tolist()
        self.merges, self.parts = self._gains_of_merges(self._pairs()), {}
        if splits and (self.merges or self.empty):
            self.coordinates = self.family.coordinates(block, row_weight)
            self.parts = self._parts()
        self.splits = self._gains_of_splits()
        places = {(k, k): 0.0 for k in self.empty} | self.merges
        self.places = sorted(places.items(), key=operator.itemgetter(1), reverse=True)
        self.together = self._best_together()

    # -- proposals ---------------------------------------------------------------------
    def best(self, refused):
        """Return a tuple of the most promising changes, or None.

        The first is the combination of splits and merges that raises the bound most.
        For instance, it merges several copies of a component that share the rows of a
        cluster.  Further ones are single changes, the best first.  Changes in
        ``refused`` are not proposed again.
        """
        if self.together and self.together not in refused:
            return self.together
        gain, change = self._best_single(refused=refused)
        return (change,) if gain > LEAST_GAIN else None

    def _best_single(self, used=frozenset(), refused=()):
        """Return the most promising change, and its gain.

        Components in ``used`` do not change.  The second part of a split replaces the
        best available component.  Empty components are alike, so that only one of them
        is tried, unless components have labels.
        """
        empty = [k for k in self.empty if k not in used]
        ignored = used.union(empty[1:] if self.known is None else ())
        places = [item for item in self.places if ignored.isdisjoint(item[0])]
        candidates = []
        for split in (None, *(self.splits.keys() - used)):
            for place, gain in places:
                if place[0] == place[1] if split is None else split in place:
                    continue
                change = split, *place
                if (change,) not in refused:
                    candidates.append((self.splits.get(split, 0.0) + gain, change))
                    break
        return max(candidates, key=_promise, default=(-np.inf, None))

    def _best_together(self):
        """Return the combination of changes that raises the bound most."""
        changes, used = (), frozenset()
        while len(changes) < MOST_AT_ONCE:
            _, change = self._best_single(used)
            if change is None:
                break
            changes += (change,)
            used = used | set(change)
        if not changes:
            return ()
        gains = self._gains(changes)
        best = gains.argmax()
        return changes[: best + 1] if gains[best] > _kernels.ROUNDING else ()

    def after(self, changes):
        """Return the responsibilities after changes, (n_rows, n_components)."""
        shares = self.shares.copy()
        for split, first, second in changes:
            if second != first:
                shares[first] += shares[second]
                shares[second] = 0.0
            if split is not None:
                part = self.parts[split]
                moved = shares[split, part.rows] * part.shares
                shares[second, part.rows] += moved
                shares[split, part.rows] -= moved
        return shares.T

    # -- gains -------------------------------------------------------------------------
    def _gains(self, changes):
        """Return the gains of the first change, of the first two, and so on."""
        changed = np.array(sorted({k for change in changes for k in change} - {None}))
        counts, statistics = self.counts.copy(), self.statistics.copy()
        entropy, after = 0.0, []
        for split, first, second in changes:
            if second != first:
                for sums in (counts, statistics):
                    sums[first] += sums[second]
                    sums[second] = 0.0
                entropy += self._entropies_of_merges([(first, second)])[0]
            if split is not None:
                part = self.parts[split]
                for sums, moved in (counts, part.count), (statistics, part.statistics):
                    sums[second] += moved
                    sums[split] -= moved
                entropy += part.entropy
            after.append((counts.copy(), statistics[changed], entropy))
        counts, statistics, entropies = map(np.array, zip(*after, strict=True))
        removed = np.tile(changed, (len(changes), 1))
        gains = self.mixture.gains(self.prior, self.statistics, removed, statistics)
        return gains + entropies + self._gains_of_counts(counts)

    def _gains_of_counts(self, counts, before=None):
        """Return the increases of the evidence of the row counts, (n_changes,)."""
        before = self.counts if before is None else before
        counts = np.vstack([before, counts])
        evidence = self.weights.evidence(counts, self.concentration)
        return evidence[1:] - evidence[0]

    def _entropies_of_merges(self, pairs):
        pairs = np.array(pairs, dtype=np.intp)
        return _kernels.entropies_of_merges(
            self.shares, self.row_weight, pairs, LEAST_OVERLAP
        )

    def _gains_of_merges(self, pairs):
        if not len(pairs):
            return {}
        first, second = pairs.T
        both = (self.statistics[first] + self.statistics[second])[:, None]
        gains = self.mixture.gains(self.prior, self.statistics, pairs, both)
        counts, numbers = np.tile(self.counts, (len(pairs), 1)), np.arange(len(pairs))
        counts[numbers, first] += counts[numbers, second]
        counts[numbers, second] = 0.0
        gains = gains + self._gains_of_counts(counts)
        gains = gains + self._entropies_of_merges(pairs)
        return dict(zip(map(tuple, pairs.tolist()), gains.tolist(), strict=True))

    def _pairs(self):
        """Return pairs of similar components, (n_pairs, 2).

        Two components are similar if the rows of one component have a high likelihood
        under the other component, or if they share rows.
        """
        used = np.flatnonzero(self.counts >= USED)
        if len(used) < 2:
            return np.empty((0, 2), dtype=int)
        statistics, shares = self.statistics[used], self.shares[used]
        likelihoods = self.family.expected_log(self.prior + statistics, statistics)
        overlaps = shares * self.row_weight @ shares.T
        are_similar = np.zeros((len(used), len(used)), dtype=bool)
        for alike, n_others in (likelihoods, NEIGHBOURS), (overlaps, OVERLAPPING):
            np.fill_diagonal(alike, -np.inf)
            nearest = np.argsort(-alike, axis=1, kind="stable")[:, :n_others]
            np.put_along_axis(are_similar, nearest, True, axis=1)
        np.fill_diagonal(are_similar, False)
        pairs = np.nonzero(np.triu(are_similar | are_similar.T))
        return used[np.stack(pairs, axis=1)]

    def _gains_of_splits(self):
        if not self.parts:
            return {}
        split, parts = np.array(list(self.parts)), list(self.parts.values())
        moved = np.stack([part.statistics for part in parts])
        added = np.stack([self.statistics[split] - moved, moved], axis=1)
        statistics, before, empty = self.statistics, self.counts, self.empty[:1]
        if not empty:  # compute the gain for a mixture with one more component
            statistics = np.vstack([statistics, np.zeros_like(moved[:1])])
            before, empty = np.append(before, 0.0), [len(before)]
        place = np.full(len(split), empty[0])
        gains = self.mixture.gains(
            self.prior, statistics, np.stack([split, place], axis=1), added
        )
        counts, numbers = np.tile(before, (len(parts), 1)), np.arange(len(parts))
        counts[numbers, place] = [part.count for part in parts]
        counts[numbers, split] -= counts[numbers, place]
        gains = gains + self._gains_of_counts(counts, before)
        gains = gains + [part.entropy for part in parts]
        return dict(zip(split.tolist(), gains.tolist(), strict=True))

    # -- the parts of a component ------------------------------------------------------
    def _parts(self):
        large = np.flatnonzero(self.counts >= 2 * _kernels.LEAST_COUNT).tolist()
        parts = run_shared([lambda k=k: self._part(k) for k in large])
        return {k: part for k, part in zip(large, parts, strict=True) if part}

    def _part(self, k):
        """Return the best split of component k; None if no split is found."""
        rows = np.flatnonzero((self.shares[k] >= SPLIT_SHARE) & (self.row_weight > 0))
        weight = self.row_weight[rows] * self.shares[k, rows]
        if weight.sum() < 2 * _kernels.LEAST_COUNT:  # many small responsibilities
            return None
        whole = Whole(self.counts[k], self.statistics[k], self.concentration)
        if self.parts_of_kernel and len(rows) * self.family.n_natural <= VALUES_AT_ONCE:
            found = self._split_by_kernel(rows, weight, whole)
        else:
            block = self.block[rows]
            best = self.family.split_finder(block) or partial(best_split, self.family)
            found = best(block, self.coordinates[rows], weight, self.prior, whole)
        return found and SplitPart(rows, *found)

    def _split_by_kernel(self, rows, weight, whole):
        """Return the result of `best_split`."""
        moments, coordinates = self.family.moments(self.block), self.coordinates
        if sparse.issparse(moments):
            starts, columns, values = entries_of_rows(moments, rows)
            starts = np.ascontiguousarray(starts, dtype=np.intp)
            taken = starts, np.ascontiguousarray(columns, dtype=np.int32), values
            coordinates = entries_of_rows(coordinates, rows)[2]
        else:
            taken, coordinates = moments[rows], coordinates[rows]
        axes = starts_of_axes(self.coordinates.shape[1]).T.copy()
        whole = whole._replace(statistics=np.ascontiguousarray(whole.statistics))
        parts, prior = self.parts_of_kernel, self.prior
        return _kernels.product_split(
            parts, taken, coordinates, weight, prior, whole, axes
        )


class Whole(NamedTuple):
    """A component that may be split.

    Attributes
    ----------
    count : float
    statistics : ndarray of shape (n_natural,)
    concentration : float
        Concentration of the weights.
    """

    count: float
    statistics: np.ndarray
    concentration: float


def best_split(family, block, coordinates, weight, prior, whole):
    """Return the best split of a component; None if no split is found.

    A mixture of two components is fitted to the rows of the component, weighted by
    their responsibilities.  The result has the fields of `SplitPart` after the first.

    Parameters
    ----------
    family : Family
    block : object
        Rows of the component.
    coordinates : {ndarray, sparse array} of shape (n_rows, n_coordinates)
        See `Family.coordinates`.
    weight : ndarray of shape (n_rows,)
    prior : ndarray of shape (n_natural,)
    whole : Whole
    """
    values = coordinates @ axes(coordinates, weight)
    shares = (values > weight @ values / weight.sum()).astype(np.float64)
    best, most = None, -np.inf
    for number in range(_kernels.ROUNDS):
        counts, sums = family.statistics(block, shares, weight)
        large = np.minimum(counts, whole.count - counts) >= _kernels.LEAST_COUNT
        if not large.any():
            break
        shares, counts, sums = shares[:, large], counts[large], sums[large]
        values, entropies, next_shares = _round(
            family, block, weight, (shares, counts, sums), prior, whole
        )
        i = values.argmax()
        if values[i] <= most + _kernels.ROUNDING:
            break
        most = values[i]
        best = shares[:, i], sums[i], counts[i], entropies[i]
        shares = next_shares
        if number == _kernels.ROUNDS_OF_STARTS - 1:
            shares = shares[:, [i]]
    return best


def _round(family, block, weight, parts, prior, whole):
    """Return the evidence of splits of a component, and the next shares.

    ``parts`` has the shares of the rows that move, (n_rows, n_splits), and the counts
    and statistics of the second parts.  The evidence is followed by the entropies.
    """
    shares, counts, moved = parts
    counts = np.stack([whole.count - counts, counts], axis=1)
    statistics = np.stack([whole.statistics - moved, moved], axis=1)
    posterior = prior + statistics.reshape(-1, statistics.shape[2])
    evidence = family.log_normaliser(posterior).reshape(-1, 2)
    evidence = evidence + gammaln(whole.concentration + counts)
    entropies = -weight @ (xlogy(shares, shares) + xlogy(1 - shares, 1 - shares))
    tables = family.prepare(posterior)
    logs = family.log_likelihoods(block, tables)
    logs = logs + psi(whole.concentration + counts).ravel()
    return (
        evidence.sum(axis=1) + entropies,
        entropies,
        expit(logs[:, 1::2] - logs[:, ::2]),
    )


def _promise(candidate):
    """Return the gain of a change, plus the typical further gain if it is a split."""
    gain, (split, *_) = candidate
    return gain if split is None else gain + AFTER_SPLITS

"""Data on a cluster, and the workers that process their blocks.

The data are Dask collections, or collections on disk that workers open.
"""

import contextlib
import itertools
import time
from collections import deque

import dask
import distributed
import numpy as np
from dask.delayed import Delayed

from .._engine import _data
from .._utils._notices import warn
from . import _remote
from ._cluster import LOOK_EVERY, Cluster

#: Largest number of rows that are held in this process.
MOST_HELD = 100_000
#: With more than `MOST_SINGLE_ROWS` rows, a pass visits `ROWS_TOGETHER` neighbouring
#: rows together.
MOST_SINGLE_ROWS, ROWS_TOGETHER = 10**7, 256


class ClusterPart(_data.ByRows):
    """Reference to a part on the cluster.

    ``lies`` is the argument by which a task gets the part, such as a future.
    """

    def __init__(self, lies, n_rows, number, data):
        self.lies, self.n_rows, self.number, self.data = lies, n_rows, number, data

    def rows(self, rows):
        return self.data.fetched([(self, rows)])[0]


class ClusterData(_data.Data):
    """Rows of data in parts on a cluster.

    Parameters
    ----------
    cluster : Cluster
    places : list of (Future or the like, int)
        Argument by which a task gets each part, and its number of rows.
    validated : sequence of ndarray or CSR
        Small validated matrices with the smallest and largest values of the data.
    source, run : object, int
        See `Data`.
    after : callable
        See `DaskWorkers`.
    """

    def __init__(self, cluster, places, validated, source, run, after):
        parts = [ClusterPart(*place, i, self) for i, place in enumerate(places)]
        super().__init__(parts, validated, source, run)
        self.cluster, self.after = cluster, after
        self._on_cluster = [
            part for part in parts if isinstance(part.lies, distributed.Future)
        ]
        cluster.keep_only([part.lies for part in self._on_cluster])
        self._holders, self._asked_at, self._held = {}, -np.inf, None

    def workers(self, threads, n_threads, stop):
        """Return the workers of the cluster, with threads for rows held here."""
        return DaskWorkers(self, stop, threads(n_threads, stop), self.after)

    @contextlib.contextmanager
    def held(self, rows):
        """Hold rows in this process for repeated use, up to `MOST_HELD` rows."""
        if len(rows) <= MOST_HELD:
            self._held = rows, self._fetched_parts(rows)
        try:
            yield
        finally:
            self._held = None

    def _fetched_parts(self, rows):
        groups = list(super().groups(rows))
        found = self.fetched([(part, chosen) for part, chosen, _ in groups])
        return {
            part.number: (chosen, _data.InMemory(X))
            for (part, chosen, _), X in zip(groups, found, strict=True)
        }

    def groups(self, rows=None):
        """Yield the parts with some rows, from this process if it holds them."""
        is_here = self._has_here(rows)
        for part, chosen, places in super().groups(rows):
            if is_here:
                known, part = self._held[1][part.number]
                chosen = np.searchsorted(known, chosen)
            yield part, chosen, places

    def _has_here(self, rows):
        return (
            self._held is not None
            and rows is not None
            and np.isin(rows, self._held[0]).all()
        )

    def rows(self, rows):
        if self._has_here(rows):
            return super().rows(rows)
        groups = super().groups(rows)
        return _data.joined(
            self.fetched([(part, chosen) for part, chosen, _ in groups])
        )

    def fetched(self, asked):
        cluster = self.cluster

        def fetch():
            futures = [
                cluster.submit(_remote.rows_of, part.lies, rows) for part, rows in asked
            ]
            found = cluster.results(futures)
            cluster.release(*futures)
            return found

        return cluster.tried(fetch)

    # -- locations of parts ------------------------------------------------------------
    def n_threads(self):
        threads = self.cluster.asked(self.cluster.client.nthreads) or {}
        return max(1, sum(threads.values()))

    def workers_of(self, part):
        """Return the addresses of the preferred workers for tasks of a part."""
        if time.monotonic() > self._asked_at + LOOK_EVERY:
            self._locate_parts()
        return self._holders.get(part.number)

    def _locate_parts(self):
        cluster, client = self.cluster, self.cluster.client
        holders = self._on_cluster and cluster.asked(client.who_has, cluster.kept) or {}
        self._holders = {
            part.number: list(holders.get(part.lies.key, ()))
            for part in self._on_cluster
        }
        addresses = sorted(cluster.asked(client.nthreads) or ())
        for part in self.parts:
            if part.number not in self._holders and addresses:
                # adjacent parts go to one worker, because their sums are added first
                place = part.number * len(addresses) // len(self.parts)
                self._holders[part.number] = [addresses[place]]
        self._asked_at = time.monotonic()


class OnCluster(_data.Source):
    """Source of data on a cluster, made from data that a user passes."""

    def __init__(self, client, X, after=lambda: None):
        self.client, self.X, self.after = client, X, after

    def as_data(self, validate):
        """Return `ClusterData`, after validating the blocks on the workers."""
        cluster = Cluster(self.client)
        if isinstance(self.X, _data.Source):
            return self._on_disk(cluster, validate)
        return cluster.tried(lambda: self._of_blocks(cluster, validate))

    def _on_disk(self, cluster, validate):
        data = self.X.as_data(validate)
        if any(isinstance(part, _data.InMemory) for part in data.parts):
            raise TypeError(f"The parts of {self.X!r} are not on disk.")
        places = [(part, part.n_rows) for part in data.parts]
        return ClusterData(
            cluster, places, data.validated, self.X, data.run, self.after
        )

    def _of_blocks(self, cluster, validate):
        shipped = cluster.ship(validate)
        valid = [
            cluster.submit(_remote.checked, shipped, block)
            for block in blocks_of(self.X, self.client)
        ]
        abouts = cluster.results([cluster.submit(_remote.about, one) for one in valid])
        _data.check_widths(abouts)
        messages = (message for about in abouts for message in about.messages)
        for category, message in dict.fromkeys(messages):
            warn(message, category)
        sizes = [about.shape[0] for about in abouts]
        places = [place for place in zip(valid, sizes, strict=True) if place[1]]
        filled = [about for about in abouts if about.shape[0]]
        extremes = validate(_extremes_of(filled or abouts))
        run = ROWS_TOGETHER if sum(sizes) > MOST_SINGLE_ROWS else 1
        return ClusterData(cluster, places, [extremes], self.X, run, self.after)


def are_all(X, kind):
    """Return whether data are a list of objects of a kind."""
    return isinstance(X, list) and bool(X) and all(isinstance(x, kind) for x in X)


def blocks_of(X, client):
    """Return the futures of the blocks of a collection, in their order, or raise."""
    if are_all(X, distributed.Future):
        return X
    if are_all(X, Delayed):
        return client.compute(X)
    if isinstance(X, Delayed) or not (
        dask.is_dask_collection(X) and hasattr(X, "numblocks")
    ):
        raise not_a_collection(X)
    if X.ndim != 2 or X.numblocks[1] != 1:
        raise ValueError(
            f"X must have two dimensions and all columns in one chunk, got {X!r}. Join "
            "chunks by X.rechunk({1: -1})."
        )
    persisted = client.persist(X)
    futures = {future.key: future for future in distributed.futures_of(persisted)}
    return [futures[key] for (key,) in persisted.__dask_keys__()]


def not_a_collection(X):
    """Return the error for an object that is not a collection of blocks of rows."""
    return TypeError(
        "X must be a dask array of blocks of rows, a list of delayed matrices or of "
        f"futures, or an open collection on disk; got {type(X).__name__}. Convert a "
        "data frame by X.to_dask_array(), and pass data in memory to estimator.fit(X)."
    )


def _extremes_of(abouts):
    """Return a matrix with the smallest and largest value, and NaN if there is one."""
    dtype = np.result_type(*(about.dtype for about in abouts))
    ends = [end for about in abouts for end in about.ends]
    values = [end for end in ends if end == end]
    values = list(dict.fromkeys([min(values), max(values)])) if values else []
    if any(end != end for end in ends):
        values.append(np.nan)
    shape = sum(about.shape[0] for about in abouts), abouts[0].shape[1]
    is_sparse = all(about.is_sparse for about in abouts)
    return _data.rows_with(values, shape, dtype, is_sparse)


# -- workers ---------------------------------------------------------------------------
#: Number of parts that a map submits ahead for each thread of the cluster.
AHEAD = 2


class DaskWorkers:
    """Workers of a Dask cluster, with the methods of `Workers`.

    Tasks that were lost with a worker run again.  Tasks that failed with an error in
    the code of a user do not run again.

    Parameters
    ----------
    data : ClusterData
        Data whose parts are processed.
    stop : ndarray of shape (1,), int
        `ConjugateModel.stop`.
    driver : Workers
        Threads of this process.
    after : callable
        Called within `run_whole`, after its function.
    """

    n_threads = 1  # this process tries one move at a time

    def __init__(self, data, stop, driver, after):
        self.data, self.cluster, self.after = data, data.cluster, after
        self.stop = stop
        self._driver = driver

    def __enter__(self):
        self._driver.__enter__()
        return self

    def __exit__(self, *error):
        try:
            self.cluster.stop()
        finally:
            self._driver.__exit__(*error)

    def run_whole(self, function):
        def run():
            function()
            self.after()

        self._driver.run_whole(run)

    def call_with_workers(self, function, n_tasks):
        return function(self)

    def sum(self, task, shared, groups, fan_in):
        here, groups = _here(groups)
        if here:
            return self._driver.sum(task, shared, groups, fan_in)
        groups = list(_packed(groups))
        return self.cluster.tried(lambda: self._sum(task, shared, groups, fan_in)).value

    def _sum(self, task, shared, groups, fan_in):
        cluster, shipped = self.cluster, self.cluster.ship(shared, self.stop)
        # nothing is added to the sum of an only part
        gather = _remote.folded if len(groups) == 1 else _remote.compact
        sums = [self._submit(gather, task, shipped, *group) for group in groups]
        cluster.release(shipped)
        while len(sums) > 1:  # the tree of `tree_sum`
            starts = range(0, len(sums), fan_in)
            sums = [self._added(sums[start : start + fan_in]) for start in starts]
        result = cluster.result(sums[0])
        cluster.release(sums[0])
        return result

    def _submit(self, gather, task, shipped, part, items):
        call = _remote.gathered, gather, task, shipped, part.lies, items
        return self.cluster.submit(*call, workers=self.data.workers_of(part))

    def _added(self, sums):
        if len(sums) == 1:
            return sums[0]
        node = self.cluster.submit(_remote.added, sums)
        self.cluster.release(*sums)  # their results stay while the node needs them
        return node

    def map(self, task, shared, groups):
        here, groups = _here(groups)
        map_ = self._driver.map if here else self._map
        return map_(task, shared, groups)

    def _map(self, task, shared, groups):
        cluster = self.cluster
        groups, pending, shipped = _packed(groups), deque(), {}

        def first():
            if cluster.token not in shipped:  # a failure stopped all tasks
                shipped.clear()
                shipped[cluster.token] = cluster.ship(shared, self.stop)
            for one in pending:
                if one.token != cluster.token:
                    one.token = cluster.token
                    one.future = self._submit(
                        list, task, shipped[one.token], one.part, one.items
                    )
            return cluster.result(pending[0].future)

        most = AHEAD * self.data.n_threads()
        try:
            while True:
                for part, items in itertools.islice(groups, most - len(pending)):
                    pending.append(_Pending(part, items))
                if not pending:
                    return
                results = cluster.tried(first)
                cluster.release(pending.popleft().future)
                yield from results.value
        finally:
            cluster.release(*shipped.values(), *(one.future for one in pending))


class _Pending:
    """Items of a part, and the future of their results."""

    def __init__(self, part, items):
        self.part, self.items, self.token, self.future = part, items, None, None


def _here(groups):
    """Return whether the parts are in this process's memory, and all groups."""
    groups = iter(groups)
    first = next(groups)
    return isinstance(first[0], _data.InMemory), itertools.chain([first], groups)


def _packed(groups):
    return ((part, _remote.packed(list(items))) for part, items in groups)

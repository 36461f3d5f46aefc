"""Data on a cluster: Dask collections, and collections on disk that workers open."""

import contextlib
import time

import dask
import distributed
import numpy as np
from dask.delayed import Delayed

from .._engine._data import (
    ByRows,
    Data,
    InMemory,
    Source,
    check_widths,
    joined,
    rows_with,
)
from .._utils._notices import warn
from . import _remote
from ._cluster import Cluster
from ._workers import DaskWorkers

#: Seconds for which the location of parts is cached.
KNOWN_FOR = 1.0
#: Largest number of rows that are held in this process.
MOST_HELD = 100_000
#: With more than `MOST_SINGLE_ROWS` rows, a pass visits `ROWS_TOGETHER` neighbouring
#: rows together.
MOST_SINGLE_ROWS, ROWS_TOGETHER = 10**7, 256


class ClusterPart(ByRows):
    """Reference to a part on the cluster.

    ``lies`` is the argument by which a task gets the part, such as a future.
    """

    def __init__(self, lies, n_rows, number, data):
        self.lies, self.n_rows, self.number, self.data = lies, n_rows, number, data

    def rows(self, rows):
        return self.data.fetched([(self, rows)])[0]


class ClusterData(Data):
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
            part.number: (chosen, InMemory(X))
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
        return joined(self.fetched([(part, chosen) for part, chosen, _ in groups]))

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
        if time.monotonic() > self._asked_at + KNOWN_FOR:
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


class OnCluster(Source):
    """Source of data on a cluster, made from data that a user passes."""

    def __init__(self, client, X, after=lambda: None):
        self.client, self.X, self.after = client, X, after

    def as_data(self, validate):
        """Return `ClusterData`, after validating the blocks on the workers."""
        cluster = Cluster(self.client)
        if isinstance(self.X, Source):
            return self._on_disk(cluster, validate)
        return cluster.tried(lambda: self._of_blocks(cluster, validate))

    def _on_disk(self, cluster, validate):
        data = self.X.as_data(validate)
        if any(isinstance(part, InMemory) for part in data.parts):
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
        check_widths(abouts)
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
    return rows_with(values, shape, dtype, is_sparse)

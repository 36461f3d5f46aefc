"""Workers on a Dask cluster, which process the blocks of a step."""

import itertools
from collections import deque

from .._engine._data import InMemory
from . import _remote

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
        cluster, is_only = self.cluster, len(groups) == 1
        shipped = cluster.ship(shared, self.stop)
        sums = [
            self._submit(_remote.folded, part, task, shipped, items, is_only)
            for part, items in groups
        ]
        cluster.release(shipped)
        while len(sums) > 1:  # the tree of `tree_sum`
            starts = range(0, len(sums), fan_in)
            sums = [self._added(sums[start : start + fan_in]) for start in starts]
        result = cluster.result(sums[0])
        cluster.release(sums[0])
        return result

    def _submit(self, function, part, task, shipped, items, *others):
        return self.cluster.submit(
            function,
            task,
            shipped,
            part.lies,
            items,
            *others,
            workers=self.data.workers_of(part),
        )

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
                        _remote.each, one.part, task, shipped[one.token], one.items
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
    return isinstance(first[0], InMemory), itertools.chain([first], groups)


def _packed(groups):
    return ((part, _remote.packed(list(items))) for part, items in groups)

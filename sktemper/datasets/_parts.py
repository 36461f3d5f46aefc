"""Parts of collections: handles of shards, groups of shards, and the open shards.

When a process first opens a shard, it reads the whole shard and compares it with its
checksums.  If the sizes or modification times of its files change later, it is read
and compared again.  Sizes and times are checked at each use of the shard, but within a
fit at most every `LOOK_EVERY` seconds.  A file that is truncated between a check and
the use of its memory map ends the process, which no check can prevent.
"""

import contextlib
import os
import secrets
import threading
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy import sparse

from .._engine._data import ByRows, joined
from .._utils._linalg import entries_of_rows
from .._utils._sklearn import csr_container
from ._folder import META, generation_folder, read_meta
from ._shards import ShardFiles

#: Largest number of open shards of a process, each with up to three memory maps.
MOST_OPEN = 48
#: Seconds after a check during which a fit assumes that files are unchanged.
LOOK_EVERY = 0.05
#: Default number of parts of a collection.
MOST_GROUPS = 16


@dataclass(frozen=True, slots=True)
class Shard(ByRows):
    """Handle of a shard: the path of its collection, and its index, without its data.

    The collection has this ``stamp``, see `stamp_of`, until it is replaced.
    """

    folder: str
    number: int
    stamp: str
    verify: bool = True

    @property
    def n_rows(self):
        return meta_of(self.folder, self.stamp)["shards"][self.number]["rows"]

    @property
    def files(self):
        """The `ShardFiles` of the shard."""
        return _files_of(self, _seen(Path(self.folder) / META))

    def rows(self, rows, visit=None):
        """Return rows of the shard in memory: an array, or a canonical CSR of int32.

        ``visit`` is the name of the fit, or of another call, that reads the rows.  If
        the same call has just checked the files, they are not checked again.
        """
        maps = opened(self, visit)
        if maps.indptr is None:
            return np.array(maps.data[rows])
        starts, columns, values = entries_of_rows(maps, rows)
        columns = np.array(columns, dtype=np.int32)
        return _csr(sparse.csr_array, np.array(values), columns, starts, maps)

    def check(self):
        """Read the files of the shard; raise a ValueError if one is damaged."""
        with unless_replaced(self.folder, self.stamp):
            self.files.check()

    def whole(self):
        """Return the whole shard, in mapped memory if scipy supports the types."""
        maps = opened(self)
        if maps.indptr is None:
            return maps.data
        # scipy supports no indices shorter than 32 bits
        columns = maps.indices.astype(np.int32, copy=False)
        return _csr(csr_container(), maps.data, columns, maps.indptr, maps)


def _csr(container, values, columns, starts, maps):
    """Return a CSR matrix with row starts of int32 if they are small enough."""
    if starts[-1] < 2**31:
        starts = starts.astype(np.int32, copy=False)
    X = container((values, columns, starts), shape=(len(starts) - 1, maps.n_features))
    X.has_canonical_format = True
    return X


class Group(ByRows):
    """Part of `Data` that consists of adjacent shards, which are read when needed.

    ``visit`` is the name of the call that reads the shards, see `Shard.rows`.
    """

    def __init__(self, shards, visit=None):
        self.shards, self.visit = tuple(shards), visit
        sizes = [shard.n_rows for shard in self.shards]
        self._ends = np.cumsum(sizes)
        self._starts = self._ends - sizes

    @property
    def n_rows(self):
        return int(self._ends[-1])

    def rows(self, rows):
        """Return rows in memory, in the format of `Shard.rows`."""
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(self.n_rows))
        numbers = np.searchsorted(self._ends, rows, "right")
        places, found = [], []
        for number in np.unique(numbers) if len(rows) else [0]:
            places.append(np.flatnonzero(numbers == number))
            own = rows[places[-1]] - self._starts[number]
            found.append(self.shards[number].rows(own, self.visit))
        if len(found) == 1:
            return found[0]
        block = joined(found)[np.argsort(np.concatenate(places))]
        if sparse.issparse(block):
            block.has_canonical_format = True
        return block


def groups(shards, n_groups):
    """Divide the shards that have rows into at most ``n_groups`` groups.

    The groups have a new ``visit``, so that files are checked again.
    """
    visit = secrets.token_hex(8)
    shards = [shard for shard in shards if shard.n_rows]
    n_groups = min(len(shards), MOST_GROUPS if n_groups is None else n_groups)
    ends = np.linspace(0, len(shards), n_groups + 1).round().astype(int)
    pairs = zip(ends[:-1], ends[1:], strict=True)
    return [Group(shards[first:last], visit) for first, last in pairs]


# -- the description -------------------------------------------------------------------


def stamp_of(meta):
    """Return a text that identifies a collection until it is replaced."""
    return f"{meta['generation']}-{meta['checksum']:08x}"


def meta_of(folder, stamp):
    """Return the description of a collection; raise a ValueError if it was replaced."""
    return _meta_at(folder, stamp, _seen(Path(folder) / META))


@lru_cache(maxsize=16)
def _meta_at(folder, stamp, seen):
    meta = read_meta(folder)
    if stamp_of(meta) != stamp:
        raise ValueError(
            f"{folder} holds another collection than when it was opened; open it again."
        )
    return meta


@lru_cache(maxsize=MOST_OPEN)
def _files_of(shard, seen):
    meta = _meta_at(shard.folder, shard.stamp, seen)
    folder = generation_folder(shard.folder, meta["generation"])
    description, number = meta["shards"][shard.number], shard.number
    return ShardFiles(folder, number, description, meta["kind"], meta["n_features"])


@contextlib.contextmanager
def unless_replaced(folder, stamp):
    """Raise a clear error if files cannot be read because they were replaced."""
    try:
        yield
    except (OSError, ValueError):
        meta_of(folder, stamp)
        raise


def _seen(path):
    """Return inode, time and size of a file, to detect changes of the file."""
    try:
        found = os.stat(path)
    except OSError:  # reading the file will raise the error
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


# -- open shards -----------------------------------------------------------------------
#: For each shard that this process has used: its lock; the call and the time of the
#: last look at its files, and what `_seen` returned for them; and what `_seen` returned
#: when they were compared with their checksums.
_locks, _looks, _checked = {}, {}, {}
if hasattr(os, "register_at_fork"):  # no thread of a child can release old locks
    os.register_at_fork(after_in_child=_locks.clear)


def opened(shard, visit=None):
    """Return the arrays of a shard, opened again if its files have changed."""
    with _locks.setdefault(shard, threading.Lock()):
        last_visit, looked, seen = _looks.get(shard, (None, 0.0, None))
        now = time.monotonic()
        if not visit == last_visit is not None or now >= looked + LOOK_EVERY:
            seen = tuple(map(_seen, shard.files.paths))
            _looks[shard] = visit, now, seen
        return _maps(shard, seen)


@lru_cache(maxsize=MOST_OPEN)
def _maps(shard, seen):
    """Open a shard, and check it unless its files are unchanged since a check."""
    files = shard.files
    with unless_replaced(shard.folder, shard.stamp):
        maps = files.mapped()
        if _checked.get(shard) != seen:
            # without verification, values are compared if files have changed
            files.check(maps, values=shard.verify or shard in _checked)
    _checked[shard] = seen
    return maps

"""Cache of the shards that this process has opened and checked.

When a process first opens a shard, it reads the whole shard and compares it with its
checksums.  If the sizes or modification times of its files change later, it is read
and compared again.  Sizes and times are checked at each use of the shard, but within a
fit at most every `LOOK_EVERY` seconds.  A file that is truncated between a check and
the use of its memory map ends the process, which no check can prevent.
"""

import contextlib
import os
import threading
import time
from collections import OrderedDict
from functools import lru_cache

import numpy as np
from scipy import sparse

from ._arrays import ShardFiles, check_crc
from ._files import META, opened_npy
from ._folders import generation_folder
from ._meta import read_meta, stamp_of

#: Largest number of open shards of a process, each with up to three memory maps.
MOST_OPEN = 48
#: Seconds after a check during which a fit assumes that files are unchanged.
LOOK_EVERY = 0.05


class _Shard:
    """An open shard.

    Attributes
    ----------
    maps : Maps
    matrix : CSR array or None
        The maps as one matrix, if the shard is sparse.
    paths : list of str
        Paths of its files, and of the description of the collection.
    seen : tuple
        Sizes and modification times of these files when they were opened.
    visit, looked : str or None, float
        Name of the last visit that checked these sizes and times, see `Part.rows`, and
        the time of this check.
    """

    __slots__ = ("looked", "maps", "matrix", "paths", "seen", "visit")

    def __init__(self, files, maps, paths, seen):
        self.maps, self.paths, self.seen = maps, paths, seen
        self.visit, self.looked, self.matrix = None, 0.0, None
        if maps.indptr is not None:
            shape = len(maps.indptr) - 1, files.n_features
            self.matrix = sparse.csr_array(shape, dtype=maps.data.dtype)
            # set attributes, because scipy's constructor would convert all indices to
            # the type of indptr
            self.matrix.data = np.asarray(maps.data)
            self.matrix.indices = np.asarray(maps.indices)
            self.matrix.indptr = np.asarray(maps.indptr)

    def is_fresh(self, visit):
        """Return whether the same fit has just checked the files."""
        return (
            visit is not None
            and visit == self.visit
            and time.monotonic() < self.looked + LOOK_EVERY
        )


class _OpenShards:
    """Cache of the shards that were used most recently."""

    def __init__(self):
        self.shards, self.checked = OrderedDict(), {}
        self.renew_locks()

    def renew_locks(self):
        """Create new locks in a forked child; no thread there can release old locks."""
        self.lock, self.opening = threading.Lock(), {}

    def __call__(self, part, visit=None):
        """Return an open shard, checked again if its files changed.

        Parameters
        ----------
        part : Part
        visit : str or None
            See `Part.rows`.
        """
        with self.lock:
            shard = self.shards.get(part)
            if shard is not None:
                self.shards.move_to_end(part)
        if shard is None or not shard.is_fresh(visit):
            now = time.monotonic()
            if shard is None or _seen(shard.paths) != shard.seen:
                shard = self._open_once(part)
            shard.visit, shard.looked = visit, now
        return shard

    def _open_once(self, part):
        """Open a shard in one thread; other threads wait for the result."""
        with self.lock:
            opening = self.opening.setdefault(part, threading.Lock())
        with opening:
            shard = self.shards.get(part)
            if shard is None or _seen(shard.paths) != shard.seen:
                shard = self._open(part)
        with self.lock:
            self.opening.pop(part, None)
            self.shards[part] = shard
            self.shards.move_to_end(part)
            while len(self.shards) > MOST_OPEN:
                self.shards.popitem(last=False)
        return shard

    def _open(self, part):
        """Open a shard, and check it unless its files are unchanged since a check."""
        with self.lock:
            self.shards.pop(part, None)
            before = self.checked.pop(part, None)
        files = files_of(part)
        paths = [os.path.join(part.folder, META), *files.paths]
        seen = _seen(paths)
        here = dict(zip(files.paths, seen[1:], strict=True))
        if before and before.keys() == here.keys() and before != here:
            _refuse_change(part, before, here)
        with unless_replaced(part.folder, part.stamp):
            maps = files.mapped()
            if before != here:
                files.check(maps, values=part.verify)
        after = _seen(paths)
        if after != seen:
            meta_of(part.folder, part.stamp)
            pairs = zip(paths, seen, after, strict=True)
            path = next(path for path, old, new in pairs if old != new)
            raise ValueError(f"{path} was changed while it was being read.")
        with self.lock:
            self.checked[part] = here
        return _Shard(files, maps, paths, seen)


opened = _OpenShards()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=opened.renew_locks)


def _seen(paths):
    """Return inodes, times and sizes of files, to detect changes of the files."""
    return tuple(_seen_at(path) for path in paths)


def _seen_at(path):
    try:
        found = os.stat(path)
    except OSError:  # reading the file will raise the error
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _refuse_change(part, before, here):
    """Raise if files changed and no checksum can show whether they are damaged."""
    path = next(path for path in here if here[path] != before[path])
    if here[path] is None:
        raise ValueError(f"{path} is missing: it was removed after it was opened.")
    if not part.verify:
        raise ValueError(
            f"{path} was changed after it was opened, and with verify=False it is not "
            "known whether it is damaged: open the collection again."
        )


def files_of(part):
    """Return the `ShardFiles` of a part."""
    meta = meta_of(part.folder, part.stamp)
    folder = generation_folder(part.folder, meta["generation"])
    about = meta["shards"][part.number]
    return ShardFiles(folder, part.number, about, meta["kind"], meta["shape"][1])


def meta_of(folder, stamp):
    """Return the description of the collection with this stamp.

    Raises
    ------
    ValueError
        If the collection was replaced.
    """
    return _meta_at(folder, stamp, _seen_at(os.path.join(folder, META)))


@lru_cache(maxsize=16)
def _meta_at(folder, stamp, seen):
    meta = read_meta(folder)
    if stamp_of(meta) != stamp:
        raise _other_collection(folder)
    return meta


@contextlib.contextmanager
def unless_replaced(folder, stamp):
    """Read files of a collection; raise a clear error if the collection was replaced.

    Raises
    ------
    ValueError
        If the folder now has another collection.
    """
    try:
        yield
    except (OSError, ValueError):
        meta_of(folder, stamp)
        raise


def _other_collection(folder):
    return ValueError(
        f"{folder} holds another collection than when it was opened; open it again."
    )


# -- files beside the shards -----------------------------------------------------------
_checked_files = {}


def checked_npy(path, size, crc):
    """Return the memory map of a vector, which each process checks once.

    Parameters
    ----------
    path : str
    size : int
        Expected length of the vector.
    crc : int or None
        Expected checksum; None checks only the size.

    Raises
    ------
    ValueError
        If the file is damaged.
    """
    seen = _seen_at(path), crc
    array = opened_npy(path, shape=(size,))
    if crc is not None and _checked_files.get(path) != seen:
        check_crc(path, array, crc)
        _checked_files[path] = seen
    return array

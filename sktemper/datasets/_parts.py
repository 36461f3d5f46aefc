"""Shards of a collection: handles, and the maps that a process holds open."""

import os
import threading
from collections import OrderedDict
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import sparse

from .._data import ByRows
from .._linalg import sparse_rows
from ._files import META, opened_npy, shard_file
from ._meta import read_meta
from ._sparse import csr_container

__all__ = ["Part"]

#: How many shards a process holds open, each with up to three maps.
MOST_OPEN = 48
#: Entries that are checked at a time.
CHECKED_AT_ONCE = 2**20


class Part(ByRows):
    """Handle of a shard: where it is, and no data.

    Parameters
    ----------
    folder : str
        An absolute path.
    number : int
    stamp : str
        The fingerprint of the collection that is meant.
    """

    __slots__ = ("folder", "number", "stamp")

    def __init__(self, folder, number, stamp):
        self.folder, self.number, self.stamp = folder, number, stamp

    def __reduce__(self):
        return Part, (self.folder, self.number, self.stamp)

    def __eq__(self, other):
        return isinstance(other, Part) and self.__reduce__() == other.__reduce__()

    def __hash__(self):
        return hash((self.folder, self.number, self.stamp))

    def __repr__(self):
        return f"<shard {self.number} of {self.folder!r}, {self.n_rows:,} rows>"

    @property
    def n_rows(self):
        """Number of rows."""
        return _meta_of(self.folder, self.stamp)["shards"][self.number]["rows"]

    def rows(self, rows):
        """Return rows of the shard, in memory.

        Parameters
        ----------
        rows : slice or ndarray of int
            From 0, without negative ones.

        Returns
        -------
        block : CSR array or ndarray
            Of sparse ones the indices are int32, and the format is canonical.
        """
        shard = _opened(self)
        if shard.indptr is None:
            return np.array(shard.data[rows])
        block = sparse_rows(shard.mapped, rows)
        block.data = np.array(block.data)
        # scipy takes the type of indptr for both
        block.indices = np.array(block.indices, dtype=np.int32)
        block.indptr = _short(block.indptr)
        block.has_canonical_format = True
        return block

    def whole(self):
        """Return all of the shard, its entries mapped as far as scipy can read them."""
        shard = _opened(self)
        if shard.indptr is None:
            return shard.data
        # scipy knows no shorter indices
        indices = shard.indices.astype(np.int32, copy=False)
        arrays = shard.data, indices, _short(shard.indptr)
        X = csr_container()(arrays, shape=shard.mapped.shape)
        X.has_canonical_format = True
        return X


def _short(indptr):
    """Return where rows begin as int32, if that holds it."""
    return indptr if indptr[-1] >= 2**31 else indptr.astype(np.int32, copy=False)


class _Shard(NamedTuple):
    """The maps of an open shard; ``mapped`` has them as a CSR array."""

    data: np.ndarray
    indices: np.ndarray | None = None
    indptr: np.ndarray | None = None
    mapped: sparse.csr_array | None = None


class _OpenShards:
    """The shards that were used last, and which were checked by this process."""

    def __init__(self):
        self.lock, self.shards, self.checked = threading.Lock(), OrderedDict(), set()

    def __call__(self, part):
        key = part, _written(part.folder)
        with self.lock:
            if key in self.shards:
                self.shards.move_to_end(key)
                return self.shards[key]
            is_checked = key in self.checked
        shard = _open_shard(part)
        if not is_checked and shard.indptr is not None:
            _check_entries(part, shard)
        if _written(part.folder) != key[1]:  # meanwhile
            raise _other_collection(part.folder)
        with self.lock:
            self.checked.add(key)
            self.shards[key] = shard
            self.shards.move_to_end(key)
            while len(self.shards) > MOST_OPEN:
                self.shards.popitem(last=False)
        return shard


_opened = _OpenShards()


def _meta_of(folder, stamp):
    """Return the description of a collection, as long as it is the one meant."""
    return _meta_at(folder, stamp, _written(folder))


@lru_cache(maxsize=16)
def _meta_at(folder, stamp, written):
    meta = read_meta(folder)
    if meta["fingerprint"] != stamp:
        raise _other_collection(folder)
    return meta


def _written(folder):
    """Return what changes when a collection is written anew; None if there is none."""
    try:
        found = os.stat(os.path.join(folder, META))
    except OSError:  # who reads it will tell
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _other_collection(folder):
    return ValueError(
        f"{folder} holds another collection than when it was opened; open it again."
    )


def _open_shard(part):
    """Map the files of a shard, their sizes and types checked."""
    meta = _meta_of(part.folder, part.stamp)
    about, n_features = meta["shards"][part.number], meta["shape"][1]
    rows, entries = about["rows"], about["entries"]

    def mapped(what, dtype, *shape):
        return opened_npy(shard_file(part.folder, part.number, what), dtype, shape)

    if meta["kind"] == "dense":
        return _Shard(mapped("data.npy", about["dtype"], rows, n_features))
    data = mapped("data.npy", about["dtype"], entries)
    indices = mapped("indices.npy", meta["index_dtype"], entries)
    indptr = mapped("indptr.npy", "int64", rows + 1)
    X = sparse.csr_array((rows, n_features), dtype=data.dtype)
    # past scipy's constructor, which would convert all indices to the type of indptr
    X.data, X.indices, X.indptr = map(np.asarray, (data, indices, indptr))
    return _Shard(data, indices, indptr, X)


def _check_entries(part, shard):
    """Raise if the arrays of a sparse shard point to where nothing is.

    Piece by piece: nothing of the size of the shard is allocated.
    """
    path = shard_file(part.folder, part.number, "indptr.npy")
    indptr, n_features = shard.indptr, shard.mapped.shape[1]
    if indptr[0] != 0 or indptr[-1] != len(shard.indices):
        raise ValueError(
            f"{path} is damaged: it goes from {indptr[0]} to {indptr[-1]}, "
            f"expected 0 to {len(shard.indices)}."
        )
    for start in range(0, len(indptr), CHECKED_AT_ONCE):
        piece = indptr[start : start + CHECKED_AT_ONCE + 1]
        if (piece[1:] < piece[:-1]).any():
            raise ValueError(f"{path} is damaged: it decreases.")
    for start in range(0, len(shard.indices), CHECKED_AT_ONCE):
        piece = shard.indices[start : start + CHECKED_AT_ONCE]
        if piece.max() >= n_features or piece.min() < 0:
            path = shard_file(part.folder, part.number, "indices.npy")
            raise ValueError(
                f"{path} is damaged: it has column indices outside of the "
                f"{n_features} columns."
            )

"""Collections on disk: sequences of shards, opened when they are asked for."""

import os
import threading
from collections import OrderedDict
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from scipy import sparse

from .._data import Data, Source
from .._linalg import sparse_rows
from ._files import opened_npy, read_json, shard_file
from ._meta import read_meta
from ._sparse import csr_container

__all__ = ["Collection", "open_counts", "open_dense", "open_ratings"]

#: How many shards a process holds open, each with up to three maps.
MOST_OPEN = 48
#: Entries that are checked at a time.
CHECKED_AT_ONCE = 2**20


class Collection(Source):
    """Data on disk, as a sequence of shards.

    What `write_counts`, `write_dense` and `write_ratings` return, and `open_counts`,
    `open_dense` and `open_ratings`.  ``collection[i]`` is the i-th shard: a CSR matrix
    of counts or of ratings, or an array, whose entries are mapped from disk and
    read-only.  Nothing is opened before it is asked for, and a pickle holds no more
    than where the folder is.

    Attributes
    ----------
    folder : str
        Where it is, an absolute path.
    kind : {"counts", "dense", "ratings"}
    shape : tuple of int
        Rows and columns, of all shards together.
    dtype : dtype
        The smallest type that holds the values of all shards; one of whole numbers
        may be of a smaller one.
    nnz : int
        Number of stored entries; of dense data that of all.
    sum : int or float
        Of all values that are not missing.
    has_missing : bool
        Whether there is NaN among dense data.
    feature_names : ndarray of str of shape (n_features,), or None
        The words, or the names of the columns, if they are known.
    user_labels, item_labels : ndarray or None
        Of ratings, whose row and which item's column each is; mapped from disk.
    parts : tuple of Part
        Handles of the shards, for the loop over data.
    run : int
        How many neighbouring rows a shuffled pass visits together.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from sktemper.datasets import open_dense, write_dense
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     X = write_dense(folder, [np.ones((3, 2)), np.zeros((2, 2))], shard_rows=4)
    ...     len(X), X.shape, X[1].tolist()
    (2, (5, 2), [[0.0, 0.0]])
    """

    run = 256

    def __init__(self, folder):
        self.folder = os.path.abspath(os.fspath(folder))
        self._meta = read_meta(self.folder)
        self.kind = self._meta["kind"]
        self.shape = tuple(self._meta["shape"])
        self.dtype = np.dtype(self._meta["dtype"])
        self.nnz = self._meta["entries"]
        self.sum = self._meta["sum"]
        self.has_missing = self._meta["missing"] > 0
        numbers = range(len(self._meta["shards"]))
        stamp = self._meta["fingerprint"]
        self.parts = tuple(Part(self.folder, number, stamp) for number in numbers)

    def __len__(self):
        return len(self.parts)

    def __getitem__(self, number):
        if isinstance(number, slice):
            return [part.whole() for part in self.parts[number]]
        return self.parts[number].whole()

    def __iter__(self):
        return (part.whole() for part in self.parts)

    def __repr__(self):
        n_rows, n_columns = self.shape
        shards = f"{len(self)} shard{'s' * (len(self) != 1)}"
        return (
            f"<Collection of {self.kind}: {n_rows:,} x {n_columns:,}, {self.nnz:,} "
            f"entries of {self.dtype}, {shards} in {self.folder!r}>"
        )

    def __reduce__(self):
        return Collection, (self.folder,)

    @cached_property
    def feature_names(self):  # noqa: D102  described with the class
        if not self._meta["feature_names"]:
            return None
        path = os.path.join(self.folder, "feature_names.json")
        names = read_json(path)
        if not isinstance(names, list) or len(names) != self.shape[1]:
            raise ValueError(f"{path} is damaged: expected {self.shape[1]} names.")
        return np.array(names, dtype=object)

    @property
    def user_labels(self):  # noqa: D102
        return self._labels("user_labels.npy", self.shape[0])

    @property
    def item_labels(self):  # noqa: D102
        return self._labels("item_labels.npy", self.shape[1])

    def _labels(self, name, size):
        if self.kind != "ratings":
            return None
        return opened_npy(os.path.join(self.folder, name), shape=(size,))

    def as_data(self, validate):
        """Return the shards as parts of `Data`, if an estimator takes such values.

        Parameters
        ----------
        validate : callable
            ``validate(X)`` returns a valid matrix; it is given `extremes`.
        """
        parts = [part for part in self.parts if part.n_rows]
        return Data(parts, [validate(self.extremes())], self, self.run)

    def extremes(self):
        """Return a few rows that have the least and the largest value of all.

        What a check of values has to see: of counts and ratings these are stored
        entries, among dense data NaN is there if any is missing, and one value is no
        whole number if there is any such.

        Returns
        -------
        rows : CSR matrix or ndarray of shape (at most 4, n_features)
            In memory, of the collection's dtype.
        """
        values = [self._meta[name] for name in ("least", "largest", "fraction")]
        values = [value for value in dict.fromkeys(values) if value is not None]
        n_rows, n_columns = self.shape
        if self.kind == "dense":
            values += [np.nan] * self.has_missing
            size = max(min(n_rows, 2), -(-len(values) // n_columns))
            rows = np.full(size * n_columns, values[0], dtype=self.dtype)
            rows[: len(values)] = values
            return rows.reshape(size, n_columns)
        values = np.array(values, dtype=self.dtype)
        n_rows = max(min(n_rows, 2), len(values))
        columns = np.zeros(len(values), dtype=np.int32)
        starts = np.minimum(np.arange(n_rows + 1), len(values)).astype(np.int32)
        shape = n_rows, n_columns
        rows = csr_container()((values, columns, starts), shape=shape)
        rows.has_canonical_format = True
        return rows


class Part:
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
        if isinstance(rows, slice):  # a view
            block.data = np.array(block.data)
            block.indices = np.array(block.indices)
        block.has_canonical_format = True
        return block

    def take(self, model, rows):
        """Return a block as a model takes it."""
        return model.take(self.rows(rows), slice(None))

    def units_per_row(self, model, rows):
        """Return how many units a model counts in each row."""
        block = self.rows(rows)
        return model.units_per_row(block, np.arange(block.shape[0]))

    def whole(self):
        """Return all of the shard, its entries mapped as far as scipy can read them."""
        shard = _opened(self)
        if shard.indptr is None:
            return shard.data
        n_features = shard.mapped.shape[1]
        indices = shard.indices
        if indices.dtype != np.int32:  # scipy knows no shorter ones
            indices = indices.astype(np.int32)
        shape = len(shard.indptr) - 1, n_features
        X = csr_container()((shard.data, indices, shard.indptr), shape=shape)
        X.has_canonical_format = True
        return X


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
        with self.lock:
            if part in self.shards:
                self.shards.move_to_end(part)
                return self.shards[part]
            is_checked = part in self.checked
        shard = _open_shard(part)
        if not is_checked and shard.indptr is not None:
            _check_entries(part, shard)
        with self.lock:
            self.checked.add(part)
            self.shards[part] = shard
            self.shards.move_to_end(part)
            while len(self.shards) > MOST_OPEN:
                self.shards.popitem(last=False)
        return shard


_opened = _OpenShards()


@lru_cache(maxsize=16)
def _meta_of(folder, stamp):
    """Return the description of a collection, as long as it is the one meant."""
    meta = read_meta(folder)
    if meta["fingerprint"] != stamp:
        raise ValueError(
            f"{folder} holds another collection than when it was opened; open it again."
        )
    return meta


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


def open_counts(folder):
    """Open counts that `write_counts` wrote.

    Parameters
    ----------
    folder : str or path

    Returns
    -------
    collection : Collection

    Raises
    ------
    FileNotFoundError
        If there is no such folder.
    ValueError
        If it holds no finished collection of counts, or its description is damaged.
        The shards are checked when each is first used.
    """
    return _open(folder, "counts")


def open_dense(folder):
    """Open dense data that `write_dense` wrote.

    Parameters
    ----------
    folder : str or path

    Returns
    -------
    collection : Collection

    Raises
    ------
    FileNotFoundError
        If there is no such folder.
    ValueError
        If it holds no finished collection of dense data, or its description is
        damaged.  The shards are checked when each is first used.
    """
    return _open(folder, "dense")


def open_ratings(folder):
    """Open ratings that `write_ratings` wrote.

    Parameters
    ----------
    folder : str or path

    Returns
    -------
    collection : Collection
        Its ``user_labels`` and ``item_labels`` say what the rows and columns are.

    Raises
    ------
    FileNotFoundError
        If there is no such folder.
    ValueError
        If it holds no finished collection of ratings, or its description is damaged.
        The shards are checked when each is first used.
    """
    return _open(folder, "ratings")


def _open(folder, kind):
    collection = Collection(folder)
    if collection.kind != kind:
        raise ValueError(
            f"{collection.folder} holds a collection of {collection.kind}; open it "
            f"with open_{collection.kind}."
        )
    return collection

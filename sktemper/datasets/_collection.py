"""Collections on disk: sequences of shards that are opened when needed.

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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .._engine._data import ByRows, Data, Source, joined, rows_with
from .._utils._arguments import check_flag, positive_int
from .._utils._docstrings import completed_by
from .._utils._linalg import entries_of_rows
from .._utils._sklearn import csr_container
from .._utils._typing import Int, SparseMatrix, StrPath
from . import _folder
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
        return _files_of(self, _seen(Path(self.folder) / _folder.META))

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
    return _meta_at(folder, stamp, _seen(Path(folder) / _folder.META))


@lru_cache(maxsize=16)
def _meta_at(folder, stamp, seen):
    meta = _folder.read_meta(folder)
    if stamp_of(meta) != stamp:
        raise ValueError(
            f"{folder} holds another collection than when it was opened; open it again."
        )
    return meta


@lru_cache(maxsize=MOST_OPEN)
def _files_of(shard, seen):
    meta = _meta_at(shard.folder, shard.stamp, seen)
    folder = _folder.generation_folder(shard.folder, meta["generation"])
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


# -- collections -----------------------------------------------------------------------
class Collection(Source):
    """Data on disk, as a sequence of shards.

    `write_counts`, `write_dense` and `write_ratings` write a collection and return it;
    `open_counts`, `open_dense` and `open_ratings` open one.  ``collection[i]`` is the
    i-th shard: a CSR matrix of counts or of ratings, or an array, mapped from disk and
    read-only.  A pickle contains only the path of the folder.

    Parameters
    ----------
    folder : str or path
        Folder of the collection.
    n_parts : int, default=None
        Number of groups of neighbouring shards, and of the workers of a cluster that
        can share a step.  Rounding errors of a fit depend on it.  None is 16, or the
        number of shards if it is less.
    verify : bool, default=True
        Whether each process compares the checksums of a shard before its first use.
        Without this, fits to damaged values are wrong without a message.

    Attributes
    ----------
    folder : str
        Absolute path of the folder.
    kind : {"counts", "dense", "ratings"}
        Kind of the data.
    shape : tuple of int
        Number of rows and columns of all shards together.
    dtype : dtype
        Smallest type that holds the values of all shards; a shard of integers may have
        a smaller type.
    nnz : int
        Number of stored entries; for dense data, the number of all entries.
    sum : int or float
        Sum of all values that are not missing; NaN if it is too large for a float.
    has_missing : bool
        Whether dense data contain NaN.
    parts : tuple of Shard
        Handles of the shards.
    run : int
        Number of neighbouring rows that a shuffled pass visits together.

    Raises
    ------
    FileNotFoundError, ValueError
        If there is no such folder, or no finished and intact collection of this kind.

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

    def __init__(
        self, folder: StrPath, n_parts: Int | None = None, verify: bool = True
    ):
        if n_parts is not None:
            positive_int(n_parts, "n_parts")
        check_flag(verify, "verify")
        self.n_parts, self._verify = n_parts, bool(verify)
        self.folder = os.path.abspath(os.fspath(folder))
        self._meta = _folder.read_meta(self.folder)
        self.kind = self._meta["kind"]
        self.shape = self._meta["rows"], self._meta["n_features"]
        self.dtype = np.dtype(self._meta["dtype"])
        self.nnz = self._meta["entries"]
        self.sum = np.nan if self._meta["sum"] is None else self._meta["sum"]
        self.has_missing = self._meta["missing"] > 0
        self._stamp = stamp_of(self._meta)
        self.parts = tuple(
            Shard(self.folder, number, self._stamp, self._verify)
            for number in range(len(self._meta["shards"]))
        )

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, number):
        if isinstance(number, slice):
            return [part.whole() for part in self.parts[number]]
        if not isinstance(number, Integral):
            raise TypeError(
                "The index of a collection is the number of a shard, not of a row, so "
                "scikit-learn cannot split a collection. Hold out whole shards: "
                "collection[:-1] and collection[-1:] are lists of parts."
            )
        if not -len(self) <= number < len(self):
            raise IndexError(f"There is no shard {number}: there are {len(self)}.")
        return self.parts[number].whole()

    def __array__(self, dtype=None, copy=None):
        raise TypeError(
            "A collection is no array in memory. Pass the collection to an estimator, "
            "or pass one of its shards, collection[i], to other functions."
        )

    def __iter__(self) -> Iterator:
        return (part.whole() for part in self.parts)

    def __repr__(self):
        n_rows, n_columns = self.shape
        shards = f"{len(self)} shard{'s' * (len(self) != 1)}"
        return (
            f"<Collection of {self.kind}: {n_rows:,} x {n_columns:,}, {self.nnz:,} "
            f"entries of {self.dtype}, {shards} in {self.folder!r}>"
        )

    def __reduce__(self):
        return Collection, (self.folder, self.n_parts, self._verify)

    def verify(self) -> None:
        """Read all files and compare them with their checksums.

        Raises
        ------
        ValueError
            If files are damaged or missing.  The message names the first such file of
            each shard.
        """
        meta = meta_of(self.folder, self._stamp)
        folder = _folder.generation_folder(self.folder, meta["generation"])
        checks = [part.check for part in self.parts]
        for name, crc in meta["files"].items():
            checks.append(partial(_folder.check_crc, folder / name, crc))
        damage = []
        for check in checks:
            try:
                check()
            except (OSError, ValueError) as error:
                meta_of(self.folder, self._stamp)
                damage.append(str(error))
        if damage:
            raise ValueError("\n".join(damage))

    def _read(self, name, read):
        """Return ``read(path)`` of a file next to the shards, None if there is none."""
        meta = meta_of(self.folder, self._stamp)
        if name not in meta["files"]:
            return None
        path = _folder.generation_folder(self.folder, meta["generation"]) / name
        with unless_replaced(self.folder, self._stamp):
            if self._verify:
                _folder.check_crc(path, meta["files"][name])
            return read(path)

    @cached_property
    def feature_names(self) -> np.ndarray | None:
        """Words, or names of the columns, ndarray of str; None if there are none."""
        found = self._read(_folder.NAMES, _folder.read_json)
        return found if found is None else np.array(found["names"], dtype=object)

    @cached_property
    def user_labels(self) -> np.ndarray | None:
        """Labels of the rows of ratings, ndarray; None for other data."""
        return self._read(_folder.LABELS[0], _folder.open_npy)

    @cached_property
    def item_labels(self) -> np.ndarray | None:
        """Labels of the columns of ratings, ndarray; None for other data."""
        return self._read(_folder.LABELS[1], _folder.open_npy)

    def as_data(self, validate: Callable) -> Any:
        """Return `Data` for a fit, after a check of the values.

        Parameters
        ----------
        validate : callable
            ``validate(X)`` returns `extremes` in valid form, or raises.

        Returns
        -------
        data : Data
            Groups of shards.
        """
        parts = groups(self.parts, self.n_parts)
        return Data(parts, [validate(self.extremes())], self, self.run)

    def extremes(self) -> SparseMatrix | np.ndarray:
        """Return a few rows that contain the smallest and the largest value.

        These rows suffice to check the values.  For counts and ratings, the rows
        contain stored entries only.  For dense data, the rows contain NaN if a value is
        missing.  If some values are not integers, the rows contain one such value.

        Returns
        -------
        rows : CSR matrix or ndarray of shape (at most 4, n_features)
            In memory, of the collection's dtype.
        """
        values = [self._meta[name] for name in ("least", "largest", "fraction")]
        values = [value for value in dict.fromkeys(values) if value is not None]
        if self.has_missing:
            values.append(np.nan)
        return rows_with(values, self.shape, self.dtype, self.kind != "dense")


@completed_by(Collection, "Raises")
def open_counts(
    folder: StrPath, n_parts: Int | None = None, *, verify: bool = True
) -> Collection:
    """Open counts that `write_counts` wrote.

    Returns
    -------
    collection : Collection
        The open collection.

    Examples
    --------
    >>> import tempfile
    >>> from sktemper.datasets import make_lda_documents, open_counts, write_counts
    >>> documents = make_lda_documents(100, 40, 3, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_counts(folder, [documents])
    ...     X = open_counts(folder)
    ...     X.shape, X[0].shape
    ((100, 40), (100, 40))
    """
    return _open(folder, "counts", n_parts, verify)


@completed_by(open_counts, "Returns", "Raises")
def open_dense(
    folder: StrPath, n_parts: Int | None = None, *, verify: bool = True
) -> Collection:
    """Open dense data that `write_dense` wrote.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from sktemper.datasets import open_dense, write_dense
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_dense(folder, [np.eye(3), np.zeros((2, 3))])
    ...     X = open_dense(folder)
    ...     X.shape, X.dtype.name
    ((5, 3), 'float64')
    """
    return _open(folder, "dense", n_parts, verify)


@completed_by(open_counts, "Raises")
def open_ratings(
    folder: StrPath, n_parts: Int | None = None, *, verify: bool = True
) -> Collection:
    """Open ratings that `write_ratings` wrote.

    Returns
    -------
    collection : Collection
        The open collection.  Its ``user_labels`` and ``item_labels`` are the labels of
        the rows and columns.

    Examples
    --------
    >>> import tempfile
    >>> from sktemper.datasets import open_ratings, write_ratings
    >>> batches = [(["bob", "ann"], ["tea", "tea"], [3, 5]), (["ann"], ["gin"], [1])]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_ratings(folder, batches)
    ...     X = open_ratings(folder)
    ...     X.user_labels.tolist(), X.item_labels.tolist()
    (['ann', 'bob'], ['gin', 'tea'])
    """
    return _open(folder, "ratings", n_parts, verify)


def _open(folder, kind, n_parts, verify):
    collection = Collection(folder, n_parts, verify)
    if collection.kind != kind:
        raise ValueError(
            f"{collection.folder} holds a collection of {collection.kind}; open it "
            f"with open_{collection.kind}."
        )
    return collection

"""Collections on disk: sequences of shards that are opened when needed."""

import os
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from numbers import Integral
from typing import Any

import numpy as np

from .._engine._data import Data, Source, rows_with
from .._utils._arguments import check_flag, positive_int
from .._utils._docstrings import completed_by
from .._utils._typing import Int, SparseMatrix, StrPath
from ._files import check_crc, open_npy, read_json
from ._folder import LABELS, NAMES, generation_folder, read_meta
from ._parts import Shard, groups, meta_of, stamp_of, unless_replaced


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
        self._meta = read_meta(self.folder)
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
        meta = self._current_meta()
        folder = generation_folder(self.folder, meta["generation"])
        checks = [part.check for part in self.parts]
        for name, crc in meta["files"].items():
            checks.append(partial(check_crc, folder / name, crc))
        damage = []
        for check in checks:
            try:
                check()
            except (OSError, ValueError) as error:
                self._current_meta()
                damage.append(str(error))
        if damage:
            raise ValueError("\n".join(damage))

    def _current_meta(self):
        """Return the description; raise if the collection was replaced."""
        return meta_of(self.folder, self._stamp)

    def _read(self, name, read):
        """Return ``read(path)`` of a file next to the shards, None if there is none."""
        meta = self._current_meta()
        if name not in meta["files"]:
            return None
        path = generation_folder(self.folder, meta["generation"]) / name
        with unless_replaced(self.folder, self._stamp):
            if self._verify:
                check_crc(path, meta["files"][name])
            return read(path)

    @cached_property
    def feature_names(self) -> np.ndarray | None:
        """Words, or names of the columns, ndarray of str; None if there are none."""
        found = self._read(NAMES, read_json)
        return found if found is None else np.array(found["names"], dtype=object)

    @cached_property
    def user_labels(self) -> np.ndarray | None:
        """Labels of the rows of ratings, ndarray; None for other data."""
        return self._read(LABELS[0], open_npy)

    @cached_property
    def item_labels(self) -> np.ndarray | None:
        """Labels of the columns of ratings, ndarray; None for other data."""
        return self._read(LABELS[1], open_npy)

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

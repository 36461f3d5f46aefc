"""Shards: blocks of rows, their summaries and files, and their writer.

The writer continues an interrupted conversion.
"""

import math
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from .._utils._budgets import VALUES_AT_ONCE, slices
from .._utils._constraints import WholeNumber
from .._utils._linalg import entries_of_rows
from .._utils._notices import warn
from ._folder import NAMES, check_crc, open_npy, write_json, write_npy
from ._lines import LARGEST_SIZE

# -- blocks of rows --------------------------------------------------------------------


def index_dtype(n_features):
    return np.dtype(np.uint16 if n_features <= 2**16 else np.int32)


def smallest(low, high):
    """Return the smallest type for integers from ``low`` to ``high``.

    The type has at most 32 bits; the result is None if 32 bits are too few.
    """
    low, high = int(low), int(high)
    dtype = np.min_scalar_type(high if low >= 0 else min(low, -high - 1))
    return dtype if dtype.kind in "ui" and dtype.itemsize <= 4 else None


class RowBlock(NamedTuple):
    """Rows to be written, or the arrays of a shard.

    Sparse data have the arrays of a CSR matrix.  Dense data are the matrix ``data``.
    """

    n_features: int
    data: np.ndarray
    indices: np.ndarray | None = None
    indptr: np.ndarray | None = None

    @property
    def shape(self):
        rows = self.data if self.indptr is None else self.indptr[1:]
        return len(rows), self.n_features

    @classmethod
    def from_csr(cls, X, data):
        """Return a block with the indices of a CSR matrix and the values ``data``."""
        indices = X.indices.astype(index_dtype(X.shape[1]), copy=False)
        return cls(X.shape[1], data, indices, X.indptr)

    def rows(self, rows):
        """Return a block with a slice of the rows."""
        if self.indptr is None:
            return self._replace(data=self.data[rows])
        starts, columns, values = entries_of_rows(self, rows)
        return RowBlock(self.n_features, values, columns, starts)


def summary(block):
    """Return a summary of the values of a block, a dict.

    ``fraction`` is a value that is not an integer, or None; ``sum`` is None if it is
    too large; ``missing`` is the number of NaN values.
    """
    data, least, largest = block.data, None, None
    is_float = data.dtype.kind == "f"
    missing = int(np.isnan(data).sum()) if is_float else 0
    if data.size > missing:
        least = np.fmin.reduce(data, axis=None).item()
        largest = np.fmax.reduce(data, axis=None).item()
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.nansum(data, dtype=np.float64 if is_float else np.int64).item()
    return {
        "rows": block.shape[0],
        "entries": data.size,
        "dtype": data.dtype.name,
        "least": least,
        "largest": largest,
        "fraction": _fraction_among(data) if is_float else None,
        "sum": _finite(total),
        "missing": missing,
    }


def joined(summaries):
    """Return the summary of all rows from summaries of some of them."""
    values = [one for one in summaries if one["least"] is not None]
    least = min((one["least"] for one in values), default=None)
    largest = max((one["largest"] for one in values), default=None)
    dtypes = [one["dtype"] for one in summaries if one["entries"]]
    dtypes = dtypes or [one["dtype"] for one in summaries]
    sums = [one["sum"] for one in summaries]
    totals = ("rows", "entries", "missing")
    return {
        **{name: sum(one[name] for one in summaries) for name in totals},
        "dtype": _joined_dtype(dtypes, least, largest).name,
        "least": least,
        "largest": largest,
        "fraction": next((s["fraction"] for s in summaries if s["fraction"]), None),
        "sum": None if None in sums else _finite(sum(sums)),
    }


def _joined_dtype(names, least, largest):
    """Return the smallest common type for values from ``least`` to ``largest``."""
    dtypes = [np.dtype(name) for name in names]
    if all(dtype.kind in "ui" for dtype in dtypes) and least is not None:
        return smallest(least, largest) or np.dtype(np.float64)
    return np.result_type(*dtypes)


def _finite(number):
    """Return a number, or None if it is infinite, which JSON cannot represent."""
    return number if math.isfinite(number) else None


def _fraction_among(values):
    """Return the first value that is not an integer, or None."""
    values = values.ravel()
    for part in slices(len(values), 1, VALUES_AT_ONCE):
        piece = values[part]
        found = piece[(np.rint(piece) != piece) & ~np.isnan(piece)]
        if len(found):
            return found[0].item()
    return None


def checksum(*arrays):
    """Return the CRC-32 checksum of arrays."""
    return zlib.crc32(b"".join(array.tobytes() for array in arrays))


# -- files and their writer ------------------------------------------------------------
#: If the number of rows of a shard is not given: approximate number of entries of a
#: shard, and bounds of its number of rows.  Batches of readers have at most MOST_ROWS.
ENTRIES_OF_SHARD, FEWEST_ROWS, MOST_ROWS = 2**25, 2**10, 2**20
#: Constraints of parameters that all writers have.
PARAMETERS = {"shard_rows": [WholeNumber(1), None], "overwrite": ["boolean"]}


class ShardFiles:
    """The files of a shard; ``shard`` has the summary of its values and checksums."""

    def __init__(self, folder, number, shard, kind, n_features):
        self.shard, self.n_features, self.is_dense = shard, n_features, kind == "dense"
        rows, entries = shard["rows"], shard["entries"]
        types = {
            "data": (shard["dtype"], (entries,)),
            "indices": (index_dtype(n_features), (entries,)),
            "indptr": (np.int64, (rows + 1,)),
        }
        if self.is_dense:
            types = {"data": (shard["dtype"], (rows, n_features))}
        start = f"shard-{number:05d}"
        self.paths = [Path(folder) / f"{start}.{name}.npy" for name in types]
        self.types = list(types.values())

    def mapped(self):
        """Return a `RowBlock`, after a check of the files' sizes, types and shapes."""
        files = zip(self.paths, self.types, strict=True)
        maps = (np.asarray(open_npy(path, *types)) for path, types in files)
        return RowBlock(self.n_features, *maps)

    def write(self, blocks):
        """Write blocks to the files, and return the files' checksums."""
        arrays = [[block.data for block in blocks]]
        if not self.is_dense:
            arrays.append([block.indices for block in blocks])
            counts = np.concatenate([[0], *(np.diff(b.indptr) for b in blocks)])
            arrays.append([np.cumsum(counts, dtype=np.int64)])
        return [
            write_npy(path, chunks, *types)
            for path, types, chunks in zip(self.paths, self.types, arrays, strict=True)
        ]

    def check(self, maps=None, values=True):
        """Raise a ValueError that names a file if it is damaged.

        Valid checksums exclude damage.  Valid indices also exclude that forged files
        make a kernel read outside of its arrays.  ``values=False`` skips the values.
        """
        for path, crc in zip(self.paths, self.shard["crc"], strict=True):
            if values or path != self.paths[0]:
                check_crc(path, crc)
        maps = maps or self.mapped()
        if self.is_dense:
            return
        indices, indptr = maps.indices, maps.indptr
        n_entries = len(indices)
        if n_entries and not 0 <= indices.min() <= indices.max() < self.n_features:
            raise ValueError(f"{self.paths[1]} has indices outside of the columns.")
        is_sorted = (indptr[:-1] <= indptr[1:]).all()
        if not (is_sorted and indptr[0] == 0 and indptr[-1] == n_entries):
            raise ValueError(f"{self.paths[2]} has invalid starts of rows.")


def check_batches(batches):
    """Raise if batches are a single matrix, or cannot be iterated over."""
    is_frame = hasattr(batches, "iloc") and np.ndim(batches) == 2
    if sparse.issparse(batches) or isinstance(batches, np.ndarray) or is_frame:
        raise ValueError(
            "batches must be batches of rows; make a list of a single matrix or table."
        )
    if not hasattr(batches, "__iter__") and not hasattr(batches, "__getitem__"):
        raise TypeError(
            f"batches must be an iterable of batches, got {type(batches).__name__}."
        )


class ShardWriter:
    """Writer of blocks as shards, which continues after the last complete shard.

    After each shard, the progress of the conversion is stored: descriptions of all
    shards; ``ends``, the batch and the row that follow each of them; ``stamps`` of the
    batches, which must be the same when the conversion continues; and the state of
    ``words``, a `HashedWords` or None.  The progress of ratings is not stored, because
    their order is known only after all batches.  ``names`` are those of the features,
    if they are known before the rows.
    """

    def __init__(self, target, kind, shard_rows=None, words=None, names=None):
        self.target, self.folder, self.kind = target, target.files, kind
        self.words, self.names = words, names
        self.shard_rows = None if shard_rows is None else int(shard_rows)
        self.shards, self.ends, self.stamps = [], [], []
        self.n_features, self.blocks, self.buffered = None, [], 0
        if target.progress:
            self._resume(**target.progress)

    def _resume(self, shards, ends, stamps, n_features, shard_rows, words):
        """Continue after the shards that are intact."""
        self.n_features, self.shard_rows = n_features, shard_rows
        self.stamps = list(map(tuple, stamps))
        n_intact = 0
        try:
            for number, shard in enumerate(shards):
                self._files(number, shard).check()
                n_intact += 1
        except ValueError as damage:
            # words are known after the last shard only
            n_intact = n_intact if self.words is None else 0
            warn(
                f"{damage} The conversion in {self.target.folder} goes on from shard "
                f"{n_intact}; this and all later shards are written again."
            )
        else:
            if self.words is not None:
                self.words.restore(words)
        self.shards, self.ends = shards[:n_intact], ends[:n_intact]

    def _files(self, number, shard):
        return ShardFiles(self.folder, number, shard, self.kind, self.n_features)

    def write(self, batches, stamp, convert, after=lambda batch: None):
        """Write the rows of batches, except rows that are already written.

        ``stamp(batch, number)`` returns the number of rows and a checksum of a batch,
        or raises an error.  ``convert(batch, number)`` returns its `RowBlock`.
        ``after(batch)`` is called for each new batch, after its rows were added.
        """
        start, start_row = self.ends[-1] if self.ends else (0, 0)
        n_batches = 0
        for number, batch in enumerate(batches):
            n_batches += 1
            n_rows, _ = found = stamp(batch, number)
            self._check_stamp(number, found)
            if number < start or n_rows == 0:
                continue
            block = convert(batch, number)
            self._check_width(block, number)
            self._add(number, block, start_row if number == start else 0)
            after(batch)
        if n_batches < len(self.stamps):
            n_known = len(self.stamps)
            self._refuse(f"There are {n_batches} batches, but at least {n_known}")
        if self.buffered:
            self._cut((n_batches, 0))
        if not self.shards:
            raise ValueError("The batches have no rows.")

    def _check_stamp(self, number, stamp):
        """Add the stamp of a new batch; raise if a known batch has another."""
        if number == len(self.stamps):
            self.stamps.append(stamp)
        elif self.stamps[number] != stamp:
            self._refuse(f"Batch {number} differs from the batch given")

    def _refuse(self, what):
        raise ValueError(
            f"{what} when the conversion in {self.target.folder} was interrupted. Give "
            "the same batches, or start over with overwrite=True."
        )

    def _check_width(self, block, number):
        known = self.n_features or block.n_features
        if block.n_features != known or not 1 <= known <= LARGEST_SIZE:
            expected = self.n_features or f"from 1 to {LARGEST_SIZE:,}"
            raise ValueError(
                f"Batch {number} has {block.n_features} columns, expected {expected}."
            )
        self.n_features = known
        if self.names is not None:
            self._check_names(self.names)
        if self.shard_rows is None:
            per_row = max(block.data.size / block.shape[0], 1)
            rows = 2 ** int(np.log2(ENTRIES_OF_SHARD / per_row + 1))
            self.shard_rows = int(np.clip(rows, FEWEST_ROWS, MOST_ROWS))

    def _add(self, number, block, first):
        """Add the rows of a block from row ``first`` on, and write full shards."""
        n_rows = block.shape[0]
        while first < n_rows:
            if self.buffered == self.shard_rows:
                self._cut((number, first))
            stop = min(first + self.shard_rows - self.buffered, n_rows)
            self.blocks.append(block.rows(slice(first, stop)))
            self.buffered += stop - first
            first = stop

    def _check_names(self, names):
        if len(names) != self.n_features:
            raise ValueError(
                f"There are {len(names)} feature names for {self.n_features} columns."
            )

    def _cut(self, end):
        """Write the collected rows as a shard; ``end`` is where to continue."""
        shard = joined([summary(block) for block in self.blocks])
        shard["crc"] = self._files(len(self.shards), shard).write(self.blocks)
        self.shards.append(shard)
        self.ends.append(end)
        self.blocks, self.buffered = [], 0
        if self.kind != "ratings":
            self.target.store(
                {
                    "shards": self.shards,
                    "ends": self.ends,
                    "stamps": self.stamps,
                    "n_features": self.n_features,
                    "shard_rows": self.shard_rows,
                    "words": None if self.words is None else self.words.state(),
                }
            )

    def finish(self, names=None, files=None):
        """Write the description, which makes the shards the current collection.

        ``files`` are the checksums of files beside the shards, by their names.
        """
        files = {} if files is None else files
        if names is not None:
            self._check_names(names)
            files[NAMES] = write_json(self.folder / NAMES, {"names": list(names)})
        kept = set(files)
        for number, shard in enumerate(self.shards):
            shard_files = self._files(number, shard)
            maps = shard_files.mapped()
            if self.target.replaces:
                shard_files.check(maps)
            kept.update(path.name for path in shard_files.paths)
        for name, crc in files.items():
            check_crc(self.folder / name, crc)
        meta = {
            "kind": self.kind,
            "n_features": self.n_features,
            "shard_rows": self.shard_rows,
            **joined(self.shards),
            "files": files,
            "shards": self.shards,
        }
        self.target.commit(meta, kept)

"""Writing shards: complete ones are kept, and a conversion goes on behind the last."""

import zlib
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ._files import (
    META,
    UNFINISHED,
    read_json,
    remove,
    shard_file,
    write_json,
    write_npy,
)
from ._meta import index_dtype, joined, joined_dtype

__all__ = ["Block", "ShardWriter", "checked_shard_rows", "checksum"]

#: Entries that a shard has about, if its number of rows is not given; and the numbers
#: of rows that this may lead to.
ENTRIES_OF_SHARD, FEWEST_ROWS, MOST_ROWS = 2**25, 2**10, 2**20
#: Values that are looked at in one go.
LOOKED_AT_ONCE = 2**16
#: What is kept of a shard in the description of the collection.
ABOUT = (
    "rows",
    "entries",
    "dtype",
    "least",
    "largest",
    "fraction",
    "sum",
    "missing",
    "crc",
)


class Block(NamedTuple):
    """Rows to be written.

    Attributes
    ----------
    data : ndarray
        The entries; of dense data all values, one row each.
    n_features : int
    indices : ndarray of shape (n_entries,), or None
        The columns of the entries; None if the data are dense.
    counts : ndarray of shape (n_rows,), or None
        How many entries each row has.
    """

    data: np.ndarray
    n_features: int
    indices: Any = None
    counts: Any = None

    @property
    def n_rows(self):
        """Number of rows."""
        return len(self.data if self.counts is None else self.counts)

    @classmethod
    def of(cls, X, data):
        """Return the entries of a CSR matrix with these values, stored small."""
        indices = X.indices.astype(index_dtype(X.shape[1]), copy=False)
        return cls(data, X.shape[1], indices, np.diff(X.indptr))

    def rows(self, start, stop):
        """Return some of the rows, as views."""
        if self.counts is None:
            return self._replace(data=self.data[start:stop])
        first = int(self.counts[:start].sum())
        entries = slice(first, first + int(self.counts[start:stop].sum()))
        return self._replace(
            data=self.data[entries],
            indices=self.indices[entries],
            counts=self.counts[start:stop],
        )


def checked_shard_rows(shard_rows):
    """Return a number of rows, or None; raise if it is neither."""
    if shard_rows is not None and (
        isinstance(shard_rows, bool)
        or not isinstance(shard_rows, Integral)
        or shard_rows < 1
    ):
        raise ValueError(
            f"shard_rows must be an int of at least 1 or None, got {shard_rows!r}."
        )
    return None if shard_rows is None else int(shard_rows)


class ShardWriter:
    """Writes blocks as shards, and notes behind each which batches it ends with.

    Parameters
    ----------
    folder : Path
        One that was claimed.
    kind : str
    shard_rows : int or None
        Rows of a shard; None chooses by the first block.
    companion : object or None
        What gathers something beside the rows: ``state()`` is written with each shard,
        and ``restore(state)`` called when a conversion goes on.
    """

    def __init__(self, folder, kind, shard_rows=None, companion=None):
        self.folder, self.kind, self.companion = Path(folder), kind, companion
        self.shard_rows = shard_rows
        self.n_features, self.position = None, (0, 0)
        self.shards, self.stamps, self.blocks, self.buffered = [], [], [], 0
        self._go_on()
        self.n_noted = self.n_known = len(self.stamps)

    def _go_on(self):
        """Read what an interrupted conversion noted of its complete shards."""
        while (path := self._file("json")).exists():
            shard = read_json(path)
            self.shard_rows, self.n_features = shard["shard_rows"], shard["n_features"]
            self.position = tuple(shard["position"])
            self.stamps += [tuple(stamp) for stamp in shard["stamps"]]
            self.shards.append(shard)
        if self.shards and self.companion is not None:
            path = self.folder / f"words-{len(self.shards) - 1}.json"
            self.companion.restore(read_json(path))

    def _file(self, what):
        return shard_file(self.folder, len(self.shards), what)

    def write(self, batches, stamp, convert, after=lambda batch: None):
        """Write the rows of batches; those that were written already are passed over.

        Parameters
        ----------
        batches : iterable
        stamp : callable
            ``stamp(batch, number)`` returns two numbers by which a batch is known
            again; it may refuse a batch.
        convert : callable
            ``convert(batch, number)`` returns its `Block`.
        after : callable
            Called with each batch that was not passed over, once its rows are taken.
        """
        if sparse.issparse(batches) or isinstance(batches, np.ndarray):
            raise ValueError(
                "batches must be batches of rows; of a single matrix make a list."
            )
        number = -1
        for number, batch in enumerate(batches):
            self._recognise(number, stamp(batch, number))
            if number < self.position[0]:
                continue
            block = convert(batch, number)
            self._check_width(block, number)
            first = self.position[1] if number == self.position[0] else 0
            self._add(number, block, first)
            after(batch)
        if number + 1 < self.n_known:
            raise ValueError(
                f"There are {number + 1} batches, but at least {self.n_known} when the "
                f"conversion in {self.folder} was interrupted: give the same again, or "
                "begin anew with overwrite=True."
            )
        if self.buffered:
            self._cut((number + 1, 0))
        if not self.shards:
            raise ValueError("The batches have no rows.")

    def _recognise(self, number, stamp):
        if number == len(self.stamps):
            self.stamps.append(stamp)
        elif self.stamps[number] != stamp:
            raise ValueError(
                f"Batch {number} is not the one it was when the conversion in "
                f"{self.folder} was interrupted: give the same batches, or begin anew "
                "with overwrite=True."
            )

    def _check_width(self, block, number):
        if self.n_features is None:
            self.n_features = block.n_features
        if block.n_features != self.n_features or block.n_features == 0:
            raise ValueError(
                f"Batch {number} has {block.n_features} columns, expected "
                f"{self.n_features or 'at least 1'}."
            )
        if self.shard_rows is None and block.n_rows:
            per_row = max(block.data.size / block.n_rows, 1)
            rows = 2 ** int(np.log2(ENTRIES_OF_SHARD / per_row + 1))
            self.shard_rows = int(np.clip(rows, FEWEST_ROWS, MOST_ROWS))

    def _add(self, number, block, first):
        """Take the rows from ``first`` on; a shard that is full is written before."""
        while first < block.n_rows:
            if self.buffered == self.shard_rows:
                self._cut((number, first))
            stop = min(first + self.shard_rows - self.buffered, block.n_rows)
            self.blocks.append(block.rows(first, stop))
            self.buffered += stop - first
            first = stop

    def _cut(self, position):
        """Write the rows gathered as a shard; ``position`` says where to go on."""
        shard = self._about()
        shard["crc"] = self._write_arrays(shard)
        if self.companion is not None:
            number = len(self.shards)
            write_json(self.folder / f"words-{number}.json", self.companion.state())
        shard |= {
            "shard_rows": self.shard_rows,
            "n_features": self.n_features,
            "position": position,
            "stamps": self.stamps[self.n_noted :],
        }
        write_json(self._file("json"), shard)
        self.n_noted = len(self.stamps)
        self.shards.append(shard)
        if self.companion is not None and len(self.shards) > 1:
            remove(self.folder, f"words-{len(self.shards) - 2}.json")
        self.blocks, self.buffered = [], 0

    def _about(self):
        """Return what is noted of the rows gathered."""
        values = [block.data for block in self.blocks]
        filled = [data for data in values if data.size]
        lows = [float_or_int(np.fmin.reduce(data, axis=None)) for data in filled]
        highs = [float_or_int(np.fmax.reduce(data, axis=None)) for data in filled]
        least = min((low for low in lows if low == low), default=None)
        largest = max((high for high in highs if high == high), default=None)
        dtypes = [data.dtype for data in filled or values]
        dtype = joined_dtype(dtypes, least, largest)
        missing = sum(
            int(np.isnan(data).sum()) for data in filled if data.dtype.kind == "f"
        )
        exact = dtype.kind in "ui"
        sums = [np.nansum(data, dtype=np.int64 if exact else float) for data in filled]
        return {
            "rows": self.buffered,
            "entries": sum(data.size for data in values),
            "dtype": dtype.name,
            "least": least,
            "largest": largest,
            "fraction": next(filter(None, map(fraction_among, filled)), None),
            "sum": float_or_int(sum(sums)) if exact else float(sum(sums)),
            "missing": missing,
        }

    def _write_arrays(self, shard):
        """Write the files of a shard, and return their checksums."""
        rows, entries, dtype = shard["rows"], shard["entries"], shard["dtype"]
        values = [block.data for block in self.blocks]
        if self.kind == "dense":
            shape = rows, self.n_features
            return [write_npy(self._file("data.npy"), values, dtype, shape)]
        counts = np.concatenate([[0], *(block.counts for block in self.blocks)])
        indptr = np.cumsum(counts, dtype=np.int64)
        indices = [block.indices for block in self.blocks]
        of_index = index_dtype(self.n_features)
        return [
            write_npy(self._file("indptr.npy"), [indptr], np.int64, (rows + 1,)),
            write_npy(self._file("indices.npy"), indices, of_index, (entries,)),
            write_npy(self._file("data.npy"), values, dtype, (entries,)),
        ]

    def finish(self, names=None):
        """Describe the collection, which makes it one, and tidy up.

        Parameters
        ----------
        names : list of str or None
            Those of the features.
        """
        if names is not None:
            if len(names) != self.n_features:
                raise ValueError(
                    f"There are {len(names)} feature names for {self.n_features} "
                    "columns."
                )
            write_json(self.folder / "feature_names.json", list(names))
        shards = [{name: shard[name] for name in ABOUT} for shard in self.shards]
        meta = joined(
            self.kind, self.n_features, shards, self.shard_rows, names is not None
        )
        write_json(self.folder / META, meta)
        (self.folder / UNFINISHED).unlink(missing_ok=True)
        for pattern in ("shard-*.json", "words-*", "run-*", "users-*", "*.part"):
            remove(self.folder, pattern)


def float_or_int(number):
    """Return a number of numpy's as one of Python's."""
    return number.item() if isinstance(number, np.generic) else number


def fraction_among(values):
    """Return the first value that is no whole number, or None."""
    if values.dtype.kind != "f":
        return None
    values = values.ravel()
    for start in range(0, len(values), LOOKED_AT_ONCE):
        piece = values[start : start + LOOKED_AT_ONCE]
        found = piece[(np.rint(piece) != piece) & ~np.isnan(piece)]
        if len(found):
            return found[0].item()
    return None


def checksum(*arrays):
    """Return a number by which arrays are known again."""
    crc = 0
    for array in arrays:
        crc = zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8), crc)
    return crc

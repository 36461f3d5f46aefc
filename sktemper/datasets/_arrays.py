"""Files of one shard: memory maps, and checks against the shard's description."""

from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ._files import crc_of, opened_npy, read_json, shard_file
from ._meta import index_dtype


class Maps(NamedTuple):
    """The arrays of a shard, mapped from disk; dense data have only ``data``."""

    data: np.ndarray
    indices: np.ndarray | None = None
    indptr: np.ndarray | None = None


class ShardFiles:
    """The files of one shard.

    Parameters
    ----------
    folder : str or Path
        Folder of these files.
    number : int
        Index of the shard in the collection.
    about : dict
        Description of the shard in the collection, see `joined`.
    kind : str
    n_features : int
    """

    def __init__(self, folder, number, about, kind, n_features):
        self.folder, self.number, self.about = Path(folder), number, about
        self.kind, self.n_features = kind, n_features

    @cached_property
    def paths(self):
        """Paths of the files, str, in the order of their checksums."""
        names = ["indptr.npy", "indices.npy", "data.npy"]
        names = names[2:] if self.kind == "dense" else names
        return [str(shard_file(self.folder, self.number, name)) for name in names]

    def mapped(self):
        """Return `Maps`, after a check of the sizes, types and shapes of the files.

        Raises
        ------
        ValueError
            If a file is missing, or has an unexpected size, type or shape.
        """
        about = self.about
        rows, entries, dtype = about["rows"], about["entries"], about["dtype"]
        if self.kind == "dense":
            (path,) = self.paths
            return Maps(opened_npy(path, dtype, (rows, self.n_features)))
        indptr, indices, data = self.paths
        return Maps(
            opened_npy(data, dtype, (entries,)),
            opened_npy(indices, index_dtype(self.n_features), (entries,)),
            opened_npy(indptr, np.int64, (rows + 1,)),
        )

    def check(self, maps, values=True):
        """Read the files and compare them with their checksums.

        The files are read piece by piece, so that this needs little memory.

        Parameters
        ----------
        maps : Maps
        values : bool, default=True
            Whether to read and check the values too.  If False, only the indices and
            the row starts are read and checked.

        Raises
        ------
        ValueError
            If a file is damaged; the message names the file.
        """
        *of_sparse, data = zip(self.paths, self.about["crc"], strict=True)
        if of_sparse:
            (path, crc), (path_of_indices, crc_of_indices) = of_sparse
            rows = _Rows(path, len(maps.indices))
            check_crc(path, maps.indptr, crc, rows.inspect)
            rows.check_end()
            columns = _Columns(path_of_indices, self.n_features)
            check_crc(path_of_indices, maps.indices, crc_of_indices, columns.inspect)
        if values:
            check_crc(data[0], maps.data, data[1])


def check_crc(path, array, expected, inspect=lambda piece: None):
    """Raise unless a mapped file has the checksum that was stored by its writer.

    Parameters
    ----------
    path : str or path
    array : ndarray
        Memory map of the file.
    expected : int
    inspect : callable
        Called with each piece of the entries.

    Raises
    ------
    ValueError
    """
    crc = crc_of(path, array, inspect)
    if crc != expected:
        raise ValueError(
            f"{path} is damaged: its checksum is {crc:08x}, expected {expected:08x}. "
            "Restore the file from a copy, or write the collection again."
        )


def check_file(path, crc):
    """Raise a ValueError if a file beside the shards is damaged.

    Parameters
    ----------
    path : str
        Path of a JSON file or a ``.npy`` file.
    crc : int or None
        Checksum of the file; None if the collection has stored none.
    """
    if path.endswith(".json"):
        read_json(path, crc)
        return
    array = opened_npy(path)
    if crc is not None:
        check_crc(path, array, crc)


class _Rows:
    """Check that row starts increase from 0 to the number of entries."""

    def __init__(self, path, n_entries):
        self.path, self.n_entries, self.last = path, n_entries, None

    def inspect(self, piece):
        first = piece[0] if self.last is None else self.last
        if self.last is None and first != 0:
            raise ValueError(f"{self.path} is damaged: it begins with {first}, not 0.")
        if piece[0] < first or (piece[1:] < piece[:-1]).any():
            raise ValueError(f"{self.path} is damaged: a row start decreases.")
        self.last = piece[-1]

    def check_end(self):
        if self.last != self.n_entries:
            raise ValueError(
                f"{self.path} is damaged: it ends with {self.last}, but the shard has "
                f"{self.n_entries} entries."
            )


class _Columns:
    """Check that column indices are at least 0 and below the number of columns."""

    def __init__(self, path, n_features):
        self.path, self.n_features = path, n_features

    def inspect(self, piece):
        if piece.max() >= self.n_features or piece.min() < 0:
            raise ValueError(
                f"{self.path} is damaged: it has column indices outside of the "
                f"{self.n_features} columns."
            )

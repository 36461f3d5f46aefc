"""Handles of the shards of a collection, which contain no data."""

import numpy as np

from .._engine import ByRows
from .._utils._linalg import sparse_rows
from ._open_shards import files_of, meta_of, opened, unless_replaced
from ._sparse import csr_container


class Part(ByRows):
    """Handle of a shard: its path, without its data.

    Parameters
    ----------
    folder : str
        Absolute path of the collection.
    number : int
        Index of the shard in the collection.
    stamp : str
        Stamp of the collection that the shard belongs to, see `stamp_of`.
    verify : bool, default=True
        Whether the values of the shard are compared with their checksum when a process
        first uses it.
    """

    __slots__ = ("folder", "number", "stamp", "verify")

    def __init__(self, folder, number, stamp, verify=True):
        self.folder, self.number, self.stamp = folder, number, stamp
        self.verify = verify

    def __reduce__(self):
        return Part, (self.folder, self.number, self.stamp, self.verify)

    def __eq__(self, other):
        return isinstance(other, Part) and self.__reduce__() == other.__reduce__()

    def __hash__(self):
        return hash((self.folder, self.number, self.stamp, self.verify))

    def __repr__(self):
        return f"<shard {self.number} of {self.folder!r}, {self.n_rows:,} rows>"

    @property
    def n_rows(self):
        """Number of rows."""
        return meta_of(self.folder, self.stamp)["shards"][self.number]["rows"]

    def rows(self, rows, visit=None):
        """Return rows of the shard, in memory.

        Parameters
        ----------
        rows : slice or ndarray of int
            Nonnegative row indices.
        visit : str, default=None
            Name of the fit, or of another call, that reads the rows.  If the same call
            has just checked the sizes and times of the files, they are not checked
            again.

        Returns
        -------
        block : CSR array or ndarray
            A CSR array has indices of int32, and is in canonical format.

        Raises
        ------
        ValueError
            If a file of the shard is damaged, or the collection was replaced.
        """
        shard = opened(self, visit)
        if shard.matrix is None:
            return np.array(shard.maps.data[rows])
        block = sparse_rows(shard.matrix, rows)
        block.data = np.array(block.data)
        # scipy gives both index arrays the type of indptr
        block.indices = np.array(block.indices, dtype=np.int32)
        block.indptr = _short(block.indptr)
        block.has_canonical_format = True
        return block

    def check(self):
        """Read the files of the shard; raise a ValueError if one is damaged."""
        with unless_replaced(self.folder, self.stamp):
            files = files_of(self)
            files.check(files.mapped())

    def whole(self):
        """Return the whole shard, in mapped memory if scipy supports the types."""
        shard = opened(self)
        data, indices, indptr = shard.maps
        if shard.matrix is None:
            return data
        # scipy supports no indices shorter than 32 bits
        arrays = data, indices.astype(np.int32, copy=False), _short(indptr)
        X = csr_container()(arrays, shape=shard.matrix.shape)
        X.has_canonical_format = True
        return X


def _short(indptr):
    """Return row starts as int32 if int32 can represent all of them."""
    return indptr if indptr[-1] >= 2**31 else indptr.astype(np.int32, copy=False)

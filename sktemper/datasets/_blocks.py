"""Blocks of rows that are written to disk, and summaries of their values."""

import zlib
from typing import Any, NamedTuple

import numpy as np

from ._meta import finite, index_dtype, joined_dtype

#: Number of values that are checked at a time.
LOOKED_AT_ONCE = 2**16


class Block(NamedTuple):
    """Rows to be written.

    Attributes
    ----------
    data : ndarray
        Stored entries of sparse data, or the matrix of dense data.
    n_features : int
    indices : ndarray of shape (n_entries,), or None
        Column indices of the entries; None for dense data.
    counts : ndarray of shape (n_rows,), or None
        Number of entries of each row; None for dense data.
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
        """Return a block with the indices of a CSR matrix and the values ``data``."""
        indices = X.indices.astype(index_dtype(X.shape[1]), copy=False)
        return cls(data, X.shape[1], indices, np.diff(X.indptr))

    def rows(self, start, stop):
        """Return a block of the rows from ``start`` to ``stop``, as views."""
        if self.counts is None:
            return self._replace(data=self.data[start:stop])
        first = int(self.counts[:start].sum())
        entries = slice(first, first + int(self.counts[start:stop].sum()))
        return self._replace(
            data=self.data[entries],
            indices=self.indices[entries],
            counts=self.counts[start:stop],
        )


def about(blocks):
    """Return a summary of the values of blocks; `joined` documents its entries.

    Parameters
    ----------
    blocks : list of Block

    Returns
    -------
    about : dict
        Entry of a shard in ``meta.json``, without ``crc``.
    """
    values = [block.data for block in blocks]
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
    return {
        "rows": sum(block.n_rows for block in blocks),
        "entries": sum(data.size for data in values),
        "dtype": dtype.name,
        "least": least,
        "largest": largest,
        "fraction": next(filter(None, map(fraction_among, filled)), None),
        "sum": _sum_of(filled, dtype.kind in "ui"),
        "missing": missing,
    }


def _sum_of(values, is_exact):
    """Return the sum of arrays; None if it is too large for a float."""
    if is_exact:
        return sum(int(data.sum(dtype=np.int64)) for data in values)
    with np.errstate(over="ignore", invalid="ignore"):
        return finite(float(sum(np.nansum(data, dtype=float) for data in values)))


def float_or_int(number):
    """Return a Python number for a NumPy scalar."""
    return number.item() if isinstance(number, np.generic) else number


def fraction_among(values):
    """Return the first value that is not an integer, or None."""
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
    """Return the CRC-32 checksum of arrays."""
    crc = 0
    for array in arrays:
        crc = zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8), crc)
    return crc

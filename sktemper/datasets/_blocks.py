"""Blocks of rows that are written to disk, their types and their summaries."""

import math
import zlib
from typing import NamedTuple

import numpy as np

from .._utils._linalg import entries_of_rows

#: Number of values that are checked at a time.
LOOKED_AT_ONCE = 2**16


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

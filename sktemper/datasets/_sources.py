"""Conversion of texts, sparse matrices and arrays to blocks that can be written."""

import zlib
from numbers import Number

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array

from .._utils._validation import check_sparse, check_unmasked
from ._blocks import Block, checksum, smallest

#: Largest integer up to which float64 represents all integers.
MOST_EXACT = 2**53


class Texts:
    """Batches of texts, whose words a vectorizer counts."""

    def __init__(self, vectorizer, hashed):
        self.vectorizer, self.hashed, self.counts = vectorizer, hashed, None

    @property
    def names(self):
        return None if self.hashed is None else self.hashed.names()

    def stamp(self, texts, number):
        if isinstance(texts, (str, bytes)) or not hasattr(texts, "__len__"):
            raise ValueError(
                f"Batch {number} is no list of texts but {type(texts).__name__}: "
                "each batch must be a list of texts."
            )
        first = next(iter(texts), None)
        first = first.encode() if isinstance(first, str) else first
        return len(texts), zlib.crc32(first) if isinstance(first, bytes) else 0

    def block(self, texts, number):
        self.counts = canonical(self._transformed(texts, number), number)
        return Block.from_csr(self.counts, stored_counts(self.counts.data, number))

    def _transformed(self, texts, number):
        try:
            return self.vectorizer.transform(texts)
        except NotFittedError:  # which is an AttributeError, too
            raise
        except AttributeError as error:  # vectorizers call methods of str
            raise TypeError(
                f"Batch {number} has a text that the vectorizer cannot read: {error}."
            ) from error

    def after(self, texts):
        if self.hashed is not None:
            self.hashed.look_at(texts, self.counts)


class Arrays:
    names = hashed = None

    def stamp(self, X, number):
        if sparse.issparse(X):
            raise ValueError(
                f"Batch {number} is a sparse matrix; write it with write_counts."
            )
        self.names = same_names(self.names, X, number)
        first = _two_dimensional(X, number)[:1]
        return len(X), checksum(first.astype(np.float64))

    def block(self, X, number):
        X = check_array(
            X,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
            input_name=f"batch {number}",
        )
        return Block(X, X.shape[1])

    def after(self, X):
        pass


class Matrices(Arrays):
    def stamp(self, X, number):
        if not sparse.issparse(X):
            return super().stamp(X, number)
        X = _two_dimensional(X, number)
        end = X.indptr[1] if X.format == "csr" and X.shape[0] else 0
        return X.shape[0], checksum(X.indices[:end], X.data[:end]) if end else 0

    def block(self, X, number):
        X = canonical(_two_dimensional(X, number), number)
        return Block.from_csr(X, stored_counts(X.data, number))


def checked_names(names):
    """Return names of features as a list of strings that UTF-8 can encode."""
    if np.ndim(names) != 1:
        raise ValueError("feature_names must be of one dimension.")
    names = list(names)
    for name in names:
        if not isinstance(name, str | Number) or name != name:
            raise TypeError(f"feature_names must be strings, got {name!r}.")
    if len({isinstance(name, str) for name in names}) > 1:
        raise TypeError("feature_names must be all strings or all numbers.")
    names = list(map(str, names))
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"feature_names has {name!r}, which UTF-8 cannot encode."
            ) from error
    return names


def same_names(names, X, number):
    """Return the names of the columns of all batches up to this one, or None.

    The columns of data frames have names, which must be the same in all batches.
    """
    found = list(getattr(X, "columns", ()))
    if not found or not all(isinstance(name, str) for name in found):
        return names
    if names is None:
        return checked_names(found)
    if found != names:
        raise ValueError(
            f"Batch {number} has other columns than the batches before, or another "
            f"order of columns: {found[:5]}, expected {names[:5]}."
        )
    return names


def _two_dimensional(X, number):
    """Return a two-dimensional batch, as an array if it is not sparse."""
    if not sparse.issparse(X):
        check_unmasked(X, f"Batch {number}", may_be_nan=False)
        X = np.asarray(X)
        check_numbers(X, number)
    if X.ndim != 2:
        raise ValueError(
            f"Batch {number} has {X.ndim} dimensions, expected rows and columns."
        )
    return X


def check_numbers(values, number, what="entries"):
    """Raise a ValueError if an array of a batch does not have a numeric dtype."""
    if values.dtype.kind not in "buif":
        raise ValueError(f"Batch {number} has {what} that are no numbers.")


def canonical(X, number):
    """Return a CSR matrix in canonical format, without stored zeros.

    The input is not changed.
    """
    try:
        Y = sparse.csr_array(check_sparse(X))
    except ValueError as error:
        raise ValueError(f"Batch {number}: {error}") from error
    if not Y.has_canonical_format:
        if Y.dtype.kind in "iu" and Y.nnz and Y.data.max() > MOST_EXACT:
            raise ValueError(f"Batch {number} has integers that no float can hold.")
        # a sum of duplicates may be too large for the dtype
        Y = Y.astype(np.int64 if Y.dtype.kind in "iub" else np.float64)
        Y.sum_duplicates()
    if not Y.data.all():
        Y = Y.copy()
        Y.eliminate_zeros()
    return Y


def stored_counts(values, number):
    """Return counts in the type in which they are stored; raise if one is negative."""
    if values.size == 0:
        return values.astype(np.uint8)
    check_numbers(values, number)
    if values.dtype.kind == "f" and values.itemsize > 8:  # may overflow as float64
        with np.errstate(over="ignore"):
            values = values.astype(np.float64)
    low, high = values.min(), values.max()
    if not (low >= 0 and high < np.inf):
        what = "are not finite."
        if low < 0:
            what = "are negative; a HashingVectorizer needs alternate_sign=False."
        raise ValueError(f"Batch {number} has counts that {what}")
    return stored(values, low, high, number)


def stored(values, low, high, number):
    """Return integers in the smallest type, other numbers in float32 or float64."""
    dtype = smallest(low, high)
    if dtype is not None:
        small = values.astype(dtype)
        if values.dtype.kind != "f" or (small == values).all():
            return small
    if values.dtype.kind == "f":
        return values.astype(np.float32 if values.itemsize <= 4 else np.float64)
    if max(abs(int(low)), int(high)) > MOST_EXACT:
        raise ValueError(f"Batch {number} has integers that no float can hold.")
    return values.astype(np.float64)

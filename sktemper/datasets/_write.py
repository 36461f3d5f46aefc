"""Writers of counts and dense data, batch by batch."""

import zlib
from collections.abc import Iterable
from numbers import Number
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.utils import check_array

from .._utils._arguments import check_arguments
from .._utils._docstrings import completed_by
from .._utils._typing import ArrayLike, Int, StrPath
from .._utils._validation import check_sparse, check_unmasked
from .._utils._values import INEXACT
from ._blocks import RowBlock, checksum, smallest
from ._collection import Collection
from ._folder import writing
from ._shards import PARAMETERS, ShardWriter, check_batches
from ._words import HashedWords


@check_arguments(**PARAMETERS)
def write_counts(
    folder: StrPath,
    batches: Iterable,
    vectorizer: Any = None,
    *,
    shard_rows: Int | None = None,
    feature_names: ArrayLike | None = None,
    overwrite: bool = False,
) -> Collection:
    """Write counts to disk, for fits that do not hold them in memory.

    Counts are stored in the smallest integer type that holds them, so that an entry
    usually takes 3 to 5 bytes.  Fractions, such as tf-idf weights, keep their type.

    Parameters
    ----------
    folder : str or path
        A new or empty folder; or a folder with an interrupted conversion of the same
        batches, which continues after its last complete shard.
    batches : iterable
        With a vectorizer, lists, arrays or Series of texts; without one, sparse
        matrices or arrays of shape (n_rows, n_features).  The readers of this module
        return such iterables.
    vectorizer : object, default=None
        A fitted vectorizer of scikit-learn, or an object with its method ``transform``.
        A `HashingVectorizer` needs ``alternate_sign=False``, and ``norm=None`` for
        counts.
    shard_rows : int, default=None
        Number of rows of each shard but the last.  A shard is held in memory while it
        is written.  None takes a power of two with which a shard has about 33 million
        entries, estimated from the first batch.
    feature_names : array-like of str of shape (n_features,), default=None
        Words of the columns.  None takes those of the vectorizer, the reader or a data
        frame; for a `HashingVectorizer`, the most frequent words of a column in some
        texts, separated by bars, or ``#`` and its index.
    overwrite : bool, default=False
        Whether to replace a collection in the folder, finished or not.  A finished
        collection stays until the new one is complete, and batches may be read from it.

    Returns
    -------
    collection : Collection
        The open collection.

    Raises
    ------
    FileExistsError
        If the folder already has a collection.
    BlockingIOError
        If another process or thread writes to the folder; the message names it.
    ValueError
        If the folder holds something else, or an interrupted conversion of other
        batches or with other settings; if values are negative or not finite; if
        batches differ in their columns, or have no rows; if names of features cannot
        be encoded, or their number is not that of the columns.
    TypeError
        If names of features are neither strings nor numbers, or values are masked.

    Warns
    -----
    UserWarning
        If shards of an interrupted conversion are damaged, and are written again.

    Notes
    -----
    Rows are stored with sorted columns, duplicates summed and zeros left out.  An
    incomplete collection cannot be opened.  A call that continues a conversion reads
    only the length and the first row of batches that are completely written.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.feature_extraction.text import HashingVectorizer
    >>> from sktemper.datasets import open_counts, write_counts
    >>> vectorizer = HashingVectorizer(
    ...     n_features=64, alternate_sign=False, norm=None
    ... )
    >>> batches = [["tea and rum", "tea"], ["rum rum rum"]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     X = write_counts(folder, batches, vectorizer)
    ...     X.shape, X.dtype.name, sorted(set(X.feature_names))[-3:]
    ((3, 64), 'uint8', ['and', 'rum', 'tea'])
    """
    check_batches(batches)
    _check_vectorizer(vectorizer)
    names = _given_names(feature_names, batches, vectorizer)
    if vectorizer is None:
        source = MatrixBatches()
    else:
        is_hashing = isinstance(vectorizer, HashingVectorizer)
        has_words = names is None and is_hashing and vectorizer.input != "file"
        source = TextBatches(vectorizer, HashedWords(vectorizer) if has_words else None)
    settings = {"kind": "counts", "vectorizer": _described(vectorizer)}
    return _written(folder, batches, source, names, shard_rows, overwrite, settings)


@completed_by(write_counts, "Returns")
@check_arguments(**PARAMETERS)
def write_dense(
    folder: StrPath,
    batches: Iterable,
    *,
    shard_rows: Int | None = None,
    feature_names: ArrayLike | None = None,
    overwrite: bool = False,
) -> Collection:
    """Write dense data to disk, for fits that do not hold them in memory.

    Parameters
    ----------
    batches : iterable of array-likes of shape (n_rows, n_features)
        Values.  The types float32 and float64 are kept; other types become float64.
        NaN is a missing value.
    feature_names : array-like of str of shape (n_features,), default=None
        Names of the columns.  None takes the column names of data frames.

    Raises
    ------
    FileExistsError, BlockingIOError, ValueError, TypeError
        As in `write_counts`, except that values may be negative.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from sktemper.datasets import write_dense
    >>> batches = (np.full((10, 3), i, dtype=np.float32) for i in range(5))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     X = write_dense(folder, batches, shard_rows=20)
    ...     len(X), X.shape, X.dtype.name
    (3, (50, 3), 'float32')
    """
    check_batches(batches)
    names = _given_names(feature_names, batches)
    source, settings = ArrayBatches(), {"kind": "dense"}
    return _written(folder, batches, source, names, shard_rows, overwrite, settings)


def _written(folder, batches, source, names, shard_rows, overwrite, settings):
    """Write the batches of a source, and return the collection."""
    settings |= {
        "shard_rows": str(shard_rows),
        "feature_names": None if names is None else zlib.crc32(repr(names).encode()),
    }
    with writing(folder, settings, overwrite) as target:
        writer = ShardWriter(target, settings["kind"], shard_rows, source.hashed, names)
        writer.write(batches, source.stamp, source.block, source.after)
        writer.finish(source.names if names is None else names)
    return Collection(target.folder)


def _given_names(feature_names, batches, vectorizer=None):
    """Return the names of features as a list of strings, None if none are known."""
    if feature_names is None:
        feature_names = getattr(batches, "feature_names", None)
    if feature_names is None and hasattr(vectorizer, "get_feature_names_out"):
        try:
            feature_names = vectorizer.get_feature_names_out()
        except NotFittedError:  # which is an AttributeError, too
            raise
        except AttributeError:  # such as a pipeline with a step that has no names
            return None
    return None if feature_names is None else checked_names(feature_names)


def _check_vectorizer(vectorizer):
    """Raise if the object is not a vectorizer, or its values are not counts."""
    if vectorizer is not None and not hasattr(vectorizer, "transform"):
        raise TypeError(
            f"vectorizer has no method transform: {type(vectorizer).__name__}."
        )
    if isinstance(vectorizer, HashingVectorizer) and vectorizer.alternate_sign:
        raise ValueError(
            "A HashingVectorizer with alternate_sign=True gives words negative counts; "
            "set alternate_sign=False."
        )


def _described(vectorizer):
    if vectorizer is None:
        return None
    parameters = getattr(vectorizer, "get_params", dict)()
    simple = {
        name: repr(value)
        for name, value in sorted(parameters.items())
        if isinstance(value, (str, int, float, tuple, type(None)))
    }
    return {"name": type(vectorizer).__name__, **simple}


# -- conversion of batches to blocks ---------------------------------------------------


class TextBatches:
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
        return RowBlock.from_csr(self.counts, stored_counts(self.counts.data, number))

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


class ArrayBatches:
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
        return RowBlock(X.shape[1], X)

    def after(self, X):
        pass


class MatrixBatches(ArrayBatches):
    def stamp(self, X, number):
        if not sparse.issparse(X):
            return super().stamp(X, number)
        X = _two_dimensional(X, number)
        end = X.indptr[1] if X.format == "csr" and X.shape[0] else 0
        return X.shape[0], checksum(X.indices[:end], X.data[:end]) if end else 0

    def block(self, X, number):
        X = canonical(_two_dimensional(X, number), number)
        return RowBlock.from_csr(X, stored_counts(X.data, number))


def checked_names(names):
    """Return names of features as a list of strings that UTF-8 can encode."""
    if np.ndim(names) != 1:
        raise ValueError("feature_names must be of one dimension.")
    names = list(names)
    for name in names:
        is_like_first = isinstance(name, str) == isinstance(names[0], str)
        if not (isinstance(name, str | Number) and name == name and is_like_first):
            raise TypeError(
                f"feature_names must be all strings or all numbers, got {name!r}."
            )
    names = list(map(str, names))
    try:
        "".join(names).encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"feature_names has {error.object[error.start]!r}, which UTF-8 cannot "
            "encode."
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


def check_numbers(values, number):
    """Raise a ValueError if an array of a batch does not have a numeric dtype."""
    if values.dtype.kind not in "buif":
        raise ValueError(f"Batch {number} has entries that are no numbers.")


def canonical(X, number):
    """Return a CSR matrix in canonical format, without stored zeros.

    The input is not changed.
    """
    try:
        Y = sparse.csr_array(check_sparse(X))
    except ValueError as error:
        raise ValueError(f"Batch {number}: {error}") from error
    if not Y.has_canonical_format:
        if Y.dtype.kind in "iu" and Y.nnz and Y.data.max() > INEXACT:
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
    if max(abs(int(low)), int(high)) > INEXACT:
        raise ValueError(f"Batch {number} has integers that no float can hold.")
    return values.astype(np.float64)

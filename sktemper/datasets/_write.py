"""Writing counts and dense data to disk, batch after batch."""

import zlib
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.utils import check_array

from .._validation import check_sparse
from ._collection import open_counts, open_dense
from ._files import claim
from ._meta import smallest
from ._shards import Block, ShardWriter, checked_shard_rows, checksum
from ._words import HashedWords

__all__ = ["write_counts", "write_dense"]


def write_counts(
    folder,
    batches,
    vectorizer=None,
    *,
    shard_rows=None,
    feature_names=None,
    overwrite=False,
):
    """Write counts to disk, to be fitted to without being held in memory.

    Counts are stored in the smallest type of integers that holds them, so that an
    entry takes 3 to 5 bytes as a rule; fractions, such as tf-idf weights, as they are.

    Parameters
    ----------
    folder : str or path
        A new or an empty one; or one with an interrupted conversion of the same
        batches, which then goes on behind its last complete shard.
    batches : iterable
        With a vectorizer: of lists, arrays or Series of texts.  Without: of sparse
        matrices or arrays of shape (n_rows, n_features).  The readers of this module
        are such.
    vectorizer : object, default=None
        One of scikit-learn's, or what has such a ``transform``; fitted if it has to
        be.  A `HashingVectorizer` should have ``alternate_sign=False``, and
        ``norm=None`` for counts.
    shard_rows : int, default=None
        Rows of a shard, the last one excepted.  A shard is held in memory while it is
        written.  None takes a power of two, from 1,024 to 1,048,576, with which a
        shard has about 33 million entries, judged by the first batch.
    feature_names : array-like of str of shape (n_features,), default=None
        The words.  None takes those of the vectorizer, of the reader or of a data
        frame.  A `HashingVectorizer` has none: of some of the texts the words are
        counted, and each column gets the most frequent of its words, or several with
        bars between them if they are about as frequent; ``#`` and its number if no
        word of it was met.
    overwrite : bool, default=False
        Whether to replace a collection that is in the folder, finished or not.

    Returns
    -------
    collection : Collection
        What was written, open.

    Raises
    ------
    FileExistsError
        If the folder holds a collection already.
    ValueError
        If the folder holds something else, or an interrupted conversion of other
        batches or with other settings; if values are negative or not finite; if
        batches differ in their columns, or have no rows at all.  Until all is written
        the folder does not open, so nothing incomplete is ever fitted to.

    Notes
    -----
    Rows are stored with sorted columns, duplicates summed and zeros left out.  Every
    file is written under another name, brought to disk, and then renamed; the
    description ``meta.json`` comes last.  Behind each shard it is noted which batches
    are done: of these, the next call needs their length and their first row only.

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
    shard_rows = checked_shard_rows(shard_rows)
    folder = Path(folder)
    names = _given_names(feature_names, batches, vectorizer)
    settings = {
        "kind": "counts",
        "shard_rows": shard_rows,
        "vectorizer": _described(vectorizer),
        "feature_names": None if names is None else zlib.crc32(repr(names).encode()),
    }
    hashed = None
    if names is None and isinstance(vectorizer, HashingVectorizer):
        hashed = HashedWords(vectorizer) if vectorizer.input != "file" else None
    source = _Texts(vectorizer, hashed) if vectorizer is not None else _Matrices()
    claim(folder, settings, overwrite)
    writer = ShardWriter(folder, "counts", shard_rows, hashed)
    writer.write(batches, source.stamp, source.block, source.after)
    if names is None:
        names = source.names
    writer.finish(hashed.names() if hashed is not None else names)
    return open_counts(folder)


def write_dense(
    folder, batches, *, shard_rows=None, feature_names=None, overwrite=False
):
    """Write dense data to disk, to be fitted to without being held in memory.

    Parameters
    ----------
    folder : str or path
        As of `write_counts`.
    batches : iterable of array-likes of shape (n_rows, n_features)
        Float32 and float64 are kept, other numbers become float64.  NaN is a missing
        value.
    shard_rows : int, default=None
        Rows of a shard, the last one excepted; None takes a power of two, from 1,024
        to 1,048,576, with which a shard has about 33 million values.
    feature_names : array-like of str of shape (n_features,), default=None
        None takes those of data frames.
    overwrite : bool, default=False
        Whether to replace a collection that is in the folder, finished or not.

    Returns
    -------
    collection : Collection
        What was written, open.

    Raises
    ------
    FileExistsError
        If the folder holds a collection already.
    ValueError
        If the folder holds something else, or an interrupted conversion of other
        batches; if values are infinite; if batches differ in their columns, or have no
        rows at all.

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
    shard_rows = checked_shard_rows(shard_rows)
    folder = Path(folder)
    names = _given_names(feature_names, batches)
    settings = {
        "kind": "dense",
        "shard_rows": shard_rows,
        "feature_names": None if names is None else zlib.crc32(repr(names).encode()),
    }
    claim(folder, settings, overwrite)
    source = _Arrays()
    writer = ShardWriter(folder, "dense", shard_rows)
    writer.write(batches, source.stamp, source.block)
    writer.finish(source.names if names is None else names)
    return open_dense(folder)


def _given_names(feature_names, batches, vectorizer=None):
    """Return the names of features as a list of strings, None if none are known."""
    if feature_names is None:
        feature_names = getattr(batches, "feature_names", None)
    if feature_names is None and hasattr(vectorizer, "get_feature_names_out"):
        try:
            feature_names = vectorizer.get_feature_names_out()
        except NotFittedError:  # which is an AttributeError, too
            raise
        except AttributeError:  # of a pipeline, one of whose steps has no names
            return None
    if feature_names is None:
        return None
    if np.ndim(feature_names) != 1:
        raise ValueError("feature_names must be of one dimension.")
    return [str(name) for name in feature_names]


def _described(vectorizer):
    """Return by what a vectorizer is known again: what of it stays in a new process."""
    if vectorizer is None:
        return None
    parameters = getattr(vectorizer, "get_params", dict)()
    simple = {
        name: repr(value)
        for name, value in sorted(parameters.items())
        if isinstance(value, (str, int, float, tuple, type(None)))
    }
    return {"name": type(vectorizer).__name__, **simple}


class _Texts:
    """Batches of texts, and a vectorizer that counts their words."""

    names = None

    def __init__(self, vectorizer, hashed):
        if not hasattr(vectorizer, "transform"):
            raise TypeError(
                f"vectorizer has no method transform: {type(vectorizer).__name__}."
            )
        self.vectorizer, self.hashed, self.counts = vectorizer, hashed, None

    def stamp(self, texts, number):
        if isinstance(texts, (str, bytes)) or not hasattr(texts, "__len__"):
            raise ValueError(
                f"Batch {number} is no list of texts but {type(texts).__name__}: "
                "batches have to be lists, each of several texts."
            )
        if len(texts) == 0:
            return 0, 0
        first = next(iter(texts))
        first = first.encode() if isinstance(first, str) else first
        return len(texts), zlib.crc32(first) if isinstance(first, bytes) else 0

    def block(self, texts, number):
        if len(texts) == 0:
            n_features = self.vectorizer.transform(["a"]).shape[1]
            self.counts = sparse.csr_array((0, n_features), dtype=np.uint8)
        else:
            self.counts = canonical(self.vectorizer.transform(texts), number)
        return Block.of(self.counts, stored_counts(self.counts.data, number))

    def after(self, texts):
        if self.hashed is not None and len(texts):
            self.hashed.look_at(texts, self.counts)


class _Matrices:
    """Batches of counts."""

    def __init__(self):
        self.names = None

    def stamp(self, X, number):
        if not sparse.issparse(X):
            self.names = self.names or names_of_columns(X)
            return stamp_of_array(_two_dimensional(X, number))
        X = _two_dimensional(X, number)
        end = X.indptr[1] if X.format == "csr" and X.shape[0] else 0
        return X.shape[0], checksum(X.indices[:end], X.data[:end]) if end else 0

    def block(self, X, number):
        X = X if sparse.issparse(X) else _two_dimensional(X, number)
        X = canonical(X, number)
        return Block.of(X, stored_counts(X.data, number))

    def after(self, X):
        pass


class _Arrays:
    """Batches of dense data."""

    def __init__(self):
        self.names = None

    def stamp(self, X, number):
        if sparse.issparse(X):
            raise ValueError(
                f"Batch {number} is a sparse matrix; write it with write_counts."
            )
        self.names = self.names or names_of_columns(X)
        return stamp_of_array(_two_dimensional(X, number))

    def block(self, X, number):
        X = check_array(
            X,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
            ensure_min_samples=0,
            ensure_min_features=0,
            input_name=f"batch {number}",
        )
        return Block(X, X.shape[1])


def names_of_columns(X):
    """Return the names of a data frame's columns, None if these are no strings."""
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return list(columns)


def stamp_of_array(X):
    """Return the number of rows, and a checksum of the first."""
    return len(X), checksum(np.asarray(X[:1], dtype=np.float64))


def _two_dimensional(X, number):
    """Return a batch, as an array if it is not sparse."""
    if not sparse.issparse(X):
        X = np.asarray(X)
        if X.dtype.kind not in "buif":
            raise ValueError(f"Batch {number} has entries that are no numbers.")
    if X.ndim != 2:
        raise ValueError(
            f"Batch {number} has {X.ndim} dimensions, expected rows and columns."
        )
    return X


def canonical(X, number):
    """Return a CSR matrix in canonical format, without stored zeros.

    What is given is not changed.
    """
    try:
        Y = sparse.csr_array(check_sparse(X))
    except ValueError as error:
        raise ValueError(f"Batch {number}: {error}") from error
    if not Y.has_canonical_format:
        # a sum may be too large for the dtype
        Y = Y.astype(np.int64 if Y.dtype.kind in "iub" else np.float64)
        Y.sum_duplicates()
    if not Y.data.all():
        Y = Y.copy()
        Y.eliminate_zeros()
    return Y


def stored_counts(values, number):
    """Return counts in the type that they are stored in.

    Raises
    ------
    ValueError
        If they are negative or not finite.
    """
    if values.size == 0:
        return values.astype(np.uint8)
    if values.dtype.kind not in "buif":
        raise ValueError(f"Batch {number} has entries that are no numbers.")
    low, high = values.min(), values.max()
    if not (low >= 0 and high < np.inf):
        what = "are not finite."
        if low < 0:
            what = "are negative; a HashingVectorizer needs alternate_sign=False."
        raise ValueError(f"Batch {number} has counts that {what}")
    return stored(values, low, high, number)


def stored(values, low, high, number):
    """Return whole numbers in the smallest type, others in float32 or float64."""
    dtype = smallest(low, high)
    if dtype is not None:
        small = values.astype(dtype)
        if values.dtype.kind != "f" or (small == values).all():
            return small
    if values.dtype.kind == "f":
        return values.astype(np.float32 if values.itemsize <= 4 else np.float64)
    if max(abs(int(low)), int(high)) > 2**53:
        raise ValueError(f"Batch {number} has integers that no float can hold.")
    return values.astype(np.float64)

"""Writers of counts and dense data, batch by batch."""

import zlib
from collections.abc import Iterable
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.utils._param_validation import validate_params

from .._utils._typing import ArrayLike, Int, StrPath
from ._collection import Collection
from ._folder import writing
from ._shards import PARAMETERS, ShardWriter, check_batches
from ._sources import Arrays, Matrices, Texts, checked_names
from ._words import HashedWords


@validate_params(PARAMETERS, prefer_skip_nested_validation=True)
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
        source = Matrices()
    else:
        is_hashing = isinstance(vectorizer, HashingVectorizer)
        has_words = names is None and is_hashing and vectorizer.input != "file"
        source = Texts(vectorizer, HashedWords(vectorizer) if has_words else None)
    settings = {"kind": "counts", "vectorizer": _described(vectorizer)}
    return _written(folder, settings, batches, source, names, shard_rows, overwrite)


@validate_params(PARAMETERS, prefer_skip_nested_validation=True)
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
    folder : str or path
        Folder, as in `write_counts`.
    batches : iterable of array-likes of shape (n_rows, n_features)
        Values.  The types float32 and float64 are kept; other types become float64.
        NaN is a missing value.
    shard_rows : int, default=None
        See `write_counts`.
    feature_names : array-like of str of shape (n_features,), default=None
        Names of the columns.  None takes the column names of data frames.
    overwrite : bool, default=False
        See `write_counts`.

    Returns
    -------
    collection : Collection
        The open collection.

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
    settings = {"kind": "dense"}
    return _written(folder, settings, batches, Arrays(), names, shard_rows, overwrite)


def _written(folder, settings, batches, source, names, shard_rows, overwrite):
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
    if vectorizer is None:
        return
    if not hasattr(vectorizer, "transform"):
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

"""Writers of counts, dense data and ratings, batch by batch.

Triples of ratings are sorted in bounded memory.  They are first written to disk as
runs, each sorted by user.  Then the users are divided into ranges.  For each range, in
order, its triples are read from all runs, and its rows and user labels are written, so
that only one range is in memory.
"""

import zlib
from collections.abc import Iterable
from numbers import Number
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.utils import check_array

from .._utils._constraints import check_arguments
from .._utils._docstrings import completed_by
from .._utils._typing import ArrayLike, Int, StrPath
from .._utils._validation import check_sparse, check_unmasked
from .._utils._values import INEXACT
from ._collection import Collection
from ._folder import LABELS, open_npy, write_npy, writing
from ._ratings import DUPLICATES, csr_of_keys, labels_of, merged, numbers_of
from ._shards import (
    PARAMETERS,
    RowBlock,
    ShardWriter,
    check_batches,
    checksum,
    smallest,
)
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


# -- ratings ---------------------------------------------------------------------------
#: Number of bytes of triples that are sorted at a time; and the distance between the
#: triples of a run that are inspected to divide the users into ranges.
BYTES_AT_ONCE, LOOKED_AT = 2**27, 2**10
#: Largest length of a label.  All labels of a sorted temporary file are padded to the
#: same length.
LONGEST_LABEL = 256


@completed_by(write_counts)
@check_arguments(**PARAMETERS, duplicates=[DUPLICATES])
def write_ratings(
    folder: StrPath,
    batches: Iterable,
    *,
    duplicates: Literal["error", "first", "last", "mean"] = "error",
    shard_rows: Int | None = None,
    overwrite: bool = False,
) -> Collection:
    """Write ratings to disk, for fits that do not hold them in memory.

    Rows are users and columns are items, sorted by label, as in `ratings_matrix`.  The
    triples may have any order.

    Parameters
    ----------
    folder : str or path
        A new or empty folder; or a folder with an interrupted conversion, which starts
        again, because ratings are sorted only after all batches have been read.
    batches : iterable
        Triples (users, items, ratings) of array-likes of shape (n_ratings,), or tables
        with the columns ``user``, ``item`` and ``rating``, or with three columns in
        this order.  Labels are integers or strings of up to 256 characters.
    duplicates : {"error", "first", "last", "mean"}, default="error"
        Treatment of several ratings of an item by a user: raise an error, take the
        first or the last rating, or take the mean.
    shard_rows : int, default=None
        Number of users of each shard but the last, as in `write_counts`.

    Returns
    -------
    collection : Collection
        The open collection.  Integers are stored in the smallest type that holds them,
        and floats keep their type.  ``user_labels`` and ``item_labels`` are the labels
        of the rows and columns.

    Raises
    ------
    FileExistsError, BlockingIOError, ValueError, TypeError
        As in `write_counts`.  A ValueError also if a label is missing, ends with a null
        character, or is a float of 2**53 or more; if a rating is missing or infinite;
        if ``duplicates="error"`` and there are some.  A TypeError also if labels are
        neither numbers nor strings, or a mixture of both.

    Notes
    -----
    The call needs memory for the labels of all items, for a batch, and for about a
    quarter of a gigabyte of triples, and until it ends, space on disk for all triples.
    The ratings of one user are always in the same shard.

    Examples
    --------
    >>> import tempfile
    >>> from sktemper.datasets import write_ratings
    >>> batches = [(["bob", "ann"], ["tea", "tea"], [3, 5]), (["ann"], ["gin"], [0])]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     X = write_ratings(folder, batches)
    ...     X.user_labels.tolist(), X.item_labels.tolist(), X[0].toarray().tolist()
    (['ann', 'bob'], ['gin', 'tea'], [[0, 5], [0, 3]])
    """
    check_batches(batches)
    settings = {
        "kind": "ratings",
        "shard_rows": str(shard_rows),
        "duplicates": duplicates,
    }
    with writing(folder, settings, overwrite) as target:
        merge = _Merge(target.files, _runs(target.files, batches), duplicates)
        writer = ShardWriter(target, "ratings", shard_rows)
        writer.write(merge.ranges(), lambda triples, _: (len(triples), 0), merge.block)
        writer.finish(files=merge.write_labels())
    return Collection(target.folder)


# -- runs ----------------------------------------------------------------------------


def _runs(folder, batches):
    """Write the triples to files, each sorted by users, and return their paths."""
    paths, gathered, n_bytes, kinds = [], [], 0, {}
    for number, batch in enumerate(batches):
        triples = triples_of(batch, number)
        if len(triples[0]) == 0:
            continue
        for name, labels in zip(("users", "items"), triples, strict=False):
            kind = "strings" if labels.dtype.kind == "U" else "numbers"
            before = kinds.setdefault(name, kind)
            if kind != before:
                raise TypeError(
                    f"Batch {number} has {name} that are {kind}; before they were "
                    f"{before}."
                )
        gathered.append(triples)
        n_bytes += sum(column.nbytes for column in triples)
        if n_bytes >= BYTES_AT_ONCE:
            paths.append(_sorted_run(folder, len(paths), gathered))
            gathered, n_bytes = [], 0
    if gathered:
        paths.append(_sorted_run(folder, len(paths), gathered))
    if not paths:
        raise ValueError("The batches have no ratings.")
    return paths


def _sorted_run(folder, number, triples):
    columns = [np.concatenate(column) for column in zip(*triples, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    named = list(zip(("user", "item", "rating"), columns, strict=True))
    run = np.empty(len(order), [(name, column.dtype) for name, column in named])
    for name, column in named:
        run[name] = column[order]
    path = folder / f"run-{number:05d}.npy"
    write_npy(path, [run], run.dtype, run.shape)
    return path


# -- ranges --------------------------------------------------------------------------


class _Merge:
    """Division of the triples of all runs into ranges of users."""

    def __init__(self, folder, paths, duplicates):
        self.folder, self.paths, self.duplicates = folder, paths, duplicates
        self.users, items, looked_at = [], [], []
        for run in self.runs():
            items = [np.unique(np.concatenate([*items, np.unique(run["item"])]))]
            looked_at.append(run["user"][::LOOKED_AT])
        self.items = items[0]
        self.starts = self._starts(np.sort(np.concatenate(looked_at)))

    def runs(self):
        """Iterate over the runs, each mapped from disk."""
        return map(open_npy, self.paths)

    def _starts(self, users):
        """Return the start of each range in each run, and the length of each run."""
        row_bytes = max(run.itemsize for run in self.runs())
        step = max(BYTES_AT_ONCE // (row_bytes * LOOKED_AT), 1)
        bounds = np.unique(users[step::step])
        inner = [np.searchsorted(run["user"], bounds) for run in self.runs()]
        lengths = [len(run) for run in self.runs()]
        return np.column_stack([np.zeros_like(lengths), inner, lengths])

    def ranges(self):
        """Yield the triples of each range; equal pairs are in the order of batches."""
        for first, last in zip(self.starts.T[:-1], self.starts.T[1:], strict=True):
            ends = zip(self.runs(), first, last, strict=True)
            triples = np.concatenate([run[start:stop] for run, start, stop in ends])
            if len(triples):
                yield triples

    def block(self, triples, number):
        labels, rows = np.unique(triples["user"], return_inverse=True)
        columns = np.searchsorted(self.items, triples["item"])
        keys = rows * len(self.items) + columns
        order = np.argsort(keys, kind="stable")
        ratings = triples["rating"][order]
        both = labels, self.items
        keys, ratings = merged(keys[order], ratings, self.duplicates, both)
        path = self.folder / f"users-{number:05d}.npy"
        write_npy(path, [labels], labels.dtype, labels.shape)
        self.users.append((path, labels.dtype, len(labels)))
        X = csr_of_keys(keys, ratings, (len(labels), len(self.items)))
        return RowBlock.from_csr(X, X.data)

    def write_labels(self):
        """Write the labels of users and of items; return a dict of files' checksums."""
        paths, dtypes, sizes = zip(*self.users, strict=True)
        users = map(open_npy, paths), np.result_type(*dtypes), (sum(sizes),)
        items = [self.items], self.items.dtype, self.items.shape
        return {
            name: write_npy(self.folder / name, *labels)
            for name, labels in zip(LABELS, (users, items), strict=True)
        }


# -- triples -------------------------------------------------------------------------


def triples_of(batch, number):
    """Return users, items and ratings of a batch as arrays."""
    users, items, ratings = _columns(batch, number)
    users = _labels(users, f"Batch {number}: users")
    items = _labels(items, f"Batch {number}: items")
    numbers = numbers_of(ratings, f"Batch {number}: ratings")
    if not len(users) == len(items) == len(numbers):
        raise ValueError(
            f"Batch {number} has {len(users)} users, {len(items)} items and "
            f"{len(numbers)} ratings; expected three columns of the same length."
        )
    whole = np.asarray(ratings)
    if len(numbers) and whole.dtype.kind in "bui":
        numbers = stored(whole, whole.min(), whole.max(), number)
    return users, items, numbers


def _columns(batch, number):
    names = getattr(batch, "column_names", None)  # a table of pyarrow
    if names is None:
        names = batch if isinstance(batch, dict) else getattr(batch, "columns", None)
    if names is None:
        if not isinstance(batch, (tuple, list)) or len(batch) != 3:
            raise ValueError(
                f"Batch {number} is neither a triple (users, items, ratings) nor a "
                "table with three columns."
            )
        return batch
    names = list(names)
    wanted = ["user", "item", "rating"]
    if not set(wanted) <= set(names):
        if len(names) != 3:
            raise ValueError(
                f"Batch {number} has the columns {', '.join(map(str, names))}; "
                "expected user, item and rating."
            )
        wanted = names
    return [batch[name] for name in wanted]


def _labels(values, what):
    """Return labels as integers or strings, none of them missing."""
    values = labels_of(values, what)
    if values.dtype.kind in "OT":
        values = _of_one_kind(values.tolist(), what)
    if values.dtype.kind == "U":
        longest = values.dtype.itemsize // 4
        if longest > LONGEST_LABEL:
            raise ValueError(
                f"{what} have a label of {longest:,} characters; at most "
                f"{LONGEST_LABEL} characters are allowed."
            )
        return values
    if values.dtype.kind == "f":
        _check_whole(values, what)
    elif values.dtype.kind not in "ui" or (
        values.size and not -(2**63) <= int(values.min()) <= int(values.max()) < 2**63
    ):
        raise TypeError(f"{what} must be strings or whole numbers of 64 bits.")
    return values.astype(np.int64)


def _check_whole(values, what):
    """Raise unless floats are exact integers."""
    if not ((values == np.rint(values)) & np.isfinite(values)).all():
        raise ValueError(f"{what} have numbers that are not whole.")
    if values.size and np.abs(values).max() >= INEXACT:
        raise ValueError(
            f"{what} have floats of 2**53 or more, where neighbouring numbers are not "
            "distinct; give integers or strings."
        )


def _of_one_kind(values, what):
    """Return an array of strings or of integers from a list."""
    kinds = set(map(type, values))
    if kinds and all(issubclass(kind, str) for kind in kinds):
        if any(value.endswith("\0") for value in values):
            raise ValueError(
                f"{what} have a label that ends with a null character, which NumPy "
                "does not keep."
            )
        return np.array(values, dtype=np.str_)
    numbers = (int, float, np.integer, np.floating)
    if all(issubclass(kind, numbers) and kind is not bool for kind in kinds):
        floats = [value for value in values if isinstance(value, float | np.floating)]
        _check_whole(np.array(floats, dtype=float), what)
        return np.array([int(value) for value in values])
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise TypeError(f"{what} must be strings or whole numbers, got {names}.")

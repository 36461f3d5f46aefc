"""Writer of ratings, which sorts triples in bounded memory.

The triples are first written to disk as runs, each sorted by user.  Then the users are
divided into ranges.  For each range, in order, its triples are read from all runs, and
its rows and user labels are written, so that only one range is in memory.
"""

from collections.abc import Iterable
from typing import Literal

import numpy as np

from .._utils._arguments import check_arguments
from .._utils._docstrings import completed_by
from .._utils._typing import Int, StrPath
from .._utils._values import INEXACT
from ._blocks import RowBlock
from ._collection import Collection, open_ratings
from ._files import open_npy, write_npy
from ._folder import LABELS, writing
from ._ratings import DUPLICATES, csr_of_keys, labels_of, merged, numbers_of
from ._shards import PARAMETERS, ShardWriter, check_batches
from ._write import stored, write_counts

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
    return open_ratings(target.folder)


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
            paths.append(_written(folder, len(paths), gathered))
            gathered, n_bytes = [], 0
    if gathered:
        paths.append(_written(folder, len(paths), gathered))
    if not paths:
        raise ValueError("The batches have no ratings.")
    return paths


def _written(folder, number, triples):
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

"""Writing ratings to disk: triples in any order, sorted in bounded memory.

The triples are gathered into runs, each sorted by user and kept on disk.  Then a range
of users after the other is taken out of all runs at once, so that no more than a range
is in memory; and the users' labels of each range.
"""

from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import StrOptions, validate_params

from ._collection import open_ratings
from ._files import claim, opened_npy, read_json, remove, write_json, write_npy
from ._ratings import csr_of_keys, merged_ratings, missing_labels
from ._shards import Block, ShardWriter, checked_shard_rows, checksum
from ._write import stored

__all__ = ["write_ratings"]

#: Bytes of triples that are sorted at a time; and of how many in a run one is looked at
#: to cut the users into ranges.
BYTES_AT_ONCE, LOOKED_AT = 2**27, 2**10
#: The longest label: those of a run are stored in the same width.
LONGEST_LABEL = 256


@validate_params(
    {
        "duplicates": [StrOptions({"error", "first", "last", "mean"})],
        "overwrite": [bool],
    },
    prefer_skip_nested_validation=True,
)
def write_ratings(
    folder, batches, *, duplicates="error", shard_rows=None, overwrite=False
):
    """Write ratings to disk, to be fitted to without being held in memory.

    Rows are users and columns items, each sorted by their labels, as those of
    `ratings_matrix` are.  The triples may come in any order.

    Parameters
    ----------
    folder : str or path
        A new or an empty one; or one with an interrupted conversion of the same
        batches, which then goes on with the first batch that is not yet on disk.
    batches : iterable
        Of triples (users, items, ratings), each an array-like of shape (n_ratings,),
        or of tables with such columns: with the names ``user``, ``item`` and
        ``rating``, or, if there are three columns, in this order.  Labels are whole
        numbers or strings of up to 256 characters.
    duplicates : {"error", "first", "last", "mean"}, default="error"
        What to do if a user rated an item twice: raise an error, or take the rating
        that comes first or last, or their mean.
    shard_rows : int, default=None
        Users of a shard, the last one excepted; None takes a power of two, from 1,024
        to 1,048,576, with which a shard has about 33 million ratings.
    overwrite : bool, default=False
        Whether to replace a collection that is in the folder, finished or not.

    Returns
    -------
    collection : Collection
        Integers are stored in the smallest type that holds them, floats as they are.
        ``user_labels`` and ``item_labels`` say what rows and columns are.

    Raises
    ------
    FileExistsError
        If the folder holds a collection already.
    ValueError
        If the folder holds something else, or an interrupted conversion of other
        batches; if a label is missing, or a rating missing or infinite; by default for
        duplicates; if there are no ratings.
    TypeError
        If labels are neither numbers nor strings, or partly these and partly those.

    Notes
    -----
    Beside the labels of the items, memory is needed for a batch and for about a
    quarter of a gigabyte of triples, and disk for all triples once more until it is
    done.  The ratings of one user are never torn apart.

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
    shard_rows = checked_shard_rows(shard_rows)
    folder = Path(folder)
    settings = {"kind": "ratings", "shard_rows": shard_rows, "duplicates": duplicates}
    claim(folder, settings, overwrite)
    runs = _Runs(folder)
    runs.gather(batches)
    for pattern in ("shard-*", "users-*"):
        remove(folder, pattern)
    merge = _Merge(folder, runs.number, duplicates)
    writer = ShardWriter(folder, "ratings", shard_rows)
    writer.write(merge.ranges(), lambda *_: (0, 0), merge.block)
    write_npy(
        folder / "item_labels.npy", [merge.items], merge.items.dtype, merge.items.shape
    )
    merge.write_user_labels()
    writer.finish()
    return open_ratings(folder)


# -- runs ----------------------------------------------------------------------------


class _Runs:
    """Triples on disk, in runs that are each sorted by user."""

    def __init__(self, folder):
        self.folder, self.number, self.stamps = folder, 0, []
        self.kinds, self.gathered, self.n_bytes = {}, [], 0
        while (path := self._file("json")).exists():
            noted = read_json(path)
            self.stamps += [tuple(stamp) for stamp in noted["stamps"]]
            self.kinds = noted["kinds"]
            self.number += 1
        self.n_noted = len(self.stamps)

    def _file(self, what):
        return self.folder / f"run-{self.number:05d}.{what}"

    def gather(self, batches):
        """Write the triples of batches; those on disk already are passed over."""
        n_done, number = self.n_noted, -1
        for number, batch in enumerate(batches):
            users, items, ratings = triples_of(batch, number)
            stamp = len(ratings), checksum(*(a[:1] for a in (users, items, ratings)))
            if number < n_done:
                if stamp != self.stamps[number]:
                    self._refuse(f"Batch {number} is not the one it was")
                continue
            self.stamps.append(stamp)
            if len(ratings):
                self._check_kinds({"users": users, "items": items}, number)
                self._add(users, items, ratings)
        if number + 1 < n_done:
            self._refuse(f"There are {number + 1} batches and not {n_done}, as it was")
        if self.gathered:
            self._flush()
        if not self.number:
            raise ValueError("The batches have no ratings.")

    def _refuse(self, what):
        raise ValueError(
            f"{what} when the conversion in {self.folder} was interrupted. Pass the "
            "same batches again, or start over with overwrite=True."
        )

    def _check_kinds(self, labels, number):
        """Raise unless labels are of the same kind in all batches."""
        for name, values in labels.items():
            kind = "strings" if values.dtype.kind == "U" else "numbers"
            before = self.kinds.setdefault(name, kind)
            if kind != before:
                raise TypeError(
                    f"Batch {number} has {name} that are {kind}; before they were "
                    f"{before}."
                )

    def _add(self, users, items, ratings):
        self.gathered.append((users, items, ratings))
        self.n_bytes += users.nbytes + items.nbytes + ratings.nbytes
        if self.n_bytes >= BYTES_AT_ONCE:
            self._flush()

    def _flush(self):
        """Sort and write what was gathered, and note which batches that were."""
        columns = [np.concatenate(c) for c in zip(*self.gathered, strict=True)]
        order = np.argsort(columns[0], kind="stable")
        names = ("user", "item", "rating")
        dtype = [(n, c.dtype) for n, c in zip(names, columns, strict=True)]
        run = np.empty(len(order), dtype=dtype)
        for name, column in zip(names, columns, strict=True):
            run[name] = column[order]
        write_npy(self._file("npy"), [run], run.dtype, run.shape)
        noted = {"stamps": self.stamps[self.n_noted :], "kinds": self.kinds}
        write_json(self._file("json"), noted)
        self.n_noted, self.number = len(self.stamps), self.number + 1
        self.gathered, self.n_bytes = [], 0


def triples_of(batch, number):
    """Return users, items and ratings of a batch as arrays.

    Raises
    ------
    ValueError, TypeError
    """
    columns = _columns(batch, number)
    users = _labels(columns[0], f"The users of batch {number}")
    items = _labels(columns[1], f"The items of batch {number}")
    ratings = np.asarray(columns[2])
    if ratings.dtype.kind == "O":
        try:
            ratings = ratings.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"Batch {number} has a rating that is none: {error}."
            ) from error
    if ratings.ndim != 1 or not len(users) == len(items) == len(ratings):
        raise ValueError(
            f"Batch {number} has {users.shape} users, {items.shape} items and "
            f"{ratings.shape} ratings; expected three columns of the same length."
        )
    if len(ratings) and ratings.dtype.kind not in "buif":
        raise ValueError(f"Batch {number} has ratings that are no numbers.")
    if not np.isfinite(ratings).all():
        raise ValueError(f"Batch {number} has ratings that are missing or infinite.")
    if len(ratings) == 0:
        return users, items, ratings.astype(np.uint8)
    return users, items, _stored_ratings(ratings, number)


def _stored_ratings(ratings, number):
    """Return integers in the smallest type, floats in float32 or float64."""
    if ratings.dtype.kind == "f":
        return ratings.astype(np.float32 if ratings.itemsize <= 4 else np.float64)
    ratings = ratings.astype(np.uint8) if ratings.dtype.kind == "b" else ratings
    return stored(ratings, ratings.min(), ratings.max(), number)


def _columns(batch, number):
    """Return the three columns of a triple or of a table."""
    names = getattr(batch, "column_names", None)  # of pyarrow
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
    values = np.asarray(values)
    if values.ndim != 1:
        raise ValueError(f"{what} are of {values.ndim} dimensions; expected one.")
    if missing_labels(values):
        raise ValueError(f"{what} have missing labels.")
    if values.dtype.kind == "O" or values.dtype.kind == "T":
        values = _of_one_kind(values, what)
    if values.dtype.kind == "U":
        if values.dtype.itemsize > 4 * LONGEST_LABEL:
            raise ValueError(
                f"{what} have a label of more than {LONGEST_LABEL} characters."
            )
        return values
    if values.dtype.kind == "f" and not (values == np.rint(values)).all():
        raise ValueError(f"{what} have numbers that are not whole.")
    if values.dtype.kind not in "uif" or (
        values.size and not -(2**63) <= int(values.min()) <= int(values.max()) < 2**63
    ):
        raise TypeError(f"{what} must be strings or whole numbers of 64 bits.")
    return values.astype(np.int64)


def _of_one_kind(values, what):
    """Return an array of objects as one of strings or of integers."""
    kinds = set(map(type, values.tolist()))
    if kinds and all(issubclass(kind, str) for kind in kinds):
        longest = max(map(len, values))
        if longest > LONGEST_LABEL:
            raise ValueError(
                f"{what} have a label of {longest:,} characters; at most "
                f"{LONGEST_LABEL} are taken."
            )
        return values.astype(np.str_)
    if all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
        return np.array(values.tolist())
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise TypeError(f"{what} must be strings or whole numbers, got {names}.")


# -- ranges --------------------------------------------------------------------------


class _Merge:
    """The runs, a range of users after the other."""

    def __init__(self, folder, n_runs, duplicates):
        self.folder, self.n_runs, self.duplicates = folder, n_runs, duplicates
        self.n_ranges, self.n_users, self.user_dtypes = 0, 0, []
        items, looked_at = [], []
        for number in range(n_runs):
            run = self._run(number)
            items = [np.unique(np.concatenate([*items, np.unique(run["item"])]))]
            looked_at.append(run["user"][::LOOKED_AT])
        self.items = items[0]
        self.starts = self._starts(np.sort(np.concatenate(looked_at)))

    def _run(self, number):
        return opened_npy(self.folder / f"run-{number:05d}.npy")

    def _starts(self, users):
        """Return where in each run each range begins, and the end."""
        row_bytes = max(self._run(n).itemsize for n in range(self.n_runs))
        step = max(BYTES_AT_ONCE // (row_bytes * LOOKED_AT), 1)
        bounds = np.unique(users[step::step])
        starts = []
        for number in range(self.n_runs):
            run = self._run(number)
            inner = np.searchsorted(run["user"], bounds)
            starts.append(np.concatenate([[0], inner, [len(run)]]))
        return np.array(starts)

    def ranges(self):
        """Yield the triples of each range, in the order in which they were given."""
        for before, after in zip(self.starts.T[:-1], self.starts.T[1:], strict=True):
            pieces = [
                np.array(self._run(number)[start:stop])
                for number, (start, stop) in enumerate(zip(before, after, strict=True))
                if stop > start
            ]
            if pieces:
                yield [
                    np.concatenate([piece[name] for piece in pieces])
                    for name in ("user", "item", "rating")
                ]

    def block(self, triples, number):
        """Return the rows of a range, and write whose they are."""
        users, items, ratings = triples
        labels, rows = np.unique(users, return_inverse=True)
        keys = rows * len(self.items) + np.searchsorted(self.items, items)
        order = np.argsort(keys, kind="stable")
        keys, ratings = keys[order], ratings[order]
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        if len(starts) < len(keys):
            if self.duplicates == "mean" and ratings.dtype.kind != "f":
                ratings = ratings.astype(np.float64)
            both = labels, self.items
            ratings = merged_ratings(keys, ratings, starts, self.duplicates, both)
            keys = keys[starts]
        path = self.folder / f"users-{number:05d}.npy"
        write_npy(path, [labels], labels.dtype, labels.shape)
        self.n_ranges, self.n_users = number + 1, self.n_users + len(labels)
        self.user_dtypes.append(labels.dtype)
        X = csr_of_keys(keys, ratings, (len(labels), len(self.items)))
        return Block.of(sparse.csr_array(X), X.data)

    def write_user_labels(self):
        """Write the labels of all ranges as one file."""
        paths = (self.folder / f"users-{n:05d}.npy" for n in range(self.n_ranges))
        dtype = np.result_type(*self.user_dtypes)
        labels = (opened_npy(path) for path in paths)
        write_npy(self.folder / "user_labels.npy", labels, dtype, (self.n_users,))

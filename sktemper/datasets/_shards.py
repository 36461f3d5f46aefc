"""Writer of shards, which continues an interrupted conversion after its last shard."""

import math
import warnings
from numbers import Integral

import numpy as np
from scipy import sparse

from ._arrays import ShardFiles, check_file
from ._blocks import about
from ._files import NAMES, read_json, remove, shard_file, write_json, write_npy
from ._meta import MOST_FEATURES, index_dtype, joined, wrong_in_shard

#: If the number of rows of a shard is not given: approximate number of entries of a
#: shard, and bounds of its number of rows.
ENTRIES_OF_SHARD, FEWEST_ROWS, MOST_ROWS = 2**25, 2**10, 2**20
#: Entries of a shard's note (its JSON file) that the collection's description repeats.
ABOUT = (
    "rows",
    "entries",
    "dtype",
    "least",
    "largest",
    "fraction",
    "sum",
    "missing",
    "crc",
)


def checked_shard_rows(shard_rows):
    """Return ``shard_rows``, a positive int or None; raise for another value."""
    if shard_rows is not None and (
        isinstance(shard_rows, bool)
        or not isinstance(shard_rows, Integral)
        or shard_rows < 1
    ):
        raise ValueError(
            f"shard_rows must be an int of at least 1 or None, got {shard_rows!r}."
        )
    return None if shard_rows is None else int(shard_rows)


def check_batches(batches):
    """Raise if batches are a single matrix, or cannot be iterated over.

    Raises
    ------
    ValueError, TypeError
    """
    is_frame = hasattr(batches, "iloc") and np.ndim(batches) == 2
    if sparse.issparse(batches) or isinstance(batches, np.ndarray) or is_frame:
        raise ValueError(
            "batches must be batches of rows; make a list of a single matrix or table."
        )
    if not hasattr(batches, "__iter__") and not hasattr(batches, "__getitem__"):
        raise TypeError(
            f"batches must be an iterable of batches, got {type(batches).__name__}."
        )


class ShardWriter:
    """Writer of blocks as shards.

    Each shard has a note, a JSON file.  It describes the values, and tells which
    batches are completely written up to the end of this shard.

    Parameters
    ----------
    target : Target
        Folder that is written to.
    kind : str
    shard_rows : int or None
        Number of rows of a shard; None chooses it from the first block.
    companion : object or None
        Object that collects information about the rows.  The result of its method
        ``state()`` is written with each shard, and ``restore(state)`` is called when a
        conversion continues.
    names : list of str or None
        Names of the features, if they are known before the rows are written.

    Warns
    -----
    UserWarning
        If shards of an interrupted conversion are damaged, and are written again.
    """

    def __init__(self, target, kind, shard_rows=None, companion=None, names=None):
        self.target, self.folder, self.kind = target, target.files, kind
        self.companion, self.shard_rows, self.names = companion, shard_rows, names
        self.n_features, self.position = None, (0, 0)
        self.shards, self.stamps, self.blocks, self.buffered = [], [], [], 0
        self._go_on()
        self.n_noted = self.n_known = len(self.stamps)

    def _go_on(self):
        """Reuse the intact shards of an interrupted conversion."""
        shards, damage = [], None
        try:
            while shard_file(self.folder, len(shards), "json").exists():
                shards.append(self._intact(len(shards), shards[:1]))
        except ValueError as error:
            damage = error
        if shards and self.companion is not None:
            path = self.folder / f"words-{len(shards) - 1}.json"
            try:
                self.companion.restore(read_json(path))
            except ValueError as error:
                shards, damage = [], error
        for shard in shards:
            self.stamps += [tuple(stamp) for stamp in shard["stamps"]]
            self.shards.append(shard)
            self.position = tuple(shard["position"])
            self.n_features, self.shard_rows = shard["n_features"], shard["shard_rows"]
        if damage is not None:
            warnings.warn(
                f"{damage} The conversion in {self.folder} goes on from shard "
                f"{len(shards)}; this and all later shards are written again.",
                stacklevel=4,
            )
        # Remove later shards: the new shards may divide the rows in another way.
        remove(self.folder, "shard-*", first=len(shards))
        for path in self.folder.glob("words-*"):
            if path.name != f"words-{len(shards) - 1}.json":
                remove(self.folder, path.name)

    def _intact(self, number, first):
        """Return a shard's note; raise ValueError if the note or a file is damaged."""
        path = shard_file(self.folder, number, "json")
        shard = read_json(path)
        try:
            wrong = _wrong_in_note(shard, self.kind, *first)
        except KeyError as error:
            wrong = f"it has no entry {error}"
        except (TypeError, ValueError) as error:
            wrong = str(error)
        if wrong:
            raise ValueError(f"{path} is damaged: {wrong}.")
        files = ShardFiles(self.folder, number, shard, self.kind, shard["n_features"])
        files.check(files.mapped())
        return shard

    def _file(self, what):
        return shard_file(self.folder, len(self.shards), what)

    def write(self, batches, stamp, convert, after=lambda batch: None):
        """Write the rows of batches, except rows that are already written.

        Parameters
        ----------
        batches : iterable
        stamp : callable
            ``stamp(batch, number)`` returns two numbers that identify a batch, and may
            raise an error for an invalid batch.
        convert : callable
            ``convert(batch, number)`` returns the `Block` of a batch.
        after : callable
            Called with each batch that was not skipped, after its rows were added.
        """
        number = -1
        for number, batch in enumerate(batches):
            self._recognise(number, stamp(batch, number))
            if number < self.position[0]:
                continue
            block = convert(batch, number)
            self._check_width(block, number)
            first = self.position[1] if number == self.position[0] else 0
            self._add(number, block, first)
            after(batch)
        if number + 1 < self.n_known:
            raise ValueError(
                f"There are {number + 1} batches, but there were at least "
                f"{self.n_known} when the conversion in {self.folder} was interrupted. "
                "Give the same batches, or start over with overwrite=True."
            )
        if self.buffered:
            self._cut((number + 1, 0))
        if not self.shards:
            raise ValueError("The batches have no rows.")

    def _recognise(self, number, stamp):
        if number == len(self.stamps):
            self.stamps.append(stamp)
        elif self.stamps[number] != stamp:
            raise ValueError(
                f"Batch {number} differs from the batch that was given when the "
                f"conversion in {self.folder} was interrupted. Give the same batches, "
                "or start over with overwrite=True."
            )

    def _check_width(self, block, number):
        if self.n_features is None:
            self.n_features = block.n_features
        if block.n_features != self.n_features or block.n_features == 0:
            raise ValueError(
                f"Batch {number} has {block.n_features} columns, expected "
                f"{self.n_features or 'at least 1'}."
            )
        if self.n_features > MOST_FEATURES:
            raise ValueError(
                f"Batch {number} has {self.n_features:,} columns, more than the limit "
                f"of {MOST_FEATURES:,}."
            )
        if self.names is not None:
            self._check_names(self.names)
        if self.shard_rows is None and block.n_rows:
            per_row = max(block.data.size / block.n_rows, 1)
            rows = 2 ** int(np.log2(ENTRIES_OF_SHARD / per_row + 1))
            self.shard_rows = int(np.clip(rows, FEWEST_ROWS, MOST_ROWS))

    def _add(self, number, block, first):
        """Add the rows of a block from row ``first`` on, and write full shards."""
        while first < block.n_rows:
            if self.buffered == self.shard_rows:
                self._cut((number, first))
            stop = min(first + self.shard_rows - self.buffered, block.n_rows)
            self.blocks.append(block.rows(first, stop))
            self.buffered += stop - first
            first = stop

    def _check_names(self, names):
        if len(names) != self.n_features:
            raise ValueError(
                f"There are {len(names)} feature names for {self.n_features} columns."
            )

    def _cut(self, position):
        """Write the collected rows as a shard; note the position to continue from."""
        self.target.claim.check()
        shard = about(self.blocks)
        shard["crc"] = self._write_arrays(shard)
        if self.companion is not None:
            number = len(self.shards)
            write_json(self.folder / f"words-{number}.json", self.companion.state())
        shard |= {
            "shard_rows": self.shard_rows,
            "n_features": self.n_features,
            "position": position,
            "stamps": self.stamps[self.n_noted :],
        }
        write_json(self._file("json"), shard)
        self.n_noted = len(self.stamps)
        self.shards.append(shard)
        if self.companion is not None and len(self.shards) > 1:
            remove(self.folder, f"words-{len(self.shards) - 2}.json")
        self.blocks, self.buffered = [], 0

    def _write_arrays(self, shard):
        """Write the files of a shard, and return their checksums."""
        rows, entries, dtype = shard["rows"], shard["entries"], shard["dtype"]
        values = [block.data for block in self.blocks]
        if self.kind == "dense":
            shape = rows, self.n_features
            return [write_npy(self._file("data.npy"), values, dtype, shape)]
        counts = np.concatenate([[0], *(block.counts for block in self.blocks)])
        indptr = np.cumsum(counts, dtype=np.int64)
        indices = [block.indices for block in self.blocks]
        of_index = index_dtype(self.n_features)
        return [
            write_npy(self._file("indptr.npy"), [indptr], np.int64, (rows + 1,)),
            write_npy(self._file("indices.npy"), indices, of_index, (entries,)),
            write_npy(self._file("data.npy"), values, dtype, (entries,)),
        ]

    def finish(self, names=None, files=None):
        """Write the description, which makes the shards the current collection.

        Parameters
        ----------
        names : list of str or None
            Names of the features.
        files : dict of str to int, default=None
            Checksums of files that were written beside the shards.

        Raises
        ------
        ValueError
            If a written file is missing or was replaced.
        """
        files = {} if files is None else dict(files)
        if names is not None:
            self._check_names(names)
            files[NAMES] = write_json(self.folder / NAMES, list(names))
        shards = [{name: shard[name] for name in ABOUT} for shard in self.shards]
        self._check_written(shards, files)
        meta = joined(self.kind, self.n_features, shards, self.shard_rows, files)
        self.target.commit(meta)

    def _check_written(self, shards, files):
        """Raise unless all files exist; read them if they replace a collection."""
        for number, shard in enumerate(shards):
            one = ShardFiles(self.folder, number, shard, self.kind, self.n_features)
            maps = one.mapped()
            if self.target.replaces:
                one.check(maps)
        for name, crc in files.items():
            check_file(str(self.folder / name), crc)


def _wrong_in_note(shard, kind, first=None):
    """Return an error in the note of a shard as a text, or None.

    Parameters
    ----------
    shard : object
        The note; a valid one is a dict.
    kind : str
    first : dict or None
        The note of the first shard.
    """
    for name, most in (("n_features", MOST_FEATURES), ("shard_rows", math.inf)):
        value = shard[name]
        if type(value) is not int or not 0 < value <= most:
            return f"{name} is {value!r}"
        if first is not None and value != first[name]:
            return f"{name} is {value!r}, but {first[name]!r} in the first shard"
    pairs = [shard["position"], *shard["stamps"]]
    for pair in pairs:
        if len(pair) != 2 or not all(type(n) is int and n >= 0 for n in pair):
            return f"a position or a stamp is {pair!r}"
    if not 0 < shard["rows"] <= shard["shard_rows"]:
        return f"rows is {shard['rows']!r}"
    return wrong_in_shard(shard, kind, shard["n_features"])

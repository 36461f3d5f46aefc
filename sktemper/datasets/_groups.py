"""Groups of shards; a fit sums statistics over each group."""

import secrets

import numpy as np
from scipy import sparse

from .._engine import ByRows

#: Default number of parts of a collection.
MOST_GROUPS = 16


class Group(ByRows):
    """Part of `Data` that consists of adjacent shards, which are read when needed.

    Parameters
    ----------
    shards : sequence of Part
    visit : str, default=None
        Name of the call that reads the shards; see `Part.rows`.
    """

    def __init__(self, shards, visit=None):
        self.shards, self.visit = tuple(shards), visit
        sizes = [shard.n_rows for shard in self.shards]
        self._ends = np.cumsum(sizes)
        self._starts = self._ends - sizes

    def __reduce__(self):
        return Group, (self.shards, self.visit)

    def __repr__(self):
        return f"<{len(self.shards)} shards from {self.shards[0]!r} on>"

    @property
    def n_rows(self):
        """Number of rows."""
        return int(self._ends[-1])

    def rows(self, rows):
        """Return some rows, in memory, in the format of `Part.rows`.

        Parameters
        ----------
        rows : slice or ndarray of int
            Nonnegative row indices.
        """
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(self.n_rows))
        numbers = np.searchsorted(self._ends, rows, "right")
        if len(rows) == 0 or (numbers == numbers[0]).all():
            return self._of_shard(numbers[0] if len(rows) else 0, rows)
        order = np.argsort(numbers, kind="stable")
        starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
        found = [
            self._of_shard(numbers[mine[0]], rows[mine])
            for mine in np.split(order, starts[1:])
        ]
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        if isinstance(found[0], np.ndarray):
            return np.concatenate(found)[back]
        block = sparse.vstack(found, format="csr")[back]
        block.has_canonical_format = True
        return block

    def _of_shard(self, number, rows):
        return self.shards[number].rows(rows - self._starts[number], self.visit)


def groups(shards, n_groups):
    """Divide the shards that have rows into groups of about equal size.

    Parameters
    ----------
    shards : sequence of Part
    n_groups : int or None
        Maximum number of groups; None means `MOST_GROUPS`.

    Returns
    -------
    groups : list of Group
        Groups with a new ``visit``, so that the files are checked again.
    """
    visit = secrets.token_hex(8)
    shards = [shard for shard in shards if shard.n_rows]
    n_groups = min(len(shards), MOST_GROUPS if n_groups is None else n_groups)
    ends = np.linspace(0, len(shards), n_groups + 1).round().astype(int)
    pairs = zip(ends[:-1], ends[1:], strict=True)
    return [Group(shards[first:last], visit) for first, last in pairs]

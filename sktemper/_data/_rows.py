"""Ordered sequences of rows, stored as runs of adjacent rows to save memory."""

import numpy as np

__all__ = ["Rows"]


class Rows:
    """Sequence of rows that consists of runs of adjacent rows.

    Parameters
    ----------
    starts : ndarray of int of shape (n_runs,)
        First row of each run.
    sizes : ndarray of int of shape (n_runs,) or None
        Number of rows of each run; None means 1.
    """

    def __init__(self, starts, sizes=None):
        self.starts, self.sizes = starts, sizes
        self._ends = None if sizes is None else np.cumsum(sizes)

    @classmethod
    def of_parts(cls, ends, size):
        """Return all rows of parts that end at ``ends``, in runs of up to ``size``."""
        if size == 1:
            return cls(np.arange(ends[-1]))
        firsts = np.concatenate([[0], ends[:-1]])
        starts = np.concatenate(
            [np.arange(*part, size) for part in zip(firsts, ends, strict=True)]
        )
        return cls(starts, np.diff(starts, append=ends[-1]))

    def __len__(self):
        return len(self.starts) if self.sizes is None else int(self._ends[-1])

    @property
    def n_runs(self):
        """Number of runs."""
        return len(self.starts)

    def runs(self, numbers):
        """Return the runs with the indices ``numbers``, in this order."""
        sizes = None if self.sizes is None else self.sizes[numbers]
        return Rows(self.starts[numbers], sizes)

    def at(self, places):
        """Return the rows at some positions of the sequence, as an array."""
        if self.sizes is None:
            return self.starts[places]
        if isinstance(places, slice):
            places = np.arange(*places.indices(len(self)))
        run = np.searchsorted(self._ends, places, "right")
        return self.starts[run] + places - (self._ends - self.sizes)[run]

    def counted_runs(self, weight):
        """Return the indices of the runs that have a row with a positive weight.

        The sequence must consist of all rows of the data, in their order.

        Parameters
        ----------
        weight : ndarray of shape (n_rows,) or None
            None means that all weights are 1.
        """
        if weight is None:
            return np.arange(self.n_runs)
        if self.sizes is not None:
            weight = np.add.reduceat(weight, self.starts)
        return np.flatnonzero(weight)

    def counted(self, weight):
        """Return the rows with positive weights, or all rows if ``weight`` is None."""
        if weight is None:
            return self
        rows = self.at(slice(None))
        return Rows(rows[weight[rows] > 0])

    def some(self, most, random):
        """Return at most ``most`` rows, drawn at random, as an increasing array."""
        if len(self) <= most:
            return self.at(slice(None))
        return np.sort(self.at(random.choice(len(self), most, replace=False)))

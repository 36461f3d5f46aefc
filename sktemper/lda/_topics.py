"""Values of LDA: documents, statistics of words, and topics."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .._utils._budgets import ROWS_AT_ONCE, slices
from . import _kernels
from ._cells import N_SQUARES, added, with_shares

#: Number of blocks of statistics that are kept before they are added up.
MOST_PARTS = 16
#: Rows of priors of documents that all have the first.
NO_ROWS = np.zeros(0, dtype=np.intp)


class Documents(NamedTuple):
    """A block of documents: canonical CSR without stored zeros.

    ``slots`` has the position of each entry's word in ``words``, which are distinct and
    sorted.
    """

    counts: Any
    starts: Any
    words: Any
    slots: Any

    def tokens(self):
        starts = self.starts[:-1]
        filled = starts < self.starts[1:]
        tokens = np.zeros(len(starts))
        if filled.any():
            starts = starts[filled]
            tokens[filled] = np.add.reduceat(self.counts, starts, dtype=np.float64)
        return tokens


def split_words(block):
    """Return two blocks: every second entry of a document is in the second block."""
    lengths = np.diff(block.starts)
    position = np.arange(len(block.counts)) - np.repeat(block.starts[:-1], lengths)
    halves = []
    for half in (position % 2 == 0, position % 2 == 1):
        starts = np.concatenate([[0], np.cumsum(half)])[block.starts].astype(np.intp)
        counts, slots = block.counts[half], block.slots[half]
        halves.append(Documents(counts, starts, block.words, slots))
    return halves


@dataclass(frozen=True)
class WordStatistics:
    """Sum of counts * phi over documents, for the words that occurred in them.

    ``parts`` are pairs (words, rows), one for each summed block.  A word may occur in
    several parts.  Rows may have additional columns, for padding.  ``cells`` are
    `sums_of_shares`, or None.
    """

    parts: tuple
    n_features: int
    n_topics: int
    cells: np.ndarray | None = None

    def __add__(self, other):
        parts, cells = self.parts + other.parts, added(self.cells, other.cells)
        total = WordStatistics(parts, self.n_features, self.n_topics, cells)
        return total.merged() if len(total.parts) > MOST_PARTS else total

    def merged(self):
        words = np.unique(np.concatenate([words for words, _ in self.parts]))
        rows, totals = np.zeros((len(words), self.n_topics)), np.zeros(self.n_topics)
        for part_words, part_rows in self.parts:
            places = np.searchsorted(words, part_words)
            _kernels.add_rows(rows, totals, places, part_rows, 1.0)
        return replace(self, parts=((words, rows),))

    def compacted(self):
        return self if len(self.parts) == 1 else self.merged()

    def accumulator(self):
        """Return an accumulator that starts with these statistics, see `LocalStep`."""
        return _Accumulator(self)

    def scaled(self, factor):
        parts = tuple((words, factor * rows) for words, rows in self.parts)
        cells = None if self.cells is None else factor * self.cells
        return replace(self, parts=parts, cells=cells)

    def dense(self):
        """Return the statistics as an array of shape (n_features, n_topics)."""
        return self.accumulator().rows


class _Accumulator:
    """Sum of `WordStatistics` in an array that has a row for each word.

    Statistics are compacted before they are added, so that the bits of the sum do not
    depend on earlier compactions.
    """

    def __init__(self, statistics):
        self.rows = np.zeros((statistics.n_features, statistics.n_topics))
        self._totals = np.zeros(statistics.n_topics)
        self._known = np.zeros(statistics.n_features, dtype=bool)
        self._cells = None
        self.add(statistics)

    def add(self, statistics):
        ((words, rows),) = statistics.compacted().parts
        _kernels.add_rows(self.rows, self._totals, words, rows, 1.0)
        self._known[words] = True
        self._cells = added(self._cells, statistics.cells)

    def total(self):
        words, rows = np.flatnonzero(self._known), self.rows
        # Rows are moved in place, some at a time.  This is safe because no row moves to
        # a higher index.
        for part in slices(len(words), 1, ROWS_AT_ONCE):
            rows[part] = rows[words[part]]
        rows = rows[: len(words)]
        parts, sizes = ((words, rows),), (len(self._known), rows.shape[1])
        return WordStatistics(parts, *sizes, self._cells)


@dataclass(frozen=True)
class Topics:
    """Dirichlet parameters of topics, in a form in which sparse steps are cheap.

    ``lambda = decay * u + prior_share * prior + base_share``, with a row for each word.
    A step changes the numbers ``decay``, ``prior_share`` and ``base_share``, and only
    the rows of ``u`` for words in the batch.  ``cells`` are `sums_of_shares` of all
    documents, or None.
    """

    u: np.ndarray  # (n_features, n_topics)
    u_totals: np.ndarray  # column sums of ``u``, (n_topics,)
    prior: np.ndarray  # (1 or n_features, 1 or n_topics)
    decay: float = 1.0
    prior_share: float = 0.0
    base_share: float = 0.0
    cells: np.ndarray | None = None

    @classmethod
    def from_dense(cls, topic_word, prior):
        """Return the topics of an array of shape (n_features, n_topics)."""
        u = np.array(topic_word, dtype=np.float64, order="C")
        return cls(u, u.sum(axis=0), prior)

    def full_prior(self):
        """Return the prior as a view of shape (n_features, n_topics)."""
        return np.broadcast_to(self.prior, self.u.shape)

    def block_parts(self, block):
        """Return a block, and the terms of lambda, whose row indices are words."""
        shares = self.decay, self.prior_share, self.base_share
        return block, (self.u, self.full_prior(), *shares)

    def dense(self):
        """Return lambda, of shape (n_features, n_topics)."""
        dense = self.decay * self.u
        dense += self.prior_share * self.prior + self.base_share
        return dense

    def tokens(self):
        """Return expected tokens, lambda minus the prior, (n_features, n_topics)."""
        return np.maximum(self.dense() - self.prior, 0.0)

    def with_cells(self, cells, is_same):
        """Return these topics with sums of cells, equal in all cells for new topics."""
        if cells is None:
            return self
        shares = cells[:, :-N_SQUARES]
        shares = np.where(is_same, shares, shares.mean(axis=1, keepdims=True))
        return replace(self, cells=with_shares(cells, shares))

    def select_words(self, places, prior, start_share):
        """Return the topics of other words.

        A new word gets the parameters ``start_share + (1 - start_share) * prior``.  A
        word that was in the model from the start, but never occurred in a document,
        would have the same parameters if its initial value were the mean, 1.

        ``places`` has the row of each word in the current topics, -1 for a new word,
        and ``start_share`` is the weight of the initial topics in the current ones.
        """
        is_new = places < 0
        u = self.u[places]
        of_new = np.broadcast_to(prior, u.shape)[is_new]
        start = start_share + (1.0 - start_share) * of_new
        rest = start - self.prior_share * of_new - self.base_share
        u[is_new] = rest / self.decay
        return replace(self, u=u, u_totals=u.sum(axis=0), prior=prior)

    def rows(self, words):
        prior = self.full_prior()[words]
        return self.decay * self.u[words] + (self.prior_share * prior + self.base_share)

    def totals(self):
        # computed without the full prior, because the time of a step must not grow with
        # n_features * n_topics
        prior_totals = self.prior.sum(axis=0) * (len(self.u) // len(self.prior))
        return (
            self.decay * self.u_totals
            + self.prior_share * prior_totals
            + self.base_share * len(self.u)
        )


class Prepared(NamedTuple):
    """Values of topics and priors that local steps share.

    ``prior_rows`` has the row of each document of a block in ``doc_topic_prior``; it is
    empty if all documents have the first row, the prior without cells.
    """

    topics: Topics
    totals: np.ndarray
    digamma_totals: np.ndarray
    doc_topic_prior: np.ndarray  # (1 + n_cells, n_topics)
    log_normaliser: np.ndarray  # (1 + n_cells,)
    prior_rows: np.ndarray = NO_ROWS

    def log_normalisers(self):
        """Return the log normaliser of each document's prior, or of that of all."""
        return self.log_normaliser[self.prior_rows if len(self.prior_rows) else 0]

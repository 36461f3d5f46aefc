"""Word counts of a chunk of documents, and frequencies of words in a stream."""

from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import NamedTuple

import numpy as np
from scipy import sparse

#: Words without a column are forgotten when their number of documents, in which older
#: documents count less, is below this value.
LEAST_DOCUMENTS = 0.1
#: Numbers of words without a column: up to the first number, no word is forgotten;
#: above the second number, the rarest are forgotten until half this number remain.
FEWEST_KEPT, MOST_KEPT = 10_000, 1_000_000


class TextCounts(NamedTuple):
    """Counts of all words of some documents.

    Attributes
    ----------
    words : list of str
        The distinct words, sorted.
    counts : CSR of shape (n_documents, n_words)
        Counts of the words, with unsorted indices.
    """

    words: list
    counts: sparse.csr_array

    @classmethod
    def from_documents(cls, raw_documents, analyze):
        """Return the counts of documents; ``analyze`` returns the words of one."""
        places = defaultdict()
        places.default_factory = places.__len__
        columns, counts, starts = array("q"), array("q"), array("q", [0])
        for document in raw_documents:
            found = Counter(map(places.__getitem__, analyze(document)))
            columns.extend(found)
            counts.extend(found.values())
            starts.append(len(columns))
        words = sorted(places)
        rank = np.empty(len(words), dtype=np.int64)
        rank[[places[word] for word in words]] = np.arange(len(words))
        columns, counts, starts = (
            np.array(part, dtype=np.int64) for part in (columns, counts, starts)
        )
        parts = counts, rank[columns], starts
        shape = len(starts) - 1, len(words)
        return cls(words, sparse.csr_array(parts, shape=shape))

    def as_type(self, dtype, binary):
        """Return the counts as ``dtype``; all counts are 1 if ``binary``."""
        counts = self.counts.astype(dtype)
        if binary:
            counts.data.fill(1)
        return self._replace(counts=counts)

    @property
    def document_frequencies(self):
        return np.bincount(self.counts.indices, minlength=len(self.words))

    @property
    def term_frequencies(self):
        return np.asarray(self.counts.sum(axis=0)).ravel()

    def columns(self, vocabulary):
        """Return the column index of each word, -1 for words without a column."""
        found = (vocabulary.get(word, -1) for word in self.words)
        return np.fromiter(found, np.int64, len(self.words))

    def select(self, vocabulary):
        """Return the counts of the words of a vocabulary as a CSR array."""
        columns = self.columns(vocabulary)[self.counts.indices]
        known = columns >= 0
        starts = np.concatenate([[0], np.cumsum(known)])[self.counts.indptr]
        parts = self.counts.data[known], columns[known], starts
        shape = self.counts.shape[0], len(vocabulary)
        X = sparse.csr_array(parts, shape=shape)
        X.sort_indices()
        return X


@dataclass(frozen=True)
class WordFrequencies:
    """Frequencies of the words of a stream, in which older documents count less.

    Attributes
    ----------
    places : dict
        Position of each word in the arrays.  Words with positions beyond the end of the
        arrays have not occurred yet.
    documents, tokens : ndarray of float
        Number of documents that contain each word, and number of its occurrences.
    n_documents : float
        Number of documents.
    most_others : int
        Number of words without a column above which rare words are forgotten.
    """

    places: dict = field(default_factory=dict)
    documents: np.ndarray = field(default_factory=lambda: np.zeros(0))
    tokens: np.ndarray = field(default_factory=lambda: np.zeros(0))
    n_documents: float = 0.0
    most_others: int = field(default_factory=lambda: FEWEST_KEPT)

    def add(self, chunk, share):
        """Return the frequencies after a chunk; ``share`` multiplies earlier ones."""
        places = self.places  # words added before an interruption are harmless
        for word in chunk.words:
            places.setdefault(word, len(places))
        at = self.positions(chunk.words)
        documents, tokens = np.zeros((2, len(places)))
        documents[: len(self.documents)] = share * self.documents
        tokens[: len(self.tokens)] = share * self.tokens
        documents[at] += chunk.document_frequencies
        tokens[at] += chunk.term_frequencies
        return replace(
            self,
            documents=documents,
            tokens=tokens,
            n_documents=share * self.n_documents + chunk.counts.shape[0],
        )

    def positions(self, words):
        """Return the positions of words in the arrays."""
        return np.array([self.places[word] for word in words], dtype=np.intp)

    def drop(self, words):
        documents, tokens = self.documents.copy(), self.tokens.copy()
        documents[self.positions(words)] = tokens[self.positions(words)] = 0.0
        return replace(self, documents=documents, tokens=tokens)

    def pruned(self, vocabulary):
        """Return the frequencies without rare words that have no column."""
        if len(self.places) - len(vocabulary) <= self.most_others:
            return self
        words = list(self.places)
        has_column = np.array([word in vocabulary for word in words])
        keep = has_column | (self.documents >= LEAST_DOCUMENTS)
        others = np.flatnonzero(keep & ~has_column)
        if len(others) > MOST_KEPT:
            rarest = np.argsort(self.documents[others], kind="stable")
            keep[others[rarest[: len(others) - MOST_KEPT // 2]]] = False
        kept = np.flatnonzero(keep)
        n_others = len(kept) - len(vocabulary)
        return replace(
            self,
            places={words[place]: new for new, place in enumerate(kept)},
            documents=self.documents[kept],
            tokens=self.tokens[kept],
            most_others=min(max(FEWEST_KEPT, 2 * n_others), MOST_KEPT),
        )


def as_documents(limit, n_documents):
    """Return a limit as a number of documents; a float is a share of all documents."""
    return limit if isinstance(limit, Integral) else limit * n_documents

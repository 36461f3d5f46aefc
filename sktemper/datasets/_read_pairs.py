"""Readers of files with one document per line, as pairs index:value."""

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np
from scipy import sparse

from .._utils._csr import is_canonical
from .._utils._typing import Int, StrPath
from ._arguments import LARGEST_SIZE, checked_size, refuse_argument
from ._batches import Batches, Lines, refuse_line, words_of

#: Pattern of a line: its first field, which is not a pair; the optional id of a query,
#: which occurs in the SVMlight format; and pairs of an index and a value.
LINE = re.compile(
    rb"([^\s:]+)(?:\s+qid:\d+(?!\S))?"
    rb"((?:\s+\d+:[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?!\S))*+)\s*"
)
#: Maximum number of digits of the number of pairs at the start of a line of LDA-C.
MOST_DIGITS = 18


def read_svmlight(
    path: StrPath,
    *,
    n_features: Int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
) -> Iterable:
    r"""Read the rows of a file in the SVMlight (LIBSVM) format, in batches.

    The targets are ignored.

    Parameters
    ----------
    path : str or path
        The file, which may be compressed by gzip.
    n_features : int, default=None
        Number of columns.  None finds it from the largest index, in an additional pass
        over the file.
    zero_based : bool or "auto", default="auto"
        Whether indices count from 0.  "auto" means True if the index 0 occurs, which an
        additional pass over the file finds out.

    Returns
    -------
    batches : iterable of CSR arrays of float64
        Batches for `write_counts`.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If an argument is invalid.  During reading: if a line cannot be parsed, has an
        index that is out of range or occurs twice, or has a value that is negative or
        not finite.  The message names the file and the line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sktemper.datasets import read_svmlight
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "counts.svm"
    ...     _ = path.write_text("+1 1:5 3:1\n-1 2:4\n")
    ...     [X.toarray().tolist() for X in read_svmlight(path)]
    [[[5.0, 0.0, 1.0], [0.0, 4.0, 0.0]]]
    """
    n_features = checked_size(n_features, "n_features", optional=True)
    is_known = isinstance(zero_based, (bool, np.bool_))
    if not is_known and not (isinstance(zero_based, str) and zero_based == "auto"):
        refuse_argument("zero_based", "True, False or 'auto'", zero_based)
    pairs = _Pairs(Lines(path))

    def read():
        first, size = int(not zero_based) if is_known else None, n_features
        if first is None or size is None:
            least, largest = pairs.least_and_largest()
            first = int(least > 0) if first is None else first
            size = pairs.n_features(first, largest) if size is None else size
        return pairs.matrices(first, size)

    return Batches(read)


def read_lda_c(
    path: StrPath, vocab: StrPath | None = None, *, n_features: Int | None = None
) -> Iterable:
    r"""Read counts in the LDA-C format, as gensim's `BleiCorpus` does, in batches.

    Each line is a document: the number of different words, followed by ``word:count``
    for each of these words.  A word is given by its index, from 0.

    Parameters
    ----------
    path : str or path
        The file, which may be compressed by gzip.
    vocab : str or path, default=None
        File with one word per line.
    n_features : int, default=None
        Number of columns.  None takes the number of words in ``vocab``.  Without
        ``vocab``, an additional pass over the file finds the number.

    Returns
    -------
    batches : iterable of CSR arrays of float64
        Batches for `write_counts`, with the words as ``feature_names``.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If an argument is invalid, or ``vocab`` does not have ``n_features`` words.
        During reading: if a line cannot be parsed, does not have the number of words
        that it announces, has an index that is out of range or occurs twice, or has a
        count that is negative or not finite.  The message names the file and the line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sktemper.datasets import read_lda_c
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "corpus.lda-c"
    ...     _ = path.write_text("2 0:5 2:1\n1 1:4\n")
    ...     [X.toarray().tolist() for X in read_lda_c(path)]
    [[[5.0, 0.0, 1.0], [0.0, 4.0, 0.0]]]
    """
    n_features = checked_size(n_features, "n_features", optional=True)
    pairs, names = _Pairs(Lines(path), counted=True), words_of(vocab)
    if names is not None and n_features not in (None, len(names)):
        raise ValueError(
            f"{vocab} has {len(names)} words, but n_features is {n_features}."
        )
    size = n_features if names is None else len(names)

    def read():
        known = size
        if known is None:
            known = pairs.n_features(0, pairs.least_and_largest()[1])
        return pairs.matrices(0, known)

    return Batches(read, names)


class _Chunk(NamedTuple):
    """Parsed lines of a file.

    Attributes
    ----------
    numbers : tuple of int
        Line numbers in the file.
    lines : tuple of bytes
    sizes : ndarray of shape (n_lines,)
        The number of pairs of each line.
    indices, values : ndarray of shape (n_pairs,)
        The pairs of all lines, one line after another.
    """

    numbers: list
    lines: list
    sizes: np.ndarray
    indices: np.ndarray
    values: np.ndarray


class _Pairs:
    """Lines of pairs in a file, without comments and empty lines; each line is a row.

    Parameters
    ----------
    lines : Lines
    counted : bool, default=False
        Whether a line begins with the number of its pairs.
    """

    def __init__(self, lines, counted=False):
        self.lines, self.counted = lines, counted

    def least_and_largest(self):
        """Return the least and the largest index; 0 and -1 if there is no index."""
        found = [
            (int(chunk.indices.min()), int(chunk.indices.max()))
            for chunk in self._chunks()
            if len(chunk.indices)
        ]
        if not found:
            return 0, -1
        least, largest = zip(*found, strict=True)
        return min(least), max(largest)

    def n_features(self, first, largest):
        """Return the number of columns; indices count from ``first``.

        Raises
        ------
        ValueError
            If there is no index, or the largest index is too large.
        """
        if largest < 0:
            raise ValueError(
                f"{self.lines.path} has no pairs, so that the number of columns is "
                "unknown; give n_features."
            )
        n_features = largest + 1 - first
        if n_features > LARGEST_SIZE:
            raise ValueError(
                f"{self.lines.path} has indices from {first} to {largest}, which are "
                f"more than {LARGEST_SIZE:,} columns."
            )
        return n_features

    def matrices(self, first, n_features):
        """Yield CSR arrays of ``n_features`` columns; indices count from ``first``."""
        for chunk in self._chunks():
            indices = chunk.indices - first
            wrong = (indices < 0) | (indices >= n_features)
            last = n_features + first - 1
            self._refuse(chunk, wrong, f"indices from {first} to {last}")
            starts = np.concatenate([[0], np.cumsum(chunk.sizes)])
            self._check_distinct(chunk, starts)
            yield sparse.csr_array(
                (chunk.values, indices.astype(np.int32), starts),
                shape=(len(chunk.lines), n_features),
            )

    def _check_distinct(self, chunk, starts):
        """Raise if a line has an index twice."""
        if is_canonical(starts, chunk.indices):
            return
        rows = np.repeat(np.arange(len(chunk.sizes)), chunk.sizes)
        order = np.lexsort((chunk.indices, rows))
        indices = chunk.indices[order]
        same = np.zeros(len(indices), dtype=bool)
        same[1:] = (indices[1:] == indices[:-1]) & (rows[1:] == rows[:-1])
        self._refuse(chunk, same, "each index once")

    def _chunks(self):
        for start, lines in self.lines:
            lines = [line.split(b"#", 1)[0].strip() for line in lines]
            kept = [(number, line) for number, line in enumerate(lines, start) if line]
            if kept:
                numbers, lines = zip(*kept, strict=True)
                yield self._parsed(numbers, lines)

    def _parsed(self, numbers, lines):
        matches = [LINE.fullmatch(line) for line in lines]
        if None in matches:
            first = "the number of words" if self.counted else "a target"
            place = matches.index(None)
            expected = f"{first} and pairs index:value"
            refuse_line(self.lines.path, numbers[place], lines[place], expected)
        pairs = [match[2] for match in matches]
        sizes = np.array([one.count(b":") for one in pairs])
        text = b"".join(pairs).replace(b":", b" ")
        table = np.fromstring(text, sep=" ").reshape(sizes.sum(), 2)
        indices, values = np.ascontiguousarray(table.T)
        chunk = _Chunk(numbers, lines, sizes, indices, values)
        self._refuse(chunk, indices > LARGEST_SIZE, f"indices up to {LARGEST_SIZE:,}")
        self._refuse(
            chunk,
            ~((values >= 0) & (values < np.inf)),
            "values that are finite and at least 0",
        )
        if self.counted:
            self._check_sizes(chunk, [match[1] for match in matches])
        return chunk._replace(indices=indices.astype(np.int64))

    def _refuse(self, chunk, wrong, expected):
        """Raise an error for the line of the first wrong pair, if a pair is wrong."""
        if wrong.any():
            ends = np.cumsum(chunk.sizes)
            place = int(np.searchsorted(ends, wrong.argmax(), side="right"))
            line = chunk.lines[place]
            refuse_line(self.lines.path, chunk.numbers[place], line, expected)

    def _check_sizes(self, chunk, firsts):
        """Raise if the number of pairs of a line differs from its first field."""
        for number, line, size, first in zip(
            chunk.numbers, chunk.lines, chunk.sizes, firsts, strict=True
        ):
            is_number = first.isdigit() and len(first) <= MOST_DIGITS
            if not is_number or int(first) != size:
                expected = f"{size} as the number of words"
                refuse_line(self.lines.path, number, line, expected)

"""Readers of files with one entry per line: UCI bags of words, and Matrix Market."""

from collections.abc import Iterable
from typing import Literal

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import StrOptions, validate_params

from .._utils._typing import StrPath
from ._arguments import LARGEST_SIZE
from ._batches import Batches, Lines, refuse_line, words_of

#: Maximum number of rows of a batch, so that rows without entries use little memory.
EMPTY_ROWS = 2**20
#: The maximum number of rows in a header is `MOST_ROWS`, or `ROWS_PER_ENTRY` times the
#: number of entries if this product is larger.
MOST_ROWS, ROWS_PER_ENTRY = 2**24, 100
#: Maximum number of digits of a number in a header.
MOST_DIGITS = 18


def read_uci(docword: StrPath, vocab: StrPath | None = None) -> Iterable:
    r"""Read counts in the UCI format of bags of words, in batches.

    The first three lines are the number of documents, the number of words and the
    number of entries.  Each further line has the index of a document, the index of a
    word, and a count.  Indices begin at 1, and lines are sorted by document.

    Parameters
    ----------
    docword : str or path
        The file of counts, which may be compressed by gzip.
    vocab : str or path, default=None
        File with one word per line.

    Returns
    -------
    batches : iterable of CSR arrays
        Batches for `write_counts`, with the words as ``feature_names``.  A document
        without words is an empty row.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the files contradict each other, or the first three lines announce more than
        the file can contain.  During reading: if a line is not an entry, a count is
        negative, or the file is truncated.  The message names the file and the line.

    Notes
    -----
    An entry takes at least six bytes, which limits the number of entries of a file.
    Documents without words take no bytes.  Therefore the number of documents has
    another limit: 16,777,216, or 100 times the number of entries if this is larger.

    References
    ----------
    .. [1] D. Newman, "Bag of Words", UCI Machine Learning Repository, 2008.
       https://archive.ics.uci.edu/dataset/164/bag+of+words

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sktemper.datasets import read_uci
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "docword.txt"
    ...     _ = path.write_text("2\n3\n3\n1 1 5\n1 3 1\n2 2 4\n")
    ...     [X.toarray().tolist() for X in read_uci(path)]
    [[[5, 0, 1]], [[0, 4, 0]]]
    """
    lines = Lines(docword, "docword")
    header = []
    for number, line in _first_lines(lines):
        expected = "the number of documents, words or entries"
        header.append((number, line, *_whole_numbers(lines, number, line, 1, expected)))
        if len(header) == 3:
            break
    if len(header) < 3:
        raise ValueError(f"{lines.path} is cut off in its first three lines.")
    _check_header(lines, header, 3)
    sizes = [size for _, _, size in header]
    names = words_of(vocab)
    if names is not None and len(names) != sizes[1]:
        raise ValueError(
            f"{vocab} has {len(names)} words, but {lines.path} announces {sizes[1]}."
        )
    entries = _Entries(lines, number, sizes, np.int64, 3, "rows")
    return Batches(entries.batches, names)


@validate_params(
    {"documents": [StrOptions({"rows", "columns"})]},
    prefer_skip_nested_validation=True,
)
def read_matrix_market(
    path: StrPath,
    vocab: StrPath | None = None,
    *,
    documents: Literal["rows", "columns"] = "rows",
) -> Iterable:
    r"""Read counts from a sparse matrix in the Matrix Market format, in batches.

    Parameters
    ----------
    path : str or path
        The file, which may be compressed by gzip, such as a file that gensim's
        `MmCorpus` wrote.
    vocab : str or path, default=None
        File with one word per line.
    documents : {"rows", "columns"}, default="rows"
        Whether the documents, which are the rows of the result, are rows or columns of
        the matrix in the file.  The entries must be sorted by document.

    Returns
    -------
    batches : iterable of CSR arrays
        Batches for `write_counts`, with the words as ``feature_names``.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is of another kind, or announces more than it can contain.  During
        reading: if a line is not an entry, a count is negative or not finite, entries
        are out of order, or the file is truncated.  The message names the file and the
        line.

    Notes
    -----
    An entry takes at least six bytes, or four without a value, which limits the number
    of entries of a file.  Rows without entries take no bytes.  Therefore the number of
    rows has another limit: 16,777,216, or 100 times the number of entries if this is
    larger.

    References
    ----------
    .. [1] R. F. Boisvert, R. Pozo, K. A. Remington, "The Matrix Market exchange
       formats: initial design", NIST Interagency Report 5935, 1996.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sktemper.datasets import read_matrix_market
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "counts.mtx"
    ...     text = "%%MatrixMarket matrix coordinate integer general\n1 3 1\n1 2 4\n"
    ...     _ = path.write_text(text)
    ...     [X.toarray().tolist() for X in read_matrix_market(path)]
    [[[0, 4, 0]]]
    """
    lines = Lines(path)
    field, sizes = None, None
    for number, line in _first_lines(lines):
        if number == 1:
            field = _field(lines.path, line)
        elif line.strip() and not line.startswith(b"%"):
            expected = "the numbers of rows, columns and entries"
            sizes = _whole_numbers(lines, number, line, 3, expected)
            break
    if sizes is None:
        raise ValueError(f"{lines.path} is cut off before its sizes.")
    if documents == "columns":
        sizes = [sizes[1], sizes[0], sizes[2]]
    n_fields = 2 if field == b"pattern" else 3
    _check_header(lines, [(number, line, size) for size in sizes], n_fields)
    names = words_of(vocab)
    if names is not None and len(names) != sizes[1]:
        raise ValueError(
            f"{vocab} has {len(names)} words, but {lines.path} has {sizes[1]}."
        )
    dtype = np.float64 if field == b"real" else np.int64
    return Batches(
        _Entries(lines, number, sizes, dtype, n_fields, documents).batches, names
    )


def _first_lines(lines):
    for first, some in lines:
        yield from enumerate(some, first)


def _whole_numbers(lines, number, line, n_numbers, expected):
    fields = line.split()
    if len(fields) != n_numbers or not all(
        field.isdigit() and len(field) <= MOST_DIGITS for field in fields
    ):
        refuse_line(lines.path, number, line, expected)
    return [int(field) for field in fields]


def _check_header(lines, header, n_fields):
    """Raise if a header announces more than the file can contain.

    Parameters
    ----------
    lines : Lines
    header : list of (int, bytes, int)
        Line number, line and value of three sizes: the number of rows, the number of
        columns and the number of entries.
    n_fields : int
        Number of fields of an entry.  Each takes at least a digit and a separator.
    """
    n_entries, n_bytes = header[2][2], lines.most_bytes
    largest = {
        "rows": max(MOST_ROWS, ROWS_PER_ENTRY * n_entries),
        "columns": LARGEST_SIZE,
        "entries": (n_bytes + 1) // (2 * n_fields),
    }
    reasons = {
        "rows": f"the file announces {n_entries:,} entries",
        "columns": "column indices are int32",
        "entries": f"the file has at most {n_bytes:,} bytes; it may be cut off",
    }
    # entries first, because the limit of rows depends on the number of entries
    for place, what in ((2, "entries"), (0, "rows"), (1, "columns")):
        number, line, size = header[place]
        least = int(what != "entries")
        if not least <= size <= largest[what]:
            expected = f"from {least} to {largest[what]:,} {what}, as {reasons[what]}"
            refuse_line(lines.path, number, line, expected)


def _field(path, line):
    """Return the type of the values of a Matrix Market file."""
    words = line.lower().split()
    if words[:3] != [b"%%matrixmarket", b"matrix", b"coordinate"]:
        refuse_line(path, 1, line, "'%%MatrixMarket matrix coordinate'")
    is_known = len(words) == 5 and words[3] in (b"integer", b"real", b"pattern")
    if not is_known or words[4] != b"general":
        refuse_line(
            path, 1, line, "values that are integer, real or pattern, and 'general'"
        )
    return words[3]


class _Entries:
    """Entries of a matrix, one per line: row and column (both from 1), and value.

    The lines are sorted by row.

    Parameters
    ----------
    lines : Lines
    n_before : int
        Number of lines before the first entry.
    sizes : list of int
        The number of rows, of columns and of entries.
    dtype : dtype
        Type of the values.
    n_fields : int
        Number of fields of a line; with 2, the values are omitted and are 1.
    documents : {"rows", "columns"}
        "rows" if the first number of a line is the row, "columns" if it is the second.
    """

    def __init__(self, lines, n_before, sizes, dtype, n_fields, documents):
        self.lines, self.n_before, self.dtype = lines, n_before, dtype
        self.n_rows, self.n_columns, self.n_entries = sizes
        self.n_fields, self.by_column = n_fields, documents == "columns"
        self.expected = "row, column and value" if n_fields == 3 else "row and column"

    def batches(self):
        """Yield the rows as CSR arrays; no row is divided between two arrays."""
        n_done, n_entries = 0, 0
        left = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, self.dtype)
        for new in self._chunks():
            n_entries += len(new[0])
            left = [np.concatenate(pair) for pair in zip(left, new, strict=True)]
            is_done = left[0] < left[0][-1]
            if is_done.any():
                done = [values[is_done] for values in left]
                left = [values[~is_done] for values in left]
                yield from self._rows(done, n_done, left[0][0])
                n_done = left[0][0]
        if n_entries != self.n_entries:
            raise ValueError(
                f"{self.lines.path} has {n_entries} entries, but its header "
                f"announces {self.n_entries}: it may be cut off."
            )
        yield from self._rows(left, n_done, self.n_rows)

    def _rows(self, entries, start, stop):
        """Yield the rows from ``start`` to ``stop``, at most `EMPTY_ROWS` at a time."""
        rows, columns, values = entries
        ends = [*range(start + EMPTY_ROWS, stop, EMPTY_ROWS), stop]
        for end in ends:
            if end == start:
                return
            bounds = np.searchsorted(rows, np.arange(start, end + 1))
            part = slice(bounds[0], bounds[-1])
            yield sparse.csr_array(
                (values[part], columns[part], bounds - bounds[0]),
                shape=(end - start, self.n_columns),
            )
            start = end

    def _chunks(self):
        """Yield the row and column indices (from 0) and values of groups of lines."""
        last = 0
        for first, lines in self.lines:
            numbers = range(first, first + len(lines))
            kept = [
                (n, line)
                for n, line in zip(numbers, lines, strict=True)
                if n > self.n_before and line.strip()
            ]
            if not kept:
                continue
            numbers, lines = zip(*kept, strict=True)
            table = self.lines.table(
                lines, numbers, self.dtype, self.n_fields, self.expected
            )
            rows, columns = table[:, :2].T
            if self.by_column:
                rows, columns = columns, rows
            ones = np.ones(len(rows), self.dtype)
            values = table[:, 2] if self.n_fields == 3 else ones
            self._check(rows, columns, values, last, numbers, lines)
            last = rows[-1]
            yield rows.astype(np.int64) - 1, columns.astype(np.int64) - 1, values

    def _check(self, rows, columns, values, last, numbers, lines):
        """Raise if a line is outside of the matrix, out of order, or not a count."""

        def refuse(wrong, expected):
            if wrong.any():
                place = wrong.argmax()
                refuse_line(self.lines.path, numbers[place], lines[place], expected)

        for places, size in ((rows, self.n_rows), (columns, self.n_columns)):
            wrong = ~((places >= 1) & (places <= size)) | (places != np.rint(places))
            refuse(wrong, f"whole numbers from 1 to {size}")
        refuse(
            ~((values >= 0) & (values < np.inf)),
            "a count that is finite and at least 0",
        )
        what = "columns" if self.by_column else "rows"
        refuse(
            np.diff(rows, prepend=last) < 0,
            f"the entries in the order of the {what}; sort the file",
        )

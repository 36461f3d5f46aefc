"""Readers of counts: UCI, Matrix Market, SVMlight, LDA-C and corpora of gensim."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import islice
from typing import Literal

import numpy as np
from scipy import sparse

from .._utils._arguments import is_integer, refuse
from .._utils._constraints import StrOptions, check_arguments
from .._utils._csr import is_plain
from .._utils._docstrings import completed_by
from .._utils._typing import Int, StrPath
from ._lines import (
    LARGEST_SIZE,
    SIZE,
    Batches,
    NumberedLines,
    TextFile,
    first_that_fails,
    words_of,
)
from ._shards import MOST_ROWS

#: The maximum number of rows in a header is `MOST_EMPTY`, or `ROWS_PER_ENTRY` times the
#: number of entries if this product is larger; the maximum number of columns without a
#: word in `id2word` is also `MOST_EMPTY`.
MOST_EMPTY, ROWS_PER_ENTRY = 2**24, 100
#: Maximum number of digits of a number in a header.
MOST_DIGITS = 18
#: Largest compression ratio of gzip.
LARGEST_RATIO = 1032
#: Pattern of a line of Matrix Market without content.
COMMENT = re.compile(rb"%|\s*$")
#: Pattern of a line: its first field, which is not a pair; the optional id of a query,
#: which occurs in the SVMlight format; and pairs of an index and a value.
PAIRS = re.compile(
    rb"([^\s:]+)(?:\s+qid:\d+(?!\S))?"
    rb"((?:\s+\d+:[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?!\S))*+)\s*"
)


def read_uci(docword: StrPath, vocab: StrPath | None = None) -> Iterable:
    r"""Read counts in the UCI format of bags of words, in batches.

    The first three lines [1]_ are the number of documents, the number of words and the
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
    A file can contain as many entries as its size allows.  The limit of documents is
    16,777,216, or 100 times the number of entries if this is larger.

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
    lines = TextFile(docword)
    header = list(islice(_single_lines(lines), 3))
    expected = "the number of documents, words or entries"
    sizes = [size for line in header for size in _whole_numbers(line, 1, expected)]
    if len(sizes) < 3:
        raise ValueError(f"{lines.path} is cut off in its first three lines.")
    return _checked_batches(lines, header, sizes, vocab, np.int64)


@completed_by(read_uci, "Returns")
@check_arguments(documents=[StrOptions({"rows", "columns"})])
def read_matrix_market(
    path: StrPath,
    vocab: StrPath | None = None,
    *,
    documents: Literal["rows", "columns"] = "rows",
) -> Iterable:
    r"""Read counts from a sparse matrix in the Matrix Market format, in batches.

    The format [1]_ is that of `scipy.io.mmwrite` and of gensim.

    Parameters
    ----------
    path : str or path
        The file, which may be compressed by gzip, such as a file that gensim's
        `MmCorpus` wrote.
    documents : {"rows", "columns"}, default="rows"
        Whether the documents, which are the rows of the result, are rows or columns of
        the matrix in the file.  The entries must be sorted by document.

    Raises
    ------
    FileNotFoundError, ValueError
        As in `read_uci`; also if the file is of another kind, a count is not finite, or
        entries are out of order.

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
    lines = TextFile(path)
    head = _single_lines(lines)
    field = _field(first) if (first := next(head, None)) else None
    line = next((line for line in head if not COMMENT.match(line.lines[0])), None)
    if line is None:
        raise ValueError(f"{lines.path} is cut off before its sizes.")
    sizes = _whole_numbers(line, 3, "the numbers of rows, columns and entries")
    by_column = documents == "columns"
    if by_column:
        sizes = [sizes[1], sizes[0], sizes[2]]
    n_fields = 2 if field == b"pattern" else 3
    dtype = np.float64 if field == b"real" else np.int64
    header = [line] * 3
    return _checked_batches(lines, header, sizes, vocab, dtype, n_fields, by_column)


@check_arguments(n_features=[SIZE, None], zero_based=["boolean", StrOptions({"auto"})])
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
    lines = TextFile(path)
    first = None if isinstance(zero_based, str) else int(not zero_based)
    parsed = partial(_parsed_lines, lines)
    return Batches(lambda: _pair_batches(parsed, lines.path, first, n_features))


@completed_by(read_matrix_market)
@check_arguments(n_features=[SIZE, None])
def read_lda_c(
    path: StrPath, vocab: StrPath | None = None, *, n_features: Int | None = None
) -> Iterable:
    r"""Read counts in the LDA-C format, as gensim's `BleiCorpus` does, in batches.

    Each line is a document: the number of different words, followed by ``word:count``
    for each of these words.  A word is given by its index, from 0.  A document without
    words is a line "0"; blank lines are no documents, and are left out.

    Parameters
    ----------
    n_features : int, default=None
        Number of columns.  None takes the number of words in ``vocab``.  Without
        ``vocab``, an additional pass over the file finds the number.

    Returns
    -------
    batches : iterable of CSR arrays of float64
        Batches for `write_counts`, with the words as ``feature_names``.

    Raises
    ------
    FileNotFoundError, ValueError
        As in `read_svmlight`; also if ``vocab`` does not have ``n_features`` words, or
        a line does not have the number of words that it announces.

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
    lines, names = TextFile(path), words_of(vocab, n_features, "n_features is")
    size = n_features if names is None else len(names)
    parsed = partial(_parsed_lines, lines, counted=True)
    return Batches(lambda: _pair_batches(parsed, lines.path, 0, size), names)


@check_arguments(n_features=[SIZE, None], batch_size=[SIZE])
def read_gensim(
    corpus: Iterable,
    id2word: Mapping | Sequence | None = None,
    *,
    n_features: Int | None = None,
    batch_size: Int = 10_000,
) -> Iterable:
    """Read a gensim corpus, or any iterable of bags of words, in batches.

    Parameters
    ----------
    corpus : iterable
        Documents, such as an `MmCorpus`: lists of pairs (id, count) of a word, whose
        ids from 0 on become columns.  A generator can be read only once, and requires
        ``n_features`` or ``id2word``.
    id2word : mapping or sequence, default=None
        Words by id, such as a `Dictionary`.  None takes the attribute ``id2word`` of
        the corpus, if it exists.
    n_features : int, default=None
        Number of columns.  None takes the number of words in ``id2word``, or the
        corpus's ``num_terms``.  If both are missing, an additional pass over the corpus
        finds the number.
    batch_size : int, default=10,000
        Number of documents in a batch.

    Returns
    -------
    batches : iterable of CSR arrays
        Batches for `write_counts`, with the words as ``feature_names``.

    Raises
    ------
    TypeError
        If the corpus cannot be iterated over.
    ValueError
        If another argument is invalid, or the corpus is a generator and the number of
        columns is unknown.  During reading: if the corpus is a generator that was read
        before, or a document is not a list of pairs, has an id out of range, or has a
        count that is negative or not finite.  The message gives its index, from 0.

    Examples
    --------
    >>> from sktemper.datasets import read_gensim
    >>> corpus = [[(0, 5), (2, 1)], [], [(1, 4)]]
    >>> [X.toarray().tolist() for X in read_gensim(corpus, batch_size=2)]
    [[[5.0, 0.0, 1.0], [0.0, 0.0, 0.0]], [[0.0, 4.0, 0.0]]]
    """
    if not isinstance(corpus, Iterable) or isinstance(corpus, (str, bytes)):
        raise TypeError(
            "corpus must be an iterable of documents, each a list of pairs (word, "
            f"count), got {type(corpus).__name__}."
        )
    if id2word is None:
        id2word = getattr(corpus, "id2word", None)
    names = _names_of_ids(id2word, n_features)
    size = n_features if names is None else len(names)
    if size is None:
        size = getattr(corpus, "num_terms", None)
    is_once = isinstance(corpus, Iterator)
    if is_once and size is None:
        raise ValueError(
            "corpus is a generator, which would have to be read twice to find the "
            "number of columns. Give n_features or id2word, or a list."
        )
    parsed = partial(_parsed_bags, [corpus], is_once, batch_size)
    return Batches(lambda: _pair_batches(parsed, "The corpus", 0, size), names)


# -- headers ---------------------------------------------------------------------------


def _single_lines(lines):
    """Yield each line as a chunk."""
    for chunk in lines:
        for place in range(len(chunk.lines)):
            yield chunk.rest(place, place + 1)


def _whole_numbers(line, n_numbers, expected):
    fields = line.lines[0].split()
    if len(fields) != n_numbers or not all(
        field.isdigit() and len(field) <= MOST_DIGITS for field in fields
    ):
        line.refuse(0, expected)
    return [int(field) for field in fields]


def _checked_batches(lines, header, sizes, vocab, dtype, n_fields=3, by_column=False):
    """Return `Batches`; raise if a header announces more than the file can contain.

    ``header`` are the lines with the numbers of rows, of columns and of entries.
    """
    n_bytes = lines.path.stat().st_size * (LARGEST_RATIO if lines.is_zipped else 1)
    most_entries = (n_bytes + 1) // (2 * n_fields)  # a field is a digit and a separator
    most_rows = max(MOST_EMPTY, ROWS_PER_ENTRY * sizes[2])
    for number, least, largest, what in (
        # entries first, because the limit of rows depends on the number of entries
        (2, 0, most_entries, f"entries, as the file has at most {n_bytes:,} bytes"),
        (0, 1, most_rows, f"rows, as the file announces {sizes[2]:,} entries"),
        (1, 1, LARGEST_SIZE, "columns, as column indices are int32"),
    ):
        if not least <= sizes[number] <= largest:
            header[number].refuse(0, f"from {least} to {largest:,} {what}")
    names, last = words_of(vocab, sizes[1], f"{lines.path} announces"), header[-1]
    options = last.numbers[0], sizes, dtype, n_fields, by_column
    return Batches(lambda: _entry_batches(lines, *options), names)


def _field(line):
    words = line.lines[0].lower().split()
    if words[:3] != [b"%%matrixmarket", b"matrix", b"coordinate"]:
        line.refuse(0, "'%%MatrixMarket matrix coordinate'")
    is_known = len(words) == 5 and words[3] in (b"integer", b"real", b"pattern")
    if not is_known or words[4] != b"general":
        line.refuse(0, "values that are integer, real or pattern, and 'general'")
    return words[3]


# -- entries ---------------------------------------------------------------------------


def _entry_batches(lines, n_before, sizes, dtype, n_fields, by_column):
    """Yield the rows of a matrix as CSR arrays; no row is divided between two arrays.

    The entries follow after ``n_before`` lines.  An entry is a line: row and column,
    from 1, and value.  Without values, ``n_fields`` is 2, and all values are 1.  If
    ``by_column``, the column is the first number.  Lines are sorted by row.
    """
    n_rows, n_columns, n_expected = sizes
    rest, n_entries, last = np.empty((0, 3), dtype), 0, 1
    for chunk in lines:
        chunk = chunk.rest(max(n_before + 1 - chunk.numbers[0], 0))
        chunk = chunk.select(bytes.strip)
        if not chunk.lines:
            continue
        expected = "row, column and value" if n_fields == 3 else "row and column"
        table = chunk.table(dtype, n_fields, expected)
        if n_fields == 2:
            table = np.column_stack([table, np.ones(len(table), dtype)])
        if by_column:
            table = table[:, [1, 0, 2]]
        rows, columns, values = table.T
        for numbers, size in ((rows, n_rows), (columns, n_columns)):
            valid = (numbers >= 1) & (numbers <= size) & (numbers == np.rint(numbers))
            chunk.refuse_any(~valid, f"whole numbers from 1 to {size}")
        valid = (values >= 0) & (values < np.inf)
        chunk.refuse_any(~valid, "a count that is finite and at least 0")
        order = f"the entries in the order of the {'columns' if by_column else 'rows'}"
        chunk.refuse_any(np.diff(rows, prepend=last) < 0, f"{order}; sort the file")
        n_entries += len(table)
        before, last = last, int(rows[-1])
        rest = np.concatenate([rest, table])
        end = np.searchsorted(rest[:, 0], last)  # the last row may continue
        yield from _csr_rows(rest[:end], before, last, n_columns)
        rest = rest[end:]
    if n_entries != n_expected:
        raise ValueError(
            f"{lines.path} has {n_entries} entries, but its header announces "
            f"{n_expected}: it may be cut off."
        )
    yield from _csr_rows(rest, last, n_rows + 1, n_columns)


def _csr_rows(entries, start, stop, n_columns):
    """Yield the rows from ``start`` to ``stop``, at most `MOST_ROWS` at a time."""
    rows, columns, values = np.ascontiguousarray(entries.T)
    columns = columns.astype(np.int64) - 1
    for first in range(start, stop, MOST_ROWS):
        end = min(first + MOST_ROWS, stop)
        bounds = np.searchsorted(rows, np.arange(first, end + 1))
        part = slice(bounds[0], bounds[-1])
        yield sparse.csr_array(
            (values[part], columns[part], bounds - bounds[0]),
            shape=(end - first, n_columns),
        )


# -- pairs -----------------------------------------------------------------------------


def _pair_batches(parsed, name, first, n_features):
    """Yield the rows of pairs as CSR arrays.

    ``parsed()`` yields chunks of rows; the number of pairs of each row; and the indices
    and values of all pairs.  If the smallest index ``first`` is None, it is 0 or 1.
    """
    if first is None or n_features is None:
        first, n_features = _range_of_indices(parsed(), name, first, n_features)
    last = int(n_features) + first - 1
    for chunk, sizes, indices, values in parsed():
        wrong = (indices < first) | (indices > last)
        _refuse_pair(chunk, sizes, wrong, f"indices from {first} to {last}")
        wrong = ~((values >= 0) & (values < np.inf))
        _refuse_pair(chunk, sizes, wrong, "values that are finite and at least 0")
        starts = np.append(0, np.cumsum(sizes))
        indices = (indices - first).astype(np.int32)
        yield sparse.csr_array((values, indices, starts), (len(sizes), n_features))


def _refuse_pair(chunk, sizes, wrong, expected):
    """Raise an error for the row of the first wrong pair, if a pair is wrong."""
    if wrong.any():
        place = np.searchsorted(np.cumsum(sizes), wrong.argmax(), side="right")
        chunk.refuse(int(place), expected)


def _range_of_indices(parsed, name, first, n_features):
    """Return the smallest index that may occur, and the number of columns."""
    least, largest = LARGEST_SIZE, -1
    for _, _, indices, _ in parsed:
        least = min(least, int(indices.min(initial=least)))
        largest = max(largest, int(indices.max(initial=largest)))
    if first is None:
        first = int(0 < least <= largest)
    if n_features is None:
        if largest < 0:
            raise ValueError(
                f"{name} has no pairs, so that the number of columns is unknown; give "
                "n_features."
            )
        n_features = largest + 1 - first
    return first, n_features


def _parsed_lines(lines, counted=False):
    """Yield rows for `_pair_batches`, one for each line, without comments.

    Lines that are ``counted`` begin with the number of their pairs.
    """
    for chunk in lines:
        stripped = [line.split(b"#", 1)[0].strip() for line in chunk.lines]
        chunk = chunk._replace(lines=stripped).select(len)
        matches = [PAIRS.fullmatch(line) for line in chunk.lines]
        if None in matches:
            expected = "the number of words" if counted else "a target"
            chunk.refuse(matches.index(None), f"{expected} and pairs index:value")
        if not matches:
            continue
        pairs = [match[2] for match in matches]
        sizes = np.array([one.count(b":") for one in pairs])
        text = b"".join(pairs).replace(b":", b" ")
        table = np.fromstring(text, sep=" ").reshape(sizes.sum(), 2)
        indices, values = np.ascontiguousarray(table.T)
        wrong = indices >= LARGEST_SIZE
        _refuse_pair(chunk, sizes, wrong, f"indices up to {LARGEST_SIZE - 1:,}")
        indices = indices.astype(np.int64)
        starts = np.append(0, np.cumsum(sizes))
        if not is_plain(starts, indices, LARGEST_SIZE):
            rows = np.repeat(np.arange(len(sizes)), sizes)
            order = np.lexsort((indices, rows))
            pairs = np.array([rows, indices])[:, order]
            same = (np.diff(pairs, prepend=-1) == 0).all(axis=0)
            _refuse_pair(chunk, sizes, same, "each index once")
        if counted:
            for place, size in enumerate(sizes):
                if matches[place][1] != b"%d" % size:
                    chunk.refuse(place, f"{size} as the number of words")
        yield chunk, sizes, indices, values


# -- bags of words ---------------------------------------------------------------------


def _names_of_ids(id2word, n_features):
    """Return the words as a list, or None; a missing word becomes ``#`` and its id."""
    if id2word is None:
        return None
    if isinstance(id2word, (str, bytes, Set)) or not isinstance(id2word, Iterable):
        refuse("id2word", "a mapping or a sequence of words", id2word)
    is_mapping = hasattr(id2word, "items")
    words = dict(id2word.items() if is_mapping else enumerate(id2word))
    if not words:
        return None
    last = (n_features or len(words) + MOST_EMPTY) - 1
    for number in words:
        if not is_integer(number) or not 0 <= number <= last:
            raise ValueError(
                f"id2word has a word with the number {number!r}; expected whole "
                f"numbers from 0 to {last}. n_features changes this limit."
            )
    size = n_features or max(words) + 1
    return [str(words.get(number, f"#{number}")) for number in range(size)]


def _parsed_bags(unread, is_once, batch_size):
    """Yield rows for `_pair_batches`, one for each document.

    ``unread`` is a list with the corpus, which is empty after a corpus is read that can
    be read only once.
    """
    if not unread:
        raise ValueError(
            "corpus is a generator, which was read before. Call read_gensim with a "
            "new generator, or with a list of the documents."
        )
    documents, first = iter(unread.pop() if is_once else unread[0]), 0
    while some := list(islice(documents, batch_size)):
        bags = list(map(_as_list, some))
        numbers, pairs = range(first, first + len(bags)), _pairs_of(bags)
        chunk = NumberedLines("Document", numbers, some)
        if pairs is None:
            place = first_that_fails(bags, lambda bags: _pairs_of(bags) is None)
            chunk.refuse(place, "a list of pairs (word, count)")
        sizes = np.array([len(bag) for bag in bags])
        words, counts = pairs.T
        wrong = ~((words == np.rint(words)) & (np.abs(words) < LARGEST_SIZE))
        _refuse_pair(chunk, sizes, wrong, "words that are numbered by whole numbers")
        yield chunk, sizes, words.astype(np.int64), counts
        first += len(bags)


def _as_list(bag):
    try:
        return list(bag)
    except TypeError:
        return None


def _pairs_of(bags):
    """Return an array of shape (n_pairs, 2), or None if an item is not a pair."""
    try:
        pairs = [pair for bag in bags for pair in bag]
        table = np.array(pairs)
    except (TypeError, ValueError):
        return None
    if not pairs:
        return np.empty((0, 2))
    is_table = table.dtype.kind in "buif" and table.shape == (len(pairs), 2)
    return table.astype(np.float64) if is_table else None

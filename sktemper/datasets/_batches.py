"""Batches that readers of files return, and lines of text files."""

import gzip
import re
import zlib

import numpy as np

from ._arguments import checked_file

#: Number of bytes that are parsed at a time, and largest length of a line in bytes.
BYTES_AT_ONCE, LONGEST_LINE = 2**24, 2**28
#: Largest compression ratio of gzip.
LARGEST_RATIO = 1032
#: The byte order mark of UTF-8.
BOM = b"\xef\xbb\xbf"
#: A character that does not occur in integers.
NOT_WHOLE = re.compile(rb"[^\s0-9+-]")


class Batches:
    """Iterable of the batches of a file; each iteration reads the file from the start.

    Attributes
    ----------
    feature_names : list of str or None
        Names of the columns, such as words; `write_counts` stores them.
    """

    def __init__(self, read, feature_names=None):
        self._read, self.feature_names = read, feature_names

    def __iter__(self):
        return self._read()


class Lines:
    """The lines of a text file, which may be compressed by gzip.

    A byte order mark of UTF-8 at the beginning of the file is skipped.

    Parameters
    ----------
    path : str or path
    name : str, default="path"
        Name of the argument in error messages.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the path is not a regular file.
    """

    def __init__(self, path, name="path"):
        self.path = checked_file(path, name)
        with self.path.open("rb") as file:
            self.is_zipped = file.read(2) == b"\x1f\x8b"

    @property
    def most_bytes(self):
        """Upper bound of the total length of the lines, from the size of the file."""
        return self.path.stat().st_size * (LARGEST_RATIO if self.is_zipped else 1)

    def __iter__(self):
        """Yield groups of lines: the number of the first line, and a list of lines.

        The lines have no line ends.
        """
        number, begun = 1, []
        with (gzip.open if self.is_zipped else open)(self.path, "rb") as file:
            while data := self._read(file, number):
                data, newline, rest = data.rpartition(b"\n")
                begun.append(data if newline else rest)
                if not newline:
                    self._check_length(begun, number)
                    continue
                lines = _lines_of(b"".join(begun), number)
                begun = [rest]
                yield number, lines
                number += len(lines)
        rest = b"".join(begun)
        if rest and not (number == 1 and rest == BOM):
            yield number, _lines_of(rest, number)

    def _read(self, file, number):
        """Return the next bytes of the file; lines before ``number`` are complete."""
        try:
            return file.read(BYTES_AT_ONCE)
        except (OSError, EOFError, zlib.error) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # an error of the disk, not of the file's content
            raise ValueError(
                f"{self.path} is damaged or cut off after line {number - 1}: {error}."
            ) from error

    def _check_length(self, begun, number):
        if sum(map(len, begun)) > LONGEST_LINE:
            raise ValueError(
                f"{self.path}, line {number}: the line is longer than "
                f"{LONGEST_LINE:,} bytes."
            )

    def table(self, lines, numbers, dtype, n_fields, expected):
        """Return the numbers in lines as an array of shape (n_lines, n_fields).

        Parameters
        ----------
        lines : list of bytes
        numbers : sequence of int
            Line numbers, for error messages.
        dtype : dtype
        n_fields : int
        expected : str
            Description of a valid line, for error messages.
        """
        table = _parsed(lines, dtype, n_fields)
        if table is None:

            def fails(some):
                return _parsed(some, dtype, n_fields) is None

            number = first_that_fails(lines, fails)
            refuse_line(self.path, numbers[number], lines[number], expected)
        return table


def _lines_of(data, number):
    """Return the lines of a piece of a file, whose first line has the line number."""
    data = data.removeprefix(BOM) if number == 1 else data
    return [line.rstrip(b"\r") for line in data.split(b"\n")]


def _parsed(lines, dtype, n_fields):
    """Return the fields of lines as numbers, or None if they cannot be parsed."""
    if not lines:
        return np.empty((0, n_fields), dtype=dtype)
    # numpy before 2.4 reads 1.5 as the integer 1
    if np.dtype(dtype).kind == "i" and NOT_WHOLE.search(b"\n".join(lines)):
        return None
    try:
        table = np.loadtxt(lines, dtype=dtype, comments=None, ndmin=2)
    except (ValueError, OverflowError):
        return None
    return table if table.shape == (len(lines), n_fields) else None


def first_that_fails(lines, fails):
    """Return the index of the first line that cannot be parsed, by bisection."""
    start, stop = 0, len(lines)
    while stop - start > 1:
        middle = (start + stop) // 2
        if fails(lines[start:middle]):
            stop = middle
        else:
            start = middle
    return start


def refuse_line(path, number, line, expected):
    """Raise a ValueError that names the file, and shows the beginning of the line."""
    text = line[:60].decode("utf-8", errors="replace") + "..." * (len(line) > 60)
    raise ValueError(f"{path}, line {number}: expected {expected}, got {text!r}.")


def words_of(path):
    """Return the words of a vocabulary file, one per line; None if the path is None.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not text in UTF-8, or has no words.
    """
    if path is None:
        return None
    words = []
    for number, lines in Lines(path, "vocab"):
        words += decoded(path, number, lines)
    while words and not words[-1]:
        words.pop()
    if not words:
        raise ValueError(f"{path} has no words.")
    return words


def decoded(path, first, lines):
    """Return lines as texts; ``first`` is the line number of the first one.

    Raises
    ------
    ValueError
        If a line is not in UTF-8; the message names the file and the line.
    """
    texts = []
    for number, line in enumerate(lines, first):
        try:
            texts.append(line.decode())
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path}, line {number}: the text is not in UTF-8: {error}."
            ) from error
    return texts

"""Files read in batches: what the readers return, and the lines of text files."""

import gzip
import zlib
from pathlib import Path

import numpy as np

__all__ = ["Batches", "Lines", "refuse_line"]

#: Bytes of lines that are parsed at a time.
BYTES_AT_ONCE = 2**24


class Batches:
    """Batches of a file, read anew each time they are iterated over.

    Attributes
    ----------
    feature_names : list of str or None
        The words behind the columns, which `write_counts` takes over.
    """

    def __init__(self, read, feature_names=None):
        self._read, self.feature_names = read, feature_names

    def __iter__(self):
        return self._read()


class Lines:
    """The lines of a text file, which may be compressed by gzip.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    """

    def __init__(self, path):
        self.path = Path(path)
        with self.path.open("rb") as file:
            is_zipped = file.read(2) == b"\x1f\x8b"
        self.open = gzip.open if is_zipped else open

    def __iter__(self):
        """Yield lists of lines, without their ends, and the number of the first."""
        number = 1
        with self.open(self.path, "rb") as file:
            while True:
                try:
                    lines = file.readlines(BYTES_AT_ONCE)
                except (OSError, EOFError, zlib.error) as error:
                    if isinstance(error, OSError) and error.errno is not None:
                        raise  # the disk's
                    raise ValueError(
                        f"{self.path} is damaged or cut off behind line "
                        f"{number - 1}: {error}."
                    ) from error
                if not lines:
                    return
                yield number, [line.rstrip(b"\r\n") for line in lines]
                number += len(lines)

    def table(self, lines, numbers, dtype, n_fields, expected):
        """Return lines as an array of shape (n_lines, n_fields).

        Parameters
        ----------
        lines : list of bytes
        numbers : sequence of int
            Of the lines, for messages.
        dtype : dtype
        n_fields : int
        expected : str
            What a line has to be.
        """
        table = _parsed(lines, dtype, n_fields)
        if table is None:

            def fails(some):
                return _parsed(some, dtype, n_fields) is None

            number = first_that_fails(lines, fails)
            refuse_line(self.path, numbers[number], lines[number], expected)
        return table


def _parsed(lines, dtype, n_fields):
    """Return the fields of lines as numbers, None if that fails."""
    if not lines:
        return np.empty((0, n_fields), dtype=dtype)
    try:
        table = np.loadtxt(lines, dtype=dtype, comments=None, ndmin=2)
    except (ValueError, OverflowError):
        return None
    return table if table.shape == (len(lines), n_fields) else None


def first_that_fails(lines, fails):
    """Return which line is the first that cannot be parsed, by halving."""
    start, stop = 0, len(lines)
    while stop - start > 1:
        middle = (start + stop) // 2
        if fails(lines[start:middle]):
            stop = middle
        else:
            start = middle
    return start


def refuse_line(path, number, line, expected):
    """Raise a ValueError that names file and line, and shows its beginning."""
    text = line[:60].decode("utf-8", errors="replace") + "..." * (len(line) > 60)
    raise ValueError(f"{path}, line {number}: expected {expected}, got {text!r}.")


def words_of(path):
    """Return the words of a vocabulary, one a line; None if there is no path."""
    if path is None:
        return None
    words = []
    for number, lines in Lines(path):
        try:
            words += [line.decode() for line in lines]
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path}, behind line {number}: the text is not in UTF-8: {error}."
            ) from error
    while words and not words[-1]:
        words.pop()
    return words

"""Lines of text files, and batches that readers return."""

import gzip
import re
import zipfile
import zlib
from itertools import compress
from numbers import Integral
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .._utils._constraints import Interval

#: Number of bytes that are read at a time, and largest length of a line in bytes.
BYTES_AT_ONCE, LONGEST_LINE = 2**24, 2**28
#: Largest number of columns, because column indices are int32.
LARGEST_SIZE = np.iinfo(np.int32).max
#: Constraint of parameters that are numbers of columns or of rows.
SIZE = Interval(Integral, 1, LARGEST_SIZE, closed="both")
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


# -- lines -----------------------------------------------------------------------------


def checked_file(path):
    """Return the path of a file that can be read several times, or raise."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no {path}.")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the path of a file.")
    if not path.is_file():
        raise ValueError(
            f"{path} is a pipe or a device. Readers read a file several times: copy "
            "the data into a regular file."
        )
    return path


class NumberedLines(NamedTuple):
    """Lines of a file, without line ends, or other items, and their numbers.

    ``name`` precedes a number in messages.
    """

    name: str
    numbers: list
    lines: list

    def select(self, keep):
        """Return the chunk with the lines for which ``keep(line)`` is true."""
        kept = list(map(keep, self.lines))
        if all(kept):
            return self
        numbers, lines = (list(compress(part, kept)) for part in self[1:])
        return NumberedLines(self.name, numbers, lines)

    def rest(self, start, stop=None):
        """Return the chunk from one of its lines on."""
        return self._replace(
            numbers=self.numbers[start:stop], lines=self.lines[start:stop]
        )

    def refuse(self, place, expected):
        """Raise a ValueError that names and shows the line with the index ``place``."""
        line = self.lines[place]
        if isinstance(line, bytes):
            line = line[:60].decode(errors="replace") + "..." * (len(line) > 60)
        text = repr(line)
        text = text[:70] + "..." * (len(text) > 70)
        raise ValueError(
            f"{self.name} {self.numbers[place]}: expected {expected}, got {text}."
        )

    def refuse_any(self, wrong, expected):
        """Raise a ValueError for the first line that is wrong, if there is one."""
        if wrong.any():
            self.refuse(int(wrong.argmax()), expected)

    def texts(self):
        """Return the lines as texts; raise a ValueError if one is not in UTF-8."""
        text = b"\n".join(self.lines)
        try:
            return text.decode().split("\n")
        except UnicodeDecodeError as error:
            number = self.numbers[text.count(b"\n", 0, error.start)]
            raise ValueError(
                f"{self.name} {number}: the text is not in UTF-8: {error.reason}."
            ) from error

    def table(self, dtype, n_fields, expected, **options):
        """Return the numbers in the lines as an array of shape (n_lines, n_fields).

        The ``options`` are those of `numpy.loadtxt`.
        """

        def parsed(lines):
            return _parsed(lines, dtype, n_fields, **options)

        table = parsed(self.lines)
        if table is None:
            place = first_that_fails(self.lines, lambda lines: parsed(lines) is None)
            self.refuse(place, expected)
        return table


def _parsed(lines, dtype, n_fields, delimiter=None, usecols=None):
    """Return the fields of lines as numbers, or None if they cannot be parsed."""
    # numpy before 2.4 reads 1.5 as the integer 1
    if np.dtype(dtype).kind == "i" and NOT_WHOLE.search(b"\n".join(lines)):
        return None
    if delimiter == "::":  # numpy takes only delimiters of one character
        lines = [line.replace(b"\t", b"?").replace(b"::", b"\t") for line in lines]
        delimiter = "\t"
    options = {"delimiter": delimiter, "usecols": usecols}
    try:
        table = np.loadtxt(lines, dtype=dtype, comments=None, ndmin=2, **options)
    except (ValueError, OverflowError):
        return None
    return table if table.shape == (len(lines), n_fields) else None


def first_that_fails(items, fails):
    """Return the index of the first item that cannot be parsed, by bisection."""
    start, stop = 0, len(items)
    while stop - start > 1:
        middle = (start + stop) // 2
        if fails(items[start:middle]):
            stop = middle
        else:
            start = middle
    return start


class TextFile:
    """Iterable of the lines of a text file, in pieces, without its byte order mark.

    ``path`` is a path, or a member of a zip file.  The file may be compressed by gzip.
    """

    def __init__(self, path):
        self.path = path if isinstance(path, zipfile.Path) else checked_file(path)
        with self.path.open("rb") as file:
            self.is_zipped = file.read(2) == b"\x1f\x8b"

    def __iter__(self):
        number, begun, data = 1, b"", True
        with self.path.open("rb") as packed:
            file = gzip.open(packed) if self.is_zipped else packed
            while data:
                data = self._read(file, number)
                text, newline, begun = (begun + data).rpartition(b"\n")
                if len(begun) > LONGEST_LINE:
                    raise ValueError(
                        f"{self.path}, line {number}: the line is longer than "
                        f"{LONGEST_LINE:,} bytes."
                    )
                if data and not newline:
                    continue
                text = text if data else begun
                text = text.removeprefix(BOM) if number == 1 else text
                if text or data:
                    lines = [line.rstrip(b"\r") for line in text.split(b"\n")]
                    numbers = range(number, number + len(lines))
                    yield NumberedLines(f"{self.path}, line", numbers, lines)
                    number += len(lines)

    def _read(self, file, number):
        try:
            return file.read(BYTES_AT_ONCE)
        except (OSError, EOFError, zlib.error) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # an error of the disk, not of the file's content
            raise ValueError(
                f"{self.path} is damaged or cut off after line {number - 1}: {error}."
            ) from error


def words_of(path, size=None, source=None):
    """Return the words of a vocabulary file, one per line; None if the path is None.

    Raise a ValueError unless there are as many as a ``source`` has, ``size`` words.
    """
    if path is None:
        return None
    words = [word for chunk in TextFile(path) for word in chunk.texts()]
    while words and not words[-1]:
        words.pop()
    if not words:
        raise ValueError(f"{path} has no words.")
    if size not in (None, len(words)):
        raise ValueError(f"{path} has {len(words)} words, but {source} {size}.")
    return words

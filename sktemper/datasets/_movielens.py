"""Reader of the MovieLens data sets: a zip file, a folder, or a file of ratings."""

import contextlib
import csv
import errno
import io
import lzma
import re
import zipfile
import zlib
from collections import defaultdict
from itertools import islice, repeat
from pathlib import Path, PurePosixPath

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils._param_validation import validate_params

from .._utils._typing import StrPath
from ._batches import BOM, first_that_fails
from ._ratings import ratings_matrix

#: Names of the file of ratings and of the file of titles, for all releases.
_FILMS = {"ratings.csv": "movies.csv", "ratings.dat": "movies.dat", "u.data": "u.item"}
#: Names of the columns in a header, in lower case and without underscores.
_COLUMNS = (("userid",), ("movieid", "itemid"), ("rating",))
_TITLE_COLUMNS = (("movieid", "itemid"), ("title",))
#: Largest unpacked sizes of files in a zip file, more than twice the largest release.
LARGEST_RATINGS, LARGEST_FILMS = 2**31, 2**26
#: Number of lines that are parsed at a time.
_LINES = 2**17
#: Largest length of the first line in bytes; other kinds of files may exceed it.
_LONGEST_FIRST = 2**16
#: Largest number up to which float64 represents all integers.
_LARGEST_NUMBER = 2**53
#: Errors that a damaged zip file raises.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,  # another method of compression
    RuntimeError,  # a password
)


@validate_params(
    {"path": [str, Path]},
    prefer_skip_nested_validation=True,
)
def load_movielens(path: StrPath) -> Bunch:
    r"""Load the ratings of a MovieLens data set that you have downloaded.

    The data sets of https://grouplens.org/datasets/movielens, from 100K to the latest,
    may not be distributed with this package.  This function reads any of them in the
    form in which it is downloaded.

    Parameters
    ----------
    path : str or pathlib.Path
        The zip file, the unpacked folder, or the file of ratings: ``u.data``,
        ``ratings.dat`` or ``ratings.csv``.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        Dictionary-like object, with the following attributes.

        data : CSR matrix of float32, shape (n_users, n_items)
            The ratings, as returned by `ratings_matrix`.  Only users and films with
            ratings have rows and columns.
        user_labels : ndarray of int, shape (n_users,)
            The user ids of MovieLens.
        item_labels : ndarray of int, shape (n_items,)
            The film ids of MovieLens.
        item_titles : ndarray of str, shape (n_items,)
            The titles of the films, from the file of films beside the ratings; None if
            there is no such file.

    Raises
    ------
    FileNotFoundError
        If there are no ratings at ``path``.
    ValueError
        If a line is not a valid rating or title (the message names the file and the
        line); if there are several files of ratings, or no ratings; or if the zip file
        is damaged, or a file in it is too large.

    Notes
    -----
    The first line of the ratings may be a header that contains the names ``userId``,
    ``movieId`` (or ``itemId``) and ``rating``, in any order.  Without a header, these
    are the first three columns.  Every other line is a rating, or empty.  Users and
    films are integers, fields are not quoted, and all lines have the same number
    of fields.

    In a zip file, the unpacked ratings may have at most 2 GiB, more than twice the
    largest release, and the unpacked films 64 MiB.

    References
    ----------
    .. [1] F. M. Harper, J. A. Konstan, "The MovieLens datasets: history and context",
       ACM Transactions on Interactive Intelligent Systems 5(4), 2015.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sktemper.datasets import load_movielens
    >>> with tempfile.TemporaryDirectory() as folder:  # in place of a download
    ...     lines = "196\t242\t3\t881250949\n186\t302\t4\t891717742\n"
    ...     _ = (Path(folder) / "u.data").write_text(lines)
    ...     movielens = load_movielens(folder)
    >>> movielens.user_labels
    array([186, 196])
    >>> movielens.data.toarray()
    array([[0., 4.],
           [3., 0.]], dtype=float32)
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no {path}.")
    if path.is_dir():
        files = _of_folder(path)
        return _movielens(files, _ratings_file(files, path))
    if not path.is_file():
        raise ValueError(f"{path} is neither a file nor a folder.")
    if (
        path.suffix.lower() == ".zip"
        or zipfile.is_zipfile(path)
        or _begins_as_zip(path)
    ):
        with _damage_named(path), zipfile.ZipFile(path) as archive:
            files = _of_archive(archive, path)
            return _movielens(files, _ratings_file(files, path))
    return _movielens(_of_folder(path.parent) | {path.name: [_File(path)]}, path.name)


# -- files ---------------------------------------------------------------------------


class _File:
    """A file on disk, with a name for error messages and a function that opens it."""

    def __init__(self, path):
        self.name, self.open = str(path), lambda limit: path.open("rb")


class _Member:
    """A file in a zip file, with the same interface as `_File`."""

    def __init__(self, archive, info, path):
        self.archive, self.info, self.name = archive, info, f"{path}: {info.filename}"

    def open(self, limit):
        # zipfile reads at most file_size bytes, even if the archive contains more
        if self.info.file_size > limit:
            raise ValueError(
                f"{self.name} has {self.info.file_size:,} bytes when unpacked, but at "
                f"most {limit:,} are read from a zip file. If you trust it, unzip it."
            )
        return io.BufferedReader(self.archive.open(self.info))


def _of_folder(folder):
    return {file.name: [_File(file)] for file in folder.iterdir() if file.is_file()}


def _of_archive(archive, path):
    files = defaultdict(list)
    for info in archive.infolist():
        if not info.is_dir():
            member = _Member(archive, info, path)
            files[PurePosixPath(info.filename).name].append(member)
    return files


def _begins_as_zip(path):
    with path.open("rb") as file:
        return file.read(4) == b"PK\x03\x04"


@contextlib.contextmanager
def _damage_named(path):
    try:
        yield
    except (*_DAMAGE, OSError, UnicodeDecodeError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise  # an error of the disk
        raise ValueError(
            f"{path} is no zip file that can be read, it may be damaged or cut off: "
            f"{error}"
        ) from error


def _ratings_file(files, path):
    found = [name for name in _FILMS if name in files]
    if not found:
        raise FileNotFoundError(f"{path} has none of {', '.join(_FILMS)}.")
    _the_only([file for name in found for file in files[name]])
    return found[0]


def _the_only(files):
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise ValueError(f"Only one of these can be read, choose: {names}.")
    return files[0]


def _movielens(files, name):
    """Return the data set; ``files`` maps each name to the files with this name."""
    file = _the_only(files[name])
    with file.open(LARGEST_RATINGS) as stream:
        users, items, ratings = _read_ratings(stream, file.name)
    _check_distinct(users, items, file.name)
    X, user_labels, item_labels = ratings_matrix(users, items, ratings)
    beside = [_FILMS[name]] if name in _FILMS else _FILMS.values()
    films = [film for film in beside if film in files]
    titles = None
    if films:
        file = _the_only(files[films[0]])
        with file.open(LARGEST_FILMS) as stream:
            titles = _read_titles(stream.read(), films[0], file.name)
        labels = item_labels.tolist()
        titles = np.array([titles.get(label, "") for label in labels], dtype=object)
    return Bunch(
        data=X,
        user_labels=user_labels,
        item_labels=item_labels,
        item_titles=titles,
    )


def _check_distinct(users, items, name):
    """Raise if a user has rated a film twice."""
    order = np.lexsort((items, users))
    users, items = users[order], items[order]
    twice = (users[1:] == users[:-1]) & (items[1:] == items[:-1])
    if twice.any():
        place = twice.argmax()
        raise ValueError(
            f"{name} has several ratings of film {items[place]} by user "
            f"{users[place]}, but MovieLens has at most one. Remove the others, or use "
            "datasets.ratings_matrix with a choice of duplicates."
        )


# -- ratings -------------------------------------------------------------------------


def _read_ratings(stream, name):
    """Return the users, items and ratings of a file."""
    layout, parts, number = None, [], 1
    while lines := [line.rstrip(b"\r\n") for line in islice(stream, _LINES)]:
        if number == 1:
            lines[0] = lines[0].removeprefix(BOM)
        numbers = range(number, number + len(lines))
        number += len(lines)
        if not all(lines):
            numbers = [n for n, line in zip(numbers, lines, strict=True) if line]
            lines = [line for line in lines if line]
        if lines and layout is None:
            layout = _Layout(lines[0], name, numbers[0])
            lines, numbers = lines[layout.has_header :], numbers[layout.has_header :]
        if lines:
            parts.append(layout.parse(lines, numbers))
    if not parts:
        raise ValueError(f"{name} has no ratings.")
    users, items, ratings = map(np.concatenate, zip(*parts, strict=True))
    return users, items, ratings


class _Layout:
    """Format of the lines of a file, inferred from its first line."""

    def __init__(self, first, name, number):
        self.name = name
        if len(first) > _LONGEST_FIRST:
            self.refuse(first, number, f"it has {len(first):,} bytes")
        delimiter = re.search(rb"::|[\t,]", first)
        if delimiter is None:
            self.refuse(first, number, "it has no tab, comma or ::")
        self.delimiter = delimiter[0]
        fields = first.split(self.delimiter)
        self.n_fields = len(fields)
        self.columns, self.has_header = (0, 1, 2), False
        names = [field.decode("latin-1") for field in fields]
        if (columns := _places(names, _COLUMNS)) is not None:
            self.columns, self.has_header = columns, True
        elif self.n_fields < 3:
            self.refuse(first, number, "it has less than three fields")
        elif self._table([first]) is None:
            self.refuse(
                first,
                number,
                "its first three fields are not numbers, and it is no header with "
                "userId, movieId and rating",
            )

    def refuse(self, line, number, why):
        text = line[:80].decode("utf-8", errors="replace") + "..." * (len(line) > 80)
        raise ValueError(
            f"{self.name}, line {number} is no rating of MovieLens: {text!r}; {why}."
        )

    def parse(self, lines, numbers):
        """Return the users, items and ratings of some lines."""

        def refuse(i, why):
            self.refuse(lines[i], numbers[i], why)

        n_delimiters = list(map(bytes.count, lines, repeat(self.delimiter)))
        wrong = np.flatnonzero(np.array(n_delimiters) != self.n_fields - 1)
        if len(wrong):
            n_fields = n_delimiters[wrong[0]] + 1
            refuse(wrong[0], f"it has {n_fields} fields, the first {self.n_fields}")
        table = self._table(lines)
        if table is None:
            refuse(
                first_that_fails(lines, lambda some: self._table(some) is None),
                "a field is not a number",
            )
        numbers_of = table[:, :2]
        whole = (numbers_of == np.rint(numbers_of)) & (
            np.abs(numbers_of) < _LARGEST_NUMBER
        )
        if not whole.all():
            refuse(whole.all(axis=1).argmin(), "user and film must be whole numbers")
        with np.errstate(over="ignore"):
            ratings = table[:, 2].astype(np.float32)
        finite = np.isfinite(ratings)
        if not finite.all():
            refuse(finite.argmin(), "the rating must be finite")
        users, items = numbers_of.T.astype(np.int64)
        return users, items, ratings

    def _table(self, lines):
        """Return the three columns as floats, or None if a field is no number."""
        delimiter = self.delimiter
        if len(delimiter) > 1:  # numpy accepts only delimiters of one character
            if any(b"\t" in line for line in lines):
                return None
            lines, delimiter = [line.replace(delimiter, b"\t") for line in lines], b"\t"
        try:
            return np.loadtxt(
                lines,
                delimiter=delimiter.decode(),
                usecols=self.columns,
                comments=None,
                ndmin=2,
            )
        except ValueError:
            return None


def _places(names, columns):
    """Return positions of columns in a header; None unless each occurs once."""
    names = [name.strip().strip('"').replace("_", "").lower() for name in names]
    places = [
        [place for place, name in enumerate(names) if name in wanted]
        for wanted in columns
    ]
    if any(len(found) != 1 for found in places):
        return None
    return tuple(found[0] for found in places)


# -- titles --------------------------------------------------------------------------


def _read_titles(data, kind, name):
    """Return a dict from film ids to titles."""
    text = _decoded(data)
    titles, columns = {}, (0, 1)
    for number, row in _rows(text, kind, name):
        if number == 1 and (places := _places(row, _TITLE_COLUMNS)) is not None:
            columns = places
            continue
        if len(row) <= max(columns):
            _refuse_title(name, number, row, f"it has {len(row)} fields")
        film = row[columns[0]].strip()
        if not re.fullmatch("[0-9]{1,18}", film):
            _refuse_title(name, number, row, f"{film!r} is no number of a film")
        titles[int(film)] = row[columns[1]]
    return titles


def _rows(text, kind, name):
    """Yield the line number and the fields of each line that is not empty."""
    if not kind.endswith(".csv"):
        delimiter = "::" if kind.endswith(".dat") else "|"
        for number, line in enumerate(text.split("\n"), 1):
            if line := line.rstrip("\r"):
                yield number, line.split(delimiter)
        return
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in rows:
            if row:
                yield rows.line_num, row
    except csv.Error as error:
        raise ValueError(f"{name}, line {rows.line_num}: {error}.") from error


def _refuse_title(name, number, row, why):
    text = repr(row) if len(repr(row)) <= 80 else repr(row)[:77] + "..."
    raise ValueError(f"{name}, line {number} has no film and title: {text}; {why}.")


def _decoded(data):
    """Return the text of a file: older releases are in Latin-1, later ones in UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")

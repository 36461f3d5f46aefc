"""Data sets of this package, and a reader of MovieLens data sets."""

import contextlib
import csv
import errno
import io
import lzma
import re
import zipfile
import zlib
from collections import defaultdict
from importlib import resources
from itertools import repeat
from pathlib import Path
from typing import Literal

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from .._utils._frames import frame_library
from .._utils._sklearn import csr_container
from .._utils._typing import StrPath
from .._utils._values import INEXACT
from ._lines import TextFile, checked_file
from ._ratings import ratings_matrix

_DATA = resources.files(__package__) / "data"


def load_debian_descriptions() -> Bunch:
    """Load the word counts of the Debian package descriptions.

    The documents are the long descriptions of the 52,189 packages of Debian 12, short
    texts whose topics are kinds of software.  They have 6,000 different words,
    1,334,974 nonzero counts and 1,786,203 tokens.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        Dictionary-like object, with the following attributes.

        data : CSR matrix of int32, shape (52189, 6000)
            How often each word occurs in each document. The rows are in random order.
            A sparse array if scikit-learn's option ``sparse_interface`` is "sparray".
        feature_names : ndarray of str, shape (6000,)
            The words, in alphabetical order.
        document_names : ndarray of str, shape (52189,)
            The names of the packages; a few names occur more than once.
        DESCR : str
            The full description of the data set.
        filename : str
            The path of the counts, which :func:`scipy.sparse.load_npz` reads.

    Examples
    --------
    >>> from sktemper.datasets import load_debian_descriptions
    >>> debian = load_debian_descriptions()
    >>> debian.data.shape
    (52189, 6000)
    >>> document = debian.document_names.tolist().index("python3-sklearn")
    >>> debian.feature_names[debian.data[[document]].indices[:6]].tolist()
    ['collection', 'functionality', 'gaussian', 'included', 'learn', 'learning']
    """
    path = _DATA / "debian_descriptions.npz"
    with path.open("rb") as file:
        counts = sparse.load_npz(file)  # stored as uint16 to save disk space
    return Bunch(
        data=csr_container()(counts, dtype=np.int32),
        feature_names=_lines("debian_descriptions.feature_names.txt"),
        document_names=_lines("debian_descriptions.document_names.txt"),
        DESCR=_text("debian_descriptions.rst"),
        filename=str(path),
    )


def load_election_survey(*, output: Literal["pandas", "polars"] = "pandas") -> Bunch:
    """Load answers of the American National Election Study of 1996.

    There are 944 respondents and 10 questions.

    Parameters
    ----------
    output : {"pandas", "polars"}, default="pandas"
        Library of the data frame.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        Dictionary-like object, with the following attributes.

        data : DataFrame of shape (944, 10)
            Its columns are "tv_news", "self", "clinton", "dole", "party", "vote",
            "age", "education", "income" and "population".
        DESCR : str
            The full description of the data set and of its columns.
        filename : str
            The path of the answers, a CSV file.

    Raises
    ------
    ValueError
        If ``output`` is not a library.
    ImportError
        If the library is not installed.

    Examples
    --------
    >>> from sktemper.datasets import load_election_survey
    >>> survey = load_election_survey().data
    >>> survey.shape
    (944, 10)
    >>> survey["vote"].value_counts().to_dict()
    {'Clinton': 551, 'Dole': 393}
    """
    path = _DATA / "election_survey.csv"
    with path.open("rb") as file:
        data = frame_library(output).read_csv(file)
    return Bunch(data=data, DESCR=_text("election_survey.rst"), filename=str(path))


def _lines(name):
    return np.array(_text(name).splitlines(), dtype=object)


def _text(name):
    return (_DATA / name).read_text(encoding="utf-8")


# -- MovieLens -------------------------------------------------------------------------
#: Names of the file of ratings and of the file of titles, for all releases.
_FILMS = {"ratings.csv": "movies.csv", "ratings.dat": "movies.dat", "u.data": "u.item"}
#: Names of the columns in a header, in lower case and without underscores.
_COLUMNS = (("userid",), ("movieid", "itemid"), ("rating",))
_TITLE_COLUMNS = (("movieid", "itemid"), ("title",))
#: Errors that a damaged zip file raises.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,  # another method of compression
    RuntimeError,  # a password
)


def load_movielens(path: StrPath) -> Bunch:
    r"""Load the ratings of a MovieLens data set that you have downloaded.

    The data sets [1]_ of https://grouplens.org/datasets/movielens, from 100K to the
    latest, may not be distributed with this package.  This function reads any of them
    in the form in which it is downloaded.

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
        user_labels, item_labels : ndarray of int, shape (n_users,) and (n_items,)
            The ids of users and of films.
        item_titles : ndarray of str, shape (n_items,)
            The titles of the films, from the file of films beside the ratings; None if
            there is no such file.

    Raises
    ------
    FileNotFoundError
        If there are no ratings at ``path``.
    ValueError
        If a line is not a valid rating or title (the message names the file and the
        line), the zip file is damaged, or there are several files of ratings or none.

    Notes
    -----
    The first line of the ratings may be a header that contains the names ``userId``,
    ``movieId`` (or ``itemId``) and ``rating``, in any order.  Without a header, these
    are the first three columns.  Users and films are integers, fields are not quoted,
    and all lines that are not empty have the same number of fields.

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
    if path.is_dir():
        return _movielens(_files(path.iterdir()), path)
    checked_file(path)
    with path.open("rb") as file:
        is_zipped = path.suffix.lower() == ".zip" or file.read(4) == b"PK\x03\x04"
    if is_zipped:
        with _zip_errors(path), zipfile.ZipFile(path) as archive:
            paths = [zipfile.Path(archive, name) for name in archive.namelist()]
            return _movielens(_files(paths), path)
    return _movielens(_files(path.parent.iterdir()), path, path.name)


# -- files ---------------------------------------------------------------------------


def _files(paths):
    """Return a dict from names to the files with each name."""
    files = defaultdict(list)
    for path in paths:
        if path.is_file():
            files[path.name].append(path)
    return files


@contextlib.contextmanager
def _zip_errors(path):
    """Raise a ValueError that names the file if a zip file is damaged."""
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


def _the_only(files):
    if len(files) > 1:
        names = ", ".join(map(str, files))
        raise ValueError(f"Only one of these can be read, choose: {names}.")
    return files[0]


def _movielens(files, path, name=None):
    """Return the data set; without the name of the file of ratings, find this file."""
    found = [known for known in _FILMS if known in files] if name is None else [name]
    if not found:
        raise FileNotFoundError(f"{path} has none of {', '.join(_FILMS)}.")
    file = _the_only([file for known in found for file in files[known]])
    ratings = _read_ratings(file)
    try:
        X, user_labels, item_labels = ratings_matrix(*ratings)
    except ValueError as error:
        raise ValueError(
            f"{file} cannot be loaded, but datasets.ratings_matrix has a choice of "
            f"duplicates: {error}"
        ) from error
    beside = [_FILMS[found[0]]] if found[0] in _FILMS else _FILMS.values()
    films = next((film for film in beside if film in files), None)
    titles = None
    if films is not None:
        file = _the_only(files[films])
        known = _read_titles(file.read_bytes(), films, str(file))
        titles = [known.get(label, "") for label in item_labels.tolist()]
        titles = np.array(titles, dtype=object)
    labels = {"user_labels": user_labels, "item_labels": item_labels}
    return Bunch(data=X, **labels, item_titles=titles)


# -- ratings -------------------------------------------------------------------------


def _read_ratings(file):
    layout, parts = None, []
    for chunk in TextFile(file):
        chunk = chunk.select(len)
        if chunk.lines and layout is None:
            layout = _Layout(chunk)
            if layout.has_header:
                chunk = chunk.rest(1)
        if chunk.lines:
            parts.append(layout.parse(chunk))
    if not parts:
        raise ValueError(f"{file} has no ratings.")
    return tuple(map(np.concatenate, zip(*parts, strict=True)))


class _Layout:
    """Format of the lines of a file, inferred from the first line of a chunk."""

    def __init__(self, chunk):
        first = chunk.lines[0].decode("latin-1")
        delimiter = re.search(r"::|[\t,]", first)
        self.delimiter = delimiter[0] if delimiter else "\t"
        names = first.split(self.delimiter)
        columns = _places(names, _COLUMNS)
        self.n_fields, self.has_header = len(names), columns is not None
        self.columns = columns or (0, 1, 2)
        if not self.has_header:
            self._table(
                chunk.rest(0, 1),
                "user, film and rating as numbers, with a tab, comma or :: between "
                "them, or a header with userId, movieId and rating",
            )

    def _table(self, chunk, expected):
        options = {"delimiter": self.delimiter, "usecols": self.columns}
        return chunk.table(np.float64, 3, expected, **options)

    def parse(self, chunk):
        counts = map(bytes.count, chunk.lines, repeat(self.delimiter.encode()))
        wrong = np.array(list(counts)) != self.n_fields - 1
        chunk.refuse_any(wrong, f"{self.n_fields} fields, as in the first line")
        table = self._table(chunk, "user, film and rating as numbers")
        labels = table[:, :2]
        whole = (labels == np.rint(labels)) & (np.abs(labels) < INEXACT)
        chunk.refuse_any(~whole.all(axis=1), "user and film as whole numbers")
        with np.errstate(over="ignore"):
            ratings = table[:, 2].astype(np.float32)
        chunk.refuse_any(~np.isfinite(ratings), "a finite rating")
        users, items = labels.T.astype(np.int64)
        return users, items, ratings


def _places(names, columns):
    """Return positions of columns in a header; None unless each occurs once."""
    names = [name.strip().strip('"').replace("_", "").lower() for name in names]
    places = []
    for wanted in columns:
        found = [place for place, name in enumerate(names) if name in wanted]
        if len(found) != 1:
            return None
        places += found
    return tuple(places)


# -- titles --------------------------------------------------------------------------


def _read_titles(data, kind, name):
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:  # older releases are in Latin-1
        text = data.decode("latin-1")
    titles, columns = {}, (0, 1)
    for number, row in _rows(text, kind, name):
        if number == 1 and (places := _places(row, _TITLE_COLUMNS)) is not None:
            columns = places
            continue
        film = row[columns[0]].strip() if len(row) > max(columns) else ""
        if not re.fullmatch("[0-9]{1,18}", film):
            raise ValueError(
                f"{name}, line {number}: expected the number of a film and its title, "
                f"got {str(row)[:80]}."
            )
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
        yield from ((rows.line_num, row) for row in rows if row)
    except csv.Error as error:
        raise ValueError(f"{name}, line {rows.line_num}: {error}.") from error
